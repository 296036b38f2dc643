"""Input: an expression of the syntax tree. Output: the same with types and with its conversions made explicit."""

from __future__ import annotations

from headwater.base.faults import Consequence
from headwater.brook import ast
from headwater.brook.context import Context, KernelInfo, closest
from headwater.brook.conversions import Conversions, differ_in_sign
from headwater.brook.folding import owner_offset
from headwater.brook.functions import ELSEWHERE, FUNCTIONS, POSITION_FUNCTIONS
from headwater.brook.types import (
    COMPONENTS,
    DOUBLE,
    FLOAT,
    FLOAT4,
    INT,
    INT4,
    INT_MAX,
    RANKS,
    UINT,
    VOID,
    Symbol,
    Type,
    literal_integer,
)
from headwater.errors import SourceError

_UINT_MAX = 0xFFFFFFFF
_SHIFTS = frozenset({"<<", ">>"})
_COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_LOGICAL = frozenset({"&&", "||"})
_INTEGER_ONLY = frozenset({"%", "&", "|", "^", "<<", ">>"})
_WORD_ONLY = frozenset({"&", "|", "^", "<<", ">>"})
_READ_ONLY = {
    "input": "an input stream",
    "value": "an argument passed by value",
    "gather": "a gather array",
    "constant": "a constant array",
}


class ExpressionChecker(Conversions):
    """Checks the expressions of one kernel."""

    def __init__(self, context: Context, kernel: KernelInfo) -> None:
        super().__init__(context, kernel)
        self.scopes: list[dict[str, Symbol]] = [{}]
        self.untold: set[str] = set()
        """Unknown names that have been reported once."""

    # ---- names

    def declare(self, symbol: Symbol, node: ast.Node) -> None:
        """Bring a symbol into the innermost scope."""
        scope = self.scopes[-1]
        if symbol.name in scope:
            raise self.context.error(
                f"{symbol.name!r} is already declared in line {scope[symbol.name].line}", node, "choose another name"
            )
        scope[symbol.name] = symbol
        self.note_type(symbol.type)

    def find(self, name: str) -> Symbol | None:
        """The symbol a name refers to, innermost scope first."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _is_lost(self, name: str) -> bool:
        """Whether a name is not known because of a fault, or is known to be missing."""
        return name in self.untold or name in self.kernel.node.lost or name in self.context.source.faults.lost

    # ---- entry points

    def value(self, node: ast.Expression) -> ast.Expression:
        """Check an expression whose value is wanted."""
        checked = self._check(node)
        if checked.type == VOID:
            raise self.context.error("this has no value", checked, "use it as a statement of its own")
        if isinstance(checked, ast.Name) and checked.symbol is not None and checked.symbol.is_array:
            raise self.context.error(
                f"{checked.name!r} is an array and needs an index",
                checked,
                f"write {checked.name}" + "[i]" * checked.symbol.rank,
            )
        return checked

    def statement(self, node: ast.Expression) -> ast.Expression:
        """Check an expression that stands as a statement."""
        checked = self._check(node)
        if checked.type != VOID:
            self._no_bare_array(checked)
        return checked

    def condition(self, node: ast.Expression, what: str) -> ast.Expression:
        """Check an expression that decides: one component, any number or truth."""
        checked = self.value(node)
        if not checked.type.is_numeric:
            raise self.context.error(
                f"the condition of {what} is a {checked.type}", checked, "compare one of its members"
            )
        if checked.type.width > 1:
            if not self.weak:
                raise self.context.error(
                    f"the condition of {what} has {checked.type.width} components",
                    checked,
                    "take one component, or use any() or all()",
                )
            self.context.warn(f"only the x component decides the condition of {what}", checked)
            return self.component(checked, "x")
        return checked

    def lvalue(self, node: ast.Expression, what: str) -> ast.Expression:
        """Check an expression that is written to."""
        checked = self._check(node)
        self._no_bare_array(checked)
        root: ast.Expression = checked
        while isinstance(root, ast.Member):
            if not root.operand.type.is_struct and len(set(root.name)) != len(root.name):
                raise self.context.error(
                    f"{what} to .{root.name}, which names a component twice", root, "name each component once"
                )
            root = root.operand
        if isinstance(root, ast.Index):
            self._check_owner(root)
            root = root.array
        if not isinstance(root, ast.Name) or root.symbol is None:
            raise self.context.error(
                f"{what} to something that is not a variable", node, "write to a variable or an output"
            )
        symbol = root.symbol
        if symbol.kind in _READ_ONLY:
            raise self.context.error(
                f"{what} to {symbol.name!r}, {_READ_ONLY[symbol.kind]}, which is read-only",
                node,
                "copy it to a variable first",
            )
        if symbol.constant:
            raise self.context.error(
                f"{what} to {symbol.name!r}, which is const", node, "remove const from its declaration"
            )
        return checked

    def _check_owner(self, target: ast.Index) -> None:
        """A thread writes only its own part of shared memory: ``stride * instanceInGroup().x + offset``, offset below
        stride.
        """
        symbol = target.array.symbol if isinstance(target.array, ast.Name) else None
        if symbol is None or symbol.kind != "shared":
            return
        stride = symbol.sizes[0] // self.kernel.group_size
        offset = owner_offset(target.indices[0], stride)
        if offset is None or not 0 <= offset < stride:
            form = "instanceInGroup().x"
            if stride > 1:
                form = f"{stride} * {form} + k, k from 0 to {stride - 1}"
            raise self.context.error(
                f"a thread writes only its own part of shared array {symbol.name!r}", target, f"index it with {form}"
            )

    # ---- the kinds of expression

    def _no_bare_array(self, node: ast.Expression) -> None:
        if isinstance(node, ast.Name) and node.symbol is not None and node.symbol.is_array:
            raise self.context.error(
                f"{node.name!r} is an array and needs an index", node, f"write {node.name}" + "[i]" * node.symbol.rank
            )

    def _check(self, node: ast.Expression) -> ast.Expression:
        match node:
            case ast.Number():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.Unary():
                return self._unary(node)
            case ast.Binary():
                return self._binary(node)
            case ast.Assign():
                return self._assign(node)
            case ast.Conditional():
                return self._conditional(node)
            case ast.Cast():
                return self._cast(node)
            case ast.Construct():
                return self._construct(node)
            case ast.Call():
                return self._call(node)
            case ast.IndexOf():
                return self._indexof(node)
            case ast.Member():
                return self._member(node)
            case ast.Index():
                return self._index(node)
        raise AssertionError(node)

    def _number(self, node: ast.Number) -> ast.Expression:
        text = node.text.lower()
        if node.floating:
            node.type = FLOAT if text.endswith("f") else DOUBLE
            if node.type == DOUBLE and not self.weak:
                self.kernel.uses_double = True
            return node
        try:
            number = literal_integer(text)
        except ValueError:
            raise self.context.error(f"{node.text} is not an octal number", node, "remove the leading 0") from None
        if number > _UINT_MAX:
            raise self.context.error(f"{node.text} does not fit in uint", node, "integers have 32 bits")
        node.type = UINT if "u" in text or number > INT_MAX else INT
        return node

    def _name(self, node: ast.Name) -> ast.Expression:
        symbol = self.find(node.name)
        if symbol is None:
            raise self._unknown(node.name, node)
        if symbol.faulty:
            raise Consequence(f"{node.name!r} is faulty")
        node.symbol = symbol
        node.type = symbol.type
        return node

    def _unknown(self, name: str, node: ast.Node) -> SourceError:
        if self._is_lost(name):
            return Consequence(f"{name!r} is not known")
        self.untold.add(name)
        if name in self.context.source.macro_names:
            hint = f"it is a macro of line {self.context.source.macro_names[name]}: translate with -pp"
        elif name in self.context.kernels:
            hint = f"{name} is a kernel: call it with arguments in parentheses"
        else:
            known = [key for scope in self.scopes for key in scope]
            hint = closest(name, known) or self.context.passed_over() or "declare it, or pass it as an argument"
        return self.context.error(f"unknown name {name!r}", node, hint)

    def _unary(self, node: ast.Unary) -> ast.Expression:
        operator = node.operator
        if operator.endswith(("++", "--")):
            node.operand = self.lvalue(node.operand, "a step")
            if not node.operand.type.is_numeric:
                raise self.context.error(
                    f"{operator[-2:]} does not apply to {node.operand.type}", node, "step one of its members"
                )
            node.type = node.operand.type
            return node
        node.operand = operand = self.value(node.operand)
        if not operand.type.is_numeric:
            raise self.context.error(f"{operator!r} does not apply to {operand.type}", node, "use one of its members")
        if operator == "!":
            node.type = Type(operand.type.base, operand.type.width, condition=True)
            return node
        node.operand = operand = self.as_value(operand)
        if operator == "~" and operand.type.base not in {"int", "uint"}:
            raise self.context.error(f"'~' does not apply to {operand.type}", node, "cast it to int or uint")
        node.type = operand.type
        return node

    def _binary(self, node: ast.Binary) -> ast.Expression:
        operator = node.operator
        if operator == ",":
            node.left = self.statement(node.left)
            node.right = self.statement(node.right)
            node.type = node.right.type
            return node
        node.left = self.value(node.left)
        node.right = self.value(node.right)
        if operator in _LOGICAL:
            return self._logical(node)
        if not node.left.type.is_numeric or not node.right.type.is_numeric:
            wrong = node.left if not node.left.type.is_numeric else node.right
            raise self.context.error(f"{operator!r} does not apply to {wrong.type}", node, "use its members")
        node.left, node.right = self.as_value(node.left), self.as_value(node.right)
        self._require_base(operator, node.left.type, node)
        self._require_base(operator, node.right.type, node)
        what = f"the operands of {operator!r}"
        node.left, node.right = self.narrow(node.left, node.right, what)
        if operator in _SHIFTS and node.left.type.base != node.right.type.base:
            # How far is a count: signed or not, as it is.
            node.right = self.convert(node.right, Type(node.left.type.base, node.right.type.width))
        node.left, node.right = self.unify(node.left, node.right, node, what)
        node.type = node.left.type
        if operator in _COMPARISONS:
            node.type = Type(node.type.base, node.type.width, condition=True)
        return node

    def _require_base(self, operator: str, type_: Type, node: ast.Node) -> None:
        if operator in _WORD_ONLY and type_.base not in {"int", "uint"}:
            raise self.context.error(
                f"{operator!r} does not apply to {type_}", node, "it works on int and uint: use a cast"
            )
        if operator in _INTEGER_ONLY and not type_.is_integer:
            raise self.context.error(
                f"{operator!r} does not apply to {type_}", node, "use fmod(), or cast to an integer type"
            )

    def _logical(self, node: ast.Binary) -> ast.Expression:
        for operand in (node.left, node.right):
            type_ = operand.type
            if not type_.is_numeric:
                raise self.context.error(
                    f"{node.operator!r} does not apply to {type_}", operand, "compare one of its members"
                )
        what = f"the operands of {node.operator!r}"
        node.left, node.right = self.narrow(node.left, node.right, what)
        if node.left.type.width != node.right.type.width:
            if not (self.weak and 1 in {node.left.type.width, node.right.type.width}):
                raise self.different(node.left, node.right, node, what)
            width = max(node.left.type.width, node.right.type.width)
            node.left = self.widen(node.left, width)
            node.right = self.widen(node.right, width)
        # The emitter combines masks of int, as comparisons of float give them, too.
        base, width = node.left.type.base, node.left.type.width
        real = base == "float" or (base == "double" and width == 1)
        node.type = Type(base if real else "int", width, condition=True)
        return node

    def _assign(self, node: ast.Assign) -> ast.Expression:
        node.target = self.lvalue(node.target, "an assignment")
        node.type = target = node.target.type
        if node.operator == "=":
            node.value = self.assign(self.value(node.value), target, "the assignment")
            return node
        operator = node.operator[:-1]
        if not target.is_numeric:
            raise self.context.error(f"{node.operator!r} does not apply to {target}", node, "assign to its members")
        self._require_base(operator, target, node)
        value = self.as_value(self.value(node.value))
        if value.type.is_numeric:
            self._require_base(operator, value.type, node)
        if not self.weak and value.type != target and not differ_in_sign(value.type, target):
            raise self.different(node.target, value, node, f"the operands of {node.operator!r}")
        node.value = self.assign(value, target, f"{node.operator!r}")
        return node

    def _conditional(self, node: ast.Conditional) -> ast.Expression:
        node.condition = self.condition(node.condition, "'?:'")
        yes, no = self.value(node.yes), self.value(node.no)
        if not (yes.type.condition and no.type.condition and yes.type.width == no.type.width):
            yes, no = self.as_value(yes), self.as_value(no)
        what = "the two sides of '?:'"
        yes, no = self.narrow(yes, no, what)
        node.yes, node.no = self.unify(yes, no, node, what)
        node.type = node.yes.type
        return node

    def _cast(self, node: ast.Cast) -> ast.Expression:
        target = self.context.find_type(node.type_name, node)
        node.operand = operand = self.value(node.operand)
        if not operand.type.is_numeric or not target.is_numeric:
            raise self.context.error(f"cannot cast {operand.type} to {target}", node, "cast its members")
        if operand.type.width > target.width and self.weak:
            node.operand = operand = self.cut(operand, target.width, f"the cast to {target}")
        if operand.type.width != target.width:
            if not (self.weak and operand.type.width == 1):
                raise self.context.error(
                    f"a cast cannot turn {operand.type.value} into {target}: the number of components must stay",
                    node,
                    f"write {target.name}(…) with every component"
                    if target.width > operand.type.width
                    else f"take components first, as in v.{COMPONENTS[: target.width]}",
                )
            self.context.warn(f"{operand.type.value} is repeated to make {target}", node)
        node.type = target
        self.note_type(target)
        return node

    def _construct(self, node: ast.Construct) -> ast.Expression:
        target = self.context.find_type(node.type_name, node)
        if target.width == 1:
            raise self.context.error(
                f"{target.name}(…) does not construct anything", node, f"write a cast, ({target.name})x"
            )
        self.fill(node, target, f"{target.name}(…)")
        return node

    def fill(self, node: ast.Construct, target: Type, what: str) -> None:
        """Check the arguments of a constructor, or of braces that initialise a vector or struct."""
        if target.is_struct:
            types = [
                Type(f.type.base, f.type.width, f.type.is_struct) for f in self.context.structs[target.base].fields
            ]
        else:
            types = [target.component] * target.width
        if len(node.arguments) != len(types):
            raise self.context.error(
                f"{what} wants {len(types)} values, but gets {len(node.arguments)}", node, "give one for each component"
            )
        for position, wanted in enumerate(types):
            argument = self.value(node.arguments[position])
            if argument.type.width > wanted.width:
                raise self.context.error(
                    f"{what} wants scalars, but argument {position + 1} is {argument.type}",
                    argument,
                    "give its components one by one",
                )
            node.arguments[position] = self.coerce(argument, wanted, f"argument {position + 1} of {what}")
        node.type = target
        self.note_type(target)

    def _member(self, node: ast.Member) -> ast.Expression:
        node.operand = operand = self.value(node.operand)
        type_ = operand.type
        if type_.is_struct:
            struct = self.context.structs[type_.base]
            for member in struct.fields:
                if member.name == node.name:
                    node.type = Type(member.type.base, member.type.width, member.type.is_struct)
                    return node
            names = [member.name for member in struct.fields]
            raise self.context.error(
                f"struct {type_.name!r} has no member {node.name!r}",
                node,
                closest(node.name, names) or "its members are " + ", ".join(names),
            )
        if type_.width == 1:
            raise self.context.error(
                f".{node.name} does not apply to {type_.value}, which has one component", node, "remove it"
            )
        if len(node.name) > 4 or set(node.name) - set(COMPONENTS):
            raise self.context.error(
                f".{node.name} is not a choice of components", node, "use one to four of the letters x, y, z, w"
            )
        allowed = COMPONENTS[: type_.width]
        if set(node.name) - set(allowed):
            raise self.context.error(
                f".{node.name} asks for more than the {type_.width} components of {type_.value}",
                node,
                f"use the letters {', '.join(allowed)}",
            )
        node.operand = self.as_value(operand)
        node.type = type_.value.widened(len(node.name))
        return node

    def _index(self, node: ast.Index) -> ast.Expression:
        array = self._check(node.array)
        if not isinstance(array, ast.Name) or array.symbol is None or not array.symbol.is_array:
            name = array.name if isinstance(array, ast.Name) else "this"
            if isinstance(array, ast.Name) and array.symbol is not None and array.symbol.stream:
                raise self.context.error(
                    f"stream {name!r} cannot be indexed", node, f"declare it {name}[] to read anywhere in it"
                )
            raise self.context.error(
                f"{name!r} is not an array" if name != "this" else "this is not an array", node, "remove the index"
            )
        symbol = array.symbol
        node.array = array
        node.indices = [self.value(index) for index in node.indices]
        for index in node.indices:
            if not index.type.is_numeric or index.type.base == "double":
                raise self.context.error(f"an index cannot be {index.type}", index, "cast it to int")
        node.indices = [self.as_value(index) for index in node.indices]
        given = len(node.indices)
        if given == 1 and symbol.rank > 1 and node.indices[0].type.width == symbol.rank:
            self.context.warn(
                f"{symbol.name!r} is indexed by a vector, an old form: write "
                + symbol.name
                + "".join(f"[i.{c}]" for c in reversed(COMPONENTS[: symbol.rank])),
                node,
                level=2,
            )
        elif given != symbol.rank:
            raise self.context.error(
                f"{symbol.name!r} has {symbol.rank} dimension{'s' if symbol.rank > 1 else ''}, but is indexed with "
                f"{given}",
                node,
                f"write {symbol.name}" + "[i]" * symbol.rank,
            )
        else:
            for position, index in enumerate(node.indices):
                if index.type.width > 1:
                    if not self.weak:
                        raise self.context.error(
                            f"an index of {symbol.name!r} is {index.type}", index, "take one component"
                        )
                    self.context.warn("only the x component is used as the index", index)
                    node.indices[position] = self.component(index, "x")
        node.type = symbol.type
        return node

    def _indexof(self, node: ast.IndexOf) -> ast.Expression:
        symbol = self.find(node.stream)
        if symbol is None:
            raise self._unknown(node.stream, node)
        if symbol.faulty:
            raise Consequence(f"{node.stream!r} is faulty")
        if not (symbol.stream or symbol.kind == "scatter"):
            raise self.context.error(
                f"indexof wants a stream, but {node.stream!r} is not one", node, "use instance() for the position"
            )
        self._no_position("indexof", node)
        self.kernel.uses_position = True
        node.type = FLOAT4
        return node

    def _no_position(self, name: str, node: ast.Node) -> None:
        if self.kernel.is_reduction:
            raise self.context.error(
                f"{name} has no meaning in a reduction", node, "do it in a kernel before the reduction"
            )

    # ---- calls

    def _call(self, node: ast.Call) -> ast.Expression:
        name = node.function
        symbol = self.find(name)
        if (symbol is None or symbol.faulty) and self._is_lost(name):
            raise Consequence(f"{name!r} is not known")
        if symbol is not None:
            raise self.context.error(
                f"{name!r} is a variable here, not a function", node, f"rename the variable of line {symbol.line}"
            )
        if name == self.kernel.name:
            raise self.context.error(f"kernel {name!r} calls itself: recursion is not possible", node, "write a loop")
        if name in self.context.kernels:
            return self._call_kernel(node, self.context.kernels[name])
        if name in POSITION_FUNCTIONS:
            return self._position_function(node)
        if name in FUNCTIONS:
            return self._call_builtin(node)
        if name in self.context.later_kernels:
            raise self.context.error(f"kernel {name!r} is called before its definition", node, "move its definition up")
        if name in self.context.structs or name in self.context.typedefs:
            raise self.context.error(f"{name!r} is a type, not a function", node, "initialise a variable with { … }")
        if name in self.context.source.macro_names:
            raise self.context.error(
                f"unknown function {name!r}",
                node,
                f"it is a macro of line {self.context.source.macro_names[name]}; write it as a kernel with a return "
                "type",
            )
        if name in ELSEWHERE:
            hint = f"write {ELSEWHERE[name]}"
        else:
            hint = (
                closest(name, [*FUNCTIONS, *POSITION_FUNCTIONS, *self.context.kernels])
                or self.context.passed_over()
                or "only kernels and built-in functions can be called from kernels"
            )
        raise self.context.error(f"unknown function {name!r}", node, hint)

    def _position_function(self, node: ast.Call) -> ast.Expression:
        name = node.function
        if node.arguments:
            raise self.context.error(f"{name}() takes no arguments", node, "remove them")
        self._no_position(f"{name}()", node)
        if name == "instance":
            self.kernel.uses_position = True
            node.type = INT4
            return node
        if not self.kernel.group_size:
            raise self.context.error(
                f"{name}() needs a group", node, "write Attribute[GroupSize(64)] before the kernel"
            )
        node.type = VOID if name == "syncGroup" else INT4
        return node

    def _call_builtin(self, node: ast.Call) -> ast.Expression:
        function = FUNCTIONS[node.function]
        if len(node.arguments) != function.arity:
            raise self.context.error(
                f"{function.name}() wants {function.arity} argument{'s' if function.arity > 1 else ''}, but gets "
                f"{len(node.arguments)}",
                node,
                "check the call",
            )
        arguments = [self.value(argument) for argument in node.arguments]
        if not (function.result == "condition" and arguments[0].type.condition):
            arguments = [self.as_value(argument) for argument in arguments]
        for argument in arguments:
            if not argument.type.is_numeric:
                raise self.context.error(
                    f"{function.name}() does not take {argument.type}", argument, "pass its members"
                )
        first = arguments[0]
        for position in range(1, len(arguments)):
            if arguments[position].type != first.type and not self.weak:
                raise self.different(
                    first, arguments[position], arguments[position], f"the arguments of {function.name}()"
                )
        if self.weak and function.arity > 1:
            for position in range(1, len(arguments)):
                first, _ = self.unify(first, arguments[position], node, f"the arguments of {function.name}()")
            if first.type.base not in function.bases and "float" in function.bases:
                first = self.coerce(first, Type("float", first.type.width), f"{function.name}()")
            arguments = [self.coerce(argument, first.type, f"{function.name}()") for argument in [*arguments]]
        elif self.weak and first.type.base not in function.bases and "float" in function.bases:
            arguments[0] = first = self.coerce(first, Type("float", first.type.width), f"{function.name}()")
        type_ = arguments[0].type
        if type_.base not in function.bases or type_.width not in function.widths:
            raise self.context.error(
                f"{function.name}() does not take {type_}", arguments[0], _accepted(function.bases, function.widths)
            )
        node.arguments = arguments
        match function.result:
            case "same":
                node.type = type_.value
            case "component":
                node.type = type_.component
            case "condition":
                node.type = Type(type_.base, condition=True)
        return node

    def _call_kernel(self, node: ast.Call, callee: KernelInfo) -> ast.Expression:
        if callee.faulty:
            raise Consequence(f"kernel {callee.name!r} is faulty")
        if callee.is_reduction:
            raise self.context.error(
                f"reduction {callee.name!r} cannot be called from a kernel", node, "call it from the host"
            )
        if callee.scatters:
            raise self.context.error(
                f"kernel {callee.name!r} scatters and cannot be called from a kernel", node, "write the scatter here"
            )
        if callee.group_size:
            raise self.context.error(
                f"kernel {callee.name!r} has a group size and cannot be called from a kernel",
                node,
                "call it from the host",
            )
        if len(node.arguments) != len(callee.parameters):
            raise self.context.error(
                f"kernel {callee.name!r} wants {len(callee.parameters)} arguments, but gets {len(node.arguments)}",
                node,
                "its parameters are " + (", ".join(p.name for p in callee.parameters) or "none"),
            )
        node.arguments = [
            self._argument(argument, parameter, callee)
            for argument, parameter in zip(node.arguments, callee.parameters, strict=True)
        ]
        self.kernel.uses_position |= callee.uses_position
        self.kernel.uses_double |= callee.uses_double
        if callee.uses_position:
            self._no_position(f"kernel {callee.name!r}, which asks for its position,", node)
        if callee not in self.kernel.calls:
            self.kernel.calls.append(callee)
        node.type = callee.result
        node.writes = any(parameter.kind == "output" for parameter in callee.parameters)
        return node

    def _argument(self, node: ast.Expression, parameter: Symbol, callee: KernelInfo) -> ast.Expression:
        what = f"argument {parameter.name!r} of kernel {callee.name!r}"
        if parameter.kind == "output":
            checked = self.lvalue(node, f"{what}, which is an output, writes")
            if checked.type != parameter.type:
                raise self.context.error(
                    f"{what} wants {parameter.type}, but this is {checked.type}",
                    node,
                    "the types of outputs must be the same",
                )
            return checked
        if parameter.is_array:
            checked = self._check(node)
            symbol = checked.symbol if isinstance(checked, ast.Name) else None
            if symbol is None or not symbol.is_array:
                raise self.context.error(f"{what} wants an array", node, "pass the name of a gather array")
            if symbol.kind in {"scatter", "shared"}:
                raise self.context.error(
                    f"{symbol.name!r} cannot be passed on: it is a {symbol.kind} array", node, "use it in this kernel"
                )
            if (
                symbol.type != parameter.type
                or symbol.rank != parameter.rank
                or symbol.kind != parameter.kind
                or (parameter.kind == "constant" and symbol.sizes != parameter.sizes)
            ):
                raise self.context.error(
                    f"{what} wants {_array(parameter)}, but {symbol.name!r} is {_array(symbol)}",
                    node,
                    "declare both with the same type",
                )
            return checked
        return self.coerce(self.value(node), parameter.type, what)


def _array(symbol: Symbol) -> str:
    sizes = symbol.sizes if symbol.kind == "constant" else ("",) * symbol.rank
    return f"{symbol.type.name}{''.join(f'[{size}]' for size in sizes)}"


def _accepted(bases: frozenset[str], widths: tuple[int, ...]) -> str:
    names = [base for base in RANKS if base in bases]
    counts = "" if widths == (1, 2, 3, 4) else f" with {' or '.join(map(str, widths))} components"
    return f"it takes {', '.join(names)}{counts}"

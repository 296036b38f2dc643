"""Input: the syntax tree of a file. Output: its kernels with everything resolved and typed; a fault is a
``SourceError``.
"""

from __future__ import annotations

from headwater.brook import ast
from headwater.brook.context import Context, KernelInfo
from headwater.brook.expressions import ExpressionChecker
from headwater.brook.folding import folds_commutatively, integer_constant
from headwater.brook.model import SCALARS, StructField, StructType
from headwater.brook.naming import Names
from headwater.brook.types import INT, VOID, Symbol, Type
from headwater.errors import SourceError

_MAX_RANK = 4
_MAX_CONSTANT_ELEMENTS = 4096  # Brook+ Language Specification 1.4, "Constant buffers"
_MAX_CONSTANT_ARRAYS = 10
_MAX_GROUP = 1024  # Brook+ Programming Guide 1.4, "Compute shader": threads in a group
_MAX_SHARED_ELEMENTS = 1024  # 4096 dwords of 32 bits in elements of 128 bits
_MAX_SHARED_PER_THREAD = 16  # 64 dwords
_SHARED_TYPES = frozenset({"float4", "int4", "uint4"})
_KERNEL_WORDS = frozenset(
    {"kernel", "reduce", "const", "static", "extern", "inline", "__inline", "volatile", "restrict"}
)
"""What may stand before a kernel. Most of them are about the function that brcc wrote for the host."""
_PARAMETER_WORDS = frozenset({"out", "reduce", "const", "iter"})
_VARIABLE_WORDS = frozenset({"const", "shared", "register", "auto"})
_MOST_STRUCT_BYTES = 1 << 16
"""One that holds two of another, which holds two of another, and so on, would have no end."""


def check_struct(context: Context, node: ast.StructNode) -> None:
    """Make a struct known under its names. Raises ``SourceError`` where kernels cannot use it."""
    name = node.alias or node.tag
    if Names().user(name) != name:
        raise context.error(f"struct {name!r} has a name that OpenCL C reserves", node, "choose another name")
    fields: list[StructField] = []
    offset = 0
    alignment = 1
    for group in node.members:
        if group.specifiers.qualifiers:
            word, line, column = group.specifiers.qualifiers[0]
            raise context.source.error(f"{word!r} does not belong in a struct", line, column, "remove it")
        type_ = context.find_type(group.specifiers.type_name, group)
        if type_ == VOID:
            raise context.error("a struct's member cannot be void", group, "give it a type")
        if len(group.names) > 1:
            _, line, column = group.names[1]
            raise context.source.error(
                "each member of a struct needs its own type",
                line,
                column,
                f"write {type_.name} {group.names[1][0]}; on its own",
            )
        member, line, column = group.names[0]
        if any(member == known.name for known in fields):
            raise context.source.error(f"member {member!r} is there twice", line, column, "choose another name")
        size, align = _layout(context, type_)
        offset = -(-offset // align) * align
        fields.append(StructField(member, type_.element, offset))
        offset += size
        if offset > _MOST_STRUCT_BYTES:
            raise context.source.error(
                f"the struct {name!r} takes more than {_MOST_STRUCT_BYTES:,} bytes",
                line,
                column,
                "make it several streams, or an array",
            )
        alignment = max(alignment, align)
    struct = StructType(name, tuple(fields), -(-offset // alignment) * alignment)
    context.structs[name] = struct
    if node.tag and node.tag != name:
        context.typedefs[node.tag] = Type(name, is_struct=True)


def _layout(context: Context, type_: Type) -> tuple[int, int]:
    """Size and alignment as a C++ host lays the type out: vectors are classes of scalars, so they align as one
    component.
    """
    if not type_.is_struct:
        size = SCALARS[type_.base][1]
        return size * type_.width, size
    struct = context.structs[type_.base]
    align = max(
        (_layout(context, Type(f.type.base, f.type.width, f.type.is_struct))[1] for f in struct.fields), default=1
    )
    return struct.size_bytes, align


def check_typedef(context: Context, node: ast.TypedefNode) -> None:
    """Make ``typedef float real;`` known."""
    context.typedefs[node.name] = context.find_type(node.specifiers.type_name, node)


def check_kernel(context: Context, node: ast.KernelNode) -> KernelInfo:
    """Check one kernel, report its faults, and make it known to those after it."""
    if node.name in context.kernels:
        first = context.kernels[node.name].node.line
        context.source.faults.report(
            context.error(f"kernel {node.name!r} is already defined in line {first}", node, "choose another name")
        )
    return _KernelChecker(context, node).check()


class _KernelChecker:
    def __init__(self, context: Context, node: ast.KernelNode) -> None:
        self.context = context
        self.node = node
        self.faults = context.source.faults
        self.known_faults = self.faults.count
        specifiers = node.specifiers
        result = VOID
        with self.faults:
            result = context.find_type(specifiers.type_name or "void", node)
        self.kernel = KernelInfo(node, node.name, result, [], is_reduction=specifiers.has("reduce"))
        self.expressions = ExpressionChecker(context, self.kernel)
        self.loops = 0
        self.constant_arrays = 0

    def check(self) -> KernelInfo:
        node, kernel = self.node, self.kernel
        with self.faults:
            self._qualifiers(node.specifiers, _KERNEL_WORDS, "a kernel")
        if kernel.result.is_struct or kernel.result.is_numeric:
            self.expressions.note_type(kernel.result)
        if node.attribute is not None:
            # Whatever is wrong with its size, the kernel has a group.
            kernel.group_size = 1
            with self.faults:
                self._attribute(*node.attribute)
        for parameter in node.parameters:
            symbol = Symbol(parameter.name, "value", INT, parameter.line, parameter.column, faulty=True)
            with self.faults:
                symbol = self._parameter(parameter)
            with self.faults:
                self.expressions.declare(symbol, parameter)
            kernel.parameters.append(symbol)
        if self.faults.count == self.known_faults:
            with self.faults:
                self._check_signature()
        self._statements(node.body.body)
        kernel.faulty = self.faults.count > self.known_faults or bool(node.lost)
        if kernel.result != VOID and not kernel.returns_value and not kernel.faulty:
            self.faults.report(
                self.context.error(
                    f"kernel {node.name!r} returns no value, but its type is {kernel.result}",
                    node,
                    "add a return statement, or make it void",
                )
            )
            kernel.faulty = True
        if kernel.is_reduction and not kernel.faulty:
            kernel.commutative = folds_commutatively(kernel)
        self.context.kernels[node.name] = kernel
        return kernel

    # ---- the signature

    def _qualifiers(self, specifiers: ast.Specifiers, allowed: frozenset[str], what: str) -> None:
        for word, line, column in specifiers.qualifiers:
            if word not in allowed:
                hint = "kernels keep no state: use a stream or an argument" if word == "static" else "remove it"
                raise self.context.source.error(f"{word!r} does not belong before {what}", line, column, hint)

    def _attribute(self, name: str, arguments: list[ast.Expression], line: int, column: int) -> None:
        source = self.context.source
        if name != "GroupSize":
            raise source.error(f"unknown attribute {name!r}", line, column, "the attribute is GroupSize")
        sizes = [integer_constant(argument) for argument in arguments]
        for size, argument in zip(sizes, arguments, strict=True):
            if size is None or size < 1:
                hint = "write a number, as in GroupSize(64)"
                if isinstance(argument, ast.Name) and argument.name in source.macro_names:
                    hint = f"{argument.name} is a macro of line {source.macro_names[argument.name]}: translate with -pp"
                raise self.context.error("a group size must be a positive integer", argument, hint)
        if len(sizes) > 3:
            raise source.error("GroupSize takes at most three numbers", line, column, "write GroupSize(64)")
        if any(size != 1 for size in sizes[1:]):
            raise source.error(
                "a group has one dimension: other sizes must be 1", line, column, "write GroupSize(64, 1, 1)"
            )
        size = sizes[0] or 0
        if size > _MAX_GROUP:
            raise source.error(
                f"a group has at most {_MAX_GROUP} threads, not {size}", line, column, "choose a smaller group"
            )
        self.kernel.group_size = size

    def _parameter(self, node: ast.ParameterNode) -> Symbol:
        context, specifiers = self.context, node.specifiers
        if node.name == self.node.name:
            raise context.error(f"parameter {node.name!r} has the kernel's name", node, "choose another name")
        self._qualifiers(specifiers, _PARAMETER_WORDS, "a parameter")
        if specifiers.has("iter") and (not node.stream or specifiers.has("out") or specifiers.has("reduce")):
            raise context.error(
                f"iterator {node.name!r} must be an input stream",
                node,
                f"write iter {specifiers.type_name} {node.name}<>",
            )
        if not specifiers.type_name:
            raise context.error(f"parameter {node.name!r} has no type", node, "write its type before its name")
        type_ = context.find_type(specifiers.type_name, node)
        if type_ == VOID:
            raise context.error(f"parameter {node.name!r} cannot be void", node, "give it a type")
        symbol = Symbol(node.name, "value", type_, node.line, node.column, stream=node.stream)
        out = specifiers.has("out")
        if specifiers.has("reduce"):
            if node.sizes is not None or out:
                raise context.error(
                    f"the result {node.name!r} of a reduction cannot be an array or out",
                    node,
                    f"write reduce {type_.name} {node.name}<>",
                )
            symbol.kind = "reduce"
        elif node.sizes is not None:
            self._array_parameter(node, symbol, out)
        elif out:
            symbol.kind = "output"
        elif node.stream:
            symbol.kind = "input"
        return symbol

    def _array_parameter(self, node: ast.ParameterNode, symbol: Symbol, out: bool) -> None:
        context = self.context
        written = node.sizes or []
        symbol.rank = len(written)
        if symbol.rank > _MAX_RANK:
            raise context.error(
                f"{node.name!r} has {symbol.rank} dimensions, but arrays have at most {_MAX_RANK}", node, "flatten it"
            )
        symbol.kind = "scatter" if out else "gather"
        given = [size for size in written if size is not None]
        if not given:
            if out and symbol.type.is_struct:
                raise context.error(
                    f"scatter array {node.name!r} cannot hold structs",
                    node,
                    "use one array for each member, or an output stream",
                )
            return
        if out:
            raise context.error(f"scatter array {node.name!r} cannot have sizes", node, "leave the brackets empty")
        if len(given) < len(written):
            raise context.error(
                f"array {node.name!r} gives only some of its sizes",
                node,
                "give all sizes, for constant memory, or none",
            )
        sizes: list[int] = []
        for size in given:
            number = integer_constant(size)
            if number is None or number < 1:
                hint = "write a number"
                if isinstance(size, ast.Name) and size.name in context.source.macro_names:
                    hint = f"{size.name} is a macro of line {context.source.macro_names[size.name]}: translate with -pp"
                raise context.error("an array's size must be a positive integer", size, hint)
            sizes.append(number)
        symbol.sizes = tuple(sizes)
        count = 1
        for number in sizes:
            count *= number
        if not context.options.constant_arrays:
            return
        if count > _MAX_CONSTANT_ELEMENTS:
            context.warn(
                f"array {node.name!r} has {count} elements, more than the {_MAX_CONSTANT_ELEMENTS} of constant memory, "
                "and becomes a gather array",
                node,
                level=2,
            )
            return
        self.constant_arrays += 1
        if self.constant_arrays > _MAX_CONSTANT_ARRAYS:
            raise context.error(
                f"a kernel has at most {_MAX_CONSTANT_ARRAYS} constant arrays",
                node,
                "leave the brackets empty to make it a gather array",
            )
        symbol.kind = "constant"

    def _check_signature(self) -> None:
        context, kernel, node = self.context, self.kernel, self.node
        scatters = [p for p in kernel.parameters if p.kind == "scatter"]
        if len(scatters) > 1:
            raise context.error(
                "a kernel has at most one scatter array",
                node.parameters[kernel.parameters.index(scatters[1])],
                "write the others as output streams, or use a second kernel",
            )
        results = [p for p in kernel.parameters if p.kind == "reduce"]
        if results and not kernel.is_reduction:
            raise context.error(
                f"kernel {node.name!r} has a reduce parameter: specify the reduce qualifier",
                node,
                f"write reduce void {node.name}(…)",
            )
        if kernel.is_reduction:
            self._check_reduction(results)
        if kernel.group_size and not scatters:
            raise context.error(
                f"kernel {node.name!r} has a group size, so its output must be a scatter array",
                node,
                "write out T name[]",
            )
        if kernel.group_size and kernel.result != VOID:
            raise context.error(
                f"kernel {node.name!r} has a group size and must return void",
                node,
                "write its result to the scatter array",
            )

    def _check_reduction(self, results: list[Symbol]) -> None:
        context, kernel, node = self.context, self.kernel, self.node
        if kernel.result != VOID:
            raise context.error(f"reduction {node.name!r} must return void", node, "its result is the reduce parameter")
        if kernel.group_size:
            raise context.error(f"reduction {node.name!r} cannot have a group size", node, "remove the attribute")
        inputs = [p for p in kernel.parameters if p.kind == "input"]
        if len(results) != 1:
            raise context.error(
                f"reduction {node.name!r} needs exactly one reduce parameter, but has {len(results)}",
                node,
                "write reduce T result<>",
            )
        if len(inputs) != 1:
            raise context.error(
                f"reduction {node.name!r} needs exactly one input stream, but has {len(inputs)}",
                node,
                "combine streams in a kernel before the reduction",
            )
        if inputs[0].type != results[0].type:
            raise context.error(
                f"reduction {node.name!r} turns {inputs[0].type} into {results[0].type}, but both must be the same",
                node,
                "convert in a kernel before the reduction",
            )
        for parameter, written in zip(kernel.parameters, node.parameters, strict=True):
            if parameter.kind not in {"input", "reduce", "value"}:
                raise context.error(
                    f"reduction {node.name!r} cannot have the parameter {parameter.name!r}",
                    written,
                    "a reduction has one input stream and one result",
                )

    # ---- statements

    def _statements(self, body: list[ast.Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _scoped(self, *statements: ast.Statement) -> None:
        self.expressions.scopes.append({})
        for statement in statements:
            self._statement(statement)
        self.expressions.scopes.pop()

    def _statement(self, node: ast.Statement) -> None:
        expressions, faults = self.expressions, self.faults
        match node:
            case ast.Block():
                self.expressions.scopes.append({})
                self._statements(node.body)
                self.expressions.scopes.pop()
            case ast.Declaration():
                with faults:
                    self._declaration(node)
            case ast.Evaluate():
                if node.expression is not None:
                    with faults:
                        node.expression = expressions.statement(node.expression)
            case ast.If():
                with faults:
                    node.condition = expressions.condition(node.condition, "if")
                self._scoped(node.yes)
                if node.no is not None:
                    self._scoped(node.no)
            case ast.While():
                with faults:
                    node.condition = expressions.condition(node.condition, "while")
                self._loop(node.body)
            case ast.DoWhile():
                self._loop(node.body)
                with faults:
                    node.condition = expressions.condition(node.condition, "do while")
            case ast.For():
                self._for(node)
            case ast.Jump():
                if not self.loops and not self.node.lost:
                    faults.report(self.context.error(f"{node.keyword} outside a loop", node, "remove it"))
            case ast.Return():
                with faults:
                    self._return(node)
            case _:
                raise AssertionError(node)

    def _loop(self, body: ast.Statement) -> None:
        self.loops += 1
        self._scoped(body)
        self.loops -= 1

    def _for(self, node: ast.For) -> None:
        expressions = self.expressions
        expressions.scopes.append({})
        with self.faults:
            if isinstance(node.start, ast.Declaration):
                self._declaration(node.start)
            elif node.start is not None:
                node.start = expressions.statement(node.start)
        if node.condition is not None:
            with self.faults:
                node.condition = expressions.condition(node.condition, "for")
        if node.step is not None:
            with self.faults:
                node.step = expressions.statement(node.step)
        self._loop(node.body)
        expressions.scopes.pop()

    def _return(self, node: ast.Return) -> None:
        kernel = self.kernel
        if node.value is None:
            if kernel.result != VOID:
                raise self.context.error(
                    f"return gives no value, but kernel {kernel.name!r} returns {kernel.result}", node, "return a value"
                )
            return
        if kernel.result == VOID:
            raise self.context.error(
                f"return gives a value, but kernel {kernel.name!r} is void", node, "write the value to an output"
            )
        kernel.returns_value = True
        node.value = self.expressions.store(self.expressions.value(node.value), kernel.result, "return")

    def _declaration(self, node: ast.Declaration) -> None:
        specifiers = node.specifiers
        with self.faults:
            self._qualifiers(specifiers, _VARIABLE_WORDS, "a variable")
        try:
            if not specifiers.type_name:
                raise self.context.error("this variable has no type", node, "write its type before its name")
            type_ = self.context.find_type(specifiers.type_name, node)
            if type_ == VOID:
                raise self.context.error("a variable cannot be void", node, "give it a type")
        except SourceError:
            for declarator in node.declarators:
                self._declare_faulty(declarator)
            raise
        for declarator in node.declarators:
            with self.faults:
                try:
                    self._declarator(declarator, type_, specifiers)
                except SourceError:
                    self._declare_faulty(declarator)
                    raise

    def _declarator(self, declarator: ast.Declarator, type_: Type, specifiers: ast.Specifiers) -> None:
        if specifiers.has("shared"):
            self._shared(declarator, type_)
            return
        if declarator.sizes is not None:
            raise self.context.error(
                f"local array {declarator.name!r}: kernels have no local arrays",
                declarator,
                "use a constant or gather array, a vector, or shared memory",
            )
        symbol = Symbol(
            declarator.name, "local", type_, declarator.line, declarator.column, constant=specifiers.has("const")
        )
        if declarator.initializer is not None:
            with self.faults:
                declarator.initializer = self._initializer(declarator.initializer, type_)
        self._declare_local(symbol, declarator)

    def _declare_faulty(self, node: ast.Declarator) -> None:
        """Bring a name into scope of whose uses nothing is said."""
        symbol = Symbol(node.name, "local", INT, node.line, node.column, faulty=True)
        self.expressions.scopes[-1].setdefault(node.name, symbol)

    def _declare_local(self, symbol: Symbol, node: ast.Declarator) -> None:
        scopes = self.expressions.scopes
        if len(scopes) == 1:
            parameter = scopes[0].get(symbol.name)
            if parameter is not None and parameter in self.kernel.parameters:
                raise self.context.error(
                    f"variable {symbol.name!r} hides the parameter of that name", node, "choose another name"
                )
        self.expressions.declare(symbol, node)
        node.symbol = symbol
        self.kernel.locals.append(symbol)

    def _initializer(self, node: ast.Expression, type_: Type) -> ast.Expression:
        if isinstance(node, ast.Construct) and not node.type_name:
            if type_.width == 1 and not type_.is_struct:
                if len(node.arguments) != 1:
                    raise self.context.error(
                        f"{type_} takes one value, not {len(node.arguments)}", node, "remove the others"
                    )
                return self.expressions.store(self.expressions.value(node.arguments[0]), type_, "the initialiser")
            self.expressions.fill(node, type_, "the initialiser")
            return node
        return self.expressions.store(self.expressions.value(node), type_, "the initialiser")

    def _shared(self, node: ast.Declarator, type_: Type) -> None:
        context, kernel = self.context, self.kernel
        if not kernel.group_size:
            raise context.error("shared memory needs a group", node, "write Attribute[GroupSize(64)] before the kernel")
        if kernel.shared:
            raise context.error("a kernel has at most one shared array", node, "put both in one array")
        if type_.name not in _SHARED_TYPES:
            raise context.error(
                f"shared elements have 128 bits, so {type_.name} is not possible", node, "use float4, int4 or uint4"
            )
        if node.initializer is not None:
            raise context.error("shared memory cannot be initialised", node, "write to it, then call syncGroup()")
        size = (
            integer_constant(node.sizes[0])
            if node.sizes and len(node.sizes) == 1 and node.sizes[0] is not None
            else None
        )
        if size is None or size < 1:
            macro = node.sizes[0] if node.sizes and isinstance(node.sizes[0], ast.Name) else None
            hint = f"write shared {type_.name} {node.name}[256]"
            if macro is not None and macro.name in context.source.macro_names:
                hint = f"{macro.name} is a macro of line {context.source.macro_names[macro.name]}: translate with -pp"
            raise context.error(f"shared array {node.name!r} needs one size, a positive integer", node, hint)
        group = kernel.group_size
        if size > _MAX_SHARED_ELEMENTS:
            raise context.error(
                f"shared array {node.name!r} has {size} elements, more than {_MAX_SHARED_ELEMENTS}",
                node,
                "make it smaller",
            )
        if size % group:
            raise context.error(
                f"the size {size} of {node.name!r} is not a multiple of the group size {group}",
                node,
                f"use {-(-size // group) * group}",
            )
        if size // group > _MAX_SHARED_PER_THREAD:
            raise context.error(
                f"shared array {node.name!r} has {size // group} elements for each thread, more than "
                f"{_MAX_SHARED_PER_THREAD}",
                node,
                "make it smaller, or the group larger",
            )
        symbol = Symbol(node.name, "shared", type_, node.line, node.column, rank=1, sizes=(size,))
        self._declare_local(symbol, node)
        kernel.locals.remove(symbol)
        kernel.shared.append(symbol)

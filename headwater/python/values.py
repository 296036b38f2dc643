"""Input: an expression of a kernel. Output: its type and its C text."""

from __future__ import annotations

import ast
import builtins
import functools
import types as pytypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

import numpy as np

from headwater.python import arrays
from headwater.python.arrays import Handle
from headwater.python.expressions import (
    ADD,
    AND,
    ATOM,
    EQUAL,
    MULTIPLY,
    OR,
    SHIFT,
    TERNARY,
    WEAK,
    XOR,
    Expr,
    Refused,
    Unclear,
    binary,
    cast,
    common_type,
    compare,
    constant,
    convert,
    default_of,
    literal,
    named,
    settled,
    truth,
    unary,
)
from headwater.python.scopes import scopes
from headwater.python.source import Source
from headwater.python.types import (
    BOOL,
    INT32,
    INT64,
    SIZE,
    TEXT,
    UNKNOWN,
    VOID,
    WEAK_FLOAT,
    Array,
    Constant,
    LocalPointer,
    Scalar,
    Struct,
    Tuple,
    Type,
    Vector,
    of_annotation,
    of_dtype,
)
from headwater.python.unit import Done, Fault, Hidden, Unit, c_name

BINARY: Final = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARE: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_UNARY: Final = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
MISSING: Final = {
    ast.ListComp: ("a comprehension", "a for loop over hw.private_array(…)"),
    ast.SetComp: ("a comprehension", "a for loop"),
    ast.DictComp: ("a comprehension", "a for loop"),
    ast.GeneratorExp: ("a generator", "a for loop that adds up"),
    ast.List: ("a list", "a tuple, or hw.private_array(shape, type) for what is indexed"),
    ast.Dict: ("a dictionary", "a dataclass, or arrays"),
    ast.Set: ("a set", "comparisons"),
    ast.Lambda: ("a lambda", "a function written with def outside of the kernel"),
    ast.Await: ("await", "launch kernels in queues from the host"),
    ast.Yield: ("yield", "write results to an array"),
    ast.YieldFrom: ("yield", "write results to an array"),
    ast.Starred: ("a starred expression", "name the values one by one"),
    ast.NamedExpr: (":=", "an assignment on a line of its own"),
    ast.JoinedStr: ("an f-string outside of print", "print(f'…')"),
    ast.Try: ("try", "kernels raise no exceptions: test before, or use check=True"),
    ast.Raise: ("raise", "write an error code to an array"),
    ast.With: ("with", "plain statements"),
    ast.FunctionDef: ("a function inside of a kernel", "define it outside, and call it"),
    ast.ClassDef: ("a class inside of a kernel", "define a dataclass outside"),
    ast.Import: ("import", "import it outside of the kernel"),
    ast.ImportFrom: ("import", "import it outside of the kernel"),
    ast.Global: ("global", "pass an array to write to"),
    ast.Nonlocal: ("nonlocal", "pass an array to write to"),
    ast.Delete: ("del", "variables end with the function"),
    ast.Assert: ("assert", "test it on the host, or write an error code to an array"),
    ast.Match: ("match", "if and elif"),
    ast.AsyncFor: ("async for", "for … in range(…)"),
    ast.AsyncWith: ("async with", "plain statements"),
    ast.AsyncFunctionDef: ("a function inside of a kernel", "define it outside, and call it"),
}


@functools.cache
def _method(kind: str) -> str:
    """The name of the method for expressions of a kind."""
    return f"value_{kind.lower()}"


@dataclass
class Variable:
    """What is known of a variable: its type, and the statement that gave it that type."""

    type: Type
    node: ast.AST
    positive: bool = False
    """No value that is assigned to it is below 0; taken to be so until a pass finds one that may be."""
    origins: set[str] = field(default_factory=set)


@dataclass
class Flow:
    """Which variables have a value here; ``reached`` is False behind a return, break or continue."""

    assigned: set[str]
    reached: bool = True

    def copy(self) -> Flow:
        return Flow(set(self.assigned), self.reached)

    def join(self, other: Flow) -> None:
        """What holds behind both ways."""
        if not other.reached:
            return
        if not self.reached:
            self.assigned, self.reached = other.assigned, True
        else:
            self.assigned = self.assigned & other.assigned


class Values(ABC):
    """The expressions of one function with types for its parameters."""

    def __init__(self, unit: Unit, function: Any, kinds: Sequence[Type], source: Source, kernel: bool) -> None:
        self.unit, self.function, self.kinds, self.source, self.kernel = unit, function, kinds, source, kernel
        self.tree = source.tree
        self.scopes = scopes(source.tree)
        self.parameters = [a.arg for a in (*self.tree.args.posonlyargs, *self.tree.args.args)]
        self.known: dict[str, Variable] = {}
        self.found: dict[str, Variable] = {}
        self.forced: set[str] = set()
        self.written: set[str] = set()
        self.hidden: dict[Hidden, None] = {}
        self.lines: list[str] = []
        self.level = 1
        self.flow = Flow(set())
        self.breaks: list[Flow] = []
        self.faults: list[Fault] = []
        self.temporaries = 0
        self.top: list[str] = []
        self.locals: dict[str, Handle] = {}
        self.line = 0
        self.need = unit.helper
        self.result: Type = VOID
        self.result_node: Any = None

    def fault(self, node: Any, message: str, hint: str = "") -> None:
        """Note an error at a node of the tree."""
        span = self.source.span(node)
        self.faults.append(Fault(span, message, hint, self.source.line(span.line)))

    def called(self, kind: Type) -> str:
        return default_of(kind).name

    # -- text ----------------------------------------------------------------------------------------------------------

    def emit(self, text: str, node: Any = None) -> None:
        """A line of C that belongs to a node's line."""
        line = getattr(node, "lineno", 0)
        if line and line != self.line:
            self.lines.append(f"#line {line}")
            self.line = line
        self.lines.append("    " * self.level + text)
        self.line += 1

    def temporary(self) -> str:
        """A name that the function has not used."""
        self.temporaries += 1
        return self.unused(f"t_{self.temporaries}")

    def unused(self, name: str) -> str:
        """A name of C like this one that no variable of the function has."""
        while name in self.scopes.names or name in self.parameters:
            name += "_u"
        return name

    def extent_name(self, name: str, axis: int) -> str:
        """The variable of C with an extent of the array that a variable stands for."""
        return self.unused(f"{c_name(name)}_n{axis}")

    def hidden_name(self, hidden: Hidden) -> str:
        suffix = f"{hidden.kind}{hidden.axis}" if hidden.kind != "o" else "o"
        name = self.parameters[hidden.position]
        return self.unused(f"{name if name.isascii() else c_name(name)}_{suffix}")

    def parameter_array(self, at: int, kind: Array) -> Handle:
        """An array parameter, whose extents are asked of the launcher or the caller where they are used."""

        def asked(letter: Any) -> Callable[[int], Expr]:
            def one(axis: int) -> Expr:
                if letter == "n" and kind.shape is not None:
                    return arrays.extent_of(kind, axis)
                hidden = Hidden(letter, at, axis)
                self.hidden[hidden] = None
                wide = kind.wide or letter != "n"
                return Expr(INT64 if wide else INT32, self.hidden_name(hidden), positive=letter == "n")

            return one

        pointer = c_name(self.parameters[at])
        origins = frozenset({self.parameters[at]})
        if kind.layout == "strided":
            return Handle(kind, pointer, asked("n"), asked("s"), asked("o")(0), origins)
        return Handle(kind, pointer, asked("n"), origins=origins)

    # -- variables -----------------------------------------------------------------------------------------------------

    def read_variable(self, name: str, node: ast.AST) -> Expr:
        """The value of a variable of the function."""
        if name in self.locals:
            return arrays.value(self.locals[name])
        variable = self.known.get(name) or self.found.get(name)
        if name not in self.flow.assigned and self.flow.reached:
            if variable is None or variable.type == UNKNOWN:
                if any(f.span.line for f in self.faults):
                    raise Unclear
                raise Refused(f"{name} has no value yet", "assign it before", node)
            line = getattr(variable.node, "lineno", 0)
            raise Refused(
                f"{name} may have no value here: line {line} assigns it, but not on every way that leads here",
                "assign it before, for all ways",
                node,
            )
        if variable is None or variable.type == UNKNOWN:
            raise Unclear
        kind = variable.type
        text = c_name(name)
        if isinstance(kind, Constant):
            return self.static(kind.value, name)
        if isinstance(kind, Array):
            if name in self.parameters:
                return arrays.value(self.parameter_array(self.parameters.index(name), kind))
            return arrays.value(self._alias(name, kind))
        if isinstance(kind, LocalPointer):
            return arrays.value(self._local_parameter(name, kind))
        if kind == BOOL and name in self.parameters and self.kernel:
            return Expr(BOOL, f"{text} != 0", binds=EQUAL, positive=True)
        if isinstance(kind, Tuple):
            return Expr(kind, text, parts=tuple(Expr(p, f"{text}._{at}") for at, p in enumerate(kind.parts)))
        positive = name not in self.parameters if name not in self.known else variable.positive
        return Expr(kind, text, positive=positive or unsigned(kind))

    def _local_parameter(self, name: str, kind: LocalPointer) -> Handle:
        def unknown(axis: int) -> NoReturn:
            raise Refused(
                f"the launch says how long {name} is, and the kernel does not know it", "pass its length, too"
            )

        made = Array(kind.name, kind.element, 1, "local")
        return Handle(made, c_name(name), unknown, origins=frozenset({name}))

    def _alias(self, name: str, kind: Array) -> Handle:
        text = c_name(name)
        whole = INT64 if kind.wide else INT32

        def extent(axis: int) -> Expr:
            name_ = self.extent_name(name, axis)
            return arrays.extent_of(kind, axis) if kind.shape else Expr(whole, name_, positive=True)

        origins = frozenset({name, *(self.known.get(name) or self.found[name]).origins})
        return Handle(kind, text, extent, origins=origins)

    def not_there(self, node: ast.AST) -> NoReturn:
        what, hint = MISSING.get(type(node), (type(node).__name__, ""))
        raise Refused(f"{what} is not in the language of kernels", f"instead: {hint}" if hint else "", node)

    def kept(self, e: Expr, node: ast.AST) -> Expr:
        """The value in a variable of C of its own."""
        if e.type in (VOID, UNKNOWN):
            raise Refused(f"{named(e)} is no value of a kernel")
        name = self.temporary()
        self.emit(f"const {self.unit.c_type(e.type)} {name} = {e.text};", node)
        return replace(e, text=name, binds=ATOM, pure=True)

    # -- places --------------------------------------------------------------------------------------------------------

    def wrote(self, handle: Handle, node: Any) -> None:
        """Note that an array is written. Refused for constants."""
        if handle.kind.space == "constant":
            raise Refused("constants cannot be assigned to", "pass an array", node)
        self.written |= handle.origins

    def place(self, node: ast.expr, kept: ast.stmt | None = None) -> Expr:
        """What an assignment to a subscript or an attribute assigns to. ``kept``: of that statement, which reads it,
        too, so that indices are computed once."""
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            if isinstance(base.type, Vector):
                self._of_any_sign(node)
                outer = self.place(node.value, kept) if not isinstance(node.value, ast.Name) else base
                return replace(self.component(outer, self.value(node.slice), node), value=None)
            handle = self._handle(base, node)
            indices = self._indices(node)
            if len(indices) != handle.kind.ndim:
                raise Refused(
                    f"{len(indices)} ind{'ices' if len(indices) != 1 else 'ex'} into {handle.kind.name}: "
                    "whole rows cannot be assigned", "assign each element", node,
                )  # fmt: skip
            self.wrote(handle, node)
            if kept is not None and not base.pure:
                raise Refused("the index is computed once in Python", "put it in a variable", node)
            if kept is not None:
                indices = [e if e.pure else self.kept(settled(e), kept) for e in indices]
            return arrays.element(handle, indices, self.need)
        assert isinstance(node, ast.Attribute)
        base = self.value(node.value)
        if isinstance(base.type, (Vector, Struct)):
            self._of_any_sign(node)
            if isinstance(node.value, ast.Name):
                self._refuse_shared(node.value, base)
                outer = base
            elif isinstance(node.value, (ast.Subscript, ast.Attribute)):
                outer = self.place(node.value, kept)
            else:
                raise Refused("what a call gives cannot be assigned to", "", node)
            return self.attribute_of(outer, node)
        raise Refused(f"{ast.unparse(node)} cannot be assigned to", "", node)

    def _of_any_sign(self, target: ast.Subscript | ast.Attribute) -> None:
        """Note that a component is assigned to: nothing is known of the variable's components any more."""
        if isinstance(target.value, ast.Name) and target.value.id in self.found:
            self.found[target.value.id].positive = False

    def _refuse_shared(self, node: ast.Name, base: Expr) -> None:
        """A struct's field is assigned to only where no other name could see it in Python."""
        if node.id in self.parameters or not isinstance(base.type, Struct):
            if isinstance(base.type, Struct):
                raise Refused(f"{node.id} belongs to the caller, who would see its fields change in Python",
                              f"make one of your own: {base.type.name}(…)", node)  # fmt: skip
            return
        for statement in ast.walk(self.tree):
            if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Call):
                continue
            if any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
                raise Refused(
                    f"{node.id} names in Python what line {statement.lineno} has on its right, and is a copy here",
                    f"make one of your own: {base.type.name}(…), or assign to the element itself",
                    node,
                )

    def _handle(self, base: Expr, node: ast.Subscript) -> Handle:
        if base.array is None:
            if base.type == UNKNOWN and base.static is None:
                raise Unclear
            raise Refused(f"{named(base)} cannot be indexed", "", node)
        handle: Handle = base.array
        return handle

    def _indices(self, node: ast.Subscript) -> list[Expr]:
        index = node.slice
        if isinstance(index, ast.Tuple):
            return [self.value(part) for part in index.elts]
        made = self.value(index)
        return list(made.parts) if isinstance(made.type, Tuple) and made.parts else [made]

    # -- expressions ---------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Expr:
        """The value of an expression."""
        method = getattr(self, _method(type(node).__name__), None)
        if method is None:
            self.not_there(node)
        try:
            made: Expr = method(node)
        except Refused as error:
            if error.node is None:
                error.node = node
            raise
        return made

    def value_constant(self, node: ast.Constant) -> Expr:
        if isinstance(node.value, (bool, int, float)):
            return constant(node.value)
        if isinstance(node.value, str):
            return Expr(TEXT, static=node.value)
        if node.value is None:
            return Expr(UNKNOWN, static=_Nothing)
        raise Refused(f"{node.value!r} is no value of a kernel", "numbers are", node)

    def value_name(self, node: ast.Name) -> Expr:
        if node.id in self.scopes.names or node.id in self.parameters:
            return self.read_variable(node.id, node)
        return self.outer(node.id, node)

    def outer(self, name: str, node: ast.AST) -> Expr:
        """What a name from outside of the function means."""
        function = self.function
        if name in function.__code__.co_freevars:
            cell = function.__closure__[function.__code__.co_freevars.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                raise Refused(f"{name} has no value yet where the kernel is compiled", "assign it before") from None
            self.unit.capture(cell, "", value, True)
        elif name in function.__globals__:
            value = function.__globals__[name]
            self.unit.capture(function.__globals__, name, value)
        elif hasattr(builtins, name):
            value = getattr(builtins, name)
            self.unit.capture(function.__globals__, name, None)  # nothing there hides it
        else:
            import difflib

            names = [*self.scopes.names, *self.parameters, *function.__globals__]
            near = difflib.get_close_matches(name, names, 1)
            raise Refused(f"there is no {name}", f"did you mean {near[0]}?" if near else "", node)
        return self.static(value, name)

    def static(self, value: Any, name: str) -> Expr:
        """A Python object as an operand: numbers are constants, arrays tables."""
        if isinstance(value, (bool, np.bool_)):
            return constant(bool(value))
        if isinstance(value, (int, float)) and not isinstance(value, np.generic):
            return constant(value)
        if isinstance(value, np.generic):
            kind = of_dtype(value.dtype)
            if isinstance(kind, Scalar):
                return literal(value.item(), kind)
        if isinstance(value, str):
            return Expr(TEXT, static=value)
        if isinstance(value, tuple) and value:
            parts = tuple(self.static(part, name) for part in value)
            return Expr(Tuple("a tuple", tuple(p.type for p in parts)), parts=parts, static=None)
        if isinstance(value, np.ndarray):
            return self._table(value, name)
        ask = getattr(value, "kernel_value", None)
        if ask is not None and not isinstance(value, type):
            number_: Expr = ask(self)
            return number_
        device_array = getattr(value, "stream", value)
        if type(device_array).__name__ == "Stream":
            return self._captured_array(value, device_array, name)
        return Expr(UNKNOWN, static=value if value is not None else _Nothing)

    def _table(self, value: Any, name: str) -> Expr:
        element = of_dtype(value.dtype)
        if not isinstance(element, Scalar):
            raise Refused(f"{name} is an array of {value.dtype}, which a kernel cannot have as constants", "")
        if not 1 <= value.ndim <= 3 or value.size == 0:
            raise Refused(f"{name} has the shape {value.shape}, constants have one to three dimensions", "")
        if value.flags.writeable and self.unit.dialect != "cuda":
            raise Refused(
                f"{name} is an array that may change, and the kernel would keep what it holds now",
                f"pass it as an argument, or say that it will not change: {name}.flags.writeable = False",
            )
        text = self.unit.table(value, element)
        kind = Array(f"{element.name}{list(value.shape)}", element, value.ndim, "constant", shape=value.shape)
        return arrays.value(Handle(kind, text, lambda axis: arrays.extent_of(kind, axis)))

    def _captured_array(self, owner: Any, stream: Any, name: str) -> Expr:
        element = of_dtype(stream.dtype)
        if element is None or not 1 <= stream.ndim <= 3:
            raise Refused(f"{name} is a stream of {stream.dtype} with {stream.ndim} dimensions", "")
        if not self.kernel:
            raise Refused(f"{name} is a stream, which a function called by a kernel does not see", "pass it on")
        known = [at for at, (one, _) in enumerate(self.unit.arrays) if one is owner]
        shape = tuple(stream.shape)
        kind = Array(name, element, stream.ndim, shape=shape)
        if not known:
            self.unit.arrays.append((owner, kind))
        at = known[0] if known else len(self.unit.arrays) - 1
        self.hidden[Hidden("a", at)] = None
        return arrays.value(Handle(kind, f"captured_{at}", lambda axis: arrays.extent_of(kind, axis)))

    def value_attribute(self, node: ast.Attribute) -> Expr:
        base = self.value(node.value)
        return self.attribute_of(base, node)

    def attribute_of(self, base: Expr, node: ast.Attribute) -> Expr:
        """``base.attr``: of a module, an array, a vector, a struct."""
        name = node.attr
        if base.static is not None:
            special = self.special_attribute(base.static, name)
            if special is not None:
                return special
            owner = base.static
            if isinstance(owner, (pytypes.ModuleType, type)) or not hasattr(type(owner), "__slots__"):
                try:
                    found = getattr(owner, name)
                except AttributeError:
                    where = getattr(owner, "__name__", type(owner).__name__)
                    raise Refused(f"{where} has no {name}", "", node) from None
                if isinstance(found, (int, float, np.ndarray, tuple)) and not isinstance(owner, pytypes.ModuleType):
                    self.unit.capture(owner, name, found)
                elif isinstance(owner, pytypes.ModuleType) and owner.__name__.split(".")[0] not in _FIXED:
                    self.unit.capture(owner.__dict__, name, found)
                return self.static(found, name)
        if base.array is not None:
            return self._array_attribute(base.array, name, node)
        if isinstance(base.type, Vector):
            return self.swizzle(base, name, node)
        if isinstance(base.type, Struct):
            kind = base.type.field(name)
            if kind is None:
                fields = ", ".join(field for field, _ in base.type.fields)
                raise Refused(f"{base.type.name} has no field {name}", f"its fields are {fields}", node)
            text = f"{base.within(ATOM)}.{c_name(name)}"
            return Expr(kind, text, pure=base.pure)
        if base.type == UNKNOWN and base.static is None:
            raise Unclear
        raise Refused(f"{named(base)} has no {name}", "", node)

    def _array_attribute(self, handle: Handle, name: str, node: ast.AST) -> Expr:
        if name == "ndim":
            return constant(handle.kind.ndim)
        if name == "shape":
            parts = tuple(handle.size(axis) if handle.kind.shape is None else constant(handle.kind.shape[axis])
                          for axis in range(handle.kind.ndim)) if name == "shape" else ()  # fmt: skip
            return Expr(Tuple("a shape", tuple(p.type for p in parts)), parts=parts)
        if name == "size":
            made = handle.size(0)
            for axis in range(1, handle.kind.ndim):
                made = binary("*", made, handle.size(axis), self.need)
            return made
        raise Refused(f"an array in a kernel has no {name}", "shape, size, ndim, len(…) and elements", node)

    def swizzle(self, base: Expr, name: str, node: ast.AST) -> Expr:
        """Components of a vector by their letters."""
        kind = base.type
        assert isinstance(kind, Vector)
        letters = "xyzw" if kind.width <= 4 else ""
        at = [letters.find(letter) for letter in name] if name and not name.startswith("s") else [
            int(c, 16) if c in "0123456789abcdef" else -1 for c in name[1:].lower()
        ]  # fmt: skip
        if name in ("lo", "hi", "even", "odd") and kind.width in (2, 4, 8, 16):
            at = list(range(kind.width // 2))
        if not at or min(at) < 0 or max(at) >= kind.width or len(at) not in (1, 2, 3, 4, 8, 16):
            known = ", ".join(f".{c}" for c in letters[: kind.width]) or ".s0, .s1, …"
            raise Refused(f"{kind.name} has no component {name}", f"components are {known} and several of them", node)
        made: Type = kind.element
        if len(at) > 1:
            made = Vector(f"{kind.element.c}{len(at)}", kind.element, len(at))
        return Expr(
            made, f"{base.within(ATOM)}.{name}", pure=base.pure, positive=base.positive or unsigned(kind.element)
        )

    def component(self, base: Expr, index: Expr, node: ast.AST) -> Expr:
        """A component of a vector by its number."""
        kind = base.type
        assert isinstance(kind, Vector)
        if index.value is None or not -kind.width <= index.value < kind.width:
            raise Refused("components have constant numbers", f"0 to {kind.width - 1}, or .x, .y, …", node)
        return Expr(kind.element, f"{base.within(ATOM)}.s{index.value % kind.width:x}", pure=base.pure)

    def value_subscript(self, node: ast.Subscript) -> Expr:
        base = self.value(node.value)
        if base.static is not None and hasattr(base.static, "__getitem__") and not isinstance(base.static, type):
            made = of_annotation(base.static)
            if isinstance(made, (Scalar, Vector)):
                raise Refused("arrays' types belong to parameters", "")
        if isinstance(base.type, Tuple):
            index = self.value(node.slice)
            if not isinstance(index.value, int) or not -len(base.type.parts) <= index.value < len(base.type.parts):
                raise Refused("a tuple is indexed by constants within its length", "an array takes any index", node)
            if base.parts:
                return base.parts[index.value]
            at = index.value % len(base.type.parts)
            return Expr(base.type.parts[at], f"{base.text}._{at}", pure=base.pure)
        if isinstance(base.type, Vector):
            return self.component(base, self.value(node.slice), node)
        handle = self._handle(base, node)
        if isinstance(node.slice, ast.Slice):
            cut = node.slice
            if cut.lower is None or cut.upper is not None or cut.step is not None:
                raise Refused("slices are array[start:]", "loops over the elements", node)
            return arrays.tail(handle, self.value(cut.lower), self.need)
        return arrays.read(handle, self._indices(node), self.need)

    def value_tuple(self, node: ast.Tuple) -> Expr:
        parts = tuple(self.value(part) for part in node.elts)
        if any(p.static is not None and p.type == UNKNOWN for p in parts):
            return Expr(UNKNOWN, static=tuple(p.static for p in parts), parts=parts)
        return Expr(Tuple("a tuple", tuple(p.type for p in parts)), parts=parts, pure=all(p.pure for p in parts))

    def value_binop(self, node: ast.BinOp) -> Expr:
        symbol = BINARY.get(type(node.op))
        if symbol is None:
            raise Refused("@ is not in the language of kernels", "write the loops of the product", node)
        return binary(symbol, self.value(node.left), self.value(node.right), self.need)

    def value_unaryop(self, node: ast.UnaryOp) -> Expr:
        return unary(_UNARY[type(node.op)], self.value(node.operand))

    def value_boolop(self, node: ast.BoolOp) -> Expr:
        word, symbol = ("and", "&&") if isinstance(node.op, ast.And) else ("or", "||")
        made: Expr | None = None
        for part in node.values:
            e = self.value(part)
            if e.type != BOOL:
                if e.type == UNKNOWN and e.static is None:
                    raise Unclear
                raise Refused(
                    f"{word} of {named(e)}, which is no bool: Python gives one of the operands",
                    "compare with 0, or write x if c else y", part,
                )  # fmt: skip
            if made is not None and made.value is not None:
                if made.value is (word == "or"):
                    return made
                made = None
            binds = 3 if word == "and" else 2
            made = e if made is None else Expr(
                BOOL, f"{made.within(4)} {symbol} {e.within(4)}" if made.binds != binds
                else f"{made.text} {symbol} {e.within(4)}", binds, pure=made.pure and e.pure, positive=True,
            )  # fmt: skip
        assert made is not None
        return made

    def value_compare(self, node: ast.Compare) -> Expr:
        operands = [self.value(node.left), *(self.value(part) for part in node.comparators)]
        if len(operands) > 2 and not all(e.pure for e in operands[1:-1]):
            raise Refused("the operand in the middle is computed once in Python", "put it in a variable", node)
        made: Expr | None = None
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            one = self._compared(op, a, b, node)
            if made is None:
                made = one
            elif made.value is not None and one.value is not None:
                made = constant(bool(made.value and one.value))
            else:
                made = Expr(BOOL, f"{made.within(4)} && {one.within(4)}", 3, pure=made.pure and one.pure)
        assert made is not None
        return made

    def _compared(self, op: ast.cmpop, a: Expr, b: Expr, node: ast.AST) -> Expr:
        if isinstance(op, (ast.In, ast.NotIn)):
            if not b.parts:
                raise Refused("in looks into tuples only", "a loop over the array", node)
            if not a.pure:
                raise Refused("the operand of in is computed once in Python", "put it in a variable", node)
            found = [compare("==", a, part) for part in b.parts]
            text = " || ".join(e.within(4) for e in found)
            made = Expr(BOOL, text, 2) if len(found) > 1 else found[0]
            if all(e.value is not None for e in found):
                made = constant(any(e.value for e in found))
            return unary("not", made) if isinstance(op, ast.NotIn) else made
        if isinstance(op, (ast.Is, ast.IsNot)):
            if _Nothing in (a.static, b.static):
                same = a.static is b.static
                return constant(same if isinstance(op, ast.Is) else not same)
            raise Refused("is compares objects, of which a kernel has none", "==", node)
        if a.type == TEXT and b.type == TEXT and isinstance(op, (ast.Eq, ast.NotEq)):
            return constant((a.static == b.static) is isinstance(op, ast.Eq))
        return compare(COMPARE[type(op)], a, b)

    def value_ifexp(self, node: ast.IfExp) -> Expr:
        test = truth(self.value(node.test))
        if test.value is not None:
            return self.value(node.body if test.value else node.orelse)
        a, b = self.value(node.body), self.value(node.orelse)
        a, b = (cast(e, INT32) if e.type == SIZE else e for e in (a, b))
        if isinstance(a.type, Tuple) and isinstance(b.type, Tuple):
            raise Refused("a choice between tuples", "choose each of their values")
        if BOOL in (a.type, b.type) and a.type != b.type:
            raise Refused(f"{named(a)} if … else {named(b)}", "both sides have one type")
        kind = a.type if a.type == b.type else common_type(a.type, b.type, "a choice")
        if not isinstance(kind, (Scalar, Vector, Struct)) and kind not in WEAK:
            raise Refused(f"a choice between {named(a)} and {named(b)}", "numbers, vectors and structs")
        if kind in WEAK:
            kind = default_of(kind) if a.value is not None and b.value is not None else kind
        if kind not in WEAK:
            a, b = convert(a, kind), convert(b, kind)
        text = f"{test.within(2)} ? {a.within(2)} : {b.within(TERNARY)}"
        return Expr(kind, text, TERNARY, positive=a.positive and b.positive, pure=a.pure and b.pure and test.pure)

    def position(self) -> Expr:
        """The position of a stream's element. Refused in kernels that are launched over work-items."""
        raise Refused("instance is the position in a stream", "hw.global_id(0), or @hw.stream_kernel")

    @abstractmethod
    def value_call(self, node: ast.Call) -> Expr:
        """A call's value."""

    @abstractmethod
    def special_attribute(self, owner: Any, name: str) -> Expr | None:
        """An attribute that is an expression of the language, of an object that is none; None if it is no such one."""

    @abstractmethod
    def translated(self, function: Any, kinds: Sequence[Type], node: ast.AST) -> Done:
        """A function that the kernel calls with arguments of such types. Refused if it calls itself."""


BINDS: Final = {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY, "&": AND, "|": OR, "^": XOR,
                 "<<": SHIFT, ">>": SHIFT}  # fmt: skip
_FIXED: Final = ("headwater", "math", "numpy")
"""Modules whose names do not change."""


class _Nothing:
    """What None is in a kernel."""

    __name__ = "None"


def unsigned(kind: Type) -> bool:
    """Whether no number of the type is below 0."""
    return kind == BOOL or (isinstance(kind, Scalar) and kind.kind == "u")


def is_float(kind: Type) -> bool:
    """Whether it is a floating-point type."""
    return kind == WEAK_FLOAT or (isinstance(kind, Scalar) and kind.kind == "f")

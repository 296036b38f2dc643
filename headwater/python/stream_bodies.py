"""Input: a Python function whose expressions have types. Output: the syntax tree of a Brook+ kernel's body.

Brook+ converts nothing by itself, so each expression is made with the type that its place wants.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

from headwater.brook import ast as tree
from headwater.brook.functions import ELSEWHERE, FUNCTIONS, POSITION_FUNCTIONS
from headwater.python.calls import known_functions
from headwater.python.expressions import WEAK, Expr, Refused, common_type, default_of, literal, named
from headwater.python.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    SIZE,
    UNKNOWN,
    Array,
    Constant,
    Scalar,
    Tuple,
    Type,
    Vector,
    of_annotation,
)
from headwater.python.unit import c_name
from headwater.python.values import BINARY, COMPARE
from headwater.python.vocabulary import Builtin

if TYPE_CHECKING:
    from headwater.python.streams import StreamTranslator

BASES: Final = {
    "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "float32": "float", "float64": "double", "bool": "int",
}  # fmt: skip
"""Numbers of kernels in Python -> those of Brook+, where a truth is an int."""
_SAME: Final = {"mix": "lerp", "fabs": "abs", "fmin": "min", "fmax": "max"}
"""Functions of OpenCL C that Brook+ knows by other names."""
_TARGET: Final = "a statement of stream kernels assigns to variables, and to elements of arrays"


@dataclass(frozen=True)
class Extra:
    """An argument that the caller adds: the extent along ``axis`` of the array that parameter ``position`` is, or the
    constants ``table``."""

    name: str
    position: int = 0
    axis: int = 0
    table: Any = None


def safe(name: str) -> str:
    """A Python name as one of Brook+: no function's, and of ASCII letters."""
    made = c_name(name)
    return f"{made}_" if made in FUNCTIONS or made in POSITION_FUNCTIONS else made


def type_name(kind: Type, node: Any = None) -> str:
    """A type as Brook+ spells it. Refused if it has none."""
    if isinstance(kind, Scalar) and kind.name in BASES:
        return BASES[kind.name]
    widest = 2 if isinstance(kind, Vector) and kind.element == FLOAT64 else 4
    if isinstance(kind, Vector) and kind.element.name in BASES and kind.width <= widest:
        return f"{BASES[kind.element.name]}{kind.width}"
    raise Refused(
        f"{kind.name} is no type of stream kernels",
        "numbers of up to 32 bits, float64, and vectors of two to four of them (float64: two)",
        node,
    )


@dataclass
class Body:
    """The body of one function. ``call``: gives the name in Brook+ of a function that a call node calls."""

    t: StreamTranslator
    call: Callable[[StreamTranslator, ast.Call], str]
    places: Callable[[StreamTranslator, Any], tuple[int, int]]
    outs: tuple[tuple[str, Type], ...] = ()
    """The kernel's results, by name; of a function that kernels call there are none."""
    kernel: bool = True
    accumulator: str = ""
    extras: dict[str, Extra] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Variables that have other names here."""
    at: tuple[int, int] = (0, 0)

    # -- statements ----------------------------------------------------------------------------------------------------

    def block(self) -> tree.Block:
        """The whole body."""
        t = self.t
        self.at = self.places(t, t.tree)
        start: list[tree.Statement] = []
        for name, kind in zip(t.parameters, t.kinds, strict=True):
            if name in t.scopes.names and not isinstance(kind, (Array, Constant)) and name != self.accumulator:
                own = self.names[name] = t.unused(f"{safe(name)}_own")
                start.append(self._declared(own, kind, self._named(safe(name))))
        for name, variable in t.found.items():
            kind = default_of(variable.type)
            declared_later = name in t.scopes.inline or name in t.scopes.counters
            if name == "return" or name in t.parameters or declared_later:
                continue
            if isinstance(kind, (Constant, Array)) or kind == UNKNOWN:
                continue
            start.append(self._declared(safe(name), kind))
        return tree.Block(*self.at, [*start, *self._statements(t.tree.body)], self.at[0])

    def _statements(self, body: list[ast.stmt]) -> list[tree.Statement]:
        made: list[tree.Statement] = []
        for node in body:
            self.at = self.places(self.t, node)
            method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
            if method is None:
                self._refuse(f"{type(node).__name__} is not in the language of stream kernels", "", node)
            made += method(node)
        return made

    def _refuse(self, message: str, hint: str, node: Any) -> NoReturn:
        raise Refused(message, hint, node)

    def _declared(self, name: str, kind: Type, value: tree.Expression | None = None) -> tree.Declaration:
        specifiers = tree.Specifiers(type_name(kind), [], *self.at)
        return tree.Declaration(*self.at, specifiers, [tree.Declarator(*self.at, name, None, value)])

    def _set(self, name: str, value: tree.Expression, operator: str = "=") -> tree.Statement:
        return tree.Evaluate(*self.at, tree.Assign(*self.at, operator, self._named(name), value))

    def visit_pass(self, node: ast.Pass) -> list[tree.Statement]:
        return []

    def visit_expr(self, node: ast.Expr) -> list[tree.Statement]:
        if isinstance(node.value, ast.Constant):
            return []
        self._refuse("stream kernels call functions for what they give", "return values, or assign to arrays", node)

    def visit_assign(self, node: ast.Assign) -> list[tree.Statement]:
        if len(node.targets) > 1:
            self._refuse("several targets of one value", "an assignment for each", node)
        return self._store(node.targets[0], node.value, node)

    def visit_annassign(self, node: ast.AnnAssign) -> list[tree.Statement]:
        assert node.value is not None
        return self._store(node.target, node.value, node)

    def visit_augassign(self, node: ast.AugAssign) -> list[tree.Statement]:
        target = node.target
        old: ast.expr
        if isinstance(target, ast.Name):
            kind = self._variable(target.id)
            old = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            self.t.seen[old] = Expr(kind, positive=self._positive(target.id))
        else:
            kind = self._target_type(target)
            old = copy.deepcopy(target)
            for one, other in zip(ast.walk(target), ast.walk(old), strict=True):
                if one in self.t.seen:
                    self.t.seen[other] = self.t.seen[one]
            self.t.seen[old] = Expr(kind)
        symbol = BINARY[type(node.op)]
        made, found = self._arithmetic(symbol, old, node.value, self._joint(symbol, old, node.value), node)
        return [self._assigned(target, self.converted(made, found, kind, node))]

    def _joint(self, symbol: str, a: ast.expr, b: ast.expr) -> Type:
        """The type of ``a symbol b``."""
        from headwater.python.expressions import binary

        return default_of(binary(symbol, self.t.seen[a], self.t.seen[b], lambda name: name).type)

    def _variable(self, name: str) -> Type:
        return default_of(self.t.found[name].type)

    def _positive(self, name: str) -> bool:
        return self.t.found[name].positive

    def _target_type(self, target: ast.expr) -> Type:
        """The type of what is assigned to."""
        if isinstance(target, ast.Name):
            return self._variable(target.id)
        base = self.t.seen.get(target.value) if isinstance(target, (ast.Subscript, ast.Attribute)) else None
        if base is not None and base.array is not None:
            return base.array.kind.element  # type: ignore[no-any-return]
        if base is not None and isinstance(base.type, Vector):
            count = len(target.attr) if isinstance(target, ast.Attribute) else 1
            return base.type.element if count == 1 else Vector("", base.type.element, count)
        self._refuse("this cannot be assigned to", _TARGET, target)

    def _assigned(self, target: ast.expr, value: tree.Expression) -> tree.Statement:
        return tree.Evaluate(*self.at, tree.Assign(*self.at, "=", self._place(target), value))

    def _place(self, target: ast.expr) -> tree.Expression:
        if isinstance(target, ast.Name):
            return self._named(self.named(target.id))
        if isinstance(target, ast.Subscript):
            base = self.t.seen[target.value]
            if base.array is not None:
                return self._element(target, base)
            letter = self._letter(target)
            return tree.Member(*self.at, self._place(target.value), letter)
        if isinstance(target, ast.Attribute):
            return tree.Member(*self.at, self._place(target.value), self._letters(target.attr, target))
        self._refuse("this cannot be assigned to", _TARGET, target)

    def _store(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[tree.Statement]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpacked(target, value, node)
        if isinstance(target, ast.Name) and isinstance(self.t.found[target.id].type, Constant):
            return []  # another name for a function or a type
        kind = self._target_type(target)
        made = self.value(value, kind)
        if isinstance(target, ast.Name) and self.t.scopes.inline.get(target.id) is node:
            return [self._declared(self.named(target.id), kind, made)]
        return [self._assigned(target, made)]

    def _unpacked(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> list[tree.Statement]:
        parts = self._parts(value)
        if parts is None or len(parts) != len(target.elts):
            self._refuse("only tuples that are written out, and shapes, can be unpacked here", "", node)
        kinds = [self._target_type(one) for one in target.elts]
        made = [part(kind) for part, kind in zip(parts, kinds, strict=True)]
        own = [self.t.unused(f"{self.t.temporary()}_part") for _ in made]
        before = [self._declared(name, kind, e) for name, kind, e in zip(own, kinds, made, strict=True)]
        behind = [self._assigned(one, self._named(name)) for one, name in zip(target.elts, own, strict=True)]
        return [*before, *behind]

    def _parts(self, value: ast.expr) -> list[Callable[[Type], tree.Expression]] | None:
        """What gives the values of a tuple for types that are wanted."""
        if isinstance(value, ast.Tuple):
            return [lambda kind, e=part: self.value(e, kind) for part in value.elts]  # type: ignore[misc]
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            base = self.t.seen[value.value]
            if base.array is not None:
                count = base.array.kind.ndim
                return [
                    lambda kind, a=axis: self.converted(self._extent(value.value, a), INT32, kind, value)  # type: ignore[misc]
                    for axis in range(count)
                ]
        return None

    def visit_if(self, node: ast.If) -> list[tree.Statement]:
        test = self.t.seen[node.test]
        if test.value is not None:
            return self._statements(node.body if test.value else node.orelse)
        at = self.at
        condition = self.value(node.test, BOOL)
        yes = tree.Block(*at, self._statements(node.body), at[0])
        no = self._statements(node.orelse)
        behind: tree.Statement | None = no[0] if len(no) == 1 and isinstance(no[0], tree.If) else None
        return [tree.If(*at, condition, yes, behind or (tree.Block(*at, no, at[0]) if no else None))]

    def visit_while(self, node: ast.While) -> list[tree.Statement]:
        at = self.at
        condition = self.value(node.test, BOOL)
        return [tree.While(*at, condition, tree.Block(*at, self._statements(node.body), at[0]))]

    def visit_for(self, node: ast.For) -> list[tree.Statement]:
        t, at = self.t, self.at
        if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
            self._refuse("loops count: for i in range(…)", "", node)
        name = node.target.id
        kind = self._variable(name)
        args = list(node.iter.args)
        first = self.value(args[0], kind) if len(args) > 1 else self._number(0, kind)
        stop = args[0] if len(args) == 1 else args[1]
        step = t.seen[args[2]] if len(args) == 3 else Expr(INT32, value=1, positive=True)
        if step.value is None:
            self._refuse("the step of a stream kernel's loop is constant", "while, and a variable", args[2])
        before: list[tree.Statement] = []
        bound = self.value(stop, kind)
        if t.seen[stop].value is None and not self._lasts(stop, node):
            kept = t.unused(f"{t.temporary()}_end")
            before.append(self._declared(kept, kind, bound))
            bound = self._named(kept)
        counter = self.named(name)
        body: list[tree.Statement] = []
        if name not in t.scopes.counters:
            counter = t.unused(f"{t.temporary()}_counter")
            body.append(self._set(self.named(name), self._named(counter)))
        body += self._statements(node.body)
        self.at = at
        start = self._declared(counter, kind, first)
        relation = "<" if step.value > 0 else ">"
        test = tree.Binary(*at, relation, self._named(counter), bound)
        by = self._number(abs(step.value), kind)
        more = tree.Assign(*at, "+=" if step.value > 0 else "-=", self._named(counter), by)
        return [*before, tree.For(*at, start, test, more, tree.Block(*at, body, at[0]))]

    def _lasts(self, stop: ast.expr, loop: ast.For) -> bool:
        """Whether a loop's bound stays as it is in the loop: Python looks at it once."""
        stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return not any(
            isinstance(n, ast.Subscript) or (isinstance(n, ast.Name) and n.id in stored) for n in ast.walk(stop)
        )

    def visit_break(self, node: ast.Break) -> list[tree.Statement]:
        return [tree.Jump(*self.at, "break")]

    def visit_continue(self, node: ast.Continue) -> list[tree.Statement]:
        return [tree.Jump(*self.at, "continue")]

    def visit_return(self, node: ast.Return) -> list[tree.Statement]:
        if not self.kernel:
            assert node.value is not None
            return [tree.Return(*self.at, self.value(node.value, self.t.result))]
        made: list[tree.Statement] = []
        if len(self.outs) == 1:
            assert node.value is not None
            name, kind = self.outs[0]
            made = [self._set(name, self.value(node.value, kind))]
        elif self.outs:
            parts = self._parts(node.value) if node.value is not None else None
            if parts is None:
                self._refuse("the results are written out: return a, b", "", node)
            made = [self._set(name, part(kind)) for part, (name, kind) in zip(parts, self.outs, strict=True)]
        if node is not self.t.tree.body[-1]:
            made.append(tree.Return(*self.at, None))
        return made

    # -- expressions ---------------------------------------------------------------------------------------------------

    def _named(self, name: str) -> tree.Expression:
        return tree.Name(*self.at, name)

    def named(self, name: str) -> str:
        """What a variable is called."""
        return self.names.get(name) or safe(name)

    def _number(self, value: Any, kind: Type) -> tree.Expression:
        """A number of a type."""
        at = self.at
        if isinstance(kind, Vector):
            return self._repeated(self._number(value, kind.element), kind)
        assert isinstance(kind, Scalar)
        if kind == BOOL:
            return tree.Number(*at, str(int(bool(value))), False)
        number = literal(value, kind).value
        if kind.kind == "f":
            end = "f" if kind.bits == 32 else ""
            if not math.isfinite(number):
                above = tree.Number(*at, f"{0.0 if math.isnan(number) else 1.0}{end}", True)
                below = tree.Number(*at, f"0.0{end}", True)
                top = tree.Unary(*at, "-", above) if number < 0 else above
                return tree.Binary(*at, "/", top, below)
            made: tree.Expression = tree.Number(*at, f"{abs(number)!r}{end}", True)
            return tree.Unary(*at, "-", made) if math.copysign(1, number) < 0 else made
        if number == -(1 << 31):
            return tree.Binary(*at, "-", self._number(number + 1, kind), self._number(1, kind))
        made = tree.Number(*at, f"{abs(number)}{'u' if kind.name == 'uint32' else ''}", False)
        made = tree.Unary(*at, "-", made) if number < 0 else made
        return made if kind.bits >= 32 else tree.Cast(*at, type_name(kind), made)

    def _repeated(self, made: tree.Expression, kind: Vector) -> tree.Expression:
        parts = [made, *(copy.deepcopy(made) for _ in range(kind.width - 1))]
        return tree.Construct(*self.at, type_name(kind), parts)

    def converted(self, made: tree.Expression, source: Type, target: Type, node: Any) -> tree.Expression:
        """A value of type ``source`` as one of ``target``."""
        source, target = default_of(source), default_of(target)
        if source == target or (isinstance(source, Vector) and type_name(source, node) == type_name(target, node)):
            return made
        at = self.at
        if isinstance(target, Vector) and isinstance(source, Scalar):
            return self._repeated(self.converted(made, source, target.element, node), target)
        if isinstance(source, Scalar) and isinstance(target, Scalar):
            if source == BOOL:
                return tree.Conditional(*at, made, self._number(1, target), self._number(0, target))
            if target == BOOL:
                return tree.Binary(*at, "!=", made, self._number(0, source))
            return tree.Cast(*at, type_name(target, node), made)
        if isinstance(source, Vector) and isinstance(target, Vector) and source.width == target.width:
            return tree.Cast(*at, type_name(target, node), made)
        self._refuse(f"{source.name} is no {target.name}", "", node)

    def value(self, node: ast.expr, want: Type | None = None) -> tree.Expression:
        """An expression as a value of a type."""
        e = self.t.seen[node]
        if e.value is not None and (e.type in (*WEAK, BOOL) or isinstance(e.type, Scalar)):
            kind = default_of(want or e.type)
            with_type = e.value if not isinstance(kind, Scalar) or kind.kind != "b" else bool(e.value)
            return self._number(with_type, kind)
        method = getattr(self, f"value_{type(node).__name__.lower()}", None)
        if method is None:
            self._refuse(f"{type(node).__name__} is not in the language of stream kernels", "", node)
        made, kind = method(node, e)
        return self.converted(made, kind, want or kind, node)

    def value_name(self, node: ast.Name, e: Expr) -> tuple[tree.Expression, Type]:
        if e.array is not None or e.static is not None or e.parts:
            self._refuse(f"{node.id} is no number", "index it, or call it", node)
        return self._named(self.named(node.id)), default_of(e.type)

    def value_attribute(self, node: ast.Attribute, e: Expr) -> tuple[tree.Expression, Type]:
        base = self.t.seen[node.value]
        if isinstance(base.type, Vector):
            made = self.value(node.value)
            return tree.Member(*self.at, made, self._letters(node.attr, node)), e.type
        if base.array is not None and node.attr == "size":
            made = self._extent(node.value, 0)
            for axis in range(1, base.array.kind.ndim):
                made = tree.Binary(*self.at, "*", made, self._extent(node.value, axis))
            return made, INT32
        self._refuse(f"{node.attr} is no number", "", node)

    def _letters(self, name: str, node: Any) -> str:
        if name and set(name) <= set("xyzw"):
            return name
        self._refuse(f"components are .x, .y, .z and .w in stream kernels, not .{name}", "", node)

    def _letter(self, node: ast.Subscript) -> str:
        base = self.t.seen[node.value].type
        assert isinstance(base, Vector)
        return "xyzw"[self.t.seen[node.slice].value % base.width]

    def value_subscript(self, node: ast.Subscript, e: Expr) -> tuple[tree.Expression, Type]:
        base = self.t.seen[node.value]
        if isinstance(base.type, Vector):
            return tree.Member(*self.at, self.value(node.value), self._letter(node)), e.type
        if isinstance(base.type, Tuple) and isinstance(node.value, ast.Attribute):
            index = self.t.seen[node.slice].value % len(base.type.parts)
            return self._extent(node.value.value, index), INT32
        if base.array is None:
            self._refuse("only arrays, vectors and shapes can be indexed here", "", node)
        kind = base.array.kind.element
        return self._element(node, base), kind

    def _element(self, node: ast.Subscript, base: Expr) -> tree.Expression:
        """``a[i, j]``, or ``a[i][j]``."""
        indices: list[ast.expr] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Subscript):
            if isinstance(inner.slice, ast.Slice):
                self._refuse("stream kernels have no slices", "index elements", node)
            indices = [*(inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]), *indices]
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self._refuse("arrays are indexed by their own names here", "", node)
        array = self.t.seen[inner].array
        if len(indices) != array.kind.ndim:
            self._refuse(f"{inner.id} has {array.kind.ndim} dimensions, {len(indices)} are indexed", "", node)
        for index in indices:
            constant = self.t.seen[index].value
            if constant is not None and constant < 0:
                self._refuse(f"index {constant} is not inside of {inner.id}, and means its edge, index 0",
                             f"write 0, or {inner.id}.shape[0] - 1 for the other edge", index)  # fmt: skip
        return tree.Index(*self.at, self._array(inner, array), [self.value(index, INT32) for index in indices])

    def _array(self, node: ast.Name, array: Any) -> tree.Expression:
        name = node.id
        if name in self.t.parameters:
            return self._named(safe(name))
        if array.kind.space != "constant":
            self._refuse(f"{name} is no parameter", "arrays are indexed by their own names here", node)
        if not self.kernel:
            self._refuse(f"{name} is an array, which a function called by a kernel does not see", "pass it on", node)
        made = self.t.unused(safe(name))
        table = self.t.tables[name]
        self.extras.setdefault(made, Extra(made, table=table))
        return self._named(made)

    def _extent(self, node: ast.expr, axis: int) -> tree.Expression:
        """An extent of an array, which the caller passes."""
        if isinstance(node, ast.Name) and self.t.seen[node].array.kind.shape is not None:
            return self._number(self.t.seen[node].array.kind.shape[axis], INT32)
        if not isinstance(node, ast.Name) or node.id not in self.t.parameters:
            self._refuse("the extents of arrays are those of parameters", "", node)
        if not self.kernel:
            self._refuse(f"a function called by a kernel is not told the extents of {node.id}", "pass them on", node)
        name = self.t.unused(f"{safe(node.id)}_n{axis}")
        self.extras.setdefault(name, Extra(name, self.t.parameters.index(node.id), axis))
        return self._named(name)

    def value_binop(self, node: ast.BinOp, e: Expr) -> tuple[tree.Expression, Type]:
        return self._arithmetic(BINARY[type(node.op)], node.left, node.right, default_of(e.type), node)

    def _arithmetic(
        self, symbol: str, left: ast.expr, right: ast.expr, kind: Type, node: Any
    ) -> tuple[tree.Expression, Type]:
        at = self.at
        a, b = self.t.seen[left], self.t.seen[right]
        if symbol in ("<<", ">>"):
            return tree.Binary(*at, symbol, self.value(left, kind), self.value(right, kind)), kind
        if symbol in "&|^" and kind == BOOL:
            x, y = (self.converted(self.value(part, BOOL), BOOL, INT32, node) for part in (left, right))
            return tree.Binary(*at, symbol, x, y), BOOL
        if symbol == "**":
            return self._power(left, right, kind, node)
        x, y = self.value(left, kind), self.value(right, kind)
        if symbol not in ("//", "%"):
            return tree.Binary(*at, symbol, x, y), kind
        assert isinstance(kind, Scalar)
        if kind.kind == "f":
            if symbol == "//":
                self._refuse("// of floating-point numbers", "math.floor(a / b)", node)
            return self._floored(tree.Call(*at, "fmod", [x, y]), y, kind, None), kind
        if kind.kind == "u" or (a.positive and b.positive):
            return tree.Binary(*at, symbol[0], x, y), kind
        divisor = b.value
        if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            if symbol == "%":
                return tree.Binary(*at, "&", x, self._number(divisor - 1, kind)), kind
            return tree.Binary(*at, ">>", x, self._number(divisor.bit_length() - 1, kind)), kind
        whole = tree.Binary(*at, "/", copy.deepcopy(x), copy.deepcopy(y)) if symbol == "//" else None
        return self._floored(tree.Binary(*at, "%", x, y), y, kind, whole), kind

    def _floored(
        self, rest: tree.Expression, divisor: tree.Expression, kind: Type, whole: tree.Expression | None
    ) -> tree.Expression:
        """The rest of a division with the sign of the divisor, as Python means it, from that with the dividend's; or
        the quotient that goes with it, from ``whole``, which is cut off."""

        def sign(value: tree.Expression, relation: str) -> tree.Expression:
            return tree.Binary(*self.at, relation, copy.deepcopy(value), self._number(0, kind))

        below = tree.Binary(*self.at, "&&", sign(rest, "<"), sign(divisor, ">"))
        above = tree.Binary(*self.at, "&&", sign(rest, ">"), sign(divisor, "<"))
        differ = tree.Binary(*self.at, "||", below, above)
        if whole is not None:
            one = tree.Conditional(*self.at, differ, self._number(1, kind), self._number(0, kind))
            return tree.Binary(*self.at, "-", whole, one)
        moved = tree.Conditional(*self.at, differ, tree.Binary(*self.at, "+", rest, divisor), copy.deepcopy(rest))
        if not (isinstance(kind, Scalar) and kind.kind == "f"):
            return moved
        # Python's 0 has the divisor's sign, fmod's the dividend's.
        zeros = tree.Conditional(*self.at, sign(divisor, ">"), self._number(0, kind), self._number(-0.0, kind))
        return tree.Conditional(*self.at, sign(rest, "=="), zeros, moved)

    def _power(self, left: ast.expr, right: ast.expr, kind: Type, node: Any) -> tuple[tree.Expression, Type]:
        at = self.at
        exponent = self.t.seen[right].value
        assert isinstance(kind, Scalar)
        if exponent == 0.5 and kind.kind == "f":
            return tree.Call(*at, "sqrt", [self.value(left, kind)]), kind
        if exponent in (1, 2, 3, 4):
            made = base = self.value(left, kind)
            for _ in range(int(exponent) - 1):
                made = tree.Binary(*at, "*", made, copy.deepcopy(base))
            return made, kind
        if kind.kind != "f":
            self._refuse("** of whole numbers, but by 1 to 4", "a loop, or float32", node)
        return tree.Call(*at, "pow", [self.value(left, kind), self.value(right, kind)]), kind

    def value_unaryop(self, node: ast.UnaryOp, e: Expr) -> tuple[tree.Expression, Type]:
        kind = default_of(e.type)
        if isinstance(node.op, ast.Not):
            return tree.Unary(*self.at, "!", self.value(node.operand, BOOL)), BOOL
        made = self.value(node.operand, kind)
        if isinstance(node.op, ast.UAdd):
            return made, kind
        return tree.Unary(*self.at, "-" if isinstance(node.op, ast.USub) else "~", made), kind

    def value_boolop(self, node: ast.BoolOp, e: Expr) -> tuple[tree.Expression, Type]:
        decides = isinstance(node.op, ast.Or)
        parts: list[tree.Expression] = []
        for part in node.values:
            found = self.t.seen.get(part)
            if found is None:
                break
            if found.value is None or bool(found.value) is decides:
                parts.append(self.value(part, BOOL))
            if found.value is not None and bool(found.value) is decides:
                break
        made = parts[0]
        for other in parts[1:]:
            made = tree.Binary(*self.at, "||" if decides else "&&", made, other)
        return made, BOOL

    def value_compare(self, node: ast.Compare, e: Expr) -> tuple[tree.Expression, Type]:
        operands = [node.left, *node.comparators]
        made: tree.Expression | None = None
        for op, a, b in zip(node.ops, operands, operands[1:], strict=False):
            one = self._contained(op, a, b, node) if isinstance(op, (ast.In, ast.NotIn)) else self._compared(
                COMPARE.get(type(op), ""), a, b, node
            )  # fmt: skip
            made = one if made is None else tree.Binary(*self.at, "&&", made, one)
        assert made is not None
        return made, BOOL

    def _contained(self, op: ast.cmpop, a: ast.expr, b: ast.expr, node: Any) -> tree.Expression:
        if not isinstance(b, ast.Tuple):
            self._refuse("in looks into tuples that are written out", "", node)
        made: tree.Expression | None = None
        for part in b.elts:
            one = self._compared("==", a, part, node)
            made = one if made is None else tree.Binary(*self.at, "||", made, one)
        assert made is not None
        return tree.Unary(*self.at, "!", made) if isinstance(op, ast.NotIn) else made

    def _compared(self, symbol: str, left: ast.expr, right: ast.expr, node: Any) -> tree.Expression:
        a, b = self.t.seen[left], self.t.seen[right]
        kinds = [INT32 if e.type == SIZE else e.type for e in (a, b)]
        signs = {getattr(kind, "kind", "") for kind in kinds}
        if signs == {"i", "u"}:
            signed, unsigned = (a, b) if a.type.kind == "i" else (b, a)  # type: ignore[attr-defined]
            small = all(kind.bits < 32 for kind in kinds)  # type: ignore[attr-defined]
            if not small and not signed.positive:
                self._refuse(f"{named(a)} {symbol} {named(b)}, of which neither holds the other's numbers",
                             "convert one: hw.int32(…), hw.uint32(…)", node)  # fmt: skip
            kind = INT32 if small else unsigned.type
        else:
            kind = default_of(common_type(kinds[0], kinds[1], symbol))
        return tree.Binary(*self.at, symbol, self.value(left, kind), self.value(right, kind))

    def value_ifexp(self, node: ast.IfExp, e: Expr) -> tuple[tree.Expression, Type]:
        test = self.t.seen[node.test]
        if test.value is not None:
            taken = node.body if test.value else node.orelse
            return self.value(taken), default_of(self.t.seen[taken].type)
        return self._chosen(node.test, node.body, node.orelse, default_of(e.type))

    def _chosen(self, test: ast.expr, yes: ast.expr, no: ast.expr, kind: Type) -> tuple[tree.Expression, Type]:
        condition = self.value(test, BOOL)
        if kind == BOOL:  # truths of different kinds of comparisons
            a, b = (self.converted(self.value(part, BOOL), BOOL, INT32, part) for part in (yes, no))
            return tree.Conditional(*self.at, condition, a, b), BOOL
        return tree.Conditional(*self.at, condition, self.value(yes, kind), self.value(no, kind)), kind

    # -- calls ---------------------------------------------------------------------------------------------------------

    def value_call(self, node: ast.Call, e: Expr) -> tuple[tree.Expression, Type]:
        target = self.t.seen[node.func].static
        if isinstance(target, Builtin):
            if target.key == "instance":
                return tree.Call(*self.at, "instance", []), e.type
            if not target.key.startswith("cl."):
                self._refuse(f"{target.__name__} has no meaning in stream kernels", "@hw.kernel has it", node)
            return self._function(target.key[3:], node, e)
        target = getattr(target, "python_function", target)
        known = known_functions().get(id(target))
        if known is not None:
            return self._known(node, e, *known)
        if node in self.t.calls:
            return self._user(node)
        kind = of_annotation(target)
        if isinstance(kind, Vector):
            return self._vector(node, kind)
        if isinstance(kind, Scalar):
            return self.value(node.args[0], default_of(e.type)), default_of(e.type)
        self._refuse(f"{ast.unparse(node.func)} cannot be called in a stream kernel", "", node)

    def _vector(self, node: ast.Call, kind: Vector) -> tuple[tree.Expression, Type]:
        first = self.t.seen[node.args[0]].type
        if len(node.args) == 1 and isinstance(first, Vector) and first.width == kind.width:
            return self.value(node.args[0], kind), kind
        if len(node.args) == 1 and not isinstance(first, Vector):
            return self._repeated(self.value(node.args[0], kind.element), kind), kind
        parts: list[tree.Expression] = []
        for arg in node.args:
            inner = self.t.seen[arg].type
            if isinstance(inner, Vector):
                for letter in "xyzw"[: inner.width]:
                    part: tree.Expression = tree.Member(*self.at, self.value(arg), letter)
                    parts.append(self.converted(part, inner.element, kind.element, arg))
            else:
                parts.append(self.value(arg, kind.element))
        return tree.Construct(*self.at, type_name(kind, node), parts), kind

    def _user(self, node: ast.Call) -> tuple[tree.Expression, Type]:
        done = self.t.calls[node]
        name = self.call(self.t, node)
        callee = self.t.functions[done.name]
        if not isinstance(done.result, (Scalar, Vector)):
            self._refuse(f"{callee.function.__name__} gives {done.result.name} back, but functions that stream kernels "
                         "call give one number or vector", "a function for each value", node)  # fmt: skip
        parts: list[tree.Expression] = []
        for given, kind in zip(callee.arguments(node), callee.kinds, strict=True):
            if isinstance(kind, Constant):
                continue
            if isinstance(kind, Array):
                if not isinstance(given, ast.Name):
                    self._refuse("whole arrays are passed on by their own names", "", node)
                parts.append(self._array(given, self.t.seen[given].array))
            else:
                parts.append(self.value(given, kind))
        return tree.Call(*self.at, name, parts), done.result

    def _function(self, name: str, node: ast.Call, e: Expr) -> tuple[tree.Expression, Type]:
        """A built-in function; its arguments have one type."""
        brook = _SAME.get(name, name)
        function = FUNCTIONS.get(brook)
        if function is None:
            instead = ELSEWHERE.get(name)
            self._refuse(
                f"Brook+ has no {name}, so stream kernels have none", f"write {instead}" if instead else "", node
            )
        kind = self.t.seen[node.args[0]].type
        for arg in node.args[1:]:
            kind = common_type(kind, self.t.seen[arg].type, name)
        result = default_of(e.type)
        if function.result == "same":
            kind = result
        kind = default_of(kind)
        element = kind.element if isinstance(kind, Vector) else kind
        assert isinstance(element, Scalar)
        if element.name not in BASES or BASES[element.name] not in function.bases:
            kind = Vector("", FLOAT32, kind.width) if isinstance(kind, Vector) else FLOAT32
        made = tree.Call(*self.at, brook, [self.value(arg, kind) for arg in node.args])
        if function.result == "condition":
            return made, BOOL
        return made, kind.element if function.result == "component" and isinstance(kind, Vector) else kind

    def _known(self, node: ast.Call, e: Expr, what: str, function: Any) -> tuple[tree.Expression, Type]:
        """A function of Python, ``math`` or NumPy."""
        at, args, kind = self.at, node.args, default_of(e.type)
        if what == "float":
            return self._function(function[0], node, e) if function[0] != "tan" else self._tan(node, kind)
        if what == "test":
            inner = default_of(self.t.seen[args[0]].type)
            real = inner if isinstance(inner, Scalar) and inner.kind == "f" else FLOAT32
            return tree.Call(*at, function[0], [self.value(args[0], real)]), BOOL
        if what == "whole":
            inner = default_of(self.t.seen[args[0]].type)
            if isinstance(inner, Scalar) and inner.kind != "f":
                return self.value(args[0], kind), kind
            made = self.value(args[0], inner)
            if function[0] == "floor":
                made = tree.Call(*at, "floor", [made])
            elif function[0] == "ceil":
                made = tree.Unary(*at, "-", tree.Call(*at, "floor", [tree.Unary(*at, "-", made)]))
            return made, inner
        if what == "log" and len(args) == 1:
            return self._function("log", node, e)
        if what in ("min", "max"):
            made = self.value(args[0], kind)
            for arg in args[1:]:
                made = tree.Call(*at, what, [made, self.value(arg, kind)])
            return made, kind
        if what == "abs":
            return tree.Call(*at, "abs", [self.value(args[0], kind)]), kind
        if what == "power":
            return self._power(args[0], args[1], kind, node)
        if what == "where":
            return self._chosen(args[0], args[1], args[2], kind)
        if what == "len":
            return self._extent(args[0], 0), INT32
        self._refuse(f"{ast.unparse(node.func)} is not in the language of stream kernels", "@hw.kernel has it", node)

    def _tan(self, node: ast.Call, kind: Type) -> tuple[tree.Expression, Type]:
        x = self.value(node.args[0], kind)
        above, below = tree.Call(*self.at, "sin", [x]), tree.Call(*self.at, "cos", [copy.deepcopy(x)])
        return tree.Binary(*self.at, "/", above, below), kind

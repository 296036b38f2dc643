"""Input: a Python function for elements of streams. Output: a Brook+ module, with all that Brook+ kernels have.

The function's types come from the translator of kernels in Python. Its statements become the syntax tree that Brook+'s
parser makes of a ``.br`` file, which Brook+'s own checker and emitters take from there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headwater.brook import ast as tree
from headwater.brook.model import BrookModule
from headwater.brook.source import SourceText
from headwater.brook.translator import translate_kernels
from headwater.python.calls import bound_arguments
from headwater.python.expressions import Expr, Refused, default_of
from headwater.python.source import Source
from headwater.python.stream_bodies import Body, Extra, safe, type_name
from headwater.python.translate import Translator
from headwater.python.types import BOOL, INT32, VOID, Array, Constant, Scalar, Tuple, Type, Vector, vector
from headwater.python.unit import Captured, Done, Fault, Unit

Role = Literal["element", "value", "array"]
"""How a parameter takes its argument: an element of a stream, the same value for all, or an array to index."""


@dataclass
class StreamUnit(Unit):
    """A program of stream kernels; ``functions``: those that have been translated, by their names."""

    functions: dict[str, StreamTranslator] = field(default_factory=dict)


class StreamTranslator(Translator):
    """Finds the types of a function, and keeps what is known of its expressions: ``seen``; ``calls``: of functions
    that are written in Python."""

    def __init__(self, unit: Unit, function: Any, kinds: Sequence[Type], source: Source, kernel: bool) -> None:
        super().__init__(unit, function, kinds, source, False)
        assert isinstance(unit, StreamUnit)
        self.functions = unit.functions
        self.seen: dict[ast.AST, Expr] = {}
        self.calls: dict[ast.AST, Done] = {}
        self.tables: dict[str, Any] = {}

    def value(self, node: ast.expr) -> Expr:
        made = self.seen[node] = super().value(node)
        return made

    def static(self, value: Any, name: str) -> Expr:
        made = super().static(value, name)
        if made.array is not None:
            self.tables[name] = value
        return made

    def position(self) -> Expr:
        return Expr(vector(INT32, 4), "instance()", positive=True)

    def translated(self, function: Any, kinds: Sequence[Type], node: ast.AST) -> Done:
        done = self.calls[node] = super().translated(function, kinds, node)
        return done

    def arguments(self, node: ast.Call) -> list[Any]:
        """The arguments of a call in the order of this function's parameters; values of defaults as they are."""
        return bound_arguments(node, self.function)

    def run(self) -> Done:
        done = super().run()
        self.functions[done.name] = self
        return done


@dataclass(frozen=True)
class StreamTranslation:
    """A function as a Brook+ module: the name of its kernel, its results' names and types, the positions of the arrays
    that it writes, what the caller adds behind the arguments, what it took from outside, and its variables' types."""

    module: BrookModule
    source: str
    name: str
    results: tuple[tuple[str, Type], ...]
    written: frozenset[int]
    extras: tuple[Extra, ...]
    captured: tuple[Captured, ...]
    variables: dict[str, str]


@dataclass
class _Program:
    """The kernels of a module while it is made."""

    unit: StreamUnit
    source: Source
    lines: dict[int, str] = field(default_factory=dict)
    kernels: list[tree.KernelNode] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    current: list[StreamTranslator] = field(default_factory=list)

    def place(self, t: StreamTranslator, node: Any) -> tuple[int, int]:
        """Where a node stands; the kernel's first line for what is in other files."""
        if t.source.filename != self.source.filename:
            return self.source.tree.lineno, 1
        span = t.source.span(node)
        return span.line, span.column

    def called(self, t: StreamTranslator, node: ast.Call) -> str:
        """The name of the kernel that a called function becomes."""
        done = t.calls[node]
        if done.name not in self.names:
            self.names[done.name] = safe(done.name)
            self.function(self.unit.functions[done.name], done)
        return self.names[done.name]

    def function(self, t: StreamTranslator, done: Done) -> None:
        """Make a kernel with a value of a function."""
        self.current.append(t)
        body = Body(t, self.called, self.place, kernel=False)
        at = self.place(t, t.tree)
        if not isinstance(done.result, (Scalar, Vector)):
            raise Refused(
                f"{t.function.__name__} gives {done.result.name} back, but functions that stream kernels call give one "
                "number or vector", "a function for each value", t.tree,
            )  # fmt: skip
        result = type_name(done.result, t.tree)
        block = body.block()
        parameters = [
            self.parameter(t, name, kind, "array" if isinstance(kind, Array) else "value", done.written)
            for name, kind in zip(t.parameters, t.kinds, strict=True)
            if not isinstance(kind, Constant)
        ]
        specifiers = tree.Specifiers(result, [], *at)
        self.add(t, tree.KernelNode(*at, specifiers, self.names[done.name], parameters, block, None))
        self.current.pop()

    def parameter(
        self, t: StreamTranslator, name: str, kind: Type, role: str, written: frozenset[int]
    ) -> tree.ParameterNode:
        """A parameter of the function itself."""
        at = self.place(t, t.tree)
        if isinstance(kind, Array):
            qualifiers = [("out", *at)] if t.parameters.index(name) in written else []
            return _parameter(at, kind.element, safe(name), False, qualifiers, [None] * kind.ndim)
        if not isinstance(kind, (Scalar, Vector)):
            raise Refused(f"{kind.name} is no parameter of stream kernels", "numbers, vectors and arrays", t.tree)
        return _parameter(at, kind, safe(name), role == "element", [])

    def add(self, t: StreamTranslator, node: tree.KernelNode) -> None:
        """Add a kernel behind those that it calls."""
        if t.source.filename == self.source.filename:
            self.lines.update({t.source.first + n: line.rstrip("\n") for n, line in enumerate(t.source.lines)})
        self.kernels.append(node)

    def text(self) -> SourceText:
        """The file's lines as far as they are the functions'."""
        count = max(self.lines, default=0)
        original = tuple(self.lines.get(number, "") for number in range(1, count + 1))
        return SourceText(self.source.filename, original, "\n".join(original))


def _parameter(
    at: tuple[int, int],
    kind: Type,
    name: str,
    stream: bool,
    qualifiers: list[tuple[str, int, int]],
    sizes: list[tree.Expression | None] | None = None,
) -> tree.ParameterNode:
    specifiers = tree.Specifiers(type_name(kind), qualifiers, *at)
    return tree.ParameterNode(*at, specifiers, name, stream, [], sizes)


def translate_stream_kernel(
    function: Any,
    source: Source,
    kinds: Sequence[Type],
    roles: Sequence[Role],
    declared: tuple[Type, ...] | None = None,
    reduction: bool = False,
) -> StreamTranslation:
    """A function as a Brook+ kernel for arguments of such types. ``declared``: the types of its results, if it says
    them. ``reduction``: its parameters are what has been folded and the next element, and it gives what both fold to.

    The faults are raised by who called, if ``unit.faults`` has any: see `Untranslated`.
    """
    unit = StreamUnit()
    t = StreamTranslator(unit, function, kinds, source, False)
    unit.under_way.append((function, tuple(kinds)))
    try:
        done = t.run()
    except Refused as error:
        t.fault(error.node or t.tree, error.message, error.hint)
        raise Untranslated(t.faults) from None
    if unit.faults:
        raise Untranslated(list(unit.faults.values()))
    program = _Program(unit, source, current=[t])
    try:
        results, extras = _kernel(program, t, done, roles, declared, reduction)
    except Refused as error:
        where = program.current[-1]
        where.faults.clear()
        where.fault(error.node or where.tree, error.message, error.hint)
        raise Untranslated(where.faults) from None
    text = program.text()
    module = translate_kernels(text, program.kernels)
    variables = {name: v.type.name for name, v in t.found.items() if name != "return"}
    captured = tuple(unit.captured.values())
    return StreamTranslation(
        module, text.text, program.kernels[-1].name, results, done.written, extras, captured, variables
    )


class Untranslated(Exception):
    """A function that is no stream kernel, with its faults."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


def _kernel(
    program: _Program,
    t: StreamTranslator,
    done: Done,
    roles: Sequence[Role],
    declared: tuple[Type, ...] | None,
    reduction: bool,
) -> tuple[tuple[tuple[str, Type], ...], tuple[Extra, ...]]:
    at = program.place(t, t.tree)
    kinds = _results(t, done, declared)
    program.names[done.name] = safe(done.name)
    if reduction:
        accumulator = safe(t.parameters[0])
        results: tuple[tuple[str, Type], ...] = ((accumulator, t.kinds[0]),)
        if len(kinds) != 1:
            raise Refused("a reduction gives one value back", "what both of its arguments fold to", t.tree)
        body = Body(t, program.called, program.place, results, accumulator=t.parameters[0])
        block = body.block()
        parameters = [
            _parameter(at, t.kinds[1], safe(t.parameters[1]), True, []),
            _parameter(at, t.kinds[0], accumulator, True, [("reduce", *at)]),
        ]
        words = [("reduce", *at)]
    else:
        names = ["result"] if len(kinds) == 1 else [f"result_{number}" for number in range(1, len(kinds) + 1)]
        results = tuple((t.unused(name), kind) for name, kind in zip(names, kinds, strict=True))
        if not results and not done.written:
            raise Refused(f"{t.function.__name__} gives nothing back and writes no array", "return VALUE", t.tree)
        body = Body(t, program.called, program.place, results)
        block = body.block()
        parameters = [
            program.parameter(t, name, kind, role, done.written)
            for name, kind, role in zip(t.parameters, t.kinds, roles, strict=True)
        ]
        for extra in body.extras.values():
            parameters.append(_extra_parameter(at, t, extra))
        parameters += [_parameter(at, kind, name, True, [("out", *at)]) for name, kind in results]
        words = []
    specifiers = tree.Specifiers("void", words, *at)
    program.add(t, tree.KernelNode(*at, specifiers, program.names[done.name], parameters, block, None))
    return results, tuple(body.extras.values())


def _extra_parameter(at: tuple[int, int], t: StreamTranslator, extra: Extra) -> tree.ParameterNode:
    if extra.table is None:
        return _parameter(at, INT32, extra.name, False, [])
    kind = t.static(extra.table, extra.name).type
    assert isinstance(kind, Array)
    sizes: list[tree.Expression | None] = [tree.Number(*at, str(n), False) for n in extra.table.shape]
    return _parameter(at, kind.element, extra.name, False, [], sizes)


def _results(t: StreamTranslator, done: Done, declared: tuple[Type, ...] | None) -> list[Type]:
    """The types of what the function gives back; truths become ints."""
    found = list(done.result.parts) if isinstance(done.result, Tuple) else [done.result]
    if found == [VOID]:
        found = []
    if declared is not None and len(declared) != len(found):
        raise Refused(f"{t.function.__name__} says that it gives {len(declared)} values back, and gives {len(found)}",
                      "", t.tree)  # fmt: skip
    made = [default_of(kind) for kind in (found if declared is None else declared)]
    for kind in made:
        type_name(kind, t.tree)
    return [INT32 if kind == BOOL else kind for kind in made]

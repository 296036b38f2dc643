"""Input: an instruction's semantics and its operands. Output: a call of a function that computes it, if it is long.

A reciprocal's correction is 200 operations of LLVM's for each part of a wavefront. In kernels whose time goes elsewhere
they are written once, and called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.lower_llvm import Lowered, Wide, lower
from headwater.isa.semantics.model import Mode, Semantics

LEAST_LINES = 12
"""Operations from which on a call is shorter, with what it takes to hand over operands in registers."""


class Outlined:
    """The functions of one kernel, by what they compute. ``b`` writes the calls."""

    def __init__(self, b: WaveBuilder) -> None:
        self._b = b
        self._known: dict[tuple[object, ...], tuple[str, Lowered] | None] = {}

    def lower(
        self, name: str, what: Semantics, operands: Mapping[str, Wide], mode: Mode, *, clamp: bool = False
    ) -> Lowered:
        """`lower` of what an instruction ``name`` computes, which has no effects."""
        names = sorted(operands)
        given = [value for n in names for value in _flat(operands[n])]
        # Constants stay where they are: shifts and selections by them are short.
        shapes = tuple((v.type, v.lanes, v.text if v.text[0] != "%" else "") for v in given)
        key = (name, mode, clamp, tuple((n, len(_flat(operands[n]))) for n in names), shapes)
        if key not in self._known:
            self._known[key] = self._write(name, what, operands, names, mode, clamp)
        known = self._known[key]
        if known is None:
            return lower(self._b, what, operands, mode, clamp=clamp)
        function, form = known
        arguments = ", ".join(value.typed for value in given if value.text[0] == "%")
        values = [value for target in form.results.values() for value in _flat(target)]
        result = _struct(values)
        whole = self._b.emit(f"call {result} @{function}({arguments})")
        parts = iter(
            Value(self._b.emit(f"extractvalue {result} {whole}, {n}"), value.type, value.lanes)
            for n, value in enumerate(values)
        )
        results: dict[str, Wide] = {}
        for target, value in form.results.items():
            results[target] = tuple(next(parts) for _ in value) if isinstance(value, tuple) else next(parts)
        return Lowered(results, ())

    def _write(
        self, name: str, what: Semantics, operands: Mapping[str, Wide], names: Sequence[str], mode: Mode, clamp: bool
    ) -> tuple[str, Lowered] | None:
        """The function's name and its results as it has them; None where it is short."""
        b = WaveBuilder(self._b.features)
        own: dict[str, Wide] = {}
        heads = []
        for n in names:
            values = []
            for value in _flat(operands[n]):
                if value.text[0] == "%":
                    value = Value(b.fresh("a"), value.type, value.lanes)
                    heads.append(value.typed)
                values.append(value)
            own[n] = tuple(values) if isinstance(operands[n], tuple) else values[0]
        form = lower(b, what, own, mode, clamp=clamp)
        if len(b.blocks) > 1 or len(b.lines) < LEAST_LINES or form.effects:
            return None
        values = [value for target in form.results.values() for value in _flat(target)]
        result, whole = _struct(values), "poison"
        for at, value in enumerate(values):
            whole = b.emit(f"insertvalue {result} {whole}, {value.typed}, {at}")
        b.line(f"ret {result} {whole}")
        function = f"{name}.{len(self._known)}"
        for declaration in b.declarations.values():
            self._b.declare(declaration)
        self._b.declare(b.function(f"define internal {result} @{function}({', '.join(heads)}) #0"))
        return function, form


def _flat(value: Wide) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _struct(values: Sequence[Value]) -> str:
    return f"{{ {', '.join(value.llvm for value in values)} }}"

"""A shader's registers: where each lies in a wavefront's frame, and the values that code of one clause has of them.

A register component is a number: 4 × GPR + channel for the GPRs, and those below for what else lives on between
instructions. Inside a clause values are LLVM's; what may be read later is stored at its end, under the mask of
execution. Lanes that are switched off may hold anything in a clause's values: each lane computes for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from headwater.emulate.vliw.layout import CF, REGISTER_BYTES
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS, Mask

GPRS: Final = 128
PV, PS, AR, PREDICATE, CF_INDEX = 512, 516, 517, 521, 522
"""First components of the previous vector (4), the previous scalar, the address registers (4), the predicate, and the
two indices of constant buffers and resources."""
PIXEL: Final = 524
"""First component of a pixel's whole coordinates, x and y."""
RETURNED: Final = 526
"""First component of what each RAT's last instruction returned."""
RATS: Final = 16

U32 = "u32"


class Frame:
    """Where registers lie. ``used``: the components that the shader names; GPRs below ``indexed`` lie one after the
    other, as they may be reached by an address register."""

    def __init__(self, used: Iterable[int], indexed: int) -> None:
        wanted = sorted(set(used) | set(range(4 * indexed)))
        self._place = {component: CF.size_bytes + REGISTER_BYTES * n for n, component in enumerate(wanted)}
        self.indexed = indexed

    @property
    def nbytes(self) -> int:
        """Bytes of a frame."""
        return CF.size_bytes + REGISTER_BYTES * len(self._place)

    def place(self, component: int) -> int:
        """Byte offset of a component's 64 lanes in the frame."""
        return self._place[component]

    @property
    def components(self) -> list[int]:
        """All that have a place."""
        return list(self._place)


class Registers:
    """Values of registers in the code of one function. ``merged``: where not all lanes are stored, the others are
    loaded before, as LLVM does not see through masked stores what a register holds."""

    def __init__(self, b: WaveBuilder, frame: Frame, *, merged: bool = False) -> None:
        self.b = b
        self.frame = frame
        self.merged = merged
        self.base = "%frame"
        """The pointer to the frame; in a loop over parts, the one that is moved to a part."""
        self._values: list[dict[int, Value]] = [{} for _ in range(PARTS)]
        self._changed: list[set[int]] = [set() for _ in range(PARTS)]

    def read(self, component: int, part: int) -> Value:
        """A component's lanes of one part, as u32."""
        known = self._values[part].get(component)
        if known is None:
            known = self.b.let(U32, PART_LANES, f"load {PART}, ptr {self._pointer(component, part)}, align 64")
            self._values[part][component] = known
        return known

    def write(self, component: int, part: int, value: Value) -> None:
        """Give a component a new value in the lanes that execute."""
        plain = self.b.splat(self.b.bitcast(value, U32), PART_LANES)
        self._values[part][component] = plain
        self._changed[part].add(component)

    def store(self, part: int, mask: Mask, live: Iterable[int] | None = None) -> None:
        """Store what has changed, or what of it is in ``live``, in the lanes of ``mask``."""
        wanted = self._changed[part] if live is None else self._changed[part] & set(live)
        for component in sorted(wanted):
            value, pointer = self._values[part][component], self._pointer(component, part)
            if mask.full:
                self.b.line(f"store {value.typed}, ptr {pointer}, align 64")
            elif self.merged:
                before = self.b.emit(f"load {PART}, ptr {pointer}, align 64")
                lanes = f"{PART_MASK} {mask.part(self.b, part)}"
                whole = self.b.emit(f"select {lanes}, {value.typed}, {PART} {before}")
                self.b.line(f"store {PART} {whole}, ptr {pointer}, align 64")
            else:
                name = f"llvm.masked.store.v{PART_LANES}i32.p0"
                self.b.declare(f"declare void @{name}({PART}, ptr, {PART_MASK})")
                lanes = f"{PART_MASK} {mask.part(self.b, part)}"
                self.b.line(f"call void @{name}({value.typed}, ptr align 64 {pointer}, {lanes})")
        self._changed[part].clear()

    def forget(self, part: int) -> None:
        """Values in memory may have changed: they were stored, and are to be loaded again."""
        assert not self._changed[part]
        self._values[part].clear()

    def _pointer(self, component: int, part: int) -> str:
        offset = self.frame.place(component) + 4 * PART_LANES * part
        return self.b.emit(f"getelementptr i8, ptr {self.base}, i64 {offset}")

"""Reports accesses of a clause to an observer, with lanes and addresses as a trace has them.

An access is reported as the machine makes it: a fetch's whole element, all adjacent components of a store.
Addresses are numbers by which `headwater.runtime.vliw.launch.ShaderLaunch.regions` knows the memory: the host's, those
of the arena from `ARENA_KEY` on, and from `TILED_KEY` on the host's again, where elements lie in tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from headwater.emulate.watch.hooks import AccessOrigin, LaneAccess
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import ARENA
from headwater.emulate.wave.memory import Address
from headwater.emulate.wave.registers import PART_LANES, Mask

if TYPE_CHECKING:
    from headwater.emulate.vliw.bindings import Name
    from headwater.emulate.vliw.clause import Clause

ARENA_KEY: Final = 1 << 61
TILED_KEY: Final = 1 << 62
TILE: Final = 8
"""Elements of a row, and rows, of a tile (AMD, Evergreen 3D Register Reference Guide, ARRAY_1D_TILED_THIN1)."""
_TILE_BITS: Final = {
    **{1: ("x0", "x1", "x2", "y1", "y0", "y2"), 2: ("x0", "x1", "x2", "y0", "y1", "y2")},
    **{4: ("x0", "x1", "y0", "x2", "y1", "y2"), 8: ("x0", "y0", "x1", "x2", "y1", "y2")},
    16: ("y0", "x0", "x1", "x2", "y1", "y2"),
}
"""Which bits of x and y number a tile's elements, the lowest first, by an element's bytes: AMD, addrlib,
ComputePixelIndexWithinMicroTile. Quads of 4 bytes and more lie in one line of 64 bytes."""


class Watch:
    """The accesses of one instruction, or of one element of a burst; does nothing if nobody watches."""

    def __init__(
        self,
        c: Clause,
        pc: int,
        unit: str,
        name: Name | None = None,
        *,
        writes: bool = False,
        ahead: bool = False,
        update: str = "",
    ) -> None:
        """``ahead``: it is reported by `store`, or all parts' are before the first is made; ``update``: what an atomic
        instruction makes of memory, as `Semantics.update`; an empty string for others."""
        self.c = c
        self.observer = c.options.observer
        self.writes = writes
        self.ahead = ahead
        resource = "" if name is None else f"{name[0]} {name[1]}"
        self.origin = AccessOrigin(pc, c.place, bool(update), update, unit=unit, resource=resource, function=c.name)
        self._lanes: list[Mask] = []
        self._turns: dict[int, int] = {}

    def report(self, part: int, at: Address, nbytes: int, lanes: Mask, values: Sequence[str] = ()) -> None:
        """A part's lanes are about to access ``nbytes`` bytes each at ``at``, and to store ``values`` there."""
        if self.observer is None:
            return
        turn = self._turns.get(part, 0)
        self._turns[part] = turn + 1
        if turn == len(self._lanes):
            self._lanes.append(Mask(lanes.whole))
        known = self._lanes[turn]
        if known.whole is None:
            known.parts[part] = lanes.part(self.c.b, part)
        if at.how & ARENA:  # the base is that of the allocation that was met last
            at = replace(at, base=str(ARENA_KEY))
        self.observer.on_access(
            self.c.b, self.origin, LaneAccess(part, at, nbytes, known, self.writes, values, self.ahead)
        )

    def report_tiled(
        self, part: int, at: Address, name: Name, whole: Sequence[Value], nbytes: int, lanes: Mask
    ) -> None:
        """The same of an element of a texture or of an output at whole coordinates, which lies in a tile there if the
        resource has rows."""
        if self.observer is None:
            return
        if len(whole) == 1 or not self.observer.takes_tiles:
            self.report(part, at, nbytes, lanes)
            return
        b = self.c.b

        def number(value: int) -> Value:
            return b.constant("u32", value)

        def tiles(field: str) -> Value:
            more = b.binary("add", Value(self.c.descriptor(name, field), "u32"), number(TILE - 1))
            return b.binary("lshr", more, number(3))

        x, y = whole[:2]
        row = b.binary("mul", b.binary("lshr", y, number(3)), tiles("pitch"))
        tile = b.binary("add", row, b.binary("lshr", x, number(3)))
        if len(whole) > 2:
            tile = b.binary("add", tile, b.binary("mul", whole[2], b.binary("mul", tiles("pitch"), tiles("height"))))
        element = b.binary("shl", tile, number(6))
        for at_bit, bit in enumerate(_TILE_BITS.get(nbytes, _TILE_BITS[4])):
            one = b.binary("and", b.binary("lshr", x if bit[0] == "x" else y, number(int(bit[1]))), number(1))
            element = b.binary("or", element, b.binary("shl", one, number(at_bit)))
        low = b.splat(b.binary("mul", element, number(nbytes)), PART_LANES)
        base = b.binary("add", Value(at.base, "u64"), b.constant("u64", TILED_KEY))
        self.report(part, replace(at, low=low.text, base=base.text), nbytes, lanes)


def reports_first(c: Clause) -> bool:
    """Whether all parts of an access are reported before the first is made: the observer looks at what is there."""
    observer = c.options.observer
    return observer is not None and observer.takes_values


def store(c: Clause, thunk: Callable[[int, bool, bool], None]) -> None:
    """Have ``thunk(part, reporting, storing)`` called for each part of a store: for all parts to report before any is
    stored, where the observer looks at what is there."""
    if reports_first(c):
        c.at_once(lambda part: thunk(part, True, False))
        c.at_once(lambda part: thunk(part, False, True))
    else:
        c.at_once(lambda part: thunk(part, True, True))


def tiled_bytes(pitch: int, height: int, depth: int, element_bytes: int) -> int:
    """Bytes of a resource of so many elements whose rows lie in tiles."""
    return -(-pitch // TILE) * -(-height // TILE) * depth * TILE * TILE * element_bytes

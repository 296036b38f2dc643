"""Input: a burst of elements of scratch memory. Output: code that loads or stores them. Fetches and control flow both
have such instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.emulate.vliw.clause import Clause
from headwater.emulate.vliw.watch import Watch
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART_LANES

_ROW_BYTES = 4 * LANES
"""Private memory is interleaved by dwords over the lanes."""


@dataclass(frozen=True, slots=True)
class Burst:
    """``count`` elements of ``dwords`` dwords from number ``base`` on, or from lanes' ``index`` further; ``channels``:
    a bit for each of their dwords that is accessed."""

    pc: int
    base: int
    dwords: int
    count: int
    channels: int
    index: Callable[[int], Value | None]

    def address(self, c: Clause, part: int, number: int, channel: int) -> Address:
        """Where a part's lanes have a dword of an element."""
        b = c.b
        low = b.binary("shl", c.lane_numbers(part), b.constant("u32", 2))
        index = self.index(part)
        if index is not None:
            low = b.binary("add", low, b.binary("mul", index, b.constant("u32", self.dwords * _ROW_BYTES)))
        row = ((self.base + number) * self.dwords + channel) * _ROW_BYTES
        return c.private((b.binary("add", low, b.constant("u32", row)) if row else low).text)

    def report(self, c: Clause, watch: Watch, part: int, number: int) -> None:
        """Report a whole element: lane after lane, as the chip has them."""
        if watch.observer is None:
            return
        b = c.b
        nbytes = 4 * self.dwords
        low = b.binary("mul", c.lane_numbers(part), b.constant("u32", nbytes))
        index = self.index(part)
        if index is not None:
            low = b.binary("add", low, b.binary("mul", index, b.constant("u32", nbytes * LANES)))
        low = b.binary("add", low, b.constant("u32", (self.base + number) * nbytes * LANES))
        watch.report(part, c.private(b.splat(low, PART_LANES).text), nbytes, c.exec)


def load(c: Clause, burst: Burst, put: Callable[[int, int, Mapping[int, Value]], None]) -> None:
    """Load a burst; ``put`` gets, for a part and an element, its dwords by channel."""
    mask, watch = c.exec, Watch(c, burst.pc, "scratch")

    def thunk(part: int) -> None:
        access = PartAccess(c, part, mask, burst.pc)
        for number in range(burst.count):
            burst.report(c, watch, part, number)
            found = {}
            for channel in range(burst.dwords):
                if burst.channels >> channel & 1:
                    ((dword,),) = access.load(burst.address(c, part, number, channel), [(0, 4)])
                    found[channel] = Value(dword, "u32", PART_LANES)
            put(part, number, found)

    c.later(thunk, loads=True)


def store(c: Clause, burst: Burst, register: Callable[[int], int]) -> None:
    """Store a burst; ``register``: the GPR of an element."""
    mask, watch = c.exec, Watch(c, burst.pc, "scratch", writes=True)

    def thunk(part: int) -> None:
        access = PartAccess(c, part, mask, burst.pc)
        for number in range(burst.count):
            burst.report(c, watch, part, number)
            for channel in range(burst.dwords):
                if burst.channels >> channel & 1:
                    value = c.regs.read(4 * register(number) + channel, part)
                    access.store(burst.address(c, part, number, channel), 4, [value.text])

    c.at_once(thunk)

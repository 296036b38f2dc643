"""Input: operations on a data share. Output: those of the LDS in ALU clauses and of the GDS; accesses to its memory,
and what they return.

A group's sources are read before its results are written, so an operation's operands are noted with the group, and
memory is accessed behind it. All lanes load before any lane stores that comes later.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.emulate.vliw.clause import Clause
from headwater.emulate.vliw.watch import Watch, store
from headwater.emulate.wave import atomics
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import GDS, LDS
from headwater.emulate.wave.lower_llvm import Wide, lower
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Mask
from headwater.isa.semantics.types import BITS
from headwater.isa.vliw.model import Row
from headwater.isa.vliw.semantics import semantics

Result = list[Value | None]
"""What an operation returns, part by part, once it is written."""


class Access:
    """One operation of the row ``row`` on the LDS, or on the GDS; ``offset``: dwords that are added to its address.
    ``predicated``: the lanes that `read` is given are not all."""

    def __init__(
        self, clause: Clause, row: Row, pc: int, *, offset: int = 0, predicated: bool = False, global_: bool = False
    ) -> None:
        self.c = clause
        self.row = row
        self.offset = offset
        self.memory, self.how = ("gds", GDS) if global_ else ("lds", LDS)
        self.pc = pc
        self.mask = Mask() if predicated else Mask(clause.exec.whole)
        self._all = clause.exec
        self.what = semantics(row)
        self.operands: list[dict[str, Value]] = [{} for _ in range(PARTS)]

    def read(self, part: int, sources: Sequence[Value], allowed: Value | None) -> None:
        """Note the operands, as the group reads them, and the lanes that a predicate allows."""
        lanes = self.c.part_mask(self._all, part)
        if allowed is not None:
            lanes = self.c.b.binary("and", lanes, allowed)
        self.mask.parts[part] = self.c.b.splat(lanes, PART_LANES).text
        self.operands[part] = {
            operand.name: self.c.b.splat(self.c.b.bitcast(value, "u32"), PART_LANES)
            for operand, value in zip(self.row.inputs, sources, strict=False)
        }

    def write(self) -> list[tuple[str, Result]]:
        """Access memory; the queues that get something, with what they get."""
        what = self.what
        if what.is_atomic:
            return self._atomic()
        results: dict[str, Result] = {name: [None] * PARTS for name in what.types if name in ("D", "D1")}
        stores = [e for e in what.effects if e.kind == "store"]
        watch = Watch(self.c, self.pc, self.memory, writes=bool(stores), ahead=bool(stores))

        def thunk(part: int, reporting: bool = True, storing: bool = True) -> None:
            access = PartAccess(self.c, part, self.mask, self.pc)
            values: dict[str, Wide] = dict(self.operands[part])
            values["OFFSET"] = self.c.b.constant("u32", 4 * self.offset)

            def load(type_: str, offset: Value | None) -> Value:
                at, moved = self._address(part, offset)
                nbytes = BITS[type_] // 8
                at = at.moved(self.c.b, moved)
                watch.report(part, at, nbytes, self.mask)
                (dwords,) = access.load(at, [(0, nbytes)])
                return self._narrow(Value(dwords[0], "u32", PART_LANES), type_)

            lowered = lower(self.c.b, what, values, self.c.mode, load=load)
            for name, result in results.items():
                value = lowered.results[name]
                assert isinstance(value, Value)
                result[part] = self.c.b.splat(self.c.b.bitcast(value, "u32"), PART_LANES)
            for effect in lowered.effects:
                if effect.kind != "store":
                    continue
                value, *offset = effect.values
                assert isinstance(value, Value)
                where = offset[0] if offset else None
                assert where is None or isinstance(where, Value)
                at, moved = self._address(part, where)
                unsigned = self.c.b.bitcast(value, f"u{BITS[value.type]}")
                wide = self.c.b.splat(self.c.b.resize(unsigned, "u32"), PART_LANES)
                at, nbytes = at.moved(self.c.b, moved), BITS[value.type] // 8
                if reporting:
                    watch.report(part, at, nbytes, self.mask, [wide.text])
                if storing:
                    access.store(at, nbytes, [wide.text])

        if stores:
            store(self.c, thunk)
        else:
            self.c.later(thunk, loads=True)
        return [("A" if name == "D" else "B", result) for name, result in results.items()]

    def _address(self, part: int, offset: Value | None) -> tuple[Address, int]:
        """An address of one part's lanes, and how many bytes further the access is."""
        base = self.operands[part]["ADDR"]
        if offset is None:
            return self._place(base.text), 4 * self.offset
        if offset.lanes == 1 and offset.text.isdecimal():
            return self._place(base.text), int(offset.text)
        return self._place(self.c.b.binary("add", base, self.c.b.bitcast(offset, "u32")).text), 0

    def _place(self, low: str, offset: int = 0) -> Address:
        base, slot, how = self.c.fixed(self.memory, self.how)
        return Address(base, low, None, how, slot, offset)

    def _narrow(self, value: Value, type_: str) -> Value:
        bits = BITS[type_]
        return self.c.b.bitcast(self.c.b.resize(value, f"u{bits}"), type_)

    def _atomic(self) -> list[tuple[str, Result]]:
        c, b = self.c, self.c.b
        returns = "returns" in self.row.flags
        arrays(c)
        watch = Watch(c, self.pc, self.memory, writes=True, ahead=True, update=self.what.update)

        def thunk(part: int) -> None:
            at = self._place(self.operands[part]["ADDR"].text, 4 * self.offset).settled(b)
            operands = [self.operands[part][key].text for key in ("DATA", "DATA1") if key in self.operands[part]]
            watch.report(part, at, 4, self.mask, atomics.reported_operands(self.what, operands))
            put_addresses(c, part, at)
            for n, operand in enumerate(operands):
                atomics.put_array(b, "%data", n, part, operand)

        c.at_once(thunk)  # loads that wait use the same arrays
        _, slot, _ = c.fixed(self.memory, self.how)
        layout = {name: (n, 1) for n, name in enumerate(("DATA", "DATA1")) if name in self.what.types}
        bits = self.mask.bits(b)
        update = atomics.Update(self.what, c.mode, 4, self.how, slot.pointer, self.pc, layout)
        atomics.update_lanes(c, update, bits, keep_old=returns)
        return [("A", taken_back(c))] if returns else []


def arrays(c: Clause) -> None:
    """The arrays that lanes are updated from, one after the other."""
    c.array("%addresses", 2)
    c.array("%data", 4)
    c.array("%before", 4)


def put_addresses(c: Clause, part: int, at: Address) -> None:
    """A part's addresses, for the loop over lanes."""
    wide = atomics.wide_addresses(c.b, at)
    here = c.b.emit(f"getelementptr i8, ptr %addresses, i64 {8 * PART_LANES * part}")
    c.b.line(f"store <{PART_LANES} x i64> {wide}, ptr {here}, align 64")


def taken_back(c: Clause) -> Result:
    """What memory held before the loop over lanes."""
    result: Result = []
    for part in range(PARTS):
        here = c.b.emit(f"getelementptr i8, ptr %before, i64 {4 * PART_LANES * part}")
        result.append(c.b.let("u32", PART_LANES, f"load {PART}, ptr {here}, align 64"))
    return result

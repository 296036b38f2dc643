"""Atomics of all lanes on one place in; one atomic, and what each lane would have found there, out.

Kernels count and add up in one place (``atomic_inc(count)``), often to learn where to write. Lane by lane that is one
locked operation each, for which all cores wait in turn; the lanes' sum takes one for a chunk.
"""

from __future__ import annotations

import functools

from headwater.llvm.ir import Inst
from headwater.llvm.types import Type
from headwater.vectorise.lane_by_lane import LaneByLane
from headwater.vectorise.merged_atomic_candidates import FOLDS, meeting


class Together(LaneByLane):
    """Writes atomics: those on one place as one, the others lane by lane."""

    @functools.cached_property
    def _meeting(self) -> dict[str, bool]:
        return meeting(self.function, self.shapes) if self.layout.lanes > 1 else {}

    def write_atomics(self, inst: Inst) -> None:
        """Write one instruction of a chunk's lanes and rows."""
        if inst.name not in self._meeting:
            self.write_atomic(inst)
            return
        for place, rows in self.access_rows(inst.args[:1]):
            self._write_together(inst, place, rows, used=self._meeting[inst.name])

    def _write_together(self, inst: Inst, place: int, rows: list[int], *, used: bool) -> None:
        """The rows of one place; ``place`` is the one to take its address from."""
        writer, ty, lanes = self.writer, inst.ty, self.lanes_of(inst.ty)
        none = _identity(inst.detail, ty)
        masks = [self.mask(row) for row in rows]
        before: list[str] = []  # for each row the sums of the lanes before each lane, of this row and those before it
        total = ""
        for row, mask in zip(rows, masks, strict=True):
            values = self.part(inst.args[1], row, "v")
            if mask is not None:
                values = writer.let(f"select {self.mask_type} {mask}, {lanes} {values}, {lanes} splat ({ty} {none})")
            if used:
                sums = self._running_sums(values, ty)
                others = writer.let(f"sub {lanes} {sums}, {values}")
                before.append(writer.let(f"add {lanes} {others}, {self.splat(total, ty)}") if total else others)
                own = writer.let(f"extractelement {lanes} {sums}, i64 {self.layout.lanes - 1}")
            else:
                own = self._folded(inst.detail, values, ty)
            total = self._combined(inst.detail, total, own, ty) if total else own
        wanted = self.any_of(masks)
        self.spills += 1
        slot = f"together.{self.spills}"
        address = self.part(inst.args[0], place)
        if wanted is None:
            found = self._atomic_once(inst, [address, total])[0]
        else:
            writer.store_slot(slot, ty, "0")
            with writer.when(wanted, "some"), self.aside():
                writer.store_slot(slot, ty, self._atomic_once(inst, [address, total])[0])
            found = writer.load_slot(slot, ty)
        if not used:
            return
        for row, sums in zip(rows, before, strict=True):
            there = self.splat(found, ty)
            self.set_part(inst, row, "v", writer.let(f"{inst.detail} {lanes} {there}, {sums}"))

    def _running_sums(self, values: str, ty: Type) -> str:
        """Each lane's value and those of the lanes before it, added up; as many steps as one lane is doubled."""
        lanes, count, step = self.lanes_of(ty), self.layout.lanes, 1
        while step < count:
            order = ", ".join(f"i32 {lane - step if lane >= step else count}" for lane in range(count))
            moved = self.writer.let(
                f"shufflevector {lanes} {values}, {lanes} zeroinitializer, <{count} x i32> <{order}>"
            )
            values = self.writer.let(f"add {lanes} {values}, {moved}")
            step *= 2
        return values

    def _folded(self, operation: str, values: str, ty: Type) -> str:
        """What one atomic of all lanes together takes."""
        lanes = self.lanes_of(ty)
        name = f"llvm.vector.reduce.{FOLDS[operation]}.v{self.layout.lanes}i{ty.bits}"
        self.writer.declare(name, f"declare {ty} @{name}({lanes})")
        return self.writer.let(f"call {ty} @{name}({lanes} {values})")

    def _combined(self, operation: str, a: str, b: str, ty: Type) -> str:
        kind = FOLDS[operation]
        if not kind.endswith(("max", "min")):
            return self.writer.let(f"{kind} {ty} {a}, {b}")
        name = f"llvm.{kind}.i{ty.bits}"
        self.writer.declare(name, f"declare {ty} @{name}({ty}, {ty})")
        return self.writer.let(f"call {ty} @{name}({ty} {a}, {ty} {b})")


def _identity(operation: str, ty: Type) -> int:
    """The number that changes nothing."""
    least = -1 << (ty.bits - 1)
    return {"and": -1, "max": least, "min": -1 - least, "umin": -1}.get(operation, 0)

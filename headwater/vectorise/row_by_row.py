"""A block that lanes run in their order (``if (l < reach)``) in; a loop over the rows that have such lanes out.

A work-group that is one chunk has up to 32 rows, of which the last steps of a tree in local memory need one. Written
for all rows under masks, each step costs as much as the first. Here rows without a lane are passed by, and those whose
lanes are all wanted have no mask: a sum by groups of 256 spent 13 % of its time in its tree with AVX2 (on a Zen 4),
where a store under a mask takes 12 cycles (Fog, Instruction tables).
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.ir import BINARY, CASTS, Inst, Value
from headwater.llvm.types import I64
from headwater.vectorise.linearisation import ENTRY_MASK
from headwater.vectorise.memory import Memory
from headwater.vectorise.ordered_branches import OrderedTest, tests_towards

LEAST_ROWS = 4
"""Rows from which on a loop over them is worth its tests."""

_SIMPLE = BINARY | CASTS | {"load", "store", "getelementptr", "icmp", "fcmp", "select", "fneg", "freeze"}


@dataclass(frozen=True, slots=True)
class RowLoop:
    """The test that lanes pass to get to a block, and the values from outside that step along the lanes in it."""

    test: OrderedTest
    stepping: tuple[Value, ...]


class RowByRow(Memory):
    """Writes loops over rows. In their bodies row 0 is the row at hand."""

    def find_row_loops(self) -> None:
        """Note the blocks, and that what they test is asked for outside of where it is made."""
        self.row_loops: dict[str, RowLoop] = {}
        layout = self.layout
        if self.variant.masked or layout.rows < LEAST_ROWS or layout.lanes == 1 or layout.row_dim != layout.lane_dim:
            return
        for name in self.cfg.order:
            test = self._test_before(name)
            stepping = self._stepping(name) if test is not None else None
            if test is not None and stepping is not None:
                self.row_loops[name] = RowLoop(test, stepping)
                self.crossing |= {v.text for v in (test.left, test.right) if v.is_local}

    def _test_before(self, name: str) -> OrderedTest | None:
        """The one ordered test of a block that does nothing but to run between a branch of all lanes and its end."""
        preds, succs, loop = self.cfg.preds[name], self.cfg.succs[name], self.cfg.loop_of[name]
        if len(preds) != 1 or len(succs) != 1 or self.function.blocks[name].term.op != "br":
            return None
        before = preds[0]
        if loop is not self.cfg.loop_of[before] or (loop is not None and name in (loop.header, loop.latch)):
            return None
        following = self.linear.next.get((name, ""))
        if following is None or self.linear.skip.get(name, following) != following:
            return None
        alone = self.linear.owns_mask(name) and self.linear.mask_class[before] == ENTRY_MASK
        if not alone or not self.shapes.divergent(before) or any(self.function.blocks[succs[0]].phis):
            return None
        tests = tests_towards(self.function, before, name, self.shapes)
        if tests is None or len(tests) != 1 or tests[0].strided is None:
            return None
        return tests[0] if self.shapes.shape(tests[0].strided).in_line else None

    def _stepping(self, name: str) -> tuple[Value, ...] | None:
        """The values from outside that differ between rows, each by a constant; None if rows cannot be taken apart."""
        insts = self.function.blocks[name].insts[:-1]
        own = {i.name for i in insts if i.name}
        found: dict[str, Value] = {}
        for inst in insts:
            shape = self.shapes.of.get(inst.name)
            if inst.op not in _SIMPLE or {"volatile", "atomic"} & set(inst.flags) or inst.name in self.crossing:
                return None
            if shape is not None and (shape.guarded or inst.name in self.shapes.assumed):
                return None
            for value in inst.args:
                of_value = self.shapes.shape(value)
                if not value.is_local or value.text in own or not of_value.deps:
                    continue
                if not of_value.in_line or of_value.guarded:
                    return None
                found[value.text] = value
        return tuple(found.values())

    def write_row_loop(self, name: str) -> None:
        """The block's instructions for each row that has a lane, the rows in their order."""
        loop, insts, writer = self.row_loops[name], self.function.blocks[name].insts[:-1], self.writer
        test, lanes, rows = loop.test, self.layout.lanes, self.layout.rows
        assert test.strided is not None
        bases = {v.text: self.part(v) for v in (*loop.stepping, test.strided)}
        first = bases[test.strided.text]
        last = writer.let(f"add {test.strided.ty} {first}, {(rows * lanes - 1) * test.stride}")
        # Lanes that pass are the first ones or the last ones, unless counting from one to the other wraps around.
        order = f"{test.predicate[0]}{'ge' if test.stride > 0 else 'le'}"
        in_order = writer.let(f"icmp {order} {test.strided.ty} {last}, {first}")
        the_first_ones = writer.let(f"and i1 {in_order}, {self._passes(test, first)}")
        hints = ("rows", "row.none", "row.some", "row.all", "row.part", "row.next", "rows.end")
        head, none, some, whole, part, following, end = (writer.fresh_label(hint) for hint in hints)
        slot = f"row.{name[1:]}".replace('"', "")
        writer.store_slot(slot, I64, "0")
        writer.jump(head)

        writer.start(head)
        row = writer.load_slot(slot, I64)
        with self.aside():
            for value in (*loop.stepping, test.strided):
                self.cache[value.text, 0, 0, "s"] = self._at_row(value, bases[value.text], row)
            of_first = self.part(test.strided)
            of_last = writer.let(f"add {test.strided.ty} {of_first}, {(lanes - 1) * test.stride}")
            ends = self._passes(test, of_first), self._passes(test, of_last)
            either = writer.let(f"or i1 {ends[0]}, {ends[1]}")
            unsure = writer.let(f"xor i1 {in_order}, true")
            writer.branch(writer.let(f"or i1 {either}, {unsure}"), some, none)
            writer.start(some)
            both = writer.let(f"and i1 {ends[0]}, {ends[1]}")
            writer.branch(writer.let(f"and i1 {both}, {in_order}"), whole, part)
            self.in_row = True
            for label, mask in ((whole, None), (part, test)):
                writer.start(label)
                with self.aside():
                    self._write_row(name, insts, mask)
                writer.jump(following)
            self.in_row = False

        writer.start(none)
        writer.branch(the_first_ones, end, following)
        writer.start(following)
        further = writer.let(f"add i64 {row}, 1")
        writer.store_slot(slot, I64, further)
        writer.branch(writer.let(f"icmp ult i64 {further}, {rows}"), head, end)
        writer.start(end)

    def _write_row(self, name: str, insts: list[Inst], test: OrderedTest | None) -> None:
        """The row at hand, under a mask of the lanes that pass the test, if one is given."""
        if test is not None:
            sides = (f"{self.part(v, 0, 'v')}" for v in (test.left, test.right))
            mask = self.writer.let(f"icmp {test.predicate} {self.lanes_of(test.left.ty)} {', '.join(sides)}")
            self.cache["mask " + name, 0, 0, "v"] = mask
        self.unmasked = test is None
        for inst in insts:
            self.write_instruction(inst)
        self.fetch_ahead()
        self.unmasked = False

    def _passes(self, test: OrderedTest, lane: str) -> str:
        left, right = (lane if v is test.strided else self.part(v) for v in (test.left, test.right))
        return self.writer.let(f"icmp {test.predicate} {test.left.ty} {left}, {right}")

    def _at_row(self, value: Value, base: str, row: str) -> str:
        """Lane 0's value in a row that is only known at run time, from row 0's."""
        step = self.shapes.shape(value).stride
        assert step is not None
        offset = self.writer.let(f"mul i64 {row}, {step * self.layout.lanes}")
        if value.ty.kind == "ptr":
            return self.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {offset}")
        if value.ty.bits != I64.bits:
            offset = self.writer.let(f"{'trunc' if value.ty.bits < I64.bits else 'sext'} i64 {offset} to {value.ty}")
        return self.writer.let(f"add {value.ty} {base}, {offset}")

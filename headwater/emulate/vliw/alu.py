"""Input: a segment of an ALU clause. Output: its code, group after group.

All operations of a group read before any of them writes. What they compute is their rows' semantics; what stands around
it is here: operands of every kind, pairs and quads of slots, output modifiers, predicates, the mask of execution.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.emulate.vliw import lds, program
from headwater.emulate.vliw.clause import OMOD, Clause, place
from headwater.emulate.vliw.layout import CF, REGISTER_BYTES
from headwater.emulate.vliw.operands import (
    INLINE,
    LOOP_INDEX_MODE,
    SHARED_INDEXED_MODE,
    SHARED_LIMIT,
    SHARED_MODES,
    SPECIAL,
    slot_operands,
)
from headwater.emulate.vliw.registers import AR, CF_INDEX, GPRS, PREDICATE, PS, PV
from headwater.emulate.wave import modifiers
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import WAVE
from headwater.emulate.wave.lower_float import flush
from headwater.emulate.wave.lower_llvm import Wide, lower
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS, Mask
from headwater.isa.semantics.model import Mode, Node, Semantics
from headwater.isa.semantics.types import BITS, float_bits
from headwater.isa.vliw.model import (
    LDS_OQ_A,
    LDS_OQ_A_POP,
    LDS_OQ_B_POP,
    LITERAL,
    PS as SEL_PS,
    PV as SEL_PV,
    AluGroup,
    AluOp,
    Source,
    T,
)
from headwater.isa.vliw.semantics import semantics

Queue = deque[list[Value | None]]


class AluCode:
    """Writes the groups of one segment into a clause's function."""

    def __init__(self, clause: Clause, live: set[int]) -> None:
        self.c = clause
        self.b = clause.b
        self.live = live
        self.constants: dict[tuple[int, int], Value] = {}
        self.queues: dict[str, Queue] = {"A": deque(), "B": deque()}
        self.kills: list[Mask] = []
        self.left: list[tuple[Mask, int]] = []
        self.narrowed = False
        self._popped: dict[str, list[Value | None]] = {}
        self._mask = clause.exec

    # ---- groups

    def write(self, groups: Mapping[int, AluGroup]) -> None:
        """All groups of the segment, by their numbers in the clause."""
        ops = [op for group in groups.values() for op in group.ops]
        if not self.c.inlined and all(self._repeatable(op) for op in ops):
            self.c.repeat()
        for number, group in groups.items():
            self._group(number, group)
        self._finish()

    def _repeatable(self, op: AluOp) -> bool:
        """Whether a loop over the parts may have this operation: it leaves nothing but registers and masks."""
        if op.row.kind == "LDS" or semantics(op.row).unsupported:
            return False
        return all(not program.is_queue(s.sel) and self._readable(op, s) for s in op.sources)

    def _group(self, number: int, group: AluGroup) -> None:
        """One group."""
        c = self.c
        ops = [op for op in group.ops if op.row.name not in ("ALU_NOP", "GROUP_BARRIER")]
        pc = place(c.index, number)
        if any(semantics(op.row).unsupported for op in ops) or not all(
            self._readable(op, s) for op in ops for s in op.sources
        ):
            c.unsupported(pc)
            return
        self._popped = {}
        plain = [op for op in ops if op.row.kind != "LDS"]
        for op in ops:
            for source in op.sources:
                self._pop(source.sel)
        popped = self._popped
        before = c.exec
        taken: dict[int, Mask] = {}
        after = self._mask_after(plain, taken)
        shared = [
            (op, lds.Access(c, op.row, pc + op.slot, offset=op.lds_offset, predicated=op.pred_sel >= 2))
            for op in ops
            if op.row.kind == "LDS"
        ]

        def thunk(part: int) -> None:
            self._popped, self._mask = popped, before
            for op, access in shared:
                sources = [self.source(op, s, part) for s in op.sources]
                access.read(part, sources, self._allowed(op, part))
            self._compute(plain, part, before, after, taken)

        c.later(thunk)
        for _, access in shared:
            results = access.write()
            for queue, result in results:
                self.queues[queue].append(result)
        if after is not None:
            c.exec = after
            self.narrowed = True

    def _compute(
        self, ops: Sequence[AluOp], part: int, before: Mask, after: Mask | None, taken: Mapping[int, Mask]
    ) -> None:
        """The operations of a group for one part: all results first, then what is written. ``taken``: see
        `_mask_after`."""
        results: dict[int, dict[str, Wide]] = {}
        together: dict[tuple[object, ...], dict[str, Wide]] = {}
        by_slot = {op.slot: op for op in ops}
        for op in ops:
            results[op.slot] = self._results(op, by_slot, results, together, part)
        for op in ops:
            self._write(op, results[op.slot], part, before)
        if after is None:
            return
        lanes = self.c.part_mask(before, part)
        for op in ops:
            targets = results[op.slot]
            allowed = self._allowed(op, part)
            if "KILL" in targets:
                condition = targets["KILL"]
                assert isinstance(condition, Value)
                killed = self.b.binary("and", lanes, condition)
                if allowed is not None:
                    killed = self.b.binary("and", killed, allowed)
                taken[op.slot].parts[part] = killed.text
                lanes = self.b.binary("and", lanes, self._not(killed))
            elif op.update_exec_mask:
                condition = targets["PRED"]
                assert isinstance(condition, Value)
                condition = self.b.splat(condition, PART_LANES)
                if allowed is not None:
                    condition = self.b.select(allowed, condition, Value("true", "u1"))
                if self.c.traits.has_mask_operations and op.omod:
                    failed = self.b.binary("and", lanes, self._not(condition))
                    taken[op.slot].parts[part] = failed.text
                lanes = self.b.binary("and", lanes, condition)
        # What was written so far was written by the lanes of the old mask.
        self.c.regs.store(part, before, self.live)
        after.parts[part] = lanes.text

    def _mask_after(self, ops: Sequence[AluOp], taken: dict[int, Mask]) -> Mask | None:
        """A mask for the lanes that go on after a group, if it may change; its parts are computed later. ``taken`` gets
        the masks, by slot, of the lanes that end or leave."""
        changes = False
        for op in ops:
            if "kill" in op.row.flags:
                taken[op.slot] = self.c.new_mask()
                self.kills.append(taken[op.slot])
                changes = True
            elif op.update_exec_mask and "pred" in op.row.flags:
                if self.c.traits.has_mask_operations and op.omod:
                    taken[op.slot] = self.c.new_mask()
                    self.left.append((taken[op.slot], op.omod))
                changes = True
        return self.c.new_mask() if changes else None

    def _not(self, value: Value) -> Value:
        return self.b.binary("xor", value, Value("true", "u1"))

    # ---- operations

    def _results(
        self,
        op: AluOp,
        by_slot: Mapping[int, AluOp],
        results: Mapping[int, Mapping[str, Wide]],
        together: dict[tuple[object, ...], dict[str, Wide]],
        part: int,
    ) -> dict[str, Wide]:
        """What an operation computes, by target; a slot's share of it where several slots work together. ``together``:
        what these have computed, each of them the same."""
        what = semantics(op.row)
        sources = {name: halves for name, halves in slot_operands(op, by_slot).items() if name in what.reads}
        if not op.row.flags & {"pair", "quad"}:
            return self._lowered(op, what, sources, results, part)
        key = op.row.name, *((name, *((owner.slot, number) for owner, number in h)) for name, h in sources.items())
        lowered = together.get(key)
        if lowered is None or what.reads - sources.keys():
            lowered = together[key] = self._lowered(op, what, sources, results, part)
        return lowered | {"D": self._share(op, lowered["D"])} if "D" in lowered else lowered

    def _lowered(
        self,
        op: AluOp,
        what: Semantics,
        sources: Mapping[str, Sequence[tuple[AluOp, int]]],
        results: Mapping[int, Mapping[str, Wide]],
        part: int,
    ) -> dict[str, Wide]:
        """What a row computes of operands whose dwords are ``sources``."""
        operands: dict[str, Wide] = {}
        for name, halves in sources.items():
            values = [self._modified(owner, number, what, name, part) for owner, number in halves]
            operands[name] = values[0] if len(values) == 1 else self._joined(values)
        for name in sorted(what.reads - operands.keys()):
            operands[name] = self._special(name, op, what, results, part)
        return lower(self.b, what, operands, self._mode(what)).results

    def _mode(self, what: Semantics) -> Mode:
        """This machine's arithmetic flushes; but minima and maxima are bits that are chosen, flushed by code."""
        mode = self.c.mode
        if mode.denorm32 and any(_has_extreme(node) for _, node in what.assignments):
            return replace(mode, denorm32=0)
        return mode

    def _share(self, op: AluOp, value: Wide) -> Wide:
        """The dword of a 64-bit result that a slot gets: the low one in x and z, the high one in y and w."""
        assert isinstance(value, Value)
        b = self.b
        if BITS[value.type] != 64:
            return value
        value = self._modify_result(op, value)
        whole = b.bitcast(value, "u64")
        if op.slot & 1:
            whole = b.binary("lshr", whole, b.constant("u64", 32))
        return b.resize(whole, "u32")

    def _joined(self, values: Sequence[Value]) -> Value:
        """A 64-bit operand of its high and low dwords."""
        b = self.b
        high, low = values
        wide = b.binary("shl", b.resize(b.splat(high, PART_LANES), "u64"), b.constant("u64", 32))
        return b.binary("or disjoint", wide, b.resize(b.splat(low, PART_LANES), "u64"))

    def _modified(self, op: AluOp, number: int, what: Semantics, name: str, part: int) -> Value:
        """An operand's dword with NEG and ABS; of a double only the high one has a sign."""
        source = op.sources[number]
        raw = self.source(op, source, part)
        type_ = what.types[name]
        if BITS[type_] == 64:
            return modifiers.source(self.b, raw, "u32", source.neg, source.abs)
        return modifiers.source(self.b, raw, type_, source.neg, source.abs)

    def _special(
        self, name: str, op: AluOp, what: Semantics, results: Mapping[int, Mapping[str, Wide]], part: int
    ) -> Value:
        """A name that is no operand of the instruction."""
        b = self.b
        if name == "CHAN":
            return b.constant("u32", op.dst_chan)
        if name == "LANE":
            return self.c.lane_numbers(part)
        if name == "AR":
            return self.c.regs.read(AR, part)
        if name == "PREV":
            behind = op.slot - (2 if "prev_interleave" in op.row.flags else 1)
            value = results.get(behind, {}).get("D")
            return value if isinstance(value, Value) else b.constant(what.types[name], 0)
        raise AssertionError(f"{op.row.name} reads {name}")

    def _modify_result(self, op: AluOp, value: Value) -> Value:
        """A result with OMOD and CLAMP, where it is a float."""
        b = self.b
        omod = 0 if op.update_exec_mask else op.omod
        kind = op.row.result.type if op.row.result is not None else ""
        if not (omod or op.clamp) or kind not in ("f32", "f64", "b32"):
            return value
        value = b.bitcast(value, "f64" if kind == "f64" else "f32")
        if omod:
            by_code = self.c.mode.denorm(value.type) == 0
            value = flush(b, value) if by_code else value
            value = b.binary("fmul", value, b.constant(value.type, float_bits(OMOD[omod], value.type)))
            value = flush(b, value) if by_code else value
        return modifiers.result(b, value, op.clamp, 0, self.c.mode)

    def _allowed(self, op: AluOp, part: int) -> Value | None:
        """The lanes that an operation's predicate select lets execute it; None: all."""
        if op.pred_sel < 2:
            return None
        b = self.b
        predicate = b.compare("icmp ne", self.c.regs.read(PREDICATE, part), b.constant("u32", 0))
        return predicate if op.pred_sel == 3 else self._not(predicate)

    # ---- writes

    def _write(self, op: AluOp, targets: Mapping[str, Wide], part: int, mask: Mask) -> None:
        b, regs = self.b, self.c.regs
        allowed = self._allowed(op, part)

        def put(component: int, value: Value) -> None:
            value = b.splat(b.bitcast(value, "u32"), PART_LANES)
            if allowed is not None:
                value = b.select(allowed, value, regs.read(component, part))
            regs.write(component, part, value)

        if "AR" in targets:
            address = targets["AR"]
            assert isinstance(address, Value)
            put(program.address_register(op, self.c.traits), address)
        for n in (0, 1):
            if f"IDX{n}" in targets:
                index = targets[f"IDX{n}"]
                assert isinstance(index, Value)
                put(CF_INDEX + n, index)
        if op.update_pred and "PRED" in targets:
            condition = targets["PRED"]
            assert isinstance(condition, Value)
            put(PREDICATE, b.select(condition, b.constant("u32", 1), b.constant("u32", 0)))
        if "D" not in targets:
            return
        value = targets["D"]
        assert isinstance(value, Value)
        if not op.row.flags & {"pair", "quad"} or BITS[value.type] != 32 or value.type == "f32":
            value = self._modify_result(op, value)
        value = b.splat(b.bitcast(value, "u32"), PART_LANES)
        put(PS if op.slot == T else PV + op.slot, value)
        if not program.writes_gpr(op, self.c.traits):
            return
        if op.dst_rel and op.index_mode in SHARED_MODES:
            self._write_shared(op, value, part, mask, allowed)
        elif op.dst_rel:
            self._write_indexed(op, value, part, mask, allowed)
        else:
            put(4 * op.dst_gpr + op.dst_chan, value)

    def _write_indexed(self, op: AluOp, value: Value, part: int, mask: Mask, allowed: Value | None) -> None:
        """A write to the register that an address register names; outside of the shader's registers it is dropped."""
        b, regs = self.b, self.c.regs
        regs.store(part, mask)
        index = self._index(op, op.dst_gpr, part)
        inside = b.compare("icmp ult", index, b.constant("u32", regs.frame.indexed))
        lanes = b.binary("and", self.c.part_mask(mask, part), inside)
        if allowed is not None:
            lanes = b.binary("and", lanes, allowed)
        pointers = self._pointers(index, op.dst_chan, part)
        name = f"llvm.masked.scatter.v{PART_LANES}i32.v{PART_LANES}p0"
        b.declare(f"declare void @{name}({PART}, <{PART_LANES} x ptr>, {PART_MASK})")
        places = f"<{PART_LANES} x ptr> align 4 {pointers}"
        b.line(f"call void @{name}({value.typed}, {places}, {PART_MASK} {b.splat(lanes, PART_LANES).text})")
        regs.forget(part)

    # ---- shared registers

    def _shared_places(self, op: AluOp, base: int, chan: int, part: int) -> tuple[str, Value]:
        """Where lanes of a shared register's component are, and for which lanes there is one."""
        b = self.b
        index: Value = b.constant("u32", base)
        if op.index_mode == SHARED_INDEXED_MODE:
            index = b.binary("add", self.c.regs.read(AR, part), index)
        inside = b.compare("icmp ult", b.splat(index, PART_LANES), b.constant("u32", SHARED_LIMIT))
        index = b.select(inside, index, b.constant("u32", 0))
        first = chan * REGISTER_BYTES + 4 * PART_LANES * part
        lanes = b.vector("u32", range(first, first + 4 * PART_LANES, 4))
        offsets = b.binary("add", b.binary("mul", index, b.constant("u32", 4 * REGISTER_BYTES)), lanes)
        shared = self.c.of_part(self.c.shared())
        return b.emit(f"getelementptr i8, ptr {shared}, {b.resize(offsets, 'u64').typed}"), inside

    def _read_shared(self, op: AluOp, source: Source, part: int) -> Value:
        b = self.b
        pointers, inside = self._shared_places(op, source.sel, source.chan, part)
        name = f"llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0"
        b.declare(f"declare {PART} @{name}(<{PART_LANES} x ptr>, {PART_MASK}, {PART})")
        places = f"<{PART_LANES} x ptr> align 4 {pointers}, {b.splat(inside, PART_LANES).typed}"
        return b.let("u32", PART_LANES, f"call {PART} @{name}({places}, {PART} zeroinitializer)")

    def _write_shared(self, op: AluOp, value: Value, part: int, mask: Mask, allowed: Value | None) -> None:
        """A write to a shared register; beyond the last one it is dropped."""
        b = self.b
        pointers, inside = self._shared_places(op, op.dst_gpr, op.dst_chan, part)
        lanes = b.binary("and", self.c.part_mask(mask, part), inside)
        if allowed is not None:
            lanes = b.binary("and", lanes, allowed)
        name = f"llvm.masked.scatter.v{PART_LANES}i32.v{PART_LANES}p0"
        b.declare(f"declare void @{name}({PART}, <{PART_LANES} x ptr>, {PART_MASK})")
        places = f"<{PART_LANES} x ptr> align 4 {pointers}"
        b.line(f"call void @{name}({value.typed}, {places}, {PART_MASK} {b.splat(lanes, PART_LANES).text})")

    # ---- operands

    def _readable(self, op: AluOp, source: Source) -> bool:
        sel = source.sel
        if source.rel and op.index_mode in SHARED_MODES and self.c.traits.has_shared_registers:
            return sel < GPRS
        if op.index_mode > LOOP_INDEX_MODE and source.rel:
            return False
        if sel < GPRS or sel in INLINE or sel in SPECIAL or sel in (LITERAL, SEL_PV, SEL_PS):
            return True
        if program.is_constant(sel):
            window = program.kcache_window(self.c.cf, sel)
            return window is not None and ("constant", window[0]) in self.c.resources.bindings.resources
        if program.is_queue(sel):
            return bool(self.queues["A" if sel in (LDS_OQ_A, LDS_OQ_A_POP) else "B"])
        return False

    def _pop(self, sel: int) -> None:
        """Note what a queue's operand is in this group; a select that pops does so once."""
        if not program.is_queue(sel):
            return
        name = "A" if sel in (LDS_OQ_A, LDS_OQ_A_POP) else "B"
        if name in self._popped:
            return
        queue = self.queues[name]
        self._popped[name] = queue.popleft() if sel in (LDS_OQ_A_POP, LDS_OQ_B_POP) else queue[0]

    def source(self, op: AluOp, source: Source, part: int) -> Value:
        """An operand's 32 bits, u32, without modifiers."""
        b, sel, chan = self.b, source.sel, source.chan
        if sel < GPRS:
            if source.rel and op.index_mode in SHARED_MODES:
                return self._read_shared(op, source, part)
            if source.rel:
                return self._read_indexed(op, source, part)
            return self.c.regs.read(4 * sel + chan, part)
        if program.is_constant(sel):
            return self._constant(op, source, part)
        if sel == LITERAL:
            return b.constant("u32", source.literal or 0)
        if sel == SEL_PV:
            return self.c.regs.read(PV + chan, part)
        if sel == SEL_PS:
            return self.c.regs.read(PS, part)
        if sel in INLINE:
            return b.constant("u32", INLINE[sel])
        if program.is_queue(sel):
            value = self._popped["A" if sel in (LDS_OQ_A, LDS_OQ_A_POP) else "B"][part]
            assert value is not None
            return value
        return self._wave_value(SPECIAL[sel])

    def _wave_value(self, name: str) -> Value:
        """What is the same in all lanes of a wavefront, and no constant."""
        b = self.b
        if name in ("mask_low", "mask_high"):
            # Of the mask that the clause began with: predicates in the clause do not change the sequencer's value.
            bits = "%active"
            if name == "mask_high":
                bits = b.emit(f"lshr i64 {bits}, 32")
            return b.let("u32", 1, f"trunc i64 {bits} to i32")
        if name in ("time_low", "time_high"):
            b.declare("declare i64 @llvm.readcyclecounter()")
            ticks = b.emit("call i64 @llvm.readcyclecounter()")
            if name == "time_high":
                ticks = b.emit(f"lshr i64 {ticks}, 32")
            return b.let("u32", 1, f"trunc i64 {ticks} to i32")
        if name == "zero":
            return b.constant("u32", 0)
        at = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset[name]}")
        return b.let("u32", 1, f"load i32, ptr {at}, align 4")

    def _index(self, op: AluOp, base: int, part: int) -> Value:
        """Register or vec4 numbers that an address register makes of a base."""
        b = self.b
        if op.index_mode == LOOP_INDEX_MODE:
            return b.splat(b.binary("add", self._loop_index(), b.constant("u32", base)), PART_LANES)
        register = program.index_register(op.index_mode, self.c.traits)
        return b.binary("add", self.c.regs.read(register, part), b.constant("u32", base))

    def _loop_index(self) -> Value:
        """The index of the innermost loop."""
        b = self.b
        at = b.emit(f"getelementptr i8, ptr %frame, i64 {CF.offset['loops']}")
        loops = b.emit(f"load i64, ptr {at}, align 8")
        last = b.emit(f"sub i64 {loops}, 1")
        first = b.emit(f"getelementptr i8, ptr %frame, i64 {CF.offset['loop_index']}")
        at = b.emit(f"getelementptr i64, ptr {first}, i64 {last}")
        return b.let("u32", 1, f"load i32, ptr {at}, align 8")

    def _read_indexed(self, op: AluOp, source: Source, part: int) -> Value:
        """The register that an address register names; register 0 outside of the shader's registers."""
        b, regs = self.b, self.c.regs
        regs.store(part, self._mask)
        index = self._index(op, source.sel, part)
        inside = b.compare("icmp ult", index, b.constant("u32", regs.frame.indexed))
        index = b.select(inside, index, b.constant("u32", 0))
        pointers = self._pointers(index, source.chan, part)
        name = f"llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0"
        b.declare(f"declare {PART} @{name}(<{PART_LANES} x ptr>, {PART_MASK}, {PART})")
        places = f"<{PART_LANES} x ptr> align 4 {pointers}"
        return b.let("u32", PART_LANES, f"call {PART} @{name}({places}, {PART_MASK} splat (i1 true), {PART} poison)")

    def _pointers(self, index: Value, chan: int, part: int) -> str:
        """Where each lane's component of a register is in the frame, GPRs lying one after the other."""
        b = self.b
        first = self.c.regs.frame.place(chan) + 4 * PART_LANES * part
        scaled = b.binary("mul", index, b.constant("u32", 4 * REGISTER_BYTES))
        lanes = b.vector("u32", range(first, first + 4 * PART_LANES, 4))
        offsets = b.resize(b.binary("add", scaled, lanes), "u64")
        return b.emit(f"getelementptr i8, ptr {self.c.regs.base}, {offsets.typed}")

    def _constant(self, op: AluOp, source: Source, part: int) -> Value:
        """A dword of a constant buffer."""
        b = self.b
        window = program.kcache_window(self.c.cf, source.sel)
        assert window is not None
        bank, number = window
        name = ("constant", bank)
        start = self.c.descriptor(name, "start")
        if not source.rel:
            # The launcher gives buffers of at least the size that the shader says.
            place_ = 16 * number + 4 * source.chan
            if (bank, place_) not in self.constants:
                at = self.c.define(f"%constant{bank}.ptr", f"inttoptr i64 {start} to ptr")
                known = self.c.define(f"%constant{bank}.{place_}.at", f"getelementptr i8, ptr {at}, i64 {place_}")
                load = self.c.define(
                    f"%constant{bank}.{place_}", f"load i32, ptr {known}, align 4, !invariant.load !9001"
                )
                self.constants[bank, place_] = Value(load, "u32")
            return self.constants[bank, place_]
        index = self._index(op, number, part)
        size = b.let("u32", 1, f"trunc i64 {self.c.descriptor(name, 'size')} to i32")
        limit = b.binary("lshr", size, b.constant("u32", 4))
        inside = b.compare("icmp ult", index, limit)
        low = b.binary("add", b.binary("shl", index, b.constant("u32", 4)), b.constant("u32", 4 * source.chan))
        at = self.c.define(f"%constant{bank}.ptr", f"inttoptr i64 {start} to ptr")
        pointers = b.emit(f"getelementptr i8, ptr {at}, {b.resize(low, 'u64').typed}")
        gather = f"llvm.masked.gather.v{PART_LANES}i32.v{PART_LANES}p0"
        b.declare(f"declare {PART} @{gather}(<{PART_LANES} x ptr>, {PART_MASK}, {PART})")
        lanes = b.splat(inside, PART_LANES)
        places = f"<{PART_LANES} x ptr> align 4 {pointers}, {lanes.typed}"
        return b.let("u32", PART_LANES, f"call {PART} @{gather}({places}, {PART} zeroinitializer)")

    # ---- the end of a segment

    def _finish(self) -> None:
        """Store live values, and pass the lanes' new mask to the control flow."""
        c, b = self.c, self.b
        if c.repeats:
            c.repeated(
                self.live, [*((c.exec,) if self.narrowed else ()), *self.kills, *(mask for mask, _ in self.left)]
            )
        else:
            c.flush()
            for part in range(PARTS):
                c.regs.store(part, c.exec, self.live)
        if self.narrowed:
            c.set_active(c.exec.bits(b))
        for mask in self.kills:
            c.control.kill(mask.bits(b))
        for mask, how in self.left:
            if how == 3:
                c.control.kill(mask.bits(b))
            else:
                c.control.leave(mask.bits(b), how == 2, place(c.index))
        b.line("ret i32 0")


def _has_extreme(node: Node) -> bool:
    return (node.op in ("min", "max") and node.type == "f32") or any(_has_extreme(a) for a in node.args)

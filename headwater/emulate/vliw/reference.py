"""Input: a shader, wavefronts and memories. Output: the registers and memory after it, one instruction at a time.

Slow and simple: what the translator is held to. Expressions are computed by `headwater.emulate.wave.evaluate_numpy`
from the same table; what stands around them (slots, operands, predicates, control flow) is here, written apart from the
translator. Memory is `headwater.emulate.vliw.reference_memory`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.emulate.vliw import reference_memory as access
from headwater.emulate.vliw.operands import (
    INLINE,
    LOOP_INDEX_MODE,
    SHARED_LIMIT,
    SHARED_MODE,
    SHARED_MODES,
    SPECIAL,
    slot_operands,
)
from headwater.emulate.vliw.program import ends_program, leaves, popped_after
from headwater.emulate.vliw.reference_memory import Memories
from headwater.emulate.vliw.registers import AR, PREDICATE, PS, PV, RATS, RETURNED
from headwater.emulate.wave.evaluate_numpy import Array, Wide, evaluate, flush
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import AccessError
from headwater.errors import KernelFault
from headwater.isa.semantics.model import Mode
from headwater.isa.vliw.model import (
    KCACHE_STARTS,
    LITERAL,
    PS as SEL_PS,
    PV as SEL_PV,
    AluGroup,
    AluOp,
    Cf,
    Shader,
    Source,
)
from headwater.isa.vliw.semantics import semantics

MODE = Mode(denorm32=0, dx10_clamp=True, ieee=False)
"""No denormals in single precision; doubles keep them (AMD, R700-Family ISA, "Floating Point Rules")."""
RUNNING, AT_BARRIER, ENDED = "running", "at a barrier", "ended"
_FACTORS = {1: 2.0, 2: 4.0, 3: 0.5}
_COMPONENTS = RETURNED + RATS


@dataclass
class Loop:
    """A loop that is being executed: the stack's height, who entered, who has not left, how often it went round."""

    base: int
    entered: Array
    live: Array
    index: int = 0


@dataclass
class Call:
    """A call: the stack's height and the loops then, who called, where it goes on."""

    base: int
    loops: int
    callers: Array
    following: int


@dataclass
class Clause:
    """A clause that is being executed: the next of its groups or fetches, the lanes that it began with, the queues of
    LDS."""

    before: Array
    number: int = 0
    queues: dict[str, deque[Array]] = field(default_factory=lambda: {"A": deque(), "B": deque()})


@dataclass
class Wave:
    """A wavefront. ``registers``: components (4 × GPR + channel, and those of `headwater.emulate.vliw.registers`) of
    all lanes; ``gprs``: how many the shader has; ``begun``: lanes that it began with;
    ``valid``: those that write, the others are there for their neighbours. ``at``: the control-flow instruction that is
    next, or whose ``clause`` is being executed; ``executed``: control-flow instructions that were."""

    memories: Memories
    gprs: int = 128
    number: int = 0
    begun: Array = field(default_factory=lambda: np.ones(LANES, bool))
    valid: Array = field(default_factory=lambda: np.ones(LANES, bool))
    registers: Array = field(default_factory=lambda: np.zeros((_COMPONENTS, LANES), np.uint32))
    active: Array = field(init=False)
    stack: list[Array] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    at: int = 0
    clause: Clause | None = None
    state: str = RUNNING
    executed: int = 0

    def __post_init__(self) -> None:
        self.active = self.begun.copy()


def run_group(shader: Shader, waves: Sequence[Wave], limit: int = 1_000_000) -> None:
    """Run a work-group's wavefronts to their ends, each as far as the next barrier in turn.

    KernelFault for bad accesses, for what is not supported and after ``limit`` instructions.
    """
    while True:
        for wave in waves:
            while wave.state == RUNNING:
                step(shader, wave)
                if wave.executed >= limit and wave.state != ENDED:
                    raise KernelFault(f"more than {limit} control-flow instructions")
        living = [wave for wave in waves if wave.state != ENDED]
        if not living:
            return
        for wave in living:
            wave.state = RUNNING


def step(shader: Shader, wave: Wave) -> None:
    """Run what a wavefront issues at once: an ALU group, a fetch, or a control-flow instruction without a clause."""
    if wave.at >= len(shader.cf):
        raise KernelFault("the program runs beyond its end")
    cf, at = shader.cf[wave.at], wave.at
    waits = False
    try:
        if cf.row.kind == "CF_ALU":
            clause = wave.clause = wave.clause or _begun(wave, cf)
            if cf.groups:
                group = cf.groups[clause.number]
                if clause.before.any():
                    _Group(shader, wave, cf, group, clause).run()
                waits = any(op.row.name == "GROUP_BARRIER" for op in group.ops)
                clause.number += 1
            if clause.number < len(cf.groups):
                wave.state = AT_BARRIER if waits else RUNNING
                return
            at = _after_alu(shader, wave, cf, at, clause)
        elif cf.fetches:
            clause = wave.clause = wave.clause or Clause(wave.active.copy())
            access.fetch(wave, cf.fetches[clause.number])
            clause.number += 1
            if clause.number < len(cf.fetches):
                return
            at += 1
        else:
            at = _flow(shader, wave, cf, at)
    except AccessError as error:
        raise KernelFault(f"{wave.at:02} {cf.row.mnemonic}: {error}") from None
    wave.clause = None
    wave.executed += 1
    ends = at < 0 or ends_program(cf)
    wave.state = ENDED if ends else AT_BARRIER if waits else RUNNING
    wave.at = max(at, 0)


# ---- control flow


def _flow(shader: Shader, wave: Wave, cf: Cf, at: int) -> int:
    """Any control-flow instruction without a clause; the number of the next, or -1."""
    name, fields = cf.row.name, cf.fields
    following, target, pops = at + 1, fields["addr"], fields["pop_count"]
    if cf.row.kind in ("EXPORT", "MEM", "RAT"):
        access.write(wave, cf, shader.traits)
    elif name == "PUSH":
        wave.stack.append(wave.active.copy())
        return _jump(wave, pops, target, following)
    elif name == "JUMP":
        return _jump(wave, pops, target, following)
    elif name == "ELSE":
        _else(wave)
        return _jump(wave, pops, target, following)
    elif name == "POP":
        _pop(wave, pops)
    elif name in ("LOOP_START_DX10", "LOOP_START_NO_AL"):
        if not wave.active.any():
            return _loop_end(shader, at) + 1
        wave.loops.append(Loop(len(wave.stack), wave.active.copy(), wave.active.copy()))
    elif name == "LOOP_END":
        loop = wave.loops[-1]
        del wave.stack[loop.base :]
        loop.index += 1
        wave.active = loop.live.copy()
        if wave.active.any():
            return target
        wave.active = loop.entered
        wave.loops.pop()
    elif name in ("LOOP_BREAK", "LOOP_CONTINUE"):
        return _leave(shader, wave, wave.active.copy(), name == "LOOP_CONTINUE", at)
    elif name == "CALL":
        if wave.active.any():
            wave.calls.append(Call(len(wave.stack), len(wave.loops), wave.active.copy(), following))
            return target
    elif name == "RETURN":
        return _return(wave, following)
    elif name == "KILL":
        _kill(wave, wave.active.copy())
    elif name not in ("NOP", "WAIT_ACK", "CF_END", "END_PROGRAM", "CALL_FS"):
        raise KernelFault(f"{cf.row.mnemonic} is not supported")
    return following


def _jump(wave: Wave, pops: int, target: int, following: int) -> int:
    if wave.active.any():
        return following
    _pop(wave, pops)
    return target


def _pop(wave: Wave, count: int) -> None:
    for _ in range(count):
        if not wave.stack:
            raise KernelFault("a mask is popped that was not pushed")
        wave.active = wave.stack.pop()


def _else(wave: Wave) -> None:
    wave.active = wave.stack[-1] & ~wave.active


def _loop_end(shader: Shader, start: int) -> int:
    """The LOOP_END of the loop that begins at an instruction."""
    depth = 0
    for at in range(start, len(shader.cf)):
        flags = shader.cf[at].row.flags
        depth += ("loop" in flags) - ("endloop" in flags)
        if depth == 0:
            return at
    raise KernelFault("a loop has no end")


def _leave(shader: Shader, wave: Wave, lanes: Array, continues: bool, at: int) -> int:
    """Lanes leave the innermost loop, or wait for its end."""
    loop = wave.loops[-1]
    wave.active &= ~lanes
    if not continues:
        loop.live &= ~lanes
    left = wave.active.copy()
    for n in range(loop.base, len(wave.stack)):
        wave.stack[n] = wave.stack[n] & ~lanes
        left |= wave.stack[n]
    if left.any():
        return at + 1
    depth = 1
    while True:
        at += 1
        flags = shader.cf[at].row.flags
        depth += ("loop" in flags) - ("endloop" in flags)
        if depth == 0:
            return at


def _kill(wave: Wave, lanes: Array) -> None:
    wave.active = wave.active & ~lanes
    wave.stack = [mask & ~lanes for mask in wave.stack]
    for loop in wave.loops:
        loop.entered, loop.live = loop.entered & ~lanes, loop.live & ~lanes
    for call in wave.calls:
        call.callers = call.callers & ~lanes


def _return(wave: Wave, following: int) -> int:
    call = wave.calls[-1] if wave.calls else None
    base, loops = (call.base, call.loops) if call else (0, 0)
    lanes, wave.active = wave.active, np.zeros(LANES, bool)
    left = np.zeros(LANES, bool)
    for n in range(base, len(wave.stack)):
        wave.stack[n] = wave.stack[n] & ~lanes
        left |= wave.stack[n]
    for loop in wave.loops[loops:]:
        loop.entered, loop.live = loop.entered & ~lanes, loop.live & ~lanes
        left |= loop.live
    if left.any():
        return following
    if call is None:
        return -1
    wave.calls.pop()
    del wave.stack[base:], wave.loops[loops:]
    wave.active = call.callers
    return call.following


# ---- ALU clauses


def _begun(wave: Wave, cf: Cf) -> Clause:
    """An ALU clause begins."""
    if cf.row.name == "ALU_PUSH_BEFORE":
        wave.stack.append(wave.active.copy())
    return Clause(wave.active.copy())


def _after_alu(shader: Shader, wave: Wave, cf: Cf, at: int, clause: Clause) -> int:
    """What an ALU clause's instruction does behind it; the next instruction."""
    name = cf.row.name
    if popped := popped_after(cf):
        _pop(wave, popped)
    elif name == "ALU_ELSE_AFTER":
        _else(wave)
    elif leaves(cf):
        return _leave(shader, wave, clause.before & ~wave.active, "continue" in cf.row.flags, at)
    return at + 1


@dataclass
class _Group:
    """One group: everything is read from the registers as they were, then written."""

    shader: Shader
    wave: Wave
    cf: Cf
    group: AluGroup
    clause: Clause
    old: Array = field(init=False)
    popped: dict[str, Array] = field(default_factory=dict)

    def run(self) -> None:
        wave = self.wave
        self.old = wave.registers.copy()
        by_slot = {op.slot: op for op in self.group.ops if op.row.kind != "LDS"}
        results: dict[int, Mapping[str, Wide]] = {}
        executing = {op.slot: wave.active & self._allowed(op) for op in self.group.ops}
        shared = [(op, [self.source(op, s) for s in op.sources]) for op in self.group.ops if op.row.kind == "LDS"]
        for op in by_slot.values():
            if op.row.name not in ("ALU_NOP", "GROUP_BARRIER"):
                results[op.slot] = self._results(op, by_slot, results)
        for slot, targets in results.items():
            self._write(by_slot[slot], targets, executing[slot])
        for op, sources in shared:
            for queue, value in access.local(wave, op, sources, executing[op.slot]):
                self.clause.queues[queue].append(value)
        for slot, targets in results.items():
            self._mask(by_slot[slot], targets, executing[slot])

    def _allowed(self, op: AluOp) -> Array:
        if op.pred_sel < 2:
            return np.ones(LANES, bool)
        predicate = self.old[PREDICATE] != 0
        return np.asarray(predicate if op.pred_sel == 3 else ~predicate)

    def _mask(self, op: AluOp, targets: Mapping[str, Wide], lanes: Array) -> None:
        """What a predicate or a kill does to the lanes that execute."""
        wave = self.wave
        if "KILL" in targets:
            _kill(wave, lanes & _lanes(targets["KILL"]))
        elif op.update_exec_mask and "PRED" in targets:
            failed = lanes & ~_lanes(targets["PRED"])
            how = op.omod if self.shader.traits.has_mask_operations else 0
            if how == 3:
                _kill(wave, failed)
            elif how:
                _leave(self.shader, wave, failed, how == 2, self.shader.cf.index(self.cf))
            wave.active = wave.active & ~failed

    def _results(
        self, op: AluOp, by_slot: Mapping[int, AluOp], results: Mapping[int, Mapping[str, Wide]]
    ) -> Mapping[str, Wide]:
        what = semantics(op.row)
        if what.unsupported:
            raise KernelFault(f"{op.row.mnemonic}: {what.unsupported}")
        operands: dict[str, Wide] = {}
        for name, places in slot_operands(op, by_slot).items():
            words = []
            for owner, number in places:
                source = owner.sources[number]
                word = self.source(owner, source)
                if what.types[name][0] != "i":
                    word = word & np.uint32(0x7FFFFFFF) if source.abs else word
                    word = word ^ np.uint32(0x80000000) if source.neg else word
                words.append(word)
            value = words[0]
            if len(words) == 2:
                value = words[0].astype(np.uint64) << np.uint64(32) | words[1].astype(np.uint64)
            operands[name] = value
        operands["CHAN"] = np.array([op.dst_chan], np.uint32)
        operands["LANE"] = np.arange(LANES, dtype=np.uint32)
        operands["AR"] = self.old[AR]
        if "PREV" in what.types:
            behind = op.slot - (2 if "prev_interleave" in op.row.flags else 1)
            operands["PREV"] = results.get(behind, {}).get("raw", np.zeros(LANES, np.uint32))
        done = dict(evaluate(what, operands, MODE).results)
        if "D" in done:
            done["raw"] = done["D"]
            done["D"] = self._finished(op, done["D"])
        return done

    def _finished(self, op: AluOp, value: Wide) -> Array:
        """A result's dword for a slot, with OMOD and CLAMP."""
        assert isinstance(value, np.ndarray)
        result: Array = np.broadcast_to(value, LANES).copy()
        assert op.row.result is not None
        kind = op.row.result.type
        omod = 0 if op.update_exec_mask else op.omod
        if kind in ("f32", "f64", "b32") and (omod or op.clamp):
            number: Any = np.float64 if kind == "f64" else np.float32
            bits = result.dtype
            single = kind != "f64"
            with np.errstate(all="ignore"):
                if omod:
                    x = flush(result, "f32") if single else result
                    scaled: Array = (x.view(number) * number(_FACTORS[omod])).view(bits)
                    result = flush(scaled, "f32") if single else scaled
                if op.clamp:
                    y: Array = result.view(number)
                    result = np.where(y > 1, number(1), np.where(y > 0, y, number(0))).view(bits)
        if result.dtype == np.uint64 and op.slot & 1:
            result = result >> np.uint64(32)
        return result.astype(np.uint32)

    def _write(self, op: AluOp, targets: Mapping[str, Wide], lanes: Array) -> None:
        wave, traits = self.wave, self.shader.traits

        def put(component: int, value: Array) -> None:
            wave.registers[component] = np.where(lanes, value, wave.registers[component])

        if "AR" in targets:
            channel = op.dst_chan if traits.address_registers > 1 else 0
            if not traits.has_index_registers or op.dst_gpr not in (2, 3):
                put(AR + channel, _array(targets["AR"]))
        if op.update_pred and "PRED" in targets:
            put(PREDICATE, _lanes(targets["PRED"]).astype(np.uint32))
        if "D" not in targets:
            return
        value = _array(targets["D"])
        put(PS if op.slot == 4 else PV + op.slot, value)
        if not op.write or (traits.has_index_registers and "mova" in op.row.flags):
            return
        if not op.dst_rel:
            put(4 * op.dst_gpr + op.dst_chan, value)
            return
        for lane in np.flatnonzero(lanes):
            register = self._index(op, op.dst_gpr)[lane]
            if op.index_mode in SHARED_MODES:
                if register < SHARED_LIMIT:
                    wave.memories.shared[4 * register + op.dst_chan, lane] = value[lane]
                continue
            if register < wave.gprs:
                wave.registers[4 * register + op.dst_chan, lane] = value[lane]

    def _index(self, op: AluOp, base: int) -> Array:
        """What relative operands name: numbers from a base on."""
        if op.index_mode == LOOP_INDEX_MODE:
            return np.full(LANES, self.wave.loops[-1].index + base, np.uint32)
        if op.index_mode == SHARED_MODE:
            return np.full(LANES, base, np.uint32)
        channel = op.index_mode if self.shader.traits.address_registers > 1 else 0
        return np.asarray(self.old[AR + channel] + np.uint32(base))

    def source(self, op: AluOp, source: Source) -> Array:
        """An operand's 32 bits without modifiers."""
        sel, channel, wave = source.sel, source.chan, self.wave
        if sel < 128:
            if not source.rel:
                return np.asarray(self.old[4 * sel + channel])
            register = self._index(op, sel)
            if op.index_mode in SHARED_MODES:
                inside = register < SHARED_LIMIT
                known = wave.memories.shared[4 * np.where(inside, register, 0) + channel, np.arange(LANES)]
                return np.where(inside, known, np.uint32(0))
            register = np.where(register < wave.gprs, register, 0)
            return np.asarray(self.old[4 * register + channel, np.arange(LANES)])
        for window, start in enumerate(KCACHE_STARTS):
            if start <= sel < start + 32:
                fields = self.cf.fields
                number = 16 * fields[f"kcache_addr{window}"] + sel - start
                numbers = self._index(op, number) if source.rel else np.full(LANES, number, np.uint32)
                return wave.memories.constants(fields[f"kcache_bank{window}"], numbers, channel)
        if sel == LITERAL:
            return np.full(LANES, source.literal or 0, np.uint32)
        if sel == SEL_PV:
            return np.asarray(self.old[PV + channel])
        if sel == SEL_PS:
            return np.asarray(self.old[PS])
        if sel in INLINE:
            return np.full(LANES, INLINE[sel], np.uint32)
        if 219 <= sel <= 222:
            name = "A" if sel in (219, 221) else "B"
            if name not in self.popped:
                queue = self.clause.queues[name]
                if not queue:
                    raise KernelFault(f"queue {name} of LDS is empty")
                self.popped[name] = queue.popleft() if sel >= 221 else queue[0]
            return self.popped[name]
        return np.full(LANES, self._special(SPECIAL.get(sel, "")), np.uint32)

    def _special(self, name: str) -> int:
        # Of the mask that the clause began with: predicates in the clause do not change the sequencer's value.
        mask = sum(1 << int(lane) for lane in np.flatnonzero(self.clause.before))
        values = {"mask_low": mask & 0xFFFFFFFF, "mask_high": mask >> 32, "index": self.wave.number, "zero": 0}
        if name not in values:
            raise KernelFault("an operand of this kind is not supported")
        return values[name]


def _array(value: Wide) -> Array:
    assert isinstance(value, np.ndarray)
    return np.broadcast_to(value, LANES).astype(np.uint32)


def _lanes(value: Wide) -> Array:
    assert isinstance(value, np.ndarray)
    return np.broadcast_to(value, LANES).astype(bool)

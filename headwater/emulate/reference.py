"""Decoded GCN instructions and a wavefront's registers in, the registers and memory after them out: one at a time.

Slow and simple: what the translator is held to. Expressions are computed by `headwater.emulate.evaluate_numpy`; what
stands around them (operands, modifiers, EXEC, DPP, SDWA, memory, control) is here, written apart from the translator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater.emulate import reference_images, reference_matrix
from headwater.emulate.evaluate_numpy import Array, EffectValues, Wide, evaluate, flush, signed, unsigned
from headwater.emulate.layout import GWS_RESOURCES, LANES, PRIVATE_APERTURE, SHARED_APERTURE
from headwater.emulate.modifiers import PAIRS, high_half
from headwater.emulate.reference_gws import Resources
from headwater.emulate.reference_memory import AccessError, Memories, Place, fault, places, second_place
from headwater.errors import InternalError, KernelFault
from headwater.isa.gcn import images, residency
from headwater.isa.gcn.model import (
    EXEC,
    EXECZ,
    M0,
    SCC,
    SHARED_BASE,
    TYPE_BITS,
    VCC,
    VCCZ,
    Constant,
    Destination,
    Instruction,
    Literal,
    Register,
    Source,
    constant_bits,
)
from headwater.isa.gcn.semantics import BITS, Mode, Semantics, is_float, semantics

_ACC = 256
_FLOATS: Mapping[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_OMOD = {1: 2.0, 2: 4.0, 3: 0.5}
_HWREG_MODE, _HWREG_BASES = 1, 15
_GENERATIONS = {"gfx6": 6, "gfx7": 7, "gfx8": 8}

RUNNING, AT_BARRIER, ENDED, AT_GWS = "running", "at a barrier", "ended", "synchronises"


@dataclass
class Wave:
    """A wavefront. ``scalars`` are indexed by operand encodings (VCC 106, M0 124, EXEC 126); ``vectors`` hold 256
    vector and 256 accumulation registers; ``mode`` is the MODE register."""

    memories: Memories
    isa: str = "gfx900"
    pc: int = 0
    scalars: Array = field(default_factory=lambda: np.zeros(128, np.uint32))
    vectors: Array = field(default_factory=lambda: np.zeros((512, LANES), np.uint32))
    scc: bool = False
    mode: int = 0x3F0  # denormals kept, DX10_CLAMP, IEEE
    state: str = RUNNING
    indexing: bool = False
    code_base: int = 0
    executed: int = 0
    asked: tuple[str, int, int] = ("", 0, 0)
    """What it asks for of global wave synchronisation: operation, resource, value."""

    def pair(self, index: int) -> int:
        """Two scalar registers as one number."""
        return int(self.scalars[index]) | int(self.scalars[index + 1]) << 32

    def set_pair(self, index: int, value: int) -> None:
        """Write two scalar registers."""
        self.scalars[index] = value & 0xFFFFFFFF
        self.scalars[index + 1] = value >> 32 & 0xFFFFFFFF

    @property
    def active(self) -> Array:
        """The lanes that EXEC includes."""
        return lanes_of(self.pair(EXEC))

    @property
    def settings(self) -> Mode:
        """MODE's fields for arithmetic."""
        m = self.mode
        generation = _GENERATIONS.get(self.isa, 9)
        return Mode(m & 3, m >> 2 & 3, m >> 4 & 3, m >> 6 & 3, bool(m >> 8 & 1), bool(m >> 9 & 1), generation)


def lanes_of(mask: int) -> Array:
    """A mask's bits."""
    return np.array([bool(mask >> lane & 1) for lane in range(LANES)])


def mask_of(lanes: Array) -> int:
    """The mask of some lanes."""
    return sum(1 << lane for lane in range(LANES) if lanes[lane])


def run_group(
    waves: Sequence[Wave],
    fetch: Callable[[int], Instruction],
    *,
    limit: int = 10_000_000,
    watch: Callable[[Wave, Instruction], None] | None = None,
) -> None:
    """Run a work-group's wavefronts to their ends: see `run_groups`."""
    run_groups([waves], fetch, limit=limit, watch=watch)


def run_groups(
    groups: Sequence[Sequence[Wave]],
    fetch: Callable[[int], Instruction],
    *,
    limit: int = 10_000_000,
    watch: Callable[[Wave, Instruction], None] | None = None,
) -> None:
    """Run the wavefronts of work-groups that are resident together to their ends, each as far as it can in turn.

    ``fetch`` gives the instruction at a byte address. Raises KernelFault for bad accesses, traps, what is not
    supported, after ``limit`` instructions, and if all wait for each other.
    """

    def go(wave: Wave) -> None:
        wave.state = RUNNING

    resources = Resources(go)
    steps = 0
    while any(w.state != ENDED for waves in groups for w in waves):
        moved = False
        for waves in groups:
            for wave in waves:
                while wave.state == RUNNING:
                    moved = True
                    instruction = fetch(wave.pc)
                    if watch is not None:
                        watch(wave, instruction)
                    step(wave, instruction)
                    if wave.state == AT_GWS:
                        resources.ask(wave, *wave.asked)
                    steps += 1
                    if steps > limit:
                        raise KernelFault(f"the kernel did not end within {limit} instructions")
            living = [wave for wave in waves if wave.state != ENDED]
            if living and all(wave.state == AT_BARRIER for wave in living):
                moved = True
                for wave in living:
                    wave.state = RUNNING
        if not moved:
            raise KernelFault("all wavefronts wait for each other (ds_gws_…)")


def step(wave: Wave, instruction: Instruction) -> None:
    """Run one instruction."""
    what = semantics(instruction.row)
    if what.unsupported:
        raise KernelFault(f"{instruction.row.name} at {instruction.address:#x}: {what.unsupported}")
    wave.executed += 1
    wave.pc = instruction.address + instruction.size_bytes
    encoding = instruction.row.encoding
    if encoding == "SMEM":
        _scalar_memory(wave, instruction, what)
    elif what.effect("mfma"):
        reference_matrix.multiply(wave.vectors, instruction, _raw_bits(wave, instruction))
    elif what.effect("gws"):
        _compute(wave, instruction, what)
    elif encoding in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG") and not what.cross:
        _vector_memory(wave, instruction, what)
    else:
        _compute(wave, instruction, what)


# ---- operands --------------------------------------------------------------------------------------------------------


def _raw_bits(wave: Wave, instruction: Instruction) -> Callable[[Source], Array]:
    def bits(source: Source) -> Array:
        value = _raw(wave, source, instruction)
        assert isinstance(value, np.ndarray)
        return value

    return bits


def _index(wave: Wave, instruction: Instruction, name: str, register: Register) -> int:
    """The number of a vector register, with what indexing adds to it."""
    what = semantics(instruction.row)
    index = register.index
    m0 = int(wave.scalars[M0])
    if what.effect("index_source" if name != "D" else "index_dest"):
        index += m0 & 0xFF
    elif wave.indexing and register.file == "v" and instruction.row.encoding.startswith("VOP"):
        enabled = m0 >> 12
        bit = {"S0": 0, "S1": 1, "S2": 2, "D": 3}.get(name)
        if bit is not None and enabled >> bit & 1:
            index += m0 & 0xFF
    return index + (_ACC if register.file == "a" else 0)


def _scalar_dword(wave: Wave, index: int) -> int:
    if index < 128:
        return int(wave.scalars[index])
    if index in (VCCZ, EXECZ):
        return int(wave.pair(VCC if index == VCCZ else EXEC) == 0)
    if index == SCC:
        return int(wave.scc)
    return 0


def _raw(wave: Wave, source: Source | Destination, instruction: Instruction) -> Wide:
    """An operand's bits: u32, u64, or u32 words; of one element where it is scalar."""
    value = source.register if isinstance(source, Destination) else source.value
    if isinstance(value, Register):
        return _register(wave, instruction, source.name, value)
    width = TYPE_BITS[source.type]
    bits = constant_bits(value.code, source.type) if isinstance(value, Constant) else _literal(value, source.type)
    return np.array([bits], np.uint64 if width == 64 else np.uint32)


def _literal(value: Literal, kind: str) -> int:
    if kind == "f64":
        return value.bits << 32
    if kind == "i64" and value.bits >> 31:
        return value.bits | 0xFFFFFFFF << 32
    return value.bits


def _register(wave: Wave, instruction: Instruction, name: str, register: Register) -> Wide:
    if register.file == "s":
        if register.index >= SHARED_BASE and register.index <= SHARED_BASE + 3 and register.dwords == 2:
            aperture = SHARED_APERTURE if register.index < SHARED_BASE + 2 else PRIVATE_APERTURE
            limit = 0xFFFFFFFF if (register.index - SHARED_BASE) % 2 else 0
            return np.array([aperture << 32 | limit], np.uint64)
        index = register.index
        if semantics(instruction.row).effect("index_source" if name != "D" else "index_dest"):
            index += int(wave.scalars[M0]) & 0xFF if instruction.row.encoding == "SOP1" else 0
        words = [np.array([_scalar_dword(wave, index + n)], np.uint32) for n in range(register.dwords)]
    else:
        index = _index(wave, instruction, name, register)
        words = [wave.vectors[index + n].copy() for n in range(register.dwords)]
    if register.dwords == 1:
        return words[0]
    if register.dwords == 2:
        return words[0].astype(np.uint64) | words[1].astype(np.uint64) << np.uint64(32)
    return tuple(words)


def _flip(a: Array, type_: str, neg: bool, absolute: bool) -> Array:
    sign = np.array([1 << (BITS[type_] - 1)], a.dtype)
    a = a & ~sign if absolute else a
    return a ^ sign if neg else a


def _operand(wave: Wave, instruction: Instruction, source: Source, what: Semantics) -> Wide:
    """A source with its modifiers, as the expression wants it."""
    raw = _raw(wave, source, instruction)
    type_ = what.types.get(source.name, "u32")
    if isinstance(raw, tuple):
        return raw
    if type_ == "u1":
        return lanes_of(int(raw[0]))
    if instruction.form == "DPP" and source.name == "S0":
        lanes, valid = dpp_lanes(instruction.fields["dpp_ctrl"])
        seen = valid & wave.active[lanes]
        raw = np.where(seen, np.broadcast_to(raw, LANES)[lanes], np.zeros(1, raw.dtype))
    if "mix" in instruction.row.flags:
        return _mixed(raw, source)
    if source.type in PAIRS:
        return _pair(raw, source, what)
    if source.sel != 6:
        bits, at = (8, 8 * source.sel) if source.sel < 4 else (16, 16 * (source.sel - 4))
        chosen = (raw >> np.uint32(at) & np.uint32((1 << bits) - 1)).astype(f"uint{bits}")
        raw = signed(chosen).astype(np.int32).view(np.uint32) if source.sext else chosen.astype(np.uint32)
    if BITS[type_] == 16:
        raw = (raw >> np.uint32(16 * source.op_sel)).astype(np.uint16)
    if type_[0] != "i":
        raw = _flip(raw, type_, source.neg, source.abs)
    return raw


def _mixed(raw: Array, source: Source) -> Array:
    if source.op_sel_hi:
        half = (raw >> np.uint32(16 * source.op_sel)).astype(np.uint16)
        raw = unsigned(half.view(np.float16).astype(np.float32))
    return _flip(raw, "f32", source.neg, source.neg_hi)


def _pair(raw: Array, source: Source, what: Semantics) -> Array:
    """Both halves, chosen by op_sel; joined again unless the expression is computed for each half."""
    width = 8 * raw.itemsize // 2
    kind = np.dtype(f"uint{width}")
    halves = [(raw >> raw.dtype.type(width * n)).astype(kind) for n in (0, 1)]
    low, high = halves[source.op_sel], halves[source.op_sel_hi]
    if source.type[2] == "f":
        low, high = _flip(low, f"f{width}", source.neg, False), _flip(high, f"f{width}", source.neg_hi, False)
    if what.packed:
        return np.stack([np.broadcast_to(low, LANES), np.broadcast_to(high, LANES)], axis=1).reshape(-1)
    return np.asarray(low.astype(raw.dtype) | high.astype(raw.dtype) << raw.dtype.type(width))


def _old(wave: Wave, instruction: Instruction, dest: Destination, what: Semantics) -> Wide:
    """A destination's old value, as an operand."""
    raw = _raw(wave, dest, instruction)
    type_ = what.types.get(dest.name, "u32")
    if isinstance(raw, tuple) or what.packed:
        return raw if isinstance(raw, tuple) else raw.view(f"uint{BITS[type_]}")
    if type_ == "u1":
        return lanes_of(int(raw[0]))
    if BITS[type_] == 16:
        at = 16 * dest.op_sel
        if instruction.form == "SDWA" and dest.sel != 6:
            at = 8 * dest.sel if dest.sel < 4 else 16 * (dest.sel - 4)
        return (raw >> np.uint32(at)).astype(np.uint16)
    return raw


def _named(wave: Wave, instruction: Instruction, name: str, what: Semantics) -> Wide:
    """Everything that an expression may read by name."""
    source, dest = instruction.source(name), instruction.dest(name)
    if source is not None:
        return _operand(wave, instruction, source, what)
    if dest is not None:
        return _old(wave, instruction, dest, what)
    if name in ("VCC", "EXEC"):
        value = wave.pair(VCC if name == "VCC" else EXEC)
        return lanes_of(value) if what.vector else np.array([value], np.uint64)
    if name == "SCC":
        return np.array([wave.scc])
    if name == "M0":
        return wave.scalars[M0 : M0 + 1].copy()
    if name == "LANE":
        return np.arange(LANES, dtype=np.uint32)
    if name == "PC":
        return np.array([wave.code_base + wave.pc], np.uint64)
    if name in ("SIMM", "SIMM16"):
        simm = instruction.fields["simm16"]
        return np.array([simm | (0xFFFF0000 if simm >> 15 else 0)], np.uint32)
    if name.lower() in instruction.fields:
        return np.array([instruction.fields[name.lower()]], np.uint32)
    raise InternalError(f"{instruction.row.name} reads {name}, which the interpreter does not know")


def dpp_lanes(control: int) -> tuple[Array, Array]:
    """For each lane the lane that DPP reads, and whether there is one (AMD, Vega ISA Reference Guide, "DPP")."""
    lane = np.arange(LANES)
    row, at = lane & ~15, lane & 15
    n = control & 15
    if control < 0x100:
        return np.asarray(lane & ~3 | control >> 2 * (lane & 3) & 3), np.ones(LANES, bool)
    moved = {
        0x100: (row + at + n, at + n < 16),
        0x110: (row + at - n, at - n >= 0),
        0x120: (row + (at - n) % 16, at >= 0),
        0x130: (lane + 1, lane < 63),
        0x134: ((lane + 1) % 64, at >= 0),
        0x138: (lane - 1, lane > 0),
        0x13C: ((lane - 1) % 64, at >= 0),
        0x140: (row + 15 - at, at >= 0),
        0x141: ((lane & ~7) + 7 - (lane & 7), at >= 0),
        0x142: (row - 1, row > 0),
        0x143: (np.full(LANES, 31), lane >= 32),
        0x150: (row + n, at >= 0),
    }
    source, valid = moved[control if 0x130 <= control < 0x150 else control & 0x1F0]
    return np.where(valid, source, 0), np.asarray(valid)


# ---- results ---------------------------------------------------------------------------------------------------------


def _finished(value: Array, type_: str, instruction: Instruction, mode: Mode) -> Array:
    """A float result with output modifier and clamp."""
    fields = instruction.fields
    if not is_float(type_) or not instruction.row.encoding.startswith("VOP"):
        return value
    number = _FLOATS[type_]
    omod = fields.get("omod", 0)
    with np.errstate(all="ignore"):
        if omod and not mode.ieee and not mode.denorm(type_) & 2:
            scaled = value.view(number) * number(_OMOD[omod])
            value = flush(unsigned(np.where(scaled == 0, number(0), scaled)), type_)
        if fields.get("clamp"):
            x = value.view(number)
            clamped = np.where(x > 1, number(1), np.where(x > 0, x, number(0)))
            value = unsigned(np.where(np.isnan(x) & (not mode.dx10_clamp), x, clamped))
    return value


def _written(wave: Wave, instruction: Instruction, dest: Destination, value: Array, what: Semantics) -> Array:
    """A result of at most 32 bits as the register's new bits in all lanes."""
    old = wave.vectors[_index(wave, instruction, dest.name, dest.register)]
    value = np.broadcast_to(value, LANES)
    wide = value.astype(np.uint32)
    if instruction.form == "SDWA" and dest.sel != 6:
        bits, at = (8, 8 * dest.sel) if dest.sel < 4 else (16, 16 * (dest.sel - 4))
        part = wide & np.uint32((1 << bits) - 1)
        if dest.unused == 1:
            extended = signed(part.astype(f"uint{bits}")).astype(np.int32).view(np.uint32)
            return extended << np.uint32(at)
        kept = old & ~np.uint32(((1 << bits) - 1) << at) if dest.unused == 2 else np.uint32(0)
        return part << np.uint32(at) | kept
    if value.itemsize == 2 and instruction.form != "SDWA":
        how = high_half(instruction.row, wave.isa)
        if dest.op_sel or how == "high":
            return np.asarray(wide << np.uint32(16) | old & np.uint32(0xFFFF))
        if how == "keep":
            return np.asarray(wide | old & np.uint32(0xFFFF0000))
    return wide


def _allowed(wave: Wave, instruction: Instruction) -> Array:
    """The lanes in which DPP lets a result be written."""
    fields = instruction.fields
    if instruction.form != "DPP":
        return np.ones(LANES, bool)
    lanes, valid = dpp_lanes(fields["dpp_ctrl"])
    lane = np.arange(LANES)
    allowed = (fields["row_mask"] >> (lane >> 4) & 1) & (fields["bank_mask"] >> (lane >> 2 & 3) & 1) != 0
    return np.asarray(allowed if fields["bound_ctrl"] else allowed & valid & wave.active[lanes])


def _assign(wave: Wave, instruction: Instruction, target: str, value: Wide, what: Semantics) -> None:
    dest = instruction.dest(target)
    type_ = what.types.get(target, "u32")
    if dest is None:
        source = instruction.source(target)
        if source is not None and isinstance(source.value, Register):
            dest = Destination(target, source.type, source.value)  # v_swap_b32
    if dest is None:
        _assign_special(wave, target, value, what)
        return
    register = dest.register
    if register.file == "s":
        if type_ == "u1":
            assert isinstance(value, np.ndarray)
            wave.set_pair(
                register.index, mask_of(np.broadcast_to(value, LANES) & wave.active & _allowed(wave, instruction))
            )
            return
        index = register.index
        if what.effect("index_dest"):
            index += int(wave.scalars[M0]) & 0xFF
        for n, word in enumerate(_dwords(value)):
            wave.scalars[index + n] = int(word[0])
        return
    index = _index(wave, instruction, target, register)
    write = np.ones(LANES, bool) if what.ignores_exec else wave.active & _allowed(wave, instruction)
    if isinstance(value, np.ndarray):
        value = _finished(value, type_, instruction, wave.settings)
        if what.packed:
            lanes = np.broadcast_to(value, 2 * LANES) if len(value) == 1 else value
            value = np.ascontiguousarray(lanes).view(f"uint{2 * BITS[type_]}")
        elif BITS[type_] <= 32:
            value = _written(wave, instruction, dest, value, what)
    for n, word in enumerate(_dwords(value)):
        wave.vectors[index + n] = np.where(write, word, wave.vectors[index + n])


def _assign_special(wave: Wave, target: str, value: Wide, what: Semantics) -> None:
    assert isinstance(value, np.ndarray)
    if target == "SCC":
        wave.scc = bool(value[0])
    elif target == "M0":
        wave.scalars[M0] = int(value[0])
    elif target == "PC":
        wave.pc = int(value[0]) - wave.code_base
    elif target in ("EXEC", "VCC"):
        index = EXEC if target == "EXEC" else VCC
        wave.set_pair(index, mask_of(np.broadcast_to(value, LANES) & wave.active) if what.vector else int(value[0]))
    elif target not in ("D", "MEM"):  # an atomic that does not return what was there has no D
        raise InternalError(f"the interpreter cannot assign {target}")


def _dwords(value: Wide) -> list[Array]:
    if isinstance(value, tuple):
        return list(value)
    if value.itemsize == 8:
        return [value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)]
    return [value.astype(np.uint32)]


# ---- computing -------------------------------------------------------------------------------------------------------


def _compute(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    """Vector and scalar arithmetic, and control."""
    operands = {name: _named(wave, instruction, name, what) for name in what.reads - {"CLAMP"}}
    done = evaluate(
        what,
        operands,
        wave.settings,
        clamp=bool(instruction.fields.get("clamp", 0)),
        active=wave.active,
        functions={"getreg": lambda: _getreg(wave, instruction)},
    )
    active_before = wave.pair(EXEC)
    for target, value in done.results.items():
        after = wave.pair(EXEC)
        wave.set_pair(EXEC, active_before)
        _assign(wave, instruction, target, value, what)
        if target != "EXEC" and not _writes_exec(instruction, target):
            wave.set_pair(EXEC, after)
    for effect in done.effects:
        if effect.kind == "gws":
            _synchronise(wave, effect)
            continue
        first = effect.values[0] if effect.values else None
        _effect(wave, instruction, effect.kind, int(first[0]) if isinstance(first, np.ndarray) else 0)


def _synchronise(wave: Wave, effect: EffectValues) -> None:
    """Global wave synchronisation, with the first active lane's value."""
    lanes = np.flatnonzero(wave.active)
    lane = int(lanes[0]) if lanes.size else 0
    resource, value = (int(np.broadcast_to(v, LANES)[lane]) for v in (*effect.values, np.zeros(1, np.uint32))[:2])
    wave.asked = effect.text, resource % GWS_RESOURCES, value
    wave.state = AT_GWS


def _writes_exec(instruction: Instruction, target: str) -> bool:
    dest = instruction.dest(target)
    return dest is not None and dest.register.file == "s" and dest.register.index in (EXEC, EXEC + 1)


def _effect(wave: Wave, instruction: Instruction, kind: str, value: int) -> None:
    if kind == "branch":
        if value:
            assert instruction.target is not None
            wave.pc = instruction.target
    elif kind == "end":
        wave.state = ENDED
    elif kind == "barrier":
        wave.state = AT_BARRIER
    elif kind == "trap":
        if instruction.fields["simm16"] & 0xFF == 2:
            raise KernelFault(f"s_trap 2 at {instruction.address:#x}: the kernel gave up")
    elif kind == "setreg":
        _setreg(wave, instruction, value)
    elif kind == "gpr_index":
        wave.indexing = bool(value)
    elif kind not in ("nop", "sendmsg", "index_source", "index_dest"):
        raise InternalError(f"the interpreter has no effect {kind}")


def _field(instruction: Instruction) -> tuple[int, int, int]:
    """Which hardware register s_getreg and s_setreg name, the first bit, and the mask of the bits."""
    simm = instruction.fields["simm16"]
    return simm & 63, simm >> 6 & 31, (1 << (simm >> 11) + 1) - 1


def _getreg(wave: Wave, instruction: Instruction) -> int:
    register, offset, mask = _field(instruction)
    bases = PRIVATE_APERTURE >> 16 | SHARED_APERTURE >> 16 << 16
    return ({_HWREG_MODE: wave.mode, _HWREG_BASES: bases}.get(register, 0) >> offset) & mask


def _setreg(wave: Wave, instruction: Instruction, value: int) -> None:
    register, offset, mask = _field(instruction)
    if register == _HWREG_MODE:
        wave.mode = wave.mode & ~(mask << offset) | (value & mask) << offset


# ---- memory ----------------------------------------------------------------------------------------------------------


def _scalar_memory(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    base = instruction.source("ADDR")
    start, limit = 0, None
    if base is not None:
        words = _dwords(_raw(wave, base, instruction))
        start = int(words[0][0]) | int(words[1][0]) << 32
        if len(words) == 4:
            start &= (1 << 48) - 1
            stride, limit = int(words[1][0]) >> 16 & 0x3FFF, int(words[2][0])
            limit *= stride or 1
        moving = instruction.source("SOFFSET")
        offset = instruction.fields["offset_bytes"]
        if moving is not None:
            offset += int(_dwords(_raw(wave, moving, instruction))[0][0])
        start = start + offset & ~3
    operands = {name: _named(wave, instruction, name, what) for name in what.reads - {"MEM"}}
    memory = wave.memories.memory

    def load(type_: str, offset: Array | None) -> Wide:
        return _as_lanes([memory.read(start, BITS[type_] // 8)], type_)

    clock = {"memtime": lambda: wave.executed, "realtime": lambda: wave.executed}
    try:
        if what.is_atomic:
            width = BITS[what.types["D"]] // 8
            operands["MEM"] = _as_lanes([memory.read(start, width)], what.types["D"])
        done = evaluate(what, operands, wave.settings, load=load, functions=clock)
        for target, value in done.results.items():
            if target == "MEM":
                memory.write(start, _bytes(value, 0))
            elif instruction.dest(target) is not None:
                _assign(wave, instruction, target, value, what)
        for effect in done.effects:
            if effect.kind == "store":
                memory.write(start, _bytes(effect.values[0], 0))
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, None) from None


def _vector_memory(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    fields = instruction.fields
    if images.texels(instruction) is not None and not fields.get("lds"):
        _texels(wave, instruction)
        return
    to_lds = instruction.row.encoding == "MUBUF" and fields.get("lds")
    if not to_lds:
        instruction, status = residency.without_status(instruction)
        if status is not None:
            _vector_memory(wave, instruction, what)
            register = status.index + (_ACC if status.file == "a" else 0)
            wave.vectors[register][_active(wave)] = 0
            return
    fields = instruction.fields
    if fields.get("tfe") or (to_lds and images.texels(instruction) is not None):
        what_of = "tfe" if fields.get("tfe") else "a format and lds"
        raise KernelFault(f"{instruction.row.name} at {instruction.address:#x}: {what_of} are not emulated")
    operands = {name: _named(wave, instruction, name, what) for name in what.reads - {"MEM", "OTHER"}}
    active = _active(wave)
    counts = what.effect("count")
    if counts is not None:
        _count(wave, instruction, what, 1 if counts.text == "up" else -1)
        return

    def read(name: str) -> list[int]:
        source = instruction.source(name)
        if source is None:
            return [0] * LANES
        words = [np.broadcast_to(w, LANES) for w in _dwords(_raw(wave, source, instruction))]
        return [sum(int(w[lane]) << 32 * n for n, w in enumerate(words)) for lane in range(LANES)]

    def where(offset: Array | None) -> list[Callable[[int], Place]]:
        extra = None if offset is None else [int(x) for x in np.broadcast_to(offset, LANES)]
        return places(instruction, wave.isa, read, extra)

    lane: int | None = None

    def load(type_: str, offset: Array | None) -> Wide:
        nonlocal lane
        at = where(offset)
        values = [bytes(BITS[type_] // 8)] * LANES
        for lane in active:
            values[lane] = _get(wave.memories, at[lane], lane, BITS[type_] // 8)
        return _as_lanes(values, type_)

    try:
        if what.effect("halves") is not None:
            _exchange_halves(wave, instruction, what, operands, where)
            return
        if "OTHER" in what.reads:
            _by_second(wave, instruction, what, read("ADDR"))
            return
        if what.is_atomic:
            _atomic(wave, instruction, what, operands, where(None))
            return
        done = evaluate(what, operands, wave.settings, load=load)
        for effect in done.effects:
            if effect.kind != "store":
                continue
            offset = effect.values[1] if len(effect.values) > 1 else None
            at = where(offset if isinstance(offset, np.ndarray) else None)
            for lane in active:
                _put(wave.memories, at[lane], lane, _bytes(effect.values[0], lane))
        if to_lds:
            start = (int(wave.scalars[M0]) & 0xFFFF) + fields["offset"]
            for lane in active:
                wave.memories.lds.write(start + 4 * lane, _bytes(done.results["D"], lane))
            return
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, lane) from None
    for target, value in done.results.items():
        _assign(wave, instruction, target, value, what)


def _count(wave: Wave, instruction: Instruction, what: Semantics, sign: int) -> None:
    """ds_append and ds_consume: one addition for all lanes."""
    if not _active(wave):
        return
    memory = wave.memories.gds if instruction.fields.get("gds") else wave.memories.lds
    address = (int(wave.scalars[M0]) & 0xFFFF) + instruction.fields["offset"]
    try:
        old = int.from_bytes(memory.read(address, 4), "little")
        memory.write(address, (old + sign * len(_active(wave)) & 0xFFFFFFFF).to_bytes(4, "little"))
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, _active(wave)[0]) from None
    _assign(wave, instruction, "D", np.full(LANES, old, np.uint32), what)


def _texels(wave: Wave, instruction: Instruction) -> None:
    """Instructions on images and formatted buffers."""

    def scalar(name: str) -> int:
        source = instruction.source(name)
        words = [] if source is None else _dwords(_raw(wave, source, instruction))
        return sum(int(word[0]) << 32 * n for n, word in enumerate(words))

    def vectors(registers: Iterable[int]) -> list[list[int]]:
        return [[int(value) for value in wave.vectors[n]] for n in registers]

    data, dest = instruction.source("DATA"), instruction.dest("D")
    held = data.value if data is not None else dest.register if dest is not None else None
    first = held.index + (_ACC if held.file == "a" else 0) if isinstance(held, Register) else 0
    one = reference_images.Operation(
        instruction,
        wave.isa,
        wave.memories.memory,
        _active(wave),
        scalar("RSRC"),
        scalar("SAMP"),
        scalar("SOFFSET") & 0xFFFFFFFF,
        vectors(images.address_registers(instruction)),
        vectors(range(first, first + held.dwords)) if isinstance(held, Register) else [],
    )
    lane: int | None = None

    def told(number: int) -> None:
        nonlocal lane
        lane = number

    try:
        if one.what.kind == "atomic":
            _texel_atomic(wave, instruction, one)
            return
        result = reference_images.run(one, told)
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, lane) from None
    if dest is not None:
        for n, row in enumerate(result):
            old = wave.vectors[first + n]
            wave.vectors[first + n] = np.where(wave.active, np.array(row, np.uint32), old)


def _texel_atomic(wave: Wave, instruction: Instruction, one: reference_images.Operation) -> None:
    """An atomic on an image; lanes outside of it get 0."""
    what = semantics(images.atomic_row(instruction, wave.isa))
    dwords = images.atomic_bytes(instruction) // 4
    type_ = what.types["D"]
    words = [np.array(row, np.uint32) for row in one.data[: len(one.data) - instruction.fields.get("tfe", 0)]]
    data: Wide = tuple(words) if len(words) > 2 else words[0]
    if len(words) == 2:
        data = words[0].astype(np.uint64) | words[1].astype(np.uint64) << np.uint64(32)
    mode = replace(wave.settings, round32=0, round16_64=0)
    returned = [bytes(4 * dwords)] * LANES
    for lane, place in enumerate(reference_images.atomic_places(one, 4 * dwords)):
        if place is None:
            continue
        returned[lane] = wave.memories.memory.read(place, 4 * dwords)
        operands = {"DATA": _slice(data, lane, 1), "MEM": _as_lanes([returned[lane]], type_)}
        wave.memories.memory.write(place, _bytes(dict(evaluate(what, operands, mode).results)["MEM"], 0))
    if instruction.dest("D") is not None:
        _assign(wave, instruction, "D", _as_lanes(returned, f"u{32 * dwords}"), what)
        if instruction.fields.get("tfe"):
            status = _index(wave, instruction, "D", instruction.dests[0].register) + dwords
            wave.vectors[status] = np.where(wave.active, np.uint32(0), wave.vectors[status])


def _atomic(
    wave: Wave,
    instruction: Instruction,
    what: Semantics,
    operands: dict[str, Wide],
    at: Sequence[Callable[[int], Place]],
) -> None:
    """One lane after the other; memory rounds to nearest, whatever MODE says."""
    mode = replace(wave.settings, round32=0, round16_64=0)
    type_ = what.types.get("D") or what.types["DATA"]
    per_lane = 2 if what.packed else 1
    width = BITS[type_] // 8 * per_lane
    dest = instruction.dest("D")
    returned = [bytes(width)] * LANES
    for lane in _active(wave):
        old = _get(wave.memories, at[lane], lane, width)
        returned[lane] = old
        one = {name: _slice(value, lane, per_lane) for name, value in operands.items()}
        one["MEM"] = _as_lanes([old[n : n + width // per_lane] for n in range(0, width, width // per_lane)], type_)
        value = dict(evaluate(what, one, mode).results)["MEM"]
        new = b"".join(_bytes(value, n) for n in range(per_lane))
        _put(wave.memories, at[lane], lane, new)
    if dest is not None:
        plain = replace(what, packed=False)
        _assign(wave, instruction, "D", _as_lanes(returned, f"u{8 * width}"), plain)


def _exchange_halves(
    wave: Wave,
    instruction: Instruction,
    what: Semantics,
    operands: dict[str, Wide],
    where: Callable[[Array | None], list[Callable[[int], Place]]],
) -> None:
    """Of each lane both places are read before either is written."""
    type_ = what.types["D"]
    width = BITS[type_] // 16
    returned = [bytes(2 * width)] * LANES
    done = evaluate(what, {**operands, "MEM": _as_lanes(returned, type_)}, wave.settings)
    new = done.results["MEM"]
    offsets = next(effect for effect in done.effects if effect.kind == "halves").values
    at = [where(np.asarray(offset)) for offset in offsets]
    for lane in _active(wave):
        returned[lane] = b"".join(_get(wave.memories, half[lane], lane, width) for half in at)
        data = _bytes(new, lane)
        for n, half in enumerate(at):
            _put(wave.memories, half[lane], lane, data[n * width : (n + 1) * width])
    _assign(wave, instruction, "D", _as_lanes(returned, type_), what)


def _by_second(wave: Wave, instruction: Instruction, what: Semantics, addresses: Sequence[int]) -> None:
    """Memory is updated by what lies at a second place in it."""
    mode = replace(wave.settings, round32=0, round16_64=0)
    memory = wave.memories.gds if instruction.fields.get("gds") else wave.memories.lds
    type_ = what.types["MEM"]
    for lane in _active(wave):
        first, second = second_place(addresses[lane], instruction.fields["offset"])
        try:
            found = {
                name: _as_lanes([memory.read(place, BITS[type_] // 8)], type_)
                for name, place in (("OTHER", second), ("MEM", first))
            }
        except AccessError as error:
            raise fault(error, instruction, instruction.row.name, lane) from None
        memory.write(first, _bytes(dict(evaluate(what, found, mode).results)["MEM"], 0))


def _active(wave: Wave) -> list[int]:
    return [int(lane) for lane in np.flatnonzero(wave.active)]


def _slice(value: Wide, lane: int, per_lane: int) -> Wide:
    if isinstance(value, tuple):
        return tuple(w if len(w) == 1 else w[lane : lane + 1] for w in value)
    return value if len(value) == 1 else value[lane * per_lane : (lane + 1) * per_lane]


def _get(memories: Memories, at: Callable[[int], Place], lane: int, nbytes: int) -> bytes:
    """Bytes of a lane's access, by pieces that lie together."""
    step = 4 if nbytes % 4 == 0 else nbytes
    return b"".join(memories.read(at(n)[0], lane, at(n)[1], step) for n in range(0, nbytes, step))


def _put(memories: Memories, at: Callable[[int], Place], lane: int, data: bytes) -> None:
    step = 4 if len(data) % 4 == 0 else len(data)
    for n in range(0, len(data), step):
        memories.write(at(n)[0], lane, at(n)[1], data[n : n + step])


def _as_lanes(values: Sequence[bytes], type_: str) -> Wide:
    """Each lane's bytes as a value."""
    width = BITS[type_] // 8
    whole = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)
    if width <= 8:
        return np.ascontiguousarray(whole).view(f"uint{8 * width}").reshape(-1)
    words = np.ascontiguousarray(whole).view(np.uint32)
    return tuple(words[:, n].copy() for n in range(width // 4))


def _bytes(value: Wide, lane: int) -> bytes:
    parts = value if isinstance(value, tuple) else (value,)
    return b"".join(w[lane if len(w) > 1 else 0].tobytes() for w in parts)

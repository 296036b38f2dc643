"""Reads and writes a wavefront's registers. Input: an instruction's operands. Output: their values.

What the interpreter (reference.py) knows of operands, modifiers, DPP and SDWA, written apart from the translator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.control import mode_of
from headwater.emulate.wave.evaluate_numpy import Array, Wide, flush, limited_half, signed, unsigned
from headwater.emulate.wave.layout import LANES, PRIVATE_APERTURE, SHARED_APERTURE
from headwater.emulate.wave.modifiers import PAIRS, high_half
from headwater.emulate.wave.reference_memory import Memories
from headwater.errors import InternalError
from headwater.isa.gcn.model import (
    EXEC,
    EXECZ,
    M0,
    SCC,
    SHARED_BASE,
    VCC,
    VCCZ,
    Constant,
    Destination,
    Instruction,
    Literal,
    Register,
    Source,
    constant_bits,
    index_bit,
)
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Mode, Semantics
from headwater.isa.semantics.types import BITS, TYPE_BITS, is_float

ACC = 256
"""The first accumulation register among a wavefront's vectors."""
_FLOATS: Mapping[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_OMOD = {1: 2.0, 2: 4.0, 3: 0.5}

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
        return mode_of(self.mode, TRAITS[self.isa].generation)


def lanes_of(mask: int) -> Array:
    """A mask's bits."""
    return np.array([bool(mask >> lane & 1) for lane in range(LANES)])


def mask_of(lanes: Array) -> int:
    """The mask of some lanes."""
    return sum(1 << lane for lane in range(LANES) if lanes[lane])


# ---- operands --------------------------------------------------------------------------------------------------------


def register_number(wave: Wave, instruction: Instruction, operand: Source | Destination) -> int:
    """The number of an operand's first vector register, with what indexing adds to it."""
    register = operand.register if isinstance(operand, Destination) else operand.value
    assert isinstance(register, Register)
    index = register.index
    m0 = int(wave.scalars[M0])
    if _moves_by_index(instruction, operand):
        index += m0 & 0xFF
    elif wave.indexing and instruction.row.encoding.startswith("VOP") and m0 >> 12 & index_bit(operand):
        index += m0 & 0xFF if register.file == "v" else 0
    return index + (ACC if register.file == "a" else 0)


def _moves_by_index(instruction: Instruction, operand: Source | Destination) -> bool:
    """Whether the instruction itself (v_movrels_b32, s_movreld_b32, …) adds M0 to the operand's number."""
    effect = "index_dest" if isinstance(operand, Destination) else "index_source"
    return semantics(instruction.row).effect(effect) is not None


def _scalar_dword(wave: Wave, index: int) -> int:
    if index < 128:
        return int(wave.scalars[index])
    if index in (VCCZ, EXECZ):
        return int(wave.pair(VCC if index == VCCZ else EXEC) == 0)
    if index == SCC:
        return int(wave.scc)
    return 0


def raw_value(wave: Wave, source: Source | Destination, instruction: Instruction) -> Wide:
    """An operand's bits: u32, u64, or u32 words; of one element where it is scalar."""
    value = source.register if isinstance(source, Destination) else source.value
    if isinstance(value, Register):
        return _register(wave, instruction, source, value)
    width = TYPE_BITS[source.type]
    bits = constant_bits(value.code, source.type) if isinstance(value, Constant) else _literal(value, source.type)
    return np.array([bits], np.uint64 if width == 64 else np.uint32)


def _literal(value: Literal, kind: str) -> int:
    if kind == "f64":
        return value.bits << 32
    if kind == "i64" and value.bits >> 31:
        return value.bits | 0xFFFFFFFF << 32
    return value.bits


def _register(wave: Wave, instruction: Instruction, operand: Source | Destination, register: Register) -> Wide:
    if register.file == "s":
        if register.index >= SHARED_BASE and register.index <= SHARED_BASE + 3 and register.dwords == 2:
            aperture = SHARED_APERTURE if register.index < SHARED_BASE + 2 else PRIVATE_APERTURE
            limit = 0xFFFFFFFF if (register.index - SHARED_BASE) % 2 else 0
            return np.array([aperture << 32 | limit], np.uint64)
        index = register.index
        if instruction.row.encoding == "SOP1" and _moves_by_index(instruction, operand):
            index += int(wave.scalars[M0]) & 0xFF
        words = [np.array([_scalar_dword(wave, index + n)], np.uint32) for n in range(register.dwords)]
    else:
        index = register_number(wave, instruction, operand)
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
    raw = raw_value(wave, source, instruction)
    type_ = what.types.get(source.name, "u32")
    if isinstance(raw, tuple):
        return raw
    if type_ == "u1":
        return lanes_of(int(raw[0]))
    if source.dpp:
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
    return _flip(raw, "f32", source.neg, source.abs)


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
    raw = raw_value(wave, dest, instruction)
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


def named_value(wave: Wave, instruction: Instruction, name: str, what: Semantics) -> Wide:
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
            before, value = value, flush(unsigned(np.where(scaled == 0, number(0), scaled)), type_)
            if mode.half_overflow and type_ == "f16":
                value = limited_half(value, [(before, type_)])
        if fields.get("clamp"):
            x = value.view(number)
            clamped = np.where(x > 1, number(1), np.where(x > 0, x, number(0)))
            value = unsigned(np.where(np.isnan(x) & (not mode.dx10_clamp), x, clamped))
    return value


def _written(wave: Wave, instruction: Instruction, dest: Destination, value: Array, what: Semantics) -> Array:
    """A result of at most 32 bits as the register's new bits in all lanes."""
    old = wave.vectors[register_number(wave, instruction, dest)]
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


def assign(wave: Wave, instruction: Instruction, target: str, value: Wide, what: Semantics) -> None:
    """Write a result where the instruction puts it, in the lanes that it is for."""
    dest = instruction.dest(target)
    source = None
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
        for n, word in enumerate(dwords_of(value)):
            wave.scalars[index + n] = int(word[0])
        return
    index = register_number(wave, instruction, source or dest)
    write = np.ones(LANES, bool) if what.ignores_exec else wave.active & _allowed(wave, instruction)
    if isinstance(value, np.ndarray):
        value = _finished(value, type_, instruction, wave.settings)
        if what.packed:
            lanes = np.broadcast_to(value, 2 * LANES) if len(value) == 1 else value
            value = np.ascontiguousarray(lanes).view(f"uint{2 * BITS[type_]}")
        elif BITS[type_] <= 32:
            value = _written(wave, instruction, dest, value, what)
    for n, word in enumerate(dwords_of(value)):
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


def dwords_of(value: Wide) -> list[Array]:
    """A value's dwords, the lowest first."""
    if isinstance(value, tuple):
        return list(value)
    if value.itemsize == 8:
        return [value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)]
    return [value.astype(np.uint32)]

"""Input: random instructions of every kind. Output: what the translator and the reference interpreter disagree about.

    python -m verification.isa_instructions --count 2000 --seed 1 [--target gfx900] [--rows v_perm_b32,…]

Each instruction is encoded at random (registers, constants, modifiers, SDWA, DPP) and runs on random registers, EXEC,
VCC, SCC and M0: many of them in one kernel, as machine code on a simulated chip, and one by one in the interpreter. All
registers have to agree, but the bits of NaNs.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwater.chips.gcn_isas import ISA_OF_TARGET, TRAITS
from headwater.emulate.gcn.reference import step
from headwater.emulate.gcn.reference_registers import Wave
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.errors import HeadwaterError
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.encodings import forms_by_prefix, layouts
from headwater.isa.gcn.model import EXEC, M0, VCC, Instruction, Row
from headwater.isa.gcn.printer import text as printed
from headwater.isa.gcn.semantics import semantics
from headwater.isa.gcn.table import rows
from headwater.isa.semantics.types import is_float
from headwater.opencl.gcn_build import assemble
from verification.isa_semantics import edge_values

CHIPS = {
    "gfx803": "r9-nano", "gfx900": "vega64", "gfx906": "mi50", "gfx908": "mi100", "gfx90a": "mi250x",
    "gfx942": "mi300x",
}  # fmt: skip
FIRST, COUNT = 16, 16
"""The registers that instructions use: v16 to v31 and s16 to s31."""

LDS_BYTES = 1024
REGION_BYTES = COUNT * LANES * 4 + 128
RESULT_BYTES = (COUNT + 1) * LANES * 4

MODES: Mapping[str, str] = {
    "default": ".amdhsa_float_denorm_mode_32 3",
    "flush": ".amdhsa_float_denorm_mode_32 0\n.amdhsa_float_denorm_mode_16_64 0",
    "quiet": ".amdhsa_ieee_mode 0\n.amdhsa_dx10_clamp 0\n.amdhsa_float_denorm_mode_32 0",
    "up": ".amdhsa_float_round_mode_32 1\n.amdhsa_float_round_mode_16_64 1\n.amdhsa_float_denorm_mode_32 3",
}
MODE_BITS = {"default": 0x3F0, "flush": 0x300, "quiet": 0x0C0, "up": 0x3F5}

_LEFT_OUT = frozenset(
    """branch end barrier trap sendmsg unsupported setreg index_source index_dest gpr_index image format mfma
    nop""".split()
)


def usable(row: Row, isa: str) -> bool:
    """Whether an instruction can be tried alone on registers."""
    if isa not in row.opcodes or not row.operands:
        return False
    meaning = semantics(row)
    if any(e.kind in _LEFT_OUT for e in meaning.effects) or row.encoding == "SMEM":
        return False
    if row.encoding in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG", "EXP", "VINTRP"):
        return False
    if "PC" in row.semantics or "getreg" in row.semantics or "interp" in row.flags or "gds" in row.flags:
        return False
    if any(o.file == "a" for o in row.operands):
        return False
    return not (row.encoding == "DS" and meaning.cross == "" and "ADDR" not in {o.name for o in row.operands})


# ---- encoding --------------------------------------------------------------------------------------------------------


def encode(row: Row, isa: str, rng: random.Random) -> bytes:
    """The row as machine code, with random operands and modifiers."""
    form = row.encoding
    forms = [form] if form not in ("VOP1", "VOP2", "VOPC") else ["short", "short"]
    for flag, name in (("e64", "VOP3"), ("sdwa", "SDWA"), ("dpp", "DPP")):
        if flag in row.flags:
            forms.append(name)
    chosen = rng.choice(forms)
    if chosen in ("VOP3", "VOP3P"):
        return _vop3(row, isa, rng)
    if chosen in ("SDWA", "DPP"):
        return _extended(row, isa, chosen, rng)
    if form == "DS":
        return _ds(row, isa, rng)
    return _short(row, isa, rng)


def _prefix(form: str, isa: str) -> int:
    """The first word's leading bits."""
    return forms_by_prefix(isa).index(form) << 23


def _packed(form: str, isa: str, values: Mapping[str, int], base: int) -> int:
    word = base
    for name, value in values.items():
        low, width = layouts(isa)[form][name]
        word &= ~(((1 << width) - 1) << low)
        word |= (value & (1 << width) - 1) << low
    return word


def _register(dwords: int, rng: random.Random, limit: int = COUNT) -> int:
    step_ = 2 if dwords > 1 else 1
    return FIRST + rng.randrange(0, limit - dwords + 1, step_)


def _scalar(dwords: int, rng: random.Random) -> int:
    if dwords > 2:
        return FIRST + rng.randrange(0, COUNT - dwords + 1, 4)
    how = rng.random()
    if how < 0.5:
        return _register(dwords, rng)
    if how < 0.6:
        return rng.choice([VCC, EXEC]) + (rng.randrange(2) if dwords == 1 else 0)
    if how < 0.65 and dwords == 1:
        return rng.choice([M0, 251, 252, 253])
    return rng.choice([*range(128, 209), *range(240, 249)])


def _source(row: Row, name: str, isa: str, rng: random.Random, *, scalar: bool) -> int:
    """A source of nine bits."""
    spec = next((o for o in row.operands if o.name == name), None)
    if spec is None:
        return 0
    dwords = _dwords(spec.type)
    if spec.type == "mask" or spec.file == "s":
        return _scalar_register(dwords, rng)
    if spec.file == "v" or not scalar or rng.random() < 0.6:
        return 256 + _register(dwords, rng)
    return _scalar(dwords, rng)


def _scalar_register(dwords: int, rng: random.Random) -> int:
    return VCC if dwords == 2 and rng.random() < 0.4 else _register(dwords, rng)


def _dwords(kind: str) -> int:
    from headwater.isa.semantics.types import TYPE_BITS

    return max(1, TYPE_BITS[kind] // 32)


def _dest(row: Row, rng: random.Random) -> int:
    spec = next((o for o in row.operands if o.name == "D"), None)
    return 0 if spec is None else _register(_dwords(spec.type), rng)


def _short(row: Row, isa: str, rng: random.Random) -> bytes:
    form = row.encoding
    values = {"op": row.opcodes[isa]}
    literal = False
    fields = layouts(isa)[form]
    for name, operand in (("ssrc0", "S0"), ("ssrc1", "S1")):
        spec = next((o for o in row.operands if o.name == operand), None)
        if name in fields and spec is not None:
            values[name] = _scalar(_dwords(spec.type), rng)
            if not literal and rng.random() < 0.15 and _dwords(spec.type) == 1:
                values[name], literal = 255, True
    if "simm16" in fields:
        values["simm16"] = rng.getrandbits(16)
    if "sdst" in fields:
        spec = row.operands[0]
        values["sdst"] = _scalar_register(_dwords(spec.type), rng)
        if spec.name == "D" and "EXEC" not in row.semantics and rng.random() < 0.1:
            values["sdst"] = M0 if _dwords(spec.type) == 1 else EXEC
    if "src0" in fields:
        values["src0"] = _source(row, "S0", isa, rng, scalar=True)
        if rng.random() < 0.15 and not any(o.file or o.name == "K" for o in row.operands):
            spec = next(o for o in row.operands if o.name == "S0")
            if _dwords(spec.type) == 1:
                values["src0"], literal = 255, True
    if "vsrc1" in fields:
        spec = next((o for o in row.operands if o.name == "S1"), None)
        if spec is not None:
            values["vsrc1"] = _register(_dwords(spec.type), rng)
    if "vdst" in fields:
        values["vdst"] = _dest(row, rng)
    word = _packed(form, isa, values, _prefix(form, isa))
    code = word.to_bytes(4, "little")
    if literal or any(o.name == "K" for o in row.operands):
        code += rng.choice(edge_values("f32") + edge_values("u32")).to_bytes(4, "little")
    return code


def _vop3(row: Row, isa: str, rng: random.Random) -> bytes:
    form = "VOP3P" if row.encoding == "VOP3P" else "VOP3B" if "vop3b" in row.flags else "VOP3"
    opcode = row.opcodes[isa] + {"VOP2": 0x100, "VOP1": 0x140}.get(row.encoding, 0)
    values = {"op": opcode, "vdst": _dest(row, rng)}
    if row.encoding == "VOPC":
        values["vdst"] = _scalar_register(2, rng)
    for n in range(3):
        values[f"src{n}"] = _source(row, f"S{n}", isa, rng, scalar=True)
    kinds = [next((o.type for o in row.operands if o.name == f"S{n}"), "") for n in range(3)]
    floats = [k in ("f16", "f32", "f64", "v2f16", "v2f32") for k in kinds]
    fields = layouts(isa)[form]
    signs = sum(1 << n for n in range(3) if floats[n])
    result = next((o.type for o in row.operands if o.name == "D"), "")
    if "mix" in row.flags:
        signs = 7
    for name in ("neg", "abs", "neg_hi"):
        if name in fields and rng.random() < 0.5:
            values[name] = rng.getrandbits(3) & signs
    if "clamp" in fields and rng.random() < 0.3 and result != "mask":
        values["clamp"] = 1
    if "omod" in fields and rng.random() < 0.2 and result in ("f16", "f32", "f64"):
        values["omod"] = rng.getrandbits(2)
    if "sdst" in fields:
        values["sdst"] = _scalar_register(2, rng)
    if form == "VOP3P":
        values |= {"op_sel": rng.getrandbits(3), "op_sel_hi": rng.getrandbits(2), "op_sel_hi2": rng.getrandbits(1)}
        if kinds[0] not in ("v2f16", "v2i16", "v2u16", "v2b16") and "mix" not in row.flags:
            values |= {"op_sel": 0, "op_sel_hi": 3, "op_sel_hi2": 1}
    elif "op_sel" in fields and row.encoding == "VOP3":
        halves = [k in ("f16", "i16", "u16", "b16") for k in [*kinds, result]]
        values["op_sel"] = rng.getrandbits(4) & sum(1 << n for n in range(4) if halves[n])
    prefix = _prefix("VOP3P" if form == "VOP3P" else "VOP3", isa)
    return _packed(form, isa, values, prefix).to_bytes(8, "little")


def _extended(row: Row, isa: str, kind: str, rng: random.Random) -> bytes:
    short = _packed(
        row.encoding,
        isa,
        {"op": row.opcodes[isa], "src0": 249 if kind == "SDWA" else 250, "vsrc1": _register(1, rng)}
        | ({"vdst": _dest(row, rng)} if row.encoding != "VOPC" else {})
        if row.encoding != "VOP1"
        else {"op": row.opcodes[isa], "src0": 249 if kind == "SDWA" else 250, "vdst": _dest(row, rng)},
        _prefix(row.encoding, isa),
    )
    form = "SDWA_VOPC" if kind == "SDWA" and row.encoding == "VOPC" else kind
    values: dict[str, int] = {"vsrc0": _register(1, rng)}
    for name, (_, width) in layouts(isa)[form].items():
        if name not in ("vsrc0", "sdst", "sd"):
            values[name] = rng.getrandbits(width)
    if "sdst" in layouts(isa)[form]:
        values |= {"sdst": _scalar_register(2, rng), "sd": rng.getrandbits(1)}
    values |= {
        name: rng.choice([0, 1, 2, 3, 4, 5, 6, 6]) for name in ("src0_sel", "src1_sel", "dst_sel") if name in values
    }
    if "dst_unused" in values:
        values["dst_unused"] = rng.randrange(3)
        # Bytes of a NaN may be any.
        whole = {"f32": [6], "f16": [4, 5, 6]}.get(next((o.type for o in row.operands if o.name == "D"), ""))
        values["dst_sel"] = rng.choice(whole) if whole else values["dst_sel"]
    if "dpp_ctrl" in values:
        controls = [rng.getrandbits(8), *(base + rng.randrange(1, 16) for base in (0x100, 0x110, 0x120))]
        controls += [0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143]
        values["dpp_ctrl"] = rng.choice(controls)
        values |= {name: rng.choice([15, 15, rng.getrandbits(4)]) for name in ("row_mask", "bank_mask")}
    values |= {name: 0 for name in ("s0", "s1", "omod") if name in values}
    word = _packed(form, isa, values, short)
    return word.to_bytes(8, "little")


def _ds(row: Row, isa: str, rng: random.Random) -> bytes:
    kinds = {o.name: _dwords(o.type) for o in row.operands}
    values = {"op": row.opcodes[isa], "addr": FIRST}
    for field, name in (("data0", "DATA"), ("data1", "DATA1"), ("vdst", "D")):
        if name in kinds:
            values[field] = FIRST + 2 + rng.randrange(0, COUNT - 2 - kinds[name] + 1, 2)
    two = "offset2" in row.flags
    if row.name == "ds_swizzle_b32":
        swizzle = rng.choice([rng.getrandbits(15), 0x8000 | rng.getrandbits(8)])
        values |= {"offset0": swizzle & 255, "offset1": swizzle >> 8}
    elif two:
        # Stores of one instruction that meet at an address are in no order.
        wide = 2 if "st64" in row.name or "store" in row.flags else 8
        first = rng.randrange(wide)
        values |= {"offset0": first, "offset1": 1 - first if "store" in row.flags else rng.randrange(wide)}
    elif "src2" in row.flags:  # so many dwords from the address, or what that itself says
        offset = rng.choice([rng.randrange(-64, 64) & 0x7FFF, 1 << 15])
        values |= {"offset0": offset & 255, "offset1": offset >> 8}
    else:
        values["offset0"] = 16 * rng.randrange(4)
    return _packed("DS", isa, values, _prefix("DS", isa)).to_bytes(8, "little")


# ---- a kernel of many instructions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """An instruction and the registers that it runs on."""

    code: bytes
    instruction: Instruction
    vectors: Any  # u32[COUNT][LANES]
    scalars: Any  # u32[COUNT + 8]: s16…, VCC, EXEC, M0


def make_trial(row: Row, isa: str, rng: random.Random, values: np.random.Generator) -> Trial | None:
    """A random trial of a row; None where what came out is no instruction."""
    code = encode(row, isa, rng)
    try:
        instruction = decode(code + bytes(8), 0, isa)
    except HeadwaterError:
        return None
    if instruction.row.name != row.name or instruction.size_bytes != len(code):
        return None
    kinds = {o.type for o in row.operands}
    pool = [x & 0xFFFFFFFF for x in edge_values("u32")]
    if kinds & {"f32", "v2f32"} or not kinds & {"f16", "f64"}:
        pool += edge_values("f32")
    if kinds & {"f16", "v2f16"}:
        halves = edge_values("f16")
        pool = [rng.choice(halves) << 16 | h for h in halves]
    if "f64" in kinds:
        pool = [part for x in edge_values("f64") for part in (x & 0xFFFFFFFF, x >> 32)]
    edges = np.array(pool, np.uint32)
    anything = np.frombuffer(values.bytes(COUNT * LANES * 4), np.uint32).reshape(COUNT, LANES)
    chosen = edges[values.integers(0, len(edges), (COUNT, LANES))]
    vectors = np.where(values.integers(0, 2, (COUNT, LANES)) == 0, chosen, anything)
    if "f64" in kinds:
        doubles = np.array(edge_values("f64"), np.uint64)[
            values.integers(0, len(edge_values("f64")), (COUNT // 2, LANES))
        ]
        whole = np.stack([doubles.astype(np.uint32), (doubles >> np.uint64(32)).astype(np.uint32)], axis=1)
        vectors = np.where(values.integers(0, 2, (COUNT, LANES)) == 0, whole.reshape(COUNT, LANES), vectors)
    if row.encoding == "DS":
        aligned = values.integers(0, 24, LANES) * 16
        vectors[0] = aligned if "ADDR" in {o.name for o in row.operands} else vectors[0]
        if "offset2" in row.flags and "store" in row.flags:
            bytes_ = (8 if "b64" in row.name else 4) * (1 if "st64" in row.name else 2)
            vectors[0] = values.permutation(LANES) * bytes_
        if semantics(row).cross:
            vectors[0] = values.integers(0, 64, LANES) * 4
        if "src2" in row.flags:
            far = values.integers(-64, 64, LANES) << 17 if instruction.fields["offset"] >> 15 else 0
            vectors[0] = (256 + aligned // 2 | far) & 0xFFFFFFFF
    scalars = np.concatenate([edges[values.integers(0, len(edges), COUNT)], np.frombuffer(values.bytes(32), np.uint32)])
    exec_kind = values.integers(0, 4)
    if exec_kind == 0:
        scalars[COUNT + 2 : COUNT + 4] = 0xFFFFFFFF
    elif exec_kind == 1:
        scalars[COUNT + 2 : COUNT + 4] = [0, 1 << int(values.integers(0, 32))]
    scalars[COUNT + 4] = values.integers(0, 64)
    return Trial(code, instruction, vectors.astype(np.uint32), scalars.astype(np.uint32))


def kernel_text(trials: list[Trial], target: str, mode: str) -> str:
    """Assembly of a kernel that runs the trials one after the other, in a loop that loads and stores the registers."""
    vectors = range(FIRST, FIRST + COUNT)
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "v_lshlrev_b32 v0, 2, v0", "s_waitcnt lgkmcnt(0)"]
    lines += ["v_mov_b32 v2, 0", "s_mov_b32 s8, 0", "again:"]
    lines += ["s_mov_b32 m0, -1", *(f"ds_write_b32 v0, v0 offset:{n}" for n in range(0, LDS_BYTES, 256))]
    lines += ["s_load_dwordx16 s[16:31], s[4:5], 0x0", "s_load_dwordx8 s[36:43], s[4:5], 0x40", "v_add_u32 v1, 128, v0"]
    for v in vectors:
        lines += [f"global_load_dword v{v}, v1, s[4:5]", "v_add_u32 v1, 0x100, v1"]
    lines += [f"s_add_u32 s4, s4, {REGION_BYTES}", "s_addc_u32 s5, s5, 0", "s_waitcnt vmcnt(0) lgkmcnt(0)"]
    lines += ["s_mov_b64 vcc, s[36:37]", "s_mov_b32 m0, s40", "s_mov_b64 exec, s[38:39]"]
    for n in range(len(trials)):
        lines += [f"s_cmp_eq_u32 s8, {n}", f"s_cbranch_scc1 trial{n}"]
    lines += ["s_endpgm"]
    for n, trial in enumerate(trials):
        words = [int.from_bytes(trial.code[at : at + 4], "little") for at in range(0, len(trial.code), 4)]
        lines += [f"trial{n}:", "s_bitcmp1_b32 s41, 0", *(f".long 0x{word:x}" for word in words), "s_branch after"]
    lines += ["after:", "s_cselect_b32 s41, 1, 0", "s_mov_b64 s[36:37], vcc", "s_mov_b64 s[38:39], exec"]
    lines += ["s_mov_b32 s40, m0", "s_mov_b64 exec, -1", "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32 v1, v0"]
    for v in vectors:
        lines += [f"global_store_dword v1, v{v}, s[6:7]", "v_add_u32 v1, 0x100, v1"]
    lines += [f"v_writelane_b32 v2, s{FIRST + n}, {n}" for n in range(COUNT)]
    lines += [f"v_writelane_b32 v2, s{36 + n}, {COUNT + n}" for n in range(6)]
    # Sum of the LDS, each dword weighted by its place.
    lines += ["s_mov_b32 m0, -1", "v_mov_b32 v3, 0"]
    for n in range(0, LDS_BYTES, 256):
        lines += [f"ds_read_b32 v4, v0 offset:{n}", "s_waitcnt lgkmcnt(0)", "v_mul_u32_u24 v3, 7, v3"]
        lines += ["v_add_u32 v3, v3, v4"]
    lines += ["v_cmp_gt_u32 vcc, 0x80, v0", "v_cndmask_b32 v4, v3, v2, vcc", "global_store_dword v1, v4, s[6:7]"]
    lines += [f"s_add_u32 s6, s6, {RESULT_BYTES}", "s_addc_u32 s7, s7, 0", "s_add_u32 s8, s8, 1"]
    lines += [f"s_cmp_lt_u32 s8, {len(trials)}", "s_cbranch_scc1 again"]
    if target == "gfx803":
        lines = [old for line in lines for old in _for_gfx8(line)]
    return _FRAME.format(target=target, body="\n".join(lines), mode=MODES[mode], lds=LDS_BYTES)


def _for_gfx8(line: str) -> list[str]:
    """A line of the loop for chips without global memory instructions, whose v_add_u32 gives a carry."""
    if line.startswith("v_add_u32 "):
        return [line.replace(",", ", vcc,", 1)]
    found = re.fullmatch(r"global_(load_dword v\d+|store_dword) ?,? ?(v\d+), (v\d+, )?s\[(\d):(\d)\]", line)
    if found is None:
        return [line]
    what, offset, data, low, high = found.groups()
    address = [f"v_mov_b32 v11, s{high}", f"v_add_u32 v10, vcc, s{low}, {offset}", "v_addc_u32 v11, vcc, 0, v11, vcc"]
    flat = f"flat_{what}, v[10:11]" if data is None else f"flat_{what} v[10:11], {data.rstrip(', ')}"
    return [*address, flat]


_FRAME = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
.amdhsa_user_sgpr_kernarg_segment_ptr 1
.amdhsa_next_free_vgpr 64
.amdhsa_next_free_sgpr 96
.amdhsa_group_segment_fixed_size {lds}
{mode}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {{.name: a, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global, .type_name: 'uint*'}}
      - {{.name: b, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global, .type_name: 'uint*'}}
...
.end_amdgpu_metadata
"""


def translated(trials: list[Trial], target: str, mode: str) -> Any:
    """What the simulated chip makes of the trials: u32[trial][COUNT + 1][LANES]."""
    import tempfile
    from pathlib import Path

    import headwater

    text = kernel_text(trials, target, mode)
    if TRAITS[ISA_OF_TARGET[target]].has_unified_registers:
        text = text.replace(".amdhsa_next_free_vgpr 64", ".amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 64")
    code = assemble(text, "trials.s", target).code
    regions = np.zeros((len(trials), REGION_BYTES // 4), np.uint32)
    for n, trial in enumerate(trials):
        regions[n, : COUNT + 8] = trial.scalars
        regions[n, 32:] = trial.vectors.reshape(-1)
    results = np.zeros((len(trials), RESULT_BYTES // 4), np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.hsaco"
        path.write_bytes(code)
        program = headwater.compile(path, device=CHIPS[target])
        program.k[(LANES,), (LANES,)](regions.reshape(-1), results.reshape(-1))
    return results.reshape(len(trials), COUNT + 1, LANES)


def interpreted(trial: Trial, target: str, mode: str) -> Any:
    """What the interpreter makes of a trial, in the same form."""
    memory = FlatMemory()
    lds = LocalMemory("LDS", bytearray(np.tile(np.arange(64, dtype=np.uint32) * 4, LDS_BYTES // 256).tobytes()))
    wave = Wave(Memories(memory, lds, PrivateMemory(memory, 0, 0)), ISA_OF_TARGET[target], mode=MODE_BITS[mode])
    wave.vectors[FIRST : FIRST + COUNT] = trial.vectors
    wave.scalars[FIRST : FIRST + COUNT] = trial.scalars[:COUNT]
    for at, register in ((COUNT, VCC), (COUNT + 1, VCC + 1), (COUNT + 2, EXEC), (COUNT + 3, EXEC + 1), (COUNT + 4, M0)):
        wave.scalars[register] = trial.scalars[at]
    wave.scc = bool(trial.scalars[COUNT + 5] & 1)
    step(wave, trial.instruction)
    result = np.zeros((COUNT + 1, LANES), np.uint32)
    result[:COUNT] = wave.vectors[FIRST : FIRST + COUNT]
    total = np.zeros(LANES, np.uint32)
    for words in np.frombuffer(bytes(lds.data), np.uint32).reshape(-1, LANES):
        total = (total & np.uint32(0xFFFFFF)) * np.uint32(7) + words
    scalars = [*wave.scalars[FIRST : FIRST + COUNT], *wave.scalars[[VCC, VCC + 1, EXEC, EXEC + 1, M0]], int(wave.scc)]
    result[COUNT] = total
    result[COUNT, :32] = 0
    result[COUNT, : len(scalars)] = scalars
    return result


def differences(trial: Trial, got: Any, want: Any, isa: str) -> str:
    """What differs, in words; an empty string if nothing does."""
    got, want = got.copy(), want.copy()
    got[COUNT, COUNT + 6 : 32] = want[COUNT, COUNT + 6 : 32]
    different = got != want
    types = semantics(trial.instruction.row).types
    result = types.get("D", types.get("DATA", ""))
    kind = next((o.type for o in trial.instruction.row.operands if o.name == "D"), "")
    if is_float(result) or kind == "v2f16":
        different &= ~_nans(got, want, "f16" if kind == "v2f16" else result)
    if not different.any():
        return ""
    register, lane = (int(x[0]) for x in np.nonzero(different))
    if register == COUNT:
        names = [*(f"s{FIRST + n}" for n in range(COUNT)), "vcc_lo", "vcc_hi", "exec_lo", "exec_hi", "m0", "scc"]
        where = names[lane] if lane < len(names) else f"LDS (lane {lane})"
    else:
        where = f"v{FIRST + register}, lane {lane}"
    operands = ", ".join(
        f"{s.name}={_shown(trial, s.value, lane)}" for s in trial.instruction.sources if hasattr(s.value, "file")
    )
    return (
        f"{printed(trial.instruction, isa)}  [{trial.code.hex(' ', 4)}]: {where} is {int(got[register, lane]):x} "
        f"translated, {int(want[register, lane]):x} interpreted; {operands}"
    )


def _shown(trial: Trial, register: Any, lane: int) -> str:
    index = register.index - FIRST
    if not 0 <= index < COUNT:
        return f"{register.file}{register.index}"
    words = [
        int(trial.vectors[index + n, lane] if register.file == "v" else trial.scalars[index + n])
        for n in range(register.dwords)
    ]
    return ".".join(f"{w:x}" for w in reversed(words))


def _nans(got: Any, want: Any, type_: str) -> Any:
    """Where both are NaNs, as halves, singles or doubles in pairs of registers."""
    if type_ == "f16":
        parts = [x.view(np.uint16).reshape(*x.shape, 2) for x in (got, want)]
        both = np.isnan(parts[0].view(np.float16)) & np.isnan(parts[1].view(np.float16))
        return np.all(both | (parts[0] == parts[1]), axis=-1)
    if type_ == "f32":
        return np.isnan(got.view(np.float32)) & np.isnan(want.view(np.float32))
    found = np.zeros(got.shape, bool)
    for n in range(0, COUNT, 2):
        doubles = [x[n].astype(np.uint64) | x[n + 1].astype(np.uint64) << np.uint64(32) for x in (got, want)]
        both = np.isnan(doubles[0].view(np.float64)) & np.isnan(doubles[1].view(np.float64))
        found[n] = found[n + 1] = both
    return found


def check(
    target: str,
    count: int,
    seed: int,
    mode: str = "default",
    chosen: Iterable[str] = (),
    batch: int = 100,
    on_line: Callable[[str], None] | None = None,
) -> list[str]:
    """Run ``count`` random instructions, the rows in turn, or only ``chosen`` ones."""
    isa = ISA_OF_TARGET[target]
    rng, values = random.Random(seed), np.random.default_rng(seed)
    wanted = set(chosen)
    found = [r for r in rows(isa) if usable(r, isa) and (not wanted or r.name in wanted)]
    rng.shuffle(found)
    lines: list[str] = []
    trials: list[Trial] = []
    for n in range(count):
        trial = make_trial(found[n % len(found)], isa, rng, values)
        if trial is not None:
            trials.append(trial)
        if trials and (len(trials) == batch or n == count - 1):
            for line in compared(trials, target, mode):
                lines.append(line)
                if on_line is not None:
                    on_line(line)
            trials = []
    return lines


def compared(trials: list[Trial], target: str, mode: str) -> list[str]:
    """What differs; where the translator fails for one trial, that is reported and the others are tried without it."""
    try:
        results = translated(trials, target, mode)
    except HeadwaterError as error:
        if len(trials) == 1:
            return [f"{printed(trials[0].instruction, ISA_OF_TARGET[target])}: {error}"]
        half = len(trials) // 2
        return [*compared(trials[:half], target, mode), *compared(trials[half:], target, mode)]
    found = [
        differences(one, got, interpreted(one, target, mode), ISA_OF_TARGET[target])
        for one, got in zip(trials, results, strict=True)
    ]
    return [line for line in found if line]


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.isa_instructions", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="instructions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="gfx900", choices=CHIPS)
    parser.add_argument("--mode", default="default", choices=MODES)
    parser.add_argument("--rows", default="", help="names, with commas between them")
    options = parser.parse_args(arguments)
    names = [r for r in options.rows.split(",") if r]
    lines = check(
        options.target, options.count, options.seed, options.mode, names, on_line=lambda x: print(x, flush=True)
    )
    print(f"{options.count} instructions, {len(lines)} differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

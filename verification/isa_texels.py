"""Input: random image and formatted buffer instructions. Output: what translator and reference interpreter disagree
about.

    python -m verification.isa_texels --count 2000 --seed 1 [--target gfx900] [--rows image_sample_l,…]

Each instruction is encoded at random and runs with random descriptors (every data and number format, dst_sel, type of
image, levels, address mode, filter), coordinates, EXEC and memory: many of them in one kernel, as machine code on a
simulated chip, and one by one in the interpreter. Results and memory have to agree, but the bits of NaNs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwater.base.arrays import address, aligned_bytes
from headwater.chips.gcn_isas import ISA_OF_TARGET, TRAITS
from headwater.emulate.gcn.reference import step
from headwater.emulate.gcn.reference_registers import Wave
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.errors import HeadwaterError, KernelFault
from headwater.isa.gcn import resources
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.encodings import layouts
from headwater.isa.gcn.model import EXEC, Instruction, Row
from headwater.isa.gcn.printer import text as printed
from headwater.isa.gcn.table import rows
from headwater.isa.gcn.typed import untyped
from headwater.opencl.gcn_build import assemble
from verification.isa_instructions import _FRAME, CHIPS as NEWER_CHIPS, MODES, _for_gfx8, _packed, _prefix

CHIPS = {"gfx701": "r9-290x", **NEWER_CHIPS}
RESOURCE, SAMPLER, SOFFSET, EXEC_AT = 16, 24, 28, 30
"""Scalar registers."""
ADDRESS, DATA, VECTORS = 16, 28, 17
"""Vector registers: twelve of the address, five of data."""
TEXEL_BYTES = 1 << 16
REGION_BYTES = 256 + VECTORS * LANES * 4
RESULT_BYTES = 5 * LANES * 4
_FLOATS = [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"), 0.499999, 0.0625]


@dataclass(frozen=True)
class Trial:
    """An instruction and what it runs on: the descriptor without its address, in scalars; vectors; memory."""

    code: bytes
    instruction: Instruction
    scalars: Any  # u32[16]: s16 …
    vectors: Any  # u32[VECTORS][LANES]
    memory: Any  # u8[TEXEL_BYTES]


def usable(row: Row, isa: str) -> bool:
    """Whether it is an image's or a formatted buffer's instruction."""
    return isa in row.opcodes and (row.encoding == "MIMG" or "format" in row.flags)


def _dst_sel(rng: random.Random) -> dict[str, int]:
    if rng.random() < 0.5:
        chosen = [4, 5, 6, 7]
    else:
        chosen = [rng.choice([0, 1, 4, 5, 6, 7]) for _ in range(4)]
    return {f"dst_sel_{axis}": value for axis, value in zip("xyzw", chosen, strict=True)}


def _format(rng: random.Random, *, buffer: bool, isa: str) -> tuple[int, int]:
    data = rng.choice([n for n in resources.DATA_FORMATS if not buffer or n < 15])
    name = resources.DATA_FORMATS[data].name
    kinds = [0, 1, 2, 3, 4, 5, 7]
    if TRAITS[isa].has_signed_ogl_formats:
        kinds.append(resources.SNORM_OGL)
    if not buffer and set(resources.DATA_FORMATS[data].widths) == {8}:
        kinds += [resources.SRGB] * 2
    if name == "5_9_9_9":
        kinds = [resources.FLOAT]
    return data, rng.choice(kinds)


def make_trial(row: Row, isa: str, rng: random.Random, values: np.random.Generator) -> Trial | None:
    """A random trial of a row; None where what came out is no instruction, or asks for what is not emulated."""
    fields = layouts(isa)[row.encoding]
    image = row.encoding == "MIMG"
    encoded: dict[str, int] = {"op": row.opcodes[isa], "vaddr": ADDRESS, "vdata": DATA, "srsrc": RESOURCE // 4}
    data, kind = _format(rng, buffer=not image, isa=isa)
    scalars = np.zeros(16, np.uint32)
    floats = [rng.choice(_FLOATS) if rng.random() < 0.1 else rng.uniform(-1.5, 2.5) for _ in range(4096)]
    pool = np.array(floats, np.float32)
    vectors = np.frombuffer(values.bytes(VECTORS * LANES * 4), np.uint32).reshape(VECTORS, LANES).copy()
    memory = np.frombuffer(values.bytes(TEXEL_BYTES), np.uint8).copy()
    if image:
        words = _image(row, isa, rng, encoded, data, kind)
        encoded["ssamp"] = SAMPLER // 4
        sampler = _sampler(rng)
        scalars[8:12] = [sampler >> 32 * n & 0xFFFFFFFF for n in range(4)]
        sampled = "SAMP" in {o.name for o in row.operands}
        scale = rng.choice([1.0, 1.0, 12.0])
        if encoded.get("a16"):
            with np.errstate(over="ignore"):
                halves = (pool * np.float32(scale)).astype(np.float16).view(np.uint16).astype(np.uint32)
            whole = values.integers(0, 12, (12, LANES, 2)).astype(np.uint32)
            some = halves[values.integers(0, len(halves), (12, LANES, 2))] if sampled else whole
            vectors[:12] = some[..., 0] | some[..., 1] << np.uint32(16)
        elif sampled:
            vectors[:12] = (pool[values.integers(0, len(pool), (12, LANES))] * np.float32(scale)).view(np.uint32)
            for n, found in enumerate(("offset", "bias", "compare")):
                if found in row.semantics and n == 0:
                    vectors[0] = values.integers(0, 1 << 32, LANES).astype(np.uint32)
            if rng.random() < 0.5:  # near each other: small levels of detail
                vectors[2:8] = (vectors[2:8].view(np.float32) * np.float32(0.05)).view(np.uint32)
        else:
            limit = rng.choice([3, 12, 14])
            vectors[:12] = values.integers(0, limit, (12, LANES))
            vectors[1:3] = np.where(values.random((2, LANES)) < 0.5, vectors[1:3] % 4, vectors[1:3])
            wild = values.random((12, LANES)) < 0.02
            vectors[:12][wild] = 0xFFFFFFFF
    else:
        words = _buffer(row, isa, rng, encoded, data, kind)
        encoded["soffset"] = rng.choice([SOFFSET, 128, 132])
        scalars[SOFFSET - RESOURCE] = rng.choice([0, 16, 64])
        vectors[:2] = values.integers(0, rng.choice([8, 64, 300]), (2, LANES))
        if encoded.get("addr64"):
            vectors[1] = 0
    if values.random() < 0.3:
        vectors[DATA - ADDRESS :] = pool[values.integers(0, len(pool), (5, LANES))].view(np.uint32)
    scalars[: 8 if image else 4] = [words >> 32 * n & 0xFFFFFFFF for n in range(8 if image else 4)]
    scalars[EXEC_AT - RESOURCE : EXEC_AT - RESOURCE + 2] = rng.choice(
        [[0xFFFFFFFF, 0xFFFFFFFF], [rng.getrandbits(32), rng.getrandbits(32)]]
    )
    encoded = {name: value for name, value in encoded.items() if name in fields}
    code = _packed(row.encoding, isa, encoded, _prefix(row.encoding, isa)).to_bytes(8, "little")
    try:
        instruction = decode(code + bytes(8), 0, isa)
    except HeadwaterError:
        return None
    if untyped(instruction, isa) is not instruction:
        return None  # one that converts nothing is run as an untyped one, which is not held to the descriptor's size
    return Trial(code, instruction, scalars, vectors, memory)


def _image(row: Row, isa: str, rng: random.Random, encoded: dict[str, int], data: int, kind: int) -> int:
    """A T# without its address; fields of the instruction are put into ``encoded``."""
    types = [resources.IMAGE_1D, resources.IMAGE_2D, resources.IMAGE_2D, resources.IMAGE_3D, resources.IMAGE_CUBE]
    types += [resources.IMAGE_1D_ARRAY, resources.IMAGE_2D_ARRAY]
    chosen = rng.choice(types)
    atomic = "atomic" in row.flags
    wide = atomic and rng.random() < 0.4 and row.name != "image_atomic_fcmpswap"
    if atomic:
        data, kind = (11, 4) if wide else (4, 4)
    width, height, slices = rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 3)
    levels = rng.choice([1, 1, 2, 4])
    pitch = rng.randint(width, 16)
    values = {
        "data_format": data, "num_format": kind, "width": width - 1, "height": height - 1, "type": chosen,
        "tiling": resources.linear_tiling(isa), "last_level": levels - 1, "base_level": rng.choice([0, 0, levels - 1]),
        "pitch": pitch - 1, "min_lod": rng.choice([0, 0, 100]),
        **_dst_sel(rng),
    }  # fmt: skip
    if chosen == resources.IMAGE_3D or TRAITS[isa].has_swizzle_modes:
        values["depth"] = slices - 1
    if chosen >= resources.IMAGE_CUBE:
        values["base_array"] = rng.choice([0, 0, slices - 1])
        if not TRAITS[isa].has_swizzle_modes:
            values["last_array"] = slices - 1
    layered = chosen in (resources.IMAGE_1D_ARRAY, resources.IMAGE_2D_ARRAY, resources.IMAGE_CUBE)
    encoded["dmask"] = rng.randint(0, 15)
    if "gather" in row.flags:
        encoded["dmask"] = 1 << rng.randrange(4)
    if atomic:
        swap = 2 if "cmpswap" in row.name else 1
        encoded["dmask"] = (1 << swap * (2 if wide else 1)) - 1
        encoded["glc"] = rng.getrandbits(1)
    encoded["da"] = int(layered if rng.random() < 0.9 else not layered)
    encoded["unorm"] = int(rng.random() < 0.3)
    fields = layouts(isa)["MIMG"]
    if "tfe" in fields and "store" not in row.flags:
        encoded["tfe"] = int(rng.random() < 0.1)
    if not atomic and "store" not in row.flags:
        encoded["lwe"] = int(rng.random() < 0.1)
    if "d16" in fields and not atomic and "pck" not in row.name and "info" not in row.name and "lod" not in row.name:
        encoded["d16"] = int(rng.random() < 0.2)
    if "a16" in fields:
        encoded["a16"] = int(rng.random() < 0.15)
    if "r128" in fields and rng.random() < 0.1 and chosen in (resources.IMAGE_1D, resources.IMAGE_2D):
        encoded["r128"] = 1  # the descriptor's upper half is not read
    return resources.made(resources.image_fields(isa), values)


def _sampler(rng: random.Random) -> int:
    return resources.made(
        resources.SAMPLER,
        {
            **{f"clamp_{axis}": rng.randrange(8) for axis in "xyz"},
            "depth_compare": rng.randrange(8),
            "unnormalized": int(rng.random() < 0.2),
            "filter_mode": rng.choice([0, 0, 0, 1, 2]),
            "min_lod": rng.choice([0, 0, 300]),
            "max_lod": rng.choice([4095, 4095, 0, 400]),
            "lod_bias": rng.choice([0, 0, 128, (1 << 14) - 200]),
            "mag_filter": rng.randrange(2),
            "min_filter": rng.randrange(2),
            "z_filter": rng.randrange(3),
            "mip_filter": rng.randrange(3),
            "border": rng.randrange(3),
        },
    )


def _buffer(row: Row, isa: str, rng: random.Random, encoded: dict[str, int], data: int, kind: int) -> int:
    """A V# without its address."""
    typed = row.encoding == "MTBUF"
    encoded |= {"offset": rng.choice([0, 0, 4, 16, 100]), "offen": rng.getrandbits(1), "idxen": rng.getrandbits(1)}
    if typed:
        encoded |= {"dfmt": data, "nfmt": kind}
    if "addr64" in layouts(isa)[row.encoding] and rng.random() < 0.2:
        encoded |= {"addr64": 1, "offen": 0, "idxen": 0}
    stride = rng.choice([0, 4, 16, 32, 64])
    return resources.made(
        resources.BUFFER,
        {
            "stride": stride, "swizzle": int(rng.random() < 0.3), "records": rng.choice([0, 7, 50, 300, 4096]),
            "num_format": rng.randrange(8) if typed else kind, "data_format": 1 if typed else data,
            "element_size": 0 if TRAITS[isa].has_swizzle_modes else rng.randrange(4),
            "index_stride": rng.randrange(4),
            "add_tid": int(rng.random() < 0.1 and typed), **_dst_sel(rng),
        },
    )  # fmt: skip


# ---- running ---------------------------------------------------------------------------------------------------------


def kernel_text(trials: list[Trial], target: str) -> str:
    """Assembly of a kernel that runs the trials one after the other, in a loop that loads and stores the registers."""
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_load_dwordx2 s[8:9], s[0:1], 0x10", "v_lshlrev_b32 v0, 2, v0"]
    lines += ["s_waitcnt lgkmcnt(0)", "s_mov_b32 s12, 0", "again:", "s_load_dwordx16 s[16:31], s[4:5], 0x0"]
    lines += ["v_add_u32 v1, 0x100, v0"]
    for v in range(ADDRESS, ADDRESS + VECTORS):
        lines += [f"global_load_dword v{v}, v1, s[4:5]", "v_add_u32 v1, 0x100, v1"]
    lines += [f"s_add_u32 s4, s4, {REGION_BYTES}", "s_addc_u32 s5, s5, 0", "s_waitcnt vmcnt(0) lgkmcnt(0)"]
    lines += ["s_lshr_b64 s[14:15], s[8:9], 8"]
    for n in range(len(trials)):
        lines += [f"s_cmp_eq_u32 s12, {n}", f"s_cbranch_scc1 trial{n}"]
    lines += ["s_endpgm"]
    for n, trial in enumerate(trials):
        low, high = (14, 15) if trial.instruction.row.encoding == "MIMG" else (8, 9)
        words = [int.from_bytes(trial.code[at : at + 4], "little") for at in range(0, len(trial.code), 4)]
        lines += [f"trial{n}:", f"s_or_b32 s16, s16, s{low}", f"s_or_b32 s17, s17, s{high}", "s_mov_b64 exec, s[30:31]"]
        lines += [*(f".long 0x{word:x}" for word in words), "s_branch after"]
    lines += ["after:", "s_mov_b64 exec, -1", "s_waitcnt vmcnt(0) lgkmcnt(0)", "v_mov_b32 v1, v0"]
    for v in range(DATA, DATA + 5):
        lines += [f"global_store_dword v1, v{v}, s[6:7]", "v_add_u32 v1, 0x100, v1"]
    lines += [f"s_add_u32 s6, s6, {RESULT_BYTES}", "s_addc_u32 s7, s7, 0"]
    lines += [f"s_add_u32 s8, s8, {TEXEL_BYTES}", "s_addc_u32 s9, s9, 0", "s_add_u32 s12, s12, 1"]
    lines += [f"s_cmp_lt_u32 s12, {len(trials)}", "s_cbranch_scc1 again"]
    if target in ("gfx701", "gfx803"):
        lines = [old for line in lines for old in _for_gfx8(line)]
    if target == "gfx701":  # there scalar loads' offsets are in dwords, and additions have older names
        lines = [line.replace("s[0:1], 0x10", "s[0:1], 0x4").replace("v_add_u32", "v_add_i32") for line in lines]
    text = _FRAME.format(target=target, body="\n".join(lines), mode=MODES["default"], lds=0)
    third = "      - {.name: c, .size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global, "
    third += ".type_name: 'uchar*'}"
    text = text.replace(".kernarg_segment_size: 16", ".kernarg_segment_size: 24")
    if target == "gfx90a":
        text = text.replace(".amdhsa_next_free_vgpr 64", ".amdhsa_next_free_vgpr 64\n.amdhsa_accum_offset 64")
    return text.replace("...\n.end_amdgpu_metadata", f"{third}\n...\n.end_amdgpu_metadata")


def translated(trials: list[Trial], target: str) -> tuple[Any, Any]:
    """What the simulated chip makes of the trials: u32[trial][5][LANES], and memory."""
    import headwater

    code = assemble(kernel_text(trials, target), "trials.s", target).code
    regions = np.zeros((len(trials), REGION_BYTES // 4), np.uint32)
    for n, trial in enumerate(trials):
        regions[n, :16] = trial.scalars
        regions[n, 64:] = trial.vectors.reshape(-1)
    results = np.zeros((len(trials), RESULT_BYTES // 4), np.uint32)
    memory = aligned_bytes(TEXEL_BYTES * len(trials), 4096)
    for n, trial in enumerate(trials):
        memory[n * TEXEL_BYTES : (n + 1) * TEXEL_BYTES] = trial.memory
    assert address(memory) % 4096 == 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.hsaco"
        path.write_bytes(code)
        program = headwater.compile(path, device=CHIPS[target])
        program.k[(LANES,), (LANES,)](regions.reshape(-1), results.reshape(-1), memory)
    return results.reshape(len(trials), 5, LANES), memory.reshape(len(trials), TEXEL_BYTES)


def interpreted(trial: Trial, target: str) -> tuple[Any, Any]:
    """What the interpreter makes of a trial, in the same form; KernelFault for what is not emulated."""
    flat = FlatMemory()
    memory = trial.memory.copy()
    base = flat.add(0x7_0000_0000, memoryview(memory))
    wave = Wave(Memories(flat, LocalMemory("LDS", bytearray()), PrivateMemory(flat, 0, 0)), ISA_OF_TARGET[target])
    wave.vectors[ADDRESS : ADDRESS + VECTORS] = trial.vectors
    wave.scalars[RESOURCE : RESOURCE + 16] = trial.scalars
    where = base >> 8 if trial.instruction.row.encoding == "MIMG" else base
    wave.scalars[RESOURCE] |= where & 0xFFFFFFFF
    wave.scalars[RESOURCE + 1] |= where >> 32
    wave.scalars[EXEC : EXEC + 2] = trial.scalars[EXEC_AT - RESOURCE : EXEC_AT - RESOURCE + 2]
    step(wave, trial.instruction)
    return wave.vectors[DATA : DATA + 5].copy(), memory


def differences(trial: Trial, got: tuple[Any, Any], want: tuple[Any, Any], isa: str) -> str:
    """What differs, in words; an empty string if nothing does."""
    different = (got[0] != want[0]) & ~_nans(got[0], want[0])
    shown = f"{printed(trial.instruction, isa)} [{trial.code.hex(' ', 4)}] of {_described(trial, isa)}"
    if different.any():
        register, lane = (int(x[0]) for x in np.nonzero(different))
        operands = " ".join(f"{value:x}" for value in trial.vectors[:8, lane])
        values = f"{int(got[0][register, lane]):x} translated, {int(want[0][register, lane]):x} interpreted"
        return f"{shown}: v{DATA + register}, lane {lane} is {values}; address {operands}"
    changed = np.flatnonzero(got[1] != want[1])
    if len(changed):
        at = int(changed[0])
        return f"{shown}: byte {at} of memory is {got[1][at]:x} translated, {want[1][at]:x} interpreted"
    return ""


def _described(trial: Trial, isa: str) -> str:
    """A trial's descriptors in words."""
    words = sum(int(word) << 32 * n for n, word in enumerate(trial.scalars[:8]))
    fields = resources.image_fields(isa) if trial.instruction.row.encoding == "MIMG" else resources.BUFFER
    shown = [f"{name}={resources.get(words, fields, name)}" for name in fields]
    if trial.instruction.source("SAMP") is not None:
        sampler = sum(int(word) << 32 * n for n, word in enumerate(trial.scalars[8:12]))
        shown += [f"s.{name}={resources.get(sampler, resources.SAMPLER, name)}" for name in resources.SAMPLER]
    return " ".join(part for part in shown if not part.endswith("=0"))


def _nans(got: Any, want: Any) -> Any:
    """Where both are NaNs, as floats or as halves."""
    single = np.isnan(got.view(np.float32)) & np.isnan(want.view(np.float32))
    halves = [x.view(np.uint16).reshape(*x.shape, 2) for x in (got, want)]
    both = np.isnan(halves[0].view(np.float16)) & np.isnan(halves[1].view(np.float16))
    return single | np.all(both | (halves[0] == halves[1]), axis=-1)


def check(
    target: str, count: int, seed: int, chosen: Iterable[str] = (), on_line: Callable[[str], None] | None = None
) -> tuple[int, list[str]]:
    """Run ``count`` random instructions, the rows in turn, or only ``chosen`` ones: how many could be tried, and what
    differs."""
    isa = ISA_OF_TARGET[target]
    rng, values = random.Random(seed), np.random.default_rng(seed)
    wanted = set(chosen)
    found = [r for r in rows(isa) if usable(r, isa) and (not wanted or r.name in wanted)]
    rng.shuffle(found)
    lines: list[str] = []
    ready: list[tuple[Trial, tuple[Any, Any]]] = []
    tried = 0
    for n in range(count):
        trial = make_trial(found[n % len(found)], isa, rng, values)
        if trial is not None:
            try:
                ready.append((trial, interpreted(trial, target)))
            except KernelFault:
                pass
        if ready and (len(ready) == 100 or n == count - 1):
            results, memory = translated([trial for trial, _ in ready], target)
            for k, (one, want) in enumerate(ready):
                line = differences(one, (results[k], memory[k]), want, isa)
                if line:
                    lines.append(line)
                    if on_line is not None:
                        on_line(line)
            tried += len(ready)
            ready = []
    return tried, lines


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.isa_texels", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="instructions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="gfx900", choices=CHIPS)
    parser.add_argument("--rows", default="", help="names, with commas between them")
    options = parser.parse_args(arguments)
    names = [r for r in options.rows.split(",") if r]
    tried, lines = check(options.target, options.count, options.seed, names, lambda x: print(x, flush=True))
    print(f"{tried} instructions, {len(lines)} differ")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

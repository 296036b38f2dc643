"""Input: assembly. Output: what a wavefront of the translated code and one of the reference interpreter leave in
memory.

A snippet finds random dwords in v4…v19 and s8…s15, v0 is the lane's number, and leaves results in v20…v51. Both ways load and
store them by the same instructions, so that the test is of the snippet between.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from pathlib import Path

import numpy as np
from gcn_snippets import code_of, make_wave, run_all

from headwater.base.arrays import address, aligned_bytes
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.emulate.gcn.program import read_program
from headwater.emulate.gcn.translate import translate
from headwater.emulate.gcn.translator import Options
from headwater.emulate.wave import layout
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory
from headwater.emulate.wave.support import has_avx512, support
from headwater.isa.gcn.decode import decode
from headwater.isa.semantics.model import Mode
from headwater.native.launch_block import BLOCK
from headwater.native.shared import link_shared
from headwater.native.worker import call_concurrently

LANES = layout.LANES
LDS_BYTES = 4096
INPUT_BYTES, RESULT_BYTES = 8192, 16384
SCALARS_AT = 4096
PRIVATE_BUFFER, PRIVATE_BYTES = 16, 64
_PRIVATE_WORDS = [0, 1 << 31, 0xFFFFFFFF, 3 << 21 | 1 << 23]
"""Of the descriptor, without the address: swizzled, elements of 4 bytes, lanes are counted."""

_LOADS = """
v_lshlrev_b32 v1, 4, v0
global_load_dwordx4 v[4:7], v1, s[0:1]
global_load_dwordx4 v[8:11], v1, s[0:1] offset:1024
global_load_dwordx4 v[12:15], v1, s[0:1] offset:2048
global_load_dwordx4 v[16:19], v1, s[0:1] offset:3072
s_load_dwordx8 s[8:15], s[0:1], 0x1000
s_waitcnt vmcnt(0) lgkmcnt(0)
"""


_OLDER = "s_mov_b32 s6, -1\ns_mov_b32 s7, 0x27000\n"
"""The rest of descriptors of all memory: before gfx9 loads and stores go by those."""


def _fitting(text: str, target: str) -> str:
    """Loads and stores as the generation has them."""
    if target.startswith("gfx9"):
        return text
    text = re.sub(r"global_load_dwordx4 (\S+), v1, s\[0:1\]", r"buffer_load_dwordx4 \1, v1, s[4:7], 0 offen", text)
    text = re.sub(r"global_store_dwordx4 v1, (\S+), s\[2:3\]", r"buffer_store_dwordx4 \1, v1, s[4:7], 0 offen", text)
    if target < "gfx8":
        text = text.replace(
            "s_load_dwordx8 s[8:15], s[0:1], 0x1000", "s_movk_i32 s8, 0x1000\ns_load_dwordx8 s[8:15], s[0:1], s8"
        )
    return text.replace("v_add_u32 v1, 0x1000, v1", f"v_add_{'u32' if target >= 'gfx8' else 'i32'} v1, vcc, 0x1000, v1")


def _stores() -> str:
    lines = ["s_waitcnt vmcnt(0) lgkmcnt(0)"]
    for quad in range(8):
        if quad == 4:
            lines.append("v_add_u32 v1, 0x1000, v1")
        lines.append(f"global_store_dwordx4 v1, v[{20 + 4 * quad}:{23 + 4 * quad}], s[2:3] offset:{1024 * (quad % 4)}")
    return "\n".join(lines)


class Fault(AssertionError):
    """The translated code ended in a fault."""


def both(
    snippet: str,
    inputs: np.ndarray,
    lanes: int = LANES,
    target: str = "gfx900",
    modules: int = 1,
    *,
    private_registers: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Results (register, lane) of the translated code, and of the reference interpreter, for ``lanes`` active lanes.

    ``modules``: in how many it is compiled at most. ``private_registers``: s16…s19 describe the private memory."""
    text = whole(snippet, target)
    found = translated(text, inputs, lanes, target, modules, private_registers=private_registers)
    return found, referred(text, inputs, lanes, target, private_registers=private_registers)


def whole(snippet: str, target: str) -> str:
    """A snippet with what loads its registers and stores its results."""
    clear = "\n".join(f"v_mov_b32 v{n}, 0" for n in range(20, 52))
    loads, stores = _fitting(_LOADS, target), _fitting(_stores(), target)
    if not target.startswith("gfx9"):
        loads = f"s_mov_b64 s[4:5], s[0:1]\n{_OLDER}{loads}"
        stores = f"s_mov_b64 s[4:5], s[2:3]\n{_OLDER}{stores}"
    return f"{loads}\n{clear}\n{snippet}\n{stores}"


def random_inputs(seed: int, specials: tuple[int, ...]) -> np.ndarray:
    """Random dwords, every fourth one of the ``specials``."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 32, INPUT_BYTES // 4, dtype=np.uint64).astype(np.uint32)
    some = rng.random(values.size) < 0.25
    values[some] = rng.choice(np.array(specials, np.uint32), some.sum())
    return values


def differing(found: np.ndarray, wanted: np.ndarray, kind: type) -> list[str]:
    """Registers that differ in a bit, NaNs of the kind apart, which are all alike."""
    if kind is np.float64:
        pairs = [np.stack([x[0::2], x[1::2]], axis=-1).copy().view(kind)[..., 0] for x in (found, wanted)]
        equal = (found == wanted) | np.repeat(np.isnan(pairs[0]) & np.isnan(pairs[1]), 2, axis=0)
    else:
        element = np.dtype(f"u{np.dtype(kind).itemsize}")
        parts = [np.ascontiguousarray(x) for x in (found, wanted)]
        nan = np.isnan(parts[0].view(kind)) & np.isnan(parts[1].view(kind))
        equal = (parts[0].view(element) == parts[1].view(element)) | nan
    return [f"v{20 + register}" for register in range(32) if not equal[register].all()]


def _registers(memory: np.ndarray) -> np.ndarray:
    """Results as they were stored, four registers of a lane side by side, as (register, lane)."""
    quads = memory.view(np.uint32)[: 8 * LANES * 4].reshape(8, LANES, 4)
    return quads.transpose(0, 2, 1).reshape(32, LANES)


def referred(text: str, inputs: np.ndarray, lanes: int, target: str, *, private_registers: bool = False) -> np.ndarray:
    memory = FlatMemory()
    source = memory.allocate(INPUT_BYTES)
    result = memory.allocate(RESULT_BYTES)
    memory.write(source, inputs.tobytes())
    memory.write(result, bytes(RESULT_BYTES))
    wave = make_wave(target, memory, LocalMemory("LDS", bytearray(LDS_BYTES)))
    wave.set_pair(0, source)
    wave.set_pair(2, result)
    wave.set_pair(126, (1 << lanes) - 1)
    if private_registers:
        wave.set_pair(PRIVATE_BUFFER, wave.memories.private.start | _PRIVATE_WORDS[1] << 32)
        wave.set_pair(PRIVATE_BUFFER + 2, _PRIVATE_WORDS[2] | _PRIVATE_WORDS[3] << 32)
    run_all(text, [wave], target)
    return _registers(np.frombuffer(bytes(memory.read(result, RESULT_BYTES)), np.uint8))


def translated(
    text: str, inputs: np.ndarray, lanes: int, target: str, modules: int = 1, *, private_registers: bool = False
) -> np.ndarray:
    code = code_of(text, target)
    isa = ISA_OF_TARGET[target]
    program = read_program(lambda at: decode(code, at, isa), 0, isa, lambda at: 0 <= at < len(code))
    options = Options(full=lanes == LANES, avx512=has_avx512())
    made = translate(program, Mode(), options, private_registers=private_registers)
    calls = [(module, made.instruction_count) for module in made.modules(modules)]
    native = call_concurrently("emulate.wave.codegen:compile_wave", calls)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wave.so"
        path.write_bytes(link_shared(*native, support()))
        entry = ctypes.CDLL(str(path)).hw_entry
    source, result = aligned_bytes(INPUT_BYTES), aligned_bytes(RESULT_BYTES)
    source[:], result[:] = inputs.view(np.uint8), 0
    ends = [(address(m), address(m) + m.nbytes, layout.WRITABLE) for m in (source, result)]
    table = np.array(sorted(ends), np.uint64).reshape(-1)
    record = np.zeros(layout.FAULT.size_bytes // 8, np.uint64)
    pointers = [part for m in (source, result) for part in (address(m) & 0xFFFFFFFF, address(m) >> 32)]
    registers = pointers + [0] * (layout.SGPR_SLOTS - len(pointers))
    private_bytes = PRIVATE_BYTES if private_registers else 0
    if private_registers:
        registers[PRIVATE_BUFFER : PRIVATE_BUFFER + 4] = _PRIVATE_WORDS
    unused = ("kernarg", "flat_scratch", "group_info", "wave_offset")
    dispatch = layout.DISPATCH.filled(
        {
            "local": (lanes, 1, 1),
            "waves": 1,
            "frame_bytes": made.frame_bytes,
            "cache_slots": made.cache_slots,
            "sgprs": registers,
            "scratch_lane_bytes": private_bytes,
            "sgpr_private_buffer": PRIVATE_BUFFER if private_registers else -1,
            **{f"sgpr_{name}": -1 for name in unused},
            "sgpr_group_id": (-1, -1, -1),
        }
    )
    block = BLOCK.filled(
        {
            "total": 1,
            "batch": 1,
            "global_size": (lanes, 1, 1),
            "local_size": (lanes, 1, 1),
            "groups": (1, 1, 1),
            "error": address(record),
            "bounds": address(table),
            "bounds_count": 2,
            "local_bytes": LDS_BYTES,
            "dispatch": address(dispatch),
        }
    )
    scratch = aligned_bytes(layout.scratch_bytes(1, made.frame_bytes, private_bytes, made.cache_slots, LDS_BYTES))
    entry(ctypes.c_void_p(address(block)), ctypes.c_void_p(0), ctypes.c_void_p(address(scratch)))
    if record[layout.FAULT.word("kind")]:
        raise Fault(f"a fault at {int(record[layout.FAULT.word('pc')]):#x}")
    return _registers(result)

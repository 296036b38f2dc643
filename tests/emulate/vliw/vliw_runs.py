"""Input: a shader's clauses. Output: what the translated code and the reference interpreter leave in memory.

The shader finds random dwords in R2…R5, the lane's number in R0.x, and leaves results in R6…R21. What loads and stores
them is put around the clauses.
"""

from __future__ import annotations

import hashlib

import numpy as np

from headwater import chips
from headwater.emulate.vliw.bindings import RAW, Bindings
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.vliw.reference import Wave, run_group
from headwater.emulate.vliw.reference_memory import Memories, Resource
from headwater.emulate.wave.layout import LANES
from headwater.isa.vliw import table
from headwater.isa.vliw.model import LITERAL, AluGroup, AluOp, Cf, Fetch, Shader, Source
from headwater.opencl.kernels import KernelInfo
from headwater.runtime.vliw.launch import Inputs, Owner, ShaderLaunch, Sizes, View

INPUTS, RESULTS, FIRST = 4, 16, 6
"""GPRs with inputs from R2 on, with results, and the first of these."""
CHIPS = {"r600": "hd3870", "r700": "hd4870", "evergreen": "hd5870", "cayman": "hd6970"}
SPECIALS = (
    0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x7F800000, 0xFF800000,
    0x7FC00000, 0x7F7FFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 31, 32, 0x4B000000, 0x41200000, 0xC0490FDB,
)  # fmt: skip


def group(*ops: AluOp) -> AluGroup:
    """A group; its literals are in the sources."""
    return AluGroup(tuple(sorted(ops, key=lambda op: op.slot)))


def op(generation: str, name: str, slot: int, dst: int, chan: int, *sources: Source, **more: object) -> AluOp:
    """An operation by its row's name."""
    return AluOp(table.alu(generation, name), slot, sources, dst, chan, **more)  # type: ignore[arg-type]


def gpr(number: int, chan: int = 0, **more: bool) -> Source:
    """A register operand."""
    return Source(number, chan, **more)


def literal(bits: int) -> Source:
    """A literal operand."""
    return Source(LITERAL, literal=bits & 0xFFFFFFFF)


def cf(generation: str, name: str, kind: str = "CF", groups=(), fetches=(), **fields: int) -> Cf:
    """A control-flow instruction by its row's name."""
    row = table.named(generation, kind, name)
    assert row is not None, f"{generation} has no {name}"
    return Cf(row, fields, tuple(groups), tuple(fetches))


def alu(generation: str, *groups: AluGroup, name: str = "ALU", **fields: int) -> Cf:
    """An ALU clause."""
    return cf(generation, name, "CF_ALU", groups, **fields)


def around(generation: str, clauses: list[Cf]) -> Shader:
    """A shader of clauses, whose jumps count from the first of them, with what loads and stores."""
    fetch = table.named(generation, "VTX", "FETCH")
    fetches = [
        Fetch(
            fetch,
            {"src_gpr": 0, "dst_gpr": 2 + n, "dst_sel_y": 1, "dst_sel_z": 2, "dst_sel_w": 3, "data_format": 34,
             "num_format_all": 1, "offset": 16 * n, "fetch_type": 2},
        )
        for n in range(INPUTS)
    ]  # fmt: skip
    load = cf(generation, "TEX" if generation == "cayman" else "VTX", fetches=fetches)
    double = [group(op(generation, "ADD_INT", 0, 22, 0, gpr(22), gpr(22))) for _ in range(4)]
    address = alu(generation, group(op(generation, "MOV", 0, 22, 0, gpr(0))), *double)
    store = cf(
        generation, "MEM_EXPORT", "MEM", type=1, rw_gpr=FIRST, index_gpr=22, elem_size=3, comp_mask=15,
        burst_count=RESULTS - 1,
    )  # fmt: skip
    end = cf(generation, "CF_END") if generation == "cayman" else cf(generation, "NOP", end_of_program=1)
    before = [load]
    moved = [
        Cf(c.row, {**c.fields, "addr": c.fields["addr"] + len(before)}, c.groups, c.fetches)
        if "target" in c.row.flags
        else c
        for c in clauses
    ]
    return Shader(generation, (*before, *moved, address, store, end))


def random_inputs(seed: int) -> np.ndarray:
    """Random dwords (lane, register, channel), every fourth one of the special ones, every other a plain float."""
    rng = np.random.default_rng(seed)
    shape = (LANES, INPUTS, 4)
    values = rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)
    floats = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(np.float32).view(np.uint32)
    values = np.where(rng.random(shape) < 0.5, floats, values)
    return np.where(rng.random(shape) < 0.25, rng.choice(np.array(SPECIALS, np.uint32), shape), values)


def translated(shader, inputs, lanes=LANES, lds_bytes=0, extra=None, samplers=None) -> np.ndarray:
    """Results (lane, register, channel) of the native code. ``extra``: further resources, which are written in place."""
    result = np.zeros((LANES, RESULTS, 4), np.uint32)
    chip = chips.find(CHIPS[shader.generation])
    digest = hashlib.sha256(repr(shader).encode()).hexdigest()
    kernel = Kernel(lambda: shader, "cs", 32, 0, lds_bytes, 256, digest=digest)
    views = {("fetch", 0): View(inputs, stride=16 * INPUTS), ("global", 0): View(result)}
    for name, one in (extra or {}).items():
        width, height, depth = (*one.extents, 1, 1, 1)[:3]
        memory = np.frombuffer(one.data, np.uint8)
        views[name] = View(
            memory, one.format, width, height, depth, one.pitch, one.slice, len(one.extents) or 1, one.stride
        )
    sizes = Sizes((lanes, 1, 1), (lanes, 1, 1))
    bindings = Bindings({name: view.bound for name, view in views.items()}, samplers or {})
    launch = ShaderLaunch(Owner(None, KernelInfo("test", (), None)), kernel, chip, sizes, bindings)
    launch((Inputs(views),), None, 60)
    return result


def referred(shader, inputs, lanes=LANES, lds_bytes=0, extra=None, samplers=None) -> np.ndarray:
    """The same of the reference interpreter."""
    result = bytearray(LANES * RESULTS * 16)
    resources = {
        ("fetch", 0): Resource(bytearray(inputs.tobytes()), RAW, stride=16 * INPUTS),
        ("global", 0): Resource(result, RAW),
        **(extra or {}),
    }
    wave = Wave(Memories(resources, samplers=samplers or {}, lds=bytearray(lds_bytes)), 32)
    wave.begun = np.arange(LANES) < lanes
    wave.active = wave.begun.copy()
    wave.registers[0] = np.arange(LANES)
    run_group(shader, [wave])
    return np.frombuffer(bytes(result), np.uint32).reshape(LANES, RESULTS, 4)


def both(generation: str, clauses: list[Cf], inputs: np.ndarray, lanes: int = LANES) -> tuple[np.ndarray, np.ndarray]:
    """Results of both."""
    shader = around(generation, clauses)
    return translated(shader, inputs, lanes), referred(shader, inputs, lanes)

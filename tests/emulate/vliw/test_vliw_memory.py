"""Fetches of every format, samples, exports, views, LDS and scratch memory, translated and interpreted."""

import copy

import llvmlite.binding as llvm
import numpy as np
import pytest
from vliw_runs import FIRST, RESULTS, alu, around, cf, gpr, group, literal, op, random_inputs, referred, translated

from headwater.emulate.vliw.bindings import CAL_FORMATS, RAW, Bindings, Bound, Format, Sampler
from headwater.emulate.vliw.clause import Options
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.vliw.reference_memory import Resource
from headwater.emulate.vliw.translate import translate
from headwater.emulate.wave.layout import LANES
from headwater.isa.vliw import table
from headwater.isa.vliw.model import Fetch

G = "evergreen"
CLAUSE = {"TEX": "TEX", "VTX": "VTX"}


def fetch(kind, name, dst, **fields):
    select = {"dst_sel_y": 1, "dst_sel_z": 2, "dst_sel_w": 3}
    if kind == "TEX":
        select |= {"src_sel_y": 1, "src_sel_z": 2}
    return Fetch(table.named(G, kind, name), {"dst_gpr": dst, **select, **fields})


def inputs_with(*columns):
    """Inputs whose first register's channels hold these."""
    inputs = random_inputs(3)
    for n, column in enumerate(columns):
        inputs[:, 0, n] = np.asarray(column).view(np.uint32)
    return inputs


def run(clauses, inputs, extra=None, lanes=LANES, **more):
    """Results of both and the resources that each left."""
    shader = around(G, clauses)
    theirs = copy.deepcopy(extra or {})
    native = translated(shader, inputs, lanes, extra=extra, **more)
    slow = referred(shader, inputs, lanes, extra=theirs, **more)
    for name, one in (extra or {}).items():
        assert bytes(one.data) == bytes(theirs[name].data), f"{name[0]} {name[1]} differs"
    return native, slow


def equal(native, slow):
    a, b = native.view(np.float32), slow.view(np.float32)
    bad = np.argwhere((native != slow) & ~(np.isnan(a) & np.isnan(b)))
    assert not len(bad), f"{len(bad)} differ, first at lane, register, channel {bad[0]}"


def random_bytes(count, seed=0):
    return bytearray(np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8).tobytes())


VERTEX = [
    (data, number, signed)
    for data in (1, 5, 6, 7, 13, 14, 15, 16, 26, 29, 30, 31, 32, 34, 35, 44, 45, 46, 47, 48)
    for number, signed in (
        ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)) if data not in (6, 14, 16, 30, 32, 35, 46, 48) else ((0, 0),)
    )
]


@pytest.mark.parametrize("at", range(0, len(VERTEX), RESULTS))
def test_vertex_fetches_convert_formats_and_read_nothing_outside(at):
    fetches = [
        fetch("VTX", "FETCH", FIRST + n, buffer_id=1, src_gpr=2, data_format=d, num_format_all=number,
              format_comp_all=signed, fetch_type=2, offset=4 * (n % 3))
        for n, (d, number, signed) in enumerate(VERTEX[at : at + RESULTS])
    ]  # fmt: skip
    index = np.random.default_rng(at).integers(0, 70, LANES).astype(np.uint32)
    index[3], index[9] = 0xFFFFFFFF, 0x10000000
    extra = {("fetch", 1): Resource(random_bytes(1001), RAW, stride=16)}
    equal(*run([cf(G, "VTX", fetches=fetches)], inputs_with(index), extra))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_texture_loads(dimensions):
    rng = np.random.default_rng(dimensions)
    names = [*CAL_FORMATS][dimensions::4][:RESULTS]
    extents = (13, 7, 3)[:dimensions]
    extra, fetches = {}, []
    for n, name in enumerate(names):
        format_ = CAL_FORMATS[name]
        data = random_bytes(16 * 8 * 3 * format_.nbytes + 5, n)
        extra["fetch", 1 + n] = Resource(data, format_, extents, 15, 15 * 8)
        fetches.append(fetch("TEX", "LD", FIRST + n, resource_id=1 + n, src_gpr=2, offset_x=2 * (n % 3)))
    columns = [rng.integers(-2, size + 2, LANES).astype(np.int32) for size in extents]
    clauses = [cf(G, "TEX", fetches=fetches[:8]), cf(G, "TEX", fetches=fetches[8:])]
    equal(*run(clauses if fetches[8:] else clauses[:1], inputs_with(*columns), extra))


@pytest.mark.parametrize("linear", [False, True])
def test_samples(linear):
    rng = np.random.default_rng(7)
    wraps = ("clamp", "repeat", "mirror", "border")
    samplers = {
        n: Sampler(linear, (w, wraps[(n + 1) % 4], "clamp"), (0.5, 0.25, 2.0, 1.0)) for n, w in enumerate(wraps)
    }
    pixels = rng.random((9, 16, 4), dtype=np.float32)
    extra = {("fetch", 1): Resource(bytearray(pixels.tobytes()), Format(4, 32, "f"), (14, 9), 16)}
    fetches = [
        fetch("TEX", "SAMPLE", FIRST + 2 * n + unit, resource_id=1, sampler_id=n, src_gpr=2, src_sel_x=2 * unit,
              src_sel_y=2 * unit + 1, coord_type_x=unit, coord_type_y=unit, offset_y=2 * (n % 2))
        for n in range(4)
        for unit in (0, 1)
    ]  # fmt: skip
    whole = [(rng.random(LANES) * 24 - 5).astype(np.float32) for _ in range(2)]
    unit = [(rng.random(LANES) * 4 - 1.5).astype(np.float32) for _ in range(2)]
    native, slow = run([cf(G, "TEX", fetches=fetches)], inputs_with(*whole, *unit), extra, samplers=samplers)
    np.testing.assert_allclose(native.view(np.float32)[:, :8], slow.view(np.float32)[:, :8], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("mask", [15, 1, 6, 13])
def test_views_are_written_raw_and_typed(mask):
    rng = np.random.default_rng(mask)
    places = rng.permutation(LANES * 4)[:LANES].astype(np.uint32)
    clauses = [cf(G, "MEM_RAT_CACHELESS", "RAT", rat_id=1, rat_inst=2, type=1, rw_gpr=3, index_gpr=2, comp_mask=mask)]
    extra = {("rat", 1): Resource(random_bytes(8192), RAW)}
    formats = ("FLOAT16_4", "UNORM_INT8_4", "SIGNED_INT16_2", "FLOAT32_1", "UNSIGNED_INT8_1", "SNORM_INT16_4")
    for n, name in enumerate(formats):
        format_ = CAL_FORMATS[name]
        if mask == 15 or format_.bits >= 8:
            data = random_bytes(20 * 16 * format_.nbytes, n)
            extra["rat", 2 + n] = Resource(data, format_, (17, 16), 20)
            typed = {"rat_id": 2 + n, "rat_inst": 1, "type": 1, "rw_gpr": 4, "index_gpr": 5, "comp_mask": mask}
            clauses.append(cf(G, "MEM_RAT", "RAT", **typed))
    inputs = inputs_with(8 * (places // 2))
    inputs[:, 3, 0], inputs[:, 3, 1] = places % 19, places // 16
    equal(*run(clauses, inputs, extra))


def test_atomics_return_what_was_there():
    rng = np.random.default_rng(5)
    rows = [
        row for row in table.rows(G) if row.kind == "RAT_INST" and "returns" in row.flags and "FDENORM" not in row.name
    ]
    extra, clauses = {}, []
    for n, row in enumerate(rows[:11]):
        extra["rat", n] = Resource(random_bytes(64, n), RAW)
        fields = {"rat_id": n, "rat_inst": row.opcodes[G], "type": 3, "rw_gpr": 3, "index_gpr": 2, "comp_mask": 15}
        clauses.append(cf(G, "MEM_RAT", "RAT", **fields))
        taken = fetch("VTX", "FETCH", FIRST + n, buffer_id=160 + n, src_gpr=0, data_format=13, num_format_all=1)
        clauses.append(cf(G, "VTX", fetches=[taken]))
    equal(*run(clauses, inputs_with(rng.integers(0, 16, LANES).astype(np.uint32)), extra, lanes=50))


def test_local_memory_and_its_queues():
    rng = np.random.default_rng(6)
    rows = [row for row in table.rows(G) if row.kind == "LDS" and "emulated" not in row.semantics]
    groups, result = [], FIRST
    for n, row in enumerate(rows):
        # Lanes of atomics meet; others do not, as the order of their stores is nobody's business.
        sources = [gpr(2, int("MEM" in row.semantics)), gpr(3, n % 4), gpr(4, 1)][: row.nsrc]
        if row.name == "LDS_READ2_RET":
            sources[1] = gpr(2, 2)
        groups.append(group(op(G, row.name, 0, 0, 0, *sources, write=False, lds_offset=(5 * n) % 16)))
        queues = [221] * ("returns" in row.flags) + [222] * ("returns2" in row.flags)
        for queue in queues:
            groups.append(group(op(G, "XOR_INT", 0, result, 0, gpr(result), gpr(queue))))
            result = FIRST + (result - FIRST + 1) % RESULTS
    half = len(groups) // 2
    apart = 64 * rng.permutation(LANES)
    columns = [apart.astype(np.uint32), *(4 * rng.integers(0, 200, LANES).astype(np.uint32) for _ in range(2))]
    clauses = [alu(G, *groups)] if half < 60 else [alu(G, *groups[:half]), alu(G, *groups[half:])]
    equal(*run(clauses, inputs_with(*columns), lds_bytes=4352))


@pytest.mark.parametrize("lanes", [3, LANES])
@pytest.mark.parametrize("name", ["LDS_XOR", "LDS_ADD", "LDS_XOR_RET"])
def test_atomics_behind_reads_of_local_memory(name, lanes):
    """Both go through the same arrays, the reads where not all lanes are active."""
    popped = group(op(G, "MOV", 0, FIRST, 0, gpr(221)))
    old = [group(op(G, "MOV", 0, FIRST + 1, 0, gpr(221)))] if name.endswith("_RET") else []
    again = group(op(G, "MOV", 0, FIRST + 2, 0, gpr(221)))
    groups = [
        group(op(G, "LDS_WRITE", 0, 0, 0, gpr(2), gpr(3), write=False)),
        group(op(G, "LDS_READ_RET", 0, 0, 0, gpr(2, 1), write=False)),
        popped,
        group(op(G, name, 0, 0, 0, gpr(2), gpr(3, 1), write=False)),
        *old,
        group(op(G, "LDS_READ_RET", 0, 0, 0, gpr(2), write=False)),
        again,
    ]
    places = 4 * np.arange(LANES, dtype=np.uint32)
    equal(*run([alu(G, *groups)], inputs_with(places, places[::-1]), lanes=lanes, lds_bytes=4352))


@pytest.mark.parametrize("generation", ["r600", "evergreen"])
def test_scratch_memory(generation):
    write = cf(generation, "MEM_SCRATCH", "MEM", type=1, rw_gpr=3, index_gpr=2, elem_size=3, comp_mask=15, array_base=1)
    clauses = [alu(generation, group(op(generation, "AND_INT", 0, 2, 0, gpr(2), literal(7)))), write]
    if generation == "r600":
        more = {"type": 3, "rw_gpr": FIRST, "index_gpr": 2, "elem_size": 3, "comp_mask": 15, "array_base": 1}
        clauses.append(cf(generation, "MEM_SCRATCH", "MEM", **more))
    else:
        taken = Fetch(
            table.named(generation, "MEM_RD", "READ_SCRATCH"),
            {"src_gpr": 2, "indexed": 1, "dst_gpr": FIRST, "elem_size": 3, "array_base": 1, "dst_sel_y": 1,
             "dst_sel_z": 5, "dst_sel_w": 3},
        )  # fmt: skip
        clauses.append(cf(generation, "TEX", fetches=[taken]))
    shader = around(generation, clauses)
    inputs = random_inputs(9)
    equal(translated(shader, inputs, 40), referred(shader, inputs, 40))


@pytest.mark.parametrize("avx512", [False, True])
def test_accesses_are_whole_code_on_any_machine(avx512):
    shader = around(G, [cf(G, "VTX", fetches=[fetch("VTX", "FETCH", 3, data_format=34, num_format_all=1)])])
    bindings = Bindings({("fetch", 0): Bound(RAW), ("global", 0): Bound(RAW)}, {})
    made = translate(Kernel(lambda: shader, "cs", 32, 0, 0, 0), bindings, Options(avx512, flushing=avx512))
    llvm.parse_assembly(
        f"{made.text}\n!9001 = !{{}}\nattributes #0 = {{ nounwind }}\nattributes #1 = {{ cold }}"
    ).verify()

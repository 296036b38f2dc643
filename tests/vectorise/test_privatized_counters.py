"""Arguments that are only counted into: which they are, and that threads that count for themselves lose nothing."""

import numpy as np
import pytest

import headwater as hw
from benchmarks.forced_layouts import OF_EACH_KIND as LAYOUTS, build, run
from headwater.llvm.ir import Module
from headwater.opencl import host
from headwater.runtime.cpu.privatised import PrivatisedCounters
from headwater.vectorise.prepare.kernel import read_kernel
from headwater.vectorise.prepare.privatized_counters import find_counters

KINDS = """
kernel void counts(global const int *x, global uint *bins, global long *sums, global uint *bits, global uint *most)
{
    int i = get_global_id(0) + get_global_size(0) * get_global_id(1);
    int value = x[i];
    atomic_inc(&bins[value & 15]);
    if (value & 1) atomic_sub(&bins[(value >> 4) & 15], (uint)value);
    for (int k = 0; k < (value & 3); ++k) atom_add(&sums[k], (long)value << 20);
    atomic_or(&bits[value & 3], 1u << (i & 31));
    atomic_max(&most[value & 1], (uint)value);
}
"""
GROUPS = """
kernel void groups(global const int *x, global int *bins, local int *own)
{
    int l = get_local_id(0);
    for (int i = l; i < 32; i += get_local_size(0)) own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&own[x[get_global_id(0)] & 31]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 32; i += get_local_size(0)) atomic_add(&bins[i], own[i]);
    if (x[get_global_id(0)] == 7) { barrier(CLK_GLOBAL_MEM_FENCE); atomic_inc(&bins[32]); }
    else { barrier(CLK_GLOBAL_MEM_FENCE); atomic_dec(&bins[33]); }
}
"""
BINS = "kernel void bins(global const int *x, global int *bins) { atomic_inc(&bins[x[get_global_id(0)]]); }"


def numbers(count, most=1000):
    return np.random.default_rng(count).integers(0, most, count).astype(np.int32)


def launched(program, kernel, size, args):
    """The launch that these arguments take."""
    prepared = program.kernels[kernel].prepare((size,), None, ())
    return prepared.privatised(args) or prepared


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_counts_of_every_kind_are_those_of_one_work_item_after_the_other(layout):
    x = numbers(61 * 33)
    start = [np.arange(16, dtype=np.uint32), np.arange(3), np.arange(4, dtype=np.uint32), np.zeros(2, np.uint32)]
    _, bins, sums, bits, most = run(build(KINDS, layout), "counts", (61, 33), None, [x, *start])
    odd = x[x & 1 == 1]
    lost = np.bincount((odd >> 4) & 15, odd, 16).astype(np.int64)
    assert bins.tolist() == ((np.arange(16) + np.bincount(x & 15, minlength=16) - lost) % 2**32).tolist()
    assert sums.tolist() == [k + (int(x[(x & 3) > k].sum()) << 20) for k in range(3)]
    i = np.arange(x.size)
    assert bits.tolist() == [k | int(np.bitwise_or.reduce(1 << (i[x & 3 == k] & 31))) for k in range(4)]
    assert most.tolist() == [x[x & 1 == 0].max(), odd.max()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("group", [64, 1024])
def test_tables_of_groups_are_added_up(layout, group):
    x = numbers(4096, 40)
    _, bins = run(build(GROUPS, layout), "groups", (4096,), (group,), [x, np.zeros(34, np.int32), hw.Local(128)])
    assert bins[:32].tolist() == np.bincount(x & 31, minlength=32).tolist()
    assert bins[32:].tolist() == [(x == 7).sum(), -(x != 7).sum()]


def test_launches_follow_each_other_and_add_to_what_is_there():
    x = numbers(100_003, 256)
    kernel = hw.compile(BINS).bins
    bins = np.full(256, 5, np.int32)
    for _ in range(50):
        kernel[x.size](x, bins, device="cpu").wait()
    queue = hw.Queue("cpu")
    for _ in range(50):
        kernel[x.size](x, bins, queue=queue)
    queue.wait()
    assert bins.tolist() == (5 + 100 * np.bincount(x, minlength=256)).tolist()


def test_only_what_pays_is_counted_apart():
    program = build(BINS)
    x, small, large = numbers(1 << 16, 10), np.zeros(64, np.int32), np.zeros(1 << 20, np.int32)
    assert launched(program, "bins", x.size, [x, small]).tables is not None
    assert launched(program, "bins", x.size, [x, large]).tables is None
    assert launched(program, "bins", 64, [x, small]).tables is None
    device = hw.device("cpu")
    streams = [hw.stream(x, device=device), hw.stream(small, device=device)]
    assert launched(program, "bins", x.size, streams).tables is not None
    assert launched(program, "bins", x.size, [x]).tables is None


def test_arguments_in_the_same_memory_are_not_counted_apart():
    program = build(BINS)
    both = np.zeros(1 << 16, np.int32)
    for x, bins in ((both, both[:64]), (both[32:], both[:64]), (both[:64], both[:64])):
        assert launched(program, "bins", 1 << 15, [x, bins]).tables is None
    assert launched(program, "bins", 1 << 15, [both[64:], both[:64]]).tables is not None
    assert launched(program, "bins", 1 << 15, [both[64:], both[:128:2]]).tables is None
    lists = [memoryview(both[64:]), both[:64]]
    assert launched(program, "bins", 1 << 15, lists).tables is None


def test_what_is_counted_beside_an_argument_arrives_there():
    program = build(BINS)
    around = np.zeros(64, np.int32)
    bins = around[20:36]
    x = np.tile(np.arange(-2, 18, dtype=np.int32), 1000)
    launch = launched(program, "bins", x.size, [x, bins])
    assert launch.tables is not None
    launch([x, bins], None, None).wait()
    assert around[18:38].tolist() == [1000] * 20
    assert around.sum() == x.size


def test_checked_launches_say_where_counts_go_astray():
    bins = np.zeros(16, np.int32)
    with pytest.raises(hw.KernelFault, match="bins"):
        hw.compile(BINS).bins[20_000](np.full(20_000, 16, np.int32), bins, device="cpu", check=True)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("atomic_inc(&a[b[i]]);", [("a", "add")]),
        ("atomic_add(&a[b[i]], 3); atomic_dec(a);", [("a", "add")]),
        ("atomic_inc(&a[b[i]]); atomic_or(&c[i], 4);", [("a", "add"), ("c", "or")]),
        ("atomic_xor(a, i); atomic_max((global uint *)c, (uint)i);", [("a", "xor"), ("c", "umax")]),
        ("if (i & 1) { atomic_inc(a + i); barrier(CLK_GLOBAL_MEM_FENCE); }", [("a", "add")]),
        ("b[i] = atomic_inc(a);", []),
        ("atomic_inc(a); b[i] = a[i];", []),
        ("atomic_inc(a); a[i] = 1;", []),
        ("atomic_inc(a); atomic_or(a, 1);", []),
        ("atomic_inc(a); atom_add((global ulong *)a, 1);", []),
        ("atomic_max(a, i); atomic_min(c, i); atomic_and(b, i);", []),
        ("atomic_inc(i & 1 ? a : c);", []),
        ("atomic_xchg(a, 1); atomic_cmpxchg(c, 1, 2);", []),
        ("atomic_inc(a); *(global ulong *)c = (ulong)a;", []),
    ],
)
def test_which_arguments_are_tallies(statements, expected):
    parameters = "global int *a, global int *b, global int *c"
    text = f"kernel void k({parameters}) {{ int i = get_global_id(0); {statements} }}"
    kernel = read_kernel(Module(host.load(text, "k.cl").text("k")), "k")
    found = [("abc"[counter.position], counter.operation) for counter in find_counters(kernel.function, 3)]
    assert found == expected


def test_a_forced_launch_counts_apart_however_little_there_is():
    program = build(BINS)
    prepared = program.kernels["bins"].prepare((8,), None, ())
    x, bins = np.zeros(8, np.int32), np.zeros(1000, np.int32)
    assert prepared.privatised([x, bins]) is None
    run(program, "bins", (8,), None, [x, bins])
    assert isinstance(prepared.privatised, PrivatisedCounters)
    assert prepared.privatised([x, bins]) is not None

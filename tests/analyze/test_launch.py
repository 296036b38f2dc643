"""Trip counts, branches and lanes that the launch decides: against what running the kernel's own arithmetic gives."""

import numpy as np
import pytest

import headwater
from headwater.analyze.launch import Launch
from headwater.analyze.trips import iterations

STRIDE = """kernel void k(global const float *a, global float *c, INT n) {
  float s = 0;
  for (INT i = get_global_id(0); i < n; i += get_global_size(0)) s += a[i];
  c[get_global_id(0)] = s;
}
"""


def analyzed(text, device="vega64", **options):
    return headwater.analyze(text, device=device, **options)[0]


def trips(starts, step, limit):
    """What 64 work-items in a row do together: the iterations of the one that stays longest, and the mean over all."""
    counts = np.maximum(0, -(-(limit - starts) // step)).reshape(-1, 64)
    return counts.max(axis=1), counts


CHIPS = ["hd7970", "r9-290x", "rx480", "vega64", "mi100", "mi250x", "hd4870", "hd5870", "hd6970"]


@pytest.mark.parametrize("device", CHIPS)
def test_a_grid_stride_loop(device):
    analysis = analyzed(STRIDE.replace("INT", "int"), device, size=4096, arguments={"n": 10_000})
    (loop,) = analysis.code.loops
    longest, counts = trips(np.arange(4096), 4096, 10_000)
    assert (loop.trip, loop.known) == (longest.mean(), "launch")
    assert "10,000 in steps of 4,096" in loop.why
    assert "2 to 3 times" in loop.why
    # Every element is read once, whatever wavefronts do beside.
    assert analysis.work.read_bytes == pytest.approx(4 * 10_000 / 4096)
    assert counts.sum() == 10_000


@pytest.mark.parametrize("kind", ["uint", "ulong", "long"])
def test_counters_of_other_types(kind):
    (loop,) = analyzed(STRIDE.replace("INT", kind), size=4096, arguments={"n": 10_000}).code.loops
    assert (loop.trip, loop.known) == (trips(np.arange(4096), 4096, 10_000)[0].mean(), "launch")


def test_without_the_argument_nothing_is_guessed():
    (loop,) = analyzed(STRIDE.replace("INT", "int"), size=4096).code.loops
    assert (loop.trip, loop.known) == (1, "unknown")
    assert analyzed(STRIDE.replace("INT", "int"), size=4096, trips={"L1": 7}).code.loops[0].known == "given"


def test_the_size_that_is_assumed_counts_too():
    (loop,) = analyzed(STRIDE.replace("INT", "int"), arguments={"n": 1 << 22}).code.loops
    assert (loop.trip, loop.known) == (4, "launch")


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_a_loop_in_strides_of_the_work_group(device):
    text = """kernel void k(global float *a, int n) {
      float s = 0;
      for (int i = get_local_id(0); i < n; i += get_local_size(0)) s += a[get_group_id(0) * n + i];
      a[get_global_id(0)] = s;
    }"""
    analysis = analyzed(text, device, size=4096, group=64, arguments={"n": 1000})
    (loop,) = analysis.code.loops
    assert (loop.trip, loop.known) == (16, "launch")  # 1,000 = 15 × 64 + 40
    (share,) = {analysis.code.blocks[b].lanes for b in loop.blocks}
    assert share == pytest.approx(1000 / 1024)
    hidden = 8 if device == "vega64" else 0  # LLVM has each work-item load the global offset
    assert analysis.work.read_bytes == pytest.approx(4 * 1000 / 64 + hidden)


def test_a_scalar_counter_from_the_work_groups_number():
    text = """kernel void k(global float *a, int n) {
      float s = 0;
      for (int i = get_group_id(0); i < n; i += get_num_groups(0)) s += a[i * 256 + get_local_id(0)];
      a[get_global_id(0)] = s;
    }"""
    (loop,) = analyzed(text, size=4096, arguments={"n": 100}).code.loops
    assert (loop.trip, loop.known) == (100 / 16, "launch")


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_a_loop_in_a_loop(device):
    text = """kernel void k(global float *a, int w, int h) {
      for (int y = get_global_id(1); y < h; y += get_global_size(1))
        for (int x = get_global_id(0); x < w; x += get_global_size(0)) a[y * w + x] *= 2;
    }"""
    analysis = analyzed(text, device, size=(64, 16), arguments={"w": 640, "h": 480})
    assert [(loop.trip, loop.known) for loop in analysis.code.loops] == [(30, "launch"), (10, "launch")]
    assert analysis.work.read_bytes == 4 * 640 * 480 / 1024


def test_a_triangle():
    text = """kernel void k(global float *a) {
      int g = get_global_id(0);
      float s = 0;
      for (int i = 0; i < g; i++) s += a[g + i];
      a[g] = s;
    }"""
    analysis = analyzed(text, size=4096)
    longest = np.arange(4096).reshape(-1, 64).max(axis=1)
    assert analysis.code.loops[0].trip == pytest.approx(longest.mean(), rel=0.02)
    assert analysis.work.read_bytes == pytest.approx(4 * np.arange(4096).mean(), rel=0.02)


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_a_loop_that_nobody_comes_to(device):
    text = """kernel void k(global float *a, int n) {
      int g = get_global_id(0);
      if (g >= 100000) for (int i = g; i < n; i += get_local_size(0)) a[i] = 1;
      a[g] = 2;
    }"""
    analysis = analyzed(text, device, size=1024, arguments={"n": 1 << 20})
    assert [(loop.trip, loop.known) for loop in analysis.code.loops] == [(0, "launch")]
    assert analysis.work.write_bytes == 4


REDUCTION = """kernel void k(global float *a, local float *l) {
  int i = get_local_id(0);
  l[i] = a[get_global_id(0)];
#pragma unroll 1
  for (int n = HOW) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) l[i] += l[i + n];
  }
  a[get_global_id(0)] = l[i];
}"""


@pytest.mark.parametrize(
    ("how", "group", "expected"),
    [
        ("get_local_size(0) / 2; n > 0; n /= 2", 256, 8),
        ("get_local_size(0) >> 1; n > 16; n >>= 1", 128, 2),
        ("1; n < get_local_size(0); n <<= 1", 256, 8),
        ("1; n < (int)get_local_size(0); n *= 3", 256, 6),
    ],
)
@pytest.mark.parametrize("device", ["hd7970", "vega64", "mi250x"])
def test_counters_that_are_halved_and_doubled(how, group, expected, device):
    analysis = analyzed(REDUCTION.replace("HOW", how), device, size=4096, group=group, lds_bytes=1024)
    assert [(loop.trip, loop.known) for loop in analysis.code.loops] == [(expected, "launch")]


def test_halving_by_work_item():
    text = """kernel void k(global int *a) {
      int i = get_global_id(0), s = 0;
      for (int n = i; n > 0; n >>= 1) s += a[n + i];
      a[i] = s;
    }"""
    (loop,) = analyzed(text, size=4096).code.loops
    bits = np.array([int(n).bit_length() for n in range(4096)]).reshape(-1, 64)
    assert (loop.trip, loop.known) == (bits.max(axis=1).mean(), "launch")
    assert analyzed(text, size=4096).work.read_bytes == pytest.approx(4 * bits.mean(), rel=1e-3)


def test_an_early_way_out_leaves_it_open():
    text = STRIDE.replace("INT", "int").replace("s += a[i];", "{ if (a[i] < 0) break; s += a[i]; }")
    (loop,) = analyzed(text, size=4096, arguments={"n": 10_000}).code.loops
    assert loop.known == "unknown"


GUARD = """kernel void k(global float *a, int n) {
  int g = get_global_id(0);
  if (g >= n) return;
  a[g] = 2;
  if (get_local_id(0) == 0) a[n + get_group_id(0)] = 1;
}"""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_branches_that_the_launch_decides(device):
    analysis = analyzed(GUARD, device, size=4096, arguments={"n": 1024})
    # A quarter of the work-items, and of those one of each 256.
    assert analysis.work.write_bytes == pytest.approx(4 * 1024 / 4096 * (1 + 1 / 256))
    assert analysis.work.writes == pytest.approx(0.25 + 0.25 * 0.25)
    half = analyzed(GUARD, device, size=4096, arguments={"n": 4096 - 32}).work
    assert half.write_bytes == pytest.approx(4 * (4064 + 16) / 4096)


@pytest.mark.parametrize("device", ["vega64", "hd5870", "hd4870"])
def test_no_path_goes_where_no_wavefront_does(device):
    analysis = analyzed(STRIDE.replace("INT", "int"), device, size=4096, arguments={"n": 4096 * 10})
    for mode in ("minimum", "average", "maximum"):
        assert analysis.works[mode].read_bytes == 40, mode
    assert analyzed(STRIDE.replace("INT", "int"), device, size=4096).works["minimum"].read_bytes == 0


def test_all_wavefronts_of_a_small_launch_and_some_of_a_large_one():
    small = Launch((100, 3, 1), (10, 3, 1), 2).sample()
    assert (small.live.shape, small.whole, int(small.live.sum())) == ((10, 64), True, 300)
    ids = small.group[0] * 10 + small.local[0], small.local[1]
    assert len(set(zip(ids[0][small.live], ids[1][small.live], strict=True))) == 300
    edge = Launch((100, 1, 1), (64, 1, 1)).sample()
    assert int(edge.live.sum()) == 100
    large = Launch((1 << 20, 1, 1), (256, 1, 1)).sample()
    assert (large.live.shape, large.whole) == ((128, 64), False)
    assert (large.group[0].min(), large.group[0].max()) == (64, 4032)


def test_values_of_one_side_of_a_branch_are_not_known_after_it():
    text = """kernel void k(global float *a, int n) {
      int m = 8;
      if (a[get_global_id(0)] > 0) m = n;
      float s = 0;
      for (int i = 0; i < m; i++) s += a[i * 64 + get_global_id(0)];
      a[get_global_id(0)] = s;
    }"""
    for device in ("vega64", "hd5870", "hd4870"):
        (loop,) = analyzed(text, device, size=4096, arguments={"n": 100}).code.loops
        assert loop.known == "unknown", device


def test_iterations_are_those_of_the_loop():
    from headwater.analyze.register_values import Value

    rng = np.random.default_rng(5)
    for _ in range(300):
        start, limit = rng.integers(-50, 50, 2)
        step = int(rng.choice([-7, -3, -1, 1, 2, 5]))
        relation = str(rng.choice(["lt", "le", "gt", "ge", "eq", "ne"]))
        leaves = bool(rng.integers(2))
        holds = {
            "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y,
            "ge": lambda x, y: x >= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
        }[relation]  # fmt: skip
        wanted = next((n for n in range(200) if holds(start + n * step, limit) == leaves), -1)
        left = Value(np.array([[start & 0xFFFFFFFF]], np.uint32), np.array([[step & 0xFFFFFFFF]], np.uint32))
        right = Value(np.array([[limit & 0xFFFFFFFF]], np.uint32))
        assert iterations(left, right, relation, False, leaves) == wanted, (start, step, relation, limit, leaves)


@pytest.mark.parametrize(
    ("group", "size"), [("64", (1 << 20,)), ("16, 16, 1", (1024, 1024)), ("4, 4, 4", (128, 128, 64))]
)
def test_a_launch_has_the_dimensions_of_its_work_groups(group, size):
    required = f"{group}, 1, 1" if "," not in group else group
    text = f"kernel __attribute__((reqd_work_group_size({required}))) void k(global float *x) {{ x[0] = 1; }}"
    found = analyzed(text)
    assert found.size == size
    assert {one.name: one.value for one in found.metrics}["lane_efficiency"] == 1

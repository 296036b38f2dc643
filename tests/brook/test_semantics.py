"""What translated kernels compute, on the cpu device, against NumPy."""

import numpy as np
import pytest

import headwater as hw
from headwater.brook.model import extents, map_table, resize_index
from headwater.errors import UsageError
from headwater.runtime.brook import call_plans
from headwater.runtime.brook.program import load
from tests.brook import corpus_files

PROGRAMS = {}


def program(name):
    if name not in PROGRAMS:
        PROGRAMS[name] = load(corpus_files.read(name), f"{name}.br", corpus_files.options(name))
    return PROGRAMS[name]


def run(source, *args, options="", **keywords):
    """Run the only launchable kernel of a text."""
    loaded = load(source, "inline.br", options)
    (kernel,) = (k for k in loaded.kernels.values() if k.signature.launchable)
    return kernel(*args, **keywords)


def floats(*shape):
    return np.random.default_rng(1).uniform(-2, 2, shape).astype(np.float32)


def ints(high, *shape):
    return np.random.default_rng(2).integers(0, high, shape).astype(np.int32)


def test_sum_of_streams_of_every_rank():
    for shape in [(1,), (13,), (3, 5), (2, 3, 7), (2, 3, 2, 5)]:
        a, b = floats(*shape), floats(*shape)
        np.testing.assert_array_equal(program("elementwise").sum(a, b), a + b)


def test_an_early_return_keeps_the_outputs_written_so_far():
    a = np.arange(11, dtype=np.int32)
    low, high = program("elementwise").split(a, 4)
    np.testing.assert_array_equal(low, np.minimum(a, 4))
    np.testing.assert_array_equal(high, np.maximum(a - 4, 0))


def test_packed_elements_of_three_components_and_small_integers():
    a = floats(9, 3)
    b = ints(256, 9, 4).astype(np.uint8)
    c = ints(30000, 9, 2).astype(np.int16)
    d, e, f = program("elementwise").pack3(a, b, c)
    np.testing.assert_array_equal(d, a[:, ::-1] * 2)
    np.testing.assert_array_equal(e, b[:, ::-1])
    np.testing.assert_array_equal(f, c + c)


def test_gathers_clamp_at_every_edge():
    a = floats(7)
    index = np.array([-3.5, -0.5, 0, 0.9, 6.99, 7, 1e9, -1e30, np.nan, np.inf], np.float32)
    wanted = a[[0, 0, 0, 0, 6, 6, 6, 0, 0, 6]]
    np.testing.assert_array_equal(program("gather").one(index, a), wanted)
    image = floats(5, 6)
    y, x = np.mgrid[0:5, 0:6]
    wanted = image[np.minimum(y + 1, 4), np.maximum(x - 1, 0)] + image[0, x]
    np.testing.assert_array_equal(program("gather").two(image, shape=(5, 6)), wanted)


def test_gathers_of_rank_three_and_four_clamp_per_dimension():
    a = floats(2, 3, 4, 3)
    index = np.array([[0, 0, 0, 0], [3, 2, 1, 0], [9, 1, 0, 0], [1, 9, 9, 0], [2**32 - 1, 0, 0, 0]], np.uint32)
    x, y, z = (np.minimum(index[:, k], a.shape[2 - k] - 1) for k in range(3))
    np.testing.assert_array_equal(program("gather").three(index, a), a[z, y, x])
    b = floats(2, 3, 4, 5).astype(np.float64)
    index = ints(9, 20, 4) - 3
    x, y, z, w = (np.clip(index[:, k], 0, b.shape[3 - k] - 1) for k in range(4))
    np.testing.assert_array_equal(program("gather").four(index, b), b[w, z, y, x])


def test_an_index_may_be_gathered_itself():
    a, b = ints(1000, 17), ints(17, 17)
    np.testing.assert_array_equal(program("gather").nested(a, b, shape=17), a[b])


def test_a_vector_index_has_x_fastest():
    a = floats(4, 5, 4)
    index = np.array([[0, 0], [3.5, 1], [4, 3]], np.float32)
    x, y = index.astype(int).T
    wanted = a[y, x] + a[y, np.minimum(x + 1, 4)]
    np.testing.assert_array_equal(program("gather").vector_index(index, a), wanted)


def test_constant_arrays():
    mask, row, image = floats(3, 3), floats(4, 3), floats(6, 7)
    got = program("gather").constants(mask, row, image, shape=(6, 7))
    y, x = np.mgrid[0:6, 0:7]
    total = np.zeros((6, 7), np.float32)
    for i in range(3):
        total += mask[i, 1] * image[np.minimum(y + i, 5), x]
    wanted = row[2] + row[3] + np.stack([total, np.full_like(total, mask[0, 2]), np.zeros_like(total)], -1)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_scatter_transposes_and_drops_what_falls_outside():
    square = floats(6, 6)
    np.testing.assert_array_equal(program("scatter").transpose(square), square.T)
    a = floats(4, 6)
    got = program("scatter").shifted(a, out=np.zeros((4, 6), np.float32))
    wanted = np.zeros((4, 6), np.float32)
    wanted[:3, 2:] = a[1:, :4]
    np.testing.assert_array_equal(got, wanted)


def test_scatter_by_component_and_of_packed_elements():
    a = floats(5, 2)
    got = program("scatter").parts(a)
    np.testing.assert_array_equal(got, np.concatenate([a, a[:, ::-1]], 1))
    b = floats(2, 2, 1, 3)
    got = program("scatter").packed(b)
    np.testing.assert_array_equal(got, b)


def test_structs_keep_the_host_layout():
    loaded = program("structs")
    particle = loaded.structs["Particle"]
    assert particle.itemsize == 40
    p = np.zeros(7, particle)
    p["position"] = floats(7, 4)
    p["velocity"] = floats(7, 3)
    p["kind"] = np.arange(7)
    scale = np.array((1.5, -2.5), loaded.structs["Pair"])
    q = loaded.move(p, 0.5, scale)
    np.testing.assert_allclose(q["position"][:, :3], p["position"][:, :3] + p["velocity"] * np.float32(0.5), rtol=1e-6)
    np.testing.assert_array_equal(q["kind"], p["kind"])
    np.testing.assert_array_equal(q["charge"]["second"], np.full(7, -2.5, np.float32))
    np.testing.assert_array_equal(loaded.pick(np.array([6, 0, 3], np.int32), p), p["position"][[6, 0, 3]])


def test_kernels_call_kernels_with_outputs_components_and_positions():
    angle, a = floats(4, 5), floats(4, 5)
    r, t = program("calls").top(angle, a)
    u, v = np.sin(angle), np.cos(angle)
    np.testing.assert_allclose(r, np.stack([np.sin(u), np.cos(u)], -1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(t, u * u + v * v + a * a[1, 0], rtol=1e-5, atol=1e-5)


def test_continue_in_do_while_still_tests_the_condition():
    source = """kernel void f(int n, out int a<>)
    {
        int i = 0, s = 0;
        do {
            if (i % 2 == 0) continue;
            s += i;
        } while (++i < n);
        a = s;
    }"""
    assert run(source, 10, shape=1)[0] == 25


def test_conditions_become_one_and_zero():
    a, b = floats(40), floats(40)
    c, d, e = program("control").truth(a, b)
    np.testing.assert_array_equal(c, (a < b).astype(np.float32))
    np.testing.assert_array_equal(d, (((a < b) & (a != 0)) | ~(b > 1)).astype(np.int32))
    assert e.shape == (40, 4)


def test_logical_operators_evaluate_both_sides():
    source = """kernel void f(int a<>, out int c<>, out int n<>)
    {
        int k = 0;
        c = (a > 5) && (++k > 0);
        n = k;
    }"""
    c, n = run(source, np.arange(10, dtype=np.int32))
    np.testing.assert_array_equal(c, np.arange(10) > 5)
    np.testing.assert_array_equal(n, np.ones(10, np.int32))


def test_small_integers_wrap_at_their_own_width():
    a = np.array([100, 127, -128, 3], np.int8)
    b = np.array([100, 2, -1, 4], np.int8)
    s = np.array([[9, 8, 7]] * 4, np.uint16)
    c, t = program("control").small(a, b, s)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(c, a * b + -a - np.int8(1))
    np.testing.assert_array_equal(t, np.zeros((4, 3)))


def test_integer_division_truncates_and_the_remainder_follows_the_dividend():
    source = "kernel void f(int a<>, int b<>, out int q<>, out int r<>) { q = a / b; r = a % b; }"
    q, r = run(source, np.array([-7, 7, -7, 7], np.int32), np.array([3, -3, -3, 3], np.int32))
    assert q.tolist() == [-2, -2, 2, 2]
    assert r.tolist() == [-1, 1, -1, 1]


def test_round_is_half_away_from_zero_and_frac_is_not_negative():
    source = "kernel void f(float a<>, out float r<>, out float s<>) { r = round(a); s = frac(a); }"
    r, f = run(source, np.array([0.5, 2.5, -0.5, -5.5], np.float32))
    assert r.tolist() == [1, 3, -1, -6]
    assert f.tolist() == [0.5, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("count", [1, 2, 3, 63, 64, 65, 1000, 100003])
def test_full_reductions(count):
    a = ints(7, count).astype(np.float32)
    assert program("reduce").total(a) == a.sum()
    v = floats(count, 4)
    np.testing.assert_array_equal(program("reduce").largest(v), v.max(0))
    u = ints(1 << 20, count, 3).astype(np.uint32)
    np.testing.assert_array_equal(program("reduce").any_set(u), np.bitwise_or.reduce(u, 0))
    d = floats(count).astype(np.float64)
    assert program("reduce").smallest(d) == d.min()


@pytest.mark.parametrize("count", [1, 2, 7, 64, 129, 5000])
def test_a_reduction_that_does_not_commute_keeps_its_order(count):
    # Products of shears by integers, exact in single precision modulo wrapping: compare with NumPy, in order.
    a = np.zeros((count, 4), np.float32)
    a[:, 0] = a[:, 3] = 1
    a[::2, 1] = np.arange(len(a[::2])) % 3 - 1
    a[5::50, 2] = 1
    a[6::50, 2] = -1
    wanted = np.eye(2)
    for m in a.astype(np.float64).reshape(-1, 2, 2):
        wanted = wanted @ m
    got = program("reduce").product(a)
    np.testing.assert_allclose(got.reshape(2, 2), wanted, rtol=1e-4)


def test_partial_reductions_fold_tiles():
    a = ints(9, 12, 12).astype(np.float32)
    got = program("reduce").total(a, shape=(4, 3))
    np.testing.assert_array_equal(got, a.reshape(4, 3, 3, 4).sum((1, 3)))
    b = ints(9, 4, 6, 2, 8).astype(np.float32)
    got = program("reduce").total(b, shape=(2, 6, 1, 4))
    np.testing.assert_array_equal(got, b.reshape(2, 2, 6, 1, 1, 2, 4, 2).sum((1, 3, 5, 7)))


def test_groups_exchange_through_shared_memory():
    a, b = floats(2, 96, 4), floats(96, 4)
    got = program("group").reverse(a, b)
    flat = a.reshape(-1, 4).copy()
    wanted = flat.reshape(3, 64, 4)[:, ::-1].reshape(2, 96, 4)
    np.testing.assert_array_equal(got, wanted)


def test_names_of_opencl_are_free_to_use():
    local = floats(6, 2)
    a = floats(3)
    got = program("names").__getattr__("global")(local, a, 1)
    wanted = local[:, 0] + np.hypot(local[:, 0], local[:, 1]) + a[1] + 3
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("size", "shape", "wanted"),
    [
        (10, 5, [0, 2, 4, 6, 8]),
        (5, 10, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        (8, 12, [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]),
    ],
)
def test_streams_of_other_sizes_are_resized_to_the_nearest_element_below(size, shape, wanted):
    source = "kernel void f(float a<>, out float b<>) { b = a; }"
    assert run(source, np.arange(size, dtype=np.float32), shape=shape).tolist() == wanted
    assert [resize_index(k, shape, size) for k in range(shape)] == wanted


def test_a_domain_starts_positions_at_its_origin():
    source = "kernel void f(out int2 a<>) { a = instance().xy; }"
    out = np.full((4, 5, 2), -1, np.int32)
    run(source, out=out, domain=((1, 2), (3, 4)))
    wanted = np.full((4, 5, 2), -1, np.int32)
    y, x = np.mgrid[1:3, 2:4]
    wanted[1:3, 2:4] = np.stack([x, y], -1)
    np.testing.assert_array_equal(out, wanted)


def test_more_than_eight_outputs():
    outputs = ", ".join(f"out float o{k}<>" for k in range(12))
    body = " ".join(f"o{k} = a * {k}.0f;" for k in range(12))
    results = run(f"kernel void f(float a<>, {outputs}) {{ {body} }}", np.arange(5, dtype=np.float32))
    for k, result in enumerate(results):
        np.testing.assert_array_equal(result, np.arange(5) * k)


def test_weak_typing_converts_as_c_does():
    source = "kernel void f(int a<>, float4 v<>, out float b<>, out float4 w<>) { b = a * 2.5; w = v * 2; }"
    a, v = np.arange(4, dtype=np.int32), floats(4, 4)
    b, w = run(source, a, v, options="-a")
    np.testing.assert_array_equal(b, a * np.float32(2.5))
    np.testing.assert_array_equal(w, v * 2)


def test_macros_reach_kernels():
    source = "#define TWICE 2.0f\nkernel void f(float a<>, out float b<>) { b = a * TWICE + SHIFT; }"
    a = floats(3)
    np.testing.assert_allclose(run(source, a, options="-pp -D SHIFT=1.0f"), a * 2 + 1)


def test_extents_and_tables_are_x_first():
    assert extents((2, 3)) == (3, 2, 1, 1)
    table = map_table((4, 2), (2, 2), stored=(5, 7), start=(1, 3))
    assert table == (3, 4, 7, 7, 14, 14, 0, 0)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 40), (40, 5), (64, 64)])
def test_gathers_near_the_position_agree_inside_and_at_the_border(shape):
    a = floats(*shape)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]]
    wanted = np.zeros(shape, np.float32)
    for i in (-1, 0, 1):
        row = np.clip(y + i, 0, shape[0] - 1)
        wanted += a[row, np.clip(x - 1, 0, shape[1] - 1)] + a[row, np.clip(x + 2, 0, shape[1] - 1)]
    np.testing.assert_allclose(program("gather").stencil(a, shape=shape), wanted, rtol=1e-4, atol=1e-5)
    out = np.zeros(shape, np.float32)
    program("gather").stencil(a, out=out, domain=((0, shape[1] // 2), shape))
    np.testing.assert_allclose(out[:, shape[1] // 2 :], wanted[:, shape[1] // 2 :], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("size", "count"), [(1, 3), (8, 4), (9, 4), (9, 5), (100, 33), (100, 70)])
def test_strided_gathers_near_the_position(size, count):
    a = floats(size)
    k = np.arange(count)
    wanted = a[np.minimum(2 * k, size - 1)] * 2 + a[np.minimum(2 * k + 1, size - 1)] + a[np.clip(k - 1, 0, size - 1)]
    np.testing.assert_allclose(program("gather").pairs(a, shape=count), wanted, rtol=1e-5)


@pytest.mark.parametrize(("inner", "asked"), [(5, 5), (5, 3), (5, 9), (5, 0), (5, -2), (1, 1)])
def test_counters_up_to_an_argument_stay_inside_or_clamp(inner, asked):
    a, b = floats(6, inner), floats(inner, 7)
    k = np.minimum(np.arange(max(asked, 0)), inner - 1)
    got = program("gather").product(a, b, asked, shape=(6, 7))
    np.testing.assert_allclose(got, a[:, k] @ b[k], rtol=1e-4, atol=1e-5)
    v = floats(10)
    wanted = floats(33)
    for j in range(1, 2 * asked + 1):
        wanted = wanted + v[min(j - 1, 9)] + v[min(j // 2, 9)]
    np.testing.assert_allclose(program("gather").total(floats(33), v, asked), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (8, 64), (9, 65), (20, 100)])
def test_halved_positions_stay_inside_or_clamp(shape):
    a = floats(4, 32)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]] // 2
    wanted = a[np.minimum(y, 3), np.minimum(x, 31)] + a[np.minimum(y, 3), np.minimum(x + 1, 31)]
    np.testing.assert_allclose(program("gather").doubled(a, shape=shape), wanted, rtol=1e-6)


def attract(a, b, w, n):
    """The corpus' kernel of that name, in the same order of operations."""
    c = a.copy()
    for j in np.clip(np.arange(1, n[1] + 1), 0, len(b) - 1):
        k = min(j, len(w) - 1)
        pull = c + (b[j, 0] * w[k] + b[j, 1] * w[0] - a * b[j, 2])
        c = np.where(b[j, 0] < a, c, pull)
    for k in range(n[0]):
        c = np.float32(0.5) * c + w[min(k, len(w) - 1)]
    return c


@pytest.mark.parametrize(
    "n", [(0, 0), (-3, -1), (1, 1), (255, 255), (256, 256), (257, 257), (600, 599), (3, 600), (601, 9)]
)
def test_tiles_of_counted_loops_give_what_the_plain_loops_give(opencl_device, monkeypatch, n):
    a, b, w = floats(300), floats(600, 3), floats(600)
    wanted = attract(a, b, w, n)
    kernel = program("gather").attract
    np.testing.assert_allclose(kernel(a, b, w, n), wanted, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(call_plans, "_is_gpu", lambda device: True)
    on_gpu = load(corpus_files.read("gather"), "gather.br").attract
    np.testing.assert_allclose(on_gpu(a, b, w, n, device=opencl_device), wanted, rtol=1e-4, atol=1e-4)
    is_inside = n[0] <= 600 and n[1] < 600
    (plan,) = on_gpu.planner.plans.values()
    assert (bool(plan.steps), bool(plan.otherwise)) == (is_inside, not is_inside)
    np.testing.assert_allclose(
        on_gpu(a, b, w, (700, 700), device=opencl_device), attract(a, b, w, (700, 700)), rtol=1e-4, atol=1e-4
    )


def test_gathers_of_arrays_of_different_shapes_are_not_taken_for_alike():
    source = "kernel void f(float a[][], float b[][], out float d<>) { int2 p = instance().xy; d = a[p.y][p.x] + b[p.y][p.x]; }"
    kernel = load(source, "inline.br").f
    for shape in [(4, 6), (5, 6), (4, 7), (3, 2)]:
        a, b = floats(4, 6), floats(*shape)
        y, x = np.mgrid[0:4, 0:6]
        wanted = a + b[np.minimum(y, shape[0] - 1), np.minimum(x, shape[1] - 1)]
        np.testing.assert_array_equal(kernel(a, b, shape=(4, 6)), wanted)


@pytest.mark.parametrize(("width", "row"), [(9, 2), (7, 0), (9, 3), (12, 1), (0, 1), (9, -1), (9, 9)])
def test_indices_confined_by_arguments_stay_inside_or_clamp(width, row):
    a = floats(4, 9)
    y, x = np.mgrid[0:4, 0:9]
    left, right = np.maximum(x - 1, 0), np.clip(np.minimum(x + 1, width - 1), 0, 8)
    wanted = a[y, left] + a[np.maximum(y - 2, 0), x] + a[y, right] + a[np.clip(row, 0, 3), x]
    np.testing.assert_allclose(program("gather").confined(a, width, row, shape=(4, 9)), wanted, rtol=1e-6)


def test_struct_may_stand_before_a_structs_name():
    source = """
    struct Q { float x; int2 n; };
    typedef struct P_ { float4 v; struct Q q; } P;
    kernel struct Q turned(struct Q a) { struct Q b; b.x = -a.x; b.n = a.n.yx; return b; }
    kernel void turn(struct P_ a<>, out P b<>) { b = a; b.q = turned(a.q); }
    """
    loaded = load(source, "inline.br", "")
    a = np.zeros(5, loaded.structs["P"])
    a["q"]["x"], a["q"]["n"] = np.arange(5), (1, 2)
    b = loaded.turn(a)
    np.testing.assert_array_equal(b["q"]["x"], -a["q"]["x"])
    np.testing.assert_array_equal(b["q"]["n"], a["q"]["n"][:, ::-1])


@pytest.mark.parametrize("device", ["cpu", "hd4870"])
def test_iterators_are_streams_of_values(device):
    source = """
        kernel void f(iter float2 it<>, float2 a<>, out float2 b<>) { b = a + it; }
        kernel void g(float a<>, out float b<>) { b = a; }
    """
    loaded = load(source, "inline.br")
    a, it = floats(3, 4, 2), hw.iterator((0, 0), (4, 3), (3, 4))
    y, x = np.mgrid[0:3, 0:4]
    np.testing.assert_allclose(it, np.stack([x, y], -1), rtol=1e-6)
    np.testing.assert_array_equal(loaded.f(it, a, device=device), a + it)
    np.testing.assert_array_equal(loaded.g(a[..., 0].copy(), device=device), a[..., 0])


def test_iterators_run_from_the_first_value_up_to_the_last():
    np.testing.assert_array_equal(hw.iterator(0, 8, 4), [0, 2, 4, 6])
    np.testing.assert_array_equal(hw.iterator([1, 8], [2, 0], 2), [[1, 8], [1.5, 4]])
    assert hw.iterator(0.0, 1.0, (5,)).dtype == np.float32
    for wrong in ((0, 1, (2, 2)), ((0, 1), 2, 3), ((0, 0), (1, 1), (2, 2, 2)), (0, 1, 0)):
        with pytest.raises(UsageError):
            hw.iterator(*wrong)

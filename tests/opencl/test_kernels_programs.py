"""Whole programs on the cpu device, in several layouts, against NumPy and PoCL."""

import re

import numpy as np
import pytest
from kernel_runs import LAYOUTS, on_pocl, source, verify

import headwater
from benchmarks.forced_layouts import build, run
from headwater.errors import SourceError
from headwater.opencl import host
from headwater.runtime import Image

FILE = "programs.cl"
N = 101


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def test_median(rng):
    image = rng.integers(0, 256, (19, 37, 4)).astype(np.uint8)
    args = [image, np.zeros_like(image), 37, 19]
    found = verify(FILE, "median", (35, 17), None, args)[1]
    around = np.stack([image[j : j + 17, i : i + 35] for j in range(3) for i in range(3)])
    assert (found[1:-1, 1:-1] == np.median(around, axis=0)).all()


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_convolution(rng, radius):
    w, h, side = 33, 14, 2 * radius + 1
    image = rng.integers(0, 20, (h, w)).astype(np.float32)
    weights = rng.integers(0, 5, (side, side)).astype(np.float32)
    found = verify(FILE, "convolve", (w, h), None, [image, np.zeros_like(image), weights, w, h, radius])[1]
    padded = np.pad(image, radius, mode="edge")
    assert (found == sum(weights[j, i] * padded[j : j + h, i : i + w] for j in range(side) for i in range(side))).all()


def test_images_and_samplers(rng):
    w, h = 21, 10
    picture = rng.random((h, w, 4)).astype(np.float32)
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge")
    expected = sum(padded[j : j + h, i : i + w] for j in range(3) for i in range(3)) / 9
    for layout in (None, LAYOUTS[0], LAYOUTS[2], LAYOUTS[5]):
        out = np.zeros_like(picture)
        run(build(source(FILE), layout, "", FILE), "blur", (w, h), None, [Image(picture), Image(out)])
        np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_black_scholes(rng):
    price, strike = rng.uniform(5, 30, N).astype(np.float32), rng.uniform(1, 100, N).astype(np.float32)
    years = rng.uniform(0.25, 10, N).astype(np.float32)
    empty = np.zeros(N, np.float32)
    args = [empty, empty.copy(), price, strike, years, np.float32(0.02), np.float32(0.3)]
    call, put, *_ = verify(FILE, "black_scholes", (N,), None, args, close=1e-3)
    # Put and call differ by the discounted strike.
    discounted = strike * np.exp(-0.02 * years)
    np.testing.assert_allclose(call - put, price - discounted, rtol=1e-4, atol=1e-3)
    assert (call > np.maximum(price - discounted, 0) - 0.01).all()


def test_fft():
    n = 64
    signal = (np.arange(n) * 7 % 13 + 1j * (np.arange(n) % 5)).astype(np.complex64)
    x = signal.view(np.float32)
    p = 1
    while p < n:
        x = verify(FILE, "fft_radix2", (n // 2,), None, [x, np.zeros_like(x), p], close=1e-4)[1]
        p *= 2
    np.testing.assert_allclose(x.view(np.complex64), np.fft.fft(signal), rtol=1e-3, atol=2e-3)


def test_kmeans(rng):
    features, centres = rng.integers(0, 50, (4, N)).astype(np.float32), rng.integers(0, 50, (7, 4)).astype(np.float32)
    found = verify(FILE, "kmeans", (112,), (16,), [features, centres, np.zeros(N, np.int32), N, 7, 4], layouts=LAYOUTS)[
        2
    ]
    distance = ((features.T[:, None] - centres[None]) ** 2).sum(-1)
    assert (found == distance.argmin(1)).all()


def test_hotspot(rng):
    n, steps = 24, 2
    power, heat = rng.random((n, n)).astype(np.float32), (300 + rng.random((n, n))).astype(np.float32)
    values = [np.float32(v) for v in (0.5, 1.0, 1.5, 4.0, 0.1)]
    args = [steps, power, heat, np.zeros_like(heat), n, n, *values]
    found = verify(FILE, "hotspot", (32, 32), (16, 16), args, close=1e-5)[2]
    cap, rx, ry, rz, step = values
    t = heat.astype(float)
    for _ in range(steps):
        p = np.pad(t, 1, mode="edge")
        down, up, left, right = p[2:, 1:-1], p[:-2, 1:-1], p[1:-1, :-2], p[1:-1, 2:]
        t = t + step / cap * (power + (down + up - 2 * t) / ry + (left + right - 2 * t) / rx + (80 - t) / rz)
    np.testing.assert_allclose(found, t, rtol=1e-5)


def test_raytrace():
    spheres = np.array([[0, 0, 1, 0, 1], [1, 1, 2, 0, 0.5], [-1, 0.5, 0, 0, 0.25]], np.float32)
    packed = np.zeros((3, 8), np.float32)
    packed[:, :5] = spheres
    args = [np.zeros((48, 64, 4), np.uint8), packed, 3, 64]
    found = verify(FILE, "raytrace", (64, 48), None, args, layouts=4, close=0.2)[0].astype(int)
    assert len(np.unique(found.reshape(-1, 4), axis=0)) > 100
    other = on_pocl(FILE, "raytrace", (64, 48), None, [*args[:2], np.int32(3), np.int32(64)])
    if other is not None:  # a ray may just hit or just miss
        assert (abs(found - other[0]) <= 1).mean() > 0.995


def test_calls(rng):
    x = rng.integers(-9, 10, N).astype(np.float32)
    (found,) = verify(FILE, "calls", (N,), None, [x], layouts=LAYOUTS)

    def polynomial(x, a):
        return ((a * x + 2) * x + 3) * x + 4

    np.testing.assert_allclose(found, polynomial(polynomial(x, 1.0), 2.0) + polynomial(x, 3.0), rtol=1e-6)


def test_results_through_pointers(rng):
    a = rng.integers(-5, 100, N).astype(np.int32)
    found = verify(FILE, "pointers_out", (N,), None, [a, np.zeros(N, np.int32)], layouts=LAYOUTS)[1]
    assert (found == np.where(a < 0, -100 + 6, a // 10 * 100 + a % 10)).all()


def test_a_kernel_that_calls_a_kernel():
    a = np.arange(N, dtype=np.int32)
    (found,) = verify(FILE, "calls_a_kernel", (N,), None, [a])
    assert (found == a + 5 + 100 * (a & 1)).all()


@pytest.mark.parametrize("layout", [None, LAYOUTS[0], LAYOUTS[2], LAYOUTS[5]])
def test_printf(capfd, layout):
    a = (np.arange(40) % 8).astype(np.int32)
    run(build(source(FILE), layout, "", FILE), "say", (40,), (20,), [a])
    lines = sorted(capfd.readouterr().out.splitlines())
    expected = [f"item {i} has {v}, {v * 0.5:5.2f} and text" for i, v in enumerate(a) if v > 5]
    assert lines == sorted(expected)


def test_recursion_is_an_error():
    text = """int down(int n) { return n <= 0 ? 1 : n * down(n - 1) + down(n - 2); }
    kernel void k(global int *a) { a[get_global_id(0)] = down(a[get_global_id(0)]); }"""
    with pytest.raises(SourceError, match="recurs"):
        run(build(text), "k", (4,), None, [np.arange(4, dtype=np.int32)])


def test_recursion_by_way_of_another_is_an_error_when_the_program_is_compiled():
    text = """int odd(int n);
    int even(int n) { return n == 0 ? 1 : odd(n - 1); }
    int odd(int n) { return n == 0 ? 0 : even(n - 1); }
    kernel void fine(global int *a) { a[get_global_id(0)] = 1; }
    kernel void k(global int *a) { a[get_global_id(0)] = even(a[get_global_id(0)]); }"""
    with pytest.raises(SourceError, match="even, odd calls itself"):
        host.load(text, "k.cl")


def test_only_kernels_that_are_launched_are_prepared():
    text = """int twice(int n) { return 2 * n; }
    kernel void one(global int *a) { a[get_global_id(0)] += twice(1); }
    kernel void other(global int *a) { a[get_global_id(0)] = twice(a[get_global_id(0)]); }"""
    module = host.load(text, "two.cl")
    one, other = (re.compile(rf"@{name}\(") for name in ("one", "other"))
    assert one.search(module.text("one"))
    assert not other.search(module.text("one"))
    assert set(module._prepared) == {"one"}
    found = run(build(text, None, "", "two.cl"), "other", (4,), None, [np.arange(4, dtype=np.int32)])
    assert found[0].tolist() == [0, 2, 4, 6]


def test_undefined_function_is_an_error():
    text = "float f(float); kernel void k(global float *a) { a[0] = f(a[1]); }"
    with pytest.raises(SourceError, match="undefined function: f"):
        build(text)


_UNDEFINED = ("a[0] = g(a[1]);", 10, "call of undefined function: g")
_RECURSIVE = ("a[0] = f(a[1]);", 10, "recursion is not supported: f calls itself")


@pytest.mark.parametrize(
    ("device", "body", "column", "message"),
    [
        *((device, *fault) for device in ("cpu", "vega64", "hd5870") for fault in (_UNDEFINED, _RECURSIVE)),
        ("hd5870", "a[0] = to_global(a) != 0;", 20, "the address space of a generic pointer is not known at run time"),
        ("hd5870", "a[0] = get_fence(a);", 10, "undeclared identifier 'get_fence'"),
    ],
)
def test_what_cannot_be_linked_is_told_at_its_call(device, body, column, message):
    text = f"int g(int);\nint f(int n) {{\n  return n < 2 ? n : f(n - 1);\n}}\nkernel void k(global int *a) {{\n  {body}\n}}"
    with pytest.raises(SourceError, match=message) as caught:
        headwater.compile(text, options="-cl-std=CL2.0", device=device)
    span = caught.value.span
    assert (span.line, span.column) == ((3, 22) if "recursion" in message else (6, column))
    assert caught.value.source_line.strip() in (body, "return n < 2 ? n : f(n - 1);")


def test_inline_assembly_is_refused_at_its_line_on_vliw_chips():
    text = 'kernel void k(global int *a) {\n  __asm__ volatile("nop");\n  a[0] = 1;\n}'
    with pytest.raises(SourceError, match="VLIW chips take none") as caught:
        headwater.compile(text, device="hd5870")
    assert caught.value.span.line == 2


def test_pipes_and_launches_by_kernels_are_refused_by_name():
    for body in ("read_pipe(p, o);", "o[0] = 1;"):
        pipe = f"kernel void k(global int *o,\n              read_only pipe int p) {{ {body} }}"
        with pytest.raises(SourceError, match="pipes are not supported: p of k") as caught:
            build(pipe, None, "-cl-std=CL2.0")
        assert (caught.value.span.line, caught.value.span.column) == (2, 25)
        assert body in caught.value.source_line
    launch = "kernel void k(global int *o) { enqueue_kernel(get_default_queue(), 0, ndrange_1D(1), ^{ o[0] = 1; }); }"
    with pytest.raises(SourceError, match="launch from the host"):
        build(launch, None, "-cl-std=CL2.0")

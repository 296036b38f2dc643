"""Stream kernels in Python: what they compute, on devices and in plain Python, and what they are as Brook+ kernels."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LaunchError
from tests.python.machine_code import instructions

EXAMPLES = Path(__file__).parents[2] / "examples"
BROOK = {
    "black_scholes": ("black_scholes/black_scholes.br", ("float32", "float32", "float32", 1.0, 1.0)),
    "matmult": ("matmul/matmul.br", (None, None, 1)),
    "matmult_float4": ("matmul/matmul.br", (None, None, 1)),
    "analyze": ("haar/haar.br", (None,)),
    "synthesize": ("haar/haar.br", (None, None, None, None)),
    "step_bodies": ("nbody/nbody.br", (None, None, None, 1, 1.0, 1.0)),
    "scan_step": ("prefix_sum/prefix_sum.br", (None, 1)),
    "median": ("median/median.br", (None, 1, 1)),
    "total": ("reduction/reduction.br", (None, None)),
    "greatest": ("reduction/reduction.br", (None, None)),
}
"""Kernels -> the same in Brook+, and what types to make them for: None is what the parameter says."""
DEVICES = ["cpu", "vega64", "hd5870", "hd3870"]
WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
WEIGHTS.flags.writeable = False


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("python_streams", EXAMPLES / "python" / "streams.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def codes(report):
    return [instructions(a.code) for a in report.analyses]


@pytest.mark.parametrize("chip", ["vega64", "hd5870", "hd4870"])
@pytest.mark.parametrize("name", BROOK)
def test_machine_code_is_that_of_brook(kernels, name, chip):
    file, given = BROOK[name]
    kernel = getattr(kernels, name)
    types = [getattr(hw, one) if isinstance(one, str) else kernel.declared[at] if one is None else one
             for at, one in enumerate(given)]  # fmt: skip
    ours = codes(kernel.specialise(*types).report(chip))
    theirs = codes(hw.analyze(EXAMPLES / file, device=chip, kernel=name))
    assert sum(map(len, theirs)) >= 10
    assert ours == theirs


@hw.stream_kernel
def saxpy(a, x, y):
    return a * x + y


@pytest.mark.parametrize("device", DEVICES)
def test_elements_in_elements_out(device):
    x, y = np.arange(37, dtype=np.float32), np.ones(37, np.float32)
    assert np.array_equal(saxpy(2.0, x, y, device=device), 2 * x + 1)
    stream = hw.stream(x, device=device)
    made = saxpy(0.5, stream, hw.stream(y, device=device))
    assert isinstance(made, hw.Stream)
    assert np.array_equal(np.asarray(made), 0.5 * x + 1)


def test_arguments_say_the_types():
    assert saxpy(2, np.arange(5, dtype=np.int32), np.ones(5, np.int32)).dtype == np.int32
    assert saxpy(2.0, np.arange(5.0), np.ones(5)).dtype == np.float64
    assert saxpy.types() == {"a": "float64", "x": "float64", "y": "float64"}
    assert "double" in saxpy.opencl


def test_one_element_of_a_domain_is_coarsened_on_gpus_only_where_brook_does_it():
    saxpy.specialise(1.0, hw.float32, hw.float32)
    variants = {entry.variant for entry in saxpy.program.module.kernels["saxpy"].entries}
    assert variants == {"linear", "linear4", "mapped"}


@hw.stream_kernel
def where(offset: hw.int32):
    here = hw.instance()
    return 100 * here.y + here.x + offset


@pytest.mark.parametrize("device", DEVICES)
def test_positions_and_domains(device):
    want = 100 * np.arange(4)[:, None] + np.arange(6) + 1
    assert np.array_equal(where(1, shape=(4, 6), device=device), want)
    part = where(1, shape=(4, 6), domain=((1, 2), (3, 5)), device=device)
    assert np.array_equal(part[1:3, 2:5], want[1:3, 2:5])
    assert part.sum() == want[1:3, 2:5].sum()
    assert np.array_equal(where.python(1, shape=(4, 6)), want)
    assert np.array_equal(where.python(1, shape=(4, 6), domain=((1, 2), (3, 5))), part)


@hw.stream_kernel
def smooth(row: hw.array(hw.float32), scale: hw.float32):
    i = hw.instance().x
    summed = 0.0
    for k in range(3):
        summed += WEIGHTS[k] * row[i + k - 1]
    return scale * summed if i < len(row) else 0.0


@pytest.mark.parametrize("device", DEVICES)
def test_gathers_keep_to_the_edge_and_tables_are_constants(device):
    row = np.random.default_rng(1).random(50, np.float32)
    padded = np.pad(row, 1, mode="edge")
    want = 2 * np.convolve(padded, WEIGHTS, "valid")
    got = smooth(row, 2.0, shape=50, device=device)
    assert np.allclose(got, want, rtol=1e-6)
    assert np.allclose(smooth.python(row, 2.0, shape=50), want, rtol=1e-6)
    kinds = {p.name: p.kind for p in smooth.program.module.kernels["smooth"].parameters}
    assert kinds["WEIGHTS_"] == "constant"
    assert kinds["row_n0"] == "value"


@hw.stream_kernel
def polar(x: hw.float32, y: hw.float32) -> tuple[hw.float32, hw.int32]:
    return math.sqrt(x * x + y * y), x > y


@pytest.mark.parametrize("device", DEVICES)
def test_several_results_of_types_that_are_said(device):
    x, y = np.random.default_rng(2).random((2, 9, 4), np.float32)
    far, more = polar(x, y, device=device)
    assert np.allclose(far, np.hypot(x, y), rtol=1e-6)
    assert np.array_equal(more, x > y)
    out = np.zeros((9, 4), np.float32), np.zeros((9, 4), np.int32)
    made = polar(x, y, out=out, device=device)
    assert made[1] is out[1]
    assert np.array_equal(out[1], x > y)
    assert [a.dtype for a in polar.python(x, y)] == [np.float32, np.int32]


@hw.stream_kernel
def scattered(x: hw.float32, places: hw.int32, out: hw.array(hw.float32)):
    out[places] = x * x


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_arrays_that_are_assigned_to_are_written_in_place(device):
    x = np.arange(8, dtype=np.float32)
    places = np.array([7, 6, 5, 4, 3, 2, 1, 99], np.int32)  # the last one is beyond the array
    out = np.full(8, -1, np.float32)
    assert scattered(x, places, out, device=device) is None
    assert out.tolist() == [-1, 36, 25, 16, 9, 4, 1, 0]
    plain = np.full(8, -1, np.float32)
    assert scattered.python(x, places, plain) is None
    assert np.array_equal(plain, out)


@hw.stream_kernel
def turned(v: hw.float4, angle: hw.float32):
    c, s = math.cos(angle), math.sin(angle)
    made = hw.float4(c * v.x - s * v.y, s * v.x + c * v.y, v.zw)
    made.w = 1.0
    return made + 0.5 * hw.float4(hw.cl.dot(v, v))


@pytest.mark.parametrize("device", DEVICES)
def test_vectors(device):
    v = np.random.default_rng(3).random((7, 4), np.float32)
    want = turned.python(v, 0.3)
    assert want.shape == (7, 4)
    assert np.allclose(turned(v, 0.3, device=device), want, rtol=1e-5)


def halves(n):
    return n // 2 if n % 2 == 0 else 3 * n + 1


@hw.stream_kernel
def operators(a: hw.int32, b: hw.int32, x: hw.float32, y: hw.float32):
    whole = a // b + (a % b) * 7 + (a // 4) * 3 + a % 8 + (a >> 1) - ~b
    steps = 0
    n = abs(a) + 1
    while n != 1 and steps < 40:
        n = halves(n)
        steps += 1
    for k in range(3, -3, -2):
        if k == -1:
            continue
        whole += k * (k < 2)
    inside = 0.0 <= x < 1.0 and not (y > 2.0 or a in (3, 4))
    real = x % y + x**2 + max(x, y, 0.25) - min(a, 3) / 2 + (1.0 if inside else -1.0)
    return whole + steps, real + math.floor(x) + int(y)


@pytest.mark.parametrize("device", DEVICES)
def test_operators_mean_what_they_mean_in_python(device):
    rng = np.random.default_rng(4)
    a = rng.integers(-50, 50, 64).astype(np.int32)
    b = rng.integers(1, 9, 64).astype(np.int32) * rng.choice([-1, 1], 64).astype(np.int32)
    x, y = rng.uniform(-3, 3, (2, 64)).astype(np.float32)
    y[np.abs(y) < 0.2] = 0.5
    want = operators.python(a, b, x, y)
    got = operators(a, b, x, y, device=device)
    assert np.array_equal(got[0], want[0])
    assert np.allclose(got[1], want[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_a_rest_of_0_has_the_sign_of_the_divisor(device):
    @hw.stream_kernel
    def rest(a, b):
        return a % b, a % 2.0

    a, b = (v.ravel().astype(np.float32) for v in np.meshgrid([-0.0, 0.0, -4.0, 4.0, -3.0, 3.0], [2.0, -2.0]))
    for got, want in zip(rest(a, b, device=device), rest.python(a, b), strict=True):
        assert np.array_equal(got, want)
        assert np.array_equal(np.signbit(got), np.signbit(want))


@hw.stream_kernel(reduction=True)
def furthest(far, x):
    return max(abs(far), abs(x))


@pytest.mark.parametrize("device", DEVICES)
def test_reductions(device, kernels):
    x = np.random.default_rng(5).integers(-9, 9, (8, 12)).astype(np.float32)
    assert kernels.total(x, device=device) == x.sum()
    assert furthest(x, device=device) == np.abs(x).max()
    blocks = x.reshape(4, 2, 3, 4).sum((1, 3))
    assert np.array_equal(kernels.total(x, shape=(4, 3), device=device), blocks)
    assert np.array_equal(kernels.total.python(x, shape=(4, 3)), blocks)
    assert kernels.total.python(x) == x.sum()
    described = kernels.total.program.module.kernels["total"]
    assert described.commutative
    assert not furthest.program.module.kernels["furthest"].commutative


factor = 2.0


@hw.stream_kernel
def scaled(x):
    return factor * x


def test_what_comes_from_outside_may_change(monkeypatch):
    x = np.ones(3, np.float32)
    assert scaled(x)[0] == 2
    monkeypatch.setitem(globals(), "factor", 3.0)
    assert scaled(x)[0] == 3


def test_streams_of_other_shapes_are_stretched():
    x, y = np.arange(4, dtype=np.float32), np.zeros(8, np.float32)
    got = saxpy(1.0, x, y, shape=8)
    assert np.array_equal(got, np.repeat(x, 2))
    assert np.array_equal(saxpy.python(1.0, x, y, shape=8), got)


def test_checks_take_no_harm():
    x = np.arange(10, dtype=np.float32)
    assert np.array_equal(saxpy(1.0, x, x, check=True), 2 * x)
    brook = hw.compile("kernel void f(float a<>, out float b<>) { b = a + 1.0f; }", "brook")
    assert np.array_equal(brook.f(x, check=True), x + 1)


def test_a_checked_call_is_one_that_looks(monkeypatch):
    seen = []
    from headwater.runtime.host.kernel import HostKernel

    plain = HostKernel.prepare
    monkeypatch.setattr(HostKernel, "prepare", lambda *a, **k: seen.append(k.get("check")) or plain(*a, **k))
    x = np.arange(11, dtype=np.float32)
    saxpy(1.0, x, x, check=True)
    saxpy(1.0, x, x, check=False)
    assert seen == [True, False]


@hw.stream_kernel
def many_faults(x: hw.float32, table: hw.array(hw.float32)):
    a = table[-1]
    return a + x


@hw.stream_kernel
def of_work_items(x: hw.float32):
    return x + hw.global_id(0)


@hw.stream_kernel
def nothing(x: hw.float32):
    y = x + 1


@hw.stream_kernel
def unknown_function(x: hw.float32):
    return math.erf(x)


@hw.stream_kernel
def wide(x: hw.int64):
    return x


@hw.stream_kernel
def two_types(x: hw.float32):
    y = x
    y = hw.float4(x)
    return y


@pytest.mark.parametrize(
    ("kernel", "message", "hint", "back"),
    [
        (many_faults, "index -1 is not inside of table", "write 0", 1),
        (of_work_items, "global_id has no meaning in stream kernels", "@hw.kernel", 0),
        (nothing, "nothing gives nothing back", "return VALUE", None),
        (unknown_function, "Brook+ has no erf", "", 0),
        (wide, "int64 is no type of stream kernels", "32 bits", None),
        (two_types, "y is float32 in line", "", 1),
    ],
)
def test_messages_have_a_place_and_a_remedy(kernel, message, hint, back):
    with pytest.raises(hw.SourceError) as caught:
        kernel.specialise()
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    assert error.span.file == __file__
    first = kernel.python_function.__code__.co_firstlineno
    last = first + len(kernel.source_text.lines) - 1
    assert first < error.span.line <= last
    if back is not None:
        assert error.span.line == last - back
        assert error.span.column > 1


def test_launches_that_do_not_fit():
    with pytest.raises(hw.UsageError, match="its size comes from its streams"):
        saxpy[10, None]
    with pytest.raises(hw.LaunchError, match="shape"):
        where(1)
    with pytest.raises(hw.LaunchError, match="a stream of complex"):
        saxpy(1.0, np.zeros(3, complex), np.zeros(3))
    with pytest.raises(hw.LaunchError, match="takes one stream"):
        furthest(1, 2, 3)
    with pytest.raises(hw.SourceError, match=r"instance is the position in a stream"):
        hw.kernel(_asks).specialise()
    with pytest.raises(hw.UsageError, match="none runs here"):
        hw.instance()


def _asks(out: hw.array(hw.int32)):
    out[0] = hw.instance().x


def test_program_text_leaves_no_module_behind():
    import sys

    before = set(sys.modules)
    text = "import headwater as hw\n\n@hw.kernel\ndef one(a: hw.int32[:]):\n    a[0] = 1\n"
    made = np.zeros(1, np.int32)
    hw.compile(text, language="python").one[1, None](made)
    assert made[0] == 1
    with pytest.raises(ZeroDivisionError):
        hw.compile("1 / 0\nprint()", language="python")
    with pytest.raises(hw.SourceError):
        hw.compile("def (:\n", language="python")
    assert not [name for name in set(sys.modules) - before if name.startswith("headwater_kernels_")]


def test_plain_python_refuses_what_devices_refuse():
    @hw.stream_kernel
    def more(a, b):
        return a + b

    @hw.stream_kernel
    def twice(a: hw.float3):
        return a * 2.0

    @hw.stream_kernel(reduction=True)
    def total(a, b):
        return a + b

    x = np.ones(4, np.float32)
    blocks = np.ones((3, 4), np.float32)
    for call in (more, more.python):
        for bad in ((-1, 3), (3, 9), (2, 2)):
            with pytest.raises(LaunchError, match="is empty or not inside the output"):
                call(x, 1.0, domain=bad)
        with pytest.raises(LaunchError, match="have different shapes"):
            call(x, x[:2])
        with pytest.raises(LaunchError, match=r"shape (is )?\(0,\)"):
            call(x[:0], x[:0])
        for wrong in (np.ones(4, np.int64), np.ones(4)):
            with pytest.raises(LaunchError, match=r"got .*(int64|float64).*, expected float"):
                call(x, 1.0, out=wrong)
        with pytest.raises(LaunchError, match="shares memory with"):
            call(x, 1.0, out=x[::-1])
    for call in (total, total.python):
        with pytest.raises(LaunchError, match=r"cannot reduce shape \(3, 4\) to \(2, 1\)"):
            call(blocks, shape=(2, 1))
        with pytest.raises(LaunchError, match=r"shape (is )?\(0,\)"):
            call(x[:0])
    for call in (twice, twice.python):
        with pytest.raises(LaunchError, match=r"shape \(2, 2\)"):
            call(np.ones((2, 2), np.float32))

"""Kernels in Python on devices against NumPy, and against their plain execution."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

import headwater as hw
from headwater.errors import LaunchError, SourceError, UsageError

SCALE = 3
TABLE = np.array([2, 3, 5, 7], np.int32)
TABLE.flags.writeable = False


@hw.kernel
def floors(a, b, quotient, rest):
    i = hw.global_id(0)
    quotient[i] = a[i] // b[i]
    rest[i] = a[i] % b[i]


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_division_rounds_down_and_the_rest_has_the_divisors_sign(device, dtype):
    a, b = (v.ravel().astype(dtype) for v in np.meshgrid([-7, -6, -1, 0, 1, 5, 7], [-3, -2, -1, 1, 2, 3]))
    quotient, rest = np.empty_like(a), np.empty_like(a)
    floors[a.size, None](a, b, quotient, rest, device=device)
    assert (quotient == a // b).all()
    assert (rest == a % b).all()


@hw.kernel
def constants(a, floors_of_4, rest_of_8, power):
    i = hw.global_id(0)
    floors_of_4[i] = a[i] // 4
    rest_of_8[i] = a[i] % 8
    power[i] = (a[i] % 5) ** 3


def test_constant_divisors():
    a = np.arange(-20, 20, dtype=np.int32)
    out = np.empty((3, a.size), np.int32)
    constants[a.size, None](a, *out)
    assert (out == [a // 4, a % 8, (a % 5) ** 3]).all()


@hw.kernel
def rows(image, out):
    x = hw.global_id(0)
    y = hw.global_id(1)
    height, width = image.shape
    if x < width and y < height:
        out[y, x] = image[height - 1 - y][x] + image[-1, -1]


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_arrays_of_two_dimensions_with_gaps_and_steps_backwards(device):
    whole = np.arange(80, dtype=np.float32).reshape(8, 10)
    for image in (whole, whole[::2, 1:9], whole[::-1, ::-3], whole.T):
        result = np.zeros((20, 20), np.float32)
        out = result[2 : 2 + image.shape[0], 1 : 1 + 2 * image.shape[1] : 2]
        rows[(16, 16), None](image, out, device=device)
        assert (out == image[::-1] + image[-1, -1]).all()
        assert result.sum() == out.sum()


@hw.kernel
def captured(out):
    i = hw.global_id(0)
    out[i] = TABLE[i % 4] * SCALE


def test_a_changed_global_makes_the_kernel_anew(monkeypatch):
    out = np.zeros(4, np.int32)
    captured[4, None](out)
    assert (out == TABLE * 3).all()
    monkeypatch.setattr(__import__(__name__, fromlist=["SCALE"]), "SCALE", 5)
    captured[4, None](out)
    assert (out == TABLE * 5).all()


@dataclasses.dataclass
class Body:
    place: hw.float32
    speed: hw.float32
    hits: hw.int32 = 0


@hw.kernel
def move(bodies: hw.array(Body), dt: hw.float32):
    i = hw.global_id(0)
    body = Body(bodies[i].place + dt * bodies[i].speed, bodies[i].speed, bodies[i].hits)
    if body.place > 1:
        body.place = 1
        body.hits += 1
    bodies[i] = body


def test_structs_of_dataclasses():
    bodies = np.zeros(3, np.dtype([("place", "f4"), ("speed", "f4"), ("hits", "i4")], align=True))
    bodies["speed"] = [0.25, 1, 3]
    move[3, None](bodies, 0.5)
    assert bodies.tolist() == [(0.125, 0.25, 0), (0.5, 1, 0), (1, 3, 1)]


Other = dataclasses.make_dataclass("Body", [("hits", hw.int32), ("place", hw.float32)])


@hw.kernel
def count(bodies: hw.array(Body), others: hw.array(Other)):
    i = hw.global_id(0)
    others[i] = Other(bodies[i].hits + 1, bodies[i].place)


def test_structs_of_the_same_name():
    bodies = np.array([(0.5, 1, 3)], np.dtype([("place", "f4"), ("speed", "f4"), ("hits", "i4")], align=True))
    others = np.zeros(1, np.dtype([("hits", "i4"), ("place", "f4")], align=True))
    count[1, None](bodies, others)
    assert others.tolist() == [(4, 0.5)]


@hw.kernel
def histogram(values, bins, sums):
    i = hw.global_id(0)
    hw.atomic_add(bins, values[i] % 8, 1)
    hw.atomic_add(sums, 0, 0.5)
    hw.atomic_max(bins, 8, values[i])


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_atomics(device):
    values = np.arange(100, dtype=np.int32)
    bins, sums = np.zeros(9, np.int32), np.zeros(1, np.float32)
    histogram[100, None](values, bins, sums, device=device)
    assert bins.tolist() == [13, 13, 13, 13, 12, 12, 12, 12, 99]
    assert sums[0] == 50


@hw.kernel
def mirror(values):
    tile = hw.local_array(16, hw.float32)
    l = hw.local_id(0)
    i = hw.global_id(0)
    tile[l] = values[i]
    hw.barrier()
    values[i] = tile[15 - l]


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_local_memory_and_plain_python(device):
    values = np.arange(32, dtype=np.float32)
    expected = np.concatenate([values[15::-1], values[:15:-1]])
    plain = values.copy()
    mirror.python[(32,), (16,)](plain)
    mirror[(32,), (16,)](values, device=device)
    assert (values == expected).all()
    assert (plain == expected).all()


def test_arguments_that_no_kernel_takes_are_refused_in_plain_python_too():
    @hw.kernel
    def fill(out: hw.array(hw.int32), n: hw.int32):
        out[hw.global_id(0)] = n

    @hw.kernel
    def double(x, out):
        out[hw.global_id(0)] = x[hw.global_id(0)] * 2

    out = np.zeros(4, np.int32)
    for launch in (fill[4, None], fill.python[4, None]):
        for number in (1 << 40, -(1 << 31) - 1, np.int64(1 << 40), np.uint32(1 << 31)):
            with pytest.raises(LaunchError, match=f"{number} does not fit int(32)?, which holds"):
                launch(out, number)
        for part in (1.5, 2.0, np.float32(1.5), np.nan, np.inf):
            with pytest.raises(LaunchError, match="is not a whole number"):
                launch(out, part)
    for launch in (double[4, None], double.python[4, None]):
        for given, hint in (
            (np.ones(4, ">f4"), ".astype(np.float32)"),
            (np.ones(4, ">i8"), ".astype(np.int64)"),
            ([1, 2, 3, 4], "np.array(…, np.int32)"),
            ([1 << 40], "np.array(…, np.int64)"),
            ([0.5], "np.array(…, np.float32)"),
            ([None], "np.array(…, dtype=…)"),
        ):
            with pytest.raises(LaunchError) as told:
                launch(given, out)
            assert told.value.hint == hint


@hw.kernel
def swap(a, out):
    i = hw.global_id(0)
    x, y = a[i], a[i + 1]
    x, y = y, x
    low, high = ordered(x, y)
    out[i] = low * 100 + high if i % 2 == 0 else pair(y, scale=2)


def ordered(a, b):
    if a < b:
        return a, b
    return b, a


def pair(a, scale=1):
    return a * scale


def test_tuples_functions_defaults_and_choices():
    a = np.array([3, 1, 2, 5, 4], np.int32)
    out = np.zeros(4, np.int32)
    swap[4, None](a, out)
    assert out.tolist() == [103, 2, 205, 10]


@hw.kernel
def maths(x, out):
    i = hw.global_id(0)
    v = x[i]
    out[i, 0] = math.sin(v) + math.pi
    out[i, 1] = math.floor(v) + abs(v) + round(v)
    out[i, 2] = min(v, 0.5, 2) + max(v, 1) + v**2 + v**0.5
    out[i, 3] = int(v) / 2 + float(i) + (1 if 1 < v < 3 else 0)


def test_mathematics():
    x = np.linspace(0, 4, 9, dtype=np.float32)
    for dtype in (np.float32, np.float64):
        v = x.astype(dtype)
        out = np.zeros((9, 4), dtype)
        maths[9, None](v, out)
        expected = [
            np.sin(v) + np.pi,
            np.floor(v) + abs(v) + np.round(v),
            np.minimum(v, 0.5) + np.maximum(v, 1) + v**2 + v**0.5,
            v.astype(int) / 2 + np.arange(9) + ((v > 1) & (v < 3)),
        ]
        assert np.allclose(out.T, expected, rtol=1e-6 if dtype is np.float32 else 1e-14)


def test_double_arrays_make_doubles_of_literals_and_numbers():
    @hw.kernel
    def scale(x, factor, out):
        i = hw.global_id(0)
        out[i] = x[i] * factor + 0.1

    x = np.arange(4.0)
    out = np.zeros(4)
    scale[4, None](x, 0.3, out)
    assert np.allclose(out, x * 0.3 + 0.1, rtol=1e-15)  # the product may be fused with the sum


def test_streams_keywords_and_reports(capsys):
    @hw.kernel
    def add(a, b, n: hw.int32 = 4):
        i = hw.global_id(0)
        if i < n:
            b[i] += a[i]

    a, b = hw.stream(np.ones(8, np.float32)), hw.stream(np.zeros(8, np.float32))
    add[8, None](a, b=b)
    assert b.read().tolist() == [1] * 4 + [0] * 4
    assert add.types() == {"a": "float32[:]", "b": "float32[:]", "n": "int32", "i": "int32"}
    assert "__global const float *a" in add.opencl
    assert add.report("vega64").analyses[0].name == "add"
    cycles = add[64, None].simulate(np.ones(64, np.float32), np.ones(64, np.float32), device="vega64").cycles
    assert cycles > 100


def test_print(capfd):
    @hw.kernel
    def say(x):
        i = hw.global_id(0)
        print("x", i, f"is {x[i]:.2f} 100%")

    say[(2,), (1,)](np.array([1.5, 2.25]))
    assert sorted(capfd.readouterr().out.splitlines()) == ["x 0 is 1.50 100%", "x 1 is 2.25 100%"]


def test_kernels_are_found_again_by_pickle():
    assert pickle.loads(pickle.dumps(floors)) is floors


def test_checked_launches_name_the_python_line():
    @hw.kernel
    def beyond(a):
        i = hw.global_id(0)
        a[i + 3] = 1

    with pytest.raises(hw.KernelFault, match=rf"test_kernels.py:{beyond.source_text.first + 3}"):
        beyond[8, None](np.zeros(8, np.int32), check=True)


def test_wrong_arguments():
    with pytest.raises(LaunchError, match="floors takes 4 arguments, 1 given"):
        floors[4, None](np.zeros(4))
    with pytest.raises(LaunchError, match=r"argument 1, bodies, of move: an array of shape \(2, 2\) is given"):
        move[4, None](np.zeros((2, 2)), 1.0)
    with pytest.raises(LaunchError, match=r"argument 1, a, of floors: a list is given"):
        floors[4, None]([1], [2], [3], [4])
    with pytest.raises(LaunchError, match="needs a global size"):
        floors(1, 2, 3, 4)
    with pytest.raises(UsageError, match="source text of f is not available"):
        space = {"hw": hw}
        exec("def f(a):\n    a[0] = 1\n", space)
        hw.kernel(space["f"])


def test_all_errors_of_a_function_are_told():
    @hw.kernel
    def wrong(a):
        x = 1
        x = hw.float32(2)
        y = [1, 2]
        a[0] = z

    with pytest.raises(SourceError) as caught:
        wrong[1, None](np.zeros(1, np.float32))
    first = wrong.source_text.first
    assert caught.value.span.line == first + 4
    assert "a list is not in the language" in str(caught.value)
    assert f":{first + 5}:" in caught.value.details


def test_python_files_are_taken_wherever_kernels_are(tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(
        "import headwater as hw\n\n\n@hw.kernel\ndef twice(a: hw.array(hw.int32)):\n    a[hw.global_id(0)] *= 2\n"
    )
    a = np.arange(4, dtype=np.int32)
    hw.compile(path).twice[4, None](a)
    assert a.tolist() == [0, 2, 4, 6]
    report = hw.analyze(path, device="vega64")
    assert report.analyses[0].name == "twice"
    assert "a[hw.global_id(0)] *= 2" in dict(report.analyses[0].built.texts)[str(path)]
    path.write_text("import headwater as hw\n\n\n@hw.kernel\ndef twice(a):\n    a[0] = 2\n")
    with pytest.raises(UsageError, match="no kernels of which all parameters are annotated"):
        hw.compile(path)


def test_text_that_is_said_to_be_python_is_taken_and_is_not_guessed():
    text = "import headwater as hw\n\n\n@hw.kernel\ndef twice(a: hw.array(hw.int32)):\n    a[hw.global_id(0)] *= 2\n"
    a = np.arange(4, dtype=np.int32)
    program = hw.compile(text, language="python")
    program.twice[4, None](a)
    assert a.tolist() == [0, 2, 4, 6]
    assert "global" in program.source
    assert hw.analyze(text, device="vega64", language="python").analyses[0].name == "twice"
    with pytest.raises(UsageError, match="<source> is Python"):
        hw.compile(text)
    with pytest.raises(UsageError, match="no kernels"):
        hw.compile("x = 1\n", language="python")


def test_one_kernel_of_a_python_file_may_be_named(tmp_path, capsys):
    from headwater.cli import main

    path = tmp_path / "k.py"
    path.write_text(
        "import headwater as hw\n\n\n@hw.kernel\ndef twice(a: hw.array(hw.int32)):\n    a[hw.global_id(0)] *= 2\n\n\n"
        "@hw.kernel\ndef thrice(a: hw.array(hw.int32)):\n    a[hw.global_id(0)] *= 3\n\n\n"
        "@hw.kernel\ndef loose(a):\n    a[0] = 1\n"
    )
    a = np.arange(4, dtype=np.int32)
    program = hw.compile(f"{path}::thrice")
    assert sorted(program) == ["thrice"]
    program.thrice[4, None](a)
    assert a.tolist() == [0, 3, 6, 9]
    assert hw.analyze(f"{path}::twice", device="vega64").analyses[0].name == "twice"
    assert main(["analyze", f"{path}::thrice", "-d", "vega64"]) == 0
    assert main(["run", f"{path}::thrice", "ones:4", "-d", "vega64"]) == 0
    assert main(["simulate", f"{path}::thrice", "ones:64", "-d", "vega64"]) == 0
    for wrong, message in (
        ("k.py::none", "has no kernel none"),
        ("k.py::loose", "loose has parameters without"),
        ("l.py::twice", "no such file: .*l.py"),
    ):
        with pytest.raises(UsageError, match=message):
            hw.compile(f"{tmp_path}/{wrong}")

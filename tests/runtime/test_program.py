"""hw.compile, programs, kernels and the choice of a device, end to end on the cpu."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DeviceError, KernelFault, LaunchError, SourceError, UsageError
from headwater.opencl import units

VADD = """
kernel void vadd(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n)
    c[i] = a[i] + b[i];
}
kernel void scale(global float *a, float s) { a[get_global_id(0)] *= s; }
kernel void spill(global int *a) {
  a[get_global_id(0)] = 1;
}
kernel void endless(global volatile int *a) { while (a[0] == 0); }
kernel void grouped(global int *a, local int *t) {
  int i = get_local_id(0);
  t[i] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = t[get_local_size(0) - 1 - i];
}
kernel void ids(global int *a) { a[get_global_id(0) - get_global_offset(0)] = get_global_id(0); }
kernel void hello(int n) { printf("hello %d %v2d %s%%\\n", n, (int2)(1, 2), "world"); }
"""


@pytest.fixture(scope="module")
def prog():
    return hw.compile(VADD, device="cpu")


def vectors(n):
    rng = np.random.default_rng(n)
    return rng.random(n, np.float32), rng.random(n, np.float32), np.zeros(n, np.float32)


# -- launching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 100_003])
def test_results_are_right_for_awkward_sizes(prog, n) -> None:
    a, b, c = vectors(n)
    event = prog.vadd[(n,), None](a, b, c, n)
    np.testing.assert_array_equal(c, a + b)
    assert event.done
    assert event.progress == 1.0
    assert event.local_size[0] >= 1
    c[:] = 0
    prog.vadd[(-(-n // 64) * 64,), (64,)](a, b, c, n)
    np.testing.assert_array_equal(c, a + b)


def test_sizes_can_be_numbers_tuples_lists_and_numpy_integers(prog) -> None:
    for size in (8, (8,), [8], np.array([8]), np.int64(8), (np.int32(8),)):
        a = np.ones(8, np.float32)
        prog.scale[size, None](a, 3)
        assert (a == 3).all()
    a = np.ones(8, np.float32)
    prog.scale[8](a, 2.0)
    prog.scale[(8,),](a, 2.0)
    assert (a == 4).all()


@pytest.mark.parametrize("key", [10.0, (10.0,), True, ((1, True), None)], ids=str)
def test_a_size_that_is_refused_leaves_nothing_behind(key) -> None:
    kernel = hw.compile("kernel void one(global int *x) { x[get_global_id(0)] = 1; }").one
    out = np.zeros(10, np.int32)
    with pytest.raises(LaunchError, match="whole numbers"):
        kernel[key](out)
    kernel[10, None](out, offset=0)
    kernel[(1, 1), None](out, check=True)
    kernel[1, None](out, check=True)
    assert out.all()


def test_a_stream_is_filled_with_numbers() -> None:
    with pytest.raises(UsageError, match="'x' is no float32"):
        hw.stream((4,), np.float32).fill("x")


@pytest.mark.parametrize("key", [(8, 4), (1, 2, 3), (8, 4, None, 1)])
def test_ambiguous_sizes_are_refused(prog, key) -> None:
    with pytest.raises(LaunchError, match="cannot tell global from group size"):
        prog.scale[key]


def test_forgotten_size_is_explained(prog) -> None:
    with pytest.raises(LaunchError, match="needs a global size"):
        prog.scale(np.ones(4, np.float32), 2)


def test_a_size_after_a_program_instead_of_a_kernel_is_explained(prog) -> None:
    with pytest.raises(UsageError, match=r"found by their names, not by 64\n.*program\['\w+'\]\[64\]"):
        prog[64]


def test_arguments_by_name(prog) -> None:
    a = np.ones(8, np.float32)
    prog.scale[(8,), None](a, s=5)
    assert (a == 5).all()
    prog.scale[(8,), None](s=2, a=a)
    assert (a == 10).all()
    with pytest.raises(LaunchError, match="has no argument 'factor'"):
        prog.scale[(8,), None](a, factor=2)
    with pytest.raises(LaunchError, match="given twice"):
        prog.scale[(8,), None](a, 2, s=2)
    with pytest.raises(LaunchError, match="scale takes 2 arguments, 1 given"):
        prog.scale[(8,), None](s=2)


def test_local_memory_barrier_and_offset(prog) -> None:
    a = np.arange(64, dtype=np.int32)
    prog.grouped[(64,), (16,)](a, hw.Local(64))
    np.testing.assert_array_equal(a, np.arange(64).reshape(4, 16)[:, ::-1].ravel())
    prog.ids[(64,), None](a, offset=(1000,))
    np.testing.assert_array_equal(a, np.arange(64) + 1000)


def test_streams_are_used_in_place(prog) -> None:
    a = hw.stream(np.ones(8, np.float32), device="cpu")
    prog.scale[(8,), None](a, 4)
    assert (a.read() == 4).all()


def test_asynchronous_launches(prog) -> None:
    a = np.ones(1 << 16, np.float32)
    with hw.Queue("cpu") as queue:
        events = [prog.scale[(1 << 16,), None](a, -1.0, queue=queue) for _ in range(11)]
    assert (a == -1).all()
    assert all(event.done and event.seconds >= 0 for event in events)


def test_printf(prog, capsys) -> None:
    prog.hello[(1,), None](7)
    assert capsys.readouterr().out == "hello 7 1,2 world%\n"


def test_checked_run_names_line_item_and_argument(prog) -> None:
    a = np.zeros(10, np.int32)
    with pytest.raises(KernelFault) as caught:
        prog.spill[(12,), None](a, check=True)
    text = str(caught.value)
    assert "<source>:9:" in text
    assert re.search(r"work-item \(1[01]\) of spill writes 4 bytes at byte 4[04] of `int \*a`, which has 40", text)
    assert "a[get_global_id(0)] = 1;" in text
    prog.spill[(10,), None](a, check=True)
    assert (a == 1).all()


def test_time_limit(prog) -> None:
    with pytest.raises(KernelFault, match="time limit"):
        prog.endless[(4,), None](np.zeros(1, np.int32), time_limit=0.2)
    prog.endless[(4,), None](np.ones(1, np.int32), time_limit=30)


# -- programs ----------------------------------------------------------------------------------------------------------


def test_kernels_are_attributes_with_suggestions(prog) -> None:
    assert "vadd" in dir(prog)
    assert list(prog)[:2] == ["vadd", "scale"]
    assert prog["vadd"] is prog.vadd is prog.kernels["vadd"]
    assert not hasattr(prog, "nothing_like_it")
    with pytest.raises(UsageError, match="did you mean 'vadd'"):
        _ = prog.vaddd
    with pytest.raises(UsageError, match="no kernel 'x'"):
        prog["x"]
    assert "const float *a" in repr(prog.vadd)
    assert "vadd" in repr(prog)


def test_files_are_told_from_source_text(tmp_path: Path) -> None:
    path = tmp_path / "add.cl"
    path.write_text(VADD)
    assert hw.compile(path, device="cpu").filename == str(path)
    assert "vadd" in hw.compile(str(path), device="cpu").kernels
    assert hw.compile("kernel void k(global int *a) { a[0] = 1; }", device="cpu").filename == "<source>"
    with pytest.raises(UsageError, match=r"no such file: .*ad\.cl\n.*did you mean .*add\.cl"):
        hw.compile(tmp_path / "ad.cl")
    with pytest.raises(UsageError, match="is a directory"):
        hw.compile(tmp_path)
    (tmp_path / "data.cl").write_bytes(b"kernel\0\1\2")
    with pytest.raises(UsageError, match="not a text file"):
        hw.compile(tmp_path / "data.cl")
    (tmp_path / "program").write_bytes(b"\x7fELF\2\1\1" + bytes(11) + b"\x3e" + bytes(60))  # for x86-64
    with pytest.raises(hw.HeadwaterError, match="a code object for an AMD GPU is expected"):
        hw.compile(tmp_path / "program")
    with pytest.raises(UsageError, match="a path or source text"):
        hw.compile(5)
    with pytest.raises(UsageError, match=r"cannot read|no such file"):
        hw.compile("x" * 10_000)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("__kernel void k(__global float *a) { }", "opencl"),
        ("// a<> in a comment\nkernel void k(int n) { }", "opencl"),
        ("kernel void sum(float a<>, float b<>, out float c<>) { c = a + b; }", "brook"),
        ("kernel void g(float a[][], out float c<>) { }", "brook"),
        ("reduce void r(float a<>, reduce float b<>) { b += a; }", "brook"),
    ],
)
def test_language_is_told_from_the_text(text, language) -> None:
    from headwater.sources import language_of

    assert language_of(text, "<source>") == language


def test_unknown_languages(tmp_path) -> None:
    with pytest.raises(UsageError, match="cannot tell the language"):
        hw.compile("{}")
    with pytest.raises(UsageError, match="unknown language 'rust'"):
        hw.compile(VADD, language="rust")
    with pytest.raises(UsageError, match="options are one string"):
        hw.compile(VADD, options=["-D", "N"])


def test_source_errors_have_a_position() -> None:
    with pytest.raises(SourceError) as caught:
        hw.compile("kernel void k(global int *a) {\n  a[0] = missing;\n}", device="cpu")
    assert (caught.value.span.line, caught.value.span.column) == (2, 10)


def test_options_reach_the_compiler() -> None:
    a = np.zeros(1, np.int32)
    for n in (5, 6):
        hw.compile("kernel void k(global int *a) { a[0] = N; }", options=f"-D N={n}", device="cpu").k[1](a)
        assert a[0] == n


# -- choosing a device -------------------------------------------------------------------------------------------------


def run(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", "import headwater as hw\n" + code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    return (result.stdout + result.stderr).strip()


def test_cpu_is_the_default_and_a_context_manager() -> None:
    cpu = hw.device("cpu")
    assert hw.device() is cpu is hw.device("CPU") is hw.device(cpu)
    assert cpu.kind == "cpu"
    assert cpu.compute_units >= 1
    assert cpu.memory_bytes > 1 << 20
    assert cpu in hw.devices()
    assert "cpu" in repr(cpu)

    class Other(type(cpu)):
        name = "other"

    other = Other()
    with other:
        assert hw.device() is other
        with cpu:
            assert hw.device() is cpu
        assert hw.device() is other
    assert hw.device() is cpu


def test_environment_chooses_the_device() -> None:
    show = "try: print(hw.device().name)\nexcept hw.DeviceError as e: print(e)"
    assert run(show, HEADWATER_DEVICE="cpu") == "cpu"
    assert run(show, BRT_RUNTIME="cpu") == "cpu"
    assert "HEADWATER_DEVICE=hd9999: no device 'hd9999'" in run(show, HEADWATER_DEVICE="hd9999")
    assert "BRT_RUNTIME=ogl: no such run-time" in run(show, BRT_RUNTIME="ogl")
    assert "BRT_ADAPTER=x: not a number" in run(show, BRT_RUNTIME="cal", BRT_ADAPTER="x")
    assert run(show, HEADWATER_DEVICE="cpu", BRT_RUNTIME="cal") == "cpu"


def test_number_of_threads_follows_the_environment() -> None:
    show = "try: print(hw.device('cpu').compute_units)\nexcept hw.HeadwaterError as e: print(e)"
    assert run(show, HEADWATER_THREADS="3") == "3"
    for wrong in ("0", "many", "-1", "99999"):
        assert f"HEADWATER_THREADS={wrong}: not a number" in run(show, HEADWATER_THREADS=wrong)


def test_calls_contexts_and_streams_choose_the_device(prog) -> None:
    a = np.ones(8, np.float32)
    with pytest.raises(DeviceError, match="no device 'hd58700'"):
        prog.scale[(8,), None](a, 2, device="hd58700")
    with pytest.raises(DeviceError, match="not by a int"):
        prog.scale[(8,), None](a, 2, device=5)
    prog.scale[(8,), None](a, 2, device="cpu")
    assert (a == 2).all()


# -- streams -----------------------------------------------------------------------------------------------------------


def test_streams_hold_copies() -> None:
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    s = hw.stream(array)
    array[:] = 0
    assert s.read().tolist() == np.arange(12).reshape(3, 4).tolist()
    assert (s.shape, s.dtype, s.size, s.nbytes, s.ndim, len(s)) == ((3, 4), np.int16, 12, 24, 2, 3)
    s.write(np.ones((3, 4), np.int8))
    assert np.asarray(s, np.float64).sum() == 12
    s.fill(7)
    out = np.zeros((4, 3), np.int16).T
    assert s.read(out) is out
    assert (out == 7).all()
    t = s.copy()
    s.fill(0)
    assert (t.read() == 7).all()
    part = t.domain((1, 0), (3, 2))
    assert part.shape == (2, 2)
    assert np.asarray(part).tolist() == [[7, 7], [7, 7]]
    assert t.domain(1, 2).shape == (1, 4)


FILL = "kernel void fill(global float *a, float k) { a[get_global_id(0)] = k; }"
SCALE = "kernel void scale(float k, float a<>, out float b<>) { b = a * k; }"


def test_streams_of_shapes_are_zero() -> None:
    assert hw.stream((2, 3)).read().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert hw.stream(5, np.float64).dtype == np.float64
    assert hw.stream(shape=[2, 2], dtype="i4").shape == (2, 2)
    assert hw.stream(shape=np.array([2, 3])).shape == (2, 3)
    assert hw.stream([1, 2, 3]).read().tolist() == [1, 2, 3]
    assert hw.stream((0, 4)).read().shape == (0, 4)
    assert hw.stream(np.ones(3), np.float32).dtype == np.float32
    assert hw.stream(hw.stream([1.0, 2.0])).read().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hw.stream(), "an array or a shape"),
        (lambda: hw.stream(np.ones(3), shape=3), "not both"),
        (lambda: hw.stream((-1, 2)), "at least 0"),
        (lambda: hw.stream(shape=(1.5,)), "whole numbers"),
        (lambda: hw.stream(3, dtype="nonsense"), "not a dtype"),
        (lambda: hw.stream(object()), "not an array"),
        (lambda: hw.stream(np.array([None])), "Python objects"),
        (lambda: hw.stream(3).write(np.ones(4)), "has shape"),
        (lambda: hw.stream(3, "i4").write(np.ones(3)), "holds int32, the array float64"),
        (lambda: hw.stream(3).read(np.zeros(3)), "out is a float64 array"),
        (lambda: hw.stream(3).domain(2, 5), "not inside"),
        (lambda: hw.stream(3).domain((0, 0), (1, 1)), "cannot be"),
        (lambda: hw.Image(np.zeros((2, 2, 3), np.uint8)), "1, 2 or 4 channels, this array 3"),
        (lambda: hw.Image(np.zeros((2, 2), np.int64)), "no channel type holds int64"),
        (lambda: hw.Image(np.zeros((2, 2), np.float32), channel_type="unorm_int8"), "is stored as uint8"),
        (lambda: hw.Image(np.zeros((2, 2), np.float32), "rgba"), "4 channels, the array 1"),
        (lambda: hw.Image(np.zeros(2, np.float32)), "2 axes"),
        (lambda: hw.Sampler(addressing="repeat"), "needs normalized=True"),
        (lambda: hw.Sampler(filter="cubic"), "unknown filter"),
        (lambda: hw.Local("big"), "number of bytes"),
        (lambda: hw.Local(np.ones(8)), "number of bytes"),
        (lambda: hw.stream(np.ones(3), dtype=[]), "have no bytes"),
        (lambda: hw.stream(np.ones(3), dtype={}), "have no bytes"),
        (lambda: hw.compile(FILL).fill[(8,), None](np.ones(8, "f4"), 1.0, check=[]), "check is True, False or None"),
        (lambda: hw.compile(FILL).fill[(8,), None](np.ones(8, "f4"), 10**400), "does not fit float"),
        (lambda: hw.compile(SCALE).scale(10**400, np.ones(8, "f4")), "does not fit float"),
        (lambda: hw.compile(SCALE).scale(2.0, np.ones(8, "f4"), shape=np.ones(8)), "whole number or a tuple"),
    ],
)
def test_bad_uses_are_explained(call, message) -> None:
    with pytest.raises(UsageError, match=message):
        call()


# -- start-up ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "5"])
def test_a_time_limit_is_a_number_above_zero(prog, limit) -> None:
    a = np.zeros(4, np.float32)
    copy = hw.compile("kernel void copy(float a<>, out float b<>) { b = a; }").copy
    for call in (lambda: prog.scale[4](a, 2.0, time_limit=limit), lambda: copy(a, time_limit=limit)):
        with pytest.raises(LaunchError, match="a number of seconds above 0"):
            call()


def test_programs_and_kernels_are_pickled_as_their_source() -> None:
    opencl = hw.compile("kernel void twice(global float *a) { a[get_global_id(0)] *= N; }", options="-D N=2")
    brook = hw.compile("kernel void twice(float a<>, out float b<>) { b = a * 2.0f; }", device="cpu")
    array = np.arange(4, dtype=np.float32)
    pickle.loads(pickle.dumps(opencl)).twice[4](array)
    assert list(array) == [0, 2, 4, 6]
    pickle.loads(pickle.dumps(opencl.twice))[4](array)
    assert list(array) == [0, 4, 8, 12]
    assert list(pickle.loads(pickle.dumps(brook.twice))(array)) == [0, 8, 16, 24]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_compiling_leaves_nothing_open_not_even_after_a_fork(tmp_path) -> None:
    script = """
import os, sys
import numpy as np
import headwater as hw
def run(n):
    a = np.zeros(4, np.float32)
    hw.compile(f"kernel void k(global float *a) {{ a[get_global_id(0)] = {n}; }}").k[4](a)
    assert (a == n).all()
run(1)
child = os.fork()
if child == 0:
    run(2)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
run(3)
"""
    words = [sys.executable, "-W", "always", "-c", script]
    environment = {**os.environ, "HEADWATER_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert "ResourceWarning" not in ran.stderr, ran.stderr  # newer Pythons warn of forks with threads


def test_warm_start_needs_neither_clang_nor_llvm(tmp_path) -> None:
    code = (
        "import sys, numpy as np\n"
        "p = hw.compile('kernel void warm(global int *a) { a[get_global_id(0)] = 9; }', device='cpu')\n"
        "a = np.zeros(4, np.int32); p.warm[(4,), None](a)\n"
        "print(a.tolist(), [m for m in ('llvmlite', 'lark', 'pyopencl') if m in sys.modules])"
    )
    for _ in range(2):
        last = run(code, HEADWATER_CACHE_DIR=str(tmp_path))
    assert last == "[9, 9, 9, 9] []"


def test_the_process_that_generates_code_does_not_import_numpy() -> None:
    """It would take as long as the modules that generate code."""
    code = "import headwater.opencl.codegen, sys; print('numpy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout == "False\n"


PIXELS = """kernel void copy(read_only image2d_t a, write_only image2d_t b, global float4 *o) {
    int i = get_global_id(0);
    float4 c = read_imagef(a, (int2)(i, 0));
    o[i] = c;
    write_imagef(b, (int2)(i, 0), c);
}"""


@pytest.mark.parametrize("name", ["cpu", "vega64", "hd5870"])
@pytest.mark.parametrize(
    ("kind", "dtype", "bits"),
    [
        ("unorm_short_565", np.uint16, (5, 6, 5)),
        ("unorm_short_555", np.uint16, (5, 5, 5)),
        ("unorm_int_101010", np.uint32, (10, 10, 10)),
    ],
)
def test_packed_pixels_are_read_and_written(name, kind, dtype, bits):
    values = [np.random.default_rng(1).integers(0, 1 << n, 64) for n in bits]
    packed = np.zeros(64, np.int64)
    for n, value in zip(bits, values, strict=True):
        packed = packed << n | value
    pixels = packed.astype(dtype)[None]
    written, seen = np.zeros_like(pixels), np.zeros((64, 4), np.float32)
    images = (hw.Image(image, "rgb", kind) for image in (pixels, written))
    hw.compile(PIXELS, device=name).copy[(64,), None](*images, seen)
    expected = np.stack([*(value / ((1 << n) - 1) for n, value in zip(bits, values, strict=True)), np.ones(64)], 1)
    np.testing.assert_allclose(seen, expected, atol=1e-7)
    np.testing.assert_array_equal(written, pixels)


def test_packed_pixels_are_one_element_each():
    for array, order in ((np.zeros((2, 2), np.uint16), "r"), (np.zeros((2, 2, 3), np.uint16), "rgb")):
        with pytest.raises(LaunchError, match="an element for each pixel"):
            hw.Image(array, order, "unorm_short_565")


@pytest.mark.parametrize("name", ["cpu", "vega64", "hd5870"])
def test_pictures_that_are_not_linear_are_refused_where_they_would_be_misread(name):
    picture, seen = np.zeros((1, 4, 4), np.uint8), np.zeros((4, 4), np.float32)
    with pytest.raises(LaunchError, match="'srgba'"):
        hw.compile(PIXELS, device=name).copy[(4,), None](hw.Image(picture, "srgba"), hw.Image(picture.copy()), seen)


@pytest.mark.parametrize("name", ["cpu", "hd5870"])
@pytest.mark.parametrize("check", [False, True])
def test_faults_in_linked_units_name_the_unit_and_quote_its_line(name, check):
    first = "kernel void one(global int *x) { x[0] = 1; }"
    second = "int next(int i) { return i + 1; }\n\nkernel void two(global int *x) {\n  x[next(4)] = 1;\n}"
    text = units.joined([units.Unit(source, "") for source in (first, second)])
    device = hw.device(name)
    kernel = device.build(text, "k.cl").kernels["two"]
    with pytest.raises((KernelFault, LaunchError)) as caught:
        kernel.prepare(1, 1, check=check)([device.wrap(np.zeros(4, np.int32))])
    assert re.search(r"k\.unit2\.cl:4\b.*error: ", str(caught.value)), str(caught.value)
    assert "x[next(4)] = 1;" in str(caught.value)

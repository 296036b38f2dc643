"""Checked runs name the line of an access out of bounds; kernels that never end can be stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from kernel_runs import LAYOUTS, source

import headwater as hw
from benchmarks.forced_layouts import build, run
from headwater.errors import KernelFault, LaunchError
from headwater.native.faults import Extent, place_in
from headwater.runtime import Local
from verification.random_kernels import random_case

FILE = "faults.cl"
ROOT = Path(__file__).resolve().parents[2]
RECORD = np.dtype([("a", np.int32, 5), ("b", np.int32)])


def ints(count=16):
    return np.zeros(count, np.int32)


def checked(kernel, size, group, args):
    return run(build(source(FILE), None, "", FILE), kernel, (size,), group and (group,), args, check=True)


def line_of(text):
    lines = source(FILE).splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if text in line)
    return number


CASES = {
    "reads": (
        lambda k: [ints(), ints(), k],
        0,
        3,
        "a[i + shift];",
        "work-item (13) of reads reads 4 bytes at byte 64 of `const int *a`, which has 64 bytes",
    ),
    "reads before": (
        lambda k: [ints(), ints(), k],
        0,
        -3,
        "a[i + shift];",
        "reads 4 bytes 12 bytes before the beginning of `const int *a` (64 bytes)",
    ),
    "writes": (
        lambda k: [ints(), k],
        0,
        5,
        "b[i + shift] = 1",
        "work-item (11) of writes writes 4 bytes at byte 64 of `int *b`",
    ),
    "private_array": (lambda k: [ints(), k], 3, 8, "t[k] += 3", "4 bytes at byte 32 of a variable, which has 32 bytes"),
    "private_array before": (
        lambda k: [ints(), k],
        3,
        -1,
        "t[k] += 3",
        "4 bytes 4 bytes before the beginning of a variable (32 bytes)",
    ),
    "local_argument": (
        lambda k: [ints(), Local(64), k],
        0,
        4,
        "local_argument(",
        "work-item (12) of local_argument writes 4 bytes at byte 64 of `__local int *t`, which has 64 bytes",
    ),
    "local_variable": (
        lambda k: [ints(), k],
        0,
        1,
        "local_variable(",
        "work-item (15) of local_variable writes 4 bytes at byte 64 of a variable",
    ),
    "constant_array": (lambda k: [ints(), k], -12, 0, "TABLE[get_global_id(0)", "reads 4 bytes"),
    "atomic": (lambda k: [ints(), k], 15, 300, "atomic_add", "writes 4 bytes at byte 1200 of `int *b`"),
    "copied_record": (lambda k: [np.zeros(4, RECORD), k], 3, 4, "copied_record(", "of `Record *s`, which has 96 bytes"),
    "vector_store": (
        lambda k: [np.zeros(16, np.float32), k],
        3,
        4,
        "vstore4",
        "writes 16 bytes at byte 64 of `float *b`",
    ),
    "record_by_value": (
        lambda k: [np.zeros(1, RECORD)[0], ints(), k],
        4,
        6,
        "record_by_value(",
        "reads 4 bytes at byte 24 of a variable, which has 24 bytes",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_access_out_of_bounds_is_named(case):
    args, inside, outside, line, message = CASES[case]
    kernel = case.split()[0]
    group = 16 if kernel.startswith("local") else None
    if kernel != "constant_array":
        checked(kernel, 16, group, args(inside))
    else:
        checked(kernel, 4, None, args(0))
    with pytest.raises(KernelFault) as caught:
        checked(kernel, 16, group, args(outside))
    text = str(caught.value)
    assert message in text
    where = int(text.split(":")[1])
    # A fault in a kernel of several lines is at or after its first.
    assert where == line_of(line) or (line.endswith("(") and 0 < where - line_of(line) < 7)


def test_null_pointer_is_named():
    checked("null_pointer", 1, None, [ints(), ints()])
    with pytest.raises(
        KernelFault, match=rf"faults\.cl:{line_of('if (c[3])')}:\d+: error: work-item \(0\) of null_pointer uses a null"
    ):
        checked("null_pointer", 1, None, [ints(), None])


def test_an_address_far_from_all_arguments_is_shown():
    extents = [Extent("`int *a`", 1 << 44, (1 << 44) + 64), Extent("`int *b`", 1 << 45, (1 << 45) + 64)]
    far = place_in(0x1234567, 4, extents)
    assert far == "at address 0x1234567, which is near no argument: the nearest, `int *a`, is at 0x100000000000"
    assert place_in((1 << 44) - 1, 1, extents) == "1 byte before the beginning of `int *a` (64 bytes)"
    assert place_in((1 << 44) + 64, 4, extents) == "at byte 64 of `int *a`, which has 64 bytes"


def test_pointers_of_unknown_origin_pass():
    a = np.arange(16, dtype=np.int32)
    args = [a, ints(4) + 7, 1]
    (checked_a, _) = checked("chosen", 16, None, args)
    (plain_a, _) = run(build(source(FILE), LAYOUTS[2], "", FILE), "chosen", (16,), None, args)
    assert (checked_a == plain_a).all()


ELSEWHERE = {
    "kernel void k(global int *a, global int *b, int by) { int i = get_global_id(0); b[i] = a[i + by]; }": (
        "reads 4 bytes at byte 64 of `int *a`, which has 64 bytes: that is byte 0 of `int *b`"
    ),
    "kernel void k(global int *a, global int *b, int by) { int i = get_global_id(0); b[i - by] = a[i]; }": (
        "writes 4 bytes 64 bytes before the beginning of `int *b` (64 bytes): that is byte 0 of `int *a`"
    ),
    "kernel void k(global int *a, global int *b, int by) { atomic_inc(by > 2 ? &a[by] : &a[1]); }": (
        "writes 4 bytes at byte 64 of `int *a`, which has 64 bytes: that is byte 0 of `int *b`"
    ),
    "kernel void k(global int *a, global int *b, int by) { for (global int *p = a; p != a + by + 1; p++) *p = 1; }": (
        "writes 4 bytes at byte 64 of `int *a`, which has 64 bytes: that is byte 0 of `int *b`"
    ),
    "kernel void k(global int *a, global int *b, int by) { __builtin_memcpy(a + by - 2, b, 16); }": (
        "writes 16 bytes at byte 56 of `int *a`, which has 64 bytes"
    ),
    "kernel void k(local int *s, local int *t, int by) { s[get_local_id(0) + by] = 1; }": (
        "at byte 64 of `__local int *s`, which has 64 bytes"
    ),
}


@pytest.mark.parametrize("text", ELSEWHERE)
def test_an_access_lies_in_the_array_that_its_pointer_came_from(text):
    if "local int *s" in text:
        args = [Local(64), Local(64)]
    else:
        both = np.zeros(32, np.int32)
        args = [both[:16], both[16:]]
    kernel = hw.device("cpu").build(text, "elsewhere.cl").kernels["k"]
    launch = kernel.prepare((16,), (16,), check=True)
    with pytest.raises(KernelFault) as caught:
        launch([*args, 16], None, None).wait()
    assert ELSEWHERE[text] in str(caught.value)


def test_an_array_that_is_an_argument_twice_is_both():
    a = np.arange(32, dtype=np.int32)
    text = "kernel void k(global int *a, global int *b, int by) { int i = get_global_id(0); b[i + by] = a[i]; }"
    hw.device("cpu").build(text, "twice.cl").kernels["k"].prepare((16,), (16,), check=True)(
        [a[:16], a, 16], None, None
    ).wait()
    assert (a[16:] == a[:16]).all()


@pytest.mark.parametrize("seed", range(500, 506))
def test_kernels_without_faults_pass(seed):
    case = random_case(seed)
    program = build(case.source)
    for a, b in zip(
        case.results(run(program, "k", case.global_size, case.local_size, case.args)),
        case.results(run(program, "k", case.global_size, case.local_size, case.args, check=True)),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kernel", ["endless", "endless_for_some"])
@pytest.mark.parametrize("layout", [None, LAYOUTS[0], LAYOUTS[2]])
def test_endless_loop_ends_at_the_time_limit(kernel, layout):
    program = build(source(FILE), layout, "", FILE)
    began = time.monotonic()
    with pytest.raises(KernelFault, match=r"longer than its time limit of 0\.2 s"):
        run(program, kernel, (100,), None, [ints(100)], time_limit=0.2)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("layout", [None, *LAYOUTS])
def test_loop_without_exit_is_not_entered_in_vain(layout):
    program = build(source(FILE), layout, "", FILE)
    _, done = run(program, "endless_unless_negative", (100,), None, [ints(100) - 1, ints(100)], time_limit=20)
    assert done.all()


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_endless_loop_ends_at_ctrl_c():
    code = f"""
import numpy as np
import headwater as hw
kernel = hw.compile({str(Path(__file__).parent / "kernels" / FILE)!r}).endless
b = np.full(100, -1, np.int32)
kernel[100](b)
b[:] = 0
print("running", flush=True)
try:
    kernel[100](b)
except KeyboardInterrupt:
    print("interrupted", (b >= 0).all(), flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout.readline() == "running\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == "interrupted True\n"
    finally:
        process.kill()


TRAPS = """\
kernel void all(global int *x, int n) { if (n) __builtin_trap(); x[get_global_id(0)] = 1; }
kernel void some(global int *x, int n)
{
    local int t;
    if (get_local_id(0) == 0) t = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < get_local_id(0); i++)
        if (i == n)
            __builtin_trap();
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t;
}
kernel void none(global int *x, int n) { if (n) __builtin_debugtrap(); x[get_global_id(0)] = 1; }
"""


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_trap_ends_the_launch(layout):
    program = build(TRAPS, layout)
    for kernel in ("all", "some"):
        for limit in (None, 60.0):
            with pytest.raises(KernelFault, match=f"{kernel} executed a trap: one of its assertions failed"):
                run(program, kernel, (256,), (64,), [ints(256), 5], time_limit=limit)
    assert run(program, "all", (256,), (64,), [ints(256), 0])[0].sum() == 256
    assert run(program, "some", (256,), (64,), [ints(256), 63])[0].sum() == 256
    assert run(program, "none", (256,), (64,), [ints(256), 1])[0].sum() == 256


def test_a_checked_run_names_the_line_of_a_trap():
    program = build(TRAPS, None, "", "traps.cl")
    with pytest.raises(KernelFault, match=r"traps.cl:9:13: error: work-item \(6\) of some executed a trap"):
        run(program, "some", (64,), (64,), [ints(64), 5], check=True)
    assert run(program, "some", (64,), (64,), [ints(64), 63], check=True)[0].sum() == 64
    assert run(program, "none", (64,), (64,), [ints(64), 1], check=True)[0].sum() == 64


def test_what_an_included_function_does_is_told_at_its_call(tmp_path):
    (tmp_path / "get.h").write_text("\n\n\nint get(global int *x, int i) { return x[i]; }\n")
    source = '#include "get.h"\nkernel void k(global int *x)\n{\n  // four\n  x[0] = get(x, 100);\n}\n'
    program = hw.device("cpu").build(source, str(tmp_path / "k.cl"))
    x = program.device.wrap(np.zeros(4, np.int32))
    for check in (True, False):
        with pytest.raises(
            (KernelFault, LaunchError), match=r"k\.cl:5:10: error: (.|\n)*\n    *x\[0\] = get\(x, 100\);\n"
        ):
            program.kernels["k"].prepare((1,), (1,), check=check)([x])

"""Launches that surely access memory outside of an array are refused; none else is."""

import subprocess
import sys

import numpy as np
import pytest

import headwater as hw
from headwater.errors import KernelFault, LaunchError
from verification.fuzz_bounds import Tally, check

F, N, B = np.float32, np.int32, np.uint8
S = np.dtype([("x", F), ("y", N), ("z", "i1")], align=True)

SOURCE = """
typedef struct { float x; int y; char z; } S;
kernel void fill(global float *out) { out[get_global_id(0)] = 1; }
kernel void guarded(global float *out, int n) { int i = get_global_id(0); if (i < n) out[i] = 1; }
kernel void returns(global float *out, ulong n) { size_t i = get_global_id(0); if (i >= n) return; out[n - 1 - i] = 1; }
kernel void reads(global const float *in, global float *out) { int i = get_global_id(0); out[i] = in[i]; }
kernel void before(global float *out) { out[(int)get_global_id(0) - 1] = 1; }
kernel void image(global float *out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) out[y * w + x] = 1;
}
kernel void inner(global float *a, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) a[y * w + x] = a[(y - 1) * w + x - 1] + a[(y + 1) * w + x + 1];
}
kernel void cube(global int *out) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  out[(z * get_global_size(1) + y) * get_global_size(0) + x] = 1;
}
kernel void strided(global float *out, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = 1;
}
kernel void product(global const float *a, global const float *b, global float *c, int k, int n) {
  int y = get_global_id(1), x = get_global_id(0);
  float sum = 0;
  for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
  c[y * n + x] = sum;
}
kernel void down(global int *out, int n) {
  int first = get_global_id(0) * n;
  for (int i = n - 1; i >= 0; i--) out[first + i] = i;
}
kernel void several(global int *out) { for (int i = 0; i < 4; i++) out[4 * get_global_id(0) + i] = i; }
kernel void groups(global const float *a, global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
    if (l < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) o[get_group_id(0)] = t[0];
}
kernel void tile(global float *a) {
  local float t[64];
  int l = get_local_id(0);
  t[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_global_id(0)] = t[get_local_size(0) - 1 - l];
}
kernel void structs(global const S *a, global S *b) { int i = get_global_id(0); b[i] = a[i]; }
kernel void vectors(global float4 *a, global uchar *b) { int i = get_global_id(0); vstore3(convert_uchar3(a[i].xyz), i, b); }
kernel void optional(global float *a, global float *b) { int i = get_global_id(0); a[i] = 1; if (b) b[i] = 2; }
kernel void extents(global float *a, int4 s) { int i = get_global_id(0); if (i < s.x) a[i * s.y + s.z] = 1; }
kernel void bins(global int *bins) { atomic_inc(&bins[get_global_id(0) % 17]); }
kernel void given(global const int *where, global int *out) { out[where[get_global_id(0)]] = 1; }
kernel void chosen(global const int *which, global int *out) { int i = get_global_id(0); if (which[i]) out[i] = 1; }
kernel void found(global const int *a, global int *out) {
  for (int i = 0; i < 1000; i++) if (a[i] == 7) { out[get_global_id(0)] = i; break; }
}
kernel void partner(global float *o, int s) { int i = get_global_id(0), j = i ^ s; if (j > i) o[j] = o[i]; }
kernel void wanted(global float *o, float f) { if (f > 0.5f) o[get_global_id(0)] = 1; }
kernel void cases(global float *o, int k) {
  int i = get_global_id(0);
  switch (k) { case 0: o[i] = 1; break; case 1: o[2 * i] = 1; break; default: o[i + 1] = 1; }
}
kernel void walk(global float *o) { global float *p = o + get_global_id(0) * 4; *p++ = 1; *p++ = 2; *p++ = 3; *p = 4; }
kernel void tail(global int *o, int n) {
  int i = get_global_id(0);
  if (i < n / 4) vstore4((int4)(1), i, o);
  else if (i == n / 4) for (int k = i * 4; k < n; k++) o[k] = 1;
}
kernel void copies(global const float *in, global float *o) {
  local float t[64];
  event_t e = async_work_group_copy(t, in + get_group_id(0) * 64, 64, 0);
  wait_group_events(1, &e);
  o[get_global_id(0)] = t[get_local_id(0)];
}
kernel void places(global float *a, local float *t) { if (t) a[get_global_id(0)] = 1; }
kernel void half_way(global float *out) { int i = get_global_id(0); if (i % 2 == 0) out[i / 2] = 1; }
"""


def zeros(shape, dtype=F):
    return np.zeros(shape, dtype)


@pytest.fixture(scope="module")
def program():
    return hw.compile(SOURCE, device="cpu")


FITS = [
    ("fill", (64,), None, (zeros(64),)),
    ("fill", (0,), None, (zeros(0),)),
    ("guarded", (64,), None, (zeros(50), 50)),
    ("guarded", (64,), None, (zeros(64), 100)),
    ("guarded", (64,), None, (zeros(1), -5)),
    ("guarded", (64,), None, (None, 0)),
    ("returns", (64,), None, (zeros(30), 30)),
    ("reads", (64,), None, (zeros(64), zeros((8, 8)))),
    ("image", (16, 8), None, (zeros((5, 9)), 9, 5)),
    ("inner", (20, 10), None, (zeros((8, 16)), 16, 8)),
    ("inner", (20, 10), None, (zeros(1), 2, 8)),
    ("cube", (3, 4, 5), None, (zeros(60, N),)),
    ("strided", (64,), None, (zeros(999), 999)),
    ("product", (8, 4), None, (zeros((4, 5)), zeros((5, 8)), zeros((4, 8)), 5, 8)),
    ("product", (8, 4), None, (zeros(1), None, zeros((4, 8)), 0, 8)),
    ("down", (8,), None, (zeros(40, N), 5)),
    ("several", (4,), None, (zeros(16, N),)),
    ("groups", (256,), (64,), (zeros(256), zeros(4), hw.Local(256))),
    ("tile", (128,), (64,), (zeros(128),)),
    ("structs", (10,), None, (zeros(10, S), zeros(10, S))),
    ("vectors", (10,), None, (zeros((10, 4)), zeros(30, B))),
    ("optional", (64,), None, (zeros(64), None)),
    ("extents", (64,), None, (zeros(32), (16, 2, 1, 0))),
    ("bins", (1000,), None, (zeros(17, N),)),
    ("given", (64,), None, (zeros(64, N), zeros(1, N))),
    ("chosen", (64,), None, (zeros(64, N), zeros(1, N))),
    ("found", (64,), None, (np.full(3, 7, N), zeros(64, N))),
    ("half_way", (64,), None, (zeros(32),)),
    ("partner", (8,), None, (zeros(8), 4)),
    ("wanted", (8,), None, (zeros(1), 0.25)),
    ("cases", (8,), None, (zeros(15), 1)),
    ("walk", (8,), None, (zeros(32),)),
    ("tail", (16,), None, (zeros(30, N), 30)),
    ("copies", (128,), (64,), (zeros(128), zeros(128))),
    ("places", (8,), None, (zeros(8), hw.Local(4))),
]

OUTSIDE = [
    (
        "fill",
        (64,),
        None,
        (zeros(63),),
        "work-item (63) of fill, launched over 64 work-items, writes 4 bytes at byte 252",
    ),
    ("fill", (64,), None, (zeros(0),), "a float32 array of shape (0,) given, which has 0 bytes"),
    ("fill", (64,), None, (None,), "argument 1, `float *out`: None given"),
    ("fill", (64,), None, (zeros((64, 2))[:63, 0],), "writes 4 bytes at byte 252"),
    ("fill", (64,), None, (bytearray(252),), "which has 252 bytes"),
    ("fill", (64,), None, (hw.stream(zeros(63), device="cpu"),), "a float32 stream of shape (63,) given"),
    ("guarded", (64,), None, (zeros(50), 51), "work-item (50) of guarded"),
    ("guarded", (64,), None, (zeros(50), 99), "work-item (63) of guarded"),
    ("guarded", (64,), None, (zeros(50), np.int32(99)), "pass at least 256 bytes (64 elements)"),
    ("returns", (64,), None, (zeros(29), 30), "work-item (0) of returns"),
    ("reads", (64,), None, (zeros(63), zeros(64)), "argument 1, `const float *in`"),
    ("before", (64,), None, (zeros(64),), "writes 4 bytes 4 bytes before its beginning"),
    ("image", (16, 8), None, (zeros(44), 9, 5), "work-item (8, 4) of image, launched over 16 x 8 work-items"),
    ("inner", (20, 10), None, (zeros(127), 16, 8), "work-item (14, 6) of inner"),
    ("cube", (3, 4, 5), None, (zeros(59, N),), "work-item (2, 3, 4) of cube, launched over 3 x 4 x 5 work-items"),
    ("strided", (64,), None, (zeros(998), 999), "work-item (38) of strided"),
    ("strided", (64,), None, (zeros(10), 999), "writes 4 bytes"),
    ("product", (8, 4), None, (zeros(19), zeros(40), zeros(32), 5, 8), "argument 1, "),
    ("product", (8, 4), None, (zeros(20), zeros(39), zeros(32), 5, 8), "argument 2, "),
    ("product", (8, 4), None, (zeros(20), zeros(40), zeros(31), 5, 8), "argument 3, "),
    ("down", (8,), None, (zeros(39, N), 5), "writes 4 bytes at byte 156"),
    ("several", (4,), None, (zeros(15, N),), "writes 4 bytes at byte 60"),
    ("groups", (256,), (64,), (zeros(255), zeros(4), hw.Local(256)), "argument 1, "),
    ("groups", (256,), (64,), (zeros(256), zeros(3), hw.Local(256)), "work-item (192) of groups"),
    ("groups", (256,), (64,), (zeros(256), zeros(4), hw.Local(252)), "252 bytes of local memory given"),
    ("tile", (256,), (128,), (zeros(256),), "a __local variable has 256 bytes"),
    ("structs", (10,), None, (zeros(10, S), zeros(9, S)), "pass at least 120 bytes (10 elements)"),
    ("vectors", (10,), None, (zeros((9, 4)), zeros(30, B)), "reads 16 bytes at byte 144"),
    ("vectors", (10,), None, (zeros((10, 4)), zeros(29, B)), "writes 3 bytes at byte 27"),
    ("optional", (64,), None, (zeros(64), zeros(63)), "argument 2, "),
    ("extents", (64,), None, (zeros(31), (16, 2, 1, 0)), "work-item (15) of extents"),
    ("extents", (64,), None, (zeros(31), (16, -1, 0, 0)), "60 bytes before its beginning"),
    ("bins", (1000,), None, (zeros(16, N),), "work-item (16) of bins"),
    ("given", (64,), None, (zeros(63, N), zeros(1, N)), "argument 1, `const int *where`"),
    ("half_way", (63,), None, (zeros(31),), "work-item (62) of half_way"),
    ("partner", (8,), None, (zeros(7), 4), "work-item (3) of partner"),
    ("wanted", (8,), None, (zeros(7), 0.75), "work-item (7) of wanted"),
    ("cases", (8,), None, (zeros(14), 1), "writes 4 bytes at byte 56"),
    ("cases", (8,), None, (zeros(8), 7), "writes 4 bytes at byte 32"),
    ("walk", (8,), None, (zeros(31),), "work-item (7) of walk"),
    ("tail", (16,), None, (zeros(29, N), 30), "work-item (7) of tail"),
    ("copies", (128,), (64,), (zeros(127), zeros(128)), "argument 1, "),
]


def names(cases):
    return [f"{case[0]} {number}" for number, case in enumerate(cases)]


@pytest.mark.parametrize("case", FITS, ids=names(FITS))
def test_what_may_be_inside_is_run(program, case):
    kernel, whole, group, args = case
    program[kernel][whole, group](*args)
    if whole != (0,):
        program[kernel][whole, group](*args, check=True)


@pytest.mark.parametrize("case", OUTSIDE, ids=names(OUTSIDE))
def test_what_is_surely_outside_is_refused(program, case):
    kernel, whole, group, args, told = case
    before = [np.array(x) for x in args if isinstance(x, np.ndarray)]
    with pytest.raises(LaunchError) as caught:
        program[kernel][whole, group](*args)
    assert told in str(caught.value)
    assert "  hint: " in str(caught.value)
    assert all((a == b).all() for a, b in zip(before, [x for x in args if isinstance(x, np.ndarray)], strict=True))
    with pytest.raises(KernelFault):  # the checker, which tests each access, finds the same
        program[kernel][whole, group](*args, check=True)


def test_the_message_has_the_line_the_sizes_and_the_remedy(tmp_path):
    path = tmp_path / "k.cl"
    path.write_text("kernel void k(global float *out)\n{\n  out[get_global_id(0)] = 1;\n}\n")
    with pytest.raises(LaunchError) as caught:
        hw.compile(path, device="cpu").k[64, None](zeros(9))
    assert str(caught.value) == (
        f"{path}:3:25: error: argument 1, `float *out`: a float32 array of shape (9,) given, which has 36 bytes; "
        "work-item (63) of k, launched over 64 work-items, writes 4 bytes at byte 252\n"
        "      out[get_global_id(0)] = 1;\n"
        "                            ^\n"
        "  hint: pass at least 256 bytes (64 elements), or launch fewer work-items, or let the kernel compare its index "
        "with the number of elements"
    )


def test_each_launch_is_asked_for_though_others_were_inside(program):
    launch = program.guarded[(64,), (64,)]
    large, small, count = zeros(64), zeros(50), np.array(50)
    for _ in range(3):
        launch(large, 64)
        launch(small, 50)
        launch(small, count)
        with pytest.raises(LaunchError):
            launch(small, 64)
        count[()] = 64
        with pytest.raises(LaunchError):
            launch(small, count)
        count[()] = 50
    small.resize(49, refcheck=False)
    with pytest.raises(LaunchError):
        launch(small, 50)


def test_an_offset_moves_the_work_items(program):
    program.fill[32, None](zeros(64), offset=32)
    with pytest.raises(LaunchError, match=r"work-item \(63\)"):
        program.fill[32, None](zeros(63), offset=32)


def test_a_queued_launch_is_refused_at_once(program):
    with hw.Queue("cpu") as queue:
        with pytest.raises(LaunchError):
            program.fill[64, None](zeros(63), queue=queue)
        program.fill[64, None](zeros(64), queue=queue)


def test_code_for_huge_numbers_and_for_counting_threads_is_asked_for_too(program):
    bins = hw.compile(
        "kernel void k(global int *bins, int n) { atomic_inc(&bins[get_global_id(0) % n]); }", device="cpu"
    )
    bins.k[100_000, None](zeros(64, N), 64)
    with pytest.raises(LaunchError):
        bins.k[100_000, None](zeros(63, N), 64)
    with pytest.raises(LaunchError):
        program.strided[64, None](zeros(10), 2**31 - 1)


def test_random_kernels_that_are_refused_leave_an_array():
    """`python -m verification.fuzz_bounds` asks for as many as wanted."""
    tally = Tally()
    for seed in (3, 100, 101, 102):
        check(seed, tally)
    assert tally.wrong == {}
    assert tally.stopped >= tally.refused > 0


def test_the_process_lives_on():
    code = (
        "import numpy as np, headwater as hw\n"
        "p = hw.compile('kernel void k(global int *out) { out[get_global_id(0)] = 1; }', device='cpu')\n"
        "for n in (10, 1000, 100000):\n"
        "    try:\n"
        "        p.k[n * 100, None](np.zeros(n, np.int32))\n"
        "    except hw.LaunchError:\n"
        "        print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout == "refused\n" * 3

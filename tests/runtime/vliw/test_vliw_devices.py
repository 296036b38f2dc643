"""Kernels on simulated VLIW chips: IL and OpenCL C, what is refused, and what faults say."""

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.vliw.bindings import CAL_FORMATS
from headwater.errors import InternalError, KernelFault, LaunchError, SourceError, UsageError
from headwater.isa.gcn.objects import KernelArg
from headwater.isa.vliw.assembly import parse
from headwater.isa.vliw.encode import encode
from headwater.isa.vliw.image import Argument, ShaderImage
from headwater.runtime.vliw.device import load
from headwater.runtime.vliw.images import image_of
from headwater.runtime.vliw.launch import View
from headwater.runtime.vliw.opencl import kernels

# As AMD's OpenCL 1.x compiles: the offset in cb0[6], view 11 fetched by the number of a word, as resource 153.
TWICE = """\
00 ALU: ADDR(32) CNT(10) KCACHE0(CB0:0-15) KCACHE1(CB1:0-15)
      0  x: ADD_INT     ____,  R0.x,  KC0[6].x
      1  w: LSHL        R2.w,  PV0.x,  (0x00000002, 2.802596929e-45f).x
      2  y: ADD_INT     R2.y,  KC1[0].x,  PV1.w
         z: ADD_INT     R2.z,  KC1[1].x,  PV1.w
      3  x: LSHR        R3.x,  R2.z,  (0x00000002, 2.802596929e-45f).x
         y: LSHR        R2.y,  R2.y,  (0x00000002, 2.802596929e-45f).x
         w: SUB_INT     R3.w,  KC1[2].x,  R0.x
01 TEX: ADDR(48) CNT(1)
      4  VFETCH R0.x___, R2.y, fc153 MEGA(4)
         FETCH_TYPE(NO_INDEX_OFFSET)
02 ALU: ADDR(42) CNT(1)
      5  x: ADD_INT     R0.x,  R0.x,  R3.w
03 MEM_RAT_CACHELESS_STORE_RAW: RAT(11)[R3].x___, R0, ARRAY_SIZE(4) MARK VPM
END_OF_PROGRAM
"""

BLEND = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_cb cb0[1]
sample_resource(0)_sampler(0) r0, vWinCoord0.xy00
mad o0, r0, cb0[0].xxxx, cb0[0].yyyy
end
"""
NEXT = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000
dcl_cb cb0[1]
add r0, cb0[0], l0
mov o0, r0
end
"""
SCATTER = """kernel void scatter(global int *to, global const int *from, int n, int step) {
    int i = get_global_id(0);
    if (i < n)
        to[i * step] = from[i];
}
kernel void wait(global volatile int *flag) { while (flag[0] == 0) {} }
"""
PRINTF = r"""
void tell(int n, float x) { if (n > 0) printf("%d: %f\\ %s%s|%-4s\n", n, x, "", "a\\b", "four"); }
kernel void k(global const int *i, global const float *f, global const char4 *c, global const short2 *s,
              global const long *l) {
  int n = get_global_id(0);
  uchar3 u = (uchar3)(n, 200, 255);
  printf("%d %5d|%-4x|%c: %u %e %a %.3f%%\n", n, i[n], i[n], 'a' + n, i[n], f[n], f[n], 1.1);
  printf("%v4hhd %v3hhu %v2hd %v4hlf %v3d\n", c[n], u, s[n], (float4)(f[n], 1, 2, 3), (int3)(n, -n, 7));
  if (n == 1) printf("one \\n line\n");
  tell(n, f[n]);
  printf("%ld %#lx %hhd %hu\n", l[n], l[n], (char)i[n], (ushort)i[n]);
}
kernel void many(void) { printf("work-item %d\n", (int)get_global_id(0)); }
kernel void silent(global int *a) { a[get_global_id(0)] = 1; }
"""


@pytest.mark.parametrize("device", ["hd3870", "hd6970"])
def test_a_pixel_shader_of_any_size(device):
    program = hw.compile(BLEND, language="il", device=device)
    for width, height in ((70, 5), (1, 9), (64, 1)):
        image = np.random.default_rng(width).random((height, width, 4), dtype=np.float32)
        out = np.zeros_like(image)
        program.main[(width, height), None](i0=image, cb0=[2.0, 0.5, 0, 0], o0=out, device=device)
        np.testing.assert_array_equal(out, image * 2 + np.float32(0.5))


@pytest.mark.parametrize("device", ["hd4870", "hd5870"])
def test_a_fault_names_the_line_the_work_item_and_the_buffer(device):
    program = hw.compile(SCATTER, language="opencl", device=device)
    to, values = np.zeros(100, np.int32), np.arange(50, dtype=np.int32)
    program.scatter[(50,), None](to, values, 50, 2, device=device)
    np.testing.assert_array_equal(to[::2], values)
    with pytest.raises(KernelFault) as caught:
        program.scatter[(50,), None](to, values, 50, 3, device=device)
    message = str(caught.value)
    assert (
        "<source>:4: error: work-item (34) of scatter writes 4 bytes at byte 408 of `int *to`, which has 400" in message
    )
    assert "to[i * step] = from[i];" in message


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870"])
def test_constant_buffers_hold_what_earlier_launches_of_a_queue_wrote(device):
    program = hw.compile(NEXT, language="il", device=device)
    a, b = (np.zeros((1, 1, 4), np.float32) for _ in range(2))
    with hw.Queue(device) as queue:
        for _ in range(3):
            program.main[(1, 1), None](cb0=a.reshape(1, 4), o0=b, queue=queue)
            program.main[(1, 1), None](cb0=b.reshape(1, 4), o0=a, queue=queue)
    assert a.ravel().tolist() == [6] * 4
    assert b.ravel().tolist() == [5] * 4


def test_a_fault_in_il_names_its_line_also_in_a_queue(tmp_path):
    """The global buffer has room for 8 of the pixels; what is written behind it is dropped, and a check tells of it."""
    source = (
        "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) v0.xy__\nftoi r0.x, v0.x\n\nmov g[r0.x], v0\nend\n"
    )
    (tmp_path / "bad.il").write_text(source)
    device = hw.device("hd4870")
    program = hw.compile(tmp_path / "bad.il", device=device)
    buffer = np.zeros((8, 4), np.float32)
    with hw.Queue(device) as queue:
        program.main[(8, 1), None](g=buffer, device=device, queue=queue)
        program.main[(16, 1), None](g=buffer, device=device, queue=queue)
    assert (buffer[:, 0] == np.arange(8) + 0.5).all()
    with pytest.raises(KernelFault) as caught, hw.Queue(device) as queue:
        program.main[(16, 1), None](g=buffer, device=device, queue=queue, check=True)
    assert "bad.il:5: error: work-item (8, 0)" in str(caught.value)
    assert "mov g[r0.x], v0" in str(caught.value)


def test_an_endless_kernel_is_stopped():
    program = hw.compile(SCATTER, language="opencl", device="hd5870")
    with pytest.raises(KernelFault, match="time limit"):
        program.wait[(64,), None](np.zeros(1, np.int32), device="hd5870", time_limit=0.3)


def test_bytes_beside_a_buffer_stay():
    source = "kernel void bytes(global uchar *a, int n) { int i = get_global_id(0); if (i < n) a[i] += 1; }"
    program = hw.compile(source, language="opencl", device="hd5870")
    whole = np.zeros(20, np.uint8)
    program.bytes[(64,), None](whole[3:14], 11, device="hd5870")
    np.testing.assert_array_equal(whole, [0] * 3 + [1] * 11 + [0] * 6)


def test_an_image_runs_below_the_devices_with_formats_of_cal():
    chip = hw.device("hd4870").chip
    loaded = load(image_of(BLEND, chip, "blend.il"), chip)
    pixels = np.random.default_rng(2).integers(0, 256, (6, 8, 4), dtype=np.uint8)
    out = np.zeros((6, 10, 4), np.float16)
    bindings = {
        "i0": View(pixels, CAL_FORMATS["UNORM_INT8_4"], 8, 6, dimensions=2),
        "cb0": View(np.array([1, 0, 0, 0], np.float32)),
        "o0": View(out, CAL_FORMATS["FLOAT16_4"], 8, 6, pitch=10, dimensions=2),
    }
    loaded.run(domain=(2, 1, 5, 4), bindings=bindings).wait()
    expected = np.zeros_like(out)
    expected[1:5, 2:7] = (pixels[1:5, 2:7] / np.float32(255)).astype(np.float16)
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(UsageError, match="not a resource"):
        loaded.run(domain=(0, 0, 1, 1), bindings={"z0": View(out)})
    with pytest.raises(LaunchError, match="domain or a number"):
        loaded.run(bindings=bindings)
    with pytest.raises(UsageError, match="machine code for rv770"):
        load(loaded.image, hw.device("hd5870").chip)


SHAPES = """
kernel void three(global float3 *out, global const float *a) {
    int i = get_global_id(0);
    out[i] = (float3)(a[i], a[i] + 1, a[i] + 2);
}
kernel void unchanged(global float4 *out, int n) {
    float4 x = (float4)(3.0f);
    for (int q = n & 3; q > 0; q--) { x.s32 = x.s23; }
    out[get_global_id(0)] = x;
}
"""


@pytest.mark.parametrize("chip", ["hd4870", "hd5870", "hd6970"])
def test_three_components_are_stored_by_the_first_wavefront_too(chip):
    out, a = np.full((128, 4), -9, np.float32), np.arange(128, dtype=np.float32)
    hw.compile(SHAPES).three[(128,), None](out, a, device=chip)
    np.testing.assert_array_equal(out[:, :3], a[:, None] + np.arange(3, dtype=np.float32))
    assert (out[:, 3] == -9).all()


@pytest.mark.parametrize("chip", ["hd4870", "hd5870", "hd6970"])
@pytest.mark.parametrize("n", [0, 1])
def test_components_that_turn_out_constant_are_stored(chip, n):
    out = np.zeros((64, 4), np.float32)
    hw.compile(SHAPES).unchanged[(64,), None](out, np.int32(n), device=chip)
    assert (out == 3).all()


def test_a_check_of_the_compiler_that_fails_is_an_error_with_the_kernels_name(monkeypatch):
    def fails(*_):
        raise AssertionError("a clause of 131 words")

    monkeypatch.setattr("headwater.isa.vliw.compiler.compile_program", fails)
    source = "kernel void never_seen_before(global int *out) { out[get_global_id(0)] = 4711; }"
    with pytest.raises(InternalError, match=r"never_seen_before.*131 words"):
        hw.compile(source).never_seen_before[(8,), None](np.zeros(8, np.int32), device="hd4870")


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "hd6970"])
def test_products_and_sums_that_must_not_be_contracted_are_the_cpus(device):
    """Where a*b+c may be contracted, the cpu rounds once and these chips' MULADD twice: escape times differ by that."""
    source = """kernel void escape(global int *o, float x, float y, float step) {
    float cx = x + get_global_id(0) * step, cy = y + get_global_id(1) * step, zx = 0, zy = 0; int i = 0;
    while (i < 200 && zx * zx + zy * zy < 4.0f) {
        float t = zx * zx - zy * zy + cx; zy = 2.0f * zx * zy + cy; zx = t; i++; }
    o[get_global_id(1) * 64 + get_global_id(0)] = i;\n}\n"""
    program = hw.compile("#pragma OPENCL FP_CONTRACT OFF\n" + source)
    found = {}
    for name in ("cpu", device):
        found[name] = np.zeros((64, 64), np.int32)
        program.escape[(64, 64), None](found[name], -0.8, 0.0, 0.004, device=name)
    np.testing.assert_array_equal(found[device], found["cpu"])


@pytest.mark.parametrize("device", ["hd5770", "hd6970"])
def test_printf_prints_what_the_cpu_prints(capsys, device):
    """One of them without doubles: floats are told as they are. In what order work-items print is open."""
    rng = np.random.default_rng(5)
    arguments = [
        rng.integers(-1000, 1000, 3).astype(np.int32),
        rng.normal(size=3).astype(np.float32),
        rng.integers(-128, 128, (3, 4)).astype(np.int8),
        rng.integers(-9999, 9999, (3, 2)).astype(np.int16),
        rng.integers(-(2**60), 2**60, 3),
    ]
    program = hw.compile(PRINTF, language="opencl")
    said = {}
    for where in ("cpu", device):
        program.k[(3,), (1,)](*arguments, device=where).wait()
        said[where] = sorted(capsys.readouterr().out.splitlines())
    assert said[device] == said["cpu"]
    assert len(said[device]) == 12
    program.silent[(64,), None](np.zeros(64, np.int32), device=device).wait()
    assert capsys.readouterr().out == ""


def test_printf_loses_what_does_not_fit(capsys):
    """A record has 8 bytes, the memory 1 MiB less the headers."""
    program = hw.compile(PRINTF, language="opencl")
    with pytest.warns(RuntimeWarning, match="printf's memory of 1,048,576 bytes was full"):
        program.many[(1 << 18,), (256,)](device="hd5870").wait()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(set(lines)) == (1 << 17) - 2


def test_exponentials_reach_down_to_the_least_normal_number():
    """These chips flush what is below, also on the way."""
    source = "kernel void k(global float *x) { size_t i = get_global_id(0); x[i] = exp2(x[i]); }"
    x = np.linspace(-126, -120, 256, dtype=np.float32)
    found = x.copy()
    hw.compile(source, language="opencl").k[(256,), (64,)](found, device="hd5870").wait()
    np.testing.assert_allclose(found, np.exp2(x.astype(np.float64)), rtol=3e-7)


def test_integers_become_floats_in_any_rounding_without_doubles():
    source = """kernel void k(global const int *x, global float *o) {
        size_t i = get_global_id(0); float4 all = (float4)(convert_float_rtz(x[i]), convert_float_rtp(x[i]),
            convert_float_rtn((uint)x[i]), convert_float_rtp((uint)x[i]));
        vstore4(all, i, o);
    }"""
    x = np.array([2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31), -1, 0, 7], np.int32)
    found = {}
    for device in ("cpu", "hd5770"):
        found[device] = np.zeros((len(x), 4), np.float32)
        hw.compile(source, language="opencl", device=device).k[(len(x),), None](x, found[device], device=device).wait()
    assert (found["hd5770"] == found["cpu"]).all()
    assert found["cpu"][2].tolist() == [2**31 - 128, 2**31, 2**31 - 128, 2**31]


@pytest.mark.parametrize("device", ["hd2600-xt", "hd4870"])
def test_library_functions_without_a_fused_multiply_add(device):
    """Their products lose nothing before the sum, so that powers are as exact as on the cpu device."""
    source = """#pragma OPENCL FP_CONTRACT OFF
    kernel void k(global float *x, global const float *y) {
        size_t i = get_global_id(0);
        x[i] = pow(x[i], y[i]) + sin(y[i]) * exp(x[i]);
    }"""
    rng = np.random.default_rng(7)
    x, y = rng.uniform(0.1, 20, 2048).astype(np.float32), rng.uniform(-20, 20, 2048).astype(np.float32)
    options = "-cl-fp32-correctly-rounded-divide-sqrt"
    program = hw.compile(source, language="opencl", options=options)
    found = {}
    for where in ("cpu", device):
        found[where] = x.copy()
        program.k[(2048,), (64,)](found[where], y, device=where).wait()
    np.testing.assert_array_equal(found[device], found["cpu"])


@pytest.mark.parametrize("device", ["hd4870", "hd5870"])
@pytest.mark.parametrize("size", [(1 << 32,), (1 << 16, 1 << 16), ((1 << 32) + 1, 1, 1)])
def test_sizes_beyond_the_chips_words_are_refused(device, size):
    program = hw.compile(SCATTER, device=device)
    to = np.zeros(4, np.int32)
    with pytest.raises(LaunchError, match="counts them in 32 bits"):
        program.scatter[size, None](to, to, 0, 1, device=device)


def test_a_program_of_amds_driver_finds_its_views_and_offset():
    args = (
        Argument(KernelArg("a", 0, 8, "global_buffer", "global", "int*", "", False), 11),
        Argument(KernelArg("b", 16, 8, "global_buffer", "global", "int*", "", False), 11),
        Argument(KernelArg("n", 32, 4, "by_value", "", "int", "", False)),
    )
    made = ShaderImage(
        "cypress", "cs", encode(parse(TWICE, "evergreen")), name="k", gprs=4, clause_temporaries=4,
        constant_buffers={0: 15, 1: 3}, uavs=(11, 8), abi="amd", args=args,
    )  # fmt: skip
    device = hw.device("hd5870")
    a, b = np.arange(100, 150, dtype=np.int32), np.zeros(50, np.int32)
    kernels(device, [made], "k.bin")["k"].prepare((40,), (40,), (10,))([a, b, 7], None, 20.0).wait()
    np.testing.assert_array_equal(b[10:], a[10:] + 7 - np.arange(40))
    assert not b[:10].any()


def test_group_functions_take_the_chips_own_sizes():
    """size_t has 32 bits there, and the device library has to define what is called."""
    program = hw.compile(
        """kernel void group(global const int *a, global int *b) {
          int g = get_global_id(1) * get_global_size(0) + get_global_id(0);
          b[g] = work_group_broadcast(a[g], 3, 1) + 1000 * work_group_reduce_max(a[g]);
        }
        """,
        options="-cl-std=CL2.0",
        device="hd5870",
    )
    a, b = np.random.default_rng(0).integers(0, 1000, (16, 16)).astype(np.int32), np.zeros((16, 16), np.int32)
    program.group[(16, 16), (8, 8)](a, b)
    tiles = a.reshape(2, 8, 2, 8)
    expected = tiles[:, 1:2, :, 3:4] + 1000 * tiles.max((1, 3), keepdims=True)
    np.testing.assert_array_equal(b.reshape(tiles.shape), np.broadcast_to(expected, tiles.shape))


GENERIC = """
float sum(const float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
void put(float *p, int i, float value) { p[i] = value; }
kernel void each(global const float *x, global const float *y, global float *out) {
  local float shared[64];
  float own[8];
  int i = get_local_id(0), at = get_global_id(0);
  put(shared, i, x[at]);
  for (int k = 0; k < 8; k++)
    put(own, k, k);
  barrier(CLK_LOCAL_MEM_FENCE);
  put(out, at, sum(shared, 64) + sum(own, 8) + sum((i & 1 ? x : y) + at, 1));
}
kernel void mixed(global float *x, int n) {
  float own[16];
  for (int i = 0; i < n; i++)
    own[i * 3 % 16] = i;
  const float *p = x;
  if (get_global_id(0) & 1)
    p = own;
  x[get_global_id(0)] = sum(p, n);
}
kernel void count(global atomic_int *a, global int *out) {
  local atomic_int counter;
  int expected = 0, i = get_global_id(0);
  if (get_local_id(0) == 0)
    atomic_init(&counter, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_fetch_add(&counter, i);
  atomic_fetch_max_explicit(a + 1, i, memory_order_relaxed, memory_scope_device);
  atomic_compare_exchange_strong(a, &expected, 7);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = atomic_load(&counter);
}
"""


def test_generic_pointers_that_lead_to_one_address_space():
    program = hw.compile(GENERIC, options="-cl-std=CL2.0", device="hd5870")
    x, y = np.random.default_rng(0).random((2, 64), np.float32)
    out = np.zeros_like(x)
    program.each[(64,), (64,)](x, y, out)
    np.testing.assert_allclose(out, x.sum() + 28 + np.where(np.arange(64) & 1, x, y), rtol=1e-6)
    with pytest.raises(SourceError, match="a pointer of unknown address space"):
        program.mixed[(64,), (64,)](x, 4)


def test_atomic_functions_of_opencl_2():
    program = hw.compile(GENERIC, options="-cl-std=CL2.0", device="hd5870")
    a, out = np.zeros(2, np.int32), np.zeros(64, np.int32)
    program.count[(64,), (64,)](a, out)
    assert a.tolist() == [7, 63]
    assert (out == 2016).all()


VARIABLES = "global int counter = 5, table[4] = {1, 2, 3, 4};\n"


def test_variables_of_the_program_are_read_only():
    for body in ("counter += 1;", "table[n & 3] = n;", "atomic_inc(table + n);", "int2 v = 1; vstore2(v, n, table);"):
        kernel = f"kernel void k(int n) {{ {body} }}"
        with pytest.raises(
            SourceError, match=r":2:\d+: error: the kernel writes to a variable of the program"
        ) as caught:
            hw.compile(f"{VARIABLES}{kernel}", options="-cl-std=CL2.0", device="hd5870")
        assert "pass a buffer" in str(caught.value)
    reads = f"{VARIABLES}kernel void k(global int *x, int n) {{ x[0] = table[n] + counter; }}"
    x = np.zeros(1, np.int32)
    hw.compile(reads, options="-cl-std=CL2.0", device="hd5870").k[1, None](x, 2)
    assert x[0] == 8


SIZES = """
kernel void any(global int4 *out) {
  int at = get_global_id(1) * get_global_size(0) + get_global_id(0);
  out[at] = (int4)(get_local_size(0), get_local_size(1), get_enqueued_local_size(0), get_enqueued_local_size(1));
}
kernel __attribute__((reqd_work_group_size(16, 4, 1))) void required(global int4 *out) {
  int at = get_global_id(1) * get_global_size(0) + get_global_id(0);
  out[at] = (int4)(get_local_size(0), get_local_size(1), get_enqueued_local_size(0), get_enqueued_local_size(1));
}
"""


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870", "hd7970"])
@pytest.mark.parametrize("kernel", ["any", "required"])
def test_groups_at_the_edge_know_that_they_are_smaller(kernel, device):
    program = hw.compile(SIZES, options="-cl-std=CL2.0", device=device)
    out = np.zeros((10, 40, 4), np.int32)
    program.kernels[kernel][(40, 10), (16, 4)](out)
    assert out[0, 0].tolist() == [16, 4, 16, 4]
    assert out[0, 39].tolist() == [8, 4, 16, 4]
    assert out[9, 0].tolist() == [16, 2, 16, 4]
    assert out[9, 39].tolist() == [8, 2, 16, 4]

"""The device library on an emulated GPU: what GCN has of its own gives what the cpu device gives, and keeps OpenCL's bounds."""

import numpy as np
import pytest
from ulp import FUNCTIONS, measure

import headwater as hw

TYPES = {"f": "float", "d": "double", "Dh": "half"}
# Those that the GPU's own instructions compute, and one of each kind that comes from the common library.
MEASURED = {"f": "exp exp2 exp10 log log2 log10 sqrt rsqrt sin pow", "d": "exp log rsqrt", "Dh": "exp log"}


def maths_program(code):
    """One kernel for all functions: its argument says which."""
    name = TYPES[code]
    chosen = MEASURED[code].split()
    cases = [
        f"case {at}: r = {name_of}(x[i]{', y[i]' if name_of == 'pow' else ''}); break;"
        for at, name_of in enumerate(chosen)
    ]
    return hw.compile(f"""
kernel void k(global {name} *o, global const {name} *x, global const {name} *y, int n, int which) {{
  int i = get_global_id(0);
  if (i >= n) return;
  {name} r = 0;
  switch (which) {{ {" ".join(cases)} }}
  o[i] = r;
}}""")


@pytest.mark.parametrize("code", TYPES, ids=TYPES.get)
def test_maths_stay_within_the_table(code):
    program, chosen = maths_program(code), MEASURED[code].split()

    def compiler(name, types, result):
        def run(*given):
            x = np.ascontiguousarray(given[0])
            out, size = np.zeros_like(x), -(-x.size // 64) * 64
            program.k[(size,), (64,)](out, x, given[-1], x.size, chosen.index(name), device="vega64").wait()
            return (out,)

        return run

    for function in FUNCTIONS:
        if function.name in chosen:
            worst, where = measure(function, code, samples=60, compiler=compiler)
            assert worst <= function.limit(code), f"{function.name} is {worst} ULP off at {where}"


def on_both(source, options, global_size, local_size, make, chip="vega64", **named):
    """The arrays that ``make`` gives after a launch on the cpu device and on the chip; they are expected to be equal."""
    program = hw.compile(source, language="opencl", options=options)
    results = []
    for device in ("cpu", chip):
        arguments = make()
        program.k[global_size, local_size](*arguments, device=device, **named).wait()
        results.append([a for a in arguments if isinstance(a, np.ndarray)])
    return zip(*results, strict=True)


SPECIAL = """
kernel void k(global float *o, global const float *x, global const float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float a = x[i], b = y[i];
  o[i] = exp(a); o[n + i] = log(a); o[2 * n + i] = sqrt(a); o[3 * n + i] = rsqrt(a); o[4 * n + i] = fmax(a, b);
  o[5 * n + i] = fmin(a, b); o[6 * n + i] = exp2(a); o[7 * n + i] = log2(a); o[8 * n + i] = exp10(a);
  o[9 * n + i] = log10(a); o[10 * n + i] = a / b; o[11 * n + i] = round(a); o[12 * n + i] = rint(a);
  o[13 * n + i] = fma(a, b, a); o[14 * n + i] = copysign(a, b); o[15 * n + i] = ldexp(a, 5);
}"""


def test_special_cases_are_the_cpus():
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-40, -1e-40, 3e38, 0.5, 2.5, 89, -104], np.float32)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(edges, edges))
    count = x.size
    for cpu, chip in on_both(SPECIAL, "", (256,), (64,), lambda: [np.zeros((16, count), np.float32), x, y, count]):
        if cpu.ndim == 1:
            continue
        assert np.array_equal(np.isnan(cpu), np.isnan(chip))
        signed = cpu == 0
        signed[4:6] = False  # which zero fmax and fmin give is open
        assert np.array_equal(np.signbit(cpu[signed]), np.signbit(chip[signed]))
        np.testing.assert_allclose(chip, cpu, rtol=4e-7)


WORK_ITEMS = """
kernel void k(global ulong *o) {
  ulong at = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
  at = 13 * (at * 24 + get_local_linear_id());
  o[at] = get_global_id(0); o[at + 1] = get_global_id(1); o[at + 2] = get_global_id(2);
  o[at + 3] = get_local_id(0); o[at + 4] = get_local_size(0); o[at + 5] = get_local_size(1);
  o[at + 6] = get_global_size(0); o[at + 7] = get_num_groups(1); o[at + 8] = get_global_offset(1);
  o[at + 9] = get_work_dim(); o[at + 10] = get_global_linear_id(); o[at + 11] = get_global_size(3);
  o[at + 12] = get_local_id(5) + 1;
}"""


@pytest.mark.parametrize("chip", ["vega64", "hd7970"])
def test_work_items_know_where_they_are(chip):
    make = lambda: [np.zeros(13 * 24 * 12, np.uint64)]  # noqa: E731
    for cpu, emulated in on_both(WORK_ITEMS, "-cl-std=CL2.0", (8, 6, 6), (4, 3, 2), make, chip, offset=(5, 70, 0)):
        assert cpu.any()
        np.testing.assert_array_equal(emulated, cpu)


TOGETHER = """
kernel void k(global int *out, global float *least, global const int *in, global atomic_int *count, local float4 *tile,
              global float4 *data) {
  size_t i = get_global_id(0);
  int x = in[i];
  out[6 * i] = work_group_reduce_add(x);
  out[6 * i + 1] = work_group_scan_inclusive_add(x);
  out[6 * i + 2] = work_group_scan_exclusive_max(x);
  out[6 * i + 3] = work_group_broadcast(x, 3);
  out[6 * i + 4] = work_group_any(x == 5);
  out[6 * i + 5] = work_group_all(x < 90);
  least[i] = work_group_reduce_min((float)x);
  event_t e = async_work_group_copy(tile, data + 16 * get_group_id(0), 16, 0);
  wait_group_events(1, &e);
  data[i] = tile[15 - get_local_id(0)] * 2;
  atomic_fetch_add(count, 2);
  int wanted = 7;
  atomic_compare_exchange_strong(count + 1, &wanted, 9);
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
}"""


def test_work_groups_work_together():
    values = np.random.default_rng(0).integers(0, 100, 64).astype(np.int32)

    def make():
        data = np.arange(256, dtype=np.float32).reshape(64, 4)
        out, least, count = np.zeros((64, 6), np.int32), np.zeros(64, np.float32), np.array([0, 7], np.int32)
        return [out, least, values, count, hw.Local(256), data]

    for cpu, chip in on_both(TOGETHER, "-cl-std=CL2.0", (64,), (16,), make):
        np.testing.assert_array_equal(chip, cpu)


SUB_GROUPS = """
kernel void k(global const T *x, global T *out, global int *ids) {
  size_t i = get_global_id(0);
  T v = x[i];
  global T *o = out + 10 * i;
  o[0] = sub_group_scan_inclusive_add(v); o[1] = sub_group_scan_inclusive_min(v); o[2] = sub_group_scan_inclusive_max(v);
  o[3] = sub_group_scan_exclusive_add(v); o[4] = sub_group_scan_exclusive_min(v); o[5] = sub_group_scan_exclusive_max(v);
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  o[6] = sub_group_reduce_add(v); o[7] = sub_group_reduce_min(v); o[8] = sub_group_reduce_max(v);
  sub_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);
  o[9] = sub_group_broadcast(v, get_sub_group_size() / 2);
  global int *d = ids + 8 * i;
  d[0] = get_sub_group_size(); d[1] = get_max_sub_group_size(); d[2] = get_num_sub_groups();
  d[3] = get_enqueued_num_sub_groups(); d[4] = get_sub_group_id(); d[5] = get_sub_group_local_id();
  d[6] = sub_group_all(v != 7); d[7] = sub_group_any(v == 7);
}"""
LIMITS = {"int": (-(2**31), 2**31 - 1), "ulong": (0, 2**64 - 1), "half": (-np.inf, np.inf), "double": (-np.inf, np.inf)}


def scans(values, lowest, highest):
    """What a sub-group's functions give for its values, by column."""
    sums, least, most = np.cumsum(values), np.minimum.accumulate(values), np.maximum.accumulate(values)
    before = [np.concatenate([[first], scan[:-1]]) for first, scan in ((0, sums), (highest, least), (lowest, most))]
    alike = [np.full(len(values), one) for one in (sums[-1], least[-1], most[-1], values[len(values) // 2])]
    return np.stack([sums, least, most, *before, *alike], 1)


@pytest.mark.parametrize(
    ("kind", "chip"),
    [("int", "vega64"), ("ulong", "vega64"), ("half", "vega64"), ("int", "hd7970"), ("double", "hd7970")],
)
def test_sub_groups_are_wavefronts(kind, chip):
    dtype = {"int": np.int32, "ulong": np.uint64, "half": np.float16, "double": np.float64}[kind]
    program = hw.compile(SUB_GROUPS, language="opencl", options=f"-cl-std=CL3.0 -D T={kind}", device=chip)
    for local in (64, 100, 33):
        values = np.random.default_rng(local).integers(0, 20, 3 * local).astype(dtype)
        out, ids = np.zeros((3 * local, 10), dtype), np.zeros((3 * local, 8), np.int32)
        program.k[(3 * local,), (local,)](values, out, ids, device=chip).wait()
        parts = [range(g + s, g + min(s + 64, local)) for g in range(0, 3 * local, local) for s in range(0, local, 64)]
        for part in parts:
            mine, lanes = values[part], np.arange(len(part))
            np.testing.assert_array_equal(out[part], scans(mine, *(dtype(limit) for limit in LIMITS[kind])))
            whole, count = min(local, 64), -(-local // 64)
            facts = [len(part), whole, count, count, part[0] % local // 64, lanes, (mine != 7).all(), (mine == 7).any()]
            np.testing.assert_array_equal(ids[part], np.stack([lanes * 0 + fact for fact in facts], 1))


@pytest.mark.parametrize("kind", ["int", "ulong", "half", "double"])
def test_sub_groups_of_the_cpu_are_work_items(kind):
    dtype = {"int": np.int32, "ulong": np.uint64, "half": np.float16, "double": np.float64}[kind]
    program = hw.compile(SUB_GROUPS, language="opencl", options=f"-cl-std=CL3.0 -D T={kind}", device="cpu")
    values = np.random.default_rng(1).integers(0, 20, 3 * 100).astype(dtype)
    out, ids = np.zeros((300, 10), dtype), np.zeros((300, 8), np.int32)
    program.k[(300,), (100,)](values, out, ids, device="cpu").wait()
    for i, value in enumerate(values):
        np.testing.assert_array_equal(out[i : i + 1], scans(values[i : i + 1], *(dtype(x) for x in LIMITS[kind])))
        assert ids[i].tolist() == [1, 1, 100, 100, i % 100, 0, value != 7, value == 7]


def test_sub_groups_are_refused_where_there_are_none():
    for device, options in (("hd5870", "-cl-std=CL3.0"), ("vega64", "")):
        with pytest.raises(hw.SourceError, match=r"(?s)sub_group_all.*simulated GCN chips.*-cl-std=CL2\.0"):
            hw.compile("kernel void k(global int *a) { a[0] = sub_group_all(a[1]); }", options=options, device=device)


IMAGES = """
kernel void k(read_only image2d_t in, sampler_t given, write_only image2d_t out, global float4 *o, global int *sizes) {
  const sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
  int x = get_global_id(0), y = get_global_id(1), at = 2 * (y * get_global_size(0) + x);
  o[at] = read_imagef(in, given, (int2)(x - 2, y - 1));
  o[at + 1] = read_imagef(in, smooth, (float2)(x * 0.17f - 0.4f, y * 0.23f));
  write_imagef(out, (int2)(x, y), o[at] * 0.517f);
  sizes[0] = get_image_width(in); sizes[1] = get_image_height(in); sizes[2] = get_image_channel_order(in);
}"""


def test_images_are_sampled_as_on_the_cpu():
    """The chip's filter has weights of 8 bits for each axis."""
    pixels = np.random.default_rng(3).integers(0, 256, (8, 12, 4), np.uint8)
    program = hw.compile(IMAGES, language="opencl")
    results = []
    for device in ("cpu", "vega64"):
        written, samples, sizes = np.zeros_like(pixels), np.zeros((8, 12, 2, 4), np.float32), np.zeros(3, np.int32)
        sampler = hw.Sampler(addressing="clamp_to_edge")
        launch = program.k[(12, 8), (4, 4)]
        launch(hw.Image(pixels), sampler, hw.Image(written), samples, sizes, device=device).wait()
        results.append((written, samples, sizes))
    (written, samples, sizes), (written_again, samples_again, sizes_again) = results
    assert sizes.tolist()[:2] == [12, 8]
    assert written.any()
    np.testing.assert_array_equal(sizes_again, sizes)
    np.testing.assert_array_equal(written_again, written)
    np.testing.assert_allclose(samples_again[:, :, 0], samples[:, :, 0], atol=2e-6)
    np.testing.assert_allclose(samples_again[:, :, 1], samples[:, :, 1], atol=2 / 256)


PRINTF = r"""
kernel void k(global const int *i, global const float *f, global const double *d, global const char4 *c,
              global const uchar3 *u, global const short2 *s, global const long *l) {
  int n = get_global_id(0);
  printf("%d %5d|%-4x|%c: %u\n", n, i[n], i[n], 'a' + n, i[n]);
  printf("%f %e %g %a %.3f\n", f[n], f[n], f[n], f[n], 1.5);
  printf("%F %G %8.2f%%\n", d[n], d[n], d[n]);
  printf("%v4hhd %v3hhu %v2hd %v4hlf\n", c[n], u[n], s[n], (float4)(f[n], 1, 2, 3));
  printf("%ld %#lx %hhd %hu %s%10s|\n", l[n], l[n], (char)i[n], (ushort)i[n], "text:", "a\\b\t");
  if (n == 1) printf("one \\n line\n");
  printf("%s%s,%s,%-7s,%.2s,%d %s\n", "", "text", "a\\bc", "12345678", "four", n, "text");
}"""


def test_printf_prints_what_the_cpu_prints(capsys):
    rng = np.random.default_rng(5)
    arguments = [
        rng.integers(-1000, 1000, 3).astype(np.int32),
        rng.normal(size=3).astype(np.float32),
        rng.normal(size=3) * 1e9,
        rng.integers(-128, 128, (3, 4)).astype(np.int8),
        rng.integers(0, 256, (3, 4)).astype(np.uint8),
        rng.integers(-9999, 9999, (3, 2)).astype(np.int16),
        rng.integers(-(2**60), 2**60, 3),
    ]
    program = hw.compile(PRINTF, language="opencl")
    said = {}
    for device in ("cpu", "vega64"):
        program.k[(3,), (1,)](*arguments, device=device).wait()
        said[device] = capsys.readouterr().out
    # The order in which work-groups print is open.
    assert sorted(said["vega64"].splitlines()) == sorted(said["cpu"].splitlines())
    assert len(said["cpu"].splitlines()) == 19

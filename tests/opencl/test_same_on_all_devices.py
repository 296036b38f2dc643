"""What OpenCL C every device takes, with the same results, and what every device refuses, at the same place."""

import numpy as np
import pytest

import headwater as hw
from headwater.cli import main
from headwater.errors import SourceError

DEVICES = ("cpu", "hd4870", "hd5870", "hd7970", "vega64")


def ran(source, device, *more, kernel="k", options=""):
    """What a kernel of one int array, and ``more``, leaves there in 4 work-items."""
    out = np.zeros(8, np.int32)
    program = hw.compile(source, device=device, options=options)
    program[kernel][(4,), (4,)](out, *more, device=device)
    return out.tolist()


# ---------------------------------------------------------------------------------------------- taken


@pytest.mark.parametrize("device", DEVICES)
def test_pointers_to_other_types_are_a_warning(device):
    source = """kernel void k(global int *o) {
  global float *numbers = o;
  numbers[get_global_id(0)] = 2;
}"""
    program = hw.compile(source, device=device)
    assert "warning: incompatible pointer types" in program.warnings
    assert ran(source, device) == [0x40000000] * 4 + [0] * 4


PUNNED = """kernel void k(global int *o, global ulong *wide) {
  uint held[4];
  int i = get_global_id(0);
  float x = 2.5f;
  ushort h[4] = {1, 2, 3, 4};
  *(ulong *)h = 0x0005000600070008ul;
  held[i] = 0x70007;
  ((ushort *)held)[2 * i] = 9;
  wide[i] = 1;
  ((global uint *)wide)[2 * i + 1] = 3;
  int high = (int)(wide[i] >> 32);
  o[i] = 0x3f800000;
  *(global float *)&o[i] += 1.0f;
  int sum = o[i];
  o[i] = i == 0 ? sum : i == 1 ? *(int *)&x : i == 2 ? h[2] * 16 + high : (int)held[i];
}"""


@pytest.mark.parametrize("options", ["", "-cl-strict-aliasing"])
@pytest.mark.parametrize("device", DEVICES)
def test_memory_may_be_read_as_another_type_than_it_was_written(device, options):
    found = ran(PUNNED, device, np.zeros(4, np.uint64), options=options)
    assert found[:4] == [0x40000000, 0x40200000, 0x63, 0x70009]


EXPONENTS = """kernel void k(global int *o, global const float *x, global float *parts) {
  int i = get_global_id(0), e;
  parts[4 * i] = frexp(x[i], &e);
  parts[4 * i + 1] = logb(x[i]);
  parts[4 * i + 2] = ldexp(x[i], 149);
  parts[4 * i + 3] = powr(x[i], 0);
  o[2 * i] = e;
  o[2 * i + 1] = ilogb(x[i]);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970"])  # these chips flush denormals
def test_exponents_of_denormals_are_theirs(device):
    x, parts = np.array([2**-149, -3 * 2**-140, 2**-127, -(2**-126)], np.float32), np.zeros((4, 4), np.float32)
    found = ran(EXPONENTS, device, x, parts)
    mantissas, exponents = np.frexp(x)
    assert found[::2] == exponents.tolist()
    assert found[1::2] == (exponents - 1).tolist()
    assert (parts[:, :3] == np.stack([mantissas, exponents - 1, np.ldexp(x, 149)], 1)).all()
    assert np.isnan(parts[x < 0, 3]).all()


COMPARED = """kernel void k(global int *o, global const float *x) {
  int i = get_global_id(0);
  o[i] = (x[i] == 0.0f) | (x[i] != 0.0f) << 1 | !x[i] << 2;
  o[4 + i] = (x[i] > 0.0f) | (x[i] < 0.0f) << 1 | (x[i] == x[3]) << 2;
}"""


@pytest.mark.parametrize(("device", "kept"), [("cpu", 1), ("vega64", 1), ("hd7970", 0), ("hd5870", 0), ("hd4870", 0)])
def test_denormals_that_are_flushed_equal_zero(device, kept):
    x = np.array([2**-149, -3 * 2**-140, -(2**-126), 0], np.float32)
    known = x if kept else np.where(np.abs(x) < 2**-126, 0, x)
    zero = known == 0
    wanted = [*np.where(zero, 0b101, 0b010), *((known > 0) + 2 * (known < 0) + 4 * zero)]
    assert ran(COMPARED, device, x) == wanted


ROOTS = """kernel void k(global int *o, global const float *x, global const float *y, global float *made) {
  int i = get_global_id(0);
  made[2 * i] = cbrt(x[i]);
  made[2 * i + 1] = hypot(y[i], y[i] * 0x1p-9f);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870", "hd7970", "vega64"])  # but for two, they flush denormals
def test_roots_of_small_floats(device):
    x = np.array([2**-149, -5 * 2**-140, -(2**-127), 2**-126], np.float32)
    y = np.array([2**-48, 2**-59.5, -(2**-61), 2**-99], np.float32)
    made = np.zeros((4, 2), np.float32)
    ran(ROOTS, device, x, y, made)
    assert np.allclose(made[:, 0], np.cbrt(x.astype(np.float64)), rtol=3e-7, atol=0)
    assert np.allclose(made[:, 1], np.hypot(y.astype(np.float64), y * 2.0**-9), rtol=3e-7, atol=0)


MODULI = """kernel void k(global int *o, global const float *x, global const float *y, global float *made) {
  int i = get_global_id(0);
  made[2 * i] = remainder(x[i], y[i]);
  made[2 * i + 1] = fmod(x[i], y[i]);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870", "hd7970", "vega64", "mi300x"])
def test_remainders_of_large_quotients_are_exact(device):
    """Where the quotient may be one too small, what is left of the dividend takes a digit more than there are."""
    rng = np.random.default_rng(17)
    y = np.float32(rng.uniform(1.9, 2, 40000))
    x = np.float32(y * np.float64(2.0) ** rng.uniform(21.5, 22.1, 40000))
    made = np.zeros((40000, 2), np.float32)
    hw.compile(MODULI, device=device)["k"][40000](np.zeros(1, np.int32), x, y, made, device=device)
    fmod = np.fmod(x.astype(np.float64), y)
    assert (made[:, 1] == fmod).all()
    assert (made[:, 0] == np.where(fmod > y / np.float64(2), fmod - y, fmod)).all()


REMAINDERS = """kernel void k(global int *o, global const float *x, global const float *y) {
  int i = get_global_id(0), q;
  remquo(x[i], y[i], &q);
  o[i] = q;
}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "vega64"])
def test_quotients_round_as_remainders_that_are_flushed(device):
    x = np.float32([float.fromhex("-0x1.f4e888p+127"), 1.75 * 2**-125, 1.5 * 2**-126, 2.5])
    y = np.float32([float.fromhex("0x1.96436ap-126"), 2**-126, 2**-126, 1])
    assert ran(REMAINDERS, device, x, y)[:4] == [-33, 4, 2, 2]


QUOTIENTS = """kernel void k(global int *o, global const float *x, global const float *y, global float *made) {
  int i = get_global_id(0);
  made[2 * i] = x[i] / y[i];
  made[2 * i + 1] = x[i] / 3e38f;
}"""


@pytest.mark.parametrize("options", ["", "-cl-fp32-correctly-rounded-divide-sqrt"])
@pytest.mark.parametrize("device", ["hd4870", "hd5870", "hd7970", "vega64"])
def test_quotients_of_floats_by_large_ones(device, options):
    x = np.float32([np.inf, 3e38, -np.inf, 1])
    y = np.float32([np.finfo(np.float32).max, -3.4e38, 1e38, 2.0**97])
    made = np.zeros((4, 2), np.float32)
    ran(QUOTIENTS, device, x, y, made, options=options)
    assert np.allclose(made[:, 0], x / y, rtol=3e-7, atol=0)
    assert np.allclose(made[:3, 1], x[:3] / np.float32(3e38), rtol=3e-7, atol=0)


EXTREME = """kernel void k(global int *o, global const double *x, global const double *y, global double *made) {
  int i = get_global_id(0);
  made[3 * i] = x[i] / y[i];
  made[3 * i + 1] = sqrt(x[i]);
  made[3 * i + 2] = rsqrt(x[i]);
}"""


@pytest.mark.parametrize("device", ["hd4870", "hd5870"])
def test_quotients_of_extreme_doubles(device):
    x, y = np.array([1e-310, 5e-324, 1e-300, 1.2e308]), np.array([1e-310, 7e-309, 3e-310, 1.7e308])
    made = np.zeros((4, 3))
    ran(EXTREME, device, x, y, made)
    assert (made[:, 0] == x / y).all()
    assert (made[:, 1] == np.sqrt(x)).all()
    assert np.allclose(made[:, 2], 1 / np.sqrt(x), rtol=1e-15, atol=0)


@pytest.mark.parametrize("device", ["hd5870", "hd6970"])
def test_quotients_of_tiny_dividends(device):
    """What is left of these after a first quotient is smaller than every number."""
    source = """kernel void k(global const double *x, global const double *y, global double *made) {
      int i = get_global_id(0); made[i] = x[i] / y[i];
    }"""
    r = np.random.default_rng(3)
    x = np.ldexp(r.integers(1 << 52, 1 << 53, 512) * r.choice([-1.0, 1.0], 512), r.integers(-1074, -900, 512))
    x[:128] = np.ldexp(r.integers(1, 1 << 52, 128).astype(float), -1074)
    y, made = np.ldexp(r.integers(1 << 52, 1 << 53, 512).astype(float), r.integers(-1074, -300, 512)), np.zeros(512)
    hw.compile(source, device=device).k[(512,), (64,)](x, y, made)
    assert (made == x / y).all()


@pytest.mark.parametrize("device", ["hd3870", "hd4870", "hd5870", "hd6970", "vega64"])
def test_small_quotients_of_doubles(device):
    """Around the smallest normal number and below, with ties between two subnormal numbers and what is next to them."""
    source = """kernel void k(global const double *x, global const double *y, global double *made) {
      int i = get_global_id(0); made[i] = x[i] / y[i];
    }"""
    r = np.random.default_rng(8)
    y = r.integers(1 << 52, 1 << 53, 1024).astype(float)
    x = r.integers(1 << 52, 1 << 53, 1024) * r.choice([-1.0, 1.0], 1024)
    y[:256] = r.choice([1.0, 3.0, 5.0, 1 + 2.0**-52], 256)
    x[:256] = (2 * r.integers(1, 1 << 20, 256) + 1) * y[:256] * r.choice([1, 1 + 2.0**-52, 1 - 2.0**-53], 256)
    exponents = -1075 - np.r_[np.zeros(256), np.floor(np.log2(np.abs(x / y)[256:])) - r.integers(-2, 80, 768)]
    down = (exponents // 2).astype(int)
    x, y = np.ldexp(x, down), np.ldexp(y, down - exponents.astype(int))
    made = np.zeros(1024)
    hw.compile(source, device=device).k[(1024,), (64,)](x, y, made)
    assert (made.view(np.uint64) == (x / y).view(np.uint64)).all()


@pytest.mark.parametrize("device", ["hd3870", "hd4870", "hd5870"])
def test_reciprocals_and_roots_next_to_the_middle_of_two_doubles(device):
    """Of numbers whose significands are all ones, or nearly."""
    source = """kernel void k(global const double *x, global double *made) {
      int i = get_global_id(0); made[3 * i] = 1.0 / x[i]; made[3 * i + 1] = -8.0 / x[i]; made[3 * i + 2] = sqrt(x[i]);
    }"""
    r = np.random.default_rng(4)
    x = np.ldexp(
        1 - np.concatenate([np.zeros(24), r.integers(0, 9, 104)]) / (1 << 52) - 2.0**-53, r.integers(-9, 9, 128)
    )
    made = np.zeros((128, 3))
    hw.compile(source, device=device).k[(128,), (64,)](x, made)
    assert (made == np.stack([1 / x, -8 / x, np.sqrt(x)], 1)).all()


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "vega64"])
def test_a_number_wins_over_a_signalling_nan(device):
    """Before V_MIN_F32 and V_MAX_F32 in their IEEE mode, LLVM multiplies by 1.0, which makes NaNs quiet."""
    source = """kernel void k(global int *o, global const float *x, global const float *y, global float4 *made) {
      int i = get_global_id(0);
      made[i] = (float4)(fmin(x[i], y[i]), fmax(x[i], y[i]), minmag(x[i], y[i]), maxmag(x[i], 1.5f));
    }"""
    x, y = np.array([[0x7FA7AFAE, 0x40000000, 0xFF800001, 0x7FC00000], [0x40000000, 0x7F800001, 0xC0400000, 0x3F800000]],
                    np.uint32)  # fmt: skip
    made = np.zeros((4, 4), np.float32)
    ran(source, device, x.view(np.float32), y.view(np.float32), made)
    assert made[:, :3].tolist() == [[2] * 3, [2] * 3, [-3] * 3, [1] * 3]
    assert made[:, 3].tolist() == [1.5, 2, 1.5, 1.5]


@pytest.mark.parametrize("device", DEVICES)
def test_directed_roundings_of_doubles_below_the_normal_floats(device):
    """Chips that flush such floats make them nevertheless: a neighbour of 0 is no neighbour of what was flushed."""
    source = """kernel void k(global const double *x, global float *made) {
      int i = get_global_id(0);
      made[3 * i] = convert_float_rtz(x[i]);
      made[3 * i + 1] = convert_float_rtp(x[i]);
      made[3 * i + 2] = convert_float_rtn(x[i]);
    }"""
    random = np.random.default_rng(5)
    awkward = [
        0.0,
        2**-126,
        2**-149,
        2**-150,
        float.fromhex("0x1.fffffcp-127"),
        float.fromhex("0x1.fffffffp-127"),
        1e-310,
    ]
    x = np.concatenate([random.uniform(0.5, 1, 57) * 2.0 ** random.integers(-152, -118, 57), awkward])
    x = np.concatenate([x, -x])
    made = np.zeros((128, 3), np.float32)
    hw.compile(source, device=device).k[(128,), (64,)](x, made)
    near = x.astype(np.float32)
    up = np.where(near < x, np.nextafter(near, np.float32(1)), near)
    down = np.where(near > x, np.nextafter(near, np.float32(-1)), near)
    expected = np.stack([np.where(x < 0, up, down), up, down], 1)
    assert (made == expected).all()
    assert (np.signbit(made) == np.signbit(x)[:, None]).all()


@pytest.mark.parametrize("device", DEVICES)
def test_the_half_sine_is_good_for_large_arguments(device):
    """8192 units in the last place for |x| up to 2^16 (OpenCL C 1.2 specification, 7.4), next to zeros and poles, too."""
    source = """kernel void k(global const float *x, global float *made) {
      int i = get_global_id(0);
      made[3 * i] = half_sin(x[i]);
      made[3 * i + 1] = half_cos(x[i]);
      made[3 * i + 2] = half_tan(x[i]);
    }"""
    random = np.random.default_rng(6)
    x = np.float32(np.concatenate([random.integers(-41700, 41700, 127) * np.pi / 2, [1.5 * 2**-125]]))
    made = np.zeros((128, 3), np.float32)
    hw.compile(source, device=device).k[(128,), (64,)](x, made)
    wide = x.astype(np.float64)
    assert np.allclose(made, np.stack([np.sin(wide), np.cos(wide), np.tan(wide)], 1), rtol=2**-11, atol=0)


WHOLE = """kernel void k(global int *o, global const double *x, global double8 *made) {
  int i = get_global_id(0);
  double2 v = (double2)(x[i], -x[i]);
  made[i] = (double8)(floor(v), ceil(v), rint(v.x), trunc(v.y), round(v));
  o[2 * i] = convert_int_rtn(v.x) * 8 + (int)convert_long_rtn(v.y);
  o[2 * i + 1] = convert_int_rtp(v.x) * 8 + convert_int_rte(v.y);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "vega64"])
@pytest.mark.parametrize("x", [(-1e-300, -0.3, 0.0, 2.5), (0.49999999999999994, -1.5, 3.0000000000000004, -(2**-55))])
def test_whole_doubles_next_to_zero_and_to_halves(device, x):
    x, made = np.array(x), np.zeros((4, 8))
    found = ran(WHOLE, device, x, made)
    rounded = np.copysign(np.trunc(np.abs(x) + np.where(np.abs(x) == 0.49999999999999994, 0, 0.5)), x)
    expected = [np.floor(x), np.floor(-x), np.ceil(x), np.ceil(-x), np.rint(x), np.trunc(-x), rounded, -rounded]
    assert (made.view(np.uint64) == np.stack(expected, 1).view(np.uint64)).all()  # zeros have signs
    assert found[::2] == (np.floor(x) * 8 + np.floor(-x)).tolist()
    assert found[1::2] == (np.ceil(x) * 8 + np.rint(-x)).tolist()


@pytest.mark.parametrize("group", [1, 16])
@pytest.mark.parametrize("device", DEVICES)
def test_loops_may_stride_up_to_the_launchs_size(device, group):
    """LLVM counts these iterations in 65 bits, and divides that."""
    source = """kernel void k(global const short *in, global uint *out) {
      uint sum = 10;
      for (uint q = get_global_id(0); q <= (uint)get_global_size(0); q += 7) sum += (uint)in[q];
      out[get_global_id(0)] = sum;
    }"""
    numbers, out = np.arange(20, dtype=np.int16), np.zeros(16, np.uint32)
    hw.compile(source, device=device).k[(16,), (group,)](numbers, out, device=device)
    assert out.tolist() == [10 + int(numbers[first:17:7].sum()) for first in range(16)]


@pytest.mark.parametrize("device", DEVICES)
def test_sums_over_loops_may_be_polynomials(device):
    """LLVM takes such a loop away, and computes its result in 65 bits and more."""
    source = """kernel void k(global int *o, int n) {
      ulong sum = 0;
      for (ulong q = 0; q < (ulong)(n + get_global_id(0)); q++) sum += q * q * q + q;
      o[get_global_id(0)] = (int)(sum >> 3);
    }"""
    assert ran(source, device, 20)[:4] == [sum(q**3 + q for q in range(20 + i)) >> 3 for i in range(4)]


def test_warnings_are_shown_where_a_kernel_is_run(tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global ushort *o) {\n  global uint *w = o;\n  *w = 7;\n}\n")
    assert main(["run", str(tmp_path / "k.cl"), "zeros:4", "-g", "1"]) == 0
    assert "k.cl:2:16: warning: incompatible pointer types" in capsys.readouterr().err
    assert main(["run", str(tmp_path / "k.cl"), "zeros:4", "-g", "1", "-q"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_may_have_no_kernels(device):
    assert hw.compile("int helper(int x) { return x + 1; }\n", language="opencl", device=device).kernels == {}


def test_no_image_is_made_of_a_program_without_kernels(tmp_path, capsys):
    (tmp_path / "none.cl").write_text("int helper(int x) { return x + 1; }\n")
    assert main(["compile", str(tmp_path / "none.cl"), "--device", "hd5870"]) == 2
    assert "none.cl has no kernels" in capsys.readouterr().err


UNNAMED = """struct hidden;
kernel void k(global int *o, struct { int q[3]; } v, global const struct { int x; float y; } *s,
              global struct hidden *h, global struct inner { int z; } *n, global struct { char c[4]; } (*p)[3]) {
  o[get_global_id(0)] = v.q[1] + 10 * s[get_global_id(0)].x + n[1].z + p[1][2].c[3] + (h == 0);
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_structures_without_a_name_can_be_parameters(device):
    value = np.array([(1, 7, 3)], np.dtype("i4,i4,i4", align=True))
    pairs = np.array([(1, 0), (2, 0), (3, 0), (4, 0)], np.dtype("i4,f4", align=True))
    rows = np.zeros((2, 3, 4), np.int8)
    rows[1, 2, 3] = 2
    more = (value[0], pairs, None, np.array([5, 6], np.int32), rows)
    assert ran(UNNAMED, device, *more)[:4] == [26, 36, 46, 56]


NAMES = """struct Größe { int länge; };
constant int größte[2] = {4, 5};
__attribute__((overloadable)) int hälfte(int ä) { struct Größe é; é.länge = ä + größte[1]; return é.länge; }
__attribute__((overloadable)) int hälfte(float ä) { return 0; }
kernel void größe(global int *größer, int \\u00f1) {
  größer[get_global_id(0)] = hälfte(größer[get_global_id(0)]) + \\u00f1;
}
kernel void k(global int *o) { größe(o, 2); }
"""


@pytest.mark.parametrize("device", DEVICES)
def test_images_are_read(device):
    source = """
kernel void k(read_only image2d_t in, sampler_t how, global float4 *out) { *out = read_imagef(in, how, (int2)(1, 0)); }
"""
    picture = np.arange(16, dtype=np.float32).reshape(2, 2, 4)
    out = np.zeros((1, 4), np.float32)
    with hw.device(device):
        hw.compile(source, language="opencl").k[(1,), (1,)](hw.Image(picture), hw.Sampler(), out)
    assert out.tolist() == [[4, 5, 6, 7]]


@pytest.mark.parametrize("device", DEVICES)
def test_names_may_have_any_letters(device):
    program = hw.compile(NAMES, device=device)
    assert list(program.kernels) == ["größe", "k"]
    assert [a.name for a in program.größe.info.args] == ["größer", "ñ"]
    assert ran(NAMES, device, 3, kernel="größe")[:4] == [8] * 4
    assert ran(NAMES, device)[:4] == [7] * 4


@pytest.mark.parametrize("device", ["hd5870", "vega64"])
def test_names_with_any_letters_go_through_machine_code_and_its_text(device, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cl").write_text(NAMES)
    assert main(["compile", "k.cl", "--device", device, "--kernel", "größe", "-o", "k.bin"]) == 0
    capsys.readouterr()
    assert main(["disasm", "k.bin", "--format", "asm"]) == 0
    (tmp_path / "k.txt").write_text(capsys.readouterr().out)
    assert main(["asm", "k.txt", "-o", "again.bin"]) == 0
    for made in ("k.bin", "again.bin"):
        capsys.readouterr()
        assert main(["run", made, "zeros:4", "3", "--kernel", "größe", "-g", "4", "--device", device]) == 0
        assert "größer, int32 4, 8 to 8" in capsys.readouterr().out


def test_assembly_in_a_kernel_of_any_name():
    source = """kernel void größe(global int *o) {
  int r;
  __asm__ volatile("v_mov_b32 %0, 7" : "=v"(r));
  o[get_global_id(0)] = r;
}"""
    assert ran(source, "vega64", kernel="größe")[:4] == [7] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_what_another_file_might_replace_is_taken_as_it_is(device):
    source = """__attribute__((weak)) constant int c = 4;
__attribute__((weak)) int f(int x) { return x + c; }
extern constant int d;
constant int d = 5;
kernel void k(global int *o) { o[get_global_id(0)] = f(3) + d; }"""
    assert ran(source, device)[:4] == [12] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_the_maths_of_clangs_own_built_ins_is_the_librarys(device):
    source = """kernel void k(global int *o, float x) {
  float4 v = __builtin_elementwise_pow((float4)(x), (float4)(2, 3, 4, 5)) + __builtin_elementwise_tan((float4)(0.5f));
  float s = __builtin_sinf(x) + __builtin_expf(x) + __builtin_powif(x, 3) + v.w + sin(x);
  o[get_global_id(0)] = convert_int_rte(s * 1000);
}"""
    x = 1.5
    wanted = round(1000 * (2 * np.sin(x) + np.exp(x) + x**3 + x**5 + np.tan(0.5)))
    assert np.abs(np.array(ran(source, device, x)[:4]) - wanted).max() <= 1


@pytest.mark.parametrize("device", ["cpu", "hd5870", "vega64"])
def test_the_maths_of_clangs_own_built_ins_is_the_librarys_in_double(device):
    source = """kernel void k(global int *o, double x) {
  o[get_global_id(0)] = convert_int_rte(1000 * (__builtin_sin(x) + __builtin_pow(x, 2.5) + __builtin_exp(x)));
}"""
    assert ran(source, device, 1.5)[:4] == [round(1000 * (np.sin(1.5) + 1.5**2.5 + np.exp(1.5)))] * 4


ODD = """typedef _BitInt(45) S; typedef unsigned _BitInt(45) U;
kernel void k(global int *o) {
  int g = get_global_id(0);
  S s = (S)(g - 2) * 1000003 * 77777; U u = (U)(g + 3) * 123456789012UL;
  s = s / 7 + s % 1000 + (s >> 3); u = u / 9 + u % 77 + (u >> 11);
  S t = (S)((float)s * 0.5f);
  o[g] = (int)(s ^ (s >> 20)) + (int)(u >> 13) * 3 + (s < (S)u) * 5 + (u > (U)s) * 11 + (int)(t >> 5) + (s == 5);
}"""


def odd(g):
    """The same with Python's integers."""

    def signed(x, bits=45):
        return (x + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

    def quotient(a, b):
        return abs(a) // b * (1 if a > 0 else -1)

    s = signed((g - 2) * 1000003 * 77777)
    u = (g + 3) * 123456789012 % (1 << 45)
    s = signed(quotient(s, 7) + s - 1000 * quotient(s, 1000) + (s >> 3))
    u = (u // 9 + u % 77 + (u >> 11)) % (1 << 45)
    t = int(np.float32(np.float32(s) * np.float32(0.5)))
    comparisons = (s < signed(u)) * 5 + (u > s % (1 << 45)) * 11 + (s == 5)
    return signed((s ^ (s >> 20)) + (u >> 13) * 3 + comparisons + (t >> 5), 32)


@pytest.mark.parametrize("device", DEVICES)
def test_integers_of_other_widths(device):
    assert ran(ODD, device)[:4] == [odd(g) for g in range(4)]


ZERO_LESS = """
kernel void k(global float *o, global const float *a) {
  size_t i = get_global_id(0);
  float x = a[i];
  float4 v = (float4)(0, 1, 0, 2) - (float4)(x, x, a[0], x);
  float w = 0.0f - a[i ^ 1];
  o[i] = 0.0f - x;
  o[4 + i] = 1 / (0.0f - x);
  o[8 + i] = floor(0.0f - x);
  o[12 + i] = copysign(1.0f, 0.0f - x) * v.y;
  o[16 + i] = 1 / v.z + floor(v).x;
  o[20 + i] = -0.0f + floor(w);
  o[24 + i] = fma(w, 2.0f, -0.0f);
}"""
HALVES_LESS = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global half2 *o, global const uint *a) {
  size_t i = get_global_id(0);
  half2 x = (half2)(0.0h) - (half2)((half)a[i], (half)a[i ^ 1]);
  o[i] = x;
  o[4 + i] = (half2)(-0.0h) + floor(x);
}"""


@pytest.mark.parametrize("device", [*DEVICES, "r9-nano", "mi300x"])
def test_zero_less_zero_is_no_negative_zero(device):
    a, out = np.array([0, -0.0, 1, -2.5], np.float32), np.zeros(28, np.float32)
    hw.compile(ZERO_LESS, device=device).k[4](out, a)
    with np.errstate(divide="ignore"):
        zero, w = np.float32(0), np.float32(0) - a[[1, 0, 3, 2]]
        parts = [zero - a, 1 / (zero - a), np.floor(zero - a), np.copysign(1, zero - a) * (1 - a)]
        parts += [np.float32(np.inf) + np.floor(zero - a), np.floor(w) + np.float32(-0.0), w * 2 + np.float32(-0.0)]
    np.testing.assert_array_equal(out.view(np.uint32), np.concatenate(parts).astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("device", ["cpu", "hd7970", "r9-nano", "vega64", "mi300x"])
def test_zero_less_zero_is_no_negative_zero_of_halves(device):
    a, out = np.array([0, 3, 0, 0], np.uint32), np.zeros((8, 2), np.float16)
    hw.compile(HALVES_LESS, device=device).k[4](out, a)
    x = np.float16(0) - np.stack((a, a[[1, 0, 3, 2]]), axis=-1).astype(np.float16)
    expected = np.concatenate((x, np.float16(-0.0) + np.floor(x)))
    np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


LESS_OR_ZERO = """
{pragma}
kernel void k(global {ty} *o, global const {ty} *a) {{
  size_t i = get_global_id(0);
  {ty} x = a[i];
  {ty}2 v = ({ty}2)(x, -x);
  o[i * 4] = x < 0 ? x : 0;
  o[i * 4 + 1] = x > 0 ? x : 0;
  v = v < ({ty}2)(0) ? v : ({ty}2)(0, 1);
  o[i * 4 + 2] = v.x;
  o[i * 4 + 3] = v.y;
}}
kernel void others(global {ty} *o, global const {ty} *a) {{
  size_t i = get_global_id(0);
  {ty} x = a[i], zero = 0;
  o[i * 4] = -x < 0 ? x : -zero;
  o[i * 4 + 1] = !(x >= 0) ? zero : x;
  o[i * 4 + 2] = !(x <= 0) ? -zero : x;
  o[i * 4 + 3] = x < 0 ? x : -zero;
}}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "r9-nano", "vega64", "mi300x"])
@pytest.mark.parametrize("ty", ["half", "float", "double"])
def test_a_number_or_the_zero_that_it_is_compared_with(ty, device):
    number, bits = {"half": ("f2", "u2"), "float": ("f4", "u4"), "double": ("f8", "u8")}[ty]
    pragma = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable" if ty == "half" else ""
    a = np.array([0, -0.0, 1, -1, np.inf, -np.inf], number)
    out, zero = np.zeros((6, 4), number), np.zeros(6, number)
    program = hw.compile(LESS_OR_ZERO.format(ty=ty, pragma=pragma), device=device)
    program.others[6](out, a)
    parts = [np.where(a > 0, a, -zero), np.where(a < 0, zero, a), np.where(a > 0, -zero, a), np.where(a < 0, a, -zero)]
    np.testing.assert_array_equal(out.view(bits), np.stack(parts, axis=-1).astype(number).view(bits))
    program.k[6](out, a)
    parts = [
        np.where(a < 0, a, zero),
        np.where(a > 0, a, zero),
        np.where(a < 0, a, zero),
        np.where(-a < 0, -a, zero + 1),
    ]
    np.testing.assert_array_equal(out.view(bits), np.stack(parts, axis=-1).astype(number).view(bits))


OPPOSITES = """
kernel void k(global float *o, global const float *a) {
  size_t i = get_global_id(0);
  float x = a[i], y = fabs(x);
  o[i * 8] = x > 1 ? -1.0f : x;
  o[i * 8 + 1] = x < 1.5f ? x : -1.5f;
  o[i * 8 + 2] = 2.0f - (y <= 1.1f ? 1.1f : -y);
  o[i * 8 + 3] = x <= -1.1f ? x : 1.1f;
  vstore4((float4)(x, y, x, -x) < (float4)(2, 0, 1, 0) ? (float4)(x, y, x, -x) : (float4)(-2, -0.0f, 2, 1), i * 2 + 1, o);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "r9-nano", "vega64", "mi300x"])
def test_choices_of_the_opposite_of_what_is_compared(device):
    """LLVM 22 gives -x on gfx6 and gfx7."""
    x = np.array([0, -0.0, 1, -1, 1.5, -3, 0.5, np.inf, -np.inf], np.float32)
    out, y = np.zeros((9, 8), np.float32), np.abs(x)
    hw.compile(OPPOSITES, device=device).k[9](out, x)
    parts = [
        np.where(x > 1, -1, x),
        np.where(x < 1.5, x, -1.5),
        2 - np.where(y <= np.float32(1.1), np.float32(1.1), -y),
        np.where(x <= np.float32(-1.1), x, np.float32(1.1)),
        np.where(x < 2, x, -2),
        np.full(9, -0.0),
        np.where(x < 1, x, 2),
        np.where(-x < 0, -x, 1),
    ]
    expected = np.stack([part.astype(np.float32) for part in parts], axis=-1)
    np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))


ZERO_HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void k(global half *o, global const half *a) {
  size_t i = get_global_id(0);
  half x = a[i], y = a[i ^ 1];
  o[i * 4] = x;
  o[i * 4 + 1] = -0.0h;
  o[i * 4 + 2] = ceil(x >= y ? y : x) * trunc(x * 0.25h + 2.0h);
  o[i * 4 + 3] = (x < y ? x : y) * 3.0h + (x < 1.0h ? -1.0h : x);
}"""


@pytest.mark.parametrize("device", ["cpu", "hd5870", "hd7970", "r9-nano", "vega64", "mi300x"])
def test_zeros_of_halves_keep_their_signs(device):
    a, out = np.array([0, -0.0, 1, -1], np.float16), np.zeros((4, 4), np.float16)
    hw.compile(ZERO_HALVES, device=device).k[4](out, a)
    b = a[[1, 0, 3, 2]]
    lesser, least = np.where(a >= b, b, a), np.where(a < b, a, b)
    parts = [a, np.full_like(a, -0.0), np.ceil(lesser) * np.trunc(a * np.float16(0.25) + np.float16(2))]
    parts.append(least * np.float16(3) + np.where(a < 1, np.float16(-1), a))
    expected = np.stack(parts, axis=-1)
    np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


SATURATED = """
kernel void k(global uint *o, global const uint *a, uint m) {
  uint i = get_global_id(0);
  uint x = a[i] ^ m, y = a[i ^ 63];
  uint4 w = add_sat((uint4)(x, y, x + y, 7), (uint4)(0x123456, 0x6c, 0xf0000000, 0x777));
  o[i * 6] = add_sat(x, 0x6cu) | 0x6c;
  o[i * 6 + 1] = sub_sat(y, 0x12345u);
  o[i * 6 + 2] = sub_sat(0x80000001u, x);
  o[i * 6 + 3] = add_sat(y, 0xfffff000u) + 0x6c;
  o[i * 6 + 4] = w.x ^ w.y;
  o[i * 6 + 5] = (w.z | 0x123456) + w.w;
}"""


@pytest.mark.parametrize("device", [*DEVICES, "r9-nano"])
def test_sums_with_constants_saturate(device):
    a = np.random.default_rng(1).integers(0, 1 << 32, 64, dtype=np.uint32)
    out = np.zeros((64, 6), np.uint32)
    hw.compile(SATURATED, device=device).k[64](out, a, np.uint32(3))
    x, y, most = (a ^ np.uint32(3)).astype(np.int64), a[::-1].astype(np.int64), (1 << 32) - 1
    expected = [
        np.minimum(x + 0x6C, most) | 0x6C,
        np.maximum(y - 0x12345, 0),
        np.maximum(0x80000001 - x, 0),
        np.minimum(y + 0xFFFFF000, most) + 0x6C & most,
        np.minimum(x + 0x123456, most) ^ np.minimum(y + 0x6C, most),
        (np.minimum((x + y & most) + 0xF0000000, most) | 0x123456) + 0x77E & most,
    ]
    np.testing.assert_array_equal(out, np.stack(expected, axis=-1).astype(np.uint32))


FILLED = """
kernel void k(global int *o) {
  int i = get_global_id(0);
  uchar value = (uchar)(o[i] * 3 + 5 + i);
  uchar tiny[8];
  for (int n = 0; n < 8; n++) tiny[n] = (uchar)(n + i);
  tiny[i & 7] = value; tiny[4] = value; tiny[5] = value; tiny[6] = value; tiny[7] = value;
  global uchar *bytes = (global uchar *)(o + i);
  bytes[0] = value; bytes[1] = value; bytes[2] = value; bytes[3] = value;
  o[4 + i] = tiny[(i + 1) & 7] | tiny[4 + (i & 3)] << 8;
}"""


@pytest.mark.parametrize("device", DEVICES)
def test_neighbouring_bytes_of_one_value(device):
    expected = [(5 + i) * 0x01010101 for i in range(4)]
    expected += [(2 * i + 1) | (5 + i) << 8 for i in range(3)] + [8 | 8 << 8]
    assert ran(FILLED, device) == expected


# ---------------------------------------------------------------------------------------------- refused

K = "kernel void k(global int *o) {"
WRONG = {  # the message, and the source, in which @ is where the fault is
    "extern": ("elsewhere is declared extern", f"extern constant int elsewhere;\n{K}\n  o[0] = @elsewhere;\n}}"),
    "extern in an initialiser": (
        "elsewhere is declared extern",
        f"extern constant int @elsewhere;\nconstant int *constant p = &elsewhere;\n{K} o[0] = *p; }}",
    ),
    "extern array": ("elsewhere is declared", f"extern constant int elsewhere[];\n{K} o[0] = @elsewhere[o[1]]; }}"),
    "function": ("call of undefined function: f", f"int f(int x);\n{K} o[0] = @f(3); }}"),
    "weak function": ("call of undefined function: f", f"__attribute__((weak)) int f(int x);\n{K} o[0] = @f(3); }}"),
    "asm label": ("undefined function: elsewhere", f'int f(int x) __asm__("elsewhere");\n{K} o[0] = @f(3); }}'),
    "alias of a function": (
        "g is declared as an alias",
        f'int f(int x) {{ return x; }}\nint @g(int x) __attribute__((alias("f")));\n{K} o[0] = g(3); }}',
    ),
    "alias of a constant": (
        "d is declared as an alias",
        f'constant int c = 4;\nextern constant int @d __attribute__((alias("c")));\n{K} o[0] = d; }}',
    ),
    "constructor": ("nothing runs before", f"__attribute__((@constructor)) void f(void) {{ }}\n{K} o[0] = 1; }}"),
    "assembly": ("assembly outside of functions", f'// asm\n  @__asm__(".globl z");\n{K} o[0] = 1; }}'),
    "recursion": ("supported: f calls", f"int f(int x) {{ return x ? @f(x - 1) : 0; }}\n{K} o[0] = f(o[0]); }}"),
    "recursive kernel": ("recursion is not supported: k calls", f"{K}\n  if (o[0]--) @k(o);\n}}"),
    "stack": (
        "stack memory whose size",
        f"{K}\n  private int *p = (private int *)@__builtin_alloca(o[1]);\n  p[o[2]] = 1; o[3] = p[o[4]];\n}}",
    ),
    "frames": ("have no stack", f"{K}\n  o[0] = (int)(size_t)@__builtin_frame_address(0);\n}}"),
    "variable length": ("variable length arrays", f"{K}\n  int p[@o[0]];\n  p[o[2]] = 1; o[3] = p[o[4]];\n}}"),
    "address space": (
        "no address space 77",
        f"void f(int x) {{ }}\n{K} __attribute__((@address_space(77))) int *p; o[2] = *p; }}",
    ),
    "address space by a macro": (
        "no address space 2",
        f"#define N 2\n#define A(n) __attribute__((@address_space(n)))\nvoid f(A(N) int *a) {{ }}\n{K} }}",
    ),
    "function pointer": ("pointers to functions", f"int f(int x) {{ return x; }}\n{K} int (@*p)(int) = f; }}"),
    "varargs": ("variadic arguments", f"int @f(int x, ...);\n{K} o[0] = f(1, 2); }}"),
    "thread": ("does not support the '_Thread_local'", f"@_Thread_local constant int t = 4;\n{K} o[0] = t; }}"),
    "large constant": ("array is too large", f"constant char @c[(1L << 31) + 4] = {{1}};\n{K} o[0] = c[o[1]]; }}"),
    "large private array": ("array is too large", f"{K}\n  char @p[1L << 32];\n  p[o[0]] = 1; o[1] = p[o[2]];\n}}"),
    "large structure": (
        "array is too large",
        f"typedef struct {{ char c[65536]; }} T;\n{K}\n  T @p[65536];\n  p[o[0]].c[3] = 1; o[1] = p[o[2]].c[4];\n}}",
    ),
    "large local array": ("array is too large", f"{K}\n  local char @p[1L << 32];\n  p[o[0]] = 1; o[1] = p[o[2]];\n}}"),
    "long long": ("of 128 bits are neither divided", f"{K} o[0] = (int)((long long)o[0] @/ o[1]); }}"),
}


@pytest.mark.parametrize("device", ["cpu", "hd5870", "vega64"])
@pytest.mark.parametrize("fault", WRONG)
def test_what_no_device_can_run_is_an_error_of_the_source(fault, device):
    message, marked = WRONG[fault]
    source = marked.replace("@", "")
    before = marked[: marked.index("@")]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(SourceError) as caught:
        ran(source, device)
    error = caught.value
    assert message in str(error)
    if "by a macro" in fault:  # where it is used
        line, column = 3, 0
    assert error.span.line == line
    assert error.source_line == source.splitlines()[line - 1]
    assert error.span.column == column or ("large" in fault and device == "hd5870")  # clang's own: where the size is


PRIVATE = """int f(global int *a, int i) {
  int tiny[3]; int @p[1 << 22];
  tiny[i & 1] = i; p[i] = a[i]; p[(i * 7) & 65535] = 2;
  return p[(i * 13) & 65535] + tiny[a[0] & 1];
}
kernel void k(global int *a) { a[get_global_id(0)] = f(a, get_global_id(0)); }"""
LOCAL = """kernel void other(global int *a) { a[0] = 1; }
kernel void k(global int *a) {
  local int tiny[3]; local int @p[70000];
  tiny[a[1] & 1] = 3; p[a[2]] = 2; p[a[3]] = 4;
  a[4] = p[a[5]] + tiny[a[6] & 1];
}"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("marked", "message"), [(PRIVATE, "private arrays of a work-item take 16777"), (LOCAL, "local")]
)
def test_too_much_memory_of_ones_own_is_told_at_the_largest_variable(marked, message, device):
    if device == "cpu" and marked is LOCAL:
        pytest.skip("the cpu device has 2 GiB of local memory")
    before = marked[: marked.index("@")]
    with pytest.raises(SourceError, match=rf"k(:| uses).*{message}.*") as caught:
        ran(marked.replace("@", ""), device)
    assert caught.value.span.line == before.count("\n") + 1
    assert caught.value.span.column == len(before) - before.rfind("\n")
    assert caught.value.hint

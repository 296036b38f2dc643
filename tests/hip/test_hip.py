"""HIP kernels against NumPy, on the cpu device and on chips."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DeviceError, LaunchError, SourceError, UsageError
from headwater.runtime.signature import prototype

DEVICES = ["cpu", "vega64", "mi250x"]

SOURCE = """
#include <hip/hip_runtime.h>
#include <cmath>
#include <limits>

struct Range { float low; int count; double high; };
extern __shared__ float scratch[];
__constant__ float weights[4] = {1, 2, 3, 4};

namespace tools {
template <typename T> __device__ T twice(T x) { return x + x; }

// Local memory that the kernel declares, and local memory of which the launch says the size.
template <typename T, int N> __global__ void __launch_bounds__(128) mirror(T *out, const T *__restrict__ in, int n) {
  __shared__ T tile[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = in[i] * (T)weights[i & 3];
  scratch[threadIdx.x] = in[i];
  __syncthreads();
  if (i < n) out[i] = twice(tile[N - 1 - threadIdx.x]) + (T)scratch[threadIdx.x ^ 1];
}
template __global__ void mirror<float, 64>(float *, const float *, int);
template __global__ void mirror<int, 64>(int *, const int *, int);
}

__global__ void sum(float *out, const float *in) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down(v, d);
  if (__lane_id() == 0) atomicAdd(out, v);
}

__global__ void shuffles(int4 *out, double *wide, const int *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  out[i] = make_int4(__shfl(v, 5), __shfl_up(v, 3, 16), __shfl_xor(v, 9), __shfl_down(v, 4, 8));
  wide[i] = __shfl_xor_sync(~0ull, v * 0.5, 1);
}

__global__ void votes(unsigned long long *out, int2 *any_all, const int *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __ballot(in[i] > 0);
  any_all[i] = make_int2(__any(in[i] > 3), __all(in[i] > -6));
}

__global__ void divergent_votes(unsigned long long *out, const int *in) {
  int i = threadIdx.x;
  if (in[i] & 1) out[i] = __ballot(in[i] > 0);
}

// Branches of which some lanes' way through the later ones follows from the earlier ones.
__global__ void votes_in_branches(unsigned long long *out, const int *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  unsigned long long some = 0, active = 0, either;
  if (v & 1) some = __ballot(v > 2);
  if (v & 1) {
    if (v > 3) active = __activemask();
    else active = ~__activemask();
  }
  if (v > 0) either = __ballot(v > 4);
  else either = __ballot(v < -4);
  out[3 * i] = some, out[3 * i + 1] = active, out[3 * i + 2] = either;
}

// The scan of CUDA's early libraries: lanes in step, no barrier.
__device__ void scan_in_step(volatile int *at) {
  for (int d = 1; d < 64; d *= 2) *at += at[-d];
}
__global__ void scan(int *out, const int *in) {
  __shared__ int places[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x, place = threadIdx.x + (threadIdx.x & ~63) + 64;
  volatile int *own = places + place;
  own[-64] = 0;
  *own = in[i];
  scan_in_step(own);
  out[i] = *own;
}

__global__ void histogram(unsigned *bins, float *most, const float *x, int n) {
  __shared__ unsigned mine[16];
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&mine[(int)(x[i] * 16)], 1u);
    atomicMax(most, x[i]);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void maths(float3 *out, double *e, const float *x, Range r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s, c;
  sincosf(x[i], &s, &c);
  out[i] = make_float3(s, expf(-fabsf(x[i])), __fsqrt_rn(c * c)) * r.low + r.low;
  int power;
  double part = frexp((double)x[i], &power);
  e[i] = part * pow(2.0, power) + std::max(r.high, (double)r.count) + std::numeric_limits<int>::min();
}

__global__ void bits(int4 *out, const int *x) {
  int i = threadIdx.x;
  out[i] = make_int4(__popc(x[i]), __clz(x[i]), __ffs(x[i]), (int)__brev(x[i]));
}

__global__ void intrinsics(int *out, const float *x, const int *a, __half *halves, float *lengths) {
  int i = threadIdx.x, n = blockDim.x, b = a[n - 1 - i];
  out[i] = __float2int_rn(x[i]);
  out[n + i] = __float2uint_rd(x[i]);
  out[2 * n + i] = __double2ll_ru(x[i]) >> 32;
  out[3 * n + i] = __float2ull_rz(x[i]) >> 32;
  out[4 * n + i] = __hadd(a[i], b);
  out[5 * n + i] = __rhadd(a[i], b);
  out[6 * n + i] = __uhadd(a[i], b);
  out[7 * n + i] = __usad(a[i], b, 1);
  out[8 * n + i] = __funnelshift_lc(a[i], b, 32);
  halves[i] = __hmax((__half)1, (__half)x[i]);
  lengths[i] = norm3df(x[i], 0, 1);
}

#define EACH_WAY(f, x) f##_rn(x), f##_rz(x), f##_ru(x), f##_rd(x)
__global__ void to_floats(float4 *out, double4 *wide, int a, unsigned long long b, long long c, double d) {
  out[0] = float4{EACH_WAY(__int2float, a)};
  out[1] = float4{EACH_WAY(__uint2float, (unsigned)b)};
  out[2] = float4{EACH_WAY(__ull2float, b)};
  out[3] = float4{EACH_WAY(__ll2float, c)};
  out[4] = float4{EACH_WAY(__double2float, d)};
  wide[0] = double4{EACH_WAY(__ll2double, c)};
  wide[1] = double4{EACH_WAY(__ull2double, b)};
}

__global__ void products(unsigned long long *out, const unsigned long long *x) {
  unsigned long long a = x[threadIdx.x], b = x[blockDim.x - 1 - threadIdx.x];
  out[3 * threadIdx.x] = __umul64hi(a, b);
  out[3 * threadIdx.x + 1] = __mul64hi(a, b);
  out[3 * threadIdx.x + 2] = __mul24(a, b);
}

__global__ void halves(__half *out, const __half2 *in) {
  __half2 sum = __hadd2(in[threadIdx.x], __float2half2_rn(1.0f));
  out[threadIdx.x] = __hmul(__low2half(sum), __high2half(sum));
}

__global__ void rows(float *out, int columns) {
  dim3 size = blockDim;
  int x = blockIdx.x * size.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * columns + x] = 1000 * y + x + 0.5f * gridDim.y;
}
"""
X = np.random.default_rng(3).random(256, np.float32) * 4 - 2
WHOLE = np.random.default_rng(4).integers(-5, 5, 256).astype(np.int32)


@pytest.fixture(scope="module", params=DEVICES)
def program(request):
    return hw.compile(SOURCE, language="hip", device=request.param)


@pytest.mark.parametrize("kind", ["float", "int"])
def test_templates_barriers_and_local_memory_of_both_kinds(program, kind):
    data = X if kind == "float" else WHOLE
    out = np.zeros_like(data)
    program[f"mirror<{kind}, 64>"][(256,), (64,)](out, data, 200, lds=256)
    tile = (data * np.tile(np.array([1, 2, 3, 4], data.dtype), 64)).reshape(4, 64)[:, ::-1].ravel()
    expected = 2 * tile + data.reshape(-1, 2)[:, ::-1].ravel()
    expected[200:] = 0
    assert (out == expected).all()


def test_shuffles(program):
    total = np.zeros(1, np.float32)
    program.sum[(256,), (128,)](total, X)
    assert abs(total[0] - X.sum()) < 1e-4
    out, wide = np.zeros((256, 4), np.int32), np.zeros(256)
    program.shuffles[(256,), (128,)](out, wide, WHOLE)
    waves, lanes = WHOLE.reshape(4, 64), np.arange(64)
    assert (out[:, 0] == waves[:, [5]].repeat(64, 1).ravel()).all()
    assert (out[:, 1] == waves[:, np.where(lanes % 16 < 3, lanes, lanes - 3)].ravel()).all()
    assert (out[:, 2] == waves[:, lanes ^ 9].ravel()).all()
    assert (out[:, 3] == waves[:, np.where(lanes % 8 + 4 >= 8, lanes, (lanes + 4) & 63)].ravel()).all()
    assert (wide == waves[:, lanes ^ 1].ravel() * 0.5).all()


def ballot(lanes):
    return sum(1 << lane for lane in range(64) if lanes[lane])


def test_votes(program):
    out, any_all = np.zeros(256, np.uint64), np.zeros((256, 2), np.int32)
    program.votes[(256,), (128,)](out, any_all, WHOLE)
    waves = WHOLE.reshape(4, 64)
    assert (out == np.array([ballot(wave > 0) for wave in waves], np.uint64).repeat(64)).all()
    assert (any_all == np.stack([(waves > 3).any(1), (waves > -6).all(1)], 1).repeat(64, 0)).all()


def test_votes_of_some_lanes(program):
    out = np.zeros(64, np.uint64)
    program.divergent_votes[(64,), (64,)](out, WHOLE)
    odd = (WHOLE[:64] & 1) != 0
    assert (out == np.where(odd, np.uint64(ballot(odd & (WHOLE[:64] > 0))), np.uint64(0))).all()


def test_votes_in_branches_that_follow_from_each_other(program):
    """LLVM would give the lanes that need less of a vote a shorter copy of it, before the others have voted."""
    out = np.zeros((256, 3), np.uint64)
    program.votes_in_branches[(256,), (128,)](out, WHOLE)
    for wave, found in zip(WHOLE.reshape(4, 64), out.reshape(4, 64, 3), strict=True):
        odd, positive, all_lanes = (wave & 1) != 0, wave > 0, (1 << 64) - 1
        some = np.where(odd, np.uint64(ballot(odd & (wave > 2))), np.uint64(0))
        active = np.uint64(ballot(odd & (wave > 3))), np.uint64(all_lanes ^ ballot(odd & (wave <= 3)))
        either = np.uint64(ballot(wave > 4)), np.uint64(ballot(wave < -4))
        np.testing.assert_array_equal(found[:, 0], some)
        np.testing.assert_array_equal(found[:, 1], np.where(odd, np.where(wave > 3, *active), np.uint64(0)))
        np.testing.assert_array_equal(found[:, 2], np.where(positive, *either))


@pytest.mark.parametrize("block", [64, 128])
def test_a_scan_through_volatile_shared_memory(program, block):
    out = np.zeros(256, np.int32)
    program.scan[(256,), (block,)](out, WHOLE)
    np.testing.assert_array_equal(out.reshape(4, 64), np.cumsum(WHOLE.reshape(4, 64), axis=1))
    with pytest.raises(hw.HeadwaterError, match="of scan writes 4 bytes at byte 252"):
        program.scan[(256,), (block,)](out[:63].copy(), WHOLE, check=True)


def test_atomics(program):
    x = np.random.default_rng(5).random(1000, np.float32)
    bins, most = np.zeros(16, np.uint32), np.zeros(1, np.float32)
    program.histogram[(1024,), (256,)](bins, most, x, 1000)
    assert (bins == np.histogram(x, 16, (0, 1))[0]).all()
    assert most[0] == x.max()


def test_mathematics_structures_and_vectors_of_three(program):
    out, e = np.zeros((256, 3), np.float32), np.zeros(256)
    given = np.array((0.5, 7, 2.25), np.dtype([("low", "f4"), ("count", "i4"), ("high", "f8")]))
    program.maths[(256,), (64,)](out, e, X, given)
    expected = np.stack([np.sin(X), np.exp(-abs(X)), abs(np.cos(X))], 1) * 0.5 + 0.5
    assert np.allclose(out, expected, rtol=1e-6, atol=1e-6)
    assert np.allclose(e, X.astype(np.float64) + 7 - 2.0**31, rtol=0, atol=1e-6)


def test_bits(program):
    out = np.zeros((64, 4), np.int32)
    x = np.random.default_rng(6).integers(-(2**31), 2**31, 64).astype(np.int32)
    x[0] = 0
    program.bits[(64,), (64,)](out, x)
    texts = [f"{n & 0xFFFFFFFF:032b}" for n in x.tolist()]
    assert out[:, 0].tolist() == [t.count("1") for t in texts]
    assert out[:, 1].tolist() == [len(t) - len(t.lstrip("0")) for t in texts]
    assert out[:, 2].tolist() == [t[::-1].find("1") + 1 for t in texts]
    assert out.view(np.uint32)[:, 3].tolist() == [int(t[::-1], 2) for t in texts]


def test_intrinsics_at_the_limits_of_their_types(program):
    x = np.array([np.nan, np.inf, -np.inf, 2.0**31, -(2.0**40), 1e30, 2.5, -3.5], np.float32)
    a = np.array([-(2**31), 2**31 - 1, -1, 2**31 - 2, 0, 7, -3, 2**31 - 1], np.int32)
    out, halves, lengths = np.zeros((9, 8), np.int32), np.zeros(8, np.float16), np.zeros(8, np.float32)
    program.intrinsics[(8,), (8,)](out, x, a, halves, lengths)
    most = 2**31 - 1
    assert out[0].tolist() == [0, most, -most - 1, most, -most - 1, most, 2, -4]
    assert out.view(np.uint32)[1].tolist() == [0, 2**32 - 1, 0, 2**31, 0, 2**32 - 1, 2, 0]
    assert out[2].tolist() == [0, most, -most - 1, 0, -256, most, 0, -1]
    assert out.view(np.uint32)[3].tolist() == [0, 2**32 - 1, 0, 0, 0, 2**32 - 1, 0, 0]
    pairs = [(int(p), int(q)) for p, q in zip(a, a[::-1], strict=True)]
    unsigned = [(p % 2**32, q % 2**32) for p, q in pairs]
    assert out[4].tolist() == [(p + q) >> 1 for p, q in pairs]
    assert out[5].tolist() == [(p + q + 1) >> 1 for p, q in pairs]
    assert out.view(np.uint32)[6].tolist() == [(p + q) >> 1 for p, q in unsigned]
    assert out.view(np.uint32)[7].tolist() == [(abs(p - q) + 1) % 2**32 for p, q in unsigned]
    assert (out[8] == a).all()
    with np.errstate(over="ignore"):
        assert (halves == np.fmax(np.float16(1), x.astype(np.float16))).all()
    finite = np.isfinite(x)
    assert np.allclose(lengths[finite], np.hypot(x[finite], 1), rtol=1e-6)


def test_conversions_to_floats_round_as_they_say(program):
    out, wide = np.zeros((5, 4), np.float32), np.zeros((2, 4))
    odd = 2**24 + 1
    program.to_floats[1, None](out, wide, np.int32(-odd), np.uint64(2**64 - 1), -(2**53) - 1, np.float64(odd))
    assert out[0].tolist() == [-(2**24), -(2**24), -(2**24), -(2**24) - 2]
    assert out[1].tolist() == [2**32, 2**32 - 2**8, 2**32, 2**32 - 2**8]
    assert out[2].tolist() == [2**64, 2**64 - 2**40, 2**64, 2**64 - 2**40]
    assert out[3].tolist() == [-(2**53), -(2**53), -(2**53), -(2**53) - 2**30]
    assert out[4].tolist() == [2**24, 2**24, 2**24 + 2, 2**24]
    assert wide[0].tolist() == [-(2**53), -(2**53), -(2**53), -(2**53) - 2]
    assert wide[1].tolist() == [2**64, 2**64 - 2**11, 2**64, 2**64 - 2**11]


def test_high_halves_of_products(program):
    x = np.array([2**64 - 1, 2**63, 0x123456789ABCDEF0, 2**32 - 1, 0, 3, 2**63 + 5, 2**64 - 1], np.uint64)
    out = np.zeros((8, 3), np.uint64)
    program.products[(8,), (8,)](out, x)
    signed = [n - 2**64 if n >> 63 else n for n in x.tolist()]
    low = [(n & 0xFFFFFF) - (n & 0x800000) * 2 for n in signed]
    assert out[:, 0].tolist() == [p * q >> 64 for p, q in zip(x.tolist(), x.tolist()[::-1], strict=True)]
    assert out[:, 1].tolist() == [(p * q >> 64) % 2**64 for p, q in zip(signed, signed[::-1], strict=True)]
    wrapped = [p * q % 2**32 for p, q in zip(low, low[::-1], strict=True)]
    assert (out[:, 2] % 2**32).tolist() == wrapped


def test_constants_and_wide_roundings_need_no_header():
    k = hw.compile("__global__ void k(double *x) { x[0] = NAN; x[1] = -INFINITY; x[2] = M_PI; x[3] = lrintf(x[3]); }").k
    x = np.array([0, 0, 0, 3e9])
    k[1, None](x, device="cpu")
    np.testing.assert_array_equal(x, [np.nan, -np.inf, np.pi, 3e9])


def test_halves(program):
    x = np.random.default_rng(7).random((64, 2)).astype(np.float16)
    out = np.zeros(64, np.float16)
    program.halves[(64,), (64,)](out, x)
    raised = x + np.float16(1)
    assert (out == raised[:, 0] * raised[:, 1]).all()


def test_two_dimensions(program):
    out = np.zeros((8, 64), np.float32)
    program.rows[(64, 8), (16, 4)](out, 64)
    assert (out == 1000 * np.arange(8)[:, None] + np.arange(64) + 1).all()


def test_kernels_are_named_and_declared_as_in_the_source():
    program = hw.compile(SOURCE, language="hip", device="cpu")
    assert list(program)[:2] == ["mirror<float, 64>", "mirror<int, 64>"]
    assert prototype(program["mirror<float, 64>"].info) == "mirror<float, 64>(float *out, const float *in, int n)"
    assert prototype(program.maths.info) == "maths(struct float3 *out, double *e, const float *x, Range r)"
    overloads = """
    namespace a { __global__ void k(int *x) { *x = 1; } }
    __global__ void k(int *x) { *x = 2; }
    __global__ void k(float *x) { *x = 3; }
    """
    assert sorted(hw.compile(overloads, language="hip", device="cpu")) == ["a::k", "k(float*)", "k(int*)"]


def test_a_program_may_have_functions_of_the_library_s_names():
    text = """
    __device__ float mad(float a, float b, float c) { return a - b - c; }
    __device__ float clamp(float x, float low, float high) { return x + low + high; }
    __global__ void k(float *x) { x[0] = mad(1, 2, 3); x[1] = clamp(1, 2, 3); x[2] = fmaf(2, 3, 4); }
    """
    for device in DEVICES:
        out = np.zeros(3, np.float32)
        hw.compile(text, device=device).k[1, None](out)
        assert out.tolist() == [-4, 6, 10]


def test_local_memory_beyond_what_a_launch_gives_is_found():
    text = "extern __shared__ int s[]; __global__ void k(int *o) { s[threadIdx.x] = 1; __syncthreads(); *o = s[0]; }"
    for device in DEVICES:
        k = hw.compile(text, device=device).k
        k[(64,), (64,)](np.zeros(1, np.int32), lds=256, check=True)
        with pytest.raises(hw.KernelFault, match=r"\(63\) of k writes 4 bytes at byte 252 of .* 252"):
            k[(64,), (64,)](np.zeros(1, np.int32), lds=252, check=True)
        with pytest.raises(LaunchError, match="extern __shared__ memory"):
            k[(64,), (64,)](np.zeros(1, np.int32))


def test_accesses_outside_are_told_with_their_line(tmp_path):
    path = tmp_path / "k.hip"
    path.write_text("__global__ void k(float *x) {\n  x[threadIdx.x + 1] = 1;\n}\n")
    for device in DEVICES:
        with pytest.raises(hw.KernelFault, match=r"k\.hip:2:(.|\n)*`float \*x`") as caught:
            hw.compile(path, device=device).k[(64,), (64,)](np.zeros(64, np.float32), check=True)
        assert "x[threadIdx.x + 1]" in str(caught.value)


def test_bounds_of_launches_hold():
    for device in DEVICES:
        k = hw.compile("__global__ void __launch_bounds__(64 * 2, 2) k(int *x) { *x = 1; }", device=device).k
        k[(256,), (128,)](np.zeros(1, np.int32))
        with pytest.raises(LaunchError, match="groups of up to 128 work-items"):
            k[(256,), (256,)](np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__global__ void k(float *x) {\n  *x = y;\n}", r":2:8: error: use of undeclared identifier 'y'"),
        ("int main() {\n  float *d;\n  hipMalloc(&d, 4);\n}", r":3:3: error: hipMalloc is the host's part of HIP"),
        ("__global__ void k() {}\nvoid f() { k<<<1, 64>>>(); }", r":2:13: error: a kernel is launched with <<<"),
        ("#include <iostream>\n__global__ void k() {}", r":1:10: error: iostream is for the host's part"),
        (
            "__constant__ int c[4];\n__global__ void k(int *x) { *x = c[1]; }",
            r":1:18: error: __constant__ c has no val",
        ),
        ("__device__ int f(int);\n__global__ void k(int *x) { *x = f(1); }", r"call of undefined function: f"),
    ],
)
def test_errors_have_their_place(text, message):
    for device in ("cpu", "vega64"):
        with pytest.raises(SourceError, match=message):
            hw.compile(text, language="hip", device=device)["k"]


def test_other_devices_say_what_takes_hip():
    with pytest.raises(DeviceError, match="GCN and CDNA chips and for the cpu device only"):
        hw.compile("__global__ void k() {}", device="hd5870")
    with pytest.raises(UsageError, match=r"unknown option '-cl-std=CL2\.0' for HIP"):
        hw.compile("__global__ void k() {}", options="-cl-std=CL2.0")


def test_options_reach_the_compiler(tmp_path):
    (tmp_path / "scale.h").write_text("#define SCALE 3\n")
    text = '#include "scale.h"\n__global__ void k(int *x) { *x = SCALE * N; }'
    out = np.zeros(1, np.int32)
    hw.compile(text, options=f"-D N=5 -I {tmp_path} -std=c++20", device="cpu").k[1, None](out)
    assert out[0] == 15
    (tmp_path / "scale.h").write_text("#define SCALE 4\n")
    hw.compile(text, options=f"-D N=5 -I {tmp_path} -std=c++20", device="cpu").k[1, None](out)
    assert out[0] == 20


def test_commands_take_it(tmp_path, capsys):
    from headwater.cli import main

    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float *x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] *= a; }\n")
    out = tmp_path / "out.npy"
    assert main(["run", str(path), "ones:64", "a=2", "--device", "mi250x", "-o", str(out)]) == 0
    assert (np.load(out) == 2).all()
    assert main(["analyze", str(path), "--device", "mi250x"]) == 0
    assert main(["simulate", str(path), "ones:64", "a=2", "--device", "mi250x"]) == 0
    assert main(["disasm", str(path), "--device", "mi250x"]) == 0
    assert main(["check", str(path)]) == 0
    code = tmp_path / "k.hsaco"
    assert main(["compile", str(path), "--device", "mi250x", "-o", str(code)]) == 0
    assert main(["run", str(code), "argument1=ones:64", "argument2=2.0"]) != 0  # names are kept: x and a
    assert main(["run", str(code), "x=random:256", "a=0.0", "--global", "64", "--device", "mi250x"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("mask", ["0xffffffff", "-1"])
@pytest.mark.parametrize("vote", ["__any_sync", "__all_sync", "__ballot_sync"])
def test_votes_of_half_a_wavefront_are_refused(vote, mask):
    text = f"__global__ void k(int *o) {{\n  o[threadIdx.x] = {vote}({mask}, 1);\n}}"
    with pytest.raises(SourceError, match="64 bits, one for each thread of a wavefront") as caught:
        hw.compile(text, language="hip", device="vega64")
    assert caught.value.span.line == 2


def test_parameters_may_have_any_name():
    """Names that the vectoriser gives to its own parameters among them."""
    names = "dim stop stream launch frame state ahead".split()
    given = ", ".join(f"int {name}" for name in names)
    text = f"__global__ void k(int *args, {given}) {{ args[threadIdx.x] = {' + '.join(names)}; }}"
    for device in DEVICES:
        out = np.zeros(64, np.int32)
        hw.compile(text, language="hip", device=device).k[(64,), (64,)](out, *range(7))
        assert (out == 21).all()


@pytest.mark.parametrize("device", DEVICES)
def test_strings_are_data_whatever_they_look_like(device):
    said = 'user@f @_Z1fi, comdat , !dbg !3 externally_initialized \\" c\\"x\\"'
    text = (
        f'__device__ int f(int x) {{ return x + 1; }}\n__constant__ char t[] = "{said}";\n'
        "__global__ void k(int *o) { o[threadIdx.x] = threadIdx.x < sizeof t ? t[threadIdx.x] : f(threadIdx.x); }"
    )
    out = np.zeros(128, np.int32)
    hw.compile(text, language="hip", device=device).k[(128,), (128,)](out)
    wanted = said.replace("\\", "").encode() + b"\0"
    assert out.tolist() == [*wanted, *range(len(wanted) + 1, 129)]


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_launch_leaves_open_is_asked_for(device):
    text = """extern __shared__ int s[];
    __global__ void shared(int *o) { s[threadIdx.x] = 1; o[0] = s[0]; }
    __global__ void __launch_bounds__(64) bounded(int *o) { o[0] = blockDim.x; }
    __global__ void plain(int *o) { o[threadIdx.x] = 1; }"""
    program = hw.compile(text, language="hip", device=device)
    out = np.zeros(128, np.int32)
    with pytest.raises(LaunchError, match="extern __shared__ memory"):
        program.shared[(64,), None](out)
    with pytest.raises(LaunchError, match=r"up to 64 work-items.*size open"):
        program.bounded[(128,), None](out)
    with pytest.raises(LaunchError, match=r"blocks of \(64,\) do not divide the grid's \(100,\) threads") as caught:
        program.plain[(100,), (64,)](out)
    assert "(128,)" in caught.value.hint
    assert "CL2.0" not in caught.value.hint
    assert not out.any()

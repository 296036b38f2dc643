"""The names of OpenCL C's built-in functions, for spelling hints and for tests of completeness."""

from __future__ import annotations

WORK_ITEM = """
get_work_dim get_global_size get_global_id get_local_size get_enqueued_local_size get_local_id get_num_groups
get_group_id get_global_offset get_global_linear_id get_local_linear_id""".split()

MATHS_1 = """
acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10 expm1 fabs floor
lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc""".split()
MATHS_2 = "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder".split()
MATHS_3 = "fma mad".split()
MATHS_OTHER = "fract frexp ilogb ldexp lgamma_r modf nan pown remquo rootn sincos".split()
MATHS_FAST_1 = "cos exp exp2 exp10 log log2 log10 recip rsqrt sin sqrt tan".split()
MATHS_FAST_2 = "divide powr".split()

INTEGER = """
abs abs_diff add_sat clamp clz ctz hadd mad24 mad_hi mad_sat max min mul24 mul_hi popcount rhadd rotate sub_sat
upsample""".split()
COMMON = "clamp degrees max min mix radians step smoothstep sign".split()
GEOMETRIC = "cross dot distance fast_distance length fast_length normalize fast_normalize".split()
RELATIONAL = """
isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered
isunordered signbit any all bitselect select""".split()
SYNCHRONISATION = """
barrier mem_fence read_mem_fence write_mem_fence work_group_barrier atomic_work_item_fence async_work_group_copy
async_work_group_strided_copy wait_group_events prefetch printf shuffle shuffle2 vec_step""".split()
ATOMIC = [f"atomic_{op}" for op in "add sub xchg inc dec cmpxchg min max and or xor".split()]
ATOM = [f"atom_{op}" for op in "add sub xchg inc dec cmpxchg min max and or xor".split()]
ATOMIC_C11 = """
atomic_init atomic_load atomic_store atomic_exchange atomic_compare_exchange_strong atomic_compare_exchange_weak
atomic_fetch_add atomic_fetch_sub atomic_fetch_or atomic_fetch_xor atomic_fetch_and atomic_fetch_min atomic_fetch_max
atomic_flag_test_and_set atomic_flag_clear""".split()
WORK_GROUP = ["work_group_all", "work_group_any", "work_group_broadcast"] + [
    f"work_group_{form}_{op}" for form in ("reduce", "scan_inclusive", "scan_exclusive") for op in ("add", "min", "max")
]
IMAGE = """
read_imagef read_imagei read_imageui read_imageh write_imagef write_imagei write_imageui write_imageh get_image_width
get_image_height get_image_depth get_image_dim get_image_array_size get_image_channel_data_type
get_image_channel_order""".split()

SCALARS = "char uchar short ushort int uint long ulong float double half".split()
WIDTHS = ("", "2", "3", "4", "8", "16")

CONVERSIONS = [
    f"convert_{scalar}{width}{sat}{rounding}"
    for scalar in SCALARS
    for width in WIDTHS
    for sat in (("",) if scalar in ("float", "double", "half") else ("", "_sat"))
    for rounding in ("", "_rte", "_rtz", "_rtp", "_rtn")
]
_HALF_ACCESS = [
    f"{name}{a}_half{width}{rounding}"
    for name, roundings in (("vload", ("",)), ("vstore", ("", "_rte", "_rtz", "_rtp", "_rtn")))
    for a in ("", "a")
    for width in (WIDTHS if not a else WIDTHS[1:])
    for rounding in roundings
]
ACCESS = [f"{name}{width}" for name in ("vload", "vstore") for width in WIDTHS[1:]] + _HALF_ACCESS

BUILTINS: tuple[str, ...] = tuple(
    sorted(
        {
            *WORK_ITEM,
            *MATHS_1,
            *MATHS_2,
            *MATHS_3,
            *MATHS_OTHER,
            *(f"{kind}_{name}" for kind in ("native", "half") for name in (*MATHS_FAST_1, *MATHS_FAST_2)),
            *INTEGER,
            *COMMON,
            *GEOMETRIC,
            *RELATIONAL,
            *SYNCHRONISATION,
            *ATOMIC,
            *ATOM,
            *ATOMIC_C11,
            *WORK_GROUP,
            *IMAGE,
            *CONVERSIONS,
            *ACCESS,
        }
    )
)

"""Input: a name of OpenCL C's built-in functions. Output: what it gives, and its meaning in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from headwater.errors import UsageError

SAME: Final = frozenset(
    """acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cbrt ceil copysign cos cosh cospi erf erfc
    exp     exp10 exp2 expm1
    fabs fdim floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 logb mad maxmag minmag
    nextafter pow pown powr remainder rint rootn round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc
    native_cos native_divide native_exp native_exp10 native_exp2 native_log native_log10 native_log2 native_powr
    native_recip native_rsqrt native_sin native_sqrt native_tan half_cos half_divide half_exp half_exp10 half_exp2
    half_log half_log10 half_log2 half_powr half_recip half_rsqrt half_sin half_sqrt half_tan
    clamp degrees max min mix radians sign smoothstep step cross normalize fast_normalize
    add_sat hadd rhadd clz ctz mad_hi mad_sat mul_hi rotate sub_sat popcount mad24 mul24 bitselect""".split()
)
"""Functions that give what their arguments are."""
SCALAR: Final = frozenset("dot length distance fast_length fast_distance".split())
"""Functions that give one component."""
WHOLE: Final = frozenset("mad24 mul24 popcount clz ctz rotate mul_hi mad_hi mad_sat add_sat sub_sat hadd rhadd".split())
INT: Final = frozenset("ilogb isequal isnotequal isgreater isless isfinite isinf isnan isnormal signbit".split())
"""Functions of numbers that give an int."""
INT_LAST: Final = frozenset("ldexp pown rootn".split())
"""Functions whose last argument is an int."""
UNSIGNED: Final = frozenset(("abs", "abs_diff"))
LOADS: Final = {f"vload{n}": n for n in (2, 3, 4, 8, 16)}
STORES: Final = {f"vstore{n}": n for n in (2, 3, 4, 8, 16)}
HALF: Final = frozenset(("vload_half", "vstore_half"))
IMAGES: Final = {"read_imagef": "float", "read_imagei": "int", "read_imageui": "uint"}
WRITES: Final = frozenset(("write_imagef", "write_imagei", "write_imageui"))
QUERIES: Final = frozenset(
    ("get_image_width", "get_image_height", "get_image_depth", "get_global_offset", "get_work_dim")
)
_PREFIXES: Final = ("as_", "convert_")


def exists(name: str) -> bool:
    """Whether kernels in Python can call the function."""
    known = (SAME, SCALAR, INT, UNSIGNED, LOADS, STORES, HALF, IMAGES, WRITES, QUERIES)
    return any(name in names for names in known) or name.startswith(_PREFIXES)


def _vload(width: int) -> Callable[..., Any]:
    def load(index: int, array: Any) -> Any:
        from headwater.python.types import of_dtype, vector

        part = array[index * width : (index + 1) * width]
        if len(part) != width:
            raise IndexError(f"vload{width}({index}, …) reads beyond the array")
        return vector(of_dtype(part.dtype), width)(*part)

    return load


def _vstore(width: int) -> Callable[..., None]:
    def store(value: Any, index: int, array: Any) -> None:
        if not 0 <= index * width <= len(array) - width:
            raise IndexError(f"vstore{width}(…, {index}, …) writes beyond the array")
        array[index * width : (index + 1) * width] = value.parts

    return store


def _norm(a: Any) -> float:
    return math.sqrt(sum(float(p) ** 2 for p in getattr(a, "parts", (a,))))


def _dot(a: Any, b: Any) -> Any:
    from headwater.python.vectors import dot

    return dot(a, b)


_PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "dot": _dot,
    "length": _norm,
    "distance": lambda a, b: _norm(a - b),
    "clamp": lambda x, low, high: min(max(x, low), high),
    "mix": lambda a, b, t: a + (b - a) * t,
    "mad": lambda a, b, c: a * b + c,
    "fma": lambda a, b, c: a * b + c,
    "mad24": lambda a, b, c: a * b + c,
    "mul24": lambda a, b: a * b,
    "min": min,
    "max": max,
    "fmin": min,
    "fmax": max,
    "abs": abs,
    "fabs": abs,
    "rint": round,
    "step": lambda edge, x: 0.0 if x < edge else 1.0,
    "sign": lambda x: (x > 0) - (x < 0),
    "popcount": lambda x: int(x).bit_count(),
    "isnan": math.isnan,
    "isinf": math.isinf,
}


def plain(name: str) -> Callable[..., Any]:
    """The function in plain Python; one that says that there is none where it is not known."""
    if name in LOADS:
        return _vload(LOADS[name])
    if name in STORES:
        return _vstore(STORES[name])
    known = _PLAIN.get(name) or getattr(math, name.removeprefix("native_").removeprefix("half_"), None)
    if known is not None:
        return known

    def missing(*args: Any) -> Any:
        raise UsageError(f"hw.cl.{name} cannot be run in plain Python")

    return missing

"""ACML_MV, the vector maths library. Input: a name. Output: the function over arrays.

``vrda_exp(n, x, y)`` and its kind write y[i] = exp(x[i]) for the first n elements; ``fastexp(x)`` takes one number;
``vrd4_exp`` and ``vrs4_expf`` are the functions of two and four numbers that compilers called, over arrays of that
length. The processor's side is NumPy's loops.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from headwater.acml.native import whole
from headwater.acml.quick import loop
from headwater.errors import UsageError

FUNCTIONS = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10}
"""Of one argument, in both types; sincos, and pow and powx for float32, come from `names`."""
ULPS = {
    ("sin", "d"): 1.0, ("cos", "d"): 1.0, ("exp", "d"): 1.0, ("log", "d"): 1.0, ("log2", "d"): 1.0, ("log10", "d"): 1.5,
    ("sin", "s"): 2.0, ("cos", "s"): 2.0, ("exp", "s"): 3.0, ("log", "s"): 4.0, ("log2", "s"): 1.0, ("log10", "s"): 1.5,
    ("pow", "s"): 2.0,
}  # fmt: skip
"""Largest errors in units of the last place on the processor; float32's sin, cos, exp and log as NumPy states them."""


@cache
def names() -> dict[str, tuple[str, str, int | None]]:
    """Name -> function, type (d or s), and how many elements it takes (None: any, 1: a number)."""
    found: dict[str, tuple[str, str, int | None]] = {}
    for prefix, suffix, fixed in (("d", "", (2, 4)), ("s", "f", (4,))):
        functions = (*FUNCTIONS, "sincos", *(("pow", "powx") if prefix == "s" else ()))
        for function in functions:
            found[f"vr{prefix}a_{function}{suffix}"] = (function, prefix, None)
            for count in fixed:
                found[f"vr{prefix}{count}_{function}{suffix}"] = (function, prefix, count)
            if function != "powx":
                found[f"fast{function}{suffix}"] = (function, prefix, 1)
    found["fastpow"] = ("pow", "d", 1)
    return found


def function(name: str) -> Any:
    """The function of that name. KeyError if ACML_MV has none."""
    what, kind, count = names()[name]
    if count != 1 and what in FUNCTIONS:
        general = partial(_array, name, what, kind, count)
        if quick := loop(FUNCTIONS[what], name, "d" if kind == "d" else "f", count or 0, general):
            return quick
    made: Any = partial(_number, name, what, kind) if count == 1 else partial(_array, name, what, kind, count)
    made.__doc__ = f"``{name}``: {what} of ACML_MV; see `headwater.acml.vector`."
    return made


def _real(name: str, label: str, value: Any, dtype: Any) -> Any:
    """The value as a number of the type. UsageError if it is none."""
    try:
        return dtype(float(value))
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name}: {label} is a real number, not {value!r:.60}") from None


def _number(name: str, what: str, kind: str, *args: Any) -> Any:
    dtype = np.float64 if kind == "d" else np.float32
    count = 2 if what == "pow" else 1
    if len(args) != count:
        raise UsageError(f"{name} takes {count} arguments, not {len(args)}")
    numbers = [_real(name, "an argument", value, dtype) for value in args]
    with np.errstate(all="ignore"):
        if what == "sincos":
            return np.sin(numbers[0]), np.cos(numbers[0])
        return np.power(*numbers) if what == "pow" else FUNCTIONS[what](*numbers)


def _array(name: str, what: str, kind: str, fixed: int | None, *args: Any) -> None:
    """``n`` first where the length is not the name's, then the arrays, results last."""
    labels = ["x"] if what not in ("pow", "powx") else ["x", "y"]
    outs = ["y"] if what in FUNCTIONS else ["ys", "yc"] if what == "sincos" else ["z"]
    wanted = ([] if fixed else ["n"]) + labels + outs
    if len(args) != len(wanted):
        raise UsageError(f"{name}({', '.join(wanted)}) takes {len(wanted)} arguments, not {len(args)}")
    if fixed:
        n, arrays = fixed, args
    else:
        n, arrays = whole(args[0], "n", name), args[1:]
        if n < 0:
            raise UsageError(f"{name}: n is {n}, and a size is at least 0")
    dtype = np.dtype(np.float64 if kind == "d" else np.float32)
    parts = []
    for label, array in zip(wanted[-len(arrays) :], arrays, strict=True):
        if what == "powx" and label == "y":
            parts.append(_real(name, label, array, dtype.type))
            continue
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise UsageError(f"{name}: {label} is an array of one dimension of {dtype}")
        if array.size < n:
            raise UsageError(f"{name}: {label} has {array.size} elements, and {n} are needed")
        if label in outs and not array.flags.writeable:
            raise UsageError(f"{name}: {label} is written and cannot be: the array is read-only")
        parts.append(array[:n])
    with np.errstate(all="ignore"):
        if what == "sincos":
            x, sines, cosines = parts
            if np.shares_memory(sines, cosines):
                raise UsageError(f"{name}: ys shares memory with yc", hint="pass a copy")
            if np.shares_memory(x, sines):
                x = x.copy()
            np.sin(x, out=sines)
            np.cos(x, out=cosines)
        elif what in FUNCTIONS:
            FUNCTIONS[what](parts[0], out=parts[1])
        else:
            np.power(parts[0], parts[1], out=parts[2])

"""ACML's Fourier transforms. Input: a name. Output: the function in ACML's order of arguments.

``info = zfft1d(mode, n, x, comm)`` transforms in place. Both directions are scaled by 1/sqrt(n). Mode -1 is forward, 1
backward; 0 and 100 prepare, for which there is nothing to do here; -2 and 2 are both. ``comm`` may be None.

Real transforms (dzfft, scfft) have no direction: mode 1 or 2 transforms. They keep a Hermitian sequence in n numbers:
x[j] is the real part of Z(j) for j ≤ n/2, x[n - j] its imaginary part. zdfft and csfft take such a sequence forward to
real numbers; to invert dzfft, negate the imaginary parts first. Names that end in x (``zfft1dx``) have a scale,
increments, and a place for the result.

Order of arguments and storage: AMD Core Math Library 4.4 user guide, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from math import gcd, prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from headwater.acml.native import TYPES, extension, whole
from headwater.acml.quick import transform as compiled
from headwater.errors import UsageError

Array = np.ndarray[Any, np.dtype[Any]]

_COMPLEX = {
    "fft1d": "mode n x comm",
    "fft1m": "mode nseq n x comm",
    "fft2d": "mode m n x comm",
    "fft3d": "mode l m n x comm",
    "fft1dx": "mode scale inpl n x incx y incy comm",
    "fft1mx": "mode scale inpl nseq n x incx1 incx2 y incy1 incy2 comm",
    "fft2dx": "mode scale ltrans inpl m n x incx1 incx2 y incy1 incy2 comm",
    "fft3dx": "mode scale ltrans inpl l m n x y comm",
}
_REAL = {"fft": "mode n x comm", "fftm": "nseq n x comm"}


@cache
def names() -> dict[str, tuple[str, str, str]]:
    """Name -> type of its elements, the transform, and its arguments."""
    found = {f"{kind}{name}": (kind, name, text) for kind in "cz" for name, text in _COMPLEX.items()}
    for prefix, kind in (("dz", "d"), ("sc", "s"), ("zd", "d"), ("cs", "s")):
        to = "real" if prefix in ("zd", "cs") else "hermitian"
        for name, text in _REAL.items():
            found[prefix + name] = (kind, to, text)
    return found


def function(name: str) -> Any:
    """The function of that name. KeyError if ACML has none."""
    kind, transform, text = names()[name]
    made: Any = partial(_call, name, kind, transform, text.split())
    if transform == "fft1d" and (quick := compiled(name, TYPES[kind], made)):
        return quick
    made.__doc__ = f"``{name}({', '.join(text.split())})``: returns INFO; see `headwater.acml.fourier`."
    return made


def _call(name: str, kind: str, transform: str, arguments: list[str], *args: Any) -> int:
    if len(args) != len(arguments):
        raise UsageError(f"{name} takes {len(arguments)} arguments, not {len(args)}: {name}({', '.join(arguments)})")
    values = dict(zip(arguments, args, strict=True))
    real = transform in ("real", "hermitian")
    for position, label in enumerate(arguments, 1):
        if label in ("x", "y", "comm"):
            continue
        if label == "scale":
            try:
                values[label] = float(values[label])
            except (TypeError, ValueError, OverflowError):
                raise UsageError(f"{name}: scale is a real number, not {values[label]!r:.60}") from None
        elif label in ("inpl", "ltrans"):
            given = values[label]
            values[label] = bool(whole(int(given) if isinstance(given, np.bool_) else given, label, name))
        else:
            values[label] = number = whole(values[label], label, name)
            allowed = number >= (0 if label == "nseq" else 1)
            if label == "mode":
                allowed = number in ((0, 100, 1, 2) if real else (0, 100, -1, 1, -2, 2))
            if not allowed:
                return -position
    if values.get("mode", 1) in (0, 100):
        return 0
    extension()
    dtype = TYPES[kind]
    if real:
        _real(name, transform, values, dtype)
    else:
        _complex(name, values, dtype)
    return 0


def _view(name: str, label: str, values: dict[str, Any], shape: Sequence[int], steps: Sequence[int]) -> Array:
    """The elements of an argument that a transform uses: ``steps`` elements apart along each dimension of ``shape``."""
    array, dtype, written = values[label], values["dtype"], values["written"] == label
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        raise UsageError(f"{name}: {label} is a NumPy array of {dtype}")
    if not (array.flags.f_contiguous or (array.ndim > 1 and array.flags.c_contiguous and 1 in array.shape)):
        raise UsageError(f"{name}: {label} is not in Fortran's order", hint=f"{label} = np.asfortranarray({label})")
    needed = 1 + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True)) if 0 not in shape else 0
    if array.size < needed:
        raise UsageError(f"{name}: {label} has {array.size} elements, and {needed} are needed")
    if written and _overlap(shape, steps):
        raise UsageError(f"{name}: increments of {label} give elements of two sequences one place", hint="enlarge one")
    if written and not array.flags.writeable:
        raise UsageError(f"{name}: {label} is written and cannot be: the array is read-only")
    if list(steps) == _dense(shape):
        return array.reshape(-1, order="F")[:needed].reshape(shape)  # views, and quicker than as_strided
    return as_strided(array, shape, [step * dtype.itemsize for step in steps], writeable=written)


def _overlap(shape: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether two elements are at one place: those of increments, which two dimensions can have."""
    if len(shape) != 2 or list(steps) == _dense(shape):
        return False
    common = gcd(*steps)
    return steps[1] // common < shape[0] and steps[0] // common < shape[1]


def _dense(shape: Sequence[int]) -> list[int]:
    """The steps of an array without gaps, the last dimension the fastest."""
    return [prod(shape[at + 1 :]) for at in range(len(shape))]


def _complex(name: str, values: dict[str, Any], dtype: np.dtype[Any]) -> None:
    values["dtype"] = dtype
    values["written"] = "x" if values.get("inpl", True) else "y"
    names_of_extents = [label for label in ("n", "m", "l") if label in values]
    if "nseq" in values:
        shape, axes = [values["nseq"], values["n"]], [1]
    else:
        shape = [values[label] for label in names_of_extents]  # n, m, l: the last of ACML's is the slowest
        axes = list(range(len(shape)))
    steps = _dense(shape)
    flip = bool(values.get("ltrans", False)) and len(shape) > 1
    x = _view(name, "x", values, shape, _increments(values, "x", steps))
    target = x
    if values["written"] == "y":
        turned = shape[::-1] if flip else shape
        target = _view(name, "y", values, turned, _increments(values, "y", _dense(turned)))
        if np.shares_memory(x, target):
            raise UsageError(f"{name}: y is written and shares memory with x", hint="pass a copy, or inpl")
    elif flip:
        target = _view(name, "x", values, shape[::-1], _dense(shape[::-1]))
    fft = import_module("scipy.fft")
    forward = values["mode"] < 0
    inner: Callable[..., Any]
    if len(axes) == 1:
        inner = fft.fft if forward else fft.ifft
        transformed = inner(x, axis=axes[0], norm="ortho")
    else:
        transformed = (fft.fftn if forward else fft.ifftn)(x, axes=axes, norm="ortho")
    if "scale" in values:
        count = float(prod(shape[axis] for axis in axes))
        transformed *= values["scale"] * count**0.5
    target[...] = transformed.transpose() if flip else transformed


def _increments(values: dict[str, Any], label: str, steps: list[int]) -> list[int]:
    """ACML's increments of an array, slowest dimension first: incx1 is between elements of a column, incx2 of a row."""
    if f"inc{label}" in values:
        return [values[f"inc{label}"]]
    if f"inc{label}1" in values:
        return [values[f"inc{label}2"], values[f"inc{label}1"]]
    return steps


def _real(name: str, transform: str, values: dict[str, Any], dtype: np.dtype[Any]) -> None:
    values["dtype"], values["written"] = dtype, "x"
    n, count = values["n"], values.get("nseq", 1)
    x = _view(name, "x", values, [count, n], [n, 1])
    fft = import_module("scipy.fft")
    half = n // 2 + 1
    inner: Callable[..., Any] = fft.rfft if transform == "hermitian" else fft.hfft
    if transform == "hermitian":
        found = inner(x, norm="ortho")
        x[:, :half] = found.real
        x[:, half:] = found.imag[:, 1 : n - half + 1][:, ::-1]
    else:
        sequence = np.zeros([count, half], TYPES["c" if dtype.itemsize == 4 else "z"])
        sequence.real = x[:, :half]
        sequence.imag[:, 1 : n - half + 1] = x[:, half:][:, ::-1]
        x[...] = inner(sequence, n, norm="ortho")

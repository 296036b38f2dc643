"""Input: a function of NumPy called with streams (`__array_function__`, `__array_ufunc__`). Output: its result.

What has kernels is computed on the streams' device, and stays there. Other functions get arrays, as if each stream were
read first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np

from headwater.acml.streams import elementwise, factorizations, fourier, products
from headwater.acml.streams.programs import TYPES, on_device, operand, type_of
from headwater.errors import UsageError
from headwater.runtime import Stream, stream


@cache
def _table() -> dict[Any, Callable[..., Any]]:
    found: dict[Any, Callable[..., Any]] = {
        np.dot: _dot,
        np.linalg.solve: _solve,
        np.linalg.cholesky: _cholesky,
        np.linalg.qr: _qr,
    }
    for name in fourier.NAMES:
        function = getattr(np.fft, name, None)
        if function is not None:
            found[function] = partial(_fourier, name, True)
    return found


def array_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a function of NumPy over streams."""
    own = _table().get(function)
    if own is not None:
        found = own(*args, **kwargs)
        if found is not NotImplemented:
            return found
    return function(*_read(args), **_read(kwargs))


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The value of a universal function over streams; NotImplemented for its methods and for ``out=``."""
    if method != "__call__" or kwargs:
        return NotImplemented
    if ufunc is np.matmul:
        return products.matmul(*inputs)
    found = elementwise.apply(ufunc, *inputs)
    return elementwise.through_arrays(ufunc, inputs) if found is None else found


def _read(value: Any) -> Any:
    """The same with arrays instead of streams."""
    if isinstance(value, Stream):
        return value.read()
    if isinstance(value, (list, tuple)):
        made = [_read(part) for part in value]
        return made if isinstance(value, list) else tuple(made)
    if isinstance(value, dict):
        return {key: _read(part) for key, part in value.items()}
    return value


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = operand(a), operand(b)
    if out is not None or a.ndim not in (1, 2) or b.ndim not in (1, 2):
        return NotImplemented
    return products.matmul(a, b)


def _is_matrix(a: Any) -> bool:
    """Whether it is one matrix of a type that has kernels; stacks of them, and ints, go through arrays."""
    return a.ndim == 2 and a.dtype in TYPES


def _solve(a: Any, b: Any) -> Any:
    a, b = operand(a), operand(b)
    plain = _is_matrix(a) and b.ndim in (1, 2) and np.result_type(a.dtype, b.dtype) in TYPES
    return factorizations.solve(a, b) if plain else NotImplemented


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    return factorizations.cholesky(a, lower=not upper) if _is_matrix(a) else NotImplemented


def _qr(a: Any, mode: str = "reduced") -> Any:
    return factorizations.qr(a) if _is_matrix(a) and mode == "reduced" else NotImplemented


def _fourier(
    name: str, may_repeat: bool, a: Any, s: Any = None, axis: Any = None, norm: str | None = None, **options: Any
) -> Any:
    """NumPy's names: n and axis for one dimension, s and axes for more."""
    length = options.pop("n", s)
    where = options.pop("axes", axis)
    if options.pop("out", None) is not None or options or (may_repeat and fourier.is_long(a.dtype)):
        return NotImplemented
    return fourier.call(name, a, a.device, length, where, norm, may_repeat)


_OPTIONS = {"n", "s", "axis", "axes", "norm", "overwrite_x", "workers", "plan"}


class Backend:
    """A back end of `scipy.fft`: ``with scipy.fft.set_backend(acml.backend("vega64")): …``.

    Transforms of streams are made on their device. Those of arrays are made on ``device``, and become arrays again.
    What is not made here (transforms of arrays without a device, and functions without kernels, such as ``dct``) is
    left to the next back end, or to SciPy, which `scipy.fft.set_global_backend` would leave out.
    """

    __ua_domain__ = "numpy.scipy.fft"

    def __init__(self, device: Any = None) -> None:
        from headwater.runtime.interface import resolve

        self.device = resolve(device) if device is not None else None

    def __ua_function__(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What uarray calls with a function of `scipy.fft`."""
        found = self._transform(method.__name__, args, kwargs)
        if found is not NotImplemented:
            return found
        scipys = import_module("scipy.fft")
        try:
            with scipys.skip_backend(self):
                return method(*args, **kwargs)
        except NotImplementedError:  # uarray's, where no other back end is set
            with scipys.set_backend("scipy", only=True):
                return method(*args, **kwargs)

    def _transform(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The transform by our kernels; NotImplemented for all that they do not make."""
        if name not in fourier.NAMES or not args or set(kwargs) - _OPTIONS:
            return NotImplemented
        value, *rest = args
        if kwargs.get("plan") is not None or len(rest) > 3:
            return NotImplemented
        stays = isinstance(value, Stream)
        device = value.device if stays else self.device
        if device is None:
            return NotImplemented
        if not stays:
            value = np.asarray(value)
            if value.dtype in (np.longdouble, np.clongdouble) or value.dtype.kind not in "biufc":
                return NotImplemented
            if value.dtype == np.float16:
                value = value.astype(np.float32)
        named = dict(zip(("n", "axis", "norm"), rest, strict=False))
        length = kwargs.get("n", kwargs.get("s", named.get("n")))
        axis = kwargs.get("axis", kwargs.get("axes", named.get("axis")))
        length = [length] if name.endswith(("2", "n")) and hasattr(length, "__index__") else length
        found = fourier.call(name, value, device, length, axis, kwargs.get("norm", named.get("norm")))
        return found if stays else found.read()


def backend(name: str) -> type[Backend]:
    """The class `Backend`, which is ``acml.backend``."""
    return Backend


def solver(name: str) -> Callable[..., Any]:
    """A function of `headwater.acml` for streams: those that `acml` has for arrays under the same name."""
    table: dict[str, Callable[..., Any]] = {
        "matmul": products.matmul,
        "solve": partial(_scipys, "solve", _scipys_solve),
        "lu_factor": partial(_scipys, "lu_factor", _scipys_lu),
        "cholesky": partial(_scipys, "cholesky", _scipys_cholesky),
        "qr": partial(_scipys, "qr", _scipys_qr),
        **{kind: partial(_fourier_of, kind) for kind in fourier.NAMES},
    }
    if name not in table:
        raise UsageError(f"{name}: there is no kernel for streams", hint="read the stream first")
    return table[name]


def _scipys(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A function of `scipy.linalg` over streams, with SciPy's defaults. UsageError for options that it has not here."""
    wanted = signature(function)
    try:
        bound = wanted.bind(*args, **options)
    except TypeError as error:
        hint = f"streams take {name}{wanted}; read the stream first for other options"
        raise UsageError(f"{name}: {error}", hint=hint) from None
    return function(*bound.args, **bound.kwargs)


def _finite(check: bool, *values: Any) -> None:
    """ValueError as SciPy's where a number is not finite."""
    if check and not all(map(factorizations.is_finite, values)):
        raise ValueError("array must not contain infs or NaNs")


def _scipys_numbers(name: str, value: Any) -> Any:
    """A stream or an array of a type that has kernels: whole numbers become float64, float16 float32, as in SciPy.
    (SciPy's factorizations, but not its ``solve``, make float32 of whole numbers of 8 and 16 bits.)"""
    value = operand(value)
    if value.dtype.kind in "biu" or value.dtype == np.float16:
        dtype = np.dtype(np.float32 if value.dtype == np.float16 else np.float64)
        return on_device(value, value.device, dtype) if isinstance(value, Stream) else value.astype(dtype)
    type_of(value, name)
    return value


def _refuse(name: str, **options: Any) -> None:
    """UsageError naming the first option whose value is not (given, allowed …)'s."""
    for option, (value, *allowed) in options.items():
        if not any(value is other or (type(value) is str and value == other) for other in allowed):
            known = " or ".join(map(repr, allowed))
            raise UsageError(
                f"{name}: {option} is {value!r:.60}; of streams it is {known}", hint="read the stream first"
            )


# SciPy's arguments in SciPy's order. overwrite_a and overwrite_b permit what is of no use here.
def _scipys_solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    _refuse("solve", lower=(lower, False), assume_a=(assume_a, None, "gen", "general"), transposed=(transposed, False))
    a, b = _scipys_numbers("solve", a), _scipys_numbers("solve", b)
    _finite(check_finite, a, b)
    if not b.size and a.size:  # SciPy does not look at the matrix then
        a = stream(np.eye(*a.shape, dtype=a.dtype), device=next(v.device for v in (a, b) if isinstance(v, Stream)))
    return factorizations.solve(a, b)


def _scipys_lu(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    a = _scipys_numbers("lu_factor", a)
    _finite(check_finite, a)
    return factorizations.lu(a)


def _scipys_cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    a = _scipys_numbers("cholesky", a)
    _finite(check_finite, a)
    return factorizations.cholesky(a, bool(lower))


def _scipys_qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    _refuse("qr", lwork=(lwork, None), mode=(mode, "full", "economic", "r"), pivoting=(pivoting, False))
    a = _scipys_numbers("qr", a)
    _finite(check_finite, a)
    q, r = factorizations.qr(a, full=mode != "economic")
    return (r,) if mode == "r" else (q, r)


def _fourier_of(name: str, x: Any, *args: Any, **options: Any) -> Any:
    found = _fourier(name, False, x, *args, **options) if len(args) <= 3 else NotImplemented
    if found is NotImplemented:
        raise UsageError(f"{name}: streams are transformed with n, axis (s, axes) and norm only")
    return found

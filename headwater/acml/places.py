"""Input: a name of the library. Output: the function, imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from math import inf
from typing import Any

from numpy import ndarray

USUAL = {
    **dict.fromkeys(
        "solve solve_triangular inv det norm lstsq pinv lu lu_factor lu_solve cholesky cho_factor cho_solve qr ldl svd "
        "svdvals eig eigvals eigh eigvalsh eig_banded eigh_tridiagonal schur hessenberg expm solve_banded polar rq qz "
        "solveh_banded null_space orth solve_sylvester solve_toeplitz".split(),
        "scipy.linalg",
    ),
    **dict.fromkeys(
        "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift "
        "ifftshift dct idct dst idst".split(),
        "scipy.fft",
    ),
    **dict.fromkeys("dot vdot inner outer tensordot einsum".split(), "numpy"),
}
"""Names of NumPy and SciPy, and the module whose function works on arrays."""
_TRANSFORMS = {f"{inverse}{kind}fft{end}" for kind in ("", "r", "h") for end in ("", "2", "n") for inverse in ("", "i")}
ON_STREAMS = {"solve", "lu_factor", "cholesky", "qr"} | (_TRANSFORMS & set(USUAL))
"""Those of SciPy that have kernels for streams too; a GPU may make transforms of arrays (`headwater.acml.offload`)."""


@cache
def _places() -> dict[str, tuple[str, str]]:
    """Name -> module that makes the function, and the module's function to call with the name."""
    from headwater.acml.fourier import names as transforms
    from headwater.acml.random.states import names as generators
    from headwater.acml.routines import rows
    from headwater.acml.vector import names as functions

    return {
        **dict.fromkeys(rows(), ("headwater.acml.native", "function")),
        **dict.fromkeys(functions(), ("headwater.acml.vector", "function")),
        **dict.fromkeys(("matmul", "explain"), ("headwater.acml.split", "function")),
        "backend": ("headwater.acml.streams.dispatch", "backend"),
        **dict.fromkeys(generators(), ("headwater.acml.random.states", "function")),
        **dict.fromkeys(transforms(), ("headwater.acml.fourier", "function")),
    }


def find(name: str) -> Any:
    """The function of that name, or None. ResourceError where it needs SciPy and there is none."""
    if name in USUAL:
        from headwater.acml.native import extension

        if USUAL[name] != "numpy":
            extension()
        return _for_both(name, getattr(import_module(USUAL[name]), name))
    place = _places().get(name)
    if place is None:
        return None
    module, maker = place
    return getattr(import_module(module), maker)(name)


def _for_both(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which for streams is ours. NumPy's know streams themselves."""
    if USUAL[name] == "numpy" or name not in ON_STREAMS:
        return function
    from headwater.acml.offload import LEAST, transform
    from headwater.acml.streams.dispatch import solver
    from headwater.runtime import Stream

    least = LEAST if name in _TRANSFORMS else inf

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if Stream in map(type, args) or (options and Stream in map(type, options.values())):
            return solver(name)(*args, **options)
        if args and type(args[0]) is ndarray and args[0].size >= least:
            return transform(name, function, args, options)
        return function(*args, **options)

    return call


def names() -> list[str]:
    """All names that `find` knows."""
    return [*USUAL, *_places()]

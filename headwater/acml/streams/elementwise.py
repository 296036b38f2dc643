"""Input: a function of NumPy and streams. Output: the stream of its values, computed on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from headwater.acml.streams.programs import TYPES, empty, floats, groups, on_device, program
from headwater.runtime import Stream, stream

REAL = {
    np.exp: "exp", np.log: "log", np.log2: "log2", np.log10: "log10", np.sin: "sin", np.cos: "cos", np.tan: "tan",
    np.sqrt: "sqrt", np.abs: "fabs", np.floor: "floor", np.negative: "NEGATE",
}  # fmt: skip
"""Functions of one argument -> what `elementwise.cl` or OpenCL C calls them; errors are those of OpenCL C's table."""
COMPLEX = {np.negative: "NEGATE", np.conjugate: "CONJUGATE"}
PAIRS = {np.add: "ADD", np.subtract: "SUBTRACT", np.multiply: "MULTIPLY", np.divide: "DIVIDE", np.power: "pow"}
_PAIRS_OF_COMPLEX = {np.add, np.subtract, np.multiply}


def apply(function: Any, *inputs: Any) -> Stream | None:
    """The function's values, or None where there is no kernel for it or for such inputs.

    Inputs are streams and arrays of one shape, or numbers; a stream must be among them.
    """
    first = next(value for value in inputs if isinstance(value, Stream))
    parts = [value if isinstance(value, Stream) else np.asarray(value) for value in inputs]
    # numbers of Python do not change the type, as in NumPy
    weak = [
        value if type(value) in (int, float, complex) else part.dtype for value, part in zip(inputs, parts, strict=True)
    ]
    dtype = np.result_type(*weak)
    if dtype not in TYPES or any(part.shape not in (first.shape, ()) for part in parts):
        return None
    is_complex = dtype.kind == "c"
    pairs = len(inputs) == 2
    table: dict[Any, str] = PAIRS if pairs else COMPLEX if is_complex else REAL
    name = table.get(function)
    if name is None or (pairs and is_complex and function not in _PAIRS_OF_COMPLEX):
        return None
    device = first.device
    values = [on_device(part, device, dtype) for part in parts]
    out = empty(first, first.shape, dtype)
    if not out.size:
        return out
    options = (
        f"-D T={TYPES[dtype]} -D FUNCTION={name}{' -D PAIRS' if pairs else ''}{' -D COMPLEX' if is_complex else ''}"
    )
    args: list[Any] = []
    for part, value in zip(parts, values, strict=True):
        args += [floats(value), int(part.shape == first.shape)] if pairs else [floats(value)]
    program("elementwise.cl", options, device).apply[groups(out.size, 64), None](
        *args, floats(out), out.size, device=device
    )
    return out


def through_arrays(function: Any, inputs: Any) -> Any:
    """The function over arrays, its results as streams again: what broadcasts, or has no kernel."""
    device = next(value.device for value in inputs if isinstance(value, Stream))
    arrays = [np.asarray(value) if isinstance(value, Stream) else value for value in inputs]
    found = function(*arrays)
    if isinstance(found, tuple):  # modf, divmod, frexp
        return tuple(stream(part, device=device) for part in found)
    return stream(found, device=device)

"""Input: what users pass for Brook+ parameters. Output: checked arrays, values and shapes in the kernel's types."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, address, aligned_bytes, view
from headwater.brook.model import BrookModule, BrookSignature, ElementType, Parameter, StructType
from headwater.errors import LaunchError, OutOfMemoryError, UsageError
from headwater.runtime.streams import Stream, SubStream
from headwater.runtime.values import whole_numbers

if TYPE_CHECKING:
    from headwater.runtime.brook.plan import View
    from headwater.runtime.interface import Device

Shape = tuple[int, ...]
MAX_RANK = 4  # Brook+ Language Specification 1.4: streams have one to four dimensions
MAX_ELEMENTS = 2**31  # generated kernels index with 32 bits
ALIGNMENT = 16  # bytes; generated kernels read whole float4

_KINDS = {
    "input": "stream",
    "output": "out stream",
    "gather": "array",
    "scatter": "out array",
    "constant": "constant array",
}


class Element:
    """The NumPy side of an element type: ``dtype`` of one component (or of the struct) and the trailing ``axis`` of a
    vector.
    """

    __slots__ = ("axis", "bytes", "dtype", "is_struct", "name")

    def __init__(self, type_: ElementType, structs: Mapping[str, StructType]) -> None:
        self.name = type_.name
        self.is_struct = type_.is_struct
        if type_.is_struct:
            self.dtype: np.dtype[Any] = structs[type_.base].dtype(dict(structs))
            self.axis: Shape = ()
            self.bytes = structs[type_.base].size_bytes
        else:
            self.dtype = np.dtype(type_.scalar_dtype)
            self.axis = (type_.width,) if type_.width > 1 else ()
            self.bytes = type_.stored_bytes

    def describe(self) -> str:
        """In words: ``float4: float32 with a last axis of 4``."""
        if self.is_struct:
            fields = ", ".join(self.dtype.names or ())
            return f"{self.name}: a structured dtype of {self.bytes} bytes with the fields {fields}"
        return f"{self.name}: {self.dtype}" + (f" with a last axis of {self.axis[0]}" if self.axis else "")


def declaration(parameter: Parameter) -> str:
    """A parameter as written in Brook+: ``out float4 a<>``."""
    brackets = {"input": "<>", "output": "<>", "reduce": "<>", "value": ""}.get(parameter.kind)
    if brackets is None:
        sizes = parameter.sizes or ("",) * parameter.rank
        brackets = "".join(f"[{size}]" for size in sizes)
    prefix = {"output": "out ", "scatter": "out ", "reduce": "reduce "}.get(parameter.kind, "")
    return f"{prefix}{parameter.type.name} {parameter.name}{brackets}"


def prototype(kernel: BrookSignature) -> str:
    """A kernel's name and parameters in one line."""
    return f"{kernel.name}({', '.join(declaration(parameter) for parameter in kernel.parameters)})"


def wrong(kernel: BrookSignature, parameter: Parameter, message: str, hint: str = "") -> LaunchError:
    """A LaunchError that names the kernel and the argument."""
    return LaunchError(f"{kernel.name}: argument `{declaration(parameter)}`: {message}", hint=hint)


def elements(module: BrookModule, kernel: BrookSignature) -> dict[str, Element]:
    """The element of each parameter, by name."""
    return {parameter.name: Element(parameter.type, module.structs) for parameter in kernel.parameters}


def dimensions(shape: object, what: str) -> Shape:
    """A shape as the user gives it (a number, or numbers slowest first): one to four dimensions, none empty."""
    sizes = whole_numbers(shape)
    if sizes is None:
        raise LaunchError(
            f"{what} is {shape!r:.60}; a whole number or a tuple of them is expected, slowest dimension first"
        )
    check_shape(sizes, what)
    return sizes


def check_shape(shape: Shape, what: str) -> None:
    """Refuse shapes that no stream can have: LaunchError."""
    if not 1 <= len(shape) <= MAX_RANK:
        raise LaunchError(f"{what} has {len(shape)} dimensions; streams have 1 to {MAX_RANK}")
    if any(n < 1 for n in shape):
        raise LaunchError(f"{what} is {shape}: a stream needs at least one element in every dimension")
    if math.prod(shape) >= MAX_ELEMENTS:
        raise LaunchError(
            f"{what} is {shape}, {math.prod(shape)} elements; a stream holds fewer than {MAX_ELEMENTS} (2**31)",
            hint="split the work: call the kernel on parts of the arrays",
        )


def to_array(kernel: BrookSignature, parameter: Parameter, element: Element, value: object) -> Array:
    """The array that ``value`` is, in the element's type, C order, aligned; a copy only where memory does not fit as it
    is.

    Numbers in lists are taken in the parameter's type; arrays must have it already (a wrong dtype is an error, not a
    cast).
    """
    if isinstance(value, (list, tuple)):
        return _from_list(kernel, parameter, element, value)
    try:
        array, untyped = view(value)
    except LaunchError as error:
        raise wrong(kernel, parameter, f"{_KINDS[parameter.kind]} expected: {error.message}", error.hint) from None
    if untyped:
        if array.nbytes % element.bytes:
            raise wrong(kernel, parameter, f"{array.nbytes} bytes are not whole elements of {element.bytes} bytes")
        array = array.view(element.dtype).reshape(-1, *element.axis)
    check_dtype(kernel, parameter, element, array)
    stream_shape(kernel, parameter, element, array.shape)  # before anything huge is copied
    if array.dtype != element.dtype:  # the same numbers in another byte order or struct layout name
        array = array.astype(element.dtype) if not element.is_struct else array.view(element.dtype)
    return aligned(array)


def _from_list(kernel: BrookSignature, parameter: Parameter, element: Element, value: Sequence[object]) -> Array:
    try:
        exact = np.array(value, element.dtype)
        if element.dtype.kind in "iu" and np.asarray(value).dtype.kind not in "iub":
            raise ValueError("not whole numbers")
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong(
            kernel, parameter, f"this {type(value).__name__} is not an array of {element.name}: {error}"
        ) from None
    check_dtype(kernel, parameter, element, exact)
    return exact


def check_dtype(kernel: BrookSignature, parameter: Parameter, element: Element, array: Array) -> None:
    """Refuse arrays of another type or without the vector's axis: LaunchError with what is expected and what came."""
    if element.is_struct:
        if (
            array.dtype.kind != "V"
            or array.dtype.itemsize != element.bytes
            or not _same_fields(array.dtype, element.dtype)
        ):
            raise wrong(
                kernel,
                parameter,
                f"got {_described(array)}, expected {element.describe()}",
                f"kernels' struct dtypes: program.structs[{element.name!r}]",
            )
        return
    if array.dtype.newbyteorder("=") != element.dtype:
        raise wrong(
            kernel,
            parameter,
            f"got {_described(array)}, expected {element.describe()}",
            f"convert it: .astype(np.{element.dtype.name})",
        )
    if element.axis and (array.ndim < 2 or array.shape[-1] != element.axis[0]):
        raise wrong(
            kernel,
            parameter,
            f"got {_described(array)}, expected {element.describe()}",
            f"one element is {element.axis[0]} numbers: .reshape(…, {element.axis[0]})",
        )


def _same_fields(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    if given.names is None or wanted.names is None:
        return given.names is None and wanted.names is None and given == wanted
    return given.names == wanted.names and all(
        given.fields[name][:2] == wanted.fields[name][:2]  # type: ignore[index]
        for name in wanted.names
    )


def _described(array: Array) -> str:
    return f"{array.dtype} of shape {array.shape}"


def aligned(array: Array) -> Array:
    """The array, or a copy if it is not in C order or does not start at a multiple of 16 bytes."""
    if array.flags.c_contiguous and address(array) % ALIGNMENT == 0:
        return array
    return empty(array.shape, array.dtype, array)


def is_copied(device: Device, value: object) -> bool:
    """Whether a call on ``device`` copies what is passed for an array when it is made."""
    if isinstance(value, (Stream, SubStream, list, tuple)):
        return False  # streams are where they are, and no kernel writes to lists
    try:
        array, _ = view(value)
    except LaunchError:
        return False  # and is refused
    fits = array.flags.c_contiguous and address(array) % ALIGNMENT == 0 and array.dtype.isnative
    return device.kind == "opencl" or not fits


def empty(shape: Shape, dtype: np.dtype[Any], contents: Array | None = None) -> Array:
    """A new array with 16-byte alignment, uninitialised or a copy of ``contents``; OutOfMemoryError if it is short."""
    try:
        made = np.empty(shape, dtype)
        if made.size and address(made) % ALIGNMENT:  # the allocator promises less on some platforms
            made = aligned_bytes(made.nbytes).view(dtype).reshape(shape)
    except MemoryError:
        raise _too_little(shape, dtype) from None
    if contents is not None:
        made[...] = contents
    return made


def zeros(shape: Shape, dtype: np.dtype[Any]) -> Array:
    """A new array of zeros with 16-byte alignment; OutOfMemoryError if memory is short."""
    try:
        made = np.zeros(shape, dtype)
    except MemoryError:
        raise _too_little(shape, dtype) from None
    return aligned(made)


def _too_little(shape: Shape, dtype: np.dtype[Any]) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"not enough memory for an array of shape {shape}: {math.prod(shape) * dtype.itemsize} bytes",
        hint="split the work: call the kernel on parts of the arrays",
    )


def stream_shape(kernel: BrookSignature, parameter: Parameter, element: Element, shape: Shape) -> Shape:
    """The stream's or array's shape in elements, from the shape of the NumPy array that holds it."""
    own = shape[: len(shape) - 1] if element.axis else shape
    if parameter.rank and len(own) != parameter.rank:
        raise wrong(
            kernel,
            parameter,
            f"it has {parameter.rank} dimension{'s' * (parameter.rank > 1)}, the array given {len(own)}: shape {shape}",
        )
    if parameter.kind == "constant" and own != parameter.sizes:
        raise wrong(kernel, parameter, f"its sizes are {parameter.sizes}, the array given has the shape {shape}")
    try:
        check_shape(own, "its shape")
    except LaunchError as error:
        raise wrong(kernel, parameter, error.message, error.hint) from None
    return own


Convert = Callable[[Any], Any]


def value_converter(kernel: BrookSignature, parameter: Parameter, element: Element) -> Convert:
    """The function from what the user passes for a value parameter to what devices take: a number, or a tuple of them.

    For structs: to an array with one element.
    """
    if element.is_struct:
        return lambda value: _struct_value(kernel, parameter, element, value)
    whole = element.dtype.kind in "iu"
    limits = np.iinfo(element.dtype) if whole else None

    def scalar(value: Any) -> int | float:
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if isinstance(value, np.generic):
            value = value.item()
        if limits is not None:
            if isinstance(value, int):
                if limits.min <= value <= limits.max:
                    return int(value)
                raise wrong(
                    kernel,
                    parameter,
                    f"{value} does not fit {parameter.type.base}, which holds {limits.min} to {limits.max}",
                )
        elif isinstance(value, (int, float)):
            try:
                return float(value)
            except OverflowError:
                raise wrong(
                    kernel, parameter, f"a whole number this large does not fit {parameter.type.base}"
                ) from None
        wanted = "a whole number" if limits is not None else "a number"
        raise wrong(kernel, parameter, f"got {type(value).__name__} {value!s:.60}, expected {wanted} ({element.name})")

    if not element.axis:
        return scalar
    width = element.axis[0]

    def vector(value: Any) -> tuple[int | float, ...]:
        parts = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(parts, (list, tuple)) or len(parts) != width:
            got = (
                f"an array of shape {value.shape}"
                if isinstance(value, np.ndarray)
                else f"{type(value).__name__} {value!r:.60}"
            )
            raise wrong(kernel, parameter, f"got {got}, expected {width} numbers ({element.name})")
        return tuple(scalar(part) for part in parts)

    return vector


def _struct_value(kernel: BrookSignature, parameter: Parameter, element: Element, value: Any) -> Array:
    if isinstance(value, (np.ndarray, np.void)):
        array = np.asarray(value).reshape(-1)
        check_dtype(kernel, parameter, element, array)
        if array.size != 1:
            raise wrong(kernel, parameter, f"one {element.name} expected, {array.size} given")
        return aligned(array.view(element.dtype))
    made = empty((1,), element.dtype)
    names = element.dtype.names or ()
    try:
        parts = [value[name] for name in names] if isinstance(value, Mapping) else list(value)
        if len(parts) != len(names):
            raise ValueError(f"{len(names)} members expected, {len(parts)} given")
        for name, part in zip(names, parts, strict=True):
            made[name] = part
    except (KeyError, TypeError, ValueError) as error:
        raise wrong(
            kernel,
            parameter,
            f"cannot be made from {value!r:.60}: {error}",
            f"pass a tuple, or a dict of {', '.join(names)}",
        ) from None
    return made


def bind(
    kernel: BrookSignature, wanted: Sequence[Parameter], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Positional and keyword arguments in the order of ``wanted``; UsageError if any is missing, twice there or
    unknown.
    """
    names = [parameter.name for parameter in wanted]
    if len(args) > len(names):
        raise _count_error(kernel, names, len(args) + len(named))
    bound = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names:
            outs = [p.name for p in kernel.parameters if p.kind in ("output", "scatter", "reduce")]
            hint = f"{name} is returned; to give an array for it use out=" if name in outs else ""
            raise UsageError(f"{kernel.name} has no argument {name!r}; it is declared {prototype(kernel)}", hint=hint)
        if name in bound:
            raise UsageError(f"{kernel.name}: argument {name!r} is given twice, by position and by name")
        bound[name] = value
    if len(bound) != len(names):
        missing = [name for name in names if name not in bound]
        raise _count_error(kernel, names, len(bound), missing)
    return tuple(bound[name] for name in names)


def _count_error(kernel: BrookSignature, names: Sequence[str], given: int, missing: Sequence[str] = ()) -> UsageError:
    takes = f"{len(names)} argument{'s' * (len(names) != 1)}" + (f" ({', '.join(names)})" if names else "")
    lacking = f", {', '.join(missing)} missing" if missing else ""
    return UsageError(
        f"{kernel.name} takes {takes}, {given} given{lacking}; it is declared {prototype(kernel)}",
        hint="out streams are not passed but returned; give their shape with shape=, or arrays for them with out=",
    )


def whole(stream: Stream | SubStream) -> Stream:
    """The stream that a stream or a part of one lies in."""
    base: Stream = stream.base if isinstance(stream, SubStream) else stream
    return base


def refuse_aliases(kernel: BrookSignature, values: Mapping[str, Any], views: Mapping[str, View]) -> None:
    """Refuse an out that shares memory with another argument, as Brook+ did, unless the environment permits it."""
    if os.environ.get("BRT_PERMIT_READ_WRITE_ALIASING"):
        return
    for out in kernel.parameters:
        if out.kind not in ("output", "scatter", "reduce") or out.name not in values:
            continue
        for other in kernel.parameters:
            if other is not out and other.name in values and _overlap(values, views, out.name, other.name):
                raise wrong(
                    kernel,
                    out,
                    f"it shares memory with `{declaration(other)}`; a kernel must not write what it reads",
                    "write to another array, or set BRT_PERMIT_READ_WRITE_ALIASING=1 if every element is read only by "
                    "the work-item that writes it",
                )


def _overlap(values: Mapping[str, Any], views: Mapping[str, View], one: str, two: str) -> bool:
    a, b = values[one], values[two]
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    if (
        not isinstance(a, (Stream, SubStream))
        or not isinstance(b, (Stream, SubStream))
        or whole(a).buffer is not whole(b).buffer
    ):
        return False
    first, second = views[one], views[two]
    return all(
        p < q + m and q < p + n
        for p, n, q, m in zip(first.start, first.shape, second.start, second.shape, strict=False)
    )

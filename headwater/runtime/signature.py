"""Input: a kernel argument's declared type. Output: the NumPy types it takes and the bytes of a value."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array, describe, overlaps_itself, view
from headwater.errors import LaunchError
from headwater.runtime.images import Image
from headwater.runtime.values import Local, Sampler

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, KernelInfo

# OpenCL C 1.2 specification 6.1.1: scalar types, with their NumPy type and their code for `struct`.
SCALARS: dict[str, tuple[str, str]] = {
    "char": ("i1", "b"),
    "uchar": ("u1", "B"),
    "short": ("i2", "h"),
    "ushort": ("u2", "H"),
    "int": ("i4", "i"),
    "uint": ("u4", "I"),
    "long": ("i8", "q"),
    "ulong": ("u8", "Q"),
    "half": ("f2", "e"),
    "float": ("f4", "f"),
    "double": ("f8", "d"),
}
_ALIASES = {
    "signed char": "char",
    "unsigned char": "uchar",
    "signed short": "short",
    "unsigned short": "ushort",
    "short int": "short",
    "unsigned short int": "ushort",
    "signed int": "int",
    "signed": "int",
    "unsigned": "uint",
    "unsigned int": "uint",
    "signed long": "long",
    "long int": "long",
    "unsigned long": "ulong",
    "unsigned long int": "ulong",
    "size_t": "ulong",
    "uintptr_t": "ulong",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "bool": "uchar",
}
UNTYPED = {"bits8": 1, "bits16": 2, "bits32": 4, "bits64": 8}
"""Types of numbers of which machine code tells nothing but the bytes."""
_TYPE = re.compile(r"([a-z]+)(2|3|4|8|16)?")
_ATOMIC = re.compile(r"atomic_(?!flag$)(\w+)|_Atomic\((.+)\)")
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict|__?global|__?constant|__?private|__?local|global|constant)\b")


@functools.lru_cache(maxsize=1024)  # each size of a kernel's launches asks for each argument
def parse_type(name: str) -> tuple[str, int] | None:
    """Scalar name and number of components of a type such as ``uint4*``; None for structs and unknown names."""
    text = " ".join(_QUALIFIERS.sub(" ", name).replace("*", " ").split())
    if atomic := _ATOMIC.fullmatch(text):  # OpenCL C 2.0, 6.13.11.6: as large as what they hold
        text = atomic[1] or atomic[2]
    text = _ALIASES.get(text, text)
    match = _TYPE.fullmatch(text)
    if match is None or match[1] not in SCALARS:
        return None
    return match[1], int(match[2] or 1)


def argument_type(arg: ArgInfo) -> tuple[str, int] | None:
    """`parse_type` of an argument, typedefs resolved where the compiler gave them."""
    return parse_type(arg.type_name) or parse_type(getattr(arg, "base_type", ""))


def declaration(arg: ArgInfo) -> str:
    """An argument as a user would recognise it: ``float *a``."""
    space = {"constant": "__constant ", "local": "__local "}.get(arg.kind, "")
    const = "const " if arg.kind == "buffer" and arg.access == "read" and "const" not in arg.type_name else ""
    stars = arg.type_name.count("*")
    base = arg.type_name.replace("*", "").strip()
    return f"{space}{const}{base} {'*' * stars}{arg.name}"


def prototype(info: KernelInfo) -> str:
    """A kernel's name and arguments in one line."""
    return f"{info.name}({', '.join(declaration(arg) for arg in info.args)})"


def fail(arg: ArgInfo, position: int, message: str, hint: str = "") -> LaunchError:
    """A LaunchError that names the argument; ``position`` counts from 1."""
    return LaunchError(f"argument {position}, `{declaration(arg)}`: {message}", hint=hint)


def count_error(info: KernelInfo, given: int) -> LaunchError:
    """A LaunchError for a wrong number of arguments."""
    wanted = len(info.args)
    return LaunchError(
        f"{info.name} takes {wanted} argument{'s' * (wanted != 1)}, {given} given; it is declared {prototype(info)}"
    )


# -- arrays ------------------------------------------------------------------------------------------------------------


def element_dtype(arg: ArgInfo) -> np.dtype[Any] | None:
    """The NumPy type of one component behind a pointer argument, None where any bytes will do (``void``, structs)."""
    parsed = argument_type(arg)
    return None if parsed is None else np.dtype(SCALARS[parsed[0]][0])


def accepted_dtypes(arg: ArgInfo) -> frozenset[np.dtype[Any]]:
    """Every plain NumPy type that a pointer argument takes as it is: its own, and the one that differs in sign only."""
    own = element_dtype(arg)
    if own is None:
        return frozenset()
    kinds: list[np.dtype[Any]] = [own]
    if own.kind in "iu":
        kinds += [np.dtype(f"{'u' if own.kind == 'i' else 'i'}{own.itemsize}")]
        if own.itemsize == 1:
            kinds += [np.dtype(np.bool_)]
    if own.kind == "f" and own.itemsize >= 4:
        kinds += [np.dtype(f"c{2 * own.itemsize}")]
    return frozenset(kinds)


def check_array(arg: ArgInfo, position: int, array: Array, untyped: bool, writes: bool) -> None:
    """Refuse an array that the kernel would misread: LaunchError naming the argument, with the remedy."""
    dtype = array.dtype
    size = max(arg.pointee_bytes, 1)
    if dtype.hasobject:
        raise fail(arg, position, "an array of Python objects has no numbers in memory", "convert it: .astype(…)")
    if writes and not array.flags.writeable:
        if type(array.base).__name__ == "PyCapsule":  # DLPack before 1.0 has no flag, and NumPy is careful then
            message = "its DLPack does not say that it may be written, and the kernel may write through the pointer"
            raise fail(arg, position, message, "pass a NumPy array of its memory, tensor.numpy() for instance")
        raise fail(
            arg,
            position,
            "this array is read-only, and the kernel may write through the pointer",
            "pass a copy, or declare the argument const",
        )
    if writes and not array.flags.c_contiguous and overlaps_itself(array):
        raise fail(
            arg,
            position,
            "elements of this array lie in the same memory, and the kernel may write through the pointer",
            "pass np.ascontiguousarray(…)",
        )
    wanted = element_dtype(arg)
    parsed = argument_type(arg)
    if untyped or wanted is None:
        if wanted is None and arg.pointee_bytes > 1 and size % dtype.itemsize:
            raise fail(
                arg,
                position,
                f"one element has {size} bytes, but the array's elements ({dtype}) have {dtype.itemsize}",
                f"use a structured dtype of {size} bytes, aligned as in C: np.dtype([…], align=True)",
            )
        if array.nbytes % size:
            raise fail(arg, position, f"{array.nbytes} bytes are not a whole number of elements of {size} bytes")
        return
    if dtype.names is not None or dtype.kind == "V":
        if dtype.itemsize != size:
            raise fail(arg, position, f"elements of {dtype.itemsize} bytes given, {size} expected")
        return
    if dtype not in accepted_dtypes(arg):
        if dtype.newbyteorder() in accepted_dtypes(arg) and not dtype.isnative:
            raise fail(arg, position, "the array's byte order is not this machine's", f"pass .astype(np.{wanted.name})")
        raise fail(
            arg,
            position,
            f"{describe(array)} given, {wanted.name} expected",
            f"convert it, for instance with .astype(np.{wanted.name}); "
            "it is not done silently, as results are written in place",
        )
    if parsed is not None and parsed[1] == 3 and array.ndim > 1 and array.shape[-1] == 3:
        raise fail(
            arg,
            position,
            f"OpenCL's {parsed[0]}3 takes the room of four components, this array's last axis has three",
            "pass an array whose last axis is 4, or use vload3 on a pointer to scalars",
        )


# -- values ------------------------------------------------------------------------------------------------------------

Packer = Callable[[Any], Any]


def value_slot(arg: ArgInfo, position: int) -> tuple[str, Packer | None]:
    """How a value is packed: its `struct` code, and the function from what the user passes to what that code takes.

    None as the function: Python and NumPy numbers go in as they are; what `struct` refuses, `coerce_value` explains.
    """
    parsed = argument_type(arg)
    if arg.type_name in UNTYPED:
        return f"{arg.size_bytes}s", lambda value: _untyped_value(arg, position, value)
    if parsed is None:
        return f"{arg.size_bytes}s", lambda value: _raw_value(arg, position, value)
    scalar, width = parsed
    if width == 1:
        return SCALARS[scalar][1], None
    return f"{arg.size_bytes}s", _vector_packer(arg, position, scalar, width)


def number_code(arg: ArgInfo) -> str | None:
    """The `struct` code of a value argument that is one number; None for vectors, structs and unknown types."""
    parsed = argument_type(arg)
    return SCALARS[parsed[0]][1] if parsed is not None and parsed[1] == 1 else None


def _vector_packer(arg: ArgInfo, position: int, scalar: str, width: int) -> Packer:
    dtype, code = np.dtype(SCALARS[scalar][0]), SCALARS[scalar][1]
    pad = arg.size_bytes - width * dtype.itemsize  # a vector of three takes the room of four
    pack = struct.Struct(f"<{width}{code}{pad}x").pack

    def packer(value: Any) -> bytes:
        if type(value) is bytes:
            if len(value) != arg.size_bytes:
                raise fail(arg, position, f"{arg.type_name} has {arg.size_bytes} bytes, {len(value)} given")
            return value
        if isinstance(value, Iterable):
            parts = list(value.reshape(-1)) if isinstance(value, np.ndarray) else list(value)
            if len(parts) == 1:
                parts *= width
        else:
            parts = [value] * width  # a scalar is spread, as (float4)(1.0f) does
        if len(parts) != width:
            raise fail(arg, position, f"{width} components expected, {len(parts)} given")
        try:
            return pack(*parts)
        except (struct.error, TypeError, ValueError, OverflowError):
            pass
        try:
            return pack(*[coerce(scalar, part) for part in parts])
        except (struct.error, TypeError, ValueError, OverflowError):
            raise fail(arg, position, f"{value!r} does not fit {arg.type_name}") from None

    return packer


def coerce(scalar: str, value: Any) -> Any:
    """A number as C converts it to a floating-point type, out of range to infinity; anything else as it is."""
    dtype = np.dtype(SCALARS[scalar][0])
    if dtype.kind == "f" and isinstance(value, (int, float, np.integer, np.floating)):
        with np.errstate(over="ignore"):
            return float(dtype.type(float(value)))
    return value


def _raw_value(arg: ArgInfo, position: int, value: Any) -> bytes:
    """A struct (or a type we do not know) as its bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        data = value.tobytes()
    elif isinstance(value, (int, float, complex, str)) or value is None:
        raise fail(
            arg,
            position,
            f"{value!r} cannot be turned into a {arg.type_name}",
            "pass a NumPy value of the right type: np.float32(…), or one element of a structured array",
        )
    else:
        try:
            data = bytes(memoryview(value))
        except (TypeError, BufferError):
            raise fail(
                arg,
                position,
                f"a {type(value).__name__} cannot be turned into a {arg.type_name}",
                "pass one element of a structured array: np.zeros((), dtype)",
            ) from None
    if arg.size_bytes and len(data) != arg.size_bytes:  # OpenCL drivers do not tell the size of a struct
        raise fail(
            arg,
            position,
            f"{arg.type_name} has {arg.size_bytes} bytes, the value given has {len(data)}",
            "build the dtype with align=True, so that it is laid out as in C",
        )
    return data


def _untyped_value(arg: ArgInfo, position: int, value: Any) -> bytes:
    """A number for an argument of which only the size is known: whole numbers that fit, or a NumPy number of that
    size."""
    size = arg.size_bytes
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if not -(1 << 8 * size - 1) <= number < 1 << 8 * size:
            raise fail(arg, position, f"{number} does not fit {size} bytes")
        return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if isinstance(value, (np.generic, bytes)):
        data = bytes(value) if isinstance(value, bytes) else value.tobytes()
        if len(data) != size:
            raise fail(arg, position, f"{size} bytes expected, {value!r} has {len(data)}")
        return data
    if isinstance(value, float):
        name = {2: "float16", 4: "float32", 8: "float64"}.get(size)
        hint = f"pass np.{name}({value!r}), or a whole number" if name else "pass a whole number"
        raise fail(arg, position, f"the machine code does not say whether {value!r} should be passed as a float", hint)
    raise fail(arg, position, f"a number is expected, {type(value).__name__} {value!r:.60} given")


def coerce_value(arg: ArgInfo, position: int, value: Any) -> Any:
    """What `struct` takes for a scalar argument that it refused as given; LaunchError if there is no such thing."""
    parsed = argument_type(arg)
    assert parsed is not None
    scalar = parsed[0]
    dtype = np.dtype(SCALARS[scalar][0])
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic):
        value = value.item()
    if dtype.kind == "f":
        if isinstance(value, (int, float)):
            try:
                return coerce(scalar, value)
            except OverflowError:
                raise fail(arg, position, f"a whole number this large does not fit {scalar}") from None
    elif isinstance(value, int):
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise fail(arg, position, f"{value} does not fit {scalar}, which holds {limits.min} to {limits.max}")
        return value
    elif isinstance(value, float):
        raise fail(arg, position, f"{value!r} is not a whole number", f"pass int({value!r}) if that is meant")
    return fail_value(arg, position, value)


def given_array(arg: ArgInfo, position: int, value: object) -> tuple[Array, bool]:
    """What was given for a pointer as an array, and whether its elements have no type (`arrays.view`).

    LaunchError for numbers, lists and what else is no array.
    """
    if isinstance(value, (int, float, complex, np.generic, Local, Sampler, Image, str, list, tuple)):
        raise fail(
            arg,
            position,
            f"an array is expected, {type(value).__name__} given",
            "pass np.array(…, dtype=…)" if isinstance(value, (list, tuple)) else "",
        )
    try:
        return view(value)
    except LaunchError as error:
        raise fail(arg, position, error.message, error.hint) from None


def fail_value(arg: ArgInfo, position: int, value: object) -> Any:
    """Raise the LaunchError for a value of a wrong kind."""
    if isinstance(value, np.ndarray):
        raise fail(arg, position, f"a value is expected, {describe(value)} given")
    raise fail(arg, position, f"a value is expected, {type(value).__name__} {value!r:.60} given")


def value_packer(arg: ArgInfo, position: int) -> Callable[[Any], bytes]:
    """From a value argument to its bytes, for devices that take arguments one by one."""
    code, packer = value_slot(arg, position)
    if packer is not None:
        return packer
    pack = struct.Struct("<" + code).pack

    def scalar(value: Any) -> bytes:
        try:
            return pack(value)
        except (struct.error, TypeError, ValueError, OverflowError):
            return pack(coerce_value(arg, position, value))

    return scalar


def check_limit(seconds: object) -> None:
    """LaunchError unless a launch can be stopped after so many ``seconds``."""
    if not isinstance(seconds, (int, float, np.integer, np.floating)) or not seconds > 0:
        raise LaunchError(f"time_limit is a number of seconds above 0, not {seconds!r}")


def check_image(arg: ArgInfo, position: int, image: Image) -> None:
    """LaunchError if an image's dimensions are not the declared ones, or it is written and read-only."""
    declared = next((d for d in ("1d_array", "2d_array", "1d", "2d", "3d") if f"image{d}" in arg.type_name), None)
    if declared is not None and image.dimensions != declared:
        raise fail(
            arg,
            position,
            f"a {image.dimensions} image given",
            f"pass hw.Image(array, dimensions={declared!r})",
        )
    if arg.access != "read" and not image.array.flags.writeable:
        raise fail(arg, position, "the image's array is read-only, and the kernel writes to it")

"""Input: annotations and NumPy dtypes. Output: the types of kernels in Python.

Types are values: equal ones are interchangeable, and they are part of a specialisation's key.
"""

from __future__ import annotations

import dataclasses
import re
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np

from headwater.errors import UsageError

Space = Literal["global", "constant", "local", "private"]
Layout = Literal["C", "strided"]


@dataclass(frozen=True, eq=False)
class Type:
    """Any type of a kernel in Python; ``name``: what messages call it. Of numbers and of `Special` types there is one
    object each, so that they are compared quickly."""

    name: str


@dataclass(frozen=True, eq=False)
class Scalar(Type):
    """A number: ``kind`` "b", "i", "u" or "f" as in NumPy, ``bits`` wide, ``c`` its name in OpenCL C.

    Called in plain Python it converts a number; ``hw.float32[:, :]`` is the type of an array of it.
    """

    kind: str
    bits: int
    c: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of it."""
        return np.dtype("?" if self.kind == "b" else f"{self.kind}{self.bits // 8}")

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest whole number that an integer type holds."""
        if self.kind == "u":
            return 0, (1 << self.bits) - 1
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1

    def __call__(self, value: Any = 0) -> Any:
        if self.kind == "f":
            with np.errstate(over="ignore"):
                return self.dtype.type(value)
        if self.kind == "b":
            return bool(value)
        number = int(value) & (1 << self.bits) - 1
        return number - (1 << self.bits) if self.kind == "i" and number >> self.bits - 1 else number

    def __getitem__(self, index: Any) -> Array:
        return array(self, len(index) if isinstance(index, tuple) else 1)


@dataclass(frozen=True)
class Vector(Type):
    """``width`` numbers (2, 3, 4, 8 or 16) that are computed with side by side."""

    element: Scalar
    width: int

    @property
    def c(self) -> str:
        """Its name in OpenCL C."""
        return f"{self.element.c}{self.width}"

    @property
    def lanes(self) -> int:
        """Numbers that it takes the room of: a vector of three has that of four."""
        return 4 if self.width == 3 else self.width

    def __call__(self, *parts: Any) -> Any:
        from headwater.python.vectors import make

        return make(self, parts)

    def __getitem__(self, index: Any) -> Array:
        return array(self, len(index) if isinstance(index, tuple) else 1)


@dataclass(frozen=True)
class Struct(Type):
    """Named fields, of a dataclass or of a structured dtype."""

    c: str
    fields: tuple[tuple[str, Scalar | Vector | Struct], ...]

    def field(self, name: str) -> Scalar | Vector | Struct | None:
        """The type of a field, None if there is none of that name."""
        return dict(self.fields).get(name)


@dataclass(frozen=True)
class Tuple(Type):
    """What several values returned or assigned together are."""

    parts: tuple[Type, ...]


@dataclass(frozen=True)
class Array(Type):
    """An array argument. ``layout`` "C": elements without gaps in C order; "strided": strides and an offset are passed,
    too. ``wide``: 2**31 elements or more, so that indices have 64 bits. ``shape``: that of an array with a fixed one,
    or None."""

    element: Scalar | Vector | Struct
    ndim: int
    space: Space = "global"
    layout: Layout = "C"
    wide: bool = False
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True)
class LocalPointer(Type):
    """Local memory of which the launch says the size: passed as `headwater.Local`."""

    element: Scalar | Vector | Struct


@dataclass(frozen=True)
class ImageType(Type):
    """An image argument; ``access`` "read_only" or "write_only"."""

    c: str
    access: str


@dataclass(frozen=True)
class Constant(Type):
    """An argument of a function that is the same at each call: a literal, a type, a function. ``name`` tells 1 from
    1.0 and True, which are equal."""

    value: Any


@dataclass(frozen=True, eq=False)
class Special(Type):
    """A type without values in memory: of literals that take the type of the other operand, of work-item functions, of
    samplers, and of nothing."""


def _scalar(name: str, c: str) -> Scalar:
    match = re.fullmatch(r"(bool|u?int|float)(\d*)", name)
    assert match
    kind = {"bool": "b", "int": "i", "uint": "u", "float": "f"}[match[1]]
    return Scalar(name, kind, int(match[2] or 8), c)


SCALARS: Final = {
    name: _scalar(name, c)
    for name, c in (
        ("bool", "bool"), ("int8", "char"), ("uint8", "uchar"), ("int16", "short"), ("uint16", "ushort"),
        ("int32", "int"), ("uint32", "uint"), ("int64", "long"), ("uint64", "ulong"), ("float16", "half"),
        ("float32", "float"), ("float64", "double"),
    )
}  # fmt: skip
BOOL, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64 = (
    SCALARS[name] for name in ("bool", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
)
UINT8 = SCALARS["uint8"]

WEAK_INT, WEAK_FLOAT = Special("a whole number"), Special("a floating-point number")
"""Of literals, and of variables that nothing else is assigned to yet."""
SIZE = Special("size_t")
"""Of work-item functions: 64 bits in OpenCL C, int32 as soon as it is assigned."""
SAMPLER, VOID, UNKNOWN, TEXT = Special("sampler"), Special("nothing"), Special("unknown"), Special("text")

_BY_DTYPE = {scalar.dtype: scalar for scalar in SCALARS.values()}
_VECTOR = re.compile(r"(u?(?:char|short|int|long)|half|float|double)([234])")
_BY_C = {scalar.c: scalar for scalar in SCALARS.values()}


def public(name: str) -> Type | None:
    """The type that ``hw.NAME`` is: "float32", "float4", "uchar4", …; None if it is none."""
    if name == "bool_":
        return BOOL
    if name in SCALARS and name != "bool":
        return SCALARS[name]
    match = _VECTOR.fullmatch(name)
    return vector(_BY_C[match[1]], int(match[2])) if match else None


def vector(element: Any, width: int) -> Vector:
    """The type of vectors of ``width`` elements: ``hw.vector(hw.float32, 8)``. UsageError for other widths."""
    kind = of_annotation(element)
    if not isinstance(kind, Scalar) or kind.kind == "b" or width not in (2, 3, 4, 8, 16):
        raise UsageError(f"no vector of {width!r} {element!r:.40}", hint="2, 3, 4, 8 or 16 numbers")
    return Vector(f"{kind.c}{width}" if width < 5 else f"vector({kind.name}, {width})", kind, width)


def array(element: Any, ndim: int = 1) -> Array:
    """The type of an array argument of ``ndim`` (1 to 3) dimensions: ``hw.array(hw.float32, ndim=2)``."""
    kind = of_annotation(element)
    if not isinstance(kind, (Scalar, Vector, Struct)):
        raise UsageError(f"an array cannot be made of {element!r:.60}", hint="numbers, vectors or a dataclass of them")
    if ndim not in (1, 2, 3):
        raise UsageError(f"arrays have one to three dimensions, not {ndim!r}")
    return Array(array_name(kind, ndim), kind, ndim)


def array_name(element: Type, ndim: int) -> str:
    """What messages call an array: ``float32[:, :]``."""
    return f"{element.name}[{', '.join(':' * ndim)}]"


def local(element: Any) -> LocalPointer:
    """The type of an argument for local memory whose size the launch gives, as `headwater.Local`."""
    kind = of_annotation(element)
    if not isinstance(kind, (Scalar, Vector, Struct)):
        raise UsageError(f"local memory cannot be made of {element!r:.60}")
    return LocalPointer(f"local({kind.name})", kind)


def image(access: str = "read", dimensions: str = "2d") -> ImageType:
    """The type of an image argument, passed as `headwater.Image`: ``access`` "read" or "write"; ``dimensions`` "1d",
    "2d", "3d", "1d_array" or "2d_array"."""
    if access not in ("read", "write"):
        raise UsageError(f'an image\'s access is "read" or "write", not {access!r}')
    if dimensions not in ("1d", "2d", "3d", "1d_array", "2d_array"):
        raise UsageError(f"no image has the dimensions {dimensions!r}")
    return ImageType(f"image({access!r}, {dimensions!r})", f"image{dimensions}_t", f"{access}_only")


@cache
def struct_of(kind: type) -> Struct:
    """The type of a dataclass whose fields are annotated with numbers, vectors or such dataclasses."""
    import typing

    fields = []
    hints = typing.get_type_hints(kind)
    for entry in dataclasses.fields(kind):
        made = of_annotation(hints[entry.name])
        if not isinstance(made, (Scalar, Vector, Struct)):
            raise UsageError(f"field {entry.name} of {kind.__name__} is no number, vector or dataclass of them")
        fields.append((entry.name, made))
    return Struct(kind.__name__, f"struct {kind.__name__}", tuple(fields))


_dtype_structs: dict[np.dtype[Any], Struct] = {}


def struct_of_dtype(dtype: np.dtype[Any]) -> Struct:
    """The type of a structured dtype that is laid out as in C."""
    found = _dtype_structs.get(dtype)
    if found is not None:
        return found
    assert dtype.names is not None
    fields: list[tuple[str, Scalar | Vector | Struct]] = []
    for name in dtype.names:
        inner = of_dtype(dtype[name])
        if inner is None:
            raise UsageError(f"field {name} of the array's elements ({dtype[name]}) has no type in kernels")
        fields.append((name, inner))
    aligned = np.dtype([(name, dtype[name]) for name in dtype.names], align=True)
    if (aligned.itemsize, [aligned.fields[n][1] for n in dtype.names]) != (  # type: ignore[index]
        dtype.itemsize,
        [dtype.fields[n][1] for n in dtype.names],  # type: ignore[index]
    ):
        raise UsageError(f"{dtype} does not have the layout of a C struct", hint="np.dtype([…], align=True)")
    digest = zlib.crc32(repr(dtype.descr).encode())  # the same in each process, so that the text is
    made = _dtype_structs[dtype] = Struct(
        f"record of {', '.join(dtype.names)}", f"struct record_{digest:08x}", tuple(fields)
    )
    return made


def of_dtype(dtype: np.dtype[Any]) -> Scalar | Struct | None:
    """The type of an array's elements; None for what kernels have none for (complex, text, objects)."""
    if dtype.names is not None:
        return struct_of_dtype(dtype)
    return _BY_DTYPE.get(dtype.newbyteorder("=") if dtype.isnative else dtype)


def of_annotation(value: Any) -> Type | None:
    """The type that an annotation or a constant of a kernel names; None if it names none."""
    if isinstance(value, Type):
        return value
    if isinstance(value, type):
        if value in (int, float, bool):
            return {int: INT32, float: FLOAT32, bool: BOOL}[value]
        if issubclass(value, np.generic):
            try:
                return of_dtype(np.dtype(value))
            except TypeError:  # np.number and other classes of types
                return None
        if dataclasses.is_dataclass(value):
            return struct_of(value)
    if isinstance(value, np.dtype):
        return of_dtype(value)
    return None

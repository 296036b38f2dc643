"""A translated Brook+ module. Input: what the translator found in a ``.br`` file. Output: what a host needs to launch
its kernels.

The types here are plain frozen dataclasses. They load from JSON without the parser, so that a cached translation costs
nothing but reading a file. Nothing here imports more than the standard library (NumPy only inside ``dtype``).

How to launch a kernel
======================
Shapes and positions
--------------------
A *shape* on the host is NumPy's order, slowest dimension first: ``(height, width)``. Inside a kernel Brook+ counts the
other
way, ``x`` fastest. Every ``int4`` argument of a generated kernel is in the kernel's order ``(x, y, z, w)``, and unused
dimensions hold 1 (for extents) or 0 (for positions): the stream of shape ``(480, 640)`` has the extents ``(640, 480,
1, 1)``.
``extents(shape)`` below makes them. All index arithmetic is 32 bit: the host refuses arrays of 2**31 elements or more.

Buffers
-------
A buffer holds the elements of ``ElementType`` without padding, C order: ``float3`` takes 12 bytes, a struct what
``StructType``
says. A buffer's address must be a multiple of 16 bytes (kernels read whole ``float4``); copy views that are not.

The domain
----------
A map kernel runs once per element of its *domain*. Unless the caller says otherwise that is the shape of the parameter
``BrookSignature.domain_from`` (the first output, else the scatter array). Restricting it (``execDomain``,
``domainOffset``, ``domainSize``, a sub-stream made by ``domain()``) makes an *executed domain* with an *origin*, the
position which ``instance()`` gives for its first element.

Choosing the entry
------------------
Each kernel offers several generated OpenCL kernels (``Entry``); ``Entry.variant`` says when each is right and how
large to
launch it. Arguments are passed in the order of ``Entry.args``; ``Arg.role`` says what each one is.

======================  ================================================================================================
variant                 use it when, and launch it as
======================  ================================================================================================
``linear``              every stream has the domain's shape and the whole domain runs. 1-D, ``count`` work-items.
``linear4``             as ``linear``; each work-item does four neighbours with 128-bit accesses. 1-D,
                        ``ceil(count / 4)`` work-items. Better on GPUs; on CPUs take ``linear``.
``grid``                every stream has the domain's shape, the whole domain runs, and the kernel asks for its
position.
                        3-D: ``(x, y, z * w)`` of the domain's extents.
``linear_inside``       as ``linear`` or ``grid``, where ``Entry.condition`` holds: no index is tested or clamped that
``grid_inside``         the condition shows to be good; and there are at most two dimensions.
``linear_tiled``        as ``linear_inside``, for GPUs: groups of exactly ``Entry.group`` work-items share the elements
                        that all of them read in turn through local memory. 1-D, ``count`` rounded up to whole groups.
``mapped``              anything else: streams of other shapes (implicit resize), an executed domain with an origin,
                        sub-streams. 3-D, ``(x, y, z * w)`` of the executed domain's extents. Addresses come from the
                        ``map`` arguments.
``group``               compute mode (``BrookSignature.group_size`` > 0), all input streams of the domain's shape. 1-D,
                        in groups of exactly ``group_size``; global size ``count`` rounded up to a multiple of it.
``group_mapped``        compute mode with implicit resize or an executed domain; launched as ``group``.
``reduce_full``         a reduction to one value, see below.
``reduce_columns``      a reduction of rows to stretches of them, column by column, see below.
``reduce_partial``      a reduction to a smaller stream. 3-D, ``(x, y, z * w)`` of the output's extents.
======================  ================================================================================================

``linear`` exists only for kernels that do not ask for their position, ``grid`` only for those that do; every map
kernel has
``mapped``. The global size may be larger than stated (rounded up to the group size): surplus work-items return at
once. A
host that launches exact sizes may build with ``-D HW_EXACT_RANGE``, which leaves that test out (not of ``linear4`` and
the compute-mode variants, which need it).

``Entry.condition`` depends on the extents of the domain and of gather arrays, and perhaps on values; ``conditions.py``
evaluates it.

Full reduction
--------------
``reduce_full`` has the arguments ``input``, ``output``, ``local`` and ``count``. Launch ``g`` groups of ``s``
work-items, each group
writes one element of ``output``, ``min(g, number of groups that have work)`` in all. So launch ``g`` groups into a
buffer of
``g`` elements, then one group over these ``g`` partial results with ``count = g``. To have no idle group keep
``g * s <= count`` in the first launch (or ``g = 1``). ``local`` wants ``s * Arg.bytes`` bytes. ``count`` must be at
least 1.
``BrookSignature.commutative`` only says which order the fold uses. If it is true, each group folds one contiguous part
of the input, with neighbouring work-items on neighbouring elements. The parts are equal when ``count`` is a multiple of
``g * s``: group ``k`` then folds exactly the elements from ``k * count / g`` up to ``(k + 1) * count / g``, which hosts
may rely on to reduce rows. Otherwise each work-item folds contiguous elements, so that operands stay in order. The
launch is the same.

Reduction of columns
--------------------
``reduce_columns`` has ``input``, ``output``, ``domain`` and ``count``. The input is a number of planes, one after the
other, of ``count`` elements each, in rows of ``domain.x``; the last row of a plane need not be full. The output has
``domain.y`` rows for each of the ``domain.z`` planes: every row folds, column by column and in order, a stretch of
``ceil(rows / domain.y)`` rows of the input, the last one what is left. The first row of every stretch must be full.
Launch groups of any size, ``ceil(domain.x / domain.w)`` x ``domain.y`` x ``domain.z`` of them; each does ``domain.w``
columns. In a commutative reduction of narrow rows a host may take several rows for one, and fold the columns that this
makes too many by a second launch, which has these as its rows.

Partial reduction
-----------------
``reduce_partial`` has ``input``, ``output``, ``domain`` (the output's extents), ``shape`` (the input's extents). Every
input extent is a
multiple of the output's; the host checks. An output of lower rank is padded with leading ones.

Pixel shaders
-------------
R600 and R700 run kernels as Brook+ ran them there. ``BrookModule.pixels`` is the module for them: OpenCL C that
`headwater.il.from_llvm` makes pixel shaders of, and for each kernel its ``pixel`` entries, all of which are to be run:
a kernel with more outs than a shader has outputs takes several. A kernel without entries can only be run with buffers.

Every stream is a two-dimensional texture or output. With one dimension up to 8192 elements, or two of up to 8192 each,
it lies there as it is. If any does not (and for arrays of three and four dimensions always), its elements follow each
other in rows of a power of two of elements: ``shift`` is its logarithm. Where that were less than 64, one row takes
all, and ``shift`` is 31. A shader that is built with ``-D HW_ADDRESS_TRANSLATION`` finds its way there; all streams of
the domain's shape, and all arrays of one dimension, must lie so. Work-items are the pixels where there are elements.

An element that is a struct has a texture or output for each member, from ``Arg.slot`` on, in the order of the scalars
and vectors in it. Three components lie in textures of four lanes; in the global buffer, and in constant buffers, every
element takes 16 bytes, its components 32 or 64 bits each.

A reduction's shader is one pass, which folds tiles of a stream to a smaller one. A kernel with a group size is a
compute shader, for R700: a linear grid of such groups, enough for all elements, without outputs.

Map tables
----------
A ``map`` argument is an ``int`` buffer with ``X + Y + Z + W`` entries for an executed domain of extents ``(X, Y, Z,
W)``. The
element of the stream for the domain's element ``(x, y, z, w)`` is ``t[x] + t[X + y] + t[X+Y + z] + t[X+Y+Z + w]``,
counted in
elements from the buffer's start. So a table holds strides, domain offsets and the implicit resize at once: entry ``k``
of a
dimension with stride ``s`` is ``s * trunc(k / (out / in))``, in float arithmetic as Brook+ did it (plus the offset).
``map_table``
below makes one.
"""

from __future__ import annotations

import json
import struct as _struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from headwater.brook.conditions import Test

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["input", "output", "gather", "scatter", "constant", "value", "reduce"]
Variant = Literal[
    "linear",
    "linear4",
    "linear_inside",
    "linear_tiled",
    "grid",
    "grid_inside",
    "mapped",
    "group",
    "group_mapped",
    "reduce_full",
    "reduce_columns",
    "reduce_partial",
    "pixel",
]
Role = Literal[
    "input",
    "output",
    "gather",
    "scatter",
    "constant",
    "struct",
    "value",
    "shape",
    "map",
    "count",
    "domain",
    "origin",
    "local",
    "shift",
    "tile",
]

SCALARS: dict[str, tuple[str, int]] = {
    # name: (NumPy type string, bytes)
    "char": ("i1", 1),
    "uchar": ("u1", 1),
    "short": ("i2", 2),
    "ushort": ("u2", 2),
    "int": ("i4", 4),
    "uint": ("u4", 4),
    "float": ("f4", 4),
    "double": ("f8", 8),
}


@dataclass(frozen=True)
class ElementType:
    """The type of a stream's element or of a value: ``float4`` is ``("float", 4)``, a struct ``("Pair", 1)`` with
    ``is_struct``.
    """

    base: str
    width: int = 1
    is_struct: bool = False

    @property
    def name(self) -> str:
        """As written in Brook+ and OpenCL C: ``float4``."""
        return self.base if self.width == 1 else f"{self.base}{self.width}"

    @property
    def scalar_dtype(self) -> str:
        """NumPy's name of one component, ``"f4"``; an element of ``width`` > 1 is a trailing axis of that length. Not
        for structs.
        """
        return SCALARS[self.base][0]

    @property
    def lanes(self) -> int:
        """Lanes of 32 bits that an element takes in a VLIW chip's register. Not for structs."""
        return self.width * max(1, SCALARS[self.base][1] // 4)

    @property
    def stored_bytes(self) -> int:
        """Bytes of one element in a buffer, without padding. Not for structs: see ``StructType.size_bytes``."""
        return SCALARS[self.base][1] * self.width

    @property
    def value_bytes(self) -> int:
        """Bytes of a ``value`` argument: OpenCL C passes three components as four. Not for structs."""
        return SCALARS[self.base][1] * (4 if self.width == 3 else self.width)


@dataclass(frozen=True)
class StructField:
    """One member of a struct: its type, and its offset in bytes within the element."""

    name: str
    type: ElementType
    offset: int


@dataclass(frozen=True)
class StructType:
    """A struct usable as a stream's element; laid out as a C++ host compiler lays out its scalar components."""

    name: str
    fields: tuple[StructField, ...]
    size_bytes: int

    def dtype(self, structs: dict[str, StructType]) -> np.dtype[Any]:
        """The NumPy structured dtype; members of width > 1 are sub-arrays. ``structs`` is ``BrookModule.structs``."""
        import numpy as np

        formats: list[Any] = []
        for member in self.fields:
            if member.type.is_struct:
                formats.append(structs[member.type.base].dtype(structs))
            elif member.type.width == 1:
                formats.append(np.dtype(member.type.scalar_dtype))
            else:
                formats.append(np.dtype((member.type.scalar_dtype, (member.type.width,))))
        return np.dtype(
            {
                "names": [member.name for member in self.fields],
                "formats": formats,
                "offsets": [member.offset for member in self.fields],
                "itemsize": self.size_bytes,
            }
        )


@dataclass(frozen=True)
class Parameter:
    """One parameter of a Brook+ kernel, in source order.

    ``rank`` is the number of brackets of a gather, scatter or constant array, 0 for streams (any rank, known at
    launch) and
    values. ``sizes`` are the sizes written in a constant array's brackets, slowest first; arrays too large for constant
    memory have kind ``gather`` and still carry them.
    """

    name: str
    kind: Kind
    type: ElementType
    rank: int = 0
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Arg:
    """One argument of a generated OpenCL kernel.

    ==============  ================================================================================================
    role            what to pass
    ==============  ================================================================================================
    ``input``       the buffer of stream ``param`` (read only)
    ``output``      the buffer of stream ``param`` (written; in a reduction also the partial results)
    ``gather``      the buffer of array ``param`` (read only)
    ``scatter``     the buffer of array ``param`` (read and written)
    ``constant``    a buffer with the array ``param`` (``__constant``), exactly ``Parameter.sizes`` elements, C order
    ``struct``      a buffer with one element: the struct passed by value as ``param``
    ``value``       the value ``param`` itself, ``bytes`` long; three components are padded to four
    ``shape``       ``int4``: the extents of ``param``'s array
    ``map``         ``int`` buffer: the address table of stream ``param``
    ``count``       ``int``: number of elements
    ``domain``      ``int4``: extents of the (executed) domain; for ``reduce_columns`` see there
    ``origin``      ``int4``: what ``instance()`` gives for the domain's first element
    ``local``       local memory, ``bytes`` for each work-item of the group
    ``shift``       ``int``: of ``param``'s texture, or of the domain: see "Pixel shaders"
    ``tile``        ``int4``: extents of what a pass of a reduction folds to one element
    ==============  ================================================================================================

    ``slot``: of pixel shaders, the first texture, output or constant buffer that ``param`` is bound to. Such arguments
    are not the OpenCL kernel's; its own have -1. ``member``: what of a struct a ``value`` is, by the names that lead
    there.
    """

    role: Role
    name: str
    param: str = ""
    type: str = ""
    bytes: int = 0
    slot: int = -1
    member: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One generated OpenCL kernel: its name, when to use it, its arguments in order.

    ``condition``: what must hold for it to be right (see ``conditions.py``). ``group``: the work-items in a group that
    it insists on, 0 if it takes any number.
    """

    symbol: str
    variant: Variant
    args: tuple[Arg, ...]
    condition: tuple[Test, ...] = ()
    group: int = 0


@dataclass(frozen=True)
class BrookSignature:
    """One Brook+ kernel. ``entries`` is empty for a kernel that only other kernels can call (``launchable`` is
    false). ``uneven``: it has loops that may run longer for one element than for its neighbour.
    """

    name: str
    parameters: tuple[Parameter, ...]
    entries: tuple[Entry, ...]
    domain_from: str = ""
    group_size: int = 0
    commutative: bool = True
    uses_position: bool = False
    uneven: bool = False
    needs: frozenset[str] = frozenset()
    line: int = 0
    doc: str = ""

    @property
    def launchable(self) -> bool:
        """Whether a host can call it."""
        return bool(self.entries)

    @property
    def is_reduction(self) -> bool:
        """Whether it is a ``reduce`` kernel: one input stream, one result."""
        return any(parameter.kind == "reduce" for parameter in self.parameters)

    def entry(self, variant: Variant) -> Entry | None:
        """The entry of that variant, or None where the kernel has none."""
        return next((entry for entry in self.entries if entry.variant == variant), None)


@dataclass(frozen=True)
class BrookModule:
    """A whole translated file. ``source`` is OpenCL C 1.1 for all kernels; ``line_map[i]`` is the ``.br`` line (0:
    none) that line
    ``i + 1`` of it came from. ``warnings`` are formatted as the errors are, ``needs`` the union over kernels
    (``"double"``). ``pixels``: the same kernels as pixel shaders, see "Pixel shaders"; None in a module that was
    written to a file of its own.
    """

    source: str
    filename: str
    kernels: dict[str, BrookSignature]
    structs: dict[str, StructType] = field(default_factory=dict)
    line_map: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    pixels: BrookModule | None = None

    def drawn(self, stream_texels: int) -> BrookModule:
        """The module for a chip whose streams are textures of that size: its pixel shaders, if it is not 0."""
        return self.pixels if stream_texels and self.pixels is not None else self

    def to_json(self) -> str:
        """The module as JSON text; ``from_json`` gives an equal module back."""
        return json.dumps(asdict(self), default=sorted)

    @staticmethod
    def from_json(text: str) -> BrookModule:
        """The module that ``to_json`` wrote."""
        return BrookModule._from_data(json.loads(text))

    @staticmethod
    def from_parts(description: str, source: str) -> BrookModule:
        """A module from JSON without its text (as generated Python modules hold it), and the OpenCL C text."""
        return BrookModule._from_data({"line_map": [], "warnings": [], **json.loads(description), "source": source})

    @staticmethod
    def _from_data(data: dict[str, Any]) -> BrookModule:
        return BrookModule(
            source=data["source"],
            filename=data["filename"],
            kernels={name: _kernel(kernel) for name, kernel in data["kernels"].items()},
            structs={name: _struct_type(struct) for name, struct in data["structs"].items()},
            line_map=tuple(data["line_map"]),
            warnings=tuple(data["warnings"]),
            needs=frozenset(data["needs"]),
            pixels=BrookModule._from_data(data["pixels"]) if data.get("pixels") else None,
        )


def _kernel(data: dict[str, Any]) -> BrookSignature:
    fields = dict(data)
    fields["parameters"] = tuple(
        Parameter(**{**item, "type": ElementType(**item["type"]), "sizes": tuple(item["sizes"])})
        for item in data["parameters"]
    )
    fields["entries"] = tuple(
        Entry(
            item["symbol"],
            item["variant"],
            tuple(Arg(**{**arg, "member": tuple(arg["member"])}) for arg in item["args"]),
            tuple(tuple(test) for test in item["condition"]),
            item["group"],
        )
        for item in data["entries"]
    )
    fields["needs"] = frozenset(data["needs"])
    return BrookSignature(**fields)


def _struct_type(data: dict[str, Any]) -> StructType:
    fields = tuple(StructField(item["name"], ElementType(**item["type"]), item["offset"]) for item in data["fields"])
    return StructType(data["name"], fields, data["size_bytes"])


def extents(shape: Sequence[int], fill: int = 1) -> tuple[int, int, int, int]:
    """The kernel's order ``(x, y, z, w)`` of a host shape (slowest first, rank 1 to 4), padded with ``fill``."""
    padded = (*reversed(shape), *([fill] * (4 - len(shape))))
    return padded[0], padded[1], padded[2], padded[3]


Leaf = tuple[tuple[str, ...], ElementType]
"""A scalar or vector in an element, and the names of the members that lead to it."""


def leaves(type_: ElementType, structs: Mapping[str, StructType]) -> list[Leaf]:
    """The scalars and vectors that an element is made of; each is a texture or output of its own."""
    if not type_.is_struct:
        return [((), type_)]
    found: list[Leaf] = []
    for member in structs[type_.base].fields:
        found += [((member.name, *path), leaf) for path, leaf in leaves(member.type, structs)]
    return found


def resize_index(position: int, out_extent: int, in_extent: int) -> int:
    """Which element of ``in_extent`` an implicit resize to ``out_extent`` reads at ``position``: ``trunc(position /
    (out / in))``.

    Each step is rounded to single precision, as in Brook+'s run-time (Brook+ 1.4.1, ``KernelImpl::_resizeStream``).
    """
    if out_extent == in_extent:
        return position
    ratio = _single(_single(out_extent) / _single(in_extent))
    return min(int(_single(_single(position) / ratio)), in_extent - 1)


def _single(value: float) -> float:
    result: float = _struct.unpack("f", _struct.pack("f", value))[0]
    return result


def map_table(
    domain: Sequence[int],
    stream: Sequence[int],
    stored: Sequence[int] | None = None,
    start: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The ``map`` argument of one stream; all shapes slowest dimension first, as on the host.

    ``domain``: the whole domain to which the stream is resized, ``stream``: the stream's (or sub-stream's) shape,
    ``stored``: the
    shape of the array that the buffer holds (default ``stream``), ``start``: where the sub-stream begins in it
    (default zeros).
    For an executed domain smaller than the whole, slice the table's dimensions. The table is x first, as kernels read
    it.
    """
    stored = stored or stream
    start = start or [0] * len(stream)
    table: list[int] = []
    stride = 1
    for out_extent, in_extent, whole, first in zip(
        reversed(domain), reversed(stream), reversed(stored), reversed(start), strict=True
    ):
        table += [stride * (first + resize_index(k, out_extent, in_extent)) for k in range(out_extent)]
        stride *= whole
    return (*table, *([0] * (4 - len(domain))))

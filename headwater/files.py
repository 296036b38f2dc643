"""Input: a file's name, or words for made-up data. Output: an array that fits a kernel's parameter; and the way back.

What a name may be (``read``):

* ``x.npy``, ``x.npz`` (``x.npz:member`` if it holds several);
* ``x.png``, ``.jpg``, ``.bmp``, ``.ppm``, ``.tif``, ``.webp``: a picture, turned into what the parameter wants;
* ``x.csv``, ``x.tsv`` (``x.csv:column`` for one column by its heading);
* ``x.bin:float32`` or ``x.bin:float32:512x512``: the bare bytes;
* ``zeros:SHAPE``, ``ones:SHAPE``, ``arange:SHAPE``, ``random:SHAPE`` or ``random:SHAPE:SEED``: no file at all; of the
  type that the parameter has, or ``ones:double:SHAPE``.

A shape is ``1000``, ``512x512`` (rows x columns) or ``4Mi``.
"""

from __future__ import annotations

import ast
import csv
import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

import numpy as np

from headwater.base.numbers import natural
from headwater.base.reading import special
from headwater.base.writing import Staging, refuse_place
from headwater.errors import HeadwaterError, ResourceError, SourceError, Span, UsageError
from headwater.runtime.signature import SCALARS, parse_type

if TYPE_CHECKING:
    from PIL.Image import Image

Array = np.ndarray[Any, np.dtype[Any]]

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".gif", ".tif", ".tiff", ".webp")
TEXTS = {".csv": ",", ".tsv": "\t"}
RAW = (".bin", ".raw", ".dat")
GENERATORS = ("zeros", "ones", "arange", "random")

_MOST_ELEMENTS = 1 << 63  # NumPy counts with signed numbers of 64 bits
_MOST_DIMENSIONS = 32  # of NumPy 1; NumPy 2 has 64, and vectors add one
_MULTIPLES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


@dataclass(frozen=True)
class Element:
    """One element of a buffer.

    ``name`` is as in the source, ``dtype`` that of a component (or of the whole struct), ``width`` says how many
    components there are and ``stored`` how many are stored: four for OpenCL C's three-component vectors. ``untyped``:
    any numbers of 32 or 64 bits will do, one or more to an element, as in ATI IL.
    """

    name: str
    dtype: np.dtype[Any]
    width: int = 1
    stored: int = 1
    untyped: bool = False

    @property
    def tail(self) -> tuple[int, ...]:
        """The trailing axis that a vector type adds to an array's shape."""
        return () if self.stored == 1 else (self.stored,)


def element(name: str, *, packed: bool = False) -> Element | None:
    """The element called ``name`` ("float4", "unsigned int", or NumPy's "float32"); None if it is no such type.

    ``packed``: three components are stored as three, as Brook+ does.
    """
    parsed = parse_type(name)
    if parsed is not None:
        scalar, width = parsed
        return Element(name, np.dtype(SCALARS[scalar][0]), width, 4 if width == 3 and not packed else width)
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        return None
    return Element(name, dtype) if dtype.kind in "iufb" and dtype.isnative else None


def _named(name: str, text: str) -> Element | None:
    """The element that a user calls ``name`` in ``text``. UsageError if NumPy and OpenCL C mean different things: int16
    is a number of 16 bits, or a vector of 16 numbers of 32 bits."""
    found = element(name)
    if found is not None and found.width > 1 and name in np.sctypeDict:
        byte, short = ("uchar", "ushort") if name.startswith("u") else ("char", "short")
        plain, scalar = byte if name.endswith("8") else short, name.rstrip("0123456789")
        raise UsageError(
            f"{_short(text)!r}: {name} is a vector of {found.width} in OpenCL C and a number in NumPy",
            hint=f"write {plain} for numbers of {np.dtype(name).itemsize * 8} bits, and {scalar} for those of 32",
        )
    return found


@dataclass
class Given:
    """What the user named: ``kind`` says how far it may be converted; ``generate`` waits for the element's type."""

    text: str
    kind: Literal["exact", "text", "picture", "generator"]
    array: Array | None = None
    shape: tuple[int, ...] = ()
    generate: Callable[[tuple[int, ...], Element], Array] | None = field(default=None, repr=False)
    levels: int = 255


# ---------------------------------------------------------------------------------------------------------- reading


def shape_of(text: str) -> tuple[int, ...]:
    """The shape written as ``1000``, ``512x512``, ``512,512`` or ``4Mi``; UsageError if it is none, or empty."""
    text, sizes = text.strip(), []
    for part in re.split(r"[x,]", text):
        match = re.fullmatch(r"(\d+)(k|M|G|Ki|Mi|Gi)?", part.strip())
        if match is None:
            raise UsageError(f"not a shape: {_short(text)!r}", hint="write 1000, 512x512 (rows x columns) or 4Mi")
        number = natural(match[1])
        sizes.append(_MOST_ELEMENTS if number is None else number * _MULTIPLES[match[2] or ""])
    if 0 in sizes:
        raise UsageError(f"the shape {text} has no elements", hint="every size must be 1 or more")
    if prod(sizes) >= _MOST_ELEMENTS:
        raise UsageError(f"the shape {_short(text)} has more elements than 64 bits count")
    if len(sizes) > _MOST_DIMENSIONS:
        raise UsageError(f"the shape {_short(text)} has {len(sizes)} dimensions; {_MOST_DIMENSIONS} are the most")
    return tuple(sizes)


def names_data(text: str) -> bool:
    """Whether a command-line word means an array (a file or a generator) rather than a number."""
    head, _, rest = text.partition(":")
    if head in GENERATORS and rest:
        return True
    if _is_list(text):
        return False  # of numbers: a vector's value as likely as an array
    return Path(_split(text)[0]).suffix.lower() in (*PICTURES, *TEXTS, *RAW, ".npy", ".npz") or os.path.exists(text)


def _split(text: str) -> tuple[str, str]:
    """A file's name and what follows its colon; a drive letter's colon is part of the name."""
    start = 2 if re.match(r"[A-Za-z]:[\\/]", text) else 0
    if os.path.exists(text):
        return text, ""
    name, _, rest = text[start:].partition(":")
    return text[:start] + name, rest


def read(text: str) -> Given:
    """Read what ``text`` names (see the module's list). UsageError names the file and says what is wrong with it."""
    head, _, rest = text.partition(":")
    if head in GENERATORS and rest:
        return _generator(text, head, rest)
    if _is_list(text):
        return Given(text, "text", np.array([float(number) for number in text.split(",")]))
    name, rest = _split(text)
    path = Path(name)
    suffix = path.suffix.lower()
    if not name:
        raise UsageError(f"{text!r} names no file", hint="write FILE, FILE:member or FILE:type:shape")
    if not os.path.exists(path):
        if os.path.islink(path):
            raise UsageError(f"{name!r} is a link that leads nowhere")
        made_up = f"write numbers as {text},0, or generate them: ones:1024" if _is_number(text) else ""
        raise UsageError(f"there is no file {name!r}", hint=made_up or _similar(path))
    if os.path.isdir(path):
        raise UsageError(f"{name!r} is a directory")
    if kind := special(os.stat(path).st_mode):
        raise UsageError(f"{name!r} is {kind}, not a file", hint="write what it has into a file first")
    if rest and suffix in (*PICTURES, ".npy"):
        raise UsageError(f"{text!r}: {suffix} files have no parts", hint=f"leave :{rest} out")
    try:
        if suffix in PICTURES:
            given = _picture(text, path)
        elif suffix == ".npy":
            with open(path, "rb") as file:
                _check_header(file, path.stat().st_size)
                given = Given(text, "exact", np.lib.format.read_array(file, allow_pickle=False))
        elif suffix == ".npz":
            given = Given(text, "exact", _member(path, rest))
        elif suffix in TEXTS:
            given = Given(text, "text", _table(path, TEXTS[suffix], rest))
        else:
            given = Given(text, "exact", _raw(path, rest))
    except HeadwaterError:
        raise
    except MemoryError as error:
        raise ResourceError(f"{name} does not fit into memory") from error
    except Exception as error:  # of NumPy, Pillow and zipfile, which raise errors of all kinds for damaged files
        hint = "" if isinstance(error, OSError) and error.errno else _reading_hint(suffix)
        raise UsageError(f"cannot read {name}: {_reason(error)}", hint=hint) from error
    array = cast(Array, given.array)
    if array.size == 0:
        raise UsageError(f"{text} has no elements: its shape is {array.shape}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    given.array = np.ascontiguousarray(array).reshape(array.shape or (1,))
    return given


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def _similar(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = os.listdir(path.parent)
    except (OSError, ValueError):  # a name with a null character is none
        names = []
    close = get_close_matches(path.name, names, 1)
    if close:
        return f"did you mean {path.with_name(close[0])}?"
    return "" if os.path.isdir(path.parent) else f"the directory {path.parent} does not exist"


def _reading_hint(suffix: str) -> str:
    if suffix == ".npy":
        return "the file is damaged, or holds Python objects; save plain numbers with numpy.save"
    if suffix in TEXTS:
        return "a table is UTF-8 text: numbers, a line for each row, headings on the first if you like"
    return "the file is damaged or not what its name says" if suffix in (*PICTURES, ".npz") else ""


def _check_header(file: BinaryIO, size: int) -> None:
    """ValueError if an array's header, in NumPy's format, tells of more than can be in the file's ``size`` bytes.
    What else is wrong with it NumPy says, or that it takes more memory than there is."""
    start = file.read(12)
    wide = len(start) == 12 and start[6] > 1  # the version: the header's length has two bytes in the first, then four
    length = int.from_bytes(start[8:12] if wide else start[8:10], "little")
    begin = 12 if wide else 10
    file.seek(begin)
    try:
        header = ast.literal_eval(file.read(min(length, _LONGEST_HEADER)).decode("latin-1"))
        shape, dtype = header["shape"], np.lib.format.descr_to_dtype(header["descr"])
        sizes = [int(n) for n in shape]
    except Exception:
        return
    finally:
        file.seek(0)
    if min(sizes, default=0) < 0:
        raise ValueError(f"its header states the shape {_short(shape)}: no size is negative")
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if not dtype.itemsize:
        raise ValueError("its elements have no bytes")
    wanted, has = prod(sizes) * dtype.itemsize, max(size - begin - length, 0)
    if wanted > has:
        raise ValueError(f"its header states the shape {_short(shape)} of {dtype}, and {has} bytes follow")


_LONGEST_HEADER = 10_000  # as numpy.load reads


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _member(path: Path, member: str) -> Array:
    from zipfile import BadZipFile, is_zipfile

    try:
        if not is_zipfile(path):
            raise ValueError("it is not an archive of NumPy's, or not all of it is there")
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if not member and len(names) == 1:
                member = names[0]
            if member not in names:
                what = f"{path} has no member {member!r}" if member else f"{path} has several members"
                if not names:
                    raise UsageError(f"{path} has no members", hint="it was saved without arrays, or is something else")
                raise UsageError(what, hint=f"name one of them: {', '.join(f'{path}:{name}' for name in names)}")
            stored = archive.zip.NameToInfo.get(f"{member}.npy")
            if stored is not None:
                with archive.zip.open(stored) as file:
                    _check_header(cast(BinaryIO, file), stored.file_size)
            array = archive[member]
            if not isinstance(array, np.ndarray):
                raise ValueError(f"its member {member} is not an array")
            return array
    except BadZipFile as error:
        raise ValueError(str(error)) from error


def _table(path: Path, delimiter: str, column: str) -> Array:
    with open(path, encoding="utf-8-sig", newline="") as file:
        try:
            first = next(csv.reader(file, delimiter=delimiter), [])
        except csv.Error as error:
            raise ValueError(str(error)) from None
    cells = [cell.strip() for cell in first]
    if not cells:
        raise ValueError("its first line is empty")
    heading = not all(_is_number(cell) for cell in cells)
    columns = None
    if column:
        if heading and column in cells:
            columns = cells.index(column)
        elif (number := natural(column)) is not None and number < len(cells):
            columns = number
        else:
            known = ", ".join(cells) if heading else f"0 to {len(cells) - 1}"
            raise UsageError(f"{path} has no column {column!r}", hint=f"it has: {known}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no data below the heading: the caller refuses empty arrays
        try:
            array = np.loadtxt(
                path,
                delimiter=delimiter,
                skiprows=int(heading),
                usecols=columns,
                ndmin=1,
                encoding="utf-8-sig",
                comments=None,
                quotechar='"',
            )
        except ValueError as error:
            fault = _fault_of_table(path, delimiter, cells if heading else [], columns, len(cells))
            raise fault or error from None
    return cast(Array, array)


def _fault_of_table(
    path: Path, delimiter: str, heads: Sequence[str], column: int | None, width: int
) -> SourceError | None:
    """The first line of a table that does not hold the numbers it should; None if each does."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=delimiter)
        for row in rows:
            if not row or (heads and rows.line_num == 1):
                continue
            place = Span(str(path), rows.line_num)
            if len(row) <= column if column is not None else len(row) != width:
                return SourceError(f"this line has {len(row)} cells, the first one {width}", place)
            for index in range(width) if column is None else [column]:
                if not _is_number(row[index]):
                    name = heads[index] if heads else str(index)
                    hint = "every cell is a number; name one column to read it alone" if column is None else ""
                    return SourceError(f"{row[index]!r} in column {name!r} is not a number", place, hint=hint)
    return None


def _is_list(text: str) -> bool:
    """Whether these are numbers with commas between: ``1,2.5,-3``."""
    return "," in text and all(_is_number(part) for part in text.split(",")) and not os.path.exists(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _raw(path: Path, rest: str) -> Array:
    type_name, _, shape_text = rest.partition(":")
    kind = _named(type_name, f"{path}:{rest}") if type_name else None
    if kind is None:
        what = f"{type_name!r} is not a number type" if type_name else f"the type of the numbers in {path} is not known"
        raise UsageError(what, hint=f"write {path}:float32 or {path}:float32:512x512")
    size = path.stat().st_size
    item = kind.dtype.itemsize * kind.stored
    if size % item:
        raise UsageError(f"{path} has {size} bytes, which is not a whole number of {type_name} ({item} bytes each)")
    shape = shape_of(shape_text) if shape_text else (size // item,)
    if prod(shape) * item != size:
        raise UsageError(f"{path} has {size} bytes, but {type_name} of shape {shape_text} takes {prod(shape) * item}")
    return np.fromfile(path, dtype=kind.dtype).reshape(shape + kind.tail)


def _picture(text: str, path: Path) -> Given:
    from PIL import Image

    try:
        # Pillow warns of pictures half as large as those that it refuses.
        with (
            warnings.catch_warnings(action="ignore", category=Image.DecompressionBombWarning),
            Image.open(path) as image,
        ):
            if image.getexif().get(0x0112, 1) != 1:  # Exif 2.3, 4.6.4: Orientation
                from PIL import ImageOps

                ImageOps.exif_transpose(image, in_place=True)
            if image.mode.startswith("I"):  # 16 bits of grey
                array = np.asarray(image).astype(np.uint16)
                return Given(text, "picture", array, array.shape, levels=65535)
            mode = "L" if image.mode in ("1", "L") else "RGBA"
            array = np.asarray(image if image.mode == mode else image.convert(mode))
    except Image.DecompressionBombError:
        raise UsageError(
            f"{path} has too many pixels: 178,956,970 are the most", hint="cut it into parts, or give its bytes"
        ) from None
    return Given(text, "picture", array, array.shape[:2])


def _generator(text: str, kind: str, rest: str) -> Given:
    """``kind:SHAPE[:SEED]``, or ``kind:TYPE:SHAPE[:SEED]`` with a type that is not the parameter's."""
    parts = rest.split(":")
    said = _named(parts[0], text) if parts[0][:1].isalpha() else None
    if said is not None:
        parts.pop(0)
    shape, seed = shape_of(parts[0] if parts else ""), natural(parts[1]) if len(parts) == 2 else None
    if len(parts) > 1 and (kind != "random" or seed is None):
        raise UsageError(
            f"{_short(text)!r}: only random takes something after its shape, a seed of up to 19 digits",
            hint="random:1000:42; without a type, as in random:float:1000:42, elements have the parameter's",
        )

    def generate(shape: tuple[int, ...], wanted: Element) -> Array:
        full = shape + wanted.tail
        try:
            return _made_up(kind, full, wanted, seed or 0)
        except (MemoryError, ValueError, OverflowError) as error:
            size = prod(full) * wanted.dtype.itemsize
            raise ResourceError(f"{text} takes {size / 2**30:,.1f} GiB, more memory than there is") from error

    if said is not None:
        return Given(text, "exact", generate(shape, said))
    return Given(text, "generator", None, shape, generate)


def _made_up(kind: str, shape: tuple[int, ...], wanted: Element, seed: int) -> Array:
    if kind == "zeros":
        return np.zeros(shape, wanted.dtype)
    if wanted.dtype.kind == "V":
        raise UsageError(f"only zeros can be generated for {wanted.name}, a struct")
    if kind == "ones":
        return np.ones(shape, wanted.dtype)
    if kind == "arange":
        return np.arange(prod(shape)).astype(wanted.dtype).reshape(shape)
    random = np.random.default_rng(seed)
    if wanted.dtype.kind == "f":
        kept = np.dtype(np.float64) if wanted.dtype.itemsize == 8 else np.dtype(np.float32)
        return random.random(shape, dtype=kept.type).astype(wanted.dtype, copy=False)
    if wanted.dtype.kind == "b":
        return random.integers(0, 2, shape, np.uint8).astype(wanted.dtype)
    return random.integers(0, np.iinfo(wanted.dtype).max, shape, dtype=wanted.dtype.type, endpoint=True)


# ---------------------------------------------------------------------------------------------------------- fitting


def logical_shape(given: Given, wanted: Element) -> tuple[int, ...]:
    """The shape counted in elements of ``wanted``: a vector's trailing axis is left out."""
    if given.array is None:
        return given.shape[:2] if wanted.untyped else given.shape
    shape = tuple(fit(given, wanted).shape)
    if wanted.untyped:
        return shape[:2]
    return shape[:-1] if wanted.tail else shape


def fit(given: Given, wanted: Element, *, cast_types: bool = False) -> Array:
    """The data as a contiguous array of ``wanted``'s dtype, vectors as a trailing axis.

    Pictures, text and generators become what is wanted; arrays of numbers must have the type, unless ``cast_types``.
    """
    if given.generate is not None:
        says_lanes = wanted.untyped and len(given.shape) > 2
        return given.generate(given.shape, replace(wanted, stored=1) if says_lanes else wanted)
    array = cast(Array, given.array)
    if given.kind == "picture":
        return _from_picture(given, wanted)
    if wanted.dtype.kind == "V":
        return _as_struct(given, array, wanted)
    if wanted.untyped:
        return _untyped(given, array)
    if array.dtype != wanted.dtype:
        if array.dtype.kind not in "iufb":
            raise UsageError(f"{given.text} holds {array.dtype}, which no kernel takes; {wanted.name} is expected")
        if given.kind == "exact" and not cast_types and not _same_bytes(array.dtype, wanted.dtype):
            raise UsageError(
                f"{given.text} holds {array.dtype} where {wanted.name} ({wanted.dtype}) is expected",
                hint="convert the file, or add --cast to convert while reading",
            )
        with np.errstate(all="ignore"):
            array = array.astype(wanted.dtype)
    return _with_tail(given.text, np.ascontiguousarray(array), wanted)


def _untyped(given: Given, array: Array) -> Array:
    """Numbers as they are; written ones as int where all are whole, filled up to four lanes."""
    if given.kind == "text":
        whole = array.ndim == 1 and "." not in given.text and "e" not in given.text.lower()
        array = array.astype(np.int32 if whole and np.all(array == np.trunc(array)) else np.float32)
        return np.pad(array, (0, -array.size % 4)) if array.ndim == 1 else array
    if array.dtype.kind not in "iuf" or array.dtype.itemsize not in (4, 8):
        raise UsageError(f"{given.text} holds {array.dtype}", hint="lanes have 32 bits: save it as float32 or int32")
    return array


def _same_bytes(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """bool for uchar: the same bytes under another name."""
    return given == np.dtype(bool) and wanted == np.dtype(np.uint8)


def _with_tail(text: str, array: Array, wanted: Element) -> Array:
    """Give the array the trailing axis of a vector type, from an axis of that length or a flat run of components."""
    if wanted.width == 1:
        return array
    if array.ndim > 1 and array.shape[-1] == wanted.stored:
        return array
    if array.ndim > 1 and array.shape[-1] == wanted.width:  # three components stored as four
        padded = np.zeros((*array.shape[:-1], wanted.stored), wanted.dtype)
        padded[..., : wanted.width] = array
        return padded
    if array.shape[-1] % wanted.stored == 0:
        return array.reshape(*array.shape[:-1], array.shape[-1] // wanted.stored, wanted.stored)
    raise UsageError(
        f"{text} has the shape {array.shape}, which does not hold {wanted.name}",
        hint=f"its last axis must be {wanted.width} long",
    )


def _as_struct(given: Given, array: Array, wanted: Element) -> Array:
    if array.dtype.itemsize == wanted.dtype.itemsize and array.dtype.kind == "V":
        return array.view(wanted.dtype)
    raw = array.view(np.uint8).reshape(-1)
    if given.kind != "exact" or raw.size % wanted.dtype.itemsize:
        raise UsageError(
            f"{given.text} does not hold {wanted.name}, a struct of {wanted.dtype.itemsize} bytes",
            hint="save a NumPy structured array, or its bytes",
        )
    return raw.view(wanted.dtype)


def _grey(pixels: Array) -> Array:
    if pixels.ndim == 2:
        return pixels
    # Recommendation ITU-R BT.601-7, 2.5.1: luma from red, green and blue; in 16-bit fixed point.
    weights = np.array([19595, 38470, 7471], np.uint32)
    return ((pixels[..., :3].astype(np.uint32) @ weights + 32768) >> 16).astype(pixels.dtype)


def _rgba(pixels: Array, levels: int) -> Array:
    if pixels.ndim == 3:
        return pixels
    eight = pixels if levels == 255 else (pixels >> 8).astype(np.uint8)
    return np.dstack([eight, eight, eight, np.full_like(eight, 255)])


def picture_meaning(wanted: Element) -> str:
    """In words, how a picture becomes elements of this type (and elements of this type a picture)."""
    if wanted.dtype == np.uint32:
        return "a pixel as 0xAABBGGRR" if wanted.width == 1 else f"{wanted.width} pixels as 0xAABBGGRR"
    scale = "0 to 1" if wanted.dtype.kind == "f" else "0 to 255"
    return f"{('grey', 'grey', 'two', 'RGB', 'RGBA')[min(wanted.width, 4)]}, {scale}"


def _from_picture(given: Given, wanted: Element) -> Array:
    """Pixels as the parameter wants them: packed words, bytes, or grey levels; floats from 0 to 1."""
    pixels = cast(Array, given.array)
    if wanted.dtype == np.uint32:
        packed = np.ascontiguousarray(_rgba(pixels, given.levels)).view("<u4").astype(np.uint32)[..., 0]
        if packed.shape[1] % wanted.stored:
            raise UsageError(
                f"{given.text} is {packed.shape[1]} pixels wide, which {wanted.name} does not divide",
                hint=f"crop it to a multiple of {wanted.stored}",
            )
        return packed.reshape(*packed.shape[:1], -1, *wanted.tail) if wanted.tail else packed
    if wanted.width not in (1, 3, 4) or wanted.dtype.kind not in "iuf":
        raise UsageError(
            f"{given.text} is a picture, and {wanted.name} is not a pixel",
            hint="pictures go to uint (packed RGBA), uchar, uchar4, int, float or float4 buffers",
        )
    levels: int = given.levels
    if wanted.width == 1:
        channels = _grey(pixels)
    else:
        channels, levels = _rgba(pixels, given.levels)[..., : wanted.stored], 255
    if wanted.dtype.kind == "f":
        return np.ascontiguousarray(channels.astype(wanted.dtype) / wanted.dtype.type(levels))
    if wanted.dtype.itemsize == 1 and levels != 255:
        channels = channels >> 8
    return np.ascontiguousarray(channels.astype(wanted.dtype))


# ---------------------------------------------------------------------------------------------------------- writing


@dataclass(frozen=True)
class Output:
    """An array on its way to the file ``target`` (as the user wrote it); ``name`` is the parameter's."""

    target: str
    name: str
    array: Array
    element: Element


def check_target(text: str) -> None:
    """UsageError if nothing can be written under this name: found before the kernel runs, not after."""
    path = Path(_split_target(text)[0])
    if path.suffix.lower() not in (*PICTURES, *TEXTS, *RAW, ".npy", ".npz"):
        raise UsageError(
            f"do not know how to write {text!r}",
            hint="use .npy, .npz, .csv, .tsv, .bin (bare bytes), or a picture: .png, .jpg, .bmp, .ppm, .tif, .webp",
        )
    refuse_place(path)


def _split_target(text: str) -> tuple[str, str]:
    start = 2 if re.match(r"[A-Za-z]:[\\/]", text) else 0
    name, _, rest = text[start:].partition(":")
    return text[:start] + name, rest


def place_of(target: str, name: str) -> tuple[str, str]:
    """Where an output goes: the file, and its member in an archive (the output's name if none is said)."""
    file, member = _split_target(target)
    return os.path.realpath(file), (member or name) if file.lower().endswith(".npz") else ""


def write(outputs: Sequence[Output]) -> list[str]:
    """Write all outputs or none: every file is complete under a temporary name before the first one is renamed.

    Returns remarks on what a picture needed (its range stretched, say).
    """
    notes: list[str] = []
    archives: dict[Path, dict[str, Array]] = {}
    with Staging() as staging:
        try:
            for output in outputs:
                check_target(output.target)
                name, member = _split_target(output.target)
                path = Path(name)
                if path.suffix.lower() == ".npz":
                    archives.setdefault(path, {})[member or output.name] = _unpadded(output)
                else:
                    _write_one(staging.place(path), path.suffix.lower(), output, notes)
            for path, members in archives.items():
                with open(staging.place(path), "wb") as file:
                    np.savez(file, allow_pickle=False, **members)
            staging.finish()
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write {staging.current or 'the outputs'}: {_reason(error)}") from error
    return notes


def _unpadded(output: Output) -> Array:
    """Without the fourth component that a three-component vector is stored with."""
    kind = output.element
    return output.array if kind.width == kind.stored else output.array[..., : kind.width]


def _write_bytes(file: BinaryIO, array: Array) -> None:
    """The array in C order; unlike NumPy's, its OSError tells the reason, such as a full disk."""
    file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _write_one(path: Path, suffix: str, output: Output, notes: list[str]) -> None:
    array = _unpadded(output)
    if suffix == ".npy":
        array = np.asarray(array, order="C")  # as the bytes are: the header tells the array's own order
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            _write_bytes(file, array)
    elif suffix in TEXTS:
        flat = array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(-1, 1)
        exact = "%d" if array.dtype.kind in "iub" else "%.17g" if array.dtype.itemsize == 8 else "%.9g"
        np.savetxt(path, flat, delimiter=TEXTS[suffix], fmt=exact)
    elif suffix in RAW:
        with open(path, "wb") as file:
            _write_bytes(file, output.array)
    else:
        image = to_picture(array, output.element, notes, output.target)
        if suffix in (".jpg", ".jpeg", ".bmp", ".ppm", ".pgm") and image.mode == "RGBA":
            image = image.convert("RGB")
        options: dict[str, Any] = {"quality": 95} if suffix in (".jpg", ".jpeg", ".webp") else {}
        if suffix == ".png":
            options["compress_level"] = 1  # a third of the default's time for photographs 15 % larger
        image.save(path, **options)


def to_picture(array: Array, kind: Element, notes: list[str], label: str = "the picture") -> Image:
    """The array as a picture, by the rules by which ``fit`` reads one.

    Values beyond a picture's range are stretched over it, from the least to the greatest, with a remark in ``notes``.
    """
    from PIL import Image

    if array.dtype == np.uint32:
        rows = array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(1, -1)
        pixels = np.ascontiguousarray(rows).astype("<u4").view(np.uint8).reshape(*rows.shape, 4)
        return _image_of(Image, pixels)
    channels = kind.width
    if array.ndim != (2 if channels == 1 else 3) or channels not in (1, 3, 4):
        raise UsageError(
            f"cannot write {label}: an array of shape {array.shape} is not a picture",
            hint="a picture is rows x columns of uint (packed RGBA), uchar, uchar4, int, float or float4; "
            "give --shape, or write .npy",
        )
    if array.dtype == np.uint8:
        return _image_of(Image, array)
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    top = 1.0 if array.dtype.kind == "f" else 255.0
    if low < 0 or high > top:
        notes.append(f"{label}: values from {low:g} to {high:g} stretched over black to white")
        values = (values - low) / (high - low)
    else:
        values = values / top
    levels = np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0) * 255 + 0.5, 0, 255).astype(np.uint8)
    return _image_of(Image, levels)


def _image_of(module: Any, pixels: Array) -> Image:
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        alpha = pixels[..., 3]
        # A kernel that packs three channels leaves the fourth at zero: that is no invisible picture.
        if alpha.min() == alpha.max() and int(alpha.flat[0]) in (0, 255):
            pixels = pixels[..., :3]
    return cast("Image", module.fromarray(np.ascontiguousarray(pixels)))

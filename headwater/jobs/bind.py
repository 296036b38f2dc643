"""Input: a kernel's parameters and the words of a command line. Output: each parameter's value and the sizes to run.

Words may be in order or named (``width=600``). What is left out is worked out where there is one right answer:

* arrays go to the buffers in order, numbers to the values in order; ``const`` buffers come first if arrays are too few;
* ``local:BYTES`` goes to local memory in order;
* a buffer without data is an output: zeros, of the shape of the first array (``--shape`` overrides);
* values called ``width``, ``height``, ``depth`` or ``count`` (and the like) are the first array's sizes;
* the global size covers the output, in as many dimensions as the kernel asks for with ``get_global_id``.

Every such decision is noted, and ``headwater run -v`` prints the notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headwater import files
from headwater.base.numbers import natural
from headwater.errors import ResourceError, UsageError
from headwater.files import Array, Element, Given

if TYPE_CHECKING:
    from headwater.brook.model import BrookModule, BrookSignature
    from headwater.opencl.clang import KernelInfo

Role = Literal["buffer", "value", "local", "image", "sampler", "result"]

# Names that authors of kernels give to sizes, without underscores and in lower case: which axis of the first array they
# mean, counted from the last. ``None``: all its elements.
_SIZES: dict[str, int | None] = {
    **dict.fromkeys(("width", "w", "cols", "columns", "ncols", "nx", "sizex", "dimx", "xsize", "imagewidth"), 1),
    **dict.fromkeys(("height", "h", "rows", "nrows", "ny", "sizey", "dimy", "ysize", "imageheight"), 2),
    **dict.fromkeys(("depth", "slices", "nz", "sizez", "dimz", "zsize"), 3),
    **dict.fromkeys(("count", "total", "elements", "numelements", "nelements", "nelem", "numel"), None),
}
# These mean all elements too, but only where there is one axis: `n` of a matrix may be its rows.
_SIZES_OF_VECTORS = frozenset(("n", "num", "size", "length", "len"))
_LOCAL = "local:"
"""What may stand before the bytes of local memory, and has to where they are given in order."""


@dataclass(frozen=True)
class Slot:
    """One parameter: its name, what it takes, and how it is declared (for messages).

    ``element`` is a buffer's or value's type (None if a command line cannot fill it). ``role`` ``"result"`` is a Brook+
    output: not passed but returned. ``read``/``written`` say what the kernel may do with a buffer.
    """

    name: str
    role: Role
    element: Element | None
    declaration: str
    read: bool = True
    written: bool = False


@dataclass
class Binding:
    """What to launch with: values by parameter, sizes, and which parameters are outputs (in order).

    ``shapes`` counts in elements, ``made`` are the outputs that began as zeros, ``targets`` the files outputs go to.
    """

    values: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)
    global_size: tuple[int, ...] = ()
    local_size: tuple[int, ...] | None = None
    lds_bytes: int = 0
    shape: tuple[int, ...] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Request:
    """What the command line says beside the file and the kernel."""

    words: Sequence[str] = ()
    outputs: Sequence[str] = ()
    global_size: tuple[int, ...] = ()
    local_size: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    cast: bool = False
    lds_bytes: int = 0


# ------------------------------------------------------------------------------------------------------- parameters


def opencl_slots(info: KernelInfo) -> list[Slot]:
    """The parameters of an OpenCL C kernel."""
    from headwater.runtime.signature import UNTYPED, argument_type, declaration

    slots = []
    for arg in info.args:
        parsed = argument_type(arg)
        kind: Element | None = None
        if parsed is not None:
            kind = files.element(parsed[0] if parsed[1] == 1 else f"{parsed[0]}{parsed[1]}")
        elif arg.type_name in UNTYPED:
            kind = Element(arg.type_name, np.dtype(f"u{arg.size_bytes}"), untyped=True)
        elif arg.kind in ("buffer", "constant", "local"):
            size = max(arg.pointee_bytes, 1)
            kind = Element(arg.type_name.replace("*", "").strip(), np.dtype(f"V{size}") if size > 1 else np.dtype("u1"))
        role: Role = "buffer" if arg.kind == "constant" else arg.kind
        written = role in ("buffer", "image") and arg.kind != "constant" and arg.access != "read"
        slots.append(Slot(arg.name, role, kind, declaration(arg), arg.access != "write", written))
    return slots


def il_slots(info: KernelInfo) -> list[Slot]:
    """The parameters of an ATI IL kernel: arrays of any 32-bit numbers."""
    return [
        replace(slot, element=replace(slot.element, untyped=True)) if slot.element else slot
        for slot in opencl_slots(info)
    ]


def brook_slots(kernel: BrookSignature, module: BrookModule) -> list[Slot]:
    """The parameters of a Brook+ kernel."""
    slots = []
    for parameter in kernel.parameters:
        kind: Element | None
        if parameter.type.is_struct:
            kind = Element(parameter.type.base, module.structs[parameter.type.base].dtype(module.structs))
        else:
            kind = files.element(parameter.type.name, packed=True)
        brackets = "".join(f"[{size}]" for size in parameter.sizes) or "[]" * parameter.rank
        stream = parameter.kind in ("input", "output") or (parameter.kind == "reduce" and not parameter.rank)
        returned = parameter.kind in ("output", "scatter", "reduce")
        word = {"output": "out ", "scatter": "out ", "reduce": "reduce "}.get(parameter.kind, "")
        text = f"{word}{parameter.type.name} {parameter.name}{brackets}{'<>' if stream else ''}"
        role: Role = "result" if returned else "value" if parameter.kind == "value" else "buffer"
        slots.append(Slot(parameter.name, role, kind, text, not returned, returned))
    return slots


# ---------------------------------------------------------------------------------------------------------- binding


def bind(name: str, slots: Sequence[Slot], request: Request, source: str = "") -> Binding:
    """Give every parameter its value. UsageError, with the whole signature, where something is missing or does not fit.

    ``source`` is the kernel's file, from which an OpenCL C kernel's number of dimensions is read.
    """
    binding = Binding(local_size=request.local_size, lds_bytes=request.lds_bytes, shape=request.shape)
    words = _assign(name, slots, request, binding)
    data: dict[str, Given] = {}
    for slot in slots:
        word = words.get(slot.name)
        if word is not None and slot.role in ("buffer", "image"):
            data[slot.name] = files.read(word)
    primary = next(((slot, data[slot.name]) for slot in slots if slot.name in data), None)
    base = _base_shape(primary, request, binding)
    missing = []
    for slot in slots:
        word = words.get(slot.name)
        if slot.role == "result":
            binding.outputs.append(slot.name)
        elif slot.role in ("buffer", "image"):
            if slot.name in data:
                _take_data(slot, data[slot.name], request, binding)
            elif slot.written and base is not None:
                _make_output(slot, base, primary, request, binding)
            else:
                missing.append(slot)
        elif word is not None:
            binding.values[slot.name] = _value(slot, word)
        elif not _infer_value(slot, base, primary, request, binding):
            missing.append(slot)
    if missing:
        raise _missing(name, slots, missing, base)
    if primary is not None and request.shape is None:
        _refuse_shorter(
            primary[0],
            [slot for slot in slots if slot.name in data],
            [s for s in slots if s.name not in words],
            binding,
        )
    if request.shape is not None and request.global_size and not binding.made:
        asked = any(slot.role == "result" or (slot.name not in words and _is_size(slot)) for slot in slots)
        if not asked:
            raise UsageError(
                f"--shape changes nothing: all arrays of {name} are given, and --global is",
                hint="leave it out, or leave out the array that is to be made",
            )
    _choose_outputs(slots, words, request, binding)
    if not any(slot.role == "result" for slot in slots):
        _choose_global(name, slots, base, request, binding, source)
    elif binding.shape is None and base is not None and not any(_is_stream(slot) for slot in slots):
        binding.shape = base
        binding.notes.append(f"domain {_sizes(base)}: the shape of the first array, as no input stream gives it")
    return binding


def _is_stream(slot: Slot) -> bool:
    return slot.role == "buffer" and slot.declaration.endswith("<>")


def _assign(name: str, slots: Sequence[Slot], request: Request, binding: Binding) -> dict[str, str]:
    """Parameter name -> word: first the named words, then the others by kind and order."""
    by_name = {slot.name: slot for slot in slots}
    words: dict[str, str] = {}
    arrays: list[str] = []
    numbers: list[str] = []
    locals_: list[str] = []
    for raw in request.words:
        word = raw.strip()
        key, equals, rest = word.partition("=")
        if equals and key in by_name:
            if key in words:
                raise UsageError(f"{key} is given twice: {words[key]} and {rest}")
            if by_name[key].role == "result":
                raise UsageError(
                    f"{key} is an output of {name}", hint=f"write it to a file with -o {key}={rest or 'FILE'}"
                )
            words[key] = rest
        elif equals and key.isidentifier() and not files.names_data(word):
            hint = _did_you_mean(key, by_name) or _signature(name, slots)
            raise UsageError(f"{name} has no parameter {key!r}", hint=hint)
        elif word.startswith(_LOCAL):
            locals_.append(word)
        elif files.names_data(word):
            arrays.append(word)
        elif _looks_like_number(word):
            numbers.append(word)
        else:
            files.read(word)  # says what is wrong with it
            arrays.append(word)
    free = [slot for slot in slots if slot.name not in words]
    buffers = [slot for slot in free if slot.role in ("buffer", "image")]
    values = [slot for slot in free if slot.role == "value"]
    shared = [slot for slot in free if slot.role == "local"]
    if len(locals_) > len(shared):
        raise _too_many(name, slots, "piece of local memory", locals_, len(shared))
    words |= {slot.name: word for slot, word in zip(shared, locals_, strict=False)}
    if len(arrays) > len(buffers):
        raise _too_many(name, slots, "array", arrays, len(buffers))
    if len(arrays) < len(buffers):
        # Too few: what the kernel cannot write needs data first, the rest in order.
        chosen = [slot for slot in buffers if not slot.written] or []
        chosen += [slot for slot in buffers if slot.written and slot.read]
        chosen = chosen[: len(arrays)]
        buffers = [slot for slot in buffers if slot in chosen]
    for slot, word in zip(buffers, arrays, strict=False):
        words[slot.name] = word
    if len(numbers) < len(values):
        values = [slot for slot in values if not _is_size(slot)]
    if len(numbers) > len(values):
        raise _too_many(name, slots, "number", numbers, len(values))
    for slot, word in zip(values, numbers, strict=False):
        words[slot.name] = word
    return words


def _looks_like_number(word: str) -> bool:
    return re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|[\d.][\w.+-]*|inf|nan)(,[-+\w.]+)*[fFuUlL]*", word) is not None


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else ""


def _signature(name: str, slots: Sequence[Slot]) -> str:
    return f"it is declared {name}({', '.join(slot.declaration for slot in slots)})"


def _too_many(name: str, slots: Sequence[Slot], what: str, words: Sequence[str], takes: int) -> UsageError:
    named = what if takes == 1 else what.replace("piece", "pieces") if "piece" in what else f"{what}s"
    return UsageError(
        f"{name} takes {takes or 'no'} {named} here, {len(words)} given: {' '.join(words)}",
        hint=_signature(name, slots),
    )


def _missing(name: str, slots: Sequence[Slot], missing: Sequence[Slot], base: tuple[int, ...] | None) -> UsageError:
    names = ", ".join(slot.name for slot in missing)
    first = missing[0]
    example = {
        "buffer": f"{first.name}=FILE, or {first.name}=zeros:1024",
        "image": f"{first.name}=picture.png",
        "local": f"{first.name}=4096, its bytes for each group (or give --local)",
        "sampler": f"{first.name}=clamp_to_edge,nearest",
    }.get(first.role, f"{first.name}=VALUE")
    if first.written and base is None:
        example += ", or --shape or --global to size it"
    return UsageError(f"{name} has no value for {names}", hint=f"give {example}; {_signature(name, slots)}")


# ------------------------------------------------------------------------------------------------------------ arrays


def _base_shape(primary: tuple[Slot, Given] | None, request: Request, binding: Binding) -> tuple[int, ...] | None:
    """The shape that outputs and sizes follow: ``--shape``, else the first array's, else the global size's."""
    if request.shape is not None:
        return request.shape
    if primary is not None:
        slot, given = primary
        if slot.role == "image":
            return tuple(given.shape[:2])
        if given.kind == "picture" or slot.element is None:
            return tuple(given.shape)
        return files.logical_shape(given, slot.element)
    if request.global_size:
        return tuple(reversed(request.global_size))
    return None


def _take_data(slot: Slot, given: Given, request: Request, binding: Binding) -> None:
    if slot.role == "image":
        binding.values[slot.name] = _image_pixels(given, slot)
        binding.shapes[slot.name] = binding.values[slot.name].shape[:2]
        return
    assert slot.element is not None
    array = files.fit(given, slot.element, cast_types=request.cast)
    if slot.element.untyped and given.kind == "text":
        kind = "floats" if array.dtype.kind == "f" else "whole numbers; a point makes them floats, as in 2.0"
        binding.notes.append(f"{slot.name}: {given.text} as {kind}")
    if given.kind == "picture":
        binding.notes.append(f"{slot.name}: {given.text}, {files.picture_meaning(slot.element)}, {_sizes(given.shape)}")
    binding.values[slot.name] = array
    binding.shapes[slot.name] = tuple(array.shape[:-1] if slot.element.tail else array.shape)


def _image_pixels(given: Given, slot: Slot) -> Array:
    """For image2d_t: bytes of RGBA from a picture, the array as it is from any other file; bytes too where it is made
    up, of as many channels as its third extent says."""
    channels = given.kind == "generator" and len(given.shape) == 3
    kind = files.element("uchar" if channels else "uchar4")
    assert kind is not None
    if given.kind == "picture" or given.array is None:
        return files.fit(given, kind)
    if given.array.ndim not in (2, 3):
        raise UsageError(f"{given.text} has the shape {given.array.shape}: not a picture for {slot.declaration}")
    return given.array


def _make_output(
    slot: Slot, base: tuple[int, ...], primary: tuple[Slot, Given] | None, request: Request, binding: Binding
) -> None:
    binding.made.add(slot.name)
    if slot.role == "image":
        binding.values[slot.name] = np.zeros((*base, 4), np.uint8)
        binding.shapes[slot.name] = base
        binding.notes.append(f"{slot.name}: an image of {_sizes(base)}, RGBA, 8 bits")
        return
    assert slot.element is not None
    shape = base
    picture = primary is not None and primary[1].kind == "picture" and request.shape is None
    if picture and slot.element.dtype == np.uint32 and slot.element.width > 1:
        shape = (*base[:-1], base[-1] // slot.element.stored)  # several packed pixels in one element
    try:
        binding.values[slot.name] = np.zeros(shape + slot.element.tail, slot.element.dtype)
    except (MemoryError, ValueError) as error:
        size = prod(shape) * slot.element.stored * slot.element.dtype.itemsize
        raise ResourceError(f"{slot.name} would take {size / 2**30:,.1f} GiB, more memory than there is") from error
    binding.shapes[slot.name] = shape
    binding.notes.append(f"{slot.name}: {_sizes(shape)} {slot.element.name}, zeros to begin with")


def _sizes(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


# ------------------------------------------------------------------------------------------------------------ values


def _key(slot: Slot) -> str:
    return slot.name.replace("_", "").lower()


def _is_size(slot: Slot) -> bool:
    whole = slot.element is not None and slot.element.dtype.kind in "iu" and slot.element.width == 1
    return whole and (_key(slot) in _SIZES or _key(slot) in _SIZES_OF_VECTORS)


def _infer_value(
    slot: Slot,
    base: tuple[int, ...] | None,
    primary: tuple[Slot, Given] | None,
    request: Request,
    binding: Binding,
) -> bool:
    """Fill a size, a sampler or local memory that the user left out; False if there is no one right answer."""
    if slot.role == "sampler":
        from headwater.runtime.values import Sampler

        binding.values[slot.name] = Sampler()
        binding.notes.append(f"{slot.name}: nearest pixel, coordinates in pixels, clamped to the edge")
        return True
    if slot.role == "local":
        if request.local_size is None or slot.element is None:
            return False
        from headwater.runtime.values import Local

        size = prod(request.local_size) * slot.element.dtype.itemsize * slot.element.stored
        binding.values[slot.name] = Local(size)
        binding.notes.append(f"{slot.name}: {size} bytes, one {slot.element.name} for each work-item of a group")
        return True
    if base is None or not _is_size(slot):
        return False
    key = _key(slot)
    if key in _SIZES_OF_VECTORS and len(base) > 1:
        return False
    axis = _SIZES.get(key)
    size = prod(base) if axis is None else base[-axis] if axis <= len(base) else 1
    binding.values[slot.name] = _checked(slot, size, str(size))
    whose = primary[0].name if primary is not None and request.shape is None else "the output"
    what = "elements" if axis is None else ("columns", "rows", "slices")[axis - 1]
    binding.notes.append(f"{slot.name} = {size}: the {what} of {whose}")
    return True


def _refuse_shorter(first: Slot, given: Sequence[Slot], inferred: Sequence[Slot], binding: Binding) -> None:
    """UsageError where a size that was taken from the first array is beyond the end of another one like it."""
    sizes = [slot for slot in inferred if _is_size(slot) and _SIZES.get(_key(slot)) is None]
    count = prod(binding.shapes[first.name])
    for slot in given if sizes else ():
        other = prod(binding.shapes[slot.name])
        if slot.role == "buffer" and slot.read and slot.element == first.element and other < count:
            raise UsageError(
                f"is {sizes[0].name} {count}, the elements of {first.name}, or {other}, those of {slot.name}?",
                hint=f"give {sizes[0].name}={count}, say",
            )


def _value(slot: Slot, word: str) -> Any:
    if slot.role == "local":
        from headwater.runtime.values import Local

        nbytes = natural(word.removeprefix(_LOCAL))
        if not nbytes:
            raise UsageError(f"{slot.name}={word}: local memory is given as a number of bytes", hint="for example 4096")
        return Local(nbytes)
    if slot.role == "sampler":
        return _sampler(slot, word)
    from headwater.runtime.signature import UNTYPED

    if slot.element is None or slot.element.dtype.kind == "V":
        raise UsageError(
            f"{slot.declaration}: a struct cannot be written on the command line",
            hint="call the kernel from Python: headwater.compile(…)",
        )
    parts = word.split(",")
    kind = slot.element
    if kind.name in UNTYPED and (typed := _untyped(slot, word)) is not None:
        return typed
    if len(parts) not in (1, kind.width):
        raise UsageError(f"{slot.name}={word}: {kind.name} takes {kind.width} numbers, {len(parts)} given")
    numbers = [_checked(slot, _number(slot, part, kind.dtype.kind), part) for part in parts]
    if kind.width == 1:
        return numbers[0]
    return np.array(numbers * (kind.width if len(numbers) == 1 else 1), kind.dtype)


def _untyped(slot: Slot, word: str) -> Any:
    """The float of the argument's size, or negative number, that ``word`` is; None for other whole numbers."""
    assert slot.element is not None
    bits = 8 * slot.element.dtype.itemsize
    try:
        whole = int(word.rstrip("uUlL"), 0)
    except ValueError:
        if bits == 8:
            return None  # refused as no whole number
        kind = files.element({16: "half", 32: "float", 64: "double"}[bits])
        assert kind is not None
        return _checked(replace(slot, element=kind), _number(slot, word, "f"), word)
    return np.dtype(f"i{bits // 8}").type(whole) if -(1 << bits - 1) <= whole < 0 else None


def _number(slot: Slot, text: str, kind: str) -> int | float:
    text = text.strip()
    try:
        if kind == "f":
            return (
                float.fromhex(text)
                if text.lower().startswith("0x")
                else float(text if text[-3:].lower() == "inf" else text.rstrip("fF") or text)
            )
        return int(text.rstrip("uUlL"), 0)
    except (ValueError, OverflowError):
        wanted = "a number" if kind == "f" else "a whole number"
        raise UsageError(f"{slot.name}={text}: {wanted} is expected ({slot.declaration})") from None


def _checked(slot: Slot, number: float, text: str) -> Any:
    """The number as a NumPy scalar of the slot's type; UsageError if it does not fit."""
    assert slot.element is not None
    dtype = slot.element.dtype
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise UsageError(
                f"{slot.name}={text} does not fit {slot.element.name}, which holds {limits.min} to {limits.max}"
            )
    with np.errstate(over="ignore"):
        value = dtype.type(number)
    if dtype.kind == "f" and np.isinf(value) and "inf" not in text.lower():
        raise UsageError(f"{slot.name}={text} does not fit {slot.element.name}, which ends at {np.finfo(dtype).max:g}")
    return value


def _sampler(slot: Slot, word: str) -> Any:
    from headwater.runtime.values import Sampler

    settings: dict[str, Any] = {}
    for part in word.split(","):
        if part == "normalized":
            settings["normalized"] = True
        elif part in ("nearest", "linear"):
            settings["filter"] = part
        elif part in ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat"):
            settings["addressing"] = part
        else:
            raise UsageError(
                f"{slot.name}={word}: {part!r} is not a sampler setting",
                hint="normalized, nearest, linear, none, clamp_to_edge, clamp, repeat, mirrored_repeat",
            )
    return Sampler(**settings)


# ----------------------------------------------------------------------------------------------------------- outputs


def _choose_outputs(slots: Sequence[Slot], words: Mapping[str, str], request: Request, binding: Binding) -> None:
    """Which parameters are shown or written, and to which file: made-up buffers first, then those written in place."""
    writable = [slot.name for slot in slots if slot.written]
    made = [name for name in writable if name not in words]
    if not binding.outputs:
        binding.outputs = made or writable
    unnamed = []
    for item in request.outputs:
        key, equals, rest = item.partition("=")
        if equals and key in writable:
            if key in binding.targets:
                raise UsageError(f"the output {key} is given two files: {binding.targets[key]} and {rest}")
            files.check_target(rest)
            binding.targets[key] = rest
        elif equals and key.isidentifier() and any(slot.name == key for slot in slots):
            raise UsageError(f"-o {item}: the kernel does not write {key}", hint=f"it writes {', '.join(writable)}")
        elif equals and key.isidentifier() and key not in writable:
            hint = _did_you_mean(key, writable) or f"its outputs are {', '.join(writable) or 'none'}"
            raise UsageError(f"-o {item}: the kernel has no output {key!r}", hint=hint)
        else:
            files.check_target(item)
            unnamed.append(item)
    order = [name for name in (*binding.outputs, *writable) if name not in binding.targets]
    order = list(dict.fromkeys(order))
    if len(unnamed) > len(order):
        raise UsageError(
            f"more output files than outputs: {' '.join(unnamed)}", hint=f"the kernel writes {', '.join(writable)}"
        )
    for name, target in zip(order, unnamed, strict=False):
        binding.targets[name] = target
    if binding.targets:
        binding.outputs = [slot.name for slot in slots if slot.name in {*binding.targets, *binding.outputs}]
    places = [files.place_of(target, name) for name, target in binding.targets.items()]
    for place, target in zip(places, binding.targets.values(), strict=True):
        if places.count(place) > 1:
            raise UsageError(f"two outputs would be written to {target}")


# -------------------------------------------------------------------------------------------------------- global size

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ID = re.compile(r"\bget_(?:global_id|local_id|group_id)\s*\(\s*([012])\s*\)")


def used_dimensions(source: str, kernel: str) -> int:
    """How many dimensions of work-items a kernel looks at: the highest constant given to ``get_global_id``, plus one.

    Ids that helper functions ask for count if the kernel itself asks for none. 1 if nothing is found.
    """
    text = _COMMENT.sub(" ", source)
    head = re.search(rf"\bvoid\s+{re.escape(kernel)}\s*\(", text)
    body = ""
    if head:
        start = text.find("{", head.end())
        depth = 0
        for end in range(start, len(text)) if start >= 0 else ():
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                body = text[start:end]
                break
    found = _ID.findall(body) or _ID.findall(text)
    return max((int(item) + 1 for item in found), default=1)


def _choose_global(
    name: str,
    slots: Sequence[Slot],
    base: tuple[int, ...] | None,
    request: Request,
    binding: Binding,
    source: str,
) -> None:
    if request.global_size:
        binding.global_size = request.global_size
        return
    written = {slot.name: binding.shapes[slot.name] for slot in slots if slot.written and slot.name in binding.shapes}
    covered = next(iter(written.values()), base)
    if written and base is not None and not binding.made and prod(base) not in map(prod, written.values()):
        # A histogram runs over its input, a gather over its output: nobody but the author knows.
        sizes = ", ".join(f"{_sizes(shape)} ({key})" for key, shape in written.items())
        raise UsageError(
            f"how many work-items should run {name}: {_sizes(base)} (the first array) or {sizes}?",
            hint=f"give --global, for example --global {','.join(map(str, reversed(base)))}",
        )
    if covered is None:
        raise UsageError(f"how many work-items should run {name}?", hint="give --global, for example --global 1024")
    dimensions = used_dimensions(source, name)
    extents = [*reversed(covered)]
    if dimensions < len(extents):
        extents = [*extents[: dimensions - 1], prod(extents[dimensions - 1 :])]
    extents += [1] * (dimensions - len(extents))
    binding.global_size = tuple(extents)
    binding.notes.append(f"global size {_sizes(extents)}: one work-item for each element of the output")

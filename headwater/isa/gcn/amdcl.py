"""Input: the binaries of AMD's OpenCL 1.x driver for Southern Islands and later. Output: a `CodeObject`.

Such a file is an ELF file that holds, for each kernel, its arguments as text (``__OpenCL_NAME_metadata``) and another
ELF file (``__OpenCL_NAME_kernel``), whose encoding dictionary leads, for each chip, to notes about registers and to the
machine code. Nobody but the driver documents them; CLRadeonExtender's "AMD Catalyst OpenCL ABI description" and "AMD
Catalyst handling", and the files themselves, are what is followed here. `Legacy` is how such kernels are given their
arguments; `block` and `registers` make memory and scalar registers of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from headwater.chips.gcn_isas import ISA_OF_TARGET, TRAITS
from headwater.errors import UsageError
from headwater.isa.elf import PT_LOAD, PT_NOTE, Elf, Section, Segment
from headwater.isa.gcn.descriptor_bits import enabled
from headwater.isa.gcn.objects import CodeObject, KernelArg, KernelObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREFIX = "__OpenCL_"
_OSABI_CAL = 100
_ENCODING_DICTIONARY = 0x70000002
_ENTRY = struct.Struct("<IIIII")
_NOTE_PROGRAM_INFO = 1
_MOST_ARGUMENT_BYTES = 1 << 16

# Machine of an entry of the encoding dictionary -> LLVM's processor.
_PROCESSORS = {
    0x1A: "gfx600", 0x1B: "gfx601", 0x1C: "gfx601", 0x20: "gfx602", 0x25: "gfx602", 0x21: "gfx704", 0x22: "gfx700",
    0x23: "gfx700", 0x24: "gfx703", 0x2B: "gfx703", 0x27: "gfx702", 0x29: "gfx802", 0x2A: "gfx802", 0x2E: "gfx801",
    0x2D: "gfx803", 0x2F: "gfx803", 0x2C: "gfx803",
}  # fmt: skip

# The program information's addresses.
_USER_DATA_COUNT, _USER_DATA = 0x80001000, 0x80001001
_VGPRS, _SGPRS, _FLOAT_MODE, _IEEE_MODE, _SCRATCH_DWORDS = 0x80001041, 0x80001042, 0x80001043, 0x80001044, 0x80001045
_RSRC2 = 0x2E13
_SCRATCH_EN = 1

# Classes of user data: what scalar registers are loaded with.
IMM_RESOURCE, IMM_SAMPLER, IMM_CONST_BUFFER, IMM_UAV = 0x00, 0x01, 0x02, 0x04
PTR_RESOURCE_TABLE, PTR_SAMPLER_TABLE, PTR_CONST_BUFFER_TABLE = 0x11, 0x13, 0x14
PTR_UAV_TABLE, PTR_INTERNAL_GLOBAL_TABLE = 0x17, 0x18

# Elements of values: bytes, and how they are written where they take four bytes.
_ELEMENTS = {
    "u8": (1, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (2, "h"), "u32": (4, ""), "i32": (4, ""),
    "u64": (8, ""), "i64": (8, ""), "float": (4, ""), "double": (8, ""), "half": (2, "H"),
}  # fmt: skip


class UserData(NamedTuple):
    """``registers`` scalar registers from ``first`` on hold what ``kind`` and ``slot`` say."""

    kind: int
    slot: int
    first: int
    registers: int


class LegacyArg(NamedTuple):
    """An argument: ``offset`` in constant buffer 1; ``resource``: the id of a pointer's or an image's descriptor, a
    sampler's number; ``small``: struct's letter for elements of a value that are widened to four bytes."""

    kind: str
    offset: int
    resource: int
    small: str


class ImageValue(NamedTuple):
    """What a kernel is given for an image: its descriptor (T# or V#, 32 bytes), and what constant buffer 1 says of it:
    width, height and depth (of arrays of images, their number), OpenCL's channel data type and channel order."""

    descriptor: bytes
    size: tuple[int, int, int]
    channel_type: int
    channel_order: int

    def argument(self) -> bytes:
        """The eight dwords in constant buffer 1."""
        return struct.pack("<8I", *self.size, self.channel_type, 0, 0, 0, self.channel_order)


@dataclass(frozen=True, slots=True)
class Legacy:
    """The calling convention of a kernel. ``constants``: address and size of the program's constant data in the image;
    ``constants_id`` and ``uav_id``: the ids of their descriptor, -1 where only constant buffer 2 is, and of the one
    that stands for all memory; ``samplers``: number and value of those that the program fixes."""

    user_data: tuple[UserData, ...]
    args: tuple[LegacyArg, ...]
    is_64: bool
    constants: tuple[int, int]
    constants_id: int
    uav_id: int
    samplers: tuple[tuple[int, int], ...] = ()


def is_binary(elf: Elf) -> bool:
    """Whether an ELF file for an unknown machine is one of the driver's."""
    return any(symbol.name.startswith((_PREFIX, f"__ISA_&{_PREFIX}")) for symbol in elf.symbols)


def load(elf: Elf) -> CodeObject:
    """Read one. CodeObjectError for those of the OpenCL 2.0 driver, of CPUs, and for damaged ones."""
    contents = _contents(elf)
    if any(name.startswith(("__ISA_&", "__OpenCL_&")) for name in contents):
        raise elf.error(
            "is a binary of AMD's OpenCL 2.0 driver, which is not read",
            hint="OpenCL 1.x's and ROCm's are; or give source",
        )
    names = [name.removeprefix(_PREFIX).removesuffix("_kernel") for name in contents if name.endswith("_kernel")]
    if not names:
        raise elf.error("has no kernels for GPUs")
    image = bytearray(0x1000)
    targets: set[str] = set()
    constants = (0, 0)
    data = contents.get("__OpenCL_0_global") or contents.get("__OpenCL_2_global")
    if data:
        constants = (len(image), len(data))
        image += data
    kernels = {}
    text_start = text_end = 0
    for name in names:
        inner = Elf(contents[f"{_PREFIX}{name}_kernel"], f"{elf.filename} ({name})")
        metadata = contents.get(f"{_PREFIX}{name}_metadata")
        if metadata is None:
            raise elf.error(f"has no arguments of the kernel {name} (__OpenCL_{name}_metadata)")
        if inner.os_abi != _OSABI_CAL:
            raise elf.error(f"has the kernel {name} for a processor that is none of AMD's GPUs")
        target, info, code = _encoding(inner)
        targets.add(target)
        image += b"\0" * (-len(image) % 256)
        entry = len(image)
        image += code
        text_start, text_end = text_start or entry, len(image)
        kernels[name] = _kernel(elf, name, target, info, metadata.decode("latin-1"), entry, len(code), constants)
    if len(targets) > 1:
        raise elf.error(f"has kernels for different chips: {', '.join(sorted(targets))}")
    (target,) = targets
    return CodeObject(
        filename=elf.filename,
        code=elf.code,
        target=target,
        isa=ISA_OF_TARGET[target],
        version=1,
        kernels=kernels,
        text_start=text_start,
        text_end=text_end,
        loads=((0, bytes(image), len(image)),),
    )


def _contents(elf: Elf) -> dict[str, bytes]:
    """The bytes that each symbol names."""
    found = {}
    for symbol in elf.symbols:
        if 0 < symbol.section < len(elf.sections) and symbol.size:
            section = elf.sections[symbol.section]
            if symbol.value + symbol.size > section.size:
                raise elf.error(f"has the symbol {symbol.name} beyond the end of its section")
            found[symbol.name] = elf.bytes_at(section.offset + symbol.value, symbol.size, symbol.name)
    return found


def _encoding(inner: Elf) -> tuple[str, dict[int, int], bytes]:
    """Processor, program information and machine code of the first encoding for a chip that is known."""
    dictionary = next((s for s in inner.segments if s.kind == _ENCODING_DICTIONARY), None)
    if dictionary is None:
        raise inner.error("has no encoding dictionary")
    table = inner.bytes_at(dictionary.offset, dictionary.file_size, "the encoding dictionary")
    machines = []
    for machine, _, offset, size, _ in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        machines.append(machine)
        if machine not in _PROCESSORS:
            continue
        end = offset + size
        notes = _within(inner, PT_NOTE, offset, end)
        loaded = _within(inner, PT_LOAD, offset, end)
        if notes is None or loaded is None:
            raise inner.error("has an encoding without notes or code")
        text = next((s for s in inner.sections if s.name == ".text" and _lies_in(s, loaded)), None)
        if text is None:
            raise inner.error("has an encoding without code (.text)")
        info: dict[int, int] = {}
        for note in inner.notes_at(notes.offset, notes.file_size):
            if note.kind == _NOTE_PROGRAM_INFO:
                info.update(struct.iter_unpack("<II", note.data[: len(note.data) // 8 * 8]))
        if _RSRC2 not in info:
            raise inner.error("has no program information")
        return _PROCESSORS[machine], info, inner.data(text)
    raise inner.error(f"is for chips that are not known: {', '.join(map(str, machines)) or 'none'}")


def _within(inner: Elf, kind: int, start: int, end: int) -> Segment | None:
    return next((s for s in inner.segments if s.kind == kind and start <= s.offset < end), None)


def _lies_in(section: Section, segment: Segment) -> bool:
    return segment.offset <= section.offset < segment.offset + segment.file_size


def _kernel(
    elf: Elf, name: str, target: str, info: Mapping[int, int], text: str, entry: int, size: int,
    constants: tuple[int, int],
) -> KernelObject:  # fmt: skip
    lines = [line[1:].split(":") for line in text.splitlines() if line.startswith(";")]
    facts = {words[0] + (":" + words[1] if words[0] == "memory" and len(words) > 1 else ""): words for words in lines}
    types = {words[1]: ":".join(words[2:]) for words in lines if words[0] == "reflection" and len(words) > 2}
    args: list[KernelArg] = []
    legacy: list[LegacyArg] = []
    try:
        for words in lines:
            made = argument(words, types.get(str(len(args)), ""))
            if made is not None:
                args.append(made[0])
                legacy.append(made[1])
        samplers = _samplers(lines, args, legacy)
        local = int(facts["memory:hwlocal"][2]) if "memory:hwlocal" in facts else 0
        private = int(facts["memory:uavprivate"][2]) if "memory:uavprivate" in facts else 0
        size_words = facts.get("cws")
        required = (int(size_words[1]), int(size_words[2]), int(size_words[3])) if size_words else None
        constants_id = int(facts["cbid"][1]) if "cbid" in facts else -1
        uav_id = int(facts["uavid"][1]) if "uavid" in facts else 11
    except (ValueError, IndexError) as fault:
        raise elf.error(f"has damaged metadata of the kernel {name}: {fault}") from fault
    count = info.get(_USER_DATA_COUNT, 0)
    places = [*(argument.offset + argument.size for argument in args), *(one.resource for one in legacy)]
    if count > 16 or max([*places, *(number for number, _ in samplers)], default=0) > _MOST_ARGUMENT_BYTES:
        raise elf.error(f"has damaged notes or metadata of the kernel {name}")
    user_data = tuple(
        UserData(*(info.get(_USER_DATA + 4 * index + part, 0) for part in range(4))) for index in range(count)
    )
    rsrc2 = info[_RSRC2]
    isa = ISA_OF_TARGET[target]
    said = enabled(0, info.get(_FLOAT_MODE, 0xC0) << 12 | bool(info.get(_IEEE_MODE, 0)) << 23 | 1 << 21, rsrc2)
    return KernelObject(
        name=name,
        entry=entry,
        code_end=entry + size,
        args=tuple(args),
        kernarg_bytes=max((argument.offset + max(argument.size, 16) for argument in args), default=0),
        group_segment_bytes=local,
        # What the source declares may have become registers.
        private_segment_bytes=max(private, info.get(_SCRATCH_DWORDS, 0) * 4) if rsrc2 & _SCRATCH_EN else 0,
        dynamic_stack=False,
        vgpr_count=info.get(_VGPRS, 0),
        sgpr_count=info.get(_SGPRS, 0),
        agpr_count=0,
        reqd_group_size=required,
        accum_offset=0,
        generation=TRAITS[isa].generation,
        rsrc=(0, rsrc2, 0),
        legacy=Legacy(user_data, tuple(legacy), "memory:64bitABI" in facts, constants, constants_id, uav_id, samplers),
        **said,
    )


def _samplers(
    lines: Sequence[list[str]], args: list[KernelArg], legacy: list[LegacyArg]
) -> tuple[tuple[int, int], ...]:
    """Number and value of the samplers that the program fixes; those that are arguments, which look like other values
    so far, become samplers."""
    fixed = []
    for words in lines:
        if words[0] != "sampler":
            continue
        name, number, is_fixed, value = words[1], int(words[2]), int(words[3]), int(words[4])
        if number < 0:
            raise ValueError(f"the sampler {name} has the number {number}")
        if is_fixed:
            fixed.append((number, value))
            continue
        index = next((n for n, arg in enumerate(args) if arg.name == name and legacy[n].kind == "value"), None)
        if index is None:
            raise ValueError(f"the sampler {name} is not an argument")
        args[index] = args[index]._replace(value_kind="sampler", type_name="sampler_t")
        legacy[index] = LegacyArg("sampler", legacy[index].offset, number, "")
    return tuple(fixed)


def argument(words: list[str], type_name: str) -> tuple[KernelArg, LegacyArg] | None:
    """An argument's line of the metadata; None for other lines."""
    kind, name = words[0], words[1] if len(words) > 1 else ""
    if kind == "value":
        element, count, offset = words[2], int(words[3]), int(words[5])
        if element == "struct":
            return KernelArg(name, offset, count, "by_value", "", type_name), LegacyArg("value", offset, -1, "")
        if element not in _ELEMENTS:
            raise ValueError(f"the argument {name} has the unknown type {element}")
        size, small = _ELEMENTS[element]
        total = size * (4 if count == 3 else count)
        return KernelArg(name, offset, total, "by_value", "", type_name), LegacyArg("value", offset, -1, small)
    if kind == "pointer":
        offset, space, resource, access = int(words[5]), words[6], int(words[7]), words[9]
        if space == "hl":
            made = KernelArg(name, offset, 4, "dynamic_shared_pointer", "local", type_name)
            return made, LegacyArg("local", offset, -1, "")
        if space not in ("uav", "c", "hc"):
            raise ValueError(f"the argument {name} points to the unknown memory {space}")
        where = "global" if space == "uav" else "constant"
        made = KernelArg(name, offset, 8, "global_buffer", where, type_name, "", access == "RO")
        return made, LegacyArg("constant" if space == "hc" else "buffer", offset, resource, "")
    if kind == "image":
        access = {"RO": "read_only", "WO": "write_only"}.get(words[3], "read_write")
        made = KernelArg(name, int(words[6]), 32, "image", "global", type_name or f"image{words[2].lower()}_t", access)
        return made, LegacyArg("image", int(words[6]), int(words[4]), "")
    if kind == "counter":
        return KernelArg(name, int(words[5]), 4, "counter", "", type_name), LegacyArg("counter", int(words[5]), -1, "")
    return None


# Calling such a kernel.

_BUFFER_0_BYTES = 256
_CONST_BUFFERS = 160
_CONSTANT_BYTES = 16
"""Elements of constant buffers, which kernels index, are vectors of four dwords."""


class _Tables(NamedTuple):
    """Where, in the memory that `block` fills, constant buffer 1 and the tables of descriptors begin, and its end."""

    arguments: int
    const: int
    uav: int
    resource: int
    sampler: int
    end: int


def block_bytes(kernel: KernelObject) -> int:
    """The size of the memory that `block` fills for a launch: constant buffers and tables of descriptors."""
    return _tables(kernel).end


def _tables(kernel: KernelObject) -> _Tables:
    legacy = _convention(kernel)

    def entries(kind: int, *used: int) -> int:
        return 1 + max([*used, *(u.slot for u in legacy.user_data if u.kind == kind)], default=0)

    sampled = [a.resource for a, k in zip(legacy.args, kernel.args, strict=True) if _is_read_image(a, k)]
    others = [a.resource for a in legacy.args if a.kind != "sampler"]
    samplers = [a.resource for a in legacy.args if a.kind == "sampler"] + [number for number, _ in legacy.samplers]
    const = _BUFFER_0_BYTES + -(-(max((a.offset for a in legacy.args), default=0) + 512) // 256) * 256
    uav = const + _CONST_BUFFERS * 16
    resource = uav + entries(IMM_UAV, legacy.constants_id, legacy.uav_id, *others) * 32
    sampler = resource + entries(IMM_RESOURCE, *sampled) * 32
    return _Tables(_BUFFER_0_BYTES, const, uav, resource, sampler, sampler + entries(IMM_SAMPLER, *samplers) * 16)


def _is_read_image(place: LegacyArg, argument: KernelArg) -> bool:
    """Whether its descriptor is in the table of resources; those of images that are written are among the UAVs."""
    return place.kind == "image" and argument.access == "read_only"


def _convention(kernel: KernelObject) -> Legacy:
    if kernel.legacy is None:
        raise UsageError(f"{kernel.name} is not a kernel of AMD's OpenCL 1.x driver")
    return kernel.legacy


def _descriptor(base: int, size: int, stride: int = 0) -> bytes:
    """A buffer's V# of 32-bit elements (Southern Islands ISA guide, "Buffer resource descriptor"). With a stride,
    NUM_RECORDS counts elements."""
    selection = 4 | 5 << 3 | 6 << 6 | 7 << 9
    records = -(-size // stride) if stride else size
    return struct.pack(
        "<IIII",
        base & 0xFFFFFFFF,
        base >> 32 & 0xFFFF | stride << 16,
        min(records, 0xFFFFFFFF),
        selection | 4 << 12 | 4 << 15,
    )


def check(kernel: KernelObject) -> None:
    """UsageError if the kernel wants what is not provided: counters, private memory, …"""
    legacy = _convention(kernel)
    for argument, place in zip(kernel.args, legacy.args, strict=True):
        if place.kind == "counter":
            raise UsageError(
                f"{kernel.name}: the argument {argument.name} is a counter, which binaries of AMD's OpenCL 1.x driver "
                "cannot be given",
                hint="compile the kernel's source instead",
            )
    if kernel.private_segment_bytes:
        raise UsageError(
            f"{kernel.name} uses private memory, which binaries of AMD's OpenCL 1.x driver cannot be given",
            hint="compile the kernel's source instead",
        )
    known = (
        IMM_RESOURCE, IMM_SAMPLER, IMM_CONST_BUFFER, IMM_UAV, PTR_RESOURCE_TABLE, PTR_SAMPLER_TABLE,
        PTR_CONST_BUFFER_TABLE, PTR_UAV_TABLE, PTR_INTERNAL_GLOBAL_TABLE,
    )  # fmt: skip
    for entry in legacy.user_data:
        if entry.kind not in known:
            raise UsageError(f"{kernel.name} wants user data of the kind {entry.kind:#x}, which is not known")
        if entry.slot > _MOST_ARGUMENT_BYTES or (entry.kind == IMM_CONST_BUFFER and entry.slot >= _CONST_BUFFERS):
            raise UsageError(f"{kernel.name} needs entry {entry.slot} of a table, which has fewer")


def registers(kernel: KernelObject, block_address: int, filled: bytes) -> dict[int, int]:
    """What the user SGPRs hold at the start: register -> value. ``filled`` is what `block` made for that address."""
    legacy = _convention(kernel)
    tables = _tables(kernel)
    pointers = {
        PTR_CONST_BUFFER_TABLE: tables.const, PTR_UAV_TABLE: tables.uav, PTR_RESOURCE_TABLE: tables.resource,
        PTR_SAMPLER_TABLE: tables.sampler,
    }  # fmt: skip
    # Of what is given itself: the table, and the dwords of its entries.
    immediate = {
        IMM_CONST_BUFFER: (tables.const, 4), IMM_UAV: (tables.uav, 8), IMM_RESOURCE: (tables.resource, 8),
        IMM_SAMPLER: (tables.sampler, 4),
    }  # fmt: skip
    found: dict[int, int] = {}
    words: tuple[int, ...]
    for kind, slot, first, count in legacy.user_data:
        if kind in pointers:
            words = _halves(block_address + pointers[kind])
        elif kind in immediate:
            start, dwords = immediate[kind]
            words = struct.unpack_from(f"<{dwords}I", filled, start + 4 * dwords * slot)
        else:
            words = (0,) * count
        found |= {first + index: word for index, word in enumerate(words[:count])}
    return found


def _halves(address: int) -> tuple[int, int]:
    return address & 0xFFFFFFFF, address >> 32


class NdRange(NamedTuple):
    """The work-items of a launch: sizes and offset, of which the first ``dimensions`` were given."""

    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    offset: tuple[int, int, int]
    dimensions: int


def block(
    kernel: KernelObject,
    block_address: int,
    image_address: int,
    values: Sequence[tuple[int, int] | ImageValue | bytes | int],
    samplers: Mapping[int, bytes],
    grid: NdRange,
) -> bytes:
    """The constant buffers and tables for a launch, to be put at ``block_address``.

    ``values``, one for each of ``kernel.args``: address and size in bytes of a buffer, an image, the bytes of a value
    or a sampler, the offset of a local array. ``samplers``: the descriptors (S#, 16 bytes) of all samplers by their
    numbers. UsageError if pointers with one descriptor lie too far apart for a 32-bit binary.
    """
    legacy = _convention(kernel)
    tables = _tables(kernel)
    memory = bytearray(tables.end)
    global_size, local_size, offset, dimensions = grid
    groups = [-(-whole // part) for whole, part in zip(global_size, local_size, strict=True)]
    struct.pack_into("<3II3II3II", memory, 0, *global_size, dimensions, *local_size, 0, *groups, 0)
    # The dwords 24 to 26, and from 36, or 37 in 64-bit binaries, on: the global offset; 27: of all dimensions together.
    struct.pack_into("<3II", memory, 24 * 4, *offset, prod(offset[: max(dimensions, 1)]) & 0xFFFFFFFF)
    struct.pack_into("<3I", memory, (37 if legacy.is_64 else 36) * 4, *offset)

    def put(table: int, entry_bytes: int, entry: int, made: bytes) -> None:
        at = table + entry_bytes * entry
        memory[at : at + len(made)] = made

    spans: dict[tuple[bool, int], tuple[int, int]] = {}
    for place, value in zip(legacy.args, values, strict=True):
        if _is_buffer(value):
            key = place.kind == "constant", place.resource
            low, high = spans.get(key, (value[0], value[0] + value[1]))
            spans[key] = min(low, value[0]), max(high, value[0] + value[1])
    for argument, place, value in zip(kernel.args, legacy.args, values, strict=True):
        at = tables.arguments + place.offset
        if isinstance(value, ImageValue):
            table = tables.resource if _is_read_image(place, argument) else tables.uav
            put(table, 32, place.resource, value.descriptor)
            put(at, 1, 0, value.argument())
        elif _is_buffer(value):
            distance = value[0] - spans[place.kind == "constant", place.resource][0]
            if not legacy.is_64 and distance >> 32:
                raise UsageError(
                    f"{kernel.name}: buffers are too far apart for a 32-bit binary (argument {argument.name})",
                    hint="make them parts of one array, or use a 64-bit binary",
                )
            struct.pack_into("<Q" if legacy.is_64 else "<I", memory, at, distance)
        elif isinstance(value, int):
            struct.pack_into("<I", memory, at, value)
        elif isinstance(value, bytes):
            put(at, 1, 0, _widened(value, place.small))
    # Of generations on which NUM_RECORDS counts bytes, no driver had kernels index constant buffers.
    stride = _CONSTANT_BYTES if kernel.generation < 8 else 0
    for (is_constant, resource), (low, high) in spans.items():
        if not is_constant:  # as large as can be: an access outside is a fault then, not a 0 that nobody sees
            put(tables.uav, 32, resource, _descriptor(low, 0xFFFFFFFF))
        if 0 <= resource < _CONST_BUFFERS:
            put(tables.const, 16, resource, _descriptor(low, high - low, stride))
    start, size = legacy.constants
    if size:
        own = _descriptor(image_address + start, size, stride)
        put(tables.const, 16, 2, own)
        if legacy.constants_id >= 0:
            put(tables.uav, 32, legacy.constants_id, own)
    put(tables.const, 16, 0, _descriptor(block_address, _BUFFER_0_BYTES))
    put(tables.const, 16, 1, _descriptor(block_address + tables.arguments, tables.const - tables.arguments))
    for number, descriptor in samplers.items():
        put(tables.sampler, 16, number, descriptor)
    return bytes(memory)


def _is_buffer(value: object) -> TypeGuard[tuple[int, int]]:
    return isinstance(value, tuple) and not isinstance(value, ImageValue)


def _widened(value: bytes, small: str) -> bytes:
    """Elements of less than four bytes take four."""
    if not small:
        return value
    elements = struct.unpack(f"<{len(value) // struct.calcsize(small)}{small}", value)
    return struct.pack(f"<{len(elements)}{'i' if small.islower() else 'I'}", *elements)

"""The binaries of AMD's OpenCL 1.x driver for Southern Islands and later pass in; a `CodeObject` passes out.

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
from typing import TYPE_CHECKING, NamedTuple

from headwater.errors import UsageError
from headwater.isa.elf import PT_LOAD, PT_NOTE, Elf, Section, Segment
from headwater.isa.gcn.codeobject import enabled, generation_of
from headwater.isa.gcn.model import ISA_OF_TARGET
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

# Classes of user data: what scalar registers are loaded with.
IMM_CONST_BUFFER, IMM_UAV = 0x02, 0x04
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
    """An argument: ``offset`` in constant buffer 1; ``resource``: the id of a pointer's descriptor; ``small``: struct's
    letter for elements of a value that are widened to four bytes."""

    kind: str
    offset: int
    resource: int
    small: str


@dataclass(frozen=True, slots=True)
class Legacy:
    """The calling convention of a kernel. ``constants``: address and size of the program's constant data in the image;
    ``constants_id`` and ``uav_id``: the ids of their descriptor and of the one that stands for all memory."""

    user_data: tuple[UserData, ...]
    args: tuple[LegacyArg, ...]
    is_64: bool
    constants: tuple[int, int]
    constants_id: int
    uav_id: int


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
        local = int(facts["memory:hwlocal"][2]) if "memory:hwlocal" in facts else 0
        private = int(facts["memory:uavprivate"][2]) if "memory:uavprivate" in facts else 0
        size_words = facts.get("cws")
        required = (int(size_words[1]), int(size_words[2]), int(size_words[3])) if size_words else None
        constants_id = int(facts["cbid"][1]) if "cbid" in facts else 10
        uav_id = int(facts["uavid"][1]) if "uavid" in facts else 11
    except (ValueError, IndexError) as fault:
        raise elf.error(f"has damaged metadata of the kernel {name}: {fault}") from fault
    count = info.get(_USER_DATA_COUNT, 0)
    if count > 16 or any(argument.offset + argument.size > _MOST_ARGUMENT_BYTES for argument in args):
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
        kernarg_bytes=max((argument.offset + 16 for argument in args), default=0),
        group_segment_bytes=local,
        private_segment_bytes=max(private, info.get(_SCRATCH_DWORDS, 0) * 4),
        dynamic_stack=False,
        vgpr_count=info.get(_VGPRS, 0),
        sgpr_count=info.get(_SGPRS, 0),
        agpr_count=0,
        reqd_group_size=required,
        accum_offset=0,
        generation=generation_of(isa),
        rsrc=(0, rsrc2, 0),
        legacy=Legacy(user_data, tuple(legacy), "memory:64bitABI" in facts, constants, constants_id, uav_id),
        **said,
    )


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


def block_bytes(kernel: KernelObject) -> int:
    """The size of the memory that `block` fills for a launch: constant buffers and tables of descriptors."""
    return _tables(kernel)[-1]


def _tables(kernel: KernelObject) -> tuple[int, int, int, int]:
    """Where constant buffer 1, the table of constant buffers and the UAV table begin, and where they end."""
    legacy = _convention(kernel)
    arguments = _BUFFER_0_BYTES
    const_table = arguments + -(-(max((a.offset for a in legacy.args), default=0) + 512) // 256) * 256
    uav_table = const_table + _CONST_BUFFERS * 16
    slots = [a.resource for a in legacy.args] + [u.slot for u in legacy.user_data if u.kind == IMM_UAV]
    highest = max([legacy.constants_id, legacy.uav_id, *slots])
    return arguments, const_table, uav_table, uav_table + (highest + 1) * 32


def _convention(kernel: KernelObject) -> Legacy:
    if kernel.legacy is None:
        raise UsageError(f"{kernel.name} is no kernel of AMD's OpenCL 1.x driver")
    return kernel.legacy


def _descriptor(base: int, size: int) -> bytes:
    """A buffer's V#, unstructured, of 32-bit elements (Southern Islands ISA guide, "Buffer resource descriptor")."""
    selection = 4 | 5 << 3 | 6 << 6 | 7 << 9
    return struct.pack(
        "<IIII", base & 0xFFFFFFFF, base >> 32 & 0xFFFF, min(size, 0xFFFFFFFF), selection | 4 << 12 | 4 << 15
    )


def check(kernel: KernelObject) -> None:
    """UsageError if the kernel wants what is not provided: images, samplers, counters, private memory, …"""
    legacy = _convention(kernel)
    for argument, place in zip(kernel.args, legacy.args, strict=True):
        if place.kind in ("image", "counter"):
            what = "an image" if place.kind == "image" else "a counter"
            raise UsageError(
                f"{kernel.name}: the argument {argument.name} is {what}, which binaries of AMD's OpenCL 1.x driver "
                "cannot be given",
                hint="compile the kernel's source instead",
            )
    if kernel.private_segment_bytes:
        raise UsageError(
            f"{kernel.name} uses private memory, which binaries of AMD's OpenCL 1.x driver cannot be given",
            hint="compile the kernel's source instead",
        )
    known = (IMM_CONST_BUFFER, IMM_UAV, PTR_CONST_BUFFER_TABLE, PTR_UAV_TABLE, PTR_INTERNAL_GLOBAL_TABLE)
    for entry in legacy.user_data:
        if entry.kind not in known:
            raise UsageError(f"{kernel.name} wants user data of the kind {entry.kind:#x}, which is not known")


def registers(kernel: KernelObject, block_address: int, filled: bytes) -> dict[int, int]:
    """What the user SGPRs hold at the start: register -> value. ``filled`` is what `block` made for that address."""
    legacy = _convention(kernel)
    _, const_table, uav_table, _ = _tables(kernel)
    found: dict[int, int] = {}
    words: tuple[int, ...]
    for kind, slot, first, count in legacy.user_data:
        if kind == PTR_CONST_BUFFER_TABLE:
            words = _halves(block_address + const_table)
        elif kind == PTR_UAV_TABLE:
            words = _halves(block_address + uav_table)
        elif kind == IMM_CONST_BUFFER:
            words = struct.unpack_from("<4I", filled, const_table + 16 * slot)
        elif kind == IMM_UAV:
            words = struct.unpack_from("<8I", filled, uav_table + 32 * slot)
        else:
            words = (0,) * count
        found |= {first + index: word for index, word in enumerate(words[:count])}
    return found


def _halves(address: int) -> tuple[int, int]:
    return address & 0xFFFFFFFF, address >> 32


def block(
    kernel: KernelObject,
    block_address: int,
    image_address: int,
    values: Sequence[tuple[int, int] | bytes | int],
    global_size: tuple[int, int, int],
    local_size: tuple[int, int, int],
    offset: tuple[int, int, int],
    dimensions: int,
) -> bytes:
    """The constant buffers and tables for a launch, to be put at ``block_address``.

    ``values``, one for each of ``kernel.args``: address and size in bytes of a buffer, the bytes of a value, the offset
    of a local array. UsageError if pointers with one descriptor lie too far apart for a 32-bit binary.
    """
    legacy = _convention(kernel)
    arguments, const_table, uav_table, end = _tables(kernel)
    memory = bytearray(end)
    groups = [-(-whole // part) for whole, part in zip(global_size, local_size, strict=True)]
    struct.pack_into("<3II3II3II", memory, 0, *global_size, dimensions, *local_size, 0, *groups, 0)
    # The dwords 24 to 26, and from 36, or 37 in 64-bit binaries, on: the global offset; 27: of all dimensions together.
    struct.pack_into("<3II", memory, 24 * 4, *offset, prod(offset[: max(dimensions, 1)]) & 0xFFFFFFFF)
    struct.pack_into("<3I", memory, (37 if legacy.is_64 else 36) * 4, *offset)
    spans: dict[tuple[bool, int], tuple[int, int]] = {}
    for place, value in zip(legacy.args, values, strict=True):
        if isinstance(value, tuple):
            key = place.kind == "constant", place.resource
            low, high = spans.get(key, (value[0], value[0] + value[1]))
            spans[key] = min(low, value[0]), max(high, value[0] + value[1])
    for argument, place, value in zip(kernel.args, legacy.args, values, strict=True):
        at = arguments + place.offset
        if isinstance(value, tuple):
            distance = value[0] - spans[place.kind == "constant", place.resource][0]
            if not legacy.is_64 and distance >> 32:
                raise UsageError(
                    f"{kernel.name}: the buffers lie too far apart for a 32-bit binary (argument {argument.name})",
                    hint="make them parts of one array, or use a 64-bit binary",
                )
            struct.pack_into("<Q" if legacy.is_64 else "<I", memory, at, distance)
        elif isinstance(value, int):
            struct.pack_into("<I", memory, at, value)
        else:
            written = _widened(value, place.small)
            memory[at : at + len(written)] = written
    for (is_constant, resource), (low, high) in spans.items():
        if not is_constant:
            memory[uav_table + 32 * resource : uav_table + 32 * resource + 16] = _descriptor(low, high - low)
        if 0 <= resource < _CONST_BUFFERS:
            memory[const_table + 16 * resource : const_table + 16 * resource + 16] = _descriptor(low, high - low)
    start, size = legacy.constants
    if size:
        own = _descriptor(image_address + start, size)
        at = uav_table + 32 * legacy.constants_id
        memory[at : at + 16] = own
        memory[const_table + 32 : const_table + 48] = own
    memory[const_table : const_table + 16] = _descriptor(block_address, _BUFFER_0_BYTES)
    memory[const_table + 16 : const_table + 32] = _descriptor(block_address + arguments, const_table - arguments)
    return bytes(memory)


def _widened(value: bytes, small: str) -> bytes:
    """Elements of less than four bytes take four."""
    if not small:
        return value
    elements = struct.unpack(f"<{len(value) // struct.calcsize(small)}{small}", value)
    return struct.pack(f"<{len(elements)}{'i' if small.islower() else 'I'}", *elements)

"""CAL images, AMD's executables for the VLIW machines: their bytes on one side, ``ShaderImage`` on the other.

An encoding dictionary leads, for each chip, to a note segment (registers to set, inputs, outputs, constant buffers, …)
and to a load segment with machine code and constants. Sources: AMD, CAL Programming Guide 2.0, appendix B "CAL Binary
Format Specification"; for the numbers, Multi2Sim's Evergreen loader (bin-file.c) and CLRadeonExtender's amdbin, which
both read what the drivers wrote.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.chips.vliw_isas import GENERATION_OF_TARGET, TRAITS
from headwater.errors import UsageError
from headwater.isa.elf import PT_LOAD, PT_NOTE, Elf, Note, Section, Segment
from headwater.isa.gcn.objects import KernelArg
from headwater.isa.vliw.image import EM_CAL_IMAGE, OSABI_CAL, Argument, ShaderImage

# CALtarget's ordinal and 1 is the machine of a dictionary's entry. Chips that LLVM has no processor of their own for
# have that of their kin.
MACHINES: Mapping[int, str] = {
    1: "r600", 2: "rs880", 3: "r630", 4: "rv670", 5: "rv770", 6: "rv770", 7: "rv710", 8: "rv730", 9: "cypress",
    10: "juniper", 11: "redwood", 12: "cedar", 13: "sumo", 14: "sumo", 15: "cedar", 16: "cayman", 17: "cayman",
    18: "barts", 19: "turks", 20: "caicos",
}  # fmt: skip
_MACHINE_OF = {"rs880": 2, "r600": 1, "r630": 3, "rv670": 4, "rv770": 6} | {
    target: machine for machine, target in MACHINES.items() if machine in (7, 8, 9, 10, 11, 12, 13, 16, 18, 19, 20)
}
_DICTIONARY = 0x70000002
_ENTRY = struct.Struct("<IIIII")

# Types of notes.
_PROGRAM, _INPUTS, _OUTPUTS, _GLOBAL_BUFFERS, _CONSTANT_BUFFERS, _SAMPLERS, _SCRATCH, _UAVS = 1, 2, 3, 9, 10, 11, 13, 16
_NOTE_NAME = "ATI CAL"
_OWN_NAME = "HEADWTR"
_CONSTANT_BYTES = 4736
"""A .data section: 256 float4, 32 int4 and 32 bool constants."""

# Addresses of the program information: what a driver writes to registers (dword addresses), or must know.
_MAX_SCRATCH, _THREADS, _THREADS_X = 0x80000002, 0x80000006, 0x8000001C
_GPRS_USED, _LDS_USED, _STACK_USED = 0x80000080, 0x80000082, 0x80000084
_LDS_ALLOC = 0xA23A
_GPR_MANAGEMENT = 0x2301


def read(elf: Elf) -> tuple[ShaderImage, ...]:
    """The programs for all VLIW chips that the file has. Raises CodeObjectError.

    The binaries of AMD's OpenCL 1.x driver have another encoding before a chip's: IL as tokens, under the number of
    another machine. There are no registers to set for it.
    """
    dictionary = next((s for s in elf.segments if s.kind == _DICTIONARY), None)
    if dictionary is None:
        raise elf.error("has no encoding dictionary", hint="it is not a CAL image, or damaged")
    table = elf.bytes_at(dictionary.offset, dictionary.file_size, "the encoding dictionary")
    images: list[ShaderImage] = []
    tokens: list[ShaderImage] = []
    others = []
    for machine, _, offset, size, _ in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        if machine not in MACHINES:
            others.append(str(machine))
            continue
        facts, image = _image(elf, MACHINES[machine], offset, offset + size)
        (images if facts.info else tokens).append(image)
    if not images and not tokens:
        raise elf.error(f"has no program for a VLIW machine (machines: {', '.join(others) or 'none'})")
    return tuple(images or tokens)


def _segment(elf: Elf, kind: int, start: int, end: int) -> Segment:
    for segment in elf.segments:
        if segment.kind == kind and start <= segment.offset < end:
            return segment
    raise elf.error(f"has an encoding without {'notes' if kind == PT_NOTE else 'code'}")


def _image(elf: Elf, target: str, start: int, end: int) -> tuple[_Facts, ShaderImage]:
    notes = _segment(elf, PT_NOTE, start, end)
    load = _segment(elf, PT_LOAD, start, end)

    def section(name: str, low: int, high: int) -> Section | None:
        return next((s for s in elf.sections if s.name == name and low <= s.offset < high and s.size), None)

    load_end = load.offset + load.file_size
    text = section(".text", load.offset, load_end)
    if text is None:
        raise elf.error(f"has an encoding for {target} without code (.text)")
    facts = _Facts(target)
    for note in elf.notes_at(notes.offset, notes.file_size):
        facts.add(elf, note)
    data, il = section(".data", load.offset, load_end), section(".il", start, end)
    constants = elf.data(data) if data is not None else b""
    il_text = elf.data(il).decode("utf-8", "replace") if il is not None else ""
    code = elf.data(text)
    return facts, facts.image(code=code, constants=constants if any(constants) else b"", il=il_text)


def _words(note: Note, size: int) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(f"<{size}I", note.data[: len(note.data) // (4 * size) * 4 * size]))


def _pairs_of(note: Note) -> dict[int, int]:
    return {words[0]: words[1] for words in _words(note, 2)}


@dataclass
class _Facts:
    """What an encoding's notes say."""

    target: str
    info: dict[int, int] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def add(self, elf: Elf, note: Note) -> None:
        fields = self.fields
        if note.name == _OWN_NAME:
            self.own(elf, note.data)
        elif note.kind == _PROGRAM:
            self.info.update(_pairs_of(note))
        elif note.kind == _INPUTS:
            fields["resources"] = tuple(word for (word,) in _words(note, 1))
        elif note.kind == _OUTPUTS:
            fields["outputs"] = tuple(word for (word,) in _words(note, 1))
        elif note.kind == _GLOBAL_BUFFERS:
            fields["uses_global"] = any(word for (word,) in _words(note, 1))
        elif note.kind == _CONSTANT_BUFFERS:
            fields["constant_buffers"] = _pairs_of(note)
        elif note.kind == _SAMPLERS:
            fields["samplers"] = _pairs_of(note)
        elif note.kind == _SCRATCH:
            fields["scratch_bytes"] = sum(word for (word,) in _words(note, 1)) * 16
        elif note.kind == _UAVS:
            fields["uavs"] = tuple(words[0] for words in _words(note, 4))

    def own(self, elf: Elf, data: bytes) -> None:
        """The note with what CAL's notes cannot say."""
        try:
            said = json.loads(data.rstrip(b"\0"))
            self.fields |= {
                "name": str(said["name"]),
                "abi": str(said["abi"]),
                "byte_atomics": bool(said["byte_atomics"]),
                "clause_temporaries": int(said["clause_temporaries"]),
                "args": arguments(said["args"]),
                "data": bytes.fromhex(said["data"]),
                "lines": tuple(tuple(int(line) for line in lines) for lines in said["lines"]),
            }
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as fault:
            raise elf.error(f"has a damaged note of Headwater: {type(fault).__name__} {fault}") from None

    def image(self, *, code: bytes, constants: bytes, il: str) -> ShaderImage:
        info, fields = self.info, self.fields
        is_compute = _THREADS in info
        resources = info.get(_resources_register(self.target, is_compute), 0)
        threads = info.get(_THREADS, 0)
        sizes = tuple(info.get(_THREADS_X + n, 0) for n in range(3))
        group = (sizes[0], sizes[1], sizes[2]) if all(sizes) else ((threads, 1, 1) if threads else None)
        fields.setdefault("clause_temporaries", info.get(_GPR_MANAGEMENT, 0) >> 28)
        fields.setdefault("scratch_bytes", info.get(_MAX_SCRATCH, 0) * 16)
        return ShaderImage(
            target=self.target,
            kind="cs" if is_compute else "ps",
            code=code,
            gprs=info.get(_GPRS_USED, resources & 0xFF),
            stack_entries=info.get(_STACK_USED, resources >> 8 & 0xFF),
            lds_bytes=info.get(_LDS_USED, info.get(_LDS_ALLOC, 0) * 4),
            group_size=group if is_compute else None,
            constants=constants,
            il=il,
            **fields,
        )


def arguments(said: Any) -> tuple[Argument, ...]:
    """Arguments of a list as `written_arguments` makes it. Raises ValueError or TypeError for other values."""
    made = []
    for values, resource in said:
        name, offset, size, value_kind, space, type_name, access, is_const = values
        what = str(value_kind), str(space), str(type_name), str(access)
        arg = KernelArg(str(name), int(offset), int(size), *what, is_const=bool(is_const))
        made.append(Argument(arg, int(resource)))
    return tuple(made)


def written_arguments(args: Sequence[Argument]) -> list[object]:
    """Arguments as lists of texts and numbers, for JSON."""
    return [[list(a.arg), a.resource] for a in args]


# ---- writing


def write(images: Sequence[ShaderImage]) -> bytes:
    """A file with these programs. Several for one chip, distinguished by their names, are ours: AMD's have one for
    each.

    Raises UsageError where two are the same, or one is for a chip that CAL has not.
    """
    machines = []
    for image in images:
        if image.target not in _MACHINE_OF:
            raise UsageError(f"CAL has no chip {image.target}")
        machines.append(_MACHINE_OF[image.target])
    if not images:
        raise UsageError("a CAL image has at least one program")
    if len({(machine, image.name) for machine, image in zip(machines, images, strict=True)}) < len(machines):
        raise UsageError("an image has at most one program of a name for each chip")
    return _File(images, machines).bytes()


def _note(kind: int, data: bytes, name: str = _NOTE_NAME) -> bytes:
    data += b"\0" * (-len(data) % 4)
    return struct.pack("<III", 8, len(data), kind) + name.encode().ljust(8, b"\0") + data


def _pairs(values: Iterable[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<II", address & 0xFFFFFFFF, value & 0xFFFFFFFF) for address, value in values)


def _resources_register(target: str, is_compute: bool) -> int:
    """The register, as a dword address, that is told how many registers and stack entries a program needs."""
    traits = TRAITS[GENERATION_OF_TARGET[target]]
    return (traits.compute_resources if is_compute else traits.pixel_resources) // 4


def _notes(image: ShaderImage) -> bytes:
    compute = image.kind == "cs"
    resources = image.gprs & 0xFF | (image.stack_entries & 0xFF) << 8
    info = [(_resources_register(image.target, compute), resources), (_GPR_MANAGEMENT, image.clause_temporaries << 28)]
    if compute:
        x, y, z = image.group_size or (0, 0, 0)
        info += [(_LDS_ALLOC, -(-image.lds_bytes // 4)), (_THREADS, x * y * z)]
        info += [(_THREADS_X, x), (_THREADS_X + 1, y), (_THREADS_X + 2, z)] if image.group_size else []
        info += [(_MAX_SCRATCH, -(-image.scratch_bytes // 16))]
    info += [(_GPRS_USED, image.gprs), (_LDS_USED, image.lds_bytes), (_STACK_USED, image.stack_entries)]
    own = {
        "name": image.name,
        "abi": image.abi,
        "byte_atomics": image.byte_atomics,
        "clause_temporaries": image.clause_temporaries,
        "args": written_arguments(image.args),
        "data": image.data.hex(),
        "lines": image.lines,
    }
    return b"".join(
        (
            _note(_PROGRAM, _pairs(info)),
            _note(_INPUTS, struct.pack(f"<{len(image.resources)}I", *image.resources)),
            _note(_OUTPUTS, struct.pack(f"<{len(image.outputs)}I", *image.outputs)),
            _note(_GLOBAL_BUFFERS, struct.pack("<I", image.uses_global)),
            _note(_CONSTANT_BUFFERS, _pairs(sorted(image.constant_buffers.items()))),
            _note(_SAMPLERS, _pairs(sorted(image.samplers.items()))),
            _note(_SCRATCH, struct.pack("<I", -(-image.scratch_bytes // 16))),
            _note(_UAVS, b"".join(struct.pack("<4I", uav, 4, 0, 5) for uav in image.uavs)),
            _note(1, json.dumps(own, separators=(",", ":")).encode(), _OWN_NAME),
        )
    )


class _File:
    """An ELF file of 32 bits, laid out as AMD's: headers, dictionary, then each encoding's notes and segment."""

    def __init__(self, images: Sequence[ShaderImage], machines: Sequence[int]) -> None:
        self.names = b"\0.shstrtab\0.text\0.data\0.symtab\0.strtab\0.il\0"
        segments = 1 + 2 * len(images)
        sections = 2 + sum(5 if image.il else 4 for image in images)
        self.segments_at = 52
        self.names_at = self.segments_at + 32 * segments
        self.sections_at = self._aligned(self.names_at + len(self.names))
        self.dictionary_at = self.sections_at + 40 * sections
        self.body = bytearray()
        self.body_at = self.dictionary_at + _ENTRY.size * len(images)
        self.dictionary = b""
        self.segments = [self._segment(_DICTIONARY, self.dictionary_at, _ENTRY.size * len(images))]
        self.sections = [b"\0" * 40, self._section(".shstrtab", 3, self.names_at, len(self.names))]
        for image, machine in zip(images, machines, strict=True):
            self._encoding(image, machine)

    @staticmethod
    def _aligned(at: int) -> int:
        return -(-at // 16) * 16

    @staticmethod
    def _segment(kind: int, offset: int, size: int) -> bytes:
        return struct.pack("<8I", kind, offset, 0, 0, size, size if kind == PT_LOAD else 0, 0, 0)

    def _section(self, name: str, kind: int, offset: int, size: int, link: int = 0, entry: int = 0) -> bytes:
        return struct.pack(
            "<10I", self.names.index(f"\0{name}\0".encode()) + 1, kind, 0, 0, offset, size, link, 0, 0, entry
        )

    def _put(self, data: bytes) -> int:
        """Where the bytes go in the file."""
        self.body += b"\0" * (self._aligned(self.body_at + len(self.body)) - self.body_at - len(self.body))
        at = self.body_at + len(self.body)
        self.body += data
        return at

    def _encoding(self, image: ShaderImage, machine: int) -> None:
        notes = _notes(image)
        start = self._put(notes)
        self.segments.append(self._segment(PT_NOTE, start, len(notes)))
        constants = image.constants or b"\0" * _CONSTANT_BYTES
        text_at, data_at = self._put(image.code), self._put(constants)
        symbols_at, strings_at = self._put(b"\0" * 16), self._put(b"\0\0")
        end = strings_at + 2
        self.segments.append(self._segment(PT_LOAD, text_at, end - text_at))
        first = len(self.sections)
        self.sections += [
            self._section(".text", 1, text_at, len(image.code)),
            self._section(".data", 1, data_at, len(constants)),
            self._section(".symtab", 2, symbols_at, 16, first + 3, 16),
            self._section(".strtab", 3, strings_at, 2),
        ]
        if image.il:
            il = image.il.encode()
            il_at = self._put(il)
            end = il_at + len(il)
            self.sections.append(self._section(".il", 1, il_at, len(il)))
        self.dictionary += _ENTRY.pack(machine, 4, start, end - start, 0)

    def bytes(self) -> bytes:
        """The whole file."""
        identity = b"\x7fELF\x01\x01\x01" + bytes((OSABI_CAL, 1)) + b"\0" * 7
        header = identity + struct.pack(
            "<HHIIIIIHHHHHH", 2, EM_CAL_IMAGE, 1, 0, self.segments_at, self.sections_at, 0, 52, 32,
            len(self.segments), 40, len(self.sections), 1,
        )  # fmt: skip
        made = header + b"".join(self.segments) + self.names
        made += b"\0" * (self.sections_at - len(made)) + b"".join(self.sections) + self.dictionary
        return made + bytes(self.body)

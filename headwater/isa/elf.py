"""Input: an ELF file's bytes. Output: its header, sections, segments, symbols and notes, every bound checked.

Little-endian files of 32 and 64 bits, as GPUs' compilers write them (System V ABI, chapters 4 and 5).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from headwater.errors import CodeObjectError

if TYPE_CHECKING:
    from collections.abc import Iterator

ET_REL = 1
PT_LOAD, PT_NOTE = 1, 4
PF_X = 1
SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 2, 4, 7, 8, 9, 11
SHF_WRITE, SHF_EXECINSTR = 1, 4
MACHINES = {
    3: "x86", 8: "MIPS", 20: "PowerPC", 21: "64-bit PowerPC", 40: "Arm", 62: "x86-64", 183: "64-bit Arm",
    190: "NVIDIA CUDA", 224: "AMD GPU", 243: "RISC-V",
}  # fmt: skip
# More sections, symbols or notes than any code object has: a corrupted count is not to cost minutes.
_MOST = 1 << 20


class Section(NamedTuple):
    """A section's header; ``data`` of `Elf` gives its bytes."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


class Segment(NamedTuple):
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


class Symbol(NamedTuple):
    """A symbol; ``section`` 0 is undefined. ``kind`` is the low, ``binding`` the high half of st_info."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int


class Note(NamedTuple):
    """An entry of a note section or segment."""

    name: str
    kind: int
    data: bytes


class Relocation(NamedTuple):
    """An entry of a SHT_RELA section."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass
class Elf:
    """A view of an ELF file. Making it checks the header; each table is read, and checked, when first asked for."""

    code: bytes
    filename: str

    def __post_init__(self) -> None:
        code = self.code
        if code[:4] != b"\x7fELF":
            what = "is empty" if not code else "is no ELF file"
            raise self.error(
                what, hint="a code object (.hsaco, .co), a CAL image or a binary of AMD's OpenCL is expected"
            )
        if len(code) < 20:
            raise self.error("ends within the ELF header")
        if code[5] != 1:
            raise self.error("is big-endian" if code[5] == 2 else "has a damaged ELF header", hint="no GPU of AMD's is")
        if code[4] not in (1, 2):
            raise self.error("has a damaged ELF header (class)")
        self.is_64 = code[4] == 2
        self.os_abi, self.abi_version = code[7], code[8]
        self.kind, self.machine = struct.unpack_from("<HH", code, 16)
        header = self._unpack("<IQQQIHHHHHH" if self.is_64 else "<IIIIIHHHHHH", 20, "the ELF header")
        (
            _,
            self.entry,
            self._segments_at,
            self._sections_at,
            self.flags,
            _,
            self._segment_size,
            self._segment_count,
            self._section_size,
            self._section_count,
            self._names_index,
        ) = header

    def error(self, what: str, *, hint: str = "") -> CodeObjectError:
        """An error about this file: the name, and ``what``."""
        return CodeObjectError(f"{self.filename}: the file {what}", hint=hint)

    def _unpack(self, layout: str, offset: int, what: str) -> tuple[int, ...]:
        if offset < 0 or offset + struct.calcsize(layout) > len(self.code):
            raise self.error(f"ends within {what}", hint="it is truncated or damaged")
        return struct.unpack_from(layout, self.code, offset)

    def bytes_at(self, offset: int, size: int, what: str) -> bytes:
        """``size`` bytes of the file; ``what`` they are, for the error if the file has not as many."""
        if offset < 0 or size < 0 or offset + size > len(self.code):
            raise self.error(f"ends within {what}", hint="it is truncated or damaged")
        return self.code[offset : offset + size]

    def string(self, table: bytes, offset: int, what: str) -> str:
        """A string of a string table."""
        end = table.find(b"\0", offset)
        if offset > len(table) or (end < 0 and offset < len(table)):
            raise self.error(f"has a damaged name of {what}")
        return table[offset : end if end >= 0 else offset].decode("utf-8", "replace")

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The program headers."""
        wanted = 56 if self.is_64 else 32
        if self._segment_count and self._segment_size != wanted:
            raise self.error(f"has program headers of {self._segment_size} bytes instead of {wanted}")
        found = []
        for index in range(self._segment_count):
            at = self._segments_at + index * self._segment_size
            if self.is_64:
                kind, flags, offset, address, _, file_size, memory_size, _ = self._unpack(
                    "<IIQQQQQQ", at, "the program headers"
                )
            else:
                kind, offset, address, _, file_size, memory_size, flags, _ = self._unpack(
                    "<IIIIIIII", at, "the program headers"
                )
            found.append(Segment(kind, flags, offset, address, file_size, memory_size))
        return tuple(found)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The section headers, the null section included."""
        wanted = 64 if self.is_64 else 40
        if self._section_count and self._section_size != wanted:
            raise self.error(f"has section headers of {self._section_size} bytes instead of {wanted}")
        raw = []
        for index in range(self._section_count):
            at = self._sections_at + index * self._section_size
            layout = "<IIQQQQIIQQ" if self.is_64 else "<IIIIIIIIII"
            raw.append(self._unpack(layout, at, "the section headers"))
        names = b""
        if 0 < self._names_index < len(raw):
            _, kind, _, _, offset, size, *_ = raw[self._names_index]
            names = self.bytes_at(offset, size, "the sections' names") if kind != SHT_NOBITS else b""
        return tuple(
            Section(self.string(names, name, "a section"), kind, flags, address, offset, size, link, entry)
            for name, kind, flags, address, offset, size, link, _, _, entry in raw
        )

    def section(self, name: str) -> Section | None:
        """The first section called ``name``."""
        return next((section for section in self.sections if section.name == name), None)

    def data(self, section: Section) -> bytes:
        """A section's bytes in the file; none for SHT_NOBITS."""
        if section.kind == SHT_NOBITS:
            return b""
        return self.bytes_at(section.offset, section.size, f"section {section.name or 'without a name'}")

    def symbols_of(self, section: Section) -> tuple[Symbol, ...]:
        """The entries of a symbol table."""
        table = self.data(section)
        if not 0 <= section.link < len(self.sections):
            raise self.error(f"has a damaged symbol table {section.name}")
        names = self.data(self.sections[section.link])
        layout = struct.Struct("<IBBHQQ" if self.is_64 else "<IIIBBH")
        if len(table) // layout.size > _MOST:
            raise self.error(f"has a damaged symbol table {section.name}")
        found = []
        for fields in layout.iter_unpack(table[: len(table) // layout.size * layout.size]):
            if self.is_64:
                name, info, _, index, value, size = fields
            else:
                name, value, size, info, _, index = fields
            found.append(Symbol(self.string(names, name, "a symbol"), value, size, info & 15, info >> 4, index))
        return tuple(found)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of .symtab, or of .dynsym in a stripped file; later definitions of a name come later."""
        tables = [section for section in self.sections if section.kind == SHT_SYMTAB]
        tables = tables or [section for section in self.sections if section.kind == SHT_DYNSYM]
        return tuple(symbol for table in tables for symbol in self.symbols_of(table) if symbol.name)

    def relocations_of(self, section: Section) -> tuple[Relocation, ...]:
        """The entries of a SHT_RELA section of a 64-bit file."""
        table = self.data(section)
        if not self.is_64 or len(table) // 24 > _MOST:
            raise self.error(f"has a damaged relocation table {section.name}")
        return tuple(
            Relocation(offset, info & 0xFFFFFFFF, info >> 32, addend)
            for offset, info, addend in struct.iter_unpack("<QQq", table[: len(table) // 24 * 24])
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """All notes, of the note segments or, in a file without them, of the note sections."""
        areas = [(s.offset, s.file_size) for s in self.segments if s.kind == PT_NOTE]
        areas = areas or [(s.offset, s.size) for s in self.sections if s.kind == SHT_NOTE]
        return tuple(note for offset, size in areas for note in self.notes_at(offset, size))

    def notes_at(self, offset: int, size: int) -> Iterator[Note]:
        """The notes in a range of the file."""
        area = self.bytes_at(offset, size, "a note")
        at = 0
        while at + 12 <= len(area):
            name_size, data_size, kind = struct.unpack_from("<III", area, at)
            name_at = at + 12
            data_at = name_at + (name_size + 3 & ~3)
            if data_at + data_size > len(area):
                raise self.error("has a damaged note")
            name = area[name_at : name_at + name_size].rstrip(b"\0").decode("latin-1")
            yield Note(name, kind, area[data_at : data_at + data_size])
            at = data_at + (data_size + 3 & ~3)

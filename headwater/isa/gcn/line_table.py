"""Input: a code object's DWARF line table. Output: the source line of an address.

DWARF Debugging Information Format, versions 2 to 5, §6.2 (line number information) and §7.5 (forms).
"""

from __future__ import annotations

import posixpath
import zlib
from bisect import bisect_right
from typing import Final

from headwater.errors import CodeObjectError
from headwater.isa.elf import Elf

_COMPRESSED: Final = 0x800  # SHF_COMPRESSED
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN = 1, 2, 3, 4, 5
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END_SEQUENCE, _SET_ADDRESS = 1, 2
_PATH, _FOLDER = 1, 2  # DW_LNCT_*
_FIXED_FORMS: Final = {0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x1E: 16}  # DW_FORM_data2, 4, 8, 1, 16
_STRING, _STRP, _UDATA, _BLOCK, _LINE_STRP = 0x08, 0x0E, 0x0F, 0x09, 0x1F


class LineTable:
    """The rows of all compilation units, sorted by address; empty where debug information is absent or damaged."""

    def __init__(self, code: bytes) -> None:
        self._rows: list[tuple[int, str, int, int]] = []
        try:
            elf = Elf(code, "")
            sections = {name: _section(elf, name) for name in (".debug_line", ".debug_line_str", ".debug_str")}
            at = 0
            while at < len(sections[".debug_line"]):
                unit = _Unit(sections, at)
                self._rows += unit.rows()
                at = unit.end
        except (CodeObjectError, IndexError, ValueError, zlib.error):
            # A line table is a help, not a condition: without one addresses alone are named.
            self._rows = []
        self._rows.sort(key=lambda row: row[0])
        self._addresses = [row[0] for row in self._rows]

    def find(self, address: int) -> tuple[str, int, int] | None:
        """File, line and column of the instruction at ``address``; None where the table says nothing."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        _, file, line, column = self._rows[index]
        return (file, line, column) if line else None


def _section(elf: Elf, name: str) -> bytes:
    section = elf.section(name)
    if section is None:
        return b""
    data = elf.data(section)
    return zlib.decompress(data[24 if elf.is_64 else 12 :]) if section.flags & _COMPRESSED else data


class _Unit:
    """One unit's part of the table. Reads raise IndexError or ValueError where it is damaged."""

    def __init__(self, sections: dict[str, bytes], at: int) -> None:
        self._sections = sections
        self._data = sections[".debug_line"]
        self._at = at
        length, self._offset_bytes = self._number(4), 4
        if length == 0xFFFFFFFF:
            length, self._offset_bytes = self._number(8), 8
        self.end = self._at + length
        if self.end > len(self._data):
            raise ValueError("a unit ends behind its section")
        self._version = self._number(2)
        if not 2 <= self._version <= 5:
            raise ValueError("a version that is not defined")
        if self._version >= 5:
            self._number(1)  # bytes of an address
            self._number(1)  # of segment selectors
        header = self._number(self._offset_bytes)
        self._program = self._at + header
        self._step = self._number(1)
        if self._version >= 4:
            self._number(1)  # operations of an instruction, of VLIW machines
        self._number(1)  # what rows are statements by
        self._line_base = self._signed(self._number(1), 8)
        self._line_range = self._number(1)
        if self._line_range == 0:
            raise ValueError("a range of no lines")
        self._opcode_base = self._number(1)
        self._operands = [self._number(1) for _ in range(self._opcode_base - 1)]
        self._names = self._names_of_5() if self._version >= 5 else self._names_of_4()

    def _number(self, nbytes: int) -> int:
        at = self._at
        if at + nbytes > len(self._data):
            raise ValueError("the table ends early")
        self._at = at + nbytes
        return int.from_bytes(self._data[at : at + nbytes], "little")

    @staticmethod
    def _signed(value: int, bits: int) -> int:
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def _leb(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return self._signed(value, shift) if signed else value

    def _text(self) -> str:
        end = self._data.index(0, self._at)
        text = self._data[self._at : end].decode("utf-8", "replace")
        self._at = end + 1
        return text

    def _form(self, form: int) -> str | int:
        if form == _STRING:
            return self._text()
        if form in (_STRP, _LINE_STRP):
            texts = self._sections[".debug_line_str" if form == _LINE_STRP else ".debug_str"]
            at = self._number(self._offset_bytes)
            return texts[at : texts.index(0, at)].decode("utf-8", "replace")
        if form == _UDATA:
            return self._leb()
        if form == _BLOCK:
            return self._number(self._leb())
        if form in _FIXED_FORMS:
            return self._number(_FIXED_FORMS[form])
        raise ValueError("a form that line tables do not contain")

    def _entries(self) -> list[tuple[str, int]]:
        """Of version 5: path and folder of each."""
        formats = [(self._leb(), self._leb()) for _ in range(self._number(1))]
        found = []
        for _ in range(self._leb()):
            values = {kind: self._form(form) for kind, form in formats}
            found.append((str(values.get(_PATH, "")), int(values.get(_FOLDER, 0))))
            if not formats:
                raise ValueError("names without a format")
        return found

    def _names_of_5(self) -> dict[int, str]:
        folders = [path for path, _ in self._entries()]

        def full(name: str, index: int) -> str:
            folder = folders[index] if 0 <= index < len(folders) and not posixpath.isabs(name) else ""
            # The first is where the compiler ran.
            return posixpath.join(folder, name) if folder and (index or posixpath.isabs(folder)) else name

        return {n: full(*entry) for n, entry in enumerate(self._entries())}

    def _names_of_4(self) -> dict[int, str]:
        folders = [""]
        names: dict[int, str] = {}
        while folder := self._text():
            folders.append(folder)
        while name := self._text():
            names[len(names) + 1] = self._joined(folders, name)
        return names

    def _joined(self, folders: list[str], name: str) -> str:
        index, _, _ = self._leb(), self._leb(), self._leb()  # then its time and size
        folder = folders[index] if index < len(folders) and not posixpath.isabs(name) else ""
        return posixpath.join(folder, name) if folder else name

    def rows(self) -> list[tuple[int, str, int, int]]:
        """Address, file, line (0 at the end of a sequence) and column of each row."""
        self._at = self._program
        found: list[tuple[int, str, int, int]] = []
        names = self._names
        address, file, line, column = 0, 1, 1, 0
        while self._at < self.end:
            opcode = self._data[self._at]
            self._at += 1
            if opcode >= self._opcode_base:
                opcode -= self._opcode_base
                address += opcode // self._line_range * self._step
                line += self._line_base + opcode % self._line_range
                found.append((address, names.get(file, "?"), line, column))
            elif opcode == 0:
                size = self._leb()
                after = self._at + size
                kind = self._number(1) if size else 0
                if kind == _END_SEQUENCE:
                    found.append((address, names.get(file, "?"), 0, column))
                    address, file, line, column = 0, 1, 1, 0
                elif kind == _SET_ADDRESS:
                    address = self._number(size - 1)
                elif kind == 3:  # DW_LNE_define_file, of versions up to 4
                    names[len(names) + 1] = self._text()
                self._at = after
            elif opcode == _COPY:
                found.append((address, names.get(file, "?"), line, column))
            elif opcode == _ADVANCE_PC:
                address += self._leb() * self._step
            elif opcode == _ADVANCE_LINE:
                line += self._leb(signed=True)
            elif opcode == _SET_FILE:
                file = self._leb()
            elif opcode == _SET_COLUMN:
                column = self._leb()
            elif opcode == _CONST_ADD_PC:
                address += (255 - self._opcode_base) // self._line_range * self._step
            elif opcode == _FIXED_ADVANCE_PC:
                address += self._number(2)
            else:
                for _ in range(self._operands[opcode - 1]):
                    self._leb()
        return found

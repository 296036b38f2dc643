"""A code object's DWARF line table passes in; the source line of an address passes out. pyelftools reads it."""

from __future__ import annotations

import io
import posixpath
from bisect import bisect_right
from typing import Any


class LineTable:
    """The rows of all compilation units, sorted by address; empty where debug information is absent or damaged."""

    def __init__(self, code: bytes) -> None:
        self._rows: list[tuple[int, str, int, int]] = []
        from elftools.elf.elffile import ELFFile

        try:
            elf = ELFFile(io.BytesIO(code))
            if elf.get_section_by_name(".debug_line") is not None:
                dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
                for unit in dwarf.iter_CUs():
                    program = dwarf.line_program_for_CU(unit)
                    if program is not None:
                        self._add(program)
        except Exception:
            # Damaged tables make pyelftools raise nearly anything. A line table is a help, not a condition: without one
            # addresses alone are named.
            self._rows = []
        self._rows.sort(key=lambda row: row[0])
        self._addresses = [row[0] for row in self._rows]

    def _add(self, program: Any) -> None:
        header = program.header
        version = header["version"]
        folders = [_text(name) for name in header["include_directory"]]
        files = header["file_entry"]

        def name_of(index: int) -> str:
            position = index if version >= 5 else index - 1
            if not 0 <= position < len(files):
                return "?"
            entry = files[position]
            name = _text(entry.name)
            folder_index = entry.dir_index if version >= 5 else entry.dir_index - 1
            if posixpath.isabs(name) or not 0 <= folder_index < len(folders):
                return name
            folder = folders[folder_index]
            return posixpath.join(folder, name) if folder and (folder_index or posixpath.isabs(folder)) else name

        names: dict[int, str] = {}
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.file not in names:
                names[state.file] = name_of(state.file)
            line = 0 if state.end_sequence else state.line
            self._rows.append((state.address, names[state.file], line, state.column))

    def find(self, address: int) -> tuple[str, int, int] | None:
        """File, line and column of the instruction at ``address``; None where the table says nothing."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        _, file, line, column = self._rows[index]
        return (file, line, column) if line else None


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)

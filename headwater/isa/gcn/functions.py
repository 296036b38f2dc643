"""Input: an ELF file for a GCN GPU without kernels to launch (not linked, stripped, made by an assembler). Output: its
functions, to be read as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.isa.elf import ET_REL, PF_X, PT_LOAD, SHF_EXECINSTR, SHT_NOBITS
from headwater.isa.gcn.objects import CodeObject, Function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.isa.elf import Elf

_STT_NOTYPE, _STT_FUNC, _STT_AMDGPU_HSA_KERNEL = 0, 2, 10  # ELF specification, 1-18; LLVM, BinaryFormat/ELF.h
_ALIGNMENT = 256  # of kernels (LLVM, AMDGPUUsage, "Kernel Descriptor"); what sections of one file need at most
_MOST_CODE_BYTES = 1 << 28  # so that a damaged address cannot ask for more memory than a machine has


def load(elf: Elf, target: str) -> CodeObject:
    """The machine code of a file for ``target``, as one function for each symbol, and one for what has none.

    Sections of a file that is not linked are laid one behind the other. CodeObjectError if there is no machine code.
    """
    functions: list[Function] = []
    loads: list[tuple[int, bytes, int]] = []
    at = 0
    for name, start, code, symbols in _areas(elf):
        if elf.kind == ET_REL:
            at = -(-at // _ALIGNMENT) * _ALIGNMENT
        else:
            at = start
        if at + len(code) > _MOST_CODE_BYTES:
            raise elf.error(f"has machine code at an absurd address: {at + len(code):#x}")
        loads.append((at, code, len(code)))
        functions += _functions(name, at, len(code), [(value - start, size, word) for value, size, word in symbols])
        at += len(code)
    if not functions:
        raise elf.error("has no machine code (no executable section)")
    return CodeObject(
        filename=elf.filename,
        code=elf.code,
        target=target,
        isa=ISA_OF_TARGET[target],
        version=0,
        kernels={},
        text_start=min(function.entry for function in functions),
        text_end=max(function.code_end for function in functions),
        loads=tuple(loads),
        functions=tuple(functions),
        is_linked=elf.kind != ET_REL,
    )


def _areas(elf: Elf) -> Iterator[tuple[str, int, bytes, list[tuple[int, int, str]]]]:
    """Name, address, bytes and symbols (value, size, name) of executable sections; of segments where there are none."""
    found = False
    for index, section in enumerate(elf.sections):
        if not section.flags & SHF_EXECINSTR or section.kind == SHT_NOBITS or not section.size:
            continue
        found = True
        symbols = [
            (symbol.value, symbol.size if symbol.kind != _STT_NOTYPE else 0, symbol.name)
            for symbol in elf.symbols
            if symbol.section == index
            and symbol.name
            and symbol.kind in (_STT_NOTYPE, _STT_FUNC, _STT_AMDGPU_HSA_KERNEL)
            and section.address <= symbol.value < section.address + section.size
        ]
        yield section.name, section.address, elf.data(section), symbols
    for segment in elf.segments if not found else ():
        if segment.kind == PT_LOAD and segment.flags & PF_X and segment.file_size:
            code = elf.bytes_at(segment.offset, segment.file_size, f"the segment at {segment.address:#x}")
            yield f"code at {segment.address:#x}", segment.address, code, []


def _functions(area: str, at: int, size: int, symbols: list[tuple[int, int, str]]) -> list[Function]:
    """Functions by their symbols: up to where a symbol says that its own ends, else to the next one. Labels inside of a
    function are none of their own; code in front of all of them goes by its section's name."""
    found: list[Function] = []
    starts = sorted({value for value, _, _ in symbols} | {0})
    covered = 0
    for start in starts:
        if start < covered:
            continue
        here = [(length, name) for value, length, name in symbols if value == start]
        length, name = max(here) if here else (0, area)
        following = min((value for value in starts if value > start), default=size)
        end = min(start + length, size) if length else following
        if end > start:
            found.append(Function(name, at + start, at + end))
        covered = end
    if covered < size:
        found.append(Function(f"{area}+{covered:#x}", at + covered, at + size))
    return found

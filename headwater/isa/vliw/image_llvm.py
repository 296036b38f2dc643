"""Input: objects of LLVM's r600 back end. Output: a ``ShaderImage`` for each kernel.

Such an object is a relocatable ELF file of 32 bits whose flags name the processor, with all functions in .text and, for
each, registers and their values in .AMDGPU.config (LLVM, lib/Target/AMDGPU, R600AsmPrinter.cpp). Kernels find
group counts and sizes, then their arguments, in constant buffer 0; all pointers are byte addresses in one buffer,
which is RAT 0 and fetch resource 1; fetch resource 2 is the text section, for constants.
"""

from __future__ import annotations

import struct

from headwater.chips.vliw_isas import GENERATION_OF_TARGET, TRAITS
from headwater.isa.elf import ET_REL, SHT_REL, Elf, Section
from headwater.isa.vliw.image import EM_AMDGPU, ShaderImage

# LLVM, User Guide for AMDGPU Backend, "AMDGPU ELF Header e_flags": EF_AMDGPU_MACH_R600_….
_TARGETS = (
    "", "r600", "r630", "rs880", "rv670", "rv710", "rv730", "rv770", "cedar", "cypress", "juniper", "redwood", "sumo",
    "barts", "caicos", "cayman", "turks",
)  # fmt: skip
_LDS_ALLOC = 0x288E8
_PIXEL_RESOURCES = frozenset(row.pixel_resources for row in TRAITS.values())
_COMPUTE_RESOURCES = frozenset(row.compute_resources for row in TRAITS.values()) - _PIXEL_RESOURCES
_RESOURCES = (*_PIXEL_RESOURCES, *_COMPUTE_RESOURCES, 0x2878C, 0x28868, 0x28878, 0x28880, 0x28860)
_FUNCTION = 2
_R_ABS32 = 6


def is_object(elf: Elf) -> bool:
    """Whether an AMD GPU's ELF file is for a VLIW machine."""
    return elf.machine == EM_AMDGPU and not elf.is_64 and 0 < elf.flags & 0xFF < len(_TARGETS)


def read(elf: Elf) -> tuple[ShaderImage, ...]:
    """A program for each function. Raises CodeObjectError."""
    if not is_object(elf) or elf.kind != ET_REL:
        raise elf.error("is not an object of LLVM's r600 back end", hint="GCN code objects are read by the GCN chips")
    target = _TARGETS[elf.flags & 0xFF]
    index, text = next(((n, s) for n, s in enumerate(elf.sections) if s.name == ".text"), (0, None))
    config = elf.section(".AMDGPU.config")
    if text is None or config is None:
        raise elf.error("has no code (.text) or no registers (.AMDGPU.config)")
    code = _relocated(elf, text)
    functions = sorted(
        (s for s in elf.symbols if s.section == index and s.kind == _FUNCTION and not s.name.startswith(".L")),
        key=lambda s: (s.value, s.name),
    )
    registers = _registers(elf, config)
    if len(registers) != len(functions) or not functions:
        raise elf.error(f"has {len(functions)} functions and registers for {len(registers)}")
    images = []
    for symbol, values in zip(functions, registers, strict=True):
        if symbol.value + symbol.size > len(code) or symbol.value % 8:
            raise elf.error(f"has the function {symbol.name} outside of its code")
        resources = next((values[register] for register in _RESOURCES if register in values), 0)
        compute = not _COMPUTE_RESOURCES.isdisjoint(values) or _LDS_ALLOC in values
        images.append(
            ShaderImage(
                target=target,
                kind="cs" if compute else "ps",
                code=code[symbol.value : symbol.value + symbol.size],
                name=symbol.name,
                gprs=resources & 0xFF,
                stack_entries=resources >> 8 & 0xFF,
                lds_bytes=values.get(_LDS_ALLOC, 0) * 4,
                abi="llvm",
                byte_atomics=True,
                data=code,
            )
        )
    assert GENERATION_OF_TARGET[target]
    return tuple(images)


def _registers(elf: Elf, config: Section) -> list[dict[int, int]]:
    """Each function's registers: a function's begin with its resources."""
    data = elf.data(config)
    found: list[dict[int, int]] = []
    for register, value in struct.iter_unpack("<II", data[: len(data) // 8 * 8]):
        if register in _RESOURCES:
            found.append({})
        if not found:
            raise elf.error(f"has no resources of a function before register {register:#x}")
        found[-1][register] = value
    return found


def _relocated(elf: Elf, text: Section) -> bytes:
    """The code with the addresses of constants, which lie behind it, filled in."""
    code = bytearray(elf.data(text))
    relocations = next((s for s in elf.sections if s.name == ".rel.text" and s.kind == SHT_REL), None)
    if relocations is None:
        return bytes(code)
    table = next((s for s in elf.sections if s.name == ".symtab"), None)
    names = elf.data(table) if table is not None else b""
    data = elf.data(relocations)
    for offset, info in struct.iter_unpack("<II", data[: len(data) // 8 * 8]):
        at = (info >> 8) * 16
        if info & 0xFF != _R_ABS32 or at + 16 > len(names) or offset + 4 > len(code):
            raise elf.error(f"has a relocation at {offset:#x} that is not understood")
        _, value, _, _, _, section = struct.unpack_from("<IIIBBH", names, at)
        if section >= len(elf.sections) or elf.sections[section].name != ".text":
            raise elf.error(f"has a relocation at {offset:#x} to what is not in its code")
        (addend,) = struct.unpack_from("<I", code, offset)
        struct.pack_into("<I", code, offset, addend + value & 0xFFFFFFFF)
    return bytes(code)

"""Input: a code object's bytes. Output: its kernels, code, data, relocations and line table.

AMD HSA code objects of versions 2 to 6 (LLVM, "User Guide for AMDGPU Backend", "Code Object"), linked or not, alone or
in a bundle of clang's, and the binaries of AMD's OpenCL 1.x driver for Southern Islands (`headwater.isa.gcn.amdcl`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from headwater.chips.gcn_isas import ISA_OF_TARGET, TRAITS
from headwater.errors import CodeObjectError
from headwater.isa.elf import ET_REL, MACHINES, PF_X, PT_LOAD, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_RELA, Elf
from headwater.isa.gcn.descriptor_bits import enabled
from headwater.isa.gcn.objects import PROLOGUE_BYTES, USER_REGISTERS, CodeObject, KernelArg, KernelObject, Relocation

if TYPE_CHECKING:
    from collections.abc import Mapping

EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
NT_AMD_HSA_ISA_VERSION, NT_AMD_HSA_METADATA, NT_AMDGPU_METADATA = 3, 10, 32
DESCRIPTOR_BYTES = 64
MOST_IMAGE_BYTES = 1 << 28
MOST_GAP_BYTES = 1 << 24

# EF_AMDGPU_MACH, the low byte of the ELF header's flags (LLVM, AMDGPUUsage, "AMDGPU EF_AMDGPU_MACH Values").
_MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705",
    0x3C: "gfx805", 0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100",
    0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102",
    0x48: "gfx1200", 0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950",
}  # fmt: skip
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_R_ABS64, _R_RELATIVE64 = 3, 13


def load(code: bytes, filename: str) -> CodeObject:
    """Read a code object. CodeObjectError, saying what is wrong, for everything else."""
    return _load(code, filename)


def load_to_read(code: bytes, filename: str, target: str = "") -> CodeObject:
    """Read a code object, or any ELF file for a GCN GPU: one without kernels has functions. ``target``: what code is
    for that does not say so itself. CodeObjectError for what has no machine code."""
    return _load(code, filename, to_read=True, target=target)


def _load(code: bytes, filename: str, *, to_read: bool = False, target: str = "") -> CodeObject:
    code = _unbundled(code, filename)
    elf = Elf(code, filename)
    try:
        if elf.machine != EM_AMDGPU:
            return _load_foreign(elf)
        if to_read and elf.is_64 and not _has_kernels(elf):
            from headwater.isa.gcn import functions

            return functions.load(elf, _known_target(elf, target))
        if not elf.is_64:
            raise elf.error("is a 32-bit AMD GPU ELF file: code of the R600 family", hint="GCN's is expected")
        if elf.os_abi != ELFOSABI_AMDGPU_HSA:
            raise elf.error(
                f"was not made for AMD's HSA runtime (OS/ABI {elf.os_abi})",
                hint="compile for the triple amdgcn-amd-amdhsa",
            )
        if elf.kind == ET_REL:
            return _load_hsa(_linked(elf, code, filename))
        return _load_hsa(elf)
    except (struct.error, UnicodeError, KeyError, IndexError, TypeError, ValueError, OverflowError) as fault:
        # What is read is checked where it is read; this is for what slipped through.
        raise elf.error(f"is damaged ({fault})") from fault


def _linked(elf: Elf, code: bytes, filename: str) -> Elf:
    """A file as a compiler leaves it (``-c``), linked."""
    from headwater.native.linking import linked

    made = linked(code)
    if isinstance(made, str):
        raise elf.error(f"is not linked, and the linker refuses it: {made}")
    return Elf(made, filename)


def _unbundled(code: bytes, filename: str) -> bytes:
    """The code object of the first GPU we know in a bundle of clang's (LLVM, "Clang Offload Bundler")."""
    if not code.startswith(_BUNDLE):
        if code.startswith(b"CCOB"):
            raise CodeObjectError(f"{filename}: the bundle is compressed", hint="clang-offload-bundler --unbundle it")
        return code
    at = len(_BUNDLE)
    targets = []
    try:
        (count,) = struct.unpack_from("<Q", code, at)
        at += 8
        for _ in range(min(count, 1024)):
            offset, size, length = struct.unpack_from("<QQQ", code, at)
            target = code[at + 24 : at + 24 + length].decode("utf-8", "replace")
            at += 24 + length
            targets.append(target)
            processor = target.rpartition("-")[2].partition(":")[0]
            if processor in ISA_OF_TARGET and size and offset + size <= len(code):
                return code[offset : offset + size]
    except struct.error:
        raise CodeObjectError(f"{filename}: the bundle is truncated") from None
    raise CodeObjectError(f"{filename}: the bundle has no code for a GCN GPU, only {', '.join(targets) or 'none'}")


def _load_foreign(elf: Elf) -> CodeObject:
    from headwater.isa.gcn import amdcl

    if amdcl.is_binary(elf):
        return amdcl.load(elf)
    machine = MACHINES.get(elf.machine, f"machine {elf.machine}")
    raise elf.error(f"is for another processor: {machine}", hint="a code object for an AMD GPU is expected")


def _has_kernels(elf: Elf) -> bool:
    """Whether the file says what kernels it has, rightly or wrongly."""
    if elf.os_abi != ELFOSABI_AMDGPU_HSA or elf.kind == ET_REL:
        return False
    if elf.abi_version == 0:
        from headwater.isa.gcn.codeobject_v2 import STT_AMDGPU_HSA_KERNEL

        return any(symbol.kind == STT_AMDGPU_HSA_KERNEL for symbol in elf.symbols)
    return any(note.kind == NT_AMDGPU_METADATA and note.name == "AMDGPU" for note in elf.notes)


def _known_target(elf: Elf, default: str = "") -> str:
    """The processor that the file is for, or, if it does not say, ``default``."""
    target = default if default and not elf.flags & 0xFF else _target(elf)
    if target not in ISA_OF_TARGET:
        raise elf.error(f"is for {target}", hint="GCN and CDNA GPUs from gfx600 to gfx950 are known")
    return target


def _load_hsa(elf: Elf) -> CodeObject:
    target = _known_target(elf)
    isa = ISA_OF_TARGET[target]
    loads = _loads(elf)
    text_start, text_end = _text(elf)
    version = elf.abi_version + 2
    common: dict[str, Any] = {
        "filename": elf.filename,
        "code": elf.code,
        "target": target,
        "isa": isa,
        "version": version,
        "text_start": text_start,
        "text_end": text_end,
        "relocations": _relocations(elf),
        "has_writable_data": any(s.flags & SHF_WRITE and s.name in (".data", ".bss") for s in elf.sections),
        "loads": loads,
    }
    if elf.abi_version == 0:
        from headwater.isa.gcn import codeobject_v2

        kernels, metadata = codeobject_v2.kernels(elf, isa, loads)
    elif elf.abi_version <= 4:
        metadata = _metadata(elf)
        kernels = _kernels(elf, isa, loads, metadata, text_end)
    else:
        raise elf.error(f"has the unknown ABI version {elf.abi_version}", hint="code objects 2 to 6 are known")
    if not kernels:
        raise elf.error("has no kernels")
    formats = metadata.get("amdhsa.printf") or metadata.get("Printf") or ()
    return CodeObject(
        kernels=kernels, metadata=metadata, printf_formats=tuple(str(entry) for entry in formats), **common
    )


def _target(elf: Elf) -> str:
    machine = elf.flags & 0xFF
    if machine in _MACHINES:
        return _MACHINES[machine]
    for note in elf.notes:
        if note.kind == NT_AMD_HSA_ISA_VERSION and note.name == "AMD" and len(note.data) >= 16:
            major, minor, stepping = struct.unpack_from("<III", note.data, 4)
            return f"gfx{major}{minor}{stepping:x}"
    raise elf.error(f"does not say which GPU it is for (ELF flags {elf.flags:#x})")


def _loads(elf: Elf) -> tuple[tuple[int, bytes, int], ...]:
    found = []
    end = 0
    for segment in elf.segments:
        if segment.kind != PT_LOAD:
            continue
        if segment.file_size > segment.memory_size or segment.address + segment.memory_size > MOST_IMAGE_BYTES:
            raise elf.error(f"has a segment of absurd size: {segment.memory_size} bytes at {segment.address:#x}")
        if segment.address > end + MOST_GAP_BYTES:
            raise elf.error(f"has a segment at an absurd address: {segment.address:#x}, {end:#x} being the end so far")
        end = max(end, segment.address + segment.memory_size)
        data = elf.bytes_at(segment.offset, segment.file_size, f"the segment at {segment.address:#x}")
        found.append((segment.address, data, segment.memory_size))
    if not found:
        raise elf.error("has nothing to load (no PT_LOAD segment)")
    return tuple(found)


def _text(elf: Elf) -> tuple[int, int]:
    """The addresses of the machine code: .text, or in a file without sections the executable segment."""
    areas = [(s.address, s.address + s.size) for s in elf.sections if s.flags & SHF_EXECINSTR and s.kind != SHT_NOBITS]
    areas = areas or [
        (s.address, s.address + s.file_size) for s in elf.segments if s.kind == PT_LOAD and s.flags & PF_X
    ]
    if not areas:
        raise elf.error("has no machine code (no executable section)")
    start, end = min(low for low, _ in areas), max(high for _, high in areas)
    if end > MOST_IMAGE_BYTES:
        raise elf.error(f"has machine code at an absurd address: {end:#x}")
    return start, end


def _relocations(elf: Elf) -> tuple[Relocation, ...]:
    end = max(s.address + s.memory_size for s in elf.segments if s.kind == PT_LOAD)
    found = []
    for section in elf.sections:
        if section.kind != SHT_RELA or not section.name.startswith(".rela.dyn"):
            continue
        symbols = elf.symbols_of(elf.sections[section.link]) if 0 < section.link < len(elf.sections) else ()
        for entry in elf.relocations_of(section):
            value = entry.addend
            if entry.kind == _R_ABS64:
                if entry.symbol >= len(symbols):
                    raise elf.error("has a relocation to a symbol that it does not contain")
                symbol = symbols[entry.symbol]
                if symbol.section == 0:
                    raise elf.error(f"needs {symbol.name}, which it does not define", hint="link with --no-undefined")
                value += symbol.value
            elif entry.kind != _R_RELATIVE64:
                raise elf.error(f"has a relocation of kind {entry.kind}, which the loader does not know")
            if entry.offset + 8 > end or entry.offset < 0:
                raise elf.error(f"has a relocation outside of its segments: {entry.offset:#x}")
            found.append(Relocation(entry.offset, value))
    return tuple(found)


def _metadata(elf: Elf) -> dict[str, Any]:
    from headwater.isa.msgpack import unpack

    for note in elf.notes:
        if note.kind == NT_AMDGPU_METADATA and note.name == "AMDGPU":
            try:
                metadata = unpack(note.data)
            except ValueError as fault:
                raise elf.error(f"has damaged metadata: {fault}") from fault
            if not isinstance(metadata, dict):
                raise elf.error("has damaged metadata: no map")
            return metadata
    raise elf.error("has no metadata (NT_AMDGPU_METADATA note)", hint="its kernels' arguments cannot be known")


def read_image(elf: Elf, loads: tuple[tuple[int, bytes, int], ...], address: int, size: int, what: str) -> bytes:
    """``size`` bytes at an address of the image that come from the file."""
    for start, data, _ in loads:
        if start <= address and address + size <= start + len(data):
            return data[address - start : address - start + size]
    raise elf.error(f"has {what} at {address:#x}, outside of its segments")


def _kernels(
    elf: Elf, isa: str, loads: tuple[tuple[int, bytes, int], ...], metadata: dict[str, Any], text_end: int
) -> dict[str, KernelObject]:
    symbols = {symbol.name: symbol for symbol in elf.symbols if symbol.section}
    found = {}
    listed = metadata.get("amdhsa.kernels", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise elf.error("has damaged metadata: amdhsa.kernels is not a list of maps")
    for entry in listed:
        name, symbol_name = entry.get(".name"), entry.get(".symbol")
        if not isinstance(name, str) or not isinstance(symbol_name, str):
            raise elf.error("has damaged metadata: a kernel without .name or .symbol")
        symbol = symbols.get(symbol_name)
        if symbol is None:
            raise elf.error(f"has no descriptor {symbol_name} of the kernel {name}")
        descriptor = read_image(elf, loads, symbol.value, DESCRIPTOR_BYTES, f"the descriptor of {name}")
        function = symbols.get(symbol_name.removesuffix(".kd"))
        size = function.size if function is not None else 0
        kernel = _kernel(elf, isa, name, symbol.value, descriptor, entry, size, text_end)
        read_image(elf, loads, kernel.entry, 4, f"the code of {name}")
        found[name] = kernel
    return found


def register_counts(isa: str, rsrc1: int, rsrc3: int) -> tuple[int, int, int]:
    """VGPRs, SGPRs and AGPRs that are allocated (AMDGPUUsage, "compute_pgm_rsrc1": the granules)."""
    traits = TRAITS[isa]
    vgprs = ((rsrc1 & 63) + 1) * traits.vgpr_granule
    sgprs = ((rsrc1 >> 6 & 15) + 1) * 8
    if traits.has_unified_registers:
        accum = ((rsrc3 & 63) + 1) * 4
        return min(vgprs, accum), sgprs, max(0, vgprs - accum)
    return vgprs, sgprs, vgprs if traits.has_accumulation_file else 0


def _number(elf: Elf, entry: Mapping[str, Any], key: str, default: int = 0) -> int:
    value = entry.get(key, default)
    if not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise elf.error(f"has damaged metadata: {key} is {value!r}")
    return value


def _kernel(
    elf: Elf, isa: str, name: str, address: int, descriptor: bytes, entry: dict[str, Any], size: int, text_end: int
) -> KernelObject:
    """A kernel of version 3 and later (AMDGPUUsage, "Kernel Descriptor" and "Code Object V3 Metadata")."""
    group, private, kernarg = struct.unpack_from("<III", descriptor, 0)
    (offset,) = struct.unpack_from("<q", descriptor, 16)
    rsrc3, rsrc1, rsrc2, properties = struct.unpack_from("<IIIH", descriptor, 44)
    if properties >> 10 & 1:
        raise elf.error(f"has the kernel {name} for wavefronts of 32, which no GCN GPU has")
    vgprs, sgprs, agprs = register_counts(isa, rsrc1, rsrc3)
    start = address + offset
    preload = _preload(elf, isa, name, descriptor, rsrc2, properties)
    required = entry.get(".reqd_workgroup_size")
    group_size = None
    if isinstance(required, list) and len(required) == 3 and all(isinstance(n, int) for n in required):
        group_size = (required[0], required[1], required[2])
    return KernelObject(
        name=name,
        entry=start + (PROLOGUE_BYTES if preload[1] else 0),
        code_end=min(start + size, text_end) if size else text_end,
        args=tuple(_argument(elf, name, argument) for argument in entry.get(".args") or ()),
        kernarg_bytes=max(kernarg, _number(elf, entry, ".kernarg_segment_size")),
        group_segment_bytes=group,
        private_segment_bytes=private,
        dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)) or bool(properties >> 11 & 1),
        vgpr_count=_number(elf, entry, ".vgpr_count", vgprs),
        sgpr_count=_number(elf, entry, ".sgpr_count", sgprs),
        agpr_count=_number(elf, entry, ".agpr_count", agprs),
        reqd_group_size=group_size,
        max_flat_group=_number(elf, entry, ".max_flat_workgroup_size"),
        rsrc=(rsrc1, rsrc2, rsrc3),
        properties=properties,
        preload=preload,
        accum_offset=((rsrc3 & 63) + 1) * 4 if TRAITS[isa].has_unified_registers else 0,
        generation=TRAITS[isa].generation,
        **enabled(properties, rsrc1, rsrc2),
    )


def _preload(elf: Elf, isa: str, name: str, descriptor: bytes, rsrc2: int, properties: int) -> tuple[int, int]:
    """First dword and number of dwords of the arguments that SGPRs hold at the start (AMDGPUUsage, "Kernel Descriptor":
    kernarg_preload_spec_length and _offset)."""
    (bits,) = struct.unpack_from("<H", descriptor, 58)
    first, count = bits >> 7, bits & 127
    if not count or not TRAITS[isa].preloads_arguments:
        return 0, 0
    others = sum(size for bit, (_, size) in enumerate(USER_REGISTERS) if properties >> bit & 1)
    if others + count > (rsrc2 >> 1 & 31):
        raise elf.error(
            f"has a damaged descriptor: {name} has {rsrc2 >> 1 & 31} user SGPRs, and {count} dwords of its arguments "
            f"are to be preloaded after {others} others"
        )
    return first, count


def _argument(elf: Elf, kernel: str, entry: Any) -> KernelArg:
    if not isinstance(entry, dict):
        raise elf.error(f"has damaged metadata: an argument of {kernel} is not a map")
    texts = [entry.get(key, "") for key in (".name", ".value_kind", ".address_space", ".type_name", ".access")]
    if not all(isinstance(word, str) for word in texts):
        raise elf.error(f"has damaged metadata: an argument of {kernel}")
    name, value_kind, space, type_name, access = texts
    offset, size = _number(elf, entry, ".offset"), _number(elf, entry, ".size")
    if offset + size > 1 << 20:
        raise elf.error(f"has an argument of {kernel} at the absurd offset {offset} with {size} bytes")
    is_const = bool(entry.get(".is_const", False))
    return KernelArg(
        name, offset, size, value_kind, space, type_name, access or entry.get(".actual_access", ""), is_const
    )

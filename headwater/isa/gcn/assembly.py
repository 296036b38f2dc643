"""Input: a code object. Output: assembly text that assembles to an equivalent code object.

Branches go to labels and addresses of data to symbols, so that instructions may be added and removed by hand; kernel
descriptors and metadata become directives (LLVM, "User Guide for AMDGPU Backend", "Assembler").
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.chips.gcn_isas import TRAITS
from headwater.errors import CodeObjectError
from headwater.isa.elf import SHF_WRITE, SHT_NOBITS, Elf, Section
from headwater.isa.gcn.listing import Line, lines_of
from headwater.isa.gcn.model import Literal, Register

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import CodeObject, KernelObject

STT_OBJECT, STT_FUNC, STT_AMDGPU_HSA_KERNEL = 1, 2, 10
STB_LOCAL = 0
_DESCRIPTOR_BYTES = 64
# Instructions between s_getpc_b64 and the addition of a distance; compilers put them next to each other.
_REACH = 4


@dataclass
class _Writer:
    code: CodeObject
    elf: Elf
    labels: dict[int, list[str]] = field(default_factory=dict)
    """Address -> the symbols defined there, other than descriptors."""
    symbols: dict[str, tuple[int, int, bool]] = field(default_factory=dict)
    """Symbol -> size, kind, and whether other objects see it."""
    areas: list[Section] = field(default_factory=list)
    """Sections of data."""
    out: list[str] = field(default_factory=list)


def text(code: CodeObject) -> str:
    """The whole code object as assembly. CodeObjectError for binaries of the OpenCL 1.x driver: another ABI."""
    if code.version == 1:
        raise CodeObjectError(
            f"{code.filename}: a binary of AMD's OpenCL 1.x driver cannot be assembled again",
            hint="headwater disasm without --format asm prints its instructions",
        )
    if not code.kernels:
        raise CodeObjectError(
            f"{code.filename}: a file without kernels cannot be assembled again to one that runs",
            hint="headwater disasm without --format asm prints its instructions",
        )
    writer = _Writer(code, Elf(code.code, code.filename))
    _find_symbols(writer)
    version = max(code.version, 4)
    writer.out += [
        f'\t.amdgcn_target "{_target(code)}"',
        f"\t.amdhsa_code_object_version {version}",
        "",
    ]
    _write_text(writer)
    for section in writer.areas:
        _write_data(writer, section)
    for kernel in code.kernels.values():
        _write_descriptor(writer, kernel)
    _write_metadata(writer)
    return "\n".join(writer.out) + "\n"


def _target(code: CodeObject) -> str:
    stated = code.metadata.get("amdhsa.target")
    return stated if isinstance(stated, str) else f"amdgcn-amd-amdhsa--{code.target}"


def _find_symbols(writer: _Writer) -> None:
    code, elf = writer.code, writer.elf
    for index, section in enumerate(elf.sections):
        if section.name.startswith((".rodata", ".data", ".bss")) and section.size:
            writer.areas.append(section)
        for symbol in elf.symbols:
            if symbol.section != index or symbol.name.endswith(".kd") or symbol.kind not in (0, *_TYPES):
                continue
            inside = section in writer.areas or code.text_start <= symbol.value < code.text_end
            if inside and symbol.name not in writer.symbols:
                writer.labels.setdefault(symbol.value, []).append(symbol.name)
                writer.symbols[symbol.name] = (symbol.size, symbol.kind, symbol.binding != STB_LOCAL)
    for kernel in code.kernels.values():
        if kernel.name not in writer.symbols:
            writer.labels.setdefault(kernel.start, []).append(kernel.name)
            writer.symbols[kernel.name] = (kernel.code_end - kernel.start, STT_FUNC, True)


_TYPES = {STT_OBJECT: "object", STT_FUNC: "function"}


def _symbol(name: str) -> str:
    """A symbol as assemblers take it, which want quotes around letters beyond ASCII."""
    return name if name.isascii() else f'"{name}"'


def _write_label(writer: _Writer, name: str) -> None:
    size, kind, is_global = writer.symbols[name]
    if is_global:
        # Protected: nothing outside can take a definition's place, so that distances to it are known to the linker.
        writer.out += [f"\t.globl {_symbol(name)}", f"\t.protected {_symbol(name)}"]
    if kind in _TYPES:
        writer.out.append(f"\t.type {_symbol(name)},@{_TYPES[kind]}")
    if kind == STT_OBJECT and size:
        writer.out.append(f"\t.size {_symbol(name)}, {size}")
    writer.out.append(f"{_symbol(name)}:")


# Machine code.


def _write_text(writer: _Writer) -> None:
    code = writer.code
    entries = {kernel.start for kernel in code.kernels.values()}
    headers = _headers(writer)
    cuts = sorted({code.text_start, code.text_end, *writer.labels, *_function_ends(writer), *headers})
    cuts = [address for address in cuts if code.text_start <= address <= code.text_end]
    writer.out += ["\t.text", "\t.p2align 8"]
    pieces: list[Line] = []
    for start, end in itertools.pairwise(cuts):
        if start not in headers:
            pieces += lines_of(code, start, end)
    references = _references(writer, pieces)
    ends = _function_ends(writer)
    place: tuple[str, int] | None = None
    for line in pieces:
        writer.out += ends.pop(line.address, ())
        names = writer.labels.get(line.address, [])
        if names and line.address in entries:
            writer.out.append("\t.p2align 8")
        for name in names:
            _write_label(writer, name)
        if line.label:
            writer.out.append(f"{line.label}:")
        if line.source is not None and line.source[:2] != place:
            place = line.source[:2]
            writer.out.append(f"\t; {place[0]}:{place[1]}")
        writer.out.append(f"\t{references.get(line.address, line.shown)}")
    writer.out += ends.pop(code.text_end, ())


def _function_ends(writer: _Writer) -> dict[int, list[str]]:
    """Where functions end: the directives that say so."""
    ends: dict[int, list[str]] = {}
    for address, names in writer.labels.items():
        for name in names:
            size, kind, _ = writer.symbols[name]
            if size and kind == STT_FUNC:
                ends.setdefault(address + size, []).append(f"\t.size {_symbol(name)}, .-{_symbol(name)}")
    return ends


def _headers(writer: _Writer) -> set[int]:
    """Version 2 keeps its descriptors, of 256 bytes, in front of the code."""
    if writer.code.version > 2:
        return set()
    return {symbol.value for symbol in writer.elf.symbols if symbol.kind == STT_AMDGPU_HSA_KERNEL}


def _references(writer: _Writer, lines: list[Line]) -> dict[int, str]:
    """Additions of a distance to s_getpc_b64's result, with the symbol that the distance leads to; by address."""
    found: dict[int, str] = {}
    for index, line in enumerate(lines):
        if line.instruction is None or line.instruction.row.name != "s_getpc_b64":
            continue
        low = line.instruction.dests[0].register.index
        base = line.address + line.instruction.size_bytes
        additions: list[Line] = []
        for other in lines[index + 1 : index + 1 + _REACH]:
            i = other.instruction
            wanted = ("s_add_u32", low) if not additions else ("s_addc_u32", low + 1)
            if i is None or (i.row.name, i.dests[0].register.index if i.dests else -1) != wanted:
                continue
            first, second = i.sources[0].value, i.sources[1].value
            if first == Register("s", wanted[1], 1) and isinstance(second, Literal):
                additions.append(other)
                if len(additions) == 2:
                    break
        if len(additions) != 2:
            continue
        values = [line.instruction.sources[1].value for line in additions if line.instruction is not None]
        distance = sum(value.bits << 32 * at for at, value in enumerate(values) if isinstance(value, Literal))
        distance = distance - (1 << 64) if distance >> 63 else distance
        name, offset = _symbol_at(writer, base + distance)
        if not name:
            continue
        for addition, half in zip(additions, ("lo", "hi"), strict=True):
            words = addition.words.rpartition(",")[0]
            addend = offset + addition.address + 4 - base
            found[addition.address] = f"{words}, {_symbol(name)}@rel32@{half}{addend:+d}"
    return found


def _symbol_at(writer: _Writer, address: int) -> tuple[str, int]:
    """A symbol to call an address by, and the distance from it; "" if it is nowhere in what is written."""
    if address in writer.labels:
        return writer.labels[address][0], 0
    for section in writer.areas:
        if section.address <= address <= section.address + section.size:
            return _area_label(section), address - section.address
    below = [a for a in writer.labels if a <= address < writer.code.text_end and a >= writer.code.text_start]
    if below and writer.code.text_start <= address < writer.code.text_end:
        return writer.labels[max(below)][0], address - max(below)
    return "", 0


# Data.


def _area_label(section: Section) -> str:
    return f".L{section.name.replace('.', '_')}_{section.address:x}"


def _write_data(writer: _Writer, section: Section) -> None:
    kernels = {symbol.value for symbol in writer.elf.symbols if symbol.name.endswith(".kd")}
    flags = "aw" if section.flags & SHF_WRITE else "a"
    kind = "nobits" if section.kind == SHT_NOBITS else "progbits"
    writer.out += ["", f'\t.section {section.name},"{flags}",@{kind}', "\t.p2align 6", f"{_area_label(section)}:"]
    relocations = {entry.offset: entry.value for entry in writer.code.relocations}
    end = section.address + section.size
    data = writer.elf.data(section)
    cuts = {section.address, end, *(a for a in writer.labels if section.address <= a < end)}
    cuts |= {a for a in relocations if section.address <= a < end}
    cuts |= {a + 8 for a in relocations if section.address <= a < end}
    cuts |= {a for a in kernels if section.address <= a < end}
    cuts |= {a + _DESCRIPTOR_BYTES for a in kernels if section.address <= a < end}
    ordered = sorted(a for a in cuts if a <= end)
    for start, stop in itertools.pairwise(ordered):
        for name in writer.labels.get(start, ()):
            _write_label(writer, name)
        if start in kernels:
            # Descriptors are written apart; their room is kept so that distances stay what they were.
            writer.out.append(f"\t.zero {stop - start}")
        elif start in relocations:
            name, offset = _symbol_at(writer, relocations[start])
            if not name:
                raise CodeObjectError(
                    f"{writer.code.filename}: the file has a relocation to {relocations[start]:#x}, where nothing is"
                )
            writer.out.append(f"\t.quad {_symbol(name)}{offset:+d}" if offset else f"\t.quad {_symbol(name)}")
        elif section.kind == SHT_NOBITS:
            writer.out.append(f"\t.zero {stop - start}")
        else:
            _write_bytes(writer, data[start - section.address : stop - section.address])


def _write_bytes(writer: _Writer, data: bytes) -> None:
    whole = len(data) // 4 * 4
    for at in range(0, whole, 16):
        words = struct.unpack(f"<{len(data[at : min(at + 16, whole)]) // 4}I", data[at : min(at + 16, whole)])
        writer.out.append("\t.long " + ", ".join(f"{word:#010x}" for word in words))
    if data[whole:]:
        writer.out.append("\t.byte " + ", ".join(f"{byte:#04x}" for byte in data[whole:]))


# Descriptors and metadata.


def _write_descriptor(writer: _Writer, kernel: KernelObject) -> None:
    traits = TRAITS[writer.code.isa]
    rsrc1, rsrc2, rsrc3 = kernel.rsrc
    properties = kernel.properties
    writer.out += ["", '\t.section .rodata,"a",@progbits', "\t.p2align 6", f"\t.amdhsa_kernel {_symbol(kernel.name)}"]

    def put(name: str, value: int | bool) -> None:
        writer.out.append(f"\t\t.amdhsa_{name} {int(value)}")

    put("group_segment_fixed_size", kernel.group_segment_bytes)
    put("private_segment_fixed_size", kernel.private_segment_bytes)
    put("kernarg_size", kernel.kernarg_bytes)
    put("user_sgpr_count", kernel.user_sgpr_count)
    passes_scratch = not traits.has_architected_scratch
    for name in ("private_segment_buffer", "dispatch_ptr", "queue_ptr", "kernarg_segment_ptr", "dispatch_id"):
        if passes_scratch or name != "private_segment_buffer":
            put(f"user_sgpr_{name}", getattr(kernel, f"enable_{name}"))
    if traits.preloads_arguments:
        put("user_sgpr_kernarg_preload_offset", kernel.preload[0])
        put("user_sgpr_kernarg_preload_length", kernel.preload[1])
    if passes_scratch:
        put("user_sgpr_flat_scratch_init", kernel.enable_flat_scratch_init)
    put("user_sgpr_private_segment_size", kernel.enable_private_segment_size)
    put("uses_dynamic_stack", properties >> 11 & 1)
    wanted = "system_sgpr_private_segment_wavefront_offset" if passes_scratch else "enable_private_segment"
    put(wanted, kernel.enable_wave_offset)
    for axis, on in zip("xyz", kernel.enable_workgroup_id, strict=True):
        put(f"system_sgpr_workgroup_id_{axis}", on)
    put("system_sgpr_workgroup_info", kernel.enable_workgroup_info)
    put("system_vgpr_workitem_id", kernel.workitem_id_count - 1)
    put("next_free_vgpr", ((rsrc1 & 63) + 1) * traits.vgpr_granule)
    # Of the scalar registers the last are VCC, FLAT_SCRATCH (the assembler counts it for gfx6, too) and, from gfx8 on,
    # XNACK_MASK.
    extra = 6 if "xnack_mask" in traits.named_pairs.values() else 4
    _, last = traits.scalar_groups[0]
    put("next_free_sgpr", min(max(((rsrc1 >> 6 & 15) + 1) * 8 - extra, 0), last))
    put("reserve_vcc", 1)
    if traits.has_flat and passes_scratch:
        put("reserve_flat_scratch", 1)
    if traits.has_unified_registers:
        put("accum_offset", kernel.accum_offset)
        put("tg_split", rsrc3 >> 16 & 1)
    put("float_round_mode_32", rsrc1 >> 12 & 3)
    put("float_round_mode_16_64", rsrc1 >> 14 & 3)
    put("float_denorm_mode_32", rsrc1 >> 16 & 3)
    put("float_denorm_mode_16_64", rsrc1 >> 18 & 3)
    put("dx10_clamp", kernel.dx10_clamp)
    put("ieee_mode", kernel.ieee)
    if traits.has_half_overflow_mode:
        put("fp16_overflow", rsrc1 >> 26 & 1)
    exceptions = (
        "fp_ieee_invalid_op", "fp_denorm_src", "fp_ieee_div_zero", "fp_ieee_overflow", "fp_ieee_underflow",
        "fp_ieee_inexact", "int_div_zero",
    )  # fmt: skip
    for bit, name in enumerate(exceptions):
        put(f"exception_{name}", rsrc2 >> (24 + bit) & 1)
    writer.out.append("\t.end_amdhsa_kernel")


def _write_metadata(writer: _Writer) -> None:
    metadata = writer.code.metadata if writer.code.version > 2 else _modern_metadata(writer.code)
    writer.out += ["", "\t.amdgpu_metadata", "---"]
    _write_yaml(writer.out, metadata, 0)
    writer.out += ["...", "\t.end_amdgpu_metadata"]


def _modern_metadata(code: CodeObject) -> dict[str, Any]:
    """The metadata of a version 2 code object in the form of version 4."""
    kernels = []
    for kernel in code.kernels.values():
        arguments = []
        for argument in kernel.args:
            entry: dict[str, Any] = {
                ".offset": argument.offset,
                ".size": argument.size,
                ".value_kind": argument.value_kind,
            }
            if argument.name:
                entry[".name"] = argument.name
            if argument.type_name:
                entry[".type_name"] = argument.type_name
            if argument.address_space:
                entry[".address_space"] = argument.address_space
            arguments.append(entry)
        kernels.append(
            {
                ".args": arguments,
                ".group_segment_fixed_size": kernel.group_segment_bytes,
                ".kernarg_segment_align": 8,
                ".kernarg_segment_size": kernel.kernarg_bytes,
                ".max_flat_workgroup_size": kernel.max_flat_group or 256,
                ".name": kernel.name,
                ".private_segment_fixed_size": kernel.private_segment_bytes,
                ".sgpr_count": kernel.sgpr_count,
                ".symbol": f"{kernel.name}.kd",
                ".vgpr_count": kernel.vgpr_count,
                ".wavefront_size": 64,
                **({".reqd_workgroup_size": list(kernel.reqd_group_size)} if kernel.reqd_group_size else {}),
            }
        )
    formats = list(code.printf_formats)
    return {
        "amdhsa.kernels": kernels,
        **({"amdhsa.printf": formats} if formats else {}),
        "amdhsa.target": _target(code),
        "amdhsa.version": [1, 1],
    }


def _write_yaml(out: list[str], value: Any, depth: int, lead: str = "") -> None:
    """Maps and lists in block form, every text quoted."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for number, (key, entry) in enumerate(value.items()):
            start = lead if number == 0 and lead else pad
            if isinstance(entry, dict | list) and entry:
                out.append(f"{start}{_quoted(key)}:")
                _write_yaml(out, entry, depth + 1)
            else:
                out.append(f"{start}{_quoted(key)}: {_scalar(entry)}")
    elif isinstance(value, list) and value:
        for entry in value:
            if isinstance(entry, dict) and entry:
                _write_yaml(out, entry, depth + 1, f"{pad}- ")
            elif isinstance(entry, list) and entry:
                out.append(f"{pad}-")
                _write_yaml(out, entry, depth + 1)
            else:
                out.append(f"{pad}- {_scalar(entry)}")


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(value: str) -> str:
    if all(32 <= ord(letter) < 127 for letter in value):
        return "'" + value.replace("'", "''") + "'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if 32 <= ord(c) < 127 else f"\\x{ord(c) & 255:02x}" for c in escaped) + '"'

"""Input: a code object of version 2. Output: its kernels and its metadata.

Its kernels are ``amd_kernel_code_t`` structures in front of the code, its metadata are YAML in a note (LLVM, "User
Guide for AMDGPU Backend", "Code Object V2 Metadata" and "Kernel Code Object (amd_kernel_code_t)").
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

from headwater.chips.gcn_isas import TRAITS
from headwater.isa.gcn.codeobject import NT_AMD_HSA_METADATA, read_image, register_counts
from headwater.isa.gcn.descriptor_bits import enabled
from headwater.isa.gcn.objects import KernelArg, KernelObject

if TYPE_CHECKING:
    from headwater.isa.elf import Elf

STT_AMDGPU_HSA_KERNEL = 10
HEADER_BYTES = 256
_DEEPEST = 16


def kernels(
    elf: Elf, isa: str, loads: tuple[tuple[int, bytes, int], ...]
) -> tuple[dict[str, KernelObject], dict[str, Any]]:
    """The kernels by name, and the metadata, empty where there are none."""
    metadata = _metadata(elf)
    listed = metadata.get("Kernels", [])
    described = {entry.get("Name"): entry for entry in listed if isinstance(entry, dict)} if listed else {}
    found = {}
    ends = sorted(symbol.value for symbol in elf.symbols if symbol.kind == STT_AMDGPU_HSA_KERNEL)
    for symbol in elf.symbols:
        if symbol.kind == STT_AMDGPU_HSA_KERNEL and symbol.section:
            header = read_image(elf, loads, symbol.value, HEADER_BYTES, f"the header of {symbol.name}")
            following = [value for value in ends if value > symbol.value]
            size = symbol.size or (following[0] - symbol.value if following else 0)
            kernel = _kernel(elf, isa, symbol.name, symbol.value, header, described.get(symbol.name) or {}, size)
            read_image(elf, loads, kernel.entry, 4, f"the code of {symbol.name}")
            found[symbol.name] = kernel
    return found, metadata


def _metadata(elf: Elf) -> dict[str, Any]:
    for note in elf.notes:
        if note.name == "AMD" and note.kind == NT_AMD_HSA_METADATA:
            try:
                value = parse_yaml(note.data.rstrip(b"\0").decode("utf-8", "replace"))
            except ValueError as fault:
                raise elf.error(f"has damaged metadata: {fault}") from fault
            if not isinstance(value, dict):
                raise elf.error("has damaged metadata: no map")
            return value
    return {}


def _kernel(
    elf: Elf, isa: str, name: str, address: int, header: bytes, entry: dict[str, Any], size: int
) -> KernelObject:
    (offset,) = struct.unpack_from("<q", header, 16)
    rsrc1, rsrc2, properties, private, group = struct.unpack_from("<IIIII", header, 48)
    (kernarg,) = struct.unpack_from("<Q", header, 72)
    sgprs, vgprs = struct.unpack_from("<HH", header, 84)
    if header[103] != 6:
        raise elf.error(f"has the kernel {name} for wavefronts of {1 << (header[103] & 15)}, which no GCN GPU has")
    if kernarg > 1 << 20:
        raise elf.error(f"has the kernel {name} with {kernarg} bytes of arguments")
    allocated_vgprs, allocated_sgprs, _ = register_counts(isa, rsrc1, 0)
    start = address + offset
    attributes = entry.get("Attrs") or {}
    required = attributes.get("ReqdWorkGroupSize") if isinstance(attributes, dict) else None
    return KernelObject(
        name=name,
        entry=start,
        code_end=address + size if size > offset else start,
        args=_arguments(entry),
        kernarg_bytes=kernarg,
        group_segment_bytes=group,
        private_segment_bytes=private,
        dynamic_stack=bool(properties >> 20 & 1),
        vgpr_count=vgprs or allocated_vgprs,
        sgpr_count=sgprs or allocated_sgprs,
        agpr_count=0,
        reqd_group_size=tuple(required) if _is_size(required) else None,  # type: ignore[arg-type]
        rsrc=(rsrc1, rsrc2, 0),
        properties=properties,
        accum_offset=0,
        generation=TRAITS[isa].generation,
        **enabled(properties, rsrc1, rsrc2),
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(n, int) and n > 0 for n in value)


def _arguments(entry: dict[str, Any]) -> tuple[KernelArg, ...]:
    """Arguments with their offsets, which follow from sizes and alignments; kinds under their later names."""
    found = []
    offset = 0
    for argument in entry.get("Args") or ():
        if not isinstance(argument, dict):
            continue
        size, align = argument.get("Size", 0), argument.get("Align", 1)
        if not isinstance(size, int) or not isinstance(align, int) or not 0 < align <= 1 << 12 or size > 1 << 16:
            raise ValueError(f"an argument of {size} bytes aligned to {align}")
        offset = -(-offset // align) * align
        found.append(
            KernelArg(
                str(argument.get("Name", "")),
                offset,
                size,
                _snake(argument.get("ValueKind", "")),
                _snake(argument.get("AddrSpaceQual", "")),
                str(argument.get("TypeName", "")),
                {"ReadOnly": "read_only", "WriteOnly": "write_only", "ReadWrite": "read_write"}.get(
                    argument.get("AccQual", ""), ""
                ),
                bool(argument.get("IsConst", False)),
            )
        )
        offset += size
    return tuple(found)


def _snake(name: Any) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()


# What the metadata use of YAML: block maps and lists, flow lists and maps, plain and quoted scalars.


def parse_yaml(text: str) -> Any:
    """The document's value. ValueError, with the line, for what is not of the form that compilers write."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and stripped not in ("---", "...") and not stripped.startswith("#"):
            lines.append((len(line) - len(line.lstrip(" ")), stripped, number))
    value, rest = _block(lines, 0, 0)
    if rest != len(lines):
        raise ValueError(f"line {lines[rest][2]} of the YAML text is indented unlike those before")
    return value


_Lines = list[tuple[int, str, int]]


def _block(lines: _Lines, at: int, depth: int) -> tuple[Any, int]:
    """The value that the lines from ``at`` on, as far as they are indented alike, say."""
    if depth > _DEEPEST:
        raise ValueError("the YAML text nests too deep")
    if at >= len(lines):
        return None, at
    indent, first, _ = lines[at]
    values: list[Any] = []
    mapping: dict[str, Any] = {}
    is_list = first.startswith("- ") or first == "-"
    while at < len(lines) and lines[at][0] == indent:
        _, line, number = lines[at]
        if is_list:
            if not (line.startswith("- ") or line == "-"):
                break
            inner = line[1:].lstrip()
            if not inner:
                value, at = _block(lines, at + 1, depth + 1)
            elif _key(inner) is not None:
                # A map whose first entry stands behind the dash.
                shifted = indent + len(line) - len(inner)
                lines[at] = (shifted, inner, number)
                value, at = _block(lines, at, depth + 1)
            else:
                value, at = _scalar(inner, number), at + 1
            values.append(value)
            continue
        pair = _key(line)
        if pair is None:
            raise ValueError(f"line {number} of the YAML text has no key")
        key, rest = pair
        at += 1
        if rest:
            mapping[key] = _scalar(rest, number)
        elif at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and lines[at][1].startswith("- "))):
            mapping[key], at = _block(lines, at, depth + 1)
        else:
            mapping[key] = None
    return (values if is_list else mapping), at


def _key(line: str) -> tuple[str, str] | None:
    found = re.match(r"([\w.]+|'[^']*'|\"[^\"]*\")\s*:(?:\s+(.*))?$", line)
    return (found[1].strip("'\""), found[2] or "") if found else None


def _scalar(word: str, number: int) -> Any:
    if word.startswith("[") and word.endswith("]"):
        inner = word[1:-1].strip()
        return [_scalar(part.strip(), number) for part in _split(inner)] if inner else []
    if word.startswith("{") and word.endswith("}"):
        pairs = [_key(part.strip()) for part in _split(word[1:-1]) if part.strip()]
        return {pair[0]: _scalar(pair[1], number) for pair in pairs if pair is not None}
    if len(word) > 1 and word[0] == word[-1] == "'":
        return word[1:-1].replace("''", "'")
    if len(word) > 1 and word[0] == word[-1] == '"':
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), word[1:-1])
    if re.fullmatch(r"-?\d{1,20}", word):
        return int(word)
    return {"true": True, "false": False, "null": None, "~": None}.get(word, word)


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no quotes or brackets."""
    parts = [""]
    depth, quote = 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += letter
    return parts

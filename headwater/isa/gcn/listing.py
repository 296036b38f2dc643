"""Input: a code object's machine code. Output: lines of a disassembly, with labels and source positions.

The lines are what the listing, the JSON and the assembly that can be assembled again are all made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.base import reading
from headwater.errors import DecodeError
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.objects import Function
from headwater.isa.gcn.printer import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headwater.isa.gcn.model import Instruction
    from headwater.isa.gcn.objects import CodeObject, KernelObject


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction, or four bytes that are none (``instruction`` None). ``label``: its own, "" if nothing jumps here;
    ``jump``: that of its branch's target; ``source``: file, line and column."""

    address: int
    code: bytes
    instruction: Instruction | None
    words: str
    label: str
    jump: str
    source: tuple[str, int, int] | None

    @property
    def shown(self) -> str:
        """The text, with a label where LLVM's disassembler prints the branch's distance."""
        return f"{self.words.rpartition(' ')[0]} {self.jump}" if self.jump else self.words


def label_at(address: int) -> str:
    """The label of a branch's target."""
    return f".L_{address:x}"


def labelled(instruction: Instruction, isa: str) -> str:
    """An instruction's text; of a branch with its target's label in place of the distance."""
    words = text(instruction, isa)
    return words if instruction.target is None else f"{words.rpartition(' ')[0]} {label_at(instruction.target)}"


def lines_of(code: CodeObject, start: int, end: int, *, positions: bool = True) -> list[Line]:
    """The lines of the machine code from ``start`` to ``end``, addresses of the code object's image."""
    image = code.image()
    found: list[tuple[int, bytes, Instruction | None]] = []
    at = start
    while at < end:
        try:
            instruction = decode(image, at, code.isa)
        except DecodeError:
            instruction = None
        size = instruction.size_bytes if instruction is not None else 4
        if at + size > end:
            instruction, size = None, min(4, end - at)
        found.append((at, image[at : at + size], instruction))
        at += size
    starts = {address for address, _, _ in found}
    targets = {i.target for _, _, i in found if i is not None and i.target in starts}
    return [
        Line(
            address,
            data,
            instruction,
            text(instruction, code.isa) if instruction is not None else _data(data),
            label_at(address) if address in targets else "",
            label_at(instruction.target) if instruction is not None and instruction.target in targets else "",
            code.line_of(address) if positions else None,
        )
        for address, data, instruction in found
    ]


def _data(code: bytes) -> str:
    if len(code) == 4:
        return f".long {int.from_bytes(code, 'little'):#010x}"
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in code)


def header_of(kernel: KernelObject) -> dict[str, Any]:
    """A kernel's resources and arguments by name."""
    return {
        "name": kernel.name,
        "address": kernel.start,
        "vgprs": kernel.vgpr_count,
        "sgprs": kernel.sgpr_count,
        "agprs": kernel.agpr_count,
        "lds_bytes": kernel.group_segment_bytes,
        "private_bytes": kernel.private_segment_bytes,
        "kernarg_bytes": kernel.kernarg_bytes,
        "reqd_group_size": list(kernel.reqd_group_size) if kernel.reqd_group_size else None,
        "arguments": [argument._asdict() for argument in kernel.args],
    }


def end_of(part: KernelObject | Function, lines: Sequence[Line]) -> int:
    """Where the kernel's or function's instructions end: its padding, s_nop and s_code_end, is left out."""
    end = part.code_end
    for line in reversed(lines):
        if line.instruction is None or line.instruction.row.name == "s_nop":
            end = line.address
        else:
            break
    return end


def as_json(code: CodeObject, parts: Iterable[KernelObject | Function]) -> dict[str, Any]:
    """The disassembly for programs to read."""
    kernels: list[dict[str, Any]] = []
    functions: list[dict[str, Any]] = []
    for part in parts:
        lines = lines_of(code, part.start, part.code_end)
        end = end_of(part, lines)
        if isinstance(part, Function):
            head, found = {"name": part.name, "address": part.start}, functions
        else:
            head, found = header_of(part), kernels
        found.append(
            head
            | {
                "instructions": [
                    {
                        "address": line.address,
                        "bytes": line.code.hex(),
                        "text": line.words,
                        "target": line.instruction.target if line.instruction is not None else None,
                        "form": line.instruction.form if line.instruction is not None else None,
                        "source": list(line.source) if line.source else None,
                    }
                    for line in lines
                    if line.address < end
                ]
            }
        )
    whole: dict[str, Any] = {"file": code.filename, "target": code.target, "version": code.version, "kernels": kernels}
    return whole | {"functions": functions} if code.functions else whole


def as_text(
    code: CodeObject,
    parts: Iterable[KernelObject | Function],
    *,
    show_bytes: bool = False,
    source: Callable[[str], Sequence[str] | None] | None = None,
) -> str:
    """The disassembly for people to read. ``source`` gives the lines of a source file: they are put in between."""
    out = [f"{code.filename}: {_kind(code)} for {code.target}"]
    for part in parts:
        out += ["", *([f"{part.name}:"] if isinstance(part, Function) else _heading(part))]
        lines = lines_of(code, part.start, part.code_end, positions=source is not None)
        end = end_of(part, lines)
        place: tuple[str, int] | None = None
        for line in lines:
            if line.address >= end:
                break
            if source is not None and line.source is not None and line.source[:2] != place:
                place = line.source[:2]
                out += _source_lines(place, source)
            if line.label:
                out.append(f"{line.label}:")
            data = f"{_words(line.code):18} " if show_bytes else ""
            out.append(f"  {line.address:6x}:  {data}{line.shown}")
    return "\n".join(out) + "\n"


def _kind(code: CodeObject) -> str:
    kinds = {0: "machine code without kernels", 1: "binary of AMD's OpenCL 1.x driver"}
    return kinds.get(code.version, f"code object of version {code.version}")


def _words(code: bytes) -> str:
    """The bytes as the 32-bit words that documents show."""
    return " ".join(f"{int.from_bytes(code[at : at + 4], 'little'):08x}" for at in range(0, len(code), 4))


def _heading(kernel: KernelObject) -> list[str]:
    registers = [f"{kernel.vgpr_count} VGPRs"]
    if kernel.agpr_count:
        registers.append(f"{kernel.agpr_count} AGPRs")
    registers.append(f"{kernel.sgpr_count} SGPRs")
    sizes = f"{kernel.group_segment_bytes} bytes of LDS, {kernel.private_segment_bytes} private bytes a work-item"
    lines = [f"{kernel.name}:  {', '.join(registers)}, {sizes}"]
    if kernel.reqd_group_size:
        lines.append(f"    work-groups of {' × '.join(map(str, kernel.reqd_group_size))}")
    if kernel.preload[1]:
        first, count = kernel.preload
        lines.append(
            f"    starts at {kernel.entry:#x}, dwords {first} to {first + count - 1} of the arguments in SGPRs"
        )
    for argument in kernel.args:
        if not argument.value_kind.startswith("hidden_"):
            kind = argument.type_name or argument.value_kind
            name = argument.name or "argument"
            lines.append(f"    {kind} {name}: {argument.size} bytes at {argument.offset:#x}")
    return lines


def _source_lines(place: tuple[str, int], source: Callable[[str], Sequence[str] | None]) -> list[str]:
    file, number = place
    lines = source(file)
    text = lines[number - 1].strip() if lines is not None and 0 < number <= len(lines) else ""
    return [f"; {file}:{number}: {text}" if text else f"; {file}:{number}"]


def readable_sources(given: Mapping[str, str]) -> Callable[[str], Sequence[str] | None]:
    """Source files by name: those given, else files of this machine; None for what cannot be read."""
    known: dict[str, Sequence[str] | None] = {name: words.splitlines() for name, words in given.items()}

    def lines(name: str) -> Sequence[str] | None:
        if name not in known:
            known[name] = reading.lines(name) or None
        return known[name]

    return lines

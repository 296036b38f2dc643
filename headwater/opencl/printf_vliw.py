"""Input: a module for r600 with calls of printf. Output: the module with stores of records instead, and their formats.

Records and formats are those of `headwater.runtime.simulated.printf_memory`: LLVM writes them for GCN chips itself, but
not for r600. A call whose format, or one of whose strings, is no literal stays as it is, to be refused at its line.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from headwater.llvm.builder import Block, Builder
from headwater.llvm.ir import Body, Inst, Module
from headwater.llvm.text import string_bytes
from headwater.llvm.types import DOUBLE, I32, I64, Type
from headwater.opencl.printf import Specifier, parse

_NARROW = {"i8": ("zext", "i32"), "i16": ("zext", "i32"), "half": ("fpext", "float")}
"""What is stored as words of its own, and how it becomes that."""
_BYTES = {"i32": 4, "float": 4, "i64": 8, "double": 8}
_RECORD = "declare ptr addrspace(1) @__hw_printf_record(i32, i32)"
Argument = tuple[Type, str]
"""Type and value."""


def with_records(module: Module) -> tuple[str, ...]:
    """Store records; the entries that ``amdhsa.printf`` would have for them."""
    if "printf" not in module.declares:
        return ()
    made = _Records(module)
    for body in module.bodies.values():
        made.function(body)
    for text in made.writers:
        module.add(text)
    if made.entries:
        module.declare(_RECORD)
    return tuple(made.entries)


class _Records:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.entries: list[str] = []
        self.writers: list[str] = []

    def function(self, body: Body) -> None:
        """Call writers of records in one function."""
        calls = list(body.calls("printf("))
        if not calls:
            return
        widened = {
            inst.name: (inst.args[0].ty, inst.args[0].text)
            for _, inst in body.having("fpext", within=" to double")
            if inst.args[0].is_local and inst.args[0].ty.kind == "float"
        }
        made = {number: self.call(inst, widened) for number, inst in calls}
        body.replace({number: [line] for number, line in made.items() if line is not None})

    def call(self, inst: Inst, widened: dict[str, Argument]) -> str | None:
        """A call of the function that writes this call's record; None if the call is to stay."""
        form, *arguments = ((value.ty, value.text) for value in inst.args)
        known = self.string(form[1])
        if known is None or not inst.name:
            return None
        conversions = [p for p in parse(known.decode("utf-8", "replace")) if isinstance(p, Specifier)]
        stored: list[Argument] = []
        sizes: list[int] = []
        for conversion, argument in zip(conversions, arguments, strict=False):
            if conversion.conversion == "s":
                string = self.string(argument[1])
                if string is None:
                    return None
                words = list(_words(string))
                stored += [(I32, str(word)) for word in words]
                sizes.append(4 * len(words))
            else:
                # What C widens to a double is told as it was: the chip need not have doubles.
                stored.append(_constant(widened.get(argument[1], argument)))
                sizes.append(_size(stored[-1][0]))
        number = len(self.entries) + 1
        self.entries.append(_entry(number, known, sizes))
        self.writers.append(_writer(number, stored, 4 + sum(sizes)))
        given = ", ".join(f"{kind} {value}" for kind, value in stored if value.startswith("%"))
        place = f", !dbg {inst.site}" if inst.site else ""
        return f"  {inst.name} = call i32 @__hw_printf.{number}({given}){place}"

    def string(self, name: str) -> bytes | None:
        """The bytes of a constant string, up to its zero; None if it is none."""
        known = self.module.variable(name) if name in self.module.globals else None
        if known is None or not known.is_constant or known.ty.elem is None or known.ty.elem.text != "i8":
            return None
        if known.initialiser.startswith("zeroinitializer"):
            return b""
        is_string = known.initialiser.startswith('c"')
        return string_bytes(known.initialiser).split(b"\0", 1)[0] if is_string else None


def _constant(argument: Argument) -> Argument:
    """A double that is known as the integer with its bits."""
    kind, value = argument
    if kind != DOUBLE or value.startswith("%"):
        return argument
    bits = int(value, 16) if value.startswith("0x") else struct.unpack("<q", struct.pack("<d", float(value)))[0]
    return I64, str(bits)


def _stored(kind: Type) -> tuple[str, str, str]:
    """An argument's type as it is stored, the component's and how it becomes that: "" if it is that already."""
    if kind.scalar.kind == "ptr":
        return "i32", "i32", "ptrtoint"
    how, wide = _NARROW.get(kind.scalar.text, ("", kind.scalar.text))
    return (f"<{kind.count} x {wide}>" if kind.kind == "vec" else wide), wide, how


def _size(kind: Type) -> int:
    """Bytes in a record; three components have the room of four (OpenCL C 1.2 specification 6.1.5)."""
    count = kind.count if kind.kind == "vec" else 1
    return (4 if count == 3 else count) * _BYTES[_stored(kind)[1]]


def _writer(number: int, stored: list[Argument], size: int) -> str:
    """The function that writes a record and gives printf's value: 0, or -1 where there is no room (6.12.13.1)."""
    parameters: list[str] = []
    b = Builder(Block)
    b.line(f"%at = call ptr addrspace(1) @__hw_printf_record(i32 {number}, i32 {size})")
    b.line("%full = icmp eq ptr addrspace(1) %at, null")
    b.branch("%full", "lost", "room")
    b.start("room")
    at = 0
    for place, (kind, value) in enumerate(stored):
        if value.startswith("%"):
            value = f"%a{place}"
            parameters.append(f"{kind} {value}")
        whole, _, how = _stored(kind)
        if how:
            b.line(f"%w{place} = {how} {kind} {value} to {whole}")
            value = f"%w{place}"
        b.line(f"%p{place} = getelementptr i8, ptr addrspace(1) %at, i32 {at}")
        b.line(f"store {whole} {value}, ptr addrspace(1) %p{place}, align 4")
        at += _size(kind)
    b.line("ret i32 0")
    b.start("lost")
    b.line("ret i32 -1")
    return b.function(f"define internal i32 @__hw_printf.{number}({', '.join(parameters)}) alwaysinline")


def _entry(number: int, text: bytes, sizes: list[int]) -> str:
    """Number, count, sizes and text, the latter with what would break it as escapes."""
    escaped = text.decode("utf-8", "replace").replace("\\", "\\\\").replace("\n", "\\n").replace(":", "\\72")
    return ":".join([str(number), str(len(sizes)), *map(str, sizes), escaped])


def _words(text: bytes) -> Iterator[int]:
    """A string and the zero behind it in words."""
    filled = text + bytes(4 - len(text) % 4)
    return (word for (word,) in struct.iter_unpack("<I", filled))

"""Input: a module with calls of async_work_group_copy or wait_group_events. Output: the same module with code that
reports copies which are used before a wait, never waited for, or not the same in all work-items of a group, and waits
for what is no copy's event.

Each work-item has a table of its copies in flight: the value of its event, where it was begun, and the ranges that it
reads and writes. A copy's event is its number, so that events may go through variables, arrays and phis; one that is
passed on joins the copies that have it. A wait takes the copies out whose events it is given.

On the cpu device, where a group's work-items run one after the other, the first one of a group leaves the arguments of
its copies in local memory, and the others compare theirs. On chips such code would take part in the races it looks for.
There each work-item copies the elements of the next one's number (`library/group.cl`), so that the search for races
finds accesses that no barrier separates from a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.errors import InternalError
from headwater.llvm.ir import Body, Inst, Module, Value, label_of
from headwater.llvm.metadata import fields
from headwater.llvm.passes.definedness import DECLARATION, IF, file_number, source_files
from headwater.llvm.text import FINDING, first_symbol
from headwater.llvm.types import LOCAL_SPACE
from headwater.opencl import copy_tracking
from headwater.opencl.check_findings import LOCAL_ID
from headwater.opencl.copy_tracking import (
    ARGUMENTS,
    FIELDS,
    GROUP,
    HEAD,
    MOST,
    NO_EVENT,
    READ,
    SOURCE,
    SOURCE_WRITTEN,
    TARGET,
    WRITTEN,
    Target,
)
from headwater.opencl.mangle import MangleError, Pointer, Scalar, Type, Vector, demangle
from headwater.opencl.platforms import SPIR

_MEMORY = re.compile(r"llvm\.(memcpy|memmove|memset)\.")
_VECTOR = re.compile(r"v(load|store)(a?)(?:_half)?(2|3|4|8|16)?(?:_rt[ezpn])?")


def with_copies_followed(module: Module) -> None:
    """Follow the async copies of a module, if it makes any. Functions have to be inlined already."""
    if not any("async_work_group_" in name or "wait_group_events" in name for name in module.declares):
        return
    # AMD's chips have private memory in an address space of its own.
    chip = "-A5" in module.data_layout
    bits = module.address_bits
    calling = "" if chip else SPIR.calling
    target = Target(f"i{bits}", bits, "ptr addrspace(5)" if chip else "ptr", chip, 0 if chip else 4, calling)
    functions: dict[str, str] = {}
    changed = False
    for body in module.bodies.values():
        lines = _Body(module, target, body, functions).written()
        if lines is not None:
            body.replace({number: () if number else lines for number in range(len(body.lines))})
            changed = True
    if changed:
        if f"{FINDING}_if" not in module.bodies:
            module.add(f"{DECLARATION}\n{IF}")
        if any(GROUP in text for text in functions.values()):
            words = f"[{1 + ARGUMENTS * MOST} x {target.address}]"
            module.add(f"{GROUP} = internal addrspace({LOCAL_SPACE}) global {words} undef, align {target.bits // 8}")
            if LOCAL_ID not in module.declares:
                module.declare(f"declare {target.calling}{target.address} @{LOCAL_ID}(i32) nounwind memory(none)")
        for text in functions.values():
            module.add(text)
        if chip:
            module.add("define i64 @__hw_copies_ahead() alwaysinline {\n  ret i64 1\n}")


@dataclass(frozen=True, slots=True)
class _Access:
    """What an instruction accesses."""

    pointer: Value
    nbytes: str
    """A number, or "type value * number"."""
    writes: bool
    offset: str = "0"
    """Of the first byte from where the pointer is to, likewise."""


@dataclass(slots=True)
class _Body:
    """One function's body."""

    module: Module
    target: Target
    body: Body
    functions: dict[str, str]
    """The functions that this code needs, by their names."""
    out: list[str] = field(default_factory=list)
    numbers: int = 0
    insts: dict[str, Inst] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    spaces: set[int] = field(default_factory=set)
    """The address spaces that copies read or write."""
    copied: set[str] = field(default_factory=set)
    """The variables in local memory that they do; "" among them: or something else."""
    event: str = ""
    """The type of events."""
    first: str = ""
    """Whether this is the first work-item of its group, on the cpu device."""
    generic: bool = False
    """Whether there are accesses by pointers that may be to any memory: addresses are theirs then."""

    def written(self) -> list[str] | None:
        """The body's lines with the code that follows its copies; None if it has none."""
        self.files = source_files(self.module)
        body = self.body
        lines = [(number, self._read(number)) for number in range(len(body.lines))]
        copies = [inst for _, inst in lines if inst is not None and _copy(inst)]
        if not copies:
            return self._without_copies(lines)
        for _, inst in lines:
            if inst is not None and inst.name:
                self.insts[inst.name] = inst
        self.event = str(copies[0].ty)
        for inst in copies:
            for pointer in inst.args[:2]:
                self.spaces.add(pointer.ty.space)
                if pointer.ty.space == LOCAL_SPACE:
                    self.copied.add(self._root(pointer))
        self.generic = any(
            access.pointer.ty.space == self.target.generic and self._may_be_copied(access.pointer)
            for _, inst in lines
            if inst is not None
            for access in self._accesses(inst)
        )
        if lines and label_of(body.lines[0]):
            self.out.append(body.lines[0])
            del lines[0]
        self._begin()
        for number, inst in lines:
            if body.operations[number] == "ret":
                self._call("end", "void", [])
                if self.first:
                    self._call("all", "void", [])
            if inst is None:
                self.out.append(body.lines[number])
                continue
            for access in self._accesses(inst):
                if self._may_be_copied(access.pointer):
                    self._check(inst, access)
            if _copy(inst):
                self._copy(body.lines[number], inst)
            else:
                if _waits(inst):
                    self._wait(inst)
                self.out.append(body.lines[number])
        return self.out

    def _without_copies(self, lines: list[tuple[int, Inst | None]]) -> list[str] | None:
        """The lines of a body that makes no copy: each of its waits for an event is reported."""
        waits = {number: inst for number, inst in lines if inst is not None and _waits(inst)}
        for number, line in enumerate(self.body.lines):
            if number in waits:
                inst = waits[number]
                some = self._let(f"icmp sgt i32 {inst.args[0].text}, 0")
                self._report(some, [str(NO_EVENT), *self._where(inst), "0"], inst)
            self.out.append(line)
        return self.out if waits else None

    def _read(self, number: int) -> Inst | None:
        try:
            return self.body.inst(number) if self.body.operations[number] else None
        except (InternalError, IndexError):  # what `headwater.llvm.ir` does not know: a switch
            return None

    # -- what is accessed

    def _accesses(self, inst: Inst) -> Iterator[_Access]:
        if inst.op == "load":
            yield _Access(inst.args[0], str(inst.ty.size_bytes), False)
        elif inst.op == "store":
            yield _Access(inst.args[1], str(inst.args[0].ty.size_bytes), True)
        elif inst.op in ("atomicrmw", "cmpxchg"):
            yield _Access(inst.args[0], str(inst.args[1].ty.size_bytes), True)
        elif inst.op == "call" and (memory := _MEMORY.match(inst.detail)):
            nbytes = f"{inst.args[2].ty} {inst.args[2].text} * 1"
            yield _Access(inst.args[0], nbytes, True)
            if memory[1] != "memset":
                yield _Access(inst.args[1], nbytes, False)
        elif inst.op == "call":
            yield from self._by_function(inst)

    def _by_function(self, inst: Inst) -> Iterator[_Access]:
        """What a function of the device library accesses: of more than one element only vloadn and vstoren do."""
        name, parameters = _name(inst)
        if name in ("prefetch", "wait_group_events") or len(parameters) != len(inst.args):
            return
        if name.startswith("async_work_group_"):
            for side, (start, copied) in enumerate(zip(inst.args[:2], self._copied_bytes(inst), strict=True)):
                if copied:
                    yield _Access(start, copied, side == 0)
            return
        vector = _VECTOR.fullmatch(name)
        for parameter, value in zip(parameters, inst.args, strict=True):
            if not isinstance(parameter, Pointer) or not (size := _size(parameter.pointee)):
                continue
            if vector:
                yield self._by_vector(vector, size, inst)
            else:
                reads = name in ("atomic_load", "atomic_load_explicit") or parameter.const
                yield _Access(value, str(size), not reads)

    def _by_vector(self, match: re.Match[str], size: int, inst: Inst) -> _Access:
        width = int(match[3] or 1)
        stride = size * (4 if match[2] and width == 3 else width)
        offset, pointer = inst.args[-2:]
        return _Access(pointer, str(size * width), match[1] == "store", f"{offset.ty} {offset.text} * {stride}")

    def _copied_bytes(self, inst: Inst) -> list[str]:
        """How many bytes a copy writes and reads; "" of the strided side, of which only parts are."""
        name, parameters = _name(inst)
        first = parameters[0] if parameters else None
        size = _size(first.pointee) if isinstance(first, Pointer) else 0
        nbytes = f"{inst.args[2].ty} {inst.args[2].text} * {size}"
        sides = inst.args[:2]
        return [nbytes if size and ("strided" not in name or side.ty.space == LOCAL_SPACE) else "" for side in sides]

    def _root(self, pointer: Value) -> str:
        """The variable in local or private memory that a pointer is to; "" if it is to something else or unknown."""
        while True:
            if not pointer.is_local:
                return first_symbol(pointer.text)
            inst = self.insts.get(pointer.text)
            if inst is None or inst.op not in ("getelementptr", "bitcast", "addrspacecast"):
                return pointer.text if inst is not None and inst.op == "alloca" else ""
            pointer = inst.args[0]

    def _may_be_copied(self, pointer: Value) -> bool:
        space = pointer.ty.space
        if space != self.target.generic and space not in self.spaces:
            return False
        root = self._root(pointer)
        if root.startswith("%"):
            return False
        return not root or root in self.copied or "" in self.copied

    # -- writing

    def _let(self, text: str) -> str:
        self.numbers += 1
        self.out.append(f"  %hw.c.{self.numbers} = {text}")
        return f"%hw.c.{self.numbers}"

    def _begin(self) -> None:
        address, private = self.target.address, self.target.private
        space = ", addrspace(5)" if self.target.chip else ""
        self.out.append(f"  %hw.copies = alloca [{HEAD + FIELDS * MOST} x {address}]{space}")
        for word in range(HEAD):
            self.out.append(f"  %hw.copies.{word} = getelementptr {address}, {private} %hw.copies, i32 {word}")
            self.out.append(f"  store {address} 0, {private} %hw.copies.{word}")
        if not self.target.chip:
            own = [f"call {self.target.calling}{address} @{LOCAL_ID}(i32 {n})" for n in range(3)]
            x, y, z = (self._let(call) for call in own)
            number = self._let(f"or {address} {self._let(f'or {address} {x}, {y}')}, {z}")
            self.first = self._let(f"icmp eq {address} {number}, 0")
            self._call("first", "void", [f"i1 {self.first}"])

    def _number(self, text: str) -> str:
        """The value of a number or of "type value * number"."""
        if text.isdigit():
            return text
        kind, value, _, factor = text.split()
        address = self.target.address
        if kind != address:
            value = self._let(f"{'zext' if int(kind[1:]) < self.target.bits else 'trunc'} {kind} {value} to {address}")
        return value if factor == "1" else self._let(f"mul {address} {value}, {factor}")

    def _key(self, pointer: Value) -> str:
        """An address with its address space."""
        address, where = self.target.address, f"{pointer.ty} {pointer.text}"
        local = pointer.ty.space == LOCAL_SPACE and self.target.chip
        if local and self.generic:
            where = f"ptr {self._let(f'addrspacecast {where} to ptr')}"
        at = self._let(f"ptrtoint {where} to {address}")
        return self._let(f"or {address} {at}, {1 << (self.target.bits - 1)}") if local and not self.generic else at

    def _range(self, access: _Access) -> tuple[str, str]:
        start = self._key(access.pointer)
        if access.offset != "0":
            start = self._let(f"add {self.target.address} {start}, {self._number(access.offset)}")
        return start, self._let(f"add {self.target.address} {start}, {self._number(access.nbytes)}")

    def _check(self, inst: Inst, access: _Access) -> None:
        address = self.target.address
        start, end = self._range(access)
        where = self._where(inst)
        values = [*(f"{address} {value}" for value in (where[0], start, end)), f"i1 {str(access.writes).lower()}"]
        found = self._call("find", address, values)
        flag = self._let(f"icmp ne {address} {found}, 0")
        copied = self._let(f"and {address} {found}, {SOURCE - 1}")
        if address != "i32":
            copied = self._let(f"trunc {address} {copied} to i32")
        what = str(READ)
        if access.writes:
            source = self._let(f"icmp ult {address} {found}, {TARGET}")
            what = self._let(f"select i1 {source}, i32 {SOURCE_WRITTEN}, i32 {WRITTEN}")
        self._report(flag, [what, *where, copied], inst)

    def _report(self, flag: str, numbers: list[str], inst: Inst) -> None:
        values = ", ".join(f"i32 {n}" for n in numbers)
        debug = f", !dbg {inst.site}" if inst.site else ""
        self.out.append(f"  call void @{FINDING}_if(i1 {flag}, {values}){debug}")

    def _copy(self, line: str, inst: Inst) -> None:
        address, event = self.target.address, inst.args[-1]
        ranges = [
            self._range(_Access(start, nbytes, False)) if nbytes else ("0", "0")
            for start, nbytes in zip(inst.args[:2], self._copied_bytes(inst), strict=True)
        ]
        if self.first:
            pointers = [self._let(f"ptrtoint {p.ty} {p.text} to {address}") for p in inst.args[:2]]
            sizes = [self._number(f"{size.ty} {size.text} * 1") for size in inst.args[2:-1]]
            compared = [*self._where(inst), *pointers, *sizes, *["0"] * (2 - len(sizes))]
            self._call("same", "void", [f"i1 {self.first}", *(f"{address} {value}" for value in compared)])
        values = [*self._where(inst), *(end for both in ranges for end in both), self._event(event)]
        self.numbers += 1
        self.out.append(line.replace(f"  {inst.name} = ", f"  %hw.copied.{self.numbers} = ", 1))
        token = self._call("start", address, [f"{address} {value}" for value in values])
        given = f"inttoptr {address} {token} to {inst.ty}" if inst.ty.kind == "ptr" else f"add {address} {token}, 0"
        self.out.append(f"  {inst.name} = {given}")

    def _event(self, value: Value) -> str:
        if value.ty.kind == "ptr":
            return self._let(f"ptrtoint {value.ty} {value.text} to {self.target.address}")
        return value.text

    def _wait(self, inst: Inst) -> None:
        number, events = inst.args[:2]
        values = [*(f"{self.target.address} {n}" for n in self._where(inst)), f"i32 {number.text}"]
        self._call("wait", "void", [*values, f"{events.ty} {events.text}"], self.event, str(events.ty))

    def _call(self, name: str, result: str, values: list[str], kind: str = "", events: str = "") -> str:
        """Call a function of this module's, and make it if it is not there yet.

        ``kind`` is the type of events, ``events`` that of pointers to them.
        """
        symbol, text = copy_tracking.function(name, self.target, kind, events)
        self.functions.setdefault(symbol, text)
        text = f"call {result} @{symbol}({', '.join([f'{self.target.private} %hw.copies', *values])})"
        if result == "void":
            self.out.append(f"  {text}")
            return ""
        return self._let(text)

    def _where(self, inst: Inst) -> list[str]:
        """A place in the source, as `FINDING` takes it."""
        if not inst.site:
            return ["0"] * 3
        known = fields(self.module.metadata.get(inst.site, ""))
        at = [known.get(what, "0") for what in ("line", "column")]
        return [str(file_number(self.module, self.files, inst.site)), *at]


def _copy(inst: Inst) -> bool:
    return inst.op == "call" and bool(inst.name) and re.match(r"_Z\d+async_work_group_", inst.detail) is not None


def _waits(inst: Inst) -> bool:
    return inst.op == "call" and _name(inst)[0] == "wait_group_events"


def _name(inst: Inst) -> tuple[str, tuple[Type, ...]]:
    """A called function's name in the source and its parameters' types; what is no built-in has none."""
    if re.match(r"_Z\d+wait_group_events", inst.detail):  # its events' address space has no number of its own in clang
        return "wait_group_events", ()
    try:
        return demangle(inst.detail)
    except MangleError:
        return inst.detail, ()


def _size(what: Type) -> int:
    """The bytes of an element in memory; 0 of types that have no size here."""
    if isinstance(what, Vector):
        return what.element.bytes * (4 if what.width == 3 else what.width)
    return what.bytes if isinstance(what, Scalar) else 0


__all__ = ["with_copies_followed"]

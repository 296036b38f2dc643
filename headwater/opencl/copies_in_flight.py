"""Input: a module with calls of async_work_group_copy or wait_group_events. Output: the same module with code that
reports copies which are used before a wait, never waited for, or not the same in all work-items of a group, and waits
for what is no copy's event.

Each work-item has a table of its copies in flight: the value of its event, where it was begun, and the ranges that it
reads and writes. A copy's event is its number, so that events may go through variables, arrays and phis; one that is
passed on joins the copies that have it. A wait takes the copies out whose events it is given.

On the cpu device, where a group's work-items run one after the other, the first one of a group leaves the arguments of
its copies in local memory, and the others compare theirs. On chips such code would take part in the races it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from string import Template

from headwater.errors import InternalError
from headwater.llvm.ir import Body, Inst, Module, Value, label_of
from headwater.llvm.metadata import fields
from headwater.llvm.passes.definedness import DECLARATION, IF, file_number, source_files
from headwater.llvm.text import FINDING, first_symbol
from headwater.opencl.check_findings import LOCAL_ID
from headwater.opencl.mangle import MangleError, Pointer, Scalar, Type, Vector, demangle
from headwater.opencl.platforms import SPIR

NEVER_WAITED, READ, WRITTEN, SOURCE_WRITTEN, NO_EVENT = range(5, 10)
DIFFERS = 11
"""What is wrong (`headwater.opencl.check_findings`)."""
MOST = 32
"""Copies that a work-item may have in flight; further ones are not followed. A table takes 2 KB of private memory."""

_MEMORY = re.compile(r"llvm\.(memcpy|memmove|memset)\.")
_VECTOR = re.compile(r"v(load|store)(a?)(?:_half)?(2|3|4|8|16)?(?:_rt[ezpn])?")
_GLOBAL, _LOCAL = 1, 3
"""Address spaces."""


def with_copies_followed(module: Module) -> None:
    """Follow the async copies of a module, if it makes any. Functions have to be inlined already."""
    if not any("async_work_group_" in name or "wait_group_events" in name for name in module.declares):
        return
    # AMD's chips have private memory in an address space of its own.
    chip = "-A5" in module.data_layout
    bits = module.address_bits
    calling = "" if chip else SPIR.calling
    target = _Target(f"i{bits}", bits, "ptr addrspace(5)" if chip else "ptr", chip, 0 if chip else 4, calling)
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
        if any(_GROUP in text for text in functions.values()):
            words = f"[{1 + _ARGUMENTS * MOST} x {target.address}]"
            module.add(f"{_GROUP} = internal addrspace({_LOCAL}) global {words} undef, align {target.bits // 8}")
            if LOCAL_ID not in module.declares:
                module.declare(f"declare {target.calling}{target.address} @{LOCAL_ID}(i32) nounwind memory(none)")
        for text in functions.values():
            module.add(text)


@dataclass(frozen=True, slots=True)
class _Target:
    address: str
    """The type of addresses, and of all entries of a table."""
    bits: int
    private: str
    """The type of pointers to private memory."""
    chip: bool
    generic: int
    """The address space of pointers that may be to any memory."""
    calling: str
    """The calling convention of built-ins, with a blank."""


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
    target: _Target
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
                if pointer.ty.space == _LOCAL:
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
        return [nbytes if size and ("strided" not in name or side.ty.space == _LOCAL) else "" for side in sides]

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
        self.out.append(f"  %hw.copies = alloca [{_HEAD + _FIELDS * MOST} x {address}]{space}")
        for word in range(_HEAD):
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
        local = pointer.ty.space == _LOCAL and self.target.chip
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
        copied = self._let(f"and {address} {found}, {_SOURCE - 1}")
        if address != "i32":
            copied = self._let(f"trunc {address} {copied} to i32")
        what = str(READ)
        if access.writes:
            source = self._let(f"icmp ult {address} {found}, {_TARGET}")
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
        symbol = f"__hw_copy_{name}" + (f"_{re.sub(r'[^0-9a-z]+', '_', f'{kind}_{events}')}" if kind else "")
        target, address = self.target, self.target.address
        if symbol not in self.functions:
            wide = target.bits == 64
            words: dict[str, object] = {
                **{"A": address, "P": target.private, "FINDING": f"{FINDING}_if", "NAME": f"@{symbol}"},
                **{"NARROW": "trunc i64" if wide else "add i32", "TO_32": " to i32" if wide else ", 0"},
                **{"GROUP": _GROUP, "L": f"ptr addrspace({_LOCAL})", "ARGUMENTS": _ARGUMENTS},
                **{"FIELDS": _FIELDS, "HEAD": _HEAD, "MOST": MOST, "TARGET": _TARGET, "SOURCE": _SOURCE},
                **{
                    "NO_EVENT": NO_EVENT,
                    "NEVER_WAITED": NEVER_WAITED,
                    "DIFFERS": DIFFERS,
                    "EVENT": kind,
                    "EVENTS": events,
                },
                "CONVERT": f"ptrtoint {kind} %frozen to {address}" if "ptr" in kind else f"add {address} %frozen, 0",
            }
            self.functions[symbol] = Template(Template(_FUNCTIONS[name]).safe_substitute(_PARTS)).substitute(words)
        text = f"call {result} @{symbol}({', '.join([f'{target.private} %hw.copies', *values])})"
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


_HEAD, _FIELDS = 4, 8
"""A table begins with the number of events there have been, those of the oldest copy in flight and of the next one, and
how many copies were begun.
Copy n has entry n modulo `MOST`: its event's value, 0 if it has ended; its place in the source (file, line, column);
then both ends of what it writes and of what it reads."""

_GROUP = "@__hw_copies_of_group"
_ARGUMENTS = 7
"""A group's table: how many copies its first work-item has begun; then of each of the last `MOST` its place in the
source (file, line, column) and its arguments but the event: two addresses, number of elements, stride or 0."""

_PLACE = """\
  %file.32 = $NARROW %file$TO_32
  %line.32 = $NARROW %line$TO_32
  %column.32 = $NARROW %column$TO_32"""


def _loaded_place(pointer: str, first: int) -> str:
    """Load a place in the source from an entry, from its word ``first`` on."""
    return "\n".join(
        f"  %{name}.at = getelementptr $A, {pointer} %entry, i32 {number}\n  %{name} = load $A, {pointer} %{name}.at"
        for number, name in enumerate(("file", "line", "column"), first)
    )


_PARTS = {
    "IN_FLIGHT": """\
  %oldest.at = getelementptr $A, $P %t, i32 1
  %oldest = load $A, $P %oldest.at
  %next.at = getelementptr $A, $P %t, i32 2
  %next = load $A, $P %next.at""",
    "ENTRY": """\
  %number = urem $A %n, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry = getelementptr $A, $P %t, $A %word
  %token = load $A, $P %entry""",
    "GROUP_ENTRY": """\
  %number = urem $A %n, $MOST
  %words = mul $A %number, $ARGUMENTS
  %word = add $A %words, 1
  %entry = getelementptr $A, $L $GROUP, $A %word""",
    "GIVEN": ", ".join(f"$A %g{n}" for n in range(_ARGUMENTS)),
    "STORED": "\n".join(
        f"  %s{n}.at = getelementptr $A, $L %entry, i32 {n}\n  store $A %g{n}, $L %s{n}.at" for n in range(_ARGUMENTS)
    ),
    "COMPARED": "\n".join(
        f"  %c{n}.at = getelementptr $A, $L %entry, i32 {n}\n  %c{n} = load $A, $L %c{n}.at\n"
        f"  %d{n} = icmp ne $A %c{n}, %g{n}\n  %differs.{n} = or i1 {f'%differs.{n - 1}' if n else 'false'}, %d{n}"
        for n in range(_ARGUMENTS)
    ),
    "PLACE": _PLACE,
    "KEPT_PLACE": f"{_loaded_place('$P', 1)}\n{_PLACE}",
    "GROUP_PLACE": f"{_loaded_place('$L', 0)}\n{_PLACE}",
}
"""What several of the functions do: which copies are in flight, a copy's entry, a place in the source for `FINDING`."""

# $A is the type of addresses, $P that of pointers to private memory.
_START = """
define internal $A $NAME($P %t, $A %file, $A %line, $A %column, $A %t0, $A %t1, $A %s0, $A %s1, $A %e) alwaysinline {
  %event = freeze $A %e
  %made = load $A, $P %t
$IN_FLIGHT
  %given = icmp ne $A %event, 0
  %wrong = icmp ugt $A %event, %made
$PLACE
  call void @$FINDING(i1 %wrong, i32 $NO_EVENT, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  %more = add $A %made, 1
  %token = select i1 %given, $A %event, $A %more
  %now = select i1 %given, $A %made, $A %more
  store $A %now, $P %t
  %live = sub $A %next, %oldest
  %room = icmp ult $A %live, $MOST
  br i1 %room, label %take, label %done
take:
  %last = add $A %next, 1
  store $A %last, $P %next.at
  %number = urem $A %next, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry = getelementptr $A, $P %t, $A %word
  store $A %token, $P %entry
  %file.at = getelementptr $A, $P %entry, i32 1
  store $A %file, $P %file.at
  %line.at = getelementptr $A, $P %entry, i32 2
  store $A %line, $P %line.at
  %column.at = getelementptr $A, $P %entry, i32 3
  store $A %column, $P %column.at
  %t0.at = getelementptr $A, $P %entry, i32 4
  store $A %t0, $P %t0.at
  %t1.at = getelementptr $A, $P %entry, i32 5
  store $A %t1, $P %t1.at
  %s0.at = getelementptr $A, $P %entry, i32 6
  store $A %s0, $P %s0.at
  %s1.at = getelementptr $A, $P %entry, i32 7
  store $A %s1, $P %s1.at
  br label %done
done:
  ret $A %token
}"""
"""Begin a copy: its event's value."""

_WAIT = """
define internal void $NAME($P %t, $A %file, $A %line, $A %column, i32 %count, $EVENTS %events) alwaysinline {
begin:
  %made = load $A, $P %t
  %oldest.at = getelementptr $A, $P %t, i32 1
  %next.at = getelementptr $A, $P %t, i32 2
  %next = load $A, $P %next.at
  br label %loop
loop:
  %i = phi i32 [ 0, %begin ], [ %i.next, %ended ]
  %bad = phi i1 [ false, %begin ], [ %worse, %ended ]
  %more = icmp slt i32 %i, %count
  br i1 %more, label %event, label %done
event:
  %event.at = getelementptr $EVENT, $EVENTS %events, i32 %i
  %event.loaded = load $EVENT, $EVENTS %event.at
  %frozen = freeze $EVENT %event.loaded
  %value = $CONVERT
  %none = icmp eq $A %value, 0
  %beyond = icmp ugt $A %value, %made
  %wrong = or i1 %none, %beyond
  %worse = or i1 %bad, %wrong
  %oldest = load $A, $P %oldest.at
  br label %entries
entries:
  %n = phi $A [ %oldest, %event ], [ %n.next, %entry ]
  %first = phi $A [ %oldest, %event ], [ %first.next, %entry ]
  %further = icmp ne $A %n, %next
  br i1 %further, label %entry, label %ended
entry:
  %number = urem $A %n, $MOST
  %words = mul $A %number, $FIELDS
  %word = add $A %words, $HEAD
  %entry.at = getelementptr $A, $P %t, $A %word
  %token = load $A, $P %entry.at
  %same = icmp eq $A %token, %value
  %kept = select i1 %same, $A 0, $A %token
  store $A %kept, $P %entry.at
  %n.next = add $A %n, 1
  %free = icmp eq $A %kept, 0
  %oldest.here = icmp eq $A %n, %first
  %passes = and i1 %free, %oldest.here
  %first.next = select i1 %passes, $A %n.next, $A %first
  br label %entries
ended:
  store $A %first, $P %oldest.at
  %i.next = add i32 %i, 1
  br label %loop
done:
$PLACE
  call void @$FINDING(i1 %bad, i32 $NO_EVENT, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  ret void
}"""
"""End the copies that have one of some events."""

_FIND = """
define internal $A $NAME($P %t, $A %file, $A %start, $A %end, i1 %writes) alwaysinline {
begin:
$IN_FLIGHT
  br label %loop
loop:
  %n = phi $A [ %oldest, %begin ], [ %n.next, %look ]
  %result = phi $A [ 0, %begin ], [ %better, %look ]
  %more = icmp ne $A %n, %next
  br i1 %more, label %look, label %done
look:
$ENTRY
  %own.at = getelementptr $A, $P %entry, i32 1
  %own = load $A, $P %own.at
  %line.at = getelementptr $A, $P %entry, i32 2
  %line = load $A, $P %line.at
  %t0.at = getelementptr $A, $P %entry, i32 4
  %t0 = load $A, $P %t0.at
  %t1.at = getelementptr $A, $P %entry, i32 5
  %t1 = load $A, $P %t1.at
  %s0.at = getelementptr $A, $P %entry, i32 6
  %s0 = load $A, $P %s0.at
  %s1.at = getelementptr $A, $P %entry, i32 7
  %s1 = load $A, $P %s1.at
  %t.above = icmp ugt $A %end, %t0
  %t.below = icmp ult $A %start, %t1
  %target = and i1 %t.above, %t.below
  %s.above = icmp ugt $A %end, %s0
  %s.below = icmp ult $A %start, %s1
  %s.inside = and i1 %s.above, %s.below
  %source = and i1 %s.inside, %writes
  %inside = or i1 %target, %source
  %live = icmp ne $A %token, 0
  %found = and i1 %inside, %live
  %near = icmp eq $A %own, %file
  %told = select i1 %near, $A %line, $A 0
  %which = select i1 %target, $A $TARGET, $A $SOURCE
  %marked = or $A %told, %which
  %better = select i1 %found, $A %marked, $A %result
  %n.next = add $A %n, 1
  br label %loop
done:
  ret $A %result
}"""
"""The line, if it is in that file, of a copy in flight that overlaps some bytes, with a bit set that says whether it
writes or reads them; 0 if there is none."""

_END = """
define internal void $NAME($P %t) alwaysinline {
begin:
$IN_FLIGHT
  br label %loop
loop:
  %n = phi $A [ %oldest, %begin ], [ %n.next, %look ]
  %more = icmp ne $A %n, %next
  br i1 %more, label %look, label %done
look:
$ENTRY
  %live = icmp ne $A %token, 0
$KEPT_PLACE
  call void @$FINDING(i1 %live, i32 $NEVER_WAITED, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  %n.next = add $A %n, 1
  br label %loop
done:
  ret void
}"""
"""Tell of copies that are still in flight."""

_FIRST = """
define internal void $NAME($P %t, i1 %first) alwaysinline {
  br i1 %first, label %begin, label %done
begin:
  store $A 0, $L $GROUP
  br label %done
done:
  ret void
}"""
"""The first work-item of a group has begun no copy yet."""

_SAME = """
define internal void $NAME($P %t, i1 %first, $GIVEN) alwaysinline {
  %own.at = getelementptr $A, $P %t, i32 3
  %n = load $A, $P %own.at
  %n.next = add $A %n, 1
  store $A %n.next, $P %own.at
$GROUP_ENTRY
  br i1 %first, label %leave, label %compare
leave:
  store $A %n.next, $L $GROUP
$STORED
  br label %done
compare:
  %known = load $A, $L $GROUP
  %missing = icmp uge $A %n, %known
  %ahead = sub $A %known, %n
  %kept = icmp ule $A %ahead, $MOST
$COMPARED
  %other = and i1 %kept, %differs.6
  %wrong = or i1 %missing, %other
  %file.32 = $NARROW %g0$TO_32
  %line.32 = $NARROW %g1$TO_32
  %column.32 = $NARROW %g2$TO_32
  call void @$FINDING(i1 %wrong, i32 $DIFFERS, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  br label %done
done:
  ret void
}"""
"""Leave a copy's place and arguments to the group, or compare them with those of its first work-item's copy."""

_ALL = """
define internal void $NAME($P %t) alwaysinline {
  %own.at = getelementptr $A, $P %t, i32 3
  %n = load $A, $P %own.at
  %known = load $A, $L $GROUP
  %fewer = icmp ult $A %n, %known
$GROUP_ENTRY
$GROUP_PLACE
  call void @$FINDING(i1 %fewer, i32 $DIFFERS, i32 %file.32, i32 %line.32, i32 %column.32, i32 0)
  ret void
}"""
"""Tell of a copy that the group's first work-item has begun and this one has not."""

_FUNCTIONS = {
    **{"start": _START, "wait": _WAIT, "find": _FIND, "end": _END},
    **{"first": _FIRST, "same": _SAME, "all": _ALL},
}
_TARGET, _SOURCE = 1 << 30, 1 << 29

__all__ = ["with_copies_followed"]

"""Input: a module whose private variables lie in memory. Output: the same, with code that tracks which of their bits
have been written, and reports where others are used.

As MemorySanitizer does it (Stepanov and Serebryany, "MemorySanitizer: fast detector of uninitialized memory use in
C++", 2015): each private variable has a second one, its shadow, whose bits are set where nothing has been written yet;
what is computed has a shadow, too. Copying is no use. A use is a store to memory that others see, a branch, an address,
an argument of a function that does more than compute. Variables whose address gets out of sight are not followed. LLVM
knows most shadows to be 0, and leaves the code away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headwater.errors import InternalError
from headwater.llvm.builder import Block, Builder
from headwater.llvm.ir import BINARY, CASTS, Body, Inst, Module, Value
from headwater.llvm.metadata import copied_members, fields, kind
from headwater.llvm.text import FINDING, attachment
from headwater.llvm.types import Type, int_type, vec_type

STORED, BRANCH, ADDRESS, ARGUMENT = range(1, 5)
"""What a use is (`headwater.opencl.check_findings`)."""

DECLARATION = f"declare void @{FINDING}(i32, i32, i32, i32, i32) nounwind willreturn memory(inaccessiblemem: readwrite)"
IF = f"""\
define internal void @{FINDING}_if(i1 %bad, i32 %what, i32 %file, i32 %line, i32 %column, i32 %declared) alwaysinline {{
  br i1 %bad, label %tell, label %done
tell:
  call void @{FINDING}(i32 %what, i32 %file, i32 %line, i32 %column, i32 %declared)
  br label %done
done:
  ret void
}}"""
_SHARED_SPACES = (1, 3)
_MOST_BYTES = 1 << 16
"""Of a variable that is followed: a larger one and its shadow might find no room."""
_MEMORY = re.compile(r"llvm\.(memcpy|memmove|memset)\.")
_NO_USE = re.compile(r"llvm\.(lifetime|assume|dbg|prefetch|experimental\.noalias|invariant|sideeffect)")
_SWITCH = re.compile(r"^  switch (i\d+) (%\S+), label")
_BITWISE = ("xor", "add", "sub")
_SHIFTS = ("shl", "lshr", "ashr")
_VLOAD = re.compile(r"_Z\d+vload(2|3|4|8|16)")


def followed(module: Module) -> None:
    """Follow what is to be followed. Functions have to be inlined already."""
    sources = source_files(module)
    changed = ""
    for body in module.bodies.values():
        _copy_by_bytes(module, body)
        try:
            lines = _Function(module, body, sources).written()
        except InternalError:  # what `headwater.llvm.ir` does not know
            continue
        if lines is not None:
            body.replace({number: () if number else lines for number in range(len(body.lines))})
            changed += "\n".join(lines)
    if changed:
        module.add(f"{DECLARATION}\n{IF}")
        for name, line in _INTRINSICS.items():
            if f"@{name}(" in changed:
                module.declare(line)


def _copy_by_bytes(module: Module, body: Body) -> None:
    """Make a copy of bytes of each load and store of an array or structure in private memory: clang returns small
    structures so. Shadows are of numbers and vectors."""
    changes: dict[int, list[str]] = {}
    for number, store in body.having("store"):
        at = number - 1
        while at > 0 and ("@llvm.lifetime.end" in body.lines[at] or "#dbg_" in body.lines[at]):
            at -= 1
        load = body.inst(at) if at >= 0 and body.operations[at] == "load" else None
        if load is None or load.ty.kind not in ("array", "struct") or {*load.flags, *store.flags}:
            continue
        source, to = load.args[0], store.args[1]
        space = to.ty.space
        used = sum(f"{load.name}," in line or line.endswith(load.name) for line in body.lines)
        if store.args[0].text == load.name and used == 1 and source.ty == to.ty and space not in _SHARED_SPACES:
            name = f"llvm.memcpy.p{space}.p{space}.i32"
            pointers = f"{to.ty} align {store.align} {to.text}, {source.ty} align {load.align} {source.text}"
            call = f"  call void @{name}({pointers}, i32 {load.ty.size_bytes}, i1 false){store.attached}"
            changes |= {at: [call], number: []}
            if name not in module.declares and name in _INTRINSICS:
                module.declare(_INTRINSICS[name])
    body.replace(changes)


def source_files(module: Module) -> list[str]:
    """The nodes of the source's files, in the order of their numbers."""
    return [name for name, value in module.metadata.items() if kind(value) == "DIFile"]


def files(module: Module) -> list[str]:
    """The names of the source's files, by their numbers."""
    return [fields(module.metadata[name])["filename"][1:-1] for name in source_files(module)]


def file_number(module: Module, files: list[str], node: str) -> int:
    """The number of the source file of a debug location; ``files``: their nodes."""
    known = fields(module.metadata.get(node, ""))
    while known and "file" not in known:
        known = fields(module.metadata.get(known.get("scope", ""), ""))
    found = known.get("file", "")
    return files.index(found) if found in files else 0


def reporting(module: Module, files: list[str], node: str, flag: str, what: int, number: int) -> str:
    """The line that reports what is wrong, and a number that goes with it, at a debug location if a flag is set."""
    known = fields(module.metadata.get(node, ""))
    place = (file_number(module, files, node), *(known.get(field, "0") for field in ("line", "column")))
    numbers = ", ".join(f"i32 {n}" for n in (what, *place, number))
    return f"  call void @{FINDING}_if(i1 {flag}, {numbers}), !dbg {node}"


_INTRINSICS = {
    name: line
    for space in ("p0", "p5")
    for pointer in ["ptr" if space == "p0" else "ptr addrspace(5)"]
    for name, line in (
        (
            f"llvm.memset.{space}.i32",
            f"declare void @llvm.memset.{space}.i32({pointer} writeonly, i8, i32, i1 immarg)",
        ),
        (
            f"llvm.memcpy.{space}.{space}.i32",
            f"declare void @llvm.memcpy.{space}.{space}.i32({pointer} noalias, {pointer} noalias, i32, i1 immarg)",
        ),
    )
}


@dataclass(slots=True, eq=False)
class _Line:
    raw: str
    inst: Inst | None
    debug: str


@dataclass(slots=True, eq=False)
class _Function:
    """One function's body."""

    module: Module
    body: Body
    files: list[str]
    lines: list[_Line] = field(default_factory=list)
    values: dict[str, Inst] = field(default_factory=dict)
    roots: dict[str, frozenset[str]] = field(default_factory=dict)
    """The private variables that a pointer may be to; "" among them: or to something else."""
    tainted: set[str] = field(default_factory=set)
    """Values that may have bits which were not written; pointers whose address may come from such."""
    begun: dict[str, int] = field(default_factory=dict)
    """The line where a variable is declared."""
    spaces: dict[str, int] = field(default_factory=dict)
    first: set[str] = field(default_factory=set)
    """Variables that are written when they begin to be."""
    stored: dict[str, list[Value]] = field(default_factory=dict)
    """What is stored to each variable, as far as it may not have been written."""
    builder: Builder[Block] = field(default_factory=lambda: Builder(Block, hint="hw.d."))

    def __post_init__(self) -> None:
        for number, (raw, operation) in enumerate(zip(self.body.lines, self.body.operations, strict=True)):
            inst = self.body.inst(number) if operation not in ("", "switch") else None
            self.lines.append(_Line(raw, inst, attachment(raw, "dbg")))
            if inst is None:
                continue
            if inst.name:
                self.values[inst.name] = inst
            if inst.op == "alloca":
                self.spaces[inst.name] = int(inst.detail or 0)
            elif inst.op == "call" and inst.detail.startswith("llvm.lifetime.start"):
                self.begun.setdefault(inst.args[-1].text, inst.line)

    def insts(self) -> Iterator[Inst]:
        for line in self.lines:
            if line.inst is not None:
                yield line.inst

    def written(self) -> list[str] | None:
        """The body's lines with what follows its variables; None if there is nothing to follow."""
        self._find_roots()
        seen, first = self._seen(), self._written_first()
        self.first = first
        followed, every = seen - first, self.roots
        if not followed:
            return None
        while True:
            self.roots = {name: roots for name, roots in every.items() if roots and roots <= followed}
            self._find_tainted()
            more = self._reached(every, followed, seen)
            if more <= followed:
                break
            followed |= more
        for inst in self.insts():
            if inst.op == "store" and self._is_tainted(inst.args[0]):
                for root in self.roots.get(inst.args[1].text, ()):
                    self.stored.setdefault(root, []).append(inst.args[0])
        self._write(followed)
        return self.builder.lines

    # -- what is followed

    def _find_roots(self) -> None:
        pointers = [i for i in self.insts() if i.name and i.ty.kind == "ptr"]
        roots: dict[str, frozenset[str]] = {}

        def of(value: Value) -> frozenset[str]:
            if value.is_local:
                return roots.get(value.text, frozenset()) if value.text in self.values else frozenset(("",))
            return frozenset() if value.text in ("null", "undef", "poison") else frozenset(("",))

        changed = True
        while changed:
            changed = False
            for inst in pointers:
                if inst.op == "alloca":
                    found = frozenset((inst.name,))
                elif inst.op in ("getelementptr", "addrspacecast", "bitcast"):
                    found = of(inst.args[0])
                elif inst.op == "phi":
                    found = frozenset().union(*(of(v) for v in inst.args))
                elif inst.op == "select":
                    found = of(inst.args[1]) | of(inst.args[2])
                else:
                    found = frozenset(("",))
                if found != roots.get(inst.name, frozenset()):
                    roots[inst.name] = found
                    changed = True
        self.roots = roots

    def _reached(self, every: dict[str, frozenset[str]], followed: set[str], seen: set[str]) -> set[str]:
        """Variables that are written when they begin to be, but later with what may not have been."""
        found: set[str] = set()
        for roots in every.values():  # a pointer is followed if all are that it may be to
            if roots & followed and not roots <= followed:
                found |= roots & seen
        for inst in self.insts():
            if inst.op == "store" and self._is_tainted(inst.args[0]):
                found |= every.get(inst.args[1].text, frozenset()) & seen
            elif (
                inst.op == "call"
                and _MEMORY.match(inst.detail)
                and (inst.args[1].text in self.roots or self._is_tainted(inst.args[1]))
            ):
                found |= every.get(inst.args[0].text, frozenset()) & seen
        return found

    def _seen(self) -> set[str]:
        """Variables of which every access is seen."""
        allocas = {
            i.name
            for i in self.insts()
            if i.op == "alloca" and i.source.scalar.kind != "ptr" and i.source.size_bytes <= _MOST_BYTES
        }
        gone: set[str] = set()
        for inst in self.insts():
            for place, value in enumerate(inst.args):
                if value.is_local and value.text in self.roots and not self._sees(inst, place):
                    gone |= self.roots[value.text]
        several = [roots for roots in self.roots.values() if len(roots) > 1]
        changed = True
        while changed:  # a pointer is followed if all are that it may be to
            changed = False
            for roots in several:
                if roots & (gone | {""}) and not roots <= gone | {""}:
                    gone |= roots
                    changed = True
        return allocas - gone

    def _sees(self, inst: Inst, place: int) -> bool:
        """Whether what becomes of a pointer is known, where it is an instruction's operand number ``place``."""
        if inst.op == "store":
            return place == 1
        if inst.op in ("load", "getelementptr", "addrspacecast", "bitcast", "phi", "icmp"):
            return True
        if inst.op == "select":
            return place > 0
        return inst.op == "call"  # what it is given counts as written then

    def _written_first(self) -> set[str]:
        """Variables that are written as a whole where they begin to be, as those with an initialiser."""
        found: set[str] = set()
        fresh: dict[str, Type] = {}
        for line in self.lines:
            inst = line.inst
            if inst is None:
                if line.raw[:1] != " ":
                    fresh.clear()  # a block begins
                continue
            if inst.op == "alloca" and inst.source.kind in ("int", "float", "vec"):
                fresh[inst.name] = inst.source
            elif inst.op == "call" and inst.detail.startswith("llvm.lifetime.start"):
                name = inst.args[-1].text
                if name in self.values and self.values[name].source.kind in ("int", "float", "vec"):
                    found.discard(name)  # for another time
                    fresh[name] = self.values[name].source
            elif inst.op == "store" and fresh.get(inst.args[1].text) == inst.args[0].ty:
                found.add(inst.args[1].text)
                del fresh[inst.args[1].text]
            else:
                for value in inst.args:
                    fresh.pop(value.text, None)
        begun: dict[str, int] = {}
        for inst in self.insts():
            if inst.op == "call" and inst.detail.startswith("llvm.lifetime.start"):
                begun[inst.args[-1].text] = begun.get(inst.args[-1].text, 0) + 1
        return {name for name in found if begun.get(name, 0) <= 1}

    def _find_tainted(self) -> None:
        changed = True
        while changed:
            changed = False
            for inst in self.insts():
                if inst.name and inst.name not in self.tainted and self._gets_taint(inst):
                    self.tainted.add(inst.name)
                    changed = True

    def _is_tainted(self, value: Value) -> bool:
        return value.is_local and value.text in self.tainted

    def _gets_taint(self, inst: Inst) -> bool:
        if inst.op == "alloca" or (
            inst.ty.kind == "ptr" and inst.op not in ("getelementptr", "addrspacecast", "phi", "select")
        ):
            return False
        if shadow_type(inst.ty) is None:
            return False
        if inst.op == "load":
            return inst.args[0].text in self.roots
        if inst.op == "call":
            loaded = _VLOAD.match(inst.detail) is not None and inst.args[-1].text in self.roots
            return loaded or (self._is_pure(inst) and any(self._is_tainted(v) for v in inst.args))
        if inst.op in ("atomicrmw", "cmpxchg", "extractvalue", "insertvalue", "freeze", "ptrtoint", "inttoptr"):
            return False
        return any(self._is_tainted(v) for v in inst.args)

    def _is_pure(self, inst: Inst) -> bool:
        """Whether a call computes its result from its arguments, and does no more."""
        header = self.module.declares.get(inst.detail, "")
        groups = (word for word in header.split() if word.startswith("#"))
        return "memory(none)" in header or any(
            "memory(none)" in self.module.attribute_groups.get(g, "") for g in groups
        )

    # -- writing

    def _emit(self, text: str) -> None:
        self.builder.line(text)

    def _let(self, text: str) -> str:
        return self.builder.emit(text)

    def _shadow(self, value: Value) -> str:
        """The shadow of a value: a name or a zero."""
        kind = shadow_type(value.ty)
        assert kind is not None
        return _name("s", value.text) if self._is_tainted(value) else _zero(kind)

    def _place(self, pointer: Value) -> str:
        """Where the shadow lies of what a followed pointer is to."""
        return _name("m", pointer.text)

    def _any(self, ty: Type, shadow: str) -> str:
        """Whether a shadow has bits that are set, an ``i1``."""
        kind = shadow_type(ty)
        assert kind is not None
        if kind.kind == "vec":
            element = kind.scalar
            total = self._let(f"extractelement {kind} {shadow}, i32 0")
            for n in range(1, kind.count):
                total = self._let(f"or {element} {total}, {self._let(f'extractelement {kind} {shadow}, i32 {n}')}")
            kind, shadow = element, total
        return shadow if kind.bits == 1 else self._let(f"icmp ne {kind} {shadow}, 0")

    def _anywhere(self, values: Iterable[Value]) -> str | None:
        """Whether any of some values has such bits; None if none can have."""
        flags = [self._any(v.ty, self._shadow(v)) for v in values if self._is_tainted(v)]
        total = flags[0] if flags else None
        for flag in flags[1:]:
            total = self._let(f"or i1 {total}, {flag}")
        return total

    def _smeared(self, ty: Type, flag: str) -> str:
        """A shadow of which all bits are set if a flag is."""
        kind = shadow_type(ty)
        assert kind is not None
        if kind.kind != "vec":
            return flag if kind.bits == 1 else self._let(f"sext i1 {flag} to {kind}")
        one = flag if kind.scalar.bits == 1 else self._let(f"sext i1 {flag} to {kind.scalar}")
        first = self._let(f"insertelement {kind} zeroinitializer, {kind.scalar} {one}, i32 0")
        return self._let(f"shufflevector {kind} {first}, {kind} {first}, <{kind.count} x i32> zeroinitializer")

    def _report(self, flag: str, what: int, line: _Line, used: Iterable[Value]) -> None:
        inst = line.inst
        where = inst if inst is not None else self.module.instruction(f"  unreachable, !dbg {line.debug}")
        at_line, column = (where.line, where.column) if where is not None else (0, 0)
        numbers = what, file_number(self.module, self.files, line.debug), at_line, column, self._declared(used)
        arguments = ", ".join(f"i32 {n}" for n in numbers)
        debug = f", !dbg {line.debug}" if line.debug else ""
        self._emit(f"call void @{FINDING}_if(i1 {flag}, {arguments}){debug}")

    def _declared(self, used: Iterable[Value]) -> int:
        """The line where the variable is declared that values come from, if it is one."""
        names: set[str] = set()
        waiting, seen = [v.text for v in used], set()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.values:
                continue
            seen.add(name)
            inst = self.values[name]
            if inst.op == "load" or (inst.op == "call" and _VLOAD.match(inst.detail)):
                for root in self.roots.get(inst.args[-1].text, ()):
                    if root in self.first:
                        waiting += [v.text for v in self.stored.get(root, ())]
                    else:
                        names.add(root)
            waiting += [v.text for v in inst.args if self._is_tainted(v)]
        return self.begun.get(names.pop(), 0) if len(names) == 1 else 0

    def _write(self, tracked: set[str]) -> None:
        last = max(n for n, line in enumerate(self.lines) if line.inst is not None and line.inst.op == "alloca")
        for number, line in enumerate(self.lines):
            inst = line.inst
            switch = _SWITCH.match(line.raw)
            if switch and switch[2].rstrip(",") in self.tainted:
                value = Value(int_type(int(switch[1][1:])), switch[2].rstrip(","))
                self._report(self._any(value.ty, self._shadow(value)), BRANCH, line, [value])
            if inst is None:
                self.builder.lines.append(line.raw)
                continue
            if inst.op == "phi":
                self._phi(line, inst)
                continue
            self._uses(line, inst)
            self.builder.lines.append(line.raw)
            if inst.op == "alloca" and inst.name in tracked:
                # In a structure: the back end for GCN makes vectors of arrays before LLVM can see to their elements.
                old = f"alloca {inst.source}"
                made = line.raw.split(" = ", 1)[1].replace(old, f"alloca {{ {inst.source} }}", 1)
                self._emit(f"{_name('m', inst.name)} = {made}")
            self._after(line, inst)
            if number == last:
                for name in sorted(tracked):
                    self._fill(name, -1)

    def _phi(self, line: _Line, inst: Inst) -> None:
        """Phis come first in their block, and shadows' beside them."""
        self.builder.lines.append(line.raw)
        if inst.name in self.roots:
            self._merge(inst, _name("m", inst.name), inst.ty.text, lambda v: self._place(v) if v.is_local else "null")
        if inst.name in self.tainted:
            kind = shadow_type(inst.ty)
            self._merge(inst, _name("s", inst.name), str(kind), self._shadow)

    def _merge(self, inst: Inst, name: str, kind: str, shadow: object) -> None:
        assert callable(shadow)
        ways = ", ".join(f"[ {shadow(v)}, {label} ]" for v, label in zip(inst.args, inst.labels, strict=True))
        self._emit(f"{name} = phi {kind} {ways}")

    def _uses(self, line: _Line, inst: Inst) -> None:
        """Tell of uses by an instruction, before it."""
        pointers: list[Value] = []
        if inst.op in ("load", "atomicrmw", "cmpxchg"):
            pointers = [inst.args[0]]
        elif inst.op == "store":
            pointers = [inst.args[1]]
        if any(self._is_tainted(p) for p in pointers):
            flag = self._anywhere(pointers)
            assert flag is not None
            self._report(flag, ADDRESS, line, pointers)
        values: list[Value] = []
        what = STORED
        if inst.op == "store" and inst.args[1].text not in self.roots and inst.args[1].ty.space in _SHARED_SPACES:
            values = [inst.args[0]]
        elif inst.op in ("atomicrmw", "cmpxchg"):
            values = inst.args[1:]
        elif inst.op == "br":
            values, what = inst.args, BRANCH
        elif inst.op == "call" and not _NO_USE.match(inst.detail) and not self._is_pure(inst):
            values, what = inst.args, ARGUMENT
            if _MEMORY.match(inst.detail):
                values = inst.args[2:3]
        flag = self._anywhere(values)
        if flag is not None:
            self._report(flag, what, line, values)
        if inst.op == "call" and _MEMORY.match(inst.detail):
            self._copied_out(line, inst)

    def _copied_out(self, line: _Line, inst: Inst) -> None:
        """A structure is copied from a variable to memory that others see: its members have to be there."""
        target, source = inst.args[:2]
        if source.text not in self.roots or target.text in self.roots or target.ty.space not in _SHARED_SPACES:
            return
        flags = []
        for first, nbytes, is_mixed in copied_members(self.module.metadata, inst.attachment("tbaa.struct")):
            if nbytes not in (1, 2, 4, 8) or is_mixed:
                continue
            kind = f"i{8 * nbytes}"
            place = self._let(f"getelementptr i8, {source.ty} {self._place(source)}, i32 {first}")
            flags.append(self._let(f"icmp ne {kind} {self._let(f'load {kind}, {source.ty} {place}, align 1')}, 0"))
        if flags:
            total = flags[0]
            for flag in flags[1:]:
                total = self._let(f"or i1 {total}, {flag}")
            self._report(total, STORED, line, [])

    def _after(self, line: _Line, inst: Inst) -> None:
        """The shadow of an instruction's result, or of the memory that it writes."""
        if inst.op == "store":
            self._store(inst)
        elif inst.op == "call":
            self._call(inst, line)
        elif inst.name in self.roots:
            self._pointer(line, inst)
        if inst.name in self.tainted:
            shadow = self._of(line, inst)
            kind = shadow_type(inst.ty)
            assert kind is not None
            self._same(_name("s", inst.name), kind, shadow)

    def _same(self, name: str, kind: Type, shadow: str) -> None:
        """Give a shadow its name."""
        zero = "zeroinitializer" if kind.kind == "vec" else "false" if kind.bits == 1 else "0"
        self._emit(f"{name} = or {kind} {shadow}, {zero}")

    def _pointer(self, line: _Line, inst: Inst) -> None:
        name = _name("m", inst.name)
        if inst.op == "getelementptr":
            base = inst.args[0]
            old = f"{inst.source}, {', '.join(f'{v.ty} {v.text}' for v in inst.args)}"
            head, _, rest = old.partition(f"{base.ty} {base.text}")
            self._emit(f"{name} = getelementptr {head}{base.ty} {self._place(base)}{rest}")
        elif inst.op in ("addrspacecast", "bitcast"):
            self._emit(f"{name} = {inst.op} {inst.args[0].ty} {self._place(inst.args[0])} to {inst.ty}")
        elif inst.op == "select":
            one, other = (self._place(v) if v.is_local else "null" for v in inst.args[1:])
            condition = inst.args[0]
            self._emit(f"{name} = select {condition.ty} {condition.text}, {inst.ty} {one}, {inst.ty} {other}")

    def _store(self, inst: Inst) -> None:
        value, pointer = inst.args
        if pointer.text not in self.roots:
            return
        kind = shadow_type(value.ty)
        align = f", align {inst.align}" if inst.align else ""
        if kind is None or value.ty.kind == "ptr":
            self._emit(f"store {value.ty} {_zero(value.ty)}, {pointer.ty} {self._place(pointer)}{align}")
        else:
            self._emit(f"store {kind} {self._shadow(value)}, {pointer.ty} {self._place(pointer)}{align}")

    def _fill(self, name: str, byte: int) -> None:
        """Set all of a variable's shadow."""
        alloca = self.values[name]
        space = self.spaces[name]
        pointer = f"ptr addrspace({space})" if space else "ptr"
        end = f"{pointer} getelementptr ({alloca.source}, {pointer} null, i32 1)"
        size = f"ptrtoint ({end} to i32)"
        self._emit(
            f"call void @llvm.memset.p{space}.i32({pointer} {_name('m', name)}, i8 {byte}, i32 {size}, i1 false)"
        )

    def _call(self, inst: Inst, line: _Line) -> None:
        if inst.detail.startswith("llvm.lifetime.start"):
            if inst.args[-1].text in self.roots:
                self._fill(inst.args[-1].text, -1)
            return
        if _NO_USE.match(inst.detail) or _VLOAD.match(inst.detail):
            return
        memory = _MEMORY.match(inst.detail)
        if memory is None:
            for value in inst.args:
                for name in sorted(self.roots.get(value.text, ())):
                    self._fill(name, 0)
            return
        target, source, size = inst.args[:3]
        if target.text not in self.roots:
            return
        count = size.text if size.ty.bits == 32 else self._let(f"trunc {size.ty} {size.text} to i32")
        where = f"{target.ty} {self._place(target)}"
        space = target.ty.space
        if memory[1] != "memset" and source.text in self.roots and source.ty.space == space:
            what = f"{where}, {source.ty} {self._place(source)}, i32 {count}, i1 false"
            self._emit(f"call void @llvm.memcpy.p{space}.p{space}.i32({what})")
            return
        self._emit(f"call void @llvm.memset.p{space}.i32({where}, i8 0, i32 {count}, i1 false)")

    def _of(self, line: _Line, inst: Inst) -> str:
        """The shadow of a result."""
        kind = shadow_type(inst.ty)
        assert kind is not None
        args = inst.args
        shadows = [self._shadow(v) if shadow_type(v.ty) is not None else "" for v in args]
        if inst.op == "load":
            align = f", align {inst.align}" if inst.align else ""
            return self._let(f"load {kind}, {args[0].ty} {self._place(args[0])}{align}")
        if inst.ty.kind == "ptr":
            flag = self._anywhere(args)
            assert flag is not None
            return flag
        if inst.op in ("and", "or"):
            return self._masked(inst, kind, shadows)
        if inst.op in _BITWISE or inst.op == "fneg":
            return shadows[0] if len(args) == 1 else self._let(f"or {kind} {shadows[0]}, {shadows[1]}")
        if inst.op in _SHIFTS and not self._is_tainted(args[1]):
            return self._let(f"{inst.op} {kind} {shadows[0]}, {args[1].text}")
        if inst.op in ("trunc", "zext", "sext"):
            return self._let(f"{inst.op} {shadow_type(args[0].ty)} {shadows[0]} to {kind}")
        if inst.op == "bitcast":
            source = shadow_type(args[0].ty)
            return shadows[0] if source == kind else self._let(f"bitcast {source} {shadows[0]} to {kind}")
        if inst.op == "select":
            return self._selected(inst, kind, shadows)
        if inst.op == "extractelement":
            return self._let(f"extractelement {shadow_type(args[0].ty)} {shadows[0]}, {args[1].ty} {args[1].text}")
        if inst.op == "insertelement":
            return self._let(
                f"insertelement {kind} {shadows[0]}, {kind.scalar} {shadows[1]}, {args[2].ty} {args[2].text}"
            )
        if inst.op == "shufflevector":
            return self._shuffled(inst, kind, shadows)
        if inst.op == "call" and _VLOAD.match(inst.detail):
            return self._vloaded(inst, kind)
        if inst.op == "call" or inst.op in BINARY or inst.op in CASTS or inst.op in ("icmp", "fcmp"):
            return self._by_elements(inst, kind)
        raise InternalError(f"no shadow is known for {line.raw.strip()}")

    def _masked(self, inst: Inst, kind: Type, shadows: list[str]) -> str:
        """A bit of ``and`` is known if one of both is known to be 0; of ``or``, to be 1."""
        one, other = (self._known(inst.op, kind, v.text) for v in inst.args)
        parts = [f"{shadows[0]}, {shadows[1]}", f"{shadows[0]}, {other}", f"{one}, {shadows[1]}"]
        a, b, c = (self._let(f"and {kind} {part}") for part in parts)
        return self._let(f"or {kind} {self._let(f'or {kind} {a}, {b}')}, {c}")

    def _known(self, op: str, kind: Type, text: str) -> str:
        if op == "and":
            return text
        ones = "true" if kind.bits == 1 else "-1"
        return self._let(f"xor {kind} {text}, {f'splat ({kind.scalar} {ones})' if kind.kind == 'vec' else ones}")

    def _selected(self, inst: Inst, kind: Type, shadows: list[str]) -> str:
        condition = inst.args[0]
        chosen = f"select {condition.ty} {condition.text}, {kind} {shadows[1]}, {kind} {shadows[2]}"
        result = self._let(chosen)
        if not self._is_tainted(condition):
            return result
        if condition.ty.kind == "vec" and kind.kind == "vec":
            more = shadows[0] if kind.scalar.bits == 1 else self._let(f"sext {condition.ty} {shadows[0]} to {kind}")
        else:
            more = self._smeared(inst.ty, shadows[0])
        return self._let(f"or {kind} {result}, {more}")

    def _shuffled(self, inst: Inst, kind: Type, shadows: list[str]) -> str:
        source = shadow_type(inst.args[0].ty)
        mask = ", ".join(f"i32 {max(index, 0)}" for index in inst.indices)
        mixed = self._let(f"shufflevector {source} {shadows[0]}, {source} {shadows[1]}, <{kind.count} x i32> <{mask}>")
        if -1 not in inst.indices:
            return mixed
        element = kind.scalar
        ones = "true" if element.bits == 1 else "-1"
        kept = ", ".join(f"{element} {ones if index >= 0 else _zero(element)}" for index in inst.indices)
        return self._let(f"and {kind} {mixed}, <{kept}>")

    def _vloaded(self, inst: Inst, kind: Type) -> str:
        offset, pointer = inst.args[0], inst.args[-1]
        width = kind.count
        first = self._let(f"mul {offset.ty} {offset.text}, {width}")
        result = "zeroinitializer"
        for n in range(width):
            index = self._let(f"add {offset.ty} {first}, {n}")
            at = self._let(f"getelementptr {kind.scalar}, {pointer.ty} {self._place(pointer)}, {offset.ty} {index}")
            one = self._let(f"load {kind.scalar}, {pointer.ty} {at}, align 1")
            result = self._let(f"insertelement {kind} {result}, {kind.scalar} {one}, i32 {n}")
        return result

    def _by_elements(self, inst: Inst, kind: Type) -> str:
        """All bits of an element if any of those is missing that it is computed from."""
        tainted = [v for v in inst.args if self._is_tainted(v)]
        vectors = [v for v in tainted if v.ty.kind == "vec"]
        if kind.kind != "vec" or any(v.ty.count != kind.count for v in vectors):
            flag = self._anywhere(tainted)
            assert flag is not None
            return self._smeared(inst.ty, flag)
        bits = vec_type(kind.count, int_type(1))
        total = ""
        for value in tainted:
            shadow = self._shadow(value)
            if value.ty.kind != "vec":
                flag = self._smeared(bits, self._any(value.ty, shadow))
            else:
                own = shadow_type(value.ty)
                assert own is not None
                flag = shadow if own.scalar.bits == 1 else self._let(f"icmp ne {own} {shadow}, zeroinitializer")
            total = self._let(f"or {bits} {total}, {flag}") if total else flag
        return total if kind.scalar.bits == 1 else self._let(f"sext {bits} {total} to {kind}")


def shadow_type(ty: Type) -> Type | None:
    """The type of a value's shadow; of a pointer's it is one bit. None if such values are not followed."""
    if ty.kind in ("int", "float"):
        return int_type(ty.bits)
    if ty.kind == "ptr":
        return int_type(1)
    if ty.kind == "vec" and ty.scalar.kind in ("int", "float"):
        return vec_type(ty.count, int_type(ty.scalar.bits))
    return None


def _zero(ty: Type) -> str:
    """No shadow, of a value of a type."""
    kind = ty.kind
    return {"int": "false" if ty.bits == 1 else "0", "float": "0", "ptr": "null"}.get(kind, "zeroinitializer")


def _name(what: str, name: str) -> str:
    return f'%"hw.{what}.{name[1:].strip(chr(34))}"'


__all__ = [
    *("ADDRESS", "ARGUMENT", "BRANCH", "DECLARATION", "IF", "STORED"),
    *("file_number", "files", "followed", "reporting", "source_files"),
]

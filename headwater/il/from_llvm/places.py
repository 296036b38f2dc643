"""Input: a kernel's function. Output: which of its pointers lead to which private array or struct argument."""

from __future__ import annotations

from collections.abc import Mapping

from headwater.il.from_llvm.constants import GENERIC, LOCAL, PRIVATE, HoldsAddress, Unknown, memory_image
from headwater.il.from_llvm.context import Context
from headwater.il.from_llvm.memory import Array, Places
from headwater.il.from_llvm.types import align_bytes, components, size_bytes
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.text import symbols_in

_ALIGN_BYTES = 16
_ANYWHERE = "anywhere"
"""The group of private pointers that come from memory or from numbers, and of arrays that such may lead to."""
_LEAKS = {
    "store": 1, "ptrtoint": 1, "ptrtoaddr": 1, "insertvalue": 2, "insertelement": 2, "atomicrmw": 2, "cmpxchg": 3,
}  # fmt: skip
"""Instructions by which a pointer becomes something else, and how many of their operands may."""
_SAME = ("getelementptr", "freeze", "bitcast", "addrspacecast", "phi", "select")


def find_places(c: Context, function: Function, tables: Mapping[str, bytes]) -> tuple[Places, bytes]:
    """The places, and the program's constants as they lie in memory; SourceError if one holds an address. ``tables``:
    what constants hold that the module only declares."""
    places = Places()
    instructions = [inst for block in function.blocks.values() for inst in block.insts]
    places.uses = {value.text for inst in instructions for value in inst.args}
    _group(function, instructions, places)
    places.spaces = _spaces(c, instructions)
    return places, _globals(c, instructions, places, tables)


def _group(function: Function, instructions: list[Inst], places: Places) -> None:
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    def join(a: str, b: str) -> None:
        parent[root(a)] = root(b)

    allocas = [inst for inst in instructions if inst.op == "alloca"]
    arguments = {param.name for param in function.params if "byref" in param.attributes}
    private = {inst.name for inst in allocas}
    variables = {inst.name for inst in instructions if inst.op in _SAME and any("@" in v.text for v in inst.args)}
    # What is made of such a pointer leads there, too, also by way of a cast to the generic space.
    for known in (private, arguments, variables):
        before = -1
        while len(known) != before:
            before = len(known)
            known |= {
                inst.name
                for inst in instructions
                if inst.op in _SAME and inst.ty.kind == "ptr" and any(value.text in known for value in inst.args)
            }
    for inst in instructions:
        if inst.name in private and inst.op in _SAME:
            for value in inst.args:
                if value.ty.kind == "ptr" and value.is_local:
                    join(inst.name, value.text)
        elif inst.ty.kind == "ptr" and inst.ty.space == PRIVATE and inst.op != "alloca":
            private.add(inst.name)
            join(inst.name, _ANYWHERE)
        if inst.op in _LEAKS:
            for value in inst.args[: _LEAKS[inst.op]]:
                if value.text in private:
                    join(value.text, _ANYWHERE)
        compared = [value.text for value in inst.args if value.text in private] if inst.op == "icmp" else []
        for name in compared[1:]:  # pointers into different arrays differ
            join(compared[0], name)
    places.arguments, places.variables, places.nowhere = arguments, variables, _nowhere(instructions)
    whole: dict[str, bool] = {}
    for inst in instructions:
        if inst.op in ("load", "store"):
            pointer = inst.args[-1]
            if pointer.text in private:
                ty = inst.ty if inst.op == "load" else inst.args[0].ty
                size = sum(scalar.size_bytes for scalar in components(ty))
                fits = inst.align >= 16 and size % 16 == 0
                whole[root(pointer.text)] = whole.get(root(pointer.text), True) and fits
    arrays: dict[str, Array] = {}
    for inst in allocas:
        group = root(inst.name)
        array = arrays.setdefault(group, Array(len(arrays), whole.get(group, False)))
        align = max(_ALIGN_BYTES if array.whole else 4, align_bytes(inst.source), inst.align)
        places.offset[inst.name] = -(-array.size_bytes // align) * align
        array.size_bytes = places.offset[inst.name] + size_bytes(inst.source)
    for name in private:
        if root(name) in arrays:
            places.array[name] = arrays[root(name)]


def _nowhere(instructions: list[Inst]) -> set[str]:
    """Pointers that are made of null pointers and numbers alone: they lead to no variable."""
    made = [inst for inst in instructions if inst.op in _SAME and inst.ty.kind == "ptr"]
    found = {inst.name for inst in made}
    before = -1
    while len(found) != before:
        before = len(found)
        for inst in made:
            pointers = [value for value in inst.args if value.ty.kind == "ptr"]
            if not all(v.text in found if v.is_local else "@" not in v.text for v in pointers):
                found.discard(inst.name)
    return found


def _spaces(c: Context, instructions: list[Inst]) -> dict[str, int]:
    """The address spaces of generic pointers that come from one only, by way of casts, additions and choices."""
    found: dict[str, set[int]] = {}
    made = [inst for inst in instructions if inst.ty.kind == "ptr" and inst.ty.space == GENERIC]

    def of(value: Value) -> set[int]:
        if value.ty.kind != "ptr":
            return set()
        if value.ty.space == GENERIC and value.is_local:
            return found.get(value.text, set())
        space = c.space_of(value)
        return set() if space is None else {space}

    before = None
    while before != found:
        before = {name: set(spaces) for name, spaces in found.items()}
        for inst in made:
            spaces = [of(value) for value in inst.args] if inst.op in _SAME else [{GENERIC}]
            found[inst.name] = found.get(inst.name, set()).union(*spaces)
    return {name: min(spaces) for name, spaces in found.items() if len(spaces) == 1 and GENERIC not in spaces}


def _globals(c: Context, instructions: list[Inst], places: Places, tables: Mapping[str, bytes]) -> bytes:
    """Place the variables of the program that the kernel mentions."""
    module = c.module
    mentioned: list[str] = []
    waiting = [value.text for inst in instructions for value in inst.args]
    waiting = [text for text in waiting if "@" in text]
    while waiting:
        for symbol in symbols_in(waiting.pop()):
            if (name := f"@{symbol}") in module.globals and name not in mentioned:
                mentioned.append(name)
    local, data = 0, bytearray()
    for name in sorted(mentioned):
        value = module.global_value(name)
        ty = value.ty
        align = max(_ALIGN_BYTES, align_bytes(ty))
        known = module.variable(name)
        if known is not None and known.space == LOCAL:
            places.locals[name] = local = -(-local // align) * align
            local += size_bytes(ty)
            continue
        data += bytes(-len(data) % align)
        places.data[name] = len(data)
        try:
            data += tables.get(name[1:]) or memory_image(module, value)
        except (HoldsAddress, Unknown) as error:
            lines = (i.line for i in instructions if any(name[1:] in symbols_in(v.text) for v in i.args))
            c.line = next(filter(None, lines), c.line)
            if isinstance(error, Unknown):
                raise c.refuse(f"a constant of the program with a value by {error.operation}") from None
            raise c.refuse(
                "a constant of the program that holds addresses",
                hint="choose among the constants by if or switch, or lay them out one after the other in one array",
            ) from None
    places.local_bytes = -(-local // 4) * 4  # bytes are written by way of their words
    return bytes(data)

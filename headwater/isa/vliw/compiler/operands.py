"""Input: an operand of IL. Output: the values of its lanes, or what a write to it makes of them.

Every lane of a register is a variable; other registers (constant buffers, indexed temporaries, the global buffer,
shared registers) are memory, see `memory` for the instructions on it. Memory that the program writes is ordered by
`Op.order`: "global" (views and the global buffer), "lds", "array", "shared", or "all" for what waits for everything.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.errors import SourceError, Span
from headwater.il.checker import POSITION_KINDS, THREAD_KINDS, Facts
from headwater.il.model import Index, Instruction, Operand, Program, Register
from headwater.isa.vliw import table
from headwater.isa.vliw.compiler import divide
from headwater.isa.vliw.compiler.build import ONE, ZERO, Builder, magnitude, multiply_add, negated, number, real, sign
from headwater.isa.vliw.compiler.environment import Environment
from headwater.isa.vliw.compiler.ir import FETCH, MEMORY, Const, Kcache, Op, Ref, Use, Value
from headwater.isa.vliw.compiler.resources import CONSTANTS, GLOBAL_ELEMENTS, GLOBAL_RAT
from headwater.isa.vliw.compiler.scratch import WRITE_INDEXED, scratch_read, scratch_write
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import MOST_GROUP, MOST_ROWS, MOST_WORK_ITEMS

ARRAY_GPRS = 40
"""vec4 of indexed temporaries that may be registers; beyond it they are scratch."""
_INTEGER = frozenset("iuSU")
_SCALES = {"x2": 1, "x4": 2, "d2": 3}
"""OMOD (AMD, R600-Family ISA, ALU_WORD1_OP2)."""
_FACTORS = {"x8": 8.0, "d4": 0.25, "d8": 0.125}


class Lowering:
    """A program on its way from IL to operations: what its instructions read and write."""

    def __init__(self, program: Program, facts: Facts, target: Target, filename: str) -> None:
        self.program = program
        self.facts = facts
        self.target = target
        self.filename = filename
        self.builder = Builder(target)
        self.environment: Environment | None = Environment()
        self.made = Instruction("end", line=1)  # the one that is being lowered
        self.inputs: dict[tuple[int, int], Value] = {}
        self.arrays = _indexed_arrays(program)
        self.versions = 0  # counts writes to memory: what was read before one is read again

    def error(self, message: str, hint: str = "") -> SourceError:
        return SourceError(message, Span(self.filename, self.made.line, self.made.column), hint=hint)

    # -- operands ------------------------------------------------------------------------------------------------------

    def plain(self, operand: Use) -> Ref:
        """A read's value with its modifiers done."""
        return self.builder.made("MOV", [operand])

    def read(self, operand: Operand, letter: str, lane: int) -> Use:
        """Lane 0…3 of a source, as the type of that letter (see ``operations.txt``)."""
        swizzle = operand.lanes or "xyzw"
        picked = swizzle[lane]
        found = Use(
            ONE if picked == "1" else ZERO if picked == "0" else self.component(operand.register, "xyzw".index(picked))
        )
        for modifier in operand.modifiers:
            if modifier.name == "neg":
                chosen = modifier.arguments[0] if modifier.arguments else "xyzw"
                if "xyzw"[lane] in chosen:
                    found = (
                        Use(self.builder.alu("SUB_INT", ZERO, self.plain(found)))
                        if letter in _INTEGER
                        else negated(found)
                    )
            elif modifier.name == "abs":
                found = magnitude(found)
            else:
                found = self.modified(found, modifier.name)
        if (found.neg or found.abs) and letter not in "fF":
            found = Use(self.plain(found))
        return found

    def modified(self, found: Use, name: str) -> Use:
        builder = self.builder
        if name == "invert":
            return Use(builder.alu("ADD", ONE, negated(found)))
        if name == "bias":
            return Use(builder.alu("ADD", found, real(-0.5)))
        if name == "x2":
            return Use(builder.alu("MUL_IEEE", found, real(2.0)))
        if name == "bx2":
            return Use(builder.alu("MUL_IEEE", builder.alu("ADD", found, real(-0.5)), real(2.0)))
        if name in ("sat", "clamp"):
            return Use(builder.alu("MOV", found, clamp=True))
        if name == "sign":
            return Use(sign(builder, found))
        raise self.error(f"the source modifier _{name} is not supported")

    def component(self, register: Register, lane: int) -> Ref:
        """What a lane of a register holds."""
        kind, which = register.kind, register.number or 0
        assert self.environment is not None
        if kind in ("r", "o"):
            return self.environment.get((kind, which, lane))
        if kind == "l":
            return Const(self.facts.literals[which][lane])
        if kind == "cb":
            return constant(self, register, lane)
        if kind == "x":
            return array_read(self, register, lane)
        if kind == "g":
            return global_read(self, register, lane)
        if kind == "sr":
            return shared_read(self, register, lane)
        if kind in POSITION_KINDS:
            return self.input(0, lane) if lane < 2 else (ZERO, ONE)[lane - 2]
        if kind in THREAD_KINDS:
            return self.thread(THREAD_KINDS[kind], lane)
        if kind == "vObjIndex":
            return self.input(0, 2)
        raise self.error(f"reading {kind} is not supported")

    def input(self, gpr: int, chan: int) -> Value:
        """What the hardware put into a register before the program starts."""
        key = gpr, chan
        if key not in self.inputs:
            value = Value()
            value.fixed = key
            value.chan = chan
            value.position = self.program.kind == "ps" and chan < 2
            value.most = self.greatest(gpr, chan)
            self.inputs[key] = value
        return self.inputs[key]

    def greatest(self, gpr: int, chan: int) -> int:
        """The greatest number that the hardware puts into such a register."""
        if self.program.kind == "ps":
            return MOST_ROWS if chan < 2 else MOST_WORK_ITEMS
        group = self.facts.group
        items = group[0] * group[1] * group[2] if group is not None else 1
        if gpr or chan == (3 if self.target.traits.has_coordinates else 1):  # of the group
            return MOST_WORK_ITEMS // items
        if group is None:
            return MOST_GROUP - 1
        return group[chan] - 1 if self.target.traits.has_coordinates else items - 1

    def thread(self, which: str, lane: int) -> Ref:
        """The work-item's numbers; docs/vliw.md says in which registers they come."""
        builder = self.builder
        has_coordinates = self.target.traits.has_coordinates
        if which == "group_flat":
            return self.input(0, 3 if has_coordinates else 1)
        if which == "local_flat":
            if not has_coordinates:
                return self.input(0, 0)
            row = multiply_add(builder, self.input(0, 2), self.group_size(1), self.input(0, 1))
            return multiply_add(builder, row, self.group_size(0), self.input(0, 0))
        if which == "global_flat":
            group, local = self.thread("group_flat", 0), self.thread("local_flat", 0)
            plane = builder.alu("MULLO_INT", self.group_size(0), self.group_size(1))
            count = builder.alu("MULLO_INT", plane, self.group_size(2))
            return multiply_add(builder, group, count, local)
        if lane == 3:
            return ZERO
        if which == "local":
            if self.group_size(lane) == number(1):
                return ZERO
            return self.input(0, lane) if has_coordinates else self.local_of_flat(lane)
        group = self.input(1, lane) if has_coordinates else self.input(0, 1) if lane == 0 else ZERO
        if which == "group":
            return group
        return multiply_add(builder, group, self.group_size(lane), self.thread("local", lane))

    def group_size(self, lane: int) -> Ref:
        """A size of the work-group: declared, or of the launch, which then puts it into cb0[1]."""
        return number(self.facts.group[lane]) if self.facts.group is not None else Kcache(0, 1, lane)

    def local_of_flat(self, lane: int) -> Ref:
        """A coordinate of the work-item in its group, from its flat number (R700)."""
        builder = self.builder
        flat: Ref = self.input(0, 0)
        for below in range(lane):
            flat = divide.divide_unsigned(builder, flat, self.group_size(below))
        group = self.facts.group
        if group is not None and all(size == 1 for size in group[lane + 1 :]):
            return flat
        return divide.remainder_unsigned(builder, flat, self.group_size(lane))

    def arrays_before(self, which: int) -> int:
        """Where an indexed temporary begins among those that have indices, in elements."""
        return sum(self.facts.arrays[n] for n in self.arrays if n < which)

    def arrays_in_scratch(self) -> bool:
        """Whether the indexed temporaries are in scratch memory rather than registers."""
        total = sum(self.facts.arrays[n] for n in self.arrays)
        return total > ARRAY_GPRS or self.target.relative_addressing_bug

    # -- results -------------------------------------------------------------------------------------------------------

    def finish(self, made: Instruction, ref: Ref) -> Ref:
        """A float result with what the instruction does to it as it is written."""
        builder = self.builder
        omod = 0
        for modifier in made.modifiers:
            if modifier.name in _FACTORS:
                ref = builder.alu("MUL_IEEE", ref, real(_FACTORS[modifier.name]))
            omod = _SCALES.get(modifier.name, omod)
        clamp = made.modifier("sat") is not None
        return builder.alu("MOV", ref, clamp=clamp, omod=omod) if clamp or omod else ref

    def assign(self, made: Instruction, values: Callable[[int], Ref], *, to: Operand | None = None) -> None:
        """Write lanes of a destination, each as ``values`` gives it; all are computed before any is written."""
        target = to if to is not None else made.operands[0]
        register = target.register
        lanes = target.lanes or "xyzw"
        written: dict[int, Ref] = {}
        for lane, letter in enumerate(lanes):
            if letter == "_":
                continue
            written[lane] = ONE if letter == "1" else ZERO if letter == "0" else values(lane)
        assert self.environment is not None
        if register.kind in ("r", "o"):
            for lane, ref in written.items():
                self.environment[register.kind, register.number or 0, lane] = ref
        elif register.kind == "x":
            array_write(self, register, written)
        elif register.kind == "sr":
            shared_write(self, register, written)
        elif register.kind == "g":
            global_write(self, register, written)
        else:
            raise self.error(f"writing {register.kind} is not supported")


def _indexed_arrays(program: Program) -> set[int]:
    """The indexed temporaries that some register indexes; the others are as plain registers."""
    found: set[int] = set()
    for body in (program.body, *(f.body for f in program.functions)):
        for made in body:
            for operand in made.operands:
                register = operand.register
                index = register.index.register if register.index is not None else None
                if register.kind == "x" and index is not None and index.kind != "l":
                    found.add(register.number or 0)
    return found


# -- registers that are memory -----------------------------------------------------------------------------------------


def vertex_fetch(
    lowering: Lowering,
    resource: int,
    index: Ref,
    order: str = "",
    data_format: int = 0,
    *,
    bytewise: bool = False,
) -> list[Ref]:
    """Four dwords (or one element of a smaller format) of a buffer at an index.

    ``bytewise``: the index counts bytes, whatever elements the resource has.
    """
    b = lowering.builder
    key: tuple[object, ...] = ("vertex", resource, index, data_format, bytewise)
    if order:  # what was read before a write, or in another region, may have changed
        key = (*key, id(b.region), lowering.versions)
    results: list[Value | None] = [Value() for _ in range(1 if data_format else 4)]
    fields = {"buffer_id": resource, "offset": 0, "data_format": data_format}
    if bytewise:
        fields["const_buf_no_stride"] = 1
    op = Op("FETCH", [Use(b.register(index))], results, FETCH, fields=fields, order=order)
    made = b.fetch(key, op)
    return [value for value in made.results if value is not None]


def constant(lowering: Lowering, register: Register, lane: int) -> Ref:
    """A component of a constant buffer."""
    index, buffer = register.index, register.number or 0
    assert index is not None
    place = _index(lowering, index)
    if type(place) is Const and place.bits < lowering.target.constant_buffer_elements:
        return Kcache(buffer, place.bits, lane)
    return vertex_fetch(lowering, CONSTANTS + buffer, place)[lane]


def _index(lowering: Lowering, index: Index) -> Ref:
    if index.register is None:
        return number(index.offset)
    base = lowering.component(index.register, "xyzw".index(index.lane or "x"))
    return lowering.builder.alu("ADD_INT", base, number(index.offset))


def global_read(lowering: Lowering, register: Register, lane: int) -> Ref:
    """A component of the global buffer."""
    assert register.index is not None
    return vertex_fetch(lowering, GLOBAL_ELEMENTS, _index(lowering, register.index), "global")[lane]


def global_write(lowering: Lowering, register: Register, written: dict[int, Ref]) -> None:
    """Write components of an element of the global buffer."""
    assert register.index is not None
    at = _index(lowering, register.index)
    if lowering.target.traits.has_random_access_targets:
        store_raw(lowering, GLOBAL_RAT, lowering.builder.alu("LSHL_INT", at, number(2)), written)
    else:
        memory_export(lowering, at, written, 3)


def write_memory(lowering: Lowering, name: str, data: dict[int, Ref], index: list[Ref], fields: dict[str, int]) -> Op:
    """A write of components that stand in their own lanes; the index's are in x and y."""
    b = lowering.builder
    uses = [Use(b.register(data[k])) if k in data else Use(ZERO) for k in range(4)]
    uses += [Use(b.register(ref)) for ref in index]
    fields = {"comp_mask": sum(1 << k for k in data), **fields}
    lowering.versions += 1
    return b.add(Op(name, uses, [], MEMORY, fields=fields, order="global", effect=True))


def memory_export(lowering: Lowering, index: Ref, data: dict[int, Ref], elem_size: int) -> None:
    """A write at an index to the global buffer of chips that have no random access targets."""
    write_memory(lowering, "MEM_EXPORT", data, [index], {"type": WRITE_INDEXED, "elem_size": elem_size})


def store_raw(lowering: Lowering, rat: int, dword: Ref, data: dict[int, Ref]) -> None:
    """A write of dwords to a random access target, from the one that ``dword`` counts."""
    access_target(lowering, "STORE_RAW", rat, data, [dword], cacheless=True)


def access_target(
    lowering: Lowering, name: str, rat: int, data: dict[int, Ref], index: list[Ref], *, cacheless: bool = False
) -> Op:
    """An operation on a random access target; ``cacheless``: it goes past the caches."""
    row = table.named(lowering.target.generation, "RAT_INST", name)
    assert row is not None, f"{lowering.target.generation} has no {name}"
    opcode = row.opcodes[lowering.target.generation]
    fields = {"rat_id": rat, "rat_inst": opcode, "type": WRITE_INDEXED, "returns": int("returns" in row.flags)}
    if name == "STORE_TYPED":
        fields["elem_size"] = 3
    op = write_memory(lowering, "MEM_RAT", data, index, fields)
    op.fields = {**(op.fields or {}), "cacheless": int(cacheless)}
    return op


def _element(lowering: Lowering, register: Register) -> Ref:
    """An element's number within its array: beyond the end it is the last one."""
    assert register.index is not None
    size = lowering.facts.arrays[register.number or 0]
    return lowering.builder.alu("MIN_UINT", _index(lowering, register.index), number(size - 1))


def array_read(lowering: Lowering, register: Register, lane: int) -> Ref:
    """A component of an element of an indexed temporary."""
    which = register.number or 0
    element = _element(lowering, register)
    if which not in lowering.arrays:
        assert type(element) is Const
        assert lowering.environment is not None
        return lowering.environment.get(("x", (which, element.bits), lane))
    b = lowering.builder
    key = ("array", which, element, id(b.region), lowering.versions)
    base = lowering.arrays_before(which)
    if lowering.arrays_in_scratch():
        results: list[Value | None] = [Value() for _ in range(4)]
        op = scratch_read(lowering.target, Use(b.register(element)), base, results, "array")
        values = b.fetch(key, op).results
        found = values[lane]
        assert found is not None
        return found
    value = Value()
    op = Op("ARRAY_READ", [Use(element)], [value], fields={"base": base, "chan": lane}, order="array")
    return b.fetch((*key, lane), op).result


def array_write(lowering: Lowering, register: Register, written: dict[int, Ref]) -> None:
    """Write components of an element of an indexed temporary."""
    which = register.number or 0
    element = _element(lowering, register)
    if which not in lowering.arrays:
        assert type(element) is Const
        assert lowering.environment is not None
        for lane, ref in written.items():
            lowering.environment["x", (which, element.bits), lane] = ref
        return
    b = lowering.builder
    base = lowering.arrays_before(which)
    lowering.versions += 1
    if lowering.arrays_in_scratch():
        data = [Use(b.register(written[k])) if k in written else Use(ZERO) for k in range(4)]
        b.add(scratch_write(data, Use(b.register(element)), base, sum(1 << k for k in written), "array"))
        return
    for lane, ref in written.items():
        fields = {"base": base, "chan": lane}
        b.add(Op("ARRAY_WRITE", [Use(ref), Use(element)], [], fields=fields, order="array", effect=True))


def _shared_place(lowering: Lowering, register: Register) -> tuple[int, Ref]:
    """A shared register's number as a constant and what is added to it: beyond the last one is the last one."""
    last = lowering.facts.shared - 1
    if register.index is None:
        return register.number or 0, ZERO
    at = lowering.builder.alu("MIN_UINT", _index(lowering, register.index), number(last))
    return (at.bits, ZERO) if type(at) is Const else (0, at)


def shared_read(lowering: Lowering, register: Register, lane: int) -> Ref:
    """A component of a shared register."""
    base, index = _shared_place(lowering, register)
    value = Value()
    b = lowering.builder
    op = Op("SHARED_READ", [Use(index)], [value], fields={"base": base, "chan": lane, "shared": 1}, order="shared")
    return b.fetch(("shared", base, index, id(b.region), lowering.versions, lane), op).result


def shared_write(lowering: Lowering, register: Register, written: dict[int, Ref]) -> None:
    """Write components of a shared register."""
    base, index = _shared_place(lowering, register)
    lowering.versions += 1
    for lane, ref in written.items():
        fields = {"base": base, "chan": lane, "shared": 1}
        lowering.builder.add(Op("SHARED_WRITE", [Use(ref), Use(index)], [], fields=fields, order="shared", effect=True))

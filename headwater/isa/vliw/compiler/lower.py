"""The tree of an IL program's statements passes in; the machine's operations in static single assignment form pass out.

Here are control flow, registers and operands; `arithmetic` has what operations compute, `memory` what touches memory.
Every lane of a register is a variable. Where control joins, variables that differ become phis.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.errors import SourceError, Span
from headwater.il.checker import POSITION_KINDS, THREAD_KINDS, Facts
from headwater.il.model import Instruction, Operand, Program, Register
from headwater.il.table import UNTRANSLATED, WHY_UNTRANSLATED, operations
from headwater.isa.vliw.compiler import arithmetic, data_share, divide, memory, structure, vectors
from headwater.isa.vliw.compiler.build import ONE, ZERO, Builder, magnitude, negated, number, real
from headwater.isa.vliw.compiler.environment import Environment, Key
from headwater.isa.vliw.compiler.ir import Const, Exit, If, Kcache, Loop, Phi, Ref, Region, Use, Value
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import MOST_GROUP, MOST_ROWS, MOST_WORK_ITEMS

_INTEGER = frozenset("iuSU")
_SCALES = {"x2": 1, "x4": 2, "d2": 3}
"""OMOD (AMD, R600-Family ISA, ALU_WORD1_OP2)."""
_FACTORS = {"x8": 8.0, "d4": 0.25, "d8": 0.125}


class Lowering:
    """One program's way from IL to operations."""

    def __init__(self, program: Program, facts: Facts, target: Target, filename: str) -> None:
        self.program = program
        self.facts = facts
        self.target = target
        self.filename = filename
        self.builder = Builder(target)
        self.environment: Environment | None = Environment()
        self.loops: list[_OpenLoop] = []
        self.made = Instruction("end", line=1)  # the one that is being lowered
        self.inputs: dict[tuple[int, int], Value] = {}
        self.arrays = _indexed_arrays(program)
        self.versions = 0  # counts writes to memory: what was read before one is read again

    def error(self, message: str, hint: str = "") -> SourceError:
        return SourceError(message, Span(self.filename, self.made.line, self.made.column), hint=hint)

    def run(self) -> Region:
        """The whole program."""
        self.nodes(structure.build(self.program, self.filename))
        if self.environment is None:  # an endless loop: nothing is ever exported
            self.environment = Environment()
        memory.exports(self)
        return self.builder.region

    # -- statements ----------------------------------------------------------------------------------------------------

    def nodes(self, nodes: list[structure.Node]) -> None:
        for node in nodes:
            if self.environment is None:
                return
            if isinstance(node, Instruction):
                self.instruction(node)
            elif isinstance(node, structure.Branch):
                self.branch(node)
            elif isinstance(node, structure.Repeat):
                self.repeat(node)
            elif isinstance(node, structure.SetFlag):
                self.environment["flag", node.number, 0] = number(node.value)
            else:
                self.leave(node)

    def instruction(self, made: Instruction) -> None:
        self.made = made
        self.builder.line = made.line
        operation = operations()[made.mnemonic]
        if operation.meaning == UNTRANSLATED:
            raise self.error(f"{made.mnemonic} is not supported", WHY_UNTRANSLATED[made.mnemonic])
        if memory.lower(self, made) or data_share.lower(self, made) or vectors.lower(self, made):
            return
        if not operation.has_result or not made.operands:
            raise self.error(f"{made.mnemonic} is not supported")
        arithmetic.lower(self, made, operation)

    def branch(self, node: structure.Branch) -> None:
        condition, nonzero = self.condition(node.condition)
        then_nodes, other_nodes = (node.then, node.other) if nonzero else (node.other, node.then)
        if type(condition) is Const:
            self.nodes(then_nodes if condition.bits else other_nodes)
            return
        item = If(Use(condition), line=self.builder.line)
        environment = self.environment
        assert environment is not None
        ends: list[dict[Key, Ref] | None] = []  # what each side has assigned; None if control does not come out of it
        for nodes, region in ((then_nodes, item.then), (other_nodes, item.other)):
            outside = self.builder.enter(region)
            mark = environment.begin()
            self.environment = environment
            self.nodes(nodes)
            assigned = environment.undo(mark)
            ends.append(None if self.environment is None else assigned)
            self.builder.leave(outside)
        self.builder.region.append(item)
        first, second = ends
        if first is None or second is None:
            found = first if second is None else second
            self.environment = None if found is None else environment
            for key, ref in (found or {}).items():
                environment[key] = ref
            return
        self.environment = environment
        for key in environment.in_order((*first, *second)):
            one = first[key] if key in first else environment.get(key)
            two = second[key] if key in second else environment.get(key)
            if one is two or (type(one) is not Value and one == two):
                environment[key] = one
            else:
                value = Value()
                item.phis.append(Phi(value, [Use(one), Use(two)]))
                environment[key] = value

    def repeat(self, node: structure.Repeat) -> None:
        environment = self.environment
        assert environment is not None
        item = Loop()
        opened = _OpenLoop(item, [])
        for kind, which in sorted(structure.written([node])):
            for key in self.keys(kind, which):
                value = Value()
                item.phis.append(Phi(value, [Use(environment.get(key))]))
                environment[key] = value
                opened.keys.append(key)
        self.loops.append(opened)
        outside = self.builder.enter(item.body)
        self.nodes(node.body)
        if self.environment is not None:
            self.exit(opened, Exit(item, False))
        self.builder.leave(outside)
        self.loops.pop()
        self.builder.region.append(item)
        if not opened.breaks:
            self.environment = None
            return
        self.environment = environment
        for k, key in enumerate(opened.keys):
            refs = [values[k] for values in opened.breaks]
            if all(ref is refs[0] or ref == refs[0] for ref in refs):
                environment[key] = refs[0]
                continue
            value = Value()
            item.exit_phis.append(Phi(value, [Use(ref) for ref in refs]))
            environment[key] = value

    def keys(self, kind: str, which: int) -> list[Key]:
        """The variables of a register."""
        if kind == "flag":
            return [(kind, which, 0)]
        if kind in ("r", "o"):
            return [(kind, which, lane) for lane in range(4)]
        if kind == "x" and which not in self.arrays:
            size = self.facts.arrays[which]
            return [("x", (which, element), lane) for element in range(size) for lane in range(4)]
        return []

    def leave(self, node: structure.Leave) -> None:
        opened = self.loops[-1]
        item = Exit(opened.loop, node.kind == "break", line=self.builder.line)
        if node.condition is not None:
            condition, nonzero = self.condition(node.condition)
            if type(condition) is Const:
                if (condition.bits != 0) != nonzero:
                    return
            else:
                item.condition, item.when = Use(condition), nonzero
        self.exit(opened, item)
        if item.condition is None:
            self.environment = None

    def exit(self, opened: _OpenLoop, item: Exit) -> None:
        """Leave or repeat a loop from here: its phis learn the variables' values."""
        assert self.environment is not None
        self.builder.region.append(item)
        values = [self.environment.get(key) for key in opened.keys]
        if item.is_break:
            opened.loop.breaks.append(item)
            opened.breaks.append(values)
            return
        opened.loop.continues.append(item)
        for phi, ref in zip(opened.loop.phis, values, strict=True):
            phi.uses.append(Use(ref))

    def condition(self, condition: structure.Condition) -> tuple[Ref, bool]:
        """A value, and whether the condition holds where its bits are not 0 (else where they are)."""
        if isinstance(condition, structure.Flag):
            assert self.environment is not None
            return self.environment.get(("flag", condition.number, 0)), condition.when
        builder = self.builder
        if isinstance(condition, structure.Cases):
            self.made = condition.made
            value = self.read(condition.operand, "S", 0)
            met: Ref = ZERO
            for case in condition.values:
                met = builder.alu("OR_INT", met, builder.alu("SETE_INT", value, number(case)))
            return met, condition.when
        self.made = made = condition
        builder.line = made.line
        name = made.mnemonic
        if name.endswith(("_logicalnz", "_logicalz")):
            return self.plain(self.read(made.operands[0], "U", 0)), name.endswith("nz")
        a = self.read(made.operands[0], "F", 0)
        if name == "ifnz":
            return builder.alu("SETNE_DX10", a, ZERO), True
        return arithmetic.compare(builder, arithmetic.relation(made), a, self.read(made.operands[1], "F", 0)), True

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
            return Use(arithmetic.sign(builder, found))
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
            return memory.constant(self, register, lane)
        if kind == "x":
            return memory.array_read(self, register, lane)
        if kind == "g":
            return memory.global_read(self, register, lane)
        if kind == "sr":
            return memory.shared_read(self, register, lane)
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
            row = arithmetic.multiply_add(builder, self.input(0, 2), self.group_size(1), self.input(0, 1))
            return arithmetic.multiply_add(builder, row, self.group_size(0), self.input(0, 0))
        if which == "global_flat":
            group, local = self.thread("group_flat", 0), self.thread("local_flat", 0)
            plane = builder.alu("MULLO_INT", self.group_size(0), self.group_size(1))
            count = builder.alu("MULLO_INT", plane, self.group_size(2))
            return arithmetic.multiply_add(builder, group, count, local)
        if lane == 3:
            return ZERO
        if which == "local":
            if self.group_size(lane) == number(1):
                return ZERO
            return self.input(0, lane) if has_coordinates else self.local_of_flat(lane)
        group = self.input(1, lane) if has_coordinates else self.input(0, 1) if lane == 0 else ZERO
        if which == "group":
            return group
        return arithmetic.multiply_add(builder, group, self.group_size(lane), self.thread("local", lane))

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
        return total > memory.ARRAY_GPRS or self.target.relative_addressing_bug

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
            memory.array_write(self, register, written)
        elif register.kind == "sr":
            memory.shared_write(self, register, written)
        elif register.kind == "g":
            memory.global_write(self, register, written)
        else:
            raise self.error(f"writing {register.kind} is not supported")


class _OpenLoop:
    """A loop whose body is being lowered: its variables, and what they are at each break."""

    def __init__(self, loop: Loop, keys: list[Key]) -> None:
        self.loop = loop
        self.keys = keys
        self.breaks: list[list[Ref]] = []


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

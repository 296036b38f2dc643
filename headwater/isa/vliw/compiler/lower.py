"""Input: the tree of an IL program's statements. Output: the machine's operations in static single assignment form.

Here is control flow: where it joins, variables that differ become phis. `operands` has what instructions read and
write, `arithmetic` what operations compute, `memory` what touches memory.
"""

from __future__ import annotations

from headwater.il.model import Instruction
from headwater.il.table import UNTRANSLATED, WHY_UNTRANSLATED, operations
from headwater.isa.vliw.compiler import arithmetic, data_share, memory, scopes, structure, vectors
from headwater.isa.vliw.compiler.build import ZERO, number
from headwater.isa.vliw.compiler.environment import Environment, Key
from headwater.isa.vliw.compiler.ir import Const, Exit, If, Loop, Phi, Ref, Region, Use, Value
from headwater.isa.vliw.compiler.operands import Lowering


class Statements:
    """The statements of a program that is being lowered."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.loops: list[_OpenLoop] = []

    def run(self) -> Region:
        """The whole program."""
        lowering = self.lowering
        nodes = structure.build(lowering.program, lowering.filename)
        scopes.mark(nodes)
        self.nodes(nodes)
        if lowering.environment is None:  # an endless loop: nothing is ever exported
            lowering.environment = Environment()
        memory.exports(lowering)
        return lowering.builder.region

    def nodes(self, nodes: list[structure.Node]) -> None:
        for node in nodes:
            if self.lowering.environment is None:
                return
            if isinstance(node, Instruction):
                self.instruction(node)
            elif isinstance(node, structure.Branch):
                self.branch(node)
            elif isinstance(node, structure.Repeat):
                self.repeat(node)
            elif isinstance(node, structure.SetFlag):
                self.lowering.environment["flag", node.number, 0] = number(node.value)
            else:
                self.leave(node)

    def instruction(self, made: Instruction) -> None:
        self.lowering.made = made
        self.lowering.builder.line = made.line
        operation = operations()[made.mnemonic]
        if operation.meaning == UNTRANSLATED:
            raise self.lowering.error(f"{made.mnemonic} is not supported", WHY_UNTRANSLATED[made.mnemonic])
        if (
            memory.lower(self.lowering, made)
            or data_share.lower(self.lowering, made)
            or vectors.lower(self.lowering, made)
        ):
            return
        if not operation.has_result or not made.operands:
            raise self.lowering.error(f"{made.mnemonic} is not supported")
        arithmetic.lower(self.lowering, made, operation)

    def branch(self, node: structure.Branch) -> None:
        condition, nonzero = self.condition(node.condition)
        then_nodes, other_nodes = (node.then, node.other) if nonzero else (node.other, node.then)
        if type(condition) is Const:
            self.nodes(then_nodes if condition.bits else other_nodes)
            return
        item = If(Use(condition), line=self.lowering.builder.line)
        environment = self.lowering.environment
        assert environment is not None
        ends: list[dict[Key, Ref] | None] = []  # what each side has assigned; None if control does not come out of it
        for nodes, region in ((then_nodes, item.then), (other_nodes, item.other)):
            outside = self.lowering.builder.enter(region)
            mark = environment.begin()
            self.lowering.environment = environment
            self.nodes(nodes)
            assigned = environment.undo(mark)
            merged = {key: ref for key, ref in assigned.items() if key in node.assigned or key[0] == "x"}
            ends.append(None if self.lowering.environment is None else merged)
            self.lowering.builder.leave(outside)
        self.lowering.builder.region.append(item)
        first, second = ends
        if first is None or second is None:
            found = first if second is None else second
            self.lowering.environment = None if found is None else environment
            for key, ref in (found or {}).items():
                environment[key] = ref
            return
        self.lowering.environment = environment
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
        environment = self.lowering.environment
        assert environment is not None
        item = Loop()
        opened = _OpenLoop(item, [])
        for assigned in sorted(node.assigned):
            for key in self.keys(assigned):
                value = Value()
                item.phis.append(Phi(value, [Use(environment.get(key))]))
                environment[key] = value
                opened.keys.append(key)
        self.loops.append(opened)
        outside = self.lowering.builder.enter(item.body)
        self.nodes(node.body)
        if self.lowering.environment is not None:
            self.exit(opened, Exit(item, False))
        self.lowering.builder.leave(outside)
        self.loops.pop()
        self.lowering.builder.region.append(item)
        if not opened.breaks:
            self.lowering.environment = None
            return
        self.lowering.environment = environment
        for k, key in enumerate(opened.keys):
            refs = [values[k] for values in opened.breaks]
            if all(ref is refs[0] or ref == refs[0] for ref in refs):
                environment[key] = refs[0]
                continue
            value = Value()
            item.exit_phis.append(Phi(value, [Use(ref) for ref in refs]))
            environment[key] = value

    def keys(self, assigned: Key) -> list[Key]:
        """A variable; each of an indexed temporary."""
        kind, which, lane = assigned
        if lane != scopes.WHOLE:
            return [assigned]
        if which in self.lowering.arrays:
            return []
        assert isinstance(which, int)
        size = self.lowering.facts.arrays[which]
        return [(kind, (which, element), lane) for element in range(size) for lane in range(4)]

    def leave(self, node: structure.Leave) -> None:
        opened = self.loops[-1]
        item = Exit(opened.loop, node.kind == "break", line=self.lowering.builder.line)
        if node.condition is not None:
            condition, nonzero = self.condition(node.condition)
            if type(condition) is Const:
                if (condition.bits != 0) != nonzero:
                    return
            else:
                item.condition, item.when = Use(condition), nonzero
        self.exit(opened, item)
        if item.condition is None:
            self.lowering.environment = None

    def exit(self, opened: _OpenLoop, item: Exit) -> None:
        """Leave or repeat a loop from here: its phis learn the variables' values."""
        assert self.lowering.environment is not None
        self.lowering.builder.region.append(item)
        values = [self.lowering.environment.get(key) for key in opened.keys]
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
            assert self.lowering.environment is not None
            return self.lowering.environment.get(("flag", condition.number, 0)), condition.when
        builder = self.lowering.builder
        if isinstance(condition, structure.Cases):
            self.lowering.made = condition.made
            value = self.lowering.read(condition.operand, "S", 0)
            met: Ref = ZERO
            for case in condition.values:
                met = builder.alu("OR_INT", met, builder.alu("SETE_INT", value, number(case)))
            return met, condition.when
        self.lowering.made = made = condition
        builder.line = made.line
        name = made.mnemonic
        if name.endswith(("_logicalnz", "_logicalz")):
            return self.lowering.plain(self.lowering.read(made.operands[0], "U", 0)), name.endswith("nz")
        a = self.lowering.read(made.operands[0], "F", 0)
        if name == "ifnz":
            return builder.alu("SETNE_DX10", a, ZERO), True
        return arithmetic.compare(
            builder, arithmetic.relation(made), a, self.lowering.read(made.operands[1], "F", 0)
        ), True


class _OpenLoop:
    """A loop whose body is being lowered: its variables, and what they are at each break."""

    def __init__(self, loop: Loop, keys: list[Key]) -> None:
        self.loop = loop
        self.keys = keys
        self.breaks: list[list[Ref]] = []

"""Input: a program's tree of statements. Output: the variables for which each loop and each branch needs phis.

A phi is needed where a variable may be read later than the loop or the branch has assigned it. A variable whose first
mention in the text is an assignment by a statement of the innermost block around all its mentions is dead outside of
that block. Without this, each of n nested loops would have phis for the counters of all loops inside it.
"""

from __future__ import annotations

from headwater.il.model import Instruction, Operand
from headwater.il.table import operations
from headwater.isa.vliw.compiler.environment import Key
from headwater.isa.vliw.compiler.structure import Branch, Cases, Condition, Flag, Node, Repeat, SetFlag

WHOLE = -1
"""In place of a lane: all of an indexed temporary."""
_ROWS = {"transpose": 4, "det": 4}
"""Registers from the one that an operand names that some operations read or write."""
_OUTSIDE = -1


def mark(nodes: list[Node]) -> None:
    """Fill in ``assigned`` of all loops and branches."""
    _Scopes().mark(nodes)


class _Scopes:
    """Blocks and constructs (loops, branches) count from 0 in the order of the text, once for each inlined copy."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int]] = []  # of each block: the one around it, how many are around it
        self.open: list[int] = []  # the blocks around what is being looked at, the outermost first
        self.constructs: list[tuple[int, int, Branch | Repeat]] = []  # around it; its blocks' depth
        self.home: dict[Key, int] = {}  # the innermost block around all mentions
        self.first: dict[Key, int] = {}  # the block of the assignment that is the first mention
        self.assignments: dict[tuple[Key, int], None] = {}  # with the innermost construct

    def mark(self, nodes: list[Node]) -> None:
        self.block(nodes, _OUTSIDE)
        found: list[set[Key]] = [set() for _ in self.constructs]
        for key, inside in self.assignments:
            home = self.home[key]
            depth = self.blocks[home][1] if self.first.get(key) == home else 0
            at = inside
            while at != _OUTSIDE and self.constructs[at][1] > depth and key not in found[at]:
                found[at].add(key)
                at = self.constructs[at][0]
        for (_, _, node), keys in zip(self.constructs, found, strict=True):
            node.assigned |= keys

    def block(self, nodes: list[Node], construct: int) -> None:
        around = self.open[-1] if self.open else _OUTSIDE
        depth = len(self.open)
        self.open.append(len(self.blocks))
        self.blocks.append((around, depth))
        for node in nodes:
            if isinstance(node, Instruction):
                self.instruction(node, construct)
            elif isinstance(node, SetFlag):
                self.assign(("flag", node.number, 0), construct)
            elif isinstance(node, Branch | Repeat):
                if isinstance(node, Branch):
                    self.condition(node.condition)
                inside = len(self.constructs)
                self.constructs.append((construct, depth + 1, node))
                for inner in (node.then, node.other) if isinstance(node, Branch) else (node.body,):
                    self.block(inner, inside)
            elif node.condition is not None:
                self.condition(node.condition)
        self.open.pop()

    def instruction(self, made: Instruction, construct: int) -> None:
        has_result = operations()[made.mnemonic].has_result and bool(made.operands)
        rows = _ROWS.get(made.mnemonic, 1)
        for operand in made.operands[has_result:]:
            self.read(operand, rows)
        if made.mnemonic.startswith(("discard", "kill")):  # what the program's end reads
            self.mention(("flag", 0, 0))
            self.assign(("flag", 0, 0), construct)
        if not has_result:
            return
        target = made.operands[0]
        register, which = target.register, target.register.number or 0
        if register.index is not None and register.index.register is not None:
            self.read(Operand(register.index.register), 1)
        if register.kind == "x":
            self.mention(("x", which, WHOLE))  # it keeps what it is not assigned
            self.assign(("x", which, WHOLE), construct)
        elif register.kind in ("r", "o"):
            lanes = "xyzw" if rows > 1 else target.lanes or "xyzw"
            for row in range(rows if made.mnemonic == "transpose" else 1):
                for lane, letter in enumerate(lanes):
                    if letter != "_":
                        key = (register.kind, which + row, lane)
                        if register.kind == "o":  # the program's end reads them
                            self.mention(key)
                        self.assign(key, construct)

    def condition(self, condition: Condition) -> None:
        if isinstance(condition, Flag):
            self.mention(("flag", condition.number, 0))
        elif isinstance(condition, Cases):
            self.read(condition.operand, 1)
        else:
            for operand in condition.operands:
                self.read(operand, 1)

    def read(self, operand: Operand, rows: int) -> None:
        """Of any of its lanes."""
        register, which = operand.register, operand.register.number or 0
        if register.index is not None and register.index.register is not None:
            self.read(Operand(register.index.register), 1)
        if register.kind == "x":
            self.mention(("x", which, WHOLE))
        elif register.kind in ("r", "o"):
            for row in range(rows):
                for lane in range(4):
                    self.mention((register.kind, which + row, lane))

    def assign(self, key: Key, construct: int) -> None:
        if key not in self.home:
            self.first[key] = self.open[-1]
        self.mention(key)
        if construct != _OUTSIDE:
            self.assignments[key, construct] = None

    def mention(self, key: Key) -> None:
        """The key's home becomes the innermost block around it and this place."""
        home = self.home.get(key)
        if home is None:
            self.home[key] = self.open[-1]
            return
        around, depth = self.blocks[home]
        while depth >= len(self.open) or self.open[depth] != home:
            home = around
            around, depth = self.blocks[home]
        self.home[key] = home

"""Input: lines of LLVM IR. Output: a function's text: blocks, slots for values that cross blocks, and what is live
where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.llvm import builder
from headwater.llvm.types import Type


@dataclass(slots=True, eq=False)
class Out(builder.Block):
    """A block being written; ``reads`` are the slots read before being written in it, ``writes`` those written."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)


class Writer(builder.Builder[Out]):
    """Writes one function. Values that cross blocks live in slots (allocas that LLVM turns back into SSA)."""

    quote = '"'

    def __init__(self) -> None:
        super().__init__(Out)
        self.blocks.clear()  # the vectoriser writes what comes first when it knows the slots
        self.slots: dict[str, Type] = {}
        self.notes: dict[str, str] = {}
        """What to append to the terminators of blocks that go to a label (loop metadata)."""

    let = builder.Builder.emit
    fresh_label = builder.Builder.label

    @property
    def out(self) -> Out:
        """The block that is being written."""
        return self.block

    @property
    def declares(self) -> dict[str, str]:
        """What the module has to declare."""
        return self.declarations

    def jump(self, label: str) -> None:
        self.line(f'br label %"{label}"{self.notes.get(label, "")}')
        self.block.targets.append(label)

    def branch(self, condition: str, yes: str, no: str) -> None:
        if yes == no:
            self.jump(yes)
            return
        note = self.notes.get(yes) or self.notes.get(no, "")
        self.line(f'br i1 {condition}, label %"{yes}", label %"{no}"{note}')
        self.block.targets += [yes, no]

    def declare(self, name: str, text: str = "") -> None:
        super().declare(text or name)

    def load_slot(self, slot: str, ty: Type) -> str:
        self.slots.setdefault(slot, ty)
        if slot not in self.block.writes:
            self.block.reads.add(slot)
        return self.emit(f'load {ty}, ptr %"{slot}"')

    def store_slot(self, slot: str, ty: Type, text: str) -> None:
        self.slots.setdefault(slot, ty)
        self.block.writes.add(slot)
        self.line(f'store {ty} {text}, ptr %"{slot}"')

    def live_in(self) -> dict[str, set[str]]:
        """The slots that are live at the start of each block."""
        return self.read_before({})

    def read_before(self, ends: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """The slots that are read behind the start of each block before they are written. What is behind a block of
        ``ends`` does not count, and such a block reads the slots that are named there."""
        found: dict[str, set[str]] = {b.label: set(ends.get(b.label, b.reads)) for b in self.blocks}
        followed = [b for b in reversed(self.blocks) if b.label not in ends]
        changed = True
        while changed:
            changed = False
            for block in followed:
                into = found[block.label]
                before = len(into)
                for target in block.targets:
                    into |= found[target] - block.writes
                changed |= len(into) != before
        return found

"""Lines of LLVM IR in, a function's text out: blocks, slots for values that cross blocks, and what is live where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headwater.llvm.types import Type


@dataclass(slots=True, eq=False)
class Out:
    """A block being written; ``reads`` are the slots read before being written in it, ``writes`` those written."""

    label: str
    lines: list[str] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)


class Writer:
    """Writes one function. Values that cross blocks live in slots (allocas that LLVM turns back into SSA)."""

    def __init__(self) -> None:
        self.blocks: list[Out] = []
        self.out = Out("")
        self.slots: dict[str, Type] = {}
        self.declares: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        """What to append to the terminators of blocks that go to a label (loop metadata)."""
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def fresh_label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def start(self, label: str) -> Out:
        self.out = Out(label)
        self.blocks.append(self.out)
        return self.out

    def line(self, text: str) -> None:
        self.out.lines.append("  " + text)

    def let(self, text: str) -> str:
        """Write ``%new = text`` and return ``%new``."""
        name = self.fresh()
        self.out.lines.append(f"  {name} = {text}")
        return name

    def jump(self, label: str) -> None:
        self.line(f'br label %"{label}"{self.notes.get(label, "")}')
        self.out.targets.append(label)

    def branch(self, condition: str, yes: str, no: str) -> None:
        if yes == no:
            self.jump(yes)
            return
        note = self.notes.get(yes) or self.notes.get(no, "")
        self.line(f'br i1 {condition}, label %"{yes}", label %"{no}"{note}')
        self.out.targets += [yes, no]

    def declare(self, name: str, text: str) -> None:
        self.declares.setdefault(name, text)

    def load_slot(self, slot: str, ty: Type) -> str:
        self.slots.setdefault(slot, ty)
        if slot not in self.out.writes:
            self.out.reads.add(slot)
        return self.let(f'load {ty}, ptr %"{slot}"')

    def store_slot(self, slot: str, ty: Type, text: str) -> None:
        self.slots.setdefault(slot, ty)
        self.out.writes.add(slot)
        self.line(f'store {ty} {text}, ptr %"{slot}"')

    @contextmanager
    def when(self, condition: str, hint: str) -> Iterator[None]:
        """Write what follows so that it runs only if ``condition`` holds."""
        then, after = self.fresh_label(hint), self.fresh_label(hint + ".end")
        self.branch(condition, then, after)
        self.start(then)
        yield
        self.jump(after)
        self.start(after)

    def live_in(self) -> dict[str, set[str]]:
        """The slots that are live at the start of each block."""
        live: dict[str, set[str]] = {b.label: set(b.reads) for b in self.blocks}
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                into = live[block.label]
                before = len(into)
                for target in block.targets:
                    into |= live[target] - block.writes
                changed |= len(into) != before
        return live

    def text(self) -> str:
        out = []
        for block in self.blocks:
            out.append(f'"{block.label}":')
            out.extend(block.lines)
        return "\n".join(out)

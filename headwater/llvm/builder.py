"""Input: instructions one by one. Output: the text of blocks and functions of LLVM IR.

All code of ours that makes functions writes them through this: the vectoriser, the emulators' translators, the device
library's synthesis and the passes that put checks into a program. What they know beyond the text (lanes and types,
slots, liveness) is in classes of their own that derive from `Builder`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Generic, TypeVar

_CALLEE = re.compile(r"@([\w.$]+)\(")


@dataclass(slots=True, eq=False)
class Block:
    """A basic block that is being written."""

    label: str
    lines: list[str] = field(default_factory=list)


B = TypeVar("B", bound=Block)


class Builder(Generic[B]):
    """Writes the body of one function, block by block, and collects what the module has to declare.

    ``block_type`` makes the blocks; ``hint`` begins the names of results, which are counted from ``first`` on.
    """

    quote: ClassVar[str] = ""
    """Quotation marks, where labels come from a program and may have any characters."""

    def __init__(self, block_type: type[B], *, entry: str = "entry", hint: str = "t", first: int = 1) -> None:
        self._block_type = block_type
        self._hint = hint
        self._count = first - 1
        self.block = block_type(entry)
        self.blocks: list[B] = [self.block]
        self.declarations: dict[str, str] = {}

    def fresh(self, hint: str = "") -> str:
        """A name nobody has (with its %)."""
        self._count += 1
        return f"%{hint or self._hint}{self._count}"

    def label(self, hint: str) -> str:
        """A label nobody has (without %)."""
        self._count += 1
        return f"{hint}.{self._count}"

    def start(self, label: str) -> B:
        """Begin a block; the one before must have been ended."""
        self.block = self._block_type(label)
        self.blocks.append(self.block)
        return self.block

    def emit(self, text: str) -> str:
        """Write ``%new = text``, return ``%new``."""
        self._count += 1
        name = f"%{self._hint}{self._count}"
        self.block.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Write an instruction without a result, or one that has its name."""
        self.block.lines.append(f"  {text}")

    def jump(self, label: str) -> None:
        """Go to a block."""
        self.line(f"br label %{self.quote}{label}{self.quote}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Go to one of two blocks by an ``i1``."""
        quote = self.quote
        self.line(f"br i1 {condition}, label %{quote}{yes}{quote}, label %{quote}{no}{quote}")

    @contextmanager
    def when(self, condition: str, hint: str) -> Iterator[None]:
        """Write what follows so that it runs only if ``condition`` holds."""
        then, after = self.label(hint), self.label(hint + ".end")
        self.branch(condition, then, after)
        self.start(then)
        yield
        self.jump(after)
        self.start(after)

    def declare(self, declaration: str) -> None:
        """Make sure the module has this ``declare`` line (or definition, or global), named by its first ``@name(``."""
        match = _CALLEE.search(declaration)
        self.declarations.setdefault(match[1] if match else declaration, declaration)

    @property
    def lines(self) -> list[str]:
        """The lines of the block that is being written."""
        return self.block.lines

    def text(self) -> str:
        """The blocks written so far."""
        quote = self.quote
        return "\n".join(line for block in self.blocks for line in (f"{quote}{block.label}{quote}:", *block.lines))

    def function(self, head: str) -> str:
        """The function that these blocks are the body of; ``head``: ``define i32 @f(…)`` and its attributes."""
        return f"{head} {{\n{self.text()}\n}}"

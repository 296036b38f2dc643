"""What may watch a translated kernel: an `Observer` is asked at its events and writes LLVM code into the translation.

An observer's code may call functions of its own library (declare them with ``t.b.declare``), read ``hooks`` of the
wavefront's structure (addresses that the launcher puts into the dispatch structure) and any register through
``t.regs``. It must not change registers. Vector code is put off: what an observer wants of a part's lanes it writes
in ``t.later``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from headwater.emulate.memory import Address
    from headwater.emulate.program import BasicBlock
    from headwater.emulate.registers import Mask
    from headwater.emulate.translate import Translator
    from headwater.isa.gcn.model import Instruction
    from headwater.runtime.simulated_launch import SimulatedLaunch, SimulatedTask


class Observer(Protocol):
    """Writes code that watches."""

    name: str
    """Part of the key under which the code is cached."""
    takes_values: bool
    """Whether it looks at memory before it is stored to: all parts of a store are then told before the first is
    written, unless the instruction may go two ways."""

    def objects(self) -> list[bytes]:
        """Object code of the functions that it calls, to be linked to the kernel's: see `native.compile_c`."""
        ...

    def facts(self) -> Any:
        """What is kept with the code of what was written, as a JSON value."""
        ...

    def block(self, t: Translator, block: BasicBlock) -> None:
        """A basic block begins."""
        ...

    def after(self, t: Translator, block: BasicBlock, at: int) -> None:
        """The block's instruction number ``at`` has been translated; if it is a vector one, perhaps only put off."""
        ...

    def access(
        self,
        t: Translator,
        instruction: Instruction,
        part: int,
        at: Address,
        nbytes: int,
        writes: bool,
        lanes: Mask,
        values: Sequence[str] = (),
        ahead: bool = False,
    ) -> None:
        """A part's lanes are about to access memory, ``nbytes`` each. Called when the part is written. ``values``: the
        dwords that a store stores; ``ahead``: all parts are told before one is stored."""
        ...

    def scalar_access(self, t: Translator, instruction: Instruction, address: str, nbytes: int, writes: bool) -> None:
        """The wavefront is about to access memory with one address (``i64``)."""
        ...

    def barrier(self, t: Translator, instruction: Instruction) -> None:
        """The wavefront is at a barrier."""
        ...


class Watcher(Protocol):
    """The launcher's side of an observer: gives its code memory, and takes what it found."""

    @property
    def observer(self) -> Observer:
        """What writes the code that tells this watcher."""
        ...

    def hooks(self, launch: SimulatedLaunch) -> list[int]:
        """What the wavefronts' ``hooks`` hold when a thread begins; the launch's sizes are fixed by now."""
        ...

    def begin(self, launch: SimulatedLaunch, task: SimulatedTask) -> None:
        """A launch is about to start: its table of allocations is made."""
        ...

    def end(self, launch: SimulatedLaunch, task: SimulatedTask) -> None:
        """All wavefronts of a launch have ended, or one has a fault."""
        ...


_watching: ContextVar[Callable[[], Watcher] | None] = ContextVar("headwater_watching", default=None)


@contextmanager
def watching(make: Callable[[], Watcher]) -> Iterator[None]:
    """Launches on simulated devices inside are watched, each by a watcher of its own that ``make`` gives."""
    token = _watching.set(make)
    try:
        yield
    finally:
        _watching.reset(token)


def is_watched() -> bool:
    """Whether launches are watched here."""
    return _watching.get() is not None


def wanted() -> Watcher | None:
    """A watcher for the launch that is being prepared, if there is to be one."""
    make = _watching.get()
    return None if make is None else make()

"""What may watch a translated kernel: an `Observer` gets its events and writes LLVM code into the translation.

An observer's code may call functions of its own library (declare them with ``b.declare``) and read ``hooks`` of the
wavefront's structure ``%w`` (addresses that the launcher puts into the dispatch structure). It must not change
registers. It knows neither family: `headwater.emulate.gcn.watch` and `headwater.emulate.vliw.watch` report theirs
in the terms of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from headwater.emulate.wave.builder import WaveBuilder
    from headwater.emulate.wave.launched import SimulatedTask
    from headwater.emulate.wave.memory import Address
    from headwater.emulate.wave.registers import Mask


@dataclass(frozen=True, slots=True)
class AccessOrigin:
    """What accesses memory: ``address`` of the instruction in the code; ``member``: the address by which its segment
    has it, if that is another; ``function``: the one that is written, where names of values are its own.

    ``operation``: what an atomic instruction makes of memory, as `headwater.isa.semantics.model.Semantics.update` names
    it; ``volatile``: a load that goes past the caches. VLIW only: ``unit``, what makes the access, and the ``resource``
    that it is to (docs/trace.md).
    """

    address: int
    member: int
    atomic: bool
    operation: str = ""
    volatile: bool = False
    unit: str = ""
    resource: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """An access that the lanes of a part are about to make, ``nbytes`` each.

    ``values``: the dwords that a store stores, or an atomic function's operands: of cmpxchg the new value and that
    which it compares with, of mskor the bits and the mask. ``ahead``: all parts are reported before one is stored.
    ``conditional``: how often it is reported, or in which of several ways, does not follow from the segments that are
    run.
    """

    part: int
    at: Address
    nbytes: int
    lanes: Mask
    writes: bool = False
    values: Sequence[str] = ()
    ahead: bool = False
    conditional: bool = False


class Observer(Protocol):
    """Writes code that watches."""

    name: str
    """Part of the key under which the code is cached."""
    takes_values: bool
    """Whether it looks at memory before it is stored to: all parts of a store are then reported before the
    first is written, unless the instruction may go two ways."""
    takes_tiles: bool
    """Whether it gets addresses of elements of resources with rows as a chip lays them out, in tiles; else as they
    are laid out here."""
    takes_pointers: bool
    """Whether `pointers` is to be asked, where the family knows."""
    takes_segments: bool
    """Whether it makes anything of how many lanes segments run with."""

    def objects(self) -> list[bytes]:
        """Object code of the functions that it calls, to be linked to the kernel's: see `native.compile_c`."""
        ...

    def facts(self) -> Any:
        """What is kept with the code of what was written, as a JSON value."""
        ...

    def pointers(self, written: frozenset[int], still: frozenset[int]) -> None:
        """Before anything else: the numbers of the arguments through which the kernel may write, and the addresses of
        the loads that read through others."""
        ...

    def begin(self, b: WaveBuilder) -> None:
        """A wavefront begins."""
        ...

    def open_segment(self, block: int, addresses: Sequence[int], active: str, *, first: bool = True) -> None:
        """A segment: its instructions' ``addresses``, which run one after the other with ``active`` lanes, an ``i32``,
        in the basic block at ``block``. Unless it is its block's ``first``, they are the last of the segment before,
        which loses them."""
        ...

    def on_segments(self, b: WaveBuilder, *, repeats: bool = True, loops: bool = True) -> None:
        """The segments that were opened run now, one behind the other.

        ``repeats``: they may be those that ran last; ``loops``: the way back of a loop may lead here.
        """
        ...

    def on_access(self, b: WaveBuilder, origin: AccessOrigin, access: LaneAccess) -> None:
        """A part's lanes are about to access memory. Called when the part is written."""
        ...

    def on_scalar_access(
        self, b: WaveBuilder, origin: AccessOrigin, address: str, nbytes: int, writes: bool, lanes: str
    ) -> None:
        """The wavefront, of whose lanes ``lanes``, an ``i64``, are active, is about to access memory with one address
        (``i64``)."""
        ...

    def on_barrier(self, b: WaveBuilder, address: int, exec_: str) -> None:
        """The wavefront's lanes ``exec_``, an ``i64``, are at a barrier."""
        ...

    def in_step(self, b: WaveBuilder) -> None:
        """From here on the program counts on the wavefront's lanes running in step."""
        ...


@dataclass(frozen=True, slots=True)
class Region:
    """Memory that a launch's code accesses: ``keys`` are the numbers that its first byte has as an address there, each
    with how many bytes follow; ``host``: where the bytes of the first key are in this process."""

    name: str
    keys: tuple[tuple[int, int], ...]
    host: int


class Native(Protocol):
    """A launch's native code."""

    @property
    def library(self) -> Path: ...
    @property
    def observed(self) -> Any:
        """The observer's facts."""
        ...


class Watched(Protocol):
    """What a watcher asks of any launch."""

    tickets: int
    """Threads that run it, at most."""
    waves: int
    """Wavefronts of a full work-group."""

    @property
    def native(self) -> Native: ...
    @property
    def private_lane_bytes(self) -> int:
        """Private (scratch) memory of a lane."""
        ...

    @property
    def local_banks(self) -> int:
        """Banks of the chip's local memory."""
        ...

    @property
    def fetches_by_quads(self) -> bool:
        """Whether the unit in front of the caches takes four lanes a cycle, and a cycle for each of their lines."""
        ...

    def header(self, task: SimulatedTask, place: Callable[[int], int]) -> Mapping[str, Any]:
        """What a trace's header says of this launch (docs/trace.md); ``place`` of a key is its address there."""
        ...

    def regions(self, task: SimulatedTask) -> Sequence[Region]:
        """The memory that it may access, in an order that is the same in every run. One may be part of another, by
        their first keys."""
        ...


class Watcher(Protocol):
    """The launcher's side of an observer: gives its code memory, and takes what it found."""

    checked_code: bool
    """Whether it looks at code that was compiled for checks, in which accesses stay where the program has them."""
    notes_written: bool
    """Whether it reports to `headwater.emulate.watch.unwritten` what a launch has written."""

    @property
    def observer(self) -> Observer:
        """What writes the code that reports to this watcher."""
        ...

    def hooks(self, launch: Any) -> list[int]:
        """What the wavefronts' ``hooks`` hold when a thread begins. The sizes of ``launch``, a `Watched` or what of it
        the watcher is made for, are fixed by now."""
        ...

    def begin(self, launch: Any, task: SimulatedTask) -> None:
        """A launch is about to start: its table of allocations is made."""
        ...

    def end(self, launch: Any, task: SimulatedTask) -> None:
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

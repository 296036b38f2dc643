"""What the stepper asks of a launch on a chip of either family: wavefronts, registers by name, memory, instructions."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array
from headwater.emulate.wave.layout import LANES
from headwater.errors import UsageError
from headwater.native.faults import Extent
from headwater.step.journal import Journal

if TYPE_CHECKING:
    from headwater.emulate.wave.launched import SimulatedTask

RUNNING, AT_BARRIER, ENDED = "running", "at a barrier", "ended"
"""States of a wavefront."""
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    """An instruction: what a wavefront issues at once.

    ``address``: bytes from the start of a code object (GCN), or the place as faults number it (VLIW); ``label``: how a
    listing shows it; ``mnemonics``: of its operations; ``clause``: number of the clause (VLIW) or basic block (GCN);
    ``line``: of ``file``, 0 if it is not known.
    """

    address: int
    label: str
    text: str
    mnemonics: tuple[str, ...]
    clause: int
    file: str = ""
    line: int = 0

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "address": self.address,
            "label": self.label,
            "text": self.text,
            "mnemonics": list(self.mnemonics),
            "clause": self.clause,
            "file": self.file,
            "line": self.line,
        }


@dataclass(frozen=True)
class Memory:
    """Memory that the launch may access, as its code addresses it. ``element``: of the argument's type, if it has
    one."""

    name: str
    start: int
    data: memoryview
    writable: bool
    element: np.dtype[Any] | None = None

    @property
    def nbytes(self) -> int:
        """Its size."""
        return len(self.data)


class Machine(ABC):
    """A launch that is run one instruction after the other. ``waves``: the wavefronts of the work-group that runs."""

    family: str
    waves: list[Any]
    lds: memoryview
    """Local memory of the work-group."""

    def __init__(self, launch: Any, task: SimulatedTask) -> None:
        self.launch = launch
        self.task = task
        self.journal = Journal()
        self.waves = []
        self.kernel: str = launch.info.name
        self.device: str = launch.chip.name
        self.source: str = launch.kernel.program_source
        self.filename: str = launch.kernel.program_filename
        self.group: Size = (0, 0, 0)
        self.executed = 0
        """Instructions of wavefronts that have ended."""

    @property
    @abstractmethod
    def groups(self) -> Size:
        """Work-groups of each dimension."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Work-groups, or of pixels wavefronts, that are run."""

    @property
    @abstractmethod
    def local_size(self) -> Size:
        """Work-items of a full group."""

    @property
    @abstractmethod
    def global_size(self) -> Size:
        """Work-items of the launch."""

    @abstractmethod
    def begin(self, number: int) -> None:
        """Make the wavefronts of a work-group, the numbers of which count x first."""

    @abstractmethod
    def step(self, wave: Any) -> None:
        """Run one instruction of a wavefront. KernelFault for bad accesses and for what is not supported."""

    @abstractmethod
    def place(self, wave: Any) -> Place:
        """The instruction that a wavefront is about to run."""

    @property
    @abstractmethod
    def code(self) -> Sequence[Place]:
        """All instructions, in the order of the listing."""

    @abstractmethod
    def active(self, wave: Any) -> int:
        """The mask of lanes that execute."""

    @property
    @abstractmethod
    def vectors(self) -> Mapping[str, int]:
        """Names of the vector registers that the kernel has, each with its number."""

    @abstractmethod
    def vector(self, wave: Any, number: int) -> Array:
        """A vector register: 64 dwords."""

    @property
    @abstractmethod
    def scalars(self) -> Sequence[str]:
        """Names of what is the same in all lanes."""

    @abstractmethod
    def scalar(self, wave: Any, name: str) -> int:
        """What is the same in all lanes, by its name."""

    @property
    @abstractmethod
    def memories(self) -> Sequence[Memory]:
        """The memory of the launch: arguments first."""

    @abstractmethod
    def saved(self) -> Any:
        """A copy of all that is not memory."""

    @abstractmethod
    def restore(self, saved: Any) -> None:
        """What `saved` has returned becomes the state."""

    def state(self, wave: Any) -> str:
        """Whether a wavefront runs, waits or has ended."""
        found: str = wave.state
        return found

    def release(self) -> None:
        """Wavefronts at the barrier go on."""
        for wave in self.waves:
            if wave.state == AT_BARRIER:
                wave.state = RUNNING

    def position(self, number: int) -> Size:
        """A work-group's place in the grid, by its number."""
        x, y, _ = self.groups
        return number % x, number // x % y, number // x // y

    @cached_property
    def source_lines(self) -> list[str]:
        """The lines of the source, if it is known."""
        return self.source.splitlines()

    def memory(self, name: str) -> Memory:
        """Memory by the name of an argument, or of what it is. UsageError, naming those there are, if there is none."""
        for one in self.memories:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.memories)
        raise UsageError(f"there is no memory called {name!r}", hint=f"there are {known}")


def host_memory(start: int, nbytes: int) -> memoryview:
    """Bytes of this process's memory."""
    return memoryview((ctypes.c_ubyte * nbytes).from_address(start)).cast("B")


def named(extents: Sequence[Extent]) -> dict[int, str]:
    """The names of allocations by their starts: of arguments the parameter's."""
    found: dict[int, str] = {}
    for extent in extents:
        declaration = extent.name.strip("`")
        is_argument = extent.name.startswith("`") and extent.name.endswith("`")
        word = declaration.replace("*", " ").split("[")[0].split()[-1] if is_argument else extent.name
        found.setdefault(extent.start, word)
    return found


def mask_of(lanes: Array) -> int:
    """The mask of some lanes."""
    return int.from_bytes(np.packbits(lanes.astype(bool), bitorder="little").tobytes(), "little")


def item_ids(size: Size, index: int) -> tuple[list[Array], int]:
    """The work-item ids of a wavefront within a group of ``size`` by axis, x fastest, and the mask of its lanes."""
    count = size[0] * size[1] * size[2]
    item = np.arange(index * LANES, (index + 1) * LANES)
    inside = item < count
    item = np.where(inside, item, 0)
    ids = [item % size[0], item // size[0] % size[1], item // size[0] // size[1]]
    return [axis.astype(np.uint32) for axis in ids], mask_of(inside)

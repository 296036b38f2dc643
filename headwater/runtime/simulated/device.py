"""What simulated chips have in common as devices: their memory is this machine's."""

from __future__ import annotations

import copy
import functools
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from headwater.base.version import VERSION
from headwater.emulate.watch import unwritten
from headwater.runtime.host.device import HostDevice
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.interface import Buffer, DeviceProgram

if TYPE_CHECKING:
    from headwater.base.arrays import Array
    from headwater.chips import Chip, Outline


class SimulatedDevice(HostDevice):
    """A chip that is not there: its machine code is translated for this machine's processor. Its memory is the
    host's."""

    kind: Literal["cpu", "opencl", "simulated"] = "simulated"

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.name = Path(outline.file).stem
        self.edited = b""
        self.launched: set[str] = set()

    def with_code(self, code: bytes) -> Self:
        """Another device of this chip, which takes kernels of programs from a file of machine code that was made of
        them and changed, with the arguments that they have in their source. ``launched`` has the names of kernels that
        were launched on it. CodeObjectError or UsageError for code of another chip."""
        made = copy.copy(self)
        made.edited, made.launched = code, set()
        return made

    @functools.cached_property
    def chip(self) -> Chip:
        """All that is known of the chip."""
        from headwater import chips

        return chips.load(self.outline.file)

    @property
    def description(self) -> str:  # type: ignore[override]
        """The board's name and its processor."""
        return f"{self.chip.name} ({self.chip.target}), emulated"

    @property
    def driver(self) -> str:
        return f"headwater {VERSION}, emulation"

    @property
    def memory_bytes(self) -> int:
        return min(self.chip.memory.bytes, super().memory_bytes or self.chip.memory.bytes)

    @property
    def compute_units(self) -> int:
        return self.chip.compute.compute_units

    @property
    def max_group_size(self) -> int:
        return self.outline.work_group_size

    @abstractmethod
    def load(self, code: bytes, filename: str) -> DeviceProgram:
        """The kernels of a file of machine code. UsageError if it was made for another chip's instructions."""

    def allocate(self, nbytes: int) -> HostBuffer:
        buffer = super().allocate(nbytes)
        unwritten.made(buffer)
        return buffer

    def write(self, buffer: Buffer, array: Array, offset: int = 0) -> None:
        super().write(buffer, array, offset)
        _has_data(buffer)

    def copy(self, source: Buffer, target: Buffer) -> None:
        super().copy(source, target)
        _has_data(target)

    def copy_part(
        self, source: Buffer, target: Buffer, stored: Sequence[int], index: Sequence[slice], itemsize: int
    ) -> None:
        super().copy_part(source, target, stored, index, itemsize)
        _has_data(target)

    def fill(self, buffer: Buffer, pattern: bytes) -> None:
        super().fill(buffer, pattern)
        _has_data(buffer)

    def upload(self, array: Array) -> HostBuffer:
        buffer = super().upload(array)
        _has_data(buffer)
        return buffer


def _has_data(buffer: Buffer) -> None:
    assert isinstance(buffer, HostBuffer)
    unwritten.written(buffer.address)

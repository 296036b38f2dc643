"""What simulated chips have in common as devices: their memory is this machine's; who watches is asked at each call."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headwater.base.version import VERSION
from headwater.emulate.watch import unwritten
from headwater.errors import UsageError
from headwater.runtime.host.device import HostDevice
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.interface import Buffer, DeviceProgram
from headwater.runtime.shapes import Size

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


def observed(check: bool | None) -> bool:
    """Whether a trace, statistics or simulated time is being made of the launches that are prepared now.

    A launch has one watcher: HEADWATER_CHECK is passed over meanwhile, and ``check=True`` is a UsageError.
    """
    from headwater.emulate.watch.hooks import is_watched

    if not is_watched():
        return False
    if check:
        raise UsageError(
            "a launch cannot be checked while its trace, statistics or simulated time are made",
            hint="run it twice: once with check=True, and once without",
        )
    return True


class WhenCalled:
    """A launch that is prepared for whoever watches when it is called; ``kernel`` makes launches that are ``watched``
    and others."""

    __slots__ = ("_kernel", "_lds", "_plain", "_what")

    def __init__(
        self,
        kernel: Any,
        global_size: Size,
        local_size: Size | None,
        offset: Size,
        check: bool | None,
        lds_bytes: int = 0,
    ) -> None:
        self._kernel = kernel
        self._what = global_size, local_size, offset, check
        self._lds = {"lds_bytes": lds_bytes} if lds_bytes else {}
        self._plain: Any = None

    def __call__(self, args: Sequence[Any], queue: Any = None, time_limit: float | None = None) -> Any:
        from headwater.emulate.watch.hooks import wanted

        whole, group, offset, check = self._what
        watcher = wanted()
        if watcher is not None:
            return self._kernel.watched(whole, group, offset, watcher, **self._lds)(args, queue, time_limit)
        if self._plain is None:
            self._plain = self._kernel.prepare(whole, group, offset, check=check, **self._lds)
        return self._plain(args, queue, time_limit)

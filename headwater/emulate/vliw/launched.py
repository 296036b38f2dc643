"""What the emulator's checks, faults and statistics ask of a launch on a VLIW chip, besides what they ask of any."""

from __future__ import annotations

from typing import Any, Protocol

from headwater.emulate.wave.launched import WavefrontLaunch


class ObservedShaderLaunch(WavefrontLaunch, Protocol):
    """A launch of a VLIW shader."""

    machine: Any
    sizes: Any
    info: Any

    @property
    def mode(self) -> str: ...

    def line_of(self, index: int, number: int) -> int:
        """The source line of a group or fetch of a control-flow instruction, 0 if it is not known."""
        ...

    def work_item(self, group: tuple[int, int, int], lane: int) -> tuple[int, int, int]:
        """The global number of a group's work-item."""
        ...

    def called(
        self, item: tuple[int, int, int], group: tuple[int, int, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What messages call a work-item and its group."""
        ...

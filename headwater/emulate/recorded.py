"""Recordings of launches on chips of either family: what they record, and what is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.emulate.watch.stats import Statistics
    from headwater.emulate.watch.trace import Recording


def statistics(recording: Recording) -> Statistics:
    """What the launch that ``recording`` watched did."""
    launch, tables, totals = recording.launch, recording.tables, recording.totals
    assert launch is not None
    assert tables is not None
    assert totals is not None
    if launch.chip.is_vliw:
        from headwater.emulate.vliw.stats import of_shader

        return of_shader(launch, tables, totals)
    from headwater.emulate.gcn.stats import of_kernel

    return of_kernel(launch, tables, totals)


def prerequisites(vliw: bool) -> tuple[Callable[[], object], ...]:
    """What is compiled once on a machine for launches that are recorded, besides their kernels: to be called beforehand
    in threads of their own. ``vliw``: for chips of that family."""
    from headwater.emulate.vliw import native as shaders
    from headwater.emulate.watch.trace import TraceObserver
    from headwater.emulate.wave.support import support

    return shaders.support if vliw else support, TraceObserver().objects

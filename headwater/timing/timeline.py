"""Input: a report with events. Output: a timeline in the trace event format, for ui.perfetto.dev.

The format: Google, "Trace Event Format". Times are in microseconds of the chip's core clock.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from headwater.errors import UsageError
from headwater.timing.layout import GCN
from headwater.timing.vliw_layout import CLAUSES, VLIW

if TYPE_CHECKING:
    from headwater.timing.report import Report

_COPY_ENGINE: Final = 1_000_000


def events(report: Report) -> list[dict[str, Any]]:
    """The timeline's events. UsageError if the report has no happenings."""
    if report.happenings is None or len(report.happenings) == 0:
        raise UsageError(
            "the report has no timeline", hint="ask for one: simulate(…, timeline=True), headwater simulate --timeline"
        )
    vliw = report.chip.is_vliw
    causes = [cause for _, cause in (VLIW if vliw else GCN).causes]
    a_wave = len(causes)  # the kind of a happening that is a wavefront from begin to end; those below it are waits
    per_microsecond = report.chip.compute.clock_mhz
    found: list[dict[str, Any]] = []
    host = report.host
    start = (host.launch_seconds + host.in_seconds) * 1e6
    found += _copies(report)
    named: set[int] = set()
    tracks: set[tuple[int, int]] = set()
    for one in report.happenings.tolist():
        time, cycles, unit, simd, slot, kind, what = one
        if unit not in named:
            named.add(unit)
            found.append(_name("process_name", unit, 0, f"{'SIMD engine' if vliw else 'compute unit'} {unit}"))
        track = simd * 64 + slot
        if (unit, track) not in tracks:
            tracks.add((unit, track))
            found.append(_name("thread_name", unit, track, f"{'' if vliw else f'SIMD {simd}, '}wavefront {slot}"))
        if kind == a_wave:
            waves = max(1, report.held.wavefronts_per_group)
            title = f"group {what // waves}, wavefront {what % waves}"
            arguments: dict[str, Any] = {"cycles": cycles}
        else:
            title = CLAUSES[kind - a_wave - 1][1] if kind > a_wave else "waits: " + causes[kind]
            arguments = {"cycles": cycles, "at": report.texts[what]}
        found.append(
            {
                **{"ph": "X", "name": title, "pid": unit, "tid": track, "args": arguments},
                **{"ts": start + time / per_microsecond, "dur": cycles / per_microsecond},
            }
        )
    for name, series in (("resident wavefronts", report.occupancy_series), ("memory GB/s", report.traffic_series)):
        scale = 1e-9 if "GB" in name else 1.0
        for cycle, value in series:
            found.append(
                {
                    **{"ph": "C", "name": name, "pid": _COPY_ENGINE, "ts": start + cycle / per_microsecond},
                    "args": {"value": round(value * scale, 3)},
                }
            )
    return found


def _copies(report: Report) -> list[dict[str, Any]]:
    """The DMA engine's and the kernel's way, one after the other."""
    host = report.host
    found = [
        _name("process_name", _COPY_ENGINE, 0, "the board"),
        _name("thread_name", _COPY_ENGINE, 0, "DMA engine"),
        _name("thread_name", _COPY_ENGINE, 1, "command processor"),
    ]
    at = 0.0
    steps: tuple[tuple[str, int, float, dict[str, int]], ...] = (
        ("launch", 1, host.launch_seconds, {}),
        ("copy to the board", 0, host.in_seconds, {"bytes": host.bytes_in}),
        (report.kernel, 1, report.seconds, {"cycles": report.cycles}),
        ("copy to the host", 0, host.out_seconds, {"bytes": host.bytes_out}),
    )
    for name, track, seconds, arguments in steps:
        found.append(
            {
                **{"ph": "X", "name": name, "pid": _COPY_ENGINE, "tid": track, "args": arguments},
                **{"ts": at * 1e6, "dur": seconds * 1e6},
            }
        )
        at += seconds
    return found


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def text(report: Report) -> str:
    """The timeline as a JSON file's text."""
    return json.dumps({"traceEvents": events(report), "displayTimeUnit": "ns"}, separators=(",", ":"))

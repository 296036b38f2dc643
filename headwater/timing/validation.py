"""Input: a published measurement, with a small kernel that does the same. Output: what the cycle model says.

A row has ``device`` (a chip's name), ``chip`` (tables of figures that the measured board had otherwise), ``kernel``
("file:function"), ``options``, ``global``, ``local``, ``arguments``, ``work`` and ``unit``. Times are those of
timestamps around the kernel. An argument is a number or made-up data: ``ones:TYPE:SHAPE``, ``zeros:TYPE:SHAPE``,
``chain:LINES:ELEMENTS`` (the address of another line in the first of so many 64-bit elements, all in one circle in
random order), ``indices:LINES:ELEMENTS`` (the same of 32-bit elements and their numbers), ``random:BELOW:COUNT``, and
of a square matrix of ROWS with so many elements, in places chosen by chance: ``csr:ROWS:ELEMENTS`` (their columns, row
after row), ``starts:ROWS:ELEMENTS`` (where rows start there), ``lengths:ROWS:ELEMENTS`` (of rows) and
``ellpack:ROWS:ELEMENTS`` (the columns of all rows' first elements, of their second ones and so on). All these are
32-bit integers. ``best_of``: sizes of work-groups, where the highest rate of several was published.

Rates that are not those of the kernel alone say so: ``whole`` is the work of the launch that was measured, of which
``work`` is simulated, and ``beside_us`` the microseconds that its time held beside the kernel. ``warm_steps``, of a
kernel whose last argument is a number of steps: so many fill caches before those that are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.errors import UsageError
from headwater.timing.host import start_seconds

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.timing.report import Report
    from headwater.timing.simulate import Launch

_TYPES: Final = {
    **{"float": np.float32, "double": np.float64, "half": np.float16},
    **{"int": np.int32, "uint": np.uint32, "ulong": np.uint64},
}
_PER_SECOND: Final = {"GB/s": 1e9, "GFLOP/s": 1e9, "MH/s": 1e6}
_SECONDS: Final = {"us": 1e6, "ms": 1e3}


def chip_of(row: Mapping[str, Any]) -> Chip:
    """The chip of a row, with the board's own figures."""
    from headwater import chips

    chip = chips.find(str(row["device"]))
    for table, figures in row.get("chip", {}).items():
        chip = replace(chip, **{table: replace(getattr(chip, table), **figures)})
    return chip


def recorded(row: Mapping[str, Any], folder: Path) -> list[Launch]:
    """The row's launch, with each size of work-groups of which the best was published, recorded on the row's own chip.

    ``folder``: of the kernels. UsageError for a unit that there is not.
    """
    from headwater.runtime.devices import of_chip
    from headwater.runtime.loading import compile
    from headwater.timing.simulate import Recorded, simulated

    unit = str(row["unit"])
    units = (*_PER_SECOND, *_SECONDS, "cycles")
    if unit not in units:
        raise UsageError(f"row {row['id']}: no unit {unit!r}", hint=f"the units are {', '.join(units)}")
    file, _, function = str(row["kernel"]).partition(":")
    device = simulated(of_chip(chip_of(row)))
    program = compile(folder / file, options=str(row.get("options", "")), device=device)
    arguments = [_argument(word) for word in row["arguments"]]
    sizes = [(size,) for size in row["best_of"]] if "best_of" in row else [tuple(row["local"])]
    found = []
    for local in sizes:
        launcher = program[function][tuple(row["global"]), local or None]
        found.append(Recorded(partial(launcher, *arguments, device=device)).launches[0])
    return found


def simulate_row(row: Mapping[str, Any], folder: Path) -> tuple[float, Report]:
    """What the model says, in the row's unit, and the report. ``folder`` and errors: as `recorded`."""
    reports = [launch.report(chip_of(row)) for launch in recorded(row, folder)]
    report = min(reports, key=lambda one: one.seconds)
    cold = 0
    if "warm_steps" in row:
        first = {**row, "arguments": [*row["arguments"][:-1], row["warm_steps"]]}
        cold = recorded(first, folder)[0].report(chip_of(row)).cycles
    return published(row, report, cold), report


def published(row: Mapping[str, Any], report: Report, cold_cycles: int = 0) -> float:
    """What a program would publish that measures as the row's did, in the row's unit.

    ``cold_cycles``: of the report's that are not measured.
    """
    unit, work = str(row["unit"]), float(row["work"])
    if unit not in _PER_SECOND and (others := sorted({"whole", "beside_us"} & row.keys())):
        raise UsageError(f"row {row['id']}: {' and '.join(others)} of no rate", hint="they are for what is per second")
    if unit == "cycles":
        return (report.cycles - cold_cycles) / work
    if unit in _SECONDS:
        return (report.seconds + start_seconds(report.chip)) * _SECONDS[unit]
    whole = float(row.get("whole", work))
    beside = float(row.get("beside_us", 0.0)) * 1e-6
    return whole / (report.seconds * whole / work + beside) / _PER_SECOND[unit]


def _argument(word: Any) -> Any:
    if not isinstance(word, str):
        return word
    kind, what, count = word.split(":")
    make = _INTS.get(kind)
    if make is not None:
        return make(int(what), int(count))
    fill = {"ones": np.ones, "zeros": np.zeros}[kind]
    return fill([int(n) for n in count.split("x")], _TYPES[what])


def _chain(lines: int, elements: int, *, addresses: bool) -> np.ndarray[Any, Any]:
    order = np.random.default_rng(1).permutation(lines)
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0])) * elements
    chain = np.zeros(lines * elements, np.uint64 if addresses else np.uint32)
    following = np.roll(order, -1)
    chain[order] = chain.ctypes.data + following * chain.itemsize if addresses else following
    return chain


@cache
def _places(rows: int, elements: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows and columns of a square matrix's elements. Each place has one with the same chance, and the last ones all
    do if there are too few before: SHOC's way (initRandomMatrix)."""
    gaps = np.random.default_rng(1).geometric(elements / rows**2, elements)
    last = np.arange(rows**2 - elements, rows**2)
    row, column = np.divmod(np.minimum(np.cumsum(gaps) - 1, last), rows)
    return row, column.astype(np.int32)


def _lengths(rows: int, elements: int) -> np.ndarray[Any, Any]:
    return np.bincount(_places(rows, elements)[0], minlength=rows).astype(np.int32)


def _starts(rows: int, elements: int) -> np.ndarray[Any, Any]:
    return np.concatenate(([0], np.cumsum(_lengths(rows, elements)))).astype(np.int32)


def _ellpack(rows: int, elements: int) -> np.ndarray[Any, Any]:
    row, column = _places(rows, elements)
    found = np.zeros((int(_lengths(rows, elements).max()), rows), np.int32)
    found[np.arange(elements) - _starts(rows, elements)[row], row] = column
    return found.ravel()


_INTS: Final[dict[str, Callable[[int, int], np.ndarray[Any, Any]]]] = {
    "chain": partial(_chain, addresses=True),
    "indices": partial(_chain, addresses=False),
    "random": lambda below, count: np.random.default_rng(1).integers(below, size=count, dtype=np.int32),
    "csr": lambda rows, elements: _places(rows, elements)[1],
    "starts": _starts,
    "lengths": _lengths,
    "ellpack": _ellpack,
}
"""How to make up numbers, by the name that rows give them."""

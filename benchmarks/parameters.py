"""Change every parameter of the cycle model, and print where each comes from and a published row that it moves.

Usage: python -m benchmarks.parameters [PART-OF-A-NAME …]

Parameters are the constants that the model's modules compute with, the figures of chips' files that they read, and
those of the kinds of memory. They are found in these modules' sources, so that a new one cannot be forgotten. Rows are
small ones that are not held out; each is recorded once and replayed with a parameter doubled, and if that does not move
it, or cannot be, halved; a chip's figure, which is checked, then divided by 16. How far it is stands on standard error.
Exits with 1 if a parameter moves none of them and is not in `UNMOVED`, which says why, or if it does not say where it
comes from.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from types import ModuleType
from typing import Any, Final

from headwater.analyze.validation import Row, folder, rows
from headwater.chips import Chip, dram, model, occupancy
from headwater.chips.whatif import changed
from headwater.errors import HeadwaterError
from headwater.isa.gcn import cost
from headwater.timing import host, memory, rules, validation, vliw_rules
from headwater.timing.simulate import Launch

ROWS: Final = (
    *("stride-float-8-mi210", "vcopy-mi100", "shoc-reduction-float32-firepro-w9100", "latency-40960k-mi100"),
    *("copy-float-hd5870", "copy-float4-hd5870", "copy-float-complete-path-hd5870", "lds-linear-hd5870"),
    *("constant-dynamic-hd5870", "shoc-reduction-float32-hd5870", "mi300a-vectoradd-2048", "perftest-2-linear-r9-390x"),
    *("peak-float64-radeon-vii", "matrix-f16-mi210", "perftest-1-random-r9-390x", "shoc-md-float64-hd7970"),
    *("mi300a-matrixtranspose-2048", "sha256d-hd5970", "sgemm-hd4850"),
)
"""Of both families, each with another bottleneck."""
_LONG_ROW, _SHOWN_BY_LONG_ROW = "chase-71511k-mi300a", "memory_side"
"""A row whose replays take seconds, and the part of the names of the parameters that it is for."""
_FACTORS: Final = (2, 0.5)
_FACTORS_OF_CHIPS: Final = (*_FACTORS, 1 / 16)
"""The last one is for a memory-side cache: the row that lies in it does not fill it."""
_READERS: Final[tuple[tuple[ModuleType, tuple[Callable[..., Any], ...]], ...]] = (
    (rules, (rules.chip_numbers,)),
    (vliw_rules, (vliw_rules.chip_numbers, vliw_rules.Table)),
    (memory, (memory.dram_numbers, memory.movable_bytes_per_second)),
    (cost, (cost.alu_cycles, cost.scalar_cycles, cost.address_cycles)),
    (host, (host.start_seconds,)),
)
"""Modules, and what in them computes with parameters."""
_OTHERS: Final = (
    *("WINDOW", "LOCK_TWO", "QUADS", "MOST_RECORDS", "MISSING_RATE_TURNS", "LARGE_PAGE_BYTES"),
    "_DWORDS_OF_ADDRESS_TABLES",
)
"""No parameters: flags, sizes of the engine's tables and of pages, and a rate that stands for one that a chip lacks."""
UNMOVED: Final = {
    "vliw_rules.EXPORT_CYCLES": "(instructions' costs are computed once a launch)",
    "vliw_rules.WRITE_BUFFER_CYCLES": "(no row waits for its render back-ends)",
    "vliw_rules.PIXELS_OF_BACK_END": "(no row waits for its render back-ends)",
    "rules.LINE_CYCLES": "(0, and no row reads so many lines at once that 1 were more than their banks take)",
    "rules.UNIFORM_CYCLES": "(no row's lanes all load one address that lies in the L1)",
    "cost._CMPSWAP_CYCLES": "(no row compares and swaps)",
    "cost._IMAGE_CYCLES": "(no row reads images)",
    "chip.compute.wavefront_size": "(machine code depends on it, so that a recording is refused)",
    "chip.compute.work_group_size": "(limits launches, and takes no time)",
    "chip.registers.vgprs_per_wavefront": "(limits kernels, and takes no time)",
    "chip.registers.sgprs_per_wavefront": "(limits kernels, and takes no time)",
    "chip.local_memory.work_group_bytes": "(limits launches, and takes no time)",
    "chip.local_memory.banks": "(conflicts are counted when a launch is recorded)",
    "chip.rates.float16": "(of estimates' peaks; packed instructions run at the full rate)",
    "chip.registers.sgprs": "(scalar registers limit no row's occupancy)",
    "chip.registers.sgpr_granule": "(scalar registers limit no row's occupancy)",
    "chip.caches.scalar_bytes": "(no row fills scalar or constant caches)",
    "chip.caches.vertex_bytes": "(no row with a kernel has vertex fetches)",
    "chip.caches.memory_side_ways": "(no row fills the memory-side cache unevenly)",
    "chip.features.stack_entries": "(the stack limits no row's occupancy)",
    "chip.features.render_back_ends": "(no row waits for its render back-ends)",
}
"""Parameters that these rows cannot show, and why."""
_TABLES: Final = ("compute", "rates", "registers", "local_memory", "caches", "memory", "latencies", "features", "link")
_SOURCE: Final = re.compile(r"\[[A-Z0-9]\]|\([edf]\)|[Ff]itted|[Ee]stimate")


@dataclass(frozen=True)
class Parameter:
    """``place``: a module, "chip" or "dram"; ``key``: its name there. ``source``: what stands beside it."""

    place: str
    key: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.place}.{self.key}"


def constants() -> list[Parameter]:
    """The numbers in capitals that the modules' functions compute with."""
    found = []
    for module, functions in _READERS:
        text = inspect.getsource(module) + "\n\n" + (inspect.getsource(dram) if module is memory else "")
        used = {word for one in functions for word in re.findall(r"\b_?[A-Z][A-Z0-9_]{2,}\b", inspect.getsource(one))}
        for key, value in vars(module).items():
            number = isinstance(value, (int, float)) or (isinstance(value, tuple) and isinstance(value[0], int))
            defined = re.search(rf"^[\w, ]*\b{key}\b[\w, ]*(: Final)? = (?!\(1 <<)\(?\d[^\n]*", text, re.MULTILINE)
            if key in used and key not in _OTHERS and number and defined is not None:
                found.append(Parameter(module.__name__.rpartition(".")[2], key, _beside(text, defined)))
    return found


def _beside(text: str, defined: re.Match[str]) -> str:
    """The marks of a definition: of its line, else of the string below it or the nearest comment above it."""
    above: list[str] = []
    for line in reversed(text[: defined.start()].rpartition("\n\n")[2].splitlines()):
        if line.startswith("#"):
            above.insert(0, line)
        elif above:
            break
    below = re.match(r'\n"""(.*?)"""', text[defined.end() :], re.DOTALL)
    for one in (defined[0], below[1] if below else "", " ".join(above)):
        if marks := _SOURCE.findall(one):
            return ", ".join(dict.fromkeys(marks))
    return ""


def figures() -> list[Parameter]:
    """The figures of chips that the modules read; each chip's file states their sources (tests/chips)."""
    text = "".join(inspect.getsource(one) for _, functions in _READERS for one in functions)
    text += inspect.getsource(occupancy)
    found = []
    for table in fields(model.Chip):
        kind = getattr(model, table.name.title().replace("_", ""), None)
        if table.name not in _TABLES or not is_dataclass(kind):
            continue
        for figure in fields(kind):
            is_rate = table.name == "rates" and not figure.name.startswith("matrix")
            read = is_rate or re.search(rf"\b{table.name}\.{figure.name}\b", text)
            if read and "range" in figure.metadata:
                found.append(Parameter("chip", f"{table.name}.{figure.name}", "the chip's file"))
    return found


def kinds_of_memory() -> list[Parameter]:
    """What data sheets say of DRAM."""
    return [Parameter("dram", figure.name, "data sheets") for figure in fields(dram.Dram)]


def every() -> tuple[Parameter, ...]:
    """All parameters, in the page's order."""
    return (*constants(), *figures(), *kinds_of_memory())


@contextmanager
def _set(parameter: Parameter, chip: Chip, factor: float) -> Iterator[Chip]:
    """The chip with the parameter times the factor, while this holds. HeadwaterError if it cannot be."""
    if parameter.place == "chip":
        table, _, name = parameter.key.partition(".")
        if getattr(chip, table) is None:
            raise HeadwaterError(f"{chip.name} has no {table}")
        value = getattr(getattr(chip, table), name)
        yield changed(chip, [f"{parameter.key}={_scaled(value, factor)}"])[0]
        return
    if parameter.place == "dram":
        kinds, before = dram.KINDS, dram.KINDS[chip.memory.kind]
        kinds[chip.memory.kind] = replace(before, **{parameter.key: _scaled(getattr(before, parameter.key), factor)})
        try:
            yield chip
        finally:
            kinds[chip.memory.kind] = before
        return
    module = next(one for one, _ in _READERS if one.__name__.endswith(f".{parameter.place}"))
    value = getattr(module, parameter.key)
    setattr(module, parameter.key, _scaled(value, factor))
    try:
        yield chip
    finally:
        setattr(module, parameter.key, value)


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_scaled(one, factor) for one in value)
    if isinstance(value, float):
        return value * factor
    return max(1, round(value * factor)) if value else 1


def effect(parameter: Parameter, recorded: dict[str, tuple[Row, Launch, float]]) -> tuple[str, float] | None:
    """The first row whose published value it moves, and by how much; None if there is none."""
    for name, (row, launch, value) in recorded.items():
        if name == _LONG_ROW and _SHOWN_BY_LONG_ROW not in parameter.key:
            continue
        for factor in _FACTORS_OF_CHIPS if parameter.place == "chip" else _FACTORS:
            try:
                with _set(parameter, validation.chip_of(row.data), factor) as chip:
                    new = validation.published(row.data, launch.report(chip))
            except (HeadwaterError, ZeroDivisionError):
                continue
            if new != value:
                return name, new / value - 1
    return None


def record(row: Row) -> tuple[Row, Launch, float]:
    """A row, its launch, and what the model says of it."""
    launch = validation.recorded(row.data, folder() / "kernels")[0]
    return row, launch, validation.published(row.data, launch.report(validation.chip_of(row.data)))


def _progress(text: str) -> None:
    print(f"{time.process_time():6.0f} s  {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Print the table."""
    words = sys.argv[1:]
    known = {row.id: row for row in rows()}
    names = (*ROWS, _LONG_ROW)
    assert all(known[name].side != "held out" for name in names)
    recorded = {}
    for number, name in enumerate(names, 1):
        _progress(f"recording row {number} of {len(names)}: {name}")
        recorded[name] = record(known[name])
    chosen = [one for one in every() if all(word in one.name for word in words)]
    print("| parameter | source | row moved | by |", "|---|---|---|--:|", sep="\n")
    failed = False
    for number, parameter in enumerate(chosen, 1):
        _progress(f"parameter {number} of {len(chosen)}: {parameter.name}")
        found = effect(parameter, recorded)
        failed |= (found is None and parameter.name not in UNMOVED) or not parameter.source
        name, by = found or (UNMOVED.get(parameter.name, "–"), 0.0)
        change = f"{by:+.2%}".replace("%", " %").replace("-", "−") if found else "–"
        print(f"| `{parameter.name}` | {parameter.source or '–'} | {name} | {change} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

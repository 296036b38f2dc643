"""Input: kernels (files, texts, programs) and chips' names. Output: a `Report` of each on each."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from headwater import chips
from headwater.analyze.analysis import Analysis, Question
from headwater.analyze.code import Code
from headwater.analyze.flow import MODES, Mode
from headwater.analyze.launch import Given
from headwater.analyze.report import Refused, Report
from headwater.analyze.sources import Built, Source, build, from_text, read
from headwater.base.numbers import whole
from headwater.chips import Chip
from headwater.chips.whatif import Change, changed
from headwater.errors import HeadwaterError, InternalError, LaunchError, ResourceError, SourceError, UsageError

DEFAULT_DEVICE = "vega64"
_MOST_TRIPS = 1 << 48
_THREADS = 4
"""Enough that LLVM always finds the next program waiting while others are linked and read."""
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64}
_NO_NUMBER = re.compile(r"half$|float|double|u?(?:char|short|int|long)\d")
# Which of the OpenCL kernels that a Brook+ kernel became is analyzed if none is named: as a GPU would be given it, for
# streams of the same shape.
_VARIANTS = ("linear4", "linear", "pixel", "grid_inside", "grid", "mapped")


def analyze(
    source: Any,
    *,
    device: Any = DEFAULT_DEVICE,
    kernel: str | Sequence[str] | None = None,
    size: int | Sequence[int] | None = None,
    group: int | Sequence[int] | None = None,
    path: Mode = "average",
    hit: float = 0.0,
    coalesced: bool = True,
    trips: Mapping[str, int] | None = None,
    arguments: Mapping[str, int] | None = None,
    lds_bytes: int = 0,
    transfer_bytes: tuple[float, float] | None = None,
    set: Sequence[str] = (),
    language: str = "",
    options: str = "",
) -> Report:
    """Analyze kernels on chips, without running them.

    ``source``: a file's path, source text, a `headwater.Program` or one of its kernels, or a list of these. ``device``:
    chips' names (or TOML files), simulated devices, or a list of them. ``kernel``: names, all kernels if None.
    ``size``, ``group``, ``path``, ``hit``, ``coalesced``, ``trips``, ``lds_bytes``, ``transfer_bytes``: see
    `headwater.analyze.analysis.Question`. ``arguments``: of scalar arguments, by which trip counts may be proved.
    ``set``: changes of the chips, as ``"memory_clock_mhz=1200"``; each chip is then analyzed as it is and changed.
    ``options``: build options.

    Raises SourceError for errors in a source, UsageError for unknown chips and kernels and for what cannot be,
    LaunchError for a kernel that does not fit a chip. What only some of several chips refuse: `Report.refused`.
    """
    if path not in MODES:
        raise UsageError(f"there is no path {path!r}", hint=", ".join(MODES))
    if not (isinstance(hit, (int, float)) and 0 <= hit <= 1):
        raise UsageError(f"a share of reads that caches serve is 0 to 1, not {hit!r}")
    trips, arguments = _numbers(trips, "trips"), _numbers(arguments, "arguments")
    for name, count in trips.items():
        if not 0 <= count <= _MOST_TRIPS:
            raise UsageError(f"loop {name} cannot run {count} times", hint=f"0 to {_MOST_TRIPS:,}")
    if transfer_bytes is not None and not all(0 <= number < math.inf for number in transfer_bytes):
        raise UsageError(f"bytes over PCI Express are two numbers of at least 0, not {transfer_bytes}")
    kernels, settings = _texts(kernel, "kernel"), _texts(set, "set")
    question = Question(
        _size(size) if size is not None else None,
        _size(group) if group is not None else None,
        path,
        hit,
        coalesced,
        trips,
        lds_bytes,
        transfer_bytes,
    )
    devices = list(device) if isinstance(device, (list, tuple)) else [device]
    if not devices:
        raise UsageError("which chip?", hint=f"the chips are {', '.join(chips.names())}")
    found = [_chip(one) for one in devices]
    sources = list(source) if isinstance(source, (list, tuple)) else [source]
    if not sources:
        raise UsageError("which kernel?", hint="give a file, source text, a program or a kernel")
    wanted: list[tuple[Source, list[str]]] = []
    for one in sources:
        made, own = _source(one, language, options)
        wanted.append((made, own or kernels))
    analyses: list[Analysis] = []
    refused: list[Refused] = []
    warnings = ""
    given = Given(arguments, question.size, question.group)
    builds = _build_all([one for one, _ in wanted], found, given)
    _check_arguments(given.arguments, [built for built in builds.values() if isinstance(built, Built)])
    for number, (one, names) in enumerate(wanted):
        rows: dict[str, list[Analysis]] = {}
        for chip in found:
            built = builds[number, chip]
            if isinstance(built, HeadwaterError):
                refused.append(Refused(one.name, chip.name, built))
                continue
            warnings = warnings or built.warnings
            if not names:
                refused += [Refused(name, chip.name, _why(built, name)) for name in built.refused]
            try:
                chosen = _chosen(built, one, names)
            except SourceError as error:
                refused.append(Refused(", ".join(names), chip.name, error))
                continue
            for shown, code in chosen:
                try:
                    rows.setdefault(shown, []).extend(_on(chip, code, question, built, shown, settings))
                except (LaunchError, ResourceError) as error:
                    refused.append(Refused(shown, chip.name, error))
        analyses += [analysis for row in rows.values() for analysis in row]
    if not analyses:
        raise refused[0].error if refused else UsageError(f"{', '.join(one.name for one, _ in wanted)} has no kernels")
    return Report(tuple(analyses), warnings, tuple(refused))


def _build_all(
    sources: Sequence[Source], found: Sequence[Chip], given: Given
) -> dict[tuple[int, Chip], Built | HeadwaterError]:
    """Every source for every chip, or why there is none: while LLVM makes the code of one, another's is read."""
    jobs = [(number, chip) for number in range(len(sources)) for chip in dict.fromkeys(found)]
    if len(jobs) == 1:
        return {jobs[0]: _built(sources[0], found[0], given)}
    from concurrent.futures import ThreadPoolExecutor

    # One chip of each target first: boards with the same code find it in the cache.
    first = {(number, chip.target): (number, chip) for number, chip in reversed(jobs)}
    with ThreadPoolExecutor(_THREADS) as pool:
        waiting = {job: pool.submit(_built, sources[job[0]], job[1], given) for job in first.values()}
        made = {job: future.result() for job, future in waiting.items()}
    return {job: made[job] if job in made else _built(sources[job[0]], job[1], given) for job in jobs}


def _built(source: Source, chip: Chip, given: Given) -> Built | HeadwaterError:
    try:
        return build(source, chip, given)
    except InternalError:
        raise
    except HeadwaterError as error:
        return error


def _check_arguments(values: Mapping[str, int], builds: Sequence[Built]) -> None:
    """UsageError for values of arguments that no kernel has, or that are none of their type."""
    kinds: dict[str, dict[str, None]] = {}
    for name, kind in [argument for built in builds for code in built.codes for argument in code.arguments]:
        kinds.setdefault(name, {})[kind] = None
    for name, value in values.items() if builds else ():
        if name not in kinds:
            import difflib

            close = difflib.get_close_matches(name, kinds, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            known = f"there are {', '.join(kinds)}" if kinds else "they have none that could be given"
            raise UsageError(f"no kernel has an argument {name!r}", hint=hint + known)
        whole = [kind for kind in kinds[name] if not (kind.endswith("*") or _NO_NUMBER.match(kind))]
        if not whole:
            raise UsageError(f"argument {name} is {' and '.join(kinds[name])}, no whole number")
        bits = max(_BITS.get(kind.removeprefix("u"), 64) for kind in whole)
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            raise UsageError(f"argument {name} cannot be {value:,}: {whole[0]} has {bits} bits")


def _on(chip: Chip, code: Code, question: Question, built: Built, name: str, settings: Sequence[str]) -> list[Analysis]:
    variants: list[tuple[Chip, tuple[Change, ...]]] = [(chip, ())]
    if settings:
        variants.append(changed(chip, settings))
    made = [Analysis(code, c, question, built=built, changes=changes, name=name) for c, changes in variants]
    for analysis in made:
        _ = analysis.occupancy, analysis.launch  # what does not fit is said now
    return made


def _why(built: Built, name: str) -> HeadwaterError:
    return built.refused[name].error(next(iter(built.texts), ""))


def _chip(device: Any) -> Chip:
    if isinstance(device, Chip):
        return device
    chip = getattr(device, "chip", None)
    if isinstance(chip, Chip):
        return chip
    if not isinstance(device, str):
        raise UsageError(f"{getattr(device, 'name', device)} is not a chip", hint="give a chip's name, such as vega64")
    return chips.find(device)


def _size(size: int | Sequence[int]) -> tuple[int, ...]:
    given = size if isinstance(size, Sequence) else (size,)
    made = tuple(number for number in map(whole, given) if number)
    if not 1 <= len(made) == len(given) <= 3 or min(made) < 1:
        raise UsageError(f"{size!r:.60} is not a size", hint="one to three whole numbers from 1")
    return made


def _numbers(given: Mapping[str, int] | None, what: str) -> dict[str, int]:
    """Whole numbers by name; UsageError for anything else."""
    found = {} if given is None else given
    made = {name: whole(number) for name, number in found.items()} if isinstance(found, Mapping) else {"": None}
    if None in made.values():
        raise UsageError(f"{what} are whole numbers by name, not {given!r:.60}", hint=f'{what}={{"n": 1024}}, say')
    return cast("dict[str, int]", made)


def _texts(given: str | Sequence[str] | None, what: str) -> list[str]:
    """One text or several; UsageError for anything else."""
    found = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(found, Sequence) or not all(isinstance(text, str) for text in found):
        raise UsageError(f"{what} is a text, or a list of texts, not {given!r:.60}")
    return list(found)


def _source(source: Any, language: str, options: str) -> tuple[Source, list[str]]:
    """The source, and the kernels of it that are meant (none: all)."""
    if isinstance(source, Source):
        return source, []
    if isinstance(source, os.PathLike):
        return read(os.fspath(source), options, language), []
    if isinstance(source, str):
        if "\0" in source:
            raise UsageError("a kernel's source or file name has no NUL character")
        return read(source, options, language), []
    program = getattr(source, "program", source)
    if hasattr(program, "language") and hasattr(program, "source"):
        kernel = getattr(source, "name", "")
        text = program.source
        made = from_text(text, program.language, program.filename, " ".join(filter(None, (program.options, options))))
        own = [kernel] if program is not source and kernel and program.language != "il" else []
        return made, own
    raise UsageError(
        f"a {type(source).__name__} cannot be analyzed", hint="give a file, source text, a program or a kernel"
    )


def _chosen(built: Built, source: Source, names: Sequence[str]) -> list[tuple[str, Code]]:
    """The kernels that are meant, each with the name that it is shown by."""
    if not built.entries:
        if not names:
            return [(code.kernel, code) for code in built.codes]
        return [(name, built.code(name)) for name in dict.fromkeys(names)]
    symbols = {code.kernel: code for code in built.codes}
    kernels: dict[str, list[str]] = {}
    for symbol, kernel in built.entries.items():
        if symbol in symbols:
            kernels.setdefault(kernel, []).append(symbol)
    found = []
    for name in dict.fromkeys(names) or kernels:
        if name in symbols:
            found.append((name, symbols[name]))
        elif name in built.refused:
            raise _why(built, name)
        elif name in kernels:
            symbol = next(
                (s for variant in _VARIANTS for s in kernels[name] if s.endswith(f"_{variant}")), kernels[name][0]
            )
            found.append((name, symbols[symbol]))
        else:
            from headwater.runtime.program import unknown_kernel

            raise unknown_kernel(name, [*kernels, *symbols], source.name)
    return found

"""Input: a kernel's file and its data. Output: what its instructions did on a simulated chip."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.base import reading
from headwater.cli.options import Parser, positive
from headwater.cli.results import output_file, refuse_overwriting
from headwater.cli.run import add_launch_options, bind_words, compiled_program, write_and_report
from headwater.errors import KernelFault, UsageError
from headwater.views.units import memory_bytes

if TYPE_CHECKING:
    from headwater.emulate.watch.stats import InstructionRow, Statistics, Work
    from headwater.emulate.watch.trace import Recording

_USAGE = "FILE [ARG …] --device CHIP [--kernel NAME] [--instructions] [--json] [options]"
_DESCRIPTION = """\
Run a kernel on a simulated chip and count its instructions: how many of each class were executed, how many lanes
were active, how well memory accesses were coalesced, how many cycles bank conflicts of local memory took; for the
whole kernel, for each source line and for each instruction.

Arguments are as for headwater run.
"""
_EXAMPLES = """\
examples:
  headwater stats matmul.cl --device vega64 x=random:256x256 y=random:256x256 --local 16,16
  headwater stats median.cl --device fiji --kernel medianfilter_rgba photo.jpg --instructions
  headwater stats scan.cl --device mi50 random:1Mi --json > scan.json

VALU use: the part of the 64 lanes that had work, over the vector instructions (on VLIW chips, the groups of ALU
operations). Divergent: the part of them that ran without some lanes. Slots: the part of a group's slots that
operations fill. Lines/request: 64-byte cache lines that a wavefront's request touched; 4 are the least for 64 lanes of
4 bytes each. Used: bytes that lanes asked for, over those of the lines; more than 100 % where lanes share them. LDS
conflicts: cycles over those that the same requests would take without conflicts of banks.
"""
_LINES = 20


def parser() -> Parser:
    """The options of ``headwater stats``."""
    made = Parser("stats", _USAGE, _DESCRIPTION, _EXAMPLES)
    add_launch_options(made, simulated=True)
    what = made.add_argument_group("statistics")
    what.add_argument("--instructions", action="store_true", help="list every instruction")
    what.add_argument("--trace", metavar="FILE", help="keep the trace, for programs: see docs/trace.md")
    what.add_argument("--time-limit", metavar="S", help="stop after S seconds and report the counts so far")
    what.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    return _stats(parser().parse(words))


def _stats(args: argparse.Namespace) -> int:
    import headwater
    from headwater.cli.launch import printf_on_stderr
    from headwater.cli.progress import progress
    from headwater.emulate.recorded import statistics
    from headwater.emulate.watch.hooks import watching
    from headwater.emulate.watch.trace import Recording
    from headwater.jobs.job import Job, choose_kernel

    limit = positive(args.time_limit, "--time-limit")
    path = Path(args.file)
    refuse_overwriting([args.trace, *map(output_file, args.outputs)], [path])
    device = headwater.device(args.device)
    if device.kind != "simulated":
        raise UsageError(
            f"{device.name} is not a simulated chip: its instructions cannot be counted",
            hint="choose one with --device, such as vega64; headwater devices lists them",
        )
    with progress(f"compiling {path.name} for {device.name}"):
        program = compiled_program(args, device)
    name = choose_kernel(program, args.kernel, path)
    job = Job(program, name, *bind_words(program, name, args), time_limit=limit)
    recordings: list[Recording] = []

    def record() -> Recording:
        target = None
        if args.trace:
            target = Path(args.trace if not recordings else f"{args.trace}.{len(recordings) + 1}")
        recordings.append(Recording(target))
        return recordings[-1]

    stopped: KernelFault | None = None
    begin = time.monotonic()
    try:
        running = progress(f"running {name} on {device.name}")
        with printf_on_stderr(args.json), running as watcher, watching(record):
            outputs, _ = job.run(device, watcher)
        write_and_report(job, outputs)
    except KernelFault as fault:
        # Whatever else went wrong, there is nothing to count.
        if limit is None or time.monotonic() - begin < limit:
            raise
        stopped = fault
    found = [statistics(recording) for recording in recordings if recording.totals is not None]
    for recording in recordings:
        if recording.path is not None and stopped is None:
            print(f"wrote {recording.path}", file=sys.stderr)
    if args.json:
        import json

        launches = [one.as_json() for one in found]
        print(json.dumps({"device": device.name, "launches": launches, "complete": stopped is None}))
    else:
        if stopped is not None and found:
            print("STOPPED: of the last launch, what follows is a part.")
        for one in found:
            _print(one, args.instructions)
    if stopped is not None:
        print(f"headwater: error: {stopped}", file=sys.stderr)
        return stopped.exit_code
    return 0


# ---- text ------------------------------------------------------------------------------------------------------------


def _print(found: Statistics, instructions: bool) -> None:
    from headwater.cli.terminal import print_table

    whole, group = (" × ".join(f"{n:,}" for n in size) for size in (found.global_size, found.local_size))
    items = f"{whole} pixels in blocks of" if found.mode == "pixel" else f"{whole} work-items in groups of"
    print(f"{found.kernel} on {found.target}: {items} {group}, {found.wavefronts:,} wavefronts")
    print()
    total = max(found.total.count, 1)
    rows = [
        [name, f"{did.count:,}", f"{did.count / total:.1%}", f"{did.count / max(found.wavefronts, 1):.1f}"]
        for name, did in found.classes.items()
        if did.count
    ]
    rows.append(["all", f"{found.total.count:,}", "100.0%", f"{found.total.count / max(found.wavefronts, 1):.1f}"])
    print_table(["class", "instructions", "share", "a wavefront"], rows, numbers=(1, 2, 3))
    print()
    if found.clauses:
        rows = [
            [name, f"{count:,}", f"{count / max(found.wavefronts, 1):.1f}"]
            for name, count in found.clauses.items()
            if count
        ]
        print_table(["control flow", "executed", "a wavefront"], rows, numbers=(1, 2))
        print()
    print_table(["measure", "value"], _facts(found.total), numbers=(1,))
    if found.lines:
        print()
        _print_lines(found)
    accesses = [row for row in found.instructions if row.did.accesses and row.did.count]
    if accesses and not instructions:
        print()
        print_table(_MEMORY_HEADS, [_memory_row(row) for row in accesses], title="Memory", numbers=_MEMORY_NUMBERS)
    if instructions:
        print()
        shown = [_instruction_row(row) for row in found.instructions]
        print_table(_MEMORY_HEADS, shown, title="Instructions", numbers=_MEMORY_NUMBERS)


def _facts(work: Work) -> list[list[str]]:
    from headwater.emulate.watch.stats import is_lds, is_vector

    vector, local = work.memory(is_vector), work.memory(is_lds)
    scalar = work.memory(lambda access: access.kind == "scalar")
    facts = [["VALU use", f"{work.utilisation:.1%}"], ["divergent VALU instructions", f"{work.divergence:.1%}"]]
    if work.slots:
        facts += [
            ["ALU slots filled", f"{work.packing:.1%}"],
            ["operations a group", f"{work.operations / max(work.valu, 1):.2f}"],
        ]
    if vector.requests:
        facts += [
            ["vector memory requests", f"{vector.requests:,}"],
            ["cache lines a request", f"{vector.lines / vector.requests:.2f}"],
            ["bytes of lines moved", memory_bytes(vector.moved_bytes)],
            ["bytes that lanes asked for", memory_bytes(vector.used_bytes)],
            ["asked for, of a byte moved", _ratio(vector.used_bytes, vector.moved_bytes)],
        ]
    if scalar.requests:
        facts.append(["scalar memory requests", f"{scalar.requests:,}"])
    if local.requests:
        facts += [
            ["local memory requests", f"{local.requests:,}"],
            ["local memory cycles", f"{local.cycles:,}"],
            ["local memory conflicts", f"{local.cycles / max(local.least_cycles, 1):.2f} ×"],
        ]
    return facts


def _print_lines(found: Statistics) -> None:
    from headwater.cli.terminal import print_table
    from headwater.emulate.watch.stats import is_lds, is_vector

    total = max(found.total.count, 1)
    most = sorted(found.lines.items(), key=lambda item: -item[1].count)[:_LINES]
    rows = []
    for (file, line), did in sorted(most):
        vector, local = did.memory(is_vector), did.memory(is_lds)
        rows.append(
            [
                f"{Path(file).name}:{line}",
                f"{did.count / total:.1%}",
                f"{did.utilisation:.0%}" if did.valu else "",
                *([f"{did.packing:.0%}" if did.slots else ""] if found.mode else []),
                f"{vector.lines / vector.requests:.1f}" if vector.requests else "",
                f"{local.cycles / max(local.least_cycles, 1):.2f} ×" if local.requests else "",
                _source(file, line),
            ]
        )
    heads = ["line", "instr.", "VALU use", *(["slots"] if found.mode else []), "lines/req.", "LDS", "source"]
    print_table(heads, rows, title="Source lines", numbers=range(1, len(heads) - 1))


def _source(file: str, line: int) -> str:
    lines = reading.lines(file)
    return lines[line - 1].strip()[:70] if 0 < line <= len(lines) else ""


_MEMORY_HEADS = ["address", "instruction", "line", "runs", "lanes", "lines/req.", "asked", "LDS"]
_MEMORY_NUMBERS = (0, 2, 3, 4, 5, 6, 7)


def _instruction_row(row: InstructionRow) -> list[str]:
    if row.did.accesses:
        return _memory_row(row)
    line = "" if row.line is None else str(row.line[1])
    lanes = f"{row.did.lanes / row.did.count:.1f}" if row.did.count and row.did.valu else ""
    return [row.place, row.text, line, f"{row.did.count:,}", lanes, "", "", ""]


def _memory_row(row: InstructionRow) -> list[str]:
    from headwater.emulate.watch.stats import is_lds

    line = "" if row.line is None else str(row.line[1])
    others, local = row.did.memory(lambda access: not is_lds(access)), row.did.memory(is_lds)
    requests = others.requests or local.requests
    lanes = f"{(others.lanes or local.lanes) / requests:.1f}" if requests else ""
    if row.did.accesses[0].kind == "scalar":
        lanes = ""
    return [
        row.place,
        row.text,
        line,
        f"{row.did.count:,}",
        lanes,
        f"{others.lines / others.requests:.2f}" if others.requests else "",
        _ratio(others.used_bytes, others.moved_bytes) if others.requests else "",
        f"{local.cycles / max(local.least_cycles, 1):.2f} ×" if local.requests else "",
    ]


def _ratio(asked: int, moved: int) -> str:
    """Over 1 where lanes ask for the same bytes, which are moved once."""
    return f"{asked / moved:.2f} ×" if moved else ""

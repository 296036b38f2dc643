"""How the time of each stage of translation grows with the size of the code, over a factor of 100.

    python -m benchmarks.scaling [--only WORD …] [--device CHIP …] [--command WORD …] [--largest 100] [--limit 120]

`benchmarks/scaling_programs.py` makes programs that are large in one way each. Each size is run by the command line's
functions in a process of its own with an empty cache, LLVM included, and each stage is charged with the processor time
that it takes by itself. ``growth`` is the exponent of the last step of ten: 1 is linear. Exit code 1 if a stage that
takes over a second grows by an exponent over `MOST_GROWTH`, or anything fails or takes longer than ``--limit``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.scaling_programs import PROGRAMS, Program
from headwater.base.garbage import uncollected
from headwater.base.recursion import FRAMES

ROOT = Path(__file__).resolve().parents[1]
MOST_GROWTH = 1.25
"""Twice what a linear stage takes, where the code grows twentyfold: what sorts, caches and memory cost."""
LEAST_SECONDS = 1.0
SHOWN_SECONDS = 0.05

STAGES: dict[str, tuple[str, ...]] = {
    "Brook+ front end": ("brook.translator:translate",),
    "IL parser": ("il.parser:parse",),
    "IL checker": ("il.checker:check", "il.legacy:modern"),
    "IL printer": ("il.printer:text",),
    "IL to OpenCL C": ("il.to_opencl:to_opencl", "il.to_opencl:interface"),
    "clang": ("opencl.clang:compile_to_ir",),
    "LLVM for IL": ("opencl.codegen_vliw:compile",),
    "IL of LLVM IR": ("il.from_llvm.translate:translate",),
    "VLIW structure": ("isa.vliw.compiler.structure:build",),
    "VLIW lower": ("isa.vliw.compiler.lower:Statements.run",),
    "VLIW optimise": (
        "isa.vliw.compiler.optimise:clean",
        "isa.vliw.compiler.optimise:rewrite",
        "isa.vliw.compiler.optimise:select_predicates",
    ),
    "VLIW reads": ("isa.vliw.compiler.merge_reads:join_fetches", "isa.vliw.compiler.merge_reads:pair_reads"),
    "VLIW verify": (
        "isa.vliw.compiler.verify:ssa",
        "isa.vliw.compiler.verify:vectors_of",
        "isa.vliw.compiler.verify:groups",
        "isa.vliw.compiler.verify:registers",
    ),
    "VLIW liveness": ("isa.vliw.compiler.liveness:Liveness.__init__",),
    "VLIW coalesce": ("isa.vliw.compiler.coalesce:leave_ssa", "isa.vliw.compiler.coalesce:bind_vectors"),
    "VLIW spill": (
        "isa.vliw.compiler.spill:measured",
        "isa.vliw.compiler.spill:choose",
        "isa.vliw.compiler.spill:spill",
    ),
    "VLIW schedule": ("isa.vliw.compiler.schedule:schedule",),
    "VLIW allocate": ("isa.vliw.compiler.allocate:allocate",),
    "VLIW emit": ("isa.vliw.compiler.emit:emit",),
    "VLIW encode": ("isa.vliw.encode:encode",),
    "VLIW decode": ("isa.vliw.decode:decode",),
    "VLIW print": ("isa.vliw.printer:text",),
    "VLIW emulator: read": ("emulate.vliw.program:read_program",),
    "VLIW emulator: write": ("emulate.vliw.translate:translate",),
    "LLVM for GCN": ("opencl.codegen_gcn:compile",),
    "lld for GCN": ("opencl.gcn_build:link",),
    "GCN decode": ("isa.gcn.decode:decode",),
    "GCN print": ("isa.gcn.listing:as_text",),
    "GCN emulator: read": ("emulate.gcn.program:read_program",),
    "GCN emulator: write": ("emulate.gcn.translate:translate",),
    "LLVM for emulators": ("emulate.wave.codegen:compile_wave",),
    "lld": ("native.shared:link_shared",),
    "cpu: link library": ("opencl.codegen:link",),
    "cpu: simplify": ("opencl.codegen:prepare",),
    "cpu: facts": ("opencl.codegen:_facts",),
    "cpu: vectorise": ("opencl.codegen:build",),
    "LLVM for cpu": ("opencl.codegen:compile_object",),
    "analyze": ("cli.analyze:main",),
    "cycle model": ("timing.simulate:Launch.__init__", "timing.simulate:Launch.report"),
}
"""Modules of the package and functions in them, by stage."""
REST = "the rest"

COMMANDS = ("run", "disasm", "analyze", "simulate")
"""What the sizes are given to. ``run`` is timed as a whole, of the others what they add to it."""


# -- one size, in a process of its own ---------------------------------------------------------------------------------


def now() -> float:
    """Processor time of this process and those that it has waited for: others that are busy change it little."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Clock:
    """Charges the time that passes to the stage that is at work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stack = [REST]
        self.since = now()

    def charge(self) -> None:
        """What has passed since the last change, to the stage that was at work."""
        until = now()
        stage = self.stack[-1]
        self.seconds[stage] = self.seconds.get(stage, 0.0) + until - self.since
        self.since = until

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as a part of a stage."""

        def run(*args: Any, **named: Any) -> Any:
            self.charge()
            self.stack.append(stage)
            try:
                return function(*args, **named)
            finally:
                self.charge()
                self.stack.pop()

        return run


def measure(name: str, scale: int, device: str, commands: Sequence[str], report: Callable[[object], None]) -> None:
    """Give one size of a program to the commands; ``report`` gets each command's stages, when it has ended."""
    from headwater import cli
    from headwater.native import worker

    def here(_self: object, function: str, *args: Any, **named: Any) -> Any:
        module, _, called = function.rpartition(":")
        with uncollected():  # as the compiler process does
            return getattr(import_module(f"headwater.{module}"), called)(*args, **named)

    worker.Worker.call = here  # type: ignore[method-assign]
    worker.call_concurrently = lambda function, calls, **named: [here(None, function, *a, **named) for a in calls]
    worker.Worker.start = lambda *_: None  # type: ignore[method-assign,assignment]
    clock = Clock()
    _instrument(clock)
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"program{program.suffix}"
        file.write_text(program.source(scale))
        for command in commands:
            clock.seconds, clock.since = {}, now()
            words = [command, str(file), "--device", device, *program.words(command, scale)]
            with contextlib.redirect_stdout(open(os.devnull, "w")):
                code = cli.main(words)
            clock.charge()
            report({"command": command, "code": code, "seconds": clock.seconds})


def _instrument(clock: Clock) -> None:
    """Have the functions of all stages charge the clock, wherever they are known by name."""
    replaced: dict[int, Callable[..., Any]] = {}
    for names in STAGES.values():
        for name in names:
            import_module(f"headwater.{name.partition(':')[0]}")
    for stage, names in STAGES.items():
        for name in names:
            module, _, path = name.partition(":")
            owner: Any = import_module(f"headwater.{module}")
            *outer, last = path.split(".")
            for one in outer:
                owner = getattr(owner, one)
            function = getattr(owner, last)
            replaced[id(function)] = clock.timed(stage, function)
            setattr(owner, last, replaced[id(function)])
    for key, module_ in list(sys.modules.items()):
        if key.startswith("headwater"):
            for name, value in list(vars(module_).items()):
                if callable(value) and id(value) in replaced:
                    setattr(module_, name, replaced[id(value)])


def child(name: str, scale: int, device: str, limit: float, commands: Sequence[str]) -> None:
    """The process of one size: prints what `measure` reports, a line each."""
    out = os.fdopen(os.dup(1), "w")
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))

    def report(what: object) -> None:
        print(json.dumps(what), file=out, flush=True)

    # As in the compiler process: LLVM's passes call themselves for what is nested.
    threading.stack_size(512 << 20)
    sys.setrecursionlimit(FRAMES)
    thread = threading.Thread(target=measure, args=(name, scale, device, commands, report))
    thread.start()
    thread.join()


# -- all sizes ---------------------------------------------------------------------------------------------------------


def sizes(largest: int) -> list[int]:
    """1, 10, 100 …"""
    return [10**k for k in range(round(math.log10(largest)) + 1)]


def run(name: str, scale: int, device: str, commands: Sequence[str], limit: float) -> tuple[dict[str, float], str]:
    """Seconds of each stage; what went wrong, if anything."""
    words = [sys.executable, "-m", "benchmarks.scaling", "--child", name, str(scale), device, str(limit), *commands]
    found: dict[str, float] = {}
    wrong = ""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "HEADWATER_CACHE_DIR": cache}
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    late = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    said = f"takes longer than {limit:g} s" if late else done.stderr
    answered = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for answer in answered:
        for stage, seconds in answer["seconds"].items():
            found[f"{answer['command']}: {stage}"] = seconds
    if len(answered) < len(commands) or any(answer["code"] for answer in answered):
        wrong = " ".join(said.split())[-200:]
    return found, wrong


def rows(found: list[dict[str, float]]) -> Iterator[tuple[str, list[float]]]:
    """Stages that matter, with their seconds by size."""
    for stage in dict.fromkeys(stage for one in found for stage in one):
        seconds = [one.get(stage, 0.0) for one in found]
        if max(seconds) >= SHOWN_SECONDS:
            yield stage, seconds


def growth(seconds: list[float]) -> float:
    """The exponent of the last step of ten; of two where the sizes are fewer."""
    if len(seconds) < 2 or not seconds[-2] or not seconds[-1]:
        return 0.0
    return math.log10(seconds[-1] / seconds[-2])


def table(programs: Sequence[Program], args: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    """Print each program's stages as they are known; everything that was measured, and whether all is well."""
    everything: list[dict[str, Any]] = []
    fine = True
    scales = sizes(args.largest)
    for program in programs:
        for device in program.devices:
            if args.devices and device not in args.devices:
                continue
            commands = [c for c in COMMANDS if c in (args.commands or program.commands) and c in program.commands]
            if device == "cpu":
                commands = [c for c in commands if c == "run"]
            found, wrongs = [], []
            for scale in scales:
                one, wrong = run(program.name, scale, device, commands, args.limit)
                found.append(one)
                wrongs.append(wrong)
                if wrong:
                    break
            counts = "  ".join(f"{program.count(scale):>8,}" for scale in scales)
            print(f"{program.name}, {device}".ljust(44) + counts + "    growth", flush=True)
            for stage, seconds in rows(found):
                exponent = growth(seconds)
                slow = exponent > MOST_GROWTH and seconds[-1] > LEAST_SECONDS
                fine &= not slow
                cells = "  ".join(f"{s:8.2f}" for s in seconds).ljust(10 * len(scales) - 2)
                print(f"  {stage}".ljust(44) + cells + f"    {exponent:6.2f}{' !' if slow else ''}", flush=True)
            for scale, wrong in zip(scales, wrongs, strict=False):
                if wrong:
                    fine = False
                    print(f"  {program.count(scale):,}: {wrong}", flush=True)
            everything.append({"program": program.name, "device": device, "seconds": found, "wrong": wrongs})
    return everything, fine


def main() -> int:
    """The command."""
    if sys.argv[1:2] == ["--child"]:
        name, scale, device, limit, *commands = sys.argv[2:]
        child(name, int(scale), device, float(limit), commands)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="programs whose names have such a word")
    parser.add_argument("--device", nargs="+", default=[], dest="devices", metavar="CHIP", help="only these devices")
    parser.add_argument("--command", nargs="+", default=[], dest="commands", choices=COMMANDS, help="only these")
    parser.add_argument("--largest", type=int, default=100, help="how many times the smallest (100)")
    parser.add_argument("--limit", type=float, default=120.0, help="processor seconds that a size may take (120)")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured")
    args = parser.parse_args()
    programs = [p for p in PROGRAMS.values() if not args.only or any(word in p.name for word in args.only)]
    everything, fine = table(programs, args)
    if args.json:
        Path(args.json).write_text(json.dumps(everything, indent=1))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())

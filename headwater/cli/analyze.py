"""Input: kernel files, chips and assumptions. Output: a report of the machine code and what limits it on each chip."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.cli.options import (
    Parser,
    add_build_options,
    add_language_option,
    add_triton_options,
    build_options,
    triton_code,
)
from headwater.errors import UsageError

_USAGE = "FILE … -d CHIP [-d CHIP …] [--kernel NAME] [--global N,…] [--local N,…] [options]"
_DESCRIPTION = """\
Report a kernel's machine code, what limits it on each chip, and its estimated time, without running it.

FILE is Brook+ (.br), OpenCL C (.cl), ATI IL (.il) or a code object. One kernel on one chip gives a full report; several
files, kernels or chips give a comparison in columns, with differences marked.
"""
_EXAMPLES = """\
examples:
  headwater analyze median.cl -d hd4870 -d hd5870 -d vega64
  headwater analyze matmul.cl -d vega64 --kernel mm --global 1024,1024 --local 16,16 --arg n=1024
  headwater analyze matmul.cl -d vega64 --trip L1=64 --hit 0.9 --source
  headwater analyze saxpy.cl -d hd4870 --set memory_clock_mhz=1200        what if the memory were faster
  headwater analyze before.cl after.cl -d vega64                          two versions side by side
  headwater analyze median.cl -d vega64 --html report.html                one page with charts
  headwater analyze --counts alu=1,fetch=1,read=1,write=1 -d hd3870 --global 2000000

exit codes: 0 done, 2 bad input, or a kernel that a chip cannot hold
"""


def parser() -> Parser:
    """The options of ``headwater analyze``."""
    made = Parser("analyze", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument(
        "files", metavar="FILE", nargs="*", help="kernel files (several are compared); - reads standard input"
    )
    made.add_argument(
        "--device", "-d", metavar="CHIP", action="append", default=[], help="a chip; repeat the option to compare chips"
    )
    made.add_argument(
        "--kernel", "-k", dest="kernels", metavar="NAME", action="append", default=[], help="only this kernel"
    )
    launch = made.add_argument_group("what is assumed of the launch")
    launch.add_argument(
        "--global",
        dest="size",
        metavar="N,…",
        help="work-items, x first (default: 1,048,576; of pixels and groups of two dimensions 1024,1024)",
    )
    launch.add_argument("--local", dest="group", metavar="N,…", help="work-items of a group (default: 256)")
    launch.add_argument(
        "--path", choices=["minimum", "average", "maximum"], default="average", help="through the kernel"
    )
    launch.add_argument("--trip", metavar="LOOP=N", action="append", default=[], help="how often a loop's body runs")
    launch.add_argument(
        "--arg",
        metavar="NAME=N",
        action="append",
        default=[],
        help="value of an integer argument, which may determine trip counts",
    )
    launch.add_argument(
        "--hit", metavar="SHARE", default="0", help="fraction of the bytes read that caches serve (0 to 1)"
    )
    launch.add_argument(
        "--random", action="store_true", help="assume that lanes access memory at random, not consecutively"
    )
    launch.add_argument("--lds", metavar="BYTES", default="0", help="local memory of __local arguments")
    launch.add_argument("--transfer", metavar="IN,OUT", help="bytes copied over PCI Express to the chip and back")
    what = made.add_argument_group("what if")
    what.add_argument(
        "--set",
        metavar="FIGURE=VALUE",
        action="append",
        default=[],
        help="also analyze the chip with this figure changed",
    )
    what.add_argument(
        "--counts", metavar="NAME=N,…", help="no file: alu, fetch, read, write (bytes), flops of a work-item"
    )
    what.add_argument("--pixel", action="store_true", help="with --counts: a pixel kernel's quads and blocks of 8 × 8")
    views = made.add_argument_group("views")
    views.add_argument("--source", action="store_true", help="also source and machine code, line by line")
    views.add_argument("--html", metavar="FILE", help="write one self-contained page with charts")
    views.add_argument("--json", action="store_true", help="print JSON: docs/analyzer.md has the schema")
    add_build_options(made)
    add_language_option(made)
    add_triton_options(made)
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    if not args.device:
        from headwater import chips

        raise UsageError("which chip?", hint=f"--device takes one of {', '.join(chips.names())}, or a TOML file")
    if args.counts is not None:
        return _spreadsheet(args)
    if not args.files:
        raise UsageError("which kernel?", hint="give a .cl, .br or .il file, or --counts alu=…,fetch=…")
    if args.pixel:
        raise UsageError("--pixel goes with --counts", hint="a kernel's code says whether it is one of pixels")
    from headwater.analyze import cached_views
    from headwater.base import writing
    from headwater.cli.progress import progress
    from headwater.cli.results import refuse_overwriting

    refuse_overwriting([args.html], args.files)
    width, colour = _terminal()
    views = ["json" if args.json else "text", *(["html"] if args.html else [])]
    files = [_text_of_stdin() if file == "-" else file for file in args.files]
    files = _with_triton(args, files)
    with progress(f"analyzing {', '.join(args.files)} for {', '.join(args.device)}"):
        texts, warnings = cached_views.views(
            files, args.device, _options(args), views, width=width, colour=colour, source=args.source
        )
    print(warnings, end="", file=sys.stderr)
    if args.html:
        writing.write({Path(args.html): texts["html"]})
        print(f"wrote {args.html}", file=sys.stderr)
    if not args.html or args.json:
        sys.stdout.write(texts["json"] if args.json else texts["text"])
    return 0


def _with_triton(args: argparse.Namespace, files: list[str]) -> list[str]:
    """The files, code objects in place of Triton's functions."""
    if not args.signature and not args.warps:
        return files
    import headwater
    from headwater.base import cache

    devices = [headwater.device(name) for name in args.device]
    targets = {device.chip.target for device in devices if device.kind == "simulated"}  # type: ignore[attr-defined]
    if len(targets) > 1:
        raise UsageError(
            f"Triton compiles for one processor at a time, not for {', '.join(sorted(targets))}",
            hint="analyze for one chip after the other",
        )
    found = []
    for file in files:
        made = triton_code(args, file, devices[0])
        assert made is not None
        code, name = made
        found.append(str(cache.put(cache.key(code, name), {name: code}) / name))
    return found


def _text_of_stdin() -> str:
    """A source from standard input, which is no path: it has a line break."""
    from headwater import sources

    text, _ = sources.given("-")
    if isinstance(text, bytes):
        raise UsageError("standard input holds machine code", hint="write it into a file, and name that")
    return f"{text}\n"


def _terminal() -> tuple[int, bool]:
    if not sys.stdout.isatty():
        return 120, False
    return shutil.get_terminal_size().columns, "NO_COLOR" not in os.environ


def _options(args: argparse.Namespace) -> dict[str, object]:
    """The arguments of `headwater.analyze.entry.analyze`."""
    found: dict[str, object] = {
        "path": args.path,
        "hit": number(args.hit, "--hit"),
        "coalesced": not args.random,
        "trips": dict(_assignment(word, "--trip", least=0) for word in args.trip),
        "arguments": dict(_assignment(word, "--arg") for word in args.arg),
        "lds_bytes": whole(args.lds, "--lds"),
        "set": list(args.set),
        "kernel": list(args.kernels),
        "options": build_options(args),
        "language": args.language or "",
    }
    if args.size:
        found["size"] = sizes(args.size, "--global")
    if args.group:
        found["group"] = sizes(args.group, "--local")
    if args.transfer:
        there, _, back = args.transfer.partition(",")
        found["transfer_bytes"] = (number(there, "--transfer"), number(back or "0", "--transfer"))
    return found


def _assignment(word: str, option: str, least: int | None = None) -> tuple[str, int]:
    name, equals, text = word.partition("=")
    try:
        value = int(text, 0)
    except ValueError:
        value = None
    if not equals or not name or value is None or (least is not None and value < least):
        raise UsageError(f"{option} takes NAME=WHOLE NUMBER, not {word!r}")
    return name.strip(), value


def number(text: str, option: str) -> float:
    """A number from 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise UsageError(f"{option} takes a number from 0, not {text.strip()!r}")
    return value


def whole(text: str, option: str) -> int:
    """A whole number from 0."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if value < 0:
        raise UsageError(f"{option} takes a whole number from 0, not {text.strip()!r}")
    return value


def sizes(text: str, option: str) -> tuple[int, ...]:
    """One to three whole numbers, set apart by commas."""
    parts = text.replace("x", ",").split(",")
    found = tuple(whole(part.strip(), option) for part in parts)
    if not 1 <= len(found) <= 3 or any(not 1 <= n < 1 << 62 for n in found):
        raise UsageError(f"{option} takes one to three numbers from 1, as 1024,1024, not {text!r}")
    return found


def _spreadsheet(args: argparse.Namespace) -> int:
    from headwater import chips
    from headwater.analyze.analysis import Question, spreadsheet
    from headwater.chips.whatif import changed

    if args.files:
        raise UsageError("--counts stands for a kernel's code", hint="leave FILE out")
    counts: dict[str, float] = {}
    for word in args.counts.split(","):
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"--counts takes NAME=N,…, not {word!r}", hint="alu=4,fetch=1,read=16,write=16, say")
        counts[name.strip()] = number(text, f"--counts {name}")
    options = _options(args)
    named = {name: options[name] for name in ("size", "group", "hit", "transfer_bytes") if name in options}
    question = Question(**named)  # type: ignore[arg-type]
    found = []
    for name in args.device:
        chip = chips.find(name)
        for variant in (chip, *([changed(chip, args.set)[0]] if args.set else [])):
            found.append((variant.name, spreadsheet(variant, counts, question, pixel=args.pixel)))
    if args.json:
        import json
        from dataclasses import asdict

        print(json.dumps([{"device": name, **asdict(one)} for name, one in found]))
        return 0
    from headwater.analyze.text import render_spreadsheet

    width, colour = _terminal()
    sys.stdout.write(render_spreadsheet(found, width=width, colour=colour))
    return 0

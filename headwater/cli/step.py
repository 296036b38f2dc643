"""Input: a kernel's file and its data. Output: its run, instruction by instruction (``headwater step``)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.cli.options import Parser
from headwater.cli.results import output_file, refuse_overwriting
from headwater.cli.run import add_launch_options, bind_words, compiled_program, output_lines, write_outputs
from headwater.errors import HeadwaterError, UsageError

if TYPE_CHECKING:
    from headwater.step import Session

_USAGE = "FILE [ARG …] --device CHIP [--kernel NAME] [--commands FILE] [--json] [options]"
_DESCRIPTION = """\
Run a kernel on a simulated chip instruction by instruction, forwards and backwards: breakpoints, registers of all 64
lanes, local memory, memory of arguments, watchpoints. On a terminal it asks for commands; help lists them. Otherwise it
reads them from standard input, or from a file with --commands, and behind the last one runs the kernel to its end.

Arguments are as for headwater run.
"""
_EXAMPLES = """\
examples:
  headwater step matmul.cl --device vega64 x=random:64x64 y=random:64x64 --local 16,16
  headwater step median.cl --device hd5870 --kernel medianfilter_rgba photo.jpg --commands look.txt -o out.png
  echo "break 5; continue; print v3 f32; differ 0 1" | headwater step vadd.cl random:256 random:256 --device vega64
"""


def parser() -> Parser:
    """The options of ``headwater step``."""
    made = Parser("step", _USAGE, _DESCRIPTION, _EXAMPLES)
    add_launch_options(made, simulated=True)
    what = made.add_argument_group("stepping")
    what.add_argument("--commands", metavar="FILE", help="read commands from a file: lines, or several with ; between")
    what.add_argument("--json", action="store_true", help="answer each command by a line of JSON: docs/step.md")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    import headwater
    from headwater.cli.launch import printf_on_stderr
    from headwater.cli.progress import progress
    from headwater.jobs.job import Job, choose_kernel
    from headwater.step import Session

    path = Path(args.file)
    refuse_overwriting(map(output_file, args.outputs), [path])
    device = headwater.device(args.device)
    if device.kind != "simulated":
        raise UsageError(
            f"{device.name} is not a simulated chip: its registers cannot be seen",
            hint="choose one with --device, such as vega64 or hd5870; headwater devices lists them",
        )
    with progress(f"compiling {path.name} for {device.name}"):
        program = compiled_program(args, device)
    name = choose_kernel(program, args.kernel, path)
    job = Job(program, name, *bind_words(program, name, args))
    lines = _read_commands(args)
    with Session(lambda: job.run(device)[0]) as session:
        if not _converse(session, lines, args):
            return 0
        with printf_on_stderr(args.json):
            outputs = session.finish()
    notes = write_outputs(job, outputs)
    if not args.json:
        print(output_lines(job, outputs, notes), end="")
    return 0


def _read_commands(args: argparse.Namespace) -> Iterator[str] | None:
    """The commands of a script; None: they are asked for."""
    if args.commands is not None:
        try:
            text = Path(args.commands).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {args.commands}: {error}") from None
        return _split(text.splitlines())
    if sys.stdin.isatty():
        return None
    return _split(sys.stdin if args.file != "-" else ())


def _split(lines: Any) -> Iterator[str]:
    """The commands of lines; empty ones are left out."""
    return (command.strip() for line in lines for command in line.split("#")[0].split(";") if command.strip())


def _converse(session: Session[Any], script: Iterator[str] | None, args: argparse.Namespace) -> bool:
    """Answer commands; False if the launch was left without results."""
    from headwater.cli.step_commands import Quit

    _answer(session, "where", args)
    for line in script if script is not None else _asked():
        try:
            _answer(session, line, args)
        except Quit:
            return False
        except HeadwaterError as error:
            if script is not None:
                raise
            print(f"error: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            if script is not None:
                raise
        if script is not None and session.stepper is not None and session.stepper.stop.reason == "interrupt":
            raise KeyboardInterrupt
    return script is not None


def _answer(session: Session[Any], line: str, args: argparse.Namespace) -> None:
    from headwater.cli.launch import printf_on_stderr
    from headwater.cli.step_commands import answer

    with printf_on_stderr(args.json):  # a command may end the launch
        lines = answer(session, line)
    _print(session, line, lines, args)


def _asked() -> Iterator[str]:
    """What is typed, until the end of the input; an empty line is the command before."""
    from rich.console import Console

    with suppress(ImportError):
        import readline  # noqa: F401 - gives the prompt its history
    console = Console(highlight=False)
    last = ""
    while True:
        try:
            line = console.input("[bold](step)[/] ").strip() or last
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            continue
        last = line
        yield from (command.strip() for command in line.split(";") if command.strip())


def _print(session: Session[Any], command: str, lines: Sequence[Any], args: argparse.Namespace) -> None:
    if args.json:
        import json

        state = None if session.stepper is None else session.stepper.state()
        print(json.dumps({"command": command, "lines": [line.plain for line in lines], "state": state}))
        return
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        console.print(line)

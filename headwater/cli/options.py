"""A command's options, each declared once. Input: words of a command line. Output: a namespace."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from headwater.base.numbers import natural
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.runtime.interface import Device

_NEGATIVE = re.compile(r"-([\d.]|(inf|nan)\b)")


class Parser(argparse.ArgumentParser):
    """argparse that raises UsageError, and lets negative numbers stand among the arguments."""

    def __init__(self, command: str, usage: str, description: str, examples: str) -> None:
        super().__init__(
            prog=f"headwater {command}",
            usage=f"headwater {command} {usage}",
            description=description,
            epilog=examples,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        self.command = command
        self.register("action", "once", _Once)

    def error(self, message: str) -> NoReturn:
        """A wrong option or a missing argument, as every other fault of the input."""
        # Of a missing FILE, argparse names the arguments too, which may be left out.
        raise UsageError(message.removesuffix(", ARG"), hint=f"see headwater {self.command} --help")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Options and arguments in any order; ``-1e-3`` is a number, not an option."""
        # A leading blank makes argparse take the word as an argument; readers of numbers and names strip it.
        prepared: list[str] = []
        for word in words:
            if prepared and prepared[-1] == "--options":
                prepared[-1] = f"--options={word}"  # its value begins with a dash
            else:
                prepared.append(f" {word}" if _NEGATIVE.match(word) else word)
        return self.parse_intermixed_args(prepared)


class _Once(argparse.Action):
    """A value that another of the same option must not silently replace: some commands take several devices."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        if before not in (None, self.default):
            parser.error(f"{option} is given twice, {before} and {value}: this takes one")
        setattr(namespace, self.dest, value)


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=100)


_BROOK_FLAGS = ("pp", "a")


def add_build_options(parser: Parser) -> None:
    """What all languages take when a kernel is compiled, and what Brook+ takes."""
    group = parser.add_argument_group("compiling")
    group.add_argument("-D", dest="defines", metavar="NAME[=VALUE]", action="append", default=[], help="define a macro")
    group.add_argument(
        "-I", dest="includes", metavar="DIR", action="append", default=[], help="look for #include files here too"
    )
    group.add_argument(
        "--options",
        metavar="TEXT",
        default="",
        help='further build options as clBuildProgram takes them, e.g. --options="-cl-fast-relaxed-math -cl-std=CL2.0"',
    )

    for flag, meaning in zip(_BROOK_FLAGS, ("obey #define, #if and their like", "mix types as C does"), strict=True):
        group.add_argument(f"-{flag}", action="store_true", help=f"Brook+: {meaning}, as brcc -{flag}")


def add_language_option(parser: Parser) -> None:
    """The language of a source whose name does not tell it."""
    parser.add_argument(
        "--language",
        choices=["brook", "opencl", "il", "hip"],
        metavar="NAME",
        help="brook, opencl, il or hip, if neither the file's name nor its text shows it",
    )


def add_triton_options(parser: Parser) -> None:
    """How a Triton function is compiled (``kernel.py::name``)."""
    group = parser.add_argument_group("a Triton function (kernel.py::name)")
    group.add_argument(
        "--signature",
        metavar="TYPES",
        help="its parameters' types and constants in order, as Triton's compiler takes them: '*fp32:16, i32, 256'",
    )
    group.add_argument("--warps", metavar="N", help="wavefronts of a work-group (default: 4)")


def triton_code(args: argparse.Namespace, file: str, device: Device) -> tuple[bytes, str] | None:
    """The code object of the Triton function that a command line names, for a chip, and its file's name; None if it
    names none."""
    if not args.signature:
        if args.warps:
            raise UsageError("--warps is of a Triton function", hint="say --signature, too")
        return None
    from headwater import sources
    from headwater.triton.compiling import compiled

    path, function = sources.chosen(file)
    if not function:
        raise UsageError(f"--signature is of a Triton function: {file} names none", hint=f"write {file}::NAME")
    code = compiled(path, function, args.signature, device, whole_from_one(args.warps or "4", "--warps"))
    return code, f"{function}.hsaco"


def build_options(args: argparse.Namespace) -> str:
    """The build options as one string."""
    import shlex

    parts = [f"-D {shlex.quote(item)}" for item in args.defines]
    parts += [f"-I {shlex.quote(item)}" for item in args.includes]
    parts += [f"-{flag}" for flag in _BROOK_FLAGS if getattr(args, flag)]
    return " ".join([*parts, args.options]).strip()


def print_warnings(program: object) -> None:
    """What was warned of when a program was compiled, on stderr."""
    warnings = getattr(program, "warnings", "")
    text = warnings if isinstance(warnings, str) else "".join(f"{warning}\n" for warning in warnings)
    print(text, end="", file=sys.stderr)


def whole_from_one(text: str, option: str) -> int:
    """The whole number, 1 or more, that an option was given."""
    number = natural(text)
    if not number:
        raise UsageError(f"{option} takes a whole number from 1, not {text.strip()[:40]!r}")
    return number


def positive(text: str | None, option: str, *, zero: bool = False) -> float | None:
    """The number above 0 (or 0, too) that an option was given; None if it was not given."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 < number < float("inf") or (zero and number == 0)):
        least = "of 0 or more" if zero else "greater than 0"
        raise UsageError(f"{option} takes a number {least}, not {text.strip()!r}")
    return number


def add_device_option(parser: Parser, what: str = "") -> None:
    """Where to run; ``what`` the option takes, if that is not any device."""
    parser.add_argument(
        "--device",
        "-d",
        metavar="DEVICE",
        action="once",
        help=f"{what or 'cpu (the default), gpu, opencl:0:0, part of a name or a simulated chip'}; "
        "headwater devices lists them",
    )

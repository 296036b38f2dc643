"""ATI IL files pass in; what is wrong with them, or their text in one form, or OpenCL C, passes out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headwater.cli.options import Parser
from headwater.cli.results import write_all
from headwater.errors import UsageError

_USAGE = "[--print | --opencl] [-o OUTPUT] FILE.il …"
_DESCRIPTION = """\
Check ATI IL programs, print them, or translate them to OpenCL C.

Without options each file is checked and a line says what it declares: textures (i), constant buffers (cb), views (uav),
the global buffer (g) and outputs (o). The first fault is told with its line and column, and the exit code is 2.
"""
_EXAMPLES = """\
examples:
  headwater ilc kernel.il                          check it
  headwater ilc --print kernel.il                  print it, indented, every mask and swizzle written out
  headwater ilc --opencl kernel.il -o kernel.cl    what runs on the cpu device and on GPUs
  headwater run kernel.il photo.jpg -o out.png     run it
"""


def parser() -> Parser:
    """The options of ``headwater ilc``."""
    made = Parser("ilc", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("files", metavar="FILE", nargs="+", help="ATI IL text (.il)")
    form = made.add_mutually_exclusive_group()
    form.add_argument("--print", dest="form", action="store_const", const="il", help="print the program as IL")
    form.add_argument("--opencl", dest="form", action="store_const", const="cl", help="translate it to OpenCL C")
    made.add_argument("-o", "--output", metavar="OUTPUT", help="write there instead of printing")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    if args.output and (len(args.files) > 1 or args.form is None):
        raise UsageError("-o takes the result of one file, with --print or --opencl")
    for name in args.files:
        text = _result(Path(name), args.form)
        if args.output:
            write_all({Path(args.output): text})
            print(args.output)
        else:
            print(text, end="")
    return 0


def _result(path: Path, form: str | None) -> str:
    from headwater.il.parser import parse
    from headwater.il.printer import text
    from headwater.il.to_opencl import to_opencl

    try:
        source = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    program = parse(source, str(path))
    translation = to_opencl(program, str(path))
    if form == "il":
        return text(program)
    if form == "cl":
        return translation.source
    kinds = {"ps": "pixel shader", "cs": "compute shader"}
    group = f", work-group {' x '.join(map(str, translation.group))}" if translation.group else ""
    names = ", ".join(p.name for p in translation.parameters) or "nothing"
    count = len(program.body) + sum(len(f.body) for f in program.functions)
    return f"{path}: {kinds[program.kind]}{group}, {count} instructions; takes {names}\n"

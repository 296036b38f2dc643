"""Input: ATI IL files, or OpenCL C for a VLIW chip. Output: what is wrong with them, or IL, or OpenCL C of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.base import reading, writing
from headwater.cli.compile import source_suffix
from headwater.cli.options import Parser, add_language_option
from headwater.cli.progress import progress
from headwater.cli.results import refuse_overwriting
from headwater.errors import UsageError

_USAGE = "[--print | --opencl] [-o OUTPUT] FILE.il … | --device CHIP [--kernel NAME] FILE.cl"
_DESCRIPTION = """\
Check ATI IL programs, print them, or translate them to OpenCL C.

Without options each file is checked, and one line lists its declarations: textures (i), constant buffers (cb), views
(uav), the global buffer (g) and outputs (o). The first error is printed with its line and column; the exit code is then
2. OpenCL C becomes IL for the VLIW chip that --device names.
"""
_EXAMPLES = """\
examples:
  headwater ilc kernel.il                          check it
  headwater ilc --print kernel.il                  print it, indented, every mask and swizzle written out
  headwater ilc --opencl kernel.il -o kernel.cl    what runs on the cpu device and on GPUs
  headwater ilc --print saxpy.cl --device hd5870   OpenCL C as IL for a chip
  headwater run kernel.il photo.jpg -o out.png     run it
"""


def parser() -> Parser:
    """The options of ``headwater ilc``."""
    made = Parser("ilc", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument(
        "files", metavar="FILE", nargs="+", help="ATI IL text (.il) or OpenCL C (.cl); - reads standard input"
    )
    add_language_option(made)
    form = made.add_mutually_exclusive_group()
    form.add_argument("--print", dest="form", action="store_const", const="il", help="print the program as IL")
    form.add_argument("--opencl", dest="form", action="store_const", const="cl", help="translate it to OpenCL C")
    made.add_argument(
        "--device", "-d", metavar="CHIP", action="once", help="the VLIW chip that OpenCL C is translated for"
    )
    made.add_argument("--kernel", "-k", metavar="NAME", help="only this kernel of OpenCL C")
    made.add_argument("-o", "--output", metavar="OUTPUT", help="write there instead of printing")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    if args.output and (len(args.files) > 1 or args.form is None):
        raise UsageError("-o takes the result of one file, with --print or --opencl")
    refuse_overwriting([args.output], args.files)
    for name in args.files:
        text = _result(Path(name), args.form, args.device, args.kernel, args.language)
        if args.output:
            writing.write({Path(args.output): text})
            print(args.output)
        else:
            print(text, end="")
    return 0


def _result(path: Path, form: str | None, device: str | None, kernel: str | None, language: str | None) -> str:
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read()
            source, path = data.decode("utf-8-sig", "replace"), Path(f"<stdin>{source_suffix(data, language)}")
        else:
            source = reading.text(path, "replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    with progress(f"translating {path}"):
        return _translated(path, source, form, device, kernel)


def _translated(path: Path, source: str, form: str | None, device: str | None, kernel: str | None) -> str:
    if path.suffix == ".cl":
        made = [_form(text, f"{path}:{name}", form) for name, text in _from_opencl(path, source, device, kernel)]
        return ("\n" if form else "").join(made)
    if path.suffix in (".br", ".brh"):
        raise UsageError(
            f"{path} is Brook+",
            hint=f"headwater compile {path} --device hd4870 --emit ir -o - prints its IL for a chip",
        )
    if device or kernel:
        raise UsageError(f"{path} is IL, for every chip", hint="--device and --kernel are for OpenCL C (.cl)")
    return _form(source, str(path), form)


def _from_opencl(path: Path, source: str, device: str | None, kernel: str | None) -> list[tuple[str, str]]:
    """Each kernel's name and its IL."""
    from headwater import chips
    from headwater.il import from_llvm

    if device is None:
        raise UsageError(f"{path} is OpenCL C", hint="say for which chip: --device hd5870, for one")
    chip = chips.find(device)
    if kernel is not None:
        return [(kernel, from_llvm.kernel(source, kernel, chip, str(path)).text)]
    found = from_llvm.kernels(source, chip, str(path)).kernels
    for one in found.values():
        one.require(str(path), source)
    return [(name, one.text) for name, one in found.items()]


def _form(source: str, name: str, form: str | None) -> str:
    from headwater.il.parser import parse
    from headwater.il.printer import text
    from headwater.il.to_opencl import interface, to_opencl

    program = parse(source, name)
    if form == "cl":
        return to_opencl(program, name).source
    translation = interface(program, name)
    if form == "il":
        return text(program)
    kinds = {"ps": "pixel shader", "cs": "compute shader"}
    group = f", work-group {' x '.join(map(str, translation.group))}" if translation.group else ""
    names = ", ".join(p.name for p in translation.parameters) or "nothing"
    count = len(program.body) + sum(len(f.body) for f in program.functions)
    return f"{name}: {kinds[program.kind]}{group}, {count} instructions; takes {names}\n"

"""Input: a Brook+ file. Output: readable OpenCL C and a Python module whose functions are its kernels."""

from __future__ import annotations

import keyword
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.base import reading, writing
from headwater.cli.options import Parser
from headwater.cli.progress import progress
from headwater.cli.results import refuse_overwriting
from headwater.errors import UsageError

_USAGE = "[-o PREFIX] [-D NAME[=VALUE]] [-pp] [-a] [-c] [-x] [-w LEVEL] FILE.br …"
_DESCRIPTION = """\
Translate Brook+ files, as AMD's brcc did.

For each FILE.br it writes PREFIX.cl, OpenCL C that any OpenCL driver compiles, and PREFIX.py, a typed Python
module: import it and call the kernels as functions of NumPy arrays. Either both are written or none. A file
of that name that brcc did not write is not overwritten.
"""
_EXAMPLES = """\
examples:
  headwater brcc black_scholes.br                  writes black_scholes.cl and black_scholes.py
  headwater brcc -o generated/bs -D STEPS=64 -pp binomial.br
  python -c "import black_scholes as b; print(b.black_scholes([100], [95], [1], 0.05, 0.2))"

Flags of the old brcc that only chose its targets or debugged it (-k -r -s -b -f -e -l -v, -p, -i, -n) are
accepted and change nothing.
"""

_MADE = re.compile(r"translated from .* by Headwater")
"""In the first line of all that is written here."""
_NEEDED = {"headwater", "numpy"}
"""What a module that is written here imports, besides Python's own."""
_NOT_BROOK = {".cl": "OpenCL C", ".il": "ATI IL"}
"""Sources of other languages, by the ends of their files' names."""


def parser() -> Parser:
    """The options of ``headwater brcc``."""
    made = Parser("brcc", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("files", metavar="FILE", nargs="+", help="Brook+ source (.br, .brh)")
    made.add_argument(
        "-o", dest="prefix", metavar="PREFIX", help="name of the results, with their folder, or FOLDER/ (default: FILE)"
    )
    made.add_argument("-D", dest="defines", metavar="NAME[=VALUE]", action="append", default=[], help="define a macro")
    made.add_argument("-pp", action="store_true", help="obey #define, #undef, #if, #ifdef, #else, #endif")
    made.add_argument("-a", action="store_true", help="weak typing: mix types as C does, with warnings")
    made.add_argument("-c", action="store_true", help="no constant memory for arrays of a stated size")
    made.add_argument("-x", action="store_true", help="warnings are errors")
    made.add_argument("-w", metavar="LEVEL", choices=["0", "1", "2", "3"], default="3", help="how much to warn: 0 to 3")
    ignored = made.add_argument_group("accepted, without effect")
    for flag in ("-k", "-r", "-s", "-b", "-f", "-e", "-l", "-v"):
        ignored.add_argument(flag, action="store_true", dest="ignored")
    for flag in ("-p", "-i", "-n"):
        ignored.add_argument(flag, action="append", dest="ignored_values")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    if args.prefix and len(args.files) > 1:
        raise UsageError("-o names the results of one file, and several files are given")
    options = [f"-D {shlex.quote(item)}" for item in args.defines]
    options += [f"-{flag}" for flag in ("pp", "a", "c", "x") if getattr(args, flag)]
    options.append(f"-w {args.w}")
    results: dict[Path, str] = {}
    for name in args.files:
        results |= _translate(Path(name), args.prefix, " ".join(options))
    refuse_overwriting(results, args.files)
    for path in results:
        _refuse_handwritten(path)
    writing.write(results)
    for path in results:
        print(path)
    return 0


def _check_name(base: Path) -> None:
    """UsageError if Python could not import a module of this name, or not work beside one."""
    name = base.name
    if not name.isidentifier() or keyword.iskeyword(name):
        fault = f"{name!r} is no name of a module that Python imports"
    elif name in sys.stdlib_module_names | _NEEDED:
        fault = f"{name}.py would stand in the way of another module, {name}"
    else:
        return
    other = re.sub(r"\W", "_", name.strip(".-")) or "kernels"
    if not other.isidentifier() or other == name:
        other = f"kernels_{other}"
    raise UsageError(fault, hint=f"choose another: -o {shlex.quote(str(base.with_name(other)))}")


def _refuse_handwritten(path: Path) -> None:
    """UsageError if a file of this name is there that no translation has written."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            known = _MADE.search(file.readline())
    except OSError:
        return  # none there; what else is wrong with the name is found when it is written
    if not known:
        raise UsageError(
            f"{path} is there, and was not made by brcc: it is not overwritten",
            hint="choose other names with -o PREFIX",
        )


def _translate(path: Path, prefix: str | None, options: str) -> dict[Path, str]:
    from headwater.brook.brcc import generate

    if path.suffix.lower() in _NOT_BROOK:
        raise UsageError(
            f"{path} is {_NOT_BROOK[path.suffix.lower()]}; brcc translates Brook+",
            hint=f"headwater run {shlex.quote(str(path))} runs it as it is",
        )
    try:
        source = reading.text(path, "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    base = Path(prefix) if prefix else path.with_suffix("")
    if prefix and prefix.endswith(("/", os.sep)):
        base /= path.stem
    _check_name(base)
    if not base.parent.is_dir():
        raise UsageError(f"cannot write {base}.cl: the directory {base.parent} does not exist")
    with progress(f"translating {path}"):
        generated = generate(source, str(path), options)
    for warning in generated.warnings:
        print(warning, file=sys.stderr)
    return {Path(f"{base}.cl"): generated.opencl, Path(f"{base}.py"): generated.python}

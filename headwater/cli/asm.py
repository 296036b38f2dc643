"""GCN assembly passes in; a code object that can be loaded and run passes out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headwater.cli.compile import SUFFIXES, add_target_options, read_text, target, write
from headwater.cli.options import Parser

_USAGE = "[--target gfx906 | --device vega64] [-o OUTPUT] [--emit hsaco|obj] FILE.s"
_DESCRIPTION = """\
Assemble GCN machine code, in the syntax of LLVM and ROCm.

What headwater compile --emit asm and headwater disasm write can be changed and assembled again.
"""
_EXAMPLES = """\
examples:
  headwater compile saxpy.cl --device vega64 --emit asm    writes saxpy.s
  headwater asm saxpy.s                                    writes saxpy.hsaco; saxpy.s says that it is for gfx900
  headwater run saxpy.hsaco --device vega64 …
  headwater asm loop.s --target gfx803 -o loop.hsaco
"""


def parser() -> Parser:
    """The options of ``headwater asm``."""
    made = Parser("asm", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("file", metavar="FILE", help="assembly (.s); - reads standard input")
    add_target_options(made)
    made.add_argument(
        "-o", "--output", metavar="OUTPUT", help="write there; - prints (default: FILE with a new suffix)"
    )
    made.add_argument(
        "--emit",
        choices=["hsaco", "obj"],
        default="hsaco",
        help="hsaco, a code object that can be loaded (default), or obj, the same before it is linked",
    )
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    chosen = target(args.target, args.device)
    from headwater.opencl import gcn

    text, name = read_text(args.file, ".s")
    made = gcn.assemble(text, name, chosen, version=args.code_object_version or 0, emit=args.emit)
    print(made.warnings, end="", file=sys.stderr)
    write(made.code, args.output, args.file, SUFFIXES[args.emit], binary=True)
    return 0

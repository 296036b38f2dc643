"""Input: GCN or VLIW assembly. Output: a code object or an image that can be loaded and run."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headwater.cli import vliw_code
from headwater.cli.compile import SUFFIXES, add_target_options, read_text, target, write
from headwater.cli.options import Parser
from headwater.errors import UsageError

_USAGE = "[--target gfx906 | --device vega64] [-o OUTPUT] [--emit hsaco|obj|image|raw] FILE"
_DESCRIPTION = """\
Assemble GCN machine code, in the syntax of LLVM and ROCm, or VLIW machine code (HD 2000 to HD 6000), in that of AMD's
disassembler.

The output of headwater compile --emit asm and of headwater disasm can be edited and assembled again. A text is VLIW
code if --target or --device is a VLIW chip, if the text itself names such a target, or if its suffix is .isa.
"""
_EXAMPLES = """\
examples:
  headwater compile saxpy.cl --device vega64 --emit asm    writes saxpy.s
  headwater asm saxpy.s                                    writes saxpy.hsaco; saxpy.s says that it is for gfx900
  headwater run saxpy.hsaco --device vega64 …
  headwater asm loop.s --target gfx803 -o loop.hsaco
  headwater asm matmul.isa --device hd5870                 writes matmul.cal, a CAL image
"""
_ASSEMBLED = ("image", "raw")
"""What can be made of VLIW assembly."""


def parser() -> Parser:
    """The options of ``headwater asm``."""
    made = Parser("asm", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("file", metavar="FILE", help="assembly (.s, .isa); - reads standard input")
    add_target_options(made)
    made.add_argument(
        "-o", "--output", metavar="OUTPUT", help="write there; - prints (default: FILE with a new suffix)"
    )
    made.add_argument(
        "--emit",
        choices=["hsaco", "obj", *_ASSEMBLED],
        help="for GCN hsaco, a code object that can be loaded (default), or obj, the same before it is linked; for "
        "VLIW chips image, a CAL image (default), or raw, the machine code alone",
    )
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    vliw = vliw_code.target(args.target, args.device)
    chosen = "" if vliw else target(args.target, args.device)
    text, name = read_text(args.file)
    if vliw or (not chosen and vliw_code.is_listing(args.file, text)):
        emit = args.emit or "image"
        if emit not in _ASSEMBLED or args.code_object_version:
            raise UsageError("code objects are for GCN chips", hint="VLIW chips have --emit image and --emit raw")
        write(vliw_code.assembled(text, name, vliw, emit), args.output, args.file, vliw_code.EMITTED[emit], binary=True)
        return 0
    emit = args.emit or "hsaco"
    if emit in _ASSEMBLED:
        raise UsageError(f"--emit {emit} is for VLIW chips", hint="name one: --device hd5870, or --target cypress")
    from headwater.opencl.gcn_build import assemble

    made = assemble(text, name, chosen, version=args.code_object_version or 0, emit=emit)
    print(made.warnings, end="", file=sys.stderr)
    write(made.code, args.output, args.file, SUFFIXES[emit], binary=True)
    return 0

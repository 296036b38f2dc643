"""Input: a source. Output: a code object or CAL image, or what comes before it, for an AMD GPU that need not be
here."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from headwater import sources
from headwater.base import reading, writing
from headwater.cli import vliw_code
from headwater.cli.options import Parser, add_build_options, add_language_option, build_options
from headwater.cli.progress import progress
from headwater.cli.results import refuse_overwriting
from headwater.errors import UsageError
from headwater.opencl.kernels import hip_options

_USAGE = "[--target gfx906 | --device vega64] [-o OUTPUT] [--emit KIND] [-D NAME[=VALUE]] [-I DIR] FILE"
_DESCRIPTION = """\
Compile to machine code for an AMD GPU; no GPU is needed.

For GCN and CDNA, OpenCL C becomes a code object (.hsaco), as ROCm's compiler makes it. For the VLIW chips (HD 2000 to
HD 6000), OpenCL C, Brook+ or ATI IL becomes a CAL image (.cal). headwater run runs both, headwater disasm shows them.
"""
_EXAMPLES = """\
examples:
  headwater compile matmul.cl --device vega64              writes matmul.hsaco
  headwater compile matmul.cl --target gfx906 -o m.hsaco -D TILE=16
  headwater compile matmul.cl --target gfx803 --emit asm -o -     print assembly
  headwater compile matmul.cl --device mi100 --kernel mm --emit ir
  headwater compile matmul.cl --device hd5870              writes matmul.cal
  headwater compile matmul.il --target rv770 --emit asm    writes matmul.isa

To change the machine code by hand: --emit asm, edit, headwater asm.
"""
SUFFIXES = {"hsaco": ".hsaco", "obj": ".o", "asm": ".s", "ir": ".ll"}
_EMITTED = (*SUFFIXES, *(kind for kind in vliw_code.EMITTED if kind not in SUFFIXES))
_LARGEST_GROUP = 256
# What GCN code is not compiled from at once, and the command that makes OpenCL C of it.
_TRANSLATED = {"brook": ("Brook+", "brcc"), "il": ("ATI IL", "ilc --opencl")}


def parser() -> Parser:
    """The options of ``headwater compile``."""
    made = Parser("compile", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument(
        "file", metavar="FILE", help="source: .cl, .hip, .cu; for VLIW chips also .br, .il; - reads standard input"
    )
    add_target_options(made)
    made.add_argument(
        "-o", "--output", metavar="OUTPUT", help="write there; - prints (default: FILE with a new suffix)"
    )
    made.add_argument(
        "--emit",
        choices=_EMITTED,
        help="hsaco, a code object that can be loaded (default); obj, the same before it is linked; asm, assembly; "
        "ir, LLVM IR after optimisation. For VLIW chips: image, a CAL image (default); raw, the machine code alone; "
        "asm, assembly; ir, ATI IL",
    )
    made.add_argument(
        "--kernel",
        "-k",
        dest="kernels",
        metavar="NAME",
        action="append",
        default=[],
        help="only this kernel; may be repeated",
    )
    made.add_argument(
        "--largest-group",
        metavar="N",
        type=int,
        help="largest work-group, for kernels without reqd_work_group_size: a smaller one leaves each work-item more "
        "registers (GCN; default: 256, at most 1024)",
    )
    add_build_options(made)
    add_language_option(made)
    return made


def add_target_options(made: Parser) -> None:
    """What chip the code is for, and in what format."""
    where = made.add_mutually_exclusive_group()
    where.add_argument(
        "--target", metavar="GFX", help="LLVM's name of the chip: gfx600 to gfx950, fiji, hawaii, cypress, rv770, …"
    )
    where.add_argument(
        "--device",
        "-d",
        metavar="CHIP",
        action="once",
        help="a chip of headwater devices (vega64), or a TOML file of one",
    )
    made.add_argument(
        "--code-object-version", metavar="N", type=int, choices=[4, 5, 6], help="of the result: 4, 5 (default) or 6"
    )


def target(given: str | None, device: str | None) -> str:
    """The target that was asked for, "" if none was; UsageError for chips that have no GCN machine code."""
    if device is None:
        return given or ""
    from headwater import chips

    chip = chips.find(device)
    if chip.is_vliw:
        raise UsageError(f"{chip.name} has no GCN machine code", hint="choose a GCN or CDNA chip of headwater devices")
    return chip.target


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    if vliw_code.target(args.target, args.device):
        return _image(args)
    if args.emit in ("image", "raw"):
        raise UsageError(f"--emit {args.emit} is for VLIW chips", hint="name one: --device hd5870, or --target cypress")
    emit = args.emit or "hsaco"
    chosen = target(args.target, args.device)
    if not chosen:
        raise UsageError("no chip to compile for is given", hint="--device vega64, say, or --target gfx906")
    from headwater.opencl import gcn

    if args.language not in (None, "opencl", "hip"):
        raise UsageError("for GCN chips this compiles OpenCL C and HIP", hint="leave --language out")
    source, name = read_text(args.file)
    language, options = sources.language_of(source, name, args.language), build_options(args)
    if language in _TRANSLATED:
        title, command = _TRANSLATED[language]
        hint = f"headwater {command} {args.file} translates it"
        raise UsageError(f"{args.file} is {title}, and this compiles OpenCL C", hint=hint)
    if args.language is None and Path(name).suffix == ".py":
        hint = "a kernel's attribute opencl is the OpenCL C that it becomes"
        raise UsageError(f"{args.file} is Python, and this compiles OpenCL C", hint=hint)
    if language == "hip":
        options = hip_options(options)
    with progress(f"compiling {name} for {args.device or chosen}"):
        made = gcn.compile_code_object(
            source,
            name,
            options,
            chosen,
            emit=emit,
            only=tuple(dict.fromkeys(args.kernels)),
            variant=gcn.Variant(
                args.code_object_version or gcn.DEFAULT_VERSION,
                _LARGEST_GROUP if args.largest_group is None else args.largest_group,
            ),
        )
    print(made.warnings, end="", file=sys.stderr)
    if not made.kernels:
        print(f"headwater: {name} has no kernels", file=sys.stderr)
    write(made.code, args.output, args.file, SUFFIXES[emit], binary=emit in ("hsaco", "obj"))
    return 0


def _image(args: Namespace) -> int:
    """Compile for a VLIW chip."""
    emit = args.emit or "image"
    if emit not in vliw_code.EMITTED:
        raise UsageError(f"--emit {emit} is for GCN chips", hint="VLIW chips have image, raw, asm and ir")
    if args.code_object_version is not None or args.largest_group is not None:
        raise UsageError("--code-object-version and --largest-group are for GCN chips", hint="leave them out")
    suffix = Path(args.file).suffix
    if args.file == "-":
        data = sys.stdin.buffer.read()
        name = f"<stdin>{source_suffix(data, args.language)}"  # the suffix says the language, here too
    elif suffix in vliw_code.SOURCE_SUFFIXES:
        data, name = read_text(args.file)[0].encode("utf-8", "surrogateescape"), args.file
    else:
        raise UsageError(f"{args.file} is not a source", hint="sources end in .cl, .br or .il")
    made = vliw_code.emitted(vliw_code.compiled(args, data, name), name, emit)
    write(made, args.output, args.file, vliw_code.EMITTED[emit], binary=emit in ("image", "raw"))
    return 0


def source_suffix(data: bytes, language: str | None) -> str:
    """The suffix of a file that would hold what standard input does. UsageError if that is not known."""
    found = sources.language_of(data.decode("utf-8-sig", "replace"), "standard input", language)
    return {"opencl": ".cl", "brook": ".br", "il": ".il", "hip": ".hip"}[found]


def read_text(file: str) -> tuple[str, str]:
    """A source file's text, and the name that messages call it by."""
    if file == "-":
        return sys.stdin.read(), "<stdin>"
    try:
        return reading.text(Path(file), "surrogateescape"), file
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None


def write(code: bytes, output: str | None, file: str, suffix: str, *, binary: bool) -> None:
    """Write the result where it was asked for, or beside the source, and say where."""
    if output is None and file == "-":
        output = "-"
    if output == "-":
        if binary and sys.stdout.isatty():
            raise UsageError("this is binary output, which a terminal cannot show", hint="give -o FILE, or --emit asm")
        sys.stdout.flush()
        sys.stdout.buffer.write(code)
        return
    path = Path(output) if output else Path(file).with_suffix(suffix)
    refuse_overwriting([path], [file])
    writing.write({path: code})
    print(path)

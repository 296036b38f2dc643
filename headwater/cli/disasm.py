"""Input: a code object, or a kernel's source. Output: its machine code as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.base import reading, writing
from headwater.cli import vliw_code
from headwater.cli.compile import source_suffix, target
from headwater.cli.options import Parser, add_build_options, add_language_option, build_options
from headwater.cli.progress import progress
from headwater.cli.results import refuse_overwriting
from headwater.errors import UsageError
from headwater.opencl.kernels import hip_options

if TYPE_CHECKING:
    from argparse import Namespace

    from headwater.isa.gcn.objects import CodeObject, Function, KernelObject

_USAGE = "[--device vega64 | --target gfx906] [--kernel NAME] [--source] [--bytes] [--format text|json|asm] FILE"
_DESCRIPTION = """\
Show the machine code of kernels for AMD GPUs.

FILE is one of:
  for GCN and CDNA   a code object (.hsaco, .co, a binary of AMD's OpenCL 1.x driver), another ELF file of machine code
                     (unlinked or stripped), or OpenCL C (.cl) or Brook+ (.br)
  for VLIW chips     a CAL image, an object of LLVM's r600 back end, a binary of AMD's OpenCL 1.x driver, OpenCL C,
                     Brook+ or ATI IL (.il), or raw machine code (with --target cypress or --device hd5870)
  for --device cpu   OpenCL C or Brook+; the output is this machine's assembly for a launch of 1,048,576 work-items
Source is compiled first, for the chip that --device or --target names.
"""
_SOURCES = (".cl", ".br", ".brh", ".hip", ".cu")
_NOT_CODE = {".il": "ATI IL", ".s": "assembly", ".isa": "assembly"}
_HINTS = {
    ".il": "name a VLIW chip to compile it for, as --device hd5870",
    ".s": "headwater asm {} makes a code object of it",
    ".isa": "headwater asm {} makes an image of it",
}
_EXAMPLES = """\
examples:
  headwater disasm matmul.hsaco
  headwater disasm matmul.cl --device vega64 --source      with the lines of the source in between
  headwater disasm matmul.cl --target gfx803 --kernel mm --bytes
  headwater disasm matmul.hsaco --format asm > matmul.s    to be changed, and assembled by headwater asm matmul.s
  headwater disasm matmul.cal                              a CAL image's VLIW code
  headwater disasm shader.bin --target rv770               machine code alone
  headwater disasm matmul.il --device hd3870               IL, compiled for that chip
  headwater disasm matmul.cl --device cpu                  what runs on this machine
"""


def parser() -> Parser:
    """The options of ``headwater disasm``."""
    made = Parser("disasm", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("file", metavar="FILE", help="a code object, OpenCL C or Brook+; - reads standard input")
    where = made.add_mutually_exclusive_group()
    where.add_argument(
        "--target", metavar="GFX", help="compile for this processor (gfx600 to gfx950, …), or the processor of raw code"
    )
    where.add_argument(
        "--device", "-d", metavar="CHIP", action="once", help="the same, by the name of a chip (vega64); or cpu"
    )
    made.add_argument(
        "--kernel",
        "-k",
        dest="kernels",
        metavar="NAME",
        action="append",
        default=[],
        help="only this kernel or function",
    )
    made.add_argument("--source", action="store_true", help="show the source lines between the instructions")
    made.add_argument("--bytes", action="store_true", help="show the encodings, as 32-bit words")
    made.add_argument(
        "--format",
        choices=["text", "json", "asm"],
        default="text",
        help="text (default); json; asm, which headwater asm assembles again to an equivalent code object",
    )
    made.add_argument("--json", action="store_true", help="the same as --format json")
    made.add_argument("-o", "--output", metavar="OUTPUT", default="-", help="write there instead of printing")
    add_build_options(made)
    add_language_option(made)
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    shape = "json" if args.json else args.format
    if shape != "text" and (args.source or args.bytes):
        raise UsageError(f"--source and --bytes belong to the text form, not to {shape}")
    if shape == "asm" and args.kernels:
        raise UsageError("--format asm writes the whole code object", hint="leave --kernel out")
    refuse_overwriting([args.output], [args.file])
    data, name = _read(args.file)
    if args.file == "-" and (args.language or _is_source(data)):
        # What follows tells the language by the file's suffix.
        args.file = name = f"<stdin>{source_suffix(data, args.language)}"
    if args.device == "cpu":
        _put(_host_assembly(args, data, name, shape), args.output)
        return 0
    vliw = vliw_code.target(args.target, args.device)
    if vliw or _is_vliw(data):
        _put(vliw_code.disassembly(args, data, name, vliw or args.target or "", shape), args.output)
        return 0
    code, sources = _load(args, data, name)
    whole: list[KernelObject | Function] = [*code.kernels.values(), *code.functions]
    parts = [code.part(name) for name in dict.fromkeys(args.kernels)] or whole
    if shape == "asm":
        from headwater.isa.gcn import assembly

        text = assembly.text(code)
    else:
        from headwater.isa.gcn import listing

        if shape == "json":
            text = json.dumps(listing.as_json(code, parts)) + "\n"
        else:
            lines = listing.readable_sources(sources) if args.source else None
            text = listing.as_text(code, parts, show_bytes=args.bytes, source=lines)
    _put(text, args.output)
    return 0


_ITEMS = 1 << 20  # of the launch whose code for the cpu device is shown, as many as analyze takes


def _host_assembly(args: Namespace, data: bytes, name: str, shape: str) -> str:
    """This machine's assembly of a source's kernels, for launches of `_ITEMS` work-items."""
    from headwater import sources
    from headwater.opencl import host

    if shape == "json" or args.source or args.bytes:
        raise UsageError("for the cpu device only assembly is available", hint="leave --json, --source, --bytes out")
    if sources.is_machine_code(data, args.file):
        raise UsageError(f"{name} is machine code of another processor", hint="name a source, or leave --device out")
    text, options = data.decode("utf-8-sig", "surrogateescape"), build_options(args)
    language = sources.language_of(text, args.file, args.language)
    if language == "il":
        raise UsageError(f"{name} is ATI IL", hint=f"headwater ilc --opencl {name} translates it to OpenCL C")
    if language == "brook":
        from headwater.runtime.brook.program import translate

        text, options = translate(text, name, options).source, ""
    if language == "hip":
        options = hip_options(options)
    with progress(f"compiling {name} for cpu"):
        module = host.load(text, name, options)
    print(module.warnings, end="", file=sys.stderr)
    for kernel in args.kernels:
        if kernel not in module.kernels:
            from headwater.runtime.program import unknown_kernel

            raise unknown_kernel(kernel, list(module.kernels), name)
    found = []
    for kernel in args.kernels or module.kernels:
        wanted = module.kernels[kernel].reqd_group_size
        size = (
            (_ITEMS, *(1,) * 2)
            if wanted is None
            else tuple(-(-n // g) * g for n, g in zip((_ITEMS, 1, 1), wanted, strict=True))
        )
        with progress(f"compiling {name} for cpu"):
            found.append(module.assembly(kernel, (size[0], size[1], size[2]), wanted))
    return "\n".join(found)


def _put(text: str, output: str) -> None:
    if output == "-":
        sys.stdout.write(text)
    else:
        writing.write({Path(output): text})


def _read(file: str) -> tuple[bytes, str]:
    """The file's bytes, and the name that messages call it by."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else reading.contents(file)
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    return data, "<stdin>" if file == "-" else file


def _is_source(data: bytes) -> bool:
    """Whether standard input holds a text; raw machine code has bytes that no text has."""
    from headwater.sources import is_machine_code

    return not is_machine_code(data, "") and b"\0" not in data


def _is_vliw(data: bytes) -> bool:
    if data[:4] != b"\x7fELF":
        return False
    from headwater.isa.vliw.image_files import is_image

    return is_image(data)


def _load(args: Namespace, data: bytes, name: str) -> tuple[CodeObject, dict[str, str]]:
    """The code object, and the texts of source files that no file may have."""
    from headwater.isa.gcn.codeobject import load, load_to_read

    suffix = Path(args.file).suffix
    chosen = target(args.target, args.device)
    if suffix in _NOT_CODE:
        raise UsageError(f"{name} is {_NOT_CODE[suffix]}, no machine code", hint=_HINTS[suffix].format(name))
    if suffix not in _SOURCES:
        processor = ""
        if chosen:
            from headwater.opencl.gcn import processor_of

            processor = processor_of(chosen)
        code = load_to_read(data, name, processor)
        if processor not in ("", code.target):
            raise UsageError(f"{name} holds code for {code.target}, not {chosen}", hint="leave --target out")
        return code, {}
    if not chosen:
        raise UsageError("no chip to compile for is given", hint="--device vega64, say, or --target gfx906")
    from headwater.opencl.gcn import compile_code_object

    text = data.decode("utf-8-sig", "surrogateescape")
    options = build_options(args)
    if suffix in (".hip", ".cu"):
        options = hip_options(options)
    elif suffix != ".cl":
        from headwater.runtime.brook.program import translate

        text = translate(text, name, options).source
        options = ""
    with progress(f"compiling {name} for {args.device or chosen}"):
        made = compile_code_object(text, name, options, chosen)
    print(made.warnings, end="", file=sys.stderr)
    return load(made.code, name), {name: text}

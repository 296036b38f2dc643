"""Input: a Triton function of a Python file, its signature and a chip. Output: a code object that says what it takes.

Triton's code objects name neither arguments nor types, and leave the work-group and its LDS to the launcher. What is
made here has all of that in its metadata, so the commands for machine code can launch it.
"""

from __future__ import annotations

import ast
import runpy
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headwater.errors import DeviceError, SourceError, Span, UsageError
from headwater.isa.elf import Elf
from headwater.isa.gcn.codeobject import NT_AMDGPU_METADATA
from headwater.isa.msgpack import pack, unpack
from headwater.triton.binary import HIDDEN_ARGUMENTS, Description

if TYPE_CHECKING:
    from headwater.runtime.interface import Device

_C_TYPES: Final = {
    "fp16": "half", "fp32": "float", "fp64": "double", "i8": "char", "i16": "short", "i32": "int", "i64": "long",
    "u8": "uchar", "u16": "ushort", "u32": "uint", "u64": "ulong", "i1": "uchar",
}  # fmt: skip
"""OpenCL's names of Triton's types; an argument of another has none."""

_PROGRAM_HEADER, _SECTION_HEADER = 56, 64
_NOTE = 4  # PT_NOTE
_NOTES = 7  # SHT_NOTE


def compiled(file: str, function: str, signature: str, device: Device, warps: int) -> bytes:
    """The code object of ``function`` in ``file``, which is executed, for a simulated chip.

    ``signature``: the types of all parameters in order, with commas between them, as Triton's ahead-of-time compiler
    takes it: ``*fp32`` for a pointer, ``i32`` for a number, ``:16`` behind it if it is a multiple of 16, a number for a
    constant. ``warps``: wavefronts of a work-group.

    UsageError for a signature that does not fit, SourceError for what Triton refuses, DeviceError for a chip that
    Triton does not compile for.
    """
    from headwater.triton.driver import activated

    with activated(device, None):
        chosen = _function(file, function)
        import triton
        from triton.compiler import ASTSource

        names = list(chosen.arg_names)
        types, constants, hints = _parsed(signature, names, function)
        target = triton.runtime.driver.active.get_current_target()
        if warps < 1 or warps & (warps - 1):
            raise UsageError(f"{warps} wavefronts", hint="Triton takes a power of two: 1, 2, 4, 8")
        try:
            made = triton.compile(
                ASTSource(chosen, types, constants, hints), target=target, options={"num_warps": warps}
            )
        except DeviceError:
            raise
        except Exception as error:  # whatever Triton raises of a program, its message says where
            raise SourceError(f"Triton does not compile {function}: {error}") from None
    about = Description.of(made.metadata._asdict())
    if about.global_scratch_size or about.profile_scratch_size:
        raise UsageError(f"{function} wants scratch memory from Triton's launcher", hint="launch it from Python")
    taken = {name: kind for name, kind in types.items() if kind != "constexpr"}
    return described(made.asm["hsaco"], about, taken, file)


def _function(file: str, name: str) -> Any:
    """Triton's function of a file, without what tunes it."""
    from triton.runtime.jit import JITFunction

    found = _members(file).get(name)
    while found is not None and not isinstance(found, JITFunction) and hasattr(found, "fn"):
        found = found.fn
    if not isinstance(found, JITFunction):
        raise UsageError(f"{file} has no Triton function {name}")
    return found


def _members(file: str) -> dict[str, Any]:
    """What a Python file defines, which is executed."""
    if not Path(file).is_file():
        raise UsageError(f"no such file: {file}")
    try:
        return runpy.run_path(file)
    except SyntaxError as error:
        span = Span(error.filename or file, error.lineno or 1, error.offset or 1)
        raise SourceError(error.msg, span, source_line=(error.text or "").rstrip()) from None
    except Exception as error:  # whatever the file raises
        raise UsageError(f"{file} does not run: {type(error).__name__}: {error}", hint=f"python {file}") from error


def _parsed(
    signature: str, names: list[str], function: str
) -> tuple[dict[str, str], dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    """The types, the constants and what is known of values, by the parameters' names and places."""
    words = [word.strip() for word in signature.split(",")]
    if len(words) != len(names):
        raise UsageError(
            f"the signature has {len(words)} parts, {function} has {len(names)} parameters: {', '.join(names)}",
            hint="--signature '*fp32:16, *fp32:16, i32, 256'",
        )
    types: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    hints: dict[tuple[int, ...], Any] = {}
    for place, (name, word) in enumerate(zip(names, words, strict=True)):
        kind, colon, hint = word.partition(":")
        plain = kind.removeprefix("*")
        if plain in _C_TYPES or plain in ("bf16", "fp8e4b8", "fp8e5b16", "fp8e4nv", "fp8e5"):
            types[name] = kind
            if colon and hint.strip() == "16":
                hints[place,] = [["tt.divisibility", 16]]
            elif colon:
                raise UsageError(f"{name}: {word!r}", hint="only :16 is known, a multiple of 16")
            continue
        try:
            constants[place,] = ast.literal_eval(word)
        except (ValueError, SyntaxError):
            raise UsageError(
                f"{name}: {word!r} is no type of Triton's and no constant", hint="*fp32, i32, 256"
            ) from None
        types[name] = "constexpr"
    return types, constants, hints


def described(code: bytes, about: Description, types: Mapping[str, str], filename: str) -> bytes:
    """Triton's code object with names and types of the arguments, without those that its launcher adds, with the
    work-group's size and the LDS of a launch."""
    elf = Elf(code, filename)
    note = next(note for note in elf.notes if note.kind == NT_AMDGPU_METADATA)
    metadata = unpack(note.data)
    (kernel,) = metadata["amdhsa.kernels"]
    args = kernel[".args"][:-HIDDEN_ARGUMENTS]
    for arg, (name, kind) in zip(args, types.items(), strict=True):
        plain = _C_TYPES.get(kind.removeprefix("*"))
        arg[".name"] = name
        if plain is not None:
            arg[".type_name"] = f"{plain}*" if kind.startswith("*") else plain
    kernel[".args"] = args
    kernel[".reqd_workgroup_size"] = [about.num_warps * about.warp_size, 1, 1]
    kernel[".group_segment_fixed_size"] = about.shared
    made = bytearray(code)
    symbol = next(one for one in elf.symbols if one.name == kernel[".symbol"])
    section = elf.sections[symbol.section]
    struct.pack_into("<I", made, section.offset + symbol.value - section.address, about.shared)
    _replace_note(made, pack(metadata))
    return bytes(made)


def _replace_note(code: bytearray, data: bytes) -> None:
    """Put new metadata behind the file's end, and let the headers of its notes lead there."""
    code += bytes(-len(code) % 8)
    start = len(code)
    code += struct.pack("<III8s", 7, len(data), NT_AMDGPU_METADATA, b"AMDGPU") + data + bytes(-len(data) % 4)
    size = len(code) - start
    segments, sections = struct.unpack_from("<QQ", code, 32)
    segment_count = struct.unpack_from("<H", code, 56)[0]
    section_count = struct.unpack_from("<H", code, 60)[0]
    for at in range(segments, segments + segment_count * _PROGRAM_HEADER, _PROGRAM_HEADER):
        if struct.unpack_from("<I", code, at)[0] == _NOTE:
            struct.pack_into("<Q", code, at + 8, start)
            struct.pack_into("<QQ", code, at + 32, size, size)
    for at in range(sections, sections + section_count * _SECTION_HEADER, _SECTION_HEADER):
        if struct.unpack_from("<I", code, at + 4)[0] == _NOTES:
            struct.pack_into("<QQ", code, at + 24, start, size)

"""Input: VLIW images and raw machine code. Output: text, and back: ``disasm`` and ``asm`` for these chips."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from headwater import sources
from headwater.cli.progress import progress
from headwater.errors import UsageError
from headwater.opencl.kernels import hip_options

if TYPE_CHECKING:
    from headwater.isa.vliw.image import ShaderImage

Shown: TypeAlias = Callable[[int], str]
"""What to say of a line of IL: the source's name, line and text."""
LISTING_SUFFIX = ".isa"
"""The word that makes `headwater asm` take a text for VLIW code."""
SOURCE_SUFFIXES = tuple(suffix for suffix in sources.SUFFIXES if suffix != ".py")
"""Of files that are compiled as they are."""
EMITTED = {"image": ".cal", "raw": ".bin", "asm": ".isa", "ir": ".il"}
"""What can be made of a source, and the file's suffix: a CAL image, the machine code alone, its text, IL."""


def target(given: str | None, device: str | None) -> str:
    """LLVM's name of the VLIW chip that was asked for; "" if none was, or one of another family."""
    from headwater.chips.vliw_isas import GENERATION_OF_TARGET

    if given:
        return given if given in GENERATION_OF_TARGET else ""
    if device is None:
        return ""
    from headwater import chips

    chip = chips.find(device)
    return chip.target if chip.is_vliw else ""


def images(data: bytes, name: str, chosen: str) -> tuple[ShaderImage, ...]:
    """The programs of a file, or the one that raw machine code is when a target is given."""
    from headwater.isa.vliw import image_files
    from headwater.isa.vliw.image import ShaderImage

    if data[:4] == b"\x7fELF":
        found = image_files.read_all(data, name)
        wanted = tuple(i for i in found if chosen in ("", i.target))
        if not wanted:
            has = ", ".join(dict.fromkeys(i.target for i in found))
            raise UsageError(f"{name} holds code for {has}, not {chosen}", hint="leave --target and --device out")
        return wanted
    if not chosen:
        raise UsageError(f"{name} is not an image", hint="--target cypress, say, takes it for raw machine code")
    return (ShaderImage(chosen, "cs", data),)


def compiled(args: Namespace, data: bytes, name: str) -> tuple[ShaderImage, ...]:
    """The programs that source is for the chip that --device or --target names: the kernels that were asked for."""
    return tuple(image for image, _ in _with_sources(args, data, name))


def _with_sources(args: Namespace, data: bytes, name: str) -> tuple[tuple[ShaderImage, Shown], ...]:
    """The same, and what to say of the lines of each program's IL."""
    from headwater import chips
    from headwater.cli.options import build_options
    from headwater.runtime.vliw.images import image_of, kernel_image

    chip = chips.find(args.device or args.target)
    text = data.decode("utf-8-sig", "surrogateescape")
    language = sources.language_of(text, name, args.language)
    compiling = f"compiling {name} for {args.device or args.target}"
    if language == "il":
        with progress(compiling):
            made = image_of(text, chip, name)
        return _chosen(args.kernels, (made.name,), ((made, _shown(name, text)),), name)
    from headwater.il import from_llvm

    options, is_drawn = build_options(args), False
    if language == "hip":
        options = hip_options(options)
    elif language == "brook":
        from headwater.runtime.brook.program import translate

        module = translate(text, name, options)
        is_drawn = module.drawn(chip.vliw.stream_texels) is not module
        text, options = module.drawn(chip.vliw.stream_texels).source, ""
    with progress(compiling):
        built = from_llvm.kernels(text, chip, name, options)
    print(built.warnings, end="", file=sys.stderr)
    found, shown = [], name if language == "opencl" else "OpenCL C"
    for kernel in built.kernels.values():
        if kernel.info.name in args.kernels:
            kernel.require(name, text)
        elif args.kernels:
            continue
        elif kernel.refused is not None:
            print(f"headwater: {kernel.info.name} is left out: {kernel.refused.message}", file=sys.stderr)
            continue
        with progress(compiling), kernel.placed(shown, text):
            image = kernel_image(kernel, chip)
        # A pixel shader's textures and outputs are bound by name, as CAL does.
        image = replace(image, abi="cal", args=()) if is_drawn else image
        found.append((image, _shown(shown, text, kernel.lines)))
    return _chosen(args.kernels, built.kernels, tuple(found), name)


def _chosen(
    wanted: Sequence[str], known: Iterable[str], found: Sequence[tuple[ShaderImage, Shown]], name: str
) -> tuple[tuple[ShaderImage, Shown], ...]:
    """The programs of the names that were asked for. UsageError for one that there is not."""
    from headwater.runtime.program import unknown_kernel

    for one in wanted:
        if one not in known:
            raise unknown_kernel(one, list(known), name)
    if not found:
        raise UsageError(f"{name} has no kernels", hint="a CAL image holds one or more; see what #ifdef leaves out")
    return tuple(pair for pair in found if not wanted or pair[0].name in wanted)


def _shown(name: str, text: str, lines_of_il: Sequence[int] | None = None) -> Shown:
    """Names and shows the source's line that a line of IL was made of; None: IL is the source."""
    lines = text.splitlines()

    def shown(line: int) -> str:
        if lines_of_il is not None:
            line = lines_of_il[line - 1] if 0 < line <= len(lines_of_il) else 0
        return f"{name}:{line}: {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""

    return shown


def disassembly(args: Namespace, data: bytes, name: str, chosen: str, shape: str) -> str:
    """The text that ``headwater disasm`` prints."""
    if args.bytes:
        raise UsageError("--bytes is for GCN code", hint="headwater compile --emit raw writes a VLIW chip's")
    is_source = Path(args.file).suffix in SOURCE_SUFFIXES
    if is_source:
        pairs = _with_sources(args, data, name)
    else:
        read = images(data, name, chosen)
        pairs = tuple((i, _shown("IL", i.il)) for i in read)
        pairs = _chosen(args.kernels, [i.name for i in read], pairs, name)
        if args.source and not all(i.il and i.lines for i, _ in pairs):
            raise UsageError(f"{name} contains no line numbers", hint="leave --source out")
    found = [image for image, _ in pairs]
    if shape == "json":
        return json.dumps({"file": name, "programs": [_as_json(i) for i in found]}) + "\n"
    from headwater.isa.vliw import image_text

    if shape == "asm":
        return image_text.text(_only(found, name), exact=True)
    heads = [f"; {name}: {i.name} for {i.target}\n" if len(found) > 1 else "" for i in found]
    texts = [image_text.text(i, source=shown if args.source else None) for i, shown in pairs]
    return "\n".join(head + text for head, text in zip(heads, texts, strict=True))


def _only(found: Sequence[ShaderImage], name: str) -> ShaderImage:
    if len(found) > 1:
        which = ", ".join(f"{i.name} for {i.target}" for i in found)
        raise UsageError(f"{name} has more than one program: {which}", hint="choose one by --kernel or --target")
    return found[0]


def emitted(found: tuple[ShaderImage, ...], name: str, emit: str) -> bytes:
    """What ``headwater compile`` writes, of `EMITTED`. UsageError where that is one program, and there are more."""
    from headwater.isa.vliw import image_files, image_text

    if emit == "image":
        return image_files.write(*found)
    one = _only(found, name)
    return one.code if emit == "raw" else (one.il if emit == "ir" else image_text.text(one, exact=True)).encode()


def _as_json(image: ShaderImage) -> dict[str, Any]:
    from headwater.isa.vliw import printer

    count = 0
    listed = []
    texts = printer.cf_texts(image.shader)
    for index, cf in enumerate(image.shader.cf):
        groups = []
        for group in cf.groups:
            groups.append(printer.group_text(group, image.generation, count))
            count += 1
        fetches = [printer.fetch_text(fetch, image.generation) for fetch in cf.fetches]
        count += len(fetches)
        listed.append({"text": texts[index], "groups": groups, "fetches": fetches})
    return {
        "name": image.name,
        "target": image.target,
        "kind": image.kind,
        "code_bytes": len(image.code),
        "gprs": image.gprs,
        "stack_entries": image.stack_entries,
        "clause_temporaries": image.clause_temporaries,
        "lds_bytes": image.lds_bytes,
        "scratch_bytes": image.scratch_bytes,
        "constant_buffers": {str(n): vectors for n, vectors in image.constant_buffers.items()},
        "resources": list(image.resources),
        "outputs": list(image.outputs),
        "uavs": list(image.uavs),
        "uses_global": image.uses_global,
        "group_size": list(image.group_size) if image.group_size else None,
        "abi": image.abi,
        "arguments": [{"name": a.arg.name, "offset": a.arg.offset, "resource": a.resource} for a in image.args],
        "control_flow": listed,
    }


def assembled(text: str, name: str, chosen: str, emit: str) -> bytes:
    """What ``headwater asm`` writes: a CAL image, or machine code alone."""
    from headwater.isa.vliw import image_text

    return emitted((image_text.parse(text, chosen, filename=name),), name, emit)


def is_listing(file: str, text: str) -> bool:
    """Whether a text for ``headwater asm`` is VLIW code, if no chip was named."""
    return Path(file).suffix == LISTING_SUFFIX or "\nTarget " in text

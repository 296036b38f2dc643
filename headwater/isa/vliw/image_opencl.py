"""Input: the binaries of AMD's OpenCL 1.x driver for Evergreen and Northern Islands. Output: ``ShaderImage``.

Such a file is an ELF file that holds, for each kernel, its arguments as text (``__OpenCL_NAME_metadata``) and a CAL
image (``__OpenCL_NAME_kernel``); see `headwater.isa.gcn.amdcl`, which reads those for later chips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.errors import CodeObjectError, HeadwaterError
from headwater.isa.elf import Elf
from headwater.isa.gcn.amdcl import argument
from headwater.isa.vliw import image_cal
from headwater.isa.vliw.image import EM_CAL_IMAGE, EM_CAL_OBJECT, Argument, ShaderImage

_PREFIX = "__OpenCL_"
_SUFFIX = "_kernel"


def is_binary(elf: Elf) -> bool:
    """Whether an ELF file for an unknown machine holds kernels for a VLIW machine."""
    try:
        return any(_is_vliw(Elf(data, name)) for name, data in _kernels(_contents(elf)).items())
    except HeadwaterError:
        return False


def _is_vliw(inner: Elf) -> bool:
    if inner.machine not in (EM_CAL_OBJECT, EM_CAL_IMAGE):
        return False
    try:
        return bool(image_cal.read(inner))
    except CodeObjectError as fault:
        return "no program for a VLIW machine" not in fault.message


def _contents(elf: Elf) -> dict[str, bytes]:
    """The bytes that each symbol names."""
    found = {}
    for symbol in elf.symbols:
        if symbol.name.startswith(_PREFIX) and 0 < symbol.section < len(elf.sections) and symbol.size:
            section = elf.sections[symbol.section]
            if symbol.value + symbol.size > section.size:
                raise elf.error(f"has the symbol {symbol.name} beyond the end of its section")
            found[symbol.name] = elf.bytes_at(section.offset + symbol.value, symbol.size, symbol.name)
    return found


def _kernels(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        name.removeprefix(_PREFIX).removesuffix(_SUFFIX): data
        for name, data in contents.items()
        if name.endswith(_SUFFIX)
    }


def read(elf: Elf) -> tuple[ShaderImage, ...]:
    """The program of each kernel, and for each chip. Raises CodeObjectError."""
    contents = _contents(elf)
    kernels = _kernels(contents)
    if not kernels:
        raise elf.error(
            "has no program for a VLIW machine",
            hint="CAL images, objects of LLVM's r600 back end and binaries of AMD's OpenCL 1.x driver have",
        )
    data = contents.get("__OpenCL_0_global") or contents.get("__OpenCL_2_global") or b""
    images: list[ShaderImage] = []
    for name, inner in kernels.items():
        metadata = contents.get(f"{_PREFIX}{name}_metadata")
        if metadata is None:
            raise elf.error(f"has no arguments of the kernel {name} ({_PREFIX}{name}_metadata)")
        for image in image_cal.read(Elf(inner, f"{elf.filename} ({name})")):
            kernel = replace(image, name=name, kind="cs", data=data, abi="amd")
            images.append(_described(elf, kernel, metadata.decode("latin-1")))
    return tuple(images)


def _described(elf: Elf, image: ShaderImage, text: str) -> ShaderImage:
    lines = [line[1:].split(":") for line in text.splitlines() if line.startswith(";")]
    types = {words[1]: ":".join(words[2:]) for words in lines if words[0] == "reflection" and len(words) > 2}
    args: list[Argument] = []
    scratch, local, group = image.scratch_bytes, image.lds_bytes, image.group_size
    try:
        for words in lines:
            made = argument(words, types.get(str(len(args)), ""))
            if made is not None:
                args.append(Argument(made[0], made[1].resource))
            elif words[0] == "memory" and words[1] == "hwlocal":
                local = max(local, int(words[2]))
            elif words[0] == "memory" and words[1] == "hwprivate":
                scratch = max(scratch, -(-int(words[2]) // 16) * 16)
            elif words[0] == "cws":
                group = (int(words[1]), int(words[2]), int(words[3]))
                if min(group) < 1:
                    raise ValueError(f"work-groups of {group}")
    except (ValueError, IndexError) as fault:
        raise elf.error(f"has damaged metadata of the kernel {image.name}: {fault}") from None
    required = any(words[0] == "cws" for words in lines)
    return replace(
        image, args=tuple(args), lds_bytes=local, scratch_bytes=scratch, group_size=group if required else None
    )

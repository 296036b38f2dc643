"""Reads and writes files with machine code for the VLIW machines: a ``ShaderImage`` for each program.

Three kinds of files are read: CAL images (`headwater.isa.vliw.image_cal`, which are also written), objects of LLVM's
r600 back end (`image_llvm`), and the binaries of AMD's OpenCL 1.x driver (`image_opencl`), which hold CAL images.
"""

from __future__ import annotations

from headwater.errors import CodeObjectError, HeadwaterError
from headwater.isa.elf import Elf
from headwater.isa.vliw.image import EM_AMDGPU, EM_CAL_IMAGE, EM_CAL_OBJECT, ShaderImage


def is_image(data: bytes) -> bool:
    """Whether the bytes are a file that `read_all` may read: for VLIW machines, not for GCN."""
    if data[:4] != b"\x7fELF" or len(data) < 20:
        return False
    try:
        elf = Elf(data, "<image>")
        if elf.machine in (EM_CAL_OBJECT, EM_CAL_IMAGE):
            return True
        if elf.machine == EM_AMDGPU:
            from headwater.isa.vliw.image_llvm import is_object

            return is_object(elf)
        from headwater.isa.vliw.image_opencl import is_binary

        return is_binary(elf)
    except HeadwaterError:
        return False


def read_all(data: bytes, filename: str = "<image>") -> tuple[ShaderImage, ...]:
    """All programs of a file: one for each chip of a CAL image, each kernel of an object or OpenCL binary.

    Raises CodeObjectError where it is none of these, damaged, or only for chips that are no VLIW machines.
    """
    elf = Elf(data, filename)
    if elf.machine in (EM_CAL_OBJECT, EM_CAL_IMAGE):
        from headwater.isa.vliw.image_cal import read

        return read(elf)
    if elf.machine == EM_AMDGPU:
        from headwater.isa.vliw import image_llvm

        return image_llvm.read(elf)
    from headwater.isa.vliw import image_opencl

    return image_opencl.read(elf)


def read(data: bytes, filename: str = "<image>", *, target: str = "", name: str = "") -> ShaderImage:
    """The one program of a file, or the one for ``target`` or called ``name``. Raises CodeObjectError."""
    images = read_all(data, filename)
    found = [image for image in images if target in ("", image.target) and name in ("", image.name)]
    if len(found) == 1:
        return found[0]
    what = " ".join(filter(None, (name, f"for {target}" if target else "")))
    has = ", ".join(f"{image.name} for {image.target}" for image in images)
    problem = f"has no program {what}" if not found else "has more than one program"
    raise CodeObjectError(f"{filename}: the file {problem}; it has {has}")


def write(*images: ShaderImage) -> bytes:
    """A CAL image with these programs, each for another chip or of another name. Raises UsageError."""
    from headwater.isa.vliw import image_cal

    return image_cal.write(images)

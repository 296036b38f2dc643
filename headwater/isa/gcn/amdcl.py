"""The binaries of AMD's OpenCL 1.x driver for Southern Islands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.isa.elf import Elf
    from headwater.isa.gcn.codeobject import CodeObject


def is_binary(elf: Elf) -> bool:
    """Whether it is one."""
    return False


def load(elf: Elf) -> CodeObject:
    """Read it."""
    raise elf.error("is a binary of AMD's OpenCL 1.x driver")

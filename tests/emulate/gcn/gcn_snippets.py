"""Input: assembly. Output: a wavefront that has run it on the reference interpreter."""

from __future__ import annotations

import struct
from functools import lru_cache

import numpy as np

from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.emulate.gcn.reference import run_group
from headwater.emulate.gcn.reference_registers import AT_BARRIER, Wave
from headwater.emulate.wave.reference_memory import FlatMemory, LocalMemory, Memories, PrivateMemory
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.model import EXEC
from headwater.opencl.gcn_build import assemble

__all__ = ["AT_BARRIER", "code_of", "make_wave", "run", "run_all"]


@lru_cache(maxsize=256)
def code_of(text: str, target: str = "gfx900") -> bytes:
    """The machine code of some instructions, s_endpgm added."""
    elf = assemble(text + "\ns_endpgm\n", "snippet.s", target, emit="obj").code
    (sections,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, sections + n * size) for n in range(count)]
    for name, _, _, _, offset, length in headers:
        if elf[headers[names][4] + name :].startswith(b".text\0"):
            return elf[offset : offset + length]
    raise AssertionError("no .text")


def make_wave(target: str = "gfx900", memory: FlatMemory | None = None, lds: LocalMemory | None = None) -> Wave:
    """A wavefront with all lanes active, 4 KiB of LDS and 64 bytes of private memory a lane."""
    memory = memory if memory is not None else FlatMemory()
    private = PrivateMemory(memory, memory.allocate(64 * 64), 64)
    wave = Wave(Memories(memory, lds or LocalMemory("LDS", bytearray(4096)), private), ISA_OF_TARGET[target])
    wave.set_pair(EXEC, (1 << 64) - 1)
    wave.vectors[0] = np.arange(64)
    return wave


def run_all(text: str, waves: list[Wave], target: str = "gfx900", limit: int = 1000) -> None:
    """Run wavefronts of one work-group."""
    code = code_of(text, target)
    isa = ISA_OF_TARGET[target]
    run_group(waves, lambda address: decode(code, address, isa), limit=limit)


def run(text: str, target: str = "gfx900", wave: Wave | None = None) -> Wave:
    """Run some instructions."""
    wave = wave or make_wave(target)
    run_all(text, [wave], target)
    return wave

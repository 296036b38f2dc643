"""Input: an access that the inline code does not cover. Output: a call of the support code that does it lane by lane.

On machines with AVX-512 the call goes through a piece of assembly that keeps all registers, so that the compiled code
around it need not save any: such calls stand in every memory instruction and are hardly ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.emulate.wave.builder import WaveBuilder
from headwater.emulate.wave.layout import ACCESSES
from headwater.emulate.wave.registers import PART

if TYPE_CHECKING:
    from headwater.emulate.wave.memory import Address

WRITE, FLAT, LDS, PRIVATE, GDS, ARENA, RESOURCE, BUFFER = (1 << n for n in range(len(ACCESSES)))
"""Bits of ``how``: those of `ACCESSES`."""

_CLOBBERS = "~{memory},~{dirflag},~{fpsr},~{flags}"


def dwords(nbytes: int) -> int:
    """Registers that an access of ``nbytes`` bytes fills."""
    return max(nbytes // 4, 1)


def load(b: WaveBuilder, at: Address, mask: str, info: int, nbytes: int, keep: bool) -> tuple[str, list[str]]:
    """Have lanes load from any addresses: whether there was no fault (``i1``), and the dwords."""
    count = dwords(nbytes)
    if not keep:
        status = _by_memory(b, "hw_load_part", at, mask, info, ())
        values = []
        for d in range(count):
            here = b.emit(f"getelementptr i8, ptr %data, i64 {64 * (2 + d)}")
            values.append(b.emit(f"load {PART}, ptr {here}, align 64"))
        return b.emit(f"icmp ne i32 {status}, 0"), values
    result = f"{{ i32, {', '.join([PART] * count)} }}"
    outputs = ",".join(["={eax}", *(f"={{zmm{d}}}" for d in range(count))])
    got = _by_registers(b, f"hw_load_part{count}", result, outputs, at, mask, info, ())
    status = b.emit(f"extractvalue {result} {got}, 0")
    return b.emit(f"icmp ne i32 {status}, 0"), [b.emit(f"extractvalue {result} {got}, {d + 1}") for d in range(count)]


def store(b: WaveBuilder, at: Address, mask: str, info: int, values: Sequence[str], keep: bool) -> str:
    """The same for stores of dwords, or their low bytes."""
    if keep:
        status = _by_registers(b, f"hw_store_part{len(values)}", "i32", "={eax}", at, mask, info, values)
    else:
        status = _by_memory(b, "hw_store_part", at, mask, info, values)
    return b.emit(f"icmp ne i32 {status}, 0")


def _by_registers(
    b: WaveBuilder, name: str, result: str, outputs: str, at: Address, mask: str, info: int, values: Sequence[str]
) -> str:
    data = "".join(f",{{zmm{2 + d}}}" for d in range(len(values)))
    constraints = f"{outputs},{{zmm0}},{{zmm1}}{data},{{rdi}},{{rsi}},{{edx}},{{rcx}},{{r8}},{_CLOBBERS}"
    operands = [f"{PART} {at.low}", f"{PART} {at.high or 'zeroinitializer'}", *(f"{PART} {v}" for v in values)]
    operands += ["ptr %w", f"i64 {at.base}", f"i32 {mask}", f"i64 {info}", f"ptr {at.slot.pointer}"]
    return b.emit(f'call {result} asm sideeffect "call {name}", "{constraints}"({", ".join(operands)})')


def _by_memory(b: WaveBuilder, name: str, at: Address, mask: str, info: int, values: Sequence[str]) -> str:
    for n, value in enumerate((at.low, at.high or "zeroinitializer", *values)):
        here = b.emit(f"getelementptr i8, ptr %data, i64 {64 * n}")
        b.line(f"store {PART} {value}, ptr {here}, align 64")
    b.declare(f"declare hidden i32 @{name}(ptr, i64, i32, i64, ptr, ptr) #1")
    arguments = f"ptr %w, i64 {at.base}, i32 {mask}, i64 {info}, ptr {at.slot.pointer}, ptr %data"
    return b.emit(f"call i32 @{name}({arguments})")

"""Input: an instruction of global wave synchronisation. Output: the code that requests it.

A resource is a counter that wavefronts wait at. AMD's Vega ISA Reference Guide ("DS_GWS_INIT" and the following) says
what each operation does; the high half of M0 and the instruction's offset say which resource. The first active lane's
value counts. What is left there outlives a launch: run-times set it up with a kernel of their own.

The translated code stores what is asked for and returns, as at a barrier; support.c does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.emulate.gcn.control import scalar_register
from headwater.emulate.gcn.program import meaning
from headwater.emulate.gcn.vector import first_active, lane_of
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import GWS_OPERATIONS, GWS_RESOURCES, WAVE
from headwater.emulate.wave.registers import PARTS, number
from headwater.isa.gcn.model import M0, Instruction, Register

if TYPE_CHECKING:
    from headwater.emulate.gcn.program import BasicBlock
    from headwater.emulate.gcn.translator import Translator


def operation(instruction: Instruction) -> str:
    """What it asks for, of `GWS_OPERATIONS`, or an empty string."""
    effect = meaning(instruction).effect("gws")
    return "" if effect is None else effect.text


def ends(block: BasicBlock) -> bool:
    """Whether a block's last instruction is one."""
    return bool(block.instructions) and operation(block.instructions[-1]) != ""


def translate(t: Translator, instruction: Instruction) -> None:
    """Store what the wavefront asks for in its structure."""
    t.flush()
    b = t.b
    m0 = scalar_register(t, Register("s", M0, 1))
    assert isinstance(m0, Value)
    base = b.emit(f"add i32 {b.emit(f'lshr i32 {m0.text}, 16')}, {instruction.fields['offset']}")
    source = instruction.source("ADDR")
    value = "0"
    if source is not None:
        assert isinstance(source.value, Register)
        register = number(source.value)
        value = lane_of(b, [t.regs.vector(register, part) for part in range(PARTS)], first_active(t))
    asked = {
        "gws_operation": str(GWS_OPERATIONS.index(operation(instruction))),
        "gws_resource": b.emit(f"and i32 {base}, {GWS_RESOURCES - 1}"),
        "gws_value": value,
        "gws_pc": str(instruction.address),
    }
    for name, what in asked.items():
        b.line(f"store i32 {what}, ptr {b.emit(f'getelementptr i8, ptr %w, i64 {WAVE.offset[name]}')}")

"""Input: scalar instructions. Output: scalar LLVM code, branches and the static MODE of each block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.emulate.gcn.program import BasicBlock, Program, index_range, meaning
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import PRIVATE_APERTURE, SHARED_APERTURE
from headwater.emulate.wave.lower_llvm import Wide, lower
from headwater.errors import InternalError
from headwater.isa.gcn.model import (
    EXEC,
    INDEX_DEST,
    M0,
    SCC,
    VCC,
    Constant,
    Instruction,
    Literal,
    Register,
    Row,
    Source,
    constant_bits,
)
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Mode, Semantics
from headwater.isa.semantics.types import BITS, TYPE_BITS

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

# AMD, Vega ISA Reference Guide, "Hardware register access": the numbers of s_getreg_b32 and s_setreg_b32.
HWREG_MODE, HWREG_SH_MEM_BASES = 1, 15


def is_trap(instruction: Instruction) -> bool:
    """Whether it ends the wavefront as a failed assertion does: ``s_trap 2`` (AMDGPUUsage, "Trap Handler ABI")."""
    return instruction.row.name == "s_trap" and instruction.fields["simm16"] & 0xFF == 2


# ---- MODE ------------------------------------------------------------------------------------------------------------


def mode_bits(mode: Mode) -> int:
    """The MODE register."""
    return (
        mode.round32
        | mode.round16_64 << 2
        | mode.denorm32 << 4
        | mode.denorm16_64 << 6
        | mode.dx10_clamp << 8
        | mode.ieee << 9
        | mode.half_overflow << 23
    )


def mode_of(bits: int, generation: int) -> Mode:
    """The fields of the MODE register."""
    fields = bits & 3, bits >> 2 & 3, bits >> 4 & 3, bits >> 6 & 3
    return Mode(*fields, bool(bits >> 8 & 1), bool(bits >> 9 & 1), bool(bits >> 23 & 1), generation)


def mode_after(instruction: Instruction, mode: Mode) -> Mode | None:
    """MODE after an instruction; None if the instruction sets it to what is not known before it runs."""
    name = instruction.row.name
    if name == "s_round_mode":
        return replace(mode, round32=instruction.fields["simm16"] & 3, round16_64=instruction.fields["simm16"] >> 2 & 3)
    if meaning(instruction).effect("setreg") is None:
        return mode
    field = instruction.fields["simm16"]
    if field & 63 != HWREG_MODE:
        return mode
    offset, size = field >> 6 & 31, (field >> 11) + 1
    source = instruction.source("K") or instruction.source("S0")
    if source is None or isinstance(source.value, Register):
        return None
    value = source.value.bits if isinstance(source.value, Literal) else constant_bits(source.value.code, "b32")
    mask = (1 << size) - 1 << offset
    return mode_of((mode_bits(mode) & ~mask) | (value << offset & mask), mode.generation)


def modes(program: Program, first: Mode) -> Mapping[int, Mode]:
    """MODE at the beginning of each block. A block that is reached with different ones gets the first that was
    found."""
    found = {program.entry: first}
    waiting = [program.entry]
    while waiting:
        block = program.blocks[waiting.pop()]
        mode = found[block.address]
        for instruction in block.instructions:
            mode = mode_after(instruction, mode) or mode
        for follower in program.after(block):
            if follower.address not in found:
                found[follower.address] = mode
                waiting.append(follower.address)
    return found


# ---- scalar instructions ---------------------------------------------------------------------------------------------


def constant(source: Source) -> Value:
    """A constant operand's bits, as ``u32`` or ``u64``."""
    width = 64 if TYPE_BITS[source.type] == 64 else 32
    if isinstance(source.value, Constant):
        bits = constant_bits(source.value.code, source.type)
    else:
        assert isinstance(source.value, Literal)
        bits = source.value.bits
        if width == 64:
            # A literal is the high half of a double, and extended to a 64-bit integer by its signedness.
            if source.type == "f64":
                bits <<= 32
            elif source.type == "i64" and bits >> 31:
                bits |= 0xFFFFFFFF << 32
    return Value(str(bits - (1 << width) if bits >> width - 1 else bits), f"u{width}")


def scalar_operand(t: Translator, source: Source) -> Wide:
    """A scalar operand: ``u32``, ``u64`` or a tuple of ``u32``."""
    if not isinstance(source.value, Register):
        return constant(source)
    return scalar_register(t, source.value)


def scalar_register(t: Translator, register: Register) -> Wide:
    """Scalar registers as ``u32``, ``u64`` or a tuple of ``u32``."""
    if register.dwords == 1:
        return Value(t.regs.scalar(register.index), "u32")
    if register.dwords == 2:
        return Value(t.regs.pair(register.index), "u64")
    return tuple(Value(t.regs.scalar(register.index + n), "u32") for n in range(register.dwords))


def write_scalar(t: Translator, register: Register, value: Wide) -> None:
    """Write scalar registers."""
    if isinstance(value, tuple):
        for n, word in enumerate(value):
            t.regs.set_scalar(register.index + n, word.text)
    elif register.dwords == 2:
        t.regs.set_pair(register.index, t.b.bitcast(value, "u64").text)
    else:
        bits = BITS[value.type]
        whole = value if bits == 32 else t.b.resize(t.b.bitcast(value, f"u{bits}"), "u32")
        t.regs.set_scalar(register.index, t.b.bitcast(whole, "u32").text)


def operands(t: Translator, instruction: Instruction) -> dict[str, Wide]:
    """Everything that a scalar instruction's semantics reads."""
    what = meaning(instruction)
    result: dict[str, Wide] = {}
    for name in sorted(what.reads):
        source = instruction.source(name)
        if source is not None:
            result[name] = scalar_operand(t, source)
        elif (dest := instruction.dest(name)) is not None:
            result[name] = scalar_register(t, dest.register)
        else:
            result[name] = special(t, instruction, name)
    return result


def special(t: Translator, instruction: Instruction, name: str) -> Value:
    """A name that is no operand, as scalar code sees it."""
    regs, b = t.regs, t.b
    if name == "SCC":
        return Value(regs.scc(), "u1")
    if name in ("VCC", "EXEC"):
        return Value(regs.pair(VCC if name == "VCC" else EXEC), "u64")
    if name == "M0":
        return Value(regs.scalar(M0), "u32")
    if name == "PC":
        following = instruction.address + instruction.size_bytes
        return Value(b.emit(f"add i64 %code, {following}"), "u64")
    if name in ("SIMM16", "SIMM"):
        bits = instruction.fields["simm16"]
        return Value(str(bits - (1 << 16) if bits >> 15 else bits), "i32")
    field = instruction.fields.get(name.lower())
    if field is not None:
        return Value(str(field), "u32")
    raise InternalError(f"{instruction.row.name} reads {name}, which the translator does not know")


def without_scc(row: Row) -> Semantics:
    """What it does but for the assignment to SCC, for instructions after which nobody reads it."""
    what = row.once("meaning", semantics)
    return replace(what, assignments=tuple((target, node) for target, node in what.assignments if target != "SCC"))


def scalar(t: Translator, instruction: Instruction) -> None:
    """A scalar ALU or program control instruction."""
    what = meaning(instruction)
    name = instruction.row.name
    if name == "s_barrier":
        t.flush()
        if t.watch is not None:
            t.watch.barrier(instruction)
        return
    if what.effect("setreg") is not None:
        changed = mode_after(instruction, t.mode)
        if changed is None:
            t.flush()
            t.stop("FAULT_UNSUPPORTED", instruction.address)
            t.b.start(t.b.label("unreachable"))
        else:
            t.mode = changed
        return
    if what.effect("index_source") is not None or what.effect("index_dest") is not None:
        _moved_by_index(t, instruction)
        return
    if name == "s_getreg_b32":
        _getreg(t, instruction)
        return
    lowered = lower(
        t.b,
        instruction.row.once("without scc", without_scc) if not t.after[0] >> SCC & 1 else what,
        operands(t, instruction),
        t.mode,
    )
    for effect in lowered.effects:
        if effect.kind == "branch":
            condition = effect.values[0]
            assert isinstance(condition, Value)
            t.condition = condition.text
    for target, value in lowered.results.items():
        if target == "SCC":
            assert isinstance(value, Value)
            t.regs.set_scc(value.text)
        elif target in ("EXEC", "VCC"):
            assert isinstance(value, Value)
            t.regs.set_pair(EXEC if target == "EXEC" else VCC, value.text)
        elif target == "M0":
            assert isinstance(value, Value)
            t.regs.set_scalar(M0, value.text)
        elif target == "PC":
            assert isinstance(value, Value)
            t.jump_target = value.text
        else:
            dest = instruction.dest(target)
            assert dest is not None, f"{name} assigns {target}"
            write_scalar(t, dest.register, value)


def _moved_by_index(t: Translator, instruction: Instruction) -> None:
    """s_movrels_b32 and its kin: M0 is added to the number of a scalar register."""
    b = t.b
    source, dest = instruction.source("S0"), instruction.dests[0].register
    assert source is not None
    index = b.emit(f"and i32 {t.regs.scalar(M0)}, 255")

    def is_chosen(first: int, n: int) -> str:
        return b.emit(f"icmp eq i32 {index}, {n - first}")

    if instruction.fields["indexed"] & INDEX_DEST:
        value = scalar_operand(t, source)
        assert isinstance(value, Value)
        for n in index_range(instruction, dest)[:: dest.dwords]:
            register = Register("s", n, dest.dwords)
            old = scalar_register(t, register)
            assert isinstance(old, Value)
            chosen = Value(is_chosen(dest.index, n), "u1")
            write_scalar(t, register, b.select(chosen, b.bitcast(value, old.type), old))
        return
    assert isinstance(source.value, Register)
    result: Value | None = None
    for n in index_range(instruction, source.value)[:: dest.dwords]:
        found = scalar_register(t, Register("s", n, dest.dwords))
        assert isinstance(found, Value)
        result = found if result is None else b.select(Value(is_chosen(source.value.index, n), "u1"), found, result)
    assert result is not None
    write_scalar(t, dest, result)


def _getreg(t: Translator, instruction: Instruction) -> None:
    field = instruction.fields["simm16"]
    offset, size = field >> 6 & 31, (field >> 11) + 1
    bits = {
        HWREG_MODE: mode_bits(t.mode),
        # The upper halves of the apertures' upper halves (AMDGPUUsage, "Flat Scratch" and apertures).
        HWREG_SH_MEM_BASES: PRIVATE_APERTURE >> 16 | SHARED_APERTURE >> 16 << 16,
    }.get(field & 63, 0)
    write_scalar(t, instruction.dests[0].register, t.b.constant("u32", bits >> offset & ((1 << size) - 1)))


# ---- the ends of blocks ----------------------------------------------------------------------------------------------


def indirect(t: Translator, block: BasicBlock) -> None:
    """A jump to an address in registers: one of the program's targets, or a fault."""
    b = t.b
    offset = b.emit(f"sub i64 {t.jump_target}, %code")
    wrong = b.label("astray")
    cases = " ".join(f"i64 {a}, label %at.{a:x}" for a in t.program.targets)
    b.line(f"switch i64 {offset}, label %{wrong} [{cases}]")
    b.start(wrong)
    t.stop("FAULT_JUMP", block.instructions[-1].address, offset)

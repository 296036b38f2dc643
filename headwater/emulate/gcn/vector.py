"""Input: vector ALU instructions. Output: code for 16 lanes at a time, with their modifiers.

The semantics' tree is lowered by `headwater.emulate.wave.lower_llvm`; what stands around it is here: operands with
SDWA, DPP and op_sel, EXEC, and what looks across lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.emulate.gcn.control import constant, scalar_operand, scalar_register, special, write_scalar
from headwater.emulate.gcn.program import index_range, keeps_old, low_half_alone, meaning
from headwater.emulate.wave import modifiers
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.lower_llvm import Wide, lower
from headwater.emulate.wave.memory import vector as constants
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, PARTS, Mask, half_of, number
from headwater.errors import InternalError
from headwater.isa.gcn.model import EXEC, M0, VCC, Destination, Instruction, Register, Source, index_bit
from headwater.isa.semantics.types import BITS, is_float

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

MEMORY_ENCODINGS = ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG")

Fetch = Callable[[int], Wide]
"""Gives an operand for a part."""


def _all_lanes(part: int) -> None:
    """No lanes that an exchange leaves unwritten, in any part."""


def translate(t: Translator, instruction: Instruction) -> None:
    """One vector ALU instruction."""
    special_case = _SPECIAL.get(instruction.row.name)
    if special_case is not None:
        special_case(t, instruction)
    elif instruction.row.name != "v_perm_b32" or not _shuffled_bytes(t, instruction):
        _translate(t, instruction)


def _translate(t: Translator, instruction: Instruction) -> None:
    what = meaning(instruction)
    if not what.assignments:
        return
    exec_mask = t.exec_mask()
    allowed: Callable[[int], str | None] = _all_lanes
    fetches: dict[str, Fetch] = {}
    for source in instruction.sources:
        raw = None
        if source.dpp:
            raw, allowed = _dpp(t, instruction, source, exec_mask)
        if source.name in what.reads:
            fetches[source.name] = fetch(t, instruction, source, raw)
    for name in sorted(what.reads - fetches.keys()):
        dest = instruction.dest(name)
        if dest is not None and name not in ("VCC", "EXEC"):
            fetches[name] = _old(t, instruction, dest)
        else:
            fetches[name] = _special(t, instruction, name)
    write = writers(t, instruction, exec_mask, fenced=_ends_chain(t, instruction))
    clamp = bool(instruction.fields.get("clamp", 0))
    mode = t.mode

    outlined, name = t.outlined, instruction.row.name

    def thunk(part: int) -> None:
        operands = {name: get(part) for name, get in fetches.items()}
        if outlined is not None and not what.effects:
            lowered = outlined.lower(name, what, operands, mode, clamp=clamp)
        else:
            lowered = lower(t.b, what, operands, mode, clamp=clamp)
        lanes = allowed(part)
        for target, value in lowered.results.items():
            write[target](part, value, lanes)

    t.later(thunk)


# ---- operands --------------------------------------------------------------------------------------------------------


def fetch(t: Translator, instruction: Instruction, source: Source, raw: Fetch | None = None) -> Fetch:
    """How a source is read for each part, with its modifiers; what is scalar is read now. ``raw``: without them, if
    that is not what stands in its register."""
    raw = raw or indexed_fetch(t, instruction, source) or raw_fetch(t, source)
    what = meaning(instruction)
    type_ = what.types.get(source.name, "u32")
    if source.type == "mask" or type_ == "u1":
        return raw
    if what.packed:
        return lambda part: modifiers.packed_source(t.b, t.b.splat(_value(raw(part)), PART_LANES), type_, source)
    if "mix" in instruction.row.flags:
        return lambda part: modifiers.mixed_source(t.b, _value(raw(part)), source)
    if source.type in modifiers.PAIRS:
        return lambda part: modifiers.pair_source(t.b, _value(raw(part)), source)
    plain = not (source.neg or source.abs or source.sext or source.sel != 6 or source.op_sel)
    if plain and BITS.get(type_, 128) >= 32:
        return raw
    return lambda part: modifiers.source(
        t.b, _value(raw(part)), type_, source.neg, source.abs, source.sext, source.sel, source.op_sel
    )


def _choices(instruction: Instruction, operand: Source | Destination) -> range | None:
    """The vector registers that an operand may be to whose number M0 is added; None for all other operands."""
    register = operand.register if isinstance(operand, Destination) else operand.value
    if not instruction.fields.get("indexed", 0) & index_bit(operand):
        return None
    if not isinstance(register, Register) or register.file != "v":
        return None
    return index_range(instruction, register)


def indexed_fetch(t: Translator, instruction: Instruction, operand: Source | Destination) -> Fetch | None:
    """What a vector register holds whose number M0 is added to, or None for an operand that is no such."""
    choices = _choices(instruction, operand)
    if choices is None:
        return None
    register = operand.register if isinstance(operand, Destination) else operand.value
    assert isinstance(register, Register)
    index = register_index(t, choices, register.dwords)

    def get(part: int) -> Wide:
        place = spread(t, choices, part, index)
        words = [Value(word, "u32", PART_LANES) for word in _loaded(t, place, register.dwords)]
        if len(words) == 1:
            return words[0]
        if len(words) > 2:
            return tuple(words)
        high = t.b.binary("shl", t.b.resize(words[1], "u64"), Value("32", "u64"))
        return t.b.binary("or disjoint", high, t.b.resize(words[0], "u64"))

    return get


def register_index(t: Translator, choices: range, dwords: int) -> str:
    """M0's index, at most that of the last of ``choices`` from which ``dwords`` registers follow, as ``i64``."""
    b = t.b
    count = len(choices) - dwords + 1
    index = b.emit(f"and i32 {t.regs.scalar(M0)}, 255")
    inside = b.intrinsic("umin", "u32", Value(index, "u32"), Value(str(count - 1), "u32"))
    return b.resize(inside, "u64").text


def spread(t: Translator, choices: range, part: int, index: str) -> str:
    """Store a part of all these registers in an array; where the one with the index lies there."""
    b = t.b
    t.indexed_registers = max(t.indexed_registers, len(choices))
    for n, register in enumerate(choices):
        here = b.emit(f"getelementptr {PART}, ptr %registers, i64 {n}")
        b.line(f"store {PART} {t.regs.vector(register, part)}, ptr {here}, align 64")
    return b.emit(f"getelementptr {PART}, ptr %registers, i64 {index}")


def _loaded(t: Translator, place: str, count: int) -> list[str]:
    """So many registers from a place in the array on."""
    b = t.b
    places = [b.emit(f"getelementptr {PART}, ptr {place}, i64 {n}") if n else place for n in range(count)]
    return [b.emit(f"load {PART}, ptr {here}, align 64") for here in places]


def change_indexed(
    t: Translator, choices: range, part: int, index: str, dwords: int, change: Callable[[list[str]], list[str]]
) -> None:
    """Give those from the index on, of all these registers, what ``change`` makes of their values."""
    b = t.b
    place = spread(t, choices, part, index)
    for n, new in enumerate(change(_loaded(t, place, dwords))):
        here = b.emit(f"getelementptr {PART}, ptr {place}, i64 {n}") if n else place
        b.line(f"store {PART} {new}, ptr {here}, align 64")
    for n, register in enumerate(choices):
        here = b.emit(f"getelementptr {PART}, ptr %registers, i64 {n}")
        t.regs.set_vector(register, part, b.emit(f"load {PART}, ptr {here}, align 64"))


_CHOSEN = 512
"""No program's register, for what becomes that of the first register that M0 names."""


def indexed_writer(
    t: Translator, instruction: Instruction, dest: Destination, choices: range, exec_mask: Mask
) -> Write:
    """A vector register whose number M0 is added to."""
    b = t.b
    dwords = dest.register.dwords
    index = register_index(t, choices, dwords)
    finish = vector_writer(t, instruction, replace(dest, register=Register("v", _CHOSEN, dwords)), exec_mask)
    chosen = range(number(Register("v", _CHOSEN, 1)), number(Register("v", _CHOSEN, 1)) + dwords)

    def write(part: int, value: Wide, lanes: str | None) -> None:
        def change(old: list[str]) -> list[str]:
            for register, before in zip(chosen, old, strict=True):
                t.regs.set_vector(register, part, before)
            finish(part, value, lanes)
            new = [t.regs.vector(register, part) for register in chosen]
            if exec_mask.full:
                return new
            mask = exec_mask.part(b, part)
            pairs = zip(new, old, strict=True)
            return [b.emit(f"select {PART_MASK} {mask}, {PART} {after}, {PART} {before}") for after, before in pairs]

        change_indexed(t, choices, part, index, dwords, change)

    return write


def raw_fetch(t: Translator, source: Source) -> Fetch:
    """A source as it stands in its register: u32, u64 or a tuple of u32; u1 if it is a mask."""
    value = source.value
    if isinstance(value, Register) and value.file != "s":
        return vector_fetch(t, value)
    if source.type == "mask":
        mask = t.regs.mask(value.index) if isinstance(value, Register) else Mask(constant(source).text)
        return lambda part: Value(mask.part(t.b, part), "u1", PART_LANES)
    fixed = scalar_operand(t, source)
    return lambda part: fixed


def plain_fetch(t: Translator, instruction: Instruction, source: Source) -> Fetch:
    """A source's bits as u32 or u64: registers are kept as what they were written as."""
    get = indexed_fetch(t, instruction, source) or raw_fetch(t, source)

    def bits(part: int) -> Wide:
        value = _value(get(part))
        return t.b.bitcast(value, f"u{BITS[value.type]}")

    return bits


def vector_fetch(t: Translator, register: Register) -> Fetch:
    """Vector registers as u32, u64 or a tuple of u32."""
    first = number(register)
    if register.dwords == 1:
        return lambda part: t.regs.value(first, part)
    if register.dwords == 2:
        return lambda part: t.regs.wide(first, part)
    return lambda part: tuple(Value(t.regs.vector(first + n, part), "u32", PART_LANES) for n in range(register.dwords))


def _value(wide: Wide) -> Value:
    assert isinstance(wide, Value)
    return wide


def _old(t: Translator, instruction: Instruction, dest: Destination) -> Fetch:
    """A destination's old value, as an operand."""
    type_ = meaning(instruction).types.get(dest.name, "u32")
    if dest.type == "mask":
        mask = t.regs.mask(dest.register.index)
        return lambda part: Value(mask.part(t.b, part), "u1", PART_LANES)
    get = indexed_fetch(t, instruction, dest) or vector_fetch(t, dest.register)
    if meaning(instruction).packed:
        return lambda part: t.b.reshape(_value(get(part)), type_)
    if BITS.get(type_, 128) == 16:
        sel = dest.sel if instruction.form == "SDWA" else 6
        return lambda part: modifiers.source(t.b, _value(get(part)), type_, False, False, False, sel, dest.op_sel)
    return get


def _special(t: Translator, instruction: Instruction, name: str) -> Fetch:
    """A name that is no operand, as vector code sees it."""
    if name in ("VCC", "EXEC"):
        mask = t.regs.mask(VCC if name == "VCC" else EXEC)
        return lambda part: Value(mask.part(t.b, part), "u1", PART_LANES)
    if name == "LANE":
        return lambda part: Value(constants(range(part * PART_LANES, (part + 1) * PART_LANES)), "u32", PART_LANES)
    fixed = special(t, instruction, name)
    return lambda part: fixed


# ---- results ---------------------------------------------------------------------------------------------------------

Write = Callable[[int, Wide, "str | None"], None]
"""Writes a part of a result, in the lanes that the last argument allows besides EXEC."""


def writers(t: Translator, instruction: Instruction, exec_mask: Mask, *, fenced: bool = False) -> dict[str, Write]:
    """How each target of an instruction is written; ``fenced``: see `_ends_chain`."""
    what = meaning(instruction)
    result: dict[str, Write] = {}
    for target, _ in what.assignments:
        dest = instruction.dest(target) or swapped(instruction, target)
        choices = None if dest is None else _choices(instruction, dest)
        if dest is not None and choices is not None:
            result[target] = indexed_writer(t, instruction, dest, choices, exec_mask)
        elif dest is not None and dest.register.file != "s":
            result[target] = vector_writer(t, instruction, dest, exec_mask, fenced)
        elif dest is not None:
            result[target] = mask_writer(t, dest.register.index, exec_mask)
        elif target in ("EXEC", "VCC"):
            result[target] = mask_writer(t, EXEC if target == "EXEC" else VCC, exec_mask)
        elif target == "MEM" or not instruction.dests or target == "D":
            result[target] = lambda part, value, lanes: None
        else:
            raise InternalError(f"{instruction.row.name} assigns {target}, which the translator does not know")
    return result


def swapped(instruction: Instruction, target: str) -> Destination | None:
    """The source that v_swap_b32 writes as well."""
    source = instruction.source(target)
    if source is None or not isinstance(source.value, Register):
        return None
    return Destination(target, source.type, source.value)


def mask_writer(t: Translator, index: int, exec_mask: Mask) -> Write:
    """A mask of lanes in a scalar pair: 0 in lanes that EXEC excludes."""
    mask = Mask()
    if index == EXEC:
        t.regs.exec_full = False
    t.regs.set_pair(index, mask)

    def write(part: int, value: Wide, lanes: str | None) -> None:
        bits = t.b.splat(_value(value), PART_LANES).text
        for other in (None if exec_mask.full else exec_mask.part(t.b, part), lanes):
            if other is not None:
                bits = t.b.emit(f"select {PART_MASK} {other}, {PART_MASK} {bits}, {PART_MASK} zeroinitializer")
        mask.parts[part] = bits

    return write


def vector_writer(
    t: Translator, instruction: Instruction, dest: Destination, exec_mask: Mask, fenced: bool = False
) -> Write:
    """Vector registers: in the lanes of EXEC, with clamp, omod and the destination's selection."""
    what = meaning(instruction)
    first = number(dest.register)
    type_ = what.types.get(dest.name, "u32")
    fields = instruction.fields
    masked = [t.masked(first + n) for n in range(dest.register.dwords)]
    clamp, omod = bool(fields.get("clamp", 0)), fields.get("omod", 0)
    is_float = type_ in ("f16", "f32", "f64")
    keeps = keeps_old(instruction, dest.name, what)
    all_lanes = what.ignores_exec
    mode, b = t.mode, t.b
    other_half = "high" if dest.op_sel else modifiers.high_half(instruction.row, t.program.isa)
    changes = is_float and (clamp or omod) and instruction.row.encoding.startswith("VOP")

    def write(part: int, value: Wide, lanes: str | None) -> None:
        guard = None if all_lanes else exec_mask
        if isinstance(value, tuple):
            for n, word in enumerate(value):
                put(t, first + n, part, b.splat(b.bitcast(word, "u32"), PART_LANES).text, guard, masked[n], lanes)
            return
        if changes:
            value = modifiers.result(b, value, clamp, omod, mode)
        if what.packed:
            value = b.splat(value, PART_LANES * (2 if BITS[value.type] < 64 else 1)) if value.lanes == 1 else value
            value = b.reshape(value, f"u{32 * dest.register.dwords}")
        if dest.register.dwords == 2:
            wide = b.bitcast(b.splat(value, PART_LANES), "u64")
            put_wide(t, first, part, wide, guard, masked[0] or masked[1], lanes)
            return
        value = b.splat(value, PART_LANES)
        if instruction.form == "SDWA":
            old = Value(t.regs.vector(first, part), "u32", PART_LANES) if keeps else Value("0", "u32")
            value = modifiers.sdwa_dest(b, value, old, dest.sel, dest.unused)
        elif BITS[value.type] == 16:
            half = b.bitcast(value, "u16")
            if other_half != "zero":
                old = Value(t.regs.vector(first, part), "u32", PART_LANES)
                value = modifiers.sdwa_dest(b, half, old, 5 if other_half == "high" else 4, 2)
            else:
                value = b.resize(half, "u32")
        elif BITS[value.type] < 32:
            value = b.resize(b.bitcast(value, f"u{BITS[value.type]}"), "u32")
        if fenced:
            value = b.let(value.type, PART_LANES, f'call {value.llvm} asm "", "=v,0"({value.typed})')
        put(t, first, part, value, guard, masked[0], lanes)

    return write


CHAIN = 3
"""Integer operations in a row, each on the one before's result, after which LLVM is kept from looking further back."""


def _ends_chain(t: Translator, instruction: Instruction) -> bool:
    """Whether the result is to be hidden from LLVM's analyses, by an assembly text that is empty.

    LLVM looks six operations back, at every operand's operands, for bits that it knows, and does so at each instruction
    and pass: in long chains of integer operations nearly all of its time is spent there, for nothing.
    """
    if not t.hides_chains:
        return False
    registers = [s.value for s in instruction.sources if isinstance(s.value, Register) and s.value.file != "s"]
    length = max((t.chains.get(number(r), 0) for r in registers), default=-1) + 1
    ends = False
    for dest in instruction.dests:
        if dest.register.file == "s":
            continue
        if is_float(meaning(instruction).types.get(dest.name, "u32")):
            length = 0
        ends = length >= CHAIN and dest.register.dwords == 1
        for n in range(dest.register.dwords):
            t.chains[number(dest.register) + n] = 0 if ends else length
    return ends


def put(
    t: Translator,
    register: int,
    part: int,
    value: str | Value,
    exec_mask: Mask | None,
    masked: bool,
    lanes: str | None,
) -> None:
    """Write a part of a register: where EXEC and ``lanes`` allow it, if what is there is still wanted."""
    b = t.b
    new = value if isinstance(value, Value) else Value(value, "u32", PART_LANES)
    guards = [] if lanes is None else [lanes]
    if masked and exec_mask is not None and not exec_mask.full:
        guards.append(exec_mask.part(b, part))
    for guard in guards:
        old = b.bitcast(t.regs.value(register, part), new.type)
        new = b.select(Value(guard, "u1", PART_LANES), new, old)
    t.regs.set_vector(register, part, new)


def put_wide(
    t: Translator, register: int, part: int, value: Value, exec_mask: Mask | None, masked: bool, lanes: str | None
) -> None:
    """The same for 64-bit elements in two registers."""
    if (masked and exec_mask is not None and not exec_mask.full) or lanes is not None:
        for half in (0, 1):
            put(t, register + half, part, half_of(t.b, value, half), exec_mask, masked, lanes)
    else:
        t.regs.set_wide(register, part, value)


# ---- DPP -------------------------------------------------------------------------------------------------------------


def dpp_source_lanes(control: int) -> list[int]:
    """For each of the 64 lanes the lane that DPP reads, or -1 where there is none (AMD, Vega ISA Reference Guide,
    "DPP")."""
    result = []
    for lane in range(64):
        row, at = lane & ~15, lane & 15
        if control < 0x100:
            source = (lane & ~3) + (control >> 2 * (lane & 3) & 3)
        elif control <= 0x10F:
            at += control & 15
            source = row + at if at < 16 else -1
        elif control <= 0x11F:
            at -= control & 15
            source = row + at if at >= 0 else -1
        elif control <= 0x12F:
            source = row + (at - (control & 15) & 15)
        elif control == 0x130:
            source = lane + 1 if lane < 63 else -1
        elif control == 0x134:
            source = lane + 1 & 63
        elif control == 0x138:
            source = lane - 1
        elif control == 0x13C:
            source = lane - 1 & 63
        elif control == 0x140:
            source = row + 15 - at
        elif control == 0x141:
            source = (lane & ~7) + 7 - (lane & 7)
        elif control == 0x142:
            source = row - 1
        elif control == 0x143:
            source = 31 if lane >= 32 else -1
        elif 0x150 <= control <= 0x15F:  # row_newbcast of gfx90a
            source = row + (control & 15)
        else:
            source = -1
        result.append(source)
    return result


def _dpp(
    t: Translator, instruction: Instruction, source: Source, exec_mask: Mask
) -> tuple[Fetch, Callable[[int], str | None]]:
    """What DPP makes of S0, before its modifiers; the lanes of each part that may be written."""
    fields = instruction.fields
    sources = dpp_source_lanes(fields["dpp_ctrl"])
    across = any(s >= 0 and s // PART_LANES != lane // PART_LANES for lane, s in enumerate(sources))
    plain = plain_fetch(t, instruction, source)
    b = t.b
    gathered: list[Value] = []
    if across:
        t.flush()
        gathered = [_value(plain(part)) for part in range(PARTS)]
    exec_value = exec_mask if not exec_mask.full else None
    zero_outside = bool(fields["bound_ctrl"])
    valid = [s >= 0 for s in sources]
    active: list[str | None] = [None] * PARTS

    def moved(values: Callable[[int], str], kind: str, part: int) -> str:
        """The lanes of a part, fetched from where DPP says."""
        mine = sources[part * PART_LANES : (part + 1) * PART_LANES]
        others = sorted({s // PART_LANES for s in mine if s >= 0}) or [part]
        assert len(others) <= 2
        first, second = others[0], others[-1]
        picks = []
        for s in mine:
            if s < 0:
                picks.append(0)
            else:
                picks.append(s % PART_LANES + (PART_LANES if s // PART_LANES == second and second != first else 0))
        return b.emit(
            f"shufflevector {kind} {values(first)}, {kind} {values(second)}, <{PART_LANES} x i32> {constants(picks)}"
        )

    def allowed_of(part: int) -> str | None:
        """Lanes whose source lane exists and is active."""
        if exec_value is None:
            mine = valid[part * PART_LANES : (part + 1) * PART_LANES]
            return None if all(mine) else f"<{', '.join(f'i1 {int(v)}' for v in mine)}>"
        from_lane = moved(lambda p: exec_value.part(b, p), PART_MASK, part)
        mine = valid[part * PART_LANES : (part + 1) * PART_LANES]
        if all(mine):
            return from_lane
        return b.emit(f"and {PART_MASK} {from_lane}, <{', '.join(f'i1 {int(v)}' for v in mine)}>")

    def s0(part: int) -> Wide:
        values = gathered or None
        source_value = _value(plain(part)) if values is None else values[part]
        if source_value.lanes == 1:
            source_value = b.splat(source_value, PART_LANES)
        kind = source_value.llvm
        text = moved(lambda p: source_value.text if values is None else values[p].text, kind, part)
        ok = active[part] = allowed_of(part)
        if zero_outside and ok is not None:
            text = b.emit(f"select {PART_MASK} {ok}, {kind} {text}, {kind} zeroinitializer")
        return Value(text, source_value.type, PART_LANES)

    rows, banks = fields["row_mask"], fields["bank_mask"]

    def allowed(part: int) -> str | None:
        result = None if zero_outside else active[part]
        if not rows >> part & 1:
            return f"<{', '.join(['i1 0'] * PART_LANES)}>"
        if banks != 15:
            enabled = f"<{', '.join(f'i1 {banks >> lane // 4 & 1}' for lane in range(PART_LANES))}>"
            result = enabled if result is None else b.emit(f"and {PART_MASK} {result}, {enabled}")
        return result

    return s0, allowed


# ---- what looks across lanes -----------------------------------------------------------------------------------------


def lane_of(b: WaveBuilder, values: list[str], lane: str) -> str:
    """One lane of a register whose parts are ``values``; ``lane`` is an ``i32`` below 64."""
    if lane.isdigit():
        part, at = divmod(int(lane), PART_LANES)
        return b.emit(f"extractelement {PART} {values[part]}, i64 {at}")
    inside = b.emit(f"and i32 {lane}, {PART_LANES - 1}")
    in_part = b.emit(f"lshr i32 {lane}, 4")
    found = [b.emit(f"extractelement {PART} {value}, i32 {inside}") for value in values]
    result = found[0]
    for n in range(1, PARTS):
        is_it = b.emit(f"icmp eq i32 {in_part}, {n}")
        result = b.emit(f"select i1 {is_it}, i32 {found[n]}, i32 {result}")
    return result


def _parts_of(t: Translator, instruction: Instruction, source: Source) -> list[str]:
    """All parts of a 32-bit source, read now."""
    get = plain_fetch(t, instruction, source)
    return [t.b.splat(_value(get(part)), PART_LANES).text for part in range(PARTS)]


def first_active(t: Translator) -> str:
    """The number of the first active lane, or of lane 0 if there is none."""
    if t.exec_mask().full:
        return "0"
    b = t.b
    first = b.intrinsic("cttz", "u64", Value(t.regs.pair(EXEC), "u64"), extra=("i1 false",)).text
    return b.emit(f"and i32 {b.emit(f'trunc i64 {first} to i32')}, 63")


def _readlane(t: Translator, instruction: Instruction) -> None:
    t.flush()
    source, lane = instruction.source("S0"), instruction.source("S1")
    assert source is not None
    b = t.b
    if lane is not None:
        wanted = _value(scalar_operand(t, lane)).text
        wanted = str(int(wanted) & 63) if wanted.lstrip("-").isdigit() else b.emit(f"and i32 {wanted}, 63")
    else:
        wanted = first_active(t)
    value = lane_of(b, _parts_of(t, instruction, source), wanted)
    write_scalar(t, instruction.dests[0].register, Value(value, "u32"))


def _writelane(t: Translator, instruction: Instruction) -> None:
    source, lane = instruction.source("S0"), instruction.source("S1")
    assert source is not None
    assert lane is not None
    dest = instruction.dests[0]
    register = number(dest.register)
    value = _value(scalar_operand(t, source)).text
    where = _value(scalar_operand(t, lane)).text
    b = t.b
    choices = _choices(instruction, dest)
    index = "" if choices is None else register_index(t, choices, 1)
    known = where.lstrip("-").isdigit()
    if not known:
        lane_text = b.emit(f"and i32 {where}, 63")
        inside = b.emit(f"and i32 {lane_text}, {PART_LANES - 1}")
        part_text = b.emit(f"lshr i32 {lane_text}, 4")

    def changed(part: int, old: str) -> str:
        if known:
            chosen, at = divmod(int(where) & 63, PART_LANES)
            return b.emit(f"insertelement {PART} {old}, i32 {value}, i64 {at}") if part == chosen else old
        new = b.emit(f"insertelement {PART} {old}, i32 {value}, i32 {inside}")
        here = b.emit(f"icmp eq i32 {part_text}, {part}")
        return b.emit(f"select i1 {here}, {PART} {new}, {PART} {old}")

    def thunk(part: int) -> None:
        if choices is None:
            t.regs.set_vector(register, part, changed(part, t.regs.vector(register, part)))
        else:
            change_indexed(t, choices, part, index, 1, lambda old: [changed(part, old[0])])

    t.later(thunk)


def _shuffled_bytes(t: Translator, instruction: Instruction) -> bool:
    """v_perm_b32 with a selector that is known and picks nothing but bytes: one shuffle. Whether it was written."""
    first, second, selector = (instruction.source(name) for name in ("S0", "S1", "S2"))
    assert first is not None
    assert second is not None
    assert selector is not None
    if isinstance(selector.value, Register) and selector.value.file != "s":
        return False
    bits = _value(scalar_operand(t, selector)).text
    picks = [int(bits) >> 8 * n & 255 for n in range(4)] if bits.isdigit() else [255]
    if max(picks) > 7:
        return False
    t.chains.pop(number(instruction.dests[0].register), None)
    count = 4 * PART_LANES
    # Of the eight bytes that are selected from, the low ones are S1's.
    lanes = constants([4 * lane + n % 4 + count * (n // 4) for lane in range(PART_LANES) for n in picks])
    low, high = plain_fetch(t, instruction, second), plain_fetch(t, instruction, first)
    write = writers(t, instruction, t.exec_mask())["D"]
    b = t.b

    def thunk(part: int) -> None:
        given = [b.splat(_value(get(part)), PART_LANES).typed for get in (low, high)]
        both = ", ".join(f"<{count} x i8> {b.emit(f'bitcast {one} to <{count} x i8>')}" for one in given)
        text = b.emit(f"shufflevector {both}, <{count} x i32> {lanes}")
        write(part, Value(b.emit(f"bitcast <{count} x i8> {text} to {PART}"), "u32", PART_LANES), None)

    t.later(thunk)
    return True


def _multiply_add(t: Translator, instruction: Instruction) -> None:
    """An addition to a 64-bit product: of 32 bits, where the sum's other half and the carry are not wanted. Written in
    full, 1,500 statements of integers take LLVM 22 3.4 s instead of 1.2 s, and their code is a third longer."""
    if t.watch is not None or not low_half_alone(instruction, *t.after):
        _translate(t, instruction)
        return
    low = tuple(
        replace(s, value=replace(s.value, dwords=1)) if isinstance(s.value, Register) else s
        for s in instruction.sources
    )
    total = instruction.dest("D")
    assert total is not None
    total = replace(total, register=replace(total.register, dwords=1))
    fenced = _ends_chain(t, replace(instruction, dests=(total,)))
    exec_mask = t.exec_mask()
    fetches = [plain_fetch(t, instruction, source) for source in low]
    write = vector_writer(t, instruction, total, exec_mask, fenced)

    def thunk(part: int) -> None:
        a, b, c = (t.b.resize(_value(get(part)), "u32") for get in fetches)
        write(part, t.b.binary("add", t.b.binary("mul", a, b), c), None)

    t.later(thunk)


_SPECIAL: dict[str, Callable[[Translator, Instruction], None]] = {
    "v_readlane_b32": _readlane,
    "v_readfirstlane_b32": _readlane,
    "v_writelane_b32": _writelane,
    "v_mad_u64_u32": _multiply_add,
    "v_mad_i64_i32": _multiply_add,
}

__all__ = ["fetch", "number", "raw_fetch", "scalar_register", "translate", "vector_fetch", "writers"]

"""Input: decoded instructions of a kernel. Output: its control flow, and which registers matter where.

Liveness of vector registers is kept for two kinds of lanes apart: those that EXEC selects and those that it does not. A
write ends the life of the selected lanes' old values only; when EXEC changes, lanes pass from one kind to the other,
as far as it is not known that EXEC only loses (``s_and_saveexec_b64``) or only gains lanes (``s_or_b64 exec, exec,
…``). So a temporary of one side of a branch is known to be dead outside of it, and needs no masked write.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from headwater.errors import HeadwaterError
from headwater.isa.gcn import images
from headwater.isa.gcn.model import (
    EXEC,
    FLOWS,
    INDEX_DEST,
    M0,
    SCC,
    VCC,
    Instruction,
    Literal,
    Register,
    Row,
    index_bit,
)
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Semantics

_ACC = 256  # accumulation registers follow the vector registers in a bit set
_FULL_EXEC = 3 << EXEC


@dataclass(frozen=True, slots=True)
class Effects:
    """What an instruction reads and writes: bit sets, scalar registers by their encoding (SCC is bit 253), vector ones
    by their number, accumulation registers from bit 256 on.

    ``vector_read`` is read in the lanes of EXEC, ``lanes_read`` in any lane; ``vector_write`` is written in the lanes
    of EXEC, ``lanes_write`` in others (v_writelane). ``exec_change``: "" none, "narrow", "widen" or "any".
    """

    scalar_read: int
    scalar_write: int
    vector_read: int
    lanes_read: int
    vector_write: int
    lanes_write: int
    exec_change: str


@dataclass(slots=True)
class BasicBlock:
    """Instructions that are run one after the other, and where it goes on: ``successors`` as byte addresses.

    ``end``: "fall", "branch", "jump" (unconditional), "indirect" (to any of the program's targets), "exit", "barrier"
    or "fault" (the code runs out or is no code; then ``problem`` says what).
    """

    address: int
    instructions: tuple[Instruction, ...]
    end: str
    successors: tuple[int, ...]
    problem: str = ""
    scalar_in: int = 0
    active_in: int = 0
    inactive_in: int = 0
    full_in: int = 0
    """Scalar registers known to be all ones where the block begins, if EXEC is where the kernel begins."""


@dataclass(slots=True)
class Program:
    """A kernel's blocks by address, in order; ``targets``: the addresses that an indirect jump may reach."""

    isa: str
    entry: int
    blocks: dict[int, BasicBlock]
    targets: tuple[int, ...]
    instruction_count: int = field(default=0)

    def after(self, block: BasicBlock) -> tuple[BasicBlock, ...]:
        """The blocks that may follow."""
        wanted = self.targets if block.end == "indirect" else block.successors
        return tuple(self.blocks[a] for a in wanted)


Decode = Callable[[int], Instruction]


def meaning(instruction: Instruction) -> Semantics:
    """What the instruction does."""
    return instruction.row.once("meaning", semantics)


def read_program(decode: Decode, entry: int, isa: str, in_text: Callable[[int], bool]) -> Program:
    """All code that the kernel at ``entry`` can reach.

    ``decode`` gives the instruction at a byte address and raises a HeadwaterError where there is none; ``in_text`` says
    whether an address may hold code. Such a place becomes a block that ends in a fault, which only counts if it is
    reached.
    """
    known: dict[int, Instruction] = {}
    problems: dict[int, str] = {}
    leaders = {entry}
    returns: set[int] = set()
    functions: set[int] = set()
    pending = [entry]
    indirect = False
    while pending:
        address = pending.pop()
        getpc: dict[int, int] = {}
        while address not in known and address not in problems:
            if not in_text(address):
                problems[address] = "the program runs beyond the end of its code"
                break
            try:
                instruction = decode(address)
            except HeadwaterError as error:
                problems[address] = error.message
                break
            known[address] = instruction
            following = address + instruction.size_bytes
            kind = flow(instruction)
            target = _address_made(instruction, following, getpc)
            if target is not None and in_text(target) and target % 4 == 0:
                functions.add(target)
            if kind in ("branch", "jump") and instruction.target is not None:
                leaders.add(instruction.target)
                pending.append(instruction.target)
            if kind == "call":
                indirect = True
                returns.add(following)
                leaders.add(following)
                pending.append(following)
            if kind == "indirect":
                indirect = True
            if kind in ("branch", "barrier"):
                leaders.add(following)
            if kind in ("jump", "exit", "indirect", "call"):
                break
            address = following
        if indirect and not pending:
            new = functions - leaders
            leaders |= new
            pending.extend(sorted(new))
    targets = tuple(sorted((functions | returns) & leaders)) if indirect else ()
    leaders |= _cuts(known, leaders)
    blocks = _blocks(_with_indices(known, leaders), problems, leaders)
    program = Program(isa, entry, blocks, targets, len(known))
    _liveness(program)
    _full_masks(program)
    return program


LONGEST_BLOCK = 200
"""Instructions of a large program's longest block: LLVM's time grows faster than a block does."""
LARGE_PROGRAM = 600
"""Instructions from which on a program is large: then its registers live in memory from block to block."""


_INDEXING = ("s_set_gpr_idx_on", "s_set_gpr_idx_mode")


def _cuts(known: Mapping[int, Instruction], leaders: set[int]) -> set[int]:
    """Where blocks of a large program are cut that would be too long."""
    if len(known) <= LARGE_PROGRAM:
        return set()
    cuts: set[int] = set()
    length, indexing = 0, False
    for address in sorted(known):
        if address in leaders:
            length, indexing = 0, False
        elif length >= LONGEST_BLOCK and not indexing:
            cuts.add(address)
            length = 0
        length += 1
        name = known[address].row.name
        if name in _INDEXING:  # the mode holds to the end of its block at most
            indexing = True
        elif name == "s_set_gpr_idx_off":
            indexing = False
    return cuts


# ---- registers that are named by M0 ----------------------------------------------------------------------------------


def _with_indices(known: Mapping[int, Instruction], leaders: set[int]) -> dict[int, Instruction]:
    """The instructions; those that add M0 to registers' numbers say so in fields of their own: ``indexed``, the bits
    of `index_bit`, and ``vectors`` and ``scalars``, how many registers the program has.

    The mode holds to the end of its block at most, as every compiler has it.
    """
    result = dict(known)
    mode = 0
    indexed: dict[int, int] = {}
    for address in sorted(known):
        instruction = known[address]
        name = instruction.row.name
        if address in leaders:
            mode = 0
        if name == "s_set_gpr_idx_off":
            mode = 0
        elif name == "s_set_gpr_idx_on":
            mode = instruction.fields["ssrc1"] & 15
        elif name == "s_set_gpr_idx_mode":
            mode = instruction.fields["simm16"] & 15
        elif moved := instruction.row.once("moved by index", _moved_by_index):
            indexed[address] = moved
        elif mode and instruction.form.startswith(("VOP", "SDWA", "DPP")):
            indexed[address] = mode
    if indexed:
        registers = [r for i in known.values() for r in _registers(i)]
        vectors = max((r.index + r.dwords for r in registers if r.file == "v"), default=1)
        scalars = max((r.index + r.dwords for r in registers if r.file == "s" and r.index < 102), default=1)
        for address, bits in indexed.items():
            fields = {**known[address].fields, "indexed": bits, "vectors": vectors, "scalars": scalars}
            result[address] = replace(known[address], fields=fields)
    return result


def _moved_by_index(row: Row) -> int:
    """Bits of the operands to whose registers an instruction of its own adds M0."""
    what = semantics(row)
    source, dest = (what.effect(kind) is not None for kind in ("index_source", "index_dest"))
    return source | (INDEX_DEST if dest else 0)


def _registers(instruction: Instruction) -> list[Register]:
    values = [source.value for source in instruction.sources] + [dest.register for dest in instruction.dests]
    return [value for value in values if isinstance(value, Register)]


def index_range(instruction: Instruction, register: Register) -> range:
    """The registers that an indexed operand may be."""
    count = instruction.fields["vectors" if register.file == "v" else "scalars"]
    return range(register.index, max(count, register.index + register.dwords))


def flow(instruction: Instruction) -> str:
    """Where control goes after an instruction: "" to the next, or a `BasicBlock.end`, or "call"."""
    return next(iter(FLOWS & instruction.row.flags), "")


def _address_made(instruction: Instruction, following: int, getpc: dict[int, int]) -> int | None:
    """The code address that ``s_getpc_b64`` and a literal added to it make; ``getpc`` is the state of the scan."""
    name = instruction.row.name
    dest = instruction.dests[0].register if instruction.dests else None
    if name == "s_getpc_b64" and dest is not None:
        getpc[dest.index] = following
        return None
    if name == "s_add_u32" and dest is not None and dest.index in getpc:
        for source in instruction.sources:
            if isinstance(source.value, Literal):
                bits = source.value.bits
                return getpc.pop(dest.index) + (bits - (1 << 32) if bits >> 31 else bits)
    return None


def _blocks(known: Mapping[int, Instruction], problems: Mapping[int, str], leaders: set[int]) -> dict[int, BasicBlock]:
    blocks: dict[int, BasicBlock] = {}
    for start in sorted(leaders | problems.keys()):
        run: list[Instruction] = []
        address, end = start, "fall"
        successors: tuple[int, ...] = ()
        problem = ""
        while True:
            if address in problems:
                end, problem = ("fault", problems[address]) if not run else ("fall", "")
                successors = (address,) if run else ()
                break
            if address not in known:
                end, problem = "fault", "the program runs beyond the end of its code"
                break
            if run and address in leaders:
                successors = (address,)
                break
            instruction = known[address]
            run.append(instruction)
            address += instruction.size_bytes
            kind = flow(instruction)
            if kind:
                end = "indirect" if kind == "call" else kind
                target = () if instruction.target is None else (instruction.target,)
                if kind == "branch":
                    successors = (*target, address)
                elif kind == "jump":
                    successors = target
                elif kind == "barrier":
                    successors = (address,)
                break
        blocks[start] = BasicBlock(start, tuple(run), end, successors, problem)
    return blocks


# ---- registers -------------------------------------------------------------------------------------------------------

_READ_SPECIALS = {"SCC": 1 << SCC, "VCC": 3 << VCC, "M0": 1 << M0, "EXEC": _FULL_EXEC}
_NARROWING = frozenset({"s_and_saveexec_b64", "s_andn1_saveexec_b64"})
_WIDENING = frozenset({"s_or_saveexec_b64", "s_orn1_saveexec_b64"})


def effects(instruction: Instruction) -> Effects:
    """What an instruction reads and writes."""
    known: Effects | None = instruction.effects
    if known is None:  # each pass over a program asks again
        known = _effects(instruction)
        object.__setattr__(instruction, "effects", known)
    return known


def _effects(instruction: Instruction) -> Effects:
    what = meaning(instruction)
    row = instruction.row
    scalar_read = scalar_write = vector_read = lanes_read = vector_write = lanes_write = 0
    for source in instruction.sources:
        if isinstance(source.value, Register):
            s, v = _bits(source.value)
            scalar_read |= s
            vector_read |= v
    for name, bits in _READ_SPECIALS.items():
        if name in what.reads:
            scalar_read |= bits
    if what.vector:
        scalar_read |= _FULL_EXEC
    for dest in instruction.dests:
        s, v = _bits(dest.register)
        scalar_write |= s
        vector_write |= v
        if keeps_old(instruction, dest.name, what):
            scalar_read |= s
            vector_read |= v
    written = {target for target, _ in what.assignments}
    for source in instruction.sources:
        if source.name in written and isinstance(source.value, Register):  # v_swap_b32
            vector_write |= _bits(source.value)[1]
    for name, bits in _READ_SPECIALS.items():
        if name in written:
            scalar_write |= bits
    if instruction.fields.get("lds"):
        scalar_read |= 1 << M0
    indexed = instruction.fields.get("indexed", 0)
    if indexed:
        scalar_read |= 1 << M0
        for source in instruction.sources:
            if indexed & index_bit(source) and isinstance(source.value, Register):
                s, v = _range_bits(instruction, source.value)
                scalar_read, vector_read = scalar_read | s, vector_read | v
                vector_write |= v if source.name in written else 0  # v_swap_b32
        if indexed & INDEX_DEST:
            # Any of them may be written, so what they hold lives on.
            s, v = _range_bits(instruction, instruction.dests[0].register)
            scalar_read, vector_read = scalar_read | s, vector_read | v
            scalar_write, vector_write = scalar_write | s, vector_write | v
    if reads_other_lanes(instruction, what):
        lanes_read |= vector_read
    if what.ignores_exec:
        lanes_write, vector_write = vector_write, 0
        vector_read |= lanes_write
        lanes_read |= lanes_write
    change = ""
    if scalar_write & _FULL_EXEC:
        change = _exec_change(instruction, row.name)
    return Effects(scalar_read, scalar_write, vector_read, lanes_read, vector_write, lanes_write, change)


def _range_bits(instruction: Instruction, register: Register) -> tuple[int, int]:
    bits = sum(1 << n for n in index_range(instruction, register))
    return (bits, 0) if register.file == "s" else (0, bits)


def _bits(register: Register) -> tuple[int, int]:
    mask = (1 << register.dwords) - 1
    if register.file == "s":
        return mask << register.index, 0
    return 0, mask << (register.index + (_ACC if register.file == "a" else 0))


def keeps_old(instruction: Instruction, name: str, what: Semantics) -> bool:
    """Whether part of a destination's old value stays, in lanes that are written or in lanes that DPP leaves out."""
    if name in what.reads:
        return True
    dest = instruction.dest(name)
    if dest is None:
        return False
    if instruction.form == "SDWA" and dest.register.file == "v":
        return dest.sel != 6 and dest.unused == 2
    if instruction.form == "DPP":
        return True
    if "reads_d" in instruction.row.flags:
        return True
    # 16-bit results of VOP3 may keep the other half; where they clear it, this only costs a move.
    return dest.op_sel != 0 or (instruction.form in ("VOP3", "VOP3P") and dest.type in ("f16", "b16", "u16", "i16"))


def reads_other_lanes(instruction: Instruction, what: Semantics) -> bool:
    """Whether a lane may read what another lane holds, one that EXEC excludes included."""
    return instruction.form == "DPP" or instruction.row.once("reads other lanes", _reads_other_lanes)


def _reads_other_lanes(row: Row) -> bool:
    what = semantics(row)
    return what.cross not in ("", "writelane") or any(what.effect(kind) is not None for kind in ("mfma", "gws"))


def _exec_change(instruction: Instruction, name: str) -> str:
    if instruction.row.encoding == "VOPC" or name in _NARROWING:
        return "narrow"
    if name in _WIDENING:
        return "widen"
    first, second = (instruction.source(n) for n in ("S0", "S1"))
    reads = [
        s is not None and isinstance(s.value, Register) and s.value == Register("s", EXEC, 2) for s in (first, second)
    ]
    if (name == "s_and_b64" and any(reads)) or (name == "s_andn2_b64" and reads[0]):
        return "narrow"
    if (name == "s_or_b64" and any(reads)) or (name == "s_mov_b64" and first is not None and is_all_ones(first.value)):
        return "widen"
    return "any"


def is_all_ones(value: object) -> bool:
    """Whether a scalar operand is the constant -1."""
    return getattr(value, "code", None) == 193 or getattr(value, "bits", None) == 0xFFFFFFFF


def backward(instruction: Instruction, scalar: int, active: int, inactive: int) -> tuple[int, int, int]:
    """What is live before an instruction, from what is live after it: scalar registers, and vector registers in lanes
    that EXEC selects and in those that it does not."""
    e = effects(instruction)
    if e.exec_change:
        both = active | inactive
        if e.exec_change != "widen":
            active, inactive = both, inactive if e.exec_change == "narrow" else both
        else:
            inactive = both
    scalar_read, vector_read = e.scalar_read, e.vector_read
    if low_half_alone(instruction, scalar, active, inactive):
        scalar_read, vector_read = _read_by_low_half(instruction)
    active = (active & ~e.vector_write) | vector_read | e.lanes_read
    inactive |= e.lanes_read
    if instruction.row.encoding == "MIMG":
        perhaps = sum(1 << register for register in images.address_registers(instruction))
        active |= perhaps
        if images.reads_neighbours(instruction):
            inactive |= perhaps
    scalar = (scalar & ~e.scalar_write) | scalar_read
    return scalar, active, inactive


_MULTIPLY_ADDS = frozenset({"v_mad_u64_u32", "v_mad_i64_i32"})


def low_half_alone(instruction: Instruction, scalar: int, active: int, inactive: int) -> bool:
    """Whether an instruction adds to a 64-bit product, and only the sum's low half is among what is live after it:
    compilers multiply and add 32-bit numbers so."""
    if (
        instruction.row.name not in _MULTIPLY_ADDS
        or instruction.fields.get("clamp")
        or instruction.fields.get("indexed")
    ):
        return False
    total, carry = (instruction.dest(name) for name in ("D", "D1"))
    assert total is not None
    assert carry is not None
    low = replace(total.register, dwords=1)
    high = _bits(total.register)[1] & ~_bits(low)[1]
    return not (active | inactive) & high and not scalar & _bits(carry.register)[0]


def _read_by_low_half(instruction: Instruction) -> tuple[int, int]:
    """The scalar and vector registers that the low half of such a sum depends on."""
    scalar, vector = _FULL_EXEC, 0
    for source in instruction.sources:
        if isinstance(source.value, Register):
            s, v = _bits(replace(source.value, dwords=1))
            scalar, vector = scalar | s, vector | v
    return scalar, vector


def _liveness(program: Program) -> None:
    order = list(reversed(program.blocks.values()))
    preds: dict[int, list[BasicBlock]] = {}
    for block in order:
        for follower in program.after(block):
            preds.setdefault(follower.address, []).append(block)
    waiting = dict.fromkeys(block.address for block in order)
    while waiting:
        address = next(iter(waiting))
        del waiting[address]
        block = program.blocks[address]
        state = live_out(program, block)
        for instruction in reversed(block.instructions):
            state = backward(instruction, *state)
        if state != (block.scalar_in, block.active_in, block.inactive_in):
            block.scalar_in, block.active_in, block.inactive_in = state
            waiting.update(dict.fromkeys(p.address for p in preds.get(address, ())))


def live_out(program: Program, block: BasicBlock) -> tuple[int, int, int]:
    """What is live where a block ends. EXEC always is, as every block may need it."""
    scalar, active, inactive = _FULL_EXEC, 0, 0
    for follower in program.after(block):
        scalar |= follower.scalar_in
        active |= follower.active_in
        inactive |= follower.inactive_in
    return scalar, active, inactive


def live_before_each(program: Program, block: BasicBlock) -> list[tuple[int, int, int]]:
    """What is live before each instruction of a block, and last what is live at its end."""
    states = [live_out(program, block)]
    for instruction in reversed(block.instructions):
        states.append(backward(instruction, *states[-1]))
    states.reverse()
    return states


# ---- masks that are known to be full ---------------------------------------------------------------------------------


def full_after(instruction: Instruction, full: int) -> int:
    """Scalar registers known to be all ones after an instruction."""
    e = effects(instruction)
    if not e.scalar_write:
        return full
    name = instruction.row.name
    dest = instruction.dests[0].register if instruction.dests else None

    def is_full(which: str) -> bool:
        source = instruction.source(which)
        if source is None:
            return False
        if is_all_ones(source.value):
            return True
        if not isinstance(source.value, Register) or source.value.file != "s":
            return False
        mask = _bits(source.value)[0]
        return full & mask == mask

    kept = full & ~e.scalar_write
    if dest is None or dest.file != "s":
        return kept
    own = _bits(dest)[0]
    exec_full = full & _FULL_EXEC == _FULL_EXEC
    if name in ("s_mov_b64", "s_mov_b32"):
        return kept | own if is_full("S0") else kept
    if name in ("s_or_b64", "s_and_b64"):
        sides = is_full("S0"), is_full("S1")
        return kept | own if (any(sides) if name == "s_or_b64" else all(sides)) else kept
    if name in ("s_and_saveexec_b64", "s_or_saveexec_b64"):
        sides = is_full("S0"), exec_full
        result = any(sides) if name == "s_or_saveexec_b64" else all(sides)
        return kept | (own if exec_full else 0) | (_FULL_EXEC if result else 0)
    if name in ("s_xor_saveexec_b64", "s_andn2_saveexec_b64", "s_orn2_saveexec_b64", "s_andn1_saveexec_b64"):
        return kept | (own if exec_full else 0)
    return kept


def _full_masks(program: Program) -> None:
    everything = (1 << 256) - 1
    for block in program.blocks.values():
        block.full_in = everything
    program.blocks[program.entry].full_in = _FULL_EXEC
    waiting = [program.entry]
    seen: set[int] = set()
    while waiting:
        block = program.blocks[waiting.pop()]
        seen.add(block.address)
        full = block.full_in
        for instruction in block.instructions:
            full = full_after(instruction, full)
        for follower in program.after(block):
            joined = follower.full_in & full
            if joined != follower.full_in or follower.address not in seen:
                follower.full_in = joined
                if follower.address not in waiting:
                    waiting.append(follower.address)


def registers(bits: int) -> Iterable[int]:
    """The numbers of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def block_of(program: Program, address: int) -> BasicBlock:
    """The block that an instruction's address lies in."""
    starts = list(program.blocks)
    return program.blocks[starts[bisect_right(starts, address) - 1]]

"""Input: loads, stores and atomics of LLVM. Output: IL that reaches an address space in its own way.

Global and constant memory are one unordered view, `ARENA`, of which pointers are byte addresses; bytes and shorts are
reached through `BYTES`, which is the same memory. Local memory is LDS 1. Private arrays that are left are indexed
temporaries. Structs that are passed by value are read where they stand, in constant buffer 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headwater.errors import InternalError
from headwater.il.from_llvm.arithmetic import packed, unpacked
from headwater.il.from_llvm.builder import Lane, buffer_lane, constant
from headwater.il.from_llvm.constants import (
    CONSTANT,
    GENERIC,
    GLOBAL,
    LOCAL,
    PRIVATE,
    HoldsAddress,
    Unknown,
    scalar_bits,
    signed,
    steps,
)
from headwater.il.from_llvm.context import Context, named_space
from headwater.il.from_llvm.types import bits, components
from headwater.il.model import LANES, Index, Modifier, Operand, Register
from headwater.llvm.ir import Inst, Value
from headwater.llvm.types import Type

ARENA, BYTES, LDS = 11, 8, 1
ARGUMENTS = 1
"""The constant buffer that holds a kernel's arguments."""
_ATOMICS = {
    "add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "max": "max", "min": "min", "umax": "umax",
    "umin": "umin", "xchg": "xchg", "uinc_wrap": "inc", "udec_wrap": "dec",
}  # fmt: skip
_OF_FLOAT = {"fadd": "add", "fsub": "sub", "fmin": "min_ieee", "fmax": "max_ieee"}
_MEM = Register("mem", 0)
_NO_WRAP = frozenset(("inbounds", "nusw", "nuw"))
"""Flags of a getelementptr that say that its sums and products are those of the numbers themselves."""
_FAR = 1 << 30
"""Constants of this size may stand for smaller ones, as sums wrap at 32 bits."""


@dataclass(slots=True)
class Array:
    """Private memory that one indexed temporary holds: its number, and whether an element holds four words, or one."""

    number: int
    whole: bool
    size_bytes: int = 0

    @property
    def elements(self) -> int:
        """Registers that it takes."""
        return max(1, -(-self.size_bytes // (16 if self.whole else 4)))


_NOTHING = Array(-1, whole=False)


@dataclass
class Places:
    """Where pointers lead: private ones to an `Array`, those to a struct argument to ``ARGUMENTS``."""

    array: dict[str, Array] = field(default_factory=dict)
    """By the name of a pointer; of an alloca, its offset in the array is in ``offset``."""
    offset: dict[str, int] = field(default_factory=dict)
    arguments: set[str] = field(default_factory=set)
    nowhere: set[str] = field(default_factory=set)
    """Pointers that are made of null pointers alone."""
    variables: set[str] = field(default_factory=set)
    """Pointers that lead, or may lead, to variables of the program."""
    spaces: dict[str, int] = field(default_factory=dict)
    """Of generic pointers that lead to one address space, which."""
    locals: dict[str, int] = field(default_factory=dict)
    """Local variables (``@name``): byte offset in LDS."""
    data: dict[str, int] = field(default_factory=dict)
    """The program's constants: byte offset from the address that constant buffer 0 says."""
    uses: set[str] = field(default_factory=set)
    """Names that some instruction uses."""
    local_bytes: int = 0
    bytes_used: bool = False
    arena_used: bool = False
    lds_used: bool = False


class Memory:
    """The memory instructions of one kernel."""

    def __init__(self, c: Context, places: Places, data_address: Lane) -> None:
        self.c = c
        self.b = c.builder
        self.places = places
        self.data_address = data_address
        self.shifted: dict[tuple[Register | None, str], tuple[Lane, int]] = {}
        """What a lane is by a shift to the left: indices that were scaled are wanted unscaled again."""

    # -- addresses -----------------------------------------------------------------------------------------------------

    def pointer(self, value: Value) -> tuple[Lane, int]:
        """A pointer as a lane and a constant to add, as `Context.space_of` says."""
        c = self.c
        if value.is_local:
            if value.text in self.places.offset:
                return constant(0), self.places.offset[value.text]
            return c.values[value.text][0], c.offsets.get(value.text, 0)
        if value.text.startswith("@"):
            if value.text in self.places.locals:
                return constant(0), self.places.locals[value.text]
            return self.data_address, self.places.data[value.text]
        try:
            return constant(scalar_bits(c.module, value)), 0
        except HoldsAddress:
            inst = c.module.constant_expression(value)
        except Unknown as error:
            raise c.refuse(f"a constant pointer by {error.operation} is not supported") from None
        if inst.op == "getelementptr":
            return self.address(inst)
        inner = inst.args[0]
        if inst.op == "inttoptr":
            return c.lane(inner), 0
        return self.pointer(inner) if inst.ty.space == GENERIC else (c.held(inner, inst.ty.space), 0)

    def address(self, inst: Inst) -> tuple[Lane, int]:
        """What a getelementptr computes."""
        c = self.c
        base, offset = self.pointer(inst.args[0])
        offsets = [offset]
        exact = not _NO_WRAP.isdisjoint(inst.flags)
        for index, step in steps(inst, offsets.append):
            if index.ty.kind == "vec":
                raise c.refuse("vectors of pointers are not supported", "compute the components' addresses one by one")
            if not index.is_local:
                try:
                    offsets.append(signed(c.module, index) * step)
                    continue
                except HoldsAddress:
                    pass
            lane = c.lanes(index)[0]
            lane = c.signed([lane], index.ty)[0] if index.ty.bits < 32 else lane
            made = self.scaled(lane, step, exact=exact)
            base = c.one("iadd", made, base) if base != constant(0) else made
        return base, (sum(offsets) + (1 << 31)) % (1 << 32) - (1 << 31)

    def scaled(self, lane: Lane, step: int, *, exact: bool) -> Lane:
        """An index times the size of an element; ``exact``: the product does not wrap."""
        if step & (step - 1):
            return self.c.one("imul", lane, step)
        amount = step.bit_length() - 1
        made = self.c.one("ishl", lane, amount)
        if exact and made.register is not None and amount:
            self.shifted[made.register, made.lane] = (lane, amount)
        return made

    def unscaled(self, lane: Lane, amount: int) -> Lane:
        """A lane shifted to the right, by way of what it was shifted to the left from. It may be negative where the
        constant that is added to it is not in it."""
        known = self.shifted.get((lane.register, lane.lane))
        if known is None or lane.register is None:
            return self.c.one("ishr", lane, amount)
        source, by = known
        return self.c.one("ishl", source, by - amount) if by >= amount else self.c.one("ishr", lane, amount)

    def whole(self, base: Lane, offset: int) -> Lane:
        return self.c.one("iadd", base, offset)

    # -- loads and stores ----------------------------------------------------------------------------------------------

    def load(self, inst: Inst) -> list[Lane]:
        ty, pointer = inst.ty, inst.args[0]
        size, unit = _extent(ty, inst.align)
        held = self.read(pointer, *self.pointer(pointer), size, unit)
        if ty.text == "i1":
            return self.c.op("inegate", self.c.op("iand", held, 1))
        return unpacked(self.c, held, ty)

    def store(self, inst: Inst) -> None:
        value, pointer = inst.args
        size, unit = _extent(value.ty, inst.align)
        lanes = self.c.lanes(value)
        held = packed(self.c, self.b.plain(lanes), value.ty)
        self.write(pointer, *self.pointer(pointer), held, size, unit)

    def read(self, pointer: Value, base: Lane, offset: int, size: int, unit: int) -> list[Lane]:
        """Bytes from an address on, as words; ``unit``: how many at a time may be read."""
        if unit == 4 and size % 4 == 0:
            return self.read_words(pointer, base, offset, size // 4)
        out: list[Lane] = []
        for at in range(0, size, unit):
            piece = self.read_unit(pointer, base, offset + at, unit)
            if at % 4 == 0:
                out.append(piece)
            else:
                out[-1] = self.c.one("ior", out[-1], self.c.one("ishl", piece, 8 * (at % 4)))
        return out

    def write(self, pointer: Value, base: Lane, offset: int, held: Sequence[Lane], size: int, unit: int) -> None:
        if unit == 4 and size % 4 == 0:
            self.write_words(pointer, base, offset, held)
            return
        for at in range(0, size, unit):
            piece = self.c.one("ushr", held[at // 4], 8 * (at % 4))
            self.write_unit(pointer, base, offset + at, piece, unit)

    def read_words(self, pointer: Value, base: Lane, offset: int, count: int) -> list[Lane]:
        space = self.space(pointer)
        if space == PRIVATE:
            return self.private_words(self.array_of(pointer), base, offset, count)
        if pointer.text in self.places.arguments:
            return self.argument_words(base, offset, count)
        out: list[Lane] = []
        for start in range(0, count, 4):
            made = self.b.new(min(4, count - start))
            at = self.whole(base, offset + 4 * start)
            if space == LOCAL:
                self.places.lds_used = True
                if len(made) == 1:
                    self.b.put("lds_load", self.b.target(made), self.b.scalar(at), modifiers=_id(LDS))
                else:
                    zero = self.b.scalar(constant(0))
                    self.b.put("lds_load_vec", self.b.target(made), self.b.scalar(at), zero, modifiers=_id(LDS))
            else:
                self.places.arena_used = True
                self.b.put("uav_raw_load", self.b.target(made), self.b.scalar(at), modifiers=_id(ARENA))
            out += made
        return out

    def write_words(self, pointer: Value, base: Lane, offset: int, held: Sequence[Lane]) -> None:
        space = self.written_space(pointer)
        if space == PRIVATE:
            self.private_store(self.array_of(pointer), base, offset, held)
            return
        for start in range(0, len(held), 4):
            lanes = held[start : start + 4]
            at = self.b.scalar(self.whole(base, offset + 4 * start))
            mask = Operand(_MEM, "".join(lane if k < len(lanes) else "_" for k, lane in enumerate(LANES)))
            if space == LOCAL:
                self.places.lds_used = True
                if len(lanes) == 1:
                    self.b.put("lds_store", at, self.b.scalar(lanes[0]), modifiers=_id(LDS))
                else:
                    zero = self.b.scalar(constant(0))
                    self.b.put("lds_store_vec", mask, at, zero, self.b.vector(lanes), modifiers=_id(LDS))
            else:
                self.places.arena_used = True
                self.b.put("uav_raw_store", mask, at, self.b.vector(lanes), modifiers=_id(ARENA))

    def read_unit(self, pointer: Value, base: Lane, offset: int, unit: int) -> Lane:
        """One or two bytes, with zeros above."""
        c = self.c
        if self.space(pointer) in (GLOBAL, CONSTANT) and c.chip.vliw.unordered_views and not self.is_argument(pointer):
            made = self.b.new(1)
            at = self.b.scalar(self.whole(base, offset))
            self.places.bytes_used = True
            size = Modifier("size", ("byte" if unit == 1 else "short",))
            self.b.put("uav_arena_load", self.b.target(made), at, modifiers=[*_id(BYTES), size])
            return made[0]
        if self.space(pointer) == LOCAL:
            made = self.b.new(1)
            self.places.lds_used = True
            name = "lds_load_ubyte" if unit == 1 else "lds_load_ushort"
            self.b.put(name, self.b.target(made), self.b.scalar(self.whole(base, offset)), modifiers=_id(LDS))
            return made[0]
        word_base, word_offset, by = self.word_of(base, offset)
        word = self.read_words(pointer, word_base, word_offset, 1)[0]
        return c.one("iand", c.one("ushr", word, by), (1 << (8 * unit)) - 1)

    def write_unit(self, pointer: Value, base: Lane, offset: int, value: Lane, unit: int) -> None:
        c = self.c
        space = self.written_space(pointer)
        if space == GLOBAL:
            if not c.chip.vliw.unordered_views and c.writes_images:
                raise c.refuse("the kernel writes an image", "store to a buffer: HD 5000 and later write images")
            if not c.chip.vliw.unordered_views:
                raise c.refuse(
                    f"the kernel stores {'a byte' if unit == 1 else '16 bits'}, and global memory is written in words",
                    "store int or float, or pack four bytes in one",
                )
            self.places.bytes_used = True
            size = Modifier("size", ("byte" if unit == 1 else "short",))
            at = self.b.scalar(self.whole(base, offset))
            self.b.put("uav_arena_store", at, self.b.scalar(value), modifiers=[*_id(BYTES), size])
            return
        if space == LOCAL:
            self.places.lds_used = True
            name = "lds_store_byte" if unit == 1 else "lds_store_short"
            self.b.put(name, self.b.scalar(self.whole(base, offset)), self.b.scalar(value), modifiers=_id(LDS))
            return
        word_base, word_offset, by = self.word_of(base, offset)
        mask = c.one("ishl", constant((1 << (8 * unit)) - 1), by)
        bits_ = c.one("ishl", c.one("iand", value, (1 << (8 * unit)) - 1), by)
        old = self.read_words(pointer, word_base, word_offset, 1)[0]
        others = c.one("inot", mask)
        self.write_words(pointer, word_base, word_offset, [c.one("ior", c.one("iand", old, others), bits_)])

    def word_of(self, base: Lane, offset: int) -> tuple[Lane, int, Lane]:
        """The word that a byte is in, as base and offset, and by how many bits the byte stands above its low end."""
        c = self.c
        if base.register is None:
            at = base.bits + offset
            return constant(0), at & ~3, constant(8 * (at & 3))
        at_lane = self.whole(base, offset)
        return c.one("iand", at_lane, 0xFFFFFFFC), 0, c.one("ishl", c.one("iand", at_lane, 3), 3)

    def space(self, pointer: Value) -> int:
        space = pointer.ty.scalar.space
        if space == GENERIC:
            space = self.places.spaces.get(pointer.text, named_space(pointer.text))
        if space == GENERIC:
            raise self.c.refuse(
                "access by a pointer of unknown address space", "say of every pointer global, local or private"
            )
        return space

    def written_space(self, pointer: Value) -> int:
        """`space` of a pointer that is written through."""
        space = self.space(pointer)
        if space == GLOBAL and ("@" in pointer.text or pointer.text in self.places.variables):
            raise self.c.refuse(
                "the kernel writes to a variable of the program, which VLIW chips keep among its constants",
                "pass a buffer for it",
            )
        return space

    def is_argument(self, pointer: Value) -> bool:
        return pointer.text in self.places.arguments

    # -- private arrays and struct arguments ---------------------------------------------------------------------------

    def array_of(self, pointer: Value) -> Array:
        """The array that a private pointer leads to; one of nothing if that is a null pointer."""
        found = self.places.array.get(pointer.text)
        if found is not None:
            return found
        if pointer.is_local and pointer.text not in self.places.nowhere:
            raise InternalError(f"a private pointer leads nowhere: {pointer.text}")
        return _NOTHING

    def element(self, array: Array, base: Lane, offset: int) -> Register:
        """The element that an address is in."""
        shift = 4 if array.whole else 2
        if base.register is None:
            at = constant(base.bits + offset).bits >> shift
            return Register("x", array.number, Index(None, "", min(max(at, 0), array.elements - 1)))
        if offset % (1 << shift) or abs(offset) >= _FAR:  # both together are an element's address, but not each
            base, offset = self.whole(base, offset), 0
        index = self.unscaled(base, shift)
        assert index.register is not None
        if index.register.kind != "r" or not index.plain:
            moved = self.b.each("mov", [index], floats=True)
            index = moved[0]
        at = offset >> shift
        if at < 0:
            index, at = self.c.one("iadd", index, at), 0
        return Register("x", array.number, Index(index.register, index.lane, at))

    def private_words(self, array: Array, base: Lane, offset: int, count: int) -> list[Lane]:
        if array is _NOTHING:
            return [constant(0)] * count
        made = self.b.new(count)
        if array.whole:
            for start in range(0, count, 4):
                register = self.element(array, base, offset + 4 * start)
                self.b.into(made[start : start + 4], "mov", [Lane(register, lane) for lane in LANES[: count - start]])
        else:
            for k in range(count):
                self.b.into([made[k]], "mov", [Lane(self.element(array, base, offset + 4 * k), "x")])
        return made

    def private_store(self, array: Array, base: Lane, offset: int, held: Sequence[Lane]) -> None:
        if array is _NOTHING:
            return
        step = 4 if array.whole else 1
        for start in range(0, len(held), step):
            lanes = held[start : start + step]
            register = self.element(array, base, offset + 4 * start)
            self.b.into([Lane(register, lane) for lane in LANES[: len(lanes)]], "mov", lanes, floats=True)

    def argument_words(self, base: Lane, offset: int, count: int) -> list[Lane]:
        """Words of a struct that was passed by value; ``offset`` counts from the buffer's start."""
        if base.register is None:
            at = [(base.bits + offset) // 4 + k for k in range(count)]
            return [buffer_lane(ARGUMENTS, word // 4, LANES[word % 4]) for word in at]
        c = self.c
        out = []
        for k in range(count):
            word = c.one("ushr", self.whole(base, offset + 4 * k), 2)
            index, which = c.one("ushr", word, 2), c.one("iand", word, 3)
            assert index.register is not None
            register = Register("cb", ARGUMENTS, Index(index.register, index.lane, 0))
            element = self.b.each("mov", [Lane(register, lane) for lane in LANES])
            result = element[0]
            for number in (1, 2, 3):
                result = c.choose(c.one("ieq", which, number), element[number], result)
            out.append(result)
        return out

    # -- atomics -------------------------------------------------------------------------------------------------------

    def atomic_place(self, pointer: Value, ty: Type) -> tuple[str, list[Modifier], Operand]:
        if not self.c.chip.vliw.unordered_views:
            raise self.c.refuse("the kernel uses atomic operations", "these chips have them: HD 5000 and later")
        if bits(ty) != 32:
            raise self.c.refuse(f"atomic operations on {bits(ty)} bits", "use int or uint")
        base, offset = self.pointer(pointer)
        space = self.written_space(pointer)
        at = self.b.scalar(self.whole(base, offset))
        if space == LOCAL:
            self.places.lds_used = True
            return "lds", _id(LDS), at
        if space == PRIVATE:
            raise self.c.refuse("atomic operations on private memory", "plain assignments do the same there")
        self.places.arena_used = True
        return "uav", _id(ARENA), at

    def atomic(self, inst: Inst) -> list[Lane]:
        """atomicrmw."""
        pointer, value = inst.args
        if inst.detail in _OF_FLOAT or inst.detail == "nand":
            return [self.exchange_loop(inst)]
        kind, modifiers, at = self.atomic_place(pointer, value.ty)
        operand = self.b.scalar(self.b.plain(self.c.lanes(value))[0])
        name = _ATOMICS.get(inst.detail)
        if name is None:
            raise self.c.refuse(f"atomic {inst.detail}")
        if inst.name not in self.places.uses and name != "xchg":
            self.b.put(f"{kind}_{name}", at, operand, modifiers=modifiers)
            return [constant(0)]
        made = self.b.new(1)
        self.b.put(f"{kind}_read_{name}", self.b.target(made), at, operand, modifiers=_returning(kind, modifiers))
        return made

    def compare_exchange(self, inst: Inst) -> list[Lane]:
        pointer, expected, new = inst.args
        kind, modifiers, at = self.atomic_place(pointer, expected.ty)
        wanted = self.b.plain(self.c.lanes(expected))[0]
        made = self.b.new(1)
        operands = [self.b.scalar(self.b.plain(self.c.lanes(new))[0]), self.b.scalar(wanted)]
        self.b.put(f"{kind}_read_cmp_xchg", self.b.target(made), at, *operands, modifiers=_returning(kind, modifiers))
        return [made[0], self.c.one("ieq", made[0], wanted)]

    def exchange_loop(self, inst: Inst) -> Lane:
        """An atomic operation that there is no instruction for: tried until nobody came between."""
        pointer, value = inst.args
        kind, modifiers, at = self.atomic_place(pointer, value.ty)
        operand = self.b.plain(self.c.lanes(value))
        old = self.b.new(1)
        self.b.into(old, "mov", self.read_words(pointer, *self.pointer(pointer), 1))
        self.b.put("whileloop")
        if inst.detail == "nand":
            new = self.c.op("inot", self.c.op("iand", old, operand))
        else:
            new = self.b.each(_OF_FLOAT[inst.detail], old, operand, floats=True)
        seen = self.b.new(1)
        modifiers = _returning(kind, modifiers)
        sources = [self.b.scalar(new[0]), self.b.scalar(old[0])]
        self.b.put(f"{kind}_read_cmp_xchg", self.b.target(seen), at, *sources, modifiers=modifiers)
        same = self.c.one("ieq", seen[0], old[0])
        self.b.into(old, "mov", seen)
        self.b.put("break_logicalnz", self.b.scalar(same))
        self.b.put("endloop")
        return old[0]


def _id(number: int) -> list[Modifier]:
    return [Modifier("id", (str(number),))]


def _returning(kind: str, modifiers: list[Modifier]) -> list[Modifier]:
    return [Modifier("resource", modifiers[0].arguments)] if kind == "lds" else modifiers


def _extent(ty: Type, align: int) -> tuple[int, int]:
    """Bytes that a value takes, without padding behind it, and how many may be accessed at a time."""
    if ty.kind in ("array", "struct"):
        raise InternalError(f"a whole {ty} is loaded or stored")
    size = sum(max(8, bits(scalar)) if ty.kind != "vec" else bits(scalar) for scalar in components(ty)) // 8
    unit = min(4, align or 4)
    while size % unit:
        unit //= 2
    return size, unit

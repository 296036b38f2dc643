"""Input: exports and memory writes of control flow. Output: stores and atomic updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwater.chips.vliw_isas import Traits
from headwater.emulate.vliw import formats, lds, program, scratch
from headwater.emulate.vliw.bindings import Bound
from headwater.emulate.vliw.clause import Clause, place
from headwater.emulate.vliw.elements import index_limit
from headwater.emulate.vliw.registers import PIXEL, RETURNED
from headwater.emulate.vliw.watch import Watch, reports_first, store
from headwater.emulate.wave import atomics
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import ARENA
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART_LANES, PART_MASK, Mask
from headwater.isa.semantics.model import Semantics
from headwater.isa.vliw import table
from headwater.isa.vliw.semantics import semantics

MASKED = 7


def translate(c: Clause) -> None:
    """The clause's instruction, which is of kind EXPORT, MEM or RAT."""
    cf = c.cf
    f = cf.fields
    if f["rw_rel"] or f["rat_index_mode"]:
        c.unsupported(place(c.index))
    elif cf.row.kind == "EXPORT":
        for n in range(f["burst_count"] + 1):
            _pixel(c, n)
    elif cf.row.kind == "RAT":
        _rat(c)
    elif "scratch" in cf.row.flags:
        _scratch(c)
    else:
        _memory(c)


# ---- colours


def _pixel(c: Clause, number: int) -> None:
    """One element of the burst."""
    f = c.cf.fields
    name, gpr = ("output", f["array_base"] + number), f["rw_gpr"] + number
    bound = c.resources.bound(name)
    selects = [f[f"sel_{axis}"] for axis in "xyzw"]
    if f["type"] != program.EXPORT_PIXEL or all(sel == MASKED for sel in selects):
        return
    if bound is None:
        c.unsupported(place(c.index))
        return
    mask, surface = c.exec, _Surface(name, bound, c.memory(name, bound))
    watch = Watch(c, place(c.index, number), "export", name, writes=True, ahead=True)

    def thunk(part: int, reporting: bool, storing: bool) -> None:
        pixel = [c.regs.read(PIXEL + n, part) for n in (0, 1)]
        elements = _Elements(pixel, [_selected(c, gpr, sel, part) for sel in selects])
        _store_elements(c, surface, elements, part, mask, watch if reporting else None, storing)

    store(c, thunk)


def _selected(c: Clause, gpr: int, sel: int, part: int) -> Value | None:
    if sel == MASKED:
        return None
    if sel >= 4:
        return c.b.constant("u32", formats.ONE if sel == 5 else 0)
    return c.regs.read(4 * gpr + sel, part)


@dataclass(frozen=True, slots=True)
class _Surface:
    """A resource, what is bound to it, and what makes addresses of byte offsets in it."""

    name: tuple[str, int]
    bound: Bound
    address: Callable[[str], Address]


@dataclass(frozen=True, slots=True)
class _Elements:
    """What lanes store: a value for each component that is stored, at whole coordinates."""

    coordinates: Sequence[Value]
    components: Sequence[Value | None]


def _store_elements(
    c: Clause, surface: _Surface, elements: _Elements, part: int, mask: Mask, watch: Watch | None, storing: bool
) -> None:
    """Report a part's elements, and store them; outside of the resource nothing is."""
    b, name, bound, address = c.b, surface.name, surface.bound, surface.address
    coordinates = elements.coordinates
    inside = None
    element = None
    axes = zip(coordinates[: bound.dimensions], ("width", "height", "depth"), ("", "pitch", "slice"), strict=False)
    for x, extent, pitch in axes:
        test = b.compare("icmp ult", x, Value(c.descriptor(name, extent), "u32"))
        inside = test if inside is None else b.binary("and", inside, test)
        row = b.binary("mul", x, Value(c.descriptor(name, pitch), "u32")) if pitch else x
        element = row if element is None else b.binary("add", element, row)
    assert element is not None
    assert inside is not None
    allowed = Mask()
    allowed.parts[part] = b.binary("and", c.part_mask(mask, part), inside).text
    access = PartAccess(c, part, allowed, place(c.index))
    format_ = bound.format
    low = b.splat(b.binary("mul", element, b.constant("u32", format_.nbytes)), PART_LANES)
    if watch is not None:
        watch.report_tiled(part, address(low.text), name, coordinates[: bound.dimensions], format_.nbytes, allowed)
    if not storing:
        return
    present = elements.components[: format_.lanes]
    whole = [lane for lane in present if lane is not None]
    if len(whole) == len(present):
        words = formats.packed(b, format_, whole)
        _store(c, access, address(low.text), format_.nbytes, words)
        return
    for n, lane in enumerate(present):
        if lane is not None:
            at = address(low.text).moved(b, n * format_.bits // 8)
            one = formats.packed(b, type(format_)(1, format_.bits, format_.kind), [lane])
            access.store(at, format_.bits // 8, [one[0].text])


def _store(c: Clause, access: PartAccess, at: Address, nbytes: int, words: Sequence[Value]) -> None:
    """Store an element of any size."""
    for offset, size in formats.pieces(nbytes):
        first = words[offset // 4 : (offset + size + 3) // 4]
        if offset % 4:
            first = [c.b.binary("lshr", first[0], c.b.constant("u32", 8 * (offset % 4)))]
        access.store(at.moved(c.b, offset), size, [word.text for word in first])


# ---- memory


def _runs(mask: int) -> list[tuple[int, int]]:
    """The runs of ones in a mask of four bits: first bit and length."""
    result: list[tuple[int, int]] = []
    for n in range(4):
        if mask >> n & 1:
            if result and sum(result[-1]) == n:
                result[-1] = result[-1][0], result[-1][1] + 1
            else:
                result.append((n, 1))
    return result


Inside = Callable[[int], Value]
"""The lanes of a part whose bytes, up to that one of an element, are in the resource."""


def _kept(c: Clause, name: tuple[str, int], bound: Bound, index: Value, base: int, stride: int) -> Inside | None:
    """Chips drop what is written outside of a resource. A check takes it for an error, as does the arena."""
    if bound.arena or reports_first(c):
        return None
    return lambda end: c.b.compare("icmp ult", index, index_limit(c, name, base + end, stride))


def _within(c: Clause, part: int, mask: Mask, inside: Value | None) -> Mask:
    """The part's lanes of a mask that are ``inside``."""
    if inside is None:
        return mask
    lanes = Mask()
    lanes.parts[part] = c.b.binary("and", c.part_mask(mask, part), c.b.splat(inside, PART_LANES)).text
    return lanes


def _or_zero(c: Clause, inside: Value | None, value: Value) -> Value:
    """What is returned of elements; 0 of those that are not ``inside``."""
    return value if inside is None else c.b.select(c.b.splat(inside, PART_LANES), value, c.b.constant("u32", 0))


def _store_components(
    c: Clause,
    access: PartAccess,
    gpr: int,
    comp_mask: int,
    at: Address,
    inside: Inside | None,
    watch: Watch | None,
    storing: bool,
) -> None:
    """Report components, and store them, one dword after the other; those of adjacent dwords at once, if they are
    ``inside``."""
    part, mask = access.part, access.exec_mask
    for first, count in _runs(comp_mask):
        values = [c.b.splat(c.regs.read(4 * gpr + first + n, part), PART_LANES).text for n in range(count)]
        whole = inside(4 * (first + count)) if inside else None
        lanes = _within(c, part, mask, whole)
        if watch is not None:
            watch.report(part, at.moved(c.b, 4 * first), 4 * count, lanes, values)
        if not storing:
            continue
        done, stored = 0, PartAccess(c, part, lanes, access.pc) if inside else access
        for size in [2, 1] if count == 3 else [count]:
            stored.store(at.moved(c.b, 4 * (first + done)), 4 * size, values[done : done + size])
            done += size
        if inside and count > 1:
            within = [inside(4 * (first + n + 1)) for n in range(count)]
            _store_partly(c, access, at.moved(c.b, 4 * first), values, within)


def _store_partly(c: Clause, access: PartAccess, at: Address, values: Sequence[str], within: Sequence[Value]) -> None:
    """Store the dwords that are ``within`` the resource of components that are not all."""
    b, part = c.b, access.part
    outside = b.binary("xor", b.splat(within[-1], PART_LANES), b.vector("u1", [1] * PART_LANES))
    lanes = b.binary(
        "and", c.part_mask(access.exec_mask, part), b.binary("and", b.splat(within[0], PART_LANES), outside)
    )
    bits = b.emit(f"bitcast {PART_MASK} {lanes.text} to i{PART_LANES}")
    partly, done = b.label("partly"), b.label("stored")
    b.branch(b.emit(f"icmp ne i{PART_LANES} {bits}, 0"), partly, done)
    b.start(partly)
    for n, (value, inside) in enumerate(zip(values[:-1], within, strict=False)):
        one = Mask()
        one.parts[part] = b.binary("and", lanes, b.splat(inside, PART_LANES)).text
        PartAccess(c, part, one, access.pc).store(at.moved(b, 4 * n), 4, [value])
    b.jump(done)
    b.start(done)


def _memory(c: Clause) -> None:
    """MEM_EXPORT and its kin: elements of ELEM_SIZE + 1 dwords from ARRAY_BASE on."""
    f = c.cf.fields
    name = program.memory_resource(c.cf)
    bound = c.resources.bound(name)
    if bound is None:
        c.unsupported(place(c.index))
        return
    nbytes = 4 * (f["elem_size"] + 1)
    known, address, mask = bound, c.memory(name, bound), c.exec
    elements = range(f["burst_count"] + 1)
    watches = [Watch(c, place(c.index, n), "memory", name, writes=True, ahead=True) for n in elements]

    def thunk(part: int, reporting: bool, storing: bool) -> None:
        b = c.b
        for n in elements:
            base = (f["array_base"] + n) * nbytes
            index, low = b.constant("u32", 0), b.constant("u32", base)
            if f["type"] in program.INDEXED_TYPES:
                index = c.regs.read(4 * f["index_gpr"], part)
                low = b.binary("mul", index, b.constant("u32", nbytes))
                low = b.binary("add", low, b.constant("u32", base)) if base else low
            at = address(b.splat(low, PART_LANES).text)
            watch = watches[n] if reporting else None
            access, inside = PartAccess(c, part, mask, place(c.index)), _kept(c, name, known, index, base, nbytes)
            _store_components(c, access, f["rw_gpr"] + n, f["comp_mask"], at, inside, watch, storing)

    store(c, thunk)


def _scratch(c: Clause) -> None:
    """MEM_SCRATCH: writes, on R600 also reads, elements of ELEM_SIZE + 1 dwords."""
    f = c.cf.fields

    def index(part: int) -> Value | None:
        return c.regs.read(4 * f["index_gpr"], part) if f["type"] in program.INDEXED_TYPES else None

    def put(part: int, number: int, found: Mapping[int, Value]) -> None:
        for channel, value in found.items():
            c.regs.write(4 * (f["rw_gpr"] + number) + channel, part, value)

    burst = scratch.Burst(
        place(c.index), f["array_base"], f["elem_size"] + 1, f["burst_count"] + 1, f["comp_mask"], index
    )
    if program.reads_scratch(c.cf, c.traits):
        scratch.load(c, burst, put)
    else:
        scratch.store(c, burst, lambda number: f["rw_gpr"] + number)


# ---- random access targets


def second_operand(what: Semantics, traits: Traits) -> int:
    """The component of RW_GPR that is an operation's second operand: what a compare-and-swap compares with (Mesa, r600
    driver), the bits that MSKOR replaces (LLVM, R600ISelLowering)."""
    return traits.compare_component if what.update == "cmpxchg" else 3


def _rat(c: Clause) -> None:
    f = c.cf.fields
    name = ("rat", f["rat_id"])
    row = table.find(c.traits.name, "RAT_INST", f["rat_inst"])
    bound = c.resources.bound(name)
    pc = place(c.index)
    if row is None or bound is None or f["burst_count"]:
        c.unsupported(pc)
        return
    if row.name == "NOP":
        return
    mask = c.exec
    if row.name == "STORE_TYPED":
        if bound.arena:
            c.unsupported(pc)
            return
        surface = _Surface(name, bound, c.memory(name, bound))
        watch = Watch(c, pc, "rat", name, writes=True, ahead=True)

        def typed(part: int, reporting: bool, storing: bool) -> None:
            values = [c.regs.read(4 * f["rw_gpr"] + n, part) if f["comp_mask"] >> n & 1 else None for n in range(4)]
            elements = _Elements([c.regs.read(4 * f["index_gpr"] + n, part) for n in range(3)], values)
            _store_elements(c, surface, elements, part, mask, watch if reporting else None, storing)

        store(c, typed)
        return
    what = semantics(row)
    if what.unsupported:
        c.unsupported(pc)
        return
    if what.is_atomic or row.name == "NOP_RTN":
        _update(c, name, bound, row.name)
        return
    known, address = bound, c.memory(name, bound)
    watch = Watch(c, pc, "rat", name, writes=True, ahead=True)
    small = {"STORE_SHORT": 2, "STORE_BYTE": 1}.get(row.name, 0)

    def plain(part: int, reporting: bool, storing: bool) -> None:
        b = c.b
        index = c.regs.read(4 * f["index_gpr"], part)
        low = index if small else b.binary("shl", index, b.constant("u32", 2))
        at, inside = address(low.text), _kept(c, name, known, index, 0, 1 if small else 4)
        if small:
            values = [b.splat(c.regs.read(4 * f["rw_gpr"], part), PART_LANES).text]
            lanes = _within(c, part, mask, inside(small) if inside else None)
            if reporting:
                watch.report(part, at, small, lanes, values)
            if storing:
                PartAccess(c, part, lanes, pc).store(at, small, values)
        else:
            access, reported = PartAccess(c, part, mask, pc), watch if reporting else None
            _store_components(c, access, f["rw_gpr"], f["comp_mask"], at, inside, reported, storing)

    store(c, plain)


def _update(c: Clause, name: tuple[str, int], bound: Bound, operation: str) -> None:
    """An atomic update, lane after lane, or a read that returns."""
    b, f = c.b, c.cf.fields
    row = table.find(c.traits.name, "RAT_INST", f["rat_inst"])
    assert row is not None
    what = semantics(row)
    pc, mask = place(c.index), c.exec
    returns = "returns" in row.flags
    updates = what.is_atomic
    watch = Watch(c, pc, "rat", name, writes=updates, ahead=updates, update=what.update)
    if not what.is_atomic:
        address = c.memory(name, bound)

        def load(part: int) -> None:
            index = c.regs.read(4 * f["index_gpr"], part)
            kept = _kept(c, name, bound, index, 0, 4)
            inside = kept(4) if kept else None
            at, lanes = address(b.binary("shl", index, b.constant("u32", 2)).text), _within(c, part, mask, inside)
            watch.report(part, at, 4, lanes)
            ((dword,),) = PartAccess(c, part, lanes, pc).load(at, [(0, 4)])
            c.regs.write(RETURNED + f["rat_id"], part, _or_zero(c, inside, Value(dword, "u32", PART_LANES)))

        c.later(load, loads=True)
        return
    lds.arrays(c)
    if bound.arena:
        base, how, slot = "0", ARENA, c.new_slot()
    else:
        found = c.memory(name, bound)("zeroinitializer")
        base, how, slot = found.base, found.how, found.slot.pointer
    second = second_operand(what, c.traits)
    within: dict[int, Value] = {}
    updated = c.new_mask()

    def thunk(part: int) -> None:
        index = c.regs.read(4 * f["index_gpr"], part)
        dwords = what.update == "mskor" or not c.resources.byte_atomics
        kept = _kept(c, name, bound, index, 0, 4 if dwords else 1)
        if kept:
            within[part] = kept(4)
        lanes = _within(c, part, mask, within.get(part))
        updated.parts[part] = c.part_mask(lanes, part).text
        if dwords:
            index = b.binary("shl", index, b.constant("u32", 2))
        at = Address(base, index.text, None, how, c.resource_slot(name))
        operands = [
            c.regs.read(4 * f["rw_gpr"] + channel, part).text
            for operand, channel in (("DATA", 0), ("DATA1", second))
            if operand in what.types
        ]
        watch.report(part, at, 4, lanes, atomics.reported_operands(what, operands))
        lds.put_addresses(c, part, at)
        for n, operand in enumerate(operands):
            atomics.put_array(b, "%data", n, part, operand)

    c.at_once(thunk)  # loads that wait use the same arrays
    layout = {key: (n, 1) for n, key in enumerate(("DATA", "DATA1")) if key in what.types}
    update = atomics.Update(what, c.mode, 4, how, slot, pc, layout)
    atomics.update_lanes(c, update, (updated if within else mask).bits(b), keep_old=returns)
    if returns:
        for part, value in enumerate(lds.taken_back(c)):
            assert value is not None
            c.regs.write(RETURNED + f["rat_id"], part, _or_zero(c, within.get(part), value))

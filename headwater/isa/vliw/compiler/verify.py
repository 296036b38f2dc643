"""Input: what a pass made. Raises an AssertionError that names the defect of the compiler, if there is one."""

from __future__ import annotations

from bisect import bisect_left

from headwater.isa.vliw.compiler.allocate import Registers
from headwater.isa.vliw.compiler.coalesce import vectors
from headwater.isa.vliw.compiler.ir import (
    Clause,
    Exit,
    If,
    Kcache,
    Loop,
    Op,
    Phi,
    Region,
    Slot,
    Use,
    Value,
    ends,
    regions,
)  # fmt: skip
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.model import T


def ssa(region: Region) -> None:
    """Each value is written once, and before it is read on every way."""
    defined: set[Value] = set()
    known: set[Value] = set()  # what is written on every way to where the walk stands
    written: list[Value] = []  # the same, in order: what a region wrote is forgotten behind it
    marks: dict[Loop, int] = {}  # how many were written before a loop
    at_breaks: dict[Loop, list[Value]] = {}  # what a loop wrote before each break out of it

    def define(value: Value) -> None:
        assert value not in defined, f"{value!r} is written twice"
        defined.add(value)
        known.add(value)
        written.append(value)

    def read(use: Use) -> None:
        ref = use.ref
        if type(ref) is Value:
            assert ref.alias is None, f"{ref!r} has been replaced"
            assert ref in known or ref.fixed is not None, f"{ref!r} is read before it is written"

    def phi_reads(phis: list[Phi], way: int) -> None:
        for phi in phis:
            read(phi.uses[way])

    def forgotten(mark: int) -> list[Value]:
        lost = written[mark:]
        del written[mark:]
        known.difference_update(lost)
        return lost

    def kept(values: list[Value]) -> None:
        known.update(values)
        written.extend(values)

    def left(loop: Loop) -> None:
        """A break: behind the loop is known what is at each. ``written`` is a stack, so that is a common beginning."""
        common = at_breaks.get(loop)
        if common is None:
            at_breaks[loop] = written[marks[loop] :]
            return
        first = marks[loop]
        most = min(len(common), len(written) - first)
        shared = bisect_left(range(most), True, key=lambda place: common[place] is not written[first + place])
        del common[shared:]

    def visit(inner: Region) -> None:
        for item in inner:
            if isinstance(item, Op):
                for use in item.uses:
                    read(use)
                for value in item.results:
                    if value is not None:
                        define(value)
            elif isinstance(item, If):
                for use in item.test.uses if item.test is not None else [item.condition]:
                    read(use)
                for phi in item.phis:
                    assert len(phi.uses) == 2, f"{phi!r} has not two ways into it"
                over = ends(item.then), ends(item.other)
                sides: list[list[Value]] = []
                for k, side in enumerate((item.then, item.other)):
                    mark = len(written)
                    visit(side)
                    if not over[k]:
                        phi_reads(item.phis, k)
                    sides.append(forgotten(mark))
                if over[0]:
                    kept(sides[1])
                elif over[1]:
                    kept(sides[0])
                for phi in item.phis:
                    define(phi.value)
            elif isinstance(item, Loop):
                phi_reads(item.phis, 0)
                marks[item] = len(written)
                for phi in item.phis:
                    define(phi.value)
                    assert len(phi.uses) == 1 + len(item.continues), f"{phi!r}"
                visit(item.body)
                common = at_breaks.get(item)
                if common is not None:
                    forgotten(marks[item])
                    kept(common)
                for phi in item.exit_phis:
                    assert len(phi.uses) == len(item.breaks), f"{phi!r}"
                    define(phi.value)
            elif isinstance(item, Exit):
                for use in item.test.uses if item.test is not None else [item.condition] if item.condition else []:
                    read(use)
                if item.is_break:
                    left(item.loop)

    visit(region)


def vectors_hold(op: Op) -> bool:
    """Whether what an operation names together can be of one register."""
    for indices, in_place in vectors(op):
        members = [op.uses[k].ref for k in indices if type(op.uses[k].ref) is Value]
        if len({id(m) for m in members}) > 1:
            shared = {id(m.vector) for m in members if type(m) is Value and m.fixed is None}
            if len(shared) > 1 or (shared and id(None) in shared):
                return False
        if in_place:
            for place, k in enumerate(indices):
                ref = op.uses[k].ref
                if type(ref) is Value and ref.chan != place:
                    return False
    return True


def vectors_of(region: Region) -> None:
    """What fetches and writes name together shares a register, each value in a component of its own."""
    for inner in regions(region):
        for item in inner:
            if isinstance(item, Op):
                assert vectors_hold(item), f"{item!r} names several registers"
                for value in item.results:
                    if value is not None and value.vector is not None:
                        assert len(value.vector.members) <= 4


def groups(region: Region, target: Target) -> None:
    """Groups keep the machine's rules: slots, exclusive operations, literals, windows, clause lengths."""
    for clause in _clauses(region):
        words = 0
        windows = clause.windows
        assert len(windows) <= target.constant_windows
        assert len(clause.ops) <= target.fetches or clause.kind == "write"
        for group in clause.groups:
            words += group.words
            assert len(group.literals) <= 4
            filled = group.filled
            assert filled, "an empty group"
            ports: dict[tuple[int, int], Value] = {}
            for slot in filled:
                assert target.traits.has_trans or slot.slot != T
                assert slot.slot == 0 or slot.op.name != "MOVA_INT" or target.traits.address_registers == 1, "not AR.x"
                if slot.result is not None:
                    assert slot.result.chan >= 0, f"{slot.result!r} has no component"
                    assert slot.slot in (T, slot.result.chan), f"{slot.op!r} stands in slot {slot.slot}"
                _ports(slot, ports)
                for source in slot.sources:
                    if source.kind == "kcache":
                        constant = source.item
                        assert isinstance(constant, Kcache)
                        line = constant.element // 16
                        assert any(b == constant.buffer and f <= line < f + n for b, f, n in windows), "not locked"
        assert words <= target.alu_slots, f"a clause of {words} words"


_CYCLES = ((0, 1, 2), (0, 2, 1), (1, 2, 0), (1, 0, 2), (2, 0, 1), (2, 1, 0))
_CYCLES_OF_T = ((2, 1, 0), (1, 2, 2), (2, 1, 2), (2, 2, 1))


def _ports(slot: Slot, ports: dict[tuple[int, int], Value]) -> None:
    cycles = (_CYCLES_OF_T if slot.slot == T else _CYCLES)[slot.swizzle]
    for k, source in enumerate(slot.sources):
        value = source.item
        if source.kind != "value" or (k == 1 and value is slot.sources[0].item):
            continue
        assert isinstance(value, Value)
        held = ports.setdefault((cycles[k], value.chan), value)
        assert held is value, f"{held!r} and {value!r} are read at once from one component"


def registers(region: Region, found: Registers) -> None:
    """Whatever is read from a register has one, and what is named together has the same."""
    for clause in _clauses(region):
        for group in clause.groups:
            for slot in group.filled:
                for source in slot.sources:
                    assert source.kind != "value" or source.item in found.gpr, f"{source.item!r} has no register"
        for op in clause.ops:
            for indices, _ in vectors(op):
                used = {found.gpr[ref] for k in indices if type(ref := op.uses[k].ref) is Value}
                assert len(used) <= 1, f"{op!r} reads registers {used}"
            places = [(found.gpr[v], v.chan) for v in op.results if v is not None]
            assert len({gpr for gpr, _ in places}) <= 1, f"{op!r} writes {places}"
            assert len(set(places)) == len(places), f"{op!r} writes {places}"


def _clauses(region: Region) -> list[Clause]:
    found: list[Clause] = []
    for inner in _scheduled_regions(region):
        found += [item for item in inner if isinstance(item, Clause)]
    return found


def _scheduled_regions(region: Region) -> list[Region]:
    return list(regions(region))

"""Input: indices of 32 bits. Output: those that can overflow only in absurdly large launches, and the test that
recognises such a launch.

``for (int i = get_global_id(0); i < n; i += get_global_size(0))`` counts from one trip to the next in 64 bits, of which
it keeps 32, and nothing in it proves that ``i`` does not wrap around; it does where ``n`` is within a step of 2^31. Nor
does anything for ``4 * get_global_id(0)`` or, of unsigned numbers, ``y * width + x``. What the largest of such numbers
is follows from the launch's arguments and sizes: if it is below 2^31, nothing wraps around, and indices step by a
constant from lane to lane. If not, code that takes nothing for granted runs instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import I32, I64
from headwater.vectorise.analysis.launch_slices import pure_slice
from headwater.vectorise.analysis.shapes import PRIMITIVE, Shapes, extension_needs_guard

LARGEST = (1 << 31) - 1
"""What numbers may come to: they are below it in either reading."""

MOST_TERMS = 256
"""Sums and products up to which it is looked for: they are computed at each launch."""

_GROUP_ITEMS = 4096
"""No work-group has more work-items (`headwater.runtime.cpu.device.MAX_GROUP_SIZE`)."""

_SIZES = {"local_size": "els", "enqueued_local_size": "els", "global_size": "gsz", "num_groups": "ngr"}
_IDS = {"local_id": "els", "group_id": "ngr"}
_SWAPPED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge"}
_OPPOSITE = {"gt": "le", "le": "gt", "ge": "lt", "lt": "ge"}
_SAME_DEPTH = 4


@dataclass(frozen=True, slots=True, eq=False)
class Most:
    """The largest value of a number that is not negative, in 64 bits.

    ``op``: "number" (``name``), "size" (``name``: the parameter of chunk functions), "value" (``value``, which
    ``insts`` compute from arguments and sizes; it may be anything) or "add", "sub" and "mul" of ``terms``. ``known``:
    what it cannot exceed in any launch. ``by_item``: work-items have several such numbers.
    """

    op: str
    known: int
    terms: tuple[Most, ...] = ()
    name: str = ""
    value: Value | None = None
    insts: tuple[Inst, ...] = ()
    by_item: bool = False

    def slice(self) -> Iterator[Inst]:
        """The instructions that it needs, operands first; some may come again."""
        yield from self.insts
        for term in self.terms:
            yield from term.slice()


def fit_indices(function: Function, cfg: Cfg, shapes: Shapes) -> tuple[Most, ...]:
    """Flag what wraps around in no launch where none of the returned ones exceeds `LARGEST` or is negative.

    ``shapes``: of lanes along x. What is flagged makes indices strided that were not known to be.
    """
    return tuple(dict.fromkeys(_Fitter(function, cfg, shapes).conditions()))


class _Fitter:
    def __init__(self, function: Function, cfg: Cfg, shapes: Shapes) -> None:
        self.function, self.cfg, self.shapes = function, cfg, shapes
        self.defs = {i.name: i for name in cfg.order for i in function.blocks[name].insts if i.name}
        self.loops = {loop.header: loop for loop in cfg.loops}
        self.headers = {phi.name: name for name in self.loops for phi in function.blocks[name].phis}
        self.known: dict[str, Most | None] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.marked: set[str] = set()

    def conditions(self) -> Iterator[Most]:
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                if inst.op in ("sext", "zext") and inst.ty == I64 and inst.args[0].ty == I32:
                    shape = self.shapes.shape(inst.args[0])
                    if shape.strided and extension_needs_guard(inst, shape):
                        yield from self._accept(inst.args[0])

    def _accept(self, value: Value) -> Iterator[Most]:
        """Flag what a number is made of, if its largest value is known; what must hold for that."""
        if self.most(value) is None:
            return
        work = [value.text]
        while work:
            name = work.pop()
            if name in self.marked or name not in self.known:
                continue
            self.marked.add(name)
            inst, most = self.defs.get(name), self.known[name]
            assert most is not None
            if inst is not None and inst.op in ("add", "mul", "shl", "trunc"):
                inst.flags = tuple(dict.fromkeys((*inst.flags, "nuw", "nsw")))
            work += self.needs[name]
            if most.known > LARGEST or most.op == "value":
                yield most

    def most(self, value: Value) -> Most | None:
        """The largest value over all work-items and trips; None if that is not known or it may be negative."""
        if not value.is_local:
            return _number(int(value.text)) if value.text.isdigit() else None
        name = value.text
        if name not in self.known:
            self.known[name] = None  # what it depends on itself for is not known
            self.needs[name] = ()
            if len(self.known) <= MOST_TERMS:
                self.known[name] = self._most(value, self.defs.get(name))
        return self.known[name]

    def _most(self, value: Value, inst: Inst | None) -> Most | None:
        if value.ty not in (I32, I64):
            return None
        if inst is None:
            return self._given(value)
        self.needs[inst.name] = tuple(v.text for v in inst.args if v.is_local)
        if inst.op == "call":
            return _primitive(inst)
        if inst.op in ("trunc", "sext", "zext", "freeze"):
            of = self.most(inst.args[0])
            return of if of is not None and (of.by_item or of.op != "value") else self._given(value)
        if inst.op in ("add", "mul", "shl") or (inst.op == "or" and "disjoint" in inst.flags):
            a, b = (self._factor(inst, place) for place in (0, 1))
            if a is not None and b is not None and (a.by_item or b.by_item or not {a.op, b.op} <= {"value", "number"}):
                return _combined("mul" if inst.op in ("mul", "shl") else "add", a, b)
            return self._given(value)
        if inst.op == "phi" and inst.name in self.headers:
            return self._counted(inst, self.loops[self.headers[inst.name]])
        return self._given(value)

    def _factor(self, inst: Inst, place: int) -> Most | None:
        if inst.op == "shl" and place == 1:
            amount = inst.args[1].text
            shift = int(amount) if amount.isdigit() else 64
            return _number(1 << shift) if shift < 31 else None
        return self.most(inst.args[place])

    def _given(self, value: Value) -> Most | None:
        """A value that is the same in all of a launch."""
        insts = pure_slice([value], self.defs, _is_launchs)
        if insts is None or value.ty.kind != "int":
            return None
        self.needs[value.text] = ()
        return Most("value", LARGEST, value=value, insts=insts)

    def _counted(self, phi: Inst, loop: Loop) -> Most | None:
        """A loop's counter, of loops that test it before each trip, with the loop's limit."""
        entering = [source for source in phi.labels if source not in loop]
        if len(phi.labels) != 2 or len(entering) != 1:
            return None
        start, following = (phi.args[phi.labels.index(source)] for source in (entering[0], loop.latch))
        step = self.defs.get(following.text)
        if step is None or step.op != "add" or phi.name not in (v.text for v in step.args):
            return None
        bound = self._limit(loop.latch, loop.header, following)
        if bound is None or not self._guarded(entering[0], start, bound):
            return None
        by = step.args[1] if step.args[0].text == phi.name else step.args[0]
        first, most, most_step = self.most(start), self.most(bound), self.most(by)
        if first is None or most is None or most_step is None:
            return None
        self.needs[phi.name] = (start.text, bound.text, by.text, step.name)
        self.known[step.name] = _combined("add", most, most_step, by_item=True)
        self.needs[step.name] = (phi.name,)
        return Most(most.op, most.known, most.terms, most.name, most.value, most.insts, by_item=first.by_item)

    def _limit(self, source: str, towards: str, value: Value) -> Value | None:
        """What a value is at most if the way from ``source`` leads ``towards`` and neither of the two is negative."""
        term = self.function.blocks[source].term
        if term.op != "br" or len(set(term.labels)) != 2 or towards not in term.labels:
            return None
        for test, holds in self._tests(term.args[0], holds=term.labels[0] == towards):
            limit = self._limited(test, value, holds=holds)
            if limit is not None:
                return limit
        return None

    def _tests(self, condition: Value, *, holds: bool) -> Iterator[tuple[Inst, bool]]:
        """The comparisons that are all known to hold, or not to, if a condition holds, or does not."""
        inst = self.defs.get(condition.text)
        if inst is None or inst.ty.text != "i1":
            return
        if inst.op == "icmp":
            yield inst, holds
        elif inst.op == ("and" if holds else "or"):
            for one in inst.args:
                yield from self._tests(one, holds=holds)
        elif inst.op == "select" and inst.args[2 if holds else 1].text == ("false" if holds else "true"):
            yield from self._tests(inst.args[0], holds=holds)
            yield from self._tests(inst.args[1 if holds else 2], holds=holds)

    def _limited(self, test: Inst, value: Value, *, holds: bool) -> Value | None:
        order = test.detail[1:]
        if order not in _SWAPPED:
            return None
        order = order if holds else _OPPOSITE[order]
        left, right = test.args
        if self._is_value_or_half(right, value):
            left, right, order = right, left, _SWAPPED[order]
        return right if order in ("lt", "le") and self._is_value_or_half(left, value) else None

    def _is_value_or_half(self, tested: Value, value: Value) -> bool:
        """Whether it is the value, or its lower half, which is all there is of one that is small."""
        inst = self.defs.get(tested.text)
        if inst is not None and inst.op == "trunc" and self._same(inst.args[0], value):
            return True
        return self._same(self._id(tested), self._id(value))

    def _id(self, value: Value) -> Value:
        """The id or size that a value is, in however many bits."""
        inst = self.defs.get(value.text)
        if inst is None or inst.op not in ("trunc", "sext", "zext"):
            return value
        return inst.args[0] if self._primitive(inst.args[0]) else value

    def _primitive(self, value: Value) -> bool:
        inst = self.defs.get(value.text)
        return inst is not None and _primitive(inst) is not None

    def _guarded(self, source: str, start: Value, bound: Value) -> bool:
        """Whether a loop is begun, from ``source``, only with what is within its limit."""
        below = source
        while True:
            above = self.cfg.idom[below]
            if above == below:
                return False
            if self.cfg.preds[below] == [above]:
                found = self._limit(above, below, start)
                if found is not None and self._same(found, bound):
                    return True
            below = above

    def _same(self, one: Value, other: Value, depth: int = _SAME_DEPTH) -> bool:
        """Whether two values are known to be equal: computed in the same way, as far as one looks."""
        if one.text == other.text:
            return one.ty == other.ty or not one.is_local
        a, b = self.defs.get(one.text), self.defs.get(other.text)
        if a is None or b is None or depth == 0 or (a.op, a.ty, a.detail) != (b.op, b.ty, b.detail):
            return False
        known = a.op in ("trunc", "sext", "zext", "add", "sub", "mul", "shl") or _primitive(a) is not None
        return known and all(self._same(x, y, depth - 1) for x, y in zip(a.args, b.args, strict=True))


def _number(number: int) -> Most:
    return Most("number", number, name=str(number))


def _combined(op: str, a: Most, b: Most, *, by_item: bool = True) -> Most:
    known = a.known + b.known if op == "add" else a.known * b.known
    return Most(op, known, (a, b), by_item=by_item)


def _primitive(inst: Inst) -> Most | None:
    """The largest id or size of a launch. `headwater.runtime.cpu.device` refuses those where global ids reach 2^31."""
    match = PRIMITIVE.match(inst.detail) if inst.op == "call" else None
    if match is None:
        return None
    kind, dim = match[1], match[2]
    if kind == "global_id":
        sizes = Most("size", LARGEST, name=f"gsz{dim}"), Most("size", LARGEST, name=f"off{dim}")
        return Most("add", LARGEST, sizes, by_item=True)
    if kind in _SIZES:
        return Most("size", _GROUP_ITEMS if _SIZES[kind] == "els" else LARGEST, name=f"{_SIZES[kind]}{dim}")
    if kind in _IDS:
        known = _GROUP_ITEMS if kind == "local_id" else LARGEST
        count = Most("size", known + 1, name=f"{_IDS[kind]}{dim}")
        return Most("sub", known, (count, _number(1)), by_item=True)
    return None


def _is_launchs(inst: Inst) -> bool:
    """Whether a call gives a size that is the same in all of a launch, which its last work-groups' need not be."""
    match = PRIMITIVE.match(inst.detail)
    return match is not None and match[1] in ("global_size", "num_groups", "enqueued_local_size")

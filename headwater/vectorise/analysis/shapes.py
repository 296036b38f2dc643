"""Input: a function. Output: how each value varies across the lanes and rows of a chunk (uniform, strided or
varying)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from headwater.llvm.cfg import Cfg, Loop
from headwater.llvm.ir import Block, Function, Inst, Value
from headwater.vectorise.layout import Layout

LANE = 1
"""The value differs from lane to lane."""
ROW = 2
"""The value differs from row to row of a chunk (only in chunks of several rows)."""

PRIMITIVE = re.compile(r"__hw_(\w+?)_([012])$")
PER_ITEM = frozenset(("global_id", "local_id"))


@dataclass(frozen=True, slots=True)
class Shape:
    """How a value varies. ``stride``: the constant step from lane to lane (bytes for pointers), None if there is none.

    ``signed_safe``/``unsigned_safe``: stepping from lane 0 to any active lane is known not to wrap around in that
    reading, even if lane 0 is idle, so that extending the base extends every active lane; both: lane 0 is not negative
    either. ``guarded``: the stride holds only where a run-time guard says so. ``in_line``: rows follow each other along
    the lanes, so that lane 0 of a row is one stride after the last lane of the row before.
    """

    deps: int = 0
    stride: int | None = 0
    signed_safe: bool = False
    unsigned_safe: bool = False
    guarded: bool = False
    in_line: bool = False

    @property
    def by_row(self) -> bool:
        """Whether each row has a value of its own, which cannot be had from row 0's."""
        return bool(self.deps & ROW) and not self.in_line

    @property
    def varying(self) -> bool:
        return bool(self.deps & LANE) and self.stride is None

    @property
    def strided(self) -> bool:
        return bool(self.deps & LANE) and self.stride is not None


UNIFORM = Shape()


@dataclass(frozen=True, slots=True)
class _Operands:
    """The shapes of an instruction's operands, what they depend on together, and whether some stride is guarded."""

    shapes: list[Shape]
    deps: int
    guarded: bool


def _varying(deps: int) -> Shape:
    return Shape(deps, None) if deps & LANE else Shape(deps)


def _strided(
    deps: int,
    stride: int | None,
    guarded: bool = False,
    *,
    signed: bool = False,
    unsigned: bool = False,
    in_line: bool = False,
) -> Shape:
    if stride is None or (stride == 0 and guarded):  # lanes that are alike only if a guard holds are not alike
        return _varying(deps)
    if stride == 0:
        return Shape(deps & ~(LANE | ROW) if in_line else deps & ~LANE)
    return Shape(deps | LANE, stride, signed, unsigned, guarded, in_line and not guarded)


def _in_line(shapes: list[Shape]) -> bool:
    """Whether what is added up or scaled by constants from such values lies in line."""
    return any(s.in_line for s in shapes) and all(s.in_line or not s.deps for s in shapes)


class Shapes:
    """The fixed point of the shape of every value, of the divergence of every branch and of every loop.

    ``interleaved`` names private arrays whose lanes lie side by side, element by element (see `private_arrays`).
    ``uniform_block`` is a block after which all lanes are known to go the same way, whatever its condition looks like.
    ``restartable`` names extensions that may be taken to keep their stride: those in ``assumed`` need a test, as code
    that gives up when it fails, not a guard that travels with the value.
    """

    def __init__(
        self,
        function: Function,
        cfg: Cfg,
        layout: Layout,
        interleaved: dict[str, int],
        *,
        uniform_block: str = "",
        restartable: frozenset[str] = frozenset(),
    ) -> None:
        self.function = function
        self.cfg = cfg
        self.layout = layout
        self.interleaved = interleaved
        self.uniform_block = uniform_block
        self.restartable = restartable
        self.assumed: set[str] = set()
        self.lane_bit = LANE if layout.lanes > 1 else 0
        self.row_bit = ROW if layout.rows > 1 else 0
        self.of: dict[str, Shape] = {p.name: UNIFORM for p in function.params}
        self.branch_deps: dict[str, int] = dict.fromkeys(cfg.order, 0)
        self._branching = 0  # what any branch depends on
        self._divergent_loops: set[str] = set()
        changed = True
        while changed:
            changed = self._sweep()
            changed |= self._spread_divergence()
            if not cfg.loops and not cfg.irreducible:
                break  # all that a value depends on came before it
            changed = changed or self._begin_undefined()

    def shape(self, value: Value) -> Shape:
        return self.of.get(value.text, UNIFORM) if value.is_local else UNIFORM

    def divergent(self, block: str) -> bool:
        """Whether the lanes of a chunk may part at the end of ``block``."""
        return self.branch_deps[block] != 0

    def divergent_loop(self, loop: Loop) -> bool:
        """Whether lanes may leave a loop at different trips."""
        return loop.header in self._divergent_loops

    def _sweep(self) -> bool:
        changed = False
        for name in self.cfg.order:
            block = self.function.blocks[name]
            for inst in block.insts:
                if inst.name:
                    new = self._phi(block, inst) if inst.op == "phi" else self._result(inst)
                    if new is not None and new != self.of.get(inst.name):
                        self.of[inst.name] = new
                        changed = True
            term = block.term
            if term.op == "br" and term.args:
                deps = self.shape(term.args[0]).deps if name != self.uniform_block else 0
                if deps != self.branch_deps[name]:
                    self.branch_deps[name] = deps
                    self._branching |= deps
                    changed = True
        return changed

    def _begin_undefined(self) -> bool:
        """Give a first shape to a value that waits for itself round a loop, and is undefined when the loop begins."""
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                if inst.op == "phi" and inst.name not in self.of and any(v.is_undefined for v in inst.args):
                    self.of[inst.name] = UNIFORM
                    return True
        return False

    def _spread_divergence(self) -> bool:
        changed = False
        for loop in self.cfg.loops:
            if not self.divergent_loop(loop) and (self._leaves_divergently(loop) or self._leaves_divergent_loop(loop)):
                self._divergent_loops.add(loop.header)
                changed = True
        return changed

    def _leaves_divergently(self, loop: Loop) -> bool:
        return any(self.divergent(src) or self._reached_divergently(src, loop) for src, _ in loop.exits)

    def _leaves_divergent_loop(self, loop: Loop) -> bool:
        """Whether lanes that leave ``loop`` leave a divergent loop around it at once.

        They wait for others that are still in the outer loop, and must not go round the inner one meanwhile.
        """
        outer = loop.parent
        while outer is not None:
            if self.divergent_loop(outer) and any(target not in outer for _, target in loop.exits):
                return True
            outer = outer.parent
        return False

    def _reached_divergently(self, block: str, loop: Loop) -> bool:
        """Whether only some of the loop's active lanes may get to ``block``, or may get there on the same trip."""
        seen: set[str] = set()
        work = [block]
        while work:
            at = work.pop()
            if self._parts_inside(at, loop):
                return True
            for branch in self.cfg.controls[at]:
                if branch in loop.blocks and branch not in seen:
                    if self.divergent(branch):
                        return True
                    seen.add(branch)
                    work.append(branch)
        return False

    def _parts_inside(self, block: str, loop: Loop) -> bool:
        """Whether lanes that are together at ``block`` leave an inner loop around it by several ways, others by others.

        The branches by which they leave may be such that all lanes still in the inner loop agree.
        """
        inner = self.cfg.loop_of[block]
        while inner is not None and inner is not loop:
            if self.divergent_loop(inner) and len({target for _, target in inner.exits}) > 1:
                return True
            inner = inner.parent
        return False

    def _phi(self, block: Block, inst: Inst) -> Shape | None:
        known = [self.of[v.text] for v in inst.args if v.is_local and v.text in self.of]
        constants = [v for v in inst.args if not v.is_local and not v.is_undefined]
        shapes = known + [UNIFORM] * len(constants)
        if not shapes:
            return None if any(v.is_local for v in inst.args) else UNIFORM
        deps = 0
        for shape in shapes:
            deps |= shape.deps
        strides = {s.stride for s in shapes}
        same_value = len({v.text for v in inst.args if not v.is_undefined}) == 1
        join = 0 if same_value and not self._escapes_loop(block, inst) else self._join_deps(block, inst)
        deps |= join
        if join & LANE or len(strides) > 1:
            return _varying(deps | (LANE if len(strides) > 1 else 0))
        if deps & LANE and inst.ty.kind == "vec":
            return _varying(deps)
        return _strided(
            deps,
            strides.pop(),
            guarded=any(s.guarded for s in shapes),
            signed=all(s.signed_safe for s in known) and not constants,
            unsigned=all(s.unsigned_safe for s in known) and not constants,
            in_line=not join and all(s.in_line for s in shapes),
        )

    def _escapes_loop(self, block: Block, inst: Inst) -> bool:
        """Whether a value of a divergent loop, computed at different trips for different lanes, leaves it here."""
        for value, source in zip(inst.args, inst.labels, strict=True):
            loop = self.cfg.loop_of.get(source)
            while loop is not None and block.name not in loop:
                if self.divergent_loop(loop) and value.is_local and self._defined_in(value.text, loop):
                    return True
                loop = loop.parent
        return False

    def _defined_in(self, name: str, loop: Loop) -> bool:
        return any(inst.name == name for b in loop.blocks for inst in self.function.blocks[b].insts)

    def _join_deps(self, block: Block, inst: Inst) -> int:
        """How the choice between a phi's values varies: by every divergent branch that it depends on."""
        cfg = self.cfg
        loop = cfg.loop_of[block.name]
        if loop is not None and loop.header == block.name:
            return 0  # active lanes go round a loop together
        deps = 0
        for source in inst.labels:
            inner = cfg.loop_of.get(source)
            while inner is not None and block.name not in inner:
                if self.divergent_loop(inner):
                    for src, _ in inner.exits:
                        deps |= self.branch_deps[src] | self._control_deps(src, inner)
                inner = inner.parent
        top = cfg.idom[block.name]
        work = [s for s in inst.labels if s in cfg.index]
        seen = {top}
        deps |= self.branch_deps[top]
        while work and self._branching & ~deps:  # else no branch adds to it
            at = work.pop()
            if at in seen:
                continue
            seen.add(at)
            deps |= self.branch_deps[at]
            work.extend(cfg.preds[at])
        return deps

    def _control_deps(self, block: str, loop: Loop) -> int:
        deps, seen, work = 0, {block}, [block]
        while work:
            for branch in self.cfg.controls[work.pop()]:
                if branch in loop.blocks and branch not in seen:
                    deps |= self.branch_deps[branch]
                    seen.add(branch)
                    work.append(branch)
        return deps

    def _result(self, inst: Inst) -> Shape | None:
        of, shapes, deps, guarded = self.of, [], 0, False
        for value in inst.args:
            shape: Shape | None = UNIFORM
            if value.is_local:
                shape = of.get(value.text)
                if shape is None:
                    return None
                deps |= shape.deps
                guarded |= shape.guarded
            assert shape is not None
            shapes.append(shape)
        if inst.ty.kind != "vec":
            rule = _RULES.get(inst.op)
            if rule is not None:
                return rule(self, inst, _Operands(shapes, deps, guarded))
        if inst.op == "alloca":
            return self._alloca(inst)
        if inst.op in ("atomicrmw", "cmpxchg"):
            return _varying(self.lane_bit | self.row_bit)
        if inst.op == "call":
            return self._call(inst, deps)
        return _varying(deps)

    def _alloca(self, inst: Inst) -> Shape:
        stride = self.interleaved.get(inst.name, inst.source.size_bytes) or 1
        return _strided(self.row_bit, stride if self.lane_bit else 0)

    def _call(self, inst: Inst, deps: int) -> Shape:
        primitive = PRIMITIVE.match(inst.detail)
        if primitive and primitive[1] in PER_ITEM:
            dim = int(primitive[2])
            row = self.row_bit if dim == self.layout.row_dim else 0
            if dim == self.layout.lane_dim and self.lane_bit:
                return Shape(LANE | row, 1, signed_safe=True, unsigned_safe=True, in_line=bool(row))
            return Shape(row)
        if inst.detail == "printf":
            return UNIFORM
        return _varying(deps)

    # Rules for the operations that keep a stride.

    def _add(self, inst: Inst, of: _Operands) -> Shape:
        if inst.op == "or" and "disjoint" not in inst.flags:
            return _varying(of.deps)
        a, b = of.shapes
        if a.stride is None or b.stride is None:
            return _varying(of.deps)
        if inst.op == "sub":
            # What is not negative, less any number of its type, is not below the least one.
            signed = "nsw" in inst.flags and a.stride > 0 == b.stride and _not_negative(a, inst.args[0])
            return _strided(of.deps, a.stride - b.stride, of.guarded, signed=signed, in_line=_in_line(of.shapes))
        # Where values rise from lane to lane, an idle lane 0 has less than the active ones, whose sums do not wrap
        # around (that is what the flags say); so only falling below the least number has to be ruled out.
        rises = min(a.stride, b.stride) >= 0
        kept = frozenset(("nsw", "nuw")) if inst.op == "or" else inst.flags
        unsigned = all(s.unsigned_safe or not s.strided for s in (a, b))
        high, low = (_not_negative(s, v) for s, v in zip(of.shapes, inst.args, strict=True))
        signed = (high and (low or b.signed_safe or not b.strided)) or (low and (a.signed_safe or not a.strided))
        signed = rises and signed and "nsw" in kept
        unsigned = rises and unsigned and "nuw" in kept
        return _strided(
            of.deps, a.stride + b.stride, of.guarded, signed=signed, unsigned=unsigned, in_line=_in_line(of.shapes)
        )

    def _scale(self, inst: Inst, of: _Operands) -> Shape:
        for shape, other in ((of.shapes[0], inst.args[1]), (of.shapes[1], inst.args[0])):
            if shape.strided and not other.is_local and other.text.lstrip("-").isdigit():
                assert shape.stride is not None
                if inst.op == "mul":
                    factor = int(other.text)
                elif other is inst.args[1]:
                    factor = 1 << (int(other.text) & 63)
                else:
                    break
                rises = shape.stride > 0 and factor > 0
                signed = rises and "nsw" in inst.flags and shape.signed_safe and shape.unsigned_safe
                unsigned = rises and "nuw" in inst.flags and shape.unsigned_safe
                return _strided(
                    of.deps, shape.stride * factor, of.guarded, signed=signed, unsigned=unsigned, in_line=shape.in_line
                )
        return _varying(of.deps)

    def _extend(self, inst: Inst, of: _Operands) -> Shape:
        shape = of.shapes[0]
        if not shape.strided:
            return _varying(of.deps)
        assert shape.stride is not None
        if inst.args[0].ty.bits < 16:
            return _varying(of.deps)
        needs_guard = extension_needs_guard(inst, shape)
        if needs_guard and not of.guarded and inst.name in self.restartable:
            self.assumed.add(inst.name)
            needs_guard = False
        else:
            self.assumed.discard(inst.name)
        return _strided(
            of.deps,
            shape.stride,
            of.guarded or needs_guard,
            signed=True,
            unsigned=inst.op == "zext",
            in_line=shape.in_line,
        )

    def _truncate(self, inst: Inst, of: _Operands) -> Shape:
        shape = of.shapes[0]
        bits = inst.ty.bits
        if not shape.strided or bits < 16 or shape.stride is None or abs(shape.stride) >= 1 << (bits - 1):
            return _varying(of.deps)
        # LLVM knows that work-item ids are below 2^31 (the launcher's guarantee); an idle lane 0 has less than others.
        fits = {"nuw", "nsw"} <= set(inst.flags) and shape.stride > 0
        small = fits and shape.signed_safe and shape.unsigned_safe and not of.guarded and bits == 32
        return _strided(of.deps, shape.stride, of.guarded, signed=small, unsigned=small, in_line=shape.in_line)

    def _keep(self, inst: Inst, of: _Operands) -> Shape:
        return replace(of.shapes[0]) if inst.args[0].ty.kind != "vec" else _varying(of.deps)

    def _select(self, inst: Inst, of: _Operands) -> Shape:
        condition, a, b = of.shapes
        if condition.deps & LANE or a.stride is None or a.stride != b.stride:
            return _varying(of.deps)
        signed, unsigned = a.signed_safe and b.signed_safe, a.unsigned_safe and b.unsigned_safe
        in_line = not condition.deps and a.in_line and b.in_line
        return _strided(of.deps, a.stride, of.guarded, signed=signed, unsigned=unsigned, in_line=in_line)

    def _gep(self, inst: Inst, of: _Operands) -> Shape:
        factor = self.interleave_factor(inst.args[0].text)
        if factor != 1:
            self.interleaved[inst.name] = self.interleaved[inst.args[0].text]
        stride = gep_stride(inst, of.shapes, factor)
        narrow = any(s.strided and v.ty.bits < 64 for v, s in zip(inst.args[1:], of.shapes[1:], strict=True))
        if narrow and not all(s.signed_safe for s in of.shapes[1:] if s.strided):
            return _varying(of.deps)
        return _strided(of.deps, stride, of.guarded, in_line=_in_line(of.shapes))

    def interleave_factor(self, name: str) -> int:
        """By how much offsets into a private array grow because its lanes lie side by side."""
        return self.layout.lanes if name in self.interleaved else 1

    def _load(self, inst: Inst, of: _Operands) -> Shape:
        return _varying(of.deps)


def _not_negative(shape: Shape, value: Value) -> bool:
    if shape.strided:
        return shape.signed_safe and shape.unsigned_safe
    return not value.is_local and value.text.isdigit()


def extension_needs_guard(inst: Inst, shape: Shape) -> bool:
    """Whether sext/zext of a strided value keeps the stride only under a run-time check that no lane wraps around."""
    if inst.op == "sext" or "nneg" in inst.flags:
        return not shape.signed_safe
    return not shape.unsigned_safe


def gep_stride(inst: Inst, shapes: list[Shape], factor: int) -> int | None:
    """Bytes from lane to lane of a getelementptr's result; None if not constant."""
    total = shapes[0].stride
    ty = inst.source
    for position, (value, shape) in enumerate(zip(inst.args[1:], shapes[1:], strict=True)):
        if position == 0:
            scale = ty.size_bytes
        elif ty.kind == "struct":
            ty = ty.fields[int(value.text)]
            continue
        else:
            assert ty.elem is not None
            ty = ty.elem
            scale = ty.size_bytes
        if total is None or shape.stride is None:
            return None
        total += shape.stride * scale * factor
    return total


_RULES = {
    "add": Shapes._add,
    "sub": Shapes._add,
    "or": Shapes._add,
    "mul": Shapes._scale,
    "shl": Shapes._scale,
    "sext": Shapes._extend,
    "zext": Shapes._extend,
    "trunc": Shapes._truncate,
    "freeze": Shapes._keep,
    "ptrtoint": Shapes._keep,
    "inttoptr": Shapes._keep,
    "addrspacecast": Shapes._keep,
    "select": Shapes._select,
    "getelementptr": Shapes._gep,
    "load": Shapes._load,
}

"""Input: a module's IR. Output: one kernel ready for the vectoriser: local memory as parameters, barriers as block
ends."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headwater.errors import InternalError
from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Block, Function, Inst, Module, Param, Value
from headwater.llvm.text import symbols_in
from headwater.llvm.types import I64, LOCAL_SPACE, VOID, ptr_type
from headwater.vectorise import DYNAMIC_LOCAL
from headwater.vectorise.analysis.cost import LANES
from headwater.vectorise.analysis.shapes import PRIMITIVE, Shapes
from headwater.vectorise.analysis.stop_polls import polled_loops
from headwater.vectorise.bounds.code import Bounds, write_bounds
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.combine import combine_loads
from headwater.vectorise.prepare.extensions import restore_extensions
from headwater.vectorise.prepare.overflow_guards import Most, fit_indices
from headwater.vectorise.prepare.recurrences import narrow_recurrences
from headwater.vectorise.prepare.regroup import regroup
from headwater.vectorise.prepare.swizzle import fold_shuffles


def is_local(module: Module, name: str) -> bool:
    """Whether ``@name`` is a variable in local memory."""
    known = module.variable(name) if name in module.globals else None
    return known is not None and known.space == LOCAL_SPACE


@dataclass(slots=True, eq=False)
class Kernel:
    """A kernel for the vectoriser, and what the launcher must know of it.

    ``locals_bytes``: the sizes of its __local variables, which have become its last parameters in this order.
    ``dims``: the dimensions of the work-item ids it asks for. ``flat``: it neither asks for local ids, groups or sizes
    nor shares anything within a work-group, so any grouping will do. ``fits``: what must be from 0 to `LARGEST` of
    `headwater.vectorise.prepare.overflow_guards` in a launch. ``bounds``: the function that tells whether a launch
    accesses memory outside of arrays. ``in_step``: the work-items along x and along y that are to be in step, (0, 0) if
    it does not matter: each of their instructions is done by all of them before any does the next.
    """

    function: Function
    cfg: Cfg
    locals_bytes: list[int]
    has_barrier: bool
    flat: bool
    dims: frozenset[int]
    unbounded: bool
    streaming: tuple[int, ...]
    private: dict[str, int] = field(default_factory=dict)
    fits: tuple[Most, ...] = ()
    bounds: Bounds = field(default_factory=lambda: Bounds(""))
    has_loop: bool = False
    size: int = 0
    in_step: tuple[int, int] = (0, 0)


def read_kernel(
    module: Module, name: str, *, as_written: bool = False, guarded: bool = False, bounds: str = ""
) -> Kernel:
    """Read and prepare one kernel. Raises InternalError for IR that the vectoriser does not know.

    ``as_written``: leave accesses as they are in the source, for their positions. ``guarded``: the launch tests
    that 32-bit indices do not wrap around. ``bounds``: the symbol of the function that tests launches for accesses out
    of bounds; "": none is made.
    """
    function = module.function(name)
    kernel_params = len(function.params)
    fresh = (f"%hwx.{number}" for number in itertools.count(1))
    locals_bytes = _locals_to_parameters(module, function, fresh)
    _compute_indices(function, fresh)
    in_step = _take_in_step(function)
    barriers = _split_at_barriers(function)
    private = private_arrays(function)
    # Of the accesses as they are written: others may be made of them.
    asked = write_bounds(bounds, function, Cfg(function), locals_bytes) if bounds else Bounds("")
    if not as_written:
        _make_vectors(function, private)
    cfg = Cfg(function)
    fits: tuple[Most, ...] = ()
    if guarded and not as_written and not cfg.irreducible:
        fits = fit_indices(function, cfg, Shapes(function, cfg, Layout(LANES), dict(private)))
    calls = [i for b in function.blocks.values() for i in b.insts if i.op == "call"]
    primitives = [m for i in calls if (m := PRIMITIVE.match(i.detail))]
    flat = not barriers and not locals_bytes and not any(in_step)
    flat = flat and all(m[1] in ("global_id", "global_size", "global_offset") for m in primitives)
    flat = flat and not any(p.ty.space == 3 for p in function.params)
    return Kernel(
        function,
        cfg,
        locals_bytes,
        has_barrier=barriers > 0,
        flat=flat,
        dims=frozenset(int(m[2]) for m in primitives if m[1] in ("global_id", "local_id", "group_id")),
        unbounded=bool(polled_loops(function, cfg)),
        streaming=_streaming_params(function, kernel_params),
        private=private,
        fits=fits,
        bounds=asked,
        has_loop=bool(cfg.loops),
        size=sum(len(b.insts) for b in function.blocks.values()),
        in_step=in_step,
    )


def _make_vectors(function: Function, private: dict[str, int]) -> None:
    """Put together what belongs to one vector of a work-item."""
    cfg = Cfg(function)
    if not cfg.irreducible:
        restore_extensions(function)
        narrow_recurrences(function)
        shapes = Shapes(function, cfg, Layout(LANES), dict(private))
        fold_shuffles(function)
        combine_loads(function, shapes)
        regroup(function, shapes)


def _locals_to_parameters(module: Module, function: Function, fresh: Iterator[str]) -> list[int]:
    """Turn the __local variables that the kernel uses into pointer parameters."""
    names: dict[str, Param] = {}
    sizes: list[int] = []
    local_globals = {name[1:].strip('"') for name in module.globals if is_local(module, name)}
    if not local_globals:
        return sizes

    def parameter(name: str) -> str:
        if name not in names:
            size = module.global_bytes(name)
            names[name] = Param(ptr_type(3), f"%hwl.{len(names)}", "noalias")
            sizes.append(size)
        return names[name].name

    for block in function.blocks.values():
        at = 0
        while at < len(block.insts):
            inst = block.insts[at]
            before: list[Inst] = []
            for position, value in enumerate(inst.args):
                if value.is_local or "@" not in value.text:
                    continue
                if local_globals.isdisjoint(symbols_in(value.text)):
                    continue
                made = Added(fresh)
                inst.args[position] = _expand(module, value, parameter, made)
                if inst.op == "phi" and made.insts:
                    source = function.blocks[inst.labels[position]]
                    source.insts[-1:-1] = made.insts
                else:
                    before += made.insts
            block.insts[at:at] = before
            at += len(before) + 1
    dynamic = f"@{DYNAMIC_LOCAL}"
    if dynamic in names:  # it begins where the others end
        at = list(names).index(dynamic)
        names[dynamic] = names.pop(dynamic)
        del sizes[at]
        sizes.append(0)
    function.params += names.values()
    return sizes


class Added:
    """Instructions that are added in front of one; `fresh` gives the names of their results, new in the function."""

    def __init__(self, fresh: Iterator[str]) -> None:
        self.insts: list[Inst] = []
        self._fresh = fresh

    def result(self, inst: Inst) -> Value:
        """Add an instruction: its result."""
        inst.name = next(self._fresh)
        self.insts.append(inst)
        return Value(inst.ty, inst.name)


def _expand(module: Module, value: Value, parameter: Callable[[str], str], made: Added) -> Value:
    """A constant expression over __local variables, as instructions over their parameters."""
    if value.text.startswith("@"):
        if is_local(module, value.text):
            return Value(value.ty, parameter(value.text))
        return value
    if "@" not in value.text:
        return value
    if value.elems is not None:
        if value.ty.kind != "vec":
            raise InternalError(f"cannot vectorise a constant {value.ty} of local addresses")
        whole = Value(value.ty, "poison")
        for place, element in enumerate(value.elems):
            part = _expand(module, element, parameter, made)
            inst = Inst("insertelement", value.ty, args=[whole, part, Value(I64, str(place))])
            whole = made.result(inst)
        return whole
    inst = module.constant_expression(value)
    inst.args = [_expand(module, a, parameter, made) for a in inst.args]
    if inst.op != "getelementptr":
        inst.ty = value.ty
    return made.result(inst)


def _compute_indices(function: Function, fresh: Iterator[str]) -> None:
    """Turn indices of components that are constants by name only, such as a variable's address, into values."""
    for block in function.blocks.values():
        for at, inst in reversed(list(enumerate(block.insts))):
            if inst.op not in ("extractelement", "insertelement") or not inst.args[-1].is_expression:
                continue
            made = Added(fresh)
            index = inst.args[-1]
            inst.args[-1] = made.result(Inst("add", index.ty, args=[index, Value(index.ty, "0")]))
            block.insts[at:at] = made.insts


def _split_at_barriers(function: Function) -> int:
    """End blocks at barriers; returns their number."""
    count = 0
    blocks: dict[str, Block] = {}
    for block in function.blocks.values():
        current = Block(block.name)
        blocks[current.name] = current
        for inst in block.insts:
            if inst.op == "call" and inst.detail == "__hw_barrier":
                count += 1
                following = Block(f"%after.barrier.{count}")
                barrier = Inst("barrier", VOID, labels=(following.name,))
                barrier.line, barrier.column, barrier.site = inst.line, inst.column, inst.site
                current.insts.append(barrier)
                current = blocks[following.name] = following
            else:
                current.insts.append(inst)
        if current.name != block.name:
            for target in current.successors:
                for phi in function.blocks[target].phis:
                    phi.labels = tuple(current.name if x == block.name else x for x in phi.labels)
    function.blocks = blocks
    return count


_IN_STEP = re.compile(r"__hw_in_step_(volatile_)?(\d+)x(\d+)$")


def _take_in_step(function: Function) -> tuple[int, int]:
    """Remove the call by which a kernel says that work-items are to be in step; how many of them along x and y. One
    call says so only of kernels that have local memory: LLVM does not tell of which memory a volatile access is."""
    found = (0, 0)
    has_local = any(p.ty.space == 3 for p in function.params)
    for block in function.blocks.values():
        for inst in block.insts:
            if inst.op == "call" and (said := _IN_STEP.match(inst.detail)):
                found = (int(said[2]), int(said[3])) if has_local or not said[1] else found
        block.insts = [i for i in block.insts if i.op != "call" or not _IN_STEP.match(i.detail)]
    return found


def _streaming_params(function: Function, count: int) -> tuple[int, ...]:
    """Positions of global pointer parameters that are only stored through."""
    roots = {p.name: i for i, p in enumerate(function.params[:count]) if p.ty.kind == "ptr" and p.ty.space == 1}
    stored: set[int] = set()
    other: set[int] = set()
    for block in function.blocks.values():
        for inst in block.insts:
            for place, value in enumerate(inst.args):
                root = roots.get(value.text)
                if root is None:
                    continue
                if inst.op == "getelementptr" and place == 0:
                    roots[inst.name] = root
                elif inst.op == "store" and place == 1:
                    stored.add(root)
                else:
                    other.add(root)
    # A load through a pointer of unknown origin could read anything.
    return tuple(sorted(stored - other))


def private_arrays(function: Function) -> dict[str, int]:
    """Private arrays whose lanes can lie side by side, as all accesses have one element size: name -> that size."""
    owner: dict[str, str] = {}
    size: dict[str, int] = {}
    bad: set[str] = set()
    for block in function.blocks.values():
        for inst in block.insts:
            if inst.op == "alloca":
                owner[inst.name] = inst.name
    for _ in range(2):  # the second sweep sees addresses that are computed later in the text than they are used
        for block in function.blocks.values():
            for inst in block.insts:
                for place, value in enumerate(inst.args):
                    array = owner.get(value.text)
                    if array is not None and not _keeps_layout(inst, place, array, owner, size):
                        bad.add(array)
    return {name: size[name] for name in size if name not in bad and owner.get(name) == name}


def _keeps_layout(inst: Inst, place: int, array: str, owner: dict[str, str], size: dict[str, int]) -> bool:
    if inst.op == "getelementptr" and place == 0:
        owner[inst.name] = array
        return inst.source.kind != "struct" and inst.source.scalar.kind != "array"
    if inst.op == "call" and inst.detail.startswith("llvm.lifetime"):
        return True
    if inst.op == "load" or (inst.op == "store" and place == 1):
        ty = inst.ty if inst.op == "load" else inst.args[0].ty
        bytes_each = ty.scalar.size_bytes
        if ty.kind in ("struct", "array"):
            return False
        return size.setdefault(array, bytes_each) == bytes_each
    return False

"""Input: a program in static single assignment form. Output: the same with fewer or cheaper operations.

`clean` drops what has no use; `rewrite` builds the program anew, with what has become known since: constants, equal
expressions, branches that are decided, branches short enough to be computed on both sides.
"""

from __future__ import annotations

from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.build import ZERO, Builder
from headwater.isa.vliw.compiler.ir import (
    ALU,
    FETCH,
    MEMORY,
    PREDICATE,
    THREE_SOURCES,
    WIDE,
    Const,
    Exit,
    If,
    Loop,
    Op,
    Phi,
    Ref,
    Region,
    Use,
    Value,
    ends,
    operations,
    regions,
)
from headwater.isa.vliw.compiler.target import Target

FLATTENED_OPERATIONS = 18
"""Operations of both sides up to which an if is computed rather than branched over: a branch costs two changes of
clause, about 40 cycles each (AMD, Stream Computing User Guide, "Clauses"), a group takes 8."""

_FLOAT_RESULTS = frozenset(
    "ADD MUL MUL_IEEE MAX MIN MAX_DX10 MIN_DX10 MULADD MULADD_IEEE FMA RECIP_IEEE RECIPSQRT_IEEE SQRT_IEEE EXP_IEEE "
    "LOG_IEEE SIN COS".split()
)


def resolved(use: Use) -> Use:
    """A read of what a value was found to be."""
    ref, neg, absolute = use
    if type(ref) is not Value or ref.alias is None:
        return use
    found: Ref = ref
    while type(found) is Value and found.alias is not None:
        found = found.alias
    while ref.alias is not found:  # the next read has a shorter way
        following = ref.alias
        assert type(following) is Value
        ref.alias, ref = found, following
    return Use(found, neg, absolute)


def resolve_all(region: Region) -> None:
    """Make every read one of what is left after aliases."""
    for inner in regions(region):
        for item in inner:
            if isinstance(item, Op):
                item.uses = [resolved(use) for use in item.uses]
            elif isinstance(item, If):
                item.condition = resolved(item.condition)
                _resolve_phis(item.phis)
            elif isinstance(item, Loop):
                _resolve_phis(item.phis)
                _resolve_phis(item.exit_phis)
            elif isinstance(item, Exit) and item.condition is not None:
                item.condition = resolved(item.condition)


def _resolve_phis(phis: list[Phi]) -> None:
    for phi in phis:
        phi.uses = [resolved(use) for use in phi.uses]


def clean(region: Region) -> None:
    """Drop phis that have one value, and whatever nothing wants."""
    resolve_all(region)
    if _simplify_phis(region):
        resolve_all(region)
    _sweep(region)


def _simplify_phis(region: Region) -> bool:
    """Whether some were dropped. A phi is looked at again when one that it reads has been."""
    lists: list[list[Phi]] = []
    for inner in regions(region):
        for item in inner:
            if isinstance(item, If):
                lists.append(item.phis)
            elif isinstance(item, Loop):
                lists += [item.phis, item.exit_phis]
    work = [phi for phis in reversed(lists) for phi in reversed(phis)]
    readers: dict[Value, list[Phi]] = {}
    for phi in work:
        for use in phi.uses:
            if type(use.ref) is Value:
                readers.setdefault(use.ref, []).append(phi)
    changed = False
    while work:
        phi = work.pop()
        if phi.value.alias is not None:
            continue
        only = _only_value(phi)
        if only is None:
            continue
        changed = True
        phi.value.alias = only
        phi_readers = readers.pop(phi.value, [])
        work += phi_readers
        if type(only) is Value:
            readers.setdefault(only, []).extend(phi_readers)
    if changed:
        for phis in lists:
            phis[:] = [phi for phi in phis if phi.value.alias is None]
    return changed


def _only_value(phi: Phi) -> Ref | None:
    """What a phi is by every way, but for itself; None if there are several such values, or none."""
    phi.uses = [resolved(use) for use in phi.uses]
    only: Ref | None = None
    for use in phi.uses:
        ref = use.ref
        if ref is phi.value or ref is only:
            continue
        if only is not None and (type(ref) is Value or ref != only):
            return None
        if only is None:
            only = ref
    return only


def _sweep(region: Region) -> None:
    """Mark what is wanted, from what has an effect; drop the rest."""
    wanted: set[Value] = set()
    work: list[Value] = []
    phi_of: dict[Value, tuple[Phi, If | None]] = {}

    def want(use: Use) -> None:
        ref = use.ref
        if type(ref) is Value and ref not in wanted:
            wanted.add(ref)
            work.append(ref)

    def roots(inner: Region) -> bool:
        """Whether something in it must happen."""
        must = False
        for item in inner:
            if isinstance(item, Op):
                if item.effect:
                    must = True
                    for use in item.uses:
                        want(use)
            elif isinstance(item, If):
                for phi in item.phis:
                    phi_of[phi.value] = phi, item
                then, other = roots(item.then), roots(item.other)
                if then or other:
                    must = True
                    _want_test(item, want)
            elif isinstance(item, Loop):
                must = True
                for phi in (*item.phis, *item.exit_phis):
                    phi_of[phi.value] = phi, None
                roots(item.body)
            elif isinstance(item, Exit):
                must = True
                _want_test(item, want)
        return must

    roots(region)
    while work:
        value = work.pop()
        if value in phi_of:
            phi, branch = phi_of[value]
            for use in phi.uses:
                want(use)
            if branch is not None:
                _want_test(branch, want)
        elif value.op is not None:
            for use in value.op.uses:
                want(use)
    _drop(region, wanted)


def _want_test(item: If | Exit, want: object) -> None:
    if item.test is not None:
        for use in item.test.uses:
            want(use)  # type: ignore[operator]
    elif item.condition is not None:
        want(item.condition)  # type: ignore[operator]


def _drop(region: Region, wanted: set[Value]) -> None:
    kept: Region = []
    for item in region:
        if isinstance(item, Op):
            item.results = [r if r is not None and r in wanted else None for r in item.results]
            if item.effect or any(r is not None for r in item.results):
                kept.append(item)
        elif isinstance(item, If):
            item.phis = [phi for phi in item.phis if phi.value in wanted]
            _drop(item.then, wanted)
            _drop(item.other, wanted)
            if item.then or item.other or item.phis:
                kept.append(item)
        elif isinstance(item, Loop):
            item.phis = [phi for phi in item.phis if phi.value in wanted]
            item.exit_phis = [phi for phi in item.exit_phis if phi.value in wanted]
            _drop(item.body, wanted)
            kept.append(item)
        else:
            kept.append(item)
    region[:] = kept


# -- building anew -----------------------------------------------------------------------------------------------------


def rewrite(region: Region, target: Target) -> Region:
    """The program built again from what is known of it."""
    uses = _counts(region)
    builder = Builder(target)
    _Rewriter(builder, uses).region(region)
    for item in (i for inner in regions(builder.region) for i in inner):
        if isinstance(item, Loop):
            _drop_lost_exits(item)
    clean(builder.region)
    return builder.region


def _counts(region: Region) -> dict[Value, int]:
    """How often each value is read."""
    counts: dict[Value, int] = {}

    def count(use: Use | None) -> None:
        if use is not None and type(use.ref) is Value:
            counts[use.ref] = counts.get(use.ref, 0) + 1

    for inner in regions(region):
        for item in inner:
            if isinstance(item, Op):
                for use in item.uses:
                    count(use)
            else:
                if isinstance(item, If | Exit):
                    count(item.condition)
                phis = (
                    item.phis
                    if isinstance(item, If)
                    else [*item.phis, *item.exit_phis]
                    if isinstance(item, Loop)
                    else []
                )
                for phi in phis:
                    for use in phi.uses:
                        count(use)
    return counts


class _Rewriter:
    def __init__(self, builder: Builder, counts: dict[Value, int]) -> None:
        self.builder = builder
        self.counts = counts

    def region(self, region: Region) -> None:
        """Its items, into the region that is being built; what stands behind an exit is left out."""
        for item in region:
            if isinstance(item, Op):
                self.operation(item)
            elif isinstance(item, If):
                if self.branch(item):
                    return
            elif isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, Exit):
                if item.condition is not None:
                    item.condition = resolved(item.condition)
                    known = item.condition.ref
                    if type(known) is Const:
                        if (known.bits != 0) != item.when:
                            continue
                        item.condition = None
                self.builder.region.append(item)
                if item.condition is None:
                    return

    def operation(self, op: Op) -> None:
        builder = self.builder
        builder.line = op.line
        if op.kind in (FETCH, MEMORY):  # what was in a register has to stay in one, even if it turned out a constant
            op.uses = [Use(builder.register(resolved(use).ref)) if type(use.ref) is Value else use for use in op.uses]
            builder.region.append(op)
            return
        op.uses = [resolved(use) for use in op.uses]
        if op.kind == ALU and op.name in _PURE_KINDS and len(op.results) == 1 and not op.fields and not op.effect:
            value = op.result
            if op.name == "MOV" and (op.clamp or op.omod) and self.absorbed(op):
                return
            if value.chan >= 0 or (op.name == "MOV" and type(op.uses[0].ref) is not Value):
                if value.chan < 0:
                    value.alias = builder.register(op.uses[0].ref) if _is_plain(op) else None
                    if value.alias is not None:
                        return
                else:
                    builder.region.append(op)
                    return
            ref = builder.made(op.name, op.uses, op.clamp, op.omod)
            if ref is not value:
                value.alias = ref
        elif op.kind == WIDE:
            for old, new in zip(op.results, builder.wide(op.name, list(op.uses), len(op.results)), strict=True):
                if old is not None and old is not new:
                    old.alias = new
        else:
            builder.region.append(op)

    def absorbed(self, op: Op) -> bool:
        """Whether a clamp or scale became part of the operation that computes its operand."""
        use = op.uses[0]
        source = fold.definition(use.ref)
        if source is None or use.neg or use.abs or source.name not in _FLOAT_RESULTS or source.fields:
            return False
        assert type(use.ref) is Value
        if self.counts.get(use.ref, 0) != 1 or (op.omod and source.name in THREE_SOURCES):
            return False
        op.result.alias = self.builder.made(source.name, source.uses, op.clamp, op.omod)
        return True

    def branch(self, item: If) -> bool:
        """Whether nothing behind it is reached."""
        item.condition = resolved(item.condition)
        known = item.condition.ref
        if type(known) is Const:
            chosen = item.then if known.bits else item.other
            self.region(chosen)
            for phi in item.phis:
                phi.value.alias = resolved(phi.uses[0 if known.bits else 1]).ref
            return ends(self.builder.region)
        sides: list[Region] = [[], []]
        for source, side in ((item.then, sides[0]), (item.other, sides[1])):
            outside = self.builder.enter(side)
            self.region(source)
            self.builder.leave(outside)
        item.then, item.other = sides
        over = [ends(side) for side in sides]
        if any(over):  # control comes from one side, if at all
            for phi in item.phis:
                phi.value.alias = resolved(phi.uses[over.index(True) ^ 1]).ref
            item.phis = []
        if self.flattened(item):
            return False
        if not item.phis and not item.other and len(item.then) == 1:
            only = item.then[0]
            if isinstance(only, Exit) and only.condition is None:
                only.condition, only.when = item.condition, True
                self.builder.region.append(only)
                return False
        if not item.phis and not item.then and len(item.other) == 1:
            only = item.other[0]
            if isinstance(only, Exit) and only.condition is None:
                only.condition, only.when = item.condition, False
                self.builder.region.append(only)
                return False
        self.builder.region.append(item)
        return ends(item.then) and ends(item.other)

    def flattened(self, item: If) -> bool:
        """Whether both sides were computed and the phis chosen from them."""
        if len(item.then) + len(item.other) + len(item.phis) > FLATTENED_OPERATIONS:
            return False
        for inner in (*item.then, *item.other):
            if not isinstance(inner, Op) or inner.effect or inner.order or inner.kind not in (ALU, WIDE):
                return False
        for inner in (*item.then, *item.other):
            assert isinstance(inner, Op)
            self.operation(inner)
        for phi in item.phis:
            then, other = (resolved(use) for use in phi.uses)
            phi.value.alias = self.builder.alu("CNDE_INT", item.condition, other, then)
        return True

    def loop(self, item: Loop) -> None:
        for phi in item.phis:
            phi.uses[0] = resolved(phi.uses[0])
        body: Region = []
        outside = self.builder.enter(body)
        self.region(item.body)
        self.builder.leave(outside)
        item.body = body
        self.builder.region.append(item)


_PURE_KINDS = (
    fold.FLOAT_SOURCES
    | THREE_SOURCES
    | fold.MASKS
    | frozenset(
        "AND_INT OR_INT XOR_INT NOT_INT ADD_INT SUB_INT MAX_INT MIN_INT MAX_UINT MIN_UINT LSHL_INT LSHR_INT ASHR_INT "
        "MULLO_INT MULLO_UINT MULHI_INT MULHI_UINT INT_TO_FLT UINT_TO_FLT RECIP_UINT ADDC_UINT BCNT_INT FFBH_UINT "
        "FFBL_INT FFBH_INT BFREV_INT MUL_UINT24 MUL_INT24 FLT32_TO_FLT16 FLT16_TO_FLT32 UBYTE0_FLT UBYTE1_FLT "
        "UBYTE2_FLT UBYTE3_FLT SUBB_UINT".split()
    )
)


def _is_plain(op: Op) -> bool:
    use = op.uses[0]
    return not (op.clamp or op.omod or use.neg or use.abs)


def _drop_lost_exits(loop: Loop) -> None:
    """Forget the ways out of a loop that are no longer there."""
    found = {id(item) for inner in _own_regions(loop.body) for item in inner if isinstance(item, Exit)}
    for exits, phis, first in ((loop.continues, loop.phis, 1), (loop.breaks, loop.exit_phis, 0)):
        kept = [k for k, item in enumerate(exits) if id(item) in found]
        if len(kept) == len(exits):
            continue
        for phi in phis:
            phi.uses = phi.uses[:first] + [phi.uses[first + k] for k in kept]
        exits[:] = [exits[k] for k in kept]


def _own_regions(region: Region) -> list[Region]:
    return list(regions(region))


# -- predicates --------------------------------------------------------------------------------------------------------

_PREDICATES = {
    "SETE_INT": "PRED_SETE_INT", "SETNE_INT": "PRED_SETNE_INT", "SETGT_INT": "PRED_SETGT_INT",
    "SETGE_INT": "PRED_SETGE_INT", "SETGT_UINT": "PRED_SETGT_UINT", "SETGE_UINT": "PRED_SETGE_UINT",
    "SETE_DX10": "PRED_SETE", "SETNE_DX10": "PRED_SETNE", "SETGT_DX10": "PRED_SETGT", "SETGE_DX10": "PRED_SETGE",
}  # fmt: skip


def select_predicates(region: Region, target: Target) -> None:
    """Give each if and conditional exit the PRED_SET that decides it, and drop what only computed the condition.

    An exit outside of ifs is made by its clause, ALU_BREAK or ALU_CONTINUE, where the chip has them: the predicate then
    says who stays. Elsewhere it says who leaves.
    """

    def visit(inner: Region, direct: bool) -> None:
        for item in inner:
            if isinstance(item, If):
                sense = bool(item.then) or not item.other
                if not sense:
                    item.then, item.other = item.other, item.then
                    for phi in item.phis:
                        phi.uses.reverse()
                item.test = _test(item.condition.ref, sense, item.line)
                visit(item.then, False)
                visit(item.other, False)
            elif isinstance(item, Loop):
                visit(item.body, target.has_alu_break)
            elif isinstance(item, Exit) and item.condition is not None:
                item.direct = direct
                item.test = _test(item.condition.ref, item.when != direct, item.line)

    visit(region, False)
    clean(region)


def _test(condition: Ref, sense: bool, line: int) -> Op:
    op = fold.definition(condition)
    while op is not None and op.name == "NOT_INT":
        inner = fold.definition(op.uses[0].ref)
        if inner is None or inner.name not in fold.MASKS:
            break
        condition, sense, op = op.uses[0].ref, not sense, inner
    if op is not None and op.name in _PREDICATES:
        name, uses = op.name, op.uses
        if not sense:
            other = fold.inverse(op)
            if other is None:
                return Op("PRED_SETE_INT", [Use(condition), Use(ZERO)], [None], PREDICATE, line=line)
            name, uses = other
        return Op(_PREDICATES[name], list(uses), [None], PREDICATE, line=line)
    name = "PRED_SETNE_INT" if sense else "PRED_SETE_INT"
    return Op(name, [Use(condition), Use(ZERO)], [None], PREDICATE, line=line)


__all__ = ["clean", "operations", "rewrite", "select_predicates"]

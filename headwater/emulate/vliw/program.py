"""Input: a shader. Output: what each of its control-flow instructions reads, writes and may go on with.

Registers are the components of `headwater.emulate.vliw.registers`. ALU clauses are divided where a wavefront may wait
at a barrier: what is left of the clause is a segment of its own.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.chips.vliw_isas import Traits
from headwater.emulate.vliw.bindings import Name
from headwater.emulate.vliw.operands import SHARED_INDEXED_MODE, SHARED_MODE, SHARED_MODES
from headwater.emulate.vliw.registers import AR, CF_INDEX, GPRS, PIXEL, PREDICATE, PS, PV, RATS, RETURNED
from headwater.errors import HeadwaterError
from headwater.isa.vliw.model import (
    KCACHE_STARTS,
    LDS_OQ_A,
    LDS_OQ_B_POP,
    PS as SEL_PS,
    PV as SEL_PV,
    AluGroup,
    AluOp,
    Cf,
    Fetch,
    Row,
    Shader,
    T,
)

GRADIENTS = {
    "GET_GRADIENTS_H": (0, False), "GET_GRADIENTS_V": (1, False), "GET_GRADIENTS_H_FINE": (0, True),
    "GET_GRADIENTS_V_FINE": (1, True),
}  # fmt: skip
"""Fetches that compare the pixels of a quad: along x or y; whether for each pixel's own row or column."""

KCACHE_LINE = 16
"""vec4 of a line of the constant cache."""
EXPORT_PIXEL = 0
INDEXED_TYPES = (1, 3)
"""TYPE of memory exports that add INDEX_GPR: WRITE_IND and WRITE_IND_ACK."""


@dataclass(slots=True)
class Effects:
    """Components: ``reads`` before they are written here, ``writes``. ``indexed``: GPRs are reached by an address
    register, so any of them may be read or written."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    indexed: bool = False
    _certain: set[int] = field(default_factory=set)

    def read(self, component: int) -> None:
        """A component is read."""
        if component not in self._certain:
            self.reads.add(component)

    def write(self, component: int, *, certain: bool) -> None:
        """A component is written; ``certain``: in all lanes that execute."""
        self.writes.add(component)
        if certain:
            self._certain.add(component)
        else:
            self.read(component)


@dataclass(frozen=True, slots=True)
class Loops:
    """A shader's loops: ``ends``: the LOOP_END of each LOOP_START; ``around``: the LOOP_START of the innermost loop
    around each instruction, None if it is in none."""

    ends: dict[int, int]
    around: list[int | None]

    def of(self, index: int) -> tuple[int, int] | None:
        """The innermost loop around an instruction: where it begins and ends."""
        start = self.around[index]
        return None if start is None else (start, self.ends[start])


@dataclass(slots=True)
class Program:
    """A shader with what was found about it.

    ``segments``: for each control-flow instruction, the first group of each segment of its ALU clause. ``live``: for
    each of them the components that something may read after it. ``full``: whether all lanes that the wavefront began
    with execute it, known now.
    """

    shader: Shader
    segments: list[list[range]]
    live: list[list[set[int]]]
    full: list[bool]
    used: set[int]
    indexed_gprs: int
    resources: list[Name]
    constants: dict[int, int]
    """Vec4 that the shader reads of each constant buffer, as far as it says so."""

    doubles: bool
    quads: bool
    """Whether pixels of a quad look at each other: wavefronts have to be made of whole quads."""

    loops: Loops

    shared: bool
    """Whether it has registers that all wavefronts of a SIMD engine share."""

    @property
    def operations(self) -> int:
        """ALU operations, fetches and control-flow instructions: how large it is."""
        return sum(1 + len(cf.fetches) + sum(len(g.ops) for g in cf.groups) for cf in self.shader.cf)


def read_program(shader: Shader, gprs: int, clause_temporaries: int) -> Program:
    """What can be known of a shader with ``gprs`` general registers. HeadwaterError if a jump leads nowhere or loops
    are not closed."""
    _check_targets(shader)
    segments = [_segments(cf.groups) for cf in shader.cf]
    effects = [
        [segment_effects(shader, cf, part) for part in parts] for cf, parts in zip(shader.cf, segments, strict=True)
    ]
    used: set[int] = set()
    indexed = False
    for parts in effects:
        for effect in parts:
            used |= effect.reads | effect.writes
            indexed |= effect.indexed
    highest = max((c // 4 + 1 for c in used if c < 4 * 124), default=0)
    loops = _loops(shader)
    live = _live(shader, effects, indexed, clause_temporaries, loops)
    return Program(
        shader,
        segments,
        live,
        _full(shader, loops),
        used,
        max(highest, min(gprs, GPRS)) if indexed else 0,
        sorted(_resources(shader)),
        _constants(shader),
        any(row.flags & {"pair", "quad", "split"} for row in _alu_rows(shader)),
        any(fetch.row.name in GRADIENTS for cf in shader.cf for fetch in cf.fetches),
        loops,
        any(_is_shared(op) for cf in shader.cf for group in cf.groups for op in group.ops),
    )


def _is_shared(op: AluOp) -> bool:
    return op.index_mode in SHARED_MODES and (op.dst_rel or any(source.rel for source in op.sources))


def _alu_rows(shader: Shader) -> Iterator[Row]:
    for cf in shader.cf:
        for group in cf.groups:
            for op in group.ops:
                yield op.row


# ---- control flow


def target(cf: Cf) -> int:
    """The instruction that a jump, loop or call names."""
    return cf.fields["addr"]


def goes_elsewhere(cf: Cf) -> bool:
    """Whether the instruction has a target."""
    return "branch" in cf.row.flags


def leaves(cf: Cf) -> bool:
    """Whether lanes leave a loop, or a turn of it, by the instruction."""
    return not cf.row.flags.isdisjoint(("break", "continue"))


def popped_after(cf: Cf) -> int:
    """How many masks are popped after an ALU clause."""
    flags = cf.row.flags
    return 2 if "pop2_after" in flags else int("pop_after" in flags)


def samples(row: Row) -> bool:
    """Whether a fetch is a sample that is emulated: of the only level of detail that a resource has, without a
    comparison."""
    return "sample" in row.flags and row.flags.isdisjoint(("compare", "gather"))


def _check_targets(shader: Shader) -> None:
    for index, cf in enumerate(shader.cf):
        if goes_elsewhere(cf) and not 0 <= target(cf) <= len(shader.cf):
            raise HeadwaterError(
                f"control-flow instruction {index}, {cf.row.name}, jumps to {target(cf)}, which does not exist"
            )


def _loops(shader: Shader) -> Loops:
    ends: dict[int, int] = {}
    around: list[int | None] = []
    open_loops: list[int] = []
    for index, cf in enumerate(shader.cf):
        if cf.row.name == "LOOP_END":
            if not open_loops:
                raise HeadwaterError(f"control-flow instruction {index} ends a loop that has not begun")
            ends[open_loops.pop()] = index
        around.append(open_loops[-1] if open_loops else None)
        if "loop" in cf.row.flags:
            open_loops.append(index)
    if open_loops:
        raise HeadwaterError(f"the loop that begins at control-flow instruction {open_loops[-1]} has no end")
    return Loops(ends, around)


def ends_program(cf: Cf) -> bool:
    """Whether the program ends after this instruction."""
    return bool(cf.fields["end_of_program"]) or cf.row.name in ("CF_END", "END_PROGRAM", "EXPORT_DONE_END")


def successors(shader: Shader, index: int, loops: Loops) -> set[int]:
    """Where control may be after an instruction, for any of the lanes."""
    cf = shader.cf[index]
    result = set() if ends_program(cf) else {index + 1}
    if goes_elsewhere(cf):
        result.add(target(cf))
    if leaves(cf):
        loop = loops.of(index)
        ends = loops.ends.values() if loop is None else (loop[1],)  # a function's may be any that calls it
        result |= {end + d for end in ends for d in (0, 1)}
    if "return" in cf.row.flags:
        result |= {at + 1 for at, other in enumerate(shader.cf) if "call" in other.row.flags}
    return {at for at in result if at < len(shader.cf)}


def straight(program: Program) -> list[range]:
    """Runs of control-flow instructions that always follow each other; those with a clause have the same mask."""
    shader = program.shader
    count = len(shader.cf)
    begins = {0}
    for index, cf in enumerate(shader.cf):
        following = successors(shader, index, program.loops)
        loop = program.loops.of(index)
        if leaves(cf) and loop is not None:
            following = {index + 1, loop[1]}
        begins |= following - {index + 1}
        same_lanes = index + 1 < count and not _has_lanes(shader.cf[index + 1])
        if following != {index + 1} or (_changes_lanes(cf) and not same_lanes):
            begins.add(index + 1)
    starts = sorted(at for at in begins if at < count)
    return [range(start, end) for start, end in zip(starts, [*starts[1:], count], strict=True)]


def _has_lanes(cf: Cf) -> bool:
    """Whether an instruction does something in lanes, not to their mask alone."""
    return bool(cf.groups or cf.fetches) or cf.row.kind in ("EXPORT", "MEM", "RAT")


def _changes_lanes(cf: Cf) -> bool:
    """Whether another mask may be active after an instruction than before it."""
    if cf.fetches or cf.row.kind in ("EXPORT", "MEM", "RAT"):
        return False
    if cf.row.kind != "CF_ALU":
        return goes_elsewhere(cf) or cf.row.name in ("PUSH", "POP", "RETURN", "KILL")
    kills = any("kill" in op.row.flags or op.update_exec_mask for group in cf.groups for op in group.ops)
    pushes = "push_before" in cf.row.flags
    return kills or pushes or popped_after(cf) > 0 or leaves(cf) or cf.row.name == "ALU_ELSE_AFTER"


def _live(
    shader: Shader, effects: list[list[Effects]], indexed: bool, clause_temporaries: int, loops: Loops
) -> list[list[set[int]]]:
    """What may be read after each segment. A component that is written there may keep its old value in other lanes, so
    nothing ends a life but the end of the program."""
    count = len(shader.cf)
    after: list[set[int]] = [set() for _ in range(count)]
    reads = [set().union(*(e.reads for e in parts)) for parts in effects]
    everything = set(range(4 * GPRS)) if indexed else set()
    if indexed:
        reads = [
            r | (everything if any(e.indexed for e in parts) else set())
            for r, parts in zip(reads, effects, strict=True)
        ]
    if clause_temporaries:
        temporaries = set(range(4 * (GPRS - clause_temporaries), 4 * GPRS))
        reads = [r - temporaries for r in reads]
    following = [successors(shader, index, loops) for index in range(count)]
    preceding: list[list[int]] = [[] for _ in range(count)]
    for index, ways in enumerate(following):
        for n in ways:
            preceding[n].append(index)
    before = list(reads)
    pending = [-index for index in reversed(range(count))]  # a heap: what stands last comes first
    waiting = set(pending)
    while pending:
        waiting.discard(at := heapq.heappop(pending))
        after[-at] = set().union(*(before[n] for n in following[-at]))
        new = after[-at] | reads[-at]
        if new != before[-at]:
            before[-at] = new
            for n in preceding[-at]:
                if -n not in waiting:
                    waiting.add(-n)
                    heapq.heappush(pending, -n)
    result = []
    for index, parts in enumerate(effects):
        live = after[index]
        states = []
        for effect in reversed(parts):
            states.append(live)
            live = live | effect.reads | (everything if effect.indexed else set())
        result.append(states[::-1])
    return result


@dataclass(frozen=True, slots=True)
class _Lanes:
    """Whether masks are what the wavefront began with: the active one, those pushed, and of each loop the stack's
    height, the mask that entered and that of the lanes that have not left."""

    active: bool
    stack: tuple[bool, ...] = ()
    loops: tuple[tuple[int, bool, bool], ...] = ()

    def join(self, other: _Lanes) -> _Lanes:
        """What holds in both."""
        if len(self.stack) != len(other.stack) or len(self.loops) != len(other.loops):
            return _Lanes(False)
        loops = tuple((a[0], a[1] and b[1], a[2] and b[2]) for a, b in zip(self.loops, other.loops, strict=True))
        stack = tuple(a and b for a, b in zip(self.stack, other.stack, strict=True))
        return _Lanes(self.active and other.active, stack, loops)

    def popped(self, count: int) -> _Lanes:
        """After POP."""
        if count == 0:
            return self
        if count > len(self.stack):
            return _Lanes(False)
        return _Lanes(self.stack[-count], self.stack[:-count], self.loops)

    def left(self, continues: bool) -> _Lanes:
        """After some lanes have left the loop, or wait for its end."""
        if not self.loops:
            return _Lanes(False)
        base, entry, live = self.loops[-1]
        stack = (*self.stack[:base], *(False for _ in self.stack[base:]))
        return _Lanes(False, stack, (*self.loops[:-1], (base, entry, live and continues)))


def _full(shader: Shader, loops: Loops) -> list[bool]:
    """For each instruction whether all lanes of the beginning execute it, as far as it is known."""
    count = len(shader.cf)
    names = {cf.row.name for cf in shader.cf}
    kills = any("kill" in row.flags for row in _alu_rows(shader)) or "KILL" in names
    if kills or names & {"CALL", "CALL_FS", "RETURN", "PUSH", "PUSH_ELSE", "POP_PUSH", "POP_PUSH_ELSE", "POP_JUMP"}:
        return [False] * count
    states: list[_Lanes | None] = [None] * count
    pending = [(0, _Lanes(True))]
    while pending:
        index, state = pending.pop()
        if index >= count:
            continue
        known = states[index]
        joined = state if known is None else known.join(state)
        if joined == known:
            continue
        states[index] = joined
        pending += _after(shader, index, joined, loops)
    return [state is not None and state.active for state in states]


def _after(shader: Shader, index: int, state: _Lanes, loops: Loops) -> list[tuple[int, _Lanes]]:
    cf = shader.cf[index]
    name, pops = cf.row.name, cf.fields["pop_count"]
    following = index + 1
    if ends_program(cf):
        return []
    if cf.groups:
        if "push_before" in cf.row.flags:
            state = _Lanes(state.active, (*state.stack, state.active), state.loops)
        before = state
        if any(op.update_exec_mask for g in cf.groups for op in g.ops):
            state = _Lanes(False, state.stack, state.loops)
        if leaves(cf):
            state = before.left("continue" in cf.row.flags)
        if name == "ALU_ELSE_AFTER":
            state = _Lanes(False, state.stack, state.loops)
        return [(following, state.popped(popped_after(cf)))]
    if name == "JUMP":
        none = _Lanes(False, state.stack, state.loops)
        return [(following, state), (target(cf), none.popped(pops))]
    if name == "ELSE":
        none = _Lanes(False, state.stack, state.loops)
        return [(following, none), (target(cf), none.popped(pops))]
    if name == "POP":
        return [(following, state.popped(pops))]
    if "loop" in cf.row.flags:
        inside = _Lanes(state.active, state.stack, (*state.loops, (len(state.stack), state.active, state.active)))
        return [(following, inside), (loops.ends[index] + 1, _Lanes(False, state.stack, state.loops))]
    if name == "LOOP_END":
        if not state.loops:
            return [(following, _Lanes(False))]
        base, entry, live = state.loops[-1]
        next_trip = _Lanes(live, state.stack[:base], state.loops)
        return [(target(cf), next_trip), (following, _Lanes(entry, state.stack[:base], state.loops[:-1]))]
    if leaves(cf):
        left = state.left("continue" in cf.row.flags)
        loop = loops.of(index)
        base = left.loops[-1][0] if left.loops else 0
        return [
            (following, left),
            (following if loop is None else loop[1], _Lanes(False, left.stack[:base], left.loops)),
        ]
    return [(following, state)]


# ---- clauses


def _segments(groups: tuple[AluGroup, ...]) -> list[range]:
    """Ranges of groups, each but the last ended by a barrier."""
    result, start = [], 0
    for at, group in enumerate(groups):
        if any(op.row.name == "GROUP_BARRIER" for op in group.ops):
            result.append(range(start, at + 1))
            start = at + 1
    if start < len(groups) or not result:
        result.append(range(start, len(groups)))
    return result


def segment_effects(shader: Shader, cf: Cf, segment: range) -> Effects:
    """Of one segment of an ALU clause, or of any other instruction with all its fetches."""
    effects = Effects()
    for group in (cf.groups[n] for n in segment):
        _group(effects, shader, group)
    for fetch in cf.fetches:
        _fetch(effects, fetch)
    if not cf.groups and not cf.fetches:
        _memory(effects, cf, shader.traits)
    return effects


def address_register(op: AluOp, traits: Traits) -> int:
    """The component that MOVA writes: AR.x, one of AR.xyzw by the destination's channel, or what MOVA_DST names."""
    if traits.address_registers > 1:
        return AR + op.dst_chan
    if traits.has_index_registers and op.dst_gpr in (2, 3):
        return CF_INDEX + op.dst_gpr - 2
    return AR


def writes_gpr(op: AluOp, traits: Traits) -> bool:
    """Whether an operation writes its destination register: MOVA_INT may have another destination in its place."""
    return op.write and not (traits.has_index_registers and "mova" in op.row.flags)


def index_register(op_index_mode: int, traits: Traits) -> int:
    """The component that relative operands are indexed by."""
    return AR + op_index_mode if op_index_mode < traits.address_registers else AR


def _group(effects: Effects, shader: Shader, group: AluGroup) -> None:
    for op in group.ops:
        for source in op.sources:
            if op.index_mode == SHARED_MODE and source.rel:
                continue
            if source.rel:
                effects.read(index_register(op.index_mode, shader.traits))
            if source.sel < GPRS:
                if source.rel and op.index_mode == SHARED_INDEXED_MODE:
                    continue
                if source.rel:
                    effects.indexed = True
                effects.read(4 * source.sel + source.chan)
            elif source.sel == SEL_PV:
                effects.read(PV + source.chan)
            elif source.sel == SEL_PS:
                effects.read(PS)
        if op.pred_sel:
            effects.read(PREDICATE)
    for op in group.ops:
        certain = not op.pred_sel
        if op.dst_rel and op.index_mode != SHARED_MODE:
            effects.indexed = effects.indexed or op.index_mode != SHARED_INDEXED_MODE
            effects.read(index_register(op.index_mode, shader.traits))
        if op.row.kind == "LDS":
            continue
        if "mova" in op.row.flags:
            effects.write(address_register(op, shader.traits), certain=certain)
        for number, flag in enumerate(("idx0", "idx1")):
            if flag in op.row.flags:
                effects.write(CF_INDEX + number, certain=certain)
        if op.update_pred:
            effects.write(PREDICATE, certain=certain)
        if writes_gpr(op, shader.traits) and not op.dst_rel:
            effects.write(4 * op.dst_gpr + op.dst_chan, certain=certain)
        effects.write(PS if op.slot == T else PV + op.slot, certain=certain)


def selected(sel: int) -> int | None:
    """The channel that a fetch's source select names, or None for 0 and 1."""
    return sel if sel < 4 else None


def _fetch(effects: Effects, fetch: Fetch) -> None:
    f = fetch.fields
    kind = fetch.row.kind
    if kind == "TEX":
        sources = [(f["src_gpr"], f[f"src_sel_{c}"]) for c in "xyzw"]
    elif kind in ("VTX", "SEM"):
        sources = [(f["src_gpr"], f["src_sel_x"])]
        if f["structured_read"]:
            sources.append((f["src_gpr"], f["src_sel_y"]))
    elif kind in ("GDS", "MEM_DSW", "MEM_DSR"):
        sources = [
            (f["src_gpr"], f[f"src_sel_{c}"])
            for c in ("xyz" if kind == "GDS" else "xyzw" if kind == "MEM_DSW" else "xy")
        ]
        if kind == "MEM_DSW":
            sources += [(f["src_gpr"] + n, c) for n in range(1, f["burst_count"] + 1) for c in range(4)]
    else:
        sources = [(f["src_gpr"], f["src_sel_x"])] if f["indexed"] else []
    rat = returned_rat(fetch)
    if rat is not None:
        effects.read(RETURNED + rat)
    for gpr, sel in sources:
        channel = selected(sel)
        if channel is not None and gpr < GPRS:
            effects.read(4 * gpr + channel)
    for component in fetch_writes(fetch):
        effects.write(component, certain=True)


RETURN_BUFFERS = 160
"""The first of the fetch resources that hold what RAT instructions return."""


def returned_rat(fetch: Fetch) -> int | None:
    """The RAT whose return buffer a fetch reads, or None."""
    rat = fetch.fields["buffer_id"] - RETURN_BUFFERS
    return rat if fetch.row.name == "FETCH" and 0 <= rat < RATS else None


def fetch_writes(fetch: Fetch) -> list[int]:
    """The components that a fetch writes."""
    f = fetch.fields
    kind = fetch.row.kind
    if kind == "MEM_DSW":
        return []
    burst = f["burst_count"] + 1 if kind in ("MEM_RD", "MEM_DSR") else 1
    if kind == "MEM_DSR":
        channels = [n for n, c in enumerate("xyzw") if f[f"dst_wr_{c}"]]
    else:
        channels = [n for n, c in enumerate("xyzw") if f[f"dst_sel_{c}"] != 7]
    return [4 * (f["dst_gpr"] + n) + c for n in range(burst) for c in channels if f["dst_gpr"] + n < GPRS]


def reads_scratch(cf: Cf, traits: Traits) -> bool:
    """Whether MEM_SCRATCH reads: TYPE 2 and 3, where those are not acknowledged writes."""
    return traits.reads_scratch_by_writes and "scratch" in cf.row.flags and cf.fields["type"] >= 2


def _memory(effects: Effects, cf: Cf, traits: Traits) -> None:
    """Exports and memory writes."""
    if cf.row.kind not in ("EXPORT", "MEM", "RAT"):
        return
    f = cf.fields
    for n in range(f["burst_count"] + 1):
        for channel in range(4):
            component = 4 * min(f["rw_gpr"] + n, GPRS - 1) + channel
            if not reads_scratch(cf, traits):
                effects.read(component)
            elif f["comp_mask"] >> channel & 1:
                effects.write(component, certain=True)
    if cf.row.kind == "RAT" or f["type"] in INDEXED_TYPES:
        for channel in range(4):
            effects.read(4 * f["index_gpr"] + channel)
    if cf.row.kind == "RAT" and is_returning(cf):
        effects.write(RETURNED + f["rat_id"], certain=True)
    if cf.row.kind == "EXPORT":
        effects.read(PIXEL)
        effects.read(PIXEL + 1)


# ---- resources


def kcache_window(cf: Cf, sel: int) -> tuple[int, int] | None:
    """Constant buffer and vec4 that a select of the constant cache names; None where nothing is locked."""
    for window in (3, 2, 1, 0):
        start = KCACHE_STARTS[window]
        if start <= sel < start + 32:
            f = cf.fields
            if not f[f"kcache_mode{window}"]:
                return None
            return f[f"kcache_bank{window}"], f[f"kcache_addr{window}"] * KCACHE_LINE + sel - start
    return None


def is_constant(sel: int) -> bool:
    """Whether a select is one of the constant cache."""
    return 128 <= sel < 192 or 256 <= sel < 320


def is_queue(sel: int) -> bool:
    """Whether a select reads what LDS instructions returned."""
    return LDS_OQ_A <= sel <= LDS_OQ_B_POP


def _constants(shader: Shader) -> dict[int, int]:
    result: dict[int, int] = {}
    for cf in shader.cf:
        for sel in {s.sel for g in cf.groups for op in g.ops for s in op.sources if is_constant(s.sel)}:
            found = kcache_window(cf, sel)
            if found is not None:
                result[found[0]] = max(result.get(found[0], 0), found[1] + 1)
    return result


def _resources(shader: Shader) -> set[Name]:
    result: set[Name] = {("constant", bank) for bank in _constants(shader)}
    for cf in shader.cf:
        f, kind = cf.fields, cf.row.kind
        if kind == "EXPORT" and f["type"] == EXPORT_PIXEL:
            result |= {("output", n) for n in range(f["array_base"], f["array_base"] + f["burst_count"] + 1) if n < 8}
        elif kind == "RAT":
            result.add(("rat", f["rat_id"]))
        elif kind == "MEM" and "scratch" not in cf.row.flags:
            result.add(memory_resource(cf))
        for fetch in cf.fetches:
            if fetch.row.kind == "TEX" and fetch.row.name not in GRADIENTS:
                result.add(("fetch", fetch.fields["resource_id"]))
            elif fetch.row.kind == "VTX" and returned_rat(fetch) is None:
                result.add(("fetch", fetch.fields["buffer_id"]))
    return result


def is_returning(cf: Cf) -> bool:
    """Whether a RAT instruction returns what memory held."""
    return cf.fields["rat_inst"] >= 32


def memory_resource(cf: Cf) -> Name:
    """What a write to memory goes to: a stream, a ring, a reduction buffer or global memory, and which of them."""
    return next((_BUFFERS[flag] for flag in cf.row.flags if flag in _BUFFERS), ("global", 0))


_BUFFERS: dict[str, Name] = {
    "reduction": ("reduction", 0),
    **{f"{kind}{n}": (kind, n) for kind in ("stream", "ring") for n in range(4)},
}
"""Flag of a write to memory -> what it goes to."""

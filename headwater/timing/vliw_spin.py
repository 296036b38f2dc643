"""Input: a VLIW shader. Output: an error if it has loops that wait for other work-groups, as `headwater.timing.spin`
does for GCN kernels.

Nothing in a VLIW load says that it is volatile. So a loop is taken to wait if whether it ends follows from loads alone
whose addresses stay the same: only somebody else can end it. Where it counts its turns besides, it waits, too, if it
has a load that compilers would have taken out of it, were it not volatile: done in each turn, at the same address,
where the loop stores nothing; or an atomic operation with the same operands. Where the address or the value that
compare-and-swap wants was made in the turn before, it ends by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.emulate.vliw.program import is_returning, segment_effects
from headwater.errors import UsageError
from headwater.isa.vliw.model import Cf, Shader

if TYPE_CHECKING:
    from headwater.runtime.vliw.launch import ShaderLaunch

CONSTANTS = range(144, 160)
"""Fetch resources that are constant buffers."""
COUNTING = frozenset((7, 8, 9, 18, 19))
"""RAT_INST without its bit for returning: ADD, SUB, RSUB, INC and DEC bring something else each time, whatever others
do, so that no lock is made of them."""


_Parts = tuple[tuple[frozenset[int], frozenset[int]], ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A group, fetch or memory instruction of a loop. ``parts``: components that each of its operations reads, all
    before any of them writes, and writes; ``load``: of memory that others may write; ``moves``: it changes that itself;
    ``ends``: what decides whether lanes leave the loop here."""

    index: int
    number: int
    parts: _Parts
    load: bool = False
    moves: bool = False
    ends: frozenset[int] | None = None


def refuse_spinning_shader(launch: ShaderLaunch) -> None:
    """UsageError, with the source line, if the shader of a launch waits for other work-groups in a loop."""
    found = spinning_load(launch.machine.shader)
    if found is None:
        return
    line = launch.line_of(*found)
    where = f" in line {line} of {launch.kernel.source_file}" if line else f" in instruction {found[0]:02d}"
    raise UsageError(
        f"{launch.kernel.info.name} waits{where} for what other work-groups write: how long depends on when they run, "
        "which a replay does not know",
        hint="split the kernel where it waits; a launch waits for the one before it",
    )


def spinning_load(shader: Shader) -> tuple[int, int] | None:
    """The load by which a loop of the shader waits for others: its control-flow instruction and its number there; None
    if there is none."""
    loops = list(_loops(shader))
    for body in loops:
        steps = [step for index in body for step in _steps(shader, index)]
        for at, step in enumerate(steps):
            innermost = min((one for one in loops if step.index in one), key=len)
            if step.ends is not None and innermost == body:
                load = _only_reason(steps, at, step.ends) or _one_reason(shader, body, steps, at, step.ends)
                if load is not None:
                    return load.index, load.number
    return None


def _loops(shader: Shader) -> Iterator[range]:
    begins: list[int] = []
    for index, cf in enumerate(shader.cf):
        if "loop" in cf.row.flags:
            begins.append(index)
        elif "endloop" in cf.row.flags:
            yield range(begins.pop() + 1, index)


def _steps(shader: Shader, index: int) -> Iterator[_Step]:
    cf = shader.cf[index]
    if cf.groups:
        leaves = cf.row.name == "ALU_BREAK" or _breaks_next(shader, index)
        for number, group in enumerate(cf.groups):
            parts = [_facts(shader, replace(cf, groups=(replace(group, ops=(op,)),))) for op in group.ops]
            ends = [reads for op, (reads, _) in zip(group.ops, parts, strict=True) if op.update_exec_mask]
            yield _Step(index, number, tuple(parts), ends=ends[0] if leaves and ends else None)
    for number, fetch in enumerate(cf.fetches):
        memory = fetch.row.name == "FETCH" and fetch.fields["buffer_id"] not in CONSTANTS
        yield _Step(index, number, (_facts(shader, replace(cf, fetches=(fetch,))),), load=memory)
    if cf.row.kind == "RAT" and is_returning(cf):
        yield _Step(index, 0, (_facts(shader, cf),), load=True, moves=cf.fields["rat_inst"] & 31 in COUNTING)


def _breaks_next(shader: Shader, index: int) -> bool:
    """Whether the lanes that an ALU clause leaves active leave the loop behind it."""
    following = [cf.row.name for cf in shader.cf[index + 1 : index + 3]]
    return following[:1] == ["LOOP_BREAK"] or following == ["JUMP", "LOOP_BREAK"]


def _facts(shader: Shader, cf: Cf) -> tuple[frozenset[int], frozenset[int]]:
    effects = segment_effects(shader, cf, range(len(cf.groups)))
    return frozenset(effects.reads), frozenset(effects.writes)


def _only_reason(steps: list[_Step], at: int, wanted: Iterable[int]) -> _Step | None:
    """A load that the components ``wanted`` at step ``at`` come from, if none of what they come from was made in an
    earlier turn of the loop."""
    load = None
    for _, step in _sources(steps[:at], wanted):
        if step.moves:
            return None
        if step.load:
            load = step
    return None if _left(steps[:at], wanted) & _changed(steps) else load


def _changed(steps: list[_Step]) -> set[int]:
    """Components that any of the steps writes."""
    return {component for step in steps for _, writes in step.parts for component in writes}


def _one_reason(shader: Shader, body: range, steps: list[_Step], at: int, wanted: Iterable[int]) -> _Step | None:
    """A load that the components ``wanted`` at step ``at`` come from, whatever else they come from, if it does the same
    in each turn of the loop and nobody could have done it before the loop."""
    changed = _changed(steps)
    stores = any(
        cf.row.kind in ("EXPORT", "MEM") or (cf.row.kind == "RAT" and not is_returning(cf))
        for cf in (shader.cf[index] for index in body)
    )
    for number, step in _sources(steps[:at], wanted):
        hoisted = shader.cf[step.index].row.kind != "RAT" and (stores or _skipped(shader, body, step.index))
        if not step.load or step.moves or hoisted:
            continue
        operands = {component for reads, _ in step.parts for component in reads}
        if not _left(steps[:number], operands) & changed:
            return step
    return None


def _sources(steps: list[_Step], wanted: Iterable[int]) -> Iterator[tuple[int, _Step]]:
    """The steps that components come from, with their places, the last ones first."""
    return (one for one, _ in _walk(steps, wanted) if one is not None)


def _left(steps: list[_Step], wanted: Iterable[int]) -> set[int]:
    """The components at the beginning of ``steps`` that those ``wanted`` at the end come from."""
    *_, (_, needed) = _walk(steps, wanted)
    return needed


def _walk(steps: list[_Step], wanted: Iterable[int]) -> Iterator[tuple[tuple[int, _Step] | None, set[int]]]:
    """From the end of ``steps`` backwards: each that makes what is needed behind it, with its place, and what is needed
    before it; None and all that is needed at the beginning come last."""
    needed = set(wanted)
    for number in range(len(steps) - 1, -1, -1):
        parts = [(reads, writes) for reads, writes in steps[number].parts if writes & needed]
        for _, writes in parts:
            needed -= writes
        for reads, _ in parts:
            needed |= reads
        if parts:
            yield (number, steps[number]), needed
    yield None, needed


def _skipped(shader: Shader, body: range, index: int) -> bool:
    """Whether a jump within the loop leads past an instruction."""
    jumps = (cf for cf in shader.cf[body.start : index] if "jump" in cf.row.flags)
    return any(index < cf.fields["addr"] for cf in jumps)

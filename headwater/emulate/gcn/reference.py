"""Input: decoded GCN instructions and a wavefront's registers. Output: the registers and memory after each instruction.

Slow and simple: what the translator is held to. Expressions are computed by `headwater.emulate.wave.evaluate_numpy`;
what stands around them (operands, modifiers, EXEC, DPP, SDWA, memory, control) is here, written apart from the
translator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headwater.emulate.gcn import reference_matrix
from headwater.emulate.gcn.reference_access import scalar_memory, vector_memory
from headwater.emulate.gcn.reference_gws import Resources
from headwater.emulate.gcn.reference_registers import (
    AT_BARRIER,
    AT_GWS,
    ENDED,
    RUNNING,
    Wave,
    assign,
    named_value,
)
from headwater.emulate.wave.evaluate_numpy import EffectValues, evaluate
from headwater.emulate.wave.layout import GWS_RESOURCES, LANES, PRIVATE_APERTURE, SHARED_APERTURE
from headwater.errors import InternalError, KernelFault
from headwater.isa.gcn.model import (
    EXEC,
    Instruction,
)
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Semantics

_HWREG_MODE, _HWREG_BASES = 1, 15


def run_group(
    waves: Sequence[Wave],
    fetch: Callable[[int], Instruction],
    *,
    limit: int = 10_000_000,
    watch: Callable[[Wave, Instruction], None] | None = None,
) -> None:
    """Run a work-group's wavefronts to their ends: see `run_groups`."""
    run_groups([waves], fetch, limit=limit, watch=watch)


def run_groups(
    groups: Sequence[Sequence[Wave]],
    fetch: Callable[[int], Instruction],
    *,
    limit: int = 10_000_000,
    watch: Callable[[Wave, Instruction], None] | None = None,
) -> None:
    """Run the wavefronts of work-groups that are resident together to their ends, each as far as it can in turn.

    ``fetch`` gives the instruction at a byte address. Raises KernelFault for bad accesses, traps, what is not
    supported, after ``limit`` instructions, and if all wait for each other.
    """

    def go(wave: Wave) -> None:
        wave.state = RUNNING

    resources = Resources(go)
    steps = 0
    while any(w.state != ENDED for waves in groups for w in waves):
        moved = False
        for waves in groups:
            for wave in waves:
                while wave.state == RUNNING:
                    moved = True
                    instruction = fetch(wave.pc)
                    if watch is not None:
                        watch(wave, instruction)
                    step(wave, instruction)
                    if wave.state == AT_GWS:
                        resources.ask(wave, *wave.asked)
                    steps += 1
                    if steps > limit:
                        raise KernelFault(f"the kernel did not end within {limit} instructions")
            living = [wave for wave in waves if wave.state != ENDED]
            if living and all(wave.state == AT_BARRIER for wave in living):
                moved = True
                for wave in living:
                    wave.state = RUNNING
        if not moved:
            raise KernelFault("all wavefronts wait for each other (ds_gws_…)")


def step(wave: Wave, instruction: Instruction) -> None:
    """Run one instruction."""
    what = semantics(instruction.row)
    if what.unsupported:
        raise KernelFault(f"{instruction.row.name} at {instruction.address:#x}: {what.unsupported}")
    wave.executed += 1
    wave.pc = instruction.address + instruction.size_bytes
    encoding = instruction.row.encoding
    if encoding == "SMEM":
        scalar_memory(wave, instruction, what)
    elif what.effect("mfma"):
        reference_matrix.multiply(wave.vectors, instruction)
    elif what.effect("gws"):
        _compute(wave, instruction, what)
    elif encoding in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "MIMG") and not what.cross:
        vector_memory(wave, instruction, what)
    else:
        _compute(wave, instruction, what)


# ---- computing -------------------------------------------------------------------------------------------------------


def _compute(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    """Vector and scalar arithmetic, and control."""
    operands = {name: named_value(wave, instruction, name, what) for name in what.reads}
    done = evaluate(
        what,
        operands,
        wave.settings,
        clamp=bool(instruction.fields.get("clamp", 0)),
        active=wave.active,
        functions={"getreg": lambda: _getreg(wave, instruction)},
    )
    active_before = wave.pair(EXEC)
    for target, value in done.results.items():
        after = wave.pair(EXEC)
        wave.set_pair(EXEC, active_before)
        assign(wave, instruction, target, value, what)
        if target != "EXEC" and not _writes_exec(instruction, target):
            wave.set_pair(EXEC, after)
    for effect in done.effects:
        if effect.kind == "gws":
            _synchronise(wave, effect)
            continue
        first = effect.values[0] if effect.values else None
        _effect(wave, instruction, effect.kind, int(first[0]) if isinstance(first, np.ndarray) else 0)


def _synchronise(wave: Wave, effect: EffectValues) -> None:
    """Global wave synchronisation, with the first active lane's value."""
    lanes = np.flatnonzero(wave.active)
    lane = int(lanes[0]) if lanes.size else 0
    resource, value = (int(np.broadcast_to(v, LANES)[lane]) for v in (*effect.values, np.zeros(1, np.uint32))[:2])
    wave.asked = effect.text, resource % GWS_RESOURCES, value
    wave.state = AT_GWS


def _writes_exec(instruction: Instruction, target: str) -> bool:
    dest = instruction.dest(target)
    return dest is not None and dest.register.file == "s" and dest.register.index in (EXEC, EXEC + 1)


def _effect(wave: Wave, instruction: Instruction, kind: str, value: int) -> None:
    if kind == "branch":
        if value:
            assert instruction.target is not None
            wave.pc = instruction.target
    elif kind == "end":
        wave.state = ENDED
    elif kind == "barrier":
        wave.state = AT_BARRIER
    elif kind == "trap":
        if instruction.fields["simm16"] & 0xFF == 2:
            raise KernelFault(f"s_trap 2 at {instruction.address:#x}: the kernel gave up")
    elif kind == "setreg":
        _setreg(wave, instruction, value)
    elif kind == "gpr_index":
        wave.indexing = bool(value)
    elif kind not in ("nop", "sendmsg", "index_source", "index_dest"):
        raise InternalError(f"the interpreter has no effect {kind}")


def _field(instruction: Instruction) -> tuple[int, int, int]:
    """Which hardware register s_getreg and s_setreg name, the first bit, and the mask of the bits."""
    simm = instruction.fields["simm16"]
    return simm & 63, simm >> 6 & 31, (1 << (simm >> 11) + 1) - 1


def _getreg(wave: Wave, instruction: Instruction) -> int:
    register, offset, mask = _field(instruction)
    bases = PRIVATE_APERTURE >> 16 | SHARED_APERTURE >> 16 << 16
    return ({_HWREG_MODE: wave.mode, _HWREG_BASES: bases}.get(register, 0) >> offset) & mask


def _setreg(wave: Wave, instruction: Instruction, value: int) -> None:
    register, offset, mask = _field(instruction)
    if register == _HWREG_MODE:
        wave.mode = wave.mode & ~(mask << offset) | (value & mask) << offset

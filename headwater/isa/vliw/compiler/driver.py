"""Input: an IL program and a chip. Output: the chip's machine code with what it needs to run."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from headwater.chips.model import SCRATCH_BUFFER_ELEMENTS, Chip
from headwater.errors import LimitError, Span
from headwater.il.checker import Facts, check
from headwater.il.legacy import modern
from headwater.il.model import Instruction, Program, Register
from headwater.isa.vliw.compiler import coalesce, merge_reads, offsets, optimise, spill, verify
from headwater.isa.vliw.compiler.allocate import allocate
from headwater.isa.vliw.compiler.data_share import SMALL_ACCESSES
from headwater.isa.vliw.compiler.emit import emit
from headwater.isa.vliw.compiler.ir import Copier, Region, Value
from headwater.isa.vliw.compiler.liveness import Liveness
from headwater.isa.vliw.compiler.lower import Statements
from headwater.isa.vliw.compiler.operands import Lowering
from headwater.isa.vliw.compiler.schedule import FULL_SHARE, schedule
from headwater.isa.vliw.compiler.structure import refuse_long
from headwater.isa.vliw.compiler.target import Target, target_of
from headwater.isa.vliw.model import Shader

_REWRITES = 2
SHARED_REGISTERS = 128
"""AMD, R700-Family ISA, 2.6.1: shared registers and clause temporaries must fit within the first 128."""
_MAX_SPILLED = 2000
_SPILL_MARGIN = 16
"""Components more than seem too many: what is read back takes registers, too."""
_SPILL_PRECISION = 8
"""Of the variables that are spilled, the part that may be more than it takes."""


@dataclass(frozen=True, slots=True)
class CompiledShader:
    """A shader and what a loader must set up for it; docs/vliw.md says what the resources are.

    ``constant_buffers``: vec4 of each; ``resources``: textures that it samples; ``uavs``, ``outputs``: their numbers.
    ``scratch_bytes``: a work-item's. ``lines``: for each control-flow instruction the IL's lines of its groups, fetches
    or write, 0 where none is known.
    """

    shader: Shader
    kind: str
    gprs: int
    stack_entries: int
    clause_temporaries: int
    lds_bytes: int
    scratch_bytes: int
    constant_buffers: dict[int, int]
    resources: tuple[int, ...]
    outputs: tuple[int, ...]
    uavs: tuple[int, ...]
    uses_global: bool
    group_size: tuple[int, int, int] | None
    lines: tuple[tuple[int, ...], ...]


def compile_program(program: Program, chip: Chip, filename: str = "<source>") -> CompiledShader:
    """Compile for a VLIW chip.

    SourceError, with the line, for what does not fit together or what the chip has no instructions for; LimitError
    where it has too little of something; UsageError for a chip of another kind.
    """
    target = target_of(chip)
    refuse_long(program, filename)
    check(program, filename)
    program = modern(program, filename, SMALL_ACCESSES if target.traits.has_shared_lds else ())
    facts = check(program, filename)
    _check_limits(program, facts, target, filename)
    try:
        return _fitted_to_group(program, facts, target, filename)
    except LimitError as error:  # of a pass that knows no files
        error.span = replace(error.span, file=filename) if error.span is not None else Span(filename)
        raise
    except RecursionError:  # each case of a switch nests in the one before
        raise LimitError(
            "blocks and cases of switches nest too deeply",
            Span(filename),
            hint="make it several switches, or a table",
        ) from None


def _fitted_to_group(program: Program, facts: Facts, target: Target, filename: str) -> CompiledShader:
    """The program with so few registers that a SIMD engine holds a whole work-group, of the largest size where each
    launch chooses one; with as many as a work-item may have where no fewer will do and the size is not fixed."""
    chip = target.chip
    if program.kind == "cs":
        size = prod(facts.group) if facts.group is not None else facts.largest_group or chip.compute.work_group_size
        wavefronts = -(-size // chip.compute.wavefront_size)
        gprs = min(target.gprs, (chip.registers.vgprs - facts.shared) // wavefronts)
        try:
            return _fitted(program, facts, replace(target, gprs=gprs), filename, chip.name)
        except LimitError:
            if facts.group is not None or gprs == target.gprs:
                raise
    return _fitted(program, facts, target, filename, chip.name)


def _fitted(program: Program, facts: Facts, target: Target, filename: str, chip: str) -> CompiledShader:
    """The program with as many variables in scratch memory as it takes.

    Where some more of them help little, as where hundreds are alike, twice as many are tried next, and numbers between
    the last two when it fits: so that attempts grow with the logarithm of how many it takes.
    """
    variables = _Variables(program, facts, target, filename)
    lengths, share = variables.lengths, FULL_SHARE
    made = _Attempt(variables, variables.region, variables.inputs, frozenset(), share)
    if made.registers.count > target.gprs:
        variables = _Variables(program, facts, target, filename)  # one that stays as it is; few programs need it
    spilled: frozenset[int] = frozenset()
    before, factor, too_few = 0, 1, 0
    while (excess := made.registers.count - target.gprs) > 0 and len(spilled) < _MAX_SPILLED:
        if 2 * excess > before > 0:
            factor *= 2
        before, too_few = excess, len(spilled)
        more = spill.choose(lengths, factor * (4 * excess + _SPILL_MARGIN), spilled)
        if more == spilled:
            break
        spilled = more
        share /= 2  # what is read back must not all be there at once
        gc.collect()  # attempts before this one, also where the collector waits
        made = _Attempt(variables, *variables.copied(), spilled, share)
    while factor > 1 and excess <= 0 and len(spilled) - too_few > len(spilled) // _SPILL_PRECISION:
        fewer = spill.choose(lengths, (too_few + len(spilled)) // 2, frozenset())
        attempt = _Attempt(variables, *variables.copied(), fewer, share)
        if attempt.registers.count <= target.gprs:
            made, spilled = attempt, fewer
        else:
            too_few = len(fewer)
    if excess <= 0:
        return made.compiled()
    raise LimitError(
        f"the program needs {made.registers.count} registers, {chip} has {target.gprs} for a work-item",
        Span(filename),
        hint="compute less at once: split the kernel, or keep fewer values in registers",
    )


class _Variables:
    """The program with variables in place of phis, before any of them is spilled; ``lengths``: see `spill.measured`."""

    def __init__(self, program: Program, facts: Facts, target: Target, filename: str) -> None:
        self.program, self.facts, self.target, self.filename = program, facts, target, filename
        self.lowering = Lowering(program, facts, target, filename)
        region = Statements(self.lowering).run()
        optimise.clean(region)
        verify.ssa(region)
        for _ in range(_REWRITES):
            region = optimise.rewrite(region, target)
            verify.ssa(region)
        offsets.move_offsets(region, facts)
        optimise.clean(region)
        verify.ssa(region)
        merge_reads.join_fetches(region)
        merge_reads.pair_reads(region)
        optimise.select_predicates(region, target)
        verify.ssa(region)
        coalesce.leave_ssa(region)
        self.region = region
        self.inputs = list(self.lowering.inputs.values())
        self.lengths = spill.measured(region, Liveness(region))

    def copied(self) -> tuple[Region, list[Value]]:
        """A copy of the program, and its inputs."""
        copier = Copier()
        return copier.region(self.region), [copier.value(value) for value in self.inputs]


class _Attempt:
    """The rest of the way through all passes, with some variables in scratch memory."""

    def __init__(
        self, made: _Variables, region: Region, inputs: list[Value], spilled: frozenset[int], share: float
    ) -> None:
        self.program, self.facts, self.target = made.program, made.facts, made.target
        program, facts, target, filename, lowering = made.program, made.facts, made.target, made.filename, made.lowering
        in_scratch = lowering.arrays_in_scratch()
        elements = sum(facts.arrays[n] for n in lowering.arrays)
        self.scratch = elements if in_scratch else 0
        self.scratch += spill.spill(region, spilled, target, self.scratch)
        if self.scratch > SCRATCH_BUFFER_ELEMENTS:
            largest = max(facts.arrays, key=lambda number: facts.arrays[number], default=-1)
            at = _declared(program, "dcl_indexed_temp_array", largest) if in_scratch else None
            raise LimitError(
                f"the program needs {self.scratch} elements of scratch memory for a work-item, {target.chip.name} "
                f"addresses {SCRATCH_BUFFER_ELEMENTS}",
                Span(filename, at.line, at.column) if at is not None else Span(filename),
                hint="shorter indexed temporaries or private arrays, or memory of the caller's",
            )
        coalesce.bind_vectors(region)
        verify.vectors_of(region)
        self.scheduled = schedule(region, target, share)
        verify.groups(self.scheduled, target)
        self.registers = allocate(self.scheduled, target, 0 if in_scratch else elements, inputs)
        verify.registers(self.scheduled, self.registers)

    def compiled(self) -> CompiledShader:
        """The machine code and what it needs."""
        program, facts, target = self.program, self.facts, self.target
        emitted = emit(self.scheduled, target, self.registers, max(self.scratch, 1), program.kind)
        return CompiledShader(
            shader=emitted.shader,
            kind=program.kind,
            gprs=self.registers.count,
            stack_entries=emitted.stack_entries,
            clause_temporaries=self.registers.clause_temporaries,
            lds_bytes=_lds_bytes(facts),
            scratch_bytes=16 * self.scratch,
            constant_buffers=dict(sorted(facts.constants.items())),
            resources=tuple(sorted((*facts.resources, *facts.srvs))),
            outputs=tuple(sorted(facts.outputs)) if program.kind == "ps" else (),
            uavs=tuple(sorted(facts.uavs)),
            uses_global=facts.uses_global or (bool(facts.uavs) and not target.traits.has_random_access_targets),
            group_size=facts.group,
            lines=emitted.lines,
        )


def _lds_bytes(facts: Facts) -> int:
    threads = facts.group[0] * facts.group[1] * facts.group[2] if facts.group is not None else 1
    return sum(-(-size // 4) * 4 for size in facts.lds_bytes.values()) + 4 * facts.lds_dwords_per_thread * threads


def _declared(program: Program, mnemonic: str, number: int = 0) -> Instruction | None:
    """The declaration of that name, of a number where it has one."""
    for made in program.declarations:
        if made.mnemonic == mnemonic:
            named = made.operands[0].register.number if made.operands else made.number("id")
            if (named or 0) == number:
                return made
    return None


def _first(program: Program, test: Callable[[Instruction], bool]) -> Instruction | None:
    """The first instruction of which something is true, functions' last."""
    bodies = (program.body, *(function.body for function in program.functions))
    return next((made for body in bodies for made in body if test(made)), None)


def _view_of(made: Instruction) -> int | None:
    """The view that an instruction reaches; -1 for the global buffer."""
    if made.mnemonic.startswith("uav_"):
        return made.number("id")
    return -1 if any(operand.register.kind == "g" for operand in made.operands) else None


def _check_limits(program: Program, facts: Facts, target: Target, filename: str) -> None:
    chip = target.chip
    features = chip.vliw
    assert features is not None
    name = chip.name

    def refuse(message: str, hint: str, at: Instruction | None = None) -> None:
        span = Span(filename, at.line, at.column) if at is not None else Span(filename)
        raise LimitError(message, span, hint=hint)

    if program.kind not in ("ps", "cs"):
        refuse(f"{program.kind} shaders cannot be compiled", "il_ps and il_cs can", Instruction("", line=1))
    if program.kind == "cs" and not features.compute_shader:
        refuse(
            f"{name} has no compute shaders",
            "write a pixel shader, il_ps_2_0; compute came with the HD 4000 series",
            Instruction("", line=1),
        )
    group = facts.group
    if group is not None and group[0] * group[1] * group[2] > chip.compute.work_group_size:
        refuse(
            f"{name} runs no work-group of {group[0] * group[1] * group[2]} work-items",
            f"its work-groups have up to {chip.compute.work_group_size}",
            _declared(program, "dcl_num_thread_per_group"),
        )
    views = len(facts.uavs) + facts.uses_global
    if not target.traits.has_random_access_targets and views > 1:
        first = _first(program, lambda made: _view_of(made) is not None)
        second = _first(program, lambda made: _view_of(made) not in (None, first and _view_of(first)))
        others = [f"uav{number}" for number in sorted(facts.uavs)] + ["g[]"] * facts.uses_global
        refuse(
            f"{views} buffers that are written anywhere ({', '.join(others)}): {name} has one global buffer",
            "put all in one buffer; textures (dcl_resource_id) and constant buffers are read beside it",
            second,
        )
    if target.traits.has_random_access_targets and max(facts.uavs, default=0) >= features.unordered_views:
        refuse(
            f"uav {max(facts.uavs)}: {name} has {features.unordered_views} views",
            "number them from 0",
            _first(program, lambda made: _view_of(made) == max(facts.uavs)),
        )
    resource = max((*facts.resources, *facts.srvs), default=0)
    if resource >= features.textures:
        at = _declared(program, "dcl_resource", resource) or _declared(program, "dcl_raw_srv", resource)
        at = at or _declared(program, "dcl_struct_srv", resource)
        refuse(f"resource {resource}: {name} has {features.textures}", "number them from 0", at)
    if max(facts.constants, default=0) >= features.constant_buffers:
        refuse(
            f"cb{max(facts.constants)}: {name} has {features.constant_buffers} constant buffers",
            "number them from 0",
            _declared(program, "dcl_cb", max(facts.constants)),
        )
    if max(facts.constants.values(), default=0) > features.constant_buffer_elements:
        longest = max(facts.constants, key=lambda number: facts.constants[number])
        refuse(
            f"a constant buffer of {facts.constants[longest]} elements",
            f"{name} reads {features.constant_buffer_elements}; use a resource",
            _declared(program, "dcl_cb", longest),
        )
    if program.kind == "ps" and max(facts.outputs, default=0) >= features.outputs:
        last = max(facts.outputs)
        written = _first(program, lambda made: any(o.register == Register("o", last) for o in made.operands))
        refuse(f"o{last}: {name} has {features.outputs} outputs", "o0 to o7", written)
    shared = _declared(program, "dcl_shared_temp")
    if facts.shared and not features.compute_shader:
        refuse(f"shared registers: {name} has none", "they came with the HD 4000 series", shared)
    if facts.shared > SHARED_REGISTERS - features.clause_temporaries:
        refuse(
            f"{facts.shared} shared registers",
            f"they and the clause temporaries are the first {SHARED_REGISTERS} of a SIMD engine's registers",
            shared,
        )
    if _lds_bytes(facts) > chip.local_memory.work_group_bytes:
        largest = max(facts.lds_bytes, key=lambda number: facts.lds_bytes[number], default=-1)
        at = _declared(program, "dcl_lds_size_per_thread") or _declared(program, "dcl_lds", largest)
        refuse(
            f"{_lds_bytes(facts)} bytes of LDS: {name} has {chip.local_memory.work_group_bytes} for a work-group",
            "use less, or a smaller work-group",
            at or _declared(program, "dcl_struct_lds", largest),
        )
    shared_by_all = sum(-(-size // 4) * 4 for size in facts.gds_bytes.values())
    if target.traits.has_shared_lds and shared_by_all > chip.local_memory.global_bytes:
        refuse(
            f"{shared_by_all} bytes of GDS: {name} has {chip.local_memory.global_bytes} for all work-groups",
            "use less, or a view",
            _declared(program, "dcl_gds") or _declared(program, "dcl_struct_gds"),
        )

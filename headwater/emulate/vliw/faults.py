"""Input: the error record of an emulated VLIW launch. Output: a `KernelFault` that names instruction and work-item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.emulate.vliw.clause import PC_CF_SHIFT, PC_OP_BITS
from headwater.emulate.vliw.layout import LAUNCH, RESOURCE, STACK_FAULTS
from headwater.emulate.wave import layout
from headwater.errors import KernelFault, SourceError, Span
from headwater.native.faults import Extent, place_in
from headwater.opencl import units

if TYPE_CHECKING:
    from headwater.emulate.vliw.launched import ObservedShaderLaunch

_SPACES = {
    "fetch": "resource",
    "rat": "the RAT",
    "output": "output",
    "constant": "constant buffer",
    "global": "the global buffer",
    "stream": "stream",
    "ring": "ring",
    "reduction": "the reduction buffer",
}
_STACK = {
    "TOO_DEEP": "pushes more masks than the control-flow stack holds",
    "NOTHING_PUSHED": "pops a mask that was not pushed",
    "TOO_MANY_LOOPS": "has more loops inside each other than there may be",
    "NO_LOOP": "leaves or ends a loop that has not begun",
    "TOO_MANY_CALLS": "has more calls inside each other than there may be",
}


def explain(launch: ObservedShaderLaunch, record: Sequence[int], extents: Sequence[Extent]) -> KernelFault:
    """The fault of a launch, from its record."""

    def field(name: str) -> int:
        return record[layout.FAULT.word(name)]

    kind, pc = field("kind"), field("pc")
    item, group = work_item(launch, record)
    name = launch.kernel.title
    who = f"work-item ({', '.join(map(str, item))}) of {name}"
    groups = f"work-group ({', '.join(map(str, group))})"
    whole = f"{name}, {groups}, wavefront {field('wave')},"
    hint = ""
    amount = f"{field('bytes')} byte{'s' * (field('bytes') != 1)}"
    access = "writes" if kind in (layout.FAULT_WRITE, layout.FAULT_LDS_WRITE) else "reads"
    if kind == layout.FAULT_UNSUPPORTED:
        message = f"{whole} reached an instruction that is not emulated"
        hint = _why(launch, pc)
    elif kind in (layout.FAULT_READ, layout.FAULT_WRITE):
        message = (
            f"{who} {access} {amount} {_where(launch, field('address'), field('bytes'), field('detail'), extents)}"
        )
    elif kind == layout.FAULT_READ_ONLY:
        message = f"{who} writes {amount} {place_in(field('address'), field('bytes'), extents)}, which is read-only"
    elif kind in (layout.FAULT_LDS_READ, layout.FAULT_LDS_WRITE):
        what, size = (
            ("the global data share", layout.GDS_BYTES) if field("detail") else ("local memory", launch.group_bytes)
        )
        message = f"{who} {access} {amount} at byte {field('address')} of {what}, of which there are {size}"
    elif kind == layout.FAULT_PRIVATE:
        size = layout.round_up(launch.machine.scratch_bytes, 16)
        access = "writes" if field("detail") else "reads"
        message = f"{who} {access} {amount} at byte {field('address')} of its scratch memory, which has {size}"
    elif kind == layout.FAULT_STACK:
        message = f"{whole} {_STACK[STACK_FAULTS[field('detail')]]}"
    else:
        message = f"{whole} failed with the unknown code {kind}"
    message = f"{message}\n    {instruction_text(launch, pc)}; {groups}"
    line = launch.line_of(pc >> PC_CF_SHIFT, (pc & (1 << PC_CF_SHIFT) - 1) >> PC_OP_BITS)
    if not line or not launch.kernel.program_filename:
        return KernelFault(message, hint=hint)
    file = launch.kernel.source_file
    text = units.line_of(launch.kernel.program_source, launch.kernel.program_filename, file, line)
    return KernelFault(str(SourceError(message, Span(file, line), hint=hint, source_line=text)))


def _where(launch: ObservedShaderLaunch, address: int, nbytes: int, detail: int, extents: Sequence[Extent]) -> str:
    if detail:
        number = (detail - 1 - LAUNCH.size_bytes) // RESOURCE.size_bytes
        space, index = launch.native.order[number]
        label = _SPACES.get(space, space) if space == "global" else f"{_SPACES.get(space, space)} {index}"
        if space == "fetch":
            label = _fetched(index)
        return f"at byte {_signed(address)} of {label}, which is outside of it"
    if address < 4096:
        return f"at address {address:#x}: it uses a null pointer"
    return place_in(address, nbytes, extents)


def _fetched(resource: int) -> str:
    """A fetch resource as the program calls what the run-time binds to it."""
    from headwater.isa.vliw.compiler.resources import CONSTANTS, GLOBAL_BYTES, GLOBAL_ELEMENTS, RETURNS, UAVS

    if resource in (GLOBAL_BYTES, GLOBAL_ELEMENTS):
        return "the global buffer"
    if UAVS <= resource < RETURNS:
        return f"uav{resource - UAVS}" if resource < CONSTANTS else f"cb{resource - CONSTANTS}"
    return f"resource {resource}"


def _signed(address: int) -> int:
    """A byte of a resource; indices have 32 bits, and a large one is a negative number's."""
    number = address - (1 << 64) if address >> 63 else address
    return number - (1 << 32) if 1 << 31 <= number < 1 << 32 else number


def work_item(launch: ObservedShaderLaunch, record: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The global number of the lane that the record names, and its group's."""
    at = layout.FAULT.word
    group = record[at("group")], record[at("group") + 1], record[at("group") + 2]
    item = launch.work_item(group, record[at("wave")] * layout.LANES + record[at("lane")])
    return launch.called(item, group)


def instruction_text(launch: ObservedShaderLaunch, pc: int) -> str:
    """The place in the shader that a record names, and what is there."""
    index, within = pc >> PC_CF_SHIFT, pc & (1 << PC_CF_SHIFT) - 1
    shader = launch.machine.shader
    if index >= len(shader.cf):
        return f"{index:02}: the end of the program, which has none"
    cf = shader.cf[index]
    number, slot = within >> PC_OP_BITS, within & (1 << PC_OP_BITS) - 1
    if cf.fetches:
        return f"{index:02} {cf.row.mnemonic}, fetch {number}: {cf.fetches[number].row.mnemonic}"
    if cf.groups:
        names = " ".join(op.row.mnemonic for op in cf.groups[number].ops if op.slot == slot or slot == 0)
        return f"{index:02} {cf.row.mnemonic}, group {number}: {names}"
    return f"{index:02} {cf.row.mnemonic}"


def _why(launch: ObservedShaderLaunch, pc: int) -> str:
    """Why an instruction is not emulated, where its row says so."""
    from headwater.isa.vliw.semantics import semantics

    index, within = pc >> PC_CF_SHIFT, pc & (1 << PC_CF_SHIFT) - 1
    cf = launch.machine.shader.cf[index] if index < len(launch.machine.shader.cf) else None
    if cf is None:
        return "the program runs beyond its end"
    if cf.groups:
        reasons = [semantics(op.row).unsupported for op in cf.groups[within >> PC_OP_BITS].ops]
        return next(
            (reason for reason in reasons if reason),
            "an operand of this kind is not emulated, or nothing is bound to its constant buffer",
        )
    return "it belongs to graphics, or names a resource that nothing is bound to"

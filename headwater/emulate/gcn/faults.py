"""Input: the error record of an emulated launch. Output: a `KernelFault` that names source line, instruction and
work-item."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.emulate.wave import layout
from headwater.errors import HeadwaterError, KernelFault, SourceError, Span
from headwater.native.faults import Extent, place_in
from headwater.opencl import units

if TYPE_CHECKING:
    from headwater.emulate.gcn.launched import ObservedGcnLaunch


def explain(launch: ObservedGcnLaunch, record: Sequence[int], extents: Sequence[Extent]) -> KernelFault:
    """The fault of a launch, from its record."""

    def field(name: str) -> int:
        return record[layout.FAULT.word(name)]

    kind, pc = field("kind"), field("pc")
    item, group = work_item(launch, record)
    kernel = launch.machine_kernel.name
    shown = instruction_text(launch, pc)
    who = f"work-item ({', '.join(map(str, item))}) of {kernel}"
    whole = f"{kernel}, work-group ({', '.join(map(str, group))}), wavefront {field('wave')},"
    if kind == layout.FAULT_UNSUPPORTED:
        message, hint = f"{whole} reached an instruction that is not emulated", _why(launch, pc)
    else:
        message, hint = _what(launch, kind, field("address"), field("bytes"), who, whole, extents, field("detail"))
    message = f"{message}\n    {shown}; work-group ({', '.join(map(str, group))})"
    place = launch.code.line_of(pc)
    if place is None or not place[1]:
        return KernelFault(message, hint=hint)
    file, line, column = place
    known = os.path.basename(launch.kernel.program_filename)
    text = units.line_of(launch.kernel.program_source, known, os.path.basename(file), line)
    return KernelFault(str(SourceError(message, Span(file, line, column), hint=hint, source_line=text)))


def work_item(launch: ObservedGcnLaunch, record: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The global id of the lane that the record names, and its group's number."""
    global_size, local_size, offset = launch.sizes
    at = layout.FAULT.word
    group = tuple(record[at("group") + axis] for axis in range(3))
    size = [min(local_size[n], global_size[n] - group[n] * local_size[n]) for n in range(3)]
    flat = record[at("wave")] * layout.LANES + record[at("lane")]
    local = flat % size[0], flat // size[0] % size[1], flat // size[0] // size[1]
    item = tuple(offset[n] + group[n] * local_size[n] + local[n] for n in range(3))
    return item[: launch.work_dim], group[: launch.work_dim]


def instruction_text(launch: ObservedGcnLaunch, pc: int) -> str:
    """The instruction at an address, as it is disassembled."""
    from headwater.isa.gcn.decode import decode
    from headwater.isa.gcn.printer import text

    code = launch.code
    try:
        return f"{pc:#x}: {text(decode(code.image(), pc, code.isa), code.isa)}"
    except HeadwaterError as error:
        return f"{pc:#x}: {error.message}"


def _what(
    launch: ObservedGcnLaunch,
    kind: int,
    address: int,
    nbytes: int,
    who: str,
    wavefront: str,
    extents: Sequence[Extent],
    detail: int,
) -> tuple[str, str]:
    """Message and hint for a kind of fault."""
    amount = f"{nbytes} byte{'s' * (nbytes != 1)}"
    if kind in (layout.FAULT_READ, layout.FAULT_WRITE):
        access = "reads" if kind == layout.FAULT_READ else "writes"
        if address < 4096:
            return f"{who} uses a null pointer: it {access} {amount} at address {address:#x}", ""
        own = launch.arguments_of(extents)
        extents = own or extents
        return f"{who} {access} {amount} {place_in(address, nbytes, extents)}", ""
    if kind == layout.FAULT_READ_ONLY:
        return f"{who} writes {amount} {place_in(address, nbytes, extents)}, which is read-only", ""
    if kind in (layout.FAULT_LDS_READ, layout.FAULT_LDS_WRITE):
        access = "reads" if kind == layout.FAULT_LDS_READ else "writes"
        what, size = ("the global data share", layout.GDS_BYTES) if detail else ("local memory", launch.group_bytes)
        return f"{who} {access} {amount} at byte {address} of {what}, of which the group has {size}", ""
    if kind == layout.FAULT_PRIVATE:
        size = launch.abi.scratch_lane_bytes
        hint = "does it call itself? private memory is set aside for a call depth that the compiler knows"
        access = "writes" if detail else "reads"
        return f"{who} {access} {amount} at byte {address} of its private memory, which has {size}", hint
    if kind == layout.FAULT_TRAP:
        return f"{wavefront} executed a trap: an assertion failed, or code that the compiler took to be unreachable", ""
    if kind == layout.FAULT_RESOURCE:
        message, hint = _refused(detail & 0xFF, detail >> 8)
        return f"{wavefront} uses a descriptor of {message}", hint
    if kind == layout.FAULT_GWS:
        total = launch.total
        resident = f"{detail} work-group{'s' * (detail != 1)}" + (f" of {total}" if total > detail else "")
        hint = "is the resource's counter set before (ds_gws_init), to the wavefronts that come less one?"
        if total > detail:
            hint = f"{launch.chip.name} holds {detail} at once: launch no more, or a kernel for each step"
        return f"{wavefront} waits for ever at resource {address}: the {resident} that run all wait, too", hint
    if kind == layout.FAULT_RECORDS:
        return _beyond(who, address, amount, detail)
    if kind == layout.FAULT_JUMP:
        return f"{wavefront} jumps to {address:#x}, where no code is known to begin", ""
    return f"{wavefront} failed with the unknown code {kind}", ""


def _beyond(who: str, address: int, amount: str, detail: int) -> tuple[str, str]:
    """What is outside of a buffer by its descriptor, as support.c has it."""
    writes, by_element, scalar = (detail >> n & 1 for n in (32, 33, 34))
    access, result = ("writes", "drops that") if writes else ("reads", "gives 0")
    if scalar:
        where = f"beyond byte {address} of a buffer"
    elif by_element:
        where = f"of an element beyond the {detail & 0xFFFFFFFF} of a buffer"
    else:
        where = f"at byte {address} of a buffer of {detail & 0xFFFFFFFF}"
    return f"{who} {access} {amount} {where}, as its descriptor says (NUM_RECORDS): the chip {result}", ""


def _refused(why: int, value: int) -> tuple[str, str]:
    """Why an image or formatted buffer instruction does not take a descriptor, and what to do."""
    from headwater.emulate.gcn.texels import REASONS
    from headwater.isa.gcn import resources

    def format_name(number: int) -> str:
        known = resources.DATA_FORMATS.get(number)
        return known.name if known else resources.OTHER_FORMATS.get(number, f"number {number}")

    kind = resources.NUM_FORMATS.get(value >> 8, f"number {value >> 8}")
    return {
        "DATA_FORMAT": (f"the data format {format_name(value)}, which is not emulated", "decode it on the host first"),
        "NUM_FORMAT": (
            f"the number format {kind} with the data format {format_name(value & 255)}, which do not go together here",
            "see Images in docs/emulator.md",
        ),
        "TYPE": (f"type {value}, which is not an image's", "is it a buffer's descriptor, or uninitialised memory?"),
        "MSAA": ("a multisampled image, which is not emulated", "resolve it on the host first"),
        "TILING": (
            f"an image with tiling index {value}, which is not emulated",
            "only linear images are: make it with the linear tiling index, 8",
        ),
        "SWIZZLE": (
            f"an image with swizzle mode {value}, which is not emulated",
            "only linear images are: make it with SW_LINEAR, 0",
        ),
        "COMPRESSION": ("a compressed image (DCC), which is not emulated", "leave the bit COMPRESSION_EN out"),
        "BORDER": (
            "a sampler that takes its border's colour from a table, which only a driver can set up (TA_BC_BASE_ADDR)",
            "use transparent black, opaque black or opaque white",
        ),
        "LOD_WARNING": (
            "an image that asks for warnings of the level of detail (MIN_LOD_WARN, lwe), which are not emulated",
            "set it to 0; then lwe reports no warning",
        ),
        "ATOMIC": (
            f"an image of the format {format_name(value)}, whose elements are not as wide as the atomic's data",
            "atomics are for elements of 32 bits, or with twice the bits in dmask of 64",
        ),
    }[REASONS[why]]


_OTHERS = {
    "MUBUF": "loads into the LDS that convert a format or report residency (tfe) are not emulated",
    "SOPK": "MODE can only be set to a constant",
}
"""Why an instruction of an encoding is not emulated, where its row does not say."""


def _why(launch: ObservedGcnLaunch, pc: int) -> str:
    from headwater.emulate.gcn.program import meaning
    from headwater.isa.gcn.decode import decode

    try:
        instruction = decode(launch.code.image(), pc, launch.code.isa)
        return meaning(instruction).unsupported or _OTHERS.get(instruction.row.encoding, "")
    except HeadwaterError as error:
        return error.message

"""Input: a kernel file and a VLIW chip. Output: its machine code, and what that is made of.

IL goes to the compiler of `headwater.isa.vliw.compiler`; what the vendor's or LLVM's compilers made is read as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.analyze.code import OPERATION_SEPARATOR, Block, Code, Loop, Step
from headwater.analyze.flow import find_loops
from headwater.analyze.vliw_trips import Start, start_of, trips_of, way_of
from headwater.isa.vliw import printer, table
from headwater.isa.vliw.cost import group_cost
from headwater.isa.vliw.encode import clause_words
from headwater.isa.vliw.semantics import semantics

if TYPE_CHECKING:
    from headwater.analyze.launch import Given
    from headwater.analyze.sources import Built, Source
    from headwater.chips import Chip
    from headwater.isa.vliw.model import AluGroup, Cf, Fetch, Shader

_MASKED = 7
_SELECTS = 4


@dataclass(frozen=True, slots=True)
class Needs:
    """What a loader must give a shader."""

    name: str
    kind: str
    gprs: int
    stack_entries: int
    clause_temporaries: int
    lds_bytes: int
    scratch_bytes: int
    group: tuple[int, int, int] | None = None


def vliw_code(
    shader: Shader,
    needs: Needs,
    target: str,
    lines: Sequence[Sequence[int]] = (),
    places: Mapping[int, tuple[str, int]] | None = None,
    name: str = "",
    start: Start | None = None,
) -> Code:
    """What a shader is made of.

    ``lines``: for each control-flow instruction the lines, in the text called ``name``, of its groups, fetches or
    write; ``places`` maps these to lines of what that text was made from. ``start``: what is known when
    it starts, to tell trip counts by.
    """
    from headwater.timing.vliw_rules import shared_registers

    heads = printer.cf_texts(shader)
    steps: list[Step] = []
    starts: list[int] = []
    for index, cf in enumerate(shader.cf):
        starts.append(len(steps))
        own = lines[index] if index < len(lines) else ()
        made = _steps(cf, index, heads[index], shader.generation)
        for number, step in enumerate(made):
            at = own[min(number, len(own) - 1)] if own else 0
            line = (name, at) if at else None
            via = None
            if line is not None and places and at in places:
                line, via = places[at], line
            steps.append(_placed(step, line, via, len(steps)))
    starts.append(len(steps))
    after = _successors(shader)
    order = range(len(shader.cf))
    blocks = tuple(Block(starts[n], starts[n + 1], tuple(after[n])) for n in order)
    cycles = find_loops([block.successors for block in blocks])
    by_address = sorted(range(len(cycles)), key=lambda n: cycles[n].header)
    names = {number: f"L{place + 1}" for place, number in enumerate(by_address)}
    loops = []
    shares, chances = way_of(shader, start or Start())
    for number, cycle in enumerate(cycles):
        tail = _tested_last(shader, cycle.blocks)
        trip = trips_of(shader, min(cycle.blocks), max(cycle.blocks), start or Start(), tail=tail)
        count = trip.count
        for block in cycle.blocks:
            shares[block] *= trip.lanes
        found = sorted(
            line[1]
            for b in cycle.blocks
            for step in steps[blocks[b].first : blocks[b].last]
            if (line := step.line) is not None
        )
        loops.append(
            Loop(
                names[number],
                cycle.header,
                tuple(sorted(cycle.blocks)),
                cycle.parent,
                1 if count is None else count,
                "unknown" if count is None else "launch" if trip.launch else "proved",
                trip.why,
                (found[0], found[-1]) if found else None,
                tail,
            )
        )
    words = sum(2 + (2 if cf.fields["extended"] else 0) for cf in shader.cf) * 4
    words += sum(8 * clause_words(cf) for cf in shader.cf)
    return Code(
        kernel=needs.name,
        family="vliw",
        target=target,
        vgprs=max(1, needs.gprs),
        sgprs=0,
        agprs=0,
        lds_bytes=needs.lds_bytes,
        scratch_bytes=needs.scratch_bytes,
        code_bytes=words,
        steps=tuple(steps),
        blocks=tuple(replace(block, lanes=share) for block, share in zip(blocks, shares, strict=True)),
        loops=tuple(loops),
        reqd_group=needs.group,
        stack_entries=needs.stack_entries,
        clause_temporaries=needs.clause_temporaries,
        shared_vgprs=shared_registers(shader),
        pixel=needs.kind == "ps",
        chances=chances,
    )


def _tested_last(shader: Shader, body: Collection[int]) -> bool:
    """Whether a loop's work stands before the place where it ends: then its body runs once more than the jump back."""
    places = [n for n in body if "break" in shader.cf[n].row.flags]
    if not places:
        return False
    place = max(places)
    working = [n for n in sorted(body) if _works(shader.cf[n])]
    before = [n for n in working if n < place]
    if shader.cf[place].row.kind == "CF":
        before = before[:-1]  # the clause that makes the comparison
    return bool(before) or not any(n > place for n in working)


def _works(cf: Cf) -> bool:
    return bool(cf.groups or cf.fetches) or cf.row.kind in ("EXPORT", "MEM", "RAT")


def _placed(step: Step, line: tuple[str, int] | None, via: tuple[str, int] | None, number: int) -> Step:
    return replace(step, line=line, via=via, address=number)


# ---- steps -----------------------------------------------------------------------------------------------------------


def _steps(cf: Cf, clause: int, head: str, generation: str) -> list[Step]:
    if cf.groups:
        made = [_group(group, clause, generation) for group in cf.groups]
    elif cf.fetches:
        made = [_fetch(fetch, clause, generation) for fetch in cf.fetches]
        made[-1] = _waiting(made[-1])
    elif cf.row.kind in ("EXPORT", "MEM", "RAT"):
        return [_write(cf, clause, head, generation)]
    else:
        return [Step(0, f"{clause:02d} {head}", "flow", clause=clause)]
    first = made[0]
    return [_headed(first, f"{clause:02d} {head}"), *made[1:]]


def _headed(step: Step, head: str) -> Step:
    return replace(step, label=head)


def _waiting(step: Step) -> Step:
    return replace(step, waits="local" if step.space in ("local", "global share") else "memory")


def _group(group: AluGroup, clause: int, generation: str) -> Step:
    read = write = accesses = 0
    text = printer.group_text(group, generation)
    for op in group.ops:
        row = op.row
        if row.kind == "LDS":
            what = semantics(row)
            kinds = [access.kind for access in what.accesses]  # two of instructions with two addresses
            accesses += max(1, len(kinds))
            read += 4 * max(kinds.count("load"), "returns" in row.flags)
            write += 4 * max(kinds.count("store"), what.is_atomic)
    return Step(
        0,
        OPERATION_SEPARATOR.join(line.strip() for line in text),
        "ALU",
        group_cost(group, generation),
        slots=len(group.ops),
        space="local" if accesses else "",
        read_bytes=read,
        write_bytes=write,
        accesses=accesses,
        clause=clause,
    )


def _fetch(fetch: Fetch, clause: int, generation: str) -> Step:
    fields = fetch.fields
    kind = fetch.row.kind
    space = "memory"
    if kind in ("MEM_DSR", "MEM_DSW"):
        space = "global share" if "global" in fetch.row.flags else "local"
    elif kind == "GDS":
        space = "global share"
    elif "scratch" in fetch.row.flags:
        space = "scratch"
    components = (
        sum(fields[f"dst_sel_{c}"] < _SELECTS for c in "xyzw") if kind in ("TEX", "VTX", "SEM", "MEM_RD") else 1
    )
    size = 4 * max(1, components)
    stores = kind == "MEM_DSW"
    return Step(
        0,
        printer.fetch_text(fetch, generation),
        "fetch",
        slots=1,
        space=space,
        read_bytes=0 if stores else size,
        write_bytes=size if stores else 0,
        accesses=1,
        atomic=kind == "GDS",
        clause=clause,
        base=f"{fields['src_gpr']} {fields['src_sel_x']} {fields['buffer_id']}" if kind == "VTX" else "",
        offset=fields["offset"] if kind == "VTX" else 0,
    )


def _write(cf: Cf, clause: int, head: str, generation: str) -> Step:
    fields = cf.fields
    burst = fields["burst_count"] + 1
    if cf.row.kind == "EXPORT":
        components = sum(fields[f"sel_{c}"] < _MASKED for c in "xyzw")
        space = "memory" if fields["type"] == 0 else ""
    else:
        components = fields["comp_mask"].bit_count() or 1
        space = "scratch" if "scratch" in cf.row.flags else "memory"
    size = 4 * components * burst
    reads = "scratch" in cf.row.flags and fields["type"] in (2, 3)
    return Step(
        0,
        f"{clause:02d} {head}",
        "write",
        slots=burst,
        space=space,
        read_bytes=size if reads else 0,
        write_bytes=0 if reads else size,
        accesses=0 if cf.row.kind == "EXPORT" else 1,  # a pixel goes where it lies
        atomic=cf.row.kind == "RAT" and _is_atomic(fields["rat_inst"], generation),
        clause=clause,
    )


def _is_atomic(opcode: int, generation: str) -> bool:
    row = table.find(generation, "RAT_INST", opcode)
    return row is not None and semantics(row).is_atomic


# ---- control flow ----------------------------------------------------------------------------------------------------


def _successors(shader: Shader) -> list[list[int]]:
    """Where each control-flow instruction goes on. A loop is left where lanes break, not at its end, which goes back:
    LOOP_END with no lane active has nothing left to count."""
    count = len(shader.cf)
    after: list[list[int]] = []
    ends: list[int] = []
    stack: list[int] = []
    for index, cf in enumerate(shader.cf):
        if "loop" in cf.row.flags:
            stack.append(index)
        ends.append(_loop_end(shader, stack[-1]) if stack else -1)
        if "endloop" in cf.row.flags and stack:
            stack.pop()
    for index, cf in enumerate(shader.cf):
        flags = cf.row.flags
        following = [index + 1] if index + 1 < count else []
        target = cf.fields["addr"] if "branch" in flags else -1
        if cf.fields["end_of_program"] or "end" in flags:
            after.append([])
        elif "endloop" in flags:
            after.append([target] if 0 <= target < count else following)
        elif "loop" in flags:
            after.append(following)
        elif "break" in flags:
            after.append(_both(following, ends[index] + 1, count))
        elif "continue" in flags:
            after.append(_both(following, ends[index], count))
        elif "branch" in flags and 0 <= target < count and "call" not in flags:
            after.append(_both(following, target, count))
        else:
            after.append(following)
    return after


def _both(following: list[int], target: int, count: int) -> list[int]:
    return list(dict.fromkeys([*following, *([target] if 0 <= target < count else [])]))


def _loop_end(shader: Shader, start: int) -> int:
    depth = 0
    for index in range(start, len(shader.cf)):
        flags = shader.cf[index].row.flags
        depth += ("loop" in flags) - ("endloop" in flags)
        if depth == 0:
            return index
    return len(shader.cf) - 1


# ---- sources ---------------------------------------------------------------------------------------------------------


def build_vliw(source: Source, chip: Chip, given: Given) -> Built:
    """The source's kernels as machine code of a VLIW chip. Raises what the front ends and the compiler raise."""
    return _BUILDERS[source.language](source, chip, given)


def _from_il(source: Source, chip: Chip, given: Given) -> Built:
    from headwater.analyze.sources import Built
    from headwater.il.parser import parse
    from headwater.isa.vliw.compiler import compile_program

    made = compile_program(parse(source.text, source.name), chip, source.name)
    needs = Needs(
        "main",
        made.kind,
        made.gprs,
        made.stack_entries,
        made.clause_temporaries,
        made.lds_bytes,
        made.scratch_bytes,
        made.group_size,
    )
    code = vliw_code(made.shader, needs, chip.target, made.lines, None, source.name)
    return Built((code,), {source.name: source.text}, ("ATI IL",))


def _from_opencl(source: Source, chip: Chip, given: Given) -> Built:
    """OpenCL C, or what Brook+ became: by way of LLVM IR and IL."""
    from headwater.analyze.sources import Built, translated
    from headwater.il.from_llvm import kernels
    from headwater.isa.vliw.compiler import compile_program

    text, texts, via, line_map, entries = translated(source, chip.vliw.stream_texels)
    name = next(reversed(texts))
    options = source.options if source.language in ("opencl", "hip") else ""
    made = kernels(text, chip, name, options)
    codes = []
    refused = {name: kernel.refused for name, kernel in made.kernels.items() if kernel.refused is not None}
    if len(refused) == len(made.kernels):
        for kernel in made.kernels.values():
            kernel.require(source.name, source.text)
    for kernel in made.kernels.values():
        if kernel.refused is not None:
            continue
        il_name = f"{kernel.info.name}.il"
        compiled = compile_program(kernel.program, chip, il_name)
        places: dict[int, tuple[str, int]] = {}
        for number, line in enumerate(kernel.lines, 1):
            if line and line_map:
                line = line_map[line - 1] if line <= len(line_map) else 0
            if line:
                places[number] = (source.name, line)
        needs = Needs(
            kernel.info.name,
            compiled.kind,
            compiled.gprs,
            compiled.stack_entries,
            compiled.clause_temporaries,
            compiled.lds_bytes,
            compiled.scratch_bytes,
            kernel.info.reqd_group_size,
        )
        known = {
            (1, (slot + 4 * part) // 16, (slot + 4 * part) % 16 // 4): given.arguments[arg.name] >> 32 * part
            & 0xFFFFFFFF
            for slot, arg in zip(kernel.slots, kernel.info.args, strict=True)
            if arg.name in given.arguments and arg.kind == "value"
            for part in range(max(1, arg.size_bytes // 4))
        }
        pixel = compiled.kind == "ps"
        launch = given.launch(chip, None if pixel else kernel.info.reqd_group_size)
        start = start_of(launch, known, chip.compute.wavefront_size, pixel=pixel)
        code = vliw_code(compiled.shader, needs, chip.target, compiled.lines, places, il_name, start)
        texts[il_name] = kernel.text
        kinds = tuple((arg.name, arg.type_name) for arg in kernel.info.args)
        local = any(arg.kind == "local" for arg in kernel.info.args)
        codes.append(replace(code, arguments=kinds, dynamic_lds=local))
    return Built(tuple(codes), texts, (*via, "ATI IL"), made.warnings, made.includes, entries, refused)


def _from_machine(source: Source, chip: Chip, given: Given) -> Built:
    from headwater.analyze.sources import Built
    from headwater.errors import UsageError
    from headwater.isa.vliw.image_files import read_all

    codes = []
    images = read_all(source.data, source.name)
    for image in images:
        if image.target != chip.target:
            continue
        needs = Needs(
            image.name,
            image.kind,
            image.gprs,
            image.stack_entries,
            image.clause_temporaries,
            image.lds_bytes,
            image.scratch_bytes,
            image.group_size,
        )
        codes.append(vliw_code(image.shader, needs, chip.target))
    if not codes:
        targets = ", ".join(dict.fromkeys(image.target for image in images))
        raise UsageError(f"{source.name} holds code for {targets}, and {chip.name} runs {chip.target}")
    return Built(tuple(codes), {source.name: ""}, ("machine code",))


_BUILDERS = {
    "il": _from_il,
    "opencl": _from_opencl,
    "hip": _from_opencl,
    "brook": _from_opencl,
    "machine": _from_machine,
}

"""Every ALU operation of every generation, translated and interpreted, on the same random operands."""

import numpy as np
import pytest
from vliw_runs import FIRST, INPUTS, RESULTS, alu, around, group, random_inputs, referred, translated

from headwater.chips.vliw_isas import GENERATIONS
from headwater.isa.vliw import table
from headwater.isa.vliw.model import AluOp, Source, T
from headwater.isa.vliw.semantics import semantics

APPROXIMATE = ("EXP", "LOG", "RECIP", "RSQ", "SQRT", "SIN", "COS", "FRACT_64")
"""Operations whose last bits depend on whether intermediate denormals are kept."""


def rows(generation):
    """Rows that no earlier generation has, and that are computed within a lane."""
    found = []
    earlier = GENERATIONS[: GENERATIONS.index(generation)]
    for row in table.rows(generation):
        if row.kind not in ("OP2", "OP3") or any(g in row.opcodes and g in earlier for g in GENERATIONS):
            continue
        what = semantics(row)
        if what.unsupported or not any(target == "D" for target, _ in what.assignments) or "AR" in what.types:
            continue
        if row.flags & {"mova", "kill"} or row.name.startswith("SET_CF_IDX"):
            continue
        found.append(row)
    return found


def operation(row, slot, dst, chan, rng):
    """An operation with random sources and modifiers."""
    floats = [o.type in ("f32", "f64") for o in row.operands if o.name not in ("D", "PREV")]
    sources = []
    for n in range(row.nsrc):
        is_float = floats[min(n, len(floats) - 1)]
        modified = is_float and rng.random() < 0.3
        negative, absolute = modified and rng.random() < 0.6, modified and row.kind == "OP2" and rng.random() < 0.5
        sources.append(Source(2 + int(rng.integers(INPUTS)), int(rng.integers(4)), neg=negative, abs=absolute))
    result = next(o.type for o in row.operands if o.name == "D")
    finished = result in ("f32", "b32") and rng.random() < 0.3
    omod = int(rng.integers(4)) if finished and row.kind == "OP2" else 0
    return AluOp(row, slot, tuple(sources), dst, chan, clamp=finished and rng.random() < 0.5, omod=omod)


def groups_of(row, generation, dst, rng):
    """A group with the operation in all slots that it needs."""
    place = row.slots[generation]
    if row.flags & {"reduction", "quad"} or place == "vec4":
        return group(*(operation(row, n, dst, n, rng) for n in range(4)))
    if "pair" in row.flags:
        return group(*(operation(row, n, dst, n, rng) for n in range(4)))
    if place == "trans":
        return group(operation(row, T, dst, int(rng.integers(4)), rng))
    if row.flags & {"prev_next", "prev_interleave"}:
        return group(*(operation(row, n, dst, n, rng) for n in range(4)))
    return group(*(operation(row, n, dst, n, rng) for n in range(2)))


CASES = [(g, at) for g in GENERATIONS for at in range(0, len(rows(g)), RESULTS)]


@pytest.mark.parametrize(("generation", "at"), CASES)
def test_an_operation_computes_what_the_interpreter_computes(generation, at):
    rng = np.random.default_rng(at)
    some = rows(generation)[at : at + RESULTS]
    code = [groups_of(row, generation, FIRST + n, rng) for n, row in enumerate(some)]
    clauses = [alu(generation, *code)]
    shader = around(generation, clauses)
    for seed in range(2):
        inputs = random_inputs(seed)
        native, slow = translated(shader, inputs), referred(shader, inputs)
        for n, row in enumerate(some):
            compare(row, native[:, n], slow[:, n], code[n], inputs)


def compare(row, native, slow, code, inputs):
    kind = next(o.type for o in row.operands if o.name == "D")
    same = native == slow
    if kind == "f64":
        a, b = (np.ascontiguousarray(x).view(np.float64) for x in (native, slow))
        near = (np.isnan(a) & np.isnan(b)) | np.isclose(a, b, rtol=1e-14, atol=0)
        same |= np.repeat(near, 2, axis=1)
    elif kind in ("f32", "b32"):
        a, b = (np.ascontiguousarray(x).view(np.float32) for x in (native, slow))
        same |= np.isnan(a) & np.isnan(b)
        if any(part in row.name for part in APPROXIMATE):
            same |= np.isclose(a, b, rtol=3e-7, atol=1e-37)
    bad = np.argwhere(~same)
    assert not len(bad), (
        f"{row.name}: {len(bad)} differ, lane {bad[0][0]} channel {bad[0][1]}: {native[tuple(bad[0])]:#010x} for "
        f"{slow[tuple(bad[0])]:#010x}; {code}; {[[hex(x) for x in r] for r in inputs[bad[0][0]]]}"
    )

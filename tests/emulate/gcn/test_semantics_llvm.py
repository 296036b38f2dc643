"""The semantics column against LLVM, which computes AMD's built-in functions of constants by itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from headwater.emulate.wave.evaluate_numpy import evaluate
from headwater.isa.gcn.semantics import semantics
from headwater.isa.gcn.table import rows
from headwater.isa.semantics.model import Mode
from headwater.opencl.gcn import compile_code_object
from verification.isa_semantics import random_operand

EACH = 25

# The row, the call of a built-in function, its operands' types, and the type of its result.
FUNCTIONS = [
    ("v_cubeid_f32", "__builtin_amdgcn_cubeid", "f32 f32 f32", "f32"),
    ("v_cubesc_f32", "__builtin_amdgcn_cubesc", "f32 f32 f32", "f32"),
    ("v_cubetc_f32", "__builtin_amdgcn_cubetc", "f32 f32 f32", "f32"),
    ("v_cubema_f32", "__builtin_amdgcn_cubema", "f32 f32 f32", "f32"),
    ("v_fract_f32", "__builtin_amdgcn_fractf", "f32", "f32"),
    ("v_frexp_mant_f32", "__builtin_amdgcn_frexp_mantf", "f32", "f32"),
    ("v_frexp_exp_i32_f32", "__builtin_amdgcn_frexp_expf", "f32", "u32"),
    ("v_frexp_exp_i32_f64", "__builtin_amdgcn_frexp_exp", "f64", "u32"),
    ("v_med3_f32", "__builtin_amdgcn_fmed3f", "f32 f32 f32", "f32"),
    ("v_bfe_u32", "__builtin_amdgcn_ubfe", "u32 u32 u32", "u32"),
    ("v_bfe_i32", "__builtin_amdgcn_sbfe", "u32 u32 u32", "u32"),
    ("v_perm_b32", "__builtin_amdgcn_perm", "u32 u32 u32", "u32"),
    ("v_alignbit_b32", "__builtin_amdgcn_alignbit", "u32 u32 u32", "u32"),
    ("v_cmp_class_f32", "__builtin_amdgcn_classf", "f32 u32", "u32"),
    ("v_cmp_class_f64", "__builtin_amdgcn_class", "f64 u32", "u32"),
    ("v_cvt_pkrtz_f16_f32", "__builtin_amdgcn_cvt_pkrtz", "f32 f32", "u32"),
]


def literal(bits, kind):
    return {"f32": f"as_float({bits:#x}u)", "f64": f"as_double({bits:#x}ul)", "u32": f"{bits:#x}u"}[kind]


@pytest.fixture(scope="module")
def folded():
    """By function and operands what LLVM makes of it, as far as it does."""
    rng = np.random.default_rng(21)
    lines, keys = [], []
    for row, call, kinds, result in FUNCTIONS:
        operands = [random_operand(rng, kind, EACH) for kind in kinds.split()]
        if "bfe" in row:
            operands[1:] = [x % 32 for x in operands[1:]]  # LLVM takes a width of 32 and more as it likes
        if row.startswith("v_frexp_exp"):
            operands = [np.where(np.isfinite(x.view(f"f{x.itemsize}")), x, 0) for x in operands]
        if "class" in row:
            operands[1] &= 1023
        for values in zip(*operands, strict=True):
            shown = ", ".join(literal(int(v), k) for v, k in zip(values, kinds.split(), strict=True))
            text = f"{call}({shown})"
            text = f"as_uint({text})" if result == "f32" or "pkrtz" in call else f"(uint){text}"
            lines.append(f"  *(volatile __global uint *)o = {text};")
            keys.append((row, result, [np.array([v]) for v in values]))
    source = "__kernel void k(__global uint *o) {\n" + "\n".join(lines) + "\n}\n"
    ir = compile_code_object(source, "fold.cl", target="gfx900", emit="ir").code.decode()
    stores = re.findall(r"store volatile i32 (\S+),", ir)
    assert len(stores) == len(keys)
    return [
        (key, int(text) & 0xFFFFFFFF) for key, text in zip(keys, stores, strict=True) if re.fullmatch(r"-?\d+", text)
    ]


def test_llvm_agrees(folded):
    table = {r.name: r for r in rows("gfx900")}
    wrong, seen = [], set()
    for (name, result, values), expected in folded:
        seen.add(name)
        operands = {f"S{n}": v for n, v in enumerate(values)}
        got = int(evaluate(semantics(table[name]), operands, Mode()).results["D"][0])
        nans = result == "f32" and np.isnan(np.array([got, expected], np.uint32).view(np.float32)).all()
        halves = np.array([got, expected], np.uint32).view(np.uint16)
        if "pkrtz" in name:
            same = [
                a == b or np.isnan(np.array([a, b]).view(np.float16)).all()
                for a, b in zip(halves[:2], halves[2:], strict=True)
            ]
            nans = all(same)
        if got != expected and not nans:
            wrong.append((name, [hex(int(v[0])) for v in values], hex(got), hex(expected)))
    assert wrong == []
    assert len(seen) >= 12, seen

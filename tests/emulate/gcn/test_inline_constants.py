"""What inline constants are worth in operands of each type, by LLVM's assembler: given the bits as a number, it writes the
constant that has them, and VOP3 instructions of these chips have no room for anything else."""

import pytest
from gcn_snippets import code_of

from headwater.isa.gcn.decode import decode_all
from headwater.isa.gcn.model import Constant, constant_bits

INTEGERS, FLOATS = range(128, 209), range(240, 249)
OPERANDS = {
    "f16": ("v_add_f16_e64 v0, {}, v1", 16, FLOATS),
    "i16": ("v_max_i16_e64 v0, {}, v1", 16, ()),
    "f32": ("v_add_f32_e64 v0, {}, v1", 32, FLOATS),
    "u32": ("v_add_u32_e64 v0, {}, v1", 32, FLOATS),
    "b32": ("s_mov_b32 s0, {}", 32, FLOATS),
    "f64": ("v_add_f64 v[0:1], {}, v[2:3]", 64, FLOATS),
    "b64": ("s_mov_b64 s[0:1], {}", 64, FLOATS),
    "u64": ("v_lshlrev_b64 v[0:1], v2, {}", 64, FLOATS),
    "v2f16": ("v_pk_add_f16 v0, {}, v1", 32, FLOATS),
    "v2i16": ("v_pk_add_u16 v0, {}, v1", 32, FLOATS),
    "v2f32": ("v_pk_add_f32 v[0:1], {}, v[2:3]", 32, FLOATS),
}


@pytest.mark.parametrize("kind", OPERANDS)
def test_values_of_inline_constants(kind):
    template, bits, floats = OPERANDS[kind]
    codes = [*INTEGERS, *floats]
    numbers = [constant_bits(code, kind) & ((1 << bits) - 1) for code in codes]
    assert len(set(numbers)) == len(codes)
    if kind == "i16":  # of which the assembler wants the sign
        numbers = [number - (number >> 15 << 16) for number in numbers]
    code = code_of("\n".join(template.format(number) for number in numbers), "gfx90a")
    instructions = decode_all(code, "gfx90a")[: len(codes)]
    found = [next(s.value for s in i.sources if isinstance(s.value, Constant)).code for i in instructions]
    assert found == codes

"""Every atomic instruction of the table on global memory, against the reference interpreter."""

import numpy as np
import pytest
from gcn_snippets import code_of
from translated_runs import both, differing, random_inputs

import headwater as hw
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.emulate.gcn.program import read_program
from headwater.emulate.gcn.translate import translate
from headwater.emulate.gcn.translator import Options
from headwater.isa.gcn import table
from headwater.isa.gcn.decode import decode
from headwater.isa.semantics.model import Mode

ENCODINGS = ("GLOBAL", "FLAT", "MUBUF")
DWORDS = {"b32": 1, "u32": 1, "i32": 1, "f32": 1, "b64": 2, "u64": 2, "i64": 2, "f64": 2, "b128": 4}
FLOATS = (0x3F800000, 0x3C003C00, 0x7F800000, 0x80000001, 0x7FC00000, 0x7C01FC00, 0x3FF00000)
START = """
s_mov_b32 s16, s2
s_mov_b32 s17, s3
s_mov_b32 s18, -1
s_mov_b32 s19, 0x27000
v_lshlrev_b32 v52, 3, v0
v_add_u32 v52, 0x2000, v52
v_mov_b32 v54, s2
v_mov_b32 v55, s3
v_add_co_u32 v54, vcc, v54, v52
v_addc_co_u32 v55, vcc, 0, v55, vcc
"""
"""v52 is where a lane's 8 bytes are in the results' second half, v[54:55] their address, s[16:19] a descriptor."""


def atomics(target):
    return [row for row in table.rows(ISA_OF_TARGET[target]) if "atomic" in row.flags and row.encoding in ENCODINGS]


def registers(first, count):
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def line(row, data, target, *, returns):
    """The instruction on the lane's own bytes; what was there comes to v60, or v[60:61], if it ``returns``."""
    types = {operand.name: operand.type for operand in row.operands}
    count = DWORDS[types["DATA"]]
    kept = "" if not returns else " sc0" if target == "gfx942" else " glc"
    put = registers(60, DWORDS[types["D"]]) + ", " if returns else ""
    if row.encoding == "MUBUF":
        # The buffer's instructions return in the operand's registers.
        back = "\ns_waitcnt vmcnt(0)\nv_mov_b32 v60, v56" if returns else ""
        moved = "\n".join(f"v_mov_b32 v{56 + n}, v{data + n}" for n in range(count))
        return f"{moved}\n{row.name} {registers(56, count)}, v52, s[16:19], 0 offen{kept}{back}"
    where = ("v52, ", ", s[2:3]") if row.encoding == "GLOBAL" else ("v[54:55], ", "")
    return f"{row.name} {put}{where[0]}{registers(data, count)}{where[1]}{kept}"


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942"])
def test_each_can_be_translated(target):
    """gfx908's additions of floats return nothing."""
    found = atomics(target)
    assert len(found) > 80
    text = "\n".join(line(row, 4, target, returns=False) for row in found)
    code = code_of(START + text, target)
    isa = ISA_OF_TARGET[target]
    program = read_program(lambda at: decode(code, at, isa), 0, isa, lambda at: 0 <= at < len(code))
    made = translate(program, Mode(), Options(full=True, avx512=False))
    assert made.instruction_count >= len(found)


def of_each_kind(target):
    """A row of each operation, the encodings taking turns."""
    kinds = {}
    for row in atomics(target):
        operand = next(one.type for one in row.operands if one.name == "DATA")
        kinds.setdefault((operand, row.semantics), []).append(row)
    return [rows[n % len(rows)] for n, rows in enumerate(kinds.values())]


@pytest.mark.parametrize("part", range(4))
def test_each_operation_as_the_reference_runs_it(part):
    """On random numbers, infinities, NaNs and subnormals."""
    target = "gfx942"
    rows = of_each_kind(target)[part::4]
    lines = [START]
    for n, row in enumerate(rows):
        memory, data, result = 4 + 2 * (n % 2), 8 + 2 * (n % 3), 20 + 3 * n
        lines += [
            f"global_store_dwordx2 v52, v[{memory}:{memory + 1}], s[2:3]",
            "s_waitcnt vmcnt(0)",
            line(row, data, target, returns=True),
            "s_waitcnt vmcnt(0)",
            "global_load_dwordx2 v[58:59], v52, s[2:3]",
            "s_waitcnt vmcnt(0)",
            *(f"v_mov_b32 v{result + k}, v{register}" for k, register in enumerate((60, 58, 59))),
        ]
    assert 5 < len(rows) <= 10
    found, wanted = both("\n".join(lines), random_inputs(part, FLOATS), 64, target=target)
    assert differing(found, wanted, np.float32) == [], [row.name for row in rows]
    assert found.any(axis=1)[: 3 * len(rows)].all()


HALVES = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void count(global ushort *x, global const int *at) {
    size_t place = (size_t)(x + at[get_global_id(0)]);
    volatile global uint *word = (volatile global uint *)(place & ~(size_t)3);
    uint shift = place & 2 ? 16 : 0, mask = 0xffffu << shift, old = *word, seen;
    do {
        seen = old;
        old = atomic_cmpxchg(word, seen, (seen & ~mask) | ((seen + (1u << shift)) & mask));
    } while (old != seen);
}
kernel void beyond(global ushort *x, global uint *out, int at) {
    out[0] = ((global uint *)x)[at];
    if (at < 0) atomic_cmpxchg(out, 1u, 2u);
}
kernel void plain(global ushort *x, global uint *out, int at) { out[0] = ((global uint *)x)[at]; }
"""
PAIRS = """
kernel void add(global half *x, global const int *at) {
    int i = at[get_global_id(0)];
    half2 one = i & 1 ? (half2)(0, 1) : (half2)(1, 0);
    __builtin_amdgcn_global_atomic_fadd_v2f16((global half2 *)(x + (i & ~1)), one);
}
"""


@pytest.mark.parametrize("check", [None, True])
@pytest.mark.parametrize("n", [1, 2, 33, 129])
def test_the_last_of_an_odd_number_of_halves_is_updated_by_its_dword(n, check):
    """As GPUs' memory has it: what follows the array is left as it is."""
    at = np.random.default_rng(n).integers(0, n, 200, np.int32)
    at[0] = n - 1
    memory = np.full(n + 1, 0xABCD, np.uint16)
    memory[:n] = 0
    hw.compile(HALVES, device="vega64").count[200](memory[:n], at, check=check)
    np.testing.assert_array_equal(memory[:n], np.bincount(at))
    assert memory[n] == 0xABCD
    halves = np.zeros(n, np.float16)
    hw.compile(HALVES.splitlines()[1] + PAIRS, device="mi300x").add[200](halves, at, check=check)
    np.testing.assert_array_equal(halves, np.bincount(at))


def test_other_accesses_end_where_the_halves_do():
    """A dword at an odd number's end is for kernels that have such updates, and none is beyond."""
    program = hw.compile(HALVES, device="vega64")
    for kernel, halves, at in ((program.plain, 7, 3), (program.beyond, 8, 4), (program.beyond, 7, 4)):
        with pytest.raises(hw.HeadwaterError, match=f"reads 4 bytes at byte {4 * at} of `ushort"):
            kernel[1](np.zeros(halves, np.uint16), np.zeros(1, np.uint32), at)
    program.beyond[1](np.zeros(7, np.uint16), np.zeros(1, np.uint32), 3)

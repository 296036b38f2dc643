"""Counts and turns of bits on VLIW chips, of which the older ones have no instructions for them: built-ins of every
integer type, and what programs write by hand, of which LLVM makes intrinsics."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import InternalError
from headwater.llvm.ir import Module
from headwater.opencl import codegen_vliw
from headwater.opencl.platforms import vliw

CHIPS = ("hd2600-xt", "hd4870", "hd5870")
BITS = {"char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32, "long": 64, "ulong": 64}
COUNTS = {
    "popcount": lambda x, bits: x.bit_count(),
    "clz": lambda x, bits: bits - x.bit_length(),
    "ctz": lambda x, bits: (x & -x).bit_length() - 1 if x else bits,
    "__builtin_elementwise_bitreverse": lambda x, bits: int(f"{x:0{bits}b}"[::-1], 2),
}
IDIOMS = {
    "reversed": """x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1; x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
        x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4; x = (x >> 8 & 0x00FF00FFu) | (x & 0x00FF00FFu) << 8;
        r = x >> 16 | x << 16;""",
    "reversed_in_a_loop": "for (int k = 0; k < 32; k++) { r = r << 1 | (x & 1); x >>= 1; }",
    "counted": """x -= x >> 1 & 0x55555555u; x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
        r = ((x + (x >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;""",
    "counted_in_a_loop": "while (x) { x &= x - 1; r++; }",
    "length": "while (x) { x >>= 1; r++; }",
    "trailing": "if (x) while (!(x & 1)) { x >>= 1; r++; }",
    "trailing_by_a_product": "r = x ? places[((x & -x) * 0x077CB531u) >> 27] : 0;",
    "bytes_swapped": "r = x >> 24 | (x >> 8 & 0xFF00u) | (x << 8 & 0xFF0000u) | x << 24;",
}
RESULTS = {
    "reversed": lambda x: int(f"{x:032b}"[::-1], 2),
    "counted": int.bit_count,
    "length": int.bit_length,
    "trailing": lambda x: max((x & -x).bit_length() - 1, 0),
    "bytes_swapped": lambda x: int.from_bytes(x.to_bytes(4, "little"), "big"),
}
PLACES = sorted(range(32), key=lambda k: (0x077CB531 << k & 0xFFFFFFFF) >> 27)
VALUES = [0, 1, 2**63, 2**64 - 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFF80, 0x0123456789ABCDEF, 0xFF00, 0x1FFFFFF, 0xA0B0C0D0]
VALUES += [int(x) for x in np.random.default_rng(4).integers(0, 2**64, 53, dtype=np.uint64)]


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("function", COUNTS)
def test_bits_of_every_integer_type(chip, function):
    """Scalars, and vectors of four, whose components are the values from here on."""
    lines = "".join(
        f"""{{ u{name.lstrip("u")}4 four = convert_u{name.lstrip("u")}4(next & {2**bits - 1}ul);
        out[{2 * n}][i] = (u{name.lstrip("u")}){function}(({name})x[i]);
        out[{2 * n + 1}][i] = as_u{name.lstrip("u")}4({function}(as_{name}4(four))).z; }}"""
        for n, (name, bits) in enumerate(BITS.items())
    )
    source = f"""kernel void k(global const ulong *x, global ulong (*out)[64]) {{
      size_t i = get_global_id(0);
      ulong4 next = (ulong4)(x[i], x[(i + 1) & 63], x[(i + 2) & 63], x[(i + 3) & 63]);
      {lines}
    }}"""
    x, out = np.array(VALUES, np.uint64), np.zeros((2 * len(BITS), 64), np.uint64)
    hw.compile(source, language="opencl", device=chip, options="-cl-std=CL2.0").k[(64,), (64,)](x, out, device=chip)
    for n, (name, bits) in enumerate(BITS.items()):
        wanted = [COUNTS[function](value % 2**bits, bits) for value in VALUES]
        assert out[2 * n].tolist() == wanted, name
        assert out[2 * n + 1].tolist() == wanted[2:] + wanted[:2], f"{name}4"


@pytest.mark.parametrize("chip", CHIPS)
def test_bits_by_hand(chip):
    lines = "".join(
        f"{{ uint x = a[i], r = 0; {code} out[{n} * 64 + i] = r; }}" for n, code in enumerate(IDIOMS.values())
    )
    source = f"""constant uint places[32] = {{{", ".join(map(str, PLACES))}}};
    kernel void k(global const uint *a, global uint *out) {{ size_t i = get_global_id(0); {lines} }}"""
    x, out = np.array([value % 2**32 for value in VALUES], np.uint32), np.zeros((len(IDIOMS), 64), np.uint32)
    hw.compile(source, language="opencl", device=chip).k[(64,), (64,)](x, out, device=chip)
    for name, found in zip(IDIOMS, out, strict=True):
        wanted = RESULTS[name.partition("_in_")[0].partition("_by_")[0]]
        assert found.tolist() == [wanted(int(value)) for value in x], name


def test_lowering_that_does_not_end_names_its_instruction(monkeypatch):
    """As of a helper that LLVM recognises, and turns back into the intrinsic."""

    def again(self, inst, function, values=None):
        return [f"  {inst.name} = call i32 @llvm.bitreverse.i32(i32 {inst.args[0].text})"]

    monkeypatch.setattr(codegen_vliw._Lowering, "calls", again)
    module = Module(vliw(work_groups=True).heading)
    module.add(
        """define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %x) #0 {
  %y = call i32 @llvm.bitreverse.i32(i32 %x)
  store i32 %y, ptr addrspace(1) %p, align 4
  ret void
}
declare i32 @llvm.bitreverse.i32(i32)
attributes #0 = { nounwind }"""
    )
    none = codegen_vliw.LoweringFeatures(
        work_groups=True, fused=False, fused_doubles=False, doubles=False, bit_counts=False, exact=False
    )
    with pytest.raises(InternalError, match=r"llvm\.bitreverse\.i32 is still there"):
        codegen_vliw.compile(str(module), ["k"], "k.cl", none)

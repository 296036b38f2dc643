"""A component's lowest bit, which LLVM takes as an element of the vector's bits."""

import numpy as np
import pytest

import headwater as hw

N = 512
SOURCE = """
kernel void alone(global const {kind}{width} *in, global uint *out) {{
  uint i = get_global_id(0); out[i] = (uint)(in[i].s{one} & 1) * 31u;
}}
kernel void among(global const {kind}{width} *in, global uint *out) {{
  uint i = get_global_id(0); {kind}{width} v = in[i];
  out[i] = (uint)(v.s{one} & 1) * 31u + (uint)(v.s1 & 1) * 7u + (uint)v.s0;
}}
"""


@pytest.mark.parametrize(("kind", "width", "one"), [("char", 8, 4), ("short", 4, 3), ("int", 2, 1), ("uchar", 16, 15)])
def test_lowest_bits_of_components(kind: str, width: int, one: int) -> None:
    dtype = np.dtype({"char": "i1", "uchar": "u1", "short": "i2", "int": "i4"}[kind])
    limits = np.iinfo(dtype)
    values = np.random.default_rng(1).integers(limits.min, limits.max, (N, width), dtype, endpoint=True)
    program = hw.compile(SOURCE.format(kind=kind, width=width, one=f"{one:x}"), language="opencl")
    bit = lambda k: values[:, k].astype(np.int64) & 1  # noqa: E731
    wanted = {"alone": bit(one) * 31, "among": bit(one) * 31 + bit(1) * 7 + values[:, 0].astype(np.int64)}
    for name, expected in wanted.items():
        for device in ("cpu", "hd5870"):
            out = np.zeros(N, np.uint32)
            program.kernels[name][(N,), (64,)](values, out, device=device).wait()
            np.testing.assert_array_equal(out, expected & 0xFFFFFFFF)

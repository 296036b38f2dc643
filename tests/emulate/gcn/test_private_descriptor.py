"""When buffer instructions surely access private memory, and that they do what is right then and else."""

import numpy as np
import pytest
from gcn_snippets import code_of
from test_buffers import KERNEL

import headwater as hw
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.emulate.gcn import encodings_memory
from headwater.emulate.gcn.private_descriptor import is_kept
from headwater.emulate.gcn.program import read_program
from headwater.emulate.gcn.translate import translate_kernel
from headwater.emulate.gcn.translator import Options
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.decode import decode
from headwater.opencl.gcn import compile_code_object
from headwater.opencl.gcn_build import assemble

MOVED = "s_add_u32 s0, s0, s7\ns_addc_u32 s1, s1, 0"
USE = "buffer_store_dword v1, off, s[0:3], 0 offset:4"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{MOVED}\n{USE}", True),
        (USE, True),
        (f"{MOVED}\ns_mov_b32 s0, 0\ns_mov_b64 s[2:3], 0\ns_mov_b64 s[4:5], s[0:1]\n{USE}", True),
        (f"s_add_u32 s0, s0, s7\ns_addc_u32 s1, s1, s8\n{USE}", False),
        (f"s_add_u32 s0, s0, s7\ns_addc_u32 s1, s4, 0\n{USE}", False),
        (f"s_add_u32 s0, s0, s7\ns_addc_u32 s1, s1, 1\n{USE}", False),
        (f"{MOVED}\ns_load_dwordx4 s[0:3], s[4:5], 0x0\n{USE}", False),
        (f"{MOVED}\ns_mov_b64 s[0:1], s[4:5]\n{USE}", False),
        (f"{MOVED}\nv_cmp_eq_u32 s[0:1], v0, v1\n{USE}", False),
        (f"s_mov_b32 m0, 1\ns_movreld_b32 s0, s4\n{USE}", False),
        (f"s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 over\n{MOVED}\nover:\n{USE}", False),
        (f"begin:\n{MOVED}\n{USE}\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 begin", False),
    ],
)
def test_what_may_change_the_descriptor(text, kept):
    code = code_of(f"{text}\ns_endpgm")
    program = read_program(
        lambda at: decode(code, at, ISA_OF_TARGET["gfx900"]), 0, ISA_OF_TARGET["gfx900"], lambda at: 0 <= at < len(code)
    )
    assert is_kept(program, 0) is kept


# Too large for LLVM to keep the arrays in registers or local memory.
ARRAYS = """
kernel void k(global const int *in, global int *out, global const uchar *bytes, int n) {
  int i = get_global_id(0), kept[80];
  uchar small[300];
  #pragma unroll 1
  for (int j = 0; j < 80; j++) kept[j] = in[j] + i;
  #pragma unroll 1
  for (int j = 0; j < 300; j++) small[j] = bytes[j] ^ i;
  kept[3] = i * 5;
  if (i % 3 == 1) { kept[n & 15] = 5; small[(i + n) % 300] = 9; }
  out[i] = kept[i & 15] * 31 + kept[3] + small[i % 290];
}
"""


@pytest.mark.parametrize("device", ["vega64", "hd7970"])
def test_private_arrays_need_no_other_way(device, monkeypatch):
    """The code has the way by NUM_RECORDS for none of their accesses, and gives what NumPy does. The first generation
    has buffer instructions for global memory."""
    chip = hw.device(device)
    code = load(compile_code_object(ARRAYS, "k.cl", "", chip.chip.target).code, "k.hsaco")
    found = []
    sure = encodings_memory._is_private
    monkeypatch.setattr(
        encodings_memory,
        "_is_private",
        lambda t, one: found.append((one.source("RSRC").value.index, sure(t, one))) or found[-1][1],
    )
    translate_kernel(code, "k", Options())
    private, others = ({register for register, is_ in found if is_ == wanted} for wanted in (True, False))
    assert len(private) == 1
    assert not private & others
    assert sum(is_ for _, is_ in found) > 5

    n, size = 7, 150
    a, bytes_ = np.arange(80, dtype=np.int32) * 1001, np.arange(300).astype(np.uint8) * 11
    out = np.zeros(size, np.int32)
    chip.build(ARRAYS, "k.cl").kernels["k"].prepare((size,), None)([a, out, bytes_, n])
    for i in range(size):
        kept, small = a + i, bytes_ ^ np.uint8(i)
        kept[3] = i * 5
        if i % 3 == 1:
            kept[n & 15], small[(i + n) % 300] = 5, 9
        assert out[i] == np.int64(int(kept[i & 15]) * 31 + int(kept[3]) + int(small[i % 290])).astype(np.int32), i


def test_a_descriptor_that_is_loaded_over_it_is_the_buffers(tmp_path):
    body = (
        "buffer_load_dword v3, v1, s[0:3], 0 offen\ns_waitcnt vmcnt(0)\nv_add_f32 v3, 1.0, v3\n"
        "global_store_dword v1, v3, s[0:1]"
    )
    text = KERNEL.format(target="gfx906", body=body, kernarg=4, more=".amdhsa_user_sgpr_private_segment_buffer 1")
    text = text.replace(".private_segment_fixed_size: 0", ".private_segment_fixed_size: 64")
    text = text.replace(".amdhsa_next_free_vgpr", ".amdhsa_private_segment_fixed_size 64\n.amdhsa_next_free_vgpr")
    path = tmp_path / "k.hsaco"
    path.write_bytes(assemble(text, "k.s", "gfx906").code)
    x = np.arange(64, dtype=np.float32)
    hw.compile(str(path), device="mi50").k[(64,), (64,)](x, device="mi50")
    assert x.tolist() == [n + 1 for n in range(32)] + [1] * 32

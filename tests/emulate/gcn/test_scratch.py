"""SCRATCH instructions whose base is no place in a work-item's private memory end a launch, as they do on the hardware.

A base is unsigned and no sum wraps around (LLVM, AMDGPUISelDAGToDAG.cpp, isFlatScratchBaseLegal); a scalar base takes
no negative offset (AMDGPU.td, FeatureNegativeScratchOffsetBug).
"""

import numpy as np
import pytest
from test_buffers import KERNEL

import headwater as hw
from headwater.errors import KernelFault
from headwater.opencl.gcn_build import assemble

STORED = "scratch_store_dword v4, v3, off offset:8\nv_mov_b32 v6, 11"
BACK = "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v5, s[0:1]"


def launched(tmp_path, body):
    text = KERNEL.format(target="gfx906", body=f"v_mov_b32 v4, 16\n{body}", kernarg=0, more="")
    text = text.replace(".private_segment_fixed_size: 0", ".private_segment_fixed_size: 64")
    text = text.replace(
        ".amdhsa_next_free_vgpr",
        ".amdhsa_private_segment_fixed_size 64\n.amdhsa_system_sgpr_private_segment_wavefront_offset 1\n"
        ".amdhsa_next_free_vgpr",
    )
    path = tmp_path / "k.hsaco"
    path.write_bytes(assemble(text, "k.s", "gfx906").code)
    x = np.zeros(64, np.float32)
    hw.compile(str(path), device="mi50").k[(64,), (64,)](x, device="mi50")
    return x.view(np.int32).tolist()


@pytest.mark.parametrize(
    "load",
    [
        "scratch_load_dword v5, v4, off offset:8",
        "v_mov_b32 v4, 32\nscratch_load_dword v5, v4, off offset:-8",
        "s_mov_b32 s6, 20\nscratch_load_dword v5, off, s6 offset:4",
    ],
)
def test_places_within_private_memory(tmp_path, load):
    assert launched(tmp_path, f"{STORED}\n{load}\n{BACK}") == [7] * 64


@pytest.mark.parametrize(
    "load",
    [
        "v_mov_b32 v4, -8\nscratch_load_dword v5, v4, off offset:32",
        "v_mov_b32 v4, 4\nscratch_load_dword v5, v4, off offset:-8",
        "s_mov_b32 s6, 32\nscratch_load_dword v5, off, s6 offset:-8",
        "s_mov_b32 s6, -8\nscratch_load_dword v5, off, s6 offset:32",
        "v_mov_b32 v4, 0x04000018\nscratch_load_dword v5, v4, off",
        "v_mov_b32 v4, 0x80000018\nscratch_load_dwordx4 v[4:7], v4, off",
        "v_mov_b32 v4, 64\nscratch_load_ubyte v5, v4, off",
    ],
)
def test_places_beyond_private_memory(tmp_path, load):
    with pytest.raises(KernelFault, match="of its private memory, which has 64"):
        launched(tmp_path, f"{STORED}\n{load}\n{BACK}")

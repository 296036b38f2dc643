"""Loads and stores of kernels with matrix instructions, which are calls for the whole wavefront."""

import pytest
from translated_runs import both, random_inputs

from headwater.emulate.gcn import frame_accesses

NARROW = """
v_mfma_f32_4x4x1f32 v[60:63], v4, v5, 0
v_lshlrev_b32 v40, 1, v0
v_lshlrev_b32 v41, 2, v0
v_sub_u32 v42, 0x80, v40
v_cmp_lt_u32 vcc, 21, v0
s_mov_b64 s[20:21], exec
ds_write_b32 v41, v6
ds_write_b16 v40, v7 offset:512
ds_write_b16 v42, v8 offset:1024
ds_write_b8 v0, v9 offset:2048
s_waitcnt lgkmcnt(0)
ds_read_u16 v20, v40
ds_read_u16 v21, v40 offset:511
ds_read_u16 v22, v42 offset:1022
ds_read_u8 v23, v40 offset:2040
ds_read_b32 v24, v41 offset:514
ds_read2_b32 v[26:27], v41 offset0:1 offset1:128
global_load_ushort v28, v40, s[0:1] offset:6
global_load_ushort v29, v41, s[0:1] offset:9
global_load_dword v30, v41, s[0:1] offset:12
global_load_dword v31, v42, s[0:1]
v_mov_b32 v32, v10
v_mov_b32 v33, v41
v_add_u32 v43, 0x3000, v40
v_add_u32 v44, 0x3200, v41
s_waitcnt vmcnt(0)
s_and_b64 exec, exec, vcc
ds_read_u16 v32, v40 offset:4
ds_read_b32 v33, v33
global_store_short v43, v11, s[2:3]
global_store_dword v44, v12, s[2:3]
s_mov_b64 exec, s[20:21]
global_store_short v43, v13, s[2:3] offset:256
global_store_dword v44, v14, s[2:3] offset:256
s_waitcnt vmcnt(0)
global_load_ushort v34, v43, s[2:3] offset:128
global_load_dword v35, v44, s[2:3] offset:60
s_waitcnt vmcnt(0) lgkmcnt(0)
"""
"""Lanes one after the other, in steps, backwards, at odd addresses, into the register of the address."""


@pytest.mark.parametrize("lanes", [64, 41])
def test_narrow_accesses_are_calls_that_move_what_the_interpreter_does(lanes, monkeypatch):
    found = []
    translate = frame_accesses.translate

    def watched(t, instruction, place):
        found.append((instruction.row.name, translate(t, instruction, place)))
        return found[-1][1]

    monkeypatch.setattr(frame_accesses, "translate", watched)
    moved, wanted = both(NARROW, random_inputs(11, (0, 0xFFFFFFFF)), lanes, "gfx90a")
    assert (moved == wanted).all()
    narrow = {
        name: called for name, called in found if name.endswith(("u16", "ushort", "short", "b16", "dword", "b32"))
    }
    assert len(narrow) >= 8
    assert all(narrow.values())

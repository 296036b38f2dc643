"""What lanes know of each other by quads, and wavefronts by a SIMD engine's shared registers: the translated code is held
to the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from vliw_runs import FIRST, alu, both, cf, gpr, group, literal, op, random_inputs

from headwater.emulate.wave.layout import LANES
from headwater.errors import KernelFault
from headwater.isa.vliw import table
from headwater.isa.vliw.model import Fetch

SHARED, SHARED_INDEXED = 5, 6


@pytest.mark.parametrize("generation", ["r600", "evergreen", "cayman"])
def test_gradients(generation):
    names = ["GET_GRADIENTS_H", "GET_GRADIENTS_V"]
    if generation != "r600":
        names += ["GET_GRADIENTS_H_FINE", "GET_GRADIENTS_V_FINE"]
    fetches = [
        Fetch(
            table.named(generation, "TEX", name),
            {"src_gpr": 2 + k, "dst_gpr": FIRST + k, **{f"{kind}_sel_{c}": n for kind in ("src", "dst")
             for n, c in enumerate("xyzw")}},
        )
        for k, name in enumerate(names)
    ]  # fmt: skip
    inputs = random_inputs(7)
    native, slow = both(generation, [cf(generation, "TEX", fetches=fetches)], inputs)
    np.testing.assert_array_equal(np.isnan(native.view(np.float32)), np.isnan(slow.view(np.float32)))
    numbers = ~np.isnan(slow.view(np.float32))
    np.testing.assert_array_equal(native[numbers], slow[numbers])
    pixels = inputs.view(np.float32)[:, 0].reshape(-1, 2, 2, 4)
    with np.errstate(invalid="ignore", over="ignore"):
        first = pixels[:, 0, 1] - pixels[:, 0, 0]
    np.testing.assert_array_equal(native[:, 0].view(np.float32), np.repeat(first, 4, 0))


@pytest.mark.parametrize("generation", ["r700", "evergreen", "cayman"])
def test_shared_registers(generation):
    def shared(number, chan=0):
        return gpr(number, chan, rel=True)

    def one(name, slot, dst, *sources, **more):
        return group(op(generation, name, slot, dst, slot, *sources, **more))

    groups = [
        one("MOV", 0, 9, gpr(2), dst_rel=True, index_mode=SHARED),
        one("ADD_INT", 1, 9, shared(9), gpr(2, 1), dst_rel=True, index_mode=SHARED),
        one("ADD_INT", 0, FIRST, shared(9, 1), gpr(3), index_mode=SHARED),
        one("AND_INT", 0, 5, gpr(0), literal(7)),
        one("MOVA_INT", 0, 0, gpr(5), write=False),
        one("MOV", 2, 9, gpr(4), dst_rel=True, index_mode=SHARED_INDEXED),
        one("MOV", 1, FIRST, shared(9, 2), index_mode=SHARED),
        one("MOV", 2, FIRST, shared(12, 2), index_mode=SHARED),
        one("MOV", 3, FIRST, shared(9, 2), index_mode=SHARED_INDEXED),
        one("MOV", 0, FIRST + 1, shared(127, 2), index_mode=SHARED_INDEXED),
        one("MOV", 0, 127, gpr(4), dst_rel=True, index_mode=SHARED_INDEXED),
        one("MOV", 1, FIRST + 1, shared(127), index_mode=SHARED),
    ]
    native, slow = both(generation, [alu(generation, *groups)], random_inputs(8))
    np.testing.assert_array_equal(native, slow)
    assert (native[1:8, 1, 0] == 0).all()  # beyond the last one
    assert np.count_nonzero(native[:, 0, 2]) == LANES // 8  # of each lane its own


def test_r600_has_no_shared_registers():
    groups = [group(op("r600", "MOV", 0, FIRST, 0, gpr(9, rel=True), index_mode=SHARED))]
    with pytest.raises(KernelFault, match="not emulated"):
        both("r600", [alu("r600", *groups)], random_inputs(9))

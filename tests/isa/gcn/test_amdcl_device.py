"""Binaries of AMD's OpenCL 1.x driver on a simulated Southern Islands chip."""

import numpy as np
import pytest
from objects import AMDCL_CODE, amdcl, assembled

import headwater as hw
from headwater.errors import KernelFault, UsageError


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "si.bin"
    path.write_bytes(amdcl(assembled(AMDCL_CODE, "gfx600"), globals_=b"constants"))
    return path


def test_a_binary_runs(binary):
    program = hw.compile(binary, device="hd7970")
    given, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    program.scale[(128,), (64,)](3, (9, 200), given, out)
    assert (out == given * 3 + 200).all()


def test_its_accesses_are_checked(binary):
    program = hw.compile(binary, device="hd7970")
    with pytest.raises(KernelFault, match=r"writes 4 bytes .*`uint \*out`"):
        program.scale[(128,), (64,)](3, (9, 200), np.arange(128, dtype=np.uint32), np.zeros(100, np.uint32))


def test_it_is_refused_elsewhere(binary):
    with pytest.raises(UsageError, match="gfx600"):
        hw.compile(binary, device="vega64")

"""The machine-code example: the emulated median is the CPU's, and an edited instruction does what it now says."""

import numpy as np


def test_median_is_the_cpus(example):
    rgba = np.random.default_rng(0).integers(0, 256, (21, 34, 4), np.uint8)
    assert np.array_equal(example.median(rgba, "vega64"), example.median(rgba, "cpu"))


def test_the_edited_code_subtracts(example, tmp_path, capsys):
    x, y = np.arange(64, dtype=np.float32), np.full(64, 7, np.float32)
    assert np.array_equal(example.saxpy(example.HERE / "saxpy.cl", x, y, 3, "vega64"), 3 * x + y)
    program = example.edited(tmp_path, "vega64")
    assert np.array_equal(example.saxpy(program, x, y, 3, "vega64"), 3 * x - y)
    said = capsys.readouterr().out
    assert "$ headwater disasm" in said
    assert "becomes\n  v_fma_f32 v2, s10, v2, -v3" in said

"""Products tuned for simulated chips: they are right, and the table says what runs."""

import pytest

pytest.importorskip("scipy")
from headwater import chips
from headwater.acml import tuned
from headwater.errors import UsageError

DIFFERENT = {(row.routine, str(row.kernel)): row for row in reversed(tuned.table())}
"""A chip of each kernel."""


@pytest.mark.parametrize("row", DIFFERENT.values(), ids=lambda row: f"{row.routine}-{row.chip}")
def test_tuned_products_are_right(row):
    from dataclasses import replace

    small = replace(row, size=(256 if "waves" in row.kernel else 192, 16))
    rate, error = tuned.simulate(small, row.kernel)
    assert 0 < rate < row.peak
    assert error < {"dgemm": 1e-14, "sgemm": 1e-5, "hgemm": 2e-3}[row.routine]


def test_rows_are_of_chips_and_have_sources():
    assert {(row.chip, row.routine) for row in tuned.table() if not chips.known(row.chip) or not row.source} == set()
    assert len({(row.chip, row.routine) for row in tuned.table()}) == len(tuned.table())


@pytest.mark.parametrize(
    ("doubles", "block"), [(False, (1, 2, 1)), (False, (2, 1, 2)), (True, (1, 1, 2)), (True, (1, 2, 1))]
)
def test_kernels_in_il_of_other_blocks(doubles, block):
    from dataclasses import replace

    row = replace(tuned.entry("hd5870", "dgemm" if doubles else "sgemm"), size=(64, 8))
    error = tuned.simulate(row, dict(zip(("rows", "columns", "unroll"), block, strict=True)))[1]
    assert error < (1e-14 if doubles else 1e-5)


def test_candidates_have_whole_tiles_and_include_what_was_chosen():
    for row in tuned.table():
        found = tuned.candidates(row)
        assert row.kernel in found
        assert len({tuple(block.items()) for block in found}) == len(found)


def test_chips_without_a_tuned_kernel_are_named():
    with pytest.raises(UsageError, match="no kernel of dgemm is tuned for hd4850") as error:
        tuned.entry("hd4850", "dgemm")
    assert "sgemm on hd4850" in error.value.hint

"""Running AMD's samples, as far as that needs none of them."""

from pathlib import Path

from verification.amd_samples import outcome


def test_what_needs_local_memory_is_not_run_where_there_is_none():
    assert outcome(Path("lds"), "hd3870", Path()) == ("not run", "the chip has no local memory")

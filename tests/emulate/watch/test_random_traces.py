"""A few random kernels that are recorded; ``python -m verification.fuzz_traces`` runs as many as wanted."""

import pytest

from verification import fuzz_traces


@pytest.mark.parametrize("chip", fuzz_traces.CHIPS)
@pytest.mark.parametrize("seed", range(3))
def test_traces_do_not_depend_on_what_was_before(chip, seed):
    assert fuzz_traces.different(chip, seed) == ""


def test_what_differs_is_named(monkeypatch, capsys):
    accesses_of = fuzz_traces.accesses_of

    def one_access_less(path):
        for *place, sites in accesses_of(path):
            if path.name == "kept" and place[0] == 7:
                sites[max(sites)].pop()
            yield *place, sites

    monkeypatch.setattr(fuzz_traces, "accesses_of", one_access_less)
    monkeypatch.setattr("sys.argv", ["fuzz_traces", "--count", "1", "--chip", "vega64"])
    assert fuzz_traces.main() == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("vega64, seed 0, launch 0, 1 threads: group 7, wavefront 0: site ")
    assert last.startswith("1 kernels, 1 differ")


def test_a_kernel_is_shown(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fuzz_traces", "--show", "--seed", "7"])
    assert fuzz_traces.main() == 0
    assert capsys.readouterr().out.startswith("kernel void play(")

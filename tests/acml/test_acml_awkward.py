"""Awkward arguments of ACML's names, by each routine's signature."""

import numpy as np
import pytest

pytest.importorskip("scipy")
from headwater import acml
from headwater.acml import native, routines
from headwater.errors import OutOfMemoryError, UsageError
from verification.acml_awkward import calls, check, within

CALLS = calls()
KINDS = (
    "zfft1dx",
    "cfft2dx",
    "zfft3d",
    "dzfftm",
    "cfft1m",
    "zdfft",
    "vrsa_powxf",
    "vrda_sincos",
    "vrd4_exp",
    "fastpow",
)
OF_RANDOM = (
    "drandinitialize",
    "srandinitializebbs",
    "drandblumblumshub",
    "srandleapfrog",
    "drandpoisson",
    "sranduniform",
)


@pytest.mark.parametrize("name", [*KINDS, *OF_RANDOM])
@pytest.mark.filterwarnings("ignore")
def test_awkward_arguments_are_named_and_nothing_is_written(name):
    assert check(name, *CALLS[name]) == []


def test_routines_stay_within_their_arrays_and_workspaces():
    """One type of each routine that has workspaces; `python -m verification.acml_awkward` has them all."""
    seen = set()
    for name in routines.rows():
        row = routines.row(name)
        if any(p.hidden for p in row.parameters) and name[1:] not in seen and name[0] in "zd":
            seen.add(name[1:])
            assert within(name) == []
    assert {"gesdd", "hbgvx", "sbgvx", "gges", "ggevx"} <= seen


def test_results_do_not_overwrite_the_state_that_they_come_from():
    state = np.zeros(700, np.int32)
    assert acml.drandinitialize(3, 1, [1], 1, state, 700) == 0
    before = state.copy()
    with pytest.raises(UsageError, match="dranddiscreteuniform: x is written and shares memory with state"):
        acml.dranddiscreteuniform(50, 0, 9, state, state[600:])
    locked = np.zeros(1, np.int32)
    locked.flags.writeable = False
    with pytest.raises(UsageError, match="lseed is written and cannot be"):
        acml.drandinitialize(3, 1, [1], locked, state, 700)
    with pytest.raises(UsageError, match="lstate is written and cannot be: int8 has no place for 633"):
        acml.drandinitialize(3, 1, [1], 1, state, np.zeros(1, np.int8))
    asked = np.array(0, np.int32)
    assert acml.drandinitialize(3, 1, [1], 1, state, asked) == 0
    assert asked == 633
    assert (state == before).all()


def test_a_workspace_that_memory_has_no_place_for(monkeypatch):
    a, w = np.eye(3, order="F"), np.zeros(3)

    def none(size, dtype):
        raise MemoryError("Unable to allocate")

    monkeypatch.setattr(native.np, "empty", none)
    with pytest.raises(OutOfMemoryError, match="dsyev: no memory for its workspace: Unable to allocate"):
        native.routine("dsyev").general("V", "U", 3, a, 3, w)
    assert (a == np.eye(3)).all()

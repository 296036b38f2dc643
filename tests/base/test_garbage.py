"""The cyclic garbage collector waits while large structures are made, and no longer."""

from __future__ import annotations

import gc
import weakref

import pytest

from headwater.base.garbage import uncollected


class _Itself:
    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_freed_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
        one = weakref.ref(_Itself())
        kept = [_Itself() for _ in range(10_000)]
        assert one() is not None
    assert gc.isenabled()
    gc.collect()
    assert one() is None
    assert len(kept) == 10_000


def test_the_collector_is_on_again_after_errors_and_stays_off_where_it_was() -> None:
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

"""What is computed once is computed once, whichever threads ask while it is."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from headwater.base.once import once, once_property

THREADS = 8


def asked_together(ask):
    """What some threads get that ask at a time."""
    ready = threading.Barrier(THREADS)

    def one():
        ready.wait()
        return ask()

    with ThreadPoolExecutor(THREADS) as threads:
        return [thread.result() for thread in [threads.submit(one) for _ in range(THREADS)]]


@pytest.fixture
def slow():
    """A function that gives a new object, after all threads could have asked."""

    def make(*_):
        time.sleep(0.1)
        return object()

    return make


def test_a_function(slow):
    made = once(slow)
    assert len(set(asked_together(made))) == 1
    assert made() is made()


def test_a_property(slow):
    class Holder:
        value = once_property(slow)

    one, other = Holder(), Holder()
    assert len(set(asked_together(lambda: one.value))) == 1
    assert one.value is not other.value


def test_what_fails_is_tried_again():
    answers = iter([None, 7])

    @once
    def answer():
        found = next(answers)
        if found is None:
            raise ValueError("not yet")
        return found

    with pytest.raises(ValueError, match="not yet"):
        answer()
    assert answer() == answer() == 7

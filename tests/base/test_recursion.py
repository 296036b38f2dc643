import sys
import threading

from headwater.base.recursion import FRAMES, deep_recursion


def nested(levels):
    return 0 if not levels else 1 + nested(levels - 1)


def test_the_limit_is_what_it_was_when_the_last_of_several_threads_is_done():
    before = sys.getrecursionlimit()
    inside, leave = threading.Event(), threading.Event()

    def first():
        with deep_recursion():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    with deep_recursion():  # begins while the other's is raised, and ends after it
        leave.set()
        thread.join()
        assert nested(before + 1000) == before + 1000
        with deep_recursion():
            pass
        assert sys.getrecursionlimit() == FRAMES
    assert sys.getrecursionlimit() == before


def test_a_limit_that_the_block_chooses_stays():
    before = sys.getrecursionlimit()
    try:
        with deep_recursion():
            sys.setrecursionlimit(before + 7)
        assert sys.getrecursionlimit() == before + 7
    finally:
        sys.setrecursionlimit(before)

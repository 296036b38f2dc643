"""Threads that share launches: who joins, who ends one, what happens where something goes wrong on the way."""

from __future__ import annotations

import ctypes
import os
import random
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import headwater as hw
from headwater.native import pool as pool_module
from headwater.native.launch_block import (
    BATCH,
    BLOCK_FIELDS,
    COUNT,
    ENTRY,
    JOINED,
    LED,
    OPEN,
    PATIENCE,
    SCRATCH_BYTES,
    STATE,
    STOP,
    TAIL,
)
from headwater.native.pool import MOST_SPIN_NS, SPIN_NS, Pool, Task, _processors, native, scratch_address
from headwater.runtime.cpu import launch as cpu_launch

ENTRY_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
IDLE = 1  # what pool.c has in the box of a thread that waits
LONG = 20.0  # seconds after which something that must happen is taken not to


def task_of(work: Callable[[int], None]) -> Task:
    """A task whose entry calls ``work`` with the scratch memory's address in each thread."""
    entry = ENTRY_TYPE(lambda block, args, scratch: work(scratch))
    block = np.zeros(BLOCK_FIELDS, np.int64)
    block[ENTRY] = ctypes.cast(entry, ctypes.c_void_p).value
    block[SCRATCH_BYTES] = 4096
    task = Task(block, 8)
    task.keep(entry)
    return task


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    """Three threads for a launch, whatever the machine has, that wait for long."""
    monkeypatch.setattr(pool_module, "_processors", lambda: 3)
    monkeypatch.setattr(pool_module, "SPIN_NS", 30_000_000)
    return Pool(3)


def test_threads_meet_in_a_launch_and_have_left_when_it_returns(pool: Pool) -> None:
    meeting, slow = threading.Barrier(3), []

    def work(scratch: int) -> None:
        if meeting.wait(LONG):  # two of three stay longer
            time.sleep(0.05)
            slow.append(scratch)

    for _ in range(3):
        slow.clear()
        task = task_of(work)
        pool.lead(task, 2)
        assert len(slow) == 2
        assert len(set(slow)) == 2
        assert task.block[JOINED] == 2
        assert not task.block[STATE] & (OPEN | COUNT)


def test_a_launch_waits_for_slow_threads_without_its_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "SPIN_NS", 1000)
    pool, meeting, left = Pool(2), threading.Barrier(2), []

    def work(scratch: int) -> None:
        meeting.wait(LONG)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.3)
            left.append(scratch)

    task = task_of(work)
    begun = time.thread_time()
    pool.lead(task, 1)
    assert len(left) == 1
    assert time.thread_time() - begun < 0.2


def test_threads_wait_longer_behind_longer_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_processors", lambda: 2)
    pool = Pool(2)
    _, spins = pool._native
    waits = {}
    for expected_ns in (0, 1_000_000, 1_000_000_000):
        task = task_of(lambda scratch: None)
        pool.lead(task, 1, expected_ns)
        waits[expected_ns] = task.block[PATIENCE]
    assert waits[0] == spins > 0
    assert waits[1_000_000] == 250_000 * spins // SPIN_NS
    assert waits[1_000_000_000] == MOST_SPIN_NS * spins // SPIN_NS


def test_who_leads_sees_the_others_leave_as_long_as_it_has_patience() -> None:
    task = task_of(lambda scratch: None)
    functions = native()
    for patience in (0, 1 << 40):
        task.block[STATE] = (OPEN | LED) + 1  # a helper is inside
        task.block[PATIENCE] = patience
        helper = threading.Timer(0.2, functions.work, (task.block_address, 0))
        helper.start()
        still_inside = functions.lead(task.block_address, scratch_address(4096))
        helper.join()
        assert still_inside == (patience == 0)


def test_a_thread_that_waits_is_claimed_without_a_ticket(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "SPIN_NS", 1_000_000_000)
    meeting = threading.Barrier(3)
    pool.lead(task_of(lambda scratch: meeting.wait(LONG) and None), 2)
    threads = pool._threads
    until = time.monotonic() + LONG
    while [pool._words[16 * box] for box in (1, 2)] != [IDLE, IDLE] and time.monotonic() < until:
        time.sleep(1e-4)
    tickets = pool._tickets
    pool._tickets = None  # type: ignore[assignment]  # whoever wanted one would fail
    try:
        pool.lead(task_of(lambda scratch: meeting.wait(LONG) and None), 2)
    finally:
        pool._tickets = tickets
    assert pool._threads == threads


def test_each_launch_ends_once_from_many_threads(pool: Pool) -> None:
    problems: list[str] = []

    def launch(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(60):
            entered: list[int] = []
            ended: list[Task] = []
            done = threading.Event()

            def work(scratch: int, entered: list[int] = entered) -> None:
                entered.append(scratch)

            def finish(task: Task, ended: list[Task] = ended, done: threading.Event = done) -> None:
                ended.append(task)
                done.set()

            task, helpers = task_of(work), chance.randrange(1, 4)
            if chance.random() < 0.5:
                pool.lead(task, helpers)
                most = helpers + 1
            else:
                task.finish, most = finish, helpers
                pool.submit(task, helpers)
                if not done.wait(LONG):
                    problems.append("never ended")
                    return
                if ended != [task]:
                    problems.append(f"ended {len(ended)} times")
            if not 1 <= len(entered) <= most:
                problems.append(f"{len(entered)} threads of at most {most}")
            if task.block[STATE] & (OPEN | COUNT):
                problems.append(f"left in state {task.block[STATE]:#x}")

    threads = [threading.Thread(target=launch, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert not pool._running


def test_a_launch_ends_where_a_thread_has_no_memory(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(nbytes: int) -> int:
        raise MemoryError

    monkeypatch.setattr(pool_module, "scratch_address", refuse)
    done, ran = threading.Event(), []
    task = task_of(ran.append)
    task.finish = lambda task: done.set()
    pool.submit(task, 2)
    assert done.wait(LONG)
    assert isinstance(task.error, MemoryError)
    assert not ran


def test_an_exception_on_the_way_stops_the_launch(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, stopped = threading.Event(), []

    def work(scratch: int) -> None:
        inside.set()
        while not task.block[STOP]:
            time.sleep(1e-3)
        stopped.append(scratch)

    task = task_of(work)
    fork = pool._fork

    def interrupted(*args: object, leads: bool) -> None:
        fork(*args, leads=leads)  # type: ignore[arg-type]
        assert inside.wait(LONG)
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "_fork", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.lead(task, 1)
    assert len(stopped) == 1
    assert not task.block[STATE] & (OPEN | COUNT)


def test_threads_that_share_processors_do_not_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_processors", lambda: 2)
    assert Pool(2)._native[1] > 0
    shared = Pool(3)
    assert shared._native[1] == 0
    assert shared._words[2] == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or _processors() < 2, reason="one processor, or no choice")
def test_threads_sleep_where_no_other_does_and_run_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "SPIN_NS", 1000)
    allowed, pool, ran, running = os.sched_getaffinity(0), Pool(2), {}, threading.Barrier(2)

    def work(scratch: int) -> None:
        me = threading.get_native_id()
        ran[me] = os.sched_getaffinity(me)
        running.wait(LONG)

    def launch() -> None:
        ran.clear()
        task = task_of(work)
        over = threading.Event()
        task.finish = lambda task: over.set()
        pool.submit(task, 2)
        assert over.wait(LONG)

    def asleep() -> list[set[int]]:
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            found = [os.sched_getaffinity(thread) for thread in ran]
            if pool._busy == 0 and all(len(places) == 1 for places in found):
                break
            time.sleep(1e-3)
        return found

    for _ in range(3):
        launch()
        first, second = asleep()
        assert first.isdisjoint(second)
        assert first | second <= allowed
    launch()
    assert list(ran.values()) == [allowed, allowed]
    asleep()
    one = next(iter(ran))
    (place,) = os.sched_getaffinity(one)
    other = next(iter(allowed - {place}))
    os.sched_setaffinity(one, {other})  # somebody else says where it may run
    launch()
    assert ran[one] == {other}
    assert os.sched_getaffinity(0) == allowed


def test_a_closed_launch_lets_nobody_in() -> None:
    ran: list[int] = []
    task = task_of(ran.append)
    task.block[STATE] = OPEN
    assert native().enter(task.block_address) == 1
    assert native().work(task.block_address, pool_module.scratch_address(4096)) == 0  # nobody wants to be told
    assert native().enter(task.block_address) == 0
    assert len(ran) == 1


def test_a_thread_that_came_too_late_for_its_first_launch_works_on_the_next(pool: Pool) -> None:
    """It has no scratch memory yet; a launch that needs none was closed without having run."""
    late, ran, ended = task_of(lambda scratch: None), [], threading.Event()
    pool._busy = 1
    pool._tickets.put(late)
    pool._grow()
    first = pool_module._BOARD.size_bytes // 8
    deadline = (
        time.monotonic() + 0.2
    )  # where threads do not keep their processors it goes to sleep, and nobody can see it
    while pool._words[first] != IDLE and time.monotonic() < deadline:
        time.sleep(1e-4)
    task = task_of(ran.append)
    task.block[SCRATCH_BYTES] = 0
    task.finish = lambda task: ended.set()
    pool.submit(task, 1)
    assert ended.wait(LONG)
    assert len(ran) == 1


def test_what_is_left_is_taken_in_ever_smaller_batches() -> None:
    """Each group says how many had been taken when it began; one thread takes them all."""
    program = hw.compile(
        "kernel void k(global long *taken, global const volatile long *block) { taken[get_group_id(0)] = block[0]; }",
        device="cpu",
    )
    launch = program.on(hw.device("cpu")).kernels["k"].prepare((100,), (1,))
    taken = np.zeros(100, np.int64)
    task = launch.host.pack((taken, launch.host.block))
    task.block[BATCH], task.block[TAIL] = 16, 2
    task.args[8:16] = task.block_address.to_bytes(8, "little")
    launch.host.entry(task.block_address, task.args_address, scratch_address(0))
    batches = np.diff(np.unique([0, *taken]))
    assert batches.tolist() == [16, 16, 16, 13, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1]


def test_short_launches_with_helpers_are_tried_alone_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    program = hw.compile("kernel void k(global int *x) { x[get_global_id(0)]++; }", device="cpu")
    launch = program.on(hw.device("cpu")).kernels["k"].prepare((4096,), (64,))
    launch.threads = 2  # as on two processors at least
    leads: list[Task] = []
    monkeypatch.setattr(pool_module.Pool, "lead", lambda self, task, helpers, expected_ns: leads.append(task))

    def is_alone(cost_ns: int) -> bool:
        launch._cost, before = cost_ns, len(leads)
        launch([np.zeros(4096, np.int32)], None, None)
        return len(leads) == before

    short = [number for number in range(1, 20) if is_alone(cpu_launch.ALONE_NS - 1)]
    assert short == [1, 2, 4, 8, 16]
    assert not any(is_alone(cpu_launch.ALONE_NS) for _ in range(70))

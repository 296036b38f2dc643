"""Programs of copies and kernels: what overlaps, what waits for what, and what the whole costs."""

import json
from itertools import pairwise
from typing import Any

import pytest

from headwater import chips
from headwater.cli import main
from headwater.errors import UsageError
from headwater.timing.host import (
    CALL_BYTES,
    COMMAND_BUFFER_BYTES,
    LAUNCH_SECONDS,
    STAGING_BYTES_PER_SECOND,
    host,
    link_bytes_per_second,
    start_seconds,
)
from headwater.timing.sweep import variants
from headwater.timing.system import SUBMIT_SECONDS, System

VEGA, HD5870, HD6970 = chips.find("vega64"), chips.find("hd5870"), chips.find("hd6970")
MIB = 1 << 20
KERNEL = 3e-3
LAUNCH = LAUNCH_SECONDS["gcn"]
COMMANDS = CALL_BYTES / link_bytes_per_second(VEGA)


def program(chip: Any, queues: int, times: int, nbytes: int, *, pinned: bool = True) -> Any:
    system = System(chip)
    made = [system.queue() for _ in range(queues)]
    for turn in range(times):
        queue = made[turn % queues]
        queue.write(nbytes, pinned=pinned)
        queue.launch(KERNEL, flops=1000)
        queue.read(nbytes, pinned=pinned)
    return system.run()


def test_one_launch_takes_what_the_sums_say() -> None:
    figures = host(VEGA, 64 * MIB, 64 * MIB)
    found = program(VEGA, 1, 1, 64 * MIB).seconds
    assert found == pytest.approx(figures.seconds(KERNEL) - LAUNCH + COMMANDS)  # the driver works while data is copied
    small = program(VEGA, 1, 1, 64).seconds
    assert small == pytest.approx(host(VEGA, 64, 64).seconds(KERNEL), abs=2 * SUBMIT_SECONDS)


def test_memory_that_is_not_pinned_is_copied_twice() -> None:
    pinned, pageable = (program(VEGA, 1, 1, 64 * MIB, pinned=p).seconds for p in (True, False))
    assert pageable - pinned == pytest.approx(2 * 64 * MIB / STAGING_BYTES_PER_SECOND)


def test_two_queues_hide_copies_behind_kernels() -> None:
    nbytes = round(KERNEL * link_bytes_per_second(VEGA))  # a copy takes as long as a kernel
    one, two, three = (program(VEGA, queues, 30, nbytes).seconds for queues in (1, 2, 3))
    assert one == pytest.approx(30 * 3 * KERNEL, rel=0.05)
    assert two == pytest.approx(30 * 1.5 * KERNEL, rel=0.1)  # each queue has three steps, and there are two queues
    assert three == pytest.approx(30 * KERNEL, rel=0.1)  # one engine for each direction, and the kernels


def test_a_board_with_one_engine_copies_one_way_at_a_time() -> None:
    nbytes = round(KERNEL * link_bytes_per_second(HD5870))
    assert program(HD5870, 3, 30, nbytes).seconds == pytest.approx(30 * 2 * KERNEL, rel=0.1)
    assert program(HD6970, 3, 30, nbytes).seconds == pytest.approx(30 * KERNEL, rel=0.1)


def test_kernels_of_all_queues_take_turns_and_nothing_overlaps_itself() -> None:
    found = program(VEGA, 4, 40, MIB)
    by_place: dict[str, list[tuple[float, float]]] = {}
    for step in found.steps:
        by_place.setdefault(step.place, []).append((step.begin, step.end))
    assert set(by_place) == {"commands", "kernels", "copies in", "copies out"}
    for place, times in by_place.items():
        ordered = sorted(times)
        assert all(after[0] >= before[1] for before, after in pairwise(ordered)), place
    assert found.seconds >= 40 * (KERNEL + start_seconds(VEGA))
    for before, after in pairwise(found.commands):
        if before.queue == after.queue:
            assert after.begin >= before.end


def test_system_gflops_are_those_of_the_whole_time() -> None:
    found = program(VEGA, 1, 10, 16 * MIB)
    assert found.flops == 10_000
    assert found.kernel_gflops == pytest.approx(10_000 / (10 * KERNEL) / 1e9)
    assert found.system_gflops == pytest.approx(10_000 / found.seconds / 1e9)
    assert found.system_gflops < found.kernel_gflops


def test_events_order_queues_and_boards() -> None:
    system = System([VEGA, HD5870])
    first, second = system.queue(0), system.queue(1)
    made = first.launch(KERNEL, name="first")
    back = first.read(8 * MIB)
    there = second.write(8 * MIB, after=[back])
    last = second.launch(KERNEL, after=[made, there], name="last")
    found = system.run()
    assert back.begin >= made.end
    assert there.begin >= back.end
    assert last.begin >= there.end
    assert found.seconds == pytest.approx(last.end)
    assert set(found.busy()) == {
        "commands of board 0",
        "kernels of board 0",
        "copies out of board 0",
        "copies of board 1",
        "commands of board 1",
        "kernels of board 1",
    }


def test_boards_work_at_the_same_time() -> None:
    system = System([VEGA, VEGA])
    for device in (0, 1):
        system.queue(device).launch(KERNEL)
    assert system.run().seconds < 1.1 * KERNEL


def test_a_host_that_waits_gives_nothing_meanwhile() -> None:
    def seconds(wait: bool) -> float:
        system = System(VEGA)
        queue = system.queue()
        for _ in range(10):
            one = queue.launch(100e-6)
            if wait:
                system.wait(one)
        return system.run().seconds

    assert seconds(True) == pytest.approx(10 * (LAUNCH + 100e-6), rel=0.1)  # each launch's way to the board
    assert seconds(False) == pytest.approx(LAUNCH + 10 * (100e-6 + start_seconds(VEGA)), rel=0.1)


@pytest.mark.parametrize(("name", "microseconds"), [("firepro-w9100", 86.2822), ("hd5870", 95.4123)])
def test_four_launches_wait_as_long_as_shoc_published(name: str, microseconds: float) -> None:
    """SHOC, QueueDelay: four launches of an empty kernel at once, the mean of what each waits behind its submission."""
    system = System(chips.find(name))
    launches = [system.queue(0).launch(1e-6)]
    launches += [system.queue(0).launch(1e-6, after=launches[-1:]) for _ in range(3)]
    system.run()
    found = sum(one.begin for one in launches) / 4
    assert found * 1e6 == pytest.approx(microseconds, rel=0.12)


def test_launches_flush_the_command_queue_and_short_ones_leave_gaps() -> None:
    """Technical Overview, ATI Stream Computing, 2.6.2 and 3.3.7."""

    def seconds(kernel: float, buffered: int, launches: int = 10) -> float:
        system = System(HD5870)
        queue = system.queue()
        for _ in range(launches):
            queue.buffer(buffered)
            queue.launch(kernel)
        return system.run().seconds

    rate = link_bytes_per_second(HD5870)
    reading = [CALL_BYTES / rate, (CALL_BYTES + COMMAND_BUFFER_BYTES - 4096) / rate]
    assert reading[0] < start_seconds(HD5870) < reading[1]  # in the time between two kernels, or longer
    first = LAUNCH_SECONDS["vliw"] + 10 * 1e-3
    assert seconds(1e-3, 0) == pytest.approx(first + reading[0] + 9 * start_seconds(HD5870))
    assert seconds(1e-3, COMMAND_BUFFER_BYTES - 4096) == pytest.approx(first + 10 * reading[1])
    assert 10 * 10e-6 / seconds(10e-6, 0) < 0.5 < 10 * 1e-3 / seconds(1e-3, 0)
    # Too much for the buffer: the host packs it anew, and is what short kernels wait for.
    assert seconds(10e-6, 4 * COMMAND_BUFFER_BYTES) > seconds(10e-6, 2 * COMMAND_BUFFER_BYTES) > seconds(10e-6, 0)
    system = System(HD5870)
    queue = system.queue()
    queue.buffer(3 * COMMAND_BUFFER_BYTES)
    assert queue.launch(1e-3).packages == 4
    assert queue.launch(1e-3).packages == 1
    with pytest.raises(UsageError, match="-1 bytes of commands"):
        queue.buffer(-1)


def test_a_program_can_be_run_again() -> None:
    system = System(VEGA)
    queue = system.queue()
    queue.write(MIB)
    queue.launch(KERNEL)
    assert system.run().seconds == system.run().seconds


def test_timelines_are_trace_events(tmp_path: Any) -> None:
    found = program(VEGA, 2, 3, MIB, pinned=False)
    found.save_timeline(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"host", "board 0: Radeon RX Vega 64", "command processor", "DMA engine to the board"} <= names
    assert sum(event["name"] == "kernel" for event in events) == 3
    assert json.loads(json.dumps(found.as_json()))["seconds"] == found.seconds


def test_what_cannot_be_is_refused() -> None:
    system, other = System(VEGA), System(VEGA)
    queue = system.queue()
    with pytest.raises(UsageError, match="-1 bytes cannot be copied"):
        queue.write(-1)
    with pytest.raises(UsageError, match="cannot take -1 s"):
        queue.launch(-1.0)
    with pytest.raises(UsageError, match="there is no board 1"):
        system.queue(1)
    foreign = other.queue().launch(1.0)
    with pytest.raises(UsageError, match="a command of another system"):
        queue.launch(1.0, after=[foreign])
    with pytest.raises(UsageError, match="without a board"):
        System([])


def test_variants_of_a_chip() -> None:
    made = variants(VEGA, ["clock_mhz=1000,1200", "memory.gigabytes_per_second=100:400:4"])
    assert [(c.compute.clock_mhz, c.memory.gigabytes_per_second) for c in made] == [
        (clock, rate) for clock in (1000, 1200) for rate in (100, 200, 300, 400)
    ]
    for word in ("clock_mhz", "clock_mhz=", "clock_mhz=1:2", "clock_mhz=1:2:1", "clock_mhz=a,b"):
        with pytest.raises(UsageError, match="--sweep takes FIGURE=VALUES"):
            variants(VEGA, [word])
    with pytest.raises(UsageError, match="more than 100,000 chips"):
        variants(VEGA, ["clock_mhz=500:1000:1000", "memory.gigabytes_per_second=100:400:101"])
    with pytest.raises(UsageError, match="no figure 'clok_mhz'"):
        variants(VEGA, ["clok_mhz=1000"])


def test_the_command_repeats_and_sweeps(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    body = "{ int i = get_global_id(0); y[i] = x[i] + 1; }"
    (tmp_path / "k.cl").write_text(f"kernel void copy(global const float *x, global float *y) {body}")
    words = ["simulate", str(tmp_path / "k.cl"), "x=ones:65536", "--local", "256", "--device", "vega64"]
    found = {}
    for queues in ("1", "2"):
        assert (
            main([*words, "--repeat", "6", "--queues", queues, "--json", "--timeline", str(tmp_path / "t.json")]) == 0
        )
        found[queues] = json.loads(capsys.readouterr().out)["program"]
    assert found["2"]["seconds"] < 0.9 * found["1"]["seconds"]
    assert found["1"]["system_gflops"] < found["1"]["kernel_gflops"]
    assert len(found["2"]["commands"]) == 18
    names = [event["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]]
    assert names.count("copy") == 6
    assert main([*words, "--repeat", "2", "--pageable"]) == 0
    text = capsys.readouterr().out
    assert "2 times in one queue, with copies" in text
    assert "copying on the host" in text
    assert main([*words, "--sweep", "memory.gigabytes_per_second=121,242", "--json"]) == 0
    cycles = [one["cycles"] for one in json.loads(capsys.readouterr().out)["launches"]]
    assert cycles[1] > 1.2 * cycles[2] > cycles[0]
    for extra, message in (
        (["--queues", "2"], "say --repeat N, too"),
        (["--repeat", "0"], "--repeat takes a whole number from 1, not '0'"),
        (["--sweep", "clock_mhz"], "--sweep takes FIGURE=VALUES"),
    ):
        assert main([*words, *extra]) == 2
        assert message in capsys.readouterr().err

"""Stepping through kernels of both families: known values, the translator's results, and the way back."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headwater as hw
from headwater.errors import KernelFault, UsageError
from headwater.step import Abandoned, Session
from headwater.step.stepper import INTERVAL

SOURCE = """\
__kernel void sums(__global const float *x, __global float *y, int n)
{
    __local float t[128];
    int i = get_global_id(0);
    int l = get_local_id(0);
    t[l] = x[i] * 2.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0.0f;
    for (int j = 0; j <= l % 5; j++)
        s += t[(l + 3 * j) % 128];
    if (i < n)
        y[i] = s;
}
__kernel void plain(__global const int *x, __global int *y, int n)
{
    int i = get_global_id(0), s = 0;
    for (int j = 0; j < x[i] % 7; j++)
        s = s * 3 + j;
    y[i] = i < n ? s : -1;
}
__kernel void endless(__global int *x, int n)
{
    for (int j = 0; j < n; j++)
        x[j % 16] += j;
}
"""
BROOK = """\
kernel void blend(float a<>, float b[][], out float c<>)
{
    float2 at = indexof(c).xy;
    c = a + b[at.y][at.x] * 0.5f;
}
reduce void total(float a<>, reduce float r<>)
{
    r += a;
}
"""
X = np.arange(256, dtype=np.float32)
HUGE = ("break {}", "watch y[{}]", "watch y[0:{}]", "watch v0[{}]", "print y[{}]", "print y[0:{}]")
FAMILIES = ["vega64", "hd5870", "hd6970"]


@pytest.fixture(scope="module")
def program():
    return hw.compile(SOURCE, language="opencl")


def stepping(program, device, n=256):
    y = np.full(256, -1, np.float32)
    return Session(lambda: program.sums[(256,), (128,)](X, y, n, device=device)), y


def seen(stepper):
    """A state, without why it was come to and who is looked at."""
    state = stepper.state(memory=300)
    for key in ("stop", "wavefront", "place", "vectors", "scalars"):
        del state[key]
    machine = stepper.machine
    registers = [[machine.vector(wave, n).tolist() for n in machine.vectors.values()] for wave in machine.waves]
    scalars = [[machine.scalar(wave, name) for name in machine.scalars] for wave in machine.waves]
    return json.dumps([state, registers, scalars], allow_nan=False)


@pytest.mark.parametrize("device", FAMILIES)
def test_known_values_are_seen_where_the_source_has_them(program, device):
    session, y = stepping(program, device)
    with session:
        stepper = session.stepper
        stepper.to_barrier()
        assert stepper.stop.reason == "barrier"
        assert stepper.machine.state(stepper.machine.waves[0]) == "at a barrier"
        stepper.step_line()
        assert stepper.place.line > 7
        assert np.array_equal(stepper.read("lds").view(np.float32), X[:128] * 2)
        # Lane l goes round the loop, or its copies, l % 5 + 1 times.
        masks = set()
        while stepper.place is not None and stepper.place.line != 12:
            stepper.step_instruction()
            masks.add(stepper.register("exec"))
        assert masks >= {sum(1 << lane for lane in range(64) if lane % 5 >= turn) for turn in range(5)}
        stepper.go_to(0)
        assert stepper.to_group_end().reason == "group"
        t = X[:128] * 2
        sums = [sum(t[(i + 3 * j) % 128] for j in range(i % 5 + 1)) for i in range(128)]
        assert stepper.read("y")[:128].tolist() == sums
        assert stepper.read("y")[128:].tolist() == [-1] * 128
        session.finish()
    assert y[:128].tolist() == sums


@pytest.mark.parametrize("device", ["vega64", "tahiti", "mi100", "hd3870", "hd4870", "hd5870", "hd6970"])
def test_results_are_those_of_the_translated_code(program, device):
    x = np.random.default_rng(1).integers(0, 50, 200, np.int32)
    found, wanted = np.zeros(200, np.int32), np.zeros(200, np.int32)
    with Session(lambda: program.plain[(200,), (100,)](x, found, 190, device=device)) as session:
        session.finish()
    program.plain[(200,), (100,)](x, wanted, 190, device=device)
    assert np.array_equal(found, wanted)
    assert wanted[-1] == -1


@pytest.mark.parametrize("device", ["vega64", "hd3870", "hd5870"])
def test_brook_kernels_step_by_pixels_or_work_items(device):
    made = hw.compile(BROOK, language="brook")
    a = np.random.default_rng(2).random((11, 13), np.float32)
    b = np.random.default_rng(3).random((11, 13), np.float32)
    with Session(lambda: made.blend(a, b, device=device)) as session:
        found = session.finish()
    assert np.array_equal(np.asarray(found), np.asarray(made.blend(a, b, device=device)))
    with Session(lambda: made.total(a, device=device)) as session:
        total = session.finish()
    assert np.float32(total) == np.float32(made.total(a, device=device))


def test_a_call_with_several_launches_stops_at_each(program):
    y = np.zeros(256, np.float32)
    z = np.zeros(256, np.float32)

    def call():
        program.sums[(256,), (128,)](X, y, 256, device="vega64")
        program.sums[(256,), (128,)](y, z, 256, device="vega64")
        return "both"

    with Session(call) as session:
        assert session.next_launch()
        assert session.launches == 2
        assert np.array_equal(session.stepper.read("x"), y)
        assert y.any()
        assert not z.any()
        assert not session.next_launch()
        assert session.result == "both"
    assert z.any()


@pytest.mark.parametrize("device", FAMILIES)
def test_backwards_and_forwards_again_gives_the_same_states(program, device):
    session, y = stepping(program, device)
    with session:
        stepper = session.stepper
        states = [seen(stepper)]
        while not stepper.ended:
            # Wavefronts in an order of their own, which is to be kept.
            if len(states) == 40:
                stepper.select(1)
            stepper.step_instruction()
            while len(states) <= stepper.position:
                states.append("")
            states[stepper.position] = seen(stepper)
        final = y.copy()
        assert len(states) > 2 * INTERVAL
        for position in random.Random(4).sample(range(len(states)), 60):
            stepper.go_to(position)
            if states[position]:
                assert seen(stepper) == states[position], position
        stepper.go_to(0)
        assert y.tolist() == [-1] * 256
        session.finish()
    assert np.array_equal(y, final)


def test_memory_for_the_way_back_stays_bounded(program):
    x = np.zeros(64, np.int32)
    with Session(lambda: program.endless[(1,), (1,)](x, 3000, device="vega64")) as session:
        stepper = session.stepper
        counts = []
        while stepper.finish(limit=4000).reason == "limit":
            counts.append(len(stepper._snapshots))
        assert stepper.position > 20_000
        assert counts[-1] < 60
        assert counts[-1] < counts[0] + 20
        assert stepper.machine.journal.nbytes < 1 << 16
        stepper.go_to(1)
        assert not x.any()
        session.finish()
    assert x[0] == sum(range(0, 3000, 16))


@pytest.mark.parametrize("device", FAMILIES)
def test_watchpoints_stop_at_changes_and_back_finds_the_last(program, device):
    session, _ = stepping(program, device)
    with session:
        stepper = session.stepper
        stepper.add_watchpoint("y[5]")
        stop = stepper.resume()
        assert stop.reason == "watchpoint"
        assert stop.text.startswith("y[5]: 0xbf800000 -> 0x")
        at = stepper.position
        assert stepper.read("y", 5, 1)[0] == 10.0
        stepper.finish()
        stop = stepper.back()
        assert (stop.reason, stepper.position) == ("watchpoint", at)
        stepper.back_instruction()
        assert stepper.read("y", 5, 1)[0] == -1
        stepper.back()
        assert stepper.position == 0


def test_watchpoints_of_registers_tell_lane_and_values(program):
    session, _ = stepping(program, "vega64")
    with session:
        stepper = session.stepper
        stepper.add_watchpoint("scc")
        assert stepper.resume().reason == "watchpoint"
        stepper.delete(1)
        stepper.add_watchpoint("exec")
        stop = stepper.resume()
        assert "0xffffffffffffffff -> " in stop.text
        with pytest.raises(UsageError, match="lanes are 0 to 63"):
            stepper.add_watchpoint("v0[64]")
        with pytest.raises(UsageError, match="there is no memory called 'v999'"):
            stepper.add_watchpoint("v999")


@pytest.mark.parametrize("device", FAMILIES)
def test_the_next_difference_between_two_lanes_is_found(program, device):
    session, _ = stepping(program, device)
    with session:
        stepper = session.stepper
        # Lanes 1 and 6 go round the loop as often; 4 goes round longer than 3.
        stepper.add_breakpoint("10")
        stepper.resume()
        stepper.delete(1)
        stop = stepper.to_difference(3, 4)
        assert stop.reason == "difference"
        new = set(stop.text.removeprefix("lanes 3 and 4 differ in ").split(", "))
        assert new <= set(stepper.differences(3, 4))
        stepper.back_instruction()
        assert not new & set(stepper.differences(3, 4))
        while "exec" not in stepper.stop.text:
            assert stepper.to_difference(3, 4).reason == "difference"
        assert not stepper.register("exec") >> 3 & 1
        assert stepper.register("exec") >> 4 & 1


@pytest.mark.parametrize("device", FAMILIES)
def test_breakpoints_at_mnemonics_labels_and_of_one_wavefront(program, device):
    session, _ = stepping(program, device)
    with session:
        stepper = session.stepper
        place = stepper.machine.code[2]
        stepper.add_breakpoint(f"@{place.label}", wave=1)
        assert stepper.resume().reason == "breakpoint"
        assert (stepper.wave, stepper.place.address) == (1, place.address)
        assert stepper.resume().reason == "breakpoint"
        assert stepper.machine.group == (1, 0, 0)
        assert stepper.resume().reason == "end"
        for wrong, said in (("1000", "no code was made of line 1000"), ("@zz", "there is no instruction at @zz")):
            with pytest.raises(UsageError, match=said):
                stepper.add_breakpoint(wrong)
        name = stepper.machine.code[0].mnemonics[0]
        assert stepper.add_breakpoint(f"{name[:3]}*").addresses
        with pytest.raises(UsageError, match="is a v_nonsense"):
            stepper.add_breakpoint("v_nonsense")


def test_work_groups_are_run_in_the_order_that_is_asked_for(program):
    session, y = stepping(program, "hd5870")
    with session:
        stepper = session.stepper
        stepper.step_instruction(3)
        stepper.begin_group((1, 0, 0))
        assert stepper.machine.group == (1, 0, 0)
        assert (y[:128] >= 0).all()
        assert (y[128:] == -1).all()
        with pytest.raises(UsageError, match="has been run already"):
            stepper.begin_group((0, 0, 0))
        for wrong in ((2, 0, 0), (0, 0), (0, 0, 0, 0), (0.5, 0, 0), "000", 1):
            with pytest.raises(UsageError, match="there is no work-group"):
                stepper.begin_group(wrong)
        assert stepper.to_group_end().reason == "end"
        stepper.go_to(0)
        stepper.begin_group((1, 0, 0))
        session.finish()
    assert (y >= 0).all()


def test_clauses_and_lines_are_stepped_by(program):
    session, _ = stepping(program, "hd5870")
    with session:
        stepper = session.stepper
        first = stepper.place.clause
        stepper.step_clause()
        assert stepper.place.clause != first
        assert stepper.place.label.endswith(".0") or "." not in stepper.place.label
        line = stepper.place.line
        stepper.step_line()
        assert stepper.place.line != line
        stepper.step_instruction(5)
        stepper.back_line()
        line = stepper.place.line
        stepper.back_instruction()
        assert stepper.place.line != line


def test_a_line_back_from_the_end_passes_instructions_of_no_line(program):
    session, _ = stepping(program, "hd5870")
    with session:
        stepper = session.stepper
        stepper.to_group_end()
        assert not stepper.machine.code[-1].line
        stepper.back_line()
        assert stepper.place.line == 12


@pytest.mark.parametrize("device", FAMILIES)
def test_faults_are_told_can_be_gone_back_from_and_are_the_calls_error(program, device):
    x = np.zeros(64, np.int32)
    y = np.zeros(16, np.int32)
    with Session(lambda: program.plain[(64,), (64,)](x, y, 64, device=device)) as session:
        stepper = session.stepper
        assert stepper.resume().reason == "fault"
        assert stepper.state()["fault"]["message"]
        at = stepper.position
        with pytest.raises(UsageError, match="at fault"):
            stepper.step_instruction()
        stepper.back_instruction(2)
        assert (stepper.fault, stepper.position) == (None, at - 1)
        with pytest.raises(KernelFault):
            session.finish()


def test_leaving_runs_native_code_from_the_beginning_and_closing_puts_back(program):
    session, y = stepping(program, "vega64")
    session.stepper.step_instruction(200)
    session.leave()
    wanted = np.zeros(256, np.float32)
    program.sums[(256,), (128,)](X, wanted, 256, device="vega64")
    assert np.array_equal(y, wanted)
    session, y = stepping(program, "vega64")
    session.stepper.to_group_end()
    assert (y[:128] >= 0).all()
    session.close()
    assert y.tolist() == [-1] * 256


def test_an_error_inside_is_raised_whatever_the_call_does_about_its_end(program, monkeypatch):
    monkeypatch.setattr("headwater.step.session._PATIENCE", 0.2)
    x, y, told, seen = np.arange(64, dtype=np.int32), np.full(64, -1, np.int32), threading.Event(), []

    def launch():
        program.plain[(64,), (64,)](x, y, 64, device="vega64")

    def tries_again():
        for _ in range(3):
            try:
                launch()
            except Exception as error:
                seen.append(error)

    def waits_for_the_body():
        try:
            launch()
        finally:
            told.wait(60)
            try:
                launch()
            except BaseException as error:
                seen.append(error)

    for call in (tries_again, waits_for_the_body):
        with pytest.raises(UsageError, match="-1 instructions"), Session(call) as session:
            session.stepper.go_to(-1)
        assert session.stepper is None
    assert not seen
    told.set()
    session._thread.join(30)
    assert [type(error) for error in seen] == [Abandoned]
    assert y.tolist() == [-1] * 64


def test_there_must_be_a_launch_on_a_simulated_chip(program):
    y = np.zeros(256, np.float32)
    with pytest.raises(UsageError, match="nothing was launched on a simulated chip"):
        Session(lambda: program.sums[(256,), (128,)](X, y, 256, device="cpu"))
    with pytest.raises(ZeroDivisionError):
        Session(lambda: 1 // 0)


def test_printf_and_images_work_as_ever(capsys):
    source = """
__kernel void p(read_only image2d_t a, write_only image2d_t b)
{
    const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(b, at, read_imagef(a, s, at) + 1.0f);
    if (at.x == 3 && at.y == 2) printf("at %d %d\\n", at.x, at.y);
}
"""
    made = hw.compile(source, language="opencl")
    pixels = np.random.default_rng(5).random((4, 8, 4), np.float32)
    for device in ("vega64", "hd5870"):
        out = np.zeros_like(pixels)
        with Session(lambda: made.p[(8, 4), (8, 4)](hw.Image(pixels), hw.Image(out), device=device)) as session:  # noqa: B023
            session.finish()
        assert np.array_equal(out, pixels + 1)
        assert capsys.readouterr().out == "at 3 2\n"


def interrupted_at(stepper, monkeypatch, count):
    """From now on the instruction behind so many is half run when it is interrupted: done, but not counted."""
    step, left = stepper.machine.step, [count]

    def half(wave):
        step(wave)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(stepper.machine, "step", half)


@pytest.mark.parametrize("device", FAMILIES)
def test_an_interruption_leaves_no_instruction_half_run(program, device, monkeypatch):
    session, y = stepping(program, device)
    with session:
        stepper = session.stepper
        stepper.go_to(150)
        wanted = seen(stepper)
        stepper.go_to(0)
        interrupted_at(stepper, monkeypatch, 151)
        stop = stepper.finish()
        assert (stop.reason, stepper.position) == ("interrupt", 150)
        assert seen(stepper) == wanted
        stepper.go_to(0)
        interrupted_at(stepper, monkeypatch, 101)
        with pytest.raises(KeyboardInterrupt):
            stepper.go_to(150)
        assert stepper.position == 100
        stepper.go_to(150)
        assert seen(stepper) == wanted
        interrupted_at(stepper, monkeypatch, 5)
        with pytest.raises(KeyboardInterrupt):
            stepper.back()
        stepper.go_to(150)
        assert seen(stepper) == wanted
        session.finish()
    x = np.full(256, -1, np.float32)
    program.sums[(256,), (128,)](X, x, 256, device=device)
    assert np.array_equal(y, x)


def there_and_back(stepper):
    stepper.go_to(0)
    stepper.go_to(140)
    stepper.go_to(0)


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_signals_wait_for_the_end_of_an_instruction_and_of_a_way_back(program, monkeypatch):
    """Wherever Ctrl-C falls, also twice, each state is one between two instructions."""
    session, _ = stepping(program, "vega64")
    with session:
        stepper = session.stepper
        stepper.go_to(140)
        wanted = seen(stepper)
        for where in ("machine.step", "machine.restore", "machine.saved", "_ready"):
            *path, name = where.split(".")
            owner = getattr(stepper, path[0]) if path else stepper
            real, left = getattr(owner, name), [2]

            def sent(*args, real=real, left=left):
                result = real(*args)
                left[0] -= 1
                if left[0] in (0, 1):
                    os.kill(os.getpid(), signal.SIGINT)
                return result

            monkeypatch.setattr(owner, name, sent)
            with pytest.raises(KeyboardInterrupt):
                there_and_back(stepper)
            monkeypatch.undo()
            stepper.go_to(0)
            stepper.go_to(140)
            assert seen(stepper) == wanted
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_who_is_interrupted_while_the_call_goes_on_has_left_it(program):
    first, second, go_on = np.full(64, -1, np.int32), np.full(64, -1, np.int32), threading.Event()

    def launches():
        program.plain[(64,), (64,)](np.arange(64, dtype=np.int32), first, 64, device="vega64")
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait(2)
        program.plain[(64,), (64,)](np.arange(64, dtype=np.int32), second, 64, device="vega64")

    with Session(launches) as session, pytest.raises(KeyboardInterrupt):
        session.next_launch()
    go_on.set()
    session._thread.join(30)
    assert not session._thread.is_alive()
    assert (first >= 0).all()
    assert (second == -1).all()


@pytest.mark.parametrize("device", FAMILIES)
def test_numbers_of_a_state_are_exact_as_doubles(program, device):
    session, _ = stepping(program, device)
    with session:
        scalars = session.stepper.state()["scalars"]
        assert scalars["exec"] == "0xffffffffffffffff"
        assert all(value < 1 << 53 for value in scalars.values() if not isinstance(value, str))


def test_lanes_ranges_and_types_that_are_not_printed_are_refused(program):
    from headwater.cli.step_commands import answer

    session, _ = stepping(program, "vega64")
    with session:
        assert answer(session, "print exec")[0].plain.startswith("exec = 0xffffffffffffffff")
        assert answer(session, "print s0 hex")[0].plain.count("=") == 1
        for wrong, said in (
            ("print v0[64]", "no lane 64"),
            ("lane 64", "no lane 64"),
            ("print v0[0:4]", "one lane or all"),
            ("print y f32", "is memory"),
            ("print exec f32", "more than 32 bits"),
            *((f"{command.format('9' * 5000)}", "no number of a line or an element") for command in HUGE),
            (f"goto {'9' * 5000}", "a number of instructions"),
            (f"group {'9' * 5000}", "no work-group"),
        ):
            with pytest.raises(UsageError, match=said):
                answer(session, wrong)


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_a_script(tmp_path):
    path = tmp_path / "endless.cl"
    path.write_text(SOURCE)
    command = [sys.executable, "-m", "headwater", "step", str(path), "zeros:64", "100000000", "--global", "1"]
    command += ["--kernel", "endless", "--device", "vega64"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write("finish; print x\n")
        process.stdin.close()
        assert process.stdout.readline().startswith("work-group")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "x[0]" not in process.stdout.read()

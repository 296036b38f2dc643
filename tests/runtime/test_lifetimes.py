"""What native code is given the address of lives until the launch has ended, and no longer."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import headwater as hw
from headwater.base import arrays
from headwater.native.pool import Task
from headwater.runtime.cpu import checked
from headwater.runtime.gcn import images as gcn_images, legacy as simulated_legacy
from headwater.runtime.simulated import printf_memory
from headwater.runtime.vliw import launch as vliw_launch, opencl as vliw_opencl

# A table of the program, printf's memory, a picture's description and a copy of a buffer of odd size are made for each
# launch.
MUCH_MADE = """
__constant int table[600] = {11, 12, 13, 14, 15};
kernel void k(global int *out, global const uchar *bytes, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = table[i] + bytes[i];
  if (i == 1) printf("%d\\n", table[i]);
}
kernel void pixels(global int *out, read_only image2d_t picture) {
  int i = get_global_id(0);
  out[i] = (int)read_imageui(picture, (int2)(i, 0)).x;
}
"""
WAITS = """
kernel void wait(global volatile int *flag) { while (!flag[0]) {} }
kernel void add(global int *x) { x[get_global_id(0)] += 5; }
"""


def watch_memory(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref]:
    """References to all memory that launches make from now on."""
    made: list[weakref.ref] = []

    def noted(nbytes: int, alignment: int = arrays.ALIGNMENT) -> arrays.Array:
        memory = arrays.aligned_bytes(nbytes, alignment)
        made.append(weakref.ref(memory.base))
        return memory

    for module in (checked, gcn_images, printf_memory, simulated_legacy, vliw_launch, vliw_opencl):
        monkeypatch.setattr(module, "aligned_bytes", noted)
    return made


def alive_at_the_end(monkeypatch: pytest.MonkeyPatch, launch: object, made: list[weakref.ref]) -> list[bool]:
    """A list that tells of each memory whether it was there when the last thread had left."""
    found: list[bool] = []
    ended = launch.ended

    def look(task: Task, nanoseconds: int) -> None:
        gc.collect()
        found.extend(one() is not None for one in made)
        ended(task, nanoseconds)

    monkeypatch.setattr(launch, "ended", look)
    return found


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "hd6970", "vega64"])
def test_what_is_made_for_a_launch_lives_as_long_as_it(device, monkeypatch, capsys) -> None:
    source = MUCH_MADE if device != "hd4870" else MUCH_MADE.replace("  if (i == 1) printf", "  if (0) (void)")
    source = source if device == "vega64" else source.partition("kernel void pixels")[0]
    kernels = hw.compile(source, device=device).on(hw.device(device)).kernels
    launch = kernels["k"].prepare((600,), None)
    made = watch_memory(monkeypatch)
    found = alive_at_the_end(monkeypatch, launch, made)
    out, data = np.zeros(600, np.int32), np.arange(5, dtype=np.uint8)
    launch((out, data, 5))
    assert out[:6].tolist() == [11, 13, 15, 17, 19, 0]
    assert set(found) == {True}
    if "pixels" in kernels:
        launch = kernels["pixels"].prepare((8,), None)
        del made[:]
        found = alive_at_the_end(monkeypatch, launch, made)
        launch((out, hw.Image(np.arange(8, dtype=np.uint32).reshape(1, 8))))
        assert out[:8].tolist() == list(range(8))
        assert set(found) == {True}
    gc.collect()
    assert all(one() is None for one in made)


def test_what_a_checked_run_on_the_cpu_makes_lives_as_long_as_it(monkeypatch) -> None:
    launch = hw.compile(WAITS, device="cpu").on(hw.device("cpu")).kernels["add"].prepare((4,), None, check=True)
    made = watch_memory(monkeypatch)
    found = alive_at_the_end(monkeypatch, launch, made)
    numbers = np.zeros(4, np.int32)
    launch((numbers,))
    assert numbers.tolist() == [5] * 4
    assert set(found) == {True}
    gc.collect()
    assert all(one() is None for one in made)


def test_nothing_takes_the_place_of_what_a_launch_keeps() -> None:
    task = Task(np.zeros(40, np.int64), 8)
    first, second = (task.keep(np.zeros(1)) for _ in range(2))
    with pytest.raises(AttributeError):
        task.keep = None  # type: ignore[method-assign]
    assert [id(one) for one in task.owned] == [id(first), id(second)]
    task.release()
    assert task.owned is None


class Exported:
    """An exporter by DLPack whose memory nobody keeps but who imported it."""

    def __init__(self) -> None:
        self.exported: list[weakref.ref] = []

    def __dlpack__(self, **options: object) -> object:
        memory = np.arange(4, dtype=np.int32)
        self.exported.append(weakref.ref(memory))
        return memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return np.zeros(1).__dlpack_device__()


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_memory_that_came_by_dlpack_is_given_back_after_the_launch(device, monkeypatch) -> None:
    launch = hw.compile(WAITS, device=device).on(hw.device(device)).kernels["add"].prepare((4,), None)
    lent = Exported()
    found = alive_at_the_end(monkeypatch, launch, lent.exported)
    launch((lent,), None, 60)
    assert found[:1] == [True]  # of what the kernel has; it may be exported again, to tell its size
    gc.collect()
    assert lent.exported[0]() is None


def test_a_bytearray_cannot_be_resized_while_a_launch_uses_it() -> None:
    program = hw.compile(WAITS, device="cpu")
    flag, numbers = np.zeros(1, np.int32), bytearray(16)
    with hw.Queue("cpu") as queue:
        program.wait[(1,), None](flag, queue=queue)
        program.add[(4,), None](numbers, queue=queue)
        try:
            with pytest.raises(BufferError):
                numbers.extend(bytes(1 << 20))
        finally:
            flag[0] = 1
    assert np.frombuffer(numbers, np.int32).tolist() == [5] * 4
    numbers.extend(bytes(4))

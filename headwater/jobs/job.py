"""Input: a bound kernel and a device. Output: its outputs, and how long it took."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.errors import UsageError
from headwater.files import Array
from headwater.jobs.bind import Request, bind, brook_slots, il_slots, opencl_slots
from headwater.jobs.fence import Fenced

if TYPE_CHECKING:
    from headwater.jobs.bind import Binding, Slot
    from headwater.runtime import Device, Event, Queue


class Watcher(Protocol):
    """Who shows how far a launch is, if ``active``, by its event."""

    active: bool
    event: Event | None


def choose_kernel(program: Any, name: str | None, path: Path) -> str:
    """The kernel that was named, or the only one of the file. UsageError if there is none of that name."""
    kernels: list[str] = [key for key, kernel in program.kernels.items() if getattr(kernel.info, "launchable", True)]
    if not kernels:
        raise UsageError(
            f"{path} has no kernel", hint="a kernel is declared  __kernel void name(…)  or in Brook+  kernel void"
        )
    if name is None:
        if len(kernels) > 1:
            raise UsageError(f"{path} has several kernels", hint=f"choose one with --kernel: {', '.join(kernels)}")
        return kernels[0]
    if name not in kernels:
        from difflib import get_close_matches

        close = get_close_matches(name, kernels, 1)
        known = f"the kernels are {', '.join(kernels)}"
        if name in program.kernels:
            raise UsageError(f"{name} is called by other kernels and cannot be launched itself", hint=known)
        raise UsageError(f"{path} has no kernel {name!r}", hint=f"did you mean {close[0]}?" if close else known)
    return name


def bound(program: Any, name: str, request: Request) -> tuple[list[Slot], Binding]:
    """The parameters of a program's kernel, and what a request gives to them. UsageError as `headwater.jobs.bind.bind`,
    and for sizes that the language does not take."""
    kernel = program.kernels[name]
    if program.language == "brook":
        sizes = (("--global", request.global_size), ("--local", request.local_size), ("--lds", request.lds_bytes))
        for option, value in sizes:
            if value:
                raise UsageError(
                    f"{option} is for OpenCL C; a Brook+ kernel's size is its streams'", hint="use --shape"
                )
        slots = brook_slots(kernel.info, program.module)
    elif program.language == "il":
        return (slots := il_slots(kernel.info)), bind(name, slots, request, kernel.sizes_source)
    else:
        slots = opencl_slots(kernel.info)
    return slots, bind(name, slots, request, program.source)


class Job:
    """One kernel with its arguments, to be run on any device, any number of times, from the same start each time."""

    def __init__(
        self,
        program: Any,
        kernel: str,
        slots: list[Slot],
        binding: Binding,
        *,
        time_limit: float | None = None,
    ) -> None:
        self.program = program
        self.kernel = program.kernels[kernel]
        self.slots = slots
        self.binding = binding
        self.time_limit = time_limit
        self.is_brook = program.language == "brook"
        self.local_size: tuple[int, ...] | None = None  # of the latest OpenCL C launch

    def run(self, device: Device, watcher: Watcher | None = None) -> tuple[dict[str, Array], float]:
        """Run once with arrays; the outputs by name and the seconds from call to answer are returned.

        ``watcher`` gets the launch's event, to show its progress.
        """
        begin = time.perf_counter()
        if self.is_brook:
            returned = self._call_brook(device, self._given())
            seconds = time.perf_counter() - begin
            return self._results(returned), seconds
        values, fences = self._fresh(device)
        queue = None
        if watcher is not None and watcher.active:
            from headwater.runtime import Queue

            queue = Queue(device)  # without one the call would return only when the kernel has ended
        event = self._call_opencl(device, values, queue)
        if watcher is not None:
            watcher.event = event
        event.wait()
        if queue is not None:
            queue.wait()
        for fence in fences:
            fence.check()
        self.local_size = event.local_size
        seconds = time.perf_counter() - begin
        return {name: _pixels(values[name]) for name in self.binding.outputs}, seconds

    def times(self, device: Device, repeats: int, budget: float) -> list[float]:
        """Seconds of the kernel alone, its data on the device: up to ``repeats`` runs within ``budget`` seconds."""
        seconds: list[float] = []
        begin = time.perf_counter()
        while len(seconds) < repeats and (len(seconds) < 3 or time.perf_counter() - begin < budget):
            seconds.append(self._time_brook(device) if self.is_brook else self._time_opencl(device))
        return seconds

    def moved_bytes(self, outputs: dict[str, Array]) -> int:
        """Bytes the kernel reads and writes if it touches every element of its buffers once."""
        total = 0
        for slot in self.slots:
            value = self.binding.values.get(slot.name)
            if isinstance(value, np.ndarray) and slot.role in ("buffer", "image"):
                read = slot.read and slot.name not in self.binding.made
                total += value.nbytes * (read + slot.written)
            elif slot.role == "result" and slot.name in outputs:
                total += outputs[slot.name].nbytes
        return total

    # -- OpenCL C ------------------------------------------------------------------------------------------------------

    def _fresh(self, device: Device) -> tuple[dict[str, Any], list[Fenced]]:
        """The arguments, with copies of what the kernel writes: every run begins with the same data.

        Those that nothing else protects from the kernel are fenced, to be checked when it has ended.
        """
        from headwater.runtime import Image

        values: dict[str, Any] = {}
        fences: list[Fenced] = []
        for slot in self.slots:
            value = self.binding.values[slot.name]
            if isinstance(value, np.ndarray) and slot.written:
                if slot.role == "buffer" and device.kind == "cpu":
                    fences.append(Fenced(slot.name, value))
                    value = fences[-1].copy
                else:
                    value = value.copy()
            values[slot.name] = Image(value) if slot.role == "image" else value
        return values, fences

    def _call_opencl(self, device: Device, values: dict[str, Any], queue: Queue | None = None) -> Any:
        sizes = (self.binding.global_size, self.binding.local_size)
        options: dict[str, Any] = {"device": device, "queue": queue}
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit
        if self.binding.lds_bytes:
            options["lds"] = self.binding.lds_bytes
        return self.kernel[sizes](*[values[slot.name] for slot in self.slots], **options)

    def _time_opencl(self, device: Device) -> float:
        values, fences = self._fresh(device)
        if device.kind != "cpu":
            from headwater.runtime import stream

            values = {
                name: stream(value, device=device) if isinstance(value, np.ndarray) and value.ndim else value
                for name, value in values.items()
            }
        seconds = float(self._call_opencl(device, values).seconds)
        for fence in fences:
            fence.check()
        return seconds

    # -- Brook+ --------------------------------------------------------------------------------------------------------

    def _given(self) -> list[Any]:
        return [self.binding.values[slot.name] for slot in self.slots if slot.role != "result"]

    def _call_brook(self, device: Device, values: list[Any]) -> Any:
        options: dict[str, Any] = {"device": device}
        if self.binding.shape is not None:
            options["shape"] = self.binding.shape
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit
        return self.kernel(*values, **options)

    def _results(self, returned: Any) -> dict[str, Array]:
        names = [slot.name for slot in self.slots if slot.role == "result"]
        parts = returned if isinstance(returned, tuple) else (returned,)
        if len(parts) != len(names):
            raise UsageError(f"{self.kernel.name} returned {len(parts)} results for {len(names)} outputs")
        return {name: np.atleast_1d(np.asarray(part)) for name, part in zip(names, parts, strict=True)}

    def _time_brook(self, device: Device) -> float:
        values = self._given()
        if device.kind != "cpu":
            from headwater.runtime import stream

            values = [stream(v, device=device) if isinstance(v, np.ndarray) and v.ndim else v for v in values]
            device.finish()
        begin = time.perf_counter()
        self._call_brook(device, values)
        device.finish()
        return time.perf_counter() - begin


def _pixels(value: Any) -> Array:
    array: Array = value.array if hasattr(value, "descriptor") else value
    return array

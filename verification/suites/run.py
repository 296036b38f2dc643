"""Input: a described program and devices. Output: its answers on each of them, compared."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from verification.suites import CASES
from verification.suites.case import Case, Data, differences

LAUNCH_SECONDS = 60.0
"""A launch's time limit where the device has one."""


@dataclass
class Outcome:
    """A program's answers compared: what is wrong, what is odd, and each device's seconds, compilation included."""

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def run(case: Case, checkout: Path, device_name: str, *, check: bool = False) -> Data:
    """The case's arrays after its launches on the device; HeadwaterError if one fails."""
    import headwater as hw

    device = hw.device(device_name)
    path = checkout / case.file
    program = device.build(
        path.read_text(), str(path), f"-I {path.parent} -I {path.parent.parent} {case.options}".strip()
    )
    data = case.make()
    buffers = {name: device.upload(array) for name, array in data.items()}
    limit = None if device.kind == "opencl" else LAUNCH_SECONDS
    for step in case.steps:
        kernel = program.kernels[step.kernel]
        args = [argument(value, buffers) for value in step.args]
        kernel.prepare(step.global_size, step.local_size, check=check)(args, None, limit).wait()
    device.finish()
    for name, buffer in buffers.items():
        device.download(buffer, data[name])
    return data


def argument(value: Any, buffers: dict[str, Any]) -> Any:
    """What a launch takes for an argument as a case tells it."""
    if isinstance(value, str):
        return buffers[value]
    return {int: np.int32, float: np.float32}.get(type(value), lambda same: same)(value)


def compare(name: str, checkout: Path, devices: Sequence[str], check: bool) -> Outcome:
    """One program on all devices: each against NumPy where it has the answer, and against the first device."""
    import headwater as hw

    case = next(case for case in CASES if case.name == name)
    outcome = Outcome()
    references: list[tuple[str, Data]] = []
    if case.expected is not None:
        references.append(("NumPy", dict(case.expected(case.make()))))
    for device in devices:
        opencl = device.startswith("opencl")
        start = time.perf_counter()
        try:
            found = run(case, checkout, device, check=check and not opencl)
            problems = _problems(case, references, device, found)
            if problems and opencl:
                # Drivers have defects of their own: those that an optimiser makes are not ours.
                plain = dataclasses.replace(case, options=f"{case.options} -cl-opt-disable")
                if not _problems(case, references, device, run(plain, checkout, device)):
                    outcome.notes.append(f"{device} is right only with -cl-opt-disable")
                    problems = []
            outcome.problems += problems
            if device == devices[0]:
                references.append((device, found))
        except hw.HeadwaterError as error:
            outcome.problems.append(f"{device}: {type(error).__name__}: {str(error)[:600]}")
        outcome.seconds[device] = time.perf_counter() - start
    return outcome


def _problems(case: Case, references: Sequence[tuple[str, Data]], device: str, found: Data) -> list[str]:
    problems = []
    for reference, arrays in references:
        for output in case.outputs:
            if output in arrays:
                expected = arrays[output].reshape(found[output].shape)
                if problem := differences(expected, found[output], case.tolerance, case.elementwise):
                    problems.append(f"{output} of {reference} on {device}: {problem}")
    return problems

"""Input: a code object of Triton's and its description. Output: a `Binary`, which launches it on a simulated chip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headwater.base.arrays import Array
from headwater.errors import LaunchError, UsageError
from headwater.runtime.devices import device_for
from headwater.runtime.interface import Device, resolve
from headwater.runtime.machine_code import MachineProgram
from headwater.runtime.simulated.device import SimulatedDevice
from headwater.runtime.simulated.reachable import reachable
from headwater.triton import memory
from headwater.triton.stopwatch import running

HIDDEN_ARGUMENTS = 2
"""What Triton puts behind a kernel's arguments: addresses of scratch memory for the kernel and for a profiler."""


@dataclass(frozen=True)
class Description:
    """What Triton says of a code object beside it: the kernel's ``name``, its wavefronts (``num_warps``) of
    ``warp_size`` work-items, the bytes of LDS that a launch gives (``shared``), and of scratch memory for each group,
    with its alignment."""

    name: str
    num_warps: int
    warp_size: int = 64
    shared: int = 0
    global_scratch_size: int = 0
    global_scratch_align: int = 1
    profile_scratch_size: int = 0

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Description:
        """From Triton's metadata; KeyError or TypeError if it is none."""
        names = cls.__dataclass_fields__
        known = {name: fields[name] for name in names if name in fields}
        numbers = [value for name, value in known.items() if name != "name"]
        if not isinstance(fields["name"], str) or not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise TypeError("a number is expected")
        return cls(**known)


class Binary:
    """A compiled Triton kernel on a chip. ``names``: of its arguments, as messages shall have them."""

    def __init__(
        self,
        code: bytes,
        description: Description,
        device: Device,
        *,
        names: Sequence[str] = (),
        check: bool | None = None,
    ) -> None:
        filename = f"{description.name}.hsaco"
        program = MachineProgram(code, filename, device)
        chosen = program.default_device
        assert isinstance(chosen, SimulatedDevice)
        self.device = chosen
        self.description = description
        self.check = check
        self.kernel = program[description.name]
        built = self.kernel.on(chosen)
        if len(built.info.args) < HIDDEN_ARGUMENTS:
            raise UsageError(f"{filename} is not Triton's: its kernel has {len(built.info.args)} arguments")
        for one in (built, self.kernel):
            renamed = [replace(arg, name=name) for arg, name in zip(one.info.args, names, strict=False)]
            one.info = replace(one.info, args=(*renamed, *one.info.args[len(renamed) :]))

    def __getitem__(self, grid: int | Sequence[int]) -> Any:
        """A function that launches the kernel in ``grid`` work-groups."""
        numbers = (grid,) if isinstance(grid, int) else tuple(grid)
        sizes = (*numbers, 1, 1)[:3]
        return lambda *arguments: self.launch((sizes[0], sizes[1], sizes[2]), arguments)

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        """Launch ``grid`` work-groups, and wait for them. ``arguments``: arrays, tensors, addresses in them, and NumPy
        numbers of the arguments' sizes (whole ones may be Python's).

        LaunchError for arguments that do not fit; KernelFault if the kernel does what faults.
        """
        info = self.kernel.info
        if len(arguments) != len(info.args) - HIDDEN_ARGUMENTS:
            raise LaunchError(
                f"{info.name} takes {len(info.args) - HIDDEN_ARGUMENTS} arguments, {len(arguments)} given",
                hint="constants and arguments that are 1 or None are compiled in, and are not passed",
            )
        if not all(grid):
            return
        about = self.description
        groups = grid[0] * grid[1] * grid[2]
        scratch = memory.aligned(groups * about.global_scratch_size, about.global_scratch_align)
        profile = memory.aligned(groups * about.profile_scratch_size, 1)
        values: list[Any] = []
        others: list[tuple[str, Array]] = []
        for arg, value in zip(info.args, arguments, strict=False):
            if arg.kind == "value":
                values.append(value)
                continue
            place = memory.place(value, arg.name)
            values.append(place.from_there)
            others += place.around
            if place.may_hold_addresses:
                others += memory.targets(place.from_there)
        size = about.num_warps * about.warp_size
        launcher = self.kernel[(grid[0] * size, grid[1], grid[2]), (size, 1, 1)]
        options: dict[str, Any] = {"device": self.device, "lds": about.shared}
        if self.check is not None:
            options["check"] = self.check
        with reachable(others):
            watch = running()
            if watch is None:
                launcher(*values, scratch, profile, **options)
            else:
                options.pop("check", None)
                watch.take(launcher, (*values, scratch, profile), groups, options)


def from_file(path: str, device: Device | str | None) -> Binary:
    """See `headwater.triton.load`."""
    file = Path(path)
    beside = file.with_suffix(".json")
    try:
        code, text = file.read_bytes(), beside.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}") from None
    try:
        description = Description.of(json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{beside} is not Triton's description of a kernel: {error}") from None
    if device is None:
        from headwater.isa.gcn.codeobject import load

        return Binary(code, description, device_for(load(code, str(file)).target))
    return Binary(code, description, resolve(device))

"""Input: a device's name, or none. Output: the `Device` to run on."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.base.numbers import natural
from headwater.errors import DeviceError
from headwater.runtime.interface import Device, resolve

if TYPE_CHECKING:
    from headwater.chips import Chip, Outline
    from headwater.runtime.opencl.device import ClDevice
    from headwater.runtime.simulated.device import SimulatedDevice


def default() -> Device:
    """The device that the environment names: HEADWATER_DEVICE, or Brook+'s BRT_RUNTIME, BRT_ADAPTER; else the cpu."""
    name = os.environ.get("HEADWATER_DEVICE", "").strip()
    if name:
        try:
            return by_name(name)
        except DeviceError as error:
            raise DeviceError(f"HEADWATER_DEVICE={name}: {error.message}", hint=error.hint) from None
    runtime = os.environ.get("BRT_RUNTIME", "").strip().lower()
    if runtime == "cal":
        # Brook+ 1.4 ran "cal" kernels on the GPU number BRT_ADAPTER.
        adapter = os.environ.get("BRT_ADAPTER", "").strip() or "0"
        if not adapter.isdecimal():
            raise DeviceError(f"BRT_ADAPTER={adapter}: not a number", hint="it counts GPUs from 0")
        try:
            return by_name(f"gpu:{adapter}")
        except DeviceError as error:
            raise DeviceError(
                f"BRT_RUNTIME=cal asks for a GPU: {error.message}", hint=error.hint or "set BRT_RUNTIME=cpu"
            ) from None
    if runtime not in ("", "cpu"):
        raise DeviceError(f"BRT_RUNTIME={runtime}: no such run-time", hint="use cpu or cal")
    return _cpu()


def _cpu() -> Device:
    from headwater.runtime.cpu.device import cpu_device

    return cpu_device()


def by_name(text: str) -> Device:
    """The device of a name; DeviceError names those that exist if there is none."""
    name = text.strip()
    lower = name.lower()
    if lower == "cpu":
        return _cpu()
    if lower == "gpu" or lower.startswith(("gpu:", "opencl:")) or lower == "opencl":
        return _opencl(name)
    found = simulated(name) or _opencl_by_device_name(name)
    if found is not None:
        return found
    raise unknown_device(name)


def _opencl(name: str) -> Device:
    """``gpu``, ``gpu:1``, ``opencl``, ``opencl:0``, ``opencl:0:1`` or ``opencl:part of a name``."""
    from headwater.runtime.opencl.device import enumerate_devices

    everything = enumerate_devices()
    if not everything:
        raise unknown_device(name, "PyOpenCL finds no OpenCL driver")
    head, _, rest = name.partition(":")
    gpus = [device for device in everything if device.is_gpu]
    if head.lower() == "gpu":
        if not gpus:
            raise unknown_device(name, "none of the OpenCL devices is a GPU")
        if rest:
            number = natural(rest)
            gpus = [device for device in gpus if _named(device, rest)] if number is None else gpus[number : number + 1]
        if not gpus:
            raise unknown_device(name)
        return gpus[0]
    if not rest:
        return (gpus or everything)[0]
    numbers = [natural(part) for part in rest.split(":")]
    if None not in numbers:
        wanted = f"opencl:{numbers[0]}:{numbers[1] if len(numbers) > 1 else 0}"
        matches = [device for device in everything if device.name == wanted and len(numbers) <= 2]
    else:
        matches = [device for device in everything if _named(device, rest)]
    if not matches:
        raise unknown_device(name)
    return matches[0]


def _named(device: ClDevice, part: str) -> bool:
    return part.lower() in device.description.lower() or part.lower() in device.platform_name.lower()


def _opencl_by_device_name(name: str) -> Device | None:
    from headwater.runtime.opencl.device import available, enumerate_devices

    if not name or not available():
        return None
    matches = [device for device in enumerate_devices() if name.lower() in device.description.lower()]
    exact = [device for device in matches if device.description.lower() == name.lower()]
    found = exact or matches
    return found[0] if found else None


def unknown_device(name: str, reason: str = "") -> DeviceError:
    """A DeviceError that says which devices exist, and which the name is nearest to."""
    import difflib

    from headwater import chips

    if re.fullmatch("gfx[0-9a-f]+", name.lower()):  # LLVM's name of a processor
        return _no_chip(name.lower())
    existing = devices()
    names = [*(device.name for device in existing), *chips.names(), "gpu"]
    known = {**{n.lower(): n for n in names}, **{d.description.lower(): d.description for d in existing}}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    listing = ", ".join(f"{device.name} ({device.description})" for device in existing)
    suggestion = f"did you mean {known[near[0]]!r}? " if near and near[0] != name.lower() else ""
    return DeviceError(
        f"no device {name!r}{f': {reason}' if reason else ''}",
        hint=f"{suggestion}the devices here are {listing}; headwater devices lists the simulated chips, too",
    )


def device(name: Device | str | None = None) -> Device:
    """A device by name: ``"cpu"``, ``"gpu"``, ``"gpu:1"``, ``"opencl"``, ``"opencl:0:1"`` (platform, device),
    ``"opencl:NVIDIA"`` (part of a platform's or device's name), or part of a device's name.

    Without a name: the current device, else HEADWATER_DEVICE, BRT_RUNTIME/BRT_ADAPTER, else the cpu.
    DeviceError if there is none. A device is a context manager: ``with hw.device("gpu"): …``.
    """
    return resolve(name)


def devices() -> list[Device]:
    """Every device of this machine, the cpu first; OpenCL devices are listed if PyOpenCL is installed."""
    from headwater.runtime.opencl.device import available, enumerate_devices

    return [_cpu(), *(enumerate_devices() if available() else [])]


# -- simulated chips ---------------------------------------------------------------------------------------------------

_devices: dict[Outline, SimulatedDevice] = {}
_MAKING = threading.Lock()


def _device(outline: Outline) -> SimulatedDevice:
    """One device for a chip, and another one where a file of the user's has changed."""
    from headwater import chips

    with _MAKING:
        found = _devices.get(outline)
        if found is None or (Path(outline.file).parent != chips.FOLDER and found.chip is not chips.load(outline.file)):
            found = _devices[outline] = _made(outline)
    return found


def _made(outline: Outline) -> SimulatedDevice:
    if not outline.is_vliw:
        from headwater.runtime.gcn.device import GcnDevice

        return GcnDevice(outline)
    from headwater.runtime.vliw.device import VliwDevice

    return VliwDevice(outline)


def simulated(name: str) -> SimulatedDevice | None:
    """The device of a chip's name or alias, or of the path of a chip's file; None if there is no such chip."""
    from headwater import chips

    found = chips.outline(name)
    return None if found is None else _device(found)


def of_chip(chip: Chip) -> SimulatedDevice:
    """A device of its own for a chip that may have no file here: one that another machine has read."""
    from headwater import chips

    made = _made(chips.outline_of(chip))
    made.chip = chip
    return made


def device_for(target: str) -> SimulatedDevice:
    """A device whose chip executes the machine code of LLVM's processor ``target``; DeviceError if there is none.

    Of several, the one that has its target among its aliases: that is what the target alone means on the command line.
    """
    from headwater.chips.gcn_isas import ISA_OF_TARGET
    from headwater.chips.vliw_isas import GENERATION_OF_TARGET

    isas = {**ISA_OF_TARGET, **GENERATION_OF_TARGET}
    devices = all_devices()
    exact = [device for device in devices if device.chip.target == target]
    compatible = [device for device in devices if isas.get(device.chip.target) == isas.get(target, target)]
    found = [*exact, *compatible]
    if not found:
        raise _no_chip(target)
    return next((device for device in found if device.chip.target in device.chip.aliases), found[0])


def _no_chip(target: str) -> DeviceError:
    targets = ", ".join(sorted({device.chip.target for device in all_devices()}))
    return DeviceError(f"no chip executes machine code for {target}", hint=f"those known execute {targets}")


def does_not_run(filename: str, target: str, device: Device) -> DeviceError:
    """The error for a device that does not run a file's machine code."""
    return DeviceError(
        f"{filename} holds machine code for {target}, which {device.name} does not run",
        hint=f"choose a simulated device: {device_for(target).name}",
    )


def all_devices() -> list[SimulatedDevice]:
    """A device for each chip that can be emulated."""
    from headwater import chips

    return [_device(chips.outline_of(chip)) for chip in chips.all_chips()]

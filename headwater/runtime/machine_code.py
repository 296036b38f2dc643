"""Input: a file of machine code. Output: a program whose kernels run on simulated devices: a `MachineProgram`, or an
`IlProgram` of a CAL image, whose IL other devices run.
"""

from __future__ import annotations

from typing import Any

from headwater.errors import CodeObjectError
from headwater.isa.gcn.codeobject import load
from headwater.runtime.devices import device_for, does_not_run
from headwater.runtime.interface import Device, DeviceProgram, current, resolve
from headwater.runtime.program import ClProgram, Program
from headwater.runtime.simulated.device import SimulatedDevice


def load_program(code: bytes, filename: str, device: Device | None) -> Program[Any]:
    """A program of a file. Raises CodeObjectError; UsageError if it is not for the device's chip."""
    if code[18:20] in _CAL_IMAGES:
        from headwater.isa.vliw.image_files import read_all
        from headwater.runtime.il import IlProgram

        images = read_all(code, filename)
        if images[0].abi == "cal":
            if device is None and (not images[0].il or current() is None):
                device = device_for(images[0].target)
            return IlProgram(images[0].il, filename, "", device, images)
    return MachineProgram(code, filename, device)


_CAL_IMAGES = (b"\x7c\0", b"\x7d\0")
"""e_machine of CAL's objects and images."""


class MachineProgram(ClProgram):
    """A code object or VLIW image, whose kernels are launched as OpenCL C kernels are, on devices of its chip."""

    def __init__(self, code: bytes, filename: str, device: Device | None) -> None:
        self.target = _target(code, filename)
        self._code = code
        chosen = device if device is not None else current()
        if not isinstance(chosen, SimulatedDevice) and device is None:
            chosen = device_for(self.target)
        super().__init__("", filename, "", chosen)

    def on(self, device: Device | str | None = None) -> DeviceProgram:
        """The program loaded on a device. UsageError if it is not for that chip, DeviceError if it is none."""
        target = resolve(device) if device is not None else self.default_device
        if not isinstance(target, SimulatedDevice):
            raise does_not_run(self.filename, self.target, target)
        built = self.built.get(target)
        if built is None:
            built = self.built[target] = target.load(self._code, self.filename)
        return built


def _target(code: bytes, filename: str) -> str:
    """LLVM's name of the chip that a file is for; of the first, if for several. Raises CodeObjectError."""
    try:
        return load(code, filename).target
    except CodeObjectError:  # what reads images is imported only where it is needed
        from headwater.isa.vliw.image_files import is_image, read_all

        if not is_image(code):
            raise
    return read_all(code, filename)[0].target

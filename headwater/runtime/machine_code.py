"""A file of machine code passes in; a `MachineProgram` passes out, whose kernels run on simulated devices."""

from __future__ import annotations

from headwater.errors import CodeObjectError, DeviceError
from headwater.isa.gcn.codeobject import load
from headwater.runtime.devices import Device, DeviceProgram, current, resolve
from headwater.runtime.program import ClKernel, ClProgram
from headwater.runtime.simulated import SimulatedDevice, device_for


class MachineProgram(ClProgram):
    """A code object or VLIW image, whose kernels are launched as OpenCL C kernels are, on devices of its chip."""

    def __init__(self, code: bytes, filename: str, device: Device | None) -> None:
        self.target = _target(code, filename)
        self._code = code
        self.source = ""
        self.filename = filename
        self.options = ""
        self._built: dict[Device, DeviceProgram] = {}
        chosen = device if device is not None else current()
        if not isinstance(chosen, SimulatedDevice) and device is None:
            chosen = device_for(self.target)
        assert chosen is not None
        self.default_device = chosen
        self.kernels = {name: ClKernel(self, kernel.info) for name, kernel in self.on(chosen).kernels.items()}

    def on(self, device: Device | str | None = None) -> DeviceProgram:
        """The program loaded on a device. UsageError if it is not for that chip, DeviceError if it is none."""
        target = resolve(device) if device is not None else self.default_device
        if not isinstance(target, SimulatedDevice):
            raise DeviceError(
                f"{self.filename} holds machine code for {self.target}, which {target.name} does not run",
                hint=f"choose a simulated device: {device_for(self.target).name}",
            )
        built = self._built.get(target)
        if built is None:
            built = self._built[target] = target.load(self._code, self.filename)
        return built


def _target(code: bytes, filename: str) -> str:
    """LLVM's name of the chip that a file is for; of the first, if for several. Raises CodeObjectError."""
    try:
        return load(code, filename).target
    except CodeObjectError:  # what reads images is imported only where it is needed
        from headwater.isa.vliw.image import is_image, read_all

        if not is_image(code):
            raise
    return read_all(code, filename)[0].target

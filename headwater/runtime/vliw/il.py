"""Input: an ATI IL program and a VLIW device. Output: the program compiled for that chip, with the interface that its
translation to OpenCL C has.

A kernel's arguments are those of `headwater.il.to_opencl`: each array is followed by its width, height, lanes and
bytes. So one run-time (`headwater.runtime.il`) serves every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.base.arrays import Array
from headwater.emulate.vliw.bindings import Format
from headwater.errors import LaunchError, ResourceError
from headwater.runtime.events import Event
from headwater.runtime.host.memory import HostBuffer
from headwater.runtime.interface import Buffer, DeviceProgram, Queue
from headwater.runtime.shapes import Size
from headwater.runtime.streams import Stream
from headwater.runtime.values import refuse_lds
from headwater.runtime.vliw.device import LoadedShader, ShaderKernel, bound_views, domain_sizes, load
from headwater.runtime.vliw.launch import Inputs, Sizes, View

if TYPE_CHECKING:
    from headwater.il.translation import Parameter
    from headwater.isa.vliw.image import ShaderImage
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.vliw.device import VliwDevice


def build(
    device: VliwDevice, image: ShaderImage, parameters: Sequence[Parameter], info: KernelInfo, filename: str
) -> DeviceProgram:
    """An IL program's image on a VLIW device. UsageError if it is machine code of another generation."""
    kernel = IlShader(device, info, image, parameters, filename)
    return DeviceProgram(device, {info.name: kernel})


def parameters_of(image: ShaderImage) -> tuple[Parameter, ...]:
    """What an image without IL takes, as far as it says so: its textures are taken for two-dimensional ones."""
    from headwater.il.translation import Parameter

    found = [Parameter(f"i{n}", "resource", 2) for n in sorted(image.resources)]
    found += [Parameter(f"cb{n}", "constant", 1, count) for n, count in sorted(image.constant_buffers.items())]
    found += [Parameter(f"uav{n}", "uav") for n in sorted(image.uavs)]
    found += [Parameter("g", "global")] if image.has_global_name else []
    return (*found, *(Parameter(f"o{n}", "output", 2) for n in sorted(image.outputs)))


class IlShader(ShaderKernel):
    """``main`` of an IL program on a VLIW device."""

    __slots__ = ("loaded", "parameters", "textures")

    def __init__(
        self, device: VliwDevice, info: KernelInfo, image: ShaderImage, parameters: Sequence[Parameter], filename: str
    ) -> None:
        super().__init__(device, info, "", filename, "")
        self.loaded = load(image, device.chip, filename, device)
        self.parameters = tuple(parameters)
        self.textures = _textures(self.parameters, image)

    def make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int) -> IlLaunch:
        refuse_lds(self.info.name, self.device.name, lds_bytes)
        shape, start = self.shape(global_size, local_size, offset)
        if self.loaded.image.kind == "ps":
            _fits("the domain", shape.whole[0] + start[0], shape.whole[1] + start[1], self.loaded)
            shape = domain_sizes(start[0], start[1], shape.whole[0], shape.whole[1])
        elif any(start):
            raise LaunchError("a compute shader has no global offset", hint="launch it from 0")
        return IlLaunch(self.loaded, self.parameters, shape, self.textures, check=check)


class IlLaunch:
    """An IL program with its sizes fixed: called with its arrays, each followed by its extents."""

    def __init__(
        self,
        loaded: LoadedShader,
        parameters: Sequence[Parameter],
        shape: Sizes,
        textures: frozenset[str],
        *,
        check: bool = False,
    ) -> None:
        self.check = check
        self.textures = textures
        self.loaded = loaded
        self.parameters = parameters
        self.shape = shape

    def __call__(self, args: Sequence[Any], queue: Queue | None = None, time_limit: float | None = None) -> Event:
        """Run over ``args``; see `headwater.runtime.interface.Prepared`."""
        for parameter, extents in zip(self.parameters, args[1::2], strict=True):
            if parameter.name in self.textures:
                _fits(parameter.name, extents[0], extents[1], self.loaded)
        views = {
            parameter.name: _view(parameter, memory, extents)
            for parameter, memory, extents in zip(self.parameters, args[::2], args[1::2], strict=True)
        }
        bound = bound_views(views)
        launch = self.loaded.launch(self.shape, bound, {}, check=self.check)
        return launch((Inputs(bound),), queue, time_limit)


def _textures(parameters: Sequence[Parameter], image: ShaderImage) -> frozenset[str]:
    """The arrays whose elements the chip reaches by two coordinates: textures and outputs, not buffers."""
    buffers: set[str] = set()
    if image.il:
        from headwater.il.checker import check
        from headwater.il.parser import parse

        buffers = {f"i{number}" for number in check(parse(image.il)).srvs}
    return frozenset(p.name for p in parameters if p.role in ("resource", "output") and p.name not in buffers)


def _fits(what: str, width: int, height: int, loaded: LoadedShader) -> None:
    """ResourceError if a texture or domain is larger than the chip's coordinates reach."""
    chip = loaded.chip
    assert chip.vliw is not None
    most = chip.vliw.texture_texels
    if max(width, height) > most:
        raise ResourceError(
            f"{what}: {width} x {height} elements; {chip.name} has textures and outputs of up to {most} x {most}",
            hint="split the work, or use the global buffer or a view",
        )


def _view(parameter: Parameter, value: Any, extents: Sequence[int]) -> View:
    """A parameter's array with its extents as memory that a shader sees."""
    width, height, lanes, _ = extents
    format_ = Format(lanes, 32, "f")
    dimensions = parameter.dimensions if parameter.role in ("resource", "output") else 2 if height > 1 else 1
    stride = 16 if parameter.role == "constant" else 1
    if parameter.role == "output" and height == 1 and parameter.dimensions == 1:
        dimensions = 1
    return View(_array(value), format_, width, height, dimensions=dimensions, stride=stride, label=parameter.name)


def _array(value: Any) -> Array:
    if isinstance(value, Stream):
        value = value.buffer
    if isinstance(value, Buffer):
        assert isinstance(value, HostBuffer)
        return value.memory
    return np.asarray(value)

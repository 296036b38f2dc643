"""The devices that CAL finds: any of Headwater's, by name. A program runs on them by what its image holds for them.

A `Board` on the cpu or a real GPU runs an image's IL, by way of OpenCL C. A simulated VLIW chip executes its machine
code (`headwater.cal.machine`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.cal.enums import (
    CALsamplermagfilter,
    CALsamplerminfilter,
    CALsamplerparam,
    CALsamplerwrap,
    CALtarget,
)
from headwater.cal.structs import CALdeviceattribs, CALfuncInfo
from headwater.errors import InternalError

if TYPE_CHECKING:
    from headwater.cal.compiler import Encoding
    from headwater.cal.state import Resource
    from headwater.il.checker import Facts
    from headwater.runtime.interface import Device
    from headwater.timing import Report

Array = np.ndarray[Any, Any]

DEFAULT_DEVICES = "hd4870"
"""The board that Brook+ 1.4 and the SDK's samples were written for."""


class Storage(ABC):
    """A resource's bytes, wherever they are."""

    @abstractmethod
    def map(self) -> Array:
        """The bytes, as uint8, for the host to read and write."""

    @abstractmethod
    def unmap(self) -> None:
        """What the host wrote becomes the device's."""


def host_memory(nbytes: int, alignment_bytes: int) -> Array:
    """Zeroed bytes on an address that is a multiple of ``alignment_bytes``. MemoryError if there are none."""
    whole = np.zeros(nbytes + alignment_bytes, np.uint8)
    start = -whole.ctypes.data % alignment_bytes
    return whole[start : start + nbytes]


_memory: list[Callable[[int, int], Array]] = [host_memory]


def use_memory(take: Callable[[int, int], Array]) -> None:
    """Resources' bytes come from there, instead of from `host_memory`."""
    _memory[0] = take


class HostStorage(Storage):
    """Bytes in this machine's memory: ``array``, which may be the caller's own."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @classmethod
    def allocate(cls, nbytes: int, alignment_bytes: int) -> HostStorage:
        """New memory, on an address that is a multiple of ``alignment_bytes``."""
        return cls(_memory[0](nbytes, alignment_bytes))

    def map(self) -> Array:
        return self.array

    def unmap(self) -> None:
        pass


class DeviceStorage(Storage):
    """A buffer of a device with memory of its own; mapping copies it to the host, unmapping back."""

    def __init__(self, device: Device, nbytes: int) -> None:
        from headwater.runtime.streams import Stream

        self.stream = Stream(device, (-(-nbytes // 4),), np.uint32, device.upload(np.zeros(-(-nbytes // 4), np.uint32)))
        self.copy: Array | None = None

    def map(self) -> Array:
        read = self.stream.read()
        self.copy = _memory[0](read.nbytes, 64).view(np.uint32)
        self.copy[:] = read
        return self.copy.view(np.uint8)

    def unmap(self) -> None:
        if self.copy is not None:
            self.stream.write(self.copy)
            self.copy = None


@dataclass(frozen=True)
class Launch:
    """What one launch runs over: a pixel program's ``origin`` and ``size``, or a compute program's work-items.

    ``surfaces``: the resource bound to each name; ``samplers``: what was set of sampler ``s#``; ``block``: a compute
    program's work-group; ``array``: what a board keeps for the other launches of the same array of grids.
    """

    origin: tuple[int, int]
    size: tuple[int, ...]
    surfaces: Mapping[str, Resource]
    samplers: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    block: tuple[int, int, int] | None = None
    array: dict[str, Any] = field(default_factory=dict)


class Loaded(ABC):
    """A program on a board. ``names``: what can be bound to it; ``group``: the work-group that a compute program
    declares, None if it takes any.
    """

    names: tuple[str, ...]
    is_compute: bool
    group: tuple[int, int, int] | None

    @abstractmethod
    def run(self, launch: Launch) -> None:
        """Run it and wait; called on a context's own thread."""

    @abstractmethod
    def info(self) -> CALfuncInfo:
        """What it needs."""


class Board(ABC):
    """A device that CAL can open."""

    name: str
    attributes: CALdeviceattribs
    max_width_1d: int
    max_width_2d: int
    max_height_2d: int
    has_counters = False
    """Whether `replayed` works."""

    @abstractmethod
    def storage(self, nbytes: int) -> Storage:
        """Zeroed memory."""

    @abstractmethod
    def load(self, encoding: Encoding) -> Loaded:
        """Make a program ready to run."""

    @abstractmethod
    def accepts(self, encoding: Encoding) -> bool:
        """Whether the program's code is for this board."""

    def replayed(self, run: Callable[[], None]) -> list[Report]:
        """Do what launches programs; what the cycle model says of them."""
        raise InternalError(f"{self.name} has no cycle model")

    def sampler_error(self, param: CALsamplerparam, value: Any) -> str:
        """Why a sampler cannot be set so; "" if it can."""
        return ""


def find_boards(devices: str | None) -> list[Board]:
    """The boards of these names, separated by commas: those asked for, of HEADWATER_CAL_DEVICES, or the default."""
    wanted = devices or os.environ.get("HEADWATER_CAL_DEVICES", "").strip() or DEFAULT_DEVICES
    return [_board(name.strip()) for name in wanted.split(",") if name.strip()]


def _board(name: str) -> Board:
    from headwater import chips
    from headwater.runtime.devices import device

    if chips.known(name) and (chip := chips.find(name)).is_vliw:
        from headwater.cal.machine import MachineBoard

        board: Board = MachineBoard(chip)
        return board
    return IlBoard(device(name))


def symbols(facts: Facts) -> tuple[str, ...]:
    """The names that a program's memory is bound to, as calModuleGetName takes them."""
    found = [f"i{n}" for n in sorted((*facts.resources, *facts.srvs))] + [f"cb{n}" for n in sorted(facts.constants)]
    found += [f"uav{n}" for n in sorted(facts.uavs)] + (["g[]"] if facts.uses_global else [])
    return tuple(found + [f"o{n}" for n in sorted(facts.outputs)])


class IlBoard(Board):
    """A device that runs IL by way of OpenCL C. It has all that IL knows, and whatever code an image was made with."""

    max_width_1d = 16384
    max_width_2d = 16384
    max_height_2d = 16384  # Direct3D 11's bounds, which Evergreen took over

    def __init__(self, device: Device) -> None:
        self.device = device
        self.name = device.name
        self.attributes = CALdeviceattribs(
            target=CALtarget.CYPRESS,
            localRAM=device.memory_bytes >> 20,
            uncachedRemoteRAM=host_memory_megabytes() // 4,
            cachedRemoteRAM=host_memory_megabytes() // 4,
            engineClock=0,
            memoryClock=0,
            wavefrontSize=64,
            numberOfSIMD=device.compute_units,
            doublePrecision=True,
            localDataShare=True,
            globalDataShare=False,
            globalGPR=False,
            computeShader=True,
            memExport=True,
            pitch_alignment=1,
            surface_alignment=16,
            numberOfUAVs=12,
            bUAVMemExport=False,
            b3dProgramGrid=True,
            numberOfShaderEngines=1,
            targetRevision=0,
            boardName=device.description[:127],
            memRandomAccessTargetInstructions=True,
        )

    def storage(self, nbytes: int) -> Storage:
        if self.device.kind == "opencl":
            return DeviceStorage(self.device, nbytes)
        return HostStorage.allocate(nbytes, 64)

    def accepts(self, encoding: Encoding) -> bool:
        return encoding.il is not None

    def load(self, encoding: Encoding) -> Loaded:
        assert encoding.il is not None
        return _IlLoaded(self.device, encoding.il)

    def sampler_error(self, param: CALsamplerparam, value: Any) -> str:
        nearest = {
            CALsamplerparam.MIN_FILTER: CALsamplerminfilter.NEAREST,
            CALsamplerparam.MAG_FILTER: CALsamplermagfilter.NEAREST,
        }
        wanted = nearest.get(param, CALsamplerwrap.CLAMP_TO_EDGE)
        if param in (CALsamplerparam.DEFAULT, CALsamplerparam.BORDER_COLOR) or value == wanted:
            return ""
        return f"{self.name} samples the nearest texel and clamps to the edge"


_ONE = 0x3F800000


class _IlLoaded(Loaded):
    def __init__(self, device: Device, il: str) -> None:
        from headwater.il.checker import check
        from headwater.il.parser import parse
        from headwater.runtime.il import IlProgram
        from headwater.runtime.shapes import ENTRY

        self.device = device
        program = parse(il)
        facts = check(program)
        self.is_compute = program.kind == "cs"
        self.names = symbols(facts)
        self.group = facts.group
        self.facts = facts
        self.kernel = IlProgram(il, "<image>", "", device)[ENTRY]

    def run(self, launch: Launch) -> None:
        arguments: dict[str, Any] = {}
        converted: list[tuple[Resource, Array]] = []
        for name, resource in launch.surfaces.items():
            parameter = "g" if name == "g[]" else name
            arguments[parameter], lanes = self._lanes(resource)
            if lanes is not None and name.startswith(("o", "uav", "g")):
                converted.append((resource, lanes))
        options = {"offset": launch.origin} if any(launch.origin) else {}
        self.kernel[launch.size, launch.block](**arguments, device=self.device, **options).wait()
        for resource, lanes in converted:
            memory = resource.storage.map()
            resource.elements(memory)[...] = resource.layout.from_lanes(lanes)
            resource.storage.unmap()

    def _lanes(self, resource: Resource) -> tuple[Any, Array | None]:
        """What the kernel takes for a resource, and the lanes to convert back where it is not the memory itself."""
        layout = resource.layout
        rows = (resource.height, resource.pitch)  # also of one dimension, which programs declare as two
        storage = resource.storage
        if layout.as_is and isinstance(storage, DeviceStorage):
            from headwater.runtime.streams import Stream

            return Stream(self.device, (*rows, layout.lanes), np.uint32, storage.stream.buffer), None
        memory = storage.map()
        if layout.as_is:
            return memory[: resource.nbytes].view(np.uint32).reshape(*rows, layout.lanes), None
        lanes = layout.to_lanes(resource.elements(memory))
        # Textures have one, two or four lanes; a fourth one that is missing is 1.0.
        padded = np.full((*lanes.shape[:-1], 1 << (lanes.shape[-1] - 1).bit_length()), _ONE, np.uint32)
        padded[..., : lanes.shape[-1]] = lanes
        return padded.reshape(*rows, padded.shape[-1]), padded[..., : lanes.shape[-1]]

    def info(self) -> CALfuncInfo:
        group = self.group or (0, 0, 0)
        lds = sum(self.facts.lds_bytes.values())
        threads = group[0] * group[1] * group[2]
        return CALfuncInfo(
            numThreadPerGroup=threads,
            numThreadPerGroupX=group[0],
            numThreadPerGroupY=group[1],
            numThreadPerGroupZ=group[2],
            totalNumThreadGroup=self.facts.declared_groups,
            wavefrontSize=64,
            numGPRsUsed=len(self.facts.temporaries),
            LDSSizeUsed=lds + 4 * self.facts.lds_dwords_per_thread * threads,
        )


def host_memory_megabytes() -> int:
    """Memory of this machine, of which CAL's remote memory is a part; 1024 where the system does not tell."""
    try:
        return (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) >> 20
    except (AttributeError, ValueError, OSError):
        return 1024

"""A VLIW chip as a board of CAL: its attributes from its file, its programs executed as machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.cal.boards import Board, HostStorage, Launch, Loaded, Storage, host_memory_megabytes
from headwater.cal.compiler import target_of
from headwater.cal.enums import CALsamplermagfilter, CALsamplerminfilter, CALsamplerparam, CALsamplerwrap
from headwater.cal.structs import CALdeviceattribs, CALfuncInfo
from headwater.emulate.vliw.bindings import CAL_FORMATS, Sampler
from headwater.il.checker import check
from headwater.il.parser import parse
from headwater.runtime.vliw.device import load
from headwater.runtime.vliw.launch import SharedRegisters, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headwater.cal.compiler import Encoding
    from headwater.cal.state import Resource
    from headwater.chips import Chip, Features
    from headwater.isa.vliw.image import ShaderImage
    from headwater.timing import Report

PITCH_ELEMENTS = 64
SURFACE_BYTES = 256
"""AMD, ATI CAL Programming Guide, "Pinned memory": widths in steps of 64 elements, addresses of 256 bytes."""

_WRAPS = {
    CALsamplerwrap.REPEAT: "repeat",
    CALsamplerwrap.MIRRORED_REPEAT: "mirror",
    CALsamplerwrap.CLAMP_TO_EDGE: "clamp",
    CALsamplerwrap.CLAMP_TO_BORDER: "border",
}


class MachineBoard(Board):
    """A simulated HD 2000 to HD 6900."""

    def __init__(self, chip: Chip) -> None:
        assert chip.vliw is not None
        self.chip = chip
        self.name = chip.name
        self.features: Features = chip.vliw
        self.max_width_1d = self.max_width_2d = self.max_height_2d = chip.vliw.texture_texels
        evergreen = chip.vliw.unordered_views > 0
        self.attributes = CALdeviceattribs(
            target=target_of(chip.target),
            localRAM=chip.memory.bytes >> 20,
            uncachedRemoteRAM=host_memory_megabytes() // 4,
            cachedRemoteRAM=host_memory_megabytes() // 4,
            engineClock=int(chip.compute.clock_mhz),
            memoryClock=int(chip.memory.clock_mhz),
            wavefrontSize=chip.compute.wavefront_size,
            numberOfSIMD=chip.compute.compute_units,
            doublePrecision=chip.has_float64,
            localDataShare=chip.local_memory.bytes > 0,
            globalDataShare=chip.local_memory.global_bytes > 0,
            globalGPR=chip.vliw.compute_shader,
            computeShader=chip.vliw.compute_shader,
            memExport=True,
            pitch_alignment=PITCH_ELEMENTS,
            surface_alignment=SURFACE_BYTES,
            numberOfUAVs=chip.vliw.unordered_views,
            bUAVMemExport=not evergreen,
            b3dProgramGrid=evergreen,
            numberOfShaderEngines=chip.compute.shader_engines,
            targetRevision=0,
            boardName=chip.name,
            memRandomAccessTargetInstructions=evergreen,
        )

    def storage(self, nbytes: int) -> Storage:
        return HostStorage.allocate(nbytes, SURFACE_BYTES)

    def accepts(self, encoding: Encoding) -> bool:
        return encoding.image.target == self.chip.target

    def load(self, encoding: Encoding) -> Loaded:
        return _MachineLoaded(self, encoding.image, encoding.il)

    has_counters = True

    def replayed(self, run: Callable[[], None]) -> list[Report]:
        from headwater.timing import Recorded

        return Recorded(run).reports(self.chip)

    def sampler_error(self, param: CALsamplerparam, value: Any) -> str:
        wraps = (CALsamplerparam.WRAP_S, CALsamplerparam.WRAP_T, CALsamplerparam.WRAP_R)
        if param in wraps and value not in _WRAPS:
            return f"the wrap mode {CALsamplerwrap(value).name} is not simulated"
        filters = {CALsamplerparam.MIN_FILTER: CALsamplerminfilter, CALsamplerparam.MAG_FILTER: CALsamplermagfilter}
        if param in filters and value not in list(filters[param]):
            return "there are no mipmaps, and no four-sample filters"
        return ""


class _MachineLoaded(Loaded):
    def __init__(self, board: MachineBoard, image: ShaderImage, il: str | None) -> None:
        self.declared_groups = check(parse(il)).declared_groups if il is not None and image.kind == "cs" else 0
        self.board = board
        self.image = image
        self.machine = load(image, board.chip)
        self.is_compute = image.kind == "cs"
        self.group = image.group_size
        found = [f"i{n}" for n in image.resources] + [f"cb{n}" for n in sorted(image.constant_buffers)]
        found += [f"uav{n}" for n in image.uavs] + (["g[]"] if image.has_global_name else [])
        self.names = tuple(found + [f"o{n}" for n in image.outputs])

    def run(self, launch: Launch) -> None:
        views = {name: _view(name, resource) for name, resource in launch.surfaces.items()}
        samplers = {int(name[1:]): _sampler(state) for name, state in launch.samplers.items()}
        if launch.block is None:
            domain = (*launch.origin, launch.size[0], launch.size[1])
            self.machine.run(domain=domain, bindings=views, samplers=samplers)
        else:
            shared = launch.array.setdefault("shared registers", SharedRegisters())
            groups = [items // size for items, size in zip(launch.size, launch.block, strict=True)]
            self.machine.run(groups=groups, local=launch.block, bindings=views, samplers=samplers, shared=shared)

    def info(self) -> CALfuncInfo:
        from headwater.timing.vliw_rules import shared_registers

        chip, image = self.board.chip, self.image
        shared = shared_registers(image.shader)
        group = self.group or (0, 0, 0)
        waves = min(chip.registers.vgprs // max(image.gprs, 1), chip.compute.wavefronts_per_simd)
        return CALfuncInfo(
            maxScratchRegsNeeded=image.scratch_bytes // 16,
            numSharedGPRUser=shared,
            numSharedGPRTotal=shared,
            numThreadPerGroup=group[0] * group[1] * group[2],
            numThreadPerGroupX=group[0],
            numThreadPerGroupY=group[1],
            numThreadPerGroupZ=group[2],
            totalNumThreadGroup=self.declared_groups,
            numWavefrontPerSIMD=waves,
            isMaxNumWavePerSIMD=waves == chip.compute.wavefronts_per_simd,
            wavefrontSize=chip.compute.wavefront_size,
            numGPRsAvailable=chip.registers.vgprs_per_wavefront,
            numGPRsUsed=image.gprs,
            LDSSizeAvailable=chip.local_memory.work_group_bytes,
            LDSSizeUsed=image.lds_bytes,
            stackSizeAvailable=self.board.features.stack_entries,
            stackSizeUsed=image.stack_entries,
        )


def _view(name: str, resource: Resource) -> View:
    """A resource as the machine code reaches it."""
    return View(
        resource.storage.map(),
        CAL_FORMATS[resource.format.name],
        width=resource.width,
        height=resource.height,
        pitch=resource.pitch,
        dimensions=resource.dimensions,
        stride=1 if name.startswith("uav") else resource.layout.nbytes,
        label=name,
    )


def _sampler(state: Mapping[int, Any]) -> Sampler:
    """What was set of a sampler; CAL has one filter for both directions of scale, as there are no mipmaps."""
    wraps = (CALsamplerparam.WRAP_S, CALsamplerparam.WRAP_T, CALsamplerparam.WRAP_R)
    x, y, z = (_WRAPS[CALsamplerwrap(state.get(param, CALsamplerwrap.CLAMP_TO_EDGE))] for param in wraps)
    linear = (
        state.get(CALsamplerparam.MAG_FILTER) == CALsamplermagfilter.LINEAR
        or state.get(CALsamplerparam.MIN_FILTER) == CALsamplerminfilter.LINEAR
    )
    return Sampler(linear, (x, y, z), state.get(CALsamplerparam.BORDER_COLOR, (0.0, 0.0, 0.0, 0.0)))

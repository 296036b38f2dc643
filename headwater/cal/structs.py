"""The records that pass through the CAL interface, with the C fields' names."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.cal.enums import CALtarget

Vec4 = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class CALdomain:
    """Where a pixel program runs: an output's elements from (``x``, ``y``) on."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class CALdomain3D:
    """Sizes of a compute program's group in work-items, or of its grid in groups."""

    width: int
    height: int = 1
    depth: int = 1


@dataclass(frozen=True, slots=True)
class CALprogramGrid:
    """A launch of a compute program: ``gridSize`` groups of ``gridBlock`` work-items."""

    func: int
    gridBlock: CALdomain3D
    gridSize: CALdomain3D
    flags: int = 0


@dataclass(frozen=True, slots=True)
class CALprogramGridArray:
    """Launches that follow each other."""

    gridArray: tuple[CALprogramGrid, ...]
    flags: int = 0


@dataclass(frozen=True, slots=True)
class CALparam:
    """A parameter's value at three corners of a domain: upper left, lower left, lower right."""

    ul: Vec4
    ll: Vec4
    lr: Vec4


_NOTHING = CALparam((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class CALdomainparam:
    """Up to eight parameters, which a pixel program gets as ``v0`` … ``v7``, interpolated over the domain."""

    param0: CALparam = _NOTHING
    param1: CALparam = _NOTHING
    param2: CALparam = _NOTHING
    param3: CALparam = _NOTHING
    param4: CALparam = _NOTHING
    param5: CALparam = _NOTHING
    param6: CALparam = _NOTHING
    param7: CALparam = _NOTHING


@dataclass(frozen=True, slots=True)
class CALdeviceinfo:
    """What bounds resources on a device, in elements."""

    target: CALtarget
    maxResource1DWidth: int
    maxResource2DWidth: int
    maxResource2DHeight: int


@dataclass(frozen=True, slots=True)
class CALdeviceattribs:
    """What a device is. RAM in megabytes, clocks in megahertz, ``pitch_alignment`` in elements,
    ``surface_alignment`` in bytes; the others count, or are true where the device has that part."""

    target: CALtarget
    localRAM: int
    uncachedRemoteRAM: int
    cachedRemoteRAM: int
    engineClock: int
    memoryClock: int
    wavefrontSize: int
    numberOfSIMD: int
    doublePrecision: bool
    localDataShare: bool
    globalDataShare: bool
    globalGPR: bool
    computeShader: bool
    memExport: bool
    pitch_alignment: int
    surface_alignment: int
    numberOfUAVs: int
    bUAVMemExport: bool
    b3dProgramGrid: bool
    numberOfShaderEngines: int
    targetRevision: int
    boardName: str
    vectorBufferInstructionAddr64: bool = False
    memRandomAccessTargetInstructions: bool = False
    asyncDispatchSupported: bool = False


@dataclass(frozen=True, slots=True)
class CALdevicestatus:
    """How many megabytes of each memory are free."""

    availLocalRAM: int
    availUncachedRemoteRAM: int
    availCachedRemoteRAM: int


@dataclass(frozen=True, slots=True)
class CALfuncInfo:
    """What a function needs of its device. Sizes of LDS in bytes, of the stack in entries. ``totalNumThreadGroup``: the
    groups that an IL program declares, 0 if it takes any; ``setBufferForNumGroup``: the caller has to tell it their
    number in a buffer, which no program needs here."""

    maxScratchRegsNeeded: int = 0
    numSharedGPRUser: int = 0
    numSharedGPRTotal: int = 0
    eCsSetupMode: bool = False
    numThreadPerGroup: int = 0
    numThreadPerGroupX: int = 0
    numThreadPerGroupY: int = 0
    numThreadPerGroupZ: int = 0
    totalNumThreadGroup: int = 0
    setBufferForNumGroup: bool = False
    numWavefrontPerSIMD: int = 0
    wavefrontSize: int = 0
    numGPRsAvailable: int = 0
    numGPRsUsed: int = 0
    LDSSizeAvailable: int = 0
    LDSSizeUsed: int = 0
    stackSizeAvailable: int = 0
    stackSizeUsed: int = 0
    isMaxNumWavePerSIMD: bool = field(default=False)

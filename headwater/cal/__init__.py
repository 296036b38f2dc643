"""AMD's Compute Abstraction Layer, over Headwater's devices: the C functions by their names.

What C returns through pointers is returned; a result that is not CAL_RESULT_OK raises `CalError`, whose ``result`` it
is. Constants have their C names (``cal.CAL_FORMAT_FLOAT_4``). AMD, ATI CAL Programming Guide 2.0; cal.h of CAL 8.95.
"""

from __future__ import annotations

from headwater.cal.compiler import (
    CALimage as CALimage,
    CALobject as CALobject,
    calclAssembleObject as calclAssembleObject,
    calclCompile as calclCompile,
    calclDisassembleImage as calclDisassembleImage,
    calclDisassembleObject as calclDisassembleObject,
    calclExtGetProc as calclExtGetProc,
    calclExtSupported as calclExtSupported,
    calclFreeImage as calclFreeImage,
    calclFreeObject as calclFreeObject,
    calclGetErrorString as calclGetErrorString,
    calclGetVersion as calclGetVersion,
    calclImageGetSize as calclImageGetSize,
    calclImageWrite as calclImageWrite,
    calclLink as calclLink,
)
from headwater.cal.contexts import (
    calCtxCreate as calCtxCreate,
    calCtxDestroy as calCtxDestroy,
    calCtxFlush as calCtxFlush,
    calCtxGetMem as calCtxGetMem,
    calCtxIsEventDone as calCtxIsEventDone,
    calCtxReleaseMem as calCtxReleaseMem,
    calCtxRunProgram as calCtxRunProgram,
    calCtxRunProgramGrid as calCtxRunProgramGrid,
    calCtxRunProgramGridArray as calCtxRunProgramGridArray,
    calCtxRunProgramParams as calCtxRunProgramParams,
    calCtxSetMem as calCtxSetMem,
    calCtxWaitForEvents as calCtxWaitForEvents,
    calMemCopy as calMemCopy,
)
from headwater.cal.counters import (
    calCtxBeginCounter as calCtxBeginCounter,
    calCtxCreateCounter as calCtxCreateCounter,
    calCtxDestroyCounter as calCtxDestroyCounter,
    calCtxEndCounter as calCtxEndCounter,
    calCtxGetCounter as calCtxGetCounter,
)
from headwater.cal.enums import (
    CALcountertype as CALcountertype,
    CALextid as CALextid,
    CALformat as CALformat,
    CALlanguage as CALlanguage,
    CALprogramtype as CALprogramtype,
    CALresallocflags as CALresallocflags,
    CALresult as CALresult,
    CALsamplermagfilter as CALsamplermagfilter,
    CALsamplerminfilter as CALsamplerminfilter,
    CALsamplerparam as CALsamplerparam,
    CALsamplerwrap as CALsamplerwrap,
    CALtarget as CALtarget,
    constant as _constant,
)
from headwater.cal.errors import CalError as CalError
from headwater.cal.extensions import (
    calCtxGetSamplerParams as calCtxGetSamplerParams,
    calCtxSetSamplerParams as calCtxSetSamplerParams,
    calExtGetProc as calExtGetProc,
    calExtGetVersion as calExtGetVersion,
    calExtSupported as calExtSupported,
)
from headwater.cal.memory import (
    calDeviceClose as calDeviceClose,
    calDeviceGetAttribs as calDeviceGetAttribs,
    calDeviceGetCount as calDeviceGetCount,
    calDeviceGetInfo as calDeviceGetInfo,
    calDeviceGetStatus as calDeviceGetStatus,
    calDeviceOpen as calDeviceOpen,
    calGetErrorString as calGetErrorString,
    calGetVersion as calGetVersion,
    calInit as calInit,
    calResAllocLocal1D as calResAllocLocal1D,
    calResAllocLocal2D as calResAllocLocal2D,
    calResAllocRemote1D as calResAllocRemote1D,
    calResAllocRemote2D as calResAllocRemote2D,
    calResCreate1D as calResCreate1D,
    calResCreate2D as calResCreate2D,
    calResFree as calResFree,
    calResMap as calResMap,
    calResUnmap as calResUnmap,
    calShutdown as calShutdown,
)
from headwater.cal.modules import (
    calImageFree as calImageFree,
    calImageRead as calImageRead,
    calModuleGetEntry as calModuleGetEntry,
    calModuleGetFuncInfo as calModuleGetFuncInfo,
    calModuleGetName as calModuleGetName,
    calModuleLoad as calModuleLoad,
    calModuleUnload as calModuleUnload,
)
from headwater.cal.structs import (
    CALdeviceattribs as CALdeviceattribs,
    CALdeviceinfo as CALdeviceinfo,
    CALdevicestatus as CALdevicestatus,
    CALdomain as CALdomain,
    CALdomain3D as CALdomain3D,
    CALdomainparam as CALdomainparam,
    CALfuncInfo as CALfuncInfo,
    CALparam as CALparam,
    CALprogramGrid as CALprogramGrid,
    CALprogramGridArray as CALprogramGridArray,
)


def __getattr__(name: str) -> int:
    found = _constant(name) if name.startswith("CAL_") else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found

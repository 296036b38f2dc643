"""CAL's extensions: which there are, and samplers' parameters (cal_ext.h)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.cal import contexts, counters, memory, modules
from headwater.cal.enums import CALextid, CALresult, CALsamplerparam
from headwater.cal.errors import failed
from headwater.cal.memory import owner
from headwater.cal.state import Name, member, session

VERSION = (1, 0, 0)


def calExtSupported(extid: CALextid) -> None:
    """Returns if the extension is there; raises CAL_RESULT_NOT_SUPPORTED if not (Direct3D's)."""
    session()
    wanted = member(CALextid, extid, "extension")
    if wanted not in _PROCEDURES:
        raise failed(CALresult.NOT_SUPPORTED, f"the extension CAL_EXT_{wanted.name} is not supported")


def calExtGetVersion(extid: CALextid) -> tuple[int, int]:
    """An extension's version: major, minor."""
    calExtSupported(extid)
    return VERSION[:2]


def calExtGetProc(extid: CALextid, procname: str) -> Callable[..., Any]:
    """A function of an extension by its C name; CAL_RESULT_NOT_SUPPORTED if there is none."""
    calExtSupported(extid)
    found = _PROCEDURES[CALextid(extid)].get(procname)
    if found is None:
        raise failed(
            CALresult.NOT_SUPPORTED,
            f"the extension CAL_EXT_{CALextid(extid).name} has no function {procname!r}",
            hint=f"it has {', '.join(_PROCEDURES[CALextid(extid)])}",
        )
    return found


# -- samplers ----------------------------------------------------------------------------------------------------------

_DEFAULTS: dict[CALsamplerparam, Any] = {
    CALsamplerparam.DEFAULT: 0,
    CALsamplerparam.MIN_FILTER: 1,
    CALsamplerparam.MAG_FILTER: 0,
    CALsamplerparam.WRAP_S: 2,
    CALsamplerparam.WRAP_T: 2,
    CALsamplerparam.WRAP_R: 2,
    CALsamplerparam.BORDER_COLOR: (0.0, 0.0, 0.0, 0.0),
}
"""What Brook+'s run-time relied on: the nearest texel, clamped to the edge."""


def calCtxSetSamplerParams(ctx: int, name: int, param: CALsamplerparam, value: Any) -> None:
    """Set a parameter of sampler ``s#``. CAL_RESULT_BAD_HANDLE if the name is no sampler's, CAL_RESULT_NOT_SUPPORTED
    for what the device cannot do."""
    found = _sampler(ctx, name)
    wanted = member(CALsamplerparam, param, "sampler's parameter")
    if wanted is CALsamplerparam.BORDER_COLOR:
        try:
            value = tuple(float(v) for v in value)
        except (TypeError, ValueError):
            value = ()
        if len(value) != 4:
            raise failed(CALresult.INVALID_PARAMETER, "the border's colour has four numbers")
    elif value not in range(8):
        raise failed(CALresult.INVALID_PARAMETER, f"{value!r:.40} is no value of {wanted.name}")
    reason = found.module.context.device.board.sampler_error(wanted, value)
    if reason:
        raise failed(CALresult.NOT_SUPPORTED, reason)
    if wanted is CALsamplerparam.DEFAULT:
        found.sampler.clear()
    else:
        found.sampler[wanted] = value


def calCtxGetSamplerParams(ctx: int, name: int, param: CALsamplerparam) -> Any:
    """A parameter of sampler ``s#``: its number, the border's colour as four floats."""
    found = _sampler(ctx, name)
    wanted = member(CALsamplerparam, param, "sampler's parameter")
    return found.sampler.get(wanted, _DEFAULTS[wanted])


def _sampler(ctx: int, name: Any) -> Name:
    context = owner(ctx)
    found = session().get(name, Name, "sampler")
    if not found.text.startswith("s") or found.module.context is not context:
        raise failed(CALresult.BAD_HANDLE, f"{found.text} is no sampler of the context")
    return found


def _named(*functions: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    return {function.__name__: function for function in functions}


_PROCEDURES: dict[CALextid, dict[str, Callable[..., Any]]] = {
    CALextid.COUNTERS: _named(
        counters.calCtxCreateCounter,
        counters.calCtxDestroyCounter,
        counters.calCtxBeginCounter,
        counters.calCtxEndCounter,
        counters.calCtxGetCounter,
    ),
    CALextid.DOMAIN_PARAMS: _named(contexts.calCtxRunProgramParams),
    CALextid.RES_CREATE: _named(memory.calResCreate2D, memory.calResCreate1D),
    CALextid.COMPUTE_SHADER: _named(
        contexts.calCtxRunProgramGrid, contexts.calCtxRunProgramGridArray, modules.calModuleGetFuncInfo
    ),
    CALextid.SAMPLER_PARAM: _named(calCtxSetSamplerParams, calCtxGetSamplerParams),
    CALextid.SYNC_OBJECT: _named(contexts.calCtxWaitForEvents),
}

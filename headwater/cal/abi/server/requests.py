"""Answers a CAL program's calls by `headwater.cal`. Input: calls. Output: replies."""

from __future__ import annotations

import functools
import struct
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headwater import cal
from headwater.bridge.connection import Answer, FileAnswer, Handler, Service
from headwater.bridge.transport import Shared
from headwater.cal import boards, state
from headwater.cal.abi.functions import PLAIN
from headwater.cal.abi.protocol import FAILURE, MESSAGES, PROTOCOL, pack
from headwater.cal.abi.server.memory import SharedMemory, pinned
from headwater.errors import HeadwaterError, InternalError
from headwater.runtime.checking import check_wanted

Record = tuple[Any, ...]

_ATTRIBUTES = (
    "target", "localRAM", "uncachedRemoteRAM", "cachedRemoteRAM", "engineClock", "memoryClock", "wavefrontSize",
    "numberOfSIMD", "doublePrecision", "localDataShare", "globalDataShare", "globalGPR", "computeShader", "memExport",
    "pitch_alignment", "surface_alignment", "numberOfUAVs", "bUAVMemExport", "b3dProgramGrid", "numberOfShaderEngines",
    "targetRevision",
)  # fmt: skip
_LAST_ATTRIBUTES = ("vectorBufferInstructionAddr64", "memRandomAccessTargetInstructions", "asyncDispatchSupported")
_WAITING = ("calCtxIsEventDone", "calCtxWaitForEvents")
_HEAPS = 7
"""CALdeviceattribs between targetRevision and boardName: six heaps and the place on the PCI bus."""


class Requests(Service):
    """The session of one host."""

    protocol = PROTOCOL
    lost = int(cal.CALresult.ERROR)
    remedy = "run the program by headwater cal run"

    def __init__(self) -> None:
        self._memory = SharedMemory()
        self._pinned = -1

    def hello(self, shared: Shared, record: Record) -> Answer:
        """Take the file of what the host pins."""
        if isinstance(shared, str):
            raise InternalError("CAL's library needs files that are passed on, as on Linux")
        self._pinned = shared
        boards.use_memory(self._memory.take)
        return 0, b""

    def handlers(self) -> Mapping[str, Handler]:
        """The function of each message, with what it raises as the reply's status: a defect must not end the server."""
        names = [name for name in MESSAGES if name not in ("hello", "connect")]
        return {name: _guarded(name, self._handler(name)) for name in names}

    def _handler(self, name: str) -> Callable[[Record], Answer]:
        special = getattr(self, f"_{name}", None)
        return _plain(name) if special is None else special

    # -- devices and resources

    def _calDeviceGetInfo(self, record: Record) -> Answer:
        info = cal.calDeviceGetInfo(*record)
        return _reply("calDeviceGetInfo", [getattr(info, name) for name, _ in MESSAGES["calDeviceGetInfo"].reply])

    def _calDeviceGetAttribs(self, record: Record) -> Answer:
        has = cal.calDeviceGetAttribs(*record)
        numbers = [int(getattr(has, name)) for name in _ATTRIBUTES]
        name = has.boardName.encode()[:127]
        last = [int(getattr(has, name)) for name in _LAST_ATTRIBUTES]
        data = struct.pack(f"<{len(numbers)}I{4 * _HEAPS}x128s{len(last)}I", *numbers, name, *last)
        return _reply("calDeviceGetAttribs", [data])

    def _calDeviceGetStatus(self, record: Record) -> Answer:
        has = cal.calDeviceGetStatus(*record)
        numbers = (has.availLocalRAM, has.availUncachedRemoteRAM, has.availCachedRemoteRAM)
        return _reply("calDeviceGetStatus", [struct.pack("<3I", *numbers)])

    def _calResAllocRemote2D(self, record: Record) -> Answer:
        devs, *rest = record
        return _reply("calResAllocRemote2D", [cal.calResAllocRemote2D(_handles(devs), *rest)])

    def _calResAllocRemote1D(self, record: Record) -> Answer:
        devs, *rest = record
        return _reply("calResAllocRemote1D", [cal.calResAllocRemote1D(_handles(devs), *rest)])

    def _calResCreate(self, record: Record) -> Answer:
        dev, address, dimensions, width, height, format, size, flags = record
        state.session()
        try:
            memory = pinned(self._pinned, address, size)
        except (OSError, ValueError) as error:
            raise cal.CalError(cal.CALresult.INVALID_PARAMETER, str(error)) from None
        if dimensions == 2:
            return _reply("calResCreate", [cal.calResCreate2D(dev, memory, width, height, format, size, flags)])
        return _reply("calResCreate", [cal.calResCreate1D(dev, memory, width, format, size, flags)])

    def _calResMap(self, record: Record) -> Answer | FileAnswer:
        res, flags, unknown = record
        elements, pitch = cal.calResMap(res, flags)
        found = self._memory.file(elements) if unknown else None
        file, nbytes = found or (-1, 0)
        reply = pack(MESSAGES["calResMap"].reply, (pitch, int(found is not None), nbytes))
        return FileAnswer(0, reply, file) if found else (0, reply)

    # -- launches

    def _calCtxRunProgram(self, record: Record) -> Answer:
        ctx, func, *domain = record
        return _reply("calCtxRunProgram", [cal.calCtxRunProgram(ctx, func, cal.CALdomain(*domain))])

    def _calCtxRunProgramParams(self, record: Record) -> Answer:
        ctx, func, *domain, data = record
        corners = list(struct.iter_unpack("<4f", data))
        params = cal.CALdomainparam(*(cal.CALparam(*corners[k : k + 3]) for k in range(0, len(corners), 3)))
        event = cal.calCtxRunProgramParams(ctx, func, cal.CALdomain(*domain), params)
        return _reply("calCtxRunProgramParams", [event])

    def _calCtxRunProgramGridArray(self, record: Record) -> Answer:
        ctx, flags, grids = record
        made = tuple(
            cal.CALprogramGrid(func, cal.CALdomain3D(*sizes[:3]), cal.CALdomain3D(*sizes[3:6]), sizes[6])
            for func, *sizes in grids
        )
        event = cal.calCtxRunProgramGridArray(ctx, cal.CALprogramGridArray(made, flags))
        return _reply("calCtxRunProgramGridArray", [event])

    def _calCtxWaitForEvents(self, record: Record) -> Answer:
        ctx, flags, data = record
        cal.calCtxWaitForEvents(ctx, _handles(data), flags)
        return 0, b""

    def _calCtxGetCounter(self, record: Record) -> Answer:
        value = np.float32(cal.calCtxGetCounter(*record))
        return _reply("calCtxGetCounter", [int(value.view(np.uint32))])

    def _calCtxSetSamplerParams(self, record: Record) -> Answer:
        ctx, name, param, data = record
        value: Any = struct.unpack("<4f", data) if len(data) == 16 else int.from_bytes(data, "little")
        cal.calCtxSetSamplerParams(ctx, name, param, value)
        return 0, b""

    def _calCtxGetSamplerParams(self, record: Record) -> Answer:
        value = cal.calCtxGetSamplerParams(*record)
        data = struct.pack("<4f", *value) if isinstance(value, tuple) else int(value).to_bytes(4, "little")
        return _reply("calCtxGetSamplerParams", [data])

    # -- images and modules

    def _calImageRead(self, record: Record) -> Answer:
        _image(*record)
        return 0, b""

    def _calModuleLoad(self, record: Record) -> Answer:
        ctx, data = record
        state.session()
        return _reply("calModuleLoad", [cal.calModuleLoad(ctx, _image(data))])

    def _calModuleGetEntry(self, record: Record) -> Answer:
        ctx, module, name = record
        return _reply("calModuleGetEntry", [cal.calModuleGetEntry(ctx, module, _text(name))])

    def _calModuleGetName(self, record: Record) -> Answer:
        ctx, module, name = record
        return _reply("calModuleGetName", [cal.calModuleGetName(ctx, module, _text(name))])

    def _calModuleGetFuncInfo(self, record: Record) -> Answer:
        info = cal.calModuleGetFuncInfo(*record)
        fields = MESSAGES["calModuleGetFuncInfo"].reply
        return _reply("calModuleGetFuncInfo", [int(getattr(info, name)) for name, _ in fields])

    # -- the compiler

    def _calclCompile(self, record: Record) -> Answer:
        language, target, source = record
        return _object("calclCompile", cal.calclCompile(language, _text(source), target))

    def _calclAssembleObject(self, record: Record) -> Answer:
        kind, target, source = record
        return _object("calclAssembleObject", cal.calclAssembleObject(kind, _text(source), target))

    def _calclLink(self, record: Record) -> Answer:
        objects = [
            cal.CALobject(cal.CALtarget(target), encoding.image)
            for target, data in record[0]
            for encoding in _image(data).encodings
        ]
        return _reply("calclLink", [cal.calclImageWrite(cal.calclLink(objects))])

    def _calclDisassembleImage(self, record: Record) -> Answer:
        parts: list[str] = []
        cal.calclDisassembleImage(_image(*record), parts.append)
        return _reply("calclDisassembleImage", ["".join(parts).encode()])


def _handles(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data)


def _reply(name: str, values: Sequence[Any]) -> Answer:
    return 0, pack(MESSAGES[name].reply, values)


def _object(name: str, made: cal.CALobject) -> Answer:
    return _reply(name, [cal.calclImageWrite(cal.calclLink([made]))])


@functools.lru_cache(64)
def _image(data: bytes) -> cal.CALimage:
    return cal.calImageRead(data)


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def _plain(name: str) -> Callable[[Record], Answer]:
    """A function that numbers pass in and out of, and a result: `calCtxIsEventDone`'s is its status."""
    function: Callable[..., Any] = getattr(cal, name)
    fields = MESSAGES[name].reply if name in PLAIN else ()

    def handler(record: Record) -> Answer:
        value = function(*record)
        if fields:
            return 0, pack(fields, (value,))
        return (0 if value is None else int(value)), b""

    return handler


def _guarded(name: str, handler: Callable[[Record], Answer]) -> Handler:
    def guarded(record: Record) -> Answer:
        try:
            return handler(record)
        except cal.CalError as error:
            if name in _WAITING and check_wanted():
                print(f"headwater: {error.message}", file=sys.stderr)  # programs seldom ask for an error's text
            return _failure(int(error.result), error.message)
        except HeadwaterError as error:
            return _failure(int(cal.CALresult.ERROR), str(error))
        except MemoryError:
            return _failure(int(cal.CALresult.ERROR), "the server has no more memory")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            return _failure(int(cal.CALresult.ERROR), f"a defect of Headwater in {name}: {error!r}")

    return guarded


def _failure(result: int, text: str) -> Answer:
    return result, pack(FAILURE, (text.encode("utf-8", "replace"),))

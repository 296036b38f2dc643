"""Kill CAL hosts and their servers at random moments, and look for hangs, wrong answers and whatever is left.

    python -m verification.cal_chaos --moments 200 --seed 1

A host has 16 threads and 100 contexts on a simulated chip and the cpu, and begins another session when its server has
gone. What has to be right is said in `verification.icd_chaos`.
"""

from __future__ import annotations

import ctypes
import random
import sys
import threading
from contextlib import suppress
from typing import Any

import numpy as np

from headwater import cal
from headwater.cal.abi import library
from verification import kills

SOURCE = b"""il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 3.0, 1.0, 1.0, 1.0
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
sample_resource(0)_sampler(0) r0, vWinCoord0.xyxy
mad r0, r0, l0.x, l0.y
mov o0, r0
end
"""


class Lost(Exception):
    """A call's result."""


class Api:
    """CAL's functions: each returns what the C function passes back by its first argument, or raises its result."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(str(library.build()))
        self._library.calGetErrorString.restype = ctypes.c_char_p

    def do(self, name: str, *arguments: Any) -> None:
        result = getattr(self._library, name)(*arguments)
        if result:
            raise Lost(f"{name}: {result}, {self._library.calGetErrorString().decode()}")

    def get(self, name: str, *arguments: Any, kind: type = ctypes.c_uint32) -> Any:
        made = kind()
        self.do(name, ctypes.byref(made), *arguments)
        return made

    def wait(self, ctx: Any, event: Any) -> None:
        while (result := self._library.calCtxIsEventDone(ctx, event)) == cal.CAL_RESULT_PENDING:
            pass
        if result:
            raise Lost(f"calCtxIsEventDone: {result}, {self._library.calGetErrorString().decode()}")


class Work:
    """A context of a device with a program."""

    def __init__(self, api: Api, dev: Any, target: int) -> None:
        self.api, self.dev = api, dev
        self.ctx = api.get("calCtxCreate", dev)
        obj = api.get("calclCompile", cal.CAL_LANGUAGE_IL, SOURCE, target, kind=ctypes.c_void_p)
        image = api.get("calclLink", ctypes.byref(obj), 1, kind=ctypes.c_void_p)
        self.module = api.get("calModuleLoad", self.ctx, image)
        self.function = api.get("calModuleGetEntry", self.ctx, self.module, b"main")
        self.names = [api.get("calModuleGetName", self.ctx, self.module, name) for name in (b"i0", b"o0")]
        api.do("calclFreeImage", image)
        api.do("calclFreeObject", obj)

    def elements(self, res: Any, width: int, height: int, values: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any]:
        """Write a resource's elements, or read them."""
        address, pitch = ctypes.c_void_p(), ctypes.c_uint32()
        self.api.do("calResMap", ctypes.byref(address), ctypes.byref(pitch), res, 0)
        memory = (ctypes.c_float * (4 * pitch.value * height)).from_address(address.value or 0)
        held = np.frombuffer(memory, np.float32).reshape(height, pitch.value, 4)[:, :width]
        if values is not None:
            held[...] = values
        copy = held.copy()
        self.api.do("calResUnmap", res)
        return copy

    def run(self, draw: random.Random) -> bool:
        """Whether a launch gave what it should."""
        width, height = draw.choice((1, 7, 64)), draw.choice((1, 5, 64))
        api, memory, resources = self.api, [], []
        values = np.float32(draw.randrange(1000)) + np.arange(4 * width * height, dtype=np.float32)
        values = values.reshape(height, width, 4)
        for name in self.names:
            res = api.get("calResAllocLocal2D", self.dev, width, height, cal.CAL_FORMAT_FLOAT_4, 0)
            resources.append(res)
            memory.append(api.get("calCtxGetMem", self.ctx, res))
            api.do("calCtxSetMem", self.ctx, name, memory[-1])
        self.elements(resources[0], width, height, values)
        domain = (ctypes.c_uint32 * 4)(0, 0, width, height)
        self.api.wait(self.ctx, api.get("calCtxRunProgram", self.ctx, self.function, ctypes.byref(domain)))
        good = bool((self.elements(resources[1], width, height, None) == values * 3 + 1).all())
        for name, mem, res in zip(self.names, memory, resources, strict=True):
            api.do("calCtxSetMem", self.ctx, name, 0)
            api.do("calCtxReleaseMem", self.ctx, mem)
            api.do("calResFree", res)
        return good


def host(threads: int, contexts: int, seed: int) -> int:
    """Work until standard input is closed; 1 if there was a wrong answer."""
    api, tally = Api(), kills.Tally()

    def open_devices() -> list[tuple[Any, int]]:
        api.do("calInit")
        found = []
        for number in range(api.get("calDeviceGetCount").value):
            info = api.get("calDeviceGetInfo", number, kind=ctypes.c_uint32 * 4)
            found.append((api.get("calDeviceOpen", number), info[0]))
        return found

    def work(number: int, devices: list[tuple[Any, int]]) -> None:
        draw = random.Random(seed * 1000 + number)
        own = range(number, contexts, threads)
        try:
            works = [Work(api, *devices[k % len(devices)]) for k in own]
            while not tally.stop.is_set():
                tally.answer(draw.choice(works).run(draw))
        except Lost as error:
            tally.error(str(error))

    def sessions(devices: list[tuple[Any, int]]) -> None:
        while not tally.stop.is_set():
            workers = [threading.Thread(target=work, args=(number, devices)) for number in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            with suppress(Lost):  # there is no session if the server ended while it began
                api.do("calShutdown")
            try:
                devices = open_devices()
            except Lost as error:
                tally.error(str(error))

    try:
        devices = open_devices()
        good = all(Work(api, *device).run(random.Random(seed)) for device in devices)
    except Lost as error:
        raise SystemExit(str(error)) from None
    if not good:
        raise SystemExit("a device computes wrong before anything is killed")
    print("ready", flush=True)
    main = threading.Thread(target=sessions, args=(devices,))
    main.start()
    tally.wait()
    main.join()
    return tally.report()


if __name__ == "__main__":
    sys.exit(
        kills.main("verification.cal_chaos", (__doc__ or "").splitlines()[0], "hd4870,cpu", library.environment, host)
    )

"""Builds programs and runs kernels. Input: a host's requests. Output: replies."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headwater.bridge.arena import Arena
from headwater.bridge.connection import Answer, Service
from headwater.bridge.transport import Shared
from headwater.errors import HeadwaterError
from headwater.icd.constants import CL
from headwater.icd.protocol import MESSAGES, PROTOCOL, pack
from headwater.icd.server import programs
from headwater.icd.server.devices import descriptions
from headwater.icd.server.launches import Kernel, Launcher, Output, checks, group_of
from headwater.runtime.host.kernel import KernelMemory
from headwater.runtime.interface import Device, DeviceProgram

Handler = Callable[[tuple[Any, ...]], Any]


class Requests(Service):
    """What a host has asked for: its programs, by number."""

    protocol = PROTOCOL
    lost = CL["OUT_OF_RESOURCES"]
    remedy = "run headwater icd install again"

    def __init__(self) -> None:
        self._devices: Sequence[Device] = ()
        self._programs: dict[int, tuple[DeviceProgram, list[Kernel]]] = {}
        self._number = 0
        self._lock = threading.Lock()
        output = Output()
        sys.stdout = output
        self._launcher = Launcher(output)

    def hello(self, shared: Shared, record: tuple[Any, ...]) -> Answer:
        """Take the arena, and tell of the devices."""
        base, nbytes = record
        self._arena = Arena(shared, base, nbytes)
        self._devices, records = descriptions(svm=self._arena.same_address)
        return 0, pack(MESSAGES["hello"].reply, (records, int(self._arena.same_address), int(checks())))

    def handlers(self) -> dict[str, Handler]:
        """Who answers a message, by its name; every message but those of the first connection has one."""
        return {name: self._guarded(name) for name in MESSAGES if name not in ("hello", "connect")}

    def _guarded(self, name: str) -> Handler:
        """The handler, with whatever it raises as the reply's status: a defect must not end the host's server."""
        handler: Handler = getattr(self, f"_{name}")
        if name == "launch":
            return handler

        def guarded(record: tuple[Any, ...]) -> Answer:
            try:
                answer: Answer = handler(record)
                return answer
            except HeadwaterError as error:
                print(f"headwater: {error}", file=sys.stderr)
                return CL["OUT_OF_RESOURCES"], b""
            except Exception:
                traceback.print_exc()
                return CL["OUT_OF_RESOURCES"], b""

        return guarded

    def _build(self, record: tuple[Any, ...]) -> Answer:
        device, link_only, options, units = record
        reply = MESSAGES["build"].reply
        try:
            given, words = programs.read_units(units), options.decode(errors="replace")
            text = programs.joined(given, words, linking=bool(link_only))
            made = self._devices[device].build(text.source, programs.NAME, text.options)
        except HeadwaterError as error:
            return programs.status_of(error), pack(reply, (0, _log(error), 0, []))
        kernels = [Kernel(kernel, self._arena) for kernel in made.kernels.values()]
        with self._lock:
            self._number += 1
            number = self._number
            self._programs[number] = made, kernels
        return 0, pack(reply, (number, made.warnings.encode(), made.variable_bytes, programs.kernel_records(made)))

    def _compile(self, record: tuple[Any, ...]) -> Answer:
        device, units = record
        reply = MESSAGES["compile"].reply
        chosen, given = self._devices[device], programs.read_units(units)
        try:
            whole = [programs.without_headers(chosen, unit) for unit in given]
            checked = [made if unit.headers else unit for unit, made in zip(given, whole, strict=True)]
            warnings = [programs.check(chosen, unit) for unit in checked]
        except HeadwaterError as error:
            return programs.status_of(error), pack(reply, (_log(error), []))
        changed = [programs.unit_record(unit) for unit in whole] if whole != given else []
        return 0, pack(reply, ("".join(warnings).encode(), changed))

    def _release(self, record: tuple[Any, ...]) -> Answer:
        with self._lock:
            self._programs.pop(record[0], None)
        return 0, b""

    def _kernel_info(self, record: tuple[Any, ...]) -> Answer:
        program, number, memory = record
        kernel = self._programs[program][1][number]
        info, device = kernel.kernel.info, kernel.device
        required = info.reqd_group_size
        group = device.max_group_size if required is None else required[0] * required[1] * required[2]
        needs = kernel.kernel.memory() if memory else KernelMemory(0, 0)
        multiple = 64 if device.is_gpu or device.kind == "simulated" else 16
        return 0, pack(MESSAGES["kernel_info"].reply, (group, min(multiple, group), *needs))

    def _suggest(self, record: tuple[Any, ...]) -> Answer:
        ((program, number, *sizes, _),) = record[0]
        kernel = self._programs[program][1][number]
        return 0, pack(MESSAGES["suggest"].reply, group_of(kernel.prepared(tuple(sizes))))

    def _launch(self, record: tuple[Any, ...]) -> Iterator[Answer]:
        reply = MESSAGES["launch"].reply
        for program, number, *sizes, data in record[0]:
            try:
                kernel = self._programs[program][1][number]
                status, *answer = self._launcher.launch(kernel, tuple(sizes), data)
            except Exception as error:
                traceback.print_exc()
                status, answer = CL["OUT_OF_RESOURCES"], [0, 0, b"", f"a defect of Headwater: {error!r}".encode()]
            yield status, pack(reply, answer)


def _log(error: HeadwaterError) -> bytes:
    return f"{error}\n".encode("utf-8", "surrogateescape")

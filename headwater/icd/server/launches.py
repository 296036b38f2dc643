"""Runs a host's kernels. Input: launches. Output: their times, output and errors."""

from __future__ import annotations

import itertools
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from headwater.base.arrays import Array, address
from headwater.bridge.arena import Arena
from headwater.bridge.protocol import runs
from headwater.emulate.watch import unwritten
from headwater.errors import GroupSizeError, HeadwaterError, InternalError, OutOfMemoryError
from headwater.icd.constants import CL
from headwater.icd.protocol import DIMENSIONS, IMAGE, MEMORY, RECORDS, SAMPLER
from headwater.runtime.checking import NOT_CHECKED
from headwater.runtime.host.kernel import LaunchableKernel, PreparedOnHost
from headwater.runtime.images import CHANNEL_ORDERS, CHANNEL_TYPES, Image
from headwater.runtime.interface import Device, DeviceKernel
from headwater.runtime.shapes import three
from headwater.runtime.values import Local, Sampler

if TYPE_CHECKING:
    from headwater.runtime.simulated.device import SimulatedDevice

REMEMBERED = 1024
"""Sets of arguments of a kernel that are kept as the run-time takes them."""

Maker = Callable[[Any], Any]
_now = time.perf_counter_ns
_HEAD, _ = (run for run, _ in runs(RECORDS["launch"]))
assert _HEAD is not None
_unpack_head = _HEAD.unpack_from
_HEAD_BYTES = _HEAD.size
_LENGTH = struct.Struct("<I")
_ORDERS = {number: name for name, (number, _) in CHANNEL_ORDERS.items()}
_TYPES = {number: name for name, (number, _) in CHANNEL_TYPES.items()}
_CHANNELS = dict(CHANNEL_ORDERS.values())
_ADDRESSING = ("none", "clamp_to_edge", "clamp", "repeat", "mirrored_repeat")
_FILTERS = ("nearest", "linear")


def asked(variable: str) -> bool:
    """Whether the environment switches something on."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "no", "off", "false")


def checks() -> bool:
    """Whether launches are checked."""
    return asked("HEADWATER_ICD_CHECK")


class Output:
    """What kernels print, for the host to write: standard output while a server runs."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Keep a text."""
        with self._lock:
            self._parts.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing: it is taken, not written."""

    def take(self) -> str:
        """What was written since the last time."""
        if not self._parts:
            return ""
        with self._lock:
            parts, self._parts = self._parts, []
        return "".join(parts)


class Kernel:
    """A kernel of a program with what turns a request's bytes into its arguments."""

    def __init__(self, kernel: DeviceKernel, arena: Arena) -> None:
        assert isinstance(kernel, LaunchableKernel)  # what the platform offers are such devices
        self.kernel = kernel
        self.device: Device = kernel.device
        self._arena = arena
        self._prepared: dict[tuple[Any, ...], PreparedOnHost] = {}
        self._known: dict[bytes, list[Any]] = {}
        self._check = True if checks() else None
        words = 3 if self._check else 2
        codes, self._makers = [], []
        makers: list[tuple[int, Maker]] = []
        for arg in kernel.info.args:
            if arg.kind in ("buffer", "constant"):
                codes.append("Q" * words)
                makers.append((words, self._buffer))
            elif arg.kind == "local":
                codes.append("Q")
                makers.append((1, Local))
            elif arg.kind == "image":
                codes.append("64s")
                makers.append((1, self._image))
            elif arg.kind == "sampler":
                codes.append("I")
                makers.append((1, _sampler))
            else:
                code, make = _value(arg)
                codes.append(code)
                makers.append((1, make))
        self._layout = struct.Struct("<" + "".join(codes))
        self._makers = makers

    def prepared(self, sizes: tuple[Any, ...]) -> PreparedOnHost:
        """The kernel for a launch's sizes, as `launch` has them."""
        known = self._prepared.get(sizes)
        if known is None:
            dim, has_group = sizes[:2]
            whole, group, offset = sizes[2 : 2 + dim], sizes[5 : 5 + dim], sizes[8 : 8 + dim]
            prepared = self.kernel.prepare(
                whole, group if has_group else None, offset if any(offset) else (), check=self._check
            )
            known = cast("PreparedOnHost", prepared)  # a `LaunchableKernel` makes no others
            if len(self._prepared) >= REMEMBERED:
                self._prepared.clear()
            self._prepared[sizes] = known
        return known

    def arguments(self, data: bytes) -> list[Any]:
        """What the run-time takes for the arguments in ``data``."""
        known = self._known.get(data)
        if known is None:
            values = iter(self._layout.unpack(data))
            known = [
                make(next(values) if count == 1 else tuple(itertools.islice(values, count)))
                for count, make in self._makers
            ]
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[data] = known
        return known

    def _buffer(self, where: tuple[int, ...]) -> Any:
        part = self._arena.part(*where[:2])
        if part is None:
            return None
        buffer: Any = self.device.wrap(part)
        if self._check:
            told = where[2]
            buffer.forbidden = "write" if told & MEMORY["no_write"] else "read" if told & MEMORY["no_read"] else ""
        return buffer

    def note_memory(self, data: bytes) -> None:
        """Tell the checks which memory nobody has written: what the host says of it."""
        values = iter(self._layout.unpack(data))
        for count, make in self._makers:
            given = tuple(itertools.islice(values, count))
            if make != self._buffer:
                continue
            offset, nbytes, told = given
            part = self._arena.part(offset, nbytes)
            if part is None:
                continue
            if told & MEMORY["unwritten"]:
                unwritten.followed(address(part), nbytes, told // MEMORY["serial"])
            # VLIW chips work on a copy of memory that is not whole dwords.
            if not told & MEMORY["unwritten"] or self.device.kind != "simulated" or nbytes % unwritten.WORD_BYTES:
                unwritten.written(address(part))

    def _image(self, data: bytes) -> Image:
        layout, _ = runs(IMAGE)[0]
        assert layout is not None
        offset, nbytes, order, kind, dimensions, _, width, height, depth, layers = layout.unpack(data)
        memory = self._arena.part(offset, nbytes)
        assert memory is not None
        name = DIMENSIONS[dimensions]
        shapes = {
            "1d": (width,), "1d_buffer": (width,), "2d": (height, width), "3d": (depth, height, width),
            "1d_array": (layers, width), "2d_array": (layers, height, width),
        }  # fmt: skip
        shape = shapes[name]
        channels = _CHANNELS[order]
        pixels: Array = memory.view(np.dtype(CHANNEL_TYPES[_TYPES[kind]][1]))
        count = int(np.prod(shape)) * channels
        pixels = pixels[:count].reshape((*shape, channels) if channels > 1 else shape)
        flat: Any = "1d" if name == "1d_buffer" else name
        return Image(pixels, _ORDERS[order], _TYPES[kind], flat)


def _sampler(bits: int) -> Sampler:
    addressing: Any = _ADDRESSING[bits >> SAMPLER["addressing_shift"] & 7]
    kind: Any = _FILTERS[bits >> SAMPLER["filter_shift"] & 1]
    normalized = bool(bits & SAMPLER["normalized"])
    if addressing in ("repeat", "mirrored_repeat") and not normalized:
        addressing = "clamp_to_edge"  # undefined for coordinates in pixels
    return Sampler(normalized, addressing, kind)


def _value(arg: Any) -> tuple[str, Maker]:
    from headwater.runtime.signature import number_code

    code = number_code(arg)
    if code is not None and struct.calcsize("<" + code) == arg.size_bytes:
        return code, lambda value: value
    return f"{arg.size_bytes}s", lambda value: value


class Launcher:
    """Runs launches; ``output``: what they print goes there."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._simulated = os.environ.get("HEADWATER_ICD_TIME", "").strip().lower() == "simulated"
        self._checks = checks()
        if self._checks:
            print(f"headwater: note: {NOT_CHECKED}; simulated chips do", file=sys.stderr)
        if self._simulated and self._checks:
            self._simulated = False
            print(
                "headwater: HEADWATER_ICD_TIME=simulated is not used: checked launches are not simulated, and "
                "profiling gives this machine's time",
                file=sys.stderr,
            )

    def launch(self, kernel: Kernel, sizes: tuple[Any, ...], data: bytes) -> tuple[int, int, int, bytes, bytes]:
        """Status, start and end in nanoseconds, what was printed, and what went wrong."""
        status, message = 0, b""
        start = _now()
        try:
            prepared = kernel.prepared(sizes)
            if self._checks:
                kernel.note_memory(data)
            arguments = kernel.arguments(data)
            start = _now()
            if self._simulated and kernel.device.kind == "simulated":
                end = start + _simulate(kernel.device, lambda: prepared(arguments))
            else:
                prepared(arguments)
                end = _now()
        except HeadwaterError as error:
            status, message, end = status_of(error), f"{kernel.kernel.name}: {error}".encode(), _now()
        except MemoryError:
            status, message, end = CL["OUT_OF_RESOURCES"], b"the server has no more memory", _now()
        return status, start, end, self._output.take().encode("utf-8", "surrogateescape"), message


def _simulate(device: Device, run: Callable[[], object]) -> int:
    """Run a launch and tell how many nanoseconds the chip would take."""
    from headwater.timing.simulate import Recorded

    chip = cast("SimulatedDevice", device).chip
    return round(sum(report.seconds for report in Recorded(run).reports(chip)) * 1e9)


def status_of(error: HeadwaterError) -> int:
    """CL's code for a launch that failed."""
    if isinstance(error, InternalError):
        print(f"headwater: {error}", file=sys.stderr)
    return CL[next((name for kind, name in _STATUS.items() if isinstance(error, kind)), "OUT_OF_RESOURCES")]


_STATUS: dict[type[HeadwaterError], str] = {
    GroupSizeError: "INVALID_WORK_GROUP_SIZE",
    OutOfMemoryError: "MEM_OBJECT_ALLOCATION_FAILURE",
}


def launches(data: bytes) -> list[tuple[tuple[Any, ...], bytes]]:
    """Of each launch in a list's bytes: program, kernel and sizes, and its arguments' bytes."""
    found, at, end = [], 0, len(data)
    while at < end:
        head = _unpack_head(data, at)
        at += _HEAD_BYTES
        (size,) = _LENGTH.unpack_from(data, at)
        at += 4
        found.append((head, data[at : at + size]))
        at += size
    return found


def group_of(prepared: PreparedOnHost) -> tuple[int, int, int]:
    """The size of the groups that a launch runs in."""
    return three(prepared.host.local_size)

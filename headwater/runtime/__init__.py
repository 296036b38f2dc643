"""Input: kernels, arrays and a device's name. Output: results: one interface over cpu and OpenCL devices."""

from __future__ import annotations

from headwater.runtime.devices import device, devices
from headwater.runtime.events import Event
from headwater.runtime.images import Image
from headwater.runtime.interface import Buffer, Device, DeviceKernel, DeviceProgram, Queue
from headwater.runtime.loading import compile
from headwater.runtime.program import Kernel, Program
from headwater.runtime.streams import Stream, stream
from headwater.runtime.values import Local, Sampler

__all__ = [
    "Buffer",
    "Device",
    "DeviceKernel",
    "DeviceProgram",
    "Event",
    "Image",
    "Kernel",
    "Local",
    "Program",
    "Queue",
    "Sampler",
    "Stream",
    "compile",
    "device",
    "devices",
    "stream",
]

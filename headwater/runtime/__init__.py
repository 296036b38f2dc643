"""Kernels, arrays and a device's name pass in, results pass out: one interface over cpu and OpenCL devices."""

from __future__ import annotations

from headwater.runtime.devices import Buffer, Device, DeviceKernel, DeviceProgram, device, devices
from headwater.runtime.events import Event, Queue
from headwater.runtime.images import Image
from headwater.runtime.program import Kernel, Program, compile
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

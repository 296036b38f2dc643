"""Headwater: bring a Brook+, OpenCL C or ATI IL kernel, run it fast here, or on a chip you do not have, and see why.

The public surface is resolved on first use, so that ``import headwater`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.base.tools import provide
from headwater.base.version import VERSION

__version__ = VERSION

_PUBLIC = {
    "compile": "headwater.runtime",
    "device": "headwater.runtime",
    "devices": "headwater.runtime",
    "stream": "headwater.runtime",
    "Device": "headwater.runtime",
    "Stream": "headwater.runtime",
    "Program": "headwater.runtime",
    "Kernel": "headwater.runtime",
    "Queue": "headwater.runtime",
    "Event": "headwater.runtime",
    "Local": "headwater.runtime",
    "Image": "headwater.runtime",
    "Sampler": "headwater.runtime",
    "iterator": "headwater.brook.iterators",
    "HeadwaterError": "headwater.errors",
    "SourceError": "headwater.errors",
    "UsageError": "headwater.errors",
    "LaunchError": "headwater.errors",
    "DeviceError": "headwater.errors",
    "ResourceError": "headwater.errors",
    "KernelFault": "headwater.errors",
}

# What lower packages reach in higher ones: who is asked for a device by name, and what kernels have methods of.
provide("analyze", "headwater.analyze.entry:analyze")
provide("device", "headwater.runtime.devices:by_name")
provide("default device", "headwater.runtime.devices:default")
provide("simulate", "headwater.timing.simulate:simulate_launch")

__all__ = ["__version__", "analyze", *_PUBLIC]

if TYPE_CHECKING:
    from headwater.brook.iterators import iterator as iterator
    from headwater.errors import (
        DeviceError as DeviceError,
        HeadwaterError as HeadwaterError,
        KernelFault as KernelFault,
        LaunchError as LaunchError,
        ResourceError as ResourceError,
        SourceError as SourceError,
        UsageError as UsageError,
    )
    from headwater.runtime import (
        Device as Device,
        Event as Event,
        Image as Image,
        Kernel as Kernel,
        Local as Local,
        Program as Program,
        Queue as Queue,
        Sampler as Sampler,
        Stream as Stream,
        compile as compile,
        stream as stream,
    )
    from headwater.runtime.devices import device as device, devices as devices


def __getattr__(name: str) -> Any:
    if name == "analyze":
        return import_module("headwater.analyze")  # a package that is called as a function
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'headwater' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

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
    "map": "headwater.jobs.spread",
    "spread": "headwater.jobs.distributed",
    "show": "headwater.pictures.show",
    "animate": "headwater.pictures.show",
    "from_wgpu": "headwater.pictures.textures",
    "to_wgpu": "headwater.pictures.textures",
    "iterator": "headwater.brook.iterators",
    "kernel": "headwater.runtime.python",
    "stream_kernel": "headwater.runtime.brook.python_kernels",
    "array": "headwater.python.types",
    "local": "headwater.python.types",
    "image": "headwater.python.types",
    "vector": "headwater.python.types",
    "cl": "headwater.python.vocabulary",
    **dict.fromkeys(
        (
            *("global_id", "local_id", "group_id", "global_size", "local_size", "num_groups"),
            *("barrier", "mem_fence", "local_array", "private_array", "atomic_compare_exchange", "instance"),
            *(f"atomic_{name}" for name in ("add", "sub", "min", "max", "and", "or", "xor", "exchange", "inc", "dec")),
            *(f"sub_group_{name}" for name in ("size", "local_id", "id", "barrier", "all", "any", "broadcast")),
            *(f"sub_group_reduce_{name}" for name in ("add", "min", "max")),
            *("sub_group_scan_inclusive_add", "sub_group_scan_exclusive_add", "num_sub_groups"),
            *("bool_", "float16", "float32", "float64"),
            *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
            *(
                f"{name}{width}"
                for name in (
                    "char",
                    "uchar",
                    "short",
                    "ushort",
                    "int",
                    "uint",
                    "long",
                    "ulong",
                    "half",
                    "float",
                    "double",
                )
                for width in (2, 3, 4)
            ),
        ),
        "headwater.python.vocabulary",
    ),
    "HeadwaterError": "headwater.errors",
    "SourceError": "headwater.errors",
    "UsageError": "headwater.errors",
    "LaunchError": "headwater.errors",
    "DeviceError": "headwater.errors",
    "ResourceError": "headwater.errors",
    "KernelFault": "headwater.errors",
}

# What lower packages reach in higher ones: who is asked for a device by name, and what kernels have methods of.
provide("kernels of a Python file", "headwater.runtime.python:program_text")
provide("analyze", "headwater.analyze.entry:analyze")
provide("device", "headwater.runtime.devices:by_name")
provide("array_function", "headwater.acml.streams.dispatch:array_function")
provide("array_ufunc", "headwater.acml.streams.dispatch:array_ufunc")
provide("default device", "headwater.runtime.devices:default")
provide("simulate", "headwater.timing.simulate:simulate_launch")

__all__ = ["__version__", "analyze", "sweep", *_PUBLIC]

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
    from headwater.jobs.distributed import spread as spread
    from headwater.jobs.spread import map as map
    from headwater.pictures.show import animate as animate, show as show
    from headwater.pictures.textures import from_wgpu as from_wgpu, to_wgpu as to_wgpu
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
    if name in ("analyze", "sweep"):
        return import_module(f"headwater.{name}")  # a package that is called as a function
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'headwater' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

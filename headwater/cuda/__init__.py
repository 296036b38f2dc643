"""Runs programs written for Numba-CUDA, with this module for their ``cuda``, on Headwater's devices.

What has 64 bits in Numba because nothing says otherwise has 32 here: integers that are literals or Python's, and
floating-point numbers that meet no float64.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from headwater.cuda import random as random, types as types
from headwater.cuda.device_arrays import (
    DeviceArray as DeviceArray,
    as_cuda_array as as_cuda_array,
    device_array as device_array,
    device_array_like as device_array_like,
    is_cuda_array as is_cuda_array,
    mapped_array as mapped_array,
    pinned as pinned,
    pinned_array as pinned_array,
    to_device as to_device,
)
from headwater.cuda.launching import (
    Event as _Event,
    Reduce as Reduce,
    Stream as _Stream,
    get_current_device as get_current_device,
    jit as jit,
    synchronize as synchronize,
)
from headwater.cuda.names import (
    activemask as activemask,
    all_sync as all_sync,
    any_sync as any_sync,
    atomic as atomic,
    ballot_sync as ballot_sync,
    blockDim as blockDim,
    blockIdx as blockIdx,
    cg as cg,
    clz as clz,
    ffs as ffs,
    grid as grid,
    gridDim as gridDim,
    gridsize as gridsize,
    laneid as laneid,
    lanemask_lt as lanemask_lt,
    local as local,
    match_all_sync as match_all_sync,
    match_any_sync as match_any_sync,
    popc as popc,
    selp as selp,
    shared as shared,
    shfl_down_sync as shfl_down_sync,
    shfl_sync as shfl_sync,
    shfl_up_sync as shfl_up_sync,
    shfl_xor_sync as shfl_xor_sync,
    syncthreads as syncthreads,
    syncwarp as syncwarp,
    threadfence as threadfence,
    threadfence_block as threadfence_block,
    threadfence_system as threadfence_system,
    threadIdx as threadIdx,
    warpsize as warpsize,
)
from headwater.cuda.types import (
    boolean as boolean,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    void as void,
)

reduce = Reduce


def stream() -> _Stream:
    """A stream of launches on the current device."""
    return _Stream()


def event(timing: bool = True) -> _Event:
    """An event that streams can record."""
    return _Event(timing)


def is_available() -> bool:
    """Whether kernels can run: on the cpu device they always can."""
    return True


def detect() -> bool:
    """Print the devices."""
    from headwater.runtime.devices import devices

    for number, device in enumerate(devices()):
        print(f"id {number}    {device.name}    {device.description}")
    return True


def close() -> None:
    """End the use of the device: nothing has to be given back."""


@contextlib.contextmanager
def defer_cleanup() -> Iterator[Any]:
    """Memory is given back when nothing refers to it any more, here as elsewhere."""
    yield

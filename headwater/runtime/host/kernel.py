"""Input: a launch's sizes. Output: the launch prepared for them, once: `HostKernel`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headwater.runtime.checking import check_wanted
from headwater.runtime.interface import DeviceKernel, Prepared
from headwater.runtime.shapes import Size, is_empty, sizes

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.host.device import HostDevice
    from headwater.runtime.host.launch import HostLaunch

_CACHED_SIZES = 512


class KernelMemory(NamedTuple):
    """What a kernel needs beside its arguments: the bytes of local memory that it declares for each work-group, and
    those of scratch memory that the chip gives each work-item (0 on the cpu device)."""

    local_bytes: int
    private_bytes: int


class PreparedOnHost(Prepared, Protocol):
    """A prepared launch by this machine's processor."""

    host: HostLaunch[Any]

    @property
    def private_lane_bytes(self) -> int:
        """The scratch memory of a work-item in bytes."""
        ...


class HostKernel(DeviceKernel):
    """A kernel that this machine's processor runs; ``program_source`` and ``program_filename`` are what it was compiled
    from, "" if that is not known. Code for particular sizes is made, or found in the cache, when first asked for."""

    __slots__ = ("_prepared", "options", "program_filename", "program_source")

    def __init__(self, device: HostDevice, info: KernelInfo, source: str, filename: str, options: str) -> None:
        self.device = device
        self.info = info
        self.program_source = source
        self.program_filename = filename
        self.options = options
        self._prepared: dict[Any, Prepared] = {}

    @property
    def source_file(self) -> str:
        """What messages call the file that the kernel stands in."""
        return self.info.file or self.program_filename

    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> Prepared:
        if check is None:
            check = check_wanted()
        key: Any = (global_size, local_size, offset, check, lds_bytes)
        try:
            launch = self._prepared.get(key)
        except (TypeError, ValueError):  # lists, arrays, memory: they cannot be keys
            key = (
                sizes(global_size, "global size"),
                None if local_size is None else sizes(local_size, "group size"),
                () if is_empty(offset) else sizes(offset, "global offset"),
                check,
                lds_bytes,
            )
            launch = self._prepared.get(key)
        if launch is None:
            launch = self.make(global_size, local_size, offset, check, lds_bytes)
            if len(self._prepared) >= _CACHED_SIZES:
                self._prepared.clear()
            self._prepared[key] = launch
        return launch

    @abstractmethod
    def make(self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int) -> Prepared:
        """A launch of these sizes; LaunchError as `prepare`. ``check``: one that reports wrong accesses."""


class LaunchableKernel(HostKernel):
    """A kernel with the arguments of OpenCL C, whose launches are `HostLaunch`."""

    __slots__ = ()

    @abstractmethod
    def make(
        self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int
    ) -> PreparedOnHost: ...

    def memory(self) -> KernelMemory:
        """The memory that it needs in groups of the size that it asks for, or of one work-item."""
        size = self.info.reqd_group_size or (1,)
        launch = self.make(size, size, (), False, 0)
        return KernelMemory(launch.host.local.static_bytes, launch.private_lane_bytes)

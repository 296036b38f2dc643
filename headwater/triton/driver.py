"""Input: a simulated chip. Output: the driver by which Triton compiles for it, launches there and takes times."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.errors import DeviceError, UsageError
from headwater.runtime.interface import Device, resolve
from headwater.runtime.simulated.device import SimulatedDevice
from headwater.triton.arguments import flattened, number
from headwater.triton.binary import Binary, Description
from headwater.triton.memory import HostArray
from headwater.triton.stopwatch import do_bench

if TYPE_CHECKING:
    from headwater.chips import Chip

TARGETS = ("gfx906", "gfx908", "gfx90a", "gfx942")
"""LLVM's processors that both Triton compiles for and the emulator runs."""
_WAVEFRONT = 64
_NAMED_VGPRS = 256
"""Vector registers that instructions can name; where the file is larger, HIP does not count accumulation registers."""

_devices: list[SimulatedDevice] = []
"""Those that were active, at their device numbers: Triton keeps compiled kernels by the number."""


class Driver:
    """What Triton asks of a driver (triton.backends.driver.DriverBase)."""

    def __init__(self, device: SimulatedDevice, check: bool | None) -> None:
        self.device = device
        self.check = check
        self.utils = Utils(self)
        self.launcher_cls = self._launcher
        if device not in _devices:
            _devices.append(device)

    @staticmethod
    def is_active() -> bool:
        """Whether it can be used."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Triton's type for its own launchers, which are not used here."""
        return ty

    def get_current_target(self) -> Any:
        """What to compile for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("hip", self.device.chip.target, _WAVEFRONT)

    def get_active_torch_device(self) -> Any:
        """Where tensors have to be."""
        import torch

        if not hasattr(torch.cpu, "set_stream"):  # scripts take the module of the device's name for torch.cuda
            torch.cpu.set_stream = lambda stream: None
        return torch.device("cpu")

    def get_current_device(self) -> int:
        """The chip's number."""
        return _devices.index(self.device)

    def set_current_device(self, device: int) -> None:
        """There is one."""

    def get_current_stream(self, device: int) -> int:
        """Launches have ended on return."""
        return 0

    def get_device_interface(self) -> Any:
        """What scripts use of ``torch.cuda``."""
        return SimpleNamespace(
            synchronize=lambda device=None: None,
            current_device=self.get_current_device,
            set_device=self.set_current_device,
        )

    def get_benchmarker(self) -> Callable[..., Any]:
        """By what ``triton.autotune`` compares."""
        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A replay begins with cold caches."""
        return None

    def clear_cache(self, cache: Any) -> None:
        """A replay begins with cold caches."""

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        """Memory for a profiler inside kernels."""
        return np.zeros(size, np.int8)

    def _launcher(self, source: Any, metadata: Any) -> Launcher:
        return Launcher(self, source, metadata)


class Utils:
    """What Triton asks of a driver's library."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def get_device_properties(self, device: int | None) -> dict[str, Any]:
        """The chip, in the words of HIP's hipDeviceProp_t."""
        chip: Chip = self._driver.device.chip
        compute = chip.compute
        simds = compute.simds_per_compute_unit
        return {
            "arch": chip.target,
            "warpSize": compute.wavefront_size,
            "multiprocessor_count": compute.compute_units,
            "max_shared_mem": chip.local_memory.work_group_bytes,
            "max_num_regs": min(chip.registers.vgprs, _NAMED_VGPRS) * compute.wavefront_size * simds,
            "max_threads_per_sm": compute.wavefronts_per_simd * simds * compute.wavefront_size,
            "sm_clock_rate": round(compute.clock_mhz * 1e3),
            "mem_clock_rate": round(chip.memory.clock_mhz * 1e3),
            "mem_bus_width": chip.memory.bus_bits,
            "cooperativeLaunch": 0,
        }

    def load_binary(self, name: str, code: bytes, shared: int, device: int) -> tuple[Any, Any, int, int, int]:
        """The code object, the kernel (here both its bytes), registers, spilled registers, most work-items."""
        from headwater.isa.gcn.codeobject import load

        kernel = load(code, f"{name}.hsaco").kernel(name)
        largest = kernel.max_flat_group or self._driver.device.max_group_size
        return code, code, kernel.vgpr_count, kernel.private_segment_bytes // 4, largest

    def unload_module(self, module: Any) -> None:
        """Nothing is held."""


class Launcher:
    """A compiled kernel, called with a grid and the values of all of its parameters."""

    def __init__(self, driver: Driver, source: Any, metadata: Any) -> None:
        if getattr(metadata, "launch_cooperative_grid", False):
            raise UsageError(f"{metadata.name} is launched cooperatively, which simulated chips do not offer")
        self._driver = driver
        self._kinds = tuple(source.signature.values())
        self._names = tuple(source.signature)
        self._description = Description.of(metadata._asdict())
        self._binary: Binary | None = None

    def __call__(
        self,
        *given: Any,
    ) -> None:
        # The grid, a stream, what load_binary gave, metadata twice, hooks, and the values of the kernel's parameters.
        x, y, z, _, function, _, metadata, enter, leave, *values = given
        parts: list[tuple[str, str, Any]] = []
        for name, kind, value in zip(self._names, self._kinds, values, strict=True):
            parts += ((name, one, part) for one, part in flattened(kind, value))
        if self._binary is None:
            names = [name for name, _, _ in parts]
            self._binary = Binary(
                function, self._description, self._driver.device, names=names, check=self._driver.check
            )
        if enter is not None:
            enter(metadata)
        self._binary.launch((x, y, z), [part if kind[0] == "*" else number(kind, part) for _, kind, part in parts])
        if leave is not None:
            leave(metadata)


class Activation:
    """A driver at work; leaving a ``with`` statement of it gives Triton back what it had before."""

    def __init__(self, driver: Driver) -> None:
        import triton.runtime.driver
        import triton.runtime.jit
        import triton.testing

        self.driver = driver
        self.device = driver.device
        config, function = triton.runtime.driver, triton.runtime.jit.JITFunction
        self._undo: list[Callable[[], None]] = []
        before = config._active  # reading the property would look for a GPU
        self._undo.append(lambda: setattr(config, "_active", before))
        config.set_active(driver)
        run = function.run
        if not hasattr(run, "headwater"):
            self._replace(function, "run", _taking_arrays(run))
        for name in ("do_bench", "do_bench_cudagraph"):
            self._replace(triton.testing, name, do_bench)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        before = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def __enter__(self) -> Activation:
        return self

    def __exit__(self, *error: object) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


def _taking_arrays(run: Callable[..., Any]) -> Callable[..., Any]:
    """Triton's launch of a kernel, which takes NumPy arrays, too."""

    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(self, *_wrapped(args), **dict(zip(kwargs, _wrapped(kwargs.values()), strict=True)))

    launch.headwater = True  # type: ignore[attr-defined]
    return launch


def _wrapped(values: Any) -> list[Any]:
    return [HostArray(value) if isinstance(value, np.ndarray) else value for value in values]


def activated(device: Device | str, check: bool | None) -> Activation:
    """See `headwater.triton.activate`."""
    try:
        import triton.testing  # noqa: F401
    except ImportError as error:
        raise UsageError(f"Triton cannot be imported: {error}", hint="pip install headwater[triton]") from None
    chosen = resolve(device)
    if not isinstance(chosen, SimulatedDevice) or chosen.chip.target not in TARGETS:
        raise DeviceError(
            f"Triton does not compile for {chosen.name}",
            hint=f"choose a simulated chip of {', '.join(TARGETS)}: see headwater devices --chips",
        )
    return Activation(Driver(chosen, check))

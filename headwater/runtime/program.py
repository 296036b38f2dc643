"""Input: OpenCL C or HIP. Output: a `Program`, whose attributes are kernels to launch. Programs in other languages
(`headwater.runtime.brook`, `headwater.runtime.il`) are made of the same parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import getitem
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

import numpy as np

from headwater.base.tools import tool
from headwater.errors import LaunchError, UsageError
from headwater.opencl.kernels import hip_options
from headwater.runtime.events import Event
from headwater.runtime.interface import (
    Device,
    DeviceKernel,
    DeviceProgram,
    Queue,
    backend_for,
    current,
    default,
    resolve,
)
from headwater.runtime.signature import check_limit, count_error, prototype
from headwater.runtime.streams import Stream
from headwater.runtime.values import lds_bytes, whole_numbers

if TYPE_CHECKING:
    from headwater.opencl.clang import KernelInfo
    from headwater.sources import Language

_CACHED_SIZES = 512


class Launcher(Protocol):
    """A kernel with its sizes: called with the kernel's arguments it launches (see `ClKernel`)."""

    def __call__(self, *args: Any, **options: Any) -> Event:
        """Launch the kernel."""
        ...

    def simulate(self, *args: Any, device: Device | str | None = None, **options: Any) -> Any:
        """Run the kernel on a simulated chip and return a `headwater.timing.Report` of the cycles it takes there.

        ``device=``: the chip; by default that of a launch, which has to be one.
        """
        ...


class Kernel:
    """A kernel of a program, whatever its language; calling it launches it."""

    name: str
    program: Any

    def __reduce__(self) -> tuple[Any, ...]:
        return getitem, (self.program, self.name)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from headwater.views import notebook

        program = getattr(self, "program", None)
        info = getattr(self, "info", None)
        rows = [(arg.name, arg.type_name, arg.access) for arg in getattr(info, "args", ())]
        where = f"{getattr(program, 'language', '')} {getattr(program, 'filename', '')}".strip()
        return notebook.kernel(repr(self)[1:-1], where, rows, str(getattr(program, "source", "") or ""))

    def report(self, device: Any, **options: Any) -> Any:
        """What the analyzer says of the kernel on a chip (or several), without running it: see `headwater.analyze`."""
        return tool("analyze")(self, device=device, **options)


K = TypeVar("K", bound=Kernel)


class Program(Generic[K]):
    """A compiled source. Its kernels are its attributes: ``program.sum``; ``program.kernels`` has them all by name.

    Programs and kernels can be pickled (for `multiprocessing`, say): what is kept is the source, and it is compiled
    again, or comes from the cache, where it is unpickled.
    """

    language: ClassVar[Language]
    source: str
    filename: str
    options: str
    kernels: Mapping[str, K]

    def __getattr__(self, name: str) -> K:
        kernels: Mapping[str, K] = self.__dict__.get("kernels", {})
        if name in kernels:
            kernel = kernels[name]
            self.__dict__[name] = kernel  # found without __getattr__ from now on
            return kernel
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown_kernel(name, list(kernels), self.filename)

    def __reduce__(self) -> tuple[Any, ...]:
        origin: tuple[Any, ...] | None = self.__dict__.get("_loaded_by")
        if origin is None:
            raise TypeError(f"{self!r} does not come from headwater.compile: it cannot be pickled")
        return origin

    def __getitem__(self, name: Any) -> K:
        if not isinstance(name, str):
            only = next(iter(self.kernels), "kernel")
            raise UsageError(
                f"{self.filename}: a program's kernels are found by their names, not by {name!r:.60}",
                hint=f"to launch one: program[{only!r}][{name!r:.60}](…)",
            )
        if name not in self.kernels:
            raise unknown_kernel(name, list(self.kernels), self.filename)
        return self.kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.kernels})

    def __repr__(self) -> str:
        return f"<Program {self.filename}: {', '.join(self.kernels) or 'no kernels'}>"


class UnknownKernel(UsageError, AttributeError):
    """No kernel of that name; also an AttributeError, so that ``hasattr`` works on programs."""


def unknown_kernel(name: str, names: list[str], filename: str) -> UnknownKernel:
    """The error for a kernel that a program does not have, with the nearest name."""
    import difflib

    near = difflib.get_close_matches(name, names, n=1)
    listing = f"its kernels are {', '.join(names)}" if names else "it has no kernels"
    return UnknownKernel(
        f"{filename} has no kernel {name!r}", hint=f"did you mean {near[0]!r}? {listing}" if near else listing
    )


class ClProgram(Program["ClKernel"]):
    """An OpenCL C source, built for each device that it is launched on."""

    language: ClassVar[Language] = "opencl"

    def __init__(self, source: str, filename: str, options: str, device: Device | None) -> None:
        self.source = source
        self.filename = filename
        self.options = options
        self.built: dict[Device, DeviceProgram] = {}
        # The environment is read now: a launch must not cost a look at it.
        self.default_device = device if device is not None else default()
        first = self.on(device if device is not None else current() or self.default_device)
        self.kernels = {name: ClKernel(self, kernel.info) for name, kernel in first.kernels.items()}

    def on(self, device: Device | str | None = None) -> DeviceProgram:
        """The program built for a device; SourceError if its compiler refuses it."""
        target = resolve(device) if device is not None else current() or self.default_device
        built = self.built.get(target)
        if built is None:
            built = self.built[target] = target.build(self.source, self.filename, self.options)
        return built

    @property
    def warnings(self) -> str:
        """What the compiler warned of, on the device built for first."""
        return next(iter(self.built.values())).warnings


class HipProgram(ClProgram):
    """A HIP source, built for each device that it is launched on: the cpu device, and chips of GCN and CDNA."""

    language = "hip"

    def __init__(self, source: str, filename: str, options: str, device: Device | None) -> None:
        super().__init__(source, filename, hip_options(options), device)


class ClKernel(Kernel):
    """An OpenCL C kernel: ``kernel[global_size, local_size](arguments…)`` launches it.

    ``global_size``: a number or a tuple of one to three numbers of work-items, x first, as in OpenCL; ``local_size``:
    the same for a group, or None to let the device choose.
    """

    program: ClProgram

    def __init__(self, program: ClProgram, info: KernelInfo) -> None:
        self.program = program
        self.info = info
        self.name = info.name
        self._launchers: dict[Any, Launcher] = {}

    def __getitem__(self, key: Any) -> Launcher:
        try:
            return self._launchers[key]
        except (KeyError, TypeError, ValueError):
            return self._make(key)

    def _make(self, key: Any) -> Launcher:
        global_size, local_size = split_sizes(key)
        launcher = _launcher(self, global_size, local_size)
        try:
            hash(key)
        except (TypeError, ValueError):
            return launcher  # a list or an array as a size
        if any(whole_numbers(size) is None for size in (global_size, local_size) if size is not None):
            return launcher  # which refuses its size; 10.0 is found where 10 is
        if len(self._launchers) >= _CACHED_SIZES:
            self._launchers.clear()
        self._launchers[key] = launcher
        return launcher

    def replace(self, launcher: Launcher, better: Launcher) -> None:
        """Give ``better`` from now on where the launcher was given."""
        for key, known in list(self._launchers.items()):
            if known is launcher:
                self._launchers[key] = better

    def on(self, device: Device) -> DeviceKernel:
        """The kernel built for a device."""
        return self.program.on(device).kernels[self.name]

    def __call__(self, *args: Any, **options: Any) -> Event:
        raise LaunchError(
            f"{self.name} is an OpenCL C kernel and needs a global size",
            hint=f"{self.name}[(number_of_work_items,), None](…)",
        )

    def __repr__(self) -> str:
        return f"<Kernel {prototype(self.info)}>"


def split_sizes(key: Any) -> tuple[Any, Any]:
    """Global and group size from what stands in the brackets."""
    if not isinstance(key, tuple):
        return key, None
    if len(key) == 1:
        return key[0], None
    if len(key) != 2 or (all(hasattr(part, "__index__") for part in key)):
        # kernel[1024, 64] could be a group size of 64 or a second dimension; Python cannot tell k[a, b] from k[(a, b)].
        raise LaunchError(
            f"cannot tell global from group size in [{', '.join(map(str, key))}]",
            hint="write kernel[(width, height), None] or kernel[(n,), (64,)]",
        )
    return key[0], key[1]


def _launcher(kernel: ClKernel, global_size: Any, local_size: Any) -> Launcher:
    """A kernel with its sizes; a function, as functions are the quickest to call."""
    default = kernel.program.default_device
    prepared: dict[Device, Callable[..., Event]] = {}
    quick: Callable[..., Event] | None = None  # for who keeps `launch`; others are given it from now on

    def launch(*args: Any, queue: Queue | None = None, **options: Any) -> Event:
        """Launch the kernel over ``args`` and return the event.

        Pointers take arrays (used in place, read-only ones if declared ``const``), streams and buffers; values take
        numbers, vectors tuples, structs NumPy records; ``__local`` pointers take `Local`, images `Image`, samplers
        `Sampler`. Arguments may be given by name.

        ``device=``: where; by default where the streams among the arguments are, the current device, or the program's.
        ``queue=``: launch asynchronously in this queue. Without one, the cpu device has ended on return, and arrays
        have their results on every device. ``offset=``: global offset. ``check=``: find bad accesses and barriers (cpu;
        default HEADWATER_CHECK). ``time_limit=``: stop the kernel after so many seconds (cpu) with a KernelFault.
        ``lds=``: bytes of local memory for each group behind what the kernel declares, as machine code made from HIP
        and Triton wants them (chips of GCN and CDNA).
        """
        if options:
            return with_options(args, queue, **options)
        if quick is not None:
            return quick(*args, queue=queue)
        return place(args, queue)

    def general(*args: Any, queue: Queue | None = None, **options: Any) -> Event:
        return with_options(args, queue, **options) if options else place(args, queue)

    def place(args: tuple[Any, ...], queue: Queue | None) -> Event:
        if queue is None:
            for value in args:
                if type(value) is Stream:
                    chosen = value.device
                    break
            else:
                chosen = current() or default
        elif type(queue) is Queue:
            chosen = queue.device
        else:
            return with_options(args, queue)
        return (prepared.get(chosen) or prepare(chosen))(args, queue)

    def with_options(
        args: tuple[Any, ...],
        queue: Queue | None,
        *,
        device: Device | str | None = None,
        offset: Any = (),
        check: bool | None = None,
        time_limit: float | None = None,
        lds: int | None = None,
        **named: Any,
    ) -> Event:
        if lds is not None and any(arg.name == "lds" for arg in kernel.info.args):
            named["lds"], lds = lds, None
        if named:
            args = _by_name(kernel.info, args, named)
        if time_limit is not None:
            check_limit(time_limit)
        if check is not None and not isinstance(check, (bool, int, np.bool_)):
            raise UsageError(f"check is True, False or None, not {check!r:.60}")
        if device is not None:
            chosen = resolve(device)
        elif isinstance(queue, Queue):
            chosen = queue.device
        else:
            chosen = _place(args, default)
        if queue is not None:
            backend_for(queue, chosen)
        if lds is not None:
            extra = {"lds_bytes": lds_bytes(lds)}
            made = kernel.on(chosen).prepare(global_size, local_size, offset, check=check, **extra)
        elif isinstance(offset, tuple) and not offset and check is None:
            made = prepared.get(chosen) or prepare(chosen)
        else:
            made = kernel.on(chosen).prepare(global_size, local_size, offset, check=check)
        return made(args, queue, time_limit)

    def prepare(device: Device) -> Callable[..., Event]:
        nonlocal quick
        made = kernel.on(device).prepare(global_size, local_size)
        prepared[device] = call = made.__call__
        repeat = getattr(made, "repeat", None)
        if quick is None and repeat is not None and (better := repeat(general)) is not None:
            quick = functools.wraps(launch)(better)
            kernel.replace(found, with_simulate(quick, default))
        return call

    launch.__name__ = launch.__qualname__ = f"{kernel.name}[{global_size}, {local_size}]"
    found = with_simulate(launch, default)
    return found


def _place(args: Iterable[Any], default: Device) -> Device:
    """The device of a launch that names none: where its streams are, the current one, or the program's."""
    return next((value.device for value in args if type(value) is Stream), None) or current() or default


def with_simulate(launch: Callable[..., Event], default: Device) -> Launcher:
    """The function with the attribute ``simulate``; ``default``: the program's device."""

    def simulate(*args: Any, device: Device | str | None = None, **options: Any) -> Any:
        return tool("simulate")(launch, args, _place(args, default) if device is None else device, **options)

    found = cast("Launcher", launch)
    found.simulate = simulate  # type: ignore[method-assign]
    return found


def _by_name(info: KernelInfo, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments in the kernel's order, some of which were given by name."""
    names = [arg.name for arg in info.args]
    for name in named:
        if name not in names:
            raise LaunchError(f"{info.name} has no argument {name!r}", hint=f"it is declared {prototype(info)}")
        if name in names[: len(args)]:
            raise LaunchError(f"argument {name!r} of {info.name} is given twice")
    rest = names[len(args) :]
    missing = [name for name in rest if name not in named]
    if missing or len(args) > len(names):
        raise count_error(info, len(args) + len(named))
    return (*args, *(named[name] for name in rest))

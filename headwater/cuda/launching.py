"""Input: Python functions with Numba-CUDA's decorators. Output: kernels that are launched with blocks of threads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from headwater.cuda import types
from headwater.cuda.device_arrays import DeviceArray, at_address, to_device
from headwater.cuda.names import grid, gridsize
from headwater.errors import LaunchError, UsageError
from headwater.python.types import Type
from headwater.runtime.interface import Device, Queue, resolve
from headwater.runtime.python import PythonKernel, local_bytes


class Stream:
    """Launches one after the other while Python goes on."""

    def __init__(self) -> None:
        self.queue = Queue()

    def synchronize(self) -> None:
        """Wait for all that was put in."""
        self.queue.wait()

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait at the end of the block."""
        yield self
        self.synchronize()

    def __bool__(self) -> bool:
        return True


class Event:
    """A moment in a stream. Recording it waits for the stream, so that the moment is the one at which it was done."""

    def __init__(self, timing: bool = True) -> None:
        self.timing, self.moment = timing, 0.0

    def record(self, stream: Any = 0) -> None:
        """Take the time when all that was put in has ended."""
        if stream:
            stream.synchronize()
        self.moment = time.perf_counter()

    def synchronize(self) -> None:
        """Wait for the event, which has been waited for when it was recorded."""

    def wait(self, stream: Any = 0) -> None:
        """Have a stream wait for the event, which has been waited for when it was recorded."""

    def query(self) -> bool:
        """Whether it has been recorded."""
        return self.moment > 0

    def elapsed_time(self, other: Event) -> float:
        """Milliseconds from this event to another one."""
        return (other.moment - self.moment) * 1e3


class DeviceFunction:
    """A function for kernels to call; in Python it is the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.python_function = function
        self.py_func = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.python_function(*args, **options)


class CudaKernel(PythonKernel):
    """A kernel that is launched with ``kernel[blocks, threads, stream, shared_bytes](arguments…)``.

    It takes constants from outside as they are at its first launch with arguments of such types, as Numba does.
    """

    def __init__(self, function: Any, signature: Any, options: str, debug: bool) -> None:
        super().__init__(function, options, dialect="cuda")
        self.py_func = function
        self.debug = debug
        listed = types.parse(signature)
        self._pointers: set[int] = set()
        if listed is not None:
            if len(listed) != len(self.parameters):
                raise UsageError(
                    f"the signature has {len(listed)} types, {self.name} {len(self.parameters)} parameters"
                )
            self._pointers = {at for at, kind in enumerate(listed) if isinstance(kind, types.Pointer)}
            kinds: list[Type | None] = [k.array if isinstance(k, types.Pointer) else k for k in listed]
            self._declared = kinds

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise LaunchError(f"{self.name}[{key}]", hint=f"{self.name}[blocks, threads_per_block](…)")
        blocks, threads = _sizes(key[0], "blocks"), _sizes(key[1], "threads")
        rank = max(len(blocks), len(threads))
        blocks, threads = ((*sizes, 1, 1)[:rank] for sizes in (blocks, threads))
        whole = tuple(b * t for b, t in zip(blocks, threads, strict=True))
        stream = key[2] if len(key) > 2 else 0
        return self._with(whole, threads, stream, key[3] if len(key) > 3 else 0)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable[..., None]:
        """A launch of ``ntasks`` threads in blocks of ``tpb``, or of a size that the device chooses."""
        if tpb:
            return self[-(-ntasks // tpb), tpb, stream, sharedmem]  # type: ignore[no-any-return]
        return self._with((ntasks,), None, stream, sharedmem)

    def _with(
        self, whole: tuple[int, ...], threads: tuple[int, ...] | None, stream: Any, shared: int
    ) -> Callable[..., None]:
        def launch(*args: Any) -> None:
            """Launch the kernel over the arguments."""
            if self._pointers:
                args = tuple(at_address(v) if at in self._pointers and isinstance(v, int) else v
                             for at, v in enumerate(args))  # fmt: skip
            given = self.bound(args, {})
            options: dict[str, Any] = {"queue": stream.queue} if stream else {}
            if self.debug:
                options["check"] = True
            group = threads
            if self.special(given).translation.synchronises_grid:
                group = self._one_block(whole, threads)
            token = local_bytes.set(shared)
            try:
                PythonKernel.__getitem__(self, (whole, group))(*given, **options)
            finally:
                local_bytes.reset(token)

        return launch

    def _one_block(self, whole: tuple[int, ...], threads: tuple[int, ...] | None) -> tuple[int, ...]:
        if threads is not None and threads != whole:
            raise LaunchError(
                f"{self.name} synchronises its grid, which is one block of threads here, not {whole} in {threads}",
                hint="launch one block, or launch the kernel once for each step",
            )
        return whole


def _sizes(value: Any, what: str) -> tuple[int, ...]:
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or not all(hasattr(p, "__index__") and int(p) > 0 for p in parts):
        raise LaunchError(
            f"{what} are one to three whole numbers from 1, not {value!r:.60}", hint="use // instead of /"
        )
    return tuple(int(part) for part in parts)


_HOLD_ANYWAY = ("lineinfo", "cache", "opt", "inline", "extensions")
"""Options of Numba's that change nothing here: lines are always known, code is always cached and optimised, functions
are always inlined."""


def jit(
    func_or_sig: Any = None, device: bool = False, debug: bool = False, fastmath: bool = False, **options: Any
) -> Any:
    """Make a kernel, or with ``device=True`` a function for kernels, of a Python function: ``@cuda.jit``.

    ``func_or_sig``: the function, or a signature such as ``"void(float32[:], int32)"``. ``debug``: check every access
    of launches on the cpu device. ``fastmath``: as OpenCL C's ``-cl-fast-relaxed-math``. UsageError for options of
    Numba's that have no meaning here.
    """
    unknown = [name for name in options if name not in _HOLD_ANYWAY]
    if unknown:
        raise UsageError(f"cuda.jit takes no {unknown[0]}= here", hint=f"device, debug, fastmath, {_HOLD_ANYWAY}")
    build = "-cl-fast-relaxed-math" if fastmath else ""
    if callable(func_or_sig) and not isinstance(func_or_sig, (types.Signature, Type)):
        return DeviceFunction(func_or_sig) if device else CudaKernel(func_or_sig, None, build, debug)

    def decorate(function: Any) -> Any:
        return DeviceFunction(function) if device else CudaKernel(function, func_or_sig, build, debug)

    return decorate


class Reduce:
    """A reduction with a function of two values: ``total = cuda.reduce(add)``, then ``total(array)``."""

    def __init__(self, functor: Any) -> None:
        function = getattr(functor, "python_function", functor)

        def partial(values: Any, results: Any, count: int) -> None:
            i = grid(1)
            total = values[i]
            for k in range(i + gridsize(1), count, gridsize(1)):
                total = function(total, values[k])
            results[i] = total

        def finish(results: Any, count: int, init: Any) -> None:
            total = results[0]
            for k in range(1, count):
                total = function(total, results[k])
            results[0] = function(init, total)

        self._partial, self._finish = PythonKernel(partial), PythonKernel(finish)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Reduce the first ``size`` elements and return the result, or store it in ``res[0]``."""
        array = to_device(arr)
        if array.ndim != 1:
            raise UsageError(f"arrays of one dimension are reduced, not of {array.ndim}", hint="array.ravel()")
        if stream:
            stream.synchronize()
        count = array.size if size is None else size
        first = array.dtype.type(init)
        if count == 0:
            return first
        items = min(count, 1024)
        results = DeviceArray(_like(array, items))
        self._partial[(items,), None](array, results, count)
        self._finish[(1,), None](results, items, first)
        if res is not None:
            res[0] = results[0]
            return None
        return results[0]


def _like(array: DeviceArray, count: int) -> Any:
    from headwater.runtime.streams import stream

    return stream(shape=(count,), dtype=array.dtype, device=array.stream.device)


def synchronize() -> None:
    """Wait for the current device."""
    resolve().finish()


class CurrentDevice:
    """What programs ask of the device that they run on."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.name = device.description
        self.id = 0
        self.compute_capability = (0, 0)
        self.MULTIPROCESSOR_COUNT = device.compute_units
        self.MAX_THREADS_PER_BLOCK = device.max_group_size
        self.WARP_SIZE = 64


def get_current_device() -> CurrentDevice:
    """The device that launches go to: ``with headwater.device(…):`` chooses another."""
    return CurrentDevice(resolve())

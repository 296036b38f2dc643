"""Input: requests to compile. Output: results, computed in a process of its own, because LLVM may abort it."""

from __future__ import annotations

import atexit
import math
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from headwater.base import cache, temporary
from headwater.base.garbage import uncollected
from headwater.base.messages import receive, send
from headwater.base.recursion import FRAMES
from headwater.errors import HeadwaterError, InternalError, ResourceError
from headwater.native import limits

PROCESSOR_SECONDS = 180.0
"""Processor time after which a compilation is given up: the slowest kernel of the test suites takes under 10 s."""

WALL_SECONDS = 1800.0
"""The same by the clock, which also runs while other programs have the processors."""

LLVM_STOPPED = "LLVM stopped"
"""What the message begins with where LLVM ended the process, for no fault of the program."""

_LATE = 124
"""Exit status of a process that used the processor time up, as of the command ``timeout``."""

_STACK_BYTES = 512 << 20  # address space, of which LLVM touches what it needs; the usual 8 MiB were too little


class Worker:
    """A compiler process. Requests are served one at a time; it ends when this process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._pid = 0
        self._interrupted = False

    def start(self, module: str) -> None:
        """Start the process, without waiting until it is ready; it then already has the module that will be called."""
        with self._lock:
            self._running(module)

    def call(self, function: str, *args: Any, **named: Any) -> Any:
        """Run ``function``, named ``package.module:function``, there and return its value, or raise its HeadwaterError.

        Raises InternalError if LLVM stopped the process, ResourceError if it took more than `PROCESSOR_SECONDS`,
        `WALL_SECONDS` or `limits.memory_limit`.
        """
        with self._lock:
            process = self._running(function.partition(":")[0])
            if self._interrupted:  # while it was started
                process.kill()
            assert process.stdin is not None
            assert process.stdout is not None
            late = threading.Event()

            def stop() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(WALL_SECONDS, stop)
            timer.daemon = True
            timer.start()
            try:
                send(process.stdin, (PROCESSOR_SECONDS, function, args, named))
                kind, value = receive(process.stdout)
            except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
                raise self._died(late=late.is_set()) from error
            except BaseException:
                # An answer may still be under way (Ctrl-C): it must not be taken for the next request's.
                self.stop()
                raise
            finally:
                timer.cancel()
        if kind == "error":
            raise value
        return value

    def call_around_defects(self, function: str, *args: Any) -> Any:
        """`call` of a function that generates a kernel's code for this machine and takes ``halvings``: where LLVM
        stops, it is called again for vectors of half the width, and then of half of that.

        LLVM's defects lie in what it does with the widest vectors; narrower ones do the same, and take longer. Raises
        the first error if none is of use.
        """
        first: InternalError | None = None
        for narrower in ({}, {"halvings": 1}, {"halvings": 2}):
            try:
                return self.call(function, *args, **narrower)
            except InternalError as error:
                first = first or error
                if not error.message.startswith(LLVM_STOPPED):
                    raise
        assert first is not None
        raise first

    def _running(self, module: str) -> subprocess.Popen[bytes]:
        if self._process is None or self._pid != os.getpid() or self._process.poll() is not None:
            self._close()
            self._pid = os.getpid()
            self._errors = _scratch_file()
            root = str(Path(__file__).resolve().parents[2])
            path = f"import sys; sys.path.insert(0, {root!r})"
            code = f"{path}; from headwater.native.worker import serve; serve({module!r})"
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**os.environ, **cache.environment(), "PYTHONSAFEPATH": "1"},
                    start_new_session=os.name == "posix",  # Ctrl-C in the terminal is for the caller alone
                )
            except OSError as error:
                raise ResourceError(
                    f"the process that compiles could not be started: {error.strerror}: {sys.executable}",
                    hint="it is this Python, which the user must be able to run; processes and memory may be used up",
                ) from None
            limits.limit(self._process)
        return self._process

    def _died(self, *, late: bool) -> HeadwaterError:
        process, errors = self._process, self._errors
        assert process is not None
        assert errors is not None
        code = process.wait()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
        self._close()
        if late or code == _LATE:
            limit = f"longer than {WALL_SECONDS:g} s" if late else f"over {PROCESSOR_SECONDS:g} s of processor time"
            return ResourceError(
                f"the kernel's compilation took {limit}",
                hint="compile a smaller kernel; look for #pragma unroll, and for deep chains of calls",
            )
        if error := limits.killed(code):
            return error
        if "out of memory" in said or "bad_alloc" in said or "Cannot allocate memory" in said:
            return ResourceError(
                f"the kernel's compilation wanted more than {limits.memory_limit() / 2**30:.2g} GiB of memory",
                hint="compile a smaller kernel",
            )
        last = next((x for x in said.splitlines() if "LLVM ERROR" in x or "Assertion" in x), said[-500:])
        return InternalError(
            f"{LLVM_STOPPED} while compiling the kernel (exit status {code}): {last or 'no message'}",
            hint="this is a defect of Headwater; please report it with the kernel's source",
        )

    def interrupt(self) -> None:
        """Have the call that another thread waits for, or is about to make, fail, and all that follow."""
        self._interrupted = True
        process = self._process
        if process is not None and self._pid == os.getpid():
            process.kill()

    def stop(self) -> None:
        """End the process, if it runs; the next call starts another."""
        if self._process is not None and self._pid == os.getpid():
            self._process.kill()
            self._process.wait()
        self._close()

    def _close(self) -> None:
        """Forget the process, which has ended or, after a fork, is another's; close the files that lead to it."""
        process, self._process = self._process, None
        errors, self._errors = self._errors, None
        files = [errors]
        if process is not None:
            files += [process.stdin, process.stdout]
            if process.returncode is None:
                process.returncode = 0  # the parent's to wait for: Python would warn that it still runs
        for file in files:
            if file is not None:  # without what its buffer has left, a half of a parent's request, say
                getattr(file, "raw", file).close()


def _scratch_file() -> IO[bytes]:
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("headwater"), "w+b")
    import tempfile  # it imports much, and the first compilation waits for this

    return tempfile.TemporaryFile()


def serve(module: str) -> None:
    """The worker process: answer requests until standard input ends. ``module`` is imported at once."""
    # LLVM's passes call themselves for what is nested; the stack that processes begin with is soon used up.
    threading.stack_size(_STACK_BYTES)
    loop = threading.Thread(target=_answer, args=(module,))
    try:
        loop.start()
    except RuntimeError:  # a system that has no room for it
        _answer(module)
    else:
        loop.join()


def _answer(module: str) -> None:
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    sys.setrecursionlimit(FRAMES)
    limit = _ProcessorLimit()
    threading.Thread(target=_leave, args=(os.getppid(), limit), daemon=True).start()
    import_module(f"headwater.{module}")
    while True:
        try:
            seconds, function, args, named = receive(source)
        except EOFError:
            return
        limit.until = time.process_time() + seconds
        try:
            module, _, name = function.partition(":")
            where = import_module(f"headwater.{module}")
            with uncollected():
                answer = ("value", getattr(where, name)(*args, **named))
        except HeadwaterError as error:
            answer = ("error", error)
        except MemoryError:
            answer = ("error", ResourceError("out of memory while compiling the kernel"))
        except Exception as error:  # whatever else goes wrong in there is a defect, and reported as one
            answer = ("error", InternalError(f"{type(error).__name__} while compiling the kernel: {error}"))
        limit.until = math.inf
        send(answers, answer)


class _ProcessorLimit:
    """The processor time of this process at which it gives up what it is asked for."""

    until = math.inf


def _leave(parent: int, limit: _ProcessorLimit) -> None:
    """End this process when its caller was killed, also in the middle of a long compilation, or at the limit."""
    while os.getppid() == parent:
        if time.process_time() > limit.until:
            os._exit(_LATE)
        time.sleep(1.0)
    temporary.leave_all()
    temporary.remove_abandoned()  # by the caller
    os._exit(1)


WORKER = Worker()

MOST_WORKERS = 8
"""Compiler processes of one call at once: each takes 100 MB and more."""


def call_concurrently(function: str, calls: Sequence[tuple[Any, ...]], **named: Any) -> list[Any]:
    """`Worker.call` for each tuple of arguments, at most `MOST_WORKERS`, all at once; all values, or the first error.

    Several calls get processes of their own, which end with them: an error or Ctrl-C ends what runs of the other calls,
    and nothing that another thread compiles.
    """
    if len(calls) < 2:
        return [WORKER.call(function, *args, **named) for args in calls]
    from concurrent.futures import ThreadPoolExecutor

    workers = [Worker() for _ in calls]
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            try:
                values = [
                    pool.submit(worker.call, function, *args, **named)
                    for worker, args in zip(workers, calls, strict=True)
                ]
                return [value.result() for value in values]
            except BaseException:
                for worker in workers:
                    worker.interrupt()
                raise
    finally:
        for worker in workers:
            worker.stop()


@atexit.register
def stop_all() -> None:
    """End the compiler process that stays; it starts again when it is called."""
    WORKER.stop()

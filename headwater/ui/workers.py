"""Input: requests. Output: what worker processes answer, or why there is no answer.

Each worker is a process of its own with limits to time, memory, output and files. One that goes wrong is killed with
all that it has started, which costs its request only; another takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from headwater.base import cache, processes, temporary
from headwater.base.messages import HEADER

MOST_ANSWER_BYTES: Final = 64 << 20
_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 5.0
"""So long a process that has closed its pipe may take to end."""
_MOST_REQUESTS: Final = 500
"""After so many a worker is replaced: what libraries keep for each source adds up."""


@dataclass(frozen=True)
class Lane:
    """Workers of one kind: how many at most, seconds a request may take, and whether one worker serves many."""

    workers: int
    seconds: float
    reused: bool


class Failure(Exception):
    """Why a request has no answer; ``kind`` is an exception's name."""

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, str]:
        """As workers tell errors."""
        return {"kind": self.kind, "message": self.message, "hint": self.hint}


@dataclass(eq=False)
class _Worker:
    process: asyncio.subprocess.Process
    folder: str
    requests: int = 0
    confined: bool = False

    async def ask(self, task: str, given: dict[str, Any]) -> bytes:
        """The answer's bytes. Failure if it is too long, EOFError if the process has ended."""
        assert self.process.stdin is not None
        self.requests += 1
        data = json.dumps({"task": task, "given": given}).encode()
        self.process.stdin.write(HEADER.pack(len(data)) + data)
        await self.process.stdin.drain()
        return await self.read()

    async def read(self) -> bytes:
        assert self.process.stdout is not None
        try:
            (size,) = HEADER.unpack(await self.process.stdout.readexactly(HEADER.size))
            if size > MOST_ANSWER_BYTES:
                raise Failure("ResourceError", f"the answer has {size:,} bytes: too many", "ask for less")
            return await self.process.stdout.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise EOFError from error

    async def end(self) -> None:
        """Kill the process and all that it has started, and remove its folder."""
        if self.process.returncode is None:
            for pid in reversed(_family(self.process.pid)):
                with contextlib.suppress(OSError):
                    os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _family(pid: int) -> list[int]:
    """A process, stopped so that it starts no more, and all below it (Linux; elsewhere itself alone)."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        with contextlib.suppress(OSError):
            os.kill(one, getattr(signal, "SIGSTOP", 0))
            for thread in os.listdir(f"/proc/{one}/task"):
                text = Path(f"/proc/{one}/task/{thread}/children").read_text()
                waiting += map(int, text.split())
    return found


@dataclass
class _State:
    idle: list[_Worker] = field(default_factory=list)
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


@dataclass
class Held:
    """A worker that serves one conversation, and remembers what it did."""

    pool: Pool
    lane: str
    worker: _Worker
    released: bool = False


class Pool:
    """Workers in lanes; `ask` may be called any number of times at once: requests wait for a place."""

    def __init__(self, lanes: dict[str, Lane], prepares: bool = False) -> None:
        """``prepares``: have what all kernels share in the cache, which workers only read (`headwater.ui.prepare`)."""
        self.lanes = lanes
        self._prepares = prepares
        self._states = {name: _State([], asyncio.Semaphore(lane.workers)) for name, lane in lanes.items()}
        self._all: set[_Worker] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.confined = True

    async def start(self) -> None:
        """Have one worker of each lane ready."""
        await asyncio.gather(*(self._prepare(name) for name in self.lanes))
        if self._prepares:
            await self._fill_cache()

    async def _fill_cache(self) -> None:
        folder = temporary.make()
        try:
            process = await self._process("headwater.ui.prepare", folder, asyncio.subprocess.DEVNULL)
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    async def _process(module: str, folder: str, pipe: int) -> asyncio.subprocess.Process:
        """A process of ours with its folder and the cache's."""
        environment = {**os.environ, **cache.environment(), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        environment["PYTHONPATH"] = processes.import_path()
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, folder, environment["HEADWATER_CACHE_DIR"]),
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            start_new_session=os.name == "posix",
        )

    async def ask(self, lane: str, task: str, given: dict[str, Any]) -> bytes:
        """What a worker of the lane answers, as JSON text. Failure if it cannot."""
        kind, places = self.lanes[lane], self._states[lane].places
        await places.acquire()
        work = asyncio.ensure_future(self._work(lane, task, given))
        self._tasks.add(work)
        work.add_done_callback(self._done)
        work.add_done_callback(lambda _: places.release())
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if not kind.reused:
                work.cancel()  # a worker that serves many would cost more to begin anew than to wait for
            raise

    async def _work(self, lane: str, task: str, given: dict[str, Any]) -> bytes:
        kind, state = self.lanes[lane], self._states[lane]
        worker = self._idle(state) or await self._begun()
        keep = False
        try:
            answer = await asyncio.wait_for(worker.ask(task, given), kind.seconds)
            keep = kind.reused and worker.requests < _MOST_REQUESTS
        except TimeoutError:
            raise Failure(
                "ResourceError", f"it took longer than {kind.seconds:g} s, and was stopped", "ask for less"
            ) from None
        except (EOFError, ConnectionError):
            raise await self._ended(worker) from None
        finally:
            if keep:
                state.idle.append(worker)
            else:
                self._soon(self._replace(worker, lane))
        if not answer.startswith((b'{"value":', b'{"error":')):
            raise Failure("InternalError", "the process sent no answer")
        return answer

    async def hold(self, lane: str) -> Held:
        """A worker for one conversation alone, until it is released. Failure if all are held."""
        state = self._states[lane]
        if state.places.locked():
            raise Failure("ResourceError", "too many kernels are being stepped through", "close another tab")
        await state.places.acquire()
        try:
            worker = self._idle(state) or await self._begun()
        except BaseException:
            state.places.release()
            raise
        return Held(self, lane, worker)

    async def ask_held(self, held: Held, task: str, given: dict[str, Any]) -> bytes:
        """What a held worker answers. Failure if it cannot; it is released then."""
        seconds = self.lanes[held.lane].seconds
        try:
            return await asyncio.wait_for(held.worker.ask(task, given), seconds)
        except TimeoutError:
            self.release(held)
            raise Failure("ResourceError", f"it took longer than {seconds:g} s, and was stopped") from None
        except (EOFError, ConnectionError):
            failure = await self._ended(held.worker)
            self.release(held)
            raise failure from None
        except BaseException:
            self.release(held)
            raise

    def release(self, held: Held) -> None:
        """Give a worker up; its process ends."""
        if not held.released:
            held.released = True
            self._states[held.lane].places.release()
            self._soon(self._replace(held.worker, held.lane))

    async def close(self) -> None:
        """End all workers."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*(worker.end() for worker in list(self._all)))

    async def _ended(self, worker: _Worker) -> Failure:
        try:
            status = await asyncio.wait_for(worker.process.wait(), _END_SECONDS)
        except TimeoutError:
            return Failure("ResourceError", "the process closed its pipe, and was ended")
        if status in (-getattr(signal, "SIGSEGV", 11), -getattr(signal, "SIGBUS", 7)):
            return Failure("KernelFault", "the kernel accessed memory that is not there, and was ended")
        if status == -getattr(signal, "SIGKILL", 9):
            return Failure("ResourceError", "the process was killed: out of memory, most likely")
        return Failure("ResourceError", f"the process ended (status {status})")

    def _idle(self, state: _State) -> _Worker | None:
        """An idle worker; those whose process has ended meanwhile are dropped."""
        while state.idle:
            worker = state.idle.pop()
            if worker.process.returncode is None:
                return worker
            self._soon(self._drop(worker))
        return None

    async def _drop(self, worker: _Worker) -> None:
        await worker.end()
        self._all.discard(worker)

    async def _replace(self, worker: _Worker, lane: str) -> None:
        await self._drop(worker)
        await self._prepare(lane)

    async def _prepare(self, lane: str) -> None:
        if not self._states[lane].idle:
            self._states[lane].idle.append(await self._begun())

    async def _begun(self) -> _Worker:
        folder = temporary.make()
        process = await self._process("headwater.ui.worker", folder, asyncio.subprocess.PIPE)
        worker = _Worker(process, folder)
        self._all.add(worker)
        greeting = None
        try:
            greeting = json.loads(await asyncio.wait_for(worker.read(), _START_SECONDS))
        except (EOFError, TimeoutError):
            raise Failure("InternalError", "a worker could not be started") from None
        finally:
            if greeting is None:  # or who asked wants it no more
                self._soon(self._drop(worker))
        self.confined = self.confined and bool(greeting["confined"])
        return worker

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who waits is told; if nobody does any more, nobody need be

"""A function and items in; what it returns for each, computed in other processes that may crash or hang, out."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

BATCH = 50
"""Items per process; PoCL and LLVM keep memory for each kernel."""


@dataclass(frozen=True)
class Died:
    """What became of an item whose process did not live to return a result."""

    reason: str


def _serve(function: Callable[[Any], Any], items: Sequence[Any], folder: str, pipe: Connection) -> None:
    os.environ["HEADWATER_CACHE_DIR"] = folder
    os.environ["POCL_KERNEL_CACHE"] = "0"
    os.environ["XDG_CACHE_HOME"] = folder
    for item in items:
        pipe.send(function(item))


def each(
    function: Callable[[Any], Any], items: Sequence[Any], limit_seconds: float, batch: int = BATCH
) -> Iterator[tuple[Any, Any]]:
    """Pairs of an item and its result, in order; the result is `Died` where the process crashed or took too long.

    ``function`` is found by its name in a new process, so it is a module's function (or a `functools.partial` of one).
    Every process has caches of its own, empty at first.
    """
    context = multiprocessing.get_context("spawn")
    at = 0
    while at < len(items):
        chunk = items[at : at + batch]
        ours, theirs = context.Pipe()
        with tempfile.TemporaryDirectory() as folder:
            process = context.Process(target=_serve, args=(function, chunk, folder, theirs))
            process.start()
            theirs.close()
            done = 0
            reason = ""
            try:
                while done < len(chunk):
                    if not ours.poll(limit_seconds):
                        reason = f"took longer than {limit_seconds:g} s"
                        break
                    yield chunk[done], ours.recv()
                    done += 1
            except EOFError:
                process.join()
                reason = f"ended with status {process.exitcode}"
            finally:
                if done < len(chunk):
                    process.kill()
                process.join()
        if done < len(chunk):
            yield chunk[done], Died(f"the process {reason}")
            done += 1
        at += done

"""While a launch runs in the main thread, Ctrl-C and the other signals of `headwater.base.signals` set its stop field.

Python runs signal handlers in the main thread between bytecodes, so not while that thread is inside a kernel. But the
C-level handler writes each signal's number to a descriptor at once; a watching thread reads it and stops the launch.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from headwater.base.signals import STOPPING
from headwater.native.launch_block import STOP
from headwater.native.pool import Task

# On Windows the descriptor has to be a socket, and watching it costs more than a hand-over to a worker.
SUPPORTED = sys.platform != "win32"

_set_descriptor = signal.set_wakeup_fd if hasattr(signal, "set_wakeup_fd") else None
_running: Task | None = None
_previous = -1
_write_end = -1


def begin(task: Task) -> None:
    """Watch for Ctrl-C on behalf of a task that the main thread is about to run."""
    global _running, _previous
    assert _set_descriptor is not None
    if _write_end < 0:
        _start()
    _running = task
    previous = _set_descriptor(_write_end, warn_on_full_buffer=False)
    if previous != _write_end:  # it is, if a second Ctrl-C interrupted `end`
        _previous = previous


def end(task: Task, raised: bool) -> None:
    """Stop watching; KeyboardInterrupt if the task was stopped, unless a signal's handler has ``raised`` something,
    which goes on its way."""
    global _running
    assert _set_descriptor is not None
    _running = None
    _set_descriptor(_previous, warn_on_full_buffer=_previous >= 0)
    if task.block[STOP] and not raised:
        raise KeyboardInterrupt


def _start() -> None:
    global _write_end
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    threading.Thread(target=_watch, args=(read_end,), name="headwater-interrupt", daemon=True).start()
    _write_end = write_end


def _watch(read_end: int) -> None:
    while True:
        numbers = os.read(read_end, 64)
        if not numbers:
            return
        task, previous = _running, _previous
        if task is not None and not STOPPING.isdisjoint(numbers):
            task.block[STOP] = 1
        if previous >= 0:  # an event loop's, which wants to know of its signals
            try:
                os.write(previous, numbers)
            except OSError:
                pass


def _forget() -> None:
    """A forked child has no watching thread, and shares the pipe with its parent."""
    global _write_end, _running
    _write_end, _running = -1, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

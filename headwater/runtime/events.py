"""Input: a launch. Output: an `Event` to wait on, with its times."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Event(ABC):
    """One launch (or transfer) on a device.

    ``queued``, ``started`` and ``ended`` are times in seconds on the device's own clock: only their differences mean
    something. An error of the launch is raised by ``wait`` (and by the times, which wait).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the launch has ended, well or not. Does not wait."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> Event:
        """Wait until the launch has ended and return the event; TimeoutError if ``timeout`` seconds pass first.

        Ctrl-C while waiting stops the launch where the device can (cpu) and raises KeyboardInterrupt.
        """

    @property
    @abstractmethod
    def queued(self) -> float:
        """When the launch was asked for."""

    @property
    @abstractmethod
    def started(self) -> float:
        """When the device began."""

    @property
    @abstractmethod
    def ended(self) -> float:
        """When the device was done."""

    @property
    def local_size(self) -> tuple[int, ...] | None:
        """The group size of the launch, the chosen one if none was given; None where only the driver knows."""
        return None

    @property
    def progress(self) -> float | None:
        """How much of the launch has begun, 0 to 1; None where the device does not tell."""
        return 1.0 if self.done else None

    @property
    def seconds(self) -> float:
        """How long the device worked on it; waits for the end."""
        self.wait()
        return self.ended - self.started

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'ended' if self.done else 'running'}>"


class Gate:
    """A door that opens once: cheap to make, and waiting at it can be interrupted on every system."""

    __slots__ = ("_lock", "open")

    # Lock.acquire cannot be interrupted by Ctrl-C on Windows; between two of these waits it can, everywhere.
    _SLICE = 0.25

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.open = False

    def set(self) -> None:
        self.open = True
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """True once open, False if ``timeout`` seconds pass first."""
        if self.open:
            return True
        if timeout is None:
            while not self._lock.acquire(timeout=self._SLICE):
                pass
        else:
            remaining = timeout
            while not self._lock.acquire(timeout=max(0.0, min(self._SLICE, remaining))):
                remaining -= self._SLICE
                if remaining <= 0:
                    return self.open
        self._lock.release()  # for the others who wait
        return True

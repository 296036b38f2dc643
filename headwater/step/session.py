"""Input: a call that launches kernels on simulated chips. Output: a `Session`, which steps through its launches.

The call runs in a thread of its own, which waits at each launch until that has been stepped to its end. So whatever
launches a kernel can be stepped through, and goes on with the results as if the launch had been an ordinary one.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from headwater.errors import UsageError
from headwater.runtime.simulated.launch import taking
from headwater.step.stepper import Stepper
from headwater.step.vliw import machine_of

if TYPE_CHECKING:
    from headwater.emulate.wave.launched import SimulatedTask

T = TypeVar("T")


_PATIENCE: Final = 10.0
"""Seconds that `Session.close` waits for the call to end."""


class Abandoned(BaseException):
    """The launch was left while it was being stepped through; arrays that it writes have been put back. It is no
    `Exception`, so that a call that tries again after errors ends, too."""


class Session(Generic[T]):
    """Steps through what a call launches::

        with Session(lambda: prog.saxpy[(256,), (64,)](x, y, 2.0, device="vega64")) as session:
            session.stepper.step_line()
            session.finish()

    ``stepper``: that of the launch which waits, None when the call has returned. ``result``: what it returned.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._orders: SimpleQueue[str] = SimpleQueue()
        self._native = False
        self._left = False
        self.stepper: Stepper | None = None
        self.result: T | None = None
        self.launches = 0
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), daemon=True, name="headwater step")
        self._thread.start()
        self._wait()
        if self.stepper is None:
            raise UsageError(
                "nothing was launched on a simulated chip, so there is nothing to step through",
                hint="choose a chip with --device, or device=…, such as vega64; headwater devices lists them",
            )

    # ---- in the thread of the call

    def _work(self) -> None:
        try:
            with taking(self._take):
                result = self._call()
        except BaseException as error:
            self._answers.put(("raised", error))
        else:
            self._answers.put(("returned", result))

    def _take(self, launch: Any, task: SimulatedTask) -> bool:
        if self._left:
            raise Abandoned(f"{launch.info.name} was launched when nobody stepped through the call any more")
        if self._native or not launch.total:
            return False
        stepper = Stepper(machine_of(launch, task))
        self._answers.put(("launch", stepper))
        order = self._orders.get()
        if order == "abandon":
            raise Abandoned(f"{stepper.machine.kernel} was left while it was being stepped through")
        if order == "native":
            return False
        if stepper.fault is not None:
            raise stepper.fault
        return True

    # ---- in the thread of the caller

    def _wait(self, seconds: float | None = None) -> None:
        """Until the next launch, or the end of the call, the error of which is raised. Empty if it takes longer."""
        try:
            kind, value = self._answers.get(timeout=seconds)
        except BaseException:  # who is interrupted has left
            self._left = True
            self._orders.put("abandon")
            raise
        if kind == "launch":
            self.stepper = value
            self.launches += 1
        elif kind == "returned":
            self.result = value
        elif not isinstance(value, Abandoned):
            raise value

    def _order(self, order: str) -> None:
        """Tell the thread of the call what becomes of this launch, and wait. Who is interrupted meanwhile has left: the
        call ends at its next launch."""
        self.stepper = None
        self._orders.put(order)
        self._wait()

    def next_launch(self) -> bool:
        """Run this launch to its end and go on to the beginning of the next one; False if there is none. The launch's
        KernelFault is raised if it has one."""
        if self.stepper is None:
            return False
        while not self.stepper.ended and self.stepper.fault is None:
            if self.stepper.finish().reason == "interrupt":
                raise KeyboardInterrupt
        self._order("ended")
        return self.stepper is not None

    def finish(self) -> T:
        """Run all launches to their ends; what the call returned."""
        while self.next_launch():
            pass
        return self.result  # type: ignore[return-value]

    def leave(self) -> T:
        """Put this launch back to its beginning and have native code run it and those that follow, as if nobody had
        stepped through it; what the call returned."""
        if self.stepper is not None:
            self._native = True
            self.stepper.go_to(0)
            self._order("native")
        return self.result  # type: ignore[return-value]

    def close(self) -> None:
        """Leave the launch as it was at its beginning, and end the call: by an `Abandoned` from this launch, and from
        any other that it begins later. A call that waits for something else is not waited for longer than 10 s."""
        stepper, self.stepper = self.stepper, None
        if stepper is None:
            return
        self._left = True
        try:
            stepper.go_to(0)
        finally:
            self._orders.put("abandon")
        with suppress(Empty):
            self._wait(_PATIENCE)

    def __enter__(self) -> Session[T]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""Input: a launch's sizes. Output: the launch of code for whoever observes it: `SimulatedKernel`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from headwater.emulate.watch.hooks import is_watched, wanted
from headwater.errors import UsageError
from headwater.runtime.host.kernel import LaunchableKernel, PreparedOnHost
from headwater.runtime.values import refuse_lds

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import Watcher
    from headwater.runtime.interface import Prepared
    from headwater.runtime.shapes import Size


class SimulatedKernel(LaunchableKernel):
    """A kernel in machine code of a simulated chip, which is translated anew to tell a watcher what happens.

    A launch has one watcher: while a trace, statistics or simulated time are made HEADWATER_CHECK is passed over, and
    ``check=True`` is a UsageError.
    """

    __slots__ = ()
    takes_lds: ClassVar[bool] = False
    """Whether a launch may give it local memory beyond what it declares."""

    def prepare(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        *,
        check: bool | None = None,
        lds_bytes: int = 0,
    ) -> Prepared:
        if not self.takes_lds:
            refuse_lds(self.info.name, self.device.name, lds_bytes)
        if not is_watched():
            return super().prepare(global_size, local_size, offset, check=check, lds_bytes=lds_bytes)
        if check:
            raise UsageError(
                "a launch cannot be checked while its trace, statistics or simulated time are made",
                hint="run it twice: once with check=True, and once without",
            )
        # Without code that nobody watches: it would be compiled for nothing.
        return _WhenCalled(self, global_size, local_size, offset, check, lds_bytes)

    def make(
        self, global_size: Size, local_size: Size | None, offset: Size, check: bool, lds_bytes: int
    ) -> PreparedOnHost:
        return self.watched(global_size, local_size, offset, self.checker() if check else None, lds_bytes)

    @abstractmethod
    def checker(self) -> Watcher:
        """The watcher that reports wrong accesses."""

    @abstractmethod
    def watched(
        self,
        global_size: Size,
        local_size: Size | None,
        offset: Size = (),
        watcher: Watcher | None = None,
        lds_bytes: int = 0,
    ) -> PreparedOnHost:
        """The kernel with its sizes fixed, and code in it that tells ``watcher`` what happens; LaunchError as
        `prepare`."""


class _WhenCalled:
    """A launch that is prepared for whoever watches when it is called."""

    __slots__ = ("_check", "_kernel", "_lds_bytes", "_plain", "_sizes")

    def __init__(
        self,
        kernel: SimulatedKernel,
        global_size: Size,
        local_size: Size | None,
        offset: Size,
        check: bool | None,
        lds_bytes: int,
    ) -> None:
        self._kernel = kernel
        self._sizes = global_size, local_size, offset
        self._check = check
        self._lds_bytes = lds_bytes
        self._plain: Prepared | None = None

    def __call__(self, args: Sequence[Any], queue: Any = None, time_limit: float | None = None) -> Any:
        watcher = wanted()
        if watcher is not None:
            return self._kernel.watched(*self._sizes, watcher, self._lds_bytes)(args, queue, time_limit)
        if self._plain is None:
            self._plain = self._kernel.prepare(*self._sizes, check=self._check, lds_bytes=self._lds_bytes)
        return self._plain(args, queue, time_limit)

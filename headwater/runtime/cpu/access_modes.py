"""Input: the bytes of a launch's arrays. Output: how it goes through memory: flags of the launch block, which say
whether it prefetches and uses streaming stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater.base.host import caches_bytes
from headwater.native import launch_block, pool as _pool
from headwater.native.pool import Task

if TYPE_CHECKING:
    from headwater.opencl.kernels import KernelInfo
    from headwater.runtime.cpu.trials import Trial


class AccessModes:
    """The modes of one kernel and launch size, with the trials of them (`headwater.runtime.cpu.trials`).

    ``code`` is the compiled code's key in the cache; ``streaming``: the arguments that it may write with streaming
    stores; ``fetches_ahead``: it can prefetch.
    """

    def __init__(self, code: str, info: KernelInfo, streaming: tuple[int, ...], fetches_ahead: bool) -> None:
        own, shared = caches_bytes()
        self.own_caches, self.last_level = own * _pool.pool().size, shared // 2
        """Bytes above which a launch leaves the cores' own caches, and above which it is a large one."""
        self.least_bytes = self.own_caches
        buffers = tuple(i for i, arg in enumerate(info.args) if arg.kind in ("buffer", "constant"))
        self.arrays: tuple[int, ...] = buffers if streaming or fetches_ahead else ()
        self.trial: Trial | None = None
        """What large launches are part of."""
        self._is_large = False
        self._code = code
        self._streaming = streaming
        self._ahead = launch_block.FLAG_AHEAD if fetches_ahead else 0
        self._best: dict[bool, int] = {}

    def choose(self, nbytes: int, args: Sequence[Any]) -> int:
        """The flags of a launch on ``nbytes`` of arrays."""
        self._is_large = nbytes > self.last_level
        self.least_bytes = -1 if self._is_large else self.own_caches
        return self._mode(args) if self._is_large else self._ahead if nbytes > self.own_caches else 0

    def _mode(self, args: Sequence[Any]) -> int:
        """The flags of a large launch: whether it shall prefetch and use streaming stores."""
        around = sum([getattr(args[i], "nbytes", 0) for i in self._streaming]) > self.last_level
        best = self._best.get(around)
        if best is not None:
            return best
        modes: tuple[int, ...] = (self._ahead, 0) if self._ahead else (0,)
        if around:
            modes = (*(mode | launch_block.FLAG_STREAMING for mode in modes), *modes)
        if len(modes) == 1:
            self._is_large = False
            return modes[0]
        if self.trial is None or self.trial.modes != modes:
            from headwater.runtime.cpu import trials

            known, settled = trials.preferred(self._code, modes)
            if settled and known is not None:
                self._best[around] = known
            if known is not None:
                self.trial = None
                return known
            self.trial = trials.Trial(self._code, modes)
        return self.trial.mode()

    def begins(self, task: Task, *, leads: bool) -> None:
        """A launch begins, which may be one that tries a mode through memory. ``leads``: this thread works on it."""
        if self.trial is not None:
            task.began = self.trial.clock(leads)

    def ended(self, task: Task, *, leads: bool) -> None:
        """The end of what `begins` was told of."""
        trial = self.trial
        if trial is None or not self._is_large:
            return
        if trial.took(int(task.block[launch_block.FLAGS]), trial.clock(leads) - task.began):
            self.trial = None

"""The signals that stop a launch in the main thread: Ctrl-C, and those that a program adds.

A program may add those whose handlers raise KeyboardInterrupt, as the command line does: a launch that is stopped does.
"""

from __future__ import annotations

import signal

STOPPING: set[int] = {signal.SIGINT}

"""The process that computes for the page. Input: requests. Output: one JSON text for each, until the pipe ends.

It is confined (`headwater.ui.confine`) before it reads a request. Nothing that it writes is trusted: answers are
JSON, whose size its parent bounds.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

from headwater.base import messages
from headwater.base.tools import provide


def send(pipe: BinaryIO, message: object) -> None:
    """Write one message as JSON. ValueError for numbers that JSON lacks."""
    messages.write(pipe, json.dumps(message, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace"))


def serve(scratch: str, cache: str) -> None:
    """Answer requests; ``scratch`` is the folder that may be written, ``cache`` that of compiled code, which is only
    read: what this process compiles is for itself, so that no request leaves code for another."""
    from headwater.ui import confine

    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may get between the answers
    project = Path(scratch) / "project"
    project.mkdir(exist_ok=True)
    os.environ["HEADWATER_INCLUDE_ONLY"] = str(project)
    os.environ["TMPDIR"] = scratch
    private = Path(scratch) / "cache"
    private.mkdir(mode=0o700, exist_ok=True)
    os.environ["HEADWATER_CACHE_PRIVATE"] = str(private)
    confined = confine.confine([scratch, "/dev/shm"], [cache])
    confine.limit()
    os.chdir(project)
    sys.stdout = sys.stderr
    from headwater.ui import tasks

    # Texts of browsers are read, never executed.
    provide("kernels of a Python file", "headwater.runtime.python:unexecuted_text")
    tasks.warm()
    send(answers, {"ready": True, "confined": confined})
    while True:
        try:
            request = json.loads(messages.read(source))
        except EOFError:
            return
        answer = tasks.answer(request["task"], request["given"], project)
        try:
            send(answers, answer)
        except ValueError:  # a number that JSON lacks
            send(answers, {"error": {"kind": "InternalError", "message": "the answer has numbers that JSON lacks"}})


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])

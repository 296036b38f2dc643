"""Input: an exception. Output: one message that the user can act on, and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Sequence

from headwater.errors import HeadwaterError, InternalError, SourceError

_PLACE = re.compile(r"\S.*:\d+(:\d+)?: error: ")
_FULL = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS") if hasattr(errno, name)}
"""What says that a disk is full, broken or not to be written: EDQUOT is unknown on Windows."""
_ROOM = "make room, or write somewhere else; TMPDIR says where temporary files go"


def report(error: Exception, words: Sequence[str]) -> int:
    """Print the error on stderr (as JSON on stdout too if ``--json`` is among the words); the exit code is returned."""
    if isinstance(error, MemoryError):
        error = HeadwaterError("out of memory", hint="use smaller arrays, or run on a device with more memory")
    if isinstance(error, OSError) and error.errno in _FULL:
        where = f" {error.filename}" if error.filename else ""
        error = HeadwaterError(f"cannot write{where}: {error.strerror}", hint=_ROOM)
    if isinstance(error, InternalError) and os.strerror(errno.ENOSPC) in error.message:  # a compiler's words
        error = HeadwaterError(f"cannot write: {os.strerror(errno.ENOSPC)}", hint=_ROOM)
    if isinstance(error, HeadwaterError) and not isinstance(error, InternalError):
        text, code = _message(error), error.exit_code
    else:
        text, code = _defect(error, words), InternalError.exit_code
    if "--json" in words:
        with contextlib.suppress(OSError):
            print(json.dumps({"error": _as_json(error, code)}))
    _drop_output()
    with contextlib.suppress(OSError):  # nobody reads stderr any more, as with `2>&1 | head -1`
        print(f"headwater: {text}", file=sys.stderr)
    return code


def _drop_output() -> None:
    """Throw away what stdout does not take any more: Python would fail at its exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: HeadwaterError) -> str:
    text = str(error)
    # Errors with a place in a source begin with it and say "error:" themselves.
    return text if isinstance(error, SourceError) or _PLACE.match(text) else f"error: {text}"


def _as_json(error: Exception, code: int) -> dict[str, object]:
    fields: dict[str, object] = {"type": type(error).__name__, "exit_code": code}
    if isinstance(error, HeadwaterError):
        fields |= {"message": error.message, "hint": error.hint}
    else:
        fields["message"] = str(error)
    if isinstance(error, SourceError) and error.span:
        fields |= {"file": error.span.file, "line": error.span.line, "column": error.span.column}
    return fields


def _defect(error: Exception, words: Sequence[str]) -> str:
    """For a defect of ours: the details go to a file, or to stderr where none can be written; the message says what to
    do with them."""
    from headwater import __version__

    trace = "".join(traceback.format_exception(error))
    if os.environ.get("HEADWATER_DEBUG"):
        print(trace, file=sys.stderr)
    command = shlex.join(["headwater", *words])
    details = f"headwater {__version__}, Python {sys.version}, {sys.platform}\n{command}\n\n{trace}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="headwater-report-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(details)
        where = f"the file {file.name}"
    except OSError:
        print(details, file=sys.stderr)
        where = "what stands above"
    said = str(error).strip() or type(error).__name__
    name = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
    return (
        f"internal error: {name}{said}\n  this is a defect of Headwater, not of your kernel or data"
        f"\n  hint: please report it with {where} and the kernel"
    )

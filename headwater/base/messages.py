"""Messages, bytes or Python objects, in both directions over the pipes between a process and the workers it started."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any, Final

HEADER: Final = struct.Struct("<Q")
"""A message's length in bytes, before them."""


def write(pipe: IO[bytes], data: bytes) -> None:
    """Write a message whole."""
    pipe.write(HEADER.pack(len(data)) + data)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes:
    """The next message. EOFError where there is none, or only a part of one."""
    header = pipe.read(HEADER.size)
    if len(header) < HEADER.size:
        raise EOFError
    (size,) = HEADER.unpack(header)
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def send(pipe: IO[bytes], message: object) -> None:
    """Write an object to a process that is trusted: it is pickled."""
    write(pipe, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive(pipe: IO[bytes]) -> Any:
    """The next object, of a process that is trusted. EOFError as `read`."""
    return pickle.loads(read(pipe))

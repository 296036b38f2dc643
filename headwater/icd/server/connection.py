"""Bytes of a connection pass in; requests go to whoever answers them, and their replies pass out.

Each connection has a thread of its own: the host uses as many as it has threads that wait. The first one ends the
process when it is closed, as it is when the host ends in whatever way.
"""

from __future__ import annotations

import array
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from headwater.errors import HeadwaterError
from headwater.icd.constants import CL
from headwater.icd.protocol import MESSAGES, VERSION, pack, unpack

_HEAD = struct.Struct("<II")
_REPLY = struct.Struct("<iI")
_NAMES = tuple(MESSAGES)

Answer = tuple[int, bytes]
"""A status and a reply's record."""


def serve() -> int:
    """Answer the host whose connection is standard input, until it ends."""
    # Ctrl-C is the host's; whoever ends the server otherwise means it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    # What the host's standard output has is the host's to write: it may have sent it elsewhere since.
    sys.stdout = sys.stderr
    file = _receive_file(first)
    if file is None:
        return 0
    Connection(first).hello(file)
    return 0


def _receive_file(connection: socket.socket) -> int | None:
    """A file that comes along with a byte; None if the host has gone."""
    size = array.array("i").itemsize
    data, control, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(size))
    if not data:
        return None
    for level, kind, content in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            return int(array.array("i", content[:size])[0])
    return None


class Connection:
    """One connection, its requests answered in order."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._data = b""
        self._exact = False

    def hello(self, file: int) -> None:
        """Greet the host, then answer what comes by this connection, the first."""
        self._exact = True
        request = self._next()
        if request is None or _NAMES[request[0]] != "hello":
            return
        version, base, nbytes = unpack(MESSAGES["hello"].request, request[1])
        if version != VERSION:
            print(f"headwater: the library speaks version {version}, this is {VERSION}", file=sys.stderr)
            print("  hint: run headwater icd install again", file=sys.stderr)
            self.reply(CL["OUT_OF_RESOURCES"], b"")
            return
        from headwater.icd.server.arena import Arena
        from headwater.icd.server.devices import descriptions
        from headwater.icd.server.requests import Requests

        arena = Arena(file, base, nbytes)
        try:
            devices, records = descriptions(svm=arena.same_address)
        except HeadwaterError as error:
            print(f"headwater: {error}", file=sys.stderr)
            self.reply(CL["OUT_OF_RESOURCES"], b"")
            return
        self.reply(0, pack(MESSAGES["hello"].reply, (records, int(arena.same_address))))
        requests = Requests(devices, arena)
        while (request := self._next()) is not None:
            if _NAMES[request[0]] != "connect":
                continue
            made = _receive_file(self._socket)
            if made is None:
                break
            other = Connection(socket.socket(fileno=made))
            threading.Thread(target=other.run, args=(requests.handlers(),), daemon=True).start()
        os._exit(0)  # launches of a host that is not there any more are not waited for

    def run(self, handlers: dict[str, Callable[[tuple[Any, ...]], Answer | Iterable[Answer]]]) -> None:
        """Answer requests until the connection is closed."""
        try:
            while (request := self._next()) is not None:
                name = _NAMES[request[0]]
                answer = handlers[name](unpack(MESSAGES[name].request, request[1]))
                if isinstance(answer, tuple):
                    self.reply(*answer)
                else:
                    for status, record in answer:
                        self.reply(status, record)
        except OSError:
            pass  # the host has gone
        finally:
            self._socket.close()

    def reply(self, status: int, record: bytes) -> None:
        """Send one reply."""
        self._socket.sendall(_REPLY.pack(status, len(record)) + record)

    def _next(self) -> tuple[int, bytes] | None:
        """A message's number and record; None when the connection is closed."""
        data, receive = self._data, self._socket.recv
        while len(data) < 8:
            # Of the first connection no more than a message: a file may come along with the byte behind it.
            more = receive(8 - len(data) if self._exact else 1 << 16)
            if not more:
                return None
            data += more
        message, size = _HEAD.unpack_from(data)
        end = 8 + size
        if len(data) < end:
            parts, have = [data], len(data)
            while have < end:
                more = receive(min(end - have, 1 << 20))
                if not more:
                    return None
                parts.append(more)
                have += len(more)
            data = b"".join(parts)
        self._data = data[end:]
        return message, data[8:end]

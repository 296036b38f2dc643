"""Input: how the host's library starts this server. Output: connections to the host, and the memory that both share.

On Linux and macOS the first connection is standard input, and files and further connections come along with messages.
On Windows, which passes neither on, ``HEADWATER_BRIDGE`` has a port of the loopback interface and a secret: the server
connects as often as it is asked to, and what is shared has a name. `headwater/bridge/shim/` has the other side.
"""

from __future__ import annotations

import array
import hmac
import os
import socket
import struct
from abc import ABC, abstractmethod
from typing import Final

from headwater.errors import InternalError

VARIABLE: Final = "HEADWATER_BRIDGE"
_SECRET: Final = 16
"""Bytes that each side shows the other."""
_LENGTH: Final = struct.Struct("<I")

Shared = int | str
"""Memory that the host shares: a file's descriptor, or the path that the mapping's name is the end of."""


class Transport(ABC):
    """How connections come about."""

    @abstractmethod
    def first(self) -> tuple[socket.socket, Shared] | None:
        """The first connection, and what the host shares; None if the host has gone."""

    @abstractmethod
    def another(self, first: socket.socket) -> socket.socket | None:
        """The connection that the host has just asked for; None if the host has gone."""

    @abstractmethod
    def send_file(self, connection: socket.socket, file: int) -> None:
        """Send a file behind a reply. InternalError where files cannot be passed on: no service that needs that has a
        library for such a system."""


def chosen() -> Transport:
    """The one that this process was started for."""
    given = os.environ.pop(VARIABLE, "")  # no program that this process starts needs it
    if not given:
        return _Inherited()
    port, _, secret = given.partition(":")
    return _Connecting(int(port), bytes.fromhex(secret))


class _Inherited(Transport):
    def first(self) -> tuple[socket.socket, Shared] | None:
        connection = socket.socket(fileno=os.dup(0))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        file = _receive_file(connection)
        return None if file is None else (connection, file)

    def another(self, first: socket.socket) -> socket.socket | None:
        made = _receive_file(first)
        return None if made is None else socket.socket(fileno=made)

    def send_file(self, connection: socket.socket, file: int) -> None:
        socket.send_fds(connection, [b"\0"], [file])


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


class _Connecting(Transport):
    def __init__(self, port: int, secret: bytes) -> None:
        self._port = port
        self._shows, self._expects = secret[:_SECRET], secret[_SECRET:]

    def first(self) -> tuple[socket.socket, Shared] | None:
        connection = self._connect()
        if connection is None:
            return None
        (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size) or bytes(_LENGTH.size))
        path = _receive(connection, length)
        return (connection, path.decode()) if path else None

    def another(self, first: socket.socket) -> socket.socket | None:
        return self._connect()

    def send_file(self, connection: socket.socket, file: int) -> None:
        raise InternalError("files are not passed on by this system")

    def _connect(self) -> socket.socket | None:
        """A connection to the host, whom the port belongs to if it knows the secret; None if it does not."""
        try:
            made = socket.create_connection(("127.0.0.1", self._port))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.sendall(self._shows)
            if hmac.compare_digest(_receive(made, _SECRET), self._expects):
                return made
            made.close()
        except OSError:
            pass
        return None


def _receive(connection: socket.socket, count: int) -> bytes:
    """So many bytes; fewer if the host has gone."""
    data = b""
    while len(data) < count and (more := connection.recv(count - len(data))):
        data += more
    return data

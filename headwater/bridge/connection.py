"""Input: bytes of a connection. Output: the replies of the service that answers its requests.

Each connection has a thread of its own: the host uses as many as it has threads that wait. The first one ends the
process when it is closed, as it is when the host ends in whatever way.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from headwater.base import temporary
from headwater.bridge import transport
from headwater.bridge.protocol import Protocol
from headwater.bridge.transport import Shared, Transport
from headwater.errors import HeadwaterError

_HEAD = struct.Struct("<II")
_REPLY = struct.Struct("<iI")

AWAKE_NS = 40_000
"""For so long a connection's thread waits for a request without falling asleep: about twice what it takes to wake a
thread that sleeps on another processor."""
MOST_ASLEEP = 1023
"""So many requests are waited for asleep, at most, after several that did not come so soon."""

Answer = tuple[int, bytes]
"""A status and a reply's record."""


class FileAnswer(NamedTuple):
    """The same, and a file that the host receives behind it."""

    status: int
    record: bytes
    file: int


Handler = Callable[[tuple[Any, ...]], Answer | FileAnswer | Iterable[Answer]]


class Service(ABC):
    """What a server offers its host. ``lost``: the status of what cannot be answered; ``remedy``: what to do about a
    library that was made by another version."""

    protocol: Protocol
    lost: int
    remedy: str

    @abstractmethod
    def hello(self, shared: Shared, record: tuple[Any, ...]) -> Answer:
        """Begin, with what the host shares and its request but for the version. HeadwaterError if it cannot."""

    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """Who answers a message, by its name; every message but those of the first connection has one."""


def serve(make: Callable[[], Service]) -> int:
    """Answer the host that started this process, until it ends."""
    # Ctrl-C is the host's; whoever ends the server otherwise means it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = transport.chosen()
    begun = link.first()
    # What the host's standard output has is the host's to write: it may have sent it elsewhere since.
    sys.stdout = sys.stderr
    if begun is not None:
        first, shared = begun
        Connection(first, make(), link).hello(shared)
    return 0


class Connection:
    """One connection, its requests answered in order."""

    def __init__(self, connection: socket.socket, service: Service, link: Transport) -> None:
        self._socket = connection
        self._link = link
        self._service = service
        self._protocol = service.protocol
        self._names = tuple(service.protocol.messages)
        self._data = b""
        self._exact = False
        self._asleep = self._next_asleep = 0  # requests to be waited for asleep: now, and before the last one that came

    def hello(self, shared: Shared) -> None:
        """Greet the host, then answer what comes by this connection, the first."""
        self._exact = True
        request = self._next()
        if request is None or self._names[request[0]] != "hello":
            return
        service, protocol = self._service, self._protocol
        version, *record = protocol.unpack(protocol.messages["hello"].request, request[1])
        if version != protocol.version:
            print(f"headwater: the library speaks version {version}, this is {protocol.version}", file=sys.stderr)
            print(f"  hint: {service.remedy}", file=sys.stderr)
            self.reply(service.lost, b"")
            return
        try:
            answer = service.hello(shared, tuple(record))
        except HeadwaterError as error:
            print(f"headwater: {error}", file=sys.stderr)
            self.reply(service.lost, b"")
            return
        self.reply(*answer)
        while (request := self._next()) is not None:
            if self._names[request[0]] != "connect":
                continue
            made = self._link.another(self._socket)
            if made is None:
                break
            other = Connection(made, service, self._link)
            threading.Thread(target=other.run, daemon=True).start()
        temporary.leave_all()
        temporary.remove_abandoned()  # by servers that were killed
        os._exit(0)  # launches of a host that is not there any more are not waited for

    def run(self) -> None:
        """Answer requests until the connection is closed."""
        handlers, messages, unpack = self._service.handlers(), self._protocol.messages, self._protocol.unpack
        try:
            while (request := self._next()) is not None:
                name = self._names[request[0]]
                answer = handlers[name](unpack(messages[name].request, request[1]))
                if isinstance(answer, FileAnswer):
                    self.reply(answer.status, answer.record)
                    self._link.send_file(self._socket, answer.file)
                elif isinstance(answer, tuple):
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
        if not data and not self._exact and _can_wait_awake():
            data = self._first_bytes()
            if not data:
                return None
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

    def _first_bytes(self) -> bytes:
        """The first bytes of the next request; nothing if the connection is closed."""
        if self._asleep:
            self._asleep -= 1
        elif _awake.acquire(blocking=False):
            receive, now = self._socket.recv, time.perf_counter_ns
            until = now() + AWAKE_NS
            try:
                while now() < until:
                    try:
                        data = receive(1 << 16, socket.MSG_DONTWAIT)
                    except BlockingIOError:
                        continue
                    self._next_asleep //= 2
                    return data
            finally:
                _awake.release()
            self._next_asleep = self._asleep = min(2 * self._next_asleep + 1, MOST_ASLEEP)
        return self._socket.recv(1 << 16)


_awake = threading.Lock()
"""Held by the one thread that waits for a request without falling asleep."""


def _can_wait_awake() -> bool:
    """Whether this process may run on more than one, and can ask a connection without waiting. With one processor, a
    host cannot run while its server waits awake."""
    if not hasattr(socket, "MSG_DONTWAIT"):  # as on Windows
        return False
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1
    return (os.cpu_count() or 1) > 1

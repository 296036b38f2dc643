"""Connections to a host that passes no files on, as on Windows: the test is the host."""

import socket
import threading

import pytest

from headwater.bridge import transport
from headwater.errors import InternalError

SECRET = bytes(range(32))


@pytest.fixture
def listening(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as made:
        monkeypatch.setenv(transport.VARIABLE, f"{made.getsockname()[1]}:{SECRET.hex()}")
        yield made


def answer(listening, shown, *more):
    """What the server shows when it connects; it is shown something, and sent more."""
    seen = []

    def run():
        connection, _ = listening.accept()
        with connection:
            seen.append(connection.recv(16, socket.MSG_WAITALL))
            for data in (shown, *more):
                connection.sendall(data)
            connection.recv(1)  # until the server closes it

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, seen


def test_the_server_shows_its_half_of_the_secret_and_finds_the_shared_memory_by_its_name(listening):
    path = "C:\\Users\\Jos\u00e9\\Temp\\headwater-1".encode()
    thread, seen = answer(listening, SECRET[16:], len(path).to_bytes(4, "little"), path)
    way = transport.chosen()
    connection, shared = way.first()
    connection.close()
    thread.join(60)
    assert seen == [SECRET[:16]]
    assert shared == path.decode()
    thread, seen = answer(listening, SECRET[16:])
    way.another(connection).close()
    thread.join(60)
    assert seen == [SECRET[:16]]
    with pytest.raises(InternalError, match="not passed on"):
        way.send_file(connection, 0)


def test_a_host_that_does_not_know_the_secret_is_left(listening):
    answer(listening, SECRET[:16])
    assert transport.chosen().first() is None


def test_a_host_that_ends_before_it_has_shown_the_secret_is_left(listening):
    threading.Thread(target=lambda: listening.accept()[0].close(), daemon=True).start()
    assert transport.chosen().first() is None


def test_a_host_that_has_gone_is_no_fault(listening):
    way = transport.chosen()
    listening.close()
    assert way.first() is None
    assert way.another(socket.socket()) is None

"""A server of the page, in this process, whose limits of time are short; and who talks to it."""

import asyncio
import contextlib
import json
import threading
import time
from dataclasses import dataclass

import pytest

TOKEN = "t" * 32


@dataclass
class Served:
    port: int
    pool: object
    token: str = TOKEN

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def socket(self, origin=None, token=TOKEN, protocols=None, **options):
        from websockets.sync.client import connect

        origin = self.url if origin is None else origin
        with connect(
            f"ws://127.0.0.1:{self.port}/ws",
            origin=origin or None,
            subprotocols=["headwater", token] if protocols is None else protocols,
            max_size=None,
            **options,
        ) as made:
            yield made

    def ask(self, task, **given):
        """One request on a connection of its own; its answer."""
        with self.socket() as socket:
            socket.send(json.dumps({"id": 1, "task": task, "given": given}))
            return json.loads(socket.recv(timeout=60))


@contextlib.contextmanager
def serving(quick, long):
    """A server whose requests may take so many seconds."""
    for needed in ("starlette", "websockets"):
        pytest.importorskip(needed)
    uvicorn = pytest.importorskip("uvicorn")

    from headwater.cli.ui import listen
    from headwater.ui.app import LONG, MOST_MESSAGE_BYTES, QUICK, STEP, application, own_hosts
    from headwater.ui.workers import Lane, Pool

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    pool = Pool({QUICK: Lane(2, quick, True), LONG: Lane(1, long, False), STEP: Lane(1, long, False)})
    app = application(pool, TOKEN, own_hosts("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="error", ws="websockets-sansio", ws_max_size=MOST_MESSAGE_BYTES)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        time.sleep(0.02)
    yield Served(port, pool)
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="session")
def served():
    """A server with the time that a slow machine needs."""
    with serving(60.0, 120.0) as found:
        yield found


@pytest.fixture(scope="module")
def hurried():
    """A server that soon gives up."""
    with serving(8.0, 12.0) as found:
        yield found

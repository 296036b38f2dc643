"""Input: a pool of workers and a token. Output: the page's server, an ASGI application.

Everything that is computed goes through one web socket, whose handshake carries the token as a subprotocol (the only
header that browsers let pages set there). Before anything else is looked at, Host and Origin must be the server's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from headwater.ui.workers import Failure, Held, Pool

STATIC: Final = Path(__file__).with_name("static")
MOST_MESSAGE_BYTES: Final = 64 << 20
"""Of a request, with its files."""
PROTOCOL: Final = "headwater"
QUICK, LONG, STEP = "quick", "long", "step"
LANES: Final = {
    **dict.fromkeys(("chips", "examples", "explain", "check", "code", "table", "page", "assembly"), QUICK),
    **dict.fromkeys(("run", "simulate"), LONG),
    "step": STEP,
}
"""Every task that the page may ask for, and who does it."""
CANCEL: Final = "cancel"
_MOST_WAITING: Final = 64
"""Requests of one connection that may wait."""
_MOST_WAITING_BYTES: Final = 128 << 20
_MEDIA: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


def policy(nonce: str) -> str:
    """The content security policy; ``nonce``: of the style sheets that the editor makes."""
    return "; ".join(
        (
            "default-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


class Guard:
    """Passes on what comes from the page itself: Host is one of ``hosts``, and so is Origin where there is one. Every
    answer has the headers that keep other pages out."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app = app
        self.hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if why := self._refusal(scope):
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": why})
            else:
                await PlainTextResponse(why, 403)(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                message["headers"] += [
                    (name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in known
                ]
            await send(message)

        await self.app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> str:
        headers = HTTPConnection(scope).headers
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return "this server is not called so"
        origins = headers.getlist("origin")
        wanted = [[f"http://{headers['host']}"]]
        if origins not in (wanted if scope["type"] == "websocket" else [[], *wanted]):
            return "another page may not ask this server"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "another page may not ask this server"
        return ""


def application(pool: Pool, token: str, hosts: Sequence[str]) -> Starlette:
    """The server. ``token``: what a web socket must know; ``hosts``: what the server is called, with the port."""

    async def page(_: Any) -> Response:
        nonce = secrets.token_urlsafe(16)
        text = (STATIC / "index.html").read_text(encoding="utf-8").replace("{nonce}", nonce)
        return HTMLResponse(text, headers={"content-security-policy": policy(nonce)})

    async def static(request: Any) -> Response:
        path = STATIC / request.path_params["name"]
        if path.suffix not in _MEDIA or path.parent != STATIC or not path.is_file():
            return PlainTextResponse("there is no such file", 404)
        return FileResponse(path, media_type=_MEDIA[path.suffix], headers={"content-security-policy": policy("none")})

    async def socket(connection: WebSocket) -> None:
        given = connection.scope.get("subprotocols", [])
        if len(given) != 2 or given[0] != PROTOCOL or not hmac.compare_digest(given[1].encode(), token.encode()):
            await connection.close(1008, "the token is missing or wrong")
            return
        await connection.accept(PROTOCOL)
        await _Conversation(connection, pool).hold()

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        starting = asyncio.ensure_future(pool.start())
        try:
            yield
        finally:
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, Failure):
                await starting
            await pool.close()

    routes = [Route("/", page), Route("/static/{name}", static), WebSocketRoute("/ws", socket)]
    made = Starlette(routes=routes, lifespan=life)
    made.add_middleware(Guard, hosts=hosts)
    return made


def own_hosts(host: str, port: int) -> list[str]:
    """What a server at an address may be called in a request's Host: nothing that another's DNS could name."""
    names = ["localhost", "127.0.0.1", "[::1]"] if host in ("127.0.0.1", "::1", "localhost") else [host]
    return [f"{name}:{port}" for name in names] + ([*names] if port == 80 else [])


def lanes(processors: int) -> dict[str, Any]:
    """Workers for a machine of so many processors."""
    from headwater.ui.workers import Lane

    return {
        QUICK: Lane(max(2, min(processors, 8)), 30.0, True),
        LONG: Lane(2, 120.0, False),
        STEP: Lane(8, 60.0, False),
    }


@dataclass
class _Conversation:
    """One tab's requests: ``{"id", "task", "given", "slot"}``. Of those with one ``slot`` only the newest is wanted;
    the task "cancel" wants none of them."""

    connection: WebSocket
    pool: Pool
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    waiting: dict[asyncio.Task[None], int] = field(default_factory=dict)
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    stepping: asyncio.Lock = field(default_factory=asyncio.Lock)
    held: Held | None = None

    async def hold(self) -> None:
        """Answer until the tab is closed."""
        try:
            while True:
                text = await self.connection.receive_text()
                request = self._read(text)
                held = sum(self.waiting.values()) + len(text)
                if request is None or len(self.waiting) >= _MOST_WAITING or held > _MOST_WAITING_BYTES:
                    await self.connection.close(1008, "that is no request" if request is None else "too many requests")
                    return
                self._begin(request, len(text))
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes, of which there are none in this protocol
            pass
        finally:
            for task in list(self.waiting):
                task.cancel()
            if self.held is not None:
                self.pool.release(self.held)

    @staticmethod
    def _read(text: str) -> dict[str, Any] | None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            return None
        if not isinstance(found.get("given"), dict) or not isinstance(found.get("slot", ""), str):
            return None
        return found if isinstance(found.get("task"), str) and found["task"] in (*LANES, CANCEL) else None

    def _begin(self, request: dict[str, Any], size: int) -> None:
        slot = request.get("slot", "")
        if slot and (older := self.running.get(slot)):
            older.cancel()
        if request["task"] == CANCEL:
            return
        task = asyncio.ensure_future(self._answer(request))
        self.waiting[task] = size
        if slot:
            self.running[slot] = task
        task.add_done_callback(lambda done: self.waiting.pop(done, None))

    async def _answer(self, request: dict[str, Any]) -> None:
        name, task = request["id"], request["task"]
        try:
            ask = (
                self._step(request["given"])
                if LANES[task] == STEP
                else self.pool.ask(LANES[task], task, request["given"])
            )
            answer = (await ask).decode()
        except Failure as failure:
            answer = json.dumps({"error": failure.as_json()})
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.shield(self._send(f'{{"id":{name},"cancelled":true}}'))
            raise
        await self._send(f'{{"id":{name},{answer[1:]}')

    async def _step(self, given: dict[str, Any]) -> bytes:
        """A step, by the worker that holds this tab's launch; steps wait for each other."""
        async with self.stepping:
            if self.held is None or self.held.released:
                self.held = await self.pool.hold(STEP)
            return await self.pool.ask_held(self.held, "step", given)

    async def _send(self, text: str) -> None:
        async with self.sending:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # the tab is closed
                await self.connection.send_text(text)

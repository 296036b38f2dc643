"""Input: an address. Serves the page there until it is interrupted."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater.base.numbers import natural
from headwater.cli.options import Parser
from headwater.errors import UsageError

_USAGE = "[FILE] [--port N] [--host ADDRESS] [--no-browser]"
_DESCRIPTION = """\
Serve a page where kernels are written, seen as machine code, compared on all chips, run and simulated.

The address that is printed holds a token: whoever knows it may use the page. docs/ui.md says more.
"""
_EXAMPLES = """\
examples:
  headwater ui                         and open the printed address
  headwater ui matmul.cl               with this kernel on the page
  headwater ui --port 9000 --no-browser
"""
_PORT = 8642


def parser() -> Parser:
    """The options of ``headwater ui``."""
    made = Parser("ui", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument("file", metavar="FILE", nargs="?", help="a kernel's source to begin with")
    made.add_argument("--port", metavar="N", default=str(_PORT), help=f"default {_PORT}; 0 takes any that is free")
    made.add_argument(
        "--host", metavar="ADDRESS", default="127.0.0.1", help="listen there (default: this machine alone can connect)"
    )
    made.add_argument("--no-browser", action="store_true", help="only print the address")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    args = parser().parse(words)
    try:
        import starlette  # noqa: F401
        import uvicorn
        import websockets  # noqa: F401
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}", hint='pip install "headwater[ui]"') from None
    from headwater.ui.app import MOST_MESSAGE_BYTES, application, lanes, own_hosts
    from headwater.ui.workers import Pool

    port = natural(args.port)
    if port is None or port >= 1 << 16:
        raise UsageError(f"--port takes a number up to 65535, not {args.port.strip()!r}")
    if args.host in ("0.0.0.0", "::"):
        raise UsageError(
            f"--host {args.host} is not an address that a browser can open", hint="give one of this machine's addresses"
        )
    state = _state(args.file) if args.file else ""
    listening = listen(args.host, port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    host = f"[{args.host}]" if ":" in args.host else args.host
    address = f"http://{host}:{port}/#token={token}{state}"
    app = application(Pool(lanes(os.cpu_count() or 1), prepares=True), token, own_hosts(args.host, port))
    print(f"headwater ui: {address}\nCtrl-C ends it.", flush=True)
    if not args.no_browser and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(address)
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=MOST_MESSAGE_BYTES,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. UsageError if it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise UsageError(f"cannot listen at {host}:{port}: {error.strerror}", hint="--port 0 takes any free") from None
    return listening


def _state(file: str) -> str:
    """The file as the page's state in the address."""
    import base64
    import json
    import zlib

    from headwater import sources
    from headwater.ui.project import MOST_SOURCE_BYTES, check_name

    path = Path(file)
    text = _of_python(path) if path.suffix == ".py" else sources.read(path)[0]
    name = check_name(path.name)
    if isinstance(text, bytes) or len(text) > MOST_SOURCE_BYTES:
        raise UsageError(f"{file} is no source that the page takes", hint="OpenCL C, Brook+, ATI IL, HIP or Python")
    packer = zlib.compressobj(9, wbits=-15)
    data = packer.compress(json.dumps({"files": {name: text}, "main": name}).encode()) + packer.flush()
    return f"&s={base64.urlsafe_b64encode(data).decode().rstrip('=')}"


def _of_python(path: Path) -> str:
    """The text of a Python file, which nobody executes here."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None

"""Started by the library that a loader loads, with the connection to it as standard input.

``--check`` says instead whether it would start: which devices it would offer, and how long it takes to say so.
"""

from __future__ import annotations

import sys
import time


def main() -> int:
    """Serve one host until it ends, or say what would be offered."""
    if "--check" in sys.argv[1:]:
        started = time.perf_counter()
        from headwater.icd.server.devices import offered

        for device, name in offered():
            print(f"{name:16} {device.description}")
        print(f"{time.perf_counter() - started:.2f} s", file=sys.stderr)
        return 0
    from headwater.bridge.connection import serve
    from headwater.icd.server.requests import Requests

    return serve(Requests)


if __name__ == "__main__":
    sys.exit(main())

"""Started by CAL's library, with the connection to it as standard input.

``--check`` says instead whether it would start: which devices it would offer.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Serve one host until it ends, or say what would be offered."""
    if "--check" in sys.argv[1:]:
        from headwater.cal.boards import find_boards

        for board in find_boards(None):
            print(board.name)
        return 0
    from headwater.bridge.connection import serve
    from headwater.cal.abi.server.requests import Requests

    return serve(Requests)


if __name__ == "__main__":
    sys.exit(main())

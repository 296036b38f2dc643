"""Input: a word, show or clear. Output: what the disk cache of compiled kernels holds, or held."""

from __future__ import annotations

import json
from collections.abc import Sequence

from headwater.cli.options import Parser
from headwater.errors import UsageError

_DESCRIPTION = """\
Show or clear the compiled kernels in the disk cache. Clearing is always safe: kernels are compiled again when needed.
HEADWATER_CACHE_DIR sets the directory, HEADWATER_CACHE_SIZE its largest size (such as 500M; default 1G).
"""
_EXAMPLES = """\
examples:
  headwater cache
  headwater cache clear
  headwater cache show --json
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("cache", "[show | clear] [--json]", _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "action", nargs="?", choices=["show", "clear"], default="show", help="what to do (default show)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse(words)

    from headwater.base import cache

    stats = cache.stats()
    removed = cache.clear() if args.action == "clear" else None
    if args.json:
        path = None if stats.path is None else str(stats.path)
        report = {"path": path, "entries": stats.entries, "bytes": stats.bytes, "limit": stats.limit}
        print(json.dumps(report | ({} if removed is None else {"removed": removed})))
    elif stats.path is None:
        print("nothing is kept: the user has no home directory; HEADWATER_CACHE_DIR may name a directory for it")
    elif removed is not None:
        print(f"removed {_kernels(removed)}, {stats.bytes / 2**20:.1f} MiB, from {stats.path}")
    else:
        if stats.path.exists() and not stats.path.is_dir():
            raise UsageError(
                f"{stats.path} is not a directory: nothing can be kept there",
                hint="set HEADWATER_CACHE_DIR to a directory",
            )
        size, limit = stats.bytes / 2**20, stats.limit / 2**20
        print(f"{stats.path}: {_kernels(stats.entries)}, {size:.1f} MiB of at most {limit:.0f} MiB")
    return 0


def _kernels(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"

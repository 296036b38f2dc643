"""clang's IR in; the same, with constants in indices of 32 bits added after these are extended, out.

``image[i - 1]`` extends ``i - 1``, which OpenCL C's ``int`` says does not wrap around. Where ``i`` is ``x + 1``, LLVM
makes ``x`` of the difference and forgets that: nothing shows then that the address is the one before ``image[i]``, and
rows of a chunk that share what a stencil loads (`headwater.vectorise.analysis.row_value_numbering`) do not share these.
"""

from __future__ import annotations

import re
from collections import Counter

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"%\d+")
_INDEX = re.compile(
    r"^  (?P<sum>%\d+) = (?P<op>add|sub) nsw i32 (?P<value>%\d+), (?P<constant>\d+)(?P<place>, !dbg !\d+)?\n"
    r"  (?P<wide>%\d+) = sext i32 (?P=sum) to i64",
    re.MULTILINE,
)
"""A sum and its extension, which clang writes one after the other for an index."""


def constants_outside(text: str) -> str:
    """The module's text; the very same if there is nothing to do."""
    return _FUNCTION.sub(lambda match: _function(match[0]), text) if _INDEX.search(text) else text


def _function(text: str) -> str:
    used: Counter[str] | None = None

    def widened(index: re.Match[str]) -> str:
        nonlocal used
        used = Counter(_NAME.findall(text)) if used is None else used
        if used[index["sum"]] != 2:  # made, extended, and something else
            return index[0]
        # Names are numbers in order: each line keeps its own.
        return (
            f"  {index['sum']} = sext i32 {index['value']} to i64{index['place'] or ''}\n"
            f"  {index['wide']} = {index['op']} nsw i64 {index['sum']}, {index['constant']}"
        )

    return _INDEX.sub(widened, text)

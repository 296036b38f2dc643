"""The front end's IR of a program that is to be checked in; it so that LLVM keeps what checks look at out."""

from __future__ import annotations

import re


def without_speculation(ir: str) -> str:
    """LLVM loads before a branch what is needed behind it, for work-items, too, that do not go there: what one of them
    reads so may be another's to write, or nobody's. It does not where it is told that something looks for races (LLVM,
    "LLVM Language Reference", sanitize_thread), and nothing else follows from that."""
    return re.sub(r"^(attributes #\d+ = \{ )", r"\1sanitize_thread ", ir, flags=re.MULTILINE)

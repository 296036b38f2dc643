"""Input: a row of GCN's tables. Output: its meaning as typed expression trees (`headwater.isa.semantics`)."""

from __future__ import annotations

from headwater.isa.gcn.model import Row
from headwater.isa.semantics.model import Semantics
from headwater.isa.semantics.parser import parse


def semantics(row: Row) -> Semantics:
    """The meaning of a row of the table. Raises SemanticsError where its text is not well-typed."""
    return parse(row.name, row.encoding, tuple((o.name, o.type) for o in row.operands), row.semantics)

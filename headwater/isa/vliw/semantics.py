"""Input: a row of the VLIW tables. Output: its meaning as typed expression trees.

The language, its trees and its functions are those of GCN's tables (`headwater.isa.semantics`). A text speaks of
one lane and one slot: operands S0, S1, S2 are the operation's sources after NEG and ABS (64-bit ones put together from
the slots of a pair or quad), D its result before OMOD and CLAMP; X0 … W1 are those of the four slots that a reduction
takes together; PREV is the result of the previous slot. In LDS operations ADDR is the byte address in LDS with the
offset added, OFFSET the offset in bytes; D and D1 go to the output queues A and B.
"""

from __future__ import annotations

from headwater.isa.semantics.model import Semantics
from headwater.isa.semantics.parser import parse
from headwater.isa.vliw.model import Row


def semantics(row: Row) -> Semantics:
    """The meaning of a row that has a text. Raises SemanticsError where it is not well-typed."""
    return parse(row.name, "VLIW", tuple((o.name, o.type) for o in row.operands), row.semantics)

"""A prepared module's text in; the same with bytes in place of vectors of bits, out.

LLVM takes the lowest bit of a vector's component as an element of the vector's bits: of <8 x i8> in memory, component 4
is bit 32 of <64 x i1>. In memory those lie 8 in a byte, other than anything else that the vectoriser loads.
"""

from __future__ import annotations

import re

_BITS = re.compile(
    r"^  (?P<name>%[\w.]+) = (?:(?P<load>load )|bitcast (?P<of><\d+ x \w+>|i\d+) (?P<value>%[\w.]+) to )"
    r"<(?P<count>\d+) x i1>(?P<rest>.*)$",
    re.MULTILINE,
)
_BITS_OF_A_BYTE = 8


def without_bit_vectors(text: str) -> str:
    """The module's text with such bits taken from bytes; the very same text if there are none."""
    if " x i1>" not in text:
        return text
    return re.sub(r"^define .*?^\}", lambda m: _function(m[0]), text, flags=re.MULTILINE | re.DOTALL)


def _function(text: str) -> str:
    for made in list(_BITS.finditer(text)):
        name, count = made["name"], int(made["count"])
        uses = re.findall(rf"^.*{re.escape(name)}(?![\w.]).*$", text, re.MULTILINE)
        bit = re.compile(
            rf"^  (?P<name>%[\w.]+) = extractelement <{count} x i1> {re.escape(name)}, i\d+ (?P<at>\d+)(?P<rest>.*)$",
            re.MULTILINE,
        )
        if count % _BITS_OF_A_BYTE or len(bit.findall(text)) != len(uses) - 1:
            continue
        kind = f"<{count // _BITS_OF_A_BYTE} x i8>"
        what = "load" if made["load"] else f"bitcast {made['of']} {made['value']} to"
        text = text.replace(made[0], f"  {name} = {what} {kind}{made['rest']}")

        def from_byte(match: re.Match[str], kind: str = kind, vector: str = name) -> str:
            byte, place = divmod(int(match["at"]), _BITS_OF_A_BYTE)
            own = match["name"][1:]
            lines = [f"  %hw.byte.{own} = extractelement {kind} {vector}, i64 {byte}{match['rest']}"]
            if place:
                lines.append(f"  %hw.moved.{own} = lshr i8 %hw.byte.{own}, {place}")
            lines.append(f"  {match['name']} = trunc i8 %hw.{'moved' if place else 'byte'}.{own} to i1{match['rest']}")
            return "\n".join(lines)

        text = bit.sub(from_byte, text)
    return text

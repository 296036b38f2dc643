"""A module's optimised text in; the same kept from an instruction that LLVM gets wrong on processors with AVX-512, out.

LLVM makes ``(x & C) | (y & ~C)`` one vpternlog. If lanes that a mask excludes keep ``x`` or ``y``, and an operand comes
from memory, as constants do, the instruction has the truth table of other operands (LLVM's issue 157929, in all
versions up to 22.1). It does so only if the selection of lanes is one of integers: here it becomes one of floats.
"""

from __future__ import annotations

import re

_VECTOR = r"<\d+ x (?:i32|i64|float|double)>"
_PART = re.compile(
    rf"^  (%[^ ]+) = (?:and {_VECTOR} (?:%[^ ]+, (?:splat|<)|(?:splat|<).*, %)"
    rf"|(?:tail )?call [^@\n]*@llvm\.(?P<whole>fabs|copysign)\.)",
    re.MULTILINE,
)
_CAST = re.compile(rf"^  (%[^ ]+) = bitcast {_VECTOR} (%[^ ]+) to {_VECTOR}$", re.MULTILINE)
_OR = re.compile(rf"^  (%[^ ]+) = or (?:disjoint )?{_VECTOR} (%[^ ,]+), (%[^ \n]+)$", re.MULTILINE)
_ANY_OR = re.compile(rf" = or (?:disjoint )?{_VECTOR} ")
_SELECT = re.compile(
    r"^  (?P<name>%[^ ]+) = select (?P<mask><\d+ x i1> [^\n]*?), (?P<ty><\d+ x i(?:32|64)>) (?P<one>%[^ ,]+|[^%\n]*?), "
    r"(?P=ty) (?P<other>%[^ \n,]+|[^%\n]*?)$",
    re.MULTILINE,
)


def without_masked_bit_selects(text: str) -> str:
    """The module's text with such selections changed; the very same text if there are none."""
    if "@llvm.copysign." not in text and not _ANY_OR.search(text):
        return text
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    changed = [_function(part) for part in parts]
    return text if all(a is b for a, b in zip(parts, changed, strict=True)) else "".join(changed)


def _function(text: str) -> str:
    parts: set[str] = set()
    wanted: set[str] = set()
    for found in _PART.finditer(text):
        (wanted if found["whole"] == "copysign" else parts).add(found[1])
    if not parts and not wanted:
        return text
    casts = _CAST.findall(text)
    parts |= {name for name, of in casts if of in parts}
    wanted |= {name for name, one, other in _OR.findall(text) if one in parts or other in parts}
    wanted |= {name for name, of in casts if of in wanted}
    count = 0

    def select(match: re.Match[str]) -> str:
        nonlocal count
        name, mask, ty, one, other = match.groups()
        if one not in wanted and other not in wanted:
            return match[0]
        count += 1
        floats = ty.replace("i32", "float").replace("i64", "double")
        made = f"%hw.select.{count}"
        return (
            f"  {made}.one = bitcast {ty} {one} to {floats}\n"
            f"  {made}.other = bitcast {ty} {other} to {floats}\n"
            f"  {made} = select {mask}, {floats} {made}.one, {floats} {made}.other\n"
            f"  {name} = bitcast {floats} {made} to {ty}"
        )

    changed = _SELECT.sub(select, text)
    return changed if count else text

"""A module's optimised text in; the same kept from a multiplication that LLVM gets wrong on x86, out.

LLVM makes ``trunc to 16 bits (a * b >> n)``, both factors signed 16-bit numbers in 64 bits, a pmulhw and a shift of its
result by n - 16. For n above 16 that shift fills with zeros where it should with the sign (LLVM 22.1, combinePMULH).
Here such a result is narrowed to 32 bits, and its 16-bit halves are picked.
"""

from __future__ import annotations

import re

_PRODUCT = re.compile(r"^  (%[^ ]+) = mul (?:nuw |nsw )*<\d+ x i64> ", re.MULTILINE)
_SHIFT = re.compile(
    r"^  (%[^ ]+) = (?:lshr|ashr) (?:exact )?<\d+ x i64> (%[^ ,]+), splat \(i64 (?P<by>\d+)\)", re.MULTILINE
)
_NARROW = re.compile(
    r"^  (?P<name>%[^ ]+) = trunc (?:nuw |nsw )*<(?P<count>\d+) x i64> (?P<of>%[^ ]+) to <\d+ x i16>", re.MULTILINE
)
_HALF_BITS = 16


def without_high_products(text: str) -> str:
    """The module's text with such products narrowed in two steps; the very same text if there are none."""
    if " x i64> " not in text or " x i16>" not in text or not _NARROW.search(text):
        return text
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    changed = [_function(part) for part in parts]
    return text if all(a is b for a, b in zip(parts, changed, strict=True)) else "".join(changed)


def _function(text: str) -> str:
    products = set(_PRODUCT.findall(text))
    shifts = {m[1] for m in _SHIFT.finditer(text) if m[2] in products and int(m["by"]) > _HALF_BITS}
    if not shifts:
        return text
    count = 0

    def narrow(match: re.Match[str]) -> str:
        nonlocal count
        if match["of"] not in shifts:
            return match[0]
        count += 1
        lanes, words = int(match["count"]), f"<{match['count']} x i32>"
        halves = f"<{2 * lanes} x i16>"
        even = f"<{lanes} x i32> <{', '.join(f'i32 {2 * k}' for k in range(lanes))}>"
        return (
            f"  %hw.high.words.{count} = trunc <{lanes} x i64> {match['of']} to {words}\n"
            f"  %hw.high.halves.{count} = bitcast {words} %hw.high.words.{count} to {halves}\n"
            f"  {match['name']} = shufflevector {halves} %hw.high.halves.{count}, {halves} poison, {even}"
        )

    changed = _NARROW.sub(narrow, text)
    return changed if count else text

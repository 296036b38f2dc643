"""Input: the text of a metadata node. Output: its fields, elements, strings and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_FIELD = re.compile(r'(\w+): ("[^"]*"|!DIExpression\([^)]*\)|[^,()]+)(?:, |\)|$)')
_STRING = re.compile(r'!"([^"]*)"')
_NUMBER = re.compile(r"i\d+ (-?\d+)")
_NODE = re.compile(r"!\d+")


def kind(node: str) -> str:
    """What a specialised node is (``DILocation``), "" of a tuple."""
    text = node.removeprefix("distinct ")
    return text[1:].partition("(")[0] if text.startswith("!DI") else ""


def fields(node: str) -> dict[str, str]:
    """The fields of a specialised node such as ``!DILocation(line: 3, scope: !7)``, as they are written."""
    return dict(_FIELD.findall(node[node.find("(") + 1 :])) if "(" in node else {}


def elements(node: str) -> list[str]:
    """The elements of a tuple such as ``!{!3, i32 1}``, as they are written; strings must have no commas."""
    text = node.removeprefix("distinct ")
    return text[2:-1].split(", ") if text.startswith("!{") and text != "!{}" else []


def strings(node: str) -> list[str]:
    """The strings of a tuple, without their quotation marks, as they are written."""
    return _STRING.findall(node)


def numbers(node: str) -> list[int]:
    """The integers of a tuple."""
    return [int(number) for number in _NUMBER.findall(node)]


def nodes(node: str) -> list[str]:
    """The other nodes (``!3``) that a node mentions."""
    return _NODE.findall(node)


def copied_members(metadata: Mapping[str, str], node: str) -> Iterator[tuple[int, int, bool]]:
    """Of a ``!tbaa.struct`` node, which says what a copy of a structure copies: each member's first byte, its bytes,
    and whether clang does not say what it is made of (characters, unions, arrays)."""
    listed = elements(metadata.get(node, ""))
    for first, nbytes, tag in zip(listed[::3], listed[1::3], listed[2::3], strict=True):
        access = elements(metadata.get(tag, ""))
        base = metadata.get(access[0], "") if access else ""
        yield int(first.split()[1]), int(nbytes.split()[1]), '"omnipotent char"' in base

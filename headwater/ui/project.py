"""Writes a request's files into the worker's folder, and refuses requests that name anything else."""

from __future__ import annotations

import base64
import binascii
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from headwater import files, sources
from headwater.errors import UsageError

MOST_FILES: Final = 32
MOST_SOURCE_BYTES: Final = 1 << 20
_NAME: Final = re.compile(r"[^\W_][\w. ()+@-]{0,99}")
_SOURCES: Final = (*sources.SUFFIXES, ".h", ".hpp", ".inc")
_DATA: Final = (*files.PICTURES, *files.TEXTS, *files.RAW, ".npy", ".npz", ".csv", ".hsaco", ".co", ".cal")
_ASSEMBLED: Final = re.compile(r"\.\s*(?:incbin|include)\b", re.IGNORECASE)


def lay(folder: Path, given: Mapping[str, Any]) -> None:
    """Write a request's files, ``name -> {"text": …}`` or ``{"base64": …}``, in place of those that were there before.
    UsageError for names that lead elsewhere or say no kind that the page takes, and for too much."""
    if not isinstance(given, dict) or len(given) > MOST_FILES:
        raise UsageError(f"a project has up to {MOST_FILES} files, by name")
    contents: dict[str, bytes] = {}
    for name, content in given.items():
        check_name(name)
        if not isinstance(content, dict):
            raise UsageError(f"{name}: a text or base64 is expected")
        if name.lower().endswith(_SOURCES):
            contents[name] = _source(name, content.get("text"))
        elif name.lower().endswith(_DATA):
            try:
                contents[name] = base64.b64decode(content.get("base64", ""), validate=True)
            except (binascii.Error, TypeError, ValueError):
                raise UsageError(f"{name}: its bytes are no base64") from None
        else:
            kinds = ", ".join((*_SOURCES, *_DATA))
            raise UsageError(f"{name} is of no kind that the page takes", hint=f"the kinds are {kinds}")
    for old in folder.iterdir():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink()
    for name, data in contents.items():
        (folder / name).write_bytes(data)


def check_name(name: object) -> str:
    """The name of a file in the folder. UsageError if it leads elsewhere."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name or name != name.strip():
        raise UsageError(f"{name!r:.60} is no name of a file here", hint="letters, digits, and a suffix such as .cl")
    return name


def check_text(text: object, what: str) -> str:
    """Assembly that includes no files. UsageError if it would."""
    if not isinstance(text, str) or len(text) > MOST_SOURCE_BYTES:
        raise UsageError(f"{what} is a text of up to {MOST_SOURCE_BYTES:,} characters")
    if _ASSEMBLED.search(text):
        raise UsageError(f"{what} includes a file by .incbin or .include", hint="the page assembles no files")
    return text


def words(given: object) -> list[str]:
    """Arguments as of ``headwater run``. UsageError if one names a file outside the folder."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(w, str) for w in given):
        raise UsageError("arguments are a list of words")
    for word in given:
        if "/" in word or "\\" in word or ".." in word or "\0" in word:
            raise UsageError(f"{word!r:.60} names a file that is not of the page", hint="drop the file onto the page")
    return list(given)


def _source(name: str, text: object) -> bytes:
    if not isinstance(text, str):
        raise UsageError(f"{name}: a text is expected")
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_SOURCE_BYTES:
        raise UsageError(
            f"{name} has {len(data):,} bytes", hint=f"the page takes sources of up to {MOST_SOURCE_BYTES:,}"
        )
    check_text(text, name)
    return data

"""Input: a chip's name or the path of a TOML file. Output: the `Chip`.

The files beside this module are named for their boards; each lists its other names. A file of one's own may begin with
``base = "vega64"`` and change what differs.
"""

from __future__ import annotations

import functools
import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.base import cache
from headwater.base.freshness import code_state
from headwater.chips.families import VLIW
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.chips.model import (
        Caches as Caches,
        Chip as Chip,
        Compute as Compute,
        Features as Features,
        Latencies as Latencies,
        Link as Link,
        LocalMemory as LocalMemory,
        Memory as Memory,
        Rates as Rates,
        Registers as Registers,
    )

_MODEL = frozenset(
    {"Caches", "Chip", "Compute", "Features", "Latencies", "Link", "LocalMemory", "Memory", "Rates", "Registers"}
)
FOLDER = Path(__file__).parent
_ALIASES = r"(?ms)^aliases = \[(.*?)\]"
_OUTLINE_FILE = "outline.json"


class Outline(NamedTuple):
    """What a launch of known code must know of a chip; the rest is read when it is asked for.

    ``file``: where the figures stand; ``family`` and ``target`` as in `Chip`; ``work_group_size``: the most work-items
    of a group; ``work_group_bytes``: the most local memory that it may have.
    """

    file: str
    family: str
    target: str
    work_group_size: int
    work_group_bytes: int

    @property
    def is_vliw(self) -> bool:
        """As in `Chip`."""
        return self.family == VLIW


def __getattr__(name: str) -> Any:
    if name not in _MODEL:
        raise AttributeError(f"module 'headwater.chips' has no attribute {name!r}")
    return getattr(import_module("headwater.chips.model"), name)


def plain(name: str) -> str:
    """A name without what people write differently: "RX Vega 64" and "rx-vega64" are "rxvega64"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@functools.cache
def _files() -> dict[str, Path]:
    """Plain name or alias -> file."""
    table: dict[str, Path] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        found = re.search(_ALIASES, path.read_text(encoding="utf-8"))
        for alias in [path.stem, *re.findall(r'"([^"]+)"', found[1] if found else "")]:
            table[plain(alias)] = path
    return table


def names() -> tuple[str, ...]:
    """The names of all chips that Headwater brings along, as `find` takes them."""
    return tuple(sorted({path.stem for path in _files().values()}))


def known(name: str) -> bool:
    """Whether `find` would find a chip by this name, or a TOML file at this path."""
    return name.endswith(".toml") or plain(name) in _files()


def find(name: str) -> Chip:
    """The chip of this name or alias, in any case and spacing; or what `load` makes of a path that ends in ``.toml``.

    Raises UsageError, with the nearest names, if there is none.
    """
    if name.endswith(".toml"):
        return load(name)
    path = _files().get(plain(name))
    if path is None:
        import difflib

        close = difflib.get_close_matches(plain(name), _files(), 3, 0.5)
        suggested = sorted({_files()[n].stem for n in close})
        hint = f"did you mean {' or '.join(suggested)}? " if suggested else ""
        raise UsageError(f"there is no chip {name!r}", hint=f"{hint}the chips are {', '.join(names())}")
    return load(path)


def outline(name: str) -> Outline | None:
    """The outline of the chip that `find` finds by this name, None if there is none; from the disk cache if it is one
    that Headwater brings along. Raises what `load` raises for a path."""
    if name.endswith(".toml"):
        return outline_of(load(name))
    key = cache.key("chip 1", code_state(__name__), str(FOLDER), plain(name))
    entry = cache.get(key)
    if entry is not None:
        return Outline(*json.loads((entry / _OUTLINE_FILE).read_bytes()))
    if not known(name):
        return None
    found = outline_of(find(name))
    cache.put(key, {_OUTLINE_FILE: json.dumps(found).encode()})
    return found


def outline_of(chip: Chip) -> Outline:
    """A chip's outline."""
    return Outline(
        chip.file, chip.family, chip.target, chip.compute.work_group_size, chip.local_memory.work_group_bytes
    )


def load(path: str | Path) -> Chip:
    """The chip that a TOML file describes; read once, and again when the file has changed.

    Raises UsageError if it cannot be read, SourceError with the line for a missing, unknown or impossible figure.
    """
    try:
        found = os.stat(path)
        state = found.st_mtime_ns, found.st_size
    except OSError:
        state = 0, 0  # reported where it is read
    return _load(str(path), state)


@functools.cache
def _load(path: str, state: tuple[int, int]) -> Chip:
    from headwater.chips.reader import read

    return read(Path(path))


def all_chips() -> list[Chip]:
    """Every chip that Headwater brings along, by generation and name."""
    chips = [find(name) for name in names()]
    return sorted(chips, key=lambda chip: (chip.family, _age(chip), chip.compute.compute_units, chip.name))


def _age(chip: Chip) -> tuple[int, str]:
    """Older chips first: GCN targets' names are in order of age, VLIW targets' are not."""
    from headwater.chips.vliw_isas import GENERATION_OF_TARGET

    known = list(GENERATION_OF_TARGET)
    return (known.index(chip.target), "") if chip.target in known else (0, chip.target)

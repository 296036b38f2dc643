"""Input: the name of something that ships with the package (photograph, example, benchmark). Output: its path."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def photograph() -> Path:
    """The demo's photograph: a cup of coffee, 600 x 400 pixels, JPEG, RGB.

    By Rachel Michetti, courtesy of Pikolo Espresso Bar; the photographer gave it to the public domain (CC0 1.0).
    """
    return _HERE / "coffee.jpg"


def example(name: str) -> Path:
    """A file of an example, such as ``"median/median.cl"``; FileNotFoundError if this installation lacks it."""
    return _find("examples", name)


def benchmark(name: str) -> Path:
    """A benchmark's program, such as ``"cpu.py"``; FileNotFoundError if this installation lacks it."""
    return _find("benchmarks", name)


def _find(folder: str, name: str) -> Path:
    """A wheel carries examples and benchmarks beside this module, a checkout beside the package."""
    for place in (_HERE, _HERE.parents[1]):
        path = place / folder / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"there is no {folder}/{name} in this installation")

"""The name of something that ships with the package (a photograph, an example's kernel) passes in, its path passes out."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def photograph() -> Path:
    """The demo's photograph: a cup of coffee, 600 x 400 pixels, JPEG, RGB.

    By Rachel Michetti, courtesy of Pikolo Espresso Bar; the photographer gave it to the public domain (CC0 1.0).
    """
    return _HERE / "coffee.jpg"


def example(name: str) -> Path:
    """The kernel file of an example, such as ``"median/median.cl"``; FileNotFoundError if this installation lacks it.

    A wheel carries the kernels beside this module; a checkout has them in ``examples/``.
    """
    for folder in (_HERE / "examples", _HERE.parents[1] / "examples"):
        path = folder / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"no example {name!r} in this installation")

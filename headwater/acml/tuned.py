"""Input: a chip's name. Output: the matrix product that was found fastest on its cycle model, and its rate there.

`tuned.toml` holds a row a chip and type: the kernel's block, and the published rate with its source. VLIW chips have a
kernel in ATI IL (`tuned_il.py`), chips of GCN one of two in OpenCL C (`tuned.cl`), as their authors had.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from itertools import product as combinations
from pathlib import Path
from typing import Any

import numpy as np

from headwater import chips
from headwater.acml.tuned_il import product
from headwater.errors import UsageError
from headwater.runtime import compile

_HERE = Path(__file__)
SCALAR = {"rows": (8, 16), "columns": (2, 4), "waves": (2, 4), "unroll": (1, 2, 4)}
"""What the tuner tries of the kernel in OpenCL C that has A in scalar registers."""
CANDIDATES: dict[str, dict[str, tuple[int, ...]]] = {
    "il": {"rows": (1, 2), "columns": (1, 2, 3, 4), "unroll": (1, 2, 4)},
    "opencl": {
        "group": (8, 16), "rows": (4, 8), "columns": (4, 8), "width": (2, 4, 8), "depth": (8, 16),
        "unroll": (1, 2, 4, 8, 16),
    },
}  # fmt: skip
"""What the tuner tries, by language."""
TYPES = {"hgemm": ("half", np.float16), "sgemm": ("float", np.float32), "dgemm": ("double", np.float64)}
"""The elements of a routine's arrays, in OpenCL C and in NumPy."""


@dataclass(frozen=True)
class Entry:
    """A row: ``routine`` is sgemm, dgemm, or hgemm, which is of halves; ``kernel``: names and sizes of the block;
    ``size``: rows (and columns) and inner size of the product that is simulated; ``published``: GFLOP/s, 0 if none is
    known, from ``source``."""

    chip: str
    routine: str
    language: str
    kernel: dict[str, int]
    size: tuple[int, int]
    published: float
    source: str

    @property
    def peak(self) -> float:
        """The chip's peak of multiply-additions by vector instructions, in GFLOP/s; for halves that of floats, since
        the only chip of the table with halves does not pack them."""
        chip = chips.find(self.chip)
        return chip.float64_gflops if self.routine == "dgemm" else chip.float32_gflops


@cache
def table() -> tuple[Entry, ...]:
    """All rows."""
    rows = tomllib.loads(_HERE.with_suffix(".toml").read_text(encoding="utf-8"))["product"]
    return tuple(Entry(**{**row, "size": tuple(row["size"])}) for row in rows)


def entry(chip: str, routine: str) -> Entry:
    """The row of a chip. UsageError naming those that there are."""
    for row in table():
        if (row.chip, row.routine) == (chip, routine):
            return row
    known = ", ".join(f"{row.routine} on {row.chip}" for row in table())
    raise UsageError(f"no kernel of {routine} is tuned for {chip}", hint=f"there are {known}")


def candidates(row: Entry) -> list[dict[str, int]]:
    """Blocks that the tuner tries: those whose tiles are whole, and that do not need more registers than there are."""
    sizes = CANDIDATES[row.language]
    found = [dict(zip(sizes, values, strict=True)) for values in combinations(*sizes.values())]
    if row.language == "il":
        return [block for block in found if block["rows"] <= block["columns"]]

    def whole(block: dict[str, int]) -> bool:
        items, width = block["group"] ** 2, block["width"]
        tiles = [block["depth"] * block["group"] * block[side] for side in ("rows", "columns")]
        return all(tile % (items * width) == 0 for tile in tiles) and not any(
            block[side] % width for side in ("rows", "columns")
        )

    scalar = [dict(zip(SCALAR, values, strict=True)) for values in combinations(*SCALAR.values())]
    return [block for block in found if whole(block)] + scalar


def launch(row: Entry, block: dict[str, int], a: Any, b: Any, c: Any) -> tuple[Any, tuple[Any, ...]]:
    """The launcher and arguments of c = a^T b for a (k x m), b (k x n) and c (m x n), arrays without gaps whose sizes
    are multiples of what the kernel makes."""
    (k, m), n = a.shape, b.shape[1]
    double = row.routine == "dgemm"
    if row.language == "il":
        width = 2 if double else 4
        program = compile(product(doubles=double, **block), language="il", device=row.chip)
        words = np.concatenate(
            [np.array([k, 0, 0, 0], np.float32).view(np.int32), np.array([n // width, 0, 0, 0], np.int32)]
        )
        texels = [array.view(np.float32).reshape(k, -1, 4) for array in (a, b)]
        size = n // width // block["columns"], m // width // block["rows"]
        return program.main[size, None], (*texels, words, c.view(np.float32).reshape(-1, 4))
    names = {"rows": "RM", "columns": "RN", "group": "GROUP", "width": "WIDTH", "depth": "DEPTH", "unroll": "UNROLL"}
    names["waves"] = "WAVES"
    options = " ".join(f"-D {names[key]}={value}" for key, value in block.items())
    options += f" -D T={TYPES[row.routine][0]}"
    program = compile(_HERE.with_suffix(".cl"), options=options, device=row.chip)
    local = (64, block["waves"]) if "waves" in block else (block["group"], block["group"])
    return program.product[(n // block["columns"], m // block["rows"]), local], (a, b, c, m, n, k)


def simulate(row: Entry, block: dict[str, int], size: int = 0) -> tuple[float, float]:
    """The rate on the chip's cycle model in GFLOP/s, and the largest error of a result beside NumPy's, as a part of k.

    ``size``: rows and columns instead of the row's.
    """
    n, k = size or row.size[0], row.size[1]
    rng, dtype = np.random.default_rng(0), TYPES[row.routine][1]
    a, b = (rng.random((k, n)).astype(dtype) for _ in range(2))
    c = np.zeros((n, n), dtype)
    launcher, args = launch(row, block, a, b, c)
    report = launcher.simulate(*args, device=row.chip)
    error = float(np.abs(c - a.T.astype(float) @ b.astype(float)).max()) / k
    return 2.0 * n * n * k / report.seconds / 1e9, error

"""Input: how many points, and in how many dimensions. Output: points of the unit cube, spread at random or evenly.

The same seed gives the same points everywhere, and the first points of a longer sample are a shorter one's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from headwater.errors import UsageError

METHODS: Final = ("sobol", "random")
_BITS: Final = 32

# Degree, coefficients and initial direction numbers of dimensions 2, 3, …: S. Joe and F. Y. Kuo, Constructing Sobol
# sequences with better two-dimensional projections, SIAM J. Sci. Comput. 30 (2008), file new-joe-kuo-6.
_DIRECTIONS: Final = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
    (6, 1, (1, 3, 3, 9, 7, 49)),
    (6, 13, (1, 1, 1, 15, 21, 21)),
    (6, 16, (1, 3, 1, 13, 27, 49)),
    (6, 19, (1, 1, 1, 15, 7, 5)),
    (6, 22, (1, 3, 1, 15, 13, 25)),
    (6, 25, (1, 1, 5, 5, 19, 61)),
    (7, 1, (1, 3, 7, 11, 23, 15, 103)),
    (7, 4, (1, 3, 7, 13, 13, 15, 69)),
)
MOST_DIMENSIONS: Final = len(_DIRECTIONS) + 1


def sample(method: str, count: int, dimensions: int, seed: int) -> Iterator[tuple[float, ...]]:
    """``count`` points in [0, 1) of each dimension. UsageError for a method that there is not, and for more dimensions
    than Sobol's sequence has here."""
    if method == "random":
        return _random(count, dimensions, seed)
    if method != "sobol":
        raise UsageError(f"a sample's method is {' or '.join(METHODS)}, not {method!r}")
    if dimensions > MOST_DIMENSIONS:
        raise UsageError(
            f"a Sobol sample has {MOST_DIMENSIONS} dimensions at most, not {dimensions}", hint='method = "random"'
        )
    return _sobol(count, dimensions, seed)


def _random(count: int, dimensions: int, seed: int) -> Iterator[tuple[float, ...]]:
    draw = random.Random(seed)  # Python promises that random() gives the same numbers in all versions
    for _ in range(count):
        yield tuple(draw.random() for _ in range(dimensions))


def _sobol(count: int, dimensions: int, seed: int) -> Iterator[tuple[float, ...]]:
    """Sobol's sequence in Gray-code order (Antonov and Saleev), each dimension shifted by the seed's bits (0: none):
    a digital shift keeps how evenly the points are spread."""
    draw = random.Random(seed)
    state = [draw.getrandbits(_BITS) if seed else 0 for _ in range(dimensions)]
    directions = [_direction_numbers(dimension) for dimension in range(dimensions)]
    for number in range(count):
        yield tuple(bits / 2.0**_BITS for bits in state)
        lowest_zero = (~number & (number + 1)).bit_length() - 1
        for dimension in range(dimensions):
            state[dimension] ^= directions[dimension][lowest_zero]


def _direction_numbers(dimension: int) -> list[int]:
    """Of each bit of a point's number, what it flips of the coordinate."""
    if dimension == 0:
        return [1 << (_BITS - 1 - bit) for bit in range(_BITS)]
    degree, coefficients, initial = _DIRECTIONS[dimension - 1]
    found = [number << (_BITS - 1 - bit) for bit, number in enumerate(initial)]
    for bit in range(degree, _BITS):
        new = found[bit - degree] ^ (found[bit - degree] >> degree)
        for back in range(1, degree):
            if coefficients >> (degree - 1 - back) & 1:
                new ^= found[bit - back]
        found.append(new)
    return found

"""Input: a kernel of AMD's samples. Output: the calls to compare: arguments and shapes for which every answer is
defined.

Shapes are awkward on purpose: one element, primes, odd widths, two dimensions that are not square, three and four
dimensions. Most kernels take anything; ``RULES`` says what the others need so that loops end and indices stay inside
their arrays (AMD's CPU run-time reads whatever lies there otherwise), each with the property of the kernel that asks
for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verification.brook_oracle.amd import Array, Kernel, Parameter, Sample

Shape = tuple[int, ...]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class Case:
    """One call. ``shapes``: elements of each stream and array, slowest dimension first. ``domain``: (offset, size), x
    first.
    """

    label: str
    arguments: dict[str, Array]
    shapes: Shapes
    domain: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    full: bool = False


Fill = Callable[[np.random.Generator, Shape], Array]
ShapeOf = Callable[[Shape], Shape]


@dataclass(frozen=True)
class Rule:
    """What a kernel needs: output shapes to try, how to fill parameters, which shape its arrays have for an output
    shape.

    ``fills`` and ``arrays`` are by parameter name; ``"*"`` stands for all others. ``domain``: of a shape.
    """

    shapes: tuple[Shape, ...] = ()
    fills: dict[str, Fill] = field(default_factory=dict)
    arrays: dict[str, ShapeOf] = field(default_factory=dict)
    domain: Callable[[Shape], tuple[tuple[int, ...], tuple[int, ...]]] | None = None
    resize: bool = True
    why: str = ""


ONE: tuple[Shape, ...] = ((1,), (7,), (61,), (1021,))
TWO: tuple[Shape, ...] = ((1, 1), (5, 13), (31, 17), (64, 9))
MANY: tuple[Shape, ...] = ((3, 4, 5), (2, 3, 2, 5))
# Implicit resize: (shape of the inputs, shape of the outputs). Nearest sampling, in = trunc(out / (outDim / inDim)).
RESIZED: tuple[tuple[Shape, Shape], ...] = (
    ((10,), (5,)),
    ((5,), (10,)),
    ((8,), (12,)),
    ((6, 10), (3, 5)),
    ((4, 3), (8, 9)),
)
# Reductions: input shape and the shapes to reduce it to.
REDUCED: tuple[tuple[Shape, tuple[Shape, ...]], ...] = (
    ((61,), ((1,),)),
    ((60,), ((12,), (1,))),
    ((1021,), ()),
    ((12, 12), ((4, 3), (12, 1), (1, 12))),
    ((10, 21), ((5, 7), (2, 3))),
    ((4, 6, 5), ((2, 3, 1),)),
)


def uniform(low: float, high: float) -> Fill:
    """Reals in [low, high), rounded to the parameter's type later."""
    return lambda rng, shape: rng.uniform(low, high, shape)


def integers(low: int, high: int) -> Fill:
    """Whole numbers in [low, high), as floats or integers."""
    return lambda rng, shape: rng.integers(low, high, shape)


def exactly(*value: float) -> Fill:
    """This value (one per component)."""
    return lambda rng, shape: np.broadcast_to(np.asarray(value if len(value) > 1 else value[0]), shape)


def sorted_up(rng: np.random.Generator, shape: Shape) -> Array:
    """Distinct ascending numbers."""
    return np.arange(shape[0]) * 0.5 + rng.uniform(0, 0.25, shape)


def factor(rng: np.random.Generator, shape: Shape) -> Array:
    """A well conditioned lower triangular 4x4 matrix in the first column of float4s."""
    rows = rng.uniform(0.5, 1.5, shape)
    rows[:4, 0] = np.tril(rng.uniform(-1, 1, (4, 4)), -1) + np.diag(rng.uniform(1, 2, 4))
    return np.asarray(rows)


def positive_definite(rng: np.random.Generator, shape: Shape) -> Array:
    """A symmetric positive definite 4x4 matrix in the first column of float4s."""
    rows = rng.uniform(0.5, 1.5, shape)
    half = rng.uniform(-1, 1, (4, 4))
    rows[:4, 0] = half @ half.T + 4 * np.eye(4)
    return np.asarray(rows)


def rotations(rng: np.random.Generator, shape: Shape) -> Array:
    """2x2 matrices (a, b, -b, a) that turn by quarters and scale by powers of two: products commute and are exact."""
    turns = np.array([[1, 0, 0, 1], [0, 1, -1, 0], [-1, 0, 0, -1], [0, -1, 1, 0]])
    return turns[rng.integers(0, 4, shape[:-1])] * 2.0 ** rng.integers(-1, 2, (*shape[:-1], 1))


def same(shape: Shape) -> Shape:
    return shape


def square(shape: Shape) -> Shape:
    return (max(shape), max(shape))


INNER = 11  # the inner extent of the matrix products
MATMUL = Rule(
    TWO,
    {"loopVar0": exactly(INNER), "Width": exactly(INNER)},
    {
        **{f"A{n or ''}": lambda s: (s[0], INNER) for n in range(9)},
        **{f"B{n or ''}": lambda s: (INNER, s[1]) for n in range(5)},
    },
    why="the inner extent is an argument",
)
NLM = Rule(
    ((24, 32), (40, 24)),
    {"*": uniform(0, 1), "noise": exactly(0.35), "inv_win": exactly(1 / 49)},
    {"weights": same, "input": same},
    lambda s: ((8, 8), (s[1] - 16, s[0] - 16)),
    why="reads 3 before and 7 behind its position: the domain keeps a margin",
)
OPTION = Rule(
    fills={
        "*": uniform(0.1, 1.0),
        "stockPrice": uniform(10, 100),
        "optionStrike": uniform(10, 100),
        "optionYears": uniform(1, 10),
        "riskFactor": exactly(0.06),
        "volatility": exactly(0.1),
        "S": uniform(10, 100),
        "K": uniform(10, 100),
        "T": uniform(1, 10),
        "R": uniform(0.01, 0.05),
        "sigma": uniform(0.01, 0.1),
        "j": integers(0, 8),
        "s": uniform(10, 100),
        "x": uniform(10, 100),
    },
    why="logarithms and roots of prices",
)
ASIAN = Rule(
    fills={
        "*": uniform(0.2, 1.5),
        "randStream": integers(1, 2**32),
        "seedIn": integers(1, 2**32),
        "noOfSum": exactly(7),
        "initPricef4": uniform(20, 50),
        "strikePricef4": uniform(20, 50),
        "trajPrice1": uniform(20, 50),
        "trajPrice2": uniform(20, 50),
        "C1f4": uniform(-0.05, 0.05),
        "C2f4": uniform(0.01, 0.1),
    },
    why="logarithms of prices; the number of steps is an argument",
)


def _steps(n: float) -> Rule:
    return replace(OPTION, fills={**OPTION.fills, "numSteps": exactly(n), "numSteps4": exactly(n)})


RULES: dict[str, Rule] = {
    "binary_search": Rule(
        ((7,), (61,), (1021,)),
        {
            # Half of the values are in the array, all far from its ends.
            "searchValue": lambda rng, shape: rng.integers(40, 200, shape) * 0.5 + rng.choice([0.0, 0.3], shape),
            "array": lambda rng, shape: np.arange(shape[0]) * 0.5,
            "arraySize": exactly(256),
            "lgWidth": exactly(8),
        },
        {"array": lambda s: (300,)},
        resize=False,
        why="the search overshoots by up to two elements, so values come from the array's middle",
    ),
    "bitonic": Rule(
        ((16,), (48,), (1040,)),
        {"stageWidth": exactly(16), "offset": exactly(4), "twoOffset": exactly(8)},
        {"input": same},
        why="the partner is inside the array when the size is a multiple of twoOffset",
    ),
    "bitonic_2D": Rule(
        ((8, 16), (12, 16)),
        {"stageWidth": exactly(64), "offset": exactly(32), "twoOffset": exactly(64), "maxvalue": exactly(16, 0)},
        {"input": same},
        why="as bitonic; the row length is an argument",
    ),
    "black_scholes": OPTION,
    "gpu_constructTree": _steps(8),
    "gpu_backwardTraverseFirst": OPTION,
    "gpu_backwardTraverse4": OPTION,
    "gpu_backwardTraverse8": OPTION,
    "gpu_backwardTraverse12": OPTION,
    "mainGPU4": _steps(4),
    "mainGPU8": _steps(8),
    "mainGPU12": _steps(12),
    "cholesky4x4_gather": Rule(
        TWO, {"A11": positive_definite}, {"A11": lambda s: (5, 3)}, why="needs a matrix with roots"
    ),
    "normalize_gather": Rule(
        TWO, {"L11": factor}, {"L11": lambda s: (4, 1), "A21": lambda s: (s[0], 2)}, why="divides by the diagonal"
    ),
    "matrix_update": Rule(
        TWO, arrays={"L21": lambda s: (max(s[0], 4 * s[1]), 1), "A21": same}, why="reads rows 4x to 4x+3 of L21"
    ),
    "lower_triangularize": Rule(TWO, why="asks for its position in two dimensions"),
    "optimized_matmult": MATMUL,
    "optimized_matmult_float": MATMUL,
    "optimized_matmult_int": MATMUL,
    "optimized_matmult_double": MATMUL,
    "simple_matmult": MATMUL,
    "double_precision_simple_matmult": MATMUL,
    "floyd_warshall": Rule(
        ((1, 1), (7, 7), (31, 31)),
        {"*": uniform(1, 100), "step": exactly(0)},
        {"*": same},
        why="a square distance matrix",
    ),
    "haar_wavelet": Rule(
        ONE, {"isqrt2": exactly(0.70710678)}, {"vec": lambda s: (2 * s[0],)}, why="reads elements 2x and 2x+1"
    ),
    "image_filter": Rule(
        TWO, arrays={"img": lambda s: (s[0] + 2, s[1] + 2), "mask": lambda s: (3, 3)}, why="reads a 3x3 neighbourhood"
    ),
    "mandelbrot": Rule(
        ((1, 1), (31, 17), (48, 53)),
        {"scale": exactly(3 / 48), "maxIterations": exactly(77), "size": exactly(48)},
        why="the picture's size is an argument",
    ),
    "boxMullar_gpu": Rule(fills={"*": integers(1, 2**32)}, why="the logarithm of zero is infinite"),
    "boxMullar": Rule(fills={"*": integers(1, 2**32)}, why="the logarithm of zero is infinite"),
    "calOutputs": ASIAN,
    "calTrajSumPrice": ASIAN,
    "calSumDeriv": ASIAN,
    "calPriceVegaVec": ASIAN,
    "NLM_Denoise_Pass1": NLM,
    "NLM_Denoise_Pass2": NLM,
    "Normalize_Input": Rule(fills={"tmax": exactly(255), "tmin": exactly(3)}, why="divides by their difference"),
    "scan": Rule(
        ((5, 13), (31, 17)),
        {"twotoi": exactly(4), "max": lambda rng, shape: np.zeros(shape)},  # max: see _special
        {"input": same},
        why="the array's size is an argument",
    ),
    "gather": Rule(ONE, {"index": integers(0, 23)}, {"x": lambda s: (23,)}, why="indices"),
    "sparse_matmult_product": Rule(TWO, {"index": integers(0, 6)}, {"x": lambda s: (6, 6)}, why="indices"),
    "gather_dependent": Rule(ONE, {"index": integers(0, 23)}, {"a": lambda s: (23,)}, why="indices"),
    "gather_dependent_2D": Rule(TWO, {"index": integers(0, 7)}, {"a": lambda s: (7, 8)}, why="indices"),
    "gather_direct": Rule(ONE, {"index": exactly(3, 4)}, {"a": lambda s: (5,)}, why="indices"),
    "gather_direct_2D": Rule(TWO, {"index": exactly(3, 4)}, {"a": lambda s: (5, 7)}, why="indices"),
    "domain_gather": Rule(TWO, {"index": integers(0, 7)}, {"g": lambda s: (7, 8)}, why="indices"),
    "struct_gather": Rule(ONE, {"index": integers(0, 23)}, {"pairs": lambda s: (23,)}, why="indices"),
    "indexof_advanced": Rule(TWO, arrays={"d": square}, resize=False, why="reads [y][x] and [x][y]"),
    "indexof_simple": Rule(ONE + TWO, resize=False, why="the position in a resized stream is not specified"),
    "indexof_output": Rule(ONE + TWO, {"width": exactly(17)}, why="asks for its position"),
    "loopGPU": Rule(TWO, {"width": exactly(17)}, why="the loop's length is an argument"),
    "transposeGPU": Rule(TWO, arrays={"i": lambda s: (s[1], s[0])}, why="reads [x][y]"),
    "scatterTransposeGPU": Rule(((1, 1), (7, 7), (31, 31)), arrays={"output": same}, resize=False, why="writes [x][y]"),
    "sum_2d": Rule(
        ((8, 8), (24, 24)),
        arrays={"b": same, "c": same},
        resize=False,
        why="whole groups of 64; AMD's CPU run-time numbers the elements of a square array only",
    ),
    "writePos": Rule(ONE + TWO, why="asks for its position"),
    "constantN": Rule(fills={"n": integers(1, 6)}, why="chooses by n"),
    "sample1": Rule(fills={"*": integers(-30000, 30000)}, why="products fit an int"),
    "matrix_mult": Rule(fills={"*": rotations}, why="the order of a reduction is not specified"),
}


SUM = Rule(fills={"*": integers(-99, 100)}, why="the order of a reduction is not specified: whole numbers sum exactly")


def cases(sample: Sample, kernel: Kernel) -> Iterator[Case]:
    """The calls of ``kernel`` to compare; the same ones in every run."""
    rule = RULES.get(kernel.name, SUM if kernel.is_reduction else Rule())
    rng = np.random.default_rng(zlib.crc32(kernel.name.encode()))
    if kernel.is_reduction:
        yield from _reductions(sample, kernel, rule, rng)
        return
    arrays = any(p.kind in ("gather", "scatter") for p in kernel.parameters)
    for shape in rule.shapes or (ONE + TWO + MANY):
        shapes = {p.name: _shape(p, rule, shape) for p in kernel.parameters}
        domain = rule.domain(shape) if rule.domain else None
        yield _case(sample, kernel, rule, rng, _label(shape), shapes, domain)
        if domain is None and not arrays and max(shape) > 12 and len(shape) < 3:
            # domainOffset and domainSize: a part of the output only.
            offset = tuple(n // 3 for n in reversed(shape))
            size = tuple(max(n // 2, 1) for n in reversed(shape))
            yield _case(sample, kernel, rule, rng, f"{_label(shape)} part", shapes, (offset, size))
    if rule.resize and not rule.shapes and any(p.kind == "input" for p in kernel.parameters):
        for before, after in RESIZED:
            shapes = {p.name: _shape(p, rule, before if p.kind == "input" else after) for p in kernel.parameters}
            yield _case(sample, kernel, rule, rng, f"{_label(before)} to {_label(after)}", shapes)


def _reductions(sample: Sample, kernel: Kernel, rule: Rule, rng: np.random.Generator) -> Iterator[Case]:
    for shape, targets in REDUCED:
        shapes = {p.name: shape for p in kernel.parameters if p.kind != "reduce"}
        yield replace(_case(sample, kernel, rule, rng, f"{_label(shape)} to one", shapes), full=True)
        for target in targets:
            both = {**shapes, **{p.name: target for p in kernel.parameters if p.kind == "reduce"}}
            yield _case(sample, kernel, rule, rng, f"{_label(shape)} to {_label(target)}", both)


def _case(
    sample: Sample,
    kernel: Kernel,
    rule: Rule,
    rng: np.random.Generator,
    label: str,
    shapes: Shapes,
    domain: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> Case:
    arguments = {}
    for parameter in kernel.parameters:
        if parameter.kind in ("output", "reduce"):
            continue
        dtype = sample.dtype(parameter.type)
        shape = (*(parameter.sizes if parameter.kind == "constant" else shapes.get(parameter.name, ())),)
        fill = rule.fills.get(parameter.name) or rule.fills.get("*")
        arguments[parameter.name] = _filled(rng, dtype, shape, fill)
    _special(kernel, arguments, shapes)
    return Case(label, arguments, shapes, domain)


def _special(kernel: Kernel, arguments: dict[str, Array], shapes: Shapes) -> None:
    """Arguments that depend on other arguments' shapes."""
    if kernel.name == "scan":
        height, width = shapes["input"]
        arguments["max"] = np.array([width, height], "f4")
    if kernel.name == "floyd_warshall":
        arguments["step"] = np.asarray(shapes["inputDist"][0] // 2, arguments["step"].dtype)


def _filled(rng: np.random.Generator, dtype: np.dtype[Any], shape: Shape, fill: Fill | None) -> Array:
    if dtype.names:
        record = np.zeros(shape, dtype)
        for name in dtype.names:
            member = dtype[name]
            record[name] = _filled(rng, member, shape, fill)
        return record
    whole = (*shape, *dtype.shape)
    if fill is not None:
        return np.asarray(fill(rng, whole)).astype(dtype.base)
    if dtype.base.kind == "f":
        return rng.normal(0, 2, whole).astype(dtype.base)
    limits = np.iinfo(dtype.base)
    return rng.integers(limits.min, limits.max, whole, dtype.base, endpoint=True)


def _shape(parameter: Parameter, rule: Rule, shape: Shape) -> Shape:
    if parameter.kind in ("value", "constant"):
        return ()
    if parameter.kind in ("gather", "scatter"):
        of = rule.arrays.get(parameter.name) or rule.arrays.get("*")
        if of is None:
            raise KeyError(f"no rule for the shape of array {parameter.name!r}")
        return of(shape)
    return shape


def _label(shape: Sequence[int]) -> str:
    return "x".join(str(n) for n in shape)

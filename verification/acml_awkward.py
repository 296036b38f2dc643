"""Awkward arguments of ACML's transforms, vector maths and random numbers, and memory around those of BLAS and LAPACK.

    python -m verification.acml_awkward [NAME…]

*Transforms, vector maths, random numbers*: each argument of each routine is in turn every value of a list (wrong types,
sizes below zero and of more than 32 bits, NaN, arrays of other types, strides and shapes, read-only ones, results that
share memory with arguments or with each other). A call has to return, or to raise an error of ours; if it raises or
returns an INFO, no array may have changed.

*BLAS and LAPACK*: each routine under all its flags and some sizes gets arrays that end where the routine's description
says, as parts of larger ones whose other elements are NaN, and workspaces likewise. Those elements have to stay as they
are, and results have to be the same as without them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, product
from typing import Any

import numpy as np

from headwater import acml
from headwater.acml import fourier, native, routines, vector
from headwater.acml.random import states
from headwater.acml.random.distributions import table
from headwater.errors import HeadwaterError

KINDS: Counter[str] = Counter()
N = 6
ANY = (
    None,
    "a",
    b"N",
    1.5,
    -1,
    0,
    2**31,
    10**400,
    float("nan"),
    True,
    1j,
    [1],
    np.array([1, 2]),
    np.array(0),
    np.zeros(1, np.int8),
    np.zeros(0),
    object(),
)
"""In place of any argument."""


def arrays(dtype: np.dtype[Any], size: int) -> Iterator[Any]:
    """In place of an array that has so many elements of the type."""
    good = np.ones(size, dtype)
    yield from (good[:-1], good[:0], np.array(1, dtype), good[::-1], np.ones(2 * size, dtype)[::2])
    yield from (good.reshape(1, -1), good.reshape(-1, 1), good.astype(np.float16), good.astype(dtype.newbyteorder()))
    yield np.frombuffer(b"\1" * (size * dtype.itemsize + 1), dtype, size, 1)  # not aligned, read-only
    yield np.ma.array(good, mask=good == 1)
    yield good.view(np.recarray)
    yield np.full(size, np.nan).astype(dtype) if dtype.kind != "i" else np.full(size, -1, dtype)
    with np.errstate(all="ignore"):
        yield (np.full(size, np.inf) if dtype.kind != "i" else np.full(size, 2**31 - 1)).astype(dtype)


def calls() -> dict[str, tuple[list[str], Callable[[], list[Any]]]]:
    """Name -> labels of its arguments, and what makes right ones."""
    found: dict[str, tuple[list[str], Callable[[], list[Any]]]] = {}
    numbers = {"mode": -1, "l": 2, "m": 2, "n": N, "nseq": 2, "scale": 1.0, "ltrans": 0, "inpl": 0, "incx": 1,
               "incy": 1, "incx1": 1, "incx2": N, "incy1": 1, "incy2": N}  # fmt: skip
    for name, (kind, what, text) in fourier.names().items():
        labels = text.split()
        dtype = native.TYPES[kind]

        def make(
            labels: list[str] = labels, dtype: Any = dtype, real: bool = what in ("real", "hermitian")
        ) -> list[Any]:
            values = {**numbers, "comm": None, "x": np.ones(6 * N, dtype), "y": np.ones(6 * N, dtype)}
            return [1 if real and label == "mode" else values[label] for label in labels]

        found[name] = labels, make
    for name, (what, kind, count) in vector.names().items():
        dtype = np.dtype(np.float64 if kind == "d" else np.float32)
        labels = ["x", "y"] if what in ("pow", "powx") else ["x"]
        if count != 1:
            outs = {"sincos": ["ys", "yc"], "pow": ["z"], "powx": ["z"]}.get(what, ["y"])
            labels = [*([] if count else ["n"]), *labels, *outs]

        def fill(labels: list[str] = labels, dtype: Any = dtype, what: str = what, count: Any = count) -> list[Any]:
            def one(label: str) -> Any:
                return 0.5 if count == 1 or (what == "powx" and label == "y") else np.full(N, 0.5, dtype)

            return [N if label == "n" else one(label) for label in labels]

        found[name] = labels, fill
    legal = {"hypergeometric": (9, 4, 3), "triangular": (0.0, 0.5, 1.0)}
    for name in states.names():
        what, single = name[5:], name[0] == "s"
        row = table().get(what)

        def draw(what: str = what, single: bool = single, row: Any = row) -> list[Any]:
            state = np.zeros(72, np.int32)
            if what == "initialize":
                return [6, 1, [5], 1, state, 72]
            if what == "initializebbs":
                return [1, 1, [7], 1, [11], 1, [5], state, 72]
            letter = "s" if single else "d"
            if what == "blumblumshub":
                assert getattr(acml, f"{letter}randinitializebbs")(1, 1, [7], 1, [11], 1, [5], state, 72) == 0
                return [N, state, np.zeros(N, np.int32)]
            assert getattr(acml, f"{letter}randinitialize")(6, 1, [5], 1, state, 72) == 0
            if row is None:
                return [3, state] if what == "skipahead" else [3, 2, state]
            dtype = np.dtype(np.int32 if row.discrete else np.float32 if single else np.float64)
            numbers = legal.get(what, tuple(3 if argument in ("m", "b") and row.discrete and what != "geometric" else
                                            1 if row.discrete else 0.5 for argument in row.arguments))  # fmt: skip
            return [N, *numbers, state, np.zeros(N, dtype)]

        extra = {"initialize": "genid subid seed lseed state lstate", "skipahead": "n state", "leapfrog": "n k state",
                 "initializebbs": "nbits lp p lq q ls s state lstate", "blumblumshub": "n state x"}  # fmt: skip
        found[name] = (extra[what].split() if row is None else ["n", *row.arguments, "state", "x"]), draw
    return found


def changed(before: list[Any], after: list[Any]) -> bool:
    """Whether the memory of an array is another."""
    return any(isinstance(old, bytes) and old != bytes_of(new) for old, new in zip(before, after, strict=True))


def bytes_of(value: Any) -> Any:
    base = value
    while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
        base = base.base
    return base.tobytes() if isinstance(value, np.ndarray) else value


def check(name: str, labels: list[str], make: Callable[[], list[Any]]) -> list[str]:
    """What is wrong with a routine's answers to awkward arguments."""
    problems, function = [], getattr(acml, name)

    def attempt(what: str, args: list[Any]) -> None:
        before = [bytes_of(value) for value in args]
        KINDS["awkward"] += 1
        try:
            found = function(*args)
        except HeadwaterError:
            found = -1
        except Exception as error:
            problems.append(f"{what}: {type(error).__name__}: {error}")
            found = -1
        if isinstance(found, int) and found != 0 and not isinstance(found, bool) and changed(before, args):
            problems.append(f"{what}: an array was written")

    attempt("no arguments", [])
    attempt("one too many", [*make(), 1])
    right = make()
    if (found := function(*right)) not in (0, None) and isinstance(found, int):
        problems.append(f"right arguments give {found}")
    for at, label in enumerate(labels):
        values: list[Any] = [*ANY]
        if isinstance(right[at], np.ndarray):
            values += arrays(right[at].dtype, right[at].size)
        for value in values:
            args = make()
            args[at] = value
            attempt(f"{label} is {type(value).__name__} {value!r:.60}", args)
        for other, second in enumerate(right):
            if other != at and isinstance(right[at], np.ndarray) and isinstance(second, np.ndarray):
                for shift in (0, 1):
                    args = make()
                    nbytes = (right[at].nbytes + second.nbytes + 64) // 8 * 8
                    memory = np.zeros(nbytes, np.uint8)
                    start = shift * second.itemsize * 2
                    first = args[at].tobytes()
                    memory[: len(first)] = np.frombuffer(first, np.uint8)
                    args[at] = memory[: len(first)].view(right[at].dtype)
                    args[other] = memory[start : start + second.nbytes].view(second.dtype)
                    if label == "state":
                        attempt_shared(problems, function, f"{label} shares memory with {labels[other]}", args, at)
                    else:
                        attempt(f"{label} shares memory with {labels[other]}", args)
    return problems


def attempt_shared(problems: list[str], function: Any, what: str, args: list[Any], at: int) -> None:
    """A generator's state that is a result, too, has to be refused: it would be no state afterwards."""
    KINDS["awkward"] += 1
    try:
        if function(*args) == 0:
            problems.append(f"{what} and was taken")
    except HeadwaterError:
        pass


GUARD = 5
"""Elements on both sides of an array."""
BESIDE = 256
"""Elements on both sides of a workspace."""


@contextmanager
def guarded(problems: list[str]) -> Iterator[None]:
    """Workspaces that native.py makes get guards on both sides, which must be untouched at the end."""
    empty, made = np.empty, []

    def larger(size: int, dtype: Any) -> Any:
        whole = np.zeros(size + 2 * BESIDE, dtype)
        whole.view(np.uint8)[...] = 0xA5
        made.append((whole, size))
        return whole[BESIDE : BESIDE + size]

    np.empty = larger  # type: ignore[assignment]
    try:
        yield
    finally:
        np.empty = empty
    for at, (whole, size) in enumerate(made):
        outside = np.concatenate([whole[:BESIDE], whole[BESIDE + size :]]).view(np.uint8)
        if (outside != 0xA5).any():
            problems.append(f"workspace {at} of {size} elements is too short")


SIZES: dict[str, tuple[int, ...]] = {
    "m": (5, 3), "n": (4, 5), "k": (3, 2), "p": (3, 2), "nrhs": (2, 3), "kl": (1, 0), "ku": (2, 1), "kd": (2, 1),
    "ka": (2, 1), "kb": (1, 1), "ilo": (1, 1), "ihi": (4, 5), "il": (1, 2), "iu": (2, 2), "mm": (4, 5),
}  # fmt: skip


def within(name: str) -> list[str]:
    """Whether a routine of BLAS or LAPACK stays within its arrays and workspaces, and reads nothing beyond."""
    problems: list[str] = []
    routine = native.routine(name)
    flags = [p for p in routine.arguments if p.kind == "flag"]
    done = 0
    for at, letters in islice(product((0, 1), product(*(p.letters for p in flags))), 200):
        values: dict[str, Any] = {}
        chosen = dict(zip((p.name for p in flags), letters, strict=True))
        for p in routine.arguments:
            if p.kind == "flag":
                values[p.name] = int(chosen[p.name]) if p.letters.isdigit() else chosen[p.name]
            elif p.kind in ("int", "any"):
                values[p.name] = SIZES[p.name][at]
            elif p.kind == "increment":
                values[p.name] = 2 if at else 1
            elif p.kind == "scalar":
                values[p.name] = {"vl": -9.0, "vu": 9.0}.get(p.name, 0.5)
            elif p.kind == "callback":
                values[p.name] = (lambda *parts: parts[0].real > 0) if chosen["sort"] == "S" else None
        if (
            chosen.get("fact") == "F"
            or (
                chosen.get("sense", "N") != "N"
                and "N" in (chosen.get("sort", "S"), chosen.get("jobvl", "V"), chosen.get("jobvr", "V"))
            )
            or chosen.get("jobu") == chosen.get("jobvt") == "O"
        ):
            continue  # needs what a call before left, or is not allowed
        scalars = [chosen[p.name] if p.kind == "flag" else values[p.name]
                   for p in routine.arguments if p.kind in ("flag", "int", "any")]  # fmt: skip
        extents = dict(zip((p.name for p in routine._arrays), routine._extents(*scalars), strict=True))
        results = []
        for slack in (0, GUARD):
            args = dict(values)
            masks: dict[str, tuple[Any, Any]] = {}
            rng = np.random.default_rng(at)
            for q, p in enumerate(routine.row.parameters):
                if p.kind not in ("matrix", "vector", "array") or p.hidden:
                    continue
                follower = routine.row.parameters[q + 1].name if q + 1 < len(routine.row.parameters) else ""
                rows, columns = extents[p.name] if p.kind == "matrix" else (extents[p.name][0], 1)
                if p.swapped and values[p.swapped] != "N":
                    rows, columns = columns, rows
                rows, columns = max(rows, 0), max(columns, 0)
                dtype = routine._dtypes[p.type]
                data = content(p, rows, columns, dtype, rng, chosen.get("uplo", "U") == "U")
                step = values[follower] if p.kind == "vector" else 1
                leading = max(rows, 1) + slack
                size = leading * columns if p.kind == "matrix" else (rows - 1) * step + 1 if rows else 0
                whole = np.zeros(GUARD + size + GUARD, dtype)
                inner = np.zeros(len(whole), bool)
                places = (GUARD + np.arange(columns)[None, :] * leading + np.arange(rows)[:, None] if p.kind == "matrix"
                          else GUARD + (np.arange(rows) * step)[:, None])  # fmt: skip
                inner[places] = True
                whole[~inner] = b"?" if p.type == "b" else 77 if p.type == "i" or not slack else np.nan
                whole[places] = data
                if p.kind == "matrix":
                    args[follower] = leading
                    size = (columns - 1) * leading + rows if rows and columns else 0
                args[p.name] = whole[GUARD : GUARD + size]
                masks[p.name] = whole, inner
            before = {label: whole[~inner].tobytes() for label, (whole, inner) in masks.items()}
            with guarded(problems):
                found = routine.general(*(args[p.name] for p in routine.arguments))
            done += found == 0 or not routine.row.info
            KINDS["within"] += 1
            for label, (whole, inner) in masks.items():
                if whole[~inner].tobytes() != before[label]:
                    problems.append(f"{label} was written outside with {chosen}")
            results.append(
                (found, {p.name: masks[p.name][0][masks[p.name][1]] for p in routine.arguments if p.written})
            )
        (first, ones), (second, others) = results
        if repr(first) != repr(second) or any(not same(ones[label], others[label]) for label in ones):
            problems.append(f"elements between columns change results with {chosen}")
    if not done:
        problems.append("no call was right")
    return problems


def content(p: routines.Parameter, rows: int, columns: int, dtype: Any, rng: Any, upper: bool) -> Any:
    """Numbers that make matrices definite, packed and banded ones too."""
    if p.type == "b":
        return np.full((rows, columns), b"N")
    if p.type == "i":
        return (np.arange(rows) + 1)[:, None] if p.is_pivots else np.zeros((rows, 1), np.int32)
    if p.kind != "matrix":
        made = rng.standard_normal((rows, columns)) * 0.1
        if p.name in ("ap", "bp"):  # where the columns of a triangle end or begin
            ends = np.cumsum(np.arange(1, rows + 1))
            made[(ends - 1 if upper else rows - ends)[ends <= rows]] += 3
        return (made + 3 * (p.name == "d")).astype(dtype)
    made = rng.standard_normal((9, 9)) * 0.1
    made = (made + made.T)[:rows, :columns]
    if p.name in ("ab", "bb"):
        made[rows - 1 if upper else 0] += 3
    else:
        made += 3 * np.eye(rows, columns)
    return made.astype(dtype)


def same(first: Any, second: Any) -> bool:
    """Equal but for the rounding of other ways to add that other leading dimensions allow."""
    if first.dtype.kind not in "fc":
        return bool((first == second).all())
    return bool(np.allclose(first, second, rtol=1e-3, atol=1e-3, equal_nan=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*")
    wanted = set(parser.parse_args().name)
    problems: list[str] = []
    for name, (labels, make) in calls().items():
        if not wanted or name in wanted:
            problems += [f"{name}: {text}" for text in check(name, labels, make)]
    for name in sorted(routines.rows()):
        if not wanted or name in wanted:
            problems += [f"{name}: {text}" for text in dict.fromkeys(within(name))]
    print(*problems, sep="\n")
    print(f"{', '.join(f'{kind} {count}' for kind, count in KINDS.items())}; {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())

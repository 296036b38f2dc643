"""Every routine of BLAS and LAPACK by ACML's names, with right arguments and with wrong ones of each kind.

    python -m verification.acml_arguments [ROUTINE…]

Right calls are made by the compiled way and by the general one, whose results must be the same. Then each argument in
turn is wrong: a size of -1, of 2**31, or none; a leading dimension that is too small; an increment of 0; no letter; an
array of another type or order, one that is too short, read-only, or that another argument writes. INFO has to
be the argument's number, or the error has to name it, and no array may change. Sizes of 0 and of arrays full of NaN
have to end.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from headwater.acml import native, routines
from headwater.errors import UsageError

N = 4
INTS = {"kl": 1, "ku": 1, "kd": 1, "ilo": 1, "ihi": N, "il": 1, "iu": N, "itype": 1, "k1": 1, "k2": N}
KINDS = {"right": 0, "zero": 0, "nan": 0, "wrong": 0, "compiled": 0}


def right(routine: native.Routine, n: int = N, fill: str = "") -> dict[str, Any]:
    """Arguments that the routine takes, with matrices that are positive definite and bands that dominate."""
    values: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    for p in routine.arguments:
        if p.kind == "flag":
            values[p.name] = 1 if p.letters.isdigit() else p.letters[0]
        elif p.kind in ("int", "any"):
            values[p.name] = min(INTS.get(p.name, n), max(n, 0)) if n else INTS.get(p.name, 0) * (p.name == "ilo")
        elif p.kind == "increment":
            values[p.name] = 1
        elif p.kind == "scalar":
            values[p.name] = 0.5
        elif p.kind == "callback":
            values[p.name] = None  # flags are their first letters: nothing is selected
        elif p.kind == "leading":
            values[p.name] = 3 * N
        else:
            dtype = routine._dtypes[p.type]
            if p.type == "i":
                values[p.name] = np.arange(1, 12 * N + 1, dtype=np.int32) if p.is_pivots else np.zeros(12 * N, np.int32)
            elif p.type == "b":
                values[p.name] = np.full(4, b"N")
            else:
                made = rng.standard_normal((3 * N, 3 * N)) + 9 * np.eye(3 * N)
                made = made + made.T
                values[p.name] = np.asfortranarray(made.astype(dtype)).ravel("F")[: 9 * N * N]
                if fill:
                    values[p.name][...] = float(fill)
    if "jobz" in values and routine.row.name[1:] in ("gesdd",):
        values["jobz"] = "A"
    return values


def copies(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return all(np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind in "fc")
               for name in first if isinstance(first[name], np.ndarray))  # fmt: skip


def check(name: str) -> list[str]:
    """What is wrong with a routine's answers."""
    routine = native.routine(name)
    problems = []
    for label, n, fill in (("right", N, ""), ("zero", 0, ""), ("nan", N, "nan")):
        quick, general = right(routine, n, fill), right(routine, n, fill)
        results = routine.call(*quick.values()), routine.general(*general.values())
        if not same(quick, general) or not (results[0] == results[1] or results[0] != results[0]):
            problems.append(f"{label}: the compiled way and the general one differ: {results}")
        KINDS[label] += 1
    if routine.call != routine.general:
        KINDS["compiled"] += 1
    for p in routine.arguments:
        for label, change in wrong(routine, p):
            values = right(routine)
            change(values)
            before = copies(values)
            try:
                found = routine.call(*values.values())
            except UsageError as error:
                if p.name not in str(error).split(":", 1)[1]:
                    problems.append(f"{p.name} {label}: {error}")
            else:
                if not (routine.row.info and found == -p.position):
                    problems.append(f"{p.name} {label}: {found!r}, not -{p.position}")
            if not same(before, values):
                problems.append(f"{p.name} {label}: an array was written")
            KINDS["wrong"] += 1
    return problems


def wrong(routine: native.Routine, p: routines.Parameter) -> list[tuple[str, Any]]:
    """Kinds of wrong values of an argument, each a function that changes a call's values."""

    def put(value: Any) -> Any:
        return lambda values: values.__setitem__(p.name, value)

    def of(change: Any) -> Any:
        return lambda values: values.__setitem__(p.name, change(values[p.name]))

    def locked(array: Any) -> Any:
        array.flags.writeable = False
        return array

    def alias(values: dict[str, Any]) -> None:
        other = next(q.name for q in routine.arguments if q.written and q is not p and q.type == p.type and q.extents)
        values[p.name] = values[other][:]

    if p.kind == "flag":
        return [("is no such letter", put(7 if p.letters.isdigit() else "Q")), ("is none", put(None))]
    if p.kind in ("int", "any"):
        found = [("has 32 bits and more", put(2**31)), ("is a float", put(1.5))]
        return found + ([("is negative", put(-1))] if p.kind == "int" else [])
    if p.kind == "increment":
        return [("is 0", put(0)), ("has 32 bits and more", put(2**31))]
    if p.kind == "leading":
        return [("is 0", put(0)), ("is negative", put(-5)), ("has 32 bits and more", put(2**31))]
    if p.kind == "callback":
        return [("is a number", put(1))]
    if p.kind == "scalar":
        return [("is a letter", put("a")), ("is beyond all doubles", put(10**400))]
    found = [("is a list", put([1.0])), ("has another type", of(lambda a: np.zeros(a.shape, np.float16)))]
    needed = routine._extents(*(v for q, v in right(routine).items() if kind_of(routine, q) in ("flag", "int", "any")))
    extents = dict(zip((q.name for q in routine._arrays), needed, strict=True))[p.name]
    if all(extent > 0 for extent in extents):
        found += [("is empty", of(lambda a: a[:0])), ("has gaps", of(lambda a: a[::2]))]
        others = [q for q in routine.arguments if q.written and q is not p and q.type == p.type and q.extents]
        if others and all(all(e > 0 for e in dict(zip((r.name for r in routine._arrays), needed, strict=True))[q.name])
                          for q in others[:1]):  # fmt: skip
            found.append(("is another's memory", alias))
    if p.written:
        found.append(("is read-only", of(locked)))
    if p.is_pivots:
        found.append(("names a row that is not there", of(lambda a: a + 1000)))
    return found


def kind_of(routine: native.Routine, name: str) -> str:
    return next(p.kind for p in routine.arguments if p.name == name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("routine", nargs="*")
    count = 0
    names = parser.parse_args().routine or sorted(routines.rows())
    if unknown := [name for name in names if name not in routines.rows()]:
        parser.error(f"no routine is called {', '.join(unknown)}")
    for name in names:
        print(name, end="\r", file=sys.stderr, flush=True)
        for problem in check(name):
            print(f"{name}: {problem}", flush=True)
            count += 1
    print(f"{len(names)} routines, {', '.join(f'{kind} {n}' for kind, n in KINDS.items())}; {count} problems")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())

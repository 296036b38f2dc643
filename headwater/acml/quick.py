"""A routine's row passes in; the text of a Python function passes out that tests and makes its usual calls quickly.

The function takes calls whose flags are capital letters, whose sizes are Python's ints, and whose arrays are of the
right type and without gaps; it hands all others, wrong ones among them, to the general way (`Routine.general`), which
names what is wrong. It exists because a call's Python is to take microseconds.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from headwater.acml.routines import Parameter, Row

_HEAD = object.__basicsize__
"""Where a NumPy array holds the address of its data: behind the object's head (NumPy's ABI, numpy/ndarraytypes.h)."""
_PROBE = np.zeros(1)
_IS_THERE = (
    sys.implementation.name == "cpython"
    and ctypes.c_void_p.from_address(id(_PROBE) + _HEAD).value == _PROBE.ctypes.data
)
DATA = f"pointer(id({{0}}) + {_HEAD}).value" if _IS_THERE else "{0}.ctypes.data"
"""An expression for the address of an array; the second takes microseconds."""


def source(row: Row) -> str | None:
    """The function ``call(…)`` over the names `general`, `function`, `letters`, `Ints`, `Numbers`, `Reals`, `address`,
    `ndarray`, `dtypes`, `addressof`, `pointer` and the table's helpers. None for routines with
    workspaces, pivots or complex values."""
    parameters = row.parameters
    if any(p.hidden or p.is_pivots for p in parameters) or (row.value == "t" and row.prefix in "cz"):
        return None
    names = ", ".join(p.name for p in parameters)
    lines = [f"def call({names}):"]

    def test(condition: str) -> None:
        lines.append(f"    if {condition}: return general({names})")

    sizes = {"t": {"s": 4, "d": 8, "c": 8, "z": 16}[row.prefix], "r": 4 if row.prefix in "sc" else 8, "i": 4}
    ints = [p for p in parameters if p.kind in ("int", "any", "leading", "increment")]
    for p in parameters:
        if p.kind == "flag":
            lines.append(f"    flag_{p.name} = letters_{p.name}.get({p.name}) if {p.name}.__class__ is str else None")
            test(f"flag_{p.name} is None")
    for p in ints:
        least = {"int": 0, "leading": 1}.get(p.kind, -(2**31 - 1))
        test(f"{p.name}.__class__ is not int or not {least} <= {p.name} <= {2**31 - 1}")
    if steps := [p.name for p in ints if p.kind == "increment"]:
        test(" or ".join(f"not {name}" for name in steps))
    arrays = [p for p in parameters if p.extents]
    for p in arrays:
        lines.extend(_needed(p, parameters))
        follower = parameters[parameters.index(p) + 1] if p.kind == "matrix" else None
        if follower is not None:
            test(f"{follower.name} < rows")
    for p in arrays:
        test(f"{p.name}.__class__ is not ndarray or {p.name}.dtype is not dtype_{p.type}")
        test(f"{p.name}.size < need_{p.name}")
        lines.append(f"    flags = {p.name}.flags")
        test("not flags.f_contiguous or not flags.aligned" + (" or not flags.writeable" if p.written else ""))
        lines.append(f"    at_{p.name} = {DATA.format(p.name)}")
    for p in arrays:
        for other in arrays:
            if p.written and p is not other and (not other.written or arrays.index(p) < arrays.index(other)):
                test(
                    f"at_{p.name} < at_{other.name} + need_{other.name} * {sizes[other.type]} and "
                    f"at_{other.name} < at_{p.name} + need_{p.name} * {sizes[p.type]}"
                )
    numbers = [p for p in parameters if p.kind == "scalar"]
    parts = 2 if row.prefix in "cz" else 1
    texts = []
    for p in numbers:
        lines.append(f"    if {p.name}.__class__ not in numeric: return general({names})")
        texts += [p.name] if p.type == "r" or parts == 1 else [f"{p.name}.real", f"{p.name}.imag"]
    if any(p.type == "r" for p in numbers) and parts == 2:
        lines[-len(numbers) :] = [line.replace("numeric", "real_numeric") for line in lines[-len(numbers) :]]
    lines.append(f"    ints = Ints({', '.join([*(p.name for p in ints), *('0' if row.info else '')])})")
    lines.append("    base = addressof(ints)")
    if numbers:
        lines += [
            f"    try: numbers = Numbers({', '.join(texts)})",
            f"    except OverflowError: return general({names})",  # an int beyond all doubles
            "    first = addressof(numbers)",
        ]
    pointers, at = [], 0
    size = sizes["r"]
    for p in parameters:
        if p.kind == "flag":
            pointers.append(f"flag_{p.name}")
        elif p.kind == "scalar":
            pointers.append(f"first + {at * size}")
            at += 1 if p.type == "r" else parts
        elif p in ints:
            pointers.append(f"base + {4 * ints.index(p)}")
        else:
            pointers.append(f"at_{p.name}")
    if row.info:
        lines.append(f"    function({', '.join([*pointers, f'base + {4 * len(ints)}'])})")
        lines.append("    return ints[-1]")
    else:
        lines.append(f"    return function({', '.join(pointers)})")
    return "\n".join(lines) + "\n"


def counts(row: Row) -> tuple[int, int]:
    """How many ints (INFO is one) and real numbers the function of `source` keeps for the routine."""
    ints = sum(p.kind in ("int", "any", "leading", "increment") for p in row.parameters) + row.info
    parts = 2 if row.prefix in "cz" else 1
    return ints, sum((1 if p.type == "r" else parts) for p in row.parameters if p.kind == "scalar")


def _needed(p: Parameter, parameters: tuple[Parameter, ...]) -> list[str]:
    """Lines that set ``need_x``, the elements of an array from its first to its last one used."""
    if p.kind == "array":
        return [f"    need_{p.name} = max({p.extents[0]}, 0)"]
    follower = parameters[parameters.index(p) + 1].name
    if p.kind == "vector":
        return [
            f"    count = {p.extents[0]}",
            f"    need_{p.name} = (count - 1) * abs({follower}) + 1 if count > 0 else 0",
        ]
    rows, columns = p.extents
    lines = [f"    rows, columns = {rows}, {columns}"]
    if p.swapped:
        lines.append(f"    if {p.swapped} != 'N': rows, columns = columns, rows")
    return [*lines, f"    need_{p.name} = {follower} * (columns - 1) + rows if rows > 0 and columns > 0 else 0"]

"""Domain parameters. Input: a program that reads ``v0`` … ``v7``. Output: one that computes them from its position.

The hardware's interpolator hands a pixel program what lies between three corners of the domain. Here the program does
it, with a plane's equation for each parameter, ``at + across * x + down * y``, from a constant buffer of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from headwater.cal.structs import CALdomain, CALdomainparam
from headwater.il.model import Function, Index, Instruction, Operand, Program, Register

PLANES = 3
"""Elements that a parameter takes in the buffer: at, across, down."""
_DECLARED = "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__"


def interpolated(program: Program) -> tuple[Program, int, tuple[int, ...]]:
    """The program with its interpolated inputs computed, the number of the constant buffer that it reads planes from,
    and which parameters they are, in that buffer's order. The program itself, -1 and () if it reads none."""
    from headwater.il.parser import parse

    used = tuple(sorted({register.number or 0 for register in _registers(program) if register.kind == "v"}))
    if not used:
        return program, -1, ()
    buffers = {r.number or 0 for r in _registers(program) if r.kind == "cb"}
    temporaries = {r.number or 0 for r in _registers(program) if r.kind == "r"}
    buffer = next(n for n in range(15, -1, -1) if n not in buffers)
    first = max(temporaries, default=-1) + 1
    lines = ["il_ps_2_0", _DECLARED, f"dcl_cb cb{buffer}[{PLANES * len(used)}]"]
    for k in range(len(used)):
        at, across, down = (f"cb{buffer}[{PLANES * k + part}]" for part in range(PLANES))
        lines += [f"mad r{first + k}, {across}, vWinCoord0.xxxx, {at}"]
        lines += [f"mad r{first + k}, {down}, vWinCoord0.yyyy, r{first + k}"]
    head = parse("\n".join([*lines, "end", ""]))
    renamed = {number: first + k for k, number in enumerate(used)}
    known = [made for made in program.declarations if not _declares(made, "v")]
    positioned = any(_declares(made, "vWinCoord") for made in known)
    own = [made for made in head.declarations if not (positioned and _declares(made, "vWinCoord"))]
    body = tuple(_renamed(made, renamed) for made in program.body)
    functions = tuple(
        Function(f.number, tuple(_renamed(made, renamed) for made in f.body), f.line) for f in program.functions
    )
    start = tuple(made for made in head.body if made.mnemonic != "end")
    made = replace(program, declarations=(*known, *own), body=(*start, *body), functions=functions)
    return made, buffer, used


def planes(params: CALdomainparam, used: tuple[int, ...], domain: CALdomain) -> np.ndarray[Any, Any]:
    """What the constant buffer holds: (3 * parameters, 4) of float32."""
    rows = []
    for number in used:
        param = getattr(params, fields(params)[number].name)
        ul, ll, lr = (np.asarray(corner, np.float64) for corner in (param.ul, param.ll, param.lr))
        across, down = (lr - ll) / domain.width, (ll - ul) / domain.height
        rows += [ul - across * domain.x - down * domain.y, across, down]
    return np.array(rows, np.float32)


def _declares(made: Instruction, kind: str) -> bool:
    return made.mnemonic.startswith("dcl_input") and any(o.register.kind == kind for o in made.operands)


def _registers(program: Program) -> Iterator[Register]:
    for made in (*program.body, *(m for f in program.functions for m in f.body)):
        for operand in made.operands:
            register: Register | None = operand.register
            while register is not None:
                yield register
                register = register.index.register if register.index is not None else None
    for made in program.declarations:
        yield from (o.register for o in made.operands if o.register.kind == "cb")


def _renamed(made: Instruction, renamed: dict[int, int]) -> Instruction:
    return replace(made, operands=tuple(_operand(operand, renamed) for operand in made.operands))


def _operand(operand: Operand, renamed: dict[int, int]) -> Operand:
    return replace(operand, register=_register(operand.register, renamed))


def _register(register: Register, renamed: dict[int, int]) -> Register:
    if register.kind == "v":
        return Register("r", renamed[register.number or 0])
    index = register.index
    if index is None or index.register is None:
        return register
    return replace(register, index=Index(_register(index.register, renamed), index.lane, index.offset))

"""Input: an operation of IL on vectors, whose lanes need one another. Output: operations that compute it.

The meanings are those of ``headwater/il/operations.txt``; what gives one number for all lanes is in `arithmetic`.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.il.model import Instruction
from headwater.isa.vliw.compiler.arithmetic import plain, rsq, select, turns
from headwater.isa.vliw.compiler.build import ONE, ZERO, negated, real
from headwater.isa.vliw.compiler.ir import Ref, Use
from headwater.isa.vliw.compiler.operands import Lowering


def lower(lowering: Lowering, made: Instruction) -> bool:
    """Lower the instruction if it is one of these; whether it was."""
    function = _INSTRUCTIONS.get(made.mnemonic)
    if function is None:
        return False
    function(lowering, made)
    return True


def _transpose(lowering: Lowering, made: Instruction) -> None:
    assert lowering.environment is not None
    target, source = (o.register.number or 0 for o in made.operands)
    environment = lowering.environment
    rows = [[environment.get(("r", source + row, lane)) for lane in range(4)] for row in range(4)]
    for row in range(4):
        for lane in range(4):
            environment["r", target + row, lane] = rows[lane][row]


def _crs(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    a, c = ([lowering.read(o, "f", k) for k in range(3)] for o in made.operands[1:3])

    def lane(k: int) -> Ref:
        if k == 3:
            return ZERO
        i, j = (k + 1) % 3, (k + 2) % 3
        product = b.alu("MUL_IEEE", a[j], c[i])
        return lowering.finish(made, b.alu("MULADD_IEEE", a[i], c[j], negated(product)))

    lowering.assign(made, lane)


def _nrm(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    parts = [lowering.read(made.operands[1], "f", k) for k in range(4)]
    squares = parts if made.modifier("nrm4") is not None else [*parts[:3], Use(ZERO)]
    length2 = b.wide("DOT4_IEEE", [x for part in squares for x in (part, part)], 1)[0]
    root = rsq(b, made, Use(length2))
    lowering.assign(made, lambda k: lowering.finish(made, b.alu("MUL_IEEE", parts[k], root)))


def _dst(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    x, y = made.operands[1:3]

    def lane(k: int) -> Ref:
        if k == 0:
            return lowering.finish(made, ONE)
        if k == 1:
            return lowering.finish(made, b.alu("MUL_IEEE", lowering.read(x, "f", 1), lowering.read(y, "f", 1)))
        return lowering.finish(made, plain(b, lowering.read(x if k == 2 else y, "f", k)))

    lowering.assign(made, lane)


def _sincos(lowering: Lowering, made: Instruction) -> None:
    """Direct3D 9: the cosine in x, the sine in y."""
    b = lowering.builder
    angle = turns(b, lowering.read(made.operands[1], "F", 0))
    values = (b.alu("COS", angle), b.alu("SIN", angle), ZERO, ZERO)
    lowering.assign(made, lambda k: lowering.finish(made, values[k]))


def _lit(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    x, y, w = (lowering.read(made.operands[1], "f", k) for k in (0, 1, 3))
    exponent = b.alu("MIN_DX10", b.alu("MAX_DX10", w, real(-128.0)), real(128.0))
    power = b.alu("EXP_IEEE", b.alu("MUL_IEEE", exponent, b.alu("LOG_IEEE", y)))
    shines = b.alu("AND_INT", b.alu("SETGT_DX10", x, ZERO), b.alu("SETGT_DX10", y, ZERO))
    values = (ONE, b.alu("CNDGT", x, x, ZERO), select(b, shines, power, ZERO), ONE)
    lowering.assign(made, lambda k: lowering.finish(made, values[k]))


def _dot3(lowering: Lowering, made: Instruction, first: int, second: int) -> Ref:
    x, y = made.operands[first], made.operands[second]
    parts = [lowering.read(operand, "f", k) for k in range(3) for operand in (x, y)]
    return lowering.builder.wide("DOT4_IEEE", [*parts, ZERO, ZERO], 1)[0]


def _faceforward(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    facing = b.alu("SETGT_DX10", ZERO, _dot3(lowering, made, 2, 3))

    def lane(k: int) -> Ref:
        x = lowering.read(made.operands[1], "f", k)
        return lowering.finish(made, select(b, facing, plain(b, x), plain(b, negated(x))))

    lowering.assign(made, lane)


def _reflect(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    twice = b.alu("MUL_IEEE", _dot3(lowering, made, 1, 2), real(2.0))

    def lane(k: int) -> Ref:
        x, y = (lowering.read(o, "f", k) for o in made.operands[1:3])
        return lowering.finish(made, b.alu("ADD", x, negated(b.alu("MUL_IEEE", twice, y))))

    lowering.assign(made, lane)


def _fma(lowering: Lowering, made: Instruction) -> None:
    if not lowering.target.has_fma:
        raise lowering.error(
            f"fma: {lowering.target.chip.name} has no fused multiply-addition", "mad_ieee rounds the product, too"
        )
    b = lowering.builder
    operands = made.operands[1:]
    lowering.assign(
        made, lambda k: lowering.finish(made, b.alu("FMA", *(plain(b, lowering.read(o, "f", k)) for o in operands)))
    )


_INSTRUCTIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    "transpose": _transpose,
    "crs": _crs,
    "nrm": _nrm,
    "dst": _dst,
    "fma": _fma,
    "sincos": _sincos,
    "lit": _lit,
    "faceforward": _faceforward,
    "reflect": _reflect,
}

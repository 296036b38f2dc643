"""The effects and the primitive functions of the semantics language, with their rules for types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.isa.semantics.types import BITS, FLOATS, is_float, is_integer

EFFECTS: Mapping[str, tuple[int, int]] = {
    "nop": (0, 0),
    "store": (1, 2),
    "branch": (1, 1),
    "end": (0, 0),
    "barrier": (0, 0),
    "trap": (0, 1),
    "sendmsg": (0, 0),
    "unsupported": (0, 0),
    "setreg": (1, 1),
    "index_source": (0, 0),
    "index_dest": (0, 0),
    "gpr_index": (1, 1),
    "image": (0, 0),
    "format": (0, 0),
    "count": (1, 1),
    "mfma": (1, 1),
    "gws": (1, 2),
    "halves": (2, 2),
    "second": (0, 0),
}
"""Effects and how many values each takes (types and strings apart). ``store(T, value[, byte offset])``;
``branch(condition)`` to the instruction's target; ``setreg(value)`` the field that SIMM16 names;
``image("…")``, ``format("…")``: see `headwater.isa.gcn.images`; ``count("up" or "down", address)``: D is what memory
holds, to which the number of active lanes is added, or from which it is taken, once for all; ``index_source()``,
``index_dest()``: M0 is added to the register's number; ``gpr_index(n)``: VGPR indexing mode;
``mfma(rows)`` multiplies square blocks of so many rows, ``mfma("xf32", rows)`` factors rounded to that format;
``gws("barrier", resource, value)``: global wave synchronisation; ``halves(first, second)``: the halves of MEM lie so
many bytes from the address; ``second(T)``: MEM is a T, and so is OTHER, at a second place that the address leads to."""

Rule = Callable[[tuple[str, ...], str], tuple[tuple[str, ...], str]]


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _same(count: int, kinds: str, result: str = "") -> Rule:
    """``count`` operands of one type of ``kinds`` ("f" floats, "n" integers); the result is of it or ``result``."""

    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == count, f"takes {count} values")
        ok = ("f" in kinds and is_float(strong)) or (
            "n" in kinds and strong in BITS and is_integer(strong) and strong != "u1"
        )
        _need(ok, "is not for this type")
        return (strong,) * count, result or strong

    return rule


def _fixed(takes: tuple[str, ...], result: str) -> Rule:
    """Operands of given types."""

    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == len(takes), f"takes {len(takes)} values")
        return takes, result

    return rule


def _ldexp(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2 and is_float(types[0]), "takes a float and an i32")
    return (types[0], "i32"), types[0]


def _concat(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    total = sum(BITS[t] for t in types)
    _need(len(types) >= 2 and f"u{total}" in BITS, "joins values to 16, 32, 64, … bits")
    return types, f"u{total}"


def _lane(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2, "takes a value and a lane")
    return (types[0], "u32"), types[0]


def _wide_word(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 2 and BITS[types[0]] > 64, "takes a wide value and a number")
    return (types[0], "u32"), "u32"


def _same_bits(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 1, "takes one value")
    return types, types[0]


def _writelane(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
    _need(len(types) == 3, "takes the old value, a value and a lane")
    return (types[0], types[0], "u32"), types[0]


def _convert(result: str, kinds: tuple[str, ...]) -> Rule:
    def rule(types: tuple[str, ...], strong: str) -> tuple[tuple[str, ...], str]:
        _need(len(types) == 1 and types[0] in kinds, f"takes one of {', '.join(kinds)}")
        return types, result

    return rule


PRIMITIVES: Mapping[str, Rule] = {
    # floats, obeying MODE: inputs and results flushed where it says so
    "fma": _same(3, "f"),
    "sqrt": _same(1, "f"),
    "rint": _same(1, "f"),
    "floor": _same(1, "f"),
    "ceil": _same(1, "f"),
    "trunc": _same(1, "f"),
    "ldexp": _ldexp,
    # smaller, larger: for floats the hardware's v_min and v_max (a NaN loses against a number, -0 < +0; in IEEE mode a
    # signalling NaN wins, made quiet)
    "min": _same(2, "fn"),
    "max": _same(2, "fn"),
    # bits of floats; MODE does not matter
    "abs": _same(1, "fn"),
    "isnan": _same(1, "f", "u1"),
    "quiet": _same(1, "f"),
    "flush": _same(1, "f"),  # denormals become zeros of their sign, whatever MODE says
    # conversions of floats to integers: towards zero, saturating, 0 for NaN
    "sat_i16": _convert("i16", FLOATS),
    "sat_u16": _convert("u16", FLOATS),
    "sat_i32": _convert("i32", FLOATS),
    "sat_u32": _convert("u32", FLOATS),
    "f16_rtz": _convert("f16", ("f32",)),
    # integers
    "popcount": _same(1, "n"),
    "ctz": _same(1, "n"),  # the width for 0
    "clz": _same(1, "n"),
    "bitreverse": _same(1, "n"),
    "add_saturating": _same(2, "n"),
    "sub_saturating": _same(2, "n"),
    "inc_wrap": _same(2, "n"),  # 0 after the second operand, and after everything above it
    "dec_wrap": _same(2, "n"),  # the second operand after 0, and after everything above it
    "two_over_pi": _fixed(("u32",), "u64"),  # 53 bits of the 1201 of 2/π, after as many as the operand says
    "concat": _concat,  # the first argument is lowest
    "word": _wide_word,  # one dword of a value too wide to compute with
    # across lanes
    "lane": _lane,  # the value of one lane, the same for all
    "writelane": _writelane,
    "gather": _lane,  # each lane takes another's value; 0 from lanes that EXEC excludes
    "scatter": _lane,  # each lane gives its value to another; the highest lane wins, 0 where none gives
    "first_lane": _same_bits,  # of the first lane in EXEC, or of lane 0
    "swizzle": _lane,  # ds_swizzle's pattern is the second operand
    "getreg": _fixed((), "u32"),  # the field of a hardware register that SIMM16 names
    "memtime": _fixed((), "u64"),
    "realtime": _fixed((), "u64"),
}
"""The functions that both evaluators implement, with their type rules."""

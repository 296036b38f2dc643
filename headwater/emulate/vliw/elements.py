"""Input: addresses of one part's lanes. Output: the elements there, as the four lanes that registers take."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.emulate.vliw import formats, program
from headwater.emulate.vliw.bindings import Format
from headwater.emulate.vliw.clause import Clause
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART_LANES, Mask
from headwater.isa.vliw.model import Fetch

Lanes = list[Value]
"""Four components, u32 each."""


def four(c: Clause, lanes: Sequence[Value]) -> Lanes:
    """Lanes that an element lacks are 0, 0, 0, 1."""
    b = c.b
    return [*lanes, *(b.constant("u32", formats.ONE if n == 3 else 0) for n in range(len(lanes), 4))]


def accessing(c: Clause, part: int, inside: Value | None) -> Mask:
    """The part's lanes that access memory: those that are active, of elements that are ``inside`` of the resource."""
    if inside is None:
        return c.exec
    lanes = Mask()
    lanes.parts[part] = c.b.binary("and", c.part_mask(c.exec, part), c.b.splat(inside, PART_LANES)).text
    return lanes


def index_limit(c: Clause, name: tuple[str, int], nbytes: int, stride: int) -> Value:
    """The number of indices from which ``nbytes`` bytes lie in the resource."""
    b = c.b
    size = Value(c.descriptor(name, "size"), "u64")
    last = b.intrinsic("usub.sat", "u64", size, b.constant("u64", nbytes - 1))
    count = b.binary("udiv", b.binary("add", last, b.constant("u64", stride - 1)), b.constant("u64", stride))
    count = b.intrinsic("umin", "u64", count, b.constant("u64", (1 << 32) - 1))
    return b.resize(count, "u32")


def load(c: Clause, at: Address, format_: Format, part: int, inside: Value | None, pc: int) -> list[Value]:
    """An element's four lanes, those that it lacks 0, 0, 0, 1; all 0 where it is not ``inside``."""
    b = c.b
    access = PartAccess(c, part, accessing(c, part, inside), pc)
    dwords = [
        Value(text, "u32", PART_LANES) for piece in access.load(at, formats.pieces(format_.nbytes)) for text in piece
    ]
    values = four(c, formats.unpacked(b, format_, dwords))
    if inside is not None:
        values = [b.select(inside, value, b.constant("u32", 0)) for value in values]
    return values


def source(c: Clause, gpr: int, sel: int, part: int) -> Value:
    """A fetch's source: a component, 0 or 1.0."""
    channel = program.selected(sel)
    if channel is None:
        return c.b.constant("u32", formats.ONE if sel == 5 else 0)
    return c.regs.read(4 * gpr + channel, part)


def write(c: Clause, fetch: Fetch, part: int, lanes: Sequence[Value]) -> None:
    """The destination's components, as DST_SEL_X … choose them: 0 to 3 lanes, 4 zero, 5 one, 7 none."""
    f = fetch.fields
    for channel, name in enumerate("xyzw"):
        sel = f[f"dst_sel_{name}"]
        if sel == 7:
            continue
        value = lanes[sel] if sel < 4 else c.b.constant("u32", formats.ONE if sel == 5 else 0)
        c.regs.write(4 * f["dst_gpr"] + channel, part, value)

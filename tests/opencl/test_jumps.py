"""Programs of `goto`, whose loops are entered and left anywhere, beside a walk through their blocks."""

import random

import numpy as np
import pytest

import headwater as hw
from headwater.isa.vliw.compiler import verify
from headwater.isa.vliw.compiler.build import ONE
from headwater.isa.vliw.compiler.ir import Exit, If, Loop, Op, Use, Value

DEVICES = ("cpu", "vega64", "hd7970", "hd4870", "hd5870", "hd6970")
STEPS = 60
ALL = 0xFFFFFFFF
NUMBERS = (np.arange(100, dtype=np.uint64) * 2654435761 % (ALL + 1)).astype(np.uint32)


def random_blocks(seed):
    """Blocks of assignments (operator, constant, what is written, what is read), each with a branch on a variable's
    bits to two of the blocks, or behind the last."""
    rng = random.Random(seed)
    size = rng.randint(3, 8)
    blocks = []
    for _ in range(size):
        count = rng.randint(1, 3)
        assignments = [
            (rng.choice("+-*^"), rng.randint(1, 9), rng.choice("stu"), rng.choice("stu")) for _ in range(count)
        ]
        blocks.append(
            (assignments, (rng.choice("stu"), rng.randint(1, 7), rng.randrange(size + 1), rng.randrange(size + 1)))
        )
    return blocks


def text_of(blocks):
    lines = [
        "kernel void k(global const uint *a, global uint *o) {",
        f"  uint i = get_global_id(0), s = a[i], t = s * 7u, u = s >> 3, left = {STEPS};",
    ]
    for number, (assignments, (asked, bits, then, otherwise)) in enumerate(blocks):
        lines.append(f"L{number}: if (left-- == 0) goto L{len(blocks)};")
        lines += [f"  {to} = ({of} {op} {constant}u) + (s & 3u);" for op, constant, to, of in assignments]
        lines.append(f"  if ({asked} & {bits}u) goto L{then}; else goto L{otherwise};")
    lines.append(f"L{len(blocks)}: o[i] = s ^ (t << 8) ^ (u << 16);\n}}")
    return "\n".join(lines)


def walked(blocks):
    """What the program leaves, by walking through its blocks."""
    operations = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "^": lambda x, y: x ^ y,
    }  # fmt: skip
    found = []
    for number in NUMBERS.tolist():
        values, at, left = {"s": number, "t": number * 7 & ALL, "u": number >> 3}, 0, STEPS
        while at < len(blocks) and left > 0:
            left -= 1
            assignments, (asked, bits, then, otherwise) = blocks[at]
            for op, constant, to, of in assignments:
                values[to] = (operations[op](values[of], constant) + (values["s"] & 3)) & ALL
            at = then if values[asked] & bits else otherwise
        found.append((values["s"] ^ values["t"] << 8 ^ values["u"] << 16) & ALL)
    return np.array(found, np.uint32)


def check(seed, device):
    blocks = random_blocks(seed)
    out = np.zeros_like(NUMBERS)
    hw.compile(text_of(blocks), device=device).k[NUMBERS.size, None](NUMBERS, out)
    np.testing.assert_array_equal(out, walked(blocks))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", [3, 220])
def test_on_every_kind_of_device(seed, device):
    check(seed, device)


@pytest.mark.parametrize("seed", range(12))
def test_on_a_chip_without_jumps(seed):
    check(seed, "hd5870")


ENTERED_BETWEEN_BARRIERS = """kernel void k(global const int *a, global int *o, int inside) {
  local int box[64];
  int i = get_global_id(0), l = get_local_id(0), n = 5, s = a[i];
  box[l] = i;
  if (inside) goto middle;
  do {
    s += n;
    box[l] = s;
middle:
    barrier(CLK_LOCAL_MEM_FENCE);
    s = s * 3 + 1 + (box[63 - l] & n);
    barrier(CLK_LOCAL_MEM_FENCE);
    n--;
  } while (n > 0);
  o[i] = s;
}"""


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
@pytest.mark.parametrize("inside", [0, 1])
def test_a_loop_with_barriers_is_entered_in_its_middle(inside, device):
    a = np.arange(128, dtype=np.int32)
    s, box = a.reshape(2, 64).copy(), a.reshape(2, 64)
    for n in range(5, 0, -1):
        if n < 5 or not inside:
            s = s + n
            box = s
        s = s * 3 + 1 + (box[:, ::-1] & n)
    out = np.zeros_like(a)
    hw.compile(ENTERED_BETWEEN_BARRIERS, device=device).k[(128,), (64,)](a, out, inside)
    np.testing.assert_array_equal(out, s.ravel())


# -- the compiler's own check ------------------------------------------------------------------------------------------


def move(result, operand):
    return Op("MOV", [Use(operand)], [result])


def a_loop(early, late):
    """A loop that is left early or late, both within an if."""
    loop = Loop()
    loop.breaks = [Exit(loop, True), Exit(loop, True)]
    loop.body = [If(Use(ONE), [*early, loop.breaks[0]], []), If(Use(ONE), [*late, loop.breaks[1]], [])]
    return loop


def test_what_is_written_before_every_break_is_known_behind_the_loop():
    value, after = Value(), Value()
    loop = a_loop([], [])
    loop.body.insert(0, move(value, ONE))
    verify.ssa([loop, move(after, value)])
    value, after, only = Value(), Value(), Loop()
    only.breaks = [Exit(only, True)]
    only.body = [If(Use(ONE), [move(value, ONE), only.breaks[0]], [])]
    verify.ssa([only, move(after, value)])


@pytest.mark.parametrize("early", [True, False])
def test_what_one_break_passes_by_is_unknown_behind_the_loop(early):
    value, other, after = Value(), Value(), Value()
    sides = [move(value, ONE)], [move(other, ONE)]
    loop = a_loop(*(sides if early else sides[::-1]))
    with pytest.raises(AssertionError, match="read before it is written"):
        verify.ssa([loop, move(after, value)])

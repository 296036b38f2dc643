"""Input: random HIP kernels. Output: those whose wavefronts do not give what exact arithmetic in step gives.

Run as ``python -m verification.fuzz_hip --count 100 --device vega64``. Kernels vote and shuffle in branches and loops
that only some lanes take; conditions come again, and follow from earlier ones, so that compilers can part lanes for
longer than the text does. What a kernel should leave is computed here, a wavefront at a time, with a mask of active
lanes. A kernel that leaves anything else is named by its seed, and printed with ``--show``. Exit status 1 if any does.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field

import numpy as np

import headwater as hw

LANES = 64
THREADS = 128
"""Two wavefronts, of one block or of two."""
_NUMBERS = 5
"""Variables of a thread: the first two are given, and never change."""
_WORD = 0xFFFFFFFF
_COMPARED = {"<": np.less, ">=": np.greater_equal, "==": np.equal, "&": np.bitwise_and}
_COMPUTED = {"+": np.add, "^": np.bitwise_xor, "*": np.multiply}

Statement = tuple  # its kind, and what `_text` and `_run` take it apart into
Lanes = np.ndarray


@dataclass
class _Writer:
    """Makes statements, and remembers conditions."""

    rng: random.Random
    conditions: list[tuple[str, int, int]] = field(default_factory=list)

    def condition(self) -> tuple[str, int, int]:
        rng = self.rng
        if self.conditions and rng.random() < 0.6:
            how, variable, bound = rng.choice(self.conditions)
            return how, variable, (bound + rng.choice((0, 0, 0, -1, 1))) % LANES
        made = rng.choice(tuple(_COMPARED)), rng.choice((0, 0, 1)), rng.randrange(LANES)
        self.conditions.append(made)
        return made

    def block(self, depth: int, in_loop: bool) -> list[Statement]:
        return [made for _ in range(self.rng.randint(1, 4)) for made in self.statement(depth, in_loop)]

    def statement(self, depth: int, in_loop: bool) -> list[Statement]:
        rng = self.rng
        to, one, other = (rng.randrange(2, _NUMBERS) for _ in range(3))
        kind = rng.choices(
            ("compute", "vote", "first", "rank", "exchange", "leave", "if", "loop"), (25, 15, 10, 7, 6, 4, 24, 9)
        )[0]
        if kind == "compute":
            return [(kind, rng.choice(tuple(_COMPUTED)), to, one, other)]
        if kind == "vote":
            return [(kind, rng.choice(("ballot", "any", "all")), to, self.condition())]
        if kind == "exchange":
            return [(kind, to, one, rng.randrange(1, LANES))]
        if kind in ("first", "rank"):
            return [(kind, to, one)]
        if kind == "leave":
            return [(kind, rng.choice(("break", "continue")), self.condition())] if in_loop else []
        if kind == "if" and depth < 3:
            condition, taken = self.condition(), self.block(depth + 1, in_loop)
            return [(kind, condition, taken, self.block(depth + 1, in_loop) if rng.random() < 0.5 else [])]
        if kind == "loop" and depth < 2:
            return [(kind, rng.choice((0, 0, 2, 3, 4)), self.block(depth + 1, in_loop=True))]
        return []


def made(seed: int) -> list[Statement]:
    """The statements of a kernel."""
    writer = _Writer(random.Random(seed))
    return [statement for _ in range(3) for statement in writer.block(0, in_loop=False)]


def source(block: list[Statement]) -> str:
    """The kernel as HIP has it."""
    names = [f"r{n}" for n in range(_NUMBERS)]
    return f"""#include <hip/hip_runtime.h>
extern "C" __global__ void k(unsigned *data) {{
  unsigned *own = data + {_NUMBERS} * (blockIdx.x * blockDim.x + threadIdx.x);
  unsigned {", ".join(f"{name} = own[{n}]" for n, name in enumerate(names))};
{_text(block, 1)}  {" ".join(f"own[{n}] = {name};" for n, name in enumerate(names))}
}}
"""


def _condition(condition: tuple[str, int, int]) -> str:
    how, variable, bound = condition
    return f"((r{variable} {how} {bound}u) != 0)"


def _text(block: list[Statement], depth: int) -> str:
    return "".join("  " * depth + line + "\n" for statement in block for line in _lines(statement, depth))


def _lines(statement: Statement, depth: int) -> list[str]:
    kind, *parts = statement
    if kind == "compute":
        how, to, one, other = parts
        return [f"r{to} = r{one} {how} r{other};"]
    if kind == "vote":
        how, to, condition = parts
        vote = f"__{how}({_condition(condition)})"
        return [f"{{ unsigned long long all = {vote}; r{to} += (unsigned)all ^ (unsigned)(all >> 32); }}"]
    if kind == "first":
        return [f"r{parts[0]} = __shfl(r{parts[1]}, __ffsll(__activemask()) - 1);"]
    if kind == "rank":
        return [f"r{parts[0]} ^= __popcll(__activemask() & ((1ull << __lane_id()) - 1));"]
    if kind == "exchange":
        return [f"if (__activemask() == ~0ull) r{parts[0]} = __shfl_xor(r{parts[1]}, {parts[2]});"]
    if kind == "leave":
        return [f"if ({_condition(parts[1])}) {parts[0]};"]
    if kind == "if":
        condition, taken, other = parts
        text = f"if ({_condition(condition)}) {{\n{_text(taken, depth + 1)}{'  ' * depth}}}"
        return [text + (f" else {{\n{_text(other, depth + 1)}{'  ' * depth}}}" if other else "")]
    times, body = parts
    head = f"for (unsigned k{depth} = 0; k{depth} < {times or '(r0 & 3)'}; k{depth}++)"
    return [f"{head} {{\n{_text(body, depth + 1)}{'  ' * depth}}}"]


def _run(block: list[Statement], r: Lanes, active: Lanes) -> tuple[Lanes, Lanes]:
    """Run a block on a wavefront's variables ``r``, `_NUMBERS` rows of lanes. Returns the lanes that come to its end,
    and those that go on with the next round of the loop around it; the others have left the loop."""
    next_round = np.zeros(LANES, np.bool_)
    for kind, *parts in block:
        if not active.any():
            break
        if kind == "compute":
            how, to, one, other = parts
            r[to] = np.where(active, _COMPUTED[how](r[one], r[other]) & _WORD, r[to])
        elif kind == "vote":
            how, to, condition = parts
            r[to] = np.where(active, (r[to] + _vote(how, _holds(r, condition), active)) & _WORD, r[to])
        elif kind == "first":
            r[parts[0]] = np.where(active, r[parts[1]][active.argmax()], r[parts[0]])
        elif kind == "rank":
            r[parts[0]] = np.where(active, r[parts[0]] ^ (active.cumsum() - active), r[parts[0]])
        elif kind == "exchange" and active.all():
            r[parts[0]] = r[parts[1]][np.arange(LANES) ^ parts[2]]
        elif kind == "leave":
            leaving = active & _holds(r, parts[1])
            active = active & ~leaving
            next_round |= leaving & (parts[0] == "continue")
        elif kind == "if":
            holds = _holds(r, parts[0])
            ends = [_run(part, r, active & lanes) for part, lanes in ((parts[1], holds), (parts[2], ~holds))]
            active = ends[0][0] | ends[1][0]
            next_round |= ends[0][1] | ends[1][1]
        elif kind == "loop":
            times, body = parts
            most = np.full(LANES, times) if times else r[0] & 3
            going = active
            for round_number in range(most.max()):
                ended, again = _run(body, r, going & (round_number < most))
                going = ended | again
    return active, next_round


def _holds(r: Lanes, condition: tuple[str, int, int]) -> Lanes:
    how, variable, bound = condition
    return _COMPARED[how](r[variable], bound) != 0


def _vote(how: str, holds: Lanes, active: Lanes) -> int:
    if how == "any":
        return int((holds & active).any())
    if how == "all":
        return int((holds | ~active).all())
    words = np.packbits(holds & active, bitorder="little").view(np.uint32)
    return int(words[0] ^ words[1])


def wrong(seed: int, devices: tuple[str, ...]) -> str:
    """The devices on which the kernel of this seed leaves anything else than it should, and how many lanes differ."""
    block = made(seed)
    data = np.random.default_rng(seed).integers(0, LANES, (THREADS, _NUMBERS), np.uint32)
    wanted = data.astype(np.int64)
    for start in range(0, THREADS, LANES):
        r = wanted[start : start + LANES].T.copy()
        _run(block, r, np.ones(LANES, np.bool_))
        wanted[start : start + LANES] = r.T
    program = hw.compile(source(block), language="hip")
    found = []
    for device in devices:
        left = data.copy()
        program["k"][(THREADS,), (LANES << seed % 2,)](left, device=device)
        if differing := int((left != wanted).any(axis=1).sum()):
            found.append(f"{device}: {differing} of {THREADS} lanes")
    return ", ".join(found)


def main() -> int:
    """Print a line for each wrong kernel and a sum; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz_hip", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="kernels (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (default: 1)")
    parser.add_argument("--device", action="append", help="devices beside the cpu")
    parser.add_argument("--show", action="store_true", help="print the first kernel instead")
    chosen = parser.parse_args()
    if chosen.show:
        print(source(made(chosen.seed)))
        return 0
    devices = ("cpu", *(chosen.device or ()))
    count = 0
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        if note := wrong(seed, devices):
            count += 1
            print(f"seed {seed}: {note}", flush=True)
    print(f"{chosen.count} kernels on {', '.join(devices)}: {count} wrong")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

"""Input: random kernels that may access memory outside of arrays. Output: launches that are refused wrongly.

Run as ``python -m verification.fuzz_bounds --count 500``. A launch on the cpu device is refused if some work-item
provably leaves an array. The checker, which tests each access where it is made, must then stop it; how many of those
that it stops are refused is printed, too. Nothing is run unchecked.
"""

from __future__ import annotations

import argparse
import functools
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import headwater as hw
from headwater.errors import KernelFault, LaunchError

LAUNCHES = 5
"""Sizes and arguments for each kernel."""
TIME_LIMIT = 20.0
MARGIN_BYTES = 1 << 20
TYPES = ("int", "uint", "long", "ulong", "short")
ACCESSES = (
    "out[{0}] = 1;",
    "out[{0}] += s;",
    "s += in[{0}];",
    "s += ((global const char *)in)[{0}];",
    "vstore4((float4)(1), {0}, out);",
    "s += vload3({0}, in).x;",
    "atomic_add((volatile global int *)&out[{0}], 1);",
    "items[{0}].b = 3;",
    "items[{0}] = items[0];",
    "wide[{0}] = (float4)(2);",
    "s += table[{0}];",
    "shared[{0}] = s;",
)
USE = "if (s == 123) out[0] = data[0];"
"""What stands wherever a work-item ends: the checker runs optimised code, which lacks loads whose value nobody uses."""
HEAD = """typedef struct { char a; int b; short c; } item;
constant float table[20] = { 1, 2, 3 };
kernel void k(global float *out, global const float *in, global const int *data, int n, int m, int2 w, ulong u,
              global item *items, global float4 *wide, local float *shared) {
  float s = 0;
"""
ITEM = np.dtype([("a", "i1"), ("b", "i4"), ("c", "i2")], align=True)


class Writer:
    """Writes one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dimensions = rng.choice((1, 1, 1, 2, 2, 3))
        self.names = 0

    def source(self) -> str:
        """A kernel whose indices and conditions are mostly known before the launch."""
        known = ["n", "m", "w.x", "w.y", "u", "get_local_size(0)", "get_num_groups(0)", "get_global_size(0)"]
        for axis in range(self.dimensions):
            known += [f"get_{kind}_id({axis})" for kind in ("global", "local", "group")]
            known.append(f"(int)get_global_id({axis})")
        body = "\n".join("  " + self.statement(known, 0) for _ in range(self.rng.randint(1, 3)))
        return f"{HEAD}{body}\n  {USE}\n}}\n"

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def expression(self, depth: int, known: list[str]) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(known) if rng.random() < 0.8 else str(rng.choice((0, 1, 2, 3, 4, 5, 7, -1)))
        a, b = self.expression(depth - 1, known), self.expression(depth - 1, known)
        how = rng.choice(("+", "+", "-", "*", "%", "/", "&", "min", "max", "?", "cast", "cast", "<<", ">>", "clamp"))
        if how in ("min", "max"):
            return f"{how}((int)({a}), (int)({b}))"
        if how == "clamp":
            return f"clamp((int)({a}), 0, {rng.choice((3, 15, 63))})"
        if how == "?":
            return f"((int)({a}) < (int)({b}) ? (int)({self.expression(depth - 1, known)}) : (int)({a}))"
        if how == "cast":
            return f"({rng.choice(TYPES)})({a})"
        if how in ("%", "/"):
            by = rng.choice(("2", "3", "4", "7", "16", f"max((int)({b}), 1)"))
            return f"((int)({a}) {how} {by})" if by.startswith("max") else f"(({a}) {how} {by})"
        if how in ("<<", ">>"):
            return f"(({a}) {how} {rng.randint(0, 3)})"
        return f"(({a}) {how} ({b}))"

    def condition(self, depth: int, known: list[str]) -> str:
        rng = self.rng
        if depth and rng.random() < 0.4:
            return f"({self.condition(depth - 1, known)} {rng.choice(('&&', '||'))} {self.condition(depth - 1, known)})"
        if rng.random() < 0.1:
            return "data[get_global_id(0)] > 0"
        ty = rng.choice(TYPES[:4])
        a, b = self.expression(1, known), self.expression(1, known)
        return f"({ty})({a}) {rng.choice(('<', '<', '<=', '>', '>=', '==', '!='))} ({ty})({b})"

    def block(self, known: list[str], depth: int) -> str:
        return " ".join(self.statement(known, depth) for _ in range(self.rng.randint(1, 2)))

    def statement(self, known: list[str], depth: int) -> str:
        rng, how = self.rng, self.rng.random()
        if depth < 3 and how < 0.2:
            other = f" else {{ {self.block(known, depth + 1)} }}" if rng.random() < 0.35 else ""
            return f"if ({self.condition(1, known)}) {{ {self.block(known, depth + 1)} }}{other}"
        if depth < 3 and how < 0.42:
            return self.loop(known, depth)
        if depth < 2 and how < 0.47:
            return f"if ({self.condition(1, known)}) {{ {USE} return; }}"
        index = self.expression(2, known)
        if how < 0.55:
            name = self.name()
            return f"{rng.choice(TYPES)} {name} = {index}; {self.access([*known, name])}"
        return self.access(known)

    def access(self, known: list[str]) -> str:
        index = self.expression(2, known)
        return self.rng.choice(ACCESSES).format(f"(int)({index})" if self.rng.random() < 0.6 else index)

    def loop(self, known: list[str], depth: int) -> str:
        rng, name = self.rng, self.name()
        first, last = (f"clamp((int)({self.expression(1, known)}), 0, {most})" for most in (40, 60))
        step = rng.choice(("1", "2", "3", "get_global_size(0)", "max(n, 1)", "get_local_size(0)"))
        leaves = f"if ({self.condition(0, known)}) break; " if rng.random() < 0.12 else ""
        goes_on = f"if ({self.condition(0, known)}) continue; " if rng.random() < 0.12 else ""
        inner = leaves + self.block([*known, name], depth + 1)
        ty = rng.choice(TYPES)
        head = rng.choice(
            (
                f"for ({ty} {name} = {first}; {name} < {last}; {name} += {step})",
                f"for ({ty} {name} = {first}; {name} <= ({ty}){last}; {name} += {step})",
                f"for (int {name} = {last}; {name} >= {first} - 1; {name} -= {rng.choice((1, 2))})",
                f"for ({ty} {name} = {first}; {name} != ({ty})({first} + {last}); {name}++)",
                f"for (int {name} = {last}; {name} > 0; {name} >>= 1)",
                f"{{ int {name} = {last}; while ({name}-- > 0)",
                f"{{ int {name} = {first}; do",
                "walk",
            )
        )
        if head == "walk":
            pointer, way = self.name(), rng.choice((1, 2, 4))
            return (
                f"{{ global float *{pointer} = out + {first}; "
                f"for (int {name} = 0; {name} < {last}; {name}++) {{ *{pointer} = 1; {pointer} += {way}; }} }}"
            )
        if head.startswith("{"):
            end = f"while (++{name} < {last}); }}" if head.endswith("do") else "}"
            return f"{head} {{ {inner} }} {end}"
        return f"{head} {{ {goes_on}{inner} }}"

    def launch(self) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...], tuple[Any, ...]]:
        """Global size, group size, offset and arguments, some of them too small for some launches."""
        rng = self.rng
        most = 4 if self.dimensions == 3 else 16
        whole = tuple(min(rng.choice((1, 2, 3, 4, 7, 8, 16)), most) for _ in range(self.dimensions))
        group = rng.choice((None, 1, 2, 3, 4, 8))
        groups = None if group is None else (group, *[1] * (self.dimensions - 1))
        start: tuple[int, ...] = rng.choice(((), (), (3,) * self.dimensions))
        size = rng.choice((4, 16, 64, 256, 1024))
        arguments = (
            isolated(size, np.float32),
            isolated(rng.choice((4, 64, 1024, size)), np.float32),
            isolated(4096, np.int32),
            rng.choice((0, 1, 3, 8, 16, -2)),
            rng.choice((0, 1, 4, 9, 64)),
            (rng.choice((1, 4, 16)), rng.choice((0, 2, 8))),
            rng.choice((0, 1, 5, 30)),
            isolated(rng.choice((1, 4, 16, 100)), ITEM),
            isolated((rng.choice((1, 4, 16, 100)), 4), np.float32),
            hw.Local(rng.choice((4, 16, 64, 400))),
        )
        return whole, groups, start, arguments


def isolated(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Zeros far from other arrays: the checker takes what lies in another argument's memory for no fault."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 2 * MARGIN_BYTES, np.uint8)
    return memory[MARGIN_BYTES : MARGIN_BYTES + size].view(dtype).reshape(shape)


@dataclass
class Tally:
    """How many launches the checker stopped, and how many of these were refused; what was refused wrongly, by seed."""

    launches: int = 0
    stopped: int = 0
    refused: int = 0
    wrong: dict[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.launches} launches, {self.stopped} leave an array, {self.refused} of them are refused"


def check(seed: int, tally: Tally) -> None:
    """Make a seed's kernel, and ask for some launches of it."""
    writer = Writer(random.Random(seed))
    source = writer.source()
    kernel = hw.compile(source, language="opencl", device="cpu", options="-cl-std=CL2.0").k
    for _ in range(LAUNCHES):
        whole, group, start, arguments = writer.launch()
        launch: Any = kernel.on(hw.device("cpu")).prepare(whole, group, start)
        refusal = _raised(LaunchError, launch.host.pack, arguments)
        checked = functools.partial(kernel[whole, group], offset=start, check=True, time_limit=TIME_LIMIT)
        stopped = _raised(KernelFault, checked, *arguments)
        tally.launches += 1
        tally.stopped += bool(stopped)
        tally.refused += bool(refusal and stopped)
        if refusal and not stopped:
            tally.wrong[seed] = f"{source}\n{whole}, {group}, offset {start}: {refusal}"


def _raised(kind: type[Exception], call: Callable[..., object], *arguments: Any) -> str:
    try:
        call(*arguments)
    except kind as error:
        return str(error)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz_bounds", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="how many kernels (default 500)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed (default 0)")
    options = parser.parse_args()
    tally = Tally()
    for number, seed in enumerate(range(options.seed, options.seed + options.count), 1):
        before = set(tally.wrong)
        check(seed, tally)
        for wrong in tally.wrong.keys() - before:
            print(f"seed {wrong}: refused, and inside of all arrays\n{tally.wrong[wrong]}", flush=True)
        if number % 20 == 0:
            print(f"{number} kernels: {tally}", file=sys.stderr, flush=True)
    print(f"{options.count} kernels: {tally}; {len(tally.wrong)} refused wrongly")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Random expressions of OpenCL C: the kernel that computes them, and the command that compares what devices make of
them, which `verification.fuzz_floats` and `verification.fuzz_integers` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

EXPRESSIONS = 24
"""Of a program."""
VARIABLES = "abc"


def source(texts: Iterable[str], kind: str, pragmas: str = "") -> str:
    """A kernel that computes expressions of a type for a triple of numbers a work-item."""
    texts = [*texts]
    stores = "".join(f"  o[i * {len(texts)} + {n}] = {text};\n" for n, text in enumerate(texts))
    arguments = ", ".join(f"global const {kind} *p{name}" for name in VARIABLES)
    variables = ", ".join(f"{name} = p{name}[i]" for name in VARIABLES)
    return (
        f"{pragmas}kernel void k(global {kind} *o, {arguments}) {{\n  size_t i = get_global_id(0);\n"
        f"  {kind} {variables};\n{stores}}}\n"
    )


def parser(module: str, summary: str) -> argparse.ArgumentParser:
    """The command's, with what all have."""
    made = argparse.ArgumentParser(prog=f"python -m verification.{module}", description=summary)
    add = made.add_argument
    add("--count", type=int, default=100, help=f"how many programs of {EXPRESSIONS} expressions (default 100)")
    add("--seed", type=int, default=0, help="the first program's seed; the next ones count on (default 0)")
    add("--device", action="append", default=[], help="a device; several times (default cpu)")
    return made


def report(options: argparse.Namespace, wrong: Callable[[int, tuple[str, ...]], list[str]]) -> int:
    """Print what devices compute otherwise of each program: ``wrong`` of its seed and the devices. The exit status."""
    differing = 0
    for seed in range(options.seed, options.seed + options.count):
        for line in (found := wrong(seed, tuple(options.device) or ("cpu",))):
            print(f"seed {seed}, {line}", flush=True)
        differing += bool(found)
    print(f"{options.count} programs of {EXPRESSIONS} expressions, {differing} computed otherwise by some device")
    return 1 if differing else 0

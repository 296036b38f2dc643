"""Random programs in the language of kernels in Python: the cpu device (or a chip) against Python itself.

    python -m verification.fuzz_python --count 5000 [--seed N] [--device c] [--keep FOLDER]

A program is a function of whole and floating-point numbers: assignments, tuples, branches, loops with break and
continue, calls, private arrays, conversions, and Python's //, % and ** on operands of either sign. Whole numbers stay
within 32 bits, and floating-point ones are multiples of 1/8 that float32 holds, so that results are equal, bit for bit.
Many functions make one kernel. On the device ``c`` clang compiles the OpenCL C text as C, a work-item after the other:
what is compared is the translation, and takes a hundredth of the time that vectorised code takes to be compiled. Other
devices are Headwater's. Whatever is not a result (an error of ours, a traceback) counts as a difference.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

INTS = ("p", "q", "r", "s")
FLOATS = ("x", "y")
LIMIT = 1000
"""Variables are from -LIMIT to LIMIT; expressions within 2**31."""
ITEMS = 24


class Writer:
    """One random function."""

    def __init__(self, rng: random.Random, helpers: list[str]) -> None:
        self.rng, self.helpers = rng, helpers
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        self.counters: list[str] = []

    def emit(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def whole(self, depth: int) -> tuple[str, int]:
        """An expression of whole numbers, and the most that its absolute value is."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.15:
            choice = rng.randrange(4)
            if choice == 0:
                number = rng.choice([0, 1, 2, 3, 5, 7, 8, 16, 100, -1, -2, -3, -8])
                return (str(number) if number >= 0 else f"({number})"), abs(number)
            if choice == 1 and self.counters:
                return rng.choice(self.counters), 64
            return rng.choice(INTS), LIMIT
        a, most = self.whole(depth - 1)
        b, other = self.whole(depth - 1)
        kind = rng.randrange(17)
        divisor = rng.choice(
            ["3", "(-3)", "4", "(-4)", "7", "16", "(-1)", "10", f"({b} % 9 + 1)", f"(-1 - abs({b}) % 5)"]
        )
        forms = {
            0: (f"({a} + {b})", most + other),
            1: (f"({a} - {b})", most + other),
            2: (f"({a} * {b})", most * other),
            3: (f"({a} // {divisor})", most + 1),
            4: (f"({a} % {divisor})", 16),
            5: (f"({a} & {b})", 2 * max(most, other) + 1),
            6: (f"({a} | {b})", 2 * max(most, other) + 1),
            7: (f"({a} ^ {b})", 2 * max(most, other) + 1),
            8: (f"({a} >> {rng.randrange(0, 12)})", most + 1),
            9: (f"({a} << {(shift := rng.randrange(0, 6))})", most << shift),
            10: (f"min({a}, {b})", max(most, other)),
            11: (f"max({a}, {b})", max(most, other)),
            12: (f"abs({a})", most),
            13: (f"({a} if {self.truth(depth - 1)} else {b})", max(most, other)),
            14: (f"(-{a})", most),
            15: (f"(~{a})", most + 1),
            16: (f"({a} % 12 ** 1) ** {(power := rng.randrange(0, 6))}", 12**power),
        }
        text, bound = forms[kind]
        if rng.random() < 0.05:
            text, bound = f"int({self.number(1)})", 1 << 16
        elif self.helpers and rng.random() < 0.06:
            text, bound = f"{rng.choice(self.helpers)}({self.bounded(a)}, {self.bounded(b)})[0]", LIMIT
        return (text, bound) if bound < 1 << 30 else (self.bounded(a), LIMIT)

    def bounded(self, text: str) -> str:
        return f"({text}) % {2 * LIMIT + 1} - {LIMIT}"

    def number(self, depth: int) -> str:
        """An expression of floating-point numbers that are multiples of 1/8 below 2**16."""
        rng = self.rng
        if depth <= 0:
            return rng.choice([*FLOATS, "0.5", "2.0", "-1.25", "8.0"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        return rng.choice(
            [
                f"({a} + {b})",
                f"({a} - {b})",
                f"({a} * 2)",
                f"min({a}, {b})",
                f"max({a}, {b})",
                f"abs({a})",
                f"({a} // {rng.choice(['2.0', '-4.0', '0.5'])})",
                f"({a} % {rng.choice(['2.0', '-4.0', '8.0', '0.5'])})",
                f"math.floor({a}) * 0.5",
                f"float({rng.choice(INTS)})",
                f"({a} if {self.truth(depth - 1)} else {b})",
                f"math.floor(({a} % 4.0) ** 2 * 8) * 0.125",  # in a loop, squares alone would soon not be exact
            ]
        )

    def truth(self, depth: int) -> str:
        rng = self.rng
        a, b, c = self.whole(depth - 1)[0], self.whole(depth - 1)[0], self.whole(0)[0]
        op = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return rng.choice(
            [
                f"{a} {op} {b}",
                f"{b} {op} {c} < {a}",
                f"not {a} {op} {b}",
                f"({a} {op} {b} and {c} > 0)",
                f"({a} {op} {b} or {c} < 3)",
                f"{self.number(0)} {op} {self.number(0)}",
                f"{c} in ({a}, {b}, 3, -4)",
            ]
        )

    def block(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        rng = self.rng
        kind = rng.randrange(12)
        name, other = rng.sample(INTS, 2)
        if kind <= 2 or (self.depth > 2 and kind > 6):
            self.emit(f"{name} = {self.bounded(self.whole(3)[0])}")
        elif kind == 3:
            self.emit(f"{rng.choice(FLOATS)} = {self.number(2)} % 512.0")
        elif kind == 4:
            self.emit(f"{name}, {other} = {other}, {self.bounded(self.whole(2)[0])}")
        elif kind == 5:
            op, right = rng.choice([("+=", "1"), ("-=", "3"), ("//=", "-3"), ("//=", "4"), ("%=", "-7"), ("*=", "-1")])
            self.emit(f"{name} {op} {right}")
            self.emit(f"{name} = {self.bounded(name)}")
        elif kind == 6:
            index = rng.choice([f"({self.whole(2)[0]}) % 4", str(rng.randrange(-4, 4))])
            self.emit(f"own[{index}] = {self.bounded(self.whole(2)[0])}")
            self.emit(f"{name} = own[({self.whole(1)[0]}) % 4]")
        elif kind <= 9:
            self.emit(f"if {self.truth(2)}:")
            self.block(rng.randint(1, 2))
            if rng.random() < 0.3:
                self.emit(f"elif {self.truth(1)}:")
                self.block(1)
            if rng.random() < 0.5:
                self.emit("else:")
                self.block(rng.randint(1, 2))
        elif kind == 10:
            self.loop()
        else:
            self.loops += 1
            left = f"left{self.loops}"
            self.emit(f"{left} = {rng.randint(1, 9)}")
            self.emit(f"while {left} > 0 and {self.truth(1)}:")
            self.block(1)
            self.depth += 1
            self.emit(f"{left} {rng.choice(['-= 1', '//= 2', '>>= 1'])}")
            self.depth -= 1

    def loop(self) -> None:
        rng = self.rng
        self.loops += 1
        counter = f"i{self.loops}"
        bounds = rng.choice(
            ["5", "-3, 4", "9, -2, -3", "0, 13, 4", f"{rng.choice(INTS)} % 6", f"2, {rng.choice(INTS)} % 9, 2"]
        )
        self.emit(f"for {counter} in range({bounds}):")
        self.counters.append(counter)
        self.block(rng.randint(1, 2))
        self.depth += 1
        if rng.random() < 0.4:
            self.emit(f"if {self.truth(1)}:")
            self.emit(f"    {rng.choice(['break', 'continue'])}")
            self.statement()
        self.depth -= 1
        self.counters.pop()

    def function(self, name: str) -> str:
        body = f"def {name}(p, q, r, s, x, y):\n    own = hw.private_array(4, hw.int32)\n"
        body += "    for k in range(4):\n        own[k] = k\n"
        self.depth = 0
        for _ in range(self.rng.randint(3, 9)):
            self.statement()
        result = f"    return {self.bounded('p + q * 3 - r + s * 7 + own[1]')}, x + y\n"
        return body + "\n".join(self.lines) + "\n" + result


def helper(rng: random.Random, name: str) -> str:
    a, b = rng.choice(["a // 3", "a % -5", "a ^ b", "-b"]), rng.choice(["a", "b % 7", "a - b"])
    return f"def {name}(a, b):\n    if a < b:\n        return ({a}) % 1000, 1\n    return ({b}) % 1000, 2\n"


def batch(rng: random.Random, count: int) -> str:
    """The text of a module with ``count`` functions, and a kernel that calls them."""
    helpers = ["first", "second"]
    parts = ["import math", "import headwater as hw", *(helper(rng, name) for name in helpers)]
    parts += [Writer(rng, helpers).function(f"program{k}") for k in range(count)]
    calls = "".join(
        f"    w, f = program{k}(a[i, 0], a[i, 1], a[i, 2], a[i, 3], z[i, 0], z[i, 1])\n"
        f"    whole[i, {k}] = w\n    floating[i, {k}] = f\n"
        for k in range(count)
    )
    parts.append(f"@hw.kernel\ndef kernel(a, z, whole, floating):\n    i = hw.global_id(0)\n{calls}")
    return "\n\n\n".join(parts)


SHIM = """
#define __kernel
#define __global
#define __constant static const
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
#define bool _Bool
#define true 1
#define false 0
#define O __attribute__((overloadable)) static inline
static unsigned long item;
static inline unsigned long get_global_id(uint d) { return item; }
O int min(int a, int b) { return a < b ? a : b; }
O int max(int a, int b) { return a > b ? a : b; }
O float min(float a, float b) { return b < a ? b : a; }
O float max(float a, float b) { return a < b ? b : a; }
O uint abs(int a) { return a < 0 ? -(uint)a : (uint)a; }
O float fabs(float a) { return __builtin_fabsf(a); }
O float fmod(float a, float b) { return __builtin_fmodf(a, b); }
O float floor(float a) { return __builtin_floorf(a); }
O float ceil(float a) { return __builtin_ceilf(a); }
O float trunc(float a) { return __builtin_truncf(a); }
O float rint(float a) { return __builtin_rintf(a); }
O float sqrt(float a) { return __builtin_sqrtf(a); }
O float copysign(float a, float b) { return __builtin_copysignf(a, b); }
O float pown(float a, int n) {
  float p = 1; int k = n < 0 ? -n : n;
  while (k--) p *= a;
  return n < 0 ? 1 / p : p;
}
"""
"""What random programs use of OpenCL C, in C."""


def as_c(kernel: Any, arrays: Sequence[np.ndarray], folder: Path) -> None:
    """Run the kernel's OpenCL C text as C, for each work-item."""
    special = kernel.special(arrays)
    packed = special.pack(arrays)
    names = [f"a{at}" for at in range(len(packed))]
    pointers = [value for value in packed if isinstance(value, np.ndarray)]
    declared = ", ".join(f"{'void *' if isinstance(v, np.ndarray) else 'int '}{n}"
                         for n, v in zip(names, packed, strict=True))  # fmt: skip
    loop = f"void all({declared}, long n) {{ for (item = 0; item < n; item++) kernel({', '.join(names)}); }}\n"
    source, library = folder / "program.c", folder / f"program_{next(_numbers)}.so"
    lines = [line for line in special.translation.text.splitlines() if not line.startswith("#line")]
    text = "\n".join(lines).replace(f" {special.translation.name}(", " kernel(")
    source.write_text(SHIM + text + "\n" + loop, encoding="utf-8")
    words = ["cc", "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run([sys.executable, "-m", "ziglang", *words], check=True, capture_output=True, text=True)
    function = ctypes.CDLL(str(library)).all
    given = [ctypes.c_void_p(v.ctypes.data) if isinstance(v, np.ndarray) else ctypes.c_int(int(v)) for v in packed]
    assert len(pointers) == len(arrays)
    function(*given, ctypes.c_long(ITEMS))
    library.unlink()


_numbers = itertools.count()


def compare(text: str, path: Path, seed: int, count: int, device: str) -> int:
    """How many functions differ; says which."""
    path.write_text(text, encoding="utf-8")
    space: dict[str, object] = {"__name__": f"fuzzed_{seed}"}
    exec(compile(text, str(path), "exec"), space)
    kernel = space["kernel"]
    data = np.random.default_rng(seed)
    a = data.integers(-LIMIT, LIMIT + 1, (ITEMS, 4)).astype(np.int32)
    z = (data.integers(-64, 65, (ITEMS, 2)) / 8).astype(np.float32)
    results = []
    ours_of = (
        (lambda *arrays: as_c(kernel, arrays, path.parent)) if device == "c"
        else lambda *arrays: kernel[ITEMS, None](*arrays, device=device)
    )  # fmt: skip
    for launch in (ours_of, kernel.python[ITEMS, None]):
        whole, floating = np.zeros((ITEMS, count), np.int32), np.zeros((ITEMS, count), np.float32)
        with np.errstate(all="ignore"):
            launch(a, z, whole, floating)
        results.append((whole, floating))
    (ours, our_floats), (theirs, their_floats) = results
    wrong = ((ours != theirs) | (our_floats != their_floats)).any(axis=0)
    for k in np.flatnonzero(wrong):
        item = int(np.flatnonzero((ours[:, k] != theirs[:, k]) | (our_floats[:, k] != their_floats[:, k]))[0])
        print(f"seed {seed}: program{k} differs for work-item {item}: {ours[item, k]}, {our_floats[item, k]}; "
              f"Python {theirs[item, k]}, {their_floats[item, k]}")  # fmt: skip
    return int(wrong.sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="programs (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first batch (default: 0)")
    parser.add_argument("--batch", type=int, default=25, help="programs of one kernel (default: 25)")
    parser.add_argument("--device", default="c", help="a device's name, or c (default: c)")
    parser.add_argument("--keep", type=Path, help="a folder for the modules that differ")
    options = parser.parse_args()
    done = wrong = broken = 0
    with tempfile.TemporaryDirectory() as folder:
        seed = options.seed
        while done < options.count:
            count = min(options.batch, options.count - done)
            text = batch(random.Random(seed), count)
            path = Path(folder) / f"fuzzed_{seed}.py"
            try:
                differ = compare(text, path, seed, count, options.device)
            except Exception as error:
                traceback.print_exc()
                print(getattr(error, "stderr", "") or "")
                print(f"seed {seed}: no result")
                differ, broken = 0, broken + 1
                if options.keep:
                    (options.keep / path.name).write_text(text, encoding="utf-8")
            wrong += differ
            if differ and options.keep:
                (options.keep / path.name).write_text(text, encoding="utf-8")
            done += count
            seed += 1
    print(f"{done} programs on {options.device}: {wrong} differ, {broken} batches without a result")
    return 1 if wrong or broken else 0


if __name__ == "__main__":
    sys.exit(main())

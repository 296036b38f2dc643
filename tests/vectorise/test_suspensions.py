"""What chunks keep at barriers: random programs whose values live across some of them, beside NumPy; and how much code
that is."""

import numpy as np
import pytest

import headwater as hw
from benchmarks.scaling_programs import PROGRAMS
from headwater.llvm.ir import Module
from headwater.opencl import clang, codegen, library
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.layout import Layout
from headwater.vectorise.prepare.kernel import read_kernel

ITEMS = 512
"""More than a chunk has."""
VARIABLES = 8


class Writer:
    """A random program in OpenCL C, and in Python over arrays of all work-items."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = []
        self.code = []
        self.names = 0

    def number(self, most):
        return int(self.rng.integers(most))

    def add(self, depth, line, code):
        self.lines.append(f"{'  ' * depth}{line}")
        self.code.append(f"{'  ' * depth}{code}")

    def statement(self, depth):
        a, b, c = (self.number(VARIABLES) for _ in range(3))
        k = 2 * self.number(50) + 1
        self.add(depth, f"v[{a}] = v[{b}] * {k} + v[{c}];", f"v[{a}] = v[{b}] * {k} + v[{c}]")

    def exchange(self, depth):
        a, b, k = self.number(VARIABLES), self.number(VARIABLES), self.number(ITEMS)
        wait = "barrier(CLK_LOCAL_MEM_FENCE);"
        read = f"v[{a}] ^= s[(l + {k}) & {ITEMS - 1}];"
        self.add(depth, f"s[l] = v[{b}]; {wait} {read} {wait}", f"v[{a}] = v[{a}] ^ np.roll(v[{b}], {-k})")

    def body(self, depth, level):
        for _ in range(2 + self.number(3)):
            kind = self.number(6) if level < 3 else self.number(4)
            if kind < 2:
                self.statement(depth)
            elif kind < 4:
                self.exchange(depth)
            elif kind == 4:
                t, self.names = f"t{self.names}", self.names + 1
                self.add(depth, f"for (int {t} = 0; {t} < n; {t}++) {{", f"for {t} in range(n):")
                self.body(depth + 1, level + 1)
                self.add(depth + 1, f"v[{self.number(VARIABLES)}] += {t};", "pass")
                self.code[-1] = f"{'  ' * (depth + 1)}{self.lines[-1].strip().rstrip(';')}"
                self.lines.append(f"{'  ' * depth}}}")
            else:
                bit = 1 << self.number(3)
                self.add(depth, f"if (m & {bit}) {{", f"if m & {bit}:")
                self.body(depth + 1, level + 1)
                self.lines.append(f"{'  ' * depth}}}")

    def program(self):
        while sum("barrier" in line for line in self.lines) < 4:
            self.body(1, 0)
        loads = "".join(f"  v[{k}] = a[i + {k * ITEMS * 2}];\n" for k in range(VARIABLES))
        stores = "".join(f"  a[i + {k * ITEMS * 2}] = v[{k}];\n" for k in range(VARIABLES))
        return (
            f"kernel void k(global uint *a, int n, int m) {{\n  local uint s[{ITEMS}];\n  uint v[{VARIABLES}];\n"
            f"  int i = get_global_id(0), l = get_local_id(0);\n{loads}{chr(10).join(self.lines)}\n{stores}}}\n"
        )

    def expected(self, a, n, m):
        found = a.copy().reshape(VARIABLES, -1, ITEMS)
        for group in range(found.shape[1]):
            v = [row.copy() for row in found[:, group]]
            exec("\n".join(line.removeprefix("  ") for line in self.code), {"np": np, "v": v, "n": n, "m": m})
            found[:, group] = v
        return found.reshape(a.shape)


@pytest.mark.parametrize("seed", range(6))
def test_values_outlive_barriers(seed):
    writer = Writer(seed)
    program = hw.compile(writer.program(), language="opencl", device="cpu")
    a = np.random.default_rng(seed).integers(0, 1 << 32, VARIABLES * 2 * ITEMS, np.uint32)
    for n, m in ((3, 5), (1, 2), (0, 7)):
        out = a.copy()
        program.k[(2 * ITEMS,), (ITEMS,)](out, n, m)
        np.testing.assert_array_equal(out, writer.expected(a, n, m))


def test_code_at_barriers_grows_with_what_is_computed():
    """Of 200 addresses 127 are different: the others are live at all barriers between."""

    def text(count):
        source = PROGRAMS["OpenCL C, barriers"].text(count)
        front = clang.compile_to_ir(source, "k.cl", "")
        linked, _ = codegen.link(front.ir, library.definitions(library.called(front.ir)), ["k"], "k.cl")
        module = Module(codegen.prepare(linked, "k")[0])
        request = CodeRequest("k", Layout(16), split=True)
        return codegen.vectorised(module, read_kernel(module, "k"), "entry", request).text

    assert len(text(400)) < 15 * len(text(40))

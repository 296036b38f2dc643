"""Input: a number. Output: a program that is so large in one way, in OpenCL C, ATI IL or Brook+."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

OPENCL_DEVICES = ("cpu", "vega64", "hd5870")
IL_DEVICES = ("cpu", "hd5870")
BROOK_DEVICES = ("cpu", "vega64", "hd4870")
_ALL = ("run", "disasm", "analyze", "simulate")
_NUMBERS = ("a=zeros:4096", "-g", "64", "-l", "64")
"""The launch of ``kernel void k(global int *a)``."""


@dataclass(frozen=True)
class Program:
    """Programs of one kind: ``base`` is the smallest's number of what ``name`` says, ``text`` makes the source of one.

    ``launch``: words of ``headwater run``; ``commands``: what it is given to.
    """

    name: str
    suffix: str
    base: int
    text: Callable[[int], str]
    devices: tuple[str, ...] = OPENCL_DEVICES
    launch: Sequence[str] | Callable[[int], Sequence[str]] = _NUMBERS
    commands: tuple[str, ...] = _ALL

    def count(self, scale: int) -> int:
        """How many the program of that scale has."""
        return self.base * scale

    def source(self, scale: int) -> str:
        """The program of that scale."""
        return self.text(self.count(scale))

    def words(self, command: str, scale: int) -> Sequence[str]:
        """The command's words behind the file and the device."""
        if command in ("disasm", "analyze"):
            return ()
        return self.launch(self.count(scale)) if callable(self.launch) else self.launch


# -- OpenCL C ----------------------------------------------------------------------------------------------------------

_HEAD = "kernel void k(global int *a) {\n  int i = get_global_id(0), x = a[i], y = a[i + 64], z = a[i + 128];\n"
_TAIL = "  a[i] = x ^ y ^ z;\n}\n"


def _body(lines: str) -> str:
    return f"{_HEAD}{lines}{_TAIL}"


def _statements(n: int) -> str:
    """Of 32 bits, none of which is another's, in a chain of three."""
    kinds = ("x = x * {0} + y;", "y = (y >> 3) ^ (z + {0});", "z = max(z, x) - {0};")
    return _body("".join(f"  {kinds[k % 3].format(7919 * k % 100003)}\n" for k in range(n)))


def _floats(n: int) -> str:
    kinds = ("x = x * {0}.5f + y;", "y = sqrt(fabs(y)) - z;", "z = fmin(z, x) / 3.0f;", "x += native_sin(z);")
    lines = "".join(f"  {kinds[k % 4].format(k % 97)}\n" for k in range(n))
    head = "kernel void k(global float *a) {\n  int i = get_global_id(0);\n  float x = a[i], y = a[i + 64], z = 1;\n"
    return f"{head}{lines}  a[i] = x + y + z;\n}}\n"


def _loads(n: int) -> str:
    return _body("".join(f"  x += a[(i + {7 * k}) & 4095];\n" for k in range(n)))


def _stores(n: int) -> str:
    return _body("".join(f"  a[(i + {64 * k}) & 4095] = x + {k};\n" for k in range(n)))


def _unrolled(n: int) -> str:
    return _body(f"#pragma unroll\n  for (int k = 0; k < {n}; k++) x += k * a[k & 63];\n")


def _branches(n: int) -> str:
    """None of whose conditions follows from another's."""
    line = "  if (x * {0} & 64) {{ a[i + {1}] = y; x += z * {1}; }}\n"
    return _body("".join(line.format(2 * k + 1, k % 64) for k in range(n)))


def _nested(n: int) -> str:
    opened = "".join(f"  if (a[i + {k % 64}] > {k}) {{ x += z * {k}; a[i] = x;\n" for k in range(n))
    return _body(opened + "}" * n + "\n")


def _loops(n: int) -> str:
    line = "  for (int k = 0; k < (y & {0}); k++) x = x * 3 + a[(x + k) & 63];\n"
    return _body("".join(line.format(k % 16 + 1) for k in range(n)))


def _nested_loops(n: int) -> str:
    line = "  for (int k{0} = 0; k{0} < (y & {1}); k{0}++) {{ x += a[(x + k{0}) & 63];\n"
    return _body("".join(line.format(k, k % 3 + 1) for k in range(n)) + "}" * n + "\n")


def _barriers(n: int) -> str:
    step = "  s[l] = x; barrier(CLK_LOCAL_MEM_FENCE); x += s[(l + {0}) & 127]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    lines = "".join(step.format(k % 127 + 1) for k in range(n // 2))
    return _body(f"  local int s[128];\n  int l = get_local_id(0);\n{lines}")


def _live(n: int) -> str:
    loads = "".join(f"  int v{k} = a[i + {k}];\n" for k in range(n))
    sums = "".join(f"  x = x * 3 + v{k};\n" for k in range(n)) + "".join(f"  y = y * 5 ^ v{k};\n" for k in range(n))
    return _body(f"{loads}  a[i + 1] = 0;\n{sums}")


def _table(n: int) -> str:
    numbers = ",".join(str(7919 * k % 1000003) for k in range(n))
    return f"constant int t[{n}] = {{{numbers}}};\n" + _body(f"  x += t[(uint)y % {n}u];\n")


def _bytes(n: int) -> str:
    numbers = ",".join(str(7919 * k % 256) for k in range(n))
    return f"constant uchar t[{n}] = {{{numbers}}};\n" + _body(f"  x += t[(uint)y % {n}u];\n")


def _private(n: int) -> str:
    return _body(f"  int p[{n}];\n  for (int k = 0; k < {n}; k++) p[k] = k * x;\n  y = p[(uint)z % {n}u];\n")


def _kernels(n: int) -> str:
    return "".join(
        f"kernel void k{k or ''}(global int *a) {{ int i = get_global_id(0); a[i] = a[i] * {k} + 1; }}\n"
        for k in range(n)
    )


def _functions(n: int) -> str:
    made = "".join(f"int f{k}(int x, int y) {{ return (x ^ {k}) * y + (y >> {k % 31}); }}\n" for k in range(n))
    return made + _body("".join(f"  x = f{k}(x, y);\n" for k in range(n)))


def _chain(n: int) -> str:
    made = "int f0(int x) { return x; }\n"
    made += "".join(f"int f{k}(int x) {{ return f{k - 1}(x ^ {k}) * 3; }}\n" for k in range(1, n + 1))
    return made + _body(f"  x = f{n}(x);\n")


def _arguments(n: int) -> str:
    named = "".join(f", int b{k}" for k in range(n))
    sums = "".join(f"  x = x * 3 + b{k};\n" for k in range(n))
    return _body(sums).replace("global int *a)", f"global int *a{named})", 1)


def _argument_words(n: int) -> Sequence[str]:
    return (*_NUMBERS, *(f"b{k}={k}" for k in range(n)))


def _switch(n: int) -> str:
    cases = "".join(f"  case {7 * k}: a[i + {k % 64}] = x * {k + 3}; break;\n" for k in range(n))
    return _body(f"  switch (y) {{\n{cases}  default: x = 1;\n  }}\n")


def _atomics(n: int) -> str:
    return _body("".join(f"  x += atomic_add(&a[(i + {k}) & 63], {k});\n" for k in range(n)))


def _prints(n: int) -> str:
    return _body("".join(f'  if (x == {k + 1}) printf("%d is {k}\\n", x);\n' for k in range(n)))


def _vectors(n: int) -> str:
    kinds = ("u = u * v + (float4)({0});", "v = v.yzwx - u;", "u.xz += v.wy;")
    lines = "".join(f"  {kinds[k % 3].format(k % 97)}\n" for k in range(n))
    return (
        "kernel void k(global float4 *a) {\n  int i = get_global_id(0);\n  float4 u = a[i], v = a[i + 64];\n"
        f"{lines}  a[i] = u + v;\n}}\n"
    )


def _doubles(n: int) -> str:
    lines = "".join(f"  x = x * y + {k}.0;\n" if k % 2 else "  y = y - x * 0.5;\n" for k in range(n))
    head = "kernel void k(global double *a) {\n  int i = get_global_id(0);\n  double x = a[i], y = a[i + 64];\n"
    return f"{head}{lines}  a[i] = x + y;\n}}\n"


def _phis(n: int) -> str:
    """Many variables that a loop changes."""
    loads = "".join(f"  int v{k} = a[i + {k}];\n" for k in range(n))
    turns = "".join(f"    v{k} = v{k} * 3 + v{(k + 1) % n};\n" for k in range(n))
    sums = "".join(f"  x ^= v{k};\n" for k in range(n))
    return _body(f"{loads}  for (int k = 0; k < (y & 7); k++) {{\n{turns}  }}\n{sums}")


# -- ATI IL ------------------------------------------------------------------------------------------------------------

_IL_HEAD = (
    "il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_raw_uav_id(0)\ndcl_literal l0, 2, 1, 3, 5\n"
    "ishl r0.x, vAbsTidFlat.x, l0.x\nuav_raw_load_id(0) r1.x, r0.x\nmov r1, r1.xxxx\nmov r2, r1\nmov r3, r1\n"
)
_IL_TAIL = "ixor r1, r1, r2\nixor r1, r1, r3\nuav_raw_store_id(0) mem.x, r0.x, r1.x\nend\n"
_IL_LAUNCH = ("uav0=zeros:4096", "-g", "64")


def _il(lines: str) -> str:
    return f"{_IL_HEAD}{lines}{_IL_TAIL}"


def _il_statements(n: int) -> str:
    kinds = ("imad r1, r1.yzwx, l0.z, r2", "ixor r2.xz, r2, r3.wzyx", "iadd r3, r1, l0.w")
    return _il("".join(f"{kinds[k % 3]}\n" for k in range(n)))


def _il_registers(n: int) -> str:
    written = "".join(f"iadd r{k}, r{k - 1}, l0.z\n" for k in range(10, n + 10))
    read = "".join(f"ixor r1, r1, r{k}\n" for k in range(10, n + 10))
    return _il(f"mov r9, r1\n{written}{read}")


def _il_branches(n: int) -> str:
    body = "uav_raw_store_id(0) mem.x, r0.x, r2.x\niadd r1.x, r1.x, l0.y\n"
    return _il(f"if_logicalnz r1.x\n{body}endif\n" * n)


def _il_loops(n: int) -> str:
    return _il("whileloop\niadd r1.x, r1.x, l0.y\nilt r4.x, l0.w, r1.x\nbreak_logicalnz r4.x\nendloop\n" * n)


def _il_nested_loops(n: int) -> str:
    """Each with a counter of its own; none is entered, since emulated chips hold 32 at a time."""
    opened = "mov r{0}.x, l0.y\nwhileloop\nige r4.x, r{0}.x, r2.x\nbreak_logicalnz r4.x\niadd r1.x, r1.x, r{0}.x\n"
    closed = "iadd r{0}.x, r{0}.x, l0.y\nendloop\n"
    numbers = range(10, n + 10)
    return _il("".join(opened.format(k) for k in numbers) + "".join(closed.format(k) for k in reversed(numbers)))


def _il_nested(n: int) -> str:
    opened = "if_logicalnz r1.x\nuav_raw_load_id(0) r1.x, r0.x\nuav_raw_store_id(0) mem.x, r0.x, r2.x\n"
    return _il(opened * n + "endif\n" * n)


def _il_literals(n: int) -> str:
    declared = "".join(f"dcl_literal l{k}, {k}, {k + 1}, {k * 3}, {k * 7}\n" for k in range(1, n + 1))
    used = "".join(f"imad r1, r1, l{k}, r2\n" for k in range(1, n + 1))
    return _il(used).replace("dcl_literal l0", f"{declared}dcl_literal l0", 1)


def _il_functions(n: int) -> str:
    calls = "".join(f"call {k}\n" for k in range(1, n + 1))
    made = "".join(f"func {k}\nimad r1, r1, l0.z, r2\nixor r2, r2, r1.yzwx\nret\n" for k in range(1, n + 1))
    main = _il(calls).removesuffix("end\n")
    return f"{main}endmain\n{made}end\n"


def _il_fetches(n: int) -> str:
    turn = "iadd r4.x, r0.x, r1.x\nand r4.x, r4.x, l1.x\nuav_raw_load_id(0) r1.x, r4.x\n"
    return _il(turn * n).replace("dcl_literal l0", "dcl_literal l1, 0xfc, 0, 0, 0\ndcl_literal l0", 1)


# -- Brook+ ------------------------------------------------------------------------------------------------------------

_STREAMS = ("a=zeros:64", "b=zeros:64")


def _brook(lines: str) -> str:
    head = "kernel void k(float a<>, float b<>, out float c<>) {\n  float x = a, y = b, z = 1.0f;\n"
    return f"{head}{lines}  c = x + y + z;\n}}\n"


def _brook_statements(n: int) -> str:
    kinds = ("x = x * {0}.5f + y;", "y = sqrt(abs(y)) - z;", "z = min(z, x) / 3.0f;")
    return _brook("".join(f"  {kinds[k % 3].format(k % 97)}\n" for k in range(n)))


def _brook_branches(n: int) -> str:
    line = "  if (x > {0}.0f) {{ x = x * y; z = sin(x); }} else {{ y = cos(y) + z; }}\n"
    return _brook("".join(line.format(k) for k in range(n)))


def _brook_loops(n: int) -> str:
    line = "  for (i = 0; i < {0}; i = i + 1) {{ x = x * 0.5f + sin(y); }}\n"
    return _brook("  int i;\n" + "".join(line.format(k % 16 + 20) for k in range(n)))


def _brook_nested_loops(n: int) -> str:
    """None is entered, since emulated chips hold 32 at a time."""
    opened = "".join(f"  int i{k};\n" for k in range(n))
    opened += "".join(f"  for (i{k} = 0; i{k} < (int) b; i{k} = i{k} + 1) {{ x = x * 0.5f + y;\n" for k in range(n))
    return _brook(opened + "}" * n + "\n")


def _brook_gathers(n: int) -> str:
    lines = "".join(f"  x = x + g[{k} + (int) y];\n" for k in range(n))
    return _brook(lines).replace("out float c<>", "float g[], out float c<>", 1)


def _brook_outputs(n: int) -> str:
    outs = ", ".join(f"out float c{k}<>" for k in range(n))
    lines = "".join(f"  c{k} = a * {k}.0f + b;\n" for k in range(n))
    return f"kernel void k(float a<>, float b<>, {outs}) {{\n{lines}}}\n"


def _brook_kernels(n: int) -> str:
    return "".join(
        f"kernel void k{k or ''}(float a<>, float b<>, out float c<>) {{ c = a * {k}.0f + b; }}\n" for k in range(n)
    )


def _cl(name: str, base: int, text: Callable[[int], str], **more: object) -> Program:
    return Program(f"OpenCL C, {name}", ".cl", base, text, **more)  # type: ignore[arg-type]


def _of_il(name: str, base: int, text: Callable[[int], str]) -> Program:
    return Program(f"IL, {name}", ".il", base, text, IL_DEVICES, _IL_LAUNCH)


def _of_brook(name: str, base: int, text: Callable[[int], str], *words: str) -> Program:
    return Program(f"Brook+, {name}", ".br", base, text, BROOK_DEVICES, (*_STREAMS, *words))


_KERNEL = ("-k", "k")
PROGRAMS = {
    program.name: program
    for program in (
        _cl("statements", 100, _statements),
        _cl("statements of floats", 50, _floats),
        _cl("statements of vectors", 50, _vectors),
        _cl("statements of doubles", 20, _doubles),
        _cl("loads", 20, _loads),
        _cl("stores", 20, _stores),
        _cl("turns of an unrolled loop", 100, _unrolled),
        _cl("branches in sequence", 10, _branches),
        _cl("nested branches", 2, _nested),
        _cl("cases of a switch", 10, _switch),
        _cl("loops in sequence", 5, _loops),
        _cl("nested loops", 1, _nested_loops),
        _cl("barriers", 4, _barriers),
        _cl("live values", 5, _live),
        _cl("variables of a loop", 5, _phis),
        _cl("numbers of a constant table", 10_000, _table),
        _cl("bytes of a constant table", 10_000, _bytes),
        _cl("elements of a private array", 10, _private),
        _cl("kernels of a file", 2, _kernels, launch=(*_NUMBERS, *_KERNEL)),
        _cl("functions called in sequence", 10, _functions),
        _cl("functions that call each other", 5, _chain),
        _cl("arguments", 2, _arguments, launch=_argument_words),
        _cl("atomics", 5, _atomics),
        _cl("printf", 2, _prints),
        _of_il("statements", 100, _il_statements),
        _of_il("registers", 100, _il_registers),
        _of_il("branches in sequence", 10, _il_branches),
        _of_il("nested branches", 1, _il_nested),
        _of_il("loops in sequence", 5, _il_loops),
        _of_il("nested loops", 1, _il_nested_loops),
        _of_il("literals", 50, _il_literals),
        _of_il("functions", 10, _il_functions),
        _of_il("fetches", 10, _il_fetches),
        _of_brook("statements", 20, _brook_statements),
        _of_brook("branches in sequence", 5, _brook_branches),
        _of_brook("loops in sequence", 2, _brook_loops),
        _of_brook("nested loops", 1, _brook_nested_loops),
        _of_brook("gathers", 5, _brook_gathers, "g=zeros:64"),
        _of_brook("outputs", 1, _brook_outputs),
        _of_brook("kernels of a file", 2, _brook_kernels, *_KERNEL),
    )
}

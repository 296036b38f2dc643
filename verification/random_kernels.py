"""Input: a seed. Output: a random OpenCL C kernel whose result is fully defined, with the sizes and arguments to run
it.

Everything that the language leaves open is kept out: signed overflow (arithmetic goes through unsigned types), division
by zero, conversions out of range, races, contraction of floating-point operations. So any two right implementations
agree in every bit.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np

from headwater.runtime.images import Image
from verification.random_loops import Loops

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
DTYPES = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}
FLOATS = ("half", "float", "double")
UNSIGNED = {"char": "uchar", "short": "ushort", "int": "uint", "long": "ulong"}
READ_ITEMS = 2048
"""Elements of the arrays that are only read: four times the largest launch, and a power of two to mask indices with."""
OWN_ITEMS = 4
"""Elements of the output that belong to one work-item."""
BINS = 48
ATOMICS = (
    ("add", 0),
    ("sub", 0),
    ("inc", 0),
    ("dec", 0),
    ("xor", 8),
    ("min", 16),
    ("max", 24),
    ("or", 32),
    ("and", 40),
)
"""Functions, and the first of the eight bins on which each works: functions that share bins can change their order."""
MERGED = (("add", 0), ("xor", 8), ("min", 16), ("max", 24), ("or", 32), ("and", 40))
"""With which function eight bins of a group are merged into those of all groups."""
PIXELS = 16
"""Width and height of the image."""
OPTIONS = "-cl-fp32-correctly-rounded-divide-sqrt"
"""Without it a quotient may be off by 2.5 ULP (OpenCL C specification, "Relative Error as ULPs")."""
ITEM_FIELDS = ("item.key", "(int)item.tag", "(int)item.pair[i & 1]")

SIZES = (
    ((96,), (32,)),
    ((100,), (100,)),
    ((63,), (7,)),
    ((130,), None),
    ((257,), None),
    ((64,), (64,)),
    ((66,), (33,)),
    ((20, 9), (5, 3)),
    ((32, 16), (16, 16)),
    ((17, 6), None),
    ((4, 64), (1, 64)),
    ((3, 40), (1, 20)),
    ((8, 4, 4), (4, 4, 4)),
    ((2, 6, 10), (1, 3, 5)),
    ((1, 37), None),
    ((5,), (1,)),
    ((384,), (192,)),
    ((14, 18, 2), (7, 9, 2)),
    ((256,), (256,)),
    ((65, 2), (65, 1)),
)


@dataclass(frozen=True)
class Case:
    """A kernel named ``k``, the sizes to launch it with, and its arguments; ``padded`` are the numbers of the arrays
    with elements of three components, whose fourth may hold anything. ``halves``: it computes with ``half``, which
    PoCL does not."""

    source: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    args: list[object]
    padded: frozenset[int]
    halves: bool = False
    options: str = OPTIONS

    def results(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The arrays that a launch left, with what may be anything set to zero."""
        for number in self.padded:
            arrays[number][3::4] = 0
        return arrays


def base(name: str) -> str:
    return name.rstrip("0123456789")


def width(name: str) -> int:
    return int(name[len(base(name)) :] or 1)


def random_case(seed: int, plain: bool = False) -> Case:
    """The kernel of this seed; ``plain``: without local memory, barriers, atomics, halves and stores of
    less than 32 bits, which chips before 2009 lack."""
    later = (random.Random(f"{what} {seed}") for what in ("atomics", "near", "striding"))
    return _Generator(random.Random(seed), *later, plain=plain).case()


def _in_words(ty: str) -> str:
    """The type with components of 32 bits at least: chips before 2009 store no less."""
    return re.sub(r"char|short|half", lambda small: "float" if small[0] == "half" else "int", ty)


class _Generator(Loops):
    """Grows one kernel. ``uniform`` tells whether all work-items of a group run the code being written together."""

    def __init__(
        self,
        rng: random.Random,
        of_atomics: random.Random,
        of_near: random.Random,
        of_striding: random.Random,
        *,
        plain: bool,
    ) -> None:
        self.rng = rng
        # What came later has numbers of its own: seeds that have shown a fault must go on meaning the same kernels.
        self.of_atomics, self.of_near, self.of_striding = of_atomics, of_near, of_striding
        self.counts_only = of_atomics.random() < 0.4
        self.plain = plain
        self.variables: dict[str, str] = {}
        self.counters: list[str] = []
        self.fresh = 0
        self.uniform = True
        self.in_loop = 0
        self.outer_label = ""
        self.local_type = rng.choice(("int", "uint", "float", "ushort", "ulong", "int4", "float2", "uchar"))
        self.global_size, self.local_size = rng.choice(SIZES)
        self.grouped = self.local_size is not None and rng.random() < 0.6 and not plain
        self.helper = rng.random() < 0.4
        self.array_type = rng.choice((*INTEGERS, "float", "int4", "short2", "uchar3"))
        self.use_double = rng.random() < 0.25
        self.use_half = not self.use_double and rng.random() < 0.12 and not plain
        self.use_image = rng.random() < 0.25
        self.use_packed = rng.random() < 0.25
        self.real = "double" if self.use_double else "half" if self.use_half else "float"
        if self.real != "float" and rng.random() < 0.5:
            self.local_type = self.real + rng.choice(("", "2", "4"))
        self.labels: list[str] = []
        self.declared = False
        self.place = rng.choice(("i", "i", "i", "(total - 1 - i)"))
        self.budget = 16

    def pick(self, *choices: str) -> str:
        """One of the choices; those that tell how work-items are grouped only if the launch says how."""
        if self.local_size is None:
            choices = tuple(c for c in choices if "get_local_id" not in c and "get_group_id" not in c)
        return self.rng.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    # The frame.

    def case(self) -> Case:
        rng = self.rng
        self.own = rng.choice(
            (
                *INTEGERS,
                "float",
                "int2",
                "int4",
                "float4",
                "uchar4",
                "float3",
                "ushort8",
                "short3",
                "long2",
                "uint16",
                "char8",
                "uchar16",
                "float2",
                "float8",
                "short4",
            )
        )
        self.second = rng.choice((*INTEGERS, "float", "uint2", "float4", "char4"))
        self.read = rng.choice((*INTEGERS, "float", "int4", "uchar4", "float3", "float4", "char8", "ulong2"))
        if self.real != "float":
            self.own, self.second, self.read = (
                self.real + rng.choice(("", "2", "3", "4")) if rng.random() < 0.4 else ty
                for ty in (self.own, self.second, self.read)
            )
        if self.plain:
            self.own, self.second = (_in_words(ty) for ty in (self.own, self.second))
        padded = frozenset(n for n, ty in ((0, self.read), (2, self.own), (3, self.second)) if width(ty) == 3)
        body = self.declarations()
        for _ in range(rng.randint(2, 5)):
            body += self.statement(2)
        body += self.near()
        body += self.striding()
        source = (
            "\n".join([*self.prelude(), *self.header(), *("  " + line for line in body), *self.footer(), "}"]) + "\n"
        )
        return Case(source, self.global_size, self.local_size, self.arguments(), padded, self.use_half)

    def prelude(self) -> list[str]:
        lines = ["#pragma OPENCL FP_CONTRACT OFF"]
        if self.use_double:
            lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        if self.use_half:
            lines.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
        if self.use_image:
            lines.append(
                "constant sampler_t NEAREST = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;"
            )
        lines.append("constant int TABLE[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};")
        lines += [
            "int small(float x) { return fabs(x) < 1e6f ? (int)x : 7; }",
        ]
        lines.append("typedef struct { int key; uchar tag; short pair[2]; float weight; } Item;")
        if self.helper:
            lines += [
                "uint helper(uint x, uint *state) {",
                f"  for (uint q = 0; q < (x & {self.pick('3', '7')}u); q++) {{",
                f"    if ((*state >> q) & 1u) {{ *state = *state * {self.number(3, 999)}u + q; continue; }}",
                f"    if (*state % {self.number(3, 9)}u == 0u) return x ^ q;",
                "    *state += x;",
                "  }",
                "  return x + 1u;",
                "}",
            ]
        return lines

    def header(self) -> list[str]:
        lines = [
            f"kernel void k(global const {self.read} *in, global const int *keys, global {self.own} *out,",
            f"              global {self.second} *second, global uint *bins, int n, uint m",
            *(["              , global const half *halves"] if self.use_packed else []),
            *(["              , read_only image2d_t picture"] if self.use_image else []),
            ") {",
        ]
        if self.grouped:
            size = int(np.prod(self.local_size or (1,)))
            lines += [f"  local {self.local_type} shared[{size}];", f"  local uint counts[{BINS}];"]
        terms = "get_global_id(0)"
        lines.append(
            f"  const size_t total = {' * '.join(f'get_global_size({d})' for d in range(len(self.global_size)))};"
        )
        if len(self.global_size) == 2:
            terms = "get_global_id(1) * get_global_size(0) + get_global_id(0)"
        elif len(self.global_size) == 3:
            terms = "(get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0)"
        lines.append(f"  const {self.pick('int', 'uint', 'size_t')} i = {terms};")
        return lines

    def declarations(self) -> list[str]:
        lines = []
        if self.grouped:
            lines += [
                "const uint lsz = get_local_size(0) * get_local_size(1) * get_local_size(2);",
                "const uint lid = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);",
                f"for (uint q = lid; q < {BINS}u; q += lsz) counts[q] = q;",
                f"shared[lid] = ({self.local_type})(0);",
                "barrier(CLK_LOCAL_MEM_FENCE);",
            ]
        own = [self.own, "int", "uint", self.rng.choice((self.second, self.read, self.rng.choice(INTEGERS)))]
        own.append(self.real + self.pick("", "", "2", "4"))
        own.append("float")
        own.append(self.rng.choice((*INTEGERS, "float")) + self.pick("", "2", "2", "3", "3", "4", "4", "8", "16"))
        for ty in own:
            name = self.name("x")
            source = self.expression(ty, 1)
            self.variables[name] = ty
            lines.append(f"{ty} {name} = {source};")
        lines.append(f"{self.array_type} array[8];")
        lines.append(
            f"for (int q = 0; q < 8; q++) array[q] = {self.convert(self.array_type, 'int', '(q * 3 + (int)(i & 7))')};"
        )
        lines.append(
            "Item item; item.key = keys[i]; item.tag = (uchar)i; item.pair[0] = 1; item.pair[1] = (short)(i * 3); item.weight = 0.5f;"
        )
        self.declared = True
        return lines

    def footer(self) -> list[str]:
        lines = [f"{label}:;" for label in self.labels]
        lines += ["  " + line for line in self.gather()]
        mine = next(n for n, ty in self.variables.items() if ty == self.own)
        lines += [f"  out[{self.place}] = {mine};"]
        lines += [f"  second[i * {OWN_ITEMS} + (n & 3)] = {self.convert(self.second, 'uint', 'digest')};"]
        if self.grouped:
            lines += [
                "  barrier(CLK_LOCAL_MEM_FENCE);",
                *(
                    f"  for (uint q = lid; q < 8u; q += lsz) "
                    f"atomic_{'add' if self.counts_only else f}(&bins[{at} + q], counts[{at} + q]);"
                    for f, at in MERGED
                ),
            ]
        if not self.plain:
            lines += [f"  atomic_{'add' if self.counts_only else 'xor'}(&bins[8 + (i & 7)], digest);"]
        return lines

    def gather(self) -> list[str]:
        """A digest of every variable, so that none is computed in vain."""
        parts = [self.convert("uint", ty, name) for name, ty in self.variables.items()]
        parts.append(self.convert("uint", self.array_type, "array[(i * 5 + 1) & 7]"))
        parts += ["(uint)(item.key ^ item.tag ^ item.pair[i & 1])", "(uint)small(item.weight)"]
        return ["uint digest = 0u;", *(f"digest = digest * 31u + {part};" for part in parts)]

    def arguments(self) -> list[object]:
        rng = np.random.default_rng(self.rng.getrandbits(32))
        total = int(np.prod(self.global_size))
        return [
            self.data(rng, self.read, READ_ITEMS),
            rng.integers(-20, 1000, READ_ITEMS).astype(np.int32),
            self.data(rng, self.own, total),
            self.data(rng, self.second, total * OWN_ITEMS),
            rng.integers(0, 1000, BINS).astype(np.uint32),
            np.int32(self.number(0, 9)),
            np.uint32(self.number(0, 40)),
            *([self.data(rng, "half", READ_ITEMS)] if self.use_packed else []),
            *([Image(rng.integers(-1000, 1000, (PIXELS, PIXELS, 4)).astype(np.int32))] if self.use_image else []),
        ]

    @staticmethod
    def data(rng: np.random.Generator, ty: str, count: int) -> np.ndarray:
        room = {3: 4}.get(width(ty), width(ty))
        dtype = np.dtype(DTYPES[base(ty)])
        if dtype.kind == "f":
            return rng.integers(-64, 64, count * room).astype(dtype) / dtype.type(4)
        if rng.random() < 0.5:
            return rng.integers(0, 100, count * room).astype(dtype)
        return rng.integers(0, 256, count * room * dtype.itemsize).astype(np.uint8).view(dtype)

    # Expressions.

    def convert(self, to: str, of: str, text: str) -> str:
        """A value of type ``of`` as one of type ``to``."""
        if to == of:
            return text
        if width(of) > 1:
            if width(to) == width(of):
                return self.convert_wide(to, of, text)
            component = f"({text}).s{self.number(0, width(of) - 1):x}"
            return self.convert(to, base(of), component)
        if base(of) in FLOATS and base(to) in INTEGERS:
            return f"({to})({base(to)})small({text})" if width(to) > 1 else f"({to})small({text})"
        return f"({to})(({base(to)})({text}))" if width(to) > 1 else f"({to})({text})"

    def convert_wide(self, to: str, of: str, text: str) -> str:
        if base(of) in FLOATS and base(to) in INTEGERS:
            return self.convert(to, base(of), f"({text}).s{self.number(0, width(of) - 1):x}")
        return f"convert_{to}({text})"

    def arithmetic(self, ty: str, operation: str, a: str, b: str) -> str:
        """Wrapping arithmetic."""
        kind = base(ty)
        count = str(width(ty)) if width(ty) > 1 else ""
        if kind in UNSIGNED and operation in ("+", "-", "*"):
            wide = UNSIGNED[kind] + count
            return f"as_{ty}(({wide})(as_{wide}({a}) {operation} as_{wide}({b})))"
        return f"(({ty})({a} {operation} {b}))"

    def index(self) -> str:
        """An index into the arrays that are read."""
        last = READ_ITEMS - 1
        choice = self.rng.random()
        if choice < 0.25:
            return f"(i * 7 + (uint){self.integer_variable()}) & {last}"
        if choice < 0.4:
            return f"({self.pick('i * 5', 'i - 3', 'i + m', 'i << 1')}) & {last}"
        if choice < 0.5:
            return self.pick("m", "n + 5", "(int)m * 3", f"({self.integer_variable()}) & 15")
        return self.pick(
            "i",
            "i",
            "i",
            "i + 3",
            "i * 2",
            "i * 3 + 1",
            "i * 4 + 2",
            f"{last} - i",
            "i + m",
            "i + n",
            "total - 1 - i",
            "get_global_id(0)",
            "get_local_id(0) + 1",
            "i / 2",
            "i & 63",
            "i ^ 1",
        )

    def integer_variable(self) -> str:
        names = [n for n, ty in self.variables.items() if width(ty) == 1 and ty in INTEGERS] + self.counters
        return self.rng.choice(names) if names else "n"

    def leaf(self, ty: str) -> str:
        kind = self.number(0, 11)
        same = [n for n, own in self.variables.items() if own == ty]
        if kind < 4 and same:
            return self.rng.choice(same)
        if kind < 6 and self.variables:
            name, own = self.rng.choice(list(self.variables.items()))
            return self.convert(ty, own, name)
        if kind == 6:
            if self.rng.random() < 0.2:
                before = self.convert(ty, self.read, f"in[i - {self.pick('1', '1u')}]")
                return (
                    f"(({ty})(i > 0 ? {before} : {self.constant(ty)}))"
                    if width(ty) == 1
                    else before.replace("i - 1", "i + 1")
                )
            return self.convert(ty, self.read, f"in[{self.index()}]")
        if kind == 7:
            return self.convert(
                ty,
                "int",
                self.pick(
                    f"keys[{self.index()}]",
                    f"TABLE[({self.integer_variable()}) & 15]",
                    "n",
                    "(int)m",
                    "(int)i",
                    "(int)get_local_id(0)",
                    "(int)get_group_id(0)",
                    *(f"(int){c}" for c in self.counters),
                    *(ITEM_FIELDS if self.declared else ()),
                ),
            )
        if kind == 8 and base(ty) == base(self.read) and width(ty) in (2, 4, 8, 16) and width(self.read) == 1:
            return f"vload{width(ty)}(({self.index()}) / {width(ty)}, in)"
        if kind == 10 and self.use_image:
            at = f"(int2)(({self.integer_variable()}) & {2 * PIXELS - 1}, (int)(i & {PIXELS - 1}))"
            return self.convert(ty, "int", f"read_imagei(picture, NEAREST, {at}).{self.pick('x', 'y', 'z', 'w')}")
        if kind == 11 and self.use_packed:
            if self.rng.random() < 0.5:
                return self.convert(ty, "float", f"vload_half({self.index()}, halves)")
            return self.convert(ty, "float4", f"vload_half4(({self.index()}) / 4, halves)")
        if kind == 8 and self.declared:
            return self.convert(ty, self.array_type, f"array[({self.integer_variable()}) & 7]")
        return self.constant(ty)

    def constant(self, ty: str) -> str:
        if base(ty) in FLOATS:
            return f"({ty})({self.number(-8, 8)} * 0.5f)"
        return f"({ty})({self.number(0, 100)})"

    def expression(self, ty: str, depth: int) -> str:
        if depth <= 0:
            return self.leaf(ty)
        kind = base(ty)
        a = self.expression(ty, depth - 1)
        if kind in FLOATS:
            b = self.expression(ty, depth - 1)
            choice = self.number(0, 11)
            if choice == 0 and width(ty) == 1:
                return f"(({ty})({self.condition(depth - 1)} ? {a} : {b}))"
            if choice == 1 and kind != "half":
                return f"({a} / {self.constant(ty)[:-1]} + 9))"
            if choice == 2:
                return f"{self.pick('fabs', 'floor', 'ceil', 'trunc', 'rint', 'round')}({a})"
            if choice == 3:
                # Adding zero makes one of the two zeros, of which either may be the smaller.
                return f"({self.pick('fmin', 'fmax')}({a}, {b}) + ({ty})(0))"
            if choice == 4 and kind != "half":
                return f"fma({a}, {b}, {self.leaf(ty)})"
            if choice == 5 and kind != "half":
                return f"sqrt(fabs({a}))"
            if choice == 6 and width(ty) == 1 and kind != "half":
                return f"ldexp({a}, ({self.integer_variable()}) & 7)"
            if choice == 7:
                return f"copysign({a}, {b})"
            if choice == 8 and width(ty) in (2, 4, 8, 16):
                return self.shuffled(ty, a, b)
            return f"({a} {self.pick('+', '-', '*')} {b})"
        b = self.expression(ty, depth - 1)
        choice = self.number(0, 24)
        one = f"({ty})(1)"
        bits = 8 * np.dtype(DTYPES[kind]).itemsize
        unsigned = UNSIGNED.get(kind, kind) + (str(width(ty)) if width(ty) > 1 else "")
        if choice < 7:
            return self.arithmetic(ty, self.pick("+", "-", "*", "&", "|", "^"), a, b)
        if choice == 7:
            return f"(({ty})({a} {self.pick('<<', '>>')} ({ty})({self.number(0, bits - 1)})))"
        if choice == 8:
            return f"(({ty})({a} >> ({b} & ({ty})({bits - 1}))))"
        if choice == 9:
            divisor = f"(as_{unsigned}({b}) % ({unsigned})({self.number(2, 30)}) + ({unsigned})(1))"
            return f"as_{ty}(({unsigned})(as_{unsigned}({a}) {self.pick('/', '%')} {divisor}))"
        if choice == 10:
            return f"(({ty})({a} {self.pick('/', '%')} ({ty})({self.number(1, 60)})))"
        if choice == 11:
            if width(ty) == 1:
                return f"(({ty})({self.condition(depth - 1)} ? {a} : {b}))"
            signed = kind if kind in UNSIGNED else {v: k for k, v in UNSIGNED.items()}[kind]
            return (
                f"select({a}, {b}, ({a} {self.pick('<', '>', '==', '!=')} {b}))"
                if signed == kind
                else f"({a} < {b} ? {a} : {b})"
            )
        if choice == 12:
            return f"{self.pick('min', 'max', 'rotate', 'add_sat', 'sub_sat', 'hadd', 'mul_hi')}({a}, {b})"
        if choice == 13:
            return f"clamp({a}, {self.constant(ty)}, ({ty})(101))"
        if choice == 14:
            return self.pick(f"popcount({a})", f"clz({a})", f"as_{ty}(abs({a}))")
        if choice == 15:
            return f"(({ty})(~{a}))"
        if choice == 16 and width(ty) == 1:
            return f"(({ty}){self.condition(depth - 1)})"
        if choice == 17 and width(ty) in (2, 4, 8, 16):
            return self.shuffled(ty, a, b)
        if choice == 18 and kind in ("int", "uint"):
            low = f"(({ty})(({a}) & ({ty})(0x7fffff)))"
            if self.rng.random() < 0.5:
                return f"mul24({low}, ({ty})(({b}) & ({ty})(127)))"
            return f"mad24({low}, ({ty})(({b}) & ({ty})(127)), ({ty})({self.number(0, 99)}))"
        if choice == 19:
            return f"bitselect({a}, {b}, {self.leaf(ty)})"
        if choice == 20:
            return f"as_{ty}({self.pick('abs_diff', 'abs_diff')}({a}, {b}))"
        if choice == 21:
            return f"{self.pick('rhadd', 'hadd')}({a}, {b})"
        if choice == 22:
            return f"mad_hi({a}, {b}, {self.leaf(ty)})" if kind in UNSIGNED.values() else f"mul_hi({a}, {b})"
        if choice == 23:
            # A positive divisor: the smallest number divided by -1 has no defined quotient.
            return f"(({ty})({a} {self.pick('/', '%')} (({ty})({b} & ({ty})({self.pick('15', '63', '7')})) + {one})))"
        return self.arithmetic(ty, "+", a, one)

    def shuffled(self, ty: str, a: str, b: str) -> str:
        """Components of one or two vectors in an order that depends on a variable."""
        bits = 8 * np.dtype(DTYPES[base(ty)]).itemsize
        mask = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}[bits]
        order = ", ".join(
            f"({mask})({self.integer_variable()})" if self.rng.random() < 0.3 else str(self.number(0, 31))
            for _ in range(width(ty))
        )
        if self.rng.random() < 0.5:
            return f"shuffle({a}, ({mask}{width(ty)})({order}))"
        return f"shuffle2({a}, {b}, ({mask}{width(ty)})({order}))"

    def condition(self, depth: int) -> str:
        choice = self.number(0, 9)
        if choice == 0:
            return self.pick("(n > 4)", "(m & 1u)", "(get_group_id(0) & 1)", "(n == 3 || m > 20u)")
        if choice == 1:
            return self.pick("(i & 1)", "(i % 3 == 0)", "(i > 10)", "((i ^ (uint)n) & 4)", "(get_local_id(0) < 5)")
        if choice == 2:
            wide = [n for n, ty in self.variables.items() if width(ty) > 1 and base(ty) in INTEGERS]
            if wide:
                name = self.rng.choice(wide)
                return f"{self.pick('any', 'all')}({name} {self.pick('<', '>', '==', '!=')} {self.constant(self.variables[name])})"
        if choice == 3 and depth > 0:
            return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.condition(depth - 1)})"
        if choice == 4:
            return f"(({self.pick('float', 'float')}){self.leaf('float')} > {self.constant('float')})"
        if choice == 5:
            return f"((({self.integer_variable()}) & {self.number(1, 7)}) == {self.number(0, 3)})"
        ty = self.rng.choice(INTEGERS)
        return f"({self.expression(ty, depth - 1)} {self.pick('<', '>', '<=', '>=', '==', '!=')} {self.leaf(ty)})"

    # Statements.

    def block(self, depth: int, count: int, *, uniform: bool) -> list[str]:
        """Statements that run under a condition; ``uniform`` if all of the group's work-items agree on it."""
        kept = self.uniform
        self.uniform = kept and uniform
        lines = []
        for _ in range(count):
            lines += self.statement(depth - 1)
        self.uniform = kept
        return ["  " + line for line in lines]

    def statement(self, depth: int) -> list[str]:
        self.budget -= 1
        if self.budget < 0:
            return self.assignment()
        if self.uniform and self.grouped and self.rng.random() < 0.25:
            return self.prefix() if self.rng.random() < 0.25 else self.exchange()
        choices = [self.assignment, self.assignment, self.component, self.private, self.record, self.output]
        if not self.plain:
            choices.append(self.count)
        if self.own in ("int", "uint") and not self.plain:
            choices.append(self.exchange_own)
        if self.helper:
            choices.append(self.call)
        if self.in_loop:
            choices += [self.leave, self.leave]
        if not self.grouped and self.rng.random() < 0.1:
            choices.append(self.finish)
        if depth > 0:
            own = [self.branch, self.branch, self.counted, self.counted, self.bounded, self.repeated, self.switch]
            return self.rng.choice(own)(depth) if self.rng.random() < 0.55 else self.rng.choice(choices)()
        return self.rng.choice(choices)()

    def assignment(self) -> list[str]:
        name, ty = self.rng.choice(list(self.variables.items()))
        return [f"{name} = {self.expression(ty, 2)};"]

    def component(self) -> list[str]:
        wide = [(n, ty) for n, ty in self.variables.items() if width(ty) > 1]
        if not wide:
            return self.assignment()
        name, ty = self.rng.choice(wide)
        if self.rng.random() < 0.5:
            return [f"{name}.s{self.number(0, width(ty) - 1):x} = {self.expression(base(ty), 1)};"]
        if width(ty) != 3 and self.rng.random() < 0.5:
            return [f"{name}[({self.integer_variable()}) & {width(ty) - 1}] = {self.expression(base(ty), 1)};"]
        order = self.rng.sample(range(width(ty)), 2)
        return [f"{name}.s{order[0]:x}{order[1]:x} = {name}.s{order[1]:x}{order[0]:x};"]

    def private(self) -> list[str]:
        at = self.pick(f"({self.integer_variable()}) & 7", str(self.number(0, 7)), "n & 7", "i & 7")
        return [f"array[{at}] = {self.expression(self.array_type, 1)};"]

    def record(self) -> list[str]:
        field, ty = self.rng.choice(
            (("key", "int"), ("tag", "uchar"), ("pair[i & 1]", "short"), ("pair[0]", "short"), ("weight", "float"))
        )
        if self.rng.random() < 0.2:
            copy = self.name("copy")
            return [
                f"{{ Item {copy} = item; {copy}.{field} = {self.expression(ty, 1)}; if ({self.condition(1)}) item = {copy}; }}"
            ]
        return [f"item.{field} = {self.expression(ty, 1)};"]

    def output(self) -> list[str]:
        if self.rng.random() < 0.5:
            return [f"out[{self.place}] = {self.expression(self.own, 1)};"]
        at = self.pick("0", "1", "(n & 3)", f"(({self.integer_variable()}) & 3)")
        return [f"second[i * {OWN_ITEMS} + {at}] = {self.expression(self.second, 1)};"]

    def count(self) -> list[str]:
        function, first = self.rng.choice(ATOMICS)
        array = "counts" if self.grouped and self.rng.random() < 0.5 else "bins"
        value = "" if function in ("inc", "dec") else f", {self.expression('uint', 1)}"
        at = f"(({self.integer_variable()}) & 7)"
        if self.of_atomics.random() < 0.3:  # all work-items in one place are another case than each in its own
            at = str(self.of_atomics.randrange(8))
        if array == "bins" and self.counts_only and value:
            function = self.of_atomics.choice(("add", "sub"))
        return [f"atomic_{function}(&{array}[{first} + {at}]{value});"]

    def exchange_own(self) -> list[str]:
        """An atomic function whose result counts, on what no other work-item uses."""
        name = next(n for n, ty in self.variables.items() if ty == self.own)
        function = self.pick("add", "sub", "xchg", "min", "max", "and", "or", "xor", "cmpxchg", "inc", "dec")
        values = {"inc": 0, "dec": 0, "cmpxchg": 2}.get(function, 1)
        given = "".join(f", {self.expression(self.own, 1)}" for _ in range(values))
        return [f"{name} = atomic_{function}(&out[{self.place}]{given});"]

    def prefix(self) -> list[str]:
        """Sums over the group's work-items, by doubling steps."""
        ty, step, part = self.local_type, self.name("step"), self.name("part")
        target, own = self.rng.choice(list(self.variables.items()))
        place = self.pick("lsz - 1u", "lid", "lid / 2u")
        fence = "barrier(CLK_LOCAL_MEM_FENCE);"
        return [
            f"{fence} shared[lid] = {self.expression(ty, 1)}; {fence}",
            f"for (uint {step} = 1; {step} < lsz; {step} *= 2) {{",
            f"  {ty} {part} = shared[lid];",
            f"  if (lid >= {step}) {part} = {self.arithmetic(ty, '+', part, f'shared[lid - {step}]')};",
            f"  {fence} shared[lid] = {part}; {fence}",
            "}",
            f"{target} = {self.convert(own, ty, f'shared[{place}]')};",
        ]

    def call(self) -> list[str]:
        state = self.name("state")
        target = self.rng.choice([n for n, ty in self.variables.items() if ty == "uint"])
        return [
            f"{{ uint {state} = {self.expression('uint', 1)}; {target} = helper({self.expression('uint', 1)}, &{state}) + {state}; }}"
        ]

    def leave(self) -> list[str]:
        how = ["break", "continue"]
        if not self.grouped and self.rng.random() < 0.3:
            label = self.name("out")
            self.labels.append(label)
            how = [f"goto {label}"]
        return [f"if ({self.condition(1)}) {self.rng.choice(how)};"]

    def finish(self) -> list[str]:
        return [f"if ({self.condition(1)}) {{ out[{self.place}] = {self.expression(self.own, 1)}; return; }}"]

    def exchange(self) -> list[str]:
        offset = self.pick(str(self.number(1, 9)), "(uint)(n & 7)", "m", "lsz - 1u")
        target = [n for n, ty in self.variables.items() if ty == self.local_type]
        fence = "barrier(CLK_LOCAL_MEM_FENCE);"
        read = f"shared[(lid + {offset}) % lsz]"
        use = (
            f"{target[0]} = {read};"
            if target
            else f"{(own := self.rng.choice(list(self.variables)))} = {self.convert(self.variables[own], self.local_type, read)};"
        )
        return [fence, f"shared[lid] = {self.expression(self.local_type, 1)};", fence, use]

    def uniform_condition(self) -> str:
        return self.pick("(n > 4)", "(m & 1u)", "(n & 1)", "(m > 12u)")

    def branch(self, depth: int) -> list[str]:
        uniform = self.uniform and self.rng.random() < 0.3
        test = self.uniform_condition() if uniform else self.condition(2)
        lines = [f"if ({test}) {{", *self.block(depth, self.number(1, 3), uniform=uniform), "}"]
        if self.rng.random() < 0.5:
            lines[-1] = "} else {"
            lines += [*self.block(depth, self.number(1, 2), uniform=uniform), "}"]
        return lines

    def loop(self, head: str, tail: str, depth: int, *, uniform: bool, before: str = "") -> list[str]:
        # What leaves a loop early is divergent, so a loop with barriers in it must not be left early.
        kept = self.in_loop
        self.in_loop = 0 if uniform and self.grouped and self.uniform else kept + 1
        body = self.block(depth, self.number(1, 3), uniform=uniform and self.in_loop == 0)
        self.in_loop = kept
        return [*([before] if before else []), head, *body, tail]

    def counted(self, depth: int) -> list[str]:
        counter = self.name("q")
        uniform = self.rng.random() < 0.6
        limit = (
            self.pick("n", "4", "(int)(m & 3u)", "3")
            if uniform
            else self.pick("(int)(i & 7)", f"(int)(({self.integer_variable()}) & 7)", "TABLE[i & 15]", "(int)(i % 3)")
        )
        self.counters.append(counter)
        kind = self.pick("up", "up", "down", "unsigned")
        head = {
            "up": f"for (int {counter} = 0; {counter} < {limit}; {counter}++) {{",
            "down": f"for (int {counter} = {limit}; {counter} > 0; {counter}--) {{",
            "unsigned": f"for (uint {counter} = 1; {counter} < (uint)({limit}) * 3u; {counter} += 2u) {{",
        }[kind]
        lines = self.loop(head, "}", depth, uniform=uniform)
        self.counters.remove(counter)
        return lines

    def bounded(self, depth: int) -> list[str]:
        fuel = self.name("fuel")
        test = self.condition(1)
        return self.loop(
            f"while ({test} && {fuel}-- > 0) {{", "}", depth, uniform=False, before=f"int {fuel} = {self.number(1, 9)};"
        )

    def repeated(self, depth: int) -> list[str]:
        fuel = self.name("fuel")
        test = self.condition(1)
        return self.loop(
            "do {",
            f"}} while (--{fuel} > 0 && {test});",
            depth,
            uniform=False,
            before=f"int {fuel} = {self.number(1, 6)};",
        )

    def switch(self, depth: int) -> list[str]:
        uniform = self.uniform and self.rng.random() < 0.2
        value = self.pick("n", "(int)m & 7") if uniform else f"(int)(({self.integer_variable()}) & 7)"
        lines = [f"switch ({value}) {{"]
        kept, self.in_loop = self.in_loop, 0
        for label in self.rng.sample(range(9), self.number(2, 5)):
            lines += [f"case {label}: {{", *self.block(depth, self.number(1, 2), uniform=uniform)]
            lines.append("} break;" if self.rng.random() < 0.6 else "}")
        if self.rng.random() < 0.6:
            lines += ["default: {", *self.block(depth, 1, uniform=uniform), "}"]
        self.in_loop = kept
        return [*lines, "}"]

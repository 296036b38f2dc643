"""Input: a seed. Output: a file of random Brook+ kernels whose results are fully defined, and arguments for them.

Everything in which AMD's compiler or its CPU run-time is known to differ, or that C++ leaves open, is kept out:
overflow of signed integers, divisors that may be 0, conversions out of range, gathers outside of arrays or within an
index, `continue` in `do`, `&=` and its kind, integers with doubles, and fractions and signs of negative numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from verification.brook_oracle.amd import Array, Kernel, Sample

BASES = ("int", "uint", "float", "double")
SMALL = ("char", "uchar", "short", "ushort")
"""Bases of streams only: their elements are converted."""
WIDTHS = {"int": 4, "uint": 4, "float": 4, "double": 2}
LETTERS = "xyzw"
ROW, SIDE, CONSTANTS = 16, 8, 8
"""Elements of gather arrays of one dimension, of each of two, and of constant arrays: powers of two, to mask with."""


def of(base: str, width: int) -> str:
    return base if width == 1 else f"{base}{width}"


def split(name: str) -> tuple[str, int]:
    """The base and the width of a type."""
    return (name[:-1], int(name[-1])) if name[-1].isdigit() else (name, 1)


@dataclass
class Scope:
    """Names that expressions may use. ``readable``: variables and parameters by type; ``writable``: those of them that
    statements may change; ``gathers``: what to put an index into, by type."""

    readable: dict[str, list[str]] = field(default_factory=dict)
    writable: dict[str, list[str]] = field(default_factory=dict)
    gathers: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    helpers: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    position: str = ""

    def add(self, kind: str, name: str, *, writable: bool = False) -> None:
        self.readable.setdefault(kind, []).append(name)
        if writable:
            self.writable.setdefault(kind, []).append(name)


class Maker:
    """Makes a file: ``helpers_text`` are kernels that the host does not call, and ``kernels`` those that it does.

    ``weak``: operands and what is assigned have other types than the result, as ``-a`` allows. ``divides``: there are
    quotients and roots, which chips round in ways of their own.
    """

    def __init__(self, seed: int, count: int, *, weak: bool = False, divides: bool = True) -> None:
        self.random = random.Random(seed)
        self.weak = weak
        self.divides = divides
        self.helpers: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        self.procedures: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        self.structs = [self.struct() for _ in range(2)]
        parts = [self.struct_text(number) for number in range(len(self.structs))]
        parts += [self.helper(number) for number in range(count // 4)]
        parts += [self.procedure(number) for number in range(count // 8)]
        self.helpers_text = "\n".join(parts)
        self.kernels = [self.reduction(number) if self.one_in(8) else self.kernel(number) for number in range(count)]

    def one_in(self, count: int) -> bool:
        return self.random.randrange(count) == 0

    def kind(self) -> str:
        base = self.random.choices(BASES, (4, 3, 6, 1))[0]
        return of(base, self.random.choice((1, 1, 1, 2, 3, 4)) if base != "double" else self.random.choice((1, 1, 2)))

    # -- expressions ---------------------------------------------------------------------------------------------------

    def literal(self, base: str) -> str:
        number = self.random.randrange(1, 9)
        fraction = self.random.choice((0.0, 0.25, 0.5, 0.125))
        sign = "-" if self.one_in(4) and base != "uint" else ""
        if base == "int":
            return f"({sign}{number})" if sign else str(number)
        if base == "uint":
            return f"{self.random.choice((number, 0xFF0F0F, 0x7FFFFFFF))}u"
        if self.weak and base == "double":  # a bare one would take another operand's type (docs/brook.md)
            return f"((double)({sign}{number + fraction}))"
        suffix = "f" if base == "float" else ""
        return f"({sign}{number + fraction}{suffix})" if sign else f"{number + fraction}{suffix}"

    def constant(self, kind: str) -> str:
        base, width = split(kind)
        literals = [self.literal(base) for _ in range(width)]
        return literals[0] if width == 1 else f"{kind}({', '.join(literals)})"

    def every(self, kind: str, literal: str) -> str:
        """A literal in every component."""
        _, width = split(kind)
        return literal if width == 1 else f"{kind}({', '.join([literal] * width)})"

    def leaf(self, scope: Scope, kind: str) -> str:
        base, width = split(kind)
        choices = list(scope.readable.get(kind, []))
        wide = [(name, w) for w in range(2, WIDTHS[base] + 1) for name in scope.readable.get(of(base, w), [])]
        if wide and (not choices or self.one_in(3)):
            name, other = self.random.choice(wide)
            letters = "".join(self.random.choice(LETTERS[:other]) for _ in range(width))
            return f"{name}.{letters}"
        if choices and not self.one_in(6):
            return self.random.choice(choices)
        if scope.gathers.get(kind) and not self.one_in(3):
            return self.gather(scope, kind)
        return self.constant(kind)

    def gather(self, scope: Scope, kind: str) -> str:
        name, rank, size = self.random.choice(scope.gathers[kind])
        bare = Scope(scope.readable, scope.writable, {}, {})  # AMD's compiler fails at gathers within an index
        indices = [f"[({self.expression(bare, 'int', 1)}) & {size - 1}]" for _ in range(rank)]
        return name + "".join(indices)

    def expression(self, scope: Scope, kind: str, depth: int) -> str:
        if depth <= 0 or self.one_in(7):
            return self.leaf(scope, kind)
        base, width = split(kind)
        again = depth - 1
        a, b = self.expression(scope, kind, again), self.expression(scope, kind, again)
        if self.weak and self.one_in(2):
            return self.mixed(scope, kind, again)
        if scope.helpers.get(kind) and self.one_in(6):
            name, kinds = self.random.choice(scope.helpers[kind])
            return f"{name}({', '.join(self.expression(scope, one, again) for one in kinds)})"
        if scope.gathers.get(kind) and self.one_in(5):
            return self.gather(scope, kind)
        if width > 1 and self.one_in(5):
            return f"{kind}({', '.join(self.expression(scope, base, again) for _ in range(width))})"
        if self.one_in(6):
            return f"(({self.condition(scope, again)}) ? ({a}) : ({b}))"
        if self.one_in(6):
            return self.converted(scope, kind, again)
        made = self.of_integers(kind, a, b) if base in ("int", "uint") else self.of_reals(kind, a, b)
        return made

    def mixed(self, scope: Scope, kind: str, depth: int) -> str:
        """An operation on operands of two types. The cast is for AMD's C++, in which both values of ``?:`` and all
        arguments of a function must have one type."""
        a = self.expression(scope, kind, depth)
        b = self.expression(scope, self.lesser(kind), depth)
        if self.one_in(2):
            a, b = b, a
        base, _ = split(kind)
        operator = self.random.choice("+-" if base in ("int", "uint") else "+-*")
        return f"(({kind})({a} {operator} {b}))"

    def lesser(self, kind: str) -> str:
        """A type that is converted to this one: of a base that C converts, as a scalar, or of as many components or
        more, of which the first are taken."""
        base, width = split(kind)
        lesser = {"int": ("int",), "uint": ("uint", "int"), "float": ("float", "int", "uint"),
                  "double": ("double", "float")}[base]  # fmt: skip
        chosen = self.random.choice(lesser)
        wider = self.random.randrange(width, WIDTHS[chosen] + 1)
        return of(chosen, self.random.choice((1, width, wider)) if width > 1 else 1)

    def of_integers(self, kind: str, a: str, b: str) -> str:
        base, _ = split(kind)
        suffix = "u" if base == "uint" else ""
        small = self.every(kind, f"1023{suffix}")
        count = self.every(kind, f"{self.random.randrange(1, 8)}{suffix}")
        choices = [
            f"({a} + {b})", f"({a} - {b})", f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})", f"(~{a})",
            f"(({a} & {small}) * ({b} & {small}))", f"({a} / {count})", f"({a} % {count})",
            f"(({a} & {small}) << {count})", f"({a} >> {count})", f"max({a}, {b})", f"min({a}, {b})",
        ]  # fmt: skip
        if base == "int":
            choices += [f"abs(({a}) & {small})", f"(-(({a}) & {small}))", f"sign({a})"]
        return self.random.choice(choices)

    def of_reals(self, kind: str, a: str, b: str) -> str:
        base, width = split(kind)
        suffix = "f" if base == "float" else ""
        one, low, high = (self.every(kind, f"{n}{suffix}") for n in ("1.0", "0.25", "3.5"))
        choices = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} + {b})", f"({a} * {b})", f"(-{a})", f"abs({a})",
            f"floor({a})", f"frac(abs({a}))", f"round({a})", f"max({a}, {b})", f"min({a}, {b})",
            f"clamp({a}, {low}, {high})", f"lerp({a}, {b}, {low})",
        ]  # fmt: skip
        if self.divides:
            choices += [f"({a} / (abs({b}) + {one}))", f"sqrt(abs({a}))", f"fmod({a}, abs({b}) + {one})"]
        if kind == "float":
            choices += [f"dot(float2({a}, {b}), float2({b}, {a}))", f"sign(abs({a}) + 1.0f)"]
        if width == 3 and base == "float":
            choices.append(f"cross({a}, {b})")
        return self.random.choice(choices)

    def converted(self, scope: Scope, kind: str, depth: int) -> str:
        base, width = split(kind)
        other = of(self.random.choice([one for one in BASES if width <= WIDTHS[one]]), width)
        value = self.expression(scope, other, depth)
        suffix = {"float": "f", "double": ""}.get(split(other)[0])
        if base in ("int", "uint") and suffix is not None:  # NaN and infinities are converted in ways of their own
            low, high = ("0.0", "60000.0") if base == "uint" else ("-60000.0", "60000.0")
            bounds = [self.every(other, f"({bound}{suffix})") for bound in (low, high)]
            value = f"min(max({value}, {bounds[0]}), {bounds[1]})"
        if (base, split(other)[0]) == ("int", "uint"):  # sums of large numbers would overflow
            value = f"({value}) & {self.every(other, '65535u')}"
        return f"(({kind})({value}))"

    def condition(self, scope: Scope, depth: int) -> str:
        kind = self.kind()
        a, b = self.expression(scope, kind, depth), self.expression(scope, kind, depth)
        if self.weak and self.one_in(3) and kind != "uint":
            b = self.expression(scope, self.lesser(kind), depth)
        test = f"({a} {self.random.choice(('<', '<=', '>', '>=', '==', '!='))} {b})"
        if split(kind)[1] > 1:
            test = f"{self.random.choice(('any', 'all'))}{test}"
            return f"({test} {self.random.choice(('!=', '=='))} {self.zero(kind)})" if self.one_in(3) else test
        if depth > 0 and self.one_in(3):
            return f"({test} {self.random.choice(('&&', '||'))} {self.condition_of(scope, kind, depth - 1)})"
        return f"(!{test})" if self.one_in(6) else test

    def condition_of(self, scope: Scope, kind: str, depth: int) -> str:
        """One whose operands have a type: those of && must."""
        a, b = self.expression(scope, kind, depth), self.expression(scope, kind, depth)
        return f"({a} {self.random.choice(('<', '>', '!='))} {b})"

    def zero(self, kind: str) -> str:
        return {"int": "0", "uint": "0u", "float": "0.0f", "double": "0.0"}[split(kind)[0]]

    # -- statements ----------------------------------------------------------------------------------------------------

    def kept_small(self, kind: str, value: str) -> str:
        """A value that a loop may add to itself again and again."""
        base, _ = split(kind)
        if base == "int":
            return f"({value}) & {self.every(kind, '65535')}"
        if base == "uint":
            return value
        suffix = "f" if base == "float" else ""
        low, high = (self.every(kind, f"({n}{suffix})") for n in ("-30000.0", "30000.0"))
        return f"min(max({value}, {low}), {high})"

    def assignment(self, scope: Scope, indent: str) -> str:
        kind = self.random.choice([one for one, names in scope.writable.items() if names])
        base, width = split(kind)
        name = self.random.choice(scope.writable[kind])
        if width > 1 and self.one_in(3):
            count = self.random.randrange(1, width + 1)
            letters = "".join(self.random.sample(LETTERS[:width], count))
            part = of(base, count)
            return f"{indent}{name}.{letters} = {self.kept_small(part, self.expression(scope, part, 2))};\n"
        value = self.expression(scope, kind, 3)
        if self.one_in(3):
            operators = ("+=", "-=", "*=") if base in ("float", "double") else ("+=", "-=")
            again = self.kept_small(kind, name)
            return f"{indent}{name} {self.random.choice(operators)} {value};\n{indent}{name} = {again};\n"
        if self.weak and base in ("float", "double", "uint") and self.one_in(2):
            return f"{indent}{name} = {self.expression(scope, self.lesser(kind), 2)};\n"
        return f"{indent}{name} = {self.kept_small(kind, value)};\n"

    def block(self, scope: Scope, depth: int, indent: str, counters: list[str]) -> str:
        lines = ""
        for _ in range(self.random.randrange(1, 4)):
            choice = self.random.randrange(8) if depth else 0
            if choice == 5:
                lines += f"{indent}if ({self.condition(scope, 1)})\n{indent}{{\n"
                lines += self.block(scope, depth - 1, indent + "    ", counters) + f"{indent}}}\n"
                if self.one_in(2):
                    lines += f"{indent}else\n{indent}{{\n"
                    lines += self.block(scope, depth - 1, indent + "    ", counters) + f"{indent}}}\n"
            elif choice >= 6 and counters:
                lines += self.loop(scope, depth, indent, counters)
            else:
                lines += self.assignment(scope, indent)
        return lines

    def loop(self, scope: Scope, depth: int, indent: str, counters: list[str]) -> str:
        counter, rest = counters[0], counters[1:]
        inner = Scope(scope.readable | {"int": [*scope.readable.get("int", []), counter]}, scope.writable,
                      scope.gathers, scope.helpers)  # fmt: skip
        body = self.block(inner, depth - 1, indent + "    ", rest)
        count = self.random.randrange(1, 6)
        if self.one_in(3):
            end = f"{indent}    if ({self.condition(inner, 1)}) {{ break; }}\n"
            body = end + body if self.one_in(2) else body + end
        way = self.random.randrange(3)
        if way == 0:
            if self.one_in(4):
                body += f"{indent}    if ({self.condition(inner, 1)}) {{ continue; }}\n"
                body += self.assignment(inner, indent + "    ")
            step = self.random.choice((f"{counter}++", f"{counter} += 1", f"{counter} = {counter} + 1"))
            return f"{indent}for ({counter} = 0; {counter} < {count}; {step})\n{indent}{{\n{body}{indent}}}\n"
        start, step = f"{indent}{counter} = 0;\n", f"{indent}    {counter} = {counter} + 1;\n"
        if way == 1:
            return f"{start}{indent}while ({counter} < {count})\n{indent}{{\n{step}{body}{indent}}}\n"
        return f"{start}{indent}do\n{indent}{{\n{step}{body}{indent}}} while ({counter} < {count});\n"

    # -- kernels -------------------------------------------------------------------------------------------------------

    def struct(self) -> list[tuple[str, str]]:
        """The members of a struct, types and names."""
        return [(self.kind(), f"m{place}") for place in range(self.random.randrange(1, 4))]

    def struct_text(self, number: int) -> str:
        members = "".join(f"    {kind} {name};\n" for kind, name in self.structs[number])
        return f"typedef struct S{number}_t\n{{\n{members}}} S{number};\n"

    def procedure(self, number: int) -> str:
        """A kernel that gives back its results through its outputs."""
        kinds = tuple(self.kind() for _ in range(self.random.randrange(1, 3)))
        scope = Scope(helpers=dict(self.helpers))
        for place, one in enumerate(kinds):
            scope.add(one, f"a{place}")
        results = tuple(self.kind() for _ in range(self.random.randrange(1, 3)))
        body = "".join(f"    r{place} = {self.expression(scope, one, 2)};\n" for place, one in enumerate(results))
        self.procedures.append((f"p{number}", kinds, results))
        parameters = [f"{one} a{place}<>" for place, one in enumerate(kinds)]
        parameters += [f"out {one} r{place}<>" for place, one in enumerate(results)]
        return f"kernel void p{number}({', '.join(parameters)})\n{{\n{body}}}\n"

    def helper(self, number: int) -> str:
        kind, kinds = self.kind(), tuple(self.kind() for _ in range(self.random.randrange(1, 4)))
        scope = Scope(helpers=dict(self.helpers))
        for place, one in enumerate(kinds):
            scope.add(one, f"a{place}")
        local = self.kind()
        start = self.expression(scope, local, 1)
        scope.add(local, "t", writable=True)
        body = f"    {local} t = {start};\n" + self.assignment(scope, "    ")
        result = self.expression(scope, kind, 2)
        name = f"h{number}"
        self.helpers.setdefault(kind, []).append((name, kinds))
        parameters = ", ".join(f"{one} a{place}" for place, one in enumerate(kinds))
        return f"kernel {kind} {name}({parameters})\n{{\n{body}    return {result};\n}}\n"

    def kernel(self, number: int) -> str:
        scope = Scope(helpers=dict(self.helpers))
        declared, copies = [], []
        for place in range(self.random.randrange(1, 4)):
            kind = self.kind()
            if self.one_in(8):
                which = self.random.randrange(len(self.structs))
                declared.append(f"S{which} s{place}<>")
                for member, name in self.structs[which]:
                    scope.add(member, f"s{place}.{name}")
                continue
            if self.one_in(5):
                small, width = self.random.choice(SMALL), split(kind)[1]
                declared.append(f"{of(small, width)} s{place}<>")
                wide = of("int", width)
                copies.append(f"    {wide} w{place} = ({wide})s{place};\n")
                scope.add(wide, f"w{place}")
                continue
            declared.append(f"{kind} s{place}<>")
            scope.add(kind, f"s{place}")
        for place in range(self.random.randrange(0, 3)):
            kind, rank = self.kind(), self.random.choice((1, 2))
            name = f"g{place}_{rank}"
            declared.append(f"{kind} {name}{'[]' * rank}")
            scope.gathers.setdefault(kind, []).append((name, rank, ROW if rank == 1 else SIDE))
        if self.one_in(4):
            kind = self.random.choice(("float", "float4", "int4", "int"))
            declared.append(f"{kind} c0[{CONSTANTS}]")
            scope.gathers.setdefault(kind, []).append(("c0", 1, CONSTANTS))
        for place in range(self.random.randrange(0, 3)):
            kind = self.kind()
            declared.append(f"{kind} v{place}")
            scope.add(kind, f"v{place}")
        outs = [self.kind() for _ in range(self.random.choice((1, 1, 2, 3)))]
        declared += [f"out {kind} o{place}<>" for place, kind in enumerate(outs)]
        if self.one_in(3):
            copies.append("    int4 at = instance();\n")
            scope.add("int4", "at")
        if self.one_in(4):
            copies.append("    float4 where = indexof(o0);\n")
            scope.add("float4", "where")
        locals_ = []
        for place in range(self.random.randrange(1, 4)):
            kind = self.kind()
            locals_.append(f"    {kind} t{place} = {self.expression(scope, kind, 1)};\n")
            scope.add(kind, f"t{place}", writable=True)
        counters = ["i0", "i1"]
        call = ""
        if self.procedures and self.one_in(3):
            name, kinds, results = self.random.choice(self.procedures)
            given = [self.expression(scope, one, 1) for one in kinds]
            locals_ += [f"    {one} r{place};\n" for place, one in enumerate(results)]
            call = f"    {name}({', '.join([*given, *(f'r{place}' for place in range(len(results)))])});\n"
            for place, one in enumerate(results):
                scope.add(one, f"r{place}")
        if self.one_in(6):
            which = self.random.randrange(len(self.structs))
            locals_.append(f"    S{which} u;\n")
            for member, name in self.structs[which]:
                call += f"    u.{name} = {self.expression(scope, member, 2)};\n"
            for member, name in self.structs[which]:
                scope.add(member, f"u.{name}", writable=True)
        body = "".join([*copies, *locals_]) + "    int i0;\n    int i1;\n" + call
        body += self.block(scope, 2, "    ", counters)
        for place, kind in enumerate(outs):
            body += f"    o{place} = {self.expression(scope, kind, 3)};\n"
        return f"kernel void k{number}({', '.join(declared)})\n{{\n{body}}}\n"

    def reduction(self, number: int) -> str:
        """One whose order does not matter."""
        base = self.random.choice(("int", "uint"))
        kind = of(base, self.random.choice((1, 1, 2, 4)))
        forms = ["r += s;", "r = r + s;", "r = max(r, s);", "r = min(s, r);", "r = r ^ s;", "r = s | r;", "r = r & s;"]
        form = self.random.choice(forms)
        return f"reduce void k{number}({kind} s<>, reduce {kind} r<>)\n{{\n    {form}\n}}\n"


SHAPES = ((1,), (7,), (61,), (5, 13), (8, 8))


def arguments(kernel: Kernel, sample: Sample, seed: int) -> tuple[dict[str, Array], dict[str, tuple[int, ...]]]:
    """Arrays for a call, by parameter, and the shapes of streams and arrays."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    arrays: dict[str, Array] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for parameter in kernel.parameters:
        if parameter.kind == "gather":
            where: tuple[int, ...] = (ROW,) if parameter.name.endswith("_1") else (SIDE, SIDE)
        elif parameter.kind == "constant":
            where = parameter.sizes
        elif parameter.kind == "value":
            where = ()
        else:
            where = shape
        if parameter.kind not in ("value", "constant"):
            shapes[parameter.name] = where
        if parameter.kind in ("output", "reduce"):
            continue
        arrays[parameter.name] = elements(rng, parameter.type, where, sample)
    return arrays, shapes


def elements(rng: np.random.Generator, kind: str, shape: tuple[int, ...], sample: Sample) -> Array:
    """Random elements of any type; a struct's member by member."""
    if kind not in sample.structs:
        base, width = split(kind)
        return values(rng, base, (*shape, width) if width > 1 else shape)
    made = np.zeros(shape, sample.structs[kind])
    for name in made.dtype.names or ():
        member = made[name]
        bases = {"i4": "int", "u4": "uint", "f4": "float", "f8": "double"}
        member[...] = values(rng, bases[member.dtype.str[1:]], member.shape)
    return made


def values(rng: np.random.Generator, base: str, shape: tuple[int, ...]) -> Array:
    """Random elements: reals in eighths, so that few operations round; integers small and, unsigned, of all sizes."""
    if base in ("float", "double"):
        made = np.asarray(rng.integers(-64, 65, shape) / 8.0)
    elif base == "uint":
        made = np.asarray(rng.integers(0, 2**32, shape) >> rng.integers(0, 32, shape))
    elif base == "int":
        made = np.asarray(rng.integers(-1000, 1000, shape))
    else:
        bits = 7 if "char" in base else 15
        made = np.asarray(rng.integers(0 if base[0] == "u" else -(2**bits), 2**bits, shape))
    dtype = {"int": "i4", "uint": "u4", "float": "f4", "double": "f8", "char": "i1", "uchar": "u1", "short": "i2",
             "ushort": "u2"}[base]  # fmt: skip
    return made.astype(dtype)

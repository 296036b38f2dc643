"""Collects functions of one program. Output: one OpenCL C text, and what it captured of Python."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headwater.errors import Span
from headwater.python import helpers
from headwater.python.types import Array, Scalar, Struct, Tuple, Type, Vector

Dialect = Literal["headwater", "cuda"]


@dataclass(frozen=True)
class Captured:
    """A name that a function took from outside: ``holder[key]`` was ``value``."""

    holder: Any
    key: str
    value: Any
    cell: bool = False

    def current(self) -> Any:
        """What the name means now."""
        if self.cell:
            return self.holder.cell_contents
        return self.holder.get(self.key) if isinstance(self.holder, dict) else getattr(self.holder, self.key, None)

    def same(self) -> bool:
        """Whether it still means the same."""
        now = self.current()
        if now is self.value:
            return True
        if isinstance(now, np.ndarray) or isinstance(self.value, np.ndarray):
            return False
        try:
            return type(now) is type(self.value) and bool(now == self.value)
        except Exception:  # whatever a comparison may raise
            return False


@dataclass(frozen=True)
class Hidden:
    """An argument that the launcher adds: extent ("n"), stride ("s") or offset ("o") of the argument at ``position``,
    in elements, a captured device array ("a"), or local memory of which the launch says the size ("l")."""

    kind: Literal["n", "s", "o", "a", "l"]
    position: int
    axis: int = 0


@dataclass(frozen=True)
class Fault:
    """An error in the source of a kernel."""

    span: Span
    message: str
    hint: str
    line: str


@dataclass
class Done:
    """A function that has been translated: its name in C, its text, what it gives back, which parameters it writes
    through, and which extents it wants to be told."""

    name: str
    text: str
    result: Type
    written: frozenset[int]
    hidden: tuple[Hidden, ...]


@dataclass
class Unit:
    """What the functions of one program share."""

    dialect: Dialect = "headwater"
    done: dict[Any, Done] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    helpers: dict[str, None] = field(default_factory=dict)
    structs: dict[str, str] = field(default_factory=dict)
    struct_names: dict[Struct, str] = field(default_factory=dict)
    tables: dict[int, tuple[Any, str, str]] = field(default_factory=dict)
    captured: dict[tuple[int, str], Captured] = field(default_factory=dict)
    arrays: list[Any] = field(default_factory=list)
    """Device arrays that are captured; each is an argument behind the others."""
    dynamic: list[tuple[Any, str]] = field(default_factory=list)
    under_way: list[Any] = field(default_factory=list)
    faults: dict[tuple[Span, str], Fault] = field(default_factory=dict)
    std: str = ""
    synchronises_grid: bool = False

    def helper(self, key: str) -> str:
        """The name of a function of `headwater.python.helpers`, which the text will have."""
        self.helpers[key] = None
        return helpers.name(key)

    def fresh(self, name: str) -> str:
        """A name for a function that no other one has."""
        made, number = c_name(name), 1
        while made in self.names:
            number += 1
            made = f"{c_name(name)}_{number}"
        self.names.add(made)
        return made

    def c_type(self, kind: Type, memory: bool = False) -> str:
        """A type's name in C, which is defined in the text if it has to be; ``memory``: in arrays and arguments, where
        a bool is a byte."""
        if isinstance(kind, (Scalar, Vector)):
            return "uchar" if memory and kind.c == "bool" else kind.c
        if isinstance(kind, Struct):
            if kind not in self.struct_names:
                members = [f"    {self.c_type(part, True)} {c_name(name)};\n" for name, part in kind.fields]
                name, number = kind.c, 1
                while name in self.structs:  # another class has the same name
                    number += 1
                    name = f"{kind.c}_{number}"
                self.structs[name] = f"{name} {{\n{''.join(members)}}};\n"
                self.struct_names[kind] = name
            return self.struct_names[kind]
        if isinstance(kind, Tuple):
            parts = [self.c_type(part) for part in kind.parts]
            name = f"struct tuple_{'_'.join(part.replace(' ', '_').replace('*', 'p') for part in parts)}"
            members = [f"    {part} _{at};\n" for at, part in enumerate(parts)]
            self.structs.setdefault(name, f"{name} {{\n{''.join(members)}}};\n")
            return name
        raise AssertionError(kind)

    def table(self, array: Any, element: Scalar) -> str:
        """The name of a constant array with a copy of the contents."""
        known = self.tables.get(id(array))
        if known is None:
            from headwater.python.expressions import literal

            name = self.fresh("table")
            numbers = ", ".join(literal(v, element).text for v in array.reshape(-1).tolist())
            declared = f"__constant {self.c_type(element, True)} {name}[{array.size}] = {{{numbers}}};\n"
            known = self.tables[id(array)] = (array, name, declared)
        return known[1]

    def capture(self, holder: Any, key: str, value: Any, cell: bool = False) -> None:
        """Keep what a name from outside means."""
        self.captured.setdefault((id(holder), key), Captured(holder, key, value, cell))

    def text(self) -> str:
        """The whole program."""
        parts = [*self.structs.values(), *(declared for _, _, declared in self.tables.values())]
        if any(key.split("_")[0] == "atomic" and "_double_" in f"{key}_" for key in self.helpers):
            parts.insert(0, "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n")
        parts += [helpers.text(key) for key in sorted(self.helpers)]
        return "\n".join([*parts, *(done.text for done in self.done.values())])


@functools.cache
def _reserved() -> frozenset[str]:
    from headwater.opencl.names import BUILTINS

    words = (
        "auto break case char const continue default do double else enum extern float for goto if inline int long "
        "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
        "bool half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t image1d_t image2d_t image3d_t sampler_t "
        "event_t kernel global local constant private generic read_only write_only read_write true false complex "
        "imaginary pipe uniform NULL asm main kernel_exec barrier printf"
    )
    return frozenset((*words.split(), *BUILTINS))


@functools.cache
def c_name(name: str) -> str:
    """A Python name as one that C takes: not a word of the language nor a built-in function's, of ASCII letters."""
    from headwater.python.types import SCALARS

    made = "".join(c if c.isascii() else f"_u{ord(c):x}_" for c in name)
    word = made.rstrip("_")  # with it, max becomes max_, and max_ max__: no two names become one
    base = word.rstrip("0123468")
    if (
        word in _reserved()
        or base in {s.c for s in SCALARS.values()}
        or made.startswith(("CL_", "CLK_", "M_", "FLT_", "DBL_", "INT_", "UINT_", "LONG_", "HUGE_", "__", "as_", "hw_"))
        or made.startswith(("convert_", "INFINITY", "NAN", "MAXFLOAT", "get_", "image", "tuple_", "cl_", "table"))
        or made.isupper()
    ):
        made += "_"
    return made


def array_of(kind: Array, unit: Unit, name: str, const: bool) -> str:
    """The declaration of an array's pointer."""
    qualifier = "const " if const and kind.space == "global" else ""
    space = "" if kind.space == "private" else f"__{kind.space} "
    return f"{space}{qualifier}{unit.c_type(kind.element, True)} *{name}"

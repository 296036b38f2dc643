"""Input: a Python function. Output: what kernels that are made of one have in common: the types that it declares, its
arguments in order, and whether what it took from outside still means the same."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from headwater.errors import LaunchError, SourceError, UsageError
from headwater.python.source import Source, source_of
from headwater.python.types import (
    SAMPLER,
    Array,
    ImageType,
    LocalPointer,
    Scalar,
    Struct,
    Type,
    Vector,
    image,
    of_annotation,
)
from headwater.python.unit import Captured, Fault
from headwater.runtime.images import Image
from headwater.runtime.program import Kernel
from headwater.runtime.values import Sampler

_LINE = re.compile(r"#line (\d+)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBERED = re.compile(r"_\d+$")
"""What the translator puts behind names that C has already."""
Watched = list[tuple[Any, str, Any, Captured]]
"""Names from outside of a function: their holder, key and value, quick to look at."""


def watch(captured: Sequence[Captured]) -> Watched:
    """The names that a translation took from outside, to be asked with `unchanged`."""
    return [(c.holder, c.key, c.value, c) for c in captured]


def unchanged(watched: Watched) -> bool:
    """Whether the names still mean the same."""
    for at, (holder, key, value, captured) in enumerate(watched):
        now = holder.get(key) if type(holder) is dict else captured.current()
        if now is not value:
            if not captured.same():
                return False
            watched[at] = (holder, key, now, captured)
    return True


def annotations_of(function: Any) -> dict[str, Any]:
    """A function's annotations; those that are text, as ``from __future__ import annotations`` makes them, evaluated
    where the function was defined."""
    found = dict(function.__annotations__)
    if any(isinstance(value, str) for value in found.values()):
        names = dict(function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                names[name] = cell.cell_contents
            except ValueError:
                continue
        for name, value in found.items():
            if isinstance(value, str):
                try:
                    found[name] = eval(value, names)
                except Exception as error:
                    raise UsageError(f"the annotation {name}: {value} cannot be evaluated: {error}") from None
    return found


def word_at(text: str, line: int, column: int) -> str:
    """The name that stands at a column of OpenCL C, in what ``#line`` calls that line; "" if there is none."""
    number = 0
    for made in text.splitlines():
        if found := _LINE.match(made):
            number = int(found[1])
            continue
        word = _WORD.match(made, max(column - 1, 0)) if number == line else None
        if word is not None:
            return _NUMBERED.sub("", word[0])
        number += 1
    return ""


def column_of(word: str, line: str) -> int:
    """Where a word stands in a line of Python, or where the statement begins if it does not stand there just once."""
    places = [found.start() for found in re.finditer(rf"\b{re.escape(word)}\b", line)] if word else []
    return (places[0] if len(places) == 1 else len(line) - len(line.lstrip())) + 1


def source_error(faults: list[Fault]) -> SourceError:
    """One error for all faults of a function, the first of the text first."""
    faults = sorted(faults, key=lambda fault: (fault.span.file, fault.span.line, fault.span.column))
    first, others = faults[0], faults[1:]
    details = "\n".join(
        str(SourceError(f.message, f.span, hint=f.hint, source_line=f.line)) for f in others
    )  # fmt: skip
    return SourceError(first.message, first.span, hint=first.hint, source_line=first.line, details=details)


class PythonFunction(Kernel):
    """A kernel that is made of a Python function."""

    def __init__(self, function: Any) -> None:
        self.source_text: Source = source_of(function)
        self.python_function = function
        self.name = function.__name__
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        args = self.source_text.tree.args
        self.parameters = [a.arg for a in (*args.posonlyargs, *args.args)]
        self._declared: list[Type | None] | None = None

    @property
    def declared(self) -> list[Type | None]:
        """The parameters' types as annotated; None for those that take what they are given."""
        if self._declared is None:
            found = annotations_of(self.python_function)
            self._declared = [self._declaration(name, found[name]) if found.get(name, Any) is not Any else None
                              for name in self.parameters]  # fmt: skip
        return self._declared

    def _declaration(self, name: str, value: Any) -> Type:
        if value is Sampler:
            return SAMPLER
        if value is Image:
            return image()
        kind = of_annotation(value)
        if not isinstance(kind, (Scalar, Vector, Struct, Array, LocalPointer, ImageType)):
            raise UsageError(
                f"parameter {name} of {self.name}: {value!r:.60} is no type of a kernel's argument",
                hint="hw.float32, hw.array(hw.float32, ndim=2), hw.local(hw.int32), hw.image(), or none",
            )
        return kind

    def bound(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments in the parameters' order, some given by name (which are taken out of ``options``), some left out
        that have defaults."""
        count = len(self.parameters)
        if len(args) == count and not any(name in options for name in self.parameters):
            return args
        if len(args) > count:
            raise self.count_error(len(args))
        rest = []
        defaults = self.python_function.__defaults__ or ()
        for at in range(len(args), count):
            name = self.parameters[at]
            if name in options:
                rest.append(options.pop(name))
            elif at - count + len(defaults) >= 0:
                rest.append(defaults[at - count + len(defaults)])
            else:
                raise self.count_error(len(args) + len(rest))
        twice = next((name for name in self.parameters if name in options), None)
        if twice:
            raise LaunchError(f"argument {twice!r} of {self.name} is given twice")
        return (*args, *rest)

    def count_error(self, given: int) -> LaunchError:
        """The error for a wrong number of arguments."""
        count = len(self.parameters)
        return LaunchError(
            f"{self.name} takes {count} argument{'s' * (count != 1)}, {given} given; "
            f"it is defined {self.name}({', '.join(self.parameters)})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        function = self.python_function
        return by_name, (function.__module__, function.__qualname__)


def by_name(module: str, name: str) -> Any:
    """How a pickled kernel comes to life: from where it is defined."""
    from importlib import import_module
    from operator import attrgetter

    return attrgetter(name)(import_module(module))

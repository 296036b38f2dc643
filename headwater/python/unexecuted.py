"""Input: the text of a Python file. Output: its functions, as objects of which nothing has been run.

For those who take texts from strangers. A module's statements are read, not executed: imports of known modules (nothing
is imported: their names stand for tables of what kernels may use), constants, dataclasses, and functions, of which
decorators, annotations and defaults are read in the same way. Whatever else there is, and each name that begins with an
underscore, is a SourceError. Function objects are made of compiled code, which the translator never calls.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import math
import operator
import types as pytypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

import numpy as np

from headwater.errors import SourceError, Span, UsageError
from headwater.python import types, vocabulary
from headwater.python.calls import known_functions
from headwater.python.source import Source, characters, keep_source

MOST_NODES: Final = 20_000
MOST_DEPTH: Final = 400
"""Levels of the syntax tree, of which each term of a sum and each ``elif`` is one: less than any interpreter's limits
on recursion allow the parser and the translator, and more than kernels of people have."""
_MOST_BITS: Final = 64
_MOST_ELEMENTS: Final = 4096
"""Of a tuple, with those of the tuples in it: (A, A) doubles what A has."""
_NUMBERS: Final = (int, float)
_HINT: Final = (
    "imports of headwater, math and numpy, constants, dataclasses, functions and kernels are read; "
    "a file that does more is run by the command line and by Python"
)
_BINARY: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_UNARY: Final[Mapping[type, Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip


class Table:
    """What a module's name stands for: names that kernels may use."""

    def __init__(self, name: str, members: Mapping[str, Any]) -> None:
        self.__name__ = name
        self._members = members

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_members"][name]
        except KeyError:
            raise AttributeError(f"{self.__dict__.get('__name__')} has no {name} for kernels") from None


@dataclasses.dataclass(frozen=True)
class Marked:
    """A function that a decorator makes a kernel, with the decorator's arguments."""

    function: pytypes.FunctionType
    options: Mapping[str, Any]


class _Decorator:
    def __init__(self, name: str) -> None:
        self.__name__ = name


_KERNEL, _STREAM_KERNEL, _DATACLASS = _Decorator("kernel"), _Decorator("stream_kernel"), _Decorator("dataclass")
_MAKERS: Final = (types.array, types.vector, types.local, types.image)


def _headwater() -> dict[str, Any]:
    names = [*vocabulary.WORK_ITEM, *vocabulary.SUB_GROUPS, *(f"atomic_{name}" for name in vocabulary.ATOMICS)]
    names += ["atomic_compare_exchange", "barrier", "mem_fence", "local_array", "private_array", "bool_"]
    names += [name for name in types.SCALARS if name != "bool"]
    names += [f"{scalar.c}{width}" for scalar in types.SCALARS.values() if scalar.kind != "b" for width in (2, 3, 4)]
    found = {name: getattr(vocabulary, name) for name in names}
    makers = {maker.__name__: maker for maker in _MAKERS}
    return {**found, **makers, "cl": vocabulary.cl, "kernel": _KERNEL, "stream_kernel": _STREAM_KERNEL}


def _public(module: Any, kinds: tuple[type, ...]) -> dict[str, Any]:
    """Constants and types of a module, and those of its functions that kernels know."""
    known = known_functions()
    members = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {
        name: value for name, value in members.items()
        if id(value) in known or isinstance(value, _NUMBERS) or (isinstance(value, type) and issubclass(value, kinds))
    }  # fmt: skip


def _modules() -> dict[str, Table]:
    return {
        "headwater": Table("headwater", _headwater()),
        "math": Table("math", _public(math, ())),
        "numpy": Table("numpy", _public(np, (np.number, np.bool_))),
        "dataclasses": Table("dataclasses", {"dataclass": _DATACLASS}),
    }


def _with_depths(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """All nodes, each after those that hold it, with how many do."""
    level, depth = [tree], 0
    while level:
        for node in level:
            yield node, depth
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1


def functions_of(text: str, filename: str) -> list[Marked]:
    """The kernels of a file's text. SourceError for a text that is wrong, or says more than is read here."""
    try:
        tree = ast.parse(text, filename)
    except (SyntaxError, ValueError) as error:
        span = Span(filename, getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1)
        message = getattr(error, "msg", None) or str(error)
        raise SourceError(message, span, source_line=(getattr(error, "text", None) or "").rstrip()) from None
    except (RecursionError, MemoryError):
        raise SourceError("the text is nested too deeply", Span(filename, 1, 1)) from None
    return _Reader(text, filename).read(tree)


class _Reader:
    def __init__(self, text: str, filename: str) -> None:
        self.lines = tuple(io.StringIO(text, newline=None))  # as the parser counts them
        self.filename = filename
        self.names: dict[str, Any] = {}
        self.globals: dict[str, Any] = {"__builtins__": {}}
        self.modules = _modules()
        self.found: list[Marked] = []

    def fault(self, node: Any, message: str, hint: str = "") -> NoReturn:
        line = getattr(node, "lineno", 1)
        shown = self.lines[line - 1].rstrip() if line <= len(self.lines) else ""
        span = Span(self.filename, line, characters(shown, getattr(node, "col_offset", 0)) + 1)
        raise SourceError(message, span, hint=hint, source_line=shown)

    def said(self, node: ast.expr) -> str:
        """An expression as the text has it: its first line, of which messages show no more than 60 characters."""
        last = node.end_col_offset if node.end_lineno == node.lineno else None
        text = self.lines[node.lineno - 1].encode()[node.col_offset : last]
        return f"{text.decode('utf-8', 'replace').rstrip():.60}"

    def read(self, tree: ast.Module) -> list[Marked]:
        self._check(tree)
        for statement in tree.body:
            reader = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if reader is None:
                what = "this statement" if isinstance(statement, ast.Expr) else type(statement).__name__.lower()
                self.fault(statement, f"{what} is not executed here", _HINT)
            try:
                reader(statement)
            except RecursionError:
                self.fault(statement, "the statement is nested too deeply")
        return self.found

    def _check(self, tree: ast.Module) -> None:
        for number, (node, depth) in enumerate(_with_depths(tree)):
            if depth > MOST_DEPTH and hasattr(node, "lineno"):
                self.fault(node, f"this is nested more than {MOST_DEPTH} levels deep", "make it several statements")
            if number > MOST_NODES:
                self.fault(
                    node, f"the text has more than {MOST_NODES:,} parts", "leave out what the kernels do not use"
                )
            for name in _names_in(node):
                if name.startswith("_") and name.strip("_") and not isinstance(node, ast.ImportFrom):
                    self.fault(node, f"{name} begins with an underscore, as Python's inner names do", "another name")

    def _bind(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.globals[name] = value

    # -- statements ----------------------------------------------------------------------------------------------------

    def _expr(self, node: ast.Expr) -> None:
        """A docstring."""
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.fault(node, "this statement is not executed here", _HINT)

    def _pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in self.modules:
                self.fault(node, f"{alias.name} is not imported here", _HINT)
            self._bind(alias.asname or alias.name, self.modules[alias.name])

    def _importfrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__future__" and not node.level:
            return
        module = self.modules.get(node.module or "")
        if module is None or node.level:
            self.fault(node, f"{node.module or '.'} is not imported here", _HINT)
        for alias in node.names:
            self._bind(alias.asname or alias.name, self._member(module, alias.name, node))

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Name):
            self.fault(node, "constants are assigned one by one here", "NAME = number")
        self._bind(target.id, self.value(node.value))

    def _annassign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name) or node.value is None:
            self.fault(node, "constants are assigned one by one here", "NAME = number")
        self._bind(node.target.id, self.value(node.value))

    def _classdef(self, node: ast.ClassDef) -> None:
        decorators = [self.value(one) for one in node.decorator_list]
        if decorators != [_DATACLASS] or node.bases or node.keywords:
            self.fault(node, f"class {node.name} is no plain dataclass", "@dataclass, without base classes")
        fields: list[tuple[str, Any, Any]] = []
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                default = [] if statement.value is None else [self.number(statement.value)]
                fields.append((statement.target.id, self.annotation(statement.annotation), *default))
            elif not isinstance(statement, ast.Pass):
                self._expr(statement) if isinstance(statement, ast.Expr) else self.fault(
                    statement, f"{node.name} has more than fields", "fields: NAME: hw.float32"
                )
        try:
            self._bind(node.name, dataclasses.make_dataclass(node.name, fields))
        except (TypeError, ValueError) as error:
            self.fault(node, str(error))

    def _functiondef(self, node: ast.FunctionDef) -> None:
        if len(node.decorator_list) > 1:
            self.fault(node.decorator_list[1], "a kernel has one decorator here", "@hw.kernel")
        mark, options = self._mark(node.decorator_list[0]) if node.decorator_list else (None, {})
        function = self._function(node)
        self._bind(node.name, function)
        if mark is not None:
            self.found.append(Marked(function, options))

    def _mark(self, node: ast.expr) -> tuple[_Decorator, dict[str, Any]]:
        call = node if isinstance(node, ast.Call) else None
        mark = self.value(node.func if isinstance(node, ast.Call) else node)
        if mark is _STREAM_KERNEL:
            self.fault(node, "stream kernels in Python are not read here", "@hw.kernel, or Brook+")
        if mark is not _KERNEL:
            self.fault(node, f"the decorator {self.said(node)} is not executed here", "@hw.kernel")
        options: dict[str, Any] = {}
        if call is not None:
            for keyword in call.keywords:
                value = self.value(keyword.value)
                if keyword.arg == "options" and isinstance(value, str):
                    options["options"] = value
                elif keyword.arg == "group" and _is_size(value):
                    options["group"] = value
                else:
                    self.fault(keyword.value, "@hw.kernel takes group=(16, 16) and options=…")
            if call.args:
                self.fault(call, "@hw.kernel takes its arguments by name")
        return mark, options

    def _function(self, node: ast.FunctionDef) -> pytypes.FunctionType:
        args = node.args
        parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        bare = ast.FunctionDef(
            name=node.name,
            args=ast.arguments(
                posonlyargs=[ast.copy_location(ast.arg(arg=a.arg), a) for a in args.posonlyargs],
                args=[ast.copy_location(ast.arg(arg=a.arg), a) for a in args.args],
                kwonlyargs=[ast.copy_location(ast.arg(arg=a.arg), a) for a in args.kwonlyargs],
                kw_defaults=[None] * len(args.kwonlyargs),
                vararg=args.vararg and ast.copy_location(ast.arg(arg=args.vararg.arg), args.vararg),
                kwarg=args.kwarg and ast.copy_location(ast.arg(arg=args.kwarg.arg), args.kwarg),
                defaults=[],
            ),
            body=node.body,
            decorator_list=[],
        )
        module = ast.Module([ast.copy_location(bare, node)], [])
        try:
            compiled = compile(module, self.filename, "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            self.fault(node if line is None else ast.Pass(lineno=line, col_offset=0), str(getattr(error, "msg", error)))
        except (RecursionError, MemoryError):
            self.fault(node, "the function is nested too deeply")
        code = next(one for one in compiled.co_consts if isinstance(one, pytypes.CodeType) and one.co_name == node.name)
        defaults = tuple(self.number(one) for one in args.defaults)
        function = pytypes.FunctionType(code, self.globals, node.name, defaults or None)
        named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        function.__kwdefaults__ = {a.arg: self.number(one) for a, one in named if one is not None} or None
        function.__annotations__ = {
            a.arg: self.annotation(a.annotation) for a in parameters if a.annotation is not None
        }
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        last = node.end_lineno or node.lineno
        keep_source(Source(function, node, self.filename, first, self.lines[first - 1 : last]))
        return function

    # -- values --------------------------------------------------------------------------------------------------------

    def annotation(self, node: ast.expr) -> Any:
        value = self.value(node)
        try:
            known = types.of_annotation(value)
        except UsageError as error:  # of a dataclass's fields
            self.fault(node, error.message, error.hint)
        if known is None:
            self.fault(node, f"{self.said(node)} is no type of kernels", "hw.float32, hw.array(hw.float32), …")
        return value

    def number(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not isinstance(value, _NUMBERS):
            self.fault(node, f"{self.said(node)} is no number")
        return value

    def value(self, node: ast.expr) -> Any:
        """What an expression of constants means."""
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, (*_NUMBERS, str)):
                self.fault(node, f"{self.said(node)} is no constant of kernels")
            return self._bounded(node.value, node)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            if node.id in ("int", "float", "bool"):
                return {"int": int, "float": float, "bool": bool}[node.id]
            self.fault(node, f"there is no {node.id}", "constants stand above what uses them")
        if isinstance(node, ast.Attribute):
            return self._member(self.value(node.value), node.attr, node)
        if isinstance(node, ast.Tuple):
            parts = tuple(self.value(one) for one in node.elts)
            if not _is_small(parts):
                self.fault(node, f"a tuple of more than {_MOST_ELEMENTS:,} elements", "pass an array")
            return parts
        if isinstance(node, ast.UnaryOp):
            return self._computed(_UNARY[type(node.op)], [self.number(node.operand)], node)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            a, b = self.number(node.left), self.number(node.right)
            if isinstance(node.op, (ast.Pow, ast.LShift)) and abs(b) > _MOST_BITS:
                self.fault(node, f"{self.said(node)} has more than {_MOST_BITS} bits")
            return self._computed(_BINARY[type(node.op)], [a, b], node)
        if isinstance(node, ast.Subscript):
            return self._array(node)
        if isinstance(node, ast.Call):
            return self._called(node)
        self.fault(node, f"{self.said(node)} is not executed here", "constants are numbers and tuples of them")

    def _member(self, owner: Any, name: str, node: ast.AST) -> Any:
        if not isinstance(owner, Table):
            self.fault(node, f"{name} of what is no module is not read here")
        try:
            return getattr(owner, name)
        except AttributeError as error:
            self.fault(node, str(error))

    def _computed(self, function: Callable[..., Any], values: list[Any], node: ast.expr) -> Any:
        try:
            return self._bounded(function(*values), node)
        except (ArithmeticError, TypeError, ValueError) as error:
            self.fault(node, f"{self.said(node)}: {error}")

    def _bounded(self, value: Any, node: ast.expr) -> Any:
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            self.fault(node, f"a number of more than {_MOST_BITS} bits")
        if not isinstance(value, (*_NUMBERS, str)):
            self.fault(node, "the value is no number")
        return value

    def _array(self, node: ast.Subscript) -> Any:
        element = self.value(node.value)
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        whole = all(isinstance(a, ast.Slice) and a.lower is a.upper is a.step is None for a in axes)
        if not isinstance(element, (types.Scalar, types.Vector)) or not whole or not 1 <= len(axes) <= 3:
            self.fault(node, f"{self.said(node)} is no type of kernels", "hw.float32[:, :]")
        return types.array(element, len(axes))

    def _called(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if not any(function is maker for maker in _MAKERS) and not isinstance(function, types.Scalar):
            self.fault(node, f"{self.said(node.func)} is not called here", "types and constants are read")
        if any(keyword.arg is None for keyword in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            self.fault(node, "starred arguments are not read here")
        if isinstance(function, types.Scalar):  # int("7") would read a text, which kernels do not
            args = [self.number(one) for one in node.args]
        else:
            args = [self.value(one) for one in node.args]
        try:
            return function(*args, **{str(one.arg): self.value(one.value) for one in node.keywords})
        except UsageError as error:
            self.fault(node, error.message, error.hint)
        except (TypeError, ValueError, ArithmeticError) as error:
            self.fault(node, str(error))


def _is_size(value: Any) -> bool:
    return all(isinstance(n, int) for n in (value if isinstance(value, tuple) else (value,)))


def _is_small(value: tuple[Any, ...]) -> bool:
    """Whether a tuple has at most so many elements."""
    left, count = [value], 0
    while left and count <= _MOST_ELEMENTS:
        parts = left.pop()
        count += len(parts)
        left += [part for part in parts if isinstance(part, tuple)]
    return count <= _MOST_ELEMENTS


def _names_in(node: ast.AST) -> Iterator[str]:
    """The names that a node says itself."""
    for field in ("id", "attr", "arg", "name", "asname", "module"):
        found = getattr(node, field, None)
        if isinstance(found, str):
            yield found
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names

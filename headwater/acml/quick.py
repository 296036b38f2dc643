"""Input: a routine's row, a loop of NumPy, or a transform. Output: a builtin function of Python that tests and makes
its usual calls quickly.

The functions are in `call.c`, and follow a plan that is written here. That of routines takes calls whose flags are
capital letters, whose sizes are Python's ints, and whose arrays are of the right type and in Fortran's order. All
others, wrong ones among them, go to the general way (`headwater.acml.native.Routine.general`), which names what is
wrong. To test the arguments of a product of 8 x 8 in Python takes five times as long as the product.
"""

from __future__ import annotations

import ast
import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from headwater.acml.routines import Parameter, Row
from headwater.base import cache as disk
from headwater.base.native_library import function
from headwater.errors import HeadwaterError
from headwater.native.compile_c import compile_c
from headwater.native.shared import library_name, link_shared

Array = np.ndarray[Any, np.dtype[Any]]
_HEAD = object.__basicsize__
_FASTCALL, _FASTCALL_WITH_NAMES = 0x80, 0x82
_INTERFACE = (
    "PyObject_Vectorcall PyLong_AsVoidPtr PyLong_AsLongLongAndOverflow PyFloat_AsDouble PyComplex_RealAsDouble "
    "PyComplex_ImagAsDouble PyErr_Occurred PyErr_Clear PyLong_FromLongLong PyFloat_FromDouble PyComplex_FromDoubles "
    "Py_IncRef Py_DecRef PyEval_SaveThread PyEval_RestoreThread PyMem_RawMalloc PyMem_RawFree"
).split()
_KINDS = (
    "flag digit int any leading increment scalar vector matrix array pivots steps blocks fixed asked size"
).split()  # call.c's order
_RESULTS = ("", "info", "i", "f", "d", "ff", "dd")
_CODES = (
    "end constant value Add Sub Mult FloorDiv min max if_n of kept columns sdd_u sdd_vt sdd_work"
).split()  # call.c's order


class Planned:
    """An object that `call.c` takes its plan from: its address is behind the object's head. No attribute leads there:
    without a plan, or with another one, a call would crash the process."""

    __slots__ = ("plan",)

    def __reduce__(self) -> tuple[Any, ...]:  # copies of a builtin function are looked up by name in what this gives
        return import_module, ("headwater.acml",)


_plan: Any = Planned.__dict__["plan"]
del Planned.plan  # type: ignore[attr-defined]


class _Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


@cache
def library() -> Path | None:
    """The compiled `call.c`; None where Python is another one, or there is no compiler: all calls are general then."""
    if not _is_known():
        return None
    source = Path(__file__).with_name("call.c").read_text(encoding="utf-8")
    key = disk.key("acml calls 1", source, sys.platform)
    try:
        entry = disk.get(key)
        if entry is None:
            made = link_shared(
                compile_c(source), exports=["hw_set", "hw_call", "hw_vector", "hw_transform", "hw_product"]
            )
            entry = disk.put(key, {library_name(): made})
        path = entry / library_name()
        objects = [id(value) for value in (None, int, float, complex, np.ndarray)]
        addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _INTERFACE]
        table = [*objects, _HEAD, *addresses]
        function(path, "hw_set", None, [ctypes.c_void_p])((ctypes.c_void_p * len(table))(*table))
    except HeadwaterError:
        return None
    return path


def _is_known() -> bool:
    """Whether objects, arrays and letters are laid out as `call.c` has them (CPython with its lock)."""
    if sys.implementation.name != "cpython" or sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if _HEAD != 16:  # without its lock (free-threaded), arrays may change between a test and the call
        return False
    probe, planned, text = np.zeros((3, 5), order="F"), Planned(), "xNx"
    _plan.__set__(planned, 2**40)

    def word(value: Any, at: int) -> int | None:
        return ctypes.c_void_p.from_address(id(value) + at).value

    fields = [word(probe, _HEAD + 8 * at) for at in (0, 2, 3, 5)]
    shape, strides = (ctypes.c_longlong * 2 for _ in range(2))
    return (
        word(probe, _HEAD - 8) == id(np.ndarray)
        and word(planned, _HEAD) == id(_plan.__get__(planned))
        and fields[0] == probe.ctypes.data
        and ctypes.c_int.from_address(id(probe) + _HEAD + 8).value == 2
        and list(shape.from_address(fields[1] or 0)) == [3, 5]
        and list(strides.from_address(fields[2] or 0)) == [8, 24]
        and fields[3] == id(np.dtype(np.float64))
        and ctypes.c_int.from_address(id(probe) + _HEAD + 48).value & 0x502 == 0x502
        and text[1] is text[1:2]  # letters are the same object each time
    )


def builtin(entry: str, name: str, document: str, planned: Planned, keep: list[Any]) -> Any:
    """The function of `call.c` as a builtin one of Python, whose ``self`` is the object with the plan; ``keep``: what
    the plan points to. It lives as long as the process, as the function does."""
    path = library()
    assert path is not None
    _kept.append(keep)
    flags = _FASTCALL_WITH_NAMES if entry == "hw_product" else _FASTCALL
    found: Any = function(path, entry, None, [])
    address = ctypes.cast(found, ctypes.c_void_p).value
    method = _Method(name.encode(), address, flags, document.encode())
    keep.append(method)
    return _new_function(ctypes.addressof(method), planned, "headwater.acml")


def compiled(row: Row, planned: Planned, address: int, dtypes: dict[str, Any], general: Callable[..., Any]) -> Any:
    """The function for a routine at an address, or None where there is no compiler; the plan is ``planned``'s then.

    ``dtypes``: of t, r, i and b. Expert drivers take a factorization whose pivots have to be tested, others call
    functions of Python: their calls are general.
    """
    if library() is None or any(p.name == "fact" or p.takes for p in row.parameters):
        return None
    parameters = row.parameters
    places = {p.name: at for at, p in enumerate(parameters)}
    code: list[int] = []
    letters: list[int] = []
    keep: list[Any] = [general, dtypes]
    fields: list[list[int]] = []
    arguments = 0
    for at, p in enumerate(parameters):
        kind = _kind(p, row)
        argument = -1
        if not p.hidden:
            argument, arguments = arguments, arguments + 1
        starts = [0, 0]
        for side, text in enumerate(p.extents):
            starts[side] = len(code)
            code += [*_code(ast.parse(text, mode="eval").body, places), 0, 0]
        follower = at + 1 if p.kind in ("matrix", "vector") else 0
        swapped = places[p.swapped] if p.swapped else -1
        first = len(letters) // 2
        if kind == "flag":
            for letter in p.letters:
                keep.append(letter)
                letters += [id(letter), ord(letter)]
        dtype = dtypes[p.type]
        parts = 0 if p.type == "i" else 2 if p.type == "t" and row.prefix in "cz" else 1
        count = int(p.letters[-1]) if kind == "digit" else len(p.letters)
        what = _KINDS.index(kind), argument, p.written, dtype.itemsize, follower, swapped
        fields.append([*what, *starts, parts, first, count, id(dtype)])
    result = "info" if row.info else {"": "", "i": "i", "d": "d", "r": "r", "t": "t"}[row.value]
    if result in ("r", "t"):
        single = row.prefix in "sc"
        result = ("f" if single else "d") * (2 if result == "t" and row.prefix in "cz" else 1)
    arrays = [np.array(values or [0], np.int64) for values in (code, letters, fields)]
    head = [address, id(general), arguments, len(parameters), _RESULTS.index(result), row.prefix in "sc"]
    plan = np.array([*head, *(array.ctypes.data for array in arrays)], np.int64)
    keep += [arrays, plan]
    _plan.__set__(planned, plan.ctypes.data)
    text = f"{row.name}({', '.join(p.name for p in parameters if not p.hidden)})"
    document = f"{text}\n--\n\n``{text}``: the routine of {row.library.upper()}; see `headwater.acml.native.Routine`."
    return builtin("hw_call", row.name, document, planned, keep)


def planned(words: Array, keep: list[Any]) -> Planned:
    """An object with a plan of such words, which point to what is kept."""
    found = Planned()
    _plan.__set__(found, words.ctypes.data)
    keep.append(words)
    return found


def loop(ufunc: Any, name: str, letter: str, fixed: int, general: Callable[..., Any]) -> Any:
    """The function (n, x, y), or (x, y) of ``fixed`` elements, by NumPy's loop of a function of one argument and the
    type d or f; None where there is none."""
    if library() is None or f"{letter}->{letter}" not in ufunc.types:
        return None
    at, dtype = id(ufunc) + _HEAD, np.dtype(letter)
    counts = (ctypes.c_int * 4).from_address(at)
    # NumPy's PyUFuncObject (numpy/ufuncobject.h): functions, data, the number of types, the name
    functions, data, types, text = ((ctypes.c_void_p * 5).from_address(at + 16)[i] for i in range(4))
    if list(counts[:3]) != [1, 1, 2] or (types or 0) & 0xFFFFFFFF != len(ufunc.types):
        return None
    if ctypes.string_at(text or 0) != ufunc.__name__.encode():
        return None
    index = ufunc.types.index(f"{letter}->{letter}")
    address = ctypes.c_void_p.from_address((functions or 0) + 8 * index).value
    constant = ctypes.c_void_p.from_address(data + 8 * index).value if data else 0
    keep = [general, dtype, ufunc]
    words = np.array([id(general), address or 0, constant or 0, id(dtype), dtype.itemsize, fixed], np.int64)
    document = f"``{name}``: {ufunc.__name__} of ACML_MV; see `headwater.acml.vector`."
    return builtin("hw_vector", name, document, planned(words, keep), keep) if address else None


def transform(name: str, dtype: Any, general: Callable[..., Any]) -> Any:
    """The function (mode, n, x, comm) by SciPy's own transform (`_own_transform`), without SciPy's search for a back
    end; None where SciPy has it elsewhere."""
    inner = _own_transform()
    if inner is None or library() is None:
        return None
    keep = [general, inner, dtype, (0,), True, False, 1, 1, 0]  # 1: the scale of norm="ortho"
    words = np.array([id(value) for value in keep], np.int64)
    document = f"``{name}(mode, n, x, comm)``: returns INFO; see `headwater.acml.fourier`."
    return builtin("hw_transform", name, document, planned(words, keep), keep)


@cache
def _own_transform() -> Any:
    """SciPy's function of complex arrays: pocketfft's, or from SciPy 1.18 on ducc's, which takes the same arguments.
    None where SciPy has neither, or what it has does not do as `call.c` calls it."""
    for module in ("scipy.fft._pocketfft.pypocketfft", "scipy.fft._duccfft.pyduccfft"):
        try:
            inner = import_module(module).c2c
            probe = np.array([3, 1j])
            found = inner(probe, (0,), True, 1, probe, 1)
            if found is probe and np.allclose(probe, np.array([3 + 1j, 3 - 1j]) / np.sqrt(2)):
                return inner
        except (ImportError, AttributeError, TypeError, ValueError):
            continue
    return None


SLOTS = 4096
"""Sizes of products that `call.c` remembers; each has one place."""


def slot(m: int, n: int, k: int, kind: int) -> int:
    """The place of a size, as `call.c` has it."""
    return (m * 73856093 ^ n * 19349663 ^ k * 83492791 ^ kind) % SLOTS


def product(general: Callable[..., Any]) -> tuple[Any, Array, Array]:
    """``matmul``; its limits: whether NumPy's is the only way, then for each of the types f, d, F and D a number of
    elementary products of which fewer are NumPy's; and sizes that are NumPy's, at their `slot`: m, n, k and the type's
    number. Without a compiler: the general function."""
    dtypes = [np.dtype(letter) for letter in "fdFD"]
    settled = np.full((SLOTS, 4), -1, np.int64)
    keep = [general, np.matmul, dtypes, settled]
    words = np.array([id(general), id(np.matmul), 0, *map(id, dtypes), 0, 0, 0, 0, settled.ctypes.data], np.int64)
    made = planned(words, keep)
    if library() is None:
        return general, words, settled
    return builtin("hw_product", "matmul", general.__doc__ or "", made, keep), words, settled


_kept: list[Any] = []
# a prototype, since types that were set on ctypes.pythonapi's function would be everybody's
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def _kind(p: Parameter, row: Row) -> str:
    if p.kind == "flag":
        return "digit" if p.letters.isdigit() else "flag"
    if p.kind == "array" and p.hidden:
        return "asked" if p.queried else "fixed"
    if p.is_pivots:
        return row.exchanges
    return p.kind


def _code(node: ast.expr, places: dict[str, int]) -> list[int]:
    """The operations of an extent: each a number and its operand."""
    if isinstance(node, ast.Constant):
        return [_CODES.index("constant"), int(str(node.value))]
    if isinstance(node, ast.Name):
        return [_CODES.index("value"), places[node.id]]
    if isinstance(node, ast.BinOp):
        return [*_code(node.left, places), *_code(node.right, places), _CODES.index(type(node.op).__name__), 0]
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    parts = [part for argument in node.args for part in _code(argument, places)]
    return [*parts, _CODES.index(node.func.id), 0]

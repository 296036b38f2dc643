"""Input: a routine's row. Output: a function that calls SciPy's BLAS or LAPACK over arrays' own memory.

SciPy publishes the addresses of its Fortran routines in ``scipy.linalg.cython_blas`` and ``cython_lapack``. Nothing is
copied: an array is memory in Fortran's order, as it is for ACML's C interface. All arguments are tested before the
routine runs, so that a wrong one leaves every array as it was.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from headwater.acml.quick import Planned, compiled
from headwater.acml.routines import Parameter, Row, row
from headwater.errors import OutOfMemoryError, ResourceError, UsageError

_INT_MAX = 2**31 - 1
TYPES: dict[str, np.dtype[Any]] = {
    "s": np.dtype(np.float32),
    "d": np.dtype(np.float64),
    "c": np.dtype(np.complex64),
    "z": np.dtype(np.complex128),
}
LEAST_WORKSPACE = 32
"""Elements. For n = 1, xSBGVD of LAPACK 3.11 asks for one, of which it uses three, and then computes nothing."""
REAL = {"s": "s", "d": "d", "c": "s", "z": "d"}
_C_TYPES: dict[str, Any] = {"s": ctypes.c_float, "d": ctypes.c_double, "i": ctypes.c_int}
_CHARACTERS = {letter: ctypes.c_char(letter.encode()) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ1"}

_HELPERS: dict[str, Any] = {
    "if_n": lambda flag, yes, no: yes if flag == "N" else no,
    "of": lambda side, left, right: left if side == "L" else right,
    "kept": lambda job, extent: extent if job in "AS" else 0,
    "columns": lambda job, full, least: least if job == "S" else full,
    "sdd_u": lambda job, m, n: int(job in "AS" or (job == "O" and m < n)),
    "sdd_vt": lambda job, m, n: int(job in "AS" or (job == "O" and m >= n)),
    "sdd_work": lambda m, n: min(m, n) * max(7, 5 * min(m, n) + 5, 2 * max(m, n) + 2 * min(m, n) + 1),
    "min": min,
    "max": max,
}


def extension() -> Any:
    """``scipy``; ResourceError where it is not installed."""
    try:
        return import_module("scipy")
    except ImportError:
        raise ResourceError(
            "headwater.acml needs SciPy, which is not installed", hint='pip install "headwater[acml]"'
        ) from None


@cache
def _address(library: str, name: str) -> int:
    extension()
    capsule = import_module(f"scipy.linalg.cython_{library}").__pyx_capi__[name]
    address: int = _capsule_pointer(capsule, _capsule_name(capsule))
    return address


# prototypes, since types that were set on ctypes.pythonapi's functions would be everybody's
_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Illegal(Exception):
    """The argument at ``position`` (Fortran's) has a value that the routine does not allow, for ``reason``."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


def whole(value: Any, name: str, routine: str) -> int:
    """The argument as an int of 32 bits. UsageError naming it if it is none, or too large for BLAS and LAPACK."""
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise UsageError(f"{routine}: {name} is a whole number, not {value!r:.60}") from None
    if not -_INT_MAX - 1 <= number <= _INT_MAX:
        raise UsageError(f"{routine}: {name} is {number}, and sizes have 32 bits", hint="cut the problem in parts")
    return int(number)


class Selection:
    """A function of Python that LAPACK calls with eigenvalues, to learn which to put first. ``address``: for LAPACK."""

    def __init__(self, function: Any, p: Parameter, description: Row) -> None:
        if not callable(function):
            raise UsageError(f"{description.name}: {p.name} is a function of {p.takes} numbers, not {function!r:.60}")
        real = _C_TYPES[REAL[description.prefix]]
        is_complex = description.prefix in "cz"
        self._errors = errors = list[BaseException]()
        self._before: list[tuple[Any, Any]] = []

        def call(*pointers: Any) -> int:  # does not refer to self: in a circle, the copies would stay for long
            if errors:
                return 0
            try:
                return int(bool(function(*(complex(at[0], at[1]) if is_complex else at[0] for at in pointers))))
            except BaseException as error:
                errors.append(error)
                return 0

        self._call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(real)] * p.takes)(call)
        self.address = ctypes.cast(self._call, ctypes.c_void_p)

    def remember(self, arrays: list[Any]) -> None:
        """Copy what the routine will write."""
        self._before = [(array, array.copy("K")) for array in arrays]

    def test(self) -> None:
        """Raise what the function raised; the arrays are again as they were before the call."""
        if self._errors:
            for array, copy in self._before:
                array[...] = copy
            self._before.clear()
            raise self._errors.pop()


class Routine(Planned):
    """A routine of BLAS or LAPACK under its name in ACML's C interface, called with its arguments in their order.

    Arrays are NumPy arrays of the routine's type: one-dimensional ones without gaps, or two-dimensional ones in
    Fortran's order (parts of such arrays too, whose leading dimension is then the whole's). An argument that a
    routine of LAPACK does not allow gives INFO = -i, i counting as in Fortran; for BLAS, which has no INFO, and for
    arrays of a wrong dtype, order or length a UsageError names the argument. Nothing is written in these cases.
    LAPACK's routines return INFO, functions their value, others nothing.
    """

    def __init__(self, description: Row) -> None:
        self.row = description
        self.__name__ = self.__qualname__ = description.name
        self.arguments = [p for p in description.parameters if not p.hidden]
        real = REAL[description.prefix]
        self._dtypes = {"t": TYPES[description.prefix], "r": TYPES[real], "i": np.dtype(np.int32), "b": np.dtype("S1")}
        self._real = _C_TYPES[real]
        scalars = [p.name for p in self.arguments if p.kind in ("flag", "int", "any")]
        arrays = [p for p in description.parameters if p.extents]
        body = ", ".join(f"({', '.join(p.extents)},)" for p in arrays)
        self._extents: Callable[..., Any] = eval(f"lambda {', '.join(scalars)}: ({body},)", _HELPERS)
        self._arrays = arrays
        self._written = [p.name for p in self.arguments if p.written]
        self._function: Any = None
        address = _address(description.library, description.name)
        made = compiled(description, self, address, self._dtypes, self.general)
        self.call: Any = made or self.general

    @property
    def prototype(self) -> str:
        """The routine and its arguments, as it is called."""
        return f"{self.row.name}({', '.join(p.name for p in self.arguments)})"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"``{self.prototype}``: the routine of {self.row.library.upper()}; see `Routine`."

    def __repr__(self) -> str:
        return f"<routine {self.prototype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return routine, (self.row.name,)

    def load(self) -> Any:
        """The routine in SciPy's library, as a function of pointers."""
        if self._function is None:
            kind = self.row.value
            # Functions of complex value return a struct, which ctypes cannot take: those go by SciPy's own wrapper.
            result = {"": None, "i": ctypes.c_int, "d": ctypes.c_double}.get(kind, self._real)
            made = ctypes.CFUNCTYPE(result, *[ctypes.c_void_p] * (len(self.row.parameters) + self.row.info))
            self._function = made(_address(self.row.library, self.row.name))
        return self._function

    def __call__(self, *args: Any) -> Any:
        """Call the routine with all its arguments, in the order of `prototype`."""
        return self.call(*args)

    def __getattr__(self, name: str) -> Any:
        if name == self.__dict__.get("__name__"):  # copies of a builtin function are looked up in its object
            return self.call
        raise AttributeError(name)

    def general(self, *args: Any) -> Any:
        """The routine over any arguments: those that are wrong are named."""
        try:
            return self._general(args)
        except MemoryError as error:  # before the routine runs: it allocates nothing itself
            raise OutOfMemoryError(f"{self.row.name}: no memory for its workspace: {error}") from None

    def _general(self, args: tuple[Any, ...]) -> Any:
        if len(args) != len(self.arguments):
            raise UsageError(
                f"{self.row.name} takes {len(self.arguments)} arguments, not {len(args)}: {self.prototype}"
            )
        try:
            pointers, keep, sizes = self._prepare(args)
        except Illegal as error:
            if self.row.info:
                return -error.position
            raise UsageError(f"{self.row.name}: {error.reason}") from None
        if self.row.value == "t" and self.row.prefix in "cz":
            return self._complex_value(args)
        if self.row.info:
            return self._with_info(pointers, keep, sizes)
        return self.load()(*pointers)

    def _prepare(self, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], list[tuple[int, Parameter]]]:
        """Pointers for the routine, what they point to, and the workspaces whose size it has to be asked for."""
        name = self.row.name
        values = dict(zip((p.name for p in self.arguments), args, strict=True))
        numbers: list[int | str] = []
        first: Illegal | None = None
        for p in self.arguments:
            if p.kind == "flag":
                flag = values[p.name]
                if p.letters.isdigit():
                    flag = str(whole(flag, p.name, name))
                elif isinstance(flag, (str, bytes)):
                    flag = (flag if isinstance(flag, str) else flag.decode("latin-1"))[:1].upper()
                else:
                    raise UsageError(f"{name}: {p.name} is a letter, not {flag!r:.60}")
                if not flag or flag not in p.letters:
                    first = first or Illegal(
                        p.position, f"{p.name} is {values[p.name]!r}, not one of {', '.join(p.letters)}"
                    )
                    flag = p.letters[0]
                values[p.name] = flag
                numbers.append(flag)
            elif p.kind in ("int", "any"):
                values[p.name] = number = whole(values[p.name], p.name, name)
                if number < 0 and p.kind == "int":
                    first = first or Illegal(p.position, f"{p.name} is {number}, and a size is at least 0")
                    number = 0
                numbers.append(number)
        extents = dict(zip((p.name for p in self._arrays), self._extents(*numbers), strict=True))
        needed: dict[str, int] = {}
        parameters = self.row.parameters
        for at, p in enumerate(parameters):
            if p.kind == "matrix":
                rows, columns = extents[p.name]
                if p.swapped and values[p.swapped] != "N":
                    rows, columns = columns, rows
                follower = parameters[at + 1]
                leading = values[follower.name] = whole(values[follower.name], follower.name, name)
                if leading < max(rows, 1):
                    first = first or Illegal(
                        follower.position, f"{follower.name} is {leading}, and {p.name} has {rows} rows"
                    )
                needed[p.name] = leading * (columns - 1) + rows if rows > 0 and columns > 0 else 0
            elif p.kind == "vector":
                follower = parameters[at + 1]
                step = values[follower.name] = whole(values[follower.name], follower.name, name)
                if not step:
                    first = first or Illegal(follower.position, f"{follower.name} is 0")
                count = extents[p.name][0]
                needed[p.name] = (count - 1) * abs(step) + 1 if count > 0 else 0
            elif p.kind == "array" and not p.hidden:
                needed[p.name] = max(extents[p.name][0], 0)
        if first is not None:
            raise first
        return self._pointers(values, needed, extents)

    def _pointers(
        self, values: dict[str, Any], needed: dict[str, int], extents: dict[str, Any]
    ) -> tuple[list[Any], list[Any], list[tuple[int, Parameter]]]:
        name, byref = self.row.name, ctypes.byref
        pointers: list[Any] = []
        keep: list[Any] = []
        unknown: list[tuple[int, Parameter]] = []
        spans: dict[str, tuple[int, int, Any, Any]] = {}
        for at, p in enumerate(self.row.parameters):
            kind = p.kind
            if kind in ("matrix", "vector", "array"):
                if p.hidden:
                    if p.queried:
                        unknown.append((at, p))
                        pointers.append(None)
                        continue
                    made = np.empty(max(extents[p.name][0], 1), self._dtypes[p.type])
                    keep.append(made)
                    pointers.append(made.ctypes.data)
                    continue
                array = values[p.name]
                step = 1 if kind == "array" else values[self.row.parameters[at + 1].name]
                leading = step if kind == "matrix" else 0
                address = memory(array, self._dtypes[p.type], needed[p.name], leading, (p, name))
                if p.is_pivots or (p.name == "ipiv" and values.get("fact") == "F"):
                    self._test_pivots(p, values[p.name], needed[p.name])
                if count := needed[p.name]:
                    size = self._dtypes[p.type].itemsize
                    columns = (count - 1) // abs(step) + 1
                    rows = count - (columns - 1) * step if kind == "matrix" else 1
                    spans[p.name] = (address, address + count * size, (rows, columns), (size, size * abs(step)))
                pointers.append(address)
            elif kind == "flag":
                letter = values[p.name]
                pointers.append(byref(ctypes.c_int(int(letter))) if p.letters.isdigit() else byref(_CHARACTERS[letter]))
            elif kind == "scalar":
                pointers.append(byref(self._scalar(values[p.name], p)))
            elif kind == "callback":
                if values[p.name] is None and values["sort"] == "N":
                    pointers.append(None)
                else:
                    keep.append(Selection(values[p.name], p, self.row))
                    pointers.append(keep[-1].address)
            elif kind == "size":
                pointers.append(byref(ctypes.c_int(-1)))
            else:
                pointers.append(byref(ctypes.c_int(values[p.name])))
        self._test_aliases(values, spans)
        for kept in keep:
            if isinstance(kept, Selection):
                kept.remember([values[name] for name in self._written])
        return pointers, keep, unknown

    def _test_pivots(self, p: Parameter, array: Any, count: int) -> None:
        """Illegal for rows with which LAPACK would read and write behind its arrays."""
        kind, half = self.row.exchanges, False
        for at, other in enumerate(array.ravel("K")[:count].tolist(), 1):
            if not 1 <= abs(other) <= count or (other < 0 and kind != "blocks"):
                raise Illegal(p.position, f"{p.name} names row {other} of {count}")
            if kind == "steps" and other not in (at, at + 1):
                raise Illegal(p.position, f"{p.name} exchanges row {at} with {other}, which is not the next")
            if half and other > 0:
                break
            half = other < 0 and not half
        if half:
            raise Illegal(p.position, f"{p.name} has a block of one row")

    def _test_aliases(self, values: dict[str, Any], spans: dict[str, tuple[int, int, Any, Any]]) -> None:
        def used(name: str) -> Any:
            return as_strided(values[name], *spans[name][2:], writeable=False)

        for written in self._written:
            if written not in spans:
                continue
            begin, end, *_ = spans[written]
            for other, (start, stop, *_) in spans.items():
                if other == written or start >= end or begin >= stop:
                    continue
                if np.shares_memory(used(written), used(other)):
                    raise UsageError(
                        f"{self.row.name}: {written} is written and shares memory with {other}", hint="pass a copy"
                    )

    def _scalar(self, value: Any, p: Parameter) -> Any:
        kind = self.row.prefix
        try:
            if p.type == "r" or kind in "sd":
                return self._real(value)
            number = complex(value)
            return (self._real * 2)(number.real, number.imag)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{self.row.name}: {p.name} is a number, not {value!r:.60}") from None

    def _with_info(self, pointers: list[Any], keep: list[Any], unknown: list[tuple[int, Parameter]]) -> int:
        info = ctypes.c_int(0)
        function = self.load()
        if unknown:
            firsts = []
            for at, p in unknown:
                first = np.zeros(1, self._dtypes[p.type])
                firsts.append(first)
                pointers[at] = first.ctypes.data
            function(*pointers, ctypes.byref(info))
            if info.value:
                return info.value
            parameters = self.row.parameters
            for (at, p), first in zip(unknown, firsts, strict=True):
                # LAPACK gives sizes as numbers of the routine's type: float32 rounds those above 2**24, so add an ulp.
                wanted = first[0] if p.type == "i" else np.nextafter(first[0].real, np.inf)
                if not 0 <= wanted <= _INT_MAX:
                    raise UsageError(
                        f"{self.row.name}: {p.name} would have {float(wanted):.0f} elements, and sizes have 32 bits",
                        hint="cut the problem in parts",
                    )
                size = max(int(wanted), LEAST_WORKSPACE)
                made = np.empty(size + 1, self._dtypes[p.type])
                keep.append(made)
                pointers[at] = made.ctypes.data
                if at + 1 < len(parameters) and parameters[at + 1].kind == "size":
                    pointers[at + 1] = ctypes.byref(ctypes.c_int(size))
        function(*pointers, ctypes.byref(info))
        for kept in keep:
            if isinstance(kept, Selection):
                kept.test()
        return info.value

    def _complex_value(self, args: tuple[Any, ...]) -> complex:
        n, x, incx, y, incy = args
        if n == 0:
            return 0j
        blas = import_module("scipy.linalg.blas")
        steps = {"incx": incx, "incy": incy}
        value: complex = getattr(blas, self.row.name)(np.ravel(x, "K"), np.ravel(y, "K"), n=n, **steps)
        return value


def memory(array: Any, dtype: np.dtype[Any], needed: int, leading: int, who: tuple[Parameter, str]) -> int:
    """The address of an array that has ``needed`` elements from there on. UsageError naming it where it has not.

    ``leading``: for a matrix, elements from one column to the next.
    """
    p, routine = who
    if not isinstance(array, np.ndarray):
        raise UsageError(f"{routine}: {p.name} is a NumPy array of {dtype}, not {type(array).__name__}")
    if array.dtype != dtype:
        raise UsageError(
            f"{routine}: {p.name} is an array of {array.dtype}, and the routine's are of {dtype}",
            hint=f"{p.name}.astype({dtype.str!r})" if dtype.kind == "S" else f"{p.name}.astype(np.{dtype})",
        )
    flags = array.flags
    if p.written and not flags.writeable:
        raise UsageError(f"{routine}: {p.name} is written and cannot be: the array is read-only")
    if flags.f_contiguous or (array.ndim == 1 and array.size <= 1):
        span = array.size
    elif array.ndim == 2 and p.kind == "matrix" and array.strides[0] == dtype.itemsize:
        step = array.strides[1] // dtype.itemsize
        if needed and array.strides[1] != leading * dtype.itemsize and array.shape[1] > 1:
            raise UsageError(
                f"{routine}: {p.name} is a part of an array whose leading dimension is {step}, not {leading}"
            )
        span = (array.shape[1] - 1) * step + array.shape[0] if array.size else 0
    elif array.ndim == 2 and p.kind == "matrix" and array.shape[1] == 1 and array.strides[0] == dtype.itemsize:
        span = array.shape[0]
    elif array.ndim == 1 and p.kind == "vector":
        raise UsageError(
            f"{routine}: {p.name} has strides of its own", hint="pass the array that it is a part of, with an increment"
        )
    else:
        raise UsageError(
            f"{routine}: {p.name} is not in Fortran's order", hint=f"{p.name} = np.asfortranarray({p.name})"
        )
    if not flags.aligned:
        raise UsageError(f"{routine}: {p.name} is not aligned")
    if span < needed:
        raise UsageError(f"{routine}: {p.name} has {span} elements, and {needed} are needed")
    address: int = array.__array_interface__["data"][0]
    return address


def function(name: str) -> Any:
    """The function that calls the routine of that name: a builtin one, whose ``__self__`` is the `Routine`."""
    return routine(name).call


@cache
def routine(name: str) -> Routine:
    """The routine of that name. KeyError if the tables have none."""
    return Routine(row(name))

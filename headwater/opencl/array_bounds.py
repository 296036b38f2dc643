"""Input: a module of kernels. Output: the same module with code that reports indices which leave an array within a
variable or a structure: what they access lies in the same allocation, where tests of addresses find nothing.

clang writes an index of an array as ``getelementptr [N x T], ptr, i64 0, i64 index``. Arrays of arrays count as one:
``tile[0][i]`` may run on through the rows. LLVM leaves the tests of indices out that it can bound.
"""

from __future__ import annotations

from typing import NamedTuple

from headwater.llvm.ir import Body, Inst, Module, Value
from headwater.llvm.passes.definedness import DECLARATION, IF, reporting, source_files
from headwater.llvm.text import FINDING
from headwater.llvm.types import I64, Type
from headwater.opencl.misaligned import accesses

OUTSIDE, OUTSIDE_VECTOR = 12, 13
"""What is wrong (`headwater.opencl.check_findings`)."""

_ACCESSES, _COMPONENTS = ("load", "store", "atomicrmw", "cmpxchg", "call"), ("extractelement", "insertelement")
_FLEXIBLE = 1
"""Arrays of so many elements, or none, are how structures of C end that are longer than they say."""


class _Array(NamedTuple):
    """An array, or a vector, that is indexed: its type, whether it is a whole variable, and its indices, each with what
    a step of it is in bytes (in components of a vector); the last may be indices of arrays in it."""

    ty: Type
    whole: bool
    steps: tuple[tuple[Value, int], ...]


def with_arrays_tested(module: Module) -> None:
    """Test the accesses of kernels of OpenCL C. Functions have to be inlined already.

    On the cpu, what leaves a whole variable is found by tests of addresses, so that it is not told twice."""
    sources = source_files(module)
    chip = "-A5" in module.data_layout
    tested = False
    for body in module.bodies.values():
        if "!kernel_arg_type " not in body.head:
            continue
        paths = _Paths(module, body)
        changes: dict[int, list[str]] = {}
        for number, inst in body.having(*_ACCESSES, *_COMPONENTS):
            if not inst.site:  # code of checks
                continue
            tests: list[str] = []
            if inst.op in _COMPONENTS:
                vector = _Array(inst.args[0].ty, False, ((inst.args[-1], 1),))
                arrays = [vector] if inst.args[-1].is_local else []
            else:
                pointers = [pointer.rpartition(" ")[2] for pointer, _ in accesses(body, number, inst, chip=False)]
                arrays = [array for pointer in pointers for array in paths.of(pointer) if chip or not array.whole]
            for array in arrays:
                tests += _test(module, sources, inst, array, f"{number}.{len(tests)}")
            if tests:
                changes[number] = [*tests, body.lines[number]]
        tested |= body.replace(changes)
    if tested and f"{FINDING}_if" not in module.bodies:
        module.add(f"{DECLARATION}\n{IF}")


class _Path(NamedTuple):
    """The arrays that a pointer leads through, the type of what it is to (None: not known), and whether that is an
    element of the last one, or a whole variable."""

    arrays: tuple[_Array, ...] = ()
    to: Type | None = None
    element: bool = False
    whole: bool = False

    def within(self, index: Value) -> _Path:
        """That of an element of the array that it is to."""
        ty = self.to
        assert ty is not None
        assert ty.elem is not None
        if ty.count <= _FLEXIBLE:
            return _Path(self.arrays, ty.elem)
        *before, last = self.arrays if self.element else (*self.arrays, _Array(ty, self.whole, ()))
        last = last._replace(steps=(*last.steps, (index, ty.elem.size_bytes)))
        return _Path((*before, last), ty.elem, element=True)


class _Paths:
    """The arrays that the pointers of a function lead through, from the variable or the pointer that they start at."""

    def __init__(self, module: Module, body: Body) -> None:
        self._module = module
        self._geps = {inst.name: inst for _, inst in body.having("getelementptr")}
        self._variables = {inst.name: module.allocated(body.lines[at]) for at, inst in body.having("alloca")}
        self._known: dict[str, _Path] = {}

    def of(self, pointer: str) -> list[_Array]:
        """Those with an index that is no constant."""
        return [one for one in self._path(pointer).arrays if any(index.is_local for index, _ in one.steps)]

    def _path(self, pointer: str) -> _Path:
        if pointer not in self._known:
            gep = self._geps.get(pointer)
            self._known[pointer] = self._step(gep) if gep is not None else _Path()
        return self._known[pointer]

    def _step(self, gep: Inst) -> _Path:
        base, first, *rest = gep.args
        if gep.ty.kind == "vec" or gep.source.kind not in ("array", "struct", "vec") or first.text != "0":
            return _Path()  # pointers may be moved back into an array
        path = self._start(base, gep.source)
        for index in rest:
            ty = path.to
            if ty is None or ty.kind == "vec":
                break
            if ty.kind == "struct":
                path = _Path(path.arrays, ty.fields[int(index.text)])
                continue
            path = path.within(index)
        return path

    def _start(self, base: Value, source: Type) -> _Path:
        """The path to what is of such a type. clang leaves indices out that are all 0: those of arrays and structures
        that begin where others do."""
        path = self._path(base.text)
        if (variable := self._variable(base)) is not None:
            path = _Path((), variable, whole=True)
        if path.to is None:
            return _Path((), source)
        while path.to != source:
            ty = path.to
            if ty.kind == "array":
                path = path.within(Value(I64, "0"))
            elif ty.kind == "struct" and ty.fields:
                path = _Path(path.arrays, ty.fields[0])
            else:
                return _Path()  # it holds something else there
            assert path.to is not None
        return path

    def _variable(self, base: Value) -> Type | None:
        if base.is_local:
            return self._variables.get(base.text)
        if base.text.startswith("@") and base.text in self._module.globals:
            found = self._module.variable(base.text)
            return found.ty if found is not None else None
        return None


def _test(module: Module, sources: list[str], inst: Inst, array: _Array, name: str) -> list[str]:
    """Code that reports an access if the element that it is to, or is in, lies outside of the array."""
    address = f"i{module.address_bits}"
    vector = array.ty.kind == "vec"
    size = array.ty.count if vector else array.ty.size_bytes
    total, lines = "", []
    for n, (index, bytes_) in enumerate(array.steps):
        at = f"%hw.outside.{name}.{n}"
        value = index.text
        if str(index.ty) != address and index.is_local:
            lines.append(
                f"  {at}.wide = {'sext' if index.ty.bits < module.address_bits else 'trunc'} "
                f"{index.ty} {value} to {address}"
            )
            value = f"{at}.wide"
        lines.append(f"  {at} = mul {address} {value}, {bytes_}")
        if total:
            lines.append(f"  {at}.sum = add {address} {total}, {at}")
        total = f"{at}.sum" if total else at
    flag = f"%hw.outside.{name}"
    lines.append(f"  {flag} = icmp uge {address} {total}, {size}")
    return [
        *lines,
        reporting(module, sources, inst.site, flag, OUTSIDE_VECTOR if vector else OUTSIDE, _elements(array.ty)),
    ]


def _elements(ty: Type) -> int:
    """Of a vector, or of an array and the arrays in it."""
    count = ty.count
    while ty.kind == "array" and ty.elem is not None and ty.elem.kind == "array":
        ty = ty.elem
        count *= ty.count
    return count


__all__ = ["OUTSIDE", "OUTSIDE_VECTOR", "with_arrays_tested"]

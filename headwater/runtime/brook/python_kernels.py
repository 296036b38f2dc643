"""Input: a Python function for elements of streams. Output: a kernel that is called with arrays or streams.

Each combination of types that it is called with becomes a Brook+ kernel, which runs as any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast, overload

import numpy as np

from headwater.errors import LaunchError, UsageError
from headwater.python.streams import Role, StreamTranslation, Untranslated, translate_stream_kernel
from headwater.python.types import (
    FLOAT32,
    FLOAT64,
    INT32,
    Array,
    Constant,
    Scalar,
    Type,
    Vector,
    of_annotation,
    of_dtype,
)
from headwater.runtime.brook.plan import check_target, checked_domain
from headwater.runtime.brook.program import BrookKernel, BrookProgram, of_function
from headwater.runtime.python_functions import PythonFunction, Watched, annotations_of, source_error, unchanged, watch
from headwater.runtime.streams import Stream, SubStream

_STREAMS = (np.ndarray, Stream, SubStream, list)


@dataclass
class Special:
    """A stream kernel for arguments of certain types. ``tables``: the arguments that the caller adds, or how to make
    them."""

    roles: tuple[Role, ...]
    kinds: tuple[Type, ...]
    translation: StreamTranslation
    kernel: BrookKernel
    watched: Watched = field(default_factory=list)


class StreamKernel(PythonFunction):
    """A kernel written in Python that is called with streams: ``kernel(arguments…)`` runs the function for each element
    and gives what it returns, as streams or arrays.

    Arrays, streams and lists are streams of elements, numbers are the same for all elements, and parameters annotated
    as arrays are indexed. ``shape``, ``out``, ``domain``, ``device``, ``queue``, ``check`` and ``time_limit`` are those
    of Brook+ kernels. Arrays that the function assigns to are written in place.
    """

    def __init__(self, function: Any, reduction: bool = False) -> None:
        super().__init__(function)
        self.reduction = reduction
        if reduction and len(self.parameters) != 2:
            raise UsageError(
                f"{self.name} is a reduction and has {len(self.parameters)} parameters",
                hint="two: what has been folded so far, and the next element",
            )
        self._special: dict[Any, Special] = {}
        self._last: Special | None = None
        self._results: tuple[Type, ...] | bool | None = False

    # -- types ---------------------------------------------------------------------------------------------------------

    def _declared_results(self) -> tuple[Type, ...] | None:
        """The types of the results as annotated; None if they are not."""
        if self._results is False:
            found = annotations_of(self.python_function).get("return")
            given = getattr(found, "__args__", found)
            parts = given if isinstance(given, tuple) else (given,)
            made = tuple(of_annotation(part) for part in parts)
            if found is not None and not all(isinstance(part, (Scalar, Vector)) for part in made):
                raise UsageError(
                    f"{self.name} gives back {found!r:.60}, which is no type of a stream's elements",
                    hint="-> hw.float32, -> hw.float4, or -> tuple[hw.float32, hw.int32]",
                )
            self._results = None if found is None else cast("tuple[Type, ...]", made)
        return cast("tuple[Type, ...] | None", self._results)

    def _parameter(self, at: int, value: Any, doubles: bool) -> tuple[Role, Type]:
        """How a parameter takes what it is given."""
        declared, name = self.declared[at], self.parameters[at]
        stream = isinstance(value, _STREAMS) or hasattr(value, "__array_interface__")
        if isinstance(declared, Array):
            if not stream:
                raise self._wrong(at, f"a {type(value).__name__}", "an array or a stream")
            return "array", declared
        if declared is not None:
            if not isinstance(declared, (Scalar, Vector)):
                raise UsageError(f"parameter {name} of {self.name}: {declared.name} is no type of stream kernels")
            vector = isinstance(declared, Vector) and isinstance(value, list) and len(np.shape(value)) == 1
            return ("element" if stream and not vector else "value"), declared
        if stream:
            dtype = np.asarray(value).dtype if isinstance(value, list) else value.dtype
            kind = of_dtype(dtype)
            if not isinstance(kind, Scalar) or kind.kind == "b":
                hint = ".view(np.uint8)" if isinstance(kind, Scalar) else "numbers; annotate vectors: hw.float4"
                raise self._wrong(at, f"a stream of {dtype}", hint)
            return "element", kind
        if isinstance(value, np.generic):
            kind = of_dtype(value.dtype)
            if isinstance(kind, Scalar):
                return "value", kind
        if isinstance(value, (bool, int)):
            return "value", INT32
        if isinstance(value, float):
            return "value", FLOAT64 if doubles else FLOAT32
        if isinstance(value, (str, type, Type)) or callable(value) or value is None:
            return "value", Constant(f"{value!r:.60} {id(value)}", value)
        raise self._wrong(at, f"a {type(value).__name__}", f"annotate it: {name}: hw.float4")

    def _wrong(self, at: int, given: str, hint: str) -> LaunchError:
        return LaunchError(f"argument {at + 1}, {self.parameters[at]}, of {self.name}: {given} is given", hint=hint)

    def _types(self, args: Sequence[Any]) -> tuple[tuple[Role, ...], tuple[Type, ...]]:
        doubles = any(getattr(value, "dtype", None) == np.float64 for value in args)
        pairs = [self._parameter(at, value, doubles) for at, value in enumerate(args)]
        return tuple(role for role, _ in pairs), tuple(kind for _, kind in pairs)

    def specialise(self, *types: Any) -> StreamKernel:
        """Make the kernel for such types the one that ``opencl``, ``types`` and ``report`` are about. A type as an
        annotation names it is that of a stream's elements, a number stands for a value; without any, all parameters are
        as annotated."""
        roles: list[Role] = []
        kinds: list[Type] = []
        for at, name in enumerate(self.parameters):
            given = types[at] if types else self.declared[at]
            kind = of_annotation(given)
            if kind is None and not types:
                raise UsageError(
                    f"{self.name} has no types yet: parameter {name} is not annotated",
                    hint="call it, or say the types: kernel.specialise(hw.float32, …)",
                )
            if kind is None:
                role, kind = self._parameter(at, given, False)
            else:
                role = "array" if isinstance(kind, Array) else "element"
            roles.append(role)
            kinds.append(kind)
        self._last = self._made(tuple(roles), tuple(kinds))
        return self

    def _made(self, roles: tuple[Role, ...], kinds: tuple[Type, ...]) -> Special:
        if self.reduction:
            kinds = (kinds[-1], kinds[-1])
        try:
            made = translate_stream_kernel(
                self.python_function, self.source_text, kinds, roles, self._declared_results(), self.reduction
            )
        except Untranslated as error:
            raise source_error(error.faults) from None
        signature = ", ".join(f"{role} {kind.name}" for role, kind in zip(roles, kinds, strict=True))
        digest = sha256(made.module.source.encode()).hexdigest()
        program = of_function(made.module, f"{made.source}\n# {self.name}({signature}), {digest}\n")
        return Special(roles, kinds, made, program.kernels[made.name], watch(made.captured))

    def _special_for(self, args: Sequence[Any]) -> Special:
        key = tuple([_key(value) for value in args])
        found = self._special.get(key)
        if found is None or not unchanged(found.watched):
            found = self._special[key] = self._made(*self._types(args))
        self._last = found
        return found

    @property
    def latest(self) -> Special:
        """The kernel as called last, or as annotated."""
        if self._last is None:
            self.specialise()
        elif not unchanged(self._last.watched):
            self._last = self._made(self._last.roles, self._last.kinds)
        assert self._last is not None
        return self._last

    @property
    def program(self) -> BrookProgram:
        """The Brook+ program of the kernel as called last, or as annotated."""
        program: BrookProgram = self.latest.kernel.program
        return program

    @property
    def opencl(self) -> str:
        """The OpenCL C text of the kernel as called last, or as annotated."""
        return self.program.opencl

    def types(self) -> dict[str, str]:
        """The variables' types, by name, of the kernel as called last, or as annotated."""
        return dict(self.latest.translation.variables)

    def report(self, device: Any, **options: Any) -> Any:
        """What the analyzer says of the kernel as called last, or as annotated; see `headwater.analyze`."""
        return self.latest.kernel.report(device, **options)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        """Run the kernel; see the class."""
        special, passed = self._passed(args, options)
        if self.reduction or not special.translation.written:
            return special.kernel(*passed, out=out, **options)
        made = special.kernel(*passed, out=self._outs(special, args, out), **options)
        parts = made if isinstance(made, tuple) else (made,)
        wanted = [part for p, part in zip(_outs_of(special.kernel), parts, strict=True) if p.kind == "output"]
        return None if not wanted else wanted[0] if len(wanted) == 1 else tuple(wanted)

    def compiled(self, *args: Any) -> tuple[BrookKernel, list[Any]]:
        """The Brook+ kernel that it is for such arguments, and what is passed to that."""
        special, passed = self._passed(args, {})
        return special.kernel, passed

    def _passed(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Special, list[Any]]:
        if self.reduction:
            args = args * 2 if len(args) == 1 else self._bound_stream(args, options)
            return self._special_for(args), [args[-1]]
        if len(args) != len(self.parameters) or any(name in options for name in self.parameters):
            args = self.bound(args, options)
        special = self._special_for(args)
        translation = special.translation
        passed = [
            value
            for at, value in enumerate(args)
            if at not in translation.written and not isinstance(special.kinds[at], Constant)
        ]
        for extra in translation.extras:
            passed.append(extra.table if extra.table is not None else args[extra.position].shape[extra.axis])
        return special, passed

    def _bound_stream(self, args: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        element = self.parameters[1]
        if not args and element in options:
            value = options.pop(element)
            return value, value
        raise LaunchError(
            f"{self.name} is a reduction and takes one stream, {element}; {len(args)} arguments are given"
        )

    def _outs(self, special: Special, args: Sequence[Any], out: Any) -> dict[str, Any]:
        """The arrays that the function writes, and what results are written to."""
        kernel = special.kernel
        scatters = [p for p in _outs_of(kernel) if p.kind == "scatter"]
        outs = {p.name: args[at] for p, at in zip(scatters, sorted(special.translation.written), strict=True)}
        names = [p.name for p in _outs_of(kernel) if p.kind == "output"]
        if isinstance(out, Mapping):
            outs.update(out)
        elif out is not None:
            several = out if isinstance(out, (list, tuple)) else (out,)
            if len(several) != len(names):
                raise UsageError(f"{self.name} gives {len(names)} results, out= has {len(several)}")
            outs.update(zip(names, several, strict=True))
        return outs

    def __getitem__(self, sizes: object) -> Any:
        raise UsageError(
            f"{self.name} is a stream kernel: its size comes from its streams, not from [{sizes!r}]",
            hint=f"call it directly: {self.name}({', '.join(self.parameters)})",
        )

    # -- plain Python --------------------------------------------------------------------------------------------------

    def python(self, *args: Any, shape: Any = None, out: Any = None, domain: Any = None, **named: Any) -> Any:
        """The kernel run by Python itself, element by element, where a debugger stops in it; arguments and results are
        those of a call, as arrays."""
        from headwater.python import plain_streams
        from headwater.runtime.brook.arguments import dimensions

        wanted = None if shape is None else dimensions(shape, f"{self.name}: shape")
        if self.reduction:
            given = args if len(args) == 1 else self._bound_stream(args, named)[:1]
            array = np.asarray(given[0])
            special = self._special_for((array, array))
            kind = special.kinds[-1]
            extent = self._whole(array, kind)
            if wanted is not None:
                signature = special.kernel.signature
                result = next(p for p in signature.parameters if p.kind == "reduce")
                wanted = check_target(signature, result, extent, wanted)
            return plain_streams.fold(self.python_function, array, kind, wanted)
        args = self.bound(args, named)
        if named:
            raise LaunchError(f"{self.name} takes no {next(iter(named))} in plain Python")
        special = self._special_for(args)
        results = special.translation.results
        outs = [] if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
        arrays = [
            (np.asarray(v), k) for v, k, r in zip(args, special.kinds, special.roles, strict=True) if r == "element"
        ]
        shapes = {self._whole(array, kind) for array, kind in arrays}
        if wanted is None and not outs and len(shapes) > 1:
            raise LaunchError(
                f"{self.name}: the streams have different shapes, {', '.join(map(str, sorted(shapes)))}",
                hint="shape=(rows, columns)",
            )
        whole = wanted or _extent(outs, results, arrays)
        if whole is None:
            written = [args[at].shape for at in special.translation.written]
            if not written:
                raise LaunchError(f"{self.name}: no stream gives the shape of the result", hint="shape=(rows, columns)")
            whole = written[0]
        if not outs:
            outs = [np.zeros((*whole, *_axis(kind)), _dtype(kind)) for _, kind in results]
        self._check_plain(
            [(v, k) for v, k, r in zip(args, special.kinds, special.roles, strict=True) if r == "element"]
        )
        self._check_plain([(array, kind) for array, (_, kind) in zip(outs, results, strict=True)])
        self._refuse_aliases(args, outs)
        start, end = domain or ((0,) * len(whole), whole)
        ends = tuple(e if isinstance(e, tuple) else (e,) for e in (start, end))
        start, end = checked_domain(special.kernel.signature, (ends[0], ends[1]), whole)
        triples = list(zip(special.roles, args, special.kinds, strict=True))
        pairs = [(array, kind) for array, (_, kind) in zip(outs, results, strict=True)]
        plain_streams.run(self.python_function, triples, whole, (start, end), pairs)
        return None if not outs else outs[0] if len(outs) == 1 else tuple(outs)

    def _check_plain(self, arrays: Sequence[tuple[Any, Type]]) -> None:
        """Refuse arrays of other types than those of their elements, as devices do; lists of numbers are converted."""
        for array, kind in arrays:
            wanted = _dtype(kind)
            if isinstance(array, np.ndarray) and array.dtype.newbyteorder("=") != wanted:
                raise LaunchError(
                    f"{self.name}: got an array of {array.dtype}, expected {kind.name}",
                    hint=f"convert it: .astype(np.{wanted.name})",
                )

    def _refuse_aliases(self, args: Sequence[Any], outs: Sequence[Any]) -> None:
        """Refuse results in arrays that the kernel reads, as devices do."""
        if os.environ.get("BRT_PERMIT_READ_WRITE_ALIASING"):
            return
        read = [array for array in args if isinstance(array, np.ndarray)]
        for n, out in enumerate(outs):
            if any(np.may_share_memory(out, other) for other in (*read, *outs[:n])):
                raise LaunchError(
                    f"{self.name}: a result shares memory with another array; a kernel must not write what it reads",
                    hint="write to another array",
                )

    def _whole(self, array: Any, kind: Type) -> tuple[int, ...]:
        """The shape of a stream in elements; LaunchError if it has none, or if they are not of ``kind``."""
        axis = _axis(kind)
        shape = tuple(array.shape)
        whole = shape[: len(shape) - len(axis)]
        if shape[len(whole) :] != axis or not all(whole) or not whole:
            raise LaunchError(f"{self.name}: shape {shape} is no stream of {kind.name}")
        return whole

    def __repr__(self) -> str:
        what = "Reduction" if self.reduction else "Stream kernel"
        return f"<{what} {self.name}({', '.join(self.parameters)}) in Python>"


def _outs_of(kernel: BrookKernel) -> list[Any]:
    return [p for p in kernel.signature.parameters if p.kind in ("output", "scatter")]


def _axis(kind: Type) -> tuple[int, ...]:
    return (kind.width,) if isinstance(kind, Vector) else ()


def _dtype(kind: Type) -> np.dtype[Any]:
    return (kind.element if isinstance(kind, Vector) else cast("Scalar", kind)).dtype


def _extent(
    outs: Sequence[Any], results: Sequence[tuple[str, Type]], arrays: Sequence[tuple[Any, Type]]
) -> tuple[int, ...] | None:
    """The shape of the results: that of ``out``, or of the streams."""
    pairs = [(out, kind) for out, (_, kind) in zip(outs, results, strict=False)] or arrays
    for array, kind in pairs:
        shape = tuple(array.shape)
        return shape[:-1] if isinstance(kind, Vector) else shape
    return None


def _key(value: Any) -> Any:
    """What of an argument the translation depends on."""
    kind = type(value)
    if kind is np.ndarray or kind is Stream:
        return value.dtype
    if kind is int or kind is float or kind is bool:
        return kind
    if kind is list:
        return kind, np.asarray(value).dtype, np.ndim(value)
    if kind is tuple:
        return kind
    if isinstance(value, np.generic) or hasattr(value, "dtype"):
        return kind, value.dtype
    return kind, value


@overload
def stream_kernel(function: Callable[..., Any], /) -> StreamKernel: ...


@overload
def stream_kernel(
    function: None = None, /, *, reduction: bool = False
) -> Callable[[Callable[..., Any]], StreamKernel]: ...


def stream_kernel(function: Any = None, /, *, reduction: bool = False) -> Any:
    """Make a stream kernel of a Python function that computes one element of each result: a decorator.

    ``reduction=True``: the function takes what has been folded so far and the next element, and gives what both fold
    to; the kernel then takes one stream. The function is translated when it is called; errors in it are SourceErrors
    with its file's lines.
    """
    if function is None:
        return lambda one: StreamKernel(one, reduction)
    return StreamKernel(function, reduction)

"""Input: a Python function. Output: a kernel that is specialised for its arguments at each launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from headwater.base.recursion import deep_recursion
from headwater.errors import HeadwaterError, LaunchError, SourceError, Span, UsageError
from headwater.python.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    Array,
    Constant,
    LocalPointer,
    Scalar,
    Type,
    Vector,
    array_name,
    of_annotation,
    of_dtype,
    struct_of_dtype,
)
from headwater.python.unit import Captured, Dialect, Done, Hidden, Unit
from headwater.runtime.images import Image
from headwater.runtime.interface import Device, current, default, resolve
from headwater.runtime.program import ClKernel, ClProgram, Launcher, split_sizes, with_simulate
from headwater.runtime.python_functions import (
    PythonFunction,
    Watched,
    column_of,
    source_error,
    unchanged,
    watch,
    word_at,
)
from headwater.runtime.shapes import Size, sizes
from headwater.runtime.streams import Stream
from headwater.runtime.values import Local, Sampler

if TYPE_CHECKING:
    from headwater.runtime.events import Event

MOST_INDEX = 1 << 31
"""Arrays of that many elements are indexed with 64 bits."""
_MOST_SIZES = 512
_COMMON = frozenset({np.ndarray, Stream, int, float})
"""Types of arguments that are passed as they are: asking them for an attribute that they lack takes longer."""


@dataclass
class Translation:
    """A kernel for arguments of certain types: its OpenCL C, its name there, the arguments that the launcher adds, what
    it took from outside, the build option that it wants, and its variables' types."""

    text: str
    name: str
    hidden: tuple[Hidden, ...]
    captured: tuple[Captured, ...]
    arrays: tuple[Any, ...]
    dynamic: tuple[tuple[Any, str], ...]
    options: str
    variables: dict[str, str]
    synchronises_grid: bool = False


@dataclass
class Special:
    """A kernel for arguments of certain types, built for devices as they are launched on."""

    kinds: tuple[Type, ...]
    translation: Translation
    pack: Callable[[Sequence[Any]], Sequence[Any]]
    watched: Watched = field(default_factory=list)
    kernel: ClKernel | None = None

    def current(self) -> bool:
        """Whether the names that the kernel took from outside still mean the same."""
        return unchanged(self.watched)


class PythonKernel(PythonFunction):
    """A kernel written in Python: ``kernel[global_size, local_size](arguments…)`` launches it.

    ``global_size``, ``local_size`` and the options of a launch are as for an OpenCL C kernel. The first launch with
    arguments of other types translates and compiles the kernel for these.
    """

    def __init__(
        self, function: Any, options: str = "", group: tuple[int, ...] = (), dialect: Dialect = "headwater"
    ) -> None:
        super().__init__(function)
        self.options, self.group, self.dialect = options, group, dialect
        self._keyers: list[Callable[[Any], Any]] | None = None
        self._special: dict[Any, Special] = {}
        self._last: Special | None = None
        self._launchers: dict[Any, Any] = {}

    # -- types ---------------------------------------------------------------------------------------------------------

    def _kinds(self, args: Sequence[Any]) -> tuple[Type, ...]:
        doubles = any(getattr(getattr(value, "stream", value), "dtype", None) == np.float64 for value in args)
        return tuple(
            self._kind(at, name, declared, value, doubles)
            for at, (name, declared, value) in enumerate(zip(self.parameters, self.declared, args, strict=True))
        )

    def _kind(self, at: int, name: str, declared: Type | None, value: Any, doubles: bool) -> Type:
        value = getattr(value, "stream", value)
        if declared is None:
            return self._kind_of(at, name, value, doubles)
        if isinstance(declared, Array):
            return self._array_kind(at, name, declared, value)
        return declared

    def _kind_of(self, at: int, name: str, value: Any, doubles: bool) -> Type:
        """The type of a parameter without annotation for what it is given."""
        if isinstance(value, bool):
            return BOOL
        if isinstance(value, (np.ndarray, Stream)):
            element = of_dtype(value.dtype)
            if element is None:
                native = value.dtype.newbyteorder("=")
                hint = f".astype(np.{native.name})" if of_dtype(native) else "numbers, or structs of them: .astype(…)"
                raise self._wrong(at, name, f"an array of {value.dtype}", hint)
            if not 1 <= value.ndim <= 3:
                raise self._wrong(at, name, f"an array of {value.ndim} dimensions", "one to three: .reshape(…)")
            return self._array_kind(at, name, Array(array_name(element, value.ndim), element, value.ndim), value)
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                raise self._wrong(at, name, f"{value}, which 64 bits do not hold", "")
            return INT32 if -(1 << 31) <= value < 1 << 31 else INT64
        if isinstance(value, np.generic) and value.dtype.names is None:
            kind = of_dtype(value.dtype)
            if kind is not None:
                return kind
        elif isinstance(value, float):
            return FLOAT64 if doubles else FLOAT32
        elif isinstance(value, np.void):
            return struct_of_dtype(value.dtype)
        elif value is None or isinstance(value, (str, type, Type)) or callable(value):
            return Constant(f"{value!r:.60} {id(value)}", value)
        given = type(value).__name__
        hint = f"annotate it: {name}: hw.local(hw.float32)" if isinstance(value, Local) else (
            f"annotate it: {name}: hw.image()" if isinstance(value, Image) else _array_hint(value)
        )  # fmt: skip
        raise self._wrong(at, name, f"a {given}", hint)

    def _array_kind(self, at: int, name: str, declared: Array, value: Any) -> Array:
        if not isinstance(value, (np.ndarray, Stream)):
            dlpack = hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")
            if dlpack:
                return declared
            hint = f"an array or a stream: {_array_hint(value, declared.element)}"
            raise self._wrong(at, name, f"a {type(value).__name__}", hint)
        element = declared.element
        shape = self._shape(at, name, declared, value)
        if isinstance(element, Scalar) and value.dtype != element.dtype:
            raise self._wrong(at, name, f"an array of {value.dtype}", f".astype(np.{element.dtype.name})")
        contiguous = isinstance(value, Stream) or value.flags.c_contiguous
        if not contiguous and not isinstance(element, Scalar):
            raise self._wrong(at, name, "an array with gaps", "np.ascontiguousarray(…)")
        return Array(
            declared.name,
            element,
            declared.ndim,
            layout="C" if contiguous else "strided",
            wide=prod(shape) >= MOST_INDEX,
        )

    def _shape(self, at: int, name: str, declared: Array, value: Any) -> tuple[int, ...]:
        shape: tuple[int, ...] = value.shape
        element = declared.element
        if isinstance(element, Vector) and value.dtype == element.element.dtype:
            if len(shape) == declared.ndim + 1 and shape[-1] == element.lanes:
                shape = shape[:-1]
            elif len(shape) == declared.ndim == 1 and shape[0] % element.lanes == 0:
                shape = (shape[0] // element.lanes,)
        if len(shape) != declared.ndim:
            what = f"an array of shape {value.shape}"
            hint = f"shape (…, {element.lanes}) of {element.element.name}" if isinstance(element, Vector) else ""
            raise self._wrong(at, name, what, hint)
        return shape

    def _wrong(self, at: int, name: str, given: str, hint: str) -> LaunchError:
        declared = self.declared[at]
        wanted = f", {declared.name} expected" if declared is not None else ""
        return LaunchError(f"argument {at + 1}, {name}, of {self.name}: {given} is given{wanted}", hint=hint)

    # -- keys: what a launch looks up the specialisation by ------------------------------------------------------------

    def _make_keyers(self) -> list[Callable[[Any], Any]]:
        made: list[Callable[[Any], Any]] = []
        for declared in self.declared:
            fixed = declared is not None and not isinstance(declared, Array)
            made.append(_nothing if fixed else _key)
        self._keyers = made
        return made

    def key(self, args: Sequence[Any]) -> Any:
        """What a specialisation is looked up by."""
        keyers = self._keyers or self._make_keyers()
        return tuple([keyer(value) for keyer, value in zip(keyers, args, strict=True)])

    # -- translating and compiling -------------------------------------------------------------------------------------

    def translation(self, kinds: Sequence[Type]) -> Translation:
        """The kernel as OpenCL C for arguments of such types. SourceError with all errors of the function."""
        unit = Unit(self.dialect)
        translator, done = self.translated_into(unit, kinds)
        if unit.faults:
            raise source_error(list(unit.faults.values()))
        text = self.with_group(unit.text(), done)
        variables = {name: v.type.name for name, v in translator.found.items() if name != "return"}
        return Translation(
            text,
            done.name,
            done.hidden,
            tuple(unit.captured.values()),
            tuple(owner for owner, _ in unit.arrays),
            tuple(unit.dynamic),
            " ".join(filter(None, (self.options, unit.std))),
            variables,
            unit.synchronises_grid,
        )

    def translated_into(self, unit: Unit, kinds: Sequence[Type]) -> tuple[Any, Done]:
        """Translate the kernel as one of a program."""
        from headwater.python.expressions import Refused
        from headwater.python.translate import Translator

        unit.under_way.append((self.python_function, tuple(kinds), True))
        try:
            with deep_recursion():
                translator = Translator(unit, self.python_function, kinds, self.source_text, True)
                done = translator.run()
        except Refused as error:
            raise UsageError(f"{self.name}: {error.message}", hint=error.hint) from None
        except RecursionError:
            span = self.source_text.span(self.source_text.tree)
            raise SourceError(f"{self.name} is nested too deeply", span, hint="split its longest expressions") from None
        finally:
            unit.under_way.pop()
        unit.done[self.python_function] = done
        return translator, done

    def with_group(self, text: str, done: Done) -> str:
        """A program's text with the kernel's group size."""
        if not self.group:
            return text
        three = ", ".join(map(str, (*self.group, 1, 1)[:3]))
        head = f"__kernel void {done.name}("
        return text.replace(head, head.replace("void", f"__attribute__((reqd_work_group_size({three}))) void"))

    def specialise(self, *types: Any) -> PythonKernel:
        """Make the kernel for arguments of such types (as annotations name them, or arguments to take them from) the
        one that ``opencl``, ``types`` and ``report`` are about; without any, for the annotated ones."""
        if types and len(types) != len(self.parameters):
            raise self.count_error(len(types))
        kinds = []
        for at, name in enumerate(self.parameters):
            declared = self.declared[at]
            given = of_annotation(types[at]) if types else declared
            if given is None and types:
                given = self._kind(at, name, declared, types[at], False)
            if given is None:
                raise UsageError(
                    f"{self.name} has no types yet: parameter {name} is not annotated",
                    hint="launch it, or say the types: kernel.specialise(hw.array(hw.float32), …)",
                )
            kinds.append(given)
        self._last = self._special_for(tuple(kinds))
        return self

    def _special_for(self, kinds: tuple[Type, ...]) -> Special:
        translation = self.translation(kinds)
        watched = watch(translation.captured) if self.dialect != "cuda" else []
        return Special(kinds, translation, self._packer(kinds, translation), watched)

    def special(self, args: Sequence[Any]) -> Special:
        """The specialisation for arguments; made anew where a name from outside means something else now."""
        try:
            key = self.key(args)
            found = self._special.get(key)
        except TypeError:  # what cannot be hashed is refused with its name
            self._kinds(args)
            raise
        if found is None or not found.current():
            found = self._special[key] = self._special_for(self._kinds(args))
            self._last = found
        return found

    @property
    def latest(self) -> Special:
        """The specialisation of the last new launch, or of the annotations."""
        if self._last is None or not self._last.current():
            if self._last is not None:
                self._last = self._special_for(self._last.kinds)
            else:
                self.specialise()
        assert self._last is not None
        return self._last

    @property
    def opencl(self) -> str:
        """The OpenCL C text of the kernel as launched last, or as annotated, without line directives."""
        lines = self.latest.translation.text.splitlines()
        return "\n".join(line for line in lines if not line.startswith("#line")) + "\n"

    def types(self) -> dict[str, str]:
        """The variables' types, by name, of the kernel as launched last, or as annotated."""
        return dict(self.latest.translation.variables)

    @property
    def program(self) -> ClProgram:
        """The program of the kernel as launched last, or as annotated."""
        return self.built(self.latest, None).program

    def built(self, special: Special, device: Device | None) -> ClKernel:
        """The OpenCL C kernel of a specialisation; ``device``: what it is built for first."""
        if special.kernel is None:
            text, filename = special.translation.text, self.source_text.filename
            home = default()
            chosen = device or current() or home
            try:
                program = ClProgram(text, filename, special.translation.options, chosen)
            except SourceError as error:
                raise self._located(error, text) from None
            program.default_device = home
            special.kernel = program.kernels[special.translation.name]
        return special.kernel

    def _located(self, error: SourceError, text: str) -> HeadwaterError:
        """A compiler's error in ``text`` at its place in the Python file."""
        if error.span is not None and error.span.file == self.source_text.filename:
            line, word = error.span.line, word_at(text, error.span.line, error.span.column)
            error.source_line = self.source_text.line(line)
            error.span = Span(error.span.file, line, column_of(word, error.source_line))
            error.details = ""
        return error

    # -- arguments -----------------------------------------------------------------------------------------------------

    def _packer(self, kinds: Sequence[Type], translation: Translation) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """From the arguments of a launch to those of the OpenCL C kernel."""
        hidden = translation.hidden
        plain = all(not isinstance(k, Constant) and getattr(k, "layout", "C") == "C" for k in kinds) and not hidden
        if plain:
            return _unwrapped
        kept = [at for at, kind in enumerate(kinds) if not isinstance(kind, Constant)]
        strided = [at for at, kind in enumerate(kinds) if isinstance(kind, Array) and kind.layout == "strided"]
        makers = [self._hidden_maker(kinds, h, translation) for h in hidden]

        def pack(args: Sequence[Any]) -> Sequence[Any]:
            whole = [getattr(value, "stream", value) for value in args]
            passed = list(whole)
            for at in strided:
                passed[at] = _span(whole[at], self.parameters[at], self.name)
            return [*(passed[at] for at in kept), *(make(whole) for make in makers)]

        return pack

    def _hidden_maker(
        self, kinds: Sequence[Type], hidden: Hidden, translation: Translation
    ) -> Callable[[Sequence[Any]], Any]:
        at, axis = hidden.position, hidden.axis
        if hidden.kind == "a":
            owner = translation.arrays[at]
            return lambda args: getattr(owner, "stream", owner)
        if hidden.kind == "l":
            return lambda args: Local(local_bytes.get() or 1)
        kind = kinds[at]
        assert isinstance(kind, Array)
        if hidden.kind == "n":
            if isinstance(kind.element, Vector):
                return lambda args: self._shape(at, self.parameters[at], kind, args[at])[axis]
            return lambda args: args[at].shape[axis]
        if hidden.kind == "s":
            return lambda args: args[at].strides[axis] // args[at].itemsize
        return lambda args: sum(
            -(n - 1) * s // args[at].itemsize for n, s in zip(args[at].shape, args[at].strides, strict=True) if s < 0
        )

    # -- launching -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Launcher:
        try:
            return self._launchers[key]  # type: ignore[no-any-return]
        except (KeyError, TypeError):
            pass
        split_sizes(key)
        launcher = self._launcher(key)
        try:
            if len(self._launchers) >= _MOST_SIZES:
                self._launchers.clear()
            self._launchers[key] = launcher
        except TypeError:
            pass  # a list as a size
        return launcher

    def _launcher(self, key: Any) -> Launcher:
        count = len(self.parameters)
        specials = self._special

        def launch(*args: Any, **options: Any) -> Event:
            """Launch the kernel over ``args`` and return the event; options as for OpenCL C kernels."""
            if options or len(args) != count:
                args = self.bound(args, options)
            try:
                special = specials.get(self.key(args))
            except TypeError:  # what cannot be hashed is refused with its name
                special = None
            if special is None or not special.current():
                special = self.special(args)
            if self._last is not special:
                self._last = special
            kernel = special.kernel or self.built(special, _place(args, options))
            if options:
                _refuse_gaps(special, options, args)
            return kernel[key](*special.pack(args), **options)

        launch.__name__ = launch.__qualname__ = f"{self.name}[{key}]"
        return with_simulate(launch, default())

    def __call__(self, *args: Any, **options: Any) -> Event:
        raise LaunchError(
            f"{self.name} is a kernel and needs a global size", hint=f"{self.name}[(number_of_work_items,), None](…)"
        )

    @property
    def python(self) -> PlainKernel:
        """The function run by Python itself: ``kernel.python[global_size, local_size](arguments…)``, where a debugger
        stops in it. Work-items of a group are threads that wait at barriers; one runs at a time."""
        return PlainKernel(self)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.parameters)}) in Python>"


local_bytes: ContextVar[int] = ContextVar("headwater_local_bytes", default=0)
"""Bytes of local memory behind what a kernel declares, for the launch that is made."""


def _nothing(value: Any) -> None:
    return None


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray or kind is Stream:
        contiguous = kind is Stream or value.flags.c_contiguous
        return value.dtype, value.ndim, contiguous, value.size < MOST_INDEX
    if kind is int:
        return int if -(1 << 31) <= value < 1 << 31 else INT64
    if kind is float or kind is bool:
        return kind
    stream = getattr(value, "stream", None)
    if type(stream) is Stream:
        return _key(stream)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous, value.size < MOST_INDEX
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, (Local, Image, Sampler)):
        return kind
    return kind, value


def _unwrapped(args: Sequence[Any]) -> Sequence[Any]:
    for value in args:
        if type(value) not in _COMMON and hasattr(value, "stream"):
            return [getattr(one, "stream", one) for one in args]
    return args


def _place(args: Sequence[Any], options: dict[str, Any]) -> Device | None:
    if options.get("device") is not None:
        return resolve(options["device"])
    if options.get("queue") is not None:
        return options["queue"].device  # type: ignore[no-any-return]
    streams = (getattr(value, "stream", value) for value in args)
    return next((value.device for value in streams if type(value) is Stream), None)


def _refuse_gaps(special: Special, options: dict[str, Any], args: Sequence[Any]) -> None:
    """LaunchError for arrays with gaps on devices with memory of their own, where what lies between would be copied
    back, too."""
    if any(getattr(kind, "layout", "C") == "strided" for kind in special.kinds):
        place = _place(args, options)
        if place is not None and place.kind == "opencl":
            raise LaunchError(
                f"an array with gaps cannot be written in place on {place.name}", hint="np.ascontiguousarray(…)"
            )


def _span(array: Any, name: str, kernel: str) -> Any:
    """The memory of an array with gaps, from its first element in memory to its last, as an array of one dimension."""
    size = array.itemsize
    if any(stride % size for stride in array.strides):
        raise LaunchError(
            f"{name} of {kernel}: its strides are not multiples of the size of an element",
            hint="np.ascontiguousarray(…)",
        )
    first = array[tuple(slice(None, None, -1) if stride < 0 else slice(None) for stride in array.strides)]
    count = 1 + sum((n - 1) * abs(s) // size for n, s in zip(array.shape, array.strides, strict=True))
    return np.lib.stride_tricks.as_strided(first, (count,), (size,), writeable=array.flags.writeable)


# -- files -------------------------------------------------------------------------------------------------------------


def program_text(source: str, filename: str, only: str = "") -> str:
    """The kernels of a Python file whose parameters are all annotated, or ``only`` the one of that name, as one
    OpenCL C text; the file is executed. UsageError if there are none."""
    import linecache
    import sys
    from types import ModuleType

    name = f"headwater_kernels_{abs(hash((filename, source)))}"
    module = ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module  # where dataclasses look for their annotations
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        exec(compile(source, filename, "exec"), module.__dict__)
    except SyntaxError as error:
        sys.modules.pop(name, None)
        span = Span(filename, error.lineno or 0, error.offset or 0)
        raise SourceError(error.msg, span, source_line=(error.text or "").rstrip()) from None
    except BaseException:
        sys.modules.pop(name, None)
        raise
    try:
        return _module_text(module, filename, only)
    finally:
        sys.modules.pop(name, None)


def unexecuted_text(source: str, filename: str, only: str = "") -> str:
    """As `program_text`, of a text that is read and not executed: see `headwater.python.unexecuted`."""
    from headwater.python.unexecuted import functions_of

    found = [kernel(marked.function, **marked.options) for marked in functions_of(source, filename)]
    if only:
        found = [_kernel_named(only, {one.name: one for one in found}, filename)]
    return _text_of(found, filename, only)


def _module_text(module: Any, filename: str, only: str) -> str:
    found = [value for value in module.__dict__.values() if isinstance(value, PythonKernel)]
    if only:
        found = [_kernel_named(only, module.__dict__, filename)]
    return _text_of(found, filename, only)


def _text_of(found: Sequence[PythonKernel], filename: str, only: str) -> str:
    kernels = [kernel for kernel in found if None not in kernel.declared]
    if not kernels:
        what = "no kernels" if not found else "no kernels of which all parameters are annotated"
        what = f"{only} has parameters without annotations" if only else f"{filename} has {what}"
        raise UsageError(what, hint="@hw.kernel, and hw.array(hw.float32) for a parameter")
    for kernel in kernels:
        if kernel.options:  # they are of one kernel, and a text may hold several
            raise UsageError(
                f"{kernel.name} of {filename} has options={kernel.options!r}, which only launches from Python use",
                hint="leave them out of @hw.kernel, and give them where the file is compiled (--options on the command "
                "line)",
            )
    unit = Unit()
    done = [
        (kernel, kernel.translated_into(unit, [k for k in kernel.declared if k is not None])[1]) for kernel in kernels
    ]
    if unit.faults:
        raise source_error(list(unit.faults.values()))
    text = unit.text()
    for kernel, made in done:
        text = kernel.with_group(text, made)
    return text


def _kernel_named(name: str, members: Mapping[str, Any], filename: str) -> PythonKernel:
    found = members.get(name)
    if isinstance(found, PythonKernel):
        return found
    if type(found).__module__.partition(".")[0] == "triton":
        raise UsageError(
            f"{name} of {filename} is a kernel of Triton's, whose types its launches say",
            hint='call headwater.triton.activate("mi300x") in a program that launches it, and run that',
        )
    known = [key for key, value in members.items() if isinstance(value, PythonKernel)]
    hint = f"it has {', '.join(known)}" if known else "it has none: @hw.kernel makes a function one"
    raise UsageError(f"{filename} has no kernel {name}", hint=hint)


# -- plain Python ------------------------------------------------------------------------------------------------------


class PlainKernel:
    """A kernel that Python itself runs."""

    def __init__(self, kernel: PythonKernel) -> None:
        self.kernel = kernel

    def __getitem__(self, key: Any) -> Callable[..., None]:
        from headwater.python import plain

        whole, group = split_sizes(key)
        extents = sizes(whole, "global size")
        of_group = None if group is None else sizes(group, "group size", low=1)
        required = self.kernel.group
        if of_group is None and required:
            of_group = required[: len(extents)]
        if of_group is not None and len(of_group) != len(extents):
            raise LaunchError(f"the group size {of_group} has not as many dimensions as the global size {extents}")
        kernel = self.kernel

        def launch(*args: Any, **named: Any) -> None:
            """Run the function once for each work-item."""
            given = kernel.bound(args, named)
            if named:
                raise LaunchError(f"{kernel.name} takes no {next(iter(named))} in plain Python")
            kinds = kernel._kinds(given)
            for at, (kind, value) in enumerate(zip(kinds, given, strict=True)):
                _check_number(f"argument {at + 1}, {kernel.parameters[at]}, of {kernel.name}", kind, value)
            plain.run(kernel.python_function, extents, of_group, lambda shared: _plain_arguments(kinds, given, shared))

        return launch


def _check_number(what: str, kind: Type, value: Any) -> None:
    """Refuse numbers for whole types that are not whole, or that the type does not hold, as devices do."""
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(kind, Scalar) or kind.kind not in "iu":
        return
    if isinstance(number, float):
        raise LaunchError(f"{what}: {number!r} is not a whole number", hint=f"pass int({number!r}) if that is meant")
    holds = np.iinfo(kind.dtype)
    if isinstance(number, int) and not holds.min <= number <= holds.max:
        raise LaunchError(f"{what}: {number} does not fit {kind.name}, which holds {holds.min} to {holds.max}")


def _array_hint(value: Any, element: Type | None = None) -> str:
    """How an array is made of a list of numbers."""
    dtype = element.dtype.name if isinstance(element, Scalar) else ""
    if not dtype and isinstance(value, (list, tuple)):
        try:
            found = np.asarray(value)
        except (ValueError, OverflowError):
            return "np.array(…, dtype=…)"
        small = found.dtype.kind == "i" and (not found.size or -(1 << 31) <= found.min() <= found.max() < 1 << 31)
        dtype = {"i": "int32" if small else "int64", "f": "float32", "u": "uint64"}.get(found.dtype.kind, "")
    return f"np.array(…, np.{dtype})" if dtype else "np.array(…, dtype=…)"


def _plain_arguments(kinds: Sequence[Type], given: Sequence[Any], group: Any) -> list[Any]:
    from headwater.python import plain, plain_arrays

    made: list[Any] = []
    for at, (kind, value) in enumerate(zip(kinds, given, strict=True)):
        if isinstance(kind, LocalPointer):
            count = value.nbytes // plain_arrays.size_of(kind.element)
            made.append(group.slots.setdefault(at, plain.local_memory(count, kind.element)))
        elif isinstance(kind, Array):
            made.append(plain_arrays.viewed(value, kind))
        elif isinstance(kind, Scalar) and not isinstance(value, np.generic):
            made.append(kind(value))
        elif isinstance(kind, Vector):
            made.append(kind(*value))
        else:
            made.append(value)
    return made


# -- decorator ---------------------------------------------------------------------------------------------------------


@overload
def kernel(function: Callable[..., Any], /) -> PythonKernel: ...


@overload
def kernel(
    function: None = None, /, *, options: str = "", group: Size | None = None
) -> Callable[[Callable[..., Any]], PythonKernel]: ...


def kernel(function: Any = None, /, *, options: str = "", group: Size | None = None) -> Any:
    """Make a kernel of a Python function: a decorator, ``@hw.kernel`` or ``@hw.kernel(group=(16, 16))``.

    ``options``: build options of OpenCL C, such as ``-cl-fast-relaxed-math``. ``group``: the only group size that it
    can be launched with. The function is translated when it is launched; errors in it are SourceErrors with its file's
    lines.
    """
    required = () if group is None else sizes(group, "group size", low=1)
    if function is None:
        return lambda one: PythonKernel(one, options, required)
    return PythonKernel(function, options, required)

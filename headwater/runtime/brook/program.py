"""Input: Brook+ source. Output: kernels that are called with arrays or streams, and return their out streams.

A call looks like Brook+'s own, less the out streams: ``c = program.sum(a, b)``. What a call needs beyond its arguments
(which generated kernel, sizes, address tables) depends only on shapes and the device, so it is worked out once and
kept.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from headwater.base import cache
from headwater.base.arrays import Array, contiguous_address
from headwater.base.garbage import uncollected
from headwater.base.version import VERSION
from headwater.brook import model
from headwater.brook.model import BrookModule, BrookSignature, Parameter
from headwater.errors import KernelFault, SourceError, UsageError
from headwater.runtime.brook.arguments import (
    ALIGNMENT,
    Convert,
    Shape,
    aligned,
    bind,
    check_dtype,
    dimensions,
    elements,
    empty,
    is_copied,
    prototype,
    refuse_aliases,
    stream_shape,
    to_array,
    value_converter,
    whole,
    wrong,
    zeros,
)
from headwater.runtime.brook.call_plans import CallPlan, CallPlanner
from headwater.runtime.brook.places import in_brook
from headwater.runtime.brook.plan import Domain, View
from headwater.runtime.events import Event
from headwater.runtime.interface import Device, DeviceKernel, Queue, current, default, resolve
from headwater.runtime.program import Kernel, Program
from headwater.runtime.signature import check_limit
from headwater.runtime.streams import Stream, SubStream
from headwater.runtime.values import whole_numbers

if TYPE_CHECKING:
    from headwater.runtime.brook.drawing import Shaders

_EXACT = "-D HW_EXACT_RANGE"
_of_functions: WeakValueDictionary[tuple[str, str], BrookModule] = WeakValueDictionary()
"""Modules that were made of functions in Python, by what stands for their text, and their file's name."""
_THOROUGH = object()  # the quick way's answer where it cannot tell


def translate(source: str, filename: str, options: str = "", target: Device | None = None) -> BrookModule:
    """The translated module, from the disk cache if the same text was translated before; SourceError if it is wrong.

    ``target``: for which it is then compiled, and which gets ready for that meanwhile.
    """
    known = _of_functions.get((source, filename))
    if known is not None:
        return known
    store = cache.current()
    key = cache.key("brook", VERSION, _translator(), filename, options, source)
    entry = store.get(key)
    if entry is not None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # damaged: translate anew
            return BrookModule.from_json((entry / "module.json").read_text(encoding="utf-8"))
    if target is not None:
        target.expect_source()
    from headwater.brook import translate as translate_source

    with uncollected():
        module: BrookModule = translate_source(source, filename, options)
    store.put(key, {"module.json": module.to_json().encode()})
    return module


def of_function(module: BrookModule, source: str) -> BrookProgram:
    """The program of a module that was made of functions in Python. ``source``: their text, and what else the module
    depends on, so that no other one has the same; it stands for the module where programs are analysed."""
    _of_functions[source, module.filename] = module
    return BrookProgram(module, source)


@functools.cache
def _translator() -> str:
    """Which translator this is: names, sizes and times of its files, so that a changed one finds no old results."""
    files = sorted(os.scandir(os.path.dirname(model.__file__)), key=lambda file: file.name)
    marks = [f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files if file.is_file()]
    return "\n".join(marks)


def load(source: str, filename: str, options: str = "", device: Device | str | None = None) -> BrookProgram:
    """Translate Brook+ source. ``device``: where its kernels run unless a call says otherwise."""
    chosen = None if device is None else resolve(device)
    module = translate(source, filename, options, chosen or current() or default())
    return BrookProgram(module, source, options, chosen)


class BrookProgram(Program["BrookKernel"]):
    """A translated ``.br`` file. Its kernels are attributes: ``program.sum(a, b)``; struct dtypes are in ``structs``.

    ``module`` describes the kernels, ``opencl`` is the OpenCL C that they were translated to; ``build_options`` are
    OpenCL's, for devices' compilers.
    """

    language = "brook"

    def __init__(
        self,
        module: BrookModule,
        source: str,
        options: str = "",
        device: Device | None = None,
        build_options: str = "",
    ) -> None:
        self.source = source
        self._build_options = build_options
        self.filename = module.filename
        self.options = options
        self.module = module
        # The environment is read now: a call must not cost a look at it.
        self.default_device = device if device is not None else default()
        self.structs: dict[str, np.dtype[Any]] = {n: s.dtype(module.structs) for n, s in module.structs.items()}
        self.kernels = {name: BrookKernel(self, signature) for name, signature in module.kernels.items()}
        self._built: dict[tuple[Device, bool], dict[str, DeviceKernel]] = {}
        self._shaders: dict[Device, Shaders] = {}

    @property
    def opencl(self) -> str:
        """The OpenCL C text."""
        return self.module.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the translator warned of."""
        return self.module.warnings

    def kernel(self, symbol: str, device: Device, exact: bool = False) -> DeviceKernel:
        """A kernel of the OpenCL C, compiled for ``device`` once; on the cpu device and if ``exact``, for launches
        without surplus work-items.

        Each Brook+ kernel has several, and a call needs one or two: the device need not compile the others.
        """
        key = device, exact or device.kind == "cpu"
        built = self._built.setdefault(key, {})
        if symbol not in built:
            options = f"{_EXACT} {self._build_options}" if key[1] else self._build_options
            made = device.build(self.module.source, f"{self.module.filename}.cl", options, (symbol,)).kernels
            for name, kernel in self.module.kernels.items():
                for entry in kernel.entries:
                    if entry.symbol in made:
                        made[entry.symbol].title = name
            built.update(made)
        return built[symbol]

    def shaders(self, device: Any) -> Shaders:
        """The program's pixel shaders, compiled for ``device`` as they are needed."""
        found = self._shaders.get(device)
        if found is None:
            from headwater.runtime.brook.drawing import Shaders

            assert self.module.pixels is not None
            found = self._shaders[device] = Shaders(self.module.pixels, self.source, device, self._build_options)
        return found


class BrookKernel(Kernel):
    """A Brook+ kernel. Call it with the kernel's arguments in order, less its out streams and out arrays, which it
    returns.

    Inputs: arrays, device streams or lists; a ``float4`` stream of shape (h, w) is a float32 array of shape (h, w, 4);
    values are numbers, or sequences for vectors. Arguments can be given by name.

    ``shape``
        of the out streams (elements, slowest dimension first); needed where inputs do not give it. A mapping by name
        where an out array differs. Of a reduction: the shape to reduce to; without it the result is one value.
    ``out``
        arrays or streams to write into: one, a sequence in order, or a mapping by name. They are also returned.
    ``domain``
        ``(start, end)``: run only for this part of the output; the rest keeps what ``out`` holds, or is zero.
    ``device``, ``queue``, ``time_limit``
        where to run, in which queue (results in streams are then ready when it is), and for how many seconds at most.
    ``check``
        look for bad accesses (default HEADWATER_CHECK).

    One out gives an array (or stream, if an input is a stream), several give a tuple.
    """

    def __init__(self, program: BrookProgram, signature: BrookSignature, check: bool | None = None) -> None:
        self.program = program
        self.name = signature.name
        self.signature = signature
        self.last_event: Event | None = None  # of the latest call
        parameters = signature.parameters
        self._elements = elements(program.module, signature)
        self._index = {p.name: i for i, p in enumerate(parameters)}
        outs = ("output", "scatter", "reduce")
        self._outs = tuple(p for p in parameters if p.kind in outs)
        self._passed = tuple(p for p in parameters if p.kind not in outs)
        # Of what is passed: (position in the call, parameter) of arrays, (position, parameter, conversion) of values.
        self._arrays = tuple((i, p) for i, p in enumerate(self._passed) if p.kind != "value")
        self._values: tuple[tuple[int, int, Convert], ...] = tuple(
            (i, self._index[p.name], value_converter(signature, p, self._elements[p.name]))
            for i, p in enumerate(self._passed)
            if p.kind == "value"
        )
        self._array_positions = tuple(i for i, _ in self._arrays)
        # (position in the call, parameter's number, dtype) of arrays, and the latter two of outs.
        self._places = tuple((i, self._index[p.name], self._elements[p.name].dtype) for i, p in self._arrays)
        self._out_places = tuple((self._index[p.name], self._elements[p.name].dtype) for p in self._outs)
        self._item_count = len(parameters) + 1  # the last one is for the partial results of a reduction
        self.planner = CallPlanner(program, signature, self._elements, check)
        self._with_check: dict[bool, BrookKernel] = {}

    @property
    def info(self) -> BrookSignature:
        """The kernel's parameters as the translator found them."""
        return self.signature

    def __repr__(self) -> str:
        return f"<Brook+ kernel {prototype(self.signature)}>"

    def __getitem__(self, sizes: object) -> Any:
        raise UsageError(
            f"{self.name} is a Brook+ kernel: its size comes from its streams, not from [{sizes!r}]",
            hint=f"call it directly: program.{self.name}({', '.join(p.name for p in self._passed)})",
        )

    def __call__(
        self,
        *args: Any,
        shape: object = None,
        out: Any = None,
        domain: Any = None,
        device: Device | str | None = None,
        queue: Queue | None = None,
        time_limit: float | None = None,
        check: bool | None = None,
        **named: Any,
    ) -> Any:
        """Run the kernel; see the class. UsageError for arguments that do not fit, KernelFault if the kernel fails."""
        if named or len(args) != len(self._passed):
            args = bind(self.signature, self._passed, args, named)
        if time_limit is not None:
            check_limit(time_limit)
        if check is not None:
            return self._checked(bool(check))(*args, shape=shape, out=out, domain=domain, device=device, queue=queue,
                                              time_limit=time_limit)  # fmt: skip
        try:
            if queue is None:
                where = None if device is None else resolve(device)
                result = self._quick_call(args, shape, out, domain, where, time_limit)
                if result is not _THOROUGH:
                    return result
            return self._call(args, shape, out, domain, device, queue, time_limit)
        except (SourceError, KernelFault) as error:
            raise in_brook(error, self.program.module, self.program.source) from None

    def _checked(self, check: bool) -> BrookKernel:
        """The kernel as one that always looks for bad accesses, or never."""
        found = self._with_check.get(check)
        if found is None:
            found = self._with_check[check] = BrookKernel(self.program, self.signature, check)
        return found

    # -- the quick way: arrays and streams as they should be, of shapes seen before ------------------------------------

    def _look_at(
        self, args: Sequence[Any], shape: Any, outs: Sequence[Any], domain: Any, where: Device | None
    ) -> tuple[tuple[Any, ...], list[Any], bool] | None:
        """What a quick call is looked up by, the device first; its items, values not among them; whether an input is a
        stream. None if an argument is no array or stream that can be used as it is.
        """
        key = [where, shape, domain]
        items: list[Any] = [None] * self._item_count
        extents: list[tuple[int, int]] = []  # addresses of arrays, which outs must not share
        any_stream = False
        for position, number, dtype in self._places:
            value = args[position]
            kind = type(value)
            if kind is Stream:
                if where is None:
                    key[0] = where = value.device
                elif value.device is not where:
                    return None
                any_stream = True
                items[number] = value.buffer
            elif kind is np.ndarray:
                start = contiguous_address(value)
                if start % ALIGNMENT:
                    return None
                if outs:
                    extents.append((start, start + value.nbytes))
                items[number] = value
            else:
                return None
            if value.dtype is not dtype and value.dtype != dtype:
                return None
            key.append(value.shape)
        for value, (number, dtype) in zip(outs, self._out_places, strict=False):
            if type(value) is Stream:
                if where is None:
                    key[0] = where = value.device
                elif value.device is not where:
                    return None
                if any(item is value.buffer for item in items):
                    return None
                items[number] = value.buffer
            elif type(value) is np.ndarray:
                start = contiguous_address(value)
                end = start + value.nbytes
                if start % ALIGNMENT or not value.flags.writeable:
                    return None
                for low, high in extents:
                    if start < high and low < end:
                        return None
                extents.append((start, end))
                items[number] = value
            else:
                return None
            if value.dtype is not dtype and value.dtype != dtype:
                return None
            key.append((value.shape,))
        if where is None:
            key[0] = current() or self.program.default_device
        return tuple(key), items, any_stream

    def _quick_call(
        self, args: Sequence[Any], shape: Any, out: Any, domain: Any, where: Device | None, time_limit: float | None
    ) -> Any:
        """The call's result, or `_THOROUGH` if it needs a closer look."""
        outs = _listed(out)
        found = self._look_at(args, shape, outs, domain, where)
        if found is None:
            return _THOROUGH
        key, items, any_stream = found
        try:
            plan = self.planner.quick.get(key)
        except TypeError:  # a shape given as a list
            return _THOROUGH
        if plan is None or ((any_stream or outs) and not plan.direct):
            return _THOROUGH
        for position, number, convert in self._values:
            items[number] = convert(args[position])
        if outs:
            self._run(plan, items, None, time_limit, wait=True)
            return outs[0] if len(outs) == 1 else tuple(outs)
        if any_stream and not plan.is_value:
            made = []
            for number, full, dtype, zero in plan.outs:
                made.append(_new_stream(plan.device, full, dtype, zero))
                items[number] = made[-1].buffer
            self._run(plan, items, None, time_limit, wait=True)
            return made[0] if len(made) == 1 else tuple(made)
        for number, full, dtype, zero in plan.outs:
            items[number] = zeros(full, dtype) if zero else empty(full, dtype)
        return self._run_with_arrays(plan, items, time_limit)

    def _run_with_arrays(self, plan: CallPlan, items: list[Any], time_limit: float | None) -> Any:
        """Run with arrays as items, and return what the call returns."""
        if plan.is_value and not plan.direct:
            return self._value(plan, items, time_limit)
        results = [items[number] for number, _, _, _ in plan.outs]
        if not plan.direct:
            fresh = {number for number, _, _, zero in plan.outs if not zero}
            self._to_device(plan.device, items, fresh)
        self._run(plan, items, None, time_limit, wait=True)
        if not plan.direct:
            for result, (number, _, _, _) in zip(results, plan.outs, strict=True):
                plan.device.download(items[number], result)
        if plan.is_value:
            return results[0][0]
        return results[0] if len(results) == 1 else tuple(results)

    def _value(self, plan: CallPlan, items: list[Any], time_limit: float | None) -> Any:
        """The value that a reduction has on a device with memory of its own.

        Its buffers stay with the plan, and a driver is waited for once, by what reads the value: on an H200 to make and
        release them, and to wait twice, took 0.02 to 0.2 ms of a call's 0.37 to 0.55.
        """
        ((number, full, dtype, _),) = plan.outs
        device, value = plan.device, empty(full, dtype)
        try:
            target, items[-1] = plan.spare.pop()
        except IndexError:
            target, items[-1] = device.allocate(value.nbytes), device.allocate(plan.partial) if plan.partial else None
        items[number] = target
        self._to_device(device, items, set())
        self._run(plan, items, None, time_limit, wait=device.kind != "opencl")
        device.download(target, value)
        plan.spare.append((target, items[-1]))
        return value[0]

    def _to_device(self, device: Device, items: list[Any], fresh: set[int]) -> None:
        """Replace arrays by buffers; those in ``fresh`` need no contents."""
        for number, item in enumerate(items):
            if isinstance(item, np.ndarray):
                items[number] = device.allocate(item.nbytes) if number in fresh else device.wrap(item)

    def _run(
        self, plan: CallPlan, items: list[Any], queue: Queue | None, time_limit: float | None, *, wait: bool
    ) -> None:
        if plan.partial and items[-1] is None:
            items[-1] = plan.device.allocate(plan.partial)
        event: Any = None
        for step in plan.steps if plan.launch is None else self.planner.matching_steps(plan, plan.launch, items):
            launch = step.template.copy()
            for slot, number in step.fills:
                launch[slot] = items[number]
            if event is not None and queue is None and plan.direct:
                event.wait()  # the cpu device starts a launch without a queue at once
            event = step.prepared(launch, queue, time_limit)
        self.last_event = event
        if wait:
            event.wait()

    # -- the thorough way ------------------------------------------------------------------------------------------

    def _call(
        self,
        args: Sequence[Any],
        shape: Any,
        out: Any,
        domain: Any,
        device: Device | str | None,
        queue: Queue | None,
        time_limit: float | None,
    ) -> Any:
        signature = self.signature
        if not signature.launchable:
            raise UsageError(
                f"{self.name} can only be called by other kernels: {prototype(signature)}",
                hint="the host calls kernels that return void and have an out stream, out array or reduce parameter",
            )
        given = self._given_outs(out)
        where = self._device(args, given, device)
        arrays = (*(args[position] for position in self._array_positions), *given.values())
        if queue is not None and any(is_copied(where, value) for value in arrays):
            queue.wait()  # what its launches write to these arrays is copied now
        items: list[Any] = [None] * self._item_count
        views: dict[str, View] = {}
        for position, parameter in self._arrays:
            number = self._index[parameter.name]
            value = args[position]
            if not isinstance(value, (Stream, SubStream)):
                value = items[number] = to_array(signature, parameter, self._elements[parameter.name], value)
            views[parameter.name] = self._view(parameter, value)
            if isinstance(value, (Stream, SubStream)):
                items[number] = whole(value).buffer
        for position, number, convert in self._values:
            items[number] = convert(args[position])
        for parameter in self._outs:
            if parameter.name in given:
                views[parameter.name] = self._view(parameter, given[parameter.name])
        refuse_aliases(signature, {**{p.name: args[i] for i, p in self._arrays}, **given}, views)
        for position, parameter in self._arrays:
            value = args[position]
            if isinstance(value, SubStream) and self._is_compacted(parameter):
                if queue is not None:
                    queue.wait()  # it may be about to write the stream
                items[self._index[parameter.name]] = value.compact().buffer
                if queue is not None:
                    where.finish()
                views[parameter.name] = View.of(views[parameter.name].shape)
        plan = self.planner.plan(where, views, self._asked(shape), self._domain(domain))
        outs = _listed(out)
        found = self._look_at(args, shape, outs, domain, where)
        if found is not None and len(outs) in (0, len(self._outs)):
            with contextlib.suppress(TypeError):  # a shape given as a list
                self.planner.quick[found[0]] = plan
        if (
            not given
            and queue is None
            and not any(isinstance(args[i], (Stream, SubStream)) for i in self._array_positions)
        ):
            for number, full, dtype, zero in plan.outs:
                items[number] = zeros(full, dtype) if zero else empty(full, dtype)
            return self._run_with_arrays(plan, items, time_limit)
        return self._run_with_streams(plan, items, given, queue, time_limit)

    def _run_with_streams(
        self, plan: CallPlan, items: list[Any], given: Mapping[str, Any], queue: Queue | None, time_limit: float | None
    ) -> Any:
        """Run where outs are given or inputs are streams; outs that are not given become streams."""
        if plan.is_value and not plan.direct and not given and queue is None:
            return self._value(plan, items, time_limit)
        device = plan.device
        results: list[Any] = []
        copies: list[tuple[Any, Array, int]] = []  # from an item to an array that is not itself the device's memory
        for parameter, (number, full, dtype, zero) in zip(self._outs, plan.outs, strict=True):
            target = given.get(parameter.name)
            if isinstance(target, (Stream, SubStream)):
                items[number] = whole(target).buffer
            elif target is not None or plan.is_value or items[number] is not None:
                target = items[number] if target is None else target
                made = zeros(full, dtype) if target is None else aligned(target)
                if made is not target or not plan.direct:
                    copies.append((made, made if target is None else target, number))
                items[number] = made
                target = made if target is None else target
            else:
                target = _new_stream(device, full, dtype, zero)
                items[number] = target.buffer
            results.append(target)
        if not plan.direct:
            self._to_device(device, items, set())
        is_array = any(isinstance(result, np.ndarray) for result in results)
        self._run(plan, items, queue, time_limit, wait=is_array or (plan.direct and queue is None))
        for made, target, number in copies:
            if not plan.direct:
                device.download(items[number], made)
            if made is not target:
                target[...] = made
        if plan.is_value:
            return results[0][0]
        return results[0] if len(results) == 1 else tuple(results)

    def _view(self, parameter: Parameter, value: Any) -> View:
        element = self._elements[parameter.name]
        if isinstance(value, np.ndarray):
            return View.of(stream_shape(self.signature, parameter, element, value.shape))
        base = whole(value)
        if isinstance(value, SubStream) and parameter.kind in ("scatter", "reduce"):
            raise wrong(
                self.signature, parameter, "a sub-stream has no array of its own to write to", "pass the whole stream"
            )
        if base.dtype != element.dtype or (element.axis and base.shape[-1:] != element.axis):
            raise wrong(
                self.signature,
                parameter,
                f"got a stream of {base.dtype}, shape {base.shape}; expected {element.describe()}",
            )
        shape = stream_shape(self.signature, parameter, element, value.shape)
        if isinstance(value, Stream):
            return View.of(shape)
        rank = len(shape)
        if len(value.start) > rank:
            raise wrong(self.signature, parameter, f"the sub-stream divides the components of a {element.name}")
        if not self._is_compacted(parameter):
            stream_shape(self.signature, parameter, element, base.shape)  # address tables are of the whole stream
        return View(shape, base.shape[:rank], value.start + (0,) * (rank - len(value.start)))

    def _is_compacted(self, parameter: Parameter) -> bool:
        """Whether the generated code wants the array to be the whole of its memory."""
        return self.signature.is_reduction or parameter.kind not in ("input", "output")

    def _given_outs(self, out: Any) -> dict[str, Any]:
        """``out=`` by parameter name, checked: writable arrays of the right type, or streams."""
        if out is None:
            return {}
        names = [p.name for p in self._outs]
        if isinstance(out, Mapping):
            unknown = [name for name in out if name not in names]
            if unknown:
                raise UsageError(f"{self.name} has no out {unknown[0]!r}; its outs are {', '.join(names)}")
            given = dict(out)
        else:
            several = out if isinstance(out, (list, tuple)) else (out,)
            if len(several) != len(names):
                have = f"{len(names)} out{'s' * (len(names) != 1)} ({', '.join(names)})"
                raise UsageError(
                    f"{self.name} has {have}, out= has {len(several)}",
                    hint="name them to give only some: out={'" + names[0] + "': …}",
                )
            given = dict(zip(names, several, strict=True))
        for parameter in self._outs:
            value = given.get(parameter.name)
            if value is None:
                given.pop(parameter.name, None)
            elif isinstance(value, np.ndarray):
                element = self._elements[parameter.name]
                check_dtype(self.signature, parameter, element, value)
                if value.dtype != element.dtype:
                    raise wrong(self.signature, parameter, f"got {value.dtype}, expected {element.describe()}")
                if not value.flags.writeable:
                    raise wrong(self.signature, parameter, "the array given with out= is read-only")
            elif not isinstance(value, (Stream, SubStream)):
                raise wrong(self.signature, parameter, f"out= takes arrays and streams, not a {type(value).__name__}")
        return given

    def _device(self, args: Sequence[Any], given: Mapping[str, Any], device: Device | str | None) -> Device:
        """Where to run: as asked, else where the streams are, else the program's or the current device."""
        streams = [args[i] for i in self._array_positions if isinstance(args[i], (Stream, SubStream))]
        streams += [value for value in given.values() if isinstance(value, (Stream, SubStream))]
        where = resolve(device) if device is not None else None
        for stream in streams:
            if where is None:
                where = stream.device
            elif stream.device is not where:
                raise UsageError(
                    f"{self.name}: a stream is on {stream.device.name}, the call runs on {where.name}",
                    hint=f"copy it first: hw.stream(np.asarray(stream), device={where.name!r})",
                )
        return where or current() or self.program.default_device

    def _asked(self, shape: Any) -> Shape | dict[str, Shape] | None:
        if shape is None:
            return None
        if isinstance(shape, Mapping):
            names = [p.name for p in self._outs]
            unknown = [name for name in shape if name not in names]
            if unknown:
                raise UsageError(f"{self.name} has no out {unknown[0]!r}; its outs are {', '.join(names)}")
            return {name: dimensions(value, f"{self.name}: shape of {name!r}") for name, value in shape.items()}
        return dimensions(shape, f"{self.name}: shape")

    def _domain(self, domain: Any) -> Domain | None:
        if domain is None:
            return None
        if self.signature.is_reduction:
            raise UsageError(
                f"{self.name} is a reduction: it has no domain", hint="reduce a part of the array: array[a:b]"
            )
        ends = []
        if not isinstance(domain, (tuple, list)) or len(domain) != 2:
            raise UsageError(f"{self.name}: domain is {domain!r}; expected (start, end), like the ends of a slice")
        for end in domain:
            numbers = whole_numbers(end)
            if numbers is None:
                raise UsageError(f"{self.name}: domain is {domain!r}; its ends are whole numbers, or tuples of them")
            ends.append(numbers)
        return ends[0], ends[1]


def _listed(out: Any) -> Sequence[Any]:
    """``out=`` as a sequence: nothing, one or several."""
    if out is None:
        return ()
    return out if type(out) in (tuple, list) else (out,)


def _new_stream(device: Device, shape: Shape, dtype: np.dtype[Any], zero: bool) -> Stream:
    buffer = device.allocate(prod(shape) * dtype.itemsize)
    if zero:
        device.fill(buffer, b"\0")
    return Stream(device, shape, dtype, buffer)

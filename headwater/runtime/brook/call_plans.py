"""Input: a call's device and shapes. Output: its `CallPlan`: launches that are prepared, and what they take."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwater.brook.conditions import holds
from headwater.brook.model import BrookModule, BrookSignature, Parameter
from headwater.runtime.brook.arguments import Element, Shape
from headwater.runtime.brook.plan import Domain, Launch, View, output_shape, plan_map, plan_reduction
from headwater.runtime.interface import Device, DeviceKernel

if TYPE_CHECKING:
    from headwater.runtime.brook.drawing import Drawing, Shaders
    from headwater.runtime.brook.pixels import Pass
    from headwater.runtime.interface import Buffer, Prepared

KEPT_PLANS = 256  # per kernel; each holds the address tables of one combination of shapes


class Step:
    """A launch with its sizes fixed: ``template`` holds what never changes, ``fills`` says which item goes where."""

    __slots__ = ("fills", "prepared", "template")

    def __init__(self, prepared: Prepared | Drawing, template: list[Any], fills: tuple[tuple[int, int], ...]) -> None:
        self.prepared = prepared
        self.template = template
        self.fills = fills


class CallPlan:
    """What a call needs for one combination of device and shapes. *Items* are what parameters stand for, by their
    number.
    """

    __slots__ = (
        "device",
        "direct",
        "is_value",
        "latest",
        "launch",
        "otherwise",
        "outs",
        "partial",
        "spare",
        "steps",
        "tested",
    )

    def __init__(self, device: Device) -> None:
        self.device = device
        self.direct = device.kind == "cpu"  # arrays are the device's memory
        self.steps: tuple[Step, ...] = ()
        # Of every out: its parameter's number, the shape of its array, the dtype, whether it starts as zeros.
        self.outs: tuple[tuple[int, Shape, np.dtype[Any], bool], ...] = ()
        self.is_value = False  # a reduction to one value
        # A launch that is right for some values only, prepared in `steps` when they first come; and how to run others.
        self.launch: Launch | None = None
        self.otherwise: tuple[Step, ...] = ()
        # Which parameters' values that depends on; those of the latest call with the steps that are right for them.
        self.tested: tuple[int, ...] = ()
        self.latest: tuple[list[Any] | None, tuple[Step, ...]] = None, ()
        self.partial = 0  # bytes of the partial results of a reduction, whose item comes after the parameters
        # Buffers of a reduction to one value for its result and its partial results, between calls.
        self.spare: list[tuple[Buffer, Buffer | None]] = []


class Compiled(Protocol):
    """A module that is compiled for devices, see `headwater.runtime.brook.program.BrookProgram`."""

    module: BrookModule

    def kernel(self, symbol: str, device: Device, exact: bool = False) -> DeviceKernel: ...

    def shaders(self, device: Any) -> Shaders: ...


class CallPlanner:
    """The plans of a kernel's calls, each made once. ``quick`` has them by what a call with plain arrays looks like;
    ``known`` are the kinds of elements that its parameters have, ``check`` says whether launches look for bad accesses
    (None: if HEADWATER_CHECK asks for it)."""

    def __init__(
        self, program: Compiled, signature: BrookSignature, known: Mapping[str, Element], check: bool | None = None
    ) -> None:
        self.check = check
        self.program = program
        self.signature = signature
        self.quick: dict[Any, CallPlan] = {}
        self.plans: dict[Any, CallPlan] = {}
        self._elements = known
        self._index = {p.name: i for i, p in enumerate(signature.parameters)}
        self._outs = tuple(p for p in signature.parameters if p.kind in ("output", "scatter", "reduce"))

    def plan(
        self, device: Device, views: dict[str, View], asked: Shape | dict[str, Shape] | None, domain: Domain | None
    ) -> CallPlan:
        """The plan of a call. ``views``: what is given for streams and arrays; ``asked``: the shape of its results.
        UsageError for shapes that do not fit together."""
        key = (device, *views.items(), tuple(asked.items()) if isinstance(asked, dict) else asked, domain)
        plan = self.plans.get(key)
        if plan is None:
            plan = (
                self._reduction(device, views, asked)
                if self.signature.is_reduction
                else self._map(device, views, asked, domain)
            )
            if len(self.plans) >= KEPT_PLANS or len(self.quick) >= KEPT_PLANS:
                self.plans.clear()
                self.quick.clear()
            self.plans[key] = plan
        return plan

    def _map(
        self, device: Device, views: dict[str, View], asked: Shape | dict[str, Shape] | None, domain: Domain | None
    ) -> CallPlan:
        given = {p.name: views[p.name].shape for p in self._outs if p.name in views}
        shapes = output_shape(self.signature, {name: view.shape for name, view in views.items()}, given, asked)
        views = {**{name: View.of(shape) for name, shape in shapes.items()}, **views}
        plan = CallPlan(device)
        plan.outs = tuple(self._out(p, shapes[p.name], domain is not None or p.kind == "scatter") for p in self._outs)
        pixels = self._pixels(device)
        if pixels is not None:
            from headwater.runtime.brook.pixels import plan_map as plan_pixels

            passes = plan_pixels(pixels, views, domain, device.stream_texels)
            if self._draws(plan, passes):
                return plan
        launch = plan_map(self.signature, views, domain, _is_gpu(device))
        if launch.tests:
            plan.launch = launch
            names = {token for test in launch.tests for token in test if str(token).startswith("value.")}
            plan.tested = tuple(sorted({self._named(str(name))[0] for name in names}))
        else:
            plan.steps = (self._step(device, launch),)
        return plan

    def _pixels(self, device: Device) -> BrookSignature | None:
        """The kernel as pixel shaders, where it runs as such: on R600 and R700."""
        module = self.program.module.pixels
        kernel = module.kernels.get(self.signature.name) if module is not None and device.stream_texels else None
        return kernel if kernel is not None and kernel.launchable else None

    def _draws(self, plan: CallPlan, passes: Sequence[Pass] | None) -> bool:
        """Make a plan one of pixel shaders, if they can do it."""
        from headwater.runtime.brook.drawing import Drawing

        if passes is None:
            return False
        shaders = self.program.shaders(plan.device)
        shaders.expect(passes)
        if not shaders.fit(passes):
            return False
        count = len(self.signature.parameters)
        drawing = Drawing(shaders, passes, self.signature.parameters, self.check)
        plan.steps = (Step(drawing, [None] * count, tuple((number, number) for number in range(count))),)
        return True

    def _named(self, name: str) -> tuple[int, int]:
        """Where the items hold what a test names ``value.n`` or ``value.v.y``."""
        _, parameter, *component = name.split(".")
        return self._index[parameter], "xyzw".index(component[0]) if component else -1

    def _reduction(self, device: Device, views: dict[str, View], asked: Shape | dict[str, Shape] | None) -> CallPlan:
        (result,) = self._outs
        (source,) = (p for p in self.signature.parameters if p.kind == "input")
        if isinstance(asked, dict):
            asked = asked.get(result.name)
        target = views[result.name].shape if result.name in views else asked
        plan = CallPlan(device)
        plan.is_value = target is None
        plan.outs = (self._out(result, target or (1,), False),)
        pixels = self._pixels(device)
        if pixels is not None:
            from headwater.runtime.brook.pixels import plan_reduction as plan_folding

            passes = plan_folding(pixels, source, result, views[source.name].shape, target, device.stream_texels)
            if self._draws(plan, passes):
                return plan
        launches, partial = plan_reduction(
            self.signature, source, result, views[source.name].shape, target, _is_gpu(device), device.has_local_memory
        )
        if partial:
            plan.partial = partial * self._elements[result.name].bytes
            names = (source.name, "", result.name)
            plan.steps = tuple(
                self._step(device, launch, {source.name: names[i], "": "", result.name: names[i + 1]})
                for i, launch in enumerate(launches)
            )
        else:
            plan.steps = tuple(self._step(device, launch) for launch in launches)
        return plan

    def _out(self, parameter: Parameter, shape: Shape, zero: bool) -> tuple[int, Shape, np.dtype[Any], bool]:
        element = self._elements[parameter.name]
        return self._index[parameter.name], (*shape, *element.axis), element.dtype, zero

    def _step(self, device: Device, launch: Launch, rename: Mapping[str, str] | None = None) -> Step:
        """Fix a launch's sizes and what never changes. ``rename``: which item stands for a parameter, ``""`` the
        partial results.
        """
        exact = launch.exact or not _is_gpu(device)  # others are launched over exact ranges, reductions too
        kernel = self.program.kernel(launch.entry.symbol, device, exact)
        template: list[Any] = []
        fills = []
        for slot in launch.slots:
            if slot.kind in ("memory", "value"):
                name = rename.get(slot.param, slot.param) if rename else slot.param
                fills.append((len(template), self._index[name] if name else len(self._index)))
                template.append(None)
            elif slot.kind == "table":
                template.append(device.upload(slot.fixed))
            elif isinstance(slot.fixed, tuple):
                template.append(struct.pack("4i", *slot.fixed))
            else:
                template.append(slot.fixed)
        prepared = kernel.prepare(launch.global_size, launch.local_size, check=self.check)
        return Step(prepared, template, tuple(fills))

    def matching_steps(self, plan: CallPlan, launch: Launch, items: Sequence[Any]) -> tuple[Step, ...]:
        """The steps that are right for the values passed."""
        values = [items[number] for number in plan.tested]
        latest, steps = plan.latest
        if values == latest:
            return steps
        named = dict(zip(plan.tested, values, strict=True))

        def number(name: str) -> int:
            item, part = self._named(name)
            value: int = named[item] if part < 0 else named[item][part]
            return value

        if all(holds(test, number) for test in launch.tests):
            steps = plan.steps = plan.steps or (self._step(plan.device, launch),)
        else:
            assert launch.otherwise is not None
            steps = plan.otherwise = plan.otherwise or (self._step(plan.device, launch.otherwise),)
        plan.latest = values, steps  # at once: other threads may call too
        return steps


def _is_gpu(device: Device) -> bool:
    return bool(getattr(device, "is_gpu", False))

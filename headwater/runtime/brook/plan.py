"""Input: a Brook+ kernel's signature and the shapes of its arguments. Output: the launches of generated kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headwater.base.arrays import Array
from headwater.brook.conditions import Test, remaining
from headwater.brook.model import Arg, BrookSignature, Entry, Parameter, Variant, extents
from headwater.errors import LaunchError
from headwater.runtime.brook.arguments import Shape, check_shape, declaration, wrong
from headwater.runtime.values import Local

Size = tuple[int, int, int]
Domain = tuple[Shape, Shape]
# Work-items in a group on OpenCL GPUs: a multiple of every vendor's wavefront, and every device allows it.
GPU_GROUP = 256
# Work-items side by side in a group on a GPU's plane: wide rows read memory best, square groups of 16x16 hold elements
# whose loops run equally long (measured 3 % faster on an H200 for the Mandelbrot set).
GPU_WIDTH = 64
UNEVEN_WIDTH = 16
# Elements that one work-item of a GPU reduction folds before there are more groups.
GPU_FOLD = 16
GPU_REDUCTION_GROUPS = 1024
# On the cpu device: a group of a reduction is one vector of 16 lanes, so that it reads memory in one run (groups of 256
# were measured at a third of the speed), and gets enough elements to be worth taking.
CPU_GROUP = 16
CPU_FOLD = 1 << 15
CPU_REDUCTION_GROUPS = 256
# Columns of a reduction on the cpu device: those of a group, so that its results so far stay in the first-level cache;
# the groups wanted for all threads to have some; the least rows of a stretch, so that partial results are few.
CPU_SEGMENT = 4096
CPU_COLUMN_GROUPS = 32
CPU_LEAST_ROWS = 64
# Rows narrower than this are taken together where order does not matter.
WIDE_ROWS = 256
_LEAST_PLANE = 256  # elements; smaller ones are not worth a group each
_MOST_GPU_PLANES = 65535  # groups along z, on NVIDIA GPUs
# What has a test for surplus work-items that a build for exact ranges leaves out.
_CAN_BE_EXACT: frozenset[Variant] = frozenset({"linear", "linear_inside", "grid", "grid_inside", "mapped"})
_LEAST_RUN_GROUP = 8  # work-items; smaller groups leave most lanes of a vector or wavefront idle


@dataclass(frozen=True)
class View:
    """A stream's shape, and where its elements lie: in an array of shape ``stored`` from ``start`` on. Slowest
    dimension first.
    """

    shape: Shape
    stored: Shape
    start: Shape

    @staticmethod
    def of(shape: Shape) -> View:
        """A stream that is its whole array."""
        return View(shape, shape, (0,) * len(shape))

    @property
    def is_whole(self) -> bool:
        """Whether the stream is the whole array."""
        return self.shape == self.stored


@dataclass(frozen=True)
class Slot:
    """One launch argument: the memory or value of ``param``, a ``fixed`` number, tuple or Local, or an address
    ``table``.
    """

    kind: Literal["memory", "value", "fixed", "table"]
    param: str = ""
    fixed: Any = None


@dataclass(frozen=True)
class Launch:
    """One generated kernel with sizes and arguments.

    ``exact``: no work-item is surplus, so that the build without tests for them serves. ``tests``: what the values
    passed must satisfy; if they do not, run ``otherwise``.
    """

    entry: Entry
    global_size: Size
    local_size: Size | None
    slots: tuple[Slot, ...]
    exact: bool = False
    tests: tuple[Test, ...] = ()
    otherwise: Launch | None = None


def plan_map(kernel: BrookSignature, views: Mapping[str, View], domain: Domain | None, gpu: bool) -> Launch:
    """The launch of a kernel that is not a reduction. ``views``: of every parameter with memory; LaunchError if they do
    not fit.
    """
    whole = views[kernel.domain_from].shape
    check_streams(kernel, views, whole)
    start, end = checked_domain(kernel, domain, whole)
    run = tuple(b - a for a, b in zip(start, end, strict=True))
    streams = [views[p.name] for p in kernel.parameters if p.kind in ("input", "output")]
    uniform = run == whole and all(v.is_whole and v.shape == whole for v in streams)
    count = math.prod(run)

    def launch(entry: Entry, tests: tuple[Test, ...] = (), otherwise: Launch | None = None) -> Launch:
        slots = tuple(_slot(kernel, arg, views, whole, start, end, count) for arg in entry.args)
        sizes = _sizes(kernel, entry, run, count, gpu)
        exact = not gpu or (entry.variant in _CAN_BE_EXACT and math.prod(sizes[0]) == count)
        return Launch(entry, *sizes, slots, exact, tests, otherwise)

    known = _known(kernel, views, run)
    candidates = [(entry, remaining(entry.condition, known)) for entry in _choices(kernel, uniform, gpu)]
    entry, tests = next((entry, tests) for entry, tests in candidates if tests is not None)
    if not tests:
        return launch(entry)
    return launch(entry, tests, launch(next(entry for entry, tests in candidates if tests == ())))


def _known(kernel: BrookSignature, views: Mapping[str, View], run: Shape) -> dict[str, int]:
    """The numbers that conditions of entries name, but for values (see ``brook.conditions``)."""
    shapes = {f"shape.{p.name}": views[p.name].shape for p in kernel.parameters if p.kind in ("gather", "scatter")}
    shapes["domain"] = run
    return {f"{name}.{c}": n for name, shape in shapes.items() for c, n in zip("xyzw", extents(shape), strict=True)}


def checked_domain(kernel: BrookSignature, domain: Domain | None, whole: Shape) -> Domain:
    """The executed domain, start and end; LaunchError if it is empty or reaches outside."""
    if domain is None:
        return (0,) * len(whole), whole
    start, end = domain
    if len(start) != len(whole) or len(end) != len(whole):
        raise LaunchError(
            f"{kernel.name}: domain {domain} has {len(start)} dimensions, the output {len(whole)}: shape {whole}",
            hint="domain=(start, end) takes tuples like the output's shape, slowest dimension first",
        )
    if any(not 0 <= a < b <= n for a, b, n in zip(start, end, whole, strict=True)):
        raise LaunchError(f"{kernel.name}: domain {start} to {end} is empty or not inside the output of shape {whole}")
    return start, end


def check_streams(kernel: BrookSignature, views: Mapping[str, View], whole: Shape) -> None:
    """Refuse streams that do not go together: LaunchError."""
    for parameter in kernel.parameters:
        if parameter.kind not in ("input", "output"):
            continue
        shape = views[parameter.name].shape
        if parameter.kind == "output" and shape != whole:
            raise wrong(
                kernel,
                parameter,
                f"shape {shape}, but the out stream {kernel.domain_from!r} has {whole}; they must agree",
            )
        if len(shape) != len(whole):
            raise wrong(
                kernel,
                parameter,
                f"shape {shape} has another number of dimensions than {kernel.domain_from!r}, shape {whole}",
                "input streams are resized to the output, but only within the same number of dimensions",
            )


def _choices(kernel: BrookSignature, uniform: bool, gpu: bool) -> list[Entry]:
    """The kernel's entries for such a launch, the best first; the last has no condition."""
    wanted: tuple[Variant, ...]
    if kernel.group_size:
        wanted = ("group", "group_mapped") if uniform else ("group_mapped",)
    elif uniform:
        wanted = ("linear_inside", "linear", "grid_inside", "grid", "mapped")
        if gpu:
            wanted = ("linear4", "linear_tiled", *wanted)
    else:
        wanted = ("mapped",)
    found = [entry for variant in wanted if (entry := kernel.entry(variant)) is not None]
    if not found:
        raise LaunchError(f"{kernel.name} has no generated kernel for {' or '.join(wanted)}")
    return found


def _slot(
    kernel: BrookSignature, arg: Arg, views: Mapping[str, View], whole: Shape, start: Shape, end: Shape, count: int
) -> Slot:
    role = arg.role
    if role in ("input", "output", "gather", "scatter", "constant", "struct"):
        return Slot("memory", arg.param)
    if role == "value":
        return Slot("value", arg.param)
    if role == "shape":
        return Slot("fixed", fixed=extents(views[arg.param].shape))
    if role == "map":
        return Slot("table", arg.param, address_table(whole, views[arg.param], start, end))
    if role == "count":
        return Slot("fixed", fixed=count)
    if role == "domain":
        return Slot("fixed", fixed=extents(tuple(b - a for a, b in zip(start, end, strict=True))))
    if role == "origin":
        return Slot("fixed", fixed=extents(start, 0))
    return Slot("fixed", fixed=Local(arg.bytes * max(kernel.group_size, 1)))


def address_table(whole: Shape, view: View, start: Shape, end: Shape) -> Array:
    """The ``map`` argument (see ``brook.model``): offsets, strides and resize of one stream for the part ``start`` to
    ``end``.
    """
    parts = []
    stride = 1
    for n, first, last, own, stored, begin in zip(
        *(reversed(sizes) for sizes in (whole, start, end, view.shape, view.stored, view.start)), strict=True
    ):
        position = np.arange(first, last)
        if own != n:
            # Every step in single precision, as Brook+'s run-time did it: trunc(out / (outDim / inDim)).
            ratio = np.float32(n) / np.float32(own)
            position = np.minimum((position.astype(np.float32) / ratio).astype(np.int64), own - 1)
        parts.append(stride * (begin + position))
        stride *= stored
    parts.append(np.zeros(4 - len(whole), np.int64))
    return np.concatenate(parts).astype(np.int32)


def _sizes(kernel: BrookSignature, entry: Entry, run: Shape, count: int, gpu: bool) -> tuple[Size, Size | None]:
    variant = entry.variant
    group = kernel.group_size or entry.group
    if group:
        return (_round_up(count, group), 1, 1), (group, 1, 1)
    if variant in ("linear", "linear4", "linear_inside"):
        items = -(-count // 4) if variant == "linear4" else count
        return ((_round_up(items, GPU_GROUP), 1, 1), (GPU_GROUP, 1, 1)) if gpu else ((items, 1, 1), None)
    x, y, z, w = extents(run)
    return _grid((x, y, z * w), gpu, UNEVEN_WIDTH if kernel.uneven else GPU_WIDTH)


def _grid(size: Size, gpu: bool, width: int = GPU_WIDTH) -> tuple[Size, Size | None]:
    if not gpu:
        return size, None
    # Groups as wide as rows allow (whole cache lines), the rest of the work-items on rows.
    wide = min(width if size[1] > 1 else GPU_GROUP, 1 << (size[0] - 1).bit_length())
    high = min(GPU_GROUP // wide, 1 << (size[1] - 1).bit_length())
    return (_round_up(size[0], wide), _round_up(size[1], high), size[2]), (wide, high, 1)


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def plan_reduction(
    kernel: BrookSignature,
    source: Parameter,
    result: Parameter,
    shape: Shape,
    target: Shape | None,
    gpu: bool,
    local_memory: bool = True,
) -> tuple[tuple[Launch, ...], int]:
    """The launches of a reduction, and how many elements the buffer of partial results holds (0: none needed).

    ``target``: the shape to reduce to, None for one value. With partial results the first launch writes them for
    ``result`` and the second folds them: its input slot has the parameter name ``""``. Without ``local_memory`` no
    work-items fold together: each folds its own stretch, in as many passes as it takes.
    """
    count = math.prod(shape)
    if not local_memory:
        return _passes(kernel, source.name, shape, target and check_target(kernel, result, shape, target), gpu)
    # On the cpu device an ordered fold is best done by one work-item, whose parts then are scalars side by side.
    group = GPU_GROUP if gpu else CPU_GROUP if kernel.commutative else 1
    if target is not None:
        padded = check_target(kernel, result, shape, target)
        planes = _planes(shape, padded)
        if planes is not None:
            outer, rows, inner = planes
            size = _run_group(rows, group) if inner == 1 else 0
            if size:
                return (_fold(kernel, source.name, size, outer, count),), 0
            large = rows * inner >= _LEAST_PLANE and (inner > 1 or kernel.commutative)
            if large and (not gpu or outer <= _MOST_GPU_PLANES):
                return _columns(kernel, source.name, outer, rows, inner, gpu)
        return (_partial(kernel, source.name, shape, padded, gpu),), 0
    fold, most = (GPU_GROUP * GPU_FOLD, GPU_REDUCTION_GROUPS) if gpu else (CPU_FOLD, CPU_REDUCTION_GROUPS)
    groups = max(1, min(count // fold, most))
    first = _fold(kernel, source.name, group, groups, count)
    if groups == 1:
        return (first,), 0
    return (first, _fold(kernel, "", group, 1, groups)), groups


def _partial(kernel: BrookSignature, source: str, shape: Shape, target: Shape, gpu: bool) -> Launch:
    """Each work-item folds what makes one result."""
    entry = _reduction_entry(kernel, "reduce_partial")
    x, y, z, w = extents(target)
    slots = _reduction_slots(entry, source, domain=extents(target), shape=extents(shape))
    return Launch(entry, *_grid((x, y, z * w), gpu), slots)


def _passes(
    kernel: BrookSignature, source: str, shape: Shape, target: Shape | None, gpu: bool
) -> tuple[tuple[Launch, ...], int]:
    """A reduction of one work-item a result; to one value in two passes, if the count has a divisor to begin with."""
    if target is not None:
        return (_partial(kernel, source, shape, target, gpu),), 0
    count = math.prod(shape)
    first = max(n for n in range(1, math.isqrt(count) + 1) if count % n == 0)
    last = _partial(kernel, "" if first > 1 else source, (first,) if first > 1 else (count,), (1,), gpu)
    return (last,) if first == 1 else (
        _partial(kernel, source, (count,), (first,), gpu),
        last,
    ), first if first > 1 else 0


def _planes(shape: Shape, target: Shape) -> tuple[int, int, int] | None:
    """The input as (outer, rows, inner), of which the rows are folded; None if results take more than one such fold."""
    folded = [axis for axis, (n, m) in enumerate(zip(shape, target, strict=True)) if n != m]
    if not folded or any(target[axis] != 1 for axis in range(folded[0] + 1, folded[-1] + 1)):
        return None
    outer, inner = math.prod(target[: folded[0] + 1]), math.prod(shape[folded[-1] + 1 :])
    return outer, math.prod(shape) // (outer * inner), inner


def _run_group(run: int, most: int) -> int:
    """The group size with which a full reduction's groups fold just the runs of memory that belong to one result each.

    0 where runs are too short to occupy a group of up to ``most``. A full reduction of ``count`` elements gives each
    group an equal stretch if the group size divides it; here a stretch is a run.
    """
    if most == 1:
        return int(run >= 4 * _LEAST_RUN_GROUP)
    size = next(n for n in range(min(most, run), 0, -1) if run % n == 0)
    return size if size >= _LEAST_RUN_GROUP and run >= 4 * size else 0


def _columns(
    kernel: BrookSignature, source: str, outer: int, rows: int, inner: int, gpu: bool
) -> tuple[tuple[Launch, ...], int]:
    """Fold planes of rows column by column (see ``brook.model``), in stretches if there are few columns."""
    group, segment, wanted, least = (
        (GPU_GROUP, GPU_GROUP, GPU_REDUCTION_GROUPS, GPU_FOLD)
        if gpu
        else (CPU_GROUP, CPU_SEGMENT, CPU_COLUMN_GROUPS, CPU_LEAST_ROWS)
    )
    joined_rows = max(1, min(WIDE_ROWS // inner, rows // 8)) if kernel.commutative else 1
    plane, width = rows * inner, inner * joined_rows
    lines, full = -(-plane // width), plane // width
    ranges = max(1, min(wanted // (outer * -(-width // segment)), lines // least))
    while ranges > 1 and (ranges - 1) * -(-lines // ranges) >= full:
        ranges -= 1

    def launch(source: str, width: int, ranges: int, plane: int) -> Launch:
        entry = _reduction_entry(kernel, "reduce_columns")
        slots = _reduction_slots(entry, source, domain=(width, ranges, outer, segment), count=plane)
        return Launch(entry, (group * -(-width // segment), ranges, outer), (group, 1, 1), slots)

    first = launch(source, width, ranges, plane)
    if ranges * joined_rows == 1:
        return (first,), 0
    return (first, launch("", inner, 1, ranges * width)), outer * ranges * width


def _fold(kernel: BrookSignature, source: str, size: int, groups: int, count: int) -> Launch:
    entry = _reduction_entry(kernel, "reduce_full")
    slots = _reduction_slots(entry, source, size, count=count)
    return Launch(entry, (groups * size, 1, 1), (size, 1, 1), slots)


def _reduction_entry(kernel: BrookSignature, variant: Variant) -> Entry:
    entry = kernel.entry(variant)
    if entry is None:
        raise LaunchError(f"{kernel.name} has no generated kernel {variant}")
    return entry


def _reduction_slots(entry: Entry, source: str, size: int = 0, **numbers: int | tuple[int, ...]) -> tuple[Slot, ...]:
    """The arguments of a reduction's entry; ``numbers`` by role, ``size`` work-items in a group."""

    def slot(arg: Arg) -> Slot:
        if arg.role == "input":
            return Slot("memory", source)
        if arg.role in ("output", "struct"):
            return Slot("memory", arg.param)
        if arg.role == "value":
            return Slot("value", arg.param)
        if arg.role == "local":
            return Slot("fixed", fixed=Local(size * arg.bytes))
        return Slot("fixed", fixed=numbers[arg.role])

    return tuple(slot(arg) for arg in entry.args)


def check_target(kernel: BrookSignature, result: Parameter, shape: Shape, target: Shape) -> Shape:
    """The target padded with leading ones to the input's rank; LaunchError if the input does not divide into it."""
    padded = (1,) * (len(shape) - len(target)) + target
    if len(padded) != len(shape) or any(n % m for n, m in zip(shape, padded, strict=True)):
        raise wrong(
            kernel,
            result,
            f"cannot reduce shape {shape} to {target}",
            "every dimension of the input must be a multiple of the result's",
        )
    return padded


def output_shape(
    kernel: BrookSignature,
    shapes: Mapping[str, Shape],
    given: Mapping[str, Shape],
    asked: Shape | Mapping[str, Shape] | None,
) -> dict[str, Shape]:
    """The shape of every out stream and out array. ``shapes``: of the inputs; ``given``: of arrays passed with
    ``out=``.
    """
    outs = [p for p in kernel.parameters if p.kind in ("output", "scatter")]
    result: dict[str, Shape] = dict(given)
    inputs = {p.name: shapes[p.name] for p in kernel.parameters if p.kind == "input"}
    for parameter in outs:
        if parameter.name in result:
            continue
        if isinstance(asked, Mapping):
            shape = asked.get(parameter.name)
        else:
            shape = asked
        if shape is None and parameter.kind == "output":
            shape = next((result[p.name] for p in outs if p.kind == "output" and p.name in result), None)
        if shape is None:
            shape = _from_inputs(kernel, parameter, inputs)
        if parameter.kind == "scatter" and len(shape) != parameter.rank:
            raise wrong(
                kernel,
                parameter,
                f"it has {parameter.rank} dimension{'s' * (parameter.rank > 1)}, but its shape would be {shape}",
                f"give it with shape={{{parameter.name!r}: (…)}}, or pass the array with out=",
            )
        check_shape(shape, f"{kernel.name}: the shape of {parameter.name!r}")
        result[parameter.name] = shape
    return result


def _from_inputs(kernel: BrookSignature, parameter: Parameter, inputs: Mapping[str, Shape]) -> Shape:
    different = set(inputs.values())
    if len(different) == 1:
        return next(iter(different))
    if not different:
        message = "no input stream gives its shape"
    else:
        listed = ", ".join(f"{name} {shape}" for name, shape in inputs.items())
        message = f"the input streams have different shapes ({listed})"
    raise LaunchError(
        f"{kernel.name}: `{declaration(parameter)}`: {message}",
        hint="say how large the output is: shape=(rows, columns), or pass an array for it with out=",
    )

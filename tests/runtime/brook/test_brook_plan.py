"""Plans of Brook+ launches: which generated kernel, which sizes, which address tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headwater.brook.model import Arg, BrookSignature, ElementType, Entry, Parameter, map_table
from headwater.errors import LaunchError
from headwater.runtime.brook.plan import View, address_table, output_shape, plan_map, plan_reduction
from headwater.runtime.values import Local

FLOAT = ElementType("float")


def kernel(*kinds: str, variants: tuple[str, ...] = ("linear", "linear4", "mapped"), group: int = 0) -> BrookSignature:
    parameters = tuple(
        Parameter(f"{kind[0]}{i}", kind, FLOAT, 2 if kind in ("gather", "scatter") else 0)  # type: ignore[arg-type]
        for i, kind in enumerate(kinds)
    )
    memory = tuple(Arg(p.kind, p.name, p.name) for p in parameters if p.kind != "value")  # type: ignore[arg-type]
    maps = tuple(Arg("map", f"map_{p.name}", p.name) for p in parameters if p.kind in ("input", "output"))
    place = (Arg("domain", "domain"), Arg("origin", "origin"))
    extra = {"mapped": (*maps, *place), "group_mapped": (*maps, *place), "grid": place}
    entries = tuple(Entry(f"k_{v}", v, (*memory, *extra.get(v, (Arg("count", "count"),)))) for v in variants)  # type: ignore[arg-type]
    return BrookSignature(
        "k", parameters, entries, next(p.name for p in parameters if p.kind in ("output", "scatter")), group
    )


def views(k: BrookSignature, *shapes: tuple[int, ...]) -> dict[str, View]:
    return {p.name: View.of(shape) for p, shape in zip(k.parameters, shapes, strict=True)}


def fixed(slots: object) -> list[object]:
    return [slot.fixed for slot in slots if slot.kind == "fixed"]  # type: ignore[attr-defined]


def test_equal_shapes_on_the_cpu_take_the_linear_kernel_with_exact_size() -> None:
    k = kernel("input", "output")
    launch = plan_map(k, views(k, (5, 7), (5, 7)), None, gpu=False)
    assert (launch.entry.variant, launch.global_size, launch.local_size) == ("linear", (35, 1, 1), None)
    assert fixed(launch.slots) == [35]


def test_equal_shapes_on_a_gpu_take_four_elements_per_work_item_in_whole_groups() -> None:
    k = kernel("input", "output")
    launch = plan_map(k, views(k, (1025,), (1025,)), None, gpu=True)
    assert (launch.entry.variant, launch.global_size, launch.local_size) == ("linear4", (512, 1, 1), (256, 1, 1))


def test_a_kernel_that_asks_for_its_position_is_launched_over_its_dimensions_x_first() -> None:
    k = kernel("input", "output", variants=("grid", "mapped"))
    launch = plan_map(k, views(k, (2, 3, 4, 5), (2, 3, 4, 5)), None, gpu=False)
    assert (launch.entry.variant, launch.global_size) == ("grid", (5, 4, 6))
    assert fixed(launch.slots) == [(5, 4, 3, 2), (0, 0, 0, 0)]


@pytest.mark.parametrize(("shape", "exact"), [((512,), True), ((513,), False), ((4, 64), True), ((6, 64), False)])
def test_launches_without_surplus_work_items_are_known(shape: tuple[int, ...], exact: bool) -> None:
    k = kernel("input", "output", variants=("grid", "mapped"))
    assert plan_map(k, views(k, shape, shape), None, gpu=True).exact is exact
    assert plan_map(k, views(k, shape, shape), None, gpu=False).exact


def test_kernels_with_uneven_loops_get_square_groups_on_gpus() -> None:
    k = kernel("output", variants=("grid", "mapped"))
    uneven = replace(k, uneven=True)
    assert plan_map(k, views(k, (99, 99)), None, gpu=True).local_size == (64, 4, 1)
    assert plan_map(uneven, views(k, (99, 99)), None, gpu=True).local_size == (16, 16, 1)
    assert plan_map(uneven, views(k, (99,)), None, gpu=True).local_size == (128, 1, 1)


def conditional(*tests: tuple[int | str, ...]) -> BrookSignature:
    """A kernel whose better entries need ``tests`` to hold."""
    k = kernel("input", "output", variants=("linear", "linear_inside", "linear_tiled", "mapped"))
    entries = tuple(
        replace(e, condition=tests, group=128 if e.variant == "linear_tiled" else 0)
        if e.variant in ("linear_inside", "linear_tiled")
        else e
        for e in k.entries
    )
    return replace(k, entries=entries)


@pytest.mark.parametrize(("gpu", "best"), [(False, "linear_inside"), (True, "linear_tiled")])
def test_entries_are_taken_where_their_condition_holds(gpu: bool, best: str) -> None:
    k = conditional(("domain.x", 100, "<="))
    assert plan_map(k, views(k, (100,), (100,)), None, gpu).entry.variant == best
    assert plan_map(k, views(k, (101,), (101,)), None, gpu).entry.variant == "linear"
    assert plan_map(k, views(k, (100,), (100,)), ((0,), (50,)), gpu).entry.variant == "mapped"


def test_conditions_on_values_leave_both_launches() -> None:
    k = conditional(("domain.x", 100, "<="), ("value.n", "domain.x", "<="))
    launch = plan_map(k, views(k, (90,), (90,)), None, gpu=True)
    assert (launch.entry.variant, launch.global_size, launch.local_size) == ("linear_tiled", (128, 1, 1), (128, 1, 1))
    assert launch.tests == (("value.n", 90, "<="),)
    assert launch.otherwise is not None
    assert (launch.otherwise.entry.variant, launch.otherwise.tests) == ("linear", ())


def test_streams_of_other_shapes_and_parts_of_the_domain_take_the_mapped_kernel() -> None:
    k = kernel("input", "output")
    resized = plan_map(k, views(k, (10,), (5,)), None, gpu=False)
    part = plan_map(k, views(k, (6, 8), (6, 8)), ((1, 2), (4, 7)), gpu=False)
    assert resized.entry.variant == part.entry.variant == "mapped"
    assert part.global_size == (5, 3, 1)
    assert fixed(part.slots) == [(5, 3, 1, 1), (2, 1, 0, 0)]


@pytest.mark.parametrize(
    ("before", "after"), [((10,), (5,)), ((5,), (10,)), ((8,), (12,)), ((4, 3), (8, 9)), ((7, 5, 3), (3, 4, 9))]
)
def test_address_tables_are_the_ones_that_the_translator_describes(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    table = address_table(after, View.of(before), (0,) * len(after), after)
    assert tuple(table.tolist()) == map_table(after, before)


def test_resize_reads_the_nearest_element_below() -> None:
    # Brook+ 1.4.1's CPU run-time gives these: in = trunc(out / (outDim / inDim)).
    assert address_table((12,), View.of((8,)), (0,), (12,))[:12].tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7]


def test_a_sub_stream_is_addressed_inside_its_whole_array() -> None:
    view = View((2, 3), (10, 20), (4, 5))
    table = address_table((2, 3), view, (0, 0), (2, 3))
    x, y = table[:3], table[3:5]
    expected = np.arange(200).reshape(10, 20)[4:6, 5:8]
    assert np.array_equal(y[:, None] + x[None, :], expected)


def test_compute_mode_launches_whole_groups() -> None:
    k = kernel("input", "scatter", variants=("group", "group_mapped"), group=64)
    launch = plan_map(k, views(k, (9, 9), (9, 9)), None, gpu=False)
    assert (launch.entry.variant, launch.global_size, launch.local_size) == ("group", (128, 1, 1), (64, 1, 1))


def test_inputs_of_another_rank_are_refused_with_both_shapes() -> None:
    k = kernel("input", "output")
    with pytest.raises(LaunchError, match=r"`float i0<>`: shape \(6,\) .* than 'o1', shape \(2, 3\)"):
        plan_map(k, views(k, (6,), (2, 3)), None, gpu=False)


@pytest.mark.parametrize(
    "domain", [((0, 0), (0, 5)), ((3, 0), (2, 5)), ((0, 0), (7, 5)), ((-1, 0), (3, 3)), ((0,), (3,))]
)
def test_domains_that_are_empty_or_outside_are_refused(domain: object) -> None:
    k = kernel("input", "output")
    with pytest.raises(LaunchError, match="domain"):
        plan_map(k, views(k, (6, 5), (6, 5)), domain, gpu=False)  # type: ignore[arg-type]


def test_output_shapes_come_from_inputs_from_shape_or_from_given_arrays() -> None:
    k = kernel("input", "input", "output", "output")
    assert output_shape(k, {"i0": (4, 5), "i1": (4, 5)}, {}, None) == {"o2": (4, 5), "o3": (4, 5)}
    assert output_shape(k, {"i0": (4, 5), "i1": (2, 5)}, {}, (8, 5)) == {"o2": (8, 5), "o3": (8, 5)}
    assert output_shape(k, {"i0": (4, 5), "i1": (2, 5)}, {"o2": (3, 3)}, None) == {"o2": (3, 3), "o3": (3, 3)}


def test_output_shapes_that_nothing_gives_are_asked_for() -> None:
    k = kernel("gather", "output")
    with pytest.raises(LaunchError, match=r"no input stream gives its shape[^$]*shape=\(rows, columns\)"):
        output_shape(k, {"g0": (4, 5)}, {}, None)
    k = kernel("input", "input", "output")
    with pytest.raises(LaunchError, match=r"different shapes \(i0 \(4,\), i1 \(5,\)\)"):
        output_shape(k, {"i0": (4,), "i1": (5,)}, {}, None)


INPUT, OUTPUT = Arg("input", "a", "a"), Arg("output", "b", "b")
REDUCTION = BrookSignature(
    "add",
    (Parameter("a", "input", FLOAT), Parameter("b", "reduce", FLOAT)),
    (
        Entry("full", "reduce_full", (INPUT, OUTPUT, Arg("local", "l", bytes=4), Arg("count", "n"))),
        Entry("columns", "reduce_columns", (INPUT, OUTPUT, Arg("domain", "d"), Arg("count", "n"))),
        Entry("part", "reduce_partial", (INPUT, OUTPUT, Arg("domain", "d"), Arg("shape", "s", "a"))),
    ),
)


def reduction(shape: tuple[int, ...], target: tuple[int, ...] | None, gpu: bool = False) -> tuple[object, int]:
    return plan_reduction(REDUCTION, *REDUCTION.parameters, shape, target, gpu)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 65536, 10**6 + 3, 2**28])
def test_full_reductions_leave_no_group_idle(count: int, gpu: bool) -> None:
    launches, partial = plan_reduction(REDUCTION, *REDUCTION.parameters, (count,), None, gpu)
    groups = launches[0].global_size[0] // launches[0].local_size[0]  # type: ignore[index]
    assert groups == 1 or launches[0].global_size[0] <= count
    assert partial == (groups if groups > 1 else 0)
    assert len(launches) == (2 if groups > 1 else 1)
    if partial:
        assert launches[1].global_size == launches[1].local_size
        assert [slot.fixed for slot in launches[1].slots if slot.kind == "fixed"][1] == groups
        assert [slot.param for slot in launches[1].slots if slot.kind == "memory"] == ["", "b"]


def test_local_memory_of_a_reduction_grows_with_its_group() -> None:
    launches, _ = plan_reduction(REDUCTION, *REDUCTION.parameters, (10,), None, False)
    assert Local(4 * launches[0].local_size[0]) in [slot.fixed for slot in launches[0].slots]  # type: ignore[index]


def test_partial_reductions_run_over_the_result() -> None:
    ((launch,), partial) = plan_reduction(REDUCTION, *REDUCTION.parameters, (12, 12), (4, 3), False)
    assert partial == 0
    assert launch.global_size == (3, 4, 1)
    assert [slot.fixed for slot in launch.slots if slot.kind == "fixed"] == [(3, 4, 1, 1), (12, 12, 1, 1)]


@pytest.mark.parametrize(
    ("shape", "target", "size"),
    [
        ((100, 64), (100, 1), 16),  # a row each
        ((100, 64), (50, 1), 16),  # two rows each
        ((10, 4, 96), (10, 4, 1), 16),
        ((10, 360), (10, 2), 15),  # half a row each
        ((100, 64), (50, 32), 0),  # a tile each
        ((100, 59), (100, 1), 0),  # a prime number of elements
        ((100, 16), (100, 1), 0),  # too short
        ((100, 64), (100, 64), 0),
    ],
)
def test_results_that_are_runs_of_memory_get_a_group_each(
    shape: tuple[int, ...], target: tuple[int, ...], size: int
) -> None:
    ((launch,), _) = plan_reduction(REDUCTION, *REDUCTION.parameters, shape, target, False)
    if size:
        assert launch.entry.variant == "reduce_full"
        assert (launch.global_size[0], launch.local_size) == (size * int(np.prod(target)), (size, 1, 1))
    else:
        assert launch.entry.variant == "reduce_partial"


def test_columns_are_folded_in_stretches_and_narrow_ones_together() -> None:
    (first, second), partial = reduction((6400, 3000), (3000,))
    assert [launch.entry.variant for launch in (first, second)] == ["reduce_columns"] * 2
    assert first.slots[2].fixed == (3000, 32, 1, 4096)
    assert first.global_size == (16, 32, 1)
    assert partial == 32 * 3000
    assert second.slots[2].fixed == (3000, 1, 1, 4096)
    (first, second), partial = reduction((1 << 20, 4), (4,))
    assert first.slots[2].fixed == (256, 32, 1, 4096)
    assert second.slots[2].fixed == (4, 1, 1, 4096)
    assert second.slots[3].fixed == partial == 32 * 256
    ((only,), partial) = reduction((64, 100, 300), (64, 1, 300))
    assert only.slots[2].fixed == (300, 1, 64, 4096)
    assert only.global_size == (16, 1, 64)
    assert partial == 0


def test_a_result_of_lower_rank_is_padded_in_front() -> None:
    ((launch,), _) = plan_reduction(REDUCTION, *REDUCTION.parameters, (6, 8), (4,), False)
    assert launch.global_size == (4, 1, 1)


@pytest.mark.parametrize("target", [(5, 3), (24, 12), (1, 4, 3)])
def test_results_that_do_not_divide_the_input_are_refused(target: tuple[int, ...]) -> None:
    with pytest.raises(LaunchError, match=r"cannot reduce shape \(12, 12\)"):
        reduction((12, 12), target)

"""Which work-groups with barriers are laid out as one chunk, which then has nothing to wait for."""

import pytest

from headwater.opencl.spmd.flow import NO_FLOW
from headwater.opencl.spmd.layout import Layout
from headwater.opencl.spmd.plan import KernelFacts, choose_layout


def facts(*, size=50, dims=(0,), masked_loops=False):
    return KernelFacts(
        arg_offsets=(0,),
        args_bytes=16,
        static_local_bytes=0,
        has_barrier=True,
        flat=False,
        has_loop=True,
        masked_loops=masked_loops,
        scalar_pays=False,
        size=size,
        dims=dims,
        unbounded=False,
        streaming=(),
        reducible=True,
        private_bytes=0,
        flow=NO_FLOW,
    )


@pytest.mark.parametrize("vector_bytes", [32, 64])
@pytest.mark.parametrize("group", [(64, 1, 1), (256, 1, 1), (16, 16, 1), (32, 8, 1)])
def test_a_group_of_up_to_256_work_items_is_one_chunk(group, vector_bytes):
    layout = choose_layout(facts(dims=(0, 1)), group, vector_bytes)
    assert layout.steps == group


def test_what_is_too_much_code_is_several():
    assert choose_layout(facts(), (512, 1, 1), 32) == Layout(8, 4, 0, 0)
    assert choose_layout(facts(), (256, 1, 1), 16) == Layout(4, 4, 0, 0)  # 64 vectors
    assert choose_layout(facts(size=200), (256, 1, 1), 32) == Layout(8, 2, 0, 0)
    assert choose_layout(facts(masked_loops=True), (256, 1, 1), 32) == Layout(8, 2, 0, 0)


def test_a_large_group_of_few_rows_has_all_of_them_in_a_chunk():
    assert choose_layout(facts(dims=(0, 1)), (64, 16, 1), 64) == Layout(16, 16, 0, 1)

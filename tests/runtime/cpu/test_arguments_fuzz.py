"""Whatever is passed to a kernel, a launch works or raises one of our errors; nothing else, and never a crash."""

from __future__ import annotations

import array
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from headwater.errors import HeadwaterError
from headwater.runtime import Image, Local, Sampler, stream

sys.path.insert(0, str(Path(__file__).parent))
from cpu_runs import program
from test_cpu import EXTRA, KERNELS, SOURCE

DTYPES = [
    "f4",
    ">f4",
    "f8",
    "f2",
    "i1",
    "u1",
    "i4",
    "u4",
    "i8",
    "?",
    "c8",
    "c16",
    "M8[s]",
    "m8[s]",
    "S3",
    "U2",
    "V7",
    "O",
]
SHAPES = [(), (0,), (1,), (4,), (64,), (3, 5), (2, 0, 3), (4, 4), (8, 3)]


def make_array(dtype, shape, form):
    made = np.zeros(shape, dtype)
    if form == "read-only":
        made.flags.writeable = False
    if form == "strided":
        made = np.zeros((*shape, 2), dtype)[..., 1]
    if form == "transposed":
        made = made.T
    if form == "masked":
        return np.ma.masked_array(made)
    if form == "scalar" and made.size:
        return made.reshape(-1)[0]
    return made


class Liar:
    """Claims to be an array, and is none."""

    __array_interface__ = {"shape": (1 << 60,), "typestr": "<f4", "data": None, "version": 3}  # noqa: RUF012


class Raises:
    def __index__(self):
        raise ValueError("no")

    def __float__(self):
        raise ValueError("no")


arrays = st.builds(
    make_array,
    st.sampled_from(DTYPES),
    st.sampled_from(SHAPES),
    st.sampled_from(["plain", "read-only", "strided", "transposed", "masked", "scalar"]),
)
ODD = [
    None,
    "text",
    b"",
    b"1234",
    bytearray(8),
    memoryview(bytearray(16))[::2],
    array.array("f", [1, 2, 3]),
    [1, 2],
    (1.0, 2.0, 3.0, 4.0),
    (),
    {},
    {1, 2},
    range(4),
    object(),
    Liar(),
    Liar,
    Raises(),
    len,
    Local(16),
    Sampler(),
    Image(np.zeros((2, 2), np.float32)),
    stream((4,), device="cpu"),
    stream((4,), "i8", device="cpu"),
    stream((0,), device="cpu"),
    np.float32(3),
    np.void(b"12345678"),
    np.datetime64("2020-01-01"),
]
odd = st.integers(0, len(ODD) - 1).map(ODD.__getitem__)  # not sampled_from: it wants to hash them
numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.complex_numbers())
anything = st.one_of(arrays, odd, numbers, st.tuples(numbers, numbers, numbers, numbers), st.lists(numbers, max_size=5))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return program(tmp_path_factory.mktemp("fuzz"), SOURCE, KERNELS, EXTRA)


# NumPy itself warns when a complex number becomes a float.
pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
relaxed = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@relaxed
@given(arguments=st.lists(anything, max_size=9), kernel=st.sampled_from(["values", "types", "locals", "image"]))
def test_any_arguments(built, arguments, kernel) -> None:
    # An empty launch checks and packs its arguments, and touches no memory.
    with suppress(HeadwaterError):
        built.device.launch(built.kernels[kernel], (0,), None, arguments)


@relaxed
@given(data=st.data())
def test_right_number_of_any_arguments(built, data) -> None:
    kernel = data.draw(st.sampled_from(["values", "types", "locals", "image", "vadd"]))
    arguments = [data.draw(anything) for _ in KERNELS[kernel]]
    with suppress(HeadwaterError):
        built.device.launch(built.kernels[kernel], (0,), None, arguments)


@relaxed
@given(size=st.one_of(anything, st.lists(numbers, max_size=4)), group=st.one_of(anything, st.tuples(numbers)))
def test_any_sizes(built, size, group) -> None:
    with suppress(HeadwaterError):
        built.kernels["types"].prepare(size, group)

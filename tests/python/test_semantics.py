"""What a statement means in a kernel is what it means in Python: devices against the plain run of the same function."""

import math

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError


def agree(kernel, *arguments, items=1, device="cpu"):
    """The arrays as the kernel and as Python leave them, which have to be equal."""
    results = []
    for launch, options in ((kernel[items, None], {"device": device}), (kernel.python[items], {})):
        given = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
        launch(*given, **options)
        results.append([value.tolist() for value in given if isinstance(value, np.ndarray)])
    assert results[0] == results[1]


def whole(*values):
    return np.array(values, np.int32)


@hw.kernel
def below_zero(number, wide, real):
    i = hw.global_id(0)
    number[i] = hw.global_id(0) - 2
    wide[i] = hw.int64(hw.global_id(0) - 2)
    real[i] = float(hw.global_id(0) - 2)


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_an_index_less_a_number_may_be_below_zero(device):
    agree(below_zero, np.zeros(4, np.float32), np.zeros(4, np.int64), np.zeros(4, np.float32), items=4, device=device)


@hw.kernel
def ping_pong(a, b):
    source = a
    target = b
    for _ in range(3):
        for i in range(len(source)):
            target[i] = source[i] + 1
        source, target = target, source


@hw.kernel
def ping_pong_of_parameters(a, b):
    for _ in range(3):
        b[len(b) - 1] = a[len(a) - 1] + 1
        a, b = b, a


@pytest.mark.parametrize("kernel", [ping_pong, ping_pong_of_parameters], ids=lambda kernel: kernel.name)
def test_arrays_that_change_places(kernel):
    agree(kernel, whole(0, 1, 2), whole(5, 6, 7))


@hw.kernel
def exchange(a):
    i = 0
    j = 2
    a[i], a[j] = a[j], a[i]
    x = a[0]
    y = a[1]
    (x, y), z = (y, x), x
    a[3] = x * 100 + y * 10 + z
    i, a[i + 1] = 1, 9


def test_values_of_a_tuple_are_taken_before_it_is_assigned():
    agree(exchange, whole(1, 2, 3, 4))


def bump(a):
    a[0] += 10
    return 1


@hw.kernel
def once(a, counter):
    a[hw.atomic_add(counter, 0, 1)] //= 2
    a[hw.atomic_add(counter, 0, 1)] **= 2
    a[4] = a[hw.atomic_add(counter, 0, 1)] ** 2
    a[0] += bump(a)


def test_an_index_is_computed_once_and_the_old_value_first():
    agree(once, whole(10, 20, 3, 4, 5), whole(0))


@hw.kernel
def bounds(a):
    v = hw.float4(3)
    for _ in range(int(v.x)):
        v.x = 0.0
        a[0] += 1
    for i in range(len(a)):
        a[1] += i
        i += 5
    for k in range(4, -3, -3):
        a[2] += k
    a[3] = k


def test_loops_keep_their_bounds_and_their_variable():
    agree(bounds, whole(0, 0, 0, 0))


@hw.kernel
def steps(a, start, stop, step):
    last = 100
    for last in range(start, stop, step):
        a[0] = a[0] * 10 + last
    a[1] = last


@pytest.mark.parametrize("numbers", [(0, 5, 2), (5, 0, -2), (5, 0, 2), (0, 5, -1), (-3, 3, 4)])
def test_steps_of_either_sign(numbers):
    agree(steps, whole(0, 0), *numbers)


@hw.kernel
def names(a, a_n0):
    max, max_ = 1, 2
    int, int_ = 3, 4
    t_1 = 5
    x, a[0] = a[0], max + max_ * 10
    a[1] = int + int_ * 10 + t_1 * 100 + x + a_n0 + len(a)


def test_names_that_c_could_take_for_one_another():
    agree(names, whole(1, 2, 3), 7)


@hw.kernel
def arrays_of_other_letters(größe, länge):
    größe[0] = len(länge) * 10 + len(größe)


def test_arrays_with_names_of_other_letters():
    agree(arrays_of_other_letters, whole(1, 2), whole(1, 2, 3))


@hw.kernel
def rounded(a, out):
    i = hw.global_id(0)
    out[i] = math.floor(a[i]) + math.ceil(a[i])


@pytest.mark.parametrize(("dtype", "number"), [(np.int32, 2**24 + 1), (np.int64, 2**53 + 1)])
def test_whole_numbers_need_no_rounding(dtype, number):
    out = np.zeros(2, np.int64)
    rounded[2, None](np.array([number, -number], dtype), out)
    assert out.tolist() == [2 * number, -2 * number]


@hw.kernel
def powers(base, exponent, out):
    i = hw.global_id(0)
    out[i] = base[i] ** exponent[i]


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_powers_below_one_are_cut_off(device):
    base, exponent = whole(2, 1, -1, -1, -3, 7), whole(-1, -2, -3, -2, -2, 2)
    out = np.empty_like(base)
    powers[6, None](base, exponent, out, device=device)
    assert out.tolist() == [int(b**e) for b, e in zip(base.tolist(), exponent.tolist(), strict=True)]


@hw.kernel
def mixed_signs(out, low: hw.int32, high: hw.uint32):
    for i in range(low, high):
        out[0] += i


@hw.kernel
def twice(out, counter):
    quotient, rest = divmod(hw.atomic_add(counter, 0, 1), 3)
    out[0] = quotient + rest


HUGE = 10**400


@hw.kernel
def huge(out: hw.array(hw.float32)):
    out[0] = out[0] * HUGE


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (mixed_signs, "range of int32 and uint32"),
        (twice, "the operands of divmod are computed once in Python"),
        (huge, "beyond what float32 holds"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_would_be_another_result_is_refused(kernel, message):
    array = hw.array(hw.int32)
    types = {"mixed_signs": (array, hw.int32, hw.uint32), "twice": (array, array)}.get(kernel.name, ())
    with pytest.raises(SourceError, match=message):
        kernel.specialise(*types)


@hw.kernel
def minima_and_quotients(a: hw.float32[:], b: hw.float32[:], made: hw.float32[:, :]):
    i = hw.global_id(0)
    x = a[i]
    y = b[i]
    made[0, i] = np.minimum(x, y)
    made[1, i] = np.maximum(x, y)
    made[2, i] = np.maximum(hw.float2(1, x), hw.float2(1, y)).y
    made[3, i] = min(x, y)
    made[4, i] = max(x, y)
    made[5, i] = np.minimum(1.0, math.nan)
    made[6, i] = x // y


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_minima_of_nan_and_quotients_of_zero(device):
    numbers = np.array([-np.inf, -2, 0, 1, np.inf, np.nan], np.float32)
    a, b = (part.ravel().copy() for part in np.meshgrid(numbers, numbers))
    made = np.zeros((7, a.size), np.float32)
    minima_and_quotients[a.size, None](a, b, made, device=device)
    pythons = [[f(x, y) for x, y in zip(a, b, strict=True)] for f in (min, max)]
    least, most = np.minimum(a, b), np.maximum(a, b)
    np.testing.assert_array_equal(made, [least, most, most, *pythons, np.full(a.size, np.nan), np.floor_divide(a, b)])

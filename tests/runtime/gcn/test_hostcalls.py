"""Calls to the host by kernels of ROCm's compilers, as a wavefront makes them: the text as the C library has it."""

import ctypes

import numpy as np
import pytest

from headwater.errors import KernelFault
from headwater.runtime.gcn import hostcalls
from headwater.runtime.gcn.hostcalls import Hostcalls, formatted

BEGIN, END = 1, 2


def words(text):
    data = text.encode() + b"\0"
    return np.frombuffer(data + bytes(-len(data) % 8), "<u8").tolist()


def bits(number):
    return int(np.float64(number).view(np.uint64))


def ask(calls, *numbers, service=2):
    """A wavefront of one lane calls; the answer."""
    calls._numbers[3, 5, : len(numbers)] = numbers
    calls._headers[3] = (0, 1 << 5, service, 1)
    calls._doorbell[0] += 1
    assert calls.answer()
    assert not calls._headers["control"].any()
    return int(calls._numbers[3, 5, 0])


def descriptor(count, flags):
    return count << 5 | flags


@pytest.mark.parametrize(
    ("form", "arguments"),
    [
        ("%d %s|%5.1f %%\n", (-3, "a longer text", 2.25)),
        ("%*d|%d", (5, 7, 9)),
        ("%-*d|%0*d|%d", (5, 7, 4, 8, 9)),
        ("%*d|", (-5, 7)),
        ("%.*f|%.*f|%d", (2, 1.5, -1, 2.5, 9)),
        ("%*.*s|%d", (6, 2, "abc", 9)),
        ("%hhd %llu %zx", (300, 1 << 63, 255)),
        ("%", ()),
    ],
)
def test_formats_are_those_of_c(form, arguments):
    message, given = [0, *words(form)], []
    for one in arguments:
        if isinstance(one, str):
            message += words(one)
            given.append(ctypes.c_char_p(one.encode()))
        elif isinstance(one, float):
            message.append(bits(one))
            given.append(ctypes.c_double(one))
        else:
            message.append(one & (1 << 64) - 1)
            given.append(ctypes.c_int64(one))
    text = ctypes.create_string_buffer(200)
    print_to = ctypes.CDLL(None).snprintf
    print_to.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    print_to(text, 200, form.encode(), *given)
    assert formatted(message) == text.value.decode()


@pytest.mark.parametrize(("form", "text"), [("%n%d", "7"), ("%v4f", "%v4f"), ("%d", "5"), ("%Lf", "0.000000")])
def test_what_c_has_not_or_nowhere_to_store(form, text):
    assert formatted([0, *words(form), 5, 7]) == text


def test_a_message_of_any_numbers_is_answered(capsys):
    calls, last = Hostcalls(), (1 << 56) - 1
    assert ask(calls, descriptor(1, 0) | last << 8, 1) == last << 8
    number = ask(calls, descriptor(2, BEGIN), 0, words("%s%d")[0])
    assert number
    assert ask(calls, descriptor(2, BEGIN | END), 0, words("%v4f\n")[0]) == 5
    assert ask(calls, number | descriptor(2, END), words("one")[0], 2) == 4
    assert ask(calls, number | descriptor(1, END), 5) == number  # which has ended
    calls.show()
    calls.check()
    assert capsys.readouterr().out == "%v4f\none2"


def test_what_is_printed_has_a_limit(capsys, monkeypatch):
    monkeypatch.setattr(hostcalls, "MOST_BYTES", 1000)
    calls = Hostcalls()
    unended = ask(calls, descriptor(7, BEGIN), *[words("%9999d")[0]] * 7)
    for _ in range(100):
        assert ask(calls, descriptor(7, 0) | unended, *[1] * 7) == unended
    ask(calls, descriptor(3, BEGIN | END), 0, words("%2000d")[0], 1)
    assert ask(calls, descriptor(2, BEGIN | END), 0, words("kept\n")[0]) == 5
    for _ in range(100):
        ask(calls, descriptor(1, BEGIN), 0)
    with pytest.warns(RuntimeWarning, match="more than 1,000 bytes"):
        calls.show()
    assert capsys.readouterr().out == "kept\n"
    assert len(calls._messages) < 20


def test_other_services_are_a_fault():
    calls = Hostcalls()
    assert ask(calls, 64, service=3) == 0
    with pytest.raises(KernelFault, match="service 3"):
        calls.check()

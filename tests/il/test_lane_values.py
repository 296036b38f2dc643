"""What is known of registers before a program runs: sums of what is not known are followed as far as addresses need."""

import numpy as np

from headwater.il.lane_values import MOST_SYMBOLS, Form, Symbol, computed

ITEMS = np.arange(64, dtype=np.int64)


def unknown(number):
    return Form(np.zeros(64, np.int64), ((Symbol(number, True), 1),))


def refuse(uniform, *, scaled=False):
    raise AssertionError("nothing new is to be made")


def test_sums_of_what_is_loaded_are_followed_to_a_limit():
    total, terms = Form(ITEMS), []
    for number in range(10 * MOST_SYMBOLS):
        summed = computed("iadd", [total, unknown(number)], refuse)
        if summed is None:
            break
        total = summed
        terms.append(len(total.symbols))
    assert terms == list(range(1, MOST_SYMBOLS + 1))
    product = [unknown(0), Form(np.full(64, 3)), total]
    assert computed("imad", product, refuse).symbols[0] == (Symbol(0, True), 4)
    assert computed("imad", [unknown(MOST_SYMBOLS), *product[1:]], refuse) is None
    assert computed("isub", [total, unknown(0)], refuse).symbols == total.symbols[1:]

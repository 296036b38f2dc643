"""What is known of two values is selected, not computed anew of the one selected from them."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.passes.selected_values import chosen_once

SORT = """
float weight(uint v) {
  return 0.3f * (v & 0xffu) + 0.59f * ((v >> 8) & 0xffu) + fabs((float)(int)(v >> 16) - 9.0f);
}
kernel void middle(global const uint *in, global uint *out) {
  int i = get_global_id(0);
  uint a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], t;
  if (weight(a) > weight(b)) { t = a; a = b; b = t; }
  if (weight(b) > weight(c)) { t = b; b = c; c = t; }
  if (weight(a) > weight(b)) { t = a; a = b; b = t; }
  out[i] = b;
}
"""


def weight(values: np.ndarray) -> np.ndarray:
    low, middle, high = values & 0xFF, values >> 8 & 0xFF, (values >> 16).astype(np.int32)
    return 0.3 * low + 0.59 * middle + np.abs(high - 9)


@pytest.mark.parametrize("group", [64, None])
def test_a_sort_by_a_key_gives_what_it_gave(group: int | None) -> None:
    n = 512
    values = np.random.default_rng(3).integers(0, 2**32, (n, 3), np.uint32)
    out = np.zeros(n, np.uint32)
    size = None if group is None else (group,)
    hw.compile(SORT, language="opencl", device="cpu").middle[(n,), size](values, out)
    order = np.argsort(weight(values), axis=1, kind="stable")
    np.testing.assert_array_equal(weight(out), weight(np.take_along_axis(values, order[:, 1:2], 1)[:, 0]))


def function(*lines: str) -> str:
    return "\n".join(["define void @f(i32 %a, i32 %b, i1 %c, i1 %d, ptr %p) {", *(f"  {x}" for x in lines), "}", ""])


def chosen(text: str) -> str:
    module = Module(text)
    chosen_once(module)
    return str(module)


KNOWN = (
    "%1 = and i32 %a, 255",
    "%2 = uitofp nneg i32 %1 to float",
    "%3 = and i32 %b, 255",
    "%4 = uitofp nneg i32 %3 to float",
)


def test_operations_on_a_selected_value_become_one_selection() -> None:
    made = chosen(
        function(
            *KNOWN,
            "%5 = select i1 %c, i32 %a, i32 %b",
            "%6 = and i32 %5, 255",
            "%7 = uitofp nneg i32 %6 to float",
            "%8 = fadd float %2, %4",
            "%9 = fadd float %7, %8",
            "store float %9, ptr %p, align 4",
            "ret void",
        )
    )
    expected = function(
        *KNOWN,
        "%7 = select i1 %c, float %2, float %4",
        "%8 = fadd float %2, %4",
        "%9 = fadd float %7, %8",
        "store float %9, ptr %p, align 4",
        "ret void",
    )
    assert made == str(Module(expected))


@pytest.mark.parametrize(
    "lines",
    [
        # One operation alone: a selection would take as long.
        (*KNOWN[::2], "%5 = select i1 %c, i32 %a, i32 %b", "%6 = and i32 %5, 255"),
        # Only one side is known.
        (*KNOWN[:2], "%5 = select i1 %c, i32 %a, i32 %b", "%6 = and i32 %5, 255", "%7 = uitofp nneg i32 %6 to float"),
        # Other flags: where they make poison, the selected value need not be.
        (*KNOWN, "%5 = select i1 %c, i32 %a, i32 %b", "%6 = and i32 %5, 255", "%7 = uitofp i32 %6 to float"),
        # Known in another block, which need not have been run.
        (*KNOWN, "br label %next", "\nnext:", "%5 = select i1 %c, i32 %a, i32 %b", "%6 = and i32 %5, 255",
         "%7 = uitofp nneg i32 %6 to float"),
        # Memory may have changed.
        ("%1 = load float, ptr %p, align 4", "%2 = fadd float %1, %1", "store float %2, ptr %p, align 4",
         "%5 = select i1 %c, ptr %p, ptr %p", "%6 = load float, ptr %5, align 4", "%7 = fadd float %6, %6"),
    ],
)  # fmt: skip
def test_what_is_left_as_it_is(lines: tuple[str, ...]) -> None:
    last = re.match(r"%\d+", lines[-1])
    assert last is not None
    text = function(
        *lines, f"%last = bitcast {'i32' if ' to ' not in lines[-1] else 'float'} {last[0]} to i32", "ret void"
    )
    text = text.replace("  \nnext:", "\nnext:")
    assert chosen(text) == str(Module(text))


def test_two_operands_are_taken_from_the_same_side() -> None:
    sums = ("%1 = add i32 %a, 1", "%2 = add i32 %b, 1", "%3 = mul i32 %1, %a", "%4 = mul i32 %2, %b")
    made = chosen(
        function(
            *sums,
            "%5 = select i1 %c, i32 %a, i32 %b",
            "%6 = select i1 %d, i32 %a, i32 %b",
            "%7 = add i32 %5, 1",
            "%8 = mul i32 %7, %5",
            "%9 = mul i32 %7, %6",
            "store i32 %8, ptr %p, align 4",
            "store i32 %9, ptr %p, align 4",
            "ret void",
        )
    )
    assert "%8 = select i1 %c, i32 %3, i32 %4" in made
    assert "%9 = mul i32 %7, %6" in made
    assert "%7 = add i32 %5, 1" in made

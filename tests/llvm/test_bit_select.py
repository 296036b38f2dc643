"""Bits of one number or of another, in some lanes: what LLVM gets wrong where lanes are masked."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.llvm.passes.bit_select import without_masked_bit_selects

SOURCE = """
kernel void k(global uint *kept, global uint *flipped, global const uint *a, global const uint *b) {
  size_t i = get_global_id(0);
  uint x = a[i], y = b[i], z = x;
  if (y & 1) z = (x & 0x80000000u) | (y & 0x7fffffffu);
  kept[i] = z;
  z = x;
  if (y & 1) z = as_uint(copysign(as_float(x), as_float(y)));
  flipped[i] = z;
}
"""


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_bits_are_selected_where_the_mask_allows(device):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1 << 32, (2, 320), dtype=np.uint32)
    kept, flipped = np.zeros_like(a), np.zeros_like(a)
    hw.compile(SOURCE, device=device).k[a.shape](kept, flipped, a, b)
    chosen = (b & 1).astype(bool)
    assert (kept == np.where(chosen, a & 0x80000000 | b & 0x7FFFFFFF, a)).all()
    assert (flipped == np.where(chosen, a & 0x7FFFFFFF | b & 0x80000000, a)).all()


BODY = """define <16 x i32> @f(<16 x i32> %x, <16 x i32> %y, <16 x i1> %m) {{
  %p = and <16 x i32> %x, splat (i32 2147483647)
  %q = {second} <16 x i32> %y, splat (i32 -2147483648)
  %o = or disjoint <16 x i32> %p, %q
  %s = select <16 x i1> %m, <16 x i32> {arm}, <16 x i32> %x
  ret <16 x i32> %s
}}
"""


def changed_text(text):
    module = Module(text)
    return str(module) if without_masked_bit_selects(module) else None


def test_a_selection_of_such_bits_becomes_one_of_floats():
    text = BODY.format(second="and", arm="%o")
    changed = changed_text(text)
    assert "select <16 x i1> %m, <16 x float> %hw.select.1.one, <16 x float> %hw.select.1.other" in changed
    assert "%s = bitcast <16 x float> %hw.select.1 to <16 x i32>" in changed


def test_new_values_take_no_name_that_a_program_or_the_vectoriser_has():
    for text in (BODY.format(second="and", arm="%o"), BODY.format(second="and", arm="%o").replace("%p", "%apart.1")):
        changed = changed_text(text)
        made = set(re.findall(r"(%\S+) = ", changed)) - set(re.findall(r"(%\S+) = ", text))
        assert len(made) == 3
        assert all(name.startswith("%hw.") for name in made)


def test_other_selections_stay():
    text = BODY.format(second="and", arm="%y")
    assert changed_text(text) is None


@pytest.mark.parametrize("device", ["cpu", "vega64", "r9-nano", "hd7970"])
def test_or_with_a_complement_whose_high_half_is_known(device):
    source = """kernel void k(global ulong *mean, global ulong *other, global const uint *a, global const int *b) {
      size_t i = get_global_id(0);
      mean[i] = rhadd(~(ulong)a[i], (ulong)b[i]);
      ulong high = a[i] | 0xffffffff00000000ul;
      other[i] = ((ulong)b[i] | high) - (((ulong)b[i] ^ high) >> 1);
    }"""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    b = rng.integers(-(1 << 31), 1 << 31, 64).astype(np.int32)
    mean, other = np.zeros(64, np.uint64), np.zeros(64, np.uint64)
    hw.compile(source, device=device).k[a.shape](mean, other, a, b)
    wide = b.astype(np.int64).view(np.uint64)
    for found, one in ((mean, ~a.astype(np.uint64)), (other, a | np.uint64(0xFFFFFFFF00000000))):
        assert (found == (one | wide) - ((one ^ wide) >> np.uint64(1))).all()

"""Null pointers of every address space differ from pointers to variables, on every device, in all forms of C."""

from __future__ import annotations

import numpy as np
import pytest

import headwater as hw
from headwater.il.from_llvm.constants import APERTURES
from headwater.runtime.vliw.launch import ARENA_END

DEVICES = ("cpu", "vega64", "hd4870", "hd5870", "hd6970")
SHARING = tuple(device for device in DEVICES if device != "hd4870")
"""Chips whose work-groups have local memory."""

# `z` is 0, which no compiler knows.
PRIVATE = """kernel void k(global int *o, int z) {
  int x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
  int *list[5] = {x, 0, y, 0};
  int n = 0;
  for (int i = 0; i < 5; i++)
    if (list[i + z]) n += list[i + z][2];
  o[0] = n;
  int *p = z ? x : y, *q = z ? y : x, *r = z ? 0 : x, *none = 0;
  o[1] = p == q; o[2] = p == x; o[3] = q == x; o[4] = r == 0; o[5] = r != x; o[6] = !p; o[7] = p ? 3 : 4;
  struct { int *a; int b; int *c; } t[2];
  t[z].a = 0; t[z].c = y; t[1 - z].a = x; t[1 - z].c = none;
  o[8] = (t[0].a == 0) | (t[0].c == 0) << 1 | (t[1].a == 0) << 2 | (t[1].c == 0) << 3;
  int **pp = z ? 0 : list;
  o[9] = pp != 0; o[10] = *pp == x; o[11] = (int *)(size_t)(z ? x : none) == 0; o[12] = (bool)none; o[13] = p < y + 1;
}"""
LOCAL = """kernel void k(global int *o, int z, local int *a, local int *b) {
  local int x[4], y[4];
  for (int i = 0; i < 4; i++) { x[i] = 1 + i; y[i] = 5 + i; }
  local int *list[5] = {x, 0, y, 0};
  int n = 0;
  for (int i = 0; i < 5; i++)
    if (list[i + z]) n += list[i + z][2];
  o[0] = n;
  local int *p = z ? x : y, *q = z ? y : x, *r = z ? 0 : x, *none = 0;
  o[1] = p == q; o[2] = p == x; o[3] = q == x; o[4] = r == 0; o[5] = r != x; o[6] = !p; o[7] = p ? 3 : 4;
  local int *local kept[2];
  kept[z] = 0; kept[1 - z] = x;
  o[8] = (kept[0] == 0) | (kept[1] == 0) << 1 | (kept[1] == x) << 2;
  local int *c = z ? 0 : a;
  o[9] = c == 0; o[10] = a == b; o[11] = (b ? 1 : 2) + (a ? 10 : 20); o[12] = (bool)none; o[13] = a == x;
}"""
ARGUMENTS = """kernel void k(global int *o, int z, local int *a, local int *b) {
  local int *p = z ? 0 : a, *q = z ? a : b;
  o[0] = p == 0; o[1] = q == 0; o[2] = p == q; o[3] = a == 0;
  a[z] = 3; b[z] = 4;
  if (p) o[4] = p[z];
  o[5] = *q;
}"""
CHAIN = """typedef struct Node { int value; struct Node *next; } Node;
kernel void k(global int *o, int z) {
  Node n[4];
  for (int i = 0; i < 4; i++) { n[i].value = 10 * i + 1; n[i].next = i + 1 < 4 + z ? &n[i + 1] : 0; }
  int sum = 0, count = 0;
  for (Node *p = &n[0]; p; p = p->next) { sum += p->value; count++; }
  o[0] = sum; o[1] = count;
  Node *back = 0;
  for (int i = 0; i < 4; i++) { n[i].next = back; back = &n[i]; }
  for (sum = 0; back; back = back->next) sum = sum * 3 + back->value;
  o[2] = sum;
}"""
BUFFERS = """constant int a[4] = {1, 2, 3, 4};
constant int b[2] = {7, 8};
kernel void k(global int *o, int z, global int *none, constant int *nothing) {
  constant int *p = z ? a : 0, *q = z ? b : a;
  global int *there = z ? none : o;
  o[0] = p == 0; o[1] = q == 0; o[2] = q[1]; o[3] = none == 0; o[4] = nothing == 0; o[5] = there == 0;
}"""
GENERIC = """int get(int *p) { return p ? *p : -7; }
kernel void k(global int *o, int z) {
  int x[4] = {1, 2, 3, 4}, w[2] = {8, 9};
  local int y[4];
  for (int i = 0; i < 4; i++) y[i] = 5 + i;
  int *px = x, *py = y, *pg = o, *none = 0;
  o[0] = px == 0; o[1] = py == 0; o[2] = pg == 0; o[3] = none == 0; o[4] = px == py; o[5] = px == pg; o[6] = py == pg;
  o[7] = get(z ? 0 : x); o[8] = get(z ? (int *)0 : (int *)y);
  int *list[4] = {x, y, 0, w}, n = 0;
  for (int i = 0; i < 4; i++) n = n * 2 + (list[i + z] != 0);
  o[9] = n; o[10] = list[z] == x; o[11] = list[z + 1] == y; o[12] = list[z + 3] == w; o[13] = list[z] == list[z + 1];
  o[14] = list[z + 2] == none; o[15] = (size_t)list[z + 2] == 0;
}"""


def run(source: str, device: str, count: int, *args: object, options: str = "") -> list[int]:
    out = np.full(count, -9, np.int32)
    program = hw.compile(source, device=device, options=options)
    program.k[(1,), (1,)](out, 0, *args, device=device)
    return out.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_private_variables(device) -> None:
    assert run(PRIVATE, device, 14) == [10, 0, 0, 1, 0, 0, 0, 3, 9, 1, 1, 1, 0, 1]


@pytest.mark.parametrize("device", SHARING)
def test_local_variables_and_arguments(device) -> None:
    memory = hw.Local(16), hw.Local(16)
    assert run(LOCAL, device, 14, *memory) == [10, 0, 0, 1, 0, 0, 0, 3, 5, 0, 0, 11, 0, 0]
    # Without variables of the kernel's own the first argument lies at 0.
    assert run(ARGUMENTS, device, 6, *memory) == [0, 0, 0, 0, 3, 4]


@pytest.mark.parametrize("device", DEVICES)
def test_chains_of_private_structs_end(device) -> None:
    assert run(CHAIN, device, 3) == [64, 4, 1060]


@pytest.mark.parametrize("device", DEVICES)
def test_buffers_and_constants(device) -> None:
    assert run(BUFFERS, device, 6, None, None) == [1, 0, 2, 1, 1, 0]


@pytest.mark.parametrize("device", SHARING)
def test_generic_pointers(device) -> None:
    found = run(GENERIC, device, 16, options="-cl-std=CL2.0")
    assert found == [0, 0, 0, 1, 0, 0, 0, 1, 5, 13, 1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_null_as_a_number(device) -> None:
    """It is the device's own: all ones on AMD's chips, in local and private memory, 0 elsewhere."""
    source = """kernel void k(global int *o, int z) {
      private int *p = 0; local int *l = 0; global int *g = 0; constant int *c = 0;
      int x[2] = {1, 2};
      private int *q = z ? x : p;
      o[0] = (int)(size_t)p; o[1] = (int)(size_t)l; o[2] = (int)(size_t)g; o[3] = (int)(size_t)c; o[4] = (int)(size_t)q;
    }"""
    none = 0 if device == "cpu" else -1
    assert run(source, device, 5) == [none, none, 0, 0, none]


@pytest.mark.parametrize("device", DEVICES)
def test_reads_through_null_that_never_happen_are_compiled(device) -> None:
    source = "kernel void k(global int *o, int z) { int *p = 0; if (z) { o[0] = *p; p[z] = 3; o[0] += p[o[1]]; for (int i = 0; i < z; i++) o[i] = *p++; } o[1] = 5; }"
    assert run(source, device, 2) == [-9, 5]


def test_generic_pointers_to_local_and_private_memory_are_beyond_all_buffers() -> None:
    assert min(APERTURES.values()) == ARENA_END

"""Checked launches find private variables that are used before they are written, the same ones on every kind of device."""

import re

import numpy as np
import pytest

import headwater as hw

SOURCE = """
typedef struct { char a; int b; char c; } Item;
typedef struct { int a, b; } Two;
void set(int *p, int v) { *p = v; }
int twice(int v) { return 2 * v; }
Two of(int v) { Two t; t.a = v; return t; }
kernel void maybe(global int *o, int n) {
  int x;  // declared
  if (o[3]) x = 1;
  o[0] = x;  // found
}
kernel void always(global int *o, int n) { int x; if (o[3]) x = 1; else x = 2; o[0] = x; }
kernel void same_condition(global int *o, int n) { int x; if (n) x = 1; o[1] = 5; if (n) o[0] = x; }
kernel void component(global int *o, int n) {
  float4 f;  // declared
  f.xzw = 4.2f;
  vstore4(f, 0, (global float *)o);  // found
}
kernel void components(global int *o, int n) {
  float4 f, g;
  f.x = o[1]; f.y = 2; f.z = 3; f.w = 4;
  g.xyz = convert_float3(vload3(0, o));
  vstore4(f, 0, (global float *)o);
  vstore3(g.xyz * 2.0f, 0, (global float *)o);
}
kernel void array(global int *o, int n) {
  float s[4];  // declared
  for (int i = 0; i < 4; i++) s[o[8 + i]] = i;
  for (int i = 0; i < 4; i++)
    o[i] = s[i];  // found
}
kernel void whole_array(global int *o, int n) {
  float s[4] = {7.f, 1, 2, 3}, t[8];
  s[o[8]] = 3;
  for (int i = 0; i < 8; i++) t[i] = 0;
  for (int k = 0; k < n; k++) for (int i = 0; i < 8; i++) t[i] += o[i] * k;
  for (int i = 0; i < 4; i++) o[i] = s[i] + t[i + o[9]];
}
kernel void address(global int *o, int n) {
  int a[] = {1, 2, 3};
  int i;  // declared
  if (o[1]) i = 1;
  o[0] = a[i & 1];  // found
}
kernel void padding(global int *o, int n) { Item s; s.a = 1; s.b = 2; s.c = 3; *(global Item *)o = s; }
kernel void copies(global int *o, int n) {
  Item s[3], t;
  s[o[0] & 1].b = 5;
  t = s[o[0] & 1];
  s[2] = t;
  o[0] = s[2].b;
}
kernel void member(global int *o, int n) {
  Item s;
  s.a = 1; s.c = 3;
  *(global Item *)o = s;  // found
}
kernel void returned(global int *o, int n) {
  Two s = of(o[1]);  // declared
  o[0] = s.a;
  o[1] = s.b;  // found
}
kernel void condition(global int *o, int n) {
  int x;  // declared
  if (o[5]) x = 3;
  if (x > 2)  // found
    o[0] = 1;
}
kernel void argument(global int *o, int n) {
  int x;  // declared
  if (o[5]) x = 3;
  atomic_add(o, x);  // found
}
kernel void by_pointer(global int *o, int n) { int x; set(&x, o[1]); o[0] = x; }
kernel void not_by_pointer(global int *o, int n) {
  int x;
  int y;  // declared
  set(&x, o[1]);
  o[0] = twice(x + y);  // found
}
kernel void no_turn(global int *o, int n) {
  int last;  // declared
  for (int i = 0; i < n; i++) last = o[i + 1];
  o[0] = last;  // found
}
kernel void anew(global int *o, int n) {
  for (int i = 0; i < 2; i++) {
    int x;  // declared
    if (i == 0) x = 5;
    o[i] = x;  // found
  }
}
kernel void walk(global int *o, int n) {
  int a[4];  // declared
  for (int *p = a; p < a + 3; p++) *p = o[1];
  int s = 0;
  for (int i = 0; i < 4 + n; i++) s += a[i];
  o[0] = s;  // found
}
kernel void masked(global int *o, int n) {
  int x, y;
  if (n) { x = 5; y = 1; }
  o[0] = (x & 0) + ((y | -1) == -1);
}
kernel void uses(global int *o, int n) {
  int whole;
  float part;
  float fraction = modf((float)o[1], &part);
  float cosine, sine = sincos((float)o[1], &cosine);
  o[0] = part + fraction + sine + cosine;
}
"""
KERNELS = SOURCE.split("kernel void ")[1:]


def lines(mark):
    """The lines of each kernel that are marked."""
    return {
        text.split("(")[0]: [
            SOURCE[: SOURCE.index("kernel void " + text)].count("\n") + 1 + n
            for n, line in enumerate(text.split("\n"))
            if f"// {mark}" in line
        ]
        for text in KERNELS
    }


FOUND, DECLARED = lines("found"), lines("declared")


@pytest.fixture(scope="module", params=["cpu", "vega64", "hd7970", "hd5870"])
def program(request):
    return hw.device(request.param).build(SOURCE, "private.cl")


@pytest.mark.parametrize("kernel", FOUND)
def test_private_variables(program, kernel):
    data = np.zeros(64, np.int32)
    data[8:12] = 1, 1, 3, 3
    launch = program.kernels[kernel].prepare((1,), (1,), check=True)
    if not FOUND[kernel]:
        launch([data, 0], None, None).wait()
        return
    with pytest.raises(hw.KernelFault, match=r"work-item \(0\) of .* has not written a private variable and") as fault:
        launch([data, 0], None, None).wait()
    text = str(fault.value)
    assert [int(line) for line in re.findall(r"private\.cl:(\d+):\d+: error", text)] == FOUND[kernel]
    assert [int(line) for line in re.findall(r"the variable: private\.cl:(\d+):", text)] == DECLARED[kernel]


def test_each_place_is_told_once(program):
    with pytest.raises(hw.KernelFault, match=r"work-item \(\d+\) of maybe .* stores a value .* \(100 times\)") as fault:
        program.kernels["maybe"].prepare((100,), (10,), check=True)([np.zeros(64, np.int32), 0], None, None).wait()
    assert str(fault.value).count("error") == 1


def test_nothing_is_followed_where_llvm_knows_that_all_is_written(capfd):
    """Then the code prints nothing, and costs nothing."""
    source = """kernel void sums(global float *a, int n) {
      float acc[8], most; int i;
      for (i = 0; i < 8; i++) acc[i] = 0;
      for (int k = 0; k < n; k++) for (i = 0; i < 8; i++) acc[i] += a[8 * k + i];
      if (n > 3) most = acc[0]; else most = acc[1];
      for (i = 0; i < 8; i++) most = fmax(most, acc[i]);
      a[0] = most;
    }"""
    host = hw.device("cpu").build(source, "sums.cl").kernels["sums"].prepare((1,), (1,), check=True)
    assert host._callback is None
    chip = hw.device("vega64").build(source, "sums.cl").kernels["sums"].prepare((1,), (1,), check=True)
    assert not chip.code.printf_formats


def test_what_the_kernel_prints_is_printed(program, capfd):
    source = """kernel void says(global int *o) { int x; if (o[0]) x = 1; printf("%d\\n", o[1]); o[2] = x; printf("end\\n"); }"""
    kernel = program.device.build(source, "says.cl").kernels["says"]
    with pytest.raises(hw.KernelFault, match="has not written a private variable"):
        kernel.prepare((1,), (1,), check=True)(
            [
                np.arange(0, 64, 1, np.int32) * 0,
            ],
            None,
            None,
        ).wait()
    assert capfd.readouterr().out == "0\nend\n"

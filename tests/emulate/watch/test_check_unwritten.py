"""What `--check` says of memory that is read before it is written, on GCN and VLIW chips."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """
typedef struct { short a; int b; } Pair;
typedef struct { char tag; long4 wide; } Wide;
typedef struct { Pair pairs[2]; float3 three; char last; } Nested;
typedef union { short half_word; int word; char bytes[8]; } Any;
kernel void pairs(global Pair *o, local Pair *s) {
  int l = get_local_id(0);
  s[l].a = 42; s[l].b = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void wide(global Wide *o, local Wide *s) {
  int l = get_local_id(0);
  s[l].tag = 1; s[l].wide = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  Wide mine = s[63 - l];
  o[l] = mine;
}
kernel void nested(global Nested *o, local Nested *s) {
  int l = get_local_id(0);
  for (int k = 0; k < 2; k++) { s[l].pairs[k].a = k; s[l].pairs[k].b = l; }
  s[l].three = (float3)(l, 1, 2); s[l].last = 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void unions(global Any *o, local Any *s) {
  int l = get_local_id(0);
  s[l].half_word = 7;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void threes(global float3 *o, local float3 *s) {
  int l = get_local_id(0);
  s[l].x = 1; s[l].y = 2; s[l].z = 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void branch(global Pair *o, local Pair *s) {
  int l = get_local_id(0);
  if (l == 0) { s->a = 42; s->b = 7; }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 1)
    *o = *s;
}
kernel void no_member_b(global Pair *o, local Pair *s) {
  int l = get_local_id(0);
  s[l].a = 42;
  if (l != 5) s[l].b = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void no_member_a(global Pair *o, local Pair *s) {
  int l = get_local_id(0);
  if (l != 5) s[l].a = 42;
  s[l].b = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void no_union(global Any *o, local Any *s) {
  int l = get_local_id(0);
  if (l != 5) s[l].half_word = 7;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void no_z(global float3 *o, local float3 *s) {
  int l = get_local_id(0);
  s[l].x = 1; s[l].y = 2;
  if (l != 5) s[l].z = 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
kernel void some_components(global float3 *o, local float4 *s) {
  int l = get_local_id(0);
  s[l].xyz = o[l];
  s[64 + l].lo = o[l].zx;
  s[128 + l].x = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l].zy = s[63 - l].zy;
}
kernel void half_of_an_int(global int *o, local int *s) {
  int l = get_local_id(0);
  ((local short *)s)[2 * l] = 42;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = s[63 - l];
}
"""


@pytest.fixture(scope="module", params=["vega64", "hd7970", "hd5870"])
def program(request):
    return hw.device(request.param).build(SOURCE, "gaps.cl")


def run(program, kernel):
    local = hw.Local(64 * 96)
    dtype = {"threes": np.float32, "some_components": np.float32, "no_z": np.float32, "half_of_an_int": np.int32}.get(
        kernel, np.uint8
    )
    program.kernels[kernel].prepare((64,), (64,), check=True)([np.zeros(64 * 96, dtype), local], None, None).wait()


@pytest.mark.parametrize("kernel", ["pairs", "wide", "nested", "unions", "threes", "branch", "some_components"])
def test_gaps_between_members_may_be_copied(program, kernel):
    run(program, kernel)


@pytest.mark.parametrize("kernel", ["no_member_a", "no_member_b", "no_union", "no_z", "half_of_an_int"])
def test_members_may_not(program, kernel):
    with pytest.raises(hw.KernelFault, match=r"of local memory, where no work-item of its group has written"):
        run(program, kernel)

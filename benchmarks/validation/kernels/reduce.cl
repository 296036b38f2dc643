/* cl2-reduce-bench: each group sums 256 elements in local memory, and adds its sum to one number. */
kernel void local_memory(global const int *in, global int *out) {
  local int part[256];
  int at = get_local_id(0);
  part[at] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 128; n > 0; n >>= 1) {
    if (at < n) part[at] += part[at + n];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (at == 0) atomic_add(out, part[0]);
}

#ifdef SUB_GROUPS
/* The same by functions of sub-groups: a wavefront's sum, then the sum of those of the work-group. */
kernel void sub_groups(global const int *in, global int *out) {
  local int part[16];
  int sum = sub_group_reduce_add(in[get_global_id(0)]);
  if (get_sub_group_local_id() == 0) part[get_sub_group_id()] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    for (int n = 1; n < get_num_sub_groups(); n++) sum += part[n];
    atomic_add(out, sum);
  }
}
#endif

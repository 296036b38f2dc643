// Barriers that all work-items of a work-group reach, and barriers that only some do.
void sync(void) { barrier(CLK_LOCAL_MEM_FENCE); }

kernel void uniform_loop(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0), size = get_local_size(0);
  t[l] = b[get_global_id(0)];
  for (int k = 0; k < n; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    int next = t[(l + 1) % size];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = next;
  }
  b[get_global_id(0)] = t[l];
}

kernel void unrolled_loop(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0), size = get_local_size(0);
  t[l] = b[get_global_id(0)];
#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    sync();
    int other = t[(l + k) % size];
    sync();
    if (l & k)
      t[l] += other;
  }
  b[get_global_id(0)] = t[l] + n;
}

kernel void uniform_branch(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0);
  if (get_group_id(0) & 1) {
    t[l] = n;
    barrier(CLK_LOCAL_MEM_FENCE);
  } else {
    t[l] = -n;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (n > 1)
      barrier(CLK_GLOBAL_MEM_FENCE);
  }
  b[get_global_id(0)] = t[(l + 1) % get_local_size(0)];
}

kernel void group_function(global int *b, int n) {
  b[get_global_id(0)] = work_group_scan_inclusive_add(n);
}

kernel void planes(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
  int g = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  t[l] = g;
  if (g < n)
    barrier(CLK_LOCAL_MEM_FENCE);
  b[g] = t[l ^ 1];
}

kernel void divergent_branch(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = 0;
  if (l < n) {
    t[l] = 1;
    barrier(CLK_LOCAL_MEM_FENCE); // first
  } else {
    t[l] = 2;
    barrier(CLK_LOCAL_MEM_FENCE); // second
  }
  b[get_global_id(0)] = t[l ^ 1];
}

kernel void early_return(global int *b, int n) {
  local int t[64];
  int i = get_global_id(0), l = get_local_id(0);
  if (i >= n)
    return;
  t[l] = b[i];
  barrier(CLK_LOCAL_MEM_FENCE); // after the return
  b[i] = t[l ^ 1];
}

kernel void trip_counts(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = 0;
  for (int k = 0; k < b[get_global_id(0)]; k++) {
    t[l] += 1;
    barrier(CLK_LOCAL_MEM_FENCE); // in the loop
  }
  b[get_global_id(0)] = t[l ^ 1] + n;
}

kernel void leaves_loop(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = 0;
  for (int k = 0; k < 4; k++) {
    if (k == 2 && l == n)
      break;
    t[l] += 1;
    barrier(CLK_LOCAL_MEM_FENCE); // each time
  }
  barrier(CLK_LOCAL_MEM_FENCE); // after the loop
  b[get_global_id(0)] = t[l ^ 1];
}

kernel void two_calls(global int *b, int n) {
  local int t[64];
  int l = get_local_id(0);
  t[l] = l;
  if (l == n)
    sync();
  else {
    t[l] = 1;
    sync();
  }
  b[get_global_id(0)] = t[l ^ 1];
}

kernel void group_function_by_some(global int *b, int n) {
  int sum = 0;
  if (get_local_id(0) < n)
    sum = work_group_reduce_add(1); // by some
  b[get_global_id(0)] = sum;
}

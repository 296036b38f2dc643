// Accesses outside of what a kernel was given; `shift` and `k` say how far outside.
typedef struct {
  int a[5];
  int b;
} Record;

constant int TABLE[4] = {1, 2, 3, 4};

kernel void reads(global const int *a, global int *b, int shift) {
  int i = get_global_id(0);
  b[i] =
      a[i + shift];
}

kernel void writes(global int *b, int shift) {
  int i = get_global_id(0);
  b[i + shift] = 1;
}

kernel void private_array(global int *b, int k) {
  int t[8];
  for (int j = 0; j < 8; j++)
    t[j] = b[j];
  t[k] += 3;
  b[0] = t[b[1] & 7];
}

kernel void null_pointer(global int *b, global int *c) {
  b[0] = 1;
  if (c[3])
    b[1] = 2;
}

kernel void local_argument(global int *b, local int *t, int k) {
  t[get_local_id(0) + k] = b[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  b[get_global_id(0)] = t[get_local_id(0)];
}

kernel void local_variable(global int *b, int k) {
  local int t[16];
  local int after[16];
  after[get_local_id(0)] = 1;
  t[get_local_id(0) + k] = b[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  b[get_global_id(0)] = t[get_local_id(0)] + after[0];
}

kernel void constant_array(global int *b, int k) { b[get_global_id(0)] = TABLE[get_global_id(0) + k]; }

kernel void atomic(global int *b, int k) { atomic_add(&b[k], 1); }

kernel void copied_record(global Record *s, int k) {
  Record t = s[k];
  t.b = 4;
  s[0] = t;
}

kernel void vector_store(global float *b, int k) { vstore4((float4)(1), k, b); }

kernel void record_by_value(Record s, global int *o, int k) { o[0] = s.a[k]; }

// Fine: pointers of which the compiler does not know where they point.
kernel void chosen(global int *a, constant int *c, int k) {
  int left[4] = {1, 2, 3, 4}, right[4] = {5, 6, 7, 8};
  int i = get_global_id(0);
  int *p = a[i] & 1 ? left : right;
  constant int *q = a[i] & 2 ? c : TABLE;
  p[i & 3] += q[i & 3];
  a[i] = p[(i + k) & 3] + left[0] + right[1];
}

kernel void endless(global int *b) {
  while (b[get_global_id(0)] >= 0)
    b[get_global_id(0)] = (b[get_global_id(0)] + 1) & 0xffff;
}

kernel void endless_for_some(global int *b) {
  int i = get_global_id(0);
  for (int k = 0; i % 7 == 3 || k < i; k++)
    if (b[i] == -1)
      break;
  b[i] = 5;
}

// LLVM leaves a loop without exits: work-items that do not enter it must not either.
kernel void endless_unless_negative(global int *b, global int *done) {
  while (b[get_global_id(0)] >= 0)
    b[get_global_id(0)] = (b[get_global_id(0)] + 1) & 0xffff;
  done[get_global_id(0)] = 1;
}

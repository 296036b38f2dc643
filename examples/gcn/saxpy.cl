// y = a x + y: a few instructions of machine code, one of them the sum.
kernel void saxpy(global const float *x, global float *y, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}

/* AMD, GPU Hardware Basics, Frontier Application Readiness Kick-Off Workshop, 2019: one 4 × 4 matrix times many vectors. A
   work-group brings WG × NB vectors to local memory; a work-item multiplies NB of them. */
#ifndef UNROLL
#define UNROLL 1
#endif
#define STRING(x) #x
#define UNROLLED(n) _Pragma(STRING(unroll n))

kernel void matvec(global const float *a, global const float *x, global float *b, int size) {
  local float vectors[WG * NB * 4];
  int at = get_local_id(0);
  size_t first = get_group_id(0) * (size_t)(WG * NB * 4);
  for (int n = at; n < WG * NB * 4; n += WG) vectors[n] = x[first + n];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 0; n < NB; n++) {
    int own = (n * WG + at) * size;
#ifdef ROWS
    UNROLLED(ROWS)
#endif
    for (int row = 0; row < size; row++) {
      float sum = 0;
      UNROLLED(UNROLL)
      for (int k = 0; k < size; k++) sum += a[row * size + k] * vectors[own + k];
      b[first + own + row] = sum;
    }
  }
}

/* Kernels that do what SHOC's applications do, written anew. Sizes are theirs, or parts of them: the strides of matrices are kept.
   REAL: float or double. */
#ifndef REAL
#define REAL float
#endif
#define REAL4_(T) T##4
#define REAL4__(T) REAL4_(T)
#define REAL4 REAL4__(REAL)

/* GEMM. Work-groups of 16 x 4 make 64 x 16 elements of C: a work-item has 16 sums, an element of A at a time and a row of B
   through local memory. Matrices stand column after column, `pitch` elements apart. */
#define SUMS(x, row) \
  _Pragma("unroll") for (int j = 0; j < 16; j++) sum[j] += (x) * row[j];
#define STORE_SUMS \
  _Pragma("unroll") for (int j = 0; j < 16; j++) { \
    *c = alpha * sum[j] + beta * *c; \
    c += pitch; \
  }

kernel void gemm_nt(global const REAL *a, global const REAL *b, global REAL *c, int pitch, int depth, REAL alpha, REAL beta) {
  local REAL tile[4][16];
  int x = get_local_id(0), y = get_local_id(1), item = x + 16 * y;
  REAL sum[16] = {0}, next[4], one[4];
  a += get_group_id(0) * 64 + item;
  b += get_group_id(1) * 16 + x + y * pitch;
  c += get_group_id(0) * 64 + item + get_group_id(1) * 16 * pitch;
  for (int k = 0; k < 4; k++) next[k] = a[k * pitch];
  REAL own = *b;
  for (int done = 4; done < depth; done += 4) {
    a += 4 * pitch;
    b += 4 * pitch;
    for (int k = 0; k < 4; k++) one[k] = next[k];
    tile[y][x] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; k++) next[k] = a[k * pitch];
    own = *b;
    for (int k = 0; k < 4; k++) { SUMS(one[k], tile[k]) }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  tile[y][x] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 4; k++) { SUMS(next[k], tile[k]) }
  STORE_SUMS
}

kernel void gemm_nn(global const REAL *a, global const REAL *b, global REAL *c, int pitch, int depth, REAL alpha, REAL beta) {
  local REAL tile[16][17];
  int x = get_local_id(0), y = get_local_id(1), item = x + 16 * y;
  REAL sum[16] = {0}, one[4];
  a += get_group_id(0) * 64 + item;
  b += x + (get_group_id(1) * 16 + y) * pitch;
  c += get_group_id(0) * 64 + item + get_group_id(1) * 16 * pitch;
  for (int done = 0; done < depth; done += 16, b += 16) {
    for (int k = 0; k < 4; k++) one[k] = a[k * pitch];
    for (int k = 0; k < 16; k += 4) tile[x][y + k] = b[k * pitch];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
    for (int k = 0; k < 16; k++) {
      if (k % 4 == 0) a += 4 * pitch;
      SUMS(one[k % 4], tile[k])
      if (k < 12) one[k % 4] = a[(k % 4) * pitch];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  STORE_SUMS
}

/* Reduction: 64 work-groups of 256 sum all. */
kernel void reduction(global const REAL *in, global REAL *out, int n) {
  local REAL sums[256];
  int item = get_local_id(0), size = get_local_size(0), step = 2 * size * get_num_groups(0);
  sums[item] = 0;
  for (int i = 2 * size * get_group_id(0) + item; i < n; i += step) sums[item] += in[i] + in[i + size];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int rest = size / 2; rest > 0; rest /= 2) {
    if (item < rest) sums[item] += sums[item + rest];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) out[get_group_id(0)] = sums[0];
}

/* MD: Lennard-Jones forces of the neighbours of an atom, whose places are anywhere. All are within the cutoff. */
kernel void md(global REAL4 *force, global const REAL4 *places, int neighbours, global const int *list, REAL cutoff, REAL a, REAL b,
               int atoms) {
  int atom = get_global_id(0);
  REAL4 own = places[atom], sum = 0;
  for (int n = 0; n < neighbours; n++) {
    REAL4 d = own - places[list[n * atoms + atom]];
    REAL square = d.x * d.x + d.y * d.y + d.z * d.z;
    if (square < cutoff) {
      REAL inverse = 1 / square, sixth = inverse * inverse * inverse, pull = inverse * sixth * (a * sixth - b);
      sum.xyz += d.xyz * pull;
    }
  }
  force[atom] = sum;
}

/* Stencil2D: nine points; work-groups of 1 x 256 make 8 rows of 256 columns, which stand with their borders in local memory. */
kernel void stencil(global const REAL *in, global REAL *out, int pitch, REAL middle, REAL side, REAL corner) {
  local REAL tile[10][258];
  int column = get_local_id(1), row = get_group_id(0) * 8, at = row * pitch + get_group_id(1) * 256 + column;
  for (int i = 0; i < 10; i++) tile[i][column + 1] = in[at + i * pitch + 1];
  if (column == 0)
    for (int i = 0; i < 10; i++) tile[i][0] = in[at + i * pitch];
  else if (column == 255)
    for (int i = 0; i < 10; i++) tile[i][257] = in[at + i * pitch + 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 1; i < 9; i++) {
    REAL sides = tile[i - 1][column + 1] + tile[i + 1][column + 1] + tile[i][column + 2] + tile[i][column];
    REAL corners = tile[i - 1][column + 2] + tile[i + 1][column + 2] + tile[i - 1][column] + tile[i + 1][column];
    out[at + i * pitch + 1] = middle * tile[i][column + 1] + side * sides + corner * corners;
  }
}

/* Spmv. SHOC reads the vector through an image; GCN's L1 holds images and buffers, both of which its address unit takes four lanes a
   cycle of. spmv_*.il read it through texture units. */
/* Compressed sparse rows, a work-item a row. */
kernel void spmv_csr(global const REAL *values, global const REAL *vector, global const int *columns, global const int *rows,
                     global REAL *out) {
  int row = get_global_id(0), end = rows[row + 1];
  REAL sum = 0;
  for (int j = rows[row]; j < end; j++) sum += values[j] * vector[columns[j]];
  out[row] = sum;
}

/* The same, `lanes` work-items a row. */
kernel void spmv_csr_lanes(global const REAL *values, global const REAL *vector, global const int *columns,
                           global const int *rows, int lanes, global REAL *out) {
  local volatile REAL sums[128];
  int item = get_local_id(0), lane = item & (lanes - 1), row = get_group_id(0) * (get_local_size(0) / lanes) + item / lanes;
  int end = rows[row + 1];
  REAL sum = 0;
  for (int j = rows[row] + lane; j < end; j += lanes) sum += values[j] * vector[columns[j]];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int rest = lanes / 2; rest > 0; rest /= 2) {
    if (lane < rest) sums[item] += sums[item + rest];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) out[row] = sums[item];
}

/* ELLPACK-R: elements of all rows, of each row as many as it has. */
kernel void spmv_ellpackr(global const REAL *values, global const REAL *vector, global const int *columns,
                          global const int *lengths, int rows, global REAL *out) {
  int row = get_global_id(0), length = lengths[row];
  REAL sum = 0;
  for (int j = 0; j < length; j++) sum += values[j * rows + row] * vector[columns[j * rows + row]];
  out[row] = sum;
}

/* Kernels of programs: BabelStream's dot product, AMD's lab notes' finite differences and Jacobi iteration. */
kernel void dot_product(global const double *a, global const double *b, global double *sums, int count) {
  local double part[256];
  int at = get_local_id(0);
  part[at] = 0;
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) part[at] += a[i] * b[i];
  for (int n = 128; n > 0; n >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < n) part[at] += part[at + n];
  }
  if (at == 0) sums[get_group_id(0)] = part[0];
}

/* Seven points of a box whose rim stays as it is. */
kernel void laplacian(global double *f, global const double *u, int nx, int ny, int nz) {
  int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
  if (i == 0 || i >= nx - 1 || j == 0 || j >= ny - 1 || k == 0 || k >= nz - 1) return;
  int plane = nx * ny, at = i + nx * j + plane * k;
  f[at] = u[at] * -6.0 + (u[at - 1] + u[at + 1]) * 1.0 + (u[at - nx] + u[at + nx]) * 1.5 + (u[at - plane] + u[at + plane]) * 2.5;
}

/* Jacobi: the residual and the next approximation; the operator; the residual's norm. */
kernel void update(global const double *rhs, global const double *au, global double *res, global double *u) {
  size_t at = get_global_id(0);
  double r = rhs[at] - au[at];
  res[at] = r;
  u[at] += r * 0.25;
}

kernel void jacobi_laplacian(global const double *u, global double *au, int nx, int ny) {
  int i = get_global_id(0), j = get_global_id(1), at = i + nx * j;
  double here = u[at];
  double left = i > 0 ? u[at - 1] : 0, right = i < nx - 1 ? u[at + 1] : 0;
  double below = j > 0 ? u[at - nx] : 0, above = j < ny - 1 ? u[at + nx] : 0;
  au[at] = (2 * here - left - right) * 1.5 + (2 * here - below - above) * 2.5;
}

kernel void norm(global const double *res, global double *sums, int count) {
  local double part[256];
  int at = get_local_id(0);
  double sum = 0;
  for (int i = get_global_id(0); i < count; i += get_global_size(0)) sum += res[i] * res[i];
  part[at] = sum;
  for (int n = 128; n > 0; n >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < n) part[at] += part[at + n];
  }
  if (at == 0) sums[get_group_id(0)] = part[0];
}

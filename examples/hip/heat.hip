// Heat spreading over a plate: each block keeps its tile and the rim around it in shared memory.
#include <hip/hip_runtime.h>

__global__ void __launch_bounds__(256) heat(float *next, const float *now, int width, int height, float rate) {
  extern __shared__ float tile[]; // (blockDim.y + 2) rows of (blockDim.x + 2)
  const int columns = blockDim.x + 2, rows = blockDim.y + 2;
  const int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < columns * rows; i += blockDim.x * blockDim.y) {
    int x = min(max(left + i % columns, 0), width - 1), y = min(max(top + i / columns, 0), height - 1);
    tile[i] = now[y * width + x];
  }
  __syncthreads();
  const int x = left + 1 + threadIdx.x, y = top + 1 + threadIdx.y;
  if (x >= width || y >= height) return;
  const float *here = tile + (threadIdx.y + 1) * columns + threadIdx.x + 1;
  next[y * width + x] = here[0] + rate * (here[-1] + here[1] + here[-columns] + here[columns] - 4 * here[0]);
}

// The sum of all numbers: shuffles within a wavefront, one atomic operation for each.
template <typename T> __global__ void total(T *sum, const T *values, int n) {
  T own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += values[i];
  for (int d = warpSize / 2; d > 0; d /= 2) own += __shfl_down(own, d);
  if (__lane_id() == 0) atomicAdd(sum, own);
}
template __global__ void total<float>(float *, const float *, int);

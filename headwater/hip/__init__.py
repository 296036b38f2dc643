"""Input: HIP's kernel language, and CUDA's as far as it is the same. Output: LLVM IR as of OpenCL C."""

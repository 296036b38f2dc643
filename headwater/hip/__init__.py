"""HIP's kernel language, and CUDA's as far as it is the same, passes in; LLVM IR as of OpenCL C passes out."""

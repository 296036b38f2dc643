"""Input: kernels written as Python functions. Output: OpenCL C with their line numbers, or their run in plain
Python."""

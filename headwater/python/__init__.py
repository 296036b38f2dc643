"""Kernels written as Python functions pass in; OpenCL C with their line numbers, or their plain run, passes out."""

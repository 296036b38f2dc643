"""Input: OpenCL C source. Output: host code for it."""

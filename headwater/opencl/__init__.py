"""OpenCL C source passes in; host code for it passes out."""

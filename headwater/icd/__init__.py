"""Headwater as an OpenCL platform: any OpenCL host program runs on the cpu and on the simulated chips."""

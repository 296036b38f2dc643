"""The cpu device: kernels as native code of this machine."""

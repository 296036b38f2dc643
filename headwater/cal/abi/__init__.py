"""CAL's C libraries: programs linked with libaticalrt.so and libaticalcl.so run on Headwater's devices, unchanged."""

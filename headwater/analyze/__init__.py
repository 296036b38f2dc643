"""A chip and a kernel's needs pass in; what limits the kernel there passes out, without running anything."""

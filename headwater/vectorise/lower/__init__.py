"""From the plan of a chunk to the LLVM text of its function."""

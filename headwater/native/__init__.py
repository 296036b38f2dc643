"""Native code on this machine: the C compiler and linkers, the LLVM process, the threads that run it, its faults."""

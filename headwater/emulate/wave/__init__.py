"""What emulators of all instruction sets share: a wavefront's frame, memory, arithmetic, and its code by LLVM."""

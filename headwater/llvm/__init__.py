"""LLVM IR text passes in; a model of its functions, rewritten text, or object code passes out."""

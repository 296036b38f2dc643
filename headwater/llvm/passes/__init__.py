"""Passes over LLVM IR that work around what LLVM gets wrong or slow on some processor. Input, output: a module's
text."""

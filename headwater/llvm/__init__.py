"""Input: LLVM IR text. Output: a model of its functions, rewritten text, or object code."""

"""Input: one work-item's LLVM IR. Output: a function that runs a chunk of work-items at once: the cpu device's
vectoriser."""

DYNAMIC_LOCAL = "__hw_dynamic_local"
"""A variable of local memory of which each launch says the size: it lies behind all others."""

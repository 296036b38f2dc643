"""Observers of emulated code: checks, traces, statistics, and the code that reports accesses to them."""

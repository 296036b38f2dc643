"""Tests of the benchmarks: their kernels give right answers, their reports say what was measured."""

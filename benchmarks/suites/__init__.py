"""Kernels of public benchmark suites, described, to be run from checkouts of those suites."""

from benchmarks.suites.case import Case
from benchmarks.suites.polybench import CASES as POLYBENCH
from benchmarks.suites.rodinia import CASES as RODINIA
from benchmarks.suites.shoc import CASES as SHOC

CASES: tuple[Case, ...] = (*POLYBENCH, *RODINIA, *SHOC)

"""Kernels of public benchmark suites, described, to be run from checkouts of those suites."""

from verification.suites.case import Case
from verification.suites.polybench import CASES as POLYBENCH
from verification.suites.rodinia import CASES as RODINIA
from verification.suites.shoc import CASES as SHOC

CASES: tuple[Case, ...] = (*POLYBENCH, *RODINIA, *SHOC)

"""What looks on while emulated code runs: checks, traces, statistics, and what tells them of accesses."""

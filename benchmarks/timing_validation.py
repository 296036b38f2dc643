"""Simulate the rows of benchmarks/validation that have kernels, and print how far off each is.

Usage: python -m benchmarks.timing_validation [PART-OF-AN-ID …] [--open]

--open leaves out the rows that are held out: what a parameter may be fitted to.
"""

from __future__ import annotations

import statistics
import sys
import time

from headwater.analyze.accuracy import bias
from headwater.analyze.validation import Result, folder, rows
from headwater.timing.validation import simulate_row


def main() -> None:
    """Print the table."""
    words = [word for word in sys.argv[1:] if word != "--open"]
    chosen = [row for row in rows() if "kernel" in row.data and all(word in row.id for word in words)]
    if "--open" in sys.argv[1:]:
        chosen = [row for row in chosen if row.side != "held out"]
    found: list[Result] = []
    for row in chosen:
        begin = time.process_time()
        value, report = simulate_row(row.data, folder() / "kernels")
        found.append(Result(row, None, "", simulated=value))
        seconds = time.process_time() - begin
        figures = f"{row.measured:10.4g} {value:10.4g} {row.unit:8} {found[-1].simulated_error:+7.1%} {row.side:8}"
        print(f"{row.id:34} {figures} {seconds:5.1f} s  {report.bottleneck[:60]}", flush=True)
    for side in ("held out", "open", "fitted"):
        some = [result for result in found if result.row.side == side]
        if some:
            errors = [abs(result.simulated_error or 0.0) for result in some]
            within = sum(error <= 0.25 for error in errors)
            middle = statistics.median(errors)
            print(f"{side}: {len(some)} rows, median {middle:.1%}, {within} within 25 %, speed {bias(some):.3f}")


if __name__ == "__main__":
    main()

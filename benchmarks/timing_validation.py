"""Simulate the rows of benchmarks/validation that have kernels, and print how far off each is.

Usage: python -m benchmarks.timing_validation [PART-OF-AN-ID …]
"""

from __future__ import annotations

import statistics
import sys
import time
import tomllib
from pathlib import Path

from headwater.timing.validation import simulate_row

HERE = Path(__file__).parent / "validation"


def main() -> None:
    """Print the table."""
    rows = [row for file in sorted(HERE.glob("*.toml")) for row in tomllib.loads(file.read_text()).get("row", [])]
    rows = [r for r in rows if "kernel" in r and all(word in r["id"] for word in sys.argv[1:])]
    errors: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        begin = time.process_time()
        value, report = simulate_row(row, HERE / "kernels")
        error = value / row["measured"] - 1
        errors[bool(row.get("fitted"))].append(abs(error))
        seconds = time.process_time() - begin
        mark = "fitted" if row.get("fitted") else ""
        figures = f"{row['measured']:10.4g} {value:10.4g} {row['unit']:8} {error:+7.1%} {mark:7} {seconds:5.1f} s"
        print(f"{row['id']:34} {figures}  {report.bottleneck[:60]}", flush=True)
    for fitted, found in errors.items():
        if found:
            mean, median = statistics.mean(found), statistics.median(found)
            print(f"{'fitted' if fitted else 'not fitted'}: {len(found)} rows, mean {mean:.1%}, median {median:.1%}")


if __name__ == "__main__":
    main()

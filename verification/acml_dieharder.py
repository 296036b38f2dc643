"""Dieharder's tests of the generators, test by test over all of them, for as long as there is time.

    nice -n 19 python -m verification.acml_dieharder [--program dieharder] [--seconds 3600] [GENERATOR…]

Each line of dieharder's is printed: test, ntuple, samples, p-value and its assessment. A p-value that dieharder calls
WEAK (about one of a hundred is) is tried again with another seed. Test 14 (sums), which dieharder's authors say not to
use, is left out. At the end: how many tests ran, and those that failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter

# dieharder -a's tests and ntuples, those that need least numbers first
TESTS = (
    *((test, 0) for test in (100, 101, 15, 2, 3, 10, 11, 12, 13, 16, 8, 9, 0, 1, 4, 5, 6, 7, 205, 209, 206, 204, 17)),
    *((200, n) for n in range(1, 13)),
    *((201, n) for n in range(2, 6)),
    *((202, n) for n in range(2, 6)),
    (102, 0),
    (207, 0),
    (208, 0),
    *((203, n) for n in range(33)),
)
GENERATORS = ("philox", "mt19937", "mrg32k3a", "wichmann_hill")


def run(program: str, name: str, seed: int, test: int, ntuple: int) -> list[list[str]]:
    """Dieharder's lines for one test: name, ntuple, tsamples, psamples, p-value, assessment."""
    source = subprocess.Popen(
        [sys.executable, "-m", "verification.acml_random", name, "--seed", str(seed)], stdout=subprocess.PIPE
    )
    options = ["-g", "200", "-d", str(test), *(["-n", str(ntuple)] if ntuple else [])]
    try:
        found = subprocess.run([program, *options], stdin=source.stdout, capture_output=True, text=True, check=True)
    finally:
        assert source.stdout is not None
        source.stdout.close()
        source.wait()
    lines = [[part.strip() for part in line.split("|")] for line in found.stdout.splitlines()]
    return [parts for parts in lines if len(parts) == 6 and parts[1].isdigit()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generator", nargs="*", default=GENERATORS)
    parser.add_argument("--program", default="dieharder")
    parser.add_argument("--seconds", type=float, default=3600.0)
    args = parser.parse_args()
    end, done, verdicts, failed = time.monotonic() + args.seconds, 0, Counter[str](), []
    for test, ntuple in TESTS:
        for name in args.generator:
            if time.monotonic() > end:
                break
            lines, seed = run(args.program, name, 1, test, ntuple), 1
            while seed < 4 and any(line[5] == "WEAK" for line in lines):
                print(f"{name:14} {test:3} seed {seed}: {', '.join(f'{line[4]} {line[5]}' for line in lines)}")
                seed += 1
                lines = run(args.program, name, seed, test, ntuple)
            done += 1
            for line in lines:
                verdicts[line[5]] += 1
                print(f"{name:14} {test:3} {' '.join(f'{part:>12}' for part in line)}", flush=True)
                if line[5] == "FAILED":
                    failed.append(f"{name} {line[0]} {line[1]}")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{done} of {len(TESTS) * len(args.generator)} tests ran: {counts}; failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

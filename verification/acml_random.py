"""Random numbers as words of 32 bits on standard output, for test programs such as dieharder and PractRand.

    python -m verification.acml_random philox [--seed 1] | dieharder -g 200 -d 0

A word is the first 32 bits of a uniform double.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from headwater.acml.random import NAMES, Generator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    generator = Generator(args.name, args.seed)
    try:
        while True:
            words = (generator.random(1 << 20) * 2.0**32).astype(np.uint32)
            sys.stdout.buffer.write(words.tobytes())
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    main()

"""Makes the modules of this folder and of verification/ importable from the tests."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "verification")]

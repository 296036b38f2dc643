"""Input: which device to measure. Output: a table of times and ratios, made by the benchmarks' programs."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence

from headwater.cli.options import Parser, whole_from_one
from headwater.errors import HeadwaterError, UsageError

_USAGE = "[--device DEVICE] [--kernels NAME,…] [--sides NAME,…] [--rounds N] [--quick] [--json FILE]"
_DESCRIPTION = """\
Measure the speed of kernels on this machine.

On the cpu device a suite of kernels is compared with PoCL, Numba and NumPy, as far as they are installed: with
the same data, in turn in one run, after comparing the results. Medians and their ratios are printed. On an OpenCL
device, translated Brook+ kernels are compared with hand-written OpenCL C. To install the others:

  pip install "headwater[bench]"
"""
_EXAMPLES = """\
examples:
  headwater bench --quick                           small data, a minute: tests the benchmark itself
  headwater bench                                   the whole suite, some minutes
  headwater bench --kernels add,median --rounds 21
  headwater bench --device gpu --json gpu.json
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("bench", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "--device", "-d", metavar="DEVICE", action="once", default="cpu", help="cpu (the default) or an OpenCL device"
    )
    parser.add_argument("--kernels", metavar="NAME,…", help="only these kernels (cpu)")
    parser.add_argument("--sides", metavar="NAME,…", help="only these of headwater, pocl, numba, numpy, c (cpu)")
    parser.add_argument("--rounds", metavar="N", help="timed rounds")
    parser.add_argument("--quick", action="store_true", help="small data and few rounds")
    parser.add_argument("--json", metavar="FILE", help="also write everything measured to FILE")
    args = parser.parse(words)

    from headwater.data import benchmark
    from headwater.runtime.interface import resolve

    device = resolve(args.device)
    on_cpu = device.kind == "cpu"
    if not on_cpu and (args.kernels or args.sides):
        raise UsageError("--kernels and --sides choose among the benchmarks of the cpu device")
    if args.rounds is not None:
        whole_from_one(args.rounds, "--rounds")
    try:
        program = benchmark("cpu.py" if on_cpu else "gpu.py")
    except FileNotFoundError as error:
        raise UsageError(f"{error}", hint="install headwater from its wheel, or run in a checkout") from None
    command = [sys.executable, str(program)]
    if not on_cpu:
        command += ["--device", device.name]
    for option in ("kernels", "sides", "rounds", "json"):
        value = getattr(args, option)
        command += [f"--{option}", value] if value else []
    command += ["--quick"] if args.quick else []
    # In a session of its own Ctrl-C does not reach it: every process of it would tell where in its code it was.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        status = process.wait()
    except BaseException:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGTERM)  # and the processes that it has started
        else:
            process.terminate()
        process.wait()
        raise
    if status < 0:
        raise HeadwaterError(
            f"the benchmark was ended by {signal.Signals(-status).name}",
            hint=f"what it measured before is above; run {shlex.join(command)} to see more",
        )
    return status

"""Run the sample executables of AMD's Brook+ SDK on CAL's devices, and verify what they computed.

    python -m verification.amd_samples --programs DIR --libraries DIR --device hd4870 --device hd3870

DIR of the programs is searched for executables; those of the SDK 1.4.1 lie in samples/bin. DIR of the libraries has
Brook+'s run-time for them, libbrook.so and libbrook_cal.so. Each program runs with AMD's options for verifying its
results, and its launches are counted: AMD's run-time falls back to its CPU back end without saying so. A program
without such a check runs a second time on the CPU back end of the same run-time (``BRT_RUNTIME=cpu``), and has to print
and save the same: numbers within a millionth of the largest one, pixels within one step of 256.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from headwater import chips
from headwater.bridge.connection import Answer, FileAnswer, Handler, serve
from headwater.cal.abi.server.requests import Requests

CHECKED = ("-e", "-q", "-x", "64", "-y", "64")
UNCHECKED = ("-x", "64", "-y", "64")
OPTIONS = {"BinomialOptionPricing": ("-e", "-q", "-n", "64")}
"""Programs that know other options."""
CAL_ONLY = ("MonteCarlo",)
"""Programs that ask for devices of CAL, so that the back end cannot be chosen: Headwater's cpu device is the
reference, on which the same IL runs as compiled code of this machine."""
SILENT = {"mersenne_twister": "prints no results"}
"""Programs whose results nobody sees, and why: what runs to its end counts as run."""
NEED_LOCAL_MEMORY = ("lds",)
"""Programs that are not run on chips without local memory."""
UNLAUNCHED = ("create_streams", "stream_data_types")
"""Programs that launch nothing."""
PATIENCE_S = 900.0
COUNT = "HEADWATER_SAMPLES_LAUNCHES"
"""The variable that names the file with a byte for each launch."""

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)")


class Counted(Requests):
    """A server that counts launches."""

    def handlers(self) -> Mapping[str, Handler]:
        return {
            name: self._counted(handler) if name.startswith("calCtxRunProgram") else handler
            for name, handler in super().handlers().items()
        }

    def _counted(self, handler: Handler) -> Handler:
        @functools.wraps(handler)
        def counted(record: tuple[object, ...]) -> Answer | FileAnswer:
            answer = handler(record)
            assert isinstance(answer, tuple)
            if answer[0] == 0:
                with open(os.environ[COUNT], "ab") as file:
                    file.write(b".")
            return answer

        return counted


def executables(folder: Path) -> list[Path]:
    """ELF programs below a folder, in order."""

    def is_program(path: Path) -> bool:
        if not path.is_file() or not os.access(path, os.X_OK) or ".so" in path.name:
            return False
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"

    return [path for path in sorted(folder.rglob("*")) if is_program(path)]


class Ran:
    """A program's end: exit status, what it printed, the files that it wrote, how many launches CAL had."""

    def __init__(self, program: Path, options: tuple[str, ...], device: str, libraries: Path, backend: str) -> None:
        environ = {**os.environ, "LD_LIBRARY_PATH": str(libraries), "BRT_RUNTIME": backend}
        root = str(Path(__file__).parents[1])
        environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with tempfile.TemporaryDirectory() as folder:
            data = [path for path in program.parent.iterdir() if path.suffix == ".bmp" and "denoise" not in path.name]
            for path in [program, *data]:
                shutil.copy(path, folder)
            server, count = Path(folder, "server.sh"), Path(folder, "launches")
            server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {__spec__.name} --serve\n', encoding="utf-8")
            server.chmod(0o755)
            count.touch()
            environ[COUNT] = str(count)
            before = {path.name for path in Path(folder).iterdir()}
            command = [sys.executable, "-m", "headwater", "cal", "run", "--device", device, "--"]
            command += ["env", f"HEADWATER_PYTHON={server}"]
            try:
                done = subprocess.run(
                    [*command, f"./{program.name}", *options], cwd=folder, env=environ, stdin=subprocess.DEVNULL,
                    capture_output=True, timeout=PATIENCE_S, check=False,
                )  # fmt: skip
                self.status, output = done.returncode, done.stdout + done.stderr
            except subprocess.TimeoutExpired as error:
                self.status, output = -1, (error.stdout or b"") + b"\nstopped: it had not ended\n"
            self.text = output.decode(errors="replace")
            self.launches = count.stat().st_size
            self.files = {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.name not in before}

    @property
    def failed(self) -> bool:
        return self.status != 0 or re.search("fail|error", self.text, re.IGNORECASE) is not None

    @property
    def passed(self) -> bool:
        return not self.failed and re.search("pass", self.text, re.IGNORECASE) is not None


def difference(ours: Ran, theirs: Ran) -> str:
    """How the outcomes differ, or nothing."""
    words = [_NUMBER.split(ran.text) for ran in (ours, theirs)]
    if words[0] != words[1]:
        return "prints other words"
    numbers, wanted = (np.array(_NUMBER.findall(ran.text), float) for ran in (ours, theirs))
    if not np.allclose(numbers, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max(initial=0.0), equal_nan=True):
        return f"prints numbers that differ by up to {np.abs(numbers - wanted).max():.3g}"
    if sorted(ours.files) != sorted(theirs.files):
        return f"writes {sorted(ours.files)} instead of {sorted(theirs.files)}"
    for name, data in ours.files.items():
        pixels = [np.frombuffer(bytes_, np.uint8).astype(int) for bytes_ in (data, theirs.files[name])]
        if len(pixels[0]) != len(pixels[1]) or np.abs(pixels[0] - pixels[1]).max(initial=0) > 1:
            return f"writes another {name}"
    return ""


def outcome(program: Path, device: str, libraries: Path) -> tuple[str, str]:
    """A word for the table's sum, and what there is to say about it."""
    if program.name in NEED_LOCAL_MEMORY and chips.known(device) and not chips.find(device).local_memory.bytes:
        return "not run", "the chip has no local memory"
    ran = Ran(program, OPTIONS.get(program.name, CHECKED), device, libraries, "cal")
    if not ran.launches and program.name not in UNLAUNCHED:
        return "FAILED", "nothing was launched on CAL's device\n" + ran.text[-2000:]
    if ran.passed:
        return "verified", f"{ran.launches} launches"
    if ran.failed:
        return "FAILED", ran.text[-2000:]
    if program.name in SILENT:
        return "ran", SILENT[program.name]
    ran = Ran(program, UNCHECKED, device, libraries, "cal")
    if program.name in CAL_ONLY:
        reference, name = Ran(program, UNCHECKED, "cpu", libraries, "cal"), "Headwater's cpu device"
    else:
        reference, name = Ran(program, UNCHECKED, device, libraries, "cpu"), "the CPU back end"
    differs = f"exit status {ran.status}" if ran.failed else difference(ran, reference)
    seen = ", ".join(sorted(reference.files)) or f"{len(_NUMBER.findall(reference.text))} numbers"
    return ("DIFFERS", differs) if differs else ("compared", f"{seen} as by {name}")


def main() -> int:
    """Returns 1 if a program failed or differs."""
    if sys.argv[1:] == ["--serve"]:
        return serve(Counted)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, required=True, help="the folder of libbrook.so and libbrook_cal.so")
    parser.add_argument("--device", action="append", help="again for others; hd4870 by default")
    parser.add_argument("--only", action="append", default=[], help="names of programs; again for others")
    options = parser.parse_args()
    programs = [path for path in executables(options.programs) if not options.only or path.name in options.only]
    if not programs:
        parser.error(f"no programs in {options.programs}")
    wrong = 0
    for device in options.device or ["hd4870"]:
        found: Counter[str] = Counter()
        for program in programs:
            start = time.monotonic()
            word, more = outcome(program.resolve(), device, options.libraries.resolve())
            found[word] += 1
            name = program.relative_to(options.programs)
            print(f"{device} {name}: {word}{': ' * bool(more)}{more} ({time.monotonic() - start:.1f} s)", flush=True)
        print(f"{device}: {', '.join(f'{count} {word}' for word, count in found.items())}, of {len(programs)}")
        wrong += found["FAILED"] + found["DIFFERS"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

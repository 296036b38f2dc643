"""Whether programs of 32 bits get from CAL's library what programs of this machine's size get.

    python -m verification.cal_32_bits --device hd4870

The library's C is linked into the tests' programs, with a C library that is compiled first, for a minute or two: this
machine need not have one of 32 bits.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from headwater.cal.abi import library
from headwater.native import toolchain

PROGRAMS = Path(__file__).parents[1] / "tests" / "cal" / "programs"
NAMES = ("pixels", "rules")
FLAGS = ("-target", "x86-linux-musl", "-static", "-std=gnu11", "-D_FILE_OFFSET_BITS=64", '-DHEADWATER_VERSION="0"')


def compiled(folder: str, *words: str) -> None:
    done = toolchain.run(
        ["cc", "-fno-sanitize=undefined", *words],  # with Zig's run-time library, unlike `toolchain.cc`
        cwd=folder,
        environment={name: str(Path(folder, "zig")) for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")},
    )
    if done.returncode:
        raise SystemExit(f"exit status {done.returncode}: {done.stderr.decode(errors='replace')}")


def output(program: str, device: str) -> str:
    environ = {**os.environ, **library.environment(device)}
    done = subprocess.run([program], env=environ, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}exit status {done.returncode}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", action="append", help="again for others; hd4870 by default")
    devices = parser.parse_args().device or ["hd4870"]
    place, wrong = library.folder(library.machines()[0]), 0
    with tempfile.TemporaryDirectory() as folder:
        sources = library.shim().sources()
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        files = [file for file in sources if file.endswith(".c")]
        for name in NAMES:
            source = str(PROGRAMS / f"{name}.c")
            compiled(folder, *FLAGS, f"-I{folder}", f"-I{place}", source, *files, "-o", f"{name}32")
            libraries = [f"-L{place}", "-laticalrt", "-laticalcl", "-lpthread"]
            compiled(folder, f"-I{place}", source, *libraries, "-o", name)
            for device in devices:
                answers = [output(str(Path(folder, program)), device) for program in (name, f"{name}32")]
                same = answers[0] == answers[1] and answers[0].endswith("exit status 0\n")
                wrong += not same
                print(f"{device} {name}: {'the same' if same else 'differs'}")
                if not same:
                    print(*answers, sep="--\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether machine code in code objects for GCN and CDNA is decoded and printed as by LLVM's objdump.

    python -m verification.objdump --objdump llvm-objdump-22 FILE … [--jobs 2]

Each FILE is a code object, linked or not. Every instruction that objdump finds is decoded and printed here; what
differs is shown with its bytes, once for each mnemonic. Instructions with the same bytes are compared once. Exit status
1 if any differ, or none was found.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.errors import DecodeError
from headwater.isa.gcn.codeobject import load_to_read
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.printer import text

_LINE: Final = re.compile(r"^\t(.*?)\s*// [0-9A-F]{12}: ((?:[0-9A-F]{8} ?)+)", re.MULTILINE)
_SHOWN: Final = 20
"""Mnemonics whose first difference is printed."""


def listed(objdump: str, path: Path, target: str) -> Counter[tuple[str, str]]:
    """How often each pair of a text and its words (in hexadecimal) stands in a file, as objdump has it."""
    command = [objdump, "--disassemble", f"--mcpu={target}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Counter((found[1].strip(), found[2].strip()) for found in _LINE.finditer(done.stdout))


def ours(words: str, isa: str) -> str:
    """Our text for these words, or why there is none."""
    code = b"".join(int(word, 16).to_bytes(4, "little") for word in words.split())
    try:
        instruction = decode(code, 0, isa)
    except DecodeError as error:
        return f"<{error}>"
    if instruction.size_bytes != len(code):
        return f"<{instruction.size_bytes} of {len(code)} bytes>"
    return text(instruction, isa)


def same(mine: str, theirs: str) -> bool:
    """Whether two texts are equal; a branch of objdump's may name a symbol where ours has the distance."""
    if mine == theirs:
        return True
    mnemonic, _, where = theirs.partition(" ")
    return mnemonic.startswith(("s_branch", "s_cbranch")) and mine.split()[0] == mnemonic and not where.isdigit()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.objdump", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--objdump", default="llvm-objdump", help="LLVM's program (default: llvm-objdump)")
    parser.add_argument("--jobs", type=int, default=1, help="objdumps at a time (default: 1)")
    options = parser.parse_args()
    if shutil.which(options.objdump) is None:
        parser.error(f"there is no program {options.objdump}; --objdump names LLVM's")
    if missing := [str(path) for path in options.files if not path.is_file()]:
        parser.error(f"no such file: {', '.join(missing)}")
    known: dict[tuple[str, str, str], bool] = {}
    examples: dict[str, str] = {}
    total = wrong = 0

    def seen(path: Path) -> tuple[str, Counter[tuple[str, str]]]:
        target = load_to_read(path.read_bytes(), str(path)).target
        return ISA_OF_TARGET[target], listed(options.objdump, path, target)

    with ThreadPoolExecutor(options.jobs) as pool:
        for number, (isa, found) in enumerate(pool.map(seen, options.files), 1):
            for (theirs, words), count in found.items():
                key = theirs, words, isa
                if key not in known:
                    mine = ours(words, isa)
                    known[key] = same(mine, theirs)
                    if not known[key]:
                        examples.setdefault(theirs.split()[0], f"{words}: LLVM {theirs}; ours {mine}")
                total += count
                wrong += 0 if known[key] else count
            if number % 100 == 0:
                print(f"{number} files, {total:,} instructions", file=sys.stderr, flush=True)
    for example in list(examples.values())[:_SHOWN]:
        print(example)
    print(
        f"{len(options.files):,} files, {total:,} instructions, {len(known):,} different ones: {wrong:,} differ, "
        f"of {len(examples)} mnemonics"
    )
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())

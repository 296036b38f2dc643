"""How many programs of ATI IL in files are read, printed and read back, translated and compiled.

``python -m verification.il_read FILE …``

A file is IL text, or has programs between ``<![CDATA[`` and ``]]>``. AMD's ``brcc -k`` writes one of the former for
each kernel; the A2 Community's OCTK/Kernels.XML is of the latter kind. The exit status is 0 if all go the whole way.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from headwater.errors import HeadwaterError
from headwater.il.parser import parse
from headwater.il.printer import text
from headwater.il.to_opencl import to_opencl
from headwater.opencl import clang


def programs(path: Path) -> list[str]:
    content = path.read_text(encoding="latin-1")
    return re.findall(r"<!\[CDATA\[(.*?)\]\]>", content, re.DOTALL) or [content]


def main(names: list[str]) -> int:
    if not names or {"-h", "--help"} & set(names):
        print(__doc__)
        return 0 if names else 2
    for name in names:
        if not Path(name).is_file():
            print(f"there is no file {name}", file=sys.stderr)
            return 2
    whole = count = lines = 0
    seconds = 0.0
    for path in map(Path, names):
        for source in programs(path):
            count += 1
            begin = time.process_time()
            try:
                program = parse(source, str(path))
                seconds += time.process_time() - begin
                lines += source.count("\n")
                if parse(text(program)) != program:
                    print(f"{path}: reads back as another program")
                    continue
                clang.compile_to_ir(to_opencl(program, str(path)).source, f"{path.name}.cl", "")
            except HeadwaterError as error:
                print(f"{path}: {error}")
                continue
            whole += 1
    print(f"{whole} of {count} programs; {seconds / max(lines, 1) * 1e3:.3f} ms a line to read")
    return 0 if whole == count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

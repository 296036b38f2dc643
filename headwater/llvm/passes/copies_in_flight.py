"""IR of kernels with calls of async_work_group_copy in; the same, and code that tells where a copy is used before a
wait, or is never waited for, out.

Each call has a flag and the ranges that it copies. Any wait_group_events ends all copies of its work-item, as events
are not followed: what is told is wrong whatever the events are.
"""

from __future__ import annotations

import re

from headwater.llvm.ir import Module
from headwater.llvm.passes.definedness import DECLARATION, IF, file_number
from headwater.llvm.text import TELL

NEVER_WAITED, READ, WRITTEN, SOURCE_WRITTEN = range(5, 9)
"""What is wrong (`headwater.opencl.check_findings`)."""

_COPY = re.compile(r"^  [^\n]*\bcall [^\n]*?@_Z\d+async_work_group_(strided_)?copy(\w+)\((.*)\)")
_WAIT = re.compile(r"^  [^\n]*\bcall [^\n]*?@_Z\d+wait_group_events\w*\(")
_PLACE = re.compile(r"ptr addrspace\(([13])\) (?:noundef |nonnull |align \d+ )*([%@][-\w.$]+)$")
_COUNT = re.compile(r"(i32|i64) (?:noundef )?(%[-\w.$]+|\d+)$")
_ELEMENT = re.compile(r"PU3AS[13]K?(?:Dv(\d+)_)?(Dh|[a-z])")
_BYTES = {"c": 1, "a": 1, "h": 1, "s": 2, "t": 2, "Dh": 2, "i": 4, "j": 4, "f": 4, "l": 8, "m": 8, "d": 8}
_ACCESS = re.compile(r"^  (?:%\S+ = )?(load|store) .*?, ptr addrspace\(([13])\) ([%@][-\w.$]+)(?=,|$)")
_DEBUG = re.compile(r", !dbg (!\d+)")
_FUNCTION = re.compile(r"^(define [^\n]*?@(?:\"[^\"]*\"|[\w.$]+)\([^\n]*\{\n)(.*?)^\}", re.MULTILINE | re.DOTALL)


def with_copies_followed(text: str) -> str:
    """The module's text; the text itself if it copies nothing so. Functions have to be inlined already."""
    if "async_work_group_" not in text:
        return text
    module = Module(text)
    changed = _FUNCTION.sub(lambda m: f"{m[1]}{_Body(module, text, m[2]).text()}}}", text)
    return changed if changed == text or f"@{TELL}_if(i1 %bad" in text else f"{changed}\n{DECLARATION}\n{IF}\n"


class _Body:
    """One function's body."""

    def __init__(self, module: Module, text: str, body: str) -> None:
        self.module = module
        self.files = [name for name, value in module.metadata.items() if value.startswith("!DIFile(")]
        self.lines = body.splitlines()
        self.address = "i32" if "r600" in text else "i64"
        # AMD's chips have private memory in an address space of its own.
        self.private = 5 if re.search(r'^target datalayout = "[^"]*-A5', text, re.MULTILINE) else 0
        self.copies: list[tuple[str, dict[str, int]]] = []
        """Of each call: its place in the source, as `TELL` takes it; the address spaces that it is followed in."""
        self.out: list[str] = []
        self.numbers = 0

    def text(self) -> str:
        for line in self.lines:
            if match := _COPY.match(line):
                self._copy(line, match)
            elif _WAIT.match(line):
                self.out.append(line)
                self.out.append("; wait")
            else:
                self.out.append(line)
        if not self.copies:
            return "".join(f"{line}\n" for line in self.lines)
        lines, self.out = self.out, self._begin()
        entry = lines[0] if re.match(r"\S+:", lines[0]) else ""
        if entry:
            self.out.insert(0, entry)
            lines = lines[1:]
        for line in lines:
            if line == "; wait":
                for n in range(len(self.copies)):
                    self._set(n, "active", "i32", "0")
                continue
            if match := _ACCESS.match(line):
                self._access(line, match[1], match[2], match[3])
            elif line.startswith("  ret "):
                for n, (where, _) in enumerate(self.copies):
                    self._tell(self._active(n), NEVER_WAITED, where, line)
            self.out.append(line)
        return "".join(f"{line}\n" for line in self.out)

    def _begin(self) -> list[str]:
        space = f", addrspace({self.private})" if self.private else ""
        begun = []
        for n, (_, spaces) in enumerate(self.copies):
            kinds = {"active": "i32"} | {f"{side}.{end}": self.address for side in spaces for end in ("start", "end")}
            for what, kind in kinds.items():
                begun.append(f"  %hw.copy.{n}.{what} = alloca {kind}{space}")
                begun.append(f"  store {kind} 0, {self._slot(n, what)}")
        return begun

    def _slot(self, n: int, what: str) -> str:
        pointer = f"ptr addrspace({self.private})" if self.private else "ptr"
        return f"{pointer} %hw.copy.{n}.{what}"

    def _set(self, n: int, what: str, kind: str, value: str) -> None:
        self.out.append(f"  store {kind} {value}, {self._slot(n, what)}")

    def _let(self, text: str) -> str:
        self.numbers += 1
        self.out.append(f"  %hw.c.{self.numbers} = {text}")
        return f"%hw.c.{self.numbers}"

    def _copy(self, line: str, match: re.Match[str]) -> None:
        self.out.append(line)
        n = len(self.copies)
        spaces: dict[str, int] = {}
        self.copies.append((self._where(line), spaces))
        self._set(n, "active", "i32", "1")
        operands = match[3].split(", ")
        count = _COUNT.search(operands[2]) if len(operands) > 2 else None
        element = _ELEMENT.search(match[2])
        if count is None or element is None or element[2] not in _BYTES:
            return
        width = int(element[1] or 1)
        nbytes = _BYTES[element[2]] * (4 if width == 3 else width)
        number = count[2]
        if count[1] != self.address:
            number = self._let(f"{'zext' if count[1] == 'i32' else 'trunc'} {count[1]} {number} to {self.address}")
        size = self._let(f"mul {self.address} {number}, {nbytes}")
        for side, operand in zip(("target", "source"), operands[:2], strict=True):
            place = _PLACE.search(operand)
            if place is None or (match[1] and place[1] == "1"):  # what lies between is no part of a strided copy
                continue
            spaces[side] = int(place[1])
            start = self._let(f"ptrtoint ptr addrspace({place[1]}) {place[2]} to {self.address}")
            self._set(n, f"{side}.start", self.address, start)
            self._set(n, f"{side}.end", self.address, self._let(f"add {self.address} {start}, {size}"))

    def _access(self, line: str, op: str, space: str, pointer: str) -> None:
        sides = [
            (n, side)
            for n, (_, spaces) in enumerate(self.copies)
            for side, of in spaces.items()
            if of == int(space) and (side == "target" or op == "store")
        ]
        if not sides:
            return
        at = self._let(f"ptrtoint ptr addrspace({space}) {pointer} to {self.address}")
        for n, side in sides:
            start, end = (
                self._let(f"load {self.address}, {self._slot(n, f'{side}.{what}')}") for what in ("start", "end")
            )
            above = self._let(f"icmp uge {self.address} {at}, {start}")
            below = self._let(f"icmp ult {self.address} {at}, {end}")
            inside = self._let(f"and i1 {above}, {below}")
            flag = self._let(f"and i1 {inside}, {self._active(n)}")
            what = SOURCE_WRITTEN if side == "source" else READ if op == "load" else WRITTEN
            self._tell(flag, what, self._where(line), line)

    def _active(self, n: int) -> str:
        active = self._let(f"load i32, {self._slot(n, 'active')}")
        return self._let(f"icmp ne i32 {active}, 0")

    def _where(self, line: str) -> str:
        debug = _DEBUG.search(line)
        if debug is None:
            return "i32 0, i32 0, i32 0"
        node = self.module.metadata.get(debug[1], "")
        numbers = [re.search(rf"{what}: (\d+)", node) for what in ("line", "column")]
        at = [int(number[1]) if number else 0 for number in numbers]
        return f"i32 {file_number(self.module, self.files, debug[1])}, i32 {at[0]}, i32 {at[1]}"

    def _tell(self, flag: str, what: int, where: str, line: str) -> None:
        debug = _DEBUG.search(line)
        self.out.append(f"  call void @{TELL}_if(i1 {flag}, i32 {what}, {where}, i32 0){debug[0] if debug else ''}")


__all__ = ["with_copies_followed"]

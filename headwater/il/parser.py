"""Input: ATI IL text. Output: a `Program`, each operation known and each operand well formed."""

from __future__ import annotations

import difflib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from headwater.base.faults import Faults
from headwater.errors import SourceError, Span
from headwater.il.model import Function, Index, Instruction, Modifier, Operand, Program, Register
from headwater.il.refused import refusals
from headwater.il.table import RESULT_MODIFIERS, Operation, operations

_HEADER = re.compile(r"il_(ps|cs|vs|gs|hs|ds)(?:_(\d+_\d+))?$")
_WORD = re.compile(r"([A-Za-z0-9]+)(\(\s*([^()]*?)\s*\))?")
_MNEMONIC = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\([^()]*\))?(?:_[A-Za-z0-9]+(?:\([^()]*\))?)*")
_REGISTER = re.compile(r"([A-Za-z]+?)(\d*)(?![A-Za-z0-9])")
_BEHIND_A_BLANK = re.compile(rf"(?<![,|\[(+\s])[ \t]+({_MNEMONIC.pattern})(?![^ \t])")
_INDEX = re.compile(r"\s*(?:([A-Za-z]+?)(\d*)(?:\.([xyzwrgba]))?\s*(?:\+\s*)?)?(-?\d+)?\s*$")
_MODIFIER = r"_([A-Za-z][A-Za-z0-9]*)(\(([^()]*)\))?"
_MASK = re.compile(r"\.([xyzwrgba01_]+)|" + _MODIFIER)
_SWIZZLE = re.compile(r"\.([xyzwrgba01]+)|" + _MODIFIER)
_LONGEST_NUMBER = 100
"""Digits: Python reads no numbers of more than some thousands."""
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[fF]?)$")
_WHOLE = re.compile(r"(?:0[xX][0-9a-fA-F]{1,4}|[0-9]{1,5})$")
_OFFSET = re.compile(r"[+-]?[0-9]{1,4}(?:\.[0-9]*)?$")
_NUMBERED = frozenset(("resource", "sampler", "id", "lOffset"))
"""Modifiers with a number in parentheses."""
_MOST_NUMBER = 0xFFFF
"""The largest number of a register: tokens of binary IL have 16 bits for it (AMD's ILFormat.h, IL_Dst and IL_Src)."""
_LONG_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z]+)0*([1-9]\d{4,})(?![A-Za-z0-9])")
_COLOURS = str.maketrans("rgba", "xyzw")
_SOURCE_MODIFIERS = frozenset(("neg", "abs", "invert", "bias", "x2", "bx2", "sign", "sat", "clamp", "divcomp"))


def _is_operation(word: str) -> bool:
    """Whether a word is an operation's name, with or without modifiers."""
    known, pieces = operations(), _WORD.sub(r"\1", word).split("_")
    return any("_".join(pieces[:count]) in known for count in range(1, len(pieces) + 1))


def parse(text: str, filename: str = "<source>") -> Program:
    """Read a program.

    SourceError, with line and column, for whatever is not IL: unknown operations (the nearest is named), modifiers
    that an operation does not take, operands that are missing or too many. All such lines are reported.
    """
    return _Parser(text, filename).program()


@dataclass
class _Parser:
    text: str
    filename: str
    lines: list[str] = field(init=False)
    mnemonics: dict[str, tuple[Operation, list[Modifier]]] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()

    def error(self, message: str, line: int, column: int = 1, hint: str = "") -> SourceError:
        source = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return SourceError(message, Span(self.filename, line, column), hint=hint, source_line=source)

    def program(self) -> Program:
        kind = version = ""
        declarations: list[Instruction] = []
        main: list[Instruction] = []
        functions: list[Function] = []
        current: list[Instruction] = main
        function: Instruction | None = None
        over = in_functions = unread = False
        self.refuse_numbers()
        for number, start, code in self.statements():
            if over:
                self.faults.report(
                    self.error("text after the end of the program", number, start, "`end` is the last line")
                )
                break
            if not kind:
                match = _HEADER.match(code[start - 1 :].strip())
                if match is None:
                    raise self.error("an IL program starts with its kind", number, start, "il_ps_2_0 or il_cs_2_0")
                kind, version = match[1], match[2] or ""
                continue
            unread = True
            with self.faults:
                made = self.instruction(code, number, start)
                unread = False
            if unread:
                continue
            name = made.mnemonic
            if operations()[name].is_declaration:
                declarations.append(made)
            elif name == "func":
                in_functions = True
                self._close(function, current, functions)
                if any(f.number == made.values[0] for f in functions):
                    self.faults.report(self.error(f"function {made.values[0]} is defined twice", number, start))
                function, current = made, []
            elif name == "endfunc":
                if function is None:
                    self.faults.report(self.error("endfunc without func", number, start))
                self._close(function, current, functions)
                function, current = None, []
            elif name == "endmain":
                if in_functions:
                    self.faults.report(self.error("endmain after the first function", number, start))
                in_functions, current = True, []
            elif name == "end":
                over = True
            elif in_functions and function is None:
                self.faults.report(self.error(f"{name} is outside main and all functions", number, start))
            else:
                current.append(made)
        if not kind:
            raise self.error("the program is empty", 1, 1, "an IL program starts with il_ps_2_0 or il_cs_2_0")
        if not over and not unread:
            self.faults.report(
                self.error("the program has no end", max(len(self.lines), 1), 1, "its last line is `end`")
            )
        self._close(function, current, functions)
        self.faults.raise_all()
        return Program(kind, version, tuple(declarations), tuple(main), tuple(functions))

    def refuse_numbers(self) -> None:
        """Raise for the first register whose number IL does not have, before anything else is read: programs that have
        one are so large that reading takes long."""
        for found in _LONG_NUMBER.finditer(self.text):
            if len(found[2]) == len(str(_MOST_NUMBER)) and int(found[2]) <= _MOST_NUMBER:
                continue
            start = self.text.rfind("\n", 0, found.start()) + 1
            before = self.text[start : found.start()]
            if ";" in before or before.lstrip().startswith("##"):
                continue
            hint = "an array has room for more: dcl_indexed_temp_array x0[100000]" if found[1] == "r" else ""
            message = f"{found[0][:20]} is no register: IL's numbers of registers are at most {_MOST_NUMBER}"
            raise self.error(message, self.text.count("\n", 0, start) + 1, len(before) + 1, hint)

    def statements(self) -> Iterator[tuple[int, int, str]]:
        """Line, column, and the line up to the statement's end: a line may hold several, of which each but the first
        begins with an operation's name behind a blank."""
        for number, line in enumerate(self.lines, 1):
            code = line.split(";", 1)[0]
            if not code.strip() or code.lstrip().startswith("##"):
                continue
            start = len(code) - len(code.lstrip()) + 1
            for found in _BEHIND_A_BLANK.finditer(code, start - 1):
                if _is_operation(found[1]):
                    yield number, start, code[: found.start()]
                    start = found.start(1) + 1
            yield number, start, code

    def _close(self, function: Instruction | None, body: list[Instruction], functions: list[Function]) -> None:
        if function is None:
            return
        if not body or body[-1].mnemonic != "ret":
            self.faults.report(self.error(f"function {function.values[0]} does not end with ret", function.line))
        functions.append(Function(function.values[0], tuple(body[:-1]), function.line))

    # -- one line ------------------------------------------------------------------------------------------------------

    def instruction(self, code: str, line: int, start: int) -> Instruction:
        match = _MNEMONIC.match(code, start - 1)
        if match is None:
            raise self.error("an operation's name is expected here", line, start)
        known = self.mnemonics.get(match[0])
        if known is None:
            known = self.mnemonics[match[0]] = self.mnemonic(match[0], line, start)
        operation, modifiers = known[0], list(known[1])
        parts = self.split(code, match.end(), line)
        if operation.name == "dcl_global_flags":
            for word, column in parts:
                modifiers += [self.modifier(operation, flag.strip(), None, line, column) for flag in word.split("|")]
            parts = []
        while parts and parts[-1][0].startswith("_"):  # dcl_lds_sharing_mode _wavefrontRel
            word, column = parts.pop()
            modifiers.append(self.modifier(operation, word[1:], None, line, column))
        operands: list[Operand] = []
        values: list[int] = []
        wanted = ([] if not operation.has_result else ["d"]) + list(operation.sources)
        required = [letter for letter in wanted if letter != "?"]
        if not len(required) <= len(parts) <= len(wanted):
            raise self.error(
                f"{operation.name} takes {len(required)} operands, {len(parts)} given",
                line,
                parts[len(wanted)][1] if len(parts) > len(wanted) else start,
            )
        for letter, (word, column) in zip(wanted, parts, strict=False):
            if letter in "#?":
                values.append(self.number(word, line, column))
            else:
                written = letter == "d" or operation.is_declaration
                operands.append(self.operand(word, line, column, is_destination=written))
        return Instruction(operation.name, tuple(modifiers), tuple(operands), tuple(values), line, start)

    def mnemonic(self, word: str, line: int, column: int) -> tuple[Operation, list[Modifier]]:
        """The operation that a word means, the longest name that fits, and the modifiers behind it."""
        known = operations()
        pieces = list(_WORD.finditer(word))
        for count in range(len(pieces), 0, -1):
            if any(piece[2] for piece in pieces[: count - 1]):
                continue
            name = "_".join(piece[1] for piece in pieces[:count])
            if name in refusals():
                why, hint = refusals()[name]
                raise self.error(f"{name} is not supported: {why}", line, column, hint)
            operation = known.get(name) if not pieces[count - 1][2] else None
            if operation is not None:
                modifiers = [self.modifier(operation, p[1], p[3], line, column + p.start()) for p in pieces[count:]]
                return operation, modifiers
        plain = re.sub(r"\([^()]*\)", "", word)
        near = difflib.get_close_matches(plain, known, n=1)
        raise self.error(f"unknown operation {plain}", line, column, f"did you mean {near[0]}?" if near else "")

    def modifier(self, operation: Operation, name: str, arguments: str | None, line: int, column: int) -> Modifier:
        allowed = operation.modifiers | (RESULT_MODIFIERS if operation.has_result else frozenset())
        if name not in allowed:
            listing = ", ".join(sorted(operation.modifiers)) or "none of its own"
            raise self.error(
                f"{operation.name} has no modifier _{name}",
                line,
                column,
                f"the modifiers of {operation.name}: {listing}",
            )
        parts = tuple(part.strip() for part in arguments.split(",")) if arguments else ()
        if name in _NUMBERED and not (len(parts) == 1 and _WHOLE.match(parts[0])):
            raise self.error(f"_{name} takes a number, as in _{name}(1)", line, column)
        if name == "aoffimmi" and not (1 <= len(parts) <= 3 and all(_OFFSET.match(part) for part in parts)):
            raise self.error("_aoffimmi takes one to three numbers, as in _aoffimmi(1,-1,0)", line, column)
        return Modifier(name, parts)

    def split(self, code: str, start: int, line: int) -> list[tuple[str, int]]:
        """The operands behind the mnemonic, at the commas outside of brackets, each with its column."""
        parts: list[tuple[str, int]] = []
        depth, begin = 0, start
        for position in range(start, len(code) + 1):
            mark = code[position] if position < len(code) else ","
            if mark in "[(":
                depth += 1
            elif mark in ")]":
                depth -= 1
                if depth < 0:
                    raise self.error(f"unmatched {mark}", line, position + 1)
            elif mark == "," and depth == 0:
                word = code[begin:position]
                text = word.strip()
                if text or parts or position < len(code):
                    column = begin + len(word) - len(word.lstrip()) + 1
                    if not text:
                        raise self.error("an operand is missing", line, position + 1)
                    # Modes follow their declaration after a blank: dcl_lds_sharing_mode _wavefrontRel.
                    parts.append((text, column))
                begin = position + 1
        if depth:
            raise self.error("a bracket is not closed", line, start + 1)
        return parts

    def number(self, word: str, line: int, column: int) -> int:
        """The 32 bits of a number: hexadecimal and whole ones as they are, those with a point as a float's."""
        if not _NUMBER.match(word):
            raise self.error(f"a number is expected, not {word[:40]!r}", line, column)
        if re.match(r"[+-]?0[xX]", word) or not re.search(r"[.eEfF]", word):
            base = 16 if "x" in word.lower() else 10
            value = int(word, base) if len(word) < _LONGEST_NUMBER else 1 << 32
            if not -(1 << 31) <= value < 1 << 32:
                raise self.error(f"{word[:_LONGEST_NUMBER]} does not fit 32 bits", line, column)
            return value & 0xFFFFFFFF
        try:
            return int(struct.unpack("<I", struct.pack("<f", float(word.rstrip("fF"))))[0])
        except OverflowError:
            raise self.error(f"{word} is beyond a float's range", line, column) from None

    def operand(self, word: str, line: int, column: int, *, is_destination: bool) -> Operand:
        match = _REGISTER.match(word)
        if match is None:
            raise self.error(f"a register is expected, not {word[:40]!r}", line, column)
        index: Index | None = None
        end = match.end()
        if end < len(word) and word[end] == "[":
            close = word.find("]", end)
            if close < 0:
                raise self.error("a bracket is not closed", line, column + end)
            index = self.index(word[end + 1 : close], line, column + end + 1)
            end = close + 1
        lanes, modifiers = "", []
        while end < len(word):
            suffix = (_MASK if is_destination else _SWIZZLE).match(word, end)
            if suffix is None:
                raise self.error(f"cannot read {word[end:][:20]!r} here", line, column + end)
            if suffix[1] is not None:
                if lanes:
                    raise self.error("two swizzles or masks", line, column + end)
                lanes = (
                    self.mask(suffix[1], line, column + end)
                    if is_destination
                    else self.swizzle(suffix[1], line, column + end)
                )
            else:
                name = suffix[2].lower()
                if is_destination or name not in _SOURCE_MODIFIERS:
                    what = "destination" if is_destination else "source"
                    raise self.error(f"a {what} has no modifier _{suffix[2]}", line, column + end)
                letters = (suffix[4] or "").translate(_COLOURS)
                if name in ("neg", "divcomp") and letters and not (set(letters) <= set("xyzw") or name == "divcomp"):
                    raise self.error(f"_{name} takes the lanes it is for, as in _{name}(xyzw)", line, column + end)
                modifiers.append(Modifier(name, (letters,) if letters else ()))
            end = suffix.end()
        register = Register(match[1], int(match[2]) if match[2] else None, index)
        return Operand(register, lanes, tuple(modifiers), column)

    def index(self, text: str, line: int, column: int) -> Index:
        match = _INDEX.match(text)
        if match is None or not text.strip():
            raise self.error(f"cannot read the index [{text}]", line, column, "write [3], [r1.x] or [r1.x + 3]")
        offset = int(match[4]) if match[4] else 0
        if match[1] is None:
            return Index(None, "", offset)
        register = Register(match[1], int(match[2]) if match[2] else None)
        return Index(register, (match[3] or "x").translate(_COLOURS), offset)

    def swizzle(self, text: str, line: int, column: int) -> str:
        letters = text.translate(_COLOURS)
        if len(letters) > 4 or "_" in letters:
            raise self.error(f"a swizzle has one to four of the letters x y z w 0 1, not {text!r}", line, column)
        return letters + letters[-1] * (4 - len(letters))

    def mask(self, text: str, line: int, column: int) -> str:
        """A destination's mask in its positional form: ``xy`` is ``xy__``, ``z`` is ``__z_``."""
        letters = text.translate(_COLOURS)
        wrong = self.error(
            f"a mask has the letters x y z w in this order, not {text!r}", line, column, "write .xy or .x__w"
        )
        if len(letters) == 4:
            if any(got not in (want, "_", "0", "1") for got, want in zip(letters, "xyzw", strict=True)):
                raise wrong
            return letters
        if len(letters) > 4:
            raise wrong
        if all(got in (want, "_", "0", "1") for got, want in zip(letters, "xyzw", strict=False)):
            return letters + "_" * (4 - len(letters))
        named = [letter for letter in letters if letter != "_"]
        if sorted(set(named), key="xyzw01".index) != named or not set(named) <= set("xyzw"):
            raise wrong
        return "".join(letter if letter in named else "_" for letter in "xyzw")

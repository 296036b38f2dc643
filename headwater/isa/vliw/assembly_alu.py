"""Input: the lines of one ALU group. Output: the group with its literals in their places."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import Any

from headwater.chips.vliw_isas import TRAITS
from headwater.isa.vliw import names, table
from headwater.isa.vliw.model import ALU_KINDS, KCACHE_STARTS, LITERAL, PS, PV, ZERO, AluGroup, AluOp, Row, Source, T
from headwater.isa.vliw.scan import MOST_DIGITS, WORD, Scanner

_NAMES = {name: number for number, name in names.SOURCES.items()} | {"0.5f": 252, "0": ZERO}
_NUMERAL = re.compile(r"-?(?:0[xX][0-9A-Fa-f]+|\d+\.\d+_[LM]|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?f?)")
_NAMED = re.compile(r"Q[AB](?:\.pop)?(?![A-Za-z_0-9])|[A-Z][A-Za-z_]*(?:[A-Z]|LO|HI)(?![A-Za-z_0-9])")
_NUMBERED = re.compile(r"(R|T|SR|C|PV|PS|Param|SEL)(\d{0,9})(?![A-Za-z_0-9])")
_WINDOW = re.compile(r"KC([0-3])\[(\d{1,4})\]")
_LITERAL = re.compile(r"\(\s*0[xX]([0-9A-Fa-f]{1,8})\s*(?:,[^()]*)?\)")
_INDEX = re.compile(r"\[(A0\.[xyzw]|AR\.[xyzw]|AL|MODE[5-7])\]")
_OUTPUT = re.compile(r"\*[24]|/2")
_MASK_OP = re.compile(r"\((?:DEACTIVATE|BREAK|CONTINUE|KILL)\)")
_PREDICATE = re.compile(r"\((!?p)\)")
_SWIZZLES = {
    **{name: n for n, name in enumerate(names.VECTOR_SWIZZLES) if name},
    **{name: n for n, name in enumerate(names.SCALAR_SWIZZLES) if name},
    "VEC_012": 0,
    "SCL_210": 0,
}
_ANY_CHANNEL = -1


class OpenGroup:
    """A group whose lines are being read; ``s`` and ``at`` are its first line and column."""

    def __init__(self, generation: str, s: Scanner, at: int) -> None:
        self.generation = generation
        self.first = (s, at)
        self.ops: list[AluOp] = []
        self.literals: dict[int, int] = {}
        self._floating: list[tuple[int, int]] = []
        """Literals without a place: the index of the operation, and of its source."""

    def add(self, s: Scanner, slot: int) -> None:
        """The operation behind the slot's letter and colon."""
        op = _Operation(self, s, slot).parse()
        self._floating += [
            (len(self.ops), n) for n, source in enumerate(op.sources) if source.sel == LITERAL and source.chan < 0
        ]
        self.ops.append(op)

    def literal(self, s: Scanner, place: int, bits: int, at: int) -> None:
        """A literal with a place of its own."""
        if self.literals.setdefault(place, bits) != bits:
            shown = f"0x{self.literals[place]:08X}"
            s.fail(f"the group's literal {names.CHANNELS[place]} is {shown} already", at)

    def close(self) -> AluGroup:
        """The group; SourceError where it has more than four literals."""
        for index, number in self._floating:
            op = self.ops[index]
            source = op.sources[number]
            place = next((n for n, value in self.literals.items() if value == source.literal), None)
            if place is None:
                place = next((n for n in range(4) if n not in self.literals), None)
            if place is None:
                self.first[0].fail("a group has room for four literals", self.first[1])
            assert source.literal is not None
            self.literals[place] = source.literal
            sources = (replace(s, chan=place) if n == number else s for n, s in enumerate(op.sources))
            self.ops[index] = replace(op, sources=tuple(sources))
        # The text does not say what channel a masked operation in t is for: one that makes it go there.
        taken = [op.slot for op in self.ops if op.slot != T]
        for index, op in enumerate(self.ops):
            if op.dst_chan == _ANY_CHANNEL:
                chosen = taken[0] if taken and op.row.slots[self.generation] == "any" else 0
                self.ops[index] = replace(op, dst_chan=chosen)
        used = [source.chan for op in self.ops for source in op.sources if source.sel == LITERAL]
        count = max((chan // 2 * 2 + 2 for chan in used), default=0)
        return AluGroup(tuple(self.ops), tuple(self.literals.get(n, 0) for n in range(count)))


class _Operation:
    """One operation's line."""

    def __init__(self, group: OpenGroup, s: Scanner, slot: int) -> None:
        self.group, self.s, self.slot = group, s, slot
        self.generation = group.generation
        self.traits = TRAITS[group.generation]
        self.values: dict[str, Any] = {"slot": slot, "dst_chan": slot if slot != T else _ANY_CHANNEL}
        self.sources: list[Source] = []

    def parse(self) -> AluOp:
        s = self.s
        s.blanks()
        at = s.at
        row = self._row()
        has_destination = row.result is not None and row.kind != "LDS"
        self.values["write"] = False
        if has_destination:
            self._destination()
        for n in range(row.nsrc):
            if n or has_destination:
                s.expect(",")
            self.sources.append(self._source())
        while not s.done():
            self._word(row)
        while len(self.sources) > row.nsrc and self.sources[-1] == Source(0):
            self.sources.pop()
        if row.kind == "OP3" and not self.values["write"]:
            s.fail(f"{row.mnemonic} always writes its result", at)
        return AluOp(row, sources=tuple(self.sources), **self.values)

    def _row(self) -> Row:
        s = self.s
        at = s.at
        name = s.match(WORD)
        for kind in ALU_KINDS:
            row = table.named(self.generation, kind, name)
            if row is not None:
                break
        else:
            s.fail(f"{self.generation} has no ALU operation {name or s.text[at:].strip()}", at)
        modifier = s.match(_OUTPUT)
        if modifier:
            if row.kind != "OP2":
                s.fail(f"{row.mnemonic} has no output modifier", at)
            self.values["omod"] = names.OUTPUT_MODIFIERS.index(modifier)
        s.take(":")
        return row

    # ---- operands

    def _destination(self) -> None:
        s = self.s
        s.blanks()
        at = s.at
        if s.take("____"):
            return
        source = self._register_operand(at)
        if source is None or source.sel > 127:
            s.fail("expected a destination: a register with its channel, or ____", at)
        self.values |= {"write": True, "dst_gpr": source.sel, "dst_rel": source.rel}
        if self.slot != T and source.chan != self.slot:
            s.fail(f"slot {names.CHANNELS[self.slot]} writes channel {names.CHANNELS[self.slot]}", at)
        self.values["dst_chan"] = source.chan

    def _source(self) -> Source:
        s = self.s
        s.blanks()
        at = s.at
        numeral = s.match(_NUMERAL)
        if numeral:
            return self._numeral(numeral, at)
        negative = s.take("-")
        magnitude = s.take("|")
        s.blanks()
        inner = s.at
        parenthesised = not _LITERAL.match(s.text, s.at) and s.take("(")
        numeral = s.match(_NUMERAL)
        source = self._numeral(numeral, inner) if numeral else self._register_operand(inner) or self._other(inner)
        if parenthesised:
            s.expect(")")
        if magnitude:
            s.expect("|")
        return replace(source, neg=negative != source.neg, abs=magnitude)

    def _numeral(self, text: str, at: int) -> Source:
        """An inline constant, or a literal without its bits."""
        s = self.s
        for name, negative in ((text, False), (text[1:], True)):
            if name in _NAMES and (not negative or text[0] == "-"):
                rel = self._index()
                return Source(_NAMES[name], self._channel(needed=False), neg=negative, rel=rel)
        if text.endswith(("_L", "_M")) or len(text) > 2 * MOST_DIGITS:
            s.fail(f"{text} is not a constant", at)
        try:
            if "x" in text.lower() or not re.search(r"[.eEf]", text):
                value = int(text, 0 if "x" in text.lower() else 10)
                if not -(1 << 31) <= value < 1 << 32:
                    s.fail(f"{text} has more than 32 bits", at)
                bits = value & 0xFFFFFFFF
            else:
                bits = int.from_bytes(struct.pack("<f", float(text.rstrip("f"))), "little")
        except (ValueError, OverflowError):
            s.fail(f"{text} is not a number of 32 bits", at)
        return Source(LITERAL, -1, literal=bits)

    def _register_operand(self, at: int) -> Source | None:
        """A register, a constant or a previous result."""
        s = self.s
        window = _WINDOW.match(s.text, s.at)
        if window:
            s.at = window.end()
            number, index = int(window[1]), int(window[2])
            if index > 31 or number >= self.traits.constant_windows:
                s.fail("a window of constants has 32; R600 and R700 have two", at)
            rel = self._index()
            return Source(KCACHE_STARTS[number] + index, self._channel(), rel=rel)
        found = _NUMBERED.match(s.text, s.at)
        if found is None:
            return None
        kind, digits = found[1], found[2]
        if not digits and kind not in ("PV", "PS"):
            return None
        s.at = found.end()
        number = int(digits or 0)
        if kind in ("PV", "PS"):
            rel = self._index()
            return Source(PV if kind == "PV" else PS, self._channel(needed=kind == "PV"), rel=rel)
        first, most = {"R": (0, 127), "SR": (0, 127), "C": (256, 255), "Param": (448, 31), "SEL": (0, 511)}.get(
            kind, (127, 3)
        )
        if number > most:
            s.fail(f"{kind}{number}: {self.generation} has {most + 1}", at)
        if kind == "SR":
            indexed = s.take("[A0.x]")
            self._index_mode(names.SHARED_INDEXED if indexed else names.SHARED, at)
            return Source(number, self._channel(), rel=True)
        rel = self._index()
        sel = 127 - number if kind == "T" else first + number
        return Source(sel, self._channel(needed=kind != "SEL"), rel=rel)

    def _other(self, at: int) -> Source:
        """A literal with its bits, or a named source."""
        s = self.s
        literal = _LITERAL.match(s.text, s.at)
        if literal:
            s.at = literal.end()
            rel = self._index()
            bits = int(literal[1], 16)
            if not s.take("."):
                return Source(LITERAL, -1, literal=bits)
            place = s.channel("the literal's place")
            self.group.literal(s, place, bits, at)
            return Source(LITERAL, place, rel=rel, literal=bits)
        name = s.match(_NAMED)
        if name not in _NAMES:
            s.fail(f"expected an operand, not {s.text[at:].split(',')[0].strip() or 'the end of the line'}", at)
        rel = self._index()
        return Source(_NAMES[name], self._channel(needed=False), rel=rel)

    def _channel(self, *, needed: bool = True) -> int:
        s = self.s
        if not needed and not (s.text.startswith(".", s.at) and s.text[s.at + 1 : s.at + 2] in tuple("xyzw")):
            return 0
        if not s.take("."):
            s.fail("expected a channel: .x, .y, .z or .w")
        return s.channel("a channel")

    def _index(self) -> bool:
        s = self.s
        at = s.at
        found = _INDEX.match(s.text, s.at)
        if not found:
            return False
        s.at = found.end()
        word = found[1].replace("AR.", "A0.")
        self._index_mode(names.INDEX_MODES.index(word) if word in names.INDEX_MODES else int(word[4:]), at)
        return True

    def _index_mode(self, mode: int, at: int) -> None:
        if self.values.setdefault("index_mode", mode) != mode:
            self.s.fail("an operation has one index for all its operands", at)

    # ---- what stands behind the operands

    def _word(self, row: Row) -> None:
        s, values = self.s, self.values
        s.blanks()
        at = s.at
        predicate = s.match(_PREDICATE)
        if predicate:
            values["pred_sel"] = names.PREDICATES.index(predicate)
            return
        word = s.match(WORD)
        if word == "CLAMP" and row.kind != "LDS":
            values["clamp"] = True
        elif word in _SWIZZLES:
            values["bank_swizzle"] = _SWIZZLES[word]
        elif word == "UPDATE_EXEC_MASK" and row.kind == "OP2":
            values["update_exec_mask"] = True
            operation = s.match(_MASK_OP)
            if operation and operation != "(DEACTIVATE)":
                if not self.traits.has_mask_operations:
                    s.fail(f"{self.generation} has no operation on the mask", at)
                values["omod"] = names.MASK_OPS.index(operation)
        elif word == "UPDATE_PRED" and row.kind == "OP2":
            values["update_pred"] = True
        elif word == "FOG_MERGE" and self.traits.has_fog_merge and row.kind == "OP2":
            values["fog_merge"] = True
        elif word in ("PRED_SEL_ZERO", "PRED_SEL_ONE", "PRED_SEL_OFF"):
            values["pred_sel"] = {"PRED_SEL_ZERO": 2, "PRED_SEL_ONE": 3}.get(word, 0)
        elif word in _NUMBERS and (word != "OFFSET" or row.kind == "LDS"):
            name, most = _NUMBERS[word]
            s.expect("(")
            values[name] = s.integer(word, most)
            s.expect(")")
        elif word in ("DST", "WRITE") and row.kind == "OP2":
            self._hidden_destination(word)
        elif re.fullmatch("SRC[012]", word) and int(word[3]) >= row.nsrc and (word != "SRC2" or row.kind != "OP2"):
            s.expect("(")
            self.sources += [Source(0)] * (int(word[3]) - len(self.sources))
            self.sources.append(self._source())
            s.expect(")")
        elif word == "LITERAL":
            s.expect("(")
            s.blanks()
            place = s.channel("the literal's place")
            s.expect(",")
            self.group.literal(s, place, s.integer("the literal"), at)
            s.expect(")")
        else:
            s.fail(f"{row.mnemonic} has no property {word or s.text[at:].partition(' ')[0]}", at)

    def _hidden_destination(self, word: str) -> None:
        """The register of a masked destination, or of an operation that has no result."""
        s, values = self.s, self.values
        s.expect("(")
        s.expect("R")
        values["dst_gpr"] = s.integer("a register", 127)
        values["dst_rel"] = s.take("[REL]")
        values["write"] = word == "WRITE"
        s.expect(")")


# Word -> field, its largest value.
_NUMBERS = {
    "OFFSET": ("lds_offset", 63),
    "BANK_SWIZZLE": ("bank_swizzle", 7),
    "PRED_SEL": ("pred_sel", 3),
    "DST_CHAN": ("dst_chan", 3),
    "INDEX_MODE": ("index_mode", 7),
}

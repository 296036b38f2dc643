"""Input: text in the style of the vendor's disassembler. Output: the ``Shader`` that it describes.

Numbers in front of CF instructions are labels, to which jumps go; those of groups and fetches, and behind PV and PS,
are not looked at. ADDR of clauses is kept where all clauses still fit (each CNT is what the clause has), and computed
else; both may be left out. Literals may be written without their bits, ``1.5f`` or ``12``: they get a free place.
Comments begin with ``;`` or ``//``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from headwater.chips.vliw_isas import TRAITS
from headwater.errors import SourceError, Span
from headwater.isa.vliw import names, table
from headwater.isa.vliw.assembly_alu import OpenGroup
from headwater.isa.vliw.encode import EncodeError, clause_words, encode
from headwater.isa.vliw.encodings import FIELD_NAMES, form
from headwater.isa.vliw.model import (
    FETCH_KINDS,
    SLOT_NAMES,
    AluGroup,
    Cf,
    Fetch,
    Row,
    Shader,
)
from headwater.isa.vliw.scan import MOST_DIGITS, NUMBER, WORD, Scanner

_FIELD_OF_WORD = {word: name for name, word in (*names.FLAGS.items(), *names.FIELD_WORDS.items())} | {
    "BRSTCNT": "burst_count",
    "VPM": "valid_pixel_mode",
}
_COMMENT = re.compile(r";.*|//.*")


def parse(text: str, generation: str, filename: str = "<assembly>") -> Shader:
    """The shader that ``text`` says. Raises SourceError with line and column."""
    parser = _Parser(generation, filename)
    for number, line in enumerate(text.splitlines(), 1):
        parser.line(Scanner(_COMMENT.sub("", line).rstrip(), line, filename, number))
    return parser.finish()


@dataclass
class _Clause:
    """A CF instruction under construction; ``open`` is the group whose lines are being read."""

    row: Row
    fields: dict[str, int]
    label: int
    target: int | None
    scanner: Scanner
    at: int
    address: int | None = None
    count: int | None = None
    groups: list[AluGroup] = field(default_factory=list)
    fetches: list[Fetch] = field(default_factory=list)
    open: OpenGroup | None = None


class _Parser:
    def __init__(self, generation: str, filename: str) -> None:
        self.generation = generation
        self.filename = filename
        self.clauses: list[_Clause] = []
        self.ended: Scanner | None = None

    # ---- lines

    def line(self, s: Scanner) -> None:
        if s.done():
            return
        start = s.at
        if s.take_word("END_OF_PROGRAM"):
            if not self.clauses:
                s.fail("END_OF_PROGRAM has no instruction before it", start)
            self.ended = s
            self._nothing_more(s)
            return
        if self.ended is not None:
            s.fail("nothing can follow END_OF_PROGRAM", start)
        if s.text[s.at] in SLOT_NAMES and s.text.startswith(":", s.at + 1):
            self._op_line(s)
            return
        numbered = s.match(NUMBER)
        if not numbered:
            self._continuation(s, start)
            return
        s.blanks()
        if s.at + 1 < len(s.text) and s.text[s.at] in SLOT_NAMES and s.text[s.at + 1] == ":":
            self._close_group()
            self._op_line(s)
            return
        at = s.at
        word = s.match(WORD)
        row = self._fetch_row(word) if self.clauses else None
        if row is not None:
            self._close_group()
            self._fetch_line(s, row)
            return
        if len(numbered) > MOST_DIGITS:
            s.fail("the instruction's number is too long", start)
        self._close_group()
        self._cf_line(s, word, at, int(numbered, 0 if "x" in numbered.lower() else 10))

    @staticmethod
    def _nothing_more(s: Scanner) -> None:
        if not s.done():
            s.fail("nothing is expected here")

    def finish(self) -> Shader:
        self._close_group()
        labels: dict[int, int] = {}
        for index, clause in enumerate(self.clauses):
            if clause.label in labels:
                clause.scanner.fail(f"another CF instruction has the number {clause.label:02}", 0)
            labels[clause.label] = index
        if not self.clauses:
            raise SourceError("there is no instruction", Span(self.filename, 1, 1))
        labels.setdefault(max(labels) + 1, len(self.clauses))
        if self.ended is not None and "end_of_program" in form(self.generation, self.clauses[-1].row.kind):
            self.clauses[-1].fields["end_of_program"] = 1
        made = [self._finished(clause, labels) for clause in self.clauses]
        counts = [
            (c.count, clause_words(cf) if cf.groups else len(cf.fetches))
            for c, cf in zip(self.clauses, made, strict=True)
        ]
        if any(said is not None and said != actual for said, actual in counts):
            made = [replace(cf, address=None) for cf in made]
        shader = Shader(self.generation, tuple(made))
        try:
            encode(shader)
        except EncodeError as error:
            clause = self.clauses[max(error.cf, 0)]
            clause.scanner.fail(error.message.partition(": ")[2] or error.message, clause.at)
        return shader

    def _finished(self, clause: _Clause, labels: Mapping[int, int]) -> Cf:
        if clause.target is not None:
            if clause.target not in labels:
                clause.scanner.fail(f"there is no CF instruction {clause.target:02} to go to", clause.at)
            clause.fields["addr"] = labels[clause.target]
        has_clause = not clause.row.flags.isdisjoint(("alu", "tex", "vtx", "gds"))
        if has_clause and not clause.groups and not clause.fetches:
            clause.scanner.fail(f"the clause of {clause.row.mnemonic} is empty", clause.at)
        return Cf(clause.row, clause.fields, tuple(clause.groups), tuple(clause.fetches), clause.address)

    # ---- control flow

    def _cf_line(self, s: Scanner, word: str, at: int, label: int) -> None:
        row, fields = self._cf_row(word)
        if row is None:
            s.fail(f"{self.generation} has no control-flow instruction {word or s.text[s.at :].strip()}", at)
        clause = _Clause(row, fields, label, None, s, at)
        self.clauses.append(clause)
        fields["barrier"] = 1
        s.take(":")
        if row.kind == "EXPORT":
            self._export(s, fields)
        elif row.kind == "MEM":
            self._memory(s, fields)
        elif row.kind == "RAT":
            self._rat(s, fields)
        if ("loop" in row.flags or "endloop" in row.flags) and s.take("i"):
            fields["cf_const"] = s.integer("the loop constant", 31)
        while not s.done():
            self._cf_word(s, clause)
        if "barrier" not in form(self.generation, row.kind):
            fields.pop("barrier")

    def _cf_row(self, word: str) -> tuple[Row | None, dict[str, int]]:
        """The row, and what the mnemonic says beside it."""
        for kind in ("CF", "CF_ALU", "EXPORT", "GWS"):
            row = table.named(self.generation, kind, word)
            if row is not None and (kind != "CF_ALU" or "alu" in row.flags):
                return row, {}
        types = TRAITS[self.generation].write_types
        for number in sorted(range(4), key=lambda n: -len(types[n])):
            row = table.named(self.generation, "MEM", word.removesuffix(f"_{types[number]}"))
            if row is not None and word.endswith(f"_{types[number]}"):
                return row, {"type": number}
        if "RAT" not in word or not TRAITS[self.generation].has_random_access_targets:
            return None, {}
        stem, type_ = (word[:-4], 3) if word.endswith("_ACK") else (word, 1)
        for name in ("MEM_RAT_COMBINED_CACHELESS", "MEM_RAT_COMBINED", "MEM_RAT_CACHELESS", "MEM_RAT"):
            row = table.named(self.generation, "RAT", name)
            if row is None or not stem.startswith(f"{name}_"):
                continue
            operation = stem[len(name) + 1 :]
            known = table.named(self.generation, "RAT_INST", operation)
            if known is not None:
                return row, {"type": type_, "rat_inst": known.opcodes[self.generation]}
            if re.fullmatch(r"RAT_INST\d{1,2}", operation):
                return row, {"type": type_, "rat_inst": int(operation[8:])}
        return None, {}

    def _cf_word(self, s: Scanner, clause: _Clause) -> None:
        fields, row = clause.fields, clause.row
        s.blanks()
        at = s.at
        if row.name == "WAIT_ACK" and s.take("Outstanding_acks"):
            s.expect("<=")
            fields["addr"] = s.integer("a number of writes")
            return
        if row.name == "POP" and s.take("("):
            fields["pop_count"] = s.integer("a number of entries")
            s.expect(")")
            return
        s.take(",")
        word = s.match(WORD)
        if word in ("ADDR", "FAIL_JUMP_ADDR", "PASS_JUMP_ADDR"):
            s.expect("(")
            value = None if s.take(")") else s.integer("an address", 0xFFFFFFFF)
            if value is not None:
                s.expect(")")
            self._address(s, clause, value, at)
        elif word == "CNT" and not row.flags.isdisjoint(("alu", "tex", "vtx", "gds")):
            s.expect("(")
            if not s.take(")"):
                clause.count = s.integer("a count")
                s.expect(")")
        elif re.fullmatch("KCACHE[0-3]", word):
            self._kcache(s, fields, int(word[-1]), at)
        elif word == "NO_BARRIER":
            fields["barrier"] = 0
        elif word == "EXTENDED":
            fields["extended"] = 1
        elif word == "DIRECT" and row.kind == "RAT":
            fields["type"] &= 2
        elif word == "END_OF_PROGRAM":
            fields["end_of_program"] = 1
        elif word == "CND":
            fields["cond"] = self._choice(s, names.CONDITIONS[1:]) + 1
        elif row.kind in ("MEM", "RAT") and word == "ARRAY_SIZE":
            s.expect("(")
            fields["arr_size"] = s.integer("the array's size")
            if s.take(","):
                fields["elem_size"] = s.integer("the element's dwords") - 1
            s.expect(")")
        else:
            self._field(s, word, fields, row, at)

    def _address(self, s: Scanner, clause: _Clause, value: int | None, at: int) -> None:
        if clause.row.kind == "CF_ALU" or not clause.row.flags.isdisjoint(("tex", "vtx", "gds")):
            clause.address = value
        elif value is None:
            s.fail("expected an address", at)
        elif "target" in clause.row.flags:
            clause.target = value
        else:
            clause.fields["addr"] = value

    def _choice(self, s: Scanner, choices: tuple[str, ...], pattern: str = r"[A-Za-z0-9_]+") -> int:
        """``(WORD)``: which of the words it is."""
        s.expect("(")
        s.blanks()
        at = s.at
        word = s.match(re.compile(pattern))
        if word not in choices:
            s.fail(f"expected one of {', '.join(choices)}", at)
        s.expect(")")
        return choices.index(word)

    def _field(self, s: Scanner, word: str, fields: dict[str, int], row: Row, at: int) -> None:
        """``NAME(value)``, or ``NAME`` of a field of one bit."""
        name = _FIELD_OF_WORD.get(word, word.lower())
        places = form(self.generation, row.kind)
        if word == "WHOLE_QUAD":
            name = "whole_quad_mode" if "whole_quad_mode" in places else "fetch_whole_quad"
        extends = fields.get("extended") and row.kind == "CF_ALU" and "CF_ALU_EXT" in _kinds(self.generation)
        known = name in places or (extends and name in form(self.generation, "CF_ALU_EXT"))
        if not word or (name not in FIELD_NAMES and name != "reserved") or not (known or name == "reserved"):
            shown = word or s.text[at:].partition(" ")[0] or "without a name"
            s.fail(f"{row.mnemonic} of {self.generation} has no property {shown}", at)
        if s.take("("):
            negative = s.take("-")
            value = s.integer(word, (1 << 128) - 1 if name == "reserved" else 0xFFFFFFFF)
            if negative:
                s.fail(f"{word} is not negative", at)
            s.expect(")")
        else:
            value = 1
        fields[name] = value

    def _kcache(self, s: Scanner, fields: dict[str, int], n: int, at: int) -> None:
        if n > 1 and not fields.get("extended"):
            fields["extended"] = 1
        s.expect("(")
        s.expect("CB")
        bank = s.integer("a constant buffer's number", 15)
        s.expect(":")
        loop = s.take("AL+")
        low = s.integer("the first constant")
        s.expect("-")
        if loop:
            s.expect("AL+")
        high = s.integer("the last constant")
        s.expect(")")
        if low % 16 or high - low not in (15, 31) or (loop and high - low != 31):
            s.fail("a window has 16 or 32 constants, and begins at a multiple of 16", at)
        mode = 3 if loop else 1 if high - low == 15 else 2
        fields |= {f"kcache_bank{n}": bank, f"kcache_addr{n}": low // 16, f"kcache_mode{n}": mode}

    # ---- exports

    def _export(self, s: Scanner, fields: dict[str, int]) -> None:
        s.blanks()
        at = s.at
        words = ("PIX", "POSITION", "PARAM", "TYPE3_", "POS")
        kind = next((number for number, word in enumerate(words) if s.take(word)), None)
        if kind is None:
            s.fail("expected what is exported: PIX, POS or PARAM with a number", at)
        fields["type"] = kind if kind < 4 else 1
        fields["array_base"] = (names.FIRST_POSITION if kind == 4 else 0) + s.integer("the export's number")
        s.expect(",")
        self._data(s, fields)
        self._selects(s, fields, "sel", names.SELECTS)

    def _data(self, s: Scanner, fields: dict[str, int]) -> None:
        s.expect("R")
        fields["rw_gpr"] = s.integer("a register", 127)
        if s.take("[AL]"):
            fields["rw_rel"] = 1

    def _selects(self, s: Scanner, fields: dict[str, int], prefix: str, letters: str, channels: str = "xyzw") -> None:
        """``.xyzw``-like selects; without them each channel is itself."""
        if not s.take("."):
            fields |= {f"{prefix}_{c}": n for n, c in enumerate(channels)}
            return
        for c in channels:
            if s.at >= len(s.text) or s.text[s.at] not in letters:
                s.fail(f"expected {len(channels)} of the letters {letters}", s.at)
            fields[f"{prefix}_{c}"] = letters.index(s.text[s.at])
            s.at += 1

    def _mask(self, s: Scanner) -> int:
        if not s.take("."):
            return 15
        mask = 0
        for n, c in enumerate("xyzw"):
            if s.at >= len(s.text) or s.text[s.at] not in (c, "_"):
                s.fail(f"expected {c} or _", s.at)
            mask |= (s.text[s.at] == c) << n
            s.at += 1
        return mask

    def _memory(self, s: Scanner, fields: dict[str, int]) -> None:
        if not s.take("DWORD_PTR") and not s.take("VEC_PTR"):
            s.fail("expected DWORD_PTR")
        s.expect("[")
        fields["array_base"] = s.integer("an address", 8191)
        if s.take("+"):
            if not fields["type"] & 1:
                s.fail("an index wants …_IND")
            s.expect("R")
            fields["index_gpr"] = s.integer("a register", 127)
            if s.take(".") and not s.take("x"):
                s.fail("the index is in x")
        s.expect("]")
        fields["comp_mask"] = self._mask(s)
        s.expect(",")
        self._data(s, fields)

    def _rat(self, s: Scanner, fields: dict[str, int]) -> None:
        s.expect("RAT(")
        fields["rat_id"] = s.integer("a RAT's number", 15)
        if s.take("+idx"):
            fields["rat_index_mode"] = s.integer("an index's number", 2) + 1
        s.expect(")")
        s.expect("[")
        s.expect("R")
        fields["index_gpr"] = s.integer("a register", 127)
        s.expect("]")
        fields["comp_mask"] = self._mask(s)
        s.expect(",")
        self._data(s, fields)

    # ---- ALU

    def _op_line(self, s: Scanner) -> None:
        at = s.at
        slot = SLOT_NAMES.index(s.text[s.at])
        s.at += 2
        if not self.clauses or self.clauses[-1].row.kind != "CF_ALU":
            s.fail("an ALU operation is outside an ALU clause", at)
        clause = self.clauses[-1]
        if clause.open is None:
            clause.open = OpenGroup(self.generation, s, at)
        clause.open.add(s, slot)

    def _close_group(self) -> None:
        if self.clauses and self.clauses[-1].open is not None:
            clause = self.clauses[-1]
            assert clause.open is not None
            clause.groups.append(clause.open.close())
            clause.open = None

    # ---- fetches

    def _fetch_row(self, word: str) -> Row | None:
        if self.clauses[-1].row.flags.isdisjoint(("tex", "vtx", "gds")):
            return None
        return next((row for kind in FETCH_KINDS if (row := table.named(self.generation, kind, word))), None)

    def _fetch_line(self, s: Scanner, row: Row) -> None:
        fields: dict[str, int] = {}
        _FETCHES[row.kind](self, s, fields)
        if row.kind in ("VTX", "SEM"):
            fields["use_const_fields"] = 1
        if row.kind == "TEX":
            fields |= {f"coord_type_{c}": 1 for c in "xyzw"}
        self._fetch_words(s, row, fields)
        self.clauses[-1].fetches.append(Fetch(row, fields))

    def _continuation(self, s: Scanner, start: int) -> None:
        """Further properties of the fetch above."""
        fetches = self.clauses[-1].fetches if self.clauses else []
        if not fetches:
            s.fail("expected an instruction with its number", start)
        fetch = fetches[-1]
        fields = {**fetch.fields}
        self._fetch_words(s, fetch.row, fields)
        fetches[-1] = Fetch(fetch.row, fields)

    def _fetch_words(self, s: Scanner, row: Row, fields: dict[str, int]) -> None:
        is_vertex = row.kind in ("VTX", "SEM")
        while not s.done():
            s.take(",")
            s.blanks()
            at = s.at
            word = s.match(WORD)
            if is_vertex and word == "FORMAT":
                fields["data_format"] = self._choice(s, names.DATA_FORMATS)
                fields["use_const_fields"] = 0
            elif is_vertex and word in ("MEGA", "MINI") and "mega_fetch" in form(self.generation, row.kind):
                s.expect("(")
                fields["mega_fetch"] = int(word == "MEGA")
                fields["mega_fetch_count"] = s.integer("a count of bytes", 64) - 1
                s.expect(")")
                if fields["mega_fetch_count"] < 0:
                    s.fail(f"{word} counts from 1", at)
            elif is_vertex and word in _VERTEX_CHOICES:
                name, choices = _VERTEX_CHOICES[word]
                fields[name] = self._choice(s, choices)
            elif row.kind == "TEX" and word in ("UNNORM", "DENORM"):
                s.expect("(")
                for c in s.match(re.compile("[XYZWxyzw]+")).lower():
                    fields[f"coord_type_{c}"] = 0
                s.expect(")")
            elif row.kind == "TEX" and word in _FIXED_POINT:
                name, scale, low, high = _FIXED_POINT[word]
                s.expect("(")
                value = self._fixed(s, word, scale, low, high)
                fields[name] = value & (2 * high + 1)
                s.expect(")")
            else:
                self._field(s, word, fields, row, at)

    @staticmethod
    def _fixed(s: Scanner, word: str, scale: int, low: int, high: int) -> int:
        s.blanks()
        at = s.at
        number = s.match(re.compile(r"-?\d{1,9}(?:\.\d{1,9})?"))
        if not number:
            s.fail(f"expected a number for {word}")
        value = float(number) * scale
        if value != int(value) or not low <= value <= high:
            s.fail(f"{word} is a multiple of 1/{scale} from {low / scale} to {high / scale}", at)
        return int(value)

    # What stands before a fetch's properties, by kind.

    def register(self, s: Scanner, fields: dict[str, int], gpr: str, rel: str = "") -> None:
        """``R1`` or ``R1[AL]``."""
        s.expect("R")
        fields[gpr] = s.integer("a register", 127)
        if rel and s.take("[AL]"):
            fields[rel] = 1

    def texture(self, s: Scanner, fields: dict[str, int]) -> None:
        self.register(s, fields, "dst_gpr", "dst_rel")
        self._selects(s, fields, "dst_sel", names.SELECTS)
        s.expect(",")
        self.register(s, fields, "src_gpr", "src_rel")
        self._selects(s, fields, "src_sel", names.SELECTS)
        s.expect(",")
        s.expect("t")
        fields["resource_id"] = s.integer("a resource's number", 255)
        s.expect(",")
        s.expect("s")
        fields["sampler_id"] = s.integer("a sampler's number", 31)

    def vertex(self, s: Scanner, fields: dict[str, int]) -> None:
        if s.take("SEM["):
            fields["semantic_id"] = s.integer("a semantic's number", 255)
            s.expect("]")
        else:
            self.register(s, fields, "dst_gpr", "dst_rel")
        self._selects(s, fields, "dst_sel", names.SELECTS)
        s.expect(",")
        self.register(s, fields, "src_gpr", "src_rel")
        s.expect(".")
        fields["src_sel_x"] = s.channel("the address's channel")
        s.expect(",")
        s.expect("fc")
        fields["buffer_id"] = s.integer("a buffer's number", 255)

    def memory_read(self, s: Scanner, fields: dict[str, int]) -> None:
        self.register(s, fields, "dst_gpr", "dst_rel")
        self._selects(s, fields, "dst_sel", names.SELECTS)
        s.expect(",")
        s.expect("DWORD_PTR[")
        fields["array_base"] = s.integer("an address", 8191)
        if s.take("+"):
            fields["indexed"] = 1
            self.register(s, fields, "src_gpr", "src_rel")
            s.expect(".")
            fields["src_sel_x"] = s.channel("the address's channel")
        s.expect("]")

    def data_share(self, s: Scanner, fields: dict[str, int]) -> None:
        self.register(s, fields, "dst_gpr")
        self._selects(s, fields, "dst_sel", names.SELECTS)
        s.expect(",")
        self.register(s, fields, "src_gpr")
        self._selects(s, fields, "src_sel", names.SELECTS, "xyz")
        s.expect(",")
        self.register(s, fields, "src_gpr2")

    def share_write(self, s: Scanner, fields: dict[str, int]) -> None:
        s.expect("(")
        fields["dst_index"] = s.integer("an index", 255)
        s.expect(",")
        fields["dst_stride"] = s.integer("a stride", 511)
        s.expect(")")
        s.expect(",")
        self.register(s, fields, "src_gpr")
        self._selects(s, fields, "src_sel", names.SELECTS)

    def share_read(self, s: Scanner, fields: dict[str, int]) -> None:
        self.register(s, fields, "dst_gpr")
        mask = self._mask(s)
        fields |= {f"dst_wr_{c}": mask >> n & 1 for n, c in enumerate("xyzw")}
        s.expect(",")
        self.register(s, fields, "src_gpr")
        self._selects(s, fields, "src_sel", names.SELECTS, "xy")
        s.expect(",")
        fields["rd_offset"] = s.integer("an offset", 63)


_FETCHES: Mapping[str, Callable[[_Parser, Scanner, dict[str, int]], None]] = {
    "TEX": _Parser.texture,
    "VTX": _Parser.vertex,
    "SEM": _Parser.vertex,
    "MEM_RD": _Parser.memory_read,
    "GDS": _Parser.data_share,
    "MEM_DSW": _Parser.share_write,
    "MEM_DSR": _Parser.share_read,
}
_VERTEX_CHOICES = {
    "NUM_FORMAT": ("num_format_all", names.NUMBER_FORMATS),
    "FORMAT_COMP": ("format_comp_all", ("UNSIGNED", "SIGNED")),
    "SRF_MODE": ("srf_mode_all", ("ZERO_CLAMP_MINUS_ONE", "NO_ZERO")),
    "ENDIAN_SWAP": ("endian_swap", names.ENDIAN_SWAPS),
    "FETCH_TYPE": ("fetch_type", names.FETCH_TYPES),
}
# Word -> field, steps in 1, lowest and highest step.
_FIXED_POINT = {
    "LOD": ("lod_bias", 16, -64, 63),
    "XOFFSET": ("offset_x", 2, -16, 15),
    "YOFFSET": ("offset_y", 2, -16, 15),
    "ZOFFSET": ("offset_z", 2, -16, 15),
}


def _kinds(generation: str) -> tuple[str, ...]:
    from headwater.isa.vliw.encodings import kinds

    return kinds(generation)

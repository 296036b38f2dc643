"""Input: machine code. Output: ``Shader``; what no GPU of that generation executes is a ``DecodeError``.

Rules of the slots: AMD, Evergreen-Family ISA, "ALU Instruction Slots and Instruction Groups". Bits that an encoding
leaves unused are kept in the field ``reserved`` where one is set, so that nothing is lost.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from headwater.chips.vliw_isas import TRAITS
from headwater.errors import DecodeError
from headwater.isa.vliw import table
from headwater.isa.vliw.encodings import COMPUTED, form, used_bits
from headwater.isa.vliw.model import LITERAL, SLOT_NAMES, AluGroup, AluOp, Cf, Fetch, Fields, Row, Shader, Source, T

if TYPE_CHECKING:
    from collections.abc import Mapping

WORD_BYTES, FETCH_BYTES = 8, 16
# The top bit of CF_INST is that of the four bits of an ALU clause's; no other instruction has it.
_ALU_BIT = 1 << 61
_LDS_INST = 0x11
_CLAUSES = ("alu", "tex", "vtx", "gds")


class _Header(NamedTuple):
    """A CF instruction before its clause is looked at; ``word`` is its index in 64-bit words, that of ALU_EXT if it has
    one; ``clause`` is the clause's range in those words."""

    row: Row
    fields: dict[str, int]
    word: int
    clause: tuple[int, int] | None


def decode(code: bytes, generation: str, start: int = 0) -> Shader:
    """The shader whose control flow begins at byte ``start`` of ``code``; its addresses count from there.

    Raises DecodeError, with the byte offset in ``code``, where bytes are no instruction, a clause lies outside of the
    code or overlaps another, or a jump leads to no instruction.
    """
    headers = _control_flow(code, generation, start)
    end = headers[-1].word + 1
    _check_clauses(headers, end, (len(code) - start) // WORD_BYTES, start)
    index = {header.word: number for number, header in enumerate(headers)}
    index[end] = len(headers)
    made = []
    for header in headers:
        at = start + header.word * WORD_BYTES
        fields = header.fields
        if "target" in header.row.flags:
            if fields["addr"] not in index:
                raise DecodeError(f"{header.row.name} leads to CF instruction {fields['addr']}: there is none", at)
            fields["addr"] = index[fields["addr"]]
        groups: tuple[AluGroup, ...] = ()
        fetches: tuple[Fetch, ...] = ()
        if header.clause is not None:
            low, high = header.clause
            clause = start + low * WORD_BYTES
            if header.row.kind == "CF_ALU":
                groups = alu_clause(code, generation, clause, high - low)
            else:
                count = (high - low) * WORD_BYTES // FETCH_BYTES
                is_data_share = "gds" in header.row.flags
                fetches = tuple(fetch(code, generation, clause + n * FETCH_BYTES, is_data_share) for n in range(count))
        made.append(Cf(header.row, Fields(fields), groups, fetches, header.clause[0] if header.clause else None))
    return Shader(generation, tuple(made))


def _word(code: bytes, at: int, size: int, what: str) -> int:
    if at < 0 or at + size > len(code):
        raise DecodeError(f"the code ends within {what}", at)
    return int.from_bytes(code[at : at + size], "little")


def unpack(word: int, generation: str, kind: str) -> dict[str, int]:
    """The fields of an encoded instruction, those that are 0 too."""
    fields = {name: (word >> low) & ((1 << width) - 1) for name, (low, width) in form(generation, kind).items()}
    if "count_3" in fields:
        fields["count"] |= fields.pop("count_3") << 3
    rest = word & ~used_bits(generation, kind)
    if rest:
        fields["reserved"] = rest
    return fields


# ---- control flow


def _control_flow(code: bytes, generation: str, start: int) -> list[_Header]:
    """All CF instructions: up to the one that ends the program, and on to what jumps reach behind that."""
    headers: list[_Header] = []
    word = furthest = 0
    has_ended = False
    while True:
        header, size = _header(code, generation, start, word)
        headers.append(header)
        word += size
        row, fields = header.row, header.fields
        if "branch" in row.flags:
            furthest = max(furthest, fields["addr"])
        ends = bool(fields.get("end_of_program")) or "end" in row.flags
        has_ended |= ends
        if has_ended and furthest < word and (ends or "return" in row.flags):
            return headers


def _header(code: bytes, generation: str, start: int, word: int) -> tuple[_Header, int]:
    at = start + word * WORD_BYTES
    encoded = _word(code, at, WORD_BYTES, "its control flow")
    if encoded & _ALU_BIT:
        return _alu_header(code, generation, encoded, start, word)
    place = form(generation, "CF")["cf_inst"]
    opcode = (encoded >> place[0]) & ((1 << place[1]) - 1)
    row = next(
        (row for kind in ("CF", "EXPORT", "MEM", "RAT", "GWS") if (row := table.find(generation, kind, opcode))), None
    )
    if row is None:
        raise DecodeError(f"{generation} has no control-flow instruction {opcode:#x}", at)
    fields = unpack(encoded, generation, row.kind)
    del fields["cf_inst"]
    clause = None
    if not row.flags.isdisjoint(_CLAUSES):
        low = fields.pop("addr")
        clause = (low, low + (fields.pop("count") + 1) * FETCH_BYTES // WORD_BYTES)
    return _Header(row, fields, word, clause), 1


def _alu_header(code: bytes, generation: str, encoded: int, start: int, word: int) -> tuple[_Header, int]:
    at = start + word * WORD_BYTES
    low, width = form(generation, "CF_ALU")["cf_inst"]
    row = table.find(generation, "CF_ALU", (encoded >> low) & ((1 << width) - 1))
    fields: dict[str, int] = {}
    size = 1
    if row is not None and "alu" not in row.flags:
        fields = unpack(encoded, generation, "CF_ALU_EXT")
        if "reserved" in fields:
            raise DecodeError(f"{row.name} has bits set that mean nothing: {fields['reserved']:#x}", at)
        fields["extended"] = 1
        encoded = _word(code, at + WORD_BYTES, WORD_BYTES, "its control flow")
        size = 2
        row = table.find(generation, "CF_ALU", (encoded >> low) & ((1 << width) - 1)) if encoded & _ALU_BIT else None
        if row is None or "alu" not in row.flags:
            raise DecodeError("ALU_EXTENDED is not followed by an ALU clause", at)
    if row is None:
        raise DecodeError(f"{generation} has no ALU clause of kind {(encoded >> low) & 15:#x}", at)
    fields = {**fields, **unpack(encoded, generation, "CF_ALU")}
    del fields["cf_inst"]
    clause = fields.pop("addr")
    return _Header(row, fields, word, (clause, clause + fields.pop("count") + 1)), size


def _check_clauses(headers: list[_Header], end: int, words: int, start: int) -> None:
    """Clauses lie in the code, behind the control flow, apart from each other or in the same place."""
    latest = (-1, end)
    for (low, high), word in sorted((h.clause, h.word) for h in headers if h.clause is not None):
        at = start + word * WORD_BYTES
        if high > words:
            raise DecodeError(f"its clause at word {low} lies outside of the code ({words} words)", at)
        if (low, high) != latest and low < latest[1]:
            other = "another clause" if latest[0] >= 0 else "the control flow"
            raise DecodeError(f"its clause at word {low} overlaps {other}", at)
        latest = (low, high)


# ---- ALU


def alu_clause(code: bytes, generation: str, at: int, slots: int) -> tuple[AluGroup, ...]:
    """The groups of an ALU clause of so many 64-bit slots at byte ``at``."""
    end = at + slots * WORD_BYTES
    groups = []
    while at < end:
        group = alu_group(code, generation, at, end)
        groups.append(group)
        at += group.slots * WORD_BYTES
    return tuple(groups)


def alu_group(code: bytes, generation: str, at: int, end: int) -> AluGroup:
    """The group at byte ``at`` of a clause that ends at byte ``end``."""
    first = at
    found: list[tuple[Row, list[int]]] = []
    dwords = last = 0
    while not last:
        if at >= end:
            raise DecodeError("the clause ends within a group", first)
        if len(found) == TRAITS[generation].slots:
            raise DecodeError(f"a group has more than {len(found)} operations", first)
        row, values = _alu_values(_word(code, at, WORD_BYTES, "an ALU clause"), generation, at)
        for n in range(0, _SOURCE_FIELDS if row.kind != "OP2" else _SOURCE_FIELDS * 2 // 3, 5):
            if values[n] == LITERAL:
                dwords = max(dwords, values[n + 1] // 2 * 2 + 2)
        last = values[-1]
        found.append((row, values))
        at += WORD_BYTES
    if at + dwords * 4 > end:
        raise DecodeError("the clause ends within a group's literals", first)
    literals = tuple(_word(code, at + 4 * n, 4, "a group's literals") for n in range(dwords))
    ops: list[AluOp] = []
    for number, (row, values) in enumerate(found):
        ops.append(_alu_op(row, values, literals, generation, ops, first + number * WORD_BYTES))
    return AluGroup(tuple(ops), literals)


# The fields of an operation in the order in which `_alu_values` gives them; 0 where an encoding lacks one.
_SOURCE_FIELDS = 15
_ALU_FIELDS = (
    *(f"src{n}_{what}" for n in range(3) for what in ("sel", "chan", "neg", "abs", "rel")),
    *("dst_gpr", "dst_chan", "write_mask", "dst_rel", "clamp", "omod", "bank_swizzle", "pred_sel"),
    *("update_exec_mask", "update_pred", "index_mode", "fog_merge"),
    *(f"idx_offset_{n}" for n in range(6)),
    "last",
)


@cache
def _alu_places(generation: str, kind: str) -> tuple[tuple[int, int], ...]:
    """Shift and mask of each of `_ALU_FIELDS`."""
    places = form(generation, kind)
    return tuple((places[name][0], (1 << places[name][1]) - 1) if name in places else (0, 0) for name in _ALU_FIELDS)


@cache
def _alu_opcode(generation: str, kind: str) -> tuple[int, int]:
    low, width = form(generation, kind)["lds_op" if kind == "LDS" else "alu_inst"]
    return low, (1 << width) - 1


def _alu_values(encoded: int, generation: str, at: int) -> tuple[Row, list[int]]:
    """The operation's row and its fields."""
    kind = "OP3" if (encoded >> 47) & 7 else "OP2"
    low, mask = _alu_opcode(generation, kind)
    opcode = (encoded >> low) & mask
    if kind == "OP3" and opcode == _LDS_INST and TRAITS[generation].has_shared_lds:
        kind = "LDS"
        low, mask = _alu_opcode(generation, kind)
        opcode = (encoded >> low) & mask
    row = table.find(generation, kind, opcode)
    if row is None:
        raise DecodeError(f"{generation} has no {kind} operation {opcode:#x}", at)
    return row, [(encoded >> low) & mask for low, mask in _alu_places(generation, kind)]


@lru_cache(4096)
def _source(sel: int, chan: int, neg: int, magnitude: int, rel: int, literal: int | None) -> Source:
    return Source(sel, chan, bool(neg), bool(magnitude), bool(rel), literal)


def _alu_op(
    row: Row, values: list[int], literals: tuple[int, ...], generation: str, before: list[AluOp], at: int
) -> AluOp:
    kind = row.kind
    count = row.nsrc
    for n in range(count, 2 if kind == "OP2" else 3):
        if any(values[5 * n : 5 * n + 5]):
            count = n + 1
    sources = tuple(
        _source(*values[n : n + 5], literals[values[n + 1]] if values[n] == LITERAL else None)
        for n in range(0, 5 * count, 5)
    )
    gpr, chan, write, dst_rel, clamp, omod, swizzle, pred, exec_mask, pred_mask, index, fog, *offsets, _ = values[15:]
    return AluOp(
        row,
        _slot(row, generation, chan, before, at),
        sources,
        gpr,
        chan,
        kind == "OP3" or bool(write),
        bool(dst_rel),
        bool(clamp),
        omod,
        swizzle,
        pred,
        bool(exec_mask),
        bool(pred_mask),
        index,
        bool(fog),
        sum(bit << n for n, bit in enumerate(offsets)) if kind == "LDS" else 0,
    )


def slot_of(row: Row, generation: str, dst_chan: int, taken: Mapping[int, object] | set[int]) -> int:
    """The slot that the hardware gives an operation whose group has operations in the slots ``taken`` before it."""
    wanted = row.slots[generation]
    has_trans = TRAITS[generation].has_trans
    return T if wanted == "trans" or (wanted == "any" and dst_chan in taken and has_trans) else dst_chan


def _slot(row: Row, generation: str, dst_chan: int, before: list[AluOp], at: int) -> int:
    slot = slot_of(row, generation, dst_chan, {op.slot for op in before})
    if before and slot <= before[-1].slot:
        taken, name = SLOT_NAMES[before[-1].slot], SLOT_NAMES[slot]
        if slot == before[-1].slot:
            raise DecodeError(f"{row.name} is the group's second operation in slot {name}", at)
        raise DecodeError(f"{row.name} in slot {name} comes after slot {taken}: the order is x y z w t", at)
    return slot


# ---- fetches

_TEX_INST_BITS = 31
# VC_INST of memory reads and data shares; TEX_INST has the same five bits.
_MEM_INST = 2
_VTX_INSTS = {0: "VTX", 1: "SEM", 14: "VTX"}
_TESSELLATION = 5


def fetch(code: bytes, generation: str, at: int, is_data_share: bool = False) -> Fetch:
    """The fetch at byte ``at``. ``is_data_share``: it stands in a clause of global data share instructions."""
    encoded = _word(code, at, FETCH_BYTES, "a fetch clause")
    opcode = encoded & _TEX_INST_BITS
    mem_op = (encoded >> 8) & 7
    row: Row | None
    if opcode == _MEM_INST and TRAITS[generation].has_shared_lds and (is_data_share or mem_op in (4, _TESSELLATION)):
        gds_op = (encoded >> form(generation, "GDS")["gds_op"][0]) & 63
        row = table.find(generation, "GDS", gds_op if mem_op != _TESSELLATION else 64)
        opcode = gds_op
        if mem_op not in (4, _TESSELLATION):
            row = None
    elif opcode == _MEM_INST:
        kinds = ("MEM_RD", "MEM_DSW", "MEM_DSR")
        row = next((row for kind in kinds if (row := table.find(generation, kind, mem_op))), None)
        opcode = mem_op << 8 | _MEM_INST
    else:
        row = table.find(generation, _VTX_INSTS[opcode], opcode) if opcode in _VTX_INSTS else None
        if row is None:
            modifier = form(generation, "TEX").get("inst_mod")
            opcode |= ((encoded >> modifier[0]) & 3) << 5 if modifier else 0
            row = table.find(generation, "TEX", opcode)
    if row is None:
        raise DecodeError(f"{generation} has no fetch instruction {opcode:#x}", at)
    fields = unpack(encoded, generation, row.kind)
    for name in COMPUTED:
        fields.pop(name, None)
    if row.kind == "GDS" and row.opcodes[generation] == 64 and opcode:
        fields["gds_op"] = opcode
    return Fetch(row, Fields(fields))

"""Input: a ``Shader``. Output: machine code; what no encoding can say is an ``EncodeError``.

Clauses are laid out as AMD's compilers do: the control flow, padded with zeros to 16 words of 64 bits (32 if there are
ALU clauses), then the ALU clauses, then, from a multiple of 16 words on, the fetch clauses. A shader whose clauses all
have an address that fits keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.errors import HeadwaterError
from headwater.isa.vliw.decode import FETCH_BYTES, WORD_BYTES, slot_of
from headwater.isa.vliw.encodings import COMPUTED, form, used_bits
from headwater.isa.vliw.model import LITERAL, SLOT_NAMES, AluGroup, AluOp, Cf, Fetch, Shader, Source

MOST_ALU_WORDS = 128
"""64-bit words of an ALU clause that COUNT can say."""
_CF_ALIGN, _CF_ALIGN_WITH_ALU, _FETCH_ALIGN = 16, 32, 16
_MEM_OP_GDS, _MEM_OP_TESSELLATION, _MEM_INST = 4, 5, 2


class EncodeError(HeadwaterError):
    """A shader that the machine's encodings cannot express; ``cf`` is the index of the CF instruction at fault."""

    def __init__(self, message: str, cf: int = -1) -> None:
        super().__init__(f"CF instruction {cf}: {message}" if cf >= 0 else message)
        self.cf = cf


def encode(shader: Shader) -> bytes:
    """The machine code, from its first CF instruction on. Raises EncodeError."""
    words, addresses = layout(shader)
    chunks: list[tuple[int, bytes]] = []
    index = -1
    try:
        for index, cf in enumerate(shader.cf):
            address = addresses[index]
            chunks.append((words[index], _cf(cf, shader.generation, words, address)))
            if address is None:
                continue
            body = b"".join(_group(group, shader.generation) for group in cf.groups)
            body += b"".join(_fetch(fetch, shader.generation) for fetch in cf.fetches)
            chunks.append((address, body))
    except ValueError as error:
        raise EncodeError(str(error), index) from None
    end = max(word * WORD_BYTES + len(data) for word, data in chunks) if chunks else 0
    code = bytearray(end)
    for word, data in chunks:
        code[word * WORD_BYTES : word * WORD_BYTES + len(data)] = data
    return bytes(code)


def pack(fields: Mapping[str, int], generation: str, kind: str) -> int:
    """An encoded instruction from its fields; ValueError where a field is unknown or its value does not fit."""
    places = form(generation, kind)
    word = fields.get("reserved", 0)
    if word & used_bits(generation, kind):
        raise ValueError("`reserved` has bits that are fields")
    for name, value in fields.items():
        if name == "reserved":
            continue
        if name == "count" and "count_3" in places:
            if not 0 <= value < 16:
                raise ValueError(f"count is {value}: it has 4 bits")
            word |= (value & 7) << places["count"][0] | (value >> 3) << places["count_3"][0]
            continue
        if name not in places:
            raise ValueError(f"{kind} has no field {name} on {generation}")
        low, width = places[name]
        if not 0 <= value < 1 << width:
            raise ValueError(f"{name} is {value}: it has {width} bit{'s' * (width > 1)}")
        word |= value << low
    return word


# ---- layout


def clause_words(cf: Cf) -> int:
    """64-bit words of the instruction's clause."""
    return sum(group.slots for group in cf.groups) + len(cf.fetches) * FETCH_BYTES // WORD_BYTES


def layout(shader: Shader) -> tuple[list[int], list[int | None]]:
    """Where all goes, in 64-bit words: each CF instruction, and at last what is behind them; each one's clause.

    Raises EncodeError where an instruction has not the clause that it starts, or too long a one.
    """
    words = [0]
    for cf in shader.cf:
        words.append(words[-1] + (2 if cf.fields["extended"] else 1))
    return words, _addresses(shader, words[-1])


def _has_clause(cf: Cf) -> bool:
    return not cf.row.flags.isdisjoint(("alu", "tex", "vtx", "gds"))


def _addresses(shader: Shader, cf_end: int) -> list[int | None]:
    """The address of each CF instruction's clause, in words."""
    with_clause = [(index, cf) for index, cf in enumerate(shader.cf) if _has_clause(cf)]
    for index, cf in enumerate(shader.cf):
        is_alu = cf.row.kind == "CF_ALU"
        if bool(cf.groups) != (_has_clause(cf) and is_alu) or bool(cf.fetches) != (_has_clause(cf) and not is_alu):
            wanted = "at least one group" if is_alu else "at least one fetch" if _has_clause(cf) else "no clause"
            raise EncodeError(f"{cf.row.name} has {wanted}, and nothing else", index)
        if any(not group.ops for group in cf.groups):
            raise EncodeError("a group has no operations", index)
        if is_alu and clause_words(cf) > MOST_ALU_WORDS:
            raise EncodeError(f"its clause has {clause_words(cf)} words; {MOST_ALU_WORDS} can be", index)
    addresses: list[int | None] = [None] * len(shader.cf)
    if _keeps_addresses(with_clause, cf_end):
        for index, cf in with_clause:
            addresses[index] = cf.address
        return addresses
    alu = [index for index, cf in with_clause if cf.groups]
    align = _CF_ALIGN_WITH_ALU if alu else _CF_ALIGN
    at = -(-cf_end // align) * align
    for index in alu:
        addresses[index] = at
        at += clause_words(shader.cf[index])
    at = -(-at // _FETCH_ALIGN) * _FETCH_ALIGN
    for index, cf in with_clause:
        if cf.fetches:
            addresses[index] = at
            at += clause_words(cf)
    return addresses


def _keeps_addresses(with_clause: list[tuple[int, Cf]], cf_end: int) -> bool:
    """Whether the clauses' own addresses can stay: all given, apart from each other (but for equal ones)."""
    ranges = []
    for _, cf in with_clause:
        if cf.address is None:
            return False
        ranges.append((cf.address, cf.address + clause_words(cf), cf))
    latest, end = None, cf_end
    for low, high, cf in sorted(ranges, key=lambda r: r[:2]):
        if low < end and not (
            latest is not None
            and (low, high) == (latest[0], latest[1])
            and (cf.groups, cf.fetches) == (latest[2].groups, latest[2].fetches)
        ):
            return False
        latest, end = (low, high, cf), high
    return True


# ---- control flow


def _checked(fields: Mapping[str, int], allowed: tuple[str, ...] = ()) -> dict[str, int]:
    for name in fields:
        if name in COMPUTED and name not in allowed:
            raise ValueError(f"{name} is computed, and must not be given")
    return {name: value for name, value in fields.items() if name != "extended"}


def _cf(cf: Cf, generation: str, words: list[int], address: int | None) -> bytes:
    row = cf.row
    if generation not in row.opcodes:
        raise ValueError(f"{generation} has no {row.name}")
    if row.kind == "CF_ALU":
        assert address is not None
        return _cf_alu(cf, generation, address)
    if address is not None:
        fields = _checked(cf.fields)
        count = clause_words(cf) * WORD_BYTES // FETCH_BYTES
        fields |= {"addr": address, "count": count - 1}
    else:
        fields = _checked(cf.fields, ("addr", "count") if row.kind == "CF" else ())
    if "target" in row.flags:
        target = cf.fields["addr"]
        if not 0 <= target < len(words):
            raise ValueError(f"{row.name} leads to CF instruction {target}; there are {len(words) - 1}")
        fields["addr"] = words[target]
    fields["cf_inst"] = row.opcodes[generation]
    return pack(fields, generation, row.kind).to_bytes(WORD_BYTES, "little")


def _cf_alu(cf: Cf, generation: str, address: int) -> bytes:
    row = cf.row
    fields = _checked(cf.fields)
    extension = b""
    if "CF_ALU_EXT" in _kinds(generation):
        places = form(generation, "CF_ALU_EXT")
        extended = {name: fields.pop(name) for name in tuple(fields) if name in places}
        if cf.fields["extended"]:
            from headwater.isa.vliw import table

            ext = table.named(generation, "CF_ALU", "ALU_EXTENDED")
            assert ext is not None
            extended["cf_inst"] = ext.opcodes[generation]
            extension = pack(extended, generation, "CF_ALU_EXT").to_bytes(WORD_BYTES, "little")
        elif extended:
            raise ValueError(f"{', '.join(extended)} want ALU_EXTENDED: the field `extended`")
    elif cf.fields["extended"]:
        raise ValueError(f"{generation} has no ALU_EXTENDED")
    fields |= {"addr": address, "count": clause_words(cf) - 1, "cf_inst": row.opcodes[generation]}
    return extension + pack(fields, generation, "CF_ALU").to_bytes(WORD_BYTES, "little")


def _kinds(generation: str) -> tuple[str, ...]:
    from headwater.isa.vliw.encodings import kinds

    return kinds(generation)


# ---- ALU


def _group(group: AluGroup, generation: str) -> bytes:
    taken: set[int] = set()
    encoded = b""
    wanted = 0
    for n, op in enumerate(group.ops):
        if generation not in op.row.opcodes:
            raise ValueError(f"{generation} has no {op.row.name}")
        slot = slot_of(op.row, generation, op.dst_chan, taken)
        if op.slot != slot:
            chan, name = SLOT_NAMES[op.dst_chan], SLOT_NAMES[op.slot]
            raise ValueError(f"{op.row.name} for channel {chan} issues in slot {SLOT_NAMES[slot]} here, not {name}")
        if taken and slot <= max(taken):
            raise ValueError(f"{op.row.name} in slot {SLOT_NAMES[slot]} comes after {SLOT_NAMES[max(taken)]}")
        taken.add(slot)
        for source in op.sources:
            if source.sel == LITERAL:
                wanted = max(wanted, source.chan // 2 * 2 + 2)
                if source.chan >= len(group.literals) or source.literal != group.literals[source.chan]:
                    raise ValueError(f"{op.row.name} has a literal that is not the group's {SLOT_NAMES[source.chan]}")
            elif source.literal is not None:
                raise ValueError(f"{op.row.name} has a literal where its operand is none")
        encoded += _op(op, generation, last=n == len(group.ops) - 1).to_bytes(WORD_BYTES, "little")
    if wanted != len(group.literals):
        raise ValueError(f"a group has {len(group.literals)} literals; its operands want {wanted}")
    return encoded + b"".join(value.to_bytes(4, "little") for value in group.literals)


_NOTHING = Source(0)


def _op(op: AluOp, generation: str, last: bool) -> int:
    kind = op.row.kind
    count = 2 if kind == "OP2" else 3
    if not op.row.nsrc <= len(op.sources) <= count:
        raise ValueError(f"{op.row.name} takes {op.row.nsrc} operands, not {len(op.sources)}")
    fields: dict[str, int] = {
        "last": last,
        "index_mode": op.index_mode,
        "pred_sel": op.pred_sel,
        "bank_swizzle": op.bank_swizzle,
        "dst_chan": op.dst_chan,
    }
    for n, source in enumerate(op.sources):
        fields |= {f"src{n}_sel": source.sel, f"src{n}_rel": source.rel, f"src{n}_chan": source.chan}
        fields |= {f"src{n}_neg": source.neg} if source.neg else {}
        fields |= {f"src{n}_abs": source.abs} if source.abs else {}
    if kind == "LDS":
        fields |= {"alu_inst": 0x11, "lds_op": op.row.opcodes[generation]}
        fields |= {f"idx_offset_{n}": (op.lds_offset >> n) & 1 for n in range(6)}
        if not 0 <= op.lds_offset < 64:
            raise ValueError(f"the LDS offset is {op.lds_offset}: it has 6 bits")
    else:
        fields |= {"alu_inst": op.row.opcodes[generation], "dst_gpr": op.dst_gpr}
        fields |= {"dst_rel": op.dst_rel, "clamp": op.clamp}
    if kind == "OP2":
        fields |= {"write_mask": op.write, "omod": op.omod, "update_pred": op.update_pred}
        fields["update_exec_mask"] = op.update_exec_mask
        fields |= {"fog_merge": 1} if op.fog_merge else {}
    elif op.omod or op.update_pred or op.update_exec_mask or op.fog_merge or (kind == "OP3" and not op.write):
        raise ValueError(f"{op.row.name} has no OMOD, no updates of masks, and always writes")
    return pack(fields, generation, kind)


# ---- fetches


def _fetch(fetch: Fetch, generation: str) -> bytes:
    row = fetch.row
    opcode = row.opcodes.get(generation)
    if opcode is None:
        raise ValueError(f"{generation} has no {row.name}")
    fields = _checked(fetch.fields, ("gds_op",) if opcode == 64 and row.kind == "GDS" else ())
    if row.kind == "TEX":
        fields["tex_inst"] = opcode & 31
        if opcode >> 5:
            fields["inst_mod"] = opcode >> 5
    elif row.kind in ("VTX", "SEM"):
        fields["vc_inst"] = opcode
    elif row.kind == "GDS":
        fields |= {"mem_inst": _MEM_INST, "mem_op": _MEM_OP_TESSELLATION if opcode == 64 else _MEM_OP_GDS}
        if opcode != 64:
            fields["gds_op"] = opcode
    else:
        fields |= {"mem_inst": _MEM_INST, "mem_op": opcode}
    return pack(fields, generation, row.kind).to_bytes(FETCH_BYTES, "little")

"""Encoding and decoding are each other's inverse, for every row of every generation, on every field."""

import random

import pytest

from headwater.chips.vliw_isas import GENERATIONS
from headwater.errors import DecodeError
from headwater.isa.vliw import table
from headwater.isa.vliw.decode import alu_group, decode, fetch
from headwater.isa.vliw.encode import EncodeError, encode
from headwater.isa.vliw.encodings import COMPUTED, form, kinds, used_bits
from headwater.isa.vliw.model import FETCH_KINDS, LITERAL, AluGroup, AluOp, Cf, Fetch, Row, Shader, Source, T


def rows(generation: str, *wanted: str) -> list[Row]:
    return [row for row in table.rows(generation) if row.kind in wanted]


def random_fields(rng: random.Random, generation: str, kind: str) -> dict[str, int]:
    fields = {}
    for name, (_, width) in form(generation, kind).items():
        if name not in COMPUTED:
            fields[name] = rng.choice((0, (1 << width) - 1, rng.getrandbits(width)))
    free = ~used_bits(generation, kind) & ((1 << (128 if kind in FETCH_KINDS else 64)) - 1)
    if free and kind not in ("CF_ALU", "CF_ALU_EXT") and rng.random() < 0.3:
        fields["reserved"] = rng.getrandbits(128) & free
    return fields


def random_source(rng: random.Random, kind: str) -> Source:
    sel = rng.choice((rng.randrange(128), rng.randrange(512), LITERAL))
    literal = 0 if sel == LITERAL else None
    modifies = kind != "LDS"
    return Source(
        sel,
        rng.randrange(4),
        modifies and rng.random() < 0.3,
        kind == "OP2" and rng.random() < 0.3,
        rng.random() < 0.3,
        literal,
    )


def random_op(rng: random.Random, row: Row, generation: str, slot: int, chan: int) -> AluOp:
    sources = [random_source(rng, row.kind) for _ in range(2 if row.kind == "OP2" else 3)]
    while len(sources) > row.nsrc and rng.random() < 0.8:
        sources.pop()
    while len(sources) > row.nsrc and sources[-1] == Source(0):
        sources.pop()
    op2, lds = row.kind == "OP2", row.kind == "LDS"
    return AluOp(
        row,
        slot,
        tuple(sources),
        dst_gpr=0 if lds else rng.randrange(128),
        dst_chan=chan,
        write=rng.random() < 0.8 if op2 else not lds,
        dst_rel=not lds and rng.random() < 0.3,
        clamp=not lds and rng.random() < 0.3,
        omod=rng.randrange(4) if op2 else 0,
        bank_swizzle=rng.randrange(8),
        pred_sel=rng.randrange(4),
        update_exec_mask=op2 and rng.random() < 0.3,
        update_pred=op2 and rng.random() < 0.3,
        index_mode=rng.randrange(8),
        fog_merge=op2 and generation == "r600" and rng.random() < 0.3,
        lds_offset=rng.randrange(64) if lds else 0,
    )


def with_literals(rng: random.Random, ops: list[AluOp]) -> AluGroup:
    from dataclasses import replace

    count = max((s.chan // 2 * 2 + 2 for op in ops for s in op.sources if s.sel == LITERAL), default=0)
    values = tuple(rng.getrandbits(32) for _ in range(count))
    made = [
        replace(op, sources=tuple(replace(s, literal=values[s.chan]) if s.sel == LITERAL else s for s in op.sources))
        for op in ops
    ]
    return AluGroup(tuple(made), values)


def random_group(rng: random.Random, generation: str, first: Row | None = None) -> AluGroup:
    every = rows(generation, "OP2", "OP3", "LDS")
    ops: list[AluOp] = []
    taken: set[int] = set()
    chosen = [first] if first else [rng.choice(every) for _ in range(rng.randrange(1, 5))]
    for row in chosen:
        chan = rng.randrange(4)
        wanted = row.slots[generation]
        slot = T if wanted == "trans" or (wanted == "any" and chan in taken and generation != "cayman") else chan
        if taken and slot <= max(taken):
            continue
        taken.add(slot)
        ops.append(random_op(rng, row, generation, slot, chan))
    return with_literals(rng, ops)


def shader_of(generation: str, cfs: list[Cf]) -> Shader:
    end = table.named(generation, "CF", "CF_END" if generation == "cayman" else "NOP")
    assert end is not None
    return Shader(generation, (*cfs, Cf(end, {} if generation == "cayman" else {"end_of_program": 1})))


def clause_row(generation: str, flag: str) -> Row:
    return next(row for row in rows(generation, "CF", "CF_ALU") if flag in row.flags)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_alu_row_keeps_every_field(generation: str) -> None:
    rng = random.Random(f"alu {generation}")
    for row in rows(generation, "OP2", "OP3", "LDS"):
        for _ in range(3):
            group = random_group(rng, generation, row)
            shader = shader_of(generation, [Cf(clause_row(generation, "alu"), groups=(group,))])
            assert decode(encode(shader), generation) == shader


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_fetch_keeps_every_field(generation: str) -> None:
    rng = random.Random(f"fetch {generation}")
    for row in rows(generation, *FETCH_KINDS):
        for _ in range(3):
            made = Fetch(row, random_fields(rng, generation, row.kind))
            clause = clause_row(generation, "gds" if row.kind == "GDS" else "tex")
            shader = shader_of(generation, [Cf(clause, fetches=(made,))])
            assert decode(encode(shader), generation) == shader


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_cf_row_keeps_every_field(generation: str) -> None:
    rng = random.Random(f"cf {generation}")
    vertex = next(row for row in rows(generation, "VTX"))
    for row in rows(generation, "CF", "CF_ALU", "GWS", "EXPORT", "MEM", "RAT"):
        if row.name == "ALU_EXTENDED":
            continue
        for _ in range(6):
            fields = random_fields(rng, generation, row.kind)
            fields.pop("end_of_program", None)
            groups: tuple[AluGroup, ...] = ()
            fetches: tuple[Fetch, ...] = ()
            if "alu" in row.flags:
                groups = tuple(random_group(rng, generation) for _ in range(3))
                if "CF_ALU_EXT" in kinds(generation) and rng.random() < 0.5:
                    fields |= random_fields(rng, generation, "CF_ALU_EXT") | {"extended": 1}
            elif row.flags & {"tex", "vtx", "gds"}:
                other = next(r for r in rows(generation, "GDS")) if "gds" in row.flags else vertex
                fetches = (Fetch(other), Fetch(other, random_fields(rng, generation, other.kind)))
            elif "target" in row.flags:
                fields |= {"addr": rng.randrange(3)}
            elif row.kind == "CF":
                fields |= {"addr": rng.getrandbits(20), "count": rng.randrange(16)}
            made = Cf(row, fields, groups, fetches)
            shader = Shader(generation, (made,)) if "end" in row.flags else shader_of(generation, [made, made])
            assert decode(encode(shader), generation) == shader


@pytest.mark.parametrize("generation", GENERATIONS)
def test_words_that_are_operations_keep_every_bit(generation: str) -> None:
    rng = random.Random(f"words {generation}")
    clause = clause_row(generation, "alu")
    kept = 0
    for _ in range(4000):
        word = rng.getrandbits(64) | 1 << 31
        data = word.to_bytes(8, "little") + rng.getrandbits(128).to_bytes(16, "little")
        try:
            group = alu_group(data, generation, 0, len(data))
        except DecodeError:
            continue
        kept += 1
        code = encode(shader_of(generation, [Cf(clause, groups=(group,))]))
        assert code[32 * 8 :] == data[: group.slots * 8]
    assert kept > 500


@pytest.mark.parametrize("generation", GENERATIONS)
def test_words_that_are_fetches_keep_every_bit(generation: str) -> None:
    rng = random.Random(f"fetch words {generation}")
    clause = clause_row(generation, "tex")
    kept = 0
    for _ in range(2000):
        data = rng.getrandbits(128).to_bytes(16, "little")
        try:
            found = fetch(data, generation, 0)
        except DecodeError:
            continue
        kept += 1
        assert encode(shader_of(generation, [Cf(clause, fetches=(found,))]))[16 * 8 :] == data
    assert kept > 500


def test_clauses_are_laid_out_as_the_vendor_does() -> None:
    alu, tex = clause_row("r700", "alu"), clause_row("r700", "tex")
    mov, sample = table.alu("r700", "MOV"), table.named("r700", "TEX", "SAMPLE")
    assert sample is not None
    group = AluGroup((AluOp(mov, 0, (Source(1),)),))
    shader = shader_of(
        "r700", [Cf(tex, fetches=(Fetch(sample),)), Cf(alu, groups=(group,) * 9), Cf(alu, groups=(group,) * 2)]
    )
    assert [cf.address for cf in decode(encode(shader), "r700").cf] == [48, 32, 41, None]
    only = shader_of("r700", [Cf(tex, fetches=(Fetch(sample),))])
    assert [cf.address for cf in decode(encode(only), "r700").cf] == [16, None]


def test_addresses_stay_where_they_fit() -> None:
    alu, mov = clause_row("evergreen", "alu"), table.alu("evergreen", "MOV")
    group = AluGroup((AluOp(mov, 0, (Source(1),)),))
    shader = shader_of("evergreen", [Cf(alu, groups=(group,), address=100), Cf(alu, groups=(group, group), address=90)])
    assert [cf.address for cf in decode(encode(shader), "evergreen").cf] == [100, 90, None]
    moved = shader_of("evergreen", [Cf(alu, groups=(group,), address=91), Cf(alu, groups=(group, group), address=90)])
    assert [cf.address for cf in decode(encode(moved), "evergreen").cf] == [32, 33, None]


def test_jumps_count_extended_clauses_as_one() -> None:
    alu, mov = clause_row("evergreen", "alu"), table.alu("evergreen", "MOV")
    jump = table.named("evergreen", "CF", "JUMP")
    assert jump is not None
    clause = Cf(alu, {"extended": 1, "kcache_mode2": 1}, (AluGroup((AluOp(mov, 0, (Source(256),)),)),))
    shader = shader_of("evergreen", [Cf(jump, {"addr": 2}), clause, clause, Cf(jump, {"addr": 1})])
    code = encode(shader)
    assert int.from_bytes(code[:4], "little") == 3
    assert decode(code, "evergreen") == shader


def test_subroutines_behind_the_end_are_decoded() -> None:
    call, back, nop = (table.named("r700", "CF", name) for name in ("CALL", "RETURN", "NOP"))
    assert call is not None
    assert back is not None
    assert nop is not None
    ends = Cf(nop, {"end_of_program": 1})
    shader = Shader("r700", (Cf(call, {"addr": 3}), ends, Cf(nop), Cf(nop), Cf(back)))
    assert decode(encode(shader), "r700") == shader


MOV = table.alu("evergreen", "MOV")
RECIP = table.alu("evergreen", "RECIP_IEEE")


def groups_of(*ops: AluOp, literals: tuple[int, ...] = ()) -> Shader:
    return shader_of("evergreen", [Cf(clause_row("evergreen", "alu"), groups=(AluGroup(ops, literals),))])


@pytest.mark.parametrize(
    ("shader", "message"),
    [
        (groups_of(AluOp(MOV, T, (Source(1),))), "MOV for channel x issues in slot x here, not t"),
        (groups_of(AluOp(RECIP, 0, (Source(1),))), "RECIP_IEEE for channel x issues in slot t here, not x"),
        (groups_of(AluOp(MOV, 1, (Source(1),), dst_chan=1), AluOp(MOV, 0, (Source(1),))), "comes after y"),
        (groups_of(AluOp(MOV, 0, (Source(600),))), "src0_sel is 600: it has 9 bits"),
        (groups_of(AluOp(MOV, 0, (Source(LITERAL, literal=1),))), "a literal that is not the group's x"),
        (groups_of(AluOp(MOV, 0, (Source(1),)), literals=(1, 2)), "has 2 literals; its operands want 0"),
        (groups_of(AluOp(MOV, 0)), "MOV takes 1 operands, not 0"),
        (groups_of(*(AluOp(MOV, 0, (Source(1),)) for _ in range(0))), "a group has no operations"),
        (shader_of("evergreen", [Cf(clause_row("evergreen", "alu"))]), "ALU has at least one group"),
        (
            shader_of(
                "evergreen",
                [Cf(clause_row("evergreen", "alu"), groups=(AluGroup((AluOp(MOV, 0, (Source(1),)),)),) * 129)],
            ),
            "its clause has 129 words; 128 can be",
        ),
        (shader_of("r700", [Cf(clause_row("r700", "tex"), {"addr": 3}, fetches=())]), "TEX has at least one fetch"),
    ],
)
def test_what_cannot_be_encoded_is_refused(shader: Shader, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        encode(shader)


def code_of(*words: int) -> bytes:
    return b"".join(word.to_bytes(8, "little") for word in words)


END = 1 << 53
ALU_AT_2 = 2 | 8 << 58


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"", "address 0x0: the code ends within its control flow"),
        (code_of(0), "address 0x8: the code ends within its control flow"),
        (code_of(0x3F << 54), "evergreen has no control-flow instruction 0x3f"),
        (code_of(ALU_AT_2, END), "its clause at word 2 lies outside of the code"),
        (code_of(1 | 8 << 58, END), "its clause at word 1 overlaps the control flow"),
        (code_of(ALU_AT_2, END, 0), "address 0x10: the clause ends within a group"),
        (code_of(ALU_AT_2, END, 253 | 0x19 << 39 | 1 << 31), "the clause ends within a group's literals"),
        (code_of(ALU_AT_2, END, 0x7 << 39 | 1 << 31), "evergreen has no OP2 operation 0x7"),
        (code_of(12 << 58, END), "ALU_EXTENDED is not followed by an ALU clause"),
        (code_of(9 | 10 << 54, END), "the code ends within its control flow"),
        (code_of(2 | 1 << 54, END, 31 | 3 << 5, 0), "evergreen has no fetch instruction 0x7f"),
    ],
)
def test_what_is_no_code_is_refused(code: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(code, "evergreen")

"""Text in the vendor's style: what is printed, what is read, that both are each other's inverse, and the errors."""

import random

import pytest
import test_vliw_encoding as encoding
from test_llvm_code import NAMES
from vliw_samples import CASES, CAYMAN, COMPUTE, LOOP

from headwater.chips.vliw_isas import GENERATION_OF_TARGET, GENERATIONS
from headwater.errors import SourceError
from headwater.isa.vliw import table
from headwater.isa.vliw.assembly import parse
from headwater.isa.vliw.decode import decode
from headwater.isa.vliw.encode import encode
from headwater.isa.vliw.model import FETCH_KINDS, Cf, Fetch, Shader
from headwater.isa.vliw.printer import cf_texts, fetch_text, group_text, text


@pytest.mark.parametrize(
    ("listing", "generation"), [(LOOP, "r700"), (COMPUTE, "evergreen"), (CAYMAN, "cayman")], ids=GENERATIONS[1:]
)
def test_listing_is_read_and_printed_again(listing: str, generation: str) -> None:
    shader = parse(listing, generation)
    assert text(shader) == listing
    assert text(decode(encode(shader), generation)) == listing


@pytest.mark.parametrize(("name", "target", "code", "llvm"), CASES, ids=NAMES)
def test_real_code_is_read_and_printed_again(name: str, target: str, code: bytes, llvm: str) -> None:
    generation = GENERATION_OF_TARGET[target]
    shader = decode(code, generation)
    exact = text(shader, exact=True)
    assert parse(exact, generation) == shader
    assert text(parse(exact, generation), exact=True) == exact
    assert encode(parse(exact, generation)) == encode(shader)
    shown = text(shader)
    assert text(parse(shown, generation)) == shown


def random_shader(rng: random.Random, generation: str) -> Shader:
    rows = list(encoding.rows(generation, "CF", "CF_ALU", "GWS", "EXPORT", "MEM", "RAT"))
    made = []
    for _ in range(6):
        row = rng.choice(rows)
        if row.name == "ALU_EXTENDED" or "end" in row.flags:
            continue
        fields = encoding.random_fields(rng, generation, row.kind)
        fields.pop("end_of_program", None)
        groups = fetches = ()
        if "alu" in row.flags:
            groups = tuple(encoding.random_group(rng, generation) for _ in range(4))
        elif row.flags & {"tex", "vtx", "gds"}:
            kinds = ("GDS",) if "gds" in row.flags else [kind for kind in FETCH_KINDS if kind != "GDS"]
            chosen = [rng.choice(encoding.rows(generation, *kinds)) for _ in range(3)]
            fetches = tuple(Fetch(r, encoding.random_fields(rng, generation, r.kind)) for r in chosen)
        elif "target" in row.flags:
            fields["addr"] = 0
        elif row.kind == "CF":
            fields |= {"addr": rng.getrandbits(20), "count": rng.randrange(16)}
        made.append(Cf(row, fields, groups, fetches))
    return encoding.shader_of(generation, made)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_exact_text_keeps_every_field(generation: str) -> None:
    rng = random.Random(f"text {generation}")
    for _ in range(120):
        shader = random_shader(rng, generation)
        shown = text(shader, exact=True)
        assert parse(shown, generation) == shader
        assert text(parse(shown, generation), exact=True) == shown


def test_numbers_before_instructions_are_labels() -> None:
    shader = parse("07 JUMP ADDR(20)\n9 NOP\n20 NOP\nEND_OF_PROGRAM\n", "r700")
    assert [cf.fields["addr"] for cf in shader.cf] == [2, 0, 0]
    assert text(shader).splitlines()[0] == "00 JUMP ADDR(2)"


def test_literals_get_free_places() -> None:
    listing = (
        "0 ALU: ADDR() CNT(1)\n 0 x: ADD R0.x, 2.5f, (0x00000007, 0).y\n  y: ADD_INT R0.y, 12, 0x7\nEND_OF_PROGRAM"
    )
    group = parse(listing, "r700").cf[0].groups[0]
    assert group.literals == (0x40200000, 7, 12, 0)
    assert [[source.chan for source in op.sources] for op in group.ops] == [[0, 1], [2, 1]]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_has_clause_temporaries(generation: str) -> None:
    shader = parse("0 ALU: ADDR() CNT(1)\n 0 x: ADD T3.x, T0.y, R123.z\nEND_OF_PROGRAM", generation)
    op = shader.cf[0].groups[0].ops[0]
    assert (op.dst_gpr, [source.sel for source in op.sources]) == (124, [127, 123])
    assert group_text(shader.cf[0].groups[0], generation, 0) == ["x: ADD         T3.x,  T0.y,  R123.z"]


def test_added_instructions_move_the_clauses() -> None:
    longer = COMPUTE.replace("      3  x: GROUP", "         y: NOP\n      3  x: GROUP")
    shader = parse(longer, "evergreen")
    assert [cf.address for cf in decode(encode(shader), "evergreen").cf][:2] == [32, 42]


def test_pieces_have_texts_of_their_own() -> None:
    shader = parse(LOOP, "r700")
    assert group_text(shader.cf[6].groups[0], "r700", 7) == ["t: RCP_e       R1.x,  PV6.x"]
    assert group_text(shader.cf[0].groups[1], "r700")[0] == "z: FRACT       ____,  -R0.x"
    assert fetch_text(shader.cf[3].fetches[0], "r700") == "SAMPLE R3.xyz_, R1.xy0x, t1, s0 UNNORM(XYZW)"
    assert fetch_text(shader.cf[3].fetches[1], "r700").endswith("OFFSET(16) FETCH_TYPE(NO_INDEX_OFFSET)")
    assert cf_texts(shader)[2] == "ALU_BREAK: ADDR(38) CNT(2) KCACHE0(CB0:0-15)"


@pytest.mark.parametrize(
    ("listing", "message"),
    [
        ("", "<assembly>:1:1: error: there is no instruction"),
        ("00 FLY", "<assembly>:1:4: error: r700 has no control-flow instruction FLY"),
        ("00 CF_END", "<assembly>:1:4: error: r700 has no control-flow instruction CF_END"),
        ("00 ALU: ADDR(32) CNT(1)", "<assembly>:1:4: error: the clause of ALU is empty"),
        ("00 NOP\n      0  x: MOV R0.x, R1.x", "<assembly>:2:10: error: an ALU operation is outside an ALU clause"),
        ("00 ALU:\n 0 x: FLY R0.x", "<assembly>:2:7: error: r700 has no ALU operation FLY"),
        ("00 ALU:\n 0 x: LDS_ADD R0.x", "<assembly>:2:7: error: r700 has no ALU operation LDS_ADD"),
        ("00 ALU:\n 0 x: MOV R0.y, R1.x", "<assembly>:2:11: error: slot x writes channel x"),
        ("00 ALU:\n 0 x: MOV R128.x, R1.x", "<assembly>:2:11: error: R128: r700 has 128"),
        ("00 ALU:\n 0 x: MOV R1.x", "<assembly>:2:15: error: expected ','"),
        ("00 ALU:\n 0 x: MOV R1.x, R2", "<assembly>:2:19: error: expected a channel: .x, .y, .z or .w"),
        ("00 ALU:\n 0 x: MOV R1.x, R2.x FAST", "<assembly>:2:22: error: MOV has no property FAST"),
        ("00 ALU:\n 0 x: MOV R1.x, KC2[0].x", "error: a window of constants has 32; R600 and R700 have two"),
        ("00 ALU:\n 0 x: MOV R1.x, 99999999999", "<assembly>:2:17: error: 99999999999 has more than 32 bits"),
        ("00 ALU:\n 0 x: ADD R1.x, (0x1).x, (0x2).x", "error: the group's literal x is 0x00000001 already"),
        (
            "00 ALU:\n 0 x: ADD R1.x, 5, 6\n y: ADD R1.y, 7, 8\n z: MOV R1.z, 9",
            "<assembly>:2:4: error: a group has room",
        ),
        ("00 ALU:\n 0 y: MOV R1.y, R0.x\n x: MOV R1.x, R0.x", "MOV in slot x comes after y"),
        ("00 ALU:\n 0 t: MOV R1.x, R0.x", "MOV for channel x issues in slot x here, not t"),
        ("00 ALU:\n 0 x: ADD R1.x, R1[A0.x].x, R2[AL].x", "error: an operation has one index for all its operands"),
        ("00 ALU: KCACHE0(CB0:8-23)\n 0 x: MOV R1.x, R0.x", "<assembly>:1:9: error: a window has 16 or 32 constants"),
        ("00 TEX:\n 0 SAMPLE R0, R1, t0, s99", "<assembly>:2:24: error: a sampler's number is at most 31"),
        ("00 TEX:\n 0 SAMPLE R0, R1, t0, s0 LOD(0.3)", "error: LOD is a multiple of 1/16 from -4.0 to 3.9375"),
        ("00 JUMP ADDR(7)", "<assembly>:1:4: error: there is no CF instruction 07 to go to"),
        ("00 NOP\n00 NOP", "<assembly>:2:1: error: another CF instruction has the number 00"),
        ("00 NOP\nEND_OF_PROGRAM\n01 NOP", "<assembly>:3:1: error: nothing can follow END_OF_PROGRAM"),
        ("00 EXP: ROP0, R1", "<assembly>:1:9: error: expected what is exported: PIX, POS or PARAM with a number"),
        (
            "00 TEX:\n 0 SAMPLE R0, R1, t0, s0 ,",
            "<assembly>:2:27: error: SAMPLE of r700 has no property without a name",
        ),
        ("00 NOP MARK", "<assembly>:1:8: error: NOP of r700 has no property MARK"),
        ("MOV R0.x, R1.x", "<assembly>:1:1: error: expected an instruction with its number"),
    ],
)
def test_errors_name_line_and_column(listing: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(listing, "r700")
    assert message in str(caught.value)


def test_every_mnemonic_is_read() -> None:
    for generation in GENERATIONS:
        for row in table.rows(generation):
            assert table.named(generation, row.kind, row.mnemonic) is row
            assert table.named(generation, row.kind, row.name) is row

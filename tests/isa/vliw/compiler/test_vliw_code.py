"""What the compiler makes: the documents' example, limits, and the rules of clauses."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import pytest

from headwater import chips
from headwater.errors import LimitError, ResourceError, SourceError, UsageError
from headwater.il.parser import parse
from headwater.isa.vliw import decode, encode
from headwater.isa.vliw.compiler import compile_program, driver
from headwater.isa.vliw.compiler.ir import Op, Value
from headwater.isa.vliw.compiler.ready import Node, Ready
from headwater.isa.vliw.printer import text
from tests.counted import count_calls
from tests.isa.vliw.compiler.il_runs import CHIPS

PIXELS = "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) v0.xy__\ndcl_output_generic o0\n"
RESOURCE = "dcl_resource_id({0})_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
# As AMD's brcc writes the matrix product of its samples: functions that fetch, a counter of integers.
MATRIX_PRODUCT = f"""{PIXELS}{RESOURCE.format(0)}{RESOURCE.format(1)}dcl_cb cb0[1]
dcl_literal l0,0x00000000,0x00000000,0x00000000,0x00000000
dcl_literal l1,0x00000001,0x00000001,0x00000001,0x00000001
dcl_literal l12,0x3F000000,0x3F000000,0x3F000000,0x3F000000
mov r304.xy__,v0.xyzw
mov r269.x___,cb0[l0.x + 0].x000
call 39
mov o0.xyzw,r303.xyzw
endmain
func 2
ieq r0.x___,r17.x000,l0.x000
if_logicalnz r0.x000
sample_resource(0)_sampler(0) r19.xyzw,r18.xy00
endif
ieq r0.x___,r17.x000,l1.x000
if_logicalnz r0.x000
sample_resource(1)_sampler(0) r19.xyzw,r18.xy00
endif
mov r16.x___,r19.x000
ret_dyn
ret
func 37
mov r279.x___,l0.x000
mov r280.x___,l0.x000
whileloop
ilt r281.x___,r280.x000,r271.x000
break_logicalz r281.x000
itof r282.x___,r280.x000
itof r282._y__,r275.0y00
mov r17.x___,l0.x000
mov r18.xy__,r282.xy00
call 2
mov r315.x___,r16.x000
itof r283.x___,r275.x000
itof r283._y__,r280.0x00
mov r17.x___,l1.x000
mov r18.xy__,r283.xy00
call 2
mul_ieee r284.x___,r315.x000,r16.x000
add r279.x___,r279.x000,r284.x000
iadd r280.x___,r280.x000,l1.x000
endloop
ret
func 39
sub r309.xy__,r304.xy00,l12.xy00
mov r271.x___,r269.x000
ftoi r275.xyzw,r309.xy00
call 37
mov r303.xyzw,r279.x000
ret_dyn
ret
end
"""


def compiled(source, chip="hd5870"):
    return compile_program(parse(source), chips.find(chip))


def groups(made):
    return [group for cf in made.shader.cf for group in cf.groups]


def test_matrix_product_has_the_clauses_of_amds():
    # AMD, ATI Stream Computing Technical Overview, figure 14: clauses 00 to 07 on RV670.
    made = compiled(MATRIX_PRODUCT, "hd3870")
    names = [cf.row.name for cf in made.shader.cf]
    assert names == ["ALU", "LOOP_START_DX10", "ALU_BREAK", "ALU", "TEX", "ALU", "LOOP_END", "EXPORT_DONE"]
    assert [len(cf.fetches) for cf in made.shader.cf] == [0, 0, 0, 0, 2, 0, 0, 0]
    assert len(groups(made)) <= 7
    assert "06 ENDLOOP i0 PASS_JUMP_ADDR(2)" in text(made.shader)


def test_sgemm_of_eight_by_eight_needs_at_most_25_registers():
    lines = [PIXELS.replace("o0\n", "o0"), *(f"dcl_output_generic o{k}" for k in range(1, 8))]
    lines += [RESOURCE.format(k).strip() for k in range(4)]
    lines += ["dcl_cb cb0[1]", "dcl_literal l0, 0.0, 1.0, 0, 0", *(f"mov r{10 + k}, l0.xxxx" for k in range(16))]
    lines += ["mov r0.xy, v0.xy", "mov r0.z, l0.x", "whileloop", "ge r1.x, r0.z, cb0[0].x", "break_logicalnz r1.x"]
    lines += [f"sample_resource({k})_sampler(0) r{2 + k}, r0.{'zy' if k < 2 else 'xz'}" for k in range(4)]
    for row in range(8):
        for half in range(2):
            total = f"r{10 + 2 * row + half}"
            lines.append(f"mad {total}, r{2 + row // 4}.{'xyzw'[row % 4] * 4}, r{4 + half}, {total}")
    lines += ["add r0.z, r0.z, l0.y", "endloop"]
    lines += [f"add o{k}, r{10 + k}, r{18 + k}" for k in range(8)]
    made = compiled("\n".join([*lines, "end"]) + "\n")
    assert made.gprs <= 25
    assert sum(len(group.ops) for group in groups(made)) / len(groups(made)) > 3


@pytest.mark.parametrize("chip", CHIPS)
def test_code_is_read_back_as_it_was_written(chip):
    made = compiled(MATRIX_PRODUCT, chip)
    assert decode.decode(encode.encode(made.shader), made.shader.generation) == made.shader


def test_breaks_are_pushed_where_clauses_cannot_break():
    for chip in ("hd6970", "hd6870"):
        names = [cf.row.name for cf in compiled(MATRIX_PRODUCT, chip).shader.cf]
        assert "ALU_BREAK" not in names
        assert "LOOP_BREAK" in names
    assert "PUSH" in [cf.row.name for cf in compiled(MATRIX_PRODUCT, "hd6870").shader.cf]


def test_reads_of_local_memory_are_paired():
    made = compiled(
        "il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_lds_id(1) 1024\ndcl_raw_uav_id(0)\ndcl_literal l0, 2, 4, 8, 0\n"
        "ishl r0.x, vTidInGrp.x, l0.x\nlds_load_id(1) r1.x, r0.x\niadd r0.y, r0.x, l0.y\nlds_load_id(1) r1.y, r0.y\n"
        "add r1.x, r1.x, r1.y\nuav_raw_store_id(0) mem.x, r0.x, r1.x\nend\n"
    )
    names = [op.row.name for group in groups(made) for op in group.ops]
    assert names.count("LDS_READ2_RET") == 1
    assert "LDS_READ_RET" not in names


def test_addresses_of_paired_reads_are_computed_once():
    """However often one place is read. 192 sums of a loop unrolled to 128 barriers were all computed ahead, and kept."""
    reads = "".join(
        "lds_load_id(1) r1.x, r2.x\nlds_load_id(1) r1.y, r2.y\nadd r3.x, r1.x, r1.y\nadd r4.x, r4.x, r3.x\n"
        "lds_store_id(1) r0.x, r4.x\nfence_threads_lds\n"
        for _ in range(6)
    )
    made = compiled(
        "il_cs_2_0\ndcl_num_thread_per_group 128\ndcl_lds_id(1) 1024\ndcl_raw_uav_id(0)\ndcl_literal l0, 2, 4, 8, 0\n"
        f"ishl r0.x, vTidInGrp.x, l0.x\niadd r2.xy, r0.xx, l0.yz\n{reads}uav_raw_store_id(0) mem.x, r0.x, r4.x\nend\n"
    )
    names = [op.row.name for group in groups(made) for op in group.ops]
    assert names.count("LDS_READ2_RET") == 6
    assert names.count("ADD_INT") == 2


def test_clauses_are_closed_at_their_limits():
    body = "\n".join(f"mad r{k % 9}, r{(k + 1) % 9}, r{(k + 2) % 9}, v0.x" for k in range(200))
    made = compiled(f"{PIXELS}mov r0, v0.xyxy\n{body}\nmov o0, r3\nend\n", "hd3870")
    for cf in made.shader.cf:
        assert sum(group.slots for group in cf.groups) <= 128
    samples = "\n".join(f"sample_resource(0)_sampler(0)_aoffimmi({k - 8},0,0) r{k}, v0.xy" for k in range(12))
    sums = "\n".join(f"add r0, r0, r{k}" for k in range(1, 12))
    source = f"{PIXELS}{RESOURCE.format(0)}{samples}\n{sums}\nmov o0, r0\nend\n"
    assert max(len(cf.fetches) for cf in compiled(source, "hd3870").shader.cf) == 8
    assert max(len(cf.fetches) for cf in compiled(source, "hd5870").shader.cf) == 12


LITERALS = "".join(f"dcl_literal l{k}, {k + 2}.5, {k + 7}.25, {k + 3}.125, {k + 9}.75\n" for k in range(3))


def chain(count):
    """Groups of as many words as there are, as many as is said."""
    return "".join(f"mad r1, r1.yzwx, l{k % 3}.xyxy, l{k % 3}.zwzw\nmul r3.x, r3.x, l{k % 3}.x\n" for k in range(count))


@pytest.mark.parametrize("chip", ["hd4870", "hd6970"])
@pytest.mark.parametrize(("before", "between"), [(1, 2), (2, 2), (4, 1), (4, 2), (7, 0)])
def test_an_address_is_loaded_where_its_accesses_fit_into_the_clause(chip, before, between):
    accesses = "".join(
        f"mov x0[r0.{'xyz'[k % 3]}], r4\nmad r4, r4, r4.wxyz, l0.x\n{chain(1) * between}" for k in range(20)
    )
    made = compiled(
        f"{PIXELS}dcl_indexed_temp_array x0[8]\n{LITERALS}ftoi r0, v0.xyxy\nitof r1, r0.xyxy\nmov r3.x, r1.x\n"
        f"mov r4, r1.y\n{chain(before)}{accesses}mov r2, x0[r0.w]\nadd r2, r2, r3.x\nadd r2, r2, r1\nadd r2, r2, r4\n"
        "mov o0, r2\nend\n",
        chip,
    )
    assert 120 < max(sum(group.slots for group in cf.groups) for cf in made.shader.cf) <= 128


def test_results_of_local_memory_that_are_used_far_apart_are_copied():
    sums = "".join(f"mad r2.x, r2.x, r1.{'xyzw'[k % 4]}, l{k % 3}.z\n" for k in range(150))
    for before in (14, 17, 20):
        made = compiled(
            f"il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_lds_id(1) 1024\ndcl_raw_uav_id(0)\n{LITERALS}"
            "dcl_literal l9, 2, 4, 0, 0\nishl r0.x, vTidInGrp.x, l9.x\niadd r0.y, r0.x, l9.y\nitof r1, r0.xyxy\n"
            f"mov r3.x, r1.x\n{chain(before)}lds_store_id(1) r0.x, r1.x\nlds_load_id(1) r2.x, r0.x\n"
            f"lds_load_id(1) r2.y, r0.y\n{sums}add r2.x, r2.x, r2.y\nadd r2.x, r2.x, r3.x\n"
            "uav_raw_store_id(0) mem.x, r0.x, r2.x\nend\n"
        )
        assert max(sum(group.slots for group in cf.groups) for cf in made.shader.cf) <= 128


def test_accesses_by_one_index_read_few_constants_at_once():
    moves = "".join(f"mov r1.{c}, cb0[{100 * k}].{c}\n" for k, c in enumerate("xyzw"))
    source = f"{PIXELS}dcl_indexed_temp_array x0[8]\ndcl_cb cb0[400]\nftoi r0, v0.xyxy\n{moves}mov x0[r0.x], r1\n"
    compiled(f"{source}mov o0, x0[r0.y]\nend\n", "hd4870")


def test_a_clause_too_short_for_what_it_must_hold_is_refused():
    found = chips.find("hd5870")
    short = dataclasses.replace(found, features=dataclasses.replace(found.vliw, alu_slots_per_clause=3))
    with pytest.raises(LimitError, match=r":6: .* words, a clause of Radeon HD 5870 has 3"):
        compile_program(
            parse(
                f"{PIXELS}dcl_literal l0, 2.5, 3.5, 4.5, 5.5\ndcl_literal l1, 6.5, 7.5, 8.5, 9.5\n"
                "dp4 o0, v0.xyxy, l0\nend\n"
            ),
            short,
        )


@pytest.mark.parametrize(
    ("body", "chip", "message"),
    [
        ("dadd r0.xy, v0.xyxy, v0.xyxy", "hd5770", "has no double precision"),
        ("fma r0, v0, v0, v0", "hd4870", "has no fused multiply-addition"),
        ("mov g[r0.x], r1\nuav_raw_store_id(0) mem.x, r0.x, r1.x", "hd4870", "one global buffer"),
    ],
)
def test_what_a_chip_lacks_is_refused(body, chip, message):
    declared = "dcl_raw_uav_id(0)\n" if "uav" in body else ""
    with pytest.raises((SourceError, ResourceError)) as caught:
        compiled(f"{PIXELS}{declared}{body}\nmov o0, r0\nend\n", chip)
    assert message in str(caught.value)
    assert chips.find(chip).name in str(caught.value)


def few_registers(chip, count):
    found = chips.find(chip)
    return dataclasses.replace(found, registers=dataclasses.replace(found.registers, vgprs_per_wavefront=count))


@pytest.mark.parametrize(("chip", "reads"), [("hd3870", "MEM_SCRATCH"), ("hd5870", "READ_SCRATCH")])
def test_variables_go_to_scratch_where_registers_run_out(chip, reads):
    samples = "\n".join(f"sample_resource(0)_sampler(0) r{k}, r0.xy\nadd r0.x, r0.x, r{k}.x" for k in range(1, 20))
    sums = "\n".join(f"mad r0, r{k}, r{20 - k}, r0" for k in range(1, 20))
    source = f"{PIXELS}{RESOURCE.format(0)}mov r0, v0.xyxy\n{samples}\n{sums}\nmov o0, r0\nend\n"
    assert compiled(source, chip).gprs > 16
    made = compile_program(parse(source), few_registers(chip, 16))
    assert made.gprs <= 16
    assert made.scratch_bytes > 0
    names = [cf.row.name for cf in made.shader.cf] + [f.row.name for cf in made.shader.cf for f in cf.fetches]
    assert reads in names
    with pytest.raises(ResourceError, match="registers"):
        compile_program(parse(source), few_registers(chip, 1))


@pytest.mark.parametrize("chip", CHIPS)
def test_scratch_memory_has_an_end(chip):
    body = "dcl_indexed_temp_array x0[{0}]\nftoi r0, v0\nmov x0[r0.x], v0\nmov o0, x0[r0.y]\nend\n"
    compile_program(parse(PIXELS + body.format(4096)), chips.find(chip))
    with pytest.raises(ResourceError, match=r"needs 4097 elements of scratch memory .* addresses 4096"):
        compile_program(parse(PIXELS + body.format(4097)), chips.find(chip))


def test_what_is_spilled_is_not_read_back_all_at_once():
    """More values than there are registers, all loaded before the first is stored."""
    loads = "\n".join(f"iadd r200.x, r0.x, l{k}.x\nuav_raw_load_id(0) r{k}, r200.x" for k in range(1, 61))
    stores = "\n".join(
        f"iadd r200.x, r0.x, l{k}.x\niadd r201, r{k}, r{61 - k}\nuav_raw_store_id(0) mem, r200.x, r201"
        for k in range(1, 61)
    )
    literals = "\n".join(f"dcl_literal l{k}, {16 * k}, 0, 0, 0" for k in range(1, 61))
    head = f"il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_raw_uav_id(0)\n{literals}\nishl r0.x, vAbsTidFlat.x, l1.x\n"
    made = compile_program(parse(f"{head}{loads}\nfence_memory\n{stores}\nend\n"), few_registers("hd5870", 40))
    assert made.gprs <= 40
    assert made.scratch_bytes > 0


@pytest.mark.parametrize("wanted", [4, 30, 557, 1500])
def test_attempts_are_few_however_many_variables_have_to_be_spilled(monkeypatch, wanted):
    """Where it helps nobody to spill fewer than it takes, as in a loop of hundreds of variables that are alike."""
    tried = []

    class Variables:
        lengths, region, inputs = (1.0,) * 2000, [], []

        def __init__(self, program, facts, target, filename):
            pass

        def copied(self):
            return [], []

    class Attempt:
        def __init__(self, variables, region, inputs, spilled, share):
            tried.append(len(spilled))
            self.registers = SimpleNamespace(count=100 if len(spilled) >= wanted else 126)
            self.spilled = len(spilled)

        def compiled(self):
            return self.spilled

    monkeypatch.setattr(driver, "_Variables", Variables)
    monkeypatch.setattr(driver, "_Attempt", Attempt)
    found = driver._fitted(None, None, SimpleNamespace(gprs=124), "", "")
    assert wanted <= found <= max(24, 8 * wanted // 7 + 1)
    assert len(tried) <= 2 * wanted.bit_length()


def test_more_variables_than_registers_are_refused_soon(monkeypatch):
    """All are loaded together, change in a loop, and are wanted at its end: to spill some helps nobody. What goes before
    spilling is done once for all attempts but the first."""
    n = 100
    loads = "\n".join(f"iadd r300.x, r0.x, l{k}.x\nuav_raw_load_id(0) r{k}.x, r300.x" for k in range(1, n + 1))
    turns = "\n".join(f"imad r{k}.x, r{k}.x, l1.x, r{k % n + 1}.x" for k in range(1, n + 1))
    sums = "\n".join(f"ixor r301.x, r301.x, r{k}.x" for k in range(1, n + 1))
    literals = "\n".join(f"dcl_literal l{k}, {4 * k}, 0, 0, 0" for k in range(1, n + 1))
    head = f"il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_raw_uav_id(0)\n{literals}\nishl r0.x, vAbsTidFlat.x, l1.x\n"
    loop = f"whileloop\niadd r302.x, r302.x, l1.x\n{turns}\nige r303.x, r302.x, r1.x\nbreak_logicalnz r303.x\nendloop"
    source = f"{head}{loads}\n{loop}\n{sums}\nuav_raw_store_id(0) mem.x, r0.x, r301.x\nend\n"
    attempts, lowered = [], []
    schedule, statements = driver.schedule, driver.Statements
    monkeypatch.setattr(driver, "Statements", lambda *args: lowered.append(args) or statements(*args))
    monkeypatch.setattr(driver, "schedule", lambda *args: attempts.append(args) or schedule(*args))
    with pytest.raises(ResourceError, match="registers"):
        compile_program(parse(source), few_registers("hd5870", 24))
    assert 2 < len(attempts) <= 7
    assert len(lowered) == 2


def test_values_wait_to_be_computed_until_there_is_room():
    """Each of 1,000 registers is read once, in the order in which they are made: few have to be there at once, but slot t
    is free in each group for one more."""
    made = "\n".join(f"iadd r{k}, r{k - 1}, l0" for k in range(10, 1010))
    read = "\n".join(f"ixor r1, r1, r{k}" for k in range(10, 1010))
    source = f"{PIXELS}dcl_literal l0, 3, 5, 7, 9\nmov r1, v0.xyxy\nmov r9, v0.yxyx\n{made}\n{read}\nmov o0, r1\nend\n"
    found = compiled(source)
    assert found.gprs <= 124
    assert found.scratch_bytes == 0
    # Eight operations for each register, five to a group at best.
    assert len(groups(found)) < 1.1 * 8 * 1000 / 5


def test_addresses_wait_to_be_computed_until_what_is_fetched_has_room():
    """Three hundred addresses that are ready at once, of one sum, which takes hardly any registers in the text's order:
    they are neither all computed first nor spilled."""
    turn = "iadd r1.x, r0.x, l0.{0}\nand r1.x, r1.x, l1.x\nuav_raw_load_id(0) r1.x, r1.x\niadd r2.x, r2.x, r1.x\n"
    literals = "dcl_literal l0, 3, 5, 7, 11\ndcl_literal l1, 0xfc, 0, 0, 0\n"
    numbers = "".join(f"iadd r0.x, r0.x, r0.y\n{turn.format('xyzw'[k % 4])}" for k in range(300))
    made = compiled(
        f"il_cs_2_0\ndcl_num_thread_per_group 256\ndcl_raw_uav_id(0)\n{literals}mov r0.xy, vAbsTidFlat.xx\n"
        f"mov r2.x, l1.y\n{numbers}uav_raw_store_id(0) mem.x, r0.y, r2.x\nend\n"
    )
    assert not made.scratch_bytes
    assert made.gprs < 62
    assert sum(len(cf.fetches) for cf in made.shader.cf) == 300
    assert sum(bool(cf.fetches) for cf in made.shader.cf) <= 2 * -(-300 // 16)


def test_copies_of_one_operations_operands_are_placed_one_after_the_other():
    """They have the number of what reads them, and may be equally urgent."""
    nodes = [Node(Op("MOV", [], [Value()]), 7) for _ in range(3)]
    ready = Ready(lambda op: 0)
    for node in nodes:
        ready.add(node)
    for full in (False, True):
        ready.begin(crowded=False, full=full)
        assert [ready.pop() for _ in nodes] == nodes
        ready.end()


def test_other_chips_are_refused():
    with pytest.raises(UsageError, match="is not a VLIW chip"):
        compiled(f"{PIXELS}mov o0, v0\nend\n", "vega64")


def test_work_grows_with_the_number_of_instructions():
    def source(count):
        body = "\n".join(f"mad r{k % 60}, r{(k + 7) % 60}, r{(k + 13) % 60}, v0.xyxy" for k in range(count))
        return f"{PIXELS}mov r0, v0.xyxy\n{body}\nmov o0, r3\nend\n"

    compiled(source(1))  # what is computed once a process
    assert count_calls(compiled, source(500)) < 15 * count_calls(compiled, source(50))


def test_the_address_register_of_r600_is_loaded_in_slot_x():
    """Four of them are there, chosen by the slot. Slot x is wanted by a comparison here, which once pushed the load aside."""
    body = """dcl_cb cb0[8]
dcl_indexed_temp_array x0[8]
dcl_indexed_temp_array x1[12]
dcl_literal l1, 1, 6, 9, 0
dcl_literal l2, 3, 100, 0, 0
ftoi r4.xy, v0.xy
imad r12.x, r4.y, l2.y, r4.x
mov r5, r12.x
mov r6, r4.yxyx
itof r0, r4.xyxy
mov r2, cb0[1]
switch r15.x
case 0
iand r10.xy__, r6, l2.x
endswitch
lt r6.xy__, r2.yyzz_invert, x0[r10.y + 1].x_neg(x)
ubit_insert r4, l1.y, r6.x, x1[r10.x + 4].y, x1[0].yyzz
switch r15.x
case 1
whileloop
endloop
endswitch
mov r8, r5
mov o0, r0
mov o1, r4
mov o2, r8
end
"""
    compiled = compile_program(
        parse(PIXELS + "dcl_output_generic o1\ndcl_output_generic o2\n" + body), chips.find("hd3870")
    )
    loads = re.findall(r"([xyzwt]): MOVA_INT", text(compiled.shader))
    assert loads
    assert set(loads) == {"x"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "mov r0, r1\n" * 12 + "endmain\nend\n",
            r"error: the program has more than 10 statements, the most .* VLIW chip\n  hint: make several programs of it$",
        ),
        (
            "call 1\n" * 4 + "endmain\nfunc 1\n" + "mov r0, r1\n" * 4 + "ret\nendfunc\nend\n",
            r"error: with its functions in place of their calls the program has more than 10 .*\n  hint: calls are inlined",
        ),
    ],
)
def test_too_long_a_program_is_refused_for_what_makes_it_long(monkeypatch, body, message):
    from headwater.isa.vliw.compiler import structure

    monkeypatch.setattr(structure, "MAX_STATEMENTS", 10)
    program = parse("il_cs_2_0\ndcl_num_thread_per_group 64\n" + body, "x.il")
    with pytest.raises(SourceError, match=message):
        compile_program(program, chips.find("hd5870"), "x.il")

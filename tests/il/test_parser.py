"""Reading and printing IL; what is wrong is told with line, column and remedy."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from headwater import chips
from headwater.errors import HeadwaterError, ResourceError, SourceError
from headwater.il.checker import check
from headwater.il.model import Index, Register
from headwater.il.parser import parse
from headwater.il.printer import text
from headwater.il.table import operations
from headwater.il.to_opencl import to_opencl
from headwater.isa.vliw.compiler.driver import compile_program

WHOLE = """il_ps_2_0
; a comment
dcl_input_position_interp(linear_noperspective) v0.xy__
dcl_output_usage(generic) o0.xyzw
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_literal l0, 0x3F800000, 1, -1, 2.5f
dcl_cb cb0[4]
dcl_indexed_temp_array x0[3]
##!!BRCC
\tsample_resource(0)_sampler(0)_aoffimmi(1,0,0) r1._yzw, v0.xy
mad_ieee_x2_sat r2.xy01, r1.x000_neg(xyzw), r1_abs.yyyy, cb0[r1.x + 2].rgba
mov x0[r2.y], cb0[l0.x]
if_logicalnz r2.x
    call 3
else
    mov r2, r1
endif
mov o0, r2
endmain
func 3
ret_dyn
ret
endfunc
func 4
ret
end
"""


def test_whole():
    program = parse(WHOLE)
    mad = program.body[1]
    assert (mad.mnemonic, [m.name for m in mad.modifiers]) == ("mad_ieee", ["x2", "sat"])
    assert mad.operands[0].lanes == "xy01"
    assert mad.operands[3].register == Register("cb", 0, Index(Register("r", 1), "x", 2))
    assert mad.operands[3].lanes == "xyzw"
    assert [f.number for f in program.functions] == [3, 4]
    assert program.declarations[3].values == (0x3F800000, 1, 0xFFFFFFFF, 0x40200000)
    again = parse(text(program))
    assert again == program
    assert text(again) == text(program)
    check(program)
    to_opencl(program)


@pytest.mark.parametrize(
    ("short", "whole"),
    [("xy", "xy__"), ("z", "__z_"), ("xw", "x__w"), ("x___", "x___"), ("_y", "_y__"), ("rgb", "xyz_")],
)
def test_masks(short, whole):
    program = parse(f"il_ps_2_0\nmov r0.{short}, r1\nend\n")
    assert program.body[0].operands[0].lanes == whole


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("mob r0, r1", "unknown operation mob", 1),
        ("add r0, r1", "add takes 3 operands, 2 given", 1),
        ("mov r0, r1, r2", "mov takes 2 operands, 3 given", 13),
        ("add_bogus r0, r1, r2", "add has no modifier _bogus", 5),
        ("mov r0.yx, r1", "a mask has the letters x y z w in this order", 7),
        ("mov r0, r1.xyzwx", "a swizzle has one to four", 11),
        ("mov r0, r1_foo", "a source has no modifier _foo", 11),
        ("mov r0, cb0[r1.x", "a bracket is not closed", 4),
        ("mov r0, cb0[r1.x * 2]", "cannot read the index", 13),
        ("mov r0, 5", "a register is expected", 9),
        ("mov r0, , r1", "an operand is missing", 9),
        ("dcl_literal l0, 1, 2, 3, 4x", "a number is expected", 26),
        ("dcl_literal l0, 1, 2, 3, 0x100000000", "does not fit 32 bits", 26),
        ("mov q0, r1", "q0 cannot be written", 5),
        ("mov r0, l9", "literal l9 is not declared", 9),
        ("mov r0, cb3[0]", "cb3 is not declared", 9),
        ("break", "break is not in a loop", 1),
        ("endif", "endif closes no block", 1),
        ("whileloop", "whileloop is not closed", 1),
        ("else", "else belongs to no if", 1),
        ("call 9", "function 9 is not defined", 1),
        ("sample_resource(2)_sampler(0) r0, r1", "resource 2 is not declared", 1),
        ("set_relop(foo) r0, r1, r2", "_relop(foo)", 1),
        ("mov r0, vTid0", "vTid is for compute shaders", 9),
        ("mov r0, r65536", "r65536 is no register: IL's numbers of registers are at most 65535", 9),
        ("dcl_literal l123456, 1, 2, 3, 4", "at most 65535", 13),
        ("dadd r0.x, r1, r2", "dadd writes a double", 6),
    ],
)
def test_errors(line, message, column):
    with pytest.raises(SourceError) as caught:
        check(parse(f"il_ps_2_0\n{line}\nend\n", "k.il"), "k.il")
    assert message in caught.value.message
    assert (caught.value.span.file, caught.value.span.line, caught.value.span.column) == ("k.il", 2, column)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "the program is empty"),
        ("mov r0, r1\nend", "starts with its kind"),
        ("il_ps_2_0\nmov r0, r1\n", "has no end"),
        ("il_ps_2_0\nend\nmov r0, r1\n", "text after the end"),
        ("il_cs_2_0\nend\n", "without its work-group's size"),
        ("il_ps_2_0\nendmain\nfunc 1\nmov r0, r1\nend\n", "does not end with ret"),
        ("il_ps_2_0\nendmain\nfunc 1\nret\nfunc 1\nret\nend\n", "defined twice"),
        ("il_ps_2_0\ncall 1\nendmain\nfunc 1\ncall 1\nret\nend\n", "calls itself"),
    ],
)
def test_errors_of_whole_programs(source, message):
    with pytest.raises(SourceError) as caught:
        check(parse(source))
    assert message in caught.value.message


def test_numbers_of_five_digits():
    """Up to IL's largest, in comments and numbers of other kinds, and with zeros in front."""
    text = "il_cs_2_0 ; r70000\ndcl_num_thread_per_group 64\ndcl_literal l0, 70000, 0x77777, 0, 70000.5\n"
    text += "mov r65535, l0\nmov r0000000070, r65535\nend\n"
    assert check(parse(text)) is not None


def test_a_register_that_il_does_not_have_is_told_alone():
    """Such a program is large: nothing else is read."""
    with pytest.raises(SourceError) as caught:
        parse("il_ps_2_0\nmovv r0, r1\nmov r0, r1\r\n  mov r100000, r0\nend\n", "k.il")
    assert "movv" not in str(caught.value)
    assert (caught.value.span.line, caught.value.span.column) == (4, 7)


def test_every_faulty_line_is_told():
    def told(source):
        with pytest.raises(SourceError) as caught:
            check(parse(source, "k.il"), "k.il")
        return [line for line in str(caught.value).split("\n") if line.startswith("k.il:")]

    assert told("il_ps_2_0\nmovv r0, r1\nmov r0\nadd r1, r2, r3\nadd r1, r2, r3, r4\nmov r1, r1\n") == [
        "k.il:2:1: error: unknown operation movv",
        "k.il:3:1: error: mov takes 2 operands, 1 given",
        "k.il:5:17: error: add takes 3 operands, 4 given",
        "k.il:6:1: error: the program has no end",
    ]
    assert told("il_ps_2_0\nsample_resource(3)_sampler(0) r1, r0\nif_logicalnz r0.x\nmov r9, l7\nend\n") == [
        "k.il:2:1: error: resource 3 is not declared",
        "k.il:3:1: error: if_logicalnz is not closed",
        "k.il:4:9: error: literal l7 is not declared",
    ]


WORDS = st.one_of(
    st.sampled_from(sorted(operations())),
    st.sampled_from(["r0", "r1.xyzw", "l0", "cb0[r1.x + 2]", "o0.x___", "_neg(x)", "_sat", "(", ")", "[", "]", ",", ";", ".", "0x1", "\n", "il_ps_2_0\n", "end\n", "func 1\n", "ret\n"]),
    st.text(alphabet="abcr0123_.()[],; \n\t", max_size=8),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=40), st.booleans())
def test_nothing_but_errors_comes_of_rubbish(words, headed):
    source = ("il_ps_2_0\n" if headed else "") + " ".join(words)
    try:
        program = parse(source)
    except HeadwaterError:
        return
    assert parse(text(program)) == program
    try:
        to_opencl(program)
    except HeadwaterError:
        return


def test_numbers_have_only_so_many_digits() -> None:
    with pytest.raises(SourceError, match="99999 does not fit 32 bits"):
        parse("il_ps_2_0\ndcl_literal l0, " + "9" * 5000 + ", 0, 0, 0\nend\n")


def test_switches_have_only_so_many_cases() -> None:
    cases = "".join(f"case {n}\nmov r1.x, r2.x\nbreak\n" for n in range(5000))
    source = "il_cs_2_0\ndcl_num_thread_per_group 64\nswitch r0.x\n" + cases + "endswitch\nend\n"
    with pytest.raises(ResourceError, match="cases of switches nest too deeply"):
        compile_program(parse(source), chips.find("hd5870"))


def test_blocks_nest_only_so_deep() -> None:
    depth = 1001
    source = "il_ps_2_0\n" + "if_logicalnz r0.x\n" * depth + "endif\n" * depth + "end\n"
    with pytest.raises(SourceError, match="blocks nest deeper than 1000") as error:
        check(parse(source))
    assert error.value.span is not None
    assert error.value.span.line == depth + 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sample_resource(x)_sampler(0) r0, r1", r"_resource takes a number, as in _resource\(1\)"),
        ("sample_resource(0)_sampler() r0, r1", r"_sampler takes a number, as in _sampler\(1\)"),
        ("uav_raw_load_id(0,1) r0, r1.x", r"_id takes a number"),
        ("load_resource(0)_aoffimmi(1,y) r0, r1", r"_aoffimmi takes one to three numbers"),
    ],
)
def test_modifiers_take_numbers(line, message):
    with pytest.raises(SourceError, match=message) as caught:
        parse(f"il_ps_2_0\n{line}\nend\n")
    assert caught.value.span.line == 2


def test_numbers_of_modifiers_may_begin_with_zero():
    made = parse("il_ps_2_0\nload_resource(01) r0, r1\nload_resource(0x1) r0, r1\nend\n").body
    assert [one.number("resource") for one in made] == [1, 1]

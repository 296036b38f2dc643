"""Statements may share a line: programs that write IL by themselves leave line breaks out."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError
from headwater.il.parser import _Parser, parse
from headwater.il.printer import text as text_of

PROGRAM = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_raw_uav_id(0)
dcl_literal l0, 4, 1, 0x3f800000, 3
umul r0.x, vaTid0.x, l0.x
iand r1.x, vaTid0.x, l0.y
if_logicalnz r1.x
iadd r2.x, vaTid0.x, l0.w
else
mov r2.x, l0.y
endif
whileloop
iadd r2.x, r2.x, l0.y
ilt r3.x, l0.w, r2.x
break_logicalnz r3.x
endloop
uav_raw_store_id(0) mem0.x___, r0.x, r2.x
ret
end
"""


def test_one_line_is_the_same_program():
    assert text_of(parse(PROGRAM.replace("\n", " "))) == text_of(parse(PROGRAM))
    assert text_of(parse(PROGRAM.replace("\n", "\t "))) == text_of(parse(PROGRAM))


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_one_line_runs(device):
    out = np.zeros(64, np.uint32)
    hw.compile(PROGRAM.replace("\n", " ") + "\n", "il", device=device).main[(64,)](out)
    n = np.arange(64)
    start = np.where(n & 1, n + 3, 1)
    assert out.tolist() == np.maximum(start + 1, 4).tolist()


@pytest.mark.parametrize(
    "shared", ["mov r0.x, r1.x mul r2, r1, r1", "mov_sat r0, r1 else", "dcl_cb cb0[4] dcl_output_generic o0"]
)
def test_two_statements_of_a_line(shared):
    assert len(list(_Parser(shared, "k.il").statements())) == 2


@pytest.mark.parametrize(
    "one",
    [
        "mov r0.x , r1.x",
        "mov r0,  r1",
        "add r0, r1, r2_neg(xyzw)",
        "dcl_global_flags refactoringAllowed | enableDoublePrecisionFloatOps",
        "dcl_lds_sharing_mode _wavefrontRel",
        "mov r0, cb0[ r1.x + 3 ]",
        "sample_resource(0)_sampler(0) r0, r1.xy00",
    ],
)
def test_one_statement_of_a_line(one):
    assert len(list(_Parser(one, "k.il").statements())) == 1


def test_a_fault_in_the_middle_of_a_line_has_its_column():
    text = "il_ps_2_0 dcl_output_generic o0 mov o0, 98 end"
    with pytest.raises(SourceError) as caught:
        parse(text, "k.il")
    assert (caught.value.span.line, caught.value.span.column) == (1, text.index("98") + 1)

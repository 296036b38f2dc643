"""Loops and branches give phis to variables that may be read later, and to no others."""

import numpy as np

import headwater as hw
from headwater.il.parser import parse
from headwater.isa.vliw.compiler import scopes, structure

HEAD = "il_cs_2_0\ndcl_num_thread_per_group 64\ndcl_literal l0, 0, 1, 2, 3\ndcl_literal l1, 5, 7, 10, 63\n"
BODY = """
mov r0.x, vTidInGrpFlat0.x
iand r1.x, r0.x, l0.w
mov r20.x, l0.x
whileloop
  ige r2.x, r20.x, r1.x
  break_logicalnz r2.x
  iadd r3.x, r20.x, l1.z
  if_logicalnz r20.x
    mov r5.x, r3.x
    mov r8.x, r0.x
    mov r8.y, r8.x
  endif
  mov r21.x, l0.x
  mov r6.x, r20.x
  whileloop
    ige r2.x, r21.x, l0.z
    break_logicalnz r2.x
    iadd r6.x, r6.x, r21.x
    iadd r21.x, r21.x, l0.y
    call 1
  endloop
  iadd r7.x, r7.x, r6.x
  mov r10.x, r20.x
  iadd r20.x, r20.x, l0.y
endloop
call 1
iadd r30.x, r5.x, r7.x
imad r30.x, r8.y, l1.x, r30.x
imad r30.x, r9.y, l1.y, r30.x
iadd r30.x, r30.x, r10.x
mov g[vTidInGrpFlat0.x], r30.x
endmain
func 1
mov r9.x, r0.x
iadd r9.y, r9.y, r9.x
ret
end
"""


def expected():
    values = []
    for item in range(64):
        last = sums = kept = calls = counter = 0
        for turn in range(item & 3):
            if turn:
                last, kept = turn + 10, item
            sums += turn + 1
            calls += 2
            counter = turn
        values.append(last + sums + 5 * kept + 7 * item * (calls + 1) + counter)
    return np.array(values)


def test_variables_keep_what_later_turns_and_statements_read():
    for device in ("hd5870", "hd4870"):
        held = np.zeros((64, 4), np.int32)
        hw.compile(HEAD + BODY, language="il", device=device).main[(64,), None](g=held, device=device)
        assert held[:, 0].tolist() == expected().tolist(), device


def test_phis_are_for_what_is_read_later():
    nodes = structure.build(parse(HEAD + BODY), "loops.il")
    scopes.mark(nodes)
    outer = next(node for node in nodes if isinstance(node, structure.Repeat))
    inner = next(node for node in outer.body if isinstance(node, structure.Repeat))
    branch = next(node for node in outer.body if isinstance(node, structure.Branch))

    def named(node):
        return {f"{kind}{which}.{'xyzw'[lane]}" for kind, which, lane in node.assigned if kind == "r"}

    assert named(inner) == {"r2.x", "r6.x", "r9.x", "r9.y", "r21.x"}
    assert named(outer) == {"r5.x", "r7.x", "r8.x", "r8.y", "r9.x", "r9.y", "r10.x", "r20.x"}
    assert named(branch) == {"r5.x", "r8.x", "r8.y"}

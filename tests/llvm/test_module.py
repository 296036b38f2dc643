"""A module's text, read and written again, means the same; its parts are found and replaced."""

import re

import pytest

from headwater.errors import InternalError
from headwater.llvm.ir import Module
from headwater.llvm.metadata import elements, fields, numbers, strings
from headwater.llvm.modules import parse
from headwater.llvm.text import type_end

TEXT = """\
; ModuleID = 'a comment'
target datalayout = "e-p:32:32-A5"

%struct.S = type { i32, [2 x <2 x float>] }
$merged = comdat any
@text = internal addrspace(4) constant [14 x i8] c"@f, comdat !1\\00", align 1
@own = internal addrspace(3) global %struct.S undef, align 8
@other = external global i32

; Function Attrs: nounwind
define void @k(i32 %n, ptr %p) #0 !dbg !4 !reqd_work_group_size !7 {
  switch i32 %n, label %end [
    i32 1, label %one
  ]

one:                                              ; preds = %0
  %x = mul nsw i32 %n, 3
  %y = call i32 @f(i32 noundef %x), !range !8
  store volatile i32 %y, ptr %p, align 4
  br label %end

end:
  ret void
}

declare i32 @f(i32) #0

attributes #0 = { nounwind "a"="b" }
!llvm.module.flags = !{!6}
!llvm.dbg.cu = !{!2}
!1 = !DIFile(filename: "a, b.cl", directory: "")
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 7, type: !3, unit: !2)
!5 = !{}
!6 = !{i32 2, !"Debug Info Version", i32 3}
!7 = !{i32 8, i32 -4, i32 1}
!8 = !{i32 0, i32 9}
"""


def test_what_is_written_means_what_was_read():
    text = str(Module(TEXT))
    assert str(Module(text)) == text
    # LLVM gives types numbers where it knows such already; the first line is the module's name.
    named = [re.sub(r"%struct\.S[.\d]*", "%S", str(parse(one))).partition("\n")[2] for one in (TEXT, text)]
    assert named[0] == named[1]


def test_parts_are_found_by_their_names():
    module = Module(TEXT)
    body = module.bodies["k"]
    assert module.address_bits == 32
    assert body.operations == ["switch", "", "mul", "call", "store", "br", "", "ret"]
    (inst,) = (inst for _, inst in body.having("store"))
    assert (inst.flags, inst.args[1].text, inst.align) == (("volatile",), "%p", 4)
    (call,) = (inst for _, inst in body.calls("f("))
    assert (call.detail, call.attachment("range"), call.attachment("dbg")) == ("f", "!8", "")
    assert numbers(module.metadata[body.attached["reqd_work_group_size"]]) == [8, -4, 1]
    own, other = module.variable("@own"), module.variable("@other")
    assert (own.space, own.align, own.ty.size_bytes, own.is_constant, own.is_external) == (3, 8, 24, False, False)
    assert other.is_external
    assert fields(module.metadata["!1"]) == {"filename": '"a, b.cl"', "directory": '""'}
    assert fields(module.metadata["!2"])["emissionKind"] == "LineTablesOnly"
    assert (strings(module.metadata["!6"]), elements(module.metadata["!8"])) == (
        ["Debug Info Version"],
        ["i32 0", "i32 9"],
    )


def test_lines_are_replaced_and_functions_renamed_outside_of_strings():
    module = Module(TEXT)
    body = module.bodies["k"]
    assert not body.replace({})
    assert body.replace({2: ["  %w = add i32 %n, 1", "  %x = mul i32 %w, 3"], 3: []})
    assert body.operations[2:5] == ["add", "mul", "store"]
    module.rename({"f": "g", "k": "m"})
    assert list(module.bodies) == ["m"]
    assert list(module.declares) == ["g"]
    assert module.bodies["m"].head.startswith("define void @m(")
    assert 'c"@f, comdat !1' in module.globals["@text"]


def test_declarations_are_added_once():
    module = Module(TEXT)
    for line in ("declare i32 @f(i32)", "declare void @k()", "declare void @new()"):
        module.declare(line)
    assert list(module.declares) == ["f", "new"]


@pytest.mark.parametrize(
    "ty",
    ["i32", "ptr addrspace(3)", "<4 x float>", "[2 x { i8, <2 x i16> }]", 'target("spirv.Image", void, 1, 0)', "%s.T"],
)
def test_types_end_where_they_end(ty):
    for rest in (" %x", ", align 4", ""):
        assert type_end(f"{ty}{rest}", 0) == len(ty)


def test_what_is_not_ir_is_refused():
    with pytest.raises(InternalError, match="cannot read"):
        Module("define void k() {\n}\n")


def test_assembly_is_a_call_of_nothing():
    module = Module(
        "define i32 @f(i32 %a) {\n"
        '  %r = call i32 asm sideeffect "s_mov_b32 m0, -1\\0A ds_add_u32 $1", "=&v,v,~{memory}"(i32 %a) #3\n'
        "  ret i32 %r\n}\n"
    )
    (block,) = module.function("f").blocks.values()
    assert [(i.op, i.detail, [a.text for a in i.args]) for i in block.insts] == [
        ("call", "", ["%a"]),
        ("ret", "", ["%r"]),
    ]


def test_functions_that_are_read_are_their_readers_own():
    module = Module("define i32 @f(i32 %a) {\n  %r = add i32 %a, 1\n  ret i32 %r\n}\n")
    first = module.function("f").blocks
    next(iter(first.values())).insts[0].name = "%other"
    (block,) = module.function("f").blocks.values()
    assert block.insts[0].name == "%r"

"""LLVM's constants, from their text: their bits, how they lie in a VLIW chip's memory, which are known when it runs."""

from __future__ import annotations

import struct

import pytest

from headwater.il.from_llvm.constants import HoldsAddress, Unknown, memory_image
from headwater.llvm.ir import Module
from headwater.llvm.text import string_bytes

NULL_5 = "addrspacecast (ptr null to ptr addrspace(5))"
NULL_3 = "addrspacecast (ptr null to ptr addrspace(3))"
# As LLVM 22.1 prints them.
CONSTANTS = {
    r'[8 x i8] c"\\\\\22\5c\00\ffA"': b'\\\\"\\\0\xffA',
    "[4 x i8] zeroinitializer": bytes(4),
    "[4 x i8] undef": bytes(4),
    "{ i8, i32 } poison": bytes(8),
    "i1 true": b"\1",
    "[3 x i1] [i1 true, i1 false, i1 true]": b"\1\0\1",
    "<10 x i1> <i1 true, i1 false, i1 true, i1 true, i1 false, i1 false, i1 false, i1 true, i1 true, i1 poison>": b"\x8d\1",
    "i8 -92": b"\xa4",
    "i24 -2": b"\xfe\xff\xff\0",
    "i64 -9223372036854775808": struct.pack("<q", -(2**63)),
    "i128 -170141183460469231731687303715884105728": bytes(15) + b"\x80",
    "i128 -1": b"\xff" * 16,
    "half 0xH7E01": b"\x01\x7e",
    "bfloat 0xR3F80": b"\x80\x3f",
    "float 0x36A0000000000000": struct.pack("<I", 1),
    "float 0x7FF4000000000000": struct.pack("<I", 0x7FA00000),
    "float 0xFFF8000020000000": struct.pack("<I", 0xFFC00001),
    "float -0.000000e+00": struct.pack("<I", 0x80000000),
    "float 1.500000e+00": struct.pack("<f", 1.5),
    "double 4.940660e-324": struct.pack("<Q", 1),
    "double 0x7FF0000000000001": struct.pack("<Q", 0x7FF0000000000001),
    "double 1.000000e-01": struct.pack("<d", 0.1),
    "<2 x half> splat (half 0xH3C00)": b"\0\x3c" * 2,
    "[2 x <3 x i8>] [<3 x i8> <i8 1, i8 2, i8 3>, <3 x i8> undef]": b"\1\2\3" + bytes(5),
    "<3 x i32> <i32 1, i32 -1, i32 92>": struct.pack("<4i", 1, -1, 92, 0),
    "<2 x i64> <i64 -1, i64 poison>": b"\xff" * 8 + bytes(8),
    "{ i8, i32, [2 x i16] } { i8 -1, i32 2147483647, [2 x i16] [i16 1, i16 -2] }": struct.pack(
        "<bxxxi2h", -1, 2**31 - 1, 1, -2
    ),
    "<{ i8, i32 }> <{ i8 3, i32 -4 }>": struct.pack("<bi", 3, -4),
    "{ { i8, i16 }, [2 x { i8, i8 }] } { { i8, i16 } { i8 1, i16 2 }, [2 x { i8, i8 }] zeroinitializer }": (
        struct.pack("<bxh", 1, 2) + bytes(4)
    ),
    "ptr null": bytes(4),
    "ptr addrspace(5) null": bytes(4),
    f"ptr addrspace(5) {NULL_5}": b"\xff" * 4,
    f"ptr addrspace(3) {NULL_3}": b"\xff" * 4,
    "ptr addrspace(1) addrspacecast (ptr null to ptr addrspace(1))": bytes(4),
    f"ptr addrspacecast (ptr addrspace(5) {NULL_5} to ptr)": bytes(4),
    "ptr inttoptr (i32 66 to ptr)": struct.pack("<I", 66),
    "ptr addrspacecast (ptr addrspace(5) inttoptr (i32 8 to ptr addrspace(5)) to ptr)": struct.pack("<I", 0xFFFE0008),
    "ptr addrspacecast (ptr addrspace(3) inttoptr (i32 0 to ptr addrspace(3)) to ptr)": struct.pack("<I", 0xFFFF0000),
    "ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) null, i32 12)": struct.pack("<I", 12),
    "ptr addrspace(1) getelementptr ({ i8, [4 x i16] }, ptr addrspace(1) null, i64 -1, i32 1, i8 3)": struct.pack("<i", -2),
    f"i32 ptrtoint (ptr addrspace(5) {NULL_5} to i32)": b"\xff" * 4,
    f"i64 ptrtoint (ptr addrspace(5) {NULL_5} to i64)": b"\xff" * 4 + bytes(4),
    f"i8 ptrtoint (ptr addrspace(5) {NULL_5} to i8)": b"\xff",
    f"i32 add (i32 ptrtoint (ptr addrspace(5) {NULL_5} to i32), i32 3)": struct.pack("<I", 2),
    f"i32 sub (i32 0, i32 ptrtoint (ptr addrspace(5) {NULL_5} to i32))": struct.pack("<I", 1),
    f"i32 xor (i32 ptrtoint (ptr addrspace(5) {NULL_5} to i32), i32 -1)": bytes(4),
    f"i16 trunc (i32 add (i32 ptrtoint (ptr addrspace(5) {NULL_5} to i32), i32 65537) to i16)": bytes(2),
    "float bitcast (i32 1065353216 to float)": struct.pack("<f", 1),
    "<2 x i32> bitcast (<4 x half> <half 0xH3C00, half 0xH4000, half undef, half 0xH8000> to <2 x i32>)": (
        struct.pack("<2I", 0x40003C00, 0x80000000)
    ),
    "i32 extractelement (<2 x i32> bitcast (<2 x float> <float 0.0, float 1.0> to <2 x i32>), i32 1)": struct.pack("<f", 1),
}  # fmt: skip


def image(text: str) -> bytes:
    module = Module(f"@x = internal addrspace(4) constant {text}, align 4\n")
    return memory_image(module, module.global_value("@x"))


@pytest.mark.parametrize("text", CONSTANTS)
def test_constants_lie_in_memory(text) -> None:
    assert image(text) == CONSTANTS[text]


def test_a_string_has_each_byte() -> None:
    for byte in range(256):
        printed = r"\\" if byte == 92 else chr(byte) if 32 <= byte < 127 and byte != 34 else f"\\{byte:02X}"
        for around in ("", "5C", r"\\", r"\0A"):
            assert string_bytes(f'c"{printed}{around}"') == bytes([byte]) + string_bytes(around)


@pytest.mark.parametrize(
    "text",
    [
        "[2 x ptr addrspace(4)] [ptr addrspace(4) null, ptr addrspace(4) @y]",
        "ptr getelementptr (i8, ptr @y, i32 4)",
        "i32 ptrtoint (ptr @y to i32)",
        "{ i8, i32 } { i8 1, i32 sub (i32 ptrtoint (ptr @y to i32), i32 ptrtoint (ptr @x to i32)) }",
        "float bitcast (i32 ptrtoint (ptr @y to i32) to float)",
    ],
)
def test_what_holds_an_address_is_known_when_it_runs(text) -> None:
    with pytest.raises(HoldsAddress):
        image(text)


@pytest.mark.parametrize("text", ["fp128 0xL00000000000000003FFF000000000000", "i32 sdiv (i32 4, i32 2)"])
def test_what_no_chip_has_is_told_by_its_name(text) -> None:
    with pytest.raises(Unknown):
        image(text)

"""Constants of a program hold what they were given, on every family of chips: all 256 bytes, all forms of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import headwater as hw
from headwater.cli import main
from headwater.opencl.clang import compile_to_ir
from headwater.opencl.gcn import compile_code_object

DEVICES = ("cpu", "hd7970", "r9-290x", "rx480", "vega64", "hd2600-xt", "hd4870", "hd5870", "hd6970")
WITH_DOUBLES = ("cpu", "vega64", "hd4870", "hd5870", "hd6970")

ALL_BYTES = bytes(range(256))
# A literal has each byte as it is printed where it can be; the one after an escape must not be taken for its part.
LITERAL = "".join(
    f"\\{byte:03o}" if byte < 32 or byte > 126 or chr(byte) in '"\\?' else chr(byte) for byte in ALL_BYTES
)
FLOATS = (0.0, -0.0, 1.5, -1e-45, 3.4028234663852886e38, float("inf"), float("-inf"), 0.1, 16777216.0, 1.1754944e-38)
DOUBLES = (0.0, -0.0, 0.1, 5e-324, -1.7976931348623157e308, float("inf"), 1e22, 2.0**53 + 2, 1e-310)
LONGS = (0, -1, 2**63 - 1, -(2**63), 1 << 32, -(1 << 31), 255, -256)

# Constants that an address is part of, where LLVM has operands; `z` is 0, which no compiler knows. None of the answers
# depends on where the variables lie.
ADDRESSES = """constant int t[4] = {1, 2, 3, 4};
kernel void k(global int *o, int z) {
  local int a[4]; local int b[4];
  int w[4] = {5, 6, 7, 8};
  int4 v = vload4(0, t);
  v[(uint)(size_t)t & 3] = 3;
  o[0] = v[(uint)(size_t)t & 3]; o[1] = w[(size_t)t & 3]; o[2] = t[((size_t)t & 0) + z];
  int4 u = (int4)((int)(size_t)a, 1, (int)(size_t)b, 2), f = z ? u : (int4)(7);
  o[3] = u[z] == (int)(size_t)a; o[4] = u[z + 2] != u[z]; o[5] = u[z + 1]; o[6] = f.x; o[7] = (u & 0).z + u.w;
  switch ((int)(size_t)t) { case 1: o[8] = 1; break; case 77: o[8] = 2; break; default: o[8] = 3; }
  float x = (float)(size_t)t;
  o[9] = ((float2)(x, 1.0f)).x == (float)(size_t)t; o[10] = (short)(size_t)t == (short)(size_t)&t[0];
  o[11] = (int)(size_t)&t[2] - (int)(size_t)t; o[12] = (int)(size_t)&a[3] - (int)(size_t)a; o[13] = as_float((int)(size_t)t) == 3.0f;
  a[(size_t)b & 3] = 5; o[14] = a[((size_t)b & 3) + z]; o[15] = *(local int *)((size_t)a + 4 * z);
  barrier((size_t)t & 1 ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE);
}"""

COPIES = r"""typedef struct { int a[24]; char c[7]; } S;
constant S t[3] = {{{1, 2, 3}, "ab\\"}, {{4, 5, 6, [23] = 9}, "\\\\c"}, {{7}, "x"}};
kernel void k(global int *o, int z) {
  local S l[2];
  S s = t[1];
  o[0] = s.a[z + 2]; o[1] = s.c[z + 1]; o[2] = s.a[z + 23];
  l[1] = t[2]; l[0] = s;
  S u = l[1];
  o[3] = l[1].a[z]; o[4] = l[z].c[2 + z]; o[5] = u.c[z];
  char m[300];
  for (int i = 0; i < 300; i++) m[i] = 92;
  const char text[] = "q\\\"w";
  o[6] = m[z + 299]; o[7] = text[z + 1]; o[8] = text[z + 2]; o[9] = "\\z"[z];
}"""


def listed(numbers: object) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def floats(numbers: tuple[float, ...], suffix: str) -> str:
    named = {float("inf"): "INFINITY", float("-inf"): "-INFINITY"}
    return listed(named.get(n) or f"{n.hex()}{suffix}" for n in numbers)


def two(at: int) -> bytes:
    """A struct of a char, an int, a short array and a char3, with its padding."""
    return struct.pack("<bxxxi2h", -at, at << 24, at, -at) + struct.pack("<3Bx", at, 92, 34)


FORMS: dict[str, tuple[str, bytes]] = {
    "uchar": (f"uchar t[256] = {listed(ALL_BYTES)}", ALL_BYTES),
    "char": (f"char t[256] = {listed(b - 256 if b > 127 else b for b in ALL_BYTES)}", ALL_BYTES),
    "literal": (f'uchar t[257] = "{LITERAL}"', ALL_BYTES + b"\0"),
    "not_ended": (f'char t[256] = "{LITERAL}"', ALL_BYTES),
    "backslashes": (r'uchar t[9] = "\\0A\\\\5C"', b"\\0A\\\\5C\0\0"),
    "quotes": (r'uchar t[8] = "\"\\\"\n\\n"', b'"\\"\n\\n\0\0'),
    "rows": (f"uchar t[4][64] = {{{', '.join(listed(ALL_BYTES[k : k + 64]) for k in range(0, 256, 64))}}}", ALL_BYTES),
    "rest_is_zero": ("uchar t[64] = {92, 92, [60] = 92}", b"\\\\" + bytes(58) + b"\\" + bytes(3)),
    "zeros": ("int t[3][4] = {{0}}", bytes(48)),
    "bool": ("bool t[5] = {true, false, 1, 0, true}", b"\1\0\1\0\1"),
    "short": ("short t[4] = {-1, 32767, -32768, 92}", struct.pack("<4h", -1, 32767, -32768, 92)),
    "int": ("int t[4] = {-1, 2147483647, -2147483647 - 1, 0x5c5c5c5c}", struct.pack("<4i", -1, 2**31 - 1, -(2**31), 0x5C5C5C5C)),
    "long": (f"long t[8] = {listed('(-0x7fffffffffffffffL - 1)' if n == -(2**63) else f'{n}L' for n in LONGS)}", struct.pack("<8q", *LONGS)),
    "float": (f"float t[10] = {floats(FLOATS, 'f')}", struct.pack("<10f", *FLOATS)),
    "nan": ("float t[2] = {NAN, -NAN}", struct.pack("<2I", 0x7FC00000, 0xFFC00000)),
    "enum": ("enum {A = 92, B = -92, C = 7} t[3] = {B, A, C}", struct.pack("<3i", -92, 92, 7)),
    "vector": ("uchar4 t[3] = {(uchar4)(92), (uchar4)(1, 2, 3, 4), (uchar4)(0)}", b"\\\\\\\\\1\2\3\4\0\0\0\0"),
    "vector_of_three": ("char3 t[2] = {(char3)(1, 92, -1), (char3)(9, 8, 7)}", b"\1\\\xff\0\x09\x08\x07\0"),
    "wide_vector": ("long2 t[2] = {(long2)(-1, 1), (long2)(92, 1L << 40)}", struct.pack("<4q", -1, 1, 92, 1 << 40)),
    "float_vector": ("float3 t[2] = {(float3)(1, -0.0f, 2.5f), (float3)(92)}", struct.pack("<8f", 1, -0.0, 2.5, 0, 92, 92, 92, 0)),
    "struct": (
        "struct {char a; int b; short c[2]; uchar3 d;} t[3] = "
        + listed(f"{{{-n}, {n << 24}, {{{n}, {-n}}}, (uchar3)({n}, 92, 34)}}" for n in (1, 2, 92)),
        b"".join(two(n) for n in (1, 2, 92)),
    ),
    "packed_struct": (
        "struct __attribute__((packed)) {char a; int b; uchar c[3]; long d;} t[2] = {{92, 92, {34, 92, 0}, -1}, {-1, -2, {1, 2, 3}, 1L << 60}}",
        struct.pack("<bi3Bq", 92, 92, 34, 92, 0, -1) + struct.pack("<bi3Bq", -1, -2, 1, 2, 3, 1 << 60),
    ),
    "struct_with_text": (
        r'struct {uchar name[7]; uchar more; int n;} t[2] = {{"a\\b\"c", 92, 5}, {"\\", 1, 6}}',
        b'a\\b"c\0\0\\'[:7] + b"\\" + struct.pack("<i", 5) + b"\\\0\0\0\0\0\0\1" + struct.pack("<i", 6),
    ),
    "union": ("union {uint a; uchar b[8];} t[2] = {{0x5c225c22}, {92}}", b'"\\"\\' + bytes(4) + b"\\" + bytes(7)),
}  # fmt: skip
OF_HALF = (
    "half t[6] = {0.0h, -0.0h, 1.5h, 65504.0h, 5.9604645e-08h, -0.1h}",
    struct.pack("<6e", 0.0, -0.0, 1.5, 65504.0, 5.9604645e-08, -0.1),
)
OF_DOUBLE = (f"double t[9] = {floats(DOUBLES, '')}", struct.pack("<9d", *DOUBLES))


def contents(forms: dict[str, tuple[str, bytes]], device: str, before: str = "") -> dict[str, bytes]:
    """The bytes of each form as one kernel reads them, by an index that the compiler does not know."""
    declared, reads, at = "", "", 0
    for name, (text, expected) in forms.items():
        declared += f"__constant {text.replace(' t[', f' t_{name}[')};\n"
        reads += f"  if (i < sizeof t_{name}) out[{at} + i] = ((__constant uchar *)t_{name})[i ^ flip];\n"
        at += len(expected)
    program = hw.compile(
        f"{before}{declared}kernel void k(global int *out, int flip) {{\n  uint i = get_global_id(0);\n{reads}}}",
        device=device,
    )
    out = np.full(at, -1, np.int32)
    program.k[(max(len(expected) for _, expected in forms.values()),), None](out, 0, device=device)
    found, rest = {}, out.tolist()
    for name, (_, expected) in forms.items():
        found[name], rest = bytes(rest[: len(expected)]), rest[len(expected) :]
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_bytes_of_every_form_arrive(device) -> None:
    assert contents(FORMS, device) == {name: expected for name, (_, expected) in FORMS.items()}


@pytest.mark.parametrize("device", WITH_DOUBLES)
def test_halves_and_doubles_arrive(device) -> None:
    # R700 writes no bytes and shorts, and has no halves therefore.
    forms = {"doubles": OF_DOUBLE} if device == "hd4870" else {"halves": OF_HALF, "doubles": OF_DOUBLE}
    found = contents(forms, device, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n")
    assert found == {name: expected for name, (_, expected) in forms.items()}


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870", "hd6970"])
def test_addresses_are_operands_of_every_kind(device) -> None:
    out = np.full(16, -1, np.int32)
    hw.compile(ADDRESSES, device=device).k[(1,), (1,)](out, 0, device=device)
    assert out.tolist() == [3, 5, 1, 1, 1, 1, 7, 2, 3, 1, 1, 8, 12, 0, 5, 5]


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_parts_of_tables_are_copied(device) -> None:
    out = np.full(10, -1, np.int32)
    hw.compile(COPIES, device=device).k[(1,), (1,)](out, 0, device=device)
    assert out.tolist() == [6, 92, 9, 7, 99, 120, 92, 92, 34, 92]


NAMES = r"""constant uchar a$b[4] = {1, 92, 3, 4};
constant uchar tablé[4] = {5, 92, 7, 8};
int f$(int $x) { return $x + 1; }
kernel void k$(global int *o, int $z) {
  local int l$[4], lokäl[4];
  l$[$z] = 3; lokäl[$z] = 4;
  constant uchar *p = $z ? tablé : 0;
  long ß = ($z + 9L) / ($z + 3L);
  o[0] = a$b[1 + $z]; o[1] = tablé[2 + $z]; o[2] = f$($z); o[3] = l$[$z]; o[4] = lokäl[$z]; o[5] = p == 0; o[6] = ß;
}"""


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_names_that_llvm_quotes_are_read(device) -> None:
    out = np.full(7, -1, np.int32)
    hw.compile(NAMES, device=device)["k$"][(1,), (1,)](out, 0, device=device)
    assert out.tolist() == [92, 7, 1, 3, 4, 1, 3]


# -- large tables, which go around LLVM's text --------------------------------------------------------------------------

ROWS = 20_000
BYTES = [k * 7919 >> 3 & 255 for k in range(3 * ROWS)]
SHORTS = [k * 31 % 65536 - 32768 for k in range(ROWS)]
INTS = [k * 2654435761 % 2**32 - 2**31 for k in range(ROWS)]
SINGLES = [FLOATS[k % len(FLOATS)] if k % 3 else k * 0.37 for k in range(ROWS)]
LARGE = f"""constant uchar b[] = {listed(BYTES)};
constant short s[2][{ROWS}] = {{{{0}}, {listed(SHORTS)}}};
constant int n[] = {listed(INTS)};
constant float f[] = {floats(tuple(SINGLES), "f")};
constant struct {{ char c; int n; }} t[] = {listed(f"{{{k % 100}, {k}}}" for k in range(ROWS))};
constant int2 v[] = {listed(f"(int2)({k}, -{k})" for k in range(ROWS))};
kernel void k(global uint *o, int z) {{
  int i = get_global_id(0), j = i * 331 % {ROWS} + z;
  o += 7 * i;
  o[0] = b[j]; o[1] = s[1][j]; o[2] = s[0][j]; o[3] = n[j];
  o[4] = as_uint(f[j]); o[5] = t[j].n + t[j].c; o[6] = v[j].y;
}}
kernel void other(global int *o, int z) {{ o[0] = n[z + 7]; }}
"""


@pytest.mark.parametrize("device", ["cpu", "hd7970", "vega64", "hd4870", "hd5870"])
def test_large_tables_hold_what_they_were_given(device):
    program = hw.compile(LARGE, language="opencl")
    at = np.arange(64) * 331 % ROWS
    got, one = np.zeros((64, 7), np.uint32), np.zeros(1, np.int32)
    program.k[(64,), (64,)](got, 0, device=device)
    program.other[(1,), (1,)](one, 0, device=device)
    expected = [np.array(BYTES)[at], np.array(SHORTS)[at], 0 * at, np.array(INTS)[at]]
    expected += [np.array(SINGLES, np.float32)[at].view(np.uint32), at + at % 100, -at]
    np.testing.assert_array_equal(got, np.stack([row.astype(np.uint32) for row in expected], 1))
    assert one[0] == INTS[7]


def test_large_tables_are_no_text_for_llvm():
    """64 MiB took 52 s: each stage read and printed them anew."""
    front = compile_to_ir(LARGE, "large.cl")
    assert sorted(front.tables) == ["b", "f", "n", "s", "v"]  # a struct's members lie apart
    whole = front.whole()
    assert max(len(line) for line in front.ir.split("\n") if not line.startswith("@t = ")) < 1000
    assert all(table.line in whole and table.line not in front.ir for table in front.tables.values())
    assert front.tables["n"].data == struct.pack(f"<{ROWS}i", *INTS)


def test_assembly_has_large_tables_as_numbers():
    text = compile_code_object(LARGE, "large.cl", target="gfx900", emit="asm").code.decode()
    assert text.count(".long") > ROWS


def test_private_bytes_are_filled_by_words(capsys, tmp_path) -> None:
    """A store for each byte reads, masks and writes a word: 300 of them took half a minute to compile."""
    source = tmp_path / "fill.cl"
    source.write_text("""kernel void k(global int *o, int z) {
  char a[60] = {1}, b[60];
  for (int i = 0; i < 60; i++) b[i] = 92;
  a[z] = 3; b[z + 1] = a[z + 1] + a[z - 1];
  o[0] = a[z + 29] + b[z + 29]; o[1] = b[z + 1]; o[2] = a[z + 1];
}""")
    out = np.full(3, -1, np.int32)
    hw.compile(source.read_text(), language="opencl").k[(1,), (1,)](out, 1, device="hd5870")
    assert out.tolist() == [92, 1, 0]
    assert main(["compile", str(source), "--device", "hd5870", "--emit", "ir", "-o", "-"]) == 0
    assert capsys.readouterr().out.count("x0[") < 2 * 60 / 4 + 40

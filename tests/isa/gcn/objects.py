"""Code objects for tests, made here: compiled ones, and one of version 2 by a small writer of ELF files."""

from __future__ import annotations

import struct
from functools import lru_cache

SOURCE = """\
__constant float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__attribute__((noinline)) float helper(float x, int n) {
  for (int i = 0; i < n; i++) x = x * x + table[i & 7];
  return x;
}
__kernel void saxpy(__global float *y, __global const float *x, float a, int n, __local float *t) {
  int i = get_global_id(0);
  t[get_local_id(0)] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) y[i] = a * t[get_local_id(0)] + table[i & 3];
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void second(__global float *p, int n) {
  p[get_global_id(0)] = helper(p[3], n);
}
"""


@lru_cache(maxsize=16)
def compiled(target="gfx906", version=5):
    """The bytes of a code object made from SOURCE."""
    from headwater.opencl.gcn import compile_code_object

    return compile_code_object(SOURCE, "k.cl", "", target, version=version).code


def elf(sections, *, machine, flags=0, kind=3, os_abi=0, abi_version=0, is_64=True, segments=()):
    """An ELF file. ``sections``: (name, type, flags, address, data, link, entry size); the null section and .shstrtab are
    added. ``segments``: (type, flags, index of the section that it holds)."""
    names = b"\0"
    entries = []
    body = b""
    header_bytes = (64, 56) if is_64 else (52, 32)
    at = header_bytes[0] + header_bytes[1] * len(segments)
    table = [*sections, (".shstrtab", 3, 0, 0, None, 0, 0)]
    for name, *_ in table:
        entries.append(len(names))
        names += name.encode() + b"\0"
    headers = [(0,) * 10]
    for (_, kind_, flags_, address, data, link, entry), name_at in zip(table, entries, strict=True):
        content = names if data is None else data
        body += b"\0" * (-(at + len(body)) % 16)
        headers.append((name_at, kind_, flags_, address, at + len(body), len(content), link, 0, 1, entry))
        body += content
    body += b"\0" * (-(at + len(body)) % 16)
    sections_at = at + len(body)
    ident = b"\x7fELF" + bytes([2 if is_64 else 1, 1, 1, os_abi, abi_version]) + b"\0" * 7
    layout = "<HHIQQQIHHHHHH" if is_64 else "<HHIIIIIHHHHHH"
    head = ident + struct.pack(
        layout, kind, machine, 1, 0, header_bytes[0] if segments else 0, sections_at, flags, header_bytes[0],
        header_bytes[1] if segments else 0, len(segments), 64 if is_64 else 40, len(headers), len(headers) - 1,
    )  # fmt: skip
    program = b""
    for kind_, flags_, index in segments:
        _, _, _, address, offset, size, *_ = headers[index]
        if is_64:
            program += struct.pack("<IIQQQQQQ", kind_, flags_, offset, address, address, size, size, 16)
        else:
            program += struct.pack("<IIIIIIII", kind_, offset, address, address, size, size, flags_, 16)
    tail = b"".join(struct.pack("<IIQQQQIIQQ" if is_64 else "<IIIIIIIIII", *header) for header in headers)
    return head + program + body + tail


def note(name, kind, data):
    """A note."""
    owner = name.encode() + b"\0"
    return (
        struct.pack("<III", len(owner), len(data), kind)
        + owner.ljust(-(-len(owner) // 4) * 4, b"\0")
        + data.ljust(-(-len(data) // 4) * 4, b"\0")
    )


YAML = """\
---
Version:         [ 1, 0 ]
Printf:
  - '1:1:4:%d\\n'
Kernels:
  - Name:            twice
    SymbolName:      'twice@kd'
    Language:        OpenCL C
    Attrs:
      ReqdWorkGroupSize: [ 64, 1, 1 ]
    Args:
      - Name:          out
        TypeName:      'int*'
        Size:            8
        Align:           8
        ValueKind:       GlobalBuffer
        ValueType:       I32
        AddrSpaceQual:   Global
        AccQual:         Default
      - TypeName:        char
        Size:            1
        Align:           1
        ValueKind:       ByValue
      - Size:            8
        Align:           8
        ValueKind:       HiddenGlobalOffsetX
    CodeProps:       { KernargSegmentSize: 24, NumVGPRs: 5 }
...
"""


def version_2(machine_code=b"\0\0\x81\xbf", yaml=YAML, wavefront=6):
    """A code object of version 2 for gfx803 with the kernel ``twice``, as LLVM 4 to 9 wrote them."""
    text_at = 0x1000
    header = bytearray(256)
    struct.pack_into("<IIHHHH", header, 0, 1, 2, 1, 8, 0, 3)
    struct.pack_into("<q", header, 16, 256)
    rsrc1 = 1 | 1 << 6 | 0xC0 << 12 | 1 << 21 | 1 << 23
    struct.pack_into("<IIIII", header, 48, rsrc1, 6 << 1 | 1 << 7, 1 | 1 << 3, 16, 32)
    struct.pack_into("<Q", header, 72, 24)
    struct.pack_into("<HH", header, 84, 12, 5)
    header[96:100] = bytes([4, 4, 4, wavefront])
    isa = struct.pack("<HHIII", 4, 7, 8, 0, 3) + b"AMD\0AMDGPU\0"
    notes = note("AMD", 3, isa) + note("AMD", 10, yaml.encode())
    names = b"\0twice\0"
    text = bytes(header) + machine_code
    symbols = b"\0" * 24 + struct.pack("<IBBHQQ", 1, 1 << 4 | 10, 0, 2, text_at, len(text))
    return elf(
        [
            (".note", 7, 2, 0, notes, 0, 0),
            (".text", 1, 6, text_at, text, 0, 0),
            (".symtab", 2, 0, 0, symbols, 4, 24),
            (".strtab", 3, 0, 0, names, 0, 0),
        ],
        machine=224, os_abi=64, abi_version=0, segments=[(4, 4, 1), (1, 5, 2)],
    )  # fmt: skip

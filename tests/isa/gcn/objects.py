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
    from headwater.opencl.gcn import Variant, compile_code_object

    return compile_code_object(SOURCE, "k.cl", "", target, variant=Variant(version)).code


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
    header[100:104] = bytes([4, 4, 4, wavefront])
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


AMDCL_METADATA = """\
;ARGSTART:__OpenCL_scale_kernel
;version:3:1:111
;device:tahiti
;uniqueid:1025
;memory:uavprivate:0
;memory:hwlocal:0
;memory:hwregion:0
;value:n:u32:1:1:0
;value:c:u8:2:1:16
;pointer:in:u32:1:1:32:uav:12:4:RO:0:0
;constarg:2:in
;pointer:out:u32:1:1:48:uav:13:4:RW:0:0
;function:1:1029
;uavid:11
;printfid:9
;cbid:10
;privateid:8
;reflection:0:uint
;reflection:1:uchar2
;reflection:2:uint*
;reflection:3:uint*
;ARGEND:__OpenCL_scale_kernel
"""

# out[i] = in[i] * n + c.y, for all work-items; what the driver's compiler makes of such a kernel.
AMDCL_CODE = """\
s_buffer_load_dword s0, s[4:7], 0x4
s_buffer_load_dword s1, s[4:7], 0x18
s_buffer_load_dword s13, s[8:11], 0x0
s_buffer_load_dword s14, s[8:11], 0x5
s_buffer_load_dword s15, s[8:11], 0x8
s_buffer_load_dword s16, s[8:11], 0xc
s_waitcnt lgkmcnt(0)
s_mul_i32 s0, s12, s0
s_add_u32 s0, s0, s1
v_add_i32_e32 v0, vcc, s0, v0
v_lshlrev_b32_e32 v0, 2, v0
s_load_dwordx4 s[20:23], s[2:3], 0x60
s_load_dwordx4 s[24:27], s[2:3], 0x68
v_add_i32_e32 v1, vcc, s15, v0
v_add_i32_e32 v2, vcc, s16, v0
s_waitcnt lgkmcnt(0)
tbuffer_load_format_x v3, v1, s[20:23], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
s_waitcnt vmcnt(0)
v_mul_lo_u32 v3, v3, s13
v_add_i32_e32 v3, vcc, s14, v3
tbuffer_store_format_x v3, v2, s[24:27], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
s_endpgm
"""


AMDCL_USER_DATA = ((0x17, 0, 2, 2), (0x02, 0, 4, 4), (0x02, 1, 8, 4))

AMDCL_IMAGE_METADATA = """\
;ARGSTART:__OpenCL_blend_kernel
;version:3:1:104
;device:tahiti
;uniqueid:1024
;memory:uavprivate:64
;memory:hwlocal:0
;image:in:2D:RO:0:1:0
;image:out:2D:WO:0:1:32
;value:s:u32:1:1:64
;pointer:bias:float:1:1:80:uav:10:16:RO:0:0
;function:1:1041
;sampler:unknown_22:1:1:22
;sampler:s:0:0:0
;privateid:8
;reflection:0:image2d_t
;reflection:1:image2d_t
;reflection:2:sampler_t
;reflection:3:float*
;ARGEND:__OpenCL_blend_kernel
"""

AMDCL_IMAGE_USER_DATA = ((0x11, 0, 2, 2), (0x01, 0, 4, 4), (0x02, 1, 8, 4), (0x17, 0, 12, 2), (0x13, 0, 14, 2))

# out[y][x] = in[y][x], by coordinates in 0 to 1 and a turn more, + in[y][x - 1], outside of the image 0; and of it
# x + bias[0] + the value of the sampler, y + the image's channel order.
AMDCL_IMAGE_CODE = """\
s_load_dwordx8 s[24:31], s[2:3], 0x0
s_load_dwordx8 s[32:39], s[12:13], 0x0
s_load_dwordx4 s[40:43], s[14:15], 0x4
s_load_dwordx4 s[44:47], s[12:13], 0x50
s_buffer_load_dwordx2 s[48:49], s[8:11], 0x0
s_buffer_load_dword s50, s[8:11], 0x10
s_buffer_load_dword s51, s[8:11], 0x7
v_cvt_f32_u32_e32 v2, v0
v_cvt_f32_u32_e32 v3, v1
v_add_f32_e32 v2, 0.5, v2
v_add_f32_e32 v3, 0.5, v3
s_waitcnt lgkmcnt(0)
v_cvt_f32_u32_e32 v4, s48
v_cvt_f32_u32_e32 v5, s49
v_rcp_f32_e32 v4, v4
v_rcp_f32_e32 v5, v5
v_mul_f32_e32 v4, v4, v2
v_mul_f32_e32 v5, v5, v3
v_add_f32_e32 v4, 1.0, v4
v_add_f32_e32 v5, 1.0, v5
v_add_f32_e32 v2, -1.0, v2
v_mov_b32_e32 v15, 0
image_sample v[6:9], v[4:5], s[24:31], s[4:7] dmask:0xf
image_sample v[10:13], v[2:3], s[24:31], s[40:43] dmask:0xf unorm
tbuffer_load_format_x v14, v15, s[44:47], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT] offen
v_cvt_f32_u32_e32 v17, s50
v_cvt_f32_u32_e32 v18, s51
s_waitcnt vmcnt(0)
v_add_f32_e32 v6, v6, v10
v_add_f32_e32 v7, v7, v11
v_add_f32_e32 v8, v8, v12
v_add_f32_e32 v9, v9, v13
v_add_f32_e32 v6, v6, v14
v_add_f32_e32 v6, v6, v17
v_add_f32_e32 v7, v7, v18
image_store v[6:9], v[0:1], s[32:39] dmask:0xf unorm glc
s_endpgm
"""


def amdcl(
    machine_code, metadata=AMDCL_METADATA, name="scale", machine=0x1A, globals_=b"", user_data=AMDCL_USER_DATA,
    rsrc2=0x98,
):  # fmt: skip
    """A binary of the OpenCL 1.x driver with one kernel."""
    info = [(0x80001000, len(user_data))]
    for index, entry in enumerate(user_data):
        info += [(0x80001001 + 4 * index + part, value) for part, value in enumerate(entry)]
    info += [(0x80001041, 4), (0x80001042, 28), (0x80001043, 0xC0), (0x80001044, 0), (0x80001045, 0), (0x2E13, rsrc2)]
    notes = note("ATI CAL", 2, b"") + note("ATI CAL", 1, b"".join(struct.pack("<II", *pair) for pair in info))
    inner = elf(
        [
            ("dictionary", 1, 0, 0, struct.pack("<IIIII", machine, 4, 0, 1 << 20, 0), 0, 0),
            ("notes", 1, 0, 0, notes, 0, 0),
            (".text", 1, 0, 0, machine_code, 0, 0),
        ],
        machine=0x7D, os_abi=100, kind=2, is_64=False, segments=[(0x70000002, 0, 1), (4, 0, 2), (1, 0, 3)],
    )  # fmt: skip
    names = b"\0"
    symbols = b"\0" * 16
    rodata = b""
    parts = [(f"__OpenCL_{name}_metadata", 1, metadata.encode()), (f"__OpenCL_{name}_kernel", 2, inner)]
    if globals_:
        parts.append(("__OpenCL_0_global", 1, globals_))
    for symbol, section, data in parts:
        at = len(rodata) if section == 1 else 0
        rodata += data if section == 1 else b""
        symbols += struct.pack("<IIIBBH", len(names), at, len(data), 1, 0, section)
        names += symbol.encode() + b"\0"
    return elf(
        [
            (".rodata", 1, 2, 0, rodata, 0, 0),
            (".text", 1, 6, 0, inner, 0, 0),
            (".symtab", 2, 0, 0, symbols, 4, 16),
            (".strtab", 3, 0, 0, names, 0, 0),
        ],
        machine=0x3FD, kind=2, is_64=False,
    )  # fmt: skip


def assembled_file(text, target):
    """The file, not linked, that assembly makes."""
    from headwater.opencl.gcn_build import assemble

    return assemble(text, "snippet.s", target, emit="obj").code


def assembled(text, target):
    """The machine code of some instructions."""
    from headwater.isa.elf import Elf

    file = Elf(assembled_file(text, target), "snippet.o")
    return file.data(file.section(".text"))

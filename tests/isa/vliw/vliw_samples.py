"""Listings, images and files that several tests and the fuzzer begin with."""

import struct
from pathlib import Path

from headwater.isa.gcn.objects import KernelArg
from headwater.isa.vliw.assembly import parse
from headwater.isa.vliw.encode import encode
from headwater.isa.vliw.image import Argument, ShaderImage

# A pixel shader of RV770 with a loop, in the words of AMD's Stream KernelAnalyzer.
LOOP = """\
00 ALU: ADDR(32) CNT(6) KCACHE0(CB0:0-15)
      0  x: MOV         R1.x,  0.0f
         y: MOV         R1.y,  0.0f
         t: F_TO_I      R2.w,  |KC0[0].x|
      1  z: FRACT       ____,  -R0.x
         w: MULADD_e    T0.w,  R0.y,  (0x40400000, 3.0f).x,  0.5      VEC_120
01 LOOP_DX10 i0 FAIL_JUMP_ADDR(6) VALID_PIX
    02 ALU_BREAK: ADDR(38) CNT(2) KCACHE0(CB0:0-15)
          2  z: SETGT_INT   R0.z,  R2.w,  R1.x
          3  x: PREDNE_INT  ____,  R0.z,  0.0f      UPDATE_EXEC_MASK UPDATE_PRED
    03 TEX: ADDR(48) CNT(2) VALID_PIX
          4  SAMPLE R3.xyz_, R1.xy0x, t1, s0  UNNORM(XYZW)
          5  VFETCH R4.x___, R1.x, fc128  FORMAT(32_FLOAT) MEGA(4) OFFSET(16)
             FETCH_TYPE(NO_INDEX_OFFSET)
    04 ALU: ADDR(40) CNT(5)
          6  x: DOT4_e      ____,  R3.x,  R4.x
             y: DOT4_e      ____,  R3.y,  R4.x
             z: DOT4_e      ____,  R3.z,  R4.x
             w: DOT4_e      ____,  (0x80000000, -0.0f).x,  0.0f
05 ENDLOOP i0 PASS_JUMP_ADDR(2)
06 ALU_PUSH_BEFORE: ADDR(45) CNT(2) NO_BARRIER
      7  t: RCP_e       R1.x,  PV6.x
      8  x: PREDGT      ____,  -PS7,  1.0f      UPDATE_EXEC_MASK UPDATE_PRED
07 JUMP POP_CNT(1) ADDR(9)
08 POP (1) ADDR(9)
09 MEM_EXPORT_WRITE_IND: DWORD_PTR[0+R2].x___, R1 ELEM_SIZE(3) VALID_PIX
10 EXP: PIX1, R1.x00_
11 EXP_DONE: PIX0, R1 BURSTCNT(1)
END_OF_PROGRAM
"""

COMPUTE = """\
00 ALU: ADDR(32) CNT(9) KCACHE0(CB0:0-15) KCACHE1(CB1:16-47)
      0  x: LSHL        ____,  R0.x,  (0x00000002, 2.802596929e-45f).x
         t: MULLO_INT   ____,  R1.x,  KC0[1].x
      1  x: LDS_WRITE   R0.y,  PV0.x      OFFSET(5)
         w: ADD_INT     R0.w,  KC1[3].x,  PS0
      2  x: LDS_READ_RET R0.y
      3  x: GROUP_BARRIER
      4  y: MOV         R1.y,  QA.pop
      5  x: MOVA_INT    ____,  R0.w
01 ALU_POP_AFTER: ADDR(41) CNT(2) KCACHE2(CB2:0-15) EXTENDED
      6  x: MOV         R2[A0.x].x,  R3[A0.x].y
         y: MAX_UINT    R2.y,  KC2[7].w,  R1.y      (p)
03 MEM_RAT_CACHELESS_STORE_RAW_ACK: RAT(1)[R1].xy__, R2, ARRAY_SIZE(4) MARK VPM
04 MEM_RAT_ADD_RTN_ACK: RAT(11)[R1].x___, R3, ARRAY_SIZE(0,2)
05 WAIT_ACK: Outstanding_acks <= 0
END_OF_PROGRAM
"""

CAYMAN = """\
00 ALU: ADDR(32) CNT(5)
      0  x: RCP_e       ____,  T3.x
         y: RCP_e       R0.y,  T3.x
         z: RCP_e       ____,  T3.x
      1  x: PREDE       ____,  R0.y,  0.0f      UPDATE_EXEC_MASK(BREAK)
         w: MULADD_UINT24 R1.w,  R0.x,  R0.y,  1
01 MEM_RAT_CACHELESS_STORE_DWORD: RAT(0)[R1].x___, R0, ARRAY_SIZE(0)
02 END
END_OF_PROGRAM
"""


def cases() -> list[tuple[str, str, bytes, str]]:
    found = []
    for block in (Path(__file__).parent / "llvm.txt").read_text().split("\n== ")[1:]:
        head, _, rest = block.partition("\n")
        words, _, text = rest.partition("\n--\n")
        code = b"".join(int(word, 16).to_bytes(8, "little") for word in words.split())
        name, target = head.split()
        found.append((name, target, code, text))
    return found


CASES = cases()
OBJECTS = Path(__file__).parent / "llvm_objects"

PIXEL = ShaderImage(
    target="rv770",
    kind="ps",
    code=encode(parse(LOOP, "r700")),
    gprs=5,
    stack_entries=2,
    clause_temporaries=1,
    scratch_bytes=64,
    constant_buffers={0: 4, 3: 64},
    resources=(1, 128),
    samplers={1: 0},
    outputs=(0, 1),
    uses_global=True,
    constants=bytes(range(256)) * 18 + bytes(128),
    il="il_ps_2_0\nend\n",
    lines=((1, 2), (), (3,)),
)
KERNEL = ShaderImage(
    target="cypress",
    kind="cs",
    code=encode(parse(COMPUTE, "evergreen")),
    name="add",
    gprs=4,
    stack_entries=1,
    lds_bytes=1024,
    constant_buffers={0: 10, 1: 3},
    uavs=(1, 11),
    group_size=(64, 2, 1),
    abi="amd",
    args=(Argument(KernelArg("out", 0, 4, "global_buffer", "global", "float*", "", True), 11),),
    data=b"\x01\x02\x03",
)


def opencl_binary(kernels: dict[str, tuple[bytes, str]], data: bytes = b"") -> bytes:
    """A file as the OpenCL 1.x driver writes it: symbols name kernels' images and metadata."""
    body = bytearray()
    names = bytearray(b"\0")
    symbols = bytearray(16)
    for name, (inner, metadata) in kernels.items():
        for suffix, content in (("kernel", inner), ("metadata", metadata.encode())):
            symbols += struct.pack("<IIIBBH", len(names), len(body), len(content), 1, 0, 1)
            names += f"__OpenCL_{name}_{suffix}\0".encode()
            body += content
    if data:
        symbols += struct.pack("<IIIBBH", len(names), len(body), len(data), 1, 0, 1)
        names += b"__OpenCL_0_global\0"
        body += data
    section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    contents = [bytes(body), bytes(symbols), bytes(names), section_names]
    at, offsets = 52, []
    for content in contents:
        offsets.append(at)
        at += len(content)
    header = b"\x7fELF\x01\x01\x01\x64\x01".ljust(16, b"\0")
    header += struct.pack("<HHIIIIIHHHHHH", 2, 0x3F1, 1, 0, 0, at, 0, 52, 32, 0, 40, 5, 4)
    kinds = ((1, 1, 0, 0), (7, 2, 3, 16), (15, 3, 0, 0), (23, 3, 0, 0))
    table = bytes(40)
    for (name_at, kind, link, entry), offset, content in zip(kinds, offsets, contents, strict=True):
        table += struct.pack("<10I", name_at, kind, 0, 0, offset, len(content), link, 0, 1, entry)
    return header + b"".join(contents) + table


METADATA = """\
;ARGSTART:__OpenCL_add_kernel
;version:3:1:104
;device:cypress
;uniqueid:1024
;memory:uavprivate:0
;memory:hwlocal:512
;memory:hwregion:0
;cws:64:1:1
;pointer:out:float:1:1:0:uav:11:4:RW:0:0
;value:n:i32:1:1:16
;function:1:1028
;reflection:0:float*
;reflection:1:int
;ARGEND:__OpenCL_add_kernel
"""

"""AMD's media operations, on every device, against their formulas."""

import numpy as np
import pytest

import headwater as hw

SOURCE = """#pragma OPENCL EXTENSION cl_amd_media_ops : enable
#if !defined(cl_amd_media_ops) || !defined(cl_amd_media_ops2)
#error no
#endif
kernel void k(global uint *o, uint a, uint b, uint c, ulong d, ulong e) {
  o[0]=amd_bitalign(a,b,c); o[1]=amd_bytealign(a,b,c); o[2]=amd_lerp(a,b,c); o[3]=amd_sad(a,b,c); o[4]=amd_sadhi(a,b,c);
  o[5]=amd_msad(a,b,c); o[6]=amd_sadw(a,b,c); o[7]=amd_sadd(a,b,c); o[8]=amd_bfm(a,b); o[9]=amd_bfe(a,b,c); o[10]=amd_bfe((int)a,b,c);
  ulong q=amd_qsad(d,b,e), m=amd_mqsad(d,b,e); o[11]=q; o[12]=q>>32; o[13]=m; o[14]=m>>32;
  o[15]=amd_median3(a,b,c); o[16]=amd_median3((int)a,(int)b,(int)c); o[17]=amd_pack((float4)(1.5f,200.0f,3.0f,255.0f));
  o[18]=(uint)amd_unpack2(a); o[19]=amd_sad4((uint4)(a,b,c,a),(uint4)(b,c,a,c),c);
  uint4 v=amd_sad((uint4)(a,b,c,a),(uint4)(b,c,a,c),(uint4)(c)); o[20]=v.y; o[21]=amd_min3(a,b,c); o[22]=(uint)amd_max3(1.0f,5.0f,2.0f); uint3 w=amd_bfe((uint3)(a),(uint3)(b),(uint3)(c)); o[23]=w.z; }
"""
A, B, C = 0x12345678, 0x9ABC00F0, 0x0F0E0D0D
D, E = 0x1122334455667788, 0x0001FFFF00030004
MASK = 0xFFFFFFFF


def in_bytes(x):
    return [(x >> 8 * i) & 255 for i in range(4)]


def sad(a, b, c):
    return (c + sum(abs(x - y) for x, y in zip(in_bytes(a), in_bytes(b), strict=True))) & MASK


def msad(a, b, c):
    return (c + sum(abs(x - y) for x, y in zip(in_bytes(a), in_bytes(b), strict=True) if y)) & MASK


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def of_four(one):
    return sum((one((D >> 8 * i) & MASK, B, (E >> 16 * i) & 0xFFFF) & 0xFFFF) << 16 * i for i in range(4))


def wanted():
    offset, width = B & 31, C & 31
    field = (A >> offset) & ((1 << width) - 1)
    over = 32 - offset - width
    signed_field = signed((A << over) & MASK) >> (32 - width) if over > 0 else signed(A) >> offset
    bytes_ = zip(in_bytes(A), in_bytes(B), in_bytes(C), strict=True)
    halves = abs((A & 0xFFFF) - (B & 0xFFFF)) + abs((A >> 16) - (B >> 16))
    return [
        ((A << 32 | B) >> (C & 31)) & MASK,
        ((A << 32 | B) >> ((C & 3) * 8)) & MASK,
        sum(((x + y + (z & 1)) >> 1) << 8 * i for i, (x, y, z) in enumerate(bytes_)),
        sad(A, B, C),
        (C + (sad(A, B, 0) << 16)) & MASK,
        msad(A, B, C),
        (C + halves) & MASK,
        (C + abs(A - B)) & MASK,
        (((1 << (A & 31)) - 1) << (B & 31)) & MASK,
        field,
        signed_field & MASK,
        of_four(sad) & MASK,
        of_four(sad) >> 32,
        of_four(msad) & MASK,
        of_four(msad) >> 32,
        sorted((A, B, C))[1],
        sorted(map(signed, (A, B, C)))[1] & MASK,
        1 | 200 << 8 | 3 << 16 | 255 << 24,
        in_bytes(A)[2],
        sad(A, B, sad(B, C, sad(C, A, sad(A, C, C)))),
        sad(B, C, C),
        min(A, B, C),
        5,
        field,
    ]


@pytest.mark.parametrize("device", ["cpu", "hd4870", "hd5870", "hd7970", "vega64"])
def test_media_operations(device):
    out = np.zeros(24, np.uint32)
    hw.compile(SOURCE, device=device).k[(1,), (1,)](out, A, B, C, D, E, device=device)
    assert out.tolist() == wanted()

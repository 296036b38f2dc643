/* The functions of cl_amd_media_ops and cl_amd_media_ops2, by the formulas of the extensions' texts in Khronos' registry.
   Included before programs that have names which begin with amd_. */
#ifndef HEADWATER_AMD_MEDIA_OPS
#define HEADWATER_AMD_MEDIA_OPS

#define HW_AMD static inline __attribute__((overloadable, always_inline))
#define HW_BYTE(x, n) (((x) >> (8 * (n))) & 0xffu)
#define HW_SAD(n) abs_diff(HW_BYTE(a, n), HW_BYTE(b, n))

HW_AMD uint amd_pack(float4 a)
{
    return ((uint)a.s0 & 0xffu) | ((uint)a.s1 & 0xffu) << 8 | ((uint)a.s2 & 0xffu) << 16 | ((uint)a.s3 & 0xffu) << 24;
}

/* V, F, L, I: vectors of uint, float, ulong and int; CF, CL and CU convert to float, ulong and uint. */
#define HW_AMD_OF_WIDTH(V, F, L, I, CF, CL, CU) \
    HW_AMD F amd_unpack0(V a) { return CF(HW_BYTE(a, 0)); } \
    HW_AMD F amd_unpack1(V a) { return CF(HW_BYTE(a, 1)); } \
    HW_AMD F amd_unpack2(V a) { return CF(HW_BYTE(a, 2)); } \
    HW_AMD F amd_unpack3(V a) { return CF(HW_BYTE(a, 3)); } \
    HW_AMD V amd_bitalign(V a, V b, V c) { return CU((CL(a) << 32UL | CL(b)) >> CL(c & 31u)); } \
    HW_AMD V amd_bytealign(V a, V b, V c) { return CU((CL(a) << 32UL | CL(b)) >> CL((c & 3u) << 3u)); } \
    HW_AMD V amd_lerp(V a, V b, V c) \
    { \
        return ((HW_BYTE(a, 0) + HW_BYTE(b, 0) + (c & 1u)) >> 1u) | \
               ((HW_BYTE(a, 1) + HW_BYTE(b, 1) + ((c >> 8u) & 1u)) >> 1u) << 8u | \
               ((HW_BYTE(a, 2) + HW_BYTE(b, 2) + ((c >> 16u) & 1u)) >> 1u) << 16u | \
               ((HW_BYTE(a, 3) + HW_BYTE(b, 3) + ((c >> 24u) & 1u)) >> 1u) << 24u; \
    } \
    HW_AMD V amd_sad(V a, V b, V c) { return HW_SAD(0) + HW_SAD(1) + HW_SAD(2) + HW_SAD(3) + c; } \
    HW_AMD V amd_sadhi(V a, V b, V c) { return ((HW_SAD(0) + HW_SAD(1) + HW_SAD(2) + HW_SAD(3)) << 16u) + c; } \
    HW_AMD V amd_sadw(V a, V b, V c) { return abs_diff(a & 0xffffu, b & 0xffffu) + abs_diff(a >> 16u, b >> 16u) + c; } \
    HW_AMD V amd_sadd(V a, V b, V c) { return abs_diff(a, b) + c; } \
    HW_AMD V amd_msad(V a, V b, V c) \
    { \
        return c + min(HW_BYTE(b, 0), 1u) * HW_SAD(0) + min(HW_BYTE(b, 1), 1u) * HW_SAD(1) + \
               min(HW_BYTE(b, 2), 1u) * HW_SAD(2) + min(HW_BYTE(b, 3), 1u) * HW_SAD(3); \
    } \
    HW_AMD L amd_qsad(L a, V b, L c) \
    { \
        return CL(amd_sad(CU(a), b, CU(c & 0xffffUL)) & 0xffffu) | \
               CL(amd_sad(CU(a >> 8UL), b, CU((c >> 16UL) & 0xffffUL)) & 0xffffu) << 16UL | \
               CL(amd_sad(CU(a >> 16UL), b, CU((c >> 32UL) & 0xffffUL)) & 0xffffu) << 32UL | \
               CL(amd_sad(CU(a >> 24UL), b, CU(c >> 48UL)) & 0xffffu) << 48UL; \
    } \
    HW_AMD L amd_mqsad(L a, V b, L c) \
    { \
        return CL(amd_msad(CU(a), b, CU(c & 0xffffUL)) & 0xffffu) | \
               CL(amd_msad(CU(a >> 8UL), b, CU((c >> 16UL) & 0xffffUL)) & 0xffffu) << 16UL | \
               CL(amd_msad(CU(a >> 16UL), b, CU((c >> 32UL) & 0xffffUL)) & 0xffffu) << 32UL | \
               CL(amd_msad(CU(a >> 24UL), b, CU(c >> 48UL)) & 0xffffu) << 48UL; \
    } \
    HW_AMD V amd_bfm(V a, V b) { return (((V)(1u) << (a & 31u)) - 1u) << (b & 31u); } \
    HW_AMD V amd_bfe(V a, V b, V c) { return (a >> (b & 31u)) & (((V)(1u) << (c & 31u)) - 1u); } \
    HW_AMD I amd_bfe(I a, V b, V c) \
    { \
        V offset = b & 31u, width = c & 31u, over = 32u - min(offset + width, 32u); \
        I cut = (a << HW_BITS_AS(I, over)) >> HW_BITS_AS(I, over + offset); \
        return cut & -HW_BITS_AS(I, min(width, 1u)); \
    } \
    HW_AMD_OF_TYPE(V) HW_AMD_OF_TYPE(I) \
    HW_AMD F amd_min3(F a, F b, F c) { return fmin(fmin(a, b), c); } \
    HW_AMD F amd_max3(F a, F b, F c) { return fmax(fmax(a, b), c); } \
    HW_AMD F amd_median3(F a, F b, F c) { return fmax(fmin(a, b), fmin(fmax(a, b), c)); }
#define HW_AMD_OF_TYPE(T) \
    HW_AMD T amd_min3(T a, T b, T c) { return min(min(a, b), c); } \
    HW_AMD T amd_max3(T a, T b, T c) { return max(max(a, b), c); } \
    HW_AMD T amd_median3(T a, T b, T c) { return max(min(a, b), min(max(a, b), c)); }
#define HW_BITS_AS(I, x) __builtin_astype((x), I)

HW_AMD_OF_WIDTH(uint, float, ulong, int, convert_float, convert_ulong, convert_uint)
HW_AMD_OF_WIDTH(uint2, float2, ulong2, int2, convert_float2, convert_ulong2, convert_uint2)
HW_AMD_OF_WIDTH(uint3, float3, ulong3, int3, convert_float3, convert_ulong3, convert_uint3)
HW_AMD_OF_WIDTH(uint4, float4, ulong4, int4, convert_float4, convert_ulong4, convert_uint4)
HW_AMD_OF_WIDTH(uint8, float8, ulong8, int8, convert_float8, convert_ulong8, convert_uint8)
HW_AMD_OF_WIDTH(uint16, float16, ulong16, int16, convert_float16, convert_ulong16, convert_uint16)

HW_AMD uint amd_sad4(uint4 a, uint4 b, uint c)
{
    return amd_sad(a.s0, b.s0, amd_sad(a.s1, b.s1, amd_sad(a.s2, b.s2, amd_sad(a.s3, b.s3, c))));
}
#endif

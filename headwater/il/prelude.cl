/* What ATI IL's operations mean where OpenCL C has no operator or function for it. */
#pragma OPENCL FP_CONTRACT OFF

/* R600's MUL: zero times anything is zero (AMD, R600-Family Instruction Set Architecture, MUL). */
float4 il_mul(float4 a, float4 b) { return select(a * b, (float4)(0.0f), (a == 0.0f) | (b == 0.0f)); }

/* The hardware's minimum and maximum: the number if one is NaN, and -0 is less than 0, which fmin and fmax leave open. */
float4 il_min(float4 a, float4 b) { return select(fmin(a, b), as_float4(as_uint4(a) | as_uint4(b)), a == b); }
float4 il_max(float4 a, float4 b) { return select(fmax(a, b), as_float4(as_uint4(a) & as_uint4(b)), a == b); }

float il_square3(float4 a) { return a.x * a.x + a.y * a.y + a.z * a.z; }
float il_square4(float4 a) { return a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w; }

/* Quotients by zero, as _zeroop says. */
float4 il_div_infinity(float4 a, float4 b) { return a / b; }
float4 il_div_zero(float4 a, float4 b) { return select(a / b, (float4)(0.0f), b == 0.0f); }
float4 il_div_fltmax(float4 a, float4 b)
{
    return select(a / b, copysign((float4)(FLT_MAX), a * copysign((float4)(1.0f), b)), b == 0.0f);
}
float4 il_div_inf_else_max(float4 a, float4 b)
{
    return select(il_div_fltmax(a, b), a / b, (b == 0.0f) & (a != 0.0f));
}
float4 il_rcp_infinity(float4 a) { return 1.0f / a; }
float4 il_rcp_zero(float4 a) { return il_div_zero((float4)(1.0f), a); }
float4 il_rcp_fltmax(float4 a) { return il_div_fltmax((float4)(1.0f), a); }
float4 il_rcp_inf_else_max(float4 a) { return 1.0f / a; }
float4 il_rsq_infinity(float4 a) { return 1.0f / sqrt(a); }
float4 il_rsq_zero(float4 a) { return select(1.0f / sqrt(a), (float4)(0.0f), a == 0.0f); }
float4 il_rsq_fltmax(float4 a) { return select(1.0f / sqrt(a), (float4)(FLT_MAX), a == 0.0f); }
float4 il_rsq_inf_else_max(float4 a) { return 1.0f / sqrt(a); }

uint4 il_reverse(uint4 a)
{
    a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
    a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
    a = ((a >> 4) & 0x0F0F0F0Fu) | ((a & 0x0F0F0F0Fu) << 4);
    a = ((a >> 8) & 0x00FF00FFu) | ((a & 0x00FF00FFu) << 8);
    return (a >> 16) | (a << 16);
}
uint4 il_ffb_shi(int4 a)
{
    uint4 changed = as_uint4(a ^ (a >> 31));
    return select(clz(changed), (uint4)(0xFFFFFFFFu), changed == 0u);
}
uint4 il_field(uint4 width) { return ((uint4)(1u) << width) - 1u; }
uint4 il_bit_extract(uint4 width, uint4 offset, uint4 a)
{
    width &= 31u;
    offset &= 31u;
    return (a >> offset) & il_field(width);
}
int4 il_bit_extract_signed(uint4 width, uint4 offset, int4 a)
{
    width &= 31u;
    offset &= 31u;
    uint4 kept = (as_uint4(a) >> offset) & il_field(width);
    uint4 room = (32u - width) & 31u;
    int4 extended = as_int4(kept << room) >> as_int4(room);
    int4 result = select(extended, a >> as_int4(offset), width + offset >= 32u);
    return select(result, (int4)(0), width == 0u);
}
uint4 il_bit_insert(uint4 width, uint4 offset, uint4 a, uint4 base)
{
    width &= 31u;
    offset &= 31u;
    uint4 mask = il_field(width) << offset;
    return ((a << offset) & mask) | (base & ~mask);
}
uint4 il_align(uint4 high, uint4 low, uint4 bits)
{
    return select((high << ((32u - bits) & 31u)) | (low >> bits), low, bits == 0u);
}
uint4 il_sad(uint4 a, uint4 b)
{
    uint4 sum = 0u;
    for (int byte = 0; byte < 32; byte += 8)
        sum += abs_diff((a >> byte) & 0xFFu, (b >> byte) & 0xFFu);
    return sum;
}
uint4 il_lerp(uint4 a, uint4 b, uint4 round)
{
    uint4 result = 0u;
    for (int byte = 0; byte < 32; byte += 8)
        result |= ((((a >> byte) & 0xFFu) + ((b >> byte) & 0xFFu) + ((round >> byte) & 1u)) >> 1) << byte;
    return result;
}
uint il_pack(float4 a)
{
    uint4 bytes = convert_uint4_sat_rte(clamp(a, 0.0f, 255.0f));
    return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
}

/* Texels: an element of 1, 2 or 4 lanes; the lanes that it lacks are 0, 0 and 1.0 (Direct3D 10). */
uint4 il_texel(__global const uint *data, int4 size, int x, int y)
{
    x = clamp(x, 0, size.x - 1);
    y = clamp(y, 0, size.y - 1);
    size_t at = ((size_t)y * (size_t)size.x + (size_t)x) * (size_t)size.z;
    if (size.z == 1)
        return (uint4)(data[at], 0u, 0u, 0x3F800000u);
    if (size.z == 2)
        return (uint4)(data[at], data[at + 1], 0u, 0x3F800000u);
    return vload4(0, data + at);
}

/* CAL's default sampler: the nearest texel, the edge's beyond it. */
uint4 il_sample(__global const uint *data, int4 size, float2 at)
{
    return il_texel(data, size, convert_int_sat_rtn(at.x), convert_int_sat_rtn(at.y));
}
uint4 il_sample_normalised(__global const uint *data, int4 size, float2 at)
{
    return il_sample(data, size, at * convert_float2(size.xy));
}

/* The first lanes of the four texels between which a place lies, against the clock from the lower left (Direct3D 10.1). */
uint4 il_fetch4(__global const uint *data, int4 size, float2 at)
{
    int x = convert_int_sat_rtn(at.x - 0.5f), y = convert_int_sat_rtn(at.y - 0.5f);
    return (uint4)(il_texel(data, size, x, y + 1).x, il_texel(data, size, x + 1, y + 1).x,
                   il_texel(data, size, x + 1, y).x, il_texel(data, size, x, y).x);
}

void il_output(__global uint *data, int4 size, int x, int y, uint4 value)
{
    if (x >= size.x || y >= size.y)
        return;
    size_t at = ((size_t)y * (size_t)size.x + (size_t)x) * (size_t)size.z;
    if (size.z == 1)
        data[at] = value.x;
    else if (size.z == 2)
        vstore2(value.xy, 0, data + at);
    else
        vstore4(value, 0, data + at);
}
uint il_sad4(uint4 a, uint4 b)
{
    uint4 sums = il_sad(a, b);
    return sums.x + sums.y + sums.z + sums.w;
}
float il_dot3(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/* Light's coefficients (Direct3D 9, lit). */
float4 il_lit(float4 a)
{
    float power = exp2(clamp(a.w, -128.0f, 128.0f) * log2(a.y));
    return (float4)(1.0f, a.x > 0.0f ? a.x : 0.0f, a.x > 0.0f && a.y > 0.0f ? power : 0.0f, 1.0f);
}

float il_determinant(float4 a, float4 b, float4 c, float4 d)
{
    float4 first = (float4)(c.z * d.w - c.w * d.z, c.w * d.y - c.y * d.w, c.y * d.z - c.z * d.y, 0.0f);
    float4 second = (float4)(c.x * d.w - c.w * d.x, c.w * d.x - c.x * d.w, c.x * d.z - c.z * d.x, 0.0f);
    float xy = c.x * d.y - c.y * d.x;
    float x = b.y * first.x + b.z * first.y + b.w * first.z;
    float y = b.x * first.x - b.z * second.x + b.w * second.z;
    float z = b.x * -first.y - b.y * second.x + b.w * xy;
    float w = b.x * first.z - b.y * second.z + b.z * xy;
    return a.x * x - a.y * y + a.z * z - a.w * w;
}

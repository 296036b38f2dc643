/* A component of an element: its bits in, what a register holds out, and back. Compiled before texels.c. */

#pragma STDC FP_CONTRACT OFF

static float as_float(u32 bits) { float value; __builtin_memcpy(&value, &bits, 4); return value; }
static u32 as_bits(float value) { u32 bits; __builtin_memcpy(&bits, &value, 4); return bits; }
static u32 least(u32 a, u32 b) { return a < b ? a : b; }
static u32 most(u32 a, u32 b) { return a > b ? a : b; }

/* A field of a descriptor, of up to 48 bits: its lowest bit and, times 65536, its width; 0 if it has none. */
static u64 get(const u32 *words, u32 field) {
    u32 low = field & 0xffff, width = field >> 16, n = low / 32, bit = low % 32;
    if (width == 0) return 0;
    u64 value = words[n];
    if (bit + width > 32) value |= (u64)words[n + 1] << 32;
    return value >> bit & ~0ull >> (64 - width);
}

/* A whole number next to x, to even; |x| < 2^51. */
static double whole(double x) {
    double big = 6755399441055744.0;
    return (x + big) - big;
}

static float floor_of(float x) {
    if (!(x > -8388608.0f && x < 8388608.0f)) return x;
    float t = (float)(i32)x;
    return t > x ? t - 1.0f : t;
}

/* A float with an exponent of 5 bits: half (a mantissa of 10 bits and a sign), or 6 and 5 bits without a sign. */
static float from_small(u32 bits, u32 mantissa) {
    u32 sign = mantissa == 10 ? bits >> 15 & 1 : 0, exponent = bits >> mantissa & 31, rest = bits & ((1u << mantissa) - 1);
    if (exponent == 31) return as_float(sign << 31 | 0x7f800000 | rest << (23 - mantissa));
    if (exponent) return as_float(sign << 31 | (exponent + 112) << 23 | rest << (23 - mantissa));
    float value = (float)rest * as_float((127 - 14 - mantissa) << 23);
    return sign ? -value : value;
}

static u32 to_small(u32 bits, u32 mantissa) {
    u32 sign = bits >> 31, result, away = bits & 0x7fffffff;
    if (away > 0x7f800000) return (mantissa == 10 ? sign << 15 : 0) | 31u << mantissa | 1u << (mantissa - 1);
    if (mantissa != 10 && sign) return 0;
    i32 exponent = (i32)(away >> 23) - 112;
    if (exponent >= 31) {
        result = 31u << mantissa;
    } else {
        u32 fraction = away & 0x7fffff, shift = 23 - mantissa;
        if (exponent <= 0) {
            fraction |= 0x800000;
            shift += (u32)(1 - exponent);
            exponent = 0;
        }
        if (shift > 25) return mantissa == 10 ? sign << 15 : 0;
        u32 kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), half = 1u << (shift - 1);
        result = ((u32)exponent << mantissa) + kept + (rest > half || (rest == half && kept & 1));
    }
    return (mantissa == 10 ? sign << 15 : 0) | result;
}

/* A component's field as a register: bits of a float, or of an integer. */
static u32 unpacked(u32 field, u32 width, u32 kind) {
    if (kind == NUM_UNORM && width == 8) return UNORM_VALUES[field];
    i32 s = width < 32 ? (i32)(field << (32 - width)) >> (32 - width) : (i32)field;
    double largest = (double)(~0ull >> (64 - width));
    switch (kind) {
        case NUM_UNORM: return as_bits((float)(field / largest));
        case NUM_SNORM: {
            double value = s / (double)((1ull << (width - 1)) - 1);
            return as_bits((float)(value < -1.0 ? -1.0 : value));
        }
        case NUM_SNORM_OGL: return as_bits((float)((2.0 * s + 1.0) / largest));
        case NUM_USCALED: return as_bits((float)field);
        case NUM_SSCALED: return as_bits((float)s);
        case NUM_SINT: return (u32)s;
        case NUM_FLOAT: return width == 32 ? field : as_bits(from_small(field, width == 16 ? 10 : width - 5));
        case NUM_SRGB: return SRGB_VALUES[field & 255];
    }
    return field;
}

/* The way back. */
static u32 packed(u32 bits, u32 width, u32 kind) {
    u32 mask = (u32)(~0ull >> (64 - width));
    float x = as_float(bits);
    double low = 0, high = 0, scale = 1;
    switch (kind) {
        case NUM_UNORM: high = 1; scale = (double)mask; break;
        case NUM_SNORM: low = -1; high = 1; scale = (double)(mask >> 1); break;
        case NUM_SNORM_OGL: {
            double v = x == x ? (x < -1.0f ? -1.0 : x > 1.0f ? 1.0 : (double)x) : 0.0;
            return (u32)(i64)whole((v * (double)mask - 1.0) / 2.0) & mask;
        }
        case NUM_USCALED: high = (double)mask; break;
        case NUM_SSCALED: low = -(double)(mask >> 1) - 1; high = (double)(mask >> 1); break;
        case NUM_UINT: return bits < mask ? bits : mask;
        case NUM_SINT: {
            i32 s = (i32)bits, top = (i32)(mask >> 1), bottom = -top - 1;
            return (u32)(s > top ? top : s < bottom ? bottom : s) & mask;
        }
        case NUM_FLOAT: return width == 32 ? bits : to_small(bits, width == 16 ? 10 : width - 5);
        case NUM_SRGB: {
            u32 n = 0;
            while (n < 255 && x >= as_float(SRGB_STEPS[n])) n++;
            return n;
        }
    }
    double v = x == x ? (double)x : 0.0;
    v = v < low ? low : v > high ? high : v;
    return (u32)(i64)whole(v * scale) & mask;
}

/* Registers of all lanes in; those of a matrix product with an addend, out. Part of support.c. */

#define INLINED static inline __attribute__((always_inline))
enum { MOST_FACTORS = 16 }; /* of a lane */

static inline float from_bits(u32 bits) { float value; __builtin_memcpy(&value, &bits, 4); return value; }
static inline u32 to_bits(float value) { u32 bits; __builtin_memcpy(&bits, &value, 4); return bits; }

/* Floats of few bits are those of 32 bits with the wrong bias, which a product by a power of two corrects. */
static inline u32 from_half(u32 half) {
#ifdef __F16C__
    u16 bits = half;
    _Float16 value;
    __builtin_memcpy(&value, &bits, 2);
    return to_bits((float)value);
#else
    u32 rest = (half & 0x7fff) << 13, value = to_bits(from_bits(rest) * 0x1p112f);
    return (rest >= 0x0f800000 ? rest | 0x7f800000 : value) | (half & 0x8000) << 16;
#endif
}

/* E4M3 and E5M2 with biases of 8 and 16, without infinities and with one NaN. */
static inline u32 from_fp8(u32 bits) {
    u32 value = to_bits(from_bits((bits & 127) << 20) * 0x1p119f) | (bits & 128) << 24;
    return bits == 128 ? 0x7fc00000 : value;
}

static inline u32 from_bf8(u32 bits) {
    u32 value = to_bits(from_bits((bits & 127) << 21) * 0x1p111f) | (bits & 128) << 24;
    return bits == 128 ? 0x7fc00000 : value;
}

/* Ten bits of fraction, the others cut off: what microsoft/MMA-Sim, simulator/amd.py, found on the hardware, and what
   Tensile's reference does (ROCm/hipBLASLt, DataTypes_XFloat32.hpp). */
static inline u32 to_xf32(u32 bits) { return bits & 0xffffe000; }

/* All lanes' factors, the n-th of each lane in row n, as floats of 32 bits or as integers. `kind` is a constant. */
INLINED void widen_kind(u32 out[MOST_FACTORS][LANES], const u32 *registers,
                                                             const u32 kind, u32 per_lane) {
    const u32 width = kind == F32 || kind == XF32 ? 32 : kind == F16 || kind == BF16 ? 16 : 8;
    for (u32 n = 0; n < per_lane; n++) {
        const u32 *row = &registers[width * n / 32 * LANES];
        u32 at = width * n % 32;
        for (u32 lane = 0; lane < LANES; lane++) {
            u32 bits = row[lane] >> at;
            out[n][lane] = kind == F32    ? bits
                           : kind == XF32 ? to_xf32(bits)
                           : kind == F16  ? from_half(bits & 0xffff)
                           : kind == BF16 ? bits << 16
                           : kind == FP8  ? from_fp8(bits & 255)
                           : kind == BF8  ? from_bf8(bits & 255)
                                          : (u32)(i32)(signed char)bits;
        }
    }
}

static void widen(u32 out[MOST_FACTORS][LANES], const u32 *registers, u32 kind, u32 per_lane) {
    switch (kind) {
    case F32: widen_kind(out, registers, F32, per_lane); break;
    case F16: widen_kind(out, registers, F16, per_lane); break;
    case BF16: widen_kind(out, registers, BF16, per_lane); break;
    case FP8: widen_kind(out, registers, FP8, per_lane); break;
    case BF8: widen_kind(out, registers, BF8, per_lane); break;
    case XF32: widen_kind(out, registers, XF32, per_lane); break;
    default: widen_kind(out, registers, I8, per_lane);
    }
}

/* The register, counted in elements of the result, and the lane of element (i, j) of a block. */
static inline u32 element(u32 m, u32 kind, u32 block, u32 i, u32 j, u32 *lane) {
    if (kind == F64) {
        *lane = m == 16 ? j + 16 * (i % 4) : j + 4 * block + 16 * i;
        return m == 16 ? i / 4 : 0;
    }
    if (m == 4) {
        *lane = j + 4 * block;
        return i;
    }
    u32 groups = LANES / m;
    *lane = j + m * (i / 4 % groups);
    return m * m / LANES * block + i / (4 * groups) * 4 + i % 4;
}

struct product {
    u32 blocks, kind_a, kind_b, per_lane, broadcast, chosen;
    const u32 *a, *b, *c;
    u32 *d;
};

/* d = a b + c for all blocks. A row of `m` results lies in lanes side by side of one register; `at_once` rows share what is
   loaded of B, and are as many as keep the processor's multipliers busy. `step` is one multiplication with addition. */
#define MATRIX_ROWS(scope, name, type, kind, m, at_once, step)                                                              \
    scope void name(const struct product *p, const type (*a)[LANES], const type (*b)[LANES], const type (*c)[LANES],        \
                    type (*d)[LANES]) {                                                                                     \
        typedef type row __attribute__((ext_vector_type(m), aligned(sizeof(type))));                                        \
        for (u32 block = 0; block < p->blocks; block++) {                                                                   \
            u32 of_a = p->broadcast ? (block & ~((1u << p->broadcast) - 1)) + p->chosen : block;                            \
            for (u32 i = 0; i < m; i += at_once) {                                                                          \
                row sums[at_once];                                                                                          \
                u32 lane[at_once], at[at_once];                                                                             \
                for (u32 r = 0; r < at_once; r++) {                                                                         \
                    at[r] = element(m, kind, block, i + r, 0, &lane[r]);                                                    \
                    sums[r] = *(const row *)&c[at[r]][lane[r]];                                                             \
                }                                                                                                           \
                for (u32 group = 0; group < LANES / m; group += p->blocks)                                                  \
                    for (u32 n = 0; n < p->per_lane; n++) {                                                                 \
                        const type *x = &a[n][(group + of_a) * m + i];                                                      \
                        row y = *(const row *)&b[n][(group + block) * m];                                                   \
                        for (u32 r = 0; r < at_once; r++) sums[r] = step((row)x[r], y, sums[r]);                            \
                    }                                                                                                       \
                for (u32 r = 0; r < at_once; r++) *(row *)&d[at[r]][lane[r]] = sums[r];                                     \
            }                                                                                                               \
        }                                                                                                                   \
    }
#define WRAPPED(x, y, sum) ((x) * (y) + (sum))
MATRIX_ROWS(static, floats_32, float, F32, 32, 2, __builtin_elementwise_fma)
MATRIX_ROWS(static, floats_16, float, F32, 16, 4, __builtin_elementwise_fma)
MATRIX_ROWS(static, floats_4, float, F32, 4, 4, __builtin_elementwise_fma)
MATRIX_ROWS(static, integers_32, u32, I8, 32, 2, WRAPPED)
MATRIX_ROWS(static, integers_16, u32, I8, 16, 4, WRAPPED)
MATRIX_ROWS(static, integers_4, u32, I8, 4, 4, WRAPPED)
MATRIX_ROWS(INLINED, doubles_16, double, F64, 16, 2, __builtin_elementwise_fma)
MATRIX_ROWS(INLINED, doubles_4, double, F64, 4, 1, __builtin_elementwise_fma)

static inline void read_doubles(u64 *out, const u32 *registers, u32 count) {
    for (u32 n = 0; n < count; n++)
        for (u32 lane = 0; lane < LANES; lane++)
            out[n * LANES + lane] = registers[2 * n * LANES + lane] | (u64)registers[(2 * n + 1) * LANES + lane] << 32;
}

/* Doubles lie in pairs of registers, whose halves are joined first. `m` and `blocks` are constants. */
INLINED void doubles(
    const u32 *a, const u32 *b, const u32 *c, u32 *d, const u32 m, const u32 blocks
) {
    const struct product p = {blocks, F64, F64, 1, 0, 0, a, b, c, d};
    const u32 results = m * m * blocks / LANES;
    union numbers { u64 bits[4][LANES]; double values[4][LANES]; } x, y, sums;
    read_doubles(x.bits[0], a, 1);
    read_doubles(y.bits[0], b, 1);
    read_doubles(sums.bits[0], c, results);
    if (m == 16) doubles_16(&p, x.values, y.values, sums.values, sums.values);
    else doubles_4(&p, x.values, y.values, sums.values, sums.values);
    for (u32 n = 0; n < results; n++)
        for (u32 lane = 0; lane < LANES; lane++) {
            d[2 * n * LANES + lane] = (u32)sums.bits[n][lane];
            d[(2 * n + 1) * LANES + lane] = sums.bits[n][lane] >> 32;
        }
}

/* The same where A has two factors for each four of B: lane i of `index`, from bit `at` on, has for each factor of row i two
   bits that say which of the four it meets. */
INLINED void sparse_rows(const struct product *p, const u32 m, const u32 *index, u32 at) {
    u32 a[MOST_FACTORS][LANES], b[MOST_FACTORS][LANES];
    widen(a, p->a, p->kind_a, p->per_lane);
    widen(b, p->b, p->kind_b, 2 * p->per_lane);
    for (u32 i = 0; i < m; i++) {
        u32 lane, first = element(m, p->kind_a, 0, i, 0, &lane);
        u32 *row = &p->d[first * LANES + lane], sums[32];
        for (u32 j = 0; j < m; j++) sums[j] = row[j];
        for (u32 group = 0; group < LANES / m; group++)
            for (u32 n = 0; n < p->per_lane; n++) {
                u32 x = a[n][group * m + i], chosen = index[group * m + i] >> (at + 2 * n) & 3;
                const u32 *y = &b[n / 2 * 4 + chosen][group * m];
                if (p->kind_a == I8)
                    for (u32 j = 0; j < m; j++) sums[j] += x * y[j];
                else
                    for (u32 j = 0; j < m; j++)
                        sums[j] = to_bits(__builtin_fmaf(from_bits(x), from_bits(y[j]), from_bits(sums[j])));
            }
        for (u32 j = 0; j < m; j++) row[j] = sums[j];
    }
}

/* c += a b for a sparse one; `per_lane`: factors of A in a lane's registers. */
HIDDEN void hw_sparse_matrix(u32 m, u32 kinds, u32 per_lane, u32 at, const u32 *a, const u32 *b, u32 *c, const u32 *index) {
    struct product p = {1, kinds & 255, kinds >> 8, per_lane, 0, 0, a, b, c, c};
    if (m == 32) sparse_rows(&p, 32, index, at);
    else sparse_rows(&p, 16, index, at);
}

/* d = c + a b for each of `blocks` blocks of m x m results; register n of lane l is [n * 64 + l]. `kinds`: of a, and 256
   times that of b. `per_lane`: factors in a lane's registers. A's block is of those that `chosen` names if `broadcast` is not
   0 (fields abid and cbsz). c may be d; d may lie over a and b. */
HIDDEN void hw_matrix(u32 m, u32 blocks, u32 kinds, u32 per_lane, u32 broadcast, u32 chosen, const u32 *a, const u32 *b,
                      const u32 *c, u32 *d) {
    struct product p = {blocks, kinds & 255, kinds >> 8, per_lane, broadcast, chosen, a, b, c, d};
    if (p.kind_a == F64) {
        if (m == 16) doubles(a, b, c, d, 16, 1);
        else doubles(a, b, c, d, 4, 4);
        return;
    }
    union { u32 bits[MOST_FACTORS][LANES]; float values[MOST_FACTORS][LANES]; } x, y;
    widen(x.bits, a, p.kind_a, per_lane);
    widen(y.bits, b, p.kind_b, per_lane);
    const void *from = c;
    void *to = d;
    if (p.kind_a == I8)
        (m == 32 ? integers_32 : m == 16 ? integers_16 : integers_4)(&p, x.bits, y.bits, from, to);
    else
        (m == 32 ? floats_32 : m == 16 ? floats_16 : floats_4)(&p, x.values, y.values, from, to);
}

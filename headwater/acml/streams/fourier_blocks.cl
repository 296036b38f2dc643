// A pass of a large RADIX over discrete Fourier transforms, for GPUs: Stockham's, as in `fourier.cl`, whose own stages
// are computed in registers and exchanged through local memory, so that a pass reads and writes global memory once.
//
// A group of ITEMS transforms COLUMNS columns; a column is element j of the RADIX parts of sequence s. A stage of a
// small radix gives each item UNITS(radix) transforms of numbers b + r * RADIX / radix of a column, r < radix. STAGES:
// LOAD, TRANSFORM, EXCHANGE … STORE, which `fourier_blocks.py` writes, with N: the length, DONE: the product of the
// passes' radices before this one, HELD: numbers of an item, and where tables begin. T is a complex number, R its part.

#pragma OPENCL FP_CONTRACT ON

#define ELEMENTS (RADIX * COLUMNS)
#define PART (N / RADIX)
#define UNITS(radix) ((ELEMENTS / (radix) + ITEMS - 1) / ITEMS)
#define UNROLL _Pragma("unroll")
// each transform of a stage: column c, first number b. along: neighbouring items have neighbours of a column
#define EACH(radix, along) \
    UNROLL for (int u = 0; u < UNITS(radix); ++u) { \
        const int e = u * ITEMS + item; \
        const int c = (along) ? e / (RADIX / (radix)) : e % COLUMNS, b = (along) ? e % (RADIX / (radix)) : e / COLUMNS; \
        if (ELEMENTS / (radix) % ITEMS == 0 || e < ELEMENTS / (radix))
#define END }

// Places in local memory are chosen against conflicts of banks: WHOLE passes store columns, others rows.
#if WHOLE
#define PLACE(r, c) ((c) * (RADIX + RADIX / 16) + (r) + (r) / 16)
#define PLACES (COLUMNS * (RADIX + RADIX / 16))
#else
#define PLACE(r, c) ((r) * (COLUMNS + 1) + (c))
#define PLACES (RADIX * (COLUMNS + 1))
#endif

T product(T x, T y) { return (T)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }
T turned(T x) { return (T)(x.y, -x.x); }
T swapped(T x, int direction) { return direction < 0 ? x.yx : x; } // a backward transform is a forward one so

#define TRANSFORM_2(a, b) { const T other = a - b; a = a + b; b = other; }
#define TRANSFORM_4(a, b, c, d) { \
    const T even = a + c, odd = b + d, even_difference = a - c, odd_difference = turned(b - d); \
    a = even + odd, b = even_difference + odd_difference, c = even - odd, d = even_difference - odd_difference; \
}
#define DIAGONAL ((R)0.70710678118654752440)
#define COSINE ((R)0.92387953251128675613) // of an eighth of pi
#define SINE ((R)0.38268343236508977173)

// x times exp(-i pi / 4), and its third power
T eighth(T x) { return (T)(x.x + x.y, x.y - x.x) * DIAGONAL; }
T three_eighths(T x) { return (T)(x.y - x.x, -x.x - x.y) * DIAGONAL; }

void transform_8(T *x)
{
    TRANSFORM_4(x[0], x[2], x[4], x[6])
    TRANSFORM_4(x[1], x[3], x[5], x[7])
    const T a = x[0], b = x[2], c = x[4], d = x[6], e = x[1];
    const T one = eighth(x[3]), two = turned(x[5]), three = three_eighths(x[7]);
    x[0] = a + e, x[1] = b + one, x[2] = c + two, x[3] = d + three;
    x[4] = a - e, x[5] = b - one, x[6] = c - two, x[7] = d - three;
}

void transform_16(T *x)
{
    T y[16];
    UNROLL for (int k = 0; k < 4; ++k)
        TRANSFORM_4(x[k], x[k + 4], x[k + 8], x[k + 12])
    // x[k + 4 m] times exp(-2 pi i k m / 16)
    x[5] = product(x[5], (T)(COSINE, -SINE));
    x[6] = eighth(x[6]);
    x[7] = product(x[7], (T)(SINE, -COSINE));
    x[9] = eighth(x[9]);
    x[10] = turned(x[10]);
    x[11] = three_eighths(x[11]);
    x[13] = product(x[13], (T)(SINE, -COSINE));
    x[14] = three_eighths(x[14]);
    x[15] = product(x[15], (T)(-COSINE, SINE));
    UNROLL for (int m = 0; m < 4; ++m)
        TRANSFORM_4(x[4 * m], x[4 * m + 1], x[4 * m + 2], x[4 * m + 3])
    UNROLL for (int k = 0; k < 16; ++k)
        y[k] = x[k];
    UNROLL for (int k = 0; k < 16; ++k)
        x[k] = y[k % 4 * 4 + k / 4];
}

// cos and sin of 2 pi k / p, for k up to (p - 1) / 2
__constant R ROOTS_3[] = {(R)-0.5, (R)0.86602540378443864676};
__constant R ROOTS_5[] = {(R)0.30901699437494742410, (R)0.95105651629515357212,
                          (R)-0.80901699437494742410, (R)0.58778525229247312917};
__constant R ROOTS_7[] = {(R)0.62348980185873353053, (R)0.78183148246802980871,
                          (R)-0.22252093395631440429, (R)0.97492791218182360702,
                          (R)-0.90096886790241912624, (R)0.43388373911755812048};
__constant R ROOTS_11[] = {(R)0.84125353283118116886, (R)0.54064081745559758211,
                           (R)0.41541501300188642553, (R)0.90963199535451837141,
                           (R)-0.14231483827328514044, (R)0.98982144188093273238,
                           (R)-0.65486073394528506406, (R)0.75574957435425828378,
                           (R)-0.95949297361449738989, (R)0.28173255684142969772};
__constant R ROOTS_13[] = {(R)0.88545602565320989590, (R)0.46472317204376854566,
                           (R)0.56806474673115580251, (R)0.82298386589365639458,
                           (R)0.12053668025532305335, (R)0.99270887409805399279,
                           (R)-0.35460488704253562597, (R)0.93501624268541482344,
                           (R)-0.74851074817110109864, (R)0.66312265824079520238,
                           (R)-0.97094181742605202716, (R)0.23931566428755776715};

// of an odd prime: pairs x[q], x[p - q] share their products
#define TRANSFORM_ODD(p) \
void transform_##p(T *x) \
{ \
    T sums[p / 2], differences[p / 2], first = x[0]; \
    UNROLL for (int q = 1; q <= p / 2; ++q) { \
        sums[q - 1] = x[q] + x[p - q]; \
        differences[q - 1] = turned(x[q] - x[p - q]); \
        first += sums[q - 1]; \
    } \
    UNROLL for (int k = 1; k <= p / 2; ++k) { \
        T even = x[0], odd = (T)(0); \
        UNROLL for (int q = 1; q <= p / 2; ++q) { \
            const int angle = k * q % p, least = angle <= p / 2 ? angle : p - angle; \
            const R sine = ROOTS_##p[2 * least - 1]; \
            even += ROOTS_##p[2 * least - 2] * sums[q - 1]; \
            odd += (angle <= p / 2 ? sine : -sine) * differences[q - 1]; \
        } \
        x[k] = even + odd; \
        x[p - k] = even - odd; \
    } \
    x[0] = first; \
}
TRANSFORM_ODD(3)
TRANSFORM_ODD(5)
TRANSFORM_ODD(7)
TRANSFORM_ODD(11)
TRANSFORM_ODD(13)
void transform_2(T *x) { TRANSFORM_2(x[0], x[1]) }
void transform_4(T *x) { TRANSFORM_4(x[0], x[1], x[2], x[3]) }

#if NEAR
#define INNER 1 // elements of a sequence are neighbours
#else
#define INNER inner
#endif
int place(int s, int t, int inner) { return s / INNER * (N * INNER) + s % INNER + t * INNER; }
int element(int column, int sequences) { return NEAR ? column % PART : column / sequences; }
int sequence(int column, int sequences) { return NEAR ? column / PART : column % sequences; }

// exp(-2 pi i m / (DONE * RADIX)) of two tables, since one of all m would be as long as a sequence
T root(__global const T *tables, int m) { return product(tables[COARSE + m / FINE], tables[COARSE - FINE + m % FINE]); }

#define LOAD(radix, along) \
    EACH(radix, along) { \
        const int column = min(first + c, columns - 1), j = element(column, sequences); \
        const int from = place(sequence(column, sequences), j + b * PART, inner); \
        UNROLL for (int r = 0; r < radix; ++r) \
            x[u * radix + r] = swapped(in[from + r * (RADIX / radix * PART) * INNER], direction); \
        if (DONE > 1) { /* times exp(-2 pi i k (b + r * RADIX / radix) / (DONE * RADIX)) */ \
            const int k = j % DONE, step = k * (RADIX / radix); \
            const T one = root(tables, step), two = root(tables, radix > 2 ? 2 * step : 0); \
            const T four = root(tables, radix > 4 ? 4 * step : 0), eight = root(tables, radix > 8 ? 8 * step : 0); \
            T w[radix]; \
            w[0] = root(tables, k * b); \
            UNROLL for (int r = 1; r < radix; ++r) \
                w[r] = product(w[r & (r - 1)], r & 1 ? one : r & 2 ? two : r & 4 ? four : eight); \
            UNROLL for (int r = 0; r < radix; ++r) \
                x[u * radix + r] = product(x[u * radix + r], w[r]); \
        } \
    } END

// before: the product of the stages' radices before this one, whose roots begin at `offset` of the tables
#define TRANSFORM(radix, before, offset, along) \
    EACH(radix, along) { \
        if (before > 1) \
            UNROLL for (int r = 1; r < radix; ++r) \
                x[u * radix + r] = product(x[u * radix + r], tables[offset + (r - 1) * before + b % before]); \
        transform_##radix(x + u * radix); \
    } END

#define WRITE(part, radix, before, along) \
    EACH(radix, along) \
        UNROLL for (int r = 0; r < radix; ++r) \
            data[PLACE(b / before * (before * radix) + b % before + r * before, c)] = x[u * radix + r] part; \
    END \
    barrier(CLK_LOCAL_MEM_FENCE);
#define READ(part, radix, along) \
    EACH(radix, along) \
        UNROLL for (int r = 0; r < radix; ++r) \
            x[u * radix + r] part = data[PLACE(b + r * (RADIX / radix), c)]; \
    END \
    barrier(CLK_LOCAL_MEM_FENCE);

// from a stage to the next. SPLIT: real parts before imaginary ones, through half as much memory
#if SPLIT
#define EXCHANGE(radix, before, along, next, next_along) \
    WRITE(.x, radix, before, along) READ(.x, next, next_along) \
    WRITE(.y, radix, before, along) READ(.y, next, next_along)
#define PLACED R
#else
#define EXCHANGE(radix, before, along, next, next_along) WRITE(, radix, before, along) READ(, next, next_along)
#define PLACED T
#endif

#define STORE(radix, along) \
    EACH(radix, along) { \
        const int column = first + c, j = element(column, sequences); \
        const int to = place(sequence(column, sequences), j / DONE * (DONE * RADIX) + j % DONE + b * DONE, inner); \
        if (column < columns) \
            UNROLL for (int r = 0; r < radix; ++r) \
                out[to + r * (RADIX / radix * DONE) * INNER] = swapped(x[u * radix + r], direction) * scale; \
    } END

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void pass(__global const T *in, __global T *out, __global const T *tables, int inner, int sequences, int direction,
          R scale)
{
    __local PLACED data[PLACES];
    const int item = get_local_id(0), first = get_group_id(0) * COLUMNS, columns = PART * sequences;
    T x[HELD];
    STAGES
}

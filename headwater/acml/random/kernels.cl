// Base generators and distributions. Every result follows from integers and from additions, multiplications, divisions
// and square roots of IEEE 754, which are rounded alike everywhere, so that a sequence of doubles is the same on every
// device. T is the type of the results, double or float; a macro, because drivers tell arguments' types by their names.

#pragma OPENCL FP_CONTRACT OFF

#ifdef IN_DOUBLE
#define T double
#define BITS ulong
#define FROM_BITS as_double
#define TO_BITS as_ulong
#define MANTISSA 52
#define BIAS 1023
#else
#define T float
#define BITS uint
#define FROM_BITS as_float
#define TO_BITS as_uint
#define MANTISSA 23
#define BIAS 127
#endif
#define C(x) ((T)(x))

// Philox 4x64-10 (Salmon, Moraes, Dror, Shaw 2011). A block of four words a counter; the first is counter + 1, as NumPy
// has it. Each work-item makes the results first - start … of one block.
#ifdef PHILOX
#ifdef IN_DOUBLE
#define IN_BLOCK 4
T number(const ulong *word, ulong at) { return C(word[at] / 2048) * C(0x1p-53); }
#else
#define IN_BLOCK 8
T number(const ulong *word, ulong at) { return C((uint)(word[at / 2] >> 32 * (at % 2)) / 256) * C(0x1p-24); }
#endif

void philox(ulong *x, ulong k0, ulong k1)
{
    for (int round = 0; round < 10; ++round) {
        const ulong a = 0xD2E7470EE14C6C93UL, b = 0xCA5A826395121157UL;
        const ulong high0 = mul_hi(a, x[0]), low0 = a * x[0], high1 = mul_hi(b, x[2]), low1 = b * x[2];
        x[0] = high1 ^ x[1] ^ k0;
        x[1] = low1;
        x[2] = high0 ^ x[3] ^ k1;
        x[3] = low0;
        k0 += 0x9E3779B97F4A7C15UL;
        k1 += 0xBB67AE8584CAA73BUL;
    }
}

// state: counter (four words), key (two). at: the first result's place in the sequence, leap apart.
__kernel void generate(__global const ulong *state, __global T *out, ulong at, ulong leap, ulong n)
{
    const ulong item = get_global_id(0);
    const ulong first = leap == 1 ? at / IN_BLOCK * IN_BLOCK + item * IN_BLOCK : at + item * leap;
    ulong x[4], carry = first / IN_BLOCK + 1;
    for (int i = 0; i < 4; ++i) {
        x[i] = state[i] + carry;
        carry = x[i] < carry;
    }
    philox(x, state[4], state[5]);
    if (leap != 1) {
        if (item < n)
            out[item] = number(x, first % IN_BLOCK);
        return;
    }
    for (ulong i = 0; i < IN_BLOCK; ++i)
        if (first + i >= at && first + i - at < n)
            out[first + i - at] = number(x, i);
}
#endif

// MT19937 (Matsumoto, Nishimura 1998). raw: 624 words of state, after which n more are written; one work-group, because
// 227 words in a row are all that do not depend on each other.
#ifdef MERSENNE
#ifdef NO_BARRIERS // one work-item does it all
__kernel void recur(__global uint *raw, uint n)
{
    for (uint i = 0; get_global_id(0) == 0 && i < n; ++i) {
        const uint y = (raw[i] & 0x80000000U) | (raw[i + 1] & 0x7fffffffU);
        raw[i + 624] = raw[i + 397] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0U);
    }
}
#else
__kernel void recur(__global uint *raw, uint n)
{
    const uint item = get_local_id(0);
    for (uint base = 0; base < n; base += 227) {
        const uint i = base + item;
        if (item < 227 && i < n) {
            const uint y = (raw[i] & 0x80000000U) | (raw[i + 1] & 0x7fffffffU);
            raw[i + 624] = raw[i + 397] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0U);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
#endif

uint temper(uint y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

__kernel void generate(__global const uint *raw, __global T *out, uint leap, uint n)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
#ifdef IN_DOUBLE
    const uint at = 624 + 2 * i * leap;
    out[i] = (C(temper(raw[at]) / 32) * C(67108864) + C(temper(raw[at + 1]) / 64)) / C(9007199254740992);
#else
    out[i] = C(temper(raw[624 + i * leap]) / 256) * C(0x1p-24);
#endif
}
#endif

// Linear generators: vectors of ORDER words modulo a prime, COMPONENTS of them. matrices: how the state goes on by
// RUN << bit results, for each bit and component, and at last by one. Each work-item makes RUN results in a row.
#ifdef LINEAR
#ifdef POWER_OF_2
#define MODULO(x, c) ((x) & ((1UL << 59) - 1))
#else
__constant ulong moduli[COMPONENTS] = {MODULI};
#define MODULO(x, c) ((x) % moduli[c])
#endif

void step(ulong *x, __global const ulong *matrices)
{
    for (int c = 0; c < COMPONENTS; ++c) {
        ulong y[ORDER];
        for (int i = 0; i < ORDER; ++i) {
            y[i] = 0;
            for (int j = 0; j < ORDER; ++j)
                y[i] = MODULO(y[i] + MODULO(matrices[(c * ORDER + i) * ORDER + j] * x[c * ORDER + j], c), c);
        }
        for (int i = 0; i < ORDER; ++i)
            x[c * ORDER + i] = y[i];
    }
}

T number(const ulong *x)
{
#if defined(NAG)
#ifdef IN_DOUBLE
    return C(x[0] / 64) * C(0x1p-53);
#else
    return C((uint)(x[0] >> 35)) * C(0x1p-24);
#endif
#elif defined(MRG)
    const ulong z = x[2] > x[5] ? x[2] - x[5] : x[2] + moduli[0] - x[5];
#ifdef IN_DOUBLE
    return C(z) * C(2.328306549295727688e-10);
#else
    return C((uint)(z / 256)) * C(0x1p-24);
#endif
#elif defined(ECUYER)
    const ulong z = x[0] > x[1] ? x[0] - x[1] : x[0] + moduli[0] - 1 - x[1];
#ifdef IN_DOUBLE
    return C(z) * C(4.656613e-10);
#else
    return C((uint)(z / 128)) * C(0x1p-24);
#endif
#else // Wichmann and Hill: the fraction of a sum of fractions
#ifdef IN_DOUBLE
    T sum = 0;
    for (int c = 0; c < COMPONENTS; ++c)
        sum += C(x[c]) / C(moduli[c]);
    return sum - floor(sum);
#else
    uint sum = 0;
    for (int c = 0; c < COMPONENTS; ++c)
        sum += (uint)((x[c] << 32) / moduli[c]);
    return C(sum / 256) * C(0x1p-24);
#endif
#endif
}

__kernel void generate(__global const ulong *state, __global const ulong *matrices, __global T *out, uint n)
{
    const uint item = get_global_id(0), size = COMPONENTS * ORDER * ORDER;
    ulong x[COMPONENTS * ORDER];
    for (int i = 0; i < COMPONENTS * ORDER; ++i)
        x[i] = state[i];
    for (uint bit = 0; item >> bit; ++bit)
        if (item >> bit & 1)
            step(x, matrices + bit * size);
    for (uint i = 0; i < RUN; ++i) {
        step(x, matrices + 32 * size);
        if (item * RUN + i < n)
            out[item * RUN + i] = number(x);
    }
}
#endif

#ifdef DISTRIBUTIONS
// log of a positive normal number: m 2^e with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1)).
T logarithm(T x)
{
    BITS bits = TO_BITS(x);
    int e = (int)(bits >> MANTISSA) - BIAS;
    T m = FROM_BITS((bits & (((BITS)1 << MANTISSA) - 1)) | ((BITS)BIAS << MANTISSA));
    if (m > C(1.4142135623730951)) {
        m *= C(0.5);
        e += 1;
    }
    const T r = (m - 1) / (m + 1), s = r * r;
    T sum = 0;
    for (int k = 25; k >= 3; k -= 2)
        sum = (sum + 1 / C(k)) * s;
    return C(e) * C(0.693147180369123816490) + (C(e) * C(1.90821492927058770002e-10) + 2 * (r + r * sum));
}

// Powers of two that are no T themselves come in two steps; beyond the limit there is infinity, or 0.
T exponential(T x)
{
    const T limit = C(1.5) * C(BIAS) * C(0.69314718);
    x = x > limit ? limit : x < -limit ? -limit : x;
    const T k = floor(x * C(1.4426950408889634) + C(0.5));
    const T r = (x - k * C(0.693147180369123816490)) - k * C(1.90821492927058770002e-10);
    T sum = 1;
    for (int i = 14; i >= 1; --i)
        sum = 1 + sum * r / C(i);
    const int first = (int)k / 2, second = (int)k - first;
    return sum * FROM_BITS((BITS)(first + BIAS) << MANTISSA) * FROM_BITS((BITS)(second + BIAS) << MANTISSA);
}

// sin(pi t) / cos(pi t) for |t| <= 1/2.
T tangent(T t)
{
    const bool far = t > C(0.25) || t < C(-0.25);
    const T x = (far ? (t > 0 ? C(0.5) - t : C(-0.5) - t) : t) * C(3.14159265358979323846), s = x * x;
    T sine = 1, cosine = 1;
    for (int k = 18; k >= 2; k -= 2) {
        sine = 1 - sine * s / C(k * (k + 1));
        cosine = 1 - cosine * s / C(k * (k - 1));
    }
    sine *= x;
    return far ? cosine / sine : sine / cosine;
}

// The normal distribution's inverse: Wichura's rational functions PPND16 (Applied Statistics 37, algorithm AS 241).
__constant T inner_top[] = {
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3};
__constant T inner_bottom[] = {
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3};
__constant T middle_top[] = {
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4};
__constant T middle_bottom[] = {
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9};
__constant T outer_top[] = {
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
__constant T outer_bottom[] = {
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};

#define RATIO(r, top, bottom) (POLYNOMIAL(r, top) / POLYNOMIAL(r, bottom))
#define POLYNOMIAL(r, c) \
    ((((((((c)[7] * (r) + (c)[6]) * (r) + (c)[5]) * (r) + (c)[4]) * (r) + (c)[3]) * (r) + (c)[2]) * (r) + (c)[1]) * (r) + (c)[0])

T normal(T u)
{
    const T q = u - C(0.5);
    if (q <= C(0.425) && q >= C(-0.425)) {
        const T r = C(0.180625) - q * q;
        return q * RATIO(r, inner_top, inner_bottom);
    }
    const T r = sqrt(-logarithm(q < 0 ? u : 1 - u));
    const T x = r <= 5 ? RATIO(r - C(1.6), middle_top, middle_bottom) : RATIO(r - 5, outer_top, outer_bottom);
    return q < 0 ? -x : x;
}

// x: uniform numbers of [0, 1), which become the distribution's. Those that would be infinite are moved by a quarter of
// the step between uniform numbers.
__kernel void distribute(__global T *x, T a, T b, T c, uint n)
{
    const uint i = get_global_id(0);
    if (i >= n)
        return;
#ifdef IN_DOUBLE
    const T least = C(0x1p-55);
#else
    const T least = C(0x1p-26);
#endif
    const T u = x[i], v = u > 0 ? u : least;
#if defined(UNIFORM)
    x[i] = a + (b - a) * u;
#elif defined(GAUSSIAN)
    x[i] = a + b * normal(v);
#elif defined(LOGNORMAL)
    x[i] = exponential(a + b * normal(v));
#elif defined(EXPONENTIAL)
    x[i] = -a * logarithm(1 - u);
#elif defined(LOGISTIC)
    x[i] = a + b * logarithm(v / (1 - u));
#elif defined(CAUCHY)
    x[i] = a + b * tangent(u - C(0.5));
#elif defined(WEIBULL)
    const T w = -logarithm(1 - u);
    x[i] = w > 0 ? exponential(logarithm(b * w) / a) : 0;
#elif defined(TRIANGULAR)
    const T left = b - a, right = c - b, all = c - a;
    x[i] = u * all < left ? a + sqrt(u * all * left) : c - sqrt((1 - u) * all * right);
#elif defined(DISCRETE)
    x[i] = a + floor((b - a + 1) * u);
#endif
}
#endif

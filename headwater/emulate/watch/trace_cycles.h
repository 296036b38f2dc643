/* Addresses of 64 lanes in; how many cycles the LDS, or the unit in front of the caches, takes for them, out. */

enum { MOST_BANKS = 128 };
enum { AT_ONCE = 32 }; /* dwords that are compared with each other */

/* Of 32 numbers, those that have the bit. */
static inline u32 having(const v16 *number, u32 bit) {
    u32 set = 0;
    for (u32 p = 0; p < 2; p++) {
        b16 lanes = __builtin_convertvector((v16)((number[p] & splat(bit)) != splat(0)), b16);
        u16 some;
        __builtin_memcpy(&some, &lanes, 2);
        set |= (u32)some << 16 * p;
    }
    return set;
}

/* Of those that each number is the same as so far, those with the same `bits`. */
static inline void narrow(v16 *same, const v16 *number, u32 bits) {
    for (; bits; bits &= bits - 1) {
        u32 bit = bits & -bits, others = ~having(number, bit);
        for (u32 p = 0; p < 2; p++) same[p] &= splat(others) ^ (v16)((number[p] & splat(bit)) != splat(0));
    }
}

static inline v16 count_bits(v16 v) {
    v -= v >> 1 & splat(0x55555555);
    v = (v & splat(0x33333333)) + (v >> 2 & splat(0x33333333));
    return ((v + (v >> 4)) & splat(0x0f0f0f0f)) * splat(0x01010101) >> 24;
}

/* How many different dwords the bank has of which most are wanted, of those of 32 that `wanted` has; `banks` is a power of two.
   They are compared bit by bit, all at a time: branches on them would be mispredicted, and memory that records banks would be
   waited for. */
static u32 most_of_a_bank(const v16 *number, u32 wanted, u32 banks) {
    static const v16 one = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
    v16 lanes[2] = {lane_mask(wanted, 0), lane_mask(wanted, 1)}, of_bank[2] = {splat(wanted), splat(wanted)}, of_word[2], again[2], most = {0};
    u32 known = ((const u32 *)number)[__builtin_ctz(wanted)];
    u32 differ = __builtin_reduce_or(((number[0] ^ splat(known)) & lanes[0]) | ((number[1] ^ splat(known)) & lanes[1]));
    narrow(of_bank, number, differ & (banks - 1));
    for (u32 p = 0; p < 2; p++) of_word[p] = of_bank[p];
    narrow(of_word, number, differ & ~(banks - 1));
    /* A dword counts for the first that wants it: a bit that is the lowest of those with the same number. */
    for (u32 p = 0; p < 2; p++) again[p] = (v16)((of_word[p] & (0 - of_word[p])) != one << 16 * p) & splat(1);
    u32 once = wanted & ~having(again, 1);
    for (u32 p = 0; p < 2; p++) {
        v16 load = count_bits(of_bank[p] & splat(once)) & lanes[p], more = (v16)(load > most);
        most = (load & more) | (most & ~more);
    }
    return __builtin_reduce_max(most);
}

/* The same of any number, and any banks. */
static u32 most_of_many(const u32 *number, u32 count, u32 banks) {
    u32 most = 0, load[MOST_BANKS] = {0};
    for (u32 n = 0; n < count; n++) {
        u32 earlier = 0, *of_bank = &load[number[n] % banks];
        while (number[earlier] != number[n]) earlier++;
        *of_bank += earlier == n;
        most = *of_bank > most ? *of_bank : most;
    }
    return most;
}

/* Cycles of the LDS: lanes come in groups that want a dword for each bank, and a bank serves one dword a cycle. */
static u32 lds_cycles(u32 banks, const u32 *offset, u64 mask, u32 bytes) {
    u32 words = (bytes + 3) / 4, lanes = banks / (words == 3 ? 4 : words), total = 0;
    int fast = (banks & (banks - 1)) == 0;
    lanes = lanes < 1 ? 1 : lanes > LANES ? LANES : lanes;
    if (fast && words == 1 && (lanes == 16 || lanes == 32)) {
        for (u32 p = 0; p < 4; p += lanes / 16) {
            u32 wanted = mask >> 16 * p & (~0u >> (32 - lanes));
            v16 some[2] = {part_of(offset, p) / 4, lanes == 32 ? part_of(offset, p + 1) / 4 : splat(0)};
            if (wanted) total += most_of_a_bank(some, wanted, banks);
        }
        return total;
    }
    _Alignas(64) u32 number[MOST_BANKS];
    for (u32 from = 0; from < LANES; from += lanes) {
        u32 count = 0;
        for (u64 left = mask >> from & (~0ull >> (64 - lanes)); left; left &= left - 1) {
            u32 first = offset[from + __builtin_ctzll(left)] / 4;
            for (u32 one = first; one < first + words; one++) number[count++] = one;
        }
        if (count == 0) continue;
        total += fast && count <= AT_ONCE ? most_of_a_bank((const v16 *)number, ~0u >> (32 - count), banks)
                                          : most_of_many(number, count, banks);
    }
    return total;
}

/* One of each four lanes: the lanes `n` of every quad. */
#define OF_PAIR(a, b, n) __builtin_shufflevector(a, b, n, n + 4, n + 8, n + 12, n + 16, n + 20, n + 24, n + 28)
#define OF_QUADS(a, b, c, d, n) \
    __builtin_shufflevector(OF_PAIR(a, b, n), OF_PAIR(c, d, n), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

static inline void of_quads(const u32 *lanes, v16 *quads) {
    v16 a = part_of(lanes, 0), b = part_of(lanes, 1), c = part_of(lanes, 2), d = part_of(lanes, 3);
    quads[0] = OF_QUADS(a, b, c, d, 0);
    quads[1] = OF_QUADS(a, b, c, d, 1);
    quads[2] = OF_QUADS(a, b, c, d, 2);
    quads[3] = OF_QUADS(a, b, c, d, 3);
}

static inline v16 greater(v16 a, v16 b) {
    v16 first = (v16)(a > b);
    return (a & first) | (b & ~first);
}

/* How many different numbers of four go to the fullest of so many banks. */
static inline v16 fullest(const v16 *number, const v16 *on, u32 banks) {
    v16 first[4], most = {0};
    for (u32 j = 0; j < 4; j++) {
        first[j] = on[j];
        for (u32 k = 0; k < j; k++) first[j] &= ~(on[k] & (v16)(number[k] == number[j]));
    }
    for (u32 j = 0; j < 4; j++) {
        v16 load = {0};
        for (u32 k = 0; k < 4; k++) load -= first[k] & (v16)(((number[k] ^ number[j]) & splat(banks - 1)) == splat(0));
        load &= first[j];
        most = greater(load, most);
    }
    return most;
}

/* Lanes j, j + 4, j + 8, j + 12 of each 16: lane j of part p is element 4 p + j. */
#define OF_PARTS(a, b, n) __builtin_shufflevector(a, b, n, n + 1, n + 2, n + 3, n + 16, n + 17, n + 18, n + 19)
static inline void of_parts(const u32 *lanes, v16 *parts) {
    v16 a = part_of(lanes, 0), b = part_of(lanes, 1), c = part_of(lanes, 2), d = part_of(lanes, 3);
#define PART(n) \
    parts[n / 4] = __builtin_shufflevector(OF_PARTS(a, b, n), OF_PARTS(c, d, n), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    PART(0); PART(4); PART(8); PART(12);
#undef PART
}

/* Of each four, the neighbour in its pair; the same place in the other pair. */
#define OF_NEXT(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#define OF_OTHER(v) __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)

/* Cycles of the unit that takes addresses to cache lines, four lanes a cycle: of dwords, lanes 4 apart, of more, neighbours.
   They want as many cycles as the fullest of four banks of tags, which lines take in turn, has different lines, or the fullest
   bank of data different dwords: of 16, which are a line. Dwords of 16 lanes where each four follow each other are taken four
   at a time. This gives all strides and most blocks of RRZE-HPC, gpu-benches, gpu-strides, as measured on MI210. `more`:
   what addresses are above `low`. */
static u32 address_cycles(const u32 *low, u64 mask, u32 bytes, u32 more) {
    _Alignas(64) u32 active[LANES];
    for (u32 p = 0; p < 4; p++) ((v16 *)active)[p] = lane_mask(mask, p);
    v16 at[4], on[4], number[4], line[4], cost, wrong = {0};
    (bytes > 4 ? of_quads : of_parts)(low, at);
    (bytes > 4 ? of_quads : of_parts)(active, on);
    for (u32 k = 0; k < 4; k++) {
        at[k] += splat(more);
        line[k] = at[k] / LINE_BYTES;
        number[k] = at[k] >> (bytes > 4 ? 3 : 2);
    }
    v16 tags = fullest(line, on, 4);
    cost = bytes <= 8 ? greater(tags, fullest(number, on, bytes > 4 ? 8 : 16)) : tags;
    if (bytes <= 4) {
        const v16 lane = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
        for (u32 k = 0; k < 4; k++) {
            v16 from = at[k] - lane * bytes;
            wrong |= on[k] & OF_NEXT(on[k]) & (v16)(from != OF_NEXT(from));
            wrong |= on[k] & OF_OTHER(on[k]) & (v16)(from != OF_OTHER(from));
            wrong |= on[k] & OF_OTHER(OF_NEXT(on[k])) & (v16)(from != OF_OTHER(OF_NEXT(from)));
        }
        wrong |= OF_NEXT(wrong);
        wrong |= OF_OTHER(wrong);
        tags = greater(tags, OF_NEXT(tags));
        tags = greater(tags, OF_OTHER(tags));
        cost = (cost & wrong) | (tags & ~wrong & (v16)(lane == splat(0)));
    }
    u32 cycles = 0;
    for (u32 n = 0; n < 16; n++) cycles += cost[n];
    return cycles < 4 ? 4 : cycles > 64 ? 64 : cycles;
}

/* The same on VLIW chips: their texture units take four lanes a cycle, and a cycle for each line that these touch.
   `line_offset`: the first lane's address in its line. */
static u32 quad_cycles(const u32 *low, u64 mask, u32 bytes, u32 first, u32 line_offset) {
    u32 cycles = 0;
    for (u32 from = 0; from < LANES; from += 4) {
        i32 seen[8];
        u32 count = 0;
        for (u32 l = from; l < from + 4; l++) {
            if (!(mask >> l & 1)) continue;
            i32 at = (i32)(low[l] - first + line_offset), last = (i32)(at + bytes - 1) >> 6;
            for (i32 line = at >> 6; line <= last; line++) {
                u32 n = 0;
                while (n < count && seen[n] != line) n++;
                if (n == count) seen[count++] = line;
            }
        }
        cycles += count;
    }
    return cycles < 1 ? 1 : cycles > 64 ? 64 : cycles;
}

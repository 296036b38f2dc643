/* Segments and memory accesses of wavefronts in, as the code of staging.py tells them; the records of docs/trace.md out.

   A wavefront's recorder counts how often what happened last has happened again, so that most calls write nothing. When
   the next one begins, what a wavefront recorded is compared with what the one before did: mostly the addresses have
   moved on by the same distances as from that to its predecessor, and only that one more has done so is noted. What is
   different goes to the recorder's output, and from there to the file. */

typedef int (*write_function)(int file, const void *data, u64 bytes);

enum { WRITES = 1u << 31, FURTHEST_AHEAD = 1 << 14 }; /* WRITES: of a site's facts */
enum { LIST = 1 << 13, LINEAR = 1 << 14, UNIFORM = 1 << 15, NARROW = 1 << 7, LINE_BYTES = 64, MOST_BANKS = 128 }; /* NARROW: in `active` */
enum { OFTEN_SHIFT = 23, OFTEN = 1 << 9 }; /* of words of a path in the file */
enum { CHUNK_MAGIC = 0x43545748, SERIES_BYTES = 2560 };
enum { REPEAT_BITS = 26, MOST_REPEATS = (1 << REPEAT_BITS) - 1, CYCLES = 63 };

struct path_record { u32 key, repeat; };
struct memory_record { u16 site; unsigned char active, count; u32 first; i32 stride; u32 repeat; };
struct chunk { u32 magic, wave; u64 group; u32 path, memory, lines, last, waves, step; };
/* The accesses of a site that make one record, so far: `packed` is cycles of the address unit less 1 | flags | active << 16 |
   count << 24, where NARROW is a part of `active`. */
struct run { u32 packed, first, stride, count; };
/* Runs are written and compared as two numbers of 64 bits: a load that takes together what was stored apart waits until all
   stores before it, the kernel's own among them, have reached the cache. */
typedef u64 __attribute__((may_alias)) half;
/* Of functions that read what has just been stored: without vector registers nothing is taken together. */
#define APART SCALAR __attribute__((noinline))
struct range { u64 start, bytes, address, memory; }; /* memory: where it lies, if that is known */

/* What the launcher fills in. */
struct context {
    u64 recorders, recorder_bytes, recorder_count;
    u64 write;
    i32 file;
    i32 unused;
    u32 sites, segments;
    u64 site_table; /* u32: kind | bytes << 8 | WRITES */
    u64 ranges, range_count; /* sorted by start */
    u64 private_address, private_bytes; /* of each wavefront, one after the other */
    u64 lds_base;
    u32 waves, failed, apart; /* apart: each wavefront of a group has a recorder, as they take turns */
    u32 memory_room, line_room, output_room;
    u32 banks, quads; /* of the LDS; whether the cycles of the address unit are VLIW chips' */
};

enum { SERIES_PATHS = 64, ALL_SERIES = 4 }; /* records of the longest path that is compared; series that are open */

/* Wavefronts that did the same (those at the ends of rows are often one series, those between another): `waves` from number `start` on, `step` apart. Runs of the first and of the last of them, and
   what those of each are less those of the one before: nothing but distances of `first`. Lists of lines are those that the sites
   have: none has had another since, or the recorder would have `relisted` more often. */
struct series {
    u64 start, last_number, step;
    u32 waves, paths, lines, relisted;
    struct path_record path[SERIES_PATHS];
    struct run *runs, *last, *delta;
};
_Static_assert(ALL_SERIES * sizeof(struct series) <= SERIES_BYTES, "the launcher keeps too little room");

/* A recorder: this, the sites, path counters (u64[segments][4]), runs of all sites, now and three times for each series, then
   the buffers. */
struct recorder { /* begins as struct recorder_head says */
    u32 key, repeat;
    i32 paths;
    u32 wave;
    struct path_record *path;
    u64 group;
    u32 open, memories, lines, put; /* put: some of it is in the output */
    u32 relisted, latest; /* latest: the series that the wavefront before is in */
    u64 output_bytes;
    struct context *context;
    struct site *sites;
    u64 *counters;
    struct memory_record *memory;
    u32 *line;
    unsigned char *output;
    struct run *runs;
    struct series *series;
    u64 owner; /* the wavefront's structure, or that of its group's first */
};

/* Fields of a site's `known`. */
enum { ALIGNMENT, PACKED };
enum { SUM_TIMES, SUM_ACTIVE, SUM_COUNT, SUM_LISTS };

static void put_output(struct recorder *r) {
    struct context *c = r->context;
    if (r->output_bytes && c->file >= 0) {
        /* In one piece: the system keeps what threads write apart, and writes less only where there is no room. */
        i64 done = ((write_function)c->write)(c->file, r->output, r->output_bytes);
        if (done != (i64)r->output_bytes) c->failed = 1;
    }
    r->output_bytes = 0;
}

/* Add a path that `waves` wavefronts went to the counters. */
static void count_path(struct recorder *r, const struct path_record *path, u32 paths, u64 waves) {
    for (u32 n = 0; n < paths; n++) {
        u32 active = path[n].key >> 16;
        u64 *counters = r->counters + 4 * (path[n].key & 0xffff), repeat = path[n].repeat * waves;
        counters[0] += repeat;
        counters[1] += repeat * active;
        if (active == LANES) counters[2] += repeat;
        if (active == 0) counters[3] += repeat;
    }
}

static void count_run(struct site *s, const struct run *run, u64 waves) {
    u64 times = run->count * waves, active = run->packed >> 16 & (NARROW - 1), count = run->packed >> 24;
    s->sums[SUM_TIMES] += times;
    s->sums[SUM_ACTIVE] += times * active;
    s->sums[SUM_COUNT] += times * count;
    s->sums[SUM_LISTS] += run->packed & LIST ? times : 0;
}

static inline struct memory_record record_of(u32 site, const struct run *run) {
    u32 packed = run->packed;
    return (struct memory_record){site | (packed & 0xe000), packed >> 16, packed >> 24, run->first, run->stride,
                                  run->count | (packed & CYCLES) << REPEAT_BITS};
}

/* Room for a chunk in the output, with its head and path written; 0 if there is no file. `more`: bytes behind the path. */
static unsigned char *begin_chunk(struct recorder *r, struct chunk head, const struct path_record *path, u64 more) {
    if (r->context->file < 0) return 0;
    if (r->output_bytes + sizeof head + head.path * sizeof *path + more > r->context->output_room) put_output(r);
    unsigned char *at = r->output + r->output_bytes, *word = at + sizeof head;
    for (u32 n = 0; n < head.path; n++) {
        u32 often = path[n].repeat, one = path[n].key | (often < OFTEN ? often << OFTEN_SHIFT : 0);
        __builtin_memcpy(word, &one, 4);
        word += 4;
        if (often < OFTEN) continue;
        __builtin_memcpy(word, &often, 4);
        word += 4;
    }
    head.path = (word - at - sizeof head) / 4;
    __builtin_memcpy(at, &head, sizeof head);
    r->output_bytes += word - at + more;
    return word;
}

/* Words of `lines` that a run has. */
static inline u32 lines_in(const struct run *run) {
    if (!run->count || !(run->packed & LIST)) return 0;
    u32 count = run->packed >> 24;
    return run->packed & NARROW << 16 ? 1 + (count + 1) / 2 : count;
}

/* A site's list, relative to its first line: in 16 bits behind the least, if that does for them all. NARROW << 16, or 0. */
static u32 relative_lines(struct site *s, u32 count) {
    _Alignas(64) u16 narrow[2 * LANES + 2];
    u32 start = s->lines[0], low = ~0u, high = 0;
    for (u32 n = 0; n < count; n++) {
        low = s->lines[n] < low ? s->lines[n] : low;
        high = s->lines[n] > high ? s->lines[n] : high;
    }
    if (high - low > 0xffff) {
        for (u32 n = 0; n < count; n++) s->lines[n] -= start;
        return 0;
    }
    for (u32 n = 0; n < count; n++) narrow[n] = s->lines[n] - low;
    narrow[count] = 0;
    s->lines[0] = low - start;
    __builtin_memcpy(s->lines + 1, narrow, (count + 1) / 2 * 4);
    return NARROW << 16;
}

static void put_series(struct recorder *r, struct series *f) {
    u32 sites = r->context->sites, memories = 0;
    if (f->waves == 0) return;
    count_path(r, f->path, f->paths, f->waves);
    for (u32 n = 0; n < sites; n++) {
        if (f->runs[n].count) count_run(&r->sites[n], &f->runs[n], f->waves);
        memories += f->runs[n].count != 0;
    }
    u32 waves = r->context->waves, several = f->waves > 1;
    struct chunk head = {CHUNK_MAGIC, f->start % waves, f->start / waves, f->paths, memories, f->lines, 1, f->waves, f->step};
    unsigned char *at = begin_chunk(r, head, f->path, memories * (sizeof(struct memory_record) + several * 4ull) + f->lines * 4ull);
    if (at) {
        unsigned char *lines = at + memories * sizeof(struct memory_record), *deltas = lines + f->lines * 4ull;
        for (u32 n = 0; n < sites; n++) {
            if (f->runs[n].count == 0) continue;
            struct memory_record one = record_of(n, &f->runs[n]);
            __builtin_memcpy(at, &one, sizeof one);
            at += sizeof one;
            u32 count = lines_in(&f->runs[n]);
            if (count) __builtin_memcpy(lines, r->sites[n].lines, 4 * count);
            lines += 4 * count;
            if (!several) continue;
            __builtin_memcpy(deltas, &f->delta[n].first, 4);
            deltas += 4;
        }
    }
    f->waves = 0;
}

static void put_all_series(struct recorder *r) {
    for (u32 n = 0; n < ALL_SERIES; n++) put_series(r, &r->series[n]);
}

/* Move what was recorded to the output. */
static void flush(struct recorder *r, u32 last) {
    count_path(r, r->path, r->paths, 1);
    u64 memory = r->memories * sizeof *r->memory, line = r->lines * 4ull;
    struct chunk head = {CHUNK_MAGIC, r->wave, r->group, r->paths, r->memories, r->lines, last, 1, 0};
    unsigned char *at = begin_chunk(r, head, r->path, memory + line);
    if (at) {
        for (u64 n = 0; n < memory; n += sizeof *r->memory) __builtin_memcpy(at + n, (char *)r->memory + n, sizeof *r->memory);
        if (line) __builtin_memcpy(at + memory, r->line, line);
    }
    r->paths = r->memories = r->lines = 0;
    r->put = !last;
}

APART static void end_segment(struct recorder *r) {
    u32 repeat = *(volatile u32 *)&r->repeat;
    if (repeat == 0) return;
    ((half *)r->path)[r->paths] = r->key | (u64)repeat << 32;
    r->repeat = 0;
    r->paths++;
}

HIDDEN void hw_path_full(struct recorder *r) { flush(r, 0); }

static void end_run(struct recorder *r, struct site *s, u32 number) {
    struct run *run = &r->runs[number];
    if (run->count == 0) return;
    count_run(s, run, 1);
    u32 lines = lines_in(run);
    if (r->memories == r->context->memory_room || r->lines + lines > r->context->line_room) flush(r, 0);
    if (lines) __builtin_memcpy(r->line + r->lines, s->lines, 4 * lines);
    r->lines += lines;
    r->memory[r->memories++] = record_of(number, run);
    run->count = 0;
}

/* One access, if it goes on with the site's run. */
SCALAR static inline int goes_on(struct run *run, u32 packed, u32 first) {
    half *halves = (half *)run;
    u64 known = halves[0], rest = halves[1];
    u32 count = rest >> 32, stride = rest;
    if (count == 0) {
        halves[0] = packed | (u64)first << 32;
        halves[1] = 1ull << 32;
        return 1;
    }
    if (packed != (u32)known || count == MOST_REPEATS) return 0;
    if (count == 1) stride = first - (u32)(known >> 32);
    if (first != (u32)(known >> 32) + stride * count) return 0;
    halves[1] = stride | (count + 1ull) << 32;
    return 1;
}

/* One access. */
static inline void record(struct recorder *r, struct site *s, u32 number, u32 packed, u32 first) {
    if (goes_on(&r->runs[number], packed, first)) return;
    end_run(r, s, number);
    goes_on(&r->runs[number], packed, first);
}

/* Whether the wavefront is what a series goes on with; then it is counted there. */
APART static int continues(struct recorder *r, struct series *f, u64 number) {
    if (f->waves == 0 || f->paths != (u32)r->paths || (f->lines && f->relisted != r->relisted) || (f->waves > 1 && number - f->last_number != f->step)) return 0;
    for (i32 n = 0; n < r->paths; n++)
        if (r->path[n].key != f->path[n].key || r->path[n].repeat != f->path[n].repeat) return 0;
    /* Nothing but `first` may differ. */
    u32 halves = 2 * r->context->sites;
    half *now = (half *)r->runs, *last = (half *)f->last, *delta = (half *)f->delta;
    u64 other = 0;
    if (f->waves == 1) {
        if (number <= f->start || number - f->start > ~0u >> 1) return 0;
        for (u32 n = 0; n < halves; n += 2) {
            delta[n] = now[n] - last[n];
            other |= (u32)(now[n] ^ last[n]) | (now[n + 1] ^ last[n + 1]);
        }
        if (other) return 0;
        f->step = number - f->start;
    } else {
        for (u32 n = 0; n < halves; n += 2) other |= (now[n] - last[n] - delta[n]) | (now[n + 1] ^ last[n + 1]);
        if (other) return 0;
    }
    for (u32 n = 0; n < halves; n++) {
        last[n] = now[n];
        now[n] = 0;
    }
    f->last_number = number;
    f->waves++;
    return 1;
}

APART static void begin_series(struct recorder *r, struct series *f) {
    half *now = (half *)r->runs, *first = (half *)f->runs, *last = (half *)f->last;
    const half *from = (const half *)r->path;
    half *to = (half *)f->path;
    for (i32 n = 0; n < r->paths; n++) to[n] = from[n];
    for (u32 n = 0; n < 2 * r->context->sites; n++) {
        first[n] = last[n] = now[n];
        now[n] = 0;
    }
}

/* Begin a series with the wavefront, in place of another, if others can be like it. */
static int starts(struct recorder *r, struct series *f, u64 number) {
    u32 sites = r->context->sites, lines = 0;
    for (u32 n = 0; n < sites; n++) lines += lines_in(&r->runs[n]);
    if (r->paths > SERIES_PATHS || lines > r->context->line_room) return 0;
    put_series(r, f);
    f->lines = lines;
    f->relisted = r->relisted;
    f->start = f->last_number = number;
    f->waves = 1;
    f->step = 0;
    f->paths = r->paths;
    begin_series(r, f);
    return 1;
}

static void end_wave(struct recorder *r) {
    if (!r->open) return;
    end_segment(r);
    r->key = ~0u;
    r->open = 0;
    if (r->paths < 0) r->paths = 0; /* stopped before its first segment */
    u64 number = r->group * r->context->waves + r->wave;
    if (!r->put && !r->memories) {
        for (u32 n = 0; n < ALL_SERIES; n++) {
            u32 one = (r->latest + n) % ALL_SERIES;
            if (!continues(r, &r->series[one], number)) continue;
            r->latest = one;
            return;
        }
        /* That which has not gone on for longest ends: mostly the one that was begun first. */
        u32 oldest = (r->latest + 1) % ALL_SERIES;
        for (u32 n = 0; n < ALL_SERIES; n++) {
            const struct series *f = &r->series[n], *old = &r->series[oldest];
            if (n != r->latest && (f->waves ? f->last_number : 0) < (old->waves ? old->last_number : 0)) oldest = n;
        }
        if (starts(r, &r->series[oldest], number)) {
            r->latest = oldest;
            return;
        }
    }
    for (u32 n = 0; n < r->context->sites; n++) {
        end_run(r, &r->sites[n], n);
        r->runs[n] = (struct run){0};
    }
    flush(r, 1);
}

HIDDEN void hw_begin(struct wave *w) {
    struct context *c = (struct context *)w->hooks[0];
    struct wave *owner = c->apart ? w : w - w->index;
    struct recorder *r = (struct recorder *)(w->hooks[1] = owner->hooks[1]);
    if (r == 0) {
        r = own_of(c->recorders, c->recorder_count, c->recorder_bytes, __builtin_offsetof(struct recorder, owner), (u64)owner);
        if (r == 0) { /* the launcher made too few: two share one, and the trace is void */
            c->failed = 2;
            r = (struct recorder *)c->recorders;
        }
        w->hooks[1] = owner->hooks[1] = (u64)r;
    }
    if (r->context == 0) {
        r->context = c;
        r->sites = (struct site *)((char *)r + RECORDER_HEAD_BYTES);
        char *at = (char *)(r->sites + c->sites);
        r->counters = (u64 *)at;
        at += (c->segments * 32ull + 63) & ~63ull;
        u64 runs = ((c->sites + 3ull) & ~3ull) * sizeof(struct run);
        r->runs = (struct run *)at;
        r->series = (struct series *)(at + (1 + 3 * ALL_SERIES) * runs);
        for (u32 n = 0; n < ALL_SERIES; n++) {
            struct series *f = &r->series[n];
            f->runs = (struct run *)(at += runs);
            f->last = (struct run *)(at += runs);
            f->delta = (struct run *)(at += runs);
        }
        at += runs + SERIES_BYTES;
        r->path = (struct path_record *)at + 1; /* the first segment of a wavefront puts out what is none before it */
        at += (PATH_ROOM + 2) * sizeof *r->path;
        r->memory = (struct memory_record *)at;
        at += c->memory_room * sizeof *r->memory;
        r->line = (u32 *)at;
        at += c->line_room * 4ull;
        r->output = (unsigned char *)at;
    }
    end_wave(r);
    volatile i64 *block = (volatile i64 *)w->block;
    u64 groups_x = block[10], groups_y = block[11];
    r->group = w->group[0] + groups_x * (w->group[1] + groups_y * w->group[2]);
    r->wave = w->index;
    r->open = 1;
    r->key = ~0u;
    r->repeat = 0;
    r->paths = -1;
}

/* After the launch: what is still held. */
EXPORT void hw_trace_end(struct context *c) {
    for (u64 n = 0; n < c->recorder_count; n++) {
        struct recorder *r = (struct recorder *)(c->recorders + n * c->recorder_bytes);
        if (r->context == 0) continue;
        end_wave(r);
        put_all_series(r);
        put_output(r);
    }
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

/* The deterministic address of a host address in private memory or the allocation of the access before; else 0. */
SCALAR static inline u64 known_address(const struct context *c, const struct wave *w, const struct recorder *r,
                                       const struct site *s, u64 host) {
    if (host - s->allocation[0] < s->allocation[1]) return host - s->allocation[0] + s->allocation[2];
    if (host - w->scratch < w->scratch_bytes)
        return c->private_address + (r->group * c->waves + r->wave) * c->private_bytes + (host - w->scratch);
    return 0;
}

/* The deterministic address of a host address; 0 if it is in no allocation (the access will be a fault). */
static u64 device_address(struct context *c, struct wave *w, struct recorder *r, struct site *s, u64 host) {
    u64 known = known_address(c, w, r, s, host);
    if (known) return known;
    const struct range *all = (const struct range *)c->ranges;
    u64 low = 0, high = c->range_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (all[middle].start <= host) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || host - all[low - 1].start >= all[low - 1].bytes) return 0;
    s->allocation[0] = all[low - 1].start;
    s->allocation[1] = all[low - 1].bytes;
    s->allocation[2] = all[low - 1].address;
    s->memory = all[low - 1].memory;
    return host - s->allocation[0] + s->allocation[2];
}

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
   They are compared bit by bit, all at a time: branches on them would be mispredicted, and memory that tells of banks would be
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

static void remember(struct site *s, u64 mask, u32 first, u32 alignment, u32 packed) {
    for (u32 p = 0; p < 4; p++) {
        v16 offsets = (part_of(s->low, p) - splat(first)) & lane_mask(mask, p);
        __builtin_memcpy(s->pattern + 16 * p, &offsets, sizeof offsets);
    }
    s->pattern_mask = mask;
    s->known[ALIGNMENT] = alignment;
    s->known[PACKED] = packed;
}

/* Whether the lanes' offsets from their first, and the mask, are those of the access before. */
static int same_pattern(const struct site *s, u64 mask, u32 first) {
    if (mask != s->pattern_mask) return 0;
    v16 other = {0}, base = splat(first);
    if (mask == ~0ull)
        for (u32 p = 0; p < 4; p++) other |= (part_of(s->low, p) - base) ^ part_of(s->pattern, p);
    else
        for (u32 p = 0; p < 4; p++)
            other |= ((part_of(s->low, p) - base) & lane_mask(mask, p)) ^ part_of(s->pattern, p);
    return !any(other);
}

static u32 shape(const struct site *s, u64 mask, u32 first, u32 bytes, u32 from) {
    v16 apart = {0}, gaps = {0}, wanted = (count_up() - from) * bytes;
    for (u32 p = 0; p < 4; p++) {
        v16 offset = part_of(s->low, p) - splat(first), lanes = lane_mask(mask, p);
        apart |= offset & lanes;
        gaps |= (offset ^ wanted) & lanes;
        wanted += splat(16 * bytes);
    }
    return (any(gaps) ? 0 : LINEAR) | (any(apart) ? 0 : UNIFORM);
}

/* Whether `number` is not among `count` numbers, behind which 15 more can be read. */
static inline int lacks(const u32 *all, u32 count, u32 number) {
    for (u32 n = 0; n < count; n += 16) {
        v16 some;
        __builtin_memcpy(&some, all + n, sizeof some);
        b16 equal = __builtin_convertvector((v16)(some == splat(number)), b16);
        u16 bits;
        __builtin_memcpy(&bits, &equal, 2);
        if (count - n < 16) bits &= (1u << (count - n)) - 1;
        if (bits) return 0;
    }
    return 1;
}

/* Adds lines to a list without those that it has: see lines_of. */
struct list { u32 *lines, count, follow; u64 seen[64]; /* a bit for each of 4096 classes of lines */ };

static inline void add_line(struct list *l, u32 line) {
    if (l->count && l->lines[l->count - 1] == line) return;
    u32 class = line * 0x9e3779b1u >> 20;
    u64 bit = 1ull << class % 64, *seen = &l->seen[class / 64];
    if (*seen & bit && !lacks(l->lines, l->count, line)) return;
    *seen |= bit;
    if (l->count && line != l->lines[l->count - 1] + 1) l->follow = 0;
    if (l->count < 2 * LANES) l->lines[l->count++] = line;
}

/* The line of each lane in `line`, if all lie in the allocation of the access before, with one high half, and none crosses a
   line: 1 if so. `zero`: the address of the low half 0. */
static inline int single_lines(const struct site *s, u64 zero, u32 bytes, u64 mask, v16 *line) {
    u64 ahead = s->allocation[0] - zero, behind = ahead + s->allocation[1] - bytes;
    if (bytes > s->allocation[1] || (i64)behind < 0 || (i64)ahead > ~0u) return 0;
    u64 first = (i64)ahead > 0 ? ahead : 0, last = (i64)behind > ~0u ? ~0u : behind, to = zero - s->allocation[0] + s->allocation[2];
    v16 wrong = {0};
    for (u32 p = 0; p < 4; p++) {
        v16 low = part_of(s->low, p), at = low + splat(to), carry = (v16)(at < low);
        wrong |= ((v16)(low - splat(first) > splat(last - first)) | (v16)((at & splat(LINE_BYTES - 1)) > splat(LINE_BYTES - bytes))) &
                 lane_mask(mask, p);
        line[p] = at / LINE_BYTES | (splat(to >> 32) - carry) << 26;
    }
    return !any(wrong);
}

/* The cache lines of all lanes, in the order in which they touch them, in s->lines: how many. `follow`: whether each is the one
   behind that before it; `one_high`: whether all have one high half. */
static u32 lines_of(struct context *c, struct wave *w, struct recorder *r, struct site *s, u32 bytes, u64 base, u64 mask,
                    u32 wide, u32 one_high, u32 *follow) {
    struct list list = {s->lines, 0, 1, {0}};
    v16 line[4];
    u64 high = wide ? (u64)s->high[__builtin_ctzll(mask)] << 32 : 0;
    if (one_high && bytes <= LINE_BYTES && single_lines(s, base + high, bytes, mask, line))
        for (u64 left = mask; left; left &= left - 1) add_line(&list, ((const u32 *)line)[__builtin_ctzll(left)]);
    else
        for (u64 left = mask; left; left &= left - 1) {
            u32 l = __builtin_ctzll(left);
            u64 lane = base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]);
            u64 at = device_address(c, w, r, s, lane);
            for (u64 one = at / LINE_BYTES; one <= (at + bytes - 1) / LINE_BYTES; one++) add_line(&list, one);
        }
    *follow = list.follow;
    return list.count;
}

static void local(struct wave *w, struct recorder *r, struct site *s, u32 number, u32 bytes, u64 base, u64 mask) {
    u32 from = __builtin_ctzll(mask), first = s->low[from], alignment = first & 3;
    if (alignment != s->known[ALIGNMENT] || !same_pattern(s, mask, first)) {
        _Alignas(64) u32 offset[LANES];
        for (u32 l = 0; l < LANES; l++) offset[l] = s->low[l] + (u32)(base - w->lds);
        u32 packed = shape(s, mask, first, bytes, from) | __builtin_popcountll(mask) << 16;
        remember(s, mask, first, alignment, packed | lds_cycles(r->context->banks, offset, mask, bytes) << 24);
    }
    record(r, s, number, s->known[PACKED], 0);
}

static void memory(struct wave *w, struct recorder *r, struct site *s, u32 number, u32 bytes, u64 base, u64 mask, u32 wide) {
    struct context *c = r->context;
    u32 from = __builtin_ctzll(mask), first = s->low[from], one_high = 1;
    u64 high = 0;
    if (wide) {
        high = s->high[from];
        v16 other = {0}, same = splat(high);
        if (mask == ~0ull)
            for (u32 p = 0; p < 4; p++) other |= part_of(s->high, p) ^ same;
        else
            for (u32 p = 0; p < 4; p++) other |= (part_of(s->high, p) ^ same) & lane_mask(mask, p);
        one_high = !any(other);
    }
    u64 host = base + (high << 32 | first), address = device_address(c, w, r, s, host);
    u32 alignment = (address & (LINE_BYTES - 1)) | 1u << 31;
    if (one_high && alignment == s->known[ALIGNMENT] && same_pattern(s, mask, first)) {
        record(r, s, number, s->known[PACKED], address / LINE_BYTES);
        return;
    }
    /* The lines that are overwritten now are still to be written. */
    for (u32 n = 0; n < ALL_SERIES; n++)
        if (r->series[n].waves && lines_in(&r->series[n].runs[number])) put_series(r, &r->series[n]);
    if (r->runs[number].packed & LIST) end_run(r, s, number);
    u32 flags = one_high ? shape(s, mask, first, bytes, from) : 0, follow = 1, count;
    u64 end = host + (flags & UNIFORM ? bytes : __builtin_popcountll(mask) * bytes);
    int together = flags & UNIFORM || (flags & LINEAR && ((mask >> from) & ((mask >> from) + 1)) == 0);
    if (together && host - s->allocation[0] < s->allocation[1] && end - s->allocation[0] <= s->allocation[1]) {
        s->lines[0] = address / LINE_BYTES;
        count = (address + (end - host) - 1) / LINE_BYTES - address / LINE_BYTES + 1;
    } else
        count = lines_of(c, w, r, s, bytes, base, mask, wide, one_high, &follow);
    u32 cycles = flags & (LINEAR | UNIFORM) ? 4 : 0;
    if (c->quads) cycles = quad_cycles(s->low, mask, bytes, first, alignment & (LINE_BYTES - 1));
    else if (cycles == 0) cycles = address_cycles(s->low, mask, bytes, (u32)address - first);
    u32 packed = (cycles - 1) | flags | (follow ? 0 : LIST) | __builtin_popcountll(mask) << 16 | count << 24, start = s->lines[0];
    if (!follow) {
        r->relisted++;
        packed |= relative_lines(s, count);
    }
    remember(s, one_high ? mask : 0, first, alignment, packed);
    record(r, s, number, packed, start);
}

SCALAR static inline u32 facts_of(const struct recorder *r, u32 number) { return ((const u32 *)r->context->site_table)[number]; }
SCALAR static inline u32 bytes_of(u32 facts) { return facts >> 8 & 0xffff; }

/* Said in assembly, as clang counts prefetches among what needs vector registers. Processors without `prefetchw` take it for
   nothing (AMD64 Architecture Programmer's Manual, volume 3, "PREFETCHlevel", "PREFETCHW"). */
SCALAR static inline void prefetch(u64 at, u32 writes) {
#ifdef __x86_64__
    if (writes) __asm__ volatile("prefetchw (%0)" : : "r"(at));
    else __asm__ volatile("prefetcht0 (%0)" : : "r"(at));
#else
    if (writes) __builtin_prefetch((void *)at, 1);
    else __builtin_prefetch((void *)at);
#endif
}

/* Prefetch what the next wavefront will access if it is as far on as this one is from that before. What is recorded meanwhile
   is much to store, and the processor stores in order: behind a line that is not there it would wait. */
SCALAR static inline void ask_ahead(struct site *s, u32 writes, u64 key) {
    u64 ahead = key - s->before, lines = s->known[PACKED] >> 24;
    s->before = key;
    if (ahead + FURTHEST_AHEAD > 2 * FURTHEST_AHEAD || s->memory == 0 || key - s->allocation[0] >= s->allocation[1]) return;
    for (u64 at = key - s->allocation[0] + s->memory + ahead; lines--; at += LINE_BYTES) {
        prefetch(at, writes);
    }
}

/* An access of lanes that lie to lane 0 as in the site's access before: 1 if nothing else is to be looked at. */
SCALAR HIDDEN u32 hw_again(struct wave *w, struct site *s, u32 what, u64 base, u64 mask) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 number = what & SITE_BITS, kind = what >> KIND_SHIFT & KIND_BITS, first = s->low[0];
    if (mask != s->pattern_mask || !(mask & 1)) return 0;
    if (kind == KIND_LDS || kind == KIND_GDS)
        return (first & 3) == s->known[ALIGNMENT] && goes_on(&r->runs[number], s->known[PACKED], 0);
    u64 high = what & WIDE ? s->high[0] : 0;
    if (kind == KIND_FLAT && (high == SHARED_APERTURE || high == PRIVATE_APERTURE)) return 0;
    u64 address = known_address(r->context, w, r, s, base + (high << 32 | first));
    if (address == 0 || ((address & (LINE_BYTES - 1)) | 1u << 31) != s->known[ALIGNMENT]) return 0;
    if (s->known[PACKED] & LINEAR) ask_ahead(s, facts_of(r, number) & WRITES, base + (high << 32 | first));
    return goes_on(&r->runs[number], s->known[PACKED], address / LINE_BYTES);
}

HIDDEN void hw_access(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = facts_of(r, number), kind = facts & 0xff, bytes = bytes_of(facts);
    if (mask == 0) {
        record(r, s, number, 0, 0);
        return;
    }
    if (kind == KIND_FLAT) {
        u32 high = s->high[__builtin_ctzll(mask)];
        if (high == SHARED_APERTURE || high == PRIVATE_APERTURE) {
            if (high == SHARED_APERTURE) local(w, r, s, number, bytes, w->lds, mask);
            else memory(w, r, s, number, bytes, w->scratch, mask, 0);
            return;
        }
    }
    if (kind == KIND_LDS || kind == KIND_GDS) local(w, r, s, number, bytes, base, mask);
    else memory(w, r, s, number, bytes, base, mask, wide);
}

SCALAR static inline u32 packed_scalar(u64 address, u32 bytes) {
    u32 count = (address + bytes - 1) / LINE_BYTES - address / LINE_BYTES + 1;
    return UNIFORM | 1 << 16 | count << 24;
}

SCALAR HIDDEN u32 hw_scalar_again(struct wave *w, struct site *s, u32 number, u64 host) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 bytes = bytes_of(facts_of(r, number));
    u64 address = known_address(r->context, w, r, s, host);
    return address && goes_on(&r->runs[number], packed_scalar(address, bytes), address / LINE_BYTES);
}

HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 host) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 bytes = bytes_of(facts_of(r, number));
    u64 address = device_address(r->context, w, r, s, host);
    record(r, s, number, packed_scalar(address, bytes), address / LINE_BYTES);
}

HIDDEN void hw_barrier(struct wave *w, u64 pc, u64 exec) {
    (void)w; (void)pc; (void)exec;
}

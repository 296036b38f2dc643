/* What the machines of all chips are made of: calendars of what is shared, caches, the memory system, series over time.

   Compute units are replayed one after the other, a few cycles at a time. So what they share is not asked in the order of
   time: a calendar knows which cycles of it are taken, and gives a late comer those that are still free. Times are in cycles
   of the core clock. */

typedef unsigned char u8;
typedef u32 v16 __attribute__((vector_size(64)));
typedef u32 v8 __attribute__((vector_size(32)));
typedef u32 v4 __attribute__((vector_size(16)));
typedef i64 w16 __attribute__((vector_size(128))); /* signed numbers are what processors compare */
typedef _Bool b16 __attribute__((ext_vector_type(16)));
typedef _Bool b8 __attribute__((ext_vector_type(8)));
typedef _Bool b4 __attribute__((ext_vector_type(4)));

static inline u64 later(u64 a, u64 b) { return a > b ? a : b; }
static inline u64 sooner(u64 a, u64 b) { return a < b ? a : b; }

static inline u32 bits16(b16 lanes) {
    u16 bits;
    __builtin_memcpy(&bits, &lanes, 2);
    return bits;
}

static inline u32 equal16(const u32 *all, u32 one) {
    v16 v = *(const v16 *)all, other = {0};
    return bits16(__builtin_convertvector(v == other + one, b16));
}

static inline u32 equal8(const u32 *all, u32 one) {
    v8 v = *(const v8 *)all, other = {0};
    b8 lanes = __builtin_convertvector(v == other + one, b8);
    u8 bits;
    __builtin_memcpy(&bits, &lanes, 1);
    return bits;
}

static inline u32 equal4(const u32 *all, u32 one) {
    v4 v = *(const v4 *)all, other = {0};
    b4 lanes = __builtin_convertvector(v == other + one, b4);
    u8 bits;
    __builtin_memcpy(&bits, &lanes, 1);
    return bits & 15;
}

/* A number that much is divided by. `magic`: 2^64 / `by`, rounded up; 0 for 1 (Lemire, Kaser and Kurz, Faster remainder by
   direct computation, 2019: exact for 32 bits). */
struct divisor { u64 magic; u32 by; };
typedef unsigned __int128 u128;

static inline struct divisor divisor_of(u32 by) { return (struct divisor){~0ull / by + 1, by}; }
static inline u32 rest(u32 n, const struct divisor *d) { return (u128)(d->magic * n) * d->by >> 64; }
static inline u32 over(u32 n, const struct divisor *d) { return d->magic ? (u64)((u128)d->magic * n >> 64) : n; }

/* ---- calendars -------------------------------------------------------------------------------------------------- */

enum { BUCKET_BITS = 4, BUCKET = 1 << BUCKET_BITS, WINDOW = 4096 };

struct calendar {
    u32 capacity;      /* of a bucket of 16 cycles, in units of the resource */
    float per_unit;    /* cycles */
    u64 base;          /* the window's first bucket */
    u64 tail;          /* cycle up to which all is taken behind the window */
    u64 taken;         /* units, in all */
    u64 full, open;    /* buckets from `full` on, up to `open`, are known to be full: where most requests of a queue begin */
    u32 usual, usually; /* units that are often asked for, and their cycles */
    u32 bucket[WINDOW]; /* units taken; if not below the capacity: that, and how many buckets from here on are known to be full */
};

static void calendar_begin(struct calendar *c, u32 capacity) {
    __builtin_memset(c, 0, sizeof *c);
    c->capacity = capacity ? capacity : 1;
    c->per_unit = (float)BUCKET / c->capacity;
}

/* Nothing will be asked before `time` any more. */
static void calendar_advance(struct calendar *c, u64 time) {
    u64 base = time >> BUCKET_BITS;
    if (base <= c->base) return;
    u64 from = c->base + WINDOW, to = base + WINDOW;
    if (to - from > WINDOW) from = to - WINDOW;
    for (u64 b = from; b < to; b++) c->bucket[b % WINDOW] = (b << BUCKET_BITS) < c->tail ? c->capacity + 1 : 0;
    c->base = base;
}

/* The first bucket from `b` on that is not full. Ways that are gone are made shorter. */
static inline u64 calendar_free(struct calendar *c, u64 b) {
    u64 end = c->base + WINDOW, from = b;
    u32 capacity = c->capacity, one, beyond;
    if (b >= c->full && b < c->open) b = c->open;
    while (b < end && (one = c->bucket[b % WINDOW]) >= capacity) {
        u32 more = one - capacity;
        if (b + more < end && (beyond = c->bucket[(b + more) % WINDOW]) >= capacity) {
            c->bucket[b % WINDOW] = one + (beyond - capacity);
            more += beyond - capacity;
        }
        b += more;
    }
    if (b > from) {
        if (from > c->open || b < c->full) c->full = from;
        else c->full = sooner(c->full, from);
        c->open = b;
    }
    return b;
}

/* Cycles that `units` take. */
static inline u64 calendar_cycles(const struct calendar *c, u32 units) {
    return (i64)(units * c->per_unit); /* signed numbers are what processors convert to */
}

/* `calendar_take` where the first bucket has no room for all. */
static __attribute__((noinline)) u64 calendar_search(struct calendar *c, u64 time, u32 amount) {
    u64 b = time >> BUCKET_BITS, end = c->base + WINDOW;
    u32 left = amount;
    for (b = calendar_free(c, later(b, c->base)); b < end; b = calendar_free(c, b + 1)) {
        u32 *one = &c->bucket[b % WINDOW], room = c->capacity - *one;
        if (left < room) {
            *one += left;
            return later((b << BUCKET_BITS) + calendar_cycles(c, *one), time + calendar_cycles(c, amount));
        }
        *one = c->capacity + 1;
        left -= room;
        if (left == 0) return later((b + 1) << BUCKET_BITS, time + calendar_cycles(c, amount));
    }
    c->tail = later(later(c->tail, end << BUCKET_BITS), time) + calendar_cycles(c, left) + 1;
    return c->tail;
}

/* When `amount` units asked for at `time` have been served. */
static inline u64 calendar_take(struct calendar *c, u64 time, u32 amount) {
    u64 b = later(time >> BUCKET_BITS, c->base);
    if (b >= c->full && b < c->open) b = c->open;
    u32 *one = &c->bucket[b % WINDOW], all = *one + amount;
    c->taken += amount;
    if (b >= c->base + WINDOW || all >= c->capacity) return calendar_search(c, time, amount);
    if (amount != c->usual) {
        c->usual = amount;
        c->usually = calendar_cycles(c, amount);
    }
    *one = all;
    return later((b << BUCKET_BITS) + calendar_cycles(c, all), time + c->usually);
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* Each set's ways stand in a ring, the most recently used first: `at` says which that is, and behind each comes the one
   that was used next before it. */
struct cache {
    u32 sets, ways, slots, unused; /* slots: ways, rounded up to 4, 8, or a multiple of 16 */
    struct divisor of_sets;
    u32 *tag;        /* [sets][slots]: line + 1 */
    u64 *ready;      /* when the line is there */
    u8 *dirty;
    u16 *order;      /* [sets]: the most recent way and, for each way, the one used before it and the one used after it */
    u16 *guess;      /* of caches with many ways, that all need not be compared: where a line is, by its low bits; and */
    u16 *alike;      /* how many lines are there whose hash is one number */
    u64 hits, misses;
};

enum { GUESSES = 256, HASHES = 1024 };

static inline u32 hash_of(u32 line) { return line * 0x9E3779B1u >> 22; }

struct arena { u8 *at, *end; };

static void *give(struct arena *a, u64 bytes) {
    u8 *at = (u8 *)(((u64)a->at + 127) & ~127ull);
    a->at = at + bytes;
    return at;
}

/* What `order` has for a set: 64 bytes for up to 15 ways, and no line more than there must be. */
static inline u32 order_of(u32 ways) { return 2 * ways + 1 <= 32 ? 32 : 2 * ways + 1; }
static inline u32 slots_of(u32 ways) { return ways <= 4 ? 4 : ways <= 8 ? 8 : (ways + 15) & ~15u; }

static void cache_begin(struct cache *c, struct arena *a, u32 sets, u32 ways, u32 writes) {
    u32 slots = slots_of(ways);
    u64 all = (u64)sets * slots;
    __builtin_memset(c, 0, sizeof *c);
    c->sets = sets;
    c->ways = ways;
    c->slots = slots;
    c->of_sets = divisor_of(sets);
    c->tag = give(a, all * 4);
    c->order = give(a, (u64)sets * order_of(ways) * 2);
    c->ready = give(a, all * 8);
    c->dirty = writes ? give(a, all) : 0;
    if (slots > 16 && all < 1 << 16) {
        c->guess = give(a, 2 * GUESSES);
        c->alike = give(a, 2 * HASHES);
    }
    for (u32 n = 0; n < sets; n++) {
        u16 *one = c->order + (u64)n * order_of(ways);
        *one++ = ways - 1;
        for (u32 w = 0; w < ways; w++) {
            one[2 * w] = w ? w - 1 : ways - 1;
            one[2 * w + 1] = w + 1 < ways ? w + 1 : 0;
        }
    }
}

static u64 cache_bytes(u32 sets, u32 ways, u32 writes) {
    return (u64)sets * (slots_of(ways) * (12 + (writes != 0)) + 2 * order_of(ways)) + 2 * (GUESSES + HASHES) + 6 * 128;
}

/* Forget all lines. */
static void cache_clear(struct cache *c) {
    __builtin_memset(c->tag, 0, 4ull * c->sets * c->slots);
    if (c->alike) __builtin_memset(c->alike, 0, 2 * HASHES);
}

/* A set's slots that have a number, as bits; of more than 16 slots, of the 16 from here on. */
static inline u32 equal_slots(const struct cache *c, const u32 *all, u32 one) {
    return c->slots == 4 ? equal4(all, one) : c->slots == 8 ? equal8(all, one) : equal16(all, one);
}

static inline u32 set_of_line(const struct cache *c, u32 line) { return rest(line, &c->of_sets); }

/* A set's way has been used. */
static inline void cache_use(struct cache *c, u32 set, u32 way) {
    u16 *one = c->order + (u64)set * order_of(c->ways), head = *one++;
    if (way == head) return;
    one[-1] = way;
    u32 oldest = one[2 * head + 1];
    if (way == oldest) return; /* the ring goes on where it begins */
    u32 before = one[2 * way], after = one[2 * way + 1]; /* older, newer */
    one[2 * after] = before;
    one[2 * before + 1] = after;
    one[2 * way] = head;
    one[2 * way + 1] = oldest;
    one[2 * head + 1] = way;
    one[2 * oldest] = way;
}

/* The line's place, or -1. */
static inline i64 cache_find(struct cache *c, u32 set, u32 line) {
    u64 at = (u64)set * c->slots;
    if (c->guess) {
        u32 guess = c->guess[line % GUESSES];
        if (c->tag[guess] == line + 1) {
            cache_use(c, set, guess - at);
            c->hits++;
            return guess;
        }
        if (c->alike[hash_of(line)] == 0) {
            c->misses++;
            return -1;
        }
    }
    for (u32 w = 0; w < c->slots; w += 16) {
        u32 found = equal_slots(c, c->tag + at + w, line + 1);
        if (found) {
            u32 way = w + __builtin_ctz(found);
            at += way;
            if (c->guess) c->guess[line % GUESSES] = at;
            cache_use(c, set, way);
            c->hits++;
            return at;
        }
    }
    c->misses++;
    return -1;
}

/* A place for a new line: that of the line that was not used for longest. */
static inline u64 cache_place(struct cache *c, u32 set, u32 line) {
    u16 *one = c->order + (u64)set * order_of(c->ways);
    u64 best = (u64)set * c->slots + (*one = one[2 * *one + 2]);
    if (c->guess) {
        if (c->tag[best]) c->alike[hash_of(c->tag[best] - 1)]--;
        c->alike[hash_of(line)]++;
        c->guess[line % GUESSES] = best;
    }
    c->tag[best] = line + 1;
    return best;
}

/* ---- L2 and memory ----------------------------------------------------------------------------------------------- */

/* The second level and what is behind it. All of it in one place, as all compute units share it. */
struct memory {
    const struct chip *chip;
    struct calendar *banks, *channels;
    struct cache *l2; /* one for each bank */
    struct divisor of_banks, of_channels, of_pages;
    u32 line_shift;   /* 64-byte lines of an L2 line, as a shift */
    u32 *pages;       /* translations, the most recent ones */
    u32 page_clock;
    u64 reads, writes, atomics, fills, write_backs, page_misses;
};

static u64 memory_translate(struct memory *m, u32 line) {
    const struct chip *k = m->chip;
    if (k->tlb_entries == 0) return 0;
    u32 page = (line >> k->page_line_bits) + 1, set = rest(page, &m->of_pages);
    u32 *at = m->pages + set * 16;
    u32 found = equal16(at, page);
    if (found) return 0;
    at[m->page_clock++ & 15] = page;
    m->page_misses++;
    return k->tlb_miss_cycles;
}

/* The bank that a line is in, and its number there, in 64 bytes: a bank's lines are numbered without gaps. */
static inline u32 memory_place(const struct memory *m, u32 line, u32 *bank) {
    const struct chip *k = m->chip;
    u32 chunk = line >> k->interleave_line_bits, above = over(chunk, &m->of_banks);
    *bank = chunk - above * k->l2_banks;
    if (k->channel_hash) { /* for each `above` a permutation of the banks, so that what follows in steps of a power of two meets all */
        u32 mix = above ^ above >> k->channel_hash ^ above >> 2 * k->channel_hash;
        *bank ^= mix & (k->l2_banks - 1);
    }
    return above << k->interleave_line_bits | (line & ((1u << k->interleave_line_bits) - 1));
}

static inline struct calendar *channel_of(const struct memory *m, u32 bank) { return &m->channels[rest(bank, &m->of_channels)]; }

/* A line will be asked for: bring what the L2 knows of it from the host's memory. */
static inline void memory_expect(const struct memory *m, u32 line, u32 writes) {
    u32 bank, own = memory_place(m, line, &bank) >> m->line_shift;
    const struct cache *c = &m->l2[bank];
    u32 set = set_of_line(c, own);
    u64 at = (u64)set * c->slots;
    __builtin_prefetch(c->tag + at, 1);
    __builtin_prefetch(c->order + (u64)set * order_of(c->ways), 1);
    __builtin_prefetch(c->dirty + at, 1);
    if (writes) return; /* nobody waits for what is there already */
    __builtin_prefetch(c->ready + at);
    __builtin_prefetch(c->ready + at + 8);
}

/* When the answer leaves the L2 for a request that reaches it at `time`. `work`: bytes that the bank has to serve. */
static u64 memory_access(struct memory *m, u32 line, u64 time, u32 writes, u32 work) {
    const struct chip *k = m->chip;
    u32 bank, own = memory_place(m, line, &bank) >> m->line_shift;
    struct cache *c = &m->l2[bank];
    struct calendar *channel = channel_of(m, bank);
    time = calendar_take(&m->banks[bank], time, work);
    u32 set = set_of_line(c, own);
    i64 at = cache_find(c, set, own);
    if (writes) m->writes++;
    else m->reads++;
    if (at >= 0) {
        if (writes) c->dirty[at] = 1;
        return later(time, writes ? 0 : c->ready[at]);
    }
    u64 place = cache_place(c, set, own);
    if (c->dirty[place]) { /* it leaves by way of a buffer, which may be full */
        m->write_backs++;
        u64 gone = calendar_take(channel, time, k->l2_line_bytes * 16);
        if (gone > time + k->write_buffer_cycles) time = gone - k->write_buffer_cycles;
    }
    c->dirty[place] = writes;
    if (writes) { /* a whole line is not read first; parts of it carry masks */
        c->ready[place] = time;
        return time;
    }
    m->fills++;
    u64 wait = memory_translate(m, line);
    u64 done = calendar_take(channel, time + wait, k->l2_line_bytes * 16) + k->memory_more_cycles;
    c->ready[place] = done;
    return done;
}

enum { TOGETHER = 16 }; /* lines that are asked for at once, at most */

/* Make place for those of a bank's lines that are missing there; `first`: the number there of the first. What was written
   and goes leaves by way of a buffer, which may be full. Returns when the bank goes on; `place` of each line, and `missed`:
   those that are new, `missing` of them. */
static u64 memory_places(struct memory *m, u32 bank, u32 first, const u32 *lines, u32 count, u64 time, u32 writes,
                         u64 *place, u64 *missed, u32 *missing) {
    const struct chip *k = m->chip;
    struct cache *c = &m->l2[bank];
    u32 within = (1u << k->interleave_line_bits) - 1, leaving = 0;
    *missing = 0;
    for (u32 n = 0; n < count; n++) {
        u32 own = ((first & ~within) | (lines[n] & within)) >> m->line_shift, set = set_of_line(c, own);
        i64 found = cache_find(c, set, own);
        if (found < 0) {
            found = missed[(*missing)++] = cache_place(c, set, own);
            leaving += c->dirty[found];
            c->dirty[found] = 0;
        }
        c->dirty[found] |= writes;
        place[n] = found;
    }
    if (leaving) {
        m->write_backs += leaving;
        u64 gone = calendar_take(channel_of(m, bank), time, leaving * k->l2_line_bytes * 16);
        if (gone > time + k->write_buffer_cycles) time = gone - k->write_buffer_cycles;
    }
    return time;
}

/* When the answer to `count` reads of 64 bytes leaves the L2. They are asked for at once, as all are of the same bank: lines
   between two changes of the bank. */
static u64 memory_read(struct memory *m, const u32 *lines, u32 count, u64 time) {
    const struct chip *k = m->chip;
    u32 bank, first = memory_place(m, lines[0], &bank), missing;
    u64 place[TOGETHER], missed[TOGETHER], *ready = m->l2[bank].ready;
    time = calendar_take(&m->banks[bank], time, 64 * count);
    m->reads += count;
    u64 done = time = memory_places(m, bank, first, lines, count, time, 0, place, missed, &missing);
    if (missing) {
        u64 there = time + memory_translate(m, lines[0]);
        there = calendar_take(channel_of(m, bank), there, missing * k->l2_line_bytes * 16) + k->memory_more_cycles;
        m->fills += missing;
        for (u32 n = 0; n < missing; n++) ready[missed[n]] = there;
    }
    for (u32 n = 0; n < count; n++) done = later(done, ready[place[n]]);
    return done;
}

/* The same for writes; `work`: bytes that the bank has to serve for each. A whole line is not read first; parts of it carry
   masks. */
static u64 memory_write(struct memory *m, const u32 *lines, u32 count, u64 time, u32 work) {
    u32 bank, first = memory_place(m, lines[0], &bank), missing;
    u64 place[TOGETHER], missed[TOGETHER];
    time = calendar_take(&m->banks[bank], time, work * count);
    m->writes += count;
    time = memory_places(m, bank, first, lines, count, time, 1, place, missed, &missing);
    for (u32 n = 0; n < missing; n++) m->l2[bank].ready[missed[n]] = time;
    return time;
}

static void memory_advance(struct memory *m, u64 time) {
    for (u32 n = 0; n < m->chip->l2_banks; n++) calendar_advance(&m->banks[n], time);
    for (u32 n = 0; n < m->chip->channels; n++) calendar_advance(&m->channels[n], time);
}

static u64 memory_need(const struct chip *k) {
    u64 one = cache_bytes(k->l2_sets, k->l2_ways, 1) + sizeof(struct cache) + sizeof(struct calendar);
    return k->l2_banks * one + k->channels * sizeof(struct calendar) + (k->tlb_entries + 16) * 4 + 8 * 128;
}

static void memory_begin(struct memory *m, const struct chip *k, struct arena *a) {
    __builtin_memset(m, 0, sizeof *m);
    m->chip = k;
    m->banks = give(a, k->l2_banks * sizeof(struct calendar));
    m->channels = give(a, k->channels * sizeof(struct calendar));
    m->l2 = give(a, k->l2_banks * sizeof(struct cache));
    m->pages = give(a, (k->tlb_entries + 16) * 4);
    m->line_shift = __builtin_ctz(k->l2_line_bytes / 64);
    m->of_banks = divisor_of(k->l2_banks);
    m->of_channels = divisor_of(k->channels);
    if (k->tlb_entries) m->of_pages = divisor_of(k->tlb_entries / 16);
    for (u32 n = 0; n < k->l2_banks; n++) {
        calendar_begin(&m->banks[n], k->bank_bucket_bytes);
        cache_begin(&m->l2[n], a, k->l2_sets, k->l2_ways, 1);
    }
    for (u32 n = 0; n < k->channels; n++) calendar_begin(&m->channels[n], k->channel_bucket_sixteenths);
}

/* ---- series over time -------------------------------------------------------------------------------------------- */

enum { POINTS = 512 };

/* A quantity over time: `value[n]` is its sum over the cycles of step n. Steps grow as time goes on. */
struct series { u64 step; u64 value[POINTS]; };

static void series_reach(struct series *s, u64 to) {
    while (to > s->step * POINTS) {
        for (u32 n = 0; n < POINTS / 2; n++) s->value[n] = s->value[2 * n] + s->value[2 * n + 1];
        for (u32 n = POINTS / 2; n < POINTS; n++) s->value[n] = 0;
        s->step *= 2;
    }
}

/* `weight` in each cycle. */
static void series_add(struct series *s, u64 from, u64 to, u64 weight) {
    series_reach(s, to);
    for (u64 n = from / s->step; n * s->step < to; n++) {
        u64 low = later(from, n * s->step), high = sooner(to, (n + 1) * s->step);
        s->value[n] += (high - low) * weight;
    }
}

/* `amount` in all, evenly over the cycles. */
static void series_spread(struct series *s, u64 from, u64 to, u64 amount) {
    series_reach(s, to);
    for (u64 n = from / s->step; n * s->step < to; n++) {
        u64 low = later(from, n * s->step), high = sooner(to, (n + 1) * s->step);
        s->value[n] += amount * (high - from) / (to - from) - amount * (low - from) / (to - from);
    }
}

/* ---- timeline ---------------------------------------------------------------------------------------------------- */

struct happening { u64 time; u32 cycles; u16 unit; u8 simd, slot; u32 kind, what; };

struct timeline { struct happening *all; u64 room, count; u32 units; };

static inline void note(struct timeline *t, u32 unit, u32 simd, u32 slot, u32 kind, u64 time, u64 cycles, u32 what) {
    if (unit >= t->units || t->count >= t->room) return;
    t->all[t->count++] = (struct happening){time, cycles > ~0u ? ~0u : cycles, unit, simd, slot, kind, what};
}

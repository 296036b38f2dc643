/* What the machines of all chips are made of: calendars of what is shared, caches, the memory system, series over time.

   Compute units are replayed one after the other, a few cycles at a time. So what they share is not asked in the order of
   time: a calendar knows which cycles of it are taken, and gives a late comer those that are still free. Times are in cycles
   of the core clock. */

typedef unsigned char u8;
typedef u32 v64 __attribute__((vector_size(256)));
typedef u32 v16 __attribute__((vector_size(64)));
typedef u32 v8 __attribute__((vector_size(32)));
typedef u32 v4 __attribute__((vector_size(16)));
typedef i64 w16 __attribute__((vector_size(128))); /* signed numbers are what processors compare */
typedef _Bool b64 __attribute__((ext_vector_type(64)));
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

/* Which of 16, 8 or 4 numbers are `one` but for the bits that are `ignored`, as bits. */
static inline u32 equal16(const u32 *all, u32 one, u32 ignored) {
    v16 v = *(const v16 *)all, other = {0};
    return bits16(__builtin_convertvector((v | ignored) == other + (one | ignored), b16));
}

static inline u32 equal8(const u32 *all, u32 one, u32 ignored) {
    v8 v = *(const v8 *)all, other = {0};
    b8 lanes = __builtin_convertvector((v | ignored) == other + (one | ignored), b8);
    u8 bits;
    __builtin_memcpy(&bits, &lanes, 1);
    return bits;
}

static inline u32 equal4(const u32 *all, u32 one, u32 ignored) {
    v4 v = *(const v4 *)all, other = {0};
    b4 lanes = __builtin_convertvector((v | ignored) == other + (one | ignored), b4);
    u8 bits;
    __builtin_memcpy(&bits, &lanes, 1);
    return bits & 15;
}

/* The same of ages, and of 64 at a time. */
typedef u8 ages16 __attribute__((vector_size(16)));
typedef u8 ages64 __attribute__((vector_size(64)));

static inline u64 bits64(b64 lanes) {
    u64 bits;
    __builtin_memcpy(&bits, &lanes, 8);
    return bits;
}

static inline u64 equal64(const u32 *all, u32 one, u32 ignored) {
    v64 v = *(const v64 *)all, other = {0};
    return bits64(__builtin_convertvector((v | ignored) == other + (one | ignored), b64));
}

static inline u32 equal_ages16(const u8 *ages, u8 one) {
    return bits16(__builtin_convertvector(*(const ages16 *)ages == (ages16){0} + one, b16));
}

static inline u64 equal_ages64(const u8 *ages, u8 one) {
    return bits64(__builtin_convertvector(*(const ages64 *)ages == (ages64){0} + one, b64));
}

/* A number that much is divided by (Granlund and Montgomery, Division by invariant integers using multiplication, 1994,
   figure 4.1): exact for all of 32 bits, and what vectors can do. */
struct divisor { u32 by, magic, shift; };

static struct divisor divisor_of(u32 by) {
    u32 shift = by > 1 ? 32 - __builtin_clz(by - 1) : 0;
    return (struct divisor){by, (((1ull << shift) - by) << 32) / by + 1, shift};
}
static inline u32 over(u32 n, const struct divisor *d) { return (n + ((u64)n * d->magic >> 32)) >> d->shift; }
static inline u32 rest(u32 n, const struct divisor *d) { return n - over(n, d) * d->by; }

/* ---- calendars -------------------------------------------------------------------------------------------------- */

enum { BUCKET_BITS = 4, BUCKET = 1 << BUCKET_BITS, WINDOW = 4096 };

struct calendar {
    u32 capacity;      /* of a bucket of 16 cycles, in units of the resource */
    u64 per_unit;      /* cycles, in 2^32nds, rounded up */
    u64 base;          /* the window's first bucket */
    u64 tail;          /* cycle up to which all is taken behind the window */
    u64 taken;         /* units, in all */
    u64 full, open;    /* buckets from `full` on, up to `open`, are known to be full: where most requests of a queue begin */
    u32 bucket[WINDOW]; /* units taken; if not below the capacity: that, and how many buckets from here on are known to be full */
};

static void calendar_begin(struct calendar *c, u32 capacity) {
    __builtin_memset(c, 0, sizeof *c);
    c->capacity = capacity ? capacity : 1;
    c->per_unit = (((u64)BUCKET << 32) - 1) / c->capacity + 1;
}

/* Nothing will be asked before `time` any more. */
static void calendar_advance(struct calendar *c, u64 time) {
    u64 base = time >> BUCKET_BITS;
    if (base <= c->base) return;
    u64 from = c->base + WINDOW, to = base + WINDOW;
    if (to - from > WINDOW) from = to - WINDOW;
    for (; from < to && from << BUCKET_BITS < c->tail; from++) c->bucket[from % WINDOW] = c->capacity + 1;
    for (; from < to; from++) c->bucket[from % WINDOW] = 0;
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

/* Whole cycles that `units` take. */
static inline u64 calendar_cycles(const struct calendar *c, u32 units) { return units * c->per_unit >> 32; }

/* `calendar_take` where the first bucket has no room for all. */
static __attribute__((noinline)) u64 calendar_search(struct calendar *c, u64 time, u32 amount) {
    u64 b = later(time >> BUCKET_BITS, c->base), end = c->base + WINDOW;
    u32 left = amount;
    if (b >= c->full && b < c->open) b = c->open;
    if (b + 1 < end) { /* most often the next has room for the rest */
        u32 *one = &c->bucket[b % WINDOW], *next = &c->bucket[(b + 1) % WINDOW];
        u32 more = *one + amount - c->capacity, all = *next + more;
        if (*one < c->capacity && more > 0 && all < c->capacity) {
            *one = c->capacity + 1;
            *next = all;
            if (b == c->open) c->open = b + 1;
            return later(((b + 1) << BUCKET_BITS) + calendar_cycles(c, all), time + calendar_cycles(c, amount));
        }
    }
    for (b = calendar_free(c, b); b < end; b = calendar_free(c, b + 1)) {
        u32 *one = &c->bucket[b % WINDOW], room = c->capacity - *one;
        if (left < room) {
            *one += left;
            return later((b << BUCKET_BITS) + calendar_cycles(c, *one), time + calendar_cycles(c, amount));
        }
        *one = c->capacity + 1;
        left -= room;
        if (left == 0) return later((b + 1) << BUCKET_BITS, time + calendar_cycles(c, amount));
    }
    c->tail = later(c->tail, end << BUCKET_BITS) + calendar_cycles(c, left) + 1; /* what lies before `time` stays free for others */
    return later(c->tail, time + calendar_cycles(c, amount));
}

/* When `amount` units asked for at `time` have been served. */
static inline u64 calendar_take(struct calendar *c, u64 time, u32 amount) {
    u64 b = later(time >> BUCKET_BITS, c->base);
    if (b >= c->full && b < c->open) b = c->open;
    u32 *one = &c->bucket[b % WINDOW], all = *one + amount;
    c->taken += amount;
    if (b >= c->base + WINDOW || all >= c->capacity) return calendar_search(c, time, amount);
    *one = all;
    return later((b << BUCKET_BITS) + calendar_cycles(c, all), time + calendar_cycles(c, amount));
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* What is known of a set stands together: of each way the tag, its age (how many others were used since), and when its line
   is there. A tag is twice the line's number + 1, odd if the line was written; 0: there is none. */
struct cache {
    u32 sets, ways, slots, set_bytes; /* slots: ways, rounded up to 4, 8, 16 or a multiple of 64 */
    u32 ages_at, ready_at;            /* of a set, in bytes */
    struct divisor of_sets;
    u8 *all;
    u64 hits, misses;
};

struct arena { u8 *at, *end; };

static void *give(struct arena *a, u64 bytes) {
    u8 *at = (u8 *)(((u64)a->at + 127) & ~127ull);
    a->at = at + bytes;
    return at;
}

static inline u32 slots_of(u32 ways) { return ways <= 4 ? 4 : ways <= 8 ? 8 : ways <= 16 ? 16 : (ways + 63) & ~63u; }
static inline u32 ages_bytes(u32 ways) { return ways <= 16 ? 16 : slots_of(ways); }
static inline u32 set_bytes(u32 ways) { return (12 * slots_of(ways) + ages_bytes(ways) + 63) & ~63u; }

static void cache_begin(struct cache *c, struct arena *a, u32 sets, u32 ways) {
    u32 slots = slots_of(ways), ages = ages_bytes(ways), bytes = set_bytes(ways);
    *c = (struct cache){.sets = sets, .ways = ways, .slots = slots, .set_bytes = bytes, .of_sets = divisor_of(sets)};
    c->ages_at = 4 * slots;
    c->ready_at = bytes - 8 * slots; /* begins a line of the host's memory, as far as they do */
    c->all = give(a, (u64)sets * bytes);
    for (u32 n = 0; n < sets; n++)
        for (u32 w = 0; w < ages; w++) c->all[(u64)n * bytes + c->ages_at + w] = w < ways ? ways - 1 - w : 255;
}

static u64 cache_bytes(u32 sets, u32 ways) { return (u64)sets * set_bytes(ways) + 128; }

/* Forget all lines. */
static void cache_clear(struct cache *c) {
    for (u32 n = 0; n < c->sets; n++) __builtin_memset(c->all + (u64)n * c->set_bytes, 0, 4 * c->slots);
}

static inline u32 set_of_line(const struct cache *c, u32 line) { return rest(line, &c->of_sets); }
static inline u32 tag_of(u32 line) { return (line + 1) << 1; }
static inline u64 *ready_in(const struct cache *c, u8 *set) { return (u64 *)(set + c->ready_at); }
static inline u8 *set_at(const struct cache *c, u32 set) { return c->all + (u64)set * c->set_bytes; }

/* The way whose age is `own` becomes the most recent one: those that were used after it become older. */
static inline void cache_use(const struct cache *c, u8 *ages, u8 own) {
    if (c->slots <= 16) {
        ages16 *v = (ages16 *)ages, old = (ages16){0} + own;
        *v = (*v - (ages16)(*v < old)) & ~(ages16)(*v == old);
        return;
    }
    ages64 old = (ages64){0} + own;
    for (u32 w = 0; w < c->slots; w += 64) {
        ages64 *v = (ages64 *)(ages + w);
        *v = (*v - (ages64)(*v < old)) & ~(ages64)(*v == old);
    }
}

/* A set's ways with a tag, written or not, as bits; of more than 64 slots, of the 64 from here on. */
static inline u64 equal_slots(const struct cache *c, const u32 *tags, u32 tag) {
    if (c->slots == 16) return equal16(tags, tag, 1);
    if (c->slots > 16) return equal64(tags, tag, 1);
    return c->slots == 4 ? equal4(tags, tag, 1) : equal8(tags, tag, 1);
}

/* The way of a set with a tag, which is used by that; -1: none. */
static inline i32 cache_way(struct cache *c, u8 *set, u32 tag) {
    for (u32 w = 0; w < c->slots; w += 64) {
        u64 found = equal_slots(c, (const u32 *)set + w, tag);
        if (found) {
            u32 way = w + __builtin_ctzll(found);
            u8 *ages = set + c->ages_at, own = ages[way];
            if (own) cache_use(c, ages, own);
            c->hits++;
            return way;
        }
    }
    c->misses++;
    return -1;
}

/* A way for a new line: that which was not used for longest. */
static inline u32 cache_oldest(const struct cache *c, u8 *set) {
    u8 *ages = set + c->ages_at, oldest = c->ways - 1;
    u32 way = 0;
    if (c->slots <= 16) way = __builtin_ctz(equal_ages16(ages, oldest));
    else {
        u64 found;
        while ((found = equal_ages64(ages + way, oldest)) == 0) way += 64;
        way += __builtin_ctzll(found);
    }
    cache_use(c, ages, oldest);
    return way;
}

/* When the line is there, or 0 if it is not in the cache. */
static inline u64 *cache_find(struct cache *c, u32 set, u32 line) {
    u8 *at = set_at(c, set);
    i32 way = cache_way(c, at, tag_of(line));
    return way < 0 ? 0 : ready_in(c, at) + way;
}

/* Where to say when a new line will be there. */
static inline u64 *cache_place(const struct cache *c, u32 set, u32 line) {
    u8 *at = set_at(c, set);
    u32 way = cache_oldest(c, at);
    ((u32 *)at)[way] = tag_of(line);
    return ready_in(c, at) + way;
}

/* ---- series over time -------------------------------------------------------------------------------------------- */

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

struct timeline { struct happening *all; u64 room, count; u32 first, units; u64 *of_unit; };

static inline void note(struct timeline *t, u32 unit, u32 simd, u32 slot, u32 kind, u64 time, u64 cycles, u32 what) {
    if (unit - t->first >= t->units) return;
    t->of_unit[unit - t->first]++; /* whether there is room or not */
    if (t->count >= t->room) return;
    t->all[t->count++] = (struct happening){time, cycles > ~0u ? ~0u : cycles, unit, simd, slot, kind, what};
}

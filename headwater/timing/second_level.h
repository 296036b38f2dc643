/* The second level of caches and the memory behind it: lines that compute units ask for in, when they are answered out. */

enum { TOGETHER = 16 }; /* lines that are asked for at once, at most */
enum { MOST_LINES = 256 }; /* of an access */
enum { HELD = 64 };        /* translations that are found by their page's number alone */

/* The second level and what is behind it. All of it in one place, as all compute units share it. */
struct memory {
    const struct chip *chip;
    struct calendar *banks;
    struct dram dram;
    struct cache l2; /* the sets of one bank after those of another */
    struct cache side; /* the memory-side cache, of one channel after another; no sets: there is none */
    struct calendar *side_banks;
    struct divisor of_channels, of_banks, of_share, of_pages, of_sets, of_side_sets; /* of_sets: those of a bank */
    struct divisor of_three;
    u32 die_banks;    /* of the L2 of a die */
    u32 side_sets;    /* of a channel */
    u32 line_shift;   /* 64-byte lines of an L2 line, as a shift */
    u32 hash_mask;    /* of a bank's number, what is scrambled */
    u32 pipe_bits;    /* of an address, where its pipe and what is above it share three channels between two pipes */
    u32 fold_mask;    /* of a channel's number, what is combined with the bank's of its DRAM */
    u32 *pages;       /* translations, the most recent ones */
    u32 held[HELD];   /* some of these, each where its number alone says to look */
    u32 page_clock, seed;
    u64 reads, writes, atomics, fills, write_backs, page_misses;
};

/* The channel of the n-th chunk of all channels, which is the n-th above as many as they are. */
static inline u32 memory_channel(const struct memory *m, u32 chunk, u32 above) {
    return (chunk - above * m->chip->channels) ^ (above >> m->chip->channel_fold & m->fold_mask);
}

/* Where lines are in the L2. */
struct places { u32 bank[MOST_LINES], set[MOST_LINES], tag[MOST_LINES]; };

static u64 memory_translate(struct memory *m, u32 line) {
    const struct chip *k = m->chip;
    if (k->tlb_entries == 0) return 0;
    u32 page = (line >> k->page_line_bits) + 1, *held = &m->held[page % HELD];
    if (*held == page) return 0;
    u32 *at = m->pages + rest(page, &m->of_pages) * 16, missing = equal16(at, page, 0) == 0;
    if (missing) {
        u32 *old = &at[m->page_clock++ & 15], *other = &m->held[*old % HELD];
        if (*other == *old) *other = 0;
        *old = page;
        m->page_misses++;
    }
    *held = page;
    return missing ? k->tlb_miss_cycles : 0;
}

/* The channel that a chunk is in, and its number there, where two pipes share three channels (AMD, OpenCL Optimization
   Guide, "Channel conflicts", HD 79XX): of what is above the pipes every third has its two chunks in the middle one, the
   others have one in each of the outer ones. */
struct third { u32 channel, number; };

static inline struct third third_of(const struct memory *m, u32 chunk) {
    u32 above = chunk >> m->pipe_bits, pipe = chunk & ((1u << m->pipe_bits) - 1), low = pipe & 1;
    u32 all = over(above, &m->of_three), left = above - 3 * all, middle = left == 1;
    return (struct third){3 * (pipe >> 1) + (middle ? 1 : 2 * low), 2 * all + (middle ? low : left >> 1)};
}

/* Find the places of lines, for a compute unit of a die. A channel's lines are numbered without gaps. Where channels are
   scrambled, each `above` has a permutation of them, so that what follows in even steps meets all: by exclusive or where
   their number is a power of two, else by a rotation, but for three times a power of two. Each die has banks of its own,
   each of which serves several channels. */
static inline void memory_locate(const struct memory *m, const u32 *lines, u32 count, struct places *p, u32 die) {
    const struct chip *k = m->chip;
    u32 bits = k->interleave_line_bits, within = (1u << bits) - 1, hash = k->channel_hash, mask = m->hash_mask;
    u32 channels = k->channels, sets = k->l2_sets, shift = m->line_shift, first = die * m->die_banks;
    u32 share = m->of_share.by; /* channels of a bank */
    struct divisor of_channels = m->of_channels, of_banks = m->of_banks, of_sets = m->of_sets;
    u32 rotates = hash && !mask, fold = k->channel_fold, folds = m->fold_mask, pipe_bits = m->pipe_bits;
    for (u32 n = 0; n < count; n++) {
        u32 chunk = lines[n] >> bits, above = over(chunk, &of_channels), bank = chunk - above * channels;
        if (pipe_bits) {
            struct third t = third_of(m, chunk);
            bank = t.channel;
            above = t.number;
        } else if (rotates) bank = rest(bank + above + over(above, &of_channels), &of_channels);
        bank ^= ((above ^ above >> hash ^ above >> 2 * hash) & mask) ^ (above >> fold & folds);
        if (share > 1) {
            u32 which = over(bank, &of_banks);
            above = above * share + which;
            bank = first + bank - which * m->die_banks;
        }
        u32 own = (above << bits | (lines[n] & within)) >> shift;
        p->bank[n] = bank;
        p->set[n] = bank * sets + rest(own, &of_sets);
        p->tag[n] = tag_of(own);
    }
}

/* The channel and its chunk that a line of an L2 bank lies in, from its tag, and the line's number in the channel. */
struct home { u32 channel, chunk, line; };

static inline struct home home_of(const struct memory *m, u32 bank, u32 tag) {
    u32 own = (tag >> 1) - 1, bits = m->chip->interleave_line_bits - m->line_shift, chunk = own >> bits;
    struct home h = {bank, chunk, own};
    if (m->of_share.by > 1) {
        h.chunk = over(chunk, &m->of_share);
        h.channel = (chunk - h.chunk * m->of_share.by) * m->die_banks + rest(bank, &m->of_banks);
        h.line = h.chunk << bits | (own & ((1u << bits) - 1));
    }
    return h;
}

/* Lines will be asked for: bring what the L2 knows of them from the host's memory. */
static inline void memory_expect(const struct memory *m, const struct places *p, u32 count, u32 writes) {
    for (u32 n = 0; n < count; n++) {
        const u8 *set = set_at(&m->l2, p->set[n]);
        __builtin_prefetch(set, 1);
        __builtin_prefetch(set + 64, 1);
        if (writes) continue; /* nobody waits for when what was there came */
        __builtin_prefetch(set + 128, 1);
        __builtin_prefetch(set + 192, 1);
    }
}

/* Lines that were written and leave the L2 together. */
struct leaving { u32 count, tag[TOGETHER]; };

/* A line that the L2 lets go or wants passes the memory-side cache: when it is there, or has come. */
static u64 side_access(struct memory *m, const struct home *h, u64 time, u32 writes) {
    const struct chip *k = m->chip;
    u32 bytes = k->l2_line_bytes, bits = k->interleave_line_bits - m->line_shift;
    u8 *set = set_at(&m->side, h->channel * m->side_sets + rest(h->line, &m->of_side_sets));
    u32 tag = tag_of(h->line), *tags = (u32 *)set;
    u64 *ready = ready_in(&m->side, set);
    time = calendar_take(&m->side_banks[h->channel], time, bytes);
    i32 way = cache_way(&m->side, set, tag);
    if (way >= 0) {
        tags[way] |= writes;
        return writes ? time : later(time, ready[way]) + k->side_cycles;
    }
    way = cache_oldest(&m->side, set);
    if (tags[way] & 1) dram_access(&m->dram, h->channel, ((tags[way] >> 1) - 1) >> bits, time, 1, bytes, 1);
    tags[way] = tag | writes;
    if (writes) return ready[way] = time;
    u64 there = dram_access(&m->dram, h->channel, h->chunk, time, 1, bytes, 0);
    ready[way] = there;
    return there + k->memory_more_cycles;
}

/* They go at `time` by way of a buffer, which may be full: when the bank goes on. */
static u64 memory_leave(struct memory *m, u32 bank, u64 time, const struct leaving *l) {
    const struct chip *k = m->chip;
    u64 gone = 0;
    m->write_backs += l->count;
    for (u32 n = 0, some; n < l->count; n += some) { /* those of one chunk go on together */
        struct home h = home_of(m, bank, l->tag[n]);
        some = 1;
        if (m->side_sets) {
            gone = later(gone, side_access(m, &h, time, 1));
            continue;
        }
        for (; n + some < l->count && home_of(m, bank, l->tag[n + some]).chunk == h.chunk;) some++;
        gone = later(gone, dram_access(&m->dram, h.channel, h.chunk, time, some, some * k->l2_line_bytes, 1));
    }
    return gone > time + k->write_buffer_cycles ? gone - k->write_buffer_cycles : time;
}

/* When memory has brought `missing` lines of one chunk that the L2 asked for at `time`, by their tags. */
static inline __attribute__((always_inline)) u64 memory_fill(struct memory *m, u32 bank, u32 line, const u32 *tags, u64 time, u32 missing) {
    const struct chip *k = m->chip;
    struct home h = home_of(m, bank, tags[0]);
    time += memory_translate(m, line);
    m->fills += missing;
    if (m->side_sets) {
        u64 there = side_access(m, &h, time, 0);
        for (u32 n = 1; n < missing; n++) {
            h = home_of(m, bank, tags[n]);
            there = later(there, side_access(m, &h, time, 0));
        }
        return there;
    }
    return dram_access(&m->dram, h.channel, h.chunk, time, missing, missing * k->l2_line_bytes, 0) + k->memory_more_cycles;
}

/* A way of a set for a new line where any of them may have to go: an empty one if there is one. */
static u32 memory_any(struct memory *m, const u8 *set) {
    for (u32 way = 0; way < m->l2.ways; way++)
        if (((const u32 *)set)[way] == 0) return way;
    m->seed = m->seed * 1664525 + 1013904223; /* Knuth, The Art of Computer Programming, volume 2, 3.3.4 */
    return (u32)((u64)m->seed * m->l2.ways >> 32);
}

/* Make a place for a line that is missing: its way. What goes is `leaving` if it was written. */
static inline u32 memory_make(struct memory *m, u8 *set, u32 tag, struct leaving *leaving) {
    u32 way = m->chip->l2_random ? memory_any(m, set) : cache_oldest(&m->l2, set), *old = (u32 *)set + way;
    if (*old & 1) leaving->tag[leaving->count++] = *old;
    *old = tag;
    return way;
}

/* When the answer leaves the L2 for a request that reaches it at `time`, of the line that is the n-th of the places. */
static inline __attribute__((always_inline)) u64 memory_one(struct memory *m, const struct places *p, u32 n, u32 line, u64 time, u32 writes, u32 work) {
    u32 bank = p->bank[n];
    struct leaving leaving;
    leaving.count = 0;
    u8 *set = set_at(&m->l2, p->set[n]);
    u64 *ready = ready_in(&m->l2, set);
    time = calendar_take(&m->banks[bank], time, work);
    i32 way = cache_way(&m->l2, set, p->tag[n]);
    if (writes) m->writes++;
    else m->reads++;
    if (way >= 0) {
        ((u32 *)set)[way] |= writes;
        return writes ? time : later(time, ready[way]);
    }
    way = memory_make(m, set, p->tag[n] | writes, &leaving);
    if (leaving.count) time = memory_leave(m, bank, time, &leaving);
    if (!writes) time = memory_fill(m, bank, line, &p->tag[n], time, 1); /* a whole line is not read first; parts of it carry masks */
    return ready[way] = time;
}

/* The same of a line that comes alone. */
static u64 memory_access(struct memory *m, u32 line, u64 time, u32 die) {
    struct places p;
    memory_locate(m, &line, 1, &p, die);
    return memory_one(m, &p, 0, line, time, 0, 64);
}

/* The same for `count` lines of one bank, from the n-th place on, that are asked for at once: when the last is answered.
   `line`: the first. */
static u64 memory_together(struct memory *m, const struct places *p, u32 n, u32 count, u32 line, u64 time, u32 writes, u32 work) {
    u32 bank = p->bank[n], missing = 0;
    struct leaving leaving;
    leaving.count = 0;
    u64 *ready[TOGETHER], *missed[TOGETHER];
    u32 tags[TOGETHER];
    time = calendar_take(&m->banks[bank], time, work * count);
    if (writes) m->writes += count;
    else m->reads += count;
    for (u32 one = 0; one < count; one++) {
        u8 *set = set_at(&m->l2, p->set[n + one]);
        u32 tag = p->tag[n + one];
        i32 way = cache_way(&m->l2, set, tag);
        if (way >= 0) ((u32 *)set)[way] |= writes;
        else way = memory_make(m, set, tag | writes, &leaving), tags[missing] = tag, missed[missing++] = ready_in(&m->l2, set) + way;
        ready[one] = ready_in(&m->l2, set) + way;
    }
    if (leaving.count) time = memory_leave(m, bank, time, &leaving);
    if (missing) {
        u64 there = writes ? time : memory_fill(m, bank, line, tags, time, missing);
        for (u32 one = 0; one < missing; one++) *missed[one] = there;
    }
    if (!writes)
        for (u32 one = 0; one < count; one++) time = later(time, *ready[one]);
    return time;
}

static inline u64 memory_ask(struct memory *m, const struct places *p, u32 n, u32 count, u32 line, u64 time, u32 writes, u32 work) {
    return count == 1 ? memory_one(m, p, n, line, time, writes, work)
                      : memory_together(m, p, n, count, line, time, writes, work);
}

static void memory_advance(struct memory *m, u64 time) {
    for (u32 n = 0; n < m->chip->l2_banks; n++) calendar_advance(&m->banks[n], time);
    dram_advance(&m->dram, time);
    if (m->side_sets)
        for (u32 n = 0; n < m->chip->channels; n++) calendar_advance(&m->side_banks[n], time);
}

static u64 memory_need(const struct chip *k) {
    u64 calendars = (u64)(k->l2_banks + (k->side_sets ? k->channels : 0)) * sizeof(struct calendar);
    calendars += cache_bytes(k->channels * k->side_sets, k->side_ways);
    return calendars + dram_need(k) + cache_bytes(k->l2_banks * k->l2_sets, k->l2_ways) + (k->tlb_entries + 16) * 4 + 8 * 128;
}

static void memory_begin(struct memory *m, const struct chip *k, struct arena *a) {
    __builtin_memset(m, 0, sizeof *m);
    m->chip = k;
    m->banks = give(a, k->l2_banks * sizeof(struct calendar));
    dram_begin(&m->dram, k, a);
    m->side_sets = k->side_sets;
    if (k->side_sets) {
        m->side_banks = give(a, k->channels * sizeof(struct calendar));
        for (u32 n = 0; n < k->channels; n++) calendar_begin(&m->side_banks[n], k->side_bucket_bytes);
        cache_begin(&m->side, a, k->channels * k->side_sets, k->side_ways);
        m->of_side_sets = divisor_of(k->side_sets);
    }
    m->die_banks = k->l2_banks / k->dies;
    m->pages = give(a, (k->tlb_entries + 16) * 4);
    m->line_shift = __builtin_ctz(k->l2_line_bytes / 64);
    m->hash_mask = k->channel_hash && (k->channels & (k->channels - 1)) == 0 ? k->channels - 1 : 0;
    m->fold_mask = k->channel_fold && (k->channels & (k->channels - 1)) == 0 ? k->channels - 1 : 0;
    m->of_channels = divisor_of(k->channels);
    m->of_three = divisor_of(3);
    if (k->channel_thirds) m->pipe_bits = __builtin_ctz(k->channels / 3) + 1;
    m->of_banks = divisor_of(m->die_banks);
    m->of_share = divisor_of(k->dies > 1 ? k->channels / m->die_banks : 1);
    m->of_sets = divisor_of(k->l2_sets);
    if (k->tlb_entries) m->of_pages = divisor_of(k->tlb_entries / 16);
    cache_begin(&m->l2, a, k->l2_banks * k->l2_sets, k->l2_ways);
    for (u32 n = 0; n < k->l2_banks; n++) calendar_begin(&m->banks[n], k->bank_bucket_bytes);
}

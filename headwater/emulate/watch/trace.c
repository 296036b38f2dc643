/* Segments and memory accesses of wavefronts in, as the code of staging.py reports them; the records of trace_records.h out.

   Most wavefronts do what those before them did, with addresses that have moved on by the same distances. So what one will
   do is written down when it begins: its path, and for each site the next address. The translated code compares, and
   calls functions from here only where something else happens. A wavefront that did all as expected is only counted.
   Others are compared with several that came before. */

/* 1 where nothing is known of the accesses and the wavefronts before: what is recorded must be the same (verification/fuzz_traces.py). */
#ifndef FORGETS
#define FORGETS 0
#endif

/* ---- what is expected ------------------------------------------------------------------------------------------- */

SCALAR static inline u32 facts_of(const struct recorder *r, u32 number) { return ((const u32 *)r->context->site_table)[number]; }
SCALAR static inline int is_local(u32 facts) { return (facts & 0xff) == KIND_LDS || (facts & 0xff) == KIND_GDS; }

/* Count the wavefront in the series that it goes on. */
APART static void goes_as_expected(struct recorder *r) {
    struct series *f = r->lead;
    for (u32 n = r->turning; n; n = r->sites[n - 1].turning) r->sites[n - 1].next += r->sites[n - 1].turn;
    f->waves++;
    f->last_number = r->number;
    r->behind++;
    r->expected = --r->lasting ? r->number + f->step : NEVER;
}

/* The same, if wavefronts are missing between: it begins a series like that. */
static void begins_as_expected(struct recorder *r) {
    struct series *f = r->lead;
    put_series(r, f);
    half *first = (half *)f->runs, *last = (half *)f->last, *delta = (half *)f->delta;
    u64 times = (r->number - f->last_number) / f->step;
    for (u32 n = 0; n < 2 * r->context->sites; n += 2) {
        first[n] = last[n] += delta[n] * times;
        r->sites[n / 2].hits = 0;
    }
    if (f->lines) list_again(r, f);
    f->start = r->number;
    r->latest = f - r->series;
    goes_as_expected(r);
    r->behind = 0;
}

/* Bring `last` of the series up to date that the last wavefronts have gone on. */
APART static void catch_up(struct recorder *r) {
    if (r->lead == 0 || r->behind == 0) return;
    half *last = (half *)r->lead->last, *delta = (half *)r->lead->delta;
    for (u32 n = 0; n < 2 * r->context->sites; n += 2) last[n] += delta[n] * r->behind;
    r->behind = 0;
}

/* Take a site's other pattern, and keep that which it has. */
SCALAR static inline void exchange_patterns(struct site *s) {
    half *one = (half *)s->pattern, *other = (half *)s->other;
    for (u32 n = 0; n < LANES / 2; n++) {
        half was = one[n];
        one[n] = other[n];
        other[n] = was;
    }
    u64 mask = s->pattern_mask;
    s->pattern_mask = s->other_mask;
    s->other_mask = mask;
    for (u32 n = 0; n < KNOWN; n++) {
        u32 known = s->known[n];
        s->known[n] = s->other_known[n];
        s->other_known[n] = known;
    }
}

/* From lane 0 to the first that accesses memory, in bytes. */
SCALAR static inline u64 to_first(const struct site *s) { return (i64)(i32)s->known[AHEAD]; }

/* Of accesses to local memory, what is expected instead of an address. */
SCALAR static inline u64 local_key(const struct site *s) { return (s->known[ALIGNMENT] - s->known[AHEAD]) & 3; }

/* Prefetch what a site will access at so many bytes of its allocation. In assembly, as clang counts prefetches among what needs vector
   registers. */
SCALAR static inline void prefetch_lines(const struct site *s, u64 offset) {
    if (s->memory == 0) return;
#ifdef __x86_64__
    u64 at = s->memory + offset;
    for (u64 lines = s->known[PACKED] >> 24; lines--; at += LINE_BYTES) __asm__ volatile("prefetcht0 (%0)" : : "r"(at));
#endif
}

enum { MOST_AHEAD = 64, FURTHEST_AHEAD = 1 << 14 }; /* wavefronts, a power of 4; bytes */

/* The same of a site, `times` steps behind the series' last wavefront. */
SCALAR static inline void expect_access(struct recorder *r, u32 number, u64 times) {
    struct site *s = &r->sites[number];
    const half *last = (const half *)&r->lead->last[number], *delta = (const half *)&r->lead->delta[number];
    u32 count = last[1] >> 32, ahead = delta[0] >> 32, first = (last[0] >> 32) + ahead * times;
    s->hits = 0;
    s->usual = count;
    s->next = NEVER;
    s->step = 0;
    if (count == 0 || (last[0] & LIST && !same_lists(r, r->lead))) return;
    if ((u32)last[0] != s->known[PACKED] && (u32)last[0] == s->other_known[PACKED]) exchange_patterns(s);
    if (s->pattern_mask == 0 || (u32)last[0] != s->known[PACKED]) return;
    if (is_local(facts_of(r, number))) {
        s->next = local_key(s);
        return;
    }
    i64 further = (i64)(i32)ahead * LINE_BYTES, stride = (i64)(i32)last[1] * LINE_BYTES, reach = stride * (count - 1);
    u64 at = ((u64)first * LINE_BYTES | (s->known[ALIGNMENT] & (LINE_BYTES - 1))) - s->allocation[2], room = s->allocation[1];
    if (!(s->known[ALIGNMENT] >> 31) || at >= room || at + reach >= room) return;
    while (r->lasting > 1 && (at + further * (r->lasting - 1) >= room || at + further * (r->lasting - 1) + reach >= room))
        r->lasting = (r->lasting + 3) / 4;
    if (r->lead->own && at + further < room) prefetch_lines(s, at + further);
    s->next = at + s->allocation[0] - to_first(s);
    s->step = count == 1 ? further : stride;
    if (count == 1) return;
    s->turn = further - stride * count;
    s->turning = r->turning;
    r->turning = number + 1;
}

/* Write down what a wavefront will do that goes on one of the series; nothing, if there is none. */
APART static void expect(struct recorder *r) {
    u64 number = r->number, distance = 0;
    u32 sites = r->context->sites;
    catch_up(r);
    r->lead = 0;
    r->turning = 0;
    for (u32 n = 0; n < ALL_SERIES; n++) {
        struct series *f = &r->series[n];
        u64 far = number - f->last_number;
        if (f->waves == 0 || f->step == 0 || number <= f->last_number || !lists_go_on(r, f)) continue;
        if (far % f->step || (r->lead && (far != f->step || (distance == r->lead->step && far < distance)))) continue;
        r->lead = f;
        distance = far;
    }
    if (r->lead == 0) {
        r->expected = NEVER;
        for (u32 n = 0; n < sites; n++) {
            r->sites[n].next = NEVER;
            r->sites[n].hits = 0;
        }
        return;
    }
    struct series *f = r->lead;
    u64 times = distance / f->step;
    /* One that is not the next one after the last cannot be counted with it. */
    r->expected = times == 1 ? number : NEVER;
    if (times == 1) r->latest = f - r->series;
    r->lasting = MOST_AHEAD;
    /* Up to where a series with wider steps goes on: the ends of rows between what is in them. */
    for (u32 n = 0; n < ALL_SERIES; n++) {
        const struct series *other = &r->series[n];
        u64 ahead = other->last_number + other->step - number;
        if (other->waves && other->step > f->step && ahead - 1 < f->step * (r->lasting - 1ull)) r->lasting = (ahead + f->step - 1) / f->step;
    }
    for (u32 n = 0; n < f->paths; n++) ((half *)r->path)[n] = ((half *)f->path)[n];
    for (u32 n = 0; n < sites; n++) expect_access(r, n, times);
}

static u64 address_in_range(const struct context *c, struct site *s, u64 host);

/* Put the accesses of a site that were as expected into its run. 0, and nothing is done, if they have left the allocation. */
SCALAR static inline int settle(struct recorder *r, u32 number) {
    struct site *s = &r->sites[number];
    half *halves = (half *)&r->runs[number];
    u32 before = r->behind * s->usual, hits = s->hits - before, count = halves[1] >> 32, stride = halves[1];
    u64 step = s->step, end = s->next + to_first(s), line = 0;
    r->strayed = 1;
    if (hits && !is_local(facts_of(r, number))) {
        if (end - step - s->allocation[0] >= s->allocation[1]) return 0;
        line = (end - step * hits - s->allocation[0] + s->allocation[2]) / LINE_BYTES;
    }
    s->next = NEVER;
    s->hits = before;
    if (hits == 0) return 1;
    if (count == 0) {
        halves[0] = s->known[PACKED] | (u64)(u32)line << 32;
        stride = hits > 1 ? (i64)step / LINE_BYTES : 0;
    }
    halves[1] = stride | (u64)(count + hits) << 32;
    return 1;
}

/* The same, wherever they went. */
static void settle_anywhere(struct recorder *r, u32 number) {
    if (settle(r, number)) return;
    struct site *s = &r->sites[number];
    u32 before = r->behind * s->usual, hits = s->hits - before;
    u64 at = s->next + to_first(s) - s->step * hits;
    s->next = NEVER;
    s->hits = before;
    for (; hits--; at += s->step) record(r, s, number, s->known[PACKED], address_in_range(r->context, s, at) / LINE_BYTES);
}

APART static u32 settle_all(struct recorder *r) {
    u32 n = 0;
    while (n < r->context->sites && settle(r, n)) n++;
    return n;
}

static void end_wave(struct recorder *r) {
    if (!r->open) return;
    r->open = 0;
    if (!r->strayed && r->lead && paths_of(r) == r->lead->paths) {
        if (r->expected == r->number) goes_as_expected(r);
        else begins_as_expected(r);
        return;
    }
    u32 sites = r->context->sites;
    for (u32 n = settle_all(r); n < sites; n++) settle_anywhere(r, n);
    catch_up(r);
    struct series *lead = r->lead;
    r->lead = 0;
    r->expected = NEVER;
    if (!FORGETS && !r->put && !r->memories) {
        for (u32 n = 0; n < ALL_SERIES; n++) {
            u32 one = (r->latest + n) % ALL_SERIES;
            if (!continues(r, &r->series[one], r->number)) continue;
            r->latest = one;
            return;
        }
        /* That which has not gone on for longest ends: mostly the one that was begun first. */
        u32 oldest = (r->latest + 1) % ALL_SERIES;
        for (u32 n = 0; n < ALL_SERIES; n++) {
            const struct series *f = &r->series[n], *old = &r->series[oldest];
            if (n != r->latest && (f->waves ? f->last_number : 0) < (old->waves ? old->last_number : 0)) oldest = n;
        }
        if (starts(r, &r->series[oldest], lead, r->number)) {
            r->latest = oldest;
            return;
        }
    }
    for (u32 n = 0; n < sites; n++) {
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
        r->expected = NEVER;
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
        r->path = (struct path_record *)at + 1; /* the first segment of a wavefront looks at what is none before it */
        r->path[-1].key = ~0u;
        r->full = r->path + PATH_ROOM;
        at += (PATH_ROOM + 2ull + c->segments) * sizeof *r->path;
        r->memory = (struct memory_record *)at;
        at += c->memory_room * sizeof *r->memory;
        r->line = (u32 *)at;
        at += c->line_room * 4ull;
        r->output = (unsigned char *)at;
    }
    end_wave(r);
    const struct launch_block *block = (const struct launch_block *)w->block;
    u64 groups_x = block->groups[0], groups_y = block->groups[1];
    r->number = (w->group[0] + groups_x * (w->group[1] + groups_y * w->group[2])) * c->waves + w->index;
    r->open = 1;
    r->at = r->path;
    r->strayed = 0;
    r->listing = 0;
    if (r->number != r->expected) expect(r);
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
        return c->private_address + r->number * c->private_bytes + (host - w->scratch);
    return 0;
}

/* The same in any allocation; 0 if it is in none (the access will be a fault). */
static u64 address_in_range(const struct context *c, struct site *s, u64 host) {
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

static u64 device_address(const struct context *c, const struct wave *w, const struct recorder *r, struct site *s, u64 host) {
    u64 known = known_address(c, w, r, s, host);
    return known ? known : address_in_range(c, s, host);
}

static void remember(struct site *s, u64 mask, u32 first, u32 alignment, u32 packed) {
    if (s->pattern_mask && !(s->known[PACKED] & LIST)) exchange_patterns(s);
    for (u32 p = 0; p < 4; p++) {
        v16 offsets = (part_of(s->low, p) - splat(s->low[0])) & lane_mask(mask, p);
        __builtin_memcpy(s->pattern + 16 * p, &offsets, sizeof offsets);
    }
    s->pattern_mask = mask;
    s->known[ALIGNMENT] = alignment;
    s->known[PACKED] = packed;
    s->known[AHEAD] = first - s->low[0];
}

/* Whether lanes' offsets from their first, and the mask, are those of the site's access before. */
static int has_pattern(const struct site *s, const u32 *low, u64 mask, u32 first) {
    if (mask != s->pattern_mask) return 0;
    v16 other = {0}, base = splat(first - s->known[AHEAD]);
    if (mask == ~0ull)
        for (u32 p = 0; p < 4; p++) other |= (part_of(low, p) - base) ^ part_of(s->pattern, p);
    else
        for (u32 p = 0; p < 4; p++) other |= ((part_of(low, p) - base) & lane_mask(mask, p)) ^ part_of(s->pattern, p);
    return !any(other);
}

static int same_pattern(const struct site *s, u64 mask, u32 first) { return has_pattern(s, s->low, mask, first); }

/* The same, or of one before that, which is taken then: wavefronts at the edges of a grid take turns with others. */
static int known_pattern(struct site *s, u64 mask, u32 first, u32 alignment) {
    if (FORGETS) return 0;
    if (alignment == s->known[ALIGNMENT] && same_pattern(s, mask, first)) return 1;
    if (mask != s->other_mask || alignment != s->other_known[ALIGNMENT]) return 0;
    exchange_patterns(s);
    if (same_pattern(s, mask, first)) return 1;
    exchange_patterns(s);
    return 0;
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
    if (one_high && bytes <= LINE_BYTES && single_lines(s, base + high, bytes, mask, line)) {
        /* Lines that are far apart are on their way to the cache while this goes on. */
        u64 move = s->memory - s->allocation[2], known = s->memory;
        for (u64 left = mask; left; left &= left - 1) {
            u32 one = ((const u32 *)line)[__builtin_ctzll(left)];
            if (known) __builtin_prefetch((void *)(move + (u64)one * LINE_BYTES));
            add_line(&list, one);
        }
    } else
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
    if (!known_pattern(s, mask, first, alignment)) {
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
    if (one_high && known_pattern(s, mask, first, alignment)) {
        record(r, s, number, s->known[PACKED], address / LINE_BYTES);
        return;
    }
    /* The lines that are overwritten now are still to be written. */
    if (r->runs[number].packed & LIST) end_run(r, s, number);
    if (s->other_known[PACKED] & LIST) s->other_mask = s->other_known[PACKED] = 0;
    u64 zero = base + (high << 32);
    const struct site *last = r->listing;
    if (!FORGETS && one_high && last && r->list_zero == zero && r->list_first == first && r->list_bytes == bytes &&
        has_pattern(last, s->low, mask, first)) {
        r->relisted++;
        __builtin_memcpy(s->lines, last->lines, 4 * words_of(r->list_packed));
        remember(s, mask, first, alignment, r->list_packed);
        record(r, s, number, r->list_packed, r->list_start);
        return;
    }
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
        r->listing = one_high ? s : 0;
        r->list_zero = zero;
        r->list_first = first;
        r->list_bytes = bytes;
        r->list_packed = packed;
        r->list_start = start;
    }
    remember(s, one_high ? mask : 0, first, alignment, packed);
    record(r, s, number, packed, start);
}

SCALAR static inline u32 bytes_of(u32 facts) { return facts >> 8 & 0xffff; }

/* A run goes on as it has done, as long as nothing else is heard. `host`: of its last access. */
SCALAR static inline void go_on(struct site *s, const struct run *run, u64 host) {
    const half *halves = (const half *)run;
    u64 rest = halves[1];
    if (rest >> 32 < 2 || host - s->allocation[0] >= s->allocation[1]) return;
    s->step = (i64)(i32)rest * LINE_BYTES;
    s->next = host + s->step - to_first(s);
}

/* Prefetch what the next wavefront will access if it is as far on as this one is from that before: where it is not known what
   wavefronts do, too much lies between their loads for these to overlap. */
SCALAR static inline void ask_ahead(struct site *s, u64 host) {
    u64 ahead = host - s->before;
    s->before = host;
    if (ahead + FURTHEST_AHEAD > 2 * FURTHEST_AHEAD || host - s->allocation[0] >= s->allocation[1]) return;
    prefetch_lines(s, host - s->allocation[0] + ahead);
}

/* An access of lanes that lie to lane 0 as in the site's access before: 1 if nothing else is to be looked at. */
SCALAR HIDDEN u32 hw_repeat(struct wave *w, struct site *s, u32 what, u64 base, u64 mask) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 number = what & SITE_BITS, kind = what >> KIND_SHIFT & KIND_BITS, first = s->low[0];
    if (!settle(r, number) || FORGETS) return 0;
    if (mask == 0 || mask != s->pattern_mask) return 0;
    if (kind == KIND_LDS || kind == KIND_GDS) {
        if ((first & 3) != local_key(s) || !goes_on(&r->runs[number], s->known[PACKED], 0)) return 0;
        s->next = local_key(s);
        return 1;
    }
    u64 high = what & WIDE ? s->high[0] : 0;
    if (kind == KIND_FLAT && (high == SHARED_APERTURE || high == PRIVATE_APERTURE)) return 0;
    u64 host = base + (high << 32 | first) + to_first(s), address = known_address(r->context, w, r, s, host);
    if (address == 0 || ((address & (LINE_BYTES - 1)) | 1u << 31) != s->known[ALIGNMENT]) return 0;
    if (s->known[PACKED] & LINEAR) ask_ahead(s, host);
    if (!goes_on(&r->runs[number], s->known[PACKED], address / LINE_BYTES)) return 0;
    go_on(s, &r->runs[number], host);
    return 1;
}

HIDDEN void hw_access(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = facts_of(r, number), kind = facts & 0xff, bytes = bytes_of(facts);
    settle_anywhere(r, number);
    if (r->listing == s) r->listing = 0;
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

/* An access with one address: as if by lane 0. */
SCALAR static inline void remember_scalar(struct site *s, u64 address, u32 bytes) {
    u32 count = (address + bytes - 1) / LINE_BYTES - address / LINE_BYTES + 1;
    s->pattern_mask = 1;
    s->known[PACKED] = UNIFORM | 1 << 16 | count << 24;
    s->known[ALIGNMENT] = (address & (LINE_BYTES - 1)) | 1u << 31;
}

SCALAR HIDDEN u32 hw_scalar_repeat(struct wave *w, struct site *s, u32 number, u64 host) {
    struct recorder *r = (struct recorder *)w->hooks[1];
    if (!settle(r, number) || FORGETS) return 0;
    u64 address = known_address(r->context, w, r, s, host);
    if (address == 0) return 0;
    remember_scalar(s, address, bytes_of(facts_of(r, number)));
    if (!goes_on(&r->runs[number], s->known[PACKED], address / LINE_BYTES)) return 0;
    go_on(s, &r->runs[number], host);
    return 1;
}

HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 host, u64 lanes) {
    (void)lanes;
    struct recorder *r = (struct recorder *)w->hooks[1];
    settle_anywhere(r, number);
    u64 address = device_address(r->context, w, r, s, host);
    remember_scalar(s, address, bytes_of(facts_of(r, number)));
    record(r, s, number, s->known[PACKED], address / LINE_BYTES);
}

HIDDEN void hw_barrier(struct wave *w, u64 pc, u64 exec) {
    (void)w; (void)pc; (void)exec;
}

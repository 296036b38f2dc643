/* Memory accesses and barriers of wavefronts in, as the code of staging.py reports them; findings of docs/checks.md out.

   The records in which they end, and what they are compared with, are check_records.h's. Here groups and barriers are
   followed, and lanes taken together that have accesses in common. */

/* ---- groups and barriers ----------------------------------------------------------------------------------------- */

/* Wavefronts of a group that has ended must have passed the same number of barriers. */
static void end_group(struct context *c, struct team *t) {
    if (!t->open) return;
    struct recorder *first = recorder_of(c, t, 0);
    for (u32 n = 1; n < t->begun; n++) {
        struct recorder *r = recorder_of(c, t, n);
        if (r->passed == first->passed) continue;
        struct recorder *more = r->passed > first->passed ? r : first, *less = r->passed > first->passed ? first : r;
        report(c, BARRIER_MISSED, 0, less->tag, 0, more->tag, 0, more->passed);
        break;
    }
    t->open = 0;
}

static u64 local_records(const struct context *c) { return ((u64)c->local_granules + GRANULES - 1) / GRANULES; }

/* The team of the thread that runs this wavefront, whose group's wavefronts lie one after the other. */
static struct team *team_of(struct context *c, struct wave *w) {
    struct recorder *first = (struct recorder *)(w - w->index)->hooks[1];
    if (first) return first->team;
    struct team *t = own_of(c->teams, c->team_count, c->team_bytes, __builtin_offsetof(struct team, owner), (u64)(w - w->index));
    if (t == 0) { /* the launcher made too few: two share one, and the findings are void */
        c->failed = 1;
        t = (struct team *)c->teams;
    }
    u64 records = local_records(c);
    char *at = (char *)(t + 1) + c->waves * c->recorder_bytes;
    t->local.records = (struct record *)at;
    t->local.more = (u64 *)(at += records * sizeof(struct record));
    t->local.local = (struct local *)(at += records * 2 * GRANULES * 8);
    if (c->atomics) t->local.plain = (u64 *)(at + records * sizeof(struct local));
    t->local.count = c->local_granules;
    t->local.record_shift = __builtin_ctz(GRANULES);
    return t;
}

HIDDEN void hw_begin(struct wave *w) {
    struct context *c = (struct context *)w->hooks[0];
    const struct launch_block *block = (const struct launch_block *)w->block;
    struct team *t = team_of(c, w);
    if (w->index == 0) {
        end_group(c, t);
        t->begun = 0;
        t->barrier_epoch = ~0u;
        t->open = 1;
        __builtin_memset(t->local.records, 0, local_records(c) * sizeof(struct record));
        __builtin_memset(t->local.local, 0, local_records(c) * sizeof(struct local));
    }
    struct recorder *r = recorder_of(c, t, w->index);
    w->hooks[1] = (u64)r;
    u64 group = w->group[0] + block->groups[0] * (w->group[1] + block->groups[1] * w->group[2]);
    u64 number = group * c->waves + w->index;
    if (number >= MOST_WAVES) c->exhausted = 1;
    *r = (struct recorder){.tag = number << 6, .team = t, .in_step = c->in_step};
    t->begun = w->index + 1;
}

/* After the launch: teams whose last group is still open. */
EXPORT void hw_check_end(struct context *c) {
    for (u32 n = 0; n < c->team_count; n++)
        end_group(c, (struct team *)(c->teams + n * c->team_bytes));
}

HIDDEN void hw_barrier(struct wave *w, u64 pc, u64 exec) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    struct team *t = r->team;
    u64 missing = w->exec & ~exec;
    if (missing && exec)
        report(c, BARRIER_LANES, pc, r->tag + __builtin_ctzll(missing), 0, r->tag + __builtin_ctzll(exec), 0, pc);
    if (t->barrier_epoch != r->passed) {
        t->barrier_epoch = r->passed;
        t->barrier_pc = pc;
        t->barrier_tag = r->tag;
    } else if (t->barrier_pc != pc)
        report(c, BARRIER_PLACES, pc, r->tag, t->barrier_pc, t->barrier_tag, t->barrier_pc, pc);
    const u64(*partial)[2] = (const void *)c->partial;
    u32 orders = ORDERS_LOCAL | ORDERS_GLOBAL;
    for (u64 n = 0; n < c->partial_count; n++)
        if (partial[n][0] == pc) orders = partial[n][1];
    r->passed++;
    r->epoch += (orders & ORDERS_LOCAL) != 0;
    r->global_epoch += (orders & ORDERS_GLOBAL) != 0;
    r->in_step = c->in_step;
    if (r->passed >= MOST_EPOCHS) c->exhausted = 1;
}

HIDDEN void hw_in_step(struct wave *w) { ((struct recorder *)w->hooks[1])->in_step = 1; }

/* ---- lanes of a wavefront --------------------------------------------------------------------------------------- */

/* The lanes of `mask` whose address is `step` bytes before the next one's, which is in `mask`, too. */
static inline u64 followed(const u32 *low, u64 mask, u32 step) {
    u64 result = 0;
    for (u32 p = 0; p < 4; p++) {
        v16 here = part_of(low, p), next;
        __builtin_memcpy(&next, low + 16 * p + 1, sizeof next);
        b16 lanes = __builtin_convertvector((v16)(next - here == splat(step)), b16);
        u16 bits;
        __builtin_memcpy(&bits, &lanes, 2);
        result |= (u64)bits << 16 * p;
    }
    return result & mask & mask >> 1;
}

/* Whether lane n is `step` bytes times n - from behind lane `from`, for all lanes. */
static inline int steady(const u32 *low, u64 mask, u32 from, u32 step) {
    v16 wrong = {0}, wanted = (count_up() - from) * step + low[from];
    for (u32 p = 0; p < 4; p++) {
        wrong |= (part_of(low, p) ^ wanted) & lane_mask(mask, p);
        wanted += splat(16 * step);
    }
    return !any(wrong);
}

/* The lanes that remain to be looked at one by one. `offset`: of an address whose low half is 0. */
static inline u64 regular_lanes(const struct access *a, const u32 *low, u64 offset, u64 mask, u32 each) {
    u32 from = __builtin_ctzll(mask), shift = __builtin_ctz(a->bytes), granule = a->c->granule_shift;
    int local = a->local, writes = a->flags & WRITES;
#define PLACE(lane) (local ? (u64)(u32)(offset + low[lane]) : offset + low[lane])
    u64 others = mask & (mask - 1);
    u32 step = a->bytes;
    if (others && others >> (from + 1) & 1) step = low[from + 1] - low[from];
    if (steady(low, mask, from, step)) {
        if (step == 0 && others) return writes ? mask : run(a, PLACE(from), mask, a->tag + from, ALL_THE_SAME, each);
        u32 rule = __builtin_ctz(step) - granule;
        if (step & (step - 1) || step < a->bytes || rule > WIDEST_STRIDE) return mask;
        return run(a, PLACE(from), mask >> from, a->tag + from, rule, each) << from;
    }
    u64 next = followed(low, mask, a->bytes), equal = writes ? 0 : followed(low, mask, 0);
    if (__builtin_popcountll(mask & ~((next | equal) << 1)) > MOST_RUNS) return mask;
    u64 left = mask, result = 0;
    while (left) {
        u32 lane = __builtin_ctzll(left);
        int same = (equal >> lane & 1) != 0;
        u64 stops = ~((same ? equal : next) >> lane);
        u32 count = (stops ? __builtin_ctzll(stops) : 63) + 1;
        u64 lanes = count == 64 ? ~0ull : (1ull << count) - 1;
        left &= ~(lanes << lane);
        result |= run(a, PLACE(lane), lanes, a->tag + lane, same ? ALL_THE_SAME : shift - granule, each) << lane;
    }
    return result;
}

/* Atomic functions on local memory that only such have accessed since the last barrier; the lanes that remain. */
static u64 atomic_lanes(const struct access *a, const u32 *low, u32 offset, u64 mask) {
    u32 shift = a->c->granule_shift, each = a->bytes >> shift;
    u64 result = 0, mine = a->identity | ATOMIC;
    if (each != 1 || a->flags & COMPARES) return mask;
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left), place = offset + low[l], at = place >> shift;
        struct record *r = &a->shadow->records[at / GRANULES];
        const struct local *local = &a->shadow->local[at / GRANULES];
        u64 bit = 1ull << at % GRANULES, *writer = &a->shadow->more[in_more(at)];
        if (at >= a->shadow->count || place & odd_bits(a->bytes) || !(r->writers & bit) || !(*writer & ATOMIC) || *writer & UNDER ||
            *writer >> EPOCH_SHIFT != a->epoch || ((r->read | r->readers) & bit && local->read_epoch > a->epoch) ||
            (local->crowd & bit && local->crowd_epoch > a->epoch))
            result |= 1ull << l;
        else
            *writer = mine | (a->tag + l) | ((*writer & WHO) == a->tag + l ? *writer & OTHERS : OTHERS);
    }
    return result;
}

/* Whether a lane's cmpxchg finds what it compares with, where the lanes `done` have exchanged theirs before. */
static int exchanges(const struct site *s, u32 wide, u32 lane, u64 done, u32 bytes, u64 host) {
    u32 now[2] = {0}, dwords = bytes / 4, same = 0;
    __builtin_memcpy(now, (const void *)host, bytes);
    for (u64 left = done; left;) {
        u32 l = 63 - __builtin_clzll(left);
        left &= ~(1ull << l);
        if (s->low[l] != s->low[lane] || (wide && s->high[l] != s->high[lane])) continue;
        for (u32 d = 0; d < dwords; d++) now[d] = s->values[d * LANES + l];
        break;
    }
    for (u32 d = 0; d < dwords; d++) same += now[d] == s->values[(dwords + d) * LANES + lane];
    return same == dwords;
}

static inline void check_alignment(struct context *c, struct wave *w, struct recorder *r, struct site *s, u32 number,
                                   u32 bytes, u64 base, u64 mask, u32 wide, int local) {
    u32 odd = bytes >= 4 ? 3 : bytes - 1;
    v16 wrong = {0};
    for (u32 p = 0; p < 4; p++) wrong |= (part_of(s->low, p) + (u32)base) & lane_mask(mask, p);
    if (!any(wrong & splat(odd))) return;
    u32 free = local && !(((const struct site_facts *)c->site_table)[number].facts & IS_ATOMIC) ? c->unaligned : 0;
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left);
        if (!((base + s->low[l]) & odd)) continue;
        u64 place = local ? base - w->lds + s->low[l] : base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]);
        if (place < free) continue;
        report(c, UNALIGNED, number, r->tag + l, 0, 0, place, bytes);
        return;
    }
}

/* `lanes` lanes from one with `tag` on access what follows each other from granule `at` on, where nobody else does or all only
   read. 0 if it is anything else; then it may have been noted in part, which does no harm. */
SCALAR static inline int row(const struct shadow *h, u64 fixed, u32 tag, u32 first_tag, u32 span, int writes, u64 at, u32 rule,
                      u32 lanes) {
    u64 end = at + ((u64)lanes << rule), in_record = h->record_shift, room = 1ull << in_record;
    if (end > h->count) return 0;
    for (u64 one = at >> in_record; one <= (end - 1) >> in_record; one++) {
        u64 start = one << in_record, granules = ~0ull >> (GRANULES - room);
        if (start < at) granules &= ~0ull << (at - start);
        if (start + room > end) granules &= ~0ull >> (GRANULES - (end - start));
        struct record *record = &h->records[one];
        if (!writes && !(granules & ~record->groups) && !(granules & (record->written | record->writers))) continue;
        u64 mine = fixed | ((tag + (start >> rule) - (at >> rule)) & WHO);
        if (h->shared) lock(record);
        int fine = !(granules & (record->written | record->writers | record->readers));
        if (writes) {
            /* Nobody has read it, or the same lanes. */
            fine &= record->written == 0 && (!(granules & record->read) || (!((record->reader ^ mine) & WHO_AND_RULE) &&
                                                                           !(granules & record->several)));
            if (fine) {
                record->read &= ~granules;
                record->writer = mine | (record->writer & LOCK);
                record->written = granules;
            }
        } else if (fine && record->read == 0) {
            record->reader = mine;
            record->read = granules;
        } else if (fine && !(granules & ~record->read) && record->reader != mine) {
            /* Read by other lanes since the last barrier, or by another group. */
            u32 who = one_by_rule(record->reader, __builtin_ctzll(record->read));
            int foreign = ((who - first_tag) & WHO) >= span;
            fine = foreign || (record->reader >> EPOCH_SHIFT == fixed >> EPOCH_SHIFT &&
                               !((record->reader ^ mine) & 7ull << RULE_SHIFT) && (record->reader ^ mine) & WHO);
            if (fine) {
                record->several |= granules;
                if (foreign) record->groups |= granules;
            }
        } else
            fine &= record->reader == mine && !(granules & ~record->read);
        if (h->shared) unlock(record);
        if (!fine) return 0;
    }
    return 1;
}

/* What is most frequent in global memory: lanes in a row, or all lanes in rows of 16. 0 if that does not do for them.
   `s` has the lanes' low halves. */
SCALAR static inline int rows(struct wave *w, struct site *s, u32 number, u64 start, u32 active) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, bytes = facts >> 8 & 0xff, granule = c->granule_shift;
    u32 rule = __builtin_ctz(bytes) - granule, low = s->low[0];
    const struct range *range = (const struct range *)s->allocation[0];
    if (range == 0 || start + low - range->start >= range->bytes) return 0;
    const struct shadow *h = (const struct shadow *)range->shadow;
    u64 offset = start - range->start;
    if (h == 0) { /* all lanes' last bytes must be inside, too */
        if (facts & WRITES || (u64)active * bytes > range->bytes) return 0;
        for (u32 at = 0; at < (s->known[ROW] ? 16 : LANES); at += 16)
            if (offset + s->low[at] > range->bytes - (s->known[ROW] ? active : 16) * bytes) return 0;
        return 1;
    }
    u64 fixed = (u64)number << SITE_SHIFT | (u64)r->global_epoch << EPOCH_SHIFT | (u64)rule << RULE_SHIFT;
    if (rule >= h->record_shift || h->unwritten) return 0;
    u32 first_tag = r->tag - (w->index << 6), span = c->waves << 6, writes = facts & WRITES;
    if (s->known[ROW]) {
        u64 place = offset + low;
        return !(place & (bytes - 1)) && row(h, fixed, r->tag, first_tag, span, writes, place >> granule, rule, active);
    }
    for (u32 at = 16; at < LANES; at += 16) {
        u64 one = (offset + s->low[at]) >> granule;
        if (one < h->count) __builtin_prefetch(&h->records[one >> h->record_shift], 1);
    }
    for (u32 at = 0; at < LANES;) {
        u64 place = offset + s->low[at];
        u32 lanes = 16, first = at;
        for (at += 16; at < LANES && s->low[at] == s->low[at - 16] + 16 * bytes; at += 16) lanes += 16;
        if (place & (bytes - 1)) return 0;
        if (!row(h, fixed, r->tag + first, first_tag, span, writes, place >> granule, rule, lanes)) return 0;
    }
    return 1;
}

/* Whether global memory is accessed in rows: how many lanes, or 0. Then the pattern is kept. */
static inline u32 in_rows(struct context *c, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    u32 bytes = ((const struct site_facts *)c->site_table)[number].facts >> 8 & 0xff, active = __builtin_popcountll(mask);
    u64 high = wide ? s->high[0] : 0;
    if (!(mask & 1) || mask & (mask + 1) || bytes & (bytes - 1) || bytes >> c->granule_shift == 0 || bytes > 16) return 0;
    v16 wrong = {0}, apart = {0}, wanted = count_up() * bytes;
    for (u32 p = 0; p < 4; p++) {
        v16 lanes = lane_mask(mask, p), in_row = wanted + splat(16 * bytes * p);
        apart |= ((part_of(s->low, p) - s->low[0]) ^ in_row) & lanes;
        wrong |= ((part_of(s->low, p) - s->low[16 * p]) ^ wanted) & lanes;
        if (wide) wrong |= (part_of(s->high, p) ^ splat(high)) & lanes;
    }
    u32 one_row = !any(apart);
    if (any(wrong) || !(one_row || mask == ~0ull)) return 0;
    if (find(c, s, base + (high << 32 | s->low[0])) == 0) return 0;
    for (u32 p = 0; p < 4; p++) /* of lanes in a row, those that are not active now may be in the next access */
        ((v16 *)s->pattern)[p] = one_row ? wanted + splat(16 * bytes * p) : part_of(s->low, p) - splat(s->low[0]);
    s->pattern_mask = mask;
    s->known[ROW] = one_row;
    return active;
}

/* Whether all lanes read memory that the launch does not write. Then the site's `still…` describe it, for repeats.py. */
static inline int reads_still(struct context *c, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, bytes = facts >> 8 & 0xff, from = __builtin_ctzll(mask);
    u32 high = wide ? s->high[from] : 0;
    const struct range *range = find(c, s, base + ((u64)high << 32 | s->low[from]));
    if (range == 0 || range->shadow || bytes > range->bytes) return 0;
    /* Of the low halves with this high one, those from `first` to `last`. */
    u64 zero = base + ((u64)high << 32), ahead = range->start - zero, behind = ahead + range->bytes - bytes;
    u64 first = (i64)ahead > 0 ? ahead : 0, last = (i64)behind > ~0u ? ~0u : behind;
    if ((i64)behind < 0 || (i64)ahead > ~0u) return 0;
    v16 wrong = {0};
    for (u32 p = 0; p < 4; p++) {
        wrong |= (v16)(part_of(s->low, p) - splat(first) > splat(last - first)) & lane_mask(mask, p);
        if (wide) wrong |= (part_of(s->high, p) ^ splat(high)) & lane_mask(mask, p);
    }
    if (any(wrong)) return 0;
    s->still = (facts & STILL) != 0;
    s->still_base = base;
    s->still_low = first;
    s->still_span = last - first;
    s->still_high = high;
    return 1;
}

/* Of memory that the launch does not write. */
static const struct shadow nothing;

/* A lane reads one granule of global memory that nobody has written: most lanes of gathers. 0 if it is anything else. */
static inline int lane_reads(const struct access *a, u64 offset, u32 tag) {
    const struct shadow *h = a->shadow;
    u64 at = offset >> a->c->granule_shift, number = at >> h->record_shift, place = at & ((1ull << h->record_shift) - 1);
    u64 bit = 1ull << place;
    if (at >= h->count || offset & (a->bytes - 1) || h->unwritten) return 0;
    struct record *r = &h->records[number];
    u64 *reader = &h->more[in_more(at) + BLOCK];
    if (r->groups & bit && !((r->written | r->writers) & bit)) return 1;
    if (h->shared) lock(r);
    int fine = !((r->written | r->writers | r->read) & bit);
    if (fine && !(r->readers & bit)) {
        *reader = a->identity | tag;
        r->readers |= bit;
    } else if (fine && !of_group(a, *reader & WHO)) {
        r->several |= bit;
        r->groups |= bit;
    } else
        fine = 0;
    if (h->shared) unlock(r);
    return fine;
}

/* A lane writes one granule of global memory that nobody has accessed, or only itself has read: most lanes of scatters. 0 if it is
   anything else. */
static inline int lane_writes(const struct access *a, u64 offset, u32 tag) {
    const struct shadow *h = a->shadow;
    u64 at = offset >> a->c->granule_shift, number = at >> h->record_shift, place = at & ((1ull << h->record_shift) - 1);
    if (at >= h->count || offset & (a->bytes - 1) || h->unwritten) return 0;
    struct record *r = &h->records[number];
    u64 bit = 1ull << place;
    if (h->shared) lock(r);
    u64 *writer = &h->more[in_more(at)], *reader = writer + BLOCK;
    int fine = !((r->written | r->writers | r->read | r->several | r->groups) & bit);
    if (fine && r->readers & bit) fine = (*reader & WHO) == tag;
    if (fine) {
        *writer = a->identity | tag;
        r->writers |= bit;
        r->readers &= ~bit;
    }
    if (h->shared) unlock(r);
    return fine;
}

static inline u64 lane_address(const struct site *s, u64 base, u32 wide, u32 lane) {
    return base + ((wide ? (u64)s->high[lane] << 32 : 0) | s->low[lane]);
}

enum { LANES_AHEAD = 16 }; /* three lines each are about as many as a processor waits for at a time; all 64 lanes' are too many */

/* Prefetch what a lane's access to global memory touches: record, identity, and the data, which the kernel takes next. */
static inline void prefetch_lane(const struct access *a, u64 offset) {
    const struct shadow *h = a->shadow;
    u64 at = offset >> a->c->granule_shift;
    if (at >= h->count) return;
    __builtin_prefetch(&h->records[at >> h->record_shift], 1);
    __builtin_prefetch(&h->more[in_more(at)], 1);
    if (!(a->flags & WRITES)) __builtin_prefetch((const void *)(a->origin + offset + a->move));
}

/* Whether a kernel may not access a range so. A load that begins an atomic function is none of its own. */
static inline int is_forbidden(const struct range *range, u32 facts) {
    if (range->forbidden == 0) return 0;
    return range->forbidden == NO_WRITE ? (facts & WRITES) != 0 : !(facts & (WRITES | IS_ATOMIC));
}

/* One site's access. */
static void access_at(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, kind = facts & 0xff, bytes = facts >> 8 & 0xff;
    u32 from = __builtin_ctzll(mask);
    u64 high = wide ? (u64)s->high[from] << 32 : 0;
    int local = kind == KIND_LDS;
    if (kind == KIND_FLAT) {
        if (high >> 32 == PRIVATE_APERTURE) return;
        if (high >> 32 == SHARED_APERTURE) {
            local = 1;
            base = w->lds;
            wide = 0;
            high = 0;
            if (!(facts & IN_LDS)) ((struct site_facts *)c->site_table)[number].facts |= IN_LDS;
        }
    }
    u32 epoch = local ? r->epoch : r->global_epoch;
    struct access a = {.c = c, .state = s, .team = r->team,
                       .identity = (u64)number << SITE_SHIFT | (u64)epoch << EPOCH_SHIFT,
                       .tag = r->tag, .first_tag = r->tag - (w->index << 6), .span = c->waves << 6,
                       .epoch = epoch, .site = number, .flags = facts, .bytes = bytes, .local = local};
    if (local) {
        a.shadow = &r->team->local;
        a.origin = w->lds;
        check_alignment(c, w, r, s, number, bytes, base, mask, wide, local);
    } else {
        const struct range *range = find(c, s, base + (high | s->low[from]));
        if (range == 0) return;
        a.shadow = range->shadow ? (const struct shadow *)range->shadow : &nothing;
        a.origin = range->start;
        a.move = range->move;
        if (is_forbidden(range, facts))
            for (u64 left = mask; left; left &= left - 1) {
                u64 address = lane_address(s, base, wide, __builtin_ctzll(left));
                if (address - range->start < range->bytes)
                    report(c, FORBIDDEN, number, r->tag + __builtin_ctzll(left), 0, 0, address, 0);
            }
    }
    if (facts & IS_ATOMIC && !local) check_alignment(c, w, r, s, number, bytes, base, mask, wide, local);
    if (facts & MASKS) a.flags = (facts & ~IS_ATOMIC) | WRITES;
    u32 each = bytes >> c->granule_shift;
    int regular = (bytes & (bytes - 1)) == 0 && each && bytes <= 16 && !(facts & IS_ATOMIC);
    if (wide) {
        v16 other = {0};
        for (u32 p = 0; p < 4; p++) other |= (part_of(s->high, p) ^ splat(high >> 32)) & lane_mask(mask, p);
        regular &= !any(other);
    }
    if (local && !(facts & IS_ATOMIC) && !same_pattern(s, mask, s->low[from]))
        remember(c, s, ((const struct site_facts *)c->site_table)[number].leader, mask, s->low[from], bytes);
    u64 left = regular ? regular_lanes(&a, s->low, base + high - a.origin, mask, each) : mask;
    if (left && local)
        left = a.flags & IS_ATOMIC ? atomic_lanes(&a, s->low, base - a.origin, left)
             : left == mask && !(facts & MASKS) ? by_pattern(w, &a, s, base - a.origin, mask)
                                                : left;
    u64 ahead = local ? 0 : left;
    for (u32 n = 0; n < LANES_AHEAD && ahead; n++, ahead &= ahead - 1)
        prefetch_lane(&a, lane_address(s, base, wide, __builtin_ctzll(ahead)) - a.origin);
    int one_granule = !local && bytes == 1u << c->granule_shift && !(facts & IS_ATOMIC);
    u64 done = 0;
    for (; left; left &= left - 1) {
        if (ahead) prefetch_lane(&a, lane_address(s, base, wide, __builtin_ctzll(ahead)) - a.origin);
        ahead &= ahead - 1;
        u32 l = __builtin_ctzll(left);
        u64 address = lane_address(s, base, wide, l);
        if (one_granule && (facts & WRITES ? lane_writes(&a, address - a.origin, r->tag + l) : lane_reads(&a, address - a.origin, r->tag + l)))
            continue;
        if (local) address = a.origin + (u32)(address - a.origin); /* their addresses wrap */
        else if (address - a.origin >= a.shadow->count << c->granule_shift) {
            const struct range *range = find(c, s, address);
            if (range == 0) continue;
            if (range->shadow == 0) {
                if (facts & (WRITES | IS_ATOMIC)) report(c, STRAY, number, r->tag + l, 0, 0, address, 0);
                continue;
            }
            if (is_forbidden(range, facts)) report(c, FORBIDDEN, number, r->tag + l, 0, 0, address, 0);
            a.shadow = (const struct shadow *)range->shadow;
            a.origin = range->start;
            a.move = range->move;
        }
        int updates = (facts & WRITES) != 0;
        if (facts & MASKS) {
            u32 bits = s->values[LANES + l];
            if (bits == 0) continue;
            a.shift = __builtin_ctz(bits) & ~7u;
            a.bytes = (39 - __builtin_clz(bits) - a.shift) / 8;
            address += a.shift / 8;
        } else if (facts & COMPARES && address - a.origin + bytes <= a.shadow->count << c->granule_shift) {
            updates = exchanges(s, wide, l, done, bytes, address + a.move);
            if (updates) done |= 1ull << l;
        }
        lane_access(&a, address - a.origin, r->tag + l, address + a.move, local ? address - w->lds : address, updates);
    }
}

/* The sites that read local memory at the same addresses but for a constant. */
static inline void local_reads(struct wave *w, struct site *s, u32 number, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct site_facts *table = (const struct site_facts *)c->site_table;
    u32 bytes = table[number].facts >> 8 & 0xff, first = s->low[__builtin_ctzll(mask)], offset = base - w->lds;
    if (!same_pattern(s, mask, first)) remember(c, s, number, mask, first, bytes);
    int crowd = s->known[WORDS] && s->known[CROWD];
    if (crowd) {
        keep_crowd(s, r, offset);
        if (chain_reads(w, s, number, offset, first)) return;
    }
    for (u32 site = number;; site = table[site].next) {
        u32 delta = table[site].delta, from = offset + delta + first + s->known[LEAST];
        if (!crowd || from & odd_bits(bytes) ||
            !crowd_reads(&r->team->local, (const u64 *)s->lines, s->known[WORDS], s->known[LAST], site, from, c->granule_shift,
                         r->epoch))
            access_at(w, s, site, 0, base + delta, mask);
        if (table[site].next == 0) return;
    }
}

/* Lanes in a row access local memory which nobody else has since the last barrier, or only read. 0 if it is anything else;
   what has been noted by then does no harm. */
SCALAR static inline int local_row(struct wave *w, const struct site *s, u32 site, u32 offset, u32 lanes) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct shadow *h = &r->team->local;
    u32 facts = ((const struct site_facts *)c->site_table)[site].facts, bytes = facts >> 8 & 0xff, writes = facts & WRITES;
    u32 rule = __builtin_ctz(bytes) - c->granule_shift, from = offset + s->low[0], epoch = r->epoch;
    u64 at = from >> c->granule_shift, end = at + ((u64)lanes << rule);
    u64 fixed = (u64)site << SITE_SHIFT | (u64)epoch << EPOCH_SHIFT | (u64)rule << RULE_SHIFT;
    if (from & (bytes - 1) || end > h->count) return 0;
    for (u64 one = at / GRANULES; one <= (end - 1) / GRANULES; one++) {
        u64 start = one * GRANULES, granules = ~0ull, mine = fixed | ((r->tag + (start >> rule) - (at >> rule)) & WHO);
        struct record *record = &h->records[one];
        struct local *l = &h->local[one];
        if (start < at) granules &= ~0ull << (at - start);
        if (start + GRANULES > end) granules &= ~0ull >> (GRANULES - (end - start));
        if (l->wrote_epoch > epoch || granules & record->readers) return 0;
        if (writes) {
            if (l->read_epoch > epoch || l->crowd_epoch > epoch || record->written & ~granules) return 0;
            record->writer = mine;
            record->written = granules;
            record->writers &= ~granules;
            record->read &= ~granules;
            record->several &= ~granules;
            l->wrote_epoch = epoch + 1;
            continue;
        }
        if (granules & ~(record->written | record->writers)) return 0;
        if (record->read == 0 || (!(record->read & ~granules) && record->reader >> EPOCH_SHIFT < epoch)) {
            record->reader = mine;
            record->read = granules;
            record->several &= ~granules;
        } else if (record->reader != mine || granules & ~record->read)
            return 0;
        l->read_epoch = epoch + 1;
    }
    return 1;
}

/* An access of lanes that lie to lane 0 as in the site's access before: 1 if nothing else is to be looked at. */
SCALAR HIDDEN u32 hw_repeat(struct wave *w, struct site *s, u32 what, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 number = what & SITE_BITS, kind = what >> KIND_SHIFT & KIND_BITS;
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts;
    int row_of_others = kind == KIND_GLOBAL && s->known[ROW] && !(mask & (mask + 1));
    if (!s->pattern_mask || (mask != s->pattern_mask && !row_of_others) || !(mask & 1) || facts & IS_ATOMIC || c->exhausted)
        return 0;
    if (kind == KIND_GLOBAL)
        return rows(w, s, number, base + (what & WIDE ? (u64)s->high[0] << 32 : 0), __builtin_popcountll(mask));
    if (kind != KIND_LDS) return 0;
    u32 offset = base - w->lds;
    if (s->known[ROW] || (s->known[WORDS] && !s->known[CROWD])) {
        const struct site_facts *table = (const struct site_facts *)c->site_table;
        for (u32 site = number;; site = table[site].next) {
            u32 from = offset + table[site].delta;
            if (!(s->known[ROW] ? local_row(w, s, site, from, __builtin_popcountll(mask)) : each_its_own(w, s, site, from, mask)))
                return 0;
            if (table[site].next == 0) return 1;
        }
    }
    if (facts & WRITES || !chain_reads(w, s, number, offset, s->low[0])) return 0;
    keep_crowd(s, r, offset);
    return 1;
}

HIDDEN void hw_access(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct site_facts *table = (const struct site_facts *)c->site_table;
    u32 facts = table[number].facts, kind = facts & 0xff, bytes = facts >> 8 & 0xff;
    if (mask == 0 || c->exhausted || kind == KIND_PRIVATE || kind == KIND_GDS) return;
    if (kind == KIND_LDS && !(facts & WRITES)) {
        local_reads(w, s, number, base, mask);
        return;
    }
    int reads = kind == KIND_GLOBAL && !(facts & (IS_ATOMIC | WRITES));
    if (facts & STILL) {
        if (reads_still(c, s, number, wide, base, mask)) return;
        s->still = 0;
    }
    if (kind == KIND_GLOBAL && !(facts & IS_ATOMIC)) {
        u32 active = in_rows(c, s, number, wide, base, mask);
        if (active && rows(w, s, number, base + (wide ? (u64)s->high[0] << 32 : 0), active)) return;
    }
    if (reads && reads_still(c, s, number, wide, base, mask)) return;
    access_at(w, s, number, wide, base, mask);
}

/* The kernel's arguments, again. */
SCALAR HIDDEN u32 hw_scalar_repeat(struct wave *w, struct site *s, u32 number, u64 address) {
    (void)w; (void)number;
    return s->allocation[1] == address;
}

/* By the lanes that are active: code for a branch that only some take may use scalar loads, too. */
HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 address, u64 lanes) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, bytes = facts >> 8 & 0xff;
    lanes &= w->exec;
    if (s->allocation[1] == address || c->exhausted || !lanes) return;
    const struct range *range = find(c, s, address);
    if (range == 0 || range->shadow == 0) {
        if (range && facts & WRITES) report(c, STRAY, number, r->tag, 0, 0, address, 0);
        else s->allocation[1] = address;
        return;
    }
    u32 from = __builtin_ctzll(lanes), tag = r->tag + from, each = bytes >> c->granule_shift;
    if (is_forbidden(range, facts)) report(c, FORBIDDEN, number, tag, 0, 0, address, 0);
    struct access a = {.c = c, .shadow = (const struct shadow *)range->shadow, .state = s, .team = r->team, .origin = range->start,
                       .identity = (u64)number << SITE_SHIFT | (u64)r->global_epoch << EPOCH_SHIFT, .tag = r->tag,
                       .first_tag = r->tag - (w->index << 6), .span = c->waves << 6, .epoch = r->global_epoch, .site = number,
                       .flags = facts & ~WRITES, .bytes = bytes};
    if (each && !run(&a, address - range->start, lanes >> from, tag, ALL_THE_SAME, each)) return;
    for (u64 left = lanes; left; left &= left - 1)
        lane_access(&a, address - range->start, r->tag + __builtin_ctzll(left), address, address, 0);
}

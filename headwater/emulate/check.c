/* Memory accesses and barriers of wavefronts in, as the code of staging.py tells them; findings of docs/checks.md out.

   Every granule of memory (its size is that of the kernel's smallest access, 4 bytes at most) has a shadow: who wrote it
   last, who read it since, and by which access. "Who" is a tag: the lane and a number that grows with each group, and in
   it with each barrier, so that two tags tell by their order whether a barrier lies between them. One thread runs all
   groups, in order. */

enum { MULTI = 1u << 31, ATOMIC = 1u << 30, UNWRITTEN = 1, MOST_STEPS = 1 << 24 };
enum { RACE = 1, UNINITIALISED, UNALIGNED, BARRIER_LANES, BARRIER_PLACES, BARRIER_MISSED };
enum { WRITES = 1 << 16, IS_ATOMIC = 1 << 17 };

struct range { u64 start, bytes, shadow; };
struct finding {
    u32 kind, site, other_site, other_tag;
    u32 tag, count;
    u64 address, detail;
};

/* The shadow of `count` granules. */
struct shadow { u32 *writer, *reader; u16 *write_site, *read_site; u64 count; };

struct context {
    u64 recorders, recorder_bytes, site_table;
    u64 ranges, range_count;
    u64 lds_shadow;
    u64 starts; /* u32 of each group: its first step */
    u64 findings;
    u64 barrier_pc;
    u32 finding_count, finding_room;
    u32 waves, granule_shift;
    u32 next, group_first, begun, exhausted, barrier_epoch, barrier_tag;
    u32 lost, open;
};

struct recorder { u32 tag, epoch, epoch_first, index; };

static void report(struct context *c, u32 kind, u32 site, u32 tag, u32 other_site, u32 other_tag, u64 address, u64 detail) {
    struct finding *all = (struct finding *)c->findings;
    for (u32 n = 0; n < c->finding_count; n++)
        if (all[n].kind == kind && all[n].site == site && all[n].other_site == other_site) {
            all[n].count++;
            return;
        }
    if (c->finding_count == c->finding_room) {
        c->lost++;
        return;
    }
    all[c->finding_count++] = (struct finding){kind, site, other_site, other_tag, tag, 1, address, detail};
}

/* ---- groups and barriers ----------------------------------------------------------------------------------------- */

static struct recorder *recorder_of(struct context *c, u32 index) {
    return (struct recorder *)(c->recorders + index * c->recorder_bytes);
}

static void set_step(struct context *c, struct recorder *r) {
    u32 step = c->group_first + r->epoch * c->waves;
    r->epoch_first = step << 6;
    r->tag = (step + r->index) << 6;
    if (step + c->waves > c->next) c->next = step + c->waves;
    if (c->next >= MOST_STEPS) c->exhausted = 1;
}

/* Wavefronts of a group that has ended must have passed the same number of barriers. */
static void end_group(struct context *c) {
    if (!c->open) return;
    struct recorder *first = recorder_of(c, 0);
    for (u32 n = 1; n < c->begun; n++) {
        struct recorder *r = recorder_of(c, n);
        if (r->epoch == first->epoch) continue;
        struct recorder *more = r->epoch > first->epoch ? r : first, *less = r->epoch > first->epoch ? first : r;
        report(c, BARRIER_MISSED, 0, less->tag, 0, more->tag, 0, more->epoch);
        break;
    }
    c->open = 0;
}

HIDDEN void hw_begin(struct wave *w) {
    struct context *c = (struct context *)w->hooks[0];
    volatile i64 *block = (volatile i64 *)w->block;
    if (w->index == 0) {
        end_group(c);
        u64 group = w->group[0] + block[10] * (w->group[1] + block[11] * w->group[2]);
        c->group_first = c->next;
        ((u32 *)c->starts)[group] = c->next;
        c->begun = 0;
        c->barrier_epoch = ~0u;
        c->open = 1;
    }
    struct recorder *r = recorder_of(c, w->index);
    w->hooks[1] = (u64)r;
    r->index = w->index;
    r->epoch = 0;
    c->begun = w->index + 1;
    set_step(c, r);
}

EXPORT void hw_check_end(struct context *c) { end_group(c); }

HIDDEN void hw_barrier(struct wave *w, u64 pc, u64 exec) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u64 missing = w->exec & ~exec;
    if (missing && exec)
        report(c, BARRIER_LANES, pc, r->tag + __builtin_ctzll(missing), 0, r->tag + __builtin_ctzll(exec), 0, pc);
    if (c->barrier_epoch != r->epoch) {
        c->barrier_epoch = r->epoch;
        c->barrier_pc = pc;
        c->barrier_tag = r->tag;
    } else if (c->barrier_pc != pc)
        report(c, BARRIER_PLACES, pc, r->tag, c->barrier_pc, c->barrier_tag, c->barrier_pc, pc);
    r->epoch++;
    set_step(c, r);
}

/* ---- shadows ----------------------------------------------------------------------------------------------------- */

static const struct range *find(struct context *c, struct site *s, u64 address) {
    const struct range *all = (const struct range *)c->ranges, *known = (const struct range *)s->allocation[0];
    if (known && address - known->start < known->bytes) return known;
    u64 low = 0, high = c->range_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (all[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || address - all[low - 1].start >= all[low - 1].bytes) return 0;
    s->allocation[0] = (u64)&all[low - 1];
    return &all[low - 1];
}

/* Whether what a tag did is over for this wavefront: nothing, an earlier launch, or another barrier's side of its group. */
static inline int settled(u32 tag, u32 first, u32 epoch, int local) {
    tag &= ~(MULTI | ATOMIC);
    if (tag < 64) return 1;
    if (tag < first) return local;
    return tag < epoch;
}

struct who { u32 first, epoch, site, flags; int local; const struct site *state; u64 host; u32 bytes; };

/* Whether a lane stores what is there already, or what another lane of the same instruction stores: work-items that write
   the same value do not mind who is last. */
static int same_value(const struct who *by, u32 tag, u32 other, u32 other_site) {
    u32 lane = tag & 63, value[4], bytes = by->bytes < 16 ? by->bytes : 16;
    if (by->flags & IS_ATOMIC) return 0;
    for (u32 d = 0; d < 4; d++) value[d] = by->state->values[d * LANES + lane];
    int same = __builtin_memcmp((const void *)by->host, value, bytes) == 0;
    if (same || other_site != by->site || (other & ~(MULTI | ATOMIC | 63)) != (tag & ~63u)) return same;
    u32 theirs[4];
    for (u32 d = 0; d < 4; d++) theirs[d] = by->state->values[d * LANES + (other & 63)];
    return __builtin_memcmp(theirs, value, bytes) == 0;
}

static void one(struct context *c, const struct shadow *h, u64 at, u32 tag, const struct who *by, u64 address) {
    u32 w = h->writer[at], r = h->reader[at], atomic = by->flags & IS_ATOMIC;
    int settled_w = settled(w, by->first, by->epoch, by->local), settled_r = settled(r, by->first, by->epoch, by->local);
    int mine = (w & ~(MULTI | ATOMIC)) == tag;
    int unwritten = by->local ? (w & ~ATOMIC) < by->first : w == UNWRITTEN;
    if (unwritten && (!(by->flags & WRITES) || atomic))
        report(c, UNINITIALISED, by->site, tag, 0, 0, address, by->local);
    /* A read beside an atomic function is no race: cmpxchg loops begin with one, and flags are looked at so. */
    int plain_read = !(by->flags & WRITES);
    if (!settled_w && !mine && !((atomic || plain_read) && w & ATOMIC) &&
        !(by->flags & WRITES && same_value(by, tag, w, h->write_site[at])))
        report(c, RACE, by->site, tag, h->write_site[at], w, address, 1);
    if (by->flags & WRITES) {
        if (!atomic && !settled_r && ((r & ~MULTI) != tag || r & MULTI))
            report(c, RACE, by->site, tag, h->read_site[at], r, address, 0);
        h->writer[at] = tag | (atomic ? ATOMIC : 0);
        h->write_site[at] = by->site;
        h->reader[at] = 0;
    } else if (settled_r) {
        h->reader[at] = tag;
        h->read_site[at] = by->site;
    } else if ((r & ~MULTI) != tag)
        h->reader[at] = r | MULTI;
}

static v16 settled_lanes(v16 tag, u32 first, u32 epoch, int local) {
    tag &= splat(~(MULTI | ATOMIC));
    v16 old = (v16)(tag < splat(64)), over = (v16)(tag < splat(epoch));
    return local ? old | over : old | (over & (v16)(tag >= splat(first)));
}

static inline void put_sites(u16 *place, v16 where, h16 site, int all) {
    if (!all) {
        h16 narrow = __builtin_convertvector(where, h16), old;
        __builtin_memcpy(&old, place, 32);
        site = (narrow & site) | (~narrow & old);
    }
    __builtin_memcpy(place, &site, 32);
}

/* One part's lanes on consecutive granules, `1 << shift` of each. All tags must be settled or the lane's own; if there is
   anything to report it returns 0, and has changed nothing. `tag` is that of the part's first lane. */
static inline int run(const struct shadow *h, u64 at, u32 shift, u32 tag, u32 lanes, const struct who *by) {
    const v16 count = count_up();
    u32 vectors = 1u << shift;
    v16 bad = {0};
    for (u32 v = 0; v < vectors; v++) {
        v16 lane = (count + v * 16) >> shift, mine = lane + tag, w, r;
        v16 active = shift ? 0 - (splat(lanes) >> lane & 1) : lane_mask(lanes, 0);
        __builtin_memcpy(&w, h->writer + at + v * 16, 64);
        v16 fine = settled_lanes(w, by->first, by->epoch, by->local) | (v16)(w == mine);
        if (by->flags & WRITES) {
            __builtin_memcpy(&r, h->reader + at + v * 16, 64);
            fine &= settled_lanes(r, by->first, by->epoch, by->local) | (v16)(r == mine);
        } else
            fine &= by->local ? (v16)((w & splat(~ATOMIC)) >= splat(by->first)) : (v16)(w != splat(UNWRITTEN));
        bad |= ~fine & active;
    }
    if (any(bad)) return 0;
    h16 site = {0};
    site += (u16)by->site;
    for (u32 v = 0; v < vectors; v++) {
        v16 lane = (count + v * 16) >> shift, mine = lane + tag, old;
        v16 active = shift ? 0 - (splat(lanes) >> lane & 1) : lane_mask(lanes, 0);
        u32 *reader = h->reader + at + v * 16;
        __builtin_memcpy(&old, reader, 64);
        if (by->flags & WRITES) {
            v16 w, next = old & ~active;
            __builtin_memcpy(&w, h->writer + at + v * 16, 64);
            w = (w & ~active) | (mine & active);
            __builtin_memcpy(h->writer + at + v * 16, &w, 64);
            __builtin_memcpy(reader, &next, 64);
            put_sites(h->write_site + at + v * 16, active, site, lanes == 0xffff);
            continue;
        }
        v16 over = settled_lanes(old, by->first, by->epoch, by->local);
        v16 same = (v16)((old & splat(~MULTI)) == mine);
        v16 next = (over & mine) | (~over & (old | (~same & splat(MULTI))));
        next = (next & active) | (old & ~active);
        __builtin_memcpy(reader, &next, 64);
        put_sites(h->read_site + at + v * 16, over & active, site, 0);
    }
    return 1;
}

/* One part's lanes reading the same granules. Returns 0, without a change, if there is anything to report. */
static inline int same_place(const struct shadow *h, u64 at, u32 count, u32 tag, u32 many, const struct who *by) {
    for (u32 n = 0; n < count; n++) {
        u32 w = h->writer[at + n];
        int unwritten = by->local ? (w & ~ATOMIC) < by->first : w == UNWRITTEN;
        if (unwritten || !settled(w, by->first, by->epoch, by->local)) return 0;
    }
    for (u32 n = 0; n < count; n++) {
        u32 r = h->reader[at + n];
        if (settled(r, by->first, by->epoch, by->local)) {
            h->reader[at + n] = tag | many;
            h->read_site[at + n] = by->site;
        } else
            h->reader[at + n] = r | MULTI;
    }
    return 1;
}

static void lane_access(struct context *c, const struct shadow *h, u64 offset, u32 bytes, u32 tag, const struct who *by,
                        u64 address) {
    u64 last = (offset + bytes - 1) >> c->granule_shift;
    for (u64 at = offset >> c->granule_shift; at <= last && at < h->count; at++) one(c, h, at, tag, by, address);
}

static inline void check_alignment(struct context *c, struct wave *w, struct recorder *r, struct site *s, u32 number,
                                   u32 bytes, u64 base, u64 mask, u32 wide, int local) {
    u32 odd = bytes >= 4 ? 3 : bytes - 1;
    v16 wrong = {0};
    for (u32 p = 0; p < 4; p++) wrong |= (part_of(s->low, p) + (u32)base) & lane_mask(mask, p);
    if (!any(wrong & splat(odd))) return;
    u32 l = 0;
    while (!(mask >> l & 1) || !((base + s->low[l]) & odd)) l++;
    u64 place = local ? base - w->lds + s->low[l] : base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]);
    report(c, UNALIGNED, number, r->tag + l, 0, 0, place, bytes);
}

HIDDEN void hw_access(struct wave *w, struct site *s, u32 number, u32 wide, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const u32 *)c->site_table)[number], kind = facts & 0xff, bytes = facts >> 8 & 0xff;
    if (mask == 0 || c->exhausted || kind == KIND_PRIVATE || kind == KIND_GDS) return;
    u32 from = __builtin_ctzll(mask), first = s->low[from];
    u64 high = wide ? (u64)s->high[from] << 32 : 0;
    int local = kind == KIND_LDS;
    if (kind == KIND_FLAT) {
        if (high >> 32 == PRIVATE_APERTURE) return;
        if (high >> 32 == SHARED_APERTURE) {
            local = 1;
            base = w->lds;
            wide = 0;
            high = 0;
        }
    }
    struct who by = {c->group_first << 6, r->epoch_first, number, facts, local, s, 0, bytes};
    if (local || facts & IS_ATOMIC) check_alignment(c, w, r, s, number, bytes, base, mask, wide, local);
    const struct shadow *h;
    u64 start;
    if (local) {
        h = (const struct shadow *)c->lds_shadow;
        start = w->lds;
    } else {
        const struct range *range = find(c, s, base + (high | first));
        if (range == 0) return;
        h = (const struct shadow *)range->shadow;
        start = range->start;
    }
    u32 granule = 1u << c->granule_shift, shift = __builtin_ctz(bytes) - c->granule_shift;
    int regular = (bytes & (bytes - 1)) == 0 && bytes >= granule && bytes <= 16 && !(facts & IS_ATOMIC);
    if (wide) {
        v16 other = {0};
        for (u32 p = 0; p < 4; p++) other |= (part_of(s->high, p) ^ splat(high >> 32)) & lane_mask(mask, p);
        regular &= !any(other);
    }
    struct shadow mine = *h; /* stores to shadows do not change it, which a compiler cannot know of *h */
    for (u32 p = 0; p < 4; p++) {
        u32 lanes = mask >> 16 * p & 0xffff;
        if (lanes == 0) continue;
        if (regular) {
            const v16 count = count_up();
            u32 f = __builtin_ctz(lanes), low = s->low[16 * p + f];
            v16 active = lane_mask(mask, p), here = part_of(s->low, p);
            u64 offset = base + (high | low) - start;
            if (local) offset = (u32)offset; /* their addresses wrap */
            u64 at = offset >> c->granule_shift, before = (u64)f << shift;
            int whole = (offset & (granule - 1)) == 0;
            v16 apart = (here ^ ((count - f) * bytes + low)) & active;
            if (whole && !any(apart)) {
                u32 tag = r->tag + 16 * p;
                if (at >= before && at - before + (16u << shift) <= mine.count &&
                    (shift == 0 && lanes == 0xffff ? run(&mine, at, 0, tag, 0xffff, &by)
                                                   : run(&mine, at - before, shift, tag, lanes, &by)))
                    continue;
            } else if (whole && !(facts & WRITES) && !any((here ^ splat(low)) & active)) {
                if (at + (1u << shift) <= mine.count &&
                    same_place(&mine, at, 1u << shift, r->tag + 16 * p + f, lanes & (lanes - 1) ? MULTI : 0, &by))
                    continue;
            }
        }
        for (u32 left = lanes; left; left &= left - 1) {
            u32 l = 16 * p + __builtin_ctz(left);
            u64 address = base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]);
            if (!local && address - start >= mine.count << c->granule_shift) {
                const struct range *range = find(c, s, address);
                if (range == 0) continue;
                h = (const struct shadow *)range->shadow;
                start = range->start;
                mine = *h;
                regular = 0;
            }
            if (local) address = start + (u32)(address - start);
            by.host = address;
            lane_access(c, &mine, address - start, bytes, r->tag + l, &by, local ? address - w->lds : address);
        }
    }
}

HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 address) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const u32 *)c->site_table)[number], bytes = facts >> 8 & 0xff;
    const struct range *range = find(c, s, address);
    if (range == 0 || c->exhausted) return;
    struct who by = {c->group_first << 6, r->epoch_first, number, facts & ~WRITES, 0, s, address, bytes};
    lane_access(c, (const struct shadow *)range->shadow, address - range->start, bytes, r->tag, &by, address);
}

/* Memory accesses and barriers of wavefronts in, as the code of staging.py tells them; findings of docs/checks.md out.

   Memory is looked at in granules (of the size of the kernel's smallest access, 4 bytes at most), 64 of which, or as many
   as a narrow group's row has, have a record: who wrote each last, who read it since, and by which access. "Who" is an identity: the work-item's number in
   the launch, the barriers that it had passed, and the site. As neighbours are mostly accessed by neighbours, a record
   holds one identity and the rule by which it goes on from granule to granule; those of granules that do not follow
   the rule are in `more`, memory that is not touched otherwise. Of local memory that several lanes of an
   instruction read at once, only the barriers passed and the site are kept.

   Groups may be run by several threads, each of which has a team; records of global memory are locked. */

enum { RACE = 1, UNINITIALISED, UNALIGNED, BARRIER_LANES, BARRIER_PLACES, BARRIER_MISSED };
enum { WRITES = 1 << 16, IS_ATOMIC = 1 << 17 };
enum { GRANULES = 64, MANY = 1u << 31, MOST_WAVES = 1 << 25, MOST_EPOCHS = 1 << 16, MOST_RUNS = 20, WIDEST_STRIDE = 5 };

/* An identity: bits 0-30 the work-item (granule g of a record that goes by a rule: plus g >> rule), 31 an atomic function,
   32-34 the rule, 35-47 the site, 48-63 barriers passed. In a record's `writer` bit 31 is its lock. */
#define WHO 0x7fffffffull
#define ATOMIC (1ull << 31)
#define LOCK ATOMIC
enum { RULE_SHIFT = 32, ALL_THE_SAME = 7, SITE_SHIFT = 35, EPOCH_SHIFT = 48 };
#define WHO_AND_RULE (WHO | 7ull << RULE_SHIFT)
#define SITE_OF(identity) ((u32)((identity) >> SITE_SHIFT) & 0x1fff)

typedef u64 v8 __attribute__((vector_size(64)));
typedef _Bool b8 __attribute__((ext_vector_type(8)));

struct record {
    u64 writer, reader;   /* identities that go by a rule */
    u64 written, read;    /* the granules that they are of */
    u64 writers, readers; /* the granules whose identities are in `more` */
    u64 several, groups;  /* granules that several work-items, or several groups, have read */
} __attribute__((aligned(64)));
/* Of local memory: the last epochs in which a record was written, and read other than by a crowd; plus 1, 0 is none. `crowd`:
   granules that several lanes read at once in `crowd_epoch`. */
struct local { u64 crowd; u32 crowd_epoch, crowd_site, wrote_epoch, read_epoch; };
/* `more`: for each record the writers of its granules, then the readers; `unwritten`: the granules of memory without data, or
   none; `local`: of local memory; `count`: of granules, of which a record has 1 << record_shift. */
struct shadow { struct record *records; u64 *more, *unwritten; struct local *local; u64 count, shared, record_shift; };

struct range { u64 start, bytes, shadow; };
struct finding {
    u32 kind, site, other_site, other_tag;
    u32 tag, count;
    u64 address, detail;
};

/* `next`: of the sites that are told together with this one, and `delta` bytes further; 0: none. */
struct site_facts { u32 facts, next, delta, leader; };

struct context {
    u64 teams, team_bytes, recorder_bytes, site_table;
    u64 ranges, range_count;
    u64 findings;
    u32 finding_count, finding_room;
    u32 waves, granule_shift, local_granules;
    u32 team_count, next_team;
    u32 exhausted, lost, failed, lock;
};

/* What a thread keeps: of the group that it runs, of local memory (records, then `more`), of each wavefront. */
struct team {
    struct shadow local;
    u64 barrier_pc;
    u32 open, begun, barrier_epoch, barrier_tag;
} __attribute__((aligned(64)));

struct recorder { u32 tag, epoch; struct team *team; };

enum { MOST_WORDS = 32 }; /* of 64 granules */
/* Fields of a site's `known`. WORDS: how many words of `lines` tell of the pattern's granules, from the LEAST address on up to
   granule LAST; 0: it is irregular. CROWD: each granule is accessed by several lanes; otherwise by one. BASE and EPOCH: of the
   last access by a crowd. */
enum { WORDS, CROWD, LEAST, LAST, BASE, EPOCH };

static inline void take(u32 *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
static inline void give(u32 *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static void report(struct context *c, u32 kind, u32 site, u32 tag, u32 other_site, u32 other_tag, u64 address, u64 detail) {
    struct finding *all = (struct finding *)c->findings;
    take(&c->lock);
    u32 n = 0;
    for (; n < c->finding_count; n++) {
        struct finding *f = &all[n];
        if (f->kind != kind) continue;
        if (f->site == site && f->other_site == other_site) break;
        if (kind == RACE && f->site == other_site && f->other_site == site) break;
    }
    if (n < c->finding_count) all[n].count++;
    else if (n == c->finding_room) c->lost++;
    else all[c->finding_count++] = (struct finding){kind, site, other_site, other_tag, tag, 1, address, detail};
    give(&c->lock);
}

/* ---- groups and barriers ----------------------------------------------------------------------------------------- */

static struct recorder *recorder_of(struct context *c, struct team *t, u32 index) {
    return (struct recorder *)((char *)(t + 1) + index * c->recorder_bytes);
}

/* Wavefronts of a group that has ended must have passed the same number of barriers. */
static void end_group(struct context *c, struct team *t) {
    if (!t->open) return;
    struct recorder *first = recorder_of(c, t, 0);
    for (u32 n = 1; n < t->begun; n++) {
        struct recorder *r = recorder_of(c, t, n);
        if (r->epoch == first->epoch) continue;
        struct recorder *more = r->epoch > first->epoch ? r : first, *less = r->epoch > first->epoch ? first : r;
        report(c, BARRIER_MISSED, 0, less->tag, 0, more->tag, 0, more->epoch);
        break;
    }
    t->open = 0;
}

static u64 local_records(const struct context *c) { return ((u64)c->local_granules + GRANULES - 1) / GRANULES; }

/* The team of the thread that runs this wavefront, whose group's wavefronts lie one after the other. */
static struct team *team_of(struct context *c, struct wave *w) {
    struct recorder *first = (struct recorder *)(w - w->index)->hooks[1];
    if (first) return first->team;
    u32 number = __atomic_fetch_add(&c->next_team, 1, __ATOMIC_RELAXED);
    if (number >= c->team_count) { /* the launcher made too few: two share one, and the findings are void */
        c->failed = 1;
        number = 0;
    }
    struct team *t = (struct team *)(c->teams + number * c->team_bytes);
    u64 records = local_records(c);
    char *at = (char *)(t + 1) + c->waves * c->recorder_bytes;
    t->local.records = (struct record *)at;
    t->local.more = (u64 *)(at += records * sizeof(struct record));
    t->local.local = (struct local *)(at + records * 2 * GRANULES * 8);
    t->local.count = c->local_granules;
    t->local.record_shift = __builtin_ctz(GRANULES);
    return t;
}

HIDDEN void hw_begin(struct wave *w) {
    struct context *c = (struct context *)w->hooks[0];
    volatile i64 *block = (volatile i64 *)w->block;
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
    u64 group = w->group[0] + block[10] * (w->group[1] + block[11] * w->group[2]);
    u64 number = group * c->waves + w->index;
    if (number >= MOST_WAVES) c->exhausted = 1;
    *r = (struct recorder){number << 6, 0, t};
    t->begun = w->index + 1;
}

/* After the launch: teams whose last group is still open. */
EXPORT void hw_check_end(struct context *c) {
    for (u32 n = 0; n < c->next_team && n < c->team_count; n++)
        end_group(c, (struct team *)(c->teams + n * c->team_bytes));
}

HIDDEN void hw_barrier(struct wave *w, u64 pc, u64 exec) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    struct team *t = r->team;
    u64 missing = w->exec & ~exec;
    if (missing && exec)
        report(c, BARRIER_LANES, pc, r->tag + __builtin_ctzll(missing), 0, r->tag + __builtin_ctzll(exec), 0, pc);
    if (t->barrier_epoch != r->epoch) {
        t->barrier_epoch = r->epoch;
        t->barrier_pc = pc;
        t->barrier_tag = r->tag;
    } else if (t->barrier_pc != pc)
        report(c, BARRIER_PLACES, pc, r->tag, t->barrier_pc, t->barrier_tag, t->barrier_pc, pc);
    r->epoch++;
    if (r->epoch >= MOST_EPOCHS) c->exhausted = 1;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

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

/* An access of a wavefront. `identity` is without the work-item and the rule. */
struct access {
    struct context *c;
    const struct shadow *shadow;
    const struct site *state;
    struct team *team;
    u64 origin, identity;
    u32 tag, first_tag, span; /* the first lane's, the group's first and their number */
    u32 epoch, site, flags, bytes;
    int local;
};

/* What lies behind an access, for some granules of a record: over, as a barrier of the group lies between; done by
   the same work-item; done by another group. */
struct past { u64 over, own, foreign; };

static inline u64 bits_of(v8 lanes, u32 place) {
    b8 narrow = __builtin_convertvector(lanes, b8);
    unsigned char bits;
    __builtin_memcpy(&bits, &narrow, 1);
    return (u64)bits << place;
}

/* Whose the granules from `place` on are, by a rule. */
static inline v8 by_rule(u64 identity, u32 place) {
    u32 rule = identity >> RULE_SHIFT & 7;
    const v8 count = (v8){0, 1, 2, 3, 4, 5, 6, 7} + place;
    v8 more = rule == ALL_THE_SAME ? count >> 63 : count >> rule;
    return (more + identity) & WHO;
}

static inline u32 one_by_rule(u64 identity, u32 granule) {
    u32 rule = identity >> RULE_SHIFT & 7;
    return (identity + (rule == ALL_THE_SAME ? 0 : granule >> rule)) & WHO;
}

static inline int of_group(const struct access *a, u32 who) { return ((who - a->first_tag) & WHO) < a->span; }

static u64 same_items(u64 one, u64 other, u64 granules) {
    u64 same = 0;
    for (u32 n = 0; n < GRANULES; n += 8)
        if (granules >> n & 0xff) same |= bits_of((v8)(by_rule(one, n) == by_rule(other, n)), n);
    return same & granules;
}

static inline void past_by_rule(const struct access *a, u64 identity, u64 of, u64 granules, u64 mine, struct past *p) {
    granules &= of;
    if (granules == 0) return;
    u64 differ = (identity ^ mine) & (WHO_AND_RULE);
    if (!of_group(a, one_by_rule(identity, __builtin_ctzll(of)))) p->foreign |= granules;
    else if (identity >> EPOCH_SHIFT < a->epoch) p->over |= granules;
    else if (differ == 0) p->own |= granules;
    else if (differ & ~WHO) p->own |= same_items(identity, mine, granules); /* the same rule never meets elsewhere */
}

static inline void past_of_each(const struct access *a, const u64 *identities, u64 granules, u64 mine, struct past *p) {
    if (granules == 0) return;
    struct past all = {0, 0, 0};
    for (u32 n = 0; n < GRANULES; n += 8) {
        if (!(granules >> n & 0xff)) continue;
        v8 identity, who;
        __builtin_memcpy(&identity, identities + n, sizeof identity);
        who = identity & WHO;
        v8 ours = (v8)(((who - a->first_tag) & WHO) < (v8){0} + a->span);
        all.foreign |= bits_of(~ours, n);
        all.over |= bits_of(ours & (v8)(identity >> EPOCH_SHIFT < (v8){0} + a->epoch), n);
        all.own |= bits_of((v8)(who == by_rule(mine, n)), n);
    }
    p->foreign |= all.foreign & granules;
    p->over |= all.over & granules;
    p->own |= all.own & granules;
}

/* Note whose some granules are now. */
static inline void note(const struct access *a, u64 *identity, u64 *by_it, u64 *by_more, u64 *more, u64 granules, u64 mine) {
    u64 rest = *by_it & ~granules, lock = *identity & LOCK;
    if (rest == 0) {
        *identity = mine | lock;
        *by_it = granules;
        *by_more &= ~granules;
    } else if ((*identity & ~LOCK) == mine && of_group(a, one_by_rule(mine, __builtin_ctzll(rest)))) {
        *by_it |= granules;
        *by_more &= ~granules;
    } else {
        u64 fixed = mine & ~WHO_AND_RULE;
        if ((granules & (granules - 1)) == 0) more[__builtin_ctzll(granules)] = one_by_rule(mine, __builtin_ctzll(granules)) | fixed;
        else for (u32 n = 0; n < GRANULES; n += 8) {
            u32 bits = granules >> n & 0xff;
            if (bits == 0) continue;
            v8 whose = by_rule(mine, n) | fixed, old;
            if (bits != 0xff) {
                unsigned char byte = bits;
                b8 narrow;
                __builtin_memcpy(&narrow, &byte, 1);
                v8 chosen = 0 - __builtin_convertvector(narrow, v8);
                __builtin_memcpy(&old, more + n, sizeof old);
                whose = (whose & chosen) | (old & ~chosen);
            }
            __builtin_memcpy(more + n, &whose, sizeof whose);
        }
        *by_it = rest;
        *by_more |= granules;
    }
}

/* A record that is being worked on, and what belongs to it. */
struct place { struct record *r; u64 *writers, *readers, *unwritten; struct local *local; u64 shared; };

static inline void lock(struct record *r) {
    while (__atomic_fetch_or(&r->writer, LOCK, __ATOMIC_ACQUIRE) & LOCK) __builtin_ia32_pause();
}

static inline void unlock(struct record *r) { __atomic_store_n(&r->writer, r->writer & ~LOCK, __ATOMIC_RELEASE); }

static inline struct place open_place(const struct access *a, u64 number) {
    const struct shadow *h = a->shadow;
    u64 *more = &h->more[number << (h->record_shift + 1)];
    struct place p = {&h->records[number], more, more + (1ull << h->record_shift), h->unwritten ? &h->unwritten[number] : 0,
                      a->local ? &h->local[number] : 0, h->shared};
    if (p.shared) lock(p.r);
    return p;
}

static inline void close_place(struct place p) {
    if (p.shared) unlock(p.r);
}

/* Lanes read granules of a record, `crowd`: several the same. Nothing changes, and 0 is returned, if there may be something
   to report. */
static inline int read_granules(const struct access *a, struct place at, u64 granules, u64 mine, int crowd) {
    struct record *r = at.r;
    u64 known = r->written | r->writers;
    if (!a->local && !at.unwritten && !(known & granules)) {
        if (!(granules & ~r->groups)) return 1; /* several groups have read it already */
        if (!r->read && !(granules & r->readers) && !crowd) { /* nobody has */
            r->reader = mine;
            r->read = granules;
            return 1;
        }
    }
    if (granules & (a->local ? ~known : at.unwritten ? *at.unwritten : 0)) return 0;
    if (granules & known && !(a->local && at.local->wrote_epoch <= a->epoch)) {
        struct past p = {0, 0, 0};
        past_by_rule(a, r->writer, r->written, granules, mine, &p);
        past_of_each(a, at.writers, granules & r->writers, mine, &p);
        if (granules & known & ~(p.over | (crowd ? 0 : p.own))) return 0;
    }
    u64 fresh = granules, old = granules & (r->read | r->readers);
    if (old & ~r->groups) {
        struct past p = {0, 0, 0};
        past_by_rule(a, r->reader, r->read, old, mine, &p);
        past_of_each(a, at.readers, old & r->readers, mine, &p);
        u64 over = p.over & ~r->groups;
        old &= ~over;
        r->several = (r->several & ~over) | (crowd ? old : old & ~p.own);
        r->groups |= old & p.foreign;
    }
    fresh &= ~old;
    if (a->local) at.local->read_epoch = a->epoch + 1;
    if (fresh) {
        note(a, &r->reader, &r->read, &r->readers, at.readers, fresh, mine);
        if (crowd) r->several |= fresh;
    }
    return 1;
}

/* The same for lanes that write. */
static inline int write_granules(const struct access *a, struct place at, u64 granules, u64 mine) {
    struct record *r = at.r;
    if (a->local) {
        if (at.local->crowd_epoch == a->epoch + 1 && at.local->crowd & granules) return 0;
        at.local->wrote_epoch = a->epoch + 1;
    }
    u64 known = granules & (r->written | r->writers), seen = granules & (r->read | r->readers);
    if (known) {
        struct past p = {0, 0, 0};
        past_by_rule(a, r->writer, r->written, known, mine, &p);
        past_of_each(a, at.writers, known & r->writers, mine, &p);
        if (known & ~(p.over | p.own)) return 0;
    }
    if (seen) {
        struct past p = {0, 0, 0};
        past_by_rule(a, r->reader, r->read, seen, mine, &p);
        past_of_each(a, at.readers, seen & r->readers, mine, &p);
        if (seen & ~((p.over & ~r->groups) | (p.own & ~r->several))) return 0;
        r->read &= ~granules;
        r->readers &= ~granules;
        r->several &= ~granules;
        r->groups &= ~granules;
    }
    if (at.unwritten) *at.unwritten &= ~granules;
    note(a, &r->writer, &r->written, &r->writers, at.writers, granules, mine);
    return 1;
}

/* ---- one lane at a time ------------------------------------------------------------------------------------------ */

/* Whether a lane stores what is there already, or what another lane of the same instruction stores: work-items that write
   the same value do not mind who is last. */
static int same_value(const struct access *a, u32 tag, u64 host, u64 other) {
    u32 lane = tag & 63, value[4], bytes = a->bytes < 16 ? a->bytes : 16;
    if (a->flags & IS_ATOMIC) return 0;
    for (u32 d = 0; d < 4; d++) value[d] = a->state->values[d * LANES + lane];
    int same = __builtin_memcmp((const void *)host, value, bytes) == 0;
    if (same || SITE_OF(other) != a->site || ((u32)other & WHO & ~63u) != (tag & ~63u)) return same;
    u32 theirs[4];
    for (u32 d = 0; d < 4; d++) theirs[d] = a->state->values[d * LANES + (other & 63)];
    return __builtin_memcmp(theirs, value, bytes) == 0;
}

/* A lane that was among those that read a granule of local memory at once: by its number and the site; the lane itself and the
   site that is known if it has accessed other places since. */
static void one_of_crowd(const struct access *a, u64 at, u32 tag, u32 site, u32 *other, u32 *other_site) {
    struct context *c = a->c;
    *other = tag;
    *other_site = site;
    struct team *t = a->team;
    for (u32 n = 0; n < t->begun; n++) {
        struct recorder *r = recorder_of(c, t, n);
        const struct site_facts *facts = &((const struct site_facts *)c->site_table)[site];
        const struct site *s = (const struct site *)((char *)r + RECORDER_HEAD_BYTES) + facts->leader;
        u32 bytes = facts->facts >> 8 & 0xff;
        for (u32 l = 0; l < LANES; l++) {
            u32 offset = s->low[l] + s->known[BASE] + facts->delta;
            if (!(s->pattern_mask >> l & 1) || s->known[EPOCH] != a->epoch + 1 || r->tag + l == tag) continue;
            if (at < offset >> c->granule_shift || at > (offset + bytes - 1) >> c->granule_shift) continue;
            *other = r->tag + l;
            return;
        }
    }
}

static void one(const struct access *a, struct place at, u64 number, u32 tag, u64 host, u64 address) {
    struct record *r = at.r;
    u32 granule = number & ((1u << a->shadow->record_shift) - 1);
    u64 bit = 1ull << granule, mine = a->identity | tag | (u64)ALL_THE_SAME << RULE_SHIFT;
    u32 atomic = a->flags & IS_ATOMIC, writes = a->flags & WRITES;
    int known = ((r->written | r->writers) & bit) != 0, seen = ((r->read | r->readers) & bit) != 0;
    if ((a->local ? !known : at.unwritten && *at.unwritten & bit) && (!writes || atomic))
        report(a->c, UNINITIALISED, a->site, tag, 0, 0, address, a->local);
    if (known) {
        u64 w = r->written & bit ? (r->writer & ~(WHO | LOCK)) | one_by_rule(r->writer, granule) : at.writers[granule];
        int over = of_group(a, w & WHO) && w >> EPOCH_SHIFT < a->epoch;
        /* A read beside an atomic function is no race: cmpxchg loops begin with one, and flags are looked at so. */
        if (!over && (w & WHO) != tag && !((atomic || !writes) && w & ATOMIC) && !(writes && same_value(a, tag, host, w)))
            report(a->c, RACE, a->site, tag, SITE_OF(w), w & WHO, address, 1);
    }
    u64 reader = 0;
    int over = 0;
    if (a->local && !writes) at.local->read_epoch = a->epoch + 1;
    if (seen) {
        reader = r->read & bit ? (r->reader & ~WHO) | one_by_rule(r->reader, granule) : at.readers[granule];
        over = of_group(a, reader & WHO) && reader >> EPOCH_SHIFT < a->epoch && !(r->groups & bit);
    }
    if (writes && a->local) {
        u32 other, site;
        if (!atomic && at.local->crowd_epoch == a->epoch + 1 && at.local->crowd & bit) {
            one_of_crowd(a, number, tag, at.local->crowd_site, &other, &site);
            report(a->c, RACE, a->site, tag, site, other | MANY, address, 0);
            seen = 0;
        }
        at.local->crowd &= ~bit;
        at.local->wrote_epoch = a->epoch + 1;
    }
    if (writes) {
        u32 many = r->several & bit ? MANY : 0;
        if (seen && !atomic && !over && ((reader & WHO) != tag || many))
            report(a->c, RACE, a->site, tag, SITE_OF(reader), (reader & WHO) | many, address, 0);
        if (atomic) {
            at.writers[granule] = (mine & ~(7ull << RULE_SHIFT)) | ATOMIC;
            r->written &= ~bit;
            r->writers |= bit;
        } else
            note(a, &r->writer, &r->written, &r->writers, at.writers, bit, mine);
        r->read &= ~bit;
        r->readers &= ~bit;
        r->several &= ~bit;
        r->groups &= ~bit;
        if (at.unwritten) *at.unwritten &= ~bit;
    } else if (!seen || over) {
        note(a, &r->reader, &r->read, &r->readers, at.readers, bit, mine);
        r->several &= ~bit;
    } else {
        if ((reader & WHO) != tag) r->several |= bit;
        if (!of_group(a, reader & WHO)) r->groups |= bit;
    }
}

/* A lane's access at `offset` from the shadow's beginning. */
static void lane_access(const struct access *a, u64 offset, u32 tag, u64 host, u64 address) {
    u64 last = (offset + a->bytes - 1) >> a->c->granule_shift;
    for (u64 at = offset >> a->c->granule_shift; at <= last && at < a->shadow->count; at++) {
        struct place p = open_place(a, at >> a->shadow->record_shift);
        one(a, p, at, tag, host, address);
        close_place(p);
    }
}

/* ---- lanes that follow a rule ------------------------------------------------------------------------------------ */

/* Each bit n of `bits` as bit n << shift. */
static inline u64 spread(u64 bits, u32 shift) {
    if (shift == 0) return bits;
#ifdef __BMI2__
    static const u64 places[] = {~0ull, 0x5555555555555555, 0x1111111111111111, 0x0101010101010101, 0x0001000100010001,
                                 0x0000000100000001};
    return __builtin_ia32_pdep_di(bits, places[shift]);
#else
    u64 result = 0;
    for (u32 n = 0; n < GRANULES >> shift; n++) result |= (bits >> n & 1) << (n << shift);
    return result;
#endif
}

/* Lanes (bits of `lanes`, the lowest is lane 0 of the rule, which has `tag`) access `each` granules, lane after lane at
   `1 << rule` granules; all of them the same `each` if the rule is ALL_THE_SAME. The lanes that have to be looked at one by one
   are returned. */
static inline u64 run(const struct access *a, u64 offset, u64 lanes, u32 tag, u32 rule, u32 each) {
    const struct shadow *h = a->shadow;
    int same = rule == ALL_THE_SAME, crowd = same && (lanes & (lanes - 1)) != 0, writes = a->flags & WRITES;
    u32 shift = same ? 0 : rule, in_record = h->record_shift, within = (offset >> a->c->granule_shift) & ((1u << shift) - 1);
    u64 at = offset >> a->c->granule_shift, left = 0, span = same ? 1 : LANES - __builtin_clzll(lanes);
    u64 end = at + ((span - 1) << shift) + each, room = 1ull << in_record, place = at >> shift;
    if (offset & ((1u << a->c->granule_shift) - 1) || end > h->count) return lanes;
    if (!same && (shift >= in_record || within + each > 1u << shift)) return lanes;
    int dense = same || (each == 1u << shift && (lanes & (lanes + 1)) == 0);
    u64 identity = a->identity | (u64)rule << RULE_SHIFT;
    for (u64 number = at >> in_record; number <= (end - 1) >> in_record; number++) {
        u64 start = number << in_record, granules = ~0ull >> (GRANULES - room), first = start >> shift, present = 0;
        if (dense) {
            if (start < at) granules &= ~0ull << (at - start);
            if (start + room > end) granules &= ~0ull >> (GRANULES - (end - start));
        } else {
            present = (first >= place ? lanes >> (first - place) : lanes << (place - first)) & ~0ull >> (GRANULES - (room >> shift));
            if (present == 0) continue;
            granules = (spread(present, shift) * ((1ull << each) - 1)) << within;
        }
        const struct record *r = &h->records[number];
        /* Memory that several groups read: without a lock, as nothing changes. */
        if (!a->local && !writes && !(granules & ~r->groups) && !(granules & (r->written | r->writers)) && !h->unwritten) continue;
        struct place p = open_place(a, number);
        u64 mine = identity | (same ? tag : (tag + first - place) & WHO);
        int fine = writes ? write_granules(a, p, granules, mine) : read_granules(a, p, granules, mine, crowd);
        close_place(p);
        if (fine) continue;
        if (same) return lanes;
        if (!dense) left |= first >= place ? present << (first - place) : present >> (place - first);
        else /* the lanes from the first granule's to the last's */
            left |= (~0ull << ((start + __builtin_ctzll(granules) >> shift) - place)) &
                    ~0ull >> (63 - ((start + 63 - __builtin_clzll(granules) >> shift) - place));
    }
    return left;
}

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

/* ---- patterns of local memory ------------------------------------------------------------------------------------ */

/* Whether the lanes' offsets from their first, and the mask, are those of the access before. */
static inline int same_pattern(const struct site *s, u64 mask, u32 first) {
    if (mask != s->pattern_mask) return 0;
    v16 other = {0}, base = splat(first);
    if (mask == ~0ull) {
        for (u32 p = 0; p < 4; p++) other |= (part_of(s->low, p) - base) ^ part_of(s->pattern, p);
        return !any(other);
    }
    for (u32 p = 0; p < 4; p++) other |= ((part_of(s->low, p) - base) ^ part_of(s->pattern, p)) & lane_mask(mask, p);
    return !any(other);
}

static inline u32 odd_bits(u32 bytes) { return bytes >= 4 ? 3 : bytes - 1; }

/* Keep the pattern, and which granules are accessed if all are by several lanes, or each by one. */
static void remember(struct site *s, u64 mask, u32 first, u32 bytes, u32 shift) {
    u64 *once = (u64 *)s->lines, again[MOST_WORDS] = {0}, both = 0, single = 0;
    u32 least = 0, last = 0, each = bytes >> shift;
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left);
        s->pattern[l] = s->low[l] - first;
        if ((i32)s->pattern[l] < (i32)least) least = s->pattern[l];
    }
    s->pattern_mask = mask;
    s->known[WORDS] = 0;
    if (each == 0) return;
    __builtin_memset(once, 0, MOST_WORDS * 8);
    for (u64 left = mask; left; left &= left - 1) {
        u32 offset = s->pattern[__builtin_ctzll(left)] - least, at = offset >> shift;
        if (offset & odd_bits(bytes) || at + each > MOST_WORDS * GRANULES) return;
        for (u32 n = at; n < at + each; n++) {
            u64 bit = 1ull << n % GRANULES;
            again[n / GRANULES] |= once[n / GRANULES] & bit;
            once[n / GRANULES] |= bit;
        }
        if (at + each - 1 > last) last = at + each - 1;
    }
    for (u32 n = 0; n <= last / GRANULES; n++) {
        both |= again[n];
        single |= once[n] & ~again[n];
    }
    if (both && single) return;
    s->known[WORDS] = last / GRANULES + 1;
    s->known[CROWD] = both != 0;
    s->known[LEAST] = least;
    s->known[LAST] = last;
}

/* The granules of a pattern in its record number `n`, if it begins at granule `move` of the first. */
static inline u64 of_pattern(const struct site *s, u32 n, u32 move) {
    const u64 *granules = (const u64 *)s->lines;
    u64 here = n < s->known[WORDS] ? granules[n] << move : 0;
    return n && move ? here | granules[n - 1] >> (GRANULES - move) : here;
}

/* Lanes read local memory, several each granule: 1, and it is noted, if nothing is to be reported. `from`: the least address. */
static inline int crowd_reads(const struct shadow *h, const struct site *s, u32 site, u32 from, u32 shift, u32 epoch) {
    u32 at = from >> shift, move = at % GRANULES, words = s->known[WORDS] + ((at + s->known[LAST]) / GRANULES - at / GRANULES
                                                                             >= s->known[WORDS]);
    if (at + (u64)s->known[LAST] >= h->count) return 0;
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern(s, n, move);
        if (here == 0) continue;
        struct record *r = &h->records[at / GRANULES + n];
        struct local *l = &h->local[at / GRANULES + n];
        if (here & ~(r->written | r->writers) || l->wrote_epoch > epoch) return 0;
        l->crowd = l->crowd_epoch == epoch + 1 ? l->crowd | here : here;
        l->crowd_epoch = epoch + 1;
        l->crowd_site = site;
    }
    return 1;
}

/* The same for lanes that access granules of their own, if nobody else accesses these until the next barrier. */
static int each_its_own(const struct access *a, const struct site *s, u32 offset, u64 mask) {
    const struct shadow *h = a->shadow;
    u32 shift = a->c->granule_shift, each = a->bytes >> shift, now = a->epoch + 1, writes = a->flags & WRITES;
    u32 at = (offset + s->low[__builtin_ctzll(mask)] + s->known[LEAST]) >> shift, move = at % GRANULES;
    u32 words = s->known[WORDS] + ((at + s->known[LAST]) / GRANULES - at / GRANULES >= s->known[WORDS]);
    if (at + (u64)s->known[LAST] >= h->count) return 0;
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern(s, n, move);
        const struct record *r = &h->records[at / GRANULES + n];
        const struct local *l = &h->local[at / GRANULES + n];
        if (here & ~(r->written | r->writers) && !writes) return 0;
        if (l->wrote_epoch == now && (here & (r->written | r->writers) || !writes)) return 0;
        if (l->read_epoch == now && here & (r->read | r->readers)) return 0;
        if (writes && l->crowd_epoch == now && here & l->crowd) return 0;
    }
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern(s, n, move);
        if (here == 0) continue;
        struct record *r = &h->records[at / GRANULES + n];
        struct local *l = &h->local[at / GRANULES + n];
        r->read &= ~here;
        r->readers &= ~here;
        r->several &= ~here;
        if (writes) {
            r->written &= ~here;
            r->writers |= here;
            l->wrote_epoch = now;
        } else {
            r->readers |= here;
            l->read_epoch = now;
        }
    }
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left), granule = (offset + s->low[l]) >> shift;
        for (u32 n = granule; n < granule + each; n++) {
            h->more[n / GRANULES * 2 * GRANULES + (writes ? 0 : GRANULES) + n % GRANULES] = a->identity | (a->tag + l);
        }
    }
    return 1;
}

/* Accesses to local memory that a pattern does for: those that remain are returned. */
static inline u64 by_pattern(const struct access *a, struct site *s, u32 offset, u64 mask) {
    u32 first = s->low[__builtin_ctzll(mask)];
    if (!same_pattern(s, mask, first)) remember(s, mask, first, a->bytes, a->c->granule_shift);
    if (s->known[WORDS] == 0 || (offset + first) & odd_bits(a->bytes)) return mask;
    if (!s->known[CROWD]) return each_its_own(a, s, offset, mask) ? 0 : mask;
    if (a->flags & WRITES) return mask;
    u32 from = offset + first + s->known[LEAST];
    if (!crowd_reads(a->shadow, s, a->site, from, a->c->granule_shift, a->epoch)) return mask;
    s->known[BASE] = offset;
    s->known[EPOCH] = a->epoch + 1;
    return 0;
}

/* Atomic functions on local memory that only such have accessed since the last barrier; the lanes that remain. */
static u64 atomic_lanes(const struct access *a, const u32 *low, u32 offset, u64 mask) {
    u32 shift = a->c->granule_shift, each = a->bytes >> shift;
    u64 result = 0, mine = a->identity | ATOMIC;
    if (each != 1) return mask;
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left), place = offset + low[l], at = place >> shift;
        struct record *r = &a->shadow->records[at / GRANULES];
        u64 bit = 1ull << at % GRANULES, *writer = &a->shadow->more[at / GRANULES * 2 * GRANULES + at % GRANULES];
        if (at >= a->shadow->count || place & odd_bits(a->bytes) || !(r->writers & bit) || !(*writer & ATOMIC) ||
            *writer >> EPOCH_SHIFT != a->epoch || (r->read | r->readers) & bit)
            result |= 1ull << l;
        else
            *writer = mine | (a->tag + l);
    }
    return result;
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

/* `lanes` lanes from one with `tag` on access what follows each other from granule `at` on, where nobody else does or all only
   read. 0 if it is anything else; then it may have been noted in part, which does no harm. */
static inline int row(const struct shadow *h, u64 fixed, u32 tag, u32 first_tag, u32 span, int writes, u64 at, u32 rule, u32 lanes) {
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

/* What is most frequent in global memory: 64 lanes in a row, or rows of 16. 0 if that does not do for them. */
static inline int rows(struct wave *w, struct site *s, u32 number, u32 wide, u64 base) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, bytes = facts >> 8 & 0xff, granule = c->granule_shift;
    u32 each = bytes >> granule, rule = __builtin_ctz(each | 1u << 31);
    u64 high = wide ? (u64)s->high[0] << 32 : 0;
    if (each != 1u << rule || bytes > 16) return 0;
    v16 wrong = {0}, wanted = count_up() * bytes;
    for (u32 p = 0; p < 4; p++) wrong |= (part_of(s->low, p) - s->low[16 * p]) ^ wanted;
    if (wide)
        for (u32 p = 0; p < 4; p++) wrong |= part_of(s->high, p) ^ splat(high >> 32);
    const struct range *range = any(wrong) ? 0 : find(c, s, base + (high | s->low[0]));
    if (range == 0) return 0;
    const struct shadow *h = (const struct shadow *)range->shadow;
    u64 offset = base + high - range->start, fixed = (u64)number << SITE_SHIFT | (u64)r->epoch << EPOCH_SHIFT | (u64)rule << RULE_SHIFT;
    if (rule >= h->record_shift || h->unwritten) return 0;
    u32 first_tag = r->tag - (w->index << 6), span = c->waves << 6, writes = facts & WRITES;
    for (u32 p = 1; p < 4; p++) {
        u64 at = (offset + s->low[16 * p]) >> granule;
        if (at < h->count) __builtin_prefetch(&h->records[at >> h->record_shift], 1);
    }
    for (u32 p = 0; p < 4;) {
        u64 place = offset + s->low[16 * p];
        u32 lanes = 16, first = p++;
        for (; p < 4 && s->low[16 * p] == s->low[16 * p - 16] + 16 * bytes; p++) lanes += 16;
        if (place & (bytes - 1) || !row(h, fixed, r->tag + 16 * first, first_tag, span, writes, place >> granule, rule, lanes)) return 0;
    }
    return 1;
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
        }
    }
    struct access a = {.c = c, .state = s, .team = r->team, .identity = (u64)number << SITE_SHIFT | (u64)r->epoch << EPOCH_SHIFT,
                       .tag = r->tag, .first_tag = r->tag - (w->index << 6), .span = c->waves << 6,
                       .epoch = r->epoch, .site = number, .flags = facts, .bytes = bytes, .local = local};
    if (local) {
        a.shadow = &r->team->local;
        a.origin = w->lds;
        check_alignment(c, w, r, s, number, bytes, base, mask, wide, local);
    } else {
        const struct range *range = find(c, s, base + (high | s->low[from]));
        if (range == 0) return;
        a.shadow = (const struct shadow *)range->shadow;
        a.origin = range->start;
    }
    if (facts & IS_ATOMIC && !local) check_alignment(c, w, r, s, number, bytes, base, mask, wide, local);
    u32 each = bytes >> c->granule_shift;
    int regular = (bytes & (bytes - 1)) == 0 && each && bytes <= 16 && !(facts & IS_ATOMIC);
    if (wide) {
        v16 other = {0};
        for (u32 p = 0; p < 4; p++) other |= (part_of(s->high, p) ^ splat(high >> 32)) & lane_mask(mask, p);
        regular &= !any(other);
    }
    u64 left = regular ? regular_lanes(&a, s->low, base + high - a.origin, mask, each) : mask;
    if (left && local)
        left = facts & IS_ATOMIC ? atomic_lanes(&a, s->low, base - a.origin, left)
             : left == mask      ? by_pattern(&a, s, base - a.origin, mask)
                                 : left;
    if (!local)
        for (u64 ahead = left; ahead; ahead &= ahead - 1) {
            u32 l = __builtin_ctzll(ahead);
            u64 at = (base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]) - a.origin) >> c->granule_shift;
            if (at >= a.shadow->count) continue;
            u64 number = at >> a.shadow->record_shift, room = 1ull << a.shadow->record_shift;
            const u64 *more = &a.shadow->more[2 * room * number + (at & (room - 1))];
            __builtin_prefetch(&a.shadow->records[number], 1);
            __builtin_prefetch(facts & WRITES ? more : more + room, 1);
        }
    for (; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left);
        u64 address = base + ((wide ? (u64)s->high[l] << 32 : 0) | s->low[l]);
        if (local) address = a.origin + (u32)(address - a.origin); /* their addresses wrap */
        else if (address - a.origin >= a.shadow->count << c->granule_shift) {
            const struct range *range = find(c, s, address);
            if (range == 0) continue;
            a.shadow = (const struct shadow *)range->shadow;
            a.origin = range->start;
        }
        lane_access(&a, address - a.origin, r->tag + l, address, local ? address - w->lds : address);
    }
}

/* The sites that read local memory at the same addresses but for a constant. */
static inline void local_reads(struct wave *w, struct site *s, u32 number, u64 base, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct site_facts *table = (const struct site_facts *)c->site_table;
    u32 bytes = table[number].facts >> 8 & 0xff, shift = c->granule_shift, first = s->low[__builtin_ctzll(mask)];
    u32 offset = base - w->lds;
    if (!same_pattern(s, mask, first)) remember(s, mask, first, bytes, shift);
    int crowd = s->known[WORDS] && s->known[CROWD];
    if (crowd) {
        s->known[BASE] = offset;
        s->known[EPOCH] = r->epoch + 1;
    }
    for (u32 site = number;; site = table[site].next) {
        u32 delta = table[site].delta, from = offset + delta + first + s->known[LEAST];
        if (!crowd || from & odd_bits(bytes) || !crowd_reads(&r->team->local, s, site, from, shift, r->epoch))
            access_at(w, s, site, 0, base + delta, mask);
        if (table[site].next == 0) return;
    }
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
    if (mask == ~0ull && kind == KIND_GLOBAL && !(facts & IS_ATOMIC) && rows(w, s, number, wide, base)) return;
    access_at(w, s, number, wide, base, mask);
}

HIDDEN void hw_scalar_access(struct wave *w, struct site *s, u32 number, u64 address) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    u32 facts = ((const struct site_facts *)c->site_table)[number].facts, bytes = facts >> 8 & 0xff;
    if (s->allocation[1] == address || c->exhausted) return; /* the kernel's arguments, again */
    const struct range *range = find(c, s, address);
    if (range == 0) {
        s->allocation[1] = address;
        return;
    }
    struct access a = {.c = c, .shadow = (const struct shadow *)range->shadow, .state = s, .origin = range->start,
                       .identity = (u64)number << SITE_SHIFT | (u64)r->epoch << EPOCH_SHIFT, .tag = r->tag,
                       .first_tag = r->tag - (w->index << 6), .span = c->waves << 6, .epoch = r->epoch, .site = number,
                       .flags = facts & ~WRITES, .bytes = bytes};
    if (bytes >> c->granule_shift == 0 || run(&a, address - range->start, 1, r->tag, ALL_THE_SAME, bytes >> c->granule_shift))
        lane_access(&a, address - range->start, r->tag, address, address);
}

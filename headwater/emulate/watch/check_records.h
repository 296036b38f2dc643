/* Records of what was accessed, for check.c: an access of some granules in; the record changed, and findings, out.

   Memory is looked at in granules (of the size of the kernel's smallest access, 4 bytes at most), 64 of which, or as many
   as a narrow group's row has, have a record: who wrote each last, who read it since, and by which access. "Who" is an
   identity: the work-item's number in the launch, the barriers that it had passed, and the site. As neighbours are mostly
   accessed by neighbours, a record holds one identity and the rule by which it goes on from granule to granule; those of
   granules that do not follow the rule are in `more`, memory that is not touched otherwise. Of local memory that several
   lanes of an instruction read at once, only the barriers passed and the site are kept.

   Groups may be run by several threads, each of which has a team; records of global memory are locked. */

/* Facts of a site. IS_ATOMIC without WRITES: a load that begins an atomic function. STILL: may read what the launch does not write. Of atomic functions: COMPARES, cmpxchg, whose `values` are the new ones, then those
   that it compares with; MASKS, a plain write of the bytes of a dword whose bits `values` has second; MONOTONE, one that leaves memory
   as it is unless the value there is one that it is to change, so that a plain read may look at that first.
   Found when it runs: IN_LDS, a flat instruction has accessed the LDS; LOOKS_FIRST, a plain read before a MONOTONE function. */
enum { MOST_WAVES = 1 << 25, MOST_EPOCHS = 1 << 16, MOST_RUNS = 20, WIDEST_STRIDE = 5 };

/* An identity: bits 0-30 the work-item (granule g of a record that goes by a rule: plus g >> rule), 31 an atomic function,
   32-34 the rule, 35-47 the site, 48-63 barriers passed. In a record's `writer` bit 31 is its lock.

   The last atomic function's identity stands for all since the last plain write, and has bits in place of the rule: OTHERS if
   several work-items have called some since the last barrier, UNDER if that plain write is no longer past than that. Its
   work-item is NOBODY if several groups have. */
#define WHO 0x7fffffffull
#define ATOMIC (1ull << 31)
#define LOCK ATOMIC
#define OTHERS (1ull << 32)
#define UNDER (1ull << 33)
#define NOBODY WHO
enum { RULE_SHIFT = 32, ALL_THE_SAME = 7, SITE_SHIFT = 35, EPOCH_SHIFT = 48 };
#define WHO_AND_RULE (WHO | 7ull << RULE_SHIFT)
#define SITE_OF(identity) ((u32)((identity) >> SITE_SHIFT) & 0x1fff)

typedef u64 v8 __attribute__((vector_size(64)));
typedef u64 v4 __attribute__((vector_size(32)));
typedef _Bool b8 __attribute__((ext_vector_type(8)));

enum { BLOCK = 4 }; /* a granule's writer and its reader are in one cache line */

/* `passed`: barriers; `epoch`, `global_epoch`: those of them that order local and global memory; `in_step`: the wavefront has been
   at a barrier of its own since the last one of the group. */
struct recorder { u32 tag, epoch, global_epoch, passed; struct team *team; u32 in_step; };

enum { MOST_WORDS = 32 }; /* of 64 granules */
/* Fields of a site's `known`. WORDS: how many words of `lines` describe the pattern's granules, from the LEAST address on up to
   granule LAST; 0: it is irregular. CROWD: each granule is accessed by several lanes; otherwise by one. BASE, EPOCH and TAG, the
   wavefront's: of the last access by a crowd. CHAIN_WORDS: the same of all sites that are reported as one, in the other half of
   `lines`, from CHAIN_LEAST bytes further on. ROW: lanes follow each other from lane 0 on. */
enum { WORDS, CROWD, LEAST, LAST, BASE, EPOCH, CHAIN_WORDS, CHAIN_LEAST, CHAIN_LAST, ROW, TAG };

SCALAR static inline void pause(void) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static inline void take(u32 *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) pause();
}
static inline void give(u32 *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

static void report(struct context *c, u32 kind, u32 site, u32 tag, u32 other_site, u32 other_tag, u64 address,
                   u64 detail) {
    struct finding *all = (struct finding *)c->findings;
    take(&c->lock);
    u32 n = 0;
    for (; n < c->finding_count; n++) {
        struct finding *f = &all[n];
        if (f->kind != kind) continue;
        if (f->site == site && f->other_site == other_site) break;
        if (kind == RACE && f->site == other_site && f->other_site == site) break;
    }
    if (n < c->finding_count) {
        struct finding *f = &all[n];
        if (kind == UNINITIALISED && detail & ~f->detail) { /* other bytes of the access: perhaps not of padding */
            f->detail |= detail;
            f->tag = tag;
            f->address = address;
        }
        f->count++;
    } else if (n == c->finding_room) c->lost++;
    else all[c->finding_count++] = (struct finding){kind, site, other_site, other_tag, tag, 1, address, detail};
    give(&c->lock);
}

static struct recorder *recorder_of(struct context *c, struct team *t, u32 index) {
    return (struct recorder *)((char *)(t + 1) + index * c->recorder_bytes);
}

/* Where in `more` a granule's writer is; its reader is BLOCK further. */
SCALAR static inline u64 in_more(u64 granule) { return granule + (granule & ~(u64)(BLOCK - 1)); }

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
    u64 origin, move, identity;
    u32 tag, first_tag, span; /* the first lane's, the group's first and their number */
    u32 epoch, site, flags, bytes;
    int local;
    u32 shift; /* of a function that MASKS: bits of its values before the first that is written */
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

SCALAR static inline u32 one_by_rule(u64 identity, u32 granule) {
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

static inline v8 load_eight(const u64 *more, u32 granule) {
    v4 low, high;
    __builtin_memcpy(&low, more + in_more(granule), sizeof low);
    __builtin_memcpy(&high, more + in_more(granule + BLOCK), sizeof high);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

static inline void store_eight(u64 *more, u32 granule, v8 identities) {
    v4 low = __builtin_shufflevector(identities, identities, 0, 1, 2, 3), high = __builtin_shufflevector(identities, identities, 4, 5, 6, 7);
    __builtin_memcpy(more + in_more(granule), &low, sizeof low);
    __builtin_memcpy(more + in_more(granule + BLOCK), &high, sizeof high);
}

static inline void past_of_each(const struct access *a, const u64 *identities, u64 granules, u64 mine, struct past *p) {
    if (granules == 0) return;
    struct past all = {0, 0, 0};
    for (u32 n = 0; n < GRANULES; n += 8) {
        if (!(granules >> n & 0xff)) continue;
        v8 identity = load_eight(identities, n), who = identity & WHO;
        v8 ours = (v8)(((who - a->first_tag) & WHO) < (v8){0} + a->span);
        all.foreign |= bits_of(~ours, n);
        all.over |= bits_of(ours & (v8)(identity >> EPOCH_SHIFT < (v8){0} + a->epoch), n);
        all.own |= bits_of((v8)((identity & (WHO | ATOMIC)) == by_rule(mine, n)), n); /* others may have called atomic functions, too */
    }
    p->foreign |= all.foreign & granules;
    p->over |= all.over & granules;
    p->own |= all.own & granules;
}

/* Note whose some granules are now. */
static inline void note(const struct access *a, u64 *identity, u64 *by_it, u64 *by_more, u64 *more, u64 granules,
                        u64 mine) {
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
        u32 first = __builtin_ctzll(granules);
        if (granules == 1ull << first) more[in_more(first)] = one_by_rule(mine, first) | fixed;
        else for (u32 n = 0; n < GRANULES; n += 8) {
            u32 bits = granules >> n & 0xff;
            if (bits == 0) continue;
            v8 whose = by_rule(mine, n) | fixed;
            if (bits != 0xff) {
                unsigned char byte = bits;
                b8 narrow;
                __builtin_memcpy(&narrow, &byte, 1);
                v8 chosen = 0 - __builtin_convertvector(narrow, v8);
                whose = (whose & chosen) | (load_eight(more, n) & ~chosen);
            }
            store_eight(more, n, whose);
        }
        *by_it = rest;
        *by_more |= granules;
    }
}

/* A record that is being worked on, and what belongs to it. */
struct place { struct record *r; u64 *writers, *readers, *plain, *unwritten; struct local *local; u64 shared; };

SCALAR static inline void lock(struct record *r) {
    while (__atomic_fetch_or(&r->writer, LOCK, __ATOMIC_ACQUIRE) & LOCK) pause();
}

SCALAR static inline void unlock(struct record *r) { __atomic_store_n(&r->writer, r->writer & ~LOCK, __ATOMIC_RELEASE); }

static inline struct place open_place(const struct access *a, u64 number) {
    const struct shadow *h = a->shadow;
    u64 *more = &h->more[number << (h->record_shift + 1)];
    struct place p = {&h->records[number], more, more + BLOCK, h->plain ? &h->plain[number << h->record_shift] : 0,
                      h->unwritten ? &h->unwritten[number] : 0, a->local ? &h->local[number] : 0, h->shared};
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
    if (a->flags & MASKS) { /* of the dword's other bytes there is nothing else to compare with */
        value[0] >>= a->shift;
        return __builtin_memcmp((const void *)host, value, bytes) == 0;
    }
    int same = __builtin_memcmp((const void *)host, value, bytes) == 0;
    if (same || SITE_OF(other) != a->site || ((u32)other & WHO & ~63u) != (tag & ~63u)) return same;
    u32 theirs[4];
    for (u32 d = 0; d < 4; d++) theirs[d] = a->state->values[d * LANES + (other & 63)];
    return __builtin_memcmp(theirs, value, bytes) == 0;
}

/* The site, plus 1, by which a wavefront's lane was among those that read a granule of local memory at once; the sites are those
   that are reported with `site`. 0 if it was not, or has accessed other places since. */
static u32 in_crowd(const struct access *a, const struct recorder *r, u64 at, u32 lane, u32 site) {
    const struct site_facts *table = (const struct site_facts *)a->c->site_table;
    const struct site *s = (const struct site *)((const char *)r + RECORDER_HEAD_BYTES) + table[site].leader;
    if (s->known[EPOCH] != a->epoch + 1 || s->known[TAG] != r->tag || !(s->pattern_mask >> lane & 1)) return 0;
    for (u32 one = site;; one = table[one].next) {
        u32 bytes = table[one].facts >> 8 & 0xff, offset = s->low[lane] + s->known[BASE] + table[one].delta;
        if (at >= offset >> a->c->granule_shift && at <= (offset + bytes - 1) >> a->c->granule_shift) return one + 1;
        if (table[one].next == 0) return 0;
    }
}

/* A lane that was among those that read a granule of local memory at once, by the site or one that is reported with it: its number
   and its site; the lane itself and the site that is known if it has accessed other places since. */
static void one_of_crowd(const struct access *a, u64 at, u32 tag, u32 site, u32 *other, u32 *other_site) {
    struct team *t = a->team;
    *other = tag;
    *other_site = site;
    for (u32 n = 0; n < t->begun; n++) {
        const struct recorder *r = recorder_of(a->c, t, n);
        if (r->in_step && r->tag == (tag & ~63u)) continue;
        for (u32 l = 0; l < LANES; l++) {
            u32 found = r->tag + l == tag ? 0 : in_crowd(a, r, at, l, site);
            if (found == 0) continue;
            *other = r->tag + l;
            *other_site = found - 1;
            return;
        }
    }
}

/* Whether another access was by a lane of the same wavefront, whose barrier may lie between. */
static inline int in_step(const struct access *a, u32 tag, u64 other) {
    if (((u32)other & WHO & ~63u) != (tag & ~63u)) return 0;
    return recorder_of(a->c, a->team, (tag - a->first_tag) >> 6)->in_step;
}

/* Whether a barrier lies between another access and one by a lane, or what else orders them. */
static inline int over(const struct access *a, u64 other) { return of_group(a, other & WHO) && other >> EPOCH_SHIFT < a->epoch; }

static inline int ordered(const struct access *a, u32 tag, u64 other) {
    return over(a, other) || (other & WHO) == tag || in_step(a, tag, other);
}

static inline struct site_facts *facts_of(const struct access *a, u32 site) { return (struct site_facts *)a->c->site_table + site; }

/* Who wrote a granule last. */
static inline u64 writer_of(const struct place *at, u32 granule) {
    const struct record *r = at->r;
    return r->written >> granule & 1 ? (r->writer & ~(WHO | LOCK)) | one_by_rule(r->writer, granule) : at->writers[in_more(granule)];
}

/* A lane's plain access where the last to write was an atomic function. */
static void beside_atomics(const struct access *a, const struct place *at, u32 granule, u32 tag, u64 last, u64 host, u64 address) {
    if (over(a, last)) return;
    u32 who = last & WHO, others = who == NOBODY || (who == tag && last & OTHERS);
    if (others || !ordered(a, tag, last))
        report(a->c, RACE, a->site, tag, SITE_OF(last), others ? tag | MANY : who, address, who == NOBODY ? WROTE_ELSEWHERE : WROTE);
    u64 plain = at->plain[granule];
    if (plain && !ordered(a, tag, plain) && !(a->flags & WRITES && same_value(a, tag, host, plain)))
        report(a->c, RACE, a->site, tag, SITE_OF(plain), plain & WHO, address, WROTE);
}

/* A lane's atomic function beside plain reads, by `other` and, if `many`, further work-items: a race, but where work-items look before
   whether it is worth while. `own`: the lane has read it itself. */
static void beside_reads(const struct access *a, u32 tag, u32 other, u32 site, u32 many, int own, u64 address) {
    struct site_facts *read = facts_of(a, site);
    if (a->flags & MONOTONE && own && !(read->facts & LOOKS_FIRST)) read->facts |= LOOKS_FIRST;
    if (!(read->facts & LOOKS_FIRST) && (many || other != tag)) report(a->c, RACE, a->site, tag, site, other | many, address, 0);
}

/* A lane's atomic function; `writes` if it is known to change memory, or may. */
static void update(const struct access *a, struct place at, u64 number, u32 granule, u32 tag, int writes, u64 address) {
    struct record *r = at.r;
    u64 bit = 1ull << granule, mine = a->identity | tag | ATOMIC, last = 0, plain = 0;
    if ((r->written | r->writers) & bit) {
        last = writer_of(&at, granule);
        plain = last & ATOMIC ? at.plain[granule] : last | ATOMIC;
    }
    if (plain && !ordered(a, tag, plain)) report(a->c, RACE, a->site, tag, SITE_OF(plain), plain & WHO, address, WROTE);
    int seen = ((r->read | r->readers) & bit) != 0;
    u64 reader = !seen ? 0 : r->read & bit ? (r->reader & ~WHO) | one_by_rule(r->reader, granule) : at.readers[in_more(granule)];
    if (!writes) { /* a read, for plain writes by others; plain reads are of more interest */
        if (!seen || (over(a, reader) && !(r->groups & bit))) {
            note(a, &r->reader, &r->read, &r->readers, at.readers, bit, a->identity | tag | (u64)ALL_THE_SAME << RULE_SHIFT);
            r->several &= ~bit;
        } else if (facts_of(a, SITE_OF(reader))->facts & IS_ATOMIC && (reader & WHO) != tag)
            r->several |= bit;
        return;
    }
    if (seen && !(facts_of(a, SITE_OF(reader))->facts & IS_ATOMIC)) {
        u32 many = r->several & bit ? MANY : 0;
        int own = (reader & WHO) == tag || (many && !((reader ^ tag) & WHO & ~63u)); /* lanes that read at once count as one another */
        if ((!over(a, reader) || r->groups & bit) && (many || !in_step(a, tag, reader)))
            beside_reads(a, tag, reader & WHO, SITE_OF(reader), many, own, address);
    }
    if (a->local) {
        u32 site = at.local->crowd_site, other = tag, whose = site;
        if (at.local->crowd_epoch == a->epoch + 1 && at.local->crowd & bit) {
            int own = a->flags & MONOTONE && in_crowd(a, recorder_of(a->c, a->team, (tag - a->first_tag) >> 6), number, tag & 63, site);
            if (!own && !(facts_of(a, site)->facts & LOOKS_FIRST)) one_of_crowd(a, number, tag, site, &other, &whose);
            if (own || other == tag || !in_step(a, tag, other)) beside_reads(a, tag, other, whose, MANY, own, address);
        }
        at.local->wrote_epoch = a->epoch + 1;
    }
    if (last & ATOMIC) {
        u32 who = last & WHO;
        if (!of_group(a, who)) mine |= NOBODY;
        else if (!over(a, last) && (who != tag || last & OTHERS)) mine |= OTHERS;
    } else
        at.plain[granule] = plain;
    if (plain && !over(a, plain)) mine |= UNDER;
    at.writers[in_more(granule)] = mine;
    r->written &= ~bit;
    r->writers |= bit;
    if (at.unwritten) *at.unwritten &= ~bit;
}

/* A lane's access of a granule; 1 if it reads what nobody has written. */
static int one(const struct access *a, struct place at, u64 number, u32 tag, u64 host, u64 address, int updates) {
    struct record *r = at.r;
    u32 granule = number & ((1u << a->shadow->record_shift) - 1);
    u64 bit = 1ull << granule, mine = a->identity | tag | (u64)ALL_THE_SAME << RULE_SHIFT;
    u32 atomic = a->flags & IS_ATOMIC, writes = a->flags & WRITES;
    int known = ((r->written | r->writers) & bit) != 0, seen = ((r->read | r->readers) & bit) != 0;
    int unwritten = (a->local ? !known : at.unwritten && *at.unwritten & bit) && (!writes || atomic);
    if (atomic) {
        update(a, at, number, granule, tag, updates, address);
        return unwritten;
    }
    if (known) {
        u64 w = writer_of(&at, granule);
        if (w & ATOMIC) beside_atomics(a, &at, granule, tag, w, host, address);
        else if (!ordered(a, tag, w) && !(writes && same_value(a, tag, host, w)))
            report(a->c, RACE, a->site, tag, SITE_OF(w), w & WHO, address, WROTE);
    }
    u64 reader = 0;
    int past = 0;
    if (a->local && !writes) at.local->read_epoch = a->epoch + 1;
    if (seen) {
        reader = r->read & bit ? (r->reader & ~WHO) | one_by_rule(r->reader, granule) : at.readers[in_more(granule)];
        past = over(a, reader) && !(r->groups & bit);
    }
    if (writes && a->local) {
        u32 other, site;
        if (at.local->crowd_epoch == a->epoch + 1 && at.local->crowd & bit) {
            one_of_crowd(a, number, tag, at.local->crowd_site, &other, &site);
            if (!in_step(a, tag, other)) report(a->c, RACE, a->site, tag, site, other | MANY, address, 0);
            seen = 0;
        }
        at.local->crowd &= ~bit;
        at.local->wrote_epoch = a->epoch + 1;
    }
    if (writes) {
        u32 many = r->several & bit ? MANY : 0;
        if (seen && !past && !in_step(a, tag, reader) && ((reader & WHO) != tag || many))
            report(a->c, RACE, a->site, tag, SITE_OF(reader), (reader & WHO) | many, address, 0);
        note(a, &r->writer, &r->written, &r->writers, at.writers, bit, mine);
        r->read &= ~bit;
        r->readers &= ~bit;
        r->several &= ~bit;
        r->groups &= ~bit;
        if (at.unwritten) *at.unwritten &= ~bit;
    } else if (!seen || past || facts_of(a, SITE_OF(reader))->facts & IS_ATOMIC) {
        note(a, &r->reader, &r->read, &r->readers, at.readers, bit, mine);
        r->several &= ~bit;
    } else {
        if ((reader & WHO) != tag) r->several |= bit;
        if (!of_group(a, reader & WHO)) r->groups |= bit;
    }
    return unwritten;
}

/* A lane's access at `offset` from the shadow's beginning; `updates`: an atomic function that may change memory. */
static void lane_access(const struct access *a, u64 offset, u32 tag, u64 host, u64 address, int updates) {
    u32 shift = a->c->granule_shift, each = 1u << shift;
    u64 last = (offset + a->bytes - 1) >> shift, unwritten = 0; /* bytes of the access */
    for (u64 at = offset >> shift; at <= last && at < a->shadow->count; at++) {
        struct place p = open_place(a, at >> a->shadow->record_shift);
        u64 bytes = one(a, p, at, tag, host, address, updates) ? (1ull << each) - 1 : 0;
        close_place(p);
        u64 start = at << shift;
        unwritten |= start < offset ? bytes >> (offset - start) : bytes << (start - offset);
    }
    unwritten &= ~0ull >> (64 - (a->bytes < 64 ? a->bytes : 64));
    if (unwritten) report(a->c, UNINITIALISED, a->site, tag, 0, 0, address, unwritten);
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
            present = first >= place ? lanes >> (first - place) : lanes << (place - first);
            present &= ~0ull >> (GRANULES - (room >> shift));
            if (present == 0) continue;
            granules = (spread(present, shift) * ((1ull << each) - 1)) << within;
        }
        const struct record *r = &h->records[number];
        /* Memory that several groups read: without a lock, as nothing changes. */
        u64 changing = granules & (~r->groups | r->written | r->writers);
        if (!a->local && !writes && !changing && !h->unwritten) continue;
        struct place p = open_place(a, number);
        u64 mine = identity | (same ? tag : (tag + first - place) & WHO);
        int fine = writes ? write_granules(a, p, granules, mine) : read_granules(a, p, granules, mine, crowd);
        close_place(p);
        if (fine) continue;
        if (same) return lanes;
        if (!dense) left |= first >= place ? present << (first - place) : present >> (place - first);
        else /* the lanes from the first granule's to the last's */
            left |= (~0ull << (((start + __builtin_ctzll(granules)) >> shift) - place)) &
                    ~0ull >> (63 - (((start + 63 - __builtin_clzll(granules)) >> shift) - place));
    }
    return left;
}

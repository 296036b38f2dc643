/* Accesses of a wavefront to local memory in; whether they are as the site's last ones, and noted at once, out, for check.c.

   Lanes mostly lie to each other as they did before: such a pattern is kept with the site, with the granules that it has. */

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

SCALAR static inline u32 odd_bits(u32 bytes) { return bytes >= 4 ? 3 : bytes - 1; }

/* The granules of a pattern in its record number `n`, if it begins at granule `move` of the first. */
SCALAR static inline u64 of_pattern(const u64 *granules, u32 words, u32 n, u32 move) {
    u64 here = n < words ? granules[n] << move : 0;
    return n && move ? here | granules[n - 1] >> (GRANULES - move) : here;
}

/* Which granules all sites that are reported as one access. */
static void remember_chain(struct context *c, struct site *s, u32 number, u32 bytes) {
    const struct site_facts *table = (const struct site_facts *)c->site_table;
    u64 *all = (u64 *)s->lines + MOST_WORDS;
    const u64 *once = (const u64 *)s->lines;
    i32 least = 0;
    u32 last = 0;
    for (u32 site = number; (site = table[site].next);)
        if ((i32)table[site].delta < least) least = table[site].delta;
    __builtin_memset(all, 0, MOST_WORDS * 8);
    for (u32 site = number;; site = table[site].next) {
        u32 offset = table[site].delta - least, at = offset >> c->granule_shift, move = at % GRANULES;
        if (offset & odd_bits(bytes) || at + s->known[LAST] >= MOST_WORDS * GRANULES) return;
        for (u32 n = 0; n <= s->known[WORDS] && at / GRANULES + n < MOST_WORDS; n++)
            all[at / GRANULES + n] |= of_pattern(once, s->known[WORDS], n, move);
        if (at + s->known[LAST] > last) last = at + s->known[LAST];
        if (table[site].next == 0) break;
    }
    s->known[CHAIN_WORDS] = last / GRANULES + 1;
    s->known[CHAIN_LAST] = last;
    s->known[CHAIN_LEAST] = least;
}

/* Keep the pattern, and which granules are accessed if all are by several lanes, or each by one. */
static void remember(struct context *c, struct site *s, u32 number, u64 mask, u32 first, u32 bytes) {
    u64 *once = (u64 *)s->lines, again[MOST_WORDS] = {0}, both = 0, single = 0;
    u32 least = 0, last = 0, shift = c->granule_shift, each = bytes >> shift;
    v16 start = splat(first), wrong = {0}, wanted = count_up() * bytes;
    for (u32 p = 0; p < 4; p++) {
        v16 offset = (part_of(s->low, p) - start) & lane_mask(mask, p);
        ((v16 *)s->pattern)[p] = offset;
        wrong |= (offset ^ wanted) & lane_mask(mask, p);
        wanted += splat(16 * bytes);
    }
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left);
        if ((i32)s->pattern[l] < (i32)least) least = s->pattern[l];
    }
    s->pattern_mask = mask;
    s->known[WORDS] = s->known[CHAIN_WORDS] = 0;
    s->known[ROW] = mask & 1 && !(mask & (mask + 1)) && each && !(bytes & (bytes - 1)) && !any(wrong);
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
    if (both) remember_chain(c, s, number, bytes);
}

/* Keep where a crowd reads, and whose it is: see one_of_crowd. */
SCALAR static inline void keep_crowd(struct site *s, const struct recorder *r, u32 offset) {
    s->known[BASE] = offset;
    s->known[EPOCH] = r->epoch + 1;
    s->known[TAG] = r->tag;
}

/* Lanes read local memory, several each granule: 1, and it is noted, if nothing is to be reported. `from`: the least address;
   `last`: of its granules, which `granules` has, from it on. */
SCALAR static inline int crowd_reads(const struct shadow *h, const u64 *granules, u32 count, u32 last, u32 site, u32 from,
                                     u32 shift, u32 epoch) {
    u32 at = from >> shift, move = at % GRANULES, words = count + ((at + last) / GRANULES - at / GRANULES >= count);
    if (at + (u64)last >= h->count) return 0;
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern(granules, count, n, move);
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

/* The same for all sites that are reported as one, where they lie near each other. */
SCALAR static inline int chain_reads(struct wave *w, const struct site *s, u32 number, u32 offset, u32 first) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct site_facts *table = (const struct site_facts *)c->site_table;
    u32 bytes = table[number].facts >> 8 & 0xff, from = offset + first + s->known[LEAST] + s->known[CHAIN_LEAST];
    return s->known[CHAIN_WORDS] && !(from & odd_bits(bytes)) &&
           crowd_reads(&r->team->local, (const u64 *)s->lines + MOST_WORDS, s->known[CHAIN_WORDS], s->known[CHAIN_LAST], number,
                       from, c->granule_shift, r->epoch);
}

/* Lanes access granules of their own, as the pattern says: 1, and it is noted, if nobody else accesses these until the next
   barrier. */
SCALAR static inline int each_its_own(struct wave *w, const struct site *s, u32 site, u32 offset, u64 mask) {
    struct context *c = (struct context *)w->hooks[0];
    struct recorder *r = (struct recorder *)w->hooks[1];
    const struct shadow *h = &r->team->local;
    u32 facts = ((const struct site_facts *)c->site_table)[site].facts, bytes = facts >> 8 & 0xff, writes = facts & WRITES;
    u32 shift = c->granule_shift, each = bytes >> shift, now = r->epoch + 1, start = s->low[__builtin_ctzll(mask)];
    u32 at = (offset + start + s->known[LEAST]) >> shift, move = at % GRANULES;
    u32 words = s->known[WORDS] + ((at + s->known[LAST]) / GRANULES - at / GRANULES >= s->known[WORDS]);
    if ((offset + start) & odd_bits(bytes) || at + (u64)s->known[LAST] >= h->count) return 0;
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern((const u64 *)s->lines, s->known[WORDS], n, move);
        const struct record *record = &h->records[at / GRANULES + n];
        const struct local *l = &h->local[at / GRANULES + n];
        u64 known = record->written | record->writers;
        if (here & ~known && !writes) return 0;
        if (l->wrote_epoch == now && (here & known || !writes)) return 0;
        if (l->read_epoch == now && here & (record->read | record->readers)) return 0;
        if (writes && l->crowd_epoch == now && here & l->crowd) return 0;
    }
    for (u32 n = 0; n < words; n++) {
        u64 here = of_pattern((const u64 *)s->lines, s->known[WORDS], n, move);
        if (here == 0) continue;
        struct record *record = &h->records[at / GRANULES + n];
        struct local *l = &h->local[at / GRANULES + n];
        record->read &= ~here;
        record->readers &= ~here;
        record->several &= ~here;
        if (writes) {
            record->written &= ~here;
            record->writers |= here;
            l->wrote_epoch = now;
        } else {
            record->readers |= here;
            l->read_epoch = now;
        }
    }
    u64 *more = h->more + (writes ? 0 : BLOCK), mine = (u64)site << SITE_SHIFT | (u64)r->epoch << EPOCH_SHIFT | r->tag;
    if (each == 1 && mask == ~0ull) {
        for (u32 l = 0; l < LANES; l++) {
            u32 n = (offset + s->low[l]) >> shift;
            more[in_more(n)] = mine + l;
        }
        return 1;
    }
    for (u64 left = mask; left; left &= left - 1) {
        u32 l = __builtin_ctzll(left), granule = (offset + s->low[l]) >> shift;
        for (u32 n = granule; n < granule + each; n++) more[in_more(n)] = mine + l;
    }
    return 1;
}

/* Accesses to local memory that a pattern, which has been remembered, does for: those that remain are returned. */
static inline u64 by_pattern(struct wave *w, const struct access *a, struct site *s, u32 offset, u64 mask) {
    u32 first = s->low[__builtin_ctzll(mask)];
    if (s->known[WORDS] == 0 || (offset + first) & odd_bits(a->bytes)) return mask;
    if (!s->known[CROWD]) return each_its_own(w, s, a->site, offset, mask) ? 0 : mask;
    if (a->flags & WRITES) return mask;
    u32 from = offset + first + s->known[LEAST];
    if (!crowd_reads(a->shadow, (const u64 *)s->lines, s->known[WORDS], s->known[LAST], a->site, from, a->c->granule_shift,
                     a->epoch))
        return mask;
    keep_crowd(s, (const struct recorder *)w->hooks[1], offset);
    return 0;
}

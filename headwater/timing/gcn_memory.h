/* Memory as a compute unit of the GCN kind reaches it: accesses of wavefronts in, the times of their ends out. */

static u64 code_line(struct gpu *g, struct unit *u, u32 line, u64 time) {
    const struct chip *k = g->m.chip;
    struct cache *c = u->code;
    u32 set = set_of_line(c, line);
    u64 *there = cache_find(c, set, line), back = k->l2_cycles / 2;
    if (there) return later(time, *there);
    return *cache_place(c, set, line) = memory_access(&g->m.memory, line, time + k->l2_cycles - back, u->die) + back;
}

static u64 scalar_load(struct gpu *g, struct unit *u, const struct op *op, struct wave *w, u64 time) {
    const struct chip *k = g->m.chip;
    struct access a;
    u64 start = later(time, u->scalar_free), done = start + k->scalar_cycles;
    u->scalar_free = start + op->cycles;
    if (op->sites == 0) return done;
    if (!reader_access(&w->reader, op->site, &a)) { g->m.failed = TRACE_SHORT; return done; }
    u64 back = (k->l2_cycles - k->scalar_cycles) / 2;
    for (u32 line = a.first; line < a.first + a.count; line++) {
        struct cache *c = u->scalar;
        u32 set = set_of_line(c, line);
        u64 *there = cache_find(c, set, line);
        if (!there) {
            there = cache_place(c, set, line);
            *there = memory_access(&g->m.memory, line, start + k->scalar_cycles + back, u->die) + back;
        }
        done = later(done, *there);
    }
    return done;
}

/* The lines of an access, and their places. */
struct lines {
    u32 count, bits; /* bits: of a line's number, those that lines of one bank that follow each other do not share */
    u32 line[MOST_LINES];
    struct places at;
};

/* The place of a line is that of another one, too, of the same bank. */
static inline void place_again(struct lines *l, u32 to, u32 from) {
    l->line[to] = l->line[from];
    l->at.set[to] = l->at.set[from];
    l->at.tag[to] = l->at.tag[from];
}

static inline u32 same_bank(const struct lines *l, u32 n, u32 other) { return (l->line[n] ^ l->line[other]) >> l->bits == 0; }

/* Stores and atomic operations on lines, of which the address unit has one after the other from `start` on: when the last is
   acknowledged. `work`: bytes that a bank has to serve for each line. */
static u64 write_lines(struct gpu *g, struct unit *u, const struct lines *l, u64 start, u64 pace, u32 work) {
    const struct chip *k = g->m.chip;
    u64 there = (k->l2_cycles - k->l1_cycles) / 2, back = k->l2_cycles - there, done = start;
    for (u32 n = 0, count; n < l->count; n += count) { /* lines of one bank go on together */
        for (count = 1; n + count < l->count && count < TOGETHER && same_bank(l, n, n + count);) count++;
        u64 at = later(start + (n * pace >> 32), u->miss_free);
        u->miss_free = at + count;
        done = later(done, memory_ask(&g->m.memory, &l->at, n, count, l->line[n], at + there, 1, work) + back);
    }
    return done;
}

/* Loads of lines, likewise. `past`: the L1 is not asked, but knows what comes. */
static u64 read_lines(struct gpu *g, struct unit *u, struct lines *l, u64 start, u64 pace, u32 past) {
    const struct chip *k = g->m.chip;
    struct cache *l1 = &u->l1;
    u32 shift = k->l1_line_shift, sets[MOST_LINES];
    u64 there = (k->l2_cycles - k->l1_cycles) / 2, back = k->l2_cycles - k->l1_cycles - there, done = start;
    struct divisor of_sets = l1->of_sets;
    for (u32 n = 0; n < l->count; n++) sets[n] = rest(l->line[n] >> shift, &of_sets);
    for (u32 n = 0; n < l->count;) { /* lines of one bank go on together */
        u32 first = n, missing = n;
        u64 at = start + (n * pace >> 32), *ready[TOGETHER];
        do {
            u32 own = l->line[n] >> shift;
            u64 *known = cache_find(l1, sets[n], own);
            if (known && !past) {
                done = later(done, later(at, *known) + k->l1_cycles);
                continue;
            }
            if (!known) known = cache_place(l1, sets[n], own);
            *known = at;
            ready[missing - first] = known;
            if (missing < n) place_again(l, missing, n);
            missing++;
        } while (++n < l->count && missing - first < TOGETHER && same_bank(l, first, n));
        u32 count = missing - first;
        if (count == 0) continue;
        at = later(at, later(u->miss_free, u->miss_done[(u->misses + count - 1) % MISSES]));
        u->miss_free = at + count;
        u64 answer = memory_ask(&g->m.memory, &l->at, first, count, l->line[first], at + there, 0, 64) + back;
        done = later(done, answer + k->l1_cycles);
        u32 one = 0;
        do { /* most often there is one alone */
            u->miss_done[u->misses++ % MISSES] = answer;
            *ready[one] = answer;
        } while (++one < count);
    }
    return done;
}

/* One access of a wavefront to cache lines; returns when the wavefront has its answer. */
static u64 vector_lines(struct gpu *g, struct unit *u, const struct op *op, const struct access *a, u64 time) {
    const struct chip *k = g->m.chip;
    u32 cycles = a->flags & LINEAR ? op->cycles : op->other;
    u32 raw_load = !(op->flags & WRITES || op->more & FORMATTED);
    if (a->flags & UNIFORM) cycles = raw_load ? k->uniform_cycles[op->more >> 4] : op->cycles;
    else if (!(a->flags & LINEAR)) {
        u32 seen = a->cycles < k->address_cycles_most ? a->cycles : k->address_cycles_most;
        if (seen < 16 && op->cycles < 16) cycles = seen; /* groups of lanes follow each other */
        else cycles = seen > cycles ? seen : cycles;
        if (a->count * k->line_cycles > cycles) cycles = a->count * k->line_cycles;
    }
    u64 start = later(time, u->address_free), done = start;
    u->address_free = start + cycles;
    g->address_busy += cycles;
    if (op->flags & WRITES) { g->stores++; g->store_lines += a->count; }
    else { g->loads++; g->load_lines += a->count; }
    if (a->count) {
        struct lines l;
        u32 writes = (op->flags & (WRITES | ATOMIC)) != 0, work = 64;
        u64 pace = ((u64)cycles << 32) / a->count + 1; /* exact, as both are small */
        lines_of(a, l.line);
        l.count = a->count;
        l.bits = k->interleave_line_bits;
        memory_locate(&g->m.memory, l.line, a->count, &l.at, u->die);
        if (a->count > 1) memory_expect(&g->m.memory, &l.at, a->count, writes);
        if (op->flags & ATOMIC) {
            work *= a->flags & UNIFORM ? a->active : (a->active + a->count - 1) / a->count;
            g->m.memory.atomics += a->count;
        }
        done = writes ? write_lines(g, u, &l, start, pace, work) : read_lines(g, u, &l, start, pace, op->flags & GLC);
    }
    u->address_free = later(u->address_free, u->miss_free);
    if (op->flags & WRITES && !(op->flags & RETURNS)) return done;
    u32 data = (a->active * (op->more >> 4) * 4 + k->l1_bytes_per_cycle - 1) / k->l1_bytes_per_cycle;
    u64 first = done > data ? done - data : 0;
    u->return_free = later(u->return_free, first) + data;
    return later(done, u->return_free);
}

static u64 local_access(struct gpu *g, struct unit *u, const struct op *op, const struct access *a, u64 time) {
    u32 cycles = a->count > op->other ? a->count : op->other;
    u64 start = later(time, u->lds_free);
    u->lds_free = start + cycles;
    g->lds_busy += cycles;
    if (a->count > op->other) g->lds_conflicts += a->count - op->other;
    return start + g->m.chip->local_cycles + cycles;
}

static void count_vector(struct wave *w, u64 done) {
    u64 before = w->vm_done[w->vm_issued % RING];
    w->vm_done[++w->vm_issued % RING] = later(done, before);
}

static void count_other(struct wave *w, u64 done) {
    u64 before = w->lgkm_done[w->lgkm_issued % SHORT_RING];
    w->lgkm_done[++w->lgkm_issued % SHORT_RING] = later(done, before);
}

static void issue_vector(struct gpu *g, struct unit *u, struct wave *w, const struct op *op, u64 time) {
    u64 done = time + (op->sites ? 0 : g->m.chip->l1_cycles), local = 0, found = 0;
    struct access a;
    if (op->more & INVALIDATES) cache_clear(&u->l1);
    for (u32 n = 0; n < op->sites && !found; n++) {
        if (!reader_site(&w->reader, g->m.trace, op->site + n, &a)) continue; /* it has sites for two kinds of memory, and runs one of them */
        found = 1;
        if (a.active == 0) {
            u->address_free = later(time, u->address_free) + 4;
            done = later(done, u->address_free);
        } else if (op->flags & FLAT && a.first == 0) {
            local = local_access(g, u, op, &a, time);
        } else {
            done = later(done, vector_lines(g, u, op, &a, time));
        }
    }
    if (op->sites && !found) g->m.failed = TRACE_SHORT;
    done = later(done, local);
    count_vector(w, done);
    if (op->flags & FLAT) {
        count_other(w, done);
        w->lds_last = later(w->lds_last, local);
    }
    if (op->flags & WRITES) {
        w->export_done = later(w->export_done, u->address_free);
        w->stored = later(w->stored, done);
    }
    g->m.last = later(g->m.last, done);
}

static void issue_local(struct gpu *g, struct unit *u, struct wave *w, const struct op *op, u64 time) {
    struct access a;
    u64 done = time + g->m.chip->local_cycles;
    if (op->sites == 0) {
        u->lds_free = later(time, u->lds_free) + op->other;
        g->lds_busy += op->other;
    }
    for (u32 n = 0; n < op->sites; n++) {
        if (!reader_site(&w->reader, g->m.trace, op->site + n, &a)) { g->m.failed = TRACE_SHORT; break; }
        if (a.active) done = local_access(g, u, op, &a, time);
    }
    w->lds_last = later(w->lds_last, done);
    count_other(w, done);
}

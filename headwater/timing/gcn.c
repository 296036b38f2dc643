/* Compute units of the GCN kind: the paths of wavefronts in, the cycles that they take out.

   A SIMD is visited every fourth cycle and issues at most one instruction of each class, each from another wavefront (AMD,
   Graphics Cores Next (GCN) Architecture, "CU scheduling"). As what is shared is reserved when it is asked for, the time at
   which an access will have ended is known when it is issued; s_waitcnt turns into a time to go on at. */

static void end_wave(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time);

/* ---- wavefronts -------------------------------------------------------------------------------------------------- */

static inline void stall(struct gpu *g, struct unit *u, struct simd *x, u32 s, u32 slot, u32 op, u32 cause, u64 from, u64 to) {
    if (to <= from) return;
    count_stall(&g->m, &g->wave_cause[cause], op, to - from);
    x->why[slot] = cause;
    x->queued &= ~(1u << slot);
    note(&g->m.timeline, u->number, s, slot, cause, from, to - from, op);
}

/* The next instruction of the path; 0 after the last. */
static inline int step(struct gpu *g, struct wave *w) {
    if (++w->op < w->end) return 1;
    i64 number = reader_segment(&w->reader, g->m.trace);
    if (number < 0) return 0;
    w->jumped = g->m.segments[w->segment].falls_to != number;
    w->segment = number;
    w->op = g->m.segments[number].first;
    w->end = g->m.segments[number].end;
    return 1;
}

static void settle(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time);

/* All wavefronts of a group that have not ended are at a barrier: let them go on. */
static void release(struct gpu *g, struct unit *u, struct group *p) {
    u32 period = g->m.chip->period;
    u64 go = p->latest + g->m.chip->barrier_cycles;
    p->arrived = 0;
    p->latest = 0;
    for (u32 n = 0; n < p->waves; n++) {
        u32 s = p->member[n] / SLOTS, slot = p->member[n] % SLOTS;
        struct simd *x = &u->simd[s];
        struct wave *w = &x->waves[slot];
        if (!(x->waiting >> slot & 1)) continue;
        x->waiting &= ~(1u << slot);
        u64 at = align(go, s, period);
        stall(g, u, x, s, slot, w->op, BARRIER_WAIT, w->stall_from, at);
        w->since = at;
        if (step(g, w)) settle(g, u, s, slot, at);
        else end_wave(g, u, s, slot, at);
    }
}

static void arrive(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time) {
    struct simd *x = &u->simd[s];
    struct group *p = &u->group[x->waves[slot].group];
    x->waves[slot].stall_from = time;
    x->waiting |= 1u << slot;
    x->ready[slot] = NEVER;
    p->latest = later(p->latest, time);
    if (++p->arrived == p->left) release(g, u, p);
}

static inline void classify(struct simd *x, struct wave *w, u32 slot, u32 kind) {
    x->of_class[w->kind] &= ~(1u << slot);
    x->of_class[kind] |= 1u << slot;
    w->kind = kind;
}

/* From `time` on the wavefront would run the instruction that it has come to: when can it? */
static void settle(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time) {
    struct simd *x = &u->simd[s];
    struct wave *w = &x->waves[slot];
    const struct chip *k = g->m.chip;
    u32 period = k->period;
    for (;;) {
        const struct op *op = &g->m.ops[w->op];
        if ((op->flags & NEW_LINE || w->jumped) && op->line != w->line) {
            w->line = op->line;
            u64 there = align(code_line(g, u, op->line, time), s, period);
            stall(g, u, x, s, slot, w->op, FETCH, time, there);
            time = later(time, there);
        }
        w->jumped = 0;
        if (op->kind < CLASSES) {
            u64 free = time;
            u32 cause = DEPEND;
            if (op->flags & NEEDS_MASK && w->mask_ready > free) free = w->mask_ready;
            if (op->kind == VMEM && w->vm_issued >= k->vm_counter) {
                u64 one = w->vm_done[(w->vm_issued - k->vm_counter + 1) % RING];
                if (one > free) { free = one; cause = VMEM_WAIT; }
            }
            free = align(free, s, period);
            stall(g, u, x, s, slot, w->op, cause, time, free);
            w->since = free;
            x->ready[slot] = free;
            x->next = sooner(x->next, free);
            u->next = sooner(u->next, free);
            classify(x, w, slot, op->kind);
            /* Others will issue before it does: time enough to bring what it needs. */
            if (op->kind == BRANCH) __builtin_prefetch(w->reader.path);
            else if (op->sites) __builtin_prefetch(&w->reader.cursors[op->site], 1);
            return;
        }
        u64 until = time + k->issue_cycles, cause = DEPEND;
        g->m.counts[w->op]++;
        g->m.instructions++;
        if (op->kind == WAIT) {
            u64 reached = 0;
            if (w->vm_issued > op->vm && op->vm < RING) {
                reached = w->vm_done[(w->vm_issued - op->vm) % RING];
                cause = VMEM_WAIT;
            }
            if (w->lgkm_issued > op->lgkm && op->lgkm < SHORT_RING) {
                u64 one = w->lgkm_done[(w->lgkm_issued - op->lgkm) % SHORT_RING];
                if (one > reached) {
                    reached = one;
                    cause = w->smem_last > w->lds_last ? SMEM_WAIT : LDS_WAIT;
                }
            }
            if (op->exp < 7 && w->export_done > reached) { reached = w->export_done; cause = VMEM_WAIT; }
            reached = align(reached, s, period);
            stall(g, u, x, s, slot, w->op, cause, time, reached);
            until = later(until, reached);
            g->m.spent[w->op] += until - later(time, reached);
        } else if (op->kind == NOP) {
            until = align(time + op->cycles, s, period);
            stall(g, u, x, s, slot, w->op, DEPEND, time, until);
        } else if (op->kind == BARRIER) {
            if (u->group[w->group].waves > 1) { arrive(g, u, s, slot, time); return; }
            g->m.spent[w->op] += until - time;
        } else {
            end_wave(g, u, s, slot, time);
            return;
        }
        time = until;
        if (!step(g, w)) { end_wave(g, u, s, slot, time); return; }
    }
}

static void start_wave(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time) {
    struct simd *x = &u->simd[s];
    struct wave *w = &x->waves[slot];
    x->starting &= ~(1u << slot);
    if (!wave_begin(&g->m, &w->reader, u->group[w->group].number, w->number)) return;
    w->vm_issued = w->lgkm_issued = 0;
    w->vm_done[0] = w->lgkm_done[0] = 0; /* before the first; the others are written before they are read */
    w->export_done = w->stored = w->lds_last = w->smem_last = w->mask_ready = 0;
    w->segment = w->reader.now.segment;
    w->op = g->m.segments[w->segment].first;
    w->end = g->m.segments[w->segment].end;
    w->jumped = 1;
    w->line = ~0u;
    w->since = w->begun = time;
    settle(g, u, s, slot, time);
}

/* Give a group to a compute unit that has room. */
static void place_group(struct gpu *g, struct unit *u, u64 time) {
    const struct chip *k = g->m.chip;
    u32 at = __builtin_ctzll(~u->groups), engine = u->number % k->engines, waves = g->m.trace->waves_per_group;
    struct group *p = &u->group[at];
    u->groups |= 1ull << at;
    u->resident++;
    u64 *next = &g->next_of_die[u->die];
    *p = (struct group){.number = *next, .waves = waves, .left = waves};
    *next += k->dies;
    trace_expect(g->m.trace, *next * waves);
    u64 begin = machine_dispatch(&g->m, engine, time + k->launch_cycles, waves * k->wave_dispatch_cycles);
    for (u32 n = 0; n < waves; n++) {
        u32 best = 0;
        for (u32 s = 1; s < k->simds; s++)
            if (__builtin_popcount(u->simd[s].alive) < __builtin_popcount(u->simd[best].alive)) best = s;
        struct simd *x = &u->simd[best];
        u32 slot = __builtin_ctz(~x->alive);
        u64 start = align(begin + (n + 1) * k->wave_dispatch_cycles, best, k->period);
        if (x->alive == 0) {
            g->empty += start > x->covered ? start - x->covered : 0;
            x->covered = later(x->covered, start);
        }
        x->alive |= 1u << slot;
        x->starting |= 1u << slot;
        x->ready[slot] = start;
        x->why[slot] = START;
        x->queued &= ~(1u << slot);
        x->next = sooner(x->next, start);
        u->next = sooner(u->next, start);
        x->waves[slot].group = at;
        x->waves[slot].number = n;
        p->member[n] = best * SLOTS + slot;
        g->m.waves++;
    }
}

static void end_wave(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time) {
    struct simd *x = &u->simd[s];
    struct wave *w = &x->waves[slot];
    struct group *p = &u->group[w->group];
    x->alive &= ~(1u << slot);
    x->ready[slot] = NEVER;
    x->of_class[w->kind] &= ~(1u << slot);
    if (w->stored > time) { /* it keeps its place until its stores are acknowledged */
        stall(g, u, x, s, slot, w->op < w->end ? w->op : w->end - 1, VMEM_WAIT, time, w->stored);
        time = w->stored;
    }
    wave_end(&g->m, u->number, s, slot, CAUSES, w->begun, time, p->number * p->waves + w->number, 1);
    p->latest = later(p->latest, time);
    if (--p->left) {
        if (p->arrived == p->left) release(g, u, p); /* those that have ended are not waited for */
        return;
    }
    u->groups &= ~(1ull << w->group);
    u->resident--;
    g->m.ended_groups++;
    if (g->next_of_die[u->die] < g->m.groups) place_group(g, u, p->latest);
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */

static void issue(struct gpu *g, struct unit *u, u32 s, u32 slot, u64 time) {
    struct simd *x = &u->simd[s];
    struct wave *w = &x->waves[slot];
    const struct chip *k = g->m.chip;
    const struct op *op = &g->m.ops[w->op];
    u64 until = time + k->issue_cycles;
    g->m.counts[w->op]++;
    g->m.instructions++;
    if (time > w->since) {
        g->m.stalled[w->op] += time - w->since;
        g->wave_cause[ISSUE] += time - w->since;
    }
    switch (op->kind) {
    case VALU:
        until = time + op->cycles;
        x->valu_free = until;
        g->valu_busy += op->cycles;
        if (op->more & MATRIX) {
            x->matrix_free = time + op->other;
            g->valu_busy += op->other - op->cycles;
        }
        if (op->flags & MAKES_MASK) w->mask_ready = time + k->mask_cycles;
        break;
    case SCALAR:
        if (op->more & SMEM) {
            u64 done = scalar_load(g, u, op, w, time);
            w->smem_last = later(w->smem_last, done);
            count_other(w, done);
        } else {
            until = time + op->cycles;
        }
        g->scalar_busy++;
        break;
    case VMEM:
        issue_vector(g, u, w, op, time);
        break;
    case LDS:
        issue_local(g, u, w, op, time);
        break;
    case BRANCH:
        g->branch_busy++;
        if (reader_peek(&w->reader, g->m.trace) != g->m.segments[w->segment].falls_to) {
            until = time + k->taken_cycles;
            g->taken++;
        }
        break;
    }
    g->m.spent[w->op] += until - w->since;
    u32 more = step(g, w);
    if (more) settle(g, u, s, slot, until);
    else end_wave(g, u, s, slot, until);
}

/* Which wavefronts may issue at `time`, and when the first of the others may. */
static inline u32 ready_at(const struct simd *x, u64 time, u64 *others) {
    w16 now = {0}, never = {0};
    now += (i64)time;
    never += (i64)NEVER;
    w16 is_later = (w16)(x->ready > now);
    *others = __builtin_reduce_min((x->ready & is_later) | (never & ~is_later));
    return ~bits16(__builtin_convertvector(is_later, b16)) & x->alive;
}

static inline u32 ready_before(const struct simd *x, u64 end) {
    w16 then = {0};
    return bits16(__builtin_convertvector(x->ready < then + (i64)end, b16));
}

static void visit(struct gpu *g, struct unit *u, u32 s) {
    struct simd *x = &u->simd[s];
    const struct chip *k = g->m.chip;
    u64 time = x->next, others;
    u32 ready = ready_at(x, time, &others);
    if (ready & x->starting) {
        for (u32 m = ready & x->starting; m; m &= m - 1) start_wave(g, u, s, __builtin_ctz(m), time);
        ready = ready_at(x, time, &others);
    }
    x->next = NEVER; /* who issues, or goes on because another does, says when it will be ready again */
    u32 issued = 0, cycles = k->issue_cycles;
    if (ready && x->covered < time) {
        u32 one = __builtin_ctz(ready);
        g->cause[x->queued >> one & 1 ? ISSUE : x->why[one]] += time - x->covered;
        x->covered = time;
    }
    u32 some = ready & x->of_class[VALU];
    if (some && x->valu_free <= time) {
        u32 slot = __builtin_ctz(some);
        const struct op *op = &g->m.ops[x->waves[slot].op];
        if (!(op->more & MATRIX) || x->matrix_free <= time) {
            cycles = op->cycles;
            issued |= 1u << slot;
            issue(g, u, s, slot, time);
        }
    }
    if ((some = ready & x->of_class[SCALAR] & ~issued)) {
        u32 slot = __builtin_ctz(some);
        issued |= 1u << slot;
        issue(g, u, s, slot, time);
    }
    if ((some = ready & x->of_class[VMEM] & ~issued) && u->address_free <= time + k->queue_cycles) {
        u32 slot = __builtin_ctz(some);
        issued |= 1u << slot;
        issue(g, u, s, slot, time);
    }
    if ((some = ready & x->of_class[LDS] & ~issued) && u->lds_free <= time + k->queue_cycles) {
        u32 slot = __builtin_ctz(some);
        issued |= 1u << slot;
        issue(g, u, s, slot, time);
    }
    if ((some = ready & x->of_class[BRANCH] & ~issued)) {
        u32 slot = __builtin_ctz(some);
        issued |= 1u << slot;
        issue(g, u, s, slot, time);
    }
    if (issued && time + cycles > x->covered) {
        g->cause[ISSUE] += time + cycles - x->covered;
        x->covered = time + cycles;
    }
    u32 left = ready & ~issued & x->alive;
    u64 next = sooner(x->next, others);
    if (left) {
        /* Of a queue that was full, three quarters are left when its SIMDs come back: soon enough, and not in vain. */
        u32 period = k->period, less = k->queue_cycles - k->queue_cycles / 4;
        x->queued |= left;
        if (left & (x->of_class[SCALAR] | x->of_class[BRANCH])) next = sooner(next, time + period);
        else {
            if (left & x->of_class[VALU]) {
                u64 free = x->valu_free;
                next = sooner(next, later(time + period, align(free, s, period)));
            }
            if (left & x->of_class[VMEM]) {
                u64 free = u->address_free > less ? u->address_free - less : 0;
                next = sooner(next, later(time + period, align(free, s, period)));
            }
            if (left & x->of_class[LDS]) {
                u64 free = u->lds_free > less ? u->lds_free - less : 0;
                next = sooner(next, later(time + period, align(free, s, period)));
            }
        }
    }
    x->next = next;
}

static u64 soonest(const struct unit *u, u32 simds, u32 *which) {
    u64 next = u->simd[0].next;
    *which = 0;
    for (u32 s = 1; s < simds; s++)
        if (u->simd[s].next < next) {
            next = u->simd[s].next;
            *which = s;
        }
    return next;
}

/* What replaying a compute unit up to `end` will want is far away in the host's memory by the time of its turn: ask for it
   before, step by step, as one thing says where the next is. */
static void fetch_ahead(const struct gpu *g, u32 n, u64 end, u32 step) {
    const struct chip *k = g->m.chip;
    const struct unit *u = &g->units[n % k->units];
    if (u->next >= end) return;
    for (u32 s = 0; s < k->simds; s++) {
        const struct simd *x = &u->simd[s];
        if (step == 0) {
            for (u32 at = 0; at < sizeof *x; at += 64) __builtin_prefetch((const u8 *)x + at, 1);
            continue;
        }
        for (u32 m = ready_before(x, end); m; m &= m - 1) {
            const struct wave *w = &x->waves[__builtin_ctz(m)];
            if (step == 1) {
                __builtin_prefetch(w, 1);
                __builtin_prefetch((const u8 *)w + 64, 1);
                continue;
            }
            const struct op *op = &g->m.ops[w->op];
            __builtin_prefetch(w->reader.path);
            __builtin_prefetch(&w->vm_done[w->vm_issued % RING], 1);
            if (op->sites) __builtin_prefetch(&w->reader.cursors[op->site], 1);
        }
    }
    const struct cache *l1 = &u->l1;
    if (step == 2)
        for (u32 set = 0; set < l1->sets; set++)
            for (u32 at = 0; at < l1->ready_at; at += 64) __builtin_prefetch(set_at(l1, set) + at, 1);
}

/* Go on until `most` more instructions have been issued or all is done. 0: done, 1: there is more, 2: an error. */
EXPORT u32 hw_gcn_run(struct gpu *g, u64 most) {
    const struct chip *k = g->m.chip;
    u64 stop = g->m.instructions + most;
    while (g->m.ended_groups < g->m.groups) {
        u64 low = NEVER;
        for (u32 n = 0; n < k->units; n++) low = sooner(low, g->units[n].next);
        if (!quantum_begin(&g->m, low)) break;
        u64 end = low + QUANTUM;
        u64 before = g->m.memory.dram.bytes;
        for (u32 n = 0; n < k->units; n++) {
            u32 turn = n + g->m.first;
            struct unit *u = &g->units[turn % k->units];
            fetch_ahead(g, turn + 3, end, 0);
            fetch_ahead(g, turn + 2, end, 1);
            fetch_ahead(g, turn + 1, end, 2);
            u32 s;
            u64 next = u->next < end ? soonest(u, k->simds, &s) : NEVER;
            if (next == NEVER) continue;
            do {
                visit(g, u, s);
                next = soonest(u, k->simds, &s);
            } while (next < end);
            u->next = next;
        }
        quantum_end(&g->m, g->m.memory.dram.bytes - before);
        if (g->m.instructions >= stop) break;
    }
    if (state_of(&g->m)) return state_of(&g->m);
    for (u32 n = 0; n < k->units; n++)
        for (u32 s = 0; s < k->simds; s++) {
            struct simd *x = &g->units[n].simd[s];
            g->empty += g->m.last > x->covered ? g->m.last - x->covered : 0;
        }
    return 0;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

EXPORT u64 hw_gcn_bytes(const struct chip *k) {
    u64 unit = sizeof(struct unit) + k->simds * SLOTS * (sizeof(struct wave) + READER_BYTES);
    unit += cache_bytes(k->l1_sets, k->l1_ways);
    u64 shared = cache_bytes(k->scalar_sets, k->scalar_ways) + cache_bytes(k->code_sets, k->code_ways);
    shared += 2 * (sizeof(struct cache) + 128) + 256;
    return sizeof(struct gpu) + k->units * (unit + shared + 1024) + machine_need(k) + 4096;
}

/* `memory`: zeros, hw_gcn_bytes of them. */
EXPORT struct gpu *hw_gcn_begin(const struct launch *from, u8 *memory) {
    const struct chip *k = from->chip;
    struct arena a = {memory, memory + hw_gcn_bytes(k)};
    struct gpu *g = give(&a, sizeof *g);
    machine_begin(&g->m, from, &a);
    g->units = give(&a, k->units * sizeof(struct unit));
    for (u32 n = 0; n < k->dies; n++) g->next_of_die[n] = n;
    struct cache *scalar = 0, *code = 0;
    for (u32 n = 0; n < k->units; n++) {
        struct unit *u = &g->units[n];
        u->number = n;
        u->die = (u64)n * k->dies / k->units;
        u->next = NEVER;
        if (n % k->units_per_scalar_cache == 0) {
            scalar = give(&a, sizeof *scalar);
            code = give(&a, sizeof *code);
            cache_begin(scalar, &a, k->scalar_sets, k->scalar_ways);
            cache_begin(code, &a, k->code_sets, k->code_ways);
        }
        u->scalar = scalar;
        u->code = code;
        cache_begin(&u->l1, &a, k->l1_sets, k->l1_ways);
        for (u32 s = 0; s < k->simds; s++) {
            struct simd *x = &u->simd[s];
            x->waves = give(&a, SLOTS * sizeof(struct wave));
            x->next = NEVER;
            for (u32 slot = 0; slot < SLOTS; slot++) x->ready[slot] = NEVER;
        }
    }
    /* One wavefront's records after the other's, where large pages hold them: looking addresses up costs more than memory.
       Not in steps of a power of two, which would share few sets of the host's caches. */
    u8 *readers = give(&a, (u64)k->units * k->simds * SLOTS * READER_BYTES);
    for (u32 n = 0; n < k->units * k->simds * SLOTS; n++) {
        struct reader *r = &g->units[n / (k->simds * SLOTS)].simd[n / SLOTS % k->simds].waves[n % SLOTS].reader;
        r->memory = readers + (u64)n * READER_BYTES;
        r->room = READER_BYTES;
    }
    for (u32 turn = 0; turn < k->groups_per_unit; turn++)
        for (u32 n = 0; n < k->units; n++)
            if (g->next_of_die[g->units[n].die] < g->m.groups) place_group(g, &g->units[n], 0);
    return g;
}

/* What was found, as numbers in the order of `SUMS` in replay.py. */
EXPORT void hw_gcn_result(struct gpu *g, struct result *out) {
    const struct chip *k = g->m.chip;
    u64 l1[2] = {0}, scalar[2] = {0}, code[2] = {0}, banks = 0, channels = 0;
    struct cache *last = 0;
    for (u32 n = 0; n < k->units; n++) {
        struct unit *u = &g->units[n];
        l1[0] += u->l1.hits; l1[1] += u->l1.misses;
        if (u->scalar == last) continue;
        last = u->scalar;
        scalar[0] += u->scalar->hits; scalar[1] += u->scalar->misses;
        code[0] += u->code->hits; code[1] += u->code->misses;
    }
    for (u32 n = 0; n < k->l2_banks; n++) banks += g->m.memory.banks[n].taken;
    for (u32 n = 0; n < k->channels; n++) channels += g->m.memory.dram.bus[n].taken / 16;
    out->cycles = later(g->m.last, g->m.now);
    out->instructions = g->m.instructions;
    out->waves = g->m.waves;
    out->wave_cycles = g->m.wave_cycles;
    out->empty = g->empty;
    out->valu_busy = g->valu_busy;
    out->scalar_issues = g->scalar_busy;
    out->branch_issues = g->branch_busy;
    out->branches_taken = g->taken;
    out->lds_busy = g->lds_busy;
    out->lds_conflict_cycles = g->lds_conflicts;
    out->address_busy = g->address_busy;
    out->loads = g->loads;
    out->stores = g->stores;
    out->load_lines = g->load_lines;
    out->store_lines = g->store_lines;
    out->l1_hits = l1[0];
    out->l1_misses = l1[1];
    out->scalar_hits = scalar[0];
    out->scalar_misses = scalar[1];
    out->code_hits = code[0];
    out->code_misses = code[1];
    out->l2_hits = g->m.memory.l2.hits;
    out->l2_misses = g->m.memory.l2.misses;
    out->bank_bytes = banks;
    out->channel_bytes = g->m.memory.dram.bytes;
    out->written_bytes = g->m.memory.dram.written;
    out->channel_busy = channels;
    out->row_activations = g->m.memory.dram.activations;
    out->bus_turns = g->m.memory.dram.turns;
    out->l2_reads = g->m.memory.reads;
    out->l2_writes = g->m.memory.writes;
    out->l2_atomics = g->m.memory.atomics;
    out->fills = g->m.memory.fills;
    out->side_hits = g->m.memory.side.hits;
    out->side_misses = g->m.memory.side.misses;
    out->write_backs = g->m.memory.write_backs;
    out->page_misses = g->m.memory.page_misses;
    out->groups = g->m.ended_groups;
    out->failed = g->m.failed;
    out->happenings = g->m.timeline.count;
    out->occupancy_step = g->m.occupancy.step;
    out->traffic_step = g->m.traffic.step;
    for (u32 n = 0; n < CAUSES; n++) {
        out->cause[n] = g->cause[n];
        out->wave_cause[n] = g->wave_cause[n];
    }
    __builtin_memcpy(out->occupancy, g->m.occupancy.value, sizeof out->occupancy);
    __builtin_memcpy(out->traffic, g->m.traffic.value, sizeof out->traffic);
}

/* Free what the wavefronts' readers hold. */
EXPORT void hw_gcn_end(struct gpu *g, void (*release)(void *)) {
    for (u32 n = 0; n < g->m.chip->units; n++)
        for (u32 s = 0; s < g->m.chip->simds; s++)
            for (u32 slot = 0; slot < SLOTS; slot++) {
                struct reader *r = &g->units[n].simd[s].waves[slot].reader;
                if (r->owned && r->memory) release(r->memory);
            }
}

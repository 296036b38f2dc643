/* SIMD engines of the VLIW kind: the paths of wavefronts in, the cycles that they take out.

   A wavefront runs clause after clause. Two ALU clauses are under way at a time, an even and an odd one that take turns group
   by group, so that a wavefront issues every eighth cycle (AMD, APP OpenCL Programming Guide, 4.14); fetch clauses go one
   after the other through the texture unit; writes through the export bus. Nothing interrupts a clause, so each is
   reckoned in one go when its turn comes. */

enum { SLOT_BITS = 6, SLOTS = 1 << SLOT_BITS, GROUPS = 64, PAIR = 2, MISSES = 256, WRITES = 16, QUADS = 16, SCALE = 16 };
enum { LEAST_BYTES = 32 }; /* of a burst of GDDR */
/* Instructions and constants come in blocks of 256 bytes. A window into a constant buffer, where it is not 0: the buffer's
   number above that of the first of its one or two blocks. Their lines in memory are made up, apart from those of the trace. */
enum { BLOCK_LINES = 4, WINDOWS = 4, WINDOW_BITS = (1 << 12) - 1 };
enum { CODE_LINE = 1 << 30, CONSTANT_LINE = 1 << 29 };

struct wave {
    u32 op, end, active, group, number, quads, why, switched, held, unused; /* held: its clause's code is there */
    u64 begun, written, stall_from;
    struct reader reader;
} __attribute__((aligned(64)));

struct group { u64 number, latest; u32 waves, left, arrived; u8 member[SLOTS]; };

struct unit { /* a SIMD engine */
    i64 turn[SLOTS]; /* when each wavefront goes on, and behind that its slot; NEVER: there is none, or it waits for others */
    i64 soonest;     /* of these */
    u64 alive, starting, waiting, groups;
    u64 alu_free[PAIR], covered[PAIR], fetch_free, vertex_free, export_free, sequencer_free, miss_free;
    u64 miss_done[MISSES], write_done[WRITES];
    u64 misses, writes;
    u32 number, slots; /* slots: those that are ever used, up to a multiple of 16 */
    struct wave *waves;
    struct group group[GROUPS];
    struct calendar *lds;
    struct cache *l1, *vertex, *code, *constants; /* which it may share with others */
};

struct gpu {
    struct machine m;
    struct unit *units;
    struct calendar *ports, *render; /* writes of each channel; pixels of all render back-ends */
    u64 cause[CAUSES], wave_cause[CAUSES];
    u64 alu_busy, fetch_busy, vertex_busy, export_busy, sequencer_busy, lds_busy, lds_conflicts, clauses;
    u64 loads, stores, load_lines, store_lines, moved, fast, complete, of_lanes;
};

static void end_wave(struct gpu *g, struct unit *u, u32 slot, u64 time);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Lines of one channel, past all caches: when the answer of memory leaves it. */
static u64 uncached_read(struct gpu *g, u32 line, u32 count, u64 time) {
    struct memory *m = &g->m.memory;
    const struct chip *k = g->m.chip;
    u32 chunk = line >> k->interleave_line_bits, above = over(chunk, &m->of_channels), bank = memory_channel(m, chunk, above);
    m->reads += count;
    m->fills += count;
    g->moved += 64 * count;
    time = calendar_take(&m->banks[bank], time, 64 * count);
    return dram_access(&m->dram, bank, above, time, count, 64 * count, 0) + k->memory_more_cycles;
}

/* Bytes of lines of one channel that are written, or changed where they lie: when memory has them. `work`: 16ths of a cycle
   of the channel's port, and `bytes`: for each line. `part`: they are less than a burst. */
static u64 write_lines(struct gpu *g, u32 line, u32 count, u64 time, u32 work, u32 bytes, u32 part) {
    struct memory *m = &g->m.memory;
    const struct chip *k = g->m.chip;
    u32 chunk = line >> k->interleave_line_bits, above = over(chunk, &m->of_channels), channel = memory_channel(m, chunk, above);
    m->writes += count;
    g->moved += bytes * count;
    if (work) time = calendar_take(&g->ports[channel], time, work * count);
    m->write_backs += count;
    return dram_access(&m->dram, channel, above, time, count, count * bytes, 1 + part) + k->l2_cycles / 2;
}

/* How sets of textures are chosen: a line's number, scrambled, as tiles are, so that rows of a power of two do not all want
   the same. */
static inline u32 scrambled(u32 line) { return line ^ line >> 3 ^ line >> 6 ^ line >> 9 ^ line >> 12; }

/* 256 bytes of the program or of constants, whose lines in memory begin at `base`: when they are in the cache. */
static u64 read_block(struct gpu *g, struct cache *c, u32 base, u32 block, u64 time) {
    const struct chip *k = g->m.chip;
    u32 set = set_of_line(c, block);
    u64 *ready = cache_find(c, set, block), there = k->l2_cycles / 2;
    if (ready) return later(time, *ready);
    ready = cache_place(c, set, block);
    u64 done = uncached_read(g, base + block * BLOCK_LINES, BLOCK_LINES, time + there) + k->l2_cycles - there;
    return *ready = done;
}

/* When a clause that is to begin at `time` has its instructions, and the constants that it locks. */
static u64 code_ready(struct gpu *g, struct unit *u, const struct op *op, u64 time) {
    const struct chip *k = g->m.chip;
    u64 done = time, misses = u->code->misses;
    for (u32 n = 0; n < op->blocks; n++) done = later(done, read_block(g, u->code, CODE_LINE, op->block + n, time));
    if (u->code->misses > misses) { /* what follows is likely to be wanted next */
        u32 next = op->block + op->blocks, end = sooner(next + k->blocks_ahead, k->program_blocks);
        for (; next < end; next++) read_block(g, u->code, CODE_LINE, next, time);
    }
    for (u32 n = 0; n < WINDOWS && op->windows[n]; n++) {
        u32 first = op->windows[n] & WINDOW_BITS;
        done = later(done, read_block(g, u->constants, CONSTANT_LINE, first, time));
        if (op->windows[n] & TWO_BLOCKS) done = later(done, read_block(g, u->constants, CONSTANT_LINE, first + 1, time));
    }
    return done;
}

/* One access of a fetch unit: when the wavefront has its data. */
static u64 fetch_lines(struct gpu *g, struct unit *u, const struct op *op, const struct access *a, u64 start, u32 cycles) {
    const struct chip *k = g->m.chip;
    u64 there = (k->l2_cycles - k->l1_cycles) / 2, back = k->l2_cycles - k->l1_cycles - there;
    u64 done = start + cycles + k->l1_cycles;
    struct cache *near = op->flags & VERTEX && u->vertex ? u->vertex : u->l1;
    u32 lines[MOST_LINES], sets[MOST_LINES], bits = k->interleave_line_bits, shift = k->l1_line_shift;
    u32 cached = !(op->flags & UNCACHED), by_l2 = cached && k->has_l2, most = a->lines ? 1 : TOGETHER;
    struct divisor of_sets = near->of_sets;
    struct places places;
    g->load_lines += a->count;
    lines_of(a, lines);
    if (cached)
        for (u32 n = 0; n < a->count; n++) {
            u32 own = lines[n] >> shift;
            sets[n] = rest(op->flags & BUFFER ? own : scrambled(own), &of_sets);
        }
    if (by_l2) {
        memory_locate(&g->m.memory, lines, a->count, &places, 0);
        if (a->count > 1) memory_expect(&g->m.memory, &places, a->count, 0);
    }
    u64 pace = ((u64)cycles << 32) / a->count + 1; /* exact, as both are small */
    for (u32 n = 0; n < a->count;) {
        u32 first = n, missing = 0;
        u64 at = start + (n * pace >> 32), *ready[TOGETHER], answer;
        do { /* lines of one channel that are missing go on together */
            if ((lines[n] ^ lines[first]) >> bits) break;
            if (cached) {
                u32 own = lines[n] >> shift;
                u64 *known = cache_find(near, sets[n], own);
                if (known) {
                    done = later(done, *known + k->l1_cycles);
                    n++;
                    break;
                }
                ready[missing] = cache_place(near, sets[n], own);
                *ready[missing] = at;
            }
            n++;
        } while (++missing < most && n < a->count);
        if (missing == 0) continue;
        at = later(at, later(u->miss_free, u->miss_done[(u->misses + missing - 1) % MISSES]));
        u->miss_free = at + missing;
        if (!by_l2) answer = uncached_read(g, lines[first], missing, at + there) + back;
        else {
            u64 before = g->m.memory.fills;
            answer = memory_ask(&g->m.memory, &places, first, missing, lines[first], at + there, 0, 64) + back;
            g->moved += (g->m.memory.fills - before) * k->l2_line_bytes;
        }
        done = later(done, answer + k->l1_cycles);
        u32 one = 0;
        do { /* most often there is one alone */
            u->miss_done[u->misses++ % MISSES] = answer;
            if (cached) *ready[one] = answer;
        } while (++one < missing);
    }
    return done;
}

/* A request of the LDS: when its last bank has been served. */
static u64 local_access(struct gpu *g, struct unit *u, u32 cycles, u32 least, u64 time) {
    g->lds_busy += cycles;
    if (cycles > least) g->lds_conflicts += cycles - least;
    return calendar_take(u->lds, time, cycles);
}

/* ---- clauses ----------------------------------------------------------------------------------------------------- */

static inline void stall(struct gpu *g, struct unit *u, u32 slot, u32 op, u32 cause, u64 from, u64 to) {
    if (to <= from) return;
    count_stall(&g->m, &g->wave_cause[cause], op, to - from);
    note(&g->m.timeline, u->number, 0, slot, cause, from, to - from, op);
}

/* Groups that have to do with the LDS. A wavefront stands still until the banks have served its request, and where it
   takes an answer that is not there yet. */
static u64 local_groups(struct gpu *g, struct unit *u, struct wave *w, u32 head, u64 time, u32 cadence) {
    const struct chip *k = g->m.chip;
    u64 answer = 0;
    for (u32 n = head + 1; n <= head + g->m.ops[head].count; n++) {
        const struct op *op = &g->m.ops[n];
        u64 start = time, until;
        if (op->flags & POPS) time = later(time, answer);
        until = time + cadence;
        for (u32 s = 0; s < op->sites; s++) {
            struct access a;
            if (!reader_site(&w->reader, g->m.trace, op->site + s, &a)) { g->m.failed = TRACE_SHORT; break; }
            if (a.active == 0) continue;
            u64 served = local_access(g, u, a.count, k->local_least, time);
            until = later(until, served);
            answer = later(answer, later(served, time + k->local_cycles));
        }
        g->m.counts[n]++;
        g->m.spent[n] += until - start;
        if (until - start > cadence) {
            g->m.stalled[n] += until - start - cadence;
            g->wave_cause[LDS_WAIT] += until - start - cadence;
        }
        time = until;
    }
    return time;
}

static u64 alu_clause(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    const struct chip *k = g->m.chip;
    struct wave *w = &u->waves[slot];
    const struct op *op = &g->m.ops[w->op];
    u32 a = 0, cadence = k->group_cycles * k->pair;
    if (k->pair == 2) { /* of two that are free, the one that worked last: the other stays empty where one wavefront is alone */
        u64 first = u->alu_free[0], second = u->alu_free[1];
        if (first <= time && second <= time) a = second > first;
        else a = second < first;
    }
    u64 start = later(time, u->alu_free[a]);
    if (k->pair == 2) start += (a * k->group_cycles - start) & (cadence - 1);
    stall(g, u, slot, w->op, ISSUE, time, start);
    if (start > u->covered[a]) { /* nobody had anything for it: because of what this one waited for */
        u64 gap = start - u->covered[a], switching = w->why == START ? 0 : sooner(gap, w->switched);
        g->cause[SWITCH] += switching;
        g->cause[w->why] += gap - switching;
    }
    u32 own = cadence * w->quads / QUADS; /* a record may stand for several wavefronts, and not all be there */
    if (own == 0) own = 1;
    u64 end, plain = (u64)op->count * own;
    if (op->flags & LOCAL) {
        end = local_groups(g, u, w, w->op, start, own);
        g->cause[LDS_WAIT] += end - start - plain;
    } else {
        end = start + plain;
        u64 *counts = g->m.counts + w->op + 1, *spent = g->m.spent + w->op + 1;
        for (u32 n = 0; n < op->count; n++) {
            counts[n]++;
            spent[n] += own;
        }
    }
    g->cause[ISSUE] += plain;
    g->alu_busy += plain / k->pair;
    g->m.instructions += op->count;
    u->alu_free[a] = u->covered[a] = end;
    note(&g->m.timeline, u->number, 0, slot, SHOW_ALU, start, end - start, w->op);
    return end;
}

static u64 fetch_clause(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    const struct chip *k = g->m.chip;
    struct wave *w = &u->waves[slot];
    u32 head = w->op;
    u32 own_units = g->m.ops[head].flags & VERTEX && u->vertex;
    u64 *free = own_units ? &u->vertex_free : &u->fetch_free;
    u64 start = later(time, *free), done = start, at = start;
    stall(g, u, slot, head, QUEUE_WAIT, time, start);
    for (u32 n = head + 1; n <= head + g->m.ops[head].count; n++) {
        const struct op *op = &g->m.ops[n];
        u64 issued = at, answer = done;
        for (u32 s = 0; s < op->sites; s++) {
            struct access a;
            if (!reader_site(&w->reader, g->m.trace, op->site + s, &a)) { g->m.failed = TRACE_SHORT; break; }
            g->loads++;
            if (op->flags & LOCAL) {
                at += QUADS * k->quad_sixteenths / SCALE;
                if (!a.active) continue;
                u64 served = local_access(g, u, a.count, k->local_least, issued);
                answer = later(answer, later(served, issued + k->local_cycles));
                continue;
            }
            u32 quads = a.cycles < QUADS ? a.cycles : QUADS; /* a record counts lines of quads; a quad of several takes no longer */
            u32 cycles = (quads * k->quad_sixteenths + SCALE - 1) / SCALE;
            if (a.active && a.count) answer = later(answer, fetch_lines(g, u, op, &a, at, cycles));
            else answer = later(answer, at + cycles + k->l1_cycles);
            at += cycles;
        }
        if (op->sites == 0) at += QUADS, answer = later(answer, at + k->l1_cycles);
        g->m.counts[n]++;
        if (answer > done) { /* what it adds to the clause's time */
            g->m.spent[n] += answer - done;
            g->m.stalled[n] += answer - done > at - issued ? answer - done - (at - issued) : 0;
            done = answer;
        }
    }
    if (at > done) g->m.spent[head] += at - done;
    g->m.instructions += g->m.ops[head].count;
    *(own_units ? &g->vertex_busy : &g->fetch_busy) += at - start;
    *free = at;
    if (done > start) {
        g->wave_cause[FETCH_WAIT] += done - start;
        note(&g->m.timeline, u->number, 0, slot, SHOW_FETCH, start, at - start, head);
        note(&g->m.timeline, u->number, 0, slot, FETCH_WAIT, at, done - at, head);
    }
    return later(done, at);
}

static u64 write_clause(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    const struct chip *k = g->m.chip;
    struct wave *w = &u->waves[slot];
    const struct op *op = &g->m.ops[w->op];
    u64 start = later(time, u->export_free), at = start, done = start;
    for (u32 s = 0; s < op->sites; s++) {
        struct access a;
        if (!reader_site(&w->reader, g->m.trace, op->site + s, &a)) { g->m.failed = TRACE_SHORT; break; }
        u32 cycles = a.flags & LINEAR || op->flags & PIXEL ? op->cycles : 2 * op->cycles; /* back-ends take quads */
        if (op->flags & PIXEL) {
            u64 drawn = calendar_take(g->render, at, (u32)(a.active ? a.active : 1) * op->dwords);
            if (drawn > at + k->write_buffer_cycles) at = drawn - k->write_buffer_cycles;
        }
        if (a.active == 0 || a.count == 0) { at += cycles; continue; }
        g->stores++;
        g->store_lines += a.count;
        u32 bytes = 4 * op->dwords * a.active / a.count, work = 0;
        if (!(op->flags & PIXEL)) work = (op->dwords > 1 ? k->wide_port_sixteenths : k->port_sixteenths) * bytes / 64;
        if (op->flags & COMPLETE) { /* each lane on its own */
            work = k->atomic_sixteenths * bytes / 4;
            g->m.memory.atomics++;
        }
        u32 part = bytes < LEAST_BYTES;
        bytes = bytes > 64 ? 64 : part ? LEAST_BYTES : bytes;
        if (!(op->flags & PIXEL)) {
            *(op->flags & COMPLETE ? &g->complete : &g->fast) += (u64)bytes * a.count;
            g->of_lanes += 4 * op->dwords * a.active;
        }
        u64 pace = ((u64)cycles << 32) / a.count + 1, served = 0; /* exact, as both are small */
        u32 lines[MOST_LINES], bits = k->interleave_line_bits;
        lines_of(&a, lines);
        at = later(at, u->write_done[u->writes % WRITES]);
        for (u32 n = 0, some; n < a.count; n += some) { /* lines of one channel go on together */
            for (some = 1; n + some < a.count && (lines[n + some] ^ lines[n]) >> bits == 0;) some++;
            u64 there = write_lines(g, lines[n], some, at + (n * pace >> 32) + k->l2_cycles / 2, work, bytes, part);
            served = later(served, there);
        }
        u->write_done[u->writes++ % WRITES] = served;
        done = later(done, served);
        at += cycles;
    }
    if (op->sites == 0) at += op->cycles;
    g->m.counts[w->op]++;
    g->m.spent[w->op] += at - start;
    g->m.instructions++;
    g->export_busy += at - start;
    stall(g, u, slot, w->op, WRITE_WAIT, time, start);
    u->export_free = later(u->export_free, at);
    w->written = later(w->written, done);
    g->m.last = later(g->m.last, done);
    note(&g->m.timeline, u->number, 0, slot, SHOW_WRITE, start, at - start, w->op);
    return at;
}

/* ---- wavefronts -------------------------------------------------------------------------------------------------- */

static void set_ready(struct unit *u, u32 slot, u64 time) {
    i64 turn = time << SLOT_BITS | slot;
    u->turn[slot] = turn;
    if (turn < u->soonest) u->soonest = turn;
}

/* Go to what comes after the instruction or clause; 0 after the last. Without lanes only control flow is run. */
static int step(struct gpu *g, struct wave *w) {
    w->op += 1 + g->m.ops[w->op].count;
    for (;;) {
        while (w->op < w->end) {
            if (w->active || g->m.ops[w->op].kind == FLOW) return 1;
            w->op += 1 + g->m.ops[w->op].count;
        }
        i64 number = reader_segment(&w->reader, g->m.trace);
        if (number < 0) return 0;
        w->active = w->reader.now.active;
        w->op = g->m.segments[number].first;
        w->end = g->m.segments[number].end;
    }
}

static void proceed(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    if (step(g, &u->waves[slot])) set_ready(u, slot, time);
    else end_wave(g, u, slot, time);
}

/* All wavefronts of a group that have not ended are at a barrier: let them go on. */
static void release(struct gpu *g, struct unit *u, struct group *p) {
    u64 go = p->latest + g->m.chip->barrier_cycles;
    p->arrived = 0;
    p->latest = 0;
    for (u32 n = 0; n < p->waves; n++) {
        u32 slot = p->member[n];
        struct wave *w = &u->waves[slot];
        if (!(u->waiting >> slot & 1)) continue;
        u->waiting &= ~(1ull << slot);
        stall(g, u, slot, w->op, BARRIER_WAIT, w->stall_from, go);
        w->why = BARRIER_WAIT;
        w->switched = 0;
        proceed(g, u, slot, go);
    }
}

static void arrive(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    struct wave *w = &u->waves[slot];
    struct group *p = &u->group[w->group];
    w->stall_from = time;
    u->waiting |= 1ull << slot;
    u->turn[slot] = NEVER;
    p->latest = later(p->latest, time);
    if (++p->arrived == p->left) release(g, u, p);
}

static void run(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    const struct chip *k = g->m.chip;
    struct wave *w = &u->waves[slot];
    const struct op *op = &g->m.ops[w->op];
    u64 start = later(time, u->sequencer_free), end = start, change = k->switch_cycles;
    u32 cause = SWITCH;
    stall(g, u, slot, w->op, SWITCH, time, start);
    u->sequencer_free = start;
    for (;;) { /* what lies between two clauses is done while the wavefront changes from the one to the other */
        u->sequencer_free += k->sequencer_cycles;
        g->sequencer_busy += k->sequencer_cycles;
        if (op->kind != FLOW) break;
        g->m.counts[w->op]++;
        g->m.instructions++;
        if (!step(g, w)) { end_wave(g, u, slot, start); return; }
        op = &g->m.ops[w->op];
    }
    if (op->blocks && !w->held) {
        u64 there = code_ready(g, u, op, start);
        if (there > start) {
            stall(g, u, slot, w->op, CODE_WAIT, start, there);
            w->why = CODE_WAIT;
            w->switched = 0;
            w->held = 1;
            set_ready(u, slot, there);
            return;
        }
    }
    w->held = 0;
    if (op->kind != WRITE) g->m.counts[w->op]++;
    g->clauses++;
    switch (op->kind) {
    case ALU:
        end = alu_clause(g, u, slot, start);
        if (op->flags & BARRIER && u->group[w->group].waves > 1) { arrive(g, u, slot, end); return; }
        if (op->flags & BARRIER) change = 0;
        break;
    case FETCHES:
        end = fetch_clause(g, u, slot, start);
        cause = FETCH_WAIT;
        break;
    case WRITE:
        end = write_clause(g, u, slot, start);
        cause = WRITE_WAIT;
        break;
    case WAIT_ACK:
        end = later(start, w->written);
        stall(g, u, slot, w->op, WRITE_WAIT, start, end);
        cause = WRITE_WAIT;
        change = 0;
        break;
    }
    w->why = cause;
    w->switched = change;
    u32 at = w->op;
    if (!step(g, w)) { end_wave(g, u, slot, end); return; }
    stall(g, u, slot, at, SWITCH, end, end + change);
    set_ready(u, slot, end + change);
    op = &g->m.ops[w->op]; /* others will go on before it does: time enough to bring what it needs */
    __builtin_prefetch(&w->reader.cursors[op[op->kind == FETCHES].site], 1);
}

static void start_wave(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    struct wave *w = &u->waves[slot];
    u->starting &= ~(1ull << slot);
    if (!wave_begin(&g->m, &w->reader, u->group[w->group].number, w->number)) return;
    u32 number = w->reader.now.segment;
    w->active = w->reader.now.active;
    w->op = g->m.segments[number].first;
    w->end = g->m.segments[number].end;
    w->begun = time;
    w->written = 0;
    w->why = START;
    w->switched = w->held = 0;
    if (w->op < w->end && (w->active || g->m.ops[w->op].kind == FLOW)) run(g, u, slot, time);
    else {
        w->op -= 1 + g->m.ops[w->op].count;
        proceed(g, u, slot, time);
    }
}

/* Give a group to a SIMD engine that has room. */
static void place_group(struct gpu *g, struct unit *u, u64 time) {
    const struct chip *k = g->m.chip;
    u32 at = __builtin_ctzll(~u->groups), engine = u->number % k->engines, waves = g->m.trace->waves_per_group;
    struct group *p = &u->group[at];
    u64 turn = g->m.next_group++, number = k->turns ? ((const u32 *)k->turns)[turn] : turn;
    u->groups |= 1ull << at;
    *p = (struct group){.number = number, .waves = waves, .left = waves};
    u64 next = g->m.next_group < g->m.groups && k->turns ? ((const u32 *)k->turns)[g->m.next_group] : g->m.next_group;
    trace_expect(g->m.trace, next * waves);
    u32 each = k->wave_dispatch_cycles;
    u64 begin = machine_dispatch(&g->m, engine, time, waves * each);
    for (u32 n = 0; n < waves; n++) {
        u32 slot = __builtin_ctzll(~u->alive);
        u->alive |= 1ull << slot;
        u->starting |= 1ull << slot;
        u->waves[slot].group = at;
        u->waves[slot].number = n;
        u->waves[slot].quads = n + 1 < waves ? QUADS : k->last_quads;
        p->member[n] = slot;
        set_ready(u, slot, begin + (u64)(n + 1) * each);
        g->m.waves++;
    }
}

static void end_wave(struct gpu *g, struct unit *u, u32 slot, u64 time) {
    const struct chip *k = g->m.chip;
    struct wave *w = &u->waves[slot];
    struct group *p = &u->group[w->group];
    u->alive &= ~(1ull << slot);
    u->turn[slot] = NEVER;
    wave_end(&g->m, u->number, 0, slot, CAUSES, w->begun, time, p->number * p->waves + w->number, k->waves_per_record);
    p->latest = later(p->latest, time);
    if (--p->left) {
        if (p->arrived == p->left) release(g, u, p); /* those that have ended are not waited for */
        return;
    }
    u->groups &= ~(1ull << w->group);
    g->m.ended_groups++;
    if (g->m.next_group < g->m.groups) place_group(g, u, p->latest);
}

/* When a SIMD engine does something next. */
static inline u64 next_of(const struct unit *u) { return u->soonest < NEVER ? u->soonest >> SLOT_BITS : NEVER; }

/* Have the wavefront go on that is next: of those that are ready at the same time the one in the lowest slot. */
static void go_on(struct gpu *g, struct unit *u) {
    u32 slot = u->soonest & (SLOTS - 1);
    u64 time = next_of(u);
    i64 others = NEVER;
    u->turn[slot] = NEVER;
    for (u32 n = 0; n < u->slots; n++) others = u->turn[n] < others ? u->turn[n] : others;
    u->soonest = NEVER; /* it, and who goes on because it does, say when they will be ready again: nobody else's turn changes */
    if (u->starting >> slot & 1) start_wave(g, u, slot, time);
    else run(g, u, slot, time);
    if (others < u->soonest) u->soonest = others;
}

/* Go on until `most` more instructions have been issued or all is done. 0: done, 1: there is more, 2: an error. */
EXPORT u32 hw_vliw_run(struct gpu *g, u64 most) {
    const struct chip *k = g->m.chip;
    u64 stop = g->m.instructions + most;
    while (g->m.ended_groups < g->m.groups) {
        u64 low = NEVER;
        for (u32 n = 0; n < k->units; n++) low = sooner(low, next_of(&g->units[n]));
        if (!quantum_begin(&g->m, low)) break;
        u64 end = low + QUANTUM;
        for (u32 n = 0; n < k->channels; n++) calendar_advance(&g->ports[n], low);
        calendar_advance(g->render, low);
        u64 before = g->moved;
        for (u32 n = 0; n < k->units && !g->m.failed; n++) {
            struct unit *u = &g->units[(n + g->m.first) % k->units];
            if (next_of(u) >= end) continue;
            calendar_advance(u->lds, low);
            while (next_of(u) < end && !g->m.failed) go_on(g, u);
        }
        quantum_end(&g->m, g->moved - before);
        if (g->m.instructions >= stop) break;
    }
    return state_of(&g->m);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

enum { CACHES = 4 }; /* that a SIMD engine has or shares */

static struct cache *made(struct arena *a, u32 sets, u32 ways) {
    struct cache *c = give(a, sizeof *c);
    cache_begin(c, a, sets, ways);
    return c;
}

EXPORT u64 hw_vliw_bytes(const struct chip *k) {
    u64 unit = sizeof(struct unit) + SLOTS * sizeof(struct wave) + sizeof(struct calendar) + CACHES * sizeof(struct cache);
    unit += cache_bytes(k->l1_sets, k->l1_ways) + cache_bytes(k->vertex_sets, k->vertex_ways);
    unit += cache_bytes(k->code_sets, k->code_ways) + cache_bytes(k->constant_sets, k->constant_ways);
    return sizeof(struct gpu) + k->units * (unit + 2048) + (k->channels + 1) * sizeof(struct calendar) + machine_need(k) + 4096;
}

/* `memory`: zeros, hw_vliw_bytes of them. */
EXPORT struct gpu *hw_vliw_begin(const struct launch *from, u8 *memory) {
    const struct chip *k = from->chip;
    struct arena a = {memory, memory + hw_vliw_bytes(k)};
    struct gpu *g = give(&a, sizeof *g);
    machine_begin(&g->m, from, &a);
    g->ports = give(&a, k->channels * sizeof(struct calendar));
    for (u32 n = 0; n < k->channels; n++) calendar_begin(&g->ports[n], BUCKET * SCALE);
    g->render = give(&a, sizeof(struct calendar));
    calendar_begin(g->render, BUCKET * k->pixels_per_cycle);
    g->units = give(&a, k->units * sizeof(struct unit));
    for (u32 n = 0; n < k->units; n++) {
        struct unit *u = &g->units[n];
        u->number = n;
        u->soonest = NEVER;
        u->slots = (k->groups_per_unit * from->trace->waves_per_group + 15) & ~15u;
        u->waves = give(&a, SLOTS * sizeof(struct wave));
        u->lds = give(&a, sizeof(struct calendar));
        calendar_begin(u->lds, BUCKET);
        u32 of_l1 = n % k->units_per_l1 == 0, of_constants = n % k->units_per_constant_cache == 0;
        u->l1 = of_l1 ? made(&a, k->l1_sets, k->l1_ways) : u[-1].l1;
        if (k->vertex_sets) u->vertex = n == 0 ? made(&a, k->vertex_sets, k->vertex_ways) : u[-1].vertex;
        u->constants = of_constants ? made(&a, k->constant_sets, k->constant_ways) : u[-1].constants;
        u->code = n < k->engines ? made(&a, k->code_sets, k->code_ways) : g->units[n % k->engines].code;
        for (u32 slot = 0; slot < SLOTS; slot++) u->turn[slot] = NEVER;
    }
    for (u32 turn = 0; turn < k->groups_per_unit; turn++)
        for (u32 n = 0; n < k->units && g->m.next_group < g->m.groups; n++) place_group(g, &g->units[n], 0);
    return g;
}

static void add_uses(u64 *uses, const struct cache *c) {
    if (c == 0) return;
    uses[0] += c->hits;
    uses[1] += c->misses;
}

/* What was found, as numbers in the order of `SUMS` in vliw_layout.py. Of a pair each half counts as half a SIMD. */
EXPORT void hw_vliw_result(struct gpu *g, struct result *out) {
    const struct chip *k = g->m.chip;
    u64 near[CACHES][2] = {{0}}, banks = 0, channels = 0, ports = 0, lds = 0;
    for (u32 n = 0; n < k->units; n++) {
        struct unit *u = &g->units[n];
        add_uses(near[0], n % k->units_per_l1 ? 0 : u->l1);
        add_uses(near[1], n ? 0 : u->vertex);
        add_uses(near[2], n < k->engines ? u->code : 0);
        add_uses(near[3], n % k->units_per_constant_cache ? 0 : u->constants);
        lds += u->lds->taken;
    }
    for (u32 n = 0; n < k->l2_banks; n++) banks += g->m.memory.banks[n].taken;
    for (u32 n = 0; n < k->channels; n++) {
        channels += g->m.memory.dram.bus[n].taken / SCALE;
        ports += g->ports[n].taken / SCALE;
    }
    out->cycles = later(g->m.last, g->m.now);
    out->instructions = g->m.instructions;
    out->waves = g->m.waves * k->waves_per_record;
    out->wave_cycles = g->m.wave_cycles * k->waves_per_record;
    out->groups = g->m.ended_groups;
    out->failed = g->m.failed;
    out->happenings = g->m.timeline.count;
    out->occupancy_step = g->m.occupancy.step;
    out->traffic_step = g->m.traffic.step;
    out->alu_busy = g->alu_busy;
    out->fetch_busy = g->fetch_busy;
    out->vertex_busy = g->vertex_busy;
    out->export_busy = g->export_busy;
    out->sequencer_busy = g->sequencer_busy;
    out->lds_busy = lds;
    out->lds_conflict_cycles = g->lds_conflicts;
    out->clauses = g->clauses;
    out->loads = g->loads;
    out->stores = g->stores;
    out->load_lines = g->load_lines;
    out->store_lines = g->store_lines;
    out->l1_hits = near[0][0];
    out->l1_misses = near[0][1];
    out->vertex_hits = near[1][0];
    out->vertex_misses = near[1][1];
    out->code_hits = near[2][0];
    out->code_misses = near[2][1];
    out->constant_hits = near[3][0];
    out->constant_misses = near[3][1];
    out->l2_hits = g->m.memory.l2.hits;
    out->l2_misses = g->m.memory.l2.misses;
    out->bank_bytes = banks;
    out->channel_bytes = g->m.memory.dram.bytes;
    out->written_bytes = g->m.memory.dram.written;
    out->channel_busy = channels;
    out->row_activations = g->m.memory.dram.activations;
    out->bus_turns = g->m.memory.dram.turns;
    out->port_cycles = ports;
    out->pixels = g->render->taken;
    out->moved = g->moved;
    out->fast_bytes = g->fast;
    out->complete_bytes = g->complete;
    out->lane_bytes = g->of_lanes;
    out->reads = g->m.memory.reads;
    out->writes = g->m.memory.writes;
    out->atomics = g->m.memory.atomics;
    for (u32 n = 0; n < CAUSES; n++) {
        out->cause[n] = g->cause[n] / k->pair;
        out->wave_cause[n] = g->wave_cause[n] * k->waves_per_record;
    }
    __builtin_memcpy(out->occupancy, g->m.occupancy.value, sizeof out->occupancy);
    __builtin_memcpy(out->traffic, g->m.traffic.value, sizeof out->traffic);
}

/* Free what the wavefronts' readers hold. */
EXPORT void hw_vliw_end(struct gpu *g, void (*release)(void *)) {
    for (u32 n = 0; n < g->m.chip->units; n++)
        for (u32 slot = 0; slot < SLOTS; slot++) {
            struct reader *r = &g->units[n].waves[slot].reader;
            if (r->owned) release(r->memory);
        }
}

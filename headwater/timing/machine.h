/* What the replay of a launch has on every machine, and what all of them do at its beginning and between quanta of time.
   Each machine's own file says what an instruction, `struct op`, and a compute unit are. */

enum { NEVER_BITS = 62, QUANTUM = 128 };
#define NEVER (1ull << NEVER_BITS)

struct machine {
    const struct chip *chip;
    const struct trace *trace;
    const struct op *ops;
    const struct segment *segments;
    u64 *counts, *spent, *stalled; /* of each op */
    struct memory memory;
    struct timeline timeline;
    struct series occupancy, traffic;
    u64 now, next_group, ended_groups, groups, last, instructions;
    struct calendar *engines; /* shader engines, which start a wavefront a cycle or less */
    u64 wave_cycles, waves;
    u64 moving, moved_to; /* bytes that channels are still to move, from this cycle on */
    allocate_function *allocate;
    u32 failed, first; /* first: which compute unit comes first in this quantum, as none shall always do */
};

static void machine_begin(struct machine *m, const struct launch *from, struct arena *a) {
    m->chip = from->chip;
    m->trace = from->trace;
    m->ops = from->ops;
    m->segments = from->segments;
    m->counts = from->counters;
    m->spent = from->counters + from->op_count;
    m->stalled = from->counters + 2 * from->op_count;
    m->groups = from->groups;
    m->allocate = from->allocate;
    m->timeline = (struct timeline){from->happenings, from->room, 0, from->first_unit, from->units, from->happened};
    m->occupancy.step = m->traffic.step = 64;
    memory_begin(&m->memory, from->chip, a);
    m->engines = give(a, from->chip->engines * sizeof(struct calendar));
    for (u32 n = 0; n < from->chip->engines; n++) calendar_begin(&m->engines[n], BUCKET);
}

/* Memory of the host that `machine_begin` needs. */
static u64 machine_need(const struct chip *k) { return memory_need(k) + k->engines * sizeof(struct calendar) + 128; }

/* When a shader engine begins to start a group's wavefronts, which takes it so many cycles, if it is told to at `time`. */
static u64 machine_dispatch(struct machine *m, u32 engine, u64 time, u32 cycles) {
    return calendar_take(&m->engines[engine], time, cycles) - cycles;
}

/* What was asked for moves as fast as all channels can, up to `time`. */
static void move_bytes(struct machine *m, u64 time) {
    if (time <= m->moved_to) return;
    if (m->moving) {
        u64 rate = later((u64)m->chip->channels * m->chip->channel_bucket_sixteenths, 1); /* bytes in BUCKET * 16 cycles */
        u64 cycles = later(m->moving * BUCKET * 16 / rate, 1), there = time - m->moved_to;
        u64 bytes = cycles > there ? there * rate / (BUCKET * 16) : m->moving;
        if (bytes) series_spread(&m->traffic, m->moved_to, m->moved_to + sooner(cycles, there), bytes);
        m->moving -= bytes;
    }
    m->moved_to = time;
}

/* Begin with the quantum in which something happens next, at `low`; 0 if nothing ever will. */
static int quantum_begin(struct machine *m, u64 low) {
    if (low >= NEVER) m->failed = STUCK;
    if (m->failed) return 0;
    memory_advance(&m->memory, low);
    for (u32 n = 0; n < m->chip->engines; n++) calendar_advance(&m->engines[n], low);
    move_bytes(m, low);
    m->now = low;
    m->first = low / QUANTUM % m->chip->units;
    return 1;
}

/* `asked`: for so many bytes from and to memory in the quantum. */
static void quantum_end(struct machine *m, u64 asked) {
    m->moving += asked;
    move_bytes(m, m->now + QUANTUM);
}

/* What a wavefront waited for, and where. */
static inline void count_stall(struct machine *m, u64 *wave_cause, u32 op, u64 cycles) {
    m->stalled[op] += cycles;
    m->spent[op] += cycles;
    *wave_cause += cycles;
}

/* Begin to read what a wavefront of a group did; 0 if the trace has not all of it. */
static int wave_begin(struct machine *m, struct reader *r, u64 group, u32 number) {
    const struct trace *t = m->trace;
    if (reader_begin(r, t, group * t->waves_per_group + number, m->allocate) && r->now.segment < t->segments) return 1;
    m->failed = TRACE_SHORT;
    return 0;
}

/* A wavefront has ended. `kind`: of the happening; `weight`: how many of the chip's it stands for. */
static void wave_end(struct machine *m, u32 unit, u32 simd, u32 slot, u32 kind, u64 begun, u64 time, u64 number, u32 weight) {
    m->wave_cycles += time - begun;
    m->last = later(m->last, time);
    series_add(&m->occupancy, begun, time, weight);
    note(&m->timeline, unit, simd, slot, kind, begun, time - begun, number);
}

/* 0: done, 1: there is more, 2: an error. */
static u32 state_of(struct machine *m) {
    if (m->failed) return 2;
    if (m->ended_groups < m->groups) return 1;
    move_bytes(m, m->last);
    return 0;
}

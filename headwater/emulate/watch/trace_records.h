/* Records of what wavefronts did, for trace.c: those alike are put together; the bytes of docs/trace.md go to the file. */

typedef int (*write_function)(int file, const void *data, u64 bytes);

enum { OFTEN = 1 << (32 - OFTEN_SHIFT) }; /* more repetitions than a word of a path can say */
enum { CLASSES = 32, MOST_BACK = 0x7fff }; /* of segments, a power of two; records that a word has run again: of two words each at most */
enum { MOST_REPEATS = (1 << REPEAT_BITS) - 1, CYCLES = 63 };

/* The accesses of a site that make one record, so far: `packed` is cycles of the address unit less 1 | flags | active << 16 |
   count << 24, where NARROW is a part of `active`. */
/* Runs are written and compared as two numbers of 64 bits: a load that takes together what was stored apart waits until all
   stores before it, the kernel's own among them, have reached the cache. */
typedef u64 __attribute__((may_alias)) half;
/* Of functions that read what has just been stored: without vector registers nothing is taken together. */
#define APART SCALAR __attribute__((noinline))
enum { SERIES_PATHS = 64, ALL_SERIES = 4 }; /* records of the longest path that is compared; series that are open */

/* Wavefronts that did the same (those at the ends of rows are often one series, those between another): `waves` from number `start` on, `step` apart. Runs of the first and of the last of them, and
   what those of each are less those of the one before: nothing but distances of `first`. Lists of lines are kept in the recorder's
   `line`, of one series at a time, `listed`: those of the first wavefront, which all have if no site has had another since, or the
   recorder would have `relisted` more often; or, if they have their `own`, those of each. */
struct series {
    u64 start, last_number, step; /* of a single wavefront, `step` and `delta` are guesses, or step is 0 */
    u32 waves, paths, lines, relisted; /* lines: words of lists of a wavefront */
    u32 own, held;                     /* held: words of `line` */
    struct path_record path[SERIES_PATHS];
    struct run *runs, *last, *delta;
};
_Static_assert(ALL_SERIES * sizeof(struct series) <= SERIES_BYTES, "the launcher keeps too little room");

/* A recorder: this, the sites, path counters (u64[segments][4]), runs of all sites, now and three times for each series, then
   the buffers. */
struct recorder { /* begins as struct recorder_head says */
    struct path_record *at, *full;
    u64 strayed;
    struct path_record *path;
    u64 number, expected; /* of the wavefront, and of that to which what is expected applies */
    struct series *lead;  /* what that comes from, or 0 */
    struct series *listed;
    u64 behind;           /* wavefronts that are counted in `lead`, but not yet in its `last` */
    u32 lasting, turning; /* how many more what is expected holds for; the first site with another next address behind each, plus 1 */
    u32 open, memories, lines, put; /* put: some of it is in the output */
    u32 relisted, latest; /* latest: the series that the wavefront before is in */
    /* The site of the wavefront whose access made a list last, if that is what it still has: stores follow loads of the same places. Of
       the access: the address of the low half 0, the first lane's low half, its bytes; of the record: the first line, `packed`. */
    const struct site *listing;
    u64 list_zero;
    u32 list_first, list_bytes, list_start, list_packed;
    u64 output_bytes;
    struct context *context;
    struct site *sites;
    u64 *counters;
    struct memory_record *memory;
    u32 *line;
    unsigned char *output;
    struct run *runs;
    struct series *series;
    u64 owner; /* the wavefront's structure, or that of its group's first */
};
_Static_assert(sizeof(struct recorder) <= RECORDER_HEAD_BYTES, "the sites begin behind it");

SCALAR static inline u32 paths_of(const struct recorder *r) { return r->at - r->path; }

#define NEVER (~0ull) /* no address */

/* Fields of a site's `known`: of the first lane that accesses memory, the place in its line (in a dword, of the LDS), and how far
   it is from lane 0; the record. */
enum { ALIGNMENT, PACKED, AHEAD, KNOWN };
enum { SUM_TIMES, SUM_ACTIVE, SUM_COUNT, SUM_LISTS };

static void put_output(struct recorder *r) {
    struct context *c = r->context;
    if (r->output_bytes && c->file >= 0) {
        /* In one piece: the system keeps what threads write apart, and writes less only where there is no room. */
        i64 done = ((write_function)c->write)(c->file, r->output, r->output_bytes);
        if (done != (i64)r->output_bytes) c->failed = 1;
    }
    r->output_bytes = 0;
}

/* Add records of a path, run so often, to the counters. */
SCALAR static inline void count_path(struct recorder *r, const struct path_record *path, u32 paths, u64 times) {
    for (u32 n = 0; n < paths; n++) {
        u64 active = path[n].key >> 16, *counters = r->counters + 4 * (path[n].key & 0xffff), often = path[n].repeat * times;
        counters[0] += often;
        counters[1] += often * active;
        counters[2] += active == LANES ? often : 0;
        counters[3] += active == 0 ? often : 0;
    }
}

SCALAR static inline u32 *put_often(u32 *word, u32 key, u32 often) {
    *word++ = key | (often < OFTEN ? often << OFTEN_SHIFT : 0);
    if (often >= OFTEN) *word++ = often;
    return word;
}

/* Add a path that `waves` wavefronts went to the counters, and write its words, of which the end is returned. What a loop does again
   becomes a word: mostly the records since its first one was last there. */
APART static u32 *put_path(struct recorder *r, const struct path_record *path, u32 paths, u64 waves, u32 *word) {
    const half *record = (const half *)path;
    u32 last[CLASSES] = {0}; /* behind which record a segment of each class was last */
    u32 from = 0;              /* behind what is done again, which is not done again in turn */
    for (u32 n = 0; n < paths;) {
        u32 *seen = &last[path[n].key % CLASSES], back = n + 1 - *seen, more = 0;
        if (*seen > from && back <= MOST_BACK)
            while (n + more < paths && record[n + more] == record[n + more - back]) more++;
        if (more < back) {
            count_path(r, path + n, 1, waves);
            word = put_often(word, path[n].key, path[n].repeat);
            *seen = ++n;
            continue;
        }
        u32 often = more / back, words = 0;
        for (u32 k = n - back; k < n; k++) words += path[k].repeat < OFTEN ? 1 : 2;
        count_path(r, path + n - back, back, often * waves);
        word = put_often(word, (REPEATED << LANES_SHIFT) | words, often);
        from = n += often * back;
    }
    return word;
}

static void count_run(struct site *s, const struct run *run, u64 waves) {
    u64 times = run->count * waves, active = run->packed >> 16 & (NARROW - 1), count = run->packed >> 24;
    s->sums[SUM_TIMES] += times;
    s->sums[SUM_ACTIVE] += times * active;
    s->sums[SUM_COUNT] += times * count;
    s->sums[SUM_LISTS] += run->packed & LIST ? times : 0;
}

static inline struct memory_record record_of(u32 site, const struct run *run) {
    u32 packed = run->packed;
    return (struct memory_record){site | (packed & 0xe000), packed >> 16, packed >> 24, run->first, run->stride,
                                  run->count | (packed & CYCLES) << REPEAT_BITS};
}

/* Count a path; and room for a chunk in the output, with its head and path written, or 0 if there is no file. `more`: bytes behind the
   path. */
static unsigned char *begin_chunk(struct recorder *r, struct chunk head, const struct path_record *path, u64 more) {
    if (r->output_bytes + sizeof head + head.path * sizeof *path + more > r->context->output_room) put_output(r);
    unsigned char *at = r->output + r->output_bytes;
    u32 *word = (u32 *)(at + sizeof head), *end = put_path(r, path, head.path, head.waves, word);
    if (r->context->file < 0) return 0;
    head.path = end - word;
    __builtin_memcpy(at, &head, sizeof head);
    r->output_bytes += (unsigned char *)end - at + more;
    return (unsigned char *)end;
}

static inline u32 words_of(u32 packed) {
    u32 count = packed >> 24;
    return packed & NARROW << 16 ? 1 + (count + 1) / 2 : count;
}

/* Words of `lines` that a run has. */
static inline u32 lines_in(const struct run *run) { return run->count && run->packed & LIST ? words_of(run->packed) : 0; }

/* A site's list, relative to its first line: in 16 bits behind the least, if that does for them all. NARROW << 16, or 0. */
static u32 relative_lines(struct site *s, u32 count) {
    _Alignas(64) u16 narrow[2 * LANES + 2];
    u32 start = s->lines[0], low = ~0u, high = 0;
    for (u32 n = 0; n < count; n++) {
        low = s->lines[n] < low ? s->lines[n] : low;
        high = s->lines[n] > high ? s->lines[n] : high;
    }
    if (high - low > 0xffff) {
        for (u32 n = 0; n < count; n++) s->lines[n] -= start;
        return 0;
    }
    for (u32 n = 0; n < count; n++) narrow[n] = s->lines[n] - low;
    narrow[count] = 0;
    s->lines[0] = low - start;
    __builtin_memcpy(s->lines + 1, narrow, (count + 1) / 2 * 4);
    return NARROW << 16;
}

/* What a list begins with where each wavefront has its own: how many lines, whether it is narrow, and the cycles; then `first`. */
#define OF_LIST (CYCLES | NARROW << 16 | 0xffu << 24)

/* Keep the lists of the wavefront's runs behind those that are kept; 0 if there is no room. */
static int keep_lists(struct recorder *r, struct series *f) {
    u32 words = 0;
    for (u32 n = 0; n < r->context->sites; n++)
        if (lines_in(&r->runs[n])) words += LIST_HEAD + lines_in(&r->runs[n]);
    if (f->held + words > r->context->line_room) return 0;
    u32 *to = r->line + f->held;
    for (u32 n = 0; n < r->context->sites; n++) {
        u32 lines = lines_in(&r->runs[n]);
        if (lines == 0) continue;
        to[0] = r->runs[n].packed & OF_LIST;
        to[1] = r->runs[n].first;
        __builtin_memcpy(to + LIST_HEAD, r->sites[n].lines, 4 * lines);
        to += LIST_HEAD + lines;
    }
    f->held += words;
    return 1;
}

/* The lists of a series that was put are still there: they are those of another that begins as far on as its runs are. */
static void list_again(struct recorder *r, struct series *f) {
    u32 *list = r->line;
    for (u32 n = 0; n < r->context->sites; n++) {
        u32 lines = lines_in(&f->runs[n]);
        if (lines == 0) continue;
        list[1] = f->runs[n].first;
        list += LIST_HEAD + lines;
    }
    r->listed = f;
}

static void put_series(struct recorder *r, struct series *f) {
    u32 sites = r->context->sites, memories = 0;
    if (f->waves == 0) return;
    for (u32 n = 0; n < sites; n++) {
        u32 alone = f->own && f->runs[n].packed & LIST; /* those of the others are counted */
        if (f->runs[n].count) count_run(&r->sites[n], &f->runs[n], alone ? 1 : f->waves);
        memories += f->runs[n].count != 0;
    }
    u32 waves = r->context->waves, several = f->waves > 1, lines = f->own ? f->held : f->lines;
    struct chunk head = {CHUNK_MAGIC, f->start % waves, f->start / waves, f->paths, memories, lines, f->own ? LAST | OWN_LISTS : LAST,
                         f->waves, several ? f->step : 0};
    unsigned char *at = begin_chunk(r, head, f->path, memories * (sizeof(struct memory_record) + several * 4ull) + lines * 4ull);
    if (at) {
        unsigned char *line = at + memories * sizeof(struct memory_record), *deltas = line + lines * 4ull;
        const u32 *list = r->line;
        if (f->own) __builtin_memcpy(line, list, lines * 4ull);
        for (u32 n = 0; n < sites; n++) {
            if (f->runs[n].count == 0) continue;
            struct memory_record one = record_of(n, &f->runs[n]);
            __builtin_memcpy(at, &one, sizeof one);
            at += sizeof one;
            u32 count = lines_in(&f->runs[n]);
            if (count && !f->own) {
                __builtin_memcpy(line, list + LIST_HEAD, 4 * count);
                list += LIST_HEAD + count;
                line += 4 * count;
            }
            if (!several) continue;
            __builtin_memcpy(deltas, &f->delta[n].first, 4);
            deltas += 4;
        }
    }
    f->waves = 0;
    if (r->listed == f) r->listed = 0;
}

static void put_all_series(struct recorder *r) {
    for (u32 n = 0; n < ALL_SERIES; n++) put_series(r, &r->series[n]);
}

/* Move what was recorded to the output. */
static void flush(struct recorder *r, u32 last) {
    u64 memory = r->memories * sizeof *r->memory, line = r->lines * 4ull;
    u64 waves = r->context->waves;
    struct chunk head = {CHUNK_MAGIC, r->number % waves, r->number / waves, paths_of(r), r->memories, r->lines, last, 1, 0};
    unsigned char *at = begin_chunk(r, head, r->path, memory + line);
    if (at) {
        for (u64 n = 0; n < memory; n += sizeof *r->memory) __builtin_memcpy(at + n, (char *)r->memory + n, sizeof *r->memory);
        if (line) __builtin_memcpy(at + memory, r->line, line);
    }
    r->memories = r->lines = 0;
    r->at = r->path;
    r->put = !last;
    r->strayed = 1;
}

HIDDEN void hw_path_full(struct recorder *r) { flush(r, 0); }
#ifdef KEEPING
__asm__(".text\n" KEEPING("hw_path_full") KEEPING_SCALARS("hw_repeat") KEEPING_SCALARS("hw_scalar_repeat"));
#endif

static void end_run(struct recorder *r, struct site *s, u32 number) {
    struct run *run = &r->runs[number];
    if (run->count == 0) return;
    count_run(s, run, 1);
    u32 lines = lines_in(run);
    if (lines && r->listed) put_series(r, r->listed);
    if (r->memories == r->context->memory_room || r->lines + lines > r->context->line_room) flush(r, 0);
    if (lines) __builtin_memcpy(r->line + r->lines, s->lines, 4 * lines);
    r->lines += lines;
    r->memory[r->memories++] = record_of(number, run);
    run->count = 0;
}

/* One access, if it goes on with the site's run. */
SCALAR static inline int goes_on(struct run *run, u32 packed, u32 first) {
    half *halves = (half *)run;
    u64 known = halves[0], rest = halves[1];
    u32 count = rest >> 32, stride = rest;
    if (count == 0) {
        halves[0] = packed | (u64)first << 32;
        halves[1] = 1ull << 32;
        return 1;
    }
    if (packed != (u32)known || count == MOST_REPEATS) return 0;
    if (count == 1) stride = first - (u32)(known >> 32);
    if (first != (u32)(known >> 32) + stride * count) return 0;
    halves[1] = stride | (count + 1ull) << 32;
    return 1;
}

/* One access. */
static inline void record(struct recorder *r, struct site *s, u32 number, u32 packed, u32 first) {
    if (goes_on(&r->runs[number], packed, first)) return;
    end_run(r, s, number);
    goes_on(&r->runs[number], packed, first);
}

/* Whether the series' wavefronts have the lists that the sites have now. */
SCALAR static inline int same_lists(const struct recorder *r, const struct series *f) { return !f->own && f->relisted == r->relisted; }

/* Whether it can go on, as far as lists matter. */
SCALAR static inline int lists_go_on(const struct recorder *r, const struct series *f) {
    return f->lines == 0 || same_lists(r, f) || (r->listed == f && (f->own || f->waves == 1));
}

/* Whether the wavefront is what a series goes on with; then it is counted there. */
APART static int continues(struct recorder *r, struct series *f, u64 number) {
    if (f->waves == 0 || f->paths != paths_of(r) || !lists_go_on(r, f) || (f->waves > 1 && number - f->last_number != f->step)) return 0;
    for (u32 n = 0; n < f->paths; n++)
        if (r->path[n].key != f->path[n].key || r->path[n].repeat != f->path[n].repeat) return 0;
    /* Nothing but `first` may differ, and lists where each wavefront has its own. */
    u32 halves = 2 * r->context->sites, own = f->lines && !same_lists(r, f);
    half *now = (half *)r->runs, *last = (half *)f->last, *delta = (half *)f->delta;
    u64 other = 0, single = f->waves == 1;
    if (single) {
        if (number <= f->start || number - f->start > ~0u >> 1) return 0;
        f->step = 0;
    }
    for (u32 n = 0; n < halves; n += 2) {
        half packed = now[n] ^ last[n];
        other |= now[n + 1] ^ last[n + 1];
        if (own && last[n] & LIST) {
            other |= (u32)packed & ~OF_LIST;
            other |= (last[n + 1] >> 32) - 1;
            delta[n] = 0;
            continue;
        }
        if (single) delta[n] = now[n] - last[n];
        other |= single ? (u32)packed : now[n] - last[n] - delta[n];
    }
    if (other || (own && !keep_lists(r, f))) return 0;
    if (single) f->step = number - f->start;
    if (own) {
        f->own = 1;
        for (u32 n = 0; n < halves / 2; n++)
            if (lines_in(&r->runs[n])) count_run(&r->sites[n], &r->runs[n], 1);
    }
    for (u32 n = 0; n < halves; n++) {
        last[n] = now[n];
        now[n] = 0;
    }
    f->last_number = number;
    f->waves++;
    return 1;
}

APART static void begin_series(struct recorder *r, struct series *f) {
    half *now = (half *)r->runs, *first = (half *)f->runs, *last = (half *)f->last;
    const half *from = (const half *)r->path;
    half *to = (half *)f->path;
    for (u32 n = 0; n < f->paths; n++) to[n] = from[n];
    for (u32 n = 0; n < 2 * r->context->sites; n++) {
        first[n] = last[n] = now[n];
        now[n] = 0;
    }
}

/* Begin a series with the wavefront, in place of another, if others can be like it. */
static int starts(struct recorder *r, struct series *f, const struct series *like, u64 number) {
    u32 sites = r->context->sites, lines = 0;
    for (u32 n = 0; n < sites; n++) {
        lines += lines_in(&r->runs[n]);
        if (r->runs[n].count > MOST_REPEATS) return 0;
    }
    if (paths_of(r) > SERIES_PATHS || lines > r->context->line_room) return 0;
    put_series(r, f);
    f->own = f->held = 0;
    if (lines) {
        if (r->listed) put_series(r, r->listed);
        if (!keep_lists(r, f)) return 0;
        r->listed = f;
    }
    /* The next one may be as far on as the last ones were. */
    if (like && like != f)
        for (u32 n = 0; n < sites; n++) ((half *)f->delta)[2 * n] = ((half *)like->delta)[2 * n];
    f->step = like ? like->step : 0;
    f->lines = lines;
    f->relisted = r->relisted;
    f->start = f->last_number = number;
    f->waves = 1;
    f->paths = paths_of(r);
    begin_series(r, f);
    return 1;
}

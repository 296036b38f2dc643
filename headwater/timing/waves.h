/* A trace file in memory, `struct trace`, in; the path and the accesses of one wavefront after the other out. See docs/trace.md. */

enum { SITE_BITS = LIST - 1 };

struct path_record { u32 segment, active, repeat; };

/* Accesses of a site, one after the other. */
struct run { u32 first; i32 stride; u32 repeat; u16 flags; u8 active, count; const u32 *lines; }; /* repeat: as in the file */
enum { REPEATS = (1 << REPEAT_BITS) - 1 };
struct cursor { struct run run; u32 at, end, used, unused; }; /* run: what runs[at] is */

/* One access: `first` and, if `lines` is set, each line's distance from it; if it is `narrow`, the distance of the least, and
   those from that in 16 bits. */
struct access { u32 first, count, active, flags, cycles, narrow; const u32 *lines; };

/* The numbers of all its lines. */
static inline void lines_of(const struct access *a, u32 *line) {
    u32 first = a->first;
    if (!a->lines)
        for (u32 n = 0; n < a->count; n++) line[n] = first + n;
    else if (!a->narrow)
        for (u32 n = 0; n < a->count; n++) line[n] = first + a->lines[n];
    else {
        const u16 *narrow = (const u16 *)(a->lines + 1);
        first += a->lines[0];
        for (u32 n = 0; n < a->count; n++) line[n] = first + narrow[n];
    }
}

/* Words of `lines` that a record has. */
static inline u32 words_of(const struct memory_record *m) { return m->active & NARROW ? 1 + (m->count + 1u) / 2 : m->count; }

/* The same of a list that begins so. */
static inline u32 words_behind(u32 head) { return head & NARROW << 16 ? 1 + ((head >> 24) + 1) / 2 : head >> 24; }

struct reader {
    const u32 *path_begin, *path, *path_end; /* of a chunk; behind the record that is run */
    struct path_record now;
    u32 chunk;         /* of `path` */
    u32 repeat;        /* of the record, how often it is still to run, this time included */
    u32 turns;         /* how often a loop of the path is still to run again, plus 1; 0 outside of any */
    struct cursor *cursors;
    struct run *runs;
    u64 room;          /* bytes of the two */
    u8 *memory;
    u8 owned;          /* whether it was allocated for this reader */
};

static inline const struct chunk *chunk_at(const struct trace *t, u32 number) {
    return (const struct chunk *)(t->data + t->offset[number]);
}

static inline u64 chunk_bytes(const struct chunk *c) {
    return sizeof *c + 4ull * c->path + 16ull * c->memory + 4ull * c->lines + (c->waves > 1 ? 4ull * c->memory : 0);
}

/* The number of the chunk's first wavefront. */
static inline u64 number_of(const struct trace *t, const struct chunk *c) {
    return c->group * t->waves_per_group + c->wave;
}

/* How many chunks there are; ~0 if the file is damaged. */
EXPORT u64 hw_chunks(struct trace *t) {
    u64 at = t->start, count = 0;
    while (at < t->bytes) {
        const struct chunk *c = (const struct chunk *)(t->data + at);
        if (at + sizeof *c > t->bytes || c->magic != CHUNK_MAGIC || at + chunk_bytes(c) > t->bytes) return ~0ull;
        if (c->wave >= t->waves_per_group || c->group >= t->waves || c->waves == 0) return ~0ull;
        u64 wave = number_of(t, c);
        if (wave >= t->waves || (c->waves - 1ull) * c->step >= t->waves - wave) return ~0ull;
        if (c->waves > 1 && (c->step == 0 || !c->last)) return ~0ull;
        at += chunk_bytes(c);
        count++;
    }
    return count;
}

/* Fill in the index. `last`: scratch of a u32 for each wavefront. Returns how many wavefronts are incomplete. */
EXPORT u64 hw_index(struct trace *t, u32 *last) {
    u64 at = t->start, missing = 0;
    for (u64 n = 0; n < t->waves; n++) t->first[n] = last[n] = ~0u;
    for (u32 n = 0; n < t->chunks; n++) {
        const struct chunk *c = (const struct chunk *)(t->data + at);
        u64 wave = number_of(t, c);
        t->offset[n] = at;
        t->next[n] = ~0u;
        for (u32 turn = 0; turn < c->waves; turn++, wave += c->step) {
            if (last[wave] == ~0u) t->first[wave] = n;
            else t->next[last[wave]] = n;
            last[wave] = n;
        }
        at += chunk_bytes(c);
    }
    for (u64 n = 0; n < t->waves; n++) missing += last[n] == ~0u || !chunk_at(t, last[n])->last;
    return missing;
}

static inline int is_again(u32 word) { return (word >> LANES_SHIFT & LANES_MASK) == REPEATED; }

/* Go back to where a loop of the path begins, or on behind the word that says so. 0 if the file is damaged. */
static int reader_back(struct reader *r) {
    u32 word = *r->path, often = word >> OFTEN_SHIFT, words = word & 0xffff;
    const u32 *end = r->path + 1 + (often == 0);
    if (end > r->path_end) return 0;
    if (often == 0) often = end[-1];
    if (r->turns == 0) {
        if (words == 0 || words > r->path - r->path_begin || often == ~0u) return 0;
        for (const u32 *at = r->path - words; at < r->path; at += 1 + (*at >> OFTEN_SHIFT == 0))
            if (is_again(*at)) return 0; /* would never end */
        r->turns = often + 1;
    }
    if (--r->turns) r->path -= words;
    else r->path = end;
    return 1;
}

/* Go to the next record of the path; 0 if there is none. */
static int reader_more(struct reader *r, const struct trace *t) {
    while (r->path == r->path_end) {
        if (r->chunk == ~0u) return 0;
        const struct chunk *c = chunk_at(t, r->chunk);
        r->path = r->path_begin = (const u32 *)(c + 1);
        r->path_end = r->path + c->path;
        r->chunk = t->next[r->chunk];
    }
    u32 word = *r->path++;
    r->repeat = word >> OFTEN_SHIFT;
    if (r->repeat == 0 && r->path < r->path_end) r->repeat = *r->path++;
    if (r->repeat == 0 || is_again(word)) return 0; /* damaged */
    r->now = (struct path_record){word & 0xffff, word >> LANES_SHIFT & LANES_MASK, r->repeat};
    while (r->path < r->path_end && is_again(*r->path))
        if (!reader_back(r)) return 0;
    return 1;
}

/* What segment comes after the present run of its record; -1: none. */
static inline i32 reader_peek(const struct reader *r, const struct trace *t) {
    if (r->repeat > 1) return r->now.segment;
    if (r->path < r->path_end) return *r->path & 0xffff;
    for (u32 n = r->chunk; n != ~0u; n = t->next[n])
        if (chunk_at(t, n)->path) return *(const u32 *)(chunk_at(t, n) + 1) & 0xffff;
    return -1;
}

enum { EXPECTED = 512 }; /* bytes of a chunk: those of a short one, or where a longer one begins */

/* A wavefront will begin soon, if there is that one: bring what the trace says of it from the host's memory. */
static inline void trace_expect(const struct trace *t, u64 wave) {
    if (wave >= t->waves) return;
    const u8 *at = (const u8 *)chunk_at(t, t->first[wave]);
    for (u32 n = 0; n < EXPECTED; n += 64) __builtin_prefetch(at + n);
}

/* The same of lines that an access will go to. */
static inline void run_expect(const struct run *run) {
    if (run->lines == 0) return;
    u32 words = run->active & NARROW ? run->count / 2 : run->count;
    for (u32 n = 0; n < words; n += 16) __builtin_prefetch(run->lines + n);
}

/* Begin with a wavefront: sort its accesses by site. Returns 0 if the trace does not fit its header or memory ends. */
static int reader_begin(struct reader *r, const struct trace *t, u64 wave, void *(*allocate)(void *, u64)) {
    u64 total = 0;
    for (u32 n = t->first[wave]; n != ~0u; n = t->next[n]) total += chunk_at(t, n)->memory;
    u64 need = total * sizeof(struct run) + t->sites * sizeof(struct cursor);
    if (need > r->room) {
        need += need / 4;
        r->memory = allocate(r->owned ? r->memory : 0, need);
        r->owned = 1;
        r->room = r->memory ? need : 0;
        if (r->memory == 0) return 0;
    }
    r->runs = (struct run *)r->memory;
    r->cursors = (struct cursor *)(r->runs + total);
    __builtin_memset(r->cursors, 0, t->sites * sizeof(struct cursor));
    for (u32 n = t->first[wave]; n != ~0u; n = t->next[n]) {
        const struct chunk *c = chunk_at(t, n);
        const struct memory_record *m = (const struct memory_record *)((const u8 *)(c + 1) + 4ull * c->path);
        for (u32 k = 0; k < c->memory; k++) {
            if ((u32)(m[k].site & SITE_BITS) >= t->sites) return 0;
            r->cursors[m[k].site & SITE_BITS].end++;
        }
    }
    u32 at = 0;
    for (u32 s = 0; s < t->sites; s++) {
        u32 count = r->cursors[s].end;
        r->cursors[s] = (struct cursor){.at = at, .end = at};
        at += count;
    }
    for (u32 n = t->first[wave]; n != ~0u; n = t->next[n]) {
        const struct chunk *c = chunk_at(t, n);
        const struct memory_record *m = (const struct memory_record *)((const u8 *)(c + 1) + 4ull * c->path);
        const u32 *lines = (const u32 *)(m + c->memory), *end = lines + c->lines;
        u32 turn = c->waves > 1 ? (wave - number_of(t, c)) / c->step : 0;
        if (c->last & OWN_LISTS)
            for (u32 before = 0; before < turn; before++)
                for (u32 k = 0; k < c->memory; k++)
                    if (m[k].site & LIST && lines < end) lines += LIST_HEAD + words_behind(*lines);
        if (lines > end) return 0;
        for (u32 k = 0; k < c->memory; k++) {
            struct run *run = &r->runs[r->cursors[m[k].site & SITE_BITS].end++];
            u32 first = m[k].first + (turn ? turn * end[k] : 0); /* what it grows by lies behind the lines */
            *run = (struct run){first, m[k].stride, m[k].repeat, m[k].site, m[k].active, m[k].count, 0};
            if (!(m[k].site & LIST)) continue;
            u32 words = words_of(&m[k]);
            if (c->last & OWN_LISTS) {
                if (end - lines < LIST_HEAD) return 0;
                u32 head = *lines;
                words = words_behind(head);
                run->first = lines[1];
                run->count = head >> 24;
                run->active = (m[k].active & LANES_MASK) | (head >> 16 & NARROW);
                run->repeat = (m[k].repeat & REPEATS) | head << REPEAT_BITS;
                lines += LIST_HEAD;
            }
            run->lines = lines;
            if (words > end - lines) return 0;
            lines += words;
        }
    }
    for (u32 s = 0; s < t->sites; s++)
        if (r->cursors[s].at < r->cursors[s].end) r->cursors[s].run = r->runs[r->cursors[s].at];
    r->chunk = t->first[wave];
    r->path = r->path_end = 0;
    r->turns = 0;
    return reader_more(r, t);
}

/* The next access of a site; 0 if there is none. */
static inline int reader_access(struct reader *r, u32 site, struct access *found) {
    struct cursor *c = &r->cursors[site];
    if (c->at == c->end) return 0;
    const struct run *run = &c->run;
    *found = (struct access){run->first + run->stride * c->used, run->count, run->active & LANES_MASK, run->flags,
                             (run->repeat >> REPEAT_BITS) + 1, run->active & NARROW, run->lines};
    if (++c->used >= (run->repeat & REPEATS)) {
        if (++c->at < c->end) {
            c->run = r->runs[c->at];
            __builtin_prefetch(&r->runs[c->at + 1]);
            run_expect(&c->run);
        }
        c->used = 0;
    }
    return 1;
}

/* The access that a site had last: what sites with the same records have. */
static inline int reader_again(struct reader *r, u32 site, struct access *found) {
    const struct cursor *c = &r->cursors[site];
    if (c->used == 0 && c->at - 1 >= c->end) return 0;
    const struct run *run = c->used ? &c->run : &r->runs[c->at - 1]; /* most often it is at hand */
    *found = (struct access){run->first, run->count, run->active & LANES_MASK, run->flags,
                              (run->repeat >> REPEAT_BITS) + 1, run->active & NARROW, run->lines};
    return 1;
}

/* The next access of a site, also of one that another tells. */
static inline int reader_site(struct reader *r, const struct trace *t, u32 site, struct access *found) {
    i32 same = t->same[site];
    return same >= 0 ? reader_again(r, same, found) : reader_access(r, site, found);
}

/* The segment that is run next; -1 after the last. */
static inline i64 reader_segment(struct reader *r, const struct trace *t) {
    if (--r->repeat == 0 && !reader_more(r, t)) return -1;
    return r->now.segment < t->segments ? r->now.segment : -1;
}

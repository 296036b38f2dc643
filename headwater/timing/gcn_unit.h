/* A compute unit of the GCN kind: what its SIMDs, wavefronts and groups are at. */

enum { CLASSES = WAIT }; /* of instructions, of which a SIMD issues one each */
enum { SIMDS = 8, SLOTS = 16, GROUPS = 64, MOST_DIES = 16, RING = 64, SHORT_RING = 16, MISSES = 256, READER_BYTES = 4160 };

/* Accesses under way are numbered from 1 on, so that a wavefront with few needs one line of the host's memory for them. */
struct wave { /* what every instruction needs comes first */
    u32 op, end;
    i32 segment;
    u32 jumped, line, group, number;
    u32 vm_issued, lgkm_issued, kind; /* kind: of `of_class` that it is in */
    u64 since, mask_ready, begun;
    struct reader reader;
    u64 export_done, stored, lds_last, smem_last, stall_from;
    u64 vm_done[RING], lgkm_done[SHORT_RING];
} __attribute__((aligned(64)));

struct group { u64 number, latest; u32 waves, left, arrived; u8 member[64]; };

struct simd {
    w16 ready;
    u32 alive, starting, waiting, of_class[CLASSES];
    u32 queued; /* those that wait for others' turn, whatever `why` says */
    u8 why[SLOTS];
    u64 next, valu_free, matrix_free, covered;
    struct wave *waves;
};

struct unit { /* a compute unit */
    struct simd simd[SIMDS];
    struct group group[GROUPS];
    u64 groups;  /* which of them are in use */
    u32 resident, number, die;
    u64 next, address_free, miss_free, return_free, lds_free, scalar_free;
    u64 miss_done[MISSES];
    u64 misses;
    struct cache l1, *scalar, *code;
};

struct gpu {
    struct machine m;
    struct unit *units;
    u64 next_of_die[MOST_DIES]; /* work-groups are dealt to dies in turn */
    u64 cause[CAUSES], wave_cause[CAUSES], empty;
    u64 valu_busy, scalar_busy, branch_busy, lds_busy, lds_conflicts, address_busy, taken;
    u64 loads, stores, load_lines, store_lines;
};

/* From `time` on, the SIMD's next turn; a period is a power of two. */
static inline u64 align(u64 time, u32 simd, u32 period) {
    return time + ((simd - (u32)time) & (period - 1));
}

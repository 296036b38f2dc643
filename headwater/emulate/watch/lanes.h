/* Sixteen lanes at a time, for trace.c and check.c. */

typedef unsigned short u16;
typedef u32 v16 __attribute__((vector_size(64)));
typedef u16 h16 __attribute__((vector_size(32)));
typedef _Bool b16 __attribute__((ext_vector_type(16)));

static inline v16 splat(u32 x) {
    v16 v = {0};
    return v + x;
}

static inline v16 count_up(void) { return (v16){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }

/* All ones in the lanes of a part that the mask has. */
static inline v16 lane_mask(u64 mask, u32 part) {
    u16 bits = mask >> part * 16;
    b16 lanes;
    __builtin_memcpy(&lanes, &bits, 2);
    return 0 - __builtin_convertvector(lanes, v16);
}

static inline int any(v16 v) {
    b16 lanes = __builtin_convertvector(v, b16);
    u16 bits;
    __builtin_memcpy(&bits, &lanes, 2);
    return bits != 0;
}

/* Of things that lie `bytes` apart and have a field that says whose they are, that of `me`, or one that is nobody's: a thread may leave a
   launch, and come again. 0 if there is none left. */
static inline void *own_of(u64 all, u64 count, u64 bytes, u64 owner_offset, u64 me) {
    for (u64 n = 0; n < count; n++) {
        u64 *owner = (u64 *)(all + n * bytes + owner_offset), nobody = 0;
        if (__atomic_load_n(owner, __ATOMIC_RELAXED) == me ||
            __atomic_compare_exchange_n(owner, &nobody, me, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return (void *)(all + n * bytes);
    }
    return 0;
}

static inline v16 part_of(const u32 *lanes, u32 part) { return ((const v16 *)lanes)[part]; }

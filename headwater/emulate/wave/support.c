/* Work-groups of a launch in; every one of their wavefronts run by the translated code `hw_wave`, out.

   Compiled once for this machine, after the declarations of `layout.c_header`, and linked to each kernel's code. The
   slow half of memory is here too: finding the allocation that an address belongs to, lanes that access different
   ones, the apertures of flat addresses, and the error record of an access that belongs to none. */

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

HIDDEN u32 hw_wave(struct wave *w);

/* ---- faults ----------------------------------------------------------------------------------------------------- */

/* Note a fault, if it is the launch's first, and stop all threads. */
HIDDEN void hw_fault(struct wave *w, u32 kind, u64 pc, u32 lane, u64 address, u64 bytes, u64 detail) {
    struct fault *record = (struct fault *)w->record;
    u64 none = 0;
    if (__atomic_compare_exchange_n(&record->kind, &none, kind, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        record->pc = pc;
        record->group[0] = w->group[0];
        record->group[1] = w->group[1];
        record->group[2] = w->group[2];
        record->wave = w->index;
        record->lane = lane;
        record->address = address;
        record->bytes = bytes;
        record->detail = detail;
    }
    ((volatile struct launch_block *)w->block)->stop = 1;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* The allocation that holds all of [address, address + bytes), or none. They are sorted and do not overlap. */
static inline const struct allocation *find(const struct wave *w, u64 address, u64 bytes) {
    const struct allocation *all = (const struct allocation *)w->allocations;
    u64 low = 0, high = w->allocation_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (all[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    if (low == 0) return 0;
    const struct allocation *one = &all[low - 1];
    return address + bytes >= address && address + bytes <= one->end ? one : 0;
}

/* Bits of `how`: a write; a flat address, which may lie in an aperture; the slot is the LDS, the wavefront's private memory,
   the GDS or a resource's descriptor instead of a memory of the last allocation; the address is one of the arena; the base
   is a `struct buffer`, the low half of an address an offset, the high one an index. */

/* An allocation of the arena, whose 32-bit addresses VLIW shaders use: `start` and `end` are such addresses, `flags` is what
   is added to them to get the host's, with the flag WRITABLE. Its slots have a third word, that summand. */
static inline u64 arena_delta(const struct allocation *one) { return one->flags & ~(u64)255; }

static u64 arena_place(struct wave *w, u64 address, u64 bytes, u32 how, u64 pc, u32 lane, struct arena_slot *slot) {
    u64 offset = address + slot->delta - slot->start;
    if (offset < slot->size && slot->size - offset >= bytes) return address + slot->delta;
    const struct allocation *one = find(w, address, bytes);
    if (one == 0 || (how & WRITE && !(one->flags & WRITABLE))) {
        hw_fault(w, one ? FAULT_READ_ONLY : how & WRITE ? FAULT_WRITE : FAULT_READ, pc, lane, address, bytes, 0);
        return 0;
    }
    slot->delta = arena_delta(one);
    slot->start = one->start + slot->delta;
    slot->size = one->end - one->start;
    return address + slot->delta;
}

/* Where dword `at` of a lane's private memory lies: dwords of the 64 lanes are interleaved. */
static unsigned char *private_place(const struct wave *w, u32 lane, u32 at) {
    return (unsigned char *)w->scratch + (u64)(at & ~3u) * LANES + lane * 4 + (at & 3);
}

/* The host address of one lane's access, or 0 after a fault. Accesses of the private aperture are of up to 4 bytes and
   do not cross a dword; the caller divides larger ones. */
HIDDEN u64 hw_place(struct wave *w, u64 address, u64 bytes, u32 how, u64 pc, u32 lane, struct slot *slot) {
    if (how & IN_ARENA) return arena_place(w, address, bytes, how, pc, lane, (struct arena_slot *)slot);
    u64 offset = address - slot->start;
    if (offset < slot->size && slot->size - offset >= bytes) return address;
    if (how & IN_RESOURCE) {
        hw_fault(w, how & WRITE ? FAULT_WRITE : FAULT_READ, pc, lane, offset, bytes, (u64)slot - w->args + 1);
        return 0;
    }
    if (how & (IN_LDS | IN_GDS)) {
        hw_fault(w, how & WRITE ? FAULT_LDS_WRITE : FAULT_LDS_READ, pc, lane, offset, bytes, how & IN_GDS);
        return 0;
    }
    if (how & IN_PRIVATE) {
        hw_fault(w, FAULT_PRIVATE, pc, lane, offset / LANES, bytes, how & WRITE);
        return 0;
    }
    if (how & FLAT) {
        u32 high = address >> 32, low = (u32)address;
        if (high == SHARED_APERTURE) {
            if ((u64)low + bytes <= w->lds_bytes) return w->lds + low;
            hw_fault(w, how & WRITE ? FAULT_LDS_WRITE : FAULT_LDS_READ, pc, lane, low, bytes, 0);
            return 0;
        }
        if (high == PRIVATE_APERTURE) {
            if (((u64)low + bytes) * LANES <= w->scratch_bytes) return (u64)private_place(w, lane, low);
            hw_fault(w, FAULT_PRIVATE, pc, lane, low, bytes, how & WRITE);
            return 0;
        }
    }
    const struct allocation *one = find(w, address, bytes);
    if (one == 0 && bytes == 4 && !(address & 3)) {
        one = find(w, address, 1);
        if (one && (address == one->end || !(one->flags & WHOLE_DWORDS))) one = 0;
    }
    if (one == 0 || (how & WRITE && !(one->flags & WRITABLE))) {
        u32 kind = one ? FAULT_READ_ONLY : how & WRITE ? FAULT_WRITE : FAULT_READ;
        hw_fault(w, kind, pc, lane, address, bytes, 0);
        return 0;
    }
    slot->start = one->start;
    slot->size = one->end - one->start;
    return address;
}

static inline int moves_in_pieces(u64 address, u32 bytes, u32 how) {
    return how & FLAT && address >> 32 == PRIVATE_APERTURE && ((u32)address & 3) + bytes > 4;
}

/* One lane's `bytes` bytes, moved between memory and `data`; 0 after a fault. */
static int move_lane(struct wave *w, u64 address, u32 bytes, u32 how, u64 pc, u32 lane, struct slot *slot, unsigned char *data) {
    u32 step = moves_in_pieces(address, bytes, how) ? 1 : bytes;
    for (u32 done = 0; done < bytes; done += step) {
        unsigned char *place = (unsigned char *)hw_place(w, address + done, step, how, pc, lane, slot);
        if (place == 0) return 0;
        if (how & WRITE) __builtin_memcpy(place, data + done, step);
        else __builtin_memcpy(data + done, place, step);
    }
    return 1;
}

/* Sixteen lanes' access at `base + (high << 32 | low)`. `info`: bits 0-7 how, 8-15 the first lane, 16-23 bytes of each, 32-63
   the instruction's address. `buffer`: u32 low[16], high[16], then data: dword d of lane l is data[16 * d + l]. A load
   of less than a dword is zero-extended. 0 is returned after a fault. */
static inline int inside(const u32 *buffer, u64 base, u32 mask, u32 bytes, const struct slot *slot, u64 *address) {
    u64 start = slot->start, size = slot->size;
    u32 outside = 0;
    for (u32 l = 0; l < PART; l++) address[l] = base + ((u64)buffer[PART + l] << 32 | buffer[l]);
    if (size < bytes) return 0;
    for (u32 l = 0; l < PART; l++) outside |= (u32)(address[l] - start > size - bytes) << l;
    return (outside & mask) == 0;
}

/* What lanes' addresses are for `hw_place`, if they are not inside of the slot. */
static inline void not_inside(const u32 *buffer, u32 how, u64 *address) {
    if (how & IN_ARENA)
        for (u32 l = 0; l < PART; l++) address[l] = buffer[l];
}

/* Whether accesses outside of a buffer are not to be reported: it is not checked, or the lane has nothing to do and says so by
   2 GiB more of offset, as Triton and composable_kernel have it (AMD_BUFFER_LOAD_OOB_CHECK_OFFSET_TRICK). */
static int unchecked(const struct buffer *x, const struct buffer_at *at, u32 offset) {
    return !(x->flags & IS_CHECKED) || (!at->by_element && offset >> 30 == 2);
}

static void outside(struct wave *w, const struct buffer *x, const struct buffer_at *at, u32 bytes, u64 pc, u32 lane, u32 write) {
    u64 what = x->resource[2] | (u64)(write != 0) << 32 | (u64)at->by_element << 33;
    hw_fault(w, FAULT_RECORDS, pc, lane, at->offset, bytes, what);
}

/* Sixteen lanes' access to a buffer, dword by dword: those that are outside load 0 and store nothing. */
static u32 buffer_part(struct wave *w, const struct buffer *x, u32 mask, u64 info, struct slot *slot, u32 *buffer, u32 write) {
    u32 how = (info & 0xff & ~IN_BUFFER) | write, first = info >> 8 & 0xff, bytes = info >> 16 & 0xff;
    u32 *data = buffer + 2 * PART, whole = x->flags & IS_FORMATTED, step = bytes < 4 ? bytes : 4;
    for (u32 l = 0; l < PART; l++) {
        if (!(mask >> l & 1)) continue;
        for (u32 d = 0; d * 4 < bytes; d++) {
            u32 index = buffer[PART + l], offset = buffer[l], value = write ? data[d * PART + l] : 0;
            struct buffer_at at = buffer_at(x, first + l, index, offset, 4 * d, step);
            if (whole) at.inside = buffer_at(x, first + l, index, offset, 0, bytes).inside;
            if (at.inside) {
                if (!move_lane(w, at.address, step, how, info >> 32, first + l, slot, (unsigned char *)&value)) return 0;
            } else if (!unchecked(x, &at, offset)) {
                outside(w, x, &at, step, info >> 32, first + l, write);
                return 0;
            }
            if (!write) data[d * PART + l] = value;
        }
    }
    return 1;
}

/* The lanes of an atomic instruction that are inside of a buffer, with their addresses; 0 after a fault. `offsets`: u32[64],
   then as many indices. */
HIDDEN u32 hw_buffer_lanes(struct wave *w, struct buffer *x, u64 lanes, const u32 *offsets, u64 bytes, u64 pc, u64 *address) {
    x->lanes = 0;
    for (u32 l = 0; l < LANES; l++) {
        if (!(lanes >> l & 1)) continue;
        struct buffer_at at = buffer_at(x, l, offsets[LANES + l], offsets[l], 0, bytes);
        address[l] = at.address;
        if (at.inside) x->lanes |= 1ull << l;
        else if (!unchecked(x, &at, offsets[l])) {
            outside(w, x, &at, bytes, pc, l, 1);
            return 0;
        }
    }
    return 1;
}

/* Dwords at `offset` in a buffer at `base`, which has `size` bytes, moved to or from `data` for the whole wavefront. `how`:
   WRITE, and IN_BUFFER if none may be outside. */
HIDDEN u32 hw_scalar_part(
    struct wave *w, u64 base, u64 offset, u64 size, u32 dwords, u32 how, u64 pc, struct slot *slot, u32 *data
) {
    for (u32 d = 0; d < dwords; d++, offset += 4) {
        if (offset < size && size - offset >= 4) {
            if (!move_lane(w, base + offset, 4, how & WRITE, pc, 0, slot, (unsigned char *)&data[d])) return 0;
        } else if (how & IN_BUFFER) {
            hw_fault(w, FAULT_RECORDS, pc, 0, size, 4, (u64)(how & WRITE) << 32 | 1ull << 34);
            return 0;
        } else if (!(how & WRITE)) {
            data[d] = 0;
        }
    }
    return 1;
}

/* Whole dwords of the lanes, moved between `data` and memory. `words` and `write` are constants. */
static inline __attribute__((always_inline)) void move_words(
    u32 *data, const u64 *address, u32 mask, const u32 words, const u32 write
) {
    for (u32 l = 0; l < PART; l++) {
        if (!(mask >> l & 1)) continue;
        u32 value[4];
        if (!write) __builtin_memcpy(value, (const void *)address[l], 4 * words);
        for (u32 d = 0; d < words; d++)
            if (write) value[d] = data[d * PART + l];
            else data[d * PART + l] = value[d];
        if (write) __builtin_memcpy((void *)address[l], value, 4 * words);
    }
}

/* The same of accesses by `bytes` bytes, if those are usual. */
static inline __attribute__((always_inline)) u32 moved(u32 *data, const u64 *address, u32 mask, u32 bytes, const u32 write) {
    if (bytes == 4) move_words(data, address, mask, 1, write);
    else if (bytes == 8) move_words(data, address, mask, 2, write);
    else if (bytes == 16) move_words(data, address, mask, 4, write);
    else return 0;
    return 1;
}

HIDDEN u32 hw_load_part(struct wave *w, u64 base, u32 mask, u64 info, struct slot *slot, u32 *buffer) {
    u32 how = info & 0xff, first = info >> 8 & 0xff, bytes = info >> 16 & 0xff, *data = buffer + 2 * PART;
    u64 address[PART];
    if (how & IN_BUFFER) return buffer_part(w, (const struct buffer *)base, mask, info, slot, buffer, 0);
    int simple = inside(buffer, base, mask, bytes, slot, address);
    if (!simple) not_inside(buffer, how, address);
    for (u32 d = 0; d * 4 < bytes; d++)
        for (u32 l = 0; l < PART; l++) data[d * PART + l] = 0;
    if (simple && moved(data, address, mask, bytes, 0)) return 1;
    for (u32 l = 0; l < PART; l++) {
        if (!(mask >> l & 1)) continue;
        u32 value[4] = {0};
        if (simple && bytes == 2) {
            __builtin_memcpy(value, (const void *)address[l], 2);
        } else if (simple) {
            for (u32 n = 0; n < bytes; n++) ((unsigned char *)value)[n] = ((const unsigned char *)address[l])[n];
        } else if (!move_lane(w, address[l], bytes, how, info >> 32, first + l, slot, (unsigned char *)value)) {
            return 0;
        }
        for (u32 d = 0; d * 4 < bytes; d++) data[d * PART + l] = value[d];
    }
    return 1;
}

HIDDEN u32 hw_store_part(struct wave *w, u64 base, u32 mask, u64 info, struct slot *slot, u32 *buffer) {
    u32 how = (info & 0xff) | WRITE, first = info >> 8 & 0xff, bytes = info >> 16 & 0xff, *data = buffer + 2 * PART;
    u64 address[PART];
    if (how & IN_BUFFER) return buffer_part(w, (const struct buffer *)base, mask, info, slot, buffer, WRITE);
    int simple = inside(buffer, base, mask, bytes, slot, address);
    if (!simple) not_inside(buffer, how, address);
    if (simple && moved(data, address, mask, bytes, WRITE)) return 1;
    for (u32 l = 0; l < PART; l++) {
        if (!(mask >> l & 1)) continue;
        u32 value[4];
        for (u32 d = 0; d * 4 < bytes; d++) value[d] = data[d * PART + l];
        if (simple) {
            for (u32 n = 0; n < bytes; n++) ((unsigned char *)address[l])[n] = ((unsigned char *)value)[n];
        } else if (!move_lane(w, address[l], bytes, how, info >> 32, first + l, slot, (unsigned char *)value)) {
            return 0;
        }
    }
    return 1;
}

/* Sixteen lanes' elements of 2 or 4 bytes, moved between memory and a register if they follow each other inside of the slot.
   Returns whether they do. */
static u32 move_run(
    u64 base, const struct slot *slot, const u32 *low, const u32 *high, u32 offset, u32 *data, u32 bytes, u32 write
) {
    u32 gaps = 0, start = low[0] + offset;
    for (u32 l = 0; l < PART; l++) gaps |= low[l] ^ (low[0] + bytes * l);
    if (high)
        for (u32 l = 0; l < PART; l++) gaps |= high[l] ^ high[0];
    if (gaps || start > ~0u - PART * bytes) return 0;
    u64 address = base + ((u64)(high ? high[0] : 0) << 32 | start), at = address - slot->start;
    if (at >= slot->size || slot->size - at < PART * bytes) return 0;
    void *place = (void *)address;
    u16 halves[PART];
    if (bytes == 4) {
        __builtin_memcpy(write ? place : data, write ? data : place, 4 * PART);
    } else if (write) {
        for (u32 l = 0; l < PART; l++) halves[l] = data[l];
        __builtin_memcpy(place, halves, sizeof halves);
    } else {
        __builtin_memcpy(halves, place, sizeof halves);
        for (u32 l = 0; l < PART; l++) data[l] = halves[l];
    }
    return 1;
}

/* The same for the whole wavefront and where registers lie: dword d of lane l is [64 * d + l]. `low` and `high` may be null;
   `second`, if it is not, is moved as `first` is, `offsets >> 32` instead of the lower half from the address on. Nothing is
   done to registers of lanes that `mask` excludes. */
HIDDEN u32 hw_move_wave(
    struct wave *w, u64 base, u64 mask, u64 info, struct slot *slot, const u32 *low, const u32 *high, u32 *first,
    u32 *second, u64 offsets
) {
    u32 bytes = info >> 16 & 0xff, dwords = (bytes + 3) / 4, pieces = second ? 2 : 1;
    u32 *data[2] = {first, second};
    for (u32 p = 0; p < LANES; p += PART) {
        u32 lanes = mask >> p & 0xffff;
        u32 buffers[2][6 * PART];
        if (lanes == 0) continue;
        if (lanes == 0xffff && low && !second && (bytes == 2 || bytes == 4)
            && move_run(base, slot, low + p, high ? high + p : 0, offsets, first + p, bytes, info & WRITE))
            continue;
        for (u32 n = 0; n < pieces; n++) {
            u32 *buffer = buffers[n], offset = offsets >> 32 * n;
            for (u32 l = 0; l < PART; l++) buffer[l] = (low ? low[p + l] : 0) + offset;
            for (u32 l = 0; l < PART; l++) buffer[PART + l] = high ? high[p + l] : 0;
            if (info & WRITE)
                for (u32 d = 0; d < dwords; d++)
                    for (u32 l = 0; l < PART; l++) buffer[(2 + d) * PART + l] = data[n][d * LANES + p + l];
            u64 part = info | (u64)p << 8;
            u32 fine = info & WRITE ? hw_store_part(w, base, lanes, part, slot, buffer)
                                    : hw_load_part(w, base, lanes, part, slot, buffer);
            if (!fine) return 0;
        }
        if (info & WRITE) continue;
        for (u32 n = 0; n < pieces; n++) /* not before: addresses may lie in these registers */
            for (u32 d = 0; d < dwords; d++) {
                u32 *to = data[n] + d * LANES + p, *from = buffers[n] + (2 + d) * PART;
                if (lanes == 0xffff) __builtin_memcpy(to, from, 4 * PART);
                else
                    for (u32 l = 0; l < PART; l++)
                        if (lanes >> l & 1) to[l] = from[l];
            }
    }
    return 1;
}

/* Dwords of all lanes at one offset of private memory, which is at `start` for the first lane, moved as hw_move_wave does. */
HIDDEN u32 hw_move_private(struct wave *w, u64 start, u64 mask, u64 info, struct slot *slot, u32 *registers) {
    u32 bytes = info >> 16 & 0xff;
    for (u32 d = 0; d * 4 < bytes; d++, start += 4 * LANES, registers += LANES) {
        u64 offset = start - slot->start;
        if (mask == ~0ull && offset < slot->size && slot->size - offset >= 4 * LANES) {
            if (info & WRITE) __builtin_memcpy((void *)start, registers, 4 * LANES);
            else __builtin_memcpy(registers, (const void *)start, 4 * LANES);
            continue;
        }
        for (u32 l = 0; l < LANES; l++) {
            if (!(mask >> l & 1)) continue;
            if (!move_lane(w, start + 4 * l, 4, info & 0xff, info >> 32, l, slot, (unsigned char *)&registers[l])) return 0;
        }
    }
    return 1;
}

#if defined(__x86_64__) && defined(__AVX512BW__)
/* hw_load_partN and hw_store_partN: the same with the buffer's contents in zmm0, zmm1 and, data, zmm2 to zmm5 (stores) or zmm0
   to zmm3 (loads' results). All registers but eax and the results are kept. N: dwords. */
__asm__(
    ".altmacro\n"
    ".macro HW_SAVE n\n vmovdqu64 %zmm\\n, (384 + 64*\\n)(%rsp)\n .endm\n"
    ".macro HW_BACK n\n vmovdqu64 (384 + 64*\\n)(%rsp), %zmm\\n\n .endm\n"
    ".macro HW_ENTER function\n"
    " pushq %rbp\n movq %rsp, %rbp\n"
    " pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n"
    " andq $-64, %rsp\n subq $(384 + 64*33), %rsp\n"
    " n = 0\n .rept 32\n HW_SAVE %n\n n = n + 1\n .endr\n"
    " kmovq %k0, (384+2048)(%rsp)\n kmovq %k1, (384+2056)(%rsp)\n kmovq %k2, (384+2064)(%rsp)\n"
    " kmovq %k3, (384+2072)(%rsp)\n kmovq %k4, (384+2080)(%rsp)\n kmovq %k5, (384+2088)(%rsp)\n"
    " kmovq %k6, (384+2096)(%rsp)\n kmovq %k7, (384+2104)(%rsp)\n"
    " n = 0\n .rept 6\n vmovdqu64 (384 + 64*n)(%rsp), %zmm0\n vmovdqu64 %zmm0, (64*n)(%rsp)\n n = n + 1\n .endr\n"
    " movq %rsp, %r9\n vzeroupper\n call \\function\n"
    " kmovq (384+2048)(%rsp), %k0\n kmovq (384+2056)(%rsp), %k1\n kmovq (384+2064)(%rsp), %k2\n"
    " kmovq (384+2072)(%rsp), %k3\n kmovq (384+2080)(%rsp), %k4\n kmovq (384+2088)(%rsp), %k5\n"
    " kmovq (384+2096)(%rsp), %k6\n kmovq (384+2104)(%rsp), %k7\n"
    " n = 0\n .rept 32\n HW_BACK %n\n n = n + 1\n .endr\n"
    ".endm\n"
    ".macro HW_LEAVE\n"
    " leaq -64(%rbp), %rsp\n"
    " popq %r11\n popq %r10\n popq %r9\n popq %r8\n popq %rdi\n popq %rsi\n popq %rdx\n popq %rcx\n popq %rbp\n"
    " retq\n .endm\n"
    ".macro HW_RESULT n\n vmovdqu64 (128 + 64*\\n)(%rsp), %zmm\\n\n .endm\n"
    ".macro HW_LOAD count\n .hidden hw_load_part\\count\n .globl hw_load_part\\count\nhw_load_part\\count:\n"
    " HW_ENTER hw_load_part\n n = 0\n .rept \\count\n HW_RESULT %n\n n = n + 1\n .endr\n HW_LEAVE\n .endm\n"
    ".macro HW_STORE count\n .hidden hw_store_part\\count\n .globl hw_store_part\\count\nhw_store_part\\count:\n"
    " HW_ENTER hw_store_part\n HW_LEAVE\n .endm\n"
    ".text\n"
    "HW_LOAD 1\n HW_LOAD 2\n HW_LOAD 3\n HW_LOAD 4\n HW_STORE 1\n HW_STORE 2\n HW_STORE 3\n HW_STORE 4\n");
#endif

/* An access of `bytes` bytes by the whole wavefront; 0 after a fault. */
HIDDEN u32 hw_scalar(struct wave *w, u64 address, u64 bytes, u32 how, u64 pc, struct slot *slot) {
    return hw_place(w, address, bytes, how, pc, 0, slot) != 0;
}

/* A fault that the translated code finds itself. */
HIDDEN u32 hw_stop(struct wave *w, u32 kind, u64 pc, u64 detail) {
    hw_fault(w, kind, pc, 0, detail, 0, detail);
    return STOPPED;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static inline u64 align64(u64 address) { return (address + 63) & ~63ull; }

/* Work-item ids of a group's wavefronts, x fastest, for v0 to v2; and the mask of the last, partial one. */
static void fill_ids(struct wave *waves, u32 count, const u32 *size, u32 packed) {
    u32 total = size[0] * size[1] * size[2];
    for (u32 n = 0; n < count; n++) {
        u32 *ids = (u32 *)waves[n].ids;
        for (u32 lane = 0; lane < LANES; lane++) {
            u32 item = n * LANES + lane;
            u32 x = item % size[0], y = item / size[0] % size[1], z = item / size[0] / size[1];
            if (item >= total) x = y = z = 0;
            ids[lane] = packed ? x | y << 10 | z << 20 : x;
            ids[LANES + lane] = packed ? 0 : y;
            ids[2 * LANES + lane] = packed ? 0 : z;
        }
        u32 left = total - n * LANES;
        waves[n].exec = left >= LANES ? ~0ull : (1ull << left) - 1;
    }
}

/* The same of pixels: four lanes for each of a wavefront's 16 quads, x | y << 16. What the group's number says is taken off,
   as code adds it. */
static void fill_pixels(struct wave *w, const u32 *quads, const u32 *group, const u32 *local, const i64 *whole) {
    u32 *ids = (u32 *)w->ids;
    w->exec = 0;
    for (u32 lane = 0; lane < LANES; lane++) {
        u32 quad = quads[lane / 4], x = 2 * (quad & 0xffff) + (lane & 1), y = 2 * (quad >> 16) + (lane >> 1 & 1);
        u32 inside = quad != ~0u && x < whole[0] && y < whole[1];
        ids[lane] = inside ? x - group[0] * local[0] : 0;
        ids[LANES + lane] = inside ? y - group[1] * local[1] : 0;
        ids[2 * LANES + lane] = 0;
        w->exec |= (u64)inside << lane;
    }
}

static void start_wave(struct wave *w, const struct dispatch *d, u64 args, u64 scratch, u32 index, u32 count) {
    __builtin_memcpy(w->sgprs, d->sgprs, sizeof w->sgprs);
    u64 bytes = (u64)d->scratch_lane_bytes * LANES;
    if (d->sgpr_private_buffer >= 0) { /* V#: base, swizzled; the rest is in the template */
        w->sgprs[d->sgpr_private_buffer] = (u32)scratch;
        w->sgprs[d->sgpr_private_buffer + 1] |= (u32)(scratch >> 32) & 0xffff;
    }
    if (d->sgpr_kernarg >= 0) {
        w->sgprs[d->sgpr_kernarg] = (u32)args;
        w->sgprs[d->sgpr_kernarg + 1] = (u32)(args >> 32);
    }
    if (d->sgpr_flat_scratch >= 0) {
        w->sgprs[d->sgpr_flat_scratch] = (u32)scratch;
        w->sgprs[d->sgpr_flat_scratch + 1] = (u32)(scratch >> 32);
    }
    for (u32 axis = 0; axis < 3; axis++)
        if (d->sgpr_group_id[axis] >= 0) w->sgprs[d->sgpr_group_id[axis]] = w->group[axis];
    /* AMDGPUUsage, "Work-Group Info": bit 31 first wavefront, [5:0] wavefronts of the group. */
    if (d->sgpr_group_info >= 0) w->sgprs[d->sgpr_group_info] = count | (index == 0 ? 1u << 31 : 0);
    if (d->sgpr_wave_offset >= 0) w->sgprs[d->sgpr_wave_offset] = (u32)(index * bytes);
    if (d->sgpr_preload >= 0)
        __builtin_memcpy(&w->sgprs[d->sgpr_preload], (u8 *)args + 4 * d->preload_first, 4 * d->preload_count);
    w->index = index;
    w->alone = count == 1;
    w->resume = 0;
}

/* Run one group; 0 if it was stopped. */
static int run_group(struct wave *waves, u32 count, const struct dispatch *d, u64 args, u64 scratch) {
    if (count == 1) {
        start_wave(waves, d, args, scratch, 0, 1);
        return hw_wave(waves) == ENDED;
    }
    for (u32 n = 0; n < count; n++) start_wave(&waves[n], d, args, scratch, n, count);
    u32 waiting = count;
    while (waiting) {
        waiting = 0;
        for (u32 n = 0; n < count; n++) {
            if (waves[n].resume == ~0u) continue;
            u32 state = hw_wave(&waves[n]);
            if (state == STOPPED) return 0;
            if (state == ENDED) waves[n].resume = ~0u;
            else waiting++;
        }
    }
    return 1;
}

/* The wavefronts of a group in a block of memory of `layout.scratch_bytes`, divided in the same order; `*end`: where it ends. */
static struct wave *make_waves(struct launch_block *block, u64 args, u64 memory, const struct dispatch *d, u64 *end) {
    u64 place = align64(memory), lds_bytes = block->local_bytes;
    u64 *cache = (u64 *)place;
    __builtin_memset(cache, 0, d->cache_slots * sizeof(struct slot));
    place = align64(place + d->cache_slots * sizeof(struct slot));
    u64 ids = place;
    place += (u64)d->waves * 3 * LANES * 4;
    struct wave *waves = (struct wave *)place;
    place += (u64)d->waves * sizeof(struct wave);
    u64 frames = place;
    place += (u64)d->waves * align64(d->frame_bytes);
    u64 scratch = place, scratch_bytes = (u64)d->scratch_lane_bytes * LANES;
    place += d->waves * scratch_bytes;
    u64 lds = align64(place);
    __builtin_memset((void *)lds, 0, lds_bytes);
    for (u32 n = 0; n < d->waves; n++) {
        struct wave *w = &waves[n];
        __builtin_memset(w, 0, sizeof *w);
        w->block = (u64)block;
        w->code = d->code;
        w->args = args;
        w->frame = frames + n * align64(d->frame_bytes);
        w->lds = lds;
        w->lds_bytes = lds_bytes;
        w->scratch = scratch + n * scratch_bytes;
        w->scratch_bytes = scratch_bytes;
        w->ids = ids + n * 3 * LANES * 4;
        w->cache = (u64)cache;
        w->gds = d->gds;
        w->gds_bytes = GDS_BYTES;
        w->allocations = block->bounds;
        w->allocation_count = block->bounds_count;
        w->record = block->error;
        __builtin_memcpy(w->hooks, d->hooks, sizeof w->hooks);
    }
    *end = lds + align64(lds_bytes) + 2 * LANES; /* a whole vector may be read from the last dword on */
    return waves;
}

/* ---- global wave synchronisation: groups side by side ----------------------------------------------------------- */

enum { READY, AT_GROUP_BARRIER, QUEUED, DONE };

struct seat { struct wave *waves; u32 count, left; }; /* left: wavefronts that have not ended */

struct gws { u32 counter, flag; };

/* Have wavefronts go on that wait at a resource: those of a barrier that has been passed, and as many as a semaphore's counter
   lets, in the order in which they came. */
static void gws_release(struct seat *seats, u32 count, u32 number, struct gws *one, u32 operation) {
    for (;;) {
        struct wave *first = 0;
        for (u32 s = 0; s < count; s++)
            for (u32 n = 0; n < seats[s].count && seats[s].left; n++) {
                struct wave *w = &seats[s].waves[n];
                if (w->state != QUEUED || w->gws_resource != number) continue;
                if (w->gws_operation == GWS_BARRIER) {
                    if (w->gws_flag != one->flag) w->state = READY;
                } else if (first == 0 || w->turn < first->turn) {
                    first = w;
                }
            }
        if (first == 0 || one->counter == 0 || operation == GWS_INIT || operation == GWS_BARRIER) return;
        one->counter--;
        first->state = READY;
    }
}

/* Do what a wavefront asks for; see `headwater.emulate.gcn.gws.Resources`. */
static void gws_ask(struct wave *w, struct seat *seats, u32 count, struct gws *resources, u64 *turn) {
    struct gws *one = &resources[w->gws_resource];
    w->state = READY;
    switch (w->gws_operation) {
    case GWS_INIT: one->counter = w->gws_value, one->flag = 0; break;
    case GWS_V: one->counter++; break;
    case GWS_BR: one->counter += w->gws_value; break;
    case GWS_RELEASE_ALL:
        one->counter = 0;
        for (u32 s = 0; s < count; s++)
            for (u32 n = 0; n < seats[s].count && seats[s].left; n++) {
                const struct wave *other = &seats[s].waves[n];
                one->counter += other->state == QUEUED && other->gws_resource == w->gws_resource &&
                                other->gws_operation == GWS_P;
            }
        break;
    case GWS_P: w->state = QUEUED, w->turn = (*turn)++; break;
    default: /* a barrier: the last to come takes the others along, and says how many the next one has */
        w->state = QUEUED, w->gws_flag = one->flag;
        if (one->counter == 0) one->flag ^= 1, one->counter = w->gws_value;
        else one->counter--;
    }
    gws_release(seats, count, w->gws_resource, one, w->gws_operation);
}

/* Run a group's wavefronts that can; 0 if they were stopped. `*moved`: whether any did. */
static int run_seat(struct seat *seat, struct seat *seats, u32 count, struct gws *resources, u64 *turn, int *moved) {
    for (u32 n = 0; n < seat->count; n++) {
        struct wave *w = &seat->waves[n];
        if (w->state != READY) continue;
        u32 state = hw_wave(w);
        *moved = 1;
        if (state == STOPPED) return 0;
        if (state == ENDED) w->state = DONE, seat->left--;
        else if (state == AT_BARRIER) w->state = AT_GROUP_BARRIER;
        else gws_ask(w, seats, count, resources, turn);
    }
    u32 waiting = 0;
    for (u32 n = 0; n < seat->count; n++) waiting += seat->waves[n].state == AT_GROUP_BARRIER;
    if (waiting && waiting == seat->left) {
        *moved = 1;
        for (u32 n = 0; n < seat->count; n++)
            if (seat->waves[n].state == AT_GROUP_BARRIER) seat->waves[n].state = READY;
    }
    return 1;
}

/* Run all groups, up to `d->residents` of them side by side, each until it must wait. One thread does it. */
static void run_residents(struct launch_block *block, u64 args, u64 memory, const struct dispatch *d) {
    u64 total = block->total, next = __atomic_fetch_add(&block->next, total, __ATOMIC_RELAXED), turn = 0;
    if (next) return; /* another thread has taken them */
    u32 count = total < d->residents ? (u32)total : d->residents;
    struct seat *seats = (struct seat *)align64(memory);
    u64 place = align64((u64)(seats + count));
    for (u32 s = 0; s < count; s++) {
        seats[s].count = seats[s].left = 0;
        seats[s].waves = make_waves(block, args, place, d, &place);
    }
    u64 groups_x = block->groups[0], groups_y = block->groups[1];
    for (int moved = 1, going = 1; going && !((volatile struct launch_block *)block)->stop;) {
        if (!moved) { /* all wait for each other */
            for (u32 s = 0; s < count; s++)
                for (u32 n = 0; n < seats[s].count && seats[s].left; n++) {
                    struct wave *w = &seats[s].waves[n];
                    if (w->state == QUEUED) hw_fault(w, FAULT_GWS, w->gws_pc, 0, w->gws_resource, 0, count);
                }
            break;
        }
        moved = 0;
        u32 busy = 0;
        for (u32 s = 0; s < count && going; s++) {
            struct seat *seat = &seats[s];
            if (seat->left == 0 && next < total) {
                u32 group[3] = {next % groups_x, next / groups_x % groups_y, next / groups_x / groups_y}, now[3];
                for (u32 axis = 0; axis < 3; axis++) {
                    u64 left = block->global_size[axis] - (u64)group[axis] * d->local[axis];
                    now[axis] = left < d->local[axis] ? (u32)left : d->local[axis];
                }
                next++;
                seat->count = seat->left = (now[0] * now[1] * now[2] + LANES - 1) / LANES;
                fill_ids(seat->waves, seat->count, now, d->packed_ids);
                for (u32 n = 0; n < seat->count; n++) {
                    struct wave *w = &seat->waves[n];
                    __builtin_memcpy(w->group, group, sizeof group);
                    start_wave(w, d, args, seat->waves->scratch, n, seat->count);
                    w->state = READY;
                }
            }
            if (seat->left) going = run_seat(seat, seats, count, (struct gws *)d->gws, &turn, &moved);
            busy += seat->left != 0;
        }
        if (!busy && next == total) break;
    }
    u64 instructions = 0;
    for (u32 s = 0; s < count; s++)
        for (u32 n = 0; n < d->waves; n++) instructions += seats[s].waves[n].wave_instructions;
    __atomic_fetch_add(&block->wave_instructions, instructions, __ATOMIC_RELAXED);
}

/* Take groups from the launch block until none is left. */
static void run_groups(struct launch_block *block, u64 args, u64 memory, const struct dispatch *d) {
    if (d->residents) {
        run_residents(block, args, memory, d);
        return;
    }
    u64 end;
    struct wave *waves = make_waves(block, args, memory, d, &end);
    u64 scratch = waves->scratch;
    u32 full[3], size[3] = {0};
    for (u32 axis = 0; axis < 3; axis++) full[axis] = d->local[axis];
    u64 total = block->total, batch = block->batch, groups_x = block->groups[0], groups_y = block->groups[1];
    u32 count = 0;
    int going = 1;
    while (going && !((volatile struct launch_block *)block)->stop) {
        u64 next = __atomic_fetch_add(&block->next, batch, __ATOMIC_RELAXED);
        if (next >= total) break;
        u64 last = next + batch < total ? next + batch : total;
        u32 group[3] = {next % groups_x, next / groups_x % groups_y, next / groups_x / groups_y};
        for (; next < last && going; next++) {
            if (d->quads) {
                if (next >= d->drawn) break; /* fewer wavefronts than blocks, as parts of blocks are put together */
                count = 1;
                fill_pixels(waves, (const u32 *)d->quads + 16 * next, group, full, block->global_size);
            } else {
                u32 now[3], same = 1;
                for (u32 axis = 0; axis < 3; axis++) { /* groups at the edge may be smaller */
                    u64 left = block->global_size[axis] - (u64)group[axis] * full[axis];
                    now[axis] = left < full[axis] ? left : full[axis];
                    same &= now[axis] == size[axis];
                }
                if (!same) {
                    count = (now[0] * now[1] * now[2] + LANES - 1) / LANES;
                    fill_ids(waves, count, now, d->packed_ids);
                    __builtin_memcpy(size, now, sizeof size);
                }
            }
            for (u32 n = 0; n < count; n++) __builtin_memcpy(waves[n].group, group, sizeof group);
            going = run_group(waves, count, d, args, scratch);
            if (++group[0] == groups_x) {
                group[0] = 0;
                if (++group[1] == groups_y) group[1] = 0, group[2]++;
            }
        }
    }
    u64 instructions = 0;
    for (u32 n = 0; n < d->waves; n++) instructions += waves[n].wave_instructions;
    __atomic_fetch_add(&block->wave_instructions, instructions, __ATOMIC_RELAXED);
}

EXPORT void hw_entry(struct launch_block *block, u64 args, u64 memory) {
    const struct dispatch *d = (const struct dispatch *)block->dispatch;
#ifdef __SSE2__
    u32 before = __builtin_ia32_stmxcsr();
    if (d->flush_denormals) __builtin_ia32_ldmxcsr(before | 0x8040); /* flush to zero, denormals are zeros */
    run_groups(block, args, memory, d);
    __builtin_ia32_ldmxcsr(before);
#else
    run_groups(block, args, memory, d);
#endif
}

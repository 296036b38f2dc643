/* A buffer instruction's descriptor and offsets in; where a lane's byte lies, and whether NUM_RECORDS allows it, out.

   Addresses: AMD, "Vega" ISA Reference Guide, "Buffer Addressing". Range checking: the same and "GCN3" ISA Reference Guide, as
   gem5 has it for GCN3 (arch/amdgpu, calcAddr of MUBUF), and, where the guides are silent or wrong, what AMD found on a
   gfx950 (ROCm/rocm-systems, PR 10928): the scalar offset counts, each dword of a larger access is tested for itself, what
   adds the lane's number is not tested unless it has an index, and only the sum of the vector's and the instruction's offset
   wraps at 32 bits. Before gfx9 nothing wraps (LLVM, AMDGPUDAGToDAGISel::SelectMUBUFScratchOffen). */

struct buffer_at { u64 address, offset; u32 inside, by_element; };

static inline struct buffer_at buffer_at(const struct buffer *x, u32 lane, u32 first, u32 second, u32 more, u32 bytes) {
    const u32 *r = x->resource;
    u32 indexed = x->flags & IS_INDEXED, swizzled = r[1] >> 31, tid = r[3] >> 23 & 1;
    u32 newer = x->traits & COUNTS_BY_INDEX, in_bytes = x->traits & COUNTS_BUFFER_BYTES;
    u64 stride = r[1] >> 16 & 0x3fff, records = r[2], index = indexed ? first : 0;
    u64 base = (u64)((i64)((r[0] | (u64)r[1] << 32) << 16) >> 16);
    u64 element = newer ? 4 : 2u << (r[3] >> 19 & 3), group = 8u << (r[3] >> 21 & 3);
    struct buffer_at at;
    if (tid && !(newer && indexed && !swizzled)) {
        index += lane;
        if (in_bytes || (newer && !(x->flags & IS_FORMATTED))) stride |= (u64)(r[3] >> 15 & 15) << 14;
    }
    at.offset = (newer ? (u64)(u32)(second + x->offset) : (u64)second + x->offset) + more;
    at.by_element = stride != 0 && (in_bytes ? swizzled : newer ? indexed : 1);
    if (tid && !indexed && newer) at.inside = 1;
    else if (at.by_element) at.inside = index < records && !(swizzled && at.offset >= stride);
    else at.inside = (in_bytes ? index * stride : 0) + at.offset + bytes + x->soffset <= records;
    u64 place = index * stride + at.offset;
    if (swizzled)
        place = (index / group * stride + at.offset / element * element) * group + index % group * element +
                at.offset % element;
    at.address = base + x->soffset + place;
    return at;
}

/* Image and formatted buffer instructions of a wavefront: `struct texels` with descriptors, addresses and data in; where
   each lane's elements lie, and what they make of the data, out.

   Compiled after the declarations of `layout.c_header` and `texels.c_header` and after components.h, and linked to
   kernels that have such instructions. What an instruction does is described in `headwater.isa.gcn.images`; what of it
   AMD's documents leave open, in docs/emulator.md. */

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN u64 hw_place(struct wave *w, u64 address, u64 bytes, u32 how, u64 pc, u32 lane, struct slot *slot);
HIDDEN void hw_fault(struct wave *w, u32 kind, u64 pc, u32 lane, u64 address, u64 bytes, u64 detail);

#define NOWHERE (~0ull) /* the place of an element that is not in memory */

static u32 refuse(struct wave *w, u64 pc, u32 why, u32 value) {
    hw_fault(w, FAULT_RESOURCE, pc, 0, 0, 0, why | (u64)value << 8);
    return 0;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* How the elements of a resource are stored; what `understand` finds stays in `struct texels`. */
struct format { u32 data, kind, count, bytes, widths[4], select[4]; };
_Static_assert(sizeof(struct format) == 4 * FORMAT_DWORDS, "the room for a format");

static u32 kind_of(const struct format *f, u32 n) {
    if (f->data == FORMAT_X24_8_32 && n == 1) return NUM_UINT;
    return f->kind == NUM_SRGB && n == 3 ? NUM_UNORM : f->kind;
}

static u32 has_floats(const struct format *f) { return f->kind != NUM_UINT && f->kind != NUM_SINT; }

/* Fill in what follows from data and number format; 0 after a fault. */
static u32 understand(struct wave *w, const struct texels *x, u64 pc, struct format *f) {
    f->count = FORMATS[f->data][0];
    f->bytes = 0;
    if (f->data == 0) return 1;
    if (f->count == 0) return refuse(w, pc, WHY_DATA_FORMAT, f->data);
    u32 small = 1, bytes = 1, signs = 1, bits = 0;
    for (u32 n = 0; n < f->count; n++) {
        u32 width = f->widths[n] = FORMATS[f->data][1 + n];
        bits += width;
        small &= width == 32 || width == 16 || width == 11 || (width == 10 && f->count == 3) || (f->data == FORMAT_X24_8_32 && n);
        bytes &= width == 8;
        signs &= width > 1;
    }
    f->bytes = f->data == FORMAT_X24_8_32 ? 8 : bits / 8;
    u32 shared = f->data == FORMAT_5_9_9_9, fits = f->kind <= NUM_FLOAT;
    if (f->kind == NUM_FLOAT) fits = small || shared;
    if (f->kind == NUM_SNORM) fits = signs;
    if (f->kind == NUM_SRGB) fits = bytes && !(x->flags & IS_BUFFER);
    if (f->kind == NUM_SNORM_OGL) fits = (x->traits & HAS_SIGNED_OGL_FORMATS) != 0;
    if (shared && (f->kind != NUM_FLOAT || x->kind == KIND_STORE)) fits = 0;
    return fits ? 1 : refuse(w, pc, WHY_NUM_FORMAT, f->data | f->kind << 8);
}

static u32 field_at(const u32 *raw, u32 bit, u32 width) {
    return raw[bit / 32] >> bit % 32 & (u32)(~0ull >> (64 - width));
}

/* An element's components; those that it lacks are 0. */
static void components_of(const struct texels *x, const struct format *f, const u32 *raw, u32 *c) {
    u32 bit = 0;
    for (u32 n = 0; n < 4; n++) c[n] = 0;
    if (f->data == FORMAT_5_9_9_9 && !(x->flags & IS_RAW)) {
        float scale = as_float((127 + (raw[0] >> 27) - 24) << 23);
        for (u32 n = 0; n < 3; n++) c[n] = as_bits((float)(raw[0] >> 9 * n & 511) * scale);
        return;
    }
    for (u32 n = 0; n < f->count; n++) {
        u32 width = f->widths[n], field = field_at(raw, bit, width);
        u32 kind = x->flags & IS_RAW ? (x->flags & IS_SIGNED ? NUM_SINT : NUM_UINT) : kind_of(f, n);
        c[n] = unpacked(field, width, kind);
        bit += width;
    }
}

/* Components in the order of the registers. */
static void selected(const struct texels *x, const struct format *f, const u32 *c, u32 *v) {
    u32 one = has_floats(f) ? 0x3f800000 : 1;
    for (u32 n = 0; n < 4; n++) {
        u32 select = f->select[n];
        v[n] = x->flags & IS_RAW ? c[n] : select >= 4 ? c[select - 4] : select == 1 ? one : 0;
    }
}

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

static u32 buffer_format(struct wave *w, const struct texels *x, u64 pc, struct format *f) {
    const u32 *r = x->resource;
    f->data = x->flags & IS_TYPED ? x->data_format : (u32)get(r, BUFFER_DATA_FORMAT);
    f->kind = x->flags & IS_TYPED ? x->num_format : (u32)get(r, BUFFER_NUM_FORMAT);
    f->select[0] = get(r, BUFFER_DST_SEL_X);
    f->select[1] = get(r, BUFFER_DST_SEL_Y);
    f->select[2] = get(r, BUFFER_DST_SEL_Z);
    f->select[3] = get(r, BUFFER_DST_SEL_W);
    if (x->flags & IS_TYPED)
        for (u32 n = 0; n < 4; n++) f->select[n] = 4 + n;
    return understand(w, x, pc, f);
}

/* See buffers.h; an element is inside of a buffer as a whole or not at all. */
static u32 buffer_places(struct wave *w, struct texels *x, u64 pc, const struct format *f) {
    struct buffer b = {.soffset = x->soffset, .offset = x->offset, .traits = x->traits};
    __builtin_memcpy(b.resource, x->resource, sizeof b.resource);
    b.flags = IS_FORMATTED | (x->flags & IS_IDXEN ? IS_INDEXED : 0);
    for (u32 lane = 0; lane < LANES; lane++) {
        u64 *place = &x->place[lane];
        *place = NOWHERE;
        if (!(x->lanes >> lane & 1) || f->data == 0) continue;
        u32 first = x->address[lane], second = x->address[LANES + lane];
        if (x->flags & IS_ADDR64) {
            *place = (get(x->resource, BUFFER_BASE) + x->soffset + x->offset + (first | (u64)second << 32));
            continue;
        }
        if (!(x->flags & IS_IDXEN)) second = first;
        struct buffer_at at = buffer_at(&b, lane, first, x->flags & IS_OFFEN ? second : 0, 0, f->bytes);
        if (at.inside) *place = at.address;
        else if (x->flags & IS_WATCHED) {
            u64 what = b.resource[2] | (u64)(x->kind == KIND_STORE) << 32 | (u64)at.by_element << 33;
            hw_fault(w, FAULT_RECORDS, pc, lane, at.offset, f->bytes, what);
            return 0;
        }
    }
    return 1;
}

/* ---- images -------------------------------------------------------------------------------------------------------- */

struct image {
    struct format format;
    u64 base;
    u32 type, width, height, depth, pitch, first_slice, slices, base_level, levels, axes, layered, min_lod;
};

static u32 image_of(struct wave *w, const struct texels *x, u64 pc, struct image *m) {
    const u32 *r = x->resource, old = !(x->traits & HAS_SWIZZLE_MODES), *at = IMAGE_FIELDS[!old];
    m->type = get(r, at[IMAGE_TYPE]);
    m->format.data = get(r, at[IMAGE_DATA_FORMAT]);
    m->format.kind = get(r, at[IMAGE_NUM_FORMAT]);
    for (u32 n = 0; n < 4; n++) m->format.select[n] = get(r, at[IMAGE_DST_SEL_X + n]);
    if (m->format.data == 0) { /* no image is bound */
        m->format.bytes = m->format.count = 0;
        m->axes = 1;
        m->layered = 0;
        m->levels = 0;
        return 1;
    }
    if (m->type < TYPE_1D) return refuse(w, pc, WHY_TYPE, m->type);
    if (m->type >= TYPE_MSAA) return refuse(w, pc, WHY_MSAA, m->type);
    if (get(r, at[IMAGE_TILING]) != (old ? LINEAR_OLD : LINEAR_NEW))
        return refuse(w, pc, old ? WHY_TILING : WHY_SWIZZLE, (u32)get(r, at[IMAGE_TILING]));
    if (x->traits & HAS_COMPRESSED_IMAGES && get(r, at[IMAGE_COMPRESSION])) return refuse(w, pc, WHY_COMPRESSION, 0);
    if (x->flags & IS_LWE && get(r, at[IMAGE_MIN_LOD_WARN])) return refuse(w, pc, WHY_LOD_WARNING, 0);
    if (!understand(w, x, pc, &m->format)) return 0;
    m->base = get(r, at[IMAGE_BASE]) << 8 | (x->flags & IS_R128 ? 0 : get(r, at[IMAGE_BASE_LOW]));
    m->axes = m->type == TYPE_3D ? 3 : m->type == TYPE_1D || m->type == TYPE_1D_ARRAY ? 1 : 2;
    m->layered = m->type >= TYPE_CUBE;
    m->width = (u32)get(r, at[IMAGE_WIDTH]) + 1;
    m->height = m->axes > 1 ? (u32)get(r, at[IMAGE_HEIGHT]) + 1 : 1;
    m->depth = m->axes > 2 ? (u32)get(r, at[IMAGE_DEPTH]) + 1 : 1;
    m->pitch = x->flags & IS_R128 ? m->width : (u32)get(r, at[IMAGE_PITCH]) + 1;
    m->first_slice = m->layered ? (u32)get(r, at[IMAGE_BASE_ARRAY]) : 0;
    u32 last = m->layered ? (u32)get(r, at[old ? IMAGE_LAST_ARRAY : IMAGE_DEPTH]) : 0;
    m->slices = last >= m->first_slice ? last - m->first_slice + 1 : 0;
    m->base_level = get(r, at[IMAGE_BASE_LEVEL]);
    u32 last_level = get(r, at[IMAGE_LAST_LEVEL]);
    m->levels = last_level >= m->base_level ? last_level - m->base_level + 1 : 0;
    m->min_lod = get(r, at[IMAGE_MIN_LOD]);
    return 1;
}

struct level { u64 offset, slice_bytes; u32 width, height, depth, pitch; };

static u32 up_to_power(u32 n) {
    u32 power = 1;
    while (power < n) power *= 2;
    return power;
}

/* Where a level of a linear image lies, as AMD's address library lays them: up to gfx8 each level behind the one before, its
   extents padded to powers of two; from gfx9 on below each other, in rows of one pitch. */
static struct level level_of(const struct texels *x, const struct image *m, u32 level) {
    u32 last = m->base_level + m->levels - 1, bytes = m->format.bytes;
    level += m->base_level;
    struct level l = {0, 0, most(m->width >> level, 1), most(m->height >> level, 1), most(m->depth >> level, 1), m->pitch};
    if (x->traits & HAS_SWIZZLE_MODES) {
        u32 rows = 0, height = m->height;
        for (u32 n = 0; n <= last; n++) {
            if (n == level) l.offset = (u64)rows * m->pitch * bytes;
            rows += height;
            height = (height + 1) / 2;
        }
        l.slice_bytes = (u64)rows * m->pitch * bytes;
        return l;
    }
    u32 height = last ? up_to_power(m->height) : m->height, depth = last ? up_to_power(m->depth) : m->depth;
    u32 slices = up_to_power(m->first_slice + m->slices), wanted = most(64, 256 / bytes), step = most(8, 64 / bytes);
    for (u32 n = 0;; n++) {
        u32 rows = most(height >> n, 1), pitch = m->pitch;
        if (n) {
            pitch = (most(up_to_power(m->pitch) >> n, 1) + step - 1) / step * step;
            while ((u64)pitch * rows % wanted) pitch += step;
        }
        l.pitch = pitch;
        l.slice_bytes = (u64)pitch * rows * bytes;
        if (n == level) return l;
        l.offset += (l.slice_bytes * (m->layered ? slices : most(depth >> n, 1)) + 255) / 256 * 256;
    }
}

static u64 element_place(const struct image *m, const struct level *l, u32 i, u32 j, u32 k) {
    return m->base + l->offset + k * l->slice_bytes + ((u64)j * l->pitch + i) * m->format.bytes;
}

/* ---- operands of an address: in this order offset, bias, compared value, derivatives, coordinates, level ------------- */

struct operands { u32 offset, bias, compare, derivatives, per_direction, coordinates, count, extra; };

static struct operands operands_of(const struct texels *x, const struct image *m) {
    struct operands o = {0, 0, 0, 0, 0, 0, 0, 0};
    u32 at = 0, narrow = x->flags & IS_A16 ? 2 : 1;
    o.offset = at; at += x->flags & HAS_OFFSET ? 1 : 0;
    o.bias = at; at += x->flags & HAS_BIAS ? 1 : 0;
    o.compare = at; at += x->flags & HAS_COMPARE ? 1 : 0;
    o.derivatives = at;
    o.per_direction = (m->axes + narrow - 1) / narrow;
    if (x->level == LEVEL_GIVEN) at += 2 * o.per_direction;
    o.coordinates = at;
    o.count = m->axes + (m->type == TYPE_CUBE || (x->flags & IS_ARRAY && m->axes < 3) ? 1 : 0);
    o.extra = o.count; /* the level, the level of detail, or the least one, is one more coordinate */
    return o;
}

/* Component `n` of those that begin at register `at`, as bits. */
static u32 component(const struct texels *x, u32 lane, u32 at, u32 n) {
    if (!(x->flags & IS_A16)) return x->address[(at + n) * LANES + lane];
    return x->address[(at + n / 2) * LANES + lane] >> 16 * (n % 2) & 0xffff;
}

static float number(const struct texels *x, u32 lane, u32 at, u32 n) {
    u32 bits = component(x, lane, at, n);
    return x->flags & IS_A16 ? from_small(bits, 10) : as_float(bits);
}

/* ---- loads, stores, atomics ---------------------------------------------------------------------------------------- */

static void texel_places(struct texels *x, const struct image *m) {
    struct operands o = operands_of(x, m);
    u32 known = ~0u;
    struct level l = {0, 0, 0, 0, 0, 0};
    for (u32 lane = 0; lane < LANES; lane++) {
        u64 *place = &x->place[lane];
        *place = NOWHERE;
        if (!(x->lanes >> lane & 1) || m->format.data == 0) continue;
        u32 c[3] = {0, 0, 0}, slice = 0;
        for (u32 n = 0; n < m->axes; n++) c[n] = component(x, lane, o.coordinates, n);
        if (o.count > m->axes && m->layered) slice = component(x, lane, o.coordinates, m->axes);
        u32 level = x->level == LEVEL_MIP ? component(x, lane, o.coordinates, o.extra) : 0;
        if (level >= m->levels) continue;
        if (level != known) l = level_of(x, m, known = level);
        if (c[0] >= l.width || c[1] >= l.height || c[2] >= l.depth || (m->layered && slice >= m->slices)) continue;
        *place = element_place(m, &l, c[0], c[1], m->layered ? m->first_slice + slice : c[2]);
    }
}

/* ---- sampling ------------------------------------------------------------------------------------------------------ */

struct sampler {
    u32 clamp[3], compare, unnormalized, filter, min_lod, max_lod, mag, min, z, mip, border;
    i32 bias;
};

static struct sampler sampler_of(const struct texels *x) {
    const u32 *s = x->sampler;
    struct sampler r;
    r.clamp[0] = get(s, SAMPLER_CLAMP_X);
    r.clamp[1] = get(s, SAMPLER_CLAMP_Y);
    r.clamp[2] = get(s, SAMPLER_CLAMP_Z);
    r.compare = get(s, SAMPLER_DEPTH_COMPARE);
    r.unnormalized = x->flags & IS_UNNORMALIZED || get(s, SAMPLER_UNNORMALIZED);
    r.filter = get(s, SAMPLER_FILTER_MODE);
    r.min_lod = get(s, SAMPLER_MIN_LOD);
    r.max_lod = get(s, SAMPLER_MAX_LOD);
    r.bias = (i32)((u32)get(s, SAMPLER_LOD_BIAS) << 18) >> 18;
    r.mag = get(s, SAMPLER_MAG_FILTER) & 1; /* the higher bit asks for anisotropy */
    r.min = get(s, SAMPLER_MIN_FILTER) & 1;
    r.z = get(s, SAMPLER_Z_FILTER);
    r.mip = get(s, SAMPLER_MIP_FILTER);
    r.border = get(s, SAMPLER_BORDER);
    return r;
}

/* A level of detail, in 256ths. */
static i32 lod_of(float x) {
    if (!(x > -128.0f)) return -128 * 256;
    return (i32)floor_of((x < 127.0f ? x : 127.0f) * 256.0f);
}

/* Half of the logarithm of a number, in 256ths, rounded down. */
static i32 half_log(float squared) {
    u32 bits = as_bits(squared);
    if (!(squared >= 1.17549435e-38f)) return -128 * 256;
    if (bits >= 0x7f800000) return 127 * 256;
    i32 steps = 0;
    while (steps < 127 && (bits & 0x7fffff) >= LOG_STEPS[steps]) steps++;
    return ((i32)(bits >> 23) - 127) * 128 + steps;
}

/* The level of detail of a lane, in 256ths, before it is clamped. */
static i32 detail(const struct texels *x, const struct image *m, const struct sampler *s, const struct operands *o, u32 lane) {
    if (x->level == LEVEL_ZERO) return 0;
    if (x->level == LEVEL_LOD) return lod_of(number(x, lane, o->coordinates, o->extra));
    float longest = 0.0f, extents[3] = {(float)m->width, (float)m->height, (float)m->depth};
    for (u32 direction = 0; direction < 2; direction++) {
        float length = 0.0f;
        for (u32 n = 0; n < m->axes; n++) {
            float d;
            if (x->level == LEVEL_GIVEN) {
                d = number(x, lane, o->derivatives + direction * o->per_direction, n);
            } else {
                u32 quad = lane & ~3u;
                d = number(x, quad + 1 + direction, o->coordinates, n) - number(x, quad, o->coordinates, n);
            }
            float scaled = s->unnormalized ? d : d * extents[n], squared = scaled * scaled;
            length = length + squared;
        }
        if (length > longest) longest = length;
    }
    i32 lod = half_log(longest) + s->bias;
    if (x->flags & HAS_BIAS) lod += lod_of(x->flags & IS_A16 ? from_small(x->address[o->bias * LANES + lane] & 0xffff, 10)
                                                             : as_float(x->address[o->bias * LANES + lane]));
    return lod;
}

/* A coordinate in texels: what repeats is brought near the image. */
static float texels_of(float c, u32 extent, u32 clamp, u32 unnormalized, i32 offset) {
    float n = (float)extent;
    if (!unnormalized) {
        if (clamp == CLAMP_WRAP) c = c - floor_of(c);
        if (clamp == CLAMP_MIRROR) {
            float half = c * 0.5f, twice = (half - floor_of(half)) * 2.0f;
            c = twice > 1.0f ? 2.0f - twice : twice;
        }
    }
    if (clamp == 3 || clamp == 5 || clamp == 7) c = c < 0.0f ? -c : c;
    if (!unnormalized) c = c * n;
    if (!(c >= -16777216.0f)) c = -16777216.0f;
    if (c > 16777216.0f) c = 16777216.0f;
    c = c + (float)offset;
    if (clamp == 4 || clamp == 5) c = c < 0.0f ? 0.0f : c > n ? n : c; /* half a texel of border at most */
    return c;
}

/* A whole coordinate inside of the image, or -1 for its border. */
static i32 inside(i64 i, u32 extent, u32 clamp) {
    i64 n = extent;
    switch (clamp) {
        case CLAMP_WRAP: return (i32)(((i % n) + n) % n);
        case CLAMP_MIRROR:
            i = ((i % (2 * n)) + 2 * n) % (2 * n);
            return (i32)(i < n ? i : 2 * n - 1 - i);
        case 2:
        case 3: return (i32)(i < 0 ? 0 : i >= n ? n - 1 : i);
    }
    return i < 0 || i >= n ? -1 : (i32)i;
}

/* The weights of taps are whole numbers over a power of two; 8 bits for each axis and for the levels. */
static void put_tap(struct texels *x, u32 lane, u32 *count, u64 place, u64 weight, u32 bits) {
    if (weight == 0) return;
    x->place[*count * LANES + lane] = place;
    x->weight[*count * LANES + lane] = as_bits((float)weight * as_float((127 - bits) << 23));
    *count += 1;
    x->taps = most(x->taps, *count);
}

struct axis { i32 at[2]; u64 share[2]; };

static struct axis axis_of(float c, u32 extent, u32 clamp, u32 linear) {
    struct axis a = {{0, 0}, {256, 0}};
    if (!linear) {
        float t = floor_of(c);
        if ((clamp == 4 || clamp == 5) && t >= (float)extent) t = (float)extent - 1.0f;
        a.at[0] = inside((i64)t, extent, clamp);
        return a;
    }
    double t = (double)c * 256.0 + 0.5; /* the nearest 256th */
    i64 fixed = (i64)t;
    fixed -= (double)fixed > t ? 1 : 0;
    fixed -= 128;
    a.at[0] = inside(fixed >> 8, extent, clamp);
    a.at[1] = inside((fixed >> 8) + 1, extent, clamp);
    a.share[1] = fixed & 255;
    a.share[0] = 256 - a.share[1];
    return a;
}

/* Where the elements of a lane lie that a filter reads at one level, each with its share of `share` in 256ths. */
static void taps_at(struct texels *x, const struct image *m, const struct sampler *s, const struct operands *o, u32 lane,
                    struct level l, u64 share, u32 linear, u32 *count) {
    u32 extents[3] = {l.width, l.height, l.depth}, slice = 0, packed_offset = x->address[o->offset * LANES + lane];
    struct axis a[3] = {{{0, 0}, {256, 0}}, {{0, 0}, {256, 0}}, {{0, 0}, {256, 0}}};
    for (u32 n = 0; n < m->axes; n++) {
        i32 offset = x->flags & HAS_OFFSET ? (i32)(packed_offset << (26 - 8 * n)) >> 26 : 0;
        float c = number(x, lane, o->coordinates, n);
        if (m->type == TYPE_CUBE) c = c - 1.0f; /* v_cubesc and its kin, divided and moved by 1.5, are 1 to 2 on a face */
        u32 by_z = n == 2 && s->z != 0, filtered = x->kind == KIND_GATHER ? 1 : by_z ? s->z == 2 : linear;
        a[n] = axis_of(texels_of(c, extents[n], s->clamp[n], s->unnormalized, offset), extents[n], s->clamp[n], filtered);
    }
    if (m->layered) {
        float c = o->count > m->axes ? number(x, lane, o->coordinates, m->axes) : 0.0f;
        float t = c > 0.0f ? (float)whole(c < 65535.0f ? (double)c : 65535.0) : 0.0f;
        slice = m->slices == 0 ? 0 : least((u32)t, m->slices - 1);
    }
    if (x->kind == KIND_GATHER) {
        for (u32 n = 0; n < 4; n++) { /* counter-clockwise from the lower left one */
            u32 right = n == 1 || n == 2, lower = n < 2;
            i32 i = a[0].at[right], j = m->axes > 1 ? a[1].at[lower] : 0, k = m->axes > 2 ? a[2].at[0] : 0;
            u64 place = i < 0 || j < 0 || k < 0 ? NOWHERE : element_place(m, &l, i, j, m->layered ? m->first_slice + slice : (u32)k);
            put_tap(x, lane, count, place, 1, 0);
        }
        return;
    }
    for (u32 n = 0; n < 1u << m->axes; n++) {
        i32 i = a[0].at[n & 1], j = a[1].at[n >> 1 & 1], k = a[2].at[n >> 2 & 1];
        u64 weight = share * a[0].share[n & 1] * a[1].share[n >> 1 & 1] * a[2].share[n >> 2 & 1];
        u64 place = i < 0 || j < 0 || k < 0 ? NOWHERE : element_place(m, &l, i, j, m->layered ? m->first_slice + slice : (u32)k);
        put_tap(x, lane, count, place, weight, 32);
    }
}

/* The whole coordinates of all lanes on an axis, -1 for the border, where nothing repeats or is mirrored: what `axis_of`
   finds without a filter. */
static void nearest_on_axis(const struct texels *x, u32 at, u32 extent, u32 border, u32 unnormalized, i32 *found) {
    const u32 *given = &x->address[at * LANES];
    float n = (float)extent, scale = unnormalized ? 1.0f : n;
    i32 last = (i32)extent - 1;
    for (u32 lane = 0; lane < LANES; lane++) {
        float c = as_float(given[lane]) * scale;
        c = c >= -1.0f ? c : -1.0f; /* not a number, too */
        c = c < n ? c : n;
        i32 i = (i32)c;
        i -= (float)i > c;
        i32 edge = i < 0 ? 0 : i > last ? last : i;
        found[lane] = border && edge != i ? -1 : edge;
    }
}

/* Samples of the nearest element of images without levels; 0 if this is something else. */
static u32 nearest_places(struct texels *x, const struct image *m, const struct sampler *s) {
    u32 others = HAS_OFFSET | HAS_BIAS | HAS_COMPARE | HAS_CLAMP | IS_A16;
    if (x->kind != KIND_SAMPLE || x->level != LEVEL_ZERO || x->flags & others || m->levels != 1 || m->layered) return 0;
    if (s->mip || s->min_lod || m->min_lod || s->z == 2 || (s->mag && has_floats(&m->format))) return 0;
    i32 at[3][LANES];
    for (u32 n = 0; n < m->axes; n++)
        if (s->clamp[n] != 2 && s->clamp[n] != 6) return 0;
    u32 extents[3] = {m->width, m->height, m->depth};
    for (u32 n = 0; n < 3; n++) {
        if (n < m->axes) nearest_on_axis(x, n, extents[n], s->clamp[n] == 6, s->unnormalized, at[n]);
        else
            for (u32 lane = 0; lane < LANES; lane++) at[n][lane] = 0;
    }
    struct level l = level_of(x, m, 0);
    for (u32 lane = 0; lane < LANES; lane++) {
        i32 i = at[0][lane], j = at[1][lane], k = at[2][lane];
        u32 here = (x->lanes >> lane & 1) && (i | j | k) >= 0;
        x->place[lane] = here ? element_place(m, &l, (u32)i, (u32)j, (u32)k) : NOWHERE;
        x->weight[lane] = 0x3f800000;
    }
    x->taps = 1;
    return 1;
}

static u32 sample_places(struct wave *w, struct texels *x, u64 pc, const struct image *m) {
    struct sampler s = sampler_of(x);
    struct operands o = operands_of(x, m);
    u32 clamps = s.clamp[0] > 3 || (m->axes > 1 && s.clamp[1] > 3) || (m->axes > 2 && s.clamp[2] > 3);
    if (clamps && s.border == 3) return refuse(w, pc, WHY_BORDER, 0);
    x->taps = 0;
    if (m->format.data == 0 || m->levels == 0 || (m->layered && m->slices == 0)) return 1;
    if (nearest_places(x, m, &s)) return 1;
    struct level levels[16];
    u32 counts[LANES], known = 0;
    for (u32 lane = 0; lane < LANES; lane++) {
        u32 count = counts[lane] = 0;
        if (!(x->lanes >> lane & 1)) continue;
        i32 lod = detail(x, m, &s, &o, lane), lowest = (i32)most(s.min_lod, m->min_lod);
        i32 highest = (i32)least(s.max_lod, (m->levels - 1) * 256);
        if (x->flags & HAS_CLAMP) {
            i32 given = lod_of(number(x, lane, o.coordinates, o.extra));
            lowest = given > lowest ? given : lowest;
        }
        i32 clamped = lod < lowest ? lowest : lod;
        clamped = clamped > highest ? highest : clamped;
        if (x->kind == KIND_LOD) {
            u32 v[4] = {as_bits((float)clamped / 256.0f), as_bits((float)lod / 256.0f), 0, 0};
            for (u32 n = 0, to = 0; n < 4; n++)
                if (x->dmask >> n & 1) x->data[to++ * LANES + lane] = v[n];
            continue;
        }
        u32 linear = (clamped <= 0 ? s.mag : s.min) && has_floats(&m->format);
        clamped = clamped < 0 ? 0 : clamped;
        u32 level = s.mip == 2 ? (u32)clamped >> 8 : s.mip == 1 ? (u32)(clamped + 128) >> 8 : 0;
        level = least(level, m->levels - 1);
        u64 part = s.mip == 2 && has_floats(&m->format) && x->kind != KIND_GATHER ? clamped & 255 : 0;
        u32 next = least(level + 1, m->levels - 1);
        for (; known <= next; known++) levels[known] = level_of(x, m, known);
        taps_at(x, m, &s, &o, lane, levels[level], 256 - part, linear, &count);
        if (part) taps_at(x, m, &s, &o, lane, levels[next], part, linear, &count);
        counts[lane] = count;
    }
    for (u32 lane = 0; lane < LANES; lane++)
        for (u32 tap = counts[lane]; tap < x->taps; tap++) {
            x->place[tap * LANES + lane] = NOWHERE;
            x->weight[tap * LANES + lane] = 0;
        }
    return 1;
}

static void information(struct texels *x, const struct image *m) {
    for (u32 lane = 0; lane < LANES; lane++) {
        u32 level = x->flags & IS_A16 ? x->address[lane] & 0xffff : x->address[lane], v[4] = {0, 0, 0, 0};
        if (m->format.data && level < m->levels) {
            u32 at = m->base_level + level;
            v[0] = most(m->width >> at, 1);
            v[1] = m->axes > 1 ? most(m->height >> at, 1) : m->type == TYPE_1D_ARRAY ? m->slices : 0;
            v[2] = m->axes > 2 ? most(m->depth >> at, 1) : m->axes == 2 && m->layered ? m->slices : 0;
            v[3] = m->levels;
        }
        for (u32 n = 0, to = 0; n < 4; n++)
            if (x->dmask >> n & 1) x->data[to++ * LANES + lane] = v[n];
    }
}

/* ---- entries ------------------------------------------------------------------------------------------------------- */

/* Find each lane's elements: `taps` of them at most, of `element_bytes` bytes, at `place`; 0 after a fault. */
HIDDEN u32 hw_texel_places(struct wave *w, struct texels *x, u64 pc) {
    if (!(x->flags & KEEPS_OLD))
        for (u32 n = 0; n < DATA_DWORDS * LANES && (x->kind != KIND_STORE && x->kind != KIND_ATOMIC); n++) x->data[n] = 0;
    x->taps = 1;
    if (x->flags & IS_BUFFER) {
        struct format f;
        if (!buffer_format(w, x, pc, &f)) return 0;
        __builtin_memcpy(x->format, &f, sizeof f);
        x->element_bytes = f.bytes;
        return buffer_places(w, x, pc, &f);
    }
    struct image m;
    if (!image_of(w, x, pc, &m)) return 0;
    __builtin_memcpy(x->format, &m.format, sizeof m.format);
    x->element_bytes = m.format.bytes;
    if (x->kind == KIND_RESINFO) {
        information(x, &m);
        x->taps = 0;
        return 1;
    }
    if (x->kind == KIND_SAMPLE || x->kind == KIND_GATHER || x->kind == KIND_LOD) return sample_places(w, x, pc, &m);
    texel_places(x, &m);
    if (x->kind == KIND_ATOMIC && m.format.data && m.format.bytes != x->atomic_bytes)
        return refuse(w, pc, WHY_ATOMIC, m.format.data);
    return 1;
}

/* The format of what the places are of. */
static struct format format_found(const struct texels *x) {
    struct format f;
    __builtin_memcpy(&f, x->format, sizeof f);
    return f;
}

static u32 load_element(struct wave *w, const struct texels *x, u64 address, u64 pc, u32 lane, struct slot *slot, u32 *raw) {
    raw[0] = raw[1] = raw[2] = raw[3] = 0;
    const void *from = (const void *)address;
    u64 offset = address - slot->start;
    if (!(offset < slot->size && slot->size - offset >= x->element_bytes)) /* not in the allocation of the one before */
        from = (const void *)hw_place(w, address, x->element_bytes, 0, pc, lane, slot);
    if (from == 0) return 0;
    switch (x->element_bytes) {
        case 1: __builtin_memcpy(raw, from, 1); break;
        case 2: __builtin_memcpy(raw, from, 2); break;
        case 4: __builtin_memcpy(raw, from, 4); break;
        case 8: __builtin_memcpy(raw, from, 8); break;
        case 12: __builtin_memcpy(raw, from, 12); break;
        default: __builtin_memcpy(raw, from, 16);
    }
    return 1;
}

/* Of elements that `plain_components` takes: whole dwords, or bytes of one kind. */
static u32 is_plain(const struct texels *x, const struct format *f) {
    u32 bytes = f->kind == NUM_UNORM || f->kind == NUM_UINT;
    if (x->flags & IS_RAW || f->data == 0 || f->data == FORMAT_X24_8_32) return 0;
    for (u32 n = 0; n < f->count; n++)
        if (!(f->widths[n] == 32 && (f->kind == NUM_FLOAT || !has_floats(f))) && !(f->widths[n] == 8 && bytes)) return 0;
    return 1;
}

/* The same as `components_of`. */
static void plain_components(const struct format *f, const u32 *raw, u32 *c) {
    if (f->widths[0] == 32) {
        for (u32 n = 0; n < 4; n++) c[n] = raw[n];
        return;
    }
    for (u32 n = 0; n < 4; n++) {
        u32 byte = raw[0] >> 8 * n & 255;
        c[n] = f->kind == NUM_UNORM ? UNORM_VALUES[byte] : byte;
    }
}

/* Write a lane's result to its registers. */
static void deliver(struct texels *x, u32 lane, const u32 *v, u32 count, u32 floats) {
    for (u32 n = 0; n < count; n++) {
        if (!(x->flags & IS_HALVES)) {
            x->data[n * LANES + lane] = v[n];
            continue;
        }
        u32 half = floats ? to_small(v[n], 10) : v[n] & 0xffff, high = x->flags & IS_HIGH ? 1 : n % 2;
        u32 *to = &x->data[(x->flags & IS_UNPACKED ? n : n / 2) * LANES + lane];
        if (x->flags & IS_UNPACKED) *to = half;
        else *to = high ? (*to & 0xffff) | half << 16 : (*to & 0xffff0000) | half;
    }
}

/* The dwords of all lanes' elements of `bytes` bytes; 0 after a fault. */
static inline __attribute__((always_inline)) u32 elements(struct wave *w, const struct texels *x, u64 pc, struct slot *slot,
                                                          u32 bytes, u32 raw[4][LANES]) {
    for (u32 lane = 0; lane < LANES; lane++) {
        u64 place = x->place[lane], offset = place - slot->start;
        u32 found[4] = {0, 0, 0, 0};
        if (place == NOWHERE || !(x->lanes >> lane & 1)) continue;
        if (!(offset < slot->size && slot->size - offset >= bytes)) /* not in the allocation of the one before */
            place = hw_place(w, place, bytes, 0, pc, lane, slot);
        if (place == 0) return 0;
        __builtin_memcpy(found, (const void *)place, bytes);
        for (u32 n = 0; n < (bytes + 3) / 4; n++) raw[n][lane] = found[n];
    }
    return 1;
}

/* One plain element for each lane, or the `border`, all lanes together; 0 after a fault. */
static u32 load_alone(struct wave *w, struct texels *x, u64 pc, struct slot *slot, const struct format *f, u32 one,
                      const u32 *border) {
    u32 raw[4][LANES] = {{0}}, fine, to = 0, mask = x->dmask ? x->dmask : 1;
    switch (x->element_bytes) {
        case 1: fine = elements(w, x, pc, slot, 1, raw); break;
        case 2: fine = elements(w, x, pc, slot, 2, raw); break;
        case 4: fine = elements(w, x, pc, slot, 4, raw); break;
        case 8: fine = elements(w, x, pc, slot, 8, raw); break;
        case 12: fine = elements(w, x, pc, slot, 12, raw); break;
        default: fine = elements(w, x, pc, slot, 16, raw);
    }
    if (!fine) return 0;
    for (u32 n = 0; n < 4; n++) {
        if (!(mask >> n & 1)) continue;
        u32 *data = &x->data[to++ * LANES], select = f->select[n], k = select - 4;
        if (select < 4) {
            for (u32 lane = 0; lane < LANES; lane++) data[lane] = select == 1 ? one : 0;
        } else if (f->widths[0] == 32) {
            for (u32 lane = 0; lane < LANES; lane++) data[lane] = x->place[lane] == NOWHERE ? border[n] : raw[k][lane];
        } else {
            for (u32 lane = 0; lane < LANES; lane++) {
                u32 byte = raw[0][lane] >> 8 * k & 255;
                data[lane] = x->place[lane] == NOWHERE ? border[n] : f->kind == NUM_UNORM ? UNORM_VALUES[byte] : byte;
            }
        }
    }
    return 1;
}

static u32 compared(u32 how, float reference, float value) {
    u32 found = reference < value ? 1 : reference == value ? 2 : reference > value ? 4 : 0;
    return how & found ? 0x3f800000 : 0;
}

/* Load and convert, and filter, what `hw_texel_places` found; 0 after a fault. */
HIDDEN u32 hw_texel_load(struct wave *w, struct texels *x, u64 pc, struct slot *slot) {
    struct format f = format_found(x);
    struct sampler s = sampler_of(x);
    u32 sampled = x->kind == KIND_SAMPLE || x->kind == KIND_GATHER, floats = has_floats(&f) && !(x->flags & IS_RAW);
    u32 compare_at = (x->flags & HAS_OFFSET ? 1 : 0) + (x->flags & HAS_BIAS ? 1 : 0), one = floats ? 0x3f800000 : 1;
    u32 white = s.border == 2, opaque = s.border == 1 || white, chosen = 0;
    while (chosen < 3 && !(x->dmask >> chosen & 1)) chosen++;
    u32 plain = is_plain(x, &f);
    if (plain && x->taps == 1 && !(x->flags & (HAS_COMPARE | IS_HALVES)) && x->kind != KIND_GATHER) {
        u32 border[4] = {0, 0, 0, 0};
        for (u32 n = 0; n < 4; n++)
            if (sampled && (white || (opaque && n == 3))) border[n] = one;
        return load_alone(w, x, pc, slot, &f, one, border);
    }
    for (u32 lane = 0; lane < LANES; lane++) {
        if (!(x->lanes >> lane & 1)) continue;
        u32 total[4] = {0, 0, 0, 0}, gathered[4] = {0, 0, 0, 0}, taken = 0;
        float reference = as_float(x->address[compare_at * LANES + lane]);
        if (f.kind == NUM_UNORM) reference = reference > 0.0f ? reference < 1.0f ? reference : 1.0f : 0.0f;
        for (u32 tap = 0; tap < x->taps; tap++) {
            u32 weight = sampled ? x->weight[tap * LANES + lane] : 0x3f800000, raw[4], c[4] = {0, 0, 0, 0}, v[4];
            if (weight == 0) break;
            u64 place = x->place[tap * LANES + lane];
            if (place != NOWHERE) {
                if (!load_element(w, x, place, pc, lane, slot, raw)) return 0;
                if (plain) plain_components(&f, raw, c);
                else components_of(x, &f, raw, c);
            } else if (sampled && x->flags & HAS_COMPARE) {
                c[0] = white ? one : 0;
            }
            if (x->flags & HAS_COMPARE) c[0] = compared(s.compare, reference, as_float(c[0]));
            selected(x, &f, c, v);
            if (place == NOWHERE && sampled && !(x->flags & HAS_COMPARE)) /* the border's colour is of results */
                for (u32 n = 0; n < 4; n++)
                    if (f.select[n] >= 4) v[n] = white || (opaque && n == 3) ? one : 0;
            if (x->kind == KIND_GATHER) {
                gathered[tap] = v[chosen];
                continue;
            }
            for (u32 n = 0; n < 4; n++) {
                float value = as_float(v[n]), sum = as_float(total[n]);
                if (weight == 0x3f800000) total[n] = v[n];
                else if (s.filter == 1 || s.filter == 2) total[n] = !taken || (s.filter == 1 ? value < sum : value > sum) ? v[n] : total[n];
                else total[n] = as_bits(sum + value * as_float(weight));
            }
            taken = 1;
        }
        if (sampled && x->taps == 0) { /* no image is bound, or it has nothing */
            u32 none[4] = {0, 0, 0, 0};
            selected(x, &f, none, total);
            selected(x, &f, none, gathered);
        }
        u32 out[4], count = 0;
        if (x->kind == KIND_GATHER) {
            deliver(x, lane, gathered, 4, floats);
            continue;
        }
        for (u32 n = 0; n < 4; n++)
            if (x->dmask >> n & 1 || (x->dmask == 0 && n == 0)) out[count++] = total[n];
        deliver(x, lane, out, count, floats);
    }
    return 1;
}

/* Convert and store; 0 after a fault. */
HIDDEN u32 hw_texel_store(struct wave *w, struct texels *x, u64 pc, struct slot *slot) {
    struct format f = format_found(x);
    u32 mask = x->dmask ? x->dmask : 1, whole_dwords = !(x->flags & (IS_HALVES | IS_RAW)) && is_plain(x, &f) && f.widths[0] == 32;
    const u32 *rows[4] = {0, 0, 0, 0}; /* what goes to each component */
    for (u32 n = 0; n < f.count; n++)
        for (u32 k = 4; k-- > 0;)
            if (f.select[k] == 4 + n && mask >> k & 1) rows[n] = &x->data[(u32)__builtin_popcount(mask & ((1u << k) - 1)) * LANES];
            else if (f.select[k] == 4 + n) rows[n] = 0;
    for (u32 lane = 0; lane < LANES; lane++) {
        u64 place = x->place[lane];
        if (!(x->lanes >> lane & 1) || place == NOWHERE) continue;
        u32 given[4] = {0, 0, 0, 0}, raw[4] = {0, 0, 0, 0}, bit = 0;
        if (whole_dwords)
            for (u32 n = 0; n < f.count; n++) raw[n] = rows[n] ? rows[n][lane] : 0;
        for (u32 n = 0, from = 0; n < 4 && !whole_dwords; n++) {
            if (!(mask >> n & 1)) continue;
            if (x->flags & IS_HALVES) {
                u32 word = x->data[(x->flags & IS_UNPACKED ? from : from / 2) * LANES + lane];
                u32 high = x->flags & IS_HIGH || (!(x->flags & IS_UNPACKED) && from % 2);
                u32 half = high ? word >> 16 : word & 0xffff;
                given[n] = has_floats(&f) ? as_bits(from_small(half, 10)) : f.kind == NUM_SINT ? (u32)(i32)(short)half : half;
            } else {
                given[n] = x->data[from * LANES + lane];
            }
            from++;
        }
        for (u32 n = 0; n < f.count && !whole_dwords; n++) { /* the way back of dst_sel: the first register that the component goes to */
            u32 value = 0, width = f.widths[n];
            for (u32 k = 4; k-- > 0;)
                if (x->flags & IS_RAW ? k == n : f.select[k] == 4 + n) value = given[k];
            u32 field = x->flags & IS_RAW ? value & (u32)(~0ull >> (64 - width)) : packed(value, width, kind_of(&f, n));
            raw[bit / 32] |= field << bit % 32;
            bit += width;
        }
        unsigned char *to = (unsigned char *)place;
        u64 offset = place - slot->start;
        if (!(offset < slot->size && slot->size - offset >= x->element_bytes)) /* not in the allocation of the one before */
            to = (unsigned char *)hw_place(w, place, x->element_bytes, WRITE, pc, lane, slot);
        if (to == 0) return 0;
        switch (x->element_bytes) {
            case 4: __builtin_memcpy(to, raw, 4); break;
            case 8: __builtin_memcpy(to, raw, 8); break;
            case 16: __builtin_memcpy(to, raw, 16); break;
            default:
                for (u32 n = 0; n < x->element_bytes; n++) to[n] = ((unsigned char *)raw)[n];
        }
    }
    return 1;
}

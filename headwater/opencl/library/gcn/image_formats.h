/* A pixel in memory as four components and the way back, for a machine that executes one instruction for a wavefront: one
   path for all formats, steered by scalars. A path for each would be ten times the code. Included by image.cl. */

/* The formats in the order of cl.h, CL_SNORM_INT8 first. */
#define KIND(image) ((uint)(image)->channel_type - CLK_SNORM_INT8)
#define IS_SIGNED(kind) ((kind) < CLK_UNORM_INT8 - CLK_SNORM_INT8)
#define IS_PACKED(kind) ((kind) - (CLK_UNORM_SHORT_565 - CLK_SNORM_INT8) < 3u)
#define IS(kind, format) ((kind) == format - CLK_SNORM_INT8)

/* log2 of a channel's bytes, of a whole packed pixel's: two bits for each format. */
HELPER int size_log2(uint kind) { return (int)(0x26492544u >> (2 * kind) & 3); }

#define LOADED(T) \
  { \
    const global T *s = (const global T *)p; \
    r.x = s[0]; \
    if (n > 1) r.y = s[1]; \
    if (n > 2) r.z = s[2]; \
    if (n > 3) r.w = s[3]; \
  }
HELPER uint4 load_raw(const global uchar *p, IMAGE image) {
  uint kind = KIND(image);
  int size = size_log2(kind), n = IS_PACKED(kind) ? 1 : channels_of((uint)image->channel_order);
  uint4 r = (uint4)(0);
  if (size == 0) LOADED(uchar)
  else if (size == 1) LOADED(ushort)
  else LOADED(uint)
  return r;
}

#define STORED(T) \
  { \
    global T *s = (global T *)p; \
    s[0] = (T)r.x; \
    if (n > 1) s[1] = (T)r.y; \
    if (n > 2) s[2] = (T)r.z; \
    if (n > 3) s[3] = (T)r.w; \
  }
STORES void store_raw(global uchar *p, IMAGE image, uint4 r) {
  uint kind = KIND(image);
  int size = size_log2(kind), n = IS_PACKED(kind) ? 1 : channels_of((uint)image->channel_order);
  if (size == 0) STORED(uchar)
  else if (size == 1) STORED(ushort)
  else STORED(uint)
}

/* Of the three packed formats: where red and green begin, and the largest value of green, and of red and blue. */
#define PACKED_FIELDS \
  uint red = IS(kind, CLK_UNORM_SHORT_565) ? 11 : IS(kind, CLK_UNORM_SHORT_555) ? 10 : 20; \
  uint green = IS(kind, CLK_UNORM_INT_101010) ? 10 : 5, most = IS(kind, CLK_UNORM_INT_101010) ? 1023 : 31; \
  uint most_green = IS(kind, CLK_UNORM_SHORT_565) ? 63 : most;

HELPER int4 sign_extended(uint4 r, int size) {
  int shift = 32 - (8 << size);
  return as_int4(r << (uint4)(shift)) >> (int4)(shift);
}
HELPER float normalised(uint r, int s, bool is_signed, float scale, int least) {
  float v = (is_signed ? (float)s : (float)r) * scale;
  return is_signed && s < least ? -1.0f : v;
}

HELPER float4 texel(const global uchar *p, IMAGE image, float4 any) {
  uint kind = KIND(image);
  uint4 r = load_raw(p, image);
  float4 c = as_float4(r);
  if (IS_PACKED(kind)) {
    PACKED_FIELDS
    c = (float4)((float)(r.x >> red & most) / (float)most, (float)(r.x >> green & most_green) / (float)most_green,
                 (float)(r.x & most) / (float)most, 0.0f);
  } else if (IS(kind, CLK_HALF_FLOAT)) {
    c = (float4)((float)as_half((ushort)r.x), (float)as_half((ushort)r.y), (float)as_half((ushort)r.z),
                 (float)as_half((ushort)r.w));
  } else if (kind < CLK_UNORM_SHORT_565 - CLK_SNORM_INT8) {
    int size = size_log2(kind), least = size == 0 ? -127 : -32767;
    bool is_signed = IS_SIGNED(kind);
    float scale = is_signed ? (size == 0 ? 1.0f / 127.0f : 1.0f / 32767.0f) : (size == 0 ? 1.0f / 255.0f : 1.0f / 65535.0f);
    int4 s = sign_extended(r, size);
    c = (float4)(normalised(r.x, s.x, is_signed, scale, least), normalised(r.y, s.y, is_signed, scale, least),
                 normalised(r.z, s.z, is_signed, scale, least), normalised(r.w, s.w, is_signed, scale, least));
  }
  return arrange(c, (uint)image->channel_order);
}
HELPER int4 texel(const global uchar *p, IMAGE image, int4 any) {
  return arrange(sign_extended(load_raw(p, image), size_log2(KIND(image))), (uint)image->channel_order);
}
HELPER uint4 texel(const global uchar *p, IMAGE image, uint4 any) {
  return arrange(load_raw(p, image), (uint)image->channel_order);
}

/* ---- writing: the conversion rounds to nearest even and saturates (8.3.1.1); NaN becomes the low end, and 0 where that
   is negative. */
HELPER uint whole(float v, float low, float most) { return (uint)(int)RINT(CUT(v * most, low, most)); }

STORES void store_pixel(global uchar *p, IMAGE image, float4 c) {
  uint kind = KIND(image);
  c = unarrange(c, (uint)image->channel_order);
  uint4 r = as_uint4(c);
  if (IS_PACKED(kind)) {
    PACKED_FIELDS
    r.x = whole(c.x, 0.0f, (float)most) << red | whole(c.y, 0.0f, (float)most_green) << green | whole(c.z, 0.0f, (float)most);
  } else if (IS(kind, CLK_HALF_FLOAT)) {
    r = (uint4)(as_ushort((half)c.x), as_ushort((half)c.y), as_ushort((half)c.z), as_ushort((half)c.w));
  } else if (kind < CLK_UNORM_SHORT_565 - CLK_SNORM_INT8) {
    bool is_signed = IS_SIGNED(kind);
    int size = size_log2(kind);
    float most = is_signed ? (size == 0 ? 127.0f : 32767.0f) : (size == 0 ? 255.0f : 65535.0f);
    float low = is_signed ? -most - 1.0f : 0.0f;
    r = (uint4)(whole(c.x, low, most), whole(c.y, low, most), whole(c.z, low, most), whole(c.w, low, most));
    r.x = c.x == c.x ? r.x : 0;
    r.y = c.y == c.y ? r.y : 0;
    r.z = c.z == c.z ? r.z : 0;
    r.w = c.w == c.w ? r.w : 0;
  }
  store_raw(p, image, r);
}
STORES void store_pixel(global uchar *p, IMAGE image, int4 c) {
  int most = (int)(0x7fffffffu >> (32 - (8 << size_log2(KIND(image)))));
  c = unarrange(c, (uint)image->channel_order);
  int4 low = (int4)(-most - 1), high = (int4)(most);
  c = (int4)(CUT(c.x, low.x, high.x), CUT(c.y, low.y, high.y), CUT(c.z, low.z, high.z), CUT(c.w, low.w, high.w));
  store_raw(p, image, as_uint4(c));
}
STORES void store_pixel(global uchar *p, IMAGE image, uint4 c) {
  uint most = 0xffffffffu >> (32 - (8 << size_log2(KIND(image))));
  c = unarrange(c, (uint)image->channel_order);
  c = (uint4)(c.x < most ? c.x : most, c.y < most ? c.y : most, c.z < most ? c.z : most, c.w < most ? c.w : most);
  store_raw(p, image, c);
}

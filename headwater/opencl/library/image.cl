// Images (OpenCL C 1.2 specification 6.12.14; addressing and filtering: OpenCL 1.2 specification 8.2).
// Provides *: __hw_image_read_f_int __hw_image_read_i_int __hw_image_read_ui_int __hw_image_read_f_float
// Provides *: __hw_image_read_i_float __hw_image_read_ui_float __hw_image_write_f __hw_image_write_i __hw_image_write_ui
#include "internal.h"

/* What an image argument points to. */
typedef struct {
  global uchar *data;
  ulong width, height, depth, array_size, row_pitch_bytes, slice_pitch_bytes, channel_order, channel_type, pixel_bytes;
} hw_image;
#ifdef __AMDGCN__
/* There the description lies in constant memory, for scalar loads, and a sampler's bits pass as an address. */
#define IMAGE const constant hw_image *
#define SAMPLER const constant void *
#define BITS_OF(sampler) ((int)(long)(sampler))
#else
#define IMAGE const global hw_image *
#define SAMPLER int
#define BITS_OF(sampler) (sampler)
#endif

#define LINK __attribute__((always_inline))

/* Bytes of a channel and channels of a pixel decide where things lie; the order decides what they mean. */
HELPER int channels_of(uint order) {
  switch (order) {
    case CLK_RG:
    case CLK_RA:
    case CLK_RGx: return 2;
    case CLK_RGB:
    case CLK_RGBx: return 3;
    case CLK_RGBA:
    case CLK_BGRA:
    case CLK_ARGB:
    case CLK_ABGR: return 4;
    default: return 1;
  }
}

#define ARRANGE(V, one) \
  HELPER V arrange(V c, uint order) { \
    switch (order) { \
      case CLK_RGBA: return c; \
      case CLK_BGRA: return c.zyxw; \
      case CLK_ARGB: return c.yzwx; \
      case CLK_ABGR: return c.wzyx; \
      case CLK_A: return (V)(0, 0, 0, c.x); \
      case CLK_RA: return (V)(c.x, 0, 0, c.y); \
      case CLK_RG: \
      case CLK_RGx: return (V)(c.x, c.y, 0, one); \
      case CLK_RGB: \
      case CLK_RGBx: return (V)(c.x, c.y, c.z, one); \
      case CLK_INTENSITY: return (V)(c.x, c.x, c.x, c.x); \
      case CLK_LUMINANCE: return (V)(c.x, c.x, c.x, one); \
      default: return (V)(c.x, 0, 0, one); \
    } \
  } \
  /* The way back: which components a pixel of this order stores. */ \
  HELPER V unarrange(V c, uint order) { \
    switch (order) { \
      case CLK_BGRA: return c.zyxw; \
      case CLK_ARGB: return c.wxyz; \
      case CLK_ABGR: return c.wzyx; \
      case CLK_A: return c.wwww; \
      case CLK_RA: return c.xwww; \
      default: return c; \
    } \
  } \
  HELPER V border(uint order, V any) { \
    switch (order) { \
      case CLK_R: \
      case CLK_RG: \
      case CLK_RGB: \
      case CLK_LUMINANCE: \
      case CLK_DEPTH: return (V)(0, 0, 0, one); \
      default: return (V)(0, 0, 0, 0); \
    } \
  }
ARRANGE(float4, 1.0f)
ARRANGE(int4, 1)
ARRANGE(uint4, 1u)

#define CHANNELS(S, convert) \
  { \
    const global S *s = (const global S *)p; \
    c.x = convert(s[0]); \
    if (n > 1) c.y = convert(s[1]); \
    if (n > 2) c.z = convert(s[2]); \
    if (n > 3) c.w = convert(s[3]); \
    break; \
  }
#define SNORM8(v) ((v) < -127 ? -1.0f : (float)(v) * (1.0f / 127.0f))
#define SNORM16(v) ((v) < -32767 ? -1.0f : (float)(v) * (1.0f / 32767.0f))
#define UNORM8(v) ((float)(v) * (1.0f / 255.0f))
#define UNORM16(v) ((float)(v) * (1.0f / 65535.0f))
#define AS_FLOAT(v) ((float)(v))
#define AS_INT(v) ((int)(v))
#define AS_UINT(v) ((uint)(v))

HELPER float4 texel(const global uchar *p, IMAGE image, float4 any) {
  float4 c = (float4)(0.0f);
  int n = channels_of((uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_SNORM_INT8: CHANNELS(char, SNORM8)
    case CLK_SNORM_INT16: CHANNELS(short, SNORM16)
    case CLK_UNORM_INT8: CHANNELS(uchar, UNORM8)
    case CLK_UNORM_INT16: CHANNELS(ushort, UNORM16)
    case CLK_HALF_FLOAT: CHANNELS(half, AS_FLOAT)
    case CLK_UNORM_SHORT_565: {
      uint v = *(const global ushort *)p;
      c.xyz = (float3)((float)(v >> 11) / 31.0f, (float)(v >> 5 & 63) / 63.0f, (float)(v & 31) / 31.0f);
      break;
    }
    case CLK_UNORM_SHORT_555: {
      uint v = *(const global ushort *)p;
      c.xyz = (float3)((float)(v >> 10 & 31), (float)(v >> 5 & 31), (float)(v & 31)) / 31.0f;
      break;
    }
    case CLK_UNORM_INT_101010: {
      uint v = *(const global uint *)p;
      c.xyz = (float3)((float)(v >> 20 & 1023), (float)(v >> 10 & 1023), (float)(v & 1023)) / 1023.0f;
      break;
    }
    default: CHANNELS(float, AS_FLOAT)
  }
  return arrange(c, (uint)image->channel_order);
}
HELPER int4 texel(const global uchar *p, IMAGE image, int4 any) {
  int4 c = (int4)(0);
  int n = channels_of((uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_SIGNED_INT8: CHANNELS(char, AS_INT)
    case CLK_SIGNED_INT16: CHANNELS(short, AS_INT)
    default: CHANNELS(int, AS_INT)
  }
  return arrange(c, (uint)image->channel_order);
}
HELPER uint4 texel(const global uchar *p, IMAGE image, uint4 any) {
  uint4 c = (uint4)(0);
  int n = channels_of((uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_UNSIGNED_INT8: CHANNELS(uchar, AS_UINT)
    case CLK_UNSIGNED_INT16: CHANNELS(ushort, AS_UINT)
    default: CHANNELS(uint, AS_UINT)
  }
  return arrange(c, (uint)image->channel_order);
}

HELPER const global uchar *address(IMAGE image, int x, int y, int z, int layer) {
  return image->data + (long)x * (long)image->pixel_bytes + (long)y * (long)image->row_pitch_bytes +
         (long)(z + layer) * (long)image->slice_pitch_bytes;
}
HELPER bool inside(int i, ulong size) { return (uint)i < (uint)size; }
HELPER int limited(int i, ulong size) { return i < 0 ? 0 : i >= (int)size ? (int)size - 1 : i; }
HELPER int layer_at(int layer, IMAGE image) { return limited(layer, image->array_size < 1 ? 1 : image->array_size); }

/* A texel, or the border's colour outside; dimensions is 1, 2 or 3. */
#define FETCH(V) \
  HELPER V fetch(IMAGE image, int x, int y, int z, int layer, int dimensions, V any) { \
    bool in = inside(x, image->width) && (dimensions < 2 || inside(y, image->height)) && \
              (dimensions < 3 || inside(z, image->depth)); \
    x = limited(x, image->width); \
    y = dimensions < 2 ? 0 : limited(y, image->height); \
    z = dimensions < 3 ? 0 : limited(z, image->depth); \
    V c = texel(address(image, x, y, z, layer), image, any); \
    return in ? c : border((uint)image->channel_order, any); \
  }
FETCH(float4) FETCH(int4) FETCH(uint4)

#define ADDRESSING 14

/* Integer coordinates: nearest, not normalised; only clamping to the edge differs from the border. */
#define READ_INT(name, V) \
  LINK V __hw_image_read_##name##_int(IMAGE image, SAMPLER sampler, int x, int y, int z, int layer, int dimensions) { \
    bool edge = (BITS_OF(sampler) & ADDRESSING) == CLK_ADDRESS_CLAMP_TO_EDGE; \
    x = edge ? limited(x, image->width) : x; \
    y = edge && dimensions > 1 ? limited(y, image->height) : y; \
    z = edge && dimensions > 2 ? limited(z, image->depth) : z; \
    return fetch(image, x, y, z, layer_at(layer, image), dimensions, (V)(0)); \
  }
READ_INT(f, float4) READ_INT(i, int4) READ_INT(ui, uint4)

/* The coordinate in texels after the sampler's normalisation, repetition and mirroring (8.2). */
HELPER float texels(float s, ulong size, int sampler) {
  int mode = sampler & ADDRESSING;
  float n = (float)size;
  if (!(sampler & CLK_NORMALIZED_COORDS_TRUE)) return s;
  if (mode == CLK_ADDRESS_REPEAT) return (s - __builtin_elementwise_floor(s)) * n;
  if (mode == CLK_ADDRESS_MIRRORED_REPEAT) return ABS(FMA(-2.0f, RINT(0.5f * s), s)) * n;
  return s * n;
}
/* A whole texel coordinate brought into the image as the sampler says; CLAMP leaves what is outside for the border. */
HELPER int wrapped(float whole, ulong size, int sampler) {
  int mode = sampler & ADDRESSING, n = (int)size;
  whole = whole > -2.0f ? whole : -2.0f; /* NaN becomes -2 */
  whole = whole < (float)size + 1.0f ? whole : (float)size + 1.0f;
  int i = (int)whole;
  if (mode == CLK_ADDRESS_CLAMP) return i;
  if (mode == CLK_ADDRESS_REPEAT) return limited(i < 0 ? i + n : i >= n ? i - n : i, size);
  return limited(i, size);
}

#define READ_NEAREST(V) \
  HELPER V nearest(IMAGE image, int sampler, float x, float y, float z, int layer, int dimensions, V any) { \
    int i = wrapped(__builtin_elementwise_floor(texels(x, image->width, sampler)), image->width, sampler); \
    int j = 0, k = 0; \
    if (dimensions > 1) \
      j = wrapped(__builtin_elementwise_floor(texels(y, image->height, sampler)), image->height, sampler); \
    if (dimensions > 2) \
      k = wrapped(__builtin_elementwise_floor(texels(z, image->depth, sampler)), image->depth, sampler); \
    return fetch(image, i, j, k, layer, dimensions, any); \
  }
READ_NEAREST(int4) READ_NEAREST(uint4)

/* Nearest and linear in one: a loop over the 1, 2, 4 or 8 texels around, each with its weight. */
HELPER float4 filtered(IMAGE image, int sampler, float x, float y, float z, int layer, int dimensions) {
  bool smooth = sampler & CLK_FILTER_LINEAR;
  float half_texel = smooth ? 0.5f : 0.0f;
  float u = texels(x, image->width, sampler) - half_texel, fu = __builtin_elementwise_floor(u);
  float v = dimensions > 1 ? texels(y, image->height, sampler) - half_texel : 0.0f, fv = __builtin_elementwise_floor(v);
  float w = dimensions > 2 ? texels(z, image->depth, sampler) - half_texel : 0.0f, fw = __builtin_elementwise_floor(w);
  float a = smooth ? u - fu : 0.0f, b = smooth ? v - fv : 0.0f, c = smooth ? w - fw : 0.0f;
  float4 sum = (float4)(0.0f);
  int corners = smooth ? 1 << dimensions : 1;
  for (int corner = 0; corner < corners; corner++) {
    float dx = (float)(corner & 1), dy = (float)(corner >> 1 & 1), dz = (float)(corner >> 2);
    int i = wrapped(fu + dx, image->width, sampler);
    int j = dimensions > 1 ? wrapped(fv + dy, image->height, sampler) : 0;
    int k = dimensions > 2 ? wrapped(fw + dz, image->depth, sampler) : 0;
    float4 t = fetch(image, i, j, k, layer, dimensions, sum);
    float weight = (corner & 1 ? a : 1.0f - a) * (corner & 2 ? b : 1.0f - b) * (corner & 4 ? c : 1.0f - c);
    sum = smooth ? FMA(t, (float4)(weight), sum) : t;
  }
  return sum;
}

HELPER int nearest_layer(float layer, IMAGE image) {
  layer = RINT(layer);
  layer = layer > 0.0f ? layer : 0.0f;
  return layer_at((int)(layer < 65536.0f ? layer : 65536.0f), image);
}
LINK float4 __hw_image_read_f_float(IMAGE image, SAMPLER sampler, float x, float y, float z, float layer, int dimensions) {
  return filtered(image, BITS_OF(sampler), x, y, z, nearest_layer(layer, image), dimensions);
}
LINK int4 __hw_image_read_i_float(IMAGE image, SAMPLER sampler, float x, float y, float z, float layer, int dimensions) {
  return nearest(image, BITS_OF(sampler), x, y, z, nearest_layer(layer, image), dimensions, (int4)(0));
}
LINK uint4 __hw_image_read_ui_float(IMAGE image, SAMPLER sampler, float x, float y, float z, float layer, int dimensions) {
  return nearest(image, BITS_OF(sampler), x, y, z, nearest_layer(layer, image), dimensions, (uint4)(0));
}

/* ---- writing; outside the image nothing is written */
#define STORE(S, convert) \
  { \
    global S *s = (global S *)p; \
    s[0] = convert(c.x); \
    if (n > 1) s[1] = convert(c.y); \
    if (n > 2) s[2] = convert(c.z); \
    if (n > 3) s[3] = convert(c.w); \
    break; \
  }
#define CUT(v, low, high) ((v) > (low) ? (v) < (high) ? (v) : (high) : (low))
/* The conversion rounds to nearest even and saturates (8.3.1.1); NaN becomes the low end, and 0 where that is negative. */
#define TO_UNORM8(v) ((uchar)(int)RINT(CUT((v) * 255.0f, 0.0f, 255.0f)))
#define TO_UNORM16(v) ((ushort)(int)RINT(CUT((v) * 65535.0f, 0.0f, 65535.0f)))
#define TO_SNORM8(v) ((char)((v) == (v) ? (int)RINT(CUT((v) * 127.0f, -128.0f, 127.0f)) : 0))
#define TO_SNORM16(v) ((short)((v) == (v) ? (int)RINT(CUT((v) * 32767.0f, -32768.0f, 32767.0f)) : 0))
#define TO_FLOAT(v) (v)
#define TO_HALF(v) ((half)(v))
#define TO_INT8(v) ((char)CUT(v, -128, 127))
#define TO_INT16(v) ((short)CUT(v, -32768, 32767))
#define TO_UINT8(v) ((uchar)((v) < 255u ? (v) : 255u))
#define TO_UINT16(v) ((ushort)((v) < 65535u ? (v) : 65535u))
#define BITS(v, most) ((uint)(int)RINT(CUT((v) * most##.0f, 0.0f, most##.0f)))

HELPER bool writable(IMAGE image, int x, int y, int z, int layer, int dimensions) {
  return inside(x, image->width) && (dimensions < 2 || inside(y, image->height)) &&
         (dimensions < 3 || inside(z, image->depth)) && (layer == 0 || inside(layer, image->array_size));
}
#define PIXEL ((global uchar *)address(image, x, dimensions < 2 ? 0 : y, dimensions < 3 ? 0 : z, layer))

LINK void __hw_image_write_f(IMAGE image, int x, int y, int z, int layer, int dimensions, float4 c) {
  if (!writable(image, x, y, z, layer, dimensions)) return;
  global uchar *p = PIXEL;
  int n = channels_of((uint)image->channel_order);
  c = unarrange(c, (uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_SNORM_INT8: STORE(char, TO_SNORM8)
    case CLK_SNORM_INT16: STORE(short, TO_SNORM16)
    case CLK_UNORM_INT8: STORE(uchar, TO_UNORM8)
    case CLK_UNORM_INT16: STORE(ushort, TO_UNORM16)
    case CLK_HALF_FLOAT: STORE(half, TO_HALF)
    case CLK_UNORM_SHORT_565:
      *(global ushort *)p = (ushort)(BITS(c.x, 31) << 11 | BITS(c.y, 63) << 5 | BITS(c.z, 31));
      break;
    case CLK_UNORM_SHORT_555:
      *(global ushort *)p = (ushort)(BITS(c.x, 31) << 10 | BITS(c.y, 31) << 5 | BITS(c.z, 31));
      break;
    case CLK_UNORM_INT_101010:
      *(global uint *)p = BITS(c.x, 1023) << 20 | BITS(c.y, 1023) << 10 | BITS(c.z, 1023);
      break;
    default: STORE(float, TO_FLOAT)
  }
}
LINK void __hw_image_write_i(IMAGE image, int x, int y, int z, int layer, int dimensions, int4 c) {
  if (!writable(image, x, y, z, layer, dimensions)) return;
  global uchar *p = PIXEL;
  int n = channels_of((uint)image->channel_order);
  c = unarrange(c, (uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_SIGNED_INT8: STORE(char, TO_INT8)
    case CLK_SIGNED_INT16: STORE(short, TO_INT16)
    default: STORE(int, AS_INT)
  }
}
LINK void __hw_image_write_ui(IMAGE image, int x, int y, int z, int layer, int dimensions, uint4 c) {
  if (!writable(image, x, y, z, layer, dimensions)) return;
  global uchar *p = PIXEL;
  int n = channels_of((uint)image->channel_order);
  c = unarrange(c, (uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_UNSIGNED_INT8: STORE(uchar, TO_UINT8)
    case CLK_UNSIGNED_INT16: STORE(ushort, TO_UINT16)
    default: STORE(uint, AS_UINT)
  }
}

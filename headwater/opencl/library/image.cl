// Images (OpenCL C 1.2 specification 6.12.14; addressing and filtering: OpenCL 1.2 specification 8.2).
// Provides *: __hw_image_read_f_int __hw_image_read_i_int __hw_image_read_ui_int __hw_image_read_f_float
// Provides *: __hw_image_read_i_float __hw_image_read_ui_float __hw_image_write_f __hw_image_write_i __hw_image_write_ui
#include "internal.h"

/* What an image argument points to. */
typedef struct {
#if defined(__AMDGCN__)
  uint descriptor[16]; /* for image instructions */
#endif
  global uchar *data;
  ulong width, height, depth, array_size, row_pitch_bytes, slice_pitch_bytes, channel_order, channel_type, pixel_bytes;
} hw_image;
#if defined(__AMDGCN__) || defined(__R600__)
/* There the description lies in constant memory, for scalar loads, and a sampler's bits pass as an address; on GCN chips
   in bits 4 to 9 of that of its descriptor. */
#define IMAGE const constant hw_image *
#define SAMPLER const constant void *
#if defined(__AMDGCN__)
#define BITS_OF(sampler) ((int)((uint)(ulong)(sampler) >> 4 & 63))
#else
#define BITS_OF(sampler) ((int)(long)(sampler))
#endif
#define TIMES(place, bytes) ((ulong)(uint)(place) * (uint)(bytes)) /* one instruction, and neither is negative */
#else
#define IMAGE const global hw_image *
#define SAMPLER int
#define BITS_OF(sampler) (sampler)
#define TIMES(place, bytes) ((long)(place) * (long)(bytes))
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

#define STORES static inline __attribute__((overloadable, always_inline))
#define CUT(v, low, high) ((v) > (low) ? (v) < (high) ? (v) : (high) : (low))
#if defined(__AMDGCN__) || defined(__R600__)
#include "gcn/image_formats.h"
#else
#include "image_formats.h"
#endif

HELPER const global uchar *address(IMAGE image, int x, int y, int z, int layer) {
  return image->data + TIMES(x, image->pixel_bytes) + TIMES(y, image->row_pitch_bytes) +
         (long)(z + layer) * (long)image->slice_pitch_bytes;
}
HELPER bool inside(int i, ulong size) { return (uint)i < (uint)size; }
HELPER int limited(int i, ulong size) { return i < 0 ? 0 : i >= (int)size ? (int)size - 1 : i; }
HELPER int layer_at(int layer, IMAGE image) {
  return layer == 0 ? 0 : limited(layer, image->array_size < 1 ? 1 : image->array_size);
}

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
HELPER bool writable(IMAGE image, int x, int y, int z, int layer, int dimensions) {
  return inside(x, image->width) && (dimensions < 2 || inside(y, image->height)) &&
         (dimensions < 3 || inside(z, image->depth)) && (layer == 0 || inside(layer, image->array_size));
}
#define PIXEL ((global uchar *)address(image, x, dimensions < 2 ? 0 : y, dimensions < 3 ? 0 : z, layer))

LINK void __hw_image_write_f(IMAGE image, int x, int y, int z, int layer, int dimensions, float4 c) {
  if (writable(image, x, y, z, layer, dimensions)) store_pixel(PIXEL, image, c);
}
LINK void __hw_image_write_i(IMAGE image, int x, int y, int z, int layer, int dimensions, int4 c) {
  if (writable(image, x, y, z, layer, dimensions)) store_pixel(PIXEL, image, c);
}
LINK void __hw_image_write_ui(IMAGE image, int x, int y, int z, int layer, int dimensions, uint4 c) {
  if (writable(image, x, y, z, layer, dimensions)) store_pixel(PIXEL, image, c);
}

/* A pixel in memory as four components and the way back, for one work-item a lane: a branch to each format's own code.
   Included by image.cl, which has hw_image, channels_of, arrange and unarrange. */
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

/* ---- writing */
#define STORE(S, convert) \
  { \
    global S *s = (global S *)p; \
    s[0] = convert(c.x); \
    if (n > 1) s[1] = convert(c.y); \
    if (n > 2) s[2] = convert(c.z); \
    if (n > 3) s[3] = convert(c.w); \
    break; \
  }
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

STORES void store_pixel(global uchar *p, IMAGE image, float4 c) {
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
STORES void store_pixel(global uchar *p, IMAGE image, int4 c) {
  int n = channels_of((uint)image->channel_order);
  c = unarrange(c, (uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_SIGNED_INT8: STORE(char, TO_INT8)
    case CLK_SIGNED_INT16: STORE(short, TO_INT16)
    default: STORE(int, AS_INT)
  }
}
STORES void store_pixel(global uchar *p, IMAGE image, uint4 c) {
  int n = channels_of((uint)image->channel_order);
  c = unarrange(c, (uint)image->channel_order);
  switch ((uint)image->channel_type) {
    case CLK_UNSIGNED_INT8: STORE(uchar, TO_UINT8)
    case CLK_UNSIGNED_INT16: STORE(ushort, TO_UINT16)
    default: STORE(uint, AS_UINT)
  }
}

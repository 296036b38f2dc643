/* SHOC's MD5Hash: a work-item hashes keys of five bytes that differ in the first one (RFC 1321; no code of SHOC's). */
constant uint K[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af,
    0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa,
    0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97,
    0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
constant uint TURNS[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

/* Of a block with 40 bits in two words. */
uint4 md5(uint low, uint high) {
  uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  uint w[16] = {low, high | 0x8000};
  w[14] = 40;
#pragma unroll
  for (int t = 0; t < 64; t++) {
    uint f = t < 16 ? (b & c) | (~b & d) : t < 32 ? (b & d) | (c & ~d) : t < 48 ? b ^ c ^ d : c ^ (b | ~d);
    uint word = w[t < 16 ? t : t < 32 ? (5 * t + 1) & 15 : t < 48 ? (3 * t + 5) & 15 : 7 * t & 15];
    uint sum = a + f + K[t] + word;
    a = d;
    d = c;
    c = b;
    b += rotate(sum, TURNS[t / 16 * 4 + t % 4]);
  }
  return (uint4)(a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476);
}

kernel void find(uint4 wanted, int keys, int values, global int *found, global uint *digest) {
  uint first = get_global_id(0) * values, rest = first;
  uint bytes[5];
  for (int n = 0; n < 5; n++) {
    bytes[n] = rest % values;
    rest /= values;
  }
  for (int n = 0; n < values && first + n < keys; n++) {
    uint4 one = md5(bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24, bytes[4]);
    if (all(one == wanted)) {
      *found = first + n;
      vstore4(one, 0, digest);
    }
    bytes[0]++;
  }
}

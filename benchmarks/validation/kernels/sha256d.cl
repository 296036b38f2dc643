/* hdminer: of a block of 80 bytes the SHA-256 of its SHA-256, of which the last word is looked at, for one nonce a work-item
   (FIPS 180-4; no code of hdminer's). The first 64 bytes are hashed beforehand: `state`; `tail`: the three words between them
   and the nonce. As there, nothing of the message's expansion is computed beforehand, and the last three steps are left out. */
constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define TURN(x, n) rotate(x, 32u - n)
#define EXPAND(t) \
  w[(t) & 15] += (TURN(w[(t + 1) & 15], 7u) ^ TURN(w[(t + 1) & 15], 18u) ^ w[(t + 1) & 15] >> 3) + w[(t + 9) & 15] + \
                 (TURN(w[(t + 14) & 15], 17u) ^ TURN(w[(t + 14) & 15], 19u) ^ w[(t + 14) & 15] >> 10);
#define STEP(t) { \
    if (t > 15) { EXPAND(t) } \
    uint e = s[(68 - (t)) & 7], a = s[(64 - (t)) & 7]; \
    uint one = s[(71 - (t)) & 7] + (TURN(e, 6u) ^ TURN(e, 11u) ^ TURN(e, 25u)) + \
               bitselect(s[(70 - (t)) & 7], s[(69 - (t)) & 7], e) + K[t] + w[(t) & 15]; \
    uint two = (TURN(a, 2u) ^ TURN(a, 13u) ^ TURN(a, 22u)) + \
               bitselect(a, s[(65 - (t)) & 7], a ^ s[(66 - (t)) & 7]); \
    s[(67 - (t)) & 7] += one; \
    s[(71 - (t)) & 7] = one + two; \
  }

kernel void find(uint8 state, uint4 tail, uint first, uint target, global uint *found) {
  uint nonce = first + get_global_id(0);
  uint h[8] = {state.s0, state.s1, state.s2, state.s3, state.s4, state.s5, state.s6, state.s7}, s[8], w[16] = {0};
  for (int n = 0; n < 8; n++) s[n] = h[n];
  w[0] = tail.x;
  w[1] = tail.y;
  w[2] = tail.z;
  w[3] = nonce;
  w[4] = 0x80000000;
  w[15] = 640;
#pragma unroll
  for (int t = 0; t < 64; t++) STEP(t)
  for (int n = 0; n < 8; n++) w[n] = s[n] + h[n];
  w[8] = 0x80000000;
  for (int n = 9; n < 15; n++) w[n] = 0;
  w[15] = 256;
  s[0] = 0x6a09e667;
  s[1] = 0xbb67ae85;
  s[2] = 0x3c6ef372;
  s[3] = 0xa54ff53a;
  s[4] = 0x510e527f;
  s[5] = 0x9b05688c;
  s[6] = 0x1f83d9ab;
  s[7] = 0x5be0cd19;
#pragma unroll
  for (int t = 0; t < 61; t++) STEP(t)
  if (s[7] == target) *found = nonce;
}

// The 32-bit finalisers of MurmurHash3 (Appleby, public domain), several rounds: integer multiplies, shifts, xors.
__kernel void hash(__global const uint *keys, __global uint *hashes, int rounds)
{
    const int i = get_global_id(0);
    uint h = keys[i];
    for (int r = 0; r < rounds; ++r) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        h = rotate(h, 5u) + r;
    }
    hashes[i] = h;
}

// Per-channel 3x3 median of RGBA bytes by the exchange network for nine values (Smith, 1996); the frame is left alone.
#define SORT(a, b) { const uchar4 low = min(a, b); b = max(a, b); a = low; }

__kernel void median(__global const uchar4 *image, __global uchar4 *result, int width)
{
    const int x = get_global_id(0) + 1;
    const int y = get_global_id(1) + 1;
    const int i = y * width + x;
    uchar4 a = image[i - width - 1], b = image[i - width], c = image[i - width + 1];
    uchar4 d = image[i - 1], e = image[i], f = image[i + 1];
    uchar4 g = image[i + width - 1], h = image[i + width], k = image[i + width + 1];
    SORT(b, c) SORT(e, f) SORT(h, k)
    SORT(a, b) SORT(d, e) SORT(g, h)
    SORT(b, c) SORT(e, f) SORT(h, k)
    SORT(a, d) SORT(f, k) SORT(e, h)
    SORT(d, g) SORT(b, e) SORT(c, f)
    SORT(e, h) SORT(e, c) SORT(g, e)
    SORT(e, c)
    result[i] = e;
}

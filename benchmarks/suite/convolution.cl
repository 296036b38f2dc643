#define RADIUS 2
#define SIDE (2 * RADIUS + 1)

__kernel void convolve(__global const float *image, __constant float *weights, __global float *result, int width)
{
    const int x = get_global_id(0) + RADIUS;
    const int y = get_global_id(1) + RADIUS;
    float total = 0.0f;
    for (int j = 0; j < SIDE; ++j)
        for (int i = 0; i < SIDE; ++i)
            total += weights[j * SIDE + i] * image[(y + j - RADIUS) * width + x + i - RADIUS];
    result[y * width + x] = total;
}

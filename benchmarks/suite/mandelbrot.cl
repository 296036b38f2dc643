__kernel void mandelbrot(__global int *escaped, float left, float top, float scale, int limit)
{
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    const float cx = left + column * scale;
    const float cy = top - row * scale;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        const float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++count;
    }
    escaped[row * get_global_size(0) + column] = count;
}

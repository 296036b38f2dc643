// Escape times of z -> z^2 + c over a rectangle of the complex plane; global size (width, height).

__kernel void mandelbrot(__global int *escaped, float left, float top, float step, int width, int height, int limit)
{
    const int column = get_global_id(0);
    const int row = get_global_id(1);
    if (column >= width || row >= height)
        return;
    const float cx = left + column * step;
    const float cy = top - row * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;

    while (count < limit && x * x + y * y < 4.0f) {
        const float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++count;
    }
    escaped[row * width + column] = count;
}

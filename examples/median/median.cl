// 3x3 median filter on RGBA pixels ordered by luminance: the simple kernel and the one with four pixels per work-item.
//
// Both follow AMD's OpenCL introduction for the ATI Radeon HD 4870 with two corrections. After the rows and then the
// columns of the neighbourhood are sorted, the median is the middle of the diagonal from the greatest of the left
// column to the least of the right one; the slides sort the other diagonal, which is already in order. And the six
// 128-bit loads of the second kernel hold the neighbours of pixels 4p+1 … 4p+4, so that is where its results belong.

float luminance(uint rgba)
{
    return 0.3f * (rgba & 0xffu) + 0.59f * ((rgba >> 8) & 0xffu) + 0.11f * ((rgba >> 16) & 0xffu);
}

void sort2(uint *a, uint *b)
{
    const bool swap = luminance(*a) > luminance(*b);
    const uint lower = swap ? *b : *a;
    *b = swap ? *a : *b;
    *a = lower;
}

void sort3(uint *a, uint *b, uint *c)
{
    sort2(a, b);
    sort2(b, c);
    sort2(a, b);
}

uint find_median(uint p00, uint p01, uint p02, uint p10, uint p11, uint p12, uint p20, uint p21, uint p22)
{
    sort3(&p00, &p01, &p02);  // rows
    sort3(&p10, &p11, &p12);
    sort3(&p20, &p21, &p22);
    sort3(&p00, &p10, &p20);  // columns
    sort3(&p01, &p11, &p21);
    sort3(&p02, &p12, &p22);
    sort3(&p20, &p11, &p02);  // diagonal
    return p11;
}

// One pixel per work-item; global size (width, height). The frame's outermost pixels are copied.
__kernel void medianfilter_rgba(__global const uint *id, __global uint *od, int width, int height)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const int i = y * width + x;

    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        od[i] = id[i];
        return;
    }
    od[i] = find_median(id[i - width - 1], id[i - width], id[i - width + 1],
                        id[i - 1],         id[i],         id[i + 1],
                        id[i + width - 1], id[i + width], id[i + width + 1]);
}

// Four pixels per work-item, read and written 128 bits at a time; global size (width / 4, height), width a multiple
// of 4. Work-item p of a row makes pixels 4p+1 … 4p+4; the first and the last one of a row also see to its ends.
__kernel void medianfilter_rgba_x4(__global const uint *id, __global uint *od, int width, int height)
{
    const int p = get_global_id(0);
    const int y = get_global_id(1);
    if (4 * p >= width || y >= height)
        return;
    const int row = y * width;

    if (y == 0 || y == height - 1) {
        vstore4(vload4(p, id + row), p, od + row);
        return;
    }
    const int right = min(p + 1, width / 4 - 1);  // the last block has no right neighbour
    const uint4 l0 = vload4(p, id + row - width), r0 = vload4(right, id + row - width);
    const uint4 l1 = vload4(p, id + row),         r1 = vload4(right, id + row);
    const uint4 l2 = vload4(p, id + row + width), r2 = vload4(right, id + row + width);

    uint4 result;
    result.x = find_median(l0.x, l0.y, l0.z, l1.x, l1.y, l1.z, l2.x, l2.y, l2.z);
    result.y = find_median(l0.y, l0.z, l0.w, l1.y, l1.z, l1.w, l2.y, l2.z, l2.w);
    result.z = find_median(l0.z, l0.w, r0.x, l1.z, l1.w, r1.x, l2.z, l2.w, r2.x);
    result.w = find_median(l0.w, r0.x, r0.y, l1.w, r1.x, r1.y, l2.w, r2.x, r2.y);

    __global uint *out = od + row + 4 * p + 1;
    if (p == 0)
        out[-1] = l1.x;
    if (4 * p + 4 < width) {
        vstore4(result, 0, out);
    } else {
        out[0] = result.x;
        out[1] = result.y;
        out[2] = l1.w;
    }
}

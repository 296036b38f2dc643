// Whole programs: pictures, options, rays, functions and messages.

#define SORT2(a, b)         \
  {                         \
    uint4 t = min(a, b);    \
    b = max(a, b);          \
    a = t;                  \
  }
#define MIN3(a, b, c) SORT2(a, b) SORT2(a, c)
#define MAX3(a, b, c) SORT2(b, c) SORT2(a, c)
#define MINMAX3(a, b, c) MAX3(a, b, c) SORT2(a, b)
#define MINMAX4(a, b, c, d) SORT2(a, b) SORT2(c, d) SORT2(a, c) SORT2(b, d)
#define MINMAX5(a, b, c, d, e) SORT2(a, b) SORT2(c, d) MIN3(a, c, e) MAX3(b, d, e)
#define MINMAX6(a, b, c, d, e, f) SORT2(a, d) SORT2(b, e) SORT2(c, f) MIN3(a, b, c) MAX3(d, e, f)
kernel void median(global const uchar4 *in, global uchar4 *out, int w, int h) {
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1;
  uint4 v[9];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      v[j * 3 + i] = convert_uint4(in[(y + j - 1) * w + x + i - 1]);
  MINMAX6(v[0], v[1], v[2], v[3], v[4], v[5])
  MINMAX5(v[1], v[2], v[3], v[4], v[6])
  MINMAX4(v[2], v[3], v[4], v[7])
  MINMAX3(v[3], v[4], v[8])
  out[y * w + x] = convert_uchar4(v[4]);
}

kernel void convolve(global const float *in, global float *out, constant float *f, int w, int h, int r) {
  int x = get_global_id(0), y = get_global_id(1);
  float s = 0;
  for (int j = -r; j <= r; j++)
    for (int i = -r; i <= r; i++) {
      int xx = clamp(x + i, 0, w - 1), yy = clamp(y + j, 0, h - 1);
      s += in[yy * w + xx] * f[(j + r) * (2 * r + 1) + i + r];
    }
  out[y * w + x] = s;
}

constant sampler_t NEAREST = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void blur(read_only image2d_t in, write_only image2d_t out) {
  int2 c = (int2)(get_global_id(0), get_global_id(1));
  float4 v = (float4)(0);
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++)
      v += read_imagef(in, NEAREST, c + (int2)(i, j));
  write_imagef(out, c, v / 9.f);
}

float normal_distribution(float d) {
  const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  float k = 1.f / (1.f + 0.2316419f * fabs(d));
  float c = 0.39894228f * exp(-0.5f * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))));
  if (d > 0)
    c = 1.f - c;
  return c;
}
kernel void black_scholes(global float *call, global float *put, global const float *price, global const float *strike,
                          global const float *years, float rate, float volatility) {
  int i = get_global_id(0);
  float s = price[i], x = strike[i], t = years[i];
  float q = sqrt(t);
  float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * q);
  float d2 = d1 - volatility * q;
  float c1 = normal_distribution(d1), c2 = normal_distribution(d2);
  float e = exp(-rate * t);
  call[i] = s * c1 - x * e * c2;
  put[i] = x * e * (1.f - c2) - s * (1.f - c1);
}

kernel void fft_radix2(global const float2 *x, global float2 *y, int p) {
  int i = get_global_id(0), t = get_global_size(0);
  int k = i & (p - 1);
  float2 u0 = x[i], u1 = x[i + t];
  float a = -3.14159265f * k / p;
  float2 w = (float2)(cos(a), sin(a));
  float2 m = (float2)(u1.x * w.x - u1.y * w.y, u1.x * w.y + u1.y * w.x);
  int j = ((i - k) << 1) + k;
  y[j] = u0 + m;
  y[j + p] = u0 - m;
}

kernel void kmeans(global const float *features, global const float *centres, global int *member, int n, int k, int d) {
  int p = get_global_id(0);
  if (p >= n)
    return;
  float best = 3.40282347e38f;
  int found = 0;
  for (int i = 0; i < k; i++) {
    float s = 0;
    for (int l = 0; l < d; l++) {
      float t = features[l * n + p] - centres[i * d + l];
      s += t * t;
    }
    if (s < best) {
      best = s;
      found = i;
    }
  }
  member[p] = found;
}

#define B 16
#define INSIDE(x, a, b) ((x) >= (a) && (x) <= (b))
kernel void hotspot(int steps, global const float *power, global const float *src, global float *dst, int columns, int rows,
                    float cap, float rx, float ry, float rz, float step) {
  local float old[B][B], heat[B][B], new[B][B];
  float ambient = 80.f;
  float scale = step / cap, rxi = 1 / rx, ryi = 1 / ry, rzi = 1 / rz;
  int bx = get_group_id(0), by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
  int inner = B - steps * 2, by0 = inner * by - steps, bx0 = inner * bx - steps, yi = by0 + ty, xi = bx0 + tx;
  int at = columns * yi + xi;
  if (INSIDE(yi, 0, rows - 1) && INSIDE(xi, 0, columns - 1)) {
    old[ty][tx] = src[at];
    heat[ty][tx] = power[at];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int ymin = by0 < 0 ? -by0 : 0, ymax = by0 + B - 1 > rows - 1 ? B - 1 - (by0 + B - 1 - rows + 1) : B - 1;
  int xmin = bx0 < 0 ? -bx0 : 0, xmax = bx0 + B - 1 > columns - 1 ? B - 1 - (bx0 + B - 1 - columns + 1) : B - 1;
  int n = max(ty - 1, ymin), s = min(ty + 1, ymax), w = max(tx - 1, xmin), e = min(tx + 1, xmax);
  int done = 0;
  for (int i = 0; i < steps; i++) {
    done = 0;
    if (INSIDE(tx, i + 1, B - i - 2) && INSIDE(ty, i + 1, B - i - 2) && INSIDE(tx, xmin, xmax) && INSIDE(ty, ymin, ymax)) {
      done = 1;
      new[ty][tx] = old[ty][tx] + scale * (heat[ty][tx] + (old[s][tx] + old[n][tx] - 2.f * old[ty][tx]) * ryi +
                                           (old[ty][e] + old[ty][w] - 2.f * old[ty][tx]) * rxi + (ambient - old[ty][tx]) * rzi);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == steps - 1)
      break;
    if (done)
      old[ty][tx] = new[ty][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (done)
    dst[at] = new[ty][tx];
}

typedef struct {
  float4 centre;
  float r2;
} Sphere;
int hit(float4 o, float4 d, constant Sphere *s, int n, float *near) {
  int found = -1;
  *near = 1e30f;
  for (int i = 0; i < n; i++) {
    float4 oc = o - s[i].centre;
    float b = dot(oc, d), c = dot(oc, oc) - s[i].r2;
    float q = b * b - c;
    if (q > 0) {
      float t = -b - sqrt(q);
      if (t > 1e-3f && t < *near) {
        *near = t;
        found = i;
      }
    }
  }
  return found;
}
kernel void raytrace(global uchar4 *out, constant Sphere *s, int n, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 o = (float4)(0, 0, -3, 0), d = normalize((float4)(x / 32.f - 1, y / 32.f - 1, 1.5f, 0));
  float4 colour = (float4)(0, 0, 0, 0);
  float k = 1;
  for (int b = 0; b < 4; b++) {
    float t;
    int h = hit(o, d, s, n, &t);
    if (h < 0) {
      colour += k * (float4)(0.3f, 0.5f, 0.9f, 1);
      break;
    }
    float4 p = o + t * d;
    float4 normal = normalize(p - s[h].centre);
    colour += k * fmax(dot(normal, (float4)(0.57f, 0.57f, -0.57f, 0)), 0.f) * (float4)(1, 0.8f, 0.6f, 1);
    k *= 0.5f;
    o = p;
    d = d - 2 * dot(d, normal) * normal;
  }
  out[y * w + x] = convert_uchar4_sat(colour * 255.f);
}

__attribute__((noinline)) float polynomial(float x, float a) { return ((a * x + 2) * x + 3) * x + 4; }
__attribute__((noinline)) float twice(float x) { return polynomial(polynomial(x, 1), 2); }
kernel void calls(global float *x) {
  int i = get_global_id(0);
  x[i] = twice(x[i]) + polynomial(x[i], 3);
}

void split(int v, int *high, int *low) {
  if (v < 0) {
    *high = -1;
    return;
  }
  *high = v / 10;
  *low = v % 10;
}
kernel void pointers_out(global const int *a, global int *o) {
  int i = get_global_id(0);
  int high = 5, low = 6;
  split(a[i], &high, &low);
  o[i] = high * 100 + low;
}

kernel void increment(global int *a, int by) { a[get_global_id(0)] += by; }
kernel void calls_a_kernel(global int *a) {
  increment(a, 5);
  if (get_global_id(0) & 1)
    increment(a, 100);
}

kernel void say(global const int *a) {
  int i = get_global_id(0);
  if (a[i] > 5)
    printf("item %d has %d, %5.2f and %s\n", i, a[i], a[i] * 0.5f, "text");
}

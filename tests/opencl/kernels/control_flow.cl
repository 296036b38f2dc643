// Work-items that part: branches, loops, switches and jumps of every shape.

kernel void break_and_continue(global const int *a, global int *o, int n) {
  int i = get_global_id(0);
  int s = 0;
  for (int j = 0; j < n; j++) {
    int v = a[i * n + j];
    if (v < 0)
      continue;
    if (v > 1000)
      break;
    for (int k = 0; k < v; k++) {
      if ((k ^ v) == 7)
        break;
      if (k & 1)
        continue;
      s += k;
      if (s > 3000)
        goto out;
    }
    s ^= v;
  }
out:
  o[i] = s;
}

// The loop's end is the same for all work-items, but some leave before.
kernel void leave_counted_loop(global const int *a, global int *o, int n) {
  int i = get_global_id(0);
  int s = 0;
  for (int j = 0; j < n; j++) {
    int v = a[i * n + j];
    if (v > 1000)
      break;
    s ^= v;
  }
  o[i] = s;
}

// What a work-item found last before it left is used afterwards.
kernel void last_before_leaving(global const int *a, global int *o, int n) {
  int i = get_global_id(0);
  int j, v = 0, trips = 0, square = 0;
  for (j = 0; j < n; j++) {
    v = a[j] + i;
    square = v * v;
    if (square % 13 == 5)
      break;
    trips++;
  }
  o[i] = v * 1000000 + square % 1000 * 1000 + j * 10 + (trips == j);
}

kernel void several_exits(global const int *a, global int *o, int n) {
  int i = get_global_id(0);
  int x = a[i], how = 0;
  for (int j = 0;; j++) {
    x = x * 5 + 1 & 0xffff;
    if (x % 11 == 3) {
      how = 100 + j;
      break;
    }
    if (j > 3 && x % 7 == 1) {
      how = 200 + j;
      goto found;
    }
    if (j == n) {
      how = 300;
      goto found;
    }
    if (x % 29 == 0) {
      o[i] = -x;
      return;
    }
  }
  how += 1000;
found:
  o[i] = how * 100000 + x;
}

kernel void collatz(global const uint *a, global uint *o) {
  int i = get_global_id(0);
  ulong x = a[i];
  uint steps = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    steps++;
  }
  o[i] = steps;
}

kernel void switch_on_data(global const int *op, global float *x) {
  int i = get_global_id(0);
  float v = x[i];
  switch (op[i]) {
  case 0:
    v += 1;
    break;
  case 1:
    v *= 2;
    break;
  case 2:
    v -= 3;
  case 3:
    v = v * v;
    break;
  case 4:
    v = sqrt(fabs(v));
    break;
  case 5:
    v = 1 / v;
    break;
  case 9:
    return;
  default:
    v = 0;
  }
  x[i] = v;
}

kernel void switch_on_argument(global int *a, int op) {
  int i = get_global_id(0);
  switch (op) {
  case 0:
    a[i] += 7;
    break;
  case 1:
    for (int k = 0; k < (i & 3); k++)
      a[i] *= 3;
    break;
  case 2:
    if (i & 1)
      break;
  case 3:
    a[i] = -a[i];
    break;
  default:
    a[i] = get_global_size(0);
  }
}

// A big switch in a loop: an interpreter that each work-item runs at its own pace.
kernel void interpreter(global const uchar *code, global int *o, int n) {
  int i = get_global_id(0);
  int pc = 0, acc = i, steps = 0;
  while (steps++ < 200) {
    uchar c = code[pc];
    pc = pc + 1;
    switch (c & 7) {
    case 0: acc += c >> 3; break;
    case 1: acc ^= c; break;
    case 2: if (acc & 1) pc = (pc + (c >> 3)) % n; break;
    case 3: acc *= 3; continue;
    case 4: acc = acc >> 1; if (acc > 50) break; acc += 9;
    case 5: acc -= 2; break;
    case 6: if ((acc & 63) == (c >> 3)) goto done; break;
    case 7: pc = c >> 3; break;
    }
    if (pc >= n)
      pc = 0;
  }
done:
  o[i] = acc * 256 + (steps & 255);
}

// Two entries into one cycle: no natural loop, so it runs one work-item at a time.
kernel void irreducible(global const int *a, global int *o) {
  int i = get_global_id(0);
  int x = a[i], n = 0;
  if (x & 1)
    goto second;
first:
  x = x * 3 + 1;
  n++;
  if (n > 20)
    goto out;
second:
  x = x / 2 + 5;
  n += 2;
  if (x % 3)
    goto first;
  if (x % 5 && n < 30)
    goto second;
out:
  o[i] = x * 100 + n;
}

// A jump backwards that is a loop in disguise, and one out of two loops at once.
kernel void jumps(global const int *a, global int *o) {
  int i = get_global_id(0);
  int x = a[i] & 255, n = 0;
again:
  n++;
  for (int j = 0; j < 5; j++) {
    for (int k = j; k < 7; k++) {
      x += k * j;
      if (x % 17 == 4)
        goto next;
    }
    if (x > 500)
      goto stop;
  }
  x += 3;
next:
  if (n < 6 && (x & 12))
    goto again;
stop:
  o[i] = x * 16 + n;
}

// Loops of the same length for all, inside a condition that differs.
kernel void uniform_loop_in_divergent_if(global const int *a, constant int *table, global int *o, int n) {
  int i = get_global_id(0);
  int s = 0;
  if (a[i] % 3 == 0) {
    for (int k = 0; k < n; k++)
      s += table[k] * a[i];
  } else if (a[i] % 3 == 1) {
    int k = n;
    do {
      k--;
      s ^= table[k] + k;
    } while (k > 0);
    s += table[a[i] & 7];
  }
  o[i] = s;
}

kernel void nested_loops(global const int *a, global int *o) {
  int i = get_global_id(0);
  int s = 0, v = a[i];
  for (int x = 0; x < (v & 7); x++) {
    int y = v;
    while (y > x) {
      y = y / 2 - 1;
      for (int z = 3; z >= (x & 3); z--) {
        s += x * 100 + y * 10 + z;
        if ((s ^ z) % 5 == 0)
          break;
      }
      if (s & 8)
        continue;
      s += 3;
    }
    if (s % 101 == 7)
      return;
  }
  o[i] = s;
}

// A conditional chain of early returns, with stores in between.
kernel void returns(global const int *a, global int *o) {
  int i = get_global_id(0);
  int v = a[i];
  o[i] = 1;
  if (v < 10)
    return;
  o[i] = 2;
  if (v < 50) {
    if (v & 1)
      return;
    o[i] = v;
    return;
  }
  for (int k = 0; k < v; k++) {
    if (k * k > v)
      return;
    o[i] += k;
  }
  o[i] = -1;
}

// The load before the first element must not happen, though the index wraps around in unsigned arithmetic.
kernel void unsigned_wrap(global const int *a, global int *o) {
  uint i = get_global_id(0);
  int s = 0;
  if (i > 0)
    s = a[i - 1u];
  if (i >= 5u)
    s += a[i - 5u] * 3;
  if (i + 1u < get_global_size(0))
    s -= a[i + 1u];
  o[i] = s;
}

// A difference of unsigned numbers with a limit known only when the kernel runs.
kernel void unsigned_difference(global const int *a, global int *o, uint n) {
  uint i = get_global_id(0);
  o[i] = -1;
  if (i >= n)
    o[i] = a[i - n];
}

// 32-bit index arithmetic that does wrap around: the right address is that of the wrapped index.
kernel void wrapping_index(global const int *a, global int *o, uint start, uint count) {
  uint i = get_global_id(0);
  uint at = start + i;
  o[i] = at < count ? a[at] : -1;
}

kernel void mandelbrot(global int *o, float x0, float y0, float dx, int w, int most) {
#pragma OPENCL FP_CONTRACT OFF
  int px = get_global_id(0), py = get_global_id(1);
  float cx = x0 + px * dx, cy = y0 + py * dx, zx = 0, zy = 0;
  int i = 0;
  while (i < most && zx * zx + zy * zy < 4.f) {
    float t = zx * zx - zy * zy + cx;
    zy = 2.f * zx * zy + cy;
    zx = t;
    i++;
  }
  o[py * w + px] = i;
}

// Short-circuit conditions guard loads that would be out of range.
kernel void guarded_loads(global const int *next, global int *o, int n) {
  int i = get_global_id(0);
  int at = i, hops = 0;
  while (at >= 0 && at < n && next[at] >= 0 && hops < 100) {
    at = next[at];
    hops++;
  }
  o[i] = hops * 1000 + at;
}

kernel void goes_on_within_and_without(global const float *in, global float *out)
{
    // Lanes leave the inner loop that LLVM makes of the first `continue` by two ways, each together with some others.
    const uint i = get_global_id(0);
    float sum = in[i];
    short4 tags = (short4)((short)sum, 66, 3, 4);
    int left = 1;
    while (any(tags != (short4)(66)) && left-- > 0) {
        if (in[i + 5] > 1.0f) continue;
        int turns = 3;
        do {
            sum += in[i + 7];
            if (in[i + 7] > 2.5f) continue;
        } while (--turns > 0 && (50 <= (int)in[i + 9]));
    }
    out[i] = sum;
}

kernel void leaves_together_what_others_left(global const int *in, global int *out, int m)
{
    // Lanes in the inner loop that LLVM makes of `continue` leave it together, and with it a loop that others have left.
    const uint i = get_global_id(0);
    int sum = 0, left = 6;
    do {
        int turns = 1;
        while (((i ^ (uint)in[0]) & 4) && turns-- > 0) {
            if (m > 2) continue;
            sum = sum * 7 + in[i];
        }
    } while (--left > 0 && in[i] < 40);
    out[i] = sum;
}

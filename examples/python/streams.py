"""The examples' Brook+ kernels in Python: called with streams, without sizes or indices of work-items.

A number or vector that the function returns is the element of a stream; parameters annotated as arrays are read
anywhere. See docs/python.md. `examples/python/run.py` runs them.
"""

import math

import headwater as hw


def cumulative_normal(x):
    """Abramowitz and Stegun, Handbook of Mathematical Functions, formula 26.2.17 (absolute error below 7.5e-8)."""
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804 * math.exp(-0.5 * x * x) * poly
    return 1.0 - tail if x > 0.0 else tail


@hw.stream_kernel
def black_scholes(spot, strike, years, rate: hw.float32, volatility: hw.float32):
    """Prices of a European call and put, one option per element."""
    deviation = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * math.exp(-rate * years)
    n1 = cumulative_normal(d1)
    n2 = cumulative_normal(d2)
    return spot * n1 - discounted * n2, discounted * (1.0 - n2) - spot * (1.0 - n1)


@hw.stream_kernel
def mandelbrot(left: hw.float32, top: hw.float32, step: hw.float32, limit: hw.int32):
    """How soon z -> z^2 + c escapes."""
    here = hw.instance()
    cx = left + here.x * step
    cy = top - here.y * step
    x = 0.0
    y = 0.0
    count = 0
    while count < limit:
        following = x * x - y * y + cx
        if x * x + y * y >= 4.0:
            break
        y = 2.0 * x * y + cy
        x = following
        count += 1
    return count


@hw.stream_kernel
def matmult(a: hw.array(hw.float32, ndim=2), b: hw.array(hw.float32, ndim=2), inner: hw.int32):
    """C = A B: an element of C."""
    here = hw.instance()
    total = 0.0
    for l in range(inner):
        total += a[here.y, l] * b[l, here.x]
    return total


@hw.stream_kernel
def matmult_float4(a: hw.array(hw.float4, ndim=2), bt: hw.array(hw.float4, ndim=2), inner: hw.int32):
    """The same, four elements at a time; bt is B transposed, inner counts float4."""
    here = hw.instance()
    j = here.x * 4
    x = 0.0
    y = 0.0
    z = 0.0
    w = 0.0
    for l in range(inner):
        row = a[here.y, l]
        x += hw.cl.dot(row, bt[j, l])
        y += hw.cl.dot(row, bt[j + 1, l])
        z += hw.cl.dot(row, bt[j + 2, l])
        w += hw.cl.dot(row, bt[j + 3, l])
    return hw.float4(x, y, z, w)


@hw.stream_kernel
def analyze(image: hw.array(hw.float32, ndim=2)):
    """One level of the Haar wavelet transform: each 2 x 2 block gives an element of four bands."""
    here = hw.instance()
    x = here.x * 2
    y = here.y * 2
    a = image[y, x]
    b = image[y, x + 1]
    c = image[y + 1, x]
    d = image[y + 1, x + 1]
    return 0.5 * (a + b + c + d), 0.5 * (a - b + c - d), 0.5 * (a + b - c - d), 0.5 * (a - b - c + d)


@hw.stream_kernel
def synthesize(
    ll: hw.array(hw.float32, ndim=2),
    hl: hw.array(hw.float32, ndim=2),
    lh: hw.array(hw.float32, ndim=2),
    hh: hw.array(hw.float32, ndim=2),
):
    """The transform's inverse."""
    here = hw.instance()
    x = here.x // 2
    y = here.y // 2
    across = 1.0 if here.x % 2 == 0 else -1.0
    down = 1.0 if here.y % 2 == 0 else -1.0
    return 0.5 * (ll[y, x] + across * hl[y, x] + down * lh[y, x] + across * down * hh[y, x])


@hw.stream_kernel
def step_bodies(
    position: hw.float4,
    velocity: hw.float4,
    bodies: hw.array(hw.float4),
    count: hw.int32,
    dt: hw.float32,
    softening: hw.float32,
):
    """One step of the gravitational n-body problem, all pairs, softened; positions carry the mass in w."""
    me = position
    ax = 0.0
    ay = 0.0
    az = 0.0
    for j in range(count):
        other = bodies[j]
        dx = other.x - me.x
        dy = other.y - me.y
        dz = other.z - me.z
        inverse = hw.cl.rsqrt(dx * dx + dy * dy + dz * dz + softening)
        pull = other.w * inverse * inverse * inverse
        ax += dx * pull
        ay += dy * pull
        az += dz * pull
    speed = velocity + hw.float4(ax * dt, ay * dt, az * dt, 0.0)
    return hw.float4(me.x + speed.x * dt, me.y + speed.y * dt, me.z + speed.z * dt, me.w), speed


@hw.stream_kernel
def scan_step(source: hw.array(hw.int32), distance: hw.int32):
    """One step of the inclusive prefix sum by doubling distances (Hillis and Steele, 1986)."""
    here = hw.instance()
    i = here.x
    earlier = i - distance
    summed = source[i]
    if earlier >= 0:
        summed += source[earlier]
    return summed


@hw.stream_kernel(reduction=True)
def total(summed: hw.float32, value: hw.float32):
    """The sum of a stream."""
    return summed + value


@hw.stream_kernel(reduction=True)
def greatest(most: hw.float32, value: hw.float32):
    """The greatest element of a stream."""
    return max(most, value)


def luminance(rgba):
    """How bright a pixel is."""
    return 0.3 * (rgba & 255) + 0.59 * ((rgba >> 8) & 255) + 0.11 * ((rgba >> 16) & 255)


def lower(a, b):
    """The darker pixel."""
    return a if luminance(a) <= luminance(b) else b


def higher(a, b):
    """The brighter pixel."""
    return b if luminance(a) <= luminance(b) else a


def middle(a, b, c):
    """The pixel between."""
    return higher(lower(a, b), lower(higher(a, b), c))


@hw.stream_kernel
def median(image: hw.array(hw.uint32, ndim=2), width: hw.int32, height: hw.int32):
    """3 x 3 median of pixels by luminance; reads beyond the frame are kept inside it."""
    here = hw.instance()
    x = here.x
    y = here.y
    left = max(x - 1, 0)
    right = min(x + 1, width - 1)
    up = max(y - 1, 0)
    down = min(y + 1, height - 1)

    a0 = image[up, left]
    a1 = image[up, x]
    a2 = image[up, right]
    b0 = image[y, left]
    b1 = image[y, x]
    b2 = image[y, right]
    c0 = image[down, left]
    c1 = image[down, x]
    c2 = image[down, right]

    greatest_low = higher(higher(lower(lower(a0, a1), a2), lower(lower(b0, b1), b2)), lower(lower(c0, c1), c2))
    middle_of_middles = middle(middle(a0, a1, a2), middle(b0, b1, b2), middle(c0, c1, c2))
    least_high = lower(lower(higher(higher(a0, a1), a2), higher(higher(b0, b1), b2)), higher(higher(c0, c1), c2))
    return middle(greatest_low, middle_of_middles, least_high)

"""The kernels of the other examples, written in Python: they become the same machine code as their OpenCL C."""

import math

import headwater as hw

TILE = 16

floats = hw.array(hw.float32)
float4s = hw.array(hw.float4)
ints = hw.array(hw.int32)
pixels = hw.array(hw.uint32)


@hw.kernel
def saxpy(x: floats, y: floats, a: hw.float32):
    i: hw.uint64 = hw.global_id(0)
    y[i] = a * x[i] + y[i]


# -- European call and put prices --------------------------------------------------------------------------------------


def cumulative_normal(x):
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804 * math.exp(-0.5 * x * x) * poly
    return 1.0 - tail if x > 0.0 else tail


@hw.kernel
def black_scholes(
    spot: floats,
    strike: floats,
    years: floats,
    rate: hw.float32,
    volatility: hw.float32,
    call: floats,
    put: floats,
    count: hw.int32,
):
    i = hw.global_id(0)
    if i >= count:
        return
    deviation = volatility * math.sqrt(years[i])
    d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / deviation
    d2 = d1 - deviation
    discounted = strike[i] * math.exp(-rate * years[i])
    n1 = cumulative_normal(d1)
    n2 = cumulative_normal(d2)

    call[i] = spot[i] * n1 - discounted * n2
    put[i] = discounted * (1.0 - n2) - spot[i] * (1.0 - n1)


# -- Escape times ------------------------------------------------------------------------------------------------------


@hw.kernel
def mandelbrot(
    escaped: ints,
    left: hw.float32,
    top: hw.float32,
    step: hw.float32,
    width: hw.int32,
    height: hw.int32,
    limit: hw.int32,
):
    column = hw.global_id(0)
    row = hw.global_id(1)
    if column >= width or row >= height:
        return
    cx = left + column * step
    cy = top - row * step
    x = 0.0
    y = 0.0
    count = 0

    while count < limit and x * x + y * y < 4.0:
        next = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = next
        count += 1
    escaped[row * width + column] = count


# -- Matrix products ---------------------------------------------------------------------------------------------------


@hw.kernel
def matmult_loops(a: floats, b: floats, c: floats, n: hw.int32, k: hw.int32, m: hw.int32):
    for i in range(n):
        for j in range(m):
            total = 0.0
            for l in range(k):
                total += a[i * k + l] * b[l * m + j]
            c[i * m + j] = total


@hw.kernel
def matmult(a: floats, b: floats, c: floats, n: hw.int32, k: hw.int32, m: hw.int32):
    j = hw.global_id(0)
    i = hw.global_id(1)
    if i >= n or j >= m:
        return
    total = 0.0
    for l in range(k):
        total += a[i * k + l] * b[l * m + j]
    c[i * m + j] = total


@hw.kernel(group=(TILE, TILE))
def matmult_tiled(a: floats, b: floats, c: floats, n: hw.int32, k: hw.int32, m: hw.int32):
    tile_a = hw.local_array((TILE, TILE), hw.float32)
    tile_b = hw.local_array((TILE, TILE), hw.float32)
    x = hw.local_id(0)
    y = hw.local_id(1)
    j = hw.global_id(0)
    i = hw.global_id(1)
    total = 0.0
    for start in range(0, k, TILE):
        tile_a[y, x] = a[i * k + start + x]
        tile_b[y, x] = b[(start + y) * m + j]
        hw.barrier()
        for l in range(TILE):
            total += tile_a[y, l] * tile_b[l, x]
        hw.barrier()
    c[i * m + j] = total


# -- Median of 3x3 pixels by luminance ---------------------------------------------------------------------------------


def luminance(rgba):
    return 0.3 * (rgba & 0xFF) + 0.59 * ((rgba >> 8) & 0xFF) + 0.11 * ((rgba >> 16) & 0xFF)


def sort2(a, b):
    swap = luminance(a) > luminance(b)
    lower = b if swap else a
    return lower, a if swap else b


def sort3(a, b, c):
    a, b = sort2(a, b)
    b, c = sort2(b, c)
    a, b = sort2(a, b)
    return a, b, c


def find_median(p00, p01, p02, p10, p11, p12, p20, p21, p22):
    p00, p01, p02 = sort3(p00, p01, p02)  # rows
    p10, p11, p12 = sort3(p10, p11, p12)
    p20, p21, p22 = sort3(p20, p21, p22)
    p00, p10, p20 = sort3(p00, p10, p20)  # columns
    p01, p11, p21 = sort3(p01, p11, p21)
    p02, p12, p22 = sort3(p02, p12, p22)
    p20, p11, p02 = sort3(p20, p11, p02)  # diagonal
    return p11


@hw.kernel
def medianfilter_rgba(id: pixels, od: pixels, width: hw.int32, height: hw.int32):
    x = hw.global_id(0)
    y = hw.global_id(1)
    if x >= width or y >= height:
        return
    i = y * width + x

    if x == 0 or y == 0 or x == width - 1 or y == height - 1:
        od[i] = id[i]
        return
    od[i] = find_median(
        id[i - width - 1],
        id[i - width],
        id[i - width + 1],
        id[i - 1],
        id[i],
        id[i + 1],
        id[i + width - 1],
        id[i + width],
        id[i + width + 1],
    )


# -- n-body ------------------------------------------------------------------------------------------------------------


@hw.kernel
def step_bodies(
    position: float4s,
    velocity: float4s,
    next_position: float4s,
    next_velocity: float4s,
    count: hw.int32,
    dt: hw.float32,
    softening: hw.float32,
    tile: hw.local(hw.float4),
):
    i = hw.global_id(0)
    l = hw.local_id(0)
    size = hw.local_size(0)
    me = position[i]
    acceleration = hw.float3(0.0)

    for start in range(0, count, size):
        tile[l] = position[start + l]
        hw.barrier()
        for j in range(size):
            away = tile[j].xyz - me.xyz
            inverse = hw.cl.rsqrt(hw.cl.dot(away, away) + softening)
            acceleration += away * (tile[j].w * inverse * inverse * inverse)
        hw.barrier()
    speed = velocity[i].xyz + acceleration * dt
    next_velocity[i] = hw.float4(speed, 0.0)
    next_position[i] = hw.float4(me.xyz + speed * dt, me.w)


# -- Prefix sums -------------------------------------------------------------------------------------------------------


@hw.kernel
def scan_blocks(source: ints, result: ints, totals: ints, count: hw.int32, shared: hw.local(hw.int32)):
    i = hw.global_id(0)
    l = hw.local_id(0)
    size = hw.local_size(0)

    shared[l] = source[i] if i < count else 0
    distance = 1
    while distance < size:
        hw.barrier()
        earlier = shared[l - distance] if l >= distance else 0
        hw.barrier()
        shared[l] += earlier
        distance *= 2
    if i < count:
        result[i] = shared[l]
    if l == size - 1:
        totals[hw.group_id(0)] = shared[l]


@hw.kernel
def add_starts(result: ints, starts: ints, count: hw.int32):
    i = hw.global_id(0)
    block = hw.group_id(0)
    if block > 0 and i < count:
        result[i] += starts[block - 1]


# -- Sums --------------------------------------------------------------------------------------------------------------


@hw.kernel
def sum(values: floats, partial: floats, count: hw.int32, shared: hw.local(hw.float32)):
    l = hw.local_id(0)
    own = 0.0
    for i in range(hw.global_id(0), count, hw.global_size(0)):
        own += values[i]
    shared[l] = own
    hw.barrier()

    half_size = hw.local_size(0) // 2
    while half_size > 0:
        if l < half_size:
            shared[l] += shared[l + half_size]
        hw.barrier()
        half_size //= 2
    if l == 0:
        partial[hw.group_id(0)] = shared[0]

"""Addresses of every pattern, in every layout, against NumPy."""

import numpy as np
import pytest
from kernel_runs import LAYOUTS, NON_UNIFORM, verify

FILE = "memory.cl"
N = 101

PARTICLE = np.dtype(
    {
        "names": ["p", "m", "id", "flags"],
        "formats": ["3f4", "f4", "i4", "4u1"],
        "offsets": [0, 16, 20, 24],
        "itemsize": 32,
    }
)
PAIR = np.dtype([("a", PARTICLE), ("b", PARTICLE)])
BIG = np.dtype({"names": ["v", "tag"], "formats": ["5i4", "i1"], "offsets": [0, 20], "itemsize": 24})
SETTINGS = np.dtype([("count", np.int32), ("weights", np.float32, 3), ("cell", np.int16, 2)])


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def integers(rng, *shape, dtype=np.int32, high=100):
    return rng.integers(0, high, shape).astype(dtype)


def zeros(*shape, dtype=np.int32):
    return np.zeros(shape, dtype)


def random_bytes(rng, count, dtype):
    """Records with random small values in every field."""
    array = np.zeros(count, dtype)
    for name in dtype.names:
        array[name] = rng.integers(0, 50, array[name].shape)
    return array


def test_strided_loads(rng):
    n = 8 * N
    a = integers(rng, n)
    found = verify(FILE, "strides", (N,), None, [a, zeros(N), n], layouts=LAYOUTS)[1]
    i = np.arange(N)
    expected = a[i] + 3 * a[2 * i] + 5 * a[3 * i + 1] + 7 * a[4 * i + 3] + 11 * a[7 * i] + 13 * a[n - 1 - i]
    assert (found == expected + 17 * a[n - 1 - 2 * i]).all()


def test_strided_stores(rng):
    a = integers(rng, N)
    args = [a, zeros(2 * N), zeros(3 * N), zeros(4 * N), zeros(2 * N)]
    _, two, three, four, back = verify(FILE, "scatter_strides", (N,), None, args, layouts=LAYOUTS)
    nothing = np.zeros(N, np.int32)
    assert (two.reshape(N, 2) == np.stack([nothing, a], 1)).all()
    assert (three.reshape(N, 3) == np.stack([a + 1, nothing, a + 2], 1)).all()
    assert (four.reshape(N, 4) == np.stack([nothing, nothing, a + 3, nothing], 1)).all()
    assert (back == np.concatenate([(a + 4)[::-1], (a * 2)[::-1]])).all()


@pytest.mark.parametrize("scale", [0, 1, 2, 5])
def test_64_bit_indices(rng, scale):
    a = integers(rng, 600, dtype=np.int16)
    found = verify(FILE, "long_indices", (N,), None, [a, zeros(N, dtype=np.int16), 17, scale])[1]
    i = np.arange(N)
    assert (found == a[i + 17] + a[i * scale] + a[2 * i + 1]).all()


def test_stores_to_one_address(rng):
    a = integers(rng, N)
    last, flag, _ = verify(FILE, "same_address", (N,), None, [zeros(1), zeros(3), a, N], layouts=LAYOUTS)
    assert last[0] == a[N // 2]
    assert flag.tolist() == [int((a > 90).any()), 0, N]


def test_vectors_of_three(rng):
    a, packed = integers(rng, N, 4, dtype=np.float32), integers(rng, N, 3, dtype=np.float32)
    args = [a, zeros(N, 4, dtype=np.float32), packed, zeros(N, 3, dtype=np.float32)]
    _, b, _, out = verify(
        FILE, "vectors3", (N,), None, args, layouts=LAYOUTS, results=lambda r: [r[0], r[1][:, :3], *r[2:]]
    )
    assert (b == a[:, [2, 0, 1]] * 2 + packed).all()
    assert (out == np.cross(a[:, :3], packed)).all()


def test_vectors_of_four_and_eight(rng):
    a, d = integers(rng, N, 4, dtype=np.uint8, high=256), integers(rng, N, 8, dtype=np.int8)
    args = [a, zeros(N, 4, dtype=np.float32), zeros(N, 2, dtype=np.uint16), d, zeros(N, 8, dtype=np.int8)]
    _, b, c, _, e = verify(FILE, "vectors4", (N,), None, args, layouts=LAYOUTS)
    wide = a.astype(np.uint16)
    assert (b == a[:, ::-1] / np.float32(4)).all()
    assert (c == np.stack([wide[:, 0] + wide[:, 1], wide[:, 2] * wide[:, 3]], 1)).all()
    expected = d.copy()
    expected[:, 0::2] = d[:, 1::2]
    expected[:, 4:] += np.array([1, 2, 3, 4], np.int8)
    assert (e == expected).all()


@pytest.mark.parametrize("shift", [0, 4, 12, 20])
def test_vectors_of_sixteen_wherever_the_array_lies(rng, shift):
    """Arrays are aligned like their elements, not like the vectors that the kernel sees in them."""
    a = rng.integers(0, 50, N * 16 * 4 + 64).astype(np.uint8)
    b = np.zeros_like(a)
    x = a[shift:][: N * 64].view(np.float32)
    x[:] = rng.integers(0, 50, N * 16)
    found = np.zeros(N * 64 + 64, np.uint8)[shift:][: N * 64].view(np.float32)
    from kernel_runs import source

    from benchmarks.forced_layouts import build

    for layout in (None, LAYOUTS[0], LAYOUTS[2], LAYOUTS[5]):
        program = build(source(FILE), layout, "", FILE)
        program.device.launch(program.kernels["vectors16"], N, None, [x, found]).wait()
        expected = x.reshape(N, 16) ** 2 + 2
        expected[:, :8] = expected[:, 8:] + expected[:, ::2]
        assert (found.reshape(N, 16) == expected).all()
    del b


@pytest.mark.parametrize("fixed", range(4))
def test_dynamic_components(rng, fixed):
    a, which = integers(rng, N, 4), integers(rng, N)
    found = verify(FILE, "dynamic_component", (N,), None, [a, which, zeros(N, 4), fixed])[2]
    expected, i = a.copy(), np.arange(N)
    expected[i, which & 3] = expected[i, (which + 1) & 3] * 10
    expected[:, fixed] += 1
    assert (found == expected).all()


def test_vload_and_vstore(rng):
    a = integers(rng, N * 8, dtype=np.int16)
    found = verify(FILE, "loads_and_stores", (N,), None, [a, zeros(N, 2, dtype=np.int16)], layouts=LAYOUTS)[1]
    i = np.arange(N)
    assert (found == np.stack([a[2 * i + 1] + a[8 * i + 7], a[2 * i] - a[1 + 4 * i + 2]], 1)).all()


def test_halves(rng):
    a = rng.random(N).astype(np.float16)
    _, b, c = verify(FILE, "halves", (N,), None, [a, np.zeros_like(a), zeros(N, dtype=np.float32)], layouts=LAYOUTS)
    assert (b == a * np.float16(2)).all()
    assert (c == a).all()


def test_doubles(rng):
    a = rng.normal(size=N)
    _, o, f = verify(FILE, "doubles", (N,), None, [a, np.zeros(N), zeros(N, dtype=np.float32)])
    np.testing.assert_allclose(o, np.where(a > 0, np.sqrt(abs(a)), a * a - 0.1), rtol=1e-15, atol=1e-16)
    assert (f == a.astype(np.float32)).all()


def test_chars_and_shorts(rng):
    a, b, c = (rng.integers(-100, 100, N).astype(t) for t in (np.int8, np.int16, np.uint8))
    _, found_b, found_c = verify(FILE, "chars_and_shorts", (N,), None, [a, b, c], layouts=LAYOUTS)
    v = a.astype(np.int16) * 3
    assert (found_b == v + b).all()
    assert (found_c == (c + (v >> 2)).astype(np.uint8)).all()


def test_structs(rng):
    p, q = random_bytes(rng, N, PARTICLE), np.zeros(N, PAIR)
    found_p, found_q = verify(
        FILE, "structs", (N,), None, [p, q, np.float32(0.5)], layouts=LAYOUTS, results=fields_of_structs
    )[:2]
    expected = p.copy()
    expected["p"] += np.float32(0.5) * np.stack([p["m"], p["m"] * 2, np.zeros(N, np.float32)], 1)
    expected["id"] ^= p["flags"][np.arange(N), np.arange(N) & 3]
    assert (found_p == expected["p"]).all()
    assert (found_q == expected["id"]).all()


def fields_of_structs(arrays):
    """What is defined of the results of `structs`: not the padding."""
    p, q = (np.frombuffer(a.tobytes(), t) for a, t in zip(arrays, (PARTICLE, PAIR), strict=True))
    assert (q["a"]["p"] == p["p"]).all()
    assert (q["a"]["m"] == p["m"]).all()
    assert (q["a"]["flags"] == p["flags"]).all()
    assert (q["b"]["m"] == p["m"]).all()
    return [p["p"], q["a"]["id"].copy(), p["m"], p["id"], p["flags"]]


def test_struct_by_value():
    settings = np.array([(3, [1, 2, 4], [7, -2])], SETTINGS)[0]
    (found,) = verify(FILE, "struct_by_value", (N,), None, [settings, zeros(N, dtype=np.float32)])
    assert (found == np.array([1, 2, 4])[np.arange(N) % 3] * 3 + 9).all()


def test_values_of_every_type():
    f, g, h = (np.arange(n).astype(t) + 1 for n, t in ((4, np.uint8), (3, np.float32), (16, np.int32)))
    args = [-5, 60000, -(2**40), 0.25, 1e300, tuple(f.tolist()), tuple(g.tolist()), tuple(h.tolist()), np.zeros(20)]
    (found,) = verify(FILE, "values", (20,), None, args, layouts=LAYOUTS)
    expected = [-5, 60000, -(2.0**40), 0.25, 1e300, *f, *g, *(h[i & 15] for i in range(12, 20))]
    assert found.tolist() == expected


def test_stack(rng):
    n = 24
    code = rng.integers(-4, 9, (N, n)).astype(np.int32)
    found = verify(FILE, "stack", (N,), None, [code, zeros(N), n], layouts=LAYOUTS)[1]

    def work_item(row):
        stack = []
        for v in row.tolist():
            if v >= 0:
                if len(stack) < 32:
                    stack.append(v)
            elif len(stack) > 1:
                b, a = stack.pop(), stack.pop()
                stack.append(a + b if v == -1 else a - b if v == -2 else a * b)
        return (stack[-1] + 2**31) % 2**32 - 2**31 if stack else 0

    assert (found == [work_item(row) for row in code]).all()


def test_private_arrays(rng):
    data = integers(rng, N, high=40)
    found = verify(FILE, "private_arrays", (N,), None, [data, zeros(N)], layouts=LAYOUTS)[1]

    def work_item(v):
        small = [np.int8(v * k).item() if v * k < 128 else (v * k + 128) % 256 - 128 for k in range(10)]
        wide = [(v, k, v - k) for k in range(3)]
        a = [v + k for k in range(4)]
        b = [[k, v] if k & 1 == 0 else [v, k] for k in range(4)]
        whole = bytearray(np.array([v * 0x01020304 * (k + 1) % 2**32 for k in range(4)], np.uint32).tobytes())
        at = v & 3
        b[at][v & 1] += small[v % 10]
        x, y, z = wide[v % 3]
        whole[v & 15] = 200
        mixed = np.frombuffer(bytes(whole), np.int32)
        total = a[at] + b[(at + 1) & 3][0] * 3 + b[at][1] * 7 + x + y * 2 + z * 3 + int(mixed[at]) + whole[v * 5 & 15]
        return (total + 2**31) % 2**32 - 2**31

    assert (found == [work_item(int(v)) for v in data]).all()


def test_copied_structs(rng):
    data = random_bytes(rng, N, BIG)
    found = verify(FILE, "copied_structs", (N,), None, [data, np.zeros(N, BIG)], layouts=LAYOUTS, results=fields_of_big)
    expected = data["v"].copy()
    odd = np.flatnonzero(data["tag"] & 1)
    expected[odd, data["v"][odd, 0] & 3] = -1
    assert (found[0] == expected).all()
    assert (found[1] == data["tag"] + 1).all()


def fields_of_big(arrays):
    out = np.frombuffer(arrays[1].tobytes(), BIG)
    return [out["v"].copy(), out["tag"].copy()]


def test_constants(rng):
    w, h = 21, 13
    image, table = integers(rng, h + 2, w + 2, dtype=np.float32), integers(rng, 5, dtype=np.uint32)
    _, out, _ = verify(
        FILE, "constants", (w, h), None, [image, zeros(h, w, dtype=np.float32), table, w], layouts=LAYOUTS
    )
    weights = np.outer([1, 2, 1], [1, 2, 1])
    expected = sum(weights[j, i] * image[j : j + h, i : i + w] for j in range(3) for i in range(3))
    order = np.array([0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15])
    y, x = np.mgrid[:h, :w]
    assert (out == expected + order[(x + y) & 15] + table[x % 5]).all()


def test_stencil(rng):
    a = integers(rng, 9, 11, 13, dtype=np.float32)
    found = verify(
        FILE,
        "stencil",
        (11, 9, 7),
        None,
        [a, np.zeros_like(a), 13, 11, np.float32(2), np.float32(0.5)],
        layouts=LAYOUTS,
    )[1]
    inner = (slice(1, -1),) * 3
    around = sum(np.roll(a, s, d)[inner] for d in range(3) for s in (1, -1))
    assert (found[inner] == np.float32(0.5) * around - np.float32(2) * a[inner]).all()


@pytest.mark.parametrize(
    ("size", "group", "offset"),
    [
        ((10,), (5,), ()),
        ((14, 6), (7, 2), (3, 100)),
        ((4, 6, 8), (2, 3, 4), (1, 0, 5)),
        ((13, 7), (4, 4), ()),
        ((5, 9, 3), (5, 4, 2), ()),
    ],
)
def test_geometry(size, group, offset):
    (found,) = verify(
        FILE,
        "geometry",
        size,
        group,
        [zeros(np.prod(size), dtype=np.uint64)],
        offset=offset,
        options=NON_UNIFORM,
        layouts=LAYOUTS,
    )
    for number, at in enumerate(np.ndindex(*size[::-1])):
        place = at[::-1]
        h = len(size)
        for d in range(3):
            whole, each, first = (
                x[d] if d < len(x) else default for x, default in ((size, 1), (group, 1), (offset, 0))
            )
            mine = place[d] if d < len(size) else 0
            own = min(each, whole - mine // each * each)
            for value in (mine + first, mine % each, mine // each, own, whole, -(-whole // each), first):
                h = (h * 31 + value) % 2**64
        assert found[number] == h


def test_pointers_chosen_by_data(rng):
    a, b = integers(rng, N), integers(rng, N)
    found = verify(FILE, "chosen_pointers", (N,), None, [a, b, zeros(N)], layouts=LAYOUTS)[2]
    for i in range(N):
        left, right = [1, 2, 3, 4], [10, 20, 30, 40]
        q = left if a[i] & 2 else right
        q[i & 3] += i
        assert found[i] == (a if a[i] & 1 else b)[i] + q[(i + 1) & 3] + left[0] + right[3]

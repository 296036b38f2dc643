"""Image functions of the device library against OpenCL 1.2 specification 8.2 written out in NumPy."""

import itertools
import math

import numpy as np
import pytest
from library_host import compile_function

ORDERS = {
    "R": 0x10B0,
    "A": 0x10B1,
    "RG": 0x10B2,
    "RGBA": 0x10B5,
    "BGRA": 0x10B6,
    "INTENSITY": 0x10B8,
    "LUMINANCE": 0x10B9,
}
CHANNELS = {"R": 1, "A": 1, "RG": 2, "RGBA": 4, "BGRA": 4, "INTENSITY": 1, "LUMINANCE": 1}
TYPES = {
    "SNORM_INT8": (0x10D0, np.int8),
    "SNORM_INT16": (0x10D1, np.int16),
    "UNORM_INT8": (0x10D2, np.uint8),
    "UNORM_INT16": (0x10D3, np.uint16),
    "SIGNED_INT8": (0x10D7, np.int8),
    "SIGNED_INT16": (0x10D8, np.int16),
    "SIGNED_INT32": (0x10D9, np.int32),
    "UNSIGNED_INT8": (0x10DA, np.uint8),
    "UNSIGNED_INT16": (0x10DB, np.uint16),
    "UNSIGNED_INT32": (0x10DC, np.uint32),
    "HALF_FLOAT": (0x10DD, np.float16),
    "FLOAT": (0x10DE, np.float32),
}
NONE, EDGE, CLAMP, REPEAT, MIRROR = 0, 2, 4, 6, 8
NORMALIZED, LINEAR = 1, 0x20


class Image:
    """An image in memory as the library reads it: rows padded, so that pitches matter."""

    def __init__(self, shape, order="RGBA", kind="FLOAT", layers=0, seed=0):
        self.order, self.kind, self.layers = order, kind, layers
        code, dtype = TYPES[kind]
        self.shape = shape  # slowest first, layers excluded
        whole = (layers, *shape) if layers else shape
        rng = np.random.default_rng(seed)
        padded = (*whole[:-1], whole[-1] + 3, CHANNELS[order])
        if np.issubdtype(dtype, np.floating):
            self.memory = rng.normal(size=padded).astype(dtype)
        else:
            info = np.iinfo(dtype)
            self.memory = rng.integers(info.min, info.max, padded, dtype=dtype, endpoint=True)
        self.pixels = self.memory[..., : whole[-1], :]
        depth, height, width = (*[1] * (3 - len(shape)), *shape)
        row = self.memory.strides[-2] * padded[-2]
        fields = [self.memory.ctypes.data, width, height, depth, layers, row, row * height]
        fields += [ORDERS[order], code, self.memory.strides[-2]]
        self.fields = np.array(fields, dtype=np.uint64)
        self.size = (width, height, depth)[: len(shape)]

    @property
    def address(self):
        return np.array([self.fields.ctypes.data])

    def texel(self, *index):
        """The pixel at (x, y, z) of layer index[-1] if layered, as four values; the border's colour outside."""
        position = index[: len(self.size)]
        one = 1.0
        if any(not 0 <= i < n for i, n in zip(position, self.size, strict=True)):
            return np.array([0, 0, 0, one if self.order in ("R", "RG", "LUMINANCE") else 0])
        layer = (index[-1],) if self.layers else ()
        raw = self.pixels[(*layer, *reversed(position))].astype(np.float64)
        if "NORM" in self.kind:
            top = np.iinfo(self.memory.dtype).max
            raw = np.maximum(raw / top, -1.0)
        c = list(raw)
        return np.array(
            {
                "R": lambda: [c[0], 0, 0, one],
                "A": lambda: [0, 0, 0, c[0]],
                "RG": lambda: [c[0], c[1], 0, one],
                "RGBA": lambda: c,
                "BGRA": lambda: [c[2], c[1], c[0], c[3]],
                "INTENSITY": lambda: [c[0]] * 4,
                "LUMINANCE": lambda: [c[0], c[0], c[0], one],
            }[self.order]()
        )


def corners(coordinate, size, sampler):
    """Texel indices and weights along one axis (8.2)."""
    mode, smooth = sampler & 14, bool(sampler & LINEAR)
    u = coordinate * size if sampler & NORMALIZED else coordinate
    if mode == REPEAT:
        u = (coordinate - math.floor(coordinate)) * size
    elif mode == MIRROR:
        u = abs(coordinate - 2 * round(coordinate / 2)) * size
    if not smooth:
        pairs = [(math.floor(u), 1.0)]
    else:
        low = math.floor(u - 0.5)
        pairs = [(low, 1 - (u - 0.5 - low)), (low + 1, u - 0.5 - low)]
    fix = {
        NONE: lambda i: min(max(i, 0), size - 1),
        EDGE: lambda i: min(max(i, 0), size - 1),
        CLAMP: lambda i: min(max(i, -1), size),
        REPEAT: lambda i: i % size,
        MIRROR: lambda i: min(max(i, 0), size - 1),
    }[mode]
    return [(fix(i), weight) for i, weight in pairs]


def sample(image, sampler, position, layer=0):
    total = np.zeros(4)
    axes = [corners(c, n, sampler) for c, n in zip(position, image.size, strict=True)]
    for choice in itertools.product(*axes):
        weight = math.prod(w for _, w in choice)
        total += weight * image.texel(*(i for i, _ in choice), layer)
    return total


def spread(sampler, size, count=200, seed=1):
    """Coordinates in and around the image, away from texel edges, where rounding may choose either."""
    rng = np.random.default_rng(seed)
    columns = []
    for n in size:
        texels = rng.integers(-n - 1, 2 * n + 1, count) + rng.choice([0.25, 0.4, 0.6, 0.75], count)
        columns.append(texels / n if sampler & NORMALIZED else texels)
    return np.stack(columns, axis=1).astype(np.float32)


@pytest.mark.parametrize("linear", [0, LINEAR], ids=["nearest", "linear"])
@pytest.mark.parametrize(
    "mode",
    [EDGE, CLAMP, EDGE | 1, CLAMP | 1, REPEAT | 1, MIRROR | 1],
    ids=["edge", "clamp", "nedge", "nclamp", "repeat", "mirror"],
)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_sampling(dimensions, mode, linear):
    image = Image((4, 7, 9)[-dimensions:])
    sampler = mode | linear
    positions = spread(sampler, image.size)
    word = {1: "f", 2: "2f", 3: "4f"}[dimensions]
    given = positions[:, 0] if dimensions == 1 else positions
    if dimensions == 3:
        given = np.pad(positions, ((0, 0), (0, 1)))
    read = compile_function("read_imagef", f"@image{dimensions}d_ro @sampler {word}", "4f")
    (got,) = read(np.repeat(image.address, len(given)), np.full(len(given), sampler), given)
    wanted = np.array([sample(image, sampler, p) for p in positions.tolist()])
    np.testing.assert_allclose(got, wanted, atol=2e-4 if linear else 0)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_formats(order, kind):
    image = Image((5, 6), order, kind)
    suffix = "i" if kind.startswith("SIGNED") else "ui" if kind.startswith("UNSIGNED") else "f"
    element = {"i": "i", "ui": "j", "f": "f"}[suffix]
    grid = np.array([(x, y) for y in range(5) for x in range(6)])
    addresses = np.repeat(image.address, len(grid))
    (got,) = compile_function(f"read_image{suffix}", "@image2d_ro 2i", f"4{element}")(addresses, grid)
    wanted = np.array([image.texel(x, y) for x, y in grid.tolist()])
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=2e-7)
    # What was read, written to another image, reads the same.
    other = Image((5, 6), order, kind, seed=9)
    write = compile_function(f"write_image{suffix}", f"@image2d_wo 2i 4{element}", "v")
    write(np.repeat(other.address, len(grid)), grid, got)
    floor = -np.iinfo(image.memory.dtype).max if kind.startswith("SNORM") else None
    expected = image.pixels if floor is None else np.maximum(image.pixels, floor)
    np.testing.assert_array_equal(other.pixels, expected)


def test_writing_rounds_and_saturates():
    image = Image((1, 6), "R", "UNORM_INT8")
    values = np.zeros((6, 4), np.float32)
    values[:, 0] = [-1.0, 2.0, 0.5, 1.5 / 255, 2.5 / 255, np.nan]
    grid = np.array([(x, 0) for x in range(6)])
    compile_function("write_imagef", "@image2d_wo 2i 4f", "v")(np.repeat(image.address, 6), grid, values)
    assert image.pixels[0, :, 0].tolist() == [0, 255, 128, 2, 2, 0]
    signed = Image((1, 2), "R", "SIGNED_INT8")
    numbers = np.array([[1000, 0, 0, 0], [-1000, 0, 0, 0]])
    compile_function("write_imagei", "@image2d_wo 2i 4i", "v")(np.repeat(signed.address, 2), grid[:2], numbers)
    assert signed.pixels[0, :, 0].tolist() == [127, -128]


def test_writing_outside_changes_nothing():
    image = Image((4, 4))
    before = image.memory.copy()
    grid = np.array([(-1, 0), (4, 0), (0, -1), (0, 4)])
    compile_function("write_imagef", "@image2d_wo 2i 4f", "v")(np.repeat(image.address, 4), grid, np.ones((4, 4)))
    np.testing.assert_array_equal(image.memory, before)


def test_layers_are_rounded_and_limited():
    image = Image((4, 5), layers=3)
    where = np.array([[1.5, 2.5, layer, 0] for layer in (-1.0, 0.4, 0.6, 1.0, 2.0, 9.0)], np.float32)
    read = compile_function("read_imagef", "@image2d_array_ro @sampler 4f", "4f")
    (got,) = read(np.repeat(image.address, 6), np.full(6, EDGE), where)
    np.testing.assert_array_equal(got, [image.texel(1, 2, layer) for layer in (0, 0, 1, 1, 2, 2)])
    rows = Image((5,), layers=3)
    where = np.array([[1.5, 0], [4.5, 2]], np.float32)
    read = compile_function("read_imagef", "@image1d_array_ro @sampler 2f", "4f")
    np.testing.assert_array_equal(
        read(np.repeat(rows.address, 2), np.full(2, EDGE), where)[0], [rows.texel(1, 0), rows.texel(4, 2)]
    )


def test_queries():
    image = Image((4, 7, 9), "BGRA", "UNORM_INT8")
    for name, wanted in [
        ("get_image_width", 9),
        ("get_image_height", 7),
        ("get_image_depth", 4),
        ("get_image_channel_order", 0x10B6),
        ("get_image_channel_data_type", 0x10D2),
    ]:
        assert compile_function(name, "@image3d_ro", "i")(image.address)[0][0] == wanted, name
    assert compile_function("get_image_dim", "@image3d_ro", "4i")(image.address)[0][0].tolist() == [9, 7, 4, 0]
    layered = Image((4, 4), layers=3)  # kept while its address is used
    assert compile_function("get_image_array_size", "@image2d_array_ro", "m")(layered.address)[0][0] == 3

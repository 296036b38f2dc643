"""Streams to and from wgpu's textures and buffers: with wgpu where it is installed and has an adapter, and by a
stand-in with the same interface everywhere."""

from types import SimpleNamespace

import numpy as np
import pytest

import headwater as hw
from headwater.errors import UsageError
from headwater.pictures.pixels import pixels

RNG = np.random.default_rng(3)
COPIES = {"texture": 1 | 2, "buffer": 4 | 8}


class StandIn:
    """What is used of a wgpu device and its queue, on the host."""

    @property
    def queue(self):
        return self

    def create_texture(self, *, size, format, usage, **_):
        return SimpleNamespace(
            size=size, format=format, usage=usage, sample_count=1, depth_or_array_layers=size[2], held=b""
        )

    def create_buffer(self, *, size, usage):
        return SimpleNamespace(size=size, usage=usage, map_state="unmapped", held=bytearray(size))

    def write_texture(self, destination, data, layout, size):
        assert layout["bytes_per_row"] * size[1] * size[2] == data.nbytes
        destination["texture"].held = data.tobytes()

    def read_texture(self, source, layout, size):
        assert layout["bytes_per_row"] * size[1] * size[2] == len(source["texture"].held)
        return memoryview(source["texture"].held)

    def write_buffer(self, buffer, offset, data):
        buffer.held[offset : offset + data.nbytes] = data.tobytes()

    def read_buffer(self, buffer, offset, size):
        return memoryview(bytes(buffer.held[offset : offset + size]))


@pytest.fixture(scope="module", params=["wgpu", "stand-in"])
def gpu(request):
    if request.param == "stand-in":
        return StandIn()
    wgpu = pytest.importorskip("wgpu")
    try:
        return wgpu.gpu.request_adapter_sync(power_preference="low-power").request_device_sync()
    except RuntimeError as error:
        pytest.skip(str(error))


def texture_of(gpu, format, size, usage=COPIES["texture"]):
    return gpu.create_texture(size=size, format=format, usage=usage, dimension="3d" if size[2] > 1 else "2d")


@pytest.mark.parametrize(
    ("format", "dtype", "shape"),
    [
        ("rgba8unorm", np.uint8, (3, 5, 4)),
        ("bgra8unorm-srgb", np.uint8, (3, 5, 4)),
        ("r8unorm", np.uint8, (3, 5)),
        ("rg16float", np.float16, (3, 5, 2)),
        ("r32float", np.float32, (3, 5)),
        ("rgba32float", np.float32, (3, 70, 4)),
        ("rgba16uint", np.uint16, (2, 3, 5, 4)),
        ("r32sint", np.int32, (2, 3, 5)),
    ],
)
def test_textures_hold_streams(gpu, format, dtype, shape):
    grid = shape[: len(shape) - (shape[-1] in (2, 4))]
    texture = texture_of(gpu, format, (grid[-1], grid[-2], grid[0] if len(grid) == 3 else 1))
    given = RNG.integers(0, 100, shape).astype(dtype)
    hw.to_wgpu(hw.stream(given), texture, gpu.queue)
    found = hw.from_wgpu(texture, gpu.queue, device="vega64")
    assert isinstance(found, hw.Stream)
    assert found.device is hw.device("vega64")
    assert found.dtype == dtype
    assert np.array_equal(np.asarray(found), given)


@pytest.mark.parametrize("format", ["rgba8unorm", "bgra8unorm"])
def test_textures_of_colours_take_what_can_be_shown(gpu, format):
    texture = texture_of(gpu, format, (5, 3, 1))
    numbers = RNG.random((3, 5), np.float32)
    hw.to_wgpu(numbers, texture, gpu.queue, limits=(0, 1), colours="heat")
    assert np.array_equal(hw.from_wgpu(texture, gpu.queue), pixels(numbers, (0, 1), "heat"))


def test_blue_comes_first_where_the_format_says_so():
    gpu = StandIn()
    texture = texture_of(gpu, "bgra8unorm", (1, 1, 1))
    hw.to_wgpu(np.array([[[1, 2, 3, 4]]], np.uint8), texture, gpu.queue)
    assert texture.held == bytes([3, 2, 1, 4])


def test_buffers_hold_streams(gpu):
    buffer = gpu.create_buffer(size=48, usage=COPIES["buffer"])
    hw.to_wgpu(hw.stream(np.arange(12, dtype=np.float32)), buffer, gpu.queue)
    hw.to_wgpu(np.array([[7, 8]], np.int32), buffer, gpu.queue, offset=8)
    assert hw.from_wgpu(buffer, gpu.queue, dtype=np.int32, shape=(1, 2), offset=8).read().tolist() == [[7, 8]]
    assert hw.from_wgpu(buffer, gpu.queue, offset=16).read().tolist() == list(range(4, 12))
    assert hw.from_wgpu(buffer, gpu.queue, shape=2).read().tolist() == [0, 1]


def test_refusals():
    gpu = StandIn()
    small = gpu.create_buffer(size=8, usage=COPIES["buffer"])
    for value, offset in ((np.zeros(3, np.float32), 0), (np.zeros(1, np.float32), 2), (np.zeros(3, np.uint8), 0)):
        with pytest.raises(UsageError, match="cannot be copied"):
            hw.to_wgpu(value, small, gpu.queue, offset=offset)
    for shape in ((-1,), (-1, -1), (1.5,)):
        with pytest.raises(UsageError, match="cannot be copied"):
            hw.from_wgpu(small, gpu.queue, shape=shape)
    with pytest.raises(UsageError, match="buffers of object are not copied"):
        hw.to_wgpu(np.array([None]), small, gpu.queue)
    with pytest.raises(UsageError, match="are not copied"):
        hw.from_wgpu(small, gpu.queue, dtype="S")
    with pytest.raises(UsageError, match="does not fit a texture of float32"):
        hw.to_wgpu(np.zeros((2, 2)), texture_of(gpu, "r32float", (2, 2, 1)), gpu.queue)
    with pytest.raises(UsageError, match=r"shape \(2, 2, 4\) does not fit a texture of \(3, 2, 4\)"):
        hw.to_wgpu(np.zeros((2, 2)), texture_of(gpu, "rgba8unorm", (2, 3, 1)), gpu.queue)
    with pytest.raises(UsageError, match="format bc1-rgba-unorm are not copied"):
        hw.from_wgpu(texture_of(gpu, "bc1-rgba-unorm", (4, 4, 1)), gpu.queue)
    with pytest.raises(UsageError, match="cannot be copied from") as told:
        hw.from_wgpu(texture_of(gpu, "r32float", (4, 4, 1), usage=2), gpu.queue)
    assert "wgpu.TextureUsage.COPY_SRC" in told.value.hint
    with pytest.raises(UsageError, match="cannot be copied to"):
        hw.to_wgpu(np.zeros(2, np.float32), gpu.create_buffer(size=8, usage=4), gpu.queue)
    with pytest.raises(UsageError, match="type and a shape of its own"):
        hw.from_wgpu(texture_of(gpu, "r32float", (4, 4, 1)), gpu.queue, shape=3)
    with pytest.raises(UsageError, match="no texture or buffer of wgpu"):
        hw.to_wgpu(np.zeros(3), object(), gpu.queue)


def test_animations_draw_to_canvases_in_memory():
    """rendercanvas's own, where it is installed."""
    offscreen = pytest.importorskip("rendercanvas.offscreen")
    canvas = offscreen.OffscreenRenderCanvas(size=(7, 5), pixel_ratio=1)
    frames = RNG.integers(0, 256, (3, 5, 7), np.uint8)
    hw.animate(lambda number: hw.stream(frames[number]), frames=3, to=canvas)
    for frame in frames:
        assert np.array_equal(canvas.draw(), pixels(frame))

"""Streams and arrays as pictures: pixels equal to the numbers, in files, terminals, notebooks and on canvases."""

import io
import re

import numpy as np
import pytest
from PIL import Image

import headwater as hw
from headwater.errors import UsageError
from headwater.pictures.pixels import pixels


def random_bytes(*shape):
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def test_bytes_are_pixels_as_they_are():
    grey, rgb, rgba = random_bytes(5, 7), random_bytes(5, 7, 3), random_bytes(5, 7, 4)
    assert np.array_equal(pixels(grey)[:, :, :3], np.repeat(grey[:, :, None], 3, axis=2))
    assert (pixels(grey)[:, :, 3] == 255).all()
    assert np.array_equal(pixels(rgb)[:, :, :3], rgb)
    assert np.array_equal(pixels(rgba), rgba)
    packed = rgba.view(np.uint32)[:, :, 0]
    assert np.array_equal(pixels(packed), rgba)
    assert np.array_equal(pixels(grey[:, ::-1]), pixels(np.ascontiguousarray(grey[:, ::-1])))


def test_numbers_are_shown_between_limits():
    ramp = np.linspace(-1, 3, 256, dtype=np.float32).reshape(16, 16)
    assert np.array_equal(pixels(ramp)[:, :, 0].ravel(), np.arange(256))
    assert pixels(ramp, limits=(0, 1))[0, 0, 0] == 0
    assert pixels(ramp, limits=(0, 1))[-1, -1, 0] == 255
    assert np.array_equal(pixels(ramp.astype(np.float64), limits=(-1, 3)), pixels(ramp))
    whole = np.array([[0, 100], [200, 255]], np.int32)
    assert pixels(whole, limits=(0, 255))[:, :, 1].tolist() == whole.tolist()
    colours = np.array([[[0.0, 0.5, 2.0]]], np.float32)
    assert pixels(colours)[0, 0].tolist() == [0, 128, 255, 255]
    assert pixels(np.array([[True, False]]))[0, :, 0].tolist() == [255, 0]
    assert pixels(np.full((2, 2), 7.0))[0, 0, 0] == 0


@pytest.mark.parametrize(
    "base",
    [
        np.array(2**31 - 4, np.int32),
        np.array(2**62, np.int64),
        np.array(-(2**63), np.int64),
        np.array(2**64 - 4, np.uint64),
        np.array(1e8, np.float64),
    ],
)
@pytest.mark.filterwarnings("error")
def test_steps_far_from_zero_are_told_apart(base):
    shown = pixels((base + np.arange(4, dtype=base.dtype)).reshape(1, 4))
    assert shown[0, :, 0].tolist() == [0, 85, 170, 255]


@pytest.mark.parametrize(
    ("row", "limits", "grey"),
    [
        (np.array([-1.5e308, 0, 1.5e308]), None, [0, 128, 255]),
        (np.array([0, 5e-324, 1.5e-323]), None, [0, 85, 255]),
        (np.array([0, 1e-44, 3e-44], np.float32), None, [0, 85, 255]),
        (np.full(3, 1e30, np.float32), None, [0, 0, 0]),
        (np.array([-1, 0, 1], np.float32), (-1e300, 1e300), [128, 128, 128]),
        (np.array([0, 1, np.inf], np.float32), (0, 1e-300), [0, 255, 255]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_very_large_and_very_small_numbers_are_shown(row, limits, grey):
    assert pixels(row.reshape(1, 3), limits)[0, :, 0].tolist() == grey


def test_packed_pixels_of_the_other_byte_order_are_the_same():
    packed = np.array([[0xFF030201, 0x80FFEE00]], np.uint32)
    assert np.array_equal(pixels(packed.astype(">u4")), pixels(packed))
    assert pixels(packed)[0, 0].tolist() == [1, 2, 3, 255]


@pytest.mark.parametrize("limits", [(0,), (0, 1, 2), 5, "ab", (0, np.inf), (np.nan, 1), (1, 1)])
def test_limits_are_two_numbers(limits):
    with pytest.raises(UsageError, match="limits are the least and the greatest number"):
        pixels(np.ones((2, 2)), limits)


def test_what_a_format_does_not_hold_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"no picture is written to .*wide\.webp.*16383"):
        hw.show(np.zeros((1, 20000), np.uint8), tmp_path / "wide.webp")
    with pytest.raises(UsageError, match="not shown on 5"):
        hw.show(np.zeros((1, 1), np.uint8), 5)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["gif", "png", "webp"])
def test_pictures_of_one_file_have_one_size(tmp_path, ending):
    with pytest.raises(UsageError, match="2 × 3 pixels> and <Picture of 2 × 2"):
        hw.animate(lambda i: np.zeros((2 + i, 2), np.uint8), 2, tmp_path / f"grows.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fps", [0, -1, np.nan, np.inf, 1e-9, "3"])
def test_pictures_a_second_are_a_number(tmp_path, fps):
    with pytest.raises(UsageError, match="fps is a number of pictures a second"):
        hw.animate(lambda i: np.zeros((2, 2), np.uint8), 2, tmp_path / "a.gif", fps=fps)


@pytest.mark.parametrize("fps", [np.float32(20), np.int64(20)])
def test_numbers_of_animations_may_be_numpys(fps):
    assert len(hw.animate(lambda i: np.zeros((2, 2), np.uint8), np.int64(2), fps=fps).pictures) == 2


def test_heat_rises_through_red_and_yellow():
    shown = pixels(np.array([[0, 85, 170, 255]], np.uint8), colours="heat")[0]
    assert shown.tolist() == [[0, 0, 0, 255], [255, 0, 0, 255], [255, 255, 0, 255], [255, 255, 255, 255]]


def test_what_is_no_number_is_transparent():
    odd = np.array([[np.nan, 1.0], [np.inf, 3.0]], np.float32)
    shown = pixels(odd)
    assert shown[0, 0].tolist() == [0, 0, 0, 0]
    assert shown[:, 1, 0].tolist() == [0, 255]
    assert shown[1, 0].tolist() == [255, 255, 255, 255]


@pytest.mark.parametrize(
    "wrong", [np.zeros(3), np.zeros((2, 2, 5)), np.zeros((2, 2), complex), np.zeros((0, 4)), np.zeros((2, 3), "U3")]
)
def test_what_is_no_picture_is_refused(wrong):
    with pytest.raises(UsageError, match="is no picture"):
        pixels(wrong)


def test_refusals():
    with pytest.raises(UsageError, match="no colours"):
        pixels(np.zeros((2, 2)), colours="blue")
    with pytest.raises(UsageError, match="limits are"):
        pixels(np.zeros((2, 2)), limits=(1, 1))
    with pytest.raises(UsageError, match="no picture is written"):
        hw.show(np.zeros((2, 2)), "picture.txt")
    with pytest.raises(UsageError, match="cannot hold an animation"):
        hw.animate(lambda n: np.zeros((2, 2)), 2, "picture.jpg")
    with pytest.raises(UsageError, match="needs a number of frames"):
        hw.animate(lambda n: np.zeros((2, 2)))
    with pytest.raises(UsageError, match="needs a number of frames"):
        hw.animate(lambda n: np.zeros((2, 2)), to="x.gif")
    with pytest.raises(UsageError, match="number of pictures"):
        hw.animate(lambda n: np.zeros((2, 2)), 0)


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd4870"])
def test_streams_are_read_from_their_device(device, tmp_path):
    image = random_bytes(6, 9).astype(np.float32)
    stream = hw.stream(image, device=device)
    path = tmp_path / "picture.png"
    made = hw.show(stream, path, limits=(0, 255))
    with Image.open(path) as opened:
        assert np.array_equal(np.asarray(opened), made.pixels)
    assert np.array_equal(made.pixels[:, :, 0], image)


def test_a_colour_output_of_cal_is_shown():
    from headwater import cal

    cal.calInit("hd4870")
    try:
        device = cal.calDeviceOpen(0)
        resource = cal.calResAllocLocal2D(device, 8, 4, cal.CAL_FORMAT_FLOAT_4, 0)
        rows, _ = cal.calResMap(resource, 0)
        rows[:, :8] = [0.0, 1.0, 0.5, 1.0]
        assert hw.show(rows[:, :8]).pixels[3, 7].tolist() == [0, 255, 128, 255]
        cal.calResUnmap(resource)
    finally:
        cal.calShutdown()


def test_notebooks_get_a_png():
    image = random_bytes(4, 4, 4)
    picture = hw.show(image)
    with Image.open(io.BytesIO(picture._repr_png_())) as opened:
        assert np.array_equal(np.asarray(opened), image)
    assert "4 × 4" in repr(picture)


def test_terminals_get_two_pixels_a_character(capsys):
    image = random_bytes(4, 3, 3)
    hw.show(image, "terminal")
    lines = capsys.readouterr().out.splitlines()
    cells = [re.findall(r"38;2;(\d+);(\d+);(\d+)m\x1b\[48;2;(\d+);(\d+);(\d+)m▀", line) for line in lines]
    found = np.array([[[int(n) for n in cell] for cell in row] for row in cells])
    assert np.array_equal(found[:, :, :3], image[::2])
    assert np.array_equal(found[:, :, 3:], image[1::2])
    wide = hw.show(random_bytes(100, 1000)).text(50)
    assert wide.splitlines()[0].count("▀") == 50


def test_nothing_is_printed_where_there_is_no_terminal(capsys):
    hw.show(np.zeros((2, 2)))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ending", ["gif", "png", "webp"])
def test_animations_in_files(tmp_path, ending):
    path = tmp_path / f"moving.{ending}"
    steps = []

    def step(number):
        steps.append(number)
        return np.full((8, 8), 60 * number, np.uint8)

    assert hw.animate(step, 4, path, fps=20) is None
    assert steps == [0, 1, 2, 3]
    with Image.open(path) as opened:
        assert opened.n_frames == 4
        for number in range(4):
            opened.seek(number)
            assert np.asarray(opened.convert("RGB"))[3, 3].tolist() == [60 * number] * 3


def test_animations_are_kept_for_notebooks(tmp_path):
    made = hw.animate(lambda n: np.full((4, 4), 100 * n, np.uint8), 2)
    assert [picture.pixels[0, 0, 0] for picture in made.pictures] == [0, 100]
    assert made._repr_html_().startswith('<img alt="animation" src="data:image/png;base64,')
    made.save(tmp_path / "kept.png")
    with Image.open(tmp_path / "kept.png") as opened:
        assert opened.n_frames == len(made) == 2


def test_animations_in_terminals_stay_in_place(capsys):
    hw.animate(lambda n: np.full((4, 4), n, np.uint8), 3, "terminal", fps=1000)
    assert capsys.readouterr().out.count("\x1b[2A") == 2


def test_canvases_are_drawn_to():
    """What rendercanvas calls: a canvas of another kind shows that nothing else of it is used."""

    class Canvas:
        def get_context(self, kind):
            assert kind == "bitmap"
            return self

        def set_bitmap(self, bitmap):
            self.shown = bitmap

        def set_update_mode(self, mode, max_fps):
            self.mode = mode, max_fps

        def request_draw(self, function):
            self.draw = function

    canvas = Canvas()
    hw.animate(lambda n: np.full((4, 4), n, np.uint8), 3, canvas, fps=12)
    assert canvas.mode == ("continuous", 12)
    seen = []
    for _ in range(5):
        canvas.draw()
        seen.append(int(canvas.shown[0, 0, 0]))
    assert seen == [0, 1, 2, 2, 2]


def test_an_offscreen_canvas_has_the_pixels():
    offscreen = pytest.importorskip("rendercanvas.offscreen")
    image = random_bytes(64, 64, 4)
    canvas = offscreen.RenderCanvas(size=(64, 64))
    hw.show(image, canvas)
    assert np.array_equal(np.asarray(canvas.draw()), image)


def test_a_missing_window_system_is_told(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rendercanvas.auto", None)
    with pytest.raises(UsageError, match="no window to show pictures in"):
        hw.show(np.zeros((2, 2)), "window")

"""Reading and writing what the command line takes: every format there and back, and every fault with its message."""

import contextlib
import struct
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from headwater import files
from headwater.data import photograph
from headwater.errors import HeadwaterError, ResourceError, SourceError, UsageError
from headwater.files import Element, Output


def of(name):
    kind = files.element(name)
    assert kind is not None
    return kind


def read_as(text, name, **options):
    return files.fit(files.read(str(text)), of(name), **options)


def written(path, array, name="float"):
    notes = files.write([Output(str(path), "out", array, of(name))])
    return notes


# -- arrays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape"), [("float", (5,)), ("int", (3, 4)), ("double", (2, 3, 4)), ("float4", (7, 4)), ("uchar", (9,))]
)
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".bin"])
def test_arrays_come_back_as_written(tmp_path, name, shape, suffix):
    kind = of(name)
    array = (np.arange(np.prod(shape)).reshape(shape) * 3 % 251).astype(kind.dtype)
    path = tmp_path / f"a{suffix}"
    written(path, array, name)
    text = f"{path}:{name}" if suffix == ".bin" else str(path)
    back = read_as(text, name)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.reshape(-1), array.reshape(-1))


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".bin", ".csv", ".tif"])
def test_an_array_by_columns_is_written_by_rows(tmp_path, suffix):
    array = np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3))
    written(tmp_path / f"a{suffix}", array, "uchar")
    back = read_as(f"{tmp_path / 'a.bin'}:uchar:2x3" if suffix == ".bin" else tmp_path / f"a{suffix}", "uchar")
    np.testing.assert_array_equal(back, array)


def test_csv_keeps_every_bit_of_a_float(tmp_path):
    array = np.random.default_rng(1).random((6, 3)).astype(np.float32)
    written(tmp_path / "a.csv", array)
    np.testing.assert_array_equal(read_as(tmp_path / "a.csv", "float"), array)


def test_csv_column_by_heading_and_by_number(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("spot,strike\n1.5,2\n3,4\n")
    np.testing.assert_array_equal(read_as(f"{path}:strike", "float"), [2, 4])
    np.testing.assert_array_equal(read_as(f"{path}:0", "double"), [1.5, 3])
    with pytest.raises(UsageError, match="no column 'stricke'") as caught:
        files.read(f"{path}:stricke")
    assert "spot, strike" in caught.value.hint


def test_npz_member_is_named_after_a_colon(tmp_path):
    path = tmp_path / "two.npz"
    np.savez(path, a=np.arange(3, dtype=np.int32), b=np.arange(5, dtype=np.int32))
    assert read_as(f"{path}:b", "int").shape == (5,)
    with pytest.raises(UsageError, match="several members") as caught:
        files.read(str(path))
    assert f"{path}:a" in caught.value.hint
    np.savez(path)
    with pytest.raises(UsageError, match="has no members"):
        files.read(str(path))


def test_raw_bytes_take_type_and_shape(tmp_path):
    path = tmp_path / "a.bin"
    np.arange(12, dtype=np.float32).tofile(path)
    assert read_as(f"{path}:float32:3x4", "float").shape == (3, 4)
    assert read_as(f"{path}:float4", "float4").shape == (3, 4)
    with pytest.raises(UsageError, match="takes 80"):
        files.read(f"{path}:float32:4x5")
    for name in ("int8", "uint8", "int16", "uint16"):
        with pytest.raises(UsageError, match=f"{name} is a vector of .* in OpenCL C and a number in NumPy"):
            files.read(f"{path}:{name}")
    with pytest.raises(UsageError, match="not a whole number of double3"):
        files.read(f"{path}:double3")
    with pytest.raises(UsageError, match="'flot' is not a number type"):
        files.read(f"{path}:flot")
    with pytest.raises(UsageError, match="type of the numbers"):
        files.read(str(path))


def test_a_wrong_dtype_is_refused_unless_cast_is_asked_for(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([1.0, 2.5]))
    with pytest.raises(UsageError, match="holds float64 where float") as caught:
        read_as(path, "float")
    assert "--cast" in caught.value.hint
    assert read_as(path, "float", cast_types=True).dtype == np.float32


def test_byte_order_and_layout_are_made_native(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))
    array = read_as(path, "float")
    assert array.dtype.isnative
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3))


def test_three_components_are_stored_as_four_in_opencl_and_as_three_in_brook(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6, dtype=np.float32).reshape(2, 3))
    assert read_as(path, "float3").tolist() == [[0, 1, 2, 0], [3, 4, 5, 0]]
    packed = files.element("float3", packed=True)
    assert packed is not None
    assert files.fit(files.read(str(path)), packed).shape == (2, 3)


def test_a_struct_takes_a_structured_array_or_its_bytes(tmp_path):
    dtype = np.dtype([("x", "<f4"), ("n", "<i4")])
    kind = Element("Pair", dtype)
    np.save(tmp_path / "s.npy", np.zeros(3, dtype))
    assert files.fit(files.read(str(tmp_path / "s.npy")), kind).shape == (3,)
    np.save(tmp_path / "f.npy", np.zeros(3, np.float32))
    with pytest.raises(UsageError, match="does not hold Pair"):
        files.fit(files.read(str(tmp_path / "f.npy")), kind)


# -- made-up data ------------------------------------------------------------------------------------------------------


def test_generators():
    assert read_as("zeros:2x3", "float4").shape == (2, 3, 4)
    assert read_as("arange:5", "int").tolist() == [0, 1, 2, 3, 4]
    assert read_as("ones:1Ki", "half").sum() == 1024
    first, again, other = (read_as(text, "float") for text in ("random:99", "random:99:0", "random:99:1"))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert 0 <= first.min() < first.max() < 1
    assert read_as("random:4Ki", "uchar").max() == 255


@pytest.mark.parametrize(
    "text", ["zeros:0", "zeros:-3", "zeros:x", "zeros:3x", "ones:3:4", "random:3:x", "random:3:1:2", "ones:double:"]
)
def test_senseless_generators_are_refused(text):
    with pytest.raises(UsageError):
        read_as(text, "float")


@pytest.mark.parametrize("text", ["zeros:9999999Gi", "random:8Mix1Mix4Ki", "arange:double:9999999Gi"])
def test_more_than_memory_is_a_resource_error(text):
    with pytest.raises(ResourceError, match="more memory than there is"):
        read_as(text, "float")


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pixels():
    return np.random.default_rng(3).integers(0, 256, (6, 8, 3), np.uint8)


@pytest.fixture
def picture(tmp_path, pixels):
    path = tmp_path / "in.png"
    Image.fromarray(pixels).save(path)
    return path


def test_a_picture_becomes_packed_rgba(picture, pixels):
    packed = read_as(picture, "uint")
    assert packed.shape == (6, 8)
    r, g, b = (pixels[..., i].astype(np.uint32) for i in range(3))
    np.testing.assert_array_equal(packed, r | g << 8 | b << 16 | 0xFF000000)
    np.testing.assert_array_equal(read_as(picture, "uint4").reshape(6, 8), packed)


@pytest.mark.parametrize("name", ["uint", "uint4", "uchar4", "uchar3", "float4", "float3"])
@pytest.mark.parametrize("suffix", [".png", ".bmp", ".ppm", ".tif"])
def test_a_colour_picture_comes_back_unchanged(tmp_path, picture, pixels, name, suffix):
    path = tmp_path / f"out{suffix}"
    assert written(path, read_as(picture, name), name) == []
    np.testing.assert_array_equal(np.asarray(Image.open(path).convert("RGB")), pixels)


@pytest.mark.parametrize("name", ["uchar", "int", "ushort", "float", "double"])
def test_a_grey_picture_comes_back_unchanged(tmp_path, name):
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(grey).save(tmp_path / "in.png")
    array = read_as(tmp_path / "in.png", name)
    assert array.max() == (1 if array.dtype.kind == "f" else 255)
    assert written(tmp_path / "out.png", array, name) == []
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), grey)


def test_values_beyond_a_picture_are_stretched_and_that_is_said(tmp_path):
    notes = written(tmp_path / "out.png", np.array([[-1.0, 0.0], [1.0, 3.0]], np.float32))
    assert "stretched" in notes[0]
    assert np.asarray(Image.open(tmp_path / "out.png")).tolist() == [[0, 64], [128, 255]]


def test_not_a_number_is_black(tmp_path):
    written(tmp_path / "out.png", np.array([[np.nan, 1.0]], np.float32))
    assert np.asarray(Image.open(tmp_path / "out.png")).tolist() == [[0, 255]]


def test_an_unset_alpha_is_no_invisible_picture(tmp_path):
    written(tmp_path / "out.png", np.full((2, 2), 0x00332211, np.uint32), "uint")
    image = Image.open(tmp_path / "out.png")
    assert image.mode == "RGB"
    assert image.getpixel((0, 0)) == (0x11, 0x22, 0x33)


def test_a_translucent_picture_keeps_its_alpha(tmp_path):
    rgba = np.random.default_rng(0).integers(0, 256, (4, 4, 4), np.uint8)
    Image.fromarray(rgba).save(tmp_path / "in.png")
    written(tmp_path / "out.png", read_as(tmp_path / "in.png", "uchar4"), "uchar4")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), rgba)


def test_sixteen_bit_grey_keeps_its_levels(tmp_path):
    deep = (np.arange(16, dtype=np.uint16) * 4369).reshape(4, 4)
    Image.fromarray(deep).save(tmp_path / "in.png")
    np.testing.assert_array_equal(read_as(tmp_path / "in.png", "ushort"), deep)
    assert read_as(tmp_path / "in.png", "float").max() == 1
    assert read_as(tmp_path / "in.png", "uchar").max() == 255


def test_a_photograph_is_turned_as_its_camera_was(tmp_path):
    image = Image.new("RGB", (4, 2), "red")
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "in.jpg", exif=exif)
    assert read_as(tmp_path / "in.jpg", "uint").shape == (4, 2)


def test_what_is_no_picture_is_not_written_as_one(tmp_path):
    with pytest.raises(UsageError, match="is not a picture"):
        written(tmp_path / "out.png", np.zeros(5, np.float32))
    assert list(tmp_path.iterdir()) == []


def test_the_photograph_is_there():
    assert read_as(photograph(), "uint").shape == (400, 600)


# -- faults ------------------------------------------------------------------------------------------------------------


def test_a_missing_file_suggests_the_nearest(tmp_path):
    (tmp_path / "photo.png").write_bytes(b"")
    with pytest.raises(UsageError, match="no file") as caught:
        files.read(str(tmp_path / "foto.png"))
    assert "photo.png" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        files.read(str(tmp_path / "nowhere" / "foto.png"))
    assert "does not exist" in caught.value.hint


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".npy", ".npz", ".csv", ".bmp", ".tif", ".webp"])
@pytest.mark.parametrize(
    "contents", [b"", b"garbage\x00\xff" * 9, b"\x93NUMPY\x01\x00", b"PK\x03\x04junk", b"\x89PNG\r\n\x1a\n"]
)
def test_damaged_files_are_usage_errors(tmp_path, suffix, contents):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(contents)
    with pytest.raises(UsageError, match=f"bad{suffix}"):
        files.read(str(path))


def test_a_cut_picture_is_refused(tmp_path, picture):
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture.read_bytes()[:-60])
    with pytest.raises(UsageError, match=r"cannot read .*cut.png"):
        files.read(str(cut))


def test_python_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="cannot read"):
        files.read(str(tmp_path / "o.npy"))


def test_a_damaged_member_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"junk")
    with pytest.raises(UsageError, match=r"a\.npz"):
        files.read(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("array", [np.zeros(0, np.float32), np.zeros((3, 0), np.float32)])
def test_empty_arrays_are_refused(tmp_path, array):
    np.save(tmp_path / "e.npy", array)
    with pytest.raises(UsageError, match="no elements"):
        files.read(str(tmp_path / "e.npy"))


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(UsageError, match="is a directory"):
        files.read(str(tmp_path))


def test_unknown_output_formats_are_refused(tmp_path):
    with pytest.raises(UsageError, match="do not know how to write"):
        files.check_target(str(tmp_path / "out.xyz"))
    with pytest.raises(UsageError, match="does not exist"):
        files.check_target(str(tmp_path / "no" / "out.npy"))


def test_outputs_are_written_together_or_not_at_all(tmp_path):
    (tmp_path / "first.npy").write_bytes(b"old")
    good = Output(str(tmp_path / "first.npy"), "a", np.zeros(3, np.float32), of("float"))
    bad = Output(str(tmp_path / "second.png"), "b", np.zeros(3, np.float32), of("float"))
    with pytest.raises(UsageError):
        files.write([good, bad])
    assert (tmp_path / "first.npy").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["first.npy"]


def test_several_outputs_share_an_npz(tmp_path):
    path = str(tmp_path / "o.npz")
    a = np.arange(3, dtype=np.int32)
    files.write([Output(path, "call", a, of("int")), Output(f"{path}:p", "put", a * 2, of("int"))])
    with np.load(path) as archive:
        assert sorted(archive.files) == ["call", "p"]
        assert archive["p"].tolist() == [0, 2, 4]


# -- what careless people give -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("x,y\n1,2\n3,foo\n", ":y", "t.csv:3: error: 'foo' in column 'y' is not a number"),
        ("x,y\n1,\n", ":y", "t.csv:2: error: '' in column 'y' is not a number"),
        ("x,y\n1,2\n3\n", ":y", "t.csv:3: error: this line has 1 cells, the first one 2"),
        ("1,2\n\n3,4,5\n", "", "t.csv:3: error: this line has 3 cells, the first one 2"),
    ],
)
def test_faults_of_a_table_are_told_with_their_line(tmp_path, monkeypatch, text, column, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SourceError) as error:
        files.read(f"t.csv{column}")
    assert str(error.value).splitlines()[0] == message


def test_quoted_headings_may_hold_the_delimiter(tmp_path):
    (tmp_path / "t.csv").write_text('"a,b",y\n"1",2\n"3",4\n')
    assert read_as(f"{tmp_path}/t.csv:a,b", "float").tolist() == [1, 3]
    assert read_as(f"{tmp_path}/t.csv:y", "float").tolist() == [2, 4]


def test_bytes_that_are_no_archive_are_not_unpickled(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"\x80\x04" + bytes(100))
    with pytest.raises(UsageError, match="it is not an archive of NumPy's") as error:
        files.read(str(tmp_path / "a.npz"))
    assert "allow_pickle" not in str(error.value)


def test_names_that_name_nothing_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    np.save("a.npy", np.zeros(3))
    for text, message in [
        ("loop.npy", "is a link that leads nowhere"),
        (":", "':' names no file"),
        ("a.npy:x", ".npy files have no parts"),
    ]:
        with pytest.raises(UsageError, match=message):
            files.read(text)


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked(tmp_path):
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", b""), (b"IEND", b"")]
    parts = [struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d)) for t, d in chunks]
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    with pytest.raises(UsageError, match="has too many pixels"):
        files.read(str(tmp_path / "bomb.png"))


# -- files that tell what cannot be ------------------------------------------------------------------------------------


def npy(descr, shape, data=bytes(64), version=1):
    """A file in NumPy's format with any header."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    length = 2 if version == 1 else 4
    text += " " * (-(len(text) + 9 + length) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(length, "little") + text.encode("latin-1") + data


HEADERS = [
    ("'<f4'", "(99999999999999999999,)", "has the shape|states the shape"),
    ("'<f4'", "(4611686018427387904, 4)", "states the shape"),
    ("'<f4'", "(17,)", r"states the shape \(17,\) of float32, and 64 bytes follow"),
    ("'<f4'", "(-1,)", "no size is negative"),
    ("'<f4'", "(-4, -4)", "no size is negative"),
    ("'<f4'", "(1.5,)", ""),
    ("'<f4'", "('a',)", ""),
    ("'<f4'", "7", ""),
    ("'<f4'", "(" + "1," * 70 + ")", ""),
    ("'<f4'", "(" * 300, ""),
    ("'<f4'", f"({'9' * 5000},)", ""),
    ("'|O'", "(2,)", "Python objects"),
    ("[('a', '|O')]", "(2,)", "Python objects"),
    ("'V0'", "(2,)", "no bytes"),
    ("'<f99'", "(2,)", ""),
    ("[('a', '<f4', (1000000, 1000000))]", "(1,)", ""),
    ("None", "(2000000000000,)", ""),
    ("'S9999999999'", "(2,)", ""),
    ("'<M8[s]'", "(2,)", None),
    ("'<f4'", "(16,)", None),
    ("[('a', '<f4'), ('b', '<i4')]", "(2,)", None),
]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_headers_that_tell_what_cannot_be_are_refused(tmp_path, suffix, version):
    for number, (descr, shape, message) in enumerate(HEADERS):
        file = tmp_path / f"{number}{suffix}"
        data = npy(descr, shape, version=version)
        if suffix == ".npy":
            file.write_bytes(data)
        else:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a.npy", data)
        if message is None:
            assert files.read(str(file)).array.size > 0
        else:
            with pytest.raises(UsageError, match=message):
                files.read(str(file))


def test_damage_of_any_kind_is_an_error_and_no_defect(tmp_path):
    """Files of all kinds with bytes changed, added and left out: they are read, or refused by an error of ours."""
    made = {".npy": npy("'<f4'", "(4, 4)"), ".csv": b'a,"b"\n1,2.5\n\n-3e4,nan\n'}
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(6.0), y=np.zeros((2, 2), "u1"))
    made[".npz"] = (tmp_path / "a.npz").read_bytes()
    for suffix in (".png", ".jpg", ".gif", ".tif", ".bmp", ".ppm", ".webp"):
        Image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).save(tmp_path / f"a{suffix}")
        made[suffix] = (tmp_path / f"a{suffix}").read_bytes()
    chance, read = np.random.default_rng(26), 0
    for suffix, whole in made.items():
        for number in range(60):
            data = bytearray(whole)
            for _ in range(number % 4):
                at, what = int(chance.integers(len(data))), chance.bytes(3)
                data[at : at + int(chance.integers(4))] = what[: int(chance.integers(4))]
            file = tmp_path / f"damaged{suffix}"
            file.write_bytes(data)
            with contextlib.suppress(HeadwaterError):
                given = files.read(f"{file}:x" if suffix == ".npz" else str(file))
                read += 1
                for name in ("float", "uchar4", "uint"):
                    with contextlib.suppress(HeadwaterError):
                        files.fit(given, of(name), cast_types=True)
    assert read > 150  # those that are whole


def test_a_type_may_stand_before_a_made_up_shape():
    assert files.read("ones:double:2x3").array.dtype == np.float64
    assert read_as("ones:float4:5", "float4").shape == (5, 4)
    assert read_as("random:int:9:1", "int").tolist() == read_as("random:9:1", "int").tolist()
    with pytest.raises(UsageError, match="holds float64 where int"):
        read_as("ones:double:4", "int")
    assert read_as("ones:double:4", "int", cast_types=True).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "text", ["zeros:" + "9" * 5000, "zeros:99999999999999999999", "ones:4Gix4Gi", "random:4:" + "9" * 5000, "zeros:²"]
)
def test_numbers_beyond_64_bits_are_refused(text):
    with pytest.raises(UsageError) as error:
        files.read(text)
    assert len(str(error.value)) < 300


def test_shapes_have_so_many_dimensions(tmp_path):
    assert len(files.shape_of("x".join("1" * 32))) == 32
    with pytest.raises(UsageError, match="33 dimensions"):
        files.shape_of("x".join("1" * 33))


def test_a_name_with_a_null_character_is_no_file():
    with pytest.raises(UsageError, match="there is no file"):
        files.read("\0/a.npy")

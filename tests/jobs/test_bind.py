"""Command-line words to parameters: what goes where, what is worked out, and what is refused with which words."""

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from PIL import Image as Picture

from headwater.errors import HeadwaterError, UsageError
from headwater.jobs.bind import Request, bind, brook_slots, opencl_slots, used_dimensions
from headwater.opencl.clang import ArgInfo, KernelInfo
from headwater.runtime.values import Local, Sampler

SIZES = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "double": 8, "long": 8}


def arg(text):
    """An ArgInfo from a declaration such as "const float4* a"."""
    const = text.startswith("const ")
    type_name, name = text.removeprefix("const ").rsplit(" ", 1)
    if type_name.startswith("local "):
        return ArgInfo(name, "local", type_name.removeprefix("local "), 8, "read_write", 4)
    if type_name == "sampler_t":
        return ArgInfo(name, "sampler", type_name, 4, "read", 0)
    if type_name == "image2d_t":
        return ArgInfo(name, "image", type_name, 8, "read" if const else "write", 0)
    base = type_name.rstrip("*").rstrip("0123456789")
    width = int(type_name.rstrip("*").removeprefix(base) or 1)
    size = SIZES.get(base, 12) * (4 if width == 3 else width)
    if type_name.endswith("*"):
        return ArgInfo(name, "buffer", type_name, 8, "read" if const else "read_write", size)
    return ArgInfo(name, "value", type_name, size, "read", 0)


def opencl(declaration, *words, source="", **request):
    """Bind words to ``k(declaration)``."""
    info = KernelInfo("k", tuple(arg(text.strip()) for text in declaration.split(",")))
    return bind("k", opencl_slots(info), Request(words, **request), source)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(12, dtype=np.float32))
    np.save("b.npy", np.ones(12, np.float32))
    np.save("m.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    Picture.fromarray(np.zeros((6, 8, 3), np.uint8)).save("in.png")
    return tmp_path


SUM = "const float* a, const float* b, float* c, int n"
MEDIAN = "uint* id, uint* od, int width, int height"


def test_arrays_and_numbers_go_to_buffers_and_values_in_order(here):
    binding = opencl(SUM, "a.npy", "7", "b.npy", "zeros:12")
    assert binding.values["a"].tolist() == list(range(12))
    assert binding.values["b"].sum() == 12
    assert binding.values["n"] == 7
    assert type(binding.values["n"]) is np.int32
    assert binding.global_size == (12,)
    assert binding.outputs == ["c"]


def test_an_output_and_a_count_are_worked_out_and_noted(here):
    binding = opencl(SUM, "a.npy", "b.npy")
    assert binding.values["c"].shape == (12,)
    assert binding.values["n"] == 12
    assert binding.outputs == ["c"]
    assert any(note.startswith("c: 12 float") for note in binding.notes)
    assert any(note.startswith("n = 12") for note in binding.notes)


def test_without_const_the_first_buffers_take_the_arrays(here):
    binding = opencl("float* a, float* b, float* c", "a.npy", "b.npy")
    assert binding.outputs == ["c"]


def test_const_buffers_take_the_arrays_wherever_they_stand(here):
    binding = opencl("float* result, const float* a", "a.npy")
    assert binding.values["a"][3] == 3
    assert binding.outputs == ["result"]


def test_one_buffer_is_worked_on_in_place(here):
    binding = opencl("float* data, float f", "a.npy", "2.5")
    assert binding.outputs == ["data"]
    assert binding.values["f"] == np.float32(2.5)


def test_a_picture_gives_width_height_and_global_size(here):
    binding = opencl(MEDIAN, "in.png", outputs=["out.png"], source="get_global_id(0); get_global_id(1);")
    assert (binding.values["width"], binding.values["height"]) == (8, 6)
    assert binding.global_size == (8, 6)
    assert binding.targets == {"od": "out.png"}
    assert binding.values["od"].shape == (6, 8)


def test_pixels_packed_by_four_give_the_width_in_pixels(here):
    binding = opencl("const uint4* id, uint4* od, int width, int h", "in.png", source="get_global_id(1)")
    assert binding.values["id"].shape == (6, 2, 4)
    assert (binding.values["width"], binding.values["h"]) == (8, 6)
    assert binding.values["od"].shape == (6, 2, 4)
    assert binding.global_size == (2, 6)


def test_names_assign_and_mix_with_order(here):
    binding = opencl(SUM, "n=3", "b=b.npy", "a.npy", "c=zeros:2x6")
    assert binding.values["n"] == 3
    assert binding.values["c"].shape == (2, 6)
    assert binding.global_size == (12,)


def test_two_possible_global_sizes_are_asked_about(here):
    with pytest.raises(UsageError, match=r"12 \(the first array\) or 5 \(bins\)") as caught:
        opencl("const float* a, int* bins", "a.npy", "zeros:5")
    assert "--global 12" in caught.value.hint
    assert opencl("const float* a, int* bins", "a.npy", "zeros:5", global_size=(12,)).global_size == (12,)


def test_a_matrix_does_not_guess_n(here):
    with pytest.raises(UsageError, match="no value for n"):
        opencl("const float* a, float* c, int n", "m.npy")


def test_sizes_of_a_matrix_by_name(here):
    binding = opencl("const float* a, float* c, int rows, int num_elements, int nx", "m.npy")
    assert [binding.values[name] for name in ("rows", "num_elements", "nx")] == [3, 12, 4]


def test_numbers_skip_sizes_only_if_they_are_too_few(here):
    binding = opencl("const float* a, float* c, int n, float f", "a.npy", "0.5")
    assert (binding.values["n"], binding.values["f"]) == (12, 0.5)
    binding = opencl("const float* a, float* c, int n, float f", "a.npy", "4", "0.5")
    assert (binding.values["n"], binding.values["f"]) == (4, 0.5)


def test_without_arrays_the_global_size_gives_the_output(here):
    binding = opencl("int* escaped, float left, int width, int height", "-2", global_size=(64, 48))
    assert binding.values["escaped"].shape == (48, 64)
    assert (binding.values["width"], binding.values["height"]) == (64, 48)


def test_shape_overrides_the_outputs(here):
    binding = opencl("const float* a, float* c", "a.npy", shape=(3, 3))
    assert binding.values["c"].shape == (3, 3)
    assert binding.global_size == (9,)


def test_a_buffer_without_data_or_size_is_missing():
    with pytest.raises(UsageError, match="no value for a, b") as caught:
        opencl(SUM)
    assert "k(const float *a, const float *b, float *c, int n)" in caught.value.hint


def test_vectors_and_other_values(here):
    binding = opencl(
        "float* a, float4 v, uchar u, double d, int i, float4 s", "a.npy", "1,2,3,4", "255", "0.1", "0x10", "2"
    )
    assert binding.values["v"].tolist() == [1, 2, 3, 4]
    assert binding.values["u"] == 255
    assert binding.values["d"] == 0.1
    assert binding.values["i"] == 16
    assert binding.values["s"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.npy", "u=256"), "does not fit uchar, which holds 0 to 255"),
        (("a.npy", "u=-1"), "does not fit uchar"),
        (("a.npy", "u=1.5"), "a whole number is expected"),
        (("a.npy", "u=x"), "a whole number is expected"),
        (("a.npy", "1", "2"), "takes 1 number here, 2 given"),
        (("a.npy", "b.npy", "1"), "takes 1 array here, 2 given"),
        (("b.npy", "v=3"), "no parameter 'v'"),
        (("nothere.npy", "3"), "no file 'nothere.npy'"),
        (("nothere", "3"), "no file 'nothere'"),
        (("a.npy", "a=b.npy", "3"), "takes no arrays here, 1 given"),
        (("a=b.npy", "a=b.npy", "3"), "a is given twice"),
    ],
)
def test_what_does_not_fit_is_refused(here, words, message):
    with pytest.raises(UsageError, match=message):
        opencl("float* a, uchar u", *words)


def test_a_shape_that_changes_nothing_is_refused(here):
    with pytest.raises(UsageError, match="--shape changes nothing: all arrays of k are given, and --global is"):
        opencl("float* a, float v", "a.npy", "1", shape=(4,), global_size=(8,))
    sized = opencl("float* a, int n", "a.npy", shape=(4,), global_size=(8,))
    assert sized.values["n"] == 4


def test_a_wrong_number_of_components_is_refused(here):
    with pytest.raises(UsageError, match="float4 takes 4 numbers, 3 given"):
        opencl("float* a, float4 v", "a.npy", "1,2,3")


def test_a_mistyped_parameter_is_suggested(here):
    with pytest.raises(UsageError, match="no parameter 'widht'") as caught:
        opencl(MEDIAN, "in.png", "widht=3")
    assert caught.value.hint == "did you mean width?"


def test_local_memory_in_bytes_or_from_the_group(here):
    kernel = "const float* a, float* c, local float* shared"
    assert opencl(kernel, "a.npy", "shared=256").values["shared"] == Local(256)
    assert opencl(kernel, "a.npy", local_size=(4,)).values["shared"] == Local(16)
    with pytest.raises(UsageError, match="no value for shared"):
        opencl(kernel, "a.npy")
    with pytest.raises(UsageError, match="number of bytes"):
        opencl(kernel, "a.npy", "shared=many")
    assert opencl(kernel, "a.npy", "local:256").values["shared"] == Local(256)
    with pytest.raises(UsageError, match="1 piece of local memory here, 2 given"):
        opencl(kernel, "a.npy", "local:256", "local:512")


def test_images_and_samplers(here):
    binding = opencl("const image2d_t source, image2d_t target, sampler_t s", "in.png", source="get_global_id(1)")
    assert binding.values["source"].shape == (6, 8, 4)
    assert binding.values["target"].shape == (6, 8, 4)
    assert binding.values["s"] == Sampler()
    assert binding.outputs == ["target"]
    assert binding.global_size == (8, 6)
    binding = opencl("const image2d_t source, image2d_t t, sampler_t s", "in.png", "s=linear,clamp")
    assert binding.values["s"] == Sampler(filter="linear", addressing="clamp")


def test_images_that_are_made_up_run_over_their_pixels(here):
    words = ("random:6x8x4", "zeros:6x8x4")
    binding = opencl("const image2d_t source, image2d_t target", *words, source="get_global_id(1)")
    assert binding.values["source"].shape == (6, 8, 4)
    assert binding.global_size == (8, 6)


def test_outputs_by_name_and_by_order(here):
    kernel = "const float* a, float* call, float* put"
    assert opencl(kernel, "a.npy", outputs=["x.npy", "y.npy"]).targets == {"call": "x.npy", "put": "y.npy"}
    assert opencl(kernel, "a.npy", outputs=["put=x.npy", "y.npy"]).targets == {"put": "x.npy", "call": "y.npy"}


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["x.npy", "y.npy", "z.npy"], "more output files than outputs"),
        (["cal=x.npy"], "no output 'cal'"),
        (["a=x.npy"], "does not write a"),
        (["x.npy", "x.npy"], "two outputs would be written"),
        (["call=x.npy", "call=y.npy"], "given two files"),
        (["x.unknown"], "do not know how to write"),
    ],
)
def test_senseless_outputs_are_refused_before_anything_runs(here, outputs, message):
    with pytest.raises(UsageError, match=message):
        opencl("const float* a, float* call, float* put", "a.npy", outputs=outputs)


def test_a_struct_value_is_refused(here):
    with pytest.raises(UsageError, match="cannot be written on the command line"):
        opencl("float* a, Pair p", "a.npy", "p=3")


# -- dimensions --------------------------------------------------------------------------------------------------------

SOURCE = """
int helper(void) { return get_global_id(2); }
// get_global_id(2)
__kernel void one(__global int *a) { if (1) { a[get_global_id( 0 )] = 1; } }
__kernel void two(__global int *a) { a[get_global_id(0) + 4 * get_global_id(1)] = 1; }
__kernel void hidden(__global int *a) { a[helper()] = 1; }
"""


@pytest.mark.parametrize(("kernel", "dimensions"), [("one", 1), ("two", 2), ("hidden", 3), ("missing", 3)])
def test_dimensions_are_those_the_kernel_asks_for(kernel, dimensions):
    assert used_dimensions(SOURCE, kernel) == dimensions


def test_a_one_dimensional_kernel_covers_a_matrix(here):
    assert opencl("const float* a, float* c", "m.npy", source="get_global_id(0)").global_size == (12,)


# -- Brook+ ------------------------------------------------------------------------------------------------------------


def brook(*words, kind="input", **request):
    from headwater.brook.model import BrookModule, BrookSignature, ElementType, Parameter

    real = ElementType("float")
    kernel = BrookSignature(
        "k",
        (
            Parameter("a", kind, real, 2 if kind == "gather" else 0),
            Parameter("width", "value", ElementType("int")),
            Parameter("c", "output", real),
        ),
        (),
    )
    return bind("k", brook_slots(kernel, BrookModule("", "k.br", {"k": kernel})), Request(words, **request))


def test_brook_outputs_are_returned_not_passed(here):
    binding = brook("m.npy", outputs=["c.npy"])
    assert binding.outputs == ["c"]
    assert binding.targets == {"c": "c.npy"}
    assert "c" not in binding.values
    assert binding.values["width"] == 4
    assert binding.shape is None
    with pytest.raises(UsageError, match="c is an output") as caught:
        brook("m.npy", "c=x.npy")
    assert "-o c=x.npy" in caught.value.hint


def test_a_gather_gives_the_domain_where_no_stream_does(here):
    assert brook("m.npy", kind="gather").shape == (3, 4)
    assert brook("m.npy", kind="gather", shape=(5, 5)).shape == (5, 5)


# -- whatever is typed -------------------------------------------------------------------------------------------------

PIECES = [
    "a.npy",
    "in.png",
    "m.npy",
    "zeros:",
    "random:",
    "=",
    ":",
    ",",
    "x",
    "n",
    "a",
    "-",
    "1",
    "0",
    "e",
    "9" * 30,
    ".",
]
PIECES += ["float", "inf", "nan", "0x", "Gi", "é", "\x00", " ", "/", "..", "*"]


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), max_size=4))
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@pytest.mark.parametrize("declaration", [SUM, "uint* id, float4 v", "uchar4* p, local float* t, double d"])
def test_no_words_make_it_fall_over(here, declaration, words):
    with contextlib.suppress(HeadwaterError):
        opencl(declaration, *words, source="get_global_id(0)")

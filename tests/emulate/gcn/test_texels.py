"""Image and formatted buffer instructions: the translator against the interpreter, and both against what is known."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import headwater
from headwater.emulate.gcn import texels
from headwater.emulate.gcn.reference_texels import Format, bits_of, float_of, format_of
from headwater.emulate.wave.reference_memory import AccessError
from headwater.errors import KernelFault
from headwater.isa.gcn import images, resources
from headwater.isa.gcn.table import named, rows
from headwater.opencl.gcn_build import assemble
from verification.isa_texels import (
    REGION_BYTES,
    check,
    differences,
    interpreted,
    kernel_text,
    make_trial,
    translated,
    usable,
)


def test_every_row_says_what_it_does():
    found = [row for row in rows() if row.encoding == "MIMG" or "format" in row.flags]
    assert len(found) > 120
    for row in found:
        what = images._of_row(row)
        assert what is not None, row.name
        assert what.kind in ("load", "store", "atomic", "sample", "gather", "resinfo", "lod"), row.name
        assert (what.kind == "store") == ("store" in row.flags), row.name
        assert (what.kind == "atomic") == ("atomic" in row.flags), row.name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("image_sample_c_d_cl_o", {"level": "given", "compare": True, "clamp": True, "offset": True}),
        ("image_gather4_c_b", {"kind": "gather", "level": "auto", "compare": True, "bias": True}),
        ("image_sample_l", {"level": "lod", "clamp": False}),
        ("image_load_mip_pck_sgn", {"kind": "load", "level": "mip", "raw": True, "signed": True}),
    ],
)
def test_words_of_rows(name, words):
    what = images._of_row(named("gfx900", "MIMG", name))
    assert {word: getattr(what, word) for word in words} == words


@pytest.mark.parametrize(("target", "count"), [("gfx900", 90), ("gfx803", 40), ("gfx90a", 40)])
def test_translator_and_interpreter_agree(target, count):
    """`python -m verification.isa_texels` does thousands."""
    tried, lines = check(target, count, seed=count)
    assert tried > 0.8 * count
    assert lines == []


def test_a_difference_is_told():
    rng, values = random.Random(1), np.random.default_rng(1)
    row = next(r for r in rows("gfx900") if r.name == "image_load" and usable(r, "gfx900"))
    trial = make_trial(row, "gfx900", rng, values)
    vectors, memory = interpreted(trial, "gfx900")
    assert differences(trial, (vectors, memory), (vectors, memory), "gfx900") == ""
    other = vectors.copy()
    other[0, 5] ^= 1 << 30
    assert "v28, lane 5" in differences(trial, (other, memory), (vectors, memory), "gfx900")
    changed = memory.copy()
    changed[77] ^= 1
    assert "byte 77 of memory" in differences(trial, (vectors, changed), (vectors, memory), "gfx900")


# ---- elements --------------------------------------------------------------------------------------------------------


def made(name, kind, select=(4, 5, 6, 7)):
    number = next(n for n, known in resources.DATA_FORMATS.items() if known.name == name)
    found = format_of(number, kind, select, "gfx900", buffer=False, store=False)
    assert found is not None
    return found


def floats(form: Format, element: int):
    return [float_of(bits) for bits in form.components(element.to_bytes(form.data.nbytes, "little"))]


def test_components_begin_at_the_low_end():
    assert floats(made("5_6_5", resources.UNORM), 31 | 0 << 5 | 31 << 11) == [1, 0, 1, 0]
    assert floats(made("2_10_10_10", resources.UINT), 0)[0] == 0
    assert made("2_10_10_10", resources.UINT).components((5 | 6 << 10 | 7 << 20 | 2 << 30).to_bytes(4, "little")) == [
        5,
        6,
        7,
        2,
    ]
    assert made("10_11_11", resources.UINT).components((9 | 3 << 11 | 1 << 22).to_bytes(4, "little")) == [9, 3, 1, 0]


def test_known_numbers():
    assert floats(made("8", resources.SNORM), 0x80)[0] == -1.0
    assert floats(made("8", resources.SNORM), 0x81)[0] == -1.0
    assert floats(made("8_8_8_8", resources.SRGB), 0x80BC_FF00) == pytest.approx([0, 1, 0.50289, 128 / 255], abs=1e-5)
    assert floats(made("10_11_11", resources.FLOAT), 0x3C0 | 0x400 << 11 | 0x1E0 << 22)[:3] == [1.0, 2.0, 1.0]
    assert floats(made("5_9_9_9", resources.FLOAT), 256 | 128 << 9 | 511 << 18 | 16 << 27) == [1.0, 0.5, 511 / 256, 0.0]
    assert floats(made("16", resources.SSCALED), 0xFFFE)[0] == -2.0


def test_numbers_are_rounded_to_even_and_bounded_when_stored():
    unorm, snorm = made("8", resources.UNORM), made("8", resources.SNORM)
    for value, want in ((0.5, 128), (1.5, 255), (-1.0, 0), (float("nan"), 0)):
        assert unorm.element([bits_of(value), 0, 0, 0], raw=False)[0] == want, value
    assert snorm.element([bits_of(-2.0), 0, 0, 0], raw=False)[0] == 0x81
    assert made("8", resources.SINT).element([0xFFFFFF00, 0, 0, 0], raw=False)[0] == 0x80
    assert made("8", resources.UINT).element([300, 0, 0, 0], raw=False)[0] == 255


def test_stored_elements_are_loaded_again():
    rng = np.random.default_rng(5)
    for number, data in resources.DATA_FORMATS.items():
        for kind in resources.NUM_FORMATS:
            try:
                form = format_of(number, kind, (4, 5, 6, 7), "gfx6", buffer=False, store=True)
            except AccessError:
                continue
            assert form is not None
            for _ in range(20):
                element = rng.bytes(data.nbytes)
                components = form.components(element)
                if any(np.isnan(float_of(c)) for c in components) and kind == resources.FLOAT:
                    continue
                again = form.components(form.element(components, raw=False))
                assert again == components, (data.name, resources.NUM_FORMATS[kind], element)


def test_srgb_steps_lie_between_the_values():
    for byte in range(255):
        assert texels.srgb_value(byte) < texels.srgb_step(byte) < texels.srgb_value(byte + 1)


# ---- what an image instruction makes of known memory -----------------------------------------------------------------


HELD = 0x12345
"""What registers of data hold before."""


def sampled(name, memory, coordinates, image=(), sampler=(), isa="gfx900", **fields):
    """The first register's floats of an instruction on a linear image of 4 × 4 floats, translated and interpreted."""
    rng, values = random.Random(3), np.random.default_rng(3)
    row = named(isa, "MIMG", name)
    trial = None
    while trial is None:
        trial = make_trial(row, isa, rng, values)
    encoded = {"op": row.opcodes[isa], "vaddr": 16, "vdata": 28, "srsrc": 4, "ssamp": 6, "dmask": 1, **fields}
    from headwater.isa.gcn.decode import decode
    from verification.isa_instructions import _packed, _prefix

    code = _packed("MIMG", isa, encoded, _prefix("MIMG", isa)).to_bytes(8, "little")
    t = {
        "data_format": 4, "num_format": 7, "width": 3, "height": 3, "pitch": 3, "type": resources.IMAGE_2D,
        "dst_sel_x": 4, "tiling": resources.linear_tiling(isa), **dict(image),
    }  # fmt: skip
    s = {"max_lod": 4095, "clamp_x": 2, "clamp_y": 2, "clamp_z": 2, **dict(sampler)}
    scalars = np.zeros(16, np.uint32)
    words = resources.made(resources.image_fields(isa), t)
    scalars[:8] = [words >> 32 * n & 0xFFFFFFFF for n in range(8)]
    words = resources.made(resources.SAMPLER, s)
    scalars[8:12] = [words >> 32 * n & 0xFFFFFFFF for n in range(4)]
    scalars[14:16] = 0xFFFFFFFF
    vectors = np.zeros_like(trial.vectors)
    vectors[12:] = HELD
    for n, column in enumerate(zip(*coordinates, strict=True)):
        vectors[n, : len(column)] = [bits_of(x) if isinstance(x, float) else x for x in column]
    texels_ = np.zeros_like(trial.memory)
    texels_.view(np.float32)[: np.size(memory)] = np.ravel(memory)
    trial = replace(
        trial, code=code, instruction=decode(code, 0, isa), scalars=scalars, vectors=vectors, memory=texels_
    )
    want = interpreted(trial, "gfx900" if isa == "gfx900" else "gfx803")
    results, after = translated([trial], "gfx900" if isa == "gfx900" else "gfx803")
    assert differences(trial, (results[0], after[0]), want, isa) == ""
    return want[0][:, : len(coordinates)].view(np.float32)


RAMP = np.arange(16, dtype=np.float32).reshape(4, 4)
LINEAR = {"mag_filter": 1, "min_filter": 1}


def test_a_linear_filter_weighs_by_distance():
    where = [(0.5, 0.5), (0.375, 0.375), (0.25, 0.5), (0.0, 0.0)]
    assert sampled("image_sample_lz", RAMP, where, sampler=LINEAR)[0].tolist() == [7.5, 5.0, 6.5, 0.0]
    assert sampled("image_sample_lz", RAMP, [(1.5, 0.5), (2.0, 1.0)], sampler=LINEAR, unorm=1)[0].tolist() == [1.0, 3.5]


def test_addresses_outside():
    where = [(-0.125, 0.125), (1.125, 0.125), (1.375, 0.125)]
    for clamp, want in ((0, [3, 0, 1]), (1, [0, 3, 2]), (2, [0, 3, 3]), (3, [0, 3, 3]), (6, [1, 1, 1]), (7, [0, 1, 1])):
        found = sampled("image_sample_lz", RAMP, where, sampler={"clamp_x": clamp, "border": resources.BORDER_WHITE})
        assert found[0].tolist() == want, clamp


def test_gather_goes_round_from_the_lower_left():
    found = sampled("image_gather4_lz", RAMP, [(0.5, 0.5)])
    assert found[:4, 0].tolist() == [9.0, 10.0, 6.0, 5.0]


def test_a_linear_filter_takes_the_nearest_256th_of_a_texel():
    """Centres of texels that single precision misses by a bit, before and after mirroring, are the texels alone."""
    huge = np.where(RAMP % 2 == 0, RAMP, np.float32(1e30))
    beside = [(float(np.nextafter(np.float32(x), np.float32(-9))), 0.125) for x in (0.625, 0.125)]
    assert sampled("image_sample_lz", huge, beside, sampler=LINEAR)[0].tolist() == [2.0, 0.0]
    mirrored = LINEAR | {"clamp_x": 1}
    near = float(np.nextafter(np.float32(-0.625), np.float32(0)))
    assert sampled("image_sample_lz", huge, [(near, 0.125), (1.375, 0.125)], sampler=mirrored)[0].tolist() == [2.0, 2.0]


def test_comparisons_are_made_before_the_filter():
    sampler = {**LINEAR, "depth_compare": 1}  # less
    found = sampled("image_sample_c_lz", RAMP, [(5.5, 0.5, 0.5), (20.0, 0.5, 0.5), (-1.0, 0.5, 0.5)], sampler=sampler)
    assert found[0].tolist() == [0.75, 0.0, 1.0]


@pytest.mark.parametrize("isa", ["gfx900", "gfx8"])
def test_levels_of_an_image(isa):
    """gfx9 puts levels below each other in rows of one pitch, earlier generations each behind the one before."""
    memory = np.zeros(256, np.float32)
    memory[:16] = RAMP.ravel()
    if isa == "gfx900":
        memory[16:18], memory[20:22], memory[24] = (20, 21), (22, 23), 30
    else:
        # 16 floats are 64 bytes; levels begin at multiples of 256, rows of 2 × 2 are 32 apart, 64 elements at least.
        memory[64:66], memory[96:98], memory[128] = (20, 21), (22, 23), 30
    image = {"last_level": 2}
    where = [(0.75, 0.25, 0.0), (0.75, 0.25, 1.0), (0.75, 0.25, 2.0), (0.75, 0.25, 9.0)]
    found = sampled("image_sample_l", memory, where, image, {"mip_filter": 1}, isa)
    assert found[0].tolist() == [7.0, 21.0, 30.0, 30.0]
    found = sampled("image_sample_l", memory, [(0.75, 0.25, 0.5)], image, {"mip_filter": 2}, isa)
    assert found[0].tolist() == [14.0]
    assert sampled("image_load_mip", memory, [(1, 1, 1), (1, 1, 3)], image, isa=isa)[0].tolist() == [23.0, 0.0]


def test_the_level_follows_from_neighbours():
    """Lanes of a quad that are two texels apart want the next smaller level."""
    memory = np.zeros(64, np.float32)
    memory[:16], memory[16:18], memory[20:22] = RAMP.ravel(), (20, 21), (22, 23)
    near = [(0.25, 0.25), (0.5, 0.25), (0.25, 0.5), (0.5, 0.5)]
    far = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)]
    found = sampled("image_sample", memory, near + far, {"last_level": 1}, {"mip_filter": 1})
    assert found[0].tolist() == [5, 6, 9, 10, 20, 21, 22, 23]
    lods = sampled("image_get_lod", memory, near + far, {"last_level": 1}, dmask=3)
    assert lods[1].tolist() == [0.0] * 4 + [1.0] * 4


def test_information_about_an_image():
    image = {"type": resources.IMAGE_2D_ARRAY, "depth": 4, "last_level": 2}
    found = sampled("image_get_resinfo", RAMP, [(0,), (1,), (3,)], image, dmask=15)
    assert found[:4].view(np.uint32).T.tolist() == [[4, 4, 5, 3], [2, 2, 5, 3], [0, 0, 0, 0]]


def test_outside_is_zero_with_ones_where_the_descriptor_has_them():
    image = {"dst_sel_y": resources.SEL_1}
    assert sampled("image_load", RAMP, [(4, 0), (3, 3)], image, dmask=3)[:2].T.tolist() == [[0.0, 1.0], [15.0, 1.0]]


@pytest.mark.parametrize(("name", "isa"), [("image_load", "gfx900"), ("image_sample_lz", "gfx8")])
def test_lwe_says_that_no_level_was_out_of_reach(name, isa):
    """Behind the data, in a register that LLVM's assembler does not name."""
    coordinates = [(1, 2)] if name == "image_load" else [(0.3, 0.6)]
    shown = sampled(name, RAMP, coordinates, {"dst_sel_y": resources.SEL_1}, isa=isa, dmask=3, lwe=1)
    plain = sampled(name, RAMP, coordinates, {"dst_sel_y": resources.SEL_1}, isa=isa, dmask=3)
    assert shown[:2].T.tolist() == [[9.0, 1.0]]
    assert shown[2].view(np.uint32).tolist() == [0]
    assert plain[2].view(np.uint32).tolist() == [HELD]


def test_lwe_does_not_hide_a_warning():
    with pytest.raises((AccessError, KernelFault), match="level of detail"):
        sampled("image_sample_lz", RAMP, [(0.3, 0.6)], {"min_lod_warn": 256}, lwe=1)


def test_descriptors_of_any_bits_end_in_a_result_or_a_fault(tmp_path):
    rng, values = random.Random(8), np.random.default_rng(8)
    row = named("gfx900", "MIMG", "image_sample_l")
    trial = None
    while trial is None:
        trial = make_trial(row, "gfx900", rng, values)
    path = tmp_path / "any.hsaco"
    path.write_bytes(assemble(kernel_text([trial], "gfx900"), "any.s", "gfx900").code)
    kernel = headwater.compile(path, device="vega64").k[(64,), (64,)]
    faults = []
    for _ in range(60):
        region = np.zeros(REGION_BYTES // 4, np.uint32)
        region[:16], region[64:] = trial.scalars, trial.vectors.reshape(-1)
        for _ in range(rng.choice([1, 3, 300])):
            region[rng.randrange(12)] ^= np.uint32(1 << rng.randrange(32))
        try:
            kernel(region, np.zeros(5 * 64, np.uint32), trial.memory.copy())
        except KernelFault as error:
            faults.append(str(error))
    assert 10 < len(faults) < 60
    assert all("descriptor" in fault or "reads" in fault for fault in faults)

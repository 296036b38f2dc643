"""IL that relies on the work-items of a wavefront being in step: which programs do, and that they run right elsewhere."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError
from headwater.il.cached_translation import translation_of
from headwater.il.checker import check
from headwater.il.legacy import modern
from headwater.il.lockstep import first_conflict
from headwater.il.parser import parse
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.launch_layout import in_step_layout

HEAD = """il_cs_2_0
dcl_num_thread_per_group {group}
dcl_literal l0, 4, 16, 64, 63
dcl_literal l1, 1, 2, 256, 1024
dcl_literal l2, 32, 7, 3, 5
dcl_literal l3, 8, 0, 20, 0xFFFFFFFF
dcl_literal l4, 1.0, 2.0, 3.0, 4.0
"""
LDS, VIEW, CONSTANTS = "dcl_lds_id(1) 1024\n", "dcl_raw_uav_id(0)\n", "dcl_cb cb0[1]\n"
PIXELS = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_literal l0, 16, 7, 0, 0
"""


def work_items(body, group="64"):
    return f"{HEAD.format(group=group)}{body}\nendmain\nend\n"


def loop(body, first="l3.y", last="l0.y", before=""):
    """A loop with r7.x from a number up to another, left out."""
    test = f"uge r6.x, r7.x, {last}\nbreak_logicalnz r6.x\n"
    return f"{before}mov r7.x, {first}\nwhileloop\n{test}{body}\niadd r7.x, r7.x, l1.x\nendloop"


OWN = "ishl r1.x, vTidInGrpFlat0.x, l1.y\n"  # a work-item's own word of LDS
STORE, NEXT = "lds_store_id(1) r1.x, r2.x\n", "iadd r3.x, r1.x, l0.x\nlds_load_id(1) r4.x, r3.x\n"
ROW = "imad r1.x, vAbsTid0.y, {0}, vAbsTid0.x\nishl r1.x, r1.x, l1.y\n"
IN_PLACE = "uav_raw_load_id(0) r2.x, {0}.x\nuav_raw_store_id(0) mem.x, r1.x, r2.x"

APART = {
    "own element": work_items("mov r0, g[vAbsTidFlat.x]\nmov g[vAbsTidFlat.x], r0"),
    "a group further on": work_items("mov r0, g[vAbsTidFlat.x+64]\nmov g[vAbsTidFlat.x], r0"),
    "own block": work_items("imul r1.x, vAbsTidFlat.x, l0.y\nmov r0, g[r1.x+3]\nmov g[r1.x+15], r0"),
    "own element by other numbers": work_items(
        "imad r1.x, vThreadGrpIdFlat.x, l0.z, vTidInGrp0.x\nmov r0, g[r1.x]\nmov g[vAbsTidFlat.x], r0".replace(
            "g[vAbsTidFlat.x]", "g[r1.x]"
        )
    ),
    "shuffled without conflict": work_items(
        "ixor r1.x, vTidInGrpFlat0.x, l0.w\nishl r1.x, r1.x, l1.y\nmov r0, g[r1.x+1]\nmov g[r1.x+2], r0"
    ),
    "fence between": work_items(f"{LDS}{OWN}{STORE}fence_threads_lds\n{NEXT}mov g[vAbsTidFlat.x], r4"),
    "two buffers": work_items(f"{VIEW}mov r0, g[vAbsTidFlat.x+1]\nuav_raw_store_id(0) mem, vTidInGrpFlat0.x, r0"),
    "atomics": work_items(f"{VIEW}uav_read_add_id(0) r0.x, l0.x, l0.y\nuav_read_add_id(0) r1.x, l0.x, r0.x"),
    "tiles": work_items(
        LDS + loop(f"{STORE}fence_threads_lds\n{NEXT}add r2.x, r2.x, r4.x\nfence_threads_lds", before=OWN)
    ),
    "all further on each trip": work_items(
        "mov r5.x, vAbsTidFlat.x\nwhileloop\nuge r6.x, r5.x, l1.w\nbreak_logicalnz r6.x\nmov r0, g[r5.x]\n"
        "mov g[r5.x], r0\niadd r5.x, r5.x, l0.z\nendloop"
    ),
    "own block in a loop": work_items(
        loop("iadd r8.x, r7.x, r5.x\nmov g[r8.x], r0", before="imul r5.x, vAbsTidFlat.x, l0.y\n")
    ),
    "rows": work_items(VIEW + ROW.format("l1.w") + IN_PLACE.format("r1"), "16, 16"),
    "rows as wide as only the run tells": work_items(
        VIEW + CONSTANTS + ROW.format("cb0[0].x") + IN_PLACE.format("r1"), "16, 16"
    ),
    "pixels": f"{PIXELS}ftoi r0, vWinCoord0\nimad r0.x, r0.y, l0.x, r0.x\nmov r1, g[r0.x]\nmov g[r0.x], r1\nend\n",
}
CONFLICTS = {  # and the lines in which they conflict, from the first one of the body on
    "mirrored": (work_items("ixor r1.x, vTidInGrpFlat0.x, l0.w\nmov r0, g[r1.x]\nmov g[vTidInGrpFlat0.x], r0"), 2, 3),
    "neighbours": (work_items("mov r0, g[vAbsTidFlat.x+1]\nmov g[vAbsTidFlat.x], r0"), 1, 2),
    "the last of a wavefront": (work_items("mov r0, g[vAbsTidFlat.x+63]\nmov g[vAbsTidFlat.x], r0"), 1, 2),
    "fence of one's own": (work_items(f"{LDS}{OWN}{STORE}fence_lds\n{NEXT}mov g[0], r4"), 3, 6),
    "one place": (work_items("mov g[0].x, vTidInGrpFlat0.x\nmov r1, g[0]"), 1, 2),
    "stores": (work_items("mov g[0], r0\nmov g[0], r1"), 1, 2),
    "atomics and a load": (work_items(f"{VIEW}uav_add_id(0) l0.x, l0.y\nuav_raw_load_id(0) r1.x, l0.x"), 2, 3),
    "where memory says": (work_items("mov r1, g[vAbsTidFlat.x]\nmov r2, g[r1.x+99]\nmov g[r1.x+99], r2"), 1, 3),
    "end of a tile": (work_items(LDS + loop(f"{STORE}fence_threads_lds\n{NEXT}".rstrip(), before=OWN)), 10, 7),
    "blocks in each other": (
        work_items(
            loop("iadd r8.x, r7.x, r5.x\nmov g[r8.x], r0", last="l3.z", before="imul r5.x, vAbsTidFlat.x, l0.y\n")
        ),
        7,
        7,
    ),
    "branches": (
        work_items("if_logicalnz r9.x\nmov g[vAbsTidFlat.x], r0\nelse\nmov r1, g[vAbsTidFlat.x+1]\nendif"),
        2,
        4,
    ),
    "a function": (
        work_items(
            "call 1\nmov g[r1.x], r2\nendmain\nfunc 1\nmov r1.x, vTidInGrpFlat0.x\nmov r2, g[r1.x+1]\nret\nendfunc"
        ).replace("endfunc\nendmain", "endfunc"),
        6,
        2,
    ),
    "other rows": (
        work_items(
            VIEW + CONSTANTS + ROW.format("cb0[0].x") + "iadd r3.x, r1.x, l0.x\n" + IN_PLACE.format("r3"), "16, 16"
        ),
        6,
        7,
    ),
    "pixels": (
        (
            f"{PIXELS}ftoi r0, vWinCoord0\nixor r2.x, r0.x, l0.y\nimad r2.x, r0.y, l0.x, r2.x\nimad r0.x, r0.y, l0.x, r0.x\n"
            "mov r1, g[r2.x]\nmov g[r0.x], r1\nend\n"
        ),
        5,
        6,
    ),
}


def found(source):
    program = modern(parse(source), "k.il")
    return first_conflict(program, check(program, "k.il"))


@pytest.mark.parametrize("name", APART)
def test_accesses_without_conflict_are_recognised(name):
    assert found(APART[name]) is None
    assert "volatile" not in translation_of(APART[name], "k.il").source.replace("volatile __global uint *p", "")


@pytest.mark.parametrize("name", CONFLICTS)
def test_accesses_that_may_conflict_are_found(name):
    source, earlier, later = CONFLICTS[name]
    first = next(
        n
        for n, line in enumerate(source.splitlines())
        if not line.startswith(("il_", "dcl_num", "dcl_lit", "dcl_in", "dcl_out"))
    )
    met = found(source)
    assert met is not None
    assert (met.earlier.line - first, met.later.line - first) == (earlier, later)
    assert "__hw_in_step_" in translation_of(source, "k.il").source


def test_long_programs_are_looked_at_in_time_that_grows_with_them():
    body = "".join(f"mad r{k + 1}, r{k}, l4, r{k}\n" for k in range(2_000))
    assert found(work_items(f"mov r0, g[vAbsTidFlat.x]\n{body}mov g[vAbsTidFlat.x], r2000")) is None
    nested = "mov r1, g[vAbsTidFlat.x]\nmov g[vAbsTidFlat.x], r1"
    for _ in range(12):
        nested = loop(nested)
    found(work_items(nested))  # as long as a minute if each loop took twice what is in it


# ---------------------------------------------------------------------------------------------- runs

TREE = "".join(
    f"ult r5.x, vTidInGrpFlat0.x, {count}\nif_logicalnz r5.x\niadd r3.x, r1.x, {by}\nlds_load_id(1) r4.x, r3.x\n"
    "lds_load_id(1) r6.x, r1.x\nadd r4.x, r4.x, r6.x\nlds_store_id(1) r1.x, r4.x\nendif\n"
    for count, by in (
        ("l2.x", "l5.x"),
        ("l0.y", "l0.z"),
        ("l3.x", "l2.x"),
        ("l0.x", "l0.y"),
        ("l1.y", "l3.x"),
        ("l1.x", "l0.x"),
    )
)
MIRROR = "ixor r1.x, vAbsTidFlat.x, l0.w\nmov r2, g[r1.x]\nmov g[vAbsTidFlat.x], r2"
RUNS = {  # body, group, global size
    "mirror": (MIRROR, "64", (192,)),
    "mirror in groups of 256": (MIRROR, "256", (512,)),
    "mirror in squares": (MIRROR, "16, 16", (32, 16)),
    "mirror in a part of a wavefront": (MIRROR.replace("l0.w", "l2.y"), "48", (144,)),
    "winner": (
        (
            "umod r1.x, vAbsTidFlat.x, l2.w\nmov g[r1.x+4].x, vAbsTidFlat.x\nmov r2.x, g[r1.x+4]\n"
            "mov g[vAbsTidFlat.x+16].x___, r2.x"
        ),
        "64",
        (192,),
    ),
    "tree without fences": (
        (
            f"dcl_literal l5, 128, 0, 0, 0\n{LDS}{OWN}mov r2, g[vAbsTidFlat.x]\n{STORE}{TREE}"
            "lds_load_id(1) r7, l3.y\nmov g[vAbsTidFlat.x], r7"
        ),
        "64",
        (192,),
    ),
    "uneven loop": (
        loop(
            "mov r2, g[vAbsTidFlat.x+1]\nmov r3, g[vAbsTidFlat.x]\nadd r2, r2, r3\nmov g[vAbsTidFlat.x], r2",
            last="r9.x",
            before="umod r9.x, vAbsTidFlat.x, l2.y\n",
        ),
        "64",
        (192,),
    ),
    "branches": (
        (
            "iand r5.x, vAbsTidFlat.x, l1.x\nif_logicalnz r5.x\nmov r2, g[vAbsTidFlat.x+1]\nadd r2, r2, r2\n"
            "mov g[vAbsTidFlat.x+1], r2\nelse\nmov r2, g[vAbsTidFlat.x+2]\nadd r2, r2, l4\nmov g[vAbsTidFlat.x+2], r2\nendif"
        ),
        "64",
        (192,),
    ),
}


def run(source, device, sizes, items):
    data = np.random.default_rng(1).integers(0, 1000, (items + 80, 4)).astype(np.float32)
    program = hw.compile(source, language="il", device=device)
    program.main[sizes](data, device=device)
    return data.view(np.uint32)


@pytest.mark.parametrize("name", RUNS)
def test_wavefronts_are_in_step_on_the_cpu_as_on_chips(name):
    body, group, size = RUNS[name]
    source = work_items(body, group)
    assert found(source) is not None
    sizes = (size, tuple(map(int, group.split(","))))
    items = int(np.prod(size))
    on_cpu = run(source, "cpu", sizes, items)
    assert (on_cpu == run(source, "hd5870", sizes, items)).all()
    if name.startswith("mirror"):
        before = np.random.default_rng(1).integers(0, 1000, (items + 80, 4)).astype(np.float32).view(np.uint32)
        place = np.arange(items) ^ (7 if "part" in name else 63)
        assert (on_cpu[:items] == before[place]).all()


def test_pixels_of_a_block_are_in_step_and_reported():
    body = "ftoi r0, vWinCoord0\nixor r2.xy, r0, l0.yyyy\nimad r2.x, r2.y, l0.x, r2.x\nimad r0.x, r0.y, l0.x, r0.x\n"
    source = f"{PIXELS}{body}mov r1, g[r2.x]\nmov g[r0.x], r1\nmov o0, r1\nend\n"
    with pytest.warns(UserWarning, match=r"pixels of a wavefront may access the same place of g in lines 9 and 10"):
        program = hw.compile(source, language="il", device="cpu")
    data = np.arange(16 * 16 * 4, dtype=np.float32).reshape(16, 16, 4)
    out = np.zeros_like(data)
    places = np.arange(16) ^ 7
    wanted = data[np.ix_(places, places)]
    program.main[(16, 16), None](g=data.reshape(256, 4), o0=out)
    assert (out == wanted).all()
    assert (data == wanted).all()


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_pixels_in_step_sample_textures_and_write_whole_pixels(device):
    texture = "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)\n"
    body = "ftoi r0, vWinCoord0\nixor r2.xy, r0, l0.yyyy\nimad r2.x, r2.y, l0.x, r2.x\nimad r0.x, r0.y, l0.x, r0.x\n"
    end = "mov r1, g[r2.x]\nmov g[r0.x], r1\nsample_resource(0)_sampler(0) r3, vWinCoord0.xy00\nmov o0, r3\nend\n"
    source = PIXELS.replace("dcl_output", f"{texture}dcl_output") + body + end
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        program = hw.compile(source, language="il", device=device)
    data = np.arange(16 * 16 * 4, dtype=np.float32).reshape(16, 16, 4)
    out = np.zeros_like(data)
    program.main[(16, 16), None](i0=data, g=data.reshape(256, 4).copy(), o0=out)
    assert (out == data).all()


@pytest.mark.parametrize("device", ["cpu", "hd5870"])
def test_checked_runs_tell_what_is_relied_on(device, tmp_path):
    path = tmp_path / "k.il"
    path.write_text(work_items(MIRROR))
    data = np.arange(256, dtype=np.float32).reshape(64, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = hw.compile(path, device=device)
        if device == "cpu":
            program.main[(64,), (64,)](data, device=device, check=True)
            assert data[0, 0] == 252
        else:
            with pytest.raises(hw.KernelFault, match=r"k\.il:"):
                program.main[(64,), (64,)](data, device=device, check=True)
    said = [str(one.message) for one in caught]
    assert (device == "cpu") == any(
        "k.il:10: work-items of a wavefront may access the same place of g" in s for s in said
    )


def test_groups_whose_wavefronts_cannot_be_kept_are_refused():
    program = hw.compile(work_items(MIRROR, "4, 4, 8"), language="il", device="cpu")
    data = np.zeros((128, 4), np.float32)
    with pytest.raises(
        SourceError, match=r"cannot keep the wavefronts .* in groups of 4 x 4 x 8, and work-items"
    ) as caught:
        program.main[(4, 4, 8), (4, 4, 8)](data)
    assert caught.value.span.line == 10
    assert caught.value.hint


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        ((64, 1, 1), Layout(16, 4, 0, 0)),
        ((256, 1, 1), Layout(16, 4, 0, 0)),
        ((48, 1, 1), Layout(16, 4, 0, 0)),
        ((20, 1, 1), Layout(16, 2, 0, 0)),
        ((4, 1, 1), Layout(4, 1, 0, 0)),
        ((64, 4, 2), Layout(16, 4, 0, 0)),
        ((16, 16, 1), Layout(16, 4, 0, 1)),
        ((32, 2, 4), Layout(32, 2, 0, 1)),
        ((8, 4, 1), Layout(8, 4, 0, 1)),
        ((12, 5, 1), Layout(16, 8, 0, 1)),
        ((4, 4, 8), None),
        ((96, 9, 1), None),
    ],
)
def test_chunks_are_whole_wavefronts(size, layout):
    assert in_step_layout((64, 1), size, 16) == layout

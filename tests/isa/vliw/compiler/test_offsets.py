"""Constants that are added to addresses: where fetches and LDS operations take them into their offsets, and that the
sum wraps as IL's does."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater import chips
from headwater.errors import HeadwaterError, KernelFault, LaunchError
from headwater.il.parser import parse
from headwater.isa.vliw.compiler import compile_program
from headwater.isa.vliw.printer import text

HEAD = "il_cs_2_0\ndcl_num_thread_per_group 64\n"
LITERALS = "dcl_literal l0, 0, 1, 2, 3\ndcl_literal l1, 63, 4, 16, 252\ndcl_literal l2, 20, 40, 8, 40\n"
# r1: minus the work-item's number, r2: minus it again, but as memory holds it, of which nothing is known.
NEGATIVE = "inegate r1.x, vTidInGrpFlat0.x\nmov r2, g[vTidInGrpFlat0.x]\nmov r2, r2.x\n"
WHOLE = "fence_threads_memory\nmov g[vTidInGrpFlat0.x], r9\nendmain\nend\n"
LDS = (
    "imul r3.x, vTidInGrpFlat0.x, l1.y\nlds_store_id({0}) r3.x, r2.y\nfence_threads_lds\n"
    "imul r3.x, MINUS.x, l1.y\niadd r3.x, r3.x, l1.w\nlds_load_id({0}) r9.x, r3.x\nmov r9, r9.x\n"
)
READS = {
    "g": ("", "iadd r3.x, MINUS.x, l1.x\nmov r9, g[r3.x]\n"),
    "g in brackets": ("", "mov r9, g[MINUS.x + 63]\n"),
    "cb": ("dcl_cb cb0[64]\n", "mov r9, cb0[MINUS.x + 63]\n"),
    "raw view": (
        "dcl_raw_uav_id(0)\n",
        "imul r3.x, MINUS.x, l1.y\niadd r3.x, r3.x, l1.w\nuav_raw_load_id(0) r9, r3.x\nmov r9, r9.x\n",
    ),
    "struct view": (
        "dcl_struct_uav_id(0) 4\n",
        "iadd r3.x, MINUS.x, l1.x\nmov r3.y, l0.x\nuav_struct_load_id(0) r9, r3.xy\nmov r9, r9.x\n",
    ),
    "srv": (
        "dcl_raw_srv_id(1)\n",
        "imul r3.x, MINUS.x, l1.y\niadd r3.x, r3.x, l1.w\nsrv_raw_load_id(1) r9, r3.x\nmov r9, r9.x\n",
    ),
    "lds": (
        "dcl_lds_id(1) 256\n",
        LDS.format(1),
    ),
    "second lds": ("dcl_lds_id(1) 64\ndcl_lds_id(2) 256\n", LDS.format(2)),
}


def program(name, register):
    declared, body = READS[name]
    negative = NEGATIVE.replace("mov r2, r2.x\n", "mov r2.y, vTidInGrpFlat0.x\n") if "lds" in name else NEGATIVE
    return f"{HEAD}{declared}{LITERALS}{negative}{body.replace('MINUS', register)}{WHOLE}"


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("register", ["r1", "r2"])
def test_a_constant_minus_a_variable(name, register):
    """Element 63 - n of 64, for work-item n: IL's addresses wrap, a fetch's do not."""
    devices = ["hd5870", *(["hd6970"] if "lds" in name or "view" in name else ["hd4870"])]
    numbers = np.arange(64, dtype=np.int32)
    elements = np.repeat(numbers[:, None], 4, 1)
    for device in devices:
        main = hw.compile(program(name, register), language="il", device=device).main
        held = {"g": -elements, "cb0": elements, "uav0": numbers.copy(), "i1": numbers}
        main[(64,), None](**{p.name: held[p.name] for p in main.parameters}, device=device)
        wanted = numbers[::-1] * (-1 if name.startswith("g") else 1)
        assert (held["g"] == wanted[:, None]).all(), (device, held["g"][:, 0])


@pytest.mark.parametrize("device", ["hd4870", "hd5870"])
def test_an_index_below_private_memory(device):
    """What is left of a pointer's address without its constant part may lie below the array."""
    source = """
    kernel void below(global const int *n, global int *out) {
      int s[8];
      int i = get_global_id(0), j = n[i], k = n[i + 1];
      for (int m = 0; m < 8; m++) s[m] = m * 10 + n[m];
      int *p = s + 4;
      out[i] = (p - j)[k];
    }"""
    n = np.random.default_rng(1).integers(0, 4, 80).astype(np.int32)
    out = np.zeros(64, np.int32)
    hw.compile(source, device=device).below[(64,), (64,)](n, out, device=device)
    held = np.arange(8) * 10 + n[:8]
    assert (out == held[4 - n[:64] + n[1:65]]).all()


# ---- what is still folded --------------------------------------------------------------------------------------------


def made(body, declared="", chip="hd5870"):
    source = f"{HEAD}{declared}{LITERALS}{body}mov g[vTidInGrpFlat0.x], r9\nendmain\nend\n"
    return text(compile_program(parse(source), chips.find(chip)).shader)


LOOP = "mov r3, l0.x\nwhileloop\n{0} r4.x, r3.x, {1}\nbreak_logicalnz r4.x\n{2}iadd r3.x, r3.x, l0.y\nendloop\n"


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        ("iadd r3.x, vTidInGrpFlat0.x, l1.y\nmov r9, g[r3.x]\n", 64),
        ("iadd r3.x, vAbsTidFlat0.x, l1.y\nmov r9, g[r3.x]\n", 64),
        ("mov r3, g[l0.x]\niand r3, r3, l1.x\nmov r9, g[r3.x + 5]\n", 80),
        ("mov r3, g[l0.x]\niand r3, r3, l1.x\numin r3, r3, l2.x\nishl r3, r3, l1.y\nmov r9, g[r3.x + 5]\n", 80),
        (LOOP.format("ige", "l1.x", "iadd r9, r9, g[r3.x + 2]\n"), 32),
        (LOOP.format("ieq", "l1.x", "ishl r5, r3.x, l1.y\niadd r9, r9, g[r5.x + 2]\n"), 32),
        ("mov r8, g[l0.x]\n" + LOOP.format("ige", "r8.x", "iadd r9, r9, g[r3.x + 3]\n"), 48),  # i < n, signed
    ],
)
def test_what_cannot_wrap_is_folded(body, offset):
    assert f"OFFSET({offset})" in made(body)


@pytest.mark.parametrize(
    "body",
    [
        "mov r3, g[l0.x]\nmov r9, g[r3.x + 5]\n",
        "mov r3, g[l0.x]\niand r3, r3, l1.x\ninegate r3, r3\nmov r9, g[r3.x + 63]\n",
        "mov r3, g[l0.x]\niand r3, r3, l1.x\nimul r3, r3, r9\nmov r9, g[r3.x + 5]\n",
        # i <= n may begin again with 2^31, and i != n with anything.
        "mov r8, g[l0.x]\n"
        + LOOP.format("ilt", "r8.x", "iadd r9, r9, g[r3.x + 3]\n").replace("r3.x, r8.x", "r8.x, r3.x"),
        "mov r8, g[l0.x]\n" + LOOP.format("ieq", "r8.x", "iadd r9, r9, g[r3.x + 3]\n"),
    ],
)
def test_what_may_wrap_is_added(body):
    assert " OFFSET(" not in made(body)


def test_pointers_of_opencl_are_folded():
    """Nothing lies below the first buffer, which is farther up than an offset reaches."""
    from headwater.il import from_llvm

    source = "kernel void sum(global const int *a, global int *o) { int n = a[0]; o[n] = a[n] + a[n + 4] + a[n + 9]; }"
    program = from_llvm.kernels(source, chips.find("hd5870")).kernels["sum"].program
    assert sorted(re.findall(r"OFFSET\((\d+)\)", text(compile_program(program, chips.find("hd5870")).shader)))[-2:] == [
        "16",
        "36",
    ]


# ---- outside ---------------------------------------------------------------------------------------------------------


def test_reads_that_are_partly_outside():
    """Direct3D 11's functional specification, ld_raw: 0 for the components that are outside."""
    source = f"{HEAD}dcl_raw_uav_id(0)\n{LITERALS}imul r1.x, vTidInGrpFlat0.x, l1.y\nuav_raw_load_id(0) r9, r1.x\n"
    source += "iadd r1.y, r1.x, l1.y\nuav_raw_load_id(0) r8.x, r1.y\niadd r9.x, r9.x, r8.x\n" + WHOLE
    for device in ("cpu", "hd5870"):
        view, g = np.arange(1, 63, dtype=np.int32), np.zeros((64, 4), np.int32)
        hw.compile(source, language="il", device=device).main[(64,), None](g=g, uav0=view, device=device)
        padded = np.concatenate([view, np.zeros(8, np.int32)])
        wanted = np.stack([padded[k : k + 64] for k in range(4)], 1)
        wanted[:, 0] += padded[1:65]
        assert (g == wanted).all(), (device, g[-6:])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("g in brackets", "reads 16 bytes at byte -16 of the global buffer, which is outside of it"),
        ("cb", "reads 16 bytes at byte -16 of cb0, which is outside of it"),
        ("raw view", "reads 4 bytes at byte -4 of uav0, which is outside of it"),
    ],
)
def test_a_check_tells_of_reads_outside(name, told):
    source = program(name, "r2").replace("l1, 63, 4, 16, 252", "l1, 63, 4, 16, 248").replace("+ 63", "+ 62")
    main = hw.compile(source, language="il", device="hd5870").main
    elements = np.repeat(np.arange(64, dtype=np.int32)[:, None], 4, 1)
    held = {"g": -elements, "cb0": elements, "uav0": np.arange(64, dtype=np.int32)}
    given = {p.name: held[p.name] for p in main.parameters}
    main[(64,), None](**given, device="hd5870")
    with pytest.raises(KernelFault) as caught:
        main[(64,), None](**given | {"g": -elements}, device="hd5870", check=True)
    assert f"work-item (63) of main {told}" in str(caught.value)
    assert (
        f":{1 + source[: source.index('mov r9') if name != 'raw view' else source.index('uav_raw')].count(chr(10))}:"
        in str(caught.value)
    )


OUTSIDE = {
    "g": ("", "mov g[r0.x], r0.xxxx\n"),
    "g, some components": ("", "mov g[r0.x].xyz, r0.xxxx\n"),
    "raw view": ("dcl_raw_uav_id(0)\n", "imul r1.x, r0.x, l1.z\nuav_raw_store_id(0) mem.xyzw, r1.x, r0.xxxx\n"),
    "typed view": ("dcl_uav_id(0)_type(1d)_fmtx(uint)\n", "uav_store_id(0) r0.x, r0.xxxx\n"),
    "atomic": (
        "dcl_raw_uav_id(0)\ndcl_raw_uav_id(1)\n",
        (
            "imul r1.x, r0.x, l1.y\nuav_read_add_id(0) r2.x, r1.x, r0.x\nmov r2.x, r2.x\n"
            "uav_raw_store_id(1) mem.x, r1.x, r2.x\n"
        ),
    ),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_written_outside_is_dropped_and_a_check_tells_of_it(name):
    """Of 64 work-items those in front of the end of the resource write, and of an element that is partly in front the
    dwords that are. The memory behind the resource stays."""
    declared, body = OUTSIDE[name]
    source = f"{HEAD}{declared}{LITERALS}mov r0.x, vTidInGrpFlat0.x\n{body}endmain\nend\n"
    devices = ["hd5870", *(["hd4870"] if name.startswith("g") else ["hd6970"])]
    numbers, held = np.arange(64, dtype=np.int32), 40 if name.startswith("g") else 50
    for device in devices:
        main = hw.compile(source, language="il", device=device).main
        shape = (64, 4) if name.startswith("g") else (64,)
        memory, old = np.full(shape, -1, np.int32), np.full(64, 7, np.int32)
        wanted = np.full(shape, -1, np.int32)
        if name.startswith("g"):
            wanted[:held, : 3 if "some" in name else 4] = numbers[:held, None]
            given = {"g": memory[:held]}
        elif name == "atomic":
            wanted[:held] += numbers[:held]
            given = {"uav0": memory[:held], "uav1": old}
        else:
            wanted[:held] = np.repeat(numbers, 4 if name == "raw view" else 1)[:held]
            given = {"uav0": memory[:held]}
        main[(64,), None](**given, device=device)
        assert (memory == wanted).all(), device
        assert name != "atomic" or (old == np.where(numbers < held, -1, 0)).all()
        if name != "typed view":  # elements outside of a typed view are dropped like pixels
            with pytest.raises(KernelFault, match="outside of"):
                main[(64,), None](**given, device=device, check=True)


@pytest.mark.parametrize("view", ["dcl_uav_id(0)_type(1d)_fmtx(uint)", "dcl_typed_uav_id(0)_type(1d)_fmtx(uint)"])
def test_atomic_functions_on_typed_views_count_elements(view):
    body = "uav_read_add_id(0) r2.x, r0.x, l0.y\nuav_add_id(0) r0.x, r2.x\n"
    source = f"{HEAD}{view}\n{LITERALS}mov r0.x, vTidInGrpFlat0.x\n{body}endmain\nend\n"
    for device in ("cpu", "hd5870", "hd6970"):
        held = np.arange(50, dtype=np.int32)
        hw.compile(source, language="il", device=device).main[(64,), None](uav0=held, device=device)
        assert (held == 2 * np.arange(50) + 1).all(), device
    with pytest.raises(HeadwaterError, match="typed view of two dimensions"):
        hw.compile(source.replace("1d", "2d"), language="il", device="hd5870").main[(64,), None](
            uav0=np.zeros((8, 8), np.int32), device="hd5870"
        )


def test_more_work_items_than_have_numbers():
    source = f"{HEAD}{LITERALS}mov r9, l0\n{WHOLE}"
    main = hw.compile(source, language="il", device="hd5870").main
    with pytest.raises(LaunchError, match=r"2147483712 work-items: .* numbers up to 2\*\*31"):
        main[(2**31 + 64,), None](np.zeros((64, 4), np.int32), device="hd5870")

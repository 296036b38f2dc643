"""What checked launches on simulated chips find, and what they do not take for an error."""

import mmap
import platform
import sys

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.gcn.waitcnt import hazards
from headwater.isa.gcn.codeobject import load
from headwater.opencl.gcn import compile_code_object
from headwater.opencl.gcn_build import assemble

SOURCE = """\
kernel void neighbour(global int *out) {
  local int tile[64];
  int i = get_local_id(0);
  tile[i] = i;
  out[get_global_id(0)] = tile[(i + 1) & 63];
}
kernel void groups(global int *out) {
  out[get_local_id(0)] = get_group_id(0) + 1;
}
kernel void pairs(global int *out) {
  int i = get_global_id(0);
  out[i / 2] = i;
}
kernel void half_tile(global int *out) {
  local int tile[64];
  int i = get_local_id(0);
  if (i < 32) tile[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[i];
}
kernel void copy(global int *out, global const int *in) {
  out[get_global_id(0)] = in[get_global_id(0)];
}
kernel void first_half(global int *out) {
  local int tile[64];
  int i = get_local_id(0);
  tile[i] = i;
  if (i < 32)
    barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[i];
}
kernel void first_wave(global int *out) {
  local int tile[128];
  int i = get_local_id(0);
  tile[i] = i;
  if (i < 64) barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[i];
}
kernel void odd(local int *tile, global int *out) {
  int i = get_local_id(0);
  ((local int *)((local char *)tile + 1))[2 * i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = i;
}
kernel void reduce(global int *out, global const int *in) {
  local int part[256];
  int i = get_local_id(0);
  part[i] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (i < s) part[i] += part[i + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0) out[get_group_id(0)] = part[0];
}
kernel void count(global int *sum, global int *most) {
  atomic_add(sum, 1);
  atomic_max(most, (int)get_global_id(0));
}
kernel void flag(global int *out, global const int *in) {
  if (in[get_global_id(0)] > 3) *out = 1;
}
kernel void bytes(global uchar *out) {
  out[get_global_id(0)] = get_global_id(0);
}
kernel void own(global int *data) {
  int i = get_global_id(0);
  data[i] = data[i] + 1;
  data[i] *= 2;
}
kernel void reuse(global int *out, int n) {
  local int tile[64];
  int i = get_local_id(0), sum = 0;
  for (int k = 0; k < n; k++) {
    tile[i] = i * k;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[i ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}
"""
INTS = np.arange(1024, dtype=np.int32)


@pytest.fixture(scope="module", params=["vega64", "fiji"])
def program(request):
    return hw.device(request.param).build(SOURCE, "checked.cl")


def checked(program, kernel, global_size, local_size, *args):
    own = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    program.kernels[kernel].prepare(global_size, local_size, check=True)(own, None, None).wait()
    return own


def fault(program, kernel, global_size, local_size, *args):
    with pytest.raises(hw.KernelFault) as caught:
        checked(program, kernel, global_size, local_size, *args)
    return str(caught.value)


def test_race_in_local_memory(program):
    text = fault(program, "neighbour", (64,), (64,), INTS)
    assert text.startswith("checked.cl:5:")
    assert "data race: work-item (0) of neighbour reads 4 bytes at byte 4 of local memory" in text
    assert "which work-item (1) writes too (64 times in all)" in text
    assert "the other access: checked.cl:4: tile[i] = i;" in text
    assert "hint: a barrier between them orders them" in text


def test_race_between_groups(program):
    text = fault(program, "groups", (256,), (64,), INTS)
    assert "work-item (64) of groups writes 4 bytes at byte 0 of `int *out`, which work-item (0) writes too" in text
    assert "work-groups run in any order" in text


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="MAP_32BIT is theirs")
def test_a_race_in_memory_below_four_gib(program):
    """Flat instructions reach the LDS too, and where the heap lies low an address alone looked like one of the LDS."""
    map_32bit = 0x40
    low = np.frombuffer(mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | map_32bit), np.int32)
    assert low.ctypes.data < 1 << 32
    text = fault(program, "groups", (256,), (64,), low)
    assert "writes 4 bytes at byte 0 of `int *out`, which" in text


def test_race_in_one_instruction(program):
    text = fault(program, "pairs", (64,), (64,), INTS)
    assert "work-item (1) of pairs writes 4 bytes at byte 0 of `int *out`, which work-item (0) writes too" in text


SUB_GROUPS = """
kernel void exchange(global int *out, int step) {
  local int tile[128];
  int i = get_local_id(0);
  tile[i] = i;
#ifdef TOO_LATE
  out[i] = tile[i ^ step];
#endif
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  int got = tile[i ^ step];
  sub_group_barrier(CLK_LOCAL_MEM_FENCE);
  tile[i] = got;
  out[i] = got;
}"""


KEPT = """
kernel void rows(global int *out, global const int *places, global const int *in, global int *more) {
  int l = get_local_id(0), sum = 0;
#pragma nounroll
  for (int k = 0; k < 3; k++) {
    int p = places[(get_group_id(0) * 3 + k) * 64 + l];
    sum += in[p];
    if (l < 48) out[p] = k;
  }
  more[get_global_id(0)] = sum;
}
kernel void crowd(global int *out, global const int *who, global const int *at) {
  local int tile[64];
  int l = get_local_id(0), g = get_group_id(0), sum = 0;
  if (l < 64) tile[l] = l;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l / 64 == who[g]) sum = tile[l & 3];
  if (l == 128) tile[at[g]] = 7;
  out[get_global_id(0)] = sum;
}"""


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_rows_of_lanes_before_and_behind_scattered_ones(device):
    """Lanes that are not active do not count as those of the row, though they would go on in it."""
    groups, lanes, rng = 4, np.arange(64), np.random.default_rng(0)
    area = 64 * groups
    places = [[64 * g + lanes, area + 64 * g + rng.permutation(64), 2 * area + 48 * g + lanes] for g in range(groups)]
    program = hw.device(device).build(KEPT, "kept.cl")
    args = [
        np.zeros(4 * area, np.int32),
        np.int32(places).reshape(-1),
        np.zeros(4 * area, np.int32),
        np.zeros(area, np.int32),
    ]
    out, *_ = checked(program, "rows", (area,), (64,), *args)
    assert (out[2 * area : 2 * area + 48 * groups] == 2).all()


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_one_of_several_readers_is_of_the_same_group(device):
    """The first wavefront read there in the group before, but not in this one."""
    program = hw.device(device).build(KEPT, "kept.cl")
    text = fault(program, "crowd", (384,), (192,), np.zeros(384, np.int32), np.int32([0, 1]), np.int32([40, 1]))
    assert "work-item (320) of crowd writes 4 bytes at byte 4 of local memory, which work-item (257) reads too" in text


@pytest.mark.parametrize(("options", "step", "found"), [("", 1, 0), ("", 64, 1), ("-D TOO_LATE", 1, 1)])
def test_barriers_of_sub_groups_keep_their_work_items_apart(options, step, found):
    """And not those of others, nor what is before them."""
    kernel = hw.device("vega64").build(SUB_GROUPS, "sub.cl", f"-cl-std=CL2.0 {options}").kernels["exchange"]
    out = np.zeros(128, np.int32)
    launch = kernel.prepare((128,), (128,), check=True)
    if found:
        with pytest.raises(hw.KernelFault, match="data race"):
            launch([out, step], None, None).wait()
    else:
        launch([out, step], None, None).wait()
        assert out.tolist() == [n ^ 1 for n in range(128)]


def test_local_memory_that_nobody_wrote(program):
    text = fault(program, "half_tile", (64,), (64,), INTS)
    assert "work-item (32) of half_tile reads 4 bytes at byte 128 of local memory, where no work-item" in text


def test_memory_without_data(program):
    device = program.device
    buffer = device.allocate(1024)
    text = fault(program, "copy", (256,), (64,), INTS, buffer)
    assert "work-item (0) of copy reads 4 bytes at byte 0 of `const int *in`, where nothing has been written" in text
    checked(program, "copy", (128,), (64,), buffer, INTS)
    text = fault(program, "copy", (256,), (64,), INTS, buffer)
    assert "work-item (128) of copy reads 4 bytes at byte 512" in text
    device.write(buffer, INTS[:256])
    assert (checked(program, "copy", (256,), (64,), INTS * 0, buffer)[0][:256] == INTS[:256]).all()


def test_what_unchecked_launches_write_counts(program):
    buffer = program.device.allocate(1024)
    program.kernels["copy"].prepare((256,), (64,))([buffer, INTS], None, None).wait()
    checked(program, "copy", (256,), (64,), INTS, buffer)


def test_barrier_that_lanes_miss(program):
    text = fault(program, "first_half", (64,), (64,), INTS)
    assert "work-item (32) of first_half does not reach a barrier where work-item (0) of its group waits" in text
    assert text.startswith("checked.cl:29:")


def test_barrier_that_a_wavefront_misses(program):
    text = fault(program, "first_wave", (128,), (128,), INTS)
    assert "wavefront 1 ends without having been at barrier number 1, where wavefront 0 of its group (0) was" in text


def test_misaligned_local_memory(program):
    text = fault(program, "odd", (64,), (64,), hw.Local(1024), INTS)
    assert "work-item (0) of odd writes 4 bytes at byte 1 of local memory, which is not aligned" in text


ONE_WAVEFRONT = """
__attribute__((reqd_work_group_size(16, 4, 1))) kernel void turn(global int *out) {
  local int tile[64];
  int i = get_local_id(1) * 16 + get_local_id(0);
  tile[i] = out[get_group_id(0) * 64 + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_group_id(0) * 64 + i] = tile[63 - i];
}
__attribute__((reqd_work_group_size(64, 1, 1))) kernel void between(global int *out) {
  out[get_local_id(0)] = get_group_id(0);
}
"""


def test_groups_of_one_wavefront_need_no_barriers():
    """LLVM leaves barriers out where a group is declared to be no larger; groups are synchronised all the same."""
    for device in ("vega64", "fiji", "hd7970"):
        program = hw.device(device).build(ONE_WAVEFRONT, "one.cl")
        (out,) = checked(program, "turn", (64, 4), (16, 4), INTS)
        assert (out[:256].reshape(4, 64) == INTS[:256].reshape(4, 64)[:, ::-1]).all()
        assert "data race" in fault(program, "between", (128,), (64,), INTS)


def test_private_structures_in_local_memory():
    """On Vega LLVM accesses them at any address."""
    source = """
typedef struct __attribute__((packed)) { char tag; int value; short more; } Item;
kernel void pack(global int *out, int n) {
  Item items[3];
  for (int k = 0; k < 3; k++) { items[k].tag = k; items[k].value = n * k + out[get_global_id(0)]; items[k].more = 7 * k; }
  out[get_global_id(0)] = items[n % 3].value + items[(n + 1) % 3].tag + items[(n + 2) % 3].more;
}"""
    for device in ("vega64", "mi50", "fiji"):
        out, _ = checked(hw.device(device).build(source, "pack.cl"), "pack", (256,), (64,), INTS, 4)
        assert (out[:256] == 4 + INTS[:256] + 2 + 0).all()


def test_a_message_tells_ten_findings():
    stores = "".join(f"  out[{n} * 64 + get_local_id(0)] = get_group_id(0);\n" for n in range(16))
    program = hw.device("vega64").build(f"kernel void many(global volatile int *out) {{\n{stores}}}", "many.cl")
    text = fault(program, "many", (128,), (64,), INTS)
    assert text.count("data race: ") == 10
    assert "\n\nand 15 more:\n\n" in text
    assert text.endswith("… and 6 more places")


def test_right_kernels_are_left_alone(program):
    out, _ = checked(program, "reduce", (1024,), (256,), INTS * 0, INTS)
    assert out[:4].tolist() == INTS.reshape(4, 256).sum(1).tolist()
    total, most = checked(program, "count", (1024,), (128,), INTS[:1] * 0, INTS[:1] * 0)
    assert (total[0], most[0]) == (1024, 1023)
    checked(program, "flag", (1024,), (64,), INTS * 0, INTS)
    checked(program, "bytes", (256,), (64,), np.zeros(256, np.uint8))
    assert checked(program, "own", (256,), (64,), INTS)[0][5] == 12
    checked(program, "reuse", (256,), (64,), INTS, 5)
    checked(program, "copy", (100,), (20,), INTS, INTS)


def test_memory_faults_come_first(program):
    assert "reads 4 bytes" in fault(program, "copy", (256,), (64,), INTS, INTS[:100])


KERNEL = "kernel void add(global const float *a, global float *b) { b[get_global_id(0)] += a[get_global_id(0)]; }"


@pytest.mark.parametrize("target", ["gfx900", "gfx803", "gfx600", "gfx90a"])
def test_a_missing_wait_is_found(target):
    text = compile_code_object(KERNEL, "add.cl", "", target, emit="asm").code.decode()
    right = load(assemble(text, "add.s", target).code, "add.s")
    assert all(hazard.from_lds for hazard in hazards(right, "add"))  # flat loads, of global memory
    lines = text.splitlines()
    waits = [n for n, line in enumerate(lines) if "s_waitcnt" in line and "vmcnt" in line]
    wrong = "\n".join(line for n, line in enumerate(lines) if n not in waits)
    found = hazards(load(assemble(wrong, "add.s", target).code, "add.s"), "add")
    assert found
    assert all(hazard.load < hazard.use and hazard.registers.startswith("v") for hazard in found)


def test_a_wait_for_too_few_is_found():
    text = compile_code_object(KERNEL, "add.cl", "", "gfx900", emit="asm").code.decode()
    code = load(assemble(text.replace("lgkmcnt(0)", "lgkmcnt(1)"), "add.s", "gfx900").code, "add.s")
    assert any(hazard.registers.startswith("s") for hazard in hazards(code, "add"))


FLAT = """
	ds_read_b64 v[63:64], v63
	flat_load_dwordx4 v[41:44], v[41:42]
	flat_load_dwordx4 v[45:48], v[47:48]
	flat_load_dwordx4 v[49:52], v[49:50]
	s_waitcnt {wait}
	v_mac_f32_e32 v71, v63, v41
"""


@pytest.mark.parametrize(
    ("wait", "missing"),
    [
        ("vmcnt(1) lgkmcnt(1)", ""),
        ("vmcnt(2) lgkmcnt(2)", ""),
        ("vmcnt(3) lgkmcnt(2)", "v41"),
        ("vmcnt(2) lgkmcnt(3)", "v41 from the LDS"),
        ("vmcnt(2) lgkmcnt(4)", "v41 from the LDS, v63"),
        ("vmcnt(2)", "v41 from the LDS, v63"),
        ("lgkmcnt(2)", "v41"),
    ],
)
def test_flat_loads_count_twice(wait, missing):
    """AMD's compilers for gfx803 let some flat loads be under way when they use an earlier one, or the LDS'."""
    text = compile_code_object(KERNEL, "add.cl", "", "gfx803", emit="asm").code.decode()
    before, end, after = text.partition("\ts_endpgm")
    code = load(assemble(before + FLAT.format(wait=wait) + end + after, "add.s", "gfx803").code, "add.s")
    found = {h.registers + " from the LDS" * h.from_lds for h in hazards(code, "add") if h.registers in ("v41", "v63")}
    assert ", ".join(sorted(found)) == missing


EITHER = """
kernel void pick(global int *out, global const int *in, int which) {
  local int held[64];
  int i = get_local_id(0);
  held[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int *p = which ? (const int *)&in[i] : (const int *)&held[63 - i];
  out[i] = *p;
}"""


@pytest.mark.parametrize(("wait", "which", "found"), [("0) lgkmcnt(0", 0, False), ("0", 1, False), ("0", 0, True)])
def test_flat_loads_of_local_memory_are_waited_for_with_it(wait, which, found):
    text = compile_code_object(EITHER, "pick.cl", "-cl-std=CL2.0", "gfx803", emit="asm").code.decode()
    text = text.replace("vmcnt(0) lgkmcnt(0)", f"vmcnt({wait})")
    device = hw.device("fiji")
    kernel = device.load(assemble(text, "pick.s", "gfx803").code, "pick.hsaco").kernels["pick"]
    launch = kernel.prepare((64,), (64,), check=True)
    if found:
        with pytest.raises(hw.KernelFault, match=r"pick uses v\d+ before the load has been waited for"):
            launch([INTS[:64].copy(), INTS, which], None, None).wait()
    else:
        launch([INTS[:64].copy(), INTS, which], None, None).wait()

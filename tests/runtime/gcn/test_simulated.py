"""Simulated devices: OpenCL C, code objects and Brook+ run emulated, with the whole of the run-time's surface."""

import shutil

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DeviceError, HeadwaterError, KernelFault, LaunchError, ResourceError, UsageError
from headwater.opencl.gcn import compile_code_object
from headwater.opencl.gcn_build import assemble

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c, int n) {
  int i = get_global_id(0);
  if (i < n)
    c[i] = a[i] + b[i];
}

kernel void shared_sum(global const int *in, global int *out, local int *part) {
  int lid = get_local_id(0), size = get_local_size(0);
  part[lid] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = size / 2; step > 0; step /= 2) {
    if (lid < step)
      part[lid] += part[lid + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0)
    out[get_group_id(0)] = part[0];
}

kernel void where(global int *out) {
  int at = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  out[at] = get_local_id(0) + 100 * get_local_id(1) + 10000 * get_local_id(2) + 1000000 * get_group_id(1);
}

kernel void count(global int *bins, global const uchar *in) { atomic_inc(&bins[in[get_global_id(0)]]); }

kernel void grey(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, read_imagef(in, s, at).zyxw);
}

kernel void say(int x) { printf("%d and %s %.2f\\n", x + (int)get_global_id(0), "words", 0.5f); }

kernel void beyond(global float *a, int at) {
  if (get_global_id(0) == 70)
    a[at] = 1.0f;
}

kernel void backwards(global int *out) {
  local int tile[64];
  int i = get_local_id(0);
  tile[i] = 3 * i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = tile[63 - i];
}

kernel void forever(global int *a) { while (a[0] == 0) a[1]++; }
"""


@pytest.fixture(scope="module")
def device():
    return hw.device("vega64")


@pytest.fixture(scope="module")
def program(device):
    return hw.compile(SOURCE, device=device)


def test_names_find_devices(device):
    assert hw.device("Vega 64") is device
    assert device.kind == "simulated"
    assert "gfx900" in device.description


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_partial_wavefronts(program, size):
    a, b, c = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), np.zeros(1000, np.float32)
    event = program.add[(1024,), (size if 1024 % size == 0 else 64,)](a, b, c, size)
    assert (c[:size] == a[:size] + 1).all()
    assert not c[size:].any()
    assert event.seconds > 0


@pytest.mark.parametrize("group", [1, 32, 256, 512])
def test_barriers_between_wavefronts(program, group):
    data = np.random.default_rng(1).integers(0, 1000, 2048).astype(np.int32)
    out = np.zeros(2048 // group, np.int32)
    program.shared_sum[(2048,), (group,)](data, out, hw.Local(4 * group))
    assert (out == data.reshape(-1, group).sum(axis=1)).all()


def test_addresses_in_local_memory_wrap(program):
    out = np.zeros(64, np.int32)
    program.backwards[(64,), (64,)](out)
    assert (out == 3 * np.arange(64)[::-1]).all()


def test_unaligned_private_memory():
    """LLVM joins neighbouring stores to private memory into one of a dword, aligned or not."""
    source = """
typedef uint apart __attribute__((aligned(1)));
kernel void k(global uint *out, int n) {
  volatile uchar bytes[40];
  uint i = get_global_id(0);
  for (int k = 0; k < 40; k++) bytes[k] = k;
  *(volatile apart *)(bytes + n + (i & 7)) = 0x01020304u * (i + 1);
  out[i] = *(volatile apart *)(bytes + n + 2);
}
"""
    for device in ("vega64", "r9-nano"):
        for n in (0, 1, 2, 3, 24):
            out = np.zeros(70, np.uint32)
            hw.compile(source).k[(70,), (70,)](out, n, device=device)
            for i in range(70):
                memory = np.arange(40, dtype=np.uint8)
                place = n + (i & 7)
                memory[place : place + 4] = np.array([0x01020304 * (i + 1) & 0xFFFFFFFF], np.uint32).view(np.uint8)
                assert out[i] == memory[n + 2 : n + 6].copy().view(np.uint32)[0]


def test_ids_in_three_dimensions(program):
    out = np.zeros((4, 6, 10), np.int32)
    program.where[(10, 6, 4), (5, 3, 2)](out)
    z, y, x = np.indices(out.shape)
    assert (out == x % 5 + 100 * (y % 3) + 10000 * (z % 2) + 1000000 * (y // 3)).all()


def test_atomics_of_all_threads(program):
    data = np.random.default_rng(2).integers(0, 16, 4096).astype(np.uint8)
    bins = np.zeros(16, np.int32)
    program.count[(4096,), (64,)](bins, data)
    assert (bins == np.bincount(data, minlength=16)).all()


def test_images_and_samplers(program):
    pixels = np.random.default_rng(3).integers(0, 256, (8, 16, 4)).astype(np.uint8)
    out = np.zeros_like(pixels)
    program.grey[(16, 8), None](hw.Image(pixels), hw.Image(out), hw.Sampler())
    assert (out == pixels[..., [2, 1, 0, 3]]).all()


def test_printf(program, capsys):
    program.say[(2,), (1,)](40)
    assert sorted(capsys.readouterr().out.splitlines()) == ["40 and words 0.50", "41 and words 0.50"]


def test_streams_and_queues(program, device):
    a, c = hw.stream(np.arange(100, dtype=np.float32), device=device), np.zeros(100, np.float32)
    with hw.Queue(device) as queue:
        program.add[(100,), None](a, np.ones(100, np.float32), c, 100, queue=queue)
    assert (c == np.arange(100) + 1).all()


def test_global_offset(program):
    a, b, c = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    program.add[(50,), None](a, b, c, 100, offset=(50,))
    assert not c[:50].any()
    assert (c[50:] == a[50:] + 1).all()


def test_a_fault_names_line_instruction_and_work_item(program):
    with pytest.raises(KernelFault) as error:
        program.beyond[(128,), (64,)](np.zeros(100, np.float32), 100)
    text = str(error.value)
    for part in (
        "work-item (70) of beyond writes 4 bytes at byte 400 of `float *a`",
        "400 bytes",
        "global_store_dword",
    ):
        assert part in text
    assert "a[at] = 1.0f;" in text


def test_what_is_read_only_stays_so(program):
    constant = np.zeros(100, np.float32)
    constant.flags.writeable = False
    with pytest.raises(LaunchError):
        program.beyond[(128,), (64,)](constant, 3)


def test_endless_loops_are_stopped(program):
    with pytest.raises(KernelFault, match="time limit"):
        program.forever[(64,), (64,)](np.zeros(4, np.int32), time_limit=0.2)


def test_too_much_local_memory(program):
    with pytest.raises(ResourceError, match="70000 bytes of local memory"):
        program.shared_sum[(64,), (64,)](np.zeros(64, np.int32), np.zeros(1, np.int32), hw.Local(70000))


def test_groups_beyond_the_chip(program):
    with pytest.raises(LaunchError, match="1024"):
        program.where[(2048,), (2048,)](np.zeros(2048, np.int32))


@pytest.mark.parametrize("size", [(1 << 40,), (1, 1 << 32)])
def test_sizes_beyond_a_dispatch_packet_are_refused(size):
    k = hw.compile("kernel void k(global int *o) { o[0] = 1; }", device="vega64").k
    with pytest.raises(LaunchError, match=r"a dimension of 2\*\*32 or more"):
        k[size, None](np.zeros(1, np.int32))


def test_groups_of_a_thousand_work_items(program):
    out = np.zeros(1024, np.int32)
    program.where[(1024,), (1024,)](out)
    assert (out == np.arange(1024)).all()


@pytest.fixture(scope="module")
def code_object(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "add.hsaco"
    path.write_bytes(compile_code_object(SOURCE.split("kernel void shared_sum")[0], "add.cl", "", "gfx900").code)
    return path


def test_code_objects_run(code_object):
    program = hw.compile(code_object)
    c = np.zeros(100, np.float32)
    program.add[(128,), (64,)](np.arange(100, dtype=np.float32), np.ones(100, np.float32), c, 100)
    assert (c == np.arange(100) + 1).all()


def test_code_for_another_chip_is_refused(code_object):
    with pytest.raises(UsageError, match=r"gfx900.*gfx803"):
        hw.compile(code_object, device="r9-nano")
    with pytest.raises(DeviceError, match="machine code"):
        hw.compile(code_object, device="cpu")


def test_an_instruction_that_is_not_emulated_is_named(tmp_path):
    text = compile_code_object(SOURCE.split("kernel void shared_sum")[0], "add.cl", "", "gfx900", emit="asm").code
    edited = text.decode().replace("s_endpgm", "ds_condxchg32_rtn_b64 v[0:1], v0, v[2:3]\n\ts_endpgm", 1)
    path = tmp_path / "edited.hsaco"
    path.write_bytes(assemble(edited, "edited.s", "gfx900").code)
    numbers = np.zeros(64, np.float32)
    with pytest.raises(KernelFault, match=r"ds_condxchg32_rtn_b64 v(.|\n)*hint: this exchange"):
        hw.compile(path).add[(64,), (64,)](numbers, numbers, numbers.copy(), 64)


def test_truncated_code_objects_are_refused(tmp_path, code_object):
    path = tmp_path / "cut.hsaco"
    path.write_bytes(code_object.read_bytes()[:3000])
    with pytest.raises(HeadwaterError):
        hw.compile(path)


@pytest.mark.parametrize("name", ["hd7970", "r9-290x", "r9-nano", "mi50", "mi250x"])
def test_every_generation(name):
    program = hw.compile(SOURCE.split("kernel void where")[0], device=name)
    a, b, c = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    program.add[(128,), (64,)](a, b, c, 100)
    assert (c == a + 1).all()
    data, out = np.arange(256, dtype=np.int32), np.zeros(2, np.int32)
    program.shared_sum[(256,), (128,)](data, out, hw.Local(512))
    assert (out == data.reshape(2, 128).sum(axis=1)).all()


INDEXED = """
kernel void indexed(global const int *in, global const int *where, global int *out, int rounds) {
  int i = get_global_id(0), kept[16], sum = 0;
  for (int j = 0; j < 16; j++)
    kept[j] = in[i * 16 + j];
  for (int j = 0; j < rounds; j++) {
    int at = where[j] & 15;
    kept[at] += kept[(at * 7 + j) & 15];
  }
  for (int j = 0; j < 16; j++)
    sum = sum * 31 + kept[j];
  out[i] = sum;
}
"""


@pytest.mark.parametrize("name", ["vega64", "r9-nano"])
def test_registers_by_index(name):
    rng = np.random.default_rng(4)
    given, where = rng.integers(0, 1 << 30, (64, 16)).astype(np.int32), rng.integers(0, 16, 8).astype(np.int32)
    out = np.zeros(64, np.int32)
    hw.compile(INDEXED, device=name).indexed[(64,), (64,)](given, where, out, 8)
    kept, total = given.astype(np.uint32), np.zeros(64, np.uint32)
    for j, at in enumerate(where):
        kept[:, at] += kept[:, (at * 7 + j) & 15]
    for j in range(16):
        total = total * np.uint32(31) + kept[:, j]
    assert (out.view(np.uint32) == total).all()


def test_brook():
    program = hw.compile("kernel void twice(float a<>, out float b<>) { b = a + a; }", device="vega64")
    a = np.arange(1000, dtype=np.float32)
    with hw.device("vega64"):
        b = program.twice(a)
    assert (np.asarray(b) == 2 * a).all()


@pytest.mark.parametrize("name", ["hd7970", "vega64", "mi250x"])
def test_a_counter_in_local_memory(name):
    """clang's built-in becomes ds_append: each wavefront's active lanes get what the counter was."""
    text = """kernel void k(global int *o) {
      local int n;
      int i = get_local_id(0);
      if (i == 0) n = 100;
      barrier(CLK_LOCAL_MEM_FENCE);
      o[i] = i % 3 == 0 ? __builtin_amdgcn_ds_append(&n) : -1;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i == 0) o[128] = n;
    }"""
    out = np.zeros(129, np.int32)
    hw.device(name).build(text, "k.cl").kernels["k"].prepare((128,), (128,))([out], None, None).wait()
    chosen = np.arange(128) % 3 == 0
    first = int(chosen[:64].sum())
    assert (out[:128] == np.where(chosen, np.where(np.arange(128) < 64, 100, 100 + first), -1)).all()
    assert out[128] == 100 + chosen.sum()


def test_sizes_share_code_that_was_read_from_the_cache_once(monkeypatch):
    kernel = hw.device("vega64").build(SOURCE, "sizes.cl", "").kernels["where"]

    def run(size):
        out = np.zeros(size, np.int32)
        launch = kernel.prepare((size,), (64,), ())
        launch([out])
        assert out.tolist() == [i % 64 for i in range(size)]
        return launch.native.library

    library = run(128)
    with monkeypatch.context() as patched:
        patched.setattr("headwater.emulate.gcn.native.cache.get", lambda key: pytest.fail("read again"))
        assert run(192) == library
    shutil.rmtree(library.parent)  # as another process may
    assert run(256).is_file()

"""Through which arguments kernels write, and that checks find what there is to find where they keep no reads."""

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.gcn.program import read_program
from headwater.emulate.gcn.provenance import provenance
from headwater.isa.gcn.codeobject import load
from headwater.isa.gcn.decode import decode
from headwater.opencl.gcn import compile_code_object

SOURCE = """
kernel void add(global const float *a, global const float *b, global float *c) {
  int i = get_global_id(0);
  c[i] = a[i] + b[i];
}
kernel void either(global int *a, global int *b, global const int *which, global const int *from) {
  int i = get_global_id(0);
  global int *to = which[i] ? a : b;
  to[i] = from[which[i] * 3];
}
kernel void scatter(global const int *places, global const int *a, global int *b, long offset) {
  b[places[get_global_id(0)] + offset] = a[get_global_id(0)];
}
kernel void chase(global ulong *links, global int *a) {
  global int *p = a;
  for (int k = 0; k < 4; k++) {
    *p = k;
    p = (global int *)links[2 * k + get_global_id(0)];
  }
}
kernel void through_memory(global ulong2 *links, global const int *a) {
  *(global int *)links[get_global_id(0)].y = a[0];
}
kernel void counts(global const uint *data, global uint *own, global uint *all) {
  atomic_inc(&own[data[get_global_id(0)] & 7]);
  if (data[0]) atomic_add(all, 1);
}
kernel void mirror(global const int *in, global int *out) {
  out[get_global_id(0)] = in[get_global_size(0) - 1 - get_global_id(0)];
}
kernel void same_place(global const int *in, global int *out) {
  out[get_global_id(0)] = in[get_global_id(0)] + 1;
}
kernel void late(global const int *in, global int *out, global int *sums) {
  int sum = 0;
  for (int k = 0; k < 64; k++) sum += in[k * 3];
  sums[get_global_id(0)] = sum;
  if (get_global_id(0) == get_global_size(0) - 1) out[96] = sum;
}
kernel void private_array(global const int *in, global int *out, int n) {
  int kept[64];
  for (int k = 0; k < 64; k++) kept[k * n & 63] = in[k];
  out[get_global_id(0)] = kept[n & 63];
}
"""
WRITTEN = {
    "add": {"c"},
    "either": {"a", "b"},
    "scatter": {"b"},
    "chase": None,
    "through_memory": None,
    "counts": {"own", "all"},
    "mirror": {"out"},
    "late": {"out", "sums"},
    "private_array": {"out"},
}
INTS = np.arange(1024, dtype=np.int32)


@pytest.mark.parametrize("target", ["gfx900", "gfx600", "gfx803", "gfx90a"])
def test_pointers_that_are_written_through(target):
    code = load(compile_code_object(SOURCE, "through.cl", "", target).code, "through.co")
    image = code.image()
    for name, wanted in WRITTEN.items():
        kernel = code.kernels[name]
        program = read_program(
            lambda address: decode(image, address, code.isa),
            kernel.entry,
            code.isa,
            lambda address: code.text_start <= address < code.text_end,
        )
        found = provenance(program, kernel, target)
        names = None if found is None else {kernel.args[number].name for number in found.written}
        assert names == wanted, name


@pytest.fixture(scope="module", params=["vega64", "fiji"])
def kernels(request):
    return hw.device(request.param).build(SOURCE, "through.cl").kernels


def run(kernel, size, *args):
    kernel.prepare((size,), (64,), check=True)(args, None, None).wait()


def test_a_buffer_given_twice_has_its_reads_kept(kernels):
    both = INTS.copy()
    with pytest.raises(hw.KernelFault, match="data race"):
        run(kernels["mirror"], 1024, both, both)
    run(kernels["same_place"], 1024, both, both)
    run(kernels["mirror"], 1024, INTS, both)
    assert (both == INTS[::-1]).all()


@pytest.mark.parametrize("groups", [2, 20, 1200])
def test_what_is_written_when_all_have_read(kernels, groups):
    both, sums = np.zeros(1024, np.int32), np.zeros(64 * groups, np.int32)
    with pytest.raises(hw.KernelFault) as caught:
        run(kernels["late"], 64 * groups, both, both, sums)
    text = str(caught.value)
    assert "data race: " in text
    assert "4 bytes at byte 384 of `const int *in`" in text
    run(kernels["late"], 64 * groups, np.zeros(1024, np.int32), both, sums)


def test_parts_of_a_buffer_that_overlap(kernels):
    both = np.zeros(1536, np.int32)
    with pytest.raises(hw.KernelFault, match="data race"):
        run(kernels["mirror"], 1024, both, both[:1024])
    run(kernels["same_place"], 768, both[:768], both[768:])


def test_one_of_two_pointers(kernels):
    a, b, which = INTS.copy(), INTS.copy(), INTS % 2
    run(kernels["either"], 1024, a, b, which, INTS)
    with pytest.raises(hw.KernelFault, match="data race"):
        run(kernels["either"], 1024, a, b, which, a)
    with pytest.raises(hw.KernelFault, match="data race"):
        run(kernels["either"], 1024, a, b, which, b)


def test_a_store_that_ends_up_in_another_buffer(kernels):
    a, b, places = INTS.copy(), INTS.copy(), INTS[::-1].copy()
    run(kernels["scatter"], 1024, places, a, b, 0)
    with pytest.raises(hw.KernelFault) as caught:
        run(kernels["scatter"], 1024, places, a, b, (a.ctypes.data - b.ctypes.data) // 4)
    assert "work-item (0) of scatter writes 4 bytes at byte 4092 of `const int *a`, by a pointer to another" in str(
        caught.value
    )
    assert "(1,024 times in all)" in str(caught.value)


def test_reads_by_a_pointer_to_another_buffer_are_kept(kernels):
    """Of what is written, though the pointer is to what is not."""
    a, b, sums = INTS.copy(), INTS.copy(), np.zeros(1024, np.int32)
    run(kernels["late"], 1024, a, b, sums)
    device = hw.device("vega64")
    body = "{ b[get_global_id(0)] = a[n - get_global_id(0)]; }"
    source = f"kernel void f(global const int *a, global int *b, long n) {body}"
    kernel = device.build(source, "f.cl").kernels["f"]
    with pytest.raises(hw.KernelFault, match="data race"):
        run(kernel, 1024, a, b, (b.ctypes.data - a.ctypes.data) // 4 + 1023)
    run(kernel, 1024, a, b, 1023)


def test_memory_without_data_that_is_only_read(kernels):
    device = hw.device("vega64")
    program = device.build(SOURCE, "through.cl")
    empty = device.allocate(4096)
    with pytest.raises(hw.KernelFault, match="where nothing has been written"):
        run(program.kernels["same_place"], 1024, empty, INTS.copy())

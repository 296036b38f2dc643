"""A device says that it has an extension, defines its macro and runs kernels of it rightly, or does none of these."""

from dataclasses import dataclass

import numpy as np
import pytest

import headwater as hw
from headwater.errors import HeadwaterError, InternalError, SourceError
from headwater.icd.server.devices import _chip_facts, _infos, _own_facts
from headwater.opencl import extensions
from headwater.runtime.interface import resolve

DEVICES = ("cpu", "hd2400-xt", "hd4870", "hd5450", "hd5870", "hd7970", "r9-290x", "vega64")
I = np.arange(64)  # noqa: E741 - the work-items' numbers
ODD_ONES = int(np.bitwise_xor.reduce(I * 5))


@dataclass(frozen=True)
class Use:
    """A kernel that is right where there is an extension: its body, types of its two arguments, what it reads and
    leaves there."""

    types: str
    body: str
    given: np.ndarray
    wanted: np.ndarray
    before: int = 0
    head: str = ""
    image: str = ""

    def kernel(self):
        return f"{self.head}\nkernel void k({self.types}) {{ int i = get_global_id(0); {self.body} }}"

    def argument(self, array, position):
        return hw.Image(array, dimensions=self.image[:2]) if self.image[3:] in ("both", str(position)) else array


INTS = "global const int *a, volatile global int *o"
LONGS = "global const long *a, volatile global long *o"
ATOMIC = "global const int *a, volatile global atomic_int *o"
LONG = I.astype(np.int64) << 35
PIXELS = np.arange(256, dtype=np.float32)
LOCAL = "local int t[3]; if (i < 3) t[i] = 0; barrier(CLK_LOCAL_MEM_FENCE);"
TOLD = "barrier(CLK_LOCAL_MEM_FENCE); if (i < 3) o[i] = t[i];"
NUMBERS = I.astype(np.int32)


def int_use(body, wanted, **more):
    return Use(INTS, body, NUMBERS, np.array(wanted, np.int32), **more)


def of_order(order, scope):
    body = f"atomic_fetch_add_explicit(o, a[i], memory_order_{order}, memory_scope_{scope});"
    return Use(ATOMIC, body, NUMBERS, np.array([I.sum()], np.int32))


DOUBLES = Use(
    "global const double *a, global double *o", "o[i] = a[i] * 3.0 + 1.0 / (1L << 40);", I / 4, I / 4 * 3 + 2.0**-40
)
SUB_GROUPS = int_use("o[i] = sub_group_all(a[i] >= 0) + sub_group_broadcast(a[i] < 64, 0);", np.full(64, 2))
WRITES_3D = Use(
    "global const float4 *a, write_only image3d_t o",
    "write_imagef(o, (int4)(i & 3, i >> 2 & 3, i >> 4, 0), a[i]);",
    PIXELS.reshape(64, 4),
    PIXELS.reshape(4, 4, 4, 4),
    head="#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable",
    image="3d 1",
)
IMAGES = Use(
    "read_only image2d_t a, write_only image2d_t o",
    "int2 p = (int2)(i & 7, i >> 3); write_imagef(o, p, read_imagef(a, p) + 1);",
    PIXELS.reshape(8, 8, 4),
    PIXELS.reshape(8, 8, 4) + 1,
    image="2d both",
)
USES = {
    "cl_khr_fp64": DOUBLES,
    "cl_khr_fp16": Use(
        "global const half *a, global half *o",
        "o[i] = a[i] * a[i] + (half)1;",
        (I / 4).astype(np.float16),
        ((I / 4) ** 2 + 1).astype(np.float16),
    ),
    "cl_khr_byte_addressable_store": Use(
        "global const uchar *a, global uchar *o",
        "o[63 - i] = a[i] + 3;",
        I.astype(np.uint8),
        I[::-1].astype(np.uint8) + 3,
    ),
    "cl_khr_global_int32_base_atomics": int_use(
        "atomic_add(o + (i & 3), a[i]); atomic_inc(o + 4); atomic_xchg(o + 5, 9); atomic_cmpxchg(o + 6, 0, 4);"
        "atomic_sub(o + 7, a[i]); atomic_dec(o + 8);",
        [*(I[k::4].sum() for k in range(4)), 64, 9, 4, -I.sum(), -64],
    ),
    "cl_khr_global_int32_extended_atomics": int_use(
        "atomic_max(o, a[i] - 5); atomic_min(o + 1, a[i] - 5); atomic_or(o + 2, a[i]); atomic_and(o + 3, a[i]);"
        "atomic_xor(o + 4, a[i] * 5);",
        [58, -5, 63, 0, ODD_ONES],
    ),
    "cl_khr_local_int32_base_atomics": int_use(
        f"{LOCAL} atomic_add(t + (i & 1), a[i]); atomic_inc(t + 2); {TOLD}", [I[::2].sum(), I[1::2].sum(), 64]
    ),
    "cl_khr_local_int32_extended_atomics": int_use(
        f"{LOCAL} atomic_max(t, a[i]); atomic_or(t + 1, a[i]); atomic_xor(t + 2, a[i] * 5); {TOLD}", [63, 63, ODD_ONES]
    ),
    "cl_khr_int64_base_atomics": Use(
        LONGS,
        "atom_add(o, a[i]); atom_inc(o + 1); atom_sub(o + 2, a[i]); atom_cmpxchg(o + 3, 0L, 1L << 40);",
        LONG,
        np.array([LONG.sum(), 64, -LONG.sum(), 1 << 40]),
    ),
    "cl_khr_int64_extended_atomics": Use(
        LONGS,
        "atom_max(o, a[i]); atom_min(o + 1, -a[i]); atom_or(o + 2, a[i]); atom_xor(o + 3, a[i] * 5);",
        LONG,
        np.array([63 << 35, -(63 << 35), 63 << 35, ODD_ONES << 35]),
    ),
    "cl_khr_subgroups": SUB_GROUPS,
    "cl_khr_3d_image_writes": WRITES_3D,
    "__opencl_c_fp64": DOUBLES,
    "__opencl_c_int64": Use(
        LONGS, "o[i] = a[i] * a[i] - a[i] / 3;", I.astype(np.int64) << 25, (I << 25) ** 2 - (I << 25) // 3
    ),
    "__opencl_c_images": IMAGES,
    "__opencl_c_3d_image_writes": WRITES_3D,
    "__opencl_c_read_write_images": Use(
        "global const float *a, read_write image2d_t o",
        "int2 p = (int2)(i & 7, i >> 3); write_imagef(o, p, read_imagef(o, p) + a[i]);",
        I.astype(np.float32),
        np.repeat(I.reshape(8, 8, 1), 4, 2).astype(np.float32) + 1,
        before=1,
        image="2d 1",
    ),
    "__opencl_c_generic_address_space": int_use(
        "int t[2]; local int l[64]; l[i] = 7 * i; t[i & 1] = 5; int *p = (int *)(a + i);"
        "if (i % 3 == 1) p = t + (i & 1); if (i % 3 == 2) p = l + i; o[i] = at(p);",
        np.select([I % 3 == 0, I % 3 == 1], [I, 5], 7 * I),
        head="int at(int *p) { return *p; }",
    ),
    "__opencl_c_program_scope_global_variables": int_use(
        "o[i] = total + a[i]; if (i == 64) total = 7;", I + 5, head="global int total = 5;"
    ),
    "__opencl_c_atomic_order_acq_rel": of_order("acq_rel", "device"),
    "__opencl_c_atomic_order_seq_cst": of_order("seq_cst", "device"),
    "__opencl_c_atomic_scope_device": of_order("relaxed", "device"),
    "__opencl_c_atomic_scope_all_devices": of_order("relaxed", "all_devices"),
    "__opencl_c_work_group_collective_functions": int_use(
        "o[i] = work_group_reduce_add(a[i]) + work_group_scan_inclusive_max(a[i]);", I.sum() + I
    ),
    "__opencl_c_subgroups": SUB_GROUPS,
}


def options_of(name):
    return "-cl-std=CL3.0" if name.startswith("__") or name == "cl_khr_subgroups" else ""


def reported(device):
    """What the OpenCL platform tells a host that asks for the device's extensions and features."""
    found = resolve(device)
    infos = _infos(_own_facts(found) if device == "cpu" else _chip_facts(found), svm=False)
    listed = infos["DEVICE_OPENCL_C_FEATURES"]
    features = {listed[at + 4 : at + 68].rstrip(b"\0").decode() for at in range(0, len(listed), 68)}
    found = features | set(infos["DEVICE_EXTENSIONS"].rstrip(b"\0").decode().split())
    # The platform's extension would promise that sub-groups make progress independently; the language's is there.
    assert "cl_khr_subgroups" not in found
    return found | {"cl_khr_subgroups"} if "__opencl_c_subgroups" in found else found


def defined(device, options):
    """The macros that a program finds defined, of extensions and features."""
    tests = "\n".join(f"#ifdef {name}\no[{at}] = 1;\n#endif" for at, name in enumerate(USES))
    out = np.zeros(len(USES), np.int32)
    hw.compile(f"kernel void k(global int *o) {{\n{tests}\n}}", device=device, options=options).k[(1,), (1,)](out)
    return {name for name, told in zip(USES, out.tolist(), strict=True) if told}


def test_every_extension_is_looked_at():
    every = [*extensions.extensions(extensions.ALL), *extensions.features(extensions.ALL)]
    assert sorted(every) == sorted(USES)


@pytest.mark.parametrize("device", DEVICES)
def test_macros_are_of_what_the_platform_reports(device):
    of_language = reported(device) & set(USES)
    of_older = {name for name in of_language if name.startswith("cl_")} - {"cl_khr_subgroups"}  # is of OpenCL C 2.0
    assert defined(device, "-cl-std=CL3.0") == of_language
    assert {name for name in defined(device, "") if name.startswith("cl_")} == of_older
    asked = hw.compile(
        "kernel void k(global int *o) {\n#ifdef __IMAGE_SUPPORT__\n*o = 1;\n#endif\n}", language="opencl", device=device
    )
    out = np.zeros(1, np.int32)
    asked.k[(1,), (1,)](out)
    assert out.tolist() == [int("__opencl_c_images" in of_language)]


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("device", DEVICES)
def test_what_is_reported_runs_and_nothing_else(device, name):
    use = USES[name]
    out = np.full(use.wanted.shape, use.before, use.wanted.dtype)
    arguments = use.argument(use.given, 0), use.argument(out, 1)

    def run():
        hw.compile(use.kernel(), device=device, options=options_of(name)).k[(64,), (64,)](*arguments)

    if name in reported(device):
        run()
        np.testing.assert_array_equal(out, use.wanted)
        return
    with pytest.raises(HeadwaterError) as caught:
        run()
    assert not isinstance(caught.value, InternalError)
    assert isinstance(caught.value, SourceError)
    assert caught.value.span.line in (1, 2)


def test_numbers_are_floats_without_doubles():
    source = "kernel void k(global float *o) { o[0] = sizeof(1.0); o[1] = 0.1 == 0.1f; o[2] = M_PI == M_PI_F; }"
    out = np.zeros(3, np.float32)
    program = hw.compile(source, device="hd5450")
    program.k[(1,), (1,)](out)
    assert out.tolist() == [4, 1, 1]
    assert "double precision constant requires cl_khr_fp64" in program.warnings


def test_a_function_that_the_device_lacks_is_not_said_to_be_misspelt():
    source = (
        "kernel void k(global half *a, global float *o) { *o = vload_half(0, a) + convert_float(convert_half(1)); }"
    )
    with pytest.raises(SourceError) as caught:
        hw.compile(source, device="hd4870", options="-cl-std=CL3.0")
    assert "to an extension that the device does not have" in caught.value.hint

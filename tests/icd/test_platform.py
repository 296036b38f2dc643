"""Host programs that know nothing of Headwater, run by PyOpenCL's loader in processes of their own."""

import os
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import build_backend
from headwater.bridge import library as bridge
from headwater.errors import InternalError, UsageError
from headwater.icd import install, library, protocol
from headwater.native import toolchain

pytest.importorskip("pyopencl")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the library is run on Linux")

HEAD = """
import sys, numpy as np, pyopencl as cl
mf = cl.mem_flags
platform = next(p for p in cl.get_platforms() if p.name == "Headwater")
device = platform.get_devices()[0]
ctx = cl.Context([device])
q = cl.CommandQueue(ctx, properties=cl.command_queue_properties.PROFILING_ENABLE)

def code(call, *args, **more):
    try:
        call(*args, **more)
    except cl.Error as error:
        return error.code
    return 0
"""


def host(text, device="cpu", **variables):
    """What a host program printed."""
    environ = {
        **os.environ,
        **install.environment(),
        "HEADWATER_ICD_DEVICES": device,
        "PYOPENCL_NO_CACHE": "1",
        **variables,
    }
    done = subprocess.run([sys.executable, "-c", HEAD + text], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_vectors_are_added_and_printf_writes_to_the_host(device):
    assert (
        host(
            """
a = np.arange(1000, dtype=np.float32)
x = cl.Buffer(ctx, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=a)
y = cl.Buffer(ctx, mf.WRITE_ONLY, a.nbytes)
prog = cl.Program(ctx, '''kernel void add(global const float *x, global float *y, float s) {
    int i = get_global_id(0); y[i] = x[i] + s; if (i == 999) printf("%d\\\\n", i); }''').build()
event = prog.add(q, a.shape, None, x, y, np.float32(3))
result = np.empty_like(a)
cl.enqueue_copy(q, result, y)
print((result == a + 3).all(), event.profile.end >= event.profile.start > 0)
""",
            device,
        )
        == "999\nTrue True\n"
    )


def test_events_order_an_out_of_order_queue_and_a_users_event_begins_it():
    text = """
queue = cl.CommandQueue(ctx, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
prog = cl.Program(ctx, "kernel void f(global int *x, int a, int b) { x[0] = x[0] * a + b; }").build()
x = cl.Buffer(ctx, mf.COPY_HOST_PTR, hostbuf=np.ones(1, np.int32))
begin, f = cl.UserEvent(ctx), prog.f
called = []
first = f(queue, (1,), None, x, np.int32(3), np.int32(1), wait_for=[begin])
second = f(queue, (1,), None, x, np.int32(10), np.int32(2), wait_for=[first])
second.set_callback(cl.command_execution_status.COMPLETE, called.append)
print(first.command_execution_status == cl.command_execution_status.COMPLETE)
begin.set_status(cl.command_execution_status.COMPLETE)
queue.finish()
out = np.zeros(1, np.int32)
cl.enqueue_copy(queue, out, x)
import time
while not called:  # PyOpenCL calls it from a thread of its own
    time.sleep(0.001)
print(out[0], called)
"""
    assert host(text) == "False\n42 [0]\n"


def test_mapped_memory_sub_buffers_and_binaries_work():
    text = """
x = cl.Buffer(ctx, mf.READ_WRITE, 4096)
mapped, event = cl.enqueue_map_buffer(q, x, cl.map_flags.WRITE, 0, 1024, np.int32)
mapped[:] = np.arange(1024)
mapped.base.release(q)
part = x.get_sub_region(1024, 1024)
built = cl.Program(ctx, "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }").build()
prog = cl.Program(ctx, [device], built.binaries).build()
prog.twice(q, (256,), None, part)
out = np.zeros(1024, np.int32)
cl.enqueue_copy(q, out, x)
print(out[255], out[256], out[511], out[512])
"""
    assert host(text) == "255 512 1022 512\n"


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_memory_is_filled_copied_in_boxes_and_shared_with_the_host(device):
    text = """
prog = cl.Program(ctx, "kernel void f(global int *x) { int i = get_global_id(0); x[i] = x[i] * 2 + 1; }").build()
f, first = prog.f, np.arange(64, dtype=np.int32)
x = cl.Buffer(ctx, mf.COPY_HOST_PTR, hostbuf=first)
cl.enqueue_fill_buffer(q, x, np.int32(7), 8, 64)
wanted = first.copy()
wanted[2:18] = 7
out = np.empty_like(first)
cl.enqueue_copy(q, out, x)
box = np.zeros((4, 4), np.int32)
cl.enqueue_copy(q, box, x, buffer_origin=(4, 1, 0), host_origin=(4, 0, 0), region=(8, 3, 1), buffer_pitches=(32,),
                host_pitches=(16,))
of_box = np.zeros((4, 4), np.int32)
of_box[:3, 1:3] = wanted.reshape(8, 8)[1:4, 1:3]
own = first.copy()
y = cl.Buffer(ctx, mf.USE_HOST_PTR, hostbuf=own)
f(q, (64,), None, y)
mapped, _ = cl.enqueue_map_buffer(q, y, cl.map_flags.READ, 0, (64,), np.int32)
print((out == wanted).all(), (box == of_box).all(), (mapped == first * 2 + 1).all(), (own == mapped).all())
mapped.base.release(q)
"""
    assert host(text, device) == "True True True True\n"


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_images_are_written_filled_and_read(device):
    text = """
picture = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
image = cl.image_from_array(ctx, picture, 4)
cl.enqueue_fill_image(q, image, np.array([-1, -2, -3, -4], np.float32), (1, 1), (2, 2))
wanted = picture.copy()
wanted[1:3, 1:3] = [-1, -2, -3, -4]
prog = cl.Program(ctx, '''kernel void f(read_only image2d_t in, sampler_t how, global float4 *out) {
    int x = get_global_id(0), y = get_global_id(1); out[4 * y + x] = read_imagef(in, how, (int2)(x, y)); }''').build()
y = cl.Buffer(ctx, mf.WRITE_ONLY, picture.nbytes)
prog.f(q, (4, 4), None, image, cl.Sampler(ctx, False, cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST), y)
seen, back = np.empty_like(picture), np.empty_like(picture)
cl.enqueue_copy(q, seen, y)
cl.enqueue_copy(q, back, image, origin=(0, 0), region=(4, 4))
print((seen == wanted).all(), (back == wanted).all())
"""
    assert host(text, device) == "True True\n"


def test_shared_virtual_memory_of_the_cpu():
    text = """
prog = cl.Program(ctx, "kernel void f(global int *x) { x[get_global_id(0)] += get_global_id(0); }").build()
shared = cl.SVM(cl.csvm_empty(ctx, 64, np.int32))
with shared.map_rw(q) as values:
    values[:] = 3
prog.f(q, (64,), None, shared)
with shared.map_ro(q) as values:
    print((values == np.arange(64) + 3).all())
"""
    assert host(text) == "True\n"


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_checked_launches_say_what_is_outside(device):
    text = """
import os
os.dup2(1, 2)  # findings go to standard error
prog = cl.Program(ctx, "kernel void f(global int *x) { x[get_global_id(0) + 1] = 1; }").build()
event = prog.f(q, (64,), None, cl.Buffer(ctx, mf.READ_WRITE, 256))
print(code(event.wait) == cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
"""
    said = host(text, device, HEADWATER_ICD_CHECK="1")
    assert (
        "program.cl:1:56: error: work-item (63) of f writes 4 bytes at byte 256 of `int *x`, which has 256 bytes"
        in said
    )
    assert "True\n" in said


CHECKED = """
import os
os.dup2(1, 2)  # findings go to standard error
devices = platform.get_devices()
ctx = cl.Context(devices)
q = cl.CommandQueue(ctx, devices[0])
prog = cl.Program(ctx, '''
kernel void add(global int *x, global int *y) { x[get_global_id(0)] += y[get_global_id(0)]; }
kernel void put(global int *x, int n) { if (get_global_id(0) < n) x[get_global_id(0)] = 1; }
''').build()
def launch(kernel, *given):
    kernel(q, (64,), (64,), *given)
    print("fault" if code(q.finish) else "fine", flush=True)
def make(flags=mf.READ_WRITE):
    return cl.Buffer(ctx, flags, 256)
def full(flags=mf.READ_WRITE):
    return cl.Buffer(ctx, flags | mf.COPY_HOST_PTR, hostbuf=np.ones(64, np.int32))
"""


@pytest.mark.parametrize(("device", "place"), [("cpu", ":2:69"), ("vega64", ":2:69"), ("hd5870", ":2")])
def test_checked_launches_access_buffers_as_their_flags_allow(device, place):
    text = """
launch(prog.add, full(), full(mf.READ_ONLY))
launch(prog.put, make(mf.WRITE_ONLY), np.int32(64))
launch(prog.put, full(mf.READ_ONLY), np.int32(0))  # it could write, and does not
launch(prog.add, full(mf.READ_ONLY), full())
launch(prog.add, full(), full(mf.WRITE_ONLY))
whole = full()
part = whole.get_sub_region(0, 256, mf.READ_ONLY)
launch(prog.add, whole, part)
launch(prog.add, part, whole)  # of the same memory one argument is writable
"""
    said = host(CHECKED + text, device, HEADWATER_ICD_CHECK="1")
    lines = [line for line in said.splitlines() if line in ("fine", "fault")]
    assert lines == ["fine", "fine", "fine", "fault", "fault", "fine", "fine"]
    assert f"program.cl{place}: error: work-item (0) of add writes 4 bytes at byte 0 of `int *x`" in said
    assert "hint: kernels may not write a buffer that was made with CL_MEM_READ_ONLY" in said
    assert "error: work-item (0) of add reads 4 bytes at byte 0 of `int *y`" in said
    assert "hint: kernels may not read a buffer that was made with CL_MEM_WRITE_ONLY" in said


@pytest.mark.parametrize("device", ["vega64", "hd5870"])
def test_checked_launches_read_no_buffer_that_nobody_has_written(device):
    text = """
import gc
launch(prog.add, full(), make())
x = make()
launch(prog.put, x, np.int32(32))
launch(prog.add, full(), x)
launch(prog.put, x, np.int32(64))
launch(prog.add, full(), x)
del x
gc.collect()
launch(prog.add, full(), make())  # the same memory again
filled, copied, mapped, written, parted = (make() for _ in range(5))
cl.enqueue_fill_buffer(q, filled, np.int32(1), 0, 256)
cl.enqueue_copy(q, copied, filled)
array, _ = cl.enqueue_map_buffer(q, mapped, cl.map_flags.WRITE, 0, (64,), np.int32)
array[:] = 1
array.base.release(q)
cl.enqueue_copy(q, written, np.ones(64, np.int32))
prog.put(q, (64,), None, parted.get_sub_region(0, 256), np.int32(64))
for one in filled, copied, mapped, written, parted:
    launch(prog.add, full(), one)
other = cl.CommandQueue(ctx, devices[1])
x = make()
prog.put(other, (64,), None, x, np.int32(64)).wait()
launch(prog.add, full(), x)
"""
    said = host(CHECKED + text, f"{device},cpu", HEADWATER_ICD_CHECK="1")
    lines = [line for line in said.splitlines() if line in ("fine", "fault")]
    assert lines == ["fault", "fine", "fault", "fine", "fine", "fault"] + 6 * ["fine"]
    assert "reads 4 bytes at byte 0 of `int *y`, where nothing has been written" in said
    assert "reads 4 bytes at byte 128 of `int *y`, where nothing has been written" in said


def test_simulated_time_is_the_cycle_models():
    text = """
prog = cl.Program(ctx, "kernel void f(global int *x) { x[get_global_id(0)] = 1; }").build()
events = [prog.f(q, (64,), None, cl.Buffer(ctx, mf.READ_WRITE, 256)) for _ in range(2)]
q.finish()
print(*(event.profile.end - event.profile.start for event in events))
"""
    first, second = map(int, host(text, "vega64", HEADWATER_ICD_TIME="simulated").split())
    assert first == second > 0


def test_wrong_calls_give_the_codes_of_the_specification():
    text = """
prog = cl.Program(ctx, "kernel void k(global int *x, int n) { x[0] = n; }").build()
k, x = prog.k, cl.Buffer(ctx, mf.READ_WRITE, 4096)
s = cl.status_code
print(code(cl.Buffer, ctx, mf.READ_WRITE, 0) == s.INVALID_BUFFER_SIZE,
      code(x.get_sub_region, 3, 64) == s.MISALIGNED_SUB_BUFFER_OFFSET,
      code(cl.Kernel, prog, "none") == s.INVALID_KERNEL_NAME,
      code(k.set_arg, 2, np.int32(1)) == s.INVALID_ARG_INDEX,
      code(k.set_arg, 1, np.int64(1)) == s.INVALID_ARG_SIZE,
      code(cl.enqueue_nd_range_kernel, q, cl.Kernel(prog, "k"), (1,), None) == s.INVALID_KERNEL_ARGS,
      code(cl.Program(ctx, "kernel void k( {").build) == s.BUILD_PROGRAM_FAILURE)
"""
    assert host(text) == "True True True True True True True\n"


def test_a_server_that_is_killed_gives_an_error_and_another_one_goes_on():
    text = """
import os, signal, time
prog = cl.Program(ctx, "kernel void f(global int *x) { x[0] += 1; }").build()
x = cl.Buffer(ctx, mf.COPY_HOST_PTR, hostbuf=np.ones(1, np.int32))
prog.f(q, (1,), None, x).wait()
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
for child in children:
    os.kill(int(child), signal.SIGKILL)
failed = 0
for _ in range(3):
    failed += code(lambda: prog.f(q, (1,), None, x).wait()) != 0
out = np.zeros(1, np.int32)
cl.enqueue_copy(q, out, x)
print(len(children), failed <= 1, out[0] + failed)
"""
    assert host(text) == "1 True 5\n"


def test_a_host_that_is_killed_leaves_no_files(tmp_path):
    text = f"""
import os, signal
prog = cl.Program(ctx, "kernel void f(global int *x) {{ x[0] = {time.time_ns() % 2**31}; }}").build()
prog.f(q, (1,), None, cl.Buffer(ctx, mf.READ_WRITE, 4)).wait()
print(len(os.listdir({str(tmp_path)!r})), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environ = {**os.environ, **install.environment(), "HEADWATER_ICD_DEVICES": "cpu", "PYOPENCL_NO_CACHE": "1"}
    words, environ = [sys.executable, "-c", HEAD + text], {**environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60)
    assert int(done.stdout) > 0
    while list(tmp_path.iterdir()):  # the test's limit of time ends it
        time.sleep(0.01)


def test_the_librarys_functions_are_its_own_in_a_program_linked_with_a_loader(tmp_path):
    # A program that is linked with a loader has functions of the same names, and they come first.
    (tmp_path / "loader.c").write_text("int clGetPlatformInfo(void) { return -77; }")
    made = toolchain.cc(["-shared", "-fPIC", "-o", "loader.so", "loader.c"], str(tmp_path))
    assert made.returncode == 0, made.stderr
    text = """
import ctypes as c, sys
c.CDLL(sys.argv[1], c.RTLD_GLOBAL)
platform = c.c_void_p()
assert c.CDLL(sys.argv[2]).clIcdGetPlatformIDsKHR(1, c.byref(platform), None) == 0
table = c.cast(platform, c.POINTER(c.POINTER(c.c_void_p)))[0]
ask = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint, c.c_size_t, c.c_char_p, c.c_void_p)(table[1])
name = c.create_string_buffer(80)
print(ask(platform, 0x902, 80, name, None), name.value.decode())  # CL_PLATFORM_NAME
"""
    words = [sys.executable, "-c", text, str(tmp_path / "loader.so"), str(library.build())]
    environ = {**os.environ, **install.environment(), "HEADWATER_ICD_DEVICES": "cpu"}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0 Headwater\n", done.stderr


def test_a_program_tells_the_size_of_its_variables():
    text = """
size = cl.program_build_info.GLOBAL_VARIABLE_TOTAL_SIZE
source = "global int a = 3; global uchar b[10]; kernel void f(global int *x) { b[0] = 1; x[0] = a; }"
made = [cl.Program(ctx, source).build(["-cl-std=CL3.0"]), cl.Program(ctx, "kernel void f(global int *x) {}").build()]
print([p.get_build_info(device, size) for p in made])
"""
    assert host(text) == "[14, 0]\n"


def test_the_size_of_variables_follows_the_files_that_a_source_includes(tmp_path):
    """Each host has a server of its own, and all of them one cache."""
    text = f"""
size = cl.program_build_info.GLOBAL_VARIABLE_TOTAL_SIZE
source = '#include "own.h"\\nkernel void f(global int *x) {{ x[0] = a[0]; }}'
print(cl.Program(ctx, source).build(["-cl-std=CL3.0", "-I", {str(tmp_path)!r}]).get_build_info(device, size))
"""
    for count in (2, 5):
        (tmp_path / "own.h").write_text(f"global int a[{count}] = {{1}};")
        assert host(text) == f"{4 * count}\n"


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell's")
def test_a_program_that_is_run_sees_no_other_platform():
    words = ["icd", "run", "--", "sh", "-c", 'echo "$OCL_ICD_VENDORS:$OPENCL_VENDOR_PATH:$OCL_ICD_FILENAMES"']
    others = dict.fromkeys(("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"), "elsewhere")
    done = subprocess.run(
        [sys.executable, "-m", "headwater", *words], env={**os.environ, **others}, capture_output=True, text=True
    )
    first, second, libraries = done.stdout.rstrip("\n").split(":")
    assert first == second != "elsewhere"
    assert libraries == ""


@pytest.mark.skipif(shutil.which("clinfo") is None, reason="needs clinfo")
def test_clinfo_lists_the_devices():
    environ = {**os.environ, **install.environment(), "HEADWATER_ICD_DEVICES": "vega64,cpu"}
    done = subprocess.run(["clinfo"], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    names = [line for line in done.stdout.splitlines() if line.startswith("  Device Name ")]
    assert len(names) == 2
    assert "(vega64, simulated)" in names[0]
    assert ": error -" not in done.stdout  # a question that an extension promises an answer to


def test_messages_are_read_as_they_were_written():
    for message in protocol.MESSAGES.values():
        for fields in (message.request, message.reply):
            record = _example(fields)
            assert protocol.unpack(fields, protocol.pack(fields, record)) == record


def _example(fields):
    values = {"u32": 7, "u64": 1 << 40, "bytes": b"text"}
    return tuple(values[k] if k in values else [_example(protocol.RECORDS[k[1:-1]])] * 2 for _, k in fields)


def test_the_library_compiles_for_other_systems():
    assert len(library.shim("darwin").compile("darwin", "aarch64")) > 10_000
    assert b"clIcdGetPlatformIDsKHR" in library.shim("win32").compile("win32", "x86_64")


def test_a_wheel_has_the_library_for_every_system(tmp_path, monkeypatch):
    wheel = build_backend.libraries()
    assert all(f"{library.shim(s).key(s, m)}/{library.library_name(s)}" in wheel for s, m in bridge.TARGETS)
    place = f"{library.shim().key('linux', '')}/{library.library_name()}"
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_bytes(b"made before")
    monkeypatch.setattr(bridge, "SHIPPED", tmp_path)
    assert library.build().read_bytes() == b"made before"


def test_a_wheel_that_is_made_without_the_compiler_has_no_libraries_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build_backend, "COMPILERS", ("numpy", "no_such_compiler"))
    build_backend.write_libraries(tmp_path)
    assert not list(tmp_path.iterdir())
    said = capsys.readouterr().err
    assert said.startswith(
        "headwater: no_such_compiler cannot be imported, so this wheel lacks the compiled C libraries"
    )


def test_a_library_that_cannot_be_compiled_is_left_out_of_a_wheel(tmp_path, monkeypatch, capsys):
    def fail():
        raise InternalError("no header of that system")

    monkeypatch.setattr(build_backend, "libraries", lambda: {"a/one.so": lambda: b"made", "b/two.so": fail})
    build_backend.write_libraries(tmp_path)
    assert [path.name for path in tmp_path.rglob("*.so")] == ["one.so"]
    assert "this wheel lacks b/two.so: no header of that system" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_units_are_compiled_with_headers_and_linked_into_libraries_and_programs(device):
    text = """
header = cl.Program(ctx, "#define STEP 3\\nint twice(int x);\\n")
used = cl.Program(ctx, '#include "own/h.h"\\nint twice(int x) { return 2 * x + OFFSET; }')
main = cl.Program(ctx, '#include "own/h.h"\\nkernel void f(global int *x) { int i = get_global_id(0); '
                       'x[i] = twice(x[i]) + STEP; }')
used.compile(options=["-DOFFSET=5"], headers=[("own/h.h", header)])
main.compile(headers=[("own/h.h", header)])
kinds = [p.get_build_info(device, cl.program_build_info.BINARY_TYPE) for p in (used, main)]
library = cl.link_program(ctx, [used], ["-create-library"])
kinds.append(library.get_build_info(device, cl.program_build_info.BINARY_TYPE))
made = cl.link_program(ctx, [main, library])
kinds.append(made.get_build_info(device, cl.program_build_info.BINARY_TYPE))
x = cl.Buffer(ctx, mf.COPY_HOST_PTR, hostbuf=np.arange(4, dtype=np.int32))
made.f(q, (4,), None, x)
out = np.zeros(4, np.int32)
cl.enqueue_copy(q, out, x)
t = cl.program_binary_type
print(out.tolist(), kinds == [t.COMPILED_OBJECT, t.COMPILED_OBJECT, t.LIBRARY, t.EXECUTABLE])
"""
    assert host(text, device) == "[8, 10, 12, 14] True\n"


def test_a_compiled_unit_has_its_included_files_in_it(tmp_path):
    (tmp_path / "step.h").write_text("#define STEP 3\n")
    text = f"""
import os
unit = cl.Program(ctx, '#include "step.h"\\nkernel void f(global int *x) {{ x[0] += STEP; }}')
unit.compile(["-I{tmp_path}"])
os.remove("{tmp_path}/step.h")
made = cl.link_program(ctx, [unit])
x = cl.Buffer(ctx, mf.COPY_HOST_PTR, hostbuf=np.ones(1, np.int32))
made.f(q, (1,), None, x)
out = np.zeros(1, np.int32)
cl.enqueue_copy(q, out, x)
print(out)
"""
    assert host(text) == "[4]\n"


@pytest.mark.parametrize("device", ["cpu", "vega64"])
def test_linked_units_have_types_and_static_functions_of_their_own_and_share_variables(device):
    text = """
both = "typedef struct { char c; int i; } pair; static int own(int x) { return x %s; }\\n"
use = cl.Program(ctx, both % "+ 1" + "extern global pair var; int other(int);"
    "kernel void read(global int *x) { x[0] = var.c; x[1] = own(var.i); x[2] = other(var.i); }")
make = cl.Program(ctx, both % "* 3" + "global pair var = {'a', 42}; int other(int x) { return own(x); }"
    "kernel void write(pair p) { var = p; }")
for unit in (use, make):
    unit.compile(["-cl-std=CL3.0"])
made = cl.link_program(ctx, [use, make])
x = cl.Buffer(ctx, 0, 12)
out = np.zeros(3, np.int32)
for _ in range(2):
    made.read(q, (1,), None, x)
    cl.enqueue_copy(q, out, x)
    print(out.tolist())
    made.write(q, (1,), None, np.array([(98, 7)], np.dtype("i1, i4", align=True))[0])
"""
    assert host(text, device) == "[97, 43, 126]\n[98, 8, 21]\n"


def test_kernels_tell_their_attributes_and_sub_groups():
    text = """
info, sub = cl.kernel_info, cl.kernel_sub_group_info
prog = cl.Program(ctx, '''
kernel __attribute__((reqd_work_group_size(64, 2, 1))) __attribute__((vec_type_hint(uint4))) void a(global int *x) {}
kernel __attribute__((work_group_size_hint(8, 4, 2))) void b(global int *x) {}''').build()
b = prog.b
print([k.get_info(info.ATTRIBUTES) for k in (prog.a, b)])
print([b.get_sub_group_info(device, sub.MAX_SUB_GROUP_SIZE_FOR_NDRANGE, size) for size in ([16], [64, 4])],
      [b.get_sub_group_info(device, sub.SUB_GROUP_COUNT_FOR_NDRANGE, size) for size in ([16], [65], [64, 4])],
      [b.get_sub_group_info(device, sub.LOCAL_SIZE_FOR_SUB_GROUP_COUNT, count) for count in (2, 1000)],
      b.get_sub_group_info(device, sub.MAX_NUM_SUB_GROUPS) * 64 == device.max_work_group_size)
"""
    out = host(text, "vega64")
    first = "['reqd_work_group_size(64,2,1) vec_type_hint(uint4)', 'work_group_size_hint(8,4,2)']\n"
    assert out == first + "[16, 64] [1, 2, 4] [[128, 1, 1], [0, 0, 0]] True\n"


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd5870"])
def test_a_kernel_tells_its_local_memory(device):
    text = """
prog = cl.Program(ctx, '''
kernel void a(global int *x, local int *y) {
  local int z[100];
  z[get_local_id(0)] = x[0]; y[get_local_id(0)] = x[1];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = z[7] + y[3];
}
kernel void b(global int *x) { x[0] = 1; }''').build()
memory = cl.kernel_work_group_info.LOCAL_MEM_SIZE
a, b = prog.a, prog.b
before = a.get_work_group_info(memory, device)
again = cl.Kernel(prog, "a")  # PyOpenCL keeps what a kernel answered
again.set_arg(1, cl.LocalMemory(4096))
print(before >= 400, again.get_work_group_info(memory, device) - before, b.get_work_group_info(memory, device))
"""
    assert host(text, device) == "True 4096 0\n"


@pytest.mark.parametrize("device", ["cpu", "vega64", "hd7970", "hd5870"])
def test_a_device_says_whether_it_keeps_denormal_floats(device):
    text = """
x = np.array([2.0**-126], np.float32)
buffer = cl.Buffer(ctx, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=x)
cl.Program(ctx, "kernel void half_of(global float *x) { *x *= 0.5f; }").build().half_of(q, (1,), None, buffer)
cl.enqueue_copy(q, x, buffer)
print(bool(device.single_fp_config & cl.device_fp_config.DENORM) == (x[0] == np.float32(2.0**-127)))
"""
    assert host(text, device) == "True\n"


@pytest.mark.parametrize("device", ["cpu", "hd4870"])
def test_fences_have_what_opencl_3_wants_of_every_device(device):
    """Relaxed and acquire-release order within a work-group (OpenCL 3.0 API specification, table of device queries)."""
    text = "found = device.get_info(cl.device_info.ATOMIC_FENCE_CAPABILITIES)\nprint(found & 0x13 == 0x13)"
    assert host(text, device) == "True\n"


def test_what_others_hold_can_be_asked_for_after_its_release():
    text = """
import gc
k = cl.Kernel(cl.Program(ctx, "kernel void k(global int *a) { a[0] = 1; }").build(), "k")
whole = cl.Buffer(ctx, mf.READ_WRITE, 4096)
part = whole.get_sub_region(1024, 1024)
ctx2 = cl.Context(ctx.devices)
other = cl.CommandQueue(ctx2)
del whole, ctx2
gc.collect()
print(k.program.get_info(cl.program_info.NUM_KERNELS), k.program.get_info(cl.program_info.REFERENCE_COUNT))
print(part.associated_memobject.size, other.context.num_devices, cl.Buffer(other.context, mf.READ_WRITE, 64).size)
"""
    assert host(text) == "1 1\n4096 1 64\n"


def test_memory_of_a_released_buffer_goes_back_to_the_system():
    text = """
import os
def shared():
    files = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    return sum(os.stat(f).st_blocks * 512 for f in files if os.path.exists(f) and "memfd:headwater" in os.readlink(f))
x = cl.Buffer(ctx, mf.READ_WRITE, 64 << 20)
cl.enqueue_fill_buffer(q, x, np.int32(1), 0, 64 << 20).wait()
full = shared()
x.release()
print(full >= 64 << 20, shared() < 1 << 20)
"""
    assert host(text) == "True True\n"


def test_on_windows_a_variable_names_the_library(tmp_path, monkeypatch):
    """Loaders read no ``.icd`` files there."""
    made = tmp_path / "made.dll"
    made.write_bytes(b"a library")
    monkeypatch.setattr(install, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(library, "build", {"win32": made}.__getitem__)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert install.status() is None
    for call in (install.install, install.status, install.uninstall):
        with pytest.raises(UsageError, match=r"no \.icd files on Windows"):
            call("vendors")
    kept = tmp_path / "headwater" / "icd" / "headwater_icd.dll"
    assert install.install() == install.status() == (kept, None, {"OCL_ICD_FILENAMES": str(kept)})
    assert kept.read_bytes() == b"a library"
    assert sys.executable in kept.with_name("headwater_icd.dll.server").read_text()
    assert install.environment()["OCL_ICD_FILENAMES"] == str(made)
    assert set(install.uninstall()) == {kept, kept.with_name("headwater_icd.dll.server")}
    assert install.status() is None

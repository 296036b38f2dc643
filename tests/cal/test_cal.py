"""CAL programs, written as they were in C, on the cpu and on simulated chips; and every rule that CAL states."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from headwater import cal, chips
from headwater.cal.state import Context, Device, session
from headwater.il import from_llvm
from headwater.isa.vliw import image_files
from headwater.runtime.vliw import images as vliw_images

DEVICES = ["cpu", "hd3870", "hd4870", "hd5870", "hd6970"]
PS = "\n".join(
    [
        "il_ps_2_0",
        "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__",
        "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)",
        "dcl_resource_id(1)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)",
        "dcl_cb cb0[1]",
        "dcl_output_generic o0",
        "sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx",
        "sample_resource(1)_sampler(1) r1, vWinCoord0.xyxx",
        "mad r0, r0, cb0[0].x, r1",
        "mov o0, r0",
        "end",
        "",
    ]
)
CS = "\n".join(
    [
        "il_cs_2_0",
        "dcl_num_thread_per_group 64",
        "dcl_cb cb0[1]",
        "mov r0, vaTid0.xxxx",
        "itof r1, r0",
        "mul r1, r1, cb0[0]",
        "mov g[vaTid0.x], r1",
        "end",
        "",
    ]
)
SLOW = PS.replace(
    "mov o0, r0\n",
    "mov r2.x, cb0[0].y\nwhileloop\nge r3.x, r2.x, cb0[0].z\nbreak_logicalnz r3.x\n"
    "add r2.x, r2.x, cb0[0].w\nendloop\nadd r0, r0, r2.x\nmov o0, r0\n",
)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[int]:
    cal.calInit(request.param)
    yield cal.calDeviceOpen(0)
    cal.calShutdown()


@pytest.mark.parametrize("name", ["hd4870", "cpu"])
@pytest.mark.parametrize("kind", ["1d", "2d"])
def test_a_resource_of_one_dimension_is_a_texture_and_an_output_of_one_row(name, kind):
    il = f"""il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_resource_id(0)_type({kind},unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
sample_resource(0)_sampler(0) r0, vWinCoord0.xyxy
add o0, r0, r0
end
"""
    cal.calInit(name)
    dev, values = cal.calDeviceOpen(0), np.arange(28, dtype=np.float32).reshape(7, 4)
    job = Job(dev, il)
    for register in ("i0", "o0"):
        job.bind(register, cal.calResAllocLocal1D(dev, 7, cal.CAL_FORMAT_FLOAT_4))
    write(job.resources["i0"], values)
    job.run(7, 1)
    assert (read(job.resources["o0"], 7) == values * 2).all()
    cal.calShutdown()


@pytest.fixture
def one() -> Iterator[int]:
    """A device, where which one does not matter."""
    cal.calInit("hd4870")
    yield cal.calDeviceOpen(0)
    cal.calShutdown()


class Job:
    """A context with a module and memory for its names."""

    def __init__(self, dev: int, il: str) -> None:
        self.dev = dev
        self.ctx = cal.calCtxCreate(dev)
        target = cal.calDeviceGetInfo(0).target
        self.image = cal.calclLink([cal.calclCompile(cal.CAL_LANGUAGE_IL, il, target)])
        self.module = cal.calModuleLoad(self.ctx, self.image)
        self.main = cal.calModuleGetEntry(self.ctx, self.module, "main")
        self.resources: dict[str, int] = {}
        self.mems: dict[str, int] = {}

    def bind(self, name: str, res: int) -> int:
        self.resources[name] = res
        self.mems[name] = cal.calCtxGetMem(self.ctx, res)
        cal.calCtxSetMem(self.ctx, cal.calModuleGetName(self.ctx, self.module, name), self.mems[name])
        return res

    def image2d(self, name: str, format: int, values: np.ndarray | None, shape: tuple[int, int]) -> int:
        res = cal.calResAllocLocal2D(self.dev, shape[1], shape[0], format, 0)
        if values is not None:
            write(res, values)
        return self.bind(name, res)

    def constants(self, *rows: tuple[float, ...]) -> int:
        res = cal.calResAllocRemote1D([self.dev], len(rows), cal.CAL_FORMAT_FLOAT_4, 0)
        write(res, np.array(rows, np.float32))
        return self.bind("cb0", res)

    def run(self, width: int, height: int, x: int = 0, y: int = 0) -> None:
        wait(self.ctx, cal.calCtxRunProgram(self.ctx, self.main, cal.CALdomain(x, y, width, height)))


def write(res: int, values: np.ndarray) -> None:
    memory, _ = cal.calResMap(res, 0)
    memory[tuple(slice(0, n) for n in values.shape)] = values
    cal.calResUnmap(res)


def read(res: int, width: int) -> np.ndarray:
    memory, pitch = cal.calResMap(res, 0)
    assert pitch >= width
    assert memory.shape[-2] == pitch
    copy = memory[..., :width, :].copy()
    cal.calResUnmap(res)
    return copy


def wait(ctx: int, event: int) -> None:
    while cal.calCtxIsEventDone(ctx, event) == cal.CAL_RESULT_PENDING:
        pass


def saxpy(dev: int, shape: tuple[int, int] = (33, 70)) -> tuple[Job, np.ndarray]:
    rng = np.random.default_rng(5)
    a, b = rng.random((2, *shape, 4), np.float32)
    job = Job(dev, PS)
    job.image2d("i0", cal.CAL_FORMAT_FLOAT_4, a, shape)
    job.image2d("i1", cal.CAL_FORMAT_FLOAT_4, b, shape)
    job.image2d("o0", cal.CAL_FORMAT_FLOAT_4, None, shape)
    job.constants((0.5, 0.0, 0.0, 0.0))
    return job, a * np.float32(0.5) + b


def failure(result: int, message: str | None = None) -> pytest.RaisesContext:
    return pytest.raises(cal.CalError, match=message, check=lambda error: error.result == result)


# -- programs ----------------------------------------------------------------------------------------------------------


def test_pixel_program(device: int) -> None:
    job, expected = saxpy(device)
    job.run(70, 33)
    np.testing.assert_array_equal(read(job.resources["o0"], 70), expected)


def test_what_a_program_writes_outside_is_dropped_and_a_check_tells_of_it(one: int, monkeypatch) -> None:
    job = Job(one, CS)
    job.constants((1.0, 2.0, 3.0, 4.0))
    memory = cal.calResAllocLocal1D(one, 60, cal.CAL_FORMAT_FLOAT_4, cal.CAL_RESALLOC_GLOBAL_BUFFER)
    job.bind("g[]", memory)
    grid = cal.CALprogramGrid(job.main, cal.CALdomain3D(64, 1, 1), cal.CALdomain3D(1, 1, 1), 0)
    wait(job.ctx, cal.calCtxRunProgramGrid(job.ctx, grid))
    assert (read(memory, 60) == np.arange(60)[:, None] * np.float32([1, 2, 3, 4])).all()
    monkeypatch.setenv("HEADWATER_CHECK", "1")
    with failure(cal.CAL_RESULT_ERROR, "byte 960 of the global buffer, which is outside of it"):
        wait(job.ctx, cal.calCtxRunProgramGrid(job.ctx, grid))


def test_a_domain_is_a_part_of_the_output(device: int) -> None:
    job, expected = saxpy(device)
    job.run(20, 10, x=13, y=5)
    found = read(job.resources["o0"], 70)
    np.testing.assert_array_equal(found[5:15, 13:33], expected[5:15, 13:33])
    found[5:15, 13:33] = 0
    assert not found.any()


@pytest.mark.parametrize("name", ["cpu", "hd4870", "hd5870", "hd6970"])
def test_compute_program_writes_the_global_buffer(name: str) -> None:
    cal.calInit(name)
    try:
        dev = cal.calDeviceOpen(0)
        job = Job(dev, CS)
        job.constants((0.5, 1.0, 2.0, 3.0))
        res = cal.calResAllocLocal1D(dev, 256, cal.CAL_FORMAT_FLOAT_4, cal.CAL_RESALLOC_GLOBAL_BUFFER)
        job.bind("g[]", res)
        grid = cal.CALprogramGrid(job.main, cal.CALdomain3D(64), cal.CALdomain3D(4))
        wait(job.ctx, cal.calExtGetProc(cal.CAL_EXT_COMPUTE_SHADER, "calCtxRunProgramGrid")(job.ctx, grid))
        expected = np.arange(256, dtype=np.float32)[:, None] * np.float32([0.5, 1, 2, 3])
        np.testing.assert_array_equal(read(res, 256), expected)
        info = cal.calModuleGetFuncInfo(job.ctx, job.module, job.main)
        assert (info.numThreadPerGroup, info.numThreadPerGroupX) == (64, 64)
        wait(job.ctx, cal.calCtxRunProgramGridArray(job.ctx, cal.CALprogramGridArray((grid, grid))))
        with failure(cal.CAL_RESULT_INVALID_PARAMETER):
            cal.calCtxRunProgramGrid(job.ctx, cal.CALprogramGrid(job.main, cal.CALdomain3D(32), cal.CALdomain3D(8)))
        with failure(cal.CAL_RESULT_ERROR):
            cal.calCtxRunProgram(job.ctx, job.main, cal.CALdomain(0, 0, 1, 1))
    finally:
        cal.calShutdown()


COPY = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_output_generic o0
dcl_output_generic o1
sample_resource(0)_sampler(0) r0, vWinCoord0
mov o0, r0
mov o1, r0
end
"""


@pytest.mark.parametrize("name", ["cpu", "hd4870"])
@pytest.mark.parametrize(
    ("format", "bits"),
    [("UNORM_SHORT_565", (5, 6, 5)), ("UNORM_SHORT_555", (5, 5, 5, 1)), ("UNORM_INT10_3", (10, 10, 10, 2))],
)
def test_packed_formats_have_their_first_component_in_the_lowest_bits(
    name: str, format: str, bits: tuple[int, ...]
) -> None:
    cal.calInit(name)
    try:
        dev = cal.calDeviceOpen(0)
        words = np.array([((1 << n) - 1) << sum(bits[:k]) for k, n in enumerate(bits)])
        packed = words.astype(np.uint16 if "SHORT" in format else np.uint32).reshape(1, -1, 1)
        number, width = getattr(cal, f"CAL_FORMAT_{format}"), len(bits)
        job = Job(dev, COPY)
        job.image2d("i0", number, packed, (1, width))
        job.image2d("o0", cal.CAL_FORMAT_FLOAT_4, None, (1, width))
        job.image2d("o1", number, None, (1, width))
        job.run(width, 1)
        expected = np.eye(width, 4, dtype=np.float32)
        expected[:, len(bits) :] = 1
        np.testing.assert_array_equal(read(job.resources["o0"], width)[0], expected)
        np.testing.assert_array_equal(read(job.resources["o1"], width), packed)
    finally:
        cal.calShutdown()


# What the first writes to the shared registers, the second finds there, within one array of grids.
COUNTING = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_shared_temp sr[2]
dcl_literal l0, 1, 0, 0, 0
iadd sr1.x___, sr1.x, l0.x
mov g[vaTid0.x], sr1.xxxx
end
"""


def test_grids_of_an_array_leave_the_shared_registers_to_each_other(one: int) -> None:
    job = Job(one, COUNTING)
    engines = chips.find("hd4870").compute.compute_units
    res = cal.calResAllocLocal1D(one, 64 * engines, cal.CAL_FORMAT_FLOAT_4, cal.CAL_RESALLOC_GLOBAL_BUFFER)
    job.bind("g[]", res)
    assert cal.calModuleGetFuncInfo(job.ctx, job.module, job.main).numSharedGPRUser == 2
    grid = cal.CALprogramGrid(job.main, cal.CALdomain3D(64), cal.CALdomain3D(engines))
    wait(job.ctx, cal.calCtxRunProgramGridArray(job.ctx, cal.CALprogramGridArray((grid, grid, grid))))
    assert (read(res, 64 * engines).view(np.uint32) == 3).all()
    wait(job.ctx, cal.calCtxRunProgramGrid(job.ctx, grid))
    assert (read(res, 64 * engines).view(np.uint32) == 1).all()


NEIGHBOURS = """il_ps_2_0
dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__
dcl_output_generic o0
dcl_raw_srv_id(0)
dcl_literal l0, 16, 4, 0, 0
mul r0, vWinCoord0.xyxy, vWinCoord0.xyxy
dsx r1.x, r0
dsy r1._y, r0
ftoi r2, vWinCoord0
imul r3, r2, l0.xxxx
iadd r3, r3, l0.yyyy
srv_raw_load_id(0) r4, r3.x
mov r1.__z, r4.xxxx
mov o0, r1
end
"""


@pytest.mark.parametrize("name", ["cpu", "hd3870", "hd5870"])
def test_derivatives_at_a_domains_edges_and_raw_buffers(name: str) -> None:
    cal.calInit(name)
    try:
        dev = cal.calDeviceOpen(0)
        job = Job(dev, NEIGHBOURS)
        values = np.random.default_rng(2).random((64, 4), np.float32)
        buffer = cal.calResAllocLocal1D(dev, 64, cal.CAL_FORMAT_FLOAT_4, 0)
        write(buffer, values)
        job.bind("i0", buffer)
        job.image2d("o0", cal.CAL_FORMAT_FLOAT_4, None, (12, 40))
        job.run(7, 5, x=3, y=1)  # quads reach beyond it on every side
        found = read(job.resources["o0"], 40)
        x, y = np.arange(3, 10, dtype=np.float32), np.arange(1, 6, dtype=np.float32)[:, None]
        np.testing.assert_array_equal(found[1:6, 3:10, 0], np.broadcast_to(4 * (x // 2) + 2, (5, 7)))
        np.testing.assert_array_equal(found[1:6, 3:10, 1], np.broadcast_to(4 * (y // 2) + 2, (5, 7)))
        np.testing.assert_array_equal(found[1:6, 3:10, 2], np.broadcast_to(values[3:10, 1], (5, 7)))
        found[1:6, 3:10] = 0
        assert not found.any()
    finally:
        cal.calShutdown()


@pytest.mark.parametrize(
    ("format", "dtype", "scale"),
    [
        ("UBYTE_4", np.uint8, 255),
        ("USHORT_4", np.uint16, 65535),
        ("BYTE_4", np.int8, 127),
        ("SHORT_4", np.int16, 32767),
        ("FLOAT16_4", np.float16, 1),
    ],
)
def test_narrow_formats_are_converted(device: int, format: str, dtype: type, scale: int) -> None:
    rng = np.random.default_rng(7)
    limits = (0, 100) if dtype is np.float16 else (np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
    a = rng.integers(*limits, (9, 64, 4)).astype(dtype)
    job = Job(device, PS)
    number = getattr(cal, f"CAL_FORMAT_{format}")
    job.image2d("i0", number, a, (9, 64))
    job.image2d("i1", cal.CAL_FORMAT_FLOAT_4, np.zeros((9, 64, 4), np.float32), (9, 64))
    job.image2d("o0", cal.CAL_FORMAT_FLOAT_4, None, (9, 64))
    job.constants((1.0, 0.0, 0.0, 0.0))
    job.run(64, 9)
    expected = np.maximum(a.astype(np.float32) / np.float32(scale), -1)
    np.testing.assert_allclose(read(job.resources["o0"], 64), expected, rtol=3e-7)


def test_outputs_of_narrow_formats_are_rounded(device: int) -> None:
    job = Job(device, PS)
    values = np.linspace(-0.25, 1.25, 64 * 4, dtype=np.float32).reshape(1, 64, 4)
    job.image2d("i0", cal.CAL_FORMAT_FLOAT_4, values, (1, 64))
    job.image2d("i1", cal.CAL_FORMAT_FLOAT_4, np.zeros_like(values), (1, 64))
    job.image2d("o0", cal.CAL_FORMAT_UBYTE_4, None, (1, 64))
    job.constants((1.0, 0.0, 0.0, 0.0))
    job.run(64, 1)
    expected = np.rint(np.clip(values.astype(np.float64), 0, 1) * 255)
    assert np.abs(read(job.resources["o0"], 64).astype(int) - expected).max() <= 0


def test_copies_are_done_in_order_and_checked(one: int) -> None:
    ctx = cal.calCtxCreate(one)
    local = cal.calResAllocLocal2D(one, 64, 4, cal.CAL_FORMAT_INT_1, 0)
    remote = cal.calResAllocRemote2D([one], 100, 8, cal.CAL_FORMAT_INT_1, cal.CAL_RESALLOC_CACHEABLE)
    other = cal.calResAllocLocal2D(one, 64, 4, cal.CAL_FORMAT_FLOAT_1, 0)
    mems = {res: cal.calCtxGetMem(ctx, res) for res in (local, remote, other)}
    values = np.arange(256, dtype=np.int32).reshape(4, 64, 1)
    write(local, values)
    event = cal.calMemCopy(ctx, mems[local], mems[remote], 0)
    cal.calCtxWaitForEvents(ctx, [event])
    assert cal.calCtxIsEventDone(ctx, event) == cal.CAL_RESULT_OK
    np.testing.assert_array_equal(read(remote, 64)[:4], values)
    for source, target in ((remote, local), (local, other)):  # too large; another format
        with failure(cal.CAL_RESULT_ERROR):
            cal.calMemCopy(ctx, mems[source], mems[target], 0)
    cal.calResMap(local, 0)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calMemCopy(ctx, mems[local], mems[remote], 0)


def test_work_waits_for_a_flush(one: int) -> None:
    job, _ = saxpy(one)
    event = cal.calCtxRunProgram(job.ctx, job.main, cal.CALdomain(0, 0, 70, 33))
    wait(job.ctx, event)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calCtxIsEventDone(job.ctx, 12345)


def test_events_that_ended_cost_no_more(one: int) -> None:
    job, _ = saxpy(one)
    events = [cal.calCtxRunProgram(job.ctx, job.main, cal.CALdomain(0, 0, 70, 33)) for _ in range(5)]
    read(job.resources["o0"], 70)  # flushes and waits
    context = session().get(job.ctx, Context, "context")
    assert len({id(future) for future in context.events.values()}) == 1
    assert [cal.calCtxIsEventDone(job.ctx, event) for event in events] == [cal.CAL_RESULT_OK] * 5


def test_two_devices_at_once() -> None:
    cal.calInit("hd4870,hd5870")
    try:
        assert cal.calDeviceGetCount() == 2
        found = []
        for ordinal in range(2):
            dev = cal.calDeviceOpen(ordinal)
            ctx = cal.calCtxCreate(dev)
            target = cal.calDeviceGetInfo(ordinal).target
            image = cal.calclLink([cal.calclCompile(cal.CAL_LANGUAGE_IL, PS, target)])
            found.append((dev, ctx, target, image))
        assert [target for _, _, target, _ in found] == [cal.CAL_TARGET_770, cal.CAL_TARGET_CYPRESS]
        with failure(cal.CAL_RESULT_ERROR):
            cal.calModuleLoad(found[0][1], found[1][3])
        res = cal.calResAllocLocal2D(found[0][0], 8, 8, cal.CAL_FORMAT_FLOAT_4, 0)
        with failure(cal.CAL_RESULT_ERROR):
            cal.calCtxGetMem(found[1][1], res)
        both = cal.calclLink([cal.calclCompile(cal.CAL_LANGUAGE_IL, PS, target) for _, _, target, _ in found])
        for _, ctx, _, _ in found:
            cal.calModuleLoad(ctx, both)
    finally:
        cal.calShutdown()


# -- images ------------------------------------------------------------------------------------------------------------


def test_images_are_written_and_read(device: int, tmp_path: Path) -> None:
    job, expected = saxpy(device)
    data = cal.calclImageWrite(job.image)
    assert len(data) == cal.calclImageGetSize(job.image)
    (tmp_path / "image").write_bytes(data)
    again_image = cal.calImageRead((tmp_path / "image").read_bytes())
    again = Job.__new__(Job)
    again.dev, again.ctx, again.resources, again.mems = device, cal.calCtxCreate(device), {}, {}
    again.module = cal.calModuleLoad(again.ctx, again_image)
    again.main = cal.calModuleGetEntry(again.ctx, again.module, "main")
    for name, res in job.resources.items():
        again.bind(name, res)
    again.run(70, 33)
    np.testing.assert_array_equal(read(job.resources["o0"], 70), expected)
    cal.calImageFree(again_image)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calImageRead(b"no image")


@pytest.mark.parametrize("chip", ["hd4870", "hd5870", "hd6970"])
def test_an_image_of_an_opencl_kernel_runs(chip: str) -> None:
    """Arguments are where `headwater.il.from_llvm` says: sizes in cb0, pointers into uav11 in cb1."""
    source = "kernel void add(global const int *a, global int *b, int k) {\n"
    source += "    int i = get_global_id(0); if (i < 100) b[i] = a[i] * k + get_local_size(0);\n}\n"
    found = chips.find(chip)
    made = vliw_images.kernel_image(from_llvm.kernel(source, "add", found), found)
    cal.calInit(chip)
    try:
        dev = cal.calDeviceOpen(0)
        ctx = cal.calCtxCreate(dev)
        module = cal.calModuleLoad(ctx, cal.calImageRead(image_files.write(made)))
        with failure(cal.CAL_RESULT_ERROR, "its entry is 'add'"):
            cal.calModuleGetEntry(ctx, module, "sub")
        main = cal.calModuleGetEntry(ctx, module, "add")
        memory = cal.calResAllocLocal1D(dev, 1024, cal.CAL_FORMAT_INT_1, cal.CAL_RESALLOC_GLOBAL_BUFFER)
        first = np.arange(100, dtype=np.int32)
        write(memory, first[:, None])
        rows = {"cb0": [(128, 1, 1, 1), (32, 1, 1, 0), (4, 1, 1, 0), (0, 0, 0, 0), (0, 64, 128, 0)]}
        rows["cb1"] = [(0, 0, 0, 0), (2048, 0, 0, 0), (7, 0, 0, 0)]
        for name in module_names(ctx, module, ("cb0", "cb1", "uav8", "uav11")):
            resource = memory
            if name in rows:
                resource = cal.calResAllocRemote1D([dev], len(rows[name]), cal.CAL_FORMAT_INT_4, 0)
                write(resource, np.array(rows[name], np.int32))
            cal.calCtxSetMem(ctx, cal.calModuleGetName(ctx, module, name), cal.calCtxGetMem(ctx, resource))
        if made.kind == "ps":
            wait(ctx, cal.calCtxRunProgram(ctx, main, cal.CALdomain(0, 0, 64, 2)))
        else:
            block, size = cal.CALdomain3D(32, 1, 1), cal.CALdomain3D(4, 1, 1)
            wait(ctx, cal.calCtxRunProgramGrid(ctx, cal.CALprogramGrid(main, block, size, 0)))
        np.testing.assert_array_equal(read(memory, 1024)[512:612, 0], first * 7 + 32)
        two = image_files.write(made, dataclasses.replace(made, name="other"))
        with failure(cal.CAL_RESULT_ERROR, "several programs"):
            cal.calModuleLoad(ctx, cal.calImageRead(two))
    finally:
        cal.calShutdown()


def module_names(ctx: int, module: int, names: tuple[str, ...]) -> list[str]:
    """Those of the names that a module has."""
    found = []
    for name in names:
        with contextlib.suppress(cal.CalError):
            cal.calModuleGetName(ctx, module, name)
            found.append(name)
    return found


def test_code_is_disassembled_edited_and_assembled(one: int) -> None:
    found: list[str] = []
    image = cal.calclLink([cal.calclCompile(cal.CAL_LANGUAGE_IL, PS, cal.CAL_TARGET_770)])
    cal.calclDisassembleImage(image, found.append)
    assert "TEX: ADDR(" in found[0]
    assert "EXP_DONE" in found[0]
    edited = found[0].replace("MULADD_e", "MULADD")
    obj = cal.calclAssembleObject(cal.CAL_PROGRAM_TYPE_PS, edited, cal.CAL_TARGET_770)
    again: list[str] = []
    cal.calclDisassembleObject(obj, again.append)
    assert again[0].split() == edited.split()
    with pytest.raises(cal.CalError):
        cal.calclAssembleObject(cal.CAL_PROGRAM_TYPE_PS, "00 ALU: ADDR(", cal.CAL_TARGET_770)
    assert cal.calclGetErrorString()


# -- rules -------------------------------------------------------------------------------------------------------------


def test_life_of_the_session() -> None:
    with failure(cal.CAL_RESULT_NOT_INITIALIZED):
        cal.calDeviceGetCount()
    with failure(cal.CAL_RESULT_NOT_INITIALIZED):
        cal.calShutdown()
    cal.calInit("cpu")
    with failure(cal.CAL_RESULT_ALREADY):
        cal.calInit("cpu")
    assert cal.calGetErrorString() == "CAL is initialised already"
    dev = cal.calDeviceOpen(0)
    with failure(cal.CAL_RESULT_ALREADY):
        cal.calDeviceOpen(0)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calDeviceOpen(1)
    ctx = cal.calCtxCreate(dev)
    with failure(cal.CAL_RESULT_BUSY):
        cal.calDeviceClose(dev)
    cal.calCtxDestroy(ctx)
    cal.calDeviceClose(dev)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calCtxCreate(dev)
    cal.calShutdown()
    cal.calInit("cpu")
    cal.calShutdown()


def test_attributes_are_the_chips(one: int) -> None:
    has = cal.calDeviceGetAttribs(0)
    assert has.target == cal.CAL_TARGET_770
    assert (has.engineClock, has.wavefrontSize, has.numberOfSIMD) == (750, 64, 10)
    assert has.doublePrecision
    assert has.computeShader
    status = cal.calDeviceGetStatus(one)
    assert status.availLocalRAM == has.localRAM
    res = cal.calResAllocLocal2D(one, 1024, 1024, cal.CAL_FORMAT_FLOAT_4, 0)
    assert cal.calDeviceGetStatus(one).availLocalRAM == has.localRAM - 16
    cal.calResFree(res)
    assert cal.calDeviceGetStatus(one).availLocalRAM == has.localRAM
    info = cal.calDeviceGetInfo(0)
    assert (info.maxResource1DWidth, info.maxResource2DWidth, info.maxResource2DHeight) == (8192, 8192, 8192)


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ((0, 4, 13, 0), 2),
        ((8193, 4, 13, 0), 1),
        ((4, 4, 99, 0), 2),
        ((4, 4, 13, 2), 2),  # cacheable memory is remote
        ((4, 4, 13, 4), 2),
        ((4.5, 4, 13, 0), 2),
        ((8192, 8192, 13, 0), 1),  # a GiB on a board of 512 MiB
    ],
)
def test_what_cannot_be_allocated(one: int, arguments: tuple[int, int, int, int], result: int) -> None:
    with failure(result):
        cal.calResAllocLocal2D(one, *arguments)


def test_maps_do_not_nest(one: int) -> None:
    res = cal.calResAllocLocal2D(one, 70, 3, cal.CAL_FORMAT_FLOAT_2, 0)
    memory, pitch = cal.calResMap(res, 0)
    assert pitch == 128
    assert memory.shape == (3, 128, 2)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calResMap(res, 0)
    with failure(cal.CAL_RESULT_BUSY):
        cal.calResFree(res)
    cal.calResUnmap(res)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calResUnmap(res)
    cal.calResFree(res)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calResFree(res)


def test_names_want_their_kind_of_memory(one: int) -> None:
    job, _ = saxpy(one)
    name = cal.calModuleGetName(job.ctx, job.module, "cb0")
    with failure(cal.CAL_RESULT_BAD_NAME_TYPE):
        cal.calCtxSetMem(job.ctx, name, job.mems["i0"])
    sampler = cal.calModuleGetName(job.ctx, job.module, "s0")
    with failure(cal.CAL_RESULT_BAD_NAME_TYPE):
        cal.calCtxSetMem(job.ctx, sampler, job.mems["i0"])
    with failure(cal.CAL_RESULT_ERROR):
        cal.calModuleGetName(job.ctx, job.module, "i2")
    with failure(cal.CAL_RESULT_ERROR):
        cal.calModuleGetEntry(job.ctx, job.module, "start")
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calCtxSetMem(job.ctx, job.main, job.mems["i0"])


def test_every_name_must_be_bound_and_unmapped(one: int) -> None:
    job, _ = saxpy(one)
    domain = cal.CALdomain(0, 0, 70, 33)
    cal.calResMap(job.resources["i1"], 0)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calCtxRunProgram(job.ctx, job.main, domain)
    cal.calResUnmap(job.resources["i1"])
    cal.calCtxSetMem(job.ctx, cal.calModuleGetName(job.ctx, job.module, "i1"), 0)
    with failure(cal.CAL_RESULT_ERROR):
        cal.calCtxRunProgram(job.ctx, job.main, domain)
    assert "i1" in cal.calGetErrorString()
    with failure(cal.CAL_RESULT_INVALID_PARAMETER):
        job.bind("i1", job.resources["i0"])
        cal.calCtxRunProgram(job.ctx, job.main, cal.CALdomain(1, 0, 70, 33))
    with failure(cal.CAL_RESULT_BUSY):
        cal.calResFree(job.resources["i0"])


def test_handles_die_with_their_owners(one: int) -> None:
    job, _ = saxpy(one)
    cal.calModuleUnload(job.ctx, job.module)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calCtxRunProgram(job.ctx, job.main, cal.CALdomain(0, 0, 1, 1))
    cal.calCtxReleaseMem(job.ctx, job.mems["i0"])
    cal.calResFree(job.resources["i0"])
    cal.calCtxDestroy(job.ctx)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        cal.calCtxFlush(job.ctx)
    cal.calResFree(job.resources["i1"])


def test_pinned_memory_is_the_callers(one: int) -> None:
    create = cal.calExtGetProc(cal.CAL_EXT_RES_CREATE, "calResCreate2D")
    whole = np.zeros(64 * 8 + 64, np.float32)
    start = (-whole.ctypes.data % 256) // 4
    mine = whole[start : start + 512]
    res = create(one, mine, 64, 8, cal.CAL_FORMAT_FLOAT_1, mine.nbytes, 0)
    write(res, np.ones((8, 64, 1), np.float32))
    assert mine.all()
    for array, width, size in ((whole[start + 1 : start + 513], 64, 2048), (mine, 63, 2048), (mine, 64, 2047)):
        with failure(cal.CAL_RESULT_INVALID_PARAMETER):
            create(one, array, width, 8, cal.CAL_FORMAT_FLOAT_1, size, 0)


def test_samplers(one: int) -> None:
    job, _ = saxpy(one)
    set_, get = (cal.calExtGetProc(cal.CAL_EXT_SAMPLER_PARAM, f"calCtx{verb}SamplerParams") for verb in ("Set", "Get"))
    sampler = cal.calModuleGetName(job.ctx, job.module, "s1")
    assert get(job.ctx, sampler, cal.CAL_SAMPLER_PARAM_WRAP_S) == cal.CAL_SAMPLER_WRAP_CLAMP_TO_EDGE
    set_(job.ctx, sampler, cal.CAL_SAMPLER_PARAM_WRAP_S, cal.CAL_SAMPLER_WRAP_CLAMP_TO_EDGE)
    with failure(cal.CAL_RESULT_BAD_HANDLE):
        set_(job.ctx, cal.calModuleGetName(job.ctx, job.module, "i1"), cal.CAL_SAMPLER_PARAM_WRAP_S, 0)
    with failure(cal.CAL_RESULT_INVALID_PARAMETER):
        set_(job.ctx, sampler, cal.CAL_SAMPLER_PARAM_WRAP_S, 8)


def test_domain_parameters_are_interpolated(device: int) -> None:
    il = "\n".join(
        [
            "il_ps_2_0",
            "dcl_input_interp(linear) v0.xy__",
            "dcl_input_interp(linear) v2",
            "dcl_output_generic o0",
            "add r0, v0.xyxy, v2",
            "mov o0, r0",
            "end",
            "",
        ]
    )
    job = Job(device, il)
    job.image2d("o0", cal.CAL_FORMAT_FLOAT_4, np.zeros((16, 64, 4), np.float32), (16, 64))
    params = cal.CALdomainparam(
        param0=cal.CALparam((0, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0)),
        param2=cal.CALparam((10, 20, 30, 40), (10, 20, 30, 40), (18, 20, 30, 40)),
    )
    run = cal.calExtGetProc(cal.CAL_EXT_DOMAIN_PARAMS, "calCtxRunProgramParams")
    wait(job.ctx, run(job.ctx, job.main, cal.CALdomain(8, 4, 32, 8), params))
    u = (np.arange(32) + 0.5)[None, :] / 32
    v = (np.arange(8) + 0.5)[:, None] / 8
    expected = np.stack(np.broadcast_arrays(u + 10 + 8 * u, v + 20, u + 30, v + 40), axis=-1)
    found = read(job.resources["o0"], 64)
    np.testing.assert_allclose(found[4:12, 8:40], expected, rtol=1e-6)
    found[4:12, 8:40] = 0
    assert not found.any()


def test_extensions(one: int) -> None:
    cal.calExtSupported(cal.CAL_EXT_RES_CREATE)
    assert cal.calExtGetVersion(cal.CAL_EXT_COMPUTE_SHADER) == (1, 0)
    with failure(cal.CAL_RESULT_NOT_SUPPORTED):
        cal.calExtSupported(cal.CAL_EXT_D3D9)
    with failure(cal.CAL_RESULT_NOT_SUPPORTED):
        cal.calExtGetProc(cal.CAL_EXT_RES_CREATE, "calResCreate3D")


def test_the_compiler_has_no_extensions() -> None:
    with failure(cal.CAL_RESULT_NOT_SUPPORTED):
        cal.calclExtSupported(1)
    with failure(cal.CAL_RESULT_NOT_SUPPORTED):
        cal.calclExtGetProc(1, "calclExtNothing")


@pytest.mark.parametrize("name", ["cpu", "hd4870", "hd5870"])
def test_a_function_tells_the_groups_that_it_declares(name: str) -> None:
    cal.calInit(name)
    try:
        job = Job(cal.calDeviceOpen(0), CS.replace("dcl_cb", "dcl_total_num_thread_group 12\ndcl_cb"))
        info = cal.calModuleGetFuncInfo(job.ctx, job.module, job.main)
        assert (info.totalNumThreadGroup, info.setBufferForNumGroup) == (12, False)
        attributes = cal.calDeviceGetAttribs(0)
        assert attributes.memRandomAccessTargetInstructions == (name != "hd4870")
        assert not attributes.asyncDispatchSupported
        assert not attributes.vectorBufferInstructionAddr64
    finally:
        cal.calShutdown()


def test_counters_tell_what_the_chip_would_have_done() -> None:
    cal.calInit("hd4870")
    try:
        dev = cal.calDeviceOpen(0)
        cal.calExtSupported(cal.CAL_EXT_COUNTERS)
        assert cal.calExtGetProc(cal.CAL_EXT_COUNTERS, "calCtxGetCounter") is cal.calCtxGetCounter
        job, expected = saxpy(dev, (64, 64))
        idle, hits = (
            cal.calCtxCreateCounter(job.ctx, kind)
            for kind in (cal.CAL_COUNTER_IDLE, cal.CAL_COUNTER_INPUT_CACHE_HIT_RATE)
        )
        with failure(cal.CAL_RESULT_ERROR, "has not begun"):
            cal.calCtxEndCounter(job.ctx, idle)
        cal.calCtxBeginCounter(job.ctx, idle)
        cal.calCtxBeginCounter(job.ctx, hits)
        with failure(cal.CAL_RESULT_ERROR, "begun already"):
            cal.calCtxBeginCounter(job.ctx, idle)
        with failure(cal.CAL_RESULT_ERROR, "has not ended"):
            cal.calCtxGetCounter(job.ctx, idle)
        job.run(64, 64)
        cal.calCtxEndCounter(job.ctx, idle)
        cal.calCtxEndCounter(job.ctx, hits)
        np.testing.assert_array_equal(read(job.resources["o0"], 64), expected)
        # 4096 pixels take a few µs of the chip, a launch 42; each line of two textures is read by one wavefront only.
        first = cal.calCtxGetCounter(job.ctx, idle)
        assert 0.7 < first < 1
        assert cal.calCtxGetCounter(job.ctx, hits) == 0
        cal.calCtxBeginCounter(job.ctx, idle)
        job.run(64, 64)
        job.run(64, 64)
        cal.calCtxEndCounter(job.ctx, idle)
        assert cal.calCtxGetCounter(job.ctx, idle) == pytest.approx(first)
        cal.calCtxDestroyCounter(job.ctx, idle)
        with failure(cal.CAL_RESULT_BAD_HANDLE):
            cal.calCtxGetCounter(job.ctx, idle)
        # One texel for all pixels stays in the caches.
        same = Job(dev, PS.replace("r0, vWinCoord0.xy", "r0, cb0[0].ww").replace("r1, vWinCoord0.xy", "r1, cb0[0].ww"))
        for name in ("i0", "i1", "o0"):
            same.image2d(name, cal.CAL_FORMAT_FLOAT_4, None if name == "o0" else expected, (64, 64))
        same.constants((0.5, 0.0, 0.0, 0.5))
        hits = cal.calCtxCreateCounter(same.ctx, cal.CAL_COUNTER_INPUT_CACHE_HIT_RATE)
        cal.calCtxBeginCounter(same.ctx, hits)
        same.run(64, 64)
        cal.calCtxEndCounter(same.ctx, hits)
        assert cal.calCtxGetCounter(same.ctx, hits) > 0.8
    finally:
        cal.calShutdown()


def test_devices_that_are_there_have_no_counters() -> None:
    cal.calInit("cpu")
    try:
        ctx = cal.calCtxCreate(cal.calDeviceOpen(0))
        with failure(cal.CAL_RESULT_NOT_SUPPORTED, "has no counters"):
            cal.calCtxCreateCounter(ctx, cal.CAL_COUNTER_IDLE)
    finally:
        cal.calShutdown()


def test_compiler_reports_position_and_refuses_what_a_chip_lacks() -> None:
    with pytest.raises(cal.CalError, match="3"):
        cal.calclCompile(cal.CAL_LANGUAGE_IL, "il_ps_2_0\ndcl_output_generic o0\nmow o0, r0\nend\n", cal.CAL_TARGET_770)
    assert "mow" in cal.calclGetErrorString()
    double = PS.replace("mad r0, r0, cb0[0].x, r1", "dadd r0.xy, r0.xy, r1.xy")
    cal.calclCompile(cal.CAL_LANGUAGE_IL, double, cal.CAL_TARGET_670)
    with pytest.raises(cal.CalError, match="double"):
        cal.calclCompile(cal.CAL_LANGUAGE_IL, double, cal.CAL_TARGET_JUNIPER)
    with failure(cal.CAL_RESULT_NOT_SUPPORTED):
        cal.calclCompile(cal.CAL_LANGUAGE_IL, PS, cal.CAL_TARGET_TAHITI)
    with failure(cal.CAL_RESULT_INVALID_PARAMETER):
        cal.calclCompile(0, PS, cal.CAL_TARGET_770)
    with failure(cal.CAL_RESULT_INVALID_PARAMETER):
        cal.calclLink([])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CAL_FORMAT_FLOAT_4", 13),
        ("CAL_FORMAT_UINT_1", 16),
        ("CAL_FORMAT_32BIT_TYPELESS", 35),
        ("CAL_TARGET_CAYMAN", 15),
        ("CAL_RESULT_BUSY", 9),
        ("CAL_EXT_SAMPLER_PARAM", 0x1008),
        ("CAL_RESALLOC_CACHEABLE", 2),
        ("CAL_TRUE", 1),
    ],
)
def test_constants_are_cal_hs(name: str, value: int) -> None:
    assert getattr(cal, name) == value


def test_formats_go_to_lanes_and_back() -> None:
    from headwater.cal.formats import describe

    rng = np.random.default_rng(3)
    for format in cal.CALformat:
        layout = describe(format)
        raw = rng.integers(0, 256, (50, layout.nbytes), dtype=np.uint8).view(layout.dtype)
        if layout.dtype.kind == "f":
            raw = rng.normal(size=raw.shape).astype(layout.dtype)
        if format.name.startswith("SNORM") and layout.bits < 32:
            raw = np.maximum(raw, np.iinfo(layout.dtype).min + 1)  # -1 has two codes
        lanes = layout.to_lanes(raw)
        assert lanes.shape == (50, layout.lanes)
        np.testing.assert_array_equal(layout.from_lanes(lanes), raw)


MOVE = "\n".join(
    [
        "il_ps_2_0",
        "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__",
        "dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)",
        "dcl_output_generic o0",
        "sample_resource(0)_sampler(0) r0, vWinCoord0.xyxx",
        "mov o0, r0",
        "end",
        "",
    ]
)


@pytest.mark.parametrize("kind", ["UNORM", "SNORM", "UNSIGNED", "SIGNED"])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_integers_of_32_bits_pass_bit_for_bit(device: int, kind: str, lanes: int) -> None:
    """Whatever their format's name says of a range: CAL Programming Guide, "CALformat"."""
    values = np.array([0, 1, 2, 255, 65536, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 7, 8, 2**24 + 1], np.uint32)
    given = np.resize(values, (4, 64, lanes))
    given = given.view(np.int32) if kind in ("SNORM", "SIGNED") else given
    format = getattr(cal, f"CAL_FORMAT_{kind}_INT32_{lanes}")
    job = Job(device, MOVE)
    job.image2d("i0", format, given, (4, 64))
    job.image2d("o0", format, np.zeros_like(given), (4, 64))
    job.run(64, 4)
    np.testing.assert_array_equal(read(job.resources["o0"], 64), given)


def test_mapped_resources_are_copied(one: int) -> None:
    ctx = cal.calCtxCreate(one)
    first, second = (cal.calResAllocRemote2D([one], 64, 4, cal.CAL_FORMAT_FLOAT_1, 0) for _ in range(2))
    mems = [cal.calCtxGetMem(ctx, res) for res in (first, second)]
    source, _ = cal.calResMap(first, 0)
    source[:4, :64] = np.arange(256, dtype=np.float32).reshape(4, 64, 1)
    target, _ = cal.calResMap(second, 0)
    wait(ctx, cal.calMemCopy(ctx, mems[0], mems[1], 0))
    assert (target[:4, :64, 0].ravel() == np.arange(256)).all()
    cal.calResUnmap(first)
    cal.calResUnmap(second)


def test_remote_memory_of_several_devices_is_counted_by_each():
    cal.calInit("hd4870,cpu")
    try:
        devs = [cal.calDeviceOpen(number) for number in range(2)]
        free = [cal.calDeviceGetStatus(dev).availUncachedRemoteRAM for dev in devs]
        res = cal.calResAllocRemote2D(devs, 1000, 1000, cal.CAL_FORMAT_FLOAT_4, 0)
        left = [cal.calDeviceGetStatus(dev).availUncachedRemoteRAM for dev in devs]
        assert [before - now for before, now in zip(free, left, strict=True)] == [16, 16]
        _, pitch = cal.calResMap(res, 0)
        assert pitch % cal.calDeviceGetAttribs(0).pitch_alignment == 0
        cal.calResUnmap(res)
        cal.calResFree(res)
        assert [cal.calDeviceGetStatus(dev).availUncachedRemoteRAM for dev in devs] == free
    finally:
        cal.calShutdown()


def test_pinned_memory_of_one_dimension_has_any_width(one: int) -> None:
    create = cal.calExtGetProc(cal.CAL_EXT_RES_CREATE, "calResCreate1D")
    whole = np.zeros(256, np.float32)
    start = (-whole.ctypes.data % 256) // 4
    mine = whole[start : start + 37]
    res = create(one, mine, 37, cal.CAL_FORMAT_FLOAT_1, mine.nbytes, 0)
    memory, pitch = cal.calResMap(res, 0)
    assert pitch == 37
    memory[:] = 5
    cal.calResUnmap(res)
    assert (mine == 5).all()
    device, before = session().get(one, Device, "device"), set(session().objects)
    device.remote_bytes = device.board.attributes.uncachedRemoteRAM << 20
    with pytest.raises(cal.CalError, match="are too much"):
        create(one, mine, 37, cal.CAL_FORMAT_FLOAT_1, mine.nbytes, 0)
    assert set(session().objects) == before


def test_threads_share_a_session(one: int) -> None:
    """Each with a context of its own: they make, bind and free while the others look through the session's objects."""
    failures: list[BaseException] = []
    others = [cal.calResAllocLocal1D(one, 4, cal.CAL_FORMAT_FLOAT_4) for _ in range(1000)]

    def work() -> None:
        try:
            ctx = cal.calCtxCreate(one)
            for _ in range(30):
                resources = [cal.calResAllocLocal1D(one, 4, cal.CAL_FORMAT_FLOAT_4) for _ in range(3)]
                mems = [cal.calCtxGetMem(ctx, resource) for resource in resources]
                for mem, resource in zip(mems, resources, strict=True):
                    cal.calCtxReleaseMem(ctx, mem)
                    cal.calResFree(resource)
            cal.calCtxDestroy(ctx)
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    for resource in others:
        cal.calResFree(resource)
    assert cal.calDeviceGetStatus(one).availLocalRAM == cal.calDeviceGetAttribs(0).localRAM

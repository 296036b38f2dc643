"""Code objects that Triton made run on simulated chips without Triton. `make_objects.py` makes them again."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import headwater as hw
import headwater.triton
from headwater.emulate.gcn.translate import translate_kernel
from headwater.emulate.gcn.translator import Options
from headwater.emulate.watch.check import _outermost
from headwater.errors import CodeObjectError, KernelFault, LaunchError, ResourceError, UsageError
from headwater.isa.gcn.codeobject import load
from headwater.runtime.simulated.reachable import reachable
from headwater.triton import arguments, memory
from headwater.triton.stopwatch import do_bench, milliseconds

OBJECTS = Path(__file__).with_name("objects")
CHIPS = {"gfx906": "mi50", "gfx908": "mi100", "gfx90a": "mi250x", "gfx942": "mi300x"}
STORED = sorted(path.stem for path in OBJECTS.glob("*.hsaco"))


def loaded(name, target="gfx90a"):
    return headwater.triton.load(str(OBJECTS / f"{name}.{target}.hsaco"), CHIPS[target])


def targets(name):
    return [stem.partition(".")[2] for stem in STORED if stem.startswith(f"{name}.")]


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.parametrize("target", targets("scaled_sum"))
def test_a_sum(target):
    x, y, out = numbers(1000), numbers(1000, seed=2), np.zeros(1024, np.float32)
    loaded("scaled_sum", target)[(4,)](x, y, out, 1000, np.float32(0.5))
    assert np.allclose(out[:1000], x + np.float32(0.5) * y, rtol=1e-6, atol=1e-7)
    assert not out[1000:].any()


def test_a_kernel_prints_and_asserts(capsys):
    """By calls to the host, which ROCm's device library makes; each print takes several packets."""
    kernel, x = loaded("dump"), np.arange(64, dtype=np.float32) / 4
    kernel[(8,)](x, np.float32(100))
    wanted = [f"pid ({group}, 0, 0) idx ({n:2}) value: {n / 4:f}" for group in range(8) for n in range(64)]
    wanted += [f"pid ({group}, 0, 0) idx () group: {group}" for group in range(8)]
    assert sorted(set(capsys.readouterr().out.splitlines())) == sorted(wanted)
    with pytest.raises(KernelFault, match="trap: an assertion failed"):
        kernel[(1,)](x, np.float32(15.5))
    failed = [line for line in capsys.readouterr().out.splitlines() if "assertion" in line]
    assert failed == ["device assertion failed: 'too large', in unknown at kernels.py:84"] * 2


def test_a_check_looks_for_no_races_in_the_memory_of_calls_to_the_host():
    kernel, x = loaded("dump"), np.zeros(64, np.float32)
    launch = kernel.kernel.on(hw.device("mi250x")).prepare((64,), (64,), ())
    task = launch.prepared((x, np.float32(1), None, None))
    assert "the memory of calls to the host" in [extent.name for extent in task.extents]
    assert [extent.start for extent in _outermost(task.extents)] == [x.ctypes.data]


@pytest.mark.parametrize("target", targets("row_softmax"))
def test_groups_have_the_shared_memory_that_the_description_says(target):
    x, out = numbers(5, 300), np.zeros((5, 300), np.float32)
    loaded("row_softmax", target)[5](x, out, 300)
    grown = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(out, grown / grown.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("target", targets("product"))
def test_matrix_instructions(target):
    a, b, out = numbers(64, 64).astype("f2"), numbers(64, 64, seed=2).astype("f2"), np.zeros((64, 64), np.float32)
    loaded("product", target)[2, 2](a, b, out, 64)
    assert np.allclose(out, a.astype("f8") @ b.astype("f8"), atol=1e-4)


def test_without_shared_memory_the_access_is_a_fault(tmp_path):
    for suffix in (".hsaco", ".json"):
        shutil.copy(OBJECTS / f"row_softmax.gfx90a{suffix}", tmp_path / f"k{suffix}")
    fields = json.loads((tmp_path / "k.json").read_text())
    assert fields["shared"]
    (tmp_path / "k.json").write_text(json.dumps(fields | {"shared": 0}))
    kernel = headwater.triton.load(str(tmp_path / "k.hsaco"))
    assert kernel.device.name == "mi250x"
    with pytest.raises(hw.KernelFault, match="local memory"):
        kernel[1](numbers(300), np.zeros(300, np.float32), 300)
    (tmp_path / "k.json").write_text(json.dumps(fields | {"shared": 1 << 17}))
    with pytest.raises(ResourceError, match="131072 bytes of local memory"):
        headwater.triton.load(str(tmp_path / "k.hsaco"))[1](numbers(300), np.zeros(300, np.float32), 300)


def test_faults_name_tritons_line():
    line = next(n for n, text in enumerate((OBJECTS.parent / "kernels.py").open(), 1) if "x + at + n" in text)
    with pytest.raises(hw.KernelFault, match=rf"kernels\.py:{line}"):
        loaded("beyond")[1](numbers(64), np.zeros(64, np.float32), 1 << 20)


def test_addresses_in_memory_are_followed_where_that_is_said():
    arrays = [numbers(4, seed=n) for n in range(3)]
    addresses = np.array([a.ctypes.data for a in arrays])
    out = np.zeros(3, np.float32)
    kernel = loaded("first_of_each")
    with pytest.raises(hw.KernelFault):
        kernel[3](addresses, out)
    with reachable([(f"array {n}", a) for n, a in enumerate(arrays)]):
        kernel[3](addresses, out)
    assert out.tolist() == [a[0] for a in arrays]


def test_times_are_the_cycle_models():
    x, out = numbers(64, 512), np.zeros((64, 512), np.float32)
    kernel = loaded("row_softmax")

    def launch(rows=64):
        kernel[rows](x, out, 512)

    time = milliseconds(launch)
    assert np.allclose(out.sum(1), 1)  # it has run
    size = 256
    wanted = kernel.kernel[(64 * size,), (size,)].simulate(x, out, 512, None, None, lds=kernel.description.shared)
    assert time == pytest.approx(wanted.microseconds / 1e3)
    assert do_bench(launch) == time == do_bench(launch, return_mode="max")
    assert do_bench(launch, quantiles=[0.5, 0.2, 0.8]) == [time] * 3
    assert do_bench(launch, return_mode="all") == [time]
    assert milliseconds(lambda: [launch(), launch()]) == pytest.approx(2 * time)
    with pytest.warns(RuntimeWarning, match="no Triton kernel was launched"):
        assert np.isnan(do_bench(lambda: None))


def test_nothing_is_launched_for_an_empty_grid():
    out = np.zeros(64, np.float32)
    loaded("beyond")[(0,)](numbers(64), out, 1 << 20)
    assert not out.any()


def test_arguments_are_counted():
    with pytest.raises(LaunchError, match="scaled_sum takes 5 arguments, 4 given"):
        loaded("scaled_sum")[(1,)](numbers(8), numbers(8), numbers(8), 8)
    with pytest.raises(LaunchError, match="argument1: a list has no memory"):
        loaded("scaled_sum")[(1,)]([1.0], numbers(8), numbers(8), 8, np.float32(1))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": 1, "num_warps": 4}', '{"name": "k", "num_warps": "4"}'])
def test_other_descriptions_are_refused(tmp_path, text):
    shutil.copy(OBJECTS / "beyond.gfx90a.hsaco", tmp_path / "k.hsaco")
    with pytest.raises(UsageError, match=r"cannot read .*k\.json"):
        headwater.triton.load(str(tmp_path / "k.hsaco"))
    (tmp_path / "k.json").write_text(text)
    with pytest.raises(UsageError, match="is not Triton's description of a kernel"):
        headwater.triton.load(str(tmp_path / "k.hsaco"))


def test_other_files_are_refused(tmp_path):
    shutil.copy(OBJECTS / "beyond.gfx90a.json", tmp_path / "k.json")
    (tmp_path / "k.hsaco").write_bytes(b"no code")
    with pytest.raises(CodeObjectError):
        headwater.triton.load(str(tmp_path / "k.hsaco"))
    with pytest.raises(UsageError, match=r"machine code for gfx90a, and mi50 is a gfx906"):
        headwater.triton.load(str(OBJECTS / "beyond.gfx90a.hsaco"), "mi50")


def test_without_triton_there_is_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(UsageError, match="Triton cannot be imported") as error:
        headwater.triton.activate("mi250x")
    assert error.value.hint == "pip install headwater[triton]"


# -- what is passed ----------------------------------------------------------------------------------------------------


def test_numbers_have_the_bits_of_tritons_types():
    bits = [(arguments.number(kind, value).tobytes().hex(), kind) for kind, value in (
        ("i1", True), ("i32", -1), ("u64", 2**64 - 1), ("i64", -2), ("fp32", 1.0), ("fp64", 1.0), ("fp16", 1.0),
        ("bf16", 1.00390625), ("bf16", 1.01171875), ("bf16", float("nan")),
    )]  # fmt: skip
    assert [text for text, _ in bits] == [
        "01", "ffffffff", "ff" * 8, "fe" + "ff" * 7, "0000803f", "000000000000f03f", "003c",
        "803f", "823f", "c07f",  # ties go to even
    ]  # fmt: skip


def test_tuples_are_passed_element_by_element_and_constants_not_at_all():
    parts = arguments.flattened(("*fp32", ("i32", "constexpr"), "fp32"), ("x", (1, 2), 3.0))
    assert list(parts) == [("*fp32", "x"), ("i32", 1), ("fp32", 3.0)]


def test_a_strided_array_is_passed_with_all_memory_between_its_elements():
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    backwards = whole[::-1, 1:3]
    place = memory.place(backwards, "x")
    assert place.from_there[:4].view(np.float32)[0] == backwards[0, 0]
    [(name, around)] = place.around
    assert name == "the memory of `x`"
    assert around.view(np.float32).tolist() == list(range(1, 21))
    assert memory.HostArray(backwards).stride() == (-6, 1)
    assert memory.HostArray(backwards).data_ptr() == whole.ctypes.data + 4 * 19


@pytest.mark.parametrize("name", ["attention", "large_product"])
def test_large_kernels_make_little_code(name):
    """LLVM's time is in proportion to the text. It was 5 KB an instruction: selectors of bytes, copies of matrices, a
    call for each part of an access, and 200 operations for each quotient. The bound is 5 % above the larger of these."""
    code = (OBJECTS / f"{name}.gfx942.hsaco").read_bytes()
    made = translate_kernel(load(code, name), name.removeprefix("large_"), Options())
    lengths = [len(module) for module in made.modules(2)]
    assert sum(lengths) < 2400 * made.instruction_count
    assert max(lengths) < 1.2 * min(lengths)

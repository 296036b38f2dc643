"""Brook+ programs: translation from the cache, what they show of themselves, launches as GPUs get them, bounded plans."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.base import cache
from headwater.brook import translator
from headwater.errors import KernelFault, SourceError
from headwater.il import from_llvm
from headwater.opencl import gcn
from headwater.runtime.brook import call_plans, program as brook

SUM = "kernel void sum(float a<>, float b<>, out float c<>) { c = a + b; }\n"
PLACES = "kernel void place(float a<>, out float2 p<>) { p = (float2)instance().xy + float2(a, a); }\n"
TOTAL = "reduce void total(float a<>, reduce float t<>) { t += a; }\n"
WARM = f"""
import sys
import numpy as np
import headwater as hw
a = np.ones(5, np.float32)
assert (hw.compile({SUM!r}, language="brook").sum(a, a, device=sys.argv[1]) == 2).all()
print([name for name in ("lark", "headwater.brook.parser", "llvmlite") if name in sys.modules])
"""


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_second_process_neither_parses_nor_compiles(own_cache: Path) -> None:
    command = [sys.executable, "-c", WARM, "cpu"]
    for expected in (None, "[]"):
        done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        if expected is not None:
            assert done.stdout.strip() == expected


@pytest.mark.parametrize("device", ["hd5870", "vega64"])
def test_simulated_chips_compile_only_what_calls_need(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def recorded(inner: Any) -> Any:
        def compiled(*args: Any, **options: Any) -> Any:
            found = inner(*args, **options)
            made.extend(found.kernels)
            return found

        return compiled

    monkeypatch.setattr(from_llvm, "kernels", recorded(from_llvm.kernels))
    monkeypatch.setattr(gcn, "compile_code_object", recorded(gcn.compile_code_object))
    program = hw.compile(SUM + PLACES + TOTAL, language="brook", device=device)
    a = np.arange(6, dtype=np.float32)
    assert made == []
    assert (program.sum(a, a) == 2 * a).all()
    assert {name.split("_")[0] for name in made} == {"sum"}
    assert len(made) == 1
    assert (program.sum(a + 1, a) == 2 * a + 1).all()
    assert len(made) == 1
    assert program.total(a) == a.sum()
    assert {name.split("_")[0] for name in made} == {"sum", "total"}
    assert (program.place(a)[:, 0] == 2 * a).all()
    assert len(made) == len(set(made))


def test_outs_of_several_shaders_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    inner = from_llvm.kernels

    def compiled(*args: Any, **options: Any) -> Any:
        calls.append(options["only"])
        return inner(*args, **options)

    monkeypatch.setattr(from_llvm, "kernels", compiled)
    outs = range(20)
    text = f"kernel void k(float a<>, {', '.join(f'out float o{n}<>' for n in outs)}) {{"
    text += "".join(f" o{n} = a + {n}.0f;" for n in outs) + " }"
    a = np.arange(8, dtype=np.float32)
    found = hw.compile(text, language="brook", device="hd4870").k(a)
    assert all((found[n] == a + n).all() for n in outs)
    ((*only,),) = calls
    assert len(only) == 3


def test_a_damaged_translation_is_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = cache.Cache(tmp_path)
    monkeypatch.setattr(cache, "current", lambda: store)
    first = brook.translate(SUM, "sum.br")
    (entry,) = tmp_path.rglob("module.json")
    entry.write_text(entry.read_text()[:100])
    assert brook.translate(SUM, "sum.br") == first


def test_translations_differ_by_options_and_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = cache.Cache(tmp_path)
    monkeypatch.setattr(cache, "current", lambda: store)
    text = "kernel void k(float a<>, out float b<>) { b = a * N; }\n"
    one, two = (brook.translate(text, "k.br", f"-D N={n}.0f") for n in (1, 2))
    assert one.source != two.source


def test_a_wrong_source_is_reported_with_its_position() -> None:
    with pytest.raises(hw.SourceError) as caught:
        hw.compile("kernel void k(float a<>, out float b<>) {\n    b = a + c;\n}\n", language="brook")
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_programs_show_their_kernels_and_their_opencl() -> None:
    program = hw.compile(SUM + TOTAL, language="brook")
    assert list(program) == ["sum", "total"]
    assert program.language == "brook"
    assert repr(program.sum) == "<Brook+ kernel sum(float a<>, float b<>, out float c<>)>"
    assert "__kernel void sum" in program.opencl
    assert {"sum", "total"} <= set(dir(program))
    assert not hasattr(program, "nothing")


def test_the_current_device_and_the_program_s_device_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    program = hw.compile(SUM, language="brook", device="cpu")
    a = np.ones(3, np.float32)
    monkeypatch.setenv("HEADWATER_DEVICE", "no such chip")
    assert program.sum(a, a).tolist() == [2, 2, 2]
    with hw.device("cpu"):
        assert program.sum(a, a).tolist() == [2, 2, 2]
    with pytest.raises(hw.DeviceError, match="no such chip"):
        hw.compile(SUM, language="brook")


def test_plans_are_kept_but_not_without_end() -> None:
    program = hw.compile(SUM, language="brook", device="cpu")
    for n in range(1, call_plans.KEPT_PLANS + 20):
        a = np.full(n % 7 + 1, n, np.float32)
        program.sum(a, a, shape=(n % 7 + 1,), domain=None)
    assert 0 < len(program.sum.planner.plans) <= 7
    for n in range(call_plans.KEPT_PLANS + 20):
        program.sum.planner.plan(hw.device("cpu"), {"a": _view(n), "b": _view(n)}, None, None)
    assert len(program.sum.planner.plans) <= call_plans.KEPT_PLANS


def test_the_device_gets_ready_while_a_new_program_is_translated(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    translate = translator.translate

    def told(*args: Any) -> Any:
        seen.append("translated")
        return translate(*args)

    monkeypatch.setattr(translator, "translate", told)
    monkeypatch.setattr(type(hw.device("cpu")), "expect_source", lambda device: seen.append(device.name))
    for _ in range(2):
        hw.compile(SUM, language="brook", device="cpu")
    assert seen == ["cpu", "translated"]  # the second time it comes from the cache


def _view(n: int) -> Any:
    return brook.View.of((1 << 20,) if n == 0 else (2, n))


@pytest.mark.parametrize("shape", [(1,), (5,), (1023,), (1, 1), (3, 70), (70, 3), (2, 3, 5), (2, 2, 3, 33)])
def test_launches_as_gpus_get_them_cover_every_element_once(
    monkeypatch: pytest.MonkeyPatch, opencl_device: str, shape: tuple[int, ...]
) -> None:
    # Four elements per work-item, sizes rounded up to whole groups, other groups for reductions.
    monkeypatch.setattr(call_plans, "_is_gpu", lambda device: True)
    program = hw.compile(SUM + PLACES + TOTAL, language="brook", device=opencl_device)
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(program.sum(a, a), a + a)
    places = np.indices(shape)
    y = places[-2] if len(shape) > 1 else np.zeros(shape)
    assert np.array_equal(program.place(a), np.stack([places[-1] + a, y + a], axis=-1))
    assert program.total(a) == a.sum()
    resized = program.sum(a[..., :1].copy(), a, shape=shape)
    assert np.array_equal(resized, a[..., :1] + a)


RACE = """
// the element is everybody's
kernel void f(float a<>, out float o[])
{
    o[0] = a;
}
"""


@pytest.mark.parametrize("device", ["hd4870", "hd5870", "vega64"])
def test_faults_name_the_line_of_brook(device, monkeypatch):
    monkeypatch.setenv("HEADWATER_CHECK", "1")
    program = hw.compile(RACE, language="brook", device=device)
    with pytest.raises(KernelFault) as caught:
        program.f(np.arange(100, dtype=np.float32), shape=100)
    text = str(caught.value)
    assert text.startswith("<source>:5: error: data race")
    assert "the other access: <source>:5: o[0] = a;" in text
    assert "<source>.cl" not in text


@pytest.mark.parametrize("device", ["hd2600-xt", "hd5450"])
def test_what_a_chip_cannot_do_names_the_line_of_brook(device):
    source = "\nkernel void f(double a<>, out double b<>)\n{\n    b = a;\n    b = a * a;\n}\n"
    program = hw.compile(source, language="brook", device=device)
    with pytest.raises(SourceError, match="double") as caught:
        program.f(np.ones(4))
    assert caught.value.span is not None
    assert (caught.value.span.file, caught.value.span.line) == ("<source>", 5)
    assert caught.value.source_line == "    b = a * a;"

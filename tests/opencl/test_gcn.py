"""Code objects for AMD GPUs: every built-in and our own kernels compile for every generation, and say what they are."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from builtin_calls import GROUPS

from headwater.errors import SourceError, UsageError
from headwater.opencl import gcn
from headwater.opencl.platforms import with_intrinsics

ROOT = Path(__file__).resolve().parents[2]
KERNELS = sorted(
    path
    for folder in ("tests/opencl/kernels", "benchmarks/suite", "examples")
    for path in (ROOT / folder).glob("**/*.cl")
    if path.name not in ("faults.cl",)
)
TARGETS = ("gfx600", "gfx701", "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a")
SCALE = "kernel void scale(global float *a, float f, local int *l) { a[get_global_id(0)] *= f; }"


def assembly(source, target="gfx900", options="", **named):
    return gcn.compile_code_object(source, "k.cl", options, target, emit="asm", **named).code.decode()


def options_of(path):
    """CL2.0 where the source needs it."""
    return "-cl-std=CL2.0" if re.search(r"\bwork_group_(scan|reduce)", path.read_text()) else ""


# The disassembler knows gfx8 and gfx9, and newer ones of it also gfx6 and gfx7.
def disassembled(code, target, folder):
    tool = shutil.which("llvm-objdump")
    if tool is None:
        return None
    path = folder / "k.hsaco"
    path.write_bytes(code)
    done = subprocess.run([tool, "-d", f"--mcpu={target}", str(path)], capture_output=True, text=True)
    if "not yet supported" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_our_kernels_compile_for_every_generation(path, tmp_path):
    source, options = path.read_text(), options_of(path)
    for target in TARGETS:
        made = gcn.compile_code_object(source, str(path), options, target)
        assert made.target == target
        for name in made.kernels:
            assert f"{name}.kd".encode() in made.code
        text = disassembled(made.code, target, tmp_path)
        if text is not None:
            assert "s_endpgm" in text
            assert "<unknown>" not in text


# ------------------------------------------------------------------------------------------------ built-ins


def in_parts(source, statements=64):
    """The one kernel of a group of built-ins as many: LLVM takes long for a thousand statements in one."""
    head, _, body = source.partition("{\n")
    before, _, parameters = head.rpartition("kernel void k(")
    lines = body.strip().removesuffix("}").strip().splitlines()
    for start in range(0, len(lines), statements):
        kernels = [
            f"kernel void k{at}({parameters}{{\n" + "\n".join(lines[at : at + 8]) + "\n}\n"
            for at in range(start, min(start + statements, len(lines)), 8)
        ]
        yield before + "".join(kernels)


def scalars_and_fours(source):
    """A quarter of the statements: those of vectors of 2, 3, 8 and 16 are made by the same rules as those of 4."""
    kept = [line for line in source.splitlines() if not re.search(r"\b[a-z]+(2|3|8|16)\b", line)]
    return "\n".join(kept) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx600", "gfx906"])
@pytest.mark.parametrize("group", GROUPS)
def test_every_builtin_compiles(group, target):
    source, options = GROUPS[group]
    for part in in_parts(scalars_and_fours(source())):
        assert gcn.compile_code_object(part, f"{group}.cl", options, target, emit="obj").kernels


def test_intrinsics_stand_for_builtins_that_mean_the_same():
    lines = [
        "  %2 = call float @_Z3expf(float %1) #8, !fpmath !3",
        "  %3 = tail call fast <4 x float> @_Z3fmaDv4_fS_S_(<4 x float> %a, <4 x float> %b, <4 x float> %c)",
        "  %4 = call double @_Z4fmaxdd(double %x, double %y)",
    ]
    found = [re.search(r"@[\w.]+", with_intrinsics(line))[0] for line in lines]
    assert found == ["@llvm.exp.f32", "@llvm.fma.v4f32", "@llvm.maxnum.f64"]
    assert with_intrinsics("declare hidden float @_Z4sqrtf(float noundef) #1\ndefine") == "define"
    kept = [
        "define hidden float @_Z4sqrtf(float %0) {",
        "declare float @_Z3sinf(float)\n",
        "  %2 = call double @_Z3expd(double %1)",
        "  %3 = call half @_Z4sqrtDh(half %1)",
        "  %5 = call <2 x float> @_Z4fmaxDv2_ff(<2 x float> %1, float %2)",
        "  %6 = call float @_Z4exp2i(i32 %1)",
    ]
    assert [with_intrinsics(line) for line in kept] == kept


def test_accuracy_follows_the_options():
    source = "kernel void k(global float *a) { a[0] = sqrt(a[1]) + native_exp(a[2]) + a[3] / a[4]; }"
    plain, exact = assembly(source), assembly(source, options="-cl-fp32-correctly-rounded-divide-sqrt")
    assert "v_div_scale_f32" in exact
    assert "v_div_scale_f32" not in plain
    assert plain.count("v_exp_f32") == 1
    assert plain.count("\n") < exact.count("\n")


# ------------------------------------------------------------------------------------------------ what kernels are told


def metadata(text):
    return text[text.index(".amdgpu_metadata") :]


def test_the_metadata_describes_the_arguments():
    made = gcn.compile_code_object(SCALE, "k.cl", "", "gfx906", emit="asm")
    info = made.kernels["scale"]
    assert [(arg.name, arg.kind) for arg in info.args] == [("a", "buffer"), ("f", "value"), ("l", "local")]
    said = metadata(made.code.decode())
    kinds = re.findall(r"\.value_kind: +(\w+)", said)
    assert kinds[:3] == ["global_buffer", "by_value", "dynamic_shared_pointer"]
    assert {"hidden_block_count_x", "hidden_group_size_x", "hidden_global_offset_x"} <= set(kinds)
    assert ".max_flat_workgroup_size: 256" in said
    assert "hidden_printf_buffer" not in kinds


@pytest.mark.parametrize(("version", "abi"), [(4, 2), (5, 3), (6, 4)])
def test_code_object_versions(version, abi):
    made = gcn.compile_code_object(SCALE, "k.cl", "", "gfx900", version=version)
    assert made.code[7:9] == bytes([64, abi])  # ELFOSABI_AMDGPU_HSA, its version
    text = assembly("kernel void k(global ulong *a) { a[get_local_size(0)] = get_global_size(1); }", version=version)
    hidden = set(re.findall(r"\.value_kind: +(hidden_\w+)", text))
    assert ("hidden_block_count_x" in hidden) == (version > 4)
    assert (".amdhsa_user_sgpr_dispatch_ptr 1" in text) == (version == 4)


def test_larger_groups_are_allowed_for():
    text = assembly(SCALE, largest_group=1024)
    assert ".max_flat_workgroup_size: 1024" in text
    fixed = (
        "kernel __attribute__((reqd_work_group_size(8, 4, 1))) void k(global ulong *a) { a[0] = get_local_size(1); }"
    )
    text = assembly(fixed)
    assert ".max_flat_workgroup_size: 32" in text
    assert "v_mov_b32_e32 v0, 4" in text


def test_images_and_samplers_are_read_from_memory():
    source = """
kernel void k(read_only image2d_t in, sampler_t s, write_only image2d_t out) {
  const sampler_t own = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
  float4 a = read_imagef(in, s, (int2)(1, 2)) + read_imagef(in, own, (float2)(0.5f));
  write_imagef(out, (int2)(get_image_width(in), 0), a);
}"""
    text = assembly(source)
    assert "image_" not in re.sub(r"\.\w+|image2d_t", "", text)
    assert re.findall(r"\.value_kind: +(image|sampler)\b", text) == ["image", "sampler", "image"]


def test_printf_keeps_its_formats():
    source = r'kernel void k(global float *a) { printf("%f: a\\b%s\n", a[0], "x"); printf("plain\n"); }'
    said = metadata(assembly(source))
    formats = re.findall(r"^  - '(\d+:.*)'$", said, re.MULTILINE)
    assert sorted(entry.partition(":")[2] for entry in formats) == [r"0:plain\n", r"2:4:4:%f\72 a\134b%s\n"]
    assert "hidden_printf_buffer" in said


def test_lines_of_the_source_are_in_the_code():
    text = assembly("kernel void k(global float *a) {\n  a[0] =\n    sin(a[1]);\n}\n")
    assert '.file\t1 "k.cl"' in text
    assert re.search(r"\.loc\t1 3 5", text)


def test_the_result_depends_on_the_source_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "one"))
    first = gcn.compile_code_object(SCALE, "k.cl").code
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "two"))
    monkeypatch.chdir(tmp_path)
    assert gcn.compile_code_object(SCALE, "k.cl").code == first


# ------------------------------------------------------------------------------------------------ the cache


def test_results_are_cached_and_includes_watched(tmp_path, monkeypatch):
    from headwater.opencl import clang

    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "n.h").write_text("#define N 3\n")
    source, name = '#include "n.h"\nkernel void k(global int *a) { a[0] = N; }\n', str(tmp_path / "k.cl")
    first = gcn.compile_code_object(source, name, emit="asm")
    ran = clang.run_clang
    monkeypatch.setattr(clang, "run_clang", lambda *a, **k: pytest.fail("compiled again"))
    assert gcn.compile_code_object(source, name, emit="asm") == first
    monkeypatch.setattr(clang, "run_clang", ran)
    (tmp_path / "n.h").write_text("#define N 4\n")
    again = gcn.compile_code_object(source, name, emit="asm")
    assert again.code != first.code
    assert "v_mov_b32_e32 v1, 4" in again.code.decode()


# ------------------------------------------------------------------------------------------------ wrong input


@pytest.mark.parametrize("said", ["fiji", "GFX803", " gfx803 "])
def test_targets_have_other_names(said):
    assert gcn.processor_of(said) == "gfx803"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int f(int n) { return n ? n * f(n - 1) : 1; } kernel void k(global int *a) { *a = f(*a); }", "recursion"),
        ("int g(int); kernel void k(global int *a) { *a = g(*a); }", "call of undefined function: g"),
        ("kernel void k(global int *a) { local int l[20000]; l[*a] = 1; *a = l[a[1]]; }", "local memory"),
    ],
)
def test_what_cannot_be_compiled_is_told(source, message):
    with pytest.raises(SourceError, match=message):
        gcn.compile_code_object(source, "k.cl")


def test_wrong_settings_are_told():
    with pytest.raises(UsageError, match="there is no target 'gfx9000'"):
        gcn.compile_code_object(SCALE, "k.cl", target="gfx9000")
    with pytest.raises(UsageError, match="there is no code object version 3"):
        gcn.compile_code_object(SCALE, "k.cl", version=3)
    with pytest.raises(UsageError, match="there is no output 'exe'"):
        gcn.compile_code_object(SCALE, "k.cl", emit="exe")

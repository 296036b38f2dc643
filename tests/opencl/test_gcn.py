"""Code objects for AMD GPUs: every built-in and our own kernels compile for every generation, and say what they are."""

import re
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from builtin_calls import GROUPS

import headwater as hw
from headwater.errors import InternalError, SourceError, UsageError
from headwater.llvm.ir import Module
from headwater.native import worker
from headwater.opencl import clang, codegen_gcn, gcn, gcn_build, library, platforms
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


@pytest.mark.parametrize("index", range(len(KERNELS)), ids=lambda index: KERNELS[index].stem)
def test_our_kernels_compile_for_every_generation(index, tmp_path):
    """Each for two of them, in turn."""
    path = KERNELS[index]
    source, options = path.read_text(), options_of(path)
    for target in (TARGETS[index % len(TARGETS)], TARGETS[(index + 3) % len(TARGETS)]):
        made = gcn.compile_code_object(source, str(path), options, target)
        assert made.target == target
        for name in made.kernels:
            assert f"{name}.kd".encode() in made.code
        text = disassembled(made.code, target, tmp_path)
        if text is not None:
            assert "s_endpgm" in text
            assert "<unknown>" not in text


# ------------------------------------------------------------------------------------------------ built-ins


@pytest.mark.parametrize("group", [g for g in GROUPS if not g.startswith("from_") or g in ("from_float", "from_ulong")])
def test_every_builtin_is_defined_at_every_width(group):
    source, options = GROUPS[group]
    target = (*platforms.gcn(5).clang, "-mcpu=gfx906")
    program = Module(clang.compile_to_ir(source(), f"{group}.cl", options, target=target).ir)
    with_intrinsics(program)
    undefined = {name: line for name, line in program.declares.items() if not name.startswith("llvm.")}
    (text,) = library.definitions(undefined, platforms.gcn(5))
    module = llvm.parse_assembly(text)
    module.verify()
    functions = {f.name: f for f in module.functions}
    assert [name for name in undefined if name not in functions or functions[name].is_declaration] == ["printf"] * (
        "printf" in undefined
    )
    left = {name for name, f in functions.items() if f.is_declaration and not name.startswith("llvm.")}
    assert left <= {"printf"}


def test_intrinsics_stand_for_builtins_that_mean_the_same():
    def called(*lines):
        module = Module("\n".join(["define void @k() {", *lines, "}"]))
        with_intrinsics(module)
        return module.bodies["k"].lines

    lines = [
        "  %2 = call float @_Z3expf(float %1) #8, !fpmath !3",
        "  %3 = tail call fast <4 x float> @_Z3fmaDv4_fS_S_(<4 x float> %a, <4 x float> %b, <4 x float> %c)",
        "  %4 = call double @_Z4fmaxdd(double %x, double %y)",
    ]
    found = [re.search(r"@[\w.]+", line)[0] for line in called(*lines)]
    assert found == ["@llvm.exp.f32", "@llvm.fma.v4f32", "@llvm.maxnum.f64"]
    names = ("_Z4sqrtf", "_Z3sinf")
    module = Module("\n".join(f"declare hidden float @{name}(float noundef) #1" for name in names))
    with_intrinsics(module)
    assert list(module.declares) == ["_Z3sinf"]
    module = Module("define hidden float @_Z4sqrtf(float %0) {\n  ret float %0\n}")
    with_intrinsics(module)
    assert list(module.bodies) == ["_Z4sqrtf"]
    kept = [
        "  %2 = call double @_Z3expd(double %1)",
        "  %3 = call half @_Z4sqrtDh(half %1)",
        "  %5 = call <2 x float> @_Z4fmaxDv2_ff(<2 x float> %1, float %2)",
        "  %6 = call float @_Z4exp2i(i32 %1)",
    ]
    assert called(*kept) == kept


def test_accuracy_follows_the_options():
    source = "kernel void k(global float *a) { a[0] = sqrt(a[1]) + native_exp(a[2]) + a[3] / a[4]; }"
    plain, exact = assembly(source), assembly(source, options="-cl-fp32-correctly-rounded-divide-sqrt")
    assert "v_div_scale_f32" in exact
    assert "v_div_scale_f32" not in plain
    assert plain.count("v_exp_f32") == 1
    assert plain.count("\n") < exact.count("\n")


@pytest.mark.parametrize("kind", ["float", "float4", "half"])
def test_minima_of_minima_compile_where_llvm_fails(kind):
    """LLVM 22 ends the process at such chains on gfx6 and gfx7 unless what they choose is the numbers' bits."""
    source = f"kernel void k(global {kind} *a) {{ a[0] = min(min(min(a[1], a[2]), a[3]), a[4]); }}"
    text = assembly(source, "gfx701")
    assert "v_cmp_lt_f32" in text
    assert "v_min_legacy_f32" not in text
    assert "v_min_legacy_f32" in assembly("kernel void k(global float *a) { a[0] = min(a[1], a[2]); }", "gfx701")


CHOSEN_ZEROS = """kernel void k(global float *a, global float *b, global float4 *c) {
  int i = get_global_id(0);
  float x = a[i], y = a[i ^ 1];
  b[8 * i] = x < 0 ? 0.0f : x;      b[8 * i + 1] = x <= 0 ? 0.0f : x;
  b[8 * i + 2] = x > y ? x : y;     b[8 * i + 3] = x >= y ? x : y;
  b[8 * i + 4] = x < y ? x : y;     b[8 * i + 5] = !(x <= y) ? x : y;
  b[8 * i + 6] = !(x < y) ? y : x;  b[8 * i + 7] = max(x, y);
  c[i] = c[i] > 0.0f ? (float4)(0.0f) : c[i];
}"""


def test_zeros_of_either_sign_are_chosen_as_written():
    """V_MAX_LEGACY_F32, of which LLVM made ``x < 0 ? 0 : x`` on gfx6 and gfx7, gives 0 for -0."""
    a, b, c = np.array([0.0, -0.0], np.float32), np.zeros((2, 8), np.float32), np.full((2, 4), -0.0, np.float32)
    hw.compile(CHOSEN_ZEROS, device="hd7970").k[(2,), None](a, b, c, device="hd7970")
    assert np.signbit(b).tolist() == [[False, False, True, False, True, True, True, False],
                                      [True, False, False, True, False, False, False, True]]  # fmt: skip
    assert np.signbit(c).all()


def test_products_that_become_halves_keep_their_sign():
    """V_FMA_MIXLO_F16, which LLVM makes of them from gfx906 on, adds 0 to a product: -0 became 0."""
    source = """kernel void k(global half *o, global float *a) {
      vstore_half(a[0] * a[1], 0, o);
      vstore_half2((float2)(a[0], a[1]) * (float2)(a[2], a[0]), 1, o);
    }"""
    out = np.zeros(4, np.float16)
    for device in ("mi50", "mi250x"):
        hw.compile(source, device=device).k[(1,), (1,)](out, np.array([-0.0, 2, 3], np.float32), device=device)
        assert np.signbit(out).tolist() == [True, False, True, True], device
        assert not out.any()
        out[:] = 0


@pytest.mark.parametrize("device", ["vega64", "mi250x", "mi300x"])
def test_one_id_of_a_work_item_in_two_dimensions(device):
    """From gfx90a on v0 has all three, 10 bits each, but a single one that a kernel asks for fills it."""
    source = """kernel void k(global int *o) { atomic_add(o + get_local_id(0), 1); }
    kernel void both(global int *o) { atomic_add(o + 8 * get_local_id(1) + get_local_id(0), 1); }"""
    program = hw.compile(source, device=device)
    columns, all_items = np.zeros(8, np.int32), np.zeros((4, 8), np.int32)
    program.k[(8, 4), (8, 4)](columns, device=device)
    program.both[(8, 4), (8, 4)](all_items, device=device)
    assert columns.tolist() == [4] * 8
    assert (all_items == 1).all()


def test_signed_zeros_may_be_waived():
    source = "kernel void k(global float *a) { a[0] = a[1] > a[2] ? a[1] : a[2]; a[3] = a[4] < 2 ? 2.0f : a[4]; }"
    assert assembly(source, "gfx701").count("v_max_legacy_f32") == 1
    assert assembly(source, "gfx701", options="-cl-no-signed-zeros").count("v_max_legacy_f32") == 2


# LLVM finds while it generates code that the three lowest bits of `at` are those of 4, and fails at a constant index.
KNOWN_INDEX = """
kernel void k(global uint *out) {
  short first = bitselect((short)48, (short)76, (short)get_group_id(0));
  uint at = bitselect(20u, 47u, (uint)first);
  ulong array[8] = {0, 0, 0, 0, 60};
  int left = 3;
  do {
    if ((at & 7) == 0) array[7] = first + 2;
  } while (--left > 0 && get_group_id(0));
  out[get_global_id(0)] = (array[at & 7] != first) + at;
}
"""


def test_an_index_that_becomes_constant_compiles_where_llvm_fails():
    assert gcn.compile_code_object(KNOWN_INDEX, "k.cl", target="gfx900").warnings == ""
    out, expected = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    for device, into in (("vega64", out), ("cpu", expected)):
        with hw.device(device):
            hw.compile(KNOWN_INDEX).k[(32,), (4,)](into)
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize(("level", "what"), [(1, "code is generated without"), (2, "the kernel is compiled without")])
def test_what_llvm_cannot_optimise_is_compiled_with_less_and_told(level, what, tmp_path, monkeypatch):
    """LLVM's defects have no names: here it "fails" until asked for as little as that."""
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    asked = []
    real = worker.Worker.call

    def call(self, function, *args, **named):
        if function.endswith(":compile") and (args[-1].caution < level):
            asked.append(named)
            raise InternalError("LLVM stopped while compiling the kernel (exit status -6): Assertion")
        return real(self, function, *args, **named)

    monkeypatch.setattr(worker.Worker, "call", call)
    kernel = (
        "kernel void k(global float *a, float f) { size_t i = get_global_id(0); float t[4]; t[i] = f; a[i] += t[i]; }"
    )
    a = np.arange(4, dtype=np.float32)
    with hw.device("vega64"):
        hw.compile(kernel).k[4, None](a, 2.5)
    assert a.tolist() == [2.5, 3.5, 4.5, 5.5]
    built = gcn.compile_code_object(kernel, "k.cl", target="gfx900")
    assert built.warnings.startswith("k.cl: note: LLVM fails at optimised code for gfx900")
    assert what in built.warnings
    assert gcn.compile_code_object(kernel, "k.cl", target="gfx900").warnings == built.warnings  # from the cache
    assert len(asked) == 2 * level


def test_what_llvm_refuses_for_good_reasons_is_asked_once(monkeypatch):
    asked = []
    real = worker.Worker.call

    def call(self, function, *args, **named):
        asked.append(function)
        return real(self, function, *args, **named)

    monkeypatch.setattr(worker.Worker, "call", call)
    with pytest.raises(SourceError, match="local memory"):
        gcn.compile_code_object(
            "kernel void k(global int *a) { local int t[20000]; t[a[0]] = 1; a[1] = t[a[2]]; }", "k"
        )
    assert len(asked) == 1


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
    made = gcn.compile_code_object(SCALE, "k.cl", "", "gfx900", variant=gcn.Variant(version))
    assert made.code[7:9] == bytes([64, abi])  # ELFOSABI_AMDGPU_HSA, its version
    text = assembly(
        "kernel void k(global ulong *a) { a[get_local_size(0)] = get_global_size(1); }", variant=gcn.Variant(version)
    )
    hidden = set(re.findall(r"\.value_kind: +(hidden_\w+)", text))
    assert ("hidden_block_count_x" in hidden) == (version > 4)
    assert (".amdhsa_user_sgpr_dispatch_ptr 1" in text) == (version == 4)


def test_larger_groups_are_allowed_for():
    text = assembly(SCALE, variant=gcn.Variant(largest_group=1024))
    assert ".max_flat_workgroup_size: 1024" in text
    fixed = (
        "kernel __attribute__((reqd_work_group_size(8, 4, 1))) void k(global ulong *a) { a[0] = get_local_size(1); }"
    )
    text = assembly(fixed)
    assert ".max_flat_workgroup_size: 32" in text
    assert "v_mov_b32_e32 v0, 4" in text


@pytest.mark.parametrize("target", ["gfx600", "gfx906", "gfx90a"])
def test_images_are_read_and_written_by_instructions_where_there_are_any(target):
    source = """
kernel void k(read_only image2d_t in, sampler_t s, write_only image2d_t out) {
  const sampler_t own = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
  float4 a = read_imagef(in, s, (int2)(1, 2)) + read_imagef(in, own, (float2)(0.5f));
  write_imagef(out, (int2)(get_image_width(in), 0), a + read_imagef(in, (int2)(3, 4)));
}"""
    text = assembly(source, target=target)
    found = sorted(re.findall(r"^\s(image_\w+)", text, re.MULTILINE))
    usual = ["image_load", "image_sample_lz", "image_sample_lz", "image_store"]
    assert found == ([] if target == "gfx90a" else usual)
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


def test_inline_assembly_is_assembled():
    source = 'kernel void k(global int *a) {{ int b; __asm__("{} %0, 0x1234" : "=v"(b)); a[get_local_id(0)] = b; }}'
    made = gcn.compile_code_object(source.format("v_mov_b32"), "k.cl")
    assert re.search(rb"\xff\x02.\x7e\x34\x12\x00\x00", made.code)  # V_MOV_B32 of a literal
    assert list(made.kernels) == ["k"]
    with pytest.raises(SourceError, match=r"k\.cl:1:39: error: invalid instruction"):
        gcn.compile_code_object(source.format("v_move_b32"), "k.cl")


def test_chips_without_flat_memory_are_told():
    source = "kernel void k(global int *a, local int *l, int n) {\n  int *p = n ? (int *)a : (int *)l;\n  *p = n;\n}\n"
    assert gcn.compile_code_object(source, "k.cl", "-cl-std=CL2.0", "gfx701").kernels
    with pytest.raises(SourceError, match="access by a pointer of unknown address space, on gfx600") as error:
        gcn.compile_code_object(source, "k.cl", "-cl-std=CL2.0", "gfx600")
    assert error.value.span.line == 3


def test_wrong_settings_are_told():
    with pytest.raises(UsageError, match="there is no target 'gfx9000'"):
        gcn.compile_code_object(SCALE, "k.cl", target="gfx9000")
    with pytest.raises(UsageError, match="there is no code object version 3"):
        gcn.compile_code_object(SCALE, "k.cl", variant=gcn.Variant(3))
    with pytest.raises(UsageError, match="there is no output 'exe'"):
        gcn.compile_code_object(SCALE, "k.cl", emit="exe")


def test_processors_share_what_clang_makes_and_get_their_own_code(monkeypatch):
    """One run of clang for all processors that treat denormals alike; the code is what each would have had alone."""
    runs = []
    compile_to_ir = clang.compile_to_ir

    def counted(*args, **named):
        runs.append(args)
        return compile_to_ir(*args, **named)

    monkeypatch.setattr(clang, "compile_to_ir", counted)
    monkeypatch.setattr(gcn_build, "_fronts", {})
    source = (ROOT / "benchmarks/suite/mandelbrot.cl").read_text()
    for processor in ("gfx900", "gfx600", "gfx701", "gfx90a"):
        front = gcn_build.front(source, "m.cl", "", processor, 5)
        alone = compile_to_ir(source, "m.cl", "", debug=True, target=(*platforms.gcn(5).clang, f"-mcpu={processor}"))
        settings = gcn.Settings(processor, *gcn.DEFAULT_VARIANT, "obj", ())
        made = [gcn_build._generate(one.ir, list(one.kernels), "m.cl", source, settings) for one in (front, alone)]
        assert made[0] == made[1], processor
    assert len(runs) == 2
    for source in ("#ifdef __gfx906__\n#endif\n" + SCALE, '#include "own.h"\n' + SCALE):
        runs.clear()
        monkeypatch.setattr(clang, "compile_to_ir", lambda *args, **named: runs.append(named["target"]))
        gcn_build.front(source, "m.cl", "", "gfx900", 5)
        gcn_build.front(source, "m.cl", "", "gfx906", 5)
        assert len(runs) == 2


def large_function(name, lines):
    return f"define void @{name}() {{\n" + "  call void @f()\n" * lines + "  ret void\n}\n"


@pytest.mark.parametrize(
    ("text", "large", "block"),
    [
        (large_function("k", codegen_gcn.LARGE_FUNCTION), True, True),
        (large_function("k", 10), False, False),
        (large_function("k", codegen_gcn.LARGE_FUNCTION // 2) + large_function("m", 3000), False, True),
        (large_function("k", codegen_gcn.LARGE_FUNCTION).replace("call", "ret void\nnext:\n  call", 3), True, True),
        ("define void @k() {\n" + "b:\n  ret void\n" * codegen_gcn.LARGE_FUNCTION + "}\n", True, False),
    ],
    ids=["large", "small", "two", "late", "blocks"],
)
def test_passes_of_quadratic_time_are_left_out_of_large_functions(text, large, block, monkeypatch):
    chosen = {}
    monkeypatch.setattr(llvm, "set_option", lambda _, option: chosen.update([option[1:].split("=")]))
    codegen_gcn._limit_code_generation(Module(text), caution=0)
    assert chosen["amdgpu-scalar-ir-passes"] == str(int(not large))
    assert (int(chosen["combiner-tokenfactor-inline-limit"]) < 2048) == large
    assert chosen["disable-post-ra"] == "0"
    assert chosen["disable-cgp"] == str(int(block))


def test_code_is_the_same_where_large_blocks_are_not_prepared(monkeypatch):
    lines = "".join(f"  y = sqrt(fabs(y)) - z; z = -min(z, y) / {k}.0f;\n" for k in range(1, 9))
    source = f"kernel void k(global float *a) {{ float y = a[0], z = a[1];\n{lines} a[2] = y + z; }}"
    front = clang.compile_to_ir(source, "k.cl", "", target=(*platforms.gcn(5).clang, "-mcpu=gfx900"))
    how = gcn.CodeOptions("gfx900", 5, 256, "asm")
    before = codegen_gcn.compile(front.ir, front.kernels, "k.cl", how)
    monkeypatch.setattr(codegen_gcn, "LARGE_BLOCK", 1)
    assert codegen_gcn.compile(front.ir, front.kernels, "k.cl", how) == before
    assert before.count(b"v_sqrt_f32") >= 8


def test_a_large_kernel_leaves_others_code_as_it_is():
    loads = "".join(f"  x += a[(i + {7 * k}) & 4095];\n" for k in range(1000))
    before = assembly(SCALE)
    assert "s_endpgm" in assembly(
        f"kernel void k(global int *a) {{ int i = get_global_id(0), x = 0;\n{loads} a[i] = x; }}"
    )
    assert assembly(SCALE) == before


@pytest.mark.parametrize("chip", ["hd7970", "r9-nano", "vega64"])
def test_products_and_sums_of_halves_round_once(chip):
    """hd7970 has no instructions for halves; the last third of the sums nearly cancel."""
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 16, (3, 3000)).astype(np.uint16)
    bits[:, :1000] &= 0x83FF  # denormals
    a, b, c = bits.view(np.float16)
    with np.errstate(all="ignore"):
        c[2000:] = -(a[2000:].astype(np.float64) * b[2000:]).astype(np.float16)
        wanted = (a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)).astype(np.float16)
    source = """kernel void k(global half *a, global half *b, global half *c) {
        int i = get_global_id(0); c[i] = fma(a[i], b[i], c[i]); }"""
    hw.compile(source, device=chip).k[a.size](a, b, c)
    np.testing.assert_array_equal(c, wanted)
    np.testing.assert_array_equal(np.signbit(c[c == 0]), np.signbit(wanted[c == 0]))


@pytest.mark.parametrize("chip", ["hd7970", "r9-nano", "vega64", "mi300x"])
def test_vectors_of_halves_have_the_bits_of_their_components(chip):
    """hd7970 has no instructions for halves, r9-nano none for two of them."""
    expressions = ("fma(x, y, z)", "mad(x, y, z)", "x * y", "x + y", "fmax(x, y)", "fmin(x, y.s0)")
    widths, items = (2, 3, 8), 250
    source = "".join(
        f"""kernel void k{n}(global half *a, global half *b, global half *c, global half *out) {{
        int i = get_global_id(0), n = get_global_size(0); half{n} x = vload{n}(i, a), y = vload{n}(i, b), z = vload{n}(i, c);
        {" ".join(f"vstore{n}({text}, i + {j} * n, out);" for j, text in enumerate(expressions))} }}\n"""
        for n in widths
    )
    program = hw.compile(source, device=chip)
    for n in widths:
        bits = np.random.default_rng(n).integers(0, 1 << 16, (3, items, n)).astype(np.uint16)
        bits[:, :100] &= 0x83FF  # denormals
        a, b, c = bits.view(np.float16)
        out = np.zeros((len(expressions), items, n), np.float16)
        program.kernels[f"k{n}"][items](a, b, c, out)
        with np.errstate(all="ignore"):
            x, y = a.astype(np.longdouble), b.astype(np.longdouble)
            fused = x * y + c
            wanted = np.stack([fused, fused, x * y, x + y, np.fmax(x, y), np.fmin(x, y[:, :1])]).astype(np.float16)
        np.testing.assert_array_equal(out, wanted)
        exact = np.arange(len(expressions)) < 4  # fmax and fmin may give either zero
        signs = (np.signbit(out) == np.signbit(wanted)) | np.isnan(wanted)
        assert signs[exact].all()


def test_vectors_of_halves_are_packed_on_gfx9():
    source = """kernel void k(global half4 *a, half4 b, half4 c) { a[0] = fmax(fma(a[0], b, c), b); }"""
    text = assembly(source, "gfx900")
    assert len(re.findall(r"v_pk_fma_f16", text)) == 2
    assert "v_pk_max_f16" in text
    assert not re.findall(r"_f32|v_(fma|max|pack)_\w*f16", text)


def test_a_product_and_sum_of_halves_is_one_instruction():
    source = """kernel void k(global half *a, half b, half c) { a[0] = fma(a[0], b, c); }
        kernel void m(global half *a, half b, half c) { a[0] = mad(a[0], b, c); }"""
    text = assembly(source, "gfx803")
    assert len(re.findall(r"v_(fma|mac|mad)_f16", text)) == 2
    assert "_f32" not in text

"""The clang driver: what it says about kernels, and how it reports faults."""

import os
import subprocess
import time

import numpy as np
import pytest

import headwater as hw
from headwater.errors import DeviceError, ResourceError, SourceError, UsageError
from headwater.native import toolchain
from headwater.opencl import clang, units
from headwater.opencl.clang import ArgInfo, compile_to_ir

KERNEL = """typedef struct { float3 a; int b; } S;
typedef unsigned u32;
struct T { char c; double d; };
typedef enum { ONE, TWO } Mode;
__attribute__((reqd_work_group_size(8, 4, 1)))
kernel void k(global const float4 *restrict a, global float3 *b, constant S *c, local int *l, u32 n, S s,
              read_only image2d_t in, sampler_t how, write_only image2d_array_t out, global struct T *t, Mode mode,
              global void *any, global int (*rows)[3], global half *h, global Mode *modes) {
  b[get_global_id(0)].x = a[0].x + c->b + l[0] + n + s.b;
}
kernel void nothing(void) {}
"""


def test_arguments_are_described():
    info = compile_to_ir(KERNEL, "k.cl").kernels["k"]
    assert info.reqd_group_size == (8, 4, 1)
    assert info.args == (
        ArgInfo("a", "buffer", "float4*", 8, "read", 16, "float4*", "restrict const"),
        ArgInfo("b", "buffer", "float3*", 8, "read_write", 16, "float3*"),
        ArgInfo("c", "constant", "S*", 8, "read", 32, "S*", "const"),
        ArgInfo("l", "local", "int*", 8, "read_write", 4, "int*"),
        ArgInfo("n", "value", "u32", 4, "read", 0, "uint"),
        ArgInfo("s", "value", "S", 32, "read", 0, "S"),
        ArgInfo("in", "image", "image2d_t", 8, "read", 0, "image2d_t"),
        ArgInfo("how", "sampler", "sampler_t", 4, "read", 0, "sampler_t"),
        ArgInfo("out", "image", "image2d_array_t", 8, "write", 0, "image2d_array_t"),
        ArgInfo("t", "buffer", "struct T*", 8, "read_write", 16, "struct T*"),
        ArgInfo("mode", "value", "Mode", 4, "read", 0, info.args[10].base_type),
        ArgInfo("any", "buffer", "void*", 8, "read_write", 1, "void*"),
        ArgInfo("rows", "buffer", "__global int[3]*", 8, "read_write", 12, "int[3]*"),
        ArgInfo("h", "buffer", "half*", 8, "read_write", 2, "half*"),
        ArgInfo("modes", "buffer", "Mode*", 8, "read_write", 4, info.args[14].base_type),
    )


def test_a_kernel_may_have_no_arguments():
    kernel = compile_to_ir(KERNEL, "k.cl").kernels["nothing"]
    assert kernel.args == ()
    assert kernel.reqd_group_size is None


def test_the_ir_depends_on_the_source_alone(tmp_path, monkeypatch):
    first = [compile_to_ir(KERNEL, "k.cl", options).ir for options in ("", "-g")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CPATH", str(tmp_path))
    assert [compile_to_ir(KERNEL, "k.cl", options).ir for options in ("", "-g")] == first


def test_errors_carry_place_line_and_hint():
    source = "kernel void k(global int *a) {\n\ta[0] = get_globl_id(0);\n}\n"
    with pytest.raises(SourceError) as caught:
        compile_to_ir(source, "dir/my kernel.cl")
    error = caught.value
    assert (error.span.file, error.span.line, error.span.column) == ("dir/my kernel.cl", 2, 9)
    assert str(error) == (
        "dir/my kernel.cl:2:9: error: use of undeclared identifier 'get_globl_id'\n"
        "    \ta[0] = get_globl_id(0);\n"
        "    \t       ^\n"
        "  hint: did you mean get_global_id?"
    )


def test_all_messages_of_a_failed_run_are_kept():
    with pytest.raises(SourceError) as caught:
        compile_to_ir("kernel void k(global int *a) { one; two; }", "k.cl")
    assert "'one'" in caught.value.message
    assert "'one'" not in caught.value.details
    assert "'two'" in caught.value.details


def test_a_missing_macro_is_hinted_at():
    with pytest.raises(SourceError) as caught:
        compile_to_ir("kernel void k(global int *a) { local int t[BLOCK_SIZE]; }", "k.cl")
    assert caught.value.hint == "if it is a macro that the host defines: -D BLOCK_SIZE=VALUE"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("T", "if the host says what it is: -D T=float, for instance"),
        ("uint32_t", "OpenCL C calls it uint: -D uint32_t=uint"),
        ("int8_t", "OpenCL C calls it char: -D int8_t=char"),
        ("flaot4", "did you mean float4?"),
        ("atomic_int", "needs -cl-std=CL2.0 or CL3.0"),
    ],
)
def test_what_an_unknown_type_may_be(name, hint):
    with pytest.raises(SourceError, match=f"unknown type name '{name}'") as caught:
        compile_to_ir(f"kernel void k(global {name} *a) {{}}", "k.cl")
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["global half2 *o) { o[0] = 1;", "global float *o) { half4 x = 1; o[0] = x.x;"])
def test_vectors_of_halves_are_no_misspelt_names(text):
    with pytest.raises(SourceError) as caught:
        hw.compile(f"kernel void k({text} }}", device="hd4870")
    assert caught.value.hint == "the device has no halves: use float, and vload_half to read them"


def test_version_hint_for_newer_functions():
    with pytest.raises(SourceError, match=r"-cl-std=CL2\.0"):
        compile_to_ir("kernel void k(global int *a) { a[0] = work_group_reduce_add(a[1]); }", "k.cl")


def test_warnings_are_returned_not_raised():
    result = compile_to_ir("kernel void k(global int *a) { int unused = 1 / 0; a[0] = 1; }", "k.cl")
    assert "k.cl:1:" in result.warnings
    assert "division by zero" in result.warnings


def test_werror_and_w():
    source = "kernel void k(global int *a) { a[0] = 1 / 0; }"
    with pytest.raises(SourceError, match="division by zero"):
        compile_to_ir(source, "k.cl", "-Werror")
    assert compile_to_ir(source, "k.cl", "-w").warnings == ""


def test_includes_are_found_beside_the_file_and_by_option(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "near.h").write_text("#define NEAR 1\n")
    (tmp_path / "inc" / "far.h").write_text("#define FAR 2\n")
    source = '#include "near.h"\n#include <far.h>\nkernel void k(global int *a) { a[0] = NEAR + FAR; }\n'
    result = compile_to_ir(source, str(tmp_path / "k.cl"), f"-I {tmp_path / 'inc'}")
    assert result.includes == (str(tmp_path / "inc" / "far.h"), str(tmp_path / "near.h"))


def test_errors_in_included_files_name_them(tmp_path):
    (tmp_path / "bad.h").write_text("#define OK\nint f( { }\n")
    with pytest.raises(SourceError) as caught:
        compile_to_ir('#include "bad.h"\n', str(tmp_path / "k.cl"))
    assert caught.value.span.file == str(tmp_path / "bad.h")
    assert caught.value.span.line == 2
    assert caught.value.source_line == "int f( { }"


def test_a_missing_include_says_what_to_do():
    with pytest.raises(SourceError, match=r"give its folder with -I"):
        compile_to_ir('#include "nowhere.h"\n', "k.cl")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-cl-fast-relaxed-mth", "did you mean -cl-fast-relaxed-math"),
        ("-D", "-D needs a value"),
        ("-cl-std=CL9", "no such version"),
        ("-D 'A", "cannot be split"),
        ("--frobnicate", "unknown build option"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        compile_to_ir("kernel void k(void) {}", "k.cl", options)


def test_options_reach_the_compiler():
    source = """
    #if !defined(__FAST_RELAXED_MATH__) || N != 3 || defined(GONE)
    #error options
    #endif
    kernel void k(global float *a) { a[0] = a[1] * a[2] + a[3] + 1.0; }
    """
    ir = compile_to_ir(source, "k.cl", "-D N=3 -DGONE -UGONE -cl-fast-relaxed-math -cl-single-precision-constant").ir
    assert "fmul fast float" in ir or "fmul reassoc" in ir
    assert "double" not in ir


@pytest.mark.parametrize(
    ("std", "version"), [("", 120), ("-cl-std=CL1.1", 110), ("-cl-std=CL2.0", 200), ("-cl-std=CL3.0", 300)]
)
def test_language_versions(std, version):
    source = f"#if __OPENCL_C_VERSION__ != {version}\n#error version\n#endif\nkernel void k(global int *a) {{ a[0] = M_PI_F; }}"
    assert "k" in compile_to_ir(source, "k.cl", std).kernels


def test_debug_adds_lines():
    source = "kernel void k(global int *a) { a[0] = 1; }"
    assert "DILocation" not in compile_to_ir(source, "k.cl").ir
    assert "DILocation" in compile_to_ir(source, "k.cl", debug=True).ir
    assert "DILocation" in compile_to_ir(source, "k.cl", "-g").ir


def test_header_defines_what_the_specification_lists():
    checks = [
        "FLT_MAX == 0x1.fffffep127f", "FLT_MIN_EXP == -125", "DBL_DIG == 15", "HALF_MAX == 65504.0h", "CHAR_BIT == 8",
        "SHRT_MIN == -32768", "UINT_MAX == 4294967295u", "LONG_MIN < 0", "M_PI == 0x1.921fb54442d18p+1",
        "M_SQRT1_2_F == 0x1.6a09e6p-1f", "M_LN10_H > 2.3h", "CLK_sRGBA == 0x10C1", "CLK_UNORM_INT8 == 0x10D2",
        "vec_step(float3) == 4", "sizeof(half16) == 32", "sizeof(double3) == 32", "sizeof(size_t) == 8",
        "FP_ILOGB0 == INT_MIN", "memory_scope_device > memory_scope_work_group", "__OPENCL_VERSION__ == 300",
        "__ENDIAN_LITTLE__ == 1", "__IMAGE_SUPPORT__ == 1", "cl_khr_fp64 == 1", "as_uint(1.0f) == 0x3f800000",
    ]  # fmt: skip
    lines = "\n".join(f"  a[{i}] = {check};" for i, check in enumerate(checks))
    ir = compile_to_ir(f"kernel void k(global int *a) {{\n{lines}\n}}", "k.cl").ir
    body = ir[ir.index("define") :]
    # Every check is a constant expression that clang folds: a false one would be stored as 0.
    false = [line for line in body.splitlines() if "store i32 0," in line]
    assert not false


def test_linked_units_have_options_of_their_own_and_types_of_one_name():
    a = "struct S { int x; }; int f(void); kernel void a(global struct S *s) { s->x = f() + NUMBER; }"
    b = "struct S { int x, y; }; int f(void) { return NUMBER; } kernel void b(global struct S *s) { s->y = f(); }"
    given = [units.Unit(a, "-DNUMBER=3"), units.Unit(b, "-D NUMBER=4 -cl-std=CL2.0")]
    text = units.joined(given)
    assert units.of_source(text, "") == given
    assert units.of_source(a, "-w") == [units.Unit(a, "-w")]
    made = compile_to_ir(text, "k.cl", "-cl-std=CL2.0")
    assert {name: info.args[0].pointee_bytes for name, info in made.kernels.items()} == {"a": 4, "b": 8}
    assert "ret i32 4" in made.ir


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["extern int v; kernel void k(global int *x) { *x = v; }", "int w;"], "v is declared extern, and defined"),
        (["int v; kernel void k(global int *x) { *x = v; }", "int v;"], "v is defined in two of the units"),
        (["int f(int x) { return x; }", "int f(int x) { return x + 1; }"], "f is defined in two of the units"),
    ],
)
def test_what_linked_units_do_not_define_once_is_named(sources, message):
    with pytest.raises(SourceError, match=message):
        compile_to_ir(units.joined([units.Unit(text, "-cl-std=CL2.0") for text in sources]), "k.cl")


def test_errors_in_linked_units_name_the_unit_and_quote_its_line():
    a = "int g(int);\nkernel void k(global int *x) { *x = g(*x); }"
    b = '#line 1 "h.h"\nint h(int);\n#line 2 "k.cl"\nint g(int x) {\n  return h(x) + (__builtin_frame_address(0) == 0); }'
    text = units.joined([units.Unit(a, "-DA=1\n-DB=2"), units.Unit(b, "")])
    with pytest.raises(SourceError, match="no stack that can be looked at") as caught:
        compile_to_ir(text, "k.cl")
    assert str(caught.value.span).startswith("k.unit2.cl:3:")
    assert caught.value.source_line == "  return h(x) + (__builtin_frame_address(0) == 0); }"
    with pytest.raises(SourceError, match="undeclared") as caught:
        compile_to_ir(text.replace("h(x)", "i(x)"), "k.cl")
    assert str(caught.value.span) == "k.unit2.cl:3:10"
    with pytest.raises(SourceError, match="undeclared") as caught:
        compile_to_ir(b.replace("h(int)", "h(int) { return z; }"), "k.cl")
    assert (str(caught.value.span), caught.value.source_line) == ("h.h:1:21", "int h(int) { return z; };")


@pytest.mark.parametrize("name", ["kernel_exec", "__kernel_exec"])
def test_a_kernel_is_declared_by_the_macro_with_its_hints(name):
    kernel = compile_to_ir(f"{name}(64, float4) void k(global int *a) {{ a[0] = 1; }}", "k.cl").kernels["k"]
    assert kernel.hints == ("work_group_size_hint(64,1,1)", "vec_type_hint(float4)")


def test_missing_clang_says_what_to_install(monkeypatch):
    toolchain._zig_path.cache_clear()
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    try:
        with pytest.raises(DeviceError, match="pip install ziglang"):
            compile_to_ir("kernel void k(void) {}", "k.cl")
    finally:
        monkeypatch.undo()
        toolchain._zig_path.cache_clear()


def test_a_compilation_can_be_cut_short():
    deep = "#define A0(x) x x x x x x x x x x\n" + "".join(
        f"#define A{i}(x) A{i - 1}(x) A{i - 1}(x) A{i - 1}(x) A{i - 1}(x)\n" for i in range(1, 14)
    )
    start = time.monotonic()
    with pytest.raises(ResourceError, match="longer than"):
        compile_to_ir(deep + "kernel void k(global int *a) { A13(a[0]++;) }", "k.cl", timeout=0.5)
    assert time.monotonic() - start < 10


def test_long_sources_get_more_time(monkeypatch):
    allowed = []

    def late(command, data, *, cwd, timeout):
        allowed.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(toolchain, "run", late)
    with pytest.raises(ResourceError, match=r"longer than 60 s\n  hint: .*runaway"):
        compile_to_ir("kernel void k(void) {}", "k.cl")
    with pytest.raises(ResourceError, match=r"longer than 63 s\n  hint: .*buffers"):
        compile_to_ir("constant char t[] = {" + "1," * 1_500_000 + "0}; kernel void k(void) {}", "k.cl")
    assert allowed == [60.0, 63.0]


@pytest.mark.parametrize(
    "source",
    ["kernel", '#line 5 "x', "/*", "\udcff\udcfe", "kernel void k(" * 500, '#include "k.cl"\n'],
)
def test_hostile_text_is_an_error_not_a_crash(source):
    with pytest.raises(SourceError):
        compile_to_ir(source, "k.cl")


def test_an_empty_source_has_no_kernels():
    assert compile_to_ir("\0\0", "k.cl").kernels == {}


def test_counters_of_time_have_64_bits():
    source = """kernel void f(global int *a) {
        ulong before = __builtin_readcyclecounter();
        a[0] = __builtin_readcyclecounter() != 0 && __builtin_readcyclecounter() >= before;
    }"""
    out = np.zeros(1, np.int32)
    hw.compile(source, device="cpu").f[(1,), None](out).wait()
    assert out[0] == 1


@pytest.mark.skipif(os.name != "posix", reason="Windows kills no process for its memory")
def test_a_clang_that_was_killed_is_no_defect(tmp_path, monkeypatch):
    script = tmp_path / "clang"
    script.write_text("#!/bin/sh\nkill -9 $$\n")
    script.chmod(0o755)
    monkeypatch.setattr(toolchain, "zig_path", lambda: script)
    with pytest.raises(ResourceError, match="the compiler process was killed: out of memory, most likely"):
        clang.run_clang(["-v"])


def test_a_byte_order_mark_is_no_part_of_a_source():
    assert list(compile_to_ir("\ufeffkernel void k(global int *a) { a[0] = 1; }", "k.cl").kernels) == ["k"]

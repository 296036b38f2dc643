"""Hostile sources: a compilation ends in a message when it wants too much time or memory."""

import sys

import pytest

from headwater.errors import ResourceError
from headwater.native import limits, worker
from headwater.opencl.clang import compile_to_ir

KERNEL = "kernel void k(global int *a) { a[0] = 1; }"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process limit another's memory")
def test_a_macro_that_doubles_itself_may_not_take_all_memory(monkeypatch):
    monkeypatch.setattr(limits, "memory_limit", lambda: 250 << 20)
    compile_to_ir(KERNEL, "k.cl")
    bomb = "#define M0 a[0]++;\n" + "".join(f"#define M{n + 1} M{n} M{n}\n" for n in range(22))
    with pytest.raises(ResourceError, match=r"clang wanted more than .* GiB of memory"):
        compile_to_ir(f"{bomb}kernel void k(global int *a) {{ M22 }}", "k.cl")


def test_a_device_is_no_included_file():
    found = compile_to_ir(f'#include "/dev/null"\n{KERNEL}', "k.cl")
    assert found.includes == ()


def test_a_compilation_that_waits_for_too_long_is_told(monkeypatch):
    monkeypatch.setattr(worker, "WALL_SECONDS", 0.05)  # starting the process takes longer
    one = worker.Worker()
    with pytest.raises(ResourceError, match=r"compilation took longer than 0\.05 s"):
        one.call("opencl.codegen:link", "", [], [], "k.cl")
    one.stop()


def test_a_python_that_cannot_be_started_is_told(monkeypatch):
    monkeypatch.setattr(worker.sys, "executable", "/nowhere/python")
    with pytest.raises(ResourceError, match=r"could not be started: No such file or directory: /nowhere/python"):
        worker.Worker().call("opencl.codegen:link", "", [], [], "k.cl")


def test_a_compilation_that_computes_for_too_long_is_told(monkeypatch):
    one = worker.Worker()
    lines = "".join(f"%x{k + 1} = mul i32 %x{k}, %y\n%z{k} = udiv i32 %x{k}, %y\n" for k in range(100_000))
    text = f"define i32 @k(i32 %x0, i32 %y) {{\n{lines}ret i32 %x100000\n}}\n"
    with monkeypatch.context() as patched:
        patched.setattr(worker, "PROCESSOR_SECONDS", 0.01)
        with pytest.raises(ResourceError, match=r"compilation took over 0\.01 s of processor time"):
            one.call("opencl.codegen:prepare", text, "k")
    assert one.call("llvm.modules:host_target").vector_bytes
    one.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process limit another's memory")
def test_compiler_processes_are_limited():
    import resource

    one = worker.Worker()
    one.start("opencl.codegen")
    try:
        assert one._process is not None
        assert resource.prlimit(one._process.pid, resource.RLIMIT_AS)[0] == limits.memory_limit()
    finally:
        one.stop()
    assert 4 << 30 <= limits.memory_limit() <= 16 << 30


def test_what_is_nested_deeply_does_not_use_up_the_stack():
    front = compile_to_ir(f"kernel void k(global int *a) {{ int {'*' * 50_000}p; a[0] = (long)p; }}", "k.cl")
    text, _ = worker.WORKER.call("opencl.codegen:link", front.ir, [], ["k"], "k.cl")
    assert "@k(" in text

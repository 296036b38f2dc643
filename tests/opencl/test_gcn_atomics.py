"""Atomic functions are the chip's atomic instructions, of which the names are the ISA guides', with the right values."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater.opencl.gcn import compile_code_object

DEVICES = {
    "hd7970": "gfx600",
    "r9-290x": "gfx702",
    "vega64": "gfx900",
    "mi50": "gfx906",
    "mi100": "gfx908",
    "mi250x": "gfx90a",
}
OPERATIONS = {
    "add": ("add", lambda mem, values: mem + sum(values)),
    "sub": ("sub", lambda mem, values: mem - sum(values)),
    "and": ("and", lambda mem, values: np.bitwise_and.reduce([mem, *values])),
    "or": ("or", lambda mem, values: np.bitwise_or.reduce([mem, *values])),
    "xor": ("xor", lambda mem, values: np.bitwise_xor.reduce([mem, *values])),
    "min": ("smin", lambda mem, values: min([mem, *values])),
    "max": ("smax", lambda mem, values: max([mem, *values])),
}
GIVEN = np.array([3, -70, 900, 17, 2**30, -(2**30), 5, 5] * 8)


def source(element):
    """A kernel that does every operation, each on a number of its own; ``atom_`` and C11's functions beside."""
    name = "atomic" if element == "int" else "atom"
    lines = [f"{name}_{what}(o + {at}, v);" for at, what in enumerate(OPERATIONS)]
    return f"""#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void k(global const {element} *a, volatile global {element} *o) {{
  {element} v = a[get_global_id(0)] + {"0" if element == "int" else "((long)get_global_id(0) << 40)"};
  {" ".join(lines)}
}}"""


@pytest.mark.parametrize("target", DEVICES.values())
@pytest.mark.parametrize("element", ["int", "long"])
def test_each_is_an_instruction(target, element):
    text = compile_code_object(source(element), "k.cl", target=target, emit="asm").code.decode()
    suffix = "" if element == "int" else "_x2"
    found = set(re.findall(r"\b(?:buffer|flat|global)_atomic_(\w+)", text))
    assert found == {f"{name}{suffix}" for name, _ in OPERATIONS.values()}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("element", ["int", "long"])
def test_the_values_are_right(device, element):
    dtype = np.int32 if element == "int" else np.int64
    given = GIVEN.astype(dtype)
    values = given if element == "int" else given + (np.arange(64) << 40)
    memory = np.array([7, -9, -1, 6, 12345, 50, -50], dtype)
    wanted = [made(int(m), values.tolist()) for m, (_, made) in zip(memory, OPERATIONS.values(), strict=True)]
    hw.compile(source(element), device=device).k[(64,), (64,)](given, memory)
    assert memory.tolist() == np.array(wanted, object).astype(dtype).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_c11_functions_are_instructions_in_every_scope(device):
    body = " ".join(
        f"atomic_fetch_{what}_explicit(o + {at}, a[i], memory_order_relaxed, memory_scope_{scope});"
        for at, (what, scope) in enumerate(
            [("min", "all_svm_devices"), ("or", "device"), ("xor", "work_group"), ("max", "device")]
        )
    )
    kernel = f"kernel void k(global const int *a, volatile global atomic_int *o) {{ int i = get_global_id(0); {body} }}"
    text = compile_code_object(kernel, "k.cl", "-cl-std=CL2.0", DEVICES[device], emit="asm").code.decode()
    assert "cmpswap" not in text
    memory = np.array([4, 8, 16, 2], np.int32)
    given = GIVEN.astype(np.int32)
    hw.compile(kernel, device=device, options="-cl-std=CL2.0").k[(64,), (64,)](given, memory)
    wanted = [min(4, given.min()), np.bitwise_or.reduce([8, *given]), np.bitwise_xor.reduce([16, *given]), given.max()]
    assert memory.tolist() == [int(x) for x in wanted]

"""The device library on this machine. Input: a built-in's name and types. Output: a function over NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np

from headwater.opencl import library
from headwater.opencl.mangle import Named, Pointer, Scalar, Type, Vector, mangle

DTYPES = {
    "c": np.int8,
    "h": np.uint8,
    "s": np.int16,
    "t": np.uint16,
    "i": np.int32,
    "j": np.uint32,
    "l": np.int64,
    "m": np.uint64,
    "Dh": np.float16,
    "f": np.float32,
    "d": np.float64,
}

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
_ENGINES: list[llvm.ExecutionEngine] = []


def parse_types(text: str) -> tuple[Type, ...]:
    """``"f *i 4f @image2d_ro"`` -> float, pointer to private int, float4, image (its address, as an integer)."""
    types: list[Type] = []
    for word in text.split():
        if word[0] == "@":
            types.append(Named(f"ocl_{word[1:]}"))
            continue
        match = re.fullmatch(r"(\*?)(\d*)(\w+)", word)
        assert match
        what: Type = Vector(Scalar(match[3]), int(match[2])) if match[2] else Scalar(match[3])
        types.append(Pointer(what) if match[1] else what)
    return tuple(types)


def host_ir(texts: Sequence[str | bytes]) -> str:
    """The library's IR with this machine's layout: one address space, the default calling convention."""
    text = "\n".join(str(t) for t in texts)
    text = re.sub(r"^target [^\n]*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r" addrspace\(\d+\)", "", text).replace("spir_func ", "").replace('target("spirv.Event")', "i32")
    return text


@functools.cache
def compile_function(name: str, types: str, result: str) -> Callable[..., tuple[np.ndarray, ...]]:
    """A function that applies the built-in to arrays.

    Its arguments are those of the built-in without the pointers; it returns the value, then what each pointer received.
    ``types`` is as for `parse_types`, ``result`` one word of it.
    """
    parameters = parse_types(types)
    (returned,) = parse_types(result)
    symbol = mangle(name, parameters)
    declaration = f"declare {returned.llvm} @{symbol}({', '.join(p.llvm for p in parameters)})"
    texts = library.definitions({symbol: declaration})
    assert texts, f"the library does not define {symbol}"

    def cell(what: Type) -> Type:
        if isinstance(what, Named):
            return Scalar("l" if what.llvm.startswith("ptr") else "i")
        return what.pointee if isinstance(what, Pointer) else what

    arrays = [returned, *map(cell, parameters)]
    head = ", ".join(f"ptr %a{i}" for i in range(len(arrays)))
    body, operands = [], []
    for i, what in enumerate(parameters, 1):
        body.append(f"  %p{i} = getelementptr {cell(what).llvm}, ptr %a{i}, i64 %i")
        if isinstance(what, Pointer):
            operands.append(f"ptr %p{i}")
        elif isinstance(what, Named) and what.llvm.startswith("ptr"):
            body += [f"  %y{i} = load i64, ptr %p{i}", f"  %x{i} = inttoptr i64 %y{i} to ptr"]
            operands.append(f"ptr %x{i}")
        else:
            body.append(f"  %x{i} = load {what.llvm}, ptr %p{i}, align 1")
            operands.append(f"{what.llvm} %x{i}")
    call = f"call {returned.llvm} @{symbol}({', '.join(operands)})"
    if returned.llvm == "void":
        body.append(f"  {call}")
    else:
        at = f"getelementptr {returned.llvm}, ptr %a0, i64 %i"
        body += [f"  %r = {call}", f"  %p0 = {at}", f"  store {returned.llvm} %r, ptr %p0, align 1"]
    steps = "\n".join(body)
    wrapper = f"""
define void @apply({head}, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{steps}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
    module = llvm.parse_assembly(host_ir(texts) + wrapper)
    module.triple = llvm.get_default_triple()
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration and function.name != "apply":
            function.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _ENGINES.append(engine)
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays), ctypes.c_int64)(
        engine.get_function_address("apply")
    )

    def storage(what: Type, count: int) -> np.ndarray:
        if isinstance(what, Vector):
            return np.zeros((count, 4 if what.width == 3 else what.width), DTYPES[what.element.code])
        assert isinstance(what, Scalar)
        return np.zeros(count, DTYPES.get(what.code, np.uint8))

    def apply(*values: np.ndarray) -> tuple[np.ndarray, ...]:
        count = max(len(v) for v in values)
        given = iter(values)
        held = [storage(returned, count)]
        outputs = [0]
        for i, what in enumerate(parameters, 1):
            array = storage(cell(what), count)
            if isinstance(what, Pointer):
                outputs.append(i)
            else:
                value = np.asarray(next(given), dtype=array.dtype)
                if array.ndim == 2 and value.ndim == 2:
                    array[:, : value.shape[1]] = value
                else:
                    array[...] = value if array.ndim == 1 or value.ndim == 0 else value[:, None]
            held.append(array)
        entry(*[a.ctypes.data for a in held], count)
        return tuple(held[i] for i in outputs)

    return apply

"""Runs a function of LLVM's on this machine."""

import ctypes

import llvmlite.binding as llvm
import numpy as np

from headwater.llvm.modules import machine, parse


def ran(text: str, memory: np.ndarray) -> np.ndarray:
    """What a module's ``void @f(ptr)`` leaves in a copy of ``memory``, which is aligned to 16 bytes."""
    machine()  # what it initialises
    engine = llvm.create_mcjit_compiler(parse(text), llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    raw = np.zeros(memory.nbytes + 16, np.uint8)
    data = raw[-raw.ctypes.data % 16 :][: memory.nbytes].view(memory.dtype)
    data[:] = memory
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("f"))(data.ctypes.data)
    return data

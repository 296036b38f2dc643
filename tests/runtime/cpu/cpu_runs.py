"""Kernels compiled from C to the calling convention of the cpu device, to test its launcher alone."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from math import prod
from pathlib import Path

from headwater.native.launch_block import ACCESS_ERROR, BLOCK
from headwater.native.structure import Struct
from headwater.native.toolchain import zig_path
from headwater.opencl.kernels import ArgInfo, KernelInfo
from headwater.runtime.cpu.device import cpu_device, cpu_program
from headwater.runtime.interface import DeviceProgram

PRELUDE = r"""
#include <stdint.h>
#include <string.h>
typedef int64_t i64; typedef uint8_t u8;
#define ARG(T, offset) (*(T *)(args + (offset)))
#define EACH_GROUP(g) \
  for (i64 b_ = __atomic_fetch_add(&L[NEXT], L[BATCH], __ATOMIC_RELAXED); b_ < L[TOTAL] && !stopped(L); \
       b_ = __atomic_fetch_add(&L[NEXT], L[BATCH], __ATOMIC_RELAXED)) \
    for (i64 g = b_; g < b_ + L[BATCH] && g < L[TOTAL]; g++)
#define EACH_ITEM(i, g) \
  for (i64 i = g * L[LOCAL], e_ = i + L[LOCAL] < L[GLOBAL] ? i + L[LOCAL] : L[GLOBAL]; i < e_; i++)
static int stopped(i64 *L) { return __atomic_load_n(&L[STOP], __ATOMIC_RELAXED) != 0; }
#define ENTRY(name) void name(i64 *L, u8 *args, u8 *scratch)
"""


def _words(structure: Struct, **constants: str) -> str:
    """C's name for the place of each of these fields in the 64-bit words of a structure."""
    return "enum { " + ", ".join(f"{name} = {structure.word(field)}" for name, field in constants.items()) + " };\n"


FIELDS = _words(
    BLOCK,
    NEXT="next",
    TOTAL="total",
    BATCH="batch",
    STOP="stop",
    GLOBAL="global_size",
    LOCAL="local_size",
    FLAGS="flags",
    PRINTF="printf",
    ERROR="error",
    BOUNDS="bounds",
    COUNT="bounds_count",
    FRAMES="local_bytes",
) + _words(
    ACCESS_ERROR,
    E_KIND="kind",
    E_LINE="line",
    E_COLUMN="column",
    E_ID="id",
    E_ADDRESS="address",
    E_BYTES="bytes",
)


@dataclass(frozen=True)
class Host:
    library: Path
    symbol: str
    local_size: tuple[int, int, int]
    arg_offsets: tuple[int, ...]
    args_bytes: int
    static_local_bytes: int = 0
    dynamic_local_bytes: int = 0
    frame_bytes: int = 0
    unbounded: bool = False
    formats: tuple[str, ...] = ()
    streaming: tuple[int, ...] = ()
    fetches_ahead: bool = False
    straight: bool = False
    traps: bool = False
    fits: str = ""
    bounds: None = None
    variables: bool = False
    counters: tuple[int, ...] = ()


class Module:
    """What the code generator would give; ``extra`` are fields of `Host` by kernel."""

    def __init__(self, library: Path, kernels: dict[str, KernelInfo], extra: dict[str, dict]) -> None:
        self.library = library
        self.kernels = kernels
        self.extra = extra

    def specialise(self, kernel, global_size, local_size, work_dim, *, privatised=False):
        if local_size is None:
            local_size = (min(64, global_size[0]), 1, 1)
        offsets, position = [], 0
        for arg in self.kernels[kernel].args:
            align = min(max(arg.size_bytes, 1), 16)
            position = -(-position // align) * align
            offsets.append(position)
            position += arg.size_bytes
        return Host(self.library, kernel, local_size, tuple(offsets), position, **self.extra.get(kernel, {}))


def arg(declaration: str, kind: str = "", access: str = "", size: int = 0, pointee: int = 0) -> ArgInfo:
    """An ArgInfo from ``"const float *a"`` or ``"int n"``."""
    sizes = {"char": 1, "uchar": 1, "short": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "double": 8, "half": 2}
    sizes |= {"float2": 8, "float3": 16, "float4": 16, "int4": 16, "uchar4": 4, "void": 1}
    const = declaration.startswith("const ")
    base, _, name = declaration.removeprefix("const ").rpartition(" ")
    if name.startswith("*"):
        bytes_ = pointee or sizes[base]
        return ArgInfo(name[1:], kind or "buffer", base + "*", 8, access or ("read" if const else "read_write"), bytes_)
    if kind in ("image", "sampler"):
        return ArgInfo(name, kind, base, 8 if kind == "image" else 4, access or "read", 0)
    return ArgInfo(name, "value", base, size or sizes[base], "read", 0)


def compile_c(directory: Path, source: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    file, library = directory / "k.c", directory / "k.so"
    file.write_text(FIELDS + PRELUDE + source)
    compiler = shutil.which("gcc") or shutil.which("cc")
    command = [compiler] if compiler else [str(zig_path()), "cc"]
    subprocess.run([*command, "-O2", "-fPIC", "-shared", "-w", str(file), "-o", str(library)], check=True, timeout=120)
    return library


def program(
    directory: Path,
    source: str,
    kernels: dict[str, list[ArgInfo]],
    extra: dict[str, dict] | None = None,
    group: tuple[int, int, int] | None = None,
    options: str = "",
) -> DeviceProgram:
    """A program for the cpu device whose kernels are the C functions of the same names."""
    infos = {name: KernelInfo(name, tuple(args), group) for name, args in kernels.items()}
    module = Module(compile_c(directory, source), infos, extra or {})
    return cpu_program(cpu_device(), module, lambda: module, "line one\nline two\n", "k.cl", options)


def items(size: tuple[int, ...]) -> int:
    return prod(size)

"""What the front end and the device library must know of the machine that they make LLVM IR for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headwater.llvm.ir import Module
from headwater.llvm.text import FINDING, callee_of


@dataclass(frozen=True)
class Platform:
    """A kind of machine, as far as LLVM IR differs by it.

    ``clang``: flags that choose it. ``heading``: data layout and triple of a module. ``folder``: where units of the
    device library lie that take precedence here, "" for none. ``calling``: the calling convention of built-ins, with a
    blank. ``image``, ``sampler``: LLVM types of such values, ``no_sampler``: a sampler where none is given.
    ``scope``: of atomics that name none (blank at the end). ``group_limit``: the most work-items of a group.
    ``own_primitives``: the library defines ``__hw_local_id_0`` and its kin itself. ``intrinsics``: `with_intrinsics`
    applies, to exponentials and logarithms too if ``exponentials``. ``descriptor_bytes``: of the hardware's descriptor
    that an image's description begins with. ``sampler_shift``: where in ``sampler`` OpenCL's bits stand.
    ``image_instructions``: images are read and written by instructions of GCN chips, and a sampler is the address of
    its descriptor. ``tells_memory``: a generic pointer's memory can be told at run time. ``packed_halves``: LLVM has
    arithmetic of vectors of halves.
    """

    name: str
    clang: tuple[str, ...]
    heading: str
    folder: str
    calling: str
    image: str
    sampler: str
    no_sampler: str
    scope: str
    group_limit: int
    own_primitives: bool
    intrinsics: bool
    exponentials: bool = True
    descriptor_bytes: int = 0
    sampler_shift: int = 0
    image_instructions: bool = False
    tells_memory: bool = True
    packed_halves: bool = False


# The layout and triple that clang gives spir64; the vectoriser's code knows its address spaces.
SPIR = Platform(
    name="spir",
    clang=("-target", "spir64-unknown-unknown"),
    heading=(
        'target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"\n'
        'target triple = "spir64-unknown-unknown"'
    ),
    folder="",
    calling="spir_func ",
    image="ptr addrspace(1)",
    sampler="i32",
    no_sampler="0",
    scope="",
    group_limit=8192,
    own_primitives=False,
    intrinsics=False,
)

GCN_TRIPLE = "amdgcn-amd-amdhsa"


def gcn(abi: int, *, image_instructions: bool = False) -> Platform:
    """AMD GPUs under the HSA, for code objects of version ``abi``: where a kernel finds its sizes depends on it.

    Address spaces: LLVM, "User Guide for AMDGPU Backend", Address Spaces. An image is the address of its description
    in constant memory, and a sampler an address with its bits, of the hardware's descriptor where it is an argument
    (`headwater.runtime.gcn.images`).
    """
    hidden = 5 if abi >= 5 else 4  # what versions 5 and 6 pass beside the arguments is the same
    return Platform(
        name=f"gcn{hidden}",
        clang=("-target", GCN_TRIPLE, "-nogpulib", f"-mcode-object-version={hidden}"),
        heading=f'target triple = "{GCN_TRIPLE}"',
        folder="gcn",
        calling="",
        image="ptr addrspace(4)",
        sampler="ptr addrspace(4)",
        no_sampler="null",
        scope='syncscope("agent") ',
        group_limit=1024,
        own_primitives=True,
        intrinsics=True,
        descriptor_bytes=64,
        sampler_shift=4,
        image_instructions=image_instructions,
        packed_halves=True,
    )


VLIW_TRIPLE = "r600-unknown-unknown"


def vliw(*, work_groups: bool, remainders: bool = False) -> Platform:
    """AMD's VLIW chips: pointers of 32 bits, address spaces and images as on `gcn`.

    ``work_groups``: a work-item is told its place in a group (Evergreen and later); else it only knows how many go
    before it, and finds its ids by division. ``remainders``: groups at the edge may be smaller.
    """
    return Platform(
        name=("vliw" if work_groups else "vliw_flat") + ("_remainders" if remainders else ""),
        clang=("-target", VLIW_TRIPLE, "-nogpulib"),
        heading=(
            'target datalayout = "e-m:e-p:32:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512'
            '-v1024:1024-v2048:2048-n32:64-S32-A5-G1"\n'
            f'target triple = "{VLIW_TRIPLE}"'
        ),
        folder="vliw",
        calling="",
        image="ptr addrspace(4)",
        sampler="ptr addrspace(4)",
        no_sampler="null",
        scope="",
        group_limit=256,
        own_primitives=True,
        intrinsics=True,
        exponentials=False,
        tells_memory=False,
    )


# Built-ins that are instructions of LLVM, which picks a GPU's instructions for them by what a call says of accuracy
# (!fpmath) and fast-math flags: those of double too, and those of float alone.
_OPERATIONS = {
    "fabs": "fabs", "ceil": "ceil", "floor": "floor", "trunc": "trunc", "rint": "roundeven", "round": "round",
    "copysign": "copysign", "fma": "fma", "mad": "fmuladd", "fmax": "maxnum", "fmin": "minnum", "sqrt": "sqrt",
}  # fmt: skip
_OF_FLOAT = {name: name for name in ("exp", "exp2", "exp10", "log", "log2", "log10")}
_MANGLED = re.compile(r"_Z(?P<length>\d+)(?P<rest>\w+)")


def with_intrinsics(module: Module, *, exponentials: bool = True) -> None:
    """Call LLVM's intrinsics in place of the built-ins that mean the same."""
    known: dict[str, str | None] = {}
    for body in module.bodies.values():
        changes: dict[int, list[str]] = {}
        for number, line in enumerate(body.lines):
            if "@_Z" in line and " call " in line:
                callee = callee_of(line)
                if callee not in known:
                    known[callee] = intrinsic(callee, exponentials=exponentials)
                if name := known[callee]:
                    changes[number] = [line.replace(f"@{callee}(", f"@{name}(", 1)]
        body.replace(changes)
    for callee in list(module.declares):
        if callee.startswith("_Z") and intrinsic(callee, exponentials=exponentials):
            del module.declares[callee]


def intrinsic(symbol: str, *, exponentials: bool = True) -> str | None:
    """The name of LLVM's intrinsic that a built-in means, by its mangled name; None if there is none.
    ``exponentials``: those of float, and logarithms, are some, too."""
    mangled = _MANGLED.fullmatch(symbol)
    if mangled is None:
        return None
    length = int(mangled["length"])
    name, types = mangled["rest"][:length], mangled["rest"][length:]
    found = re.fullmatch(r"(Dv(\d+)_)?([fd])(\w*)", types)
    if found is None:
        return None
    vector, width, kind, others = found.groups()
    operation = _OPERATIONS.get(name) or (_OF_FLOAT.get(name) if exponentials and kind == "f" else None)
    if operation is None or others.replace("S_" if vector else kind, ""):
        return None
    return f"llvm.{operation}.{f'v{width}' if vector else ''}{'f32' if kind == 'f' else 'f64'}"


# What the vectoriser provides on the cpu device: left undefined here.
_PRIMITIVE = re.compile(
    r"__hw_(global|local|group)_id_\d|__hw_\w+_size_\d|__hw_num_groups_\d|__hw_global_offset_\d|__hw_in_step_(?:volatile_)?\d+x\d+|"
    r"__hw_(local|scratch|stack)_(begin|end)"
)
_OF_MACHINE = "__hw_vliw_"  # what has no name in LLVM and is an instruction or a register of VLIW chips
_PRIMITIVES = {"__hw_work_dim", "__hw_barrier", "printf"}


def is_primitive(symbol: str, platform: Platform = SPIR) -> bool:
    """Whether ``symbol`` is defined by whoever links the library: the vectoriser's functions and ``printf``."""
    if symbol == FINDING:
        return True
    if platform.own_primitives:
        return symbol == "printf" or symbol.startswith(_OF_MACHINE)
    return symbol in _PRIMITIVES or _PRIMITIVE.fullmatch(symbol) is not None

"""What the front end and the device library must know of the machine that they make LLVM IR for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A kind of machine, as far as LLVM IR differs by it.

    ``clang``: flags that choose it. ``heading``: data layout and triple of a module. ``folder``: where units of the
    device library lie that take precedence here, "" for none. ``calling``: the calling convention of built-ins, with a
    blank. ``image``, ``sampler``, ``event``: LLVM types of such values, ``no_sampler``: a sampler where none is given.
    ``scope``: of atomics that name none (blank at the end). ``group_limit``: the most work-items of a group.
    ``own_primitives``: the library defines ``__hw_local_id_0`` and its kin itself.
    """

    name: str
    clang: tuple[str, ...]
    heading: str
    folder: str
    calling: str
    image: str
    sampler: str
    no_sampler: str
    event: str
    scope: str
    group_limit: int
    own_primitives: bool


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
    event='target("spirv.Event")',
    scope="",
    group_limit=8192,
    own_primitives=False,
)

GCN_TRIPLE = "amdgcn-amd-amdhsa"


def gcn(abi: int) -> Platform:
    """AMD GPUs under the HSA, for code objects of version ``abi``: where a kernel finds its sizes depends on it.

    Address spaces: LLVM, "User Guide for AMDGPU Backend", Address Spaces. An image is the address of its description
    in constant memory, and a sampler's bits stand where an address would.
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
        event="ptr addrspace(5)",
        scope='syncscope("agent") ',
        group_limit=1024,
        own_primitives=True,
    )

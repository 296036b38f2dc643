"""Input: a kernel of a code object. Output: what a launcher must know of its arguments, by the metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.errors import UsageError
from headwater.opencl.kernels import Access, ArgInfo, KernelInfo, Kind
from headwater.runtime.signature import SCALARS, UNTYPED, parse_type

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import KernelArg, KernelObject

# LLVM, User Guide for AMDGPU Backend, "Code Object Metadata": `.value_kind`.
_KINDS: dict[str, Kind] = {
    "by_value": "value",
    "global_buffer": "buffer",
    "dynamic_shared_pointer": "local",
    "image": "image",
    "sampler": "sampler",
}
_ACCESS: dict[str, Access] = {"read_only": "read", "write_only": "write", "read_write": "read_write"}


def kernel_info(kernel: KernelObject) -> KernelInfo:
    """The arguments that a caller passes. Of arguments whose types the metadata leaves out, as HIP's and Triton's
    compilers do, only the size is known."""
    explicit = [arg for arg in kernel.args if not arg.value_kind.startswith("hidden_")]
    infos = tuple(argument(arg, number) for number, arg in enumerate(explicit))
    return KernelInfo(kernel.name, infos, kernel.reqd_group_size)


def check_arguments(info: KernelInfo, count: int) -> None:
    """UsageError if machine code that was changed takes another number of arguments than its source."""
    if len(info.args) != count:
        raise UsageError(
            f"the changed code of {info.name} takes {count} arguments, and its source {len(info.args)}",
            hint="arguments are changed in the source",
        )


def argument(arg: KernelArg, number: int) -> ArgInfo:
    """One argument that a caller passes."""
    kind = _KINDS.get(arg.value_kind, "value")
    if kind == "buffer" and arg.address_space == "constant":
        kind = "constant"
    type_name = arg.type_name or _plain_type(arg, kind)
    parsed = parse_type(type_name)
    element = 0
    if "*" in type_name and parsed is not None:
        scalar, components = parsed
        element = int(SCALARS[scalar][0][1:]) * (4 if components == 3 else components)
    access = _ACCESS.get(arg.access, "read" if arg.is_const else "read_write")
    name = arg.name or f"argument{number + 1}"
    return ArgInfo(name, kind, type_name, 4 if kind == "sampler" else arg.size, access, element, type_name)


def described(arg: ArgInfo, offset: int) -> KernelArg:
    """The way back: an argument as metadata would have it, ``offset`` bytes into where the arguments lie."""
    from headwater.isa.gcn.objects import KernelArg

    value_kind = next(
        kind for kind, known in _KINDS.items() if known == ("buffer" if arg.kind == "constant" else arg.kind)
    )
    space = {"buffer": "global", "constant": "constant", "local": "local"}.get(arg.kind, "")
    access = next(access for access, known in _ACCESS.items() if known == arg.access)
    return KernelArg(arg.name, offset, arg.size_bytes, value_kind, space, arg.base_type or arg.type_name, access)


def _plain_type(arg: KernelArg, kind: Kind) -> str:
    if kind in ("buffer", "constant", "local"):
        return "void*"
    return next((name for name, size in UNTYPED.items() if size == arg.size), "struct")

"""What a launcher must know of an OpenCL C kernel: its name, its arguments, and how its accesses are tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from headwater.opencl.symbols import symbol_of
from headwater.vectorise.layout import Layout

Access = Literal["read", "write", "read_write"]
Kind = Literal["buffer", "constant", "local", "value", "image", "sampler"]
ARENA_START = 1 << 16
"""The first address of a kernel's buffers on VLIW chips: those below are a null pointer's, and offsets of fetches reach
no further."""


HIP_OPTION = "-x hip"
"""What a program's options begin with if it is HIP: clang's own option."""


def hip_options(options: str) -> str:
    """Options of a HIP program that say that it is one."""
    return options if options.startswith(HIP_OPTION) else f"{HIP_OPTION} {options}"


@dataclass(frozen=True)
class ArgInfo:
    """One argument of a kernel.

    ``type_name`` is the type as written ("float4*", "int", "image2d_t"); ``size_bytes`` the bytes of a value, 8 for
    pointers and images, 4 for samplers; ``pointee_bytes`` the bytes of one element behind a pointer, else 0;
    ``base_type`` the type with typedefs resolved ("uint", "float4*"); ``qualifiers`` those of what a pointer is to, as
    clang lists them ("const volatile").
    """

    name: str
    kind: Kind
    type_name: str
    size_bytes: int
    access: Access
    pointee_bytes: int
    base_type: str = ""
    qualifiers: str = ""


class CodeRequest(NamedTuple):
    """Which native code of a kernel it is that some launches want.

    ``masked``: some chunks are partly outside their work-group. ``split``: a work-group has several chunks, which wait
    for each other at barriers. ``checked``: every access is tested (layout of one lane and row). ``privatised``:
    each thread counts into a copy of its own. ``guarded``: the code assumes that 32-bit indices do not wrap around,
    and a function named after the entry and `FITS_SUFFIX` tests that for a launch, if the kernel has such indices.
    """

    kernel: str
    layout: Layout
    masked: bool = False
    split: bool = False
    checked: bool = False
    privatised: bool = False
    guarded: bool = False


class TestedAccess(NamedTuple):
    """An access that is tested before a launch: the position of the argument that it is to (-1 for a __local variable),
    its bytes, whether it writes, and the bytes of the __local variable."""

    position: int
    nbytes: int
    writes: bool
    local_bytes: int


class AccessLine(NamedTuple):
    """Where such an access stands in the source: ``position``, ``nbytes`` and ``writes`` as in `TestedAccess`, then its
    line and column, 0 where they are not known."""

    position: int
    nbytes: int
    writes: bool
    line: int
    column: int


class BoundsTest(NamedTuple):
    """What a kernel's native code can say of accesses outside of arrays before a launch.

    ``symbol``: the function that says it (`headwater.vectorise.bounds.code.write_bounds`), "" if there is none.
    ``sized``, ``values``: positions of the arguments whose bytes and whose values it depends on. ``accesses``: by their
    numbers.
    """

    symbol: str = ""
    sized: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    accesses: tuple[TestedAccess, ...] = ()


class Built(NamedTuple):
    """A kernel's ``objects``. ``frame_bytes``: of a chunk that stops at barriers, None if none does; ``formats``: of
    printf, by number; ``fetches_ahead``: they prefetch for launches that want it; ``bounds``: what they can say of
    accesses outside of arrays (nothing if each is tested)."""

    objects: list[bytes]
    frame_bytes: int | None
    formats: tuple[str, ...]
    fetches_ahead: bool
    bounds: BoundsTest


@dataclass(frozen=True)
class KernelInfo:
    """A kernel's name, its arguments in order, and its ``reqd_work_group_size`` if it has one. ``hints``: attributes
    that only advise a compiler, as the source has them. ``max_group``: the most work-items that it says a group has
    (0: it says nothing). ``dynamic_local``: whether it has local memory of which the launch says the size. ``file``:
    what messages call the unit that it stands in, "" if its program has but one."""

    name: str
    args: tuple[ArgInfo, ...]
    reqd_group_size: tuple[int, int, int] | None = None
    hints: tuple[str, ...] = ()
    max_group: int = 0
    dynamic_local: bool = False
    file: str = ""

    @property
    def symbol(self) -> str:
        """The name of its function in LLVM IR."""
        return symbol_of(self.name)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> KernelInfo:
        """The way back from ``dataclasses.asdict`` and JSON."""
        required = data["reqd_group_size"]
        args = tuple(ArgInfo(**argument) for argument in data["args"])
        return cls(
            data["name"],
            args,
            tuple(required) if required is not None else None,
            tuple(data["hints"]),
            data["max_group"],
            data["dynamic_local"],
            data["file"],
        )

"""Input: Numba-CUDA's names in kernels. Output: what the translator makes of them, and their plain meaning."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headwater.python import plain
from headwater.python.builtin_calls import query
from headwater.python.call_arguments import values
from headwater.python.expressions import UNARY, Expr, Refused, convert, settled, truth
from headwater.python.types import BOOL, INT32, UNKNOWN, VOID, Scalar, Tuple
from headwater.python.vocabulary import Builtin

if TYPE_CHECKING:
    from headwater.python.values import Values

Meaning = Callable[["Values", ast.Call], Expr]


class Inline:
    """A function that is written out where it is called; ``run``: what it does in plain Python."""

    def __init__(self, name: str, inline: Meaning, run: Callable[..., Any] | None = None) -> None:
        self.__name__ = name
        self.inline = inline
        self.run = run

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.run is None:
            plain.current()
            raise Refused(f"cuda.{self.__name__} has no plain meaning")
        return self.run(*args, **options)


class Dim3:
    """``threadIdx`` and its like: ``x``, ``y`` and ``z`` of the work-item that runs."""

    def __init__(self, function: str) -> None:
        self.function = function

    def kernel_attribute(self, t: Values, name: str) -> Expr:
        """The component in a kernel."""
        if name not in ("x", "y", "z"):
            raise Refused(f"this has no {name}", "x, y and z")
        return query(self.function, "xyz".index(name))

    def __getattr__(self, name: str) -> int:
        if name not in ("x", "y", "z"):
            raise AttributeError(name)
        return plain.work_item(self.function)("xyz".index(name))


class Number:
    """A number that the device says: ``laneid``, ``warpsize``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def kernel_value(self, t: Values) -> Expr:
        """The number in a kernel."""
        t.unit.std = "-cl-std=CL2.0"
        return Expr(INT32, f"(int){self.text}()", UNARY, positive=True)


def _several(function: str) -> tuple[Meaning, Callable[[int], Any]]:
    def inline(t: Values, node: ast.Call) -> Expr:
        count = values(t, node, 1)[0].value
        if count not in (1, 2, 3):
            raise Refused("the number of dimensions is the constant 1, 2 or 3", "")
        parts = tuple(query(function, axis) for axis in range(count))
        if count == 1:
            return parts[0]
        return Expr(Tuple("a tuple", tuple(p.type for p in parts)), parts=parts)

    def run(count: int) -> Any:
        found = tuple(plain.work_item(function)(axis) for axis in range(count))
        return found[0] if count == 1 else found

    return inline, run


grid = Inline("grid", *_several("global_id"))
gridsize = Inline("gridsize", *_several("global_size"))
threadIdx, blockIdx = Dim3("local_id"), Dim3("group_id")  # noqa: N816
blockDim, gridDim = Dim3("local_size"), Dim3("num_groups")  # noqa: N816
laneid, warpsize = Number("get_sub_group_local_id"), Number("get_sub_group_size")


def _both(t: Values, node: ast.Call) -> Expr:
    values(t, node, 0)
    return Expr(VOID, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", pure=False)


def _fence(t: Values, node: ast.Call) -> Expr:
    values(t, node, 0)
    return Expr(VOID, "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", pure=False)


syncthreads = Inline("syncthreads", _both, plain.barrier)
threadfence = Inline("threadfence", _fence, plain.mem_fence)
threadfence_block = Inline("threadfence_block", _fence, plain.mem_fence)
threadfence_system = Inline("threadfence_system", _fence, plain.mem_fence)


class shared:  # noqa: N801
    """Memory that the threads of a block share."""

    array = Builtin("local_array", plain.local_array)


class local:  # noqa: N801
    """Memory of a thread's own."""

    array = Builtin("private_array", plain.private_array)


class atomic:  # noqa: N801
    """Operations on ``array[index]`` that no other thread interrupts; each gives what was there before."""

    add, sub = Builtin("atomic_add", plain.atomic("add")), Builtin("atomic_sub", plain.atomic("sub"))
    min, max = Builtin("atomic_min", plain.atomic("min")), Builtin("atomic_max", plain.atomic("max"))
    nanmin, nanmax = min, max
    and_, or_ = Builtin("atomic_and", plain.atomic("and")), Builtin("atomic_or", plain.atomic("or"))
    xor, exch = Builtin("atomic_xor", plain.atomic("xor")), Builtin("atomic_exchange", plain.atomic("exchange"))
    inc, dec = Builtin("atomic_inc", plain.atomic("inc")), Builtin("atomic_dec", plain.atomic("dec"))
    cas = Builtin("atomic_compare_exchange", plain.compare_exchange)


# -- the whole grid ----------------------------------------------------------------------------------------------------


def _sync_grid(t: Values, node: ast.Call) -> Expr:
    t.unit.synchronises_grid = True
    return _both(t, node)


class Grid:
    """All threads of a launch, which is one block if they wait for each other."""

    sync = Inline("sync", _sync_grid, plain.barrier)


_GRID = Grid()


class cg:  # noqa: N801
    """Cooperative groups."""

    this_grid = Inline("this_grid", lambda t, node: Expr(UNKNOWN, static=_GRID), lambda: _GRID)


# -- warps -------------------------------------------------------------------------------------------------------------

_WHOLE = (-1, 0xFFFFFFFF)
_WHERE = "a warp is a sub-group here: 64 lanes on most chips, and what the device says on others"


def _masked(t: Values, node: ast.Call, count: int) -> list[Expr]:
    """Arguments behind the mask of a warp function, which has to name all lanes."""
    mask, *rest = values(t, node, count + 1)
    if mask.value not in _WHOLE:
        raise Refused("the mask of a warp function names all lanes: 0xffffffff", _WHERE)
    t.unit.std = "-cl-std=CL2.0"
    return rest


def _vote(name: str) -> Meaning:
    def inline(t: Values, node: ast.Call) -> Expr:
        e = truth(_masked(t, node, 1)[0])
        return Expr(BOOL, f"sub_group_{name}({e.text}) != 0", 7, pure=False)

    return inline


def _no_warp(name: str) -> Meaning:
    def inline(t: Values, node: ast.Call) -> Expr:
        raise Refused(f"{name} gives one bit for each of 32 lanes, and wavefronts have 64", _WHERE)

    return inline


def _no_shuffle(name: str) -> Meaning:
    def inline(t: Values, node: ast.Call) -> Expr:
        raise Refused(f"{name}: OpenCL C's sub-groups have no shuffles here", "a cuda.shared.array, or a HIP kernel")

    return inline


def _sync_warp(t: Values, node: ast.Call) -> Expr:
    values(t, node, 0, 1)
    t.unit.std = "-cl-std=CL2.0"
    return Expr(VOID, "sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", pure=False)


syncwarp = Inline("syncwarp", _sync_warp)
shfl_sync, shfl_xor_sync, shfl_up_sync, shfl_down_sync = (
    Inline(name, _no_shuffle(name)) for name in ("shfl_sync", "shfl_xor_sync", "shfl_up_sync", "shfl_down_sync")
)
all_sync, any_sync = Inline("all_sync", _vote("all")), Inline("any_sync", _vote("any"))
ballot_sync, activemask, match_any_sync, match_all_sync, lanemask_lt = (
    Inline(name, _no_warp(name))
    for name in ("ballot_sync", "activemask", "match_any_sync", "match_all_sync", "lanemask_lt")
)


# -- integers ----------------------------------------------------------------------------------------------------------


def _integer(c: str, run: Callable[[Any], Any]) -> tuple[Meaning, Callable[[Any], Any]]:
    def inline(t: Values, node: ast.Call) -> Expr:
        e = settled(values(t, node, 1)[0])
        if not isinstance(e.type, Scalar) or e.type.kind == "f":
            raise Refused(f"{ast.unparse(node.func)} of {e.type.name}", "whole numbers")
        if c.count("{0}") > 1 and not e.pure:
            raise Refused(f"the operand of {ast.unparse(node.func)} is computed once in Python", "put it in a variable")
        if e.type.bits < 32:
            e = convert(e, INT32)
        return Expr(INT32, f"(int)({c.format(e.text)})", UNARY, positive=True)

    return inline, run


def _select(t: Values, node: ast.Call) -> Expr:
    test, a, b = values(t, node, 3)
    a, b = settled(a), settled(b)
    if a.type != b.type:
        raise Refused(f"selp of {a.type.name} and {b.type.name}", "convert one of them")
    return Expr(a.type, f"({truth(test).text} ? {a.text} : {b.text})", pure=False)


popc = Inline("popc", *_integer("popcount({0})", lambda x: int(x).bit_count()))
clz = Inline("clz", *_integer("clz({0})", lambda x: 32 - int(x).bit_length()))
ffs = Inline("ffs", *_integer("({0}) ? popcount(({0}) ^ (({0}) - 1)) : 0", lambda x: (x & -x).bit_length()))
selp = Inline("selp", _select, lambda test, a, b: a if test else b)

"""What kernels in Python say beside Python's own words: names that the translator knows, and that plain Python runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headwater.python import plain


class Builtin:
    """A function of kernels. ``key``: what the translator knows it by; called in plain Python it does the same for the
    work-item that runs."""

    def __init__(self, key: str, run: Callable[..., Any], doc: str = "") -> None:
        self.key, self.run = key, run
        self.__name__ = key.rpartition(".")[2]
        self.__doc__ = doc or run.__doc__

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.run(*args, **options)

    def __repr__(self) -> str:
        return f"<kernel function {self.__name__}>"


class OpenCL:
    """OpenCL C's built-in functions by their names: ``hw.cl.rsqrt(x)``, ``hw.cl.dot(a, b)``."""

    def __init__(self) -> None:
        self._known: dict[str, Builtin] = {}

    def __getattr__(self, name: str) -> Builtin:
        if name.startswith("__"):
            raise AttributeError(name)
        known = self._known.get(name)
        if known is None:
            from headwater.python import opencl_functions

            if not opencl_functions.exists(name):
                raise AttributeError(f"OpenCL C has no function {name}, or none that kernels in Python can call")
            run = opencl_functions.plain(name)
            known = self._known[name] = Builtin(f"cl.{name}", run, f"OpenCL C's {name}.")
        return known


cl = OpenCL()

WORK_ITEM = ("global_id", "local_id", "group_id", "global_size", "local_size", "num_groups")
ATOMICS = ("add", "sub", "min", "max", "and", "or", "xor", "exchange", "inc", "dec")
SUB_GROUPS = (
    "sub_group_size", "sub_group_local_id", "sub_group_id", "num_sub_groups", "sub_group_barrier", "sub_group_all",
    "sub_group_any", "sub_group_broadcast", "sub_group_reduce_add", "sub_group_reduce_min", "sub_group_reduce_max",
    "sub_group_scan_inclusive_add", "sub_group_scan_exclusive_add",
)  # fmt: skip

_NAMES: dict[str, Builtin] = {
    **{name: Builtin(name, plain.work_item(name)) for name in WORK_ITEM},
    **{f"atomic_{name}": Builtin(f"atomic_{name}", plain.atomic(name)) for name in ATOMICS},
    **{name: Builtin(name, plain.sub_group(name)) for name in SUB_GROUPS},
    "atomic_compare_exchange": Builtin("atomic_compare_exchange", plain.compare_exchange),
    "barrier": Builtin("barrier", plain.barrier),
    "mem_fence": Builtin("mem_fence", plain.mem_fence),
    "local_array": Builtin("local_array", plain.local_array),
    "private_array": Builtin("private_array", plain.private_array),
    "instance": Builtin("instance", plain.instance),
}


def __getattr__(name: str) -> Any:
    found = _NAMES.get(name)
    if found is not None:
        return found
    from headwater.python.types import public

    kind = public(name)
    if kind is None:
        raise AttributeError(f"kernels have no {name!r}")
    return kind

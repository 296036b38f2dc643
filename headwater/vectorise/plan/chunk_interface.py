"""What callers of chunk functions and these functions agree upon: parameters and return values."""

from __future__ import annotations

ID_PARAMS = tuple(
    f"{kind}{dim}" for kind in ("gid", "lid", "grp", "lsz", "gsz", "ngr", "off", "els") for dim in range(3)
)
"""Work-item state that is passed to a chunk function, one i64 each."""

DONE = -1
"""What a chunk function returns when its work-items have finished."""

PARTED = -2
"""What a chunk function for lanes that stay together returns, with nothing done, when they would not."""

LAUNCH_PARAMS = ("i32 %dim", "ptr %stop", "i1 %stream", "i1 %ahead", "ptr %printf", "ptr %launch", "ptr %scratch")
"""What all chunk functions of a launch are called with besides arguments and ids."""

MEMORY_BOUNDS = {
    "__hw_local_begin": "%local.begin",
    "__hw_local_end": "%local.end",
    "__hw_scratch_end": "%scratch.end",
    "__hw_stack_begin": "%stack.begin",
    "__hw_stack_end": "%stack.end",
}
"""Functions that tell where a group's local memory lies, and its work-items' private memory, and the names of their
values in a chunk function. Behind local memory the scratch memory of a thread has what work-items keep at barriers."""

PRIMITIVE_PARAM = {
    "global_id": "gid",
    "local_id": "lid",
    "group_id": "grp",
    "local_size": "lsz",
    "global_size": "gsz",
    "num_groups": "ngr",
    "global_offset": "off",
    "enqueued_local_size": "els",
}
"""The parameters that have the values of work-item functions."""

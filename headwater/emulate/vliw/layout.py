"""What the launcher, ``control.c`` and the translated code of a VLIW shader share in memory, said once.

A wavefront's registers lie in its frame: first the state of control flow, then each register component's 64 lanes. The
launch's arguments are descriptors, one for each resource that the shader uses, in the order of the translation's
bindings.
"""

from __future__ import annotations

from typing import Final

from headwater.emulate.wave.layout import LANES
from headwater.native.structure import Struct

STACK_LIMIT: Final = 128
"""Masks that the control-flow stack holds here; the hardware's own limit is the image's, checked when it is made."""
LOOP_LIMIT: Final = 32
"""Loops inside each other, and calls: R700 ISA, "CALL_COUNT", allows 32 calls."""

CF: Final = Struct(
    "cf",
    ("u64", "active", 1),
    ("u64", "depth", 1),
    ("u64", "loops", 1),
    ("u64", "calls", 1),
    ("u64", "killed", 1),
    ("u64", "before", 1),  # the mask at the beginning of a clause that lanes may leave a loop in
    ("u64", "stack", STACK_LIMIT),
    ("u64", "loop_base", LOOP_LIMIT),
    ("u64", "loop_entry", LOOP_LIMIT),
    ("u64", "loop_live", LOOP_LIMIT),
    ("u64", "loop_index", LOOP_LIMIT),
    ("u64", "call_base", LOOP_LIMIT),
    ("u64", "call_loops", LOOP_LIMIT),
    ("u64", "call_mask", LOOP_LIMIT),
    ("u64", "call_next", LOOP_LIMIT),
)
"""The state of control flow: lanes that execute, masks that were pushed, loops, calls."""

RESOURCE: Final = Struct(
    "resource",
    ("u64", "start", 1),  # the host's address
    ("u64", "size", 1),  # bytes
    ("u32", "width", 1),  # elements
    ("u32", "height", 1),
    ("u32", "depth", 1),
    ("u32", "pitch", 1),  # elements from row to row
    ("u32", "slice", 1),  # elements from slice to slice
)
"""A descriptor of memory. ``start`` and ``size`` come first: it is an allocation's slot, too."""

LAUNCH: Final = Struct(
    "launch",
    ("u32", "local", 3),  # work-items of a full group
    ("u32", "groups", 3),
    ("u32", "origin", 3),  # of the domain, in pixels
    ("u64", "shared", 1),  # each SIMD engine's shared registers, 64 lanes of each component
    ("u32", "engines", 1),
    ("u32", "domain", 4),  # where it begins and ends, x and y: wavefronts of quads may reach beyond it
)
"""What of the launch's sizes a shader's first registers are made from; it precedes the descriptors."""

REGISTER_BYTES: Final = 4 * LANES
SHARED_BYTES: Final = 128 * 4 * REGISTER_BYTES
"""Memory of a SIMD engine's shared registers, as many as their numbers reach."""


STACK_FAULTS: Final = ("TOO_DEEP", "NOTHING_PUSHED", "TOO_MANY_LOOPS", "NO_LOOP", "TOO_MANY_CALLS")
"""What a fault of the control-flow stack says of its cause."""


def c_header() -> str:
    """The declarations that ``control.c`` begins with, after those of `headwater.emulate.wave.layout.c_header`."""
    faults = f"enum {{ {', '.join(STACK_FAULTS)} }};\n"
    return f"#define STACK_LIMIT {STACK_LIMIT}\n#define LOOP_LIMIT {LOOP_LIMIT}\n{faults}{CF.declaration()}"


SHARED: Final = (CF,)
"""The structures that C and Python share; all others are of Python and translated code alone."""

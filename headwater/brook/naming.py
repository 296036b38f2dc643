"""Input: names as the user wrote them. Output: names safe in OpenCL C."""

from __future__ import annotations

import re

_VECTOR = re.compile(r"(?:u?(?:char|short|int|long)|float|double|half|bool|quad)(?:2|3|4|8|16)?\Z")
_RESERVED = frozenset(
    # OpenCL C 1.2 specification 6.1.9 and 6.9, later versions' keywords, and C's
    """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict
    return short signed sizeof static struct switch typedef union unsigned void volatile while bool half quad complex
    imaginary
    size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t image1d_t image2d_t image3d_t image1d_array_t image2d_array_t
    image1d_buffer_t queue_t pipe reserve_id_t ndrange_t clk_event_t global local constant private generic kernel
    read_only
    write_only read_write uniform true false NULL asm typeof atomic_int atomic_uint atomic_flag vec_step main
    INFINITY NAN MAXFLOAT HUGE_VALF HUGE_VAL linux unix""".split()
)
_CALLED = frozenset(
    # Functions that generated text calls under these names; a variable of such a name would hide them.
    """fabs exp log sqrt rsqrt cos sin acos asin isfinite isinf isnan floor round fmod pow max min clamp mix sign abs
    dot
    normalize any all cross select vload3 vstore3 get_global_id get_local_id get_group_id get_local_size get_global_size
    barrier""".split()
)


class Names:
    """Hands out names that are neither reserved nor taken."""

    def __init__(self, taken: set[str] | None = None, reserved: set[str] | None = None) -> None:
        self.taken = set(taken or ())
        self.reserved = set(reserved or ())

    def user(self, name: str) -> str:
        """The name for something that the user named: unchanged where possible, with ``_`` appended where not."""
        while self._is_reserved(name) or name in self.reserved:
            name += "_"
        return name

    def fresh(self, name: str) -> str:
        """A new name like this one, different from all taken ones; it is taken from then on."""
        while name in self.taken or self._is_reserved(name):
            name += "_"
        self.taken.add(name)
        return name

    @staticmethod
    def _is_reserved(name: str) -> bool:
        return (
            name in _RESERVED
            or name in _CALLED
            or (name.startswith(("hw_", "HW_", "CLK_", "__", "convert_", "as_", "M_")) and not name.endswith("_"))
            or _VECTOR.match(name) is not None
        )

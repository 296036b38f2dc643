"""What is emulated: a shader, and what its launch sets up for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.isa.vliw.model import Shader


@dataclass(frozen=True, slots=True)
class Kernel:
    """A shader with what its launch sets up. ``kind``: ps (a pixel shader) or cs (a compute shader).

    ``load`` gives the shader: on a warm start nobody asks.

    ``scratch_bytes`` are those of one work-item; ``byte_atomics``: atomic RAT instructions but MSKOR have addresses in
    bytes, as LLVM makes them; ``digest`` names it in the cache. ``lines``: a line of its source for each group or fetch
    of each control-flow instruction, if known.
    """

    load: Callable[[], Shader]
    kind: str
    gprs: int = 128
    clause_temporaries: int = 0
    lds_bytes: int = 0
    scratch_bytes: int = 0
    byte_atomics: bool = False
    digest: str = ""
    stack_entries: int = 0
    lines: Sequence[Sequence[int]] = ()

    @property
    def shader(self) -> Shader:
        """The decoded program."""
        return self.load()

"""Input: an IL program or an OpenCL kernel, and a chip. Output: its image, from the disk cache or compiled."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.base import cache
from headwater.base.freshness import code_state
from headwater.base.garbage import uncollected
from headwater.errors import InternalError
from headwater.isa.vliw.image import ShaderImage

if TYPE_CHECKING:
    from headwater.chips import Chip
    from headwater.il.from_llvm import IlKernel
    from headwater.il.model import Program

_FORMAT = "vliw image 1"
_MAKER = "headwater.isa.vliw.compiler"
_FACTS, _CODE = "image.json", "code"
_KEPT = (
    "kind", "gprs", "stack_entries", "clause_temporaries", "lds_bytes", "scratch_bytes", "resources", "outputs", "uavs",
    "uses_global", "group_size", "lines",
)  # fmt: skip


def image_of(text: str, chip: Chip, filename: str, program: Program | None = None) -> ShaderImage:
    """IL text compiled for a chip; ``program`` if it is parsed already.

    SourceError, with the line, for what the chip has no instructions for; LimitError where it has too little of
    something.
    """
    key = cache.key(_FORMAT, code_state(_MAKER), text, filename, repr(chip))
    entry = cache.get(key)
    if entry is None:
        entry = cache.put(key, _compiled(text, chip, filename, program))
    facts: dict[str, Any] = json.loads((entry / _FACTS).read_bytes())
    for name in ("resources", "outputs", "uavs"):
        facts[name] = tuple(facts[name])
    facts["lines"] = tuple(tuple(lines) for lines in facts["lines"])
    facts["group_size"] = tuple(facts["group_size"]) if facts["group_size"] else None
    constants = {int(bank): count for bank, count in facts.pop("constant_buffers").items()}
    code = (entry / _CODE).read_bytes()
    return ShaderImage(chip.target, code=code, constant_buffers=constants, il=text, **facts)


def kernel_image(kernel: IlKernel, chip: Chip) -> ShaderImage:
    """An OpenCL kernel compiled for a chip, with all that a launch must know of it. Raises what `image_of` does."""
    from headwater.isa.vliw.image import Argument
    from headwater.runtime.simulated.arguments import described

    args = tuple(Argument(described(arg, at)) for arg, at in zip(kernel.info.args, kernel.slots, strict=True))
    made = image_of(kernel.text, chip, f"{kernel.info.name}.il")
    return replace(
        made, name=kernel.info.name, abi="headwater", args=args, data=kernel.data, lds_bytes=kernel.local_bytes
    )


def _compiled(text: str, chip: Chip, filename: str, program: Program | None) -> dict[str, bytes]:
    from headwater.il.parser import parse
    from headwater.isa.vliw.compiler import compile_program
    from headwater.isa.vliw.encode import encode

    with uncollected():
        parsed = program if program is not None else parse(text, filename)
        try:
            made = compile_program(parsed, chip, filename)
        except AssertionError as error:  # a pass's own check of what it made
            raise InternalError(f"the compiler made wrong code of {filename} for {chip.name}: {error}") from error
        facts = {name: getattr(made, name) for name in _KEPT}
        facts["constant_buffers"] = made.constant_buffers
        return {_FACTS: json.dumps(facts).encode(), _CODE: encode(made.shader)}

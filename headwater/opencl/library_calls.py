"""Input: a module that asks clang's own built-ins for maths. Output: one that calls OpenCL C's functions for it.

``__builtin_sin``, ``__builtin_elementwise_pow`` and the like become intrinsics of LLVM, for which some targets have
code, some call a C library, and some stop LLVM.
"""

from __future__ import annotations

import re

from headwater.llvm.ir import Module

_NAMES = "sin cos tan asin acos atan sinh cosh tanh exp exp2 exp10 log log2 log10 pow atan2 powi".split()
_OF_TWO = ("pow", "atan2")
_CODES = {"f16": "Dh", "f32": "f", "f64": "d"}
_TYPES = {"f16": "half", "f32": "float", "f64": "double"}
_INTRINSIC = re.compile(
    rf"llvm\.(?P<name>{'|'.join(_NAMES)})\.(?:v(?P<width>\d+))?(?P<type>f16|f32|f64)(?P<whole>\.i32)?"
)


def with_library_calls(module: Module, calling: str) -> None:
    """``calling``: the convention of built-ins, with a blank (`headwater.opencl.platforms.Platform`)."""
    found = {name: match for name in module.declares if (match := _INTRINSIC.fullmatch(name)) is not None}
    if not found:
        return
    for body in module.bodies.values():
        changes = {}
        for number, inst in body.calls("llvm."):
            if inst.detail in found:
                head, call, words = body.lines[number].partition("call ")
                result, _, rest = words.partition(f"@{inst.detail}(")
                fast = inst.fast_math
                result = f"{fast}{calling}{result.removeprefix(fast)}"
                changes[number] = [f"{head}{call}{result}@{_symbol(found[inst.detail])}({rest}"]
        body.replace(changes)
    for name, match in found.items():
        kind, width = _TYPES[match["type"]], match["width"]
        text = f"<{width} x {kind}>" if width else kind
        more = [text] * (match["name"] in _OF_TWO) + ["i32"] * (match["whole"] is not None)
        del module.declares[name]
        module.declare(f"declare {calling}{text} @{_symbol(match)}({', '.join((text, *more))})")


def _symbol(found: re.Match[str]) -> str:
    """The mangled name of OpenCL C's function."""
    name = "pown" if found["name"] == "powi" else found["name"]
    code, vector = _CODES[found["type"]], bool(found["width"])
    first = f"Dv{found['width']}_{code}" if vector else code
    second = ("S_" if vector else code) * (found["name"] in _OF_TWO) + "i" * (found["whole"] is not None)
    return f"_Z{len(name)}{name}{first}{second}"

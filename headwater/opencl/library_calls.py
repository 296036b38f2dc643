"""IR of a program that asks clang's own built-ins for maths in; IR that calls OpenCL C's functions for it, out.

``__builtin_sin``, ``__builtin_elementwise_pow`` and the like become intrinsics of LLVM, for which some targets have
code, some call a C library, and some stop LLVM.
"""

from __future__ import annotations

import re

_NAMES = "sin cos tan asin acos atan sinh cosh tanh exp exp2 exp10 log log2 log10 pow atan2 powi".split()
_OF_TWO = ("pow", "atan2")
_CODES = {"f16": "Dh", "f32": "f", "f64": "d"}
_TYPES = {"f16": "half", "f32": "float", "f64": "double"}
_NAME = rf"llvm\.(?P<name>{'|'.join(_NAMES)})\.(?:v(?P<width>\d+))?(?P<type>f16|f32|f64)(?P<whole>\.i32)?\("
_CALL = re.compile(
    rf"\bcall (?P<flags>(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*)(?P<result>[^@\n]*)@{_NAME}"
)
_DECLARE = re.compile(rf"\ndeclare [^@\n]*@{_NAME}.*")


def with_library_calls(ir: str, calling: str) -> str:
    """``calling``: the convention of built-ins, with a blank (`headwater.opencl.platforms.Platform`)."""
    if not _DECLARE.search(ir):
        return ir
    declared: dict[str, str] = {}

    def call(found: re.Match[str]) -> str:
        symbol = _symbol(found)
        width, kind = found["width"], _TYPES[found["type"]]
        text = f"<{width} x {kind}>" if width else kind
        more = [text] * (found["name"] in _OF_TWO) + ["i32"] * (found["whole"] is not None)
        declared[symbol] = f"declare {calling}{text} @{symbol}({', '.join((text, *more))})\n"
        return f"call {found['flags']}{calling}{found['result']}@{symbol}("

    made = _CALL.sub(call, _DECLARE.sub("", ir))
    known = set(re.findall(r"^(?:declare|define) [^@\n]*@([\w.$]+)\(", made, re.MULTILINE))
    return made + "".join(line for symbol, line in declared.items() if symbol not in known)


def _symbol(found: re.Match[str]) -> str:
    """The mangled name of OpenCL C's function."""
    name = "pown" if found["name"] == "powi" else found["name"]
    code, vector = _CODES[found["type"]], bool(found["width"])
    first = f"Dv{found['width']}_{code}" if vector else code
    second = ("S_" if vector else code) * (found["name"] in _OF_TWO) + "i" * (found["whole"] is not None)
    return f"_Z{len(name)}{name}{first}{second}"

"""Input: a ``.br`` file's text. Output: the two files that ``headwater brcc`` writes (OpenCL C and a Python module) as
text.
"""

from __future__ import annotations

import json
import keyword
from dataclasses import dataclass

from headwater.brook.model import BrookModule, BrookSignature, Parameter, StructType
from headwater.brook.translator import translate

_NUMPY = {
    "char": "np.int8",
    "uchar": "np.uint8",
    "short": "np.int16",
    "ushort": "np.uint16",
    "int": "np.int32",
    "uint": "np.uint32",
    "float": "np.float32",
    "double": "np.float64",
}
_KEYWORDS = ("shape", "out", "domain", "device", "queue")
_TAKEN = frozenset(
    {"program", "np", "Any", "functools", "Path", "Sequence", "cast", "annotations", "ArrayLike", "NDArray"}
)

_HEAD = '''\
"""Kernels of {file}, translated from Brook+ by Headwater; their OpenCL C stands beside, in the file ending in .cl.

Streams are NumPy arrays (a float4 stream of shape (h, w) is a float32 array of shape (h, w, 4)) or Headwater streams;
results are arrays, or streams where an input is a stream. Every function also takes

    shape   of its results, where the inputs do not give it (slowest dimension first)
    out     arrays or streams to write the results into
    domain  (start, end): the part of the results to compute
    device  where to run: "cpu", "gpu", a Device
    queue   the queue to run in
"""

# Generated: change {file} and translate again.

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from headwater import Device, Queue, Stream
    from headwater.runtime.brook.program import BrookProgram
'''

_PROGRAM = '''\
@functools.cache
def program() -> BrookProgram:
    """All kernels as a program; made on first use from the OpenCL C next to this file."""
    from headwater.brook.model import BrookModule
    from headwater.runtime.brook.program import BrookProgram

    source = Path(__file__).with_suffix(".cl").read_text(encoding="utf-8")
    return BrookProgram(BrookModule.from_parts(_DESCRIPTION, source), source)
'''


@dataclass(frozen=True)
class Generated:
    """What to write: ``opencl`` to ``NAME.cl``, ``python`` to ``NAME.py`` beside it; ``warnings`` are for the user."""

    opencl: str
    python: str
    warnings: tuple[str, ...]


def generate(source: str, filename: str, options: str = "") -> Generated:
    """Translate a ``.br`` file for ``headwater brcc``. Raises ``SourceError`` and ``UsageError`` as ``translate``
    does.
    """
    module = translate(source, filename, options)
    return Generated(module.source, python_module(module), module.warnings)


def python_module(module: BrookModule) -> str:
    """A Python module with one typed function for each kernel that a host can call."""
    file = module.filename.replace("\\", "/").rsplit("/", 1)[-1]
    file = "".join(c if c.isprintable() and c not in '"{}' else "_" for c in file)
    parts = [_HEAD.format(file=file)]
    for struct in module.structs.values():
        parts.append(_struct(struct, module.structs))
    for kernel in module.kernels.values():
        if kernel.launchable:
            parts.append(_function(kernel))
    parts.append(_PROGRAM)
    parts.append(f"_DESCRIPTION = {_wrapped(_description(module))}\n")
    return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)


def _description(module: BrookModule) -> str:
    """The module without its text, which lies in the ``.cl`` file."""
    data = json.loads(module.to_json())
    for name in ("source", "line_map", "warnings", "pixels"):
        del data[name]
    return json.dumps(data)


def _wrapped(text: str) -> str:
    """A Python expression for a long string, on lines of readable length."""
    width = 100
    lines = [f"    {text[start : start + width]!r}" for start in range(0, len(text), width)]
    return "(\n" + "\n".join(lines) + "\n)"


def _struct(struct: StructType, structs: dict[str, StructType]) -> str:
    fields = []
    for member in struct.fields:
        if member.type.is_struct:
            kind = _name(member.type.base)
        elif member.type.width == 1:
            kind = repr(member.type.scalar_dtype)
        else:
            kind = f'("{member.type.scalar_dtype}", ({member.type.width},))'.replace('"', "'")
        fields.append((member, kind))
    rows = [
        f"{_name(struct.name)}: np.dtype[Any] = np.dtype(",
        "    {",
        f'        "names": [{", ".join(f"{member.name!r}" for member, _ in fields)}],',
        f'        "formats": [{", ".join(kind for _, kind in fields)}],',
        f'        "offsets": [{", ".join(str(member.offset) for member, _ in fields)}],',
        f'        "itemsize": {struct.size_bytes},',
        "    }",
        ")",
        f'"""Elements of struct {struct.name}."""',
    ]
    return "\n".join(rows)


def _name(name: str) -> str:
    """A Brook+ name as a Python name."""
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN or name.startswith("__") else name


def _parameter_name(name: str) -> str:
    name = _name(name)
    return f"{name}_" if name in _KEYWORDS else name


def _function(kernel: BrookSignature) -> str:
    passed = [p for p in kernel.parameters if p.kind not in {"output", "scatter", "reduce"}]
    results = [p for p in kernel.parameters if p.kind in {"output", "scatter", "reduce"}]
    returned = [_result_type(p, kernel) for p in results]
    result = returned[0] if len(returned) == 1 else f"tuple[{', '.join(returned)}]"
    rows = [f"def {_name(kernel.name)}("]
    rows += [f"    {_parameter_name(p.name)}: {_argument_type(p)}," for p in passed]
    rows += [
        "    *,",
        "    shape: int | Sequence[int] | None = None,",
        "    out: Any = None,",
        "    domain: tuple[Any, Any] | None = None,",
        "    device: Device | str | None = None,",
        "    queue: Queue | None = None,",
        f") -> {result}:",
    ]
    summary = kernel.doc.strip().split("\n")[0].strip()
    if not summary:
        summary = f"The {'reduction' if kernel.is_reduction else 'kernel'} {kernel.name}."
    rows.append(f'    """{_plain(summary)}')
    rows.append("")
    rows += [f"    {_parameter_name(p.name)}: {_describe(p)}" for p in passed]
    rows += [f"    Returns {p.name}: {_describe(p)}" for p in results]
    rows.append('    """')
    rows += [
        f"    kernel = program().kernels[{kernel.name!r}]",
        "    return cast(",
        f'        "{result}",',
        "        kernel(",
        *(f"            {_parameter_name(p.name)}," for p in passed),
        *(f"            {word}={word}," for word in _KEYWORDS),
        "        ),",
        "    )",
    ]
    return "\n".join(rows)


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).replace("\\", "/").replace('"', "'")


def _argument_type(parameter: Parameter) -> str:
    if parameter.kind != "value":
        return "ArrayLike | Stream"
    if parameter.type.is_struct:
        return "Any"
    scalar = "float" if parameter.type.base in {"float", "double"} else "int"
    return scalar if parameter.type.width == 1 else f"Sequence[{scalar}] | NDArray[Any]"


def _result_type(parameter: Parameter, kernel: BrookSignature) -> str:
    if kernel.is_reduction:
        return "Any"  # one value, or an array or stream where a shape is given
    element = "Any" if parameter.type.is_struct else _NUMPY[parameter.type.base]
    return f"NDArray[{element}] | Stream"


def _describe(parameter: Parameter) -> str:
    type_ = parameter.type.name
    match parameter.kind:
        case "input":
            return f"stream of {type_}"
        case "output":
            return f"stream of {type_}"
        case "gather":
            return f"array of {type_}, {parameter.rank} dimension{'s' if parameter.rank > 1 else ''}, read anywhere"
        case "scatter":
            return f"array of {type_}, {parameter.rank} dimension{'s' if parameter.rank > 1 else ''}, written anywhere"
        case "constant":
            return f"constant array of {type_}, shape ({', '.join(str(size) for size in parameter.sizes)},)"
        case "reduce":
            return f"{type_}, or a stream of it where shape is given"
    return type_

"""Image functions. Input: name and types. Output: IR that calls the image unit."""

from __future__ import annotations

import re

from headwater.opencl.mangle import Named, Scalar, Type, Vector
from headwater.opencl.synthesis_base import Body
from headwater.opencl.synthesis_image_instructions import (
    Coordinates,
    load,
    load_buffer,
    sample,
    store,
    store_buffer,
)

_IMAGE = re.compile(r"ocl_image(?P<dimensions>[123])d(?P<array>_array)?(?P<buffer>_buffer)?_(?:ro|wo|rw)")
_KINDS = {"f": "<4 x float>", "h": "<4 x float>", "i": "<4 x i32>", "ui": "<4 x i32>"}
# Fields of the structure that an image argument points to, in units of 8 bytes (see library/image.cl).
_FIELDS = {
    "get_image_width": 1,
    "get_image_height": 2,
    "get_image_depth": 3,
    "get_image_array_size": 4,
    "get_image_channel_order": 7,
    "get_image_channel_data_type": 8,
}


def define(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """Write the image function's body, if ``name`` is one."""
    if not parameters or not isinstance(parameters[0], Named):
        return False
    match = _IMAGE.fullmatch(parameters[0].name)
    if match is None:
        return False
    dimensions, layered = int(match["dimensions"]), match["array"] is not None
    if name in _FIELDS:
        value = _field(body, _FIELDS[name])
        body.give(value if body.result == "i64" else body.emit(f"trunc i64 {value} to i32"))
        return True
    if name == "get_image_dim":
        _dim(body, dimensions)
        return True
    if found := re.fullmatch(r"read_image(f|i|ui|h)", name):
        if body.platform.image_instructions:
            value = _read_by_instruction(body, parameters, match)
            body.give(_as_kind(body, found[1], value))
        else:
            _read(body, found[1], parameters, dimensions, layered)
        return True
    if found := re.fullmatch(r"write_image(f|i|ui|h)", name):
        if body.platform.image_instructions:
            _write_by_instruction(body, found[1], parameters, match)
        else:
            _write(body, found[1], parameters, dimensions, layered)
        return True
    return False


def _field(body: Body, index: int) -> str:
    index += body.platform.descriptor_bytes // 8
    at = body.emit(f"getelementptr i64, {body.platform.image} %0, i64 {index}")
    return body.emit(f"load i64, {body.platform.image} {at}, align 8")


def _dim(body: Body, dimensions: int) -> None:
    value, width = "zeroinitializer", 2 if dimensions == 2 else 4
    for index in range(dimensions):
        size = body.emit(f"trunc i64 {_field(body, 1 + index)} to i32")
        value = body.emit(f"insertelement <{width} x i32> {value}, i32 {size}, i64 {index}")
    body.give(value)


def _coordinates(body: Body, position: int, what: Type, dimensions: int, layered: bool) -> list[str]:
    """x, y, z and layer as typed operands, 0 where the image has none."""
    element = what.element if isinstance(what, Vector) else what
    assert isinstance(element, Scalar)
    zero = "0.0" if element.is_float else "0"
    parts = [f"{element.llvm} {zero}"] * 4
    for index in range(dimensions + layered):
        value = f"%{position}"
        if isinstance(what, Vector):
            value = body.emit(f"extractelement {what.llvm} %{position}, i64 {index}")
        parts[index if index < dimensions else 3] = f"{element.llvm} {value}"
    return parts


def _read(body: Body, kind: str, parameters: tuple[Type, ...], dimensions: int, layered: bool) -> None:
    """Without a sampler: integer coordinates, nearest, and what is outside is undefined (here: the border's colour)."""
    sampled = len(parameters) == 3
    what = parameters[-1]
    element = what.element if isinstance(what, Vector) else what
    assert isinstance(element, Scalar)
    way = "float" if element.is_float else "int"
    platform = body.platform
    operands = [f"{platform.image} %0", f"{platform.sampler} {'%1' if sampled else platform.no_sampler}"]
    operands += _coordinates(body, len(parameters) - 1, what, dimensions, layered)
    operands.append(f"i32 {dimensions}")
    unit_kind = "f" if kind == "h" else kind
    value = body.emit(f"call spir_func {_KINDS[kind]} @__hw_image_read_{unit_kind}_{way}({', '.join(operands)})")
    body.give(body.emit(f"fptrunc <4 x float> {value} to <4 x half>") if kind == "h" else value)


def _write(body: Body, kind: str, parameters: tuple[Type, ...], dimensions: int, layered: bool) -> None:
    operands = [f"{body.platform.image} %0", *_coordinates(body, 1, parameters[1], dimensions, layered)]
    operands.append(f"i32 {dimensions}")
    value = "%2"
    if kind == "h":
        kind, value = "f", body.emit("fpext <4 x half> %2 to <4 x float>")
    operands.append(f"{_KINDS[kind]} {value}")
    body.line(f"call spir_func void @__hw_image_write_{kind}({', '.join(operands)})")
    body.give("")


# ---- by image instructions -------------------------------------------------------------------------------------------


def _coordinate(body: Body, position: int, what: Type, match: re.Match[str]) -> Coordinates:
    """The parts of a coordinate that such an image has."""
    element = what.element if isinstance(what, Vector) else what
    assert isinstance(element, Scalar)
    count = int(match["dimensions"]) + (match["array"] is not None)
    parts = [
        body.emit(f"extractelement {what.llvm} %{position}, i64 {n}") if isinstance(what, Vector) else f"%{position}"
        for n in range(count)
    ]
    return Coordinates(element.llvm, tuple(parts))


def _read_by_instruction(body: Body, parameters: tuple[Type, ...], match: re.Match[str]) -> str:
    at = _coordinate(body, len(parameters) - 1, parameters[-1], match)
    if match["buffer"]:
        return load_buffer(body, at)
    shape = f"{match['dimensions']}d{'array' if match['array'] else ''}"
    return sample(body, shape, at) if len(parameters) == 3 else load(body, shape, at)


def _as_kind(body: Body, kind: str, value: str) -> str:
    """What was read as floats, as what the function returns."""
    if kind == "h":
        return body.emit(f"fptrunc <4 x float> {value} to <4 x half>")
    return value if kind == "f" else body.emit(f"bitcast <4 x float> {value} to {_KINDS[kind]}")


def _write_by_instruction(body: Body, kind: str, parameters: tuple[Type, ...], match: re.Match[str]) -> None:
    value = "%2"
    if kind == "h":
        value = body.emit("fpext <4 x half> %2 to <4 x float>")
    elif kind != "f":
        value = body.emit(f"bitcast {_KINDS[kind]} %2 to <4 x float>")
    at = _coordinate(body, 1, parameters[1], match)
    if match["buffer"]:
        store_buffer(body, at, value)
    else:
        store(body, f"{match['dimensions']}d{'array' if match['array'] else ''}", at, value)
    body.give("")

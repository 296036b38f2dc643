"""Conversions, convert_T[_sat][_rounding] (OpenCL C 1.2 specification 6.2.3). Input: name and types. Output: IR."""

from __future__ import annotations

import re

from headwater.opencl.mangle import CODE_OF, Scalar, Type, Vector, mangle
from headwater.opencl.synthesis_base import Body

_NAME = re.compile(
    r"convert_(?P<type>u?char|u?short|u?int|u?long|float|double|half)(?P<width>2|3|4|8|16)?(?P<sat>_sat)?(?P<mode>_rt[ezpn])?"
)
_ROUND = {"_rte": "roundeven", "_rtz": "trunc", "_rtp": "ceil", "_rtn": "floor"}


def define(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """Write the conversion's body, if ``name`` is one."""
    match = _NAME.fullmatch(name)
    if match is None or len(parameters) != 1:
        return False
    source, target = parameters[0], Scalar(CODE_OF[match["type"]])
    sat, mode = bool(match["sat"]), match["mode"] or ""
    if isinstance(source, Vector):
        width = int(match["width"] or 1)
        body.result = f"<{width} x {target.llvm}>"
        scalar = mangle(f"convert_{match['type']}{match['sat'] or ''}{mode}", (source.element,))
        value = "poison"
        for index in range(width):
            part = body.emit(f"extractelement {source.llvm} %0, i64 {index}")
            part = body.emit(f"call spir_func {target.llvm} @{scalar}({source.element.llvm} {part})")
            value = body.emit(f"insertelement {body.result} {value}, {target.llvm} {part}, i64 {index}")
        body.give(value)
        return True
    if not isinstance(source, Scalar):
        return False
    body.result = target.llvm
    if target.is_float:
        value = _to_float(body, source, target, mode)
    elif source.is_float:
        value = _float_to_integer(body, source, target, sat, mode)
    else:
        value = _integer_to_integer(body, source, target, sat)
    body.give(value)
    return True


def _range(of: Scalar) -> tuple[int, int]:
    bits = 8 * of.bytes
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if of.is_signed else (0, (1 << bits) - 1)


def _integer_to_integer(body: Body, source: Scalar, target: Scalar, sat: bool) -> str:
    value = "%0"
    if sat:
        (source_low, source_high), (low, high) = _range(source), _range(target)
        kind = "s" if source.is_signed else "u"
        if source_low < low:
            value = body.emit(
                f"call {source.llvm} @llvm.smax.{source.llvm}({source.llvm} {value}, {source.llvm} {low})"
            )
        if source_high > high:
            value = body.emit(
                f"call {source.llvm} @llvm.{kind}min.{source.llvm}({source.llvm} {value}, {source.llvm} {high})"
            )
    if source.bytes == target.bytes:
        return value
    if source.bytes > target.bytes:
        return body.emit(f"trunc {source.llvm} {value} to {target.llvm}")
    return body.emit(f"{'sext' if source.is_signed else 'zext'} {source.llvm} {value} to {target.llvm}")


def _float_to_integer(body: Body, source: Scalar, target: Scalar, sat: bool, mode: str) -> str:
    """Without a mode the conversion rounds towards zero; saturated, NaN becomes 0 (6.2.3.3)."""
    value, kind = "%0", source.llvm
    if source.code == "Dh":
        value, kind = body.emit(f"fpext half {value} to float"), "float"
    if mode in ("_rte", "_rtp", "_rtn"):
        value = body.emit(f"call {kind} @llvm.{_ROUND[mode]}.{_suffix(kind)}({kind} {value})")
    word = "s" if target.is_signed else "u"
    if sat and target.bytes > 2 and not body.platform.intrinsics:
        return _saturated(body, value, kind, target)
    if sat and target.bytes > 2:
        return body.emit(f"call {target.llvm} @llvm.fpto{word}i.sat.{target.llvm}.{_suffix(kind)}({kind} {value})")
    if sat:
        # Both limits are exact in the floating type: two selects, which are single min/max instructions.
        low, high = _range(target)
        above = body.emit(f"fcmp ogt {kind} {value}, {float(low):.1f}")
        bounded = body.emit(f"select i1 {above}, {kind} {value}, {kind} {float(low):.1f}")
        below = body.emit(f"fcmp olt {kind} {bounded}, {float(high):.1f}")
        bounded = body.emit(f"select i1 {below}, {kind} {bounded}, {kind} {float(high):.1f}")
        wide = body.emit(f"fptosi {kind} {bounded} to i32")
        if target.is_signed:
            number = body.emit(f"fcmp ord {kind} {value}, {value}")
            wide = body.emit(f"select i1 {number}, i32 {wide}, i32 0")
        return body.emit(f"trunc i32 {wide} to {target.llvm}")
    if target.bytes < 4:
        # Out of range is implementation-defined, not undefined: a wide signed conversion, frozen, cut to size.
        wide = body.emit(f"freeze i32 {body.emit(f'fptosi {kind} {value} to i32')}")
        return body.emit(f"trunc i32 {wide} to {target.llvm}")
    return body.emit(f"freeze {target.llvm} {body.emit(f'fpto{word}i {kind} {value} to {target.llvm}')}")


def _saturated(body: Body, value: str, kind: str, target: Scalar) -> str:
    """As llvm.fptosi.sat and its kin, which LLVM does lane by lane for vectors of x86: 90 times slower in a loop."""
    word = "s" if target.is_signed else "u"
    low, high = _range(target)
    above = body.emit(f"fcmp ogt {kind} {value}, {float(low):.1f}")
    bounded = body.emit(f"select i1 {above}, {kind} {value}, {kind} {float(low):.1f}")
    whole = body.emit(f"fpto{word}i {kind} {bounded} to {target.llvm}")
    # The power of two above the greatest integer is exact in every type; what lies beyond half's range is infinite.
    limit = float(high + 1)
    over = body.emit(f"fcmp oge {kind} {value}, {limit:.1f}")
    whole = body.emit(f"select i1 {over}, {target.llvm} {high}, {target.llvm} {whole}")
    if not target.is_signed:
        return whole  # NaN has become the least already, which is 0
    number = body.emit(f"fcmp ord {kind} {value}, {value}")
    return body.emit(f"select i1 {number}, {target.llvm} {whole}, {target.llvm} 0")


def _to_float(body: Body, source: Scalar, target: Scalar, mode: str) -> str:
    """Without a mode: to nearest even. Other modes, where they matter, are functions of the library."""
    if source.code == target.code:
        return "%0"
    word = "sitofp" if source.is_signed else "uitofp"
    if source.is_float and source.bytes < target.bytes:
        return body.emit(f"fpext {source.llvm} %0 to {target.llvm}")
    if target.code == "Dh":
        value, wide = "%0", source
        if not source.is_float:
            # Integers beyond the 24 bits of a float are beyond the range of half as well, whichever way they round.
            value, wide = body.emit(f"{word} {source.llvm} %0 to float"), Scalar("f")
        if wide.code == "f" and mode in ("", "_rte"):
            return body.emit(f"fptrunc float {value} to half")
        function = mangle("__hw_half" + (mode or "_rte"), (wide,))
        return body.emit(f"call spir_func half @{function}({wide.llvm} {value})")
    exact = not source.is_float and source.bytes < (4 if target.code == "f" else 8)
    if mode in ("", "_rte") or exact:
        return body.emit(f"{'fptrunc' if source.is_float else word} {source.llvm} %0 to {target.llvm}")
    function = "__hw_float" if target.code == "f" else "__hw_double"
    return body.emit(f"call spir_func {target.llvm} @{mangle(function + mode, (source,))}({source.llvm} %0)")


def _suffix(kind: str) -> str:
    return {"float": "f32", "double": "f64", "half": "f16"}[kind]

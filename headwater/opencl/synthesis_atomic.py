"""Atomic built-ins. Input: name and types. Output: IR with LLVM's atomic instructions."""

from __future__ import annotations

import re

from headwater.opencl.mangle import Pointer, Scalar, Type
from headwater.opencl.synthesis_base import Body

_OLD = re.compile(r"atom(?:ic)?_(?P<what>add|sub|xchg|inc|dec|cmpxchg|min|max|and|or|xor)")
_C11 = re.compile(
    r"atomic_(?P<what>load|store|exchange|compare_exchange_strong|compare_exchange_weak|flag_test_and_set|flag_clear"
    r"|fetch_(?:add|sub|or|xor|and|min|max))(?:_explicit)?"
)


def define(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """Write the atomic function's body, if ``name`` is one."""
    pointer = parameters[0] if parameters else None
    if not isinstance(pointer, Pointer) or not isinstance(pointer.pointee, Scalar):
        return False
    if match := _OLD.fullmatch(name):
        _relaxed(body, match["what"], pointer, pointer.pointee)
        return True
    if match := _C11.fullmatch(name):
        _ordered(body, match["what"].removeprefix("fetch_"), pointer, pointer.pointee)
        return True
    return False


def _operation(what: str, element: Scalar) -> str:
    """LLVM's name: min and max differ by sign, arithmetic by kind."""
    if what in ("min", "max"):
        return f"f{what}" if element.is_float else what if element.is_signed else f"u{what}"
    if what in ("add", "sub") and element.is_float:
        return f"f{what}"
    return what


def _relaxed(body: Body, what: str, pointer: Pointer, element: Scalar) -> None:
    """OpenCL 1.x: relaxed order (OpenCL C 1.2 specification 6.12.11)."""
    kind, at, scope = element.llvm, f"{pointer.llvm} %0", body.platform.scope
    if what == "cmpxchg":
        pair = body.emit(f"cmpxchg {at}, {kind} %1, {kind} %2 {scope}monotonic monotonic")
        body.give(body.emit(f"extractvalue {{ {kind}, i1 }} {pair}, 0"))
        return
    operand = "1" if what in ("inc", "dec") else "%1"
    what = {"inc": "add", "dec": "sub"}.get(what, what)
    body.give(body.emit(f"atomicrmw {_operation(what, element)} {at}, {kind} {operand} {scope}monotonic"))


def _ordered(body: Body, what: str, pointer: Pointer, element: Scalar) -> None:
    """OpenCL 2.0: always sequentially consistent, as the order is an argument and an instruction's order a constant."""
    kind, at, align, scope = element.llvm, f"{pointer.llvm} %0", element.bytes, body.platform.scope
    if what == "load":
        body.give(body.emit(f"load atomic {kind}, {at} {scope}seq_cst, align {align}"))
    elif what == "store":
        body.line(f"store atomic {kind} %1, {at} {scope}seq_cst, align {align}")
        body.give("")
    elif what == "flag_clear":
        body.line(f"store atomic {kind} 0, {at} {scope}seq_cst, align {align}")
        body.give("")
    elif what == "flag_test_and_set":
        body.give(body.emit(f"icmp ne {kind} {body.emit(f'atomicrmw xchg {at}, {kind} 1 {scope}seq_cst')}, 0"))
    elif what.startswith("compare_exchange"):
        expected = body.parameters[1].llvm + " %1"
        word = f"i{8 * element.bytes}"  # compared by representation
        before = body.emit(f"load {word}, {expected}, align {align}")
        wanted = body.emit(f"bitcast {kind} %2 to {word}") if element.is_float else "%2"
        pair = body.emit(f"cmpxchg {at}, {word} {before}, {word} {wanted} {scope}seq_cst seq_cst")
        body.line(f"store {word} {body.emit(f'extractvalue {{ {word}, i1 }} {pair}, 0')}, {expected}, align {align}")
        body.give(body.emit(f"extractvalue {{ {word}, i1 }} {pair}, 1"))
    else:
        what = {"exchange": "xchg"}.get(what, what)
        body.give(body.emit(f"atomicrmw {_operation(what, element)} {at}, {kind} %1 {scope}seq_cst"))

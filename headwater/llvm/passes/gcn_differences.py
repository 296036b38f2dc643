"""Input: an optimised module for GCN. Output: the same kept from a defect of LLVM's that takes ``0 - x`` for ``-x``.

An instruction that reads ``0 - x`` is given x with its sign changed, which GCN does for nothing (LLVM 22.1,
AMDGPUISelDAGToDAG.cpp, SelectVOP3ModsImpl). Where x is 0, what it reads is then -0 instead of 0: 1 / (0 - x) is
-infinity, for one. Here such a result goes through an empty assembly text, which LLVM does not look through.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module, Value

_ZEROS = {"float": "0.000000e+00", "half": "0xH0000"}
"""Doubles have no instruction that subtracts: LLVM adds -x to 0."""


def with_differences_kept(module: Module, *, has_halves: bool) -> bool:
    """Write such differences so; whether there are any. ``has_halves``: the chip has instructions for halves."""
    return module.each(lambda body: _function(body, has_halves))


def _function(body: Body, has_halves: bool) -> bool:
    changes: dict[int, list[str]] = {}
    for number, inst in body.having("fsub"):
        if inst.ty.scalar.text in _ZEROS and not {"nsz", "fast"} & {*inst.flags}:
            lanes = [_is_zero(inst.args[0], lane) for lane in range(inst.ty.count or 1)]
            if any(lanes):
                changes[number] = _written(inst, lanes, f"%hw.less.{len(changes) + 1}", has_halves)
    return body.replace(changes)


def _is_zero(value: Value, lane: int) -> bool:
    """Whether the number that is subtracted from is 0, and not -0."""
    return not value.is_local and (value.component(lane) if value.ty.count else value).text in _ZEROS.values()


def _written(inst: Inst, lanes: list[bool], name: str, has_halves: bool) -> list[str]:
    left, right = inst.args
    place = f", !dbg {inst.site}" if inst.site else ""
    if not inst.ty.count:
        return _scalar(inst.name, inst.ty.text, right.text, name, place, has_halves)
    lines: list[str] = []
    scalar, whole = inst.ty.scalar.text, "poison"
    for lane, is_zero in enumerate(lanes):
        one, result = f"{name}.of.{lane}", f"{name}.is.{lane}"
        lines.append(f"  {one} = extractelement {inst.ty} {right.text}, i64 {lane}")
        if is_zero:
            lines += _scalar(result, scalar, one, f"{name}.{lane}", place, has_halves)
        else:
            lines.append(f"  {result} = fsub {inst.fast_math}{scalar} {left.component(lane).text}, {one}{place}")
        into = inst.name if lane == len(lanes) - 1 else f"{name}.to.{lane}"
        lines.append(f"  {into} = insertelement {inst.ty} {whole}, {scalar} {result}, i64 {lane}")
        whole = into
    return lines


def _scalar(result: str, kind: str, x: str, name: str, place: str, has_halves: bool) -> list[str]:
    if kind == "half" and not has_halves:
        return [
            f"  {name}.wide = fpext half {x} to float",
            *_scalar(f"{name}.float", "float", f"{name}.wide", f"{name}.in", place, has_halves),
            f"  {result} = fptrunc float {name}.float to half{place}",
        ]
    return [
        f"  {name}.seen = fsub {kind} {_ZEROS[kind]}, {x}{place}",
        f'  {result} = call {kind} asm "", "=v,0"({kind} {name}.seen){place}',
    ]

"""Input: an optimised module for GCN. Output: the same kept from what LLVM 22.1 gets wrong of integers there.

* A quotient of numbers that are known to be small is computed with floats, and cut to as many bits as the numbers have
  (AMDGPUCodeGenPrepare.cpp, expandDivRem24Impl; shrinkDivRem64 does the same): -128 / -1 is -128. Here a quotient by
  -1 is the number with its sign changed.
* The carry out of 64-bit sums: of ``(x + y) + 0 + carry`` it takes that of ``x + y + carry`` (SIISelLowering.cpp,
  performAddCarrySubCarryCombine). That is what a sum's high word is if a number of 32 bits is added to a product, and
  the carry is used by ``sum < product``, by a sum that saturates and by wider sums. Here the operands go through an
  empty assembly text, which LLVM does not look through.
* ``x >> 8`` of a short is a byte that the instruction which reads it extends, to 32 bits instead of 16
  (SIPeepholeSDWA.cpp): the high half is not 0, though the next instruction counts on it. The same is done to such
  results.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.llvm.ir import Body, Inst, Module, result_of
from headwater.llvm.values import Value

_DEPTH = 6
"""As far as LLVM follows what a number is made of (MaxAnalysisRecursionDepth)."""
_AS_LARGE_AS_ANY = ("add", "sub", "mul", "or", "xor", "phi", "select", "shl", "trunc", "freeze", "extractelement")
"""What makes a number that has as many bits as any of its operands."""
_CARRYING = tuple(f"llvm.{name}." for name in ("uadd.with.overflow", "usub.with.overflow", "uadd.sat", "usub.sat"))


def with_integers_kept(module: Module, *, has_halves: bool) -> bool:
    """Write such operations so; whether there are any. ``has_halves``: the chip has instructions for 16 bits."""
    return module.each(lambda body: _function(body, has_halves))


def _function(body: Body, has_halves: bool) -> bool:
    changes = {}
    quotients = [(number, inst) for number, inst in body.having("sdiv") if _is_open(inst)]
    makers = _makers(body) if quotients else {}
    for number, inst in quotients:
        if _may_be_small(body, inst.args[0], makers, _DEPTH):
            changes[number] = _quotient(body.lines[number], inst)
    if has_halves:
        for number, inst in body.having("ashr", within="i16"):
            amounts = [inst.args[1].component(lane).text for lane in range(inst.ty.count)] or [inst.args[1].text]
            if inst.ty.scalar.bits == 16 and not inst.args[1].is_local and "8" in amounts:
                changes[number] = _shifted(inst, amounts)
    carrying = _carrying(body)
    makers = makers or (_makers(body) if carrying else {})
    for number, inst in carrying:
        hidden = [value.text for value in inst.args if _is_in_words(body, value, makers)]
        if hidden:
            changes[number] = _with_hidden(inst, hidden)
    return body.replace(changes)


def _bare(inst: Inst) -> str:
    return inst.name.lstrip("%").strip('"')


def _is_open(quotient: Inst) -> bool:
    """Whether it may be by -1, of a number whose opposite needs another bit."""
    of, by = quotient.args
    return by.is_local and (of.is_local or of.elems is not None or _is_least(of.text))


def _makers(body: Body) -> dict[str, int]:
    """The numbers of the lines that make values."""
    return {name: number for number, line in enumerate(body.lines) if (name := result_of(line))}


def _may_be_small(body: Body, value: Value, makers: Mapping[str, int], depth: int) -> bool:
    """Whether LLVM may know that a number has fewer bits than its type: not of one that is loaded or given, nor of a
    sum or a product with such a one. What is not followed may be small."""
    if not value.is_local or depth == 0:
        return True
    if value.text not in makers:
        return False
    operation, line = body.operations[makers[value.text]], body.lines[makers[value.text]]
    if operation == "load" or "@llvm.amdgcn.workgroup.id." in line:
        return "!range" in line
    if operation in _AS_LARGE_AS_ANY:
        inst = body.inst(makers[value.text])
        assert inst is not None
        numbers = {"select": inst.args[1:], "shl": inst.args[:1], "extractelement": inst.args[:1]}.get(
            operation, inst.args
        )
        return all(_may_be_small(body, one, makers, depth - 1) for one in numbers)
    return True


def _is_least(text: str) -> bool:
    """Whether a number is the least of some bits."""
    return text.startswith("-") and int(text[1:]).bit_count() == 1


def _quotient(line: str, inst: Inst) -> list[str]:
    (of, by), ty, made = inst.args, inst.ty, f"%hw.quotient.{_bare(inst)}"
    flags, zero = (f"<{ty.count} x i1>", "zeroinitializer") if ty.count else ("i1", "0")
    divisor, seen, lines = by.text, ty.text, [line.replace(f"{inst.name} =", f"{made} =", 1)]
    if not of.is_local:  # LLVM would see that the choice is one of a constant's quotient by -1, and take it away
        divisor = f"{made}.divisor"
        if ty.scalar.bits < 32:
            seen = f"<{ty.count} x i32>" if ty.count else "i32"
            lines.append(f"  {divisor}.wide = sext {ty} {by.text} to {seen}")
        given = by.text if seen == ty.text else f"{divisor}.wide"
        lines.append(f'  {divisor} = call {seen} asm "", "=v,0"({seen} {given})')
    scalar = ty.scalar.text if seen == ty.text else "i32"
    minus_one = f"splat ({scalar} -1)" if ty.count else "-1"
    return [
        *lines,
        f"  {made}.by = icmp eq {seen} {divisor}, {minus_one}",
        f"  {made}.opposite = sub {ty} {zero}, {of.text}",
        f"  {inst.name} = select {flags} {made}.by, {ty} {made}.opposite, {ty} {made}",
    ]


def _shifted(inst: Inst, amounts: list[str]) -> list[str]:
    (of, _), ty, made = inst.args, inst.ty, f"%hw.shifted.{_bare(inst)}"
    if not ty.count:
        return [f"  {made} = ashr i16 {of.text}, 8", f'  {inst.name} = call i16 asm "", "=v,0"(i16 {made})']
    lines, whole = [], "poison"
    for lane, amount in enumerate(amounts):
        one, into = f"{made}.{lane}", inst.name if lane == ty.count - 1 else f"{made}.{lane}.in"
        lines += [
            f"  {one}.of = extractelement {ty} {of.text}, i64 {lane}",
            f"  {one}.seen = ashr i16 {one}.of, {amount}",
            f'  {one} = call i16 asm "", "=v,0"(i16 {one}.seen)',
            f"  {into} = insertelement {ty} {whole}, i16 {one}, i64 {lane}",
        ]
        whole = into
    return lines


def _carrying(body: Body) -> list[tuple[int, Inst]]:
    """The operations whose carry is used, by what they are or by a comparison that LLVM takes for it."""
    found = [(number, inst) for callee in _CARRYING for number, inst in body.calls(callee) if _is_wide(inst.args[0])]
    compared: dict[str, list[Inst]] = {}
    for number, inst in body.having("icmp"):
        if _is_wide(inst.args[0]):
            if inst.args[0].ty.scalar.bits > 64:
                found.append((number, inst))
            for value in inst.args:
                compared.setdefault(value.text, []).append(inst)
    for number, inst in body.having("add", "sub"):
        if _is_wide(inst.args[0]):
            tests = [*compared.get(inst.name, ()), *compared.get(inst.args[0].text, ())]
            if inst.ty.scalar.bits > 64 or any(_is_carry(test, inst) for test in tests):
                found.append((number, inst))
    return found


def _is_wide(value: Value) -> bool:
    """Whether it is of two words or more, and of whole ones, as registers are."""
    return value.ty.scalar.kind == "int" and value.ty.scalar.bits >= 64 and value.ty.scalar.bits % 32 == 0


def _is_carry(test: Inst, total: Inst) -> bool:
    """Whether a comparison may be of a sum's or a difference's carry."""
    numbers, operands = {value.text for value in test.args}, {value.text for value in total.args}
    if test.detail in ("eq", "ne"):
        return "0" in numbers and bool(operands & {"1", "-1"})
    if test.detail.startswith("s"):
        return False
    if total.op == "sub":
        return numbers == operands
    negated = {value.text[1:] if value.text.startswith("-") else f"-{value.text}" for value in total.args}
    return bool(numbers & operands) and (total.name in numbers or bool(numbers & negated))


def _is_in_words(body: Body, value: Value, makers: Mapping[str, int]) -> bool:
    """Whether LLVM may see what a number's words are made of."""
    return value.text in makers and body.operations[makers[value.text]] not in ("load", "phi")


def _with_hidden(inst: Inst, hidden: list[str]) -> list[str]:
    made, ty = f"%hw.whole.{_bare(inst)}", inst.args[0].ty
    names = {text: f"{made}.{n}" for n, text in enumerate(dict.fromkeys(hidden))}
    left, right = (names.get(value.text, value.text) for value in inst.args)
    lines = [f'  {name} = call {ty} asm "", "=v,0"({ty} {text})' for text, name in names.items()]
    if inst.op == "call":
        return [*lines, f"  {inst.name} = call {inst.ty} @{inst.detail}({ty} {left}, {ty} {right}){inst.attached}"]
    operation = f"icmp {inst.detail}" if inst.op == "icmp" else inst.op
    return [*lines, f"  {inst.name} = {operation} {ty} {left}, {right}{inst.attached}"]

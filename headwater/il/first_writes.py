"""Input: a program's main part. Output: the registers that it writes before it reads them, which need not begin as
zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.il.model import Instruction, Operand

_OPENS = ("if", "whileloop", "switch")
_CLOSES = ("endif", "endloop", "endswitch")


def written_first(body: Iterable[Instruction], writes_whole: Callable[[Instruction], bool]) -> set[int]:
    """The numbers of temporary registers whose first use is to be written in all four lanes, by an instruction outside
    of blocks that does not read them. ``writes_whole``: of instructions that write whatever their destination's mask
    says, always; other results count as reads."""
    found: set[int] = set()
    met: set[int] = set()
    depth = 0
    for made in body:
        if made.mnemonic in _CLOSES:
            depth -= 1
        operands = made.operands
        if operands and depth == 0 and writes_whole(made) and _is_whole(operands[0]):
            number = operands[0].register.number or 0
            read = {n for operand in operands[1:] for n in _named(operand)}
            met |= read
            if number not in met:
                found.add(number)
            met.add(number)
        else:
            met.update(n for operand in operands for n in _named(operand))
        if made.mnemonic.startswith(_OPENS):
            depth += 1
    return found


def _is_whole(target: Operand) -> bool:
    return target.register.kind == "r" and "_" not in target.lanes


def _named(operand: Operand) -> Iterable[int]:
    """The temporary registers that an operand names, its index included."""
    register = operand.register
    if register.kind == "r":
        yield register.number or 0
    if register.index is not None and register.index.register is not None:
        yield from _named(Operand(register.index.register))

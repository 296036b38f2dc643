"""Input: a `Program`. Output: its text, which reads back as the same program."""

from __future__ import annotations

from collections.abc import Iterator

from headwater.il.model import Index, Instruction, Modifier, Operand, Program, Register
from headwater.il.table import operations

_INDENT = "    "
_OPENING = ("if_logicalnz", "if_logicalz", "ifnz", "ifc", "whileloop", "loop", "switch")
_CLOSING = ("endif", "endloop", "endswitch")
_MIDDLE = ("else", "case", "default")


def text(program: Program) -> str:
    """The whole program as text."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: Program) -> Iterator[str]:
    yield f"il_{program.kind}" + (f"_{program.version}" if program.version else "")
    for declaration in program.declarations:
        yield instruction_text(declaration)
    yield from _block(program.body)
    if program.functions:
        yield "endmain"
    for function in program.functions:
        yield ""
        yield f"func {function.number}"
        yield from _block(function.body)
        yield "ret"
        yield "endfunc"
    yield "end"


def _block(body: tuple[Instruction, ...]) -> Iterator[str]:
    depth = 0
    for made in body:
        if made.mnemonic in _CLOSING:
            depth = max(depth - 1, 0)
        shown = max(depth - 1, 0) if made.mnemonic in _MIDDLE else depth
        yield _INDENT * shown + instruction_text(made)
        if made.mnemonic in _OPENING:
            depth += 1


def instruction_text(made: Instruction) -> str:
    """One instruction on one line."""
    operation = operations()[made.mnemonic]
    if made.mnemonic == "dcl_global_flags":
        return f"{made.mnemonic} {'|'.join(m.name for m in made.modifiers)}".rstrip()
    head = made.mnemonic + "".join(_modifier(m) for m in made.modifiers)
    operands, values = list(made.operands), list(made.values)
    wanted = (["d"] if operation.has_result else []) + list(operation.sources)
    parts = []
    for letter in wanted:
        if letter in "#?":
            if values:
                parts.append(_value(values.pop(0), made.mnemonic))
        elif operands:
            parts.append(_operand(operands.pop(0)))
    return f"{head} {', '.join(parts)}" if parts else head


def _value(value: int, mnemonic: str) -> str:
    return f"0x{value:08X}" if mnemonic in ("dcl_literal", "def") else str(value)


def _modifier(modifier: Modifier) -> str:
    return f"_{modifier.name}" + (f"({','.join(modifier.arguments)})" if modifier.arguments else "")


def _operand(operand: Operand) -> str:
    lanes = f".{operand.lanes}" if operand.lanes else ""
    return register_text(operand.register) + lanes + "".join(_modifier(m) for m in operand.modifiers)


def register_text(register: Register) -> str:
    """A register as it is written: ``cb0[r1.x + 4]``."""
    number = "" if register.number is None else str(register.number)
    return f"{register.kind}{number}" + (f"[{_index(register.index)}]" if register.index is not None else "")


def _index(index: Index) -> str:
    if index.register is None:
        return str(index.offset)
    base = f"{register_text(index.register)}.{index.lane}"
    return f"{base} + {index.offset}" if index.offset else base

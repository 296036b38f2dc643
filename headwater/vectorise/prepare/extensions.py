"""Input: shifts and masks of 64 bits. Output: the extensions of 32-bit values that they stand for, which may keep a
stride.

LLVM makes ``(id << 32) >> 30`` of ``4 * (long)(int)id``, and ``(4 * id) & 0x3fffffffc`` of ``4 * (ulong)(uint)id``.
"""

from __future__ import annotations

from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import I32, I64, Type

HALF = 32
"""Bits of what is extended."""


def restore_extensions(function: Function) -> None:
    """Rewrite the function's blocks in place."""
    restorer = _Restorer(function)
    for block in function.blocks.values():
        block.insts = [new for inst in block.insts for new in (*restorer.before(inst), inst)]
    used = {value.text for block in function.blocks.values() for inst in block.insts for value in inst.args}
    for block in function.blocks.values():
        block.insts = [i for i in block.insts if i.op != "shl" or i.name in used]


class _Restorer:
    def __init__(self, function: Function) -> None:
        self.defs = {i.name: i for block in function.blocks.values() for i in block.insts if i.name}
        self.count = 0

    def before(self, inst: Inst) -> list[Inst]:
        """Turn an extension in disguise into what it is; what has to come before it is returned."""
        made: list[Inst] = []
        if inst.ty != I64 or inst.op not in ("and", "ashr") or not inst.args[1].text.isdigit():
            return made
        amount = int(inst.args[1].text)
        if inst.op == "ashr":
            low = self._upper_half(inst.args[0], made) if 0 < amount <= HALF else None
            scale, extension = HALF - amount, "sext"
        else:
            low, scale = self._masked(inst.args[0], amount, made)
            extension = "zext"
        if low is None:
            return []
        if scale:
            wide = self._make(made, extension, I64, [low])
            inst.op, inst.flags, inst.args = "shl", (), [wide, Value(I64, str(scale))]
        else:
            inst.op, inst.flags, inst.args = extension, (), [low]
        return made

    def _make(self, made: list[Inst], op: str, ty: Type, args: list[Value]) -> Value:
        self.count += 1
        inst = Inst(op, ty, f"%hwm.{self.count}", args)
        made.append(inst)
        return Value(inst.ty, inst.name)

    def _upper_half(self, value: Value, made: list[Inst]) -> Value | None:
        """The upper 32 bits of a value whose lower ones are 0; None if they may not be."""
        if not value.is_local:
            number = int(value.text) if value.text.lstrip("-").isdigit() else 1
            return Value(I32, str(number >> HALF)) if number % (1 << HALF) == 0 else None
        inst = self.defs.get(value.text)
        if inst is None:
            return None
        if inst.op == "shl" and inst.args[1].text == str(HALF):
            return self._make(made, "trunc", I32, [inst.args[0]])
        if inst.op not in ("add", "sub"):
            return None
        halves = [self._upper_half(a, made) for a in inst.args]
        if halves[0] is None or halves[1] is None:
            return None
        return self._make(made, inst.op, I32, [halves[0], halves[1]])

    def _masked(self, value: Value, mask: int, made: list[Inst]) -> tuple[Value | None, int]:
        """The value of 32 bits and the scale of which a mask leaves the product."""
        inst = self.defs.get(value.text)
        clear = int(inst.args[1].text) if inst and inst.op == "shl" and inst.args[1].text.isdigit() else 0
        filled = mask | ((1 << clear) - 1)
        if filled == (1 << HALF) - 1:
            return self._make(made, "trunc", I32, [value]), 0
        if inst is not None and clear and filled == (1 << (HALF + clear)) - 1:
            return self._make(made, "trunc", I32, [inst.args[0]]), clear
        return None, 0

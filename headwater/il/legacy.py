"""Input: a `Program` with IL's older forms. Output: the same program by what every translator knows.

Those of Direct3D 9: constants that ``def`` gives (``c#``, ``i#``), the address register ``a0``, and ``loop i#``, which
goes round as often as the constant's x says, with ``aL`` beginning at its y and growing by its z.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from headwater.il.expand import expanded
from headwater.il.model import Function, Index, Instruction, Operand, Program, Register

_OLD = frozenset(("a", "aL", "c", "i"))
_COUNTED = """
mov r{k}.x_z_, r{s}.xyzw
mov r{k}.___w, r{a}.xxxx
isub r{a}.x___, r{s}.yyyy, r{s}.zzzz
whileloop
ilt r{k}._y__, r{k}.0000, r{k}.xxxx
break_logicalz r{k}.yyyy
inot r{k}._y__, r{k}.0000
iadd r{k}.x___, r{k}.xxxx, r{k}.yyyy
iadd r{a}.x___, r{a}.xxxx, r{k}.zzzz
endloop
mov r{a}.x___, r{k}.wwww
"""
"""A counted loop: what is left, a condition or -1, the step and aL from outside are the lanes of r{k}."""


def modern(program: Program, filename: str = "<source>", keep: Collection[str] = ()) -> Program:
    """The program without them, and without what `expand` writes out but ``keep``; the program itself if it has none of
    these.

    SourceError for what stands for nothing.
    """
    program = expanded(program, filename, keep)
    if not any(register.kind in _OLD for register in _registers(program)):
        return program
    return _Rewriter(program).program()


class _Rewriter:
    def __init__(self, program: Program) -> None:
        self.old = program
        used = list(_registers(program))
        self.next_temporary = max((r.number or 0 for r in used if r.kind == "r"), default=-1) + 8  # behind matrices
        self.next_literal = max((r.number or 0 for r in used if r.kind == "l"), default=-1) + 1
        self.renamed: dict[tuple[str, int], tuple[str, int]] = {}
        for made in program.declarations:
            if made.mnemonic == "def":
                register = made.operands[0].register
                self.renamed[register.kind, register.number or 0] = "l", self.next_literal
                self.next_literal += 1

    def program(self) -> Program:
        old = self.old
        return replace(
            old,
            declarations=tuple(self.declaration(made) for made in old.declarations),
            body=tuple(self.body(old.body)),
            functions=tuple(Function(f.number, tuple(self.body(f.body)), f.line) for f in old.functions),
        )

    def declaration(self, made: Instruction) -> Instruction:
        return replace(self.instruction(made), mnemonic="dcl_literal") if made.mnemonic == "def" else made

    def body(self, lines: tuple[Instruction, ...]) -> Iterator[Instruction]:
        ends: list[Instruction | None] = []
        for made in lines:
            if made.mnemonic == "loop":
                start, last = self.loop(made)
                yield from start
                ends.append(last)
                continue
            if made.mnemonic == "whileloop":
                ends.append(None)
            yield self.instruction(made)
            if made.mnemonic == "endloop":
                restored = ends.pop() if ends else None
                if restored is not None:
                    yield replace(restored, line=made.line, column=made.column)

    def loop(self, made: Instruction) -> tuple[list[Instruction], Instruction]:
        """What stands for ``loop``, and what follows its ``endloop``."""
        from headwater.il.parser import parse

        counter = self.next_temporary
        self.next_temporary += 2
        address = self.register(Register("aL")).number or 0
        text = _COUNTED.format(k=counter, s=counter + 1, a=address)
        lines = [replace(i, line=made.line, column=made.column) for i in parse(f"il_ps_2_0{text}end\n").body]
        target = Operand(Register("r", counter + 1), "xyz_")
        bounds = Instruction("mov", (), (target, self.operand(made.operands[0])), (), made.line, made.column)
        return [bounds, *lines[:-2]], lines[-1]

    def instruction(self, made: Instruction) -> Instruction:
        return replace(made, operands=tuple(self.operand(operand) for operand in made.operands))

    def operand(self, operand: Operand) -> Operand:
        return replace(operand, register=self.register(operand.register))

    def register(self, register: Register) -> Register:
        index = register.index
        if index is not None and index.register is not None:
            lane = "x" if index.register.kind == "aL" else index.lane
            index = Index(self.register(index.register), lane, index.offset)
        if register.kind not in _OLD:
            return replace(register, index=index)
        key = register.kind, register.number or 0
        if key not in self.renamed:
            self.renamed[key] = "r", self.next_temporary
            self.next_temporary += 1
        kind, number = self.renamed[key]
        return Register(kind, number, index)


def _registers(program: Program) -> Iterator[Register]:
    for body in (program.declarations, program.body, *(f.body for f in program.functions)):
        for made in body:
            yield from _of(made.operands)
            if made.mnemonic == "loop":
                yield Register("aL")


def _of(operands: Iterable[Operand]) -> Iterator[Register]:
    for operand in operands:
        yield operand.register
        index = operand.register.index
        if index is not None and index.register is not None:
            yield index.register

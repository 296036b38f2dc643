"""Input: calls of functions by which a program is a pixel shader of its own. Output: IL's textures and outputs.

OpenCL C has no words for what R600 and R700 had before buffers: textures that are sampled, colour outputs, the global
buffer ``g[]``, constant buffers. A program that is written for them (as the Brook+ translator does) calls these
functions, declared in its own text:

==========================================  ============================================================================
``float __hw_vliw_window_x(void)``          the pixel's centre, ``vWinCoord0.x``; ``_y`` likewise
``uint4 __hw_vliw_sample(n, x, y)``         texture ``i<n>`` at (x, y), floats that count texels; nearest, clamped
``void __hw_vliw_output4(n, v)``            colour output ``o<n>``; ``1`` to ``3`` for fewer lanes
``uint4 __hw_vliw_global_read(i)``          element i of ``g[]``
``void __hw_vliw_global_write4(i, v)``      the same written; ``1`` to ``3`` for fewer lanes
``uint4 __hw_vliw_constant(n, size, i)``    element i of constant buffer n, which has ``size``
``int __hw_vliw_thread(void)``              the work-item's number in its group; ``_group`` the group's
``uint4 __hw_vliw_lds_read(each, t, k)``    LDS of R700: from dword k on of the ``each`` that work-item t owns
``void __hw_vliw_lds_write(each, k, v)``    the same written, of the work-item's own
``void __hw_vliw_sync(void)``               waits for the group
==========================================  ============================================================================

``n``, ``size`` and ``each``, and k of a write, must have become constants by the time everything is inlined: then
`headwater.opencl.numbered_calls` makes them part of the functions' names, ``__hw_vliw_sample.3``. What calls one of the
last five is a compute shader, with the work-group that it declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headwater.il.from_llvm.builder import Lane
from headwater.il.from_llvm.context import Context
from headwater.il.model import LANES, Index, Instruction, Modifier, Operand, Register
from headwater.llvm.ir import Function, Inst, Value
from headwater.opencl.numbered_calls import PREFIX, parts_of

_OUTPUT, _WRITE = "output", "global_write"
_COMPUTE = frozenset(PREFIX + name for name in ("thread", "group", "lds_read", "lds_write", "sync"))
_NAMES = _COMPUTE | frozenset(
    PREFIX + name
    for name in (
        *("window_x", "window_y", "sample", "global_read", "constant"),
        *(f"{name}{lanes}" for name in (_OUTPUT, _WRITE) for lanes in range(1, 5)),
    )
)
_THREADS = {"thread": "vTidInGrpFlat", "group": "vThreadGrpIdFlat"}
_FORMAT = tuple(Modifier(f"fmt{lane}", ("float",)) for lane in LANES)
SAMPLER = 0
"""The sampler of all textures: nobody sets it, so that it reads the nearest texel (ATI CAL Programming Guide)."""


def draws(declared: Iterable[str]) -> bool:
    """Whether a program, before it is optimised, has ``declared`` any of these functions: then its kernels'
    work-items are the pixels that they are run over, even of one whose endless loop left none of its calls."""
    return not _NAMES.isdisjoint(declared)


def computes(function: Function) -> bool:
    """Whether it is a compute shader's."""
    calls = [inst.detail for block in function.blocks.values() for inst in block.insts if inst.op == "call"]
    return any(name.partition(".")[0] in _COMPUTE for name in calls)


def is_drawing(inst: Inst) -> bool:
    """Whether an instruction calls one of these functions."""
    return inst.op == "call" and inst.detail.partition(".")[0] in _NAMES


@dataclass
class Drawing:
    """The calls of one kernel; what they name is gathered for the declarations."""

    c: Context
    textures: set[int] = field(default_factory=set)
    outputs: set[int] = field(default_factory=set)
    constants: dict[int, int] = field(default_factory=dict)
    lds_dwords: int = 0
    """LDS of a work-item."""

    def translate(self, inst: Inst) -> list[Lane]:
        """The lanes of a call's result."""
        name, numbers = parts_of(inst.detail)
        args: list[Value | int] = [*numbers, *inst.args]
        b = self.c.builder
        if name.startswith("window_"):
            return [Lane(Register("vWinCoord", 0), name[-1])]
        if name == "sample":
            number = self.number(args[0])
            self.textures.add(number)
            place = b.vector([self.c.lane(value) for value in inst.args[-2:]], floats=True)
            made = b.new(4)
            modifiers = [Modifier("resource", (str(number),)), Modifier("sampler", (str(SAMPLER),))]
            b.put("sample", b.target(made), place, modifiers=modifiers)
            return made
        if name == "global_read":
            return b.each("mov", [Lane(self.element("g", None, inst.args[0]), lane) for lane in LANES])
        if name == "constant":
            number = self.number(args[0])
            self.constants[number] = max(self.number(args[1]), self.constants.get(number, 0))
            return b.each("mov", [Lane(self.element("cb", number, inst.args[-1]), lane) for lane in LANES])
        if name in _THREADS:
            return [Lane(Register(_THREADS[name]), "x")]
        if name.startswith("lds_"):
            return self.shared(name, args, inst.args)
        if name == "sync":
            b.put("fence", modifiers=[Modifier("threads"), Modifier("lds"), Modifier("memory")])
            return []
        held = b.plain(self.c.lanes(inst.args[-1]))
        if name.startswith(_OUTPUT):
            number = self.number(args[0])
            self.outputs.add(number)
            self.move(Register("o", number), held)
        else:
            self.move(self.element("g", None, inst.args[0]), held)
        return []

    def shared(self, name: str, args: Sequence[Value | int], values: Sequence[Value]) -> list[Lane]:
        """A read or write of LDS; ``values``: of the arguments, those that are no part of the name."""
        b = self.c.builder
        self.lds_dwords = max(self.lds_dwords, self.number(args[0]))
        if name == "lds_read":
            made = b.new(4)
            b.put("lds_read_vec", b.target(made), b.vector([self.c.lane(value) for value in values[-2:]]))
            return made
        offset = Modifier("lOffset", (str(self.number(args[1])),))
        own = Operand(Register("mem", None, Index(None, "", 0)), LANES)
        b.put("lds_write_vec", own, b.vector(b.plain(self.c.lanes(values[-1]))), modifiers=[offset])
        return []

    def move(self, target: Register, held: Sequence[Lane]) -> None:
        mask = "".join(lane if k < len(held) else "_" for k, lane in enumerate(LANES))
        self.c.builder.put("mov", Operand(target, mask), self.c.builder.vector(held))

    def element(self, kind: str, number: int | None, index: Value) -> Register:
        """An element of memory that is indexed."""
        lane = self.c.lane(index)
        if lane.register is None:
            return Register(kind, number, Index(None, "", lane.bits))
        if lane.register.kind != "r" or not lane.plain:
            (lane,) = self.c.builder.each("mov", [lane], floats=True)
        return Register(kind, number, Index(lane.register, lane.lane, 0))

    def number(self, value: Value | int) -> int:
        """A constant argument."""
        if isinstance(value, int):
            return value
        lane = self.c.lane(value)
        if lane.register is not None:
            raise self.c.refuse(
                "the number of a texture, an output, a constant buffer or a place of shared memory is not constant",
                "choose between arrays by if, so that each access names one of them",
            )
        return lane.bits

    def declarations(self) -> Iterable[Instruction]:
        """What declares the outputs, textures, constant buffers and LDS."""
        if self.lds_dwords:
            yield Instruction("dcl_lds_size_per_thread", values=(self.lds_dwords,))
        for number in sorted(self.outputs):
            yield Instruction("dcl_output", (Modifier("generic"),), (Operand(Register("o", number)),))
        for number in sorted(self.textures):
            kind = Modifier("type", ("2d", "unnorm"))
            yield Instruction("dcl_resource", (Modifier("id", (str(number),)), kind, *_FORMAT))
        for number, size in sorted(self.constants.items()):
            yield Instruction("dcl_cb", operands=(Operand(Register("cb", number, Index(None, "", size))),))

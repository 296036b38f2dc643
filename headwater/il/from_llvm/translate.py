"""Input: the optimised LLVM IR of a kernel. Output: its IL program, and what the launcher must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from headwater.base.recursion import deep_recursion
from headwater.chips import Chip
from headwater.chips.model import SCRATCH_BUFFER_ELEMENTS
from headwater.errors import Span
from headwater.il.from_llvm import arithmetic, intrinsics
from headwater.il.from_llvm.builder import Lane, buffer_lane, constant
from headwater.il.from_llvm.context import ALL, Context
from headwater.il.from_llvm.drawing import Drawing, computes, is_drawing
from headwater.il.from_llvm.memory import ARENA, ARGUMENTS, BYTES, LDS, Memory
from headwater.il.from_llvm.places import find_places
from headwater.il.from_llvm.reducible import reducible
from headwater.il.from_llvm.structure import Code, Edge, Flag, If, Jump, Loop, Node, Set, structure
from headwater.il.from_llvm.types import size_bytes, words
from headwater.il.from_llvm.written import written
from headwater.il.model import Index, Instruction, Modifier, Operand, Program, Register
from headwater.llvm.ir import Block, Function, Inst, Module, Value
from headwater.opencl.kernels import ARENA_START, KernelInfo
from headwater.opencl.memory_limits import MemoryLimitError, exceeded

SLOT_BYTES = 16
"""An argument begins at an element of its constant buffer (AMD's OpenCL 1.x)."""


@dataclass(frozen=True)
class Translated:
    """``slots``: where in constant buffer 1 each argument begins, in bytes. ``data``: the program's constants.
    ``prints``: whether printf's memory is used. ``written``: see `headwater.il.from_llvm.written`."""

    program: Program
    slots: tuple[int, ...]
    data: bytes
    local_bytes: int
    prints: bool
    written: tuple[int, ...] | None


def translate(
    module: Module, info: KernelInfo, chip: Chip, filename: str, tables: Mapping[str, bytes], *, drawing: bool
) -> Translated:
    """Translate one kernel of a module that `headwater.opencl.codegen_vliw` made. ``tables``: what constants hold that
    the module only declares; ``drawing``: see `headwater.il.from_llvm.drawing.draws`."""
    function = module.function(info.symbol)
    with deep_recursion():  # blocks nest as deep as the source has them
        return _Kernel(module, function, info, chip, filename, tables, drawing).translated()


class _Kernel:
    def __init__(
        self,
        module: Module,
        function: Function,
        info: KernelInfo,
        chip: Chip,
        filename: str,
        tables: Mapping[str, bytes],
        drawing: bool,
    ) -> None:
        self.module = module
        self.function = reducible(function)
        self.info = info
        self.chip = chip
        writes_images = any(arg.kind == "image" and arg.access != "read" for arg in info.args)
        self.c = Context(module, chip, filename, writes_images)
        self.b = self.c.builder
        self.slots = _slots(info)
        self.places, self.data = find_places(self.c, self.function, tables)
        self.memory = Memory(self.c, self.places, intrinsics.DATA_ADDRESS)
        self.c.pointer = self.memory.pointer
        self.c.expression = self.expression
        self.c.spaces = self.places.spaces
        self.flags: dict[Flag, Lane] = {}
        self.drawing = Drawing(self.c) if drawing else None
        self.pixel = not chip.vliw.shared_local_memory and not computes(self.function)

    def translated(self) -> Translated:
        self.arguments()
        for block in self.function.blocks.values():
            for phi in block.phis:
                if len(phi.args) > 1:  # else it is another name for its value
                    self.c.values[phi.name] = self.b.new(words(phi.ty))
        successors = {name: block.successors for name, block in self.function.blocks.items()}
        nodes = structure(successors, next(iter(self.function.blocks)))
        numbered = self.pixel and self.drawing is None
        if numbered:
            self.pixel_number()
        self.nodes(nodes)
        if numbered:
            self.b.put("endif")
        program = Program("ps" if self.pixel else "cs", "2_0", tuple(self.declarations()), tuple(self.b.code))
        called = {inst.detail for block in self.function.blocks.values() for inst in block.insts if inst.op == "call"}
        local_bytes = self.places.local_bytes + self.owned_bytes()
        prints = intrinsics.PRINTF_MEMORY in called
        return Translated(program, tuple(self.slots), self.data, local_bytes, prints, written(self.function))

    def owned_bytes(self) -> int:
        """LDS of a work-group whose work-items own parts of it."""
        if self.drawing is None:
            return 0
        return 4 * self.drawing.lds_dwords * prod(self.info.reqd_group_size or (1,))

    # -- what is around the code ---------------------------------------------------------------------------------------

    def arguments(self) -> None:
        c = self.c
        for param, slot, info in zip(self.function.params, self.slots, self.info.args, strict=True):
            if param.name in self.places.arguments:
                c.values[param.name], c.offsets[param.name] = [constant(0)], slot
                continue
            if info.kind == "local" and not self.chip.vliw.shared_local_memory:
                raise self.lacks_local()
            count = -(-size_bytes(param.ty) // 4)
            held = [buffer_lane(ARGUMENTS, slot // 16 + k // 4, "xyzw"[k % 4]) for k in range(count)]
            if param.ty.kind == "ptr":
                c.values[param.name] = held
            elif param.name in self.places.uses:
                c.values[param.name] = arithmetic.unpacked(c, held, param.ty)
        if self.places.locals and not self.chip.vliw.shared_local_memory:
            raise self.lacks_local()
        most = self.chip.local_memory.work_group_bytes
        if self.places.local_bytes > most:
            raise exceeded(self.info.name, "local", self.places.local_bytes, most, self.chip.name, c.filename)
        arrays = {array.number: array for array in self.places.array.values()}.values()
        elements, taken = sum(array.elements for array in arrays), sum(array.size_bytes for array in arrays)
        if elements > SCRATCH_BUFFER_ELEMENTS:
            most = SCRATCH_BUFFER_ELEMENTS * taken // elements
            raise exceeded(self.info.name, "private", taken, most, self.chip.name, c.filename)

    def lacks_local(self) -> Exception:
        error = MemoryLimitError(
            f"{self.info.name} uses local memory, on {self.chip.name}",
            Span(self.c.filename),
            hint="work-groups share memory on an HD 5000 or later; use global memory",
        )
        error.space = "local"
        return error

    def pixel_number(self) -> None:
        """The number of the work-item, from its place in the domain; pixels beyond the last one do nothing."""
        c, b = self.c, self.b
        window = Register("vWinCoord", 0)
        place = b.each("ftoi", [Lane(window, "x"), Lane(window, "y")], floats=True)
        number = c.one("iadd", c.one("imul", place[1], intrinsics.DOMAIN_WIDTH), place[0])
        c.values[intrinsics.FLAT_ID] = [number]
        b.put("if_logicalnz", b.scalar(c.one("ult", number, intrinsics.WORK_ITEMS)))

    def declarations(self) -> list[Instruction]:
        out: list[Instruction] = []
        if self.pixel:
            interpolation = [Modifier("interp", ("linear_noperspective",))]
            position = Operand(Register("vWinCoord", 0), "xy__")
            out.append(Instruction("dcl_input_position", tuple(interpolation), (position,)))
        elif self.info.reqd_group_size is not None:
            out.append(Instruction("dcl_num_thread_per_group", values=self.info.reqd_group_size))
        else:
            largest = self.chip.compute.work_group_size
            out.append(Instruction("dcl_max_thread_per_group", values=(largest,)))
        if self.drawing is None or any(_reads(made, 0) for made in self.b.code):
            out.append(_constant_buffer(0, intrinsics.ELEMENTS))
        elements = -(-max((s + a.size_bytes for s, a in zip(self.slots, self.info.args, strict=True)), default=0) // 16)
        if elements:
            out.append(_constant_buffer(ARGUMENTS, elements))
        if self.drawing is not None:
            out += self.drawing.declarations()
        for array in {array.number: array for array in self.places.array.values()}.values():
            register = Register("x", array.number, Index(None, "", array.elements))
            out.append(Instruction("dcl_indexed_temp_array", operands=(Operand(register),)))
        if self.places.arena_used:
            out.append(Instruction("dcl_raw_uav", _view(ARENA)))
        if self.places.bytes_used:
            out.append(Instruction("dcl_arena_uav", _view(BYTES)))
        if self.places.lds_used:
            grows = any(argument.kind == "local" for argument in self.info.args)
            size = self.chip.local_memory.work_group_bytes if grows else self.places.local_bytes
            out.append(Instruction("dcl_lds", (Modifier("id", (str(LDS),)),), values=(-(-size // 4) * 4,)))
        return [*out, *self.b.literal_declarations()]

    # -- code ----------------------------------------------------------------------------------------------------------

    def nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Code):
                self.block(self.function.blocks[node.block])
            elif isinstance(node, Edge):
                self.edge(node.source, node.target)
            elif isinstance(node, If):
                self.branch(node)
            elif isinstance(node, Loop):
                self.b.put("whileloop")
                self.b.code += self.collected(node.body)
                self.b.put("endloop")
            elif isinstance(node, Jump):
                self.b.put(node.kind)
            else:
                self.flag(node)

    def flag(self, node: Set) -> None:
        if node.flag not in self.flags:
            self.flags[node.flag] = self.b.new(1)[0]
        lane = self.flags[node.flag]
        self.b.into([lane], "mov", [constant(ALL if node.value else 0)])

    def branch(self, node: If) -> None:
        lane = self.flags[node.condition] if isinstance(node.condition, tuple) else self.condition(node.condition)
        then, otherwise = self.collected(node.then), self.collected(node.otherwise)
        condition = self.b.scalar(lane)
        if len(then) == 1 and not otherwise and then[0].mnemonic in ("break", "continue"):
            self.b.put(f"{then[0].mnemonic}_logicalnz", condition)
        elif len(otherwise) == 1 and otherwise[0].mnemonic in ("break", "continue"):
            self.b.put(f"{otherwise[0].mnemonic}_logicalz", condition)
            self.b.code += then
        elif len(then) == 1 and then[0].mnemonic in ("break", "continue"):
            self.b.put(f"{then[0].mnemonic}_logicalnz", condition)
            self.b.code += otherwise
        elif then or otherwise:
            self.b.put("if_logicalnz" if then else "if_logicalz", condition)
            self.b.code += then or otherwise
            if then and otherwise:
                self.b.put("else")
                self.b.code += otherwise
            self.b.put("endif")

    def condition(self, block: str) -> Lane:
        term = self.function.blocks[block].term
        return self.b.plain([self.c.lane(term.args[0])])[0]

    def collected(self, nodes: Sequence[Node]) -> list[Instruction]:
        """The instructions of a branch, apart from those before it."""
        before, self.b.code = self.b.code, []
        self.c.known.append({})
        self.nodes(nodes)
        self.c.known.pop()
        made, self.b.code = self.b.code, before
        return made

    def block(self, block: Block) -> None:
        for inst in block.insts:
            if inst.op in ("phi", "br", "ret", "unreachable", "alloca"):
                continue
            if inst.line:
                self.c.line, self.c.column = inst.line, inst.column
            self.b.line = self.c.line
            lanes = self.instruction(inst)
            if inst.name:
                self.c.values[inst.name] = lanes

    def expression(self, value: Value) -> list[Lane]:
        """A constant that the address of a variable is part of, computed where it is used."""
        inst = self.module.constant_expression(value)
        lanes = arithmetic.translate(self.c, inst)
        if lanes is None:
            raise self.c.refuse(f"a constant by {inst.op} is not supported")
        return lanes

    def instruction(self, inst: Inst) -> list[Lane]:
        op = inst.op
        found = arithmetic.translate(self.c, inst)
        if found is not None:
            return found
        if self.drawing is not None and is_drawing(inst):
            return self.drawing.translate(inst)
        if op == "getelementptr":
            base, offset = self.memory.address(inst)
            self.c.offsets[inst.name] = offset
            return [base]
        if op == "load":
            return self.memory.load(inst)
        if op == "store":
            self.memory.store(inst)
            return []
        if op == "atomicrmw":
            return self.memory.atomic(inst)
        if op == "cmpxchg":
            return self.memory.compare_exchange(inst)
        if op == "fence":
            self.b.put("fence", modifiers=[Modifier("memory")])
            return []
        found = intrinsics.translate(self.c, inst) if op == "call" else None
        if found is None:
            what = inst.detail if op == "call" else op
            if what == "printf" and self.chip.vliw.unordered_views:
                raise self.c.refuse("printf of a format or string that is not a literal", "write it out in the call")
            hint = "printf needs atomic operations: an HD 5000 or later" if what == "printf" else ""
            raise self.c.refuse(f"{what} is not supported", hint)
        return found

    def edge(self, source: str, target: str) -> None:
        """Assign the phis of a block for the way from another, all at once."""
        targets: list[Lane] = []
        sources: list[Lane] = []
        for phi in self.function.blocks[target].phis:
            value = phi.args[phi.labels.index(source)]
            if value.is_undefined and len(phi.args) > 1:
                continue
            lanes = self.c.lanes_as(value, phi)
            if len(phi.args) == 1:
                self.c.values[phi.name] = lanes
                continue
            targets += self.c.values[phi.name]
            sources += lanes
        written = {(lane.register, lane.lane): k for k, lane in enumerate(targets)}
        needed = [k for k, lane in enumerate(sources) if (lane.register, lane.lane) in written]
        if any(written[sources[k].register, sources[k].lane] != k for k in needed):
            # Some are read after they are written: those are moved out of the way first.
            copies = self.b.each("mov", [sources[k] for k in needed], floats=True)
            for k, copy in zip(needed, copies, strict=True):
                sources[k] = copy
        moves = [k for k in range(len(targets)) if sources[k] != targets[k]]
        if moves:
            self.b.into([targets[k] for k in moves], "mov", [sources[k] for k in moves], floats=True)


def _view(number: int) -> tuple[Modifier, ...]:
    return Modifier("id", (str(number),)), Modifier("start", (str(ARENA_START),))


def _constant_buffer(number: int, elements: int) -> Instruction:
    return Instruction("dcl_cb", operands=(Operand(Register("cb", number, Index(None, "", elements))),))


def _reads(made: Instruction, number: int) -> bool:
    """Whether an instruction reads a constant buffer."""
    return any((operand.register.kind, operand.register.number) == ("cb", number) for operand in made.operands)


def _slots(info: KernelInfo) -> list[int]:
    """Where each argument begins, in bytes."""
    slots, at = [], 0
    for argument in info.args:
        slots.append(at)
        at += -(-max(argument.size_bytes, 1) // SLOT_BYTES) * SLOT_BYTES
    return slots

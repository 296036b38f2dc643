"""Input: a `Program`. Output: what it declares and uses, found to be consistent.

The parser knows one line at a time. Here the lines are held against each other: declarations against uses, the ends of
blocks against their beginnings, calls against functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.base.faults import Faults
from headwater.errors import SourceError, Span
from headwater.il.expand import MATRICES, row_of
from headwater.il.model import Instruction, Operand, Program, Register
from headwater.il.table import RESULT_MODIFIERS, operations

RELATIONS = {"ne": "!=", "eq": "==", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
COMPARED = ("0.0", "0.5", "1.0", "-0.5", "-1.0")
ZERO_RULES = ("fltmax", "zero", "infinity", "inf_else_max")
MAX_CALL_DEPTH = 32
"""AMD, Intermediate Language Specification: the hardware's stack bounds nested calls."""
MAX_BLOCK_DEPTH = 1000
"""More than any chip's stack holds, and less than what compilers of the translation refuse (clang: 2048 brackets)."""

POSITION_KINDS = ("v", "vWinCoord")
THREAD_KINDS = {
    "vTid": "local",
    "vTidInGrp": "local",
    "vTidInGrpFlat": "local_flat",
    "vaTid": "global",
    "vAbsTid": "global",
    "vAbsTidFlat": "global_flat",
    "vTGroupid": "group",
    "vThreadGrpId": "group",
    "vThreadGrpIdFlat": "group_flat",
}
"""The work-item's numbers, by the names that IL versions gave them."""

DERIVATIVES = ("dsx", "dsy", "fwidth")
"""Operations that compare a pixel with its neighbours."""

_SOURCES = {
    *("r", "x", "cb", "l", "o", "g", "vObjIndex", "a", "aL", "icb", "sr", "p", "i", "c", "b"),
    *POSITION_KINDS, *THREAD_KINDS,
}  # fmt: skip
_DESTINATIONS = {"r", "x", "o", "g", "mem", "oDepth", "oMask", "a", "sr", "p"}
_INDEXED = {"x", "cb", "g", "icb", "mem", "sr"}
_WORDS = {"relop": tuple(RELATIONS), "cmpval": COMPARED, "zeroop": ZERO_RULES, "matrix": tuple(MATRICES)}
"""What a modifier may say in its parentheses."""
_PLAIN_BITS = ("lds_", "uav_", "srv_", "dfrexp")
"""What begins the names of operations whose results are bits as they are in memory, or of a double."""
_VIEWS = {
    "dcl_raw_uav": "raw",
    "dcl_typeless_uav": "raw",
    "dcl_struct_uav": "struct",
    "dcl_uav": "typed",
    "dcl_typed_uav": "typed",
    "dcl_arena_uav": "arena",
}
_OPEN = {
    "if_logicalnz": "endif",
    "if_logicalz": "endif",
    "ifnz": "endif",
    "ifc": "endif",
    "whileloop": "endloop",
    "loop": "endloop",
    "switch": "endswitch",
}


@dataclass(frozen=True, slots=True)
class Resource:
    """A texture: its number, 1 or 2 dimensions, and whether coordinates count texels."""

    number: int
    dimensions: int
    unnormalised: bool


@dataclass(frozen=True, slots=True)
class Uav:
    """An unordered access view: raw (bytes), struct (of ``stride`` bytes), typed (four lanes an element; of one
    dimension or ``planar``) or arena. ``start``: no memory lies below this byte of it."""

    number: int
    kind: str
    stride_bytes: int = 0
    start: int = 0
    planar: bool = False


@dataclass
class Facts:
    """What a program declares, by number, and what it uses beyond that."""

    literals: dict[int, tuple[int, ...]] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)
    """Constant buffers: elements of four lanes."""
    arrays: dict[int, int] = field(default_factory=dict)
    """Indexed temporaries: elements of four lanes."""
    resources: dict[int, Resource] = field(default_factory=dict)
    srvs: dict[int, Uav] = field(default_factory=dict)
    """Raw and structured buffers that are only read; their numbers are among the resources'."""
    uavs: dict[int, Uav] = field(default_factory=dict)
    """Views that the program reaches; what it declares and does not use is left out."""
    outputs: set[int] = field(default_factory=set)
    temporaries: set[int] = field(default_factory=set)
    lds_bytes: dict[int, int] = field(default_factory=dict)
    lds_strides: dict[int, int] = field(default_factory=dict)
    """Bytes of an element of the LDS arrays that have a structure."""
    gds_bytes: dict[int, int] = field(default_factory=dict)
    """The same of the data share of all work-groups."""
    gds_strides: dict[int, int] = field(default_factory=dict)
    lds_dwords_per_thread: int = 0
    group: tuple[int, int, int] | None = None
    """A compute shader's work-group, if it is fixed."""
    largest_group: int = 0
    """The most work-items of a work-group that each launch chooses."""
    declared_groups: int = 0
    """How many work-groups every launch has, if it is fixed."""
    shared: int = 0
    """Registers that all wavefronts of a SIMD engine share."""
    defined: set[tuple[str, int]] = field(default_factory=set)
    """Constants that the program gives itself, ``c#`` and ``i#``."""
    uses_global: bool = False
    discards: bool = False
    derivatives: int = 0
    """How many instructions compare a pixel with its neighbours."""


def check(program: Program, filename: str = "<source>") -> Facts:
    """What the program declares and uses. SourceError, with the lines, for what does not fit together."""
    return _Checker(program, filename).facts()


class _Checker:
    def __init__(self, program: Program, filename: str) -> None:
        self.program = program
        self.filename = filename
        self.found = Facts()
        self.views: set[int] = set()  # that instructions reach: what is only declared is left out

    def error(self, message: str, at: Instruction, operand: Operand | None = None, hint: str = "") -> SourceError:
        column = operand.column if operand is not None and operand.column else at.column
        return SourceError(message, Span(self.filename, at.line, column), hint=hint)

    def facts(self) -> Facts:
        faults = Faults()
        for declaration in self.program.declarations:
            with faults:
                self.declare(declaration)
        undeclared = bool(faults.found)  # then what uses it would seem wrong, too
        for body in (self.program.body, *(f.body for f in self.program.functions)):
            with faults:
                self.blocks(body)
            for made in body if not undeclared else ():
                with faults:
                    self.instruction(made)
        with faults:
            self.calls()
        faults.raise_all()
        self.found.uavs = {number: view for number, view in self.found.uavs.items() if number in self.views}
        if self.program.kind == "cs" and self.found.group is None and not self.found.largest_group:
            first = self.program.declarations[0] if self.program.declarations else Instruction("end", line=1)
            raise self.error(
                "a compute shader without its work-group's size", first, hint="dcl_num_thread_per_group 64"
            )
        return self.found

    # -- declarations --------------------------------------------------------------------------------------------------

    def declare(self, made: Instruction) -> None:
        found = self.found
        name = made.mnemonic
        register = made.operands[0].register if made.operands else Register("")
        number = register.number or 0
        size = register.index.offset if register.index is not None else 0
        if name == "dcl_literal":
            if register.kind != "l" or register.number is None:
                raise self.error("a literal is named l0, l1, …", made)
            found.literals[number] = made.values
        elif name == "dclpi":
            self.pixel_input(made, register)
        elif name == "dcl_cb":
            if register.kind != "cb" or size < 1:
                raise self.error("a constant buffer is declared as cb0[number of elements]", made)
            found.constants[number] = size
        elif name == "dcl_indexed_temp_array":
            if register.kind != "x" or size < 1:
                raise self.error("an indexed array is declared as x0[number of elements]", made)
            found.arrays[number] = size
        elif name == "dcl_resource":
            kind = made.modifier("type")
            words = kind.arguments if kind is not None else ()
            if not words or words[0] not in ("1d", "2d", "buffer"):
                raise self.error(
                    f"resources of type {words[0] if words else 'unknown'} are not supported", made, hint="use 1d or 2d"
                )
            found.resources[made.number("id")] = Resource(
                made.number("id"), 2 if words[0] == "2d" else 1, "unnorm" in words or words[0] == "buffer"
            )
        elif name == "dcl_output":
            if register.kind == "o" and register.number is not None:
                found.outputs.add(register.number)
        elif name == "dcl_num_thread_per_group":
            x, y, z = (*made.values, 1, 1)[:3]
            if min(x, y, z) < 1 or x * y * z > 1024:
                raise self.error(f"a work-group cannot have {x} x {y} x {z} work-items", made, hint="1 to 1024 in all")
            found.group = (x, y, z)
        elif name == "dcl_max_thread_per_group":
            found.largest_group = made.values[0]
        elif name == "dcl_total_num_thread_group":
            found.declared_groups = made.values[0]
        elif name == "dcl_lds_size_per_thread":
            if not 0 < made.values[0] <= 64 or made.values[0] % 4:
                raise self.error("LDS per thread is a multiple of 4 dwords, at most 64", made)
            found.lds_dwords_per_thread = made.values[0]
        elif name == "dcl_lds":
            found.lds_bytes[made.number("id")] = made.values[0]
        elif name == "dcl_gds":
            found.gds_bytes[made.number("id")] = made.values[0]
        elif name in ("dcl_struct_lds", "dcl_struct_gds"):
            stride, count = made.values
            if min(stride, count) < 1 or stride % 4:
                raise self.error("a structure's size is a multiple of 4 bytes, and there is one at least", made)
            is_local = name == "dcl_struct_lds"
            (found.lds_bytes if is_local else found.gds_bytes)[made.number("id")] = stride * count
            (found.lds_strides if is_local else found.gds_strides)[made.number("id")] = stride
        elif name in ("dcl_raw_srv", "dcl_struct_srv"):
            number, stride = made.number("id"), made.values[0] if made.values else 0
            if number in found.resources:
                raise self.error(f"resource {number} is declared twice", made)
            found.srvs[number] = Uav(number, "struct" if name == "dcl_struct_srv" else "raw", stride)
        elif name == "dcl_shared_temp":
            if register.kind != "sr" or size < 1:
                raise self.error("shared registers are declared as sr[how many]", made)
            if self.program.kind != "cs":
                raise self.error("shared registers are for compute shaders", made, hint="il_cs_2_0")
            found.shared = size
        elif name == "def":
            if register.kind not in ("c", "i") or register.number is None:
                raise self.error("def gives a constant c0, c1, … or i0, i1, …", made)
            found.defined.add((register.kind, number))
        elif name == "defb":
            if register.kind != "b" or register.number is None or made.values[0] > 1:
                raise self.error("defb gives a constant b0, b1, … 0 or 1", made)
            found.defined.add(("b", number))
        elif name in _VIEWS:
            access = made.modifier("access")
            if access is not None and access.arguments not in (("read_write",), ("read_only",), ("write_only",)):
                raise self.error(
                    f"there is no _access({', '.join(access.arguments)})",
                    made,
                    hint="read_write, read_only or write_only",
                )
            stride = made.values[0] if name == "dcl_struct_uav" else 0
            kind = made.modifier("type")
            planar = kind is not None and kind.arguments[:1] != ("1d",)
            view = Uav(made.number("id"), _VIEWS[name], stride, made.number("start"), planar)
            found.uavs[view.number] = view

    def pixel_input(self, made: Instruction, register: Register) -> None:
        """Direct3D 9's declaration of an interpolated value, of which CAL has the pixel's place alone."""
        if register.kind != "vWinCoord" or made.modifier("centered") is None:
            raise self.error(
                "dclpi declares the pixel's place, in the middle of the pixel: CAL interpolates nothing else",
                made,
                hint="dclpi_x(0)_y(0)_z(-)_w(-)_center_centered vWinCoord0",
            )
        for lane in "xyzw":
            modifier = made.modifier(lane)
            if modifier is not None and modifier.arguments not in (("-",), ("0",), ("1",), ("*",)):
                raise self.error(f"_{lane}({', '.join(modifier.arguments)})", made, hint=f"_{lane}(*), or _{lane}(-)")

    # -- code ----------------------------------------------------------------------------------------------------------

    def blocks(self, body: tuple[Instruction, ...]) -> None:
        """Every block that begins must end, and breaks must have something to break."""
        stack: list[tuple[Instruction, bool]] = []
        for made in body:
            name = made.mnemonic
            if name in _OPEN:
                stack.append((made, False))
                if len(stack) > MAX_BLOCK_DEPTH:
                    raise self.error(f"blocks nest deeper than {MAX_BLOCK_DEPTH}", made)
            elif name in ("endif", "endloop", "endswitch"):
                if not stack or _OPEN[stack[-1][0].mnemonic] != name:
                    open_one = f"{stack[-1][0].mnemonic} of line {stack[-1][0].line} is open" if stack else ""
                    raise self.error(f"{name} closes no block", made, hint=open_one)
                stack.pop()
            elif name == "else":
                if not stack or _OPEN[stack[-1][0].mnemonic] != "endif" or stack[-1][1]:
                    raise self.error("else belongs to no if", made)
                stack[-1] = (stack[-1][0], True)
            elif name in ("case", "default"):
                if not stack or stack[-1][0].mnemonic != "switch":
                    raise self.error(f"{name} is not in a switch", made)
            elif name.startswith(("break", "continue")):
                loops = [s.mnemonic for s, _ in stack if s.mnemonic in ("whileloop", "loop", "switch")]
                if not loops or (name.startswith("continue") and set(loops) == {"switch"}):
                    raise self.error(f"{name} is not in a loop", made)
        if stack:
            raise self.error(f"{stack[-1][0].mnemonic} is not closed", stack[-1][0], hint=_OPEN[stack[-1][0].mnemonic])

    def instruction(self, made: Instruction) -> None:
        operation = operations()[made.mnemonic]
        for position, operand in enumerate(made.operands):
            written = operation.has_result and position == 0
            self.operand(made, operand, written=written)
        for letter, operand in zip(operation.sources, made.operands[operation.has_result :], strict=False):
            self.source(made, letter, operand)
        if operation.result in ("D", "L"):
            lanes = made.operands[0].lanes
            if lanes and not any(all(lanes[i] == "xyzw"[i] for i in pair) for pair in ((0, 1), (2, 3))):
                what = "a double" if operation.result == "D" else "64 bits"
                raise self.error(f"{made.mnemonic} writes {what}, to .xy or .zw", made, made.operands[0])
        changed = next((m.name for m in made.modifiers if m.name in RESULT_MODIFIERS and m.name != "prec"), None)
        if changed is not None and (operation.result not in ("f", "F", "b") or made.mnemonic.startswith(_PLAIN_BITS)):
            raise self.error(
                f"_{changed} is for results of float, {made.mnemonic} gives none", made, hint=f"mov_{changed}"
            )
        for name, known in _WORDS.items():
            modifier = made.modifier(name)
            if modifier is not None and (len(modifier.arguments) != 1 or modifier.arguments[0] not in known):
                raise self.error(
                    f"there is no _{name}({', '.join(modifier.arguments)})", made, hint=f"one of {', '.join(known)}"
                )
        if made.modifier("resource") is not None and made.mnemonic.startswith(("sample", "fetch4", "load", "resinfo")):
            number = made.number("resource")
            if number not in self.found.resources:
                raise self.error(
                    f"resource {number} is not declared", made, hint=f"dcl_resource_id({number})_type(2d,…"
                )
        if made.mnemonic.startswith("uav_") and made.number("id") not in self.found.uavs:
            raise self.error(
                f"uav {made.number('id')} is not declared", made, hint=f"dcl_raw_uav_id({made.number('id')})"
            )
        if made.mnemonic.startswith("uav_"):
            self.views.add(made.number("id"))
        if made.mnemonic.startswith("srv_"):
            view = self.found.srvs.get(made.number("id"))
            wanted = "struct" if made.mnemonic == "srv_struct_load" else "raw"
            if view is None or view.kind != wanted:
                number = made.number("id")
                size = " stride" if wanted == "struct" else ""
                raise self.error(
                    f"srv {number} is not declared as {wanted}", made, hint=f"dcl_{wanted}_srv_id({number}){size}"
                )
        if made.mnemonic.startswith("gds_") and _share(made) not in self.found.gds_bytes:
            raise self.error(f"GDS {_share(made)} is not declared", made, hint=f"dcl_gds_id({_share(made)}) bytes")
        if made.mnemonic == "mmul":
            self.matrix(made)
        if made.mnemonic in DERIVATIVES:
            if self.program.kind != "ps":
                raise self.error(f"{made.mnemonic} is for pixel shaders: work-items have no neighbours", made)
            self.found.derivatives += 1
        if made.mnemonic in ("transpose", "det"):  # of four registers each, the named one the first
            for operand in made.operands[made.mnemonic == "det" :]:
                self.found.temporaries |= {(operand.register.number or 0) + k for k in range(4)}
        if made.mnemonic.startswith(("discard", "kill")):
            self.found.discards = True

    def source(self, made: Instruction, letter: str, operand: Operand) -> None:
        """Modifiers of a source must be such as its bits can have: most compute in float."""
        allowed = ("neg",) if letter == "D" else ("neg", "abs") if letter in "iuSU" else None
        wrong = next((m.name for m in operand.modifiers if allowed is not None and m.name not in allowed), None)
        if wrong is not None:
            what = "a double" if letter == "D" else "an integer"
            hint = "dabs" if (letter, wrong) == ("D", "abs") else f"mov r0, r1_{wrong} before it"
            raise self.error(f"_{wrong} is for sources of float, this is {what}", made, operand, hint)

    def matrix(self, made: Instruction) -> None:
        """The rows of mmul's matrix follow the one that it names."""
        size, matrix = made.modifier("matrix"), made.operands[2]
        rows = MATRICES[size.arguments[0]][1] if size is not None else 4
        if matrix.register.kind not in ("r", "cb", "c", "l"):
            raise self.error(f"a matrix cannot be in {matrix.register.kind} registers", made, matrix, "r, cb, c or l")
        for row in range(1, rows):
            further = Operand(row_of(matrix.register, row), column=matrix.column)
            self.operand(made, further, written=False)

    def operand(self, made: Instruction, operand: Operand, *, written: bool) -> None:
        register = operand.register
        kind, number = register.kind, register.number
        found = self.found
        if kind not in (_DESTINATIONS if written else _SOURCES):
            what = "written" if written else "read"
            hint = f"what can be: {' '.join(sorted(_DESTINATIONS if written else _SOURCES))}"
            raise self.error(f"{kind}{'' if number is None else number} cannot be {what}", made, operand, hint)
        if register.index is not None:
            if kind not in _INDEXED:
                raise self.error(f"{kind} registers take no index", made, operand)
            if register.index.register is not None:
                self.operand(made, Operand(register.index.register, column=operand.column), written=False)
        constant = register.index.offset if register.index is not None and register.index.register is None else None
        if kind == "l" and number not in found.literals:
            raise self.error(f"literal l{number} is not declared", made, operand, f"dcl_literal l{number}, …")
        if kind in ("cb", "x"):
            sizes = found.constants if kind == "cb" else found.arrays
            declaration = "dcl_cb" if kind == "cb" else "dcl_indexed_temp_array"
            if number not in sizes:
                raise self.error(f"{kind}{number} is not declared", made, operand, f"{declaration} {kind}{number}[…]")
            if register.index is None:
                raise self.error(f"{kind}{number} needs an index", made, operand)
            if kind == "cb" and constant is not None and constant >= 0:
                # What is bound counts, not what is declared: real kernels read beyond their declaration.
                sizes[number] = max(sizes[number], constant + 1)
            if constant is not None and not 0 <= constant < sizes[number]:
                raise self.error(f"{kind}{number}[{constant}] is beyond its {sizes[number]} elements", made, operand)
        if kind in ("c", "i", "b") and (kind, number) not in found.defined:
            definition = "defb" if kind == "b" else "def"
            raise self.error(f"{kind}{number} is not defined", made, operand, f"{definition} {kind}{number}, …")
        if kind == "sr":
            at = number if number is not None else constant
            if not found.shared:
                raise self.error("no shared registers are declared", made, operand, "dcl_shared_temp sr[how many]")
            if at is not None and not 0 <= at < found.shared:
                raise self.error(f"sr{at} is beyond the {found.shared} that are declared", made, operand)
        if kind == "r" and number is not None:
            found.temporaries.add(number)
        if kind == "o" and number is not None:
            found.outputs.add(number)
        if kind == "g":
            found.uses_global = True
            if register.index is None:
                raise self.error("the global buffer needs an index", made, operand, "g[r1.x]")
        if kind in POSITION_KINDS or kind in THREAD_KINDS or kind == "vObjIndex":
            if kind in THREAD_KINDS and self.program.kind != "cs":
                raise self.error(f"{kind} is for compute shaders", made, operand)
            if kind in POSITION_KINDS and self.program.kind != "ps":
                raise self.error(f"{kind} is for pixel shaders", made, operand)

    def calls(self) -> None:
        """Each call has its function, none calls itself, and the depth is what the hardware's stack holds."""
        depth: dict[int, int] = {}

        def walk(body: tuple[Instruction, ...], above: tuple[int, ...]) -> int:
            deepest = 0
            for made in body:
                if not made.mnemonic.startswith("call"):
                    continue
                number = made.values[0]
                function = self.program.function(number)
                if function is None:
                    raise self.error(f"function {number} is not defined", made)
                if number in above:
                    raise self.error(f"function {number} calls itself", made, hint="IL has no recursion; write a loop")
                if number not in depth:
                    depth[number] = 1 + walk(function.body, (*above, number))
                deepest = max(deepest, depth[number])
            return deepest

        for function in self.program.functions:
            walk(function.body, (function.number,))
        if walk(self.program.body, ()) > MAX_CALL_DEPTH:
            raise self.error(f"calls nest deeper than {MAX_CALL_DEPTH}", self.program.body[0])


def _share(made: Instruction) -> int:
    """The number of the data share that an instruction means."""
    return made.number("id") or made.number("resource")

"""Input: a `Program` of ATI IL. Output: OpenCL C that does the same, and what its kernel takes.

Registers are four untyped lanes in IL and ``uint4`` in OpenCL C. Those of the main program alone are its variables, the
others fields of one structure that every function gets: the compiler takes it apart again, as nothing in it is indexed,
in time that grows with the square of its fields. Arrays lie beside it. An operation's meaning is its row of
``operations.txt``; only memory and control flow have methods here. Textures are plain buffers with their size beside
them (width, height, lanes of an element).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from headwater.errors import SourceError, Span
from headwater.il import quads
from headwater.il.checker import POSITION_KINDS, RELATIONS, THREAD_KINDS, Facts, Uav, check
from headwater.il.first_writes import written_first
from headwater.il.legacy import modern
from headwater.il.lockstep import first_conflict
from headwater.il.model import Index, Instruction, Operand, Program, Register
from headwater.il.opencl_text import each_lane, in_step, items_of, number_of, picked, pointer_type, preludes
from headwater.il.table import UNTRANSLATED, WHY_UNTRANSLATED, operations
from headwater.il.translation import KERNEL, NotInOpenClError, Parameter, StepNeeded, Translation

_ONE = 0x3F800000
_TYPES = {"f": "float4", "i": "int4", "u": "uint4", "b": "uint4"}
_SCALARS = {"F": "as_float", "S": "as_int", "U": ""}
_SCALES = {"x2": "2.0f", "x4": "4.0f", "x8": "8.0f", "d2": "0.5f", "d4": "0.25f", "d8": "0.125f"}
_FENCES = {"threads": "", "lds": "CLK_LOCAL_MEM_FENCE", "memory": "CLK_GLOBAL_MEM_FENCE"}
_INDENT = "    "
Method = Callable[[Instruction], list[str]]


def to_opencl(program: Program, filename: str = "<source>") -> Translation:
    """Translate a checked or unchecked program. SourceError for what does not fit together or is not supported."""
    check(program, filename)
    program = modern(program, filename)
    facts = check(program, filename)
    conflict = first_conflict(program, facts)
    pixels = program.kind == "ps"
    step = StepNeeded(conflict.buffer, conflict.earlier.line, conflict.later.line, pixels) if conflict else None
    return _Translator(program, filename, facts, step).translate()


def interface(program: Program, filename: str = "<source>") -> Translation:
    """What the program's kernel takes, without its source. SourceError for what does not fit together."""
    facts = check(program, filename)
    return Translation("", tuple(_parameters(facts)), facts.group)


def _parameters(facts: Facts) -> list[Parameter]:
    found = [
        Parameter(f"i{n}", "resource", facts.resources[n].dimensions if n in facts.resources else 1)
        for n in sorted((*facts.resources, *facts.srvs))
    ]
    found += [Parameter(f"cb{n}", "constant", 1, facts.constants[n]) for n in sorted(facts.constants)]
    found += [Parameter(f"uav{n}", "uav") for n in sorted(facts.uavs)]
    if facts.uses_global:
        found.append(Parameter("g", "global"))
    found += [Parameter(f"o{n}", "output", 2) for n in sorted(facts.outputs)]
    return found


class _Translator:
    def __init__(self, program: Program, filename: str, facts: Facts, step: StepNeeded | None) -> None:
        self.program = program
        self.filename = filename
        self.facts = facts
        self.step = step
        self.sites = quads.Sites(program, facts, filename)
        self.site = 0  # derivatives of this function so far
        self.depth = 1
        self.in_main = False
        self.shared: set[int] = set()  # registers of functions
        self.line = Instruction("end", line=1)  # the one that is being translated

    def error(self, message: str, at: Instruction, hint: str = "") -> SourceError:
        return SourceError(message, Span(self.filename, at.line, at.column), hint=hint)

    def translate(self) -> Translation:
        if self.program.kind not in ("ps", "cs"):
            first = Instruction("end", line=1)
            raise self.error(f"{self.program.kind} shaders cannot be run", first, "il_ps and il_cs can")
        for declaration in self.program.declarations:
            if operations()[declaration.mnemonic].meaning == UNTRANSLATED:
                why = WHY_UNTRANSLATED[declaration.mnemonic]
                raise self.error(f"{declaration.mnemonic} is not supported", declaration, why)
            if declaration.mnemonic in ("dcl_shared_temp", "init_shared_registers"):
                raise NotInOpenClError(
                    f"{declaration.mnemonic}: OpenCL C knows no registers that a SIMD engine's wavefronts share",
                    Span(self.filename, declaration.line, declaration.column),
                    hint="VLIW chips from the HD 4000 series on have them: hd4870, hd5870, …",
                )
            if declaration.mnemonic in ("dcl_gds", "dcl_struct_gds"):
                raise NotInOpenClError(
                    f"{declaration.mnemonic}: OpenCL C knows no data share of all work-groups",
                    Span(self.filename, declaration.line, declaration.column),
                    hint="VLIW chips from the HD 5000 series on have it: hd5870, …; or count in a uav",
                )
        bodies: list[str] = []
        for function in self.program.functions:
            bodies += self.function(f"il_func_{function.number}", function.body)
        self.in_main = True
        bodies += self.function("il_main", self.program.body)
        parameters = tuple(_parameters(self.facts))
        heads = [f"void il_func_{f.number}(Registers *s);" for f in self.program.functions]
        code = "\n".join([*self.registers(parameters), *heads, *bodies, *self.kernel(parameters)])
        code = preludes(code) + code + "\n"
        if self.step is not None:
            code = in_step(code, pixels=self.step.pixels)
        return Translation(code, parameters, self.facts.group, step=self.step)

    # -- what is around the code ---------------------------------------------------------------------------------------

    def registers(self, parameters: tuple[Parameter, ...]) -> list[str]:
        facts = self.facts
        lines = ["typedef struct {"]
        names = self.fields()
        for start in range(0, len(names), 12):
            lines.append(f"    uint4 {', '.join(names[start : start + 12])};")
        lines += [f"    uint4 *x{n};" for n in sorted(facts.arrays)]
        lines.append("    uint4 position, local_id, global_id, group_id;")
        if facts.discards:
            lines.append("    int discarded;")
        if self.sites.total:
            lines.append(quads.FIELDS)
        for parameter in parameters:
            if parameter.role != "output":
                lines += [f"    {pointer_type(parameter)}{parameter.name};", f"    int4 {parameter.name}_size;"]
        if facts.lds_dwords_per_thread:
            lines.append("    __local uint *lds;")
        lines += [f"    __local uint *lds{n};" for n in sorted(facts.lds_bytes)]
        return [*lines, "} Registers;", ""]

    def fields(self) -> list[str]:
        """The registers that are fields of the structure."""
        return [f"r{n}" for n in sorted(self.shared)] + [f"o{n}" for n in sorted(self.facts.outputs)]

    def kernel(self, parameters: tuple[Parameter, ...]) -> list[str]:
        facts = self.facts
        takes = [f"{pointer_type(p)}{p.name}, int4 {p.name}_size" for p in parameters]
        lines: list[str] = []
        if facts.group is not None:
            lines.append(f"__attribute__((reqd_work_group_size({', '.join(map(str, facts.group))})))")
        lines += [f"__kernel void {KERNEL}(", "    " + ",\n    ".join(takes) + ")", "{", "    Registers s;"]
        names = self.fields()
        start = [
            "    " + " = ".join(f"s.{name}" for name in names[first : first + 12]) + " = 0u;"
            for first in range(0, len(names), 12)
        ]
        start += [
            f"    for (int n = 0; n < {size}; n++) x{number}[n] = 0u;" for number, size in sorted(facts.arrays.items())
        ]
        start.append("    s.position = as_uint4((float4)((float)px + 0.5f, (float)py + 0.5f, 0.0f, 1.0f));")
        if facts.discards:
            start.append("    s.discarded = 0;")
        for number, size in sorted(facts.arrays.items()):
            lines += [f"    uint4 x{number}[{size}];", f"    s.x{number} = x{number};"]
        if self.sites.total:
            lines += [quads.KNOWN.format(4 * self.sites.total), "    s.known = known;"]
        threads = (facts.group[0] * facts.group[1] * facts.group[2]) if facts.group is not None else 1
        if facts.lds_dwords_per_thread:
            lines += [f"    __local uint lds[{facts.lds_dwords_per_thread * threads}];", "    s.lds = lds;"]
        for number, size in sorted(facts.lds_bytes.items()):
            lines += [f"    __local uint lds{number}[{-(-size // 4)}];", f"    s.lds{number} = lds{number};"]
        lines += [
            *(
                f"    s.{field} = (uint4)({', '.join(number_of(function, d) for d in range(3))}, 0u);"
                for field, function in (("local_id", "local_id"), ("global_id", "global_id"), ("group_id", "group_id"))
            ),
        ]
        for p in parameters:
            if p.role != "output":
                lines.append(f"    s.{p.name} = {p.name}; s.{p.name}_size = {p.name}_size;")
        if self.sites.total:
            lines += quads.kernel_lines(self.sites.total, start)
        own = "    int px = (int)get_global_id(0), py = (int)get_global_id(1);"
        lines += [own] if self.sites.total else [own, *start, "    il_main(&s);"]
        if facts.discards:
            lines += ["    if (s.discarded)", "        return;"]
        for n in sorted(facts.outputs):
            lines.append(f"    il_output(o{n}, o{n}_size, px, py, s.o{n});")
        return [*lines, "}"]

    def function(self, name: str, body: tuple[Instruction, ...]) -> list[str]:
        self.depth, self.site = 1, 0
        lines = [f"void {name}(Registers *s)", "{"]
        whole = written_first(body, lambda made: self.method(made) == self.computed) if self.in_main else ()
        temporaries = sorted(self.facts.temporaries - self.shared) if self.in_main else ()
        own = [f"r{n}" if n in whole else f"r{n} = 0u" for n in temporaries]
        lines += [f"    uint4 {', '.join(own[start : start + 12])};" for start in range(0, len(own), 12)]
        for made in body:
            lines += self.statement(made)
        return [*lines, "}", ""]

    # -- statements ----------------------------------------------------------------------------------------------------

    def statement(self, made: Instruction) -> list[str]:
        self.line = made
        operation = operations()[made.mnemonic]
        if operation.meaning == UNTRANSLATED:
            raise self.error(f"{made.mnemonic} is not supported", made, WHY_UNTRANSLATED[made.mnemonic])
        name = made.mnemonic
        if name in ("endif", "endloop", "endswitch"):
            self.depth -= 1
            return [_INDENT * self.depth + "}"]
        if name == "else":
            return [_INDENT * (self.depth - 1) + "} else {"]
        depth = self.depth  # of this line: a method that opens a block makes it deeper for the next ones
        lines = self.method(made)(made)
        if self.sites.total and quads.writes_memory(made):
            lines = ["if (s->wanted < 0) {", *(_INDENT + line for line in lines), "}"]
        return [_INDENT * depth + line for line in lines]

    def method(self, made: Instruction) -> Method:
        """What translates an instruction."""
        return getattr(self, f"_{made.mnemonic}", None) or self._family(made.mnemonic) or self.computed

    def _family(self, name: str) -> Method | None:
        for prefix, method in (
            ("if", self._if_family),
            ("break", self._break_family),
            ("continue", self._continue_family),
            ("call", self._call_family),
            ("ret", self._ret_family),
            ("discard", self._discard_family),
        ):
            if name == prefix or name.startswith(f"{prefix}_") or name in (f"{prefix}c", f"{prefix}nz"):
                return method
        if re.match(r"(uav|lds)_(read_)?\w+$", name) and operations()[name].meaning.startswith("atomic_"):
            return self._atomic
        return None

    def computed(self, made: Instruction) -> list[str]:
        operation = operations()[made.mnemonic]
        sources = made.operands[1:]
        names = {}
        result = operation.result
        for letter, name, operand in zip(operation.sources, "abce", sources, strict=False):
            names[name] = self.source(operand, letter, made)
        meaning = operation.meaning
        if made.modifier("ieee") is not None and made.mnemonic != "mul":
            meaning = operations()[f"{made.mnemonic}_ieee"].meaning
        elif made.modifier("ieee") is not None:
            meaning = "a * b"
        return self.assign(made, self.finish(made, self.fill(meaning, names), result))

    def fill(self, meaning: str, names: dict[str, str]) -> str:
        """The table's expression with its operands; one used several times is still a register or a literal."""
        return re.sub(r"(?<![\w.])([abce])(?![\w(])", lambda m: names.get(m[1], m[1]), meaning)

    def finish(self, made: Instruction, value: str, result: str) -> str:
        """A value of a result's type as a uint4, with what the instruction does to results of float."""
        scales = [_SCALES[m.name] for m in made.modifiers if m.name in _SCALES]
        if scales or made.modifier("sat") is not None:
            if result == "b":
                value, result = f"as_float4({value})", "f"
            if result in "fF":
                value = f"({value})" + "".join(f" * {scale}" for scale in scales)
                if made.modifier("sat") is not None:
                    value = f"fmin(fmax({value}, 0.0f), 1.0f)"
        return {
            "f": f"as_uint4({value})",
            "i": f"as_uint4({value})",
            "F": f"(uint4)(as_uint({value}))",
            "S": f"(uint4)({value})",
            "D": f"il_pair({value})",
        }.get(result, value)

    def assign(self, made: Instruction, value: str, *, to: Operand | None = None) -> list[str]:
        """Statements that write a uint4 to a destination's lanes."""
        target = to if to is not None else made.operands[0]
        lanes = target.lanes or "xyzw"
        written = "".join(lane for lane in lanes if lane in "xyzw")
        constants = [(lane, digit) for lane, digit in zip("xyzw", lanes, strict=True) if digit in "01"]
        register = target.register
        if register.kind == "g":
            return self.global_store(register, value, written, constants)
        place = self.place(register, made)
        lines = []
        if written:
            whole = written == "xyzw"
            lines.append(f"{place} = {value};" if whole else f"{place}.{written} = {picked(value, written)};")
        lines += [f"{place}.{lane} = {'0x3F800000u' if digit == '1' else '0u'};" for lane, digit in constants]
        return lines

    def global_store(self, register: Register, value: str, written: str, constants: list[tuple[str, str]]) -> list[str]:
        assert register.index is not None
        lines = ["{", f"    uint at = {self.index(register.index)};", f"    uint4 value = {value};"]
        stores = [f"s->g[at].{lane} = value.{lane};" for lane in written]
        if written == "xyzw":
            stores = ["s->g[at] = value;"]
        stores += [f"s->g[at].{lane} = {'0x3F800000u' if digit == '1' else '0u'};" for lane, digit in constants]
        lines += ["    if (at < (uint)s->g_size.x) {", *(f"        {store}" for store in stores), "    }", "}"]
        return lines

    # -- operands ------------------------------------------------------------------------------------------------------

    def place(self, register: Register, made: Instruction) -> str:
        """A register that can be written, as an lvalue."""
        if register.kind == "x":
            assert register.index is not None
            return f"s->x{register.number}[{self.array_index(register)}]"
        if register.kind == "r":
            return self.temporary(register.number or 0)
        if register.kind == "o":
            return f"s->o{register.number}"
        raise self.error(f"writing {register.kind} is not supported", made)

    def temporary(self, number: int) -> str:
        """The register of that number, as an lvalue."""
        if not self.in_main:
            self.shared.add(number)
        return f"s->r{number}" if number in self.shared else f"r{number}"

    def array_index(self, register: Register) -> str:
        assert register.index is not None
        if register.index.register is None:
            return str(register.index.offset)
        return f"min({self.index(register.index)}, {self.facts.arrays[register.number or 0] - 1}u)"

    def index(self, index: Index) -> str:
        if index.register is None:
            return f"{index.offset}u"
        base = f"{self.bits(index.register, index.lane)}"
        return f"{base} + {index.offset}u" if index.offset else base

    def bits(self, register: Register, lanes: str) -> str:
        """Lanes of a register as uint or uint4."""
        if register.kind == "l":
            words = self.facts.literals[register.number or 0]
            picked = [{"0": 0, "1": _ONE}[c] if c in "01" else words["xyzw".index(c)] for c in lanes]
            if len(picked) == 1:
                return f"0x{picked[0]:X}u"
            if len(set(picked)) == 1:
                return f"(uint4)(0x{picked[0]:X}u)"
            return f"(uint4)({', '.join(f'0x{word:X}u' for word in picked)})"
        base = self.value(register)
        if lanes == "xyzw":
            return base
        if len(lanes) == 1 and lanes in "xyzw":
            return f"{base}.{lanes}"
        if not set(lanes) & set("01"):
            return f"{base}.{lanes}"
        parts = ["0u" if c == "0" else f"0x{_ONE:X}u" if c == "1" else f"{base}.{c}" for c in lanes]
        if len(parts) == 1:
            return parts[0]
        return f"(uint4)({parts[0]})" if len(set(parts)) == 1 else f"(uint4)({', '.join(parts)})"

    def value(self, register: Register) -> str:
        kind = register.kind
        if kind == "r":
            return self.temporary(register.number or 0)
        if kind == "o":
            return f"s->o{register.number}"
        if kind == "x":
            return f"s->x{register.number}[{self.array_index(register)}]"
        if kind in ("cb", "g"):
            assert register.index is not None
            name = "g" if kind == "g" else f"cb{register.number}"
            function = "il_shared_element" if kind == "g" and self.step is not None else "il_element"
            return f"{function}(s->{name}, s->{name}_size, {self.index(register.index)})"
        if kind in POSITION_KINDS:
            return "s->position"
        if kind in THREAD_KINDS:
            which = THREAD_KINDS[kind]
            if which.endswith("_flat"):
                return f"(uint4)(il_flat_{which.removesuffix('_flat')}())"
            return f"s->{which}_id"
        if kind == "vObjIndex":
            if self.sites.total:  # of any pixel of the quad
                x, y = (f"((int)as_float(s->position.{'xy'[n]}) - (int)get_global_offset({n}))" for n in range(2))
            else:
                x, y = (f"(int)(get_global_id({n}) - get_global_offset({n}))" for n in range(2))
            return f"(uint4)(as_uint((float)({y} * (int)get_global_size(0) + {x})))"
        raise self.error(f"reading {kind} is not supported", self.line)

    def source(self, operand: Operand, letter: str, made: Instruction) -> str:
        """A source as a value of the type that an operation wants."""
        scalar = letter in _SCALARS
        swizzle = operand.lanes or "xyzw"
        lanes = swizzle[0] if scalar else swizzle
        text = self.bits(operand.register, lanes)
        integer = letter in "iuSU"
        for modifier in operand.modifiers:
            text = self.modified(text, modifier.name, modifier.arguments, lanes, integer, made)
        if letter == "D":
            return f"il_double({picked(text, 'xy')})"
        if scalar:
            return f"{_SCALARS[letter]}({text})" if _SCALARS[letter] else text
        kind = _TYPES[letter]
        return text if kind == "uint4" else f"as_{kind}({text})"

    def modified(
        self, text: str, name: str, arguments: tuple[str, ...], lanes: str, integer: bool, made: Instruction
    ) -> str:
        """A source's bits after one of its modifiers."""
        count = len(lanes)
        uint, real = ("uint", "float") if count == 1 else ("uint4", "float4")
        if name == "neg":
            chosen = arguments[0] if arguments else "xyzw"
            marks = [lane in chosen for lane in "xyzw"[:count]]  # places after the swizzle, not the register's lanes
            if not any(marks):
                return text
            if integer:
                if all(marks):
                    return f"(0u - {text})"
                return f"(({text} ^ {each_lane(marks, 0xFFFFFFFF)}) + {each_lane(marks, 1)})"
            return f"({text} ^ {each_lane(marks, 0x80000000)})"
        if name == "abs":
            return f"({text} & 0x7FFFFFFFu)"
        formulas = {
            "invert": "1.0f - {0}",
            "bias": "{0} - 0.5f",
            "x2": "{0} * 2.0f",
            "bx2": "({0} - 0.5f) * 2.0f",
            "sat": "fmin(fmax({0}, 0.0f), 1.0f)",
            "clamp": "fmin(fmax({0}, 0.0f), 1.0f)",
            "sign": "sign({0}) + 0.0f",  # 0 of -0, too
        }
        if name not in formulas:
            raise self.error(f"the source modifier _{name} is not supported", made)
        return f"as_{uint}({formulas[name].format(f'as_{real}({text})')})"

    # -- operations that no expression tells ---------------------------------------------------------------------------

    def _transpose(self, made: Instruction) -> list[str]:
        target, source = (operand.register for operand in made.operands)
        first, origin = target.number or 0, source.number or 0
        rows = [self.temporary(origin + k) for k in range(4)]
        lines = ["{", "    uint4 column[4];"]
        for k, lane in enumerate("xyzw"):
            lines.append(f"    column[{k}] = (uint4)({', '.join(f'{row}.{lane}' for row in rows)});")
        return [*lines, *(f"    {self.temporary(first + k)} = column[{k}];" for k in range(4)), "}"]

    def _det(self, made: Instruction) -> list[str]:
        first = made.operands[1].register.number or 0
        rows = ", ".join(f"as_float4({self.temporary(first + k)})" for k in range(4))
        return self.assign(made, self.finish(made, f"il_determinant({rows})", "F"))

    def _dsx(self, made: Instruction) -> list[str]:
        source = self.source(made.operands[1], "f", made)
        fine = made.modifier("fine") is not None
        before, value = quads.derivative(made.mnemonic, fine, self.site, source)
        self.site += 1
        return [*before, *self.assign(made, self.finish(made, value, "f"))]

    _dsy = _fwidth = _dsx

    def _div(self, made: Instruction) -> list[str]:
        a, b = (self.source(operand, "f", made) for operand in made.operands[1:])
        return self.assign(made, self.finish(made, f"il_div_{_zero_rule(made)}({a}, {b})", "f"))

    def _rcp(self, made: Instruction) -> list[str]:
        a = self.source(made.operands[1], "f", made)
        return self.assign(made, self.finish(made, f"il_{made.mnemonic}_{_zero_rule(made)}({a})", "f"))

    _rsq = _rcp

    def _ddiv(self, made: Instruction) -> list[str]:
        a, b = (self.source(operand, "D", made) for operand in made.operands[1:])
        return self.assign(made, self.finish(made, f"il_ddiv_{_zero_rule(made)}({a}, {b})", "D"))

    def _drcp(self, made: Instruction) -> list[str]:
        a = self.source(made.operands[1], "D", made)
        return self.assign(made, self.finish(made, f"il_ddiv_{_zero_rule(made)}(1.0, {a})", "D"))

    def _drsq(self, made: Instruction) -> list[str]:
        a = self.source(made.operands[1], "D", made)
        return self.assign(made, self.finish(made, f"il_ddiv_{_zero_rule(made)}(1.0, sqrt({a}))", "D"))

    def _nrm(self, made: Instruction) -> list[str]:
        a = self.source(made.operands[1], "f", made)
        lanes = 4 if made.modifier("nrm4") is not None else 3
        value = f"({a}) * il_rsq_{_zero_rule(made)}((float4)(il_square{lanes}({a})))"
        return self.assign(made, self.finish(made, value, "f"))

    def _cmp(self, made: Instruction) -> list[str]:
        value = made.modifier("cmpval")
        a, b, c = (self.source(operand, "f", made) for operand in made.operands[1:])
        against = f"{value.arguments[0]}f" if value is not None else "0.0f"
        return self.assign(made, self.finish(made, f"select({c}, {b}, {a} {_relation(made)} {against})", "f"))

    def _set(self, made: Instruction) -> list[str]:
        a, b = (self.source(operand, "f", made) for operand in made.operands[1:])
        chosen = f"select((float4)(0.0f), (float4)(1.0f), {a} {_relation(made)} {b})"
        return self.assign(made, self.finish(made, chosen, "f"))

    def _sample(self, made: Instruction) -> list[str]:
        number = made.number("resource")
        resource = self.facts.resources[number]
        at = self.place_in(made)
        function = "il_sample" if resource.unnormalised else "il_sample_normalised"
        value = f"{function}(s->i{number}, s->i{number}_size, {at})"
        return self.assign(made, self.finish(made, value, "b"))

    def _fetch4(self, made: Instruction) -> list[str]:
        number = made.number("resource")
        resource = self.facts.resources[number]
        if resource.dimensions != 2:
            raise self.error(f"fetch4 wants a resource of two dimensions, {number} has one", made)
        scale = "" if resource.unnormalised else f" * convert_float2(s->i{number}_size.xy)"
        value = f"il_fetch4(s->i{number}, s->i{number}_size, ({self.place_in(made)}){scale})"
        return self.assign(made, self.finish(made, value, "b"))

    def place_in(self, made: Instruction) -> str:
        """Where an instruction samples its texture, a float2."""
        number = made.number("resource")
        resource = self.facts.resources[number]
        at = f"({self.source(made.operands[1], 'f', made)}).xy"
        offset = _offset(made)
        if resource.dimensions == 1:
            at = f"(float2)({at}.x, 0.0f)"
        if offset is not None:
            x, y = offset if resource.dimensions == 2 else (offset[0], 0.0)
            scale = "" if resource.unnormalised else f" / convert_float2(s->i{number}_size.xy)"
            at = f"{at} + (float2)({x!r}f, {y!r}f){scale}"
        return at

    # One level is all that a resource has: what chooses a level chooses it.
    _sample_l = _sample_b = _sample_g = _sample

    def _load(self, made: Instruction) -> list[str]:
        number = made.number("resource")
        x, y = (int(offset) for offset in _offset(made) or (0, 0))
        at = f"as_uint4({self.source(made.operands[1], 'i', made)} + (int4)({x}, {y}, 0, 0))"
        if self.facts.resources[number].dimensions == 1:
            at = f"(uint4)({at}.x, 0u, 0u, 0u)"
        value = f"il_typed_load(s->i{number}, s->i{number}_size, {at})"
        return self.assign(made, self.finish(made, value, "b"))

    def _resinfo(self, made: Instruction) -> list[str]:
        size = f"s->i{made.number('resource')}_size"
        if made.modifier("uint") is not None:
            return self.assign(made, f"(uint4)(as_uint2({size}.xy), 1u, 1u)")
        return self.assign(made, f"as_uint4((float4)(convert_float2({size}.xy), 1.0f, 1.0f))")

    def _lds_write_vec(self, made: Instruction) -> list[str]:
        per_thread = self.per_thread(made)
        offset = made.number("lOffset")
        value = self.source(made.operands[1], "b", made)
        lanes = made.operands[0].lanes or "xyzw"
        base = f"il_flat_local() * {per_thread}u + {offset}u"
        stores = [f"    s->lds[at + {k}u] = value.{lane};" for k, lane in enumerate(lanes) if lane in "xyzw"]
        return ["{", f"    uint at = {base};", f"    uint4 value = {value};", *stores, "}"]

    def _lds_read_vec(self, made: Instruction) -> list[str]:
        per_thread = self.per_thread(made)
        at = self.source(made.operands[1], "u", made)
        total = per_thread * items_of(self.facts.group)
        if made.modifier("neighborExch") is None:
            value = f"il_lds_vec(s->lds, {total}u, ({at}).x * {per_thread}u + ({at}).y, 1u)"
        else:  # thread t gets dword t % 4 of each of its four neighbours
            first = f"(({at}).x & ~3u) * {per_thread}u + ({at}).y + (({at}).x & 3u)"
            value = f"il_lds_vec(s->lds, {total}u, {first}, {per_thread}u)"
        return self.assign(made, value)

    def per_thread(self, made: Instruction) -> int:
        if not self.facts.lds_dwords_per_thread:
            raise self.error(f"{made.mnemonic} needs dcl_lds_size_per_thread", made)
        return self.facts.lds_dwords_per_thread

    def lds(self, made: Instruction) -> tuple[str, int]:
        """The LDS array that an instruction means and its dwords."""
        number = made.number("id") or made.number("resource")
        if number not in self.facts.lds_bytes:
            raise self.error(f"LDS {number} is not declared", made, f"dcl_lds_id({number}) bytes")
        return f"s->lds{number}", -(-self.facts.lds_bytes[number] // 4)

    def lds_address(self, made: Instruction, operand: Operand) -> str:
        """The byte that an address means: itself, or element and byte within it where the array has a structure."""
        stride = self.facts.lds_strides.get(made.number("id") or made.number("resource"))
        if stride is None:
            return self.source(operand, "U", made)
        at = self.source(operand, "u", made)
        return f"(({at}).x * {stride}u + ({at}).y)"

    def lds_vector_address(self, made: Instruction, operands: tuple[Operand, ...]) -> str:
        """The same of operations that have address and offset in two operands."""
        stride = self.facts.lds_strides.get(made.number("id"), 1)
        at, offset = (self.source(operand, "U", made) for operand in operands)
        return f"({at} * {stride}u + {offset})"

    def _lds_load(self, made: Instruction) -> list[str]:
        array, dwords = self.lds(made)
        at = self.lds_address(made, made.operands[1])
        return self.assign(made, f"(uint4)(il_lds_vec({array}, {dwords}u, {at} >> 2, 0u).x)")

    def _lds_load_vec(self, made: Instruction) -> list[str]:
        array, dwords = self.lds(made)
        at = self.lds_vector_address(made, made.operands[1:])
        return self.assign(made, f"il_lds_vec({array}, {dwords}u, {at} >> 2, 1u)")

    def _lds_store(self, made: Instruction) -> list[str]:
        array, dwords = self.lds(made)
        at, value = self.lds_address(made, made.operands[0]), self.source(made.operands[1], "U", made)
        return ["{", f"    uint at = {at} >> 2;", f"    if (at < {dwords}u)", f"        {array}[at] = {value};", "}"]

    def _lds_store_vec(self, made: Instruction) -> list[str]:
        array, dwords = self.lds(made)
        at = self.lds_vector_address(made, made.operands[1:3])
        value = self.source(made.operands[3], "b", made)
        return self.raw_stores(made, array, f"{dwords}u", f"{at} >> 2", value)

    def raw_stores(self, made: Instruction, array: str, limit: str, at: str, value: str) -> list[str]:
        lanes = made.operands[0].lanes or "xyzw"
        lines = ["{", f"    uint at = {at};", f"    uint4 value = {value};"]
        for k, lane in enumerate(lanes):
            if lane in "xyzw":
                lines += [f"    if (at + {k}u < {limit})", f"        {array}[at + {k}u] = value.{lane};"]
        return [*lines, "}"]

    def uav(self, made: Instruction, *kinds: str) -> tuple[str, str]:
        """A view's pointer and its number of dwords, as texts."""
        number = made.number("id")
        found = self.facts.uavs[number]
        if found.kind not in kinds:
            raise self.error(f"uav {number} is declared {found.kind}, {made.mnemonic} wants {kinds[0]}", made)
        return f"s->uav{number}", f"((uint)s->uav{number}_size.w >> 2)"

    def _uav_raw_load(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "raw")
        at = self.source(made.operands[1], "U", made)
        return self.assign(made, f"il_uav_vec({array}, {limit}, {at} >> 2)")

    def _uav_raw_store(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "raw")
        at = self.source(made.operands[1], "U", made)
        return self.raw_stores(made, array, limit, f"{at} >> 2", self.source(made.operands[2], "b", made))

    def struct_address(self, view: Uav, operand: Operand, made: Instruction) -> str:
        """The byte of a structured view that an operand means by element and byte within it."""
        at = self.source(operand, "u", made)
        return f"({at}).x * {view.stride_bytes}u + ({at}).y"

    def _srv_raw_load(self, made: Instruction) -> list[str]:
        view = self.facts.srvs[made.number("id")]
        at = self.source(made.operands[1], "U", made)
        if view.kind == "struct":
            at = f"({self.struct_address(view, made.operands[1], made)})"
        name = f"s->i{view.number}"
        return self.assign(made, f"il_uav_vec({name}, (uint){name}_size.w >> 2, {at} >> 2)")

    _srv_struct_load = _srv_raw_load

    def _uav_struct_load(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "struct")
        at = self.struct_address(self.facts.uavs[made.number("id")], made.operands[1], made)
        return self.assign(made, f"il_uav_vec({array}, {limit}, ({at}) >> 2)")

    def _uav_struct_store(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "struct")
        value = self.source(made.operands[2], "b", made)
        at = self.struct_address(self.facts.uavs[made.number("id")], made.operands[1], made)
        return self.raw_stores(made, array, limit, f"({at}) >> 2", value)

    def _uav_load(self, made: Instruction) -> list[str]:
        name = f"s->uav{made.number('id')}"
        self.uav(made, "typed")
        at = self.source(made.operands[1], "u", made)
        return self.assign(made, f"il_typed_load({name}, {name}_size, {at})")

    def _uav_store(self, made: Instruction) -> list[str]:
        name = f"s->uav{made.number('id')}"
        self.uav(made, "typed")
        at, value = self.source(made.operands[0], "u", made), self.source(made.operands[1], "b", made)
        return [f"il_typed_store({name}, {name}_size, {at}, {value});"]

    def _uav_arena_load(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "arena", "raw")
        at = self.source(made.operands[1], "U", made)
        return self.assign(made, f"(uint4)(il_arena_load({array}, {limit}, {at}, {self.arena_bits(made)}u))")

    def _uav_arena_store(self, made: Instruction) -> list[str]:
        array, limit = self.uav(made, "arena", "raw")
        at, value = (self.source(operand, "U", made) for operand in made.operands)
        return [f"il_arena_store({array}, {limit}, {at}, {value}, {self.arena_bits(made)}u);"]

    def arena_bits(self, made: Instruction) -> int:
        size = made.modifier("size")
        word = size.arguments[0] if size is not None and size.arguments else "dword"
        if word not in ("byte", "short", "dword"):
            raise self.error(f"_size({word}): there is no such size", made, "byte, short or dword")
        return {"byte": 8, "short": 16, "dword": 32}[word]

    def _atomic(self, made: Instruction) -> list[str]:
        operation = operations()[made.mnemonic]
        sources = made.operands[1:] if operation.has_result else made.operands
        at, *values = (self.source(operand, "U", made) for operand in sources)
        if made.mnemonic.startswith("uav"):
            array, limit = self.uav(made, "raw", "typed", "arena", "struct")
            letter, view = "g", self.facts.uavs[made.number("id")]
            if view.kind == "struct":
                at = f"({self.struct_address(view, sources[0], made)})"
            elif view.kind == "typed":  # elements, of one dword
                if view.planar:
                    raise self.error(f"{made.mnemonic}: a typed view of two dimensions has no atomic operations", made)
                at = f"min({at}, 0x3fffffffu) * 4u"
        else:
            array, dwords = self.lds(made)
            at = self.lds_address(made, sources[0])
            limit, letter = f"{dwords}u", "l"
        call = f"il_{letter}_{operation.meaning}(&{array}[at], {', '.join(values)})"
        lines = ["{", f"    uint at = {at} >> 2, old = 0u;", f"    if (at < {limit})", f"        old = {call};"]
        if operation.has_result:
            lines += [f"    {line}" for line in self.assign(made, "(uint4)(old)")]
        return [*lines, "}"]

    def _fence(self, made: Instruction) -> list[str]:
        names = [m.name for m in made.modifiers]
        unknown = [name for name in names if name in ("sr", "gds")]
        if unknown:
            raise self.error(f"fence_{unknown[0]} is not supported", made)
        flags = [_FENCES[name] for name in names if _FENCES.get(name)]
        if any(name.startswith("mem_") for name in names):
            flags.append("CLK_GLOBAL_MEM_FENCE")
        text = " | ".join(dict.fromkeys(flags)) or "CLK_LOCAL_MEM_FENCE"
        return [f"{'barrier' if 'threads' in names else 'mem_fence'}({text});"]

    # -- control flow --------------------------------------------------------------------------------------------------

    def condition(self, made: Instruction) -> str:
        """What a conditional instruction asks for, as an OpenCL C condition."""
        name = made.mnemonic
        if name.endswith("_logicalnz"):
            return f"{self.source(made.operands[0], 'U', made)} != 0u"
        if name.endswith("_logicalz"):
            return f"{self.source(made.operands[0], 'U', made)} == 0u"
        if name == "ifnz":
            return f"{self.source(made.operands[0], 'F', made)} != 0.0f"
        a, b = (self.source(operand, "F", made) for operand in made.operands[:2])
        return f"{a} {_relation(made)} {b}"

    def _if_family(self, made: Instruction) -> list[str]:
        self.depth += 1
        return [f"if ({self.condition(made)}) {{"]

    def _whileloop(self, made: Instruction) -> list[str]:
        self.depth += 1
        return ["for (;;) {"]

    def _switch(self, made: Instruction) -> list[str]:
        self.depth += 1
        return [f"switch ({self.source(made.operands[0], 'S', made)}) {{"]

    def _case(self, made: Instruction) -> list[str]:
        return [f"case {_signed(made.values[0])}:"]

    def _default(self, made: Instruction) -> list[str]:
        return ["default:"]

    def jump(self, made: Instruction, what: str) -> list[str]:
        if operations()[made.mnemonic].sources[:1] == ("U",) or made.mnemonic in ("breakc", "continuec"):
            return [f"if ({self.condition(made)})", f"    {what}"]
        return [what]

    def _break_family(self, made: Instruction) -> list[str]:
        return self.jump(made, "break;")

    def _continue_family(self, made: Instruction) -> list[str]:
        return self.jump(made, "continue;")

    def _ret_family(self, made: Instruction) -> list[str]:
        return self.jump(made, "return;")

    def _call_family(self, made: Instruction) -> list[str]:
        call, count = f"il_func_{made.values[0]}(s);", self.sites.within(made)
        if not count:
            return self.jump(made, call)
        first = self.site
        self.site += count
        return self.jump(made, f"{{ s->site += {first}; {call} s->site -= {first}; if (s->stopped) return; }}")

    def _discard_family(self, made: Instruction) -> list[str]:
        return self.jump(made, "s->discarded = 1;")

    def _kill(self, made: Instruction) -> list[str]:
        return [f"if (any({self.source(made.operands[0], 'f', made)} < 0.0f))", "    s->discarded = 1;"]


def _relation(made: Instruction) -> str:
    modifier = made.modifier("relop")
    return RELATIONS[modifier.arguments[0]] if modifier is not None else "!="


def _zero_rule(made: Instruction) -> str:
    modifier = made.modifier("zeroop")
    return modifier.arguments[0] if modifier is not None else "infinity"


def _offset(made: Instruction) -> tuple[float, float] | None:
    modifier = made.modifier("aoffimmi")
    if modifier is None:
        return None
    numbers = [float(argument) for argument in modifier.arguments[:2]]
    x, y = (*numbers, 0.0, 0.0)[:2]
    return x, y


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value

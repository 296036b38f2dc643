"""Input: the front end's r600 IR. Output: the IR with the device library, optimised, with only instructions that ATI IL
has.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import llvmlite.binding as llvm

from headwater.errors import InternalError
from headwater.llvm.ir import Body, Inst, Module, Value
from headwater.llvm.modules import limit_passes, parse
from headwater.llvm.passes.inlining import inlined
from headwater.llvm.text import (
    FINDING,
    aligned_to_words,
    alignment,
    arguments_of,
    callee_of,
    has_findings,
    has_narrow_arrays,
    has_wide_integers,
    without_flags,
)
from headwater.llvm.types import Type
from headwater.opencl.checked import settle
from headwater.opencl.group_sizes import with_required_sizes
from headwater.opencl.linking import link_library, refuse_recursion
from headwater.opencl.numbered_calls import PREFIX, number_calls
from headwater.opencl.platforms import VLIW_TRIPLE, Platform, vliw, with_intrinsics

_REMAINDERS = '"uniform-work-group-size"="false"'
"""What clang says of kernels whose groups need not divide the global size, from OpenCL 2.0 on."""


@functools.cache
def _machine() -> llvm.TargetMachine:
    """LLVM's r600 target: the passes learn from it that lanes may diverge, and what unrolling may gain."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(VLIW_TRIPLE).create_target_machine(cpu="cypress", opt=3)


@dataclass(frozen=True)
class LoweringFeatures:
    """What decides how instructions are lowered.

    ``work_groups``: see `headwater.opencl.platforms.vliw`. ``fused``: the chip has a fused multiply-add of float,
    ``fused_doubles``: of double, ``doubles``: arithmetic in double precision, ``bit_counts``: instructions that count
    and reverse bits. ``exact``: quotients and roots of float are to be rounded to the nearest.
    """

    work_groups: bool
    fused: bool
    fused_doubles: bool
    doubles: bool
    bit_counts: bool
    exact: bool


def compile(
    ir: str, kernels: Iterable[str], filename: str, abilities: LoweringFeatures, strength_reduction: bool = True
) -> str:
    """Link the device library in, inline everything into the kernels, optimise, and lower what IL does not have.

    Raises SourceError for recursion and calls of undefined functions.
    """
    text = _compiled(ir, kernels, filename, abilities, strength_reduction)
    if not has_wide_integers(text):
        return text
    # LLVM computes what a sum of cubes is after a loop in integers of more bits; the loop itself has none of them.
    llvm.set_option("", "-replexitval=never")
    try:
        return _compiled(ir, kernels, filename, abilities, strength_reduction)
    finally:
        llvm.set_option("", "-replexitval=cheap")


def _compiled(
    ir: str, kernels: Iterable[str], filename: str, abilities: LoweringFeatures, strength_reduction: bool
) -> str:
    limit_passes(ir)
    platform = vliw(work_groups=abilities.work_groups, remainders=_REMAINDERS in ir)
    wanted = set(kernels)
    # The program's own fma() is rounded once; the library's functions do with less.
    program = Module(ir)
    _prepare(program, exact_groups=_REMAINDERS not in ir)
    _Lowering(0, abilities, exact=True).fused_only(program)
    module = parse(str(program))
    link_library(module, filename, platform, str)
    builder = pass_builder()
    _inline(module, builder, wanted)
    refuse_recursion([f.name for f in module.functions if not f.is_declaration and f.name not in wanted], filename)
    if any(name.startswith(PREFIX) for name in program.declares):
        module = _numbered(module, builder)
    # Neighbouring stores of one value become a memset, which `_Lowering` makes stores of words; vectors stay whole.
    llvm.set_option("", f"-enable-memcpyopt-without-libcalls={int(has_narrow_arrays(ir))}")
    try:
        builder.getModulePassManager().run(module, builder)
    finally:
        llvm.set_option("", "-enable-memcpyopt-without-libcalls=0")
    if FINDING in ir and has_findings(str(module)):
        settle(module, builder)
    lowered = _lowered(module, filename, platform, abilities, wanted, first=1)
    _finish(lowered, builder, strength_reduction=strength_reduction)
    # Reducing the strength of an index may have made a quotient of 64 bits.
    module = _lowered(lowered, filename, platform, abilities, wanted, first=1 + _MOST_ROUNDS)
    if module is not lowered:
        _finish(module, builder, strength_reduction=False)
    return str(module)


def _finish(module: llvm.ModuleRef, builder: llvm.PassBuilder, *, strength_reduction: bool) -> None:
    """Loops and exits as `headwater.il.from_llvm` wants them."""
    last = llvm.create_new_module_pass_manager()
    last.add_lower_switch_pass()
    last.add_unify_function_exit_nodes_pass()
    last.add_loop_simplify_pass()
    if strength_reduction:
        last.add_loop_strength_reduce_pass()
    last.add_dead_code_elimination_pass()
    last.add_global_dead_code_eliminate_pass()
    last.run(module, builder)


def pass_builder() -> llvm.PassBuilder:
    """The passes of VLIW chips, as far as they have any."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    return llvm.create_pass_builder(_machine(), options)


def _inline(module: llvm.ModuleRef, builder: llvm.PassBuilder, wanted: set[str]) -> None:
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in wanted else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)


def _numbered(module: llvm.ModuleRef, builder: llvm.PassBuilder) -> llvm.ModuleRef:
    """The module with the numbers of textures and their like in the names of functions, before calls are merged."""
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    program = Module(str(module))
    number_calls(program)
    return parse(str(program))


def _prepare(module: Module, *, exact_groups: bool) -> None:
    """Everything is to be inlined, and built-ins that are instructions are LLVM's intrinsics."""
    inlined(module)
    for name, group in module.attribute_groups.items():
        # OpenCL C says "convergent" of all functions, which holds LLVM from finding two calls to be the same. No lane
        # sees another.
        if "memory(none)" in group or "memory(read)" in group:
            module.attribute_groups[name] = without_flags(group, ("convergent",))
    if exact_groups:
        with_required_sizes(module)
    with_intrinsics(module, exponentials=False)


# ---------------------------------------------------------------------------------------------- lowering

_QUOTIENTS = ("udiv", "urem", "sdiv", "srem")
_TO_INTEGER = ("fptoui", "fptosi")
_FROM_INTEGER = ("uitofp", "sitofp")
_LOWERED = frozenset((*_QUOTIENTS, *_TO_INTEGER, *_FROM_INTEGER, "fdiv", "frem", "fptrunc", "call"))
_OF_DOUBLE = ("trunc", "floor", "ceil", "rint", "round", "maxnum", "minnum")
_SAME = {"roundeven": "rint", "nearbyint": "rint", "maximumnum": "maxnum", "minimumnum": "minnum"}
_BITS = {"ctpop": "popcount", "ctlz": "clz", "cttz": "ctz", "bitreverse": "reverse"}
_ONE_SOURCE = 1
_MOVES = "llvm.mem"
_MOST_BYTES = 4096
_MOST_ROUNDS = 8
"""One round's helpers may have what the next lowers. The tests' kernels need a single one."""


def _lowered(
    module: llvm.ModuleRef,
    filename: str,
    platform: Platform,
    abilities: LoweringFeatures,
    wanted: set[str],
    *,
    first: int,
) -> llvm.ModuleRef:
    """The module with calls of the library's helpers, inlined, in place of what IL has not. ``first``: the number of
    the first round; names are made of it, so that no two calls for a module may have one in common.

    Raises InternalError if there is no end to it: LLVM turned a helper back into what it stands for.
    """
    round = first
    while True:
        program = Module(str(module))
        left = _Lowering(round, abilities).module(program)
        if left is None:
            return module
        if round - first == _MOST_ROUNDS:
            what = left.detail if left.op == "call" else f"{left.op} {left.ty}"
            raise InternalError(f"{what} is still there after {_MOST_ROUNDS} rounds of lowering")
        module = parse(str(program))
        link_library(module, filename, platform, str)
        builder = pass_builder()
        _inline(module, builder, wanted)
        simplify = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                simplify.run(function, builder)
        round += 1


def _is_odd(ty: Type) -> bool:
    """Whether it is one of integers of widths between 33 and 63 bits: LLVM's, where fewer than 64 will do, and a
    program's own."""
    return ty.kind == "int" and 32 < ty.bits < 64


class _Lowering:
    def __init__(self, round: int, abilities: LoweringFeatures, *, exact: bool = False) -> None:
        self.abilities = abilities
        self.round = round
        self.exact = exact
        self.moves = 0
        self.variables: dict[str, int] = {}
        """How many bytes behind the beginning of a variable, which is a word's, a body's pointers are."""
        self.declared: dict[str, str] = {}

    def fused_only(self, module: Module) -> None:
        """Lower fused multiply-adds alone."""
        for body in module.bodies.values():
            changes = {number: self.intrinsic(inst) for number, inst in body.calls("llvm.fma.")}
            body.replace({number: made for number, made in changes.items() if made is not None})
        for line in self.declared.values():
            module.declare(line)

    def module(self, module: Module) -> Inst | None:
        """Lower everything; the last of what was to be lowered, None if there was nothing."""
        last = None
        for body in module.bodies.values():
            changes = self.words(body)
            for number, operation in enumerate(body.operations):
                if operation in _LOWERED and (operation != "call" or callee_of(body.lines[number]).startswith("llvm.")):
                    inst = body.inst(number)
                    assert inst is not None
                    made = self.moved(inst, body.lines[number]) if not inst.name else self.one(inst, module)
                    if made is not None:
                        changes[number] = [one if "!dbg" in one else one + _place(inst) for one in made]
                        last = inst
            body.replace(changes)
        for line in self.declared.values():
            module.declare(line)
        return last

    def words(self, body: Body) -> dict[int, list[str]]:
        """The lines of variables that begin at words from here on, so that words of them can be copied or filled."""
        changes = {}
        self.variables = {inst.name: 0 for _, inst in body.having("alloca")}
        for _, inst in body.having("getelementptr", within=" i8, "):
            base, *offset = inst.args
            if len(offset) == 1 and offset[0].text.isdigit() and base.text in self.variables:
                self.variables[inst.name] = self.variables[base.text] + int(offset[0].text)
        for number, _ in body.having("alloca"):
            line = aligned_to_words(body.lines[number])
            if line != body.lines[number]:
                changes[number] = [line]
        return changes

    def one(self, inst: Inst, module: Module) -> list[str] | None:
        """What takes an instruction's place; None if it stays."""
        op, ty, name = inst.op, inst.ty, inst.name
        if op == "call":
            return self.intrinsic(inst)
        first = inst.args[0]
        if _is_odd(first.ty) and (op in _QUOTIENTS or op in _FROM_INTEGER):
            return self.of_odd_operands(inst, module)
        if _is_odd(ty):
            made = f"%hw.odd.{self.round}.{name[1:]}"
            return self.lowered(
                module,
                f"  {made} = {op} {first.ty} {first.text} to i64",
                f"  {name} = trunc i64 {made} to {ty}",
            )
        source, result = first.ty.scalar.text, ty.scalar.text
        if op in _QUOTIENTS and result == "i64":
            return self.calls(inst, f"__hw_wide_{op}")
        if op in (*_TO_INTEGER, *_FROM_INTEGER):
            if {source, result} == {"half", "i64"}:
                return self.by_way_of_float(inst, module)
            if "i64" in (source, result):
                return self.calls(inst, f"__hw_wide_{op}_{result if op in _FROM_INTEGER else source}")
        if op == "fptrunc" and (source, result) == ("double", "half"):  # by way of float it would be rounded twice
            return self.calls(inst, "_Z13__hw_half_rted")
        if op == "fdiv" and result == "float" and self.abilities.exact:
            return self.calls(inst, "__hw_float_div")
        if op == "fdiv" and result == "double":
            return self.calls(inst, "__hw_wide_fdiv")
        if op == "frem" and result in ("float", "double"):
            return self.calls(inst, "_Z4fmodff" if result == "float" else "_Z4fmoddd")
        return None

    def lowered(self, module: Module, *lines: str) -> list[str]:
        """Lines with those lowered that need it."""
        found: list[str] = []
        for line in lines:
            inst = module.instruction(line)
            assert inst is not None
            found += (self.one(inst, module) if inst.op in _LOWERED else None) or [line]
        return found

    def of_odd_operands(self, inst: Inst, module: Module) -> list[str]:
        """Quotients and conversions of integers between 33 and 63 bits, by way of 64."""
        op, kind, name = inst.op, inst.args[0].ty, inst.name
        stem = f"%hw.odd.{self.round}.{name[1:]}"
        extend = "sext" if op.startswith("s") else "zext"
        if op in _FROM_INTEGER:
            value = inst.args[0].text
            return self.lowered(
                module,
                f"  {stem} = {extend} {kind} {value} to i64",
                f"  {name} = {op} i64 {stem} to {inst.ty}",
            )
        left, right = inst.args
        return self.lowered(
            module,
            f"  {stem}.a = {extend} {kind} {left.text} to i64",
            f"  {stem}.b = {extend} {kind} {right.text} to i64",
            f"  {stem} = {op} i64 {stem}.a, {stem}.b",
            f"  {name} = trunc i64 {stem} to {kind}",
        )

    def moved(self, inst: Inst, line: str) -> list[str] | None:
        """memcpy, memmove and memset of a constant number of bytes as loads and stores, the loads first: of words as
        far as both sides have them at the same places, since a byte's store reads, masks and writes a word."""
        if not inst.detail.startswith(_MOVES):
            return None
        to, origin, count = inst.args[:3]
        given = zip((to, origin), arguments_of(line)[:2], strict=True)
        alignments = [4 if value.text in self.variables else min(4, alignment(text)) for value, text in given]
        if not count.text.isdigit() or int(count.text) > _MOST_BYTES:
            return None
        self.moves += 1
        unit, places = alignments[0], {self.variables.get(to.text, 0)}
        fills = inst.detail.startswith("llvm.memset")
        if fills and not origin.is_local and not origin.text.lstrip("-").isdigit():
            return None
        if not fills:
            unit = min(unit, alignments[1])
            places.add(self.variables.get(origin.text, 0))
        size, at = int(count.text), 0
        loads: list[str] = []
        stores: list[str] = []
        while at < size:
            step = unit
            while step > size - at or any((place + at) % step for place in places):
                step //= 2
            name = f"%hw.move.{self.round}.{self.moves}.{at}"
            kind = f"i{8 * step}"
            ones = int.from_bytes(bytes([1]) * step, "little")
            if fills and not origin.is_local:
                moved = str((int(origin.text) & 255) * ones)
            elif fills and step == 1:
                moved = origin.text
            elif fills:
                loads.append(f"  {name}.of = zext i8 {origin.text} to {kind}")
                loads.append(f"  {name} = mul {kind} {name}.of, {ones}")
                moved = name
            else:
                loads.append(f"  {name}.from = getelementptr i8, {origin.ty} {origin.text}, i32 {at}")
                loads.append(f"  {name} = load {kind}, {origin.ty} {name}.from, align {step}")
                moved = name
            stores.append(f"  {name}.to = getelementptr i8, {to.ty} {to.text}, i32 {at}")
            stores.append(f"  store {kind} {moved}, {to.ty} {name}.to, align {step}")
            at += step
        return loads + stores

    def intrinsic(self, inst: Inst) -> list[str] | None:
        """What takes the place of a call of LLVM's intrinsics; None if it stays."""
        if not inst.detail.startswith("llvm."):
            return None
        base, kind = inst.detail.split(".")[1], inst.ty.scalar.text
        name = _SAME.get(base, base)
        if kind == "double" and name in _OF_DOUBLE:
            return self.calls(inst, f"__hw_wide_{name}")
        if kind == "i64" and name in _TO_INTEGER:
            return self.calls(inst, f"__hw_wide_{name}_sat_{inst.args[0].ty.scalar}")
        if name == "fma" and (function := self.fused(kind)):
            return self.calls(inst, function if self.exact else f"{function}_near")
        if kind == "half" and name == "round":
            return self.calls(inst, "__hw_half_round")
        if kind == "float" and (name == "round" or (name == "sqrt" and self.abilities.exact)):
            return self.calls(inst, f"__hw_float_{name}")
        if name == "ldexp" and kind in ("float", "double"):
            return self.calls(inst, f"__hw_{'float' if kind == 'float' else 'wide'}_ldexp")
        if kind == "i32" and name in _BITS and not self.abilities.bit_counts:
            return self.calls(inst, f"__hw_{_BITS[name]}", inst.args[:_ONE_SOURCE])
        return None

    def fused(self, kind: str) -> str:
        """The helper that is a fused multiply-add of this type, "" where the chip has one."""
        if kind == "double":
            return "" if self.abilities.fused_doubles else "__hw_wide_fma"
        if kind != "float" or self.abilities.fused:
            return ""
        return "__hw_double_fma" if self.abilities.doubles else "__hw_float_fma"

    def by_way_of_float(self, inst: Inst, module: Module) -> list[str]:
        """A conversion between half and i64 in two steps, each exact where the result is in the range. The one of i64
        is lowered at once: LLVM would make one conversion of both again."""
        value, name, op = inst.args[0], inst.name, inst.op
        between = f"%hw.half.{self.round}.{name[1:]}"
        floats = f"<{value.ty.count} x float>" if value.ty.kind == "vec" else "float"
        if op in _TO_INTEGER:
            lines = (
                f"  {between} = fpext {value.ty} {value.text} to {floats}",
                f"  {name} = {op} {floats} {between} to {inst.ty}",
            )
        else:
            lines = (
                f"  {between} = {op} {value.ty} {value.text} to {floats}",
                f"  {name} = fptrunc {floats} {between} to {inst.ty}",
            )
        return self.lowered(module, *lines)

    def calls(self, inst: Inst, function: str, values: list[Value] | None = None) -> list[str]:
        """One call for a scalar, one for each component of a vector; of all operands, or of these ``values``."""
        result = inst.ty.scalar
        sources = [(value.ty.scalar.text, value.text) for value in (inst.args if values is None else values)]
        types = [kind for kind, _ in sources]
        self.declared[function] = f"declare {result} @{function}({', '.join(types)})"
        name, width = inst.name, inst.ty.count if inst.ty.kind == "vec" else 0
        if not width:
            return [f"  {name} = call {result} @{function}({', '.join(f'{t} {v}' for t, v in sources)})"]
        lines: list[str] = []
        whole = "poison"
        stem = f"%hw.{self.round}.{name[1:]}"
        for k in range(width):
            parts = []
            for j, (kind, value) in enumerate(sources):
                part = f"{stem}.{k}.{j}"
                lines.append(f"  {part} = extractelement <{width} x {kind}> {value}, i32 {k}")
                parts.append(f"{kind} {part}")
            lines.append(f"  {stem}.{k} = call {result} @{function}({', '.join(parts)})")
            into = name if k == width - 1 else f"{stem}.{k}.all"
            lines.append(f"  {into} = insertelement <{width} x {result}> {whole}, {result} {stem}.{k}, i32 {k}")
            whole = into
        return lines


def _place(inst: Inst) -> str:
    """An instruction's place in the source, for those that take its place."""
    return f", !dbg {inst.site}" if inst.site else ""

"""The front end's r600 IR in; it with the device library, optimised, and only instructions that ATI IL has, out.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

import llvmlite.binding as llvm

from headwater.llvm.modules import limit_passes, parse
from headwater.llvm.text import TELL, split
from headwater.opencl.checked import settle, tells
from headwater.opencl.linking import link_library, refuse_recursion
from headwater.opencl.numbered_calls import PREFIX, number_calls
from headwater.opencl.platforms import VLIW_TRIPLE, Platform, vliw, with_intrinsics

_NOT_INLINED = re.compile(r"\b(?:noinline|optnone) ")
_CONVERGENT = re.compile(r"^(attributes #\d+ = \{ )convergent (.*\bmemory\((?:none|read)\))", re.MULTILINE)
"""What OpenCL C says of all functions, and holds LLVM from finding two calls to be the same. No lane sees another."""
_DEFINED = re.compile(r"^(define (?!.*\bamdgpu_kernel\b).*?\).*?) (#\d+ )", re.MULTILINE)
_KERNEL = re.compile(r"^define [^\n]* !reqd_work_group_size !(?P<node>\d+)[^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_LOCAL_SIZE = re.compile(r"(?:tail )?call i32 @_Z14get_local_sizej\(i32 noundef (\d+)\)(?: #\d+)?")

_REMAINDERS = '"uniform-work-group-size"="false"'
"""What clang says of kernels whose groups need not divide the global size, from OpenCL 2.0 on."""


@functools.cache
def _machine() -> llvm.TargetMachine:
    """LLVM's r600 target: it tells the passes that lanes may branch apart, and what unrolling may gain."""
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
    if not _WIDER.search(text):
        return text
    # LLVM computes what a sum of cubes is after a loop in integers of more bits; the loop itself has none of them.
    llvm.set_option("", "-replexitval=never")
    try:
        return _compiled(ir, kernels, filename, abilities, strength_reduction)
    finally:
        llvm.set_option("", "-replexitval=cheap")


_WIDER = re.compile(r"\bi(?:6[5-9]|[7-9]\d|1\d\d)\b")
"""Types of integers of more than 64 bits."""


def _compiled(
    ir: str, kernels: Iterable[str], filename: str, abilities: LoweringFeatures, strength_reduction: bool
) -> str:
    limit_passes(ir)
    platform = vliw(work_groups=abilities.work_groups, remainders=_REMAINDERS in ir)
    wanted = set(kernels)
    # The program's own fma() is rounded once; the library's functions do with less.
    module = parse(_Lowering(0, abilities, exact=True).fused_only(_prepared(ir)))
    link_library(module, filename, platform, str)
    builder = pass_builder()
    _inline(module, builder, wanted)
    refuse_recursion([f.name for f in module.functions if not f.is_declaration and f.name not in wanted], filename)
    if f"@{PREFIX}" in ir:
        module = _numbered(module, builder)
    builder.getModulePassManager().run(module, builder)
    if TELL in ir and tells(str(module)):
        settle(module, builder)
    lowered = _lowered(module, filename, platform, abilities, wanted)
    _finish(lowered, builder, strength_reduction=strength_reduction)
    # Reducing the strength of an index may have made a quotient of 64 bits.
    module = _lowered(lowered, filename, platform, abilities, wanted)
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
    return parse(number_calls(str(module)))


def _prepared(ir: str) -> str:
    """The module's text with everything inlined, and built-ins that are instructions as LLVM's intrinsics."""
    text = re.sub(r"^(attributes #\d+ = .*)$", lambda m: _NOT_INLINED.sub("", m[1]), ir, flags=re.MULTILINE)
    text = _DEFINED.sub(r"\1 alwaysinline \2", _CONVERGENT.sub(r"\1\2", text))
    text = text if _REMAINDERS in ir else _KERNEL.sub(_with_group_size, text)
    return with_intrinsics(text, exponentials=False)


def _with_group_size(match: re.Match[str]) -> str:
    """A kernel's function with its reqd_work_group_size in place of get_local_size."""
    node = re.search(rf"^!{match['node']} = !\{{i32 (\d+), i32 (\d+), i32 (\d+)\}}$", match.string, re.MULTILINE)
    sizes = node.groups() if node else ()
    return _LOCAL_SIZE.sub(lambda m: f"add i32 0, {sizes[int(m[1])]}" if int(m[1]) < len(sizes) else m[0], match[0])


# ---------------------------------------------------------------------------------------------- lowering

_LINE = re.compile(
    r"^  (?P<name>%[\w.]+) = (?:tail )?(?P<op>\w+) (?P<flags>(?:[a-z]+ )*?)"
    r"(?:<(?P<width>\d+) x )?(?P<type>i64|double|float|half|i32)>? (?P<rest>.*)$"
)
_ODD = r"i(?:3[3-9]|[45]\d|6[0-3])"
_ODD_OPERANDS = re.compile(
    r"^  (?P<name>%[\w.]+) = (?P<op>udiv|urem|sdiv|srem|uitofp|sitofp) (?:[a-z]+ )*"
    rf"(?P<kind>{_ODD}) (?P<rest>[^!]*?)(?:, !.*)?$"
)
_ODD_RESULT = re.compile(
    rf"^  (?P<name>%[\w.]+) = (?P<op>fpto[us]i) (?P<value>(?:half|float|double) \S+) to (?P<kind>{_ODD})(?:, !.*)?$"
)
"""Integers of widths between 33 and 63 bits: LLVM's, where fewer than 64 will do, and a program's own."""
_QUOTIENTS = ("udiv", "urem", "sdiv", "srem")
_TO_INTEGER = ("fptoui", "fptosi")
_FROM_INTEGER = ("uitofp", "sitofp")
_OF_DOUBLE = ("trunc", "floor", "ceil", "rint", "round", "maxnum", "minnum")
_SAME = {"roundeven": "rint", "nearbyint": "rint", "maximumnum": "maxnum", "minimumnum": "minnum"}
_BITS = {"ctpop": "popcount", "ctlz": "clz", "cttz": "ctz", "bitreverse": "reverse"}
_ONE_SOURCE = 1


def _lowered(
    module: llvm.ModuleRef, filename: str, platform: Platform, abilities: LoweringFeatures, wanted: set[str]
) -> llvm.ModuleRef:
    """The module with calls of the library's helpers, inlined, in place of what IL has not."""
    for round in itertools.count():
        replaced = _Lowering(round, abilities).text(str(module))
        if replaced is None:
            return module
        module = parse(replaced)
        link_library(module, filename, platform, str)
        builder = pass_builder()
        _inline(module, builder, wanted)
        simplify = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                simplify.run(function, builder)
    raise AssertionError


_PLACE = re.compile(r", !dbg !\d+")


def _placed(made: list[str], line: str) -> list[str]:
    """Instructions with the source location of the one that they stand for."""
    place = _PLACE.search(line)
    return made if place is None else [one if "!dbg" in one else one + place[0] for one in made]


class _Lowering:
    def __init__(self, round: int, abilities: LoweringFeatures, *, exact: bool = False) -> None:
        self.abilities = abilities
        self.round = round
        self.exact = exact
        self.moves = 0
        self.declared: dict[str, str] = {}

    def fused_only(self, module: str) -> str:
        """The module's text with only fused multiply-adds lowered."""
        lines: list[str] = []
        for line in module.split("\n"):
            match = _LINE.match(line) if "@llvm.fma." in line else None
            made = None if match is None else self.intrinsic(match)
            lines += [line] if made is None else made
        return "\n".join([*lines, *self.declared.values()])

    def text(self, module: str) -> str | None:
        """The module's text after lowering; None if nothing was to be done."""
        lines: list[str] = []
        changed = False
        for line in module.split("\n"):
            made = self.line(line) if line.startswith("  %") else self.moved(line) if "@llvm.mem" in line else None
            changed |= made is not None
            lines += [line] if made is None else _placed(made, line)
        known = set(re.findall(r"^(?:define|declare) [^\n]*?@([\w.$]+)\(", module, re.MULTILINE))
        lines += [text for name, text in self.declared.items() if name not in known]
        return "\n".join(lines) if changed else None

    def line(self, line: str) -> list[str] | None:
        match = _LINE.match(line)
        if match is None:
            return self.of_odd_operands(line)
        if odd := _ODD_RESULT.match(line):
            made = f"%hw.odd.{self.round}.{odd['name'][1:]}"
            return self.lowered(
                f"  {made} = {odd['op']} {odd['value']} to i64", f"  {odd['name']} = trunc i64 {made} to {odd['kind']}"
            )
        op = match["op"]
        if op in _QUOTIENTS and match["type"] == "i64":
            return self.binary(match, f"__hw_wide_{op}")
        if op in (*_TO_INTEGER, *_FROM_INTEGER):
            value, _, target = match["rest"].split(", !")[0].rpartition(" to ")
            element = target.strip("<>").split(" x ")[-1]
            kinds = {match["type"], element}
            if kinds == {"half", "i64"}:
                return self.by_way_of_float(match)
            if "i64" in kinds:
                suffix = element if op in _FROM_INTEGER else match["type"]
                return self.calls(match, f"__hw_wide_{op}_{suffix}", [(match["type"], value)], element)
        if op == "fdiv" and match["type"] == "float" and self.abilities.exact:
            return self.binary(match, "__hw_float_div")
        if op == "frem" and match["type"] in ("float", "double"):
            return self.binary(match, "_Z4fmodff" if match["type"] == "float" else "_Z4fmoddd")
        return self.intrinsic(match) if op == "call" else None

    def lowered(self, *lines: str) -> list[str]:
        """Lines with those lowered that need it."""
        return [made for line in lines for made in self.line(line) or [line]]

    def of_odd_operands(self, line: str) -> list[str] | None:
        """Quotients and conversions of integers between 33 and 63 bits, by way of 64."""
        odd = _ODD_OPERANDS.match(line)
        if odd is None:
            return None
        op, kind, name = odd["op"], odd["kind"], odd["name"]
        stem = f"%hw.odd.{self.round}.{name[1:]}"
        extend = "sext" if op.startswith("s") else "zext"
        if op.endswith("tofp"):
            value, _, target = odd["rest"].partition(" to ")
            return self.lowered(f"  {stem} = {extend} {kind} {value} to i64", f"  {name} = {op} i64 {stem} to {target}")
        left, right = split(odd["rest"])
        return self.lowered(
            f"  {stem}.a = {extend} {kind} {left} to i64",
            f"  {stem}.b = {extend} {kind} {right} to i64",
            f"  {stem} = {op} i64 {stem}.a, {stem}.b",
            f"  {name} = trunc i64 {stem} to {kind}",
        )

    def moved(self, line: str) -> list[str] | None:
        """memcpy, memmove and memset of a constant number of bytes as loads and stores, the loads first."""
        match = _MOVE.match(line)
        if match is None:
            return None
        target, source, count, *_ = split(match["arguments"])
        to = _POINTER.match(target)
        size = count.split()[-1]
        if to is None or not size.isdigit() or int(size) > _MOST_BYTES:
            return None
        self.moves += 1
        unit = min(4, _alignment(to))
        value = ""
        if match["what"] == "set":
            byte = source.split()[-1]
            if not byte.lstrip("-").isdigit():
                return None
            value = byte
        else:
            origin = _POINTER.match(source)
            if origin is None:
                return None
            unit = min(unit, _alignment(origin))
        loads: list[str] = []
        stores: list[str] = []
        at = 0
        while at < int(size):
            step = unit
            while step > int(size) - at or at % step:
                step //= 2
            name = f"%hw.move.{self.round}.{self.moves}.{at}"
            kind = f"i{8 * step}"
            if match["what"] == "set":
                moved = str(int.from_bytes(bytes([int(value) & 255]) * step, "little"))
            else:
                assert origin is not None
                loads.append(f"  {name}.from = getelementptr i8, {origin['type']} {origin['name']}, i32 {at}")
                loads.append(f"  {name} = load {kind}, {origin['type']} {name}.from, align {step}")
                moved = name
            stores.append(f"  {name}.to = getelementptr i8, {to['type']} {to['name']}, i32 {at}")
            stores.append(f"  store {kind} {moved}, {to['type']} {name}.to, align {step}")
            at += step
        return loads + stores

    def intrinsic(self, match: re.Match[str]) -> list[str] | None:
        found = re.match(r"@llvm\.(\w+)(?:\.\w+)*\((.*)\)", match["rest"])
        if found is None:
            return None
        name, kind = _SAME.get(found[1], found[1]), match["type"]
        sources = [_typed(text) for text in split(found[2])]
        if kind == "double" and name in _OF_DOUBLE:
            return self.calls(match, f"__hw_wide_{name}", sources, kind)
        if kind == "i64" and name in _TO_INTEGER:
            return self.calls(match, f"__hw_wide_{name}_sat_{sources[0][0]}", sources, kind)
        if name == "fma" and (function := self.fused(kind)):
            return self.calls(match, function if self.exact else f"{function}_near", sources, kind)
        if kind == "half" and name == "round":
            return self.calls(match, "__hw_half_round", sources, kind)
        if kind == "float" and (name == "round" or (name == "sqrt" and self.abilities.exact)):
            return self.calls(match, f"__hw_float_{name}", sources, kind)
        if name == "ldexp" and kind in ("float", "double"):
            return self.calls(match, f"__hw_{'float' if kind == 'float' else 'wide'}_ldexp", sources, kind)
        if kind == "i32" and name in _BITS and not self.abilities.bit_counts:
            return self.calls(match, f"__hw_{_BITS[name]}", sources[:_ONE_SOURCE], kind)
        return None

    def fused(self, kind: str) -> str:
        """The helper that is a fused multiply-add of this type, "" where the chip has one."""
        if kind == "double":
            return "" if self.abilities.fused_doubles else "__hw_wide_fma"
        if kind != "float" or self.abilities.fused:
            return ""
        return "__hw_double_fma" if self.abilities.doubles else "__hw_float_fma"

    def by_way_of_float(self, match: re.Match[str]) -> list[str]:
        """A conversion between half and i64 in two steps, each exact where the result is in the range. The one of i64
        is lowered at once: LLVM would make one conversion of both again."""
        value, _, target = match["rest"].split(", !")[0].rpartition(" to ")
        width = f"<{match['width']} x " if match["width"] else ""
        end = ">" if width else ""
        name, op, source = match["name"], match["op"], f"{width}{match['type']}{end}"
        between = f"%hw.half.{self.round}.{name[1:]}"
        if op in _TO_INTEGER:
            lines = [
                f"  {between} = fpext {source} {value} to {width}float{end}",
                f"  {name} = {op} {width}float{end} {between} to {target}",
            ]
            return self.lowered(*lines)
        lines = [
            f"  {between} = {op} {source} {value} to {width}float{end}",
            f"  {name} = fptrunc {width}float{end} {between} to {target}",
        ]
        return self.lowered(*lines)

    def binary(self, match: re.Match[str], function: str) -> list[str]:
        first, second = split(match["rest"])[:2]
        return self.calls(match, function, [(match["type"], first), (match["type"], second)], match["type"])

    def calls(self, match: re.Match[str], function: str, sources: list[tuple[str, str]], result: str) -> list[str]:
        """One call for a scalar, one for each component of a vector."""
        types = [kind for kind, _ in sources]
        self.declared[function] = f"declare {result} @{function}({', '.join(types)})"
        name, width = match["name"], int(match["width"] or 0)
        if not width:
            return [f"  {name} = call {result} @{function}({', '.join(f'{t} {v}' for t, v in sources)})"]
        lines: list[str] = []
        whole = "poison"
        stem = "%hw." + name[1:]
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


_MOVE = re.compile(r"^  (?:tail )?call void @llvm\.mem(?P<what>cpy|move|set)\.[\w.]+\((?P<arguments>.*)\)")
_POINTER = re.compile(
    r"(?P<type>ptr(?: addrspace\(\d+\))?) (?P<attributes>.*?)"
    r"(?P<name>[%@]\S+|null|undef|poison|(?:getelementptr|addrspacecast|inttoptr)\b.*)$"
)
_ALIGNED = re.compile(r"\balign (\d+)")
_MOST_BYTES = 4096


def _alignment(pointer: re.Match[str]) -> int:
    """What a pointer's attributes say of it, in bytes."""
    said = _ALIGNED.search(pointer["attributes"])
    return int(said[1]) if said is not None else 1


def _typed(text: str) -> tuple[str, str]:
    """``<4 x float> noundef %x`` as ("float", "%x"); ("", text) of what is no number."""
    match = re.match(r"(?:<\d+ x (\w+)>|(\w+)) (?:(?:noundef|nofpclass\(\w+\)|range\([^)]*\)) )*(.*)", text)
    return (match[1] or match[2], match[3]) if match is not None else ("", text)

"""Input: the front end's amdgcn IR. Output: the IR with the device library, optimised; or assembly text or object code.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import llvmlite.binding as llvm

from headwater.chips.gcn_isas import traits_of
from headwater.errors import InternalError, SourceError, Span
from headwater.llvm.ir import Body, Inst, Module, Value
from headwater.llvm.metadata import fields, kind
from headwater.llvm.modules import limit_code_generation, limit_passes, parse
from headwater.llvm.passes.gcn_differences import with_differences_kept
from headwater.llvm.passes.gcn_integers import with_integers_kept
from headwater.llvm.passes.gcn_phis import with_values_kept
from headwater.llvm.passes.inlining import inlined
from headwater.llvm.text import has_findings, with_largest_group
from headwater.opencl.checked import settle, with_definedness, with_printing, without_speculation
from headwater.opencl.gcn import CodeOptions
from headwater.opencl.group_sizes import with_required_sizes
from headwater.opencl.linking import link_library, refuse_recursion
from headwater.opencl.memory_limits import exceeded
from headwater.opencl.platforms import GCN_TRIPLE, gcn, with_intrinsics
from headwater.opencl.printf_strings import printed_variable, with_printable_strings
from headwater.opencl.symbols import name_of

_PRINTF_ALLOC = "__printf_alloc"


@functools.cache
def _machine(processor: str, level: int) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(GCN_TRIPLE)
    return target.create_target_machine(cpu=processor, opt=level, reloc="pic")


def compile(ir: str, kernels: Iterable[str], filename: str, how: CodeOptions) -> bytes:
    """Link the device library in, optimise, and give back what ``how.emit`` names.

    Raises SourceError for recursion and calls of undefined functions. What LLVM refuses for good reasons, such as too
    much local memory, ends the process: the caller reads its last words.
    """
    limit_passes(ir)
    tm = _machine(how.processor, 3 if how.caution == 0 else 0)
    options = llvm.create_pipeline_tuning_options(speed_level=3 if how.caution < 2 else 0)
    builder = llvm.create_pass_builder(tm, options)
    wanted = {*kernels, _PRINTF_ALLOC}
    platform = gcn(how.abi, image_instructions=traits_of(how.processor).samples_images)

    def optimise(program: Module) -> llvm.ModuleRef:
        _prepare(program, how.largest_group)
        if how.checked:
            _prepare_checks(program)
        module = parse(str(program))
        link_library(module, filename, platform, str)
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "external" if function.name in wanted else "internal"
        first = llvm.create_new_module_pass_manager()
        first.add_always_inliner_pass()
        first.add_global_dead_code_eliminate_pass()
        first.run(module, builder)
        refuse_recursion([f.name for f in module.functions if not f.is_declaration and f.name not in wanted], filename)
        if "printf" in program.declares:
            module = _with_strings(module, builder, filename)
        builder.getModulePassManager().run(module, builder)
        _drop(_PRINTF_ALLOC, module, builder)
        return module

    program = Module(ir)
    if how.checked:
        program = with_definedness(program, kernels, builder)
        ir = str(program)
    module = optimise(program)
    optimised = str(module)
    if has_findings(optimised):
        settle(module, builder)
        optimised = str(module)
    if has_findings(optimised):
        module = optimise(Module(with_printing(ir)))
        optimised = str(module)
    final = Module(optimised)
    _refuse_large_frames(final, filename, how.processor)
    changed = _without_ones(final)
    changed |= with_values_kept(final)
    changed |= with_differences_kept(final, has_halves=traits_of(how.processor).has_halves)
    changed |= with_integers_kept(final, has_halves=traits_of(how.processor).has_halves)
    changed |= _of_own_memory(final)
    if not traits_of(how.processor).has_halves:
        changed |= _rounded_halves(final)
    if not traits_of(how.processor).rounds_doubles:
        changed |= _whole_doubles(final)
    if traits_of(how.processor).has_legacy_minima:
        changed |= _legacy_minima_avoided(final, every=how.plain_minima)
    changed |= _zeros_chosen(final)
    if traits_of(how.processor).has_fma_mix:
        changed |= _signed_halves(final)
    if traits_of(how.processor).has_halves:
        changed |= _signed_half_constants(final)
    if traits_of(how.processor).generation == _CLAMPS_WITH_CARRIES:
        changed |= _kept_clamps(final)
    if how.opaque_indices:
        changed |= _opaque_indices(final)
    if how.checked:
        changed |= _hide_atomic_pointers(final)
    if how.emit == "ir":
        return str(final).encode()
    if changed:
        module = parse(str(final))
    _limit_code_generation(final, how.caution)
    for function in module.functions:
        if (name := name_of(function.name)) != function.name:
            function.name = name
    try:
        return tm.emit_assembly(module).encode() if how.emit == "asm" else bytes(tm.emit_object(module))
    except RuntimeError as error:
        raise InternalError(f"LLVM cannot make code for {how.processor}: {error}") from error


def _with_strings(module: llvm.ModuleRef, builder: llvm.PassBuilder, filename: str) -> llvm.ModuleRef:
    """The module, inlined, with strings that LLVM can print, which looks at calls of printf before it knows what
    variables hold. SourceError for others, in whose place it prints "???"."""
    program = Module(str(module))
    if printed_variable(program):
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.run(module, builder)
        program = Module(str(module))
    if form := printed_variable(program):
        raise SourceError(
            f"a string that printf({form}) prints is not a literal",
            Span(filename),
            hint="choose between calls of printf that have a literal each, or print the characters by %c",
        )
    with_printable_strings(program)
    return parse(str(program))


def _of_own_memory(module: Module) -> bool:
    """All atomics are said to be on the chip's own, coarse-grained memory, which is all that there is here. For other
    memory, which PCI Express reaches, LLVM makes loops of compare-and-swap of all but addition and exchange
    (SIISelLowering.cpp, shouldExpandAtomicRMWInIR)."""
    node = ""
    for body in module.bodies.values():
        updates = [number for number, operation in enumerate(body.operations) if operation == "atomicrmw"]
        if updates:
            node = node or module.new_node("!{}")
            said = f", !amdgpu.no.fine.grained.memory {node}, !amdgpu.no.remote.memory {node}"
            body.replace({number: [body.lines[number] + said] for number in updates})
    return bool(node)


_MOST_PRIVATE_BYTES = ((1 << 13) - 1) * 1024 // 64
"""A work-item's part of a wavefront's scratch memory, whose size in KiB has 13 bits (LLVM, GCNSubtarget.h,
getMaxWaveScratchSize)."""


def _refuse_large_frames(module: Module, filename: str, processor: str) -> None:
    """MemoryLimitError for kernels whose private arrays are more than scratch memory holds. LLVM says so, too, but by
    then has taken the bytes of a group's arrays of 16 MiB for 0, and placed the arrays in local memory."""
    for body in module.bodies.values():
        needed = sum(inst.source.least_bytes for _, inst in body.having("alloca"))
        if needed > _MOST_PRIVATE_BYTES:
            raise exceeded(name_of(body.name), "private", needed, _MOST_PRIVATE_BYTES, processor, filename)


LARGE_FUNCTION = 4_000
"""Lines of a function's optimised IR from which on passes are left out whose time grows with the square of its length:
those that rewrite sums and addresses in terms of one another, and the merging of many accesses' order. They took 16 of
LLVM 22's 18 s for 2,000 loads and 5 of 6 s for 3,000 statements, and changed the length of neither's code."""


LARGE_BLOCK = 2_000
"""The same of a block, for a pass that has little to do within one: 9.8 of 14.3 s for 1,000 statements of Brook+, the
code of which is the same without it."""


def _limit_code_generation(module: Module, caution: int) -> None:
    """Choose how code is generated for a module, whose IR is optimised."""
    large = any(len(body.lines) > LARGE_FUNCTION for body in module.bodies.values())
    limit_code_generation(large=large, prepares=not any(_has_large_block(body) for body in module.bodies.values()))
    llvm.set_option("", f"-amdgpu-scalar-ir-passes={int(caution == 0 and not large)}")


def _has_large_block(body: Body) -> bool:
    """Whether a block of a function is so large that code is not prepared for it."""
    begins = [number for number, line in enumerate(body.lines) if not line.startswith(" ")]
    return any(end - begin > LARGE_BLOCK for begin, end in pairwise([0, *begins, len(body.lines)]))


_UNIFORM = '"uniform-work-group-size"="true"'
_USUAL_GROUPS = 1, 256
"""What clang says of kernels that do not say it themselves."""
_WAVEFRONT = 64


def _prepare(module: Module, largest_group: int) -> None:
    """Everything is to be inlined, and built-ins that LLVM has instructions for are those."""
    for name, node in module.metadata.items():
        if kind(node) == "DIFile":  # the result depends neither on the source's directory nor on its checksum
            module.metadata[name] = f'!DIFile(filename: {fields(node)["filename"]}, directory: "")'
    groups = module.attribute_groups
    uniform = any(_UNIFORM in group for group in groups.values())
    for name, group in groups.items():
        groups[name] = with_largest_group(
            group, lambda least, most: largest_group if (least, most) == _USUAL_GROUPS else most
        )
    inlined(module)
    if uniform:
        with_required_sizes(module)
    if "printf" in module.declares:
        # LLVM replaces printf by what fills memory that this function provides, once optimisation has begun.
        module.declare(f"declare ptr addrspace(1) @{_PRINTF_ALLOC}(i32)")
    with_intrinsics(module)


def _prepare_checks(module: Module) -> None:
    """LLVM is to keep accesses and barriers where the program has them: it leaves barriers out in groups that are
    declared to have no more work-items than a wavefront, and puts private arrays into local memory."""
    for name, group in module.attribute_groups.items():
        module.attribute_groups[name] = with_largest_group(group, lambda _, most: max(most, 2 * _WAVEFRONT))
    without_speculation(module)


def _hide_atomic_pointers(module: Module) -> bool:
    """LLVM lets one work-item of a wavefront update a place that all update, unless places may differ: it takes what an
    empty assembly text gives for that."""
    count = 0
    for body in module.bodies.values():
        changes: dict[int, list[str]] = {}
        for number, inst in body.having("atomicrmw"):
            pointer, hidden = inst.args[0], f"%hw.hidden.{count}"
            count += 1
            old, new = f"{pointer.ty} {pointer.text}, ", f"{pointer.ty} {hidden}, "
            changes[number] = [
                f'  {hidden} = call {pointer.ty} asm "", "=v,0"({pointer.ty} {pointer.text})',
                body.lines[number].replace(old, new, 1),
            ]
        body.replace(changes)
    return count > 0


def _drop(name: str, module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Remove a function that has been inlined wherever it was called."""
    for function in module.functions:
        if function.name == name and not function.is_declaration:
            function.linkage = "internal"
            passes = llvm.create_new_module_pass_manager()
            passes.add_global_dead_code_eliminate_pass()
            passes.run(module, builder)


def _without_ones(module: Module) -> bool:
    """LLVM 22 takes the other operand for the result where half of a 64-bit operand of ``or`` turns out to be all ones,
    as that of a zero-extended number's complement, while it folds constants into GCN instructions. Where that may be,
    ``a | b`` is written as ``~(~a & ~b)``, which becomes v_bfi_b32."""
    return module.each(_without_ones_in)


def _without_ones_in(body: Body) -> bool:
    ones = {
        inst.name
        for _, inst in body.having("xor", "or", within="-")
        if inst.ty.scalar.text == "i64" and _has_ones(inst.args[-1], complement=inst.op == "xor")
    }
    ones |= {  # choices of numbers whose high halves are all ones
        inst.name
        for _, inst in body.having("select", "phi", within="-")
        if inst.ty.scalar.text == "i64" and any(_has_ones(value, complement=False) for value in inst.args)
    }
    if not ones:
        return False
    changes = {}
    for number, inst in body.having("or", within="i64"):
        ty, (left, right) = inst.ty, inst.args
        if not left.is_local or not right.is_local or (left.text not in ones and right.text not in ones):
            continue
        ones.add(inst.name)
        bare, all_ones = _bare(inst.name), "-1" if ty.kind == "int" else "splat (i64 -1)"
        changes[number] = [
            f"  %not.a.{bare} = xor {ty} {left.text}, {all_ones}",
            f"  %not.b.{bare} = xor {ty} {right.text}, {all_ones}",
            f"  %both.{bare} = and {ty} %not.a.{bare}, %not.b.{bare}",
            f"  {inst.name} = xor {ty} %both.{bare}, {all_ones}",
        ]
    return body.replace(changes)


def _has_ones(value: Value, *, complement: bool) -> bool:
    """Whether a constant is all ones, or negative, or a vector with such a component."""
    if value.elems is not None:
        return any(_has_ones(element, complement=complement) for element in value.elems)
    return value.text == "-1" if complement else value.text.startswith("-")


def _rounded_halves(module: Module) -> bool:
    """LLVM 22 computes with floats for chips without instructions for halves (before gfx8), and rounds only what is
    stored or converted: an operation then takes more of another's result than a half holds.

    A float holds more than twice a half's bits and two, so that rounding its sum, product or quotient once more gives
    what rounding once would; of a fused product and sum a double does.
    """

    def change(body: Body) -> bool:
        changes = {
            number: _by_floats(inst)
            for number, inst in body.having("fadd", "fsub", "fmul", "fdiv", within="half")
            if inst.ty.scalar.text == "half"
        }
        changes |= {
            number: _by_doubles(inst)
            for number, inst in body.calls("llvm.fm")
            if inst.ty.scalar.text == "half" and inst.detail.startswith(("llvm.fma.", "llvm.fmuladd."))
        }
        return body.replace(changes)

    return module.each(change)


def _by_floats(inst: Inst) -> list[str]:
    kind, bare, place = inst.ty.text, _bare(inst.name), _place(inst)
    wide = kind.replace("half", "float")
    left, right = inst.args
    return [
        f"  %wide.a.{bare} = fpext {kind} {left.text} to {wide}",
        f"  %wide.b.{bare} = fpext {kind} {right.text} to {wide}",
        f"  %wide.{bare} = {inst.op} {wide} %wide.a.{bare}, %wide.b.{bare}{place}",
        f"  {inst.name} = fptrunc {wide} %wide.{bare} to {kind}{place}",
    ]


def _by_doubles(inst: Inst) -> list[str]:
    kind, bare = inst.ty.text, _bare(inst.name)
    wide = kind.replace("half", "double")
    return [
        *(f"  %wide.{i}.{bare} = fpext {kind} {value.text} to {wide}" for i, value in enumerate(inst.args)),
        f"  %product.{bare} = fmul {wide} %wide.0.{bare}, %wide.1.{bare}",
        f"  %wide.{bare} = fadd {wide} %product.{bare}, %wide.2.{bare}",
        f"  {inst.name} = fptrunc {wide} %wide.{bare} to {kind}{_place(inst)}",
    ]


_TO_EVEN = ("rint", "roundeven", "nearbyint")


def _whole_doubles(module: Module) -> bool:
    """LLVM 22 takes ``x - fract(x)`` for floor where no instruction rounds doubles (gfx6): -1 + 2^-53 for numbers just
    below 0. The zeros that its ceil and rint make of negative numbers are positive. What it makes of trunc is right."""

    def change(body: Body) -> bool:
        changes: dict[int, list[str]] = {}
        for name, step, beyond in (("floor", -1.0, "ogt"), ("ceil", 1.0, "olt"), *((n, 0.0, "") for n in _TO_EVEN)):
            for number, inst in body.calls(f"llvm.{name}."):
                if inst.ty.scalar.text == "double":
                    changes[number] = _stepped(module, inst, step, beyond) if step else _signed(module, inst)
        return body.replace(changes)

    return module.each(change)


def _stepped(module: Module, inst: Inst, step: float, beyond: str) -> list[str]:
    """A number truncated, and one step on where that is beyond it."""
    (x,), kind, bare, place = inst.args, inst.ty, _bare(inst.name), _place(inst)
    trunc = f"@llvm.trunc.{inst.detail.split('.', 2)[2]}"
    module.declare(f"declare {kind} {trunc}({kind})")
    one, test = f"{step:.1f}", "i1"
    if kind.count:
        one, test = f"splat (double {one})", f"<{kind.count} x i1>"
    return [
        f"  %cut.{bare} = call {kind} {trunc}({kind} {x.text}){place}",
        f"  %beyond.{bare} = fcmp {beyond} {kind} %cut.{bare}, {x.text}{place}",
        f"  %next.{bare} = fadd {kind} %cut.{bare}, {one}{place}",
        f"  {inst.name} = select {test} %beyond.{bare}, {kind} %next.{bare}, {kind} %cut.{bare}{place}",
    ]


def _signed(module: Module, inst: Inst) -> list[str]:
    """A function's result with the sign of its operand."""
    (x,), kind, bare, place = inst.args, inst.ty, _bare(inst.name), _place(inst)
    copysign = f"@llvm.copysign.{inst.detail.split('.', 2)[2]}"
    module.declare(f"declare {kind} {copysign}({kind}, {kind})")
    return [
        f"  %whole.{bare} = call {kind} @{inst.detail}({kind} {x.text}){place}",
        f"  {inst.name} = call {kind} {copysign}({kind} %whole.{bare}, {kind} {x.text}){place}",
    ]


def _place(inst: Inst) -> str:
    """An instruction's place in the source, for those that take its place."""
    return f", !dbg {inst.site}" if inst.site else ""


def _bare(name: str) -> str:
    """A value's name within another's."""
    return name.lstrip("%").strip('"')


_ORDERS = ("gt", "ge", "lt", "le")
_SAME_ZEROS = frozenset(
    [
        *((name, True) for name in ("olt", "oge", "ugt", "ule")),
        *((name, False) for name in ("ogt", "ole", "ult", "uge")),
    ]
)
"""Comparisons, and whether what is chosen where they hold is the first number: those whose choice between equal numbers
is that of V_MIN_LEGACY_F32 (S0 if S0 < S1, else S1) or V_MAX_LEGACY_F32 (S0 if S0 >= S1, else S1), with the operands in
the order in which LLVM has them (AMDGPUISelLowering.cpp, combineFMinMaxLegacyImpl)."""


def _legacy_minima_avoided(module: Module, *, every: bool) -> bool:
    """LLVM 22 makes V_MIN_LEGACY_F32 or V_MAX_LEGACY_F32 of a comparison and a selection of the same floats, though
    they choose the other zero where the numbers are zeros of different sign, as of ``x < 0 ? 0 : x`` for -0, and as
    does the one that it makes of the other if the result's sign changes. It takes ``x < 1 ? -1 : x`` for one, too, and
    gives -x (AMDGPUISelLowering.cpp, combineFMinMaxLegacy: it is meant to see ``x < 1 ? -x : -1``). It sees none in a
    selection of the numbers' bits. Those are of bits that choose one of the numbers compared, whatever its sign, but
    for what certainly is one of the instructions; and those of halves, which are floats for it on these chips.
    ``every``: all are, for kernels with minima of minima, at which it fails."""

    def change(body: Body) -> bool:
        compared = {inst.name: inst for _, inst in body.having("fcmp")}
        if not compared:
            return False
        signed = {inst.name: inst.args[0].text for _, inst in body.having("fneg")}
        signed |= {inst.name: inst.args[0].text for _, inst in body.calls("llvm.fabs.")}
        negated = {inst.args[-1].text for _, inst in body.having("fneg", "fsub")}
        changes = {}
        for number, inst in body.having("select"):
            made = compared.get(inst.args[0].text)
            if made is None or made.detail[1:] not in _ORDERS or inst.ty.scalar.text not in ("float", "half"):
                continue
            numbers, chosen = ([value.text for value in args] for args in (made.args, inst.args[1:]))
            ordered = numbers == chosen
            is_one = (ordered or numbers == chosen[::-1]) and (
                bool({"nsz", "fast"} & {*made.flags, *inst.flags})
                or any(map(_never_zero, made.args))
                or ((made.detail, ordered) in _SAME_ZEROS and inst.name not in negated)
            )
            related = inst.ty.count or not {*_unsigned(numbers, signed)}.isdisjoint(_unsigned(chosen, signed))
            if every or inst.ty.scalar.text == "half" or (related and not is_one):
                changes[number] = _chosen_bits(inst)
        return body.replace(changes)

    return module.each(change)


def _unsigned(names: Iterable[str], signed: Mapping[str, str]) -> Iterator[str]:
    """What values are but for their signs; constants are left out."""
    for name in names:
        while name in signed:
            name = signed[name]
        if name.startswith("%"):
            yield name


def _chosen_bits(inst: Inst) -> list[str]:
    """A selection of floats as one of their bits."""
    test, one, other = inst.args
    bare, kind = _bare(inst.name), inst.ty.text
    bits = kind.replace(inst.ty.scalar.text, {"half": "i16", "float": "i32", "double": "i64"}[inst.ty.scalar.text])
    return [
        f"  %bits.a.{bare} = bitcast {kind} {one.text} to {bits}",
        f"  %bits.b.{bare} = bitcast {kind} {other.text} to {bits}",
        f"  %bits.{bare} = select {test.ty} {test.text}, {bits} %bits.a.{bare}, {bits} %bits.b.{bare}",
        f"  {inst.name} = bitcast {bits} %bits.{bare} to {kind}{inst.attached}",
    ]


def _zeros_chosen(module: Module) -> bool:
    """LLVM 22 makes a minimum or maximum of a choice between a number and the 0 that it is compared with, and so takes
    -0 for the lesser of two zeros, whichever the program takes: ``x < 0 ? x : 0`` becomes -0 for -0. It does not see
    that of a selection of the numbers' bits, which takes as many instructions. ``x > 0 ? x : 0`` is right."""

    def change(body: Body) -> bool:
        compared = {inst.name: inst for _, inst in body.having("fcmp")}
        changes = {}
        for number, inst in body.having("select"):
            test, *arms = inst.args
            made = compared.get(test.text)
            if made is None or inst.ty.scalar.kind != "float" or made.args[0].text not in [arm.text for arm in arms]:
                continue
            zeros = {"lt": _ZEROS, "gt": _NEGATIVE_ZEROS}.get(made.detail[1:], ())
            if any(part.text in zeros for arm in arms for part in arm.elems or (arm,)):
                changes[number] = _chosen_bits(inst)
        return body.replace(changes)

    return module.each(change)


_ZEROS = ("zeroinitializer", "0.000000e+00", "0xH0000")
_NEGATIVE_HALF = "0xH8000"
_NEGATIVE_ZEROS = ("-0.000000e+00", _NEGATIVE_HALF)
"""As LLVM writes them, of any type."""


def _never_zero(value: Value) -> bool:
    """Whether a number is a constant other than zero."""
    if value.elems is not None:
        return all(_never_zero(element) for element in value.elems)
    return value.is_nonzero


def _signed_halves(module: Module) -> bool:
    """LLVM 22 makes V_FMA_MIXLO_F16 of a product of floats that becomes a half, with 0 as what is added, so that -0
    becomes 0. Said to be a sum with -0, it is what it was."""

    def change(body: Body) -> bool:
        products = {inst.name: inst for _, inst in body.having("fmul", within="float")}
        parts = {inst.name: inst for _, inst in body.having("extractelement", within="float")} if products else {}
        changes = {}
        for number, inst in body.having("fptrunc", within="half"):
            (source,), lines, bare = inst.args, [], _bare(inst.name)
            part = parts.get(source.text)
            made = products.get(part.args[0].text if part is not None else source.text)
            if made is None or made.ty.scalar.text != "float" or {"nsz", "fast"} & {*made.flags}:
                continue
            kind, factors = source.ty, [value.text for value in made.args]
            if part is not None:
                vector, index = part.args
                lines = [
                    f"  %factor.{k}.{bare} = extractelement {vector.ty} {text}, {index.ty} {index.text}"
                    for k, text in enumerate(factors)
                ]
                factors = [f"%factor.{k}.{bare}" for k in range(2)]
            suffix, zero = "f32", "-0.000000e+00"
            if kind.count:
                suffix, zero = f"v{kind.count}f32", f"splat (float {zero})"
            module.declare(f"declare {kind} @llvm.fma.{suffix}({kind}, {kind}, {kind})")
            operands = ", ".join(f"{kind} {text}" for text in (*factors, zero))
            changes[number] = [
                *lines,
                f"  %signed.{bare} = call {kind} @llvm.fma.{suffix}({operands}){_place(inst)}",
                f"  {inst.name} = fptrunc {kind} %signed.{bare} to {inst.ty}{inst.attached}",
            ]
        return body.replace(changes)

    return module.each(change)


def _signed_half_constants(module: Module) -> bool:
    """LLVM 22 takes -0 for 0 where it is the upper one of two halves in a register, as of neighbouring stores. Of what
    an empty assembly text gives it knows no constant."""

    def change(body: Body) -> bool:
        changes = {}
        for number, inst in body.having("store", "insertelement", "shufflevector", within=_NEGATIVE_HALF):
            lines, line = [], body.lines[number]
            for k, value in enumerate(inst.args):
                if _NEGATIVE_HALF in value.text and not (inst.op == "store" and value.ty.count):
                    name = f"%hw.zero.{number}.{k}"
                    lines.append(f'  {name} = call {value.ty} asm "", "=v,0"({value.ty} {value.text})')
                    line = line.replace(f"{value.ty} {value.text}", f"{value.ty} {name}", 1)
            changes[number] = [*lines, line]
        return body.replace(changes)

    return module.each(change)


_CLAMPS_WITH_CARRIES = 8
"""The generation whose only 32-bit sums that saturate are those that write a carry, too."""


def _kept_clamps(module: Module) -> bool:
    """LLVM 22 makes such a sum with a constant, where it folds the constant in late, a shorter instruction that does
    not saturate (SIFoldOperands.cpp, tryAddToFoldList). Of what an empty assembly text gives it knows no constant."""

    def change(body: Body) -> bool:
        changes = {}
        for callee in ("llvm.uadd.sat.", "llvm.usub.sat."):
            for number, inst in body.calls(callee):
                if inst.ty.scalar.text != "i32" or all(value.is_local for value in inst.args):
                    continue
                lines, operands = [], []
                for k, value in enumerate(inst.args):
                    text = value.text
                    if not value.is_local:
                        text = f"%hw.number.{k}.{_bare(inst.name)}"
                        lines.append(f'  {text} = call {inst.ty} asm "", "=v,0"({inst.ty} {value.text})')
                    operands.append(f"{inst.ty} {text}")
                call = f"call {inst.ty} @{inst.detail}({', '.join(operands)}){_place(inst)}"
                changes[number] = [*lines, f"  {inst.name} = {call}"]
        return body.replace(changes)

    return module.each(change)


def _opaque_indices(module: Module) -> bool:
    """LLVM 22.1 fails on gfx9 at an element of a vector in registers whose index becomes a constant while code is
    generated (LLVM's pull request 179699 describes and ends that). It knows nothing of what an empty assembly text
    gives, and takes it for different in each lane."""

    def change(body: Body) -> bool:
        changes = {}
        for number, inst in body.having("extractelement"):
            vector, index = inst.args
            if index.is_local:
                hidden = f"%hw.opaque.{_bare(inst.name)}"
                changes[number] = [
                    f'  {hidden} = call {index.ty} asm "", "=v,0"({index.ty} {index.text})',
                    f"  {inst.name} = extractelement {vector.ty} {vector.text}, {index.ty} {hidden}{inst.attached}",
                ]
        return body.replace(changes)

    return module.each(change)

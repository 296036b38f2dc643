"""Input: the front end's IR. Output: kernels ready to vectorise, and from vectorised kernels object code for this
machine.

It knows llvmlite. LLVM may abort the process: only `headwater.native.worker` imports this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import llvmlite.binding as llvm

from headwater.errors import InternalError, SourceError
from headwater.llvm.ir import Module, Param
from headwater.llvm.modules import (
    HALF_PATHS,
    HUGE_TEXT,
    LARGE_TEXT,
    Target,
    emit_object,
    gathers,
    host_target,
    limit_code_generation,
    limit_passes,
    machine,
    parse,
    quick_machine,
)
from headwater.llvm.passes.bit_vectors import without_bit_vectors
from headwater.llvm.passes.demanded_components import with_demanded_components
from headwater.llvm.passes.index_constants import constants_outside
from headwater.llvm.passes.inlining import inlined
from headwater.llvm.passes.selected_values import chosen_once
from headwater.llvm.passes.single_components import with_single_components
from headwater.llvm.text import has_findings, string_bytes, with_narrower_vectors, with_plain_types
from headwater.llvm.types import LOCAL_SPACE, PRIVATE_SPACE
from headwater.native.shared import BOUNDS_SUFFIX, FITS_SUFFIX
from headwater.opencl.checked import settle, with_definedness, with_printing, without_speculation
from headwater.opencl.kernels import AccessLine, BoundsTest, Built, CodeRequest, TestedAccess
from headwater.opencl.linking import link_pieces, recursive, refuse_recursion, refuse_undefined
from headwater.opencl.platforms import SPIR
from headwater.opencl.printf import parse as parse_format, strings_in
from headwater.opencl.program_variables import share_variables
from headwater.opencl.symbols import symbol_of
from headwater.vectorise.analysis.cache_lines import in_lines, line_items, only_reads
from headwater.vectorise.analysis.cost import LANES, down_width, estimate
from headwater.vectorise.analysis.linearisation import Linear
from headwater.vectorise.analysis.ordered_branches import entry_guard, restartable, uneven_loops
from headwater.vectorise.analysis.row_count import NO_FLOW, Flow
from headwater.vectorise.analysis.row_value_numbering import rows_share
from headwater.vectorise.analysis.shapes import Shapes
from headwater.vectorise.analysis.store_alignment import Place, streaming_place
from headwater.vectorise.analysis.throughput import flow
from headwater.vectorise.layout import LOCAL_ALIGN_BYTES, Layout, line_layout
from headwater.vectorise.lower.chunk_function import ChunkCode, lower_chunk, lower_overflow_guards, lower_store_address
from headwater.vectorise.lower.entry import PLACE, Entry, argument_places, write_entry, write_fits_entry
from headwater.vectorise.lower.faults import CHECK_FUNCTION, barrier_check
from headwater.vectorise.lower.state import Formats
from headwater.vectorise.plan.chunk_plan import ChunkPlan, Variant, plan_chunk
from headwater.vectorise.plan.launch_layout import KernelFacts, masked_layout
from headwater.vectorise.plan.strip_mining import find_strips
from headwater.vectorise.prepare.kernel import Kernel, is_local, read_kernel
from headwater.vectorise.prepare.privatized_counters import Counter, find_counters, functions, privatize

FULL, MASKED, SINGLE, FITS = "chunk.full", "chunk.masked", "chunk.single", "chunk.fits"
"""Functions for a chunk of lanes and rows, for one that lacks some of them, for one work-item, and for the question
whether the rest takes nothing for granted that is not so."""

ID_RANGE = "range(i64 0, 2147483648)"
"""Work-item ids and sizes are below 2^31: the launcher refuses larger launches, so 32-bit index arithmetic is exact."""

_MANY_PHIS = 1_000
"""Branches times insertions into vectors, from which on they are looked through: as many phis there may be. 20 nested
loops of IL have 2,112 and take 1.4 s of processor time instead of 5.2."""
_OPAQUE_TYPES = {"Image": "ptr addrspace(1)", "Sampler": "i32", "Event": "i64"}
"""What becomes of types that only SPIR-V has, by the ends of their names."""


_METADATA = """\
!9000 = !{i32 1}
!9001 = !{}
!9002 = distinct !{!9002, !9003}
!9003 = !{!"llvm.loop.unroll.runtime.disable"}"""
"""What the generated code refers to: streaming stores, constant memory, and loops not to be unrolled."""


def retargeted(text: str, target: Target) -> Module:
    """spir64 IR as IR for this machine: its triple and layout, images as pointers, samplers as numbers, and every
    function inlined: a chunk of work-items has no call stack of its own."""
    module = Module(with_plain_types(text, _OPAQUE_TYPES))
    module.retarget(target.data_layout, target.triple)
    for name, line in module.declares.items():
        words, returns, rest = line.partition(" i64 @")
        if name.startswith("__hw_") and returns and "range(" not in words:
            module.declares[name] = f"{words} {ID_RANGE}{returns}{rest}"
    inlined(module)
    return module


def link(
    ir: str, pieces: Iterable[str], kernels: Iterable[str], filename: str, *, checked: bool = False
) -> tuple[str, int]:
    """Link what a program needs of the device library, its ``pieces``, to it. ``checked``: see
    `headwater.opencl.checked`.

    Returns the module's text, for `prepare`, and the bytes of this machine's vector registers. Raises SourceError for
    calls of functions that neither the program nor the device library defines, and for recursion.
    """
    target = host_target()
    program = retargeted(ir, target)
    constants_outside(program)
    if checked:
        builder = llvm.create_pass_builder(machine(), llvm.create_pipeline_tuning_options(speed_level=2))
        without_speculation(program)
        program = with_definedness(program, kernels, builder)
    module = parse(str(program))
    link_pieces(module, pieces, lambda text: str(retargeted(text, target)))
    refuse_undefined(module, filename, SPIR)
    text = str(module)
    linked = Module(text)
    refuse_recursion(recursive(linked, kernels), filename)
    share_variables(linked, text)
    return str(linked), target.vector_bytes


def prepare(text: str, kernel: str) -> tuple[str, KernelFacts]:
    """Inline everything into one kernel of a linked module and simplify it; the other kernels are left out.

    Returns the text of a module with the kernel, for `build`, and its facts.
    """
    limit_passes(text)
    module = parse(text)
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name == kernel else "internal"
    tm = machine()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(tm, options)
    first = llvm.create_new_module_pass_manager()
    first.add_global_dead_code_eliminate_pass()  # what only other kernels call is not worth inlining
    first.add_always_inliner_pass()
    first.add_global_dead_code_eliminate_pass()
    large, branched = len(text) >= LARGE_TEXT, text.count("br i1 ") * text.count(" insertelement ") >= _MANY_PHIS
    if large or branched:
        first.add_sroa_pass()
    first.run(module, builder)
    if large or branched:
        values = Module(str(module))
        changed = with_demanded_components(values) if branched else False
        if large:
            changed |= with_single_components(values)
        module = parse(str(values)) if changed else module
    simplify = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplify.run(function, builder)
    last = llvm.create_new_module_pass_manager()
    last.add_lower_switch_pass()
    last.add_unify_function_exit_nodes_pass()
    last.add_loop_simplify_pass()
    last.add_lcssa_pass()
    last.add_global_dead_code_eliminate_pass()
    last.run(module, builder)
    optimised = str(module)
    if has_findings(optimised):
        settle(module, builder)
        optimised = str(module)
    if has_findings(optimised):
        return prepare(with_printing(text), kernel)
    prepared = Module(optimised)
    without_bit_vectors(prepared)
    chosen_once(prepared)
    return str(prepared), _facts(read_kernel(prepared, kernel, guarded=True))


def _facts(kernel: Kernel) -> KernelFacts:
    params = kernel.function.params[: len(kernel.function.params) - len(kernel.locals_bytes)]
    places, args_bytes = argument_places(params)
    cost, busy, down, share, line, lines = None, NO_FLOW, 0, False, 0, False
    if not kernel.cfg.irreducible:
        shapes, busy = _flow(kernel)
        cost = estimate(kernel.function, kernel.cfg, shapes, gathers())
        if 1 in kernel.dims and not kernel.has_barrier and not cost.masked_loops:
            down = down_width(kernel.function, kernel.cfg, kernel.private, cost, gathers())
            share = rows_share(kernel.function, kernel.cfg, kernel.private)
        if not share:
            line = _line_items(kernel)
        lines = kernel.flat and not kernel.has_loop and in_lines(kernel.function, kernel.cfg, shapes)
    static = sum(-(-size // LOCAL_ALIGN_BYTES) * LOCAL_ALIGN_BYTES for size in kernel.locals_bytes)
    return KernelFacts(
        arg_offsets=tuple(p.offset for p in places),
        args_bytes=args_bytes,
        static_local_bytes=static,
        has_barrier=kernel.has_barrier,
        flat=kernel.flat,
        has_loop=kernel.has_loop,
        masked_loops=cost is not None and cost.masked_loops,
        scalar_pays=cost is None or cost.scalar_pays,
        size=kernel.size,
        dims=tuple(sorted(kernel.dims)),
        unbounded=kernel.unbounded,
        streaming=kernel.streaming,
        reducible=not kernel.cfg.irreducible,
        private_bytes=sum(
            i.source.size_bytes for b in kernel.function.blocks.values() for i in b.insts if i.op == "alloca"
        ),
        flow=busy,
        down_width=down,
        rows_share=share,
        line_items=line,
        in_lines=lines,
        streams=cost is not None and cost.streams,
        llvm_vectorises=cost is not None and cost.llvm_vectorises,
        counts_in_one_place=cost is not None and cost.counts_in_one_place,
        counters=tuple(counter.position for counter in find_counters(kernel.function, len(params))),
        fits=bool(kernel.fits),
        in_step=kernel.in_step,
        traps=any(i.op == "call" and i.detail == "llvm.trap" for b in kernel.function.blocks.values() for i in b.insts),
    )


def _flow(kernel: Kernel) -> tuple[Shapes, Flow]:
    """How its hottest part keeps the processor busy, with lanes of a register's width."""
    shapes = Shapes(kernel.function, kernel.cfg, Layout(LANES), dict(kernel.private))
    return shapes, flow(kernel.function, kernel.cfg, shapes, gathers())


def _line_items(kernel: Kernel) -> int:
    """The work-items that a large launch takes together to go a line at a time; 0 if it does not."""
    if host_target().cpu not in HALF_PATHS or kernel.has_loop or kernel.has_barrier or kernel.cfg.irreducible:
        return 0
    shapes, busy = _flow(kernel)
    return line_items(kernel.function, kernel.cfg, shapes, busy)


@dataclass(frozen=True, slots=True)
class Vectorised:
    """The text of a module with a kernel's entry. ``frame_bytes``: of a chunk, None if none stops at barriers;
    ``formats``: of printf, by number; ``fetches_ahead``: it prefetches for launches that want it."""

    text: str
    frame_bytes: int | None
    formats: tuple[str, ...]
    fetches_ahead: bool


def build(text: str, request: CodeRequest, symbol: str, *, halvings: int = 0) -> Built:
    """Vectorise one kernel of a prepared module, with an entry called ``symbol``, and compile it. ``halvings``: how
    often to halve the width of LLVM's vectors, see `headwater.native.worker.call_around_defects`."""
    module = Module(text)
    asked = "" if request.checked else symbol + BOUNDS_SUFFIX
    name = symbol_of(request.kernel)
    kernel = read_kernel(module, name, as_written=request.checked, guarded=request.guarded, bounds=asked)
    found = (
        find_counters(kernel.function, len(kernel.function.params) - len(kernel.locals_bytes))
        if request.privatised
        else ()
    )
    privatize(kernel.function, found)
    code = vectorised(module, kernel, symbol, request, found)
    alone = request.layout.lanes == 1 and kernel.has_loop and not request.checked
    objects = [compile_object(with_narrower_vectors(code.text, halvings), alone=alone)]
    if kernel.bounds.text:
        objects.append(_quickly_compiled(kernel.bounds.text))
    return Built(objects, code.frame_bytes, code.formats, code.fetches_ahead, _bounds_test(kernel, asked))


def _quickly_compiled(functions: str) -> bytes:
    """Object code of functions that are called seldom: what LLVM would gain is less than what it takes."""
    target = host_target()
    head = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n\n'
    text = f"{head}{functions}\n\n{_attributes(target, target.vector_bytes)}\n"
    return cast("bytes", quick_machine().emit_object(parse(text)))


def _bounds_test(kernel: Kernel, symbol: str) -> BoundsTest:
    found = kernel.bounds
    if not found.text:
        return BoundsTest()
    locals_bytes = dict(
        zip((p.name for p in kernel.function.params[-len(kernel.locals_bytes) :]), kernel.locals_bytes, strict=False)
    )
    accesses = tuple(TestedAccess(a.position, a.bytes, a.writes, locals_bytes.get(a.root, 0)) for a in found.accesses)
    return BoundsTest(symbol, found.sized, found.values, accesses)


def access_lines(text: str, kernel_name: str) -> list[AccessLine]:
    """Where each access that `BoundsTest` numbers stands in the source, from ``text``."""
    found = read_kernel(Module(text), kernel_name, as_written=True, bounds=BOUNDS_SUFFIX).bounds.accesses
    return [AccessLine(one.position, one.bytes, one.writes, one.line, one.column) for one in found]


def vectorised(
    module: Module, kernel: Kernel, symbol: str, request: CodeRequest, counted: tuple[Counter, ...] = ()
) -> Vectorised:
    """The text of a module with the kernel's entry. ``counted``: counters that each thread counts for itself."""
    layout, masked, checked = request.layout, request.masked, request.checked
    if kernel.cfg.irreducible and (layout.lanes > 1 or layout.rows > 1):
        raise InternalError("irreducible control flow can only be run one work-item at a time")
    resumable = kernel.has_barrier and request.split
    params = kernel.function.params
    streaming = frozenset(params[i].name for i in kernel.streaming)
    formats: Formats = {}
    declares = {f"llvm.{name}.i64": f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("umin", "umax")}
    codes: list[ChunkCode] = []
    interleaved = kernel.private if layout.lanes > 1 else {}
    shapes = Shapes(kernel.function, kernel.cfg, layout, dict(interleaved))
    guard = None if resumable or kernel.cfg.irreducible else entry_guard(kernel.function, kernel.cfg, shapes)
    # One by one, as they are done again, work-items would not be in step.
    alone = resumable or layout.lanes == 1 or any(kernel.in_step)
    restarts = frozenset() if alone else restartable(kernel.function, kernel.cfg)
    gives_up, single = guard is not None, False
    uneven = uneven_loops(kernel.function, kernel.cfg) if layout.lanes == 1 else frozenset()
    place: Place | None = None
    by_lines = layout.rows == 2 and layout == line_layout(_line_items(kernel))
    at_ends = masked_layout(layout, kernel.size, has_barrier=kernel.has_barrier or any(kernel.in_step))
    for name, is_masked in ((FULL, False), (MASKED, True)):
        if is_masked and not masked:
            continue
        passed = guard if not is_masked else None
        chunk = at_ends if is_masked else layout
        shapes = Shapes(
            kernel.function,
            kernel.cfg,
            chunk,
            dict(interleaved),
            uniform_block=kernel.cfg.entry if passed is not None else "",
            # One by one, work-items cannot wait for each other.
            restartable=restarts if not is_masked or not kernel.has_barrier else frozenset(),
        )
        gives_up |= bool(shapes.assumed)
        single |= is_masked and bool(shapes.assumed)
        masked |= gives_up
        linear = Linear(kernel.function, kernel.cfg, shapes)
        sizes = _known_sizes(module, kernel) if checked else {}
        if not is_masked and masked and not resumable and layout.lanes > 1:
            place = streaming_place(kernel.function, kernel.cfg, shapes, streaming)
        strips = {}
        if not is_masked and not checked and (kernel.has_barrier or chunk.strip):
            vector_bytes = host_target().vector_bytes
            strips = find_strips(kernel.function, kernel.cfg, shapes, linear, vector_bytes, gathers())
        variant = Variant(
            name,
            masked=is_masked,
            resumable=resumable,
            checked=checked,
            streaming=streaming,
            sizes=sizes,
            uneven=uneven,
            lines=place is not None,
            unmasked_gathers=not gathers().have_masks,
            strips=strips,
            fetches=not by_lines,
        )
        codes.append(lower_chunk(plan_chunk(linear, variant, passed), formats))
        declares |= codes[-1].declares
    frame_bytes = max(c.frame_bytes for c in codes) if resumable else None
    if single:
        codes.append(lower_chunk(_one_item(kernel, SINGLE), formats))
        declares |= codes[-1].declares
    own = params[: len(params) - len(kernel.locals_bytes)]
    entry = Entry(
        symbol,
        own,
        kernel.locals_bytes,
        full=FULL,
        layout=layout,
        masked=MASKED if masked else None,
        masked_layout=at_ends,
        frame_bytes=frame_bytes,
        gives_up=gives_up,
        single=SINGLE if single else None,
        lane_bytes=place.lane_bytes if place is not None else 0,
        agreeing=checked and resumable,
        counters=counted,
    )
    target = host_target()
    declares.pop("hw_check", None)
    code = codes_text(codes)
    parts = [
        f'target datalayout = "{target.data_layout}"',
        f'target triple = "{target.triple}"',
        *(f"{name} = type {_struct_body(ty)}" for name, ty in module.structs.items()),
        *(line for name, line in module.globals.items() if not is_local(module, name)),
        *code,
        *([lower_store_address(_one_item(kernel, PLACE), place)] if place is not None else []),
        *(_fits_code(kernel, symbol, own) if kernel.fits else []),
        *([CHECK_FUNCTION] if checked else []),
        *(functions(counted) if counted else []),
        *([barrier_check(codes[0].barriers)] if checked and resumable else []),
        write_entry(entry),
        *sorted(declares.values()),
        _attributes(target, _register_bytes(kernel, layout, target, code)),
        _METADATA,
    ]
    fetches_ahead = any(c.fetches_ahead for c in codes)
    texts = tuple(_format_text(module, *f) for f in formats)
    return Vectorised("\n\n".join(parts) + "\n", frame_bytes, texts, fetches_ahead)


def _one_item(kernel: Kernel, name: str) -> ChunkPlan:
    """The plan of a function for one work-item."""
    shapes = Shapes(kernel.function, kernel.cfg, Layout(1), {})
    return plan_chunk(Linear(kernel.function, kernel.cfg, shapes), Variant(name))


def _fits_code(kernel: Kernel, symbol: str, own: list[Param]) -> list[str]:
    """The functions that tell whether a launch's numbers are such as the kernel was read for."""
    guards = lower_overflow_guards(_one_item(kernel, FITS), kernel.fits)
    return [guards, write_fits_entry(symbol + FITS_SUFFIX, FITS, own, kernel.locals_bytes)]


def _known_sizes(module: Module, kernel: Kernel) -> dict[str, tuple[str, int]]:
    """Pointer type and bytes of everything but private arrays that has a size of its own."""
    params = kernel.function.params
    own = len(params) - len(kernel.locals_bytes)
    sizes = {p.name: (p.ty.text, size) for p, size in zip(params[own:], kernel.locals_bytes, strict=True) if size}
    sizes |= {p.name: (p.ty.text, p.by_value.size_bytes) for p in params[:own] if p.by_value is not None}
    for name in module.globals:
        known = module.variable(name)
        if known is not None and known.space not in (PRIVATE_SPACE, LOCAL_SPACE):
            sizes[name] = (f"ptr addrspace({known.space})", known.ty.size_bytes)
    return sizes


def codes_text(codes: list[ChunkCode]) -> list[str]:
    """The chunk functions; full chunks are inlined into the loop over chunks, the others are called."""
    return [c.text if f"@{FULL}(" in c.text else c.text.replace(") #0 {", ") #2 {", 1) for c in codes]


def _struct_body(ty: object) -> str:
    from headwater.llvm.types import Type, struct_type

    assert isinstance(ty, Type)
    return struct_type(ty.fields, ty.packed).text


def _register_bytes(kernel: Kernel, layout: Layout, target: Target, code: list[str]) -> int:
    """Of the vector registers that LLVM shall use: half of the whole ones where those are not the fastest way through
    memory, unless a function is called that there is for whole ones only: LLVM divides nothing but its own operations.
    """
    whole_only = any("llvm.x86." in c or " fdiv afn " in c for c in code)
    if target.cpu not in HALF_PATHS or layout.lanes == 1 or whole_only:
        return target.vector_bytes
    halves = only_reads(kernel.function, kernel.cfg, _flow(kernel)[1])
    return target.vector_bytes // 2 if halves else target.vector_bytes


def _attributes(target: Target, register_bytes: int) -> str:
    bits = 8 * register_bytes
    machine_attributes = (
        f'nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}" '
        f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}" "no-builtins"'
    )
    return (
        f"attributes #0 = {{ alwaysinline {machine_attributes} }}\n"
        f"attributes #1 = {{ {machine_attributes} }}\n"
        f"attributes #2 = {{ noinline {machine_attributes} }}"
    )


def _format_text(module: Module, name: str, addresses: tuple[bool, ...]) -> str:
    """The text of a format string from its global's initialiser. ``addresses``: which of its arguments are some."""
    known = module.variable(name) if name in module.globals else None
    if known is not None and known.initialiser.startswith("zeroinitializer"):
        return ""
    if known is None or not known.initialiser.startswith('c"'):
        raise SourceError(
            "the format of printf must be a string literal (OpenCL C 1.2 specification 6.12.13.1)",
            hint="write each one out in a call of its own",
        )
    text = string_bytes(known.initialiser).split(b"\0", 1)[0].decode("utf-8", "replace")
    if not all(slot < len(addresses) and addresses[slot] for slot in strings_in(parse_format(text))):
        raise SourceError(
            f"printf is to print a string by %s in {text!r}, but its argument is none",
            hint="pass a literal string, or print a number by %d, %u, %ld, %g or the like",
        )
    return text


QUICK_LINES = 2000
"""Lines of generated code beyond which only what it needs is done to it. All of -O1's passes for functions take up to
four times as long, and find nothing that could be measured (the histogram of the benchmarks, 5300 lines)."""


def assembly(text: str, request: CodeRequest, symbol: str, *, halvings: int = 0) -> str:
    """What `build` makes for such a launch, as assembly."""
    module = Module(text)
    kernel = read_kernel(module, symbol_of(request.kernel), guarded=request.guarded)
    code = vectorised(module, kernel, symbol, request)
    whole = with_narrower_vectors(code.text, halvings)
    made, tm = _optimised(whole, alone=request.layout.lanes == 1 and kernel.has_loop)
    shown: str = tm.emit_assembly(made)
    return shown


def compile_object(text: str, *, alone: bool = False) -> bytes:
    """Optimise a module's text and emit object code for this machine; ``alone``: see `_optimised`."""
    return emit_object(*_optimised(text, alone=alone))


def _optimised(text: str, *, alone: bool) -> tuple[Any, Any]:
    """A module's text, optimised, and the machine that it is for.

    What a work-item does has been through -O2 before it was vectorised. What is left to do is in the seams: chunks are
    inlined into their loop, memory becomes registers, what does not change leaves loops. More passes find no more,
    but in code for work-items that run ``alone``: there LLVM vectorises loops (see
    `headwater.vectorise.analysis.inner_loops`).
    """
    if " fdiv afn " in text and "+avx512vl" in host_target().features.split(","):
        from headwater.llvm.passes.reciprocal_roots import with_estimated_roots

        estimated = Module(text)
        with_estimated_roots(estimated)
        text = str(estimated)
    limit_passes(text)
    limit_code_generation(reassociates=len(text) < LARGE_TEXT, hoists=len(text) < HUGE_TEXT)
    module = parse(text)
    tm = machine()
    long = text.count("\n") > QUICK_LINES
    loops = alone and not long
    options = llvm.create_pipeline_tuning_options(speed_level=2 if loops else 1)
    options.loop_vectorization = options.loop_interleaving = loops
    options.slp_vectorization = False  # gives nothing in chunks, and narrows some products' operands wrongly
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(tm, options)
    if loops:
        builder.getModulePassManager().run(module, builder)
        return module, tm
    first = llvm.create_new_module_pass_manager()
    first.add_always_inliner_pass()
    first.add_global_dead_code_eliminate_pass()
    if long:
        first.add_sroa_pass()
        first.add_simplify_cfg_pass()
        first.add_instruction_combine_pass()
        first.add_simplify_cfg_pass()
        first.add_dead_code_elimination_pass()
        first.run(module, builder)
    else:
        first.run(module, builder)
        passes = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return module, tm

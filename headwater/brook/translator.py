"""Input: the text of a ``.br`` file. Output: a ``BrookModule`` (OpenCL C and the description of its kernels)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.base.recursion import deep_recursion
from headwater.brook import ast
from headwater.brook.affine import has_uneven_loops
from headwater.brook.checker import check_kernel, check_struct, check_typedef
from headwater.brook.context import Context, KernelInfo
from headwater.brook.emit_body import Lines, Storage, stored_differs
from headwater.brook.emit_kernels import KernelEmitter
from headwater.brook.emit_pixels import PixelEmitter, PixelReductionEmitter
from headwater.brook.emit_reductions import ReductionEmitter
from headwater.brook.hostcode import Regions, find_regions, keep
from headwater.brook.model import BrookModule, BrookSignature, Parameter, StructType
from headwater.brook.naming import Names
from headwater.brook.options import Options, parse_options
from headwater.brook.pixel_support import PixelSupport
from headwater.brook.preprocess import preprocess
from headwater.brook.source import SourceText
from headwater.brook.support import Support
from headwater.errors import SourceError


def translate(source: str, filename: str, options: str = "") -> BrookModule:
    """Translate Brook+ to OpenCL C.

    ``filename`` appears in messages only. ``options`` are those of ``parse_options``: ``-D name=value``, ``-pp``,
    ``-a`` and so on.
    Raises ``SourceError`` for the first fault, with the others in its details; ``UsageError`` for an unknown option.
    """
    settings = parse_options(options)
    try:
        with deep_recursion():
            return _translate(source, filename, settings)
    except RecursionError:
        raise SourceError(
            f"{filename} nests expressions or statements too deeply", None, hint="split it into several statements"
        ) from None


def _translate(text: str, filename: str, options: Options) -> BrookModule:
    prepared = preprocess(text, filename, options)
    regions = find_regions(prepared)
    kernels = _parse(prepared, regions)
    context = Context(prepared, options)
    _warn_of_includes(context)
    _declare_types(context, regions)
    return _checked_module(context, kernels)


def translate_kernels(source: SourceText, kernels: list[ast.KernelNode]) -> BrookModule:
    """Translate the syntax trees of kernels, each behind those that it calls; ``source`` is what they were made of.

    Raises ``SourceError`` as `translate`.
    """
    return _checked_module(Context(source, parse_options("")), kernels)


def _checked_module(context: Context, kernels: list[ast.KernelNode]) -> BrookModule:
    context.later_kernels = {kernel.name for kernel in kernels}
    for kernel in kernels:
        context.later_kernels.discard(kernel.name)
        check_kernel(context, kernel)
    context.source.faults.raise_all()
    return replace(_emit(context), pixels=_emit(context, pixels=True))


def _warn_of_includes(context: Context) -> None:
    """Warn that files of the program's own, which may hold what kernels need, are passed over."""
    source = context.source
    for line, file in source.includes.items():
        if file.startswith('"') and context.options.warning_level:
            column = source.source_line(line).find("#") + 1
            message = f"#include {file} is passed over: kernels see only what this file itself defines"
            context.warnings.append(source.warning(message, line, column))


def _parse(source: SourceText, regions: Regions) -> list[ast.KernelNode]:
    from headwater.brook.parser import parse_kernels

    if not regions.kernels:
        source.faults.raise_all()
        raise SourceError(
            f"{source.filename} holds no kernel",
            None,
            hint="a kernel looks like: kernel void f(float a<>, out float b<>) { b = a; }",
        )
    whole = []
    for region in regions.kernels:
        first, _ = source.place(region.start)
        last, _ = source.place(region.end)
        line = next((line for line in range(first, last + 1) if line in source.directives), 0)
        if not line:
            whole.append(region)
            continue
        source.faults.lost.add(region.name)
        source.faults.report(
            SourceError(
                f"directive #{source.directives[line]} inside kernel {region.name!r}",
                replace(source.span(line, 1), column=source.source_line(line).find("#") + 1),
                hint="translate with -pp",
                source_line=source.source_line(line),
            )
        )
    return parse_kernels(source, whole)


def _declare_types(context: Context, regions: Regions) -> None:
    """Structs and typedefs in source order. Those that kernels cannot use are host code, until a kernel uses them."""
    from headwater.brook.parser import parse_struct, parse_typedef

    source = context.source
    for region in sorted([*regions.structs, *regions.typedefs], key=lambda region: region.start):
        text = keep(source.text, (region,))
        try:
            if region in regions.structs:
                check_struct(context, parse_struct(source, text))
            else:
                check_typedef(context, parse_typedef(source, text))
        except SourceError as fault:
            context.host_structs[region.name] = fault


def _emit(context: Context, *, pixels: bool = False) -> BrookModule:
    """The module for buffers, or the one of ``pixels`` shaders."""
    names = Names(set(context.kernels) | set(context.structs))
    support = PixelSupport(context.structs) if pixels else Support()
    storage = Storage(context.structs)
    parts: list[Lines] = []
    kernels: dict[str, BrookSignature] = {}
    for info in context.kernels.values():
        emitter = _emitter(info, pixels)(info, names, support, storage)
        part = Lines()
        part.add(f"/* {_signature(context, info)} */", info.node.line)
        part.extend(emitter.body())
        entries = []
        for entry, lines in emitter.entries():
            part.add()
            part.extend(lines)
            entries.append(entry)
        parts.append(part)
        kernels[info.name] = _describe(context, info, tuple(entries))
    needs = frozenset().union(*(kernel.needs for kernel in kernels.values()))
    top = _prologue(context, needs, pixels)
    for text in support.texts.values():
        top.add(text)
    for position, part in enumerate(parts):
        if position:
            top.add()
        top.extend(part)
    return BrookModule(
        source="\n".join(top.text) + "\n",
        filename=context.source.filename,
        kernels=kernels,
        structs=dict(context.structs),
        line_map=tuple(top.source),
        warnings=tuple(context.warnings),
        needs=needs,
    )


def _emitter(info: KernelInfo, pixels: bool) -> Any:
    if pixels:
        return PixelReductionEmitter if info.is_reduction else PixelEmitter
    return ReductionEmitter if info.is_reduction else KernelEmitter


def _prologue(context: Context, needs: frozenset[str], pixels: bool) -> Lines:
    lines = Lines()
    name = context.source.filename.replace("\\", "/").rsplit("/", 1)[-1].replace("*/", "")
    lines.add(f"/* OpenCL C translated from {' '.join(name.split())} by Headwater. */")
    lines.add()
    if "double" in needs:
        lines.add("#ifdef cl_khr_fp64")
        lines.add("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
        lines.add("#endif")
        lines.add()
    used = _used_structs(context)
    for struct in context.structs.values():
        if struct.name in used:
            _struct(struct, context.structs, lines, in_buffers=not pixels)
            lines.add()
    return lines


def _used_structs(context: Context) -> set[str]:
    used: set[str] = set()

    def visit(name: str) -> None:
        if name not in used:
            used.add(name)
            for member in context.structs[name].fields:
                if member.type.is_struct:
                    visit(member.type.base)

    for kernel in context.kernels.values():
        for symbol in [*kernel.parameters, *kernel.locals]:
            if symbol.type.is_struct:
                visit(symbol.type.base)
        if kernel.result.is_struct:
            visit(kernel.result.base)
    return used


def _struct(struct: StructType, structs: dict[str, StructType], lines: Lines, *, in_buffers: bool) -> None:
    names = Names()
    lines.add("typedef struct {")
    for member in struct.fields:
        lines.add(f"    {member.type.name} {names.user(member.name)};")
    lines.add(f"}} {struct.name};")
    if not in_buffers or not stored_differs(struct, structs):
        return
    lines.add()
    lines.add("/* The same as it lies in buffers: vectors are not aligned to their size. */")
    lines.add("typedef struct {")
    loads: list[str] = []
    stores: list[str] = []
    for member in struct.fields:
        name, type_ = names.user(member.name), member.type
        if type_.is_struct and stored_differs(structs[type_.base], structs):
            lines.add(f"    {type_.base}_stored {name};")
            loads.append(f"    s.{name} = {type_.base}_load(&p->{name});")
            stores.append(f"    {type_.base}_store(&p->{name}, s.{name});")
        elif type_.width > 1:
            lines.add(f"    {type_.base} {name}[{type_.width}];")
            loads.append(f"    s.{name} = vload{type_.width}(0, p->{name});")
            stores.append(f"    vstore{type_.width}(s.{name}, 0, p->{name});")
        else:
            lines.add(f"    {type_.name} {name};")
            loads.append(f"    s.{name} = p->{name};")
            stores.append(f"    p->{name} = s.{name};")
    name = struct.name
    lines.add(f"}} {name}_stored;")
    for space, suffix in (("__global", ""), ("__constant", "_constant")):
        lines.add()
        lines.add(f"{name} {name}_load{suffix}({space} const {name}_stored *p)")
        lines.add("{")
        lines.add(f"    {name} s;")
        for text in loads:
            lines.add(text.replace("_load(", f"_load{suffix}("))
        lines.add("    return s;")
        lines.add("}")
    lines.add()
    lines.add(f"void {name}_store(__global {name}_stored *p, {name} s)")
    lines.add("{")
    for text in stores:
        lines.add(text)
    lines.add("}")


def _signature(context: Context, kernel: KernelInfo) -> str:
    """The kernel's head as the user wrote it, on one line."""
    parameters = []
    for written, symbol in zip(kernel.node.parameters, kernel.parameters, strict=True):
        words = [word for word, _, _ in written.specifiers.qualifiers if word in {"out", "reduce", "iter"}]
        shape = "<>" if symbol.stream else "".join(f"[{size}]" for size in symbol.sizes) or "[]" * symbol.rank
        parameters.append(" ".join([*words, symbol.type.name, symbol.name]) + shape)
    qualifier = "reduce" if kernel.is_reduction else "kernel"
    return f"{qualifier} {kernel.result.name} {kernel.name}({', '.join(parameters)}), line {kernel.node.line}"


def _describe(context: Context, info: KernelInfo, entries: tuple[object, ...]) -> BrookSignature:
    parameters = tuple(
        Parameter(p.name, p.kind, p.type.element, p.rank, p.sizes)  # type: ignore[arg-type]
        for p in info.parameters
    )
    first = next((p.name for p in info.parameters if p.kind == "output" and p.stream), "")
    scatter = next((p.name for p in info.parameters if p.kind == "scatter"), "")
    return BrookSignature(
        name=info.name,
        parameters=parameters,
        entries=entries,  # type: ignore[arg-type]
        domain_from="" if info.is_reduction else first or scatter,
        group_size=info.group_size,
        commutative=info.commutative,
        uses_position=info.uses_position,
        uneven=has_uneven_loops(info),
        needs=frozenset({"double"} if info.uses_double else ()),
        line=info.node.line,
        doc=_doc(context, info),
    )


def _doc(context: Context, info: KernelInfo) -> str:
    """The comment right above the kernel, without its stars."""
    first = min([info.node.specifiers.line, *([info.node.attribute[2]] if info.node.attribute else [])])
    for line in range(first - 1, max(first - 3, 0), -1):
        comment = context.source.comments.get(line)
        if comment is not None:
            body = [text.strip().strip("/*").strip() for text in comment.split("\n")]
            return "\n".join(body).strip()
        if context.source.source_line(line).strip():
            break
    return ""

"""Input: a built-in's mangled name and declaration. Output: LLVM IR that defines it by rule."""

from __future__ import annotations

import re

from headwater.llvm.text import element_type, result_type
from headwater.opencl import synthesis_atomic, synthesis_convert, synthesis_image, synthesis_image_instructions
from headwater.opencl.mangle import MangleError, Pointer, Scalar, Type, Vector, demangle, mangle
from headwater.opencl.names import COMMON, INTEGER, MATHS_1, MATHS_2, MATHS_3, MATHS_FAST_1, MATHS_FAST_2, MATHS_OTHER
from headwater.opencl.platforms import Platform
from headwater.opencl.synthesis_base import Body

ELEMENTWISE = frozenset(
    {
        *MATHS_1,
        *MATHS_2,
        *MATHS_3,
        *MATHS_OTHER,
        *(f"{kind}_{name}" for kind in ("native", "half") for name in (*MATHS_FAST_1, *MATHS_FAST_2)),
        *INTEGER,
        *COMMON,
        "bitselect",
    }
)
PACKED_HALVES = {"fma": "fma", "mad": "fma", "fmax": "maxnum", "fmin": "minnum"}
"""Functions of vectors of halves that are LLVM's operations on whole vectors, of which gfx9 computes two components in
an instruction (`v_pk_fma_f16`). LLVM takes the components apart for chips that do not."""
RELATIONAL = frozenset(
    "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal "
    "isordered isunordered signbit".split()
)


def define(symbol: str, declaration: str, platform: Platform) -> str | None:
    """IR text of ``define … @symbol``, or None if no rule fits. ``declaration`` is its ``declare`` line, if known."""
    if symbol == "__translate_sampler_initializer":
        return _sampler_literal(symbol, platform)
    if symbol == synthesis_image_instructions.SAMPLERS:
        return synthesis_image_instructions.samplers_table()
    if symbol.startswith("__hw_scratch_"):
        element = symbol.removeprefix("__hw_scratch_")
        return f"@{symbol} = internal addrspace(3) global [{platform.group_limit} x {element}] undef, align 8"
    try:
        name, parameters = demangle(symbol)
    except MangleError:
        return None
    body = Body(symbol, parameters, result_type(declaration), platform)
    for rule in (
        synthesis_convert.define,
        synthesis_atomic.define,
        synthesis_image.define,
        _elementwise,
        _relational,
        _select,
        _any_all,
        _shuffle,
        _load_store,
        _copy,
        _work_group,
    ):
        if rule(body, name, parameters):
            return body.text()
    return None


def _sampler_literal(symbol: str, platform: Platform) -> str:
    body = Body(symbol, (Scalar("i"),), platform.sampler, platform)
    if platform.sampler == "i32":
        body.give("%0")
    elif platform.image_instructions:
        body.give(synthesis_image_instructions.literal(body, "%0"))
    else:
        wide = body.emit("zext i32 %0 to i64")
        if platform.sampler_shift:
            wide = body.emit(f"shl i64 {wide}, {platform.sampler_shift}")
        body.give(body.emit(f"inttoptr i64 {wide} to {platform.sampler}"))
    return body.text()


def declare_primitive(symbol: str) -> str:
    """The declaration of a function that the vectoriser provides."""
    if symbol == "__hw_barrier":
        return "declare spir_func void @__hw_barrier() convergent nounwind"
    if symbol == "__hw_work_dim":
        return "declare spir_func i32 @__hw_work_dim() nounwind willreturn memory(none)"
    return f"declare spir_func i64 @{symbol}() nounwind willreturn memory(none)"


def _width(what: Type) -> int:
    if isinstance(what, Pointer):
        return _width(what.pointee)
    return what.width if isinstance(what, Vector) else 1


def _scalar(what: Type) -> Type:
    if isinstance(what, Vector):
        return what.element
    if isinstance(what, Pointer) and isinstance(what.pointee, Vector):
        return Pointer(what.pointee.element, what.space, what.volatile, what.const, what.atomic)
    return what


def _components(body: Body, parameters: tuple[Type, ...], index: int) -> list[str]:
    """Component ``index`` of every parameter, as operands: ``type value``."""
    operands = []
    for position, what in enumerate(parameters):
        if isinstance(what, Vector):
            value = body.emit(f"extractelement {what.llvm} %{position}, i64 {index}")
            operands.append(f"{what.element.llvm} {value}")
        elif isinstance(what, Pointer) and isinstance(what.pointee, Vector):
            at = body.emit(f"getelementptr {what.pointee.element.llvm}, {what.llvm} %{position}, i64 {index}")
            operands.append(f"{what.llvm} {at}")
        else:
            operands.append(f"{what.llvm} %{position}")
    return operands


def _spread(body: Body, what: Type, position: int, width: int) -> str:
    """Parameter ``position`` as a vector."""
    if isinstance(what, Vector):
        return f"%{position}"
    first = body.emit(f"insertelement <{width} x {what.llvm}> poison, {what.llvm} %{position}, i64 0")
    kind = f"<{width} x {what.llvm}>"
    return body.emit(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")


def _elementwise(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """``name`` per component, where the vector form is just that."""
    width = max(map(_width, parameters), default=1)
    if name not in ELEMENTWISE or width == 1:
        return False
    scalar = mangle(name, tuple(map(_scalar, parameters)))
    element = element_type(body.result)
    if name in PACKED_HALVES and element == "half" and body.platform.packed_halves:
        # A scalar among the parameters (fmax(half4, half)) is in every component.
        operands = ", ".join(f"{body.result} {_spread(body, what, at, width)}" for at, what in enumerate(parameters))
        body.give(body.emit(f"call {body.result} @llvm.{PACKED_HALVES[name]}.v{width}f16({operands})"))
        return True
    value = "poison"
    for index in range(width):
        operands = ", ".join(_components(body, parameters, index))
        part = body.emit(f"call spir_func {element} @{scalar}({operands})")
        value = body.emit(f"insertelement {body.result} {value}, {element} {part}, i64 {index}")
    body.give(value)
    return True


def _relational(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """Vector comparisons give -1 where the scalar ones give 1 (OpenCL C 1.2 specification 6.12.6)."""
    first = parameters[0] if parameters else None
    if name not in RELATIONAL or not isinstance(first, Vector):
        return False
    scalar = mangle(name, tuple(map(_scalar, parameters)))
    element = element_type(body.result)
    value = "poison"
    for index in range(first.width):
        operands = ", ".join(_components(body, parameters, index))
        found = body.emit(f"call spir_func i32 @{scalar}({operands})")
        truth = body.emit(f"icmp ne i32 {found}, 0")
        part = body.emit(f"sext i1 {truth} to {element}")
        value = body.emit(f"insertelement {body.result} {value}, {element} {part}, i64 {index}")
    body.give(value)
    return True


def _select(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """The scalar form asks for a non-zero condition, the vector form for its most significant bit."""
    if name != "select" or len(parameters) != 3:
        return False
    condition, values = parameters[2], parameters[0]
    if isinstance(condition, Vector) and isinstance(values, Vector):
        chosen = body.emit(f"icmp slt {condition.llvm} %2, zeroinitializer")
        body.give(body.emit(f"select <{values.width} x i1> {chosen}, {values.llvm} %1, {values.llvm} %0"))
    else:
        chosen = body.emit(f"icmp ne {condition.llvm} %2, 0")
        body.give(body.emit(f"select i1 {chosen}, {values.llvm} %1, {values.llvm} %0"))
    return True


def _any_all(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    if name not in ("any", "all"):
        return False
    (what,) = parameters
    value, element = "%0", what.llvm
    if isinstance(what, Vector):
        element = what.element.llvm
        value = body.emit(f"extractelement {what.llvm} %0, i64 0")
        for index in range(1, what.width):
            part = body.emit(f"extractelement {what.llvm} %0, i64 {index}")
            value = body.emit(f"{'or' if name == 'any' else 'and'} {element} {value}, {part}")
    body.give(body.emit(f"zext i1 {body.emit(f'icmp slt {element} {value}, 0')} to i32"))
    return True


def _shuffle(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """``shuffle`` and ``shuffle2`` (6.12.12): only the low bits of a mask's component count."""
    if name not in ("shuffle", "shuffle2"):
        return False
    source, mask = parameters[0], parameters[-1]
    if not isinstance(source, Vector) or not isinstance(mask, Vector):
        return False
    width, whole, vector = source.width, "%0", source.llvm
    if name == "shuffle2":
        order = ", ".join(f"i32 {i}" for i in range(2 * width))
        whole = body.emit(f"shufflevector {vector} %0, {vector} %1, <{2 * width} x i32> <{order}>")
        width, vector = 2 * width, f"<{2 * width} x {source.element.llvm}>"
    value = "poison"
    for index in range(mask.width):
        chosen = body.emit(f"extractelement {mask.llvm} %{len(parameters) - 1}, i64 {index}")
        chosen = body.emit(f"and {mask.element.llvm} {chosen}, {width - 1}")
        part = body.emit(f"extractelement {vector} {whole}, {mask.element.llvm} {chosen}")
        value = body.emit(f"insertelement {body.result} {value}, {source.element.llvm} {part}, i64 {index}")
    body.give(value)
    return True


_VLOAD = re.compile(r"v(?P<store>load|store)(?P<aligned>a?)(?P<half>_half)?(?P<width>\d*)(?P<rounding>_rt[ezpn])?")


def _load_store(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """vloadn, vstoren and their half forms (6.12.7): packed, aligned to one element; the ``a`` forms to the vector."""
    match = _VLOAD.fullmatch(name)
    if match is None:
        return False
    stores = match["store"] == "store"
    width = int(match["width"] or 1)
    pointer = parameters[-1]
    if not isinstance(pointer, Pointer) or not isinstance(pointer.pointee, Scalar):
        return False
    element = pointer.pointee
    # Aligned forms of 3 take every 4 elements, as float3 does in memory.
    stride = 4 if match["aligned"] and width == 3 else width
    align = element.bytes * (stride if match["aligned"] else 1)
    memory = f"<{width} x {element.llvm}>" if width > 1 else element.llvm
    at_offset, at_pointer = len(parameters) - 2, len(parameters) - 1
    size = parameters[at_offset].llvm  # that of size_t
    offset = body.emit(f"mul {size} %{at_offset}, {stride}")
    at = body.emit(f"getelementptr {element.llvm}, {pointer.llvm} %{at_pointer}, {size} {offset}")
    if not stores:
        value = body.emit(f"load {memory}, {pointer.llvm} {at}, align {align}")
        body.give(body.emit(f"fpext {memory} {value} to {body.result}") if match["half"] else value)
        return True
    value, data = "%0", parameters[0]
    if match["half"]:
        scalar = mangle(f"convert_half{match['rounding'] or '_rte'}", (_scalar(data),))
        if isinstance(data, Vector):
            value = "poison"
            for index in range(width):
                part = body.emit(f"extractelement {data.llvm} %0, i64 {index}")
                part = body.emit(f"call spir_func half @{scalar}({data.element.llvm} {part})")
                value = body.emit(f"insertelement {memory} {value}, half {part}, i64 {index}")
        else:
            value = body.emit(f"call spir_func half @{scalar}({data.llvm} %0)")
    body.line(f"store {memory} {value}, {pointer.llvm} {at}, align {align}")
    body.give("")
    return True


def _copy(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """async_work_group_copy: the group's items copy; wait_group_events is where they meet (6.12.10)."""
    if name == "prefetch":
        body.give("")
        return True
    if name == "wait_group_events":
        body.line("call spir_func void @__hw_barrier()")
        body.give("")
        return True
    if name not in ("async_work_group_copy", "async_work_group_strided_copy"):
        return False
    target, source = parameters[:2]
    if not isinstance(target, Pointer) or not isinstance(source, Pointer):
        return False
    what = target.pointee
    if isinstance(what, Vector):
        size = what.element.bytes * (4 if what.width == 3 else what.width)
    elif isinstance(what, Scalar):
        size = what.bytes
    else:
        return False
    direction = "in" if target.space == 3 else "out"
    strided = "strided_" if "strided" in name else ""
    helper = f"__hw_copy_{strided}{direction}_{size}"
    operands = [f"{p.llvm} %{i}" for i, p in enumerate(parameters[:2])]
    for i, p in enumerate(parameters[2:-1], 2):  # numbers of elements: the helpers take them as ulong
        operands.append(f"i64 %{i}" if p.llvm == "i64" else f"i64 {body.emit(f'zext {p.llvm} %{i} to i64')}")
    body.line(f"call spir_func void @{helper}({', '.join(operands)})")
    body.give(f"%{len(parameters) - 1}")
    return True


_WORK_GROUP = re.compile(r"work_group_(all|any|broadcast|(?:reduce|scan_inclusive|scan_exclusive)_(?:add|min|max))")


def _work_group(body: Body, name: str, parameters: tuple[Type, ...]) -> bool:
    """The group functions (OpenCL C 3.0 specification 6.15.16) hand their values to each other in local memory."""
    match = _WORK_GROUP.fullmatch(name)
    first = parameters[0] if parameters else None
    if match is None or not isinstance(first, Scalar):
        return False
    scratch = f"__hw_scratch_{first.llvm}"
    operands = ", ".join(f"{p.llvm} %{i}" for i, p in enumerate(parameters))
    helper = mangle(f"__hw_{name}", (*parameters, Pointer(first, 3)))
    body.give(body.emit(f"call spir_func {body.result} @{helper}({operands}, ptr addrspace(3) @{scratch})"))
    return True

"""Input: an instruction of IL that touches memory. Output: fetches, LDS operations, writes and exports.

docs/vliw.md says which resource, constant buffer and RAT stands for which of IL's. `operands` has the registers that
are memory.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.il.checker import Uav
from headwater.il.model import Instruction, Operand
from headwater.il.table import operations
from headwater.isa.vliw.compiler import fold
from headwater.isa.vliw.compiler.build import ONE, ZERO, number
from headwater.isa.vliw.compiler.ir import FETCH, MEMORY, Const, Op, Ref, Use, Value
from headwater.isa.vliw.compiler.operands import Lowering, access_target, memory_export, store_raw, vertex_fetch
from headwater.isa.vliw.compiler.resources import GLOBAL_BYTES, RETURNS, UAVS

_FORMATS = {1: 13, 2: 29, 3: 47, 4: 34}
"""DATA_FORMAT of 32-bit components by their number (AMD, Evergreen-Family ISA, VTX_WORD1)."""
_FORMAT_8, _FORMAT_16 = 1, 5
_INTEGER = 1  # NUM_FORMAT_ALL


def lower(lowering: Lowering, made: Instruction) -> bool:
    """Lower the instruction if it is one of memory; whether it was."""
    name = made.mnemonic
    function = _INSTRUCTIONS.get(name)
    if function is None and name.startswith("uav_") and operations()[name].meaning.startswith("atomic_"):
        function = _uav_atomic
    if function is None:
        return False
    function(lowering, made)
    return True


# -- fetches -----------------------------------------------------------------------------------------------------------


def coordinates(lowering: Lowering, refs: list[Ref]) -> list[Use]:
    """Texture coordinates: registers, 0 and 1.0 as they are, and 0 for those that are missing."""
    b = lowering.builder
    given = [ref if type(ref) is Const and ref in (ZERO, ONE) else b.register(ref) for ref in refs]
    return [Use(ref) for ref in given] + [Use(ZERO)] * (4 - len(given))


def _texture(
    lowering: Lowering, name: str, resource: int, refs: list[Ref], fields: dict[str, int], order: str = ""
) -> list[Ref]:
    b = lowering.builder
    uses = coordinates(lowering, refs)
    key: tuple[object, ...] = ("texture", name, *uses, resource, *sorted(fields.items()))
    if order:
        key = (*key, id(b.region), lowering.versions)
    results: list[Value | None] = [Value() for _ in range(4)]
    op = Op(name, uses, results, FETCH, fields={"resource_id": resource, **fields}, order=order)
    return [value for value in b.fetch(key, op).results if value is not None]


def _offsets(made: Instruction) -> list[float]:
    modifier = made.modifier("aoffimmi")
    return [float(argument) for argument in modifier.arguments] if modifier is not None else []


def _coordinates_of(lowering: Lowering, made: Instruction) -> tuple[list[Ref], dict[str, int]]:
    """Where an instruction samples its resource, and the fields that say the rest of it."""
    resource = lowering.facts.resources[made.number("resource")]
    b = lowering.builder
    source = made.operands[1]
    refs: list[Ref] = [lowering.plain(lowering.read(source, "f", k)) for k in range(resource.dimensions)]
    fields = {"sampler_id": made.number("sampler")}
    for k, offset in enumerate(_offsets(made)[: resource.dimensions]):
        steps = round(offset * 2)  # OFFSET_X: signed, 4 bits and one of fraction
        if not -16 <= steps < 16 or steps != offset * 2:
            if not resource.unnormalised:
                raise lowering.error(f"_aoffimmi({offset}) is beyond -8 to 7.5 texels")
            refs[k] = b.alu("ADD", refs[k], Const(fold.to_bits(offset)))
        elif steps:
            fields[f"offset_{'xyz'[k]}"] = steps & 31
    if not resource.unnormalised:
        fields |= dict.fromkeys(("coord_type_x", "coord_type_y", "coord_type_z", "coord_type_w"), 1)
    return refs, fields


def _sample(lowering: Lowering, made: Instruction) -> None:
    """Also with a level, a bias or gradients, which choose among levels: a resource has but one."""
    refs, fields = _coordinates_of(lowering, made)
    texel = _texture(lowering, "SAMPLE", made.number("resource"), refs, fields)
    lowering.assign(made, lambda k: lowering.finish(made, texel[k]))


def _fetch4(lowering: Lowering, made: Instruction) -> None:
    """The first lanes of the four texels around a place, each sampled at its centre: against the clock from the lower
    left (Direct3D 10.1)."""
    resource = lowering.facts.resources[made.number("resource")]
    if resource.dimensions != 2:
        raise lowering.error(f"fetch4 wants a resource of two dimensions, {resource.number} has one")
    b = lowering.builder
    refs, fields = _coordinates_of(lowering, made)
    if not resource.unnormalised:
        size = _texture(lowering, "GET_TEXTURE_RESINFO", resource.number, [ZERO], {})
        refs = [b.alu("MUL_IEEE", ref, b.alu("UINT_TO_FLT", size[k])) for k, ref in enumerate(refs)]
    for k, axis in enumerate("xy"):
        half_texels = fields.get(f"offset_{axis}", 0)
        by = (half_texels - 32 * (half_texels >> 4)) / 2
        refs[k] = b.alu("FLOOR", b.alu("ADD", refs[k], Const(fold.to_bits(by - 0.5))))
    plain = {"sampler_id": fields["sampler_id"]}
    found: list[Ref] = []
    for right, down in ((0, 1), (1, 1), (1, 0), (0, 0)):
        moves = (Const(fold.to_bits(0.5 + n)) for n in (right, down))
        at = [b.alu("ADD", ref, move) for ref, move in zip(refs, moves, strict=True)]
        found.append(_texture(lowering, "SAMPLE", resource.number, at, plain)[0])
    lowering.assign(made, lambda k: lowering.finish(made, found[k]))


def _derivative(lowering: Lowering, made: Instruction) -> None:
    """Differences in a pixel's quad: of its first row and column, or with ``_fine`` of the pixel's own."""
    b = lowering.builder
    fine = made.modifier("fine") is not None
    if fine and not lowering.target.traits.has_pixel_gradients:
        raise lowering.error(
            f"{made.mnemonic}_fine: {lowering.target.chip.name} has derivatives for whole quads only",
            "those for each pixel came with the HD 5000 series",
        )
    wanted = [k for k, letter in enumerate(made.operands[0].lanes or "xyzw") if letter in "xyzw"]
    source = [lowering.plain(lowering.read(made.operands[1], "f", k)) if k in wanted else ZERO for k in range(4)]
    suffix = "_FINE" if fine else ""
    axes = {"dsx": "H", "dsy": "V", "fwidth": "HV"}[made.mnemonic]
    slopes = [_texture(lowering, f"GET_GRADIENTS_{axis}{suffix}", 0, source, {}) for axis in axes]

    def lane(k: int) -> Ref:
        if len(slopes) == 1:
            return lowering.finish(made, slopes[0][k])
        return lowering.finish(made, b.alu("ADD", *(Use(slope[k], False, True) for slope in slopes)))

    lowering.assign(made, lane)


def _load(lowering: Lowering, made: Instruction) -> None:
    resource = lowering.facts.resources[made.number("resource")]
    refs: list[Ref] = [lowering.read(made.operands[1], "i", k).ref for k in range(resource.dimensions)]
    for k, offset in enumerate(_offsets(made)[: resource.dimensions]):
        refs[k] = lowering.builder.alu("ADD_INT", refs[k], number(int(offset)))
    texel = _texture(lowering, "LD", resource.number, refs, {})
    lowering.assign(made, lambda k: lowering.finish(made, texel[k]))


def _resinfo(lowering: Lowering, made: Instruction) -> None:
    size = _texture(lowering, "GET_TEXTURE_RESINFO", made.number("resource"), [ZERO], {})
    whole = made.modifier("uint") is not None
    one = number(1) if whole else ONE

    def lane(k: int) -> Ref:
        return one if k > 1 else size[k] if whole else lowering.builder.alu("UINT_TO_FLT", size[k])

    lowering.assign(made, lane)


# -- the global buffer and unordered access views ----------------------------------------------------------------------


def _view(lowering: Lowering, made: Instruction, *kinds: str) -> Uav:
    found = lowering.facts.uavs[made.number("id")]
    if found.kind not in kinds:
        raise lowering.error(f"uav {found.number} is declared {found.kind}, {made.mnemonic} wants {kinds[0]}")
    return found


def _raw_read(lowering: Lowering, view: Uav, address: Ref, data_format: int = 0) -> list[Ref]:
    resource = UAVS + view.number if lowering.target.traits.has_random_access_targets else GLOBAL_BYTES
    return vertex_fetch(lowering, resource, address, "global", data_format)


def _raw_write(lowering: Lowering, view: Uav, address: Ref, data: dict[int, Ref]) -> None:
    dword = lowering.builder.alu("LSHR_INT", address, number(2))
    if lowering.target.traits.has_random_access_targets:
        store_raw(lowering, view.number, dword, data)
    else:
        memory_export(lowering, dword, data, 0)


def masked(made: Instruction, operand: Operand, read: Callable[[int], Ref]) -> dict[int, Ref]:
    """What is to be written, lane by lane of a mask."""
    lanes = operand.lanes or "xyzw"
    return {k: read(k) for k, letter in enumerate(lanes) if letter in "xyzw"}


def _uav_raw_load(lowering: Lowering, made: Instruction) -> None:
    view = _view(lowering, made, "raw", "arena")
    found = _raw_read(lowering, view, lowering.read(made.operands[1], "U", 0).ref)
    lowering.assign(made, lambda k: found[k])


def _uav_raw_store(lowering: Lowering, made: Instruction) -> None:
    view = _view(lowering, made, "raw", "arena")
    data = masked(made, made.operands[0], lambda k: lowering.read(made.operands[2], "b", k).ref)
    _raw_write(lowering, view, lowering.read(made.operands[1], "U", 0).ref, data)


def struct_address(lowering: Lowering, operand: Operand, stride: int) -> Ref:
    """The byte that an operand means by element and byte within it."""
    b = lowering.builder
    element, offset = (lowering.read(operand, "u", k) for k in range(2))
    return b.alu("ADD_INT", b.alu("MULLO_UINT", element, number(stride)), offset)


def _srv_load(lowering: Lowering, made: Instruction) -> None:
    view = lowering.facts.srvs[made.number("id")]
    if view.kind == "struct":
        address = struct_address(lowering, made.operands[1], view.stride_bytes)
    else:
        address = lowering.read(made.operands[1], "U", 0).ref
    found = vertex_fetch(lowering, view.number, address, bytewise=True)
    lowering.assign(made, lambda k: found[k])


def _uav_struct_load(lowering: Lowering, made: Instruction) -> None:
    view = _view(lowering, made, "struct")
    found = _raw_read(lowering, view, struct_address(lowering, made.operands[1], view.stride_bytes))
    lowering.assign(made, lambda k: found[k])


def _uav_struct_store(lowering: Lowering, made: Instruction) -> None:
    view = _view(lowering, made, "struct")
    data = masked(made, made.operands[0], lambda k: lowering.read(made.operands[2], "b", k).ref)
    _raw_write(lowering, view, struct_address(lowering, made.operands[1], view.stride_bytes), data)


def _needs_views(lowering: Lowering, made: Instruction) -> None:
    if not lowering.target.traits.has_random_access_targets:
        raise lowering.error(
            f"{made.mnemonic}: {lowering.target.chip.name} has no unordered access views",
            "they came with the HD 5000 series; before it there is one global buffer",
        )


def _uav_load(lowering: Lowering, made: Instruction) -> None:
    _needs_views(lowering, made)
    view = _view(lowering, made, "typed")
    refs: list[Ref] = [lowering.read(made.operands[1], "u", k).ref for k in range(2)]
    found = _texture(lowering, "LD", UAVS + view.number, refs, {}, "global")
    lowering.assign(made, lambda k: found[k])


def _uav_store(lowering: Lowering, made: Instruction) -> None:
    _needs_views(lowering, made)
    view = _view(lowering, made, "typed")
    index: list[Ref] = [lowering.read(made.operands[0], "u", k).ref for k in range(2)]
    data: dict[int, Ref] = {k: lowering.read(made.operands[1], "b", k).ref for k in range(4)}
    access_target(lowering, "STORE_TYPED", view.number, data, index)


def _arena_bits(lowering: Lowering, made: Instruction) -> int:
    size = made.modifier("size")
    word = size.arguments[0] if size is not None and size.arguments else "dword"
    if word not in ("byte", "short", "dword"):
        raise lowering.error(f"_size({word})", "byte, short or dword")
    return {"byte": 8, "short": 16, "dword": 32}[word]


def _uav_arena_load(lowering: Lowering, made: Instruction) -> None:
    view = _view(lowering, made, "arena", "raw")
    data_format = {8: _FORMAT_8, 16: _FORMAT_16, 32: _FORMATS[1]}[_arena_bits(lowering, made)]
    found = _raw_read(lowering, view, lowering.read(made.operands[1], "U", 0).ref, data_format)[0]
    lowering.assign(made, lambda _: found)


def _uav_arena_store(lowering: Lowering, made: Instruction) -> None:
    b = lowering.builder
    view = _view(lowering, made, "arena", "raw")
    address, value = (lowering.read(operand, "U", 0).ref for operand in made.operands)
    bits = _arena_bits(lowering, made)
    if bits == 32:
        _raw_write(lowering, view, address, {0: value})
        return
    shift = b.alu("LSHL_INT", b.alu("AND_INT", address, number(3)), number(3))
    mask = b.alu("LSHL_INT", number((1 << bits) - 1), shift)
    moved = b.alu("LSHL_INT", b.alu("AND_INT", value, number((1 << bits) - 1)), shift)
    dword = b.alu("LSHR_INT", address, number(2))
    if lowering.target.traits.has_random_access_targets:
        access_target(lowering, "MSKOR", view.number, {0: moved, 3: mask}, [dword])  # as LLVM has them, on Cayman, too
        return
    # No atomic operations before Evergreen: a dword is read, changed and written.
    old = _raw_read(lowering, view, b.alu("AND_INT", address, number(-4)), _FORMATS[1])[0]
    kept = b.alu("AND_INT", old, b.alu("NOT_INT", mask))
    _raw_write(lowering, view, address, {0: b.alu("OR_INT", kept, moved)})


def _second(lowering: Lowering) -> int:
    """The component of a RAT operation's second datum (Mesa, r600 driver, atomic operations of images)."""
    return lowering.target.traits.compare_component


_RAT_NAMES = {
    "add": "ADD", "sub": "SUB", "rsub": "RSUB", "min": "MIN_INT", "max": "MAX_INT", "umin": "MIN_UINT",
    "umax": "MAX_UINT", "and": "AND", "or": "OR", "xor": "XOR", "inc": "INC_UINT", "dec": "DEC_UINT",
    "uinc": "INC_UINT", "udec": "DEC_UINT", "cmp": "CMPXCHG_INT", "cmp_xchg": "CMPXCHG_INT", "xchg": "XCHG",
}  # fmt: skip


def _uav_atomic(lowering: Lowering, made: Instruction) -> None:
    _needs_views(lowering, made)
    view = _view(lowering, made, "raw", "typed", "arena", "struct")
    b = lowering.builder
    returns = operations()[made.mnemonic].has_result
    address, *values = (lowering.read(operand, "U", 0).ref for operand in made.operands[returns:])
    if view.kind == "struct":
        address = struct_address(lowering, made.operands[returns], view.stride_bytes)
    data: dict[int, Ref] = {0: values[0]}
    if len(values) > 1:
        data[_second(lowering)] = values[1]
    name = _RAT_NAMES[made.mnemonic.removeprefix("uav_").removeprefix("read_")]
    if view.kind == "typed" and view.planar:
        raise lowering.error(f"{made.mnemonic}: a typed view of two dimensions has no atomic operations")
    # A typed view is addressed by elements, of one dword.
    dword = address if view.kind == "typed" else b.alu("LSHR_INT", address, number(2))
    if not returns:
        access_target(lowering, name, view.number, data, [dword])
        return
    slot = lowering.thread("global_flat", 0)
    access_target(lowering, f"{name}_RTN", view.number, {**data, 1: slot}, [dword])
    old = vertex_fetch(lowering, RETURNS + view.number, slot, "global", _FORMATS[1])[0]
    lowering.assign(made, lambda _: old)


# -- the end of the program --------------------------------------------------------------------------------------------


DISCARDED = ("flag", 0, 0)
"""The variable that says whether a pixel is to be dropped at the end, where its neighbours may want its values."""


def _discard_later(lowering: Lowering, condition: Ref) -> None:
    assert lowering.environment is not None
    known = lowering.environment.get(DISCARDED)
    lowering.environment[DISCARDED] = lowering.builder.alu("OR_INT", known, condition)


def _discard(lowering: Lowering, made: Instruction) -> None:
    condition = lowering.read(made.operands[0], "U", 0)
    if lowering.facts.derivatives:
        met = condition.ref
        if not made.mnemonic.endswith("nz"):
            met = lowering.builder.alu("SETE_INT", condition, ZERO)
        _discard_later(lowering, met)
        return
    name = "KILLNE_INT" if made.mnemonic.endswith("nz") else "KILLE_INT"
    lowering.builder.add(Op(name, [condition, Use(ZERO)], [None], order="all", effect=True))


def _kill(lowering: Lowering, made: Instruction) -> None:
    for k in range(4):
        value = lowering.read(made.operands[0], "f", k)
        if lowering.facts.derivatives:
            _discard_later(lowering, lowering.builder.alu("SETGT_DX10", ZERO, value))
            continue
        lowering.builder.add(Op("KILLGT", [Use(ZERO), value], [None], order="all", effect=True))


def exports(lowering: Lowering) -> None:
    """The colour outputs, as they are when the program ends."""
    b = lowering.builder
    environment = lowering.environment
    assert environment is not None
    if lowering.program.kind != "ps":
        return
    discarded = environment.get(DISCARDED)
    if discarded != ZERO:
        b.add(Op("KILLNE_INT", [Use(discarded), Use(ZERO)], [None], order="all", effect=True))
    for number_of in sorted(lowering.facts.outputs):
        refs: list[Ref] = [environment.get(("o", number_of, lane)) for lane in range(4)]
        uses = coordinates(lowering, refs)
        b.add(Op("EXPORT", uses, [], MEMORY, fields={"array_base": number_of}, order="all", effect=True))


_INSTRUCTIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    **dict.fromkeys(("sample", "sample_l", "sample_b", "sample_g"), _sample),
    "fetch4": _fetch4,
    **dict.fromkeys(("dsx", "dsy", "fwidth"), _derivative),
    "srv_raw_load": _srv_load,
    "srv_struct_load": _srv_load,
    "load": _load,
    "resinfo": _resinfo,
    "uav_raw_load": _uav_raw_load,
    "uav_raw_store": _uav_raw_store,
    "uav_struct_load": _uav_struct_load,
    "uav_struct_store": _uav_struct_store,
    "uav_load": _uav_load,
    "uav_store": _uav_store,
    "uav_arena_load": _uav_arena_load,
    "uav_arena_store": _uav_arena_store,
    "discard_logicalnz": _discard,
    "discard_logicalz": _discard,
    "kill": _kill,
}

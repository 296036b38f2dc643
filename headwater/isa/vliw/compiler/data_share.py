"""Input: an instruction of IL on a data share, or a fence. Output: LDS operations, and fetches of R700's LDS and of the
global data share.

The arrays of a share lie one after another, by their numbers, and addresses count bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.il.model import Instruction, Operand
from headwater.il.table import operations
from headwater.isa.vliw.compiler.build import ZERO, number
from headwater.isa.vliw.compiler.ir import FETCH, RETURNING, Op, Ref, Use, Value
from headwater.isa.vliw.compiler.memory import coordinates, masked, struct_address
from headwater.isa.vliw.compiler.operands import Lowering

_NAMES = {
    "add": "ADD", "sub": "SUB", "rsub": "RSUB", "min": "MIN_INT", "max": "MAX_INT", "umin": "MIN_UINT",
    "umax": "MAX_UINT", "and": "AND", "or": "OR", "xor": "XOR", "inc": "INC", "dec": "DEC", "xchg": "XCHG",
    "mskor": "MSKOR",
}  # fmt: skip
_OFFSETS = 256
"""Bytes from an address that IDX_OFFSET of an LDS operation reaches (AMD, Evergreen-Family ISA)."""


def lower(lowering: Lowering, made: Instruction) -> bool:
    """Lower the instruction if it is one of a data share; whether it was."""
    name = made.mnemonic
    function = _INSTRUCTIONS.get(name)
    if function is None and operations()[name].meaning.startswith("atomic_"):
        function = {"lds": _lds_atomic, "gds": _gds_atomic}.get(name[:3])
    if function is None:
        return False
    function(lowering, made)
    return True


# -- the local data share ----------------------------------------------------------------------------------------------


def _local(lowering: Lowering, made: Instruction) -> int:
    """Where the LDS array that an instruction means begins, in bytes."""
    if not lowering.target.traits.has_shared_lds:
        raise lowering.error(
            f"{made.mnemonic}: {lowering.target.chip.name} has no LDS that work-items share freely",
            "it came with the HD 5000 series",
        )
    which = made.number("id") or made.number("resource")
    sizes = lowering.facts.lds_bytes
    if which not in sizes:
        raise lowering.error(f"LDS {which} is not declared", f"dcl_lds_id({which}) bytes")
    return sum(-(-size // 4) * 4 for n, size in sizes.items() if n < which)


def _lds_op(lowering: Lowering, name: str, address: Ref, offset: int, data: list[Ref], *, effect: bool) -> Value | None:
    b = lowering.builder
    beyond = offset - offset % _OFFSETS if offset >= _OFFSETS else 0
    base = b.alu("ADD_INT", address, number(beyond)) if beyond else address
    result = Value() if name in RETURNING else None
    fields = {"lds_offset": (offset - beyond) // 4}
    op = Op(name, [Use(base), *(Use(ref) for ref in data)], [result], fields=fields, order="lds", effect=effect)
    b.add(op)
    return result


def _lds_read(lowering: Lowering, address: Ref, offset: int) -> Ref:
    found = _lds_op(lowering, "LDS_READ_RET", address, offset, [], effect=False)
    assert found is not None
    return found


def _local_address(lowering: Lowering, made: Instruction, operand: Operand) -> Ref:
    """The byte that an address means: itself, or element and byte within it where the array has a structure."""
    stride = lowering.facts.lds_strides.get(made.number("id") or made.number("resource"))
    return lowering.read(operand, "U", 0).ref if stride is None else struct_address(lowering, operand, stride)


def _local_vector_address(lowering: Lowering, made: Instruction, operands: tuple[Operand, ...]) -> Ref:
    """The same of operations that have address and offset in two operands."""
    b = lowering.builder
    stride = lowering.facts.lds_strides.get(made.number("id"), 1)
    address, offset = (lowering.read(operand, "U", 0) for operand in operands)
    return b.alu("ADD_INT", b.alu("MULLO_UINT", address, number(stride)) if stride != 1 else address, offset)


def _lds_load(lowering: Lowering, made: Instruction) -> None:
    base = _local(lowering, made)
    address = _local_address(lowering, made, made.operands[1])
    found = _lds_read(lowering, address, base)
    lowering.assign(made, lambda _: found)


_SMALL = {
    "lds_load_byte": "LDS_BYTE_READ_RET",
    "lds_load_ubyte": "LDS_UBYTE_READ_RET",
    "lds_load_short": "LDS_SHORT_READ_RET",
    "lds_load_ushort": "LDS_USHORT_READ_RET",
    "lds_store_byte": "LDS_BYTE_WRITE",
    "lds_store_short": "LDS_SHORT_WRITE",
}
SMALL_ACCESSES = frozenset(_SMALL)
"""What chips with LDS instructions need not have expanded (`headwater.il.expand`)."""


def _lds_small(lowering: Lowering, made: Instruction) -> None:
    base, name = _local(lowering, made), _SMALL[made.mnemonic]
    if lowering.facts.lds_strides.get(made.number("id")) is not None:
        which = made.number("id")
        raise lowering.error(f"{made.mnemonic}: LDS {which} has a structure", f"dcl_lds_id({which}) bytes")
    loads = name in RETURNING
    address, *data = (lowering.read(operand, "U", 0).ref for operand in made.operands[loads:])
    found = _lds_op(lowering, name, address, base, data, effect=not loads)
    if found is not None:
        lowering.assign(made, lambda _: found)


def _lds_load_vec(lowering: Lowering, made: Instruction) -> None:
    base = _local(lowering, made)
    at = _local_vector_address(lowering, made, made.operands[1:])
    lowering.assign(made, lambda k: _lds_read(lowering, at, base + 4 * k))


def _lds_store(lowering: Lowering, made: Instruction) -> None:
    base = _local(lowering, made)
    address, value = _local_address(lowering, made, made.operands[0]), lowering.read(made.operands[1], "U", 0).ref
    _lds_op(lowering, "LDS_WRITE", address, base, [value], effect=True)


def _lds_store_vec(lowering: Lowering, made: Instruction) -> None:
    base = _local(lowering, made)
    at = _local_vector_address(lowering, made, made.operands[1:3])
    data = masked(made, made.operands[0], lambda k: lowering.read(made.operands[3], "b", k).ref)
    for k, ref in data.items():
        _lds_op(lowering, "LDS_WRITE", at, base + 4 * k, [ref], effect=True)


def _lds_atomic(lowering: Lowering, made: Instruction) -> None:
    base = _local(lowering, made)
    returns = operations()[made.mnemonic].has_result
    address = _local_address(lowering, made, made.operands[returns])
    values = [lowering.read(operand, "U", 0).ref for operand in made.operands[returns + 1 :]]
    short = made.mnemonic.removeprefix("lds_").removeprefix("read_")
    if short in ("cmp", "cmp_xchg"):  # the machine takes what is compared with first
        name, values = ("CMP_XCHG" if returns else "CMP_STORE"), values[::-1]
    else:
        name = _NAMES[short]
    old = _lds_op(lowering, f"LDS_{name}{'_RET' if returns else ''}", address, base, values, effect=True)
    if old is not None:
        lowering.assign(made, lambda _: old)


def _per_thread(lowering: Lowering, made: Instruction) -> int:
    if not lowering.facts.lds_dwords_per_thread:
        raise lowering.error(f"{made.mnemonic} needs dcl_lds_size_per_thread")
    if not lowering.target.traits.has_lds:
        raise lowering.error(
            f"{made.mnemonic}: {lowering.target.chip.name} has no LDS", "it came with the HD 4000 series"
        )
    return lowering.facts.lds_dwords_per_thread


def _lds_write_vec(lowering: Lowering, made: Instruction) -> None:
    """Into the work-item's own part, the owner's."""
    each, offset = _per_thread(lowering, made), made.number("lOffset")
    data = masked(made, made.operands[0], lambda k: lowering.read(made.operands[1], "b", k).ref)
    b = lowering.builder
    if lowering.target.traits.has_shared_lds:
        at = b.alu("MULLO_UINT", lowering.thread("local_flat", 0), number(4 * each))
        for k, ref in data.items():
            _lds_op(lowering, "LDS_WRITE", at, 4 * (offset + k), [ref], effect=True)
        return
    uses = [Use(b.register(data[k])) if k in data else Use(ZERO) for k in range(4)]
    fields = {"dst_index": offset, "dst_stride": each, "mask": sum(1 << k for k in data)}
    b.add(Op("LOCAL_DS_WRITE", uses, [], FETCH, fields=fields, order="lds", effect=True))


def _lds_read_vec(lowering: Lowering, made: Instruction) -> None:
    each = _per_thread(lowering, made)
    exchange = made.modifier("neighborExch") is not None
    b = lowering.builder
    thread, offset = (lowering.read(made.operands[1], "u", k).ref for k in range(2))
    if not lowering.target.traits.has_shared_lds:
        uses = coordinates(lowering, [b.register(thread), b.register(offset)])[:2]
        results: list[Value | None] = [Value() for _ in range(4)]
        fields = {"mux_cntl": int(exchange), "dst_stride": each}
        b.add(Op("LOCAL_DS_READ", uses, results, FETCH, fields=fields, order="lds"))
        found = [value for value in results if value is not None]
        lowering.assign(made, lambda k: found[k])
        return
    step = 4
    if exchange:  # the four threads' dwords of this thread's place among them
        place = b.alu("AND_INT", thread, number(3))
        offset, thread, step = b.alu("ADD_INT", offset, place), b.alu("AND_INT", thread, number(-4)), 4 * each
    dword = b.alu("ADD_INT", b.alu("MULLO_UINT", thread, number(each)), offset)
    at = b.alu("LSHL_INT", dword, number(2))
    lowering.assign(made, lambda k: _lds_read(lowering, at, step * k))


def _fence(lowering: Lowering, made: Instruction) -> None:
    names = [m.name for m in made.modifiers]
    lowering.versions += 1
    group = lowering.facts.group
    count = group[0] * group[1] * group[2] if group is not None else lowering.facts.largest_group
    if "threads" in names and count > 1:
        if lowering.target.has("GROUP_BARRIER"):
            lowering.builder.add(Op("GROUP_BARRIER", [], [], order="all", effect=True))
            return
        if count > lowering.target.chip.compute.wavefront_size:
            raise lowering.error(
                f"fence_threads: on {lowering.target.chip.name} only work-items of one wavefront can wait",
                f"a work-group of at most {lowering.target.chip.compute.wavefront_size}",
            )
    lowering.builder.add(Op("FENCE", [], [], order="all", effect=True))


# -- the global data share ---------------------------------------------------------------------------------------------


def _gds_address(lowering: Lowering, made: Instruction, operand: Operand) -> Ref:
    """The byte of the global data share that an operand means."""
    target = lowering.target
    if not target.traits.has_shared_lds:
        raise lowering.error(
            f"{made.mnemonic}: {target.chip.name} has no data share of all work-groups",
            "it came with the HD 5000 series",
        )
    which = made.number("id") or made.number("resource")
    facts, b = lowering.facts, lowering.builder
    start = sum(-(-size // 4) * 4 for n, size in facts.gds_bytes.items() if n < which)
    stride = facts.gds_strides.get(which)
    at = lowering.read(operand, "U", 0).ref if stride is None else struct_address(lowering, operand, stride)
    return b.alu("ADD_INT", at, number(start)) if start else at


def _gds(lowering: Lowering, made: Instruction, name: str, operands: tuple[Operand, ...], order: list[int]) -> None:
    """One operation: an address, then data in the machine's ``order``."""
    b = lowering.builder
    address = _gds_address(lowering, made, operands[0])
    data = [lowering.read(operand, "U", 0).ref for operand in operands[1:]]
    uses = [Use(b.register(ref)) for ref in (address, *(data[k] for k in order))]
    returns = name in RETURNING
    results: list[Value | None] = [Value()] if returns else []
    lowering.versions += 1
    op = b.add(Op(name, uses, results, FETCH, order="gds", effect=name != "GDS_READ_RET"))
    if returns:
        lowering.assign(made, lambda _: op.result)


def _gds_load(lowering: Lowering, made: Instruction) -> None:
    _gds(lowering, made, "GDS_READ_RET", made.operands[1:], [])


def _gds_store(lowering: Lowering, made: Instruction) -> None:
    _gds(lowering, made, "GDS_WRITE", made.operands, [0])


def _gds_atomic(lowering: Lowering, made: Instruction) -> None:
    returns = operations()[made.mnemonic].has_result
    short = made.mnemonic.removeprefix("gds_").removeprefix("read_")
    operands = made.operands[returns:]
    if short in ("cmp_store", "cmp_xchg"):  # the machine takes what is compared with first
        name, order = short.upper(), [1, 0]
    else:
        name, order = _NAMES[short], list(range(len(operands) - 1))
    _gds(lowering, made, f"GDS_{name}{'_RET' if returns else ''}", operands, order)


_INSTRUCTIONS: dict[str, Callable[[Lowering, Instruction], None]] = {
    **dict.fromkeys(SMALL_ACCESSES, _lds_small),
    "lds_load": _lds_load,
    "lds_load_vec": _lds_load_vec,
    "lds_store": _lds_store,
    "lds_store_vec": _lds_store_vec,
    "lds_write_vec": _lds_write_vec,
    "lds_read_vec": _lds_read_vec,
    "gds_load": _gds_load,
    "gds_store": _gds_store,
    "fence": _fence,
}

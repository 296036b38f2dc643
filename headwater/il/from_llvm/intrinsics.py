"""Input: calls of LLVM's intrinsics and of what the device library leaves to the machine. Output: lanes of IL."""

from __future__ import annotations

import re
from collections.abc import Callable

from headwater.il.from_llvm import wide
from headwater.il.from_llvm.arithmetic import compare_integers, refuse_double, to_64_bits, to_float, to_half
from headwater.il.from_llvm.builder import Lane, absolute, buffer_lane, constant
from headwater.il.from_llvm.context import ALL, Context
from headwater.il.from_llvm.types import bits, words
from headwater.il.model import Modifier, Register
from headwater.llvm.ir import Inst
from headwater.llvm.types import Type

_IGNORED = re.compile(
    r"llvm\.(lifetime|assume|dbg|debugtrap|experimental\.noalias|donothing|invariant|sideeffect|prefetch)\b"
)
_FLOAT = {
    "floor": "round_neginf", "ceil": "round_posinf", "trunc": "round_z", "roundeven": "round_nearest",
    "rint": "round_nearest", "nearbyint": "round_nearest", "sqrt": "sqrt_vec", "sin": "sin_vec", "cos": "cos_vec",
    "exp2": "exp_vec", "log2": "log_vec", "minnum": "min_ieee", "maxnum": "max_ieee", "minimumnum": "min_ieee",
    "maximumnum": "max_ieee", "fma": "fma", "fmuladd": "mad_ieee", "canonicalize": "mov",
}  # fmt: skip
_DOUBLE = {"sqrt": "dsqrt", "fma": "dmad", "fmuladd": "dmad"}
_EXTREMES = {"smin": "imin", "smax": "imax", "umin": "umin", "umax": "umax"}
_ESTIMATES = {"rsqrt": "rsq_vec", "recip": "rcp_vec", "sqrt": "sqrt_vec"}
_PLACES = {"local_id": "vTidInGrp", "group_id": "vThreadGrpId"}

# Elements of constant buffer 0 and what their lanes hold: AMD's OpenCL 1.x puts the first three there, too.
SIZES = {"global_size": 0, "local_size": 1, "num_groups": 2, "global_offset": 3}
WORK_DIM = buffer_lane(0, 0, "w")
DATA_ADDRESS = buffer_lane(0, 4, "x")
"""Where the program's own constants lie in memory."""
DOMAIN_WIDTH = buffer_lane(0, 4, "y")
WORK_ITEMS = buffer_lane(0, 4, "z")
"""For pixel shaders: how wide the domain is, and how many of its pixels are work-items."""
PRINTF_ADDRESS = buffer_lane(0, 4, "w")
PRINTF_MEMORY = "__hw_vliw_printf_memory"
"""The function that gives `PRINTF_ADDRESS`."""
ELEMENTS = 5
FLAT_ID = "flat id"
"""The name under which `Context.values` keeps a pixel shader's work-item number."""


def translate(c: Context, inst: Inst) -> list[Lane] | None:
    """The lanes of a call's result; None if nobody knows the function."""
    name = inst.detail
    if _IGNORED.match(name):
        return []
    if name.startswith("__hw_vliw_"):
        return _machine(c, name.removeprefix("__hw_vliw_"), inst)
    if not name.startswith("llvm."):
        return None
    operation = name.split(".")[1]
    if any(_is_of_other_width(ty, operation) for ty in (inst.ty, *(argument.ty for argument in inst.args))):
        return None
    handler = _HANDLERS.get(operation)
    if handler is not None:
        return handler(c, inst)
    scalar = inst.ty.scalar
    if scalar.kind == "float":
        return _float(c, operation, inst)
    return None


def _is_of_other_width(ty: Type, operation: str) -> bool:
    """Whether a type has integers that an operation does not know: of more than two lanes, or less than all of two."""
    least = 33 if operation in (*_EXTREMES, "abs", "scmp", "ucmp") else 64
    return ty.scalar.kind == "int" and ty.scalar.bits > 32 and not least <= ty.scalar.bits <= 64


def _machine(c: Context, name: str, inst: Inst) -> list[Lane] | None:
    if name in _ESTIMATES:
        return c.builder.each(_ESTIMATES[name], c.lanes(inst.args[0]), floats=True)
    if name == "ddiv":
        refuse_double(c, inst.ty)
        a, b = (wide.pairs(c.lanes(value))[0] for value in inst.args[:2])
        return wide.flat([wide.arithmetic(c, "ddiv", a, b)])
    if name in ("barrier", "fence"):
        return _fence(c, inst, threads=name == "barrier")
    if name == "high_product":
        return [c.one("umul_high", *(c.lanes(value)[0] for value in inst.args[:2]))]
    if name == "work_dim":
        return [WORK_DIM]
    if inst.detail == PRINTF_MEMORY:
        return [PRINTF_ADDRESS]
    if name == "flat_id":
        return c.values[FLAT_ID]
    base, dimension = name[:-2], int(name[-1])
    lane = "xyz"[dimension]
    if base in SIZES:
        return [buffer_lane(0, SIZES[base], lane)]
    return [Lane(Register(_PLACES[base]), lane)]


def _fence(c: Context, inst: Inst, *, threads: bool) -> list[Lane]:
    """Flag 1 is local memory, 2 global; without either, both."""
    given = c.lane(inst.args[0])
    flags = given.bits & 3 or 3 if given.register is None else 3
    names = ["threads"] if threads else []
    if threads and not c.chip.vliw.shared_local_memory:
        raise c.refuse("the kernel waits at a barrier", "work-groups with barriers need an HD 5000 or later")
    if flags & 1 and c.chip.vliw.shared_local_memory:
        names.append("lds")
    if flags & 2:
        names.append("memory")
    c.builder.put("fence", modifiers=[Modifier(name) for name in names])
    return []


def _float(c: Context, operation: str, inst: Inst) -> list[Lane] | None:
    scalar = inst.ty.scalar
    sources = [c.lanes(argument) for argument in inst.args]
    if scalar.bits == 64:
        refuse_double(c, scalar)
        mnemonic = _DOUBLE.get(operation)
        if mnemonic is None:
            return None
        columns = zip(*(wide.pairs(source) for source in sources), strict=True)
        return wide.flat([wide.arithmetic(c, mnemonic, *column) for column in columns])
    mnemonic = _FLOAT.get(operation)
    if mnemonic is None:
        return None
    if scalar.bits == 16:
        return to_half(c, c.builder.each(mnemonic, *(to_float(c, source) for source in sources), floats=True))
    return c.builder.each(mnemonic, *sources, floats=True)


def _fabs(c: Context, inst: Inst) -> list[Lane]:
    lanes, scalar = c.lanes(inst.args[0]), inst.ty.scalar
    if scalar.bits == 64:
        return wide.flat([wide.magnitude(pair) for pair in wide.pairs(lanes)])
    if scalar.bits == 16:
        return c.op("iand", lanes, 0x7FFF)
    return [absolute(lane) for lane in lanes]


def _copysign(c: Context, inst: Inst) -> list[Lane]:
    scalar = inst.ty.scalar
    a, b = (c.lanes(argument) for argument in inst.args)
    sign = 0x8000 if scalar.bits == 16 else 0x80000000
    out = []
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if scalar.bits == 64 and k % 2 == 0:
            out.append(x)
        else:
            out.append(c.one("ior", c.one("iand", x, sign - 1), c.one("iand", y, sign)))
    return out


def _extreme(c: Context, inst: Inst) -> list[Lane]:
    operation, scalar = inst.detail.split(".")[1], inst.ty.scalar
    a, b = (c.lanes(argument) for argument in inst.args)
    if scalar.bits > 32:
        predicate = operation[0] + ("lt" if operation.endswith("min") else "gt")
        out = []
        a, b = (to_64_bits(c, lanes, scalar, signed=predicate[0] == "s") for lanes in (a, b))
        for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True):
            out.append(wide.select(c, wide.compare(c, predicate, x, y), x, y))
        return wide.flat(out)
    widen = c.signed if operation[0] == "s" else c.unsigned
    return c.op(_EXTREMES[operation], widen(a, scalar), widen(b, scalar))


def _abs(c: Context, inst: Inst) -> list[Lane]:
    scalar, lanes = inst.ty.scalar, c.lanes(inst.args[0])
    if scalar.bits > 32:
        out = []
        for pair in wide.pairs(to_64_bits(c, lanes, scalar, signed=True)):
            out.append(wide.integer_magnitude(c, pair))
        return wide.flat(out)
    lanes = c.signed(lanes, scalar)
    return c.op("imax", lanes, c.op("inegate", lanes))


def _count(c: Context, inst: Inst) -> list[Lane]:
    """ctpop, ctlz, cttz."""
    operation, scalar, lanes = inst.detail.split(".")[1], inst.ty.scalar, c.lanes(inst.args[0])
    if scalar.bits == 64:
        out = []
        for pair in wide.pairs(lanes):
            if operation == "ctpop":
                low = c.one("iadd", c.one("icbits", pair[0]), c.one("icbits", pair[1]))
            else:
                low = wide.leading_zeros(c, pair) if operation == "ctlz" else wide.trailing_zeros(c, pair)
            out.append((low, constant(0)))
        return wide.flat(out)
    lanes = c.unsigned(lanes, scalar)
    if operation == "ctpop":
        return c.op("icbits", lanes)
    if operation == "ctlz":
        found = c.op("umin", c.op("ffb_hi", lanes), 32)
        return c.op("isub", found, 32 - scalar.bits) if scalar.bits < 32 else found
    if scalar.bits < 32:
        lanes = c.op("ior", lanes, 1 << scalar.bits)
    return c.op("umin", c.op("ffb_lo", lanes), 32)


def _reverse(c: Context, inst: Inst) -> list[Lane]:
    scalar, lanes = inst.ty.scalar, c.lanes(inst.args[0])
    turned = c.op("ubit_reverse", lanes)
    if scalar.bits == 64:
        return wide.flat([(high, low) for low, high in wide.pairs(turned)])
    return c.op("ushr", turned, 32 - scalar.bits) if scalar.bits < 32 else turned


def _swap_bytes(c: Context, inst: Inst) -> list[Lane]:
    scalar, lanes = inst.ty.scalar, c.lanes(inst.args[0])
    # The bytes at even places rotate left by 8, those at odd places by 24.
    even, odd = c.op("iand", lanes, 0x00FF00FF), c.op("iand", lanes, 0xFF00FF00)
    left = c.op("ior", c.op("ishl", even, 24), c.op("ushr", even, 8))
    right = c.op("ior", c.op("ishl", odd, 8), c.op("ushr", odd, 24))
    turned = c.op("ior", left, right)
    if scalar.bits == 64:
        return wide.flat([(high, low) for low, high in wide.pairs(turned)])
    return c.op("ushr", turned, 16) if scalar.bits == 16 else turned


def _funnel(c: Context, inst: Inst) -> list[Lane]:
    """fshl and fshr: the high or low word of two, shifted as one."""
    left, scalar = ".fshl." in inst.detail, inst.ty.scalar
    a, b, n = (c.lanes(argument) for argument in inst.args)
    if scalar.bits == 64:
        columns = zip(wide.pairs(a), wide.pairs(b), wide.pairs(n), strict=True)
        return wide.flat([_funnel_wide(c, x, y, by[0], left=left) for x, y, by in columns])
    if scalar.bits < 32:
        size = scalar.bits
        whole = c.op("ior", c.op("ishl", c.unsigned(a, scalar), size), c.unsigned(b, scalar))
        by = c.op("umod", c.unsigned(n, scalar), size)
        if left:
            return c.op("ushr", c.op("ishl", whole, by), size)
        return c.op("ushr", whole, by)
    if all(lane.register is None for lane in n):
        amounts = [lane.bits & 31 for lane in n]
        out_lanes: list[Lane] = []
        for x, y, amount in zip(a, b, amounts, strict=True):
            by_right = (32 - amount) & 31 if left else amount
            if amount == 0:
                out_lanes.append(x if left else y)
            else:
                out_lanes.append(_aligned(c, x, y, by_right))
        return out_lanes
    if left:
        if a == b:  # a rotation: to the right by what is left of 32
            return _aligned_lanes(c, a, b, c.op("inegate", n))
        # One place at a time, so that 0 needs no case of its own.
        first = c.op("ushr", b, 1)
        rest = c.op("ushr", first, c.op("inot", n))
        return c.op("ior", c.op("ishl", a, n), rest)
    return _aligned_lanes(c, a, b, n)


def _funnel_wide(c: Context, high: wide.Pair, low: wide.Pair, by: Lane, *, left: bool) -> wide.Pair:
    """One place first and the rest then, so that a shift by 64 does not occur."""
    amount = c.one("iand", by, 63)
    if amount.register is None and amount.bits == 0:
        return high if left else low
    none = constant(0)
    back = constant(63 - amount.bits) if amount.register is None else c.one("isub", 63, amount)
    kept, moved = (high, low) if left else (low, high)
    there, other = ("shl", "lshr") if left else ("lshr", "shl")
    rest = wide.shift(c, other, wide.shift(c, other, moved, (constant(1), none)), (back, none))
    return wide.logic(c, "ior", wide.shift(c, there, kept, (amount, none)), rest)


def _aligned(c: Context, high: Lane, low: Lane, by: int) -> Lane:
    if c.chip.vliw.bit_operations:
        return c.one("bitalign", high, low, by)
    return c.one("ior", c.one("ishl", high, 32 - by), c.one("ushr", low, by))


def _aligned_lanes(c: Context, high: list[Lane], low: list[Lane], by: list[Lane]) -> list[Lane]:
    if c.chip.vliw.bit_operations:
        return c.op("bitalign", high, low, by)
    first = c.op("ishl", high, 1)
    return c.op("ior", c.op("ishl", first, c.op("inot", by)), c.op("ushr", low, by))


def _saturated(c: Context, inst: Inst) -> list[Lane]:
    """uadd.sat, usub.sat, sadd.sat, ssub.sat."""
    kind, scalar = inst.detail.split(".")[1], inst.ty.scalar
    a, b = (c.lanes(argument) for argument in inst.args)
    adds = kind.endswith("add")
    if scalar.bits == 64:
        return wide.flat([_saturated_wide(c, kind, x, y) for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True)])
    if scalar.bits < 32:
        widen = c.signed if kind[0] == "s" else c.unsigned
        result = c.op("iadd" if adds else "isub", widen(a, scalar), widen(b, scalar))
        half = 1 << (scalar.bits - 1)
        low, high = (-half, half - 1) if kind[0] == "s" else (0, 2 * half - 1)
        return c.op("imin", c.op("imax", result, low), high)
    result = c.op("iadd" if adds else "isub", a, b)
    if kind == "uadd":
        return c.op("cmov_logical", c.op("ult", result, a), ALL, result)
    if kind == "usub":
        return c.op("cmov_logical", c.op("ult", a, b), 0, result)
    # It overflows where the result's sign differs from what both operands (or their difference) say.
    other = c.op("ixor", b, result) if adds else c.op("ixor", a, b)
    over = c.op("ishr", c.op("iand", c.op("ixor", a, result), other), 31)
    limit = c.op("ixor", c.op("ishr", a, 31), 0x7FFFFFFF)
    return c.op("cmov_logical", over, limit, result)


def _saturated_wide(c: Context, kind: str, a: wide.Pair, b: wide.Pair) -> wide.Pair:
    adds = kind.endswith("add")
    result = (wide.add if adds else wide.subtract)(c, a, b)
    if kind == "uadd":
        return wide.select(c, wide.compare(c, "ult", result, a), (constant(ALL), constant(ALL)), result)
    if kind == "usub":
        return wide.select(c, wide.compare(c, "ult", a, b), (constant(0), constant(0)), result)
    over = _over_signed(c, adds, a, b, result)
    sign = c.one("ishr", a[1], 31)
    return wide.select(c, over, (c.one("inot", sign), c.one("ixor", sign, 0x7FFFFFFF)), result)


def _three_way(c: Context, inst: Inst) -> list[Lane]:
    """scmp and ucmp: -1, 0 or 1, as the first is less, equal or more."""
    sign, scalar = inst.detail.split(".")[1][0], inst.args[0].ty.scalar
    a, b = (c.lanes(argument) for argument in inst.args)
    less, more = (compare_integers(c, f"{sign}{order}", scalar, a, b) for order in ("lt", "gt"))
    result = c.op("isub", less, more)  # a truth value is -1
    return result if bits(inst.ty.scalar) <= 32 else wide.flat([(lane, c.one("ishr", lane, 31)) for lane in result])


def _overflow(c: Context, inst: Inst) -> list[Lane] | None:
    """uadd, usub, umul, sadd, ssub, smul with overflow: the results of all lanes, then whether each overflowed."""
    kind = inst.detail.split(".")[1]
    scalar = inst.args[0].ty.scalar
    a, b = (c.lanes(argument) for argument in inst.args)
    if scalar.bits == 64:
        found = [_overflow_wide(c, kind, x, y) for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True)]
        return [*wide.flat([result for result, _ in found]), *(over for _, over in found)]
    if scalar.bits > 32:
        return None
    signed, name = kind[0] == "s", kind[1:]
    if scalar.bits < 32:  # the whole result has room in a register
        widen = c.signed if signed else c.unsigned
        a, b = widen(a, scalar), widen(b, scalar)
        result = c.op({"add": "iadd", "sub": "isub", "mul": "imul"}[name], a, b)
        return [*result, *c.op("ine", result, widen(result, scalar))]
    if name == "mul":
        result = c.op("imul", a, b)
        high = c.op("imul_high" if signed else "umul_high", a, b)
        return [*result, *c.op("ine", high, c.op("ishr", result, 31) if signed else 0)]
    result = c.op("iadd" if name == "add" else "isub", a, b)
    if not signed:
        return [*result, *(c.op("ult", result, a) if name == "add" else c.op("ult", a, b))]
    other = c.op("ixor", b, result) if name == "add" else c.op("ixor", a, b)
    return [*result, *c.op("ishr", c.op("iand", c.op("ixor", a, result), other), 31)]


def _overflow_wide(c: Context, kind: str, a: wide.Pair, b: wide.Pair) -> tuple[wide.Pair, Lane]:
    """The result of 64 bits, and whether it overflowed."""
    if kind == "umul":
        return wide.multiply_checked(c, a, b)
    if kind == "smul":
        size, over = wide.multiply_checked(c, wide.integer_magnitude(c, a), wide.integer_magnitude(c, b))
        negative = c.one("ishr", c.one("ixor", a[1], b[1]), 31)
        most = c.one("inot", negative), c.one("isub", 0x7FFFFFFF, negative)  # 2⁶³ - 1, or 2⁶³ if it is negative
        return wide.multiply(c, a, b), c.one("ior", over, wide.compare(c, "ugt", size, most))
    adds = kind.endswith("add")
    result = (wide.add if adds else wide.subtract)(c, a, b)
    if kind[0] == "u":
        return result, wide.compare(c, "ult", result, a) if adds else wide.compare(c, "ult", a, b)
    return result, _over_signed(c, adds, a, b, result)


def _over_signed(c: Context, adds: bool, a: wide.Pair, b: wide.Pair, result: wide.Pair) -> Lane:
    """Whether the sign of a sum or difference is not what the operands' say."""
    other = c.one("ixor", b[1], result[1]) if adds else c.one("ixor", a[1], b[1])
    return c.one("ishr", c.one("iand", c.one("ixor", a[1], result[1]), other), 31)


def _to_integer_saturated(c: Context, inst: Inst) -> list[Lane] | None:
    """fptosi.sat and fptoui.sat to 32 bits: IL's conversions saturate."""
    source, lanes = inst.args[0].ty.scalar, c.lanes(inst.args[0])
    if inst.ty.scalar.bits != 32 or source.bits == 16:
        return None
    letter = "i" if ".fptosi." in inst.detail else "u"
    if source.bits == 32:
        return c.builder.each(f"fto{letter}", lanes, floats=True)
    refuse_double(c, source)
    made = []
    for pair in wide.pairs(lanes):
        made += c.builder.new(1)
        c.builder.put(f"dto{letter}", c.builder.target(made[-1:]), c.builder.vector(pair))
    return made


def _is_class(c: Context, inst: Inst) -> list[Lane] | None:
    """is.fpclass, bit by bit of its mask (LLVM, Language Reference, llvm.is.fpclass)."""
    if inst.args[1].is_local:
        return None
    mask, scalar = c.lane(inst.args[1]).bits, inst.args[0].ty.scalar
    lanes = c.builder.plain(c.lanes(inst.args[0]))
    if scalar.bits == 64:
        # The high word, and one bit that tells of digits in the low word: only a zero and an infinity lack those.
        tops = [c.one("ior", high, c.one("iand", c.one("ine", low, 0), 1)) for low, high in wide.pairs(lanes)]
        return [_has_class(c, lane, mask, sign=31, mantissa=20) for lane in tops]
    mantissa = 23 if scalar.bits == 32 else 10
    return [_has_class(c, lane, mask, sign=scalar.bits - 1, mantissa=mantissa) for lane in lanes]


def _has_class(c: Context, lane: Lane, mask: int, *, sign: int, mantissa: int) -> Lane:
    """Whether a number of one word, its sign at bit ``sign``, is of a class in ``mask``."""
    negative_bit, infinity, quiet_bit = 1 << sign, (1 << sign) - (1 << mantissa), 1 << (mantissa - 1)
    tests = ((0x004, negative_bit | infinity), (0x200, infinity), (0x020, negative_bit), (0x040, 0))
    magnitude = c.one("iand", lane, negative_bit - 1)
    negative = c.one("ine", c.one("iand", lane, negative_bit), 0)
    found: list[Lane] = []
    if mask & 3:
        quiet, nan = c.one("ult", infinity + quiet_bit - 1, magnitude), c.one("ult", infinity, magnitude)
        by_kind = {3: nan, 2: quiet, 1: c.one("iand", nan, c.one("inot", quiet))}
        found.append(by_kind[mask & 3])
    if sign < 31:
        lane = c.one("iand", lane, 2 * negative_bit - 1)
    found += [c.one("ieq", lane, value) for bit, value in tests if mask & bit]
    exponent = c.one("iand", magnitude, infinity)
    finite = c.one("ult", magnitude, infinity)
    normal = c.one("iand", finite, c.one("ine", exponent, 0))
    tiny = c.one("iand", c.one("ieq", exponent, 0), c.one("ine", magnitude, 0))
    for kind, below, above in ((normal, 0x008, 0x100), (tiny, 0x010, 0x080)):
        if mask & below:
            found.append(c.one("iand", kind, negative))
        if mask & above:
            found.append(c.one("iand", kind, c.one("inot", negative)))
    result = constant(0)
    for test in found:
        result = c.one("ior", test, result)
    return result


_REDUCED = {"add": "iadd", "mul": "imul", "and": "iand", "or": "ior", "xor": "ixor", **_EXTREMES}


def _reduced(c: Context, inst: Inst) -> list[Lane] | None:
    """vector.reduce of integers up to 32 bits."""
    kind = inst.detail.split(".")[3]
    ty = inst.args[0].ty
    if kind not in _REDUCED or bits(ty.scalar) > 32:
        return None
    lanes = c.lanes(inst.args[0])
    lanes = c.signed(lanes, ty.scalar) if kind[0] == "s" else c.unsigned(lanes, ty.scalar)
    result = lanes[0]
    for lane in lanes[1:]:
        result = c.one(_REDUCED[kind], result, lane)
    return [result]


def _same(c: Context, inst: Inst) -> list[Lane]:
    return c.lanes(inst.args[0])[: words(inst.ty)]


_HANDLERS: dict[str, Callable[[Context, Inst], list[Lane] | None]] = {
    "fabs": _fabs,
    "copysign": _copysign,
    **dict.fromkeys(_EXTREMES, _extreme),
    "abs": _abs,
    **dict.fromkeys(("scmp", "ucmp"), _three_way),
    **dict.fromkeys(("ctpop", "ctlz", "cttz"), _count),
    "bitreverse": _reverse,
    "bswap": _swap_bytes,
    **dict.fromkeys(("fshl", "fshr"), _funnel),
    "is": _is_class,
    "vector": _reduced,
    "expect": _same,
    "arithmetic": _same,
}


def _by_suffix(c: Context, inst: Inst) -> list[Lane] | None:
    """Names that go on behind the operation: sadd.sat, umul.with.overflow, fptosi.sat."""
    if ".with.overflow" in inst.detail:
        return _overflow(c, inst)
    return _to_integer_saturated(c, inst) if ".fpto" in inst.detail else _saturated(c, inst)


_HANDLERS |= dict.fromkeys("uadd usub sadd ssub umul smul fptosi fptoui".split(), _by_suffix)

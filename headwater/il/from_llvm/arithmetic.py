"""Input: LLVM's arithmetic, comparisons, conversions and vector instructions. Output: lanes of IL operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater.il.from_llvm import wide
from headwater.il.from_llvm.builder import Lane, absolute, constant, negated
from headwater.il.from_llvm.context import ALL, Context
from headwater.il.from_llvm.types import bits, components, words
from headwater.il.model import Modifier
from headwater.llvm.ir import Inst
from headwater.llvm.types import I64, Type

_INTEGER = {"add": "iadd", "sub": "isub", "mul": "imul", "and": "iand", "or": "ior", "xor": "ixor", "shl": "ishl"}
_FLOAT = {"fadd": "add", "fsub": "sub", "fmul": "mul_ieee"}
_DOUBLE = {"fadd": "dadd", "fmul": "dmul", "fdiv": "ddiv"}
_APPROXIMATE = {"fast", "arcp", "afn"}
"""Flags that allow a quotient to be a product with a reciprocal."""
_LARGE = 0x6F800000
"""2^96."""
_EXACT = (Modifier("zeroop", ("infinity",)),)
Handler = Callable[[Context, Inst], list[Lane]]


def translate(c: Context, inst: Inst) -> list[Lane] | None:
    """The lanes of an instruction's result; None if it is of another kind than arithmetic."""
    handler = HANDLERS.get(inst.op)
    return handler(c, inst) if handler is not None else None


def refuse_double(c: Context, ty: Type) -> None:
    """SourceError for double precision on a chip without."""
    if ty.kind == "float" and ty.bits == 64 and not c.chip.has_float64:
        raise c.refuse(
            "the kernel uses double precision, which this chip does not have",
            "use float, or a chip that has it: HD 3870, HD 4870, HD 5870, HD 6970",
        )


# -- binary ------------------------------------------------------------------------------------------------------------


def _binary(c: Context, inst: Inst) -> list[Lane]:
    scalar = inst.ty.scalar
    a, b = c.lanes(inst.args[0]), c.lanes(inst.args[1])
    if scalar.kind == "float":
        return _binary_float(c, inst, scalar, a, b)
    if scalar.bits > 64:
        return _binary_huge(c, inst, a, b)
    if scalar.bits > 32:
        if inst.op in ("lshr", "ashr"):
            a = to_64_bits(c, a, scalar, signed=inst.op == "ashr")
        return wide.flat([_binary_wide(c, inst, x, y) for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True)])
    op = inst.op
    if scalar.bits == 1 and op in ("add", "sub"):
        op = "xor"
    if scalar.bits == 1 and op == "mul":
        op = "and"
    if op == "xor" and all(lane.register is None and lane.bits == ALL for lane in b):
        return c.op("inot", a)
    if op in _INTEGER:
        if op == "shl":
            b = c.unsigned(b, scalar)
        return c.op(_INTEGER[op], a, b)
    if op in ("lshr", "ashr"):
        left = c.unsigned(a, scalar) if op == "lshr" else c.signed(a, scalar)
        return c.op("ushr" if op == "lshr" else "ishr", left, c.unsigned(b, scalar))
    if op in ("udiv", "urem"):
        return c.op("udiv" if op == "udiv" else "umod", c.unsigned(a, scalar), c.unsigned(b, scalar))
    return _signed_quotient(c, op, c.signed(a, scalar), c.signed(b, scalar))


def _signed_quotient(c: Context, op: str, a: list[Lane], b: list[Lane]) -> list[Lane]:
    """By magnitudes, as AMD's brcc writes it."""
    zero = [constant(0)] * len(a)
    magnitudes = [c.op("imax", x, c.op("inegate", x)) for x in (a, b)]
    result = c.op("udiv" if op == "sdiv" else "umod", *magnitudes)
    sign = c.op("ixor", a, b) if op == "sdiv" else a
    return c.op("cmov_logical", c.op("ilt", sign, zero), c.op("inegate", result), result)


def to_64_bits(c: Context, lanes: list[Lane], scalar: Type, *, signed: bool) -> list[Lane]:
    """Integers of 33 to 64 bits with zeros or their sign above, where results leave what comes of them."""
    if scalar.bits == 64:
        return lanes
    op = "sext" if signed else "zext"
    return [lane for pair in wide.pairs(lanes) for lane in _resized_wide(c, op, scalar, I64, list(pair))]


def _binary_wide(c: Context, inst: Inst, a: wide.Pair, b: wide.Pair) -> wide.Pair:
    op = inst.op
    if op in ("and", "or", "xor"):
        return wide.logic(c, _INTEGER[op], a, b)
    if op in ("shl", "lshr", "ashr"):
        return wide.shift(c, op, a, b)
    if op not in _WIDE:
        raise c.refuse(f"{op} of {inst.ty.scalar.bits} bits")
    return _WIDE[op](c, a, b)


_WIDE = {"add": wide.add, "sub": wide.subtract, "mul": wide.multiply}


def _binary_huge(c: Context, inst: Inst, a: list[Lane], b: list[Lane]) -> list[Lane]:
    """Integers of more than 64 bits, which LLVM makes to move bytes about, and of products of 64 bits whose upper half
    is wanted: logic, shifts by constants, products."""
    op = inst.op
    if op in ("and", "or", "xor"):
        return c.op(_INTEGER[op], a, b)
    by = b[0].bits
    whole = not inst.ty.scalar.bits % 32 and inst.ty.kind == "int"
    if op == "mul" and whole:
        return _product(c, a, b)
    if op in ("shl", "lshr") and b[0].register is None and whole:
        count = len(a)
        padded = [constant(0)] * count + a + [constant(0)] * count
        start, rest = (count - by // 32, by % 32) if op == "shl" else (count + by // 32, by % 32)
        moved = padded[start : start + count]
        if not rest:
            return moved
        other = padded[start - 1 : start - 1 + count] if op == "shl" else padded[start + 1 : start + 1 + count]
        there, back = ("ishl", "ushr") if op == "shl" else ("ushr", "ishl")
        return c.op("ior", c.op(there, moved, rest), c.op(back, other, 32 - rest))
    raise c.refuse(f"{op} of {inst.ty.bits} bits")


def _binary_float(c: Context, inst: Inst, scalar: Type, a: list[Lane], b: list[Lane]) -> list[Lane]:
    op = inst.op
    if scalar.bits == 64:
        refuse_double(c, scalar)
        out = []
        for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True):
            if op == "fsub":
                out.append(wide.arithmetic(c, "dadd", x, wide.opposite_sign(y)))
            else:
                out.append(wide.arithmetic(c, _DOUBLE[op], x, y))
        return wide.flat(out)
    if scalar.bits == 16:
        a, b = to_float(c, a), to_float(c, b)
    if op == "fdiv" and scalar.bits == 32 and not _APPROXIMATE & {*inst.flags}:
        result = _quotient(c, a, b)
    elif op == "fdiv":
        result = c.builder.each("div", a, b, floats=True, modifiers=_EXACT)
    else:
        result = c.builder.each(_FLOAT[op], a, b, floats=True)
    return to_half(c, result) if scalar.bits == 16 else result


def _quotient(c: Context, a: list[Lane], b: list[Lane]) -> list[Lane]:
    """Quotients of floats. ``div`` multiplies by a reciprocal, which beyond 2^126 is a denormal, and so 0: divisors
    beyond 2^96 are made 2^32 times smaller, and the quotient then too."""
    if all(lane.register is None and lane.bits & 0x7FFFFFFF <= _LARGE for lane in b):
        return c.builder.each("div", a, b, floats=True, modifiers=_EXACT)
    count = len(b)
    large = c.builder.each("lt", [constant(_LARGE)] * count, [absolute(lane) for lane in b], floats=True)
    scale = c.op("cmov_logical", large, [constant(0x2F800000)] * count, [constant(0x3F800000)] * count)  # 2^-32, 1
    smaller = c.builder.each("mul_ieee", b, scale, floats=True)
    quotient = c.builder.each("div", a, smaller, floats=True, modifiers=_EXACT)
    return c.builder.each("mul_ieee", quotient, scale, floats=True)


def to_float(c: Context, lanes: Sequence[Lane]) -> list[Lane]:
    """Halves as floats."""
    return c.op("f162f", list(lanes))


def to_half(c: Context, lanes: Sequence[Lane]) -> list[Lane]:
    """Floats as halves, rounded to the nearest."""
    return c.builder.each("f2f16", list(lanes), floats=True)


def _is_zero(lane: Lane) -> bool:
    return lane.register is None and lane.bits == 0


def _product(c: Context, a: list[Lane], b: list[Lane]) -> list[Lane]:
    """As many words of a product as the factors have, word by word."""
    result = [constant(0)] * len(a)
    for i, x in enumerate(a):
        carry = constant(0)
        for j, y in enumerate(b[: len(a) - i]):
            if _is_zero(x) or _is_zero(y):
                result[i + j], carry = _with_carry(c, result[i + j], carry)
                continue
            low, over = _with_carry(c, result[i + j], c.one("umul", x, y))
            result[i + j], further = _with_carry(c, low, carry)
            # The upper word is at most 2³² - 2, and not both carry where it is that.
            carry = c.one("iadd", c.one("iadd", c.one("umul_high", x, y), over), further)
    return result


def _with_carry(c: Context, a: Lane, b: Lane) -> tuple[Lane, Lane]:
    """A sum of words, and 1 where it has a bit more."""
    if _is_zero(a) or _is_zero(b):
        return (b if _is_zero(a) else a), constant(0)
    total = c.one("iadd", a, b)
    return total, c.one("iand", c.one("ult", total, a), 1)


def _fneg(c: Context, inst: Inst) -> list[Lane]:
    lanes, scalar = c.lanes(inst.args[0]), inst.ty.scalar
    if scalar.bits == 64:
        return wide.flat([wide.opposite_sign(pair) for pair in wide.pairs(lanes)])
    if scalar.bits == 16:
        return c.op("ixor", lanes, 0x8000)
    return [negated(lane) for lane in lanes]


# -- comparisons and selection -----------------------------------------------------------------------------------------

_ORDERED = {"oeq": "eq", "olt": "lt", "oge": "ge", "une": "ne"}
_SWAPPED = {"ogt": "olt", "ole": "oge"}
_OPPOSITE = {"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt", "ueq": "one"}


def _icmp(c: Context, inst: Inst) -> list[Lane]:
    scalar, predicate = inst.args[0].ty.scalar, inst.detail
    if inst.args[0].ty.kind == "ptr":
        space = c.common_space(inst.args)
        a, b = ([c.held(value, space)] for value in inst.args)
    else:
        a, b = c.lanes(inst.args[0]), c.lanes(inst.args[1])
    if bits(scalar) > 64:
        if predicate not in ("eq", "ne") or bits(scalar) % 32 or inst.args[0].ty.kind == "vec":
            raise c.refuse(f"comparisons of {bits(scalar)} bits")
        difference = c.op("ixor", a, b)
        any_bit = difference[0]
        for lane in difference[1:]:
            any_bit = c.one("ior", any_bit, lane)
        return [c.one("ieq" if predicate == "eq" else "ine", any_bit, 0)]
    return compare_integers(c, predicate, scalar, a, b)


def compare_integers(c: Context, predicate: str, scalar: Type, a: list[Lane], b: list[Lane]) -> list[Lane]:
    """Truth values of icmp's ``predicate`` on integers or pointers of up to 64 bits."""
    if bits(scalar) > 32:
        if scalar.kind == "int":
            a, b = (to_64_bits(c, lanes, scalar, signed=predicate[0] == "s") for lanes in (a, b))
        return [wide.compare(c, predicate, x, y) for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True)]
    widen = c.signed if predicate[0] == "s" else c.unsigned
    a, b = widen(a, scalar), widen(b, scalar)
    if predicate in ("eq", "ne"):
        return c.op("i" + predicate, a, b)
    sign, order = predicate[0], predicate[1:]
    if order in ("gt", "le"):
        a, b = b, a
    return c.op(("i" if sign == "s" else "u") + ("lt" if order in ("lt", "gt") else "ge"), a, b)


def _fcmp(c: Context, inst: Inst) -> list[Lane]:
    scalar, predicate = inst.args[0].ty.scalar, inst.detail
    a, b = c.lanes(inst.args[0]), c.lanes(inst.args[1])
    if predicate in ("true", "false"):
        return [constant(ALL if predicate == "true" else 0)] * inst.ty.count or [constant(0)]
    if scalar.bits == 64:
        refuse_double(c, scalar)
        return [wide.compare_double(c, predicate, x, y) for x, y in zip(wide.pairs(a), wide.pairs(b), strict=True)]
    if scalar.bits == 16:
        a, b = to_float(c, a), to_float(c, b)
    return _compare_float(c, predicate, a, b)


def _compare_float(c: Context, predicate: str, a: list[Lane], b: list[Lane]) -> list[Lane]:
    each = c.builder.each
    if predicate in _SWAPPED:
        return _compare_float(c, _SWAPPED[predicate], b, a)
    if predicate in _ORDERED:
        return each(_ORDERED[predicate], a, b, floats=True)
    if predicate in _OPPOSITE:
        return c.op("inot", _compare_float(c, _OPPOSITE[predicate], a, b))
    if predicate == "one":
        return c.op("ior", each("lt", a, b, floats=True), each("lt", b, a, floats=True))
    unordered = c.op("ior", each("ne", a, a, floats=True), each("ne", b, b, floats=True))
    return unordered if predicate == "uno" else c.op("inot", unordered)


def _select(c: Context, inst: Inst) -> list[Lane]:
    condition = c.lanes(inst.args[0])
    a, b = c.lanes_as(inst.args[1], inst), c.lanes_as(inst.args[2], inst)
    each = len(a) // len(condition)
    spread = [lane for lane in condition for _ in range(each)]
    return c.builder.each("cmov_logical", spread, a, b)


# -- conversions -------------------------------------------------------------------------------------------------------


def _cast(c: Context, inst: Inst) -> list[Lane]:
    source, target = inst.args[0].ty.scalar, inst.ty.scalar
    lanes = c.lanes(inst.args[0])
    step = words(source)
    out: list[Lane] = []
    if inst.op in ("zext", "sext", "trunc") and max(bits(source), bits(target)) <= 32:
        return _resized(c, inst.op, source, target, lanes)
    if inst.op in _FLOAT_CASTS and max(bits(source), bits(target)) <= 32:
        return _FLOAT_CASTS[inst.op](c, source, target, lanes)
    for start in range(0, len(lanes), step):
        component = lanes[start : start + step]
        if inst.op in ("zext", "sext", "trunc"):
            out += _resized_wide(c, inst.op, source, target, component)
        else:
            out += _converted_double(c, inst.op, source, target, component)
    return out


def _resized(c: Context, op: str, source: Type, target: Type, lanes: list[Lane]) -> list[Lane]:
    if op == "trunc":
        if target.bits == 1:
            return c.op("inegate", c.op("iand", lanes, 1))
        return lanes
    if source.bits == 1:
        return c.op("iand", lanes, 1) if op == "zext" else lanes
    return c.unsigned(lanes, source) if op == "zext" else c.signed(lanes, source)


def _resized_wide(c: Context, op: str, source: Type, target: Type, lanes: list[Lane]) -> list[Lane]:
    count = words(target)
    if op == "trunc":
        low = lanes[:count]
        return c.op("inegate", c.op("iand", low, 1)) if target.bits == 1 else low
    if source.bits < 32:
        low = [c.one("iand", lanes[0], 1)] if source.bits == 1 and op == "zext" else lanes
        if source.bits > 1:
            low = c.unsigned(lanes, source) if op == "zext" else c.signed(lanes, source)
    else:
        low = list(lanes)
        rest = source.bits % 32
        if rest:
            by = 32 - rest
            low[-1] = c.one("ushr" if op == "zext" else "ishr", c.one("ishl", low[-1], by), by)
    fill = constant(0) if op == "zext" else c.one("ishr", low[-1], 31)
    return [*low, *([fill] * (count - len(low)))]


def _to_integer(c: Context, source: Type, target: Type, lanes: list[Lane], mnemonic: str) -> list[Lane]:
    if source.bits == 16:
        lanes = to_float(c, lanes)
    return c.builder.each(mnemonic, lanes, floats=True)


def _from_integer(c: Context, source: Type, target: Type, lanes: list[Lane], mnemonic: str) -> list[Lane]:
    if source.bits == 1 and mnemonic == "utof":
        lanes = c.op("iand", lanes, 1)
    else:
        lanes = c.unsigned(lanes, source) if mnemonic == "utof" else c.signed(lanes, source)
    made = c.op(mnemonic, lanes)
    return to_half(c, made) if target.bits == 16 else made


_FLOAT_CASTS: dict[str, Callable[[Context, Type, Type, list[Lane]], list[Lane]]] = {
    "fptosi": lambda c, s, t, x: _to_integer(c, s, t, x, "ftoi"),
    "fptoui": lambda c, s, t, x: _to_integer(c, s, t, x, "ftou"),
    "sitofp": lambda c, s, t, x: _from_integer(c, s, t, x, "itof"),
    "uitofp": lambda c, s, t, x: _from_integer(c, s, t, x, "utof"),
    "fpext": lambda c, s, t, x: to_float(c, x),
    "fptrunc": lambda c, s, t, x: to_half(c, x),
}


def _converted_double(c: Context, op: str, source: Type, target: Type, lanes: list[Lane]) -> list[Lane]:
    """To or from double, one component."""
    refuse_double(c, source)
    refuse_double(c, target)
    b = c.builder
    if op == "fptrunc":
        made = b.new(1)
        b.put("d2f", b.target(made), b.vector(lanes))
        assert target.bits == 32, "halves of doubles are the library's"
        return made
    if op in ("fptosi", "fptoui"):
        made = b.new(1)
        b.put("dtoi" if op == "fptosi" else "dtou", b.target(made), b.vector(lanes))
        return made
    made = b.new(2)
    if op == "fpext":
        one = to_float(c, lanes) if source.bits == 16 else lanes
        b.put("f2d", b.target(made), b.vector(one, floats=True))
    else:
        signed = op == "sitofp"
        one = [c.one("iand", lanes[0], 1)] if source.bits == 1 and not signed else lanes
        if source.bits > 1:
            one = c.signed(lanes, source) if signed else c.unsigned(lanes, source)
        b.put("itod" if signed else "utod", b.target(made), b.vector(one))
    return made


def _pointer_cast(c: Context, inst: Inst) -> list[Lane]:
    source, target = inst.args[0].ty, inst.ty
    if inst.op == "addrspacecast":
        return c.lanes_as(inst.args[0], inst)
    lanes = c.lanes(inst.args[0])
    if inst.op in ("ptrtoint", "ptrtoaddr"):
        return _resized_wide(c, "zext", source.scalar, target.scalar, lanes) if target.bits > 32 else lanes
    return lanes[:1]


def packed(c: Context, lanes: Sequence[Lane], ty: Type) -> list[Lane]:
    """A value's bits without gaps, as they lie in memory, in whole words."""
    out: list[Lane] = []
    filled = 32
    at = 0
    for scalar in components(ty):
        count, size = words(scalar), bits(scalar)
        if size % 32 == 0:
            out += lanes[at : at + count]
            filled = 32
        elif size > 32:
            raise c.refuse(f"integers of {size} bits in memory")
        else:
            piece = c.unsigned([lanes[at]], scalar)[0] if size > 1 else c.one("iand", lanes[at], 1)
            if filled == 32:
                out.append(piece)
                filled = 0
            else:
                out[-1] = c.one("ior", out[-1], c.one("ishl", piece, filled))
            filled += size
        at += count
    return out


def unpacked(c: Context, held: Sequence[Lane], ty: Type) -> list[Lane]:
    """The way back: a value's lanes from its words in memory."""
    out: list[Lane] = []
    at = 0  # in bits
    for scalar in components(ty):
        size = bits(scalar)
        if size % 32 == 0:
            out += held[at // 32 : at // 32 + size // 32]
        else:
            piece = c.one("ushr", held[at // 32], at % 32)
            if scalar.bits == 1:
                piece = c.one("inegate", c.one("iand", piece, 1))
            out.append(piece)
        at += size
    return out


def _bitcast(c: Context, inst: Inst) -> list[Lane]:
    source, target = inst.args[0].ty, inst.ty
    lanes = c.lanes(inst.args[0])
    if bits(source.scalar) == bits(target.scalar) or bits(source.scalar) % 32 == bits(target.scalar) % 32 == 0:
        return lanes
    return unpacked(c, packed(c, c.builder.plain(lanes), source), target)


# -- vectors and aggregates --------------------------------------------------------------------------------------------


def _position(c: Context, place: Lane, ty: Type) -> Lane:
    """Which component a variable index of type ``ty`` says, of whose words ``place`` is the lowest."""
    return c.unsigned([place], ty)[0] if ty.bits < 32 else place


def _extract(c: Context, inst: Inst) -> list[Lane]:
    vector, index = inst.args
    lanes, step = c.lanes(vector), words(inst.ty)
    place = c.lanes(index)[0]
    if place.register is None:
        at = place.bits * step % len(lanes)
        return lanes[at : at + step]
    where = _position(c, place, index.ty)
    result = lanes[:step]
    for k in range(1, len(lanes) // step):
        here = c.one("ieq", where, k)
        result = [c.choose(here, new, old) for new, old in zip(lanes[k * step : (k + 1) * step], result, strict=True)]
    return result


def _insert(c: Context, inst: Inst) -> list[Lane]:
    vector, element, index = inst.args
    lanes, new = list(c.lanes(vector)), c.lanes(element)
    step = len(new)
    where = c.lanes(index)[0]
    if where.register is None:
        at = where.bits * step % len(lanes)
        lanes[at : at + step] = new
        return lanes
    where = _position(c, where, index.ty)
    for k in range(len(lanes) // step):
        here = c.one("ieq", where, k)
        for j in range(step):
            lanes[k * step + j] = c.choose(here, new[j], lanes[k * step + j])
    return lanes


def _shuffle(c: Context, inst: Inst) -> list[Lane]:
    step = words(inst.ty.scalar)
    lanes = [*c.lanes(inst.args[0]), *c.lanes(inst.args[1])]
    out: list[Lane] = []
    for index in inst.indices:
        out += lanes[index * step : (index + 1) * step] if index >= 0 else [constant(0)] * step
    return out


def _place(ty: Type, indices: Sequence[int]) -> tuple[int, int]:
    """Where a member's lanes begin and end among those of an aggregate."""
    at = 0
    for index in indices:
        members = ty.fields if ty.kind == "struct" else (ty.elem,) * ty.count
        at += sum(words(member) for member in members[:index] if member is not None)
        inner = members[index]
        assert inner is not None
        ty = inner
    return at, at + words(ty)


def _extract_value(c: Context, inst: Inst) -> list[Lane]:
    start, end = _place(inst.args[0].ty, inst.indices)
    return c.lanes(inst.args[0])[start:end]


def _insert_value(c: Context, inst: Inst) -> list[Lane]:
    start, end = _place(inst.ty, inst.indices)
    lanes = list(c.lanes(inst.args[0]))
    lanes[start:end] = c.lanes(inst.args[1])
    return lanes


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv".split(), _binary),
    **dict.fromkeys("trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp".split(), _cast),
    **dict.fromkeys("ptrtoint ptrtoaddr inttoptr addrspacecast".split(), _pointer_cast),
    "fneg": _fneg,
    "icmp": _icmp,
    "fcmp": _fcmp,
    "select": _select,
    "bitcast": _bitcast,
    "freeze": lambda c, inst: c.lanes_as(inst.args[0], inst),
    "extractelement": _extract,
    "insertelement": _insert,
    "shufflevector": _shuffle,
    "extractvalue": _extract_value,
    "insertvalue": _insert_value,
}

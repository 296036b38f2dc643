"""Input: a call in a kernel. Output: what it means in OpenCL C."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import math
import types as pytypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.python import arrays
from headwater.python.arrays import Handle
from headwater.python.builtin_calls import builtin
from headwater.python.call_arguments import one, values
from headwater.python.expressions import (
    TERNARY,
    UNARY,
    WEAK,
    Expr,
    Refused,
    Unclear,
    binary,
    cast,
    common_type,
    constant,
    convert,
    literal,
    named,
    number,
    settled,
    truth,
)
from headwater.python.printing import printf
from headwater.python.source import is_kept
from headwater.python.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    SIZE,
    TEXT,
    UNKNOWN,
    VOID,
    WEAK_FLOAT,
    WEAK_INT,
    Constant,
    Scalar,
    Struct,
    Tuple,
    Type,
    Vector,
    of_annotation,
)
from headwater.python.unit import Hidden
from headwater.python.vocabulary import Builtin

if TYPE_CHECKING:
    from headwater.python.values import Values

_FLOAT_1: Final = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "cbrt": "cbrt",
    "fabs": "fabs", "erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma", "degrees": "degrees",
    "radians": "radians",
}  # fmt: skip
_FLOAT_2: Final = {"atan2": "atan2", "pow": "pow", "fmod": "fmod", "hypot": "hypot", "copysign": "copysign"}
_TESTS: Final = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}
_ROUND: Final = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_NUMPY: Final = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "power": "pow", "float_power": "pow", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip


@functools.cache
def known_functions() -> dict[int, tuple[str, Any]]:
    """Functions of ``math``, NumPy and Python's own -> what they are here, by their identity."""
    found: dict[int, tuple[str, Any]] = {}
    for table, what in ((_FLOAT_1, "float"), (_FLOAT_2, "float"), (_TESTS, "test"), (_ROUND, "whole")):
        for name, c in table.items():
            for module in (math, np):
                function = getattr(module, name, None)
                if function is not None:
                    kind = "float" if module is np and what == "whole" else what
                    found[id(function)] = (kind, (c, function, 2 if table is _FLOAT_2 else 1))
    for name, c in _NUMPY.items():
        function = getattr(np, name)
        found[id(function)] = ("float", (c, function, 2 if c in _FLOAT_2.values() else 1))
    for function, what in (
        (math.log, "log"), (np.log, "log"), (np.rint, "rint"), (np.minimum, "min"), (np.maximum, "max"),
        (np.abs, "abs"),
        (min, "min"), (max, "max"), (abs, "abs"), (len, "len"), (round, "round"), (pow, "power"), (print, "print"),
        (divmod, "divmod"), (range, "range"), (np.absolute, "abs"), (np.where, "where"), (math.fma, "fma")
        if hasattr(math, "fma") else (None, ""),
    ):  # fmt: skip
        if function is not None:
            found[id(function)] = (what, function)
    return found


def call(t: Values, node: ast.Call) -> Expr:
    """The value of a call."""
    func = t.value(node.func)
    target = func.static
    if target is None:
        if func.type == UNKNOWN:
            raise Unclear
        raise Refused(f"{named(func)} cannot be called", "")
    if isinstance(target, Builtin):
        return builtin(t, node, target)
    target = getattr(target, "python_function", target)
    known = known_functions().get(id(target))
    if known is not None:
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            raise Refused("starred arguments are not in the language of kernels", "list them")
        if node.keywords and known[0] != "print":
            raise Refused(f"{target.__name__} takes no arguments by name in kernels", "")
        return _known(t, node, *known)
    if isinstance(target, pytypes.FunctionType):
        return _user(t, node, target)
    kind = None if target is builtins.complex else of_annotation(target)
    if kind is not None:
        return _made(t, node, target, kind)
    inline = getattr(target, "inline", None)
    if callable(inline):
        made: Expr = inline(t, node)
        return made
    name = getattr(target, "__name__", type(target).__name__)
    raise Refused(f"{name} cannot be called in a kernel", _instead(name))


def _instead(name: str) -> str:
    return {
        "sum": "add up in a for loop",
        "sorted": "sort on the host",
        "enumerate": "for i in range(…)",
        "zip": "for i in range(…)",
        "input": "pass arguments",
        "open": "pass arrays",
        "str": "print(f'…') formats numbers",
        "list": "hw.private_array(shape, type)",
        "zeros": "hw.private_array(shape, type), and assign zeros",
        "empty": "hw.private_array(shape, type)",
        "isinstance": "types are known when the kernel is compiled",
    }.get(name, "functions of the language, of math, and those written in Python can")


# -- functions of Python, math and NumPy -------------------------------------------------------------------------------


def floating(e: Expr) -> Expr:
    """A number as a floating-point one: float32, or float64 for what has 64 bits."""
    if isinstance(e.type, Scalar) and e.type.kind == "f":
        return e
    if not number(e):
        raise Refused(f"{named(e)} is no number", "of each component" if isinstance(e.type, Vector) else "")
    wide = isinstance(e.type, Scalar) and e.type.bits == 64
    return convert(e, FLOAT64 if wide else FLOAT32)


def _as_one_float_type(a: Expr, b: Expr) -> tuple[Expr, Expr, Scalar]:
    """Two numbers as floating-point ones of one type."""
    if not number(a) or not number(b):
        bad = a if not number(a) else b
        raise Refused(f"{named(bad)} is no number", "of each component" if isinstance(bad.type, Vector) else "")
    kind = common_type(a.type, b.type, "a function")
    if kind in WEAK or not isinstance(kind, Scalar):
        kind = FLOAT32
    elif kind.kind != "f":
        kind = FLOAT64 if kind.bits == 64 else FLOAT32
    return convert(a, kind), convert(b, kind), kind


def _known(t: Values, node: ast.Call, what: str, function: Any) -> Expr:
    if what in ("float", "test", "whole"):
        c, original, count = function
        if what == "float" and len(node.args) == count + 1 and isinstance(original, np.ufunc):
            return _ufunc(t, node, c, count)
        args = values(t, node, count)
        if all(e.value is not None and e.type in (*WEAK, BOOL) for e in args):
            try:
                made = original(*[e.value for e in args])
            except (ArithmeticError, ValueError) as error:
                raise Refused(f"{ast.unparse(node)}: {error}", "") from None
            return constant(made.item() if isinstance(made, np.generic) else made)
        if count == 2:
            a, b, kind = _as_one_float_type(*args)
            return Expr(kind, f"{c}({a.text}, {b.text})", pure=a.pure and b.pure)
        if what == "whole" and number(args[0]) and not _floats(args[0].type):
            return _integer(args[0])
        if c == "fabs" and number(args[0]) and not _floats(args[0].type):
            args = [floating(args[0])]
        e = floating(args[0])
        if what == "test":
            return Expr(BOOL, f"{c}({e.text}) != 0", 7, pure=e.pure)
        made_ = Expr(e.type, f"{c}({e.text})", pure=e.pure, positive=c in ("sqrt", "exp", "fabs", "exp2"))
        if what == "whole":
            wide = isinstance(args[0].type, Scalar) and args[0].type.bits == 64
            return cast(made_, INT64 if wide else INT32)
        return made_
    handlers: dict[str, Callable[[Values, ast.Call], Expr]] = {
        "log": _log, "rint": _rint, "min": _least, "max": _least, "abs": _abs, "len": _len, "round": _round,
        "power": _pow, "print": printf, "divmod": _divmod, "where": _where, "fma": _fma,
    }  # fmt: skip
    if what == "range":
        raise Refused("range is for loops: for i in range(…)", "")
    return handlers[what](t, node)


def _integer(e: Expr) -> Expr:
    """A whole number as what Python computes with."""
    e = settled(e)
    return convert(e, INT32) if isinstance(e.type, Scalar) and e.type.bits < 32 else e


def _floats(kind: Type) -> bool:
    return kind == WEAK_FLOAT or (isinstance(kind, Scalar) and kind.kind == "f")


def _ufunc(t: Values, node: ast.Call, c: str, count: int) -> Expr:
    """``np.sin(x, out)`` of whole arrays of one dimension: each work-item goes over all elements."""
    values = [t.value(arg) for arg in node.args]
    if any(e.array is None or e.array.kind.ndim != 1 for e in values):
        raise Refused(f"{ast.unparse(node.func)} into an array takes arrays of one dimension", "or one number")
    handles: list[Handle] = [e.array for e in values]
    index = Expr(INT32, t.temporary(), positive=True)
    out = handles[-1]
    t.wrote(out, node)
    inputs = [floating(arrays.read(h, [index], t.need)) for h in handles[:-1]]
    target = arrays.element(out, [index], t.need)
    made = Expr(inputs[0].type, f"{c}({', '.join(e.text for e in inputs)})")
    t.emit(f"for (int {index.text} = 0; {index.text} < {out.size(0).text}; ++{index.text})", node)
    t.emit(f"    {target.text} = {convert(made, target.type).text};")
    return Expr(VOID)


def _log(t: Values, node: ast.Call) -> Expr:
    args = values(t, node, 1, 2)
    if all(e.value is not None and e.type in WEAK for e in args):
        try:
            return constant(math.log(*[e.value for e in args]))
        except (ArithmeticError, ValueError) as error:
            raise Refused(f"{ast.unparse(node)}: {error}", "") from None
    if len(args) == 1:
        e = floating(args[0])
        return Expr(e.type, f"log({e.text})", pure=e.pure)
    a, b, kind = _as_one_float_type(*args)
    return Expr(kind, f"log({a.text}) / log({b.text})", 11, pure=a.pure and b.pure)


def _rint(t: Values, node: ast.Call) -> Expr:
    e = floating(values(t, node, 1)[0])
    return Expr(e.type, f"rint({e.text})", pure=e.pure)


def _fma(t: Values, node: ast.Call) -> Expr:
    a, b, c = values(t, node, 3)
    a, b, _ = _as_one_float_type(a, b)
    b, c, kind = _as_one_float_type(b, c)
    a, b = convert(a, kind), convert(b, kind)
    return Expr(kind, f"fma({a.text}, {b.text}, {c.text})", pure=all(e.pure for e in (a, b, c)))


def _least(t: Values, node: ast.Call) -> Expr:
    target = t.value(node.func).static
    name = "min" if known_functions()[id(target)][0] == "min" else "max"
    if len(node.args) == 1:
        one = t.value(node.args[0])
        if not one.parts:
            raise Refused(f"{name} of one {named(one)}", f"{name}(a, b), or a loop over an array")
        args = list(one.parts)
    else:
        args = values(t, node, 2, 64)
    made = args[0]
    for other in args[1:]:
        if made.value is not None and other.value is not None and made.type in WEAK and other.type in WEAK:
            folded = target(made.value, other.value)
            made = constant(folded.item() if isinstance(folded, np.generic) else folded)
            continue
        made, other = (cast(e, INT32) if e.type == SIZE else e for e in (made, other))
        kind = common_type(made.type, other.type, name)
        if isinstance(kind, Vector):
            a, b = (convert(e, kind) for e in (made, other))
        elif isinstance(kind, Scalar):
            a, b = convert(made, kind), convert(other, kind)
        elif kind in WEAK:
            made = Expr(kind, "0")
            continue
        else:
            raise Refused(f"{name} of {named(made)} and {named(other)}", "numbers")
        positive = (a.positive and b.positive) or (name == "max" and (a.positive or b.positive))
        element = kind.element if isinstance(kind, Vector) else kind
        # NumPy's give NaN if either number is, Python's and OpenCL C's only if the first is
        numpys = target in (np.minimum, np.maximum) and element.kind == "f"
        c = t.need(f"numpy{name}_{kind.c}") if numpys else name
        made = Expr(kind, f"{c}({a.text}, {b.text})", positive=positive, pure=a.pure and b.pure)
    return made


def _abs(t: Values, node: ast.Call) -> Expr:
    e = values(t, node, 1)[0]
    if e.value is not None and e.type in WEAK:
        return constant(abs(e.value))
    e = settled(e) if e.type == SIZE else e
    if e.type in WEAK:
        return e
    element = e.type.element if isinstance(e.type, Vector) else e.type
    if not isinstance(element, Scalar):
        raise Refused(f"abs of {named(e)}", "a number, or a vector")
    if element.kind == "f":
        return Expr(e.type, f"fabs({e.text})", pure=e.pure, positive=True)
    if element.kind in "ub":
        return e
    if isinstance(e.type, Scalar) and e.type.bits < 32:
        e = convert(e, INT32)
    if isinstance(e.type, Vector):
        return Expr(e.type, f"as_{e.type.c}(abs({e.text}))", pure=e.pure)
    return Expr(e.type, f"({e.type.c})abs({e.text})", UNARY, positive=True, pure=e.pure)  # type: ignore[attr-defined]


def _len(t: Values, node: ast.Call) -> Expr:
    e = values(t, node, 1)[0]
    if e.array is not None:
        handle: Handle = e.array
        return constant(handle.kind.shape[0]) if handle.kind.shape else handle.size(0)
    if isinstance(e.type, Tuple):
        return constant(len(e.type.parts))
    if isinstance(e.type, Vector):
        return constant(e.type.width)
    raise Refused(f"len of {named(e)}", "arrays and tuples have one")


def _round(t: Values, node: ast.Call) -> Expr:
    e = values(t, node, 1)[0]
    if e.value is not None and e.type in WEAK:
        return constant(round(e.value))
    if number(e) and not _floats(e.type):
        return _integer(e)
    e = settled(e)
    return cast(Expr(e.type, f"rint({e.text})", pure=e.pure), INT64 if e.type == FLOAT64 else INT32)


def _pow(t: Values, node: ast.Call) -> Expr:
    a, b = values(t, node, 2)
    return binary("**", a, b, t.need)


def _divmod(t: Values, node: ast.Call) -> Expr:
    a, b = values(t, node, 2)
    if not (a.pure and b.pure):
        raise Refused("the operands of divmod are computed once in Python", "put them in variables")
    parts = (binary("//", a, b, t.need), binary("%", a, b, t.need))
    return Expr(Tuple("a tuple", tuple(p.type for p in parts)), parts=parts)


def _where(t: Values, node: ast.Call) -> Expr:
    test, a, b = values(t, node, 3)
    test = truth(test)
    kind = a.type if a.type == b.type else common_type(a.type, b.type, "where")
    kind = {WEAK_INT: INT32, WEAK_FLOAT: FLOAT32, SIZE: INT32}.get(kind, kind)  # type: ignore[call-overload]
    a, b = convert(a, kind), convert(b, kind)
    return Expr(kind, f"{test.within(2)} ? {a.within(2)} : {b.within(TERNARY)}", TERNARY, pure=a.pure and b.pure)


# -- types that are called ---------------------------------------------------------------------------------------------


def _made(t: Values, node: ast.Call, target: Any, kind: Type) -> Expr:
    if isinstance(kind, Struct):
        return _struct(t, node, target, kind)
    if isinstance(kind, Vector):
        return _vector(t, node, kind)
    if not isinstance(kind, Scalar):
        raise Refused(f"{kind.name} cannot be called", "")
    args = values(t, node, 0, 1)
    e = args[0] if args else constant(0)
    if not number(e):
        hint = "take a component: .x, .y, …" if isinstance(e.type, Vector) else ""
        raise Refused(f"{kind.name} of {named(e)}", hint)
    if kind == BOOL:
        return truth(e)
    if target in (int, float):
        if e.value is not None and e.type in (*WEAK, BOOL):
            return constant(_python(target, e.value))
        wide = isinstance(e.type, Scalar) and e.type.bits == 64
        kind = (FLOAT64 if wide else FLOAT32) if target is float else (INT64 if wide else INT32)
        if e.type in WEAK:
            return Expr(WEAK_FLOAT if target is float else WEAK_INT, e.text)
        if target is int and e.type == SIZE:
            kind = INT32
    if e.value is not None and e.type in WEAK:
        with np.errstate(all="ignore"):
            value = _python(kind, e.value)
        return literal(value.item() if isinstance(value, np.generic) else value, kind)
    if e.type in WEAK:
        return Expr(kind, e.text)
    return e if e.type == kind else cast(e, kind)


def _python(kind: Any, value: Any) -> Any:
    try:
        return kind(value)
    except (OverflowError, ValueError) as error:
        raise Refused(f"{kind.__name__ if isinstance(kind, type) else kind.name}({value}): {error}", "") from None


def _vector(t: Values, node: ast.Call, kind: Vector) -> Expr:
    args = values(t, node, 1, kind.width)
    if len(args) == 1 and isinstance(args[0].type, Vector):
        e = args[0]
        assert isinstance(e.type, Vector)
        if e.type == kind:
            return e
        if e.type.width == kind.width:
            return Expr(kind, f"convert_{kind.c}({e.text})", pure=e.pure)
    count = 0
    parts = []
    for e in args:
        if isinstance(e.type, Vector):
            count += e.type.width
            if e.type.element != kind.element:
                e = Expr(kind, f"convert_{kind.element.c}{e.type.width}({e.text})", pure=e.pure)
        elif number(e):
            count += 1
            e = convert(e, kind.element)
        else:
            raise Refused(f"{kind.name} of {named(e)}", "numbers and vectors")
        parts.append(e)
    if count not in (1, kind.width):
        raise Refused(f"{kind.name} has {kind.width} components, {count} are given", "one for all, or one for each")
    text = f"({kind.c})({', '.join(e.text for e in parts)})"
    return Expr(kind, text, UNARY, pure=all(e.pure for e in parts))


def _struct(t: Values, node: ast.Call, target: Any, kind: Struct) -> Expr:
    given: dict[str, Expr] = {}
    names = [name for name, _ in kind.fields]
    if len(node.args) > len(names):
        raise Refused(f"{kind.name} has {len(names)} fields, {len(node.args)} are given", ", ".join(names))
    for name, arg in zip(names, node.args, strict=False):
        given[name] = one(t.value(arg), arg)
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise Refused(f"{kind.name} takes no {keyword.arg}", f"its fields are {', '.join(names)}")
        given[keyword.arg] = one(t.value(keyword.value), keyword.value)
    defaults = {f.name: f.default for f in dataclasses.fields(target)} if dataclasses.is_dataclass(target) else {}
    parts = []
    for name, field in kind.fields:
        if name not in given:
            if defaults.get(name, dataclasses.MISSING) is dataclasses.MISSING:
                raise Refused(f"{kind.name} lacks its field {name}", f"its fields are {', '.join(names)}")
            given[name] = t.static(defaults[name], name)
        parts.append(convert(given[name], field))
    text = f"({t.unit.c_type(kind)}){{{', '.join(e.text for e in parts)}}}"
    return Expr(kind, text, UNARY, pure=all(e.pure for e in parts))


# -- functions that users write ----------------------------------------------------------------------------------------


def bound_arguments(node: ast.Call, function: pytypes.FunctionType) -> list[ast.expr | Any]:
    """Arguments in the order of the parameters; values of defaults stand for themselves."""
    import inspect

    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        raise Refused("starred arguments are not in the language of kernels", "list them")
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*node.args, **{k.arg: k.value for k in node.keywords if k.arg})
    except TypeError as error:
        raise Refused(f"{function.__name__}{signature}: {error}", "") from None
    bound.apply_defaults()
    return [bound.arguments[name] for name in signature.parameters]


def _user(t: Values, node: ast.Call, function: pytypes.FunctionType) -> Expr:
    if is_kept(t.function) and not is_kept(function):  # a file would be read
        raise Refused(f"{function.__name__} is no function of this text", "hw.NAME(…), or a function written here")
    args = [_argument(t, given) for given in bound_arguments(node, function)]
    kinds = [_kind_of(e) for e in args]
    before = len(t.unit.faults)
    done = t.translated(function, kinds, node)
    if len(t.unit.faults) > before or (done.result == UNKNOWN):
        raise Unclear
    for at in done.written:
        if args[at].array is not None:
            t.wrote(args[at].array, node)
    texts = [_passed(e) for e, kind in zip(args, kinds, strict=True) if not isinstance(kind, Constant)]
    for hidden in done.hidden:
        texts.append(_asked(args[hidden.position].array, hidden))
    return Expr(done.result, f"{done.name}({', '.join(texts)})", pure=False)


def _argument(t: Values, given: Any) -> Expr:
    return one(t.value(given), given) if isinstance(given, ast.expr) else t.static(given, "a default")


def _kind_of(e: Expr) -> Type:
    """The type of a parameter for an argument; what is constant is part of it."""
    if e.type in (*WEAK, BOOL, TEXT) and (e.value is not None or e.static is not None):
        value = e.value if e.value is not None else e.static
        return Constant(repr(value), value)
    if e.type == UNKNOWN and e.static is not None:
        try:
            hash(e.static)
        except TypeError:
            raise Refused(f"{named(e)} is no value of a kernel", "") from None
        return Constant(f"{named(e)} {id(e.static)}", e.static)
    if e.array is not None:
        return e.array.kind  # type: ignore[no-any-return]
    if isinstance(e.type, Tuple):
        parts = tuple(settled(p).type for p in e.parts) if e.parts else e.type.parts
        return Tuple(f"({', '.join(p.name for p in parts)})", parts)
    if e.type == VOID:
        raise Refused("this gives nothing that could be passed on", "")
    return settled(e).type


def _passed(e: Expr) -> str:
    if e.array is not None:
        return arrays.decayed(e.array)
    if isinstance(e.type, Tuple) and e.parts and not e.text:
        raise Refused("a tuple as an argument", "assign it to a variable before")
    return settled(e).text


def _asked(handle: Handle, hidden: Hidden) -> str:
    if hidden.kind == "n":
        return handle.size(hidden.axis).text
    if hidden.kind == "s":
        assert handle.stride is not None
        return handle.stride(hidden.axis + handle.axis).text
    return handle.start.text if handle.start is not None else "0"


def attribute(t: Values, owner: Any, name: str) -> Expr | None:
    """An attribute of something that the vocabulary knows; None if it is an attribute like any other."""
    ask = getattr(owner, "kernel_attribute", None)
    if ask is None or isinstance(owner, type):
        return None
    made: Expr = ask(t, name)
    return made

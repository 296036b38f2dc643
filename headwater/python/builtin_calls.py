"""Input: a call of a function of the language of kernels. Output: what it means in OpenCL C."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headwater.python import arrays, opencl_functions
from headwater.python.arrays import Handle
from headwater.python.call_arguments import values
from headwater.python.expressions import (
    UNARY,
    WEAK,
    Expr,
    Refused,
    common_type,
    convert,
    named,
    settled,
    truth,
)
from headwater.python.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    SAMPLER,
    SCALARS,
    SIZE,
    VOID,
    Array,
    ImageType,
    Scalar,
    Struct,
    Tuple,
    Vector,
    of_annotation,
    vector,
)
from headwater.python.unit import Hidden, c_name
from headwater.python.vocabulary import Builtin

if TYPE_CHECKING:
    from headwater.python.values import Values

# -- functions of the language -----------------------------------------------------------------------------------------


def _dimension(t: Values, node: ast.Call) -> int:
    args = values(t, node, 0, 1)
    if not args:
        return 0
    if not isinstance(args[0].value, int) or not 0 <= args[0].value <= 2:
        raise Refused("the dimension is the constant 0, 1 or 2", "0 is the fastest one")
    return args[0].value


_WORK_ITEM: Final = {
    name: f"get_{name}" for name in ("global_id", "local_id", "group_id", "global_size", "local_size", "num_groups")
}


def query(name: str, dimension: int) -> Expr:
    """What a work-item function gives."""
    return Expr(SIZE, f"{_WORK_ITEM[name]}({dimension})", positive=True)


def builtin(t: Values, node: ast.Call, target: Builtin) -> Expr:
    """A call of a function of the vocabulary."""
    key = target.key
    if key in _WORK_ITEM:
        return query(key, _dimension(t, node))
    if key == "instance":
        values(t, node, 0)
        return t.position()
    if key.startswith("cl."):
        return _opencl(t, node, key[3:])
    if key.startswith("atomic_"):
        return _atomic(t, node, key.removeprefix("atomic_"))
    if key.startswith("sub_group") or key == "num_sub_groups":
        return _sub_group(t, node, key)
    if key in ("barrier", "mem_fence"):
        flags = {k.arg: t.value(k.value).value for k in node.keywords}
        if node.args or set(flags) - {"global_memory"} or None in flags.values():
            raise Refused(f"{key} takes global_memory=True or nothing", "")
        both = " | CLK_GLOBAL_MEM_FENCE" if flags.get("global_memory") else ""
        return Expr(VOID, f"{key}(CLK_LOCAL_MEM_FENCE{both})", pure=False)
    if key in ("local_array", "private_array"):
        raise Refused(f"{target.__name__} is assigned to a name of its own", f"tile = hw.{key}(shape, type)")
    raise AssertionError(key)


def allocation(t: Values, name: str, node: ast.Call) -> Handle | None:
    """The array that an assignment of a call declares, if it is such a call."""
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    root: ast.expr = node.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in t.scopes.names or root.id in t.parameters:
        return None
    target = t.value(node.func).static
    if not isinstance(target, Builtin) or target.key not in ("local_array", "private_array"):
        return None
    given = dict(zip(("shape", "dtype"), [*node.args], strict=False))
    given.update({k.arg: k.value for k in node.keywords if k.arg})
    if set(given) != {"shape", "dtype"} or len(node.args) > 2:
        raise Refused(f"{target.__name__} takes a shape and a type", f"hw.{target.key}((16, 16), hw.float32)", node)
    shape_of, type_of = t.value(given["shape"]), t.value(given["dtype"])
    parts = shape_of.parts or (shape_of,)
    shape = tuple(int(p.value) if isinstance(p.value, (int, np.integer)) else -1 for p in parts)
    element = of_annotation(type_of.static)
    if not isinstance(element, (Scalar, Vector, Struct)):
        raise Refused(
            f"{ast.unparse(given['dtype'])} is no type of elements", "hw.float32, hw.int32, …", given["dtype"]
        )
    space: Any = "local" if target.key == "local_array" else "private"
    if space == "local" and shape == (0,):
        return _dynamic(t, name, element)
    if min(shape) < 1 or len(shape) > 3:
        raise Refused("the shape of an array in a kernel is constant", "numbers, or names outside of the kernel, "
                      "or hw.local(type) as a parameter's type", given["shape"])  # fmt: skip
    if space == "local" and not t.kernel:
        raise Refused("local memory is declared in kernels", "declare it there, and pass it on", node)
    c = c_name(name)
    extents = "".join(f"[{n}]" for n in shape)
    prefix = "__local " if space == "local" else ""
    t.top.append(f"{prefix}{t.unit.c_type(element, True)} {c}{extents};")
    kind = Array(f"{element.name}{list(shape)}", element, len(shape), space, shape=shape)
    return Handle(kind, c, lambda axis: arrays.extent_of(kind, axis), origins=frozenset({name}), nested=True)


def _dynamic(t: Values, name: str, element: Any) -> Handle:
    if not t.kernel:
        raise Refused("local memory is declared in kernels", "declare it there, and pass it on")
    entry = (element, c_name(name))
    if entry not in t.unit.dynamic:
        t.unit.dynamic.append(entry)
    t.hidden[Hidden("l", t.unit.dynamic.index(entry))] = None
    kind = Array(f"{element.name}[:]", element, 1, "local")

    def unknown(axis: int) -> Expr:
        raise Refused(f"the launch says how long {name} is, and the kernel does not know it", "pass its length, too")

    return Handle(kind, c_name(name), unknown, origins=frozenset({name}))


def _element(t: Values, array: Expr, index: Expr) -> tuple[str, Handle, Scalar]:
    handle = array.array
    if handle is None:
        raise Refused(f"{named(array)} is no array", "atomic operations take an array, an index and a value")
    indices = index.parts if isinstance(index.type, Tuple) else (index,)
    if len(indices) != handle.kind.ndim:
        raise Refused(f"{len(indices)} indices into {handle.kind.name}", "one for each dimension: (i, j)")
    kind = handle.kind.element
    if handle.kind.space not in ("global", "local"):
        raise Refused("atomic operations are on global and local memory", "others do not see this array")
    if not isinstance(kind, Scalar) or kind.bits < 32:
        raise Refused(f"no atomic operation is on {kind.name}", "32 and 64 bits")
    return arrays.address(handle, list(indices), t.need), handle, kind


def _atomic(t: Values, node: ast.Call, operation: str) -> Expr:
    exchange = operation == "compare_exchange"
    args = values(t, node, 4 if exchange else 3)
    pointer, handle, kind = _element(t, args[0], args[1])
    t.wrote(handle, node)
    prefix = "atom" if kind.bits == 64 else "atomic"
    texts = ", ".join(convert(e, kind).text for e in args[2:])
    if exchange or operation == "exchange":
        if kind.kind == "f" and (exchange or kind.bits == 64):
            raise Refused(f"{operation} is not on {kind.name}", "on integers")
        return Expr(kind, f"{prefix}_{'cmpxchg' if exchange else 'xchg'}({pointer}, {texts})", pure=False)
    if operation in ("inc", "dec"):
        if kind != SCALARS["uint32"]:
            raise Refused(f"{operation} is on uint32, not on {kind.name}", "atomic_add")
        return Expr(kind, f"{t.need(f'atomic_{operation}_uint_{handle.kind.space}')}({pointer}, {texts})", pure=False)
    if kind.kind == "f":
        if operation not in ("add", "sub", "min", "max"):
            raise Refused(f"bits are of integers, not of {kind.name}", "")
        name = t.need(f"atomic_{operation}_{kind.c}_{handle.kind.space}")
        return Expr(kind, f"{name}({pointer}, {texts})", pure=False)
    return Expr(kind, f"{prefix}_{operation}({pointer}, {texts})", pure=False)


def _sub_group(t: Values, node: ast.Call, key: str) -> Expr:
    t.unit.std = "-cl-std=CL2.0"
    name = {
        "sub_group_size": "get_sub_group_size", "sub_group_local_id": "get_sub_group_local_id",
        "sub_group_id": "get_sub_group_id", "num_sub_groups": "get_num_sub_groups",
    }.get(key)  # fmt: skip
    if name is not None:
        values(t, node, 0)
        return Expr(INT32, f"(int){name}()", UNARY, positive=True)
    if key == "sub_group_barrier":
        values(t, node, 0)
        return Expr(VOID, "sub_group_barrier(CLK_LOCAL_MEM_FENCE)", pure=False)
    if key in ("sub_group_all", "sub_group_any"):
        e = truth(values(t, node, 1)[0])
        return Expr(BOOL, f"{key}({e.text}) != 0", 7, pure=False)
    pair = key.endswith("broadcast")
    args = values(t, node, 2 if pair else 1)
    e = settled(args[0])
    if not isinstance(e.type, Scalar) or e.type.bits < 32:
        raise Refused(f"{key} of {named(e)}", "numbers of 32 and 64 bits")
    lane = f", (uint)({settled(args[1]).text})" if pair else ""
    return Expr(e.type, f"{key}({e.text}{lane})", pure=False)


def _opencl(t: Values, node: ast.Call, name: str) -> Expr:
    if name in opencl_functions.LOADS or name in opencl_functions.STORES or name in opencl_functions.HALF:
        return _load_or_store(t, node, name)
    if name in opencl_functions.IMAGES or name in opencl_functions.WRITES or name.startswith("get_"):
        return _image(t, node, name)
    args = values(t, node, 1, 4)
    args = [settled(e) if e.type == SIZE else e for e in args]
    if name.startswith(("as_", "convert_")):
        return _reinterpreted(name, args)
    if name in opencl_functions.INT_LAST:
        power = convert(args.pop(), INT32).text
    else:
        power = ""
    kind = args[0].type
    for e in args[1:]:
        kind = common_type(kind, e.type, name)
    if kind in WEAK:
        kind = INT32 if name in opencl_functions.WHOLE else FLOAT32
    if not isinstance(kind, (Scalar, Vector)):
        raise Refused(f"{name} of {named(args[0])}", "numbers and vectors")
    element = kind.element if isinstance(kind, Vector) else kind
    integers = name in opencl_functions.WHOLE or name in ("min", "max", "clamp", "abs", "abs_diff", "bitselect")
    if element.kind != "f" and not integers:
        if isinstance(kind, Vector):
            raise Refused(f"{name} of {kind.name}", "vectors of floats")
        kind = element = FLOAT64 if element.bits == 64 else FLOAT32
    if element.kind == "f" and name in opencl_functions.WHOLE:
        raise Refused(f"{name} of {kind.name}", "whole numbers")
    made = [convert(e, kind) for e in args]
    texts = ", ".join([*(e.text for e in made), *filter(None, [power])])
    pure = all(e.pure for e in made)
    if name in opencl_functions.SCALAR:
        return Expr(element, f"{name}({texts})", pure=pure)
    if name in opencl_functions.INT:
        if isinstance(kind, Vector):
            raise Refused(f"{name} of a vector", "of its components")
        return Expr(INT32, f"{name}({texts})", pure=pure)
    if name in opencl_functions.UNSIGNED and element.kind == "i":
        c = f"u{element.c}"
        unsigned = next(s for s in SCALARS.values() if s.c == c)
        if isinstance(kind, Vector):
            return Expr(vector(unsigned, kind.width), f"{name}({texts})", pure=pure)
        return Expr(unsigned, f"{name}({texts})", pure=pure, positive=True)
    return Expr(kind, f"{name}({texts})", pure=pure)


def _reinterpreted(name: str, args: Sequence[Expr]) -> Expr:
    from headwater.python.types import public

    word = name.partition("_")[2].partition("_")[0]
    scalars = {s.c: s for s in SCALARS.values() if s.kind != "b"}
    kind: Any = scalars.get(word) or public(word)
    base = word.rstrip("0123456789")
    if kind is None and base in scalars and word[len(base) :] in ("8", "16"):
        kind = vector(scalars[base], int(word[len(base) :]))
    if kind is None or len(args) != 1:
        raise Refused(f"{name} is no function of OpenCL C for {len(args)} arguments", "")
    e = settled(args[0])
    if name.startswith("as_"):
        sizes = [(k.element.bits * k.lanes if isinstance(k, Vector) else getattr(k, "bits", 0)) for k in (kind, e.type)]
        if sizes[0] != sizes[1]:
            raise Refused(f"{name} of {named(e)}, which has {sizes[1]} bits", f"{kind.name} has {sizes[0]}")
    return Expr(kind, f"{name}({e.text})", pure=e.pure)


def _load_or_store(t: Values, node: ast.Call, name: str) -> Expr:
    store = name.startswith("vstore")
    args = values(t, node, 3 if store else 2)
    array = args[-1].array
    if array is None or array.kind.ndim != 1 or array.stride is not None:
        raise Refused(f"{name} takes a contiguous array of one dimension last", "array[start:] begins at an element")
    element = array.kind.element
    width = opencl_functions.STORES.get(name) or opencl_functions.LOADS.get(name)
    half = name in opencl_functions.HALF
    if not isinstance(element, Scalar) or element == BOOL or half != (element.bits == 16 and element.kind == "f"):
        raise Refused(f"{name} of an array of {element.name}", "an array of halves" if half else "an array of numbers")
    kind: Any = FLOAT32 if half else vector(element, width or 1)
    index = settled(args[-2])
    pointer = arrays.decayed(array)
    pointer = pointer[1:-1] if pointer.startswith("(") and pointer.count("(") == 1 else pointer
    if store:
        t.wrote(array, node)
        return Expr(VOID, f"{name}({convert(args[0], kind).text}, {index.text}, {pointer})", pure=False)
    return Expr(kind, f"{name}({index.text}, {pointer})")


def _image(t: Values, node: ast.Call, name: str) -> Expr:
    if name.startswith("get_"):
        args = values(t, node, 0, 1)
        return Expr(INT32, f"(int){name}({', '.join(e.text for e in args)})", UNARY, positive=True)
    args = values(t, node, 2, 3)
    if not isinstance(args[0].type, ImageType):
        raise Refused(f"{named(args[0])} is no image", "declare the parameter hw.image(…)")
    texts = [args[0].text]
    for e in args[1:]:
        texts.append(e.text if e.type == SAMPLER else settled(e).text)
    if name in opencl_functions.WRITES:
        if args[0].type.access != "write_only":
            raise Refused("this image is only read", 'declare it hw.image("write")')
        return Expr(VOID, f"{name}({', '.join(texts)})", pure=False)
    if args[0].type.access != "read_only":
        raise Refused("this image is only written", 'declare it hw.image("read")')
    element = next(s for s in SCALARS.values() if s.c == opencl_functions.IMAGES[name])
    return Expr(vector(element, 4), f"{name}({', '.join(texts)})")

"""Input: clang's module of a HIP program with its debug information. Output: its kernels' names and arguments."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from headwater.llvm.ir import Module
from headwater.llvm.metadata import elements, fields, kind
from headwater.llvm.text import symbols_in, unescaped
from headwater.llvm.types import LOCAL_SPACE
from headwater.opencl.kernels import ArgInfo, KernelInfo

# DWARF's encodings of base types (DWARF 5, 7.8) and their bytes -> OpenCL C's name.
_BASE = {
    ("DW_ATE_boolean", 1): "bool",
    ("DW_ATE_signed_char", 1): "char",
    ("DW_ATE_unsigned_char", 1): "uchar",
    **{("DW_ATE_signed", size): name for size, name in ((1, "char"), (2, "short"), (4, "int"), (8, "long"))},
    **{("DW_ATE_unsigned", size): name for size, name in ((1, "uchar"), (2, "ushort"), (4, "uint"), (8, "ulong"))},
    **{("DW_ATE_float", size): name for size, name in ((2, "half"), (4, "float"), (8, "double"))},
}
_TRANSPARENT = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type", "DW_TAG_typedef")
_OF_THREE = re.compile(r"(?P<scalar>u?(?:char|short|int|long|longlong)|float|double)3")


class Kernel(NamedTuple):
    """A kernel, and the symbol that clang gives it."""

    symbol: str
    info: KernelInfo


class _Type(NamedTuple):
    """A type as C++ writes it, its bytes, OpenCL C's name of it ("" for structures), whether it is const."""

    name: str
    size: int
    plain: str
    const: bool = False
    pointee: tuple[_Type, ...] = ()


class _Debug:
    """The nodes of debug information, read."""

    def __init__(self, module: Module) -> None:
        self.nodes = {name: (what, fields(node)) for name, node in module.metadata.items() if (what := kind(node))}
        self.lists = {name: elements(node) for name, node in module.metadata.items() if name not in self.nodes}

    def field(self, node: str, name: str) -> str:
        """A field's text, without quotes; "" if there is none."""
        value = self.nodes[node][1].get(name, "") if node in self.nodes else ""
        if value.startswith('"'):
            return unescaped(value[1:-1])
        return value

    def number(self, node: str, name: str) -> int:
        """A field that is a number, 0 if there is none."""
        return int(self.field(node, name) or 0)

    def type_of(self, node: str) -> _Type:
        """The type that a node describes."""
        if node == "null" or node not in self.nodes:
            return _Type("void", 1, "void")
        kind, tag = self.nodes[node][0], self.field(node, "tag")
        name, size = self.field(node, "name"), self.number(node, "size") // 8
        if kind == "DIBasicType":
            plain = _BASE.get((self.field(node, "encoding"), size), "")
            return _Type(name, size, plain)
        if kind == "DIDerivedType" and tag in _TRANSPARENT:
            inner = self.type_of(self.field(node, "baseType"))
            if tag == "DW_TAG_const_type":
                return inner._replace(const=True)
            return inner._replace(name=name) if tag == "DW_TAG_typedef" and not inner.plain else inner
        if kind == "DIDerivedType":  # pointers and references
            inner = self.type_of(self.field(node, "baseType"))
            return _Type(f"{inner.name}*", 8, "", pointee=(inner,))
        if "DIFlagVector" in self.field(node, "flags"):
            element = self.type_of(self.field(node, "baseType"))
            count = size // max(element.size, 1)
            return _Type(f"{element.plain}{count}", size, f"{element.plain}{count}" if count > 1 else element.plain)
        return _Type(self._scoped(node, name), max(size, 1), "")

    def _scoped(self, node: str, name: str) -> str:
        scope = self.field(node, "scope")
        if self.nodes.get(scope, ("",))[0] in ("DINamespace", "DICompositeType"):
            return f"{self._scoped(scope, self.field(scope, 'name'))}::{name}" if self.field(scope, "name") else name
        return name


def kernels_of(module: Module) -> list[Kernel]:
    """The kernels of a module. They get the shortest names that tell them apart: ``add``, then ``add<float>``, then
    ``maths::add<float>``, then ``maths::add(float*, int)``."""
    debug = _Debug(module)
    dynamic = _users(module, {name[1:] for name in module.globals if is_dynamic_local(module, name)})
    bounds = _most_work_items(module)
    found = [(body.name, body.attached.get("dbg", "")) for body in module.bodies.values() if body.is_kernel]
    names = _short([_Named(debug, symbol, node) for symbol, node in found])
    return [
        Kernel(
            symbol,
            KernelInfo(name, _arguments(debug, node), max_group=bounds.get(symbol, 0), dynamic_local=symbol in dynamic),
        )
        for (symbol, node), name in zip(found, names, strict=True)
    ]


def is_dynamic_local(module: Module, name: str) -> bool:
    """Whether ``@name`` is local memory of which the launch says the size (``extern __shared__ x[]``)."""
    known = module.variable(name)
    if known is None or known.space != LOCAL_SPACE or not known.is_external:
        return False
    return known.ty.kind == "array" and known.ty.count == 0


def _most_work_items(module: Module) -> dict[str, int]:
    """The most work-items of a group that ``__launch_bounds__`` says, by kernels' symbols. clang writes it as an
    annotation: the kernel, a text, a file, a line, and the numbers, which are a constant of their own."""
    if "@llvm.global.annotations" not in module.globals:
        return {}
    found: dict[str, int] = {}
    for entry in module.global_value("@llvm.global.annotations").elems or ():
        names = symbols_in(entry.text)
        numbers = module.global_value(f"@{names[-1]}") if names[-1].startswith(".args") else None
        if numbers is not None and numbers.elems:
            found[names[0]] = int(numbers.elems[0].text)
    return found


def _users(module: Module, variables: set[str]) -> set[str]:
    """The functions that use the ``variables``, themselves or by what they call."""
    if not variables:
        return set()
    uses = {name: set(symbols_in("\n".join(body.lines))) for name, body in module.bodies.items()}
    users = {name for name, used in uses.items() if used & variables}
    while more := {name for name, used in uses.items() if used & users} - users:
        users |= more
    return users


class _Named:
    """A kernel's names, from the shortest on."""

    def __init__(self, debug: _Debug, symbol: str, node: str) -> None:
        name = debug.field(node, "name") or symbol
        scoped = debug._scoped(node, name)
        types = ", ".join(kind.name for kind in _parameter_types(debug, node))
        self.forms = (name.partition("<")[0], name, scoped, f"{scoped}({types})", symbol)


def _short(kernels: list[_Named]) -> list[str]:
    chosen: list[str] = [""] * len(kernels)
    for form in range(5):
        counts = Counter(kernel.forms[form] for kernel in kernels)
        for at, kernel in enumerate(kernels):
            name = kernel.forms[form]
            if not chosen[at] and counts[name] == 1 and name not in chosen:
                chosen[at] = name
    return chosen


def _parameter_types(debug: _Debug, node: str) -> list[_Type]:
    kind = debug.field(node, "type")
    listed = debug.lists.get(debug.field(kind, "types"), [])
    return [debug.type_of(one) for one in listed[1:]]


def _arguments(debug: _Debug, node: str) -> tuple[ArgInfo, ...]:
    names = {
        debug.number(one, "arg"): debug.field(one, "name")
        for one, (kind, _) in debug.nodes.items()
        if kind == "DILocalVariable" and debug.field(one, "scope") == node
    }
    return tuple(
        _argument(names.get(number) or f"argument{number}", kind)
        for number, kind in enumerate(_parameter_types(debug, node), 1)
    )


def _argument(name: str, kind: _Type) -> ArgInfo:
    if not kind.pointee:
        plain = kind.plain
        if plain == "bool":
            plain = "uchar"
        return ArgInfo(name, "value", plain or kind.name, kind.size, "read", 0, plain or kind.name)
    (to,) = kind.pointee
    base = f"{to.plain}*" if to.plain else f"{to.name}*"
    written = base
    if three := _OF_THREE.fullmatch(to.name):  # three numbers without padding
        written, base = f"struct {to.name}*", f"{three['scalar'].replace('longlong', 'long')}*"
    elif to.plain == "bool":
        base = written = "uchar*"
    size = 1 if to.plain == "void" else to.size
    return ArgInfo(name, "buffer", written, 8, "read" if to.const else "read_write", size, base)

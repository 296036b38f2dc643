"""What the parts of the checker share for one file. Input: options and declarations. Output: errors and warnings."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from headwater.brook import ast
from headwater.brook.model import StructType
from headwater.brook.options import Options
from headwater.brook.source import SourceText
from headwater.brook.types import Symbol, Type, builtin_type
from headwater.errors import SourceError

_FOREIGN = {
    "bool": ("", "int, with 0 and 1"),
    "fixed": ("it is BrookGPU's, for fragment units: ", "float"),
    "half": ("it is Cg's and HLSL's: ", "float"),
}
"""Types of related languages that Brook+ lacks: where they come from, and what to write."""


@dataclass(eq=False)
class KernelInfo:
    """A kernel as far as it has been checked: what callers and the emitter need to know of it."""

    node: ast.KernelNode
    name: str
    result: Type
    parameters: list[Symbol]
    is_reduction: bool = False
    group_size: int = 0
    commutative: bool = True
    uses_position: bool = False
    uses_double: bool = False
    calls: list[KernelInfo] = field(default_factory=list)
    shared: list[Symbol] = field(default_factory=list)
    locals: list[Symbol] = field(default_factory=list)
    returns_value: bool = False
    faulty: bool = False
    c_name: str = ""

    @property
    def scatters(self) -> bool:
        """Whether it writes a scatter array."""
        return any(parameter.kind == "scatter" for parameter in self.parameters)


@dataclass(eq=False)
class Context:
    """What every part of the checker shares for one file."""

    source: SourceText
    options: Options
    structs: dict[str, StructType] = field(default_factory=dict)
    typedefs: dict[str, Type] = field(default_factory=dict)
    host_structs: dict[str, SourceError] = field(default_factory=dict)
    kernels: dict[str, KernelInfo] = field(default_factory=dict)
    later_kernels: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def error(self, message: str, node: ast.Node, hint: str = "") -> SourceError:
        """An error at a node."""
        return self.source.error(message, node.line, node.column, hint)

    def warn(self, message: str, node: ast.Node, level: int = 1) -> None:
        """Report a warning, or an error where the options ask for that."""
        if self.options.warnings_are_errors:
            self.source.faults.report(self.error(message, node, "this is a warning made an error by -x"))
        elif self.options.warning_level >= level:
            self.warnings.append(self.source.warning(message, node.line, node.column))

    def find_type(self, name: str, node: ast.Node) -> Type:
        """The type a name stands for; raises ``SourceError``."""
        builtin = builtin_type(name)
        if builtin is not None:
            return builtin
        if name in self.typedefs:
            return self.typedefs[name]
        if name in self.structs:
            return Type(name, is_struct=True)
        if name in self.host_structs:
            fault = self.host_structs[name]
            raise self.error(
                f"struct {name!r} cannot be used in kernels: {fault.message} (line "
                f"{fault.span.line if fault.span else 0})",
                node,
                fault.hint,
            )
        if name.rstrip("1234") in _FOREIGN:
            origin, instead = _FOREIGN[name.rstrip("1234")]
            if instead == "float":
                instead += name[len(name.rstrip("1234")) :].strip("1")
            raise self.error(f"{name} is not a type of Brook+", node, f"{origin}use {instead}")
        if name in {"double3", "double4", "float1", "int1"}:
            raise self.error(
                f"there is no type {name!r}", node, "double has at most two components, other types one to four"
            )
        if name in self.source.macro_names:
            raise self.error(
                f"unknown type {name!r}",
                node,
                f"it is a macro of line {self.source.macro_names[name]}: translate with -pp",
            )
        known = [*self.structs, *self.typedefs, "float", "float4", "int", "uint", "double"]
        hint = closest(name, known) or self.passed_over() or "declare the struct before the kernel"
        raise self.error(f"unknown type {name!r}", node, hint)

    def passed_over(self) -> str:
        """A hint that what is missing may be in a file that was not included, or nothing."""
        if not self.source.includes:
            return ""
        line, file = next(iter(self.source.includes.items()))
        return f"#include {file} of line {line} is passed over: kernels see only what this file itself defines"


def closest(name: str, known: list[str]) -> str:
    """A hint that names the known word most like ``name``, or nothing."""
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else ""

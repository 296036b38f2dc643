"""Input: the front end's IR of a program to be checked. Output: IR in which LLVM keeps what checks need, with added
code that finds errors which only the program itself shows.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import llvmlite.binding as llvm

from headwater.llvm.modules import parse
from headwater.llvm.passes.definedness import files, followed
from headwater.llvm.text import TELL, address_bits
from headwater.opencl.check_findings import GLOBAL_ID, format_of
from headwater.opencl.copies_in_flight import with_copies_followed

_TELLS = f"call void @{TELL}("
_NOT_INLINED = re.compile(r"\b(?:noinline|optnone) ")
_FUNCTION = re.compile(r"^(define (?!.*\b(?:amdgpu|spir)_kernel\b).*?\).*?) (#\d+ )", re.MULTILINE)


def without_speculation(ir: str) -> str:
    """LLVM loads before a branch what is needed behind it, for work-items, too, that do not go there: what one of them
    reads so may be another's to write, or nobody's. It does not where it is told that something looks for races (LLVM,
    "LLVM Language Reference", sanitize_thread), and nothing else follows from that."""
    return re.sub(r"^(attributes #\d+ = \{ )", r"\1sanitize_thread ", ir, flags=re.MULTILINE)


def with_definedness(ir: str, kernels: Iterable[str], builder: llvm.PassBuilder) -> str:
    """Uses of private variables before they are written, and of async copies before a wait, are told to `TELL`."""
    text = re.sub(r"^(attributes #\d+ = .*)$", lambda m: _NOT_INLINED.sub("", m[1]), ir, flags=re.MULTILINE)
    text = _FUNCTION.sub(r"\1 alwaysinline \2", text)
    module = parse(text)
    wanted = set(kernels)
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in wanted else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    hidden = _Hidden()
    module = parse(hidden.hide(str(module)))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, builder)
    return with_copies_followed(followed(hidden.show(str(module))))


class _Hidden:
    """Private variables that LLVM is not to see, so that it makes values of the pointers alone: what they are to is
    known then."""

    def __init__(self) -> None:
        self.declared: list[str] = []

    def hide(self, text: str) -> str:
        text = _BODY.sub(self._function, text)
        pointers = {f"p{space[1]}" if (space := re.search(r"\((\d+)\)$", where)) else "p0" for where in self._spaces()}
        made = [f"declare {where} @__hw_variable_{n}()" for n, where in enumerate(self._spaces())]
        made += [f"@__hw_type_{n} = external global {_type(one)}" for n, one in enumerate(self.declared)]
        for pointer in sorted(pointers):
            kind = "ptr" if pointer == "p0" else f"ptr addrspace({pointer[1:]})"
            made += [f"declare void @__hw_lifetime_{end}_{pointer}({kind})" for end in ("start", "end")]
        return "\n".join([text, *made, ""])

    def show(self, text: str) -> str:
        # Types have other names now, where the worker knows such already.
        types = {
            int(n): what for n, what in re.findall(r"^@__hw_type_(\d+) = external global (.*)$", text, re.MULTILINE)
        }

        def alloca(match: re.Match[str]) -> str:
            number = int(match[2])
            rest = self.declared[number].removeprefix(_type(self.declared[number]))
            return f"  {match[1]} = alloca {types[number]}{rest}"

        text = _HIDDEN.sub(alloca, text)
        text = re.sub(
            r"^(?:declare [^\n]*@__hw_(?:variable|lifetime)_|@__hw_type_)[^\n]*\n", "", text, flags=re.MULTILINE
        )
        return re.sub(r"@__hw_lifetime_(start|end)_(p\d)\(", r"@llvm.lifetime.\1.\2(", text)

    def _function(self, match: re.Match[str]) -> str:
        names = {found[1] for found in _ALLOCA.finditer(match[0])}

        def lifetime(one: re.Match[str]) -> str:
            return f"{one[1]}@__hw_lifetime_{one[2]}_{one[3]}({one[4]}" if one[5] in names else one[0]

        return _LIFETIME.sub(lifetime, _ALLOCA.sub(self._call, match[0]))

    def _call(self, match: re.Match[str]) -> str:
        self.declared.append(match[2])
        return f"  {match[1]} = call {_pointer(match[2])} @__hw_variable_{len(self.declared) - 1}()"

    def _spaces(self) -> list[str]:
        return [_pointer(one) for one in self.declared]


_ALLOCA = re.compile(r"^  (%\S+) = alloca (?!ptr)([^\n]*?)(?:, !\w+[^\n]*)?$", re.MULTILINE)
_HIDDEN = re.compile(r"^  (%\S+) = call ptr(?: addrspace\(\d+\))? @__hw_variable_(\d+)\(\)[^\n]*$", re.MULTILINE)
_LIFETIME = re.compile(r"^(  call void )@llvm\.lifetime\.(start|end)\.(p\d)\((.*?(%[^ )]+))", re.MULTILINE)
_BODY = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)


def _pointer(alloca: str) -> str:
    space = re.search(r", addrspace\((\d+)\)$", alloca)
    return f"ptr addrspace({space[1]})" if space else "ptr"


def _type(alloca: str) -> str:
    return re.split(r", (?:align|addrspace|i\d+ )", alloca, maxsplit=1)[0]


def tells(text: str) -> bool:
    """Whether optimised code may still have something to tell."""
    return _TELLS in text


def settle(module: llvm.ModuleRef, builder: llvm.PassBuilder) -> None:
    """Leave away what follows variables that turn out to be written: of arrays that only loops at the end of LLVM's
    passes made values of."""
    passes = llvm.create_new_function_pass_manager()
    passes.add_sccp_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def with_printing(text: str) -> str:
    """`TELL` by printf (`headwater.opencl.check_findings`)."""
    calling = "spir_func " if " spir_func " in text else ""
    size = f"i{address_bits(text)}"
    space = 2 if calling else 4  # of constants
    where = f"ptr addrspace({space})"
    form = format_of(files(text)).encode()
    written = "".join(chr(c) if 32 <= c < 127 and c not in b'\\"' else f"\\{c:02X}" for c in form)
    lines = []
    for n in range(3):
        lines.append(f"%wide.{n} = call {calling}{size} @{GLOBAL_ID}(i32 {n})")
        lines.append(f"%id.{n} = {f'trunc i64 %wide.{n} to i32' if size == 'i64' else f'or i32 %wide.{n}, 0'}")
    values = ", ".join(
        f"i32 %{name}" for name in ("what", "file", "line", "column", "declared", "id.0", "id.1", "id.2")
    )
    lines.append(f"%printed = call {calling}i32 ({where}, ...) @printf({where} @__hw_told_format, {values})")
    kind = f"[{len(form) + 1} x i8]"
    defined = [
        f'@__hw_told_format = internal unnamed_addr addrspace({space}) constant {kind} c"{written}\\00", align 1',
        f"define internal void @{TELL}(i32 %what, i32 %file, i32 %line, i32 %column, i32 %declared) alwaysinline {{",
        *("  " + line for line in lines),
        "  ret void",
        "}",
    ]
    if not re.search(r"^declare [^\n]*@printf\(", text, re.MULTILINE):
        defined.append(f"declare {calling}i32 @printf({where}, ...)")
    if f"@{GLOBAL_ID}(" not in text:
        defined.append(f"declare {calling}{size} @{GLOBAL_ID}(i32) nounwind willreturn memory(none)")
    return re.sub(rf"^declare void @{TELL}\(.*$", lambda _: "\n".join(defined), text, flags=re.MULTILINE)


__all__ = ["settle", "tells", "with_definedness", "with_printing", "without_speculation"]

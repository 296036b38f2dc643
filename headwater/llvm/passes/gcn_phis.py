"""A module's optimised text for GCN in; the same kept from a defect of LLVM's that mixes up values of branches, out.

LLVM's pass StructurizeCFG moves instructions that cost nothing, such as taking a vector apart, from a branch to a place
above it if what follows the branch selects their results, and in 22.1 then also takes them for those of other branches
(LLVM's pull request 183792 tells and ends that). An instruction whose operands arise in the branch itself stays; an
annotation, which becomes no machine code, makes all of them such. It costs nothing itself, and what it annotates may
have been moved away before: what leaves the branch is made of the annotation there, a second one if need be.
"""

from __future__ import annotations

import re

_FREE = re.compile(
    r"^  (?P<name>%[^ ]+) = (?:(?:insert|extract)(?:element|value)|shufflevector|(?:z|s)ext|trunc|fpext|fptrunc|bitcast"
    r"|inttoptr|ptrtoint|addrspacecast|getelementptr|freeze|fneg|(?:tail )?call [^@\n]*@llvm\.(?:fabs|copysign)\.)[ .(]"
)
_LABEL = re.compile(r"^(?P<label>[\w.$-]+|\"[^\"]*\"):")
_PHI = re.compile(r"^  %[^ ]+ = phi (?:\w+ )*?(?P<ty>i\d+|half|float|double|<\d+ x \w+>|ptr(?: addrspace\(\d+\))?) \[")
_INCOMING = re.compile(r"\[ (?P<value>%[^ ,]+), (?P<block>%[^ ]+) \]")
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


def with_values_kept(text: str) -> str:
    """The module's text with such values annotated; the very same text if there are none."""
    functions = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    declared: dict[str, None] = {}
    changed = [_function(function, declared) for function in functions]
    return "\n".join(["".join(changed), *declared]) if declared else text


def _function(text: str, declared: dict[str, None]) -> str:
    if " = phi " not in text:
        return text
    lines = text.split("\n")
    block = ""
    free: dict[str, str] = {}
    """The block of each instruction that may cost nothing."""
    leaves: dict[str, int] = {}
    """Where blocks with one successor branch."""
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            block = "%" + label["label"]
        elif found := _FREE.match(line):
            free[found["name"]] = block
        elif line.startswith("  br label ") and block:
            leaves[block] = number
    added: dict[int, list[str]] = {}
    kept: dict[tuple[str, str], str] = {}

    def incoming(match: re.Match[str], ty: str) -> str:
        place = value, at = match["value"], match["block"]
        # LLVM takes large vectors apart in each of the blocks that they come from, wherever they arise.
        if at not in leaves or (free.get(value) != at and not ty.startswith("<")):
            return match[0]
        if place not in kept:
            kept[place] = f"%hw.kept.{len(kept)}"
            added.setdefault(leaves[at], []).extend(_annotation(kept[place], value, ty, declared))
        return f"[ {kept[place]}, {at} ]"

    for number, line in enumerate(lines):
        found = _PHI.match(line)
        if found and (found["ty"].startswith("ptr") or _bits(found["ty"])):
            ty = found["ty"]
            lines[number] = _INCOMING.sub(lambda match, ty=ty: incoming(match, ty), line)  # type: ignore[misc]
    for number, extra in added.items():
        lines[number] = "\n".join([*extra, lines[number]])
    return "\n".join(lines)


def _bits(ty: str) -> int:
    """Bits of a type of numbers, 0 for others."""
    if vector := re.fullmatch(r"<(\d+) x (\w+)>", ty):
        return int(vector[1]) * _bits(vector[2])
    return int(ty[1:]) if re.fullmatch(r"i\d+", ty) else _BITS.get(ty, 0)


def _annotation(name: str, value: str, ty: str, declared: dict[str, None]) -> list[str]:
    """The instructions that make ``name`` a copy of ``value``."""
    if ty.startswith("ptr"):
        space = re.sub(r"\D", "", ty) or "0"
        call = f"@llvm.ptr.annotation.p{space}.p0"
        declared[f"declare {ty} {call}({ty}, ptr, ptr, i32, ptr)"] = None
        return [
            f"  {name}.same = call {ty} {call}({ty} {value}, ptr null, ptr null, i32 0, ptr null)",
            f"  {name} = call {ty} {call}({ty} {name}.same, ptr null, ptr null, i32 0, ptr null)",
        ]
    whole = f"i{_bits(ty)}"
    call = f"@llvm.annotation.{whole}.p0"
    declared[f"declare {whole} {call}({whole}, ptr, ptr, i32)"] = None
    if ty == whole:
        return [
            f"  {name}.same = call {whole} {call}({whole} {value}, ptr null, ptr null, i32 0)",
            f"  {name} = call {whole} {call}({whole} {name}.same, ptr null, ptr null, i32 0)",
        ]
    return [
        f"  {name}.bits = bitcast {ty} {value} to {whole}",
        f"  {name}.same = call {whole} {call}({whole} {name}.bits, ptr null, ptr null, i32 0)",
        f"  {name} = bitcast {whole} {name}.same to {ty}",
    ]

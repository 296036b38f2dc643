"""Input: an optimised module for GCN. Output: the same kept from a defect of LLVM's that mixes up values of branches.

LLVM's pass StructurizeCFG moves instructions that cost nothing, such as taking a vector apart, from a branch to a place
above it if what follows the branch selects their results, and in 22.1 then also takes them for those of other branches
(LLVM's pull request 183792 tells and ends that). An instruction whose operands arise in the branch itself stays; an
annotation, which becomes no machine code, makes all of them such. It costs nothing itself, and what it annotates may
have been moved away before: what leaves the branch is made of the annotation there, a second one if need be.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Inst, Module, label_of, result_of
from headwater.llvm.types import Type

_FREE = frozenset(
    "insertelement extractelement insertvalue extractvalue shufflevector zext sext trunc fpext fptrunc bitcast "
    "inttoptr ptrtoint addrspacecast getelementptr freeze fneg".split()
)
_FREE_CALLS = ("@llvm.fabs.", "@llvm.copysign.")
_FLOATS = ("half", "float", "double")


def with_values_kept(module: Module) -> bool:
    """Annotate such values; whether there are any."""
    return module.each(_function)


def _function(body: Body) -> bool:
    if "phi" not in body.operations:
        return False
    block = ""
    free: dict[str, str] = {}
    """The block of each instruction that may cost nothing."""
    leaves: dict[str, int] = {}
    """Where blocks with one successor branch."""
    for number, operation in enumerate(body.operations):
        line = body.lines[number]
        if not operation:
            block = f"%{label}" if (label := label_of(line)) else block
        elif operation in _FREE or (operation == "call" and any(callee in line for callee in _FREE_CALLS)):
            free[result_of(line)] = block
        elif operation == "br" and block and line.startswith("  br label "):
            leaves[block] = number
    changes: dict[int, list[str]] = {}
    added: dict[int, list[str]] = {}
    kept: dict[tuple[str, str], str] = {}
    for number, phi in body.having("phi"):
        if not _is_annotated(phi.ty):
            continue
        incoming = []
        for value, at in zip(phi.args, phi.labels, strict=True):
            place = value.text, at
            # LLVM takes large vectors apart in each of the blocks that they come from, wherever they arise.
            if value.is_local and at in leaves and (free.get(value.text) == at or phi.ty.kind == "vec"):
                if place not in kept:
                    kept[place] = f"%hw.kept.{len(kept)}"
                    added.setdefault(leaves[at], []).extend(_annotation(kept[place], value.text, phi.ty, body.module))
                incoming.append(f"[ {kept[place]}, {at} ]")
            else:
                incoming.append(f"[ {value.text}, {at} ]")
        if incoming != [f"[ {value.text}, {at} ]" for value, at in zip(phi.args, phi.labels, strict=True)]:
            changes[number] = [f"  {phi.name} = phi {_flags(phi)}{phi.ty} {', '.join(incoming)}{phi.attached}"]
    changes |= {number: [*extra, body.lines[number]] for number, extra in added.items()}
    return body.replace(changes)


def _flags(inst: Inst) -> str:
    return "".join(f"{flag} " for flag in inst.flags)


def _is_annotated(ty: Type) -> bool:
    if ty.kind == "vec":
        return ty.scalar.kind in ("int", "float")
    return ty.kind in ("int", "ptr") or ty.text in _FLOATS


def _annotation(name: str, value: str, ty: Type, module: Module) -> list[str]:
    """The instructions that make ``name`` a copy of ``value``."""
    if ty.kind == "ptr":
        call = f"@llvm.ptr.annotation.p{ty.space}.p0"
        module.declare(f"declare {ty} {call}({ty}, ptr, ptr, i32, ptr)")
        return [
            f"  {name}.same = call {ty} {call}({ty} {value}, ptr null, ptr null, i32 0, ptr null)",
            f"  {name} = call {ty} {call}({ty} {name}.same, ptr null, ptr null, i32 0, ptr null)",
        ]
    whole = f"i{ty.scalar.bits * max(ty.count, 1)}"
    call = f"@llvm.annotation.{whole}.p0"
    module.declare(f"declare {whole} {call}({whole}, ptr, ptr, i32)")
    if ty.text == whole:
        return [
            f"  {name}.same = call {whole} {call}({whole} {value}, ptr null, ptr null, i32 0)",
            f"  {name} = call {whole} {call}({whole} {name}.same, ptr null, ptr null, i32 0)",
        ]
    return [
        f"  {name}.bits = bitcast {ty} {value} to {whole}",
        f"  {name}.same = call {whole} {call}({whole} {name}.bits, ptr null, ptr null, i32 0)",
        f"  {name} = bitcast {whole} {name}.same to {ty}",
    ]

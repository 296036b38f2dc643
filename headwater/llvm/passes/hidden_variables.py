"""Input: a module. Output: the same with calls in place of its private variables, which LLVM then does not see, and
back.

So LLVM makes values of the pointers alone: what they are to is known then.
"""

from __future__ import annotations

from headwater.llvm.ir import Body, Module, result_of
from headwater.llvm.text import attachments, type_end

_VARIABLE, _TYPE, _LIFETIME = "__hw_variable_", "__hw_type_", "__hw_lifetime_"
_ENDS = ("start", "end")
_ALLOCA = " = alloca "


class Hidden:
    """The variables of a module that are hidden: what follows ``alloca`` of each, by its number."""

    def __init__(self) -> None:
        self.declared: list[str] = []

    def hide(self, module: Module) -> None:
        """Put a call in the place of each variable but pointers, and of what says where they begin and end to live."""
        for body in module.bodies.values():
            self._function(body)
        spaces = [_space(one) for one in self.declared]
        for number, (one, space) in enumerate(zip(self.declared, spaces, strict=True)):
            module.declare(f"declare {_pointer(space)} @{_VARIABLE}{number}()")
            # Types may have other names when LLVM has read them.
            module.add(f"@{_TYPE}{number} = external global {_type(one)}")
        for space in sorted(set(spaces)):
            for end in _ENDS:
                module.declare(f"declare void @{_LIFETIME}{end}_p{space}({_pointer(space)})")

    def show(self, module: Module) -> None:
        """The way back, when LLVM has run passes."""
        for body in module.bodies.values():
            changes: dict[int, list[str]] = {}
            for number, inst in body.calls(_VARIABLE):
                hidden = int(inst.detail.removeprefix(_VARIABLE))
                known = module.variable(f"@{_TYPE}{hidden}")
                assert known is not None
                rest = self.declared[hidden].removeprefix(_type(self.declared[hidden]))
                changes[number] = [f"  {inst.name}{_ALLOCA}{known.ty}{rest}"]
            for number, inst in body.calls(_LIFETIME):
                name = inst.detail.replace(_LIFETIME, "llvm.lifetime.").replace("_", ".")
                changes[number] = [body.lines[number].replace(f"@{inst.detail}(", f"@{name}(", 1)]
            body.replace(changes)
        module.declares = {
            name: line for name, line in module.declares.items() if not name.startswith((_VARIABLE, _LIFETIME))
        }
        module.globals = {name: line for name, line in module.globals.items() if not name.startswith(f"@{_TYPE}")}

    def _function(self, body: Body) -> None:
        changes: dict[int, list[str]] = {}
        names = set()
        for number, operation in enumerate(body.operations):
            line = body.lines[number]
            if operation == "alloca":
                what = line[line.find(_ALLOCA) + len(_ALLOCA) :].removesuffix(attachments(line))
                if not what.startswith("ptr"):
                    name = result_of(line)
                    names.add(name)
                    self.declared.append(what)
                    call = f"call {_pointer(_space(what))} @{_VARIABLE}{len(self.declared) - 1}()"
                    changes[number] = [f"  {name} = {call}"]
        for number, inst in body.calls("llvm.lifetime."):
            if inst.args[-1].text in names:
                name = inst.detail.removeprefix("llvm.lifetime.").replace(".", "_")
                changes[number] = [body.lines[number].replace(f"@{inst.detail}(", f"@{_LIFETIME}{name}(", 1)]
        body.replace(changes)


def _space(alloca: str) -> int:
    """The address space of a variable."""
    return int(alloca.rpartition("(")[2][:-1]) if ", addrspace(" in alloca else 0


def _pointer(space: int) -> str:
    return f"ptr addrspace({space})" if space else "ptr"


def _type(alloca: str) -> str:
    return alloca[: type_end(alloca, 0)]

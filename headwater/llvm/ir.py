"""Input: LLVM IR text. Output: a module: its functions to be rewritten line by line, or read whole into a small model.

A module is cut once into the lines of its parts; an instruction's line is read into the model when somebody asks for
it, and no second time. ``str()`` of a module is its text for LLVM: only comments and empty lines are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

from headwater.errors import InternalError
from headwater.llvm.metadata import fields
from headwater.llvm.reader import Reader, read_expression, read_instruction
from headwater.llvm.text import attached_to_function, attachments, type_end, with_symbols
from headwater.llvm.types import Type, struct_type
from headwater.llvm.values import (
    BINARY as BINARY,
    CASTS as CASTS,
    FAST_MATH as FAST_MATH,
    Block as Block,
    Function as Function,
    Global as Global,
    Inst as Inst,
    Param as Param,
    Value as Value,
    zero_of as zero_of,
)

_LABEL = re.compile(r'^((?:"[^"]*")|[\w.$-]+):')
_OPERATION = re.compile(r'\s+(?:%(?:"[^"]*"|\S+) = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)')
_RESULT = re.compile(r'\s+(%(?:"[^"]*"|\S+)) = ')
_FUNCTION_NAME = re.compile(r'@("[^"]*"|[\w.$-]+)\(')
_VARIABLE = re.compile(r"(?:^|(?<= ))(?:global|constant) ")
_SPACE = re.compile(r"addrspace\((\d+)\)")
_ALIGN = re.compile(r", align (\d+)")
_NAMED = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')


class Body:
    """A function as it is written: ``head``, the line that it begins with (``define … {``), and ``lines``, its labels,
    instructions and records for debuggers, each in one line."""

    __slots__ = ("_insts", "_operations", "head", "lines", "module", "name")

    def __init__(self, module: Module, name: str, head: str, lines: list[str]) -> None:
        self.module = module
        self.name = name
        self.head = head
        self.lines = lines
        self._operations: list[str] | None = None
        self._insts: dict[int, Inst | None] = {}

    @property
    def is_kernel(self) -> bool:
        """Whether its calling convention is a kernel's."""
        return "_kernel " in self.head.partition("@")[0]

    @property
    def attached(self) -> dict[str, str]:
        """The metadata nodes at the end of its head, by their kinds."""
        return attached_to_function(self.head)

    @property
    def operations(self) -> list[str]:
        """What each line's instruction does (``add``, ``call``); "" of labels and of records for debuggers."""
        if self._operations is None:
            matches = map(_OPERATION.match, self.lines)
            self._operations = [found[1] if found else "" for found in matches]
        return self._operations

    def inst(self, number: int) -> Inst | None:
        """The instruction in a line, None if that is a record for debuggers. InternalError if the reader does not know
        it."""
        if number not in self._insts:
            self._insts[number] = self.module.instruction(self.lines[number])
        return self._insts[number]

    def doing(self, operation: str) -> Iterator[str]:
        """The lines of the instructions that do this (``alloca``), for what need not read them whole."""
        return (line for line, one in zip(self.lines, self.operations, strict=True) if one == operation)

    def having(self, *operations: str, within: str = "") -> Iterator[tuple[int, Inst]]:
        """The instructions that do one of these, with the numbers of their lines; of those alone whose line has
        ``within`` somewhere, so that few have to be read."""
        wanted = frozenset(operations)
        for number, operation in enumerate(self.operations):
            if operation in wanted and within in self.lines[number]:
                inst = self.inst(number)
                assert inst is not None
                yield number, inst

    def calls(self, callee: str) -> Iterator[tuple[int, Inst]]:
        """The calls of functions whose names begin so, with the numbers of their lines."""
        return self.having("call", within=f"@{callee}")

    def replace(self, changes: Mapping[int, Iterable[str]]) -> bool:
        """Put other lines in the place of some, which are named by their numbers; whether there are any."""
        if changes:
            self.lines = [new for number, line in enumerate(self.lines) for new in changes.get(number, (line,))]
            self._operations = None
            self._insts = {}
        return bool(changes)

    def add_attribute(self, attribute: str) -> None:
        """Give the function an attribute, before its group (``#0``)."""
        at = self.head.find(" #", self.head.find("("))
        if at >= 0 and f" {attribute} " not in self.head:
            self.head = f"{self.head[:at]} {attribute}{self.head[at:]}"


def label_of(line: str) -> str:
    """The name of the block that a line of a body begins, "" if it is no label."""
    found = None if line.startswith(" ") else _LABEL.match(line)
    return found[1] if found else ""


def result_of(line: str) -> str:
    """The name of an instruction's result (``%x``), "" if it has none."""
    found = _RESULT.match(line)
    return found[1] if found else ""


class Module:
    """A module's parts, by their names: ``globals`` (``@x``), ``declares`` and ``bodies`` (functions, without the @),
    ``attribute_groups`` (``#0``), ``metadata`` (``!0``), each with its line, or what follows the equals sign.

    ``heading``: all else, such as the data layout; ``types``: named structs as they are written.
    """

    def __init__(self, text: str) -> None:
        self.heading: list[str] = []
        self.types: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.declares: dict[str, str] = {}
        self.bodies: dict[str, Body] = {}
        self.attribute_groups: dict[str, str] = {}
        self.metadata: dict[str, str] = {}
        self._order: dict[str, None] = {}
        self._variables: dict[str, Global | None] = {}
        self._types: dict[str, Type] = {}
        self._files: dict[str, str] = {}
        self.add(text)

    def add(self, text: str) -> None:
        """Read further functions, globals and so on into the module."""
        lines = text.split("\n")
        switches = "\n  switch " in text
        at, count = 0, len(lines)
        while at < count:
            line = lines[at]
            at += 1
            if not line or line[0] == ";":
                continue
            if line.startswith("define "):
                end = lines.index("}", at)
                body = [one for one in lines[at:end] if one and one[0] != ";"]
                at = end + 1
                name = function_name(line)
                self._order[name] = None
                self.bodies[name] = Body(self, name, line, _join_continued(body) if switches else body)
            elif line.startswith("declare "):
                name = function_name(line)
                self._order[name] = None
                self.declares[name] = line
            elif line[0] == "%":
                name, _, value = line.partition(" = type ")
                self.types[name] = value
            elif line[0] == "@":
                self.globals[line.partition(" = ")[0]] = line
            elif line.startswith("attributes "):
                name, _, value = line[11:].partition(" = ")
                self.attribute_groups[name] = value
            elif line[0] == "!":
                name, _, value = line.partition(" = ")
                self.metadata[name] = value
            else:
                self.heading.append(line)

    def __str__(self) -> str:
        out = [*self.heading, *(f"{name} = type {body}" for name, body in self.types.items()), *self.globals.values()]
        for name in self._order:
            body = self.bodies.get(name)
            if body is not None:
                out += ("", body.head, *body.lines, "}")
            elif name in self.declares:
                out.append(self.declares[name])
        out += [f"attributes {name} = {value}" for name, value in self.attribute_groups.items()]
        out += [f"{name} = {value}" for name, value in self.metadata.items()]
        out.append("")
        return "\n".join(out)

    def declare(self, line: str) -> None:
        """Make sure that a function is declared, if it is not here already."""
        name = function_name(line)
        if name not in self.declares and name not in self.bodies:
            self._order[name] = None
            self.declares[name] = line

    def order(self, functions: Iterable[str]) -> None:
        """Put these functions before all others, in this order."""
        self._order = dict.fromkeys(functions) | self._order

    def new_node(self, text: str) -> str:
        """Add a metadata node: its name."""
        numbers = (int(name[1:]) for name in self.metadata if name[1:].isdigit())
        name = f"!{max(numbers, default=-1) + 1}"
        self.metadata[name] = text
        return name

    def rename(self, names: Mapping[str, str]) -> None:
        """Give functions and variables (without the @) other names, wherever they are mentioned."""
        marked = {f"@{old}": f"@{new}" for old, new in names.items()}
        self.globals = {marked.get(name, name): with_symbols(line, marked) for name, line in self.globals.items()}
        self.declares = {names.get(name, name): with_symbols(line, marked) for name, line in self.declares.items()}
        self.metadata = {name: with_symbols(node, marked) for name, node in self.metadata.items()}
        self._order = {names.get(name, name): None for name in self._order}
        for body in self.bodies.values():
            body.name = names.get(body.name, body.name)
            body.head = with_symbols(body.head, marked)
            body.replace({n: [with_symbols(line, marked)] for n, line in enumerate(body.lines) if "@" in line})
        self.bodies = {body.name: body for body in self.bodies.values()}

    def each(self, change: Callable[[Body], bool]) -> bool:
        """Run a pass over each function; whether it changed any."""
        changed = [change(body) for body in self.bodies.values()]
        return any(changed)

    # -- its heading

    @property
    def data_layout(self) -> str:
        """LLVM's description of sizes and alignments, "" if the module has none."""
        return next((line.split('"')[1] for line in self.heading if line.startswith("target datalayout")), "")

    @property
    def address_bits(self) -> int:
        """The width of addresses in the default address space: 32 or 64."""
        return 32 if "p:32:" in self.data_layout else 64

    def retarget(self, data_layout: str, triple: str) -> None:
        """Make it a module for another machine."""
        self.heading = [line for line in self.heading if not line.startswith("target ")]
        self.heading += [f'target datalayout = "{data_layout}"', f'target triple = "{triple}"']

    # -- types and variables

    @cached_property
    def structs(self) -> dict[str, Type]:
        """The named struct types."""
        found: dict[str, Type] = {}
        waiting = {name: body for name, body in self.types.items() if body != "opaque"}
        while waiting:
            ready = [name for name, body in waiting.items() if all(used in found for used in _NAMED.findall(body))]
            if not ready:
                lines = "; ".join(f"{name} = type {body}" for name, body in waiting.items())
                raise InternalError(f"cannot read LLVM IR: recursive struct types: {lines}")
            for name in ready:
                shape = Reader(waiting.pop(name), found).type()
                found[name] = struct_type(shape.fields, shape.packed, name)
        return found

    def type(self, text: str) -> Type:
        """The type that a text says."""
        if text not in self._types:
            self._types[text] = Reader(text, self.structs).type()
        return self._types[text]

    def allocated(self, line: str) -> Type:
        """What ``alloca`` in a line makes room for, one of them."""
        start = line.find(" = alloca ") + len(" = alloca ")
        return self.type(line[start : type_end(line, start)])

    def variable(self, name: str) -> Global | None:
        """A global variable (``@name``); None if that is something else, such as an alias, or of a type that the model
        does not have."""
        line = self.globals[name]
        if line not in self._variables:
            self._variables[line] = self._read_variable(name, line)
        return self._variables[line]

    def _read_variable(self, name: str, line: str) -> Global | None:
        start = line.find(" = ") + 3
        found = _VARIABLE.search(line, start)
        if found is None:
            return None
        end = type_end(line, found.end())
        space = _SPACE.search(line, start, found.start())
        aligned = _ALIGN.search(line, line.rfind('"') + 1)
        try:
            ty = self.type(line[found.end() : end])
        except InternalError:
            return None
        return Global(
            name,
            ty,
            line[start : found.end()],
            line[end + 1 :],
            space=int(space[1]) if space else 0,
            align=int(aligned[1]) if aligned else 0,
        )

    def is_alias(self, name: str) -> bool:
        """Whether ``@name`` is another name of a function or variable."""
        words = self.globals[name].partition(" = ")[2].partition('"')[0].split()
        return "alias" in words or "ifunc" in words

    def global_bytes(self, name: str) -> int:
        """Size of a global variable (``@name``)."""
        return self._known_variable(name).ty.size_bytes

    def global_value(self, name: str) -> Value:
        """What a global variable (``@name``) holds at first; a zero of its type if the module does not say."""
        known = self._known_variable(name)
        if known.is_external:
            return Value(known.ty, "zeroinitializer")
        return Reader(known.initialiser, self.structs).value(known.ty)

    def _known_variable(self, name: str) -> Global:
        known = self.variable(name)
        if known is None:
            raise InternalError(f"cannot read LLVM IR: {self.globals[name]}")
        return known

    # -- functions

    @property
    def functions(self) -> list[str]:
        return list(self.bodies)

    def header(self, name: str) -> str:
        return self.bodies[name].head

    def lines(self, name: str) -> list[str]:
        """A function's body: labels and instructions, each in one line."""
        return self.bodies[name].lines

    def params(self, line: str) -> list[Param]:
        """The parameters of a function, from the line that it is defined by."""
        reader = Reader(line, self.structs)
        while not reader.peek().startswith("@"):
            reader.next()
        reader.next()
        reader.expect("(")
        params: list[Param] = []
        while not reader.accept(")"):
            if params:
                reader.expect(",")
            ty = reader.type()
            attributes = reader.attributes()
            copied = re.search(r"byval \( (.*?) \) ", attributes + " ")
            by_value = Reader(copied[1], self.structs).type() if copied else None
            params.append(Param(ty, reader.next(), attributes, by_value))
        return params

    def function(self, name: str) -> Function:
        """Read one function into the model. Raises InternalError on IR it does not know."""
        body = self.bodies[name]
        params = self.params(body.head)
        function = Function(name, params, {}, body.head)
        # Unnamed blocks and values share one numbering; the entry block comes right after the parameters.
        block = Block("%" + str(_first_number(params)))
        function.blocks[block.name] = block
        for number, line in enumerate(body.lines):
            label = label_of(line)
            if label:
                if number == 0:
                    function.blocks.clear()
                block = function.blocks[f"%{label}"] = Block(f"%{label}")
                continue
            inst = self.instruction(line)  # anew: whoever asks for a function may change it
            if inst is not None:
                block.insts.append(inst)
        return function

    def constant_expression(self, value: Value) -> Inst:
        """The instruction that computes a constant expression such as ``getelementptr (i8, ptr @x, i64 4)``."""
        return read_expression(value.text, self.structs)

    def instruction(self, line: str) -> Inst | None:
        """Read one line; None if it is a record for debuggers. Raises InternalError on IR that it does not know."""
        inst = read_instruction(line, self.structs)
        if inst is not None:
            inst.attached = attachments(line)
            if inst.attached and (site := inst.attachment("dbg")):
                inst.line, inst.column = self._location(site)
                inst.site = site
        return inst

    def _location(self, node: str) -> tuple[int, int]:
        """Line and column of a debug location; of what was inlined from another file than the function's, those of the
        call."""
        places = [fields(self.metadata.get(node, ""))]
        while call := places[-1].get("inlinedAt"):
            places.append(fields(self.metadata.get(call, "")))
        own = self._file(places[-1].get("scope", ""))
        known = next(place for place in places if self._file(place.get("scope", "")) == own)
        return int(known.get("line", 0)), int(known.get("column", 0))

    def _file(self, scope: str) -> str:
        """The name of the file that a scope of the debug information is in."""
        found = self._files.get(scope)
        if found is None:
            known = fields(self.metadata.get(scope, ""))
            file = fields(self.metadata.get(known.get("file", ""), "")).get("filename", "")
            found = self._files[scope] = file or (self._file(known["scope"]) if "scope" in known else "")
        return found


def function_name(line: str) -> str:
    """The name of the function that a line defines or declares, without quotes."""
    match = _FUNCTION_NAME.search(line)
    if match is None:
        raise InternalError(f"cannot read LLVM IR: {line}")
    return match[1].strip('"')


def _first_number(params: list[Param]) -> int:
    numbers = [int(p.name[1:]) for p in params if p.name[1:].isdigit()]
    return max(numbers) + 1 if numbers else 0


def _join_continued(lines: list[str]) -> list[str]:
    """Join the lines of a switch, the one instruction that LLVM prints over several."""
    out: list[str] = []
    for line in lines:
        if out and out[-1].lstrip().startswith("switch ") and "]" not in out[-1]:
            out[-1] += " " + line.strip()
        else:
            out.append(line)
    return out

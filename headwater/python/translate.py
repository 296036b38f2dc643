"""Input: a Python function and the types of its arguments. Output: OpenCL C.

The body is visited until the variables' types do not change any more: reads see the types of the pass before, and each
pass collects what is assigned anew. All errors of the last pass are reported together.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from headwater.python import builtin_calls, calls
from headwater.python.arrays import Handle
from headwater.python.expressions import (
    COMPARE,
    WEAK,
    Expr,
    Refused,
    Unclear,
    binary,
    common_type,
    constant,
    convert,
    default_of,
    literal,
    named,
    number,
    settled,
    truth,
)
from headwater.python.source import source_of
from headwater.python.types import (
    INT32,
    INT64,
    SAMPLER,
    SIZE,
    TEXT,
    UNKNOWN,
    VOID,
    WEAK_FLOAT,
    WEAK_INT,
    Array,
    Constant,
    ImageType,
    LocalPointer,
    Scalar,
    Struct,
    Tuple,
    Type,
    Vector,
    of_annotation,
)
from headwater.python.unit import Done, Hidden, Unit, array_of, c_name
from headwater.python.values import BINARY, BINDS, MISSING, Flow, Values, Variable, is_float, unsigned

MOST_PASSES: Final = 24


class Translator(Values):
    """One function with types for its parameters."""

    # -- calls ---------------------------------------------------------------------------------------------------------

    def value_call(self, node: ast.Call) -> Expr:
        return calls.call(self, node)

    def special_attribute(self, owner: Any, name: str) -> Expr | None:
        return calls.attribute(self, owner, name)

    def translated(self, function: Any, kinds: Sequence[Type], node: ast.AST) -> Done:
        return translate(self.unit, function, kinds, node, type(self))

    # -- passes --------------------------------------------------------------------------------------------------------

    def run(self) -> Done:
        """Translate the function. Its errors go to the unit."""
        name = self.unit.fresh(self.function.__name__)
        self._refuse_signature()
        for _ in range(MOST_PASSES):
            self._visit()
            kinds = {name: (v.type, v.positive) for name, v in self.found.items()}
            before = {name: (v.type, v.positive) for name, v in self.known.items()}
            self.known = self.found
            if kinds == before:
                weak = {name for name, (kind, _) in kinds.items() if kind in WEAK}
                if not weak:
                    break
                self.forced |= weak
        for fault in self.faults:
            self.unit.faults.setdefault((fault.span, fault.message), fault)
        written = frozenset(at for at, name in enumerate(self.parameters) if name in self.written)
        return Done(name, self._whole(name), self.result, written, tuple(self.hidden))

    def _refuse_signature(self) -> None:
        args = self.tree.args
        for extra in (args.vararg, args.kwarg, *args.kwonlyargs):
            if extra is not None:
                self.fault(extra, f"parameter {extra.arg} takes its value in a way that kernels have not",
                           "list the parameters one by one")  # fmt: skip

    def _visit(self) -> None:
        self._forget()
        self.found, self.lines, self.faults, self.top, self.locals = {}, [], [], [], {}
        self.hidden, self.breaks, self.temporaries, self.line, self.level = {}, [], 0, 0, 1
        self.flow = Flow(set(self.parameters))
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            self.found[name] = Variable(kind, self.tree, unsigned(kind), {name})
        self.body(self.tree.body)
        if self.result != VOID and self.flow.reached and self.result_node is not None:
            last = self.tree.body[-1]
            self.fault(last, f"{self.function.__name__} gives {self.called(self.result)} back in line "
                       f"{self.result_node.lineno} but ends here without a value",
                       "end it with return VALUE")  # fmt: skip

    def _forget(self) -> None:
        """Begin a pass."""
        self.result, self.result_node = VOID, None

    def _whole(self, name: str) -> str:
        unit = self.unit
        parameters = []
        for parameter, kind in zip(self.parameters, self.kinds, strict=True):
            if not isinstance(kind, Constant):
                parameters.append(self._parameter(parameter, kind))
        for hidden in self.hidden:
            parameters.append(self._hidden_parameter(hidden))
        declared: dict[str, list[str]] = {}
        for variable, info in self.found.items():
            if (
                variable == "return"
                or variable in self.parameters
                or variable in self.scopes.inline
                or variable in self.scopes.counters
            ):
                continue
            if (
                variable in self.locals
                or isinstance(info.type, (Array, Constant))
                or info.type in (UNKNOWN, TEXT, VOID)
            ):
                continue
            declared.setdefault(unit.c_type(default_of(info.type)), []).append(c_name(variable))
        head = [f"    {kind} {', '.join(names)};" for kind, names in declared.items()]
        head += [
            f"    {array_of(info.type, unit, c_name(variable), variable not in self.written)};"
            for variable, info in self.found.items()
            if isinstance(info.type, Array) and variable not in self.parameters and variable not in self.locals
        ]
        head += [f"    {text}" for text in self.top]
        quoted = self.source.filename.replace("\\", "\\\\").replace('"', '\\"')
        result = "void" if self.result == VOID else unit.c_type(default_of(self.result))
        start = "__kernel void" if self.kernel else f"static {result}"
        lines = "\n".join([*head, *self.lines])
        return (
            f'#line {self.tree.lineno} "{quoted}"\n{start} {name}({", ".join(parameters) or "void"})\n{{\n{lines}\n}}\n'
        )

    def _parameter(self, name: str, kind: Type) -> str:
        made = c_name(name)
        if isinstance(kind, Array):
            return array_of(kind, self.unit, made, name not in self.written)
        if isinstance(kind, LocalPointer):
            return f"__local {self.unit.c_type(kind.element, True)} *{made}"
        if isinstance(kind, ImageType):
            return f"{kind.access} {kind.c} {made}"
        if kind == SAMPLER:
            return f"sampler_t {made}"
        if kind == UNKNOWN:
            return f"int {made}"
        return f"{self.unit.c_type(kind, self.kernel)} {made}"

    def _hidden_parameter(self, hidden: Hidden) -> str:
        if hidden.kind == "l":
            element, name = self.unit.dynamic[hidden.position]
            return f"__local {self.unit.c_type(element, True)} *{name}"
        if hidden.kind == "a":
            kind = self.unit.arrays[hidden.position][1]
            return array_of(kind, self.unit, f"captured_{hidden.position}", False)
        kind = self.kinds[hidden.position]
        wide = isinstance(kind, Array) and (kind.wide or (hidden.kind != "n" and kind.layout == "strided"))
        return f"{'long' if wide else 'int'} {self.hidden_name(hidden)}"

    def assign(self, name: str, e: Expr, node: ast.stmt, declared: Type | None = None, symbol: str = "") -> None:
        """``name = e``; ``symbol``: of ``name op= …``."""
        if e.type == VOID:
            raise Refused("this gives nothing that could be assigned", "")
        if e.static is not None and e.type == UNKNOWN:
            self._assign_static(name, e, node)
            return
        if e.type in (TEXT, SAMPLER) or isinstance(e.type, ImageType):
            raise Refused(f"a variable cannot hold {named(e)}", "use it where it is needed")
        if isinstance(e.type, Array):
            self._assign_array(name, e, node)
            return
        kind = declared or (INT32 if e.type == SIZE else e.type)
        if isinstance(e.type, Tuple):
            e = self._settled_tuple(e)
            kind = e.type
        old = self.found.get(name)
        if name in self.forced and kind in WEAK:
            kind = default_of(kind)
        if old is None:
            self.found[name] = Variable(kind, node, e.positive)
        else:
            old.type, old.node = self._merged(name, old, kind, node)
            old.positive = old.positive and e.positive
        settled_kind = (self.known.get(name) or self.found[name]).type
        self.flow.assigned.add(name)
        if settled_kind == UNKNOWN:
            raise Unclear
        if not isinstance(settled_kind, Tuple) and settled_kind not in WEAK:
            e = convert(e, settled_kind)
        text = _assignment(c_name(name), e, symbol)
        if self.scopes.inline.get(name) is node:
            text = f"{self.unit.c_type(default_of(settled_kind))} {text}"
        self.emit(text, node)

    def _assign_static(self, name: str, e: Expr, node: ast.stmt) -> None:
        """A name for what is no value of a kernel: a type, a function, a group."""
        if name in self.parameters or self.scopes.stores.get(name, 0) != 1:
            raise Refused(f"{named(e)} is no value of a kernel", "use it where it is called or indexed")
        self.found[name] = Variable(Constant(f"{named(e)} {id(e.static)}", e.static), node)
        self.flow.assigned.add(name)

    def _settled_tuple(self, e: Expr) -> Expr:
        parts = tuple(self._settled_tuple(part) if isinstance(part.type, Tuple) else settled(part) for part in e.parts)
        for part in parts:
            if not isinstance(part.type, (Scalar, Vector, Struct, Tuple)):
                raise Refused(f"a tuple variable cannot hold {named(part)}", "use a variable for each")
        kind = Tuple(f"({', '.join(p.type.name for p in parts)})", tuple(p.type for p in parts))
        text = e.text or f"({self.unit.c_type(kind)}){{{', '.join(p.text for p in parts)}}}"
        return Expr(kind, text, parts=parts)

    def _assign_array(self, name: str, e: Expr, node: ast.stmt) -> None:
        handle: Handle = e.array
        if handle.nested or handle.kind.space != "global" or handle.stride is not None:
            raise Refused(f"{name} = … of {'a strided' if handle.stride else f'a {handle.kind.space}'} array",
                          "use the array by its own name")  # fmt: skip
        old = self.found.get(name)
        if old is None:
            old = self.found[name] = Variable(e.type, node)
        else:
            old.type, old.node = self._merged(name, old, e.type, node)
        old.origins |= handle.origins
        if name in self.written:
            self.written |= handle.origins
        self.flow.assigned.add(name)
        text = c_name(name)
        self.emit(f"{text} = {handle.pointer};", node)
        kind = handle.kind
        for axis in range(kind.ndim):
            extent = handle.size(axis)
            own = self.extent_name(name, axis)
            declared = f"{'long' if kind.wide else 'int'} {own};"
            if name in self.parameters:
                hidden = Hidden("n", self.parameters.index(name), axis)
                self.hidden[hidden] = None
                own = self.hidden_name(hidden)
            elif declared not in self.top:
                self.top.append(declared)
            self.emit(f"{own} = {extent.text};")

    def _merged(self, name: str, old: Variable, kind: Type, node: ast.AST) -> tuple[Type, ast.AST]:
        """The type of a variable to which something else is assigned, and what gave it that."""
        before = old.type
        if before == kind or kind == UNKNOWN:
            return before, old.node
        if before == UNKNOWN:
            return kind, node
        if before in WEAK and kind in WEAK:
            return (WEAK_FLOAT, node if kind == WEAK_FLOAT else old.node)
        for weak, strong, strong_node in ((before, kind, node), (kind, before, old.node)):
            fits = isinstance(strong, Scalar) and strong.kind != "b" and (strong.kind == "f" or weak == WEAK_INT)
            if weak in WEAK and fits:
                return strong, strong_node
        first, line = self.called(before), getattr(old.node, "lineno", 0)
        whose = f"as a parameter, in line {line}" if old.node is self.tree else f"in line {line}"
        now = self.called(kind)
        convertible = isinstance(default_of(kind), Scalar) and isinstance(default_of(before), Scalar)
        hint = f"a variable has one type: hw.{first}(…) converts the value, or use another name" if convertible else (
            "a variable has one type: use another name"
        )  # fmt: skip
        raise Refused(f"{name} is {first} {whose}, and {now} here", hint, node)

    # -- statements ----------------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Statements one after the other."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """One statement; an error in it is noted, and the next one visited."""
        try:
            method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
            if method is None:
                self.not_there(node)
            method(node)
        except Refused as error:
            self.fault(error.node or node, error.message, error.hint)
            self._give_up(node)
        except Unclear:
            self._give_up(node)

    def _give_up(self, node: ast.stmt) -> None:
        """What a statement with an error would have assigned has a value of unknown type."""
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            for part in ast.walk(target) if target is not None else ():
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    self.found.setdefault(part.id, Variable(UNKNOWN, node))
                    self.flow.assigned.add(part.id)

    def visit_pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def visit_expr(self, node: ast.Expr) -> None:
        """A call, or a docstring."""
        if isinstance(node.value, ast.Constant):
            return
        if not isinstance(node.value, ast.Call):
            if type(node.value) in MISSING:
                self.not_there(node.value)
            self.value(node.value)
            raise Refused("this value is not used", "assign it, or leave it out")
        made = self.value(node.value)
        if made.text:
            self.emit(f"{made.text};", node)

    def visit_assign(self, node: ast.Assign) -> None:
        """``a = b = value``, with tuples on either side."""
        if len(node.targets) > 1:
            value = self.value(node.value)
            if value.array is None and not value.parts and value.value is None:
                value = self.kept(settled(value), node)
            for target in node.targets:
                self.store(target, value, node)
            return
        target = node.targets[0]
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
            allocated = builtin_calls.allocation(self, target.id, node.value)
            if allocated is not None:
                self._allocated(target.id, allocated, node)
                return
        self.store(target, self.value(node.value), node)

    def _allocated(self, name: str, handle: Handle, node: ast.stmt) -> None:
        if name in self.parameters or name in self.locals:
            raise Refused(f"{name} is an array already", "use another name")
        self.locals[name] = handle
        self.found[name] = Variable(handle.kind, node)
        self.flow.assigned.add(name)

    def store(self, target: ast.expr, e: Expr, node: ast.stmt) -> None:
        """Assign a value to a name, an element, a component, or to several of them."""
        if isinstance(target, ast.Name):
            self.assign(target.id, e, node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, e, node)
        elif isinstance(target, (ast.Subscript, ast.Attribute)):
            place = self.place(target)
            if isinstance(e.type, Tuple) or e.static is not None:
                raise Refused(f"{named(e)} is no {place.type.name}")
            self.emit(f"{place.text} = {convert(e, place.type).text};", node)
        else:
            self.not_there(target)

    def _unpack(self, target: ast.Tuple | ast.List, e: Expr, node: ast.stmt) -> None:
        if not isinstance(e.type, Tuple):
            raise Refused(f"{named(e)} cannot be unpacked into {len(target.elts)} names", "")
        if len(e.type.parts) != len(target.elts):
            raise Refused(f"{len(e.type.parts)} values cannot be unpacked into {len(target.elts)} names", "")
        parts = e.parts
        if not parts:
            name = self.temporary()
            self.emit(f"const {self.unit.c_type(e.type)} {name} = {e.text};", node)
            parts = tuple(Expr(kind, f"{name}._{at}") for at, kind in enumerate(e.type.parts))
        elif len(parts) > 1 and not _independent(target, node):
            parts = tuple(self._kept_part(part, node) for part in parts)
        for one, part in zip(target.elts, parts, strict=True):
            self.store(one, part, node)

    def _kept_part(self, e: Expr, node: ast.stmt) -> Expr:
        """A part of a tuple, as it is before any of the tuple's targets is assigned to."""
        if isinstance(e.type, Tuple) and e.parts:
            return replace(e, text="", parts=tuple(self._kept_part(part, node) for part in e.parts))
        if e.array is not None and e.array.kind.space == "global":
            name = self.temporary()
            self._assign_array(name, e, node)
            return self.read_variable(name, node)
        if e.value is not None or e.array is not None or e.static is not None or e.type in WEAK:
            return e
        return self.kept(settled(e), node)

    def visit_annassign(self, node: ast.AnnAssign) -> None:
        """``name: type = value``."""
        if not isinstance(node.target, ast.Name):
            raise Refused("only variables can be annotated", "")
        kind = of_annotation(self.value(node.annotation).static)
        if not isinstance(kind, (Scalar, Vector, Struct)):
            raise Refused(f"{ast.unparse(node.annotation)} is no type of a variable", "hw.int32, hw.float64, …")
        if node.value is None:
            raise Refused(f"{node.target.id} gets a type but no value", "assign one")
        self.assign(node.target.id, convert(self.value(node.value), kind), node, kind)

    def visit_augassign(self, node: ast.AugAssign) -> None:
        """``target op= value``."""
        symbol = BINARY.get(type(node.op))
        if symbol is None:
            raise Refused("@ is not in the language of kernels", "write the loops of the product")
        e = self.value(node.value)
        if isinstance(node.target, ast.Name):
            old = self.read_variable(node.target.id, node.target) if node.target.id in self.scopes.names else (
                self.value(replace_context(node.target))
            )  # fmt: skip
            self.assign(node.target.id, binary(symbol, old, e, self.need), node, symbol=symbol)
            return
        place = self.place(node.target, node)
        old = place if e.pure else self.kept(place, node)  # a call may change it, and Python reads it before
        made = binary(symbol, old, e, self.need)
        if isinstance(place.type, Scalar) and place.type.kind != "f" and is_float(made.type):
            raise Refused(
                f"{place.type.name} {symbol}= … makes a {self.called(made.type)} of it",
                f"int(…) or hw.{place.type.name}(…) of the whole makes that clear",
            )
        self.emit(_assignment(place.text, convert(made, place.type), symbol), node)

    def visit_return(self, node: ast.Return) -> None:
        """The end of the function."""
        bare = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
        if self.kernel:
            if not bare:
                raise Refused("a kernel returns nothing", "write the result to an array")
            self.emit("return;", node)
        elif bare:
            if self.result != VOID:
                raise Refused(f"{self.function.__name__} gives a value back elsewhere, and nothing here", "")
            self.emit("return;", node)
        else:
            assert node.value is not None
            self._return_value(self.value(node.value), node)
        self.flow.reached = False

    def _return_value(self, e: Expr, node: ast.Return) -> None:
        if isinstance(e.type, Tuple):
            e = self._settled_tuple(e)
        if isinstance(e.type, (Array, LocalPointer)) or e.static is not None or e.type == VOID:
            raise Refused(f"a function cannot give {named(e)} back", "numbers, vectors, structs and tuples of them")
        old = self.known.get("return")
        now = Variable(e.type if e.type != SIZE else INT32, node)
        before = self.found.get("return")
        if before is None:
            self.found["return"] = now
        else:
            before.type, before.node = self._merged("what is returned", before, now.type, node)
        if "return" in self.forced and self.found["return"].type in WEAK:
            self.found["return"].type = default_of(self.found["return"].type)
        kind = default_of((old or self.found["return"]).type)
        self.result, self.result_node = kind, node
        self.emit(f"return {(e if isinstance(kind, Tuple) else convert(e, kind)).text};", node)

    def visit_if(self, node: ast.If) -> None:
        """Branches; of a constant condition only the one that is taken is translated."""
        test = truth(self.value(node.test))
        if test.value is not None:
            self.body(node.body if test.value else node.orelse)
            return
        before = self.flow.copy()
        self.emit(f"if ({test.text}) {{", node)
        self._block(node.body)
        behind, self.flow = self.flow, before
        if node.orelse:
            self.emit("} else {")
            self._block(node.orelse)
        self.emit("}")
        self.flow.join(behind)

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        self.level += 1
        self.body(statements)
        self.level -= 1

    def visit_while(self, node: ast.While) -> None:
        """A loop; ``while True`` ends by break or return only."""
        if node.orelse:
            raise Refused("else of a loop is not in the language of kernels", "a variable that says how it ended")
        test = truth(self.value(node.test))
        endless = test.value is not None and bool(test.value)
        self.emit(f"while ({test.text}) {{", node)
        header = len(self.lines) - 1
        after = Flow(set(self.flow.assigned), self.flow.reached and not endless)
        self._loop(node.body, after, functools.partial(self._stepping, test, header) if _steps(node) else None)

    def _stepping(self, test: Expr, header: int, last: ast.stmt) -> None:
        """The last statement of a loop, which multiplies or divides what the loop's test is about: as in C it belongs
        to the head of the loop."""
        before = len(self.lines)
        self.statement(last)
        made = [line.strip() for line in self.lines[before:] if not line.startswith("#line")]
        if len(made) == 1:
            del self.lines[before:]
            self.line = -1
            start = self._start(header, last) or ";"
            self.lines[header] = f"{'    ' * (self.level - 1)}for ({start} {test.text}; {made[0].removesuffix(';')}) {{"

    def _start(self, header: int, last: Any) -> str:
        """The declaration before a loop of what only the loop uses, taken out of the lines; "" if there is none."""
        name = last.target.id
        at = header - 1
        while at >= 0 and self.lines[at].startswith("#line"):
            at -= 1
        declared = self.lines[at].strip() if at >= 0 else ""
        if name not in self.scopes.inline or not re.fullmatch(rf"\w+ {c_name(name)} = .*;", declared):
            return ""
        if self.scopes.alone.get(name) is not last:
            return ""
        self.lines[at] = ""
        return declared

    def _loop(
        self, statements: Sequence[ast.stmt], after: Flow, step: Callable[[ast.stmt], None] | None = None
    ) -> None:
        outer, self.breaks = self.breaks, []
        if step is None:
            self._block(statements)
        else:
            self.level += 1
            self.body(statements[:-1])
            step(statements[-1])
            self.level -= 1
        for way in self.breaks:
            after.join(way)
        self.breaks = outer
        self.flow = after
        self.emit("}")

    def visit_for(self, node: ast.For) -> None:
        """``for name in range(…)``."""
        if node.orelse:
            raise Refused("else of a loop is not in the language of kernels", "a variable that says how it ended")
        called = node.iter.func if isinstance(node.iter, ast.Call) else None
        if called is None or self.value(called).static is not range:
            over = self.value(node.iter) if not isinstance(node.iter, ast.Call) else None
            hint = "for i in range(len(array)): …" if over is not None and over.array else "for … in range(…)"
            raise Refused("for goes over range(…) only", hint, node.iter)
        if not isinstance(node.target, ast.Name):
            raise Refused("the loop's variable is one name", "", node.target)
        assert isinstance(node.iter, ast.Call)
        if node.iter.keywords or not 1 <= len(node.iter.args) <= 3:
            raise Refused("range takes one to three numbers", "range(start, stop, step)", node.iter)
        bounds = [self.value(arg) for arg in node.iter.args]
        for bound, arg in zip(bounds, node.iter.args, strict=True):
            if not number(bound) or is_float(bound.type):
                if bound.type == UNKNOWN and bound.static is None:
                    raise Unclear
                raise Refused(f"range of {named(bound)}", "int(…) makes a whole number of it", arg)
        self._counted(node, node.target.id, bounds)

    def _counted(self, node: ast.For, name: str, bounds: list[Expr]) -> None:
        start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else constant(1)
        if step.value == 0:
            raise Refused("range with a step of 0", "", node.iter)
        kind = _range_type([start, stop, step])
        if isinstance(kind, Scalar) and kind.kind == "u" and not step.positive:
            kind = INT64 if kind.bits == 64 else INT32
        assert isinstance(kind, Scalar)
        c = kind.c
        constants = [bound.value for bound in (start, stop, step)]
        runs = None not in constants and bool(range(*[int(v) for v in constants]))
        variable = self.found.get(name)
        positive = start.positive and step.positive
        if variable is None:
            self.found[name] = Variable(kind, node, positive)
        else:
            variable.type, variable.node = self._merged(name, variable, kind, node)
            variable.positive = variable.positive and positive
        lower = convert(start, kind) if start.type != SIZE or kind != INT32 else start
        limit = self._bound(stop, kind, node)
        by = self._bound(step, kind, node) if step.type != SIZE else step
        counter = c_name(name)
        own = name in self.scopes.counters
        if not own:
            counter = self.temporary()
        if step.positive:
            test = f"{counter} < {limit.within(COMPARE + 1)}"
        elif step.value is not None:
            test = f"{counter} > {limit.within(COMPARE + 1)}"
        else:
            bounded = limit.within(COMPARE + 1)
            test = f"{by.within(COMPARE + 1)} > 0 ? {counter} < {bounded} : {counter} > {bounded}"
        more = f"++{counter}" if step.value == 1 else f"--{counter}" if step.value == -1 else f"{counter} += {by.text}"
        if step.value is not None and step.value < -1:
            more = f"{counter} -= {literal(-step.value, kind).text}"
        self.emit(f"for ({c} {counter} = {lower.text}; {test}; {more}) {{", node)
        after = self.flow.copy()
        self.flow.assigned.add(name)
        if not own:
            self.level += 1
            self.emit(f"{c_name(name)} = {counter};", node)
            self.level -= 1
        self._loop(node.body, after)
        if runs:
            self.flow.assigned.add(name)

    def _bound(self, e: Expr, kind: Scalar, node: ast.For) -> Expr:
        """A bound of a loop, evaluated once: Python does not look at it again."""
        stable = e.value is not None or (e.pure and not self._changes(e, node))
        made = convert(e, kind)
        return made if stable else self.kept(made, node)

    def _changes(self, e: Expr, node: ast.For) -> bool:
        """Whether what a bound was made of may change in the loop."""
        assigned = set()
        for part in ast.walk(node):
            if isinstance(getattr(part, "ctx", None), ast.Store):
                while isinstance(part, (ast.Attribute, ast.Subscript)):  # v.x = … changes v
                    part = part.value
                if isinstance(part, ast.Name):
                    assigned.add(c_name(part.id))
        words = {re.sub(r"_n\d(_u)*$", "", word) for word in re.findall(r"[A-Za-z_]\w*", e.text)}
        return "[" in e.text or bool(assigned & words)

    def visit_break(self, node: ast.Break) -> None:
        """The end of the loop."""
        self.emit("break;", node)
        self.breaks.append(self.flow.copy())
        self.flow.reached = False

    def visit_continue(self, node: ast.Continue) -> None:
        """The next round of the loop."""
        self.emit("continue;", node)
        self.flow.reached = False


def _range_type(bounds: list[Expr]) -> Type:
    """The type of a loop's variable. Refused where one bound is signed and one unsigned, unless the signed one is not
    below 0."""
    kinds = [(bound.type, bound.positive) for bound in bounds if isinstance(bound.type, Scalar)]
    widest = max((kind.bits for kind, _ in kinds if kind.kind == "u"), default=0)
    made: Type | None = None
    for kind, positive in kinds:
        if kind.kind == "i" and positive and 32 <= widest >= kind.bits:
            continue
        made = common_type(kind if made is None else made, kind, "range")
    return made or INT32


def _steps(node: ast.While) -> bool:
    """Whether a loop ends with ``name *= …`` (or another product or quotient) of a name in its test, and nothing goes
    on before."""
    last = node.body[-1]
    if not isinstance(last, ast.AugAssign) or not isinstance(last.target, ast.Name):
        return False
    if not isinstance(last.op, (ast.Mult, ast.FloorDiv, ast.LShift, ast.RShift)):
        return False
    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    return last.target.id in names and not any(isinstance(part, ast.Continue) for part in ast.walk(node))


def _assignment(place: str, e: Expr, symbol: str) -> str:
    """``place = e;``, or ``place += …;`` where ``e`` is a sum of it."""
    c = "/" if symbol == "//" else symbol
    start = f"{place} {c} "
    if c and e.text.startswith(start) and e.binds == BINDS.get(c):
        return f"{place} {c}= {e.text.removeprefix(start)};"
    return f"{place} = {e.text};"


def replace_context(node: ast.Name) -> ast.Name:
    """The name as one that is read."""
    return ast.copy_location(ast.Name(node.id, ast.Load()), node)


def _independent(target: ast.Tuple | ast.List, node: ast.stmt) -> bool:
    """Whether no value of a tuple assignment reads what an earlier one of its targets changes."""
    if not all(isinstance(one, ast.Name) for one in target.elts) or not isinstance(node, ast.Assign):
        return False
    names = {one.id for one in target.elts if isinstance(one, ast.Name)}
    read = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return not names & read


def translate(unit: Unit, function: Any, kinds: Sequence[Type], node: Any, translator: type[Translator]) -> Done:
    """A function for arguments of such types, once for each set of them. Refused if it calls itself."""
    key = (function, tuple(kinds))
    if key in unit.done:
        return unit.done[key]
    if key in unit.under_way or any(one[0] is function for one in unit.under_way):
        raise Refused(f"{function.__name__} calls itself, and kernels have no stack", "a loop", node)
    made = translator(unit, function, kinds, source_of(function), False)
    unit.under_way.append(key)
    try:
        done = made.run()
    finally:
        unit.under_way.remove(key)
    if made.faults:
        done = replace(done, result=UNKNOWN)
    unit.done[key] = done
    return done

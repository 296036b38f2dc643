"""Input: a checked kernel's statements and expressions. Output: lines of OpenCL C.

Expressions are printed with as few parentheses as C's precedence allows. Conditions of one component are C's 0 or 1,
those of
vectors OpenCL's masks of 0 or -1; where a condition becomes a number the checker has put a ``Convert``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headwater.brook import ast
from headwater.brook.affine import Affine, ClippedIndex, PositionIndex, TiledLoop
from headwater.brook.context import KernelInfo
from headwater.brook.emit_calls import call_builtin
from headwater.brook.emit_text import (
    array_extents,
    literal,
    literal_fits,
    mask_base,
    offset_text,
    one,
    row_major,
    shape_name,
    tile_name,
    times_position,
    zero,
)
from headwater.brook.folding import floating_constant, integer_constant
from headwater.brook.model import StructType
from headwater.brook.naming import Names
from headwater.brook.support import Support
from headwater.brook.types import COMPONENTS, VOID, Symbol, Type

COMMA, ASSIGN, TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, LESS, SHIFT, ADD, MULTIPLY, UNARY, POSTFIX = range(15)
_BINARY = {
    ",": COMMA,
    "||": OR,
    "&&": AND,
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    "==": EQUAL,
    "!=": EQUAL,
    "<": LESS,
    ">": LESS,
    "<=": LESS,
    ">=": LESS,
    "<<": SHIFT,
    ">>": SHIFT,
    "+": ADD,
    "-": ADD,
    "*": MULTIPLY,
    "/": MULTIPLY,
    "%": MULTIPLY,
}
_NARROW = frozenset({"char", "uchar", "short", "ushort"})
POSITION = "hw_position"
_INDENT = "    "


@dataclass(frozen=True)
class Code:
    """A printed expression and how tightly its outermost operator binds."""

    text: str
    level: int = POSTFIX

    def at(self, level: int) -> str:
        """The text, in parentheses where an operator of ``level`` would tear it apart."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass
class Lines:
    """Output lines with the source line that each came from (0: none)."""

    text: list[str] = field(default_factory=list)
    source: list[int] = field(default_factory=list)

    def add(self, text: str = "", line: int = 0) -> None:
        """Append text, which may hold several lines."""
        for part in text.split("\n"):
            self.text.append(part)
            self.source.append(line)

    def extend(self, other: Lines) -> None:
        """Append all lines of another."""
        self.text += other.text
        self.source += other.source


def stored_differs(struct: StructType, structs: dict[str, StructType]) -> bool:
    """Whether a struct has vector members, whose alignment in OpenCL C is not the host's."""
    return any(
        f.type.width > 1 or (f.type.is_struct and stored_differs(structs[f.type.base], structs)) for f in struct.fields
    )


@dataclass
class Storage:
    """How elements lie in buffers: three components packed, structs with vectors as arrays of scalars."""

    structs: dict[str, StructType]

    def pointee(self, type_: Type) -> str:
        """The type that a pointer to elements of ``type_`` points to."""
        if type_.is_struct:
            return f"{type_.name}_stored" if stored_differs(self.structs[type_.base], self.structs) else type_.name
        return type_.base if type_.width == 3 else type_.name

    def has_places(self, type_: Type) -> bool:
        """Whether an element is a place in C's sense, to which values can be assigned."""
        return type_.width != 3

    def load(self, pointer: str, index: str, type_: Type, space: str = "__global") -> Code:
        """Read element ``index``."""
        if type_.width == 3:
            return Code(f"vload3({index}, {pointer})")
        if self.pointee(type_) != type_.name:
            suffix = "_constant" if space == "__constant" else ""
            return Code(f"{type_.name}_load{suffix}(&{pointer}[{index}])")
        return Code(f"{pointer}[{index}]")

    def store(self, pointer: str, index: str, type_: Type, value: str) -> str:
        """A statement's text that writes element ``index``."""
        if type_.width == 3:
            return f"vstore3({value}, {index}, {pointer})"
        if self.pointee(type_) != type_.name:
            return f"{type_.name}_store(&{pointer}[{index}], {value})"
        return f"{pointer}[{index}] = {value}"


class BodyEmitter:
    """Prints the body of one kernel. Indices in ``unclamped`` (by ``id``) are known to be good.

    ``tiled``: the loops whose elements the work-group, of ``group`` work-items, brings to local memory.
    """

    stored: frozenset[str] = frozenset({"scatter"})
    """Arrays whose elements are written through `Storage`; others are variables."""
    thread = "(int)get_local_id(0)"
    sync = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"

    def __init__(
        self,
        kernel: KernelInfo,
        names: Names,
        support: Support,
        storage: Storage,
        unclamped: Mapping[int, PositionIndex | ClippedIndex] | None = None,
        tiled: Sequence[TiledLoop] = (),
        group: int = 0,
    ) -> None:
        self.kernel = kernel
        self.names = names
        self.support = support
        self.storage = storage
        self.unclamped = unclamped or {}
        self.temporaries: list[tuple[str, str]] = []
        self.tiled = {id(loop.node): loop for loop in tiled}
        self.group = group
        self.in_tile: dict[int, str] = {}

    # ---- statements

    def body(self) -> Lines:
        """The statements of the kernel between its braces, temporaries declared first."""
        statements = Lines()
        for statement in self.kernel.node.body.body:
            self._statement(statement, statements, 1)
        lines = Lines()
        for type_name, name in self.temporaries:
            lines.add(f"{_INDENT}{type_name} {name};")
        lines.extend(statements)
        return lines

    def _statement(self, node: ast.Statement, lines: Lines, depth: int) -> None:
        indent = _INDENT * depth
        match node:
            case ast.Block():
                lines.add(f"{indent}{{", node.line)
                for statement in node.body:
                    self._statement(statement, lines, depth + 1)
                lines.add(f"{indent}}}", node.end_line)
            case ast.Declaration():
                text = self._declaration(node)
                if text:
                    lines.add(f"{indent}{text};", node.line)
            case ast.Evaluate():
                self._evaluate(node, lines, depth)
            case ast.If():
                lines.add(f"{indent}if ({self.expression(node.condition).text}) {{", node.line)
                self._inner(node.yes, lines, depth)
                no = node.no
                while isinstance(no, ast.If):
                    lines.add(f"{indent}}} else if ({self.expression(no.condition).text}) {{", no.line)
                    self._inner(no.yes, lines, depth)
                    no = no.no
                if no is not None:
                    lines.add(f"{indent}}} else {{", no.line)
                    self._inner(no, lines, depth)
                lines.add(f"{indent}}}")
            case ast.While():
                lines.add(f"{indent}while ({self.expression(node.condition).text}) {{", node.line)
                self._inner(node.body, lines, depth)
                lines.add(f"{indent}}}")
            case ast.DoWhile():
                lines.add(f"{indent}do {{", node.line)
                self._inner(node.body, lines, depth)
                lines.add(f"{indent}}} while ({self.expression(node.condition).text});", node.condition.line)
            case ast.For() if id(node) in self.tiled:
                self._tiled_for(self.tiled[id(node)], lines, depth)
            case ast.For():
                lines.add(f"{indent}for ({';'.join(self._for_header(node))}) {{", node.line)
                self._inner(node.body, lines, depth)
                lines.add(f"{indent}}}")
            case ast.Jump():
                lines.add(f"{indent}{node.keyword};", node.line)
            case ast.Return():
                value = "" if node.value is None else f" {self.expression(node.value).text}"
                lines.add(f"{indent}return{value};", node.line)

    def _inner(self, node: ast.Statement, lines: Lines, depth: int) -> None:
        if isinstance(node, ast.Block):
            for statement in node.body:
                self._statement(statement, lines, depth + 1)
        elif not (isinstance(node, ast.Evaluate) and node.expression is None):
            self._statement(node, lines, depth + 1)

    def _for_header(self, node: ast.For) -> tuple[str, str, str]:
        if isinstance(node.start, ast.Declaration):
            start = self._declaration(node.start)
        else:
            start = "" if node.start is None else self.expression(node.start, discard=True).text
        condition = "" if node.condition is None else f" {self.expression(node.condition).text}"
        step = "" if node.step is None else f" {self.expression(node.step, discard=True).text}"
        return start, condition, step

    def _tiled_for(self, loop: TiledLoop, lines: Lines, depth: int) -> None:
        """A counted loop over tiles of the elements that all work-items read in turn."""
        node, indent = loop.node, _INDENT * depth
        start, end, item = (self.names.fresh(name) for name in ("start", "end", "item"))
        first, condition, step = self._for_header(node)
        counter = loop.counter.c_name
        bound = self.expression(loop.bound).at(MULTIPLY)
        left = f"{bound} - {start}{' + 1' if loop.closed else ''}"
        lines.add(f"{indent}for ({first};{condition};) {{", node.line)
        lines.add(f"{indent}    const int {start} = {counter}, {item} = get_local_id(0);", node.line)
        lines.add(f"{indent}    const int {end} = {start} + min({left}, {self.group});", node.line)
        lines.add(f"{indent}    if ({start} + {item} < {end}) {{", node.line)
        for symbol in dict.fromkeys(loop.gathers.values()):
            element = self.storage.load(symbol.c_name, f"{start} + {item}", symbol.type).text
            lines.add(f"{indent}        {tile_name(symbol)}[{item}] = {element};", node.line)
        lines.add(f"{indent}    }}")
        lines.add(f"{indent}    barrier(CLK_LOCAL_MEM_FENCE);", node.line)
        # NVIDIA's compiler then loads several elements ahead: n-body on an H200, 4.16 ms without and 3.13 ms with it.
        lines.add("#pragma unroll 8")
        lines.add(f"{indent}    for (; {counter} < {end};{step}) {{", node.line)
        self.in_tile = {index: f"{tile_name(s)}[{counter} - {start}]" for index, s in loop.gathers.items()}
        self._inner(node.body, lines, depth + 1)
        self.in_tile = {}
        lines.add(f"{indent}    }}")
        lines.add(f"{indent}    barrier(CLK_LOCAL_MEM_FENCE);", node.line)
        lines.add(f"{indent}}}")
        self.names.taken -= {start, end, item}

    def _declaration(self, node: ast.Declaration) -> str:
        parts: list[str] = []
        type_name = ""
        for declarator in node.declarators:
            symbol = declarator.symbol
            assert symbol is not None
            if symbol.kind == "shared":
                continue
            type_name = symbol.type.name
            text = symbol.c_name
            if declarator.initializer is not None:
                text += f" = {self._initializer(declarator.initializer)}"
            parts.append(text)
        const = "const " if node.specifiers.has("const") and parts else ""
        return f"{const}{type_name} {', '.join(parts)}" if parts else ""

    def _initializer(self, node: ast.Expression) -> str:
        if isinstance(node, ast.Construct) and node.type.is_struct:
            return f"{{ {', '.join(self._initializer(argument) for argument in node.arguments)} }}"
        return self.expression(node).at(ASSIGN)

    def _evaluate(self, node: ast.Evaluate, lines: Lines, depth: int) -> None:
        indent = _INDENT * depth
        expression = node.expression
        if expression is None:
            lines.add(f"{indent};", node.line)
            return
        element = self._written_element(expression)
        if element is not None:
            self._scatter_statement(expression, element, lines, depth, node.line)
            return
        lines.add(f"{indent}{self.expression(expression, discard=True).text};", node.line)

    def _scatter_statement(self, node: ast.Expression, element: ast.Index, lines: Lines, depth: int, line: int) -> None:
        """``a[y][x] = v`` as an ``if`` around the write. Indices and value are computed first, so side effects stay."""
        indent = _INDENT * depth
        indices, setup = self.index_of_streams(element)
        symbol = array_symbol(element)
        inside = " && ".join(
            f"{self.support.use('hw_inside')}({index}, {extent})"
            for index, extent in zip(indices, array_extents(symbol), strict=True)
        )
        value = None
        if isinstance(node, ast.Assign) and not _is_pure(node.value):
            value = self._temporary(node.value.type)
            setup.append(f"{value} = {self.expression(node.value).at(ASSIGN)}")
        for text in setup:
            lines.add(f"{indent}{text};", line)
        flat = row_major(indices, array_extents(symbol))
        if self.storage.has_places(element.type):
            lines.add(f"{indent}if ({inside}) {self._modify(node, f'{symbol.c_name}[{flat}]', value)};", line)
            return
        # Three components are packed, say: the element goes through a variable.
        whole = self.names.fresh("element")
        self.names.taken.discard(whole)
        lines.add(f"{indent}if ({inside}) {{", line)
        lines.add(
            f"{indent}    {element.type.name} {whole} = {self.storage.load(symbol.c_name, flat, element.type).text};",
            line,
        )
        lines.add(f"{indent}    {self._modify(node, whole, value)};", line)
        lines.add(f"{indent}    {self.storage.store(symbol.c_name, flat, element.type, whole)};", line)
        lines.add(f"{indent}}}", line)

    def _modify(self, node: ast.Expression, place: str, value: str | None) -> str:
        """The assignment or step ``node`` with its array element printed as ``place``."""
        if isinstance(node, ast.Assign):
            target = place + _swizzle(node.target)
            text = value if value is not None else self.expression(node.value).at(ASSIGN)
            return f"{target} {node.operator} {text}"
        assert isinstance(node, ast.Unary)
        return f"{place}{_swizzle(node.operand)} {node.operator[-1]}= {one(node.type)}"

    def _written_element(self, node: ast.Expression) -> ast.Index | None:
        """The element of an array of ``stored`` kind that an assignment or step writes."""
        if isinstance(node, ast.Assign):
            target = node.target
        elif isinstance(node, ast.Unary) and node.operator.endswith(("++", "--")):
            target = node.operand
        else:
            return None
        while isinstance(target, ast.Member):
            target = target.operand
        return target if isinstance(target, ast.Index) and array_symbol(target).kind in self.stored else None

    # ---- expressions

    def expression(self, node: ast.Expression, discard: bool = False) -> Code:
        """Print an expression; ``discard`` says that its value is not used."""
        match node:
            case ast.Number():
                return Code(literal(node, node.type))
            case ast.Name():
                return self._name(node)
            case ast.Convert() | ast.Cast():
                return self._convert(node.operand, node.type)
            case ast.Unary():
                return self._unary(node, discard)
            case ast.Binary():
                return self._binary(node, discard)
            case ast.Assign():
                return self._assign(node)
            case ast.Conditional():
                condition = self._decides(node.condition).at(OR)
                return Code(
                    f"{condition} ? {self.expression(node.yes).at(TERNARY)} : {self.expression(node.no).at(TERNARY)}",
                    TERNARY,
                )
            case ast.Construct():
                arguments = ", ".join(self.expression(argument).at(ASSIGN) for argument in node.arguments)
                return Code(f"({node.type.name})({arguments})", UNARY)
            case ast.Call():
                return self.call(node, discard)
            case ast.IndexOf():
                return Code(f"convert_float4({POSITION})")
            case ast.Member():
                return self._member(node)
            case ast.Index():
                return self._read(node)
        raise AssertionError(node)

    def _decides(self, node: ast.Expression) -> Code:
        """What decides a ``?:``, which OpenCL C wants as an integer (1.2 specification, 6.3.i)."""
        code = self.expression(node)
        if node.type.condition or node.type.is_integer:
            return code
        return Code(f"{code.at(LESS)} != {zero(node.type)}", EQUAL)

    def _name(self, node: ast.Name) -> Code:
        symbol = node.symbol
        assert symbol is not None
        if symbol.kind in {"output", "reduce"}:
            return Code(f"*{symbol.c_name}", UNARY)
        return Code(symbol.c_name)

    def _convert(self, operand: ast.Expression, target: Type) -> Code:
        source = operand.type
        if source.condition:
            return self._number_of(operand, target)
        if isinstance(operand, ast.Number) and target.width == 1 and literal_fits(operand, target):
            return Code(literal(operand, target))
        code = self.expression(operand)
        if source == target:
            return code
        if source.width != target.width:
            inner = code if source.base == target.base else self._convert(operand, target.component)
            return Code(f"({target.name})({inner.at(ASSIGN)})", UNARY)
        if not source.is_integer and target.is_integer and floating_constant(operand) is None:
            code = self._saturated(code, target)
            if target.base in {"int", "uint"}:
                return code
        if target.width == 1:
            return Code(f"({target.name}){code.at(UNARY)}", UNARY)
        return Code(f"convert_{target.name}({code.at(ASSIGN)})")

    def _saturated(self, code: Code, target: Type) -> Code:
        """A number of floating point as an integer of 32 bits, as AMD's GPUs convert it: the nearest that there is,
        and 0 for NaN. Shorter types keep the low bits of an ``int``.
        """
        base = "uint" if target.base == "uint" else "int"
        return Code(f"convert_{Type(base, target.width).name}_sat({code.at(ASSIGN)})")

    def _number_of(self, operand: ast.Expression, target: Type) -> Code:
        """A condition as a number, 1 for true."""
        code = self.expression(operand)
        if operand.type.width == 1:
            scalar = code
            if target.base != "int":
                scalar = Code(f"({target.base}){code.at(UNARY)}", UNARY)
            return scalar if target.width == 1 else Code(f"({target.name})({scalar.at(ASSIGN)})", UNARY)
        ones = Code(f"{code.at(UNARY)} & 1", BIT_AND)
        if mask_base(operand.type) == target.base:
            return ones
        return Code(f"convert_{target.name}({ones.text})")

    def _unary(self, node: ast.Unary, discard: bool) -> Code:
        operator = node.operator
        if operator.endswith(("++", "--")):
            return self._step(node, discard)
        operand = self.expression(node.operand)
        if operator == "!":
            if not node.operand.type.condition and not node.operand.type.is_integer:
                return Code(f"{operand.at(LESS)} == {zero(node.operand.type)}", EQUAL)
            return Code(f"!{operand.at(UNARY)}", UNARY)
        text = operand.at(UNARY)
        code = Code(f"{operator}({text})" if text[0] == operator else f"{operator}{text}", UNARY)
        if node.type.base in _NARROW and node.type.width == 1:
            return Code(f"({node.type.name}){code.text}", UNARY)
        return code

    def _step(self, node: ast.Unary, discard: bool) -> Code:
        operator = node.operator
        if self._written_element(node) is not None:
            return self._scatter(node)
        target = self.expression(node.operand)
        if node.type.is_integer:
            if operator.startswith("x") and not discard:
                return Code(f"{target.at(POSTFIX)}{operator[1:]}")
            return Code(f"{operator[-2:]}{target.at(UNARY)}", UNARY)
        # OpenCL C has no ++ and -- for vectors of float (1.2 specification, 6.3.h).
        if discard or not operator.startswith("x"):
            return Code(f"{target.at(UNARY)} {operator[-1]}= {one(node.type)}", ASSIGN)
        old = self._temporary(node.type)
        return Code(f"{old} = {target.text}, {target.at(UNARY)} = {old} {operator[-1]} {one(node.type)}, {old}", COMMA)

    def _binary(self, node: ast.Binary, discard: bool) -> Code:
        operator = node.operator
        if operator == ",":
            left = self.expression(node.left, discard=True)
            return Code(f"{left.at(COMMA)}, {self.expression(node.right, discard).at(ASSIGN)}", COMMA)
        if operator in {"&&", "||"}:
            return self._logical(node)
        level = _BINARY[operator]
        text = f"{self.expression(node.left).at(level)} {operator} {self.expression(node.right).at(level + 1)}"
        if node.type.base in _NARROW and node.type.width == 1 and not node.type.condition:
            return Code(f"({node.type.name})({text})", UNARY)
        return Code(text, level)

    def _logical(self, node: ast.Binary) -> Code:
        """Both sides are always evaluated in Brook+; C's short cut is taken where it cannot be noticed."""
        if node.type.width > 1:
            symbol, level = ("&", BIT_AND) if node.operator == "&&" else ("|", BIT_OR)
            return Code(f"{self._mask(node.left).at(level)} {symbol} {self._mask(node.right).at(level + 1)}", level)
        if _is_pure(node.right):
            level = _BINARY[node.operator]
            return Code(
                f"{self.expression(node.left).at(level)} {node.operator} {self.expression(node.right).at(level + 1)}",
                level,
            )
        symbol, level = ("&", BIT_AND) if node.operator == "&&" else ("|", BIT_OR)
        left, right = (f"({self.expression(side).at(LESS)} != 0)" for side in (node.left, node.right))
        return Code(f"{left} {symbol} {right}", level)

    def _mask(self, node: ast.Expression) -> Code:
        """A vector condition, or a vector that is tested against zero, as a mask of ints."""
        code = self.expression(node)
        if not node.type.condition:
            code = Code(f"{code.at(EQUAL)} != {zero(node.type)}", EQUAL)
        if mask_base(node.type) == "int":
            return code
        return Code(f"convert_int{node.type.width}({code.text})")

    def _assign(self, node: ast.Assign) -> Code:
        if self._written_element(node) is not None:
            return self._scatter(node)
        target = self.expression(node.target)
        return Code(f"{target.at(UNARY)} {node.operator} {self.expression(node.value).at(ASSIGN)}", ASSIGN)

    def _scatter(self, node: ast.Assign | ast.Unary) -> Code:
        """A write to a scatter array whose value is used, or whose elements are packed: through a temporary element."""
        element = self._written_element(node)
        assert element is not None
        symbol = array_symbol(element)
        indices, setup = self.index_of_streams(element)
        extents = array_extents(symbol)
        inside = " && ".join(
            f"{self.support.use('hw_inside')}({i}, {n})" for i, n in zip(indices, extents, strict=True)
        )
        place = self._temporary(Type("int"))
        whole = self._temporary(element.type)
        clamped = row_major(
            [f"{self.support.use('hw_at')}({i}, {n})" for i, n in zip(indices, extents, strict=True)], extents
        )
        store = self.storage.store(symbol.c_name, place, element.type, whole)
        parts = [
            *setup,
            f"{place} = {clamped}",
            f"{whole} = {self.storage.load(symbol.c_name, place, element.type).text}",
        ]
        result = whole + _swizzle(node.target if isinstance(node, ast.Assign) else node.operand)
        if isinstance(node, ast.Unary) and node.operator.startswith("x"):
            old = self._temporary(node.type)
            parts.append(f"{old} = {result}")
            result = old
        parts.append(self._modify(node, whole, None))
        # Nothing is written outside the array; the conditional keeps this an expression.
        parts.append(f"({inside}) ? ({store}, 0) : 0")
        parts.append(result)
        return Code(", ".join(parts), COMMA)

    def _temporary(self, type_: Type) -> str:
        name = self.names.fresh(f"t{len(self.temporaries)}")
        self.temporaries.append((type_.name, name))
        return name

    # ---- calls

    def call(self, node: ast.Call, discard: bool) -> Code:
        if node.function == "instance":
            return Code(POSITION)
        if node.function == "instanceInGroup":
            return Code(f"(int4)({self.thread}, 0, 0, 0)", UNARY)
        if node.function == "syncGroup":
            return Code(self.sync)
        callee = next((k for k in self.kernel.calls if k.name == node.function), None)
        if callee is not None:
            return self._call_kernel(node, callee, discard)
        if node.type.condition and node.arguments[0].type.condition:
            arguments = [self._mask(argument).text for argument in node.arguments]
        else:
            arguments = [self.expression(argument).at(ASSIGN) for argument in node.arguments]
        ordered = node.function == "clamp" and _is_range(*node.arguments[1:])
        return Code(*call_builtin(node.function, arguments, node.arguments[0].type, self.support, ordered=ordered))

    def _call_kernel(self, node: ast.Call, callee: KernelInfo, discard: bool) -> Code:
        arguments: list[str] = []
        before: list[str] = []
        after: list[str] = []
        for argument, parameter in zip(node.arguments, callee.parameters, strict=True):
            if parameter.kind == "output":
                arguments.append(self._address(argument, before, after))
            elif parameter.is_array:
                assert isinstance(argument, ast.Name)
                assert argument.symbol is not None
                arguments += self._passed_on(argument.symbol)
            else:
                arguments.append(self.expression(argument).at(ASSIGN))
        if callee.uses_position:
            arguments.append(POSITION)
        call = f"{callee.c_name}({', '.join(arguments)})"
        if not before and not after:
            return Code(call)
        if callee.result == VOID or discard:
            return Code(", ".join([*before, call, *after]), COMMA)
        result = self._temporary(callee.result)
        return Code(", ".join([*before, f"{result} = {call}", *after, result]), COMMA)

    def _passed_on(self, symbol: Symbol) -> list[str]:
        """The arguments that stand for an array."""
        return [symbol.c_name, shape_name(symbol)] if symbol.kind == "gather" else [symbol.c_name]

    def _address(self, node: ast.Expression, before: list[str], after: list[str]) -> str:
        """A pointer to a variable; components and array elements go through a temporary, as they have no address of
        their own.
        """
        root: ast.Expression = node
        while isinstance(root, ast.Member) and root.operand.type.is_struct:
            root = root.operand
        if isinstance(root, ast.Name) and root.symbol is not None:
            if root is node and root.symbol.kind in {"output", "reduce"}:
                return root.symbol.c_name
            return f"&{self.expression(node).at(UNARY)}"
        temporary = self._temporary(node.type)
        before.append(f"{temporary} = {self.expression(node).at(ASSIGN)}")
        value = ast.Name(node.line, node.column, temporary)
        value.symbol = Symbol(temporary, "local", node.type, node.line, node.column, c_name=temporary)
        value.type = node.type
        assign = ast.Assign(node.line, node.column, "=", node, value)
        assign.type = node.type
        after.append(self.expression(assign, discard=True).text)
        return f"&{temporary}"

    # ---- members and elements

    def _member(self, node: ast.Member) -> Code:
        operand = node.operand
        if isinstance(operand, ast.Call) and operand.function == "instanceInGroup" and node.name == "x":
            return Code(self.thread, UNARY)
        if isinstance(operand, ast.IndexOf):
            if len(node.name) == 1:
                return Code(f"(float){POSITION}.{node.name}", UNARY)
            return Code(f"convert_float{len(node.name)}({POSITION}.{node.name})")
        name = self.names.user(node.name) if operand.type.is_struct else node.name
        return Code(f"{self.expression(operand).at(POSTFIX)}.{name}")

    def _read(self, node: ast.Index) -> Code:
        if id(node.indices[0]) in self.in_tile:
            return Code(self.in_tile[id(node.indices[0])])
        symbol = array_symbol(node)
        extents = array_extents(symbol)
        if len(node.indices) < symbol.rank:
            indices, setup = self.index_of_streams(node)
            flat = row_major(
                [f"{self.support.use('hw_at')}({i}, {n})" for i, n in zip(indices, extents, strict=True)], extents
            )
        else:
            setup = []
            flat = row_major([self.clamped(i, n) for i, n in zip(node.indices, extents, strict=True)], extents)
        if symbol.kind == "shared":
            code = Code(f"{symbol.c_name}[{flat}]")
        else:
            space = "__constant" if symbol.kind == "constant" else "__global"
            code = self.storage.load(symbol.c_name, flat, symbol.type, space)
        return Code(", ".join([*setup, code.text]), COMMA) if setup else code

    def clamped(self, index: ast.Expression, extent: str) -> str:
        """An index confined to its extent. Known good indices stay as they are."""
        constant = integer_constant(index)
        if constant is not None and (constant == 0 or (extent.isdigit() and 0 <= constant < int(extent))):
            return str(constant)
        position = self.unclamped.get(id(index))
        if position is not None:
            value = position.value
            if not isinstance(value, Affine) or not value.floating:
                return self.expression(index).at(ADD)
            return f"{times_position(value, POSITION)}{offset_text(value.low)}"
        helper = {"float": "hw_at_float", "uint": "hw_at_uint"}.get(index.type.base, "hw_at")
        return f"{self.support.use(helper)}({self.expression(index).at(ASSIGN)}, {extent})"

    def index_of_streams(self, node: ast.Index) -> tuple[list[str], list[str]]:
        """Integer indices, slowest first, cheap enough to repeat, and assignments to temporaries that must run
        before.
        """
        symbol = array_symbol(node)
        setup: list[str] = []
        if len(node.indices) < symbol.rank:
            vector = self._temporary(Type("int", symbol.rank))
            index = node.indices[0]
            text = self.expression(index).at(ASSIGN)
            if index.type.base == "float":
                text = f"convert_int{symbol.rank}_sat({text})"
            elif index.type.base != "int":
                text = f"convert_int{symbol.rank}({text})"
            setup.append(f"{vector} = {text}")
            return [f"{vector}.{c}" for c in reversed(COMPONENTS[: symbol.rank])], setup
        result: list[str] = []
        for index in node.indices:
            code = self.expression(index)
            text = f"convert_int_sat({code.text})" if index.type.base == "float" else code.at(ASSIGN)
            if not _is_simple(index) or index.type.base == "float":
                temporary = self._temporary(Type("int"))
                setup.append(f"{temporary} = {text}")
                text = temporary
            result.append(text)
        return result, setup


def array_symbol(node: ast.Index) -> Symbol:
    """The array that is indexed."""
    assert isinstance(node.array, ast.Name)
    assert node.array.symbol is not None
    return node.array.symbol


def _is_range(low: ast.Expression, high: ast.Expression) -> bool:
    """Whether the bounds of a ``clamp`` are numbers in order."""
    first, last = floating_constant(low), floating_constant(high)
    return first is not None and last is not None and first <= last


def _swizzle(node: ast.Expression) -> str:
    names: list[str] = []
    while isinstance(node, ast.Member):
        names.append(node.name)
        node = node.operand
    return "".join(f".{name}" for name in reversed(names))


def _is_simple(node: ast.Expression) -> bool:
    match node:
        case ast.Number() | ast.Name() | ast.Call(function="instance"):
            return True
        case ast.Member():
            return _is_simple(node.operand)
    return False


def _is_pure(node: ast.Expression) -> bool:
    """Whether evaluating a checked expression changes nothing. Calls of kernels with outputs do."""
    match node:
        case ast.Assign():
            return False
        case ast.Unary():
            return not node.operator.endswith(("++", "--")) and _is_pure(node.operand)
        case ast.Binary():
            return _is_pure(node.left) and _is_pure(node.right)
        case ast.Conditional():
            return _is_pure(node.condition) and _is_pure(node.yes) and _is_pure(node.no)
        case ast.Cast() | ast.Convert() | ast.Member():
            return _is_pure(node.operand)
        case ast.Construct():
            return all(_is_pure(argument) for argument in node.arguments)
        case ast.Call():
            return not node.writes and node.type != VOID and all(_is_pure(argument) for argument in node.arguments)
        case ast.Index():
            return all(_is_pure(index) for index in node.indices)
    return True

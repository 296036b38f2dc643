"""Input: prepared text. Output: the syntax tree of its kernels, structs and typedefs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headwater.base.faults import Consequence
from headwater.brook import ast, lalr
from headwater.brook.hostcode import Region, keep
from headwater.brook.lalr import Token
from headwater.brook.source import SourceText
from headwater.errors import SourceError

_FORBIDDEN = re.compile(
    r"\b(switch|case|default|goto|sizeof|union|enum|vout|long|template|class|asm)\b"
    r"|(\"|')|(->)"
)
_REMEDY = {
    "switch": "use if and else",
    "case": "use if and else",
    "default": "use if and else",
    "goto": "use loops, break and continue",
    "sizeof": "write the number",
    "union": "use a struct",
    "enum": "use int values",
    "vout": "variable-length outputs were removed from Brook+; use a scatter array",
    "long": "use int, or double",
}
_LABELS = frozenset({"case", "default"})
_READABLE = {
    "NAME": "a name",
    "TYPE": "a type",
    "INTEGER": "a number",
    "FLOATING": "a number",
    "SEMICOLON": "';'",
    "LPAR": "'('",
    "RPAR": "')'",
    "RSQB": "']'",
    "LBRACKET": "'['",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COLON": "':'",
    "COMMA": "','",
    "EQUAL": "'='",
}


_MOST_REPAIRS = 20
"""Faulty statements of a kernel that are reported; each one costs another look at the kernel."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def parse_kernels(source: SourceText, kernels: Sequence[Region]) -> list[ast.KernelNode]:
    """Parse kernels and report their faults. What cannot be read is left out: statements, or a kernel with its head."""
    try:
        text = keep(source.text, kernels)
        _refuse_forbidden(source, text)
        return _parse_unit(source, text)
    except _SyntaxFault:
        nodes = []
        for region in kernels:
            line, column = source.place(region.start)
            alone = "\n" * (line - 1) + " " * (column - 1) + source.text[region.start : region.end]
            node = _parse_kernel(source, alone)
            if node is None:
                source.faults.lost.add(region.name)
            else:
                nodes.append(node)
        return nodes


def _parse_kernel(source: SourceText, text: str) -> ast.KernelNode | None:
    """Parse text that holds nothing but one kernel; None if its head cannot be read."""
    lost: set[str] = set()
    # Words that do not belong anywhere come first: what is around them is no guide to what else is wrong.
    for step in (_refuse_forbidden, _parse_unit):
        repaired = -1  # the end of the latest statement that was left out
        for _ in range(_MOST_REPAIRS):
            try:
                nodes = step(source, text)
                break
            except _SyntaxFault as fault:
                if repaired < 0 or text[repaired : fault.at].strip():
                    source.faults.report(fault.error)
                statement = _statement_around(text, fault.at)
                if statement is None:
                    return None
                start, repaired = statement
                lost.update(_WORD.findall(text, start, repaired))
                text = text[:start] + re.sub(r"[^\n]", " ", text[start:repaired]) + text[repaired:]
        else:
            return None
    if not nodes:
        return None
    nodes[0].lost = frozenset(lost)
    return nodes[0]


def _parse_unit(source: SourceText, text: str) -> list[ast.KernelNode]:
    return _parse(source, text, "unit")  # type: ignore[no-any-return]


class _SyntaxFault(Exception):
    """``error`` at the character ``at`` of the text."""

    def __init__(self, error: SourceError, at: int) -> None:
        super().__init__(error)
        self.error = error
        self.at = at


_MARK = re.compile(r"\bfor\b|[;{}()]")


def _statement_around(text: str, at: int) -> tuple[int, int] | None:
    """The statement, or its head, in which a character of a kernel's body lies; None if nothing is left of it."""
    body = text.find("{") + 1
    if not 0 < body <= at:
        return None
    start, depth, in_for = body, 0, False
    for mark in _MARK.finditer(text, body):
        inside = in_for and depth > 0
        match mark[0]:
            case "for":
                in_for = in_for or not text[start : mark.start()].strip()
            case "(" | ")":
                depth += 1 if mark[0] == "(" else -1
            case "{" | "}":
                if mark.start() > at:
                    return (start, mark.start()) if text[start : mark.start()].strip() else None
                if mark.start() == at and text[start:at].strip():
                    return start, at
                start, depth, in_for = mark.end(), 0, False
            case ";" if not inside:
                if mark.start() >= at:
                    return start, mark.end()
                start, depth, in_for = mark.end(), 0, False
    return None


def parse_struct(source: SourceText, text: str) -> ast.StructNode:
    """Parse text that holds nothing but one struct. Raises ``SourceError``."""
    return _plain(source, text, "struct_unit")  # type: ignore[no-any-return]


def parse_typedef(source: SourceText, text: str) -> ast.TypedefNode:
    """Parse text that holds nothing but one typedef of a type. Raises ``SourceError``."""
    return _plain(source, text, "typedef_unit")  # type: ignore[no-any-return]


def _plain(source: SourceText, text: str, start: str) -> Any:
    try:
        return _parse(source, text, start)
    except _SyntaxFault as fault:
        raise fault.error from None


_TAGGED = re.compile(r"\bstruct(?=\s+[A-Za-z_]\w*\s+[A-Za-z_])")
"""``struct`` before a type's name and what is declared of it, where C wants it and Brook+ allows it."""


def _parse(source: SourceText, text: str, start: str) -> Any:
    try:
        return lalr.parse(_TAGGED.sub(" " * len("struct"), text), start, _BUILDER)
    except lalr.Unexpected as fault:
        token = fault.token
        raise _SyntaxFault(_explained(source, text, token, fault.accepted), _offset(text, token)) from None


def _explained(source: SourceText, text: str, token: Token, accepted: set[str]) -> SourceError:
    if token.type == lalr.END:
        end = len(text.rstrip())
        return source.error("the text ends before it is complete", *_place(text, end), "close what is open")
    if token.type:
        return _unexpected(source, str(token), token.line, token.column, accepted)
    if token == "#":
        return source.error(
            "a directive does not belong inside a kernel", token.line, token.column, "translate with -pp"
        )
    return source.error(
        f"{str(token)!r} has no meaning here", token.line, token.column, "remove it, or check what stands before it"
    )


def _offset(text: str, token: Token) -> int:
    """Where a token begins, in characters."""
    at = 0
    for _ in range(token.line - 1):
        at = text.index("\n", at) + 1
    return at + token.column - 1


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _unexpected(source: SourceText, found: str, line: int, column: int, expected: set[str]) -> SourceError:
    starts_operand = "INTEGER" in expected and "NAME" in expected
    if found in {"*", "&"} and (starts_operand or "NAME" in expected):
        return source.error("pointers do not exist in kernels", line, column, "use a stream, an array or out")
    message = f"unexpected {found!r}"
    if starts_operand:
        return source.error(f"{message}, an expression is expected here", line, column, "check what stands before it")
    known = sorted({_READABLE[name] for name in expected if name in _READABLE})
    if known and len(known) <= 4:
        message += ", expected " + " or ".join(known)
    hint = "add the missing ';'" if "';'" in known else "check the spelling and what stands before it"
    return source.error(message, line, column, hint)


def _refuse_forbidden(source: SourceText, text: str) -> list[ast.KernelNode]:
    """Raise a fault at the first word that does not belong in kernels; no kernel is read."""
    match = _FORBIDDEN.search(text)
    if match is None:
        return []
    place = _place(text, match.start())
    if match[1]:
        error = source.error(
            f"{match[1]!r} is not part of the kernel language", *place, _REMEDY.get(match[1], "keep it in host code")
        )
    elif match[2]:
        what = "strings do" if match[2] == '"' else "character constants do"
        error = source.error(f"{what} not exist in kernels", *place, "use numbers")
    else:
        error = source.error("pointers do not exist in kernels", *place, "write '.' to name a member")
    if match[1] in _LABELS and "switch" in source.faults.lost:
        error = Consequence(error.message)
    elif match[1] == "switch":
        source.faults.lost.add("switch")
    raise _SyntaxFault(error, match.start())


def _token_place(token: Token) -> tuple[int, int]:
    return token.line, token.column


class _Builder:
    """Builds the tree bottom up; one method for each rule or alias of the grammar."""

    def unit(self, *kernels: ast.KernelNode) -> list[ast.KernelNode]:
        return list(kernels)

    def kernel(self, attribute: Any, *rest: Any) -> ast.KernelNode:
        *specs, name, parameters, body = rest
        return ast.KernelNode(
            *_token_place(name), _specifiers(specs, name), str(name), parameters or [], body, attribute
        )

    def attribute(self, name: Token, arguments: list[ast.Expression]) -> tuple[str, list[ast.Expression], int, int]:
        return str(name), arguments, *_token_place(name)

    def parameters(self, *items: ast.ParameterNode) -> list[ast.ParameterNode]:
        return list(items)

    def parameter(self, *rest: Any) -> ast.ParameterNode:
        *specs, name, extent = rest
        place = _token_place(name)
        specifiers = _specifiers(specs, name)
        if extent is None:
            return ast.ParameterNode(*place, specifiers, str(name), False, [], None)
        kind, values = extent
        if kind == "stream":
            return ast.ParameterNode(*place, specifiers, str(name), True, values, None)
        return ast.ParameterNode(*place, specifiers, str(name), False, [], values)

    def stream_extent(self, _: Token, *dimensions: Any) -> tuple[str, list[ast.Expression]]:
        return "stream", [item for item in dimensions if isinstance(item, ast.Expression)]

    def extent(self, brackets: list[ast.Expression | None]) -> tuple[str, list[ast.Expression | None]]:
        return "array", brackets

    def brackets(self, *items: ast.Expression | None) -> list[ast.Expression | None]:
        return list(items)

    def bracket(self, _: Token, size: ast.Expression | None) -> ast.Expression | None:
        return size

    def builtin_type(self, token: Token) -> tuple[str, Token]:
        return "type", token

    def named_type(self, token: Token) -> tuple[str, Token]:
        return "type", token

    def qualifier(self, token: Token) -> tuple[str, Token]:
        return "qualifier", token

    def struct_body(self, name: Token | None, *members: ast.MemberNode) -> tuple[Token | None, list[ast.MemberNode]]:
        return name, list(members)

    def member(self, *rest: Any) -> ast.Node:
        # The grammar's rule for struct members and the alias of a swizzle share this name; a swizzle has an expression
        # first.
        if isinstance(rest[0], ast.Expression):
            return ast.Member(*_token_place(rest[1]), rest[0], str(rest[1]))
        specs = [item for item in rest if isinstance(item, tuple)]
        names = [item for item in rest if isinstance(item, Token)]
        return ast.MemberNode(
            *_token_place(names[0]), _specifiers(specs, names[0]), [(str(name), *_token_place(name)) for name in names]
        )

    def plain_struct(self, body: tuple[Token | None, list[ast.MemberNode]]) -> ast.StructNode:
        tag, members = body
        return ast.StructNode(members[0].line, members[0].column, str(tag or ""), "", members)

    def typedef_struct(self, body: tuple[Token | None, list[ast.MemberNode]], alias: Token) -> ast.StructNode:
        tag, members = body
        return ast.StructNode(*_token_place(alias), str(tag or ""), str(alias), members)

    def typedef_unit(self, *rest: Any) -> ast.TypedefNode:
        *specs, name = rest
        return ast.TypedefNode(*_token_place(name), _specifiers(specs, name), str(name))

    def block(self, brace: Token, *body: ast.Statement) -> ast.Block:
        last = body[-1] if body else None
        end = last.end_line if isinstance(last, ast.Block) else (last.line if last else brace.line)
        return ast.Block(*_token_place(brace), list(body), end)

    def declaration(self, *rest: Any) -> ast.Declaration:
        specs = [item for item in rest if isinstance(item, tuple)]
        declarators = [item for item in rest if isinstance(item, ast.Declarator)]
        specifiers = _specifiers(specs, specs[0][1])
        return ast.Declaration(specifiers.line, specifiers.column, specifiers, declarators)

    def declarator(
        self, name: Token, sizes: list[ast.Expression | None] | None, initializer: ast.Expression | None
    ) -> ast.Declarator:
        return ast.Declarator(*_token_place(name), str(name), sizes, initializer)

    def braces(self, brace: Token, *values: ast.Expression | None) -> ast.Construct:
        return ast.Construct(*_token_place(brace), "", [value for value in values if value is not None])

    def if_statement(
        self, token: Token, condition: ast.Expression, yes: ast.Statement, no: ast.Statement | None
    ) -> ast.If:
        return ast.If(*_token_place(token), condition, yes, no)

    def while_statement(self, token: Token, condition: ast.Expression, body: ast.Statement) -> ast.While:
        return ast.While(*_token_place(token), condition, body)

    def do_statement(self, token: Token, body: ast.Statement, condition: ast.Expression) -> ast.DoWhile:
        return ast.DoWhile(*_token_place(token), body, condition)

    def for_statement(self, token: Token, start: Any, condition: Any, step: Any, body: ast.Statement) -> ast.For:
        return ast.For(*_token_place(token), start, condition, step, body)

    def for_start(self, start: Any) -> Any:
        return start

    def break_statement(self, token: Token) -> ast.Jump:
        return ast.Jump(*_token_place(token), "break")

    def continue_statement(self, token: Token) -> ast.Jump:
        return ast.Jump(*_token_place(token), "continue")

    def return_statement(self, token: Token, value: ast.Expression | None) -> ast.Return:
        return ast.Return(*_token_place(token), value)

    def expression_statement(self, value: ast.Expression) -> ast.Evaluate:
        return ast.Evaluate(value.line, value.column, value)

    def empty_statement(self, token: Token) -> ast.Evaluate:
        return ast.Evaluate(*_token_place(token), None)

    def sequence(self, left: ast.Expression, comma: Token, right: ast.Expression) -> ast.Binary:
        return ast.Binary(*_token_place(comma), ",", left, right)

    def binary(self, first: ast.Expression, *rest: Any) -> ast.Expression:
        result = first
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            result = ast.Binary(*_token_place(operator), str(operator), result, operand)
        return result

    def assign(self, target: ast.Expression, operator: Token, value: ast.Expression) -> ast.Assign:
        return ast.Assign(*_token_place(operator), str(operator), target, value)

    def conditional(
        self, condition: ast.Expression, question: Token, yes: ast.Expression, no: ast.Expression
    ) -> ast.Conditional:
        return ast.Conditional(*_token_place(question), condition, yes, no)

    def prefix(self, operator: Token, operand: ast.Expression) -> ast.Unary:
        return ast.Unary(*_token_place(operator), str(operator), operand)

    def postfix_step(self, operand: ast.Expression, operator: Token) -> ast.Unary:
        return ast.Unary(*_token_place(operator), f"x{operator}", operand)

    def cast(self, parenthesis: Token, name: Token, operand: ast.Expression) -> ast.Cast:
        return ast.Cast(*_token_place(parenthesis), _spaced(name), operand)

    def index(self, array: ast.Expression, bracket: Token, index: ast.Expression) -> ast.Index:
        if isinstance(array, ast.Index):
            array.indices.append(index)
            return array
        return ast.Index(*_token_place(bracket), array, [index])

    def name(self, token: Token) -> ast.Name:
        return ast.Name(*_token_place(token), str(token))

    def integer(self, token: Token) -> ast.Number:
        return ast.Number(*_token_place(token), str(token), False)

    def floating(self, token: Token) -> ast.Number:
        return ast.Number(*_token_place(token), str(token), True)

    def parenthesis(self, _: Token, value: ast.Expression) -> ast.Expression:
        return value

    def call(self, name: Token, arguments: list[ast.Expression] | None) -> ast.Call:
        return ast.Call(*_token_place(name), str(name), arguments or [])

    def construct(self, name: Token, arguments: list[ast.Expression] | None) -> ast.Construct:
        return ast.Construct(*_token_place(name), _spaced(name), arguments or [])

    def indexof(self, keyword: Token, stream: Token) -> ast.IndexOf:
        return ast.IndexOf(*_token_place(keyword), str(stream))

    def comma_list(self, *items: ast.Expression) -> list[ast.Expression]:
        return list(items)


def _spaced(token: Token) -> str:
    return " ".join(str(token).split())


def _specifiers(items: list[tuple[str, Token]], near: Token) -> ast.Specifiers:
    """Types and qualifiers in any order, as C has them; more than one type leaves the last and is refused by the
    checker.
    """
    names = [token for kind, token in items if kind == "type"]
    qualifiers = [(str(token), *_token_place(token)) for kind, token in items if kind == "qualifier"]
    first = items[0][1] if items else near
    return ast.Specifiers(" ".join(_spaced(name) for name in names), qualifiers, *_token_place(first))


_BUILDER = _Builder()

"""Input: a function's syntax tree. Output: its variables, and where C declares them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Scopes:
    """``names``: all variables that the function assigns. ``inline``: those that are declared by their first
    assignment, as everything that uses them follows it in its block. ``counters``: those that only ``for`` assigns, and
    that nothing reads outside of its loop. ``alone``: those that a ``while`` and the assignment right before it share
    with nothing else, with the loop's last statement."""

    names: set[str] = field(default_factory=set)
    inline: dict[str, ast.stmt] = field(default_factory=dict)
    counters: set[str] = field(default_factory=set)
    alone: dict[str, ast.stmt] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)
    """How often each name is assigned to."""


_LEAVES = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)


class _Walk(ast.NodeVisitor):
    def __init__(self) -> None:
        self.methods: dict[type, Any] = {}
        self.path: tuple[int, ...] = ()
        self.blocks = 0
        self.first: dict[str, tuple[tuple[int, ...], ast.stmt | None]] = {}
        self.paths: dict[str, list[tuple[int, ...]]] = {}
        self.names: set[str] = set()
        self.open_loops: list[str] = []
        self.counters: set[str] = set()
        self.not_counters: set[str] = set()
        self.stores: dict[str, int] = {}
        self.pairs: list[tuple[ast.Assign, ast.While]] = []

    def visit(self, node: ast.AST) -> None:
        """As of the base, with each kind's method looked up once."""
        kind = type(node)
        method = self.methods.get(kind)
        if method is None:
            method = self.methods[kind] = getattr(self, f"visit_{kind.__name__}", self.generic_visit)
        method(node)

    def generic_visit(self, node: ast.AST) -> None:
        """As of the base; operators hold nothing."""
        for name in node._fields:
            value = getattr(node, name)
            if isinstance(value, list):
                for part in value:
                    if isinstance(part, ast.AST) and not isinstance(part, _LEAVES):
                        self.visit(part)
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                self.visit(value)

    def block(self, body: list[ast.stmt]) -> None:
        self.blocks += 1
        outer, self.path = self.path, (*self.path, self.blocks)
        for before, statement in zip([None, *body], body, strict=False):
            if isinstance(statement, ast.While) and isinstance(before, ast.Assign):
                self.pairs.append((before, statement))
            self.visit(statement)
        self.path = outer

    def use(self, name: str, statement: ast.stmt | None = None) -> None:
        self.first.setdefault(name, (self.path, statement))
        self.paths.setdefault(name, []).append(self.path)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Nothing."""

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.open_loops:
                self.not_counters.add(node.id)
        else:
            self.store(node.id)
            self.not_counters.add(node.id)
        self.use(node.id)

    def store(self, name: str) -> None:
        self.names.add(name)
        self.stores[name] = self.stores.get(name, 0) + 1

    def assigned(self, targets: list[ast.expr], value: ast.expr | None, node: ast.stmt) -> None:
        if value is not None:
            self.visit(value)
        for target in targets:
            if isinstance(target, ast.Name) and len(targets) == 1:
                self.store(target.id)
                self.not_counters.add(target.id)
                self.use(target.id, node)
            else:
                self.visit(target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.assigned(node.targets, node.value, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.assigned([node.target], node.value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self.block(node.body)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        if isinstance(node.target, ast.Name):
            name = node.target.id
            self.store(name)
            self.use(name)
            self.counters.add(name)
            if name in self.open_loops:
                self.not_counters.add(name)
            self.open_loops.append(name)
            self.block(node.body)
            self.open_loops.pop()
        else:
            self.visit(node.target)
            self.block(node.body)


def scopes(tree: ast.FunctionDef) -> Scopes:
    """The variables of a function's body; its parameters are not among ``inline`` and ``counters``."""
    walk = _Walk()
    walk.block(tree.body)
    parameters = {a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
    inline = {
        name: statement
        for name, (path, statement) in walk.first.items()
        if statement is not None
        and name not in parameters
        and all(other[: len(path)] == path for other in walk.paths[name])
    }
    alone = {
        name: loop.body[-1]
        for before, loop in walk.pairs
        for name in [target.id for target in before.targets if isinstance(target, ast.Name)]
        if len(walk.paths[name]) == 1 + sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop))
    }
    return Scopes(walk.names, inline, walk.counters - walk.not_counters - parameters, alone, walk.stores)

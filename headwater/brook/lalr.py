"""Input: text and a grammar's tables. Output: what a builder's methods make of it; a fault is ``Unexpected``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

END = "$END"


class Token(str):
    """A word of the text with the name of its terminal and its 1-based place."""

    __slots__ = ("column", "line", "type")
    type: str
    line: int
    column: int

    @classmethod
    def make(cls, type_: str, text: str, line: int, column: int) -> Token:
        """A token."""
        token = cls(text)
        token.type, token.line, token.column = type_, line, column
        return token


class Unexpected(Exception):  # never leaves the parser
    """``token`` does not fit, ``accepted`` terminals would. The token's type is "" for a character of no terminal."""

    def __init__(self, token: Token, accepted: set[str]) -> None:
        super().__init__(token)
        self.token = token
        self.accepted = accepted


class Tables:
    """The tables that ``tabulate`` made.

    ``states``: for each state, terminal or rule name to the next state, or to ``-1 - rule`` for a reduction.
    ``rules``: see ``tabulate``. ``starts``: start symbol to its first and its last state.
    """

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        self.states: list[dict[str, int]] = data["states"]
        self.rules: list[tuple[str, int, str, list[list[int]], int]] = [tuple(rule) for rule in data["rules"]]
        self.starts: dict[str, list[int]] = data["starts"]
        self.words: dict[str, str] = data["words"]
        self.pattern = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in data["patterns"]))


@cache
def tables() -> Tables:
    """The tables of the Brook+ grammar."""
    return Tables(Path(__file__).with_name("grammar.json").read_text(encoding="utf-8"))


_SPACE = re.compile(r"[ \t\f\v]*(?:\n[ \t\f\v]*)*")


def _tokens(text: str, table: Tables) -> Iterator[Token]:
    line, line_start, at = 1, 0, 0
    match_space, match_token, words = _SPACE.match, table.pattern.match, table.words
    while True:
        space = match_space(text, at)
        if space is not None and space.end() > at:
            end = space.end()
            lines = text.count("\n", at, end)
            if lines:
                line += lines
                line_start = text.rfind("\n", at, end) + 1
            at = end
        if at >= len(text):
            yield Token.make(END, "", line, at - line_start + 1)
            return
        match = match_token(text, at)
        if match is None or match.end() == at:
            yield Token.make("", text[at], line, at - line_start + 1)
            return
        word = match[0]
        name = match.lastgroup or ""
        yield Token.make(words.get(word, name) if name == "NAME" else name, word, line, at - line_start + 1)
        lines = word.count("\n")
        if lines:
            line += lines
            line_start = at + word.rfind("\n") + 1
        at = match.end()


def parse(text: str, start: str, builder: object) -> Any:
    """Parse text from a start symbol; each rule's children go to the builder's method of the rule's name.

    Raises ``Unexpected``.
    """
    table = tables()
    states, rules = table.states, table.rules
    first, last = table.starts[start]
    callbacks = [_callback(builder, name, single) for _, _, name, _, single in rules]
    stack = [first]
    values: list[Any] = []
    for token in _tokens(text, table):
        while True:
            action = states[stack[-1]].get(token.type)
            if action is None:
                raise Unexpected(token, _accepted(table, stack))
            if action >= 0:
                if token.type == END:
                    return values[-1]
                stack.append(action)
                values.append(token)
                break
            origin, size, _, kept, single = rules[-1 - action]
            made = _reduced(values[len(values) - size :] if size else [], kept, single, callbacks[-1 - action])
            if size:
                del stack[-size:]
                del values[-size:]
            stack.append(states[stack[-1]][origin])
            values.append(made)
            if token.type == END and stack[-1] == last:
                return made
    raise AssertionError("the tokens end with the end")


def _callback(builder: object, name: str, single: int) -> Callable[..., Any] | None:
    """The builder's method; rules that only stand for their single child may lack one."""
    if not name:
        return None
    method: Callable[..., Any] | None = getattr(builder, name, None) if single else getattr(builder, name)
    return method


def _reduced(children: list[Any], kept: list[list[int]], single: int, callback: Callable[..., Any] | None) -> Any:
    arguments: list[Any] = []
    for place, spread, nones in kept:
        if nones:
            arguments += [None] * nones
        if place < 0:
            continue
        if spread and callback is None and not arguments:
            arguments = children[place]  # a repetition's list, which nothing else has: copying it would cost a square
        elif spread:
            arguments += children[place]
        else:
            arguments.append(children[place])
    if single and len(arguments) == 1:
        return arguments[0]
    return arguments if callback is None else callback(*arguments)


def _accepted(table: Tables, stack: list[int]) -> set[str]:
    """The terminals that could come next: those that lead to a shift, not merely to a reduction."""
    found: set[str] = set()
    for name in table.states[stack[-1]]:
        if not (name.isupper() or name == END):
            continue
        trial = list(stack)
        while True:
            action = table.states[trial[-1]].get(name)
            if action is None:
                break
            if action >= 0:
                found.add(name)
                break
            origin, size = table.rules[-1 - action][:2]
            if size:
                del trial[-size:]
            following = table.states[trial[-1]].get(origin)
            if following is None:
                break
            trial.append(following)
    return found

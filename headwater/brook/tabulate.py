"""Input: the grammar. Output: the parser's tables (``grammar.json``).

Run it after a change of the grammar: ``python -m headwater.brook.tabulate``. Lark builds the LALR(1) tables. Parsing
itself does without Lark: loading it and building the tables would take longer
than all the rest of a translation.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule, Terminal
from lark.lexer import PatternStr, TerminalDef
from lark.parsers.lalr_analysis import Shift

STARTS = ["unit", "struct_unit", "typedef_unit"]


def tables() -> str:
    """The tables of ``grammar.lark`` as JSON; see ``lalr.Tables`` for what they hold."""
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    lark = Lark(grammar, parser="lalr", start=STARTS, maybe_placeholders=True)
    parser: Any = lark.parser
    table = parser.parser._parse_table
    rules = sorted(lark.rules, key=str)
    number = {rule: place for place, rule in enumerate(rules)}
    order = _order(table)
    place = {state: position for position, state in enumerate(order)}
    states: list[dict[str, int]] = []
    for state in order:
        row = {}
        for name, (action, target) in sorted(table.states[state].items()):
            row[str(name)] = place[target] if action is Shift else -1 - number[target]
        states.append(row)
    words, patterns = _terminals(lark.terminals)
    data = {
        "starts": {name: [place[table.start_states[name]], place[table.end_states[name]]] for name in STARTS},
        "words": words,
        "patterns": patterns,
        "rules": [_rule(rule) for rule in rules],
        "states": states,
    }
    rows = [f"{json.dumps(key)}: {_value(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _order(table: Any) -> list[int]:
    """The states in the order in which they are reached; Lark's own numbers differ from run to run."""
    order = [table.start_states[name] for name in STARTS]
    for state in order:
        for _, (action, target) in sorted(table.states[state].items()):
            if action is Shift and target not in order:
                order.append(target)
    return order


def _value(value: Any) -> str:
    """JSON with one line for each entry of a list, so that changes show as such."""
    if isinstance(value, list):
        return "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
    return json.dumps(value)


def _terminals(terminals: Collection[TerminalDef]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Words by their text, and patterns in the order in which they are tried."""
    words = {
        t.pattern.value: t.name for t in terminals if isinstance(t.pattern, PatternStr) and t.pattern.value.isalpha()
    }
    rest = [t for t in terminals if t.name not in words.values() and not t.name.startswith("__IGNORE")]
    rest.sort(key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    return words, [(t.name, t.pattern.to_regexp()) for t in rest]


def _rule(rule: Rule) -> list[Any]:
    """``[left side, right side's length, callback or "", children kept, whether a single child stands for itself]``.

    A kept child is ``[place, whether its own children take its place, Nones before it]``; a last ``[-1, 0, n]`` adds
    Nones.
    """
    nones = [0] * (len(rule.expansion) + 1)
    if rule.options.empty_indices:
        marks = "".join(str(int(empty)) for empty in rule.options.empty_indices)
        nones = [len(ones) for ones in marks.split("0")]
    kept: list[list[int]] = []
    waiting = 0
    for place, symbol in enumerate(rule.expansion):
        waiting += nones[place]
        if isinstance(symbol, Terminal) and symbol.filter_out:
            continue
        kept.append([place, int(not symbol.is_term and symbol.name.startswith("_")), waiting])
        waiting = 0
    waiting += nones[-1]
    if waiting:
        kept.append([-1, 0, waiting])
    origin = str(rule.origin.name)
    callback = "" if origin.startswith("_") else str(rule.alias or origin)
    return [origin, len(rule.expansion), callback, kept, int(bool(rule.options.expand1 and not rule.alias))]


if __name__ == "__main__":
    Path(__file__).with_name("grammar.json").write_text(tables(), encoding="utf-8")

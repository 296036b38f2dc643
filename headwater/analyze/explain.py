"""Input: a name. Output: what it means, as a metric, an instruction or a field of one."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from headwater.analyze.glossary import metrics
from headwater.errors import UsageError
from headwater.isa.gcn.cost import PASS_CYCLES

_SUFFIX = re.compile(r"_(?:e32|e64|sdwa|dpp)$")
_FAMILIES = {"gcn": "GCN", "vliw": "VLIW (R600 to Cayman)"}
_GCN_FLAGS = {
    "atomic": "atomic: reads and writes memory as one operation",
    "writes_exec": "also writes EXEC, the mask of active lanes",
    "reads_d": "also reads its destination",
    "reads_vcc": "also reads VCC",
    "mfma": "matrix instruction: takes several passes of four cycles",
    "format": "converts by the resource's format",
}
_VLIW_FLAGS = {
    "commutes": "its sources may be exchanged",
    "pair": "double precision: takes the slots x and y, or z and w",
    "quad": "double precision: takes all four vector slots",
}
_SLOTS = {
    "any": "any slot",
    "vec": "a vector slot (x, y, z, w)",
    "trans": "slot t only",
    "vec4": "all four vector slots together",
    "replicated": "the slots x, y and z together",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """``kind``: "metric", "counter", "instruction", "field", "term" or "key"; ``heading`` names it; ``lines``: (what,
    text) in order."""

    kind: str
    heading: str
    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.lines), default=0)
        return "\n".join([self.heading, *(f"  {name:{width}}  {text}" for name, text in self.lines)])


def explain(name: str) -> tuple[Explanation, ...]:
    """All that a name can mean. UsageError, with the nearest names, if it means nothing."""
    named = (*_metric(name), *_counter(name), *_instructions(name), *_fields(name))
    found = (*named, *_terms(name), *(() if named else _key(name)))
    if found:
        return found
    close = difflib.get_close_matches(name.lower(), [known.lower() for known in names()], 4, 0.6)
    hint = f"did you mean {' or '.join(close)}?" if close else "headwater explain --list lists all metrics"
    raise UsageError(f"there is no metric, instruction or field {name!r}", hint=hint)


@functools.cache
def names() -> tuple[str, ...]:
    """Every name that `explain` knows."""
    from headwater.isa.gcn import table
    from headwater.isa.vliw import table as vliw_table

    fields = [name for family in field_texts().values() for name in family if not re.search(r"[*\[]", name)]
    vliw = [name for row in vliw_table.rows() for name in (row.name, row.mnemonic)]
    own = [*metrics(), *counters(), *_term_names()]
    return tuple(dict.fromkeys([*own, *(row.name for row in table.rows()), *vliw, *fields, *_keys()]))


def _metric(name: str) -> Iterator[Explanation]:
    entry = metrics().get(name.lower())
    if entry is None:
        plain = name.lower().replace(":", "_").replace(" ", "_").replace("-", "_")
        titles = {e.title.lower(): e for e in metrics().values()}
        entry = titles.get(name.lower()) or metrics().get(plain)
    if entry is not None:
        unit = f" ({entry.unit})" if entry.unit else ""
        lines = [("what", entry.definition)]
        if entry.threshold != "None.":
            lines.append(("threshold", entry.threshold))
        lines += [("consequence", entry.consequence), ("source", entry.source)]
        yield Explanation("metric", f"{entry.name}: {entry.title}{unit}, a metric of headwater analyze", tuple(lines))


# ---- counters and terms ----------------------------------------------------------------------------------------------


def _table(name: str) -> dict[str, dict[str, Any]]:
    import tomllib

    made: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    return made


@functools.cache
def counters() -> Mapping[str, Mapping[str, str]]:
    """Counters of AMD's profilers by their names: ``text``, and perhaps ``threshold`` and ``family``."""
    return _table("counters.toml")


@functools.cache
def terms() -> Mapping[str, Mapping[str, Any]]:
    """Words of listings and reports: ``kind``, ``text``, and perhaps further ``names``."""
    return _table("terms.toml")


@functools.cache
def _term_names() -> Mapping[str, str]:
    """Every word -> the term that explains it."""
    return {name: key for key, term in terms().items() for name in (key, *term.get("names", ()))}


def _counter(name: str) -> Iterator[Explanation]:
    plain = name.lower().replace("_", "")
    for known, counter in counters().items():
        if known == name or (known.lower() == plain and name.lower() not in metrics()):
            lines = [("what", counter["text"])]
            if "threshold" in counter:
                lines.append(("good", counter["threshold"]))
            of = f" of {_FAMILIES[counter['family']]} chips" if "family" in counter else ""
            lines.append(
                ("source", "AMD, ATI Stream Profiler, APP Profiler and GPU PerfAPI; the value is the cycle model's")
            )
            yield Explanation("counter", f"{known}: counter{of} of AMD's profilers", tuple(lines))


def _terms(name: str) -> Iterator[Explanation]:
    for known, key in _term_names().items():
        if known.lower() == name.lower() and name.lower() not in metrics():
            term = terms()[key]
            yield Explanation("term", f"{known}: {term['kind']}", (("means", term["text"]),))


# ---- instructions ----------------------------------------------------------------------------------------------------


def _instructions(name: str) -> Iterator[Explanation]:
    from headwater.isa.gcn import table
    from headwater.isa.vliw import table as vliw_table

    wanted = _SUFFIX.sub("", name.lower())
    for row in table.rows():
        if row.name == wanted:
            yield _gcn(row)
    for other in vliw_table.rows():
        if name.upper() in (other.name.upper(), other.mnemonic.upper()):
            yield _vliw(other)


def _gcn(row: Any) -> Explanation:
    from headwater.chips.gcn_isas import ISAS

    kind = row.cost.unit
    have = [isa for isa in ISAS if isa in row.opcodes]
    opcodes = ", ".join(f"{isa} {row.opcodes[isa]:#x}" for isa in have)
    lines = [("does", _meaning(row.semantics))]
    if row.operands:
        lines.append(("operands", _operands(row.operands)))
    lines += [("class", f"{kind}, encoding {row.encoding}"), ("opcode", opcodes)]
    rate = _gcn_rate(row.cost) if kind == "VALU" else ""
    if rate:
        lines.append(("rate", rate))
    if row.cost.flops:
        lines.append(("operations", f"{row.cost.flops} floating-point operations of a lane"))
    lines += [("also", _GCN_FLAGS[flag]) for flag in sorted(row.flags) if flag in _GCN_FLAGS]
    return Explanation("instruction", f"{row.name}: instruction of {_FAMILIES['gcn']}", tuple(lines))


def _gcn_rate(cost: Any) -> str:
    return {
        "full": "4 cycles for a wavefront of 64",
        "half": "8 cycles for a wavefront of 64",
        "quarter": "16 cycles for a wavefront of 64",
        "float32_fma": "4 cycles on chips with full-rate fused multiply-additions, else 16",
        "float64_add": "4 cycles over the chip's rate of additions in double precision (headwater devices CHIP)",
        "float64_fma": "4 cycles over the chip's rate of products in double precision (headwater devices CHIP)",
        "int64": "4 cycles over the chip's rate of additions in double precision, at most 16",
        "transcendental": "16 cycles for a wavefront of 64: a quarter of the rate",
        "int32_multiply": "16 cycles for a wavefront of 64: a quarter of the rate",
        "matrix": f"{PASS_CYCLES * cost.number} cycles for a wavefront of 64",
    }[cost.rate]


def _vliw(row: Any) -> Explanation:
    opcodes = ", ".join(f"{generation} {code:#x}" for generation, code in row.opcodes.items())
    lines = []
    if row.semantics:
        lines.append(("does", _meaning(row.semantics)))
    if row.operands:
        lines.append(("operands", _operands(row.operands)))
    kinds = {
        "OP2": "ALU operation of two sources",
        "OP3": "ALU operation of three sources",
        "LDS": "operation on local memory, in an ALU clause",
        "CF": "control flow",
        "CF_ALU": "control flow that starts an ALU clause",
        "EXPORT": "export",
        "MEM": "write to memory",
        "RAT": "write to a random access target (UAV)",
        "RAT_INST": "what MEM_RAT does to a random access target",
        "GWS": "global wave sync",
        "TEX": "fetch by the texture units",
        "VTX": "fetch of vertices or buffers",
        "SEM": "fetch of vertices by semantics",
        "GDS": "operation on the global data share",
    }
    lines.append(("class", kinds.get(row.kind, f"memory instruction of a fetch clause ({row.kind})")))
    slots = {generation: _SLOTS.get(slot, slot) for generation, slot in row.slots.items()}
    if slots:
        same = set(slots.values())
        slot = next(iter(same)) if len(same) == 1 else "; ".join(f"{g}: {s}" for g, s in slots.items())
        lines.append(("slot", slot))
    lines.append(("opcode", opcodes))
    if row.mnemonic != row.name:
        lines.append(("also called", row.mnemonic))
    lines += [("also", _VLIW_FLAGS[flag]) for flag in sorted(row.flags) if flag in _VLIW_FLAGS]
    return Explanation("instruction", f"{row.name}: instruction of {_FAMILIES['vliw']}", tuple(lines))


def _operands(operands: Any) -> str:
    return ", ".join(f"{spec.name} ({spec.type})" for spec in operands)


def _meaning(semantics: str) -> str:
    found = re.match(r'unsupported\("(.*)"\)', semantics)
    if found:
        return found[1]
    return "nothing that a program can see" if semantics == "nop()" else semantics


# ---- fields ----------------------------------------------------------------------------------------------------------


@functools.cache
def field_texts() -> Mapping[str, Mapping[str, str]]:
    """Family -> field's name or pattern -> what it means."""
    import tomllib

    data = tomllib.loads((Path(__file__).parent / "fields.toml").read_text(encoding="utf-8"))
    return {family: dict(texts) for family, texts in data.items()}


def field_text(family: str, name: str) -> str | None:
    """What a field means in the encodings of "gcn" or "vliw"."""
    texts = field_texts()[family]
    if name in texts:
        return texts[name]
    return next((text for pattern, text in texts.items() if fnmatchcase(name, pattern)), None)


def _fields(name: str) -> Iterator[Explanation]:
    for family, title in _FAMILIES.items():
        text = field_text(family, name.lower())
        if text is not None:
            yield Explanation("field", f"{name}: field of {title} instructions", (("means", text),))


# ---- keys of the JSON ------------------------------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """The JSON Schema of ``headwater analyze --json``."""
    import json

    made: dict[str, Any] = json.loads((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))
    return made


@functools.cache
def _keys() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Key -> where it stands, and what it means there."""
    whole = schema()
    found: dict[str, dict[str, str]] = {}

    def walk(part: Mapping[str, Any], path: str) -> None:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        for name, inner in part.get("properties", {}).items():
            place = f"{path}.{name}" if path else name
            if "description" in inner:
                found.setdefault(name, {})[place] = inner["description"]
            walk(inner, place)
        for inner in (part.get("items"), part.get("additionalProperties")):
            if isinstance(inner, dict):
                walk(inner, f"{path}[]")

    walk(whole, "")
    return {name: tuple(places.items()) for name, places in found.items()}


def _key(name: str) -> Iterator[Explanation]:
    places = dict(_keys().get(name.lower(), ()))
    if places:
        places_of: dict[str, str] = {}
        for place, meaning in places.items():
            places_of.setdefault(meaning, place)
        lines = tuple((place, meaning) for meaning, place in places_of.items())
        yield Explanation("key", f"{name.lower()}: in what headwater analyze --json prints", lines)

"""Input: rows of the instruction tables. Output: what their two evaluators disagree about, for random operands.

    python -m verification.isa_semantics --count 4096 --seed 1 [--rows v_div_scale_f32,…]

Every row's expression is lowered to LLVM code, many rows to a module, and run on operands that are edge values half of
the time; `headwater.emulate.wave.evaluate_numpy` computes the same. All bits have to agree, but those of a NaN.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwater.emulate.wave.builder import Value, WaveBuilder, llvm_type
from headwater.emulate.wave.evaluate_numpy import evaluate
from headwater.emulate.wave.lower_llvm import lower
from headwater.isa.gcn.model import Row
from headwater.isa.gcn.semantics import semantics
from headwater.isa.gcn.table import rows
from headwater.isa.semantics.model import Mode, Semantics
from headwater.isa.semantics.types import BITS, float_bits, is_float
from headwater.native.shared import link_shared
from headwater.native.worker import Worker

LANES = 16
LARGE = 100_000
"""As many instructions as make the translator's compiler choose its cheapest passes."""

NOT_IN_LANES = ("getreg", "memtime", "realtime")

MODES: Mapping[str, tuple[Mode, bool]] = {
    "default": (Mode(), False),
    "clamp": (Mode(), True),
    "flush": (Mode(denorm32=0, denorm16_64=0), False),
    "flush in": (Mode(denorm32=2, denorm16_64=2), False),
    "flush out": (Mode(denorm32=1, denorm16_64=1), False),
    "old": (Mode(denorm32=0, generation=6), False),
    "quiet": (Mode(ieee=False), False),
    "up": (Mode(round32=1, round16_64=1), False),
    "down": (Mode(round32=2, round16_64=2, denorm32=0), False),
    "to zero": (Mode(round32=3, round16_64=3), False),
    "limited": (Mode(half_overflow=True), False),
}


@dataclass(frozen=True)
class Case:
    """A row's meaning in a mode, with what it reads and gives: (name, type) each."""

    row: Row
    meaning: Semantics
    mode: Mode
    clamp: bool
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str, str], ...]  # name, type, and as what NaNs are recognised

    @property
    def elements(self) -> int:
        """Elements of each lane: 2 if packed."""
        return 2 if self.meaning.packed else 1


def cases(mode: Mode, clamp: bool, chosen: Iterable[str] = ()) -> Iterator[Case]:
    """A case for each different meaning among the rows."""
    wanted, seen = set(chosen), set()
    for row in rows():
        if wanted and row.name not in wanted:
            continue
        meaning = semantics(row)
        if meaning.unsupported or meaning.cross or any(f"{name}()" in row.semantics for name in NOT_IN_LANES):
            continue
        if clamp and "CLAMP" not in row.semantics:
            continue
        case = make_case(row, meaning, mode, clamp)
        key = (row.semantics, case.inputs, case.outputs, meaning.vector)
        if case.outputs and key not in seen:
            seen.add(key)
            yield case


def make_case(row: Row, meaning: Semantics, mode: Mode, clamp: bool) -> Case:
    """The case of a row."""
    kinds = {o.name: o.type for o in row.operands}
    inputs = []
    for name in sorted(meaning.reads):
        inputs.append((name, _type_of(row, meaning, name)))
    loads = [a.type for a in meaning.accesses if a.kind == "load"]
    inputs += [(f"load{n}", type_) for n, type_ in enumerate(loads)]
    outputs = []
    for target, _ in meaning.assignments:
        type_ = _type_of(row, meaning, target)
        nan = "f16" if kinds.get(target) == "v2f16" else type_ if is_float(type_) else ""
        outputs.append((target, type_, nan))
    for n, effect in enumerate(meaning.effects):
        for k, arg in enumerate(effect.args):
            outputs.append((f"{n}.{k}", arg.type, arg.type if is_float(arg.type) else ""))
    return Case(row, meaning, mode, clamp, tuple(inputs), tuple(outputs))


def _type_of(row: Row, meaning: Semantics, name: str) -> str:
    if name in meaning.types:
        return meaning.types[name]
    if name == "MEM":
        return meaning.types.get("D") or meaning.types["DATA"]
    return {"SCC": "u1", "PC": "u64", "M0": "u32", "LANE": "u32"}.get(
        name, ("u1" if meaning.vector else "u64") if name in ("VCC", "EXEC") else "u32"
    )


# ---- operands --------------------------------------------------------------------------------------------------------


def edge_values(type_: str) -> list[int]:
    """Bits that are likely to make trouble."""
    width = BITS[type_]
    if not is_float(type_):
        small = [0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0xFFFF, 0x10000, 0xFFFFFF]
        small += [0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80008000, 0x3F800000, 0x80FF7F01, 0x0C0D0E07]
        return [
            x & ((1 << width) - 1) for x in [*small, *(-x for x in small), 1 << (width - 1), (1 << (width - 1)) - 1]
        ]
    mantissa = {"f16": 10, "f32": 23, "f64": 52}[type_]
    sign, inf = 1 << (width - 1), ((1 << (width - 1 - mantissa)) - 1) << mantissa
    found = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, inf - 1, inf, inf + 1]
    found += [inf | 1 << (mantissa - 1), inf | (1 << mantissa) - 1, 2 << mantissa]
    values = [
        0.25,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        7.0,
        127.5,
        255.5,
        256.0,
        32767.0,
        65504.0,
        0.1,
        1 / 3,
        0.49999997,
    ]
    if type_ != "f16":
        values += [65519.0, 65520.0, 2147483520.0, 2147483648.0, 4294967040.0, 4294967296.0, 1e30, 1e-30, 16777217.0]
        values += [2.0**-126 / 3, 2.0**126, 2.0**126 * 1.5, 2.0**-100, 2.0**100, 2.0**-149]
    if type_ == "f64":
        values += [2.0**1022, 2.0**-1000, 2.0**1000 * 1.3, 2.0**-1060, 2147483647.5, 4294967295.9, 1e300]
    found += [float_bits(v, type_) for v in values]
    one = float_bits(1.0, type_)
    return [*found, one - 1, one + 1, *(x | sign for x in [*found, one - 1, one + 1])]


def random_operand(rng: np.random.Generator, type_: str, count: int) -> Any:
    """Bits of ``count`` operands: edges, anything, and numbers near one."""
    if BITS[type_] > 64:
        return tuple(random_operand(rng, "u32", count) for _ in range(BITS[type_] // 32))
    width = BITS[type_]
    if width == 1:
        return rng.integers(0, 2, count).astype(np.bool_)
    kind = getattr(np, f"uint{width}")
    edges = np.array(edge_values(type_), np.uint64).astype(kind)
    anything = np.frombuffer(rng.bytes(count * width // 8), kind)
    how = rng.integers(0, 4, count)
    near = anything
    if is_float(type_):
        number = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]
        near = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)).astype(number).view(kind)
    picked = edges[rng.integers(0, len(edges), count)]
    return np.where(how < 2, picked, np.where(how == 2, anything, near)).astype(kind)


# ---- code ------------------------------------------------------------------------------------------------------------


def module(found: list[Case], target: Any) -> str:
    """A module's body with a function ``case<n>(inputs, outputs, chunks)`` for each case, on arrays of pointers."""
    functions, declarations = [], {}
    for n, case in enumerate(found):
        b = WaveBuilder(frozenset(x[1:] for x in target.features.split(",") if x.startswith("+")))
        functions.append(f"define void @case{n}(ptr %in, ptr %out, i64 %chunks) #0 {{\n{_body(b, case)}\n}}")
        declarations |= b.declarations
    return "\n".join([*declarations.values(), *functions]) + "\n"


def _pieces(type_: str) -> list[str]:
    return [type_] if BITS[type_] <= 64 else ["u32"] * (BITS[type_] // 32)


def _body(b: WaveBuilder, case: Case) -> str:
    lanes = LANES * case.elements if case.meaning.vector else 1
    b.jump("loop")
    b.start("loop")
    i, next_ = "%i", "%next"
    b.line(f"{i} = phi i64 [ 0, %entry ], [ {next_}, %loop ]")
    operands: dict[str, Any] = {}
    slot = 0
    for name, type_ in case.inputs:
        words = []
        for piece in _pieces(type_):
            words.append(_load(b, slot, piece, lanes, i))
            slot += 1
        operands[name] = words[0] if len(words) == 1 else tuple(words)
    loaded = iter(name for name, _ in case.inputs if name.startswith("load"))
    lowered = lower(
        b, case.meaning, operands, case.mode, clamp=case.clamp, load=lambda type_, offset: operands[next(loaded)]
    )
    values = dict(lowered.results)
    for n, effect in enumerate(lowered.effects):
        values |= {f"{n}.{k}": value for k, value in enumerate(effect.values)}
    slot = 0
    for name, type_, _ in case.outputs:
        value = values[name]
        for piece, word in zip(_pieces(type_), value if isinstance(value, tuple) else (value,), strict=True):
            _store(b, slot, piece, word, lanes, i)
            slot += 1
    b.line(f"{next_} = add i64 {i}, 1")
    b.branch(b.emit(f"icmp ult i64 {next_}, %chunks"), "loop", "done")
    b.start("done")
    b.line("ret void")
    return b.text()


def _place(b: WaveBuilder, base: str, slot: int, type_: str, lanes: int, i: str) -> str:
    array = b.emit(f"load ptr, ptr {b.emit(f'getelementptr ptr, ptr {base}, i64 {slot}')}")
    return b.emit(f"getelementptr {_memory_type(type_, lanes)}, ptr {array}, i64 {i}")


def _memory_type(type_: str, lanes: int) -> str:
    return llvm_type("u8" if type_ == "u1" else type_, lanes)


def _load(b: WaveBuilder, slot: int, type_: str, lanes: int, i: str) -> Value:
    place = _place(b, "%in", slot, type_, lanes, i)
    text = b.emit(f"load {_memory_type(type_, lanes)}, ptr {place}, align 1")
    if type_ == "u1":
        return b.let("u1", lanes, f"trunc {_memory_type(type_, lanes)} {text} to {llvm_type('u1', lanes)}")
    return Value(text, type_, lanes)


def _store(b: WaveBuilder, slot: int, type_: str, value: Value, lanes: int, i: str) -> None:
    value = b.splat(b.bitcast(value, type_), lanes)
    if type_ == "u1":
        value = b.let("u8", lanes, f"zext {value.typed} to {llvm_type('u8', lanes)}")
    b.line(f"store {value.typed}, ptr {_place(b, '%out', slot, type_, lanes, i)}, align 1")


class Library:
    """The compiled code of some cases."""

    def __init__(self, worker: Worker, found: list[Case]) -> None:
        self.cases = found
        target = worker.call("llvm.modules:host_target")
        code = link_shared(worker.call("emulate.wave.codegen:compile_wave", module(found, target), LARGE))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.so"
            path.write_bytes(code)
            self.library = ctypes.CDLL(str(path))

    def run(self, n: int, operands: Mapping[str, Any], count: int) -> dict[str, Any]:
        """The outputs of a case."""
        case = self.cases[n]
        ins = [np.ascontiguousarray(w) for name, _ in case.inputs for w in _words(operands[name])]
        outs = []
        for _, type_, _ in case.outputs:
            kind = np.bool_ if type_ == "u1" else getattr(np, f"uint{min(BITS[type_], 64)}")
            outs.append([np.zeros(count, kind if len(_pieces(type_)) == 1 else np.uint32) for _ in _pieces(type_)])
        flat = [a for group in outs for a in group]
        pointers = [(ctypes.c_void_p * max(len(group), 1))(*(a.ctypes.data for a in group)) for group in (ins, flat)]
        lanes = LANES * case.elements if case.meaning.vector else 1
        self.library[f"case{n}"](*pointers, ctypes.c_int64(count // lanes))
        return {
            name: group[0] if len(group) == 1 else tuple(group)
            for (name, _, _), group in zip(case.outputs, outs, strict=True)
        }


def _words(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def expected(case: Case, operands: Mapping[str, Any], count: int) -> dict[str, Any]:
    """What the other evaluator says."""
    loaded = iter(name for name, _ in case.inputs if name.startswith("load"))
    done = evaluate(
        case.meaning, operands, case.mode, clamp=case.clamp, load=lambda type_, offset: operands[next(loaded)]
    )
    values: dict[str, Any] = dict(done.results)
    for n, effect in enumerate(done.effects):
        values |= {f"{n}.{k}": value for k, value in enumerate(effect.values)}
    return {
        name: tuple(np.broadcast_to(w, count) for w in value)
        if isinstance(value, tuple)
        else np.broadcast_to(value, count)
        for name, value in values.items()
    }


def disagreements(library: Library, n: int, rng: np.random.Generator, count: int) -> list[str]:
    """Run a case; one line for each output that differs somewhere."""
    case = library.cases[n]
    count = -(-count // (2 * LANES)) * 2 * LANES
    operands = {name: random_operand(rng, type_, count) for name, type_ in case.inputs}
    if "LANE" in operands:
        operands["LANE"] = np.arange(count, dtype=np.uint32) % 64
    # Operands are often equal in code that divides: v_div_scale compares them.
    if {"S0", "S1"} <= operands.keys() and case.row.name.startswith("v_div_scale"):
        choose = rng.integers(0, 2, count) == 0
        operands["S0"] = np.where(choose, operands["S1"], operands["S2"])
    got, want = library.run(n, operands, count), expected(case, operands, count)
    found = []
    for name, _, nan in case.outputs:
        for k, (g, w) in enumerate(zip(_words(got[name]), _words(want[name]), strict=True)):
            same = g == w
            if nan:
                same |= _both_nan(g, w, nan)
            if not same.all():
                at = int(np.flatnonzero(~same)[0])
                shown = ", ".join(
                    f"{o}={'.'.join(f'{int(x[at]):x}' for x in reversed(_words(v)))}" for o, v in operands.items()
                )
                found.append(
                    f"{case.row.name} ({case.row.encoding}): {name}{f'[{k}]' if k else ''} is {int(g[at]):x} in LLVM "
                    f"code, {int(w[at]):x} in the interpreter; {int((~same).sum())} of {count} differ; {shown}"
                )
    return found


def _both_nan(a: Any, b: Any, type_: str) -> Any:
    number = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[type_]
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    per = a.itemsize // np.dtype(number).itemsize
    halves = [x.view(f"u{x.itemsize // per}").reshape(-1, per) for x in (a, b)]
    numbers = [h.view(number) for h in halves]
    same = (halves[0] == halves[1]) | (np.isnan(numbers[0]) & np.isnan(numbers[1]))
    return same.all(axis=1)


def check(worker: Worker, mode: str, count: int, seed: int, chosen: Iterable[str] = (), batch: int = 400) -> list[str]:
    """All rows in one of `MODES`."""
    settings, clamp = MODES[mode]
    found = list(cases(settings, clamp, chosen))
    if mode not in ("default", "clamp"):
        found = [c for c in found if any(is_float(t) for _, t, *_ in (*c.inputs, *c.outputs)) or "f" in c.row.name[-3:]]
    lines = []
    for start in range(0, len(found), batch):
        library = Library(worker, found[start : start + batch])
        for n, case in enumerate(library.cases):
            few = count if _quick(case) else min(count, 512)
            rng = np.random.default_rng([seed, *case.row.name.encode()])
            lines += disagreements(library, n, rng, few)
    return lines


def _quick(case: Case) -> bool:
    """Whether the interpreter does without rational arithmetic."""
    slow = ("fma", "mad", "div_", "ldexp", "mix", "sad", "trig", "_f64", "exp", "log", "sin", "cos")
    return not any(s in case.row.name for s in slow) and not case.mode.round32


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.isa_semantics", description=__doc__)
    parser.add_argument("--count", type=int, default=4096, help="operands for each row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", default="", help="names, with commas between them")
    parser.add_argument("--modes", default=",".join(MODES), help="of " + ", ".join(MODES))
    options = parser.parse_args(arguments)
    worker = Worker()
    failures = 0
    for mode in options.modes.split(","):
        lines = check(worker, mode, options.count, options.seed, [r for r in options.rows.split(",") if r])
        for line in lines:
            print(f"{mode}: {line}")
        failures += len(lines)
        print(f"{mode}: {len(lines)} disagreements", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

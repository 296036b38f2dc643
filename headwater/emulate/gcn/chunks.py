"""Input: the parts of a large kernel's text. Output: one LLVM function for each GCN block, and one that calls them in
turn.

LLVM's time grows faster than a function does. Where registers live in the wavefront's frame, blocks share nothing but
memory, so each can be a function of its own: it returns the number of the block to go on with. Functions can be
compiled apart, by several processes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.emulate.wave.builder import WaveBlock
from headwater.emulate.wave.layout import AT_BARRIER, AT_GWS, ENDED, STOPPED, WAVE
from headwater.llvm.text import names_in, targets_in

WHOLE = "hw_wave"
"""The function that runs a wavefront."""
_EXITS = {
    "wave.ended": (-1, ENDED),
    "wave.waits": (-2, AT_BARRIER),
    "wave.stopped": (-3, STOPPED),
    "wave.synchronises": (-4, AT_GWS),
}


def functions(
    definitions: Sequence[str],
    initial: Sequence[str],
    blocks: Sequence[WaveBlock],
    starts: Mapping[str, int],
    entry: str,
    resumed: Mapping[int, str],
) -> dict[str, str]:
    """The texts of all functions by name: the blocks', and `WHOLE`'s, which calls these.

    ``definitions``: lines ``%name = …`` that the blocks' code may use, in order. ``initial``: what is run when a
    wavefront begins. ``starts``: the label of each GCN block, with its number, from 0 on. ``resumed``: after which
    barrier it goes on in which block.
    """
    known = {line.split(" = ", 1)[0]: line for line in definitions}
    known["%count"] = f"%count = getelementptr i8, ptr %w, i64 {WAVE.offset['wave_instructions']}"
    chunks: dict[str, list[WaveBlock]] = {}
    for block in blocks:
        if block.label in starts:
            current = chunks[block.label] = []
        current.append(block)
    parts = {f"block.{starts[label]}": _block(known, label, chunk, starts) for label, chunk in chunks.items()}
    return parts | {WHOLE: _caller(known, initial, starts, entry, resumed)}


def modules(functions: Mapping[str, str], common: str, count: int) -> list[str]:
    """The text of so many modules about as long, which have ``common``."""
    groups: list[list[str]] = [[] for _ in range(count)]
    lengths = [0] * count
    for name in sorted(functions, key=lambda one: len(functions[one]), reverse=True):
        shortest = lengths.index(min(lengths))
        groups[shortest].append(name)
        lengths[shortest] += len(functions[name])
    texts = []
    for group in groups:
        called = functions.keys() - set(group) if WHOLE in group else ()
        declared = "\n".join(f"declare hidden i32 @{name}(ptr)" for name in sorted(called))
        texts.append("\n\n".join([*(functions[name] for name in group), common, declared]))
    return texts


def _needed(known: Mapping[str, str], text: str) -> list[str]:
    """The definitions that a text needs, and that these need."""
    wanted: set[str] = set()
    pending = [name for name in set(names_in(text)) if name in known]
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += [other for other in names_in(known[name].split(" = ", 1)[1]) if other in known]
    return [f"  {line}" for name, line in known.items() if name in wanted]


def _block(known: Mapping[str, str], label: str, chunk: Sequence[WaveBlock], starts: Mapping[str, int]) -> str:
    text = "\n".join(line for block in chunk for line in (f"{block.label}:", *block.lines))
    own = {block.label for block in chunk}
    stubs = []
    for target in dict.fromkeys(targets_in(text)):
        if target not in own:
            number = _EXITS[target][0] if target in _EXITS else starts[target]
            stubs.append(f"{target}:\n  ret i32 {number}")
    head = "\n".join(["enter:", *_needed(known, text), f"  br label %{label}"])
    return (
        f"define hidden i32 @block.{starts[label]}(ptr noalias %w) #0 {{\n{head}\n{text}\n" + "\n".join(stubs) + "\n}"
    )


def _caller(
    known: Mapping[str, str], initial: Sequence[str], starts: Mapping[str, int], entry: str, resumed: Mapping[int, str]
) -> str:
    begin = "\n".join(initial)
    cases = " ".join(f"i32 {number}, label %resumed.{number}" for number in resumed)
    numbers = range(len(starts))
    constants, dispatch, back = _by_table(numbers) if len(numbers) > MOST_PLACES else _by_places(numbers)
    ways = [f"[{starts[entry]}, %begin]"]
    ways += [f"[{starts[label]}, %resumed.{number}]" for number, label in resumed.items()]
    lines = [
        *constants,
        f"define hidden i32 @{WHOLE}(ptr noalias %w) #0 {{",
        "entry:",
        *_needed(known, f"{begin} %resume.at"),
        "  %resume = load i32, ptr %resume.at",
        f"  switch i32 %resume, label %begin [{cases}]",
        "begin:",
        begin,
        "  br label %loop",
        *(f"resumed.{number}:\n  br label %loop" for number in resumed),
        "loop:",
        f"  %next = phi i32 {', '.join([*ways, *back])}",
        *dispatch,
        *(f"{label}:\n  ret i32 {value}" for label, (_, value) in _EXITS.items()),
        "}",
    ]
    return "\n".join(lines)


MOST_PLACES = 1024
"""Blocks up to which the caller has a place for each. LLVM copies the branch to these places behind each call, so that
the processor predicts it by the block before it: 0.77 of the time of a table, in a kernel that hardly does anything but
choose among 256 cases. But LLVM's block placement looks through all of the places for each of them, 28 s for 2,900."""

_Dispatch = tuple[list[str], list[str], list[str]]
"""Global constants, the lines that call block ``%next``, and what the next one is after a call, for the phi."""


def _exits() -> str:
    return " ".join(f"i32 {code}, label %{label}" for label, (code, _) in _EXITS.items())


def _by_places(numbers: Sequence[int]) -> _Dispatch:
    places = " ".join(f"i32 {n}, label %call.{n}" for n in numbers)
    lines = [f"  switch i32 %next, label %wave.stopped [{places} {_exits()}]"]
    lines += [f"call.{n}:\n  %next.{n} = call i32 @block.{n}(ptr %w)\n  br label %loop" for n in numbers]
    return [], lines, [f"[%next.{n}, %call.{n}]" for n in numbers]


def _by_table(numbers: Sequence[int]) -> _Dispatch:
    count = len(numbers)
    table = ", ".join(f"ptr @block.{n}" for n in numbers)
    lines = [
        f"  %goes_on = icmp ult i32 %next, {count}",
        "  br i1 %goes_on, label %call, label %leave",
        "call:",
        "  %place = zext i32 %next to i64",
        f"  %slot = getelementptr [{count} x ptr], ptr @blocks, i64 0, i64 %place",
        "  %block = load ptr, ptr %slot",
        "  %after = call i32 %block(ptr %w)",
        "  br label %loop",
        "leave:",
        f"  switch i32 %next, label %wave.stopped [{_exits()}]",
    ]
    return [f"@blocks = internal unnamed_addr constant [{count} x ptr] [{table}]"], lines, ["[%after, %call]"]

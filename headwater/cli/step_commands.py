"""Input: a line that a user types at ``headwater step``. Output: what it does to the stepper, and the answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from headwater.base.numbers import natural
from headwater.cli import step_views as views
from headwater.emulate.wave.layout import LANES
from headwater.errors import UsageError
from headwater.step.stops import element_number

if TYPE_CHECKING:
    from rich.text import Text

    from headwater.step import Session, Stepper

_ELEMENTS = 16
_PART = re.compile(r"(?P<name>.+?)(?:\[(?P<first>\d+)(?::(?P<last>\d+))?\])?")


class Quit(Exception):
    """The launch is to be left as it was at its beginning."""


@dataclass(frozen=True)
class Command:
    """``usage`` and ``text`` for the list of commands; ``run`` is given the session and the words behind the name."""

    names: tuple[str, ...]
    usage: str
    text: str
    run: Callable[[Session[Any], list[str]], list[Text]]


def answer(session: Session[Any], line: str) -> list[Text]:
    """Run a command; the lines to print. UsageError for what is no command, and whatever it raises."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise UsageError(f"{line!r}: {error}") from None
    if not words:
        return []
    if session.stepper is None and words[0] not in ("help", "h", "?", "quit", "q"):
        raise UsageError("the last launch has ended", hint="there is nothing left to step through")
    found = next((command for command in COMMANDS if words[0] in command.names), None)
    if found is None:
        names = [name for command in COMMANDS for name in command.names]
        close = get_close_matches(words[0], names, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"there is no command {words[0]!r}", hint=f"{hint}help lists them")
    return found.run(session, words[1:])


def _stepper(session: Session[Any]) -> Stepper:
    assert session.stepper is not None
    return session.stepper


def _number(words: list[str], what: str, default: int | None = None) -> int:
    """The only word, a whole number."""
    if not words and default is not None:
        return default
    number = natural(words[0]) if len(words) == 1 else None
    if number is None:
        raise UsageError(f"{what} is expected, not {' '.join(words)!r}")
    return number


def _moving(move: Callable[[Stepper, list[str]], object]) -> Callable[[Session[Any], list[str]], list[Text]]:
    """A command that goes somewhere, and answers with the place."""

    def run(session: Session[Any], words: list[str]) -> list[Text]:
        stepper = _stepper(session)
        move(stepper, words)
        return views.where(stepper)

    return run


def _none(words: list[str]) -> None:
    if words:
        raise UsageError(f"{' '.join(words)!r} is not expected here")


def _back(stepper: Stepper, words: list[str]) -> None:
    if words == ["line"]:
        stepper.back_line()
    elif words == ["stop"]:
        stepper.back()
    else:
        stepper.back_instruction(_number(words, "a number of instructions, line or stop", 1))


def _goto(stepper: Stepper, words: list[str]) -> None:
    stepper.go_to(_number(words, "a number of instructions from the beginning"))


def _group(stepper: Stepper, words: list[str]) -> None:
    if not words:
        stepper.to_group_end()
        return
    sizes = [natural(part) for part in "".join(words).split(",")]
    if len(sizes) > 3 or None in sizes:
        raise UsageError(f"{' '.join(words)!r} is no work-group", hint="write 3 or 3,0,0")
    x, y, z = (*(int(size or 0) for size in sizes), 0, 0)[:3]
    stepper.begin_group((x, y, z))


def _wave(stepper: Stepper, words: list[str]) -> None:
    stepper.select(_number(words, "the number of a wavefront"))


def _differ(stepper: Stepper, words: list[str]) -> None:
    stepper.to_difference(*_two_lanes(words))


def _two_lanes(words: list[str]) -> tuple[int, int]:
    lanes = [natural(word) for word in words]
    if len(lanes) != 2 or lanes[0] is None or lanes[1] is None:
        raise UsageError("two lanes are expected", hint="for example 0 17")
    return lanes[0], lanes[1]


def _break(session: Session[Any], words: list[str]) -> list[Text]:
    stepper = _stepper(session)
    wave = -1
    if len(words) == 3 and words[1] == "wave":
        wave = _number(words[2:], "the number of a wavefront")
        words = words[:1]
    if not words:
        return views.stops(stepper)
    if len(words) != 1:
        raise UsageError("break takes one place", hint="a line, @label or mnemonic, and perhaps: wave N")
    return views.added(stepper.add_breakpoint(words[0], wave))


def _watch(session: Session[Any], words: list[str]) -> list[Text]:
    if len(words) != 1:
        raise UsageError("watch takes a register or memory", hint="for example v3[5], exec, y[10:20], lds[0:16]")
    return views.added(_stepper(session).add_watchpoint(words[0]))


def _delete(session: Session[Any], words: list[str]) -> list[Text]:
    _stepper(session).delete(_number(words, "the number of a breakpoint or watchpoint"))
    return []


def _print(session: Session[Any], words: list[str]) -> list[Text]:
    stepper = _stepper(session)
    if not 1 <= len(words) <= 2:
        raise UsageError("print takes a register or memory, and perhaps a type", hint="for example print v3 f32")
    kind = words[1] if len(words) == 2 else ""
    matched = _PART.fullmatch(words[0])
    assert matched is not None
    name, first = matched["name"], element_number(matched["first"] or "0")
    names = {known.lower() for known in (*stepper.machine.vectors, *stepper.machine.scalars)}
    if name.lower() in names:
        value = stepper.register(name)
        if isinstance(value, int):
            return views.number(name, value, kind)
        if matched["last"]:
            raise UsageError(f"{words[0]}: one lane or all are printed", hint=f"print {name} or {name}[{first}]")
        if matched["first"]:
            return views.number(words[0], int(value[_known_lane(first)]), kind)
        return views.grid(name, value, stepper.machine.active(stepper.machine.waves[stepper.wave]), kind)
    if kind:
        raise UsageError(f"{name} is memory, printed as what it holds", hint="types are for registers")
    last = element_number(matched["last"]) if matched["last"] else first + (1 if matched["first"] else _ELEMENTS)
    return views.elements(name, stepper.read(name, first, max(last - first, 0)), first)


def _lane(session: Session[Any], words: list[str]) -> list[Text]:
    return views.lane(_stepper(session), _known_lane(_number(words, "a lane")))


def _known_lane(lane: int) -> int:
    if lane >= LANES:
        raise UsageError(f"there is no lane {lane}", hint=f"lanes are 0 to {LANES - 1}")
    return lane


def _lds(session: Session[Any], words: list[str]) -> list[Text]:
    stepper = _stepper(session)
    places = [natural(word) for word in words]
    if len(places) > 2 or None in places:
        raise UsageError("lds takes the first dword and how many", hint="for example lds 0 64")
    first, count = (*(int(place or 0) for place in places), *(0, 64)[len(places) :])[:2]
    return views.elements("lds", stepper.read("lds", first, count), first)


def _plain(view: Callable[[Stepper], list[Text]]) -> Callable[[Session[Any], list[str]], list[Text]]:
    def run(session: Session[Any], words: list[str]) -> list[Text]:
        _none(words)
        return view(_stepper(session))

    return run


def _list(session: Session[Any], words: list[str]) -> list[Text]:
    return views.listing(_stepper(session), _number(words, "a number of instructions", 10))


def _next(session: Session[Any], words: list[str]) -> list[Text]:
    _none(words)
    return views.where(_stepper(session)) if session.next_launch() else views.line("the last launch has ended")


def _leave(session: Session[Any], words: list[str]) -> list[Text]:
    _none(words)
    session.leave()
    return views.line("run to the end by native code")


def _quit(session: Session[Any], words: list[str]) -> list[Text]:
    _none(words)
    raise Quit


def _help(session: Session[Any], words: list[str]) -> list[Text]:
    return views.table([(" ".join(filter(None, (", ".join(c.names), c.usage))), c.text) for c in COMMANDS])


def _count(step: Callable[[Stepper, int], object]) -> Callable[[Session[Any], list[str]], list[Text]]:
    return _moving(lambda stepper, words: step(stepper, _number(words, "a number of steps", 1)))


def _going(go: Callable[[Stepper], object]) -> Callable[[Session[Any], list[str]], list[Text]]:
    def move(stepper: Stepper, words: list[str]) -> None:
        _none(words)
        go(stepper)

    return _moving(move)


COMMANDS: tuple[Command, ...] = (
    Command(("step", "s"), "[N]", "to the next source line, N times", _count(lambda s, n: s.step_line(n))),
    Command(("stepi", "i"), "[N]", "one instruction or N", _count(lambda s, n: s.step_instruction(n))),
    Command(
        ("clause",),
        "[N]",
        "to the end of the clause (VLIW) or basic block (GCN)",
        _count(lambda s, n: s.step_clause(n)),
    ),
    Command(("barrier",), "", "until this wavefront waits at a barrier", _going(lambda s: s.to_barrier())),
    Command(
        ("group",), "[X[,Y[,Z]]]", "to the end of this work-group, and on to the beginning of another", _moving(_group)
    ),
    Command(("continue", "c"), "", "to the next breakpoint or watchpoint, or the end", _going(lambda s: s.resume())),
    Command(("finish",), "", "to the end of the launch, past all breakpoints", _going(lambda s: s.finish())),
    Command(("differ",), "LANE LANE", "until two lanes differ in one more register", _moving(_differ)),
    Command(("back",), "[N | line | stop]", "back N instructions, a line, or to the last breakpoint", _moving(_back)),
    Command(("goto",), "N", "the state after N instructions from the beginning", _moving(_goto)),
    Command(("break", "b"), "[WHERE [wave N]]", "stop at a line, @label or mnemonic (v_add*); alone: list", _break),
    Command(("watch", "w"), "WHAT", "stop when v3, v3[5], s4, exec, y[10:20] or lds[0:16] changes", _watch),
    Command(("delete", "d"), "N", "do without a breakpoint or watchpoint", _delete),
    Command(("wave",), "N", "steps are of wavefront N from here on", _moving(_wave)),
    Command(("waves",), "", "the wavefronts of the work-group", _plain(views.wavefronts)),
    Command(("print", "p"), "NAME[I[:J]] [TYPE]", "a register as 64 lanes, or memory; TYPE u32, i32, f32, hex", _print),
    Command(("lane",), "N", "all vector registers of a lane", _lane),
    Command(("regs",), "", "scalar registers", _plain(views.scalars)),
    Command(("lds",), "[FIRST [COUNT]]", "dwords of local memory", _lds),
    Command(("memory",), "", "what memory there is", _plain(views.memories)),
    Command(("where",), "", "this place", _plain(views.where)),
    Command(("list", "l"), "[N]", "instructions around this place", _list),
    Command(("source",), "", "the source around this place", _plain(views.source)),
    Command(("next",), "", "end this launch and go on to the next one", _next),
    Command(("leave",), "", "put the launch back to its beginning and run all by native code", _leave),
    Command(("quit", "q"), "", "end without results", _quit),
    Command(("help", "h", "?"), "", "this list", _help),
)

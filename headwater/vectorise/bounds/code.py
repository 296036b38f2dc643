"""Input: a kernel's accesses. Output: a function that decides whether some work-item of a launch accesses memory
outside of an array.

For each place of a kernel (`headwater.vectorise.bounds.accesses.Site`) a few work-items are tried: the first and the
last along each dimension, as far as the conditions around the place let them come, on the first and the last trip of
the loops around it. Of each it is computed, as the kernel does it, whether it comes to the place and where it accesses
memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function
from headwater.vectorise.bounds.accesses import Access, Counts, Site, sites
from headwater.vectorise.bounds.items import tries
from headwater.vectorise.bounds.values import MOST_INSTRUCTIONS, TAKEN, Frame, Lines, Values
from headwater.vectorise.lower.entry import argument_places

REPORTED_NUMBERS = 4
"""Numbers behind the sizes that the function tells of an access: its offset in bytes, and the work-item's global id."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The text of the functions; the accesses by number; the positions of the arguments whose sizes decide, and are
    passed, and those of the arguments whose values do."""

    text: str
    accesses: tuple[Access, ...] = ()
    sized: tuple[int, ...] = ()
    values: tuple[int, ...] = ()


def write_bounds(symbol: str, function: Function, cfg: Cfg, locals_bytes: Sequence[int]) -> Bounds:
    """The function ``symbol``, called with the launch block, the args block and an int64 array.

    The array holds 0 or 1, the bytes of the arguments in `Bounds.sized` and, if it begins with 1, room for `TOLD`
    numbers, which are written. What comes back is 0, or the number of an access, counted from 1, that some work-item
    makes outside of its array. ``locals_bytes``: the sizes of the last parameters, which are __local variables.
    """
    arguments = len(function.params) - len(locals_bytes)
    own = function.params[:arguments]
    fixed = {p.name: size for p, size in zip(function.params[arguments:], locals_bytes, strict=True) if size}
    frame = Frame({place.param.name: place for place in argument_places(own)[0]})
    counts = Counts(function, cfg)
    codes: list[_Code] = []
    for site in sites(function, cfg, arguments):
        code = _Place(function, cfg, counts, site, frame, fixed).write(len(codes))
        if code is not None:
            codes.append(code)
    if not codes:
        return Bounds("")
    used = {name for code in codes for name in code.parameters}
    looked_at = [position for position, param in enumerate(own) if param.name in used]
    values = [i for i in looked_at if own[i].ty.kind != "ptr" or own[i].by_value is not None]
    sized = (*frame.sized, *(i for i in looked_at if i not in values and i not in frame.sized))
    text = "\n\n".join([*(text for code in codes for text in code.texts), _entry(symbol, codes, len(sized))])
    return Bounds(text, tuple(access for code in codes for access in code.accesses), sized, tuple(values))


@dataclass(frozen=True, slots=True)
class _Code:
    """The functions of one place, its accesses in the order of their numbers, and the parameters that they look at."""

    name: str
    texts: tuple[str, ...]
    accesses: tuple[Access, ...]
    parameters: frozenset[str]


def _entry(symbol: str, codes: Sequence[_Code], sized: int) -> str:
    lines = [f"define i32 @{symbol}({TAKEN}) #1 {{", "entry:", f"  %told = alloca [{REPORTED_NUMBERS} x i64]"]
    first, ends = 0, []
    for number, code in enumerate(codes):
        lines += [
            f"  %at{number} = call i32 @{code.name}({TAKEN}, ptr %told)",
            f"  %found{number} = icmp ne i32 %at{number}, 0",
            f"  %which{number} = add i32 %at{number}, {first}",
            f"  br i1 %found{number}, label %outside, label %inside{number}",
            f"inside{number}:",
        ]
        ends.append(f"[ %which{number}, %{f'inside{number - 1}' if number else 'entry'} ]")
        first += len(code.accesses)
    lines += ["  ret i32 0", "outside:", f"  %which = phi i32 {', '.join(ends)}"]
    lines += ["  %flag = load i64, ptr %sizes", "  %tells = icmp ne i64 %flag, 0"]
    lines += ["  br i1 %tells, label %tell, label %leave", "tell:"]
    lines += [f"  %to = getelementptr i64, ptr %sizes, i64 {sized + 1}"]
    for number in range(REPORTED_NUMBERS):
        lines.append(f"  %from{number} = getelementptr i64, ptr %told, i64 {number}")
        lines.append(f"  %number{number} = load i64, ptr %from{number}")
        lines.append(f"  %to{number} = getelementptr i64, ptr %to, i64 {number}")
        lines.append(f"  store i64 %number{number}, ptr %to{number}")
    lines += ["  br label %leave", "leave:", "  ret i32 %which", "}"]
    return "\n".join(lines)


class _Place:
    """Writes the functions of one site."""

    def __init__(
        self, function: Function, cfg: Cfg, counts: Counts, site: Site, frame: Frame, fixed: Mapping[str, int]
    ) -> None:
        self.function, self.cfg, self.counts, self.site = function, cfg, counts, site
        self.frame, self.fixed = frame, fixed
        self.uniform = Values(function, cfg, counts, Lines("u", frame), items=False)
        self.out = self.uniform.out

    def write(self, number: int) -> _Code | None:
        """The code; None if nothing is known of the accesses."""
        item = Values(self.function, self.cfg, self.counts, Lines("t", self.frame), items=True, loops=self.site.loops)
        reach = item.reach(self.site.block)
        if reach == "false":
            return None
        found: list[tuple[Access, str]] = []
        for access in self.site.accesses:
            offset = item.offset(access.pointer)
            if offset is not None and offset[0] == access.root:
                found.append((access, offset[1]))
        if not found or len(item.out.lines) > MOST_INSTRUCTIONS:
            return None
        name = f"outside.{number}"
        counted = [f"%last{i}" for i, loop in enumerate(self.site.loops) if item.trips.get(loop.header) is not None]
        tried = tries(self.site, item, self.uniform)
        accesses = tuple(access for access, _ in found)
        texts = self._item(name, item, reach, found), self._driver(name, tried, counted)
        return _Code(name, texts, accesses, frozenset(item.parameters | self.uniform.parameters))

    def _item(self, name: str, item: Values, reach: str, found: Sequence[tuple[Access, str]]) -> str:
        """The function for one work-item: the number of an access that it makes outside, from 1, or 0."""
        out = item.out
        which, where = "0", "0"
        for number, (access, offset) in reversed(list(enumerate(found, 1))):
            size = out.room(access.position, self.fixed.get(access.root, 0))
            room = out.let(f"sub i64 {size}, {access.bytes}")
            none = out.let(f"icmp slt i64 {room}, 0")
            beyond = out.let(f"icmp ugt i64 {offset}, {room}")
            outside = out.either(none, beyond)
            which = out.let(f"select i1 {outside}, i32 {number}, i32 {which}")
            where = out.pick(outside, offset, where)
        comes = out.both(reach, *item.valid)
        which = out.let(f"select i1 {comes}, i32 {which}, i32 0")
        ids = [("i64", f"%gid{dim}") for dim in range(3)]
        flags = [("i1", f"%last{i}") for i in range(len(self.site.loops))]
        parts = ", ".join(f"{ty} {text}" for ty, text in [*ids, *flags])
        head = f"define internal i32 @{name}.item({TAKEN}, ptr %told, {parts}) #1 {{"
        return "\n".join([head, *out.lines, f"  store i64 {where}, ptr %told", f"  ret i32 {which}", "}"])

    def _driver(self, name: str, tried: Sequence[Sequence[str]], counted: Sequence[str]) -> str:
        """The function that tries the work-items ``tried``, of each dimension, and the trips of ``counted`` loops."""
        lines = [f"define internal i32 @{name}({TAKEN}, ptr %told) #1 {{", "entry:"]
        loops = [dim for dim, items in enumerate(tried) if len(items) > 1]
        lines += [f"  %table{dim} = alloca [{len(tried[dim])} x i64]" for dim in loops]
        lines += self.out.lines
        for dim in loops:
            for at, text in enumerate(tried[dim]):
                lines.append(f"  %place{dim}.{at} = getelementptr i64, ptr %table{dim}, i64 {at}")
                lines.append(f"  store i64 {text}, ptr %place{dim}.{at}")
        ids = [f"%gid{dim}" if dim in loops else tried[dim][0] for dim in range(3)]
        # A loop for each dimension, and one for the trips of the loops around the place, bit by bit.
        counters = [(f"n{dim}", len(tried[dim])) for dim in loops]
        counters += [("trip", 1 << len(counted))] if counted else []
        outer = "entry"
        for counter, _ in counters:
            lines += [f"  br label %{counter}", f"{counter}:"]
            lines.append(f"  %{counter}.at = phi i64 [ 0, %{outer} ], [ %{counter}.next, %{counter}.end ]")
            if counter != "trip":
                along = counter[1:]
                lines.append(f"  %from{along} = getelementptr i64, ptr %table{along}, i64 %{counter}.at")
                lines.append(f"  %gid{along} = load i64, ptr %from{along}")
            outer = counter
        for number, flag in enumerate(counted):
            lines += [f"  {flag}.b = lshr i64 %trip.at, {number}", f"  {flag} = trunc i64 {flag}.b to i1"]
        flags = [f"%last{i}" for i in range(len(self.site.loops))]
        passed = [*(f"i64 {text}" for text in ids), *(f"i1 {f if f in counted else 'false'}" for f in flags)]
        lines.append(f"  %found = call i32 @{name}.item({TAKEN}, ptr %told, {', '.join(passed)})")
        lines.append("  %outside = icmp ne i32 %found, 0")
        ends = [f"{counter}.end" for counter, _ in reversed(counters)] + ["leave"]
        lines.append(f"  br i1 %outside, label %tell, label %{ends[0]}")
        for (counter, count), following in zip(reversed(counters), ends[1:], strict=True):
            lines += [
                f"{counter}.end:",
                f"  %{counter}.next = add i64 %{counter}.at, 1",
                f"  %{counter}.more = icmp ult i64 %{counter}.next, {count}",
                f"  br i1 %{counter}.more, label %{counter}, label %{following}",
            ]
        lines.append("tell:")
        for dim, text in enumerate(ids):
            lines.append(f"  %told{dim} = getelementptr i64, ptr %told, i64 {dim + 1}")
            lines.append(f"  store i64 {text}, ptr %told{dim}")
        return "\n".join([*lines, "  ret i32 %found", "leave:", "  ret i32 0", "}"])

"""Input: a kernel's parameters and its chunk functions. Output: the entry that a worker thread calls to run
work-groups.

The launch block's fields are those of `headwater.native.launch_block`.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.ir import Param
from headwater.native import launch_block
from headwater.vectorise.layout import LINE_BYTES, LOCAL_ALIGN_BYTES, STATE_BYTES, Layout
from headwater.vectorise.plan.chunk_interface import ID_PARAMS, PARTED
from headwater.vectorise.prepare.privatized_counters import Counter, begin, end

_FIELDS = ("next", "total", "batch", "stop", "flags", "printf", "local_bytes", "tail")
_SHARED_FIELDS = ("next", "stop")
"""Fields that change while a thread runs: only their places are kept."""
LAUNCH_VECTORS = {
    name: launch_block.BLOCK.offset[field]
    for name, field in (("gsz", "global_size"), ("els", "local_size"), ("ngr", "groups"), ("off", "offset"))
}
"""Where the block has global size, local size, number of groups and global offset, three numbers each."""


PLACE = "chunk.place"
"""The function that gives the address of lane 0's store."""

_ENTRY_PARAMS = "(ptr %launch, ptr noalias %args, ptr noalias %scratch) #1 {"
_SHARED = ("i32 %dim", "ptr %stop.p", "i1 %stream", "i1 %ahead", "ptr %printf.callback", "ptr %launch", "ptr %scratch")
"""What all chunk functions of a launch are called with besides arguments and ids."""

MIN_CHUNKS = 8
"""Chunks of a line from which on aligning them is worth the partial chunk before them."""


@dataclass(frozen=True, slots=True)
class ArgPlace:
    """Where an argument lies in the args block, and how the entry hands it on."""

    param: Param
    offset: int
    kind: str


def argument_places(params: list[Param]) -> tuple[list[ArgPlace], int]:
    """Places of the kernel's arguments, each at its natural alignment but at least 8 bytes; and the block's size."""
    places, offset = [], 0
    for param in params:
        size, align = (8, 8)
        if param.by_value is not None:
            size, align = param.by_value.size_bytes, max(8, param.by_value.align_bytes)
        elif param.ty.kind != "ptr":
            size, align = param.ty.size_bytes, max(8, param.ty.align_bytes)
        offset = -(-offset // align) * align
        kind = "byval" if param.by_value is not None else "local" if param.ty.space == 3 else "plain"
        places.append(ArgPlace(param, offset, kind))
        offset += size
    return places, -(-max(offset, 8) // 16) * 16


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry has to call, and how.

    ``symbol``: its own name. ``params``: the kernel's parameters but those for local memory of its own, of
    ``locals_bytes``. ``full``, ``masked``: the functions for whole chunks, and for those partly outside of their
    work-group, if some are. ``masked_layout`` is that of masked chunks, which may have fewer rows that follow each
    other along the lanes. ``frame_bytes``: of a chunk, None if no chunk stops at barriers. ``gives_up``: full chunks
    may. ``single``: the function for one work-item, which runs those of a masked chunk that gives up, if masked ones
    may. ``lane_bytes``: what a lane stores where `PLACE` tells, to which lines of chunks are aligned (0: they are not).
    ``agreeing``: the launch stops if the chunks of a work-group, one work-item each, stopped at different barriers.
    ``counters``: arguments that each thread counts into for itself.
    """

    symbol: str
    params: list[Param]
    locals_bytes: list[int]
    full: str
    layout: Layout
    masked: str | None
    masked_layout: Layout
    frame_bytes: int | None = None
    gives_up: bool = False
    single: str | None = None
    lane_bytes: int = 0
    agreeing: bool = False
    counters: tuple[Counter, ...] = ()


def write_entry(entry: Entry) -> str:
    """The entry's text."""
    places, args_bytes = argument_places(entry.params)
    lines = [f"define void @{entry.symbol}{_ENTRY_PARAMS}", "entry:"]
    _load_launch(lines)
    lines += ["  %frames.at = getelementptr i8, ptr %scratch, i64 %local_bytes"]
    if entry.frame_bytes is not None:
        lines += ["  %alive = alloca i32"]
    arguments = _load_arguments(places, entry.locals_bytes, lines)
    if entry.counters:
        lines += begin(entry.counters, args_bytes)
    lines += _GROUP_LOOP.splitlines()
    lines += _Caller(entry, arguments, _chunk_ids(entry.layout)).lines()
    lines += ["group.end:", "  %g.next = add i64 %g, 1", "  %g.more = icmp slt i64 %g.next, %last"]
    lines += ["  br i1 %g.more, label %group, label %grab", "leave:"]
    if entry.counters:
        lines += end(entry.counters)
    lines += ["  ret void", "}"]
    return "\n".join(lines)


def write_fits_entry(symbol: str, function: str, params: list[Param], locals_bytes: list[int]) -> str:
    """What tells of a launch, called like its entry, whether ``function`` is content with its numbers: 1, else 0."""
    lines = [f"define i32 @{symbol}{_ENTRY_PARAMS}", "entry:"]
    _load_launch(lines)
    arguments = _load_arguments(argument_places(params)[0], locals_bytes, lines)
    known = ("gsz", "ngr", "off", "els")
    ids = [f"i64 %{name}" if name[:-1] in known else "i64 0" for name in ID_PARAMS]
    texts = ", ".join([*arguments, *ids, *_SHARED, "ptr %scratch", "i32 0"])
    lines += [f"  %fits = call i1 @{function}({texts})", "  %answer = zext i1 %fits to i32", "  ret i32 %answer", "}"]
    return "\n".join(lines)


def _load_launch(lines: list[str]) -> None:
    """What the launch block says."""
    add = lines.append
    for name in _FIELDS:
        add(f"  {launch_block.field(name, '%launch', f'%{name}.p')}")
        if name not in _SHARED_FIELDS:
            add(f"  %{name} = load i64, ptr %{name}.p")
    for name, offset in LAUNCH_VECTORS.items():
        for dim in range(3):
            add(f"  %{name}{dim}.p = getelementptr i8, ptr %launch, i64 {offset + 8 * dim}")
            add(f"  %{name}{dim} = load i64, ptr %{name}{dim}.p")
    add(f"  {launch_block.field('work_dim', '%launch', '%dim.p')}")
    add("  %dim.wide = load i64, ptr %dim.p")
    add("  %dim = trunc i64 %dim.wide to i32")
    add(f"  %stream.bit = and i64 %flags, {launch_block.FLAG_STREAMING}")
    add("  %stream = icmp ne i64 %stream.bit, 0")
    add(f"  %ahead.bit = and i64 %flags, {launch_block.FLAG_AHEAD}")
    add("  %ahead = icmp ne i64 %ahead.bit, 0")
    add("  %printf.callback = inttoptr i64 %printf to ptr")


def _load_arguments(places: list[ArgPlace], locals_bytes: list[int], lines: list[str]) -> list[str]:
    """The arguments, with their types; pointers to local memory are into ``%scratch``."""
    arguments = []
    for number, place in enumerate(places):
        ty = place.param.ty
        at = f"%arg{number}.p"
        lines.append(f"  {at} = getelementptr i8, ptr %args, i64 {place.offset}")
        if place.kind == "byval":
            arguments.append(f"{ty} {at}")
            continue
        elif place.kind == "local":
            lines.append(f"  %arg{number}.offset = load i64, ptr {at}")
            lines.append(f"  %arg{number}.local = getelementptr i8, ptr %scratch, i64 %arg{number}.offset")
            lines.append(f"  %arg{number} = addrspacecast ptr %arg{number}.local to {ty}")
        elif ty.text == "i1":
            lines.append(f"  %arg{number}.byte = load i8, ptr {at}")
            lines.append(f"  %arg{number} = trunc i8 %arg{number}.byte to i1")
        else:
            lines.append(f"  %arg{number} = load {ty}, ptr {at}, !invariant.load !9001")
        arguments.append(f"{ty} %arg{number}")
    offset = 0
    for number, size in enumerate(locals_bytes):
        lines.append(f"  %local{number}.p = getelementptr i8, ptr %scratch, i64 {offset}")
        lines.append(f"  %local{number} = addrspacecast ptr %local{number}.p to ptr addrspace(3)")
        arguments.append(f"ptr addrspace(3) %local{number}")
        offset += -(-size // LOCAL_ALIGN_BYTES) * LOCAL_ALIGN_BYTES
    return arguments


_GROUP_LOOP = """\
  br label %grab
grab:
  %taken = load atomic i64, ptr %next.p monotonic, align 8
  %remain = sub i64 %total, %taken
  %share = lshr i64 %remain, %tail
  %share.some = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %take = call i64 @llvm.umin.i64(i64 %share.some, i64 %batch)
  %first = atomicrmw add ptr %next.p, i64 %take monotonic
  %any = icmp slt i64 %first, %total
  br i1 %any, label %setup, label %leave
setup:
  %end = add i64 %first, %take
  %over = icmp sgt i64 %end, %total
  %last = select i1 %over, i64 %total, i64 %end
  br label %group
group:
  %g = phi i64 [ %first, %setup ], [ %g.next, %group.end ]
  %stopped = load volatile i64, ptr %stop.p
  %halt = icmp ne i64 %stopped, 0
  br i1 %halt, label %leave, label %group.run
group.run:
  %grp0 = urem i64 %g, %ngr0
  %g.rest = udiv i64 %g, %ngr0
  %grp1 = urem i64 %g.rest, %ngr1
  %grp2 = udiv i64 %g.rest, %ngr1
  %origin0 = mul i64 %grp0, %els0
  %origin1 = mul i64 %grp1, %els1
  %origin2 = mul i64 %grp2, %els2
  %base0 = add i64 %origin0, %off0
  %base1 = add i64 %origin1, %off1
  %base2 = add i64 %origin2, %off2
  %left0 = sub i64 %gsz0, %origin0
  %left1 = sub i64 %gsz1, %origin1
  %left2 = sub i64 %gsz2, %origin2
  %lsz0 = call i64 @llvm.umin.i64(i64 %left0, i64 %els0)
  %lsz1 = call i64 @llvm.umin.i64(i64 %left1, i64 %els1)
  %lsz2 = call i64 @llvm.umin.i64(i64 %left2, i64 %els2)
  br label %round"""


def _chunk_ids(layout: Layout) -> dict[int, str]:
    """Dimension -> the loop variable that steps along it."""
    row = layout.row_dim if layout.row_dim != layout.lane_dim else min(d for d in (0, 1, 2) if d != layout.lane_dim)
    outer = next(d for d in (2, 1, 0) if d not in (layout.lane_dim, row))
    return {layout.lane_dim: "lane", row: "row", outer: "outer"}


@dataclass(slots=True)
class _Caller:
    """Writes the loops over a work-group's chunks and the calls of the chunk functions."""

    entry: Entry
    arguments: list[str]
    ids: dict[int, str]

    def lines(self) -> list[str]:
        by_name = {v: d for d, v in self.ids.items()}
        lane, row, outer = (by_name[n] for n in ("lane", "row", "outer"))
        resumable = self.entry.frame_bytes is not None
        repeat = "agree" if self.entry.agreeing else "outer.end"
        out = ["round:"]
        if resumable:
            out += [
                f"  %fresh = phi i1 [ true, %group.run ], [ false, %{repeat} ]",
                "  store i32 0, ptr %alive",
            ]
        out += ["  br label %outer.head", "outer.head:"]
        out += ["  %outer = phi i64 [ 0, %round ], [ %outer.next, %row.end ]"]
        if resumable:
            out += ["  %chunk.o = phi i64 [ 0, %round ], [ %chunk.r, %row.end ]"]
        out += [
            f"  %outer.more = icmp ult i64 %outer, %lsz{outer}",
            "  br i1 %outer.more, label %row.start, label %outer.end",
            "row.start:",
            "  br label %row.head",
            "row.head:",
            "  %row = phi i64 [ 0, %row.start ], [ %row.next, %lane.end ]",
        ]
        if resumable:
            out += ["  %chunk.r = phi i64 [ %chunk.o, %row.start ], [ %chunk.f, %lane.end ]"]
        out += [
            f"  %row.more = icmp ult i64 %row, %lsz{row}",
            "  br i1 %row.more, label %lane.start, label %row.end",
            "lane.start:",
            f"  %row.next = add i64 %row, {self.entry.layout.steps[row]}",
            f"  %rows.fit = icmp ule i64 %row.next, %lsz{row}",
            f"  %limit = select i1 %rows.fit, i64 %lsz{lane}, i64 0",
            *self._unaligned_start(lane),
            "  br label %lane.head",
            "lane.head:",
            "  %lane.at = phi i64 [ 0, %lane.start ]"
            + (", [ %lane.m.next, %masked.done ]" if self.entry.masked else ""),
        ]
        if resumable:
            after_masked = ", [ %chunk.m.next, %masked.done ]" if self.entry.masked else ""
            out += ["  %chunk.at = phi i64 [ %chunk.r, %lane.start ]" + after_masked]
        out += [
            *self._skip_to_masked(),
            "full.head:",
            "  %lane.f = phi i64 [ %lane.at, %lane.head ], [ %lane.f.next, %full.done ]",
        ]
        if resumable:
            out += ["  %chunk.f = phi i64 [ %chunk.at, %lane.head ], [ %chunk.f.next, %full.done ]"]
        out += [
            f"  %lane.f.next = add i64 %lane.f, {self.entry.layout.steps[lane]}",
            "  %full.more = icmp ule i64 %lane.f.next, %limit",
            "  br i1 %full.more, label %full.call, label %masked.head",
            "full.call:",
            *self._call("f", self.entry.full, masked=False),
            *self._leave_if_parted(),
            "full.done:",
        ]
        if resumable:
            out += ["  %chunk.f.next = add i64 %chunk.f, 1"]
        out += ["  br label %full.head", "masked.head:"]
        if self.entry.masked is None:
            out += ["  br label %lane.end"]
        else:
            # Full chunks are an inner loop of their own, so that calling the masked one costs it no registers.
            out += [
                f"  %lane.m = phi i64 [ %lane.f, %full.head ]{self._other_ways_to_masked()}",
                *self._end_of_masked(lane),
                f"  %lane.m.step = add i64 %lane.m, {self.entry.masked_layout.steps[lane]}",
                "  %lane.m.next = call i64 @llvm.umin.i64(i64 %lane.m.step, i64 %lane.m.end)",
                f"  %masked.more = icmp ult i64 %lane.m, %lsz{lane}",
                "  br i1 %masked.more, label %masked.call, label %lane.end",
                "masked.call:",
                *self._call("m", self.entry.masked, masked=True),
                *self._one_by_one(row),
                "masked.done:",
            ]
            if resumable:
                out += ["  %chunk.m.next = add i64 %chunk.f, 1"]
            out += ["  br label %lane.head"]
        out += ["lane.end:", "  br label %row.head", "row.end:", "  %outer.next = add i64 %outer, 1"]
        out += ["  br label %outer.head", "outer.end:"]
        if not resumable:
            return [*out, "  br label %group.end"]
        out += ["  %living = load i32, ptr %alive", "  %again = icmp ne i32 %living, 0"]
        if not self.entry.agreeing:
            return [*out, "  br i1 %again, label %round, label %group.end"]
        sizes = ", ".join(f"i64 %{name}{dim}" for name in ("lsz", "base") for dim in range(3))
        return [
            *out,
            "  br i1 %again, label %agree, label %group.end",
            "agree:",
            f"  %agreed = call i1 @hw_check_barriers(ptr %launch, ptr %frames.at, i64 {self._stride}, {sizes})",
            "  br i1 %agreed, label %round, label %leave",
        ]

    @property
    def _stride(self) -> int:
        """Bytes from one chunk's state to the next's."""
        return STATE_BYTES + (self.entry.frame_bytes or 0)

    def _unaligned_start(self, lane: int) -> list[str]:
        """``%peel``: work-items before the line's first one that stores at the start of a cache line."""
        if not self.entry.lane_bytes:
            return []
        out: list[str] = []
        texts = self._call_operands("p", out, "0")
        return [
            *out,
            f"  %place = call i64 @{PLACE}({texts})",
            "  %place.left = sub i64 0, %place",
            f"  %place.bytes = and i64 %place.left, {LINE_BYTES - 1}",
            f"  %place.items = lshr i64 %place.bytes, {self.entry.lane_bytes.bit_length() - 1}",
            f"  %line.long = icmp uge i64 %limit, {MIN_CHUNKS * self.entry.layout.steps[lane]}",
            "  %line.peels = and i1 %line.long, %stream",
            "  %peel = select i1 %line.peels, i64 %place.items, i64 0",
        ]

    def _skip_to_masked(self) -> list[str]:
        if not self.entry.lane_bytes:
            return ["  br label %full.head"]
        return [
            "  %unaligned = icmp ult i64 %lane.at, %peel",
            "  br i1 %unaligned, label %masked.head, label %full.head",
        ]

    def _other_ways_to_masked(self) -> str:
        return (", [ %lane.f, %full.call ]" if self.entry.gives_up else "") + (
            ", [ %lane.at, %lane.head ]" if self.entry.lane_bytes else ""
        )

    def _end_of_masked(self, lane: int) -> list[str]:
        """``%lane.m.end``: where the masked chunk must stop, however many lanes it has."""
        if not self.entry.lane_bytes:
            return [f"  %lane.m.end = add i64 %lsz{lane}, 0"]
        return [
            "  %peels = icmp ult i64 %lane.m, %peel",
            f"  %lane.m.end = select i1 %peels, i64 %peel, i64 %lsz{lane}",
        ]

    def _leave_if_parted(self) -> list[str]:
        """Where lanes part at the kernel's guard, or a stride does not hold, the masked code runs the chunk."""
        if not self.entry.gives_up:
            return ["  br label %full.done"]
        return [
            f"  %parted = icmp eq i32 %result.f, {PARTED}",
            "  br i1 %parted, label %masked.head, label %full.done",
        ]

    def _one_by_one(self, row: int) -> list[str]:
        """Where not even the masked code can run a chunk, its work-items run by themselves."""
        if self.entry.single is None:
            return ["  br label %masked.done"]
        out = [
            f"  %wraps = icmp eq i32 %result.m, {PARTED}",
            "  br i1 %wraps, label %single.rows, label %masked.done",
            "single.rows:",
            f"  %row.s.end = call i64 @llvm.umin.i64(i64 %row.next, i64 %lsz{row})",
            "  br label %single.row",
            "single.row:",
            "  %row.s = phi i64 [ %row, %single.rows ], [ %row.s.next, %single.row.end ]",
            "  %row.s.more = icmp ult i64 %row.s, %row.s.end",
            "  br i1 %row.s.more, label %single.lanes, label %masked.done",
            "single.lanes:",
            "  br label %single.lane",
            "single.lane:",
            "  %lane.s = phi i64 [ %lane.m, %single.lanes ], [ %lane.s.next, %single.call ]",
            "  %lane.s.more = icmp ult i64 %lane.s, %lane.m.next",
            "  br i1 %lane.s.more, label %single.call, label %single.row.end",
            "single.call:",
        ]
        texts = self._call_operands("s", out, "%lane.s", row="%row.s")
        return [
            *out,
            f"  call i32 @{self.entry.single}({texts})",
            "  %lane.s.next = add i64 %lane.s, 1",
            "  br label %single.lane",
            "single.row.end:",
            "  %row.s.next = add i64 %row.s, 1",
            "  br label %single.row",
        ]

    def _call(self, tag: str, function: str, *, masked: bool) -> list[str]:
        out: list[str] = []
        frame, state = "%scratch", "0"
        if self.entry.frame_bytes is not None:
            out += [
                f"  %frame.{tag}.offset = mul i64 %chunk.f, {self._stride}",
                f"  %state.{tag}.p = getelementptr i8, ptr %frames.at, i64 %frame.{tag}.offset",
                f"  %frame.{tag} = getelementptr i8, ptr %state.{tag}.p, i64 {STATE_BYTES}",
                f"  %state.{tag}.old = load i32, ptr %state.{tag}.p",
                f"  %state.{tag} = select i1 %fresh, i32 0, i32 %state.{tag}.old",
                f"  %runs.{tag} = icmp ne i32 %state.{tag}, -1",
                f"  br i1 %runs.{tag}, label %resume.{tag}, label %{'full' if tag == 'f' else 'masked'}.done",
                f"resume.{tag}:",
            ]
            frame, state = f"%frame.{tag}", f"%state.{tag}"
        masks = self._masks(out) if masked else []
        texts = ", ".join([self._call_operands(tag, out, f"%lane.{tag}", frame, state), *masks])
        out.append(f"  %result.{tag} = call i32 @{function}({texts})")
        if self.entry.frame_bytes is not None:
            out += [
                f"  store i32 %result.{tag}, ptr %state.{tag}.p",
                f"  %stops.{tag} = icmp ne i32 %result.{tag}, -1",
                f"  %stops.{tag}.bit = zext i1 %stops.{tag} to i32",
                f"  %alive.{tag} = load i32, ptr %alive",
                f"  %alive.{tag}.new = or i32 %alive.{tag}, %stops.{tag}.bit",
                f"  store i32 %alive.{tag}.new, ptr %alive",
            ]
        return out

    def _call_operands(
        self, tag: str, out: list[str], lane: str, frame: str = "%scratch", state: str = "0", row: str = "%row"
    ) -> str:
        """What chunk functions are called with, masks apart, for the chunk that begins at ``lane`` and ``row``."""
        position = {"lane": lane, "row": row, "outer": "%outer"}
        ids = []
        for name in ID_PARAMS:
            kind, dim = name[:-1], int(name[-1])
            at = position[self.ids[dim]]
            if kind == "gid":
                out.append(f"  %gid{dim}.{tag} = add i64 %base{dim}, {at}")
                ids.append(f"i64 %gid{dim}.{tag}")
            elif kind == "lid":
                ids.append(f"i64 {at}")
            else:
                ids.append(f"i64 %{name}")
        return ", ".join([*self.arguments, *ids, *_SHARED, f"ptr {frame}", f"i32 {state}"])

    def _masks(self, out: list[str]) -> list[str]:
        """Per row: the lanes and rows that are inside the work-group."""
        by_name = {v: d for d, v in self.ids.items()}
        lanes = self.entry.layout.lanes
        wide = f"<{lanes} x i64>"
        steps = ", ".join(f"i64 {i}" for i in range(lanes))
        out += [
            "  %room = sub i64 %lane.m.end, %lane.m",
            f"  %room.one = insertelement {wide} poison, i64 %room, i64 0",
            f"  %room.all = shufflevector {wide} %room.one, {wide} poison, <{lanes} x i32> zeroinitializer",
        ]
        masks = []
        if self.entry.layout.row_dim == self.entry.layout.lane_dim:
            for row in range(self.entry.masked_layout.rows):
                steps = ", ".join(f"i64 {row * lanes + i}" for i in range(lanes))
                out.append(f"  %inside.{row} = icmp ult {wide} <{steps}>, %room.all")
                masks.append(f"<{lanes} x i1> %inside.{row}")
            return masks
        out.append(f"  %inside = icmp ult {wide} <{steps}>, %room.all")
        for row in range(self.entry.layout.rows):
            out += [
                f"  %row.{row} = add i64 %row, {row}",
                f"  %row.{row}.in = icmp ult i64 %row.{row}, %lsz{by_name['row']}",
                f"  %inside.{row} = select i1 %row.{row}.in, <{lanes} x i1> %inside, <{lanes} x i1> zeroinitializer",
            ]
            if lanes == 1:
                out.append(f"  %inside.{row}.bit = extractelement <1 x i1> %inside.{row}, i64 0")
                masks.append(f"i1 %inside.{row}.bit")
            else:
                masks.append(f"<{lanes} x i1> %inside.{row}")
        return masks

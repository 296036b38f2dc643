"""Input: the translation of a kernel. Output: code that reports every block and memory access to a C library as it
happens.

`Staged` is an `headwater.emulate.watch.hooks.Observer` without an opinion: it numbers blocks and accesses
(`Segment`, `Site`), and writes code that puts the lanes' addresses of an access into the wavefront's recorder and calls
``hw_access`` when all 64 are there. What the library makes of them is the affair of trace.c and check.c, which both
begin with `c_header`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from headwater.base import native_library
from headwater.emulate.watch import repeats
from headwater.emulate.watch.repeats import SiteAccess, call_keeping
from headwater.emulate.wave import layout
from headwater.emulate.wave.helpers import FLAT, GDS, LDS, PRIVATE
from headwater.emulate.wave.layout import LANES, WAVE
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Mask
from headwater.emulate.wave.support import keeps_registers
from headwater.errors import ResourceError
from headwater.native.compile_c import compile_c
from headwater.native.structure import Struct

if TYPE_CHECKING:
    from headwater.emulate.watch.hooks import AccessOrigin, LaneAccess
    from headwater.emulate.wave.builder import WaveBuilder
    from headwater.emulate.wave.memory import Address

GLOBAL_KIND, LDS_KIND, PRIVATE_KIND, GDS_KIND, FLAT_KIND, SCALAR_KIND = range(6)
KINDS: Final = ("global", "lds", "private", "gds", "flat", "scalar")
"""What memory a site accesses, by number."""
CONTEXT_HOOK, RECORDER_HOOK = 0, 1
"""Places among the wavefront's hooks: what all wavefronts share, and this one's recorder."""
VALUE_DWORDS = 4
"""Dwords of a stored value that are kept."""
MOST_SITES, MOST_SEGMENTS = 1 << 13, 1 << 16

SITE: Final = Struct(
    "site",
    # Where the translated code puts the access of a wavefront.
    ("u32", "low", LANES),
    ("u32", "high", LANES),
    ("u32", "values", 4 * LANES),
    # What the library keeps.
    ("u32", "pattern", LANES),
    ("u64", "next", 1),  # where the first lane is expected to access memory when the site is run again,
    ("u64", "step", 1),  # and how much further the time after that
    ("u32", "hits", 1),  # how often it did so in the wavefronts that have done as expected, and in this one
    ("u32", "usual", 1),  # how often in each of those
    ("u64", "turn", 1),  # what is added to `next` behind each,
    ("u32", "turning", 1),  # if it is more than 0; and the number of another such site, plus 1
    ("u64", "pattern_mask", 1),
    ("u64", "other_mask", 1),  # another pattern that the site's accesses have had: its mask,
    ("u32", "other_known", 4),  # what was known of it,
    ("u32", "other", LANES),  # and itself
    ("u64", "allocation", 3),
    ("u64", "still_base", 1),  # memory that the launch does not write: an address' base,
    ("u32", "still", 1),  # whether there is any,
    ("u32", "still_low", 1),  # the least low half,
    ("u32", "still_span", 1),  # how far it goes on,
    ("u32", "still_high", 1),  # and the high half
    ("u32", "known", 12),
    ("u32", "differs", 1),  # from the pattern, so far
    ("u32", "lines", 2 * LANES),
    ("u64", "sums", 4),
    ("u64", "memory", 1),  # where the allocation lies
    ("u64", "before", 1),  # the first lane's address, last time
)


RECORDER: Final = Struct(
    "recorder_head",
    ("u64", "at", 1),  # behind the path's last record, that of the segment that runs: the segment, its lanes << 16, how
    ("u64", "full", 1),  # often in a row << 32. Where there is room for no more
    ("u64", "strayed", 1),  # not 0 if the wavefront has done otherwise than was expected
)
"""What recorders begin with."""
PATH_ROOM: Final = 2048
"""Records of a path that a recorder has room for."""


@dataclass(frozen=True, slots=True)
class Site:
    """One access of an instruction: instructions that access two places have two.

    ``address``: of the instruction, in the code object or shader; ``kind``: of `KINDS`; ``nbytes``: of each lane.
    """

    address: int
    kind: str
    nbytes: int
    writes: bool
    atomic: bool
    same_as: int = -1
    """The number of a site that is reported instead of this one; -1 if there is none."""
    delta: int = 0
    """How many bytes further than that one's this one's addresses are."""
    unit: str = ""
    """VLIW: what makes the access; see docs/trace.md, as for ``resource``."""
    resource: str = ""
    operation: str = ""
    """Of an atomic function: see `AccessOrigin`, as for ``volatile``."""
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """Instructions that run one after the other under the same EXEC: a basic block, or a part of one.

    ``addresses``: of its instructions; ``sites``: the numbers of the accesses that they make, in order; ``first``: it
    begins a basic block.
    """

    block: int
    addresses: tuple[int, ...]
    sites: tuple[int, ...]
    first: bool


@dataclass(slots=True)
class _Open:
    block: int
    first: bool
    addresses: list[int] = field(default_factory=list)
    sites: list[int] = field(default_factory=list)


class Staged:
    """Observer that calls a C library: ``hw_begin``, ``hw_segment``, ``hw_access``, ``hw_barrier``."""

    name = "staged"
    library: tuple[str, ...] = ()
    """The library's files beside this one."""
    takes_segments = True
    takes_values = False
    takes_tiles = True
    takes_pointers = False
    expects = False
    """Whether the library says of sites where they are accessed next, and is called only where that is wrong."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.segments: list[_Open] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._turns: dict[tuple[int, int], int] = {}
        self.segment_of: dict[int, int] = {}
        self._begun: list[tuple[int, str]] = []
        """Segments that are still to be reported, and how many lanes each has."""
        self._barriers = 0
        self._values: dict[int, dict[int, Sequence[str]]] = {}
        """What an access that is being reported stores, by site and part."""
        self._compared: dict[int, repeats.Compared] = {}

    # ---- what headwater.emulate.watch.hooks.Observer wants

    def begin(self, b: WaveBuilder) -> None:
        b.declare("declare hidden void @hw_begin(ptr) nounwind")
        b.line("call void @hw_begin(ptr %w)")

    def open_segment(self, block: int, addresses: Sequence[int], active: str, *, first: bool = True) -> None:
        if not first:
            moved = self.segments[-1].addresses
            del moved[len(moved) - len(addresses) :]
        number = len(self.segments)
        if number >= MOST_SEGMENTS:
            raise ResourceError(f"the kernel has more than {MOST_SEGMENTS} basic blocks, too many to watch")
        self.segments.append(_Open(block, first, list(addresses)))
        self.segment_of.update(dict.fromkeys(addresses, number))
        self._begun.append((number, active))

    def on_segments(self, b: WaveBuilder, *, repeats: bool = True, loops: bool = True) -> None:
        """Write the segments that have begun to the path. Not by a call, which would cost all vector registers."""
        begun, self._begun = self._begun, []
        if not self.takes_segments:
            return
        recorder = self._recorder(b)

        def field(name: str) -> str:
            return b.emit(f"getelementptr i8, ptr {recorder}, i64 {RECORDER.offset[name]}")

        def stray() -> None:
            b.line(f"store i64 1, ptr {field('strayed')}, align 8")

        here = b.emit(f"load ptr, ptr {field('at')}, align 8")
        done = b.label("reported")
        entries = []
        for number, active in begun:
            lanes = b.emit(f"shl i64 {b.emit(f'zext i32 {active} to i64')}, 16")
            entries.append(b.emit(f"or i64 {lanes}, {1 << 32 | number}"))
        if repeats and len(entries) == 1:
            before = b.emit(f"getelementptr i8, ptr {here}, i64 -8")
            last = b.emit(f"load i64, ptr {before}, align 8")
            same, other = b.label("again"), b.label("segment")
            keys = [b.emit(f"trunc i64 {one} to i32") for one in (last, entries[0])]
            b.branch(b.emit(f"icmp eq i32 {keys[0]}, {keys[1]}"), same, other)
            b.start(same)
            b.line(f"store i64 {b.emit(f'add i64 {last}, {1 << 32}')}, ptr {before}, align 8")
            stray()
            b.jump(done)
            b.start(other)
        # Mostly they are what the wavefront before ran, and there.
        differs = "0"
        places = [b.emit(f"getelementptr i8, ptr {here}, i64 {8 * n}") for n in range(len(entries))]
        for place, entry in zip(places, entries, strict=True):
            known = b.emit(f"load i64, ptr {place}, align 8")
            differs = b.emit(f"or i64 {differs}, {b.emit(f'xor i64 {known}, {entry}')}")
        new, there = b.label("new"), b.label("there")
        b.line(f"br i1 {b.emit(f'icmp eq i64 {differs}, 0')}, label %{there}, label %{new}, !prof !9100")
        b.start(new)
        for place, entry in zip(places, entries, strict=True):
            b.line(f"store i64 {entry}, ptr {place}, align 8")
        stray()
        b.jump(there)
        b.start(there)
        more = b.emit(f"getelementptr i64, ptr {here}, i64 {len(entries)}")
        b.line(f"store ptr {more}, ptr {field('at')}, align 8")
        if loops:
            full = b.label("full")
            end = b.emit(f"load ptr, ptr {field('full')}, align 8")
            room = b.emit(f"icmp ult ptr {more}, {end}")
            b.line(f"br i1 {room}, label %{done}, label %{full}, !prof !9100")
            b.start(full)
            call_keeping(b, "hw_path_full", recorder)
        b.jump(done)
        b.start(done)

    def on_access(self, b: WaveBuilder, origin: AccessOrigin, access: LaneAccess) -> None:
        kind, at, part, lanes = GLOBAL_KIND, access.at, access.part, access.lanes
        for bit, number in ((LDS, LDS_KIND), (PRIVATE, PRIVATE_KIND), (GDS, GDS_KIND), (FLAT, FLAT_KIND)):
            if at.how & bit:
                kind = number
        site = self._site(origin, part, kind, access.nbytes, access.writes)
        if self._is_covered(origin, site, kind, access):
            return
        still = kind == GLOBAL_KIND and not access.writes and not origin.atomic and self._is_still(origin, site)
        at = at.settled(b)
        recorder = self._recorder(b)
        stage = f"i64 {recorder_bytes(0) + site * SITE.size_bytes}"
        here = b.emit(f"getelementptr i8, ptr {recorder}, {stage}")

        def place(field: str, more: int) -> str:
            return b.emit(f"getelementptr i8, ptr {here}, i64 {SITE.offset[field] + more}")

        def put(value: str, field: str, at_part: int, at_dword: int = 0) -> None:
            more = (at_dword * LANES + at_part * PART_LANES) * 4
            b.line(f"store {PART} {value}, ptr {place(field, more)}, align 64")

        def put_values() -> None:
            for one, dwords in self._values.pop(site, {}).items():
                for n, value in enumerate(dwords):
                    put(value, "values", one, n)

        def put_addresses(one: Address, at_part: int) -> None:
            put(one.low or "zeroinitializer", "low", at_part)
            if one.high is not None:
                put(one.high, "high", at_part)

        if self.expects and keeps_registers() and not access.conditional:
            compared = self._compared.setdefault(site, repeats.Compared(b, at))
            compared.compare(b, place, at, part, lanes)
            if part == PARTS - 1:

                def put_all() -> None:
                    for n, one in enumerate(compared.parts):
                        put_addresses(one, n)

                local = kind in (LDS_KIND, GDS_KIND)
                whole = SiteAccess(here, site, kind, at, _whole(b, lanes))
                repeats.report_unexpected(b, place, whole, compared, put_all, local=local)
                del self._compared[site]
            return
        put_addresses(at, part)
        if self.takes_values:
            self._values.setdefault(site, {})[part] = access.values[:VALUE_DWORDS]
        # What is there before a store can be seen only if the parts before it have not been stored.
        alone = self.takes_values and access.writes and bool(access.values) and not access.ahead
        if keeps_registers() and not alone:
            differs = repeats.compare(b, place, at, part, lanes, still=still)
            if part == PARTS - 1:
                known = (place("still", 0), place("still_base", 0)) if still else None
                whole = SiteAccess(here, site, kind, at, _whole(b, lanes))
                repeats.report_access(b, whole, differs, put_values, known)
            return
        put_values()
        if part == PARTS - 1 or alone:
            b.declare("declare hidden void @hw_access(ptr, ptr, i32, i32, i64, i64) nounwind")
            wide = int(at.high is not None)
            mask = _of_part(b, lanes, part) if alone else _whole(b, lanes)
            where = f"i64 {at.base}, i64 {mask}"
            b.line(f"call void @hw_access(ptr %w, ptr {here}, i32 {site}, i32 {wide}, {where})")

    def on_scalar_access(
        self, b: WaveBuilder, origin: AccessOrigin, address: str, nbytes: int, writes: bool, lanes: str
    ) -> None:
        site = self._site(origin, 0, SCALAR_KIND, nbytes, writes)
        here = b.emit(f"getelementptr i8, ptr {self._recorder(b)}, i64 {recorder_bytes(0) + site * SITE.size_bytes}")

        def place(field: str, more: int) -> str:
            return b.emit(f"getelementptr i8, ptr {here}, i64 {SITE.offset[field] + more}")

        if keeps_registers():
            repeats.report_scalar(b, here, site, address, lanes, place if self.expects else None)
            return
        b.declare("declare hidden void @hw_scalar_access(ptr, ptr, i32, i64, i64) nounwind")
        b.line(f"call void @hw_scalar_access(ptr %w, ptr {here}, i32 {site}, i64 {address}, i64 {lanes})")

    def on_barrier(self, b: WaveBuilder, address: int, exec_: str) -> None:
        self._barriers += 1
        b.declare("declare hidden void @hw_barrier(ptr, i64, i64) nounwind")
        b.line(f"call void @hw_barrier(ptr %w, i64 {address}, i64 {exec_})")

    def in_step(self, b: WaveBuilder) -> None:
        pass

    def pointers(self, written: frozenset[int], still: frozenset[int]) -> None:
        pass

    def objects(self) -> list[bytes]:
        """Object code of the library."""
        return [compile_c(self.source())]

    def source(self) -> str:
        """The library's C."""
        texts = [Path(__file__).with_name(name).read_text() for name in ("lanes.h", "repeats.h", *self.library)]
        return c_header() + self.declarations() + "".join(texts)

    def declarations(self) -> str:
        """What the library's files begin with behind `c_header`."""
        return ""

    def facts(self) -> Any:
        """Sites and segments, for `tables`."""
        return {
            "sites": [asdict(site) for site in self.sites],
            "segments": [[s.block, s.addresses, s.sites, s.first] for s in self.segments],
            "barriers": self._barriers,
        }

    def _is_covered(self, origin: AccessOrigin, site: int, kind: int, access: LaneAccess) -> bool:
        """Whether another site's record does for this one."""
        return False

    def _is_still(self, origin: AccessOrigin, site: int) -> bool:
        """Whether an access may be of memory that the launch does not write, which need not be reported."""
        return False

    # ---- numbering

    def _site(self, origin: AccessOrigin, part: int, kind: int, nbytes: int, writes: bool) -> int:
        """The number of this access; an instruction's accesses are reported in the same order for each part."""
        turn = self._turns.get((origin.address, part), 0)
        self._turns[origin.address, part] = turn + 1
        number = self._numbers.get((origin.address, turn))
        if number is None:
            number = self._numbers[origin.address, turn] = len(self.sites)
            if number >= MOST_SITES:
                raise ResourceError(f"the kernel has more than {MOST_SITES} memory accesses, too many to watch")
            known = KINDS[kind], nbytes, writes, origin.atomic
            site = Site(origin.address, *known, unit=origin.unit, resource=origin.resource)
            self.sites.append(replace(site, operation=origin.operation, volatile=origin.volatile))
            self.segments[self.segment_of[origin.member]].sites.append(number)
        return number

    def _recorder(self, b: WaveBuilder) -> str:
        place = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset['hooks'] + 8 * RECORDER_HOOK}")
        return b.emit(f"load ptr, ptr {place}, align 8")


def _whole(b: WaveBuilder, lanes: Mask) -> str:
    """A mask as one number. Unlike `Mask.bits` it does not remember it: this may stand in one of several ways."""
    if lanes.whole is not None:
        return lanes.whole
    total = "0"
    for part in range(PARTS):
        piece = b.emit(f"zext i{PART_LANES} {lanes.part_bits(b, part)} to i64")
        total = b.emit(f"or i64 {total}, {b.emit(f'shl i64 {piece}, {part * PART_LANES}')}")
    return total


def _of_part(b: WaveBuilder, lanes: Mask, part: int) -> str:
    """A mask without the lanes of other parts."""
    piece = b.emit(f"zext i{PART_LANES} {lanes.part_bits(b, part)} to i64")
    return b.emit(f"shl i64 {piece}, {part * PART_LANES}")


@dataclass(frozen=True, slots=True)
class Tables:
    """What the numbers in a watched kernel's records mean."""

    sites: tuple[Site, ...]
    segments: tuple[Segment, ...]
    barriers: int = 0
    """How many barriers the code has. Without any, wavefronts of a group run one after the other."""


def tables(facts: Any) -> Tables:
    """From `Staged.facts`."""
    return Tables(
        tuple(Site(**site) for site in facts["sites"]),
        tuple(Segment(block, tuple(a), tuple(s), first) for block, a, s, first in facts["segments"]),
        facts.get("barriers", 0),
    )


@functools.cache
def function_at_end(library: Path, name: str) -> Callable[[int], None]:
    """A function of a watched kernel's library that takes the context's address, to be called behind each launch."""
    return native_library.function(library, name, None, (ctypes.c_void_p,))


RECORDER_HEAD_BYTES: Final = 256
"""What a recorder begins with: the running segment's key and how often it ran, and what the library keeps."""


def recorder_bytes(sites: int) -> int:
    """A recorder's size: its head, and the sites."""
    return RECORDER_HEAD_BYTES + sites * SITE.size_bytes


def c_header() -> str:
    """Declarations for the libraries."""
    kinds = "".join(f"#define KIND_{name.upper()} {number}\n" for number, name in enumerate(KINDS))
    visible = "".join(
        f'#define {name} __attribute__((visibility("{what}")))\n'
        for name, what in (("HIDDEN", "hidden"), ("EXPORT", "default"))
    )
    head = f"#define RECORDER_HEAD_BYTES {RECORDER_HEAD_BYTES}\n#define PATH_ROOM {PATH_ROOM}\n{RECORDER.declaration()}"
    numbers = "".join(f"#define {name} {number}u\n" for name, number in repeats.NUMBERS.items())
    return f"{layout.c_header()}{kinds}{numbers}{head}{visible}{SITE.declaration()}"


SHARED: Final = (*layout.SHARED, RECORDER, SITE)
"""The structures that C and Python share."""

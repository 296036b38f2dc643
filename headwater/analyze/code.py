"""What a kernel's machine code is made of, for both families alike: plain values, made by `gcn` and `vliw`.

A `Step` is what a wavefront issues at once: an instruction of GCN; an ALU group, a fetch, a write or a control-flow
instruction of VLIW chips. Nothing here depends on a chip's clocks or counts, only on its instruction set, so that one
analysis serves all boards with the same code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Literal

from headwater.chips.families import VLIW
from headwater.chips.model import Family
from headwater.isa.cost import NO_COST, Cost
from headwater.isa.gcn.cost import UNITS

Known = Literal["proved", "given", "launch", "unknown"]
KNOWN: dict[Known, str] = {
    "proved": "proved",
    "given": "as given",
    "launch": "from the launch",
    "unknown": "unknown, counted once",
}
"""How views say how a loop's trips are known."""

VLIW_CLASSES = ("ALU", "fetch", "write", "LDS", "flow", "other")
OPERATION_SEPARATOR = " | "
"""Stands between the operations of an ALU group in the text of its step."""
SPACES = ("memory", "scalar", "local", "global share", "scratch", "constant")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a wavefront issues.

    ``kind``: its class. ``cost``: its instruction's, or that of a group's slowest operation. ``slots``: operations
    issued together. ``space``: the memory that it accesses, of `SPACES`, "" for none; ``read_bytes`` and
    ``write_bytes`` are a work-item's (of space "scalar": the wavefront's); ``accesses``: addresses a work-item gives.
    ``atomic``: whether it reads and writes in one. ``live``: vector registers that hold what is still needed, before
    it. ``line``: file and line of the source; ``clause``: number of the clause on VLIW chips, else -1. ``waits``:
    "memory", "local" or "scalar" if the wavefront waits there for what it asked for before. ``pattern``:
    `headwater.analyze.patterns.Pattern` of an access to memory whose addresses follow from the launch.
    """

    address: int
    text: str
    kind: str
    cost: Cost = NO_COST
    slots: int = 1
    space: str = ""
    read_bytes: int = 0
    write_bytes: int = 0
    accesses: int = 0
    atomic: bool = False
    live: int = 0
    line: tuple[str, int] | None = None
    clause: int = -1
    label: str = ""
    waits: str = ""
    via: tuple[str, int] | None = None
    base: str = ""
    offset: int = 0
    pattern: tuple[float, float, float, float, float] | None = None


_STEP = attrgetter(*(part.name for part in fields(Step)))


@dataclass(frozen=True, slots=True)
class Block:
    """Steps ``first`` to ``last`` (not included) run one after the other; ``successors`` are indices of blocks.
    ``lanes``: the mean share of a wavefront's work-items that take part, 1 where that is not known."""

    first: int
    last: int
    successors: tuple[int, ...]
    lanes: float = 1.0


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: its name ("L1" in the order of addresses), blocks, the loop around it (index, -1 for none), lines.

    ``trip``: how often its body runs each time it is reached; ``known``: how that is known: "proved" by the code and
    the arguments, "given", derived from the "launch" (then it is a mean over wavefronts). A loop whose trips are not
    known counts as run once. ``why``: what the proof rests on, or what stands in its way.
    ``tail``: its work stands before the test that ends it, and what follows runs in all but the last iteration.
    """

    name: str
    header: int
    blocks: tuple[int, ...]
    parent: int
    trip: float = 1
    known: Known = "unknown"
    why: str = ""
    lines: tuple[int, int] | None = None
    tail: bool = False


@dataclass(frozen=True)
class Code:
    """A kernel's machine code: what it needs, its steps, blocks and loops.

    ``vgprs``: vector registers of a wavefront (four-component ones on VLIW chips); ``sgprs`` as the code object counts
    them; ``scratch_bytes``: of a work-item. ``shared_vgprs``: of a SIMD, shared by its wavefronts (VLIW). ``pixel``:
    whether it runs as a pixel shader. ``arguments``: name and type. ``chances``: of branches that the launch decides,
    by the indices of both blocks: the share of the wavefronts that come there that take them.
    """

    kernel: str
    family: Family
    target: str
    vgprs: int
    sgprs: int
    agprs: int
    lds_bytes: int
    scratch_bytes: int
    code_bytes: int
    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    loops: tuple[Loop, ...]
    reqd_group: tuple[int, int, int] | None = None
    dynamic_lds: bool = False
    stack_entries: int = 0
    clause_temporaries: int = 0
    shared_vgprs: int = 0
    pixel: bool = False
    arguments: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())
    chances: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def is_vliw(self) -> bool:
        """Whether it is code of a VLIW chip."""
        return self.family == VLIW

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of steps of this family."""
        return VLIW_CLASSES if self.is_vliw else UNITS

    def with_trips(self, given: dict[str, int]) -> Code:
        """The same code with loops' trip counts as given by name."""
        loops = tuple(
            replace(loop, trip=given[loop.name], known="given", why="") if loop.name in given else loop
            for loop in self.loops
        )
        return replace(self, loops=loops)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; `from_json` gives an equal code back. Steps are rows, to be short."""
        data = {part.name: getattr(self, part.name) for part in fields(self)}
        data["steps"] = [_STEP(step) for step in self.steps]
        data["blocks"] = [asdict(block) for block in self.blocks]
        data["loops"] = [asdict(loop) for loop in self.loops]
        data["chances"] = [[*edge, chance] for edge, chance in self.chances.items()]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Code:
        """What `to_json` wrote."""
        made = dict(data)
        rows: Any = ([tuple(v) if isinstance(v, list) else v for v in row] for row in data["steps"])
        at = [part.name for part in fields(Step)].index("cost")
        made["steps"] = tuple(Step(*[*row[:at], Cost(*row[at]), *row[at + 1 :]]) for row in rows)
        made["blocks"] = tuple(Block(b["first"], b["last"], tuple(b["successors"]), b["lanes"]) for b in data["blocks"])
        made["loops"] = tuple(
            Loop(**{**loop, "blocks": tuple(loop["blocks"]), "lines": tuple(loop["lines"]) if loop["lines"] else None})
            for loop in data["loops"]
        )
        made["reqd_group"] = tuple(data["reqd_group"]) if data["reqd_group"] else None
        made["arguments"] = tuple((name, kind) for name, kind in data["arguments"])
        made["notes"] = tuple(data["notes"])
        made["chances"] = {(a, b): chance for a, b, chance in data["chances"]}
        return cls(**made)

"""What instructions, lanes and memory accesses of a launch were: the numbers, and their sums by class and source line.

`headwater.emulate.recorded` makes them of a recorded launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.emulate.watch.trace_format import LINE_BYTES
from headwater.emulate.wave.layout import LANES

if TYPE_CHECKING:
    from headwater.emulate.watch.staging import Site


@dataclass(slots=True)
class Access:
    """What one place of an instruction did in memory.

    ``requests``: by wavefronts, those without lanes included; ``lanes``: all of them together; ``used_bytes``: what the
    lanes asked for. For the LDS and GDS ``cycles`` and ``least_cycles``, what they would be without conflicts; for
    other memory ``lines`` of 64 bytes, and ``scattered``: requests whose lines did not follow each other.
    """

    kind: str
    writes: bool
    atomic: bool
    nbytes: int
    requests: int = 0
    lanes: int = 0
    used_bytes: int = 0
    lines: int = 0
    scattered: int = 0
    cycles: int = 0
    least_cycles: int = 0

    @property
    def moved_bytes(self) -> int:
        """Bytes of whole cache lines."""
        return self.lines * LINE_BYTES


@dataclass(slots=True)
class Work:
    """What an instruction, a source line, a class or the whole kernel did; ``count`` in instructions of a wavefront."""

    count: int = 0
    lanes: int = 0
    full: int = 0
    idle: int = 0
    """How often without any lane."""
    valu: int = 0
    valu_lanes: int = 0
    valu_full: int = 0
    operations: int = 0
    """VLIW: of ALU groups, in all."""
    slots: int = 0
    """VLIW: those of these groups, empty ones too."""
    accesses: list[Access] = field(default_factory=list)

    def add(self, other: Work) -> None:
        """Sum up."""
        names = ("count", "lanes", "full", "idle", "valu", "valu_lanes", "valu_full", "operations", "slots")
        for name in names:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.accesses += other.accesses

    @property
    def utilisation(self) -> float:
        """The part of a vector ALU's lanes that had work."""
        return self.valu_lanes / (LANES * self.valu) if self.valu else 1.0

    @property
    def divergence(self) -> float:
        """The part of vector ALU instructions that ran without some of the 64 lanes."""
        return 1 - self.valu_full / self.valu if self.valu else 0.0

    @property
    def packing(self) -> float:
        """The part of ALU groups' slots that operations filled."""
        return self.operations / self.slots if self.slots else 1.0

    def memory(self, wanted: Callable[[Access], bool]) -> Access:
        """The sum of the accesses that are ``wanted``."""
        total = Access("", False, False, 0)
        for access in self.accesses:
            if wanted(access):
                for name in ("requests", "lanes", "used_bytes", "lines", "scattered", "cycles", "least_cycles"):
                    setattr(total, name, getattr(total, name) + getattr(access, name))
        return total


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """One instruction, or one group: ``line`` is its file, line and column, if the code has them; ``place`` what a
    listing calls its address."""

    address: int
    place: str
    text: str
    kind: str
    line: tuple[str, int, int] | None
    did: Work


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a launch did, in all and by class, source line and instruction.

    VLIW only: ``mode``, "pixel" or "compute"; ``clauses``: how often control-flow instructions of each kind ran, those
    whose clauses had lanes, or that have none.
    """

    kernel: str
    target: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    wavefronts: int
    total: Work
    classes: dict[str, Work]
    lines: dict[tuple[str, int], Work]
    instructions: tuple[InstructionRow, ...]
    mode: str = ""
    clauses: Mapping[str, int] = field(default_factory=dict)

    @property
    def counters(self) -> dict[str, float]:
        """What AMD's profilers call these numbers: parts in per cent (`headwater explain NAME`)."""
        total = self.total
        found = {"Wavefronts": float(self.wavefronts), "VALUUtilization": 100 * total.utilisation}
        return found | ({"ALUPacking": 100 * total.packing} if total.slots else {})

    def as_json(self) -> dict[str, Any]:
        """One object of numbers; `docs/trace.md` says what they mean."""
        return {
            "kernel": self.kernel,
            "target": self.target,
            "global_size": list(self.global_size),
            "local_size": list(self.local_size),
            "wavefronts": self.wavefronts,
            **({"mode": self.mode, "clauses": dict(self.clauses)} if self.mode else {}),
            "total": _numbers(self.total),
            "counters": self.counters,
            "classes": {name: _numbers(row) for name, row in self.classes.items()},
            "lines": [{"file": file, "line": line, **_numbers(row)} for (file, line), row in self.lines.items()],
            "instructions": [
                {
                    "address": row.address,
                    **({"place": row.place} if self.mode else {}),
                    "text": row.text,
                    "class": row.kind,
                    "line": None if row.line is None else list(row.line),
                    **_numbers(row.did),
                    "accesses": [asdict(access) for access in row.did.accesses],
                }
                for row in self.instructions
            ],
        }


def is_lds(access: Access) -> bool:
    """Whether an access is to banks, not to cache lines."""
    return access.kind in ("lds", "gds")


def is_vector(access: Access) -> bool:
    """Whether it is by lanes, to cache lines."""
    return access.kind not in ("lds", "gds", "scalar")


def _numbers(row: Work) -> dict[str, Any]:
    vector, local = row.memory(is_vector), row.memory(is_lds)
    return {
        "count": row.count,
        "valu": row.valu,
        "valu_utilisation": round(row.utilisation, 6),
        "divergence": round(row.divergence, 6),
        **({"operations": row.operations, "packing": round(row.packing, 6)} if row.slots else {}),
        "requests": vector.requests,
        "lines": vector.lines,
        "used_bytes": vector.used_bytes,
        "moved_bytes": vector.moved_bytes,
        "lds_requests": local.requests,
        "lds_cycles": local.cycles,
        "lds_least_cycles": local.least_cycles,
    }


def summed(rows: Sequence[InstructionRow], classes: Iterable[str]) -> dict[str, Any]:
    """Sums over ``rows``: the fields of `Statistics` that are made of them."""
    total = Work()
    by_class = {name: Work() for name in classes}
    lines: dict[tuple[str, int], Work] = {}
    for row in rows:
        total.add(row.did)
        by_class[row.kind].add(row.did)
        if row.line is not None:
            lines.setdefault(row.line[:2], Work()).add(row.did)
    return {"total": total, "classes": by_class, "lines": lines, "instructions": tuple(rows)}


def accesses(sites: Iterable[tuple[Site, Any]], cycle_bytes: int) -> list[Access]:
    """What sites did, by their sums; ``cycle_bytes``: what the LDS moves in a cycle without conflicts."""
    found = []
    for site, sums in sites:
        requests, lanes, count, scattered = (int(n) for n in sums)
        access = Access(site.kind, site.writes, site.atomic, site.nbytes, requests, lanes)
        access.used_bytes = lanes * site.nbytes
        if is_lds(access):
            access.cycles = count
            dwords = max(1, site.nbytes // 4)
            # Each request takes as many cycles as its lanes' dwords fill; those with few lanes, less.
            access.least_cycles = min(count, -(-lanes * 4 * dwords // cycle_bytes))
        else:
            access.lines, access.scattered = count, scattered
        found.append(access)
    return found

"""Input: the work of a wavefront, a domain and a chip. Output: the time that each part of the chip needs for it.

"Spreadsheet analysis" (AMD, "OpenCL on the ATI Radeon HD 4870"; Technical Overview, ATI Stream Computing, 3.2): all
parts work side by side, so a kernel takes as long as the part with the most to do. To the parts of those documents,
ALU, fetch and memory, comes what later chips added (scalar unit, LDS), and latency: how long wavefronts wait for
memory where too few of them are resident to cover it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from headwater.analyze.costs import Work
from headwater.analyze.domain import Domain
from headwater.chips import Chip
from headwater.errors import UsageError
from headwater.views.units import data_bytes

# PCI-SIG, PCI Express base specifications: bytes a lane moves each way in a second, in millions, line code accounted
# for.
PCIE_LANE_MEGABYTES = {1: 250.0, 2: 500.0, 3: 984.6, 4: 1969.2, 5: 3938.5, 6: 7563.0, 7: 15126.0}


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the chip: ``seconds`` it needs, and how that was reckoned."""

    name: str
    seconds: float
    how: str


@dataclass(frozen=True, slots=True)
class Roofline:
    """Floating-point operations a byte of memory traffic, against what the chip can do.

    ``ridge``: the intensity above which the ALUs limit; ``attainable_gflops``: the lower of both roofs there.
    """

    intensity: float
    ridge: float
    peak_gflops: float
    bandwidth: float
    attainable_gflops: float


@dataclass(frozen=True)
class Estimate:
    """What a launch should take: ``seconds`` is the largest of ``terms``, ``bound_by`` its name.

    ``headroom``: by how much the time falls if only that part were infinitely fast, as a share of it. ``transfer``:
    over PCI Express, before and after, not part of ``seconds``. ``hit``: share of read bytes that caches serve;
    ``hit_needed``: the least for which memory would not be what limits (None: it does not, or always will).
    """

    seconds: float
    bound_by: str
    headroom: float
    terms: tuple[Term, ...]
    transfer: Term
    hit: float
    hit_needed: float | None
    read_bytes: float
    write_bytes: float
    flops: float
    roofline: Roofline

    def term(self, name: str) -> Term | None:
        """The part of that name."""
        return next((term for term in self.terms if term.name == name), None)

    @property
    def gigabytes_per_second(self) -> float:
        """What the launch moves to and from memory in its time."""
        return (self.read_bytes + self.write_bytes) / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gflops(self) -> float:
        """Floating-point operations in its time."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0


def estimate(
    chip: Chip,
    work: Work,
    launch: Domain,
    *,
    resident: float = 0.0,
    hit: float = 0.0,
    transfer_bytes: tuple[float, float] | None = None,
    float64: bool = False,
    efficiency: float = 1.0,
) -> Estimate:
    """The time of a launch.

    ``resident``: wavefronts that a SIMD holds (0: plenty, leave latency aside). ``hit``: see `Estimate`.
    ``transfer_bytes``: over PCI Express to the chip and back; None takes what is read from and written to memory.
    ``float64``: which peak the roofline has. ``efficiency``: the part of the memory's bandwidth that is reached.
    """
    if not 0 <= hit <= 1:
        raise UsageError(f"a share of reads that caches serve is 0 to 1, not {hit:g}")
    compute = chip.compute
    hertz = compute.clock_mhz * 1e6
    simds = compute.compute_units * compute.simds_per_compute_unit
    waves, items = launch.wavefronts, launch.items
    rate = chip.memory.gigabytes_per_second * 1e9 * efficiency
    reads = items * (work.read_bytes * (1 - hit) + work.scratch_bytes / 2)
    writes = items * (work.write_bytes + work.scratch_bytes / 2)
    units = compute.compute_units
    wide = "groups" if chip.is_vliw else "instructions"
    terms = [
        Term(
            "ALU",
            waves * work.alu_cycles / (simds * hertz),
            f"{waves:,} wavefronts × {work.alu_cycles:,.0f} cycles of {work.groups:,.0f} {wide}, on {simds} SIMDs",
        ),
        Term(
            "fetch",
            waves * work.fetch_cycles / (units * hertz),
            f"{waves:,} wavefronts × {work.fetch_cycles:,.0f} cycles of address units, on {units} compute units",
        ),
    ]
    if work.scalar_cycles:
        terms.append(
            Term(
                "scalar",
                waves * work.scalar_cycles / (simds * hertz),
                f"{waves:,} wavefronts × {work.scalar_cycles:,.0f} cycles of the SIMD's turns at the scalar unit",
            )
        )
    if work.local_cycles:
        terms.append(
            Term(
                "LDS",
                waves * work.local_cycles / (units * hertz),
                f"{waves:,} wavefronts × {work.local_cycles:,.0f} cycles without conflicts, on {units} compute units",
            )
        )
    gigabytes = chip.memory.gigabytes_per_second
    at = f"at {gigabytes:g} GB/s" if efficiency == 1 else f"at {rate / 1e9:.4g} GB/s, {efficiency:.0%} of the peak"
    terms += [
        Term("read", reads / rate, f"{data_bytes(reads, 4)} {at}" + (f", {hit:.0%} from caches" if hit else "")),
        Term("write", writes / rate, f"{data_bytes(writes, 4)} {at}"),
        Term("memory", (reads + writes) / rate, f"{data_bytes(reads + writes, 4)} {at}"),
    ]
    if work.store_cycles:
        channels = max(1, chip.memory.bus_bits // 32)
        terms.append(
            Term(
                "stores",
                items * work.store_cycles / (channels * hertz),
                f"{items:,} work-items × {work.store_cycles:.3g} cycles of a channel of memory; {channels} channels",
            )
        )
    if resident:
        terms.append(_latency(chip, work, waves, simds, resident, hit))
    seconds = max(term.seconds for term in terms)
    bound = next(term for term in reversed(terms) if term.seconds == seconds)
    mine = {"memory", "read", "write"} if bound.name == "memory" else {bound.name}
    second = max((term.seconds for term in terms if term.name not in mine), default=0.0)
    others = max((term.seconds for term in terms if term.name not in ("memory", "read", "write")), default=0.0)
    sent, back = transfer_bytes if transfer_bytes is not None else (reads, writes)
    link = PCIE_LANE_MEGABYTES[chip.link.pcie_generation] * 1e6 * chip.link.pcie_lanes
    transfer = Term(
        "PCIe",
        (sent + back) / link,
        f"{data_bytes(sent, 4)} there and {data_bytes(back, 4)} back at {link / 1e9:.3g} GB/s "
        f"(generation {chip.link.pcie_generation}, {chip.link.pcie_lanes} lanes)",
    )
    flops = work.flops * items
    peak = chip.float64_gflops if float64 else chip.float32_gflops
    intensity = flops / (reads + writes) if reads + writes else (inf if flops else 0.0)
    roofline = Roofline(intensity, peak / gigabytes, peak, gigabytes, min(peak, intensity * gigabytes))
    return Estimate(
        seconds,
        bound.name,
        1 - second / seconds if seconds else 0.0,
        tuple(terms),
        transfer,
        hit,
        _hit_needed(items * work.read_bytes, reads + writes - items * work.read_bytes * (1 - hit), others * rate),
        reads,
        writes,
        flops,
        roofline,
    )


def _latency(chip: Chip, work: Work, waves: int, simds: int, resident: float, hit: float) -> Term:
    """How long it takes if each SIMD runs as many wavefronts at once as it holds, each waiting for what it asked
    for."""
    latencies = chip.latencies
    wait = hit * latencies.l1_cycles + (1 - hit) * latencies.memory_cycles
    alone = work.issue_cycles + work.waits * wait + work.local_waits * latencies.local_cycles
    each = ceil(waves / simds)
    turns = max(1.0, each / max(1.0, resident))
    return Term(
        "latency",
        turns * alone / (chip.compute.clock_mhz * 1e6),
        f"{each:,} wavefronts a SIMD, {min(resident, each):.3g} at a time: {turns:,.4g} × {alone:,.0f} cycles, "
        f"of which {work.waits:,.3g} waits of {wait:,.0f} cycles for memory",
    )


def _hit_needed(read: float, other: float, bytes_in_time: float) -> float | None:
    if not read or read + other <= bytes_in_time:
        return None
    needed = 1 - (bytes_in_time - other) / read
    return needed if needed <= 1 else None

"""Checks a chip's figures, each alone and against each other.

The reader of files adds a fault's line. Chips that were changed otherwise, as by sweeps and ``dataclasses.replace``,
are checked when a launch is to be timed on them: for what the cycle model cannot compute with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any, Final, NamedTuple

from headwater.chips.dram import KINDS, MAPPINGS
from headwater.chips.model import REPLACEMENTS, Chip, Range
from headwater.errors import UsageError

MOST_TRANSFERS: Final = 16
"""More than any memory moves over a wire in one cycle of its clock: GDDR5 moves 4, GDDR6 8 or 16 as one counts."""
GCN_WAVEFRONT: Final = 64
GCN_WAVEFRONTS_PER_SIMD, WAVEFRONTS_PER_UNIT = 16, 64
"""What the cycle model has room for: of 64 work-items each. Chips have 10, or 8, and 40."""
LONGEST_INSTRUCTION: Final = 255
"""Cycles; what the cycle model counts up to. The slowest of chips takes 64."""
BANK_BYTES: Final = 4
"""What a bank of the LDS moves in a cycle, on all chips (AMD, OpenCL Programming Guide, chapter 4)."""
LINE_BYTES: Final = 64
CODE_WAYS: Final = {"gcn": 4, "vliw": 16}
"""Of the caches of instructions, and of scalars or constants (AMD, Graphics Cores Next (GCN) Architecture; VLIW chips':
an estimate)."""
CODE_LINE_BYTES: Final = {"gcn": LINE_BYTES, "vliw": 256}
"""VLIW chips: 16 constants of 128 bits (AMD, Evergreen-Family Instruction Set Architecture); of instructions, an
estimate: programs are aligned to it (Linux, radeon driver)."""
VERTEX_WAYS: Final = 16  # an estimate

_POWERS_OF_TWO: Final = (
    ("compute", "lanes_per_simd"),
    ("compute", "wavefront_size"),
    ("caches", "l1_line_bytes"),
    ("caches", "l2_line_bytes"),
    ("local_memory", "banks"),
    ("memory", "page_bytes"),
)
_GCN_RATES: Final = ("float32_fma", "transcendental", "int32_multiply")


class Fault(NamedTuple):
    """A figure that cannot be: its table and name, what it is, and what it may be. ``others``: figures, of its table or
    as "table.name", by which it cannot; any of them may be the wrong one."""

    table: str
    key: str
    message: str
    allowed: str
    others: tuple[str, ...] = ()


def check(chip: Chip) -> None:
    """UsageError with the first of `engine_faults`, if there is one."""
    for fault in engine_faults(chip):
        raise UsageError(f"{chip.name}: {fault.message}", hint=fault.allowed)


def faults(chip: Chip) -> Iterator[Fault]:
    """All that cannot be, each figure on its own first."""
    yield from engine_faults(chip)
    yield from _registers(chip)
    yield from _memory(chip)


def engine_faults(chip: Chip) -> Iterator[Fault]:
    """What the cycle model could not reckon with."""
    for part in fields(chip):
        table = getattr(chip, part.name)
        if is_dataclass(table):
            for figure in fields(table):
                yield from _out_of_range(part.name, figure, getattr(table, figure.name))
    yield from _shape(chip)
    yield from _rates(chip)
    yield from _caches(chip)
    yield from _dram(chip)


def wanted(figure: Field[Any], kind: object) -> str:
    """What a figure may be, in words. ``kind``: the type of its values."""
    if kind is str:
        return "it is a text"
    if kind is bool:
        return "it is true or false"
    limits: Range = figure.metadata["range"]
    number = "a whole number" if kind is int else "a number"
    unit = f" {limits.unit}" if limits.unit else ""
    return f"it is {number} from {limits.low:g} to {limits.high:g}{unit}"


def _out_of_range(table: str, figure: Field[Any], value: Any) -> Iterator[Fault]:
    limits: Range | None = figure.metadata.get("range")
    if limits is not None and not limits.low <= value <= limits.high:
        yield Fault(table, figure.name, f"{table}.{figure.name} is {value!r}", wanted(figure, type(value)))


def _shape(chip: Chip) -> Iterator[Fault]:
    compute = chip.compute
    size, lanes, waves = compute.wavefront_size, compute.lanes_per_simd, compute.wavefronts_per_simd
    for table, key in _POWERS_OF_TWO:
        value = getattr(getattr(chip, table), key)
        if value & (value - 1):
            yield Fault(table, key, f"{table}.{key} is {value}", "it is a power of two")
    if size % lanes:
        allowed = f"it is a multiple of compute.lanes_per_simd, {lanes}"
        message = f"compute.wavefront_size is {size}"
        yield Fault("compute", "wavefront_size", message, allowed, ("lanes_per_simd",))
    if not chip.is_vliw:
        if size != GCN_WAVEFRONT:
            allowed = f"the machine code of {chip.target} is for wavefronts of {GCN_WAVEFRONT}"
            yield Fault("compute", "wavefront_size", f"compute.wavefront_size is {size}", allowed)
        if compute.vliw_width != 1:
            message = f"compute.vliw_width is {compute.vliw_width}"
            yield Fault("compute", "vliw_width", message, 'it is 1 on a chip of family = "gcn"')
        most = min(GCN_WAVEFRONTS_PER_SIMD, WAVEFRONTS_PER_UNIT // compute.simds_per_compute_unit)
        if waves > most:
            allowed = f"it is a whole number from 1 to {most} where simds_per_compute_unit is "
            allowed += f"{compute.simds_per_compute_unit}: a compute unit has at most {WAVEFRONTS_PER_UNIT}"
            message = f"compute.wavefronts_per_simd is {waves}"
            yield Fault("compute", "wavefronts_per_simd", message, allowed, ("simds_per_compute_unit",))
        return
    if compute.simds_per_compute_unit != 1:
        message = f"compute.simds_per_compute_unit is {compute.simds_per_compute_unit}"
        yield Fault(
            "compute", "simds_per_compute_unit", message, "it is 1 on a VLIW chip, whose SIMD engine is one SIMD"
        )
    if waves * size > WAVEFRONTS_PER_UNIT * GCN_WAVEFRONT:
        allowed = f"it is a whole number from 1 to {WAVEFRONTS_PER_UNIT * GCN_WAVEFRONT // size}"
        message = f"compute.wavefronts_per_simd is {waves}"
        yield Fault("compute", "wavefronts_per_simd", message, f"{allowed} where wavefront_size is {size}")


def _rates(chip: Chip) -> Iterator[Fault]:
    rates = chip.rates
    if (rates.float64_add > 0) != (rates.float64_fma > 0):
        key = "float64_fma" if rates.float64_add else "float64_add"
        allowed = "above 0 where the other one of float64_add and float64_fma is: a chip has both or none"
        yield Fault("rates", key, f"rates.{key} is {getattr(rates, key):g}", allowed)
    period = max(1, chip.compute.wavefront_size // chip.compute.lanes_per_simd)
    least = period / LONGEST_INSTRUCTION
    for figure in fields(rates):
        key, value = figure.name, getattr(rates, figure.name)
        if key.startswith("matrix_") or (value == 0 and not (not chip.is_vliw and key in _GCN_RATES)):
            continue
        if value < least:
            high = figure.metadata["range"].high
            allowed = f"it is a number from {least:.2g} to {high:g} per cycle"
            if value == 0:
                allowed += ": every GCN chip has such instructions"
            yield Fault("rates", key, f"rates.{key} is {value:g}", allowed, ("compute.lanes_per_simd",))


def _registers(chip: Chip) -> Iterator[Fault]:
    registers, local = chip.registers, chip.local_memory
    for table, key, value, whole, most in (
        ("registers", "vgprs_per_wavefront", registers.vgprs_per_wavefront, "vgprs", registers.vgprs),
        ("registers", "sgprs_per_wavefront", registers.sgprs_per_wavefront, "sgprs", registers.sgprs),
        ("local_memory", "work_group_bytes", local.work_group_bytes, "bytes", local.bytes),
    ):
        if value > most:
            message = f"{table}.{key} is {value}, more than the {most} that there are"
            yield Fault(table, key, message, f"it is at most {table}.{whole}", (whole,))
    if not chip.is_vliw and registers.sgprs_per_wavefront == 0:
        allowed = "a GCN chip has scalar registers: 102 or 104 for each wavefront"
        yield Fault("registers", "sgprs_per_wavefront", "registers.sgprs_per_wavefront is 0", allowed)
    for table, key, value, step, granule in (
        ("registers", "vgprs", registers.vgprs, "vgpr_granule", registers.vgpr_granule),
        ("registers", "sgprs", registers.sgprs, "sgpr_granule", registers.sgpr_granule),
        ("local_memory", "bytes", local.bytes, "granule_bytes", local.granule_bytes),
    ):
        if value % granule:
            allowed = _multiple(value, granule, f"{table}.{step}")
            yield Fault(table, key, f"{table}.{key} is {value}", allowed, (step,))
    if local.bytes_per_cycle > local.banks * BANK_BYTES:
        message = f"local_memory.bytes_per_cycle is {local.bytes_per_cycle}"
        allowed = f"{local.banks} banks of {BANK_BYTES} bytes serve at most {local.banks * BANK_BYTES}"
        yield Fault("local_memory", "bytes_per_cycle", message, allowed, ("banks",))


def _caches(chip: Chip) -> Iterator[Fault]:
    caches, family, latencies = chip.caches, chip.family, chip.latencies
    code, code_line = CODE_WAYS[family], CODE_LINE_BYTES[family]
    for key, banks, ways, line, may_lack in (
        ("l1_bytes", 1, caches.l1_ways, caches.l1_line_bytes, False),
        ("l2_bytes", caches.l2_banks, caches.l2_ways, caches.l2_line_bytes, chip.is_vliw),
        ("scalar_bytes", 1, code, code_line, False),
        ("instruction_bytes", 1, code, code_line, False),
        ("vertex_bytes", 1, VERTEX_WAYS, caches.l1_line_bytes, True),
    ):
        value, step = getattr(caches, key), banks * ways * line
        if value % step or (value == 0 and not may_lack):
            of_banks = f"{banks} banks of " if banks > 1 else ""
            allowed = _multiple(value, step, f"{of_banks}sets of {ways} ways of {line} bytes")
            others = {"l1_bytes": ("l1_ways", "l1_line_bytes"), "l2_bytes": ("l2_ways", "l2_banks", "l2_line_bytes")}
            allowed += ", or 0" if may_lack else ""
            yield Fault("caches", key, f"caches.{key} is {value}", allowed, others.get(key, ()))
    yield from _dies(chip)
    for near, far in (("l1_cycles", "l2_cycles"), ("l2_cycles", "memory_cycles"), ("scalar_cycles", "l2_cycles")):
        less, more = getattr(latencies, near), getattr(latencies, far)
        if more < less:
            allowed = f"it counts from issue to use, so it is not below latencies.{near}, {less}"
            yield Fault("latencies", far, f"latencies.{far} is {more}", allowed, (near,))


def _dies(chip: Chip) -> Iterator[Fault]:
    """A die has its share of the L2's banks, each of which serves as many channels as the others."""
    caches, dies = chip.caches, chip.compute.dies
    if caches.l2_banks % dies or dies > chip.compute.compute_units or (dies > 1 and chip.is_vliw):
        allowed = "it divides caches.l2_banks, is not above compute.compute_units, and 1 on VLIW chips"
        yield Fault("compute", "dies", f"compute.dies is {dies}", allowed, ("caches.l2_banks", "compute_units"))
        return
    side = caches.memory_side_banks
    if side % (caches.l2_banks // dies) or (side and dies == 1 and side != caches.l2_banks):
        allowed = (
            f"it is a multiple of the L2's banks on a die, {caches.l2_banks // dies}, or where there is one die that"
        )
        yield Fault("caches", "memory_side_banks", f"caches.memory_side_banks is {side}", allowed, ("l2_banks",))
    step = max(1, side) * caches.memory_side_ways * caches.l2_line_bytes
    if caches.memory_side_bytes % step or (caches.memory_side_bytes and not side):
        allowed = _multiple(caches.memory_side_bytes, step, "banks of sets of ways")
        others = ("memory_side_banks", "memory_side_ways", "l2_line_bytes")
        message = f"caches.memory_side_bytes is {caches.memory_side_bytes}"
        yield Fault("caches", "memory_side_bytes", message, allowed, others)


def _dram(chip: Chip) -> Iterator[Fault]:
    for table, key, allowed in (
        ("memory", "kind", tuple(KINDS)),
        ("memory", "mapping", MAPPINGS),
        ("caches", "l2_replacement", REPLACEMENTS),
    ):
        value = getattr(getattr(chip, table), key)
        if value not in allowed:
            yield Fault(table, key, f"{table}.{key} is {value!r}", f"it is one of {', '.join(map(repr, allowed))}")


def _memory(chip: Chip) -> Iterator[Fault]:
    memory = chip.memory
    most = memory.bus_bits / 8 * memory.clock_mhz * MOST_TRANSFERS / 1000
    if memory.gigabytes_per_second > most:
        message = f"memory.gigabytes_per_second is {memory.gigabytes_per_second:g}"
        allowed = f"{memory.bus_bits} bits at {memory.clock_mhz:g} MHz move at most {most:g} GB/s"
        yield Fault("memory", "gigabytes_per_second", message, allowed, ("bus_bits", "clock_mhz"))
    if memory.bus_bits % 8:
        yield Fault(
            "memory", "bus_bits", f"memory.bus_bits is {memory.bus_bits}", _multiple(memory.bus_bits, 8, "bytes")
        )


def _multiple(value: int, step: int, of_what: str) -> str:
    below = value // step * step
    near = f"{below} or {below + step}" if below else f"{step}"
    return f"it is a multiple of {step}, {of_what}: {near}, say"

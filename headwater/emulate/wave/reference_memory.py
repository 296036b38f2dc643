"""Input: addresses of lanes. Output: bytes of the memories that they name: global memory, LDS, GDS, private memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.wave.layout import GDS_BYTES, LANES, PRIVATE_APERTURE, SHARED_APERTURE
from headwater.errors import KernelFault
from headwater.isa.gcn.model import Instruction
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.types import BITS, TYPE_BITS


class AccessError(Exception):
    """An access outside of what is there; the interpreter adds where it happened."""


class Bytes(Protocol):
    """Memory of a fixed size: a bytearray, a memoryview of bytes, or what notes what is written to one."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: slice, /) -> Any: ...
    def __setitem__(self, place: slice, data: bytes, /) -> None: ...


@dataclass
class Allocation:
    """Bytes at an address; ``data`` may be shared with an array of the caller's."""

    start: int
    data: Bytes
    writable: bool = True


@dataclass
class FlatMemory:
    """One address space with exact bounds."""

    allocations: list[Allocation] = field(default_factory=list)

    def add(self, start: int, data: memoryview, *, writable: bool = True) -> int:
        """Put ``data`` (bytes of which are used in place) at an address, which is returned."""
        self.allocations.append(Allocation(start, data.cast("B"), writable))
        self.allocations.sort(key=lambda a: a.start)
        return start

    def allocate(self, nbytes: int, *, align: int = 256) -> int:
        """New, zeroed memory behind all that is there already, with a gap; its address."""
        end = max((a.start + len(a.data) for a in self.allocations), default=1 << 32)
        start = -(-(end + 4096) // align) * align
        return self.add(start, memoryview(bytearray(nbytes)))

    def _place(self, address: int, nbytes: int) -> tuple[Allocation, int]:
        at = bisect_right(self.allocations, address, key=lambda a: a.start) - 1
        if at >= 0:
            found = self.allocations[at]
            if address + nbytes <= found.start + len(found.data):
                return found, address - found.start
        raise AccessError(f"{nbytes} bytes at {address:#x} are in no allocation")

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes at an address."""
        found, offset = self._place(address, nbytes)
        return bytes(found.data[offset : offset + nbytes])

    def write(self, address: int, data: bytes) -> None:
        """Store bytes at an address."""
        found, offset = self._place(address, len(data))
        if not found.writable:
            raise AccessError(f"{len(data)} bytes at {address:#x} are read-only")
        found.data[offset : offset + len(data)] = data


@dataclass
class LocalMemory:
    """LDS or GDS: addresses from 0."""

    name: str
    data: Bytes

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes at an address."""
        if address + nbytes > len(self.data):
            raise AccessError(
                f"{nbytes} bytes at {address:#x} are beyond the {len(self.data)} bytes of the {self.name}"
            )
        return bytes(self.data[address : address + nbytes])

    def write(self, address: int, data: bytes) -> None:
        """Store bytes at an address."""
        self.read(address, len(data))
        self.data[address : address + len(data)] = data


@dataclass
class PrivateMemory:
    """A wavefront's private memory within global memory: dword n of lane l is dword 64 n + l."""

    memory: FlatMemory
    start: int
    lane_bytes: int

    def place(self, lane: int, offset: int) -> int:
        """The address of a lane's byte."""
        if offset >= self.lane_bytes:
            raise AccessError(f"byte {offset:#x} is beyond the {self.lane_bytes} bytes of a work-item's private memory")
        return self.start + (offset & ~3) * LANES + 4 * lane + (offset & 3)

    def read(self, lane: int, offset: int, nbytes: int) -> bytes:
        """A lane's bytes."""
        return b"".join(self.memory.read(self.place(lane, offset + n), 1) for n in range(nbytes))

    def write(self, lane: int, offset: int, data: bytes) -> None:
        """Store a lane's bytes."""
        for n, byte in enumerate(data):
            self.memory.write(self.place(lane, offset + n), bytes([byte]))


@dataclass
class Memories:
    """What a wavefront can access."""

    memory: FlatMemory
    lds: LocalMemory
    private: PrivateMemory
    gds: LocalMemory = field(default_factory=lambda: LocalMemory("GDS", bytearray(GDS_BYTES)))

    def flat(self, lane: int, address: int) -> tuple[str, int]:
        """Which memory a flat address names, and where in it (AMDGPUUsage, "Address Spaces")."""
        if address >> 32 == SHARED_APERTURE:
            return "lds", address & 0xFFFFFFFF
        if address >> 32 == PRIVATE_APERTURE:
            return "private", address & 0xFFFFFFFF
        return "global", address

    def read(self, kind: str, lane: int, address: int, nbytes: int) -> bytes:
        """Bytes of one of the memories: "global", "flat", "lds", "gds", "private", or "nothing", which reads as 0."""
        if kind == "flat":
            kind, address = self.flat(lane, address)
        if kind == "nothing":
            return bytes(nbytes)
        if kind == "private":
            return self.private.read(lane, address, nbytes)
        where = self.lds if kind == "lds" else self.gds if kind == "gds" else self.memory
        return where.read(address, nbytes)

    def write(self, kind: str, lane: int, address: int, data: bytes) -> None:
        """Store bytes in one of the memories."""
        if kind == "flat":
            kind, address = self.flat(lane, address)
        if kind == "private":
            self.private.write(lane, address, data)
        elif kind != "nothing":
            where = self.lds if kind == "lds" else self.gds if kind == "gds" else self.memory
            where.write(address, data)


Read = Callable[[str], list[int]]
"""Gives a named operand in each of 64 lanes, all its bits as one integer; 0 where it is absent."""

Place = tuple[str, int]


def places(instruction: Instruction, isa: str, read: Read, extra: list[int] | None) -> list[Callable[[int], Place]]:
    """For each lane a function from a byte of the access, counted from its start, to the memory and address of it.

    ``extra``: per lane the offset that the semantics gives; then the instruction's own offset fields do not count.
    """
    encoding, fields = instruction.row.encoding, instruction.fields
    if encoding in ("MUBUF", "MTBUF"):
        return _buffer(instruction, isa, read)
    address, base = read("ADDR"), read("SADDR")
    offset = 0 if extra is not None else fields.get("offset", 0)
    result: list[Callable[[int], Place]] = []
    for lane in range(LANES):
        more = extra[lane] if extra is not None else offset
        if encoding == "DS":
            kind, start = ("gds" if fields.get("gds") else "lds"), address[lane] + more
            if TRAITS[isa].wraps_lds_addresses:  # where what is below 0 fails whatever is added (LLVM, isDSOffsetLegal)
                start &= 0xFFFFFFFF
        elif encoding == "SCRATCH":
            # Bases are unsigned, sums do not wrap around, and a scalar base takes no negative offset (LLVM,
            # isFlatScratchBaseLegal and FeatureNegativeScratchOffsetBug): what is below 0 is nowhere.
            start = address[lane] + base[lane] + more
            nowhere = start < 0 or (more < 0 and instruction.source("ADDR") is None)
            kind, start = "private", -4 & 0xFFFFFFFF if nowhere else start
        else:
            kind = "flat" if encoding == "FLAT" else "global"
            start = (address[lane] + base[lane] + more) & (1 << 64) - 1
        result.append(lambda n, kind=kind, start=start: (kind, start + n))  # type: ignore[misc]
    return result


def second_place(address: int, offset: int) -> tuple[int, int]:
    """Both places of ``ds_…_src2_…`` (AMD, "Vega" ISA Reference Guide, DS_ADD_SRC2_U32: B = A + 4 * (offset1[7] ?
    {A[31], A[31:17]} : {offset1[6], offset1[6:0], offset0})); the bits that say where the second is are none of A's."""
    if offset >> 15 & 1:
        further, address = address >> 17, address & 0x1FFFF
    else:
        further = offset & 0x7FFF
    further -= (further & 0x4000) << 1
    return address, (address + 4 * further) & 0xFFFFFFFF


@dataclass(frozen=True)
class Range:
    """A V# and the sizes that its fields mean, for an instruction that has an index or none, a format or none.

    AMD, "GCN3" and "Vega" ISA Reference Guides, "Buffer Addressing" and "Range checking"; that from gfx9 on the scalar
    offset counts, that thread numbers are not tested without an index, and that the vector's and the instruction's
    offsets wrap, is measured (ROCm/rocm-systems, PR 10928).
    """

    descriptor: int
    isa: str
    indexed: bool
    formatted: bool
    soffset: int

    def place(self, lane: int, index: int, offset: int, fixed: int, more: int, nbytes: int) -> int | None:
        """The address of ``nbytes`` bytes, ``more`` behind where a lane's access begins; None outside."""
        words = self.descriptor
        traits = TRAITS[self.isa]
        newer = traits.counts_by_index
        old = not newer and not traits.counts_buffer_bytes
        base, stride, records = words & (1 << 48) - 1, words >> 48 & 0x3FFF, words >> 64 & 0xFFFFFFFF
        high, swizzled = words >> 96, words >> 63 & 1
        thread_numbers = bool(high >> 23 & 1)
        if not self.indexed:
            index = 0
        if thread_numbers and (swizzled or not self.indexed or not newer):
            index += lane
            if not old and not (newer and self.formatted):
                stride += (high >> 15 & 15) << 14
        start = offset + fixed & 0xFFFFFFFF if newer else offset + fixed
        at = start + more
        where = index * stride + at
        if swizzled:
            element, group = 4 if newer else 2 << (high >> 19 & 3), 8 << (high >> 21 & 3)
            where = (index // group * stride + at // element * element) * group + index % group * element + at % element
        if old:
            counts_elements = stride > 0
        elif newer:
            counts_elements = stride > 0 and self.indexed
        else:
            counts_elements = stride > 0 and bool(swizzled)
        if thread_numbers and not self.indexed and newer:
            inside = True
        elif counts_elements:
            inside = index < records and not (swizzled and at >= stride)
        else:
            counted = at if old or newer else index * stride + at
            inside = counted + nbytes + self.soffset <= records
        return base + self.soffset + where if inside else None


def _buffer(instruction: Instruction, isa: str, read: Read) -> list[Callable[[int], Place]]:
    """Addresses by a V#: AMD, Vega ISA Reference Guide, "Buffer Addressing"; addr64: Southern Islands ISA Reference
    Guide. Dwords are tested each for itself, but those of an atomic operation or of an element with a format."""
    fields = instruction.fields
    descriptor, soffset, address = read("RSRC")[0], read("SOFFSET")[0], read("ADDR")
    result: list[Callable[[int], Place]] = []
    found = Range(descriptor, isa, bool(fields["idxen"]), "dfmt" in fields, soffset)
    held = TYPE_BITS[instruction.row.operands[0].type] // 8  # D, or DATA of stores
    whole = held if "dfmt" in fields or "atomic" in instruction.row.flags else 0
    small = min([4, *(BITS[access.type] // 8 for access in semantics(instruction.row).accesses)])
    for lane in range(LANES):
        if fields.get("addr64"):
            start = (descriptor & (1 << 48) - 1) + soffset + fields["offset"] + address[lane]
            result.append(lambda n, start=start: ("global", start + n))  # type: ignore[misc]
            continue
        index, offset = 0, 0
        if fields["idxen"] and fields["offen"]:
            index, offset = address[lane] & 0xFFFFFFFF, address[lane] >> 32
        elif fields["idxen"]:
            index = address[lane]
        elif fields["offen"]:
            offset = address[lane]

        def place(n: int, lane: int = lane, index: int = index, offset: int = offset) -> Place:
            at = found.place(lane, index, offset, fields["offset"], n, small)
            if whole and found.place(lane, index, offset, fields["offset"], 0, whole) is None:
                at = None
            return ("nothing", 0) if at is None else ("global", at)

        result.append(place)
    return result


def fault(error: AccessError, instruction: Instruction, text: str, lane: int | None) -> KernelFault:
    """The error that the user sees."""
    who = "" if lane is None else f", lane {lane}"
    return KernelFault(f"{text} at {instruction.address:#x}{who}: {error}")

"""Input: fetches of the data shares. Output: accesses to the R700's LDS, where each work-item writes its own part, and
to the GDS of later chips."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.emulate.vliw import lds
from headwater.emulate.vliw.clause import Clause
from headwater.emulate.vliw.elements import source, write
from headwater.emulate.vliw.layout import LAUNCH
from headwater.emulate.vliw.watch import Watch
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.helpers import LDS
from headwater.emulate.wave.layout import WAVE
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART_LANES, PARTS, Mask
from headwater.isa.vliw.model import Fetch
from headwater.isa.vliw.semantics import semantics


def translate(c: Clause, fetch: Fetch, pc: int) -> None:
    """One fetch of a data share."""
    f, name = fetch.fields, fetch.row.name
    if f["burst_count"] or f["src_rel_mode"] or f["dst_rel_mode"] or "global" in fetch.row.flags:
        c.unsupported(pc)
    elif name == "LOCAL_DS_WRITE":
        _write(c, fetch, pc)
    elif name == "LOCAL_DS_READ":
        _read(c, fetch, pc)
    elif semantics(fetch.row).unsupported or f["alloc_consume"] or f["uav_index_mode"]:
        c.unsupported(pc)
    else:
        _global(c, fetch, pc)


def _address(c: Clause, dword: Value) -> Address:
    """The address of a dword of the LDS."""
    base, slot, how = c.fixed("lds", LDS)
    low = c.b.splat(c.b.binary("shl", dword, c.b.constant("u32", 2)), PART_LANES)
    return Address(base, low.text, None, how, slot)


def _write(c: Clause, fetch: Fetch, pc: int) -> None:
    """A work-item writes its own part of the LDS, DST_STRIDE dwords long."""
    f, mask = fetch.fields, c.exec
    wanted = [n for n, name in enumerate("xyzw") if f[f"src_sel_{name}"] != 7]
    watch = Watch(c, pc, "lds", writes=True)

    def thunk(part: int) -> None:
        b = c.b
        at_index = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset['index']}")
        index = b.let("u32", 1, f"load i32, ptr {at_index}, align 4")
        item = b.binary("add", c.lane_numbers(part), b.binary("shl", index, b.constant("u32", 6)))
        first = b.binary("mul", item, b.constant("u32", f["dst_stride"]))
        access = PartAccess(c, part, mask, pc)
        places = [_address(c, b.binary("add", first, b.constant("u32", f["dst_index"] + n))) for n in wanted]
        _report(watch, part, wanted, places, mask)
        for n, at in zip(wanted, places, strict=True):
            value = source(c, f["src_gpr"], f[f"src_sel_{'xyzw'[n]}"], part)
            access.store(at, 4, [b.splat(value, PART_LANES).text])

    c.at_once(thunk)


def _read(c: Clause, fetch: Fetch, pc: int) -> None:
    """A work-item reads the part of the work-item that SRC.x names, from dword SRC.y of it on; with MUX_CNTL 1 each of
    four neighbours gets one component of each one's part."""
    f, mask = fetch.fields, c.exec
    wanted = [n for n, name in enumerate("xyzw") if f[f"dst_wr_{name}"]]
    watch = Watch(c, pc, "lds")

    def thunk(part: int) -> None:
        b = c.b
        stride = _stride(c)
        owner = source(c, f["src_gpr"], f["src_sel_x"], part)
        step = b.constant("u32", 1)
        first = b.binary("add", source(c, f["src_gpr"], f["src_sel_y"], part), b.constant("u32", f["rd_offset"]))
        if f["mux_cntl"] == 1:
            first = b.binary("add", first, b.binary("and", owner, b.constant("u32", 3)))
            owner, step = b.binary("and", owner, b.constant("u32", -4)), stride
        first = b.binary("add", first, b.binary("mul", owner, stride))
        access = PartAccess(c, part, mask, pc)
        places = [_address(c, b.binary("add", first, b.binary("mul", step, b.constant("u32", n)))) for n in wanted]
        if f["mux_cntl"] == 1:
            for at in places:
                watch.report(part, at, 4, mask)
        else:
            _report(watch, part, wanted, places, mask)
        for n, at in zip(wanted, places, strict=True):
            ((dword,),) = access.load(at, [(0, 4)])
            c.regs.write(4 * f["dst_gpr"] + n, part, Value(dword, "u32", PART_LANES))

    c.later(thunk, loads=True)


def _report(watch: Watch, part: int, channels: Sequence[int], places: Sequence[Address], lanes: Mask) -> None:
    """Report dwords that follow each other, from the first to the last of ``channels``: one access."""
    if places:
        watch.report(part, places[0], 4 * (channels[-1] - channels[0] + 1), lanes)


def _stride(c: Clause) -> Value:
    """Dwords of a work-item's part of the LDS: the group's, divided by its work-items."""
    b = c.b
    items = b.constant("u32", 1)
    for axis in range(3):
        at = b.emit(f"getelementptr i8, ptr {c.arguments()}, i64 {LAUNCH.offset['local'] + 4 * axis}")
        items = b.binary("mul", items, b.let("u32", 1, f"load i32, ptr {at}, align 4"))
    _, slot, _ = c.fixed("lds", LDS)
    dwords = b.binary("lshr", b.let("u32", 1, f"trunc i64 {slot.size} to i32"), b.constant("u32", 2))
    return b.binary("udiv", dwords, items)


def _global(c: Clause, fetch: Fetch, pc: int) -> None:
    """An operation on the GDS: SRC.x is the address, SRC.y and z are the data."""
    f = fetch.fields
    c.resources.uses_gds = True
    access = lds.Access(c, fetch.row, pc, global_=True)
    count = len(fetch.row.inputs)

    def read(part: int) -> None:
        sources = [source(c, f["src_gpr"], f[f"src_sel_{axis}"], part) for axis in "xyz"[:count]]
        access.read(part, sources, None)

    c.later(read)
    results = [result for _, result in access.write()]
    if not results:
        return
    c.flush()
    for part in range(PARTS):
        lanes: list[Value] = []
        for result in results:
            value = result[part]
            assert value is not None
            lanes.append(value)
        write(c, fetch, part, [*lanes, *(c.b.constant("u32", 0) for _ in range(4 - len(lanes)))])

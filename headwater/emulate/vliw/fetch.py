"""A fetch of a clause in; code that computes addresses, loads elements and writes them to registers, out.

Vertex fetches read elements of a buffer by an index, texture loads and samples by coordinates; both give 0 outside of
the resource. Reads of scratch memory are here, too.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.emulate.builder import Value
from headwater.emulate.memory import Address, PartAccess
from headwater.emulate.registers import PART_LANES
from headwater.emulate.vliw import datashare, formats, program, sampling
from headwater.emulate.vliw.bindings import NEAREST, Format, vertex_format
from headwater.emulate.vliw.clause import Clause, place
from headwater.emulate.vliw.elements import Lanes, four, load, source, write
from headwater.emulate.vliw.registers import RETURNED
from headwater.isa.vliw.model import Fetch

LOADS = frozenset(("LD", "LDFPTR"))
SAMPLES = frozenset(
    ("SAMPLE", "SAMPLE_L", "SAMPLE_LB", "SAMPLE_LZ", "SAMPLE_G", "SAMPLE_G_L", "SAMPLE_G_LB", "SAMPLE_G_LZ")
)
"""One level of detail is all that a resource has, so that these differ in nothing."""


def translate(c: Clause, number: int, fetch: Fetch) -> None:
    """One fetch."""
    pc = place(c.index, number)
    f, kind, name = fetch.fields, fetch.row.kind, fetch.row.name
    if f["src_rel"] or f["dst_rel"] or f["resource_index_mode"] or f["buffer_index_mode"] or f["sampler_index_mode"]:
        c.unsupported(pc)
        return
    read: Callable[[int], Lanes] | None = None
    if kind == "VTX" and name == "FETCH":
        returned = program.returned_rat(fetch)
        read = _returned(c, returned) if returned is not None else _vertex(c, fetch, pc)
    elif kind == "VTX" and name == "GET_BUFFER_RESINFO":
        read = _buffer_size(c, fetch)
    elif kind == "TEX":
        read = _texture(c, fetch, pc)
    elif name == "READ_SCRATCH":
        _scratch(c, fetch, pc)
        return
    elif kind in ("MEM_DSW", "MEM_DSR", "GDS"):
        datashare.translate(c, fetch, pc)
        return
    if read is None:
        c.unsupported(pc)
        return
    known = read

    def thunk(part: int) -> None:
        write(c, fetch, part, known(part))

    c.later(thunk, loads=True)


# ---- vertex fetches


def _vertex(c: Clause, fetch: Fetch, pc: int) -> Callable[[int], Lanes] | None:
    f = fetch.fields
    name = ("fetch", f["buffer_id"])
    bound = c.resources.bound(name)
    if bound is None or f["structured_read"] or f["lds_req"]:
        return None
    format_: Format | None = bound.format
    if not f["use_const_fields"]:
        format_ = vertex_format(f["data_format"], f["num_format_all"], bool(f["format_comp_all"]))
    if format_ is None:
        return None
    stride = 1 if f["const_buf_no_stride"] else bound.stride
    offset = f["offset"]
    address = c.memory(name, bound)
    mask = c.exec
    known = format_

    def read(part: int) -> Lanes:
        b = c.b
        index = b.splat(source(c, f["src_gpr"], f["src_sel_x"], part), PART_LANES)
        low = index if stride == 1 else b.binary("mul", index, b.constant("u32", stride))
        if offset:
            low = b.binary("add", low, b.constant("u32", offset))
        inside = None
        if not bound.arena:
            inside = b.compare("icmp ult", index, _limit(c, name, offset + known.nbytes, stride))
            low = b.select(inside, low, b.constant("u32", 0))
        return load(c, address(low.text), known, part, mask, inside, pc)

    return read


def _limit(c: Clause, name: tuple[str, int], nbytes: int, stride: int) -> Value:
    """The number of indices from which ``nbytes`` bytes lie in the resource."""
    b = c.b
    size = Value(c.descriptor(name, "size"), "u64")
    last = b.intrinsic("usub.sat", "u64", size, b.constant("u64", nbytes - 1))
    count = b.binary("udiv", b.binary("add", last, b.constant("u64", stride - 1)), b.constant("u64", stride))
    count = b.intrinsic("umin", "u64", count, b.constant("u64", (1 << 32) - 1))
    return b.resize(count, "u32")


def _returned(c: Clause, rat: int) -> Callable[[int], Lanes]:
    def read(part: int) -> Lanes:
        return four(c, [c.regs.read(RETURNED + rat, part)])

    return read


def _buffer_size(c: Clause, fetch: Fetch) -> Callable[[int], Lanes] | None:
    name = ("fetch", fetch.fields["buffer_id"])
    bound = c.resources.bound(name)
    if bound is None or bound.arena:
        return None
    stride = bound.stride

    def read(part: int) -> Lanes:
        b = c.b
        size = Value(c.descriptor(name, "size"), "u64")
        return four(c, [b.resize(b.binary("udiv", size, b.constant("u64", stride)), "u32")])

    return read


# ---- textures


def _texture(c: Clause, fetch: Fetch, pc: int) -> Callable[[int], Lanes] | None:
    f, name = fetch.fields, ("fetch", fetch.fields["resource_id"])
    bound = c.resources.bound(name)
    if bound is None or bound.arena:
        return None
    if fetch.row.name == "GET_TEXTURE_RESINFO":
        return lambda part: four(c, [Value(c.descriptor(name, field), "u32") for field in ("width", "height", "depth")])
    if fetch.row.name not in LOADS | SAMPLES:
        return None
    mask = c.exec
    sampler = c.resources.bindings.samplers.get(f["sampler_id"], NEAREST)
    offsets = [_signed5(f[f"offset_{axis}"]) for axis in "xyz"]

    def read(part: int) -> Lanes:
        coordinates = [source(c, f["src_gpr"], f[f"src_sel_{axis}"], part) for axis in "xyz"]
        texture = sampling.Texture(c, name, bound, part, mask, pc)
        if fetch.row.name in LOADS:
            return texture.load(coordinates, [n >> 1 for n in offsets])
        normalised = [bool(f[f"coord_type_{axis}"]) for axis in "xyz"]
        return texture.sample(coordinates, normalised, [n / 2 for n in offsets], sampler)

    return read


def _signed5(bits: int) -> int:
    """OFFSET_X: a number of half elements (Evergreen ISA, "TEX_WORD2")."""
    return bits - 32 if bits & 16 else bits


# ---- scratch memory


def _scratch(c: Clause, fetch: Fetch, pc: int) -> None:
    f = fetch.fields
    mask = c.exec

    def thunk(part: int) -> None:
        index = source(c, f["src_gpr"], f["src_sel_x"], part) if f["indexed"] else None
        access = PartAccess(c, part, mask, pc)
        for n in range(f["burst_count"] + 1):
            lanes: list[Value] = []
            for channel in range(f["elem_size"] + 1):
                at = scratch_address(c, index, f["array_base"] + n, f["elem_size"], channel, part)
                ((dword,),) = access.load(at, [(0, 4)])
                lanes.append(Value(dword, "u32", PART_LANES))
            lanes += [c.b.constant("u32", 0)] * (4 - len(lanes))
            for channel, name in enumerate("xyzw"):
                sel = f[f"dst_sel_{name}"]
                if sel < 4:
                    c.regs.write(4 * (f["dst_gpr"] + n) + channel, part, lanes[sel])
                elif sel != 7:
                    constant = c.b.constant("u32", formats.ONE if sel == 5 else 0)
                    c.regs.write(4 * (f["dst_gpr"] + n) + channel, part, constant)

    c.later(thunk, loads=True)


def scratch_address(c: Clause, index: Value | None, base: int, elem_size: int, channel: int, part: int) -> Address:
    """Where lanes have one dword of an element of ``elem_size`` + 1 dwords in their private memory."""
    b = c.b
    lanes = b.binary("shl", c.lane_numbers(part), b.constant("u32", 2))
    row = (base * (elem_size + 1) + channel) * 256
    if index is not None:
        moved = b.binary("mul", index, b.constant("u32", (elem_size + 1) * 256))
        lanes = b.binary("add", lanes, moved)
    low = b.binary("add", lanes, b.constant("u32", row)) if row else lanes
    return c.private(low.text)

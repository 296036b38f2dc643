"""Input: a fetch of a clause. Output: code that computes addresses, loads elements and writes them to registers.

Vertex fetches read elements of a buffer by an index, texture loads and samples by coordinates; both give 0 outside of
the resource. Reads of scratch memory are here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headwater.emulate.vliw import datashare, formats, program, sampling, scratch
from headwater.emulate.vliw.bindings import NEAREST, Format, vertex_format
from headwater.emulate.vliw.clause import Clause, place
from headwater.emulate.vliw.elements import Lanes, accessing, four, index_limit, load, source, write
from headwater.emulate.vliw.registers import RETURNED
from headwater.emulate.vliw.watch import Watch, reports_first
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.lower_float import lower
from headwater.emulate.wave.memory import Address, PartAccess
from headwater.emulate.wave.registers import PART, PART_LANES, PART_MASK, Mask
from headwater.isa.semantics.model import Node
from headwater.isa.vliw.model import Fetch


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
    known, watch = format_, Watch(c, pc, "vertex", name)

    def element(part: int) -> tuple[Value, Value, Value | None]:
        """The index, the byte that it lies at, and which lanes' are in the resource."""
        b = c.b
        index = b.splat(source(c, f["src_gpr"], f["src_sel_x"], part), PART_LANES)
        low = index if stride == 1 else b.binary("mul", index, b.constant("u32", stride))
        if bound.arena:  # an index that is negative is outside, whatever is added to it
            return index, b.intrinsic("uadd.sat", "u32", low, b.constant("u32", offset)) if offset else low, None
        low = b.binary("add", low, b.constant("u32", offset))
        return index, low, b.compare("icmp ult", index, index_limit(c, name, offset + known.nbytes, stride))

    def there(low: Value, inside: Value | None) -> Address:
        return address((low if inside is None else c.b.select(inside, low, c.b.constant("u32", 0))).text)

    def report(part: int) -> None:
        _, low, inside = element(part)
        watch.report(part, there(low, inside), known.nbytes, accessing(c, part, inside))

    def read(part: int) -> Lanes:
        index, low, inside = element(part)
        if reports_first(c):  # reads outside give 0, which a check does not take for meant
            if inside is not None:
                low = c.b.select(inside, low, _beyond(c, name, low, known.nbytes))
            return load(c, address(low.text), known, part, None, pc)
        at = there(low, inside)
        watch.report(part, at, known.nbytes, accessing(c, part, inside))
        values = load(c, at, known, part, inside, pc)
        if inside is None or stride != 1 or known.nbytes == 4 or set(known.widths) != {32}:
            return values
        limits = [index_limit(c, name, offset + 4 * k + 4, stride) for k in range(known.nbytes // 4)]
        within = [c.b.compare("icmp ult", index, limit) for limit in limits]
        return _partly(c, address(low.text), within, values, part, pc)

    if reports_first(c):  # what a check touches of it, it then has prefetched for all parts
        c.at_once(report)
    return read


def _partly(c: Clause, at: Address, within: list[Value], values: Lanes, part: int, pc: int) -> Lanes:
    """The lanes of elements of which some dwords are ``within`` the resource: Direct3D 11 gives those, and 0 for the
    others (functional specification, ld_raw)."""
    b = c.b
    outside = b.binary("xor", within[-1], b.vector("u1", [1] * PART_LANES))
    lanes = b.binary("and", b.binary("and", within[0], outside), c.part_mask(c.exec, part))
    bits = b.emit(f"bitcast {PART_MASK} {lanes.text} to i{PART_LANES}")
    some = b.emit(f"icmp ne i{PART_LANES} {bits}, 0")
    before, partly, done = b.block.label, b.label("partly"), b.label("fetched")
    b.branch(some, partly, done)
    b.start(partly)
    found: Lanes = []
    for k, inside in enumerate(within):
        mask = Mask()
        mask.parts[part] = b.binary("and", lanes, inside).text
        (dword,) = PartAccess(c, part, mask, pc).load_anywhere(at.moved(b, 4 * k), 4)
        chosen = b.select(inside, Value(dword, "u32", PART_LANES), b.constant("u32", 0))
        found.append(b.select(lanes, chosen, values[k]))
    after = b.block.label
    b.jump(done)
    b.start(done)
    joined = [
        Value(b.emit(f"phi {PART} [{old.text}, %{before}], [{new.text}, %{after}]"), "u32", PART_LANES)
        for old, new in zip(values, found, strict=False)
    ]
    return [*joined, *values[len(joined) :]]


def _beyond(c: Clause, name: tuple[str, int], low: Value, nbytes: int) -> Value:
    """Bytes of elements that are not inside of a resource; where the address wrapped and would be, one outside."""
    b = c.b
    wrapped = b.compare("icmp ult", low, index_limit(c, name, nbytes, 1))
    return b.select(wrapped, b.constant("u32", (1 << 32) - 1), low)


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
    if fetch.row.name in program.GRADIENTS:
        return _gradients(c, fetch)
    bound = c.resources.bound(name)
    if bound is None or bound.arena:
        return None
    if fetch.row.name == "GET_TEXTURE_RESINFO":
        return lambda part: four(c, [Value(c.descriptor(name, field), "u32") for field in ("width", "height", "depth")])
    loads = "load" in fetch.row.flags
    if not loads and not program.samples(fetch.row):
        return None
    watch = Watch(c, pc, "texture", name)
    sampler = c.resources.bindings.samplers.get(f["sampler_id"], NEAREST)
    offsets = [_signed5(f[f"offset_{axis}"]) for axis in "xyz"]

    def read(part: int) -> Lanes:
        coordinates = [source(c, f["src_gpr"], f[f"src_sel_{axis}"], part) for axis in "xyz"]
        texture = sampling.Texture(c, name, bound, part, pc, watch)
        if loads:
            return texture.load(coordinates, [n >> 1 for n in offsets])
        normalised = [bool(f[f"coord_type_{axis}"]) for axis in "xyz"]
        return texture.sample(coordinates, normalised, [n / 2 for n in offsets], sampler)

    return read


def _gradients(c: Clause, fetch: Fetch) -> Callable[[int], Lanes]:
    """Differences within quads, which are four lanes by rows (see `headwater.emulate.vliw.raster`).

    Denormals are zeros, as in the ALUs: what texture units do with them is not documented."""
    f = fetch.fields
    axis, fine = program.GRADIENTS[fetch.row.name]
    first = [lane & ~3 | (lane & 2 >> axis if fine else 0) for lane in range(PART_LANES)]

    def read(part: int) -> Lanes:
        b = c.b
        slopes = []
        for name in "xyzw":
            value = source(c, f["src_gpr"], f[f"src_sel_{name}"], part)
            text = b.splat(b.bitcast(value, "f32"), PART_LANES).typed
            low, high = (
                b.let("f32", PART_LANES, f"shufflevector {text}, {_POISON}, <{PART_LANES} x i32> <{_numbers(lanes)}>")
                for lanes in (first, [lane + (1 << axis) for lane in first])
            )
            slopes.append(b.bitcast(lower(b, Node("fsub", "f32"), [high, low], c.mode), "u32"))
        return slopes

    return read


_POISON = f"<{PART_LANES} x float> poison"


def _numbers(lanes: list[int]) -> str:
    return ", ".join(f"i32 {lane}" for lane in lanes)


def _signed5(bits: int) -> int:
    """OFFSET_X: a number of half elements (Evergreen ISA, "TEX_WORD2")."""
    return bits - 32 if bits & 16 else bits


# ---- scratch memory


def _scratch(c: Clause, fetch: Fetch, pc: int) -> None:
    f = fetch.fields
    dwords = f["elem_size"] + 1

    def index(part: int) -> Value | None:
        return source(c, f["src_gpr"], f["src_sel_x"], part) if f["indexed"] else None

    def put(part: int, number: int, found: Mapping[int, Value]) -> None:
        for channel, name in enumerate("xyzw"):
            sel = f[f"dst_sel_{name}"]
            if sel != 7:
                value = found.get(sel, c.b.constant("u32", formats.ONE if sel == 5 else 0))
                c.regs.write(4 * (f["dst_gpr"] + number) + channel, part, value)

    burst = scratch.Burst(pc, f["array_base"], dwords, f["burst_count"] + 1, (1 << dwords) - 1, index)
    scratch.load(c, burst, put)

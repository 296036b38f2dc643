"""Input: fetches, exports and memory writes of the reference interpreter. Output: bytes of the resources, lane after
lane."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from headwater.chips.vliw_isas import Traits
from headwater.emulate.vliw.bindings import NEAREST, Format, Name, Sampler, vertex_format
from headwater.emulate.vliw.operands import SHARED_LIMIT
from headwater.emulate.vliw.program import (
    EXPORT_PIXEL,
    GRADIENTS,
    is_returning,
    memory_resource,
    reads_scratch,
    returned_rat,
    samples,
)
from headwater.emulate.vliw.registers import PIXEL, RETURNED
from headwater.emulate.wave.evaluate_numpy import Array, evaluate
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import AccessError, Bytes, FlatMemory
from headwater.errors import KernelFault
from headwater.isa.semantics.model import Mode, Semantics
from headwater.isa.semantics.types import BITS
from headwater.isa.vliw import table
from headwater.isa.vliw.model import AluOp, Cf, Fetch
from headwater.isa.vliw.semantics import semantics

if TYPE_CHECKING:
    from headwater.emulate.vliw.reference import Wave

_ONE = 0x3F800000
_MASKED = 7


@dataclass
class Resource:
    """Memory of a resource, its format and extents in elements."""

    data: Bytes
    format: Format
    extents: tuple[int, ...] = ()
    pitch: int = 0
    slice: int = 0
    stride: int = 1


@dataclass
class Memories:
    """What a work-group sees. Resources that are not in ``resources`` are the arena."""

    resources: dict[Name, Resource] = field(default_factory=dict)
    arena: FlatMemory = field(default_factory=FlatMemory)
    samplers: dict[int, Sampler] = field(default_factory=dict)
    lds: Bytes = field(default_factory=lambda: bytearray(32768))
    shared: Array = field(default_factory=lambda: np.zeros((4 * SHARED_LIMIT, LANES), np.uint32))
    """The SIMD engine's shared registers: components and lanes."""

    scratch: dict[tuple[int, int], int] = field(default_factory=dict)
    """Dwords of work-items' private memory by wavefront × 64 + lane and number."""
    strides: dict[Name, int] = field(default_factory=dict)
    """Bytes from one index of a vertex fetch to the next in resources that are the arena, where it is not one."""

    def constants(self, bank: int, numbers: Array, channel: int) -> Array:
        """A channel of vec4 of a constant buffer; 0 beyond its end."""
        data = self.resources["constant", bank].data
        places = [16 * int(n) + 4 * channel for n in numbers]
        return np.array([_dword(data, at) if at + 4 <= len(data) else 0 for at in places], np.uint32)

    def inside(self, name: Name, at: int, nbytes: int) -> bool:
        """Whether bytes are in a resource, or in the arena, which raises AccessError outside of an allocation."""
        found = self.resources.get(name)
        return found is None or 0 <= at <= len(found.data) - nbytes

    def read(self, name: Name, at: int, nbytes: int) -> bytes:
        """Bytes of a resource or of the arena."""
        found = self.resources.get(name)
        if found is None:
            return self.arena.read(at, nbytes)
        return bytes(found.data[at : at + nbytes]) if at >= 0 and at + nbytes <= len(found.data) else bytes(nbytes)

    def store(self, name: Name, at: int, data: bytes) -> None:
        """The same for stores; what is outside of a resource is dropped."""
        found = self.resources.get(name)
        if found is None:
            self.arena.write(at, data)
        elif at >= 0 and at + len(data) <= len(found.data):
            found.data[at : at + len(data)] = data


def _dword(data: Bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


# ---- formats


def unpack(format_: Format, data: bytes) -> list[int]:
    """The lanes of an element, 32 bits each; those it lacks are 0, 0, 0, 1."""
    whole = int.from_bytes(data, "little")
    lanes = []
    for width in format_.widths:
        field_ = whole & ((1 << width) - 1)
        whole >>= width
        negative = field_ - (1 << width) if field_ >> (width - 1) else field_
        if format_.kind == "f":
            value = field_ if width == 32 else _float(float(np.uint16(field_).view(np.float16)))
        elif format_.kind in ("u", "i"):
            value = (field_ if format_.kind == "u" else negative) & 0xFFFFFFFF
        elif format_.kind in ("us", "is"):
            value = _float(np.float32(field_ if format_.kind == "us" else negative))
        else:
            number, largest = (field_, (1 << width) - 1) if format_.kind == "un" else (negative, (1 << width - 1) - 1)
            value = _float(max(np.float32(number) / np.float32(largest), np.float32(-1)))
        lanes.append(value)
    return lanes + [0, 0, 0, _ONE][len(lanes) :]


def pack(format_: Format, lanes: Sequence[int]) -> bytes:
    """An element of its lanes."""
    whole, at = 0, 0
    for width, lane in zip(format_.widths, lanes, strict=False):
        signed = lane - (1 << 32) if lane >> 31 else lane
        number = struct.unpack("<f", struct.pack("<I", lane))[0]
        if format_.kind == "f":
            with np.errstate(over="ignore"):
                value = lane if width == 32 else int(np.float32(number).astype(np.float16).view(np.uint16))
        elif format_.kind == "u":
            value = min(lane, (1 << width) - 1)
        elif format_.kind == "i":
            value = min(max(signed, -(1 << width - 1)), (1 << width - 1) - 1)
        else:
            low, largest = (0.0, (1 << width) - 1) if format_.kind == "un" else (-1.0, (1 << width - 1) - 1)
            inside = (
                0.0 if math.isnan(number) and low == 0.0 else low if math.isnan(number) else min(max(number, low), 1)
            )
            value = int(np.rint(np.float32(inside) * np.float32(largest)))
        whole |= (value & ((1 << width) - 1)) << at
        at += width
    return whole.to_bytes(format_.nbytes, "little")


def _float(value: Any) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


# ---- fetches


def fetch(wave: Wave, one: Fetch) -> None:
    """One fetch of a clause, for the lanes that execute."""
    f, name = one.fields, one.row.name
    rat = returned_rat(one)
    if name in GRADIENTS:
        _gradients(wave, one)
        return
    for lane in np.flatnonzero(wave.active):
        if rat is not None:
            lanes = [int(wave.registers[RETURNED + rat, lane]), 0, 0, _ONE]
        elif name == "FETCH":
            lanes = _vertex(wave, one, int(lane))
        elif one.row.kind == "TEX":
            lanes = _texture(wave, one, int(lane))
        elif name == "READ_SCRATCH":
            index = _source(wave, f["src_gpr"], f["src_sel_x"], int(lane)) if f["indexed"] else 0
            for n in range(f["burst_count"] + 1):
                lanes = _scratch_element(wave, int(lane), f["array_base"] + n + index, f["elem_size"])
                _put(wave, one, f["dst_gpr"] + n, int(lane), lanes)
            continue
        else:
            raise KernelFault(f"{one.row.mnemonic} is not supported")
        _put(wave, one, f["dst_gpr"], int(lane), lanes)


def _flushed(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def _gradients(wave: Wave, one: Fetch) -> None:
    """Differences between the pixels of quads, four lanes by rows; denormals are zeros, as in the ALUs."""
    f = one.fields
    axis, fine = GRADIENTS[one.row.name]
    found = np.zeros((4, LANES), np.float32)
    for channel, letter in enumerate("xyzw"):
        read = [_source(wave, f["src_gpr"], f[f"src_sel_{letter}"], lane) for lane in range(LANES)]
        values = _flushed(np.array(read, np.uint32).view(np.float32).reshape(-1, 2, 2))
        with np.errstate(all="ignore"):
            slopes = _flushed(np.diff(values, axis=2 - axis))
        if not fine:
            slopes = slopes[:, :1, :1]
        found[channel] = np.broadcast_to(slopes, values.shape).reshape(-1)
    for lane in np.flatnonzero(wave.active):
        _put(wave, one, f["dst_gpr"], int(lane), found[:, lane].view(np.uint32).tolist())


def _put(wave: Wave, one: Fetch, gpr: int, lane: int, lanes: Sequence[int]) -> None:
    for channel, name in enumerate("xyzw"):
        sel = one.fields[f"dst_sel_{name}"]
        if sel != 7:
            wave.registers[4 * gpr + channel, lane] = lanes[sel] if sel < 4 else _ONE if sel == 5 else 0


def _source(wave: Wave, gpr: int, sel: int, lane: int) -> int:
    if sel >= 4:
        return _ONE if sel == 5 else 0
    return int(wave.registers[4 * gpr + sel, lane])


def _vertex(wave: Wave, one: Fetch, lane: int) -> list[int]:
    f = one.fields
    name = ("fetch", f["buffer_id"])
    found = wave.memories.resources.get(name)
    format_ = vertex_format(f["data_format"], f["num_format_all"], bool(f["format_comp_all"]))
    if f["use_const_fields"] and found is not None:
        format_ = found.format
    if format_ is None:
        raise KernelFault("a vertex fetch has a format that is not supported")
    stride = found.stride if found is not None else wave.memories.strides.get(name, 1)
    stride = 1 if f["const_buf_no_stride"] else stride
    at = _source(wave, f["src_gpr"], f["src_sel_x"], lane) * stride + f["offset"]
    if not wave.memories.inside(name, at, format_.nbytes):
        if stride != 1 or set(format_.widths) != {32} or not wave.memories.inside(name, at, 4):
            return [0, 0, 0, 0]
        return unpack(format_, b"".join(wave.memories.read(name, at + k, 4) for k in range(0, format_.nbytes, 4)))
    return unpack(format_, wave.memories.read(name, at, format_.nbytes))


def _texture(wave: Wave, one: Fetch, lane: int) -> list[int]:
    f = one.fields
    texture = wave.memories.resources["fetch", f["resource_id"]]
    axes = len(texture.extents)
    coordinates = [_source(wave, f["src_gpr"], f[f"src_sel_{axis}"], lane) for axis in "xyz"][:axes]
    halves = [(f[f"offset_{axis}"] ^ 16) - 16 for axis in "xyz"][:axes]
    if one.row.name == "GET_TEXTURE_RESINFO":
        return [*texture.extents, *(1,) * (3 - axes), 0]
    if one.row.name == "LD":
        whole = [(x + (n >> 1)) & 0xFFFFFFFF for x, n in zip(coordinates, halves, strict=True)]
        return _texel(texture, whole, None)
    if not samples(one.row):
        raise KernelFault(f"{one.row.mnemonic} is not supported")
    sampler = wave.memories.samplers.get(f["sampler_id"], NEAREST)
    places = []
    for axis, (bits, n) in enumerate(zip(coordinates, halves, strict=True)):
        x = np.uint32(bits).view(np.float32)
        size = np.float32(texture.extents[axis])
        places.append(_place(x, size, bool(f[f"coord_type_{'xyz'[axis]}"]), sampler.wrap[axis]) + np.float32(n / 2))
    if not sampler.linear:
        return _texel(texture, [_wrapped(np.floor(x), texture, a, sampler) for a, x in enumerate(places)], sampler)
    total = np.zeros(4, np.float32)
    lows = [np.floor(x - np.float32(0.5)) for x in places]
    for corner in product((0, 1), repeat=axes):
        weight = np.float32(1)
        whole = []
        for axis, high in enumerate(corner):
            share = places[axis] - np.float32(0.5) - lows[axis]
            weight = weight * (share if high else np.float32(1) - share)
            whole.append(_wrapped(lows[axis] + np.float32(high), texture, axis, sampler))
        lanes = np.array(_texel(texture, whole, sampler), np.uint32).view(np.float32)
        total = total + lanes * weight
    result = total.view(np.uint32).tolist()
    return result[: texture.format.lanes] + [0, 0, 0, _ONE][texture.format.lanes :]


def _place(x: Any, size: Any, normalised: bool, wrap: str) -> Any:
    """A coordinate in elements, brought into the texture where it repeats."""
    if wrap == "clamp" or wrap == "border":
        return x * size if normalised else x
    unit = x if normalised else x / size
    if wrap == "repeat":
        return (unit - np.floor(unit)) * size
    half = unit * np.float32(0.5)
    twice = (half - np.floor(half)) * np.float32(2)
    return (np.float32(2) - twice if twice > 1 else twice) * size


def _wrapped(x: Any, texture: Resource, axis: int, sampler: Sampler) -> int:
    size, wrap = texture.extents[axis], sampler.wrap[axis]
    if math.isnan(x):
        x = np.float32(-1 if wrap == "border" else 0)
    whole = int(min(max(x, -1), size))
    if wrap == "border":
        return whole & 0xFFFFFFFF
    if wrap == "repeat":
        return size - 1 if whole < 0 else 0 if whole >= size else whole
    return min(max(whole, 0), size - 1)


def _texel(texture: Resource, whole: Sequence[int], sampler: Sampler | None) -> list[int]:
    """The element at whole coordinates; outside of the texture 0 or the border's colour in the lanes that it has."""
    format_ = texture.format
    if any(x >= extent for x, extent in zip(whole, texture.extents, strict=True)):
        border = sampler.border if sampler is not None and "border" in sampler.wrap else (0.0,) * 4
        return [_float(colour) for colour in border]
    element = sum(x * step for x, step in zip(whole, (1, texture.pitch, texture.slice), strict=False))
    at = element * format_.nbytes
    return unpack(format_, bytes(texture.data[at : at + format_.nbytes]))


# ---- exports and memory writes


def write(wave: Wave, cf: Cf, traits: Traits) -> None:
    """An export or a memory write."""
    f = cf.fields
    for lane in np.flatnonzero(wave.active & wave.valid):
        for n in range(f["burst_count"] + 1):
            lanes = [int(wave.registers[4 * (f["rw_gpr"] + n) + c, lane]) for c in range(4)]
            if cf.row.kind == "EXPORT":
                _pixel(wave, cf, int(lane), f["array_base"] + n, lanes)
            elif cf.row.kind == "RAT":
                _rat(wave, cf, int(lane), lanes, traits)
            else:
                _memory(wave, cf, int(lane), n, lanes, traits)


def _pixel(wave: Wave, cf: Cf, lane: int, number: int, lanes: Sequence[int]) -> None:
    selects = [cf.fields[f"sel_{axis}"] for axis in "xyzw"]
    if cf.fields["type"] != EXPORT_PIXEL or all(select == _MASKED for select in selects):
        return  # it only ends the program
    chosen = [None if s == _MASKED else lanes[s] if s < 4 else _ONE if s == 5 else 0 for s in selects]
    places = [int(wave.registers[PIXEL + n, lane]) for n in (0, 1)]
    _element(wave.memories.resources["output", number], places, chosen)


def _element(target: Resource, whole: Sequence[int], lanes: Sequence[int | None]) -> None:
    """Store lanes of an element; outside of the resource nothing is stored."""
    if any(x >= extent for x, extent in zip(whole, target.extents, strict=False)):
        return
    format_ = target.format
    element = sum(
        x * step for x, step in zip(whole, (1, target.pitch, target.slice)[: len(target.extents)], strict=False)
    )
    at = element * format_.nbytes
    if all(lane is not None for lane in lanes[: format_.lanes]):
        target.data[at : at + format_.nbytes] = pack(format_, [lane or 0 for lane in lanes])
        return
    one, nbytes = Format(1, format_.bits, format_.kind), format_.bits // 8
    for n, lane in enumerate(lanes[: format_.lanes]):
        if lane is not None:
            target.data[at + n * nbytes : at + (n + 1) * nbytes] = pack(one, [lane])


def _memory(wave: Wave, cf: Cf, lane: int, n: int, lanes: Sequence[int], traits: Traits) -> None:
    f = cf.fields
    index = int(wave.registers[4 * f["index_gpr"], lane]) if f["type"] in (1, 3) else 0
    size = f["elem_size"] + 1
    first = (f["array_base"] + n + index) * size
    for c in range(4):
        if not f["comp_mask"] >> c & 1 or (c >= size and "scratch" in cf.row.flags):
            continue
        if "scratch" in cf.row.flags:
            key = wave.number * LANES + lane, first + c
            if reads_scratch(cf, traits):
                wave.registers[4 * (f["rw_gpr"] + n) + c, lane] = wave.memories.scratch.get(key, 0)
            else:
                wave.memories.scratch[key] = lanes[c]
        else:
            wave.memories.store(memory_resource(cf), 4 * (first + c), lanes[c].to_bytes(4, "little"))


def _scratch_element(wave: Wave, lane: int, number: int, elem_size: int) -> list[int]:
    first = number * (elem_size + 1)
    found = [wave.memories.scratch.get((wave.number * LANES + lane, first + c), 0) for c in range(elem_size + 1)]
    return found + [0] * (4 - len(found))


def _rat(wave: Wave, cf: Cf, lane: int, lanes: Sequence[int], traits: Traits) -> None:
    f = cf.fields
    name = ("rat", f["rat_id"])
    row = table.find(traits.name, "RAT_INST", f["rat_inst"])
    if row is None:
        raise KernelFault("a RAT operation is not known")
    index = [int(wave.registers[4 * f["index_gpr"] + c, lane]) for c in range(3)]
    memories = wave.memories
    if row.name == "STORE_TYPED":
        _element(memories.resources[name], index, [lanes[c] if f["comp_mask"] >> c & 1 else None for c in range(4)])
        return
    if row.name in ("STORE_RAW", "STORE_RAW_FDENORM", "STORE_DWORD"):
        for c in range(4):
            if f["comp_mask"] >> c & 1:
                memories.store(name, 4 * (index[0] + c), lanes[c].to_bytes(4, "little"))
        return
    if row.name in ("STORE_BYTE", "STORE_SHORT"):
        nbytes = 1 if row.name == "STORE_BYTE" else 2
        memories.store(name, index[0], (lanes[0] & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little"))
        return
    second = lanes[traits.compare_component if semantics(row).update == "cmpxchg" else 3]
    old = int.from_bytes(memories.read(name, 4 * index[0], 4), "little")
    if row.name != "NOP_RTN":
        new = updated(semantics(row), old, {"DATA": lanes[0], "DATA1": second})
        memories.store(name, 4 * index[0], new.to_bytes(4, "little"))
    if is_returning(cf):
        wave.registers[RETURNED + f["rat_id"], lane] = old


def updated(what: Semantics, old: int, operands: dict[str, int]) -> int:
    """What an atomic update makes of a dword."""
    values = {name: np.array([bits], np.uint32) for name, bits in operands.items()}
    result = evaluate(what, {**values, "MEM": np.array([old], np.uint32)}, Mode(denorm32=0, ieee=False)).results["MEM"]
    assert isinstance(result, np.ndarray)
    return int(result[0])


# ---- LDS


def local(wave: Wave, op: AluOp, sources: Sequence[Array], lanes: Array) -> list[tuple[str, Array]]:
    """An LDS operation: what goes to which queue."""
    what = semantics(op.row)
    if what.unsupported:
        raise KernelFault(f"{op.row.mnemonic}: {what.unsupported}")
    names = [operand.name for operand in op.row.inputs]
    results = {name: np.zeros(LANES, np.uint32) for name in ("D", "D1") if name in what.types}
    memory = wave.memories.lds
    stores = []
    for lane in np.flatnonzero(lanes):
        values = {name: int(source[lane]) for name, source in zip(names, sources, strict=False)}
        base, own = values["ADDR"], values["ADDR"] + 4 * op.lds_offset & 0xFFFFFFFF
        if what.is_atomic:
            old = int.from_bytes(_local(memory, own, 4), "little")
            given = {n: v for n, v in values.items() if n != "ADDR"}
            memory[own : own + 4] = updated(what, old, given).to_bytes(4, "little")
            if "D" in results:
                results["D"][lane] = old
            continue
        operands = {name: np.array([bits], np.uint32) for name, bits in values.items()}
        operands["OFFSET"] = np.array([4 * op.lds_offset], np.uint32)
        done = evaluate(what, operands, Mode(denorm32=0, ieee=False), load=_loader(memory, base, own))
        for name, result in results.items():
            word = done.results[name]
            assert isinstance(word, np.ndarray)
            result[lane] = word[0]
        for effect in done.effects:
            if effect.kind == "store":
                word = effect.values[0]
                assert isinstance(word, np.ndarray)
                where = effect.values[1] if len(effect.values) > 1 else None
                at = own if where is None else base + int(where[0])
                stores.append((at, word[:1].tobytes()))
    for at, data in stores:
        _local(memory, at, len(data))
        memory[at : at + len(data)] = data
    return [("A" if name == "D" else "B", value) for name, value in results.items()]


def _loader(memory: Bytes, base: int, own: int) -> Callable[[str, Array | None], Array]:
    def load(type_: str, offset: Array | None) -> Array:
        at = own if offset is None else base + int(offset[0]) & 0xFFFFFFFF
        nbytes = BITS[type_] // 8
        return np.frombuffer(_local(memory, at, nbytes), f"u{nbytes}").copy()

    return load


def _local(memory: Bytes, at: int, nbytes: int) -> bytes:
    if at + nbytes > len(memory):
        raise AccessError(f"{nbytes} bytes at byte {at} are beyond the {len(memory)} bytes of local memory")
    return bytes(memory[at : at + nbytes])

"""Input: memory instructions and a wavefront. Output: memory and registers after them, for the interpreter
(reference.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from headwater.emulate.gcn import reference_images
from headwater.emulate.gcn.reference_registers import (
    ACC,
    Wave,
    assign,
    dwords_of,
    named_value,
    raw_value,
    register_number,
)
from headwater.emulate.wave.evaluate_numpy import Array, Wide, evaluate
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import AccessError, Memories, Place, fault, places, second_place
from headwater.errors import KernelFault
from headwater.isa.gcn import images, residency
from headwater.isa.gcn.model import (
    M0,
    Instruction,
    Register,
)
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.model import Semantics
from headwater.isa.semantics.types import BITS


def scalar_memory(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    """SMEM and SMRD."""
    base = instruction.source("ADDR")
    start, begin, limit = 0, 0, None
    if base is not None:
        words = dwords_of(raw_value(wave, base, instruction))
        start = int(words[0][0]) | int(words[1][0]) << 32
        if len(words) == 4:
            start &= (1 << 48) - 1
            start &= -4
            limit = int(words[2][0]) * (int(words[1][0]) >> 16 & 0x3FFF or 1)
        moving = instruction.source("SOFFSET")
        offset = instruction.fields["offset_bytes"]
        if moving is not None:
            offset += int(dwords_of(raw_value(wave, moving, instruction))[0][0])
        begin, start = start, start + offset & ~3
    operands = {name: named_value(wave, instruction, name, what) for name in what.reads - {"MEM"}}
    memory = wave.memories.memory

    def inside(at: int) -> bool:
        """Whether a dword of a buffer is inside of it: outside is 0, and nothing is stored."""
        return limit is None or 0 <= at - begin <= limit - 4

    def load(type_: str, offset: Array | None) -> Wide:
        at = range(start, start + BITS[type_] // 8, 4)
        return _as_lanes([b"".join(memory.read(n, 4) if inside(n) else bytes(4) for n in at)], type_)

    outside = False
    clock = {"memtime": lambda: wave.executed, "realtime": lambda: wave.executed}
    try:
        if what.is_atomic:
            width = BITS[what.types["D"]] // 8
            outside = not (inside(start) and inside(start + width - 4))
            operands["MEM"] = _as_lanes([bytes(width) if outside else memory.read(start, width)], what.types["D"])
        done = evaluate(what, operands, wave.settings, load=load, functions=clock)
        for target, value in done.results.items():
            if target == "MEM":
                if not outside:
                    memory.write(start, _bytes(value, 0))
            elif instruction.dest(target) is not None:
                assign(wave, instruction, target, value, what)
        for effect in done.effects:
            if effect.kind == "store":
                data = _bytes(effect.values[0], 0)
                for n in range(0, len(data), 4):
                    if inside(start + n):
                        memory.write(start + n, data[n : n + 4])
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, None) from None


def vector_memory(wave: Wave, instruction: Instruction, what: Semantics) -> None:
    """DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG."""
    fields = instruction.fields
    if images.texels(instruction) is not None and not fields.get("lds"):
        _texels(wave, instruction)
        return
    to_lds = instruction.row.encoding == "MUBUF" and fields.get("lds")
    if not to_lds:
        instruction, status = residency.without_status(instruction)
        if status is not None:
            vector_memory(wave, instruction, what)
            register = status.index + (ACC if status.file == "a" else 0)
            wave.vectors[register][_active(wave)] = 0
            return
    fields = instruction.fields
    if fields.get("tfe") or (to_lds and images.texels(instruction) is not None):
        what_of = "tfe" if fields.get("tfe") else "a format and lds"
        raise KernelFault(f"{instruction.row.name} at {instruction.address:#x}: {what_of} are not emulated")
    operands = {name: named_value(wave, instruction, name, what) for name in what.reads - {"MEM", "OTHER"}}
    active = _active(wave)
    counts = what.effect("count")
    if counts is not None:
        _count(wave, instruction, what, 1 if counts.text == "up" else -1)
        return

    def read(name: str) -> list[int]:
        source = instruction.source(name)
        if source is None:
            return [0] * LANES
        words = [np.broadcast_to(w, LANES) for w in dwords_of(raw_value(wave, source, instruction))]
        return [sum(int(w[lane]) << 32 * n for n, w in enumerate(words)) for lane in range(LANES)]

    def where(offset: Array | None) -> list[Callable[[int], Place]]:
        extra = None if offset is None else [int(x) for x in np.broadcast_to(offset, LANES)]
        return places(instruction, wave.isa, read, extra)

    lane: int | None = None

    def load(type_: str, offset: Array | None) -> Wide:
        nonlocal lane
        at = where(offset)
        values = [bytes(BITS[type_] // 8)] * LANES
        for lane in active:
            values[lane] = _get(wave.memories, at[lane], lane, BITS[type_] // 8)
        return _as_lanes(values, type_)

    try:
        if what.effect("halves") is not None:
            _exchange_halves(wave, instruction, what, operands, where)
            return
        if "OTHER" in what.reads:
            _by_second(wave, instruction, what, read("ADDR"))
            return
        if what.is_atomic:
            _atomic(wave, instruction, what, operands, where(None))
            return
        done = evaluate(what, operands, wave.settings, load=load)
        for effect in done.effects:
            if effect.kind != "store":
                continue
            offset = effect.values[1] if len(effect.values) > 1 else None
            at = where(offset if isinstance(offset, np.ndarray) else None)
            for lane in active:
                _put(wave.memories, at[lane], lane, _bytes(effect.values[0], lane))
        if to_lds:
            start = (int(wave.scalars[M0]) & 0xFFFF) + fields["offset"]
            for lane in active:
                wave.memories.lds.write(start + 4 * lane, _bytes(done.results["D"], lane))
            return
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, lane) from None
    for target, value in done.results.items():
        assign(wave, instruction, target, value, what)


def _count(wave: Wave, instruction: Instruction, what: Semantics, sign: int) -> None:
    """ds_append and ds_consume: one addition for all lanes."""
    if not _active(wave):
        return
    memory = wave.memories.gds if instruction.fields.get("gds") else wave.memories.lds
    address = (int(wave.scalars[M0]) & 0xFFFF) + instruction.fields["offset"]
    try:
        old = int.from_bytes(memory.read(address, 4), "little")
        memory.write(address, (old + sign * len(_active(wave)) & 0xFFFFFFFF).to_bytes(4, "little"))
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, _active(wave)[0]) from None
    assign(wave, instruction, "D", np.full(LANES, old, np.uint32), what)


def _texels(wave: Wave, instruction: Instruction) -> None:
    """Instructions on images and formatted buffers."""

    def scalar(name: str) -> int:
        source = instruction.source(name)
        words = [] if source is None else dwords_of(raw_value(wave, source, instruction))
        return sum(int(word[0]) << 32 * n for n, word in enumerate(words))

    def vectors(registers: Iterable[int]) -> list[list[int]]:
        return [[int(value) for value in wave.vectors[n]] for n in registers]

    data, dest = instruction.source("DATA"), instruction.dest("D")
    held = data.value if data is not None else dest.register if dest is not None else None
    first = held.index + (ACC if held.file == "a" else 0) if isinstance(held, Register) else 0
    one = reference_images.Operation(
        instruction,
        wave.isa,
        wave.memories.memory,
        _active(wave),
        scalar("RSRC"),
        scalar("SAMP"),
        scalar("SOFFSET") & 0xFFFFFFFF,
        vectors(images.address_registers(instruction)),
        vectors(range(first, first + held.dwords)) if isinstance(held, Register) else [],
    )
    lane: int | None = None

    def report(number: int) -> None:
        nonlocal lane
        lane = number

    try:
        if one.what.kind == "atomic":
            _texel_atomic(wave, instruction, one)
            return
        result = reference_images.run(one, report)
    except AccessError as error:
        raise fault(error, instruction, instruction.row.name, lane) from None
    if dest is not None:
        for n, row in enumerate(result):
            old = wave.vectors[first + n]
            wave.vectors[first + n] = np.where(wave.active, np.array(row, np.uint32), old)


def _texel_atomic(wave: Wave, instruction: Instruction, one: reference_images.Operation) -> None:
    """An atomic on an image; lanes outside of it get 0."""
    what = semantics(images.atomic_row(instruction, wave.isa))
    dwords = images.atomic_bytes(instruction) // 4
    type_ = what.types["D"]
    words = [np.array(row, np.uint32) for row in one.data[: len(one.data) - instruction.fields.get("tfe", 0)]]
    data: Wide = tuple(words) if len(words) > 2 else words[0]
    if len(words) == 2:
        data = words[0].astype(np.uint64) | words[1].astype(np.uint64) << np.uint64(32)
    mode = replace(wave.settings, round32=0, round16_64=0)
    returned = [bytes(4 * dwords)] * LANES
    for lane, place in enumerate(reference_images.atomic_places(one, 4 * dwords)):
        if place is None:
            continue
        returned[lane] = wave.memories.memory.read(place, 4 * dwords)
        operands = {"DATA": _slice(data, lane, 1), "MEM": _as_lanes([returned[lane]], type_)}
        wave.memories.memory.write(place, _bytes(dict(evaluate(what, operands, mode).results)["MEM"], 0))
    if instruction.dest("D") is not None:
        assign(wave, instruction, "D", _as_lanes(returned, f"u{32 * dwords}"), what)
        if instruction.fields.get("tfe"):
            status = register_number(wave, instruction, instruction.dests[0]) + dwords
            wave.vectors[status] = np.where(wave.active, np.uint32(0), wave.vectors[status])


def _atomic(
    wave: Wave,
    instruction: Instruction,
    what: Semantics,
    operands: dict[str, Wide],
    at: Sequence[Callable[[int], Place]],
) -> None:
    """One lane after the other; memory rounds to nearest, whatever MODE says."""
    mode = replace(wave.settings, round32=0, round16_64=0)
    type_ = what.types.get("D") or what.types["DATA"]
    per_lane = 2 if what.packed else 1
    width = BITS[type_] // 8 * per_lane
    dest = instruction.dest("D")
    returned = [bytes(width)] * LANES
    for lane in _active(wave):
        old = _get(wave.memories, at[lane], lane, width)
        returned[lane] = old
        one = {name: _slice(value, lane, per_lane) for name, value in operands.items()}
        one["MEM"] = _as_lanes([old[n : n + width // per_lane] for n in range(0, width, width // per_lane)], type_)
        value = dict(evaluate(what, one, mode).results)["MEM"]
        new = b"".join(_bytes(value, n) for n in range(per_lane))
        _put(wave.memories, at[lane], lane, new)
    if dest is not None:
        plain = replace(what, packed=False)
        assign(wave, instruction, "D", _as_lanes(returned, f"u{8 * width}"), plain)


def _exchange_halves(
    wave: Wave,
    instruction: Instruction,
    what: Semantics,
    operands: dict[str, Wide],
    where: Callable[[Array | None], list[Callable[[int], Place]]],
) -> None:
    """Of each lane both places are read before either is written."""
    type_ = what.types["D"]
    width = BITS[type_] // 16
    returned = [bytes(2 * width)] * LANES
    done = evaluate(what, {**operands, "MEM": _as_lanes(returned, type_)}, wave.settings)
    new = done.results["MEM"]
    offsets = next(effect for effect in done.effects if effect.kind == "halves").values
    at = [where(np.asarray(offset)) for offset in offsets]
    for lane in _active(wave):
        returned[lane] = b"".join(_get(wave.memories, half[lane], lane, width) for half in at)
        data = _bytes(new, lane)
        for n, half in enumerate(at):
            _put(wave.memories, half[lane], lane, data[n * width : (n + 1) * width])
    assign(wave, instruction, "D", _as_lanes(returned, type_), what)


def _by_second(wave: Wave, instruction: Instruction, what: Semantics, addresses: Sequence[int]) -> None:
    """Memory is updated by what lies at a second place in it."""
    mode = replace(wave.settings, round32=0, round16_64=0)
    memory = wave.memories.gds if instruction.fields.get("gds") else wave.memories.lds
    type_ = what.types["MEM"]
    for lane in _active(wave):
        first, second = second_place(addresses[lane], instruction.fields["offset"])
        try:
            found = {
                name: _as_lanes([memory.read(place, BITS[type_] // 8)], type_)
                for name, place in (("OTHER", second), ("MEM", first))
            }
        except AccessError as error:
            raise fault(error, instruction, instruction.row.name, lane) from None
        memory.write(first, _bytes(dict(evaluate(what, found, mode).results)["MEM"], 0))


def _active(wave: Wave) -> list[int]:
    return [int(lane) for lane in np.flatnonzero(wave.active)]


def _slice(value: Wide, lane: int, per_lane: int) -> Wide:
    if isinstance(value, tuple):
        return tuple(w if len(w) == 1 else w[lane : lane + 1] for w in value)
    return value if len(value) == 1 else value[lane * per_lane : (lane + 1) * per_lane]


def _get(memories: Memories, at: Callable[[int], Place], lane: int, nbytes: int) -> bytes:
    """Bytes of a lane's access, by pieces that lie together."""
    step = 4 if nbytes % 4 == 0 else nbytes
    return b"".join(memories.read(at(n)[0], lane, at(n)[1], step) for n in range(0, nbytes, step))


def _put(memories: Memories, at: Callable[[int], Place], lane: int, data: bytes) -> None:
    step = 4 if len(data) % 4 == 0 else len(data)
    for n in range(0, len(data), step):
        memories.write(at(n)[0], lane, at(n)[1], data[n : n + step])


def _as_lanes(values: Sequence[bytes], type_: str) -> Wide:
    """Each lane's bytes as a value."""
    width = BITS[type_] // 8
    whole = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width)
    if width <= 8:
        return np.ascontiguousarray(whole).view(f"uint{8 * width}").reshape(-1)
    words = np.ascontiguousarray(whole).view(np.uint32)
    return tuple(words[:, n].copy() for n in range(width // 4))


def _bytes(value: Wide, lane: int) -> bytes:
    parts = value if isinstance(value, tuple) else (value,)
    return b"".join(w[lane if len(w) > 1 else 0].tobytes() for w in parts)

"""Image and formatted buffer instructions one lane at a time, on the reference interpreter's registers and memory.

Written apart from texels.c, from the same documents; fractions are exact, and floats rounded where docs/emulator.md
says that results are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.reference_texels import Format, bits_of, float_of, format_of, from_half, half_bits
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.reference_memory import AccessError, FlatMemory, Range
from headwater.isa.gcn import images
from headwater.isa.gcn.model import Instruction
from headwater.isa.gcn.resources import (
    BORDER_BLACK,
    BORDER_REGISTER,
    BORDER_WHITE,
    BUFFER,
    CLAMP_HALF_BORDER,
    IMAGE_1D,
    IMAGE_1D_ARRAY,
    IMAGE_3D,
    IMAGE_CUBE,
    IMAGE_MSAA,
    MIP_LINEAR,
    MIP_POINT,
    MIRROR,
    MIRROR_ONCE_BORDER,
    MIRROR_ONCE_HALF_BORDER,
    MIRROR_ONCE_LAST_TEXEL,
    SAMPLER,
    SEL_X,
    UNORM,
    WRAP,
    get,
    image_fields,
    linear_tiling,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Words: TypeAlias = "Sequence[Sequence[int]]"
"""Registers: for each dword the values of the 64 lanes."""
Place: TypeAlias = int | None
_FAR = 1 << 24
F32 = np.float32


@dataclass
class Operation:
    """An instruction with what it runs on: ``resource``, ``sampler`` as numbers, ``address`` and ``data`` registers."""

    instruction: Instruction
    isa: str
    memory: FlatMemory
    active: Sequence[int]
    resource: int
    sampler: int
    soffset: int
    address: Words
    data: Words

    @property
    def what(self) -> images.Texels:
        """What its row says."""
        found = images.texels(self.instruction)
        assert found is not None
        return found

    @property
    def fields(self) -> Mapping[str, int]:
        """The instruction's."""
        return self.instruction.fields


def run(one: Operation, report_lane: Callable[[int], None]) -> list[list[int]]:
    """Execute an instruction that is no atomic; the registers of the result, with what they held where nothing is
    written."""
    what = one.what
    if one.instruction.row.encoding != "MIMG":
        form = _buffer_format(one)
        places = _buffer_places(one, form)
        return _moved(one, form, places, report_lane)
    image = _image(one)
    if what.kind == "resinfo":
        return _information(one, image)
    if what.kind in ("sample", "gather", "lod"):
        with np.errstate(all="ignore"):
            return _sampled(one, image, report_lane)
    return _moved(one, None if image is None else image.form, _texel_places(one, image), report_lane)


def atomic_places(one: Operation, nbytes: int) -> list[Place]:
    """Where each lane's element lies that an atomic updates; None outside of the image."""
    image = _image(one)
    if image is not None and image.form.data.nbytes != nbytes:
        raise AccessError(f"an atomic of {nbytes} bytes on elements of {image.form.data.nbytes}")
    return _texel_places(one, image)


def _moved(one: Operation, form: Format | None, places: list[Place], report: Callable[[int], None]) -> list[list[int]]:
    """Loads and stores of one element a lane."""
    what = one.what
    raw = ("signed" if what.signed else "unsigned") if what.raw else ""
    result = _empty(one)
    for lane in one.active:
        report(lane)
        place = places[lane]
        if what.kind == "store":
            if place is not None and form is not None:
                values = _given(one, form, lane)
                element = form.element(values if raw else form.unselected(values), raw=bool(raw))
                one.memory.write(place, element)
            continue
        found = [0, 0, 0, 0]
        select = _selects(one)
        if place is not None and form is not None:
            found = form.components(one.memory.read(place, form.data.nbytes), raw)
        if form is None:
            values = [found[0] if s >= SEL_X else bits_of(1.0) if s == 1 else 0 for s in select]
            if _number_format(one) in (4, 5):
                values = [1 if s == 1 else 0 for s in select]
        else:
            values = found if raw else form.selected(found)
        _deliver(one, result, lane, _masked(one, values), form is None or form.floats, raw)
    return result


def _selects(one: Operation) -> tuple[int, ...]:
    if one.instruction.row.encoding == "MTBUF":
        return 4, 5, 6, 7
    fields = image_fields(one.isa) if one.instruction.row.encoding == "MIMG" else BUFFER
    return tuple(get(one.resource, fields, f"dst_sel_{axis}") for axis in "xyzw")


def _number_format(one: Operation) -> int:
    if one.instruction.row.encoding == "MTBUF":
        return one.fields["nfmt"]
    return get(one.resource, image_fields(one.isa) if one.instruction.row.encoding == "MIMG" else BUFFER, "num_format")


def _mask(one: Operation) -> int:
    return one.fields["dmask"] or 1 if one.instruction.row.encoding == "MIMG" else (1 << one.what.components) - 1


def _masked(one: Operation, values: list[int]) -> list[int]:
    return [value for n, value in enumerate(values) if _mask(one) >> n & 1]


def _halves(one: Operation) -> bool:
    return one.what.halves or (one.instruction.row.encoding == "MIMG" and bool(one.fields.get("d16")))


def _unpacked(one: Operation) -> bool:
    return one.what.unpacked or (one.instruction.row.encoding == "MIMG" and TRAITS[one.isa].pads_image_halves)


def _empty(one: Operation) -> list[list[int]]:
    dest = one.instruction.dest("D")
    if dest is None:
        return []
    if "reads_d" in one.instruction.row.flags:
        return [list(row) for row in one.data]
    return [[0] * LANES for _ in range(dest.register.dwords)]


def _deliver(
    one: Operation, result: list[list[int]], lane: int, values: Sequence[int], floats: bool, raw: str = ""
) -> None:
    for n, value in enumerate(values):
        if not _halves(one):
            result[n][lane] = value
            continue
        half = half_bits(value) if floats and not raw else value & 0xFFFF
        if _unpacked(one):
            result[n][lane] = half
        elif one.what.high or n % 2:
            result[n // 2][lane] = result[n // 2][lane] & 0xFFFF | half << 16
        else:
            result[n // 2][lane] = result[n // 2][lane] & 0xFFFF0000 | half


def _given(one: Operation, form: Format, lane: int) -> list[int]:
    """What a store's registers hold, as components in registers' order."""
    values = [0, 0, 0, 0]
    taken = 0
    for n in range(4):
        if not _mask(one) >> n & 1:
            continue
        if not _halves(one):
            values[n] = one.data[taken][lane]
        else:
            word = one.data[taken if _unpacked(one) else taken // 2][lane]
            high = one.what.high or (not _unpacked(one) and taken % 2 == 1)
            half = word >> 16 if high else word & 0xFFFF
            signed = (half - 0x10000 if half >> 15 else half) & 0xFFFFFFFF
            values[n] = from_half(half) if form.floats else signed if form.kind == 5 else half
        taken += 1
    return values


# ---- buffers ---------------------------------------------------------------------------------------------------------


def _buffer_format(one: Operation) -> Format | None:
    data = get(one.resource, BUFFER, "data_format")
    if one.instruction.row.encoding == "MTBUF":
        data = one.fields["dfmt"]
    store = one.what.kind == "store"
    return format_of(data, _number_format(one), _selects(one), one.isa, buffer=True, store=store)


def _buffer_places(one: Operation, form: Format | None) -> list[Place]:
    """An element is inside of the buffer as a whole or not at all."""
    fields = one.fields
    base = get(one.resource, BUFFER, "base")
    found = Range(one.resource, one.isa, bool(fields["idxen"]), True, one.soffset)
    places: list[Place] = [None] * LANES
    if form is None:
        return places
    for lane in one.active:
        registers = [row[lane] for row in one.address]
        if fields.get("addr64"):
            places[lane] = base + one.soffset + fields["offset"] + (registers[0] | registers[1] << 32)
            continue
        index = registers.pop(0) if fields["idxen"] else 0
        offset = registers.pop(0) if fields["offen"] else 0
        places[lane] = found.place(lane, index, offset, fields["offset"], 0, form.data.nbytes)
    return places


# ---- images ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    """A T#."""

    form: Format
    isa: str
    base: int
    type: int
    extents: tuple[int, ...]
    pitch: int
    first_slice: int
    slices: int
    base_level: int
    levels: int
    min_lod: int

    @property
    def axes(self) -> int:
        """Coordinates that are no slice."""
        return len(self.extents)

    @property
    def layered(self) -> bool:
        """Whether it has slices."""
        return self.type in (IMAGE_CUBE, IMAGE_1D_ARRAY, 13)

    def at_level(self, level: int) -> tuple[int, ...]:
        """Extents of a level."""
        return tuple(max(n >> level + self.base_level, 1) for n in self.extents)

    def place(self, level: int, position: Sequence[int], slice_: int) -> int:
        """Where an element lies."""
        nbytes = self.form.data.nbytes
        x, y, z = (*position, 0, 0)[:3]
        z = slice_ + self.first_slice if self.layered else z
        height = self.extents[1] if self.axes > 1 else 1
        level += self.base_level
        if TRAITS[self.isa].has_swizzle_modes:
            rows = [height]
            for _ in range(self.base_level + self.levels - 1):
                rows.append(-(-rows[-1] // 2))
            row = sum(rows) * z + sum(rows[:level]) + y
            return self.base + (row * self.pitch + x) * nbytes
        start = 0
        many = self.base_level + self.levels > 1
        padded = _power(height) if many else height
        for n in range(level + 1):
            lines, pitch = max(padded >> n, 1), self.pitch
            if n:
                step = max(8, 64 // nbytes)
                pitch = -(-max(_power(self.pitch) >> n, 1) // step) * step
                while pitch * lines % max(64, 256 // nbytes):
                    pitch += step
            size = pitch * lines * nbytes
            if n == level:
                return self.base + start + z * size + (y * pitch + x) * nbytes
            slices = _power(self.first_slice + self.slices)
            if not self.layered:
                slices = max(_power(self.extents[2]) >> n, 1) if self.axes > 2 else 1
            start += -(-size * slices // 256) * 256
        raise AssertionError


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def _image(one: Operation) -> Image | None:
    fields = image_fields(one.isa)

    def field(name: str) -> int:
        return get(one.resource, fields, name)

    if field("data_format") == 0:
        return None
    kind = field("type")
    if kind < IMAGE_1D or kind >= IMAGE_MSAA:
        raise AccessError(f"images of type {kind} are not emulated")
    if field("tiling") != linear_tiling(one.isa):
        raise AccessError(f"tiling {field('tiling')} is not emulated")
    if field("compression") and TRAITS[one.isa].has_compressed_images:
        raise AccessError("compressed images are not emulated")
    if one.instruction.fields.get("lwe") and field("min_lod_warn"):
        raise AccessError("warnings of the level of detail are not emulated")
    form = format_of(
        field("data_format"), field("num_format"), _selects(one), one.isa, buffer=False, store=one.what.kind == "store"
    )
    assert form is not None
    axes = {IMAGE_1D: 1, IMAGE_1D_ARRAY: 1, IMAGE_3D: 3}.get(kind, 2)
    extents = tuple(field(name) + 1 for name in ("width", "height", "depth")[:axes])
    layered = kind >= IMAGE_CUBE
    last = field("depth" if TRAITS[one.isa].has_swizzle_modes else "last_array") if layered else 0
    first = field("base_array") if layered else 0
    return Image(
        form,
        one.isa,
        field("base") << 8 | (0 if one.fields.get("r128") else field("base_low")),
        kind,
        extents,
        extents[0] if one.fields.get("r128") else field("pitch") + 1,
        first,
        max(last - first + 1, 0) if layered else 1,
        field("base_level"),
        max(field("last_level") - field("base_level") + 1, 0),
        field("min_lod"),
    )


class Coordinates:
    """The operands of one lane's address, taken one after the other."""

    def __init__(self, one: Operation, image: Image, lane: int) -> None:
        self.registers = [row[lane] for row in one.address]
        what = one.what
        self.narrow = bool(one.fields.get("a16"))
        self.offset = self.registers.pop(0) if what.offset else 0
        self.bias = self.registers.pop(0) if what.bias else 0
        self.reference = self.registers.pop(0) if what.compare else 0
        self.derivatives: list[list[int]] = []
        if what.level == "given":
            self.derivatives = [self._components(image.axes) for _ in range(2)]
        slices = int(image.type == IMAGE_CUBE or (bool(one.fields["da"]) and image.axes < 3))
        rest = image.axes + slices + int(what.level in ("mip", "lod") or what.clamp)
        found = self._components(rest)
        self.position, found = found[: image.axes], found[image.axes :]
        self.slice = found.pop(0) if slices else 0
        self.extra = found.pop(0) if found else 0

    def _components(self, count: int) -> list[int]:
        """Components, two in a register if they are narrow; a new register begins."""
        used = -(-count // 2) if self.narrow else count
        taken, self.registers = self.registers[:used], self.registers[used:]
        if self.narrow:
            taken = [half for word in taken for half in (word & 0xFFFF, word >> 16)]
        return taken[:count]

    def number(self, bits: int) -> float:
        """A component as a float."""
        return float_of(from_half(bits) if self.narrow else bits)


def _texel_places(one: Operation, image: Image | None) -> list[Place]:
    places: list[Place] = [None] * LANES
    if image is None:
        return places
    for lane in one.active:
        c = Coordinates(one, image, lane)
        level = c.extra if one.what.level == "mip" else 0
        if level >= image.levels:
            continue
        slice_ = c.slice if image.layered else 0
        inside = all(x < n for x, n in zip(c.position, image.at_level(level), strict=True))
        if inside and slice_ < image.slices:
            places[lane] = image.place(level, c.position, slice_)
    return places


def _information(one: Operation, image: Image | None) -> list[list[int]]:
    result = _empty(one)
    for lane in one.active:
        level = one.address[0][lane] & (0xFFFF if one.fields.get("a16") else 0xFFFFFFFF)
        values = [0, 0, 0, 0]
        if image is not None and level < image.levels:
            extents = [*image.at_level(level)]
            extents += [image.slices] if image.layered else []
            values = [*[*extents, 0, 0, 0][:3], image.levels]
        for n, value in enumerate(v for k, v in enumerate(values) if one.fields["dmask"] >> k & 1):
            result[n][lane] = value
    return result


# ---- sampling --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tap:
    """An element that a filter reads, or the border, and its weight."""

    place: Place
    weight: Fraction


def _steps(x: float) -> int:
    """A level of detail in 256ths."""
    return math.floor(Fraction(min(x, 127.0)) * 256) if x > -128 else -128 * 256


def _detail(one: Operation, image: Image, lane: int) -> int:
    """The level of detail before it is clamped, in 256ths."""
    what = one.what
    mine = Coordinates(one, image, lane)
    if what.level == "zero":
        return 0
    if what.level == "lod":
        return _steps(mine.number(mine.extra))
    if what.level == "given":
        derivatives = [[F32(mine.number(b)) for b in row] for row in mine.derivatives]
    else:
        quad = [Coordinates(one, image, (lane & ~3) + n) for n in range(3)]
        positions = [[F32(c.number(b)) for b in c.position] for c in quad]
        derivatives = [[b - a for a, b in zip(positions[0], positions[n], strict=True)] for n in (1, 2)]
    unnormalized = one.fields["unorm"] or get(one.sampler, SAMPLER, "unnormalized")
    lengths = []
    for direction in derivatives:
        length = F32(0)
        for d, n in zip(direction, image.extents, strict=True):
            scaled = d if unnormalized else d * F32(n)
            length = F32(length + F32(scaled * scaled))
        lengths.append(length)
    longest = max([length for length in lengths if length > 0], default=F32(0))
    bias = get(one.sampler, SAMPLER, "lod_bias")
    total = _half_log(float(longest)) + (bias - (1 << 14) if bias >> 13 else bias)
    return total + (_steps(mine.number(mine.bias & 0xFFFF if mine.narrow else mine.bias)) if what.bias else 0)


def _half_log(squared: float) -> int:
    if squared < 2.0**-126:
        return -128 * 256
    if squared == math.inf:
        return 127 * 256
    mantissa, exponent = math.frexp(squared)
    steps = math.floor(math.log2(2 * mantissa) * 128)
    # The logarithm may have been rounded up to a whole number of steps.
    if 2.0 ** (steps / 128) > 2 * mantissa:
        steps -= 1
    return (exponent - 1) * 128 + steps


def _coordinate(value: float, extent: int, clamp: int, unnormalized: bool, offset: int) -> float:
    """A coordinate in elements, by steps of floats."""
    c, n = F32(value), F32(extent)
    if not unnormalized and clamp == WRAP:
        c = F32(c - np.floor(c))
    if not unnormalized and clamp == MIRROR:
        half = F32(c * F32(0.5))
        twice = F32(F32(half - np.floor(half)) * F32(2))
        c = F32(2) - twice if twice > 1 else twice
    if clamp in (MIRROR_ONCE_LAST_TEXEL, MIRROR_ONCE_HALF_BORDER, MIRROR_ONCE_BORDER):
        c = -c if c < 0 else c
    if not unnormalized:
        c = F32(c * n)
    c = F32(-_FAR) if not c >= -_FAR else min(c, F32(_FAR))
    c = F32(c + F32(offset))
    if clamp in (CLAMP_HALF_BORDER, MIRROR_ONCE_HALF_BORDER):
        c = min(max(c, F32(0)), n)
    return float(c)


def _within(i: int, extent: int, clamp: int) -> int | None:
    if clamp == WRAP:
        return i % extent
    if clamp == MIRROR:
        i %= 2 * extent
        return min(i, 2 * extent - 1 - i)
    if clamp < CLAMP_HALF_BORDER:
        return min(max(i, 0), extent - 1)
    return i if 0 <= i < extent else None


def _along(c: float, extent: int, clamp: int, linear: bool) -> list[tuple[int | None, Fraction]]:
    """The elements along one axis and their weights."""
    if not linear:
        i = math.floor(c)
        if clamp in (CLAMP_HALF_BORDER, MIRROR_ONCE_HALF_BORDER):
            i = min(i, extent - 1)
        return [(_within(i, extent, clamp), Fraction(1))]
    low, rest = divmod(math.floor(Fraction(c) * 256 + Fraction(1, 2)) - 128, 256)
    share = Fraction(rest, 256)
    return [(_within(low, extent, clamp), 1 - share), (_within(low + 1, extent, clamp), share)]


def _taps(one: Operation, image: Image, lane: int, level: int, linear: bool, share: Fraction) -> list[Tap]:
    c = Coordinates(one, image, lane)
    z_filter = get(one.sampler, SAMPLER, "z_filter")
    unnormalized = bool(one.fields["unorm"] or get(one.sampler, SAMPLER, "unnormalized"))
    gather = one.what.kind == "gather"
    axes = []
    for n, extent in enumerate(image.at_level(level)):
        offset = 0
        if one.what.offset:
            bits = c.offset >> 8 * n & 63
            offset = bits - 64 if bits >> 5 else bits
        value = c.number(c.position[n])
        if image.type == IMAGE_CUBE:
            value = float(F32(value) - F32(1))
        clamp = get(one.sampler, SAMPLER, f"clamp_{'xyz'[n]}")
        filtered = gather or (z_filter == 2 if n == 2 and z_filter else linear)
        axes.append(_along(_coordinate(value, extent, clamp, unnormalized, offset), extent, clamp, filtered))
    slice_ = 0
    if image.layered:
        number = c.number(c.slice)
        slice_ = min(round(min(number, 65535.0)) if number > 0 else 0, image.slices - 1)

    def tap(corner: Sequence[int], weight: Fraction) -> Tap:
        position = [axis[k][0] for axis, k in zip(axes, corner, strict=True)]
        whole = [i for i in position if i is not None]
        place = image.place(level, whole, slice_) if len(whole) == len(position) else None
        return Tap(place, weight)

    if gather:
        order = ((0, 1, 0), (1, 1, 0), (1, 0, 0), (0, 0, 0))
        return [tap([*corner[: image.axes]], Fraction(1)) for corner in order]
    found = []
    for n in range(1 << image.axes):
        corner = [n >> k & 1 for k in range(image.axes)]
        if all(k < len(axis) for axis, k in zip(axes, corner, strict=True)):
            weight = math.prod((axis[k][1] for axis, k in zip(axes, corner, strict=True)), start=share)
            found.append(tap(corner, weight))
    return [one_tap for one_tap in found if one_tap.weight]


def _sampled(one: Operation, image: Image | None, report: Callable[[int], None]) -> list[list[int]]:
    result = _empty(one)
    what = one.what

    def setting(name: str) -> int:
        return get(one.sampler, SAMPLER, name)

    clamps = [] if image is None else [setting(f"clamp_{'xyz'[n]}") for n in range(image.axes)]
    if setting("border") == BORDER_REGISTER and any(clamp >= CLAMP_HALF_BORDER for clamp in clamps):
        raise AccessError("a border's colour of the table is not emulated")
    for lane in one.active:
        report(lane)
        if image is None or image.levels == 0 or image.slices == 0:
            select = _selects(one)
            integers = _number_format(one) in (4, 5)
            values = [(1 if integers else bits_of(1.0)) if s == 1 else 0 for s in select]
            values = [0] * 4 if what.kind == "lod" else values
            shown = [0] * 4 if what.kind == "gather" else _masked(one, values)
            if what.kind == "gather" and image is None:
                chosen = select[_lowest(one)]
                shown = [values[_lowest(one)]] * 4 if chosen == 1 else [0] * 4
            _deliver(one, result, lane, shown, not integers)
            continue
        lod = _detail(one, image, lane)
        least = max(setting("min_lod"), image.min_lod)
        if what.clamp:
            c = Coordinates(one, image, lane)
            least = max(least, _steps(c.number(c.extra)))
        clamped = min(max(lod, least), min(setting("max_lod"), (image.levels - 1) * 256))
        if what.kind == "lod":
            values = [bits_of(clamped / 256), bits_of(lod / 256), 0, 0]
            for n, value in enumerate(v for k, v in enumerate(values) if one.fields["dmask"] >> k & 1):
                result[n][lane] = value
            continue
        floats = image.form.floats
        linear = bool(setting("mag_filter" if clamped <= 0 else "min_filter") & 1) and floats
        mip = setting("mip_filter")
        clamped = max(clamped, 0)
        level = {MIP_LINEAR: clamped // 256, MIP_POINT: (clamped + 128) // 256}.get(mip, 0)
        level = min(level, image.levels - 1)
        part = clamped % 256 if mip == MIP_LINEAR and floats and what.kind == "sample" else 0
        taps = _taps(one, image, lane, level, linear, 1 - Fraction(part, 256))
        if part:
            taps += _taps(one, image, lane, min(level + 1, image.levels - 1), linear, Fraction(part, 256))
        colours = [_colour(one, image, lane, t) for t in taps]
        if what.kind == "gather":
            _deliver(one, result, lane, [colour[_lowest(one)] for colour in colours], floats)
            continue
        blend = setting("filter_mode")
        values = [_blended([colour[n] for colour in colours], taps, blend) for n in range(4)]
        _deliver(one, result, lane, _masked(one, values), floats)
    return result


def _lowest(one: Operation) -> int:
    mask = one.fields["dmask"]
    return next((n for n in range(4) if mask >> n & 1), 3)


def _colour(one: Operation, image: Image, lane: int, tap: Tap) -> list[int]:
    """What one element gives to the registers."""
    form = image.form
    border = get(one.sampler, SAMPLER, "border")
    colour = [form.one if border == BORDER_WHITE or (border == BORDER_BLACK and n == 3) else 0 for n in range(4)]
    found = None if tap.place is None else form.components(one.memory.read(tap.place, form.data.nbytes))
    if one.what.compare:
        first = found if found is not None else [colour[0], 0, 0, 0]
        reference = float_of(Coordinates(one, image, lane).reference)
        if form.kind == UNORM:
            reference = min(reference, 1.0) if reference > 0 else 0.0
        return form.selected([_compared(one, reference, float_of(first[0])), *first[1:]])
    if found is None:
        return [c if s >= SEL_X else f for c, s, f in zip(colour, form.select, form.selected([0] * 4), strict=True)]
    return form.selected(found)


def _compared(one: Operation, reference: float, value: float) -> int:
    how = get(one.sampler, SAMPLER, "depth_compare")
    true = (reference < value and how & 1) or (reference == value and how & 2) or (reference > value and how & 4)
    return bits_of(1.0 if true else 0.0)


def _blended(values: Sequence[int], taps: Sequence[Tap], blend: int) -> int:
    """Elements' values by their weights, in order; one alone is taken as it is."""
    total = F32(0)
    kept: int | None = None
    for bits, tap in zip(values, taps, strict=True):
        if tap.weight == 1:
            return bits
        if blend in (1, 2):
            if kept is None or (float_of(bits) < float_of(kept) if blend == 1 else float_of(bits) > float_of(kept)):
                kept = bits
            continue
        total = F32(total + F32(F32(float_of(bits)) * F32(float(tap.weight))))
    return bits_of(float(total)) if kept is None else kept

"""Input: image and formatted buffer instructions. Output: calls of texels.c, which knows descriptors, formats and
filters.

What such an instruction accesses is known when it runs: texels.c finds each lane's elements, code for whoever watches
gets them, and texels.c goes on and moves them. Atomics on images go on as those on buffers do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from headwater.chips.gcn_isas import TRAITS
from headwater.emulate.gcn.control import scalar_operand
from headwater.emulate.gcn.vector import put
from headwater.emulate.watch.hooks import LaneAccess
from headwater.emulate.wave.atomics import Update, put_array, update_lanes
from headwater.emulate.wave.builder import Value
from headwater.emulate.wave.layout import LANES, trait_bits
from headwater.emulate.wave.memory import Address
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Mask, number
from headwater.isa.gcn import images, resources
from headwater.isa.gcn.model import EXEC, Instruction, Register
from headwater.isa.gcn.semantics import semantics
from headwater.isa.semantics.types import float_bits
from headwater.native.structure import Struct

if TYPE_CHECKING:
    from headwater.emulate.gcn.translator import Translator

TAPS: Final = 16
"""Elements that a filter reads at most: eight of each of two levels."""
DATA_DWORDS: Final = 5
"""Registers that a result fills at most: four and the status of tfe or lwe."""
FORMAT_DWORDS: Final = 12
_WIDE = f"<{PART_LANES} x i64>"

TEXELS: Final = Struct(
    "texels",
    # Arrays come first: vectors are loaded from them and stored.
    ("u64", "place", TAPS * LANES),  # addresses of elements
    ("u32", "weight", TAPS * LANES),  # floats
    ("u32", "address", images.MOST_ADDRESS_DWORDS * LANES),
    ("u32", "data", DATA_DWORDS * LANES),
    ("u64", "lanes", 1),  # EXEC
    ("u32", "resource", 8),
    ("u32", "sampler", 4),
    ("u32", "soffset", 1),
    ("u32", "traits", 1),
    ("u32", "kind", 1),
    ("u32", "level", 1),
    ("u32", "flags", 1),
    ("u32", "dmask", 1),
    ("u32", "offset", 1),  # of buffers, in bytes
    ("u32", "data_format", 1),  # of typed buffer instructions
    ("u32", "num_format", 1),
    ("u32", "atomic_bytes", 1),
    ("u32", "format", FORMAT_DWORDS),  # what of the descriptor it is about
    ("u32", "element_bytes", 1),
    ("u32", "taps", 1),
    ("u32", "tap", 1),  # the one that is reported to the observer
)
_KINDS = ("load", "store", "atomic", "sample", "gather", "resinfo", "lod")
_LEVELS = ("", "mip", "lod", "zero", "auto", "given")
_FLAGS = (
    "IS_BUFFER", "IS_TYPED", "IS_OFFEN", "IS_IDXEN", "IS_ADDR64", "IS_RAW", "IS_SIGNED", "IS_HALVES", "IS_UNPACKED",
    "IS_HIGH", "IS_ARRAY", "IS_UNNORMALIZED", "IS_A16", "IS_R128", "HAS_OFFSET", "HAS_BIAS", "HAS_COMPARE", "HAS_CLAMP",
    "KEEPS_OLD", "IS_LWE", "IS_WATCHED",
)  # fmt: skip
REASONS: Final = (
    "DATA_FORMAT",
    "NUM_FORMAT",
    "TYPE",
    "MSAA",
    "TILING",
    "SWIZZLE",
    "COMPRESSION",
    "BORDER",
    "ATOMIC",
    "LOD_WARNING",
)
"""Why texels.c refuses a descriptor, by number."""
_FLAG = {name: 1 << n for n, name in enumerate(_FLAGS)}


def translate(t: Translator, instruction: Instruction, what: images.Texels) -> None:
    """One image or formatted buffer instruction."""
    t.flush()
    t.uses_texels = True
    b = t.b
    _put_facts(t, instruction, what)
    _put_descriptors(t, instruction)
    _put_operands(t, instruction)
    b.declare("declare hidden i32 @hw_texel_places(ptr, ptr, i64) #1")
    fine = b.emit(f"call i32 @hw_texel_places(ptr %w, ptr %texels, i64 {instruction.address})")
    t.stop_unless(b.emit(f"icmp ne i32 {fine}, 0"))
    slot = t.new_slot()
    if t.watch is not None and what.kind not in ("resinfo", "lod"):
        _report(t, instruction, what, slot)
    if what.kind == "atomic":
        _update(t, instruction, slot)
        return
    if what.kind not in ("resinfo", "lod"):
        name = "hw_texel_store" if what.kind == "store" else "hw_texel_load"
        b.declare(f"declare hidden i32 @{name}(ptr, ptr, i64, ptr) #1")
        fine = b.emit(f"call i32 @{name}(ptr %w, ptr %texels, i64 {instruction.address}, ptr {slot})")
        t.stop_unless(b.emit(f"icmp ne i32 {fine}, 0"))
    for dest in instruction.dests:
        _take(t, number(dest.register), dest.register.dwords, "%texels", TEXELS.offset["data"])


def _field(t: Translator, name: str, more: int = 0) -> str:
    return t.b.emit(f"getelementptr i8, ptr %texels, i64 {TEXELS.offset[name] + more}")


def _put(t: Translator, name: str, value: str, more: int = 0) -> None:
    t.b.line(f"store i32 {value}, ptr {_field(t, name, more)}, align 4")


def _put_facts(t: Translator, instruction: Instruction, what: images.Texels) -> None:
    """What the instruction itself says."""
    fields, encoding = instruction.fields, instruction.row.encoding
    image = encoding == "MIMG"
    flags = {
        "IS_BUFFER": not image,
        "IS_TYPED": encoding == "MTBUF",
        "IS_RAW": what.raw,
        "IS_SIGNED": what.signed,
        "IS_HALVES": what.halves or (image and bool(fields.get("d16"))),
        "IS_UNPACKED": what.unpacked or (image and TRAITS[t.program.isa].pads_image_halves),
        "IS_HIGH": what.high,
        "IS_ARRAY": fields.get("da", 0),
        "IS_UNNORMALIZED": fields.get("unorm", 0),
        "HAS_OFFSET": what.offset,
        "HAS_BIAS": what.bias,
        "HAS_COMPARE": what.compare,
        "HAS_CLAMP": what.clamp,
        "KEEPS_OLD": "reads_d" in instruction.row.flags,
        "IS_WATCHED": t.watch is not None and t.watch.takes_values,
    }
    flags |= {f"IS_{name.upper()}": fields.get(name, 0) for name in ("offen", "idxen", "addr64", "a16", "r128", "lwe")}
    _put(t, "flags", str(sum(_FLAG[name] for name, on in flags.items() if on)))
    _put(t, "traits", str(trait_bits(TRAITS[t.program.isa])))
    _put(t, "kind", str(_KINDS.index(what.kind)))
    _put(t, "level", str(_LEVELS.index(what.level)))
    _put(t, "dmask", str(fields["dmask"] if image else (1 << what.components) - 1))
    _put(t, "offset", str(fields.get("offset", 0)))
    _put(t, "data_format", str(fields.get("dfmt", 0)))
    _put(t, "num_format", str(fields.get("nfmt", 0)))
    _put(t, "atomic_bytes", str(images.atomic_bytes(instruction) if what.kind == "atomic" else 0))
    bits = "-1" if t.exec_mask().full else t.regs.pair(EXEC)
    t.b.line(f"store i64 {bits}, ptr {_field(t, 'lanes')}, align 8")


def _put_descriptors(t: Translator, instruction: Instruction) -> None:
    for source_name, name, count in (("RSRC", "resource", 8), ("SAMP", "sampler", 4)):
        source = instruction.source(source_name)
        dwords = 0
        if source is not None:
            assert isinstance(source.value, Register)
            dwords = source.value.dwords
            for n in range(dwords):
                _put(t, name, t.regs.scalar(source.value.index + n), 4 * n)
        for n in range(dwords, count):
            _put(t, name, "0", 4 * n)
    moving = instruction.source("SOFFSET")
    if moving is not None:
        value = scalar_operand(t, moving)
        assert isinstance(value, Value)
        _put(t, "soffset", value.text)


def _put_operands(t: Translator, instruction: Instruction) -> None:
    """Addresses and data of all lanes."""
    address = instruction.source("ADDR")
    if address is not None:
        assert isinstance(address.value, Register)
        for n, index in enumerate(images.address_registers(instruction)):
            _put_vector(t, "address", n, index)
    data = instruction.source("DATA")
    kept = instruction.dest("D") if "reads_d" in instruction.row.flags else None
    register = data.value if data is not None else kept.register if kept is not None else None
    if isinstance(register, Register):
        for n in range(register.dwords):
            _put_vector(t, "data", n, number(register) + n)


def _put_vector(t: Translator, name: str, row: int, register: int) -> None:
    for part in range(PARTS):
        place = _field(t, name, 4 * (LANES * row + PART_LANES * part))
        t.b.line(f"store {PART} {t.regs.vector(register, part)}, ptr {place}, align 64")


def _take(t: Translator, first: int, count: int, array: str, offset: int) -> None:
    """Registers' new values, from an array with 64 lanes a dword."""
    b = t.b
    exec_mask = t.exec_mask()
    for n in range(count):
        masked = t.masked(first + n)
        for part in range(PARTS):
            here = b.emit(f"getelementptr i8, ptr {array}, i64 {offset + 4 * (LANES * n + PART_LANES * part)}")
            put(t, first + n, part, b.emit(f"load {PART}, ptr {here}, align 64"), exec_mask, masked, None)


def _places(t: Translator, tap: str | None) -> tuple[list[str], str]:
    """The parts' addresses of one tap, and the lanes that have one, as ``i64``."""
    b = t.b
    wide, lanes = [], "0"
    for part in range(PARTS):
        here = _field(t, "place", 8 * PART_LANES * part)
        if tap is not None:
            here = b.emit(f"getelementptr [{LANES} x i64], ptr {here}, i64 {tap}")
        wide.append(b.emit(f"load {_WIDE}, ptr {here}, align 64"))
        some = b.emit(f"bitcast <{PART_LANES} x i1> {b.emit(f'icmp ne {_WIDE} {wide[-1]}, splat (i64 -1)')} to i16")
        moved = b.emit(f"shl i64 {b.emit(f'zext i16 {some} to i64')}, {PART_LANES * part}")
        lanes = b.emit(f"or i64 {lanes}, {moved}")
    return wide, lanes


def _report(t: Translator, instruction: Instruction, what: images.Texels, slot: str) -> None:
    """Report the elements of each tap to the observer, with code for each size that elements may have."""
    b = t.b
    watch = t.watch
    assert watch is not None
    sizes = {f.nbytes for f in resources.DATA_FORMATS.values()}
    if instruction.row.encoding == "MTBUF":
        known = resources.DATA_FORMATS.get(instruction.fields["dfmt"])
        sizes = set() if known is None else {known.nbytes}
    if what.kind == "atomic":
        sizes = {images.atomic_bytes(instruction)}
    now = t.slot_now(slot)
    head, body, following, done = (b.label(name) for name in ("taps", "tap", "following", "reported"))
    _put(t, "tap", "0")
    b.jump(head)
    b.start(head)
    tap = b.emit(f"load i32, ptr {_field(t, 'tap')}, align 4")
    count = b.emit(f"load i32, ptr {_field(t, 'taps')}, align 4")
    b.branch(b.emit(f"icmp ult i32 {tap}, {count}"), body, done)
    b.start(body)
    wide, lanes = _places(t, b.emit(f"zext i32 {tap} to i64"))
    nbytes = b.emit(f"load i32, ptr {_field(t, 'element_bytes')}, align 4")
    labels = {size: b.label(f"size{size}") for size in sorted(sizes)}
    cases = " ".join(f"i32 {size}, label %{label}" for size, label in labels.items())
    b.line(f"switch i32 {nbytes}, label %{following} [{cases}]")
    for size, label in labels.items():
        b.start(label)
        for part in range(PARTS):
            low = b.emit(f"trunc {_WIDE} {wide[part]} to {PART}")
            moved = b.emit(f"lshr {_WIDE} {wide[part]}, splat (i64 32)")
            at = Address("0", low, b.emit(f"trunc {_WIDE} {moved} to {PART}"), 0, now)
            writes = what.kind in ("store", "atomic")
            watch.access(instruction, LaneAccess(part, at, size, Mask(lanes), writes, conditional=True))
        b.jump(following)
    b.start(following)
    _put(t, "tap", b.emit(f"add i32 {tap}, 1"))
    b.jump(head)
    b.start(done)


# ---- atomics ---------------------------------------------------------------------------------------------------------


def _update(t: Translator, instruction: Instruction, slot: str) -> None:
    b = t.b
    what = semantics(images.atomic_row(instruction, t.program.isa))
    nbytes = images.atomic_bytes(instruction)
    wide, lanes = _places(t, None)
    for part, addresses in enumerate(wide):
        here = b.emit(f"getelementptr i8, ptr %addresses, i64 {8 * PART_LANES * part}")
        b.line(f"store {_WIDE} {addresses}, ptr {here}, align 64")
    data, dest = instruction.source("DATA"), instruction.dest("D")
    assert data is not None
    assert isinstance(data.value, Register)
    status = instruction.fields.get("tfe", 0)
    dwords, results = data.value.dwords - status, nbytes // 4 + status
    for part in range(PARTS):
        for n in range(dwords):
            put_array(b, "%data", n, part, t.regs.vector(number(data.value) + n, part))
        for n in range(results):  # what lanes outside of the image get
            put_array(b, "%before", n, part, "zeroinitializer")
    update = Update(what, t.mode, nbytes, 0, slot, instruction.address, {"DATA": (0, dwords)})
    update_lanes(t, update, lanes, keep_old=dest is not None)
    if dest is not None:
        _take(t, number(dest.register), results, "%before", 0)


# ---- texels.c --------------------------------------------------------------------------------------------------------


def srgb_value(byte: int) -> float:
    """What a byte of an sRGB image stands for (IEC 61966-2-1)."""
    c = byte / 255
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def srgb_step(byte: int) -> float:
    """The least value that becomes ``byte + 1`` in an sRGB image."""
    c = (byte + 0.5) / 255
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def c_header() -> str:
    """The declarations that texels.c begins with, after those of `headwater.emulate.wave.layout`."""
    numbers: dict[str, int] = {"TAPS": TAPS, "DATA_DWORDS": DATA_DWORDS, "FORMAT_DWORDS": FORMAT_DWORDS, **_FLAG}
    numbers |= {f"KIND_{name.upper()}": n for n, name in enumerate(_KINDS)}
    numbers |= {f"LEVEL_{name.upper() or 'FIRST'}": n for n, name in enumerate(_LEVELS)}
    numbers |= {f"WHY_{name}": n for n, name in enumerate(REASONS)}
    numbers |= {f"NUM_{name.upper()}": n for n, name in resources.NUM_FORMATS.items()}
    numbers |= {f"FORMAT_{f.name}": n for n, f in resources.DATA_FORMATS.items()}
    numbers |= {f"BUFFER_{name.upper()}": low | width << 16 for name, (low, width) in resources.BUFFER.items()}
    numbers |= {f"SAMPLER_{name.upper()}": low | width << 16 for name, (low, width) in resources.SAMPLER.items()}
    old, new = (resources.image_fields(isa) for isa in ("gfx8", "gfx900"))
    numbers |= {f"IMAGE_{name.upper()}": n for n, name in enumerate(old)}
    numbers |= {"LINEAR_OLD": resources.linear_tiling("gfx8"), "LINEAR_NEW": resources.linear_tiling("gfx900")}
    numbers |= {"TYPE_1D": resources.IMAGE_1D, "TYPE_3D": resources.IMAGE_3D, "TYPE_CUBE": resources.IMAGE_CUBE}
    numbers |= {"TYPE_1D_ARRAY": resources.IMAGE_1D_ARRAY, "TYPE_MSAA": resources.IMAGE_MSAA}
    numbers |= {"CLAMP_WRAP": resources.WRAP, "CLAMP_MIRROR": resources.MIRROR}
    places = [[low | width << 16 for low, width in (f.get(name, (0, 0)) for name in old)] for f in (old, new)]
    formats = [[0] * 5 for _ in range(64)]
    for n, known in resources.DATA_FORMATS.items():
        formats[n] = [len(known.widths), *known.widths, *[0] * (4 - len(known.widths))]
    arrays = {
        "UNORM_VALUES[256]": [float_bits(n / 255, "f32") for n in range(256)],
        "SRGB_VALUES[256]": [float_bits(srgb_value(n), "f32") for n in range(256)],
        "SRGB_STEPS[255]": [float_bits(srgb_step(n), "f32") for n in range(255)],
        # Mantissas of the powers of two of 1/128, 2/128 …: logarithms are rounded down to them.
        "LOG_STEPS[127]": [-int(-(2.0 ** (n / 128) - 1) * 2**23 // 1) for n in range(1, 128)],
        f"IMAGE_FIELDS[2][{len(old)}]": places,
        "FORMATS[64][5]": formats,
    }
    lines = [f"#define {name} {value}" for name, value in numbers.items()]
    lines += [
        f"static const u32 {name} = {str(rows).replace('[', '{').replace(']', '}')};" for name, rows in arrays.items()
    ]
    return "\n".join([*lines, TEXELS.declaration()])


def support() -> bytes:
    """Object code of texels.c, from the disk cache."""
    from headwater.emulate.wave.layout import access_header, c_header as layout_header
    from headwater.native.compile_c import compile_c

    own = "\n".join(Path(__file__).with_name(name).read_text() for name in ("components.h", "texels.c"))
    return compile_c(layout_header() + access_header() + c_header() + own)

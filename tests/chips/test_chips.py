"""The chips that come along are what their makers say, are found by what people call them, and bad files are told so."""

import dataclasses
import re

import pytest

from headwater import chips
from headwater.chips.checks import check
from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.errors import SourceError, UsageError

# Compute units, lanes, peak GFLOP/s in single and double precision, GB/s: AMD's product pages.
STATED = {
    "hd7970": (32, 2048, 3789, 947, 264),
    "hd7870": (20, 1280, 2560, 160, 153.6),
    "r9-290x": (44, 2816, 5632, 704, 320),
    "firepro-w9100": (44, 2816, 5238, 2619, 320),
    "r9-fury-x": (64, 4096, 8602, 538, 512),
    "r9-nano": (64, 4096, 8192, 512, 512),
    "rx480": (36, 2304, 5834, 365, 256),
    "rx580": (36, 2304, 6175, 386, 256),
    "vega64": (64, 4096, 12665, 792, 484),
    "mi25": (64, 4096, 12288, 768, 484),
    "radeon-vii": (60, 3840, 13440, 3360, 1024),
    "mi50": (60, 3840, 13248, 6624, 1024),
    "mi60": (64, 4096, 14746, 7373, 1024),
    "mi100": (120, 7680, 23071, 11535, 1228.8),
    "mi250x": (110, 7040, 23936, 23936, 1638.4),
    "mi300x": (304, 19456, 81715, 81715, 5324.8),  # of vectors of single precision, half of what packed ones reach
    "mi300a": (228, 14592, 61286, 61286, 5324.8),
    "hd2400-xt": (2, 8, 56, 0, 12.8),
    "hd2600-xt": (3, 24, 192, 0, 35.2),
    "hd3870": (4, 64, 496, 99.2, 72.0),
    "firestream-9170": (4, 64, 512, 102.4, 51.2),
    "hd4870": (10, 160, 1200, 240, 115.2),
    "hd4850": (10, 160, 1000, 200, 63.55),
    "firestream-9250": (10, 160, 1000, 200, 63.55),
    "firestream-9270": (10, 160, 1200, 240, 108.8),
    "hd5870": (20, 320, 2720, 544, 153.6),
    "hd5770": (10, 160, 1360, 0, 76.8),
    "hd5450": (2, 16, 104, 0, 12.8),
    "hd6870": (14, 224, 2016, 0, 134.4),
    "hd6970": (24, 384, 2703, 676, 176),
}


@pytest.mark.parametrize("name", STATED)
def test_peaks_are_those_stated(name):
    chip = chips.find(name)
    units, lanes, single, double, bandwidth = STATED[name]
    assert (chip.compute.compute_units, chip.lanes, chip.memory.gigabytes_per_second) == (units, lanes, bandwidth)
    assert chip.float32_gflops == pytest.approx(single, abs=1)
    assert chip.float64_gflops == pytest.approx(double, abs=1)


def test_all_are_listed_by_target():
    listed = chips.all_chips()
    assert sorted(STATED) == list(chips.names())
    gcn = [chip.target for chip in listed if chip.family == "gcn"]
    assert gcn == sorted(gcn)
    vliw = [list(GENERATION_OF_TARGET).index(chip.target) for chip in listed if chip.family == "vliw"]
    assert vliw == sorted(vliw)
    assert len(listed) == len(STATED)


@pytest.mark.parametrize("name", STATED)
def test_bandwidth_is_bus_times_clock(name):
    memory = chips.find(name).memory
    transfers = 4 if memory.kind == "GDDR5" else 2
    assert memory.bus_bits / 8 * memory.clock_mhz * transfers / 1000 == pytest.approx(
        memory.gigabytes_per_second, rel=0.01
    )


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Vega 64", "vega64"),
        ("RX-VEGA_64", "vega64"),
        ("tahiti", "hd7970"),
        ("HD7970", "hd7970"),
        ("R9 Nano", "r9-nano"),
        ("Fury X", "r9-fury-x"),
        ("polaris10", "rx480"),
        ("MI50", "mi50"),
        ("gfx90a", "mi250x"),
        ("HD 2400", "hd2400-xt"),
        ("RV670", "hd3870"),
        ("FireStream 9250", "firestream-9250"),
        ("Cypress", "hd5870"),
        ("Radeon HD 6970", "hd6970"),
    ],
)
def test_other_names_are_understood(said, name):
    assert chips.known(said)
    assert chips.find(said) is chips.find(name)


def test_no_name_stands_for_two_chips():
    seen = {}
    for name in chips.names():
        for alias in {chips.plain(a) for a in (name, *chips.find(name).aliases)}:
            assert seen.setdefault(alias, name) == name


def test_unknown_names_are_told_with_the_nearest():
    assert not chips.known("vega 65")
    with pytest.raises(UsageError, match="there is no chip 'vega 65'") as error:
        chips.find("vega 65")
    assert error.value.hint.startswith("did you mean vega64? the chips are firepro-w9100, firestream-9170,")


def test_every_figure_states_its_source():
    """Each line with a number carries a letter of the legend, (d), (e) or (f)."""
    for name in chips.names():
        text = (chips.FOLDER / f"{name}.toml").read_text()
        figures = [line for line in text.splitlines() if re.match(r"\w+ = [\d\"]", line)]
        plain = ("base", "name", "chip", "family", "generation")
        bare = [x for x in figures if "#" not in x and x.split(" ")[0] not in plain]
        assert bare == [], name
        assert not [x for x in figures if "#" in x and not re.search(r"\[[A-Z]\]|\([def]\)", x)], name


@pytest.mark.parametrize(
    ("name", "wavefront", "double", "lds", "views", "vertex_cache", "stack_bug"),
    [
        ("hd2400-xt", 16, False, 0, 0, False, False),
        ("hd2600-xt", 32, False, 0, 0, True, False),
        ("firestream-9170", 64, True, 0, 0, True, False),
        ("hd4850", 64, True, 16384, 0, True, False),
        ("hd5450", 32, False, 32768, 12, False, True),
        ("hd5770", 64, False, 32768, 12, True, False),
        ("hd5870", 64, True, 32768, 12, True, False),
        ("hd6870", 64, False, 32768, 12, True, True),
        ("hd6970", 64, True, 32768, 12, False, False),
    ],
)
def test_vliw_chips_say_what_they_lack(name, wavefront, double, lds, views, vertex_cache, stack_bug):
    chip = chips.find(name)
    features = chip.vliw
    assert (chip.compute.wavefront_size, chip.has_float64, chip.local_memory.bytes) == (wavefront, double, lds)
    assert (features.unordered_views, features.vertex_cache, features.stack_entry_bug) == (
        views,
        vertex_cache,
        stack_bug,
    )
    assert chip.compute.wavefront_size == 4 * chip.compute.lanes_per_simd  # an instruction takes four cycles


def test_a_gcn_chip_has_no_vliw_features():
    assert chips.find("vega64").features is None
    with pytest.raises(UsageError, match="Radeon RX Vega 64 is not a VLIW chip"):
        _ = chips.find("vega64").vliw


# ------------------------------------------------------------------------------------------------ files of one's own


def chip_file(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_a_file_changes_what_differs_from_its_base(tmp_path):
    path = chip_file(
        tmp_path, 'base = "vega64"\nname = "Mine"\n[memory]\nclock_mhz = 1200\ngigabytes_per_second = 614.4\n'
    )
    mine, vega = chips.find(path), chips.find("vega64")
    assert mine.memory == dataclasses.replace(vega.memory, clock_mhz=1200.0, gigabytes_per_second=614.4)
    assert (mine.name, mine.target, mine.compute, mine.caches) == ("Mine", "gfx900", vega.compute, vega.caches)
    assert mine.file == path
    assert mine.aliases == ()


def test_bandwidth_follows_the_clock_and_the_bus_unless_it_is_said(tmp_path):
    file = chip_file(tmp_path, 'base = "hd5870"\n[memory]\nclock_mhz = 2400\nbus_bits = 128')
    assert chips.find(file).memory.gigabytes_per_second == pytest.approx(153.6)
    file = chip_file(tmp_path, 'base = "hd5870"\n[memory]\nclock_mhz = 2400\ngigabytes_per_second = 200')
    assert chips.find(file).memory.gigabytes_per_second == 200


def test_a_file_may_begin_with_a_byte_order_mark_and_have_crlf(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b'\xef\xbb\xbfbase = "vega64"\r\nname = "X"\r\n')
    assert chips.find(str(tmp_path / "mine.toml")).name == "X"


def test_a_base_can_be_a_file_beside_it(tmp_path):
    (tmp_path / "first.toml").write_text('base = "mi50"\nname = "First"\n[compute]\ncompute_units = 7\n')
    assert chips.find(chip_file(tmp_path, 'base = "first.toml"\n')).compute.compute_units == 7


def one(base: str, figure: str, hint: str, told: str = "") -> tuple[str, int, str, str]:
    """The fault of a file that changes one figure of a chip; ``told``: unless it is just that figure."""
    name, _, value = figure.partition(" = ")
    table, _, key = name.partition(".")
    return f'base = "{base}"\n[{table}]\n{key} = {value}', 3, told or f"{name} is {value}", hint


# A file's faults: its text, the line, what is told, what is allowed.
FAULTS = [
    ('name = "a"\nclock = = 3', 2, "Invalid value", "the file is written in TOML: key = value, under [table]"),
    ('base = "vega46"', 1, "base: there is no chip 'vega46'", "did you mean vega64? the chips are"),
    ('base = "mine.toml"', 1, "base: the files refer to each other in a circle", ""),
    ('name = "X"', 0, "the file says no 'chip'", 'add a line such as chip = "…"'),
    ('base = "vega64"\nfamily = "rdna"', 2, "family is 'rdna'", 'it is "gcn" or "vliw"'),
    ('base = "vega64"\ntarget = "sm_90"', 2, "target is 'sm_90'", "a GCN chip's is LLVM's name of its processor"),
    ('base = "vega64"\n[features]\nstack_entries = 9', 2, "[features] is for VLIW chips", "this one says family"),
    ('base = "hd5870"\ntarget = "r500"', 2, "target is 'r500'", "a VLIW chip's is LLVM's name of its processor"),
    one("hd5870", "features.vertex_cache = 1", "it is true or false"),
    ('base = "vega64"\nname = 7', 2, "name is 7", 'it is a text of one line: name = "…"'),
    ('base = "vega64"\nname = "a\\nb"', 2, "name is 'a\\nb'", 'it is a text of one line: name = "…"'),
    ('base = "vega64"\nx = ' + "9" * 5000, 0, "Exceeds the limit", "the file is written in TOML"),
    ('base = "vega64"\nx = ' + "[" * 5000, 0, "brackets are nested too deeply", "the file is written in TOML"),
    ('base = "vega64"\naliases = "a"', 2, "aliases is 'a'", 'it is a list of texts: aliases = ["…"]'),
    ('base = "vega64"\nmemory = 3', 2, "memory is 3", "it is a table: [memory] and its figures below"),
    ('base = "vega64"\n[memroy]', 2, "a chip has no 'memroy'", "did you mean memory? it may have base, name,"),
    one(
        "vega64",
        "memory.clock = 9",
        "did you mean clock_mhz? it may have kind, bus_bits, clock_mhz, gigabytes_per_second, bytes",
        told="[memory] has no 'clock'",
    ),
    one("vega64", "compute.clock_mhz = 0", "it is a number from 1 to 10000 MHz"),
    one("vega64", "compute.compute_units = 3.5", "it is a whole number from 1 to 1024"),
    one(
        "vega64",
        "compute.compute_units = true",
        "it is a whole number from 1 to 1024",
        told="compute.compute_units is True",
    ),
    one("vega64", "memory.kind = 5", "it is a text"),
    (
        'base = "vega64"\n\n[local_memory]\nwork_group_bytes = 131072',
        4,
        "local_memory.work_group_bytes is 131072, more than the 65536 that there are",
        "",
    ),
    one("vega64", "compute.wavefront_size = 32", "the machine code of gfx900 is for wavefronts of 64"),
    one("vega64", "caches.l1_line_bytes = 96", "it is a power of two"),
    one("vega64", "local_memory.banks = 31", "it is a power of two"),
    one("vega64", "memory.gigabytes_per_second = 99999", "2048 bits at 945 MHz move at most 3870.72 GB/s"),
    one("vega64", "compute.wavefront_size = 40", "it is a power of two"),
    (
        'name = "a"\nchip = "b"\nfamily = "vliw"\ngeneration = "c"\ntarget = "rv770"\n[compute]\n',
        6,
        "the file says no compute.shader_engines",
        "it is a whole number from 1 to 64",
    ),
]

# Likewise, figures that cannot be together.
TOGETHER = [
    one(
        "vega64",
        "caches.l2_ways = 7",
        "it is a multiple of 7168, 16 banks of sets of 7 ways of 64 bytes: 4193280 or 4200448, say",
        told="caches.l2_bytes is 4194304",
    ),
    one("vega64", "caches.l2_bytes = 4194305", "it is a multiple of 16384, 16"),
    one("vega64", "caches.l1_bytes = 0", "it is a multiple of 4096, sets of 64 ways"),
    one("hd5870", "caches.scalar_bytes = 999", "it is a multiple of 4096, sets"),
    one("hd3870", "caches.vertex_bytes = 1", "it is a multiple of 1024, sets of 16"),
    one("vega64", "caches.l2_line_bytes = 512", "it is a whole number from 64 to"),
    one("vega64", "rates.float32_fma = 0", "it is a number from 0.016 to 2 per cycle"),
    one("vega64", "rates.transcendental = 0.001", "it is a number from 0.016"),
    one("vega64", "rates.float64_add = 0", "above 0 where the other one"),
    one("vega64", "compute.lanes_per_simd = 4", "it is a number from 0.063", told="rates.float64_fma is 0.0625"),
    one("vega64", "compute.lanes_per_simd = 24", "it is a power of two"),
    (
        'base = "vega64"\n[compute]\nlanes_per_simd = 8\nwavefront_size = 32',
        4,
        "compute.wavefront_size is 32",
        "the mach",
    ),
    (
        'base = "hd5870"\n[compute]\nlanes_per_simd = 64\nwavefront_size = 16',
        4,
        "compute.wavefront_size is 16",
        "it is a",
    ),
    one(
        "vega64",
        "compute.wavefronts_per_simd = 20",
        "it is a whole number from 1 to 16 where simds_per_compute_unit is 4: a compute unit has at most 64",
    ),
    one("vega64", "compute.simds_per_compute_unit = 8", "it is a whole", told="compute.wavefronts_per_simd is 10"),
    one("vega64", "compute.vliw_width = 5", "it is 1 on a chip of family"),
    one("hd5870", "compute.simds_per_compute_unit = 4", "it is 1 on a"),
    one("hd5870", "compute.wavefronts_per_simd = 65", "it is a whole number"),
    one("vega64", "registers.vgpr_granule = 3", "it is a multiple of 3, registers.v", told="registers.vgprs is 256"),
    one("vega64", "registers.sgprs_per_wavefront = 0", "a GCN chip has"),
    one("vega64", "registers.vgprs = 128", "it is at most", told="registers.vgprs_per_wavefront is 256, more than"),
    one("vega64", "local_memory.bytes_per_cycle = 256", "32 banks of 4"),
    one("vega64", "latencies.l2_cycles = 100", "it counts from issue to use"),
    one("vega64", "latencies.scalar_cycles = 300", "it counts from issue to use", told="latencies.l2_cycles is 264"),
    one("hd5870", "latencies.l2_cycles = 600", "it counts from issue to use", told="latencies.memory_cycles is 500"),
    one("vega64", "memory.bus_bits = 4", "it is a whole number from 8 to 65536 bits"),
    one("vega64", "memory.bus_bits = 300", "it is a multiple of 8, bytes: 296 or 304"),
    one("vega64", "memory.clock_mhz = nan", "it is a number from 1 to 20000 MHz"),
]


@pytest.mark.parametrize(("text", "line", "message", "hint"), [*FAULTS, *TOGETHER])
def test_faults_of_a_file_are_told_with_their_line(tmp_path, text, line, message, hint):
    with pytest.raises(SourceError) as error:
        chips.find(chip_file(tmp_path, text))
    assert error.value.message.startswith(message)
    assert error.value.span.line == line
    assert bool(error.value.source_line) == (line > 0)
    assert error.value.hint.startswith(hint)


def test_every_figure_beyond_its_range_is_told_with_its_unit(tmp_path):
    for base in ("vega64", "hd5870"):
        chip = chips.find(base)
        for part in dataclasses.fields(chip):
            table = getattr(chip, part.name)
            for figure in dataclasses.fields(table) if dataclasses.is_dataclass(table) else ():
                limits = figure.metadata.get("range")
                if limits is None:
                    continue
                for value in (limits.low - 1, limits.high + 1, '"many"', "inf"):
                    text = f'base = "{base}"\n[{part.name}]\n{figure.name} = {value}\n'
                    with pytest.raises(SourceError) as error:
                        chips.find(chip_file(tmp_path, text))
                    assert error.value.span.line == 3
                    assert error.value.message.startswith(f"{part.name}.{figure.name} is ")
                    assert f"from {limits.low:g} to {limits.high:g} {limits.unit}".strip() in error.value.hint


def test_chips_that_were_changed_otherwise_are_checked_for_what_replay_needs():
    vega = chips.find("vega64")
    check(vega)
    with pytest.raises(UsageError, match=r"Radeon RX Vega 64: compute\.wavefronts_per_simd is 20"):
        check(dataclasses.replace(vega, compute=dataclasses.replace(vega.compute, wavefronts_per_simd=20)))
    with pytest.raises(UsageError, match=r"latencies\.l2_cycles is 30") as error:
        check(dataclasses.replace(vega, latencies=dataclasses.replace(vega.latencies, l1_cycles=20, l2_cycles=30)))
    assert error.value.hint == "it counts from issue to use, so it is not below latencies.scalar_cycles, 41"


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read the chip file .*none.toml: No such file"):
        chips.find(str(tmp_path / "none.toml"))


def test_a_vliw_chip_fits(tmp_path):
    text = """
name = "Radeon HD 5870"
chip = "Cypress"
family = "vliw"
generation = "Evergreen"
target = "cypress"
[compute]
shader_engines = 2
compute_units = 20
simds_per_compute_unit = 1
vliw_width = 5
clock_mhz = 850
wavefronts_per_simd = 24
work_groups_per_compute_unit = 8
work_group_size = 256
[rates]
float64_add = 0.4
float64_fma = 0.2
float32_fma = 0.2
float16 = 0
[registers]
vgprs = 256
vgpr_granule = 1
vgprs_per_wavefront = 128
[local_memory]
bytes = 32768
work_group_bytes = 32768
granule_bytes = 64
[caches]
l1_bytes = 8192
l2_bytes = 524288
l2_banks = 8
[memory]
kind = "GDDR5"
bus_bits = 256
clock_mhz = 1200
gigabytes_per_second = 153.6
bytes = 1073741824
[latencies]
local_cycles = 8
l1_cycles = 200
l2_cycles = 300
memory_cycles = 500
[link]
pcie_generation = 2
[features]
stack_entries = 512
stack_elements_per_entry = 4
"""
    chip = chips.find(chip_file(tmp_path, text))
    assert (chip.lanes * chip.compute.vliw_width, chip.float32_gflops, chip.float64_gflops) == (1600, 2720, 544)
    assert (chip.vliw.stack_entries, chip.vliw.stack_entry_bug) == (512, False)


@pytest.mark.parametrize("name", ["vega64", "RX Vega 64", "hd5870"])
def test_outlines_are_of_the_chip_and_kept(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_CACHE_DIR", str(tmp_path))
    chip = chips.find(name)
    first = chips.outline(name)
    assert first == chips.outline_of(chip)
    assert (first.target, first.work_group_size) == (chip.target, chip.compute.work_group_size)
    monkeypatch.setattr(chips, "find", lambda name: pytest.fail("read again"))
    assert chips.outline(name) == first
    assert chips.outline("no such chip") is None

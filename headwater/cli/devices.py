"""Input: nothing or a chip's name. Output: a table (or JSON) of the devices that kernels can run on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headwater.cli.options import Parser
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.chips import Chip

_USAGE = "[--chips] [--json] [CHIP]"
_DESCRIPTION = """\
List the values of --device, HEADWATER_DEVICE and headwater.device(): the devices of this machine, and the chips that
Headwater emulates. With a chip's name, list every figure of that chip.
"""
_EXAMPLES = """\
examples:
  headwater devices
  headwater devices vega64                          one chip in full
  headwater run saxpy.cl … --device gpu             the first GPU
  headwater run saxpy.cl … --device opencl:0:1      second device of the first OpenCL platform
  headwater run saxpy.cl … --device vega64          that chip's machine code, executed here
  headwater run saxpy.cl … --device mine.toml       a chip of your own (docs/chips.md)
  HEADWATER_DEVICE=NVIDIA headwater run …           by part of its name, for everything
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("devices", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("chip", metavar="CHIP", nargs="?", help="a chip's name, or a TOML file of one")
    parser.add_argument("--chips", action="store_true", help="only the chips that are emulated")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse(words)
    if args.chip:
        from headwater.chips import find

        _show(find(args.chip), as_json=args.json)
        return 0
    from headwater.chips import all_chips

    machine = [] if args.chips else _machine()
    if args.json:
        chips = [
            {"name": _name(chip), "kind": "simulated", **_headline(chip), "default": False} for chip in all_chips()
        ]
        print(json.dumps([*machine, *chips]))
        return 0
    if machine:
        _print_machine(machine)
        print()
    _print_chips(all_chips())
    return 0


def _machine() -> list[dict[str, Any]]:
    """The devices that are here."""
    from headwater.runtime.devices import devices
    from headwater.runtime.interface import resolve

    try:
        chosen = resolve(None)
    except HeadwaterError as error:  # the environment names one that is not here: this list says which are
        print(f"headwater: warning: {error.message}", file=sys.stderr)
        chosen = None
    return [
        {
            "name": device.name,
            "kind": device.kind,
            "description": device.description,
            "compute_units": device.compute_units,
            "memory_bytes": device.memory_bytes,
            "max_group_size": device.max_group_size,
            "default": device is chosen,
        }
        for device in devices()
    ]


def _name(chip: Chip) -> str:
    from pathlib import Path

    return Path(chip.file).stem


def _headline(chip: Chip) -> dict[str, Any]:
    return {
        "description": chip.name,
        "chip": chip.chip,
        "generation": chip.generation,
        "target": chip.target,
        "compute_units": chip.compute.compute_units,
        "memory_bytes": chip.memory.bytes,
        "max_group_size": chip.compute.work_group_size,
        "clock_mhz": chip.compute.clock_mhz,
        "float32_gflops": round(chip.float32_gflops, 1),
        "float64_gflops": round(chip.float64_gflops, 1),
        "gigabytes_per_second": chip.memory.gigabytes_per_second,
    }


def _size(count: int) -> str:
    return f"{count / 2**30:.0f} GiB" if count >= 1 << 30 else f"{count / 2**20:.0f} MiB"


def _print_machine(rows: list[dict[str, Any]]) -> None:
    from headwater.cli.terminal import print_table

    print_table(
        ["", "name", "device", "units", "memory", "largest group"],
        [
            [
                "*" if row["default"] else "",
                row["name"],
                row["description"],
                str(row["compute_units"]),
                f"{row['memory_bytes'] / 2**30:.1f} GiB",
                str(row["max_group_size"]),
            ]
            for row in rows
        ],
        title="On this machine",
        numbers=(3, 4, 5),
    )
    print("* runs what names no device")
    if find_spec("pyopencl") is None:
        print('Install PyOpenCL to run on GPUs too: pip install "headwater[opencl]"')


def _print_chips(chips: list[Chip]) -> None:
    from headwater.cli.terminal import print_table

    print_table(
        ["name", "board", "chip", "target", "units", "MHz", "GFLOP/s", "double", "GB/s", "memory"],
        [
            [
                _name(chip),
                chip.name,
                chip.chip,
                chip.target,
                str(chip.compute.compute_units),
                f"{chip.compute.clock_mhz:.0f}",
                f"{chip.float32_gflops:.0f}",
                f"{chip.float64_gflops:.0f}",
                f"{chip.memory.gigabytes_per_second:.0f}",
                _size(chip.memory.bytes),
            ]
            for chip in chips
        ],
        title="Emulated: figures of the real boards",
        numbers=(4, 5, 6, 7, 8, 9),
    )


def _show(chip: Chip, *, as_json: bool) -> None:
    """Every figure of one chip, with its unit."""
    if as_json:
        print(json.dumps(asdict(chip)))
        return
    print(f"{chip.name}: {chip.chip}, {chip.generation}, target {chip.target}")
    print(
        f"  peak {chip.float32_gflops:.0f} GFLOP/s, {chip.float64_gflops:.0f} in double precision; {chip.lanes} lanes"
    )
    if chip.aliases:
        print(f"  also called {', '.join(chip.aliases)}")
    for table in fields(chip):
        part = getattr(chip, table.name)
        if not hasattr(part, "__dataclass_fields__"):
            continue
        print(f"{table.name}")
        for figure in fields(part):
            value = getattr(part, figure.name)
            unit = figure.metadata["range"].unit if "range" in figure.metadata else ""
            number = _figure(value)
            print(f"  {figure.name:32}{number}{' ' + unit if unit else ''}")
    print(f"from {chip.file}, where each figure's source stands")


def _figure(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value}"

"""Input: a chip and a kernel's resources. Output: how many wavefronts are resident, and what limits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headwater.cli.options import Parser
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.chips.occupancy import Occupancy

_USAGE = "--device CHIP [--group N] [--vgprs N] [--sgprs N] [--lds BYTES] [options]"
_DESCRIPTION = """\
Compute how many wavefronts of a kernel a compute unit holds at once, which resource limits them, and what to change.

A compute unit hides the latency of memory by running other wavefronts meanwhile. Their number follows from the
work-group's size, the registers of a wavefront and the LDS of a work-group.
"""
_EXAMPLES = """\
examples:
  headwater occupancy --device vega64 --group 256 --vgprs 27 --lds 4096
  headwater occupancy --device vega64 --device hd7970 --group 256 --vgprs 84
  headwater occupancy --device mi50 --group 256 --vgprs 40 --curve vgprs
  headwater occupancy --device hd5870 --vgprs 25 --stack 3
  headwater occupancy --device mine.toml --group 64 --vgprs 128 --json

exit codes: 0 done, 2 bad input, or a kernel that the chip cannot hold
"""
_CURVES = {"group": "work-items of a work-group", "vgprs": "registers", "sgprs": "SGPRs", "lds": "bytes of LDS"}


def parser() -> Parser:
    """The options of ``headwater occupancy``."""
    made = Parser("occupancy", _USAGE, _DESCRIPTION, _EXAMPLES)
    made.add_argument(
        "--device", "-d", metavar="CHIP", action="append", default=[], help="a chip; repeat the option to compare chips"
    )
    made.add_argument("--group", metavar="N", default="64", help="work-items of a work-group (default: 64)")
    made.add_argument("--vgprs", metavar="N", default="1", help="vector registers (VLIW: GPRs) of a work-item")
    made.add_argument("--sgprs", metavar="N", default="0", help="scalar registers, including VCC and similar")
    made.add_argument("--lds", metavar="BYTES", default="0", help="local memory of a work-group")
    made.add_argument("--stack", metavar="N", default="0", help="VLIW: entries of the control-flow stack")
    made.add_argument("--curve", choices=list(_CURVES), help="also show occupancy as a function of this resource")
    made.add_argument("--json", action="store_true", help="print one JSON object, or a list of them for several chips")
    return made


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    from headwater import chips
    from headwater.chips.occupancy import Needs, occupancy

    args = parser().parse(words)
    if not args.device:
        raise UsageError("which chip?", hint=f"--device takes one of {', '.join(chips.names())}, or a TOML file")
    needs = Needs(*(_whole(getattr(args, name), f"--{name}") for name in ("group", "vgprs", "sgprs", "lds", "stack")))
    results = [occupancy(chips.find(name), needs) for name in args.device]
    if args.json:
        import json

        made = [_as_json(result, args.curve) for result in results]
        print(json.dumps(made[0] if len(made) == 1 else made))
    else:
        print("\n".join(_as_text(result, args.curve) for result in results), end="")
    return 0


def _whole(text: str, option: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if number < 0:
        raise UsageError(f"{option} takes a whole number from 0, not {text.strip()!r}")
    return number


def _points(result: Occupancy, name: str) -> list[tuple[int, float]]:
    from headwater.chips.occupancy import curve

    chip = result.chip
    most = {"sgprs": chip.registers.sgprs_per_wavefront, "lds": chip.local_memory.work_group_bytes}.get(name, 1)
    if not most:
        raise UsageError(f"{chip.name} has no {_CURVES[name]}", hint="choose another --curve")
    if name == "group":
        size = chip.compute.wavefront_size
        return curve(chip, result.needs, "group", range(size, chip.compute.work_group_size + 1, size))
    if name == "lds":
        step = max(chip.local_memory.granule_bytes, chip.local_memory.work_group_bytes // 32)
        return curve(chip, result.needs, "lds_bytes", range(step, chip.local_memory.work_group_bytes + 1, step))
    if name == "sgprs":
        step = chip.registers.sgpr_granule
        return curve(chip, result.needs, "sgprs", range(step, chip.registers.sgprs_per_wavefront + step, step))
    # One row for each step of the staircase: the most registers that leave it where it is.
    points = curve(chip, result.needs, "vgprs", range(1, chip.registers.vgprs_per_wavefront + 1))
    return [p for p, after in zip(points, [*points[1:], (0, -1.0)], strict=True) if p[1] != after[1]]


def _as_json(result: Occupancy, name: str | None) -> dict[str, Any]:
    from headwater.chips.occupancy import next_steps

    made: dict[str, Any] = {
        "device": result.chip.name,
        "needs": asdict(result.needs),
        "occupancy": result.occupancy,
        "wavefronts": result.wavefronts,
        "wavefront_slots": result.wavefront_slots,
        "wavefronts_per_simd": result.wavefronts_per_simd,
        "work_groups": result.work_groups,
        "limited_by": list(result.limited_by),
        "limits": [asdict(limit) for limit in result.limits],
        "next_steps": [asdict(step) for step in next_steps(result)],
    }
    if name is not None:
        made["curve"] = {"over": name, "points": [list(point) for point in _points(result, name)]}
    return made


def _as_text(result: Occupancy, name: str | None) -> str:
    from headwater.chips.occupancy import next_steps

    needs, chip = result.needs, result.chip
    limited = " and ".join(result.limited_by)
    held = f"{result.work_groups} work-groups of {result.wavefronts_per_group} wavefronts in a compute unit"
    lines = [
        f"{chip.name}: occupancy {result.occupancy:.3g}",
        f"  {held}: {result.wavefronts} of {result.wavefront_slots} wavefronts, limited by {limited}",
    ]
    for limit in result.limits:
        lines.append(f"  {limit.resource:<12}{limit.work_groups:>4} work-groups   {_why(result, limit.resource)}")
    for step in next_steps(result):
        change = f"with at most {step.at_most} {step.resource}"
        lines.append(f"  {change}: {step.wavefronts} wavefronts, occupancy {step.occupancy:.3g}")
    idle = -needs.group % chip.compute.wavefront_size
    if idle:
        lines.append(f"  {idle} lanes of each work-group's last wavefront are idle")
    if name is not None:
        lines.append(f"  occupancy over {_CURVES[name]}:")
        lines += [f"  {value:>8}  {'█' * round(40 * share):<40}  {share:.3g}" for value, share in _points(result, name)]
    return "\n".join(lines) + "\n"


def _why(result: Occupancy, resource: str) -> str:
    limit = next(one for one in result.limits if one.resource == resource)
    if resource == "wavefronts":
        return f"{limit.capacity} slots in a compute unit"
    if resource == "work-groups":
        return "a compute unit holds no more that have several wavefronts"
    rounded = f", {limit.given} with granules" if limit.given != limit.asked else ""
    if resource == "LDS":
        return f"{limit.asked} bytes{rounded}, of {limit.capacity} in a compute unit"
    return f"{limit.asked} a wavefront{rounded}, of {limit.capacity} in a SIMD"

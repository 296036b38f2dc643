"""Input: a host's units of source. Output: programs built for a device, and what OpenCL asks about kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from headwater.base import temporary
from headwater.errors import HeadwaterError, UsageError
from headwater.icd.constants import CL
from headwater.icd.protocol import DIMENSIONS, KINDS
from headwater.icd.server.devices import abilities_of
from headwater.opencl import clang, extensions, includes, units
from headwater.runtime.interface import Device, DeviceProgram

if TYPE_CHECKING:
    from headwater.opencl.kernels import ArgInfo, KernelInfo
    from headwater.runtime.simulated.device import SimulatedDevice

NAME = "program.cl"
"""What messages call a source."""
_ACCESS = {"read": 1, "write": 2, "read_write": 3}
_SPACES = {"value": 0, "sampler": 0, "buffer": 1, "image": 1, "constant": 2, "local": 3}
_QUALIFIERS = {
    "const": CL["KERNEL_ARG_TYPE_CONST"],
    "restrict": CL["KERNEL_ARG_TYPE_RESTRICT"],
    "volatile": CL["KERNEL_ARG_TYPE_VOLATILE"],
}
_IMAGE_TYPE = re.compile(r"image(1d_array|2d_array|1d_buffer|1d|2d|3d)_")


class ProgramUnit(NamedTuple):
    """A source with its build options, and the headers that were given to it, name and text."""

    source: str
    options: str
    headers: tuple[tuple[str, str], ...]


def read_units(records: Sequence[Any]) -> list[ProgramUnit]:
    """From the protocol's records."""
    return [
        ProgramUnit(_decoded(source), _decoded(options), tuple((_decoded(n), _decoded(text)) for n, text in headers))
        for source, options, headers in records
    ]


def unit_record(unit: ProgramUnit) -> Any:
    """A unit without headers as the protocol has it."""
    return _encoded(unit.source), _encoded(unit.options), []


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def joined(given: Sequence[ProgramUnit], options: str, *, linking: bool) -> ProgramUnit:
    """The units, which have no headers, as one; ``options``: of the link, if it is one."""
    further = [word for word in options.split() if word.startswith("-cl-")] if linking else []
    made = [units.Unit(unit.source, " ".join([unit.options, *further]).strip()) for unit in given]
    if len(made) == 1:
        return ProgramUnit(*made[0], ())
    kept = dict.fromkeys(word for unit in made for word in _without_macros(unit.options))
    return ProgramUnit(units.joined(made), " ".join(kept), ())


def check(device: Device, unit: ProgramUnit) -> str:
    """The warnings of a unit that is compiled by itself and has no headers. Raises SourceError and UsageError as
    `Device.build` does."""
    from headwater.opencl.platforms import GCN_TRIPLE, SPIR, VLIW_TRIPLE

    target = SPIR.clang
    if device.kind == "simulated":
        vliw = cast("SimulatedDevice", device).outline.is_vliw
        target = ("-target", VLIW_TRIPLE if vliw else GCN_TRIPLE, "-nogpulib")
    target = (*target, *extensions.flags(abilities_of(device)))
    return clang.compile_to_ir(unit.source, NAME, unit.options, target=target, is_part=True).warnings


def without_headers(device: Device, unit: ProgramUnit) -> ProgramUnit:
    """The unit with all that it includes in it, as it is now: who links it may have removed the files. Raises what
    `check` does."""
    if not unit.headers and not includes.present(unit.source):
        return unit
    return ProgramUnit(_preprocessed(unit, device), " ".join(_without_macros(unit.options)), ())


def _without_macros(options: str) -> list[str]:
    """The options that still matter when the preprocessor has run."""
    import shlex

    words, kept = shlex.split(options), []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("-D", "-U", "-I"):
            skip = True
        elif word[:2] not in ("-D", "-U", "-I"):
            kept.append(shlex.quote(word))
    return kept


_MARKER = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"[ 0-9]*$', re.MULTILINE)


def _preprocessed(unit: ProgramUnit, device: Device) -> str:
    """A unit with its macros expanded and its headers in it."""
    parsed = clang.parse_options(unit.options)
    with temporary.folder() as folder:
        for name, text in unit.headers:
            path = Path(folder, name)
            if not path.resolve().is_relative_to(Path(folder).resolve()):
                raise UsageError(f"a header cannot be called {name!r}", hint="name it by a path below the source's")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
        flags = ["-x", "cl", "-cl-no-stdinc", "-imacros", str(clang.HEADER), f"-cl-std={parsed.std}", *parsed.flags]
        flags += [*extensions.flags(abilities_of(device)), "-I", folder, "-E", "-"]
        done = clang.run_clang(["-target", "spir64-unknown-unknown", *flags], unit.source)
        if done.returncode:
            # The compiler finds the same, and says it in our words.
            clang.compile_to_ir(unit.source, NAME, f"{unit.options} -I {folder}", is_part=True)
        text = done.stdout.decode("utf-8", "surrogateescape")

    def line_of(marker: re.Match[str]) -> str:
        name = marker[2].replace(folder + os.sep, "")
        return f'#line {marker[1]} "{NAME if name in ("<stdin>", "-") else name}"'

    return _MARKER.sub(line_of, text)


# -- what OpenCL asks about kernels ------------------------------------------------------------------------------------


def kernel_records(program: DeviceProgram) -> list[Any]:
    """The kernels as the protocol has them, in the program's order."""
    return [_kernel(kernel.info) for kernel in program.kernels.values()]


def _kernel(info: KernelInfo) -> Any:
    group = info.reqd_group_size or (0, 0, 0)
    required = [f"reqd_work_group_size({','.join(map(str, group))})"] if info.reqd_group_size else []
    attributes = " ".join([*required, *info.hints])
    return (info.name.encode(), attributes.encode(), *group, [_argument(arg) for arg in info.args])


def _argument(arg: ArgInfo) -> Any:
    found = _IMAGE_TYPE.match(arg.base_type or arg.type_name) if arg.kind == "image" else None
    words = arg.qualifiers.split()
    qualifiers = 0
    for word in words:
        qualifiers |= _QUALIFIERS.get(word, 0)
    if arg.kind == "constant":
        qualifiers |= CL["KERNEL_ARG_TYPE_CONST"]
    return (
        KINDS.index(arg.kind),
        arg.size_bytes,
        _ACCESS[arg.access],
        _SPACES[arg.kind],
        qualifiers,
        DIMENSIONS.index(found[1]) if found else 0,
        arg.name.encode(),
        arg.type_name.encode(),
    )


def status_of(error: HeadwaterError) -> int:
    """CL's code for a build that failed."""
    return CL["INVALID_BUILD_OPTIONS"] if isinstance(error, UsageError) else CL["BUILD_PROGRAM_FAILURE"]

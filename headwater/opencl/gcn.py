"""Input: OpenCL C source. Output: a code object with AMD GCN machine code, as ROCm's loader takes it, and its
kernels."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from headwater.base import cache
from headwater.base.freshness import code_state, fresh
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.errors import UsageError
from headwater.opencl import includes
from headwater.opencl.kernels import KernelInfo

# LLVM's processors from Southern Islands to CDNA 4 (LLVM, "User Guide for AMDGPU Backend", Processors).
PROCESSORS = sorted(ISA_OF_TARGET)
NAMES = {
    "tahiti": "gfx600", "pitcairn": "gfx601", "verde": "gfx601", "oland": "gfx602", "hainan": "gfx602",
    "kaveri": "gfx700", "hawaii": "gfx701", "kabini": "gfx703", "mullins": "gfx703", "bonaire": "gfx704",
    "carrizo": "gfx801", "iceland": "gfx802", "tonga": "gfx802", "fiji": "gfx803", "polaris10": "gfx803",
    "polaris11": "gfx803", "tongapro": "gfx805", "stoney": "gfx810",
}  # fmt: skip
CODE_OBJECT_VERSIONS = (4, 5, 6)
DEFAULT_VERSION = 5
DEFAULT_GROUP = 256
LARGEST_GROUP = 1024
EMITTED = ("ir", "asm", "obj", "hsaco")
_FORMAT = "gcn 2"
_KERNELS_FILE = "kernels.json"


class GcnBuild(NamedTuple):
    """What a program became: ``code`` as ``emit`` asked for it, ``target``, its kernels, clang's warnings, the files
    that it included with the SHA-256 of their contents, the size of its variables in global memory."""

    code: bytes
    target: str
    kernels: dict[str, KernelInfo]
    warnings: str
    includes: dict[str, str]
    variable_bytes: int = 0


class Variant(NamedTuple):
    """Which code of a program is wanted: ``version`` of the code object (4, 5 or 6); ``largest_group``, the most
    work-items of a work-group, for kernels without reqd_work_group_size: registers are given out by it, and 256 is what
    AMD's OpenCL compilers take. ``checked``: accesses, atomic functions and barriers stay where the program has them,
    for a check to look at."""

    version: int = DEFAULT_VERSION
    largest_group: int = DEFAULT_GROUP
    checked: bool = False


DEFAULT_VARIANT = Variant()


def processor_of(target: str) -> str:
    """LLVM's processor for a target: ``"gfx906"``, ``"GFX906"``, ``"fiji"``; UsageError for others."""
    name = target.strip().lower()
    name = NAMES.get(name, name)
    if name not in PROCESSORS:
        import difflib

        close = difflib.get_close_matches(name, [*PROCESSORS, *NAMES], 1)
        known = f"the targets are {' '.join(PROCESSORS)}"
        raise UsageError(f"there is no target {target!r}", hint=f"did you mean {close[0]}? {known}" if close else known)
    return name


def compile_code_object(
    source: str,
    filename: str,
    options: str = "",
    target: str = "gfx900",
    *,
    emit: str = "hsaco",
    only: tuple[str, ...] = (),
    variant: Variant = DEFAULT_VARIANT,
) -> GcnBuild:
    """Compile OpenCL C for an AMD GPU, or take the result from the disk cache.

    ``options`` are those of clBuildProgram. ``emit``: "ir", "asm", "obj" or "hsaco". ``only``: these kernels and no
    others. Line tables are always made. Raises SourceError for errors in the source, UsageError for bad options,
    unknown targets and kernels.
    """
    processor = processor_of(target)
    if variant.version not in CODE_OBJECT_VERSIONS:
        raise UsageError(f"there is no code object version {variant.version} here", hint="choose 4, 5 or 6")
    if not 1 <= variant.largest_group <= LARGEST_GROUP:
        raise UsageError(f"a work-group cannot have {variant.largest_group} work-items", hint=f"1 to {LARGEST_GROUP}")
    if emit not in EMITTED:
        raise UsageError(f"there is no output {emit!r}", hint="choose from " + ", ".join(EMITTED))
    settings = Settings(processor, *variant, emit, only)
    where = includes.place(source, filename)
    key = cache.key(_FORMAT, code_state(__name__), source, filename, options, repr(settings), where)
    key, found = fresh(key, lambda entry: _read(entry, settings))
    if found is not None:
        return found
    from headwater.opencl import gcn_build

    made = gcn_build.build(source, filename, options, settings)
    description = {
        "kernels": [asdict(info) for info in made.kernels.values()],
        "warnings": made.warnings,
        "includes": made.includes,
        "variable_bytes": made.variable_bytes,
    }
    cache.put(key, {_KERNELS_FILE: json.dumps(description).encode(), f"code.{emit}": made.code})
    return made


@dataclass(frozen=True, slots=True)
class CodeOptions:
    """What `headwater.opencl.codegen_gcn.compile` is to make, and how.

    ``processor`` is LLVM's name (``gfx906``), ``abi`` the version of the code object that the IR was made for,
    ``largest_group`` the most work-items that a group of a kernel without reqd_work_group_size may have, ``emit`` what
    comes out: ``ir``, ``asm`` or ``obj``. ``checked``: keep what a check looks at as the program has it, see
    `codegen_gcn._for_checks`. ``plain_minima``: keep ``a < b ? a : b`` from becoming one instruction on gfx6 and gfx7,
    see `codegen_gcn._legacy_minima_avoided`; ``opaque_indices``: keep LLVM from knowing indices of vectors, see
    `codegen_gcn._opaque_indices`. ``caution``: 0 optimises all, 1 generates code without optimisation, 2 does not
    optimise the IR either.
    """

    processor: str
    abi: int = 5
    largest_group: int = 256
    emit: str = "obj"
    checked: bool = False
    plain_minima: bool = False
    opaque_indices: bool = False
    caution: int = 0


class Settings(NamedTuple):
    """What code is wanted: see `compile_code_object`."""

    processor: str
    version: int
    largest_group: int
    checked: bool
    emit: str
    only: tuple[str, ...]


def _read(entry: Path, settings: Settings) -> tuple[dict[str, str], GcnBuild]:
    description = json.loads((entry / _KERNELS_FILE).read_bytes())
    kernels = {data["name"]: KernelInfo.from_json(data) for data in description["kernels"]}
    code = (entry / f"code.{settings.emit}").read_bytes()
    said = description["warnings"], description["includes"], description["variable_bytes"]
    found = GcnBuild(code, settings.processor, kernels, *said)
    return found.includes, found

"""Input: OpenCL C. Output: ATI IL for a VLIW chip, and what its launcher must know.

A kernel finds its sizes in constant buffer 0 and its arguments in constant buffer 1, as with AMD's OpenCL 1.x:

==============  ================================================================================================
cb0[0]          global size x, y, z; number of dimensions
cb0[1] to [3]   local size, number of work-groups, global offset, each x, y, z
cb0[4]          address of the program's constants; for pixel shaders the domain's width and the work-items' number;
                address of printf's memory
cb1[k …]        arguments as they lie in memory, each from an element of its own on
uav11, uav8     global memory: words, and bytes and shorts; both are all of it, pointers are byte addresses
LDS 1           local memory: the kernel's own variables from 0 on, ``__local`` arguments where the launcher says
==============  ================================================================================================
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.base import cache
from headwater.chips import Chip
from headwater.errors import InternalError, SourceError, Span, UsageError, span_of_bytes
from headwater.il.model import Program
from headwater.opencl import units
from headwater.opencl.kernels import KernelInfo

if TYPE_CHECKING:
    from headwater.opencl.clang import Frontend

_WORKER_MODULE = "il.from_llvm.worker"
_FORMAT = "vliw 4"
_WANTS_DOUBLES = "requires cl_khr_fp64"
"""In clang's message on a type that a chip lacks."""
_EXACT = "-cl-fp32-correctly-rounded-divide-sqrt"


_CONSTANT = re.compile(r"\bM_(?:E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)\b")


class Reason(NamedTuple):
    """Why a chip cannot run a kernel, and the place in its source. ``space``: the memory of which it wants too much."""

    message: str
    line: int
    hint: str
    column: int = 0
    space: str = ""

    def error(self, filename: str, source: str = "", file: str = "") -> SourceError:
        """The error that says so; ``file``: the unit of the source that the kernel stands in, if it has several."""
        file = file or filename
        shown = units.line_of(source, filename, file, self.line)
        return SourceError(self.message, Span(file, self.line, self.column), hint=self.hint, source_line=shown)


@dataclass(frozen=True)
class IlKernel:
    """A kernel as IL.

    ``slots``: where in constant buffer 1 each argument begins, in bytes; pointers are 32-bit byte addresses there, of
    ``__local`` arguments offsets in LDS, at least ``local_bytes``. ``data``: the program's constants, to be put at the
    address in cb0[4].x. ``lines``: of the OpenCL C, for each instruction of ``text`` by its line there, 0 if unknown.
    ``formats``: what the kernel prints, see `headwater.runtime.simulated.printf_memory`, for which its memory is laid
    out. ``written``: the numbers of the arguments through which it may write; None if they are not known.
    ``refused``: why there is no ``text``, where the chip lacks what this kernel needs: message, line, hint.
    """

    info: KernelInfo
    text: str
    slots: tuple[int, ...]
    data: bytes
    local_bytes: int
    lines: tuple[int, ...]
    formats: tuple[str, ...] = ()
    refused: Reason | None = None
    written: tuple[int, ...] | None = None

    def require(self, filename: str, source: str = "") -> None:
        """Raise the SourceError that tells why the chip cannot run this kernel, if it cannot."""
        if self.refused is not None:
            raise self.refused.error(filename, source, self.info.file)

    @contextmanager
    def placed(self, filename: str, source: str) -> Iterator[None]:
        """An error of the IL's compilation inside gets the place in the source that the IL's line was made of, or where
        the kernel begins."""
        try:
            yield
        except SourceError as error:
            at = error.span.line if error.span is not None else 0
            line = self.lines[at - 1] if 0 < at <= len(self.lines) else 0
            line = line or next((known for known in self.lines if known), 0)
            file = self.info.file or filename
            error.span = Span(file, line)
            error.source_line = units.line_of(source, filename, file, line)
            error.message = f"{self.info.name}: {error.message}"
            raise

    @property
    def program(self) -> Program:
        """The IL, parsed."""
        from headwater.il.parser import parse

        return parse(self.text, f"{self.info.name}.il")


@dataclass(frozen=True)
class CompiledKernels:
    """The kernels of a source by name, clang's warnings, the files that it included with their digests, the size of its
    variables in global memory."""

    kernels: dict[str, IlKernel]
    warnings: str
    includes: dict[str, str]
    variable_bytes: int


def kernel(source: str, name: str, chip: Chip, filename: str = "<source>", options: str = "") -> IlKernel:
    """One kernel of a source, see `kernels`. UsageError, with the nearest name, if there is none of that name."""
    found = kernels(source, chip, filename, options).kernels
    if name not in found:
        import difflib

        close = difflib.get_close_matches(name, found, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"{filename} has no kernel {name!r}", hint=f"{hint}its kernels are {', '.join(found)}")
    found[name].require(filename, source)
    return found[name]


def kernels(
    source: str,
    chip: Chip,
    filename: str = "<source>",
    options: str = "",
    *,
    checked: bool = False,
    only: tuple[str, ...] = (),
) -> CompiledKernels:
    """Every kernel of OpenCL C, as IL for a VLIW chip; or taken from the disk cache. ``checked``: accesses stay where
    the program has them, for a check to look at; ``only``: these kernels and no others, if any are named.

    Raises SourceError for errors in the source, and if the chip can run none of its kernels (what it cannot run beside
    others is marked as ``refused``); UsageError for bad options.
    """
    from headwater.base.freshness import code_state, fresh
    from headwater.opencl import includes

    about = repr(chip.compute), repr(chip.vliw), chip.name, includes.place(source, filename), str(checked), *only
    key = cache.key(_FORMAT, code_state(__name__), source, filename, options, *about)
    key, found = fresh(key, _read)
    if found is not None:
        return found
    made = _compile(source, chip, filename, options, checked, only)
    if all(k.refused is not None for k in made.kernels.values()):
        for one in made.kernels.values():
            one.require(filename, source)
    cache.put(key, {"kernels.json": json.dumps(_to_json(made)).encode()})
    return made


def _compile(
    source: str, chip: Chip, filename: str, options: str, checked: bool, only: tuple[str, ...]
) -> CompiledKernels:
    from headwater.base.freshness import digests
    from headwater.llvm.ir import Module
    from headwater.native.worker import WORKER
    from headwater.opencl import extensions, includes
    from headwater.opencl.assembly import has_assembly, located_at_calls, refuse_assembly
    from headwater.opencl.memory_limits import largest
    from headwater.opencl.platforms import vliw
    from headwater.opencl.source_locations import Places

    WORKER.start(_WORKER_MODULE)
    target = vliw(work_groups=chip.vliw.shared_local_memory).clang
    abilities = extensions.of_chip(chip)

    def compiled(abilities: extensions.Abilities) -> Frontend:
        flags = *target, *extensions.flags(abilities)
        # Whoever asks for single kernels will ask for others of the same source.
        keeps = only and not includes.present(source)
        return (_kept_frontend if keeps else _frontend)(source, filename, options, flags)

    try:
        front = compiled(abilities)
    except SourceError as error:
        if abilities.doubles or _WANTS_DOUBLES not in str(error):
            raise
        # Beside the kernels with doubles there may be others, which run.
        front = compiled(replace(abilities, doubles=True))
    if not chip.has_float64 and (used := _CONSTANT.search(source)) is not None:
        *_, (file, line, _) = units.numbered_lines(source[: used.start()], filename)
        what = f"{used[0]} and its like are floats on {chip.name}, which has no doubles"
        front = replace(front, warnings=f"{front.warnings}{file}:{line}: warning: {what}\n")
    if has_assembly(front.ir):
        raise refuse_assembly(source, filename, options, why="VLIW chips take none in OpenCL C")
    exact = _EXACT in options.split()
    ir = front.whole() if checked else front.ir
    wanted = {name: front.kernels[name] for name in only} if only else front.kernels
    contents = {} if checked else {name: table.data for name, table in front.tables.items()}

    def translated(*, strength_reduction: bool) -> dict[str, IlKernel]:
        how = {"exact": exact, "strength_reduction": strength_reduction, "checked": checked}
        found: dict[str, IlKernel] = WORKER.call(
            f"{_WORKER_MODULE}:kernels", ir, wanted, filename, chip, contents, **how
        )
        return found

    with located_at_calls(source, filename, lambda: front.ir):
        try:
            found = translated(strength_reduction=True)
        except InternalError:
            # The pass can leave a value of an inner loop used outside of it (LLVM 22.1), on which LLVM stops at the
            # next.
            found = translated(strength_reduction=False)
    for name, kernel in found.items():
        if kernel.refused is not None and not kernel.refused.line:
            space = kernel.refused.space
            span = largest(space, source, filename, options)[0] if space else Span(filename)
            if not span.line:
                span = Places(Module(front.ir), source, filename).of_text(rf"\b{re.escape(name)}\s*\(")[0]
            found[name] = replace(kernel, refused=kernel.refused._replace(line=span.line, column=span.column))
        elif kernel.refused is not None:  # the compiler's column
            line = kernel.refused.line
            file = kernel.info.file or filename
            text = units.line_of(source, filename, file, line)
            column = span_of_bytes(file, line, kernel.refused.column, text).column
            found[name] = replace(kernel, refused=kernel.refused._replace(column=column))
    return CompiledKernels(found, front.warnings, digests(front.includes), front.variable_bytes)


def _frontend(source: str, filename: str, options: str, flags: tuple[str, ...]) -> Frontend:
    from headwater.opencl import clang

    return clang.compile_to_ir(source, filename, options, debug=True, target=flags)


_kept_frontend = functools.lru_cache(maxsize=2)(_frontend)


def _to_json(made: CompiledKernels) -> dict[str, object]:
    kernels_ = [{**asdict(k), "data": k.data.hex()} for k in made.kernels.values()]
    said = {"warnings": made.warnings, "includes": made.includes, "variable_bytes": made.variable_bytes}
    return {"kernels": kernels_, **said}


def _read(entry: Path) -> tuple[dict[str, str], CompiledKernels]:
    found = _from_json(json.loads((entry / "kernels.json").read_bytes()))
    return found.includes, found


def _from_json(data: dict[str, object]) -> CompiledKernels:
    found: dict[str, IlKernel] = {}
    listed: list[dict[str, object]] = data["kernels"]  # type: ignore[assignment]
    for item in listed:
        info = KernelInfo.from_json(item["info"])  # type: ignore[arg-type]
        found[info.name] = IlKernel(
            info,
            str(item["text"]),
            tuple(item["slots"]),  # type: ignore[arg-type]
            bytes.fromhex(str(item["data"])),
            int(item["local_bytes"]),  # type: ignore[call-overload]
            tuple(item["lines"]),  # type: ignore[arg-type]
            tuple(item["formats"]),  # type: ignore[arg-type]
            Reason(*item["refused"]) if item["refused"] else None,  # type: ignore[misc]
            None if item["written"] is None else tuple(item["written"]),  # type: ignore[arg-type]
        )
    included = dict(data["includes"])  # type: ignore[call-overload]
    return CompiledKernels(found, str(data["warnings"]), included, int(data["variable_bytes"]))  # type: ignore[call-overload]

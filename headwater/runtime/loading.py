"""Input: a source file or text, or a file of machine code. Output: a `Program`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from headwater import sources
from headwater.errors import UsageError
from headwater.runtime.interface import Device, resolve
from headwater.runtime.program import ClProgram, HipProgram, Program

if TYPE_CHECKING:
    from headwater.sources import Language


def compile(
    path_or_source: str | os.PathLike[str],
    language: Language | Literal["python"] | None = None,
    options: str = "",
    device: Device | str | None = None,
) -> Program[Any]:
    """Compile a Brook+ (``.br``), OpenCL C (``.cl``), HIP (``.hip``, ``.cu``) or ATI IL (``.il``) file, or source text,
    for the current device.

    A string with a line break or a brace is source text, anything else a path. The ``language``, ``"brook"``,
    ``"opencl"``, ``"hip"``, ``"il"`` or ``"python"`` (the text is executed, and kernels of which all parameters are
    annotated are taken), follows from the file's ending or, but for Python, from the text. ``options`` are a
    compiler's: ``-D N=4 -I include``. ``device``: the program's device where a launch does not name one. What was
    compiled before comes from the cache. Files of machine code (``.hsaco``, ``.co``, ``.cal``) are taken as they are,
    for a simulated device.

    SourceError with the position if the source is wrong, UsageError for a missing file or unknown option.
    """
    if not isinstance(options, str):
        raise UsageError(f"options are one string, as on a command line, not a {type(options).__name__}")
    found = sources.read(path_or_source, language)
    return program_of(*found, language, options, resolve(device) if device is not None else None)


def program_of(
    source: str | bytes, filename: str, language: str | None, options: str, target: Device | None
) -> Program[Any]:
    """The program of source text or machine code that has been read; otherwise as `compile`."""
    chosen = None if isinstance(source, bytes) else sources.language_of(source, filename, language)
    return loaded(source, filename, chosen, options, target)


def loaded(
    source: str | bytes, filename: str, language: Language | None, options: str, device: Device | None
) -> Program[Any]:
    """A program of source text in ``language``, or of machine code; also how a pickled one comes to life."""
    program: Program[Any]
    if isinstance(source, bytes) or language is None:
        from headwater.runtime.machine_code import load_program

        assert isinstance(source, bytes)
        program = load_program(source, filename, device)
    else:
        program = _LOADERS[language](source, filename, options, device)
    program.__dict__["_loaded_by"] = loaded, (source, filename, language, options, device)
    return program


def _load_opencl(source: str, filename: str, options: str, device: Device | None) -> Program[Any]:
    return ClProgram(source, filename, options, device)


def _load_hip(source: str, filename: str, options: str, device: Device | None) -> Program[Any]:
    return HipProgram(source, filename, options, device)


def _load_brook(source: str, filename: str, options: str, device: Device | None) -> Program[Any]:
    from headwater.runtime.brook.program import load

    program: Program[Any] = load(source, filename, options, device)
    return program


def _load_il(source: str, filename: str, options: str, device: Device | None) -> Program[Any]:
    from headwater.runtime.il import IlProgram

    return IlProgram(source, filename, options, device)


_LOADERS: dict[Language, Callable[[str, str, str, Device | None], Program[Any]]] = {
    "opencl": _load_opencl,
    "brook": _load_brook,
    "il": _load_il,
    "hip": _load_hip,
}

"""Input: a kernel file (Brook+, OpenCL C, ATI IL, machine code) and a chip. Output: its kernels' `Code`, and its texts.

What was read from a source is kept in the disk cache under everything that it depends on, so that a second look
compiles and decodes nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater import sources
from headwater.analyze.code import Code
from headwater.analyze.launch import Given
from headwater.base import cache
from headwater.base.freshness import code_state, fresh
from headwater.chips import Chip
from headwater.errors import UsageError
from headwater.il.from_llvm import Reason
from headwater.opencl import includes
from headwater.opencl.kernels import hip_options

if TYPE_CHECKING:
    from headwater.isa.gcn.objects import CodeObject

_FORMAT = "analyzed 2"
_FILE = "codes.json"


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel file: ``language`` is one of `headwater.sources.Language`, or "machine" for machine code, whose bytes
    are ``data`` and whose ``text`` is ""."""

    name: str
    language: str
    text: str
    data: bytes = b""
    options: str = ""


@dataclass(frozen=True)
class Built:
    """A source as machine code for one target. ``texts``: name of a file -> its text, for all that lines refer to: the
    source itself and what it was translated to, in that order. ``via``: languages on the way, for headings."""

    codes: tuple[Code, ...]
    texts: Mapping[str, str]
    via: tuple[str, ...]
    warnings: str = ""
    includes: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, str] = field(default_factory=dict)
    """Of Brook+: kernel of the code -> kernel of the source."""
    refused: Mapping[str, Reason] = field(default_factory=dict)
    """Kernels that the chip lacks something for."""
    chip: str = ""
    """The chip that the reasons in ``refused`` name: the same code may serve others of its target."""

    def code(self, kernel: str) -> Code:
        """The kernel of that name; UsageError, with the nearest name, if there is none."""
        for code in self.codes:
            if code.kernel == kernel:
                return code
        if kernel in self.refused:
            raise self.refused[kernel].error(next(iter(self.texts), ""))
        from headwater.runtime.program import unknown_kernel

        raise unknown_kernel(kernel, [code.kernel for code in self.codes], next(iter(self.texts), "the file"))


def read(path_or_source: str | os.PathLike[str], options: str = "", language: str = "") -> Source:
    """A kernel file, or source text. UsageError if it cannot be read, or if its language cannot be determined."""
    found, name = sources.read(path_or_source, language)
    if isinstance(found, bytes):
        return Source(name, "machine", "", found, options)
    return from_text(found, language, name, options)


def from_text(text: str, language: str = "", name: str = "<source>", options: str = "") -> Source:
    """Source text, in the language that `headwater.sources` finds it to be in unless ``language`` says it."""
    found = sources.language_of(text, name, language)
    return Source(name, found, text, b"", hip_options(options) if found == "hip" else options)


def build(source: Source, chip: Chip, given: Given | None = None) -> Built:
    """The source's kernels as machine code of the chip, analyzed.

    ``given``: of the launch, from which trip counts may follow. Raises SourceError for errors in the
    source, UsageError where the chip or the language does not fit.
    """
    given = given or Given()
    known = [sorted(given.arguments.items()), given.size, given.group, chip.compute.work_group_size]
    key = cache.key(
        _FORMAT,
        code_state(__name__),
        chip.target,
        source.language,
        source.name,
        source.options,
        source.text,
        source.data,
        json.dumps(known),
        repr(chip.features),
        includes.place(source.text, source.name),
    )
    key, found = fresh(key, _read)
    if found is not None and found.refused and found.chip != chip.name:
        key, found = fresh(cache.key(key, chip.name), _read)
    if found is not None:
        return found
    made = replace(_build(source, chip, given), chip=chip.name)
    cache.put(key, {_FILE: json.dumps(_as_json(made)).encode()})
    return made


def _read(entry: Path) -> tuple[Mapping[str, str], Built]:
    found = _from_json(json.loads((entry / _FILE).read_bytes()))
    return found.includes, found


def _build(source: Source, chip: Chip, given: Given) -> Built:
    if chip.is_vliw:
        from headwater.analyze.vliw import build_vliw

        return build_vliw(source, chip, given)
    from headwater.isa.gcn.codeobject import load
    from headwater.opencl.gcn import compile_code_object

    if source.language == "machine":
        code = load(source.data, source.name)
        if code.target != chip.target:
            raise UsageError(
                f"{source.name} holds code for {code.target}, and {chip.name} runs {chip.target}",
                hint=f"choose a chip with {code.target}, if headwater devices --chips has one",
            )
        return Built(_codes(code, chip, given), {source.name: ""}, ("machine code",))
    text, texts, via, lines, entries = translated(source)
    name = next(reversed(texts))
    options = source.options if source.language in ("opencl", "hip") else ""
    made = compile_code_object(text, name, options, chip.target)
    codes = _codes(load(made.code, name), chip, given)
    if not codes:
        raise UsageError(f"{source.name} has no kernels")
    if lines:
        codes = tuple(_mapped(code, name, source.name, lines) for code in codes)
    return Built(codes, texts, via, made.warnings, made.includes, entries)


def translated(
    source: Source, stream_texels: int = 0
) -> tuple[str, dict[str, str], tuple[str, ...], tuple[int, ...], dict[str, str]]:
    """OpenCL C of the source; the texts by name, the languages; the source's line of each line of the OpenCL C; and
    which kernel of the source each kernel is of. ``stream_texels``: see `headwater.chips.model.Features`."""
    if source.language == "opencl":
        return source.text, {source.name: _shown(source)}, ("OpenCL C",), (), {}
    if source.language == "hip":
        return source.text, {source.name: source.text}, ("HIP",), (), {}
    if source.language == "brook":
        from headwater.runtime.brook.program import translate

        module = translate(source.text, source.name, source.options).drawn(stream_texels)
        entries = {entry.symbol: kernel.name for kernel in module.kernels.values() for entry in kernel.entries}
        texts = {source.name: source.text, f"{source.name}.cl": module.source}
        return module.source, texts, ("Brook+", "OpenCL C"), module.line_map, entries
    from headwater.il.cached_translation import translation_of
    from headwater.il.translation import KERNEL

    text = translation_of(source.text, source.name).require(source.name)
    return text, {source.name: source.text, f"{source.name}.cl": text}, ("ATI IL", "OpenCL C"), (), {KERNEL: "main"}


def _shown(source: Source) -> str:
    """The text that lines refer to: that of the Python file whose lines the OpenCL C names, or the source itself."""
    if not re.search(rf'^#line \d+ "{re.escape(source.name)}"', source.text, re.MULTILINE):
        return source.text
    import linecache

    return "".join(linecache.getlines(source.name)) or source.text


def _codes(code: CodeObject, chip: Chip, given: Given) -> tuple[Code, ...]:
    from headwater.analyze.gcn import gcn_code

    return tuple(gcn_code(code, kernel, chip, given) for kernel in code.kernels.values())


def _mapped(code: Code, name: str, to: str, lines: tuple[int, ...]) -> Code:
    """The code with lines of the translation replaced by those of the source, where it has one."""
    steps = []
    for step in code.steps:
        if step.line is not None and step.line[0] == name and step.line[1] <= len(lines) and lines[step.line[1] - 1]:
            steps.append(replace(step, line=(to, lines[step.line[1] - 1]), via=step.line))
        else:
            steps.append(step)
    return replace(code, steps=tuple(steps))


def _as_json(built: Built) -> dict[str, Any]:
    return {
        "codes": [code.to_json() for code in built.codes],
        "texts": dict(built.texts),
        "via": list(built.via),
        "warnings": built.warnings,
        "includes": dict(built.includes),
        "entries": dict(built.entries),
        "refused": {name: list(why) for name, why in built.refused.items()},
        "chip": built.chip,
    }


def _from_json(data: dict[str, Any]) -> Built:
    codes = tuple(Code.from_json(code) for code in data["codes"])
    refused = {name: Reason(*why) for name, why in data["refused"].items()}
    via = tuple(data["via"])
    about = data["texts"], via, data["warnings"], data["includes"], data["entries"]
    return Built(codes, *about, refused, data["chip"])

"""Input: names of built-ins that a kernel calls. Output: LLVM IR that defines them, and all they need."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.base import cache
from headwater.errors import InternalError
from headwater.llvm.ir import Module
from headwater.llvm.text import attributes_in, result_type_of_call, self_contained, symbols_in
from headwater.native.toolchain import zig_path
from headwater.opencl import clang
from headwater.opencl.mangle import MangleError, Pointer, Scalar, Type, Vector, demangle
from headwater.opencl.platforms import SPIR, Platform, is_primitive as is_primitive, with_intrinsics

UNITS = Path(__file__).with_name("library")

# LLVM's passes run on a unit once; unrolling and vectorising are left to the compilation of the kernel.
_FLAGS = (
    "-cl-std=CL3.0",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-jump-tables",
    "-ffp-contract=off",
)
_FORMAT = "2"  # of the cached JSON; part of its key


@dataclass(frozen=True)
class _Unit:
    """A compiled unit, cut into pieces: symbol -> text of its ``define``, global variable or ``declare``."""

    heading: str
    definitions: dict[str, str]
    globals: dict[str, str]
    declarations: dict[str, str]


def called(ir: str) -> dict[str, str]:
    """What a program's IR text calls and does not define, for `definitions`."""
    return {name: line for name, line in Module(ir).declares.items() if not name.startswith("llvm.")}


def definitions(undefined: Mapping[str, str], platform: Platform = SPIR) -> list[str]:
    """LLVM IR that defines the built-ins among ``undefined`` (symbol -> its ``declare`` line), and what those call.

    Scalar functions come from the units in ``library/``, compiled by clang once and kept in the disk cache; vector
    forms, conversions, loads, stores, atomics and image functions are synthesised from their names. Names that are no
    built-ins are left out. The texts leave undefined only what `is_primitive` names and LLVM's intrinsics.
    """
    from headwater.opencl import synthesis  # if there is anything to define: its import takes longer than the units

    pieces: dict[str, str] = {}
    declared: dict[str, str] = {}
    wanted = {name: line for name, line in undefined.items() if not is_primitive(name, platform)}
    heading = ""
    while wanted:
        units = _load({unit for name in wanted if (unit := unit_of(name, platform)) is not None}, platform)
        found: dict[str, str] = {}
        for name, line in wanted.items():
            home = units.get(unit_of(name, platform) or "")
            if home is not None and name in home.definitions:
                found.update(_closure(name, home))
                declared.update(home.declarations)
                heading = home.heading
            elif (text := synthesis.define(name, line, platform)) is not None:
                found[name] = _with_intrinsics(text, platform)
        pieces.update(found)
        wanted = {}
        for text in found.values():
            for symbol in set(symbols_in(text)) - pieces.keys():
                if not symbol.startswith("llvm.") and not is_primitive(symbol, platform):
                    wanted[symbol] = declared.get(symbol) or _called(symbol, text)
    if not pieces:
        return []
    used = {symbol for text in pieces.values() for symbol in symbols_in(text)} - pieces.keys()
    lines = [heading or platform.heading]
    lines += [pieces[name] for name in sorted(pieces)]
    for symbol in sorted(used):
        if is_primitive(symbol, platform):
            lines.append(declared.get(symbol) or synthesis.declare_primitive(symbol))
        elif not symbol.startswith("llvm."):
            raise InternalError(f"the device library calls {symbol} and does not define it")
    return ["\n\n".join(lines) + "\n"]


def _closure(name: str, unit: _Unit) -> dict[str, str]:
    """A piece of a unit with all that it mentions of the same unit."""
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        symbol = waiting.pop()
        text = unit.definitions.get(symbol) or unit.globals.get(symbol)
        if text is not None and symbol not in found:
            found[symbol] = text
            waiting.extend(symbols_in(text))
    return found


def _called(symbol: str, text: str) -> str:
    """A ``declare`` line for ``symbol``, made from a call of it: rules need to know what the caller expects."""
    result = result_type_of_call(text, symbol)
    return f"declare {result} @{symbol}" if result else ""


# ---------------------------------------------------------------------------------------------- units


@functools.cache
def _providers(platform: Platform) -> dict[tuple[str, str], str]:
    """(type code or ``*``, base name) -> unit, from the ``// Provides type: names`` comments of the units."""
    table: dict[tuple[str, str], str] = {}
    paths = sorted(UNITS.glob("*.cl"))
    paths += sorted((UNITS / platform.folder).glob("*.cl")) if platform.folder else []
    for path in paths:
        unit = path.relative_to(UNITS).with_suffix("").as_posix()
        for code, names in re.findall(r"^// Provides (\S+): (.*)$", path.read_text(), re.MULTILINE):
            table.update(((code, name), unit) for name in names.split())
    return table


def _first_code(parameters: Iterable[Type]) -> str:
    for parameter in parameters:
        what = parameter.pointee if isinstance(parameter, Pointer) else parameter
        if isinstance(what, Vector):
            return what.element.code
        if isinstance(what, Scalar):
            return what.code
    return "v"


def unit_of(symbol: str, platform: Platform = SPIR) -> str | None:
    """The unit that would define ``symbol`` in its scalar form, if it is a built-in with a definition in OpenCL C."""
    table = _providers(platform)
    try:
        name, parameters = demangle(symbol)
    except MangleError:
        return table.get(("*", symbol))
    return table.get((_first_code(parameters), name)) or table.get(("*", name))


_loaded: dict[tuple[Platform, str], _Unit] = {}


def _load(names: set[str], platform: Platform) -> dict[str, _Unit]:
    missing = {name for name in names if (platform, name) not in _loaded}
    uncached = [name for name in sorted(missing) if not _read(name, platform)]
    # One clang process each, all at once; plain threads, as an executor's import costs more than a unit.
    failures: list[BaseException] = []
    threads = [threading.Thread(target=_build, args=(name, platform, failures)) for name in uncached]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return {name: _loaded[platform, name] for name in names}


def _build(name: str, platform: Platform, failures: list[BaseException]) -> None:
    try:
        unit = compile_unit(name, platform)
        _loaded[platform, name] = unit
        cache.keep(_key(name, platform), {"unit.json": json.dumps(unit.__dict__, separators=(",", ":")).encode()})
    except BaseException as error:  # raised again by the thread that waits
        failures.append(error)


@functools.cache
def _common_key(platform: Platform) -> str:
    zig = zig_path()
    stat = zig.stat()
    shared = [path.read_bytes() for path in (clang.HEADER, *sorted(UNITS.rglob("*.h")))]
    return cache.key(
        "library", _FORMAT, platform.name, str(stat.st_size), str(stat.st_mtime_ns), *_FLAGS, *platform.clang, *shared
    )


def _key(name: str, platform: Platform) -> str:
    return cache.key(_common_key(platform), name, (UNITS / f"{name}.cl").read_bytes())


def _read(name: str, platform: Platform) -> bool:
    """Take a unit from the disk cache, if it is there."""
    entry = cache.get(_key(name, platform))
    if entry is None:
        return False
    try:
        _loaded[platform, name] = _Unit(**json.loads((entry / "unit.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return False  # written by another hand, or evicted this instant: compile it anew
    return True


def compile_unit(name: str, platform: Platform = SPIR) -> _Unit:
    """Compile ``library/<name>.cl`` and cut its IR into pieces that can be linked one by one."""
    flags = [*clang.COMMON, *platform.clang, *_FLAGS, f"-DHEADWATER_{platform.name.upper()}"]
    for words in re.findall(r"^// Flags: (.*)$", (UNITS / f"{name}.cl").read_text(), re.MULTILINE):
        flags += words.split()
    done = clang.run_clang([*flags, "-S", "-emit-llvm", "-o", "-", f"{name}.cl"], cwd=str(UNITS))
    if done.returncode:
        raise InternalError(
            f"the device library's unit {name!r} does not compile:\n{done.stderr.decode(errors='replace')}"
        )
    module = Module(done.stdout.decode())
    if platform.intrinsics:
        with_intrinsics(module, exponentials=platform.exponentials)
    return split(module)


def _with_intrinsics(text: str, platform: Platform) -> str:
    """A piece that calls intrinsics where the platform has them."""
    if not platform.intrinsics or "@_Z" not in text:
        return text
    module = Module(text)
    with_intrinsics(module, exponentials=platform.exponentials)
    return str(module).strip()


_CONVERGES = (
    *("@__hw_barrier(", "@__hw_vliw_barrier(", "@llvm.amdgcn.ds.swizzle", "@llvm.amdgcn.readlane"),
    *("@llvm.amdgcn.ballot", "@llvm.amdgcn.wave.barrier"),
)
"""Work-items of a group or a sub-group do it together."""
_KEPT_ATTRIBUTES = ("alwaysinline", "convergent", "mustprogress", "no", "willreturn", "memory(")


def split(module: Module) -> _Unit:
    """Cut a module into self-contained pieces: attribute groups are written out, metadata is dropped."""
    heading = "\n".join(line for line in module.heading if line.startswith("target "))
    groups = {
        name: " ".join(word for word in attributes_in(group) if word.startswith(_KEPT_ATTRIBUTES))
        for name, group in module.attribute_groups.items()
    }

    def clean(lines: Sequence[str], *, converges: bool | None = None) -> str:
        text = "\n".join(self_contained(line, groups) for line in lines)
        text = text.replace("dso_local ", "").replace(" local_unnamed_addr", "")
        if converges is None:
            converges = any(name in text for name in _CONVERGES)
        return text if converges else text.replace("convergent ", "")

    functions = {name: clean((body.head, *body.lines, "}")) for name, body in module.bodies.items()}
    variables = {name[1:]: clean((line,), converges=True) for name, line in module.globals.items()}
    return _Unit(heading, functions, variables, {name: clean((line,)) for name, line in module.declares.items()})

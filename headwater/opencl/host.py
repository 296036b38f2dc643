"""Input: OpenCL C source. Output: native code of its kernels for this machine, in shared libraries in the disk cache.

What the code shares with its threads and the launcher is `headwater.native.launch_block`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.base import cache
from headwater.base.freshness import digests, fresh, native_state, unchanged
from headwater.errors import LimitError
from headwater.native.shared import ENTRY, FITS_SUFFIX, library_name, link_shared
from headwater.opencl import includes
from headwater.opencl.kernels import AccessLine, BoundsTest, Built, CodeRequest, KernelInfo, TestedAccess
from headwater.opencl.symbols import symbol_of
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.layout import COUNTER_TABLE, STATE_BYTES, Layout
from headwater.vectorise.plan.launch_layout import (
    MAX_PRIVATE_BYTES,
    KernelFacts,
    Size,
    choose_group,
    choose_layout,
    needs_masks,
)

if TYPE_CHECKING:
    from headwater.opencl.tables import Table

_FORMAT = "host 7"
_IMAGE_FILE, _MODULE_FILE, _KERNELS_FILE, _CODE_FILE = library_name(), "module.ll", "kernels.json", "code.json"
_PREPARED_FILE, _FACTS_FILE = "kernel.ll", "facts.json"
_TABLES_FILE, _CONTENTS_FILE = "tables.json", "tables.bin"


class KernelCode(NamedTuple):
    """A kernel compiled for one way of laying out its work-items.

    ``library``, ``symbol``: the shared library and its entry. ``local_size``: the one that it runs in. ``arg_offsets``:
    where each argument lies in the args block of ``args_bytes``: a buffer's or image's 8-byte address, a value's bytes,
    a local pointer's 8-byte offset into the scratch block, a sampler's 4-byte value. A thread's scratch block is
    ``static_local_bytes`` plus the dynamic local memory, rounded up to 128, plus ``frame_bytes``. ``unbounded``: it may
    run for ever and polls the launch block's stop field. ``formats``: printf formats by number. ``streaming``:
    arguments that are only written, for which streaming stores may be asked. ``fetches_ahead``: prefetches may be asked
    for. ``straight``: it has no loop, so that launches take about as long whatever their arguments are. ``traps``: it
    may end itself, with `TRAPPED` in the launch block's stop field. ``counters``: positions of the buffers that are
    only counted into. Where each thread counts for itself (``privatised``), these are passed like local pointers, and
    behind all arguments, for each, the buffer's address and bytes. ``fits``: the name of the function that, called like
    the entry, tests whether the code is for a launch of such numbers; "": it is for all. ``bounds``: what it can say of
    accesses outside of arrays before it is run. ``variables``: the library defines the program's variables, which its
    libraries share. ``dynamic_local_bytes``: of the static local memory the last part, of which the launch says the
    size.
    """

    library: Path
    symbol: str
    local_size: Size
    arg_offsets: tuple[int, ...]
    args_bytes: int
    static_local_bytes: int
    frame_bytes: int
    unbounded: bool
    formats: tuple[str, ...]
    streaming: tuple[int, ...]
    fetches_ahead: bool
    straight: bool
    traps: bool
    counters: tuple[int, ...]
    privatised: bool
    fits: str
    bounds: BoundsTest
    variables: bool
    dynamic_local_bytes: int = 0


class HostModule:
    """A program compiled for this machine up to its kernels' own code; ``kernels`` by name.

    Of a kernel only what is asked for is compiled: its facts, then its code for work-group sizes.
    """

    def __init__(
        self,
        key: str,
        text: str | Path,
        tables: Mapping[str, Table] | Path,
        description: dict[str, Any],
        *,
        check: bool,
    ) -> None:
        self.key = key
        self.check = check
        self.warnings: str = description["warnings"]
        self.variable_bytes: int = description["variable_bytes"]
        self.includes: dict[str, str] = description["includes"]
        self.kernels: dict[str, KernelInfo] = {n: KernelInfo.from_json(d) for n, d in description["kernels"].items()}
        self._text = text
        self._tables = tables
        self._vector_bytes: int = description["vector_bytes"]
        self._built: dict[tuple[CodeRequest, Size], KernelCode] = {}
        self._prepared: dict[str, tuple[str | Path, KernelFacts]] = {}
        self._lock = threading.RLock()
        self._variables: str = description["variables"]

    def instance(self) -> HostModule:
        """The module for one more program, the variables of which have their first values. Modules without variables
        are shared; of others each program that this process builds has its own code, mostly that of the nth of a source
        in every process, so that the cache has it."""
        if not self._variables:
            return self
        with _loading:
            number = _instances[self._variables]
            _instances[self._variables] += 1
        if not number:
            return self
        from headwater.opencl.program_variables import instance

        made = copy(self)
        made.key = cache.key(self.key, f"instance {number}")
        made._text = instance(_content(self._text), number)
        made._built, made._prepared, made._lock = {}, {}, threading.RLock()
        return made

    def _constants(self) -> Mapping[str, Table]:
        """The program's large tables."""
        if isinstance(self._tables, Path):
            from headwater.opencl.tables import Table

            listed = json.loads((self._tables / _TABLES_FILE).read_text())
            whole = (self._tables / _CONTENTS_FILE).read_bytes()
            return {name: Table(whole[at : at + size], align, "") for name, at, size, align in listed}
        return self._tables

    def facts(self, kernel: str) -> KernelFacts:
        """What a launcher must know of the kernel. Raises InternalError if LLVM cannot compile it."""
        return self._prepare(kernel)[1]

    def text(self, kernel: str) -> str:
        """The LLVM IR of the kernel, with all that it calls inlined, before vectorisation."""
        return _content(self._prepare(kernel)[0])

    def _prepare(self, kernel: str) -> tuple[str | Path, KernelFacts]:
        with self._lock:
            known = self._prepared.get(kernel)
            if known is None:
                key = cache.key(self.key, kernel)
                entry = cache.get(key)
                if entry is not None:
                    known = entry / _PREPARED_FILE, _kernel_facts(json.loads((entry / _FACTS_FILE).read_text()))
                else:
                    from headwater.native.worker import WORKER

                    text, facts = WORKER.call("opencl.codegen:prepare", _content(self._text), symbol_of(kernel))
                    data = {**facts._asdict(), "flow": facts.flow._asdict()}
                    cache.put(key, {_PREPARED_FILE: text.encode(), _FACTS_FILE: json.dumps(data).encode()})
                    known = text, facts
                self._prepared[kernel] = known
        return known

    def access_lines(self, kernel: str) -> list[AccessLine]:
        """Where the source has the accesses of `BoundsTest`, if this is a module with checks."""
        from headwater.native.worker import WORKER

        found: list[AccessLine] = WORKER.call("opencl.codegen:access_lines", self.text(kernel), symbol_of(kernel))
        return found

    def layout(self, kernel: str, local_size: Size, global_size: Size) -> Layout:
        """How chunks of work-items are laid out for such a launch. LimitError if that does not keep those in step that
        are to be."""
        facts = self.facts(kernel)
        if self._checked(facts) or (not facts.reducible and not any(facts.in_step)):
            return Layout(1)
        layout = choose_layout(facts, local_size, self._vector_bytes, global_size)
        if layout is None or not facts.reducible:
            size = " x ".join(map(str, local_size))
            raise LimitError(
                f"the cpu device cannot keep the wavefronts of such a kernel in step in groups of {size}",
                hint="groups of one dimension, or of which 64 work-items are whole rows, can be",
            )
        return layout

    def _checked(self, facts: KernelFacts) -> bool:
        """Whether its code tests accesses, for which work-items run one by one."""
        return self.check and not any(facts.in_step)

    def specialise(
        self,
        kernel: str,
        global_size: Size,
        local_size: Size | None,
        work_dim: int,
        *,
        privatised: bool = False,
        guarded: bool = True,
    ) -> KernelCode:
        """The kernel's code for launches of these sizes, from memory, the disk cache or the compiler.

        ``privatised``: each thread counts into its own counters (`headwater.vectorise.prepare.privatized_counters`).
        ``guarded``: the code may assume that 32-bit indices do not wrap around
        (`headwater.vectorise.prepare.overflow_guards`); the result names the function that tests it. Raises
        InternalError if LLVM cannot compile it, MemoryLimitError if its private arrays are too large.
        """
        code, group, chunks = self._choose(kernel, global_size, local_size, privatised=privatised, guarded=guarded)
        with self._lock:
            known = self._built.get((code, group))
            if known is None:
                known = self._built[code, group] = self._obtain(code, group, chunks)
        return known

    def assembly(self, kernel: str, global_size: Size, local_size: Size | None) -> str:
        """The assembly of the code for launches of these sizes, with comments on what it is."""
        from headwater.native.worker import WORKER

        code, group, chunks = self._choose(kernel, global_size, local_size, privatised=False, guarded=True)
        made: str = WORKER.call_around_defects("opencl.codegen:assembly", self.text(kernel), code, ENTRY)
        sizes = [" x ".join(map(str, size)) for size in (global_size, group, code.layout.steps)]
        return (
            f"# {kernel}: {sizes[0]} work-items in groups of {sizes[1]}, each of {chunks} chunks of {sizes[2]}"
            f" in {code.layout.lanes} lanes\n{made}"
        )

    def _choose(
        self, kernel: str, global_size: Size, local_size: Size | None, *, privatised: bool, guarded: bool
    ) -> tuple[CodeRequest, Size, int]:
        """What code is for such a launch, the size of its groups and how many chunks each has."""
        facts = self.facts(kernel)
        if facts.private_bytes > MAX_PRIVATE_BYTES:
            from headwater.opencl.memory_limits import exceeded

            raise exceeded(kernel, "private", facts.private_bytes, MAX_PRIVATE_BYTES, "the cpu device", "")
        group = local_size if local_size is not None else self.kernels[kernel].reqd_group_size
        if group is None or not self.check:
            group = choose_group(facts, global_size, group)
        layout = self.layout(kernel, group, global_size)
        masked = needs_masks(layout, group, global_size)
        chunks = 1
        for size, step in zip(group, layout.steps, strict=True):
            chunks *= -(-size // step)
        split = facts.has_barrier and chunks > 1
        checked = self._checked(facts)
        fits = guarded and facts.fits and not checked
        code = CodeRequest(kernel, layout, masked, split, checked=checked, privatised=privatised, guarded=fits)
        return code, group, chunks

    def _obtain(self, code: CodeRequest, group: Size, chunks: int) -> KernelCode:
        key = cache.key(self.key, repr(code))
        entry = cache.get(key)
        if entry is None:
            entry = cache.put(key, self._build(code))
        needs = json.loads((entry / _CODE_FILE).read_text())
        facts = self.facts(code.kernel)
        frame = needs["frame_bytes"]
        return KernelCode(
            library=entry / _IMAGE_FILE,
            symbol=needs["symbol"],
            local_size=group,
            arg_offsets=facts.arg_offsets,
            args_bytes=facts.args_bytes + (COUNTER_TABLE.size_bytes * len(facts.counters) if code.privatised else 0),
            static_local_bytes=facts.static_local_bytes,
            frame_bytes=0 if frame is None else chunks * (STATE_BYTES + frame),
            unbounded=facts.unbounded,
            formats=tuple(needs["formats"]),
            streaming=facts.streaming,
            fetches_ahead=needs["fetches_ahead"],
            straight=facts.reducible and not facts.has_loop,
            traps=facts.traps,
            counters=facts.counters,
            privatised=code.privatised,
            fits=needs["symbol"] + FITS_SUFFIX if code.guarded else "",
            bounds=_bounds_test(needs["bounds"]),
            variables=needs["variables"],
        )

    def _build(self, code: CodeRequest) -> dict[str, bytes]:
        from headwater.native.worker import WORKER
        from headwater.opencl.program_variables import has_variables

        made: Built = WORKER.call_around_defects("opencl.codegen:build", self.text(code.kernel), code, ENTRY)
        objects = made.objects
        if known := self._constants():
            from headwater.native.compile_c import TARGET
            from headwater.opencl.tables import object_code, used

            if mentioned := used(self.text(code.kernel), known):
                objects.append(object_code(mentioned, TARGET))
        exports = [
            ENTRY,
            *([ENTRY + FITS_SUFFIX] if code.guarded else []),
            *([made.bounds.symbol] if made.bounds.symbol else []),
        ]
        needs = {
            "symbol": ENTRY,
            "frame_bytes": made.frame_bytes,
            "formats": made.formats,
            "fetches_ahead": made.fetches_ahead,
            "bounds": made.bounds._asdict(),
            "variables": has_variables(self.text(code.kernel)),
        }
        return {_IMAGE_FILE: link_shared(*objects, exports=exports), _CODE_FILE: json.dumps(needs).encode()}


_loaded: dict[str, HostModule] = {}
_instances: Counter[str] = Counter()
"""Programs that were built of modules whose variables have the same names: of one source, or of some of one meaning."""
_loading = threading.Lock()


def load(source: str, filename: str, options: str = "", *, check: bool = False) -> HostModule:
    """The program compiled for this machine, from memory, the disk cache or the compiler.

    ``check``: code that tests every access. Raises SourceError for errors in the source, UsageError for bad options.
    """
    state = native_state(__name__)
    key = cache.key(_FORMAT, state, source, filename, options, str(check), includes.place(source, filename))
    with _loading:
        module = _loaded.get(key)
        if module is None or not unchanged(module.includes):
            module = _loaded[key] = _load(key, source, filename, options, check)
    return module


def _load(key: str, source: str, filename: str, options: str, check: bool) -> HostModule:
    def read(entry: Path) -> tuple[dict[str, str], tuple[Path, Mapping[str, Table] | Path, dict[str, Any]]]:
        description = json.loads((entry / _KERNELS_FILE).read_text())
        return description["includes"], (entry / _MODULE_FILE, entry if description["tables"] else {}, description)

    key, known = fresh(key, read)
    if known is not None:
        return HostModule(key, *known, check=check)
    from headwater.native.worker import WORKER

    WORKER.start("opencl.codegen")  # it takes longer than clang and the library
    from headwater.opencl import clang, library
    from headwater.opencl.assembly import has_assembly, located_at_calls, refuse_assembly
    from headwater.opencl.check_findings import GLOBAL_ID, LOCAL_ID
    from headwater.opencl.program_variables import shared_by

    front = clang.compile_to_ir(source, filename, options, debug=check)
    if check:  # what a table holds may decide which accesses there are
        front = replace(front, ir=front.whole(), tables={})
    if has_assembly(front.ir):
        raise refuse_assembly(source, filename, options)
    called = library.called(front.ir)
    if check:  # a finding names the work-item
        for name in (GLOBAL_ID, LOCAL_ID):
            called.setdefault(name, f"declare i64 @{name}(i32)")
    pieces = library.definitions(called)
    with located_at_calls(source, filename, lambda: clang.compile_to_ir(source, filename, options, debug=True).ir):
        text, vector_bytes = WORKER.call(
            "opencl.codegen:link", front.ir, pieces, [k.symbol for k in front.kernels.values()], filename, checked=check
        )
    description = {
        "kernels": {name: asdict(info) for name, info in front.kernels.items()},
        "warnings": front.warnings,
        "variable_bytes": front.variable_bytes,
        "includes": digests(front.includes),
        "tables": len(front.tables),
        "vector_bytes": vector_bytes,
        "variables": shared_by(text),
    }
    files = {_MODULE_FILE: text.encode(), _KERNELS_FILE: json.dumps(description).encode()}
    cache.put(key, files | (_files_of(front.tables) if front.tables else {}))
    return HostModule(key, text, front.tables, json.loads(json.dumps(description)), check=check)


def _files_of(tables: Mapping[str, Table]) -> dict[str, bytes]:
    """The cache's files of a program's large tables: their names, places, sizes and alignments, and their contents."""
    listed, at = [], 0
    for name, table in tables.items():
        listed.append((name, at, len(table.data), table.align))
        at += len(table.data)
    contents = b"".join(table.data for table in tables.values())
    return {_TABLES_FILE: json.dumps(listed).encode(), _CONTENTS_FILE: contents}


def _content(text: str | Path) -> str:
    """A text, which may lie in a file of the cache."""
    return text.read_text() if isinstance(text, Path) else text


def _bounds_test(data: dict[str, Any]) -> BoundsTest:
    accesses = tuple(TestedAccess(*access) for access in data["accesses"])
    return BoundsTest(data["symbol"], tuple(data["sized"]), tuple(data["values"]), accesses)


def _kernel_facts(data: dict[str, Any]) -> KernelFacts:
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return KernelFacts(**{**fields, "flow": Flow(**data["flow"])})

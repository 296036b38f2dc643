"""Input: LLVM IR text. Output: modules, and object code for this machine of optimised ones.

It knows llvmlite, as `headwater.opencl.codegen` does: only what runs in the worker process imports it. All code
generators share it; nothing is imported here that takes long, as the first kernel waits for it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import llvmlite.binding as llvm

from headwater.base import host
from headwater.errors import InternalError
from headwater.llvm.gathers import EMULATED_GATHERS, QUICK_GATHERS, SLOW_GATHERS, Gathers
from headwater.llvm.ir import Module


@dataclass(frozen=True)
class Target:
    """The machine that code is made for."""

    triple: str
    data_layout: str
    cpu: str
    features: str
    vector_bytes: int


MOST_COPIES = 256
"""Copies of a body that LLVM makes in a loop that stays one. `#pragma unroll` of a loop too long to be unrolled asked
for thousands; LLVM 22's time grows with their square: 0.05 s for 256 copies of two instructions, 19 s for 2500."""


@functools.cache
def _set_options() -> None:
    """Say what LLVM is to do in every module.

    - Unrolling is limited.
    - No pass tells accesses apart by their types: programs read memory as another type than they wrote it
      (`*(uint *)&x`, `(global ushort *)words`), and OpenCL 1.0 (5.4.3.3) has `-cl-strict-aliasing` for the others.
    - Division of more than 64 bits, with which LLVM computes how often a loop runs, becomes a loop instead of a call:
      code is linked with no library that has such functions.
    """
    llvm.set_option("", f"-unroll-max-count={MOST_COPIES}")
    llvm.set_option("", "-enable-tbaa=0")
    llvm.set_option("", "-expand-div-rem-bits=64")


def parse(text: str) -> llvm.ModuleRef:
    """A module from its text; InternalError if LLVM refuses it, as all of it is generated."""
    _set_options()
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the generated IR: {error}") from error


LARGE_TEXT = 1_000_000
"""Bytes of IR, some 1,500 statements, from which on a pass is left out whose time grows with the square of a block's
comparisons, minima and maxima: 0.4 s here, 25 s of LLVM 22's 30 s for ten times as many."""


HUGE_TEXT = 8_000_000
"""Bytes of IR from which on constants stay where they are used: kept in registers through all of a loop, those of 500
branches with a sine and a cosine each took LLVM 22 half of 16 s to spill, at 4 % of the launch's time."""


def limit_passes(text: str) -> None:
    """Choose the passes of the pipelines that are built from now on, for a module from this text."""
    llvm.set_option("", f"-enable-constraint-elimination={int(len(text) < LARGE_TEXT)}")


MOST_CHAINED = 32
"""Memory accesses that LLVM's instruction selection merges into one point of order in large code; it compares them in
pairs: 6.5 s of a kernel with 2,000 loads, 0.7 s so."""
CHAINED_BY_LLVM = 2048
"""LLVM 22's own limit (DAGCombiner.cpp, TokenFactorInlineLimit)."""


def limit_code_generation(
    *,
    large: bool = False,
    first_scheduler: bool = True,
    second_scheduler: bool = True,
    reassociates: bool = True,
    prepares: bool = True,
    hoists: bool = True,
) -> None:
    """Choose how all machines generate code from now on; ``large``: for code whose blocks have hundreds of accesses;
    ``reassociates``: chains of operations are made shorter, which takes time with the square of a block: 0.2 s of
    LLVM 22's 1.3 s for 3,000 statements of IL, 6.7 s of its 11 s for 10,000, with the same code. ``prepares``: what a
    block needs of others is brought near, for which each such instruction has its whole block numbered; ``hoists``:
    constants are loaded before the loops that use them."""
    if _is_x86():
        llvm.set_option("", f"-x86-machine-combiner={int(reassociates)}")
    llvm.set_option("", f"-disable-cgp={int(not prepares)}")
    llvm.set_option("", f"-disable-machine-licm={int(not hoists)}")
    llvm.set_option("", f"-enable-misched={int(first_scheduler)}")
    llvm.set_option("", f"-disable-post-ra={int(not second_scheduler)}")
    llvm.set_option("", f"-combiner-tokenfactor-inline-limit={MOST_CHAINED if large else CHAINED_BY_LLVM}")


SLOW_JUMPS = frozenset(("skylake", "skylake-avx512", "cascadelake"))
"""LLVM's names of processors that decode a jump anew each time if it touches the end of 32 bytes (Intel, Mitigations
for Jump Conditional Code Erratum). Where the jumps of short loops fell made up to 1.3 times between equal kernels."""


GATHERS_QUICKLY = frozenset(("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d"))
"""LLVM's names of processors whose gathers take less than loads one by one: measured on an Emerald Rapids, the others
have its core or the next. Gathers of Intel's AVX-512 before them are slowed down (Intel, Gather Data Sampling)."""

HALF_PATHS = frozenset(("znver4",))
"""LLVM's names of processors that move vectors of 64 bytes in halves (Fog, Microarchitecture, on Zen 4). What that is
worth was measured on a Zen 4 (`headwater.vectorise.analysis.cache_lines`)."""


@functools.cache
def host_processor() -> tuple[str, str]:
    """LLVM's name of the processor that code is for, and its features: ``+avx2,-avx512f,…``."""
    if host.level() != host.NATIVE:
        named = host.LEVELS[host.level()] & set(llvm.get_host_cpu_features())  # the others follow from the processor
        return host.level(), ",".join(f"+{name}" for name in sorted(named))
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def machine() -> llvm.TargetMachine:
    """LLVM's code generator for this machine.

    Constants lie within reach of an instruction's operand ("small"); a register for their table's address is not lost.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    processor, features = host_processor()
    if processor in SLOW_JUMPS:
        llvm.set_option("", "-x86-branches-within-32B-boundaries")
    return target.create_target_machine(cpu=processor, features=features, opt=3, reloc="pic", codemodel="small")


@functools.cache
def quick_machine() -> llvm.TargetMachine:
    """The same for code that need not be fast."""
    machine()
    processor, features = host_processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=processor, features=features, opt=0, reloc="pic", codemodel="small")


@functools.cache
def host_target() -> Target:
    """This machine, as LLVM sees it."""
    tm = machine()
    processor, features = host_processor()
    known = features.split(",")
    vector_bytes = 64 if "+avx512f" in known else 32 if "+avx2" in known else 16
    return Target(tm.triple, str(tm.target_data), processor, features, vector_bytes)


@functools.cache
def gathers() -> Gathers:
    """What gathers cost on this machine, and whether they have masks."""
    target = host_target()
    if "+avx512f" not in target.features.split(","):
        return EMULATED_GATHERS
    return QUICK_GATHERS if target.cpu in GATHERS_QUICKLY else SLOW_GATHERS


@functools.cache
def _is_x86() -> bool:
    return host_target().triple.startswith(("x86_64", "i686"))


@functools.cache
def _lacks(feature: str) -> bool:
    """Whether this machine is an x86 processor without a feature, as LLVM calls it."""
    return _is_x86() and f"+{feature}" not in host_target().features.split(",")


def emit_object(module: llvm.ModuleRef, tm: llvm.TargetMachine) -> bytes:
    """Object code of an optimised module for this machine."""
    from headwater.llvm.passes.bit_select import without_masked_bit_selects
    from headwater.llvm.passes.byte_quotients import without_byte_quotients
    from headwater.llvm.passes.high_products import without_high_products
    from headwater.llvm.passes.spread_bytes import with_spread_bytes_kept

    text = Module(str(module))
    changed = without_high_products(text)
    changed |= without_byte_quotients(text)
    if host_target().vector_bytes == 64:
        changed |= without_masked_bit_selects(text)
        if not _lacks("avx512bw"):
            changed |= with_spread_bytes_kept(text)
    if _lacks("f16c"):
        from headwater.llvm.passes.soft_halves import SOFT_HALVES

        text.add(SOFT_HALVES)
        changed = True
    if _lacks("avx512fp16") and _narrows_doubles_to_halves(text):
        from headwater.llvm.passes.soft_halves import HALVES_OF_DOUBLES

        text.add(HALVES_OF_DOUBLES)
        text.declare("declare double @llvm.fabs.f64(double)")
        changed = True
    module = parse(str(text)) if changed else module
    return bytes(tm.emit_object(module))


def _narrows_doubles_to_halves(module: Module) -> bool:
    """Whether a double, or a vector of them, becomes a half without being a float between."""
    return any(
        inst.args[0].ty.scalar.text == "double" and inst.ty.scalar.text == "half"
        for body in module.bodies.values()
        for _, inst in body.having("fptrunc", within="half")
    )

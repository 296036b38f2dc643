"""Input: a kernel of AMD's compiler and a call. Output: what Headwater makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.brook.model import BrookModule
from headwater.runtime.brook.program import BrookProgram
from verification.brook_oracle.amd import Kernel, Sample
from verification.brook_oracle.cases import Case


def signature_fault(sample: Sample, kernel: Kernel, ours: Any) -> str:
    """How Headwater's signature of a kernel differs from AMD's, or nothing."""
    theirs = [(p.name, p.kind, p.type, p.sizes if p.kind == "constant" else ()) for p in kernel.parameters]
    own = [(p.name, p.kind, p.type.name, p.sizes if p.kind == "constant" else ()) for p in ours.parameters]
    for a, b in zip(theirs, own, strict=False):
        if a != b:
            return f"parameter {a} of AMD's is {b}"
    return "" if len(theirs) == len(own) else f"{len(own)} parameters instead of {len(theirs)}"


def call(program: Any, sample: Sample, kernel: Kernel, case: Case, device: str) -> dict[str, Any]:
    """What Headwater makes of a call: arrays by name of the outs."""
    arguments = [case.arguments[p.name] for p in kernel.parameters if p.kind not in ("output", "scatter", "reduce")]
    outs = [p for p in kernel.parameters if p.kind in ("output", "scatter", "reduce")]
    keywords: dict[str, Any] = {"device": device}
    if not case.full:
        keywords["shape"] = {p.name: case.shapes[p.name] for p in outs}
    if case.domain is not None:
        offset, size = case.domain
        end = tuple(a + n for a, n in zip(offset, size, strict=True))
        keywords["domain"] = (tuple(reversed(offset)), tuple(reversed(end)))
    scatter = {p.name: case.arguments[p.name].copy() for p in outs if p.kind == "scatter"}
    if scatter:
        keywords["out"] = scatter
    result = getattr(program, kernel.name)(*arguments, **keywords)
    return dict(zip((p.name for p in outs), result if len(outs) > 1 else (result,), strict=True))


def rounded_one_by_one(program: BrookProgram) -> BrookProgram:
    """A program whose products and sums are rounded each for itself, and whose quotients and roots exactly."""
    exact = "-cl-fp32-correctly-rounded-divide-sqrt"
    return BrookProgram(_unfused(program.module), program.source, build_options=exact)


def _unfused(module: BrookModule) -> BrookModule:
    """A module whose products and sums are rounded each for itself, on all devices."""
    pixels = _unfused(module.pixels) if module.pixels is not None else None
    return replace(module, source=f"#pragma OPENCL FP_CONTRACT OFF\n{module.source}", pixels=pixels)

"""A checkout of AMD's Brook+ goes in; a table of the IL programs that its compiler makes of its samples, and whether
each gives AMD's CPU run-time's answers here, comes out.

``python -m benchmarks.il_oracle --checkout DIR [--device cpu] [--sample NAME] [--work DIR]``

Data, answers and tolerances are `benchmarks.brook_oracle`'s. Only IL's own part is ours: AMD's compiler says which
argument each texture, constant and output is, and the run-time's part is to bind them. Calls that its run-time
serves with further programs (implicit resize, domains, address translation, reductions) are left out, and so are
elements of 8 and 16 bits and structs, which it converts. The exit status is 0 if all that is compared agrees.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import headwater as hw
from benchmarks.brook_oracle.amd import Kernel, Sample, Toolchain, ToolError, samples
from benchmarks.brook_oracle.cases import Case, cases
from benchmarks.brook_oracle.compare import EXACT, TOLERANCES, difference

_PASS = re.compile(r"brook::Pass\(.*?\n\t\t\t\)", re.DOTALL)
_ROW = re.compile(r"\.(image|constant|input|output)\(([^()]*)\)")


@dataclass(frozen=True)
class Pass:
    """An IL program and what its constants, textures and outputs are: numbers of the kernel's parameters."""

    il: str
    constants: tuple[tuple[int, str], ...]
    inputs: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, int], ...]


def passes(header: str, kernel: str) -> list[Pass]:
    """The passes of a kernel's plain technique, the first."""
    images = {
        name: "".join(ast.literal_eval(line) for line in re.findall(r'"(?:[^"\\]|\\.)*"', body))
        for name, body in re.findall(r"const char (\w+)\[\] = (.*?);\n\n", header, re.DOTALL)
    }
    start = header.find(f"KernelDesc __{kernel}_cal_desc =")
    if start < 0:
        return []
    text = header[start : header.find(";\n\tstatic", start)].split(".technique(")[1]
    found = []
    for part in _PASS.findall(text):
        rows = [(kind, [word.strip() for word in words.split(",")]) for kind, words in _ROW.findall(part)]
        image = next((words[0] for kind, words in rows if kind == "image"), "")
        found.append(
            Pass(
                images.get(image, ""),
                tuple((int(w[0]), w[1].rpartition("::")[2]) for kind, w in rows if kind == "constant"),
                tuple((int(w[0]), int(w[1])) for kind, w in rows if kind == "input"),
                tuple((int(w[0]), int(w[1])) for kind, w in rows if kind == "output"),
            )
        )
    return found


def comparable(sample: Sample, kernel: Kernel, case: Case, plain: list[Pass]) -> bool:
    """Whether a call needs nothing of AMD's run-time but binding its arguments."""
    kinds = {p.kind for p in kernel.parameters}
    if not plain or case.domain is not None or case.full or kinds & {"reduce", "scatter", "constant"}:
        return False
    if any(kind != "CONST_USER_PARAM" for one in plain for _, kind in one.constants):
        return False
    for parameter in kernel.parameters:
        dtype = sample.dtype(parameter.type)
        if dtype.names or dtype.base.itemsize < 4:
            return False
    streams = {case.shapes[p.name] for p in kernel.parameters if p.kind in ("input", "output")}
    return len(streams) == 1 and all(len(case.shapes.get(p.name, ())) < 3 for p in kernel.parameters)


def texture(array: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A stream as CAL keeps it: two dimensions, and four components where there are three."""
    height, width = shape if len(shape) == 2 else (1, *shape)
    parts = array.reshape(height, width, -1)
    if dtype.shape == (3,):
        parts = np.concatenate([parts, np.zeros((height, width, 1), parts.dtype)], -1)
    return np.ascontiguousarray(parts)


def run(sample: Sample, kernel: Kernel, case: Case, plain: list[Pass], device: str) -> dict[str, np.ndarray]:
    """The outputs of a call, computed by its IL programs."""
    results: dict[str, np.ndarray] = {}
    for one in plain:
        program = hw.compile(one.il, language="il")
        arguments: dict[str, np.ndarray] = {}
        if one.constants:
            rows = np.zeros((len(one.constants), 16), np.uint8)
            for row, (number, _) in zip(rows, one.constants, strict=True):
                parameter = kernel.parameters[number]
                data = np.asarray(case.arguments[parameter.name], sample.dtype(parameter.type).base).tobytes()
                row[: len(data)] = np.frombuffer(data, np.uint8)
            arguments["cb0"] = rows.view(np.uint32)
        for k, (number, _) in enumerate(one.inputs):
            parameter = kernel.parameters[number]
            dtype = sample.dtype(parameter.type)
            arguments[f"i{k}"] = texture(case.arguments[parameter.name], dtype, case.shapes[parameter.name])
        height = width = 1
        outs = []
        for k, (number, _) in enumerate(one.outputs):
            parameter = kernel.parameters[number]
            dtype, shape = sample.dtype(parameter.type), case.shapes[parameter.name]
            arguments[f"o{k}"] = texture(np.zeros((*shape, *dtype.shape), dtype.base), dtype, shape)
            height, width = arguments[f"o{k}"].shape[:2]
            outs.append((parameter.name, dtype, shape, arguments[f"o{k}"]))
        known = {p.name for p in program.main.parameters}
        given = {name: array for name, array in arguments.items() if name in known}
        program.main[(width, height), None](**given, device=device)
        for name, dtype, shape, array in outs:
            count = int(np.prod(dtype.shape, dtype=int))
            results[name] = array[..., :count].reshape((*shape, *dtype.shape))
    return results


def compare(tools: Toolchain, path: Path, folder: Path, device: str) -> list[tuple[str, str, int, float, str]]:
    """For each kernel of a sample: name, status, calls, worst difference in ULPs, what went wrong first."""
    sample = tools.compile(path)
    made = folder / f"{path.stem}-{tools.compile(path).program.parent.name}"
    made.mkdir(parents=True, exist_ok=True)
    if not (made / "out_gpu.h").exists():
        command = [str(tools.brcc), "-k", *sample.options.split(), "-o", "out", str(path)]
        subprocess.run(command, cwd=made, capture_output=True, timeout=120, check=False)
    header = (made / "out_gpu.h").read_text(errors="replace") if (made / "out_gpu.h").exists() else ""
    rows = []
    for kernel in sample.kernels:
        plain = passes(header, kernel.name)
        allowed = TOLERANCES.get(kernel.name, EXACT)
        calls, worst, note = 0, 0.0, ""
        for case in cases(sample, kernel):
            if not comparable(sample, kernel, case, plain):
                continue
            expected = tools.run(sample, kernel, case.arguments, case.shapes, domain=case.domain, full=case.full)
            try:
                got = run(sample, kernel, case, plain, device)
            except hw.HeadwaterError as error:
                note = note or f"{case.label}: {' '.join(str(error).split())}"
                worst = float("inf")
                break
            calls += 1
            for name, wanted in expected.items():
                found = difference(wanted, got[name], allowed.of)
                worst = max(worst, found.ulps)
                if found.ulps > max(allowed.strict, allowed.fused):
                    note = note or f"{case.label}: {name} {found.where}"
        status = "differs" if note else "agrees" if calls else "left out"
        rows.append((kernel.name, status, calls, worst, note))
    return rows


def main() -> int:
    """Run the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.il_oracle", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of hibengler/BrookPlus")
    parser.add_argument("--device", default="cpu", help="the device to run on (default: cpu)")
    parser.add_argument("--sample", help="only samples whose path contains this")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "headwater-brook-oracle")
    chosen = parser.parse_args()
    totals = {"agrees": 0, "differs": 0, "left out": 0}
    calls = 0
    try:
        tools = Toolchain(chosen.checkout.resolve(), chosen.work.resolve())
        for path in samples(tools.checkout):
            if chosen.sample and chosen.sample not in str(path):
                continue
            for kernel, status, count, worst, note in compare(tools, path, chosen.work.resolve() / "il", chosen.device):
                totals[status] += 1
                calls += count
                print(
                    f"{path.stem:36} {kernel:36} {count:4} calls {worst:9.4g} ULP  {status}  {note}"[:300], flush=True
                )
    except (ToolError, hw.DeviceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(
        f"{sum(totals.values())} kernels, {calls} calls on {chosen.device}: "
        + ", ".join(f"{n} {s}" for s, n in totals.items())
    )
    return 1 if totals["differs"] or not totals["agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Input: a checkout of AMD's Brook+. Output: a table of the IL programs that its compiler makes of its samples, and
whether each gives AMD's CPU run-time's answers here.

``python -m verification.il_oracle --checkout DIR [--device cpu] [--sample NAME] [--work DIR]``

Data, answers and tolerances are `verification.brook_oracle`'s. Only IL's own part is ours: AMD's compiler says which
argument, or which of its fields, each texture, constant and output is, and what the run-time's part is: to bind them,
to run a domain, and to tell reductions their factors. Calls that it serves with further programs (implicit resize,
address translation) are left out, and so are reductions in several passes, and the one compute shader, whose plain
program takes its two-dimensional stream for a line. The exit status is 0 if all that is compared agrees.
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
from verification.brook_oracle.amd import Kernel, Sample, Toolchain, ToolError, samples
from verification.brook_oracle.cases import Case, cases
from verification.brook_oracle.compare import EXACT, TOLERANCES, Tolerance, difference

_PASS = re.compile(r"brook::Pass\(.*?\n\t\t\t\)", re.DOTALL)
_ROW = re.compile(r"\.(image|constant|constArray|input|output|computeShader)\(([^()]*)\)")
_BOUND = {"CONST_USER_PARAM", "CONST_REDUCTIONFACTOR", "CONST_BUFFERPITCH"}
VLIW_TOLERANCES = dict.fromkeys(
    ("boxMullar", "boxMullar_gpu"),
    Tolerance(16, 16, "largest", "SIN and COS of these chips have an absolute error; a result is small where it is"),
)
"""Where the machine's own operations are less exact than those of OpenCL."""


@dataclass(frozen=True)
class Pass:
    """An IL program and what its constants, constant arrays, textures and outputs are: numbers of the kernel's
    parameters, and of a struct's field."""

    il: str
    constants: tuple[tuple[int, str], ...]
    arrays: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, int], ...]
    compute: bool


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
                tuple(int(w[0]) for kind, w in rows if kind == "constArray"),
                tuple((int(w[0]), int(w[1])) for kind, w in rows if kind == "input"),
                tuple((int(w[0]), int(w[1])) for kind, w in rows if kind == "output"),
                any(kind == "computeShader" for kind, _ in rows),
            )
        )
    return found


def comparable(kernel: Kernel, case: Case, plain: list[Pass]) -> bool:
    """Whether a call needs nothing of AMD's run-time but binding its arguments."""
    if not plain or any(one.compute or any(kind not in _BOUND for _, kind in one.constants) for one in plain):
        return False
    if any(len(case.shapes.get(p.name, ())) > 2 for p in kernel.parameters):
        return False
    streams = {case.shapes[p.name] for p in kernel.parameters if p.kind in ("input", "output")}
    reduced = next((p for p in kernel.parameters if p.kind == "reduce"), None)
    if reduced is not None:
        (whole,) = streams
        return len(whole) == 1 and whole[0] % _target(case, reduced.name)[0] == 0
    return len(streams) == 1 and not case.full


def _target(case: Case, name: str) -> tuple[int, ...]:
    """The shape of a reduction's result."""
    return (1,) if case.full else case.shapes[name]


def texture(array: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """A stream as CAL keeps it: two dimensions, four components where there are three, at least 32 bits for each."""
    height, width = shape if len(shape) == 2 else (1, *shape)
    parts = array.reshape(height, width, -1)
    if dtype.shape == (3,):
        parts = np.concatenate([parts, np.zeros((height, width, 1), parts.dtype)], -1)
    if dtype.base.itemsize < 4:
        parts = parts.astype(np.uint32 if dtype.base.kind == "u" else np.int32)
    return np.ascontiguousarray(parts)


def run(sample: Sample, kernel: Kernel, case: Case, plain: list[Pass], device: str) -> dict[str, np.ndarray]:
    """The outputs of a call, computed by its IL programs."""
    results: dict[str, np.ndarray] = {}
    for one in plain:
        program = hw.compile(one.il, language="il")
        arguments: dict[str, np.ndarray] = {}
        if one.constants:
            arguments["cb0"] = np.stack([_constant(sample, kernel, case, *row) for row in one.constants])
        for k, number in enumerate(one.arrays, 1 if one.constants else 0):
            parameter = kernel.parameters[number]
            dtype = sample.dtype(parameter.type)
            parts = np.asarray(case.arguments[parameter.name], dtype.base).reshape(int(np.prod(parameter.sizes)), -1)
            arguments[f"cb{k}"] = np.zeros((len(parts), 4), dtype.base)
            arguments[f"cb{k}"][:, : parts.shape[1]] = parts
        for k, (number, field) in enumerate(one.inputs):
            parameter = kernel.parameters[number]
            array, dtype = _field(case.arguments[parameter.name], sample.dtype(parameter.type), field)
            arguments[f"i{k}"] = texture(array, dtype, case.shapes[parameter.name])
        height = width = 1
        outs = []
        for k, (number, field) in enumerate(one.outputs):
            parameter = kernel.parameters[number]
            whole = sample.dtype(parameter.type)
            dtype = whole[field] if whole.names else whole
            shape = _target(case, parameter.name) if parameter.kind == "reduce" else case.shapes[parameter.name]
            made = texture(np.zeros((*shape, *dtype.shape), dtype.base), dtype, shape)
            height, width = made.shape[:2]
            name = f"o{k}"
            if parameter.kind == "scatter":  # an element of the global buffer has four components
                name, made = "g", np.zeros((height, width, 4), dtype.base)
                given = case.arguments[parameter.name].reshape(height, width, -1)
                made[..., : given.shape[-1]] = given
            arguments[name] = made
            outs.append((parameter, field if whole.names else None, dtype, shape, made))
        known = {p.name for p in program.main.parameters}
        given = {name: array for name, array in arguments.items() if name in known}
        options = {}
        size = (width, height)
        if case.domain is not None:
            options["offset"], size = (*case.domain[0], 0)[:2], (*case.domain[1], 1)[:2]
        program.main[size, None](**given, device=device, **options)
        for parameter, member, dtype, shape, array in outs:
            count = int(np.prod(dtype.shape, dtype=int))
            part = array[..., :count].reshape((*(() if case.full else shape), *dtype.shape))
            if member is None:
                results[parameter.name] = part
            else:
                whole = sample.dtype(parameter.type)
                results.setdefault(parameter.name, np.zeros(shape, whole))[whole.names[member]] = part
    return results


def _constant(sample: Sample, kernel: Kernel, case: Case, number: int, kind: str) -> np.ndarray:
    """An element of constant buffer 0, as the run-time fills it: a value, a stream's width, a reduction's factors."""
    parameter = kernel.parameters[number]
    row = np.zeros(4, np.uint32)
    if kind == "CONST_BUFFERPITCH":
        row[0] = case.shapes[parameter.name][-1]
    elif kind == "CONST_REDUCTIONFACTOR":
        reduced = next(p.name for p in kernel.parameters if p.kind == "reduce")
        row[:] = (case.shapes[parameter.name][0] // _target(case, reduced)[0], 1, 1, 1)
    else:
        data = np.asarray(case.arguments[parameter.name], sample.dtype(parameter.type).base).tobytes()
        row.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return row


def _field(array: np.ndarray, dtype: np.dtype, field: int) -> tuple[np.ndarray, np.dtype]:
    """A stream's array, or one field of its structs."""
    if not dtype.names:
        return array, dtype
    return np.ascontiguousarray(array[dtype.names[field]]), dtype[field]


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
        if getattr(hw.device(device), "chip", None) is not None and hw.device(device).chip.family == "vliw":
            allowed = VLIW_TOLERANCES.get(kernel.name, allowed)
        calls, worst, note = 0, 0.0, ""
        for case in cases(sample, kernel):
            if not comparable(kernel, case, plain):
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
    parser = argparse.ArgumentParser(prog="python -m verification.il_oracle", description=__doc__.splitlines()[0])
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

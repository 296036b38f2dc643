"""Input: a kernel's file and its data. Output: the kernel's outputs, as files, text or JSON (``headwater run``)."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.cli import crash
from headwater.cli.options import (
    Parser,
    add_build_options,
    add_device_option,
    add_language_option,
    add_triton_options,
    build_options,
    positive,
    print_warnings,
    triton_code,
    whole_from_one,
)
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.files import Array
    from headwater.jobs.bind import Binding, Slot
    from headwater.jobs.compare import Difference
    from headwater.jobs.job import Job
    from headwater.runtime import Device

_CHECK = "HEADWATER_CHECK"
_MOST_SHOWN = 1000
"""Elements of an output that is shown in its shape."""
_BUDGET = 2.0  # seconds that --time may take beyond three runs

_USAGE = "FILE [ARG …] [--kernel NAME] [--device DEVICE] [-o OUTPUT] [options]"
_DESCRIPTION = """\
Run a kernel of an OpenCL C (.cl), HIP (.hip, .cu), Brook+ (.br) or ATI IL (.il) file, or, on a simulated chip, of
machine code (.hsaco, .cal).

Arguments become the kernel's parameters: arrays for buffers and streams, numbers for values, each in order,
or by name, as in width=640. An array is
  a.npy  a.npz:member  picture.png  table.csv:column  data.bin:float32:512x512   or generated:
  zeros:SHAPE  ones:SHAPE  arange:SHAPE  random:SHAPE[:SEED]    (a SHAPE is 1000, 512x512 or 4Mi;
  of the parameter's type, or of a type before the shape: ones:double:1Mi)
Local memory is local:BYTES; by default, with --local, one element for each work-item of a work-group.

What you leave out is inferred if there is one right answer: an output buffer is as large as the first array;
width, height and count are its sizes; the global size covers the output. -v prints what was inferred.
The buffer's type decides how a picture is stored: uint is a pixel as 0xAABBGGRR, uchar4 and float4 are RGBA,
uchar, int and float are grey levels; float ranges from 0 to 1, integers from 0 to 255.
"""
_EXAMPLES = """\
examples:
  a median filter on a photograph:
    headwater run median.cl --kernel medianfilter_rgba photo.jpg -o filtered.png
  sizes by hand, four pixels per work-item:
    headwater run median.cl --kernel medianfilter_rgba_x4 photo.jpg --global 150,400 -o filtered.png
  a Brook+ kernel on two columns of a table, printing what it makes:
    headwater run sum.br prices.csv:bid prices.csv:ask
  no input at all:
    headwater run mandelbrot.cl -2 1.28 0.0025 limit=500 --global 1024,1024 -o set.png
  is it right on the GPU, and how fast?
    headwater run saxpy.cl x=random:16Mi y=random:16Mi a=2 --device gpu --verify cpu --time

exit codes: 0 done, 1 --verify found a difference, 2 bad input, 130 interrupted
"""


def parser() -> Parser:
    """The options of ``headwater run``."""
    made = Parser("run", _USAGE, _DESCRIPTION, _EXAMPLES)
    add_launch_options(made)
    checks = made.add_argument_group("checking and timing")
    checks.add_argument(
        "--check",
        action="store_true",
        help="find accesses out of bounds, divergent barriers and, on chips, races, with their lines",
    )
    checks.add_argument("--verify", metavar="DEVICE", help="run there too and compare; exit code 1 if they differ")
    checks.add_argument("--tolerance", metavar="T", help="of --verify, relative (default: 1e-5 for float, 0 for int)")
    checks.add_argument("--time", action="store_true", help="run repeatedly and print the median")
    checks.add_argument("--repeat", metavar="N", help="runs for --time (default 20, about 2 s at most)")
    checks.add_argument("--time-limit", metavar="S", help="stop after S seconds (an endless loop, for example)")
    printing = made.add_argument_group("printing")
    printing.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    printing.add_argument("-v", "--verbose", action="store_true", help="print what was inferred, and how")
    printing.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    return made


def add_launch_options(made: Parser, *, simulated: bool = False, several: bool = False) -> None:
    """What tells a kernel and its arguments, for all commands that launch one; ``simulated``: on a chip that is not
    here only; ``several``: the command declares ``--device`` itself."""
    made.add_argument(
        "file",
        metavar="FILE",
        help="the kernel: .cl, .hip, .br, .il; machine code: .hsaco, .cal; - reads standard input",
    )
    made.add_argument("words", metavar="ARG", nargs="*", help="arrays and numbers, in order or as name=value")
    if not several:
        add_device_option(made, "a simulated chip, such as vega64 or a TOML file" if simulated else "")
    made.add_argument("--kernel", "-k", metavar="NAME", help="which kernel; needed if the file has several")
    made.add_argument(
        "-o",
        "--output",
        dest="outputs",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="write an output: .npy, .npz, .csv, .bin or a picture"
        + ("" if simulated else "; without -o outputs are summarised as text"),
    )
    sizes = made.add_argument_group("sizes (x first, as in OpenCL: 640,480)")
    sizes.add_argument(
        "--global", "-g", dest="global_size", metavar="X[,Y[,Z]]", help="number of work-items (OpenCL C)"
    )
    sizes.add_argument("--local", "-l", dest="local_size", metavar="X[,Y[,Z]]", help="work-items of a group (OpenCL C)")
    sizes.add_argument(
        "--lds", metavar="BYTES", help="local memory of a group behind what the kernel declares (machine code, HIP)"
    )
    sizes.add_argument("--shape", "-s", metavar="ROWSxCOLUMNS", help="shape of the outputs, slowest dimension first")
    sizes.add_argument("--cast", action="store_true", help="convert arrays of another number type while reading")
    add_build_options(made)
    add_language_option(made)
    add_triton_options(made)


def compiled_program(args: argparse.Namespace, device: Device) -> Any:
    """The program of the file, or of standard input, that the command line names."""
    from headwater import sources
    from headwater.runtime.loading import program_of

    found = triton_code(args, args.file, device) or sources.given(args.file)
    return program_of(*found, args.language, build_options(args), device)


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    begin = time.perf_counter()
    args = parser().parse(words)
    with _checking(args.check), crash.reported():
        return _run(args, begin)


@contextmanager
def _checking(wanted: bool) -> Iterator[None]:
    """Bounds-checked launches inside: the runtime looks at the environment, for both languages."""
    before = os.environ.get(_CHECK)
    if wanted:
        os.environ[_CHECK] = "1"
    try:
        yield
    finally:
        if wanted:
            os.environ.pop(_CHECK)
            if before is not None:
                os.environ[_CHECK] = before


def _run(args: argparse.Namespace, begin: float) -> int:
    limit = positive(args.time_limit, "--time-limit")
    tolerance = positive(args.tolerance, "--tolerance", zero=True)
    if args.repeat is not None and not args.time:
        raise UsageError("--repeat says how often --time runs", hint="add --time")
    if args.tolerance is not None and not args.verify:
        raise UsageError("--tolerance is that of --verify", hint="add --verify cpu, say")
    repeats = whole_from_one(args.repeat or "20", "--repeat")
    path = Path(args.file)

    import headwater
    from headwater.cli.launch import printf_on_stderr
    from headwater.cli.progress import progress
    from headwater.jobs.job import Job, choose_kernel

    device = headwater.device(args.device)
    if args.check and device.kind == "opencl":
        raise UsageError(
            f"--check works on the cpu and on simulated chips, not on {device.name}", hint="leave --device out"
        )
    other = headwater.device(args.verify) if args.verify else None
    with progress(f"compiling {path.name} for {device.name}"):
        program = compiled_program(args, device)
    if not args.quiet:
        print_warnings(program)
    name = choose_kernel(program, args.kernel, path)
    slots, binding = bind_words(program, name, args)
    if args.verbose:
        for note in binding.notes:
            print(f"headwater: {note}", file=sys.stderr)
    job = Job(program, name, slots, binding, time_limit=limit)
    compiled = time.perf_counter() - begin
    with printf_on_stderr(args.json):
        with progress(f"running {name} on {device.name}") as watcher:
            outputs, first = job.run(device, watcher)
        local_size = job.local_size
        differences = _verify(job, outputs, other, tolerance) if other is not None else []
        seconds: list[float] = []
        if args.time:
            with progress(f"timing {name} on {device.name}"):
                seconds = job.times(device, repeats, _BUDGET)
    if args.check and device.kind == "cpu" and not args.quiet:
        from headwater.runtime.checking import NOT_CHECKED

        print(f"headwater: note: {NOT_CHECKED}; with --device vega64 it does", file=sys.stderr)
    notes = write_outputs(job, outputs)
    result = _Result(path, name, device, job, outputs, notes, compiled, first, seconds, other, differences, local_size)
    if args.json:
        import json

        print(json.dumps(result.as_json()))
    elif not args.quiet:
        print(result.as_text(), end="")
    return 0 if all(difference.ok for difference in differences) else 1


# --------------------------------------------------------------------------------------------------------- preparing


def _dims(text: str | None, option: str) -> tuple[int, ...]:
    if text is None:
        return ()
    from headwater.files import shape_of

    try:
        sizes = shape_of(text.strip())
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint="write 1024 or 640,480") from None
    if len(sizes) > 3:
        raise UsageError(f"{option} takes one to three sizes, {len(sizes)} given")
    return sizes


def bind_words(program: Any, name: str, args: argparse.Namespace) -> tuple[list[Slot], Binding]:
    """The kernel's parameters, and what the command line gives to them."""
    from headwater.jobs.bind import Request
    from headwater.jobs.job import bound

    request = Request(
        args.words,
        args.outputs,
        _dims(args.global_size, "--global"),
        _dims(args.local_size, "--local") or None,
        _dims_of_shape(args.shape),
        args.cast,
        _lds(args.lds),
    )
    return bound(program, name, request)


def _lds(text: str | None) -> int:
    from headwater.base.numbers import natural

    nbytes = natural(text) if text else 0
    if nbytes is None:
        raise UsageError(f"--lds {text}: a number of bytes is expected", hint="for example 4096")
    return nbytes


def _dims_of_shape(text: str | None) -> tuple[int, ...] | None:
    from headwater.files import shape_of

    return shape_of(text.strip()) if text else None


# ---------------------------------------------------------------------------------------------------------- reporting


def _verify(job: Job, outputs: dict[str, Array], other: Device, tolerance: float | None) -> list[Difference]:
    from headwater.cli.progress import progress
    from headwater.jobs.compare import compare

    with progress(f"running {job.kernel.name} on {other.name}") as watcher:
        reference, _ = job.run(other, watcher)
    return [compare(name, outputs[name], reference[name], tolerance) for name in outputs]


def write_outputs(job: Job, outputs: dict[str, Array]) -> list[str]:
    """Write the outputs that have a file; remarks on what was done to their values are returned."""
    if not job.binding.targets:
        return []
    from headwater import files

    elements = {slot.name: slot.element for slot in job.slots}
    return files.write(
        [
            files.Output(target, name, outputs[name], elements[name] or _element_of(outputs[name]))
            for name, target in job.binding.targets.items()
        ]
    )


def output_lines(job: Job, outputs: dict[str, Array], notes: Sequence[str]) -> str:
    """Files written or outputs summed up, and remarks: lines, each ended."""
    binding = job.binding
    lines = [_wrote(target, name, outputs[name]) for name, target in binding.targets.items()]
    for name, array in outputs.items():
        if not binding.targets:
            lines += _show(name, array, None if name in binding.made else binding.values.get(name))
        elif name not in binding.targets:
            lines.append(f"not written: {_describe(name, array)}; -o {name}=FILE does it")
    lines += [f"note: {note}" for note in notes]
    return "".join(f"{line}\n" for line in lines)


def write_and_report(job: Job, outputs: dict[str, Array]) -> None:
    """Write the outputs that have a file and say so on stderr, for commands whose answer is another."""
    for note in write_outputs(job, outputs):
        print(f"note: {note}", file=sys.stderr)
    for name, target in job.binding.targets.items():
        print(_wrote(target, name, outputs[name]), file=sys.stderr)


def _element_of(array: Array) -> Any:
    """An image argument's element: what its array holds, channels as components."""
    from headwater.files import Element

    width = array.shape[2] if array.ndim == 3 else 1
    return Element(array.dtype.name, array.dtype, width, width)


@dataclass(frozen=True)
class _Result:
    """What happened, to be printed for people or for scripts. Times are in seconds."""

    path: Path
    kernel: str
    device: Device
    job: Job
    outputs: dict[str, Array]
    notes: list[str]
    compiled: float
    first: float
    seconds: list[float]
    other: Device | None
    differences: list[Difference]
    local_size: tuple[int, ...] | None

    def as_json(self) -> dict[str, Any]:
        """One object; numbers that JSON lacks (NaN, infinities) are null."""
        binding = self.job.binding
        result: dict[str, Any] = {
            "file": str(self.path),
            "kernel": self.kernel,
            "device": self.device.name,
            "device_description": self.device.description,
            "outputs": [
                {
                    "name": name,
                    "shape": list(array.shape),
                    "dtype": str(array.dtype),
                    "file": binding.targets.get(name),
                    **_summary(array),
                }
                for name, array in self.outputs.items()
            ],
            "notes": [*binding.notes, *self.notes],
            "seconds": {"prepare": self.compiled, "first_run": self.first},
        }
        if binding.global_size:
            result["global_size"] = list(binding.global_size)
            result["local_size"] = list(self.local_size) if self.local_size else None
        if self.seconds:
            from statistics import median

            moved = self.job.moved_bytes(self.outputs)
            result["seconds"] |= {
                "median": median(self.seconds),
                "least": min(self.seconds),
                "greatest": max(self.seconds),
                "runs": len(self.seconds),
            }
            result["bytes_moved"] = moved
        if self.other is not None:
            result["verify"] = {
                "device": self.other.name,
                "ok": all(difference.ok for difference in self.differences),
                "outputs": [
                    {
                        "name": d.name,
                        "ok": d.ok,
                        "wrong": d.wrong,
                        "largest": _finite(d.largest),
                        "ulps": d.ulps,
                        "tolerance": d.tolerance,
                        "first": list(d.first) if d.first else None,
                    }
                    for d in self.differences
                ],
            }
        return result

    def as_text(self) -> str:
        """A few lines: files written or outputs summed up, then times, then the comparison."""
        lines = output_lines(self.job, self.outputs, self.notes).splitlines()
        if self.seconds:
            lines += self._time_lines()
        for d in self.differences:
            assert self.other is not None
            lines.append(_difference_line(d, self.device.name, self.other.name))
        if self.job.kernel.program.language == "opencl" and any(map(_may_be_rounding, self.differences)):
            lines.append(f"  hint: {_FUSED}")
        return "".join(f"{line}\n" for line in lines)

    def _time_lines(self) -> list[str]:
        from statistics import median

        from headwater.views.units import data_bytes, seconds

        middle = median(self.seconds)
        moved = self.job.moved_bytes(self.outputs)
        binding = self.job.binding
        sizes = ""
        if binding.global_size:
            sizes = f", global {' x '.join(map(str, binding.global_size))}"
            sizes += f", local {' x '.join(map(str, self.local_size))}" if self.local_size else ""
        rows = [
            ("median", f"{seconds(middle, 4)} of {len(self.seconds)} runs"),
            ("range", f"{seconds(min(self.seconds), 4)} to {seconds(max(self.seconds), 4)}"),
            ("memory", f"{moved / middle / 1e9:.1f} GB/s if each of {data_bytes(moved, 4)} is moved once"),
            ("first run", f"{seconds(self.first, 4)}, after {seconds(self.compiled, 4)} of reading and compiling"),
        ]
        head = f"{self.kernel} on {self.device.name} ({self.device.description}){sizes}"
        return [head, *(f"  {label:<10} {text}" for label, text in rows)]


RARE = 0.01
"""The share of whole numbers up to which a difference is more likely one of rounding: of a median filter by luminance
over a photograph 0.0002 differ between the cpu and an HD 5870."""
_FUSED = (
    "whole numbers may come of comparing floats, and a device may round a * b + c once or twice; "
    "with #pragma OPENCL FP_CONTRACT OFF in the source all do it twice"
)


def _may_be_rounding(d: Difference) -> bool:
    """Whether it is of whole numbers, and rare."""
    return not d.ok and d.tolerance == 0 and d.ulps == 0 and d.wrong <= RARE * d.elements


def _finite(number: float) -> float | None:
    return number if abs(number) < float("inf") else None


def _summary(array: Array) -> dict[str, Any]:
    """Least, greatest and mean of an array of numbers; its only element if there is one."""
    import numpy as np

    if array.dtype.kind == "V":
        return {}
    fields: dict[str, Any] = {}
    if array.size == 1:
        value = array.reshape(-1)[0].item()
        fields["value"] = _finite(value)
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if finite.size:
        fields |= {"min": finite.min().item(), "max": finite.max().item()}
        fields["mean"] = float(finite.mean(dtype=np.float64))
    if finite.size < array.size:
        fields["not_finite"] = int(array.size - finite.size)
    return fields


def _wrote(target: str, name: str, array: Array) -> str:
    from headwater.files import PICTURES

    if target.lower().endswith(PICTURES):
        height, width = array.shape[:2]
        pixels = f"{width * array.shape[2] if array.ndim == 3 and array.dtype == 'u4' else width} x {height} pixels"
        return f"wrote {target}: {name}, {pixels}"
    return f"wrote {target}: {_describe(name, array)}"


def _describe(name: str, array: Array) -> str:
    text = f"{name}, {array.dtype} {' x '.join(map(str, array.shape))}"
    summary = _summary(array)
    if "min" in summary:
        text += f", {summary['min']:.6g} to {summary['max']:.6g}"
    if "not_finite" in summary:
        text += f", {summary['not_finite']} not finite"
    return text


def _show(name: str, array: Array, before: Any) -> list[str]:
    """An output as text, long ones abridged in the middle; a line for what is as it was ``before``."""
    import numpy as np

    if array.size == 1 and array.dtype.kind != "V":
        return [f"{name} = {array.reshape(-1)[0]}"]
    if before is not None and np.array_equal(array.reshape(-1).view(np.uint8), before.reshape(-1).view(np.uint8)):
        return [f"{_describe(name, array)}: as it was given"]
    ends = 3 if array.ndim < 3 else 2
    if prod(min(count, 2 * ends) for count in array.shape) > _MOST_SHOWN:  # NumPy abridges no short axis
        array, ends = array.reshape(-1), 3
    text = np.array2string(array, threshold=64, edgeitems=ends, max_line_width=100, precision=6)
    return [_describe(name, array), *(f"  {line}" for line in text.splitlines())]


def _difference_line(d: Difference, here: str, there: str) -> str:
    largest = f"largest difference {d.largest:.3g}" + (f" ({d.ulps} ULP)" if d.ulps else "")
    if d.ok:
        exact = "equal" if d.largest == 0 else f"the same within {d.tolerance:g}, {largest}"
        return f"verify: {d.name}: {here} and {there} are {exact}"
    place = ", ".join(map(str, d.first or ()))
    share = f"{d.wrong} of {d.elements} elements differ between {here} and {there}"
    return f"verify: {d.name}: {share}, first [{place}]; {largest}"

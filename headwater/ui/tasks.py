"""Input: a request of the page, as plain values. Output: its answer, as plain values. Runs in a worker."""

from __future__ import annotations

import base64
import contextlib
import io
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

import headwater as hw
from headwater import chips
from headwater.analyze.analysis import Analysis
from headwater.analyze.entry import analyze
from headwater.analyze.sources import Source
from headwater.base.numbers import natural
from headwater.errors import HeadwaterError, SourceError, UsageError
from headwater.files import Array, shape_of
from headwater.ui import project

Given = Mapping[str, Any]

COLUMNS: Final = (
    *("seconds", "bound_by", "headroom", "gflops", "bandwidth", "occupancy", "wavefronts", "vgprs", "gprs", "sgprs"),
    *("lds_bytes", "scratch_bytes", "code_bytes", "alu_fetch_ratio", "packing"),
)
"""Metrics of the table of chips."""
EDITED: Final = "edited.s"
"""What messages call the assembly of a request."""
_MOST_PRINTED: Final = 256 << 10
_MOST_SENT: Final = 4 << 20
"""Bytes of an output that are sent whole; of larger ones every so many elements."""
_NAMES: Final = 200


def warm() -> None:
    """Import what every request needs, before the first one waits for it."""
    import headwater.analyze.check  # noqa: F401
    from headwater.native.worker import WORKER

    WORKER.start("opencl.codegen_gcn")


def answer(task: str, given: Given, folder: Path) -> dict[str, Any]:
    """``{"value": …}``, or ``{"error": …}`` with what went wrong and where."""
    try:
        if not isinstance(given, dict):
            raise UsageError("a request is an object")
        if "files" in given:
            project.lay(folder, given["files"])
        return {"value": TASKS[task](given)}
    except HeadwaterError as error:
        return {"error": error_record(error)}
    except (MemoryError, OSError) as error:
        return {"error": {"kind": "ResourceError", "message": str(error) or "out of memory", "hint": "ask for less"}}
    except Exception as error:  # whatever else goes wrong in here is a defect, reported as one
        message = f"{type(error).__name__}: {error}"
        return {"error": {"kind": "InternalError", "message": message[:2000], "hint": "this is a defect of Headwater"}}


def error_record(error: HeadwaterError) -> dict[str, Any]:
    """An error as the page shows it."""
    found: dict[str, Any] = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
    if isinstance(error, SourceError) and error.span is not None:
        found |= {"file": error.span.file, "line": error.span.line, "column": error.span.column}
    return found


# -- what is there -----------------------------------------------------------------------------------------------------


def _chips(_: Given) -> dict[str, Any]:
    found = sorted(
        ((name, chips.find(name)) for name in chips.names()),
        key=lambda pair: (not pair[1].is_vliw, pair[1].generation, pair[1].name),
    )
    rows = [
        {
            "id": name,
            "name": chip.name,
            "silicon": chip.chip,
            "family": chip.family,
            "generation": chip.generation,
            "target": chip.target,
            "units": chip.compute.compute_units,
            "clock": chip.compute.clock_mhz,
            "bandwidth": chip.memory.gigabytes_per_second,
        }
        for name, chip in found
    ]
    return {"chips": rows}


_EXAMPLES: Final = (
    ("matmul/matmul.cl", "Matrix product, tiled", "matmult_tiled", "random:128x128 random:128x128 n=128 k=128 m=128"),
    ("median/median.cl", "Median filter of a picture", "medianfilter_rgba", "random:256x256"),
    ("mandelbrot/mandelbrot.br", "Mandelbrot set (Brook+)", "mandelbrot", "-2.2 1.2 0.0125 200"),
    ("nbody/nbody.cl", "N bodies", "step_bodies", "random:1024 zeros:1024 count=1024 0.01 0.01 local:4096"),
    ("black_scholes/black_scholes.br", "Option prices (Brook+)", "", "random:4096 random:4096 random:4096 0.02 0.3"),
    ("reduction/reduction.cl", "Sums by work-group", "sum", "random:65536 partial=zeros:16 count=65536 local:1024"),
    ("matmul/matmul.il", "Matrix product (ATI IL)", "", "random:64x64 random:64x64 cb0=ones:1 o0=zeros:64x64"),
    ("python/kernels.py", "Kernels in Python", "matmult_tiled", "random:128x128 random:128x128 n=128 k=128 m=128"),
    ("hip/heat.hip", "Heat equation (HIP)", "heat", "zeros:128x128 random:128x128 width=128 height=128 rate=0.1"),
)
"""Files, what they are called, the kernel, and arguments that it can be run with."""
_SIZES: Final = {
    "mandelbrot.br": {"shape": "192x256"},
    "nbody.cl": {"global": "1024", "local": "256"},
    "reduction.cl": {"global": "4096", "local": "256"},
    "heat.hip": {"global": "128,128", "local": "16,16", "lds": "1296"},
}
"""Sizes that cannot be worked out."""


def _examples(_: Given) -> dict[str, Any]:
    from headwater import data

    found = []
    for file, title, kernel, words in _EXAMPLES:
        with contextlib.suppress(FileNotFoundError):
            path = data.example(file)
            text = path.read_text(encoding="utf-8")
            sizes = {"global": "", "local": "", "shape": "", "lds": "", **_SIZES.get(path.name, {})}
            found.append({"name": path.name, "title": title, "text": text, "kernel": kernel, "words": words, **sizes})
    return {"examples": found}


def _explain(given: Given) -> dict[str, Any]:
    from headwater.analyze.explain import explain

    names = given.get("names")
    if not isinstance(names, list) or len(names) > _NAMES or not all(isinstance(name, str) for name in names):
        raise UsageError(f"names are a list of up to {_NAMES} texts")
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = [{"kind": e.kind, "heading": e.heading, "lines": e.lines} for e in explain(name[:100])]
        except UsageError:
            found[name] = []
    return found


# -- code and analysis -------------------------------------------------------------------------------------------------


def _check(given: Given) -> list[dict[str, Any]]:
    from headwater.analyze.check import check
    from headwater.analyze.sources import read

    try:
        source = read(_main(given), _options(given))
    except SourceError as error:  # of Python, which is translated as it is read
        return [{"severity": "error", **error_record(error)}]
    return [asdict(one) for one in check(source)]


def _code(given: Given) -> dict[str, Any]:
    """The kernels' machine code on one chip, with all that is said of it; errors and warnings at their places."""
    chip, kernel = _chip(given.get("device")), given.get("kernel")
    question = _question(given)
    try:
        source = _assembled(given, chip) if given.get("assembly") else Path(_main(given))
    except SourceError as error:
        return {
            "kernels": [],
            "names": [],
            "diagnostics": [{"severity": "error", **error_record(error)}],
            "refused": [],
        }
    try:
        try:
            report = analyze(source, device=chip, kernel=kernel, **question)
        except SourceError:
            raise
        except UsageError:  # the kernel has another name now
            report = analyze(source, device=chip, **question)
    except SourceError:
        found = _check(given)
        if not any(one["severity"] == "error" for one in found):
            raise
        return {"kernels": [], "names": [], "diagnostics": found, "refused": []}
    kernels = []
    for analysis in report.analyses[:1]:
        made = analysis.as_json()
        made["assumptions"] = [controls(text) for text in made["assumptions"]]
        for one in made["advice"]:
            one |= {"do": controls(one["do"]), "because": controls(one["because"])}
        for row, step in zip(made["code"], analysis.code.steps, strict=True):
            row |= {"label": step.label, "clause": step.clause, "waits": step.waits, "via": step.via}
        kernels.append(made)
    built = next((analysis.built for analysis in report if analysis.built is not None), None)
    refused = [{"kernel": r.kernel, **error_record(r.error)} for r in report.refused]
    return {
        "kernels": kernels,
        "names": _kernel_names(report[0]),
        "diagnostics": _check(given) if report.warnings else [],
        "refused": refused,
        "texts": dict(built.texts) if built is not None else {},
    }


def _assembly(given: Given) -> dict[str, Any]:
    """One kernel's machine code on a VLIW chip, or a whole code object, as assembly that can be changed."""
    from headwater.analyze.sources import read

    chip = chips.find(_chip(given.get("device")))
    source, name = read(_main(given), _options(given)), str(given.get("symbol", ""))
    if chip.is_vliw:
        from headwater.isa.vliw import image_text
        from headwater.runtime.vliw.images import image_of

        image = image_of(source.text, chip, source.name) if source.language == "il" else _image(source, chip, name)
        return {"text": image_text.text(image, exact=True)}
    from headwater.isa.gcn import assembly

    return {"text": assembly.text(_code_object(source, chip))}


def _code_object(source: Source, chip: chips.Chip) -> Any:
    """A source as the code object that its machine code is shown of."""
    from headwater.analyze.sources import translated
    from headwater.isa.gcn.codeobject import load
    from headwater.opencl.gcn import compile_code_object

    text, texts, *_ = translated(source)
    options = source.options if source.language in ("opencl", "hip") else ""
    made = compile_code_object(text, next(reversed(texts)), options, chip.target)
    return load(made.code, source.name)


def _image(source: Source, chip: chips.Chip, symbol: str) -> Any:
    """A kernel of OpenCL C, or of what becomes that, as an image of a VLIW chip."""
    from headwater.analyze.sources import translated
    from headwater.il import from_llvm
    from headwater.opencl.kernels import hip_options
    from headwater.runtime.vliw.images import kernel_image

    text, texts, *_ = translated(source, chip.vliw.stream_texels)
    options = {"opencl": source.options, "hip": hip_options(source.options)}.get(source.language, "")
    built = from_llvm.kernels(text, chip, next(reversed(texts)), options)
    kernel = built.kernels.get(symbol) or next(iter(built.kernels.values()))
    return kernel_image(kernel, chip)


def _assembled(given: Given, chip: str) -> Path:
    """The request's assembly as a file of machine code. SourceError at its line if it is wrong."""
    text = project.check_text(given["assembly"], "the assembly")
    found = chips.find(chip)
    if found.is_vliw:
        from headwater.isa.vliw import image_files, image_text

        path = Path("edited.cal")
        path.write_bytes(image_files.write(image_text.parse(text, found.target, filename=EDITED)))
    else:
        from headwater.opencl.gcn_build import assemble

        path = Path("edited.hsaco")
        path.write_bytes(assemble(text, EDITED, found.target).code)
    return path


def _kernel_names(analysis: Analysis) -> list[str]:
    """All kernels of the analysis's source, as the source calls them; then the versions of those that have several."""
    built = analysis.built
    if built is None:
        return [analysis.name]
    codes = [code.kernel for code in built.codes]
    names = list(dict.fromkeys(built.entries.get(name, name) for name in codes)) + list(built.refused)
    versions = [name for name in codes if name in built.entries]
    return names + versions if len(versions) > len(names) else names


def _table(given: Given) -> dict[str, Any]:
    """One kernel's metrics on several chips."""
    names = given.get("devices")
    if not isinstance(names, list) or not names:
        raise UsageError("devices are a list of chips' names")
    kernel = given.get("kernel")
    rows: list[dict[str, Any]] = []
    for name in names:
        chip = _chip(name)
        try:
            report = analyze(Path(_main(given)), device=chip, kernel=kernel, **_question(given))
        except HeadwaterError as error:
            rows.append({"device": name, "refused": error.message})
            continue
        one = next((a for a in report if a.name == kernel), report[0] if kernel is None else None)
        if one is None:
            why = next((r.error.message for r in report.refused if r.kernel == kernel), f"no kernel {kernel}")
            rows.append({"device": name, "refused": why})
            continue
        found = {m: one.metric(m) for m in COLUMNS}
        rows.append(
            {
                "device": name,
                "kernel": one.name,
                "metrics": {
                    m: {"value": _finite(metric.value), "shown": metric.shown, "verdict": metric.verdict}
                    for m, metric in found.items()
                    if metric is not None
                },
            }
        )
    return {"rows": rows}


def _page(given: Given) -> dict[str, Any]:
    """The analyses as one self-contained page, or as JSON: what ``form`` says."""
    names, form = given.get("devices"), given.get("form")
    if not isinstance(names, list) or not names:
        raise UsageError("devices are a list of chips' names")
    if form not in ("html", "json"):
        raise UsageError(f"{form!r:.60} is no form of a report", hint="html or json")
    report = analyze(Path(_main(given)), device=[_chip(name) for name in names], **_question(given))
    return {form: report.html() if form == "html" else report.as_json()}


def _question(given: Given) -> dict[str, Any]:
    """What `headwater.analyze` is asked besides the file and the chip."""
    found: dict[str, Any] = {"options": _options(given)}
    for name, here in (("size", "global"), ("group", "local")):
        if text := given.get(here):
            found[name] = _sizes(text, here)
    for name in ("trips", "arguments"):
        if text := given.get(name):
            found[name] = _numbers(text, name)
    if text := given.get("hit"):
        found["hit"] = _part(text)
    if text := given.get("lds"):
        found["lds_bytes"] = _bytes(text)
    return found


CONTROLS: Final = {"trip": "Loop trips", "arg": "Values", "hit": "Cache hits", "local": "Group", "lds": "LDS bytes"}
"""Options of ``headwater analyze``, and the page's fields for the same."""
_OPTION: Final = re.compile(rf"--({'|'.join(CONTROLS)})\b")


def controls(text: str) -> str:
    """What is said of an analysis, with the page's fields in place of the command's options."""
    return _OPTION.sub(lambda found: f"“{CONTROLS[found[1]]}”", text)


def _main(given: Given) -> str:
    name = project.check_name(given.get("main"))
    if not os.path.isfile(name):
        raise UsageError(f"there is no file {name}")
    return name


def _options(given: Given) -> str:
    found = given.get("options", "")
    if not isinstance(found, str) or len(found) > 1000:
        raise UsageError("options are a text, as on a command line")
    return found


def _chip(name: object) -> str:
    """A chip's name. UsageError for others, files of chips among them."""
    if not isinstance(name, str) or name not in chips.names():
        raise UsageError(f"there is no chip {name!r:.60}", hint=f"the chips are {', '.join(chips.names())}")
    return name


def _sizes(text: object, what: str) -> tuple[int, ...]:
    found = shape_of(text) if isinstance(text, str) else ()
    if not 1 <= len(found) <= 3:
        raise UsageError(f"{what}: {text!r:.60} is not a size", hint="write 1024 or 640,480")
    return found


def _bytes(text: object) -> int:
    found = natural(text) if isinstance(text, str) else None
    if found is None:
        raise UsageError(f"LDS: {text!r:.60} is no number of bytes", hint="write 4096")
    return found


def _numbers(text: object, what: str) -> dict[str, int]:
    """``L1=16 n=-512`` as numbers by name."""
    found: dict[str, int] = {}
    for word in text.split() if isinstance(text, str) else ("",):
        name, _, digits = word.partition("=")
        number = natural(digits.removeprefix("-"))
        if not name or number is None:
            raise UsageError(f"{what}: {word!r:.60} is no number of a name", hint="write L1=16, or n=512")
        found[name] = -number if digits.startswith("-") else number
    return found


def _part(text: object) -> float:
    try:
        return float(text) if isinstance(text, str) and len(text) < 40 else math.nan
    except ValueError:
        return math.nan


def _finite(value: Any) -> Any:
    return value if not isinstance(value, float) or np.isfinite(value) else None


# -- runs --------------------------------------------------------------------------------------------------------------


def _device(given: Given, name: str) -> Any:
    """The device of a name; of a chip, one that takes what was changed of its machine code."""
    device: Any = hw.device(name)
    if given.get("assembly") and name != "cpu":
        device = device.with_code(_assembled(given, name).read_bytes())
    return device


def _was_taken(given: Given, device: Any) -> None:
    """UsageError if what was changed of the machine code is not what a launch ran."""
    if not given.get("assembly") or device.name == "cpu":
        return
    changed = _changed(given, device)
    if changed and not changed & device.launched:
        launched, changed_names = (", ".join(sorted(names)) for names in (device.launched, changed))
        raise UsageError(
            f"with these arguments {launched} is launched, and what was changed is {changed_names}",
            hint=f"choose the kernel {launched} to see its machine code, and change that",
        )


def _changed(given: Given, device: Any) -> set[str]:
    """The kernels whose machine code is another one than their source's."""
    if device.chip.is_vliw:
        from headwater.isa.vliw.image_files import read_all

        return {image.name for image in read_all(device.edited, EDITED)}
    from headwater.analyze.sources import read
    from headwater.isa.gcn.codeobject import load

    before, after = _code_object(read(_main(given), _options(given)), device.chip), load(device.edited, EDITED)
    known = before.kernels
    return {name for name in after.kernels if name not in known or before.code_of(name) != after.code_of(name)}


def _job(given: Given, device: Any) -> Any:
    """A kernel with its arguments, as `headwater run` binds them."""
    from headwater.jobs.bind import Request
    from headwater.jobs.job import Job, bound, choose_kernel

    path = Path(_main(given))
    program = hw.compile(path, options=_options(given), device=device)
    name = choose_kernel(program, _without_version(program, given.get("kernel") or None), path)
    request = Request(
        words=project.words(given.get("words", [])),
        global_size=_sizes(given["global"], "global") if given.get("global") else (),
        local_size=_sizes(given["local"], "local") if given.get("local") else None,
        shape=shape_of(given["shape"]) if given.get("shape") else None,
        cast=bool(given.get("cast")),
        lds_bytes=_bytes(given.get("lds") or "0"),
    )
    return Job(program, name, *bound(program, name, request))


def _without_version(program: Any, name: object) -> Any:
    """The kernel of Brook+ that a name of one of its versions in OpenCL C means; other names as they are."""
    module = getattr(program, "module", None)
    for one in (module, getattr(module, "pixels", None)):
        for kernel in () if one is None else one.kernels.values():
            if any(entry.symbol == name for entry in kernel.entries):
                return kernel.name
    return name


def _run(given: Given) -> dict[str, Any]:
    """A kernel's outputs; with ``verify``, compared with those of the cpu device."""
    from headwater.jobs.compare import compare

    name = given["device"] if given.get("device") == "cpu" else _chip(given.get("device"))
    device = _device(given, name)
    os.environ["HEADWATER_CHECK"] = "1"
    with _printed() as printed:
        job = _job(given, device)
        outputs, seconds = job.run(device)
    _was_taken(given, device)
    differences = []
    if given.get("verify") and device.name != "cpu":
        cpu = hw.device("cpu")
        with _printed():
            other, _ = job.run(cpu)
        differences = [{**asdict(d), "ok": d.ok} for d in (compare(n, outputs[n], other[n]) for n in outputs)]
    return {
        "kernel": job.kernel.name,
        "seconds": seconds,
        "global": list(job.binding.global_size),
        "local": list(job.local_size or ()),
        "notes": job.binding.notes,
        "outputs": [_output(name, array) for name, array in outputs.items()],
        "differences": [{k: _finite(v) for k, v in d.items()} for d in differences],
        "printed": printed.text(),
    }


def _output(name: str, array: Array) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}
    if array.dtype.kind not in "iufb":
        array = np.ascontiguousarray(array).view(np.uint8)
        found |= {"dtype": "|u1", "shape": list(array.shape)}
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if finite.size:
        found |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean(dtype=np.float64))}
    found["not_finite"] = int(array.size - finite.size)
    steps = [1] * array.ndim
    while array.nbytes // max(1, int(np.prod(steps))) > _MOST_SENT:
        steps[int(np.argmax([n // s for n, s in zip(array.shape, steps, strict=True)]))] *= 2
    sent = np.ascontiguousarray(array[tuple(slice(None, None, step) for step in steps)])
    if sent.dtype.byteorder == ">":
        sent = sent.astype(sent.dtype.newbyteorder("<"))
    found |= {"steps": steps, "sent": list(sent.shape), "base64": base64.b64encode(sent.tobytes()).decode()}
    return found


class _Printed(io.StringIO):
    """What kernels print, up to a limit."""

    def write(self, text: str) -> int:
        if self.tell() < _MOST_PRINTED:
            super().write(text[: _MOST_PRINTED - self.tell()])
        return len(text)

    def text(self) -> str:
        """All that was kept, with a word where that is not all."""
        found = self.getvalue()
        return found if len(found) < _MOST_PRINTED else f"{found}\n… and more"


@contextlib.contextmanager
def _printed() -> Iterator[_Printed]:
    kept, before = _Printed(), sys.stdout
    sys.stdout = kept
    try:
        yield kept
    finally:
        sys.stdout = before


# -- simulation --------------------------------------------------------------------------------------------------------


def _simulate(given: Given) -> dict[str, Any]:
    """A launch on chips: what `headwater simulate` says, and of the first chip what its first compute units did."""
    from headwater.chips.recording import recorded_figures
    from headwater.timing.simulate import Recorded, simulated

    names = given.get("devices")
    if not isinstance(names, list) or not 1 <= len(names) <= 4:
        raise UsageError("devices are a list of one to four chips' names")
    sample, launch, first = given.get("sample"), given.get("launch", 0), given.get("unit", 0)
    found: list[dict[str, Any]] = []
    timeline: dict[str, Any] | None = None
    recorded: dict[str, Recorded] = {}
    for number, name in enumerate(names):
        device: Any = simulated(_device(given, _chip(name)))
        alike = repr(recorded_figures(device.chip))
        if alike not in recorded:
            job = _job(given, device)

            def run(job: Any = job, device: Any = device) -> None:
                job.run(device)

            with _printed():
                recorded[alike] = Recorded(run)
            _was_taken(given, device)
        launches = recorded[alike].launches
        if not launches:
            raise UsageError("no kernel was launched, so there is nothing to simulate")
        if not isinstance(launch, int) or launch not in range(len(launches)):
            raise UsageError(f"there is no launch {launch!r:.60}", hint=f"there are {len(launches)}, counted from 0")
        shown = _units(device.chip, first) if number == 0 else False
        reports = [
            one.report(device.chip, timeline=n == launch and shown, sample=sample) for n, one in enumerate(launches)
        ]
        found += [{**report.as_json(), "chip": name} for report in reports]
        if number == 0:
            timeline = _timeline(reports, launch)
    return {"launches": found, "timeline": timeline}


def _units(chip: chips.Chip, first: object) -> range:
    """All compute units from one on; of those the timeline shows what there is room for."""
    there = range(chip.compute.compute_units)
    if not isinstance(first, int) or isinstance(first, bool) or first not in there:
        raise UsageError(f"there is no compute unit {first!r:.60}", hint=f"there are {len(there)}, counted from 0")
    return there[first:]


_MOST_BOARD: Final = 1000


def _board(reports: Sequence[Any], shown: int) -> list[dict[str, Any]]:
    """What the queue and the copy engine did, one after the other, in cycles from the beginning of the launch that is
    shown."""
    found, at, begin = [], 0.0, 0.0
    for number, report in enumerate(reports):
        host = report.host
        for row, name, seconds, is_kernel in (
            ("queue", "launch", host.launch_seconds, False),
            ("copies", "copy to the board", host.in_seconds, False),
            ("queue", report.kernel, report.seconds, True),
            ("copies", "copy to the host", host.out_seconds, False),
        ):
            if number == shown and is_kernel:
                begin = at
            if seconds:
                found.append((row, name, at, seconds))
            at += seconds
    scale = reports[0].chip.compute.clock_mhz * 1e6
    near = sorted(found, key=lambda one: abs(one[2] - begin))[:_MOST_BOARD]
    return [
        {"row": row, "name": name, "start": (start - begin) * scale, "cycles": seconds * scale}
        for row, name, start, seconds in sorted(near, key=lambda one: one[2])
    ]


def _timeline(reports: Sequence[Any], number: int) -> dict[str, Any]:
    """What compute units did in a launch, as the engine's records: packed, as there are hundreds of thousands; and the
    board around it."""
    report = reports[number]
    from headwater.timing.layout import GCN
    from headwater.timing.vliw_layout import CLAUSES, VLIW

    vliw = report.chip.is_vliw
    causes = [cause for _, cause in (VLIW if vliw else GCN).causes]
    kernels = {name: number for number, name in enumerate(dict.fromkeys(one.kernel for one in reports))}
    records = report.happenings
    packed = np.zeros((len(records), 5), np.uint32)
    for column, values in enumerate(
        (
            np.minimum(records["time"], 0xFFFFFFFF),
            records["cycles"],
            records["unit"].astype(np.uint32) << 16 | records["simd"].astype(np.uint32) << 8 | records["slot"],
            records["kind"],
            records["what"],
        )
    ):
        packed[:, column] = values
    return {
        "records": base64.b64encode(packed.tobytes()).decode(),
        "count": len(records),
        "waits": causes,
        "clauses": [name for _, name in CLAUSES] if vliw else [],
        "texts": list(report.texts),
        "clock": report.chip.compute.clock_mhz,
        "cycles": report.cycles,
        "unit": "SIMD engine" if vliw else "compute unit",
        "wavefronts_per_group": max(1, report.held.wavefronts_per_group),
        "units": [report.timeline_units.start, report.timeline_units.stop],
        "of_units": report.chip.compute.compute_units,
        "cut": report.timeline_cut,
        "launch": number,
        "kernels": list(kernels),
        "launches": [kernels[one.kernel] for one in reports],
        "board": _board(reports, number),
    }


# -- stepping ----------------------------------------------------------------------------------------------------------

_session: list[Any] = []
"""The launch that this worker steps through."""
_MOST_STEPS: Final = 1_000_000


def _step(given: Given) -> dict[str, Any]:
    """``begin``: a launch of which to step through; else one action on it: ``do``, with ``n``, ``at`` or ``lanes``."""
    if given.get("begin"):
        from headwater.step import Session

        while _session:
            _session.pop().close()
        name = _chip(given.get("device"))
        device = _device(given, name)
        job = _job(given, device)
        _session.append(Session(lambda: job.run(device)[0]))
        stepper = _session[0].stepper
        code = [{**place.as_json(), "mnemonics": []} for place in stepper.machine.code]
        return {"state": stepper.state(), "code": code}
    if not _session:
        raise UsageError("no launch is being stepped through", hint="begin one")
    stepper = _session[0].stepper
    action, number = str(given.get("do")), given.get("n", 1)
    if action not in _ACTIONS or not isinstance(number, int) or not 0 <= number <= _MOST_STEPS:
        raise UsageError(f"there is no step {action!r}", hint=", ".join(_ACTIONS))
    _ACTIONS[action](stepper, number, str(given.get("at", ""))[:200])
    return {"state": stepper.state()}


def _lanes(text: str) -> tuple[int, int]:
    found = [natural(word) for word in text.replace(",", " ").split()]
    if len(found) != 2 or found[0] is None or found[1] is None:
        raise UsageError("two lanes are compared", hint="such as 0 1")
    return found[0], found[1]


_ACTIONS: Final[dict[str, Callable[[Any, int, str], Any]]] = {
    "line": lambda stepper, n, _: stepper.step_line(n),
    "instruction": lambda stepper, n, _: stepper.step_instruction(n),
    "clause": lambda stepper, n, _: stepper.step_clause(n),
    "barrier": lambda stepper, *_: stepper.to_barrier(),
    "group": lambda stepper, *_: stepper.to_group_end(),
    "continue": lambda stepper, *_: stepper.resume(),
    "finish": lambda stepper, *_: stepper.finish(),
    "back": lambda stepper, n, _: stepper.back_instruction(n),
    "back line": lambda stepper, *_: stepper.back_line(),
    "back stop": lambda stepper, *_: stepper.back(),
    "go to": lambda stepper, n, _: stepper.go_to(n),
    "wave": lambda stepper, n, _: stepper.select(n),
    "differ": lambda stepper, _, at: stepper.to_difference(*_lanes(at)),
    "break": lambda stepper, _, at: stepper.add_breakpoint(at),
    "watch": lambda stepper, _, at: stepper.add_watchpoint(at),
    "delete": lambda stepper, n, _: stepper.delete(n),
}


TASKS: Final[dict[str, Callable[[Given], Any]]] = {
    "chips": _chips,
    "examples": _examples,
    "explain": _explain,
    "check": _check,
    "code": _code,
    "table": _table,
    "page": _page,
    "run": _run,
    "simulate": _simulate,
    "assembly": _assembly,
    "step": _step,
}
"""What the page may ask for."""

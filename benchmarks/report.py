#!/usr/bin/env python3
"""Turns the JSON files of the benchmarks, and the figures of figures.toml, into docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
FIGURES = Path(__file__).with_name("figures.toml")

HEAD = """\
# Benchmarks

For readers who want to know how fast Headwater is. `python benchmarks/report.py FILE.json …` generates this page;
[benchmarks/README.md](../benchmarks/README.md) lists the commands that write these files, and describes how they
measure. In columns marked ×, a ratio above 1 means that Headwater was faster. The tables contain all kernels that were
measured; those on which Headwater is slower are named again below the table.
"""

LIBRARY = "BLAS"


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else math.nan


def best(seconds: dict[str, dict[str, Any]], library: bool = False) -> tuple[str, float] | None:
    """The fastest version by name with its median, of the BLAS calls or of all others."""
    found = {v: t["median"] for v, t in seconds.items() if v.startswith(LIBRARY) == library}
    return min(found.items(), key=lambda item: item[1]) if found else None


def cpu(record: dict[str, Any]) -> str:
    """The comparison with PoCL, Numba and NumPy."""
    names = {"pocl": "PoCL", "numba": "Numba", "numpy": "NumPy/SciPy"}
    others = [side for side in names if side in record["sides"]]
    lines = ["## The cpu device", "", f"{record['machine']}; {record['date']}; {record['rounds']} rounds.", ""]
    lines += [f"- {text}" for text in record["sides"].values()]
    if record["quick"]:
        lines += ["", "**Made with `--quick`: these times mean nothing.**"]
    head = ["kernel", "Headwater ms", "rate", *(f"{names[o]} ms" for o in others)]
    head += [*(f"× {names[o]}" for o in others), "× best"]
    lines += ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ratios: dict[str, list[float]] = {o: [] for o in others}
    lost, calls = [], []
    for kernel in record["kernels"].values():
        seconds = kernel["seconds"]
        ours = best(seconds.get("headwater", {}))
        cells = [kernel["title"]]
        cells += [f"{ours[1] * 1e3:.2f}", f"{kernel['work'] / ours[1]:.4g} {kernel['unit']}"] if ours else ["–", "–"]
        theirs = {o: best(seconds.get(o, {})) for o in others}
        cells += [f"{t[1] * 1e3:.2f}" if t else "–" for t in theirs.values()]
        own: list[float] = []
        for side, fastest in theirs.items():
            if ours and fastest:
                own.append(fastest[1] / ours[1])
                ratios[side].append(own[-1])
                cells.append(f"{own[-1]:.2f}")
            else:
                cells.append("–")
        cells.append(f"{min(own):.2f}" if own else "–")
        if own and min(own) < 1:
            side, fastest = min(((s, t) for s, t in theirs.items() if t), key=lambda item: item[1][1])
            lost.append(f"{kernel['title']}: {min(own):.2f} of {names[side]} ({fastest[0]})")
        library = best(seconds.get("numpy", {}), library=True)
        if library and ours:
            ratio = f"{library[1] / ours[1]:.2f} times as long as Headwater"
            calls.append(f"{kernel['title']}: {library[0]} takes {library[1] * 1e3:.2f} ms, {ratio}")
        lines.append("| " + " | ".join(cells) + " |")
    means = [f"**{geometric_mean(ratios[o]):.2f}**" if ratios[o] else "–" for o in others]
    lines.append("| " + " | ".join(["**geometric mean**", *[""] * (2 + len(others)), *means, ""]) + " |")
    lines += ["", "Slower than the best other side: " + ("; ".join(lost) if lost else "none") + "."]
    if calls:
        lines += ["", "Calls into BLAS, which the columns leave out: " + "; ".join(calls) + "."]
    return "\n".join(lines + limits(record) + failures(record))


def limits(record: dict[str, Any]) -> list[str]:
    """How near a + b comes to streaming C, and the reduction to C that reads."""
    lines = []
    add, reduction = (record["kernels"].get(name, {"seconds": {}}) for name in ("add", "reduction"))
    if c := add["seconds"].get("c"):
        moved = add["work"] * 1e9
        seconds = min(times["median"] for version, times in c.items() if version != "copy")
        known = {"copy": moved * 2 / 3 / c["copy"]["median"], "a + b": moved / seconds}
        rates = ", ".join(f"{what} {rate / 1e9:.1f} GB/s" for what, rate in known.items())
        lines += ["", f"Memory bandwidth that C with streaming stores reaches: {rates}.", *_shares(add, "a + b", known)]
    if c := reduction["seconds"].get("c"):
        version, seconds = min(((v, t["median"]) for v, t in c.items()), key=lambda item: item[1])
        rate = reduction["work"] * 1e9 / seconds
        lines += ["", f"Memory bandwidth that C reaches when it only reads ({version}): {rate / 1e9:.1f} GB/s."]
        lines += _shares(reduction, "reduction", {"sum": rate})
    return lines


def _shares(kernel: dict[str, Any], title: str, known: dict[str, float]) -> list[str]:
    """A table of what each side reaches of C's ``known`` rates, in bytes a second."""
    lines = ["", f"| {title} on | GB/s | " + " | ".join(f"of C's {what}" for what in known) + " |"]
    lines.append("|" + "---|" * (2 + len(known)))
    for side, versions in kernel["seconds"].items():
        fastest = best(versions)
        if side != "c" and fastest:
            rate = kernel["work"] * 1e9 / fastest[1]
            cells = " | ".join(f"{rate / theirs:.1%}" for theirs in known.values())
            lines.append(f"| {side} | {rate / 1e9:.1f} | {cells} |")
    return lines


def failures(record: dict[str, Any]) -> list[str]:
    found = [f"- {k['title']}, {s}: {text}" for k in record["kernels"].values() for s, text in k["failures"].items()]
    found += [f"- {k['title']}: {text}" for k in record["kernels"].values() for text in k["wrong"]]
    return ["", "Failures:", *found] if found else []


def startup(record: dict[str, Any]) -> str:
    """Import, cold and warm starts."""
    lines = ["## Start-up", "", f"Seconds in fresh processes, medians; {record['date']}.", ""]
    lines += ["| what | cold cache | new kernel, library cached | warm cache |", "|---|---|---|---|"]
    for name, states in record["seconds"].items():
        middle = {state: f"{statistics.median(times):.3f}" for state, times in states.items()}
        cells = [middle.get(state, "") for state in ("cold", "new kernel", "warm")]
        lines.append(f"| {name} | " + " | ".join(cells if "" not in middle else ["", "", middle[""]]) + " |")
    return "\n".join(lines)


def gpu(record: dict[str, Any]) -> str:
    """Translated Brook+ against hand-written OpenCL C."""
    lines = ["## Brook+ on a GPU", ""]
    lines += [f"{record['device']}, {record['platform']}, driver {record['driver']}."]
    lines += [f"{record['date']}; {record['rounds']} rounds."]
    lines += [f"The driver's own copy between buffers moves {record['copy_bytes_per_second'] / 1e9:.0f} GB/s.", ""]
    lines += ["| kernel | Brook+ by Headwater, ms | GB/s | by hand | ms | × by hand |", "|---|---|---|---|---|---|"]
    for k in record["kernels"]:
        rate = f"{k['nbytes'] / k['ours'] / 1e9:.0f}" if k["nbytes"] else "–"
        name = k["name"] + ("" if k["right"] else " (**wrong result**)")
        ours = f"{name} | {k['ours'] * 1e3:.4f} | {rate}"
        for label, seconds in k["hands"].items():
            lines.append(f"| {ours} | {label} | {seconds * 1e3:.4f} | {seconds / k['ours']:.3f} |")
            ours = "| | "
    lines += [
        "",
        f"Geometric mean against the best hand-written kernel of each: **{record['geometric_mean']:.3f}**.",
        "",
    ]
    lines += ["| one launch | microseconds |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in record["launch_microseconds"].items()]
    return "\n".join(lines)


def launch(record: dict[str, Any]) -> str:
    """What one more launch costs, by device."""
    devices = {row["device"] for row in record.values()}
    where = f" on {devices.pop()}" if len(devices) == 1 else ""
    lines = [f"## Repeated launches{where}", "", "Microseconds of one launch of 64 work-items; medians.", ""]
    lines += ["| device | launch | Headwater | PyOpenCL alone | ratio |", "|---|---|---|---|---|"]
    for name, row in record.items():
        for way, value in row.items():
            if way == "device" or way.startswith("PyOpenCL"):
                continue
            raw = row.get(f"PyOpenCL {way}")
            cells = [f"{raw:.2f}", f"{value / raw:.2f}"] if raw else ["–", "–"]
            lines.append(f"| {name}, {row['device']} | {way} | {value:.2f} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def emulate(record: dict[str, Any]) -> str:
    """A simulated chip against native code and an interpreter."""
    device = record["device"]
    lines = [
        "## A simulated chip",
        "",
        f"{device}; {record['date']}. Rates a core are over the processor time of all threads.",
    ]
    if record["missing"]:
        lines.append(f"Missing: {', '.join(record['missing'])}.")
    lines += ["", f"| what | {device} | other sides | × as good |", "|---|---|---|---|"]
    for row in record["lines"]:
        names = {side: "PoCL" if side.startswith("opencl") else side for side in row["sides"] if side != device}
        theirs = ", ".join(f"{name} {row['sides'][side]:.4g}" for side, name in names.items()) or "–"
        ratios = ", ".join(f"{name} {row['ratios'][side]:.3g}" for side, name in names.items()) or "–"
        lines.append(f"| {row['what']}, {row['unit']} | {row['sides'][device]:.4g} | {theirs} | {ratios} |")
    return "\n".join(lines)


def figures() -> str:
    """The sections of figures.toml: what commands print and no JSON file holds."""
    parts = []
    for section in tomllib.loads(FIGURES.read_text(encoding="utf-8"))["section"]:
        lines = [f"## {section['title']}", "", f"`{section['command']}`", "", section["text"].strip(), ""]
        lines += ["| " + " | ".join(section["columns"]) + " |", "|" + "---|" * len(section["columns"])]
        lines += ["| " + " | ".join(row) + " |" for row in section["rows"]]
        if "notes" in section:
            lines += ["", section["notes"].strip()]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def wrapped(text: str) -> str:
    """The text with lines of at most 120 columns, but for tables."""
    lines: list[str] = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        narrow = textwrap.wrap(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        lines += [line] if line.startswith("|") or len(line) <= 120 else narrow
    return "\n".join(lines)


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "cpu": cpu,
    "startup": startup,
    "launch": launch,
    "gpu": gpu,
    "emulate": emulate,
}


def kind(record: dict[str, Any]) -> str:
    """Which benchmark made the record; launch.py's is a table of devices and nothing else."""
    if record and all(isinstance(row, dict) and "device" in row for row in record.values()):
        return "launch"
    return str(record.get("benchmark"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="what --json of the benchmarks wrote")
    parser.add_argument("--output", type=Path, default=PAGE, help="(default: docs/benchmarks.md)")
    arguments = parser.parse_args()
    records = [json.loads(path.read_text()) for path in arguments.files]
    unknown = [str(p) for p, r in zip(arguments.files, records, strict=True) if kind(r) not in SECTIONS]
    if unknown:
        parser.error(f"not made by one of the benchmarks {', '.join(SECTIONS)}: {', '.join(unknown)}")
    order = list(SECTIONS)
    records.sort(key=lambda record: order.index(kind(record)))
    text = (
        wrapped("\n\n".join([HEAD.rstrip(), *(SECTIONS[kind(record)](record) for record in records), figures()])) + "\n"
    )
    arguments.output.write_text(text)
    print(f"wrote {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

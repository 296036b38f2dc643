"""Input: random kernels. Output: those whose trace depends on what the recorder knew of earlier wavefronts and
accesses.

Run as ``python -m verification.fuzz_traces --count 1000``. Work-groups take one of several ways through a kernel, by a
table: straight through accesses in rows, with strides, by lists, to local and private memory, by scalar loads and
atomic functions, under conditions and in loops. Each launch is recorded by several numbers of threads, which take
groups in any order, and by a recorder that forgets (FORGETS in trace.c): which lines each lane touched is looked at
anew for each access, and wavefronts are written down one by one. All must read back as the same, and the sums must be
those of the accesses. A seed of which they do not is named with what differs first. Exit status 1 if any is.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import headwater as hw
from headwater.emulate.watch.trace import Recording, TraceObserver, read
from headwater.emulate.watch.trace_format import LINEAR, LIST, UNIFORM
from headwater.native.compile_c import compile_c

CHIPS = ("vega64", "hd5870")
THREADS = (1, 2, 16)
WORDS = 1 << 15
"""Elements of each buffer, a power of two: places are taken modulo it."""
KINDS = 8
DATA = 3
"""Launches of a kernel, each with other tables."""
LOCAL_SIZES = ((64, 1), (256, 1), (16, 16), (48, 1), (8, 8), (130, 1))
_TYPES = {"int": "int", "int4": "int4", "short": "short", "char": "char", "int2": "int2"}
Arrays = list[Any]


class _Forgetful(TraceObserver):
    """An observer whose library knows nothing of what was before."""

    name = TraceObserver.name + " that forgets"

    def objects(self) -> list[bytes]:
        return [compile_c("#define FORGETS 1\n" + self.source())]


@dataclass
class Maker:
    """A kernel that is being written: statements of random accesses, nested in conditions and loops."""

    rng: random.Random
    calm: bool = False
    """Groups differ in little, so that most go on with what those before them did."""
    lines: list[str] = field(default_factory=list)
    counters: int = 0

    def place(self) -> str:
        """An element's number, as lanes and wavefronts have it: in rows, with strides, by a list, the same for all."""
        pick, group = self.rng.choice, "g * " + self.rng.choice(("64", "100", "256", "(int)n", "16", "0", "72"))
        lane = pick(
            [
                *["l"] * 3, f"l * {pick((2, 3, 16, 17))}", f"l / 16 * {pick((40, 64))} + l % 16", "(63 - l)", "0",
                "at[l & 255]", f"at[(l + kind * {pick((0, 16, 64))}) & 255]", "at[i & 4095]",
                f"l + (l > {self.rng.randrange(64)} ? {pick((16, 5, 900))} : 0)",
                f"l * 32 + (l == {pick((63, 20))} ? kind * 16 : 0)", f"l + (l > 31 ? kind * {pick((16, 100))} : 0)",
            ]
        )  # fmt: skip
        more = (
            "0"
            if self.calm
            else pick(["0", "0", "0", str(self.rng.randrange(40)), "kind", f"kind * {pick((4, 16, 33))}"])
        )
        turn = "".join(f" + k{n} * {pick((1, 16, 64, 256, 1000))}" for n in range(self.counters))
        return f"({group} + {lane} + {more}{turn}) & {WORDS - 1}"

    def access(self) -> str:
        """A statement that accesses memory."""
        pick, place = self.rng.choice, self.place()
        buffer = pick(("in", "out", "both"))
        other = pick(("in", "both"))
        type_ = pick([*["int"] * 5, *_TYPES])
        cast = f"((global {type_} *){buffer})"
        wide = {"int2": 2, "int4": 4}.get(type_, 1)
        place = place if wide == 1 else f"({place}) / {wide}"
        total = "sum += " + ("{}.x + {}.y" if wide > 1 else "{}")
        read_ = f"{cast}[{place}]"
        store = f"({type_})({'i' if wide == 1 else 'sum'})"
        return pick(
            [
                *[total.format(read_, read_) + ";"] * 4,
                *[f"{cast}[{place}] = {store};"] * 2,
                f"{{ int p = {place}; {cast}[p] = {cast}[p] + {store}; }}",
                f"sum += {other}[(g * {pick((1, 4, 16))} + {self.rng.randrange(9)}) & {WORDS - 1}];",
                f"atomic_add(&counts[({self.place()}) & 1023], 1);",
                f"tile[({self.place()}) & 511] = sum;",
                f"sum += tile[({self.place()}) & 511];",
                f"own[(l + kind) & 7] = sum; sum += own[(l * {pick((1, 3))}) & 7];",
            ]
        )

    def block(self, depth: int, count: int) -> None:
        """Statements, some of which hold others."""
        for _ in range(count):
            what = self.rng.randrange(9) if depth else 9
            if self.calm and what < 3:
                what += 3
            if what == 0:
                self.nest(f"if (kind & {1 << self.rng.randrange(3)}) {{", depth)
            elif what == 1:
                self.nest(f"if ((l {self.rng.choice(('<', '>='))} kind * 9)) {{", depth)
            elif what == 2:
                name = f"k{self.counters}"
                turns = self.rng.choice(("3", "kind", "(kind & 1) + 2", "(l & 3)"))
                self.lines.append("#pragma nounroll")
                self.counters += 1
                self.nest(f"for (int {name} = 0; {name} < {turns}; {name}++) {{", depth)
                self.counters -= 1
            elif what == 3:  # a path too long to be compared with others
                few, many = self.access(), self.access()
                self.lines += [f"if (kind {self.rng.choice(('> 5', '& 2'))})", "#pragma nounroll"]
                self.lines.append(f"for (int k = 0; k < 70; k++) if (at[k] & 1) {{ {few} }} else {{ {many} }}")
            elif what == 4 and depth == 2:
                self.lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
            else:
                self.lines.append(self.access())

    def nest(self, head: str, depth: int) -> None:
        """A block in another."""
        self.lines.append(head)
        self.block(depth - 1, self.rng.randrange(1, 3))
        self.lines.append("}")


def kernel(rng: random.Random) -> str:
    """OpenCL C of one kernel, ``play``."""
    maker = Maker(rng, calm=rng.random() < 0.5)
    maker.block(2, rng.randrange(1, 4 if maker.calm else 7))
    uses = "\n".join(maker.lines)
    spread = " * 16" if maker.calm or rng.random() < 0.5 else ""  # places of scalar loads in their lines differ, or not
    local, fill = "", ""
    if "tile[" in uses:
        local = "local int tile[512];\n"
        fill = "for (int t = l; t < 512; t += items) tile[t] = t;\nbarrier(CLK_LOCAL_MEM_FENCE);\n"
    own = "int own[8] = {0};\n" if "own[" in uses else ""
    return (
        "kernel void play(global int *in, global int *out, global int *both, global const int *kinds,\n"
        "                 global const int *at, global int *counts, int n) {\n"
        f"{local}{own}"
        "int l = get_local_id(1) * get_local_size(0) + get_local_id(0), sum = 0;\n"
        f"int g = get_group_id(1) * get_num_groups(0) + get_group_id(0), kind = kinds[g{spread}];\n"
        "int items = get_local_size(0) * get_local_size(1), i = g * items + l;\n"
        f"{fill}{uses}\n"
        f"out[i & {WORDS - 1}] = sum;\n"
        "}\n"
    )


def arguments(rng: np.random.Generator, groups: int, items: int) -> Arrays:
    """Buffers and tables: long and short spells of groups that go the same way."""
    spell = rng.choice([1, 2, 5, 30])
    kinds = np.repeat(rng.choice(KINDS, groups // spell + 1, p=_weights(rng)), spell)[:groups].astype(np.int32)
    at = rng.integers(0, rng.choice([64, 4096, WORDS]), 4096).astype(np.int32)
    if rng.random() < 0.3:  # a list that is the same for each 256 lanes
        at = np.tile(at[:256], 16)
    whole = np.zeros(2 * WORDS, np.int32)
    buffers = [whole[:WORDS], whole[WORDS:], np.zeros(WORDS, np.int32)]
    if rng.random() < 0.5:
        buffers[1] = np.zeros(WORDS, np.int32)
    return [*buffers, np.repeat(kinds, 16), at, np.zeros(1024, np.int32), np.int32(items)]


def _weights(rng: np.random.Generator) -> list[float]:
    weights = rng.random(KINDS) ** rng.choice([0.0, 2.0, 5.0])
    return (weights / weights.sum()).tolist()  # type: ignore[no-any-return]


Access = tuple[int, ...]


def accesses_of(path: Path) -> Iterator[tuple[int, int, list[tuple[int, int]], dict[int, list[Access]]]]:
    """Of each wavefront of a trace: group, number, segments with their lanes, and for each site its accesses."""
    for wave in read(path):
        segments: list[tuple[int, int]] = []
        for segment, active, repeat in wave.path.tolist():
            segments += [(segment, active)] * repeat
        sites: dict[int, list[Access]] = {}
        at = 0
        for site, active, count, first, stride, repeat, cycles in wave.memory.tolist():
            flags, lines = site & (LIST | LINEAR | UNIFORM), ()
            if site & LIST:
                lines = tuple(wave.lines[at : at + count].tolist())
                at += count
            done = sites.setdefault(site & (LIST - 1), [])
            done += [(flags, active, count, cycles, first + n * stride & 0xFFFFFFFF, *lines) for n in range(repeat)]
        yield wave.group, wave.index, segments, sites


def summed(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """What `Recording.totals` should be, of the file."""
    trace = read(path)
    segments = np.zeros((len(trace.segments), 4), np.uint64)
    sites = np.zeros((len(trace.sites), 4), np.uint64)
    for _, _, path_of, accesses in accesses_of(path):
        for segment, active in path_of:
            segments[segment] += np.array([1, active, active == 64, active == 0], np.uint64)
        for site, done in accesses.items():
            for flags, active, count, *_ in done:
                sites[site] += np.array([1, active, count, flags & LIST != 0], np.uint64)
    for n, one in enumerate(trace.sites):
        if one.same_as >= 0:
            sites[n] = sites[one.same_as]
    return segments, sites


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Launches that are prepared inside take so many threads."""
    before = os.environ.get("HEADWATER_THREADS")
    os.environ["HEADWATER_THREADS"] = str(number)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HEADWATER_THREADS"]
        else:
            os.environ["HEADWATER_THREADS"] = before


def different(chip: str, seed: int) -> str:
    """What differs first between the records of this seed's launches; "" if nothing does."""
    rng = random.Random(seed)
    text = kernel(rng)
    width, height = rng.choice(LOCAL_SIZES)
    columns, rows = rng.choice(((60, 1), (37, 5), (16, 16), (300, 1)))
    size = (width * columns, height * rows)
    program: Any = hw.device(chip).build(text, f"seed{seed}.cl")
    with tempfile.TemporaryDirectory() as folder:
        forgotten, kept = Path(folder) / "forgotten", Path(folder) / "kept"

        def launch(path: Path, observer: TraceObserver | None = None) -> tuple[Recording, Any]:
            recording = Recording(path)
            if observer is not None:
                recording.observer = observer
            return recording, program.kernels["play"].prepare(size, (width, height)).watched(recording)

        with threads(1):
            _, plain = launch(forgotten, _Forgetful())
        launches = []
        for number in THREADS:
            with threads(number):
                launches.append((number, *launch(kept)))
        for turn in range(DATA):
            data = arguments(np.random.default_rng(1000 * seed + turn), columns * rows, width * height)

            def run(one: Any, data: Arrays = data) -> None:
                for array in (data[0], data[1], data[2], data[5]):
                    array[...] = 0
                one(data, None, None).wait()

            run(plain)
            wanted = list(accesses_of(forgotten))
            sums = summed(forgotten)
            for number, recording, one in launches:
                run(one)
                where = f"{chip}, seed {seed}, launch {turn}, {number} threads"
                found = list(accesses_of(kept))
                if [w[:2] for w in found] != [w[:2] for w in wanted]:
                    return f"{where}: other wavefronts"
                for (group, index, *did), (_, _, *should) in zip(found, wanted, strict=True):
                    if did != should:
                        return f"{where}: group {group}, wavefront {index}: {_first(did, should)}"
                assert recording.totals is not None
                totals = recording.totals.segments, recording.totals.sites
                if not all((a == b).all() for a, b in zip(totals, sums, strict=True)):
                    return f"{where}: other sums"
    return ""


def _first(did: list[Any], should: list[Any]) -> str:
    if did[0] != should[0]:
        return "another path"
    sites = [site for site in should[1].keys() | did[1].keys() if did[1].get(site) != should[1].get(site)]
    one, other = did[1].get(sites[0], []), should[1].get(sites[0], [])
    for n, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return f"site {sites[0]}, access {n}: {a[:9]}, not {b[:9]}"
    return f"site {sites[0]}: {len(one)} accesses, not {len(other)}"


def main() -> int:
    """Run kernels of seeds one after the other; 1 if any differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="kernels (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's number (default 0)")
    parser.add_argument("--chip", action="append", help="simulated chips (vega64 and hd5870)")
    parser.add_argument("--show", action="store_true", help="print the first kernel, and end")
    chosen = parser.parse_args()
    if chosen.show:
        print(kernel(random.Random(chosen.seed)))
        return 0
    began, bad = time.monotonic(), 0
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        for chip in chosen.chip or CHIPS:
            found = different(chip, seed)
            if found:
                bad += 1
                print(found, flush=True)
    print(f"{chosen.count} kernels, {bad} differ, {time.monotonic() - began:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

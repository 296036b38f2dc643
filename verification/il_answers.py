"""Input: IL programs in files. Output: whether simulated VLIW chips give the cpu device's answers to random inputs.

``python -m verification.il_answers [--device hd5870 …] [--trials N] [--only NAME] FILE …``

A file is IL text, has programs between ``<![CDATA[`` and ``]]>`` (the A2 Community's OCTK/Kernels.XML), or is
caldgemm.il, whose programs are C strings: they are expanded by a preprocessor, as its makefile does, in several of its
configurations, and those whose layout is plain are held to NumPy's matrix product as well. Textures, buffers and
constants are random: floats, integers and doubles in turn, constants small whole numbers. On chips that lack what a
program needs it is counted as refused. The exit status is 0 if all answers agree.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import headwater as hw
from headwater.errors import ResourceError, SourceError
from headwater.il.translation import Parameter

Arrays = dict[str, np.ndarray]
CHIPS = ("hd3870", "hd4870", "hd5870", "hd6970")
WIDTH, HEIGHT, GROUPS, BUFFER = 32, 24, 8, 1 << 16
KINDS = {"REAL": "floats", "LONGINT": "integers", "LONGREAL": "doubles"}
"""Of a program that says what its data may be: ``data type: LONGINT,REAL,LONGREAL``."""
# caldgemm_config.sample: the kernels' options that change the IL; the first is the file's default.
CONFIGURATIONS = {
    "default": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_DUAL_ENTRY CALDGEMM_LATE_EXIT_CONDITION "
    "CALDGEMM_SHIFT_TEXTURE=1",
    "plain": "CALDGEMM_TRANSPOSED_A CALDGEMM_44",
    "plain, compute": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_COMPUTE_SHADER=64 CALDGEMM_USE_MEMEXPORT",
    "8x4": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_84 CALDGEMM_USE_MEMEXPORT",
    "4x8": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_48 CALDGEMM_USE_MEMEXPORT",
    "8x8": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_88 CALDGEMM_84 CALDGEMM_48 CALDGEMM_USE_MEMEXPORT",
    "single precision": "CALDGEMM_TRANSPOSED_A CALDGEMM_44 CALDGEMM_88 CALDGEMM_84 CALDGEMM_48 CALDGEMM_USE_MEMEXPORT "
    "CALDGEMM_SGEMM",
    "2x8": "",
}
_KERNELS = {"": "", ", alpha 1": "CALDGEMM_ALPHA1", ", Linpack": "CALDGEMM_ALPHA1 CALDGEMM_LINPACK_KERNEL"}
STRIDES = ((32, 0, 0, 0), (0, 0, 0, 0), (0, 1024, 32, 0), (0, 1, 2, 3), (4, 4, 4, 4), (8, 8, 8, 8))
"""What caldgemm's integer constants may be, so that no two work-items store to one place: blocks in a row; the global
buffer's elements from block to block, and from part to part of a block."""
DENORMAL = 2.0**-126
LEFT_OUT = ("ConvolveRows5Virt_R", "ConvolveRows9Virt_R")
"""They compare integers by ``lt``, as floats: denormals, which VLIW chips take for 0 and the cpu device does not."""
ONE_GROUP = ("Sum_LI_R_LR",)
"""Its groups all write the sum of what they read to one element."""
_DEPTH = 16
"""The matrices' inner size, which caldgemm puts into the program's text."""


def programs(path: Path) -> Iterator[tuple[str, str]]:
    """The programs of a file and their names."""
    content = path.read_text(encoding="latin-1")
    if "ILKernelName" in content:
        for name, options in CONFIGURATIONS.items():
            for kind, more in _KERNELS.items():
                yield f"{name}{kind}", expanded(content, f"{options} {more}".split())
        return
    parts = content.split("<![CDATA[")
    if len(parts) == 1:
        yield path.stem, content
    for before, part in itertools.pairwise(parts):
        names = re.findall(r'name\s*=\s*"(\w+)"', before)
        yield (names[-1] if names else "?"), part.partition("]]>")[0]


def expanded(content: str, options: list[str]) -> str:
    """A program of caldgemm.il: the C strings behind the name, with the inner size where they have a format."""
    command = [sys.executable, "-m", "ziglang", "cc", "-E", "-P", "-x", "c", "-DILKernelName=IL"]
    command += [*(f"-D{option}" for option in options), "-"]
    made = subprocess.run(command, input=content, capture_output=True, text=True, check=True).stdout
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', made[made.index("IL =") :])
    return "".join(ast.literal_eval(string) for string in strings).replace("%d", str(_DEPTH))


def lanes(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Random 32-bit lanes."""
    if kind == "integers":  # which are normal numbers as floats, too
        return rng.integers(0x3F800000, 0x3FC00000, shape, np.int32).view(np.uint32)
    if kind == "doubles":
        return rng.uniform(-2, 2, (*shape[:-1], shape[-1] // 2)).view(np.uint32)
    return rng.uniform(-2, 2, shape).astype(np.float32).view(np.uint32)


def whole_constants(text: str) -> list[bool]:
    """Which constant buffers hold integers, of programs that say so: ``constants: 2, 8x4 (REAL) and 1x4 (LONGINT)``."""
    said = re.search(r";\s*constants:(.*)", text)
    return [word == "LONGINT" for word in re.findall(r"\((REAL|LONGINT|varaable type)\)", said[1])] if said else []


def whole_lanes(text: str) -> Iterator[tuple[int, int, int]]:
    """Lanes of constants that integer operations read: buffer, element, component."""
    for line in re.findall(r"^\s*(?:[iu](?:add|sub|mul|mad|div|mod|lt|ge|eq|ne)|itof|utof|mov g\[).*", text, re.M):
        for buffer, element, components in re.findall(r"cb(\d+)\[(\d+)\](?:\.(\w+))?", line):
            for component in components or "xyzw":
                if component in "xyzw":
                    yield int(buffer), int(element), "xyzw".index(component)


def kinds(text: str) -> list[str]:
    """What a program's data may be."""
    said = re.search(r";\s*data type:(.*)", text)
    named = re.findall(r"\b(REAL|LONGINT|LONGREAL)\b", said[1]) if said else []
    return [KINDS[name] for name in named] or ["doubles" if re.search(r"^\s*(dmad|dmul) ", text, re.M) else "floats"]


def inputs(program: hw.Program, seed: int) -> Arrays:
    """What a program gets in a trial."""
    parameters: tuple[Parameter, ...] = program.main.parameters
    whole = whole_constants(program.source)
    rng = np.random.default_rng(seed)
    possible = kinds(program.source)
    kind = possible[seed % len(possible)]
    found: Arrays = {}
    for parameter in parameters:
        if parameter.role == "constant":
            values = rng.integers(1, 9, (parameter.elements, 4), np.int32)
            buffer = int(parameter.name.removeprefix("cb"))
            as_float = not whole[buffer] if buffer < len(whole) else True
            if not as_float and "Convolve3DY" in program.filename:
                # Width and what it is divided by 4, and from one plane to the next: planes must not overlap, as several
                # work-items would write one element.
                values[0, 1] *= 8
                values[1, 1:3] = values[0, 1], values[0, 1] * values[0, 3]
            elif not as_float and "Convolve" in program.filename:
                values *= (
                    8  # lines shorter than the filter, or not of whole elements, are written by several work-items
                )
            made = values.astype(np.float32).view(np.int32) if as_float else values.copy()
            for number, element, component in set() if whole else whole_lanes(program.source):
                if number == buffer and element < min(len(made), len(STRIDES)):
                    made[element, component] = STRIDES[element][component]
            found[parameter.name] = made.view(np.uint32)
        elif parameter.role in ("global", "uav") or parameter.dimensions == 1:
            found[parameter.name] = lanes(rng, (BUFFER, 4), kind)
        else:
            found[parameter.name] = lanes(rng, (HEIGHT, WIDTH, 4), kind)
            if parameter.role == "output":
                found[parameter.name][:] = 0
    return found


def answers(program: hw.Program, arrays: Arrays, device: str) -> Arrays:
    """What a program writes."""
    group = program.translation.group
    groups = 1 if program.filename in ONE_GROUP else GROUPS
    size = (WIDTH, HEIGHT) if group is None else (group[0] * groups, *group[1:])
    written = {p.name for p in program.main.parameters if p.role in ("global", "uav", "output")}
    given = {name: array.copy() if name in written else array for name, array in arrays.items()}
    program.main[size, group](**given, device=device, time_limit=20.0).wait()
    return {name: given[name] for name in sorted(written)}


def differing(expected: np.ndarray, got: np.ndarray, *, doubles: bool) -> int:
    """How many lanes are neither the same nor, as float or part of a double, the same but for the last digits.

    VLIW chips flush what is smaller than floats' normal numbers. The last digits of the largest count too, as terms may
    cancel, in transforms for instance. ``doubles``: of the largest alone, as R700 rounds the product in a dmad.
    """
    kind = np.float64 if doubles else np.float32
    with np.errstate(all="ignore"):
        values = [a.view(kind).astype(np.float64) for a in (expected, got)]
        size = np.abs(values[0])
        largest = size[np.isfinite(size)].max(initial=0)
        bound = 1e-14 * largest if doubles else np.maximum(np.maximum(2e-6 * size, 5e-7 * largest), DENORMAL)
        near = (np.abs(values[0] - values[1]) <= bound) | (np.isnan(values[0]) & np.isnan(values[1]))
    return int(np.sum((expected != got) & ~(np.repeat(near, 2, -1) if doubles else near)))


def trial(program: hw.Program, seed: int, device: str) -> str:
    """What differs in one trial, "" if nothing."""
    arrays = inputs(program, seed)
    expected = answers(program, arrays, "cpu")
    got = answers(program, arrays, device)
    possible = kinds(program.source)
    doubles = possible[seed % len(possible)] == "doubles"
    wrong = [
        f"{name}: {n} of {expected[name].size} lanes"
        for name in got
        if (n := differing(expected[name], got[name], doubles=doubles))
    ]
    return f"trial {seed}: {', '.join(wrong)}" if wrong else ""


def product(program: hw.Program, device: str) -> str:
    """Whether caldgemm's plain kernel gives NumPy's matrix product, "" if it does.

    Textures have two rows of A, or columns of B, in an element: rows and columns are taken by fours, i0 and i1 have
    A's, i2 and i3 B's; o0 to o3 are the rows' first two results, o4 to o7 the others.
    """
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (4 * HEIGHT, _DEPTH)), rng.uniform(-1, 1, (_DEPTH, 4 * WIDTH))
    left, right = a.T.reshape(_DEPTH, HEIGHT, 4), b.reshape(_DEPTH, WIDTH, 4)
    parts = {"i0": left[..., :2], "i1": left[..., 2:], "i2": right[..., :2], "i3": right[..., 2:]}
    given: Arrays = {name: np.ascontiguousarray(part) for name, part in parts.items()}
    constants = np.zeros((4, 4), np.float32)
    constants[1, 0] = _DEPTH
    constants[1, 2:] = np.array([1.5]).view(np.float32)
    given["cb0"] = constants
    outs = [np.zeros((HEIGHT, WIDTH, 2)) for _ in range(8)]
    given |= {f"o{n}": out for n, out in enumerate(outs)}
    names = {p.name for p in program.main.parameters}
    program.main[(WIDTH, HEIGHT), None](**{n: v for n, v in given.items() if n in names}, device=device).wait()
    got = np.zeros((HEIGHT, 4, WIDTH, 4))
    for n, out in enumerate(outs):
        got[:, n % 4, :, 2 * (n // 4) : 2 * (n // 4) + 2] = out
    scale = 1.0 if "alpha 1" in program.filename or "Linpack" in program.filename else 1.5
    error = np.abs(got.reshape(4 * HEIGHT, -1) - scale * (a @ b)).max()
    return "" if error < 1e-13 else f"differs from NumPy's product by {error:.3g}"


def inverse(program: hw.Program, device: str) -> str:
    """Whether OCTK's inverses of matrices, which it makes without pivots, are as exact as the cpu device's."""
    arrays = inputs(program, 0)
    matrices = arrays["g"].view(np.float32)[: 64 * GROUPS * 16].reshape(-1, 8, 8).astype(np.float64)
    exact = np.linalg.inv(matrices)
    errors = []
    for name in ("cpu", device):
        got = answers(program, arrays, name)["g"].view(np.float32)[: 64 * GROUPS * 16].reshape(-1, 8, 8)
        errors.append(float(np.median(np.abs(got - exact).max((1, 2)) / np.abs(exact).max((1, 2)))))
    return "" if errors[1] < 2 * errors[0] else f"the median error is {errors[1]:.3g}, the cpu's {errors[0]:.3g}"


def examine(name: str, text: str, device: str, trials: int) -> tuple[str, str]:
    """How a program fares on a device: "agrees", "differs", "refused", "left out", and what is to be said of it."""
    try:
        program = hw.compile(text, language="il", device=device)
    except (SourceError, ResourceError) as error:
        return "refused", error.message
    program.filename = name
    if name in LEFT_OUT:
        return "left out", "it compares integers as floats"
    if name.startswith("Inv8x8"):
        note = inverse(program, device)
        return ("differs" if note else "agrees"), note
    note = product(program, device) if name.startswith("plain") and "compute" not in name else ""
    for seed in range(trials):
        note = note or trial(program, seed, device)
    return ("differs" if note else "agrees"), note


def main() -> int:
    """Print a line for each program and device that does not agree, and sums; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.il_answers", description=__doc__.splitlines()[0])
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--device", action="append", help=f"simulated VLIW chips (default: {', '.join(CHIPS)})")
    parser.add_argument("--trials", type=int, default=6, help="random inputs for each program (default: 6)")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    chosen = parser.parse_args()
    failed = False
    found = [(name, text) for path in chosen.files for name, text in programs(path) if chosen.only in name]
    for device in chosen.device or CHIPS:
        counts: Counter[str] = Counter()
        for name, text in found:
            try:
                status, note = examine(name, text, device, chosen.trials)
            except hw.HeadwaterError as error:
                status, note = "fails", " ".join(str(error).split())
            counts[status] += 1
            if note:
                print(f"{device:8} {name:36} {status}: {note}"[:200], flush=True)
        failed |= bool(counts["differs"] or counts["fails"] or not counts["agrees"])
        print(f"{device}: {len(found)} programs: " + ", ".join(f"{n} {s}" for s, n in counts.items()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Input: a Brook+ sample and arrays. Output: what AMD's own compiler and CPU run-time make of them.

AMD's ``brcc`` 1.4.1 and its run-time ``libbrook.so`` are 32-bit Linux binaries of 2009. They run on a present x86-64
Linux with the i386 C and C++ run-time libraries; the C++ that ``brcc`` writes compiles with ``g++ -m32`` in the old GNU
dialect (Debian: ``dpkg --add-architecture i386; apt-get install libc6:i386 libstdc++6:i386 g++-multilib``).

Per sample one program is built: AMD's generated C++ plus a generated driver that reads a job file (shapes and raw files
of the arguments), calls one kernel and writes all streams back. Everything is kept in a work directory, keyed by
content.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

Kind = Literal["input", "output", "gather", "scatter", "value", "constant", "reduce"]
Array = np.ndarray[Any, np.dtype[Any]]

# What the generated operator() pushes for an argument of each kind (Brook+ 1.4.1, brook/Kernel.h).
PUSHES: dict[str, Kind] = {
    "PushStream": "input",
    "PushOutput": "output",
    "PushGatherStream": "gather",
    "PushScatterStream": "scatter",
    "PushConstant": "value",
    "PushConstantBuffer": "constant",
    "PushReduceStream": "reduce",
    "PushReduce": "reduce",
}
BASES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "float": "f4",
    "double": "f8",
}
# SSE arithmetic without contraction: plain IEEE single and double precision, as the source says. x87 would keep more
# bits.
CXX_FLAGS = (
    "-m32 -std=gnu++98 -fpermissive -w -O1 -msse2 -mfpmath=sse -ffp-contract=off "
    "-include cstdio -include cstdlib -include cstring -include cmath -Dmain=sample_main"
).split()


class ToolError(Exception):
    """AMD's compiler, the C++ compiler or the built program failed; the message is what it printed."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel as AMD's compiler understood it; ``type`` is its C++ type, ``sizes`` those of a
    constant array.
    """

    name: str
    kind: Kind
    type: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """A kernel that the host can call."""

    name: str
    parameters: tuple[Parameter, ...]

    @property
    def is_reduction(self) -> bool:
        return any(parameter.kind == "reduce" for parameter in self.parameters)


@dataclass(frozen=True)
class Sample:
    """A compiled sample: its kernels, the NumPy types of its structs, and the program that runs them."""

    path: Path
    options: str
    kernels: tuple[Kernel, ...]
    structs: Mapping[str, np.dtype[Any]]
    program: Path

    def dtype(self, type_name: str) -> np.dtype[Any]:
        """The NumPy type of one element; vectors are sub-arrays."""
        if type_name in self.structs:
            return self.structs[type_name]
        return element_dtype(type_name)


def element_dtype(type_name: str) -> np.dtype[Any]:
    """``float3`` -> three single-precision numbers."""
    match = re.fullmatch(r"([a-z]+)([234]?)", type_name)
    if not match or match[1] not in BASES:
        raise ToolError(f"AMD's compiler used the unknown type {type_name!r}")
    base = np.dtype(BASES[match[1]])
    return np.dtype((base, (int(match[2]),))) if match[2] else base


def samples(checkout: Path) -> list[Path]:
    """All sample sources of the checkout, sorted."""
    found = sorted((checkout / "samples").rglob("*.br"))
    if not found:
        raise ToolError(f"{checkout}: no .br files under samples/; expected a checkout of hibengler/BrookPlus")
    return found


class Toolchain:
    """AMD's compiler and run-time from ``checkout``; built programs and results are kept in ``work``."""

    def __init__(self, checkout: Path, work: Path) -> None:
        self.sdk = checkout / "sdk"
        self.checkout = checkout
        self.work = work
        self.brcc = self.sdk / "bin" / "brcc"
        if not self.brcc.exists():
            raise ToolError(f"{self.brcc} not found: --checkout must name a checkout of hibengler/BrookPlus")
        if shutil.which("g++") is None:
            raise ToolError("g++ not found: the oracle needs g++ with 32-bit support (Debian: g++-multilib)")

    def compile(self, source: Path, more: str = "") -> Sample:
        """Compile a sample with brcc and g++ (or take it from the work directory). ``more``: further options of brcc,
        ``-a`` for instance."""
        text = source.read_bytes()
        key = hashlib.sha256(text + DRIVER.encode() + " ".join([*CXX_FLAGS, more]).encode()).hexdigest()[:16]
        folder = self.work / "programs" / f"{source.stem}-{key}"
        options_file = folder / "options"
        if not options_file.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            (folder / "sample.br").write_bytes(text)
            options = self._brcc(folder, more)
            self._build(folder)
            options_file.write_text(options)
        header = (folder / "sample.h").read_text(errors="replace")
        body = (folder / "sample.cpp").read_text(errors="replace")
        kernels = tuple(parse_kernels(header, body))
        return Sample(source, options_file.read_text(), kernels, parse_structs(header), folder / "driver")

    def _brcc(self, folder: Path, more: str) -> str:
        """Run brcc; two samples need its own preprocessor (``-pp``). Returns the options used."""
        log = ""
        for options in (more, f"-pp {more}".strip()):
            command = [str(self.brcc), "-p", "cpu", *options.split(), "sample.br"]
            log = _run(command, folder, {})
            if (folder / "sample.cpp").exists():
                return options
        raise ToolError(f"brcc failed:\n{log}")

    def _build(self, folder: Path) -> None:
        header = (folder / "sample.h").read_text(errors="replace")
        body = (folder / "sample.cpp").read_text(errors="replace")
        (folder / "driver.cpp").write_text(driver_source(parse_kernels(header, body)))
        helpers = self.checkout / "samples" / "legacy" / "common"
        sources = ["driver.cpp"]
        if "common.h" in body:  # the host code of the one-file samples calls helpers that all of them share
            sources += [str(helpers / "common.cpp"), str(helpers / "Timer.cpp")]
        include = [f"-I{self.sdk / 'include'}", f"-I{helpers}"]
        libraries = [f"-L{self.sdk / 'lib'}", "-lbrook", "-lpthread"]
        log = _run(["g++", *CXX_FLAGS, *include, *sources, *libraries, "-o", "driver"], folder, {})
        if not (folder / "driver").exists():
            raise ToolError(f"g++ failed:\n{log}")

    def run(
        self,
        sample: Sample,
        kernel: Kernel,
        arguments: Mapping[str, Array],
        shapes: Mapping[str, tuple[int, ...]],
        *,
        domain: tuple[Sequence[int], Sequence[int]] | None = None,
        full: bool = False,
        time_limit: float = 60.0,
    ) -> dict[str, Array]:
        """Run ``kernel`` and return what is in each of its output, scatter and reduction arguments afterwards.

        ``arguments``: by parameter name, element arrays (vector components are the last axis); outputs may be given
        too, else they start as zeros. ``shapes``: the element shape (slowest first) of each stream. ``domain``: offset
        and size, x first, for ``domainOffset`` and ``domainSize``. ``full``: a reduction to one value.
        """
        lines = [f"{kernel.name} {int(full)}", _domain_line(domain)]
        blobs: list[bytes] = []
        wanted: list[tuple[Parameter, tuple[int, ...]]] = []
        for parameter in kernel.parameters:
            dtype = sample.dtype(parameter.type)
            shape = () if full and parameter.kind == "reduce" else shapes.get(parameter.name, ())
            given = arguments.get(parameter.name)
            whole = (*parameter.sizes, *shape) if parameter.kind == "constant" else shape
            data = np.zeros(whole, dtype) if given is None else _as_elements(given, dtype, whole, parameter.name)
            if parameter.kind in ("value", "constant") or (full and parameter.kind == "reduce"):
                lines.append("value")
            else:
                # The host API takes the fastest dimension first.
                lines.append(" ".join(str(n) for n in (len(shape), *reversed(shape))))
            blobs.append(data.tobytes())
            if parameter.kind in ("output", "scatter", "reduce"):
                wanted.append((parameter, shape))
        job = "\n".join(lines) + "\n"
        identity = sample.program.parent.name.encode()  # holds the hash of source and driver
        digest = hashlib.sha256(b"\0".join([identity, job.encode(), *blobs])).hexdigest()[:24]
        folder = self.work / "results" / digest[:2] / digest
        if not (folder / "done").exists():
            self._execute(sample, folder, job, blobs, [kernel.parameters.index(p) for p, _ in wanted], time_limit)
        results = {}
        for parameter, shape in wanted:
            dtype = sample.dtype(parameter.type)
            raw = (folder / f"{kernel.parameters.index(parameter)}.out").read_bytes()
            flat = np.frombuffer(raw, dtype.base)
            results[parameter.name] = flat.reshape((*shape, *dtype.shape)).copy()
        return results

    def _execute(
        self, sample: Sample, folder: Path, job: str, blobs: Sequence[bytes], keep: Sequence[int], time_limit: float
    ) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "job").write_text(job)
        for number, blob in enumerate(blobs):
            (folder / f"{number}.in").write_bytes(blob)
        environment = {"LD_LIBRARY_PATH": str(self.sdk / "lib"), "BRT_RUNTIME": "cpu"}
        log = _run([str(sample.program)], folder, environment, time_limit)
        if "driver: done" not in log:
            raise ToolError(f"AMD's run-time failed:\n{log[-600:]}")
        for number in range(len(blobs)):
            (folder / f"{number}.in").unlink()
            if number not in keep:
                (folder / f"{number}.out").unlink(missing_ok=True)
        (folder / "done").touch()


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str], time_limit: float = 300.0) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=time_limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{command[0]}: not finished after {time_limit:g} s") from error
    except OSError as error:
        raise ToolError(
            f"{command[0]} does not start ({error.strerror}); 32-bit run-time libraries missing?"
        ) from error
    tail = "" if done.returncode == 0 else f"\n(exit status {done.returncode})"
    return done.stdout.decode(errors="replace") + tail


def _domain_line(domain: tuple[Sequence[int], Sequence[int]] | None) -> str:
    if domain is None:
        return "0"
    offset, size = ([*values, *[fill] * (4 - len(values))] for values, fill in zip(domain, (0, 1), strict=True))
    return "1 " + " ".join(str(n) for n in (*offset, *size))


def _as_elements(array: Array, dtype: np.dtype[Any], shape: tuple[int, ...], name: str) -> Array:
    wanted = (*shape, *dtype.shape)
    data = np.asarray(array, dtype.base, order="C")
    if data.shape != wanted:
        raise ToolError(f"argument {name!r} has shape {data.shape}, its stream wants {wanted}")
    return data


def parse_kernels(header: str, body: str) -> list[Kernel]:
    """The callable kernels of a generated header (their classes) and body (which kind each argument is)."""
    kernels = []
    for match in re.finditer(r"class __(\w+)\s*\{\s*public:(.*?)EXTENDCLASS", header, re.S):
        name, inside = match[1], match[2]
        signature = re.search(r"operator\(\)\((.*?)\);", inside, re.S)
        runner = re.search(rf"void __{re.escape(name)}::operator\(\)\(.*?\n\}}", body, re.S)
        if not signature or not runner:
            raise ToolError(f"cannot read AMD's generated code of kernel {name!r}")
        kinds = [PUSHES[push] for push in re.findall(r"__k\.(Push\w+)\(", runner[0])]
        declarations = _split(signature[1])
        if len(kinds) != len(declarations):
            raise ToolError(
                f"AMD's generated code of kernel {name!r} passes {len(kinds)} of {len(declarations)} arguments"
            )
        kernels.append(
            Kernel(name, tuple(_parameter(text, kind) for text, kind in zip(declarations, kinds, strict=True)))
        )
    return kernels


def _split(signature: str) -> list[str]:
    return [" ".join(part.split()) for part in signature.split(",") if part.strip()]


def _parameter(text: str, kind: Kind) -> Parameter:
    stream = re.fullmatch(r"const ::brook::Stream< *(\w+) *> *& *(\w+)", text)
    if stream:
        return Parameter(stream[2], kind, stream[1])
    value = re.fullmatch(r"(?:const )?(\w+) *&? *(\w+)((?: *\[\d+\])*)", text)
    if value:
        return Parameter(value[2], kind, value[1], tuple(int(n) for n in re.findall(r"\d+", value[3])))
    raise ToolError(f"cannot read the parameter {text!r} in AMD's generated header")


def parse_structs(header: str) -> dict[str, np.dtype[Any]]:
    """The stream element structs of a generated header."""
    structs: dict[str, np.dtype[Any]] = {}
    for match in re.finditer(r"typedef struct (?!__)\w+ \{([^{}]*)\}\s*(\w+);", header):
        members = re.findall(r"(\w+)\s+(\w+);", match[1])
        structs[match[2]] = np.dtype(
            [(name, structs.get(kind) or element_dtype(kind)) for kind, name in members], align=True
        )
    return structs


DRIVER = r"""// Written by the Brook+ oracle: reads ./job and N.in, calls one kernel, writes N.out.
#include "sample.cpp"
#undef main
#include <unistd.h>
#include <vector>

namespace oracle {

static FILE *job;
static bool has_domain;
static uint4 offset, size;

static void fail(const char *what) { printf("driver: %s\n", what); fflush(stdout); _exit(3); }

static std::vector<char> load(int number) {
    char name[32];
    sprintf(name, "%d.in", number);
    FILE *file = fopen(name, "rb");
    if (!file) fail("input file missing");
    std::vector<char> data;
    char block[65536];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) data.insert(data.end(), block, block + n);
    fclose(file);
    data.resize(data.size() + 64);
    return data;
}

static void save(int number, const void *data, size_t bytes) {
    char name[32];
    sprintf(name, "%d.out", number);
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file)) fail("cannot write a result");
}

template <class T> struct Streamed {
    int number;
    size_t count;
    ::brook::Stream<T> *stream;
    explicit Streamed(int n) : number(n), count(1) {
        unsigned rank, dims[4] = {1, 1, 1, 1};
        if (fscanf(job, "%u", &rank) != 1 || rank < 1 || rank > 4) fail("bad job file");
        for (unsigned i = 0; i < rank; ++i) {
            if (fscanf(job, "%u", &dims[i]) != 1) fail("bad job file");
            count *= dims[i];
        }
        stream = new ::brook::Stream<T>(rank, dims);
        std::vector<char> data = load(number);
        stream->read(&data[0]);
    }
    void finish() {
        std::vector<char> data(count * sizeof(T) + 64);
        stream->write(&data[0]);
        save(number, &data[0], count * sizeof(T));
    }
};

template <class T> struct Value {
    int number;
    std::vector<char> data;
    explicit Value(int n) : number(n), data(load(n)) {
        char word[16];
        if (fscanf(job, "%15s", word) != 1) fail("bad job file");
    }
    T *get() { return reinterpret_cast<T *>(&data[0]); }
    void finish() { save(number, get(), sizeof(T)); }
};

template <class K> static void prepare(K &kernel) {
    if (has_domain) {
        kernel.domainOffset(offset);
        kernel.domainSize(size);
    }
}

}  // namespace oracle
"""

MAIN = r"""
int main() {
    using namespace oracle;
    char name[256];
    int full, domain;
    job = fopen("job", "r");
    if (!job || fscanf(job, "%255s %d %d", name, &full, &domain) != 3) fail("no job file");
    has_domain = domain != 0;
    if (has_domain) {
        unsigned v[8];
        for (int i = 0; i < 8; ++i) if (fscanf(job, "%u", &v[i]) != 1) fail("bad job file");
        offset = uint4(v[0], v[1], v[2], v[3]);
        size = uint4(v[4], v[5], v[6], v[7]);
    }
@CALLS@    else fail("no such kernel");
    printf("driver: done\n");
    fflush(stdout);
    _exit(0);
}
"""


def driver_source(kernels: Sequence[Kernel]) -> str:
    """The C++ of the driver for ``kernels``."""
    parts, calls = [DRIVER], []
    for position, kernel in enumerate(kernels):
        for full in (0, 1) if kernel.is_reduction else (0,):
            parts.append(_call(kernel, f"call{position}_{full}", bool(full)))
            test = f'!strcmp(name, "{kernel.name}") && full == {full}'
            calls.append(f"    {'else ' if calls else ''}if ({test}) call{position}_{full}();\n")
    return "".join(parts) + MAIN.replace("@CALLS@", "".join(calls))


def _call(kernel: Kernel, function: str, full: bool) -> str:
    declarations, arguments, finishes = [], [], []
    for number, parameter in enumerate(kernel.parameters):
        kind = parameter.type
        if parameter.kind == "constant":
            element = f"{kind}{''.join(f'[{n}]' for n in parameter.sizes)}"
            declarations.append(f"    Value<{kind}> a{number}({number});\n")
            arguments.append(f"*reinterpret_cast<{kind} (*){element[len(kind) :]}>(a{number}.get())")
        elif parameter.kind == "value" or (full and parameter.kind == "reduce"):
            declarations.append(f"    Value<{kind}> a{number}({number});\n")
            arguments.append(f"*a{number}.get()")
        else:
            declarations.append(f"    Streamed<{kind}> a{number}({number});\n")
            arguments.append(f"*a{number}.stream")
        if parameter.kind in ("output", "scatter", "reduce"):
            finishes.append(f"    a{number}.finish();\n")
    call = f"    prepare({kernel.name});\n    {kernel.name}({', '.join(arguments)});\n"
    body = "".join((*declarations, call, *finishes))
    return f"static void {function}() {{\n    using namespace oracle;\n{body}}}\n"

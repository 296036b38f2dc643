"""Input: the words of a command line. Output: what the command prints and its exit code.

Exit codes: 0 done, 1 devices disagree (``run --verify``), 2 bad input, 70 a defect of Headwater, 130 interrupted,
143 ended by SIGTERM.
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING

from headwater.cli.interruption import Interruption

if TYPE_CHECKING:
    from collections.abc import Sequence

# Name -> (module, what the overview says). A command's module is imported only when it is called: starting is most of
# what a short run costs.
COMMANDS = {
    "run": ("headwater.cli.run", "run a kernel on files, pictures or generated data"),
    "brcc": ("headwater.cli.brcc", "translate Brook+ (.br) to OpenCL C and a Python module"),
    "ilc": ("headwater.cli.ilc", "check, print or translate ATI IL (.il)"),
    "compile": ("headwater.cli.compile", "compile kernels to machine code for an AMD GPU"),
    "asm": ("headwater.cli.asm", "assemble machine code"),
    "disasm": ("headwater.cli.disasm", "show a kernel's machine code"),
    "simulate": ("headwater.cli.simulate", "simulate a kernel's cycles on a chip, and their causes"),
    "step": ("headwater.cli.step", "go through a kernel line by line on a simulated chip, and back"),
    "sweep": ("headwater.cli.sweep", "try kernels, chips and figures by the thousand, and keep a table"),
    "stats": ("headwater.cli.stats", "count what a kernel's instructions do on a simulated chip"),
    "analyze": ("headwater.cli.analyze", "show a kernel's machine code, its limits and its estimated time"),
    "check": ("headwater.cli.check", "check the syntax and types of kernels, for editors"),
    "validate": ("headwater.cli.validate", "compare estimates with published measurements"),
    "explain": ("headwater.cli.explain", "explain a metric, an instruction or one of its fields"),
    "occupancy": ("headwater.cli.occupancy", "compute how many wavefronts a chip holds, and what limits them"),
    "devices": ("headwater.cli.devices", "list the devices that kernels can run on"),
    "cache": ("headwater.cli.cache", "show or clear the cache of compiled kernels"),
    "icd": ("headwater.cli.icd", "run unchanged OpenCL programs on Headwater's devices"),
    "cal": ("headwater.cli.cal", "run unchanged CAL programs on Headwater's devices"),
    "bench": ("headwater.cli.bench", "measure kernels on this machine, against NumPy, Numba and PoCL"),
    "completion": ("headwater.cli.completion", "print a completion script for bash, zsh or fish"),
    "ui": ("headwater.cli.ui", "serve a page to write, compare, run and simulate kernels"),
    "demo": ("headwater.cli.demo", "filter a photograph and price a million options"),
}

_OVERVIEW = """\
Headwater {version}: OpenCL C, Brook+, HIP and ATI IL kernels on this machine's CPU, a GPU, or a chip you don't have.

Usage: headwater COMMAND …

{commands}

Try:
  headwater demo
  headwater run median.cl --kernel medianfilter_rgba photo.jpg -o filtered.png
  headwater run saxpy.br x.npy y.npy 2.5 -o result.npy --time
  headwater run saxpy.br x.npy y.npy 2.5 --device vega64 --check
  headwater run --help

Devices are "cpu" (the default), "gpu", "opencl:PLATFORM:DEVICE", part of a device's name, or a simulated chip such as
"vega64"; see headwater devices.
HEADWATER_DEVICE chooses one for all commands, HEADWATER_CACHE_DIR where compiled kernels are kept.
"""


def overview() -> str:
    """What ``headwater --help`` says."""
    from headwater import __version__

    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    return _OVERVIEW.format(version=__version__, commands="\n".join(rows))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is returned. Every fault of the input becomes one message on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    warnings.showwarning = _warn
    with Interruption(words) as interruption:
        return _answered(words, interruption)


def _answered(words: list[str], interruption: Interruption) -> int:
    try:
        try:
            status = _dispatch(words)
        except SystemExit as done:  # argparse after --help
            status = int(done.code or 0)
        sys.stdout.flush()
        return interruption.exit_code(status)
    except KeyboardInterrupt:
        return interruption.report()
    except BrokenPipeError:
        # The reader of our output has gone, as in `headwater devices | head -1`: nothing to say, nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:
        if interruption:
            return interruption.report()
        from headwater.cli.failures import report

        return report(error, words)


def _open_streams() -> None:
    """Where a shell closed stdout or stderr (``>&-``), Python has none: what is printed there goes nowhere, then.

    Signs such as × and µs that stdout's encoding lacks become question marks; bytes of a file's name that are no text
    stay what they are.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it stays open
        elif name == "stdout" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="surrogateescape" if stream.encoding.lower().startswith("utf") else "replace")


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a line of ours, without the place in our code that raised it."""
    print(f"headwater: warning: {message}", file=sys.stderr)


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[0] == "help" and words[1] in COMMANDS:
            return _dispatch([words[1], "--help"])
        print(overview(), end="")
        return 0
    if words[0] in ("-V", "--version", "version"):
        from headwater import __version__

        print(f"headwater {__version__}")
        return 0
    name = words[0]
    if name not in COMMANDS:
        from difflib import get_close_matches

        from headwater.errors import UsageError

        close = get_close_matches(name, COMMANDS, 1)
        suffix = name.rpartition(".")[2]
        hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(COMMANDS)}"
        if suffix in ("cl", "br", "il"):
            hint = f"headwater run {name} …"
        raise UsageError(f"there is no command {name!r}", hint=hint)
    return int(import_module(COMMANDS[name][0]).main(words[1:]))

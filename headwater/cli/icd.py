"""Input: install, uninstall, status or run. Makes Headwater an OpenCL platform for other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from headwater.cli.options import Parser
from headwater.errors import UsageError

_DESCRIPTION = """\
Make Headwater an OpenCL platform for unchanged OpenCL programs. Its devices are the cpu and every simulated chip.
install writes a library and an .icd file for the OpenCL loader, or says which variable to set if the loader does not
look there, as on Windows. run starts a program without an installation; the program sees no other platform.
HEADWATER_ICD_DEVICES selects the devices and their order.
"""
_EXAMPLES = """\
examples:
  headwater icd run -- clinfo -l
  headwater icd run --devices vega64,cpu --check -- ./vector_add
  headwater icd install
  headwater icd status
  headwater icd uninstall
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    own = list(words)
    program: list[str] = []
    if "--" in own:
        at = own.index("--")
        own, program = own[:at], own[at + 1 :]
    parser = Parser("icd", "install | uninstall | status | run [OPTIONS] -- PROGRAM …", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("action", choices=["install", "uninstall", "status", "run"], help="what to do")
    parser.add_argument("--vendors", metavar="DIR", help="the directory of .icd files, if not the usual one")
    parser.add_argument("--devices", metavar="LIST", help="run: the devices to offer, such as vega64,cpu")
    parser.add_argument(
        "--check", action="store_true", help="run: find accesses out of bounds, races, reads of unwritten memory"
    )
    parser.add_argument(
        "--simulated-time",
        action="store_true",
        help="run: profiling events give the time that the cycle model computes",
    )
    args = parser.parse(own)
    if args.action == "run":
        return _run(args.devices, program, check=args.check, simulated=args.simulated_time)
    if program:
        raise UsageError(f"icd {args.action} takes no program", hint=f"headwater icd run -- {program[0]}")

    from headwater.icd import install

    if args.action == "install":
        made = install.install(args.vendors)
        print(f"wrote {made.icd}, which names {made.library}" if made.icd else f"wrote {made.library}")
        _print_variables(made.variables)
    elif args.action == "uninstall":
        removed = install.uninstall(args.vendors)
        print("\n".join(f"removed {path}" for path in removed) or "nothing is installed")
    else:
        found = install.status(args.vendors)
        if found is None:
            print("not installed; headwater icd install does it")
            return 0
        state = "" if found.library.is_file() else ", which is not there: run headwater icd install again"
        print(f"installed: {found.icd} names {found.library}{state}" if found.icd else f"installed: {found.library}")
        _print_variables(found.variables)
    return 0


def _print_variables(variables: Mapping[str, str]) -> None:
    if not variables:
        return
    print("loaders do not look there by themselves; set")
    for name, value in variables.items():
        print(f"  setx {name} {value}" if sys.platform == "win32" else f"  export {name}={value}")


def _run(devices: str | None, program: Sequence[str], *, check: bool, simulated: bool) -> int:
    if not program:
        raise UsageError("icd run needs a program after --", hint="headwater icd run -- clinfo -l")
    if check and simulated:
        raise UsageError("checked launches are not simulated", hint="leave out --check or --simulated-time")
    from headwater.icd import install

    changes: dict[str, str] = {}
    if devices is not None:
        from headwater.icd.server.devices import named

        named(devices, "--devices")  # the program may ask late, or not say what went wrong
        changes["HEADWATER_ICD_DEVICES"] = devices
    if check:
        changes["HEADWATER_ICD_CHECK"] = "1"
    if simulated:
        changes["HEADWATER_ICD_TIME"] = "simulated"
    return install.run(program, changes)

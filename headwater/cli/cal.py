"""Input: a word, run or path. Output: a program run on CAL's devices, or where CAL's C libraries are."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.cli.options import Parser
from headwater.errors import UsageError

_DESCRIPTION = """\
Run programs that were linked with CAL's libraries, libaticalrt.so and libaticalcl.so, as they are: of 64 bits, and on
x86-64 of 32. path prints the folder that has both libraries, and the headers to compile programs with.
"""
_EXAMPLES = """\
examples:
  headwater cal run -- ./simple_matmult -x 64 -y 64
  headwater cal run --device hd5870,hd4870 -- ./program
  headwater cal run --check -- ./program
  cc program.c -I$(headwater cal path) -L$(headwater cal path) -laticalrt -laticalcl
"""


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    own = list(words)
    program: list[str] = []
    if "--" in own:
        at = own.index("--")
        own, program = own[:at], own[at + 1 :]
    parser = Parser("cal", "run [OPTIONS] -- PROGRAM … | path", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("action", choices=["run", "path"], help="what to do")
    parser.add_argument("--device", metavar="LIST", help="run: the devices that the program finds (default: hd4870)")
    parser.add_argument(
        "--check", action="store_true", help="run: find accesses out of bounds, races, reads of unwritten memory"
    )
    args = parser.parse(own)
    from headwater.cal.abi import library

    if args.action == "path":
        if program or args.device is not None or args.check:
            raise UsageError("cal path takes no options and no program")
        print(library.folder(library.machines()[0]))
        return 0
    if not program:
        raise UsageError("cal run takes a program behind --", hint="headwater cal run -- ./program")
    from headwater.bridge import host

    if args.device is not None:
        from headwater.cal.boards import find_boards

        find_boards(args.device)  # a name that there is not: the program may ask late, or not say what went wrong
    changes = library.environment(args.device)
    return host.run(program, {**changes, "HEADWATER_CHECK": "1"} if args.check else changes)

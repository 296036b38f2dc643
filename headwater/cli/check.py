"""Input: kernel files. Output: a line for everything that is wrong with them, for people and editors."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headwater.cli.options import Parser, add_build_options, build_options

_USAGE = "FILE … [--language NAME] [--json] [-D NAME[=VALUE]] [-I DIR]"
_DESCRIPTION = """\
Check the syntax and types of kernels, quickly: Brook+ (.br), OpenCL C (.cl), HIP (.hip, .cu), ATI IL (.il).

Each message is a line FILE:LINE:COLUMN: error: …, as compilers print it, so that editors can jump to the place.
"""
_EXAMPLES = """\
examples:
  headwater check median.cl
  headwater check *.br *.cl --json
  cat buffer | headwater check - --language opencl      an editor's unsaved text
  :set makeprg=headwater\\ check\\ %                      in Vim

exit codes: 0 no errors (there may be warnings), 2 errors
"""
_SUFFIXES = {"brook": ".br", "opencl": ".cl", "il": ".il", "hip": ".hip"}


def main(words: Sequence[str]) -> int:
    """Run the command; the exit code is returned."""
    parser = Parser("check", _USAGE, _DESCRIPTION, _EXAMPLES)
    parser.add_argument("files", metavar="FILE", nargs="+", help="kernel files; - reads standard input")
    parser.add_argument("--language", choices=list(_SUFFIXES), default="", help="of standard input")
    parser.add_argument("--json", action="store_true", help="print a JSON list of messages")
    add_build_options(parser)
    args = parser.parse(words)
    from headwater.analyze.check import Diagnostic, check
    from headwater.analyze.sources import from_text, read

    options = build_options(args)
    found: list[Diagnostic] = []
    for name in args.files:
        if name == "-":
            source = from_text(sys.stdin.read(), args.language, "<stdin>", options)
        else:
            source = read(name, options)
        found += check(source)
    errors = sum(one.severity == "error" for one in found)
    if args.json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(one) for one in found]))
    else:
        for one in found:
            print(one)
            if one.hint:
                print(f"  hint: {one.hint}")
    return 2 if errors else 0

"""Input: a pixel shader with derivatives. Output: how one work-item of OpenCL C finds its neighbours' values.

Work-items cannot look at each other's registers wherever they are. So a work-item runs the program for each pixel of
its quad, 2 x 2, up to the first derivative, and notes the operand there; then up to the second, for which it knows the
first, and so on; and then for its own pixel to the end. Each place of the text is one derivative, a function's anew for
each of its calls; what a loop repeats has no such place, and is refused. Nothing is written to memory on the way.
"""

from __future__ import annotations

from headwater.errors import Span
from headwater.il.checker import DERIVATIVES, Facts
from headwater.il.model import Instruction, Program
from headwater.il.translation import NotInOpenClError

MAX_SITES = 32
"""Derivatives that a program may have: the work grows with their square."""

FIELDS = "    int quad, site, wanted, stopped; float4 found, *known;"
"""Of the registers: the pixel's number in its quad, the first site of this call, the site that is wanted or -1,
whether it has been met, the operand there, and the operands of all sites (`KNOWN`)."""

KNOWN = "    float4 known[{0}];"
"""An array beside the registers: the operands of all sites, four pixels each."""

_LOOPS = ("whileloop", "loop")


class Sites:
    """The derivatives of a program, and of each of its functions with what they call."""

    def __init__(self, program: Program, facts: Facts, filename: str) -> None:
        self.program = program
        self.filename = filename
        self._counts: dict[int, int] = {}
        self.total = self._of(program.body) if facts.derivatives else 0
        if self.total > MAX_SITES:
            raise self._error(
                f"with its calls the program has {self.total} derivatives", self._first(), f"OpenCL C has {MAX_SITES}"
            )
        if self.total:
            self._check_memory()

    def _error(self, message: str, made: Instruction, hint: str) -> NotInOpenClError:
        return NotInOpenClError(message, Span(self.filename, made.line, made.column), hint=hint)

    def of(self, number: int) -> int:
        """How many derivatives a call of a function computes."""
        if number not in self._counts:
            function = self.program.function(number)
            self._counts[number] = self._of(function.body) if function is not None else 0
        return self._counts[number]

    def within(self, made: Instruction) -> int:
        """How many an instruction computes, itself or by what it calls."""
        if made.mnemonic in DERIVATIVES:
            return 1
        return self.of(made.values[0]) if made.mnemonic.startswith("call") else 0

    def _of(self, body: tuple[Instruction, ...]) -> int:
        count = loops = 0
        for made in body:
            loops += (made.mnemonic in _LOOPS) - (made.mnemonic == "endloop")
            found = self.within(made)
            if found and loops:
                raise self._error(
                    f"{made.mnemonic} within a loop: OpenCL C cannot read neighbouring pixels there",
                    made,
                    "VLIW chips can: hd4870, hd5870, …; or take the derivative before the loop",
                )
            count += found
        return count

    def _lines(self) -> list[Instruction]:
        return [made for body in (self.program.body, *(f.body for f in self.program.functions)) for made in body]

    def _first(self) -> Instruction:
        return next(made for made in self._lines() if made.mnemonic in DERIVATIVES)

    def _check_memory(self) -> None:
        lines = self._lines()
        writes = any(writes_memory(made) for made in lines)
        if writes and any(_reads_memory(made) for made in lines):
            raise self._error(
                "derivatives in a program that reads memory which it writes",
                self._first(),
                "OpenCL C computes parts of it several times; VLIW chips can run it: hd4870, hd5870, …",
            )


def writes_memory(made: Instruction) -> bool:
    """Whether an instruction writes the global buffer or a view."""
    if made.mnemonic.startswith("uav_"):
        return not made.mnemonic.endswith("_load")
    return bool(made.operands) and made.operands[0].register.kind == "g"


def _reads_memory(made: Instruction) -> bool:
    if made.mnemonic.startswith("uav_") and made.mnemonic.endswith(("_load", "_xchg")):
        return True
    return made.mnemonic.startswith("uav_read_") or any(o.register.kind == "g" for o in made.operands[1:])


def kernel_lines(sites: int, start: list[str]) -> list[str]:
    """The part of a kernel that runs the program for the quad's pixels; ``start`` sets a pixel's registers up, at the
    place (px, py)."""
    return [
        "    int own = (get_global_id(0) & 1) | (get_global_id(1) & 1) << 1;",
        f"    for (int site = 0; site <= {sites}; site++) {{",
        "        int met = 0;",
        f"        for (int k = site < {sites} ? 0 : own; k <= (site < {sites} ? 3 : own); k++) {{",
        "            int px = ((int)get_global_id(0) & ~1) + (k & 1), py = ((int)get_global_id(1) & ~1) + (k >> 1);",
        *(f"        {line}" for line in start),
        f"            s.quad = k; s.site = 0; s.wanted = site < {sites} ? site : -1; s.stopped = 0;",
        "            il_main(&s);",
        "            if (s.stopped)",
        "                s.known[4 * site + k] = s.found;",
        "            met |= s.stopped << k;",
        "        }",
        f"        if (site < {sites})",
        "            il_unmet(&s.known[4 * site], met);",
        "    }",
    ]


def derivative(name: str, fine: bool, site: int, source: str) -> tuple[list[str], str]:
    """What stands before a derivative in its function, and its value, a float4."""
    before = [
        f"if (s->wanted == s->site + {site}) {{",
        f"    s->found = {source};",
        "    s->stopped = 1;",
        "    return;",
        "}",
    ]
    known = f"&s->known[4 * (s->site + {site})], s->quad"
    across, down = (f"il_{axis}({known}, {int(fine)})" for axis in ("dsx", "dsy"))
    value = {"dsx": across, "dsy": down, "fwidth": f"fabs({across}) + fabs({down})"}[name]
    return before, value

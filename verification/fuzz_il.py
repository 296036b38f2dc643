"""Input: random and damaged ATI IL. Output: tracebacks, endless work and programs that are not printed as they were
read.

Run as ``python -m verification.fuzz_il --count 1000000``. Programs are made of the table of operations, most of their
operands fitting, or are these and the examples' with lines, words and letters changed. Whatever is read is printed and
read back, checked, translated to OpenCL C, and compiled for a VLIW chip.
"""

from __future__ import annotations

import functools
import random
import sys
from pathlib import Path

from verification import fuzzing

_CHIPS = ("hd2600-xt", "hd3870", "hd4870", "hd5870", "hd6970")
_DECLARED = """dcl_resource_id(0)_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)
dcl_resource_id(1)_type(1d)_fmtx(float)
dcl_struct_srv_id(2) 16
dcl_raw_srv_id(3)
dcl_cb cb0[8]
dcl_literal l0, 0, 1, 2.0, 0xFFFFFFFF
def i0, 3, 1, 2, 0
defb b0, 1
dcl_indexed_temp_array x0[4]
"""
_PIXELS = "il_ps_2_0\ndcl_input_position_interp(linear_noperspective) vWinCoord0.xy__\ndcl_output_generic o0\n"
_ITEMS = """il_cs_2_0
dcl_num_thread_per_group 64
dcl_lds_id(1) 1024
dcl_struct_lds_id(2) 16, 16
dcl_gds_id(1) 1024
dcl_raw_uav_id(0)
dcl_struct_uav_id(1) 16
"""
_CLOSING = {"if": "endif", "whileloop": "endloop", "loop": "endloop", "switch": "endswitch"}
_WORDS = (
    "r0",
    "x0[r1.x + 9]",
    "cb0[9]",
    "_neg(xyzw)",
    ".xyzw01",
    "(",
    ")",
    "[",
    "]",
    ",",
    "0x",
    "1e99",
    "sr0",
    "é",
    "9" * 40,
)


class Maker:
    """Makes programs; ``folder`` is not wanted."""

    KINDS: tuple[str, ...] = ("made", "made_again", "damaged", "shuffled", "noise")

    def __init__(self, folder: str) -> None:
        root = Path(__file__).parents[1] / "examples"
        self.examples = [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.il"))]

    def made(self, rng: random.Random) -> None:
        """A program of the table's operations."""
        _take(rng, program(rng))

    made_again = made

    def damaged(self, rng: random.Random) -> None:
        """A program with letters changed."""
        code = self._any(rng).encode()
        _take(rng, fuzzing.mutated(rng, code, self._any(rng).encode()).decode("utf-8", "replace"))

    def shuffled(self, rng: random.Random) -> None:
        """A program with lines and words elsewhere, gone, doubled, or others."""
        lines = self._any(rng).splitlines()
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(lines))
            how = rng.randrange(4)
            if how == 0:
                lines.insert(at, lines[rng.randrange(len(lines))])
            elif how == 1 and len(lines) > 1:
                del lines[at]
            else:
                words = lines[at].split(" ")
                words[rng.randrange(len(words))] = rng.choice((*_WORDS, *lines[rng.randrange(len(lines))].split(" ")))
                lines[at] = " ".join(words)
        _take(rng, "\n".join(lines))

    def noise(self, rng: random.Random) -> None:
        """Letters and marks of the language."""
        letters = "rxyzw01 ,.[]()_;\n+-dclmovendil\t0x"
        _take(rng, rng.choice(("", _PIXELS)) + "".join(rng.choice(letters) for _ in range(rng.randrange(200))))

    def _any(self, rng: random.Random) -> str:
        return rng.choice(self.examples) if rng.random() < 0.3 else program(rng)


def _take(rng: random.Random, source: str) -> None:
    """Give a program to all that takes programs. AssertionError if it is not printed as it was read."""
    from headwater import chips
    from headwater.errors import HeadwaterError
    from headwater.il.parser import parse
    from headwater.il.printer import text
    from headwater.il.to_opencl import to_opencl
    from headwater.isa.vliw.compiler import compile_program

    read = parse(source)
    assert parse(text(read)) == read, "the program is not printed as it was read"
    refused: HeadwaterError | None = None
    try:
        to_opencl(read)
    except HeadwaterError as error:
        refused = error
    compile_program(read, chips.find(rng.choice(_CHIPS)))
    if refused is not None:
        raise refused


@functools.cache
def _names() -> tuple[str, ...]:
    from headwater.il.table import operations

    no_lines = ("func", "endfunc", "endmain", "end", "else", "case", "default", *_CLOSING.values())
    return tuple(n for n, o in operations().items() if not o.is_declaration and n not in no_lines)


def program(rng: random.Random) -> str:
    """A program whose lines are well formed and most often fit together."""
    pixels = rng.random() < 0.5
    lines: list[str] = []
    for _ in range(rng.choice((1, 3, 8, 20))):
        name = rng.choice(_names())
        lines.append(_line(rng, name))
        end = _CLOSING.get(name) or (_CLOSING["if"] if name.startswith("if") else None)
        if end is not None:
            lines += [f"case {rng.randrange(3)}"] * (name == "switch")
            lines += ["mov r1, r2", *["break"] * (end != "endif"), end]
    tail = ["endmain", "func 7", _line(rng, "mad"), "ret", "endfunc"] if rng.random() < 0.3 else []
    out = "mov o0, r1" if pixels else "mov g[vaTid0.x], r1"
    head = (_PIXELS if pixels else _ITEMS) + _DECLARED
    return "\n".join([head + "mov r1, " + ("vWinCoord0" if pixels else "vaTid0"), *lines, out, *tail, "end", ""])


def _line(rng: random.Random, name: str) -> str:
    from headwater.il.table import operations

    operation = operations()[name]
    known = {"resource": f"(0{rng.choice(('', '', '1'))})", "sampler": "(0)", "id": f"({rng.randrange(4)})",
             "aoffimmi": "(1,-1,0)", "relop": f"({rng.choice(('lt', 'eq', 'ge'))})", "cmpval": "(0.5)",
             "zeroop": "(fltmax)", "lOffset": "(4)", "size": "(byte)", "matrix": "(4x3)"}  # fmt: skip
    wanted = ("resource", "sampler", "id")
    modifiers = "".join(
        f"_{m}{known.get(m, '')}" for m in sorted(operation.modifiers) if m in wanted or rng.random() < 0.2
    )
    parts = []
    if operation.has_result:
        kind = "mem" if "store_vec" in name or name.endswith("_store") or name == "lds_write_vec" else "r"
        number = rng.randrange(4) if kind == "r" else ""
        parts.append(f"{kind}{number}{rng.choice(('', '.xy__', '.x___', '.__zw', '._y01', '.xyz'))}")
    for letter in operation.sources:
        parts.append(str(rng.choice((7, 0, 1))) if letter in "#?" else _source(rng))
    return f"{name}{modifiers} {', '.join(parts)}".rstrip()


def _source(rng: random.Random) -> str:
    register = rng.choice(
        (
            "r0",
            "r1",
            "r2",
            "r3",
            "r1",
            "l0",
            f"cb0[{rng.randrange(8)}]",
            "cb0[r1.x + 1]",
            "x0[r2.y]",
            "x0[3]",
            "i0",
            "b0",
        )
    )
    return (
        register
        + rng.choice(("", ".x", ".xyzw", ".wzyx", ".x0y1"))
        + rng.choice(("", "", "", "_neg(xy)", "_abs", "_divComp(w)"))
    )


if __name__ == "__main__":
    sys.exit(fuzzing.main("fuzz_il", "Fuzz the reader, printer and translators of ATI IL.", Maker))

"""Compares our GCN decoder and printer with LLVM's, over every operation, form, operand kind and modifier.

    python -m verification.isa_sweep [--isa gfx906] [--random 20000] [--show 10] [--assemble]

gfx8 to gfx90a: bytes → llvm-mc's disassembly (Debian's llvm-14) against ours; gfx950: that of LLVM 22 (llvm-mc-22 and
llvm-objdump-22). gfx6, gfx7 and gfx942, which Debian's disassembler does not know: bytes → our text → clang's assembler
(the ziglang package) → the same bytes. ``--golden`` writes the texts that tests/isa/gcn/golden.txt keeps.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.chips.gcn_isas import ISAS, TRAITS
from headwater.errors import DecodeError
from headwater.isa.gcn import table
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.encodings import forms_by_prefix, layouts
from headwater.isa.gcn.model import OperandSpec, Row
from headwater.isa.gcn.printer import text

if TYPE_CHECKING:
    from collections.abc import Iterator

# LLVM's processor for each of our ISAs.
PROCESSORS = {
    "gfx6": "gfx600", "gfx7": "gfx701", "gfx8": "gfx803", "gfx900": "gfx900", "gfx906": "gfx906", "gfx908": "gfx908",
    "gfx90a": "gfx90a", "gfx942": "gfx942", "gfx950": "gfx950",
}  # fmt: skip

NEWER = ("gfx950",)
"""What LLVM 22's objdump disassembles."""

ONLY_ASSEMBLED = ("gfx6", "gfx7", "gfx942")
"""What that disassembler does not know."""

# Values tried in a field, beside the base value.
SCALARS = (0, 5, 101, 102, 103, 104, 105, 106, 107, 108, 112, 123, 124, 126, 127)
CONSTANTS = (128, 129, 192, 193, 208, 240, 241, 242, 247, 248, 235, 238, 251, 252, 253, 255)
LITERALS = (0x3456789A, 0, 1, 64, 65, 0xFFFFFFF0, 0xFFFFFFEF, 0x3F800000, 0x3E22F983, 0x3C00, 0xC0800000, 0xFFF0)


class Case(NamedTuple):
    """One encoding to try: the ISA, the form, its bytes, and whether all it holds is meaningful."""

    isa: str
    form: str
    name: str
    code: bytes


def pack(isa: str, form: str, values: dict[str, int], prefix: int, tail: bytes = b"") -> bytes:
    """The bytes of ``form`` with these fields; ``prefix`` holds the leading bits."""
    word = prefix
    layout = layouts(isa)[form]
    for name, value in values.items():
        low, width = layout[name]
        word |= (value & ((1 << width) - 1)) << low
    highest = max(low for low, _ in layout.values())
    size = 4 if highest < 32 else 8 if highest < 64 else 16
    return word.to_bytes(size, "little") + tail


def _prefix(isa: str, form: str) -> int:
    """The leading bits of a form: those that all first words of the form share."""
    own = {
        "VOP3B": "VOP3",
        "VOP3_INTERP": "VOP3",
        "MFMA": "VOP3P",
        "F8F6F4": "VOP3P",
        "SMFMAC": "VOP3P",
        "GLOBAL": "FLAT",
        "SCRATCH": "FLAT",
    }.get(form, form)
    if form == "VOP3PX":
        (scale,) = (row for row in [table.named(isa, "VOP3P", "v_mfma_ld_scale_b32")] if row)
        first = forms_by_prefix(isa).index("VOP3P") << 23
        return first | scale.opcodes[isa] << 16 | first << 64
    return forms_by_prefix(isa).index(own) << 23


def _short_prefix(isa: str, form: str) -> int:
    prefixes = forms_by_prefix(isa)
    return prefixes.index(form) << 23


def forms_of(row: Row, isa: str) -> Iterator[tuple[str, int]]:
    """(Form, opcode) of all encodings of a row, but SDWA and DPP."""
    opcode = row.opcodes[isa]
    traits = TRAITS[isa]
    if row.encoding == "SMEM":
        yield ("SMRD" if "SMRD" in layouts(isa) else "SMEM"), opcode
    elif row.encoding == "VOP3":
        yield ("VOP3_INTERP" if "interp" in row.flags else "VOP3B" if "vop3b" in row.flags else "VOP3"), opcode
    elif row.encoding == "VOP3P":
        own = "SMFMAC" if "smfmac" in row.flags else "F8F6F4" if "f8f6f4" in row.flags else ""
        yield own or ("MFMA" if {"mfma", "accvgpr"} & row.flags else "VOP3P"), opcode
    else:
        yield row.encoding, opcode
        if "e64" in row.flags:
            base = {"VOPC": 0, "VOP2": 0x100, "VOP1": traits.vop3_of_vop1, "VINTRP": 0x270}
            if row.encoding != "VINTRP":
                yield ("VOP3B" if "vop3b" in row.flags else "VOP3"), base[row.encoding] + opcode
            elif traits.has_long_interpolation:
                yield "VOP3_INTERP", 0x270 + opcode


def _fields(row: Row, form: str) -> list[tuple[OperandSpec, str]]:
    """A row's operands with the fields that hold them; a scalar load's offset has two."""
    fields = [(spec, table.form(form)[spec.name].field) for spec in row.operands]
    return [(spec, "offset") for spec, field in fields if field == "soffset" and form == "SMEM"] + fields


def _base_values(row: Row, form: str, opcode: int, isa: str) -> dict[str, int]:
    values = {"op": opcode} if form != "EXP" else {}
    start = 8
    for spec, field in _fields(row, form):
        if field not in layouts(isa)[form] or field in values or field == "simm16":
            continue
        width = layouts(isa)[form][field][1]
        if field in ("srsrc", "ssamp", "sbase"):
            values[field] = 4
        elif field == "offset":
            values[field] = 0x10
        elif field == "attr":
            values[field] = 3
        elif field == "soffset":
            values[field] = 9
        elif field == "sdst" or spec.file == "s" or (spec.type == "mask" and spec.name != "S2"):
            values[field] = start
        elif spec.name == "S2" and spec.type == "mask":
            values[field] = 20
        elif spec.name == "PARAM":
            values[field] = 1
        elif spec.name == "IMM":
            values[field] = 9
        elif width == 9:
            values[field] = 256 + start
        else:
            values[field] = start
        start += 32 if {"mfma", "smfmac"} & row.flags else 8
    if form in ("SMEM", "SMRD") and "offset" in values:
        values["imm"] = 1
    if form in ("GLOBAL", "SCRATCH"):
        values |= {"saddr": 0x7F, "seg": 2 if form == "GLOBAL" else 1}
        if "sve" in layouts(isa)[form]:
            values["sve"] = 1
        if "atomic" in row.flags:
            del values["vdst"]  # not returning
    if form == "FLAT" and "atomic" in row.flags:
        del values["vdst"]
    if form == "VOP3P" and "mix" not in row.flags:
        values |= {"op_sel_hi": 3, "op_sel_hi2": 1}
    if form == "MFMA" and row.name.startswith("v_accvgpr_read"):
        values["acc"] = 1
    if form == "VOP3PX":
        values["abid"] = 1
    if form == "MIMG":
        values["dmask"] = 3 if "cmpswap" in row.name else 1
    if form == "EXP":
        values["en"] = 15
    if "gds" in row.flags:
        values["gds"] = 1
    if form in ("MUBUF", "MTBUF") and row.operands:
        values["offen"] = 1
    return values


_FRAGILE = ("F8F6F4", "VOP3PX")
"""Forms of which llvm-objdump does not survive factors that are no vector registers, or of no format, nor
literals."""


def _choices(field: str, width: int, form: str) -> tuple[int, ...]:
    if field in ("src0", "src1") and form in _FRAGILE:
        return (256, 300, 500)
    if field in ("src0", "src1", "src2") and width == 9:
        return (*SCALARS, *(CONSTANTS[:-1] if form in _FRAGILE else CONSTANTS), 256, 300, 511)
    if field in ("ssrc0", "ssrc1", "soffset") or (field == "vsrc0" and width == 9):
        return (*SCALARS, *CONSTANTS)
    if field == "sdst":
        return SCALARS
    if field in ("simm16", "offset0", "offset1", "offset"):
        return (0, 1, 0x7F, 0xFF, 0x3FF, 0xFFF, (1 << width) - 1, 1 << (width - 1), 0x1234 & ((1 << width) - 1))
    if field.endswith("_sel") and width == 3 and form.startswith("SDWA"):
        return tuple(range(7))  # llvm-mc does not survive 7
    if field in ("cbsz", "blgp") and form in _FRAGILE:
        return tuple(range(5))
    if field == "dst_unused":
        return (0, 1, 2)
    if width <= 4:
        return tuple(range(1 << width))
    if field == "dpp_ctrl":
        return (0xE4, 0x1B, 0x101, 0x10F, 0x111, 0x121, 0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143, 0x150)
    return tuple({0, 1, 2, 3, 7, (1 << width) - 1, 1 << (width - 1), (1 << width) - 2})


def _tail(row: Row, form: str, values: dict[str, int]) -> bytes:
    literal = any(spec.name == "K" for spec in row.operands)
    for field in ("src0", "ssrc0", "ssrc1"):
        if form in ("SOP2", "SOP1", "SOPC", "VOP1", "VOP2", "VOPC") and values.get(field) == 255:
            literal = literal or not (field == "ssrc1" and row.operands[-1].name == "IMM")
    if form == "SMRD" and values.get("offset") == 255 and not values.get("imm"):
        literal = True
    # Every value comes up: which one, the other fields decide.
    bits = LITERALS[sum(values.values()) % len(LITERALS)]
    return struct.pack("<I", bits) if literal else b""


def _used_fields(row: Row, form: str, isa: str) -> list[str]:
    """Fields that mean something for the row: its operands', and all that are no operands'."""
    fields = []
    own = {field for _, field in _fields(row, form)}
    others = {place.field for place in table.form(form).values()}
    for field in layouts(isa)[form]:
        if field == "op" or (field in others and field not in own):
            continue
        fields.append(field)
    return fields


def _extended(row: Row, isa: str) -> Iterator[str]:
    if not row.flags.isdisjoint(TRAITS[isa].sdwa):
        yield "SDWA_VOPC" if row.encoding == "VOPC" else "SDWA"
    if not row.flags.isdisjoint(TRAITS[isa].dpp):
        yield "DPP"


def _extended_base(row: Row, extended: str, isa: str) -> dict[str, int]:
    has_second = any(spec.name == "S1" for spec in row.operands)
    if extended == "DPP":
        control = 0x153 if any(spec.type.endswith("64") for spec in row.operands) else 0xE4
        return {"vsrc0": 40, "dpp_ctrl": control, "bank_mask": 15, "row_mask": 15}
    values = {"vsrc0": 40, "src0_sel": 6, "src1_sel": 6 if has_second else 0}
    if "dst_sel" in layouts(isa)[extended]:
        values |= {"dst_sel": 6, "dst_unused": 2} if extended == "SDWA" else {}
    return values


def systematic(isa: str) -> Iterator[Case]:
    """Every operation and form, each meaningful field in turn through its values."""
    for row in table.rows(isa):
        for form, opcode in forms_of(row, isa):
            base = _base_values(row, form, opcode, isa)
            prefix = _prefix(isa, form) if form != "VOP2" else 0
            yield Case(isa, form, row.name, pack(isa, form, base, prefix, _tail(row, form, base)))
            for field in _used_fields(row, form, isa):
                for choice in _choices(field, layouts(isa)[form][field][1], form):
                    if base.get(field, 0) != choice and field != "seg":
                        values = base | {field: choice}
                        code = pack(isa, form, values, prefix, _tail(row, form, values))
                        yield Case(isa, form, row.name, code)
        if row.encoding not in ("VOP1", "VOP2", "VOPC"):
            continue
        short = _base_values(row, row.encoding, row.opcodes[isa], isa)
        prefix = _short_prefix(isa, row.encoding) if row.encoding != "VOP2" else 0
        for extended in _extended(row, isa):
            values = short | {"src0": 250 if extended == "DPP" else 249}
            first = pack(isa, row.encoding, values, prefix)
            base = _extended_base(row, extended, isa)
            for field, (_, width) in layouts(isa)[extended].items():
                if field.startswith(("src1", "s1")) and not any(spec.name == "S1" for spec in row.operands):
                    continue
                for choice in (base.get(field, 0), *_choices(field, width, extended)):
                    word = int.from_bytes(pack(isa, extended, base | {field: choice}, 0), "little") >> 32
                    yield Case(isa, extended, row.name, first + struct.pack("<I", word))


def randomised(isa: str, count: int, seed: int) -> Iterator[Case]:
    """Random fields in every form; all bits of the form may be set, whether they mean something or not."""
    rng = random.Random(f"{isa}{seed}")
    rows = list(table.rows(isa))
    for _ in range(count):
        row = rng.choice(rows)
        form, opcode = rng.choice(list(forms_of(row, isa)))
        values = _base_values(row, form, opcode, isa)
        for field in _used_fields(row, form, isa):
            width = layouts(isa)[form][field][1]
            kind = rng.random()
            if field == "seg":
                continue
            if kind < 0.4:
                values[field] = rng.choice(_choices(field, width, form))
            elif kind < 0.6 and form not in _FRAGILE:
                values[field] = rng.getrandbits(width)
        prefix = _prefix(isa, form) if form != "VOP2" else 0
        yield Case(isa, form, row.name, pack(isa, form, values, prefix, _tail(row, form, values)))


# A crash of llvm-mc is not to cost a stack trace with symbols.
_ENVIRONMENT = os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1"}
_CLANG = (sys.executable, "-m", "ziglang", "clang")
_NEW_TOOLS = ("llvm-mc-22", "llvm-objdump-22")
_SENTINEL = "[0x5a,0x5a,0x80,0xbf]"


def _is_disassembled(isa: str) -> bool:
    """Whether llvm-mc's disassembler knows it."""
    return isa not in ONLY_ASSEMBLED


def llvm_texts(isa: str, cases: list[Case]) -> list[str | None]:
    """llvm-mc's text for each case; None where it rejects the bytes or finds more than one instruction in them.

    Some encodings crash it: those are found by halving, and count as rejected.
    """
    if isa in NEWER:
        return [line for at in range(0, len(cases), 2000) for line in _objdump_texts(isa, cases[at : at + 2000])]
    if len(cases) > 4000:
        return [line for first in range(0, len(cases), 4000) for line in llvm_texts(isa, cases[first : first + 4000])]
    lines = []
    for case in cases:
        lines += [f"[{','.join(f'{byte:#04x}' for byte in case.code)}]", _SENTINEL]
    command = ["llvm-mc", "-disassemble", "-arch=amdgcn", f"-mcpu={PROCESSORS[isa]}"]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False, env=_ENVIRONMENT
    )
    if done.returncode < 0 or "Stack dump" in done.stderr:
        half = len(cases) // 2
        return [None] if half == 0 else llvm_texts(isa, cases[:half]) + llvm_texts(isa, cases[half:])
    texts: list[str | None] = []
    current: list[str] = []
    for line in done.stdout.splitlines():
        word = line.strip()
        if not word or word.startswith("."):
            continue
        if word == "s_nop 0x5a5a":
            texts.append((current[0] or None) if len(current) == 1 else None)
            current = []
        else:
            # What it marks as an invalid operand it rejects for us.
            current.append(word if "/*" not in word else "")
    if len(texts) != len(cases):
        raise SystemExit(f"llvm-mc answered for {len(texts)} of {len(cases)} cases:\n{done.stderr[-1000:]}")
    for found in re.findall(r"<stdin>:(\d+):\d+: warning: invalid", done.stderr):
        texts[(int(found) - 1) // 2] = None
    return texts


def _objdump_texts(isa: str, cases: list[Case]) -> list[str | None]:
    """As `llvm_texts`, by objdump; after each case are nops enough for what takes more bytes than it has."""
    assembler, objdump = _NEW_TOOLS
    padding = bytes.fromhex("5a5a80bf") * 4
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "a.s"), Path(folder, "a.o")
        source.write_text("".join(f".byte {','.join(map(str, case.code + padding))}\n" for case in cases))
        processor = f"--mcpu={PROCESSORS[isa]}"
        command = [assembler, "--triple=amdgcn-amd-amdhsa", processor, "--filetype=obj", "-o", str(made), str(source)]
        subprocess.run(command, check=True, env=_ENVIRONMENT)
        command = [objdump, "--disassemble", processor, str(made)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=_ENVIRONMENT)
    if done.returncode:
        half = len(cases) // 2
        return [None] if half == 0 else _objdump_texts(isa, cases[:half]) + _objdump_texts(isa, cases[half:])
    found = {
        int(line[2], 16): (line[1].strip(), 4 * len(line[3].split()))
        for line in re.finditer(r"^\t(.*?)\s*// ([0-9A-F]{12}): ((?:[0-9A-F]{8} ?)+)", done.stdout, re.MULTILINE)
    }
    texts: list[str | None] = []
    address = 0
    for case in cases:
        line, size_bytes = found.get(address, ("", 0))
        # What it marks as an invalid operand it rejects for us, and what is data.
        is_whole = size_bytes == len(case.code) and "/*" not in line and not line.startswith(".")
        texts.append(line if is_whole else None)
        address += len(case.code) + len(padding)
    return texts


def our_text(case: Case) -> str | None:
    """Our text, or None where we reject the bytes or take fewer of them."""
    try:
        instruction = decode(case.code, 0, case.isa)
    except DecodeError:
        return None
    return text(instruction, case.isa) if instruction.size_bytes == len(case.code) else None


def assemble(isa: str, lines: list[str]) -> list[bytes | None]:
    """The bytes that clang's assembler makes of each line, None where it refuses the line."""
    result: list[bytes | None] = [None] * len(lines)
    left = list(range(len(lines)))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "a.s")
        while left:
            source.write_text("".join(f"{lines[index]}\n" for index in left))
            command = [
                *_CLANG, "-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu",
                PROCESSORS[isa], "-filetype", "asm", "-show-encoding", "-o", "-", str(source),
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            bad = {int(line) - 1 for line in re.findall(r"a\.s:(\d+):\d+: error", done.stderr)}
            if not bad:
                found = re.findall(r"encoding: \[([^\]]*)\]", done.stdout)
                if len(found) != len(left):
                    raise SystemExit(
                        f"the assembler answered for {len(found)} of {len(left)} lines\n{done.stderr[-1000:]}"
                    )
                for index, words in zip(left, found, strict=True):
                    if re.fullmatch(r"(0x[0-9a-f]{2},?)+", words):
                        result[index] = bytes(int(word, 16) for word in words.split(","))
                break
            left = [index for position, index in enumerate(left) if position not in bad]
    return result


_AGREEMENT = ("equal", "both reject", "equal but for bits without meaning")


def disassembled(isa: str, cases: list[Case], ours: list[str | None]) -> list[tuple[str, str | None]]:
    """What LLVM's disassembler says of each case: the kind of agreement, and its text."""
    judged = []
    for mine, other in zip(ours, llvm_texts(isa, cases), strict=True):
        if mine == other:
            kind = "equal" if mine else "both reject"
        else:
            kind = "different" if mine and other else "only we accept" if mine else "only LLVM accepts"
        judged.append((kind, other))
    return judged


def reassembled(isa: str, cases: list[Case], ours: list[str | None]) -> list[tuple[str, str | None]]:
    """What LLVM's assembler makes of our texts: the kind of agreement, and the bytes with what they mean to us."""
    judged: list[tuple[str, str | None]] = []
    for case, mine, code in zip(cases, ours, assemble(isa, [line or "s_nop 0" for line in ours]), strict=True):
        if mine is None:
            judged.append(("both reject", None))
        elif code == case.code:
            judged.append(("equal", mine))
        elif code is None:
            judged.append(("only we accept", None))
        else:
            reencoded = our_text(case._replace(code=code))
            is_same = reencoded is not None and plain(reencoded) == plain(mine)
            judged.append(
                ("equal but for bits without meaning" if is_same else "different", f"{code.hex()} {reencoded}")
            )
    return judged


def show_missing() -> None:
    """Print what LLVM's assembler takes for a generation and we do not decode there: rows that its column lacks."""
    texts: dict[str, None] = {}
    for isa in ISAS:
        for row in table.rows(isa):
            for form, opcode in forms_of(row, isa):
                values = _base_values(row, form, opcode, isa)
                prefix = _prefix(isa, form) if form != "VOP2" else 0
                code = pack(isa, form, values, prefix, _tail(row, form, values))
                line = our_text(Case(isa, form, row.name, code))
                if line is not None:
                    texts[line] = None
    for isa in ISAS:
        known = 0
        for line, code in zip(texts, assemble(isa, list(texts)), strict=True):
            if code is not None:
                known += 1
                reencoded = our_text(Case(isa, "", "", code))
                if reencoded is None or plain(reencoded).split()[0] != plain(line).split()[0]:
                    print(f"  {isa} {code.hex()} {line}: ours {reencoded}")
        print(f"{isa}: LLVM's assembler takes {known} of {len(texts)} texts")


def plain(line: str) -> str:
    """A text without the suffix that says which of two encodings an operation has."""
    return re.sub(r"^(\w+?)_e(32|64)\b", r"\1", line)


def write_golden(path: Path) -> None:
    """Two encodings of each operation and form, where LLVM and we agree, each at the oldest ISA that prints it so."""
    mc = subprocess.run(["llvm-mc", "--version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"LLVM version (\S+)", mc)
    clang = subprocess.run([*_CLANG, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    lines = [
        f"# ISA bytes text: gfx6, gfx7 and gfx942 as assembled by {clang}, the rest as disassembled by",
        f"# llvm-mc {number and number[1]}, gfx950 by llvm-objdump 22.",
        "# Written by python -m verification.isa_sweep --golden",
    ]
    known: dict[bytes, str] = {}
    for isa in ISAS:
        groups: dict[tuple[str, str], list[Case]] = {}
        for case in dict.fromkeys(systematic(isa)):
            groups.setdefault((case.form, case.name), []).append(case)
        chosen = []
        for (form, name), cases in groups.items():
            chosen += [cases[0], random.Random(form + name).choice(cases)]
        chosen = list(dict.fromkeys(chosen))
        ours = [our_text(case) for case in chosen]
        if not _is_disassembled(isa):
            reencoded = assemble(isa, [line or "s_nop 0" for line in ours])
            pairs = zip(ours, (code == case.code for case, code in zip(chosen, reencoded, strict=True)), strict=True)
        else:
            theirs = llvm_texts(isa, chosen)
            pairs = zip(ours, (mine == other for mine, other in zip(ours, theirs, strict=True)), strict=True)
        for case, (line, is_equal) in zip(chosen, pairs, strict=True):
            if line is not None and is_equal and known.get(case.code) != line:
                known[case.code] = line
                lines.append(f"{isa} {case.code.hex()} {line}")
    path.write_text("\n".join(lines) + "\n")
    print(f"{path}: {len(lines) - 3} texts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--isa", action="append", choices=ISAS, help="only this one (may be repeated)")
    parser.add_argument("--random", type=int, default=20000, metavar="N", help="random encodings for each ISA")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, metavar="N", help="disagreements shown for each kind and form")
    parser.add_argument("--kind", default="", help="show only this kind of disagreement")
    parser.add_argument("--assemble", action="store_true", help="assemble our texts for gfx8 and later, too")
    parser.add_argument("--missing", action="store_true", help="what the assembler knows and the tables lack")
    parser.add_argument("--golden", type=Path, help="write the golden texts of the tests")
    options = parser.parse_args()
    isas = options.isa or ISAS
    needed = [*(("llvm-mc",) if set(isas) - set(NEWER) else ()), *(_NEW_TOOLS if set(isas) & set(NEWER) else ())]
    for program in needed:
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed (Debian: apt install llvm; apt.llvm.org has newer ones)")
    if options.missing:
        show_missing()
        return
    if options.golden:
        write_golden(options.golden)
        return
    for isa in isas:
        cases = list(dict.fromkeys([*systematic(isa), *randomised(isa, options.random, options.seed)]))
        ours = [our_text(case) for case in cases]
        use_assembler = options.assemble or not _is_disassembled(isa)
        judged = reassembled(isa, cases, ours) if use_assembler else disassembled(isa, cases, ours)
        kinds: Counter[str] = Counter()
        shown: Counter[tuple[str, str]] = Counter()
        for case, mine, (kind, other) in zip(cases, ours, judged, strict=True):
            kinds[kind] += 1
            shown[kind, case.form] += 1
            wanted = kind not in _AGREEMENT and options.kind in ("", kind)
            if wanted and shown[kind, case.form] <= options.show:
                print(f"  {isa} {case.form} {kind}: {case.code.hex()}\n      ours {mine}\n      LLVM {other}")
        print(f"{isa}: {len(cases)} encodings, " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
        forms = Counter({key: n for key, n in shown.items() if key[0] not in _AGREEMENT})
        for (kind, form), count in sorted(forms.items()):
            print(f"    {kind:18} {form:12} {count}")


if __name__ == "__main__":
    main()

"""Whether matrix instructions take and put their elements where AMD's matrix instruction calculator says, in as many
cycles as it says.

    python -m verification.matrix_layouts --checkout DIR [--target gfx942] [--only smfmac]

DIR is a checkout of ROCm/amd_matrix_instruction_calculator. Registers hold random whole numbers; the calculator says
which of them are the elements of A, B, C, D and (of sparse instructions) of the compression indices K, with each value
of CBSZ, ABID and BLGP; NumPy multiplies these, and both the translator's and the interpreter's D must hold the result.
Exit status 1 if any differ, or an instruction is only in one list.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any, Final

import numpy as np

import headwater
from headwater.chips.gcn_isas import ISA_OF_TARGET
from headwater.emulate.gcn.reference_matrix import multiply
from headwater.emulate.wave.layout import LANES
from headwater.emulate.wave.registers import number
from headwater.isa.gcn import table
from headwater.isa.gcn.cost import PASS_CYCLES
from headwater.isa.gcn.decode import decode
from headwater.isa.gcn.model import Register
from headwater.opencl.gcn_build import assemble
from verification.isa_instructions import _FRAME, CHIPS
from verification.isa_sweep import assemble as encoded

Array = Any
NUMBERS: Final = np.array([-2, -1, 0, 1, 2, 3])
FACTORS, ADDEND, RESULT = (8, 24), 64, 32
"""The first registers of A and B, of C (or of the indices of a sparse A) and of D."""

_EIGHT_BITS: Final = {"amd_fp8": (0x40, 0x48, 0x4C), "amd_bf8": (0x40, 0x44, 0x46)}
"""1, 2 and 3 in the formats of CDNA3 ("fnuz": exponent bias 8 and 16)."""


def codes(kind: str) -> Array:
    """`NUMBERS` as bits of a type of the calculator's."""
    if kind in _EIGHT_BITS:
        one, two, three = _EIGHT_BITS[kind]
        return np.array([two | 0x80, one | 0x80, 0, one, two, three], np.uint64)
    if kind in ("int8", "int32"):
        return NUMBERS.astype(np.int64).view(np.uint64) & np.uint64(0xFF if kind == "int8" else 0xFFFFFFFF)
    if kind == "bf16":
        return (NUMBERS.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
    float_, whole = {"fp16": (np.float16, np.uint16), "fp64": (np.float64, np.uint64)}.get(
        kind, (np.float32, np.uint32)
    )
    return NUMBERS.astype(float_).view(whole).astype(np.uint64)


def width(kind: str) -> int:
    return {"amd_fp8": 8, "amd_bf8": 8, "int8": 8, "fp16": 16, "bf16": 16, "fp64": 64}.get(kind, 32)


def calculator(checkout: Path) -> Any:
    """The calculator as a module; what it prints tables with is not needed."""
    sys.modules.setdefault("tabulate", types.ModuleType("tabulate")).__dict__.setdefault("tabulate", None)
    spec = importlib.util.spec_from_file_location("matrix_calculator", checkout / "matrix_calculator.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{checkout} has no matrix_calculator.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Instruction:
    """An instruction as the calculator knows it, with modifiers."""

    def __init__(self, module: Any, name: str, info: Any, cbsz: int, abid: int, blgp: int) -> None:
        self.module, self.name, self.info = module, name, info
        self.cbsz, self.abid, self.blgp = cbsz, abid, blgp
        self.calculate = module.InstCalcGfx9(name, info, LANES)
        self.rows, self.columns, self.depth, self.blocks = (info[key] for key in ("m", "n", "k", "blocks"))
        self.negates = info["in_type"] == "fp64"  # CDNA3's BLGP of doubles; CDNA2's calculator has none

    def places(self, matrix: str) -> tuple[Array, Array, Array]:
        """Register (of dwords), lane and first bit of each element: of A by block, row and depth, of B by block, depth
        and column, of C and D by block, row and column; of K as of A."""
        rows, columns = {"a": (self.rows, self.depth), "k": (self.rows, self.depth)}.get(
            matrix, (self.depth, self.columns) if matrix == "b" else (self.rows, self.columns)
        )
        found = []
        for block, y, x in itertools.product(range(self.blocks), range(rows), range(columns)):
            i, j, k = {"a": (y, 0, x), "k": (y, 0, x), "b": (0, x, y)}.get(matrix, (y, x, 0))
            cbsz, abid = (self.cbsz, self.abid) if matrix in "ak" else (0, 0)
            blgp = self.blgp if matrix == "b" and not self.negates else 0
            _, register, lanes = self.calculate._get_reg_lanes(matrix, i, j, k, block, cbsz, abid, blgp, 0)
            match = re.fullmatch(r"[a-z]*\[?(\d+)(?::(\d+))?\]?\{?\w*\}?(?:\.?\[(\d+):(\d+)\])?", register)
            if match is None:
                raise SystemExit(f"{self.name}: no register {register!r}")
            bit = int(match[4] or 0)
            if self.info["sparse"] and matrix in "ak":  # a place is given for two elements, the first in the low bits
                bit += k // 2 % 2 * (2 if matrix == "k" else width(self.info["in_type"]))
            found.append((min(int(match[1]), int(match[2] or match[1])), lanes[0], bit))
        first, second, third = np.array(found).T.reshape(3, self.blocks, rows, columns)
        return first, second, third

    def values(self, registers: Array, matrix: str, kind: str) -> Array:
        """The elements' numbers."""
        register, lane, bit = self.places(matrix)
        raw = registers[register, lane].astype(np.uint64)
        if width(kind) == 64:
            raw |= registers[register + 1, lane].astype(np.uint64) << np.uint64(32)
        raw = raw >> bit.astype(np.uint64)
        raw &= np.uint64((1 << width(kind)) - 1)
        known = {int(code): int(value) for code, value in zip(codes(kind), NUMBERS, strict=True)}
        return np.vectorize(known.__getitem__)(raw)

    def product(self, a: Array, b: Array, c: Array) -> Array:
        """D, by block, row and column, of the registers of A, B and C (of a sparse A: of B, indices and D)."""
        info = self.info
        right = self.values(b, "b", info["in_type_src1"])
        left = self.values(a, "a", info["in_type"])
        if info["sparse"]:
            register, lane, bit = self.places("k")
            chosen = c[0][register, lane] >> bit & 3
            # Depths 4g to 4g + 3 have two elements: 4g and 4g + 1 stand for the first, the others for the second.
            dense = np.zeros_like(left)
            for depth in range(0, self.depth, 2):
                at = depth // 4 * 4 + chosen[:, :, depth]
                block, row = np.indices(at.shape)
                dense[block, row, at] += left[:, :, depth]
            return dense @ right + self.values(c[1], "d", info["out_type"])
        addend = self.values(c[0], "c", info["out_type"])
        if self.negates:
            left, right, addend = (x * (-1) ** (self.blgp >> n & 1) for n, x in enumerate((left, right, addend)))
        return left @ right + addend

    def text(self, a_regs: int, b_regs: int, d_regs: int, result: str) -> str:
        def of(file: str, first: int, count: int) -> str:
            return f"{file}[{first}:{first + count - 1}]" if count > 1 else f"{file}{first}"

        third = f"v{ADDEND}" if self.info["sparse"] else of(result, RESULT if result == "a" else ADDEND, d_regs)
        factors = of("v", FACTORS[0], a_regs), of("v", FACTORS[1], b_regs)
        words = [f"{self.name} {', '.join((of(result, RESULT, d_regs), *factors, third))}"]
        words += [f"cbsz:{self.cbsz}"] * bool(self.cbsz) + [f"abid:{self.abid}"] * bool(self.abid)
        if self.blgp and self.negates:
            words.append(f"neg:[{','.join(str(self.blgp >> n & 1) for n in range(3))}]")
        elif self.blgp:
            words.append(f"blgp:{self.blgp}")
        return " ".join(words)


def modified(module: Any, name: str, info: Any, target: str) -> list[Instruction]:
    """An instruction with each modifier that it has."""
    found = [(0, 0, 0)]
    if info["sparse"]:
        sets = module.InstCalcGfx9(name, info, LANES).get_num_compression_sets()
        found += [(0, abid, 0) for abid in range(1, sets)] + [(1, 1, 0)]
    elif info["cbsz_abid"]:
        found += [
            (cbsz, abid, 0)
            for cbsz in range(1, int(info["blocks"]).bit_length())
            for abid in sorted({0, 1, (1 << cbsz) - 1})
        ]
    if info["blgp"]:
        found += [(0, 0, blgp) for blgp in range(1, 8)]
    if info["in_type"] == "fp64" and target == "gfx942":
        found += [(0, 0, blgp) for blgp in (1, 2, 4, 7)]
    return [Instruction(module, name, info, *one) for one in found]


def drawn(kind: str, count: int, rng: np.random.Generator) -> Array:
    """``count`` registers of random elements."""
    size = width(kind)
    if size == 64:
        raw = rng.choice(codes(kind), (count // 2, LANES))
        return np.stack([raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32)], 1).reshape(count, LANES).astype(np.uint32)
    parts = [rng.choice(codes(kind), (count, LANES)) << np.uint64(at) for at in range(0, 32, size)]
    return np.bitwise_or.reduce(parts).astype(np.uint32)


def indices(rng: np.random.Generator) -> Array:
    """A register of compression indices: of each pair the first is the smaller."""
    pairs = rng.choice([a | b << 2 for a in range(4) for b in range(a + 1, 4)], (8, LANES)).astype(np.uint32)
    return np.bitwise_or.reduce([pairs[n] << np.uint32(4 * n) for n in range(8)])


def check(name: str, found: list[Instruction], target: str, rng: np.random.Generator) -> list[str]:
    """What differs, in words."""
    info, isa = found[0].info, ISA_OF_TARGET[target]
    result = "a" if target == "gfx908" else "v"
    sparse = int(info["sparse"])
    of_a = max(width(info["in_type"]) * info["m"] * info["k"] * info["blocks"] // (LANES * 32) >> sparse, 1)
    of_b = max(width(info["in_type_src1"]) * info["n"] * info["k"] * info["blocks"] // (LANES * 32), 1)
    of_d = width(info["out_type"]) * info["m"] * info["n"] * info["blocks"] // (LANES * 32)
    a, b = drawn(info["in_type"], of_a, rng), drawn(info["in_type_src1"], of_b, rng)
    c = drawn(info["out_type"], of_d, rng)
    third = (indices(rng)[None], c) if sparse else (c, c)
    texts = [one.text(of_a, of_b, of_d, result) for one in found]
    made = encoded(isa, texts)
    if None in made:
        return [
            f"{text}: LLVM's assembler does not take it" for text, code in zip(texts, made, strict=True) if not code
        ]
    blocks = [(FACTORS[0], a), (FACTORS[1], b), (RESULT, c), (ADDEND, third[0])]
    lines = []
    chip = translated(found, [code for code in made if code], blocks, of_d, target, result)
    for one, text, code, on_chip in zip(found, texts, made, chip, strict=True):
        want = one.product(a, b, third)
        vectors = np.zeros((512, LANES), np.uint32)
        for first, registers in blocks:
            vectors[first : first + len(registers)] = registers
        assert code is not None
        instruction = decode(code + bytes(8), 0, isa)
        at = number(Register(result, RESULT, of_d))
        vectors[at : at + of_d] = c
        multiply(vectors, instruction)
        for who, registers in (("translated", on_chip), ("interpreted", vectors[at : at + of_d])):
            try:
                got = _numbers(one, registers)
            except ValueError as error:
                lines.append(f"{text}: {who}, {error}")
                continue
            if (got != want).any():
                where = np.argwhere(got != want)[0].tolist()
                lines.append(f"{text}: {who}, {(got != want).sum()} of {got.size} differ, the first at {where}")
    return lines


def _numbers(one: Instruction, registers: Array) -> Array:
    register, lane, _ = one.places("d")
    raw = np.ascontiguousarray(registers[register, lane])
    kind = one.info["out_type"]
    if kind == "fp64":
        raw = raw.astype(np.uint64) | registers[register + 1, lane].astype(np.uint64) << np.uint64(32)
        return raw.view(np.float64)
    return raw.view(np.int32 if kind == "int32" else np.float32)


def translated(
    found: list[Instruction], made: list[bytes], blocks: list[tuple[int, Array]], count: int, target: str, result: str
) -> Array:
    """D's registers after each instruction, on a simulated chip."""
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "v_lshlrev_b32 v0, 2, v0", "v_mov_b32 v1, v0"]
    lines += ["s_waitcnt lgkmcnt(0)"]
    total = 0
    move = "v_accvgpr_write_b32 a{0}, v{0}" if result == "a" else ""
    for first, registers in blocks:
        for n in range(len(registers)):
            lines += [f"global_load_dword v{first + n}, v0, s[4:5]", "v_add_u32 v0, 0x100, v0"]
            total += 1
    lines += ["s_waitcnt vmcnt(0)"]
    lines += [f"v_mov_b32 v{128 + n}, v{RESULT + n}" for n in range(count)]
    for code in made:
        words = [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]
        for n in range(count):
            lines += [f"v_mov_b32 v{RESULT + n}, v{128 + n}", *([move.format(RESULT + n)] if move else [])]
        lines += ["s_nop 7", *(f".long {word:#x}" for word in words), *["s_nop 15"] * 2]
        for n in range(count):
            lines += [f"v_accvgpr_read_b32 v{RESULT + n}, a{RESULT + n}"] if move else []
            lines += [f"global_store_dword v1, v{RESULT + n}, s[6:7]", "v_add_u32 v1, 0x100, v1"]
    text = _FRAME.format(target=target, body="\n".join(lines), mode="", lds=0)
    accumulators = "" if target == "gfx908" else "\n.amdhsa_accum_offset 256"
    text = text.replace(".amdhsa_next_free_vgpr 64", f".amdhsa_next_free_vgpr 256{accumulators}")
    data = np.concatenate([registers for _, registers in blocks])
    results = np.zeros((len(made), count, LANES), np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrices.hsaco"
        path.write_bytes(assemble(text.replace(".vgpr_count: 64", ".vgpr_count: 256"), "matrices.s", target).code)
        headwater.compile(path, device=CHIPS[target]).k[(LANES,), (LANES,)](data.reshape(-1), results.reshape(-1))
    return results


ARCHITECTURES: Final = {"gfx908": "cdna1", "gfx90a": "cdna2", "gfx942": "cdna3"}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.matrix_layouts", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="of ROCm/amd_matrix_instruction_calculator")
    parser.add_argument("--target", default="gfx942", choices=ARCHITECTURES)
    parser.add_argument("--only", default="", help="instructions with this in their names")
    options = parser.parse_args()
    module = calculator(options.checkout)
    listed = module.dict_insts[ARCHITECTURES[options.target]]
    ours = {
        row.name: row
        for row in table.rows(ISA_OF_TARGET[options.target])
        if row.name.startswith(("v_mfma", "v_smfmac"))
    }
    lines = [f"{name}: only {'here' if name in ours else 'in the calculator'}" for name in sorted(ours.keys() ^ listed)]
    tried = 0
    rng = np.random.default_rng(1)
    for name, info in listed.items():
        if name not in ours or options.only not in name:
            continue
        cycles = ours[name].cost.number * PASS_CYCLES
        if cycles != info["cycles"]:
            lines.append(f"{name}: {cycles} cycles, the calculator's {info['cycles']}")
        found = modified(module, name, info, options.target)
        tried += len(found)
        lines += check(name, found, options.target, rng)
    print("\n".join(lines), end="\n" * bool(lines))
    print(f"{options.target}: {len(listed)} instructions, {tried} with their modifiers, {len(lines)} differences")
    return 1 if lines or not tried else 0


if __name__ == "__main__":
    sys.exit(main())

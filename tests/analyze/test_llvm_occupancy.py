"""Registers and occupancy against what LLVM writes into its assembly, over many kernels and resource combinations."""

import re
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from headwater import chips
from headwater.chips.occupancy import Needs, occupancy
from headwater.isa.gcn.codeobject import load
from headwater.opencl import clang
from headwater.opencl.gcn import compile_code_object
from headwater.opencl.platforms import GCN_TRIPLE

KERNELS = Path(__file__).resolve().parents[1] / "opencl" / "kernels"
FACT = re.compile(r"^; (TotalNumVgprs|NumVgprs|TotalNumSgprs|LDSByteSize|Occupancy): (\d+)", re.MULTILINE)
NAME = re.compile(r"^\s*\.amdhsa_kernel (\w+)$", re.MULTILINE)

GROUPS = (64, 128, 192, 256, 512, 1024)
LDS_DWORDS = (0, 16, 300, 1100, 3000, 8000)
FLOATS = (4, 9, 14, 20, 27, 42)


def synthetic(every=1):
    """216 kernels, or a part of them: each work-item holds so many floats at once, each group so much local memory."""
    text = []
    for group in GROUPS[::every]:
        for dwords in LDS_DWORDS[::every]:
            for floats in FLOATS:
                name = f"k{group}_{dwords}_{floats}"
                local = f"local float l[{dwords}]; l[get_local_id(0) % {dwords}] = a[0]; barrier(1);" if dwords else ""
                use = f"s += l[(get_local_id(0) * 7) % {dwords}];" if dwords else ""
                text.append(
                    f"__attribute__((reqd_work_group_size({group},1,1)))\nkernel void {name}(global volatile float "
                    f"*a) {{\n"
                    f" int i = get_global_id(0) * {floats}; float v[{floats}], s = 0; {local}\n"
                    f' _Pragma("unroll") for (int k = 0; k < {floats}; k++) v[k] = a[i + k];\n'
                    f' _Pragma("unroll") for (int k = 0; k < {floats}; k++) a[i + k] = v[{floats} - 1 - k] * v[k];\n'
                    f" {use} a[i] = s;\n}}\n"
                )
    return "".join(text)


def llvm_says(source, target):
    """What LLVM's own assembly printer counts: kernel -> fact -> number."""
    ir = compile_code_object(source, "k.cl", "", target, emit="ir").code
    flags = [
        "-Xclang",
        "-disable-llvm-passes",
        "-x",
        "ir",
        "-target",
        GCN_TRIPLE,
        f"-mcpu={target}",
        "-nogpulib",
        "-S",
        "-O3",
        "-fverbose-asm",
        "-mllvm",
        "-enable-tbaa=0",  # as Headwater has it, see `headwater.llvm.modules`
    ]
    done = clang.run_clang([*flags, "-Wno-unused-command-line-argument", "-o", "-", "-"], ir)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    names = [match[1] for match in NAME.finditer(text)]
    facts = {}
    for name, part in zip(names, NAME.split(text)[2::2], strict=True):
        found = {}
        for fact, number in FACT.findall(part):
            found.setdefault(fact, int(number))
        facts[name] = found
    return facts


def waves(chip, needs):
    return occupancy(chip, needs).wavefronts_per_simd


def compare(source, target, chip_name):
    """LLVM takes the least of what registers and what LDS and the work-group allow, each for itself. A work-group of
    more wavefronts than there are SIMDs has several on each, which come and go together: then fewer may fit, as AMD's
    lecture on GFX9 has it, and as `occupancy` says."""
    chip = chips.find(chip_name)
    assert chip.target == target
    if target == "gfx600":
        # LLVM takes what a work-group can have there for what a compute unit has, which is twice as much (AMD, Southern
        # Islands Series Instruction Set Architecture, "Local Data Share": 64 KB, 32 KB a work-group).
        local = chip.local_memory
        assert (local.bytes, local.work_group_bytes) == (65536, 32768)
        chip = replace(chip, local_memory=replace(local, bytes=32768))
    facts = llvm_says(source, target)
    kernels = load(compile_code_object(source, "k.cl", "", target).code, "k").kernels
    assert set(kernels) == set(facts)
    for name, fact in facts.items():
        kernel = kernels[name]
        vgprs, sgprs, lds = kernel.vgpr_count, kernel.sgpr_count, kernel.group_segment_bytes
        total = fact.get("TotalNumVgprs", fact["NumVgprs"])
        assert (vgprs, sgprs, lds) == (total, fact["TotalNumSgprs"], fact["LDSByteSize"]), name
        groups = [prod(kernel.reqd_group_size)] if kernel.reqd_group_size else range(64, 257, 64)
        whole = max(waves(chip, Needs(group, max(1, vgprs), sgprs, lds)) for group in groups)
        apart = min(waves(chip, Needs(64, max(1, vgprs), sgprs)), max(waves(chip, Needs(g, 1, 0, lds)) for g in groups))
        assert apart == fact["Occupancy"], (name, vgprs, sgprs, lds)
        assert whole == apart if max(groups) <= 256 else whole <= apart, (name, vgprs, sgprs, lds)
    return len(facts)


@pytest.mark.slow
def test_resources_of_many_sizes_on_gfx900():
    assert compare(synthetic(), "gfx900", "vega64") == 216


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "chip"),
    [("gfx600", "hd7970"), ("gfx702", "r9-290x"), ("gfx803", "rx480"), ("gfx908", "mi100"), ("gfx90a", "mi250x")],
)
def test_resources_on_other_chips(target, chip):
    assert compare(synthetic(every=2), target, chip) == 54


@pytest.mark.parametrize(
    ("target", "chip"), [("gfx900", "vega64"), ("gfx906", "radeon-vii"), ("gfx908", "mi100"), ("gfx90a", "mi250x")]
)
@pytest.mark.slow
@pytest.mark.parametrize("file", ["linear_algebra.cl", "memory.cl"])
def test_kernels_of_the_suite(file, target, chip):
    assert compare((KERNELS / file).read_text(), target, chip) >= 5

"""Input: OpenCL kernels. Output: objects that LLVM's r600 back end makes of them, for `benchmarks.vliw_code`.

``python -m benchmarks.llvm_r600 --kernels DIR --objects DIR [--device hd5870]``

LLVM gets what our compiler gets: the kernel optimised, with our device library. Work-item numbers become its
intrinsics, the global offset 0. What it cannot compile, or dies of, has no object and is told.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from headwater import chips
from headwater.chips import Chip
from headwater.errors import HeadwaterError

_NUMBERS = {
    "group_id": "tgid",
    "local_id": "tidig",
    "local_size": "local.size",
    "num_groups": "ngroups",
    "global_size": "global.size",
}
"""Our functions of the work-item's numbers and LLVM's intrinsics (IntrinsicsAMDGPU.td, ``r600.read.*``)."""
_BARRIER = "llvm.r600.group.barrier"
_SECONDS = 120


def optimised(path: Path, chip: Chip) -> str:
    """The IR of a file's kernels, as our translation to IL gets it."""
    from headwater.opencl import clang, codegen_vliw
    from headwater.opencl.platforms import vliw

    assert chip.vliw is not None
    groups = chip.vliw.shared_local_memory
    source = path.read_text(encoding="utf-8")
    front = clang.compile_to_ir(source, path.name, "", debug=False, target=vliw(work_groups=groups).clang)
    abilities = codegen_vliw.LoweringFeatures(
        work_groups=groups,
        fused=chip.rates.float32_fma > 0,
        fused_doubles=chip.vliw.fused_doubles,
        doubles=chip.has_float64,
        bit_counts=chip.vliw.bit_operations,
        exact=False,
    )
    return codegen_vliw.compile(front.ir, list(front.kernels), path.name, abilities, True)


def for_llvm(ir: str) -> str:
    """The IR with LLVM's intrinsics in the place of our functions. HeadwaterError where one has no such thing."""

    def number(match: re.Match[str]) -> str:
        name = _NUMBERS.get(match[1])
        return match[0] if name is None else f"@llvm.r600.read.{name}.{'xyz'[int(match[2])]}("

    ir = re.sub(r"@__hw_vliw_(\w+?)_([012])\(", number, ir)
    ir = re.sub(r"(%\S+ = )(?:tail )?call i32 @__hw_vliw_global_offset_\d\(\)[^\n]*", r"\1add i32 0, 0", ir)
    ir = re.sub(r"(?:tail )?call void @__hw_vliw_barrier\([^)]*\)", f"call void @{_BARRIER}()", ir)
    ir = re.sub(r"declare [^\n]*@__hw_vliw_barrier[^\n]*", f"declare void @{_BARRIER}() convergent", ir)
    ir = re.sub(r"(declare i32 @llvm\.r600\.read\.[^\n]*\(\))[^\n]*", r"\1", ir)
    kept: list[str] = []
    for line in ir.splitlines():
        if not (line.startswith("declare i32 @llvm.r600.read") and line in kept):
            kept.append(line)
    left = sorted(set(re.findall(r"call [^\n]*@(__hw_\w+)", ir)))
    if left:
        raise HeadwaterError(f"LLVM has nothing for {', '.join(left)}")
    return "\n".join(kept)


def compile_one(path: Path, out: Path, chip: Chip) -> None:
    """One file's object; LLVM may end the process."""
    import llvmlite.binding as llvm

    ir = for_llvm(optimised(path, chip))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(ir)
    machine = llvm.Target.from_triple("r600-unknown-unknown").create_target_machine(cpu=chip.target, opt=3)
    out.write_bytes(machine.emit_object(module))


def main() -> int:
    """Compile every file in a process of its own; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llvm_r600", description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=Path, required=True, help="a folder of OpenCL C files")
    parser.add_argument("--objects", type=Path, required=True, help="where the objects go")
    parser.add_argument("--device", default="hd5870", help="the chip (default: hd5870)")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    chip = chips.find(chosen.device)
    if chosen.one is not None:
        compile_one(chosen.one, chosen.objects / f"{chosen.one.stem}.{chip.target}.o", chip)
        return 0
    chosen.objects.mkdir(parents=True, exist_ok=True)
    made = 0
    for path in sorted(chosen.kernels.glob("*.cl")):
        command = [sys.executable, "-m", "benchmarks.llvm_r600", *sys.argv[1:], "--one", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        made += done.returncode == 0
        if done.returncode:
            (chosen.objects / f"{path.stem}.{chip.target}.o").unlink(missing_ok=True)
            said = [line for line in done.stderr.splitlines() if line.strip()] or [f"status {done.returncode}"]
            print(f"{path.stem:24} {said[-1].strip()[:110]}")
    print(f"{made} objects in {chosen.objects}")
    return 0 if made else 1


if __name__ == "__main__":
    raise SystemExit(main())

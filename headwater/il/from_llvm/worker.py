"""Front-end IR of a program passes in; its kernels as IL pass out. Runs in the compiler process, as LLVM may abort."""

from __future__ import annotations

from headwater.chips import Chip
from headwater.errors import SourceError, Span
from headwater.il.from_llvm import Kernel, Reason
from headwater.il.from_llvm.drawing import draws
from headwater.il.from_llvm.translate import translate
from headwater.il.printer import text as text_of
from headwater.opencl import codegen_vliw
from headwater.opencl.checked import without_speculation
from headwater.opencl.kernels import KernelInfo
from headwater.opencl.memory_limits import MemoryLimitError
from headwater.opencl.printf_vliw import with_records


def kernels(
    ir: str,
    infos: dict[str, KernelInfo],
    filename: str,
    chip: Chip,
    *,
    exact: bool,
    strength_reduction: bool,
    checked: bool,
) -> dict[str, Kernel]:
    """Optimise the module and translate each kernel. ``exact``: float's quotients and roots, see `Abilities`;
    ``strength_reduction``: of the loops' indices; ``checked``: see `headwater.opencl.checked`."""
    features = chip.vliw
    abilities = codegen_vliw.Abilities(
        work_groups=features.shared_local_memory,
        fused=chip.rates.float32_fma > 0,
        fused_doubles=features.fused_doubles,
        doubles=chip.has_float64,
        bit_counts=features.bit_operations,
        exact=exact,
    )
    drawing = draws(ir)
    ir = without_speculation(ir) if checked else ir
    # Chips without atomic operations refuse printf where it is called.
    ir, formats = with_records(ir) if features.unordered_views else (ir, ())
    text = codegen_vliw.compile(ir, [i.symbol for i in infos.values()], filename, abilities, strength_reduction)
    found: dict[str, Kernel] = {}
    for name, info in infos.items():
        try:
            made = translate(text, info, chip, filename, drawing=drawing)
        except SourceError as error:
            at = error.span or Span(filename)
            space = error.space if isinstance(error, MemoryLimitError) else ""
            why = Reason(error.message, at.line, error.hint, at.column, space)
            found[name] = Kernel(info, "", (), b"", 0, (), (), why)
            continue
        before = 1 + len(made.program.declarations)  # lines without code: the first and the declarations
        lines = (*([0] * before), *(instruction.line for instruction in made.program.body), 0)
        printed = formats if made.prints else ()
        known = made.slots, made.data, made.local_bytes, lines, printed
        found[name] = Kernel(info, text_of(made.program), *known, written=made.written)
    return found

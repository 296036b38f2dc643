"""Input: front-end IR of a program. Output: its kernels as IL. Runs in the compiler process, as LLVM may abort."""

from __future__ import annotations

from headwater.chips import Chip
from headwater.errors import SourceError, Span
from headwater.il.from_llvm import IlKernel, Reason
from headwater.il.from_llvm.drawing import draws
from headwater.il.from_llvm.translate import translate
from headwater.il.printer import text as text_of
from headwater.llvm.ir import Module
from headwater.llvm.text import has_findings
from headwater.opencl import codegen_vliw
from headwater.opencl.checked import with_definedness, with_printing, without_speculation
from headwater.opencl.kernels import KernelInfo
from headwater.opencl.memory_limits import MemoryLimitError
from headwater.opencl.printf_vliw import with_records


def kernels(
    ir: str,
    infos: dict[str, KernelInfo],
    filename: str,
    chip: Chip,
    tables: dict[str, bytes],
    *,
    exact: bool,
    strength_reduction: bool,
    checked: bool,
) -> dict[str, IlKernel]:
    """Optimise the module and translate each kernel. ``tables``: what constants hold that the IR only declares, see
    `headwater.opencl.tables`; ``exact``: float's quotients and roots, see `LoweringFeatures`;
    ``strength_reduction``: of the loops' indices; ``checked``: see `headwater.opencl.checked`."""
    features = chip.vliw
    abilities = codegen_vliw.LoweringFeatures(
        work_groups=features.shared_local_memory,
        fused=chip.rates.float32_fma > 0,
        fused_doubles=features.fused_doubles,
        doubles=chip.has_float64,
        bit_counts=features.bit_operations,
        exact=exact,
    )
    source = Module(ir)
    drawing = draws(source.declares)
    symbols = [info.symbol for info in infos.values()]

    def compiled(program: Module) -> tuple[str, tuple[str, ...]]:
        # Chips without atomic operations refuse printf where it is called.
        formats = with_records(program) if features.unordered_views else ()
        return codegen_vliw.compile(str(program), symbols, filename, abilities, strength_reduction), formats

    def translated(text: str, formats: tuple[str, ...]) -> dict[str, IlKernel]:
        module = Module(text)
        return {
            name: _kernel(module, formats, name, info, filename, chip, tables, drawing) for name, info in infos.items()
        }

    if not checked:
        return translated(*compiled(source))
    without_speculation(source)
    if not features.unordered_views:
        return translated(*compiled(source))
    ir = str(source)
    followed = str(with_definedness(source, symbols, codegen_vliw.pass_builder()))
    made = compiled(Module(followed))
    if has_findings(made[0]):
        made = compiled(Module(with_printing(followed)))
    found = translated(*made)
    if any(kernel.refused for kernel in found.values()):  # perhaps for what is followed
        plain = translated(*compiled(Module(ir)))
        found = {name: plain[name] if kernel.refused else kernel for name, kernel in found.items()}
    return found


def _kernel(
    module: Module,
    formats: tuple[str, ...],
    name: str,
    info: KernelInfo,
    filename: str,
    chip: Chip,
    tables: dict[str, bytes],
    drawing: bool,
) -> IlKernel:
    try:
        made = translate(module, info, chip, filename, tables, drawing=drawing)
    except SourceError as error:
        at = error.span or Span(filename)
        space = error.space if isinstance(error, MemoryLimitError) else ""
        why = Reason(error.message, at.line, error.hint, at.column, space)
        return IlKernel(info, "", (), b"", 0, (), (), why)
    before = 1 + len(made.program.declarations)  # lines without code: the first and the declarations
    lines = (*([0] * before), *(instruction.line for instruction in made.program.body), 0)
    printed = formats if made.prints else ()
    known = made.slots, made.data, made.local_bytes, lines, printed
    return IlKernel(info, text_of(made.program), *known, written=made.written)

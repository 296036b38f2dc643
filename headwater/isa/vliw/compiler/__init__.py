"""Input: ATI IL programs. Output: machine code of R600, R700, Evergreen and Cayman."""

from __future__ import annotations

from headwater.isa.vliw.compiler.driver import CompiledShader, compile_program

__all__ = ["CompiledShader", "compile_program"]

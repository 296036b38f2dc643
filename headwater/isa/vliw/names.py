"""Words of the vendor's disassembly and the numbers that they stand for, for printing and for parsing.

Sources: AMD, Evergreen-Family ISA, "Microcode Formats", for the values; AMD's GPU ShaderAnalyzer and Stream
KernelAnalyzer, whose listings Multi2Sim's disassembler and decaf-emu's assembler follow, for the words.
"""

from __future__ import annotations

from collections.abc import Mapping

CHANNELS = "xyzw"
SELECTS = "xyzw01?_"
"""A destination's, export's or texture coordinate's select: channels, 0, 1, (reserved), masked."""

SOURCES: Mapping[int, str] = {
    219: "QA", 220: "QB", 221: "QA.pop", 222: "QB.pop", 223: "LDS_DIRECT_A", 224: "LDS_DIRECT_B", 227: "TIME_HI",
    228: "TIME_LO", 229: "MASK_HI", 230: "MASK_LO", 231: "HW_WAVE_ID", 232: "SIMD_ID", 233: "SE_ID",
    234: "HW_THREADGRP_ID", 235: "WAVE_ID_IN_GRP", 236: "NUM_THREADGRP_WAVES", 237: "HW_ALU_ODD", 238: "AL",
    240: "PARAM_BASE_ADDR", 241: "NEW_PRIM_MASK", 242: "PRIM_MASK_HI", 243: "PRIM_MASK_LO", 244: "1.0_L",
    245: "1.0_M", 246: "0.5_L", 247: "0.5_M", 248: "0.0f", 249: "1.0f", 250: "1", 251: "-1", 252: "0.5",
}  # fmt: skip
"""ALU sources that are no registers, constants, literals or previous results."""

INDEX_MODES = ("A0.x", "A0.y", "A0.z", "A0.w", "AL")
"""What a relative operand is indexed by; modes 5 and 6 reach the SIMD's shared registers."""
SHARED, SHARED_INDEXED = 5, 6

OUTPUT_MODIFIERS = ("", "*2", "*4", "/2")
MASK_OPS = ("", "(BREAK)", "(CONTINUE)", "(KILL)")
"""Cayman's EXECUTE_MASK_OP, behind UPDATE_EXEC_MASK."""
PREDICATES = ("", "PRED_SEL(1)", "(!p)", "(p)")
VECTOR_SWIZZLES = ("", "VEC_021", "VEC_120", "VEC_102", "VEC_201", "VEC_210")
SCALAR_SWIZZLES = ("", "SCL_122", "SCL_212", "SCL_221")

CONDITIONS = ("", "FALSE", "BOOL", "NOT_BOOL")
EXPORT_TARGETS = ("PIX", "POS", "PARAM", "TYPE3_")
FIRST_POSITION = 60
"""ARRAY_BASE of POS0."""

FETCH_TYPES = ("VERTEX_DATA", "INSTANCE_DATA", "NO_INDEX_OFFSET", "FETCH_TYPE3")
NUMBER_FORMATS = ("NORM", "INT", "SCALED", "NUM_FORMAT3")
ENDIAN_SWAPS = ("NONE", "8IN16", "8IN32", "ENDIAN3")
DATA_FORMATS: tuple[str, ...] = (
    "INVALID", "8", "4_4", "3_3_2", "RESERVED_4", "16", "16_FLOAT", "8_8", "5_6_5", "6_5_5", "1_5_5_5", "4_4_4_4",
    "5_5_5_1", "32", "32_FLOAT", "16_16", "16_16_FLOAT", "8_24", "8_24_FLOAT", "24_8", "24_8_FLOAT", "10_11_11",
    "10_11_11_FLOAT", "11_11_10", "11_11_10_FLOAT", "2_10_10_10", "8_8_8_8", "10_10_10_2", "X24_8_32_FLOAT", "32_32",
    "32_32_FLOAT", "16_16_16_16", "16_16_16_16_FLOAT", "RESERVED_33", "32_32_32_32", "32_32_32_32_FLOAT",
    "RESERVED_36", "1", "1_REVERSED", "GB_GR", "BG_RG", "32_AS_8", "32_AS_8_8", "5_9_9_9_SHAREDEXP", "8_8_8",
    "16_16_16", "16_16_16_FLOAT", "32_32_32", "32_32_32_FLOAT", "BC1", "BC2", "BC3", "BC4", "BC5", "APC0", "APC1",
    "APC2", "APC3", "APC4", "APC5", "APC6", "APC7", "CTX1", "RESERVED_63",
)  # fmt: skip

FLAGS: Mapping[str, str] = {
    "whole_quad_mode": "WHOLE_QUAD", "fetch_whole_quad": "WHOLE_QUAD", "valid_pixel_mode": "VALID_PIX",
    "mark": "MARK", "uses_waterfall": "USES_WATERFALL", "alt_const": "ALT_CONST", "bc_frac_mode": "BC_FRAC_MODE",
    "const_buf_no_stride": "CONST_BUF_NO_STRIDE",
}  # fmt: skip
"""Fields of one bit whose word is not their name."""
FIELD_WORDS: Mapping[str, str] = {"burst_count": "BURSTCNT", "pop_count": "POP_CNT"}
"""Other fields whose word is not their name; all others are called by it in capitals: ``NAME(value)``."""

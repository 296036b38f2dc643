"""The bit fields of every encoding of every generation, as data: form → field → (lowest bit, width).

An instruction is taken as one little-endian integer of 64 bits (control flow, ALU) or 128 bits (fetches), so bit 32 is
the second word's bit 0. Sources: AMD, R600-Family, R700-Family, Evergreen-Family and HD 6900 Series Instruction Set
Architecture documents, "Microcode Formats"; Mesa, r600 driver, ``sb_bc_fmt_def.inc``, which agrees with them. Names are
those documents', except where one word has a name twice: ``src_gpr2``, ``ext_barrier``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

Field: TypeAlias = tuple[int, int]
Form: TypeAlias = Mapping[str, Field]

_SELECTS: Form = {"dst_sel_x": (41, 3), "dst_sel_y": (44, 3), "dst_sel_z": (47, 3), "dst_sel_w": (50, 3)}
_FORMAT: Form = {
    "data_format": (54, 6), "num_format_all": (60, 2), "format_comp_all": (62, 1), "srf_mode_all": (63, 1),
}  # fmt: skip
_DST: Form = {"dst_gpr": (32, 7), "dst_rel": (39, 1)}

# ---- control flow

_CF: Form = {"pop_count": (32, 3), "cf_const": (35, 5), "cond": (40, 2)}
_CF_OLD: Form = {
    "addr": (0, 32), **_CF, "count": (42, 3), "call_count": (45, 6), "count_3": (51, 1), "end_of_program": (53, 1),
    "valid_pixel_mode": (54, 1), "cf_inst": (55, 7), "whole_quad_mode": (62, 1), "barrier": (63, 1),
}  # fmt: skip
_CF_CAYMAN: Form = {
    "addr": (0, 24), "jumptable_sel": (24, 3), **_CF, "count": (42, 6), "valid_pixel_mode": (52, 1),
    "cf_inst": (54, 8), "barrier": (63, 1),
}  # fmt: skip
_CF_EVERGREEN: Form = {**_CF_CAYMAN, "end_of_program": (53, 1), "whole_quad_mode": (62, 1)}

_CF_ALU: Form = {
    "addr": (0, 22), "kcache_bank0": (22, 4), "kcache_bank1": (26, 4), "kcache_mode0": (30, 2),
    "kcache_mode1": (32, 2), "kcache_addr0": (34, 8), "kcache_addr1": (42, 8), "count": (50, 7), "cf_inst": (58, 4),
    "whole_quad_mode": (62, 1), "barrier": (63, 1),
}  # fmt: skip
_CF_ALU_EXT: Form = {
    "kcache_bank_index_mode0": (4, 2), "kcache_bank_index_mode1": (6, 2), "kcache_bank_index_mode2": (8, 2),
    "kcache_bank_index_mode3": (10, 2), "kcache_bank2": (22, 4), "kcache_bank3": (26, 4), "kcache_mode2": (30, 2),
    "kcache_mode3": (32, 2), "kcache_addr2": (34, 8), "kcache_addr3": (42, 8), "cf_inst": (58, 4),
    "ext_barrier": (63, 1),
}  # fmt: skip

_EXPORT_REGISTERS: Form = {"rw_gpr": (15, 7), "rw_rel": (22, 1), "index_gpr": (23, 7), "elem_size": (30, 2)}
_EXPORT: Form = {"array_base": (0, 13), "type": (13, 2), **_EXPORT_REGISTERS}
_RAT: Form = {
    "rat_id": (0, 4), "rat_inst": (4, 6), "rat_index_mode": (11, 2), "type": (13, 2), **_EXPORT_REGISTERS,
}  # fmt: skip
_SWIZZLE: Form = {"sel_x": (32, 3), "sel_y": (35, 3), "sel_z": (38, 3), "sel_w": (41, 3)}
_BUFFER: Form = {"arr_size": (32, 12), "comp_mask": (44, 4)}
_TAIL_OLD: Form = {
    "burst_count": (49, 4), "end_of_program": (53, 1), "valid_pixel_mode": (54, 1), "cf_inst": (55, 7),
    "whole_quad_mode": (62, 1), "barrier": (63, 1),
}  # fmt: skip
_TAIL_CAYMAN: Form = {
    "burst_count": (48, 4), "valid_pixel_mode": (52, 1), "cf_inst": (54, 8), "mark": (62, 1), "barrier": (63, 1),
}  # fmt: skip
_TAIL_EVERGREEN: Form = {**_TAIL_CAYMAN, "end_of_program": (53, 1)}
_GWS: Form = {
    "value": (0, 10), "resource": (16, 5), "sign": (25, 1), "val_index_mode": (26, 2), "rsrc_index_mode": (28, 2),
    "gws_opcode": (30, 2),
}  # fmt: skip

# ---- ALU

_ALU_SOURCES: Form = {
    "src0_sel": (0, 9), "src0_rel": (9, 1), "src0_chan": (10, 2), "src1_sel": (13, 9), "src1_rel": (22, 1),
    "src1_chan": (23, 2), "index_mode": (26, 3), "pred_sel": (29, 2), "last": (31, 1),
}  # fmt: skip
_ALU_NEGATED: Form = {**_ALU_SOURCES, "src0_neg": (12, 1), "src1_neg": (25, 1)}
_ALU_DST: Form = {
    "bank_swizzle": (50, 3), "dst_gpr": (53, 7), "dst_rel": (60, 1), "dst_chan": (61, 2), "clamp": (63, 1),
}  # fmt: skip
_OP2: Form = {
    **_ALU_NEGATED, "src0_abs": (32, 1), "src1_abs": (33, 1), "update_exec_mask": (34, 1), "update_pred": (35, 1),
    "write_mask": (36, 1), **_ALU_DST,
}  # fmt: skip
_OP2_R600: Form = {**_OP2, "fog_merge": (37, 1), "omod": (38, 2), "alu_inst": (40, 10)}
_OP2_R700: Form = {**_OP2, "omod": (37, 2), "alu_inst": (39, 11)}
_SRC2: Form = {"src2_sel": (32, 9), "src2_rel": (41, 1), "src2_chan": (42, 2)}
_OP3: Form = {**_ALU_NEGATED, **_SRC2, "src2_neg": (44, 1), "alu_inst": (45, 5), **_ALU_DST}
_LDS: Form = {
    **_ALU_SOURCES, **_SRC2, "idx_offset_0": (59, 1), "idx_offset_1": (44, 1), "idx_offset_2": (60, 1),
    "idx_offset_3": (63, 1), "idx_offset_4": (12, 1), "idx_offset_5": (25, 1), "alu_inst": (45, 5),
    "bank_swizzle": (50, 3), "lds_op": (53, 6), "dst_chan": (61, 2),
}  # fmt: skip

# ---- fetches

_TEX: Form = {
    "tex_inst": (0, 5), "fetch_whole_quad": (7, 1), "resource_id": (8, 8), "src_gpr": (16, 7), "src_rel": (23, 1),
    **_DST, **_SELECTS, "lod_bias": (53, 7), "coord_type_x": (60, 1), "coord_type_y": (61, 1),
    "coord_type_z": (62, 1), "coord_type_w": (63, 1), "offset_x": (64, 5), "offset_y": (69, 5), "offset_z": (74, 5),
    "sampler_id": (79, 5), "src_sel_x": (84, 3), "src_sel_y": (87, 3), "src_sel_z": (90, 3), "src_sel_w": (93, 3),
}  # fmt: skip
_TEX_R600: Form = {**_TEX, "bc_frac_mode": (5, 1)}
_TEX_R700: Form = {**_TEX_R600, "alt_const": (24, 1)}
_TEX_EVERGREEN: Form = {
    **_TEX, "inst_mod": (5, 2), "alt_const": (24, 1), "resource_index_mode": (25, 2), "sampler_index_mode": (27, 2),
}  # fmt: skip

_VTX_HEAD: Form = {
    "vc_inst": (0, 5), "fetch_type": (5, 2), "fetch_whole_quad": (7, 1), "buffer_id": (8, 8), "src_gpr": (16, 7),
    "src_rel": (23, 1), "src_sel_x": (24, 2),
}  # fmt: skip
_VTX_BODY: Form = {**_DST, **_SELECTS, "use_const_fields": (53, 1), **_FORMAT}
_VTX_TAIL: Form = {"offset": (64, 16), "endian_swap": (80, 2), "const_buf_no_stride": (82, 1)}
_VTX_R600: Form = {**_VTX_HEAD, "mega_fetch_count": (26, 6), **_VTX_BODY, **_VTX_TAIL, "mega_fetch": (83, 1)}
_VTX_R700: Form = {**_VTX_R600, "alt_const": (84, 1)}
_VTX_EVERGREEN: Form = {**_VTX_R700, "buffer_index_mode": (85, 2)}
_VTX_CAYMAN: Form = {
    **_VTX_HEAD, "src_sel_y": (26, 2), "structured_read": (28, 2), "lds_req": (30, 1), "coalesced_read": (31, 1),
    **_VTX_BODY, **_VTX_TAIL, "alt_const": (84, 1), "buffer_index_mode": (85, 2),
}  # fmt: skip
_SEMANTIC: Form = {"semantic_id": (32, 8)}

_MEM_RD: Form = {
    "mem_inst": (0, 5), "elem_size": (5, 2), "fetch_whole_quad": (7, 1), "mem_op": (8, 3), "uncached": (11, 1),
    "indexed": (12, 1), "src_sel_y": (13, 2), "src_gpr": (16, 7), "src_rel": (23, 1), "src_sel_x": (24, 2),
    "burst_count": (26, 4), "lds_req": (30, 1), "coalesced_read": (31, 1), **_DST, **_SELECTS, **_FORMAT,
    "array_base": (64, 13), "endian_swap": (80, 2), "arr_size": (84, 12),
}  # fmt: skip
_GDS: Form = {
    "mem_inst": (0, 5), "mem_op": (8, 3), "src_gpr": (11, 7), "src_rel_mode": (18, 2), "src_sel_x": (20, 3),
    "src_sel_y": (23, 3), "src_sel_z": (26, 3), "dst_gpr": (32, 7), "dst_rel_mode": (39, 2), "gds_op": (41, 6),
    "src_gpr2": (48, 7), "uav_index_mode": (56, 2), "uav_id": (58, 4), "alloc_consume": (62, 1),
    "bcast_first_req": (63, 1), "dst_sel_x": (64, 3), "dst_sel_y": (67, 3), "dst_sel_z": (70, 3),
    "dst_sel_w": (73, 3),
}  # fmt: skip
# R700 reaches its data shares by fetches (AMD, R700-Family ISA, MEM_DSW_WORD0… and MEM_DSR_WORD0…).
_DATA_SHARE: Form = {"mem_inst": (0, 5), "mem_op": (8, 3), "src_gpr": (11, 7), "src_rel_mode": (18, 2)}
_MEM_DSW: Form = {
    **_DATA_SHARE, "src_sel_x": (20, 3), "src_sel_y": (23, 3), "src_sel_z": (26, 3), "src_sel_w": (29, 3),
    "dst_index": (32, 8), "dst_stride": (48, 9), "simd_wave_rel": (63, 1), "burst_count": (64, 4),
}  # fmt: skip
_MEM_DSR: Form = {
    **_DATA_SHARE, "src_sel_x": (20, 3), "src_sel_y": (23, 3), "rd_offset": (26, 6), "dst_gpr": (32, 7),
    "dst_rel_mode": (39, 2), "dst_wr_x": (41, 1), "dst_wr_y": (42, 1), "dst_wr_z": (43, 1), "dst_wr_w": (44, 1),
    "broadcast": (48, 1), "waterfall": (49, 1), "mux_cntl": (52, 3), "burst_count": (64, 4),
}  # fmt: skip


def _with_semantics(vertex: Form) -> Form:
    return {**vertex, **_SEMANTIC}


_SHARED: Mapping[str, Form] = {"OP3": _OP3}
_FORMS: Mapping[str, Mapping[str, Form]] = {
    "r600": {
        **_SHARED, "CF": _CF_OLD, "CF_ALU": {**_CF_ALU, "uses_waterfall": (57, 1)},
        "EXPORT": {**_EXPORT, **_SWIZZLE, **_TAIL_OLD}, "MEM": {**_EXPORT, **_BUFFER, **_TAIL_OLD},
        "OP2": _OP2_R600, "TEX": _TEX_R600, "VTX": _VTX_R600, "SEM": _with_semantics(_VTX_R600),
    },
    "r700": {
        **_SHARED, "CF": _CF_OLD, "CF_ALU": {**_CF_ALU, "alt_const": (57, 1)},
        "EXPORT": {**_EXPORT, **_SWIZZLE, **_TAIL_OLD}, "MEM": {**_EXPORT, **_BUFFER, **_TAIL_OLD},
        "OP2": _OP2_R700, "TEX": _TEX_R700, "VTX": _VTX_R700, "SEM": _with_semantics(_VTX_R700), "MEM_RD": _MEM_RD,
        "MEM_DSW": _MEM_DSW, "MEM_DSR": _MEM_DSR,
    },
    "evergreen": {
        **_SHARED, "CF": _CF_EVERGREEN, "CF_ALU": {**_CF_ALU, "alt_const": (57, 1)}, "CF_ALU_EXT": _CF_ALU_EXT,
        "GWS": {**_CF_EVERGREEN, **_GWS}, "EXPORT": {**_EXPORT, **_SWIZZLE, **_TAIL_EVERGREEN},
        "MEM": {**_EXPORT, **_BUFFER, **_TAIL_EVERGREEN}, "RAT": {**_RAT, **_BUFFER, **_TAIL_EVERGREEN},
        "OP2": _OP2_R700, "LDS": _LDS, "TEX": _TEX_EVERGREEN, "VTX": _VTX_EVERGREEN,
        "SEM": _with_semantics(_VTX_EVERGREEN), "MEM_RD": _MEM_RD, "GDS": _GDS,
    },
    "cayman": {
        **_SHARED, "CF": _CF_CAYMAN, "CF_ALU": {**_CF_ALU, "alt_const": (57, 1)}, "CF_ALU_EXT": _CF_ALU_EXT,
        "GWS": {**_CF_CAYMAN, **_GWS}, "EXPORT": {**_EXPORT, **_SWIZZLE, **_TAIL_CAYMAN},
        "MEM": {**_EXPORT, **_BUFFER, **_TAIL_CAYMAN}, "RAT": {**_RAT, **_BUFFER, **_TAIL_CAYMAN},
        "OP2": _OP2_R700, "LDS": _LDS, "TEX": _TEX_EVERGREEN, "VTX": _VTX_CAYMAN,
        "SEM": _with_semantics(_VTX_CAYMAN), "MEM_RD": _MEM_RD, "GDS": _GDS,
    },
}  # fmt: skip

# GWS has other fields where CF has its address; SEM a semantic's number where VTX has a register.
_ABSENT = {"GWS": ("addr", "jumptable_sel"), "SEM": ("dst_gpr", "dst_rel")}

COMPUTED = (
    "addr", "count", "count_3", "cf_inst", "alu_inst", "lds_op", "last", "tex_inst", "inst_mod", "vc_inst", "mem_inst",
    "mem_op", "gds_op",
)  # fmt: skip
"""Fields that follow from the row and the clause (of kind CF, ``addr`` and ``count`` are given where there is none)."""

EXTRA = ("reserved", "extended")
"""Names that are in no document: ``reserved`` holds the bits that no field has, where any is set, at their places;
``extended`` is 1 where an ALU clause has ALU_EXT before it."""


@cache
def form(generation: str, kind: str) -> Form:
    """The fields of a kind of instruction (see `headwater.isa.vliw.model.KINDS`, and CF_ALU_EXT).

    Raises KeyError where the generation lacks it.
    """
    absent = _ABSENT.get(kind, ())
    return {name: place for name, place in _FORMS[generation][kind].items() if name not in absent}


def kinds(generation: str) -> tuple[str, ...]:
    """The kinds of encodings that a generation has."""
    return tuple(_FORMS[generation])


@cache
def used_bits(generation: str, kind: str) -> int:
    """The bits that some field has."""
    mask = 0
    for low, width in form(generation, kind).values():
        mask |= ((1 << width) - 1) << low
    return mask


FIELD_NAMES = frozenset((*EXTRA, *(name for forms in _FORMS.values() for fields in forms.values() for name in fields)))
"""Every field's name, of any form of any generation."""

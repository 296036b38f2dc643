"""The bit fields of every encoding of every generation, as data: form → field → (lowest bit, width).

An instruction is taken as one little-endian integer of 32, 64 or 128 bits, so bit 32 is the second word's bit 0.
Source: AMD, Southern Islands, Sea Islands, GCN3, "Vega", "Vega 7nm", CDNA1 and CDNA2 ISA reference guides, "Microcode
Formats"; of gfx950 what LLVM 22 assembles and disassembles.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

Fields: TypeAlias = dict[str, tuple[int, int]]

_VOP3_SOURCES: Fields = {"src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}
_DATA: Fields = {"addr": (32, 8), "data0": (40, 8), "data1": (48, 8), "vdst": (56, 8)}
_BUFFER: Fields = {
    "offset": (0, 12), "offen": (12, 1), "idxen": (13, 1), "glc": (14, 1), "vaddr": (32, 8), "vdata": (40, 8),
    "srsrc": (48, 5), "tfe": (55, 1), "soffset": (56, 8),
}  # fmt: skip
_IMAGE: Fields = {
    "dmask": (8, 4), "unorm": (12, 1), "glc": (13, 1), "da": (14, 1), "r128": (15, 1), "tfe": (16, 1), "lwe": (17, 1),
    "op": (18, 7), "slc": (25, 1), "vaddr": (32, 8), "vdata": (40, 8), "srsrc": (48, 5), "ssamp": (53, 5),
}  # fmt: skip
_SDWA: Fields = {
    "vsrc0": (32, 8), "src0_sel": (48, 3), "src0_sext": (51, 1), "src0_neg": (52, 1), "src0_abs": (53, 1),
    "src1_sel": (56, 3), "src1_sext": (59, 1), "src1_neg": (60, 1), "src1_abs": (61, 1),
}  # fmt: skip

# What all generations share, or the newest that differs least from its predecessors.
_COMMON: dict[str, Fields] = {
    "SOP2": {"ssrc0": (0, 8), "ssrc1": (8, 8), "sdst": (16, 7), "op": (23, 7)},
    "SOPK": {"simm16": (0, 16), "sdst": (16, 7), "op": (23, 5)},
    "SOP1": {"ssrc0": (0, 8), "op": (8, 8), "sdst": (16, 7)},
    "SOPC": {"ssrc0": (0, 8), "ssrc1": (8, 8), "op": (16, 7)},
    "SOPP": {"simm16": (0, 16), "op": (16, 7)},
    "VOP2": {"src0": (0, 9), "vsrc1": (9, 8), "vdst": (17, 8), "op": (25, 6)},
    "VOP1": {"src0": (0, 9), "op": (9, 8), "vdst": (17, 8)},
    "VOPC": {"src0": (0, 9), "vsrc1": (9, 8), "op": (17, 8)},
    "EXP": {
        "en": (0, 4), "tgt": (4, 6), "compr": (10, 1), "done": (11, 1), "vm": (12, 1),
        "vsrc0": (32, 8), "vsrc1": (40, 8), "vsrc2": (48, 8), "vsrc3": (56, 8),
    },
    "VINTRP": {"vsrc": (0, 8), "attrchan": (8, 2), "attr": (10, 6), "op": (16, 2), "vdst": (18, 8)},
    "MIMG": _IMAGE,
}  # fmt: skip

_GFX6: dict[str, Fields] = {
    "SMRD": {"offset": (0, 8), "imm": (8, 1), "sbase": (9, 6), "sdst": (15, 7), "op": (22, 5)},
    "VOP3": {
        "vdst": (0, 8), "abs": (8, 3), "clamp": (11, 1), "op": (17, 9), **_VOP3_SOURCES, "omod": (59, 2),
        "neg": (61, 3),
    },
    "VOP3B": {"vdst": (0, 8), "sdst": (8, 7), "op": (17, 9), **_VOP3_SOURCES, "omod": (59, 2), "neg": (61, 3)},
    "DS": {"offset0": (0, 8), "offset1": (8, 8), "gds": (17, 1), "op": (18, 8), **_DATA},
    "FLAT": {
        "glc": (16, 1), "slc": (17, 1), "op": (18, 7), "addr": (32, 8), "data": (40, 8), "tfe": (55, 1),
        "vdst": (56, 8),
    },
    "MUBUF": {**_BUFFER, "addr64": (15, 1), "lds": (16, 1), "op": (18, 7), "slc": (54, 1)},
    "MTBUF": {**_BUFFER, "addr64": (15, 1), "op": (16, 3), "dfmt": (19, 4), "nfmt": (23, 3), "slc": (54, 1)},
}  # fmt: skip

_GFX8: dict[str, Fields] = {
    "SMEM": {
        "sbase": (0, 6), "sdata": (6, 7), "glc": (16, 1), "imm": (17, 1), "op": (18, 8), "offset": (32, 20),
    },
    "VOP3": {
        "vdst": (0, 8), "abs": (8, 3), "clamp": (15, 1), "op": (16, 10), **_VOP3_SOURCES, "omod": (59, 2),
        "neg": (61, 3),
    },
    "VOP3B": {
        "vdst": (0, 8), "sdst": (8, 7), "clamp": (15, 1), "op": (16, 10), **_VOP3_SOURCES, "omod": (59, 2),
        "neg": (61, 3),
    },
    # v_interp_* of VOP3: attributes where src0 is, the barycentric coordinate in src1.
    "VOP3_INTERP": {
        "vdst": (0, 8), "abs": (8, 3), "clamp": (15, 1), "op": (16, 10), "attr": (32, 6), "attrchan": (38, 2),
        "high": (40, 1), "src0": (41, 9), "src2": (50, 9), "omod": (59, 2), "neg": (61, 3),
    },
    "SDWA": {**_SDWA, "dst_sel": (40, 3), "dst_unused": (43, 2), "clamp": (45, 1)},
    "SDWA_VOPC": {**_SDWA, "dst_sel": (40, 3), "dst_unused": (43, 2), "clamp": (45, 1)},
    "DPP": {
        "vsrc0": (32, 8), "dpp_ctrl": (40, 9), "bound_ctrl": (51, 1), "src0_neg": (52, 1), "src0_abs": (53, 1),
        "src1_neg": (54, 1), "src1_abs": (55, 1), "bank_mask": (56, 4), "row_mask": (60, 4),
    },
    "DS": {"offset0": (0, 8), "offset1": (8, 8), "gds": (16, 1), "op": (17, 8), **_DATA},
    "MUBUF": {**_BUFFER, "lds": (16, 1), "slc": (17, 1), "op": (18, 7)},
    "MTBUF": {**_BUFFER, "op": (15, 4), "dfmt": (19, 4), "nfmt": (23, 3), "slc": (54, 1)},
    "MIMG": {**_IMAGE, "d16": (63, 1)},
}  # fmt: skip

_GFX9: dict[str, Fields] = {
    "SMEM": {
        **_GFX8["SMEM"], "soffset_en": (14, 1), "nv": (15, 1), "offset": (32, 21), "soffset": (57, 7),
    },
    "VOP3": {**_GFX8["VOP3"], "op_sel": (11, 4)},
    "VOP3_INTERP": {**_GFX8["VOP3_INTERP"], "op_sel": (11, 4)},
    "VOP3P": {
        "vdst": (0, 8), "neg_hi": (8, 3), "op_sel": (11, 3), "op_sel_hi2": (14, 1), "clamp": (15, 1), "op": (16, 7),
        **_VOP3_SOURCES, "op_sel_hi": (59, 2), "neg": (61, 3),
    },
    "SDWA": {**_GFX8["SDWA"], "omod": (46, 2), "s0": (55, 1), "s1": (63, 1)},
    "SDWA_VOPC": {**_SDWA, "sdst": (40, 7), "sd": (47, 1), "s0": (55, 1), "s1": (63, 1)},
    "FLAT": {
        "offset": (0, 13), "lds": (13, 1), "seg": (14, 2), "glc": (16, 1), "slc": (17, 1), "op": (18, 7),
        "addr": (32, 8), "data": (40, 8), "saddr": (48, 7), "nv": (55, 1), "vdst": (56, 8),
    },
    "MIMG": {**_GFX8["MIMG"], "a16": (15, 1)},
}  # fmt: skip
_GFX9["GLOBAL"] = _GFX9["SCRATCH"] = _GFX9["FLAT"]
del _GFX9["MIMG"]["r128"]

_GFX908: dict[str, Fields] = {
    "MFMA": {
        "vdst": (0, 8), "cbsz": (8, 3), "abid": (11, 4), "op": (16, 7), **_VOP3_SOURCES, "acc": (59, 2),
        "blgp": (61, 3),
    },
}  # fmt: skip
_GFX908["ACCVGPR"] = _GFX908["SMFMAC"] = _GFX908["MFMA"]

# CDNA2: registers of memory instructions may be accumulation registers (acc).
_GFX90A: dict[str, Fields] = {
    "MFMA": {**_GFX908["MFMA"], "acc_cd": (15, 1)},
    "DS": {**_GFX8["DS"], "acc": (25, 1)},
    "FLAT": {key: at for key, at in _GFX9["FLAT"].items() if key != "nv"} | {"scc": (25, 1), "acc": (55, 1)},
    "MUBUF": {key: at for key, at in _GFX8["MUBUF"].items() if key != "tfe"} | {"scc": (15, 1), "acc": (55, 1)},
    "MTBUF": {key: at for key, at in _GFX8["MTBUF"].items() if key != "tfe"} | {"scc": (53, 1), "acc": (55, 1)},
    "MIMG": {key: at for key, at in _GFX9["MIMG"].items() if key != "tfe"} | {"scc": (7, 1), "acc": (16, 1)},
}
_GFX90A["GLOBAL"] = _GFX90A["SCRATCH"] = _GFX90A["FLAT"]
_GFX90A["ACCVGPR"] = _GFX90A["SMFMAC"] = _GFX90A["MFMA"]

# CDNA3: scratch memory by a vector register, a scalar one, both (sve says whether there is the vector one) or neither.
_GFX942: dict[str, Fields] = {
    "SCRATCH": {key: at for key, at in _GFX90A["FLAT"].items() if key != "lds"} | {"sve": (13, 1)},
}

# CDNA4: factors of formats of eight, six and four bits, whose scales are in the 64 bits before.
_GFX950: dict[str, Fields] = {
    "F8F6F4": _GFX90A["MFMA"],
    "VOP3PX": {
        "scale_neg_hi": (8, 3), "scale_op_sel": (11, 3), "scale_op_sel_hi2": (14, 1), "scale0": (32, 9),
        "scale1": (41, 9), "scale_op_sel_hi": (59, 2), "scale_neg": (61, 3),
        **{name: (low + 64, width) for name, (low, width) in _GFX90A["MFMA"].items()},
    },
}  # fmt: skip


_OWN: dict[str, tuple[dict[str, Fields], ...]] = {
    **dict.fromkeys(("gfx6", "gfx7"), (_GFX6,)),
    "gfx8": (_GFX8, {"FLAT": _GFX6["FLAT"]}),
    **dict.fromkeys(("gfx900", "gfx906"), (_GFX8, _GFX9)),
    "gfx908": (_GFX8, _GFX9, _GFX908),
    "gfx90a": (_GFX8, _GFX9, _GFX908, _GFX90A),
    "gfx942": (_GFX8, _GFX9, _GFX908, _GFX90A, _GFX942),
    "gfx950": (_GFX8, _GFX9, _GFX908, _GFX90A, _GFX942, _GFX950),
}
"""What an instruction set has beside, or in place of, the common forms: the later ones win."""


@cache
def layouts(isa: str) -> dict[str, Fields]:
    """Form → field → (lowest bit, width) of one of `headwater.chips.gcn_isas.ISAS`."""
    forms = _COMMON
    for more in _OWN[isa]:
        forms = forms | more
    return forms


# The leading bits of the first word that say the form: (bits, how many), the longest match wins.
_PREFIXES: dict[str, str] = {
    "10": "SOP2", "1011": "SOPK", "101111101": "SOP1", "101111110": "SOPC", "101111111": "SOPP",
    "0": "VOP2", "0111111": "VOP1", "0111110": "VOPC", "110110": "DS", "111000": "MUBUF", "111010": "MTBUF",
    "111100": "MIMG",
}  # fmt: skip
_PREFIXES_GFX6 = {"11000": "SMRD", "110100": "VOP3", "111110": "EXP", "110010": "VINTRP"}
_PREFIXES_GFX8 = {"110000": "SMEM", "110100": "VOP3", "110001": "EXP", "110101": "VINTRP", "110111": "FLAT"}
_PREFIXES_GFX9 = _PREFIXES_GFX8 | {"110100111": "VOP3P"}
_OWN_PREFIXES = {
    "gfx6": _PREFIXES_GFX6,
    "gfx7": _PREFIXES_GFX6 | {"110111": "FLAT"},
    "gfx8": _PREFIXES_GFX8,
    **dict.fromkeys(("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"), _PREFIXES_GFX9),
}


@cache
def forms_by_prefix(isa: str) -> tuple[str, ...]:
    """The form for each value of the first word's highest nine bits; "" where the encoding is reserved."""
    prefixes = _PREFIXES | _OWN_PREFIXES[isa]
    table = [""] * 512
    for prefix in sorted(prefixes, key=len):
        first = int(prefix.ljust(9, "0"), 2)
        for value in range(first, first + (1 << (9 - len(prefix)))):
            table[value] = prefixes[prefix]
    return tuple(table)

"""A decoded shader in the words of LLVM's r600 assembly printer, so that both can be compared line by line.

LLVM, lib/Target/AMDGPU: R600InstPrinter.cpp, R600Instructions.td, EvergreenInstructions.td, CaymanInstructions.td.
"""

from __future__ import annotations

import re

from headwater.isa.vliw.encode import clause_words
from headwater.isa.vliw.model import KCACHE_STARTS, LITERAL, SLOT_NAMES, AluOp, Cf, Fetch, Shader, Source

NAMES = {
    "LSHL_INT": "LSHL",
    "LSHR_INT": "LSHR",
    "ASHR_INT": "ASHR",
    "MULHI_INT": "MULHI",
    "MULHI_UINT": "MULHI",
    "LOOP_END": "END_LOOP",
}
# LLVM prints the registers it knows of, not COMP_MASK.
_PRINTED_MASKS = {"MSKOR": "XW"}
_WHOLE = ("STORE_DWORD", "ADD_RTN")
RAT_NAMES = {"ADD_RTN": "ATOMIC_ADD"}
INLINE = {248: "0.0", 249: "1.0", 250: "1", 251: "-1", 252: "0.5", 255: "PS", 219: "OQA", 220: "OQB", 221: "OQAP"}
SWIZZLES = {0: "", 1: "VEC_021/SCL_122", 2: "VEC_120/SCL_212", 3: "VEC_102/SCL_221", 4: "VEC_201", 5: "VEC_210"}


def squeezed(line: str) -> str:
    """Without blanks, and without the commas that LLVM leaves behind the operands."""
    return re.sub(r",(?=$|Pred_|BS:)", "", re.sub(r"\s+", "", line))


def lines_of(text: str) -> list[str]:
    """LLVM's text of one function, without directives and blanks."""
    lines = []
    for line in text.splitlines():
        words = squeezed(line.partition(";")[0])
        if words and not words.startswith(".") and not words.endswith(":") and words != "PAD":
            lines.append(re.sub(r"\((?:-?[0-9.]|-?nan|-?inf|-?INF|NaN)[^)]*\)", "", words))
    # What follows the end of the program is padding, and no longer decoded.
    if any(line.startswith("MEM_RAT") and line.endswith(",1") for line in lines):
        lines.remove("CF_END")
    return [_unsigned(line) for line in lines]


def _unsigned(line: str) -> str:
    """LLVM prints some literals as signed, some as unsigned numbers."""
    return re.sub(r"-?\d+", lambda m: str(int(m[0]) & 0xFFFFFFFF), line) if re.fullmatch(r"[-\d,]+", line) else line


def text(shader: Shader) -> list[str]:
    """The same from a decoded shader: control flow, then clauses by address."""
    lines = []
    for cf in shader.cf:
        line = cf_text(cf, shader)
        lines.append(squeezed(line))
    for cf in sorted((cf for cf in shader.cf if cf.address is not None), key=lambda cf: cf.address or 0):
        for group in cf.groups:
            lines += [squeezed(op_text(op, last=op is group.ops[-1])) for op in group.ops]
            for low, high in zip(group.literals[::2], group.literals[1::2], strict=True):
                lines.append(f"{low},{high}")
        lines += [squeezed(fetch_text(fetch)) for fetch in cf.fetches]
    return lines


def gpr(number: int, chan: int) -> str:
    return f"T{number}.{'XYZW'[chan]}"


def source_text(source: Source) -> str:
    if source.sel == LITERAL:
        name = f"literal.{SLOT_NAMES[source.chan]}"
    elif source.sel == 254:
        name = f"PV.{'XYZW'[source.chan]}"
    elif source.sel in INLINE:
        name = INLINE[source.sel]
    elif source.sel < 128:
        name = f"T.{'XYZW'[source.chan]}" if source.rel and not source.sel else gpr(source.sel, source.chan)
    else:
        start = max(s for s in KCACHE_STARTS if s <= source.sel)
        name = f"KC{KCACHE_STARTS.index(start)}[{source.sel - start}].{'XYZW'[source.chan]}"
    name = f"|{name}|" if source.abs else name
    return ("-" if source.neg else "") + name + ("+" if source.rel else "")


def op_text(op: AluOp, *, last: bool) -> str:
    name = NAMES.get(op.row.name, op.row.name)
    sources = [source_text(s) for s in op.sources[: op.row.nsrc]]
    predicate = {0: "", 2: "Pred_sel_zero", 3: "Pred_sel_one"}[op.pred_sel]
    if op.row.kind == "LDS":
        dst = "OQAP," if "returns" in op.row.flags else ""
        return f"{name}{'*' if last else ''}{dst}{','.join(sources)}{predicate}"
    if not sources and op.row.name == "GROUP_BARRIER":
        return name
    dst = f"T.{'XYZW'[op.dst_chan]}" if op.dst_rel and not op.dst_gpr else gpr(op.dst_gpr, op.dst_chan)
    if op.update_exec_mask or op.update_pred:
        dst = ("ExecMask," * op.update_exec_mask) + ("Pred," * op.update_pred) + "PredicateBit"
    if "mova" in op.row.flags:
        dst = "AR.x"
    dst += "" if op.write else "(MASKED)"
    dst += "+" * op.dst_rel + {0: "", 1: "*2.0", 2: "*4.0", 3: "/2.0"}[op.omod]
    swizzle = f"BS:{SWIZZLES[op.bank_swizzle]}" if op.bank_swizzle else ""
    clamp = "_SAT" if op.clamp else ""
    return f"{name}{clamp}{'*' if last else ''}{dst},{','.join(sources)}{predicate}{swizzle}"


def kcache(cf: Cf, n: int) -> str:
    mode, bank, line = (cf.fields[f"kcache_{what}{n}"] for what in ("mode", "bank", "addr"))
    return f"KC{n}[CB{bank}:{line * 16}-{line * 16 + mode * 16}]" if mode else f"KC{n}[]"


def cf_text(cf: Cf, shader: Shader) -> str:
    name, fields = cf.row.name, cf.fields
    if cf.row.kind == "CF_ALU":
        return f"{name} {clause_words(cf) - 1}, @{cf.address}, {kcache(cf, 0)}, {kcache(cf, 1)}"
    if cf.fetches:
        return f"{name} {len(cf.fetches) - 1} @{cf.address}"
    if cf.row.kind == "RAT":
        from headwater.isa.vliw import table

        operation = table.find(shader.generation, "RAT_INST", fields["rat_inst"])
        assert operation is not None
        mask = "".join("XYZW"[n] for n in range(4) if fields["comp_mask"] >> n & 1)
        last = fields["end_of_program"]
        mask = _PRINTED_MASKS.get(operation.name, mask)
        data = f"T{fields['rw_gpr']}" + ("" if operation.name in _WHOLE and mask != "X" else f".{mask}")
        ends = f", {last}" if operation.name == "STORE_RAW" else ""
        rat = RAT_NAMES.get(operation.name, operation.name)
        return f"{name} {rat} {data}, T{fields['index_gpr']}.X{ends}"
    if name == "CF_END" or fields["end_of_program"]:
        return "CF_END"
    if "target" in cf.row.flags:
        at = f"@{fields['addr']}"
        pops = f" POP:{fields['pop_count']}" if cf.row.name in ("JUMP", "ELSE", "POP", "PUSH") else ""
        return f"{NAMES.get(name, name)} {at}{pops}"
    return name


def fetch_text(fetch: Fetch) -> str:
    f = fetch.fields
    names = {1: "8", 5: "16", 13: "32", 29: "64", 34: "128"}
    selects = [f[f"dst_sel_{c}"] for c in "xyzw"]
    chans = "".join("XYZW"[n] for n, s in enumerate(selects) if s == n)
    dst = f"T{f['dst_gpr']}.{chans}"
    return f"VTX_READ_{names[f['data_format']]} {dst}, T{f['src_gpr']}.{'XYZW'[f['src_sel_x']]}, {f['offset']}, #{f['buffer_id']}"

"""Input: a ``Shader``. Output: its text in the style of the vendor's disassembler.

Fields that the style has no words for are printed as ``NAME(value)``. What has no effect on a program, as the register
that a masked destination names, is left out unless ``exact`` is asked for: then parsing the text gives the same shader.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headwater.chips.vliw_isas import TRAITS
from headwater.isa.vliw import names, table
from headwater.isa.vliw.encode import clause_words, layout
from headwater.isa.vliw.encodings import form
from headwater.isa.vliw.model import LITERAL, ONE_INT, PS, PV, SLOT_NAMES, AluGroup, AluOp, Cf, Fetch, Shader, Source, T

_INDENT = "    "
_NAME_WIDTH = 11


def text(shader: Shader, *, exact: bool = False, notes: Sequence[Sequence[str]] = ()) -> str:
    """The listing, every line ended. ``exact``: with what does not matter, too. ``notes``: for each CF instruction,
    lines to stand before its groups or fetches, or itself where it has none; "" for no line."""
    printer = _Printer(shader.generation, exact)
    words, places = layout(shader)
    depth = 0
    for index, cf in enumerate(shader.cf):
        is_last = index == len(shader.cf) - 1
        if "endloop" in cf.row.flags:
            depth = max(depth - 1, 0)
        printer.place = places[index]
        printer.notes = list(notes[index]) if index < len(notes) else []
        printer.cf(cf, words, index, _INDENT * depth, is_last=is_last)
        if "loop" in cf.row.flags:
            depth += 1
    last = shader.cf[-1] if shader.cf else None
    if last is not None and (last.fields["end_of_program"] or "end" in last.row.flags):
        printer.out.append("END_OF_PROGRAM")
    return "\n".join(printer.out) + "\n"


def group_text(group: AluGroup, generation: str, number: int = 0) -> list[str]:
    """A group's operations, a line each, without indentation; ``number``: the group's, which PV and PS count from."""
    printer = _Printer(generation, exact=False)
    printer.count = number
    printer.group(group, "")
    return [line[9:] for line in printer.out]


def fetch_text(fetch: Fetch, generation: str) -> str:
    """A fetch, on one line."""
    printer = _Printer(generation, exact=False)
    printer.fetch(fetch, "")
    return " ".join(" ".join(printer.out).split()[1:])


def cf_texts(shader: Shader) -> list[str]:
    """The CF instructions, without their clauses and their numbers."""
    printer = _Printer(shader.generation, exact=False)
    words, places = layout(shader)
    texts = []
    for index, cf in enumerate(shader.cf):
        printer.out, printer.place = [], places[index]
        printer.cf(cf, words, index, "", is_last=index == len(shader.cf) - 1)
        texts.append(printer.out[0].partition(" ")[2])
    return texts


class _Rest:
    """Fields that are yet to be printed."""

    def __init__(self, fields: Mapping[str, int]) -> None:
        self.fields = dict(fields)

    def take(self, name: str) -> int:
        return self.fields.pop(name, 0)

    def selects(self, prefix: str, channels: str = "xyzw") -> str:
        return "".join(names.SELECTS[self.take(f"{prefix}_{c}")] for c in channels)

    def words(self, *, exact: bool) -> list[str]:
        """What is left."""
        left = [(name, value) for name, value in self.fields.items() if exact or name != "reserved"]
        return [field_word(name, value) for name, value in left]


def field_word(name: str, value: int) -> str:
    """A field in its own words."""
    if name in names.FLAGS:
        return names.FLAGS[name]
    if name == "reserved":
        return f"RESERVED({value:#x})"
    return f"{names.FIELD_WORDS.get(name, name.upper())}({value})"


def literal_text(bits: int) -> str:
    """A literal's bits and, of what they are as a float, ten digits."""
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    if bits >> 23 & 0xFF == 0xFF:
        sign = "-" if bits >> 31 else ""
        return f"(0x{bits:08X}, {sign}1.#{'QNAN' if value != value else 'INF'}f)"
    digits = f"{value:.10g}"
    if "." not in digits and "e" not in digits:
        digits += ".0"
    return f"(0x{bits:08X}, {digits}f)"


def _swizzled(register: str, selects: str) -> str:
    return register if selects == "xyzw" else f"{register}.{selects}"


def gpr_name(number: int) -> str:
    """R0…, and T0…T3 for the clause temporaries."""
    return f"T{127 - number}" if number > 123 else f"R{number}"


@dataclass(slots=True)
class _Line:
    head: str
    words: list[str]

    def __str__(self) -> str:
        return " ".join((self.head, *(word for word in self.words if word)))


class _Printer:
    def __init__(self, generation: str, exact: bool) -> None:
        self.generation = generation
        self.exact = exact
        self.traits = TRAITS[generation]
        self.out: list[str] = []
        self.place: int | None = None
        """The address of the current instruction's clause."""
        self.count = 0
        """Groups and fetches so far, which are numbered together."""
        self.notes: list[str] = []
        """What is yet to be put in between of a CF instruction."""

    def note(self, indent: str) -> None:
        if self.notes and (line := self.notes.pop(0)):
            self.out.append(f"{indent}{line}")

    # ---- control flow

    def cf(self, cf: Cf, words: list[int], index: int, indent: str, *, is_last: bool) -> None:
        rest = _Rest(cf.fields)
        ends = rest.take("end_of_program")
        no_barrier = "" if rest.take("barrier") else "NO_BARRIER"
        if cf.row.kind == "CF_ALU":
            line = self._alu_header(cf, rest)
        elif cf.row.kind == "EXPORT":
            line = self._export(cf, rest)
        elif cf.row.kind == "MEM":
            line = self._memory(cf, rest)
        elif cf.row.kind == "RAT":
            line = self._rat(cf, rest)
        elif cf.fetches:
            line = _Line(f"{cf.row.mnemonic}: ADDR({self.place}) CNT({len(cf.fetches)})", [])
        else:
            line = self._plain(cf, rest, words)
        if cf.row.kind in ("EXPORT", "MEM", "RAT") and "mark" in form(self.generation, cf.row.kind):
            valid = "VPM" if rest.take("valid_pixel_mode") else ""
        else:
            valid = "VALID_PIX" if rest.take("valid_pixel_mode") else ""
        line.words += [no_barrier, *_condition(cf, rest), *rest.words(exact=self.exact), valid]
        line.words.append("END_OF_PROGRAM" if ends and not is_last else "")
        if not cf.groups and not cf.fetches:
            self.note(indent)
        self.out.append(f"{indent}{words[index]:02} {line}")
        for group in cf.groups:
            self.group(group, indent)
        for fetch in cf.fetches:
            self.fetch(fetch, indent)

    def _alu_header(self, cf: Cf, rest: _Rest) -> _Line:
        windows = []
        for n in range(4):
            mode = rest.fields.get(f"kcache_mode{n}", 0)
            if not mode:
                continue
            rest.take(f"kcache_mode{n}")
            bank, low = rest.take(f"kcache_bank{n}"), rest.take(f"kcache_addr{n}") * 16
            high, by = low + (15 if mode == 1 else 31), "AL+" if mode == 3 else ""
            windows.append(f"KCACHE{n}(CB{bank}:{by}{low}-{by}{high})")
        rest.take("extended")
        windows += ["EXTENDED"] if cf.fields["extended"] else []
        return _Line(f"{cf.row.mnemonic}: ADDR({self.place}) CNT({clause_words(cf)})", windows)

    def _plain(self, cf: Cf, rest: _Rest, words: list[int]) -> _Line:
        line = _Line(cf.row.mnemonic, [])
        flags = cf.row.flags
        if "loop" in flags or "endloop" in flags:
            line.words.append(f"i{rest.take('cf_const')}")
        pops = rest.take("pop_count")
        if pops:
            line.words.append(f"({pops})" if cf.row.name == "POP" else f"POP_CNT({pops})")
        if "target" in flags:
            word = "FAIL_JUMP_ADDR" if "loop" in flags else "PASS_JUMP_ADDR" if "endloop" in flags else "ADDR"
            line.words.append(f"{word}({words[rest.take('addr')]})")
        elif cf.row.name == "WAIT_ACK":
            line = _Line(f"{cf.row.mnemonic}: Outstanding_acks <= {rest.take('addr')}", line.words)
        return line

    def _export(self, cf: Cf, rest: _Rest) -> _Line:
        kind, base = rest.take("type"), rest.take("array_base")
        if kind == 1 and base >= names.FIRST_POSITION:
            target = f"POS{base - names.FIRST_POSITION}"
        else:
            target = f"POSITION{base}" if kind == 1 else f"{names.EXPORT_TARGETS[kind]}{base}"
        register = self._data(rest)
        return _Line(f"{cf.row.mnemonic}: {target}, {_swizzled(register, rest.selects('sel'))}", [])

    @staticmethod
    def _data(rest: _Rest) -> str:
        return f"R{rest.take('rw_gpr')}" + ("[AL]" if rest.take("rw_rel") else "")

    @staticmethod
    def _mask(rest: _Rest) -> str:
        mask = rest.take("comp_mask")
        return "" if mask == 15 else "." + "".join(c if mask >> n & 1 else "_" for n, c in enumerate("xyzw"))

    def _memory(self, cf: Cf, rest: _Rest) -> _Line:
        kind = rest.take("type")
        index = f"+R{rest.take('index_gpr')}" if kind & 1 else ""
        place = f"[{rest.take('array_base')}{index}]{self._mask(rest)}"
        word = self.traits.write_types[kind]
        line = _Line(f"{cf.row.mnemonic}_{word}: DWORD_PTR{place}, {self._data(rest)}", [])
        line.words += [f", ARRAY_SIZE({rest.take('arr_size')})" if rest.fields.get("arr_size") else ""]
        line.words += [f"ELEM_SIZE({rest.take('elem_size')})" if rest.fields.get("elem_size") else ""]
        return line

    def _rat(self, cf: Cf, rest: _Rest) -> _Line:
        number = rest.take("rat_inst")
        row = table.find(self.generation, "RAT_INST", number)
        kind, mode = rest.take("type"), rest.take("rat_index_mode")
        name = f"{cf.row.mnemonic}_{row.mnemonic if row else f'RAT_INST{number}'}{'_ACK' if kind & 2 else ''}"
        index = f"+idx{mode - 1}" if mode else ""
        register = f"R{rest.take('index_gpr')}"
        place = f"RAT({rest.take('rat_id')}{index})[{register}]{self._mask(rest)}"
        data = self._data(rest)
        elements = rest.take("elem_size")
        size = f"ARRAY_SIZE({rest.take('arr_size')}{f',{elements + 1}' if elements else ''})"
        return _Line(f"{name}: {place}, {data}, {size}", ["" if kind & 1 else "DIRECT"])

    # ---- ALU

    def group(self, group: AluGroup, indent: str) -> None:
        self.note(indent)
        number = self.count
        self.count += 1
        for n, op in enumerate(group.ops):
            head = f"{number:7}  " if n == 0 else " " * 9
            self.out.append(f"{indent}{head}{SLOT_NAMES[op.slot]}: {self._op(op, number)}".rstrip())
        if self.exact:
            used = {source.chan for op in group.ops for source in op.sources if source.sel == LITERAL}
            left = [(n, bits) for n, bits in enumerate(group.literals) if bits and n not in used]
            self.out[-1] += "".join(f" LITERAL({names.CHANNELS[n]},0x{bits:08X})" for n, bits in left)

    def _op(self, op: AluOp, number: int) -> str:
        row, has_mask_operation = op.row, self.traits.has_mask_operations and op.update_exec_mask
        name = row.mnemonic + ("" if has_mask_operation else names.OUTPUT_MODIFIERS[op.omod])
        sources = [self._source(source, op, number) for source in op.sources[: row.nsrc]]
        has_result = row.kind != "LDS" and row.result is not None
        operands = ",  ".join([*([self._destination(op)] if has_result else []), *sources])
        words = ["CLAMP"] if op.clamp else []
        words += [f"OFFSET({op.lds_offset})"] if op.lds_offset else []
        swizzles = names.SCALAR_SWIZZLES if op.slot == T else names.VECTOR_SWIZZLES
        swizzle = op.bank_swizzle
        words += [swizzles[swizzle] if swizzle < len(swizzles) else f"BANK_SWIZZLE({swizzle})"]
        words += [names.PREDICATES[op.pred_sel]]
        mask_op = names.MASK_OPS[op.omod] if has_mask_operation else ""
        words += [f"UPDATE_EXEC_MASK{mask_op}"] if op.update_exec_mask else []
        words += ["UPDATE_PRED"] if op.update_pred else []
        words += ["FOG_MERGE"] if op.fog_merge else []
        words += self._meaningless(op, number) if self.exact else []
        return f"{name:<{_NAME_WIDTH}} {operands}      {' '.join(word for word in words if word)}".rstrip()

    def _meaningless(self, op: AluOp, number: int) -> list[str]:
        """What has no effect: a masked destination, an index mode without an indexed operand, unused sources."""
        words = []
        shown = op.write and op.row.result is not None
        if op.row.kind != "LDS":
            if not shown and (op.write or op.dst_gpr or op.dst_rel):
                words.append(f"{'WRITE' if op.write else 'DST'}(R{op.dst_gpr}{'[REL]' if op.dst_rel else ''})")
            if not shown and op.slot == T:
                words.append(f"DST_CHAN({op.dst_chan})")
        indexed = any(source.rel for source in op.sources[: op.row.nsrc]) or (shown and op.dst_rel)
        if op.index_mode and not indexed:
            words.append(f"INDEX_MODE({op.index_mode})")
        for n, source in enumerate(op.sources[op.row.nsrc :], op.row.nsrc):
            words.append(f"SRC{n}({self._source(source, op, number)})")
        return words

    def _destination(self, op: AluOp) -> str:
        if not op.write:
            return "____"
        return self._register(op.dst_gpr, op.index_mode, op.dst_rel) + f".{names.CHANNELS[op.dst_chan]}"

    def _register(self, number: int, mode: int, rel: bool) -> str:
        if rel and mode in (names.SHARED, names.SHARED_INDEXED):
            return f"SR{number}" + ("[A0.x]" if mode == names.SHARED_INDEXED else "")
        return gpr_name(number) + _index(mode, rel)

    def _source(self, source: Source, op: AluOp, number: int) -> str:
        chan = f".{names.CHANNELS[source.chan]}"
        optional = chan if source.chan else ""
        rel = _index(op.index_mode, source.rel)
        sel = source.sel
        window = _window(sel, self.generation)
        if sel < 128:
            shown = self._register(sel, op.index_mode, source.rel) + chan
        elif window:
            shown = f"{window}{rel}{chan}"
        elif sel == LITERAL:
            shown = f"{literal_text(source.literal or 0)}{rel}{chan}"
        elif sel == PV:
            shown = f"PV{max(number - 1, 0)}{rel}{chan}"
        elif sel == PS:
            shown = f"PS{max(number - 1, 0)}{rel}{optional}"
        elif sel in names.SOURCES:
            shown = f"{names.SOURCES[sel]}{rel}{optional}"
        else:
            shown = f"SEL{sel}{rel}{optional}"
        shown = f"|{shown}|" if source.abs else shown
        # -1 has an encoding of its own.
        shown = f"({shown})" if source.neg and sel == ONE_INT and not source.abs else shown
        return f"-{shown}" if source.neg else shown

    # ---- fetches

    def fetch(self, fetch: Fetch, indent: str) -> None:
        self.note(indent)
        number = self.count
        self.count += 1
        rest = _Rest(fetch.fields)
        line, more = _FETCHES[fetch.row.kind](fetch, rest, self)
        words = rest.words(exact=self.exact)
        shown = f"{number:7}  {fetch.row.mnemonic} {line}"
        self.out.append(f"{indent}{' '.join((shown, *words))}".rstrip())
        if more:
            self.out.append(f"{indent}{' ' * 9}{' '.join(more)}")


def _condition(cf: Cf, rest: _Rest) -> list[str]:
    condition = rest.take("cond")
    if not condition:
        return []
    constant = [] if {"loop", "endloop"} & cf.row.flags else [f"CF_CONST({rest.take('cf_const')})"]
    return [f"CND({names.CONDITIONS[condition]})", *constant]


def _index(mode: int, rel: bool) -> str:
    if not rel:
        return ""
    return f"[{names.INDEX_MODES[mode]}]" if mode < len(names.INDEX_MODES) else f"[MODE{mode}]"


def _window(sel: int, generation: str) -> str:
    """A constant: of a locked window, of the constant file (R600, R700), or an interpolation parameter."""
    if 128 <= sel < 192:
        return f"KC{(sel - 128) // 32}[{(sel - 128) % 32}]"
    if sel < 256:
        return ""
    if TRAITS[generation].has_constant_file:
        return f"C{sel - 256}"
    if sel < 320:
        return f"KC{2 + (sel - 256) // 32}[{(sel - 256) % 32}]"
    return f"Param{sel - 448}" if 448 <= sel < 480 else ""


def _indexed(register: str, rel: int) -> str:
    return f"{register}[AL]" if rel else register


def _texture(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    dst = _indexed(f"R{rest.take('dst_gpr')}", rest.take("dst_rel"))
    src = _indexed(f"R{rest.take('src_gpr')}", rest.take("src_rel"))
    dst, src = _swizzled(dst, rest.selects("dst_sel")), _swizzled(src, rest.selects("src_sel"))
    line = f"{dst}, {src}, t{rest.take('resource_id')}, s{rest.take('sampler_id')}"
    unnormalised = "".join(c.upper() for c in "xyzw" if not rest.take(f"coord_type_{c}"))
    words = [f"UNNORM({unnormalised})"] if unnormalised else []
    bias = rest.take("lod_bias")
    words += [f"LOD({(bias ^ 64) / 16 - 4})"] if bias else []
    for c in "xyz":
        offset = rest.take(f"offset_{c}")
        words += [f"{c.upper()}OFFSET({(offset ^ 16) / 2 - 8})"] if offset else []
    return "  ".join((line, *([" ".join(words)] if words else []))), []


def _vertex(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    if fetch.row.kind == "SEM":
        dst = f"SEM[{rest.take('semantic_id')}]"
    else:
        dst = _indexed(f"R{rest.take('dst_gpr')}", rest.take("dst_rel"))
    src = _indexed(f"R{rest.take('src_gpr')}", rest.take("src_rel"))
    src = f"{src}.{names.CHANNELS[rest.take('src_sel_x')]}"
    words = [f"{_swizzled(dst, rest.selects('dst_sel'))}, {src}, fc{rest.take('buffer_id')} "]
    more = []
    by_resource = rest.take("use_const_fields")
    if not by_resource:
        words.append(f"FORMAT({names.DATA_FORMATS[rest.take('data_format')]})")
    if "mega_fetch" in form(printer.generation, fetch.row.kind):
        size = "MEGA" if rest.take("mega_fetch") else "MINI"
        words.append(f"{size}({rest.take('mega_fetch_count') + 1})")
    offset = rest.take("offset")
    words += [f"OFFSET({offset})"] if offset else []
    words += ["WHOLE_QUAD"] if rest.take("fetch_whole_quad") else []
    if not by_resource:
        number, signed, mode = rest.take("num_format_all"), rest.take("format_comp_all"), rest.take("srf_mode_all")
        more += [f"NUM_FORMAT({names.NUMBER_FORMATS[number]})"] if number else []
        more += ["FORMAT_COMP(SIGNED)"] if signed else []
        more += ["SRF_MODE(NO_ZERO)"] if mode else []
    elif not printer.exact:
        for name in ("data_format", "num_format_all", "format_comp_all", "srf_mode_all"):
            rest.take(name)
    swap, kind = rest.take("endian_swap"), rest.take("fetch_type")
    more += [f"ENDIAN_SWAP({names.ENDIAN_SWAPS[swap]})"] if swap else []
    more += [f"FETCH_TYPE({names.FETCH_TYPES[kind]})"] if kind else []
    return " ".join(words), more


def _memory_read(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    dst = _indexed(f"R{rest.take('dst_gpr')}", rest.take("dst_rel"))
    dst = _swizzled(dst, rest.selects("dst_sel"))
    index = ""
    if rest.take("indexed"):
        src = _indexed(f"R{rest.take('src_gpr')}", rest.take("src_rel"))
        index = f"+{src}.{names.CHANNELS[rest.take('src_sel_x')]}"
    return f"{dst}, DWORD_PTR[{rest.take('array_base')}{index}] ", []


def _data_share(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    dst = f"R{rest.take('dst_gpr')}.{rest.selects('dst_sel')}"
    src = f"R{rest.take('src_gpr')}.{rest.selects('src_sel', 'xyz')}"
    return f"{dst}, {src}, R{rest.take('src_gpr2')} ", []


def _share_write(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    src = _swizzled(f"R{rest.take('src_gpr')}", rest.selects("src_sel"))
    return f"({rest.take('dst_index')},{rest.take('dst_stride')}), {src} ", []


def _share_read(fetch: Fetch, rest: _Rest, printer: _Printer) -> tuple[str, list[str]]:
    mask = "".join(c if rest.take(f"dst_wr_{c}") else "_" for c in "xyzw")
    dst = _swizzled(f"R{rest.take('dst_gpr')}", mask)
    return f"{dst}, R{rest.take('src_gpr')}.{rest.selects('src_sel', 'xy')}, {rest.take('rd_offset')} ", []


_FETCHES: Mapping[str, Callable[[Fetch, _Rest, _Printer], tuple[str, list[str]]]] = {
    "TEX": _texture,
    "VTX": _vertex,
    "SEM": _vertex,
    "MEM_RD": _memory_read,
    "GDS": _data_share,
    "MEM_DSW": _share_write,
    "MEM_DSR": _share_read,
}

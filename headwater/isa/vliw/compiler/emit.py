"""Input: a scheduled program with its registers. Output: the machine's shader, jumps, stack and all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headwater.errors import LimitError
from headwater.isa.vliw import table
from headwater.isa.vliw.compiler.allocate import Registers
from headwater.isa.vliw.compiler.ir import (
    GLOBAL,
    PREDICATES,
    Clause,
    Const,
    Exit,
    Group,
    If,
    Kcache,
    Loop,
    Op,
    PlacedSource,
    Region,
    Slot,
    Use,
    Value,
    Window,
)  # fmt: skip
from headwater.isa.vliw.compiler.resources import CONSTANTS
from headwater.isa.vliw.compiler.target import Target
from headwater.isa.vliw.encodings import form
from headwater.isa.vliw.model import (
    KCACHE_STARTS,
    LITERAL,
    AluGroup,
    AluOp,
    Cf,
    Fetch,
    Row,
    Shader,
    Source,
    T,
)
from headwater.isa.vliw.names import SHARED, SHARED_INDEXED

_FORMATS = {1: 13, 2: 29, 3: 47, 4: 34}
"""DATA_FORMAT by the number of 32-bit components."""
_BYTES = {1: 1, 5: 2, 13: 4, 29: 8, 47: 12, 34: 16}
_ZERO, _ONE, _MASKED = 4, 5, 7  # selects of fetches and exports
_NO_INDEX_OFFSET = 2  # FETCH_TYPE
_WRITE_INDEXED_ACK = 3
_PIXEL_EXPORTS = 16  # BURST_COUNT has 4 bits


@dataclass(eq=False, slots=True)
class _Item:
    """A control-flow instruction that is being made; ``target`` is one that it jumps to, or behind (``after``)."""

    name: str
    kind: str = "CF"
    fields: dict[str, int] = field(default_factory=dict)
    groups: tuple[AluGroup, ...] = ()
    fetches: tuple[Fetch, ...] = ()
    target: _Item | None = None
    after: bool = False
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class Emitted:
    """The shader, the stack's entries that it needs, and the IL's lines of each control-flow instruction."""

    shader: Shader
    stack_entries: int
    lines: tuple[tuple[int, ...], ...]


def emit(region: Region, target: Target, registers: Registers, scratch: int, kind: str) -> Emitted:
    """Encode what is scheduled. LimitError where the control-flow stack is too small."""
    return _Emitter(target, registers, scratch, kind).run(region)


class _Emitter:
    def __init__(self, target: Target, registers: Registers, scratch: int, kind: str) -> None:
        self.target = target
        self.registers = registers
        self.scratch = scratch
        self.kind = kind
        self.items: list[_Item] = []
        self.loops: dict[int, tuple[_Item, _Item]] = {}
        self.pushes = self.loop_depth = 0
        self.deepest = 0
        self.any_push = False
        self.acknowledge = False

    def run(self, region: Region) -> Emitted:
        self.acknowledge = self.target.has_flow("WAIT_ACK") and _reads_what_it_writes(region)
        self.region(region)
        self.end()
        index = {id(item): k for k, item in enumerate(self.items)}
        cf = []
        for item in self.items:
            fields = dict(item.fields)
            if item.target is not None:
                fields["addr"] = index[id(item.target)] + item.after
            cf.append(Cf(self.row(item.kind, item.name), fields, item.groups, item.fetches))
        entries = self.stack_entries()
        if entries > self.target.stack_entries:
            raise LimitError(
                f"control flow nests so deep that it needs {entries} stack entries, {self.target.chip.name} has "
                f"{self.target.stack_entries}",
                hint="nest fewer ifs and loops",
            )
        shader = Shader(self.target.generation, tuple(cf))
        return Emitted(shader, entries, tuple(item.lines for item in self.items))

    def row(self, kind: str, name: str) -> Row:
        found = table.named(self.target.generation, kind, name)
        assert found is not None, f"{self.target.generation} has no {name}"
        return found

    def stack_entries(self) -> int:
        """Entries of four elements (Mesa, r600 driver, ``callstack_update_max_depth``)."""
        reserve = self.target.traits.push_reserve if self.any_push else 0
        return -(-(self.deepest + reserve) // 4)

    def deepen(self, pushes: int, loops: int) -> None:
        self.pushes += pushes
        self.loop_depth += loops
        self.any_push = self.any_push or pushes > 0
        self.deepest = max(self.deepest, self.pushes + self.loop_depth * self.target.stack_elements_per_entry)

    def add(self, item: _Item) -> _Item:
        item.fields.setdefault("barrier", 1)
        self.items.append(item)
        return item

    # -- control flow --------------------------------------------------------------------------------------------------

    def region(self, region: Region) -> None:
        for item in region:
            if isinstance(item, Clause):
                self.clause(item)
            elif isinstance(item, If):
                self.branch(item)
            elif isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, Exit):
                self.exit(item)

    def push_before(self) -> None:
        """Make the last clause, whose predicate decides what comes, save the mask first."""
        clause = self.items[-1]
        assert clause.kind == "CF_ALU"
        nested = self.pushes + self.loop_depth > 0
        if (self.target.stack_entry_bug and nested) or (self.target.loop_push_bug and self.loop_depth > 1):
            push = _Item("PUSH", fields={"barrier": 1}, target=clause)
            self.items.insert(len(self.items) - 1, push)
        else:
            clause.name = "ALU_PUSH_BEFORE"
        self.deepen(1, 0)

    def branch(self, item: If) -> None:
        self.push_before()
        jump = self.add(_Item("JUMP"))
        self.region(item.then)
        if item.other:
            other = self.add(_Item("ELSE", fields={"pop_count": 1}))
            jump.target = other
            jump = other
            self.region(item.other)
        else:
            jump.fields["pop_count"] = 1
        last = self.items[-1]
        if last.kind == "CF_ALU" and last.name == "ALU" and last is not jump:
            last.name = "ALU_POP_AFTER"
        else:
            last = self.add(_Item("POP", fields={"pop_count": 1}))
            last.target, last.after = last, True
        jump.target, jump.after = last, True
        self.deepen(-1, 0)

    def loop(self, item: Loop) -> None:
        start = self.add(_Item("LOOP_START_DX10"))
        end = _Item("LOOP_END")
        self.loops[id(item)] = start, end
        self.deepen(0, 1)
        body = item.body
        if body and isinstance(body[-1], Exit) and not body[-1].is_break and body[-1].test is None:
            body = body[:-1]
        self.region(body)
        self.deepen(0, -1)
        self.add(end)
        start.target, start.after = end, True
        end.target, end.after = start, True

    def exit(self, item: Exit) -> None:
        end = self.loops[id(item.loop)][1]
        name = "LOOP_BREAK" if item.is_break else "LOOP_CONTINUE"
        if item.test is None:
            self.add(_Item(name, target=end))
        elif item.direct:
            self.items[-1].name = "ALU_BREAK" if item.is_break else "ALU_CONTINUE"
        else:
            self.push_before()
            jump = self.add(_Item("JUMP", fields={"pop_count": 1}))
            self.add(_Item(name, target=end))
            pop = self.add(_Item("POP", fields={"pop_count": 1}))
            jump.target, jump.after = pop, True
            pop.target, pop.after = pop, True
            self.deepen(-1, 0)

    def end(self) -> None:
        """The last export is marked, and so is the program's end."""
        exports = [k for k, item in enumerate(self.items) if item.kind == "EXPORT"]
        if self.kind == "ps" and not exports:
            self.add(_Item("EXPORT", "EXPORT", dict.fromkeys(("sel_x", "sel_y", "sel_z", "sel_w"), _MASKED)))
            exports = [len(self.items) - 1]
        if exports:
            self.items[exports[-1]].name = "EXPORT_DONE"
        if self.target.has_flow("CF_END"):
            self.add(_Item("CF_END"))
            return
        last = self.items[-1] if self.items else None
        if last is None or last.kind not in ("EXPORT", "MEM", "RAT") or self.jumped_behind(last):
            last = self.add(_Item("NOP"))
        last.fields["end_of_program"] = 1

    def jumped_behind(self, last: _Item) -> bool:
        return any(item.target is last and item.after for item in self.items)

    # -- clauses -------------------------------------------------------------------------------------------------------

    def clause(self, clause: Clause) -> None:
        if clause.kind == "alu":
            self.alu_clause(clause)
        elif clause.kind == "write":
            for op in clause.ops:
                self.write(op)
            if self.acknowledge and any(op.order == "global" for op in clause.ops):
                self.add(_Item("WAIT_ACK"))
        else:
            by_texture_cache = not self.target.vertex_cache
            vertex = "VTX_TC" if by_texture_cache and self.target.has_flow("VTX_TC") else "VTX"
            texture = clause.kind == "tex" or (by_texture_cache and vertex == "VTX")
            fetches = tuple(self.fetch(op) for op in clause.ops)
            lines = tuple(op.line for op in clause.ops)
            name = "GDS" if clause.kind == "gds" else "TEX" if texture else vertex
            self.add(_Item(name, fetches=fetches, lines=lines))

    def alu_clause(self, clause: Clause) -> None:
        fields: dict[str, int] = {}
        windows = [*clause.windows]
        for k, window in enumerate(windows):
            fields[f"kcache_bank{k}"] = window.buffer
            fields[f"kcache_addr{k}"] = window.first
            fields[f"kcache_mode{k}"] = window.lines
        if len(windows) > 2:
            fields["extended"] = 1
        groups = tuple(self.group(group, windows) for group in clause.groups)
        lines = tuple(_line([slot.op for slot in group.filled]) for group in clause.groups)
        self.add(_Item("ALU", "CF_ALU", fields, groups, lines=lines))

    def group(self, group: Group, windows: list[Window]) -> AluGroup:
        literals = tuple(group.literals) + (0,) * (len(group.literals) % 2)
        return AluGroup(tuple(self.alu(slot, group, windows) for slot in group.filled), literals)

    def alu(self, slot: Slot, group: Group, windows: list[Window]) -> AluOp:
        op = slot.op
        row = table.alu(self.target.generation, op.name)
        gpr = self.registers.gpr.get(slot.result) if slot.result is not None else None
        fields = op.fields or {}
        sources = [self.source(source, group, windows) for source in slot.sources]
        dst_gpr, dst_chan, relative = gpr or 0, slot.chan, False
        write = gpr is not None
        indexed = op.relative in ("read", "write")
        shared = "shared" in fields
        at = fields.get("base", 0) + (0 if shared else self.registers.array)
        if op.relative.endswith("write"):
            dst_gpr, dst_chan = at, fields["chan"]
            write, relative = True, indexed or shared
        elif op.relative.endswith("read"):
            sources = [Source(at, fields["chan"], rel=indexed or shared)]
        if slot.result is not None:
            dst_chan = slot.result.chan
        predicate = op.name in PREDICATES
        return AluOp(
            row,
            slot.slot,
            tuple(sources[: row.nsrc]),
            dst_gpr=dst_gpr,
            dst_chan=dst_chan,
            write=write or row.kind == "OP3",
            dst_rel=relative,
            index_mode=(SHARED_INDEXED if indexed else SHARED) if shared else 0,
            clamp=op.clamp,
            omod=op.omod,
            bank_swizzle=slot.swizzle,
            update_exec_mask=predicate,
            update_pred=predicate,
            lds_offset=fields.get("lds_offset", 0),
        )

    def source(self, source: PlacedSource, group: Group, windows: list[Window]) -> Source:
        kind, item, neg, absolute = source
        if kind == "value":
            assert isinstance(item, Value)
            return Source(self.registers.gpr[item], item.chan, neg, absolute)
        if kind == "literal":
            assert isinstance(item, int)
            return Source(LITERAL, group.literals.index(item), neg, absolute, literal=item)
        if kind == "select":
            assert isinstance(item, tuple)
            return Source(item[0], item[1], neg, absolute)
        assert isinstance(item, Kcache)
        line = item.element // 16
        for k, (buffer, first, lines) in enumerate(windows):
            if buffer == item.buffer and first <= line < first + lines:
                return Source(KCACHE_STARTS[k] + item.element - 16 * first, item.chan, neg, absolute)
        raise AssertionError("a constant is not locked")

    # -- fetches -------------------------------------------------------------------------------------------------------

    def fetch(self, op: Op) -> Fetch:
        fields = {k: v for k, v in (op.fields or {}).items() if k != "data_format"}
        gpr, selects = self.reads(op.uses)
        if op.name == "LOCAL_DS_WRITE":
            mask = fields.pop("mask")
            fields |= {f"src_sel_{'xyzw'[k]}": s if mask >> k & 1 else _MASKED for k, s in enumerate(selects)}
            return Fetch(self.row("MEM_DSW", op.name), {**fields, "src_gpr": gpr})
        fields["src_gpr"] = gpr
        written = {v.chan: k for k, v in enumerate(op.results) if v is not None}
        targets = [v for v in op.results if v is not None]
        fields["dst_gpr"] = self.registers.gpr[targets[0]] if targets else 0
        if op.name == "LOCAL_DS_READ":
            fields.pop("dst_stride")
            fields |= {"src_sel_x": selects[0], "src_sel_y": selects[1]}
            fields |= {f"dst_wr_{'xyzw'[k]}": int(k in written) for k in range(4)}
            return Fetch(self.row("MEM_DSR", op.name), fields)
        fields |= {f"dst_sel_{'xyzw'[k]}": written.get(k, _MASKED) for k in range(4)}
        if op.name in GLOBAL:
            fields |= {f"src_sel_{'xyz'[k]}": s for k, s in enumerate(selects)}
            return Fetch(self.row("GDS", op.name), fields)
        if op.name == "FETCH":
            given = (op.fields or {}).get("data_format", 0)
            data_format = given or _FORMATS[max(written.values(), default=0) + 1]
            fields |= {"data_format": data_format, "num_format_all": 1, "fetch_type": _NO_INDEX_OFFSET}
            fields["src_sel_x"] = selects[0]
            if "mega_fetch" in form(self.target.generation, "VTX"):
                fields |= {"mega_fetch": 1, "mega_fetch_count": _BYTES[data_format] - 1}
            if CONSTANTS <= fields["buffer_id"] < CONSTANTS + 16:
                fields["const_buf_no_stride"] = 0
            return Fetch(self.row("VTX", op.name), fields)
        if op.name == "READ_SCRATCH":
            fields |= {"elem_size": 3, "uncached": 1, "arr_size": self.scratch - 1, "data_format": 34}
            fields |= {"num_format_all": 1, "src_sel_x": selects[0] if selects else 0}
            return Fetch(self.row("MEM_RD", op.name), fields)
        fields |= {f"src_sel_{'xyzw'[k]}": s for k, s in enumerate(selects)}
        return Fetch(self.row("TEX", op.name), fields)

    def reads(self, uses: list[Use]) -> tuple[int, list[int]]:
        """The register that some reads are of, and the component of each."""
        gpr = 0
        selects = []
        for use in uses:
            if type(use.ref) is Value:
                gpr = self.registers.gpr[use.ref]
                selects.append(use.ref.chan)
            else:
                assert type(use.ref) is Const
                selects.append(_ONE if use.ref.bits else _ZERO)
        return gpr, selects

    # -- writes --------------------------------------------------------------------------------------------------------

    def write(self, op: Op) -> None:
        fields = dict(op.fields or {})
        gpr, selects = self.reads(op.uses[:4])
        fields["rw_gpr"] = gpr
        if op.name == "EXPORT":
            self.export(op, fields, selects)
            return
        index = [use.ref for use in op.uses[4:]]
        if index:
            assert type(index[0]) is Value
            fields["index_gpr"] = self.registers.gpr[index[0]]
        if op.name == "MEM_RAT":
            returns = fields.pop("returns")
            cacheless = fields.pop("cacheless")
            if returns or (self.acknowledge and op.order == "global"):
                fields["type"] = _WRITE_INDEXED_ACK
                fields["mark"] = 1
            self.add(_Item("MEM_RAT_CACHELESS" if cacheless else "MEM_RAT", "RAT", fields, lines=(op.line,)))
            if returns and not self.acknowledge:
                self.add(_Item("WAIT_ACK"))
            return
        if op.results:  # R600 reads scratch memory so
            targets = {v.chan: self.registers.gpr[v] for v in op.results if v is not None}
            fields["rw_gpr"] = next(iter(targets.values()))
            fields["comp_mask"] = sum(1 << chan for chan in targets)
        fields["arr_size"] = self.scratch - 1 if op.name == "MEM_SCRATCH" else 0xFFF
        self.add(_Item(op.name, "MEM", fields, lines=(op.line,)))

    def export(self, op: Op, fields: dict[str, int], selects: list[int]) -> None:
        fields |= {f"sel_{'xyzw'[k]}": s for k, s in enumerate(selects)}
        last = self.items[-1] if self.items else None
        if last is not None and last.kind == "EXPORT":
            done = last.fields
            count = done.get("burst_count", 0) + 1
            same = all(done[f"sel_{c}"] == fields[f"sel_{c}"] for c in "xyzw")
            follows = fields["array_base"] == done["array_base"] + count and fields["rw_gpr"] == done["rw_gpr"] + count
            if same and follows and count < _PIXEL_EXPORTS:
                done["burst_count"] = count
                return
        self.add(_Item("EXPORT", "EXPORT", fields, lines=(op.line,)))


def _reads_what_it_writes(region: Region) -> bool:
    """Whether memory that the program writes is read by it, or by others behind a barrier."""
    reads = writes = False
    work: list[Region] = [region]
    while work:
        for item in work.pop():
            if isinstance(item, Clause):
                for op in item.ops:
                    if op.order == "global":
                        writes, reads = writes or op.effect, reads or not op.effect
                for group in item.groups:
                    reads = reads or any(slot.op.name == "GROUP_BARRIER" for slot in group.filled)
            elif isinstance(item, If):
                work += [item.then, item.other]
            elif isinstance(item, Loop):
                work.append(item.body)
    return reads and writes


def _line(ops: Sequence[Op]) -> int:
    """The line of a group: that of its access of memory, of which something may have to be reported, or else the
    last."""
    accesses = [op.line for op in ops if op.order]
    return max(accesses or [op.line for op in ops], default=0)


__all__ = ["Emitted", "T", "emit"]

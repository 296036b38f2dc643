"""One kernel for one work-item in; the text of a function that runs a chunk of work-items (lanes × rows) at once out.

The function's value is the barrier at which the chunk stopped, to be passed back in to go on, or -1 when it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headwater.llvm.cfg import END, Cfg, Loop
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import I1, I64, Type, vec_type
from headwater.vectorise.chunk_values import ID_PARAMS, PARTED, Formats, Variant, private_name
from headwater.vectorise.layout import Layout
from headwater.vectorise.linearisation import ENTRY_MASK, Linear
from headwater.vectorise.ordered_branches import OrderedTest, ordered_exits
from headwater.vectorise.overflow_guards import LARGEST, Most
from headwater.vectorise.row_by_row import RowByRow
from headwater.vectorise.shapes import Shape, Shapes
from headwater.vectorise.store_alignment import Place
from headwater.vectorise.strip_mining import Strips

DONE = -1
"""What a chunk function returns when its work-items have finished."""
UNEVEN_LOOP = ", !llvm.loop !9002"
"""Marks a loop whose trips differ from work-item to work-item: unrolled, the rest of the trips that do not fill an
unrolled one costs a branch that nobody can predict (sparse matrix product: 1.2×)."""
FRAME_ALIGN_BYTES = 64
"""Saved values start on cache lines; 64 bytes is also the widest vector register."""


@dataclass(frozen=True, slots=True)
class ChunkCode:
    """A chunk function: its text, the declarations it needs, the bytes a stopped chunk keeps in its frame, and where it
    may stop: the first of ``barriers`` is the one it returns 1 at. ``fetches_ahead``: it prefetches on demand."""

    text: str
    declares: dict[str, str]
    frame_bytes: int
    barriers: list[Inst]
    fetches_ahead: bool


class Vectoriser(RowByRow):
    """Writes one variant of one kernel."""

    def __init__(
        self,
        function: Function,
        cfg: Cfg,
        shapes: Shapes,
        linear: Linear,
        layout: Layout,
        variant: Variant,
        formats: Formats,
        guard: list[OrderedTest] | None = None,
    ) -> None:
        super().__init__(function, cfg, shapes, linear, layout, variant, formats)
        self.polled = polled_loops(function, cfg)
        self.parted: Strips | None = None
        """The loop that is written by strips at present; `strip` has the rows."""
        self.writer.notes = {self.label(header): UNEVEN_LOOP for header in variant.uneven}
        self.ordered = ordered_exits(function, cfg, shapes)
        self.find_apart()
        self.find_ahead(self.ordered)
        self.find_row_loops()
        for strips in variant.strips.values():  # each strip asks anew for what the first trip begins with
            begins = (phi.args[phi.labels.index(strips.before)] for phi in function.blocks[strips.loop.header].phis)
            self.crossing |= {value.text for value in begins if value.is_local}
        self.guard = guard
        self.frame_bytes = 0
        self.resumes: list[tuple[str, str]] = []
        self.barriers: list[Inst] = []
        self.homes: dict[str, list[str]] = {}
        for block in cfg.order[1:]:
            loop = cfg.loop_of[block]
            if loop is None or loop.header != block:
                self.homes.setdefault(cfg.home_of_initialisation(block), []).append(block)

    # The walk over the blocks.

    def write(self) -> ChunkCode:
        writer = self.writer
        writer.start("start")
        for name in self.cfg.order:
            if name in self.variant.strips:
                self._write_strips(self.variant.strips[name])
            elif not any(name in strips.loop for strips in self.variant.strips.values()):
                self._write_block(name)
        if END in self.linear.skip.values():
            writer.start(self.label(END))
            writer.line(f"ret i32 {DONE}")
        body = self._finish()
        return ChunkCode(body, writer.declares, self.frame_bytes, self.barriers, self.fetches_ahead)

    def write_place(self, place: Place) -> str:
        """Instead of the kernel: a function of the same parameters that returns the address of lane 0's store."""
        writer = self.writer
        writer.start("start")
        for inst in place.insts:
            self.write_instruction(inst)
        address = writer.let(f"ptrtoint {place.pointer.ty} {self.part(place.pointer)} to i64")
        writer.line(f"ret i64 {writer.let(f'freeze i64 {address}')}")
        head = [f"define internal i64 @{self.variant.name}({self._parameters()}) #0 {{", "entry:"]
        head += [f'  %"{slot}" = alloca {ty}' for slot, ty in sorted(writer.slots.items())]
        head += self._row_ids()
        return "\n".join([*head, '  br label %"start"', writer.text(), "}"])

    def write_fits(self, fits: Sequence[Most]) -> str:
        """Instead of the kernel: a function of the same parameters that tells whether a launch's numbers are such."""
        writer, total = self.writer, "true"
        writer.start("start")
        for inst in dict.fromkeys(inst for most in fits for inst in most.slice()):
            self.write_instruction(inst)
        for most in fits:
            fit = writer.let(f"icmp ule i64 {self._largest(most)}, {LARGEST}")
            total = writer.let(f"and i1 {total}, {fit}")
        writer.line(f"ret i1 {total}")
        head = [f"define internal i1 @{self.variant.name}({self._parameters()}) #0 {{", "entry:"]
        head += [f'  %"{slot}" = alloca {ty}' for slot, ty in sorted(writer.slots.items())]
        return "\n".join([*head, '  br label %"start"', writer.text(), "}"])

    def _largest(self, most: Most) -> str:
        if most.op == "number":
            return most.name
        if most.op == "size":
            return f"%{most.name}"
        if most.value is None:
            a, b = (self._largest(term) for term in most.terms)
            return self.writer.let(f"{most.op} i64 {a}, {b}")
        text = self.part(most.value)
        return text if most.value.ty == I64 else self.writer.let(f"sext {most.value.ty} {text} to i64")

    def label(self, block: str) -> str:
        label = "b." + block[1:].replace('"', "")
        if self.strip and self.strip.start and self.parted and block in self.parted.loop:
            return f"{label}.rows.{self.strip.start}"  # ways from outside lead to the first strip
        return label

    def _write_strips(self, strips: Strips) -> None:
        """A loop for some rows, then for the next ones, which find what all rows share as it was before the loop."""
        writer, header = self.writer, strips.loop.header
        self.parted = strips
        for first in range(0, self.layout.rows, strips.rows):
            self.strip = range(first, first + strips.rows)
            if first:
                writer.start(self._before_rows(header, first))
                self.cache = {}
                self._write_edges(strips.before, [header], shared=True)
                writer.jump(self.label(header))
            for name in self.cfg.order:
                if name in strips.loop:
                    self._write_block(name)
        self.parted = self.strip = None

    def _before_rows(self, header: str, first: int) -> str:
        return "b." + header[1:].replace('"', "") + f".before.{first}"

    def entry_label(self, block: str) -> str:
        if block in self.linear.skip:
            return self.label(block) + ".enter"
        return self._pick_label(block)

    def _pick_label(self, block: str) -> str:
        return self.label(block) + (".pick" if block in self.ordered else "")

    def _write_block(self, name: str) -> None:
        writer = self.writer
        self.block = name
        self.cache = {}
        if name == self.cfg.entry:
            if self.cfg.loops:
                self._write_poll()  # counted inner loops do not ask: a stop then waits for one chunk at most
            writer.jump(self.label(name))
        if name in self.row_loops:
            writer.start(self.entry_label(name))
            self.write_row_loop(name)
            self._initialise(name)
            self._write_terminator(name)
            return
        if name in self.linear.skip:
            writer.start(self.entry_label(name))
            wanted = self.any_of([self.mask(r) for r in range(self.layout.rows)])
            assert wanted is not None
            writer.branch(wanted, self._pick_label(name), self.entry_label(self.linear.skip[name]))
            self.cache = {}
        if name in self.ordered:
            self._write_without_masks(name, self.ordered[name])
            self.cache = {}
        writer.start(self.label(name))
        if name in self.polled:
            self._write_poll()
        for inst in self.function.blocks[name].insts[:-1]:
            if inst.op != "phi":
                self.write_instruction(inst)
        self.note_told(name)
        self.fetch_ahead()
        self._initialise(name)
        self._write_terminator(name)

    def _write_poll(self) -> None:
        """Leave when the launch is being stopped: an endless loop must not outlive its caller."""
        stop = self.writer.let("load volatile i64, ptr %stop, align 8")
        stopping = self.writer.let(f"icmp ne i64 {stop}, 0")
        leave, go_on = self.writer.fresh_label("stop"), self.writer.fresh_label("go")
        self.writer.branch(stopping, leave, go_on)
        self.writer.start(leave)
        self.writer.line(f"ret i32 {DONE}")
        self.writer.start(go_on)

    def _write_without_masks(self, name: str, test: OrderedTest) -> None:
        """The loop as it runs while all lanes are in it; the masked one that follows takes over when some leave."""
        writer = self.writer
        fast = self.label(name) + ".all"
        writer.start(self._pick_label(name))
        all_in = self._all_lanes([self.mask(row) for row in range(self.layout.rows)])
        writer.branch(all_in, fast, self.label(name))
        self.cache = {}
        self.unmasked = True
        writer.start(fast)
        if name in self.polled:
            self._write_poll()
        for inst in self.function.blocks[name].insts[:-1]:
            if inst.op != "phi":
                self.write_instruction(inst)
        self.fetch_ahead()
        go_on, part = writer.fresh_label("all.on"), writer.fresh_label("all.part")
        writer.branch(self._all_go_on([test]), go_on, part)
        writer.start(go_on)
        with self.aside():
            self._write_edges(name, [name], together=True)
            writer.jump(fast)
        writer.start(part)
        loop = self.cfg.loop_of[name]
        assert loop is not None
        self.cache = {k: v for k, v in self.cache.items() if not k[0].startswith("mask ")}
        self._write_divergent_latch(name, loop)
        self.unmasked = False

    def _all_lanes(self, masks: list[str | None]) -> str:
        """i1: whether every mask has all its lanes."""
        total = ""
        for mask in masks:
            if mask is not None:
                total = self.writer.let(f"and {self.mask_type} {total}, {mask}") if total else mask
        if not total or self.layout.lanes == 1:
            return total or "true"
        bits = self.writer.let(f"bitcast {self.mask_type} {total} to i{self.layout.lanes}")
        return self.writer.let(f"icmp eq i{self.layout.lanes} {bits}, -1")

    def _all_go_on(self, tests: list[OrderedTest]) -> str:
        """i1: the first and the last lane pass, and counting from one to the other does not wrap around."""
        writer, total = self.writer, "true"

        def require(text: str) -> None:
            nonlocal total
            total = writer.let(f"and i1 {total}, {writer.let(text)}")

        for test in tests:
            ty = test.left.ty
            if test.strided is None:
                rows = self.rows(self.shapes.shape(test.left)), self.rows(self.shapes.shape(test.right))
                for row in max(rows, key=len):
                    left, right = self.part(test.left, row), self.part(test.right, row)
                    require(f"icmp {test.predicate} {ty} {left}, {right}")
                continue
            first = self.part(test.strided, 0)
            end = self.part(test.strided, self.layout.rows - 1)
            last = writer.let(f"add {ty} {end}, {(self.layout.lanes - 1) * test.stride}")
            require(f"icmp {test.predicate[0]}{'ge' if test.stride > 0 else 'le'} {ty} {last}, {first}")
            for lane in (first, last):
                left, right = (lane if v is test.strided else self.part(v) for v in (test.left, test.right))
                require(f"icmp {test.predicate} {ty} {left}, {right}")
        return total

    def _write_guard(self, name: str, term: Inst, guard: list[OrderedTest]) -> None:
        """Go on if all lanes pass the kernel's guard; else nothing is done, and masked code has to run instead."""
        writer = self.writer
        go_on, parted = writer.fresh_label("guard.all"), writer.fresh_label("guard.part")
        writer.branch(self._all_go_on(guard), go_on, parted)
        writer.start(parted)
        writer.line(f"ret i32 {PARTED}")
        writer.start(go_on)
        inside = next(t for t in term.labels if self.function.blocks[t].insts[0].op != "ret")
        self._write_edges(name, [inside])
        writer.jump(self.entry_label(self.linear.next[name, inside]))

    def _write_terminator(self, name: str) -> None:
        writer = self.writer
        term = self.function.blocks[name].term
        succs = self.cfg.succs[name]
        loop = self.cfg.loop_of[name]
        if name == self.cfg.entry and self.guard is not None:
            self._write_guard(name, term, self.guard)
        elif term.op in ("ret", "unreachable"):
            following = self.linear.next.get((name, ""))
            if following is None:
                writer.line(f"ret i32 {DONE}")
            else:
                writer.jump(self.entry_label(following))
        elif loop is not None and loop.latch == name and self.shapes.divergent_loop(loop):
            self._write_divergent_latch(name, loop)
        elif len(succs) == 2 and not self.shapes.divergent(name):
            self._write_uniform_branch(name, term)
        else:
            self._write_edges(name, list(succs))
            if term.op == "barrier":
                self._write_suspension(term)
            following = self.linear.next[name, ""]
            if following in self.cfg.succs[name] and self.cfg.index[following] <= self.cfg.index[name]:
                writer.jump(self.label(following))
            else:
                writer.jump(self.entry_label(following))

    def _write_uniform_branch(self, name: str, term: Inst) -> None:
        for target in self._each_way(name, term):
            if self.parted and self.strip and target not in self.parted.loop and self.strip.stop < self.layout.rows:
                self.writer.jump(self._before_rows(self.parted.loop.header, self.strip.stop))
                continue
            following = self.linear.next[name, target]
            back = following == target and self.cfg.index[target] <= self.cfg.index[name]
            self.writer.jump(self.label(following) if back else self.entry_label(following))

    def _each_way(self, name: str, term: Inst) -> Iterator[str]:
        """Branch the way that all lanes go; for each way hand them over, then let the caller write the jump."""
        writer = self.writer
        condition = self.part(term.args[0])
        if self.linear.mask_class[name] != ENTRY_MASK:
            # With no lane in the mask the condition may be poison, and a branch on poison is undefined.
            condition = writer.let(f"freeze i1 {condition}")
        edges = [writer.fresh_label("edge"), writer.fresh_label("edge")]
        writer.branch(condition, *edges)
        for edge, target in zip(edges, term.labels, strict=True):
            writer.start(edge)
            with self.aside():
                self._write_edges(name, [target])
                yield target

    def _write_divergent_latch(self, name: str, loop: Loop) -> None:
        term = self.function.blocks[name].term
        if len(self.cfg.succs[name]) == 2 and not self.shapes.divergent(name):
            for target in self._each_way(name, term):
                if target == loop.header:
                    self._go_round(loop)
                else:
                    self.writer.jump(self.entry_label(self.linear.after_loop[loop.header]))
            return
        self._write_edges(name, list(self.cfg.succs[name]))
        self._go_round(loop)

    def _go_round(self, loop: Loop) -> None:
        """Run a divergent loop again if some lane wants to."""
        self.cache = {}
        masks: list[str | None] = [self._class_mask(loop.header, r) for r in range(self.layout.rows)]
        again = self.any_of(masks)
        assert again is not None
        self.writer.branch(again, self.label(loop.header), self.entry_label(self.linear.after_loop[loop.header]))

    def _write_edges(self, source: str, targets: list[str], *, together: bool = False, shared: bool = False) -> None:
        """Hand the lanes that leave ``source`` over: into the targets' masks and phis. ``together``: all go there;
        ``shared``: only into phis that all rows share."""
        pending: list[tuple[str, Type, str]] = []
        for target in targets:
            rows = range(self.layout.rows)
            lanes = [None if together else self._edge_mask(source, target, row) for row in rows]
            self._collect_masks(source, target, lanes, pending)
            plain = self._is_plain(source, target)
            for phi in self.function.blocks[target].phis:
                value = phi.args[phi.labels.index(source)]
                if shared and self.shapes.of.get(phi.name, Shape()).by_row:
                    continue
                if not value.is_undefined:
                    self._collect_phi(phi, value, None if plain else lanes, pending)
        for slot, ty, text in pending:
            self.writer.store_slot(slot, ty, text)

    def _edge_mask(self, source: str, target: str, row: int) -> str | None:
        mask = self.mask(row)
        if not self.shapes.divergent(source):
            return mask
        term = self.function.blocks[source].term
        form = "v" if self.layout.lanes > 1 else "s"
        taken = self.part(term.args[0], row, form)
        key = (f"edge {source} {target}", 0, row, "v")
        known = self.cache.get(key)
        if known is None:
            if target != term.labels[0]:
                ones = "splat (i1 true)" if self.layout.lanes > 1 else "true"
                taken = self.writer.let(f"xor {self.mask_type} {taken}, {ones}")
            if mask is not None:
                # Lanes outside the mask may have a condition that is poison: select keeps it out, `and` would not.
                none = "zeroinitializer" if self.layout.lanes > 1 else "false"
                taken = self.writer.let(
                    f"select {self.mask_type} {mask}, {self.mask_type} {taken}, {self.mask_type} {none}"
                )
            known = self.cache[key] = taken
        return known

    def _is_plain(self, source: str, target: str) -> bool:
        """Whether every lane that runs ``target`` comes over this edge."""
        if self.cfg.index[target] <= self.cfg.index[source]:
            return True
        if self.shapes.divergent(source) or self.linear.waits(source, target):
            return False
        loop = self.cfg.loop_of[target]
        if loop is not None and loop.header == target:
            return True
        return self.linear.mask_class[source] == self.linear.mask_class[target]

    def _collect_masks(
        self, source: str, target: str, lanes: list[str | None], pending: list[tuple[str, Type, str]]
    ) -> None:
        if not self.linear.owns_mask(target):
            return
        loop = self.cfg.loop_of[target]
        # A loop's mask is set anew when the loop is entered and on every trip; other masks collect.
        sets = loop is not None and loop.header == target
        ones = "splat (i1 true)" if self.layout.lanes > 1 else "true"
        for row in range(self.layout.rows):
            slot = self._mask_slot(target, row)
            new = lanes[row] or ones
            if not sets:
                old = self.writer.load_slot(slot, self.mask_type)
                new = self.writer.let(f"or {self.mask_type} {old}, {new}")
            pending.append((slot, self.mask_type, new))

    def _collect_phi(
        self, phi: Inst, value: Value, lanes: list[str | None] | None, pending: list[tuple[str, Type, str]]
    ) -> None:
        shape = self.shapes.of.get(phi.name, Shape())
        for component, form, ty in self.pieces(phi.name, phi.ty, shape):
            for row in self.rows(shape):
                slot = self._slot(phi.name, component, row, form)
                new = self._phi_input(value, row, form, component)
                chosen = self._choosing(lanes, row, shape) if lanes is not None else None
                if chosen is not None and shape.deps:
                    old = self.writer.load_slot(slot, ty)
                    if form == "v":
                        test = f"{self.mask_type} {chosen}"
                    elif form == "p" and self.layout.lanes > 1:
                        test = f"{vec_type(ty.count, I1)} {self.each_component(chosen, I1, phi.ty.count)}"
                    else:
                        test = f"i1 {self.any_lane(chosen)}"
                    new = self.writer.let(f"select {test}, {ty} {new}, {ty} {old}")
                pending.append((slot, ty, new))

    def _choosing(self, lanes: list[str | None], row: int, shape: Shape) -> str | None:
        """The lanes that come over an edge, None for all: of a row, or of any row for a value that all rows share."""
        if shape.by_row or len(lanes) == 1:
            return lanes[row]
        return self.union(lanes)

    def _phi_input(self, value: Value, row: int, form: str, component: int) -> str:
        if form == "g" and "g" not in self.forms(self.shapes.shape(value)):
            return "true"
        if form == "p":
            return self.whole(value, row)
        return self.part(value, row, form, component)

    def _initialise(self, name: str) -> None:
        for block in self.homes.get(name, ()):
            if self.linear.owns_mask(block):
                zero = "zeroinitializer" if self.layout.lanes > 1 else "false"
                for row in range(self.layout.rows):
                    self.writer.store_slot(self._mask_slot(block, row), self.mask_type, zero)
            for phi in self.function.blocks[block].phis:
                if all(self._is_plain(source, block) for source in phi.labels):
                    continue
                shape = self.shapes.of.get(phi.name, Shape())
                for component, form, ty in self.pieces(phi.name, phi.ty, shape):
                    for row in self.rows(shape):
                        self.writer.store_slot(self._slot(phi.name, component, row, form), ty, "poison")

    # Barriers.

    def _write_suspension(self, barrier: Inst) -> None:
        if not self.variant.resumable:
            return
        number = len(self.resumes) + 1
        suspend, resume = f"suspend.{number}", f"resume.{number}"
        self.writer.jump(suspend)
        self.writer.start(suspend).targets.append(resume)
        self.writer.start(resume)
        self.resumes.append((suspend, resume))
        self.barriers.append(barrier)
        self.cache = {}

    def _finish_suspensions(self) -> None:
        live = self.writer.live_in()
        blocks = {b.label: b for b in self.writer.blocks}
        for number, (suspend, resume) in enumerate(self.resumes, 1):
            save: list[str] = []
            restore: list[str] = []
            offset = self.private_bytes
            for slot in sorted(live[resume]):
                ty = self.writer.slots[slot]
                size = max(1, ty.count // 8) if ty.scalar.text == "i1" else ty.size_bytes
                align = min(FRAME_ALIGN_BYTES, max(1, 1 << (size - 1).bit_length()))
                offset = -(-offset // align) * align
                where = f"{number}.{len(save)}"
                save += [
                    f'  %"save.{where}" = load {ty}, ptr %"{slot}"',
                    f'  %"save.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                    f'  store {ty} %"save.{where}", ptr %"save.{where}.p", align {align}',
                ]
                restore += [
                    f'  %"restore.{where}.p" = getelementptr i8, ptr %frame, i64 {offset}',
                    f'  %"restore.{where}" = load {ty}, ptr %"restore.{where}.p", align {align}',
                    f'  store {ty} %"restore.{where}", ptr %"{slot}"',
                ]
                offset += size
            blocks[suspend].lines = [*save, f"  ret i32 {number}"]
            blocks[resume].lines = restore + blocks[resume].lines
            self.frame_bytes = max(self.frame_bytes, offset)

    # The function around it.

    @property
    def private_bytes(self) -> int:
        """Bytes of the frame that the private arrays take, where they must outlive a stop at a barrier."""
        if not self.variant.resumable:
            return 0
        return self._place_private()[1]

    def _place_private(self) -> tuple[dict[str, int], int]:
        offsets: dict[str, int] = {}
        total = 0
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                if inst.op == "alloca":
                    offsets[inst.name] = total
                    size = inst.source.size_bytes * self.layout.lanes * self.layout.rows
                    total += -(-size // FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES
        return offsets, total

    def _finish(self) -> str:
        self._finish_suspensions()
        self.frame_bytes = -(-max(self.frame_bytes, self.private_bytes) // FRAME_ALIGN_BYTES) * FRAME_ALIGN_BYTES
        head = [f"define internal i32 @{self.variant.name}({self._parameters()}) #0 {{", "entry:"]
        head += [f'  %"{slot}" = alloca {ty}' for slot, ty in sorted(self.writer.slots.items())]
        head += self._private_arrays()
        head += self._row_ids()
        cases = "".join(f' i32 {n}, label %"{resume}"' for n, (_, resume) in enumerate(self.resumes, 1))
        if cases:
            head.append(f'  switch i32 %state, label %"start" [{cases} ]')
        else:
            head.append('  br label %"start"')
        return "\n".join([*head, self.writer.text(), "}"])

    def _parameters(self) -> str:
        kernel = [" ".join((p.ty.text, *kept_attributes(p.attributes), p.name)) for p in self.function.params]
        ids = [f"i64 %{name}" for name in ID_PARAMS]
        masks = [f"{self.mask_type} %mask{row}" for row in range(self.layout.rows)] if self.variant.masked else []
        return ", ".join(
            [
                *kernel,
                *ids,
                "i32 %dim",
                "ptr %stop",
                "i1 %stream",
                "i1 %ahead",
                "ptr %printf",
                "ptr %launch",
                "ptr noalias %frame",
                "i32 %state",
                *masks,
            ]
        )

    def _private_arrays(self) -> list[str]:
        lines: list[str] = []
        offsets, _ = self._place_private()
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                if inst.op != "alloca":
                    continue
                base = f"%private.{offsets[inst.name]}.{len(lines)}"
                row_bytes = inst.source.size_bytes * self.layout.lanes
                if self.variant.resumable:
                    lines.append(f"  {base} = getelementptr i8, ptr %frame, i64 {offsets[inst.name]}")
                else:
                    size = max(1, row_bytes * self.layout.rows)
                    lines.append(f"  {base} = alloca [{size} x i8], align {FRAME_ALIGN_BYTES}")
                for row in range(self.layout.rows):
                    lines.append(f"  {private_name(inst, row)} = getelementptr i8, ptr {base}, i64 {row * row_bytes}")
        return lines

    def _row_ids(self) -> list[str]:
        dim = self.layout.row_dim
        step = self.layout.lanes if dim == self.layout.lane_dim else 1
        return [
            f"  %{kind}{dim}.{row} = add i64 %{kind}{dim}, {row * step}"
            for kind in ("gid", "lid")
            for row in range(self.layout.rows)
        ]


def kept_attributes(attributes: str) -> list[str]:
    """Parameter attributes that stay true for a whole chunk."""
    return [a for a in attributes.split() if a in ("noalias", "readonly", "writeonly")]


def polled_loops(function: Function, cfg: Cfg) -> set[str]:
    """Blocks that test for a stop: the headers of all loops but the innermost counted ones, which end soon."""
    if cfg.irreducible:
        return {t for b in cfg.order for t in cfg.succs[b] if cfg.index[t] <= cfg.index[b]}
    parents = {id(loop.parent) for loop in cfg.loops if loop.parent is not None}
    return {lp.header for lp in cfg.loops if id(lp) in parents or not _is_counted(function, lp)}


def _is_counted(function: Function, loop: Loop) -> bool:
    """Whether some exit compares a counter that moves by a constant with something that the loop does not change."""
    defs = {i.name: i for b in loop.blocks for i in function.blocks[b].insts if i.name}
    for source, _ in loop.exits:
        term = function.blocks[source].term
        test = defs.get(term.args[0].text) if term.args else None
        if test is None or test.op != "icmp":
            continue
        inside = [defs[v.text] for v in test.args if v.text in defs]
        if len(inside) == 1 and _is_counter(inside[0], defs, loop):
            return True
    return False


def _is_counter(inst: Inst, defs: dict[str, Inst], loop: Loop) -> bool:
    if inst.op in ("trunc", "sext", "zext") and inst.args[0].text in defs:
        return _is_counter(defs[inst.args[0].text], defs, loop)
    if inst.op in ("add", "sub") and inst.args[0].text in defs and not inst.args[1].is_local:
        inst = defs[inst.args[0].text]
    if inst.op != "phi":
        return False
    for value, source in zip(inst.args, inst.labels, strict=True):
        if source == loop.latch:
            step = defs.get(value.text)
            return (
                step is not None
                and step.op in ("add", "sub")
                and not step.args[1].is_local
                and (step.args[0].text == inst.name)
            )
    return False

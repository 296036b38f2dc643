"""Input: a shader and what its resources are. Output: the text of LLVM functions that run a wavefront of it.

Each clause is a function; ``hw_wave`` calls them as control flow says. Registers and the control-flow stack are in the
wavefront's frame, so a wavefront that waits at a barrier just returns, and goes on there when it is called again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from headwater.emulate.vliw import export, fetch, program as reading
from headwater.emulate.vliw.alu import AluCode
from headwater.emulate.vliw.bindings import Bindings, Name
from headwater.emulate.vliw.clause import Clause, Options, Resources, Surroundings, place
from headwater.emulate.vliw.control import Control, Counted, Known, nestings
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.vliw.layout import CF, LAUNCH
from headwater.emulate.vliw.program import Program, read_program
from headwater.emulate.vliw.registers import PIXEL, Frame
from headwater.emulate.wave.builder import Value, WaveBuilder
from headwater.emulate.wave.layout import AT_BARRIER, ENDED, FAULT_NAMES, LANES, STOPPED, WAVE
from headwater.emulate.wave.registers import PART, PART_LANES, PARTS, Mask
from headwater.isa.vliw.model import Cf
from headwater.native import launch_block

COMPACT_ACCESSES = 48
"""Fetches and memory writes of a shader whose usual cases are inline; of larger ones all are calls."""
COMPACT_SHARE_ACCESSES = 200
"""The same of accesses to the LDS."""

INLINE_OPERATIONS = 1500
"""Operations, fetches and control flow of a shader that becomes one function, in which registers are values; LLVM's
time grows faster than functions do."""
INLINE_SAVED = 400
"""Components that such a shader saves at all its barriers together: LLVM's time grows faster than they do, too. A loop
that was unrolled to 32 barriers, 403 components, takes 1.7 s as one function and 0.9 s as one for each segment; at 128,
1869 components, it is 6.4 s and 2.5 s."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The functions' text with what they need, and what the launcher must know of them.

    ``order``: the resources, in the order of their descriptors; ``constants``: vec4 that are read of constant buffers.
    """

    text: str
    frame_bytes: int
    cache_slots: int
    size: int
    uses_gds: bool
    flushing: bool
    order: list[Name]
    constants: dict[int, int]
    quads: bool
    shared: bool


# What registers hold when a wavefront of pixels begins (docs/vliw.md): component and what it is.
_PIXEL_REGISTERS = ((0, "position_x"), (1, "position_y"), (2, "object"), (PIXEL, "pixel_x"), (PIXEL + 1, "pixel_y"))


def starts(kernel: Kernel) -> tuple[tuple[int, str], ...]:
    """What a kernel's registers hold when a wavefront begins."""
    return _PIXEL_REGISTERS if kernel.kind == "ps" else kernel.shader.traits.work_item_registers


def translate(kernel: Kernel, bindings: Bindings, options: Options) -> Translation:
    """Translate a kernel for resources bound so. HeadwaterError if its control flow makes no sense."""
    program = read_program(kernel.shader, kernel.gprs, kernel.clause_temporaries)
    if program.doubles and options.flushing:
        options = replace(options, flushing=False)
    if program.quads and options.full:
        options = replace(options, full=False)
    return _Translator(kernel, program, bindings, options).translate()


def _waits(cf: Cf, segment: range) -> bool:
    """Whether a segment of an ALU clause ends at a barrier."""
    return len(segment) > 0 and any(op.row.name == "GROUP_BARRIER" for op in cf.groups[segment[-1]].ops)


def _saved(program: Program) -> int:
    """The components that wavefronts save at barriers."""
    parts = zip(program.shader.cf, program.segments, program.live, strict=True)
    return sum(
        len(after) for cf, segments, live in parts for s, after in zip(segments, live, strict=True) if _waits(cf, s)
    )


@dataclass
class _Translator:
    kernel: Kernel
    program: Program
    bindings: Bindings
    options: Options
    b: WaveBuilder = field(default_factory=WaveBuilder)
    functions: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    resumes: list[tuple[int, str]] = field(default_factory=list)
    frame: Frame = field(init=False)
    resources: Resources = field(init=False)
    control: Control = field(init=False)
    inlined: bool = field(init=False)
    compact_shares: bool = field(init=False)
    back: list[tuple[int, int]] = field(init=False)
    """Ways to instructions not further on: where from, where to."""

    def __post_init__(self) -> None:
        used = self.program.used | {component for component, _ in starts(self.kernel)}
        self.frame = Frame(used, self.program.indexed_gprs)
        traits, bytewise = self.kernel.shader.traits, self.kernel.byte_atomics
        self.resources = Resources(self.bindings, self.program.resources, traits, bytewise)
        found = nestings(self.program)
        self.control = Counted(self.b, self._stop_unless) if found is None else Known(self.b, found)
        small = self.program.operations <= INLINE_OPERATIONS and _saved(self.program) <= INLINE_SAVED
        self.inlined = found is not None and small and not self.program.indexed_gprs
        shares = sum(op.row.kind == "LDS" for cf in self.kernel.shader.cf for g in cf.groups for op in g.ops)
        self.compact_shares = shares > COMPACT_SHARE_ACCESSES

    def translate(self) -> Translation:
        b = self.b
        shader = self.kernel.shader
        runs = {run[0]: run for run in reading.straight(self.program)}
        ways = [(at, reading.target(cf)) for at, cf in enumerate(shader.cf) if reading.goes_elsewhere(cf)]
        self.back = [(at, to) for at, to in ways if to <= at]
        for index, cf in enumerate(shader.cf):
            b.start(f"cf.{index}")
            if not self.control.enter(index):
                b.jump("wave.ended")
                continue
            if index in runs:
                self._report_segment(runs[index])
            self._instruction(index, cf)
        b.start(f"cf.{len(shader.cf)}")
        self._stop("FAULT_UNSUPPORTED", place(len(shader.cf)))
        body = "\n".join(line for block in b.blocks[1:] for line in (f"{block.label}:", *block.lines))
        define = f"define hidden i32 @hw_wave(ptr noalias %w) {self.options.attributes} #0"
        wave = f"{define} {{\n{self._head()}\n{body}\n{self._exits()}\n}}"
        self.declarations |= b.declarations
        parts = [*self.functions, wave, *self.declarations.values()]
        parts.append('!9100 = !{!"branch_weights", i32 2000, i32 1}')
        return Translation(
            "\n\n".join(parts),
            self.frame.nbytes if self.resumes or not self.inlined else 0,
            self.resources.slots,
            self.program.operations,
            self.resources.uses_gds,
            self.options.flushing,
            self.program.resources,
            self.program.constants,
            self.program.quads,
            self.program.shared,
        )

    # ---- the wavefront's function

    def _head(self) -> str:
        """Where a wavefront begins, or goes on after a barrier."""
        b = self.b
        first = len(b.blocks)
        b.start("entry")
        # Registers of small shaders live in a frame of the function's own, which LLVM takes apart.
        saved = "saved" if self.inlined else "frame"
        for name, field_ in ((saved, "frame"), ("ids", "ids"), ("block", "block"), ("args", "args")):
            at = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset[field_]}")
            b.line(f"%{name} = load ptr, ptr {at}, align 8, !invariant.load !9001")
        if self.inlined:
            b.line(f"%frame = alloca [{self.frame.nbytes} x i8], align 64")
        b.line("%counted = alloca i64, align 8")
        if self.program.quads:
            b.line("%valid = alloca i64, align 8")
        b.line("store i64 0, ptr %counted, align 8")
        b.line(launch_block.field("stop", "%block", "%stop"))
        b.line(f"%count = getelementptr i8, ptr %w, i64 {WAVE.offset['wave_instructions']}")
        b.line(f"%resume.at = getelementptr i8, ptr %w, i64 {WAVE.offset['resume']}")
        b.line(f"%alone.at = getelementptr i8, ptr %w, i64 {WAVE.offset['alone']}")
        resume = b.emit("load i32, ptr %resume.at")
        cases = " ".join(f"i32 {number}, label %{label}" for number, label in self.resumes)
        b.line(f"switch i32 {resume}, label %start [{cases}]")
        b.start("start")
        if self.options.observer is not None:
            self.options.observer.begin(b)
        for name in ("depth", "loops", "calls", "killed"):
            b.line(f"store i64 0, ptr {b.emit(f'getelementptr i8, ptr %frame, i64 {CF.offset[name]}')}, align 8")
        at = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset['exec']}")
        b.line(
            f"store i64 {'-1' if self.options.full else b.emit(f'load i64, ptr {at}, align 8')}, ptr %frame, align 8"
        )
        values = dict(starts(self.kernel))
        for component in self.frame.components:
            for part in range(PARTS):
                value = Value("zeroinitializer", "u32", PART_LANES)
                if component in values:
                    value = self._start_value(b, values[component], part)
                offset = self.frame.place(component) + 4 * PART_LANES * part
                pointer = b.emit(f"getelementptr i8, ptr %frame, i64 {offset}")
                b.line(f"store {PART} {value.text}, ptr {pointer}, align 64")
        if self.program.quads:
            self._store_valid(b)
        b.jump("cf.0")
        return "\n".join(line for block in b.blocks[first:] for line in (f"{block.label}:", *block.lines))

    def _start_value(self, b: WaveBuilder, what: str, part: int) -> Value:
        """What a register holds when the wavefront begins, u32 for each lane."""

        def size(name: str, axis: int) -> Value:
            at = b.emit(f"getelementptr i8, ptr %args, i64 {LAUNCH.offset[name] + 4 * axis}")
            return b.let("u32", 1, f"load i32, ptr {at}, align 4")

        def group(axis: int) -> Value:
            at = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset['group'] + 4 * axis}")
            return b.let("u32", 1, f"load i32, ptr {at}, align 4")

        def local(axis: int) -> Value:
            at = b.emit(f"getelementptr i8, ptr %ids, i64 {256 * axis + 4 * PART_LANES * part}")
            return b.let("u32", PART_LANES, f"load {PART}, ptr {at}, align 64")

        def pixel(axis: int) -> Value:
            first = b.binary("add", b.binary("mul", group(axis), size("local", axis)), size("origin", axis))
            return b.binary("add", local(axis), first)

        kind, _, which = what.partition("_")
        axis = "xyz".find(which) if which in ("x", "y", "z") else -1
        if what == "local_flat":
            at = b.emit(f"getelementptr i8, ptr %w, i64 {WAVE.offset['index']}")
            index = b.let("u32", 1, f"load i32, ptr {at}, align 4")
            lanes = b.vector("u32", range(PART_LANES * part, PART_LANES * (part + 1)))
            return b.binary("add", lanes, b.binary("shl", index, b.constant("u32", 6)))
        if what == "group_flat":
            row = b.binary("add", b.binary("mul", group(2), size("groups", 1)), group(1))
            return b.splat(b.binary("add", b.binary("mul", row, size("groups", 0)), group(0)), PART_LANES)
        if kind == "local":
            return local(axis)
        if kind == "group":
            return b.splat(group(axis), PART_LANES)
        if kind == "pixel":
            return pixel(axis)
        if what == "object":
            left, above, right = (size("domain", n) for n in range(3))
            row = b.binary("mul", b.binary("sub", pixel(1), above), b.binary("sub", right, left))
            flat = b.binary("add", row, b.binary("sub", pixel(0), left))
            return b.bitcast(b.let("f32", PART_LANES, f"uitofp {flat.typed} to <{PART_LANES} x float>"), "u32")
        position = b.let("f32", PART_LANES, f"uitofp {pixel(axis).typed} to <{PART_LANES} x float>")
        return b.bitcast(b.binary("fadd", position, b.constant("f32", 0x3F000000)), "u32")

    def _store_valid(self, b: WaveBuilder) -> None:
        """The lanes whose pixels are in the domain: the others are there for their neighbours, and write nothing."""

        def bound(number: int) -> Value:
            at = b.emit(f"getelementptr i8, ptr %args, i64 {LAUNCH.offset['domain'] + 4 * number}")
            return b.let("u32", 1, f"load i32, ptr {at}, align 4")

        valid = Mask()
        for part in range(PARTS):
            inside: Value | None = None
            for axis, name in enumerate(("pixel_x", "pixel_y")):
                at = self._start_value(b, name, part)
                for test, number in (("icmp uge", axis), ("icmp ult", 2 + axis)):
                    holds = b.compare(test, at, bound(number))
                    inside = holds if inside is None else b.binary("and", inside, holds)
            assert inside is not None
            valid.parts[part] = inside.text
        b.line(f"store i64 {valid.bits(b)}, ptr %valid, align 8")

    def _exits(self) -> str:
        """Where a wavefront ends or waits: what it executed is added up."""
        b = self.b
        first = len(b.blocks)
        for label, value in (("ended", ENDED), ("waits", AT_BARRIER), ("stopped", STOPPED)):
            b.start(f"wave.{label}")
            total = b.emit("load i64, ptr %count, align 8")
            more = b.emit("load i64, ptr %counted, align 8")
            b.line(f"store i64 {b.emit(f'add i64 {total}, {more}')}, ptr %count, align 8")
            b.line(f"ret i32 {value}")
        return "\n".join(line for block in b.blocks[first:] for line in (f"{block.label}:", *block.lines))

    # ---- control flow

    def _report_segment(self, run: range) -> None:
        """Report to the observer that a run of consecutive instructions begins."""
        observer = self.options.observer
        if observer is None:
            return
        full = self.options.full and self.program.full[run[0]]
        active = str(LANES) if full else self.b.count_bits(self._active())
        back = [edge for edge in self.back if edge[1] in run]
        known = isinstance(self.control, Known)  # without subroutines
        addresses = [place(index) for index in run]
        observer.open_segment(addresses[0], addresses, active)
        repeats = not known or any(edge[0] in run for edge in back)
        observer.on_segments(self.b, repeats=repeats, loops=not known or bool(back))

    def _instruction(self, index: int, cf: Cf) -> None:
        b, name = self.b, cf.row.name
        following = f"cf.{index + 1}"
        work = max(len(cf.groups) + len(cf.fetches), 1)
        counted = b.emit("load i64, ptr %counted, align 8")
        b.line(f"store i64 {b.emit(f'add i64 {counted}, {work}')}, ptr %counted, align 8")
        if cf.groups or cf.row.kind == "CF_ALU":
            following = self._alu(index, cf, following)
        elif cf.fetches or cf.row.kind in ("EXPORT", "MEM", "RAT"):
            self._unless_idle(lambda: self._call(f"clause.{index}", index, writes=not cf.fetches))
            self._memory_clause(index, cf)
        elif cf.fields["cond"] or name in _UNSUPPORTED or cf.row.kind == "GWS":
            self._unless_idle(lambda: self._stop("FAULT_UNSUPPORTED", place(index)), ends=True)
        elif name in _FLOW:
            _FLOW[name](self, index, cf, following)
            return
        if reading.ends_program(cf):
            b.jump("wave.ended")
        elif following:
            b.jump(following)

    def _stop(self, kind: str, pc: int) -> None:
        b = self.b
        b.declare("declare hidden i32 @hw_stop(ptr, i32, i64, i64) #1")
        b.emit(f"call i32 @hw_stop(ptr %w, i32 {FAULT_NAMES[kind]}, i64 {pc}, i64 0)")
        b.jump("wave.stopped")

    def _active(self) -> str:
        return self.b.emit("load i64, ptr %frame, align 8")

    def _unless_idle(self, write: Callable[[], None], *, ends: bool = False) -> None:
        """Leave an instruction out if no lane is active."""
        b = self.b
        work, done = b.label("work"), b.label("done")
        b.branch(b.emit(f"icmp ne i64 {self._active()}, 0"), work, done)
        b.start(work)
        write()
        if not ends:
            b.jump(done)
        b.start(done)

    def _call(self, function: str, index: int, *, writes: bool = False) -> None:
        """Call a clause's function; stop after a fault."""
        active = self._active()
        if writes and self.program.quads:
            active = self.b.emit(f"and i64 {active}, {self.b.emit('load i64, ptr %valid, align 8')}")
        status = self.b.emit(f"call i32 @{function}(ptr %w, ptr %frame, i64 {active})")
        self._stop_unless(self.b.emit(f"icmp eq i32 {status}, 0"))

    def _stop_unless(self, fine: str) -> None:
        """Leave after a fault, which has been recorded."""
        going = self.b.label("fine")
        self.b.line(f"br i1 {fine}, label %{going}, label %wave.stopped, !prof !9100")
        self.b.start(going)

    def loop_end(self, index: int) -> str:
        """The label of the end of the innermost loop around an instruction."""
        loop = self.program.loops.of(index)
        return f"cf.{loop[1]}" if loop is not None else f"cf.{index + 1}"

    def check_stop(self) -> None:
        """Leave if the launch is to be stopped."""
        b = self.b
        value = b.emit("load atomic i64, ptr %stop monotonic, align 8")
        going = b.label("going")
        b.line(f"br i1 {b.emit(f'icmp eq i64 {value}, 0')}, label %{going}, label %wave.stopped, !prof !9100")
        b.start(going)

    # ---- clauses

    def _clause(self, name: str, cf: Cf, index: int, *, full: bool) -> Clause:
        surroundings = Surroundings(self.frame, self.resources, self.options, self.control)
        return Clause(name, cf, index, surroundings, full=full, inlined=self.inlined)

    def _done(self, clause: Clause) -> None:
        self.functions.append(clause.text())
        self.declarations |= clause.b.declarations

    def _alu(self, index: int, cf: Cf, following: str) -> str:
        """An ALU clause with what its instruction does before and after; where it goes on if that is decided, else an
        empty string."""
        b, name, pc = self.b, cf.row.name, place(index)
        if "push_before" in cf.row.flags:
            self.control.push(pc)
        leaves = reading.leaves(cf)
        if leaves:
            b.line(f"store i64 {self._active()}, ptr {self._before()}, align 8")
        segments = self.program.segments[index]
        full = self.options.full and self.program.full[index]
        for number, segment in enumerate(segments):
            function = f"clause.{index}.{number}"
            if len(segment) and any(op.row.name != "GROUP_BARRIER" for n in segment for op in cf.groups[n].ops):
                if full:
                    self._call(function, index)
                else:
                    self._unless_idle(partial(self._call, function, index))
                clause = self._clause(function, cf, index, full=full)
                clause.compact = self.compact_shares
                code = AluCode(clause, self.program.live[index][number])
                code.write({n: cf.groups[n] for n in segment})
                self._done(clause)
                full = full and not code.narrowed
            if _waits(cf, segment):
                self._barrier(place(index, segment[-1]), self.program.live[index][number])
        if popped := reading.popped_after(cf):
            self.control.pop(popped, pc)
        elif name == "ALU_ELSE_AFTER":
            self.control.otherwise(0, pc)
        elif leaves:
            before = b.emit(f"load i64, ptr {self._before()}, align 8")
            lanes = b.emit(f"and i64 {before}, {b.emit(f'xor i64 {self._active()}, -1')}")
            b.branch(self.control.leave(lanes, "continue" in cf.row.flags, pc), self.loop_end(index), following)
            return ""
        return following

    def _before(self) -> str:
        """Where the mask is kept that a clause began with: a wavefront may wait within it."""
        return self.b.emit(f"getelementptr i8, ptr %frame, i64 {CF.offset['before']}")

    def _barrier(self, pc: int, live: set[int]) -> None:
        """Return to wait for the group's other wavefronts, unless there are none."""
        b = self.b
        if self.options.observer is not None:
            self.options.observer.on_barrier(b, pc, self._active())
        number = len(self.resumes) + 1
        wait, back, going = b.label("wait"), f"resume.{number}", b.label("going")
        alone = b.emit("load i32, ptr %alone.at, !invariant.load !9001")
        b.branch(b.emit(f"icmp ne i32 {alone}, 0"), going, wait)
        b.start(wait)
        self._move("%frame", "%saved", live)
        b.line(f"store i32 {number}, ptr %resume.at")
        b.jump("wave.waits")
        b.start(back)
        self._move("%saved", "%frame", live)
        b.jump(going)
        b.start(going)
        self.resumes.append((number, back))

    def _move(self, source: str, target: str, live: set[int]) -> None:
        """Copy what is known of a waiting wavefront from the function's own frame to that in memory, or back."""
        b = self.b
        if not self.inlined:  # there is but the one
            return
        assert isinstance(self.control, Known)
        whole = [("i64", CF.offset[name] + 8 * n, 8) for name, n in self.control.fields]
        for component in sorted(live & set(self.frame.components)):
            first = self.frame.place(component)
            whole += [(PART, first + 4 * PART_LANES * part, 64) for part in range(PARTS)]
        for kind, offset, align in whole:
            here, there = (b.emit(f"getelementptr i8, ptr {frame}, i64 {offset}") for frame in (source, target))
            b.line(f"store {kind} {b.emit(f'load {kind}, ptr {here}, align {align}')}, ptr {there}, align {align}")

    def _memory_clause(self, index: int, cf: Cf) -> None:
        clause = self._clause(f"clause.{index}", cf, index, full=self.options.full and self.program.full[index])
        clause.compact = self._accesses() > COMPACT_ACCESSES
        if cf.fetches:
            for number, one in enumerate(cf.fetches):
                fetch.translate(clause, number, one)
        else:
            export.translate(clause)
        clause.flush()
        for part in range(PARTS):
            clause.regs.store(part, clause.exec, self.program.live[index][0])
        clause.b.line("ret i32 0")
        self._done(clause)

    def _accesses(self) -> int:
        return sum(len(cf.fetches) + (cf.row.kind in ("EXPORT", "MEM", "RAT")) for cf in self.kernel.shader.cf)


# ---- the instructions of control flow


def _jump(t: _Translator, index: int, cf: Cf, following: str) -> None:
    jump = t.control.jump if cf.row.name == "JUMP" else t.control.otherwise
    t.b.branch(jump(cf.fields["pop_count"], place(index)), f"cf.{reading.target(cf)}", following)


def _push(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.control.push(place(index))
    t.b.branch(t.control.jump(cf.fields["pop_count"], place(index)), f"cf.{reading.target(cf)}", following)


def _pop(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.control.pop(cf.fields["pop_count"], place(index))
    t.b.jump("wave.ended" if reading.ends_program(cf) else following)


def _loop(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.b.branch(t.control.loop(place(index)), f"cf.{t.program.loops.ends[index] + 1}", following)


def _loop_end(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.check_stop()
    t.b.branch(t.control.loop_end(place(index)), f"cf.{reading.target(cf)}", following)


def _leave(t: _Translator, index: int, cf: Cf, following: str) -> None:
    left = t.control.leave(t._active(), "continue" in cf.row.flags, place(index))
    t.b.branch(left, t.loop_end(index), following)


def _call(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.check_stop()
    assert isinstance(t.control, Counted)
    t.b.branch(t.control.call(index + 1, place(index)), f"cf.{reading.target(cf)}", following)


def _return(t: _Translator, index: int, cf: Cf, following: str) -> None:
    b = t.b
    b.declare("declare hidden i64 @hw_cf_return(ptr)")
    result = b.emit("call i64 @hw_cf_return(ptr %frame)")
    calls = [at + 1 for at, other in enumerate(t.kernel.shader.cf) if "call" in other.row.flags]
    cases = " ".join(f"i64 {at}, label %cf.{at}" for at in calls)
    b.line(f"switch i64 {result}, label %wave.ended [i64 -1, label %{following} {cases}]")


def _kill(t: _Translator, index: int, cf: Cf, following: str) -> None:
    t.control.kill(t._active())
    t.b.jump("wave.ended" if reading.ends_program(cf) else following)


_FLOW = {
    "JUMP": _jump,
    "ELSE": _jump,
    "PUSH": _push,
    "POP": _pop,
    "LOOP_START_DX10": _loop,
    "LOOP_START_NO_AL": _loop,
    "LOOP_END": _loop_end,
    "LOOP_BREAK": _leave,
    "LOOP_CONTINUE": _leave,
    "CALL": _call,
    "RETURN": _return,
    "KILL": _kill,
}
_UNSUPPORTED = frozenset(
    (
        "LOOP_START", "PUSH_ELSE", "POP_JUMP", "POP_PUSH", "POP_PUSH_ELSE", "EMIT_VERTEX", "EMIT_CUT_VERTEX",
        "CUT_VERTEX", "JUMPTABLE", "HALT", "PUSH_WQM", "POP_WQM", "ELSE_WQM", "JUMP_ANY", "REACTIVATE",
        "REACTIVATE_WQM", "INTERRUPT", "INTERRUPT_AND_SLEEP",
    )
)  # fmt: skip
"""What compute kernels do not use: graphics, and loops by constants that CAL does not set."""

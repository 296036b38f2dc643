"""Random programs with branches, loops, predicates, kills and indexed registers, translated and interpreted."""

from dataclasses import replace

import numpy as np
import pytest
from vliw_runs import alu, around, cf, gpr, group, literal, op, random_inputs, referred, translated

from benchmarks.scaling_programs import PROGRAMS
from headwater import chips
from headwater.chips.vliw_isas import GENERATIONS
from headwater.emulate.vliw.bindings import Bindings
from headwater.emulate.vliw.clause import Options
from headwater.emulate.vliw.control import nestings
from headwater.emulate.vliw.kernel import Kernel
from headwater.emulate.vliw.program import read_program
from headwater.emulate.vliw.translate import translate
from headwater.emulate.wave.layout import LANES
from headwater.il.parser import parse
from headwater.isa.vliw.compiler import compile_program
from headwater.isa.vliw.model import Shader, Source, T
from tests.counted import count_calls

STATE = range(6, 14)
COUNTERS = (14, 15)
SIMPLE = ("ADD_INT", "XOR_INT", "SUB_INT", "MAX_INT", "SETGT_INT", "AND_INT", "ADD", "MUL")
MASK = {"update_exec_mask": True, "update_pred": True, "write": False}


class Writer:
    """Writes a random program of one generation."""

    def __init__(self, generation, seed, *, indexed=True):
        self.g = generation
        self.with_index = indexed
        self.rng = np.random.default_rng(seed)
        self.code = []

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def operand(self):
        kind = self.rng.random()
        if kind < 0.25:
            return gpr(int(self.rng.integers(2, 6)), int(self.rng.integers(4)))
        if kind < 0.4:
            return literal(int(self.rng.integers(-9, 10)))
        return gpr(int(self.rng.choice(STATE)), int(self.rng.integers(4)))

    def operation(self, slot, **more):
        name = self.pick(*SIMPLE)
        # Integers only in most places: NaNs of either side may differ in their bits.
        name = name if self.rng.random() < 0.1 or name not in ("ADD", "MUL") else "ADD_INT"
        chan = int(self.rng.integers(4)) if slot == T else slot
        return op(self.g, name, slot, int(self.rng.choice(STATE)), chan, self.operand(), self.operand(), **more)

    def group(self, **more):
        slots = range(4 if self.g == "cayman" else 5)
        chosen = [slot for slot in slots if self.rng.random() < 0.4] or [0]
        return group(*(self.operation(slot, **more) for slot in chosen))

    def groups(self):
        found = [self.group() for _ in range(int(self.rng.integers(1, 4)))]
        kind = self.rng.random()
        if kind < 0.2:  # predicated
            test = op(self.g, "PRED_SETGT_INT", 0, 0, 0, self.operand(), self.operand(), update_pred=True, write=False)
            found += [group(test), self.group(pred_sel=2), self.group(pred_sel=3)]
        elif kind < 0.35 and self.with_index:
            found += self.indexed()
        elif kind < 0.5:  # previous results
            after = op(self.g, "ADD_INT", 1, int(self.rng.choice(STATE)), 1, Source(254, 0), Source(254, 0))
            found += [group(self.operation(0)), group(after)]
        return found

    def indexed(self):
        index = op(self.g, "AND_INT", 0, 16, 0, self.operand(), literal(3))
        mova = op(self.g, "MOVA_INT", 0, 0, 0, gpr(16), write=False)
        read = op(self.g, "MOV", 1, int(self.rng.choice(STATE)), 1, gpr(int(self.rng.choice(STATE[:4])), 2, rel=True))
        write = op(self.g, "MOV", 2, int(self.rng.choice(STATE[:4])), 2, self.operand(), dst_rel=True)
        return [group(index), group(mova), self.pick(group(read), group(write), group(read, write))]

    def clause(self):
        self.code.append(alu(self.g, *self.groups()))

    def condition(self):
        return group(op(self.g, "PRED_SETGT_INT", 0, 0, 0, self.operand(), self.operand(), **MASK))

    def target(self, at, index):
        self.code[at] = replace(self.code[at], fields={**self.code[at].fields, "addr": index})

    def body(self, depth, loop):
        for _ in range(int(self.rng.integers(1, 4))):
            kind = self.rng.random()
            if depth and kind < 0.35:
                self.branch(depth - 1, loop)
            elif depth and kind < 0.5 and loop < len(COUNTERS):
                self.loop(depth - 1, loop)
            elif loop and kind < 0.6:
                self.leave()
            elif kind < 0.63:
                self.code.append(
                    alu(self.g, group(op(self.g, "KILLGT_INT", 0, 0, 0, gpr(2), literal(0x7F000000), write=False)))
                )
            else:
                self.clause()

    def branch(self, depth, loop):
        self.code.append(alu(self.g, *self.groups(), self.condition(), name="ALU_PUSH_BEFORE"))
        jump = len(self.code)
        self.code.append(cf(self.g, "JUMP"))
        self.body(depth, loop)
        if self.rng.random() < 0.5:
            self.target(jump, len(self.code))
            jump = len(self.code)
            self.code.append(cf(self.g, "ELSE", pop_count=1))
            self.body(depth, loop)
        else:
            self.code[jump] = cf(self.g, "JUMP", pop_count=1)
        if self.rng.random() < 0.5:
            self.code.append(cf(self.g, "POP", pop_count=1))
        else:
            self.code.append(alu(self.g, *self.groups(), name="ALU_POP_AFTER"))
        self.target(jump, len(self.code))

    def leave(self):
        name = self.pick("LOOP_BREAK", "LOOP_CONTINUE")
        self.code.append(alu(self.g, self.condition(), name="ALU_PUSH_BEFORE"))
        self.code += [
            cf(self.g, "JUMP", pop_count=1, addr=len(self.code) + 3),
            cf(self.g, name),
            cf(self.g, "POP", pop_count=1),
        ]

    def loop(self, depth, loop):
        counter = COUNTERS[loop]
        trips = op(self.g, "AND_INT", 1, counter, 1, self.operand(), literal(3))
        self.code.append(alu(self.g, group(op(self.g, "MOV", 0, counter, 0, literal(0)), trips)))
        start = len(self.code)
        self.code.append(cf(self.g, "LOOP_START_DX10"))
        more = op(self.g, "PRED_SETGT_INT", 0, 0, 0, gpr(counter, 1), gpr(counter), **MASK)
        count = op(self.g, "ADD_INT", 0, counter, 0, gpr(counter), literal(1))
        if self.g != "cayman" and self.rng.random() < 0.5:
            self.code.append(alu(self.g, group(more), name="ALU_BREAK"))
        else:
            done = op(self.g, "PRED_SETGE_INT", 0, 0, 0, gpr(counter), gpr(counter, 1), **MASK)
            self.code.append(alu(self.g, group(done), name="ALU_PUSH_BEFORE"))
            self.code += [cf(self.g, "JUMP", pop_count=1, addr=len(self.code) + 3), cf(self.g, "LOOP_BREAK")]
            self.code.append(cf(self.g, "POP", pop_count=1))
        self.code.append(alu(self.g, group(count)))
        self.body(depth, loop + 1)
        self.code.append(cf(self.g, "LOOP_END", addr=start + 1))
        self.target(start, len(self.code))

    def program(self):
        self.body(3, 0)
        return self.code


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(("seed", "indexed"), [(0, True), (1, True), (2, True), (3, False), (7, False), (10, False)])
def test_random_control_flow(generation, seed, indexed):
    """Without address registers a shader is one function, whose registers LLVM sees through."""
    shader = around(generation, Writer(generation, seed, indexed=indexed).program())
    assert nestings(read_program(shader, 32, 0)) is not None
    lanes = (LANES, 37)[seed % 2]
    inputs = random_inputs(seed)
    inputs[:, :, :2] = inputs[:, :, :2] % 16
    native, slow = translated(shader, inputs, lanes), referred(shader, inputs, lanes)
    bad = np.argwhere(native[:, :10] != slow[:, :10])
    assert not len(bad), f"{len(bad)} differ, first at lane, register, channel {bad[0]}"


def test_constants_without_denormals():
    """LLVM does not compute with a denormal literal what the chip does not."""
    for generation in GENERATIONS:
        product = op(generation, "MUL", 0, 6, 0, gpr(2), literal(1))
        total = op(generation, "ADD", 1, 6, 1, literal(0x80000001), literal(0x80000002))
        shader = around(generation, [alu(generation, group(product, total))])
        inputs = random_inputs(0)
        inputs[:, 0, 0] = 0xC1200000
        native, slow = translated(shader, inputs), referred(shader, inputs)
        assert (native[:, 0, :2] == slow[:, 0, :2]).all()
        assert (native[:, 0, 0] == 0).all()  # 0 times anything is 0


def test_nestings_that_are_known():
    """Of a loop in a branch; code behind an unconditional break is never reached. A pop of nothing is left to run time."""
    g = "evergreen"
    test = group(op(g, "PRED_SETGT_INT", 0, 0, 0, gpr(2), literal(0), **MASK))

    def found(*code):
        return nestings(read_program(Shader(g, (*code, cf(g, "NOP", end_of_program=1))), 32, 0))

    known = found(
        alu(g, test, name="ALU_PUSH_BEFORE"),
        cf(g, "JUMP", pop_count=1, addr=7),
        cf(g, "LOOP_START_DX10", addr=6),
        alu(g, test, name="ALU_PUSH_BEFORE"),
        alu(g, test, name="ALU_BREAK"),
        cf(g, "LOOP_END", addr=3),
        cf(g, "POP", pop_count=1),
    )
    assert known is not None
    assert [(n.depth, n.loops) for n in known] == [
        (0, ()), (1, ()), (1, ()), (1, (1,)), (2, (1,)), (1, (1,)), (1, ()), (0, ()),
    ]  # fmt: skip
    assert found(cf(g, "POP", pop_count=1)) is None
    assert found(cf(g, "LOOP_START_DX10", addr=3), cf(g, "CALL", addr=0), cf(g, "LOOP_END", addr=1)) is None


@pytest.mark.parametrize("barriers", [3, 60])
def test_shaders_that_save_much_at_barriers_are_many_functions(barriers):
    """LLVM's time grows faster than what one function saves at its barriers."""
    g = "evergreen"
    registers = range(6, 16)
    step = [group(op(g, "ADD_INT", 0, r, 0, gpr(r), literal(r))) for r in registers]
    code = [alu(g, *step, group(op(g, "GROUP_BARRIER", 0, 0, 0, write=False))) for _ in range(barriers)]
    shader = around(g, code)
    made = translate(Kernel(lambda: shader, "cs", 32, 0, 0, 256), Bindings({}, {}), Options())
    assert ("alwaysinline" in made.text) == (barriers == 3)
    inputs = random_inputs(1)
    assert (translated(shader, inputs) == referred(shader, inputs)).all()


@pytest.mark.parametrize("whole", [True, False])
def test_large_shaders_are_written_once_for_all_parts(whole, monkeypatch):
    """In a loop over them: what it multiplies, and the masks of the lanes that two operations of a clause end."""
    g = "evergreen"
    if not whole:
        monkeypatch.setattr("headwater.emulate.vliw.translate.INLINE_OPERATIONS", 0)
    ends = [
        group(op(g, "KILLGT_INT", slot, 0, 0, gpr(2 + slot), literal(0x7F000000 - whole), write=False))
        for slot in (0, 1)
    ]
    product = group(op(g, "MUL", 2, 7, 2, gpr(2, 2), gpr(2, 3)))
    shader = around(g, [alu(g, ends[0], product, ends[1], group(op(g, "ADD_INT", 0, 6, 0, gpr(2), literal(5))))])
    made = translate(Kernel(lambda: shader, "cs", 32, 0, 0, 256), Bindings({}, {}), Options())
    assert made.text.count("fmul <16 x float>") == (4 if whole else 1)
    inputs = random_inputs(1)
    native, slow = translated(shader, inputs), referred(shader, inputs)
    assert np.array_equal(native, slow)
    assert 0 < (native[:, 0, 0] == 0).sum() < LANES


def test_what_four_slots_compute_together_is_written_once():
    g = "evergreen"

    def multiplications(slots):
        sources = [[gpr(6 + k, slot) for k in range(3)] for slot in range(4)]
        shader = around(g, [alu(g, group(*(op(g, "FMA_64", slot, 10, slot, *sources[slot]) for slot in slots)))])
        inputs = random_inputs(2)
        assert (translated(shader, inputs) == referred(shader, inputs)).all()
        made = translate(Kernel(lambda: shader, "cs", 32, 0, 0, 256), Bindings({}, {}), Options())
        return made.text.count("call <16 x double> @llvm.fma")

    assert multiplications(range(4)) == multiplications([0]) > 0


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_push_that_no_lane_passes_jumps(generation):
    """What is read behind the jump alone is kept for it."""
    none = group(op(generation, "PRED_SETGT_INT", 0, 0, 0, literal(0), literal(1), **MASK))
    shader = around(generation, [
        alu(generation, group(op(generation, "ADD_INT", 0, 6, 0, gpr(2), literal(5)))),
        alu(generation, none, name="ALU_PUSH_BEFORE"),
        cf(generation, "PUSH", pop_count=2, addr=4),
        cf(generation, "NOP", end_of_program=1),
        alu(generation, group(op(generation, "ADD_INT", 0, 7, 0, gpr(6), literal(1)))),
    ])  # fmt: skip
    inputs = random_inputs(0)
    native, slow = translated(shader, inputs), referred(shader, inputs)
    assert np.array_equal(native[:, :2, 0], slow[:, :2, 0])
    assert (native[:, 1, 0] == native[:, 0, 0] + 1).all()
    assert (native[:, 0, 0] != 0).any()


def test_a_predicate_leaves_the_mask_that_its_clause_reads():
    generation = "evergreen"

    def read(dst):
        return group(*(op(generation, "MOV", n, dst, n, Source(mask)) for n, mask in enumerate((230, 229))))

    odd = group(op(generation, "AND_INT", 0, 12, 0, gpr(0), literal(1)))
    leave = group(op(generation, "PRED_SETE_INT", 0, 13, 0, gpr(12), literal(0), **MASK))
    shader = around(generation, [alu(generation, odd, read(6), leave, read(7)), alu(generation, read(8))])
    inputs = random_inputs(0)
    native, slow = translated(shader, inputs), referred(shader, inputs)
    assert np.array_equal(native[:, :3, :2], slow[:, :3, :2])
    assert native[0, :3, :2].tolist() == [[0xFFFFFFFF] * 2] * 2 + [[0x55555555] * 2]  # of a lane that goes on


def test_reading_a_shader_takes_time_in_proportion_to_its_loops():
    """Each break was followed to the end of every loop, and each instruction's loop looked for among all."""

    def work(count):
        program = parse(PROGRAMS["IL, loops in sequence"].text(count), "loops.il")
        code = compile_program(program, chips.find("hd5870"), "loops.il")
        return count_calls(read_program, code.shader, code.gprs, code.clause_temporaries)

    assert work(60) < 12 * work(6)

"""Input: a GCN kernel's start and its instructions. Output: what its registers hold in chosen wavefronts of a launch.

Nothing is loaded but arguments and what else a launch tells a kernel, so most registers hold nothing known; those that
indices, sizes and constants alone decide do. Within a loop a value is ``start + step × iteration``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from headwater.analyze.launch import Array, Launch, Sample
from headwater.emulate.gcn.dispatch import abi_of, hidden_values, packet_bytes
from headwater.emulate.gcn.program import effects, meaning, reads_other_lanes, registers
from headwater.emulate.wave.evaluate_numpy import evaluate
from headwater.isa.gcn.model import EXEC, SCC, VCC, Constant, Instruction, Literal, Register, constant_bits
from headwater.isa.semantics.model import Mode
from headwater.isa.semantics.types import BITS, TYPE_BITS, is_float, is_integer

if TYPE_CHECKING:
    from headwater.isa.gcn.model import Source
    from headwater.isa.gcn.objects import KernelObject

# Upper halves of addresses that stand for the memory of the arguments, of the dispatch packet and of each buffer.
_KERNARG, _PACKET, _BUFFERS = 0x7F01, 0x7F02, 0x7F10
_PASSED_ON = ("s_and_b64", "s_mov_b64", "s_or_b64")
_LINEAR = {
    "s_add_i32": "add", "s_add_u32": "add", "v_add_u32": "add", "v_add_co_u32": "add", "v_add_i32": "add",
    "s_sub_i32": "sub", "s_sub_u32": "sub", "v_sub_u32": "sub", "v_sub_co_u32": "sub", "v_sub_i32": "sub",
    "v_subrev_u32": "subrev", "v_subrev_co_u32": "subrev", "v_subrev_i32": "subrev", "s_addk_i32": "addk",
    "s_mul_i32": "mul", "v_mul_lo_u32": "mul", "v_mul_lo_i32": "mul", "v_mul_u32_u24": "mul", "v_mul_i32_i24": "mul",
    "s_mulk_i32": "mulk", "s_lshl_b32": "shl", "v_lshl_b32": "shl", "v_lshlrev_b32": "shlrev", "s_mov_b32": "mov",
    "v_mov_b32": "mov", "v_readfirstlane_b32": "mov",
    "v_add3_u32": "add3", "v_lshl_add_u32": "shladd", "v_mad_u32_u24": "mad", "v_mad_i32_i24": "mad",
    "s_addc_u32": "carry", "v_addc_co_u32": "carry", "v_addc_u32": "carry",
}  # fmt: skip
_PLAIN_MODE = Mode()
_ONES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Value:
    """``start + step × iteration`` modulo 2³², as uint32 (wavefronts × lanes, either of them 1 where it is the same for
    all). ``where``: lanes in which it is known, None for all; ``launch``: whether the launch decided it."""

    start: Array
    step: Array | None = None
    where: Array | None = None
    launch: bool = False


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison whose outcome changes from iteration to iteration."""

    left: Value
    right: Value
    relation: str
    unsigned: bool
    gathered: bool = False
    """Whether it is all lanes that came out true in any iteration so far."""


@dataclass(slots=True)
class State:
    """Scalar (VCC and EXEC as pairs of dwords, SCC as 0 or 1) and vector registers that are known, and scalar ones
    (the first of a pair) that hold a test."""

    scalars: dict[int, Value] = field(default_factory=dict)
    vectors: dict[int, Value] = field(default_factory=dict)
    tests: dict[int, Test] = field(default_factory=dict)

    def copy(self) -> State:
        """Another that may be changed apart."""
        return State(dict(self.scalars), dict(self.vectors), dict(self.tests))


def number(bits: int) -> Value:
    """A number that is the same everywhere."""
    return Value(np.array([[bits & 0xFFFFFFFF]], np.uint32))


def mask_bits(lanes: Array) -> tuple[Array, Array]:
    """Lanes of wavefronts of 64 (bool) as two dwords for each wavefront."""
    packed = np.packbits(lanes, axis=1, bitorder="little").view(np.uint32)
    return packed[:, :1], packed[:, 1:]


def mask_lanes(low: Array, high: Array) -> Array:
    """The opposite of `mask_bits`."""
    words = np.ascontiguousarray(np.concatenate(np.broadcast_arrays(low, high), axis=1))
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)


class Lanes:
    """Follows instructions. ``arguments``: values of scalar arguments by name, as far as given."""

    def __init__(self, kernel: KernelObject, target: str, arguments: Mapping[str, int], launch: Launch | None) -> None:
        self._memory = _memory(kernel, arguments, launch)
        self.sample: Sample | None = launch.sample() if launch is not None and kernel.legacy is None else None
        self.start = State()
        self._exec: tuple[Value, Value, Array] | None = None
        abi = abi_of(kernel, target)
        start = self.start.scalars
        for at, upper in ((abi.kernarg, _KERNARG), (abi.dispatch_ptr, _PACKET)):
            if at >= 0 and kernel.legacy is None:
                start[at], start[at + 1] = number(0), number(upper)
        first, count = kernel.preload
        for n in range(count):
            dword = self._memory[_KERNARG].get(4 * (first + n))
            if dword is not None:
                start[abi.preload + n] = Value(np.array([[dword[0]]], np.uint32), launch=dword[1])
        if self.sample is None:
            return
        for index, ids in zip(abi.group_id, self.sample.group, strict=True):
            if index >= 0:
                start[index] = Value(ids, launch=True)
        x, y, z = self.sample.local
        if abi.packed_ids:
            self.start.vectors[0] = Value(x | y << np.uint32(10) | z << np.uint32(20), launch=True)
        else:
            for axis in range(kernel.workitem_id_count):
                self.start.vectors[axis] = Value(self.sample.local[axis], launch=True)
        for part, bits in enumerate(mask_bits(self.sample.live)):
            start[EXEC + part] = Value(bits, launch=True)

    # -- registers -----------------------------------------------------------------------------------------------------

    def exec_lanes(self, state: State) -> Array | None:
        """The lanes that EXEC includes, None if that is not known."""
        return self._pair_lanes(state, EXEC)

    def _pair_lanes(self, state: State, index: int) -> Array | None:
        low, high = state.scalars.get(index), state.scalars.get(index + 1)
        if low is None or high is None or low.step is not None or high.step is not None:
            return None
        if self._exec is None or self._exec[0] is not low or self._exec[1] is not high:
            found = mask_lanes(low.start, high.start)
            self._exec = low, high, found if self.sample is None else np.broadcast_to(found, self.sample.live.shape)
        return self._exec[2]

    def read(self, source: Source, state: State) -> Value | None:
        """A source of 32 bits."""
        value = source.value
        if source.neg or source.abs or source.sel != 6 or source.sext:
            return None
        if isinstance(value, Constant):
            return number(constant_bits(value.code, "b32"))
        if isinstance(value, Literal):
            return number(value.bits)
        return self._register(value.file, value.index, state)

    @staticmethod
    def _register(file: str, index: int, state: State) -> Value | None:
        if file == "s":
            return state.scalars.get(index)
        return state.vectors.get(index) if file == "v" else None

    def _halves(self, source: Source, state: State) -> tuple[Value, Value] | None:
        """A source of 64 bits."""
        value = source.value
        if isinstance(value, Register):
            halves = [self._register(value.file, value.index + n, state) for n in (0, 1)]
            return (halves[0], halves[1]) if halves[0] is not None and halves[1] is not None else None
        if isinstance(value, Constant):
            bits = constant_bits(value.code, source.type if TYPE_BITS.get(source.type) == 64 else "b64")
            return number(bits), number(bits >> 32)
        extended = source.type == "i64" and value.bits >> 31
        return number(value.bits), number(_ONES if extended else 0)

    # -- instructions --------------------------------------------------------------------------------------------------

    def run(self, instruction: Instruction, state: State) -> None:
        """Follow an instruction: what it writes is known anew, or no more."""
        e = effects(instruction)
        test = self._test(instruction, state)
        made = [] if test is not None else self._made(instruction, state)
        active = self.exec_lanes(state)
        old = {index: state.vectors.get(index) for file, index, _ in made if file == "v"}
        for index in registers(e.scalar_write):
            state.scalars.pop(index, None)
            state.tests.pop(index, None)
            state.tests.pop(index - 1, None)
        for index in registers(e.vector_write | e.lanes_write):
            state.vectors.pop(index, None)
        for file, index, value in made:
            if file == "s":
                state.scalars[index] = value
            elif active is not None or value.start.shape == (1, 1):
                state.vectors[index] = self._masked(value, old[index], active)
        if test is not None:
            dest = instruction.dests[0].register.index if instruction.dests else SCC
            state.tests[dest] = test

    def _masked(self, value: Value, old: Value | None, active: Array | None) -> Value:
        """A vector register after a write in the lanes of EXEC."""
        if self.sample is None or active is None or bool((active >= self.sample.live).all()):
            return value
        where = active if value.where is None else active & value.where
        if old is None or old.step is not None or value.step is not None:
            return Value(value.start, value.step, where, True)
        kept = old.where is None or bool((where | old.where | ~self.sample.live).all())
        known = None if kept else where | old.where  # type: ignore[operator]
        return Value(np.where(where, value.start, old.start), None, known, True)

    def _made(self, instruction: Instruction, state: State) -> list[tuple[str, int, Value]]:
        """What is known of an instruction's results: register file, index, value."""
        name, row = instruction.row.name, instruction.row
        if row.encoding == "SMEM":
            return self._loaded(instruction, state)
        if name == "v_pk_mov_b32":
            return self._pair_moved(instruction, state)
        what = meaning(instruction)
        fields = instruction.fields
        if what.unsupported or what.packed or what.accesses or what.effects or fields.get("indexed"):
            return []
        if instruction.form in ("SDWA", "DPP") or any(is_float(kind) for kind in what.types.values()):
            return []
        if name == "v_readfirstlane_b32":
            return self._first_lane(instruction, state)
        if reads_other_lanes(instruction, what) or what.ignores_exec:
            return []
        if _LINEAR.get(name) == "carry" and (made := self._stepped(instruction, state)):
            return made
        sources: list[Value] = []
        operands: dict[str, Array] = {}
        for wanted in what.reads:
            found = self._operand(instruction, wanted, what.types.get(wanted, "u32"), state)
            if found is None:
                return []
            operands[wanted], used = found
            sources += used
        if fields.get("clamp"):
            return []
        if any(value.step is not None for value in sources):
            return self._stepped(instruction, state)
        where: Array | None = None
        for value in sources:
            if value.where is not None:
                where = value.where if where is None else where & value.where
        launch = any(value.launch for value in sources)
        # `evaluate` takes rows of lanes: all wavefronts' lanes one after the other.
        shape = np.broadcast_shapes(*(bits.shape for bits in operands.values()))
        flat = {n: np.broadcast_to(bits, shape).ravel() if bits.size > 1 else bits[0] for n, bits in operands.items()}
        computed = evaluate(what, flat, _PLAIN_MODE).results
        results = {
            target: bits.reshape(shape if bits.size > 1 else (1, 1))
            for target, bits in computed.items()
            if isinstance(bits, np.ndarray)
        }
        return self._placed(instruction, results, where, launch, state)

    def _operand(
        self, instruction: Instruction, name: str, kind: str, state: State
    ) -> tuple[Array, list[Value]] | None:
        """An operand's bits as the instruction's meaning wants them, and the values that they come from."""
        source = instruction.source(name)
        dest = instruction.dest(name)
        if source is None and dest is not None:
            values = [self._register(dest.register.file, dest.register.index, state)]
            if values[0] is None or dest.register.dwords != 1:
                return None
            return values[0].start, [values[0]]
        if source is None and name in ("SIMM", "SIMM16") and "simm16" in instruction.fields:
            simm = instruction.fields["simm16"]
            return np.array([[simm | (0xFFFF0000 if simm >> 15 else 0)]], np.uint32), []
        if source is None and name == "LANE":
            return np.arange(64, dtype=np.uint32)[None], []
        if source is None and name == "SCC":
            scc = state.scalars.get(SCC)
            return None if scc is None else (scc.start != 0, [scc])
        if source is None and name in ("VCC", "EXEC"):
            index = VCC if name == "VCC" else EXEC
            halves = state.scalars.get(index), state.scalars.get(index + 1)
        elif source is not None and kind == "u1":
            register = source.value
            if not isinstance(register, Register) or register.file != "s":
                return None
            lanes = self._pair_lanes(state, register.index)
            pair = [state.scalars[register.index + n] for n in (0, 1)] if lanes is not None else []
            return None if lanes is None else (lanes, pair)
        elif source is not None and BITS.get(kind) == 64:
            if source.neg or source.abs:
                return None
            halves = self._halves(source, state) or (None, None)
        elif source is not None and BITS.get(kind) == 32:
            value = self.read(source, state)
            return None if value is None else (value.start, [value])
        else:
            return None
        low, high = halves
        if low is None or high is None:
            return None
        bits = low.start.astype(np.uint64) | high.start.astype(np.uint64) << np.uint64(32)
        return bits, [low, high]

    def _placed(
        self,
        instruction: Instruction,
        results: Mapping[str, Array],
        where: Array | None,
        launch: bool,
        state: State,
    ) -> list[tuple[str, int, Value]]:
        made: list[tuple[str, int, Value]] = []
        for target, bits in results.items():
            dest = instruction.dest(target)
            special = {"VCC": VCC, "EXEC": EXEC, "SCC": SCC}.get(target)
            if dest is None and special is None:
                continue
            file, index = (dest.register.file, dest.register.index) if dest is not None else ("s", special or 0)
            if special == SCC and dest is None:
                made.append(("s", SCC, Value(bits.astype(np.uint32), launch=launch)))
                continue
            if file == "s" and bits.dtype == np.bool_:
                active = self.exec_lanes(state)
                if active is None or (where is not None and bool((active & ~where).any())):
                    continue
                parts = mask_bits(np.ascontiguousarray(np.broadcast_to(bits, active.shape) & active))
                made += [("s", index + n, Value(part, launch=True)) for n, part in enumerate(parts)]
                continue
            if file == "a" or (file == "s" and where is not None):
                continue
            dwords = [bits] if bits.itemsize <= 4 else [bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)]
            if file == "s" and any(word.shape[1] > 1 for word in dwords):
                continue
            made += [
                (file, index + n, Value(word.astype(np.uint32), None, where, launch)) for n, word in enumerate(dwords)
            ]
        return made

    def _first_lane(self, instruction: Instruction, state: State) -> list[tuple[str, int, Value]]:
        source = instruction.source("S0")
        value = self.read(source, state) if source is not None else None
        active = self.exec_lanes(state)
        if value is None or (value.where is not None and active is None):
            return []
        start = value.start
        if start.shape[1] > 1:
            if active is None:
                return []
            first = np.argmax(active, axis=1)[:, None]
            if value.where is not None and not bool(np.take_along_axis(value.where, first, 1).all()):
                return []
            start = np.take_along_axis(np.broadcast_to(start, active.shape), first, 1)
        return [("s", instruction.dests[0].register.index, Value(start, value.step, None, value.launch))]

    def _pair_moved(self, instruction: Instruction, state: State) -> list[tuple[str, int, Value]]:
        """Of either source the half that op_sel chooses."""
        dest = instruction.dests[0].register
        made: list[tuple[str, int, Value]] = []
        for n, name in enumerate(("S0", "S1")):
            source = instruction.source(name)
            halves = self._halves(source, state) if source is not None else None
            if source is not None and halves is not None and halves[source.op_sel & 1].step is None:
                made.append((dest.file, dest.index + n, halves[source.op_sel & 1]))
        return made

    def _loaded(self, instruction: Instruction, state: State) -> list[tuple[str, int, Value]]:
        base = instruction.source("ADDR")
        if base is None or base.type != "b64" or "load" not in instruction.row.flags:
            return []
        halves = self._halves(base, state)
        extra = instruction.fields["offset_bytes"]
        if instruction.source("SOFFSET") is not None:
            return []
        if halves is None or any(half.start.size != 1 or half.step is not None for half in halves):
            return []
        upper, lower = int(halves[1].start.flat[0]), int(halves[0].start.flat[0])
        known = self._memory.get(upper, {})
        first = instruction.dests[0].register
        return [
            ("s", first.index + n, Value(number(word[0]).start, launch=word[1]))
            for n in range(first.dwords)
            if (word := known.get(lower + extra + 4 * n)) is not None
        ]

    def _stepped(self, instruction: Instruction, state: State) -> list[tuple[str, int, Value]]:
        """Sums and products of values that change from iteration to iteration."""
        kind = _LINEAR.get(instruction.row.name)
        dest = instruction.dest("D")
        if kind is None or dest is None or dest.register.dwords != 1:
            return []
        if kind in ("addk", "mulk"):
            simm = instruction.fields["simm16"]
            found = [state.scalars.get(dest.register.index), number(simm | (0xFFFF0000 if simm >> 15 else 0))]
        else:
            count = 2 if kind == "carry" else 3  # without the carry, which is the third
            found = [self.read(s, state) for s in instruction.sources_of("source") if s.position < count]
        values = [value for value in found if value is not None]
        if len(values) != len(found) or all(value.step is None for value in values):
            return []
        made = _combined(kind, values)
        return [(dest.register.file, dest.register.index, made)] if made is not None else []

    def address(self, instruction: Instruction, state: State) -> Array | None:
        """The addresses, modulo 2³², that lanes give to global memory; None where they are not known. Buffers begin at
        a multiple of 2³²."""
        fields = instruction.fields
        if instruction.row.encoding == "MUBUF" and (fields.get("idxen") or fields.get("lds")):
            return None
        total = np.full((1, 1), fields.get("offset", 0) & _ONES, np.uint32)
        for source in instruction.sources_of("address"):
            part = self.read(source, state)
            if part is None or part.step is not None:
                return None
            active = self.exec_lanes(state)
            if part.where is not None and (active is None or bool((active & ~part.where).any())):
                return None
            total = total + part.start
        return total

    # -- tests ---------------------------------------------------------------------------------------------------------

    def _test(self, instruction: Instruction, state: State) -> Test | None:
        """A comparison of what changes in a loop, or what is made of one, if the instruction makes it."""
        name = instruction.row.name
        found = meaning(instruction).comparison
        if found is not None:
            relation, left, _ = found
            known = is_integer(left.type) and BITS[left.type] in (32, 64)
            return self._compared(instruction, state, relation, left.type) if known else None
        if name not in (*_PASSED_ON, "s_andn2_b64"):
            return None
        sources = [s.value.index for s in instruction.sources if isinstance(s.value, Register) and s.value.file == "s"]
        tests = [state.tests[index] for index in sources if index in state.tests]
        if len(tests) == 2 and name == "s_or_b64" and tests[0].gathered != tests[1].gathered:
            # What came out true before, and what does now: at the loop's head nothing is known of the former.
            return next(replace(test, gathered=True) for test in tests if not test.gathered) if _blank(tests) else None
        if len(tests) != 1:
            return None
        (test,) = tests
        if name == "s_andn2_b64":
            return test if sources[:1] == [EXEC] and not _is_blank(test) else None
        if name == "s_and_b64":
            return test if EXEC in sources and not test.gathered else None
        return test if name == "s_mov_b64" else None

    def _compared(self, instruction: Instruction, state: State, relation: str, type_: str) -> Test | None:
        first, second = instruction.source("S0"), instruction.source("S1")
        unsigned = type_[0] == "u"
        pair: list[Value | None] = []
        if BITS[type_] == 64 and first is not None and second is not None:
            for source in (first, second):
                halves = self._halves(source, state)
                # Below 2³², so that the lower halves alone decide.
                small = halves is not None and not halves[1].start.any() and _constant(halves[1])
                pair.append(halves[0] if halves is not None and small else None)
            unsigned = True
        elif instruction.row.encoding == "SOPK":
            simm = instruction.fields.get("simm16", 0)
            compared = self.read(first, state) if first is not None else None
            if compared is None and instruction.fields.get("sdst") is not None:
                compared = state.scalars.get(instruction.fields["sdst"])
            pair = [compared, number(simm if unsigned else simm - ((simm >> 15) << 16))]
        elif first is not None and second is not None:
            pair = [self.read(first, state), self.read(second, state)]
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            return None
        if _constant(pair[0]) and _constant(pair[1]):
            return None
        return Test(pair[0], pair[1], relation, unsigned)


def gathering() -> Test:
    """What stands for the lanes that a loop gathers, at its head."""
    return Test(number(0), number(0), "", False, True)


def _constant(value: Value) -> bool:
    return value.step is None or not bool(value.step.any())


def _is_blank(test: Test) -> bool:
    return not test.relation


def _blank(tests: list[Test]) -> bool:
    return any(_is_blank(test) for test in tests if test.gathered)


def _combined(kind: str, values: list[Value]) -> Value | None:
    """The sum or product of values, of which at least one has a step."""
    zero = np.zeros((1, 1), np.uint32)
    starts = [value.start for value in values]
    steps = [value.step if value.step is not None else zero for value in values]
    plain = [value.step is None for value in values]
    where: Array | None = None
    for value in values:
        if value.where is not None:
            where = value.where if where is None else where & value.where
    launch = any(value.launch for value in values)

    def made(start: Array, step: Array) -> Value:
        return Value(np.atleast_2d(start), np.atleast_2d(step), where, launch)

    if kind == "mov":
        return values[0]
    if kind in ("add", "addk"):
        return made(starts[0] + starts[1], steps[0] + steps[1])
    if kind == "carry":
        # The upper half of a sum: no carry reaches it below 2^32, where bounds are that a loop is known to come to.
        return made(starts[0] + starts[1], steps[0] + steps[1])
    if kind == "sub":
        return made(starts[0] - starts[1], steps[0] - steps[1])
    if kind == "subrev":
        return made(starts[1] - starts[0], steps[1] - steps[0])
    if kind == "add3":
        return made(starts[0] + starts[1] + starts[2], steps[0] + steps[1] + steps[2])
    if kind in ("mul", "mulk", "mad") and (plain[0] or plain[1]):
        more = (starts[2], steps[2]) if kind == "mad" else (zero, zero)
        return made(starts[0] * starts[1] + more[0], steps[0] * starts[1] + starts[0] * steps[1] + more[1])
    if kind == "shl" and plain[1]:
        return made(starts[0] << (starts[1] & 31), steps[0] << (starts[1] & 31))
    if kind == "shlrev" and plain[0]:
        return made(starts[1] << (starts[0] & 31), steps[1] << (starts[0] & 31))
    if kind == "shladd" and plain[1]:
        return made((starts[0] << (starts[1] & 31)) + starts[2], (steps[0] << (starts[1] & 31)) + steps[2])
    return None


def _memory(
    kernel: KernelObject, arguments: Mapping[str, int], launch: Launch | None
) -> dict[int, dict[int, tuple[int, bool]]]:
    """What is known of the kernarg segment and the dispatch packet: upper half of the address -> offset -> a dword, and
    whether the launch decided it."""
    known: dict[int, tuple[int, bool]] = {}
    for argument in kernel.args:
        if argument.value_kind == "by_value" and argument.name in arguments:
            bits = arguments[argument.name] & ((1 << 8 * max(argument.size, 4)) - 1)
            for part in range(max(1, argument.size // 4)):
                known[argument.offset + 4 * part] = bits >> 32 * part & 0xFFFFFFFF, False
        if argument.value_kind == "global_buffer":
            known[argument.offset], known[argument.offset + 4] = (0, False), (_BUFFERS + len(known), False)
    if launch is None:
        return {_KERNARG: known}
    size = tuple(n * g for n, g in zip(launch.groups, launch.group, strict=True))
    whole = (size[0], size[1], size[2])
    hidden = hidden_values(launch.dimensions, whole, launch.group, (0, 0, 0), printf=0, queue=0, lds_bytes=0)
    memory: dict[int, int] = {}
    for argument in kernel.args:
        if argument.value_kind.startswith("hidden_") and argument.value_kind != "hidden_none":
            data = hidden.get(argument.value_kind, 0).to_bytes(argument.size, "little")
            memory.update({argument.offset + n: byte for n, byte in enumerate(data)})
    for at in {offset & ~3 for offset in memory}:
        if all(at + n in memory for n in range(4)):
            known[at] = sum(memory[at + n] << 8 * n for n in range(4)), True
    packet = packet_bytes(launch.dimensions, whole, launch.group, 0, 0, 0)
    words = struct.unpack(f"<{len(packet) // 4}I", packet)
    return {_KERNARG: known, _PACKET: {4 * n: (word, True) for n, word in enumerate(words)}}

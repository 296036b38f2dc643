"""Input: random programs of ATI IL. Output: those whose answers differ between the cpu device and simulated VLIW chips.

Run as ``python -m verification.fuzz_il_runs --count 1000``. Lanes keep a kind, float, integer or double, and operations
are those whose result is exact, so that devices must agree; floats too small to be normal, which VLIW chips take for 0,
do not come up. Programs nest ifs, loops, switches and calls, return early, index temporaries and constants by
registers, sample textures of one and two dimensions, write several outputs, the global buffer, views and both kinds of
LDS. A program on which devices differ is named by its seed and made smaller, line by line. Exit status 1 if any is.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field

import numpy as np

import headwater as hw

Arrays = dict[str, np.ndarray]
CHIPS = ("hd3870", "hd4870", "hd5870", "hd6970")
TIME_LIMIT_SECONDS = 20.0
GROUPS = 3
_NO_COMPUTE = ("hd3870",)
_OLD = ("hd3870", "hd4870")
_MASKS = ("", "", "", ".x___", "._y__", ".xy__", ".__zw", ".xyz_", ".x__w", ".y")
_PAIRS = (".xy__", ".__zw")
_FLOAT = (
    "add 2", "sub 2", "mul 2", "mul_ieee 2", "mad 3", "mad_ieee 3", "min 2", "max 2",
    "abs 1", "frc 1", "flr 1", "trc 1", "rnd 1", "round_plusinf 1", "sgn 1", "lrp 3", "dp2 2", "dp3_ieee 2",
    "dp4 2", "crs 2", "dst 2", "mov 1", "cmov 3", "set_relop(lt) 2", "cmp_relop(ge)_cmpval(0.5) 3",
)  # fmt: skip
_INTEGER = (
    "iadd 2", "isub 2", "imul 2", "imul_high 2", "imad 3", "imin 2", "imax 2", "inegate 1", "iand 2", "ior 2", "ixor 2",
    "inot 1", "ishl 2", "ishr 2", "ushr 2", "ieq 2", "ine 2", "ilt 2", "ige 2", "ult 2", "uge 2", "umul_high 2",
    "udiv 2", "umod 2", "umin 2", "umax 2", "imul24 2", "imul24_high 2", "imad24 3", "umul24 2", "umul24_high 2",
    "umad24 3", "icarry 2", "iborrow 2", "icbits 1", "ffb_hi 1", "ffb_lo 1", "ffb_shi 1", "ubit_reverse 1",
    "ibit_extract 3", "ubit_extract 3", "ubit_insert 4", "bitalign 3", "bytealign 3", "sad 3", "sad_hi 3", "sad4 3",
    "u4lerp 3", "mov 1", "cmov_logical 3",
)  # fmt: skip
_TO_INTEGER = ("eq 2", "ne 2", "lt 2", "ge 2", "ftoi 1", "ftou 1")
_TO_FLOAT = ("itof 1", "utof 1", "unpack0 1", "unpack2 1")
_PAIR = (
    "i64add LL", "i64sub LL", "i64mul LL", "i64negate L", "i64max LL", "u64min LL", "i64shl LU", "i64shr LU",
    "u64shr LU",
)  # fmt: skip
_DOUBLE = ("dadd DD", "dsub DD", "dmul DD", "dmov D", "dmovc UDD", "dabs D", "itod U", "utod U", "f2d F")
_FROM_DOUBLE = ("deq", "dne", "dlt", "dge")
_ATOMICS = ("add", "sub", "min", "umax", "and", "or", "xor", "xchg", "inc", "dec")
_EXTENTS = {"i0": (8, 16, 4), "i1": (4, 8, 1), "i2": (32, 2), "i3": (16, 4)}
"""Shapes of the textures, whose sizes are powers of two, so that normalised coordinates are exact."""


@dataclass
class Program:
    """A program as lines, what it runs over, and the chips that have all it needs."""

    lines: list[str]
    size: tuple[int, ...]
    group: tuple[int, ...] | None
    chips: tuple[str, ...]
    doubles: bool

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass
class _Writer:
    rng: random.Random
    compute: bool
    evergreen: bool
    doubles: bool
    depth: int = 0
    loops: int = 0
    switches: int = 0
    functions: int = 0
    inside: int = -1
    """The function that is being written; -1 in the main program."""
    budget: int = 60
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.lines.append(text)

    def pick(self, *values: str) -> str:
        return self.rng.choice(values)

    def swizzle(self) -> str:
        return self.pick("", "", ".x", ".y", ".wzyx", ".yyzz", ".zwxy", ".x0y1")

    def indexed(self, name: str, index: str, last: int) -> str:
        """An element by a register that holds 0 to 3, and a number."""
        return f"{name}[{self.pick('', index + ' + ', index + ' + ')}{self.rng.randrange(last + 1)}]"

    def source(self, kind: str) -> str:
        rng = self.rng
        if kind == "f":
            register = self.pick("r0", "r1", "r2", "r3", "r0", "r1", "cb0", "l0", "x0")
            last = {"cb0": 4, "x0": 4}
        else:
            register = self.pick("r4", "r5", "r6", "r7", "r4", "r5", "cb1", "l1", "x1")
            last = {"cb1": 4, "x1": 8}
        if register in last:
            register = self.indexed(register, f"r10.{self.pick('x', 'y')}", last[register])
        text = register + (self.swizzle() if kind == "f" else self.swizzle().replace("0", "z").replace("1", "w"))
        if kind == "f" and rng.random() < 0.3:
            text += self.pick("_neg(xyzw)", "_neg(x)", "_neg(yz)", "_abs", "_bias", "_invert", "_sign", "_x2")
        elif kind == "i" and rng.random() < 0.15:
            text += self.pick("_neg(xyzw)", "_neg(y)")
        return text

    def scalar(self, kind: str) -> str:
        text = self.source(kind).partition("_")[0].split(".")
        return (
            text[0] + "." + self.pick(*"xyzw")
            if "[" not in text[0]
            else f"r{self.rng.randrange(4) + 4 * (kind == 'i')}.x"
        )

    def target(self, kind: str) -> str:
        first = 0 if kind == "f" else 4
        if self.rng.random() < 0.15:
            name, last = ("x0", 4) if kind == "f" else ("x1", 8)
            return self.indexed(name, f"r10.{self.pick('x', 'y')}", last)
        return f"r{first + self.rng.randrange(4)}"

    # -- statements ----------------------------------------------------------------------------------------------------

    def block(self, most: int) -> None:
        for _ in range(self.rng.randint(1, most)):
            self.statement()

    def statement(self) -> None:
        if self.budget <= 0:
            return
        self.budget -= 1
        rng = self.rng
        compound = [self.branch, self.loop, self.switch, self.call] if self.depth < 4 else []
        plain = [self.floats] * 5 + [self.integers] * 5 + [self.convert] * 2 + [self.index] * 2 + [self.fetch] * 3
        plain += [self.pairs]
        if self.doubles:
            plain += [self.double] * 4
        if self.depth and self.inside >= 0:
            plain += [self.leave] * 2
        if self.loops or self.switches:
            plain += [self.jump] * 2
        plain += [self.memory] * 2
        rng.choice(plain + compound * 2)()

    def nested(self, most: int) -> None:
        self.depth += 1
        self.block(most)
        self.depth -= 1

    def floats(self) -> None:
        name, count = self.pick(*_FLOAT).split()
        scale = self.pick("", "", "", "_sat", "_x2", "_d2", "_x4", "_d8") if name not in ("mov", "cmov") else ""
        sources = ", ".join(self.source("f") for _ in range(int(count)))
        self.add(f"{name}{scale} {self.target('f')}{self.pick(*_MASKS)}, {sources}")

    def integers(self) -> None:
        name, count = self.pick(*_INTEGER).split()
        sources = ", ".join(self.source("i") for _ in range(int(count)))
        self.add(f"{name} {self.target('i')}{self.pick(*_MASKS)}, {sources}")

    def convert(self) -> None:
        to, names = self.rng.choice((("i", _TO_INTEGER), ("f", _TO_FLOAT)))
        name, count = self.pick(*names).split()
        sources = ", ".join(self.source("f" if to == "i" else "i") for _ in range(int(count)))
        self.add(f"{name} {self.target(to)}{self.pick(*_MASKS)}, {sources}")

    def index(self) -> None:
        self.add(f"iand r10{self.pick('.x___', '._y__', '.xy__')}, {self.source('i')}, l2.x")

    def pairs(self) -> None:
        name, kinds = self.pick(*_PAIR).split()
        sources = [
            f"r{self.rng.randrange(4, 8)}.{self.pick('xy', 'zw', 'yx')}" if k == "L" else self.scalar("i")
            for k in kinds
        ]
        self.add(f"{name} r{self.rng.randrange(4, 8)}{self.pick(*_PAIRS)}, {', '.join(sources)}")

    def double(self) -> None:
        def pair() -> str:
            return f"r{self.rng.randrange(8, 10)}.{self.pick('xy', 'zw')}"

        if self.rng.random() < 0.3:
            target = f"r{self.rng.randrange(4, 8)}.{self.pick('x___', '_y__')}"
            self.add(f"{self.pick(*_FROM_DOUBLE)} {target}, {pair()}, {pair()}")
            return
        name, kinds = self.pick(*_DOUBLE).split()
        if name in ("itod", "utod") and not self.evergreen:
            name, kinds = "dadd", "DD"
        made = {"D": pair, "U": lambda: self.scalar("i"), "F": lambda: self.scalar("f")}
        self.add(f"{name} r{self.rng.randrange(8, 10)}{self.pick(*_PAIRS)}, {', '.join(made[k]() for k in kinds)}")

    def fetch(self) -> None:
        which = self.pick("i0", "i1", "i2", "i3")
        number = which[1]
        to = self.rng.randrange(4)
        offset = self.pick("", "", "_aoffimmi(1,-1,0)", "_aoffimmi(-3,2,0)")
        mask = self.pick(*_MASKS)
        if self.rng.random() < 0.4:
            self.add(f"iand r11.xy, {self.source('i')}, l3.{self.pick('yx', 'xz', 'ww')}")  # some are outside
            self.add(f"load_resource({number}){offset} r{to}{mask}, r11.xy00")
            return
        self.add(f"iand r11.xy, {self.source('i')}, l4.xy")
        self.add("itof r11.xy, r11")
        self.add("add r11.xy, r11, l0.z")  # 0.5
        if number in "13":
            self.add(f"mul r11.xy, r11, l5.{'xy' if number == '1' else 'zz'}")
            offset = ""
        self.add(f"sample_resource({number})_sampler(0){offset} r{to}{mask}, r11.xy00")

    def memory(self) -> None:
        """The work-item's own elements of the global buffer; views and LDS where there are."""
        rng = self.rng
        how = rng.randrange(9 if self.evergreen and self.compute else 2)
        at = rng.randrange(3)
        if how == 0:
            self.add(f"mov g[r12.{'xyz'[at]}]{self.pick(*_MASKS)}, r{rng.randrange(4)}")
        elif how == 1:
            self.add(f"mov r{rng.randrange(4)}{self.pick(*_MASKS)}, g[r12.{'xyz'[at]}]{self.pick('', '.x', '.wzyx')}")
        elif how == 2:
            self.add(f"uav_raw_store_id(0) mem{self.pick('.x___', '.xy__', '')}, r13.x, r{rng.randrange(4, 8)}")
        elif how == 3:
            self.add(f"uav_raw_load_id(0) r{rng.randrange(4, 8)}{self.pick(*_MASKS)}, r13.x")
        elif how == 4:
            target = f"r{rng.randrange(4, 8)}{self.pick(*_MASKS)}"
            self.add(f"uav_read_{self.pick(*_ATOMICS)}_id(0) {target}, r13.x, {self.scalar('i')}")
        elif how == 5:
            places = self.pick("_id(2) mem.x___, r19.xy", "_id(2) mem.xy__, r19.xy", "_id(2) mem, r19.xz")
            self.add(f"uav_struct_store{places}, r{rng.randrange(4, 8)}")
            self.add(f"uav_struct_load_id(2) r{rng.randrange(4, 8)}{self.pick(*_MASKS)}, r19.xz")
        elif how == 6:
            size = self.pick("byte", "short", "dword")
            self.add("iadd r19.w, r13.x, l7.y")
            self.add(f"uav_arena_store_id(3)_size({size}) r19.w, {self.scalar('i')}")
            self.add(f"uav_arena_load_id(3)_size({self.pick('byte', size)}) r{rng.randrange(4, 8)}, r19.w")
        elif how == 7:
            operation = self.pick("add", "sub", "umin", "max", "and", "or", "xchg")
            target = f"r{rng.randrange(4, 8)}{self.pick(*_MASKS)}"
            self.add(f"lds_read_{operation}_resource(1) {target}, r16.x, {self.scalar('i')}")
        else:
            self.add(f"uav_{self.pick('add_id(1) l1.x', 'umax_id(1) l1.y', 'xor_id(1) l1.z')}, {self.scalar('i')}")

    def branch(self) -> None:
        kind = self.rng.randrange(3)
        if kind == 0:
            self.add(
                f"ifc_relop({self.pick('lt', 'ge', 'eq', 'ne', 'gt', 'le')}) {self.scalar('f')}, {self.scalar('f')}"
            )
        else:
            self.add(f"iand r14.x, {self.scalar('i')}, l1.{self.pick('x', 'y', 'z')}")
            self.add(f"{self.pick('if_logicalnz', 'if_logicalz')} r14.x")
        self.nested(4)
        if self.rng.random() < 0.5:
            self.add("else")
            self.nested(4)
        self.add("endif")

    def loop(self) -> None:
        if self.loops >= 2:
            return
        counter = f"r{20 + 3 * (self.inside + 1) + self.loops}"
        self.add(f"mov {counter}.x, l1.w")
        self.add("whileloop")
        self.add(f"ige {counter}.y, {counter}.x, l6.{self.pick(*'xyz')}")
        self.add(f"break_logicalnz {counter}.y")
        self.add(f"iadd {counter}.x, {counter}.x, l1.x")
        self.loops += 1
        self.nested(5)
        self.loops -= 1
        self.add("endloop")

    def jump(self) -> None:
        self.add(f"iand r14.x, {self.scalar('i')}, l1.{self.pick('x', 'y', 'z')}")
        self.add(f"{self.pick('break', *['continue'] * (self.loops > 0))}_{self.pick('logicalnz', 'logicalz')} r14.x")

    def leave(self) -> None:
        self.add(f"iand r14.x, {self.scalar('i')}, l1.{self.pick('y', 'z')}")
        self.add(f"{self.pick('ret_logicalnz', 'ret_logicalz')} r14.x")

    def switch(self) -> None:
        self.add(f"iand r15.x, {self.scalar('i')}, l2.x")
        self.add("switch r15.x")
        self.switches += 1
        for case in self.rng.sample(range(4), self.rng.randint(1, 3)):
            self.add(f"case {case}")
            self.nested(3)
            if self.rng.random() < 0.8:
                self.add("break")
        if self.rng.random() < 0.5:
            self.add("default")
            self.nested(2)
            self.add("break")
        self.switches -= 1
        self.add("endswitch")

    def call(self) -> None:
        later = range(self.inside + 1, self.functions)
        if later:
            number = self.rng.choice(later)
            self.add(self.pick(f"call {number}", f"call_logicalnz {self.scalar('i')}, {number}"))

    def share(self) -> None:
        """What others of the group wrote to LDS; only where all work-items come."""
        rng = self.rng
        self.add("fence_threads_lds")
        if self.evergreen and rng.random() < 0.6:
            self.add(f"lds_store_vec_id(1) mem{self.pick('.xy__', '')}, r16.x, l1.w, r{rng.randrange(4, 8)}")
            self.add("fence_threads_lds")
            self.add(f"lds_load_vec_id(1) r{rng.randrange(4, 8)}{self.pick(*_MASKS)}, r16.y, l1.w")
        elif self.evergreen and rng.random() < 0.5:
            self.add(f"lds_{self.pick('add', 'umax', 'xor')}_id(2) l1.x, {self.scalar('i')}")
            self.add("fence_threads_lds")
            self.add(f"lds_load_id(2) r{rng.randrange(4, 8)}{self.pick(*_MASKS)}, l1.x")
        elif not self.evergreen:
            target = f"{self.pick('', '_lOffset(4)')} mem{self.pick('.xy__', '', '.x___')}"
            self.add(f"lds_write_vec{target}, r{rng.randrange(4, 8)}")
            self.add("fence_threads_lds")
            exchange = self.pick("", "", "_neighborExch")
            self.add(f"lds_read_vec{exchange} r{rng.randrange(4, 8)}{self.pick(*_MASKS)}, r16.zw")
        self.add("fence_threads_lds")


def made(rng: random.Random) -> Program:
    """A program of a seed's generator."""
    compute = rng.random() < 0.5
    evergreen = rng.random() < 0.6
    doubles = rng.random() < 0.35
    chips = tuple(c for c in CHIPS if not (compute and c in _NO_COMPUTE) and not (evergreen and c in _OLD))
    size: tuple[int, ...] = rng.choice(((13, 5), (7, 3), (1, 1), (64, 2), (33, 9), (100, 1)))
    group: tuple[int, ...] | None = None
    if compute:
        group = rng.choice(
            ((64, 1, 1), (32, 1, 1), (5, 3, 2), (96, 1, 1), (8, 16, 1)) if evergreen else ((64, 1, 1), (32, 1, 1))
        )
        size = (group[0] * GROUPS, group[1], group[2])
    total = int(np.prod(size))
    items = int(np.prod(group or (1,)))
    lines = [f"il_{'cs' if compute else 'ps'}_2_0"]
    if group:
        lines.append(f"dcl_num_thread_per_group {group[0]}, {group[1]}, {group[2]}")
    else:
        lines += ["dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__"]
        lines += [f"dcl_output_generic o{n}" for n in range(3)]
    for name, shape in _EXTENTS.items():
        kind = f"{len(shape) - 1}d{',unnorm' if name in ('i0', 'i2') else ''}"
        lines.append(f"dcl_resource_id({name[1]})_type({kind})_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)")
    lines += ["dcl_cb cb0[8]", "dcl_cb cb1[8]", "dcl_indexed_temp_array x0[8]", "dcl_indexed_temp_array x1[12]"]
    lines += ["dcl_literal l0, 1.5, -2.0, 0.5, 3.0", "dcl_literal l1, 1, 6, 9, 0", "dcl_literal l2, 3, 0xFFFF, -7, 31"]
    lines += ["dcl_literal l3, 7, 15, 3, 15", f"dcl_literal l4, 15, 7, {total}, {2 * total}"]
    lines += ["dcl_literal l5, 0.125, 0.25, 0.0625, 1.0", "dcl_literal l6, 2, 3, 5, 16"]
    lines += [f"dcl_literal l7, {size[0]}, 4, {16 * items - 16}, {items - 1}"]
    if compute and evergreen:
        lines += ["dcl_raw_uav_id(0)", "dcl_raw_uav_id(1)", "dcl_struct_uav_id(2) 16", "dcl_arena_uav_id(3)"]
        lines += [f"dcl_lds_id(1) {16 * items}", "dcl_lds_id(2) 16"]
    elif compute:
        lines += ["dcl_lds_size_per_thread 8"]
    writer = _Writer(rng, compute, evergreen, doubles)
    writer.functions = rng.randrange(4)
    if compute:
        writer.add("mov r12.x, vAbsTidFlat0.x")
        writer.add("mov r4, vaTid0")
        writer.add("mov r5, vTGroupid0.xyzx")
        writer.add("mov r6, vTid0.xyzx")
        writer.add("mov r17.x, vTidInGrpFlat0.x")
    else:
        writer.add("ftoi r4.xy, vWinCoord0.xy")
        writer.add("imad r12.x, r4.y, l7.x, r4.x")
        writer.add("mov r5, r12.x")
        writer.add("mov r6, r4.yxyx")
    writer.add("iadd r12.yz, r12.xxxx, l4.xzwz")
    writer.add("itof r0, r4.xyxy")
    writer.add("itof r1, r5.xyzx")
    writer.add("mov r2, cb0[1]")
    writer.add("mov r7, cb1[2]")
    writer.add("umul r13.x, r12.x, l6.w")
    if compute:
        writer.add("umul r16.x, r17.x, l6.w")
        writer.add("isub r16.y, l7.z, r16.x")
        writer.add("isub r16.z, l7.w, r17.x")
        if evergreen:
            writer.add("mov r19.x, r12.x")
            writer.add("mov r19.y, l7.y")
            writer.add("lds_store_id(2) l1.x, l1.w")
            writer.add("lds_store_vec_id(1) mem, r16.x, l1.w, r4")
        else:
            writer.add("lds_write_vec mem, r4")
            writer.add("lds_write_vec_lOffset(4) mem, r5")
    if doubles:
        for n, source in enumerate(("r0.x", "r0.y", "cb0[2].x", "cb0[3].z")):
            writer.add(f"f2d r{8 + n // 2}.{('xy', 'zw')[n % 2]}, {source}")
    for k in range(4):
        writer.add(f"mov x0[{k}], r{k % 3}")
        writer.add(f"mov x1[{k}], r{4 + k}")
    for _ in range(rng.randint(1, 4)):
        writer.budget = max(writer.budget, 15)
        writer.block(rng.choice((3, 8, 14)))
        if compute:
            writer.share()
    if not doubles:
        writer.add("mov r8, r5")
    if compute:
        for n, register in enumerate(("r0", "r4", "r8")):
            writer.add("imad r18.x, l2.x, l4.z, r12.x" if n == 0 else "iadd r18.x, r18.x, l4.z")
            writer.add(f"mov g[r18.x], {register}")
    else:
        writer.add("mov o0, r0")
        writer.add("mov o1, r4")
        writer.add("mov o2, r8")
    if writer.functions:
        writer.add("endmain")
    for number in range(writer.functions):
        writer.inside, writer.depth, writer.budget = number, 1, 20
        writer.add(f"func {number}")
        writer.block(5)
        writer.add("ret")
        writer.add("endfunc")
    writer.add("end")
    return Program(lines + writer.lines, size, group, chips, doubles)


def inputs(program: Program, seed: int) -> Arrays:
    """What a program gets."""
    rng = np.random.default_rng(seed)
    total = int(np.prod(program.size))

    def eighths(shape: tuple[int, ...]) -> np.ndarray:
        return (rng.integers(-64, 64, shape) / 8).astype(np.float32)

    given: Arrays = {name: eighths(shape) for name, shape in _EXTENTS.items()}
    given["cb0"] = eighths((8, 4))
    given["cb1"] = rng.choice(np.array([0, 1, 2, 5, 31, 255, 70000, 2**31 - 1, -1, -5], np.int64), (8, 4)).astype(
        np.int32
    )
    given["g"] = eighths((6 * total, 4))
    given["uav0"] = rng.integers(-9, 9, (4 * total + 4,)).astype(np.int32)
    given["uav1"] = np.zeros(8, np.uint32)
    given["uav2"] = given["uav0"] + 5
    given["uav3"] = given["uav0"] - 3
    if program.group is None:
        width, height = program.size
        given |= {"o0": np.zeros((height, width, 4), np.float32), "o1": np.zeros((height, width, 1), np.uint32)}
        given["o2"] = np.zeros((height, width, 2), np.uint32)
    return given


def answers(program: Program, given: Arrays, device: str) -> Arrays:
    """What a program leaves."""
    compiled = hw.compile(program.source, language="il", device=device)
    names = {p.name for p in compiled.main.parameters}
    arrays = {name: array.copy() for name, array in given.items() if name in names}
    compiled.main[program.size, program.group](**arrays, device=device, time_limit=TIME_LIMIT_SECONDS).wait()
    return arrays


def differing(program: Program, expected: Arrays, got: Arrays) -> str:
    """Where two answers differ, "" if nowhere; a NaN is like another, and 0 like -0."""
    total = int(np.prod(program.size))
    for name, one in expected.items():
        first, second = one.view(np.uint32).reshape(-1), got[name].view(np.uint32).reshape(-1)
        wrong = first != second
        parts = np.array_split(wrong, 6) if name == "g" else [wrong]  # three elements of its own, then r0, r4, r8
        for k, part in enumerate(parts):
            whole = name == "o1" or (name == "g" and program.group is not None and k == 4)
            doubles = program.doubles and (name == "o2" or (name == "g" and program.group is not None and k == 5))
            if name.startswith("uav") or whole or (k == 5 and not doubles) or (name == "o2" and not doubles):
                continue
            kind = np.float64 if doubles else np.float32
            at = slice(4 * total * k, 4 * total * (k + 1)) if name == "g" else slice(None)
            a, b = (np.ascontiguousarray(x[at]).view(kind) for x in (first, second))
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            part &= ~(np.repeat(same, 2) if doubles else same)
        if wrong.any():
            where = int(np.argmax(wrong))
            return (
                f"{name}: {int(wrong.sum())} lanes of {len(wrong)}, "
                f"first {where}: {first[where]:#x} became {second[where]:#x}"
            )
    return ""


def examine(program: Program, seed: int, chips: tuple[str, ...]) -> str:
    """What is wrong with a program's answers, "" if nothing."""
    given = inputs(program, seed)
    expected = answers(program, given, "cpu")
    for chip in chips:
        note = differing(program, expected, answers(program, given, chip))
        if note:
            return f"{chip}: {note}"
    return ""


def compiled(program: Program, chips: tuple[str, ...]) -> str:
    """Compiles a program; "" as nothing is wrong."""
    from headwater.chips import find
    from headwater.il.parser import parse
    from headwater.isa.vliw.compiler import compile_program

    read = parse(program.source)
    for chip in chips:
        compile_program(read, find(chip))
    return ""


def smaller(program: Program, seed: int, chip: str, seconds: float) -> Program:
    """The program with lines left out as long as it is wrong."""
    best, end = program, time.monotonic() + seconds
    size = max(1, len(best.lines) // 4)
    while size and time.monotonic() < end:
        at, found = 1, False
        while at < len(best.lines) and time.monotonic() < end:
            tried = Program(best.lines[:at] + best.lines[at + size :], best.size, best.group, best.chips, best.doubles)
            try:
                wrong = bool(examine(tried, seed, (chip,)))
            except hw.HeadwaterError:
                wrong = False
            if wrong:
                best, found = tried, True
            else:
                at += size
        if not found or size > 1:
            size //= 2
    return best


def main() -> int:
    """Print a line for each wrong program and a sum; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m verification.fuzz_il_runs", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="programs (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (default: 1)")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--device", action="append", help=f"devices to compare (default: {', '.join(CHIPS)})")
    parser.add_argument("--compile", action="store_true", help="only compile, which takes a tenth of the time")
    parser.add_argument("--show", action="store_true", help="print the first program instead")
    parser.add_argument(
        "--smaller", type=float, default=60.0, help="seconds to make a wrong program smaller (default: 60)"
    )
    chosen = parser.parse_args()
    end = time.monotonic() + chosen.seconds
    done = wrong = refused = 0
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        program = made(random.Random(seed))
        if chosen.show:
            print(program.source)
            return 0
        if time.monotonic() > end:
            break
        chips = (
            program.chips
            if chosen.device is None
            else tuple(d for d in chosen.device if d in program.chips or d not in CHIPS)
        )
        done += 1
        try:
            note = compiled(program, chips) if chosen.compile else examine(program, seed, chips)
        except hw.HeadwaterError as error:
            refused += 1
            print(f"seed {seed}: refused: {' '.join(str(error).split())[:300]}", flush=True)
            continue
        except Exception as error:
            note = f"{type(error).__name__}: {error}"
        if note:
            wrong += 1
            print(f"seed {seed}: {note}", flush=True)
            if chosen.smaller and note.partition(":")[0] in chips:
                print(smaller(program, seed, note.partition(":")[0], chosen.smaller).source, flush=True)
    print(f"{done} programs: {wrong} wrong, {refused} refused")
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())

"""Scalar atomic instructions and SCRATCH instructions beyond private memory, by hand, translated and interpreted.

Numbers and names: AMD, "Vega" ISA Reference Guide, SMEM opcodes.
"""

import numpy as np
import pytest
from translated_runs import random_inputs, referred, translated, whole

PLACE = 0x1800
OPERATIONS = {
    "swap": lambda mem, data, bits: data,
    "add": lambda mem, data, bits: mem + data,
    "sub": lambda mem, data, bits: mem - data,
    "smin": lambda mem, data, bits: min(mem, data, key=lambda x: signed(x, bits)),
    "umin": lambda mem, data, bits: min(mem, data),
    "smax": lambda mem, data, bits: max(mem, data, key=lambda x: signed(x, bits)),
    "umax": lambda mem, data, bits: max(mem, data),
    "and": lambda mem, data, bits: mem & data,
    "or": lambda mem, data, bits: mem | data,
    "xor": lambda mem, data, bits: mem ^ data,
    "inc": lambda mem, data, bits: 0 if mem >= data else mem + 1,
    "dec": lambda mem, data, bits: data if mem == 0 or mem > data else mem - 1,
}
PAIRS = ((0x80000005, 0x7FFFFFF0), (3, 0xFFFFFFFE), (0, 9))
"""What memory and what the instruction has, of 32 bits; of 64, twice that."""


def signed(number, bits):
    return number - (number >> (bits - 1) << bits)


def left(text, memory_words, target):
    """The scalar registers s20 to s23 at the end, by both ways, which agree."""
    inputs = random_inputs(1, (0,))
    inputs[PLACE // 4 : PLACE // 4 + len(memory_words)] = memory_words
    moves = "\n".join(f"v_mov_b32 v{n}, s{n}" for n in range(20, 24))
    program = whole(f"{text}\ns_waitcnt lgkmcnt(0)\n{moves}", target)
    found = translated(program, inputs, 64, target)[:4, 0]
    assert (referred(program, inputs, 64, target)[:4, 0] == found).all()
    return found.tolist()


def words(number, count):
    return [number >> 32 * n & 0xFFFFFFFF for n in range(count)]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("base", ["s[0:1]", "s[4:7]"])
def test_a_scalar_atomic_updates_memory_once(name, base):
    for bits in (32, 64):
        count, suffix = bits // 32, "" if bits == 32 else "_x2"
        buffer = "buffer_" if base == "s[4:7]" else ""
        last = 19 + count
        at = "s20" if count == 1 else f"s[20:{last}]"
        for mem, data in PAIRS:
            mem, data = (mem, data) if bits == 32 else (mem << 32 | 7, data << 32 | 5)
            sets = "\n".join(f"s_mov_b32 s{20 + n}, {word:#x}" for n, word in enumerate(words(data, count)))
            text = f"""s_mov_b32 s4, s0
              s_mov_b32 s5, s1
              s_mov_b32 s6, 0x2000
              s_mov_b32 s7, 0x27000
              {sets}
              s_{buffer}atomic_{name}{suffix} {at}, {base}, {PLACE:#x} glc
              s_waitcnt lgkmcnt(0)
              s_load_dwordx2 s[22:23], s[0:1], {PLACE:#x}"""
            found = left(text, [*words(mem, 2)], "gfx900")
            after = OPERATIONS[name](mem, data, bits) & (1 << bits) - 1
            assert found[:count] == words(mem, count), "what memory held"
            assert found[2 : 2 + count] == words(after, count), "what it holds"


@pytest.mark.parametrize(("held", "after"), [(5, 9), (6, 6)])
def test_a_scalar_atomic_compares(held, after):
    """The new number comes first, then the one that is compared with."""
    text = f"""s_mov_b32 s20, 9
      s_mov_b32 s21, 5
      s_atomic_cmpswap s[20:21], s[0:1], {PLACE:#x} glc
      s_waitcnt lgkmcnt(0)
      s_load_dword s22, s[0:1], {PLACE:#x}"""
    found = left(text, [held], "gfx906")
    assert (found[0], found[2]) == (held, after)


def test_a_scalar_atomic_returns_nothing_unless_asked_and_leaves_a_buffer_alone_behind_its_end():
    text = f"""s_mov_b32 s4, s0
      s_mov_b32 s5, s1
      s_mov_b32 s6, {PLACE:#x}
      s_mov_b32 s7, 0x27000
      s_mov_b32 s20, 9
      s_mov_b32 s21, 9
      s_atomic_add s20, s[0:1], {PLACE:#x}
      s_buffer_atomic_add s21, s[4:7], {PLACE:#x} glc
      s_waitcnt lgkmcnt(0)
      s_load_dword s22, s[0:1], {PLACE:#x}"""
    assert left(text, [100], "gfx900")[:3] == [9, 0, 109]


def test_clocks_are_still_clocks():
    text = "s_memtime s[20:21]\ns_waitcnt lgkmcnt(0)\ns_memtime s[22:23]\ns_waitcnt lgkmcnt(0)"
    inputs = random_inputs(1, (0,))
    moves = "\n".join(f"v_mov_b32 v{n}, s{n}" for n in range(20, 24))
    found = translated(whole(f"{text}\n{moves}", "gfx900"), inputs, 64, "gfx900")[:4, 0].astype(np.uint64)
    assert found[2] | found[3] << np.uint64(32) >= found[0] | found[1] << np.uint64(32)

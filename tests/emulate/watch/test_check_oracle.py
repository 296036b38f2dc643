"""`--check` finds the races and the unwritten memory that a list of all accesses shows, and no others."""

import random
from collections import defaultdict

import numpy as np
import pytest

import headwater as hw
from headwater.emulate.watch import check

SOURCE = """
kernel void play(global int *mem, global const int *seen, global const int *ops, global const int *at, int steps, int items, global int *out) {
  local int tile[2112];
  int id = get_global_id(0), sum = 0;
  for (int k = 0; k < steps; k++) {
    int op = ops[k], a = at[k * items + id];
    if (op == 0) { if (a >= 0) sum += mem[a]; }
    else if (op == 1) { if (a >= 0) mem[a] = id * 1000 + k + 1; }
    else if (op == 2) { if (a >= 0) sum += tile[a]; }
    else if (op == 3) { if (a >= 0) tile[a] = id * 1000 + k + 1; }
    else if (op == 5) { if (a >= 0) sum += seen[a]; }
    else if (op == 6) { if (a >= 0) sum += tile[a] + tile[a + 1] + tile[a + 40]; }
    else if (op == 7) { if (a >= 0) sum += atomic_add(&mem[a], 1); }
    else if (op == 8) { if (a >= 0) sum += atomic_add(&tile[a], 1); }
    else barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  out[id] = sum;
}"""
BARRIER = 4
SEEN = 5
"""Reads of global memory by another pointer."""
AT_ONCE = 6
"""Reads of local memory that are reported to a check as one."""
ADD, ADD_LOCAL = 7, 8
OFFSETS = {AT_ONCE: (0, 1, 40)}
WORDS = {False: 4096, True: 2048}


def is_local(op):
    return op in (2, 3, AT_ONCE, ADD_LOCAL)


def places(rng, local, items, in_local):
    """Where each work-item accesses memory, or -1: patterns that kernels have, and some that they have not."""
    ids = np.arange(items)
    own = ids % local
    item = own if in_local else ids
    shuffled = list(range(local))
    rng.shuffle(shuffled)
    at = rng.choice(
        [
            *[item] * 4,
            item * 0,
            item * rng.choice([2, 3, 4, 8, 17]),
            item // 16 * rng.choice([17, 32, 64]) + item % 16,
            item // 16 * 16,
            item - own + local - 1 - own,
            item - own + np.array(shuffled)[own],
            np.array([rng.randrange(300) for _ in range(items)]),
        ]
    )
    active = rng.choice(
        [
            *[ids >= 0] * 3,
            own < local // 2,
            ids % 2 == 1,
            own == rng.randrange(local),
            own < 64,
            np.array([rng.random() < 0.5 for _ in range(items)]),
        ]
    )
    return np.where(active, (at + rng.choice([0, 0, 1, 16, 100])) % WORDS[in_local], -1).astype(np.int32)


def expected(ops, at, local, groups):
    """The kinds of memory with races, and whether local memory is read that nobody wrote."""
    epochs = [[]]
    for step, op in enumerate(ops):
        if op == BARRIER:
            epochs.append([])
        else:
            epochs[-1].append(step)
    accesses, unwritten = defaultdict(list), False
    for group in range(groups):
        written = set()
        for epoch, steps in enumerate(epochs):
            for wave in range(0, local, 64):
                for step in steps:
                    items = range(group * local + wave, group * local + min(wave + 64, local))
                    for item in (n for n in items if at[step][n] >= 0):
                        op = ops[step]
                        for place in (int(at[step][item]) + offset for offset in OFFSETS.get(op, (0,))):
                            unwritten |= op in (2, AT_ONCE, ADD_LOCAL) and place not in written
                            accesses["local" if is_local(op) else "global", group * is_local(op), place].append(
                                (item, group, epoch, op in (1, 3, ADD, ADD_LOCAL), op in (ADD, ADD_LOCAL))
                            )
                    if ops[step] in (3, ADD_LOCAL):
                        written.update(int(at[step][n]) for n in items)
    races = {
        kind
        for (kind, _, _), those in accesses.items()
        for one in those
        if one[3]
        and any(o[0] != one[0] and (o[1] != one[1] or o[2] == one[2]) and not (one[4] and o[4]) for o in those)
    }
    return races, unwritten


@pytest.mark.parametrize("serial_waves", [1024, 0], ids=["one thread", "all threads"])
def test_findings_are_those_of_all_accesses(serial_waves, monkeypatch):
    monkeypatch.setattr(check, "_SERIAL_WAVES", serial_waves)
    kernel = hw.device("vega64").build(SOURCE, "play.cl").kernels["play"]
    rng = random.Random(serial_waves + 1)
    for _ in range(80):
        local, groups = rng.choice([16, 64, 64, 100, 128, 192]), rng.choice([1, 2, 3])
        items = local * groups
        some = [0, 0, 1, 2, 2, AT_ONCE, 3, 3, BARRIER, BARRIER, SEEN, ADD, ADD_LOCAL, ADD_LOCAL]
        ops = [rng.choice(some) for _ in range(rng.randint(1, 6))]
        at = np.array([places(rng, local, items, is_local(op)) for op in ops])
        mem = -np.arange(1, 4097, dtype=np.int32)
        args = [mem, mem, np.array(ops, np.int32), at.reshape(-1), len(ops), items]
        try:
            launch = kernel.prepare((items,), (local,), check=True)
            launch([*args, np.zeros(items, np.int32)], None, None).wait()
            found = ""
        except hw.KernelFault as fault:
            found = str(fault)
        races = [text for text in found.split("\n\n") if "data race" in text]
        kinds = {"local" if "of local memory" in text else "global" for text in races}
        unwritten = "no work-item of its group has written" in found
        assert (kinds, unwritten) == expected(ops, at, local, groups), (ops, local, groups)

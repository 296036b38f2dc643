"""Machine code that LLVM's r600 back end made of OpenCL kernels runs unchanged, and gives what the kernels say."""

import hashlib
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from headwater import chips
from headwater.chips.vliw_isas import GENERATION_OF_TARGET
from headwater.emulate.vliw.bindings import Bindings, Bound
from headwater.emulate.vliw.kernel import Kernel
from headwater.isa.vliw.decode import decode
from headwater.opencl.kernels import KernelInfo
from headwater.runtime.vliw.launch import ARENA, Arena, Inputs, Owner, ShaderLaunch, Sizes, View

CODE = Path(__file__).parents[2] / "isa" / "vliw" / "llvm.txt"
CHIP = {"cypress": "hd5870", "cayman": "hd6970"}


def code_of(name, target):
    text = CODE.read_text()
    words = re.search(rf"^== {name} {target}\n(.*?)^--$", text, re.MULTILINE | re.DOTALL)[1].split()
    return b"".join(int(word, 16).to_bytes(8, "little") for word in words)


def run(name, target, items, group, *args, lds_bytes=0, dynamic=0):
    """Launch a kernel of one dimension; ``dynamic``: bytes of a ``__local`` argument, given as "local"."""
    code = code_of(name, target)
    shader = decode(code, GENERATION_OF_TARGET[target])
    digest = hashlib.sha256(code).hexdigest()
    kernel = Kernel(lambda: shader, "cs", 128, 0, lds_bytes + dynamic, 0, byte_atomics=True, digest=digest)
    arena, packed = Arena(), b""
    for arg in args:
        value = (
            struct.pack("<I", arena.add("an argument", arg))
            if isinstance(arg, np.ndarray)
            else struct.pack("<I", lds_bytes)
            if isinstance(arg, str)
            else arg.tobytes()
        )
        packed += bytes(-len(packed) % len(value)) + value
    sizes = Sizes((items, 1, 1), (group, 1, 1), dimensions=1)
    head = struct.pack("<9I", *sizes.groups, *sizes.whole, *sizes.local)
    bindings = Bindings({("constant", 0): Bound()}, {}, ARENA)
    launch = ShaderLaunch(Owner(None, KernelInfo(name, (), None)), kernel, chips.find(CHIP[target]), sizes, bindings)
    launch((Inputs({("constant", 0): View(np.frombuffer(head + packed, np.uint8))}, arena),), None, 60)


def i4(value):
    return np.int32(value)


@pytest.mark.parametrize("target", ["cypress", "cayman"])
def test_a_reduction_with_barriers_and_local_memory(target):
    data = np.random.default_rng(0).integers(0, 100, 1001).astype(np.float32)
    sums = np.zeros(2, np.float32)
    run("red", target, 256, 128, data, sums, "local", np.uint32(1001), dynamic=512)
    padded = np.pad(data, (0, -1001 % 256)).reshape(-1, 2, 128)
    np.testing.assert_array_equal(sums, padded.sum((0, 2)))


def test_a_histogram_with_atomics():
    data = np.random.default_rng(1).integers(0, 256, 3000, dtype=np.uint8)
    bins = np.zeros(256, np.uint32)
    run("hist", "cypress", 192, 96, data, bins, np.uint32(3000), lds_bytes=1024)
    np.testing.assert_array_equal(bins, np.bincount(data, minlength=256))


def broken(row):
    total = 0
    for v in row:
        if v < 0:
            continue
        if v > 1000:
            break
        for k in range(v):
            if k ^ v == 7:
                break
            if k & 1:
                continue
            total += k
            if total > 100000:
                return total
        total ^= v
    return total


@pytest.mark.parametrize("target", ["cypress", "cayman"])
def test_loops_that_lanes_leave_in_their_own_ways(target):
    rows = np.random.default_rng(2).integers(-100, 1100, (100, 20)).astype(np.int32)
    found = np.zeros(100, np.int32)
    run("bc", target, 100, 50, rows, found, i4(20))
    np.testing.assert_array_equal(found, [broken(row.tolist()) for row in rows])


def evaluated(row):
    stack = []
    for v in row:
        if v >= 0:
            stack = [*stack, v][:32]
        elif len(stack) > 1:
            b, a = stack.pop(), stack.pop()
            stack.append(a + b if v == -1 else a - b if v == -2 else a * b)
    return (stack[-1] if stack else 0) & 0xFFFFFFFF


@pytest.mark.parametrize("target", ["cypress", "cayman"])
def test_a_private_array_in_indexed_registers(target):
    rows = np.random.default_rng(3).integers(-3, 50, (90, 30)).astype(np.int32)
    found = np.zeros(90, np.uint32)
    run("pa", target, 90, 45, rows, found, i4(30))
    np.testing.assert_array_equal(found, [evaluated(row.tolist()) for row in rows])


def test_bytes_and_shorts_are_stored_by_masks():
    rng = np.random.default_rng(4)
    a, c = (rng.integers(0, 256, 200, dtype=np.uint8).view(np.int8), rng.integers(0, 256, 200, dtype=np.uint8))
    b = rng.integers(-100, 100, 200).astype(np.int16)
    v = a.astype(np.int16) * np.int16(3)
    expected = v + b, (c.astype(np.int16) + (v >> 2)).astype(np.uint8)
    run("cs", "cypress", 200, 50, a, b, c)
    np.testing.assert_array_equal(b, expected[0])
    np.testing.assert_array_equal(c, expected[1])


def test_division_of_integers():
    rng = np.random.default_rng(5)
    a, b = rng.integers(-(10**6), 10**6, 200).astype(np.int32), rng.integers(1, 5000, 200).astype(np.int32)
    c, d = np.zeros(200, np.int32), rng.integers(0, 1 << 32, 200).astype(np.uint32)
    quotient = np.trunc(a / b).astype(np.int32)
    expected = quotient + (a - quotient * b), d // b.view(np.uint32) + d % 7
    run("idv", "cypress", 200, 50, a, b, c, d)
    np.testing.assert_array_equal(c, expected[0])
    np.testing.assert_array_equal(d, expected[1])

"""Input: OpenCL C, sizes and arguments. Output: what its IL for a VLIW chip leaves in memory, run on the cpu device."""

import functools

import numpy as np

import headwater as hw
from headwater import chips
from headwater.il import from_llvm
from headwater.il.to_opencl import to_opencl

ARENA_START = 256
"""Where the first buffer lies: addresses near 0 stay free, so that a null pointer hits nothing."""
GUARD_BYTES = 64
_GUARD = 0xA5


@functools.cache
def translated(source, chip, options=""):
    """Each kernel with the OpenCL C that its IL becomes."""
    made = from_llvm.kernels(source, chips.find(chip), "kernel.cl", options)
    return {name: (kernel, to_opencl(kernel.program, f"{name}.il")) for name, kernel in made.kernels.items()}


@functools.cache
def built(text):
    return hw.device("cpu").build(text, "translated.cl")


def three(values):
    return [*values, *([1] * (3 - len(values)))]


def run_il(source, name, chip, global_size, local_size, args, *, offset=(), options=""):
    """The arrays among ``args`` after the launch; ``local`` arguments are `hw.Local`."""
    kernel, translation = translated(source, chip, options)[name]
    size = (
        ARENA_START + sum(a.nbytes + 512 for a in args if isinstance(a, np.ndarray) and a.ndim) + len(kernel.data) + 512
    )
    arena = np.full(-(-size // 16) * 16, _GUARD, np.uint8)
    slots = bytearray(16 * (1 + sum(kernel.slots[-1:]) // 16 + 16))
    at, local_at = ARENA_START, -(-kernel.local_bytes // 16) * 16
    where = []
    for info, slot, value in zip(kernel.info.args, kernel.slots, args, strict=True):
        if isinstance(value, hw.Local):
            bits = np.uint32(local_at).tobytes()
            local_at += -(-value.nbytes // 16) * 16
        elif isinstance(value, np.ndarray) and value.ndim and info.kind in ("buffer", "constant"):
            arena[at : at + value.nbytes] = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
            where.append((at, value))
            bits = np.uint32(at).tobytes()
            at += -(-(value.nbytes + GUARD_BYTES) // 256) * 256
        else:
            bits = packed_value(info, value)
        slots[slot : slot + len(bits)] = bits
    data_at = at
    arena[at : at + len(kernel.data)] = np.frombuffer(kernel.data, np.uint8)
    total = int(np.prod(global_size))
    width = min(total, 4096)
    sizes = np.zeros((5, 4), np.uint32)
    groups = [-(-g // n) for g, n in zip(three(global_size), three(local_size), strict=True)]
    sizes[0, :3], sizes[1, :3], sizes[2, :3] = three(global_size), three(local_size), groups
    sizes[3, : len(offset)] = offset
    sizes[0, 3], sizes[4, :3] = len(global_size), (data_at, width, total)
    given = {
        "cb0": (sizes, (5, 1, 4, 80)),
        "cb1": (np.frombuffer(bytes(slots), np.uint32), (len(slots) // 16, 1, 4, len(slots))),
    }
    words = arena.view(np.uint32)
    given["uav11"] = given["uav8"] = (words, (len(words), 1, 1, arena.nbytes))
    arguments = []
    for parameter in translation.parameters:
        array, extent = given[parameter.name]
        arguments += [array.reshape(-1), extent]
    program = built(translation.source)
    if kernel.program.kind == "ps":
        launch = ((width, -(-total // width)), None)
    else:
        launch = (tuple(global_size), tuple(local_size))
    program.kernels["il_kernel"].prepare(*launch)(arguments, None, 60.0).wait()
    out = []
    for start, value in where:
        end = start + value.nbytes
        assert (arena[end : end + GUARD_BYTES] == _GUARD).all(), "written beyond a buffer's end"
        out.append(arena[start:end].view(value.dtype).reshape(value.shape).copy())
    assert (arena[:ARENA_START] == _GUARD).all(), "written before the buffers"
    return out


def packed_value(info, value):
    """A value as it lies in memory."""
    kinds = {"float": "f4", "double": "f8", "half": "f2", "long": "i8", "ulong": "u8", "int": "i4", "uint": "u4"}
    kinds |= {"short": "i2", "ushort": "u2", "char": "i1", "uchar": "u1", "size_t": "u4"}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tobytes().ljust(info.size_bytes, b"\0")
    scalar = info.base_type.rstrip("0123456789").replace("unsigned ", "u")
    return np.asarray(value, kinds[scalar]).tobytes().ljust(info.size_bytes, b"\0")

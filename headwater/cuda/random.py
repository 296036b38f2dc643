"""Input: a number of states. Output: generators of random numbers for kernels, xoroshiro128+ each.

Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2018), with the rotations 55, 14 and 36 of the
first version. The states are filled by SplitMix64 from the seed and their number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import headwater.cuda.types as types
from headwater.cuda.device_arrays import DeviceArray, to_device

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def init_xoroshiro128p_states_cpu(states: Any, seed: int, subsequence_start: int = 0) -> None:
    """Fill an array of states in place."""
    with np.errstate(over="ignore"):
        index = np.arange(len(states), dtype=np.uint64) + np.uint64(subsequence_start)
        start = _mixed(np.uint64(seed & (1 << 64) - 1) + _GOLDEN)
        states["s0"] = _mixed(start + (np.uint64(2) * index + np.uint64(1)) * _GOLDEN)
        states["s1"] = _mixed(start + (np.uint64(2) * index + np.uint64(2)) * _GOLDEN)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> DeviceArray:
    """``n`` states on the current device."""
    states = np.empty(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, seed, subsequence_start)
    return to_device(states)


def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """64 random bits; the state moves on."""
    s0 = states[index].s0
    s1 = states[index].s1
    result = s0 + s1
    s1 ^= s0
    states[index].s0 = ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14)
    states[index].s1 = (s1 << 36) | (s1 >> 28)
    return result


def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """A float32 from 0 to below 1."""
    return types.float32(xoroshiro128p_next(states, index) >> 40) * types.float32(1 / (1 << 24))


def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """A float64 from 0 to below 1."""
    return types.float64(xoroshiro128p_next(states, index) >> 11) * types.float64(1 / (1 << 53))


def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """A float32 of the standard normal distribution (Box and Muller, 1958)."""
    u1 = types.float32(1) - xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2)


def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """A float64 of the standard normal distribution (Box and Muller, 1958)."""
    u1 = types.float64(1) - xoroshiro128p_uniform_float64(states, index)
    u2 = xoroshiro128p_uniform_float64(states, index)
    return math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2)

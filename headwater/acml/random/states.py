"""ACML's random numbers. Input: a routine's name. Output: the function in ACML's order of arguments, over its STATE
arrays.

``info = drandinitialize(genid, subid, seed, lseed, state, lstate)``, then ``info = dranduniform(n, a, b, state, x)``;
STATE is an array of 32-bit ints that can be copied. Names that begin with s are of single precision: a state belongs to
the precision that it was made for. INFO = -i names argument i. A seed array of one word, or of a whole state's.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from headwater.acml.native import whole
from headwater.acml.random.distributions import illegal, table
from headwater.acml.random.generator import Generator
from headwater.acml.random.generators import ACML_IDS, LINEAR, SHUB, Base, counted, seeded, shub_fault, shub_words
from headwater.errors import UsageError

_MAGIC = 0x41434D4C
_LENGTH = {"mt19937": 633, "philox": 28, SHUB: 72, **{name: what.state for name, what in LINEAR.items()}}
"""Of STATE. Those of ACML's generators are ACML's."""
_SEEDS = {
    "mt19937": 624,
    "philox": 2,
    "nag": 1,
    SHUB: 1,
    **{n: len(w.moduli) * w.order for n, w in LINEAR.items() if n != "nag"},
}


@cache
def names() -> list[str]:
    """All routines: initialize, skipahead, leapfrog and the distributions, in both precisions."""
    return [f"{kind}rand{what}" for kind in "ds" for what in (*_OTHERS, *table())]


def function(name: str) -> Any:
    """The function of that name."""
    what, single = name[5:], name[0] == "s"
    found: Any = _OTHERS.get(what)
    made: Any = partial(_draw, name, what, single) if found is None else partial(found, name, single)
    arguments = table()[what].arguments if found is None else ()
    made.__doc__ = f"``{name}({', '.join(('n', *arguments, 'state', 'x'))})``; see `headwater.acml.random.states`."
    return made


def _save(base: Base, state: Any) -> None:
    genid, subid = next(ids for ids, name in ACML_IDS.items() if name == base.name)
    length = _LENGTH[base.name]
    if base.name != SHUB:
        words = np.array(base.words, np.uint32 if base.name == "mt19937" else np.uint64).view(np.uint32)
    if base.name == "philox":
        words = np.array([*base.words, base.at & (2**64 - 1), base.at >> 64 & (2**64 - 1)], np.uint64).view(np.uint32)
    if base.name == SHUB:
        *numbers, bits = base.words
        if base.at >> 160:
            raise UsageError(f"a state of {SHUB} counts its bits with 160 bits")
        parts = [number.to_bytes(76, "little") for number in numbers]
        words = np.frombuffer(b"".join([*parts, bits.to_bytes(4, "little"), base.at.to_bytes(20, "little")]), np.uint32)
    leap = np.array([base.leap], np.uint64).view(np.uint32)
    head = np.array([length, _MAGIC, genid, subid, base.single, *leap], np.uint32)
    state[: 7 + len(words)] = np.concatenate([head, words]).view(np.int32)
    state[length - 1] = _MAGIC


def _load(state: Any, single: bool) -> Base | None:
    """The generator of a STATE array; None if it is none, or of the other precision."""
    if not isinstance(state, np.ndarray) or state.dtype != np.int32 or state.ndim != 1 or state.size < 16:
        return None
    if not state.flags.writeable:
        raise UsageError("state is written and cannot be: the array is read-only")
    state = np.asarray(state)  # of a masked array, its memory
    name = ACML_IDS.get((int(state[2]), int(state[3])))
    if name is None or state[1] != _MAGIC or state.size < _LENGTH[name] or state[_LENGTH[name] - 1] != _MAGIC:
        return None
    if bool(state[4]) != single:
        return None
    leap = int(np.ascontiguousarray(state[5:7]).view(np.uint64)[0])
    if name == SHUB:
        content = state[7:70].tobytes()
        ends = (0, 76, 152, 228, 232, 252)
        p, q, s, bits, at = (int.from_bytes(content[a:b], "little") for a, b in pairwise(ends))
        if not p % 4 == q % 4 == 3 or not 1 <= bits <= 15:  # something wrote into it
            return None
        return Base(name, (p, q, s, bits), single, at, leap)
    count = 624 if name == "mt19937" else 16 if name == "philox" else 2 * len(LINEAR[name].moduli) * LINEAR[name].order
    words = np.ascontiguousarray(state[7 : 7 + count]).view(np.uint32 if name == "mt19937" else np.uint64)
    numbers = tuple(map(int, words))
    if name == "philox":
        return Base(name, numbers[:6], single, numbers[6] | numbers[7] << 64, leap)
    return Base(name, numbers, single, 0, leap)


def _test_alias(name: str, x: Any, state: Any) -> None:
    if np.shares_memory(x, state):
        raise UsageError(f"{name}: x is written and shares memory with state", hint="pass another array")


def _asked(value: Any, name: str, label: str, wanted: int) -> int | None:
    """A length, or an array of one int. Below 1 it is a question, answered in the array, and None is returned."""
    is_array = isinstance(value, np.ndarray)
    length = whole(value[0] if is_array and value.shape == (1,) else value, label, name)
    if length >= 1:
        return length
    if is_array:
        if not value.flags.writeable:
            raise UsageError(f"{name}: {label} is written and cannot be: the array is read-only")
        if value.dtype.itemsize < 4:
            raise UsageError(f"{name}: {label} is written and cannot be: {value.dtype} has no place for {wanted}")
        value[...] = wanted
    return None


def _initialize(name: str, single: bool, *args: Any) -> int:
    if len(args) != 6:
        raise UsageError(f"{name}(genid, subid, seed, lseed, state, lstate) takes 6 arguments, not {len(args)}")
    genid, subid, seed, lseed, state, lstate = args
    genid, subid = whole(genid, "genid", name), whole(subid, "subid", name)
    found = ACML_IDS.get((genid, subid)) or (ACML_IDS.get((genid, 1)) if genid != 2 else None)
    if found is None:
        return -2 if genid == 2 else -1
    seeds, length = _asked(lseed, name, "lseed", _SEEDS[found]), _asked(lstate, name, "lstate", _LENGTH[found])
    if seeds is None or length is None:
        return 0
    if length < _LENGTH[found] or not isinstance(state, np.ndarray) or state.size < _LENGTH[found]:
        return -6
    if state.dtype != np.int32 or state.ndim != 1 or not state.flags.writeable:
        raise UsageError(f"{name}: state is an array of one dimension of int32")
    words = [counted(word, f"{name}: a seed") for word in np.atleast_1d(np.asarray(seed))[:seeds]]
    if not words or min(words) < 0:
        return -3
    if 1 < len(words) < _SEEDS[found] and found != "mt19937":
        return -4
    _save(seeded(found, words[: _SEEDS[found]], single), state)
    return 0


def _initialize_shub(name: str, single: bool, *args: Any) -> int:
    """p, q and s are numbers to the base of 2^24, the least significant digit first; nbits is cut to 1 … 15."""
    if len(args) != 9:
        raise UsageError(f"{name}(nbits, lp, p, lq, q, ls, s, state, lstate) takes 9 arguments, not {len(args)}")
    nbits, *numbers, state, lstate = args
    words: list[int] = []
    for at, label in enumerate("pqs"):
        digits, wanted = np.atleast_1d(np.asarray(numbers[2 * at + 1])), whole(numbers[2 * at], f"l{label}", name)
        if not 1 <= wanted <= 25:
            return -(2 + 2 * at)
        if (
            digits.size < wanted
            or digits.dtype.kind not in "iu"
            or not all(0 <= int(d) < 2**24 for d in digits[:wanted])
        ):
            return -(3 + 2 * at)
        words.append(sum(int(digit) << 24 * i for i, digit in enumerate(digits[:wanted])))
    length = _asked(lstate, name, "lstate", _LENGTH[SHUB])
    if length is None:
        return 0
    if length < _LENGTH[SHUB] or not isinstance(state, np.ndarray) or state.size < _LENGTH[SHUB]:
        return -9
    if state.dtype != np.int32 or state.ndim != 1 or not state.flags.writeable:
        raise UsageError(f"{name}: state is an array of one dimension of int32")
    if fault := shub_fault(*words):
        return {"p": -3, "q": -5, "s": -7}[fault]
    _save(seeded(SHUB, [*words, min(max(whole(nbits, "nbits", name), 1), 15)], single), state)
    return 0


def _shub(name: str, single: bool, *args: Any) -> int:
    if len(args) != 3:
        raise UsageError(f"{name}(n, state, x) takes 3 arguments, not {len(args)}")
    n, state, x = whole(args[0], "n", name), args[1], args[2]
    base = _load(state, single)
    if n < 0 or base is None or base.name != SHUB:
        return -1 if n < 0 else -2
    if not isinstance(x, np.ndarray) or x.dtype != np.int32 or x.ndim != 1 or not x.flags.writeable or x.size < n:
        raise UsageError(f"{name}: x is an array of one dimension of int32 with {n} elements, which is written")
    _test_alias(name, x, state)
    x[:n] = shub_words(base, n)
    _save(replace(base, at=base.at + n), state)
    return 0


def _skip(name: str, single: bool, *args: Any) -> int:
    if len(args) != 2:
        raise UsageError(f"{name}(n, state) takes 2 arguments, not {len(args)}")
    count = counted(args[0], f"{name}: n")
    base = _load(args[1], single)
    if count < 0 or base is None:
        return -1 if count < 0 else -2
    _save(base.after(count), args[1])
    return 0


def _leapfrog(name: str, single: bool, *args: Any) -> int:
    if len(args) != 3:
        raise UsageError(f"{name}(n, k, state) takes 3 arguments, not {len(args)}")
    number, k = whole(args[0], "n", name), whole(args[1], "k", name)
    base = _load(args[2], single)
    if number < 1:
        return -1
    if not 1 <= k <= number:
        return -2
    if base is None:
        return -3
    if base.leap * number >= 2**64:
        raise UsageError(f"{name}: a leap of {base.leap * number} does not fit into 64 bits")
    _save(base.frog(k - 1, number), args[2])
    return 0


def _draw(name: str, what: str, single: bool, *args: Any) -> int:
    row = table()[what]
    wanted = ("n", *row.arguments, "state", "x")
    if len(args) != len(wanted):
        raise UsageError(f"{name}({', '.join(wanted)}) takes {len(wanted)} arguments, not {len(args)}")
    n, *numbers, state, x = args
    n = whole(n, "n", name)
    if n < 0:
        return -1
    bad = illegal(row, tuple(numbers))
    if bad is not None:
        return -(bad + 2)
    base = _load(state, single)
    if base is None:
        return -(len(wanted) - 1)
    dtype = np.dtype(np.int32 if row.discrete else np.float32 if single else np.float64)
    if not isinstance(x, np.ndarray) or x.dtype != dtype or x.ndim != 1 or not x.flags.writeable:
        raise UsageError(f"{name}: x is an array of one dimension of {dtype}, which is written")
    if x.size < n:
        raise UsageError(f"{name}: x has {x.size} elements, and {n} are needed")
    _test_alias(name, x, state)
    generator = Generator("nag", dtype=np.float32 if single else np.float64)
    generator.base = base
    x[:n] = generator.draw(what, n, *numbers)
    _save(generator.base, state)
    return 0


_OTHERS: dict[str, Any] = {
    "initialize": _initialize,
    "initializebbs": _initialize_shub,
    "blumblumshub": _shub,
    "skipahead": _skip,
    "leapfrog": _leapfrog,
}
"""Routines that are no distributions."""

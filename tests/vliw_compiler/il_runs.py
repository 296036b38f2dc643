"""An IL program's text in; a stand-in for `headwater.compile`'s program out, which runs it compiled for a VLIW chip and
emulated. Arguments are those of IL programs on other devices: docs/il.md.
"""

from __future__ import annotations

import hashlib

import numpy as np

from headwater import chips
from headwater.emulate.vliw.bindings import RAW, Bindings, Bound, Format
from headwater.emulate.vliw.translate import Kernel
from headwater.il.checker import check
from headwater.il.parser import parse
from headwater.isa.vliw.compiler import compile_program
from headwater.opencl.kernels import KernelInfo
from headwater.runtime.vliw_launch import ARENA, Inputs, Owner, ShaderLaunch, Sizes, View

CHIPS = ("hd3870", "hd4870", "hd5870", "hd6970")
_BY_KIND = {"i": 4, "c": 16, "u": 1, "g": 16}


class Program:
    """What `headwater.compile` gives, of one chip."""

    def __init__(self, source, chip):
        self.program = parse(source)
        self.facts = check(self.program)
        self.chip = chips.find(chip)
        self.compiled = compile_program(self.program, self.chip)
        self.main = self

    @property
    def names(self):
        facts = self.facts
        found = [f"i{n}" for n in sorted(facts.resources)] + [f"cb{n}" for n in sorted(facts.constants)]
        found += [f"uav{n}" for n in sorted(facts.uavs)] + (["g"] if facts.uses_global else [])
        return found + [f"o{n}" for n in sorted(facts.outputs)]

    def __getitem__(self, sizes):
        domain = sizes[0]
        self.domain = (*(domain if isinstance(domain, tuple) else (domain,)), 1, 1)[:3]
        return self.run

    def run(self, *arrays, device=None, **named):
        """Run it; arrays are written in place."""
        given = dict(zip(self.names, arrays, strict=False)) | named
        facts, made = self.facts, self.compiled
        group = made.group_size or (64, 1, 1)
        views, bound = {}, {}

        def bind(name, view):
            views[name], bound[name] = view, view.bound

        for name, array in given.items():
            kind, number = name.rstrip("0123456789"), int(name.lstrip("iocbuavg") or 0)
            if kind in ("i", "o"):
                flat = kind == "i" and facts.resources[number].dimensions == 1
                elements = np.asarray(array)
                lanes = elements.dtype.itemsize // 4
                shape = elements.shape if len(elements.shape) <= (1 if flat else 2) else elements.shape[:-1]
                if len(elements.shape) == len(shape) + 1:
                    lanes *= elements.shape[-1]
                height, width = (1, *shape)[-2:]
                kept = array if kind == "o" else np.ascontiguousarray(elements)
                space = "fetch" if kind == "i" else "output"
                view = View(kept, Format(lanes, 32, "u"), width, height, dimensions=1 if flat else 2)
                bind((space, number), view)
            elif kind == "cb":
                data = np.ascontiguousarray(_constants(array))
                bind(("constant", number), View(data))
                bind(("fetch", 144 + number), View(data, stride=16))
            elif kind in ("uav", "g"):
                typed = kind == "uav" and facts.uavs[number].kind == "typed"
                lanes = array.shape[-1] if typed and array.ndim > 1 else 1
                form = Format(lanes, 32, "u") if typed else RAW
                shape = array.shape[:-1] if typed and array.ndim > 1 else array.shape
                height, width = (1, 1, *shape)[-2:] if typed else (1, 0)
                extra = {"width": width, "height": height, "dimensions": 2} if typed else {}
                if kind == "g" or self.compiled.shader.generation in ("r600", "r700"):
                    bind(("global", 0), View(array))
                    bind(("fetch", 126), View(array))
                    bind(("fetch", 127), View(array, stride=16))
                    bind(("rat", 11), View(array))
                else:
                    bind(("fetch", 128 + number), View(array, form, **extra))
                    bind(("rat", number), View(array, form, **extra))
                    items = int(np.prod(self.domain))
                    bind(("fetch", 160 + number), View(np.zeros(items, np.uint32), stride=4))
        kernel = Kernel(
            made.shader, made.kind, made.gprs, made.clause_temporaries, made.lds_bytes, made.scratch_bytes,
            digest=hashlib.sha256(repr(made.shader).encode()).hexdigest(),
        )  # fmt: skip
        sizes = Sizes(self.domain, group if made.kind == "cs" else (8, 8, 1))
        launch = ShaderLaunch(Owner(None, KernelInfo("test", (), None)), kernel, self.chip, sizes, Bindings(bound, {}))
        launch((Inputs(views),), None, 60)


def _constants(value):
    if isinstance(value, np.ndarray):
        return value
    numbers = list(value)
    return np.array(numbers, np.int32 if all(isinstance(n, int) for n in numbers) else np.float32)


__all__ = ["ARENA", "CHIPS", "Bound", "Program"]

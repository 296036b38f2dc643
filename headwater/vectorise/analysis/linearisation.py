"""Input: control flow and its divergence. Output: one order of blocks that all lanes execute, with their masks.

Branches on which the lanes agree stay branches. Where they may part, the blocks are laid one after the other and each
runs under the mask of the lanes that want it: partial linearisation, after S. Moll and S. Hack, 'Partial Control-Flow
Linearization' (PLDI 2018).
"""

from __future__ import annotations

from headwater.llvm.cfg import END, Cfg, Loop
from headwater.llvm.ir import Function
from headwater.vectorise.analysis.shapes import Shapes

ENTRY_MASK = ""
"""The mask class of blocks that run with all the lanes that entered the chunk."""

SKIP_THRESHOLD = 12
"""A masked region of more instructions than this is jumped over when no lane wants it (the test costs about 3)."""

_HARMLESS = frozenset("br phi select icmp fcmp getelementptr".split())


class Linear:
    """Where each block goes next, and under which mask it runs.

    ``next[b, s]``: the block that runs when the lanes leave ``b`` towards ``s`` (``s`` is empty where they may part).
    ``after_loop[h]``: the block after the divergent loop with header ``h``.
    ``skip[b]``: where to go when no lane wants ``b`` (`END`: nowhere); only for blocks where that is needed or pays.
    ``mask_class[b]``: the block whose mask ``b`` runs under, or `ENTRY_MASK`.
    """

    def __init__(self, function: Function, cfg: Cfg, shapes: Shapes) -> None:
        self.function = function
        self.cfg = cfg
        self.shapes = shapes
        self.next: dict[tuple[str, str], str] = {}
        self.after_loop: dict[str, str] = {}
        self.skip: dict[str, str] = {}
        self.mask_class: dict[str, str] = {}
        self._pending: dict[str, set[str]] = {b: set() for b in cfg.order}
        self._deferred: set[str] = set()
        for block in cfg.order:
            if cfg.irreducible:
                self._keep(block)
            else:
                self._place(block)

    def _keep(self, block: str) -> None:
        """One work-item: control flow stays as it is."""
        self.mask_class[block] = ENTRY_MASK
        targets = self.cfg.succs[block]
        if len(targets) == 1:
            self.next[block, ""] = targets[0]
        elif targets:
            self.next.update({(block, target): target for target in targets})

    def owns_mask(self, block: str) -> bool:
        return self.mask_class[block] == block

    def waits(self, source: str, target: str) -> bool:
        """Whether the edge leaves a divergent loop, so that its lanes wait until the others are done."""
        loop = self.cfg.loop_of[source]
        while loop is not None and target not in loop:
            if self.shapes.divergent_loop(loop):
                return True
            loop = loop.parent
        return False

    def _choose(self, candidates: set[str]) -> str:
        """The first of the blocks that must still run; the others wait for it."""
        first = min(candidates, key=self.cfg.index.__getitem__)
        rest = candidates - {first}
        self._pending[first] |= rest
        self._deferred |= rest
        return first

    def _place(self, block: str) -> None:
        cfg = self.cfg
        outer = self._outer_class(block)
        loop = cfg.loop_of[block]
        divergent_header = loop is not None and loop.header == block and self.shapes.divergent_loop(loop)
        self.mask_class[block] = block if divergent_header else outer
        if outer == block:
            self._plan_skip(block)
        pending = self._pending[block]
        targets = self._forward(block)
        if loop is not None and loop.latch == block and self.shapes.divergent_loop(loop):
            self.after_loop[loop.header] = self._choose(pending | self._leaving(loop))
        elif len(cfg.succs[block]) == 2 and not self.shapes.divergent(block):
            for target in cfg.succs[block]:
                if cfg.index[target] <= cfg.index[block]:
                    self.next[block, target] = target
                elif target in targets:
                    self.next[block, target] = self._choose(pending | {target})
                else:  # an exit of a divergent loop that the lanes here take together: they wait all the same
                    self._deferred |= set(targets)  # which run without a lane then
                    self.next[block, target] = self._choose(pending | set(targets))
        elif loop is not None and loop.latch == block:
            self.next[block, ""] = loop.header
        elif targets or pending:
            if len(targets) > 1:
                self._deferred |= set(targets)
            self.next[block, ""] = self._choose(pending | set(targets))

    def _forward(self, block: str) -> list[str]:
        """Successors that run in this pass: no back edge, and no exit that waits for the end of a divergent loop."""
        index = self.cfg.index
        return [t for t in self.cfg.succs[block] if index[t] > index[block] and not self.waits(block, t)]

    def _leaving(self, loop: Loop) -> set[str]:
        """Where the lanes go that wait for the end of ``loop``, less those that wait for an outer loop too."""
        return {t for _, t in loop.exits if loop.parent is None or not self.waits(loop.parent.header, t)}

    def _outer_class(self, block: str) -> str:
        """The mask class that ``block`` is entered with."""
        cfg = self.cfg
        if block == cfg.entry:
            return ENTRY_MASK
        for above in cfg.same_level_dominators(block) if cfg.joins(block) else ():
            if cfg.post_dominates(block, above):
                return self.mask_class[above]
        if block in self._deferred:
            return block
        classes = set()
        for pred in cfg.preds[block]:
            if cfg.index[pred] < cfg.index[block]:
                if self.shapes.divergent(pred) or self.waits(pred, block):
                    return block
                classes.add(self.mask_class[pred])
        return classes.pop() if len(classes) == 1 else block

    def _plan_skip(self, block: str) -> None:
        """Where to go from ``block`` when no lane wants it: past everything that is reached only through it."""
        cfg = self.cfg
        region = cfg.dominated(block)
        if not self._worth_skipping(region):
            return
        inside = set(region)
        candidates = self._pending[block] | {t for b in region for t in self._forward(b) if t not in inside}
        loop = cfg.loop_of[block]
        if loop is not None and loop.latch in inside and loop.header != block:
            if not self.shapes.divergent_loop(loop):
                return
            candidates |= self._leaving(loop)
        if loop is not None and loop.header == block and self.shapes.divergent_loop(loop):
            candidates |= {t for t in self._leaving(loop) if t not in inside}
        if candidates:
            self.skip[block] = self._choose(candidates)
        elif any(lp.header in region and not lp.exits for lp in cfg.loops):
            self.skip[block] = END  # nothing follows a loop without an exit: lanes that do not want it are done

    def _worth_skipping(self, region: list[str]) -> bool:
        cost = 0
        for name in region:
            loop = self.cfg.loop_of[name]
            if loop is not None and loop.header == name:
                return True
            for inst in self.function.blocks[name].insts:
                cost += inst.op not in _HARMLESS
                if inst.op in ("load", "store", "call", "atomicrmw", "cmpxchg", "udiv", "sdiv", "urem", "srem"):
                    # Work that all lanes share is done once, unmasked: not when there is no lane to do it for.
                    if inst.op == "call" and inst.detail.startswith("llvm."):
                        continue
                    shapes = [self.shapes.shape(v) for v in inst.args]
                    if inst.op not in ("load", "store") or not all(s.deps & 1 for s in shapes[-1:]):
                        return True
                    cost += 3
        return cost > SKIP_THRESHOLD

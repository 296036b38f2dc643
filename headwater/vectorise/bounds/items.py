"""Input: a place in a kernel and the conditions around it. Output: the work-items that are likeliest to access memory
outside of an array there."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.llvm.ir import Inst, Value
from headwater.vectorise.bounds.accesses import Counts, Site, necessary, primitive
from headwater.vectorise.bounds.values import Values

MOST_TRIES = 128
"""Work-items and trips that are looked at for one place."""

_MOST_MIXED = 2
_IDS = ("global_id", "local_id", "group_id")


@dataclass(frozen=True, slots=True)
class Sum:
    """A number as a sum: ids with constant factors, numbers that are the same for all work-items, and a constant."""

    ids: tuple[tuple[tuple[str, int], int], ...]
    rest: tuple[tuple[int, Value], ...]
    constant: int

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        ids = dict(self.ids)
        for key, times in other.ids:
            ids[key] = ids.get(key, 0) + factor * times
        rest = self.rest + tuple((factor * times, value) for times, value in other.rest)
        return Sum(tuple((k, n) for k, n in ids.items() if n), rest, self.constant + factor * other.constant)

    def times(self, factor: int) -> Sum:
        return Sum((), (), 0).plus(self, factor)


def tries(site: Site, item: Values, uniform: Values) -> list[list[str]]:
    """Global ids to try, of each dimension, which ``uniform`` writes.

    ``item``: where the place's accesses have been written for one work-item.
    """
    limits = _Limits(site, item, uniform)
    found = [limits.items(dim) for dim in range(3)]
    loops = sum(item.trips.get(loop.header) is not None for loop in site.loops)
    while len(found[0]) * len(found[1]) * len(found[2]) << loops > MOST_TRIES:
        max(found, key=len).pop()
    return found


class _Limits:
    """The first and last ids, of each kind, that the conditions around a site let come there."""

    def __init__(self, site: Site, item: Values, uniform: Values) -> None:
        self.site, self.item, self.uniform, self.out = site, item, uniform, uniform.out
        self.counts: Counts = uniform.counts
        self.low: dict[tuple[str, int], str] = {}
        self.high: dict[tuple[str, int], str] = {}
        self.last: dict[int, str] = {}
        for inst, order in necessary(site.block, uniform.function, uniform.cfg, uniform.counts.defs):
            self._learn(inst, order)

    def _begin(self, key: tuple[str, int]) -> None:
        """What there is at all."""
        if key in self.low:
            return
        (kind, dim), out = key, self.out
        if kind == "global_id":
            self.low[key] = out.size("off", dim)
            last = out.let(f"add i64 {out.size('off', dim)}, {out.size('gsz', dim)}")
        else:
            self.low[key] = "0"
            last = out.size("els" if kind == "local_id" else "ngr", dim)
        self.high[key] = out.let(f"sub i64 {last}, 1")

    def ends(self, kind: str, dim: int) -> tuple[str, str]:
        """The first and the last of a kind of ids."""
        self._begin((kind, dim))
        return self.low[kind, dim], self.high[kind, dim]

    def items(self, dim: int) -> list[str]:
        """Global ids to try, those that are likeliest to reach outside first."""
        kinds = {kind for kind, d in self.item.kinds if d == dim}
        if not kinds:
            return [self.out.size("off", dim)]
        if kinds == {"global_id"}:
            low, high = self.ends("global_id", dim)
            return [high, low, *self._strided(dim), *self._mixed(dim)]
        corners = []
        for group in reversed(self.ends("group_id", dim)):
            origin = self.out.let(f"mul i64 {group}, {self.out.size('els', dim)}")
            origin = self.out.let(f"add i64 {origin}, {self.out.size('off', dim)}")
            for local in reversed(self.ends("local_id", dim)):
                item = self.out.let(f"add i64 {origin}, {local}")
                corners.append(self._inside(item, dim))
        return [*corners, self.high["global_id", dim]] if ("global_id", dim) in self.high else corners

    def _inside(self, item: str, dim: int) -> str:
        """A global id, or the nearest one that there is."""
        out, first = self.out, self.out.size("off", dim)
        if dim not in self.last:
            end = out.let(f"add i64 {first}, {out.size('gsz', dim)}")
            self.last[dim] = out.let(f"sub i64 {end}, 1")
        return out.most(out.least(item, self.last[dim]), first)

    def _strided(self, dim: int) -> list[str]:
        """The work-item that makes the last trip of all, in a loop from the global id on by the global size."""
        found = []
        for loop in self.site.loops:
            count = self.counts.count(loop)
            if count is None or count.order[1:] not in ("lt", "le") or count.subtracts:
                continue
            start = self.line(count.start)
            step, limit = self.uniform.wide(count.step), self.uniform.wide(count.limit)
            if start is None or start.ids != ((("global_id", dim), 1),) or step is None or limit is None:
                continue
            rest = self.sum(start, signed=True)
            if rest is None:
                continue
            out = self.out
            begin = out.size("off", dim)
            first = out.let(f"add i64 {begin}, {rest}")
            reach = out.let(f"sub i64 {limit}, {first}")
            reach = out.let(f"sub i64 {reach}, 1") if count.order[1:] == "lt" else reach
            some = out.both(out.let(f"icmp sge i64 {reach}, 0"), out.let(f"icmp sgt i64 {step}, 0"))
            left = out.let(f"urem i64 {reach}, {out.pick(some, step, '1')}")
            found.append(self._inside(out.let(f"add i64 {begin}, {out.pick(some, left, '0')}"), dim))
        return found

    def _mixed(self, dim: int) -> list[str]:
        """The work-items whose ids, by a remainder, a mask or an exclusive or, become the largest that there are."""
        found = []
        for inst in self.item.mixed[:_MOST_MIXED]:
            one, two = inst.args
            if inst.op != "urem" and self.uniform.value(one) is not None:
                one, two = two, one
            line, other = self.line(one), self.uniform.wide(two, signed=False)
            if line is None or other is None or line.ids != ((("global_id", dim), 1),):
                continue
            rest = self.sum(line, signed=True)
            if rest is None:
                continue
            if inst.op == "urem":
                other = self.out.let(f"sub i64 {other}, 1")
            elif inst.op == "xor":
                other = self.out.let(f"xor i64 {self.ends('global_id', dim)[1]}, {other}")
            found.append(self._inside(self.out.let(f"sub i64 {other}, {rest}"), dim))
        return found

    def _learn(self, inst: Inst, order: str) -> None:
        """Narrow the ids by a comparison that holds at the site."""
        if inst.args[0].ty.kind != "int":
            return
        left, right = self.line(inst.args[0]), self.line(inst.args[1])
        if left is None or right is None:
            return
        whole = left.plus(right, -1)  # compared with 0
        if len(whole.ids) != 1 or whole.ids[0][0][0] not in _IDS:
            return
        key, factor = whole.ids[0]
        self._begin(key)
        unsigned = order[0] == "u"
        rest = self.sum(Sum((), whole.rest, whole.constant), signed=not unsigned)
        if rest is None:
            return
        kind = order if order in ("eq", "ne") else order[1:]
        if unsigned and left.ids and kind in ("lt", "le") and left.constant < 0 and not left.rest and factor == 1:
            # (x - 1) < n, of unsigned numbers: x is 1 at least.
            self._at_least(key, str(-left.constant))
        if factor < 0:
            factor, kind = -factor, {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(kind, kind)
        else:
            rest = self.out.let(f"sub i64 0, {rest}")
        # Now: factor * id kind rest.
        if kind == "eq":
            number = self._floor(rest, factor)
            self._at_least(key, number)
            self._at_most(key, number)
        elif kind == "ne":
            self._not(key, self._floor(rest, factor))
        elif kind in ("lt", "le"):
            most = self.out.let(f"sub i64 {rest}, 1") if kind == "lt" else rest
            self._at_most(key, self._floor(most, factor))
        else:
            below = self.out.let(f"sub i64 {rest}, 1") if kind == "ge" else rest
            self._at_least(key, self.out.let(f"add i64 {self._floor(below, factor)}, 1"))

    def _floor(self, number: str, factor: int) -> str:
        """A quotient, rounded down."""
        if factor == 1:
            return number
        quotient, left = self.out.let(f"sdiv i64 {number}, {factor}"), self.out.let(f"srem i64 {number}, {factor}")
        negative = self.out.let(f"icmp slt i64 {left}, 0")
        return self.out.pick(negative, self.out.let(f"sub i64 {quotient}, 1"), quotient)

    def _at_most(self, key: tuple[str, int], number: str) -> None:
        self.high[key] = self.out.most(self.out.least(self.high[key], number), self.low[key])

    def _at_least(self, key: tuple[str, int], number: str) -> None:
        self.low[key] = self.out.least(self.out.most(self.low[key], number), self.high[key])

    def _not(self, key: tuple[str, int], number: str) -> None:
        low, high = self.low[key], self.high[key]
        out = self.out
        self.low[key] = out.pick(out.let(f"icmp eq i64 {low}, {number}"), out.let(f"add i64 {low}, 1"), low)
        self.high[key] = out.pick(out.let(f"icmp eq i64 {high}, {number}"), out.let(f"sub i64 {high}, 1"), high)
        for limits in (self.low, self.high):  # where one id is all there is
            limits[key] = out.most(out.least(limits[key], high), low)

    def line(self, value: Value, depth: int = 12) -> Sum | None:
        """A number as a sum; None if it is none."""
        if value.ty.kind != "int" or depth == 0:
            return None
        if not value.is_local:
            return Sum((), (), int(value.text)) if value.text.lstrip("-").isdigit() else None
        if self.uniform.value(value) is not None:
            return Sum((), ((1, value),), 0)
        inst = self.counts.defs.get(value.text)
        if inst is None:
            return None
        if inst.op == "call":
            found = primitive(inst)
            return Sum(((found, 1),), (), 0) if found is not None else None
        if inst.op in ("trunc", "sext", "zext", "freeze"):
            return self.line(inst.args[0], depth - 1)
        if inst.op in ("add", "sub") or (inst.op == "or" and "disjoint" in inst.flags):
            a, b = self.line(inst.args[0], depth - 1), self.line(inst.args[1], depth - 1)
            return a.plus(b, -1 if inst.op == "sub" else 1) if a is not None and b is not None else None
        if inst.op in ("mul", "shl") and inst.args[1].text.isdigit():
            number = int(inst.args[1].text)
            a = self.line(inst.args[0], depth - 1)
            return a.times(number if inst.op == "mul" else 1 << min(number, 62)) if a is not None else None
        if inst.op == "xor" and inst.args[1].text == "-1":
            a = self.line(inst.args[0], depth - 1)
            return Sum((), (), -1).plus(a, -1) if a is not None else None
        return None

    def sum(self, line: Sum, *, signed: bool) -> str | None:
        """The text of what a sum has besides ids."""
        total = str(line.constant)
        for times, value in line.rest:
            text = self.uniform.wide(value, signed=signed)
            if text is None:
                return None
            part = text if times == 1 else self.out.let(f"mul i64 {text}, {times}")
            total = part if total == "0" else self.out.let(f"add i64 {total}, {part}")
        return total

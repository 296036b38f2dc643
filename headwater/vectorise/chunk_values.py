"""What the vectoriser knows of a chunk's values: their parts, their slots and the masks that blocks run under."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from headwater.llvm.cfg import Cfg
from headwater.llvm.ir import Function, Inst, Value
from headwater.llvm.types import I1, I64, Type, vec_type
from headwater.vectorise.layout import Layout
from headwater.vectorise.linearisation import ENTRY_MASK, Linear
from headwater.vectorise.packing import packed_values
from headwater.vectorise.row_value_numbering import Alike
from headwater.vectorise.shapes import LANE, PRIMITIVE, ROW, Shape, Shapes
from headwater.vectorise.strip_mining import Strips
from headwater.vectorise.writer import Writer

ID_PARAMS = tuple(
    f"{kind}{dim}" for kind in ("gid", "lid", "grp", "lsz", "gsz", "ngr", "off", "els") for dim in range(3)
)
"""Work-item state that is passed to a chunk function, one i64 each."""

PARTED = -2
"""What a chunk function for lanes that stay together returns, with nothing done, when they would not."""

PRIMITIVE_PARAM = {
    "global_id": "gid",
    "local_id": "lid",
    "group_id": "grp",
    "local_size": "lsz",
    "global_size": "gsz",
    "num_groups": "ngr",
    "global_offset": "off",
    "enqueued_local_size": "els",
}


@dataclass(frozen=True, slots=True)
class Variant:
    """Which code to write: ``masked`` chunks may be partly outside the work-group; ``resumable`` ones stop at barriers;
    ``checked`` ones test every access; ``streaming`` names pointer parameters stored around the caches on demand;
    ``sizes``: for checked code, the pointer types and bytes of __local variables, constants and struct arguments.
    ``uneven``: headers of loops whose trips differ from work-item to work-item, in code for one at a time. ``lines``:
    streaming stores begin at cache lines, as lines of chunks are begun so that they do. ``apart``: the processor has no
    gathers and scatters with masks. ``strips``: loops that some rows run after the others, by header.
    ``fetches``: loads that go through memory in order may be prefetched."""

    name: str
    masked: bool = False
    resumable: bool = False
    checked: bool = False
    streaming: frozenset[str] = frozenset()
    sizes: dict[str, tuple[str, int]] = field(default_factory=dict, hash=False)
    uneven: frozenset[str] = frozenset()
    lines: bool = False
    apart: bool = False
    strips: dict[str, Strips] = field(default_factory=dict, hash=False)
    fetches: bool = True


Formats = dict[tuple[str, tuple[bool, ...]], int]
"""The number of each format of printf: a global's name, and which slots of its arguments are addresses."""


class Parts:
    """The values of one kernel variant. They are kept in parts: (component, row, form), where the form is ``s`` (the
    scalar that all lanes share, or lane 0's of a strided value), ``v`` (one vector element per lane), ``g`` (the guard
    of a stride) or ``p`` (all components of all lanes, for the values in ``packed``)."""

    def __init__(
        self,
        function: Function,
        cfg: Cfg,
        shapes: Shapes,
        linear: Linear,
        layout: Layout,
        variant: Variant,
        formats: Formats,
    ) -> None:
        self.function = function
        self.cfg = cfg
        self.shapes = shapes
        self.linear = linear
        self.layout = layout
        self.variant = variant
        self.writer = Writer()
        self.in_row = False  # in a loop over rows, whose body is written for row 0
        self.strip: range | None = None  # the rows that are written, where not all are
        self.crossing = self._crossing_values()
        self.packed = frozenset() if variant.checked else packed_values(function, cfg, shapes)
        self.spread: set[str] = set()  # those of which one component is defined, and all are made equal to it
        self.cache: dict[tuple[str, int, int, str], str] = {}
        self.block = cfg.entry
        self.fixed = self._fixed_values()
        self.roots = self._pointer_roots()
        self.private_sizes = {
            i.name: i.source.size_bytes for b in cfg.order for i in function.blocks[b].insts if i.op == "alloca"
        }
        self.formats = formats
        self.alike = Alike(function, shapes, layout.row_dim) if layout.row_dim != layout.lane_dim else None
        self.unmasked = False
        self.spills = 0

    # Parts of values.

    def lanes_of(self, ty: Type) -> Type:
        return vec_type(self.layout.lanes, ty)

    def form_type(self, ty: Type, form: str) -> Type:
        return {"s": ty, "v": self.lanes_of(ty) if form == "v" else ty, "g": I1}[form]

    def rows(self, shape: Shape) -> range:
        """The rows that a value of this shape is kept for, as far as they are written at present."""
        return self.written_rows if shape.by_row else range(1)

    @property
    def written_rows(self) -> range:
        """The rows that instructions are written for at present."""
        return range(1) if self.in_row else self.strip or range(self.layout.rows)

    @staticmethod
    def components(ty: Type) -> list[Type]:
        if ty.kind == "vec" and ty.elem is not None:
            return [ty.elem] * ty.count
        if ty.kind == "struct":
            return list(ty.fields)
        return [ty]

    def forms(self, shape: Shape) -> tuple[str, ...]:
        """The forms that a value of this shape is kept in."""
        if not shape.deps & LANE:
            return ("s",)
        if shape.stride is None:
            return ("v",)
        return ("s", "v", "g") if shape.guarded else ("s",)

    def part(self, value: Value, row: int = 0, form: str = "s", component: int = 0) -> str:
        """The text of a part, from this block's values, its slot, or made from another form."""
        if not value.is_local:
            return self._constant_part(value, form, component)
        shape = self.shapes.shape(value)
        row = row if shape.deps & ROW else 0
        key = (value.text, component, row, form)
        known = self.cache.get(key)
        if known is None and row and shape.in_line:
            known = self.cache[key] = self._further_row(value, row, form, shape)
        if known is None and form == "s" and value.text in self.fixed:
            known = self.fixed[value.text][row]
            if value.ty.kind == "vec":  # a parameter that is a vector comes whole
                known = self.cache[key] = self.writer.let(f"extractelement {value.ty} {known}, i64 {component}")
            return known
        if known is None:
            ty = self.components(value.ty)[component]
            if form in self.forms(shape):
                known = self.writer.load_slot(self._slot(*key), self.form_type(ty, form))
            elif form == "v":
                known = self._spread(self.part(value, row, "s", component), ty, shape)
            else:
                raise AssertionError(f"no form {form} of {value.text}: {shape}")
            self.cache[key] = known
        return known

    def _further_row(self, value: Value, row: int, form: str, shape: Shape) -> str:
        """A part of a row that goes on along the lanes where the one before ends, from row 0's."""
        assert shape.stride is not None
        base, first = self.part(value), row * self.layout.lanes
        if form == "v":
            return self._spread(base, value.ty, shape, first)
        if value.ty.kind == "ptr":
            return self.writer.let(f"getelementptr i8, {value.ty} {base}, i64 {first * shape.stride}")
        return self.writer.let(f"add {value.ty} {base}, {first * shape.stride}")

    def _constant_part(self, value: Value, form: str, component: int) -> str:
        ty = self.components(value.ty)[component]
        if value.ty.kind == "vec":
            text = value.component(component).text
        elif value.ty.kind == "struct":
            text = value.elems[component].text if value.elems else value.text
        else:
            text = value.text
        if form == "s":
            return text
        return text if text in ("poison", "undef", "zeroinitializer") else f"splat ({ty} {text})"

    def set_part(self, inst: Inst, row: int, form: str, text: str, component: int = 0) -> None:
        key = (inst.name, component, row, form)
        self.cache[key] = text
        if inst.name in self.crossing:
            ty = self.components(inst.ty)[component]
            self.writer.store_slot(self._slot(*key), self.form_type(ty, form), text)

    @staticmethod
    def _slot(name: str, component: int, row: int, form: str) -> str:
        return f"{name[1:]}.{component}.{row}.{form}".replace('"', "")

    def alike_rows(self, inst: Inst, form: str = "s") -> bool:
        """Whether rows of a value may have been computed for other rows' values: none must be poison by itself then."""
        return self.alike is not None and form == "s" and self.shapes.of[inst.name].by_row

    def let_row(self, inst: Inst, row: int, form: str, text: str) -> str:
        """A row's scalar value, which may be another one of another row."""
        name = self.alike.name(inst, row) if self.alike is not None and self.alike_rows(inst, form) else ""
        if not name:
            return self.writer.let(text)
        known = self.cache.get((name, 0, 0, "="))
        if known is None:
            known = self.cache[name, 0, 0, "="] = self.writer.let(text)
        return known

    def splat(self, scalar: str, ty: Type) -> str:
        vector = self.lanes_of(ty)
        one = self.writer.let(f"insertelement {vector} poison, {ty} {scalar}, i64 0")
        return self.writer.let(
            f"shufflevector {vector} {one}, {vector} poison, <{self.layout.lanes} x i32> zeroinitializer"
        )

    def _spread(self, base: str, ty: Type, shape: Shape, first: int = 0) -> str:
        """The values of as many lanes as there are, from lane ``first`` on, from lane 0's."""
        if not shape.deps & LANE or not shape.stride:
            return self.splat(base, ty)
        numbers = range(first, first + self.layout.lanes)
        steps = ", ".join(f"{I64 if ty.kind == 'ptr' else ty} {i * shape.stride}" for i in numbers)
        if ty.kind == "ptr":
            return self.writer.let(f"getelementptr i8, {ty} {base}, <{self.layout.lanes} x i64> <{steps}>")
        return self.writer.let(f"add {self.lanes_of(ty)} {self.splat(base, ty)}, <{steps}>")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Values made inside are not known outside (they need not dominate what follows)."""
        kept = dict(self.cache)
        yield
        self.cache = kept

    # Masks.

    def mask(self, row: int) -> str | None:
        """The lanes that run the current block; None if all do."""
        if self.unmasked:
            return None
        return self._class_mask(self.linear.mask_class[self.block], row)

    def _class_mask(self, owner: str, row: int) -> str | None:
        key = ("mask " + owner, 0, row, "v")
        if owner == ENTRY_MASK:
            return f"%mask{row}" if self.variant.masked else None
        known = self.cache.get(key)
        if known is None:
            known = self.cache[key] = self.writer.load_slot(self._mask_slot(owner, row), self.mask_type)
        return known

    @property
    def mask_type(self) -> Type:
        return self.lanes_of(I1) if self.layout.lanes > 1 else I1

    @staticmethod
    def _mask_slot(owner: str, row: int) -> str:
        return f"mask.{owner[1:]}.{row}".replace('"', "")

    def any_lane(self, mask: str) -> str:
        """i1: whether the mask has a lane."""
        if self.layout.lanes == 1:
            return mask
        bits = self.writer.let(f"bitcast {self.mask_type} {mask} to i{self.layout.lanes}")
        return self.writer.let(f"icmp ne i{self.layout.lanes} {bits}, 0")

    def union(self, masks: list[str | None]) -> str | None:
        """The lanes of all masks together; None if one is all lanes."""
        known = [m for m in masks if m is not None]
        if len(known) < len(masks):
            return None
        total = known[0]
        for mask in known[1:]:
            total = self.writer.let(f"or {self.mask_type} {total}, {mask}")
        return total

    def any_of(self, masks: list[str | None]) -> str | None:
        """i1: whether any of the masks has a lane; None if one is all lanes."""
        total = self.union(masks)
        return None if total is None else self.any_lane(total)

    # Values that are at hand everywhere: work-item ids and the places of private arrays.

    def _fixed_values(self) -> dict[str, list[str]]:
        fixed: dict[str, list[str]] = {p.name: [p.name] for p in self.function.params}
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                rows = self.rows(self.shapes.of.get(inst.name, Shape()))
                if inst.op == "alloca":
                    fixed[inst.name] = [private_name(inst, row) for row in rows]
                elif inst.op == "call" and inst.detail == "__hw_work_dim":
                    fixed[inst.name] = ["%dim"]
                elif inst.op == "call" and PRIMITIVE.match(inst.detail):
                    fixed[inst.name] = [self._primitive(inst.detail, row) for row in rows]
        return fixed

    def _primitive(self, name: str, row: int) -> str:
        """The text of a work-item function's value (lane 0's along the lanes)."""
        match = PRIMITIVE.match(name)
        assert match is not None
        kind, dim = PRIMITIVE_PARAM[match[1]], int(match[2])
        if kind in ("gid", "lid") and dim == self.layout.row_dim and self.layout.rows > 1:
            return f"%{kind}{dim}.{row}"
        return f"%{kind}{dim}"

    def _pointer_roots(self) -> dict[str, str]:
        """The parameter or private array that each pointer is computed from, where that is one."""
        roots = {p.name: p.name for p in self.function.params if p.ty.kind == "ptr"}
        roots |= {name: name for name in self.variant.sizes}
        pointers = [i for name in self.cfg.order for i in self.function.blocks[name].insts if i.ty.kind == "ptr"]
        changed = True
        while changed:  # a loop's pointer is what it is where the loop is entered, until it turns out to be more
            changed = False
            for inst in pointers:
                if inst.op == "alloca":
                    found = inst.name
                elif inst.op in ("getelementptr", "addrspacecast", "freeze", "select", "phi"):
                    sources = inst.args[inst.op == "select" :] if inst.op in ("select", "phi") else inst.args[:1]
                    known = {roots.get(v.text, "?" if v.is_local else "") for v in sources} - {"?"}
                    found = known.pop() if len(known) == 1 else "" if known else "?"
                else:
                    found = ""
                if found != roots.get(inst.name, "?"):
                    roots[inst.name] = found
                    changed = True
        return {name: root for name, root in roots.items() if root not in ("", "?")}

    def _crossing_values(self) -> set[str]:
        """Values used outside the block that defines them; phis live in slots always."""
        defined: dict[str, str] = {}
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                if inst.name:
                    defined[inst.name] = name
        crossing: set[str] = set()
        for name in self.cfg.order:
            for inst in self.function.blocks[name].insts:
                for position, value in enumerate(inst.args):
                    home = defined.get(value.text)
                    used_in = inst.labels[position] if inst.op == "phi" else name
                    if home is not None and home != used_in:
                        crossing.add(value.text)
        return crossing


def private_name(inst: Inst, row: int) -> str:
    """The name of the pointer to lane 0's copy of a private array in a row."""
    return f'%"private {inst.name[1:]} {row}"'.replace('""', '"')

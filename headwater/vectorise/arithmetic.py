"""Instructions that compute: one work-item's operation in, the same operation for all lanes and rows of a chunk out."""

from __future__ import annotations

import re

from headwater.errors import InternalError
from headwater.llvm.ir import BINARY, CASTS, Inst, Value
from headwater.llvm.types import Type
from headwater.vectorise.chunk_values import PARTED
from headwater.vectorise.divisions import Divisions
from headwater.vectorise.packed import MANGLED, SCALAR_OPERAND
from headwater.vectorise.shapes import LANE, PRIMITIVE, extension_needs_guard

_IGNORED = re.compile(r"llvm\.(lifetime\.|assume$|experimental\.noalias|dbg\.|debugtrap$|invariant\.)")
_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))


_REDUCTIONS = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor", "fadd": "fadd", "fmul": "fmul"}


class Arithmetic(Divisions):
    """Writes the instructions that neither touch memory nor control flow."""

    def write_instruction(self, inst: Inst) -> None:
        op = inst.op
        if inst.name in self.fixed or op == "fence":
            return
        if op in ("load", "store", "atomicrmw", "cmpxchg"):
            self.write_memory(inst)
        elif inst.name in self.packed:
            self.write_packed(inst)
        elif op in BINARY:
            self._binary(inst)
        elif op in CASTS:
            self._cast(inst)
        elif op in ("icmp", "fcmp"):
            flags = "samesign " if "samesign" in inst.flags else inst.fast_math
            self._elementwise(inst, f"{op} {flags}{inst.detail}")
        elif op in ("fneg", "freeze"):
            self._unary(inst)
        elif op == "select":
            self._select(inst)
        elif op == "getelementptr":
            self._address(inst)
        elif op in ("extractelement", "insertelement"):
            self._component(inst)
        elif op == "shufflevector":
            self._shuffle(inst)
        elif op in ("extractvalue", "insertvalue"):
            self._field(inst)
        elif op == "call":
            self._call(inst)
        else:
            raise InternalError(f"cannot vectorise LLVM instruction {op!r}")

    def write_memory(self, inst: Inst) -> None:
        raise NotImplementedError  # Memory's part

    def write_call_per_lane(self, inst: Inst) -> None:
        raise NotImplementedError  # Memory's part

    def _elementwise(self, inst: Inst, operation: str) -> None:
        """``operation ty a, b`` on every component and row."""
        form = self.widened(inst)
        operand = self.components(inst.args[0].ty)
        for component, ty in enumerate(operand):
            for row in self.rows(self.shapes.of[inst.name]):
                texts = ", ".join(self.part(v, row, form, component) for v in inst.args)
                text = self.let_row(inst, row, form, f"{operation} {self.form_type(ty, form)} {texts}")
                self.set_part(inst, row, form, text, component)

    def _guard(self, inst: Inst, row: int, extra: str = "") -> str:
        """The guards of the operands, and ``extra``, together."""
        guards = [self.part(v, row, "g") for v in inst.args if v.is_local and "g" in self.forms(self.shapes.shape(v))]
        if extra:
            guards.append(extra)
        total = guards[0]
        for guard in guards[1:]:
            total = self.writer.let(f"and i1 {total}, {guard}")
        return total

    def _binary(self, inst: Inst) -> None:
        shape = self.shapes.of[inst.name]
        flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "exact", "disjoint"))
        if self.alike_rows(inst, self.widened(inst)):
            flags = ""
        if shape.strided:
            # Lane 0 stands for all lanes, active or not: its result must not be poison.
            op = "add" if inst.op == "or" else inst.op
            for row in self.rows(shape):
                a, b = (self.part(v, row) for v in inst.args)
                self.set_part(inst, row, "s", self.let_row(inst, row, "s", f"{op} {inst.ty} {a}, {b}"))
                if shape.guarded:
                    va, vb = (self.part(v, row, "v") for v in inst.args)
                    wide = self.form_type(inst.ty, "v")
                    self.set_part(inst, row, "v", self.writer.let(f"{op} {wide} {va}, {vb}"))
                    self.set_part(inst, row, "g", self._guard(inst, row))
        elif inst.op in _DIVISIONS and inst.args[1].is_local:
            self.divide(inst)
        elif inst.op in _DIVISIONS:
            self._division_by_constant(inst, flags)
        else:
            self._elementwise(inst, f"{inst.op} {flags}{inst.fast_math}".rstrip())

    def _division_by_constant(self, inst: Inst, flags: str) -> None:
        divisors = [
            inst.args[1].component(i) if inst.ty.kind == "vec" else inst.args[1] for i in range(max(1, inst.ty.count))
        ]
        if any(d.text in ("0", "undef", "poison", "zeroinitializer", "-1") for d in divisors):
            self.divide(inst)
        else:
            self._elementwise(inst, f"{inst.op} {flags}".rstrip())

    def _unary(self, inst: Inst) -> None:
        shape = self.shapes.of[inst.name]
        operation = f"{inst.op} {inst.fast_math}".rstrip()
        if not shape.strided:
            self._elementwise(inst, operation)
            return
        for row in self.rows(shape):
            for form in self.forms(shape):
                ty = self.form_type(inst.ty, form)
                self.set_part(
                    inst, row, form, self.writer.let(f"{operation} {ty} {self.part(inst.args[0], row, form)}")
                )

    def _cast(self, inst: Inst) -> None:
        shape = self.shapes.of[inst.name]
        source = inst.args[0]
        if inst.op == "bitcast" and (inst.ty.kind == "vec" or source.ty.kind == "vec"):
            self._bitcast(inst)
            return
        flags = "".join(f + " " for f in inst.flags if f in ("nuw", "nsw", "nneg")) + inst.fast_math
        if not shape.strided:
            form = self.widened(inst)
            if self.alike_rows(inst, form):
                flags = ""
            for component, ty in enumerate(self.components(inst.ty)):
                from_type = self.form_type(self.components(source.ty)[component], form)
                for row in self.rows(shape):
                    value = self.part(source, row, form, component)
                    to_type = self.form_type(ty, form)
                    text = self.let_row(inst, row, form, f"{inst.op} {flags}{from_type} {value} to {to_type}")
                    self.set_part(inst, row, form, text, component)
            return
        # nneg speaks of active lanes only: for lane 0 the sign decides, as the value is meant.
        op = "sext" if "nneg" in inst.flags else inst.op
        if inst.name in self.shapes.assumed:
            self._assumed_extension(inst, op)
            return
        for row in self.rows(shape):
            base = self.part(source, row)
            self.set_part(inst, row, "s", self.let_row(inst, row, "s", f"{op} {source.ty} {base} to {inst.ty}"))
            if not shape.guarded:
                continue
            wide = self.part(source, row, "v")
            text = self.writer.let(f"{inst.op} {self.lanes_of(source.ty)} {wide} to {self.lanes_of(inst.ty)}")
            self.set_part(inst, row, "v", text)
            extends = inst.op in ("sext", "zext")
            needs = extends and extension_needs_guard(inst, self.shapes.shape(source))
            extra = self._no_wrap(op, source, row, self.layout.lanes) if needs else ""
            self.set_part(inst, row, "g", self._guard(inst, row, extra))

    def _assumed_extension(self, inst: Inst, op: str) -> None:
        """Extend lane 0, and give the chunk up if extending it does not extend all lanes: that is tested once."""
        source, shape = inst.args[0], self.shapes.of[inst.name]
        for row in self.rows(shape):
            fits = self._no_wrap(op, source, row, self.layout.lanes * (self.layout.rows if shape.in_line else 1))
            fits = self.writer.let(f"freeze i1 {fits}")  # where no lane runs, what lanes share may be poison
            go_on, parted = self.writer.fresh_label("fits"), self.writer.fresh_label("wraps")
            self.writer.branch(fits, go_on, parted)
            self.writer.start(parted)
            self.writer.line(f"ret i32 {PARTED}")
            self.writer.start(go_on)
        for row in self.rows(shape):
            text = self.let_row(inst, row, "s", f"{op} {source.ty} {self.part(source, row)} to {inst.ty}")
            self.set_part(inst, row, "s", text)

    def _no_wrap(self, op: str, source: Value, row: int, lanes: int) -> str:
        """i1: stepping through so many lanes stays within the type, so that extending lane 0 extends all."""
        stride = self.shapes.shape(source).stride
        assert stride is not None
        span = stride * (lanes - 1)
        bits = source.ty.bits
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if op == "sext" else (0, (1 << bits) - 1)
        sign = "s" if op == "sext" else "u"
        base = self.part(source, row)
        if abs(span) > high - low:
            return "false"
        if span >= 0:
            return self.writer.let(f"icmp {sign}le {source.ty} {base}, {high - span}")
        return self.writer.let(f"icmp {sign}ge {source.ty} {base}, {low - span}")

    def _bitcast(self, inst: Inst) -> None:
        """Between vectors, or a vector and a scalar, of one size."""
        source = inst.args[0]
        form = self.widened(inst)
        old, new = self.components(source.ty), self.components(inst.ty)
        lanes = self.layout.lanes if form == "v" else 1
        for row in self.rows(self.shapes.of[inst.name]):
            if source.text in self.packed and inst.ty.kind != "vec":
                cast = f"bitcast {self.whole_type(source.ty)} {self.whole(source, row)} to {self.whole_type(inst.ty)}"
                self.set_part(inst, row, form, self.writer.let(cast))
                continue
            parts = [self.part(source, row, form, c) for c in range(len(old))]
            if len(old) == len(new):
                for c, text in enumerate(parts):
                    to = self.form_type(new[c], form)
                    self.set_part(
                        inst, row, form, self.writer.let(f"bitcast {self.form_type(old[c], form)} {text} to {to}"), c
                    )
                continue
            # Lay each lane's components side by side, reinterpret, and take them apart again.
            joined = self.interleave(parts, old[0], lanes)
            total = lanes * len(new)
            cast = self.writer.let(f"bitcast <{lanes * len(old)} x {old[0]}> {joined} to <{total} x {new[0]}>")
            for c in range(len(new)):
                self.set_part(inst, row, form, self.take_component(cast, new[0], total, c, len(new), lanes), c)

    def _select(self, inst: Inst) -> None:
        shape = self.shapes.of[inst.name]
        condition, yes, no = inst.args
        if shape.strided:
            for row in self.rows(shape):
                test = self.part(condition, row)
                for form in self.forms(shape):
                    ty = self.form_type(inst.ty, form)
                    a, b = (
                        "true"
                        if form == "g" and "g" not in self.forms(self.shapes.shape(v))
                        else self.part(v, row, form)
                        for v in (yes, no)
                    )
                    self.set_part(inst, row, form, self.writer.let(f"select i1 {test}, {ty} {a}, {ty} {b}"))
            return
        form = self.widened(inst)
        test_form = "v" if self.shapes.shape(condition).deps & LANE else "s"
        for component, ty in enumerate(self.components(inst.ty)):
            of_test = component if condition.ty.kind == "vec" else 0
            test_type = self.form_type(condition.ty.scalar, test_form)
            wide = self.form_type(ty, form)
            for row in self.rows(shape):
                test = self.part(condition, row, test_form, of_test)
                a, b = (self.part(v, row, form, component) for v in (yes, no))
                text = self.writer.let(f"select {inst.fast_math}{test_type} {test}, {wide} {a}, {wide} {b}")
                self.set_part(inst, row, form, text, component)

    def _address(self, inst: Inst) -> None:
        shape = self.shapes.of[inst.name]
        pointer = inst.args[0]
        if inst.ty.kind == "vec":
            raise InternalError("cannot vectorise vectors of pointers")
        factor = self.shapes.interleave_factor(pointer.text)
        for row in self.rows(shape):
            for form in self.forms(shape):
                if form == "g":
                    self.set_part(inst, row, "g", self._guard(inst, row))
                elif factor != 1:
                    self.set_part(inst, row, form, self._interleaved_address(inst, row, form, factor))
                else:
                    self.set_part(inst, row, form, self._plain_address(inst, row, form))

    def _plain_address(self, inst: Inst, row: int, form: str) -> str:
        pointer = inst.args[0]
        flags = ""
        if not self.shapes.of[inst.name].deps & LANE and not self.alike_rows(inst, form):
            flags = "".join(f + " " for f in inst.flags if f in ("inbounds", "nuw", "nusw"))
        texts = []
        for value in inst.args[1:]:
            lane = form == "v" and bool(self.shapes.shape(value).deps & LANE)
            ty = self.lanes_of(value.ty) if lane else value.ty
            texts.append(f"{ty} {self.part(value, row, 'v' if lane else 's')}")
        lane = form == "v" and bool(self.shapes.shape(pointer).deps & LANE)
        base_type = self.lanes_of(pointer.ty) if lane else pointer.ty
        base = self.part(pointer, row, "v" if lane else "s")
        text = f"getelementptr {flags}{inst.source}, {base_type} {base}, {', '.join(texts)}"
        return self.let_row(inst, row, form, text)

    def _interleaved_address(self, inst: Inst, row: int, form: str, factor: int) -> str:
        """An address in a private array whose lanes lie side by side: offsets count ``factor``-fold."""
        pointer = inst.args[0]
        offset = ""
        int64 = "i64" if form == "s" else f"<{self.layout.lanes} x i64>"
        ty = inst.source
        for position, value in enumerate(inst.args[1:]):
            if position == 0:
                scale = ty.size_bytes
            elif ty.kind == "struct":
                raise InternalError("structs are not laid out side by side")
            else:
                assert ty.elem is not None
                ty = ty.elem
                scale = ty.size_bytes
            index = self.part(value, row, form)
            if value.ty.bits < 64:
                index = self.writer.let(f"sext {self.form_type(value.ty, form)} {index} to {int64}")
            amount = str(scale * factor) if form == "s" else f"splat (i64 {scale * factor})"
            step = self.writer.let(f"mul {int64} {index}, {amount}")
            offset = self.writer.let(f"add {int64} {offset}, {step}") if offset else step
        base = self.part(pointer, row, form)
        return self.writer.let(f"getelementptr i8, {self.form_type(pointer.ty, form)} {base}, {int64} {offset}")

    def _component(self, inst: Inst) -> None:
        """extractelement and insertelement: at a constant place they only rename."""
        vector = inst.args[0]
        index = inst.args[-1]
        form = self.widened(inst)
        count = vector.ty.count
        for row in self.rows(self.shapes.of[inst.name]):
            if not index.is_local:
                place = int(index.text)
                if inst.op == "extractelement":
                    text = self.part(vector, row, form, place) if place < count else "poison"
                    self.set_part(inst, row, form, text)
                else:
                    for c in range(count):
                        value = self.part(inst.args[1], row, form) if c == place else self.part(vector, row, form, c)
                        self.set_part(inst, row, form, value, c)
            else:
                self._dynamic_component(inst, row, form)

    def _dynamic_component(self, inst: Inst, row: int, form: str) -> None:
        vector, index = inst.args[0], inst.args[-1]
        ty = self.form_type(vector.ty.scalar, form)
        index_type = self.form_type(index.ty, form)
        flag = self.form_type(Type("i1", "int", 1), form)
        at = self.part(index, row, form)
        found = "poison"
        for c in range(vector.ty.count):
            number = str(c) if form == "s" else f"splat ({index.ty} {c})"
            here = self.writer.let(f"icmp eq {index_type} {at}, {number}")
            old = self.part(vector, row, form, c)
            if inst.op == "extractelement":
                found = self.writer.let(f"select {flag} {here}, {ty} {old}, {ty} {found}") if c else old
            else:
                new = self.part(inst.args[1], row, form)
                self.set_part(inst, row, form, self.writer.let(f"select {flag} {here}, {ty} {new}, {ty} {old}"), c)
        if inst.op == "extractelement":
            self.set_part(inst, row, form, found)

    def _shuffle(self, inst: Inst) -> None:
        form = self.widened(inst)
        first, second = inst.args
        for row in self.rows(self.shapes.of[inst.name]):
            for c, source in enumerate(inst.indices):
                if source < 0:
                    text = "poison"
                elif source < first.ty.count:
                    text = self.part(first, row, form, source)
                else:
                    text = self.part(second, row, form, source - first.ty.count)
                self.set_part(inst, row, form, text, c)

    def _field(self, inst: Inst) -> None:
        """extractvalue and insertvalue of flat structs."""
        aggregate = inst.args[0]
        form = self.widened(inst)
        if len(inst.indices) != 1:
            raise InternalError("cannot vectorise nested aggregates")
        for row in self.rows(self.shapes.of[inst.name]):
            if inst.op == "extractvalue":
                self.set_part(inst, row, form, self.part(aggregate, row, form, inst.indices[0]))
                continue
            for c in range(len(self.components(inst.ty))):
                value = (
                    self.part(inst.args[1], row, form) if c == inst.indices[0] else self.part(aggregate, row, form, c)
                )
                self.set_part(inst, row, form, value, c)

    def _call(self, inst: Inst) -> None:
        name = inst.detail
        if _IGNORED.match(name) or PRIMITIVE.match(name):
            return
        if name.startswith("llvm.vector.reduce."):
            self._reduce(inst, name.split(".")[3])
        elif name.startswith(("llvm.mem", "llvm.trap", "llvm.prefetch")) or not name.startswith("llvm."):
            self.write_call_per_lane(inst)
        else:
            self._intrinsic(inst)

    def _intrinsic(self, inst: Inst) -> None:
        """An LLVM intrinsic that works element by element."""
        shape = self.shapes.of[inst.name]
        form = self.widened(inst)
        stem = inst.detail.split(".")
        scalar_place = SCALAR_OPERAND.get(".".join(stem[:2]), -1)
        lanes = f"v{self.layout.lanes}" if form == "v" else ""
        name = MANGLED.sub(lambda m: f".{lanes}{m[2]}", inst.detail)
        if stem[1] == "powi" and form == "v":
            name = re.sub(r"\.v\d+(i\d+)$", r".\1", name)
        field_types = list(inst.ty.fields) if inst.ty.kind == "struct" else []
        count = 1 if field_types else len(self.components(inst.ty))
        for component in range(count):
            result = inst.ty.scalar
            if field_types:
                wide = "{ " + ", ".join(str(self.form_type(f, form)) for f in field_types) + " }"
            else:
                wide = str(self.form_type(result, form))
            for row in self.rows(shape):
                args, types = [], []
                for place, value in enumerate(inst.args):
                    own = "s" if place == scalar_place else form
                    ty = self.form_type(value.ty.scalar, own)
                    args.append(f"{ty} {self.part(value, row, own, component if value.ty.kind == 'vec' else 0)}")
                    types.append(str(ty))
                self.writer.declare(name, f"declare {wide} @{name}({', '.join(types)})")
                text = self.writer.let(f"call {inst.fast_math}{wide} @{name}({', '.join(args)})")
                if not field_types:
                    self.set_part(inst, row, form, text, component)
                for c in range(len(field_types)):
                    self.set_part(inst, row, form, self.writer.let(f"extractvalue {wide} {text}, {c}"), c)

    def _reduce(self, inst: Inst, kind: str) -> None:
        """llvm.vector.reduce.*: fold a work-item's components."""
        form = self.widened(inst)
        vector = inst.args[-1]
        ty = inst.ty
        wide = self.form_type(ty, form)
        for row in self.rows(self.shapes.of[inst.name]):
            parts = [self.part(vector, row, form, c) for c in range(vector.ty.count)]
            total = self.part(inst.args[0], row, form) if len(inst.args) == 2 else parts.pop(0)
            for text in parts:
                if kind in _REDUCTIONS:
                    total = self.writer.let(f"{_REDUCTIONS[kind]} {inst.fast_math}{wide} {total}, {text}")
                else:
                    names = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
                    suffix = ("f" if ty.kind == "float" else "i") + str(ty.bits)
                    lanes = f"v{self.layout.lanes}" if form == "v" else ""
                    name = f"llvm.{names.get(kind, kind)}.{lanes}{suffix}"
                    self.writer.declare(name, f"declare {wide} @{name}({wide}, {wide})")
                    total = self.writer.let(f"call {wide} @{name}({wide} {total}, {wide} {text})")
            self.set_part(inst, row, form, total)

"""Input: one line of LLVM IR. Output: the instruction that it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from headwater.errors import InternalError
from headwater.llvm.types import (
    INT_NAME,
    SIMPLE,
    VOID,
    Type,
    array_type,
    int_type,
    ptr_type,
    struct_type,
    vec_type,
)
from headwater.llvm.values import BINARY, CASTS, FAST_MATH, Inst, Value

_TOKEN = re.compile(
    r'[%@]"[^"]*"|[%@$][\w.$-]+|c"[^"]*"|"[^"]*"|!\d+|![\w.]+|!|\#\d+'
    r"|-?\d+\.\d+(?:e[+-]?\d+)?|f?0x[KMLHR]?[0-9A-Fa-f]+|-?\d+(?=[^\w.]|$)|[A-Za-z_][\w.]*|\.\.\.|[=,()\[\]{}<>*|:]"
)
_FLAGS = frozenset(
    "nuw nsw exact disjoint nneg inbounds nusw samesign fast nnan ninf nsz arcp contract afn reassoc "
    "tail musttail notail volatile atomic weak".split()
)
_CONVENTIONS = frozenset(("spir_func", "spir_kernel", "ccc", "fastcc", "coldcc"))
_CONSTANT_EXPRESSIONS = frozenset(
    "getelementptr ptrtoint inttoptr addrspacecast bitcast trunc add sub mul xor ptrtoaddr "
    "extractelement insertelement shufflevector".split()
)


class Reader:
    """Tokens of one line, with the grammar of LLVM's types and values on top."""

    def __init__(self, line: str, structs: Mapping[str, Type]) -> None:
        self.tokens = _TOKEN.findall(line)
        self.at = 0
        self.line = line
        self.structs = structs

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index] if index < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise InternalError(f"cannot read LLVM IR: expected {token!r} before {self.peek()!r} in: {self.line}")

    def flags(self) -> tuple[str, ...]:
        found = []
        while self.peek() in _FLAGS or (self.peek() == "inrange"):
            if self.next() == "inrange":
                self.skip_parens()
            else:
                found.append(self.tokens[self.at - 1])
        return tuple(found)

    def skip_parens(self) -> None:
        self.expect("(")
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1, "": -99}.get(self.next(), 0)

    def type(self) -> Type:
        token = self.next()
        if token == "ptr":
            if self.accept("addrspace"):
                self.expect("(")
                space = int(self.next())
                self.expect(")")
                return ptr_type(space)
            return ptr_type(0)
        if INT_NAME.match(token):
            return int_type(int(token[1:]))
        if token in SIMPLE:
            return SIMPLE[token]
        if token == "<":
            if self.accept("{"):
                fields = self.type_list("}")
                self.expect(">")
                return struct_type(fields, packed=True)
            count = int(self.next())
            self.expect("x")
            elem = self.type()
            self.expect(">")
            return vec_type(count, elem)
        if token == "[":
            count = int(self.next())
            self.expect("x")
            elem = self.type()
            self.expect("]")
            return array_type(count, elem)
        if token == "{":
            return struct_type(self.type_list("}"))
        if token == "target":
            start = self.at
            self.skip_parens()
            return Type(f"target{_join(self.tokens[start : self.at])}", "target")
        if token.startswith("%") and token in self.structs:
            return self.structs[token]
        raise InternalError(f"cannot read LLVM IR: unknown type {token!r} in: {self.line}")

    def value_list(self, close: str) -> tuple[Value, ...]:
        found: list[Value] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(self.typed_value())
        return tuple(found)

    def type_list(self, close: str) -> tuple[Type, ...]:
        fields: list[Type] = []
        while not self.accept(close):
            if fields:
                self.expect(",")
            fields.append(self.type())
        return tuple(fields)

    def typed_value(self) -> Value:
        ty = self.type()
        self.attributes()
        return self.value(ty)

    def attributes(self) -> str:
        """Parameter attributes between a type and its value."""
        start = self.at
        while True:
            token = self.peek()
            if token == "align":
                self.at += 2
            elif token[:1].isalpha() and not _is_constant(token):
                self.at += 1
                if self.peek() == "(":
                    self.skip_parens()
            else:
                return " ".join(self.tokens[start : self.at])

    def value(self, ty: Type) -> Value:
        token = self.next()
        if token[0] in "%@" or token in ("true", "false", "null", "undef", "poison", "zeroinitializer", "none"):
            return Value(ty, token)
        if token == "<" and self.accept("{"):  # a packed struct
            whole = self.value_list("}")
            self.expect(">")
            return Value(ty, "<{ " + ", ".join(f"{e.ty} {e.text}" for e in whole) + " }>", whole)
        if token == "<":
            elems: list[Value] = []
            while not self.accept(">"):
                if elems:
                    self.expect(",")
                elems.append(self.typed_value())
            return Value(ty, "<" + ", ".join(f"{e.ty} {e.text}" for e in elems) + ">", tuple(elems))
        if token == "splat":
            self.expect("(")
            elem = self.typed_value()
            self.expect(")")
            return Value(ty, f"splat ({elem.ty} {elem.text})", (elem,) * ty.count)
        if token in ("{", "["):
            close = {"{": "}", "[": "]"}[token]
            elems = []
            while not self.accept(close):
                if elems:
                    self.expect(",")
                elems.append(self.typed_value())
            inner = ", ".join(f"{e.ty} {e.text}" for e in elems)
            return Value(ty, f"{token} {inner} {close}", tuple(elems))
        if token in _CONSTANT_EXPRESSIONS or (token[0].isalpha() and self.peek() == "("):
            start = self.at - 1
            while self.peek() != "(":
                self.at += 1
            self.skip_parens()
            return Value(ty, _join(self.tokens[start : self.at]))
        return Value(ty, token)


_CONSTANTS = frozenset("true false null undef poison zeroinitializer none splat".split())


def _is_constant(token: str) -> bool:
    return token in _CONSTANTS or token in _CONSTANT_EXPRESSIONS or token.startswith(('c"', "f0x"))


def _join(tokens: list[str]) -> str:
    return (
        " ".join(tokens).replace("( ", "(").replace(" )", ")").replace(" ,", ",").replace("addrspace (", "addrspace(")
    )


def read_expression(text: str, structs: Mapping[str, Type]) -> Inst:
    """The instruction that computes a constant expression."""
    reader = Reader(text, structs)
    op = reader.next()
    flags = reader.flags()
    reader.expect("(")
    inst = _read_cast(reader, op) if op in CASTS else _read_gep(reader, op) if op == "getelementptr" else None
    if inst is None:
        inst = _read_values(reader, op)
    inst.flags = flags
    return inst


def read_instruction(line: str, structs: Mapping[str, Type]) -> Inst | None:
    """Read one line; None if it is a record for debuggers. Raises InternalError on IR that is not known here."""
    reader = Reader(line, structs)
    name = ""
    if reader.peek(1) == "=":
        name = reader.next()
        reader.next()
    if reader.peek().startswith("#"):
        return None
    flags = reader.flags()
    op = reader.next()
    flags += reader.flags()
    if op in BINARY:
        inst = _read_binary(reader, op)
    elif op in CASTS:
        inst = _read_cast(reader, op)
    else:
        read = _READERS.get(op)
        if read is None:
            raise InternalError(f"cannot vectorise LLVM instruction {op!r}: {line.strip()}")
        inst = read(reader, op)
    inst.name = name
    inst.flags = flags + inst.flags
    return inst


def _read_binary(reader: Reader, op: str) -> Inst:
    first = reader.typed_value()
    reader.expect(",")
    return Inst(op, first.ty, args=[first, reader.value(first.ty)])


def _read_cast(reader: Reader, op: str) -> Inst:
    value = reader.typed_value()
    reader.expect("to")
    return Inst(op, reader.type(), args=[value])


def _read_compare(reader: Reader, op: str) -> Inst:
    predicate = reader.next()
    first = reader.typed_value()
    reader.expect(",")
    second = reader.value(first.ty)
    result = vec_type(first.ty.count, int_type(1)) if first.ty.kind == "vec" else int_type(1)
    return Inst(op, result, args=[first, second], detail=predicate)


def _read_values(reader: Reader, op: str) -> Inst:
    """Instructions that are a list of typed values: select, fneg, freeze, extractelement, insertelement."""
    values = [reader.typed_value()]
    while reader.accept(",") and not reader.peek().startswith("!"):
        values.append(reader.typed_value())
    result = values[1].ty if op == "select" else values[0].ty
    if op == "extractelement":
        result = result.scalar
    return Inst(op, result, args=values)


def _read_shuffle(reader: Reader, op: str) -> Inst:
    first = reader.typed_value()
    reader.expect(",")
    second = reader.typed_value()
    reader.expect(",")
    mask = reader.typed_value()
    indices = tuple(-1 if (c := mask.component(i)).is_undefined else int(c.text) for i in range(mask.ty.count))
    return Inst(op, vec_type(len(indices), first.ty.scalar), args=[first, second], indices=indices)


def _read_extract_value(reader: Reader, op: str) -> Inst:
    values = [reader.typed_value()]
    indices: list[int] = []
    while reader.accept(","):
        if reader.peek().lstrip("-").isdigit():
            indices.append(int(reader.next()))
        elif reader.peek().startswith("!"):
            break
        else:
            values.append(reader.typed_value())
    result = values[0].ty
    if op == "extractvalue":
        for index in indices:
            result = result.fields[index] if result.kind == "struct" else result.elem or VOID
    return Inst(op, result, args=values, indices=tuple(indices))


def _read_gep(reader: Reader, op: str) -> Inst:
    source = reader.type()
    values = []
    while reader.accept(",") and not reader.peek().startswith("!"):
        values.append(reader.typed_value())
    base = values[0].ty
    counts = [v.ty.count for v in values if v.ty.kind == "vec"]
    result = vec_type(counts[0], base.scalar) if counts else base
    return Inst(op, result, args=values, source=source)


def _tail(reader: Reader, inst: Inst) -> Inst:
    """What follows a memory access: ordering and alignment."""
    while reader.at < len(reader.tokens):
        token = reader.next()
        if token == "align":
            inst.align = int(reader.next())
        elif token == "syncscope":
            reader.skip_parens()
    return inst


def _read_load(reader: Reader, op: str) -> Inst:
    ty = reader.type()
    reader.expect(",")
    return _tail(reader, Inst(op, ty, args=[reader.typed_value()]))


def _read_store(reader: Reader, op: str) -> Inst:
    value = reader.typed_value()
    reader.expect(",")
    return _tail(reader, Inst(op, VOID, args=[value, reader.typed_value()]))


def _read_alloca(reader: Reader, op: str) -> Inst:
    ty = reader.type()
    inst = Inst(op, ptr_type(0), source=ty, align=ty.align_bytes)
    while reader.accept(","):
        if reader.accept("align"):
            inst.align = int(reader.next())
        elif reader.accept("addrspace"):
            reader.expect("(")
            inst.detail = reader.next()
            reader.expect(")")
        elif reader.peek().startswith("!"):
            break
        else:
            count = reader.typed_value()
            if not count.text.isdigit():
                raise InternalError(f"cannot vectorise a stack array of variable size: {reader.line.strip()}")
            inst.source = array_type(int(count.text), ty)
    return inst


def _read_phi(reader: Reader, op: str) -> Inst:
    ty = reader.type()
    values: list[Value] = []
    labels: list[str] = []
    while reader.accept("["):
        values.append(reader.value(ty))
        reader.expect(",")
        labels.append(reader.next())
        reader.expect("]")
        reader.accept(",")
    return Inst(op, ty, args=values, labels=tuple(labels))


def _read_br(reader: Reader, op: str) -> Inst:
    if reader.accept("label"):
        return Inst(op, VOID, labels=(reader.next(),))
    condition = reader.typed_value()
    reader.expect(",")
    reader.expect("label")
    first = reader.next()
    reader.expect(",")
    reader.expect("label")
    second = reader.next()
    if first == second:
        return Inst(op, VOID, labels=(first,))
    return Inst(op, VOID, args=[condition], labels=(first, second))


def _read_ret(reader: Reader, op: str) -> Inst:
    return Inst(op, VOID, args=[] if reader.peek() == "void" else [reader.typed_value()])


def _read_call(reader: Reader, op: str) -> Inst:
    fast = tuple(reader.next() for _ in iter(lambda: reader.peek() in FAST_MATH, False))
    while reader.peek() in _CONVENTIONS:
        reader.next()
    while True:  # return attributes
        token = reader.peek()
        if token == "align":
            reader.at += 2
        elif token[:1].isalpha() and token not in SIMPLE and not INT_NAME.match(token):
            reader.next()
            if reader.peek() == "(":
                reader.skip_parens()
        else:
            break
    ty = reader.type()
    if reader.peek() == "(":  # the type of a variadic callee
        reader.skip_parens()
    callee = reader.next()
    if callee == "asm":  # its words, its text and its constraints come before the arguments
        while reader.peek() != "(":
            reader.next()
    reader.expect("(")
    args: list[Value] = []
    while not reader.accept(")"):
        if args:
            reader.expect(",")
        if reader.peek() == "metadata":
            reader.at += 1
            while reader.peek() not in (",", ")"):
                if reader.next() == "(":
                    reader.at -= 1
                    reader.skip_parens()
            args.append(Value(SIMPLE["metadata"], "metadata"))
        else:
            args.append(reader.typed_value())
    return Inst(op, ty, args=args, detail="" if callee == "asm" else callee[1:].strip('"'), flags=fast)


def _read_atomicrmw(reader: Reader, op: str) -> Inst:
    operation = reader.next()
    pointer = reader.typed_value()
    reader.expect(",")
    value = reader.typed_value()
    return _tail(reader, Inst(op, value.ty, args=[pointer, value], detail=operation))


def _read_cmpxchg(reader: Reader, op: str) -> Inst:
    pointer = reader.typed_value()
    reader.expect(",")
    expected = reader.typed_value()
    reader.expect(",")
    new = reader.typed_value()
    return _tail(reader, Inst(op, struct_type((expected.ty, int_type(1))), args=[pointer, expected, new]))


def _read_bare(reader: Reader, op: str) -> Inst:
    return Inst(op, VOID)


_READERS: dict[str, Callable[[Reader, str], Inst]] = {
    "icmp": _read_compare,
    "fcmp": _read_compare,
    "select": _read_values,
    "fneg": _read_values,
    "freeze": _read_values,
    "extractelement": _read_values,
    "insertelement": _read_values,
    "shufflevector": _read_shuffle,
    "extractvalue": _read_extract_value,
    "insertvalue": _read_extract_value,
    "getelementptr": _read_gep,
    "load": _read_load,
    "store": _read_store,
    "alloca": _read_alloca,
    "phi": _read_phi,
    "br": _read_br,
    "ret": _read_ret,
    "call": _read_call,
    "atomicrmw": _read_atomicrmw,
    "cmpxchg": _read_cmpxchg,
    "fence": _read_bare,
    "unreachable": _read_bare,
}

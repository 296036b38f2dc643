"""Input: LLVM's constants, expressions among them. Output: their bits, and their layout in memory.

What an expression makes of the address of a variable is known when the kernel runs, not here: `HoldsAddress`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from headwater.errors import InternalError
from headwater.il.from_llvm.types import bits, components, size_bytes, struct_layout
from headwater.llvm.ir import Inst, Module, Value, zero_of
from headwater.llvm.text import string_bytes
from headwater.llvm.types import Type

GENERIC, GLOBAL, LOCAL, CONSTANT, PRIVATE = 0, 1, 3, 4, 5
NULL = {LOCAL: 0xFFFFFFFF, PRIVATE: 0xFFFFFFFF}
"""The null pointers of address spaces in which a variable may lie at 0; elsewhere null is 0 (LLVM, User Guide for
AMDGPU Backend, Address Spaces)."""
APERTURES = {PRIVATE: 0xFFFE0000, LOCAL: 0xFFFF0000}
"""Where a generic pointer has local and private memory, 64 KiB each, which is more than any of these chips has of them:
above all buffers (`headwater.runtime.vliw.launch.Arena`), as clang's and AMD's later chips have apertures."""
_ZEROS = frozenset(("null", "zeroinitializer", "false", "none"))


class HoldsAddress(Exception):
    """A constant is made of the address of a variable: ``text`` is LLVM's of it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Unknown(Exception):
    """An expression of a kind that nobody knows: ``operation`` is LLVM's name of it."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation)
        self.operation = operation


def recast(number: int, source: int, target: int) -> int:
    """A pointer of one address space as one of another, one of both generic."""
    if number == NULL.get(source, 0):
        return NULL.get(target, 0)
    return number + APERTURES.get(source, 0) - APERTURES.get(target, 0) & 0xFFFFFFFF


def scalars_of(value: Value) -> list[Value]:
    """The scalars of a constant, in order."""
    ty = value.ty
    if ty.kind not in ("vec", "array", "struct"):
        return [value]
    if value.elems is not None:
        return [scalar for element in value.elems for scalar in scalars_of(element)]
    if value.text.startswith('c"'):
        assert ty.elem is not None
        return [Value(ty.elem, str(byte)) for byte in string_bytes(value.text)]
    if value.is_undefined or value.text == "zeroinitializer":
        return [zero_of(scalar) for scalar in components(ty)]
    if value.is_expression and ty.kind == "vec":
        return [value.component(k) for k in range(ty.count)]
    raise InternalError(f"no constant in IL: {ty} {value.text:.80}")


def scalar_bits(module: Module, value: Value) -> int:
    """The bits of a constant scalar. `HoldsAddress` if an address is part of it, `Unknown` where it is an expression
    that is not known."""
    ty, text = value.ty, value.text
    if ty.kind == "int":
        try:
            return int(text) & ((1 << ty.bits) - 1)
        except ValueError:  # a truth value, or none of those that large tables are made of
            pass
    if value.is_undefined or text in _ZEROS:
        return 0
    if text == "true":
        return 1
    if text.startswith("@"):
        raise HoldsAddress(text)
    if value.is_expression:
        return _computed(module, module.constant_expression(value), value)
    if ty.kind == "float":
        return _float_bits(ty, text)
    raise InternalError(f"no constant in IL: {ty} {text}")


def memory_image(module: Module, value: Value) -> bytes:
    """A constant as it lies in memory; what `scalar_bits` raises."""
    ty = value.ty
    if ty.kind == "struct":
        offsets, size = struct_layout(ty)
        members = value.elems or tuple(Value(member, "zeroinitializer") for member in ty.fields)
        out = bytearray(size)
        for offset, member in zip(offsets, members, strict=True):
            image = memory_image(module, member)
            out[offset : offset + len(image)] = image
        return bytes(out)
    if ty.kind == "array":
        assert ty.elem is not None
        if value.elems is not None:
            return b"".join(memory_image(module, element) for element in value.elems)
        if value.text.startswith('c"'):
            return string_bytes(value.text)
        return bytes(size_bytes(ty))
    if ty.kind == "vec":
        whole = _joined(bits(ty.scalar), [scalar_bits(module, part) for part in scalars_of(value)])
        return whole.to_bytes(size_bytes(ty), "little")
    return scalar_bits(module, value).to_bytes(size_bytes(ty), "little")


def steps(inst: Inst, offset_of: Callable[[int], None]) -> Iterator[tuple[Value, int]]:
    """The indices of a getelementptr, each with the bytes that a step of it is; those that choose a struct's member
    are given to ``offset_of``, in bytes."""
    ty = inst.source
    for position, index in enumerate(inst.args[1:]):
        if position == 0:
            yield index, size_bytes(ty)
        elif ty.kind == "struct":
            member = int(index.text)
            offset_of(struct_layout(ty)[0][member])
            ty = ty.fields[member]
        else:
            inner = ty.elem if ty.elem is not None else ty
            yield index, size_bytes(inner) if ty.kind == "array" else bits(inner) // 8
            ty = inner


# -- expressions -------------------------------------------------------------------------------------------------------


def _computed(module: Module, inst: Inst, value: Value) -> int:
    """What an expression gives; its value's type is not always the instruction's."""
    handler = _OPERATIONS.get(inst.op)
    if handler is None:
        raise Unknown(inst.op)
    return handler(module, inst) & _mask(value.ty)


def _vector(module: Module, value: Value) -> list[int]:
    """The bits of each component of a constant, of a scalar as of one."""
    if value.is_expression and value.ty.kind == "vec":
        inst = module.constant_expression(value)
        if inst.op != "bitcast":
            raise Unknown(f"{inst.op} of vectors")
        source = inst.args[0].ty
        whole = _joined(bits(source.scalar), _vector(module, inst.args[0]))
        size = bits(value.ty.scalar)
        return [whole >> size * k & ((1 << size) - 1) for k in range(value.ty.count)]
    return [scalar_bits(module, part) for part in scalars_of(value)]


def _joined(size: int, numbers: list[int]) -> int:
    """Numbers of ``size`` bits one above the other, the first one lowest."""
    return sum(number << size * k for k, number in enumerate(numbers))


def _bitcast(module: Module, inst: Inst) -> int:
    source = inst.args[0].ty
    return _joined(bits(source.scalar), _vector(module, inst.args[0]))


def _same(module: Module, inst: Inst) -> int:
    return scalar_bits(module, inst.args[0])


def _space_cast(module: Module, inst: Inst) -> int:
    return recast(scalar_bits(module, inst.args[0]), inst.args[0].ty.space, inst.ty.space)


def _address(module: Module, inst: Inst) -> int:
    offsets = [scalar_bits(module, inst.args[0])]
    for index, step in steps(inst, offsets.append):
        offsets.append(signed(module, index) * step)
    return sum(offsets)


def signed(module: Module, index: Value) -> int:
    """A constant of any integer type with its sign."""
    if index.ty.kind == "vec":
        raise Unknown("getelementptr of vectors")
    number, half = scalar_bits(module, index), 1 << (index.ty.bits - 1)
    return (number ^ half) - half


def _extract(module: Module, inst: Inst) -> int:
    found = _vector(module, inst.args[0])
    at = scalar_bits(module, inst.args[1])
    return found[at] if at < len(found) else 0


_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "xor": lambda a, b: a ^ b,
}


def _binary(module: Module, inst: Inst) -> int:
    a, b = (scalar_bits(module, argument) for argument in inst.args)
    return _BINARY[inst.op](a, b)


_OPERATIONS: dict[str, Callable[[Module, Inst], int]] = {
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(("ptrtoint", "ptrtoaddr", "inttoptr", "trunc"), _same),
    "addrspacecast": _space_cast,
    "bitcast": _bitcast,
    "getelementptr": _address,
    "extractelement": _extract,
}


# -- numbers -----------------------------------------------------------------------------------------------------------


def _mask(ty: Type) -> int:
    return (1 << bits(ty)) - 1


def _float_bits(ty: Type, text: str) -> int:
    """LLVM writes halves and bfloats as their own bits, float and double as a double's (LLVM, Language Reference,
    Simple Constants)."""
    if text.startswith(("0xH", "0xR", "f0x")):
        return int(text[3:], 16)
    if text.startswith(("0xK", "0xL", "0xM")):
        raise Unknown(str(ty))
    number = struct.unpack(">d", bytes.fromhex(text[2:].zfill(16)))[0] if text.startswith("0x") else float(text)
    if ty.bits == 64:
        return int.from_bytes(struct.pack("<d", number), "little")
    if ty.bits == 32:
        if number != number:
            whole = int.from_bytes(struct.pack("<d", number), "little")
            return (whole >> 32 & 0x80000000) | 0x7F800000 | (whole >> 29 & 0x7FFFFF)
        return int.from_bytes(struct.pack("<f", number), "little")
    return int.from_bytes(struct.pack("<e", number), "little")

"""Input: itanium-mangled names of OpenCL built-ins. Output: function names with parameter types, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

# Itanium C++ ABI, 5.1.5.2, with clang's OpenCL types: (letter code, LLVM type, bytes, OpenCL C name)
_SCALARS: tuple[tuple[str, str, int, str], ...] = (
    ("v", "void", 0, "void"),
    ("b", "i1", 1, "bool"),
    ("c", "i8", 1, "char"),
    ("a", "i8", 1, "char"),
    ("h", "i8", 1, "uchar"),
    ("s", "i16", 2, "short"),
    ("t", "i16", 2, "ushort"),
    ("i", "i32", 4, "int"),
    ("j", "i32", 4, "uint"),
    ("l", "i64", 8, "long"),
    ("m", "i64", 8, "ulong"),
    ("Dh", "half", 2, "half"),
    ("f", "float", 4, "float"),
    ("d", "double", 8, "double"),
)
LLVM_OF = {code: llvm for code, llvm, _, _ in _SCALARS}
BYTES_OF = {code: size for code, _, size, _ in _SCALARS}
CODE_OF = {name: code for code, _, _, name in _SCALARS if code != "a"}


@dataclass(frozen=True)
class Scalar:
    """A built-in arithmetic type, by its mangling code."""

    code: str

    @property
    def llvm(self) -> str:
        return LLVM_OF[self.code]

    @property
    def bytes(self) -> int:
        return BYTES_OF[self.code]

    @property
    def is_float(self) -> bool:
        return self.code in ("Dh", "f", "d")

    @property
    def is_signed(self) -> bool:
        return self.code in ("c", "a", "s", "i", "l")


@dataclass(frozen=True)
class Vector:
    """``width`` elements of a scalar type."""

    element: Scalar
    width: int

    @property
    def llvm(self) -> str:
        return f"<{self.width} x {self.element.llvm}>"


@dataclass(frozen=True)
class Pointer:
    """A pointer into address space ``space`` with the qualifiers of what it points to."""

    pointee: Type
    space: int = 0
    volatile: bool = False
    const: bool = False
    atomic: bool = False

    @property
    def llvm(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass(frozen=True)
class Named:
    """An opaque type: an image, a sampler, an event, an enumeration."""

    name: str

    @property
    def llvm(self) -> str:
        if self.name.startswith("ocl_image"):
            return "ptr addrspace(1)"
        return 'target("spirv.Event")' if self.name == "ocl_event" else "i32"


Type = Scalar | Vector | Pointer | Named


class MangleError(ValueError):
    """The name is not that of a function whose types this module knows."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.seen: list[Type | Pointer] = []

    def take(self, prefix: str) -> bool:
        if self.text.startswith(prefix, self.at):
            self.at += len(prefix)
            return True
        return False

    def number(self) -> int:
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
        if start == self.at:
            raise MangleError(self.text)
        return int(self.text[start : self.at])

    def word(self) -> str:
        length = self.number()
        self.at += length
        return self.text[self.at - length : self.at]

    def type(self) -> Type:
        if self.take("P"):
            return self.remember(self.pointee())
        if self.take("Dv"):
            width = self.number()
            if not self.take("_"):
                raise MangleError(self.text)
            element = self.type()
            if not isinstance(element, Scalar):
                raise MangleError(self.text)
            return self.remember(Vector(element, width))
        if self.take("S"):
            return self.substitution()
        if self.text[self.at : self.at + 1].isdigit():
            return self.remember(Named(self.word()))
        for code in (self.text[self.at : self.at + 2], self.text[self.at : self.at + 1]):
            if code in LLVM_OF:
                self.at += len(code)
                return Scalar(code)
        raise MangleError(self.text)

    def substitution(self) -> Type:
        end = self.text.index("_", self.at)
        digits = self.text[self.at : end]
        self.at = end + 1
        index = int(digits, 36) + 1 if digits else 0
        if index >= len(self.seen):
            raise MangleError(self.text)
        return self.seen[index]

    def pointee(self) -> Pointer:
        """What follows P. A qualified type is a substitution candidate of its own, and a ``Pointer`` stands for it."""
        space, volatile, const, atomic = 0, False, False, False
        start = self.at
        if self.text.startswith("U3AS", self.at):
            self.take("U")
            space = int(self.word()[2:])
        self.take("r")
        volatile = self.take("V")
        const = self.take("K")
        qualified = self.at != start
        if self.take("U7_Atomic"):
            atomic = True
            inner = self.type()
            self.seen.append(Pointer(inner, 0, False, False, True))
        else:
            inner = self.type()
            if isinstance(inner, Pointer) and not qualified and self.text[self.at - 1] == "_":
                return inner  # a substitution for the qualified type
        pointer = Pointer(inner, space, volatile, const, atomic)
        self.seen.append(pointer)  # an address space is always among the qualifiers, though space 0 is not written
        return pointer

    def remember(self, what: Type) -> Type:
        self.seen.append(what)
        return what


def demangle(symbol: str) -> tuple[str, tuple[Type, ...]]:
    """``"_Z3fmaDv4_fS_S_"`` -> ``("fma", (Vector(f, 4),) * 3)``; MangleError for other names."""
    if not symbol.startswith("_Z"):
        raise MangleError(symbol)
    reader = _Reader(symbol)
    reader.at = 2
    try:
        name = reader.word()
        parameters: list[Type] = []
        while reader.at < len(symbol):
            parameters.append(reader.type())
    except (IndexError, ValueError) as error:
        raise MangleError(symbol) from error
    if parameters == [Scalar("v")]:
        parameters = []
    return name, tuple(parameters)


def mangle(name: str, parameters: tuple[Type, ...]) -> str:
    """The way back; equal compound types become substitutions as in clang."""
    seen: list[str] = []

    def emit(key: str, text: str) -> str:
        if key in seen:
            index = seen.index(key)
            digits = "" if index == 0 else _base36(index - 1)
            return f"S{digits}_"
        return text

    def remember(key: str, text: str) -> str:
        if key in seen:
            return emit(key, text)
        seen.append(key)
        return text

    def spell(what: Type) -> str:
        if isinstance(what, Scalar):
            return what.code
        if isinstance(what, Vector):
            return remember(repr(what), f"Dv{what.width}_{what.element.code}")
        if isinstance(what, Named):
            return remember(what.name, f"{len(what.name)}{what.name}")
        key = repr(what)
        if "*" + key in seen:
            return emit("*" + key, "")
        qualifiers = (f"U3AS{what.space}" if what.space else "") + "V" * what.volatile + "K" * what.const
        if qualifiers and key in seen:
            text = emit(key, "")
        else:
            inner = spell(what.pointee)
            if what.atomic:
                inner = remember(f"atomic {what.pointee!r}", f"U7_Atomic{inner}")
            text = qualifiers + inner
            if qualifiers:
                seen.append(key)
        seen.append("*" + key)
        return "P" + text

    return f"_Z{len(name)}{name}" + ("".join(spell(p) for p in parameters) or "v")


def _base36(number: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
        if number == 0:
            return text

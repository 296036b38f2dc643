"""Input: types and names of helper functions that a pixel shader's OpenCL C calls. Output: the functions' text.

What the functions named ``__hw_vliw_…`` do is said in `headwater.il.from_llvm.drawing`, which makes IL of their calls.
"""

from __future__ import annotations

from headwater.brook.model import ElementType, StructType, leaves
from headwater.brook.naming import Names
from headwater.brook.support import Support
from headwater.brook.types import COMPONENTS

ADDRESS_TRANSLATION = "HW_ADDRESS_TRANSLATION"
"""The macro with which a kernel finds its elements in streams that are rolled up in two dimensions."""

_NEEDS = {
    "hw_window": ("__hw_vliw_window_x", "__hw_vliw_window_y"),
    "hw_pixel": ("hw_unravel", "__hw_vliw_window_x", "__hw_vliw_window_y"),
    "hw_line": ("hw_at", "hw_address"),
    "hw_line_uint": ("hw_at_uint", "hw_address"),
    "hw_line_float": ("hw_at_float", "hw_address"),
}
_PROTOTYPES = {
    "__hw_vliw_window_x": "float __hw_vliw_window_x(void) __attribute__((const));",
    "__hw_vliw_window_y": "float __hw_vliw_window_y(void) __attribute__((const));",
    "__hw_vliw_sample": "uint4 __hw_vliw_sample(int n, float x, float y) __attribute__((const));",
    "__hw_vliw_constant": "uint4 __hw_vliw_constant(int n, int size, int i) __attribute__((const));",
    "__hw_vliw_thread": "int __hw_vliw_thread(void) __attribute__((const));",
    "__hw_vliw_group": "int __hw_vliw_group(void) __attribute__((const));",
    "__hw_vliw_sync": "__attribute__((convergent)) void __hw_vliw_sync(void);",
    "__hw_vliw_lds_read": "uint4 __hw_vliw_lds_read(int each, int thread, int dword) __attribute__((pure));",
    "__hw_vliw_lds_write": "void __hw_vliw_lds_write(int each, int dword, uint4 v);",
    "__hw_vliw_global_read": "uint4 __hw_vliw_global_read(int i) __attribute__((pure));",
}
_FIXED = {
    "hw_window": """\
/* The centre of this work-item's pixel, where its elements lie in streams of the domain's shape. */
float2 hw_window(void)
{
    return (float2)(__hw_vliw_window_x(), __hw_vliw_window_y());
}
""",
    "hw_pixel": f"""\
/* The position of this work-item in the domain. */
int4 hw_pixel(int shift, int4 domain)
{{
    const int x = (int)__hw_vliw_window_x(), y = (int)__hw_vliw_window_y();
#ifdef {ADDRESS_TRANSLATION}
    return hw_unravel((y << shift) + x, domain);
#else
    return (int4)(x, y, 0, 0);
#endif
}}
""",
    "hw_address": """\
/* Where element i lies in a texture whose rows have a power of two of elements. */
float2 hw_address(int shift, int i)
{
    const int y = i >> shift;
    return (float2)((float)(i - (y << shift)), (float)y);
}
""",
} | {
    f"hw_line{suffix}": f"""\
/* Where element i of n lies in the texture of an array of one dimension; one outside reads the nearest. */
float2 hw_line{suffix}(int shift, {kind} i, int n)
{{
#ifdef {ADDRESS_TRANSLATION}
    return hw_address(shift, hw_at{suffix}(i, n));
#else
    return (float2)((float)i, 0.0f);
#endif
}}
"""
    for suffix, kind in (("", "int"), ("_uint", "uint"), ("_float", "float"))
}


def words(type_: ElementType, value: str) -> str:
    """A value that is no struct as its lanes, of type ``uint``."""
    unsigned = "uint" if type_.lanes == 1 else f"uint{type_.lanes}"
    if type_.base in {"float", "int", "double"}:
        return f"as_{unsigned}({value})"
    if type_.base == "uint":
        return value
    return f"(uint)(int){value}" if type_.width == 1 else f"as_{unsigned}(convert_int{type_.width}({value}))"


def _value(type_: ElementType) -> str:
    """The value whose words are the first lanes of ``v``."""
    part = "v" if type_.lanes == 4 else f"v.{COMPONENTS[: type_.lanes]}"
    if type_.base == "uint":
        return part
    if type_.base in {"float", "int", "double"}:
        return f"as_{type_.name}({part})"
    return f"({type_.base}){part}" if type_.width == 1 else f"convert_{type_.name}({part})"


class PixelSupport(Support):
    """Collects the helper functions of a module of pixel shaders."""

    def __init__(self, structs: dict[str, StructType]) -> None:
        super().__init__()
        self.structs = structs

    def use(self, name: str) -> str:
        for needed in _NEEDS.get(name, ()):
            self.use(needed)
        if name in _PROTOTYPES:
            self.texts.setdefault(name, f"{_PROTOTYPES[name]}\n")
        elif name in _FIXED:
            self.texts.setdefault(name, _FIXED[name])
        else:
            super().use(name)
        return name

    def texel(self, type_: ElementType) -> str:
        """The function that reads an element of texture n, or of a struct those of its members' textures from n on."""
        if not type_.is_struct:
            read = ("__hw_vliw_sample", "n, at.x, at.y")
            return self._reader("texel", type_, "int n, float2 at", read, "The element of texture n at a place")
        name = f"hw_texel_{type_.name}"
        if name in self.texts:
            return name
        names = Names()
        lines = [f"/* A {type_.name} whose members lie in textures n and following. */"]
        lines += [f"{type_.name} {name}(int n, float2 at)", "{", f"    {type_.name} v;"]
        number = 0
        for member in self.structs[type_.base].fields:
            lines.append(f"    v.{names.user(member.name)} = {self.texel(member.type)}(n + {number}, at);")
            number += len(leaves(member.type, self.structs))
        self.texts[name] = "\n".join([*lines, "    return v;", "}", ""])
        return name

    def constant(self, type_: ElementType) -> str:
        """The function that reads element i of a constant array."""
        read = ("__hw_vliw_constant", "n, size, i")
        return self._reader(
            "constant", type_, "int n, int size, int i", read, "Element i of an array in constant buffer n"
        )

    def global_read(self, type_: ElementType) -> str:
        """The function that reads element i of the scatter array."""
        read = ("__hw_vliw_global_read", "i")
        return self._reader("global", type_, "int i", read, "Element i of the global buffer")

    def shared_read(self, type_: ElementType) -> str:
        """The function that reads element i of shared memory, of which each work-item owns ``stride`` elements."""
        read = ("__hw_vliw_lds_read", "4 * stride, i / stride, 4 * (i % stride)")
        comment = "Element i of shared memory, from its owner's part"
        return self._reader("shared", type_, "int stride, int i", read, comment)

    def write(self, function: str, count: int) -> str:
        """``__hw_vliw_output4`` or ``__hw_vliw_global_write4``: ``function`` for ``count`` lanes."""
        name = f"__hw_vliw_{function}{count}"
        kind = "uint" if count == 1 else f"uint{count}"
        self.texts.setdefault(name, f"void {name}(int i, {kind} v);\n")
        return name

    def _reader(self, what: str, type_: ElementType, parameters: str, read: tuple[str, str], comment: str) -> str:
        """The function ``hw_what_type``, which makes a value of what the function and arguments of ``read`` give."""
        name = f"hw_{what}_{type_.name}"
        if name not in self.texts:
            function, arguments = read
            self.texts[name] = (
                f"/* {comment}. */\n{type_.name} {name}({parameters})\n{{\n"
                f"    const uint4 v = {self.use(function)}({arguments});\n    return {_value(type_)};\n}}\n"
            )
        return name

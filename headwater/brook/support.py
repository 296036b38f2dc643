"""Input: names of helper functions that generated code calls. Output: their OpenCL C text."""

from __future__ import annotations

from headwater.brook.types import Type

_FIXED: dict[str, str] = {
    "hw_at": """\
/* Index i into an extent of n elements; an index outside reads the nearest element. */
int hw_at(int i, int n)
{
    return clamp(i, 0, n - 1);
}
""",
    "hw_at_uint": """\
/* As hw_at, for an unsigned index. */
int hw_at_uint(uint i, int n)
{
    return (int)min(i, (uint)(n - 1));
}
""",
    "hw_at_float": """\
/* As hw_at, for a floating-point index: its fraction is dropped. */
int hw_at_float(float i, int n)
{
    return clamp(convert_int_sat(i), 0, n - 1);
}
""",
    "hw_inside": """\
/* Whether index i lies in an extent of n elements; scatter outside is dropped. */
int hw_inside(int i, int n)
{
    return (uint)i < (uint)n;
}
""",
    "hw_index": """\
/* The place of position p in an array of the given extents, x fastest. */
int hw_index(int4 p, int4 extents)
{
    return ((p.w * extents.z + p.z) * extents.y + p.y) * extents.x + p.x;
}
""",
    "hw_grid": """\
/* The position of this work-item in a three-dimensional launch over the given extents. */
int4 hw_grid(int4 extents)
{
    const int layer = get_global_id(2);
    int4 p = (int4)((int)get_global_id(0), (int)get_global_id(1), layer, 0);
    if (extents.w > 1) {
        p.z = layer % extents.z;
        p.w = layer / extents.z;
    }
    return p;
}
""",
    "hw_outside": """\
/* Whether position p lies beyond the extents: a surplus work-item of a rounded-up launch. */
int hw_outside(int4 p, int4 extents)
{
    return p.x >= extents.x || p.y >= extents.y || p.z >= extents.z || p.w >= extents.w;
}
""",
    "hw_mapped": """\
/* The place of the domain's position p in a stream, by the stream's address table. */
int hw_mapped(__global const int *map, int4 p, int4 domain)
{
    int place = map[p.x];
    map += domain.x;
    place += map[p.y];
    map += domain.y;
    place += map[p.z];
    map += domain.z;
    return place + map[p.w];
}
""",
    "hw_unravel": """\
/* The position of the domain's element i. Surplus work-items get one beyond the last dimension, where scatter is
dropped. */
int4 hw_unravel(int i, int4 domain)
{
    int4 p = (int4)(i, 0, 0, 0);
    if (domain.y * domain.z * domain.w > 1) {
        p.y = p.x / domain.x;
        p.x %= domain.x;
    }
    if (domain.z * domain.w > 1) {
        p.z = p.y / domain.y;
        p.y %= domain.y;
    }
    if (domain.w > 1) {
        p.w = p.z / domain.z;
        p.z %= domain.z;
    }
    return p;
}
""",
}


class Support:
    """Collects the helper functions a module needs, in the order of first use."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def use(self, name: str) -> str:
        """Ask for one of the fixed helpers; its name."""
        self.texts.setdefault(name, _FIXED[name])
        return name

    def frac(self, type_: Type) -> str:
        """``frac`` of Brook+: ``x - floor(x)``."""
        name = f"hw_frac_{type_.name}"
        self.texts.setdefault(
            name,
            f"/* The fraction of x above the integer below it. */\n"
            f"{type_.name} {name}({type_.name} x)\n{{\n    return x - floor(x);\n}}\n",
        )
        return name

    def extreme(self, function: str, type_: Type) -> str:
        """``max`` or ``min`` of floating point: where the comparison is false, with NaN and of equals, the second."""
        relation = ">" if function == "max" else "<"
        text = f"{{0}} hw_{function}_{{0}}({{0}} a, {{0}} b)\n{{{{\n    return a {relation} b ? a : b;\n}}}}\n"
        comment = f"/* {function} of Brook+: b if one is NaN or both are equal. */\n"
        return self._add(f"hw_{function}_{type_.name}", comment + text.format(type_.name))

    def clamp(self, type_: Type, *, ordered: bool) -> str:
        """``clamp`` of floating point, which leaves NaN; ``ordered``: the bounds are, so that their order is open."""
        t = type_.name
        if ordered:
            low, high = self.extreme("max", type_), self.extreme("min", type_)
            text = f"return {low}(low, {high}(high, x));"
            return self._add(
                f"hw_clamp_ordered_{t}",
                f"/* clamp of Brook+, where low is not above high: NaN stays. */\n"
                f"{t} hw_clamp_ordered_{t}({t} x, {t} low, {t} high)\n{{\n    {text}\n}}\n",
            )
        return self._add(
            f"hw_clamp_{t}",
            f"/* clamp of Brook+: NaN stays. */\n"
            f"{t} hw_clamp_{t}({t} x, {t} low, {t} high)\n"
            f"{{\n    return x > high ? high : x < low ? low : x;\n}}\n",
        )

    def sign(self, type_: Type) -> str:
        """``sign`` of floating point: 0 for both zeros, 1 for NaN."""
        t, suffix = type_.name, "f" if type_.base == "float" else ""
        return self._add(
            f"hw_sign_{t}",
            f"/* sign of Brook+: 1 for NaN. */\n"
            f"{t} hw_sign_{t}({t} x)\n{{\n    return x == 0.0{suffix} ? ({t})(0.0{suffix}) : "
            f"x < 0.0{suffix} ? ({t})(-1.0{suffix}) : ({t})(1.0{suffix});\n}}\n",
        )

    def normalize(self, type_: Type) -> str:
        """``normalize``, whose squares may overflow; a vector of zeros has no direction and gives NaN."""
        t = type_.name
        return self._add(
            f"hw_normalize_{t}",
            f"/* normalize of Brook+: NaN for zeros. */\n"
            f"{t} hw_normalize_{t}({t} x)\n{{\n    return x / sqrt(dot(x, x));\n}}\n",
        )

    def _add(self, name: str, text: str) -> str:
        self.texts.setdefault(name, text)
        return name

    def dot(self, type_: Type) -> str:
        """``dot`` of integer vectors, which OpenCL C lacks."""
        name = f"hw_dot_{type_.name}"
        terms = " + ".join(f"a.{c} * b.{c}" for c in "xyzw"[: type_.width])
        self.texts.setdefault(
            name, f"{type_.base} {name}({type_.name} a, {type_.name} b)\n{{\n    return ({type_.base})({terms});\n}}\n"
        )
        return name

    def cross(self, type_: Type) -> str:
        """``cross`` of integer vectors, which OpenCL C lacks."""
        name = f"hw_cross_{type_.name}"
        self.texts.setdefault(
            name,
            f"{type_.name} {name}({type_.name} a, {type_.name} b)\n{{\n    return a.yzx * b.zxy - a.zxy * b.yzx;\n}}\n",
        )
        return name

"""Input: names of Python's operators on C's types. Output: the OpenCL C functions that compute them."""

from __future__ import annotations

from typing import Final

_FLOORDIV_INT: Final = """static {c} {name}({c} a, {c} b)
{{
    const {c} q = a / b;
    return a % b != 0 && (a ^ b) < 0 ? q - 1 : q;
}}
"""
_MODULO_INT: Final = """static {c} {name}({c} a, {c} b)
{{
    const {c} r = a % b;
    return r != 0 && (r ^ b) < 0 ? r + b : r;
}}
"""
_POWER: Final = """static {c} {name}({c} base, {c} exponent)
{{
    {c} result = 1;
    if (exponent < 0)
        return base == 1 || base == ({c})-1 ? (exponent & 1 ? base : 1) : 0;
    while (exponent > 0) {{
        if (exponent & 1)
            result *= base;
        exponent >>= 1;
        if (exponent > 0)
            base *= base;
    }}
    return result;
}}
"""
_MODULO_FLOAT: Final = """static {c} {name}({c} a, {c} b)
{{
    const {c} r = fmod(a, b);
    if (r == 0)
        return copysign(({c})0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}}
"""
_FLOORDIV_FLOAT: Final = """static {c} {name}({c} a, {c} b)
{{
    if (b == 0)
        return a / b;
    {c} r = fmod(a, b);
    {c} q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0))
        q -= 1;
    if (q == 0)
        return copysign(({c})0, a / b);
    const {c} whole = floor(q);
    return q - whole > ({c})0.5 ? whole + 1 : whole;
}}
"""
_LEAST: Final = """static {c} {name}({c} a, {c} b)
{{
    return a <= b || a != a ? a : b;
}}
"""
_MOST: Final = """static {c} {name}({c} a, {c} b)
{{
    return a >= b || a != a ? a : b;
}}
"""
_ATOMIC_FLOAT: Final = """static float {name}(volatile __{space} float *p, float value)
{{
    volatile __{space} uint *bits = (volatile __{space} uint *)p;
    uint seen = *bits, expected;
    do {{
        expected = seen;
        seen = atomic_cmpxchg(bits, expected, as_uint({what}));
    }} while (seen != expected);
    return as_float(seen);
}}
"""
_ATOMIC_DOUBLE: Final = """static double {name}(volatile __{space} double *p, double value)
{{
    volatile __{space} ulong *bits = (volatile __{space} ulong *)p;
    ulong seen = *bits, expected;
    do {{
        expected = seen;
        seen = atom_cmpxchg(bits, expected, as_ulong({what}));
    }} while (seen != expected);
    return as_double(seen);
}}
"""
_WRAP: Final = """static {c} {name}(__{space} {c} *p, {c} limit)
{{
    {c} seen = *p, expected;
    do {{
        expected = seen;
        seen = atomic_cmpxchg(p, expected, {what});
    }} while (seen != expected);
    return seen;
}}
"""
_COMBINED: Final = {
    "add": "as_{c}(expected) + value",
    "sub": "as_{c}(expected) - value",
    "max": "fmax(as_{c}(expected), value)",
    "min": "fmin(as_{c}(expected), value)",
}


def text(key: str) -> str:
    """The function that `name` names, for a key such as "floordiv_int" or "atomic_add_float_global"."""
    what, _, rest = key.partition("_")
    if what == "atomic":
        operation, c, space = rest.split("_")
        if operation in ("inc", "dec"):
            combined = "expected >= limit ? 0 : expected + 1" if operation == "inc" else (
                "expected == 0 || expected > limit ? limit : expected - 1"
            )  # fmt: skip
            return _WRAP.format(name=name(key), c=c, space=space, what=combined)
        form = _ATOMIC_DOUBLE if c == "double" else _ATOMIC_FLOAT
        return form.format(name=name(key), space=space, what=_COMBINED[operation].format(c=c))
    floating = rest in ("half", "float", "double")
    forms = {
        "floordiv": _FLOORDIV_FLOAT if floating else _FLOORDIV_INT,
        "modulo": _MODULO_FLOAT if floating else _MODULO_INT,
        "power": _POWER,
        "numpymin": _LEAST,
        "numpymax": _MOST,
    }
    return forms[what].format(name=name(key), c=rest)


def name(key: str) -> str:
    """What the function is called in OpenCL C."""
    return f"hw_{key}"

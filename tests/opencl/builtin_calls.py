"""Calls of every built-in at every width. Output: the source texts of kernels, one for each group of functions."""

from headwater.opencl.names import (
    ATOM,
    ATOMIC,
    COMMON,
    GEOMETRIC,
    INTEGER,
    MATHS_1,
    MATHS_2,
    MATHS_3,
    MATHS_FAST_1,
    MATHS_FAST_2,
    RELATIONAL,
    WIDTHS,
    WORK_GROUP,
    WORK_ITEM,
)

FLOATS = ("float", "double", "half")
SIGNED = ("char", "short", "int", "long")
INTEGERS = tuple(f"{u}{s}" for s in SIGNED for u in ("", "u"))
SPACES = ("private", "global", "local")


def kernel(statements, declarations=""):
    body = "\n".join(f"  {{ {statement} }}" for statement in statements)
    return f"kernel void k(global char *out, global char *in, local char *lds{declarations}) {{\n{body}\n}}\n"


def value(kind, index=0):
    return f"((global {kind} *)in)[{index}]"


def store(kind, expression):
    return f"*(global {kind} *)out = {expression};"


def call(result, name, *kinds):
    return store(result, f"{name}({', '.join(value(kind, i) for i, kind in enumerate(kinds))})")


def same_width_integer(kind, width):
    """The integer type as wide as a floating type, as relational functions return it."""
    return {"float": "int", "double": "long", "half": "short"}[kind] + width if width else "int"


def maths():
    lines = []
    for scalar in FLOATS:
        for width in WIDTHS:
            t, i = scalar + width, "int" + width
            lines += [call(t, name, t) for name in MATHS_1]
            lines += [call(t, name, t, t) for name in MATHS_2]
            lines += [call(t, name, t, t, t) for name in MATHS_3]
            lines += [call(t, "ldexp", t, i), call(t, "ldexp", t, "int"), call(t, "pown", t, i), call(t, "rootn", t, i)]
            lines += [
                call(i, "ilogb", t),
                call(t, "nan", {"float": "uint", "double": "ulong", "half": "ushort"}[scalar] + width),
            ]
            lines += [call(t, "fmax", t, scalar), call(t, "fmin", t, scalar)]
            for space in SPACES:
                memory = {"private": "p", "global": "out", "local": "lds"}[space]
                pointer = f"({space} {{}} *){memory}"
                for name, receives in (("fract", t), ("modf", t), ("sincos", t), ("frexp", i), ("lgamma_r", i)):
                    lines.append(
                        f"private {receives} p[1]; " + store(t, f"{name}({value(t)}, {pointer.format(receives)})")
                    )
                lines.append(
                    f"private {i} p[1]; " + store(t, f"remquo({value(t)}, {value(t, 1)}, {pointer.format(i)})")
                )
            if scalar == "float":
                for kind in ("native", "half"):
                    lines += [call(t, f"{kind}_{name}", t) for name in MATHS_FAST_1]
                    lines += [call(t, f"{kind}_{name}", t, t) for name in MATHS_FAST_2]
    return kernel(lines)


def common_and_geometric():
    lines = []
    for scalar in FLOATS:
        for width in WIDTHS:
            t = scalar + width
            for name in COMMON:
                count = {"degrees": 1, "radians": 1, "sign": 1, "max": 2, "min": 2, "step": 2}.get(name, 3)
                lines.append(call(t, name, *[t] * count))
            lines += [call(t, "clamp", t, scalar, scalar), call(t, "mix", t, t, scalar), call(t, "max", t, scalar)]
            lines += [call(t, "step", scalar, t), call(t, "smoothstep", scalar, scalar, t)]
            if width in ("", "2", "3", "4"):
                for name in GEOMETRIC:
                    if name == "cross":
                        if width in ("3", "4"):
                            lines.append(call(t, name, t, t))
                    elif scalar == "half" and name.startswith("fast_"):
                        continue  # the extension has no fast forms
                    elif "normalize" in name:
                        if not (scalar == "double" and name.startswith("fast_")):
                            lines.append(call(t, name, t))
                    elif not (scalar == "double" and name.startswith("fast_")):
                        lines.append(
                            call(scalar, name, *[t] * (2 if name in ("dot", "distance", "fast_distance") else 1))
                        )
    return kernel(lines)


def integers():
    lines = []
    for scalar in INTEGERS:
        for width in WIDTHS:
            t, u = scalar + width, "u" + scalar.removeprefix("u") + width
            for name in INTEGER:
                if name in ("mul24", "mad24", "upsample", "ctz"):
                    continue
                count = {"abs": 1, "clz": 1, "popcount": 1, "clamp": 3, "mad_hi": 3, "mad_sat": 3}.get(name, 2)
                lines.append(call(u if name in ("abs", "abs_diff") else t, name, *[t] * count))
            lines += [call(t, "clamp", t, scalar, scalar), call(t, "max", t, scalar), call(t, "min", t, scalar)]
            if scalar in ("int", "uint"):
                lines += [call(t, "mul24", t, t), call(t, "mad24", t, t, t)]
            wider = {"char": "short", "short": "int", "int": "long"}.get(scalar.removeprefix("u"))
            if wider:
                prefix = "u" if scalar.startswith("u") else ""
                lines.append(call(prefix + wider + width, "upsample", t, u))
    return kernel(lines)


def relational():
    lines = []
    for scalar in FLOATS:
        for width in WIDTHS:
            t = scalar + width
            for name in RELATIONAL:
                if name in ("any", "all", "bitselect", "select"):
                    continue
                unary = name in ("isfinite", "isinf", "isnan", "isnormal", "signbit")
                lines.append(call(same_width_integer(scalar, width), name, *[t] * (1 if unary else 2)))
    for scalar in (*FLOATS, *INTEGERS):
        bits = {"float": "int", "double": "long", "half": "short"}.get(scalar, scalar.removeprefix("u"))
        for width in WIDTHS:
            t = scalar + width
            lines.append(call(t, "bitselect", t, t, t))
            lines += [call(t, "select", t, t, f"{u}{bits}{width}") for u in ("", "u")]
    for scalar in SIGNED:
        lines += [call("int", name, scalar + width) for name in ("any", "all") for width in WIDTHS]
    return kernel(lines)


def conversions(source):
    lines = []
    for target in (*FLOATS, *INTEGERS):
        for width in WIDTHS:
            for sat in ("", "_sat") if target in INTEGERS else ("",):
                lines += [
                    call(target + width, f"convert_{target}{width}{sat}{mode}", source + width)
                    for mode in ("", "_rte", "_rtz", "_rtp", "_rtn")
                ]
    return kernel(lines)


def memory():
    lines = []
    pointers = {"private": "p", "global": "out", "local": "lds"}
    for scalar in (*FLOATS, *INTEGERS):
        for width in WIDTHS[1:]:
            t = scalar + width
            for space, name in pointers.items():
                lines.append(
                    f"private {scalar} p[64] = {{0}}; vstore{width}({value(t)}, 1, ({space} {scalar} *){name});"
                )
                lines.append(
                    f"private {scalar} p[64] = {{0}}; " + store(t, f"vload{width}(1, (const {space} {scalar} *){name})")
                )
            lines.append(store(t, f"vload{width}(1, (constant {scalar} *)constants)"))
    for width in WIDTHS:
        for a in ("", "a") if width else ("",):
            for space, name in pointers.items():
                read = f"vload{a}_half{width}(1, (const {space} half *){name})"
                lines.append("private half p[64] = {0}; " + store("float" + width, read))
                for scalar in ("float", "double"):
                    for mode in ("", "_rte", "_rtz", "_rtp", "_rtn"):
                        write = f"vstore{a}_half{width}{mode}({value(scalar + width)}, 1, ({space} half *){name});"
                        lines.append("private half p[64]; " + write)
    for scalar in (*FLOATS, *INTEGERS):
        mask = {"float": "uint", "double": "ulong", "half": "ushort"}.get(scalar, "u" + scalar.removeprefix("u"))
        for n in ("2", "4", "8", "16"):
            for m in ("2", "4", "8", "16"):
                lines.append(call(scalar + m, "shuffle", scalar + n, mask + m))
                lines.append(call(scalar + m, "shuffle2", scalar + n, scalar + n, mask + m))
        for width in WIDTHS:
            if scalar == "half":
                continue
            t = scalar + width
            to, back = f"(local {t} *)lds, (const global {t} *)in", f"(global {t} *)out, (const local {t} *)lds"
            for direction in (to, back):
                lines.append(
                    f"event_t e = async_work_group_copy({direction}, 8, 0); "
                    f"e = async_work_group_strided_copy({direction}, 8, 2, e); wait_group_events(1, &e);"
                )
            lines.append(f"prefetch((const global {t} *)in, 4);")
    return "constant char constants[1024] = {1};\n" + kernel(lines)


def synchronisation():
    lines = ["barrier(CLK_LOCAL_MEM_FENCE);", "mem_fence(1);", "read_mem_fence(1);", "write_mem_fence(2);"]
    for name in WORK_ITEM:
        if "linear" not in name and "enqueued" not in name:
            lines.append(store("ulong", f"{name}({'' if name == 'get_work_dim' else '1'})"))
    for space, memory_name in (("global", "out"), ("local", "lds")):
        for scalar, names in (
            ("int", ATOMIC),
            ("uint", ATOMIC),
            ("long", ATOM),
            ("ulong", ATOM),
            ("int", ATOM),
            ("uint", ATOM),
        ):
            for name in names:
                operands = {"inc": [], "dec": [], "cmpxchg": ["1", "2"]}.get(name.partition("_")[2], ["1"])
                typed = "".join(f", ({scalar}){operand}" for operand in operands)
                lines.append(store(scalar, f"{name}((volatile {space} {scalar} *){memory_name}{typed})"))
        lines.append(store("float", f"atomic_xchg((volatile {space} float *){memory_name}, 1.0f)"))
    return kernel(lines)


def newer():
    """OpenCL C 2.0: C11 atomics, group functions, linear ids, ctz, generic pointers."""
    lines = ["work_group_barrier(1);", "work_group_barrier(1, memory_scope_device);"]
    lines.append("atomic_work_item_fence(1, memory_order_acquire, memory_scope_work_group);")
    lines += [
        store("ulong", f"{name}({'1' if 'enqueued' in name else ''})")
        for name in [*WORK_ITEM[-2:], "get_enqueued_local_size"]
    ]
    for scalar in ("int", "uint", "long", "ulong", "float", "double"):
        for space, memory_name in (("global", "out"), ("local", "lds")):
            at = f"(volatile {space} atomic_{scalar} *){memory_name}"
            for suffix, order in (
                ("", ""),
                ("_explicit", ", memory_order_relaxed"),
                ("_explicit", ", memory_order_seq_cst, memory_scope_device"),
            ):
                lines.append(store(scalar, f"atomic_load{suffix}({at}{order})"))
                lines.append(f"atomic_store{suffix}({at}, ({scalar})1{order});")
                lines.append(store(scalar, f"atomic_exchange{suffix}({at}, ({scalar})1{order})"))
                double_order = order.replace("memory_order_relaxed", "memory_order_relaxed, memory_order_relaxed")
                double_order = double_order.replace(
                    "memory_order_seq_cst", "memory_order_seq_cst, memory_order_seq_cst"
                )
                for strength in ("strong", "weak"):
                    exchange = f"atomic_compare_exchange_{strength}{suffix}({at}, &e, ({scalar})1{double_order})"
                    lines.append(f"{scalar} e = 0; " + store("int", exchange))
                if scalar in ("int", "uint", "long", "ulong"):
                    for operation in ("add", "sub", "or", "xor", "and", "min", "max"):
                        lines.append(store(scalar, f"atomic_fetch_{operation}{suffix}({at}, ({scalar})1{order})"))
        for name in WORK_GROUP[3:]:
            lines.append(call(scalar, name, scalar))
        lines.append(store(scalar, f"work_group_broadcast({value(scalar)}, (size_t)1)"))
        lines.append(store(scalar, f"work_group_broadcast({value(scalar)}, (size_t)1, (size_t)1)"))
        lines.append(store(scalar, f"work_group_broadcast({value(scalar)}, (size_t)1, (size_t)1, (size_t)1)"))
    lines += [call("int", "work_group_all", "int"), call("int", "work_group_any", "int")]
    lines.append(
        "volatile global atomic_flag *f = (volatile global atomic_flag *)out; "
        + store("int", "atomic_flag_test_and_set(f)")
    )
    lines.append("volatile global atomic_flag *f = (volatile global atomic_flag *)out; atomic_flag_clear(f);")
    for scalar in INTEGERS:
        lines += [call(scalar + width, "ctz", scalar + width) for width in WIDTHS]
    for width in WIDTHS:
        t = "float" + width
        lines.append(
            f"{t} p; generic {t} *g = &p; "
            + store(t, f"fract({value(t)}, g) + sincos({value(t)}, g) + modf({value(t)}, g)")
        )
        if width:
            lines.append(
                f"float p[64]; generic float *g = p; vstore{width}({value(t)}, 0, g); "
                + store(t, f"vload{width}(0, g)")
            )
    return kernel(lines)


def images():
    shapes = {
        "1d": ("int", "float"),
        "1d_array": ("int2", "float2"),
        "2d": ("int2", "float2"),
        "2d_array": ("int4", "float4"),
        "3d": ("int4", "float4"),
    }
    lines, declarations = [], ""
    for shape, coordinates in shapes.items():
        declarations += f", read_only image{shape}_t r{shape}, write_only image{shape}_t w{shape}"
        for kind, result in (("f", "float4"), ("i", "int4"), ("ui", "uint4")):
            for coordinate in coordinates:
                lines.append(store(result, f"read_image{kind}(r{shape}, s, {value(coordinate)})"))
            lines.append(store(result, f"read_image{kind}(r{shape}, {value(coordinates[0])})"))
            lines.append(f"write_image{kind}(w{shape}, {value(coordinates[0])}, {value(result)});")
        queries = ["width", "channel_data_type", "channel_order"]
        queries += ["height"] if shape[0] in "23" else []
        queries += ["depth"] if shape == "3d" else []
        queries += ["array_size"] if "array" in shape else []
        lines += [store("int", f"get_image_{query}({access}{shape})") for query in queries for access in "rw"]
        if shape[0] in "23":
            lines.append(store("int2" if shape[0] == "2" else "int4", f"get_image_dim(r{shape})"))
    declarations += ", sampler_t s, read_only image1d_buffer_t rb, write_only image1d_buffer_t wb"
    lines += [
        store("float4", "read_imagef(rb, 1)"),
        "write_imagef(wb, 1, (float4)(0));",
        store("int", "get_image_width(rb)"),
    ]
    return kernel(lines, declarations)


GROUPS = {
    "maths": (maths, ""),
    "common": (common_and_geometric, ""),
    "integers": (integers, ""),
    "relational": (relational, ""),
    "memory": (memory, ""),
    "synchronisation": (synchronisation, ""),
    "newer": (newer, "-cl-std=CL2.0"),
    "images": (images, ""),
    **{f"from_{source}": ((lambda source=source: conversions(source)), "") for source in (*FLOATS, *INTEGERS)},
}

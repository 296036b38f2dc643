"""Input: the sizes of a block. Output: the text of a matrix product in ATI IL for VLIW chips.

The kernel is the kind that reached the published rates of 2008 to 2010: a pixel shader whose factors are textures, A
with its rows as columns. For each l a thread reads ``rows`` texels of A and ``columns`` of B, and makes a block of C
from their outer product, which it writes to the global buffer. A texel is four floats or two doubles.
"""

from __future__ import annotations


def product(rows: int, columns: int, unroll: int, doubles: bool = False) -> str:
    """IL with i0 (A transposed), i1 (B), g (C), and cb0: k as a float; in the second element texels of a row of C, an
    int, and 0.

    The domain is (texels of a row of C / ``columns``, rows of C / (``rows`` times a texel's numbers)); ``unroll``
    divides k.
    """
    width = 2 if doubles else 4
    lanes = 2 if doubles else 1  # a double has a register of its own: results in z and w cost a move each
    sums = rows * width * columns * lanes
    left, right = sums, sums + rows * unroll
    free = right + columns * unroll
    place, at, index = free, free + 1, free + 2
    lines = [
        "il_ps_2_0",
        "dcl_input_position_interp(linear_noperspective) vWinCoord0.xy__",
        *(f"dcl_resource_id({i})_type(2d,unnorm)_fmtx(float)_fmty(float)_fmtz(float)_fmtw(float)" for i in range(2)),
        "dcl_cb cb0[2]",
        f"dcl_literal l0, 0.5, {float(rows)}, {float(columns)}, {float(unroll)}",
        "dcl_literal l1, 0.0, 0.0, 0.0, 0.0",
        f"dcl_literal l2, {rows * width}, {columns}, 1, 0",
        f"dcl_literal l3, {0.5 - unroll}, 0.0, 0.0, 0.0",
        f"sub r{place}, vWinCoord0.xyxy, l0.xxxx",
        f"mad r{at}.x___, r{place}.y, l0.y, l0.x",  # x of A's first texel, y: l, z: x of B's
        f"mov r{at}._y__, l3.x",
        f"mad r{at}.__z_, r{place}.x, l0.z, l0.x",
        *(f"mov r{i}, l1" for i in range(sums)),
        "whileloop",
        # counted here, in the clause of the test: one behind the products would be a clause of its own
        f"add r{at}._y__, r{at}.y, l0.w",
        f"ge r{at}.___w, r{at}.y, cb0[0].x",
        f"break_logicalnz r{at}.w",
    ]
    for u in range(unroll):
        for i in range(rows):
            lines.append(f"sample_resource(0)_sampler(0)_aoffimmi({i}.0,{u}.0,0.0) r{left + u * rows + i}, r{at}.xy")
        for j in range(columns):
            lines.append(
                f"sample_resource(1)_sampler(1)_aoffimmi({j}.0,{u}.0,0.0) r{right + u * columns + j}, r{at}.zy"
            )
    for u in range(unroll):
        for i in range(rows):
            for part in range(width):
                for j in range(columns):
                    total = ((i * width + part) * columns + j) * lanes
                    a, b = f"r{left + u * rows + i}", f"r{right + u * columns + j}"
                    if doubles:
                        lane = "xy" if part == 0 else "zw"
                        lines.append(f"dmad r{total}.xy__, {a}.{lane}{lane}, {b}.xyxy, r{total}.xyxy")
                        lines.append(f"dmad r{total + 1}.xy__, {a}.{lane}{lane}, {b}.zwzw, r{total + 1}.xyxy")
                    else:
                        lines.append(f"mad r{total}, {a}.{'xyzw'[part] * 4}, {b}, r{total}")
    lines += [
        "endloop",
        f"ftoi r{place}, r{place}",
        f"imul r{index}.x___, r{place}.y, l2.x",
        f"imul r{index}.x___, r{index}.x, cb0[1].x",
        f"imul r{index}._y__, r{place}.x, l2.y",
        f"iadd r{index}.x___, r{index}.x, r{index}.y",
    ]
    for row in range(rows * width):
        lines.append(f"mov r{index}.__z_, r{index}.x")
        for j in range(columns):
            total = (row * columns + j) * lanes
            if doubles:
                # not a move, for which the compiler would keep this sum in z and w from the beginning: cb0[1].y is 0
                lines.append(f"ior r{total}.__zw, r{total + 1}.xyxy, cb0[1].y")
            lines.append(f"mov g[r{index}.z], r{total}")
            if j + 1 < columns:
                lines.append(f"iadd r{index}.__z_, r{index}.z, l2.z")
        lines.append(f"iadd r{index}.x___, r{index}.x, cb0[1].x")
    return "\n".join([*lines, "ret_dyn", "end"]) + "\n"

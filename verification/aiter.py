"""Whether kernels of AMD's AI Tensor Engine (ROCm/aiter) give NumPy's results on a simulated MI300X.

    python -m verification.aiter --checkout DIR [--device mi300a] [--only softmax]

DIR is a checkout of ROCm/aiter, of which only hsa/gfx942 is needed: code objects that AMD wrote in assembly and ships
as binaries. Arguments and grids are those of its launchers (csrc/py_itfs_cu and csrc/cpp_itfs). Each line names an
object and its largest difference, relative to the largest value; exit status 1 if one is larger than rounding allows,
or a kernel does not run, or none has the name asked for.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import headwater as hw
from headwater.errors import HeadwaterError
from headwater.isa.gcn.codeobject import load_to_read

Array = Any
RNG: Final = np.random.default_rng(1)


@dataclass(frozen=True)
class Run:
    """A launch: ``path`` in hsa/gfx942; arguments by name (the others are 0, or no pointer); work-groups, and the
    work-items of one; arrays, read when it has ended, with what they shall hold, within ``tolerance`` of the largest
    value."""

    path: str
    arguments: Mapping[str, Any]
    groups: tuple[int, ...]
    expected: list[tuple[Callable[[], Array], Array]]
    tolerance: float
    items: int = 256


# ---- numbers ---------------------------------------------------------------------------------------------------------


def to_bf16(x: Array) -> Array:
    """Bits of bfloat16, to the nearest."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def of_bf16(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp8_values() -> Array:
    """What the 256 codes of CDNA3's fp8 (e4m3, bias 8, no infinities, 0x80 the NaN) are worth."""
    codes = np.arange(256)
    exponent, fraction = codes >> 3 & 15, codes & 7
    size = np.where(exponent, (8 + fraction) * 2.0 ** (exponent - 11.0), fraction * 2.0**-10)
    return np.where(codes == 0x80, np.nan, np.where(codes >> 7, -size, size)).astype(np.float32)


def shuffled(x: Array, rows: int = 16) -> Array:
    """B (rows by depth) as the kernels whose names say BpreShuffle want it: tiles of ``rows`` rows and 64 bytes (32 of
    words with 16 bits), in pieces of 16 bytes, rows inside of these (aiter/ops/shuffle.py, layout (16, 16))."""
    piece = 16 // x.itemsize
    wide = 64 // x.itemsize if x.itemsize == 1 else 32
    n, k = x.shape
    tiles = x.reshape(n // rows, rows, k // wide, wide // piece, piece)
    return np.ascontiguousarray(tiles.transpose(0, 2, 3, 1, 4)).reshape(n, k)


# ---- kernels ---------------------------------------------------------------------------------------------------------


def softmax() -> Iterator[Run]:
    """The most likely experts of each token, and their shares of its softmax."""
    tokens = 10
    for experts, top, kind, rows in ((128, 4, "", 4), (256, 8, "", 12), (128, 6, "_bf16", 4), (384, 8, "_bf16", 4)):
        scores = RNG.standard_normal((tokens, experts)).astype(np.float32) * 3
        given = to_bf16(scores) if kind else scores
        values = of_bf16(given) if kind else scores
        shares = np.exp(values - values.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        best = np.argsort(-shares, 1, kind="stable")[:, :top]
        chosen = np.take_along_axis(shares, best, 1)
        chosen /= chosen.sum(1, keepdims=True)
        weights, indices = np.zeros((tokens, top), np.float32), np.zeros((tokens, top), np.int32)
        yield Run(
            f"topksoftmax/topksoftmax_{rows}x{experts}x{top}{kind}",
            {"T": indices, "W": weights, "A": given, "batch": tokens, "expert": experts, "topk": top}
            | {"renormalize": 1, "out_stride": 4 * top},
            (-(-tokens // rows),),
            [(partial(np.asarray, weights), chosen), (partial(np.asarray, indices), best)],
            1e-5,
        )


def bf16_products() -> Iterator[Run]:
    """D = A Bᵀ + bias, in float32 and bfloat16."""
    for name, rows, is_shuffled, parts, narrow in (
        ("32x64_pf3_splitk", 32, False, 1, False),
        ("48x64_bshuffle_splitk", 48, True, 1, True),
        ("64x64_splitk_clean", 64, False, 2, False),
    ):
        m, n, k = rows + 5, 128, 256
        a, b = (to_bf16(RNG.standard_normal(shape, np.float32)) for shape in ((m, k), (n, k)))
        d = np.zeros((m, n), np.uint16 if narrow else np.float32)
        bias = to_bf16(RNG.standard_normal(n))
        size = d.itemsize
        yield Run(
            f"bf16gemm/bf16gemm_fp32bf16_tn_{name}",
            {"D": d, "C": None, "A": a, "B": shuffled(b) if is_shuffled else b, "alpha": np.float32(1)}
            | {"beta": np.float32(0), "strideD0": n * size, "strideC0": n * size, "strideA0": 2 * k, "strideB0": 2 * k}
            | {"Mdim": m, "Ndim": n, "Kdim": k, "splitk": parts, "is_out_b16": int(narrow), "Bias": bias, "add_bias": 1}
            | {"ptr_semaphore": np.zeros(1024, np.uint32)},
            (n // 64, -(-m // rows), parts),
            [(partial(of_bf16 if narrow else np.asarray, d), of_bf16(a) @ of_bf16(b).T + of_bf16(bias))],
            1e-2 if narrow else 1e-5,
        )


def i8_products() -> Iterator[Run]:
    """C = (A Bᵀ) times a scale of each row and one of each column."""
    for rows, columns in ((32, 128), (48, 128)):
        m, n, k = rows + 3, 2 * columns, 256
        a, b = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (n, k)))
        of_a, of_b = (RNG.uniform(0.01, 0.1, size).astype(np.float32) for size in (m, n))
        c, bias = np.zeros((m, n), np.uint16), np.zeros(n, np.float32)
        yield Run(
            f"i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{rows}x{columns}",
            {"C": c, "A": a, "B": shuffled(b), "SA": of_a, "SB": of_b, "BIAS": bias, "M": m, "Ndim": n, "K": k}
            | {"PA": k, "PB": k, "PC": 2 * n, "KS": 1},
            (n // columns, -(-m // rows)),
            [(partial(of_bf16, c), (a.astype(np.int64) @ b.astype(np.int64).T) * of_a[:, None] * of_b)],
            1e-2,
        )


def fp8_products() -> Iterator[Run]:
    """C = A Bᵀ of numbers with scales: of A for each row and 128 of depth, of B for 128 × 128."""
    for rows in (32, 64):
        m, n, k = rows + 3, 256, 256
        codes = [RNG.integers(0x20, 0x50, shape).astype(np.uint8) for shape in ((m, k), (n, k))]
        a, b = (one | RNG.integers(0, 2, one.shape).astype(np.uint8) << 7 for one in codes)
        of_a = RNG.uniform(0.5, 2, (m, k // 128)).astype(np.float32)
        of_b = RNG.uniform(0.5, 2, (n // 128, k // 128)).astype(np.float32)
        worth = fp8_values()
        left = worth[a] * of_a.repeat(128, 1)
        right = worth[b] * of_b.repeat(128, 0).repeat(128, 1)
        c = np.zeros((m, n), np.uint16)
        yield Run(
            f"fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_{rows}x128",
            {"C": c, "A": a, "B": shuffled(b), "SA": np.ascontiguousarray(of_a.T), "SB": of_b}
            | {"BIAS": np.zeros(n, np.float32), "M": m, "Ndim": n, "K": k, "PA": k, "PB": k, "PC": 2 * n, "KS": 1}
            | {"scale_m": m, "scale_n": n // 128, "scale_k": k // 128},
            (n // 128, -(-m // rows)),
            [(partial(of_bf16, c), left @ right.T)],
            1e-2,
        )


def attention() -> Iterator[Run]:
    """softmax(Q Kᵀ / √d) V, and the logarithm of its denominator."""
    for name, heads, shared, causal in (("bf16_rtne", 1, 1, False), ("bf16_causal_rtne", 2, 2, True)):
        length, wide = 256, 128
        q, k, v = (
            to_bf16(RNG.standard_normal((1, length, h, wide), np.float32))
            for h in (heads, heads // shared, heads // shared)
        )
        out, lse = np.zeros((1, length, heads, wide), np.uint16), np.zeros((1, heads, length), np.float32)
        scale = np.float32(wide**-0.5)
        scores = np.einsum("bqhd,bkhd->bhqk", of_bf16(q), of_bf16(k).repeat(shared, 2)) * scale
        if causal:
            scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        most = scores.max(-1, keepdims=True)
        weights = np.exp(scores - most)
        total = weights.sum(-1, keepdims=True)
        answer = np.einsum("bhqk,bkhd->bqhd", weights / total, of_bf16(v).repeat(shared, 2))
        line, of_head = 2 * heads * wide, 2 * wide
        few = 2 * (heads // shared) * wide
        sizes = {"scalar": scale, "seq_len": length, "Seqs": line, "Ts": 256 * line, "Hs": of_head, "Bs": length * line}
        sizes |= {"gqa": shared, "k_Seqs": few, "k_Hs": of_head, "k_Bs": length * few, "msk_opt": 3 if causal else 5}
        sizes |= {"lse": 1, "kv_seq_len": length, "qk_head_dim": wide, "v_head_dim": wide, "q_head_num": heads}
        sizes |= {"v_Seqs": few, "v_Hs": of_head, "v_Bs": length * few}
        sizes |= {"r_Seqs": line, "r_Hs": of_head, "r_Bs": length * line, "lse_Hs": 4 * length}
        yield Run(
            f"fmha_v3_fwd/MI300/fwd_hd128_{name}",
            {"R": out, "Q": q, "K": k, "V": v, "LSE": lse} | sizes,
            (1, heads, 1),
            [(partial(of_bf16, out), answer), (partial(np.asarray, lse), (most + np.log(total))[..., 0])],
            1e-2,
            items=512,
        )


# ---- running ---------------------------------------------------------------------------------------------------------

GROUPS: Final = (softmax, bf16_products, i8_products, fp8_products, attention)


def launch(run: Run, checkout: Path, device: str) -> float:
    """Run a kernel: the largest difference."""
    path = checkout / "hsa" / "gfx942" / f"{run.path}.co"
    (kernel,) = load_to_read(path.read_bytes(), str(path)).kernels.values()
    unset = {"by_value": 0}
    given = [run.arguments.get(arg.name, unset.get(arg.value_kind)) for arg in kernel.args]
    groups = (*run.groups, 1, 1)[:3]
    launched = getattr(hw.compile(path, device=device), kernel.name)
    launched[(groups[0] * run.items, *groups[1:]), (run.items, 1, 1)](*given)
    return max(float(np.abs(got() - want).max() / np.abs(want).max()) for got, want in run.expected)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m verification.aiter", description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of ROCm/aiter")
    parser.add_argument("--device", default="mi300x", help="a chip of gfx942 (default: mi300x)")
    parser.add_argument("--only", default="", help="objects with this in their path")
    options = parser.parse_args()
    ran = wrong = 0
    for run in (run for group in GROUPS for run in group()):
        if options.only not in run.path:
            continue
        ran += 1
        start = time.perf_counter()
        try:
            worst = launch(run, options.checkout, options.device)
        except HeadwaterError as error:
            print(f"{run.path}: {error}", flush=True)
            wrong += 1
            continue
        wrong += not worst <= run.tolerance
        judged = "right" if worst <= run.tolerance else "differs"
        print(f"{run.path}: {judged}, {worst:.1e}; {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{ran} kernels, {wrong} wrong")
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A CAL program as they were written in 2009, on a board that this machine does not have: a matrix product in IL, one
band of rows after the other, with two sets of buffers so that copies and kernels can overlap."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from headwater import cal

IL = Path(__file__).resolve().parents[1] / "matmul" / "matmul.il"


class Buffers:
    """Resources of one band: rows of the first factor and of the result, in system and in board memory."""

    def __init__(self, dev: int, ctx: int, module: int, rows: int, inner: int, columns: int) -> None:
        self.ctx = ctx
        sizes = {"i0": (inner, rows), "o0": (columns, rows)}
        self.remote = {n: cal.calResAllocRemote2D([dev], *s, cal.CAL_FORMAT_FLOAT_1, 0) for n, s in sizes.items()}
        self.local = {n: cal.calResAllocLocal2D(dev, *s, cal.CAL_FORMAT_FLOAT_1, 0) for n, s in sizes.items()}
        self.remote_mem = {n: cal.calCtxGetMem(ctx, res) for n, res in self.remote.items()}
        self.local_mem = {n: cal.calCtxGetMem(ctx, res) for n, res in self.local.items()}
        self.names = {n: cal.calModuleGetName(ctx, module, n) for n in sizes}
        self.event = 0

    def start(self, band: np.ndarray, func: int, domain: cal.CALdomain) -> None:
        """Copy the band in, run, copy the result out; nothing waits."""
        write(self.remote["i0"], band)
        cal.calMemCopy(self.ctx, self.remote_mem["i0"], self.local_mem["i0"], 0)
        for name, symbol in self.names.items():
            cal.calCtxSetMem(self.ctx, symbol, self.local_mem[name])
        cal.calCtxRunProgram(self.ctx, func, domain)
        self.event = cal.calMemCopy(self.ctx, self.local_mem["o0"], self.remote_mem["o0"], 0)
        cal.calCtxFlush(self.ctx)

    def finish(self, out: np.ndarray) -> None:
        """Wait for what `start` began."""
        while cal.calCtxIsEventDone(self.ctx, self.event) == cal.CAL_RESULT_PENDING:
            pass
        memory, _ = cal.calResMap(self.remote["o0"], 0)
        out[...] = memory[: out.shape[0], : out.shape[1], 0]
        cal.calResUnmap(self.remote["o0"])


def write(res: int, values: np.ndarray) -> None:
    memory, _ = cal.calResMap(res, 0)
    memory[: values.shape[0], : values.shape[1], 0] = values
    cal.calResUnmap(res)


def product(a: np.ndarray, b: np.ndarray, rows: int) -> tuple[np.ndarray, str]:
    """a times b, bands of ``rows`` rows at a time; and the program's machine code."""
    dev = cal.calDeviceOpen(0)
    ctx = cal.calCtxCreate(dev)
    obj = cal.calclCompile(cal.CAL_LANGUAGE_IL, IL.read_text(), cal.calDeviceGetInfo(0).target)
    image = cal.calclLink([obj])
    listing: list[str] = []
    cal.calclDisassembleImage(image, listing.append)
    module = cal.calModuleLoad(ctx, image)
    func = cal.calModuleGetEntry(ctx, module, "main")

    inner, columns = b.shape
    right = cal.calResAllocLocal2D(dev, columns, inner, cal.CAL_FORMAT_FLOAT_1, 0)
    write(right, b)
    cal.calCtxSetMem(ctx, cal.calModuleGetName(ctx, module, "i1"), cal.calCtxGetMem(ctx, right))
    constant = cal.calResAllocRemote1D([dev], 1, cal.CAL_FORMAT_FLOAT_4, 0)
    memory, _ = cal.calResMap(constant, 0)
    memory[0, 0] = inner
    cal.calResUnmap(constant)
    cal.calCtxSetMem(ctx, cal.calModuleGetName(ctx, module, "cb0"), cal.calCtxGetMem(ctx, constant))

    c = np.empty((a.shape[0], columns), np.float32)
    sets = [Buffers(dev, ctx, module, rows, inner, columns) for _ in range(2)]
    bands = [slice(y, min(y + rows, a.shape[0])) for y in range(0, a.shape[0], rows)]
    for k, band in enumerate(bands):
        if k >= 2:
            sets[k % 2].finish(c[bands[k - 2]])
        sets[k % 2].start(a[band], func, cal.CALdomain(0, 0, columns, band.stop - band.start))
    for k in range(max(len(bands) - 2, 0), len(bands)):
        sets[k % 2].finish(c[bands[k]])
    cal.calCtxDestroy(ctx)
    cal.calDeviceClose(dev)
    return c, "\n".join(listing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="hd4870", help="a chip's name, cpu, or gpu (default: hd4870)")
    parser.add_argument("--size", type=int, default=256, help="rows and columns (default: 256)")
    parser.add_argument("--rows", type=int, default=100, help="rows of a band (default: 100)")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b = rng.random((2, args.size, args.size), np.float32)
    cal.calInit(args.device)
    board = cal.calDeviceGetAttribs(0)
    began = time.perf_counter()
    c, listing = product(a, b, args.rows)
    seconds = time.perf_counter() - began
    cal.calShutdown()
    exact = a.astype(np.float64) @ b
    error = float(np.abs(c - exact).max() / np.abs(exact).max())
    print(listing.rstrip())
    print(f"\n{board.boardName}: {args.size} x {args.size}, bands of {args.rows} rows, {seconds:.2f} s here")
    print(f"largest difference from the product in double precision: {error:.1e}")
    return 0 if error < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())

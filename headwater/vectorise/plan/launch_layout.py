"""Input: a kernel and a launch's sizes. Output: how its work-items are laid out in chunks (lanes, rows, dimensions)."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple

from headwater.base.host import caches_bytes
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.layout import LINE_BYTES, Layout, line_layout

Size = tuple[int, int, int]

FLAT_GROUP_ITEMS = 16384
"""Work-items per group where any grouping will do: at some ns each, a group then takes tens of µs, which hides the
cost of handing groups out and leaves enough groups to share between threads."""

LOOPED_GROUPS = 64
"""Groups of a launch whose work-items have loops, as far as `LOOPED_GROUP_ITEMS` leave so many: what a work-item does
may then take long, and a single group would keep one processor busy."""

GIVEN_GROUPS = 64
"""Groups that are left, at least, of those that a launch gives: where it gives small ones, work-items may take long."""

LOOPED_GROUP_ITEMS = 256
"""The least work-items of such a group: a few chunks. Where work-items run one by one, one may be a group."""

MAX_SINGLE_CHUNK_ROWS = 16
"""Rows up to which all of a work-group's are put into one chunk (tiled matrix multiply, 16 × 16: about 3× over 4)."""

MAX_SINGLE_CHUNK_ITEMS = 256
"""Work-items up to which a whole work-group is one chunk, though its values do not all fit the registers: on a Zen 3,
with 8 lanes, that multiplies 16 × 16 tiles 3.3 times as fast as two chunks do, and sums by groups of 256 twice as fast
as eight, each of which would go through memory for itself."""

MAX_SINGLE_CHUNK_VECTORS = 32
"""Vectors up to which that is not too much code: twice as many have not been tried."""

LONGEST_CHUNK_CODE = 2500
"""Instructions of all vectors of a work-group up to which it is one chunk, too, though its kernel is long: that is what
the longest of the others come to (SHOC's radix sort, 309 instructions, groups of 64: 0.54 of the time of two rows)."""

SHARING_ROWS = 2
"""Rows along y of kernels without loops that share loads. Four make LLVM keep more than the registers hold (Zen 4: a
5 × 5 convolution 1.6, a five-point stencil 1.1 of two rows' time)."""

MASKED_ROWS = 2
"""Rows where lanes leave loops at different times: every row has its own masks (Mandelbrot: 1.2× over 4 rows). With
gathers that need not wait for each other one row is enough (Emerald Rapids: a sparse matrix product 0.71 of two rows'
time, but a binary search 1.4)."""

GATHERS_PREVAIL = 3.0
"""What gathers take of a trip's cycles, in those of its other operations, from which on half a vector of 64 bytes is
better in such a row, if each lane goes through memory of its own: the trips follow the longest of fewer rows of a
matrix, and a core sees half as many streams (Emerald Rapids: sparse matrix products take 0.78 to 1.0 of the time, 0.86
where all rows are as long). Else it is not: folds of columns take 1.8 times as long."""

SINGLE_ROWS = 4
"""Work-items that run together where lanes do not pay, so that one's operations fill the time in which another's wait:
sums of rows take 0.45, a product of matrices by rows of ``float4`` 0.82, sliding sums 0.8 of one at a time's time
(Emerald Rapids). They do not where they leave loops at different times (sorting 16 numbers: 2.3)."""

WIDE_VECTORS = 4
"""Vectors of lanes where rows share loads: 4 × 4 sums in registers (matrix multiply: 2× over 1 × 4)."""

MAX_ROWS = 4
"""Rows of a chunk: loads that rows share are then done once for four of them (matrix multiply: 1.9× over one row)."""

STRAIGHT_ROWS = 2
"""Rows of kernels without loops, unless `Flow.rows` says that others are better: more of them read memory in longer
turns from each place (saxpy, five-point stencil: 1.03× over 4 rows) and leave more to masked chunks; one is slower in
caches (median: 1.05×)."""

MAX_FLOW_ROWS = 16
"""Rows that `Flow.rows` may ask for: all of them have a vector that a loop carries from trip to trip (hash: 0.9 of 8
rows' time, with AVX2 and AVX-512)."""

COUNTING_ROWS = 16
"""Rows of short kernels without loops that count in one place: each chunk's count is one atomic, for which all cores
wait in turn (2 cores of an Emerald Rapids: 0.3 to 0.8 of two rows' time)."""

MAX_WIDE_STRAIGHT_ROWS = 4
"""The same without loops where vectors have 64 bytes: eight rows take LLVM 1.7 times as long and are no faster (Zen 5:
Black-Scholes 1.01, 5 × 5 convolution 1.03 of four rows' time; with AVX2 they are, 0.80 and 0.93)."""

SMALL_KERNEL = 80
"""Instructions up to which a kernel's values are few enough to be kept in registers for several vectors of lanes."""

MAX_PRIVATE_BYTES = 1 << 20
"""Bytes of private arrays of a chunk, which lie on the stack: secondary threads have 8 MiB on Linux, some systems 2."""

IN_STEP_GROUP = 512
"""Work-items along x of a group of pixels whose wavefronts are in step: a multiple of what squares have, and enough to
hide what handing groups out costs."""

MAX_IN_STEP_BYTES = 4 * MAX_PRIVATE_BYTES
"""The same of a chunk that must not be cut, half of the stack that there mostly is."""

MAX_IN_STEP_ITEMS = 512
"""Work-items of a group that is one chunk because its wavefronts are no rows of it: more is code without end."""

LARGE_KERNEL = 600
"""Instructions beyond which a second row costs more time to compile than it is likely to save."""

LONGEST_MASKED_CODE = 800
"""Instructions of a masked chunk that are not too many: it runs at the ends of lines only, and LLVM takes longer for
it than for a whole one (a median by luminance, 4 rows: 0.24 s, with one masked row 0.16; a 5 × 5 convolution of lines
of 2044, 8 rows: 1.2 times as long with one masked row)."""


class KernelFacts(NamedTuple):
    """What a launcher must know of a kernel before it is vectorised.

    ``arg_offsets``, ``args_bytes``, ``static_local_bytes``, ``unbounded``, ``streaming`` and ``traps`` are those of
    `headwater.opencl.host.KernelCode`. ``flat``: any grouping of its work-items will do. ``masked_loops``: work-items
    side by side may leave a loop at different trips. ``scalar_pays``: one by one they are estimated to run faster.
    ``size``: its instructions. ``dims``: the dimensions of the ids it asks for. ``reducible``: its control flow is made
    of proper loops, so that it can be vectorised. ``private_bytes``: of a work-item's private arrays. ``flow``: how its
    hottest part keeps the processor busy. ``down_width``: where it is estimated to run faster with work-items side by
    side along y than along x and than one by one, the components that each of them loads at once; else 0.
    ``rows_share``: work-items read much of what those at the next y read. ``line_items``: of a kernel that waits for
    memory, on a processor where whole vectors are not the fastest way through it, those that fill a cache line; else 0.
    ``in_lines``: any grouping of its work-items will do, and long lines of them go through long lines of memory.
    ``streams``: in some loop each streams through its own memory. ``llvm_vectorises``: LLVM vectorises all innermost
    loops where work-items run one by one. ``counts_in_one_place``: all count in one place of global memory.
    ``counters``: positions of the arguments that are only counted into. ``fits``: not all launches' numbers are such
    that its 32-bit indices are known not to wrap around. ``in_step``: see `headwater.vectorise.prepare.kernel.Kernel`.
    """

    arg_offsets: tuple[int, ...]
    args_bytes: int
    static_local_bytes: int
    has_barrier: bool
    flat: bool
    has_loop: bool
    masked_loops: bool
    scalar_pays: bool
    size: int
    dims: tuple[int, ...]
    unbounded: bool
    streaming: tuple[int, ...]
    reducible: bool
    private_bytes: int
    flow: Flow
    down_width: int
    rows_share: bool
    line_items: int
    in_lines: bool
    streams: bool
    llvm_vectorises: bool
    counts_in_one_place: bool
    counters: tuple[int, ...]
    traps: bool
    fits: bool
    in_step: tuple[int, int] = (0, 0)


def vector_registers(vector_bytes: int) -> int:
    """Vector registers of a processor with vectors of this size: AVX-512 has twice as many as what was before."""
    return 32 if vector_bytes == 64 else 16


def vector_lanes(vector_bytes: int) -> int:
    """Lanes of 32 bits in one vector register."""
    return max(1, vector_bytes // 4)


def choose_group(facts: KernelFacts, global_size: Size, given: Size | None = None) -> Size:
    """The work-group size for a launch, which may leave it open or have ``given`` one that no work-item can see.

    On a GPU groups of 16 × 16 are as good as others. Here they are 16 elements of 16 lines of each array: a + b of
    matrices of 2048 × 2048 takes 1.9, a step of shortest paths of 1024 × 1024 3.2 times as long as by whole lines.
    """
    if given is not None and not facts.in_lines:
        return given
    if any(facts.in_step):
        return (min(global_size[0], IN_STEP_GROUP), min(global_size[1], facts.in_step[1]), 1)
    if facts.flat:
        items = _group_items(facts, global_size)
        if given is not None:
            items = min(items, max(prod(given), prod(global_size) // GIVEN_GROUPS))
        x = min(global_size[0], items)
        if items < FLAT_GROUP_ITEMS and global_size[1] > 1:  # rows of a chunk lie along y
            x = min(x, items // min(global_size[1], MAX_ROWS))
        y = min(global_size[1], max(1, items // max(1, x)))
        if facts.rows_share and global_size[1] >= SHARING_ROWS:
            y = max(SHARING_ROWS, y - y % SHARING_ROWS)
        return (max(1, x), max(1, y), 1)
    # OpenCL 1.2 asks for a divisor of the global size; the largest one up to 256 along x.
    x = next((d for d in range(min(256, global_size[0]), 0, -1) if global_size[0] % d == 0), 1)
    return (x, 1, 1)


def _group_items(facts: KernelFacts, global_size: Size) -> int:
    """Work-items of a group of a kernel that does not look at groups: so many that all threads get some."""
    if not facts.has_loop:
        return FLAT_GROUP_ITEMS
    least = LOOPED_GROUP_ITEMS if global_size[1] == 1 else MAX_ROWS * LOOPED_GROUP_ITEMS
    if facts.scalar_pays:
        least = _single_rows(facts, SINGLE_ROWS)
    wanted = -(-prod(global_size) // LOOPED_GROUPS)
    return min(FLAT_GROUP_ITEMS, max(least, 1 << max(0, wanted - 1).bit_length()))  # whole vectors in all but the last


def choose_layout(
    facts: KernelFacts, local_size: Size, vector_bytes: int, global_size: Size = (1, 1, 1)
) -> Layout | None:
    """The layout that is best for speed, or as much of it as the stack has room for. None if work-items are to be in
    step that no layout keeps so."""
    if any(facts.in_step):
        kept = in_step_layout(facts.in_step, local_size, vector_lanes(vector_bytes))
        fits = kept is not None and kept.lanes * kept.rows * facts.private_bytes <= MAX_IN_STEP_BYTES
        return kept if fits else None
    items = facts.line_items
    if items and local_size[0] >= items and prod(global_size) * LINE_BYTES > items * caches_bytes()[1]:
        layout = line_layout(items)  # of arrays each of which is more than the caches hold
    else:
        layout = _fastest_layout(facts, local_size, vector_bytes)
    lanes, rows = layout.lanes, layout.rows
    while lanes * rows > 1 and lanes * rows * facts.private_bytes > MAX_PRIVATE_BYTES:
        lanes, rows = (lanes, rows // 2) if rows > 1 else (lanes // 2, 1)
    return Layout(lanes, rows, layout.lane_dim, layout.row_dim)


def _fastest_layout(facts: KernelFacts, local_size: Size, vector_bytes: int) -> Layout:
    """One vector of lanes along the longest suitable dimension, and rows as far as the kernel's values stay few.

    Rows along the other dimension share loads in loops, and in stencils; else they follow each other along the lanes.
    """
    base = vector_lanes(vector_bytes)
    lane_dim = 0
    # Vectors of a work-item's own fill a register with fewer lanes (float4 product, groups of 64 × 4: 4 to 6 times).
    down = facts.down_width > 0 and local_size[1] >= max(2, base // facts.down_width)
    if down:
        lane_dim = 1
    elif local_size[0] < base and max(local_size) > local_size[0]:
        lane_dim = max(range(3), key=lambda d: (min(local_size[d], base), -d))
    if facts.scalar_pays and not down:
        rows = _single_rows(facts, local_size[lane_dim])
        return Layout(1, rows, lane_dim, lane_dim if rows > 1 else 1 if lane_dim == 0 else 0)
    lanes = 1
    while lanes < base and lanes * 2 <= local_size[lane_dim]:
        lanes *= 2
    row_dim = 1 if lane_dim == 0 else 0
    most = MAX_ROWS if facts.size <= SMALL_KERNEL else MAX_ROWS // 2 if facts.size <= LARGE_KERNEL else 1
    if not facts.has_loop:
        most = min(most, STRAIGHT_ROWS)
    if not (facts.has_loop and row_dim in facts.dims and local_size[row_dim] >= 2):
        row_dim = lane_dim
    room = local_size[row_dim] // (lanes if row_dim == lane_dim else 1)
    if not facts.has_barrier and facts.flow.carried:  # sums that stay in registers (float4 product: 2.4× over 2 rows)
        most = min(most, max(1, int(vector_registers(vector_bytes) / facts.flow.carried)))
    if facts.masked_loops:
        most = min(most, MASKED_ROWS)
        if facts.flow.gathers:  # these keep the ports busy, unless the next one waits for this one
            most = min(most, facts.flow.rows(1, MASKED_ROWS, vector_registers(vector_bytes)))
            prevail = facts.flow.gathers >= GATHERS_PREVAIL * facts.flow.operations
            if most == 1 and vector_bytes == 64 and prevail and facts.streams:
                lanes = min(lanes, base // 2)
    elif facts.streams and not facts.has_barrier and row_dim == lane_dim:
        most = 1
    elif facts.counts_in_one_place and not (facts.has_loop or facts.has_barrier) and facts.size <= SMALL_KERNEL:
        most = COUNTING_ROWS
    elif not facts.has_barrier and row_dim == lane_dim and facts.size <= LARGE_KERNEL:
        limit = MAX_FLOW_ROWS if facts.has_loop or vector_bytes < 64 else MAX_WIDE_STRAIGHT_ROWS
        most = facts.flow.rows(most, limit, vector_registers(vector_bytes))
    elif facts.has_barrier and (
        facts.size <= 2 * SMALL_KERNEL or facts.size * prod(local_size) <= LONGEST_CHUNK_CODE * base
    ):
        # A work-group that is one chunk needs no switching at barriers.
        items = prod(local_size)
        if items <= MAX_SINGLE_CHUNK_ITEMS and items <= MAX_SINGLE_CHUNK_VECTORS * base:
            most = room
            while row_dim != lane_dim and lanes * 2 <= local_size[lane_dim]:
                lanes *= 2
        elif room <= MAX_SINGLE_CHUNK_ROWS:
            most = MAX_SINGLE_CHUNK_ROWS
    if facts.rows_share and lane_dim == row_dim == 0 and most >= SHARING_ROWS and local_size[1] % SHARING_ROWS == 0:
        if 2 * SHARING_ROWS * facts.flow.live > vector_registers(vector_bytes):
            most = SHARING_ROWS  # more would not stay in registers (median by luminance, AVX2: 0.81 of four's time)
        while 2 * SHARING_ROWS * lanes <= most * base and lanes * 2 <= local_size[0]:
            lanes *= 2
        return Layout(lanes, SHARING_ROWS, 0, 1)
    rows = 1
    while rows < most and rows * 2 <= room:
        rows *= 2
    if row_dim != lane_dim and rows == MAX_ROWS and facts.size <= SMALL_KERNEL // 2 and not facts.masked_loops:
        while lanes < WIDE_VECTORS * base and lanes * 2 <= local_size[lane_dim]:
            lanes *= 2
    return Layout(lanes, rows, lane_dim, row_dim)


def in_step_layout(in_step: tuple[int, int], local_size: Size, base: int) -> Layout | None:
    """A layout whose chunks are whole wavefronts, or several: squares of pixels, or work-items that follow each other,
    x first. ``base``: lanes of a vector register. None if there is none."""
    x, y, z = local_size
    if in_step[1] > 1:
        return Layout(*in_step)
    wavefront = in_step[0]
    if x % wavefront == 0 or y * z == 1:
        items = min(wavefront, _power_from(x))
        lanes = min(base, items)
        return Layout(lanes, items // lanes, 0, 0)
    if wavefront % x == 0 and (z == 1 or x * y % wavefront == 0):
        return Layout(x, min(wavefront // x, _power_from(y)), 0, 1)
    lanes, rows = _power_from(x), _power_from(y)
    if z == 1 and lanes * rows <= MAX_IN_STEP_ITEMS:
        return Layout(lanes, rows, 0, 1)
    return None


def _power_from(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def _single_rows(facts: KernelFacts, items: int) -> int:
    """How many work-items run together where lanes do not pay, ``items`` being a group's along the lanes."""
    pays = facts.has_loop and not (facts.has_barrier or facts.masked_loops or facts.llvm_vectorises)
    return SINGLE_ROWS if pays and facts.size <= SMALL_KERNEL and items >= SINGLE_ROWS else 1


def masked_layout(layout: Layout, size: int, *, has_barrier: bool) -> Layout:
    """How a masked chunk lies where whole ones lie like ``layout``; ``size``: the kernel's instructions."""
    rows = layout.rows
    if layout.row_dim == layout.lane_dim and not has_barrier:  # then fewer rows of it can follow each other, too
        while rows > 1 and rows * size > LONGEST_MASKED_CODE:
            rows //= 2
    return replace(layout, rows=rows)


def needs_masks(layout: Layout, local_size: Size, global_size: Size) -> bool:
    """Whether some chunk may be partly outside its work-group."""
    return any(
        local % step or (whole % local) % step
        for whole, local, step in zip(global_size, local_size, layout.steps, strict=True)
    )

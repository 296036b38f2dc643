"""Programs of Rodinia's OpenCL version (yuhc/gpu-rodinia), at sizes that an emulator likes.

Left out: kernels whose answer depends on the order in which work-items run (leukocyte's IMGVF_kernel, hybridsort's
bucketsort), and those that OpenCL C does not allow (dwt2d's transform mixes address spaces).
"""

from __future__ import annotations

import numpy as np

from headwater.runtime.values import Local
from verification.suites import rodinia_parts as parts
from verification.suites.case import Case, Launch, doubles, floats, ints, values, zeros

_FOLDER = "gpu-rodinia/opencl/"

CASES = (
    Case(
        "rodinia/backprop",
        _FOLDER + "backprop/backprop_kernel.cl",
        {
            "input": floats(parts.INPUTS + 1),
            "hidden": zeros(parts.HIDDEN + 1),
            "weights": floats(parts.WEIGHTS),
            "sums": zeros(parts.INPUTS // 16 * 16),
            "delta": floats(parts.HIDDEN + 1),
            "old": floats(parts.WEIGHTS),
        },
        [
            Launch(
                "bpnn_layerforward_ocl",
                (16, parts.INPUTS),
                (16, 16),
                ("input", "hidden", "weights", "sums", Local(64), Local(1024), parts.INPUTS, parts.HIDDEN),
            ),
            Launch(
                "bpnn_adjust_weights_ocl",
                (16, parts.INPUTS),
                (16, 16),
                ("delta", parts.HIDDEN, "input", parts.INPUTS, "weights", "old"),
            ),
        ],
        ("sums", "weights", "old"),
    ),
    Case(
        "rodinia/bfs",
        _FOLDER + "bfs/Kernels.cl",
        {
            "nodes": values(parts.graph_nodes),
            "edges": ints(parts.NODES * parts.EDGES, high=parts.NODES),
            "mask": values(lambda: parts.first_and_rest(parts.NODES, 1, 0, np.int8)),
            "updating": zeros(parts.NODES, dtype=np.int8),
            "visited": values(lambda: parts.first_and_rest(parts.NODES, 1, 0, np.int8)),
            "cost": values(lambda: parts.first_and_rest(parts.NODES, 0, -1, np.int32)),
            "over": zeros(1, dtype=np.int8),
        },
        [
            step
            for _ in range(parts.BFS_LEVELS)
            for step in (
                parts.line(
                    "BFS_1", parts.NODES, 64, "nodes", "edges", "mask", "updating", "visited", "cost", parts.NODES
                ),
                parts.line("BFS_2", parts.NODES, 64, "mask", "updating", "visited", "over", parts.NODES),
            )
        ],
        ("cost",),
        expected=parts.bfs_answer,
    ),
    Case(
        "rodinia/b+tree-find",
        _FOLDER + "b+tree/kernel/kernel_gpu_opencl.cl",
        {
            "tree": values(parts.search_tree),
            "records": values(lambda: (7 * np.arange(parts.ORDER * parts.LEAVES)).astype(np.int32)),
            "current": zeros(parts.QUERIES, dtype=np.int64),
            "offset": zeros(parts.QUERIES, dtype=np.int64),
            "keys": values(lambda: parts.tree_keys(5)),
            "answers": zeros(parts.QUERIES, dtype=np.int32),
        },
        [
            parts.line(
                "findK",
                parts.QUERIES * parts.ORDER,
                parts.ORDER,
                *(np.int64(1), "tree", np.int64(1 + parts.LEAVES), "records", "current", "offset", "keys", "answers"),
            )
        ],
        ("answers",),
        options=f"-DDEFAULT_ORDER={parts.ORDER}",
        expected=lambda d: {
            "answers": 7
            * np.array([parts.ORDER * (q % parts.LEAVES) + (q * 5) % parts.ORDER for q in range(parts.QUERIES)])
        },
    ),
    Case(
        "rodinia/b+tree-range",
        _FOLDER + "b+tree/kernel/kernel_gpu_opencl_2.cl",
        {
            "tree": values(parts.search_tree),
            **{name: zeros(parts.QUERIES, dtype=np.int64) for name in ("current", "offset", "last", "offset2")},
            "start": values(lambda: parts.tree_keys(0)),
            "end": values(lambda: parts.tree_keys(5)),
            "first": zeros(parts.QUERIES, dtype=np.int32),
            "length": zeros(parts.QUERIES, dtype=np.int32),
        },
        [
            parts.line(
                "findRangeK",
                parts.QUERIES * parts.ORDER,
                parts.ORDER,
                *(np.int64(1), "tree", np.int64(1 + parts.LEAVES), "current", "offset", "last", "offset2"),
                *("start", "end", "first", "length"),
            )
        ],
        ("first", "length"),
        options=f"-DDEFAULT_ORDER_2={parts.ORDER}",
        expected=lambda d: {"length": np.array([(q * 5) % parts.ORDER + 1 for q in range(parts.QUERIES)])},
    ),
    Case(
        "rodinia/cfd",
        _FOLDER + "cfd/Kernels.cl",
        parts.CFD,
        [
            parts.line("memset_kernel", 20 * parts.CELLS, 64, "fluxes", np.int16(0), 20 * parts.CELLS),
            parts.line("initialize_variables", parts.CELLS, 64, "variables", "flow", parts.CELLS),
            parts.line("initialize_variables", parts.CELLS, 64, "old", "flow", parts.CELLS),
            parts.line("compute_step_factor", parts.CELLS, 64, "variables", "areas", "factors", parts.CELLS),
            *parts.cfd_step(1),
            *parts.cfd_step(2),
        ],
        ("factors", "fluxes", "variables"),
        tolerance=2e-4,  # differences of nearly equal pressures
    ),
    Case(
        "rodinia/dwt2d-components",
        _FOLDER + "dwt2d/com_dwt.cl",
        {
            "source": ints(3 * 1024, high=256, dtype=np.uint8),
            **{name: zeros(1024, dtype=np.int32) for name in ("r", "g", "b", "grey")},
        },
        [
            parts.line("c_CopySrcToComponents", 1024, 256, "r", "g", "b", "source", 1000),
            parts.line("c_CopySrcToComponent", 1024, 256, "grey", "source", 1000),
        ],
        ("r", "g", "b", "grey"),
    ),
    Case(
        "rodinia/gaussian",
        _FOLDER + "gaussian/gaussianElim_kernels.cl",
        {"m": zeros(parts.UNKNOWNS, parts.UNKNOWNS), "a": parts.dominant(parts.UNKNOWNS), "b": floats(parts.UNKNOWNS)},
        [
            step
            for t in range(parts.UNKNOWNS - 1)
            for step in (
                parts.line("Fan1", parts.UNKNOWNS, 64, "m", "a", "b", parts.UNKNOWNS, t),
                Launch("Fan2", (64, 52), (16, 4), ("m", "a", "b", parts.UNKNOWNS, t)),
            )
        ],
        ("b", "m"),
        expected=parts.gauss_answer,
    ),
    Case(
        "rodinia/hotspot",
        _FOLDER + "hotspot/hotspot_kernel.cl",
        {
            "power": floats(parts.GRID, parts.GRID),
            "temp": floats(parts.GRID, parts.GRID, low=320.0, high=340.0),
            "next": zeros(parts.GRID, parts.GRID),
        },
        parts.hotspot_steps(),
        ("next",),
        options=f"-DBLOCK_SIZE={parts.BLOCK}",
        expected=parts.hotspot_answer,
    ),
    Case(
        "rodinia/hotspot3D",
        _FOLDER + "hotspot3D/hotspotKernel.cl",
        {"p": floats(*parts.VOLUME), "a": floats(*parts.VOLUME, low=320.0, high=340.0), "b": zeros(*parts.VOLUME)},
        [
            Launch(
                "hotspotOpt1",
                (64, 24),
                (64, 4),
                ("p", s, t, 0.01, 64, 24, 8, 0.05, 0.05, 0.06, 0.06, 0.001, 0.001, 0.77),
            )
            for s, t in (("a", "b"), ("b", "a"))
        ],
        ("a",),
    ),
    Case(
        "rodinia/hybridsort-histogram",
        _FOLDER + "hybridsort/histogram1024.cl",
        {"result": zeros(parts.BUCKETS, dtype=np.uint32), "data": floats(3000, low=0.0, high=0.999)},
        [parts.line("histogram1024Kernel", 2 * 96, 96, "result", "data", 0.0, 1.0, np.uint32(3000))],
        ("result",),
        expected=lambda d: {"result": np.bincount((d["data"] * np.float32(1024)).astype(int), minlength=parts.BUCKETS)},
    ),
    Case(
        "rodinia/hybridsort-bucketcount",
        _FOLDER + "hybridsort/bucketsort_kernels.cl",
        {
            "input": floats(2000),
            "index": zeros(2000, dtype=np.int32),
            "prefix": zeros(3 * parts.BUCKETS, dtype=np.uint32),
            "pivots": values(lambda: (np.arange(1, parts.BUCKETS + 1) / parts.BUCKETS).astype(np.float32)),
            "offsets": zeros(parts.BUCKETS, dtype=np.uint32),
        },
        [
            parts.line("bucketcount", 3 * 32, 32, "input", "index", "prefix", 2000, "pivots"),
            parts.line("bucketprefixoffset", parts.BUCKETS, 64, "prefix", "offsets", 3),
        ],
        ("prefix", "offsets"),
    ),
    Case(
        "rodinia/hybridsort-mergesort",
        _FOLDER + "hybridsort/mergesort.cl",
        {
            "unsorted": floats(4 * parts.SORTED * parts.DIVISIONS),
            "a": zeros(4 * (parts.SORTED * parts.DIVISIONS + 80)),
            "b": zeros(4 * (parts.SORTED * parts.DIVISIONS + 80)),
            "starts": values(parts.starts),
            "none": zeros(parts.DIVISIONS, dtype=np.int32),
            "packed": zeros(4 * parts.SORTED * parts.DIVISIONS),
            "ends": values(lambda: (4 * parts.SORTED * np.arange(parts.DIVISIONS + 1)).astype(np.int32)),
        },
        [
            *parts.merge_passes(),
            Launch(
                "mergepack", (4 * parts.SORTED, parts.DIVISIONS), (64, 1), ("a", "packed", "starts", "none", "ends")
            ),
        ],
        ("a", "packed"),
        expected=parts.merged_answer,
    ),
    Case(
        "rodinia/kmeans",
        _FOLDER + "kmeans/kmeans.cl",
        {
            "features": floats(parts.KMEANS_POINTS * parts.FEATURES),
            "swapped": zeros(parts.KMEANS_POINTS * parts.FEATURES),
            "clusters": floats(parts.CLUSTERS * parts.FEATURES),
            "membership": zeros(parts.KMEANS_POINTS, dtype=np.int32),
        },
        [
            parts.line(
                "kmeans_swap", parts.KMEANS_POINTS, 64, "features", "swapped", parts.KMEANS_POINTS, parts.FEATURES
            ),
            parts.line(
                "kmeans_kernel_c",
                parts.KMEANS_POINTS,
                64,
                *("swapped", "clusters", "membership", parts.KMEANS_POINTS, parts.CLUSTERS, parts.FEATURES, 0, 0),
            ),
        ],
        ("membership",),
        expected=parts.nearest_answer,
    ),
    Case(
        "rodinia/lavaMD",
        _FOLDER + "lavaMD/kernel/kernel_gpu_opencl.cl",
        {
            "boxes": values(parts.lava_boxes),
            "position": floats(parts.BOXES * parts.PARTICLES, 4),
            "charge": floats(parts.BOXES * parts.PARTICLES),
            "force": zeros(parts.BOXES * parts.PARTICLES, 4),
        },
        [
            parts.line(
                "kernel_gpu_opencl",
                128 * parts.BOXES,
                128,
                parts.structure(np.dtype([("alpha", np.float32)]), alpha=0.5),
                parts.structure(parts.DIMENSIONS, number_boxes=parts.BOXES),
                *("boxes", "position", "charge", "force"),
            )
        ],
        ("force",),
        expected=parts.lava_answer,
    ),
    Case(
        "rodinia/leukocyte-find",
        _FOLDER + "leukocyte/find_ellipse_kernel.cl",
        {
            "grad_x": floats(64, 64, low=-1.0),
            "grad_y": floats(64, 64, low=-1.0),
            "sin": values(lambda: np.sin(2 * np.pi * np.arange(150) / 150).astype(np.float32)),
            "cos": values(lambda: np.cos(2 * np.pi * np.arange(150) / 150).astype(np.float32)),
            "tx": values(lambda: parts.circle_offsets(1)),
            "ty": values(lambda: parts.circle_offsets(-1)),
            "gicov": zeros(64, 64),
            "element": values(lambda: (np.hypot(*np.mgrid[-5:6, -5:6]) <= 5).astype(np.float32)),
            "dilated": zeros(64, 64),
        },
        [
            parts.line(
                "GICOV_kernel",
                400,
                64,
                *(64, "grad_x", "grad_y", "sin", "cos", "tx", "ty", "gicov", 20, 20),
            ),
            parts.line("dilate_kernel", 64 * 64, 64, 64, 64, 11, 11, "element", "gicov", "dilated"),
        ],
        ("gicov", "dilated"),
        tolerance=1e-3,  # variances of small means
    ),
    Case(
        "rodinia/lud",
        _FOLDER + "lud/lud_kernel.cl",
        {"m": parts.dominant(parts.LUD)},
        parts.lud_steps(),
        ("m",),
        options=f"-DBLOCK_SIZE={parts.BLOCK}",
        expected=parts.lud_answer,
    ),
    Case(
        "rodinia/nn",
        _FOLDER + "nn/nearestNeighbor_kernel.cl",
        {"locations": floats(1000, 2, low=-90.0, high=90.0), "distances": zeros(1000)},
        [parts.line("NearestNeighbor", 1000, 64, "locations", "distances", 1000, 30.0, 60.0)],
        ("distances",),
        expected=lambda d: {"distances": np.hypot(*(d["locations"].astype(np.float64) - [30.0, 60.0]).T)},
    ),
    Case(
        "rodinia/nw",
        _FOLDER + "nw/nw.cl",
        {
            "reference": ints(parts.ALIGNED + 1, parts.ALIGNED + 1, low=-5, high=15),
            "scores": values(parts.borders),
            "out": zeros(1, dtype=np.int32),
        },
        parts.nw_steps(),
        ("scores",),
        options=f"-DBLOCK_SIZE={parts.BLOCK}",
        expected=parts.nw_answer,
    ),
    Case(
        "rodinia/particlefilter",
        _FOLDER + "particlefilter/particle_double.cl",
        {
            **{name: doubles(parts.PARTICLE_COUNT, low=10.0, high=20.0) for name in ("x", "y", "xj", "yj")},
            **{name: zeros(parts.PARTICLE_COUNT, dtype=np.float64) for name in ("cdf", "u", "likelihood", "weights")},
            "ind": zeros(parts.PARTICLE_COUNT * parts.ONES, dtype=np.int32),
            "shape": ints(2 * parts.ONES, low=-2, high=3),
            "frame": ints(parts.PIXELS, high=256, dtype=np.uint8),
            "seed": ints(parts.PARTICLE_COUNT, low=1, high=1 << 20),
            "sums": zeros(parts.PF_GROUPS, dtype=np.float64),
        },
        [
            parts.line(
                "likelihood_kernel",
                parts.PARTICLE_COUNT,
                parts.PF_GROUP,
                *("x", "y", "xj", "yj", "cdf", "ind", "shape", "likelihood", "frame", "u", "weights"),
                *(
                    parts.PARTICLE_COUNT,
                    parts.ONES,
                    parts.PIXELS,
                    1,
                    parts.FRAME,
                    parts.FRAMES,
                    "seed",
                    "sums",
                    Local(8 * parts.PF_GROUP),
                ),
            ),
            parts.line("sum_kernel", parts.PARTICLE_COUNT, parts.PF_GROUP, "sums", parts.PARTICLE_COUNT),
            # One group: the others read what the first one writes, at an unknown time.
            parts.line(
                "normalize_weights_kernel", 256, 256, "weights", parts.PARTICLE_COUNT, "sums", "cdf", "u", "seed"
            ),
            parts.line(
                "find_index_kernel",
                parts.PARTICLE_COUNT,
                parts.PF_GROUP,
                *("x", "y", "cdf", "u", "xj", "yj", "weights"),
                parts.PARTICLE_COUNT,
            ),
        ],
        ("x", "y", "ind", "likelihood", "weights", "xj", "yj"),
        tolerance=1e-9,  # weights are exponentials of sums
    ),
    Case(
        "rodinia/particlefilter-naive",
        _FOLDER + "particlefilter/particle_naive.cl",
        {
            **{name: doubles(parts.PARTICLE_COUNT) for name in ("x", "y", "u")},
            "cdf": lambda rng: np.sort(rng.uniform(0, 1, parts.PARTICLE_COUNT)),
            **{name: zeros(parts.PARTICLE_COUNT, dtype=np.float64) for name in ("xj", "yj")},
        },
        [
            parts.line(
                "particle_kernel", parts.PARTICLE_COUNT, 64, "x", "y", "cdf", "u", "xj", "yj", parts.PARTICLE_COUNT
            )
        ],
        ("xj", "yj"),
    ),
    Case(
        "rodinia/pathfinder",
        _FOLDER + "pathfinder/kernels.cl",
        {
            "wall": ints((parts.ROWS - 1) * parts.COLUMNS, high=10),
            "first": ints(parts.COLUMNS, high=10),
            "second": zeros(parts.COLUMNS, dtype=np.int32),
            "debug": zeros(16384, dtype=np.int32),
        },
        parts.path_steps(),
        ("first", "second"),
        expected=parts.path_answer,
    ),
    Case(
        "rodinia/srad",
        _FOLDER + "srad/kernel/kernel_gpu_opencl.cl",
        {
            "image": floats(parts.IMAGE, low=1.0, high=255.0),
            "north": values(lambda: parts.neighbours(parts.IMAGE_ROWS, -1)),
            "south": values(lambda: parts.neighbours(parts.IMAGE_ROWS, 1)),
            "east": values(lambda: parts.neighbours(parts.IMAGE_COLUMNS, 1)),
            "west": values(lambda: parts.neighbours(parts.IMAGE_COLUMNS, -1)),
            **{name: zeros(parts.IMAGE) for name in ("dn", "ds", "de", "dw", "c", "sums", "sums2")},
        },
        [
            parts.line("extract_kernel", parts.IMAGE, parts.SRAD_GROUP, parts.LONG, "image"),
            parts.line("prepare_kernel", parts.IMAGE, parts.SRAD_GROUP, parts.LONG, "image", "sums", "sums2"),
            *parts.srad_sums(),
            parts.line(
                "srad_kernel",
                parts.IMAGE,
                parts.SRAD_GROUP,
                *(0.5, parts.IMAGE_ROWS, parts.IMAGE_COLUMNS, parts.LONG, *parts.SRAD_NEIGHBOURS, 0.05, "c", "image"),
            ),
            parts.line(
                "srad2_kernel",
                parts.IMAGE,
                parts.SRAD_GROUP,
                *(0.5, parts.IMAGE_ROWS, parts.IMAGE_COLUMNS, parts.LONG, *parts.SRAD_NEIGHBOURS, "c", "image"),
            ),
            parts.line("compress_kernel", parts.IMAGE, parts.SRAD_GROUP, parts.LONG, "image"),
        ],
        ("sums", "sums2", "c", "image"),
        options=f"-DRD_WG_SIZE_0={parts.SRAD_GROUP}",
        tolerance=1e-4,  # quotients of differences of neighbours
    ),
    Case(
        "rodinia/streamcluster",
        _FOLDER + "streamcluster/Kernels.cl",
        {
            "points": parts.cluster_points,
            "coordinates": floats(parts.POINTS * parts.POINT_DIMENSIONS),
            "work": zeros(parts.POINTS * (parts.CENTRES + 1)),
            "table": ints(parts.POINTS, high=parts.CENTRES),
            "switch": ints(parts.POINTS, high=5, dtype=np.int8),
        },
        [
            parts.line("memset_kernel", parts.POINTS, 64, "switch", np.int16(0), parts.POINTS),
            parts.line(
                "pgain_kernel",
                parts.POINTS,
                64,
                *("points", "coordinates", "work", "table", "switch", Local(4 * parts.POINT_DIMENSIONS)),
                *(parts.POINTS, parts.POINT_DIMENSIONS, np.int64(17), parts.CENTRES),
            ),
        ],
        ("work", "switch"),
    ),
)

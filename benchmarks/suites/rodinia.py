"""Programs of Rodinia's OpenCL version (yuhc/gpu-rodinia), at sizes that an emulator likes.

Left out: kernels whose answer depends on the order in which work-items run (leukocyte's IMGVF_kernel, hybridsort's
bucketsort), and those that OpenCL C does not allow (dwt2d's transform mixes address spaces).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.suites.case import Case, Data, Launch, doubles, floats, ints, values, zeros
from headwater.runtime.values import Local

_FOLDER = "gpu-rodinia/opencl/"


def _up(size: int, group: int) -> int:
    return -(-size // group) * group


def _line(kernel: str, size: int, group: int, *args: object) -> Launch:
    return Launch(kernel, (_up(size, group),), (group,), args)


# -- backprop ----------------------------------------------------------------------------------------------------------

_INPUTS, _HIDDEN = 64, 16
_WEIGHTS = (_INPUTS + 1) * (_HIDDEN + 1)

# -- bfs ---------------------------------------------------------------------------------------------------------------

_NODES, _EDGES = 500, 3
_NODE = np.dtype([("starting", np.int32), ("no_of_edges", np.int32)])


def _nodes() -> np.ndarray:
    nodes = np.zeros(_NODES, _NODE)
    nodes["starting"] = np.arange(_NODES) * _EDGES
    nodes["no_of_edges"] = _EDGES
    return nodes.view(np.int32)


def _first(count: int, first: int, rest: int, dtype: type) -> np.ndarray:
    array = np.full(count, rest, dtype)
    array[0] = first
    return array


def _bfs(d: Data) -> Mapping[str, np.ndarray]:
    edges = d["edges"].reshape(_NODES, _EDGES)
    cost = np.full(_NODES, -1, np.int32)
    cost[0] = 0
    frontier = [0]
    for level in range(1, _BFS_LEVELS + 1):
        frontier = [int(n) for n in np.unique(edges[frontier]) if cost[n] < 0]
        cost[frontier] = level
    return {"cost": cost}


_BFS_LEVELS = 12

# -- b+tree ------------------------------------------------------------------------------------------------------------

_ORDER, _LEAVES, _QUERIES = 32, 20, 40
_KNODE = np.dtype(
    [
        ("location", np.int32),
        ("indices", np.int32, _ORDER + 1),
        ("keys", np.int32, _ORDER + 1),
        ("is_leaf", np.int32),  # a bool and its padding
        ("num_keys", np.int32),
    ]
)


def _tree() -> np.ndarray:
    """A root over leaves; leaf number k holds the keys 100 k, 100 k + 3, … and the numbers of their records."""
    tree = np.zeros(1 + _LEAVES, _KNODE)
    tree["keys"] = np.iinfo(np.int32).max
    tree["keys"][0, :_LEAVES] = 100 * np.arange(_LEAVES)
    tree["indices"][0, :_LEAVES] = 1 + np.arange(_LEAVES)
    for leaf in range(_LEAVES):
        tree["keys"][1 + leaf, :_ORDER] = 100 * leaf + 3 * np.arange(_ORDER)
        tree["indices"][1 + leaf, :_ORDER] = _ORDER * leaf + np.arange(_ORDER)
    return tree.view(np.int32)


def _keys(step: int) -> np.ndarray:
    query = np.arange(_QUERIES)
    return (100 * (query % _LEAVES) + 3 * ((query * step) % _ORDER)).astype(np.int32)


# -- cfd ---------------------------------------------------------------------------------------------------------------

_CELLS = 200


def _flow() -> np.ndarray:
    """The far field as the original sets it: density, momentum, energy."""
    speed, pressure, density = 1.2 * np.sqrt(1.4), 1.0, 1.4
    return np.array([density, density * speed, 0, 0, density * 0.5 * speed**2 + pressure / 0.4], np.float32)


_CFD = {
    "variables": zeros(5 * _CELLS),
    "old": zeros(5 * _CELLS),
    "flow": values(_flow),
    "areas": floats(_CELLS, low=1.0, high=2.0),
    "factors": zeros(_CELLS),
    "neighbours": ints(4 * _CELLS, low=-2, high=_CELLS),
    "normals": floats(12 * _CELLS, low=-1.0, high=1.0),
    "fluxes": zeros(5 * _CELLS),
    **{f"far_{name}": floats(3, low=-1.0, high=1.0) for name in ("energy", "x", "y", "z")},
}


def _cfd_step(stage: int) -> list[Launch]:
    far = ("far_energy", "far_x", "far_y", "far_z")
    return [
        _line("compute_flux", _CELLS, 64, "neighbours", "normals", "variables", "flow", "fluxes", *far, _CELLS),
        _line("time_step", _CELLS, 64, stage, _CELLS, "old", "variables", "factors", "fluxes"),
    ]


# -- hybridsort --------------------------------------------------------------------------------------------------------

_BUCKETS = 1024
_SORTED = 64
"""Vectors of four elements in each of the divisions that are sorted."""
_DIVISIONS = 5


def _starts() -> np.ndarray:
    """Where each division begins, in vectors; only the first few have any."""
    return np.minimum(_SORTED * np.arange(_BUCKETS + 1), _SORTED * _DIVISIONS).astype(np.int32)


def _merge_passes() -> list[Launch]:
    steps = [_line("mergeSortFirst", _SORTED * _DIVISIONS, 64, "unsorted", "a", 4 * _SORTED * _DIVISIONS)]
    size, source, target = 2, "a", "b"
    while size <= _SORTED:
        threads = max(1, _SORTED // size)
        steps.append(_line("mergeSortPass", _BUCKETS * threads, 64, source, target, size, threads, "starts"))
        size, source, target = size * 2, target, source
    return steps


def _merged(d: Data) -> Mapping[str, np.ndarray]:
    parts = np.sort(d["unsorted"].reshape(_DIVISIONS, -1), 1).ravel()
    return {"a": np.concatenate([parts, d["a"].ravel()[len(parts) :]])}


# -- lavaMD ------------------------------------------------------------------------------------------------------------

_PARTICLES = 100
_BOXES = 3
_NEIGHBOUR = np.dtype(
    [("x", np.int32), ("y", np.int32), ("z", np.int32), ("number", np.int32), ("offset", np.int64)], align=True
)
_BOX = np.dtype(
    [
        *((name, np.int32) for name in ("x", "y", "z", "number")),
        ("offset", np.int64),
        ("nn", np.int32),
        ("nei", _NEIGHBOUR, 26),
    ],
    align=True,
)
_DIMENSIONS = np.dtype(
    [
        *((name, np.int32) for name in ("cur_arg", "arch_arg", "cores_arg", "boxes1d_arg")),
        *((name, np.int64) for name in ("number_boxes", "box_mem", "space_elem", "space_mem", "space_mem2")),
    ],
    align=True,
)


def _boxes() -> np.ndarray:
    """Boxes in a row, each a neighbour of those beside it."""
    boxes = np.zeros(_BOXES, _BOX)
    for number in range(_BOXES):
        near = [n for n in (number - 1, number + 1) if 0 <= n < _BOXES]
        boxes[number]["number"] = number
        boxes[number]["offset"] = number * _PARTICLES
        boxes[number]["nn"] = len(near)
        for k, other in enumerate(near):
            boxes[number]["nei"][k]["number"] = other
            boxes[number]["nei"][k]["offset"] = other * _PARTICLES
    return boxes.view(np.uint8)


def _structure(dtype: np.dtype, **fields: float) -> np.void:
    array = np.zeros(1, dtype)
    for name, value in fields.items():
        array[name] = value
    element: np.void = array[0]
    return element


def _lava(d: Data) -> Mapping[str, np.ndarray]:
    position, charge = d["position"].astype(np.float64), d["charge"].astype(np.float64)
    force = np.zeros_like(position)
    for home in range(_BOXES):
        mine = slice(home * _PARTICLES, (home + 1) * _PARTICLES)
        for other in range(max(0, home - 1), min(_BOXES, home + 2)):
            theirs = slice(other * _PARTICLES, (other + 1) * _PARTICLES)
            a, b = position[mine, None], position[None, theirs]
            u = 2 * 0.5**2 * (a[..., 0] + b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1))
            v = np.exp(-u) * charge[theirs]
            force[mine, 0] += v.sum(1)
            force[mine, 1:] += (2 * v[..., None] * (a[..., 1:] - b[..., 1:])).sum(1)
    return {"force": force}


# -- lud, nw -----------------------------------------------------------------------------------------------------------

_BLOCK = 16
_LUD = 4 * _BLOCK


def _lud_steps() -> list[Launch]:
    tile = Local(4 * _BLOCK * _BLOCK)
    steps = []
    for offset in range(0, _LUD, _BLOCK):
        left = (_LUD - offset) // _BLOCK - 1
        steps.append(_line("lud_diagonal", _BLOCK, _BLOCK, "m", tile, _LUD, offset))
        if left:
            steps.append(_line("lud_perimeter", 2 * _BLOCK * left, 2 * _BLOCK, "m", tile, tile, tile, _LUD, offset))
            size = (_BLOCK * left, _BLOCK * left)
            steps.append(Launch("lud_internal", size, (_BLOCK, _BLOCK), ("m", tile, tile, _LUD, offset)))
    return steps


def _lud(d: Data) -> Mapping[str, np.ndarray]:
    a = d["m"].astype(np.float64)
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return {"m": a}


_ALIGNED = 6 * _BLOCK
"""Lengths of the two sequences that nw aligns."""
_PENALTY = 10


def _borders() -> np.ndarray:
    scores = np.zeros((_ALIGNED + 1, _ALIGNED + 1), np.int32)
    scores[0] = scores[:, 0] = -_PENALTY * np.arange(_ALIGNED + 1)
    return scores


def _nw_steps() -> list[Launch]:
    blocks = _ALIGNED // _BLOCK
    memory = (Local(4 * (_BLOCK + 1) ** 2), Local(4 * _BLOCK**2))
    fixed = (_ALIGNED + 1, _PENALTY)
    return [
        _line(kernel, _BLOCK * b, _BLOCK, "reference", "scores", "out", *memory, *fixed, b, blocks, _ALIGNED, 0, 0)
        for kernel, order in (("nw_kernel1", range(1, blocks + 1)), ("nw_kernel2", range(blocks - 1, 0, -1)))
        for b in order
    ]


def _nw(d: Data) -> Mapping[str, np.ndarray]:
    scores, reference = d["scores"].astype(np.int64), d["reference"]
    for i in range(1, _ALIGNED + 1):
        for j in range(1, _ALIGNED + 1):
            scores[i, j] = max(
                scores[i - 1, j - 1] + reference[i, j], scores[i, j - 1] - _PENALTY, scores[i - 1, j] - _PENALTY
            )
    return {"scores": scores}


# -- pathfinder, hotspot -----------------------------------------------------------------------------------------------

_COLUMNS, _ROWS, _HEIGHT = 500, 21, 4
_PATH_GROUP = 64


def _path_steps() -> list[Launch]:
    groups = -(-_COLUMNS // (_PATH_GROUP - 2 * _HEIGHT))
    memory = Local(4 * _PATH_GROUP)
    steps = []
    names = ("first", "second")
    for k, start in enumerate(range(0, _ROWS - 1, _HEIGHT)):
        rows = min(_HEIGHT, _ROWS - start - 1)
        source, target = names[k % 2], names[1 - k % 2]
        fixed = (_COLUMNS, _ROWS, start, rows, 1, memory, memory, "debug")
        args = (rows, "wall", source, target, *fixed)
        steps.append(_line("dynproc_kernel", groups * _PATH_GROUP, _PATH_GROUP, *args))
    return steps


def _path(d: Data) -> Mapping[str, np.ndarray]:
    best = d["first"].astype(np.int64)
    for row in d["wall"].reshape(_ROWS - 1, _COLUMNS):
        padded = np.pad(best, 1, mode="edge")
        best = row + np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
    return {"second" if len(_path_steps()) % 2 else "first": best}


_GRID = 60
_HOTSPOT_CONSTANTS = (0.5, 10.0, 10.0, 500.0, 0.01)
"""Heat capacity, three resistances, time step: of the original's order of magnitude, and stable."""


def _hotspot_steps() -> list[Launch]:
    rows = 2
    inner = _BLOCK - 2 * rows
    size = -(-_GRID // inner) * _BLOCK
    return [
        Launch(
            "hotspot",
            (size, size),
            (_BLOCK, _BLOCK),
            (rows, "power", source, target, _GRID, _GRID, rows, rows, *_HOTSPOT_CONSTANTS),
        )
        for source, target in (("temp", "next"), ("next", "temp"), ("temp", "next"))
    ]


def _hotspot(d: Data) -> Mapping[str, np.ndarray]:
    capacity, rx, ry, rz, step = _HOTSPOT_CONSTANTS
    t, power = d["temp"].astype(np.float64), d["power"].astype(np.float64)
    for _ in range(6):
        p = np.pad(t, 1, mode="edge")
        vertical = (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * t) / ry
        horizontal = (p[1:-1, 2:] + p[1:-1, :-2] - 2 * t) / rx
        t = t + step / capacity * (power + vertical + horizontal + (80.0 - t) / rz)
    return {"next": t}


# -- particlefilter ----------------------------------------------------------------------------------------------------

_PARTICLE_COUNT, _ONES, _FRAME, _FRAMES, _PF_GROUP = 200, 9, 32, 4, 64
_PF_GROUPS = -(-_PARTICLE_COUNT // _PF_GROUP)
_PIXELS = _FRAME * _FRAME * _FRAMES


# -- srad --------------------------------------------------------------------------------------------------------------

_IMAGE_ROWS, _IMAGE_COLUMNS = 50, 46
_IMAGE = _IMAGE_ROWS * _IMAGE_COLUMNS
_SRAD_GROUP = 256
_LONG = np.int64(_IMAGE)
_SRAD_NEIGHBOURS = ("north", "south", "east", "west", "dn", "ds", "de", "dw")


def _near(count: int, step: int) -> np.ndarray:
    return np.clip(np.arange(count) + step, 0, count - 1).astype(np.int32)


def _srad_sums() -> list[Launch]:
    steps = []
    count, stride = _IMAGE, 1
    while count > 1:
        groups = -(-count // _SRAD_GROUP)
        args = (np.int64(count), stride, "sums", "sums2", groups)
        steps.append(_line("reduce_kernel", count, _SRAD_GROUP, _LONG, *args))
        count, stride = groups, stride * _SRAD_GROUP
    return steps


# -- streamcluster -----------------------------------------------------------------------------------------------------

_POINTS, _POINT_DIMENSIONS, _CENTRES = 256, 10, 7
_POINT = np.dtype([("weight", np.float32), ("assign", np.int64), ("cost", np.float32)], align=True)


def _points(rng: np.random.Generator) -> np.ndarray:
    points = np.zeros(_POINTS, _POINT)
    points["weight"] = 1
    points["assign"] = rng.integers(0, _POINTS, _POINTS)
    points["cost"] = rng.uniform(0, 3, _POINTS)
    return points.view(np.uint8)


# -- dwt2d, gaussian, hotspot3D, kmeans, leukocyte, nn -----------------------------------------------------------------

_UNKNOWNS = 50
_VOLUME = (8, 24, 64)
_KMEANS_POINTS, _FEATURES, _CLUSTERS = 700, 12, 6
_RADIUS, _CELL = 22, 40


def _gauss(d: Data) -> Mapping[str, np.ndarray]:
    a, b = d["a"].astype(np.float64), d["b"].astype(np.float64)
    for t in range(_UNKNOWNS - 1):
        factor = a[t + 1 :, t] / a[t, t]
        a[t + 1 :, t:] -= np.outer(factor, a[t, t:])
        b[t + 1 :] -= factor * b[t]
    return {"b": b}


def _nearest(d: Data) -> Mapping[str, np.ndarray]:
    features = d["features"].reshape(_KMEANS_POINTS, _FEATURES).astype(np.float64)
    centres = d["clusters"].reshape(_CLUSTERS, _FEATURES).astype(np.float64)
    distance = ((features[:, None] - centres[None]) ** 2).sum(-1)
    return {"membership": distance.argmin(1).astype(np.int32)}


def _circles(radius_step: int) -> np.ndarray:
    """Offsets of 150 points on each of 7 circles, sines or cosines rounded."""
    angle = 2 * np.pi * np.arange(150) / 150
    wave = np.sin(angle) if radius_step > 0 else np.cos(angle)
    return np.concatenate([np.rint((8 + 2 * k) * wave) for k in range(7)]).astype(np.int32)


def _dominant(size: int, dtype: type = np.float32) -> object:
    return lambda rng: (rng.uniform(0, 1, (size, size)) + size * np.eye(size)).astype(dtype)


CASES = (
    Case(
        "rodinia/backprop",
        _FOLDER + "backprop/backprop_kernel.cl",
        {
            "input": floats(_INPUTS + 1),
            "hidden": zeros(_HIDDEN + 1),
            "weights": floats(_WEIGHTS),
            "sums": zeros(_INPUTS // 16 * 16),
            "delta": floats(_HIDDEN + 1),
            "old": floats(_WEIGHTS),
        },
        [
            Launch(
                "bpnn_layerforward_ocl",
                (16, _INPUTS),
                (16, 16),
                ("input", "hidden", "weights", "sums", Local(64), Local(1024), _INPUTS, _HIDDEN),
            ),
            Launch(
                "bpnn_adjust_weights_ocl",
                (16, _INPUTS),
                (16, 16),
                ("delta", _HIDDEN, "input", _INPUTS, "weights", "old"),
            ),
        ],
        ("sums", "weights", "old"),
    ),
    Case(
        "rodinia/bfs",
        _FOLDER + "bfs/Kernels.cl",
        {
            "nodes": values(_nodes),
            "edges": ints(_NODES * _EDGES, high=_NODES),
            "mask": values(lambda: _first(_NODES, 1, 0, np.int8)),
            "updating": zeros(_NODES, dtype=np.int8),
            "visited": values(lambda: _first(_NODES, 1, 0, np.int8)),
            "cost": values(lambda: _first(_NODES, 0, -1, np.int32)),
            "over": zeros(1, dtype=np.int8),
        },
        [
            step
            for _ in range(_BFS_LEVELS)
            for step in (
                _line("BFS_1", _NODES, 64, "nodes", "edges", "mask", "updating", "visited", "cost", _NODES),
                _line("BFS_2", _NODES, 64, "mask", "updating", "visited", "over", _NODES),
            )
        ],
        ("cost",),
        expected=_bfs,
    ),
    Case(
        "rodinia/b+tree-find",
        _FOLDER + "b+tree/kernel/kernel_gpu_opencl.cl",
        {
            "tree": values(_tree),
            "records": values(lambda: (7 * np.arange(_ORDER * _LEAVES)).astype(np.int32)),
            "current": zeros(_QUERIES, dtype=np.int64),
            "offset": zeros(_QUERIES, dtype=np.int64),
            "keys": values(lambda: _keys(5)),
            "answers": zeros(_QUERIES, dtype=np.int32),
        },
        [
            _line(
                "findK",
                _QUERIES * _ORDER,
                _ORDER,
                *(np.int64(1), "tree", np.int64(1 + _LEAVES), "records", "current", "offset", "keys", "answers"),
            )
        ],
        ("answers",),
        options=f"-DDEFAULT_ORDER={_ORDER}",
        expected=lambda d: {
            "answers": 7 * np.array([_ORDER * (q % _LEAVES) + (q * 5) % _ORDER for q in range(_QUERIES)])
        },
    ),
    Case(
        "rodinia/b+tree-range",
        _FOLDER + "b+tree/kernel/kernel_gpu_opencl_2.cl",
        {
            "tree": values(_tree),
            **{name: zeros(_QUERIES, dtype=np.int64) for name in ("current", "offset", "last", "offset2")},
            "start": values(lambda: _keys(0)),
            "end": values(lambda: _keys(5)),
            "first": zeros(_QUERIES, dtype=np.int32),
            "length": zeros(_QUERIES, dtype=np.int32),
        },
        [
            _line(
                "findRangeK",
                _QUERIES * _ORDER,
                _ORDER,
                *(np.int64(1), "tree", np.int64(1 + _LEAVES), "current", "offset", "last", "offset2"),
                *("start", "end", "first", "length"),
            )
        ],
        ("first", "length"),
        options=f"-DDEFAULT_ORDER_2={_ORDER}",
        expected=lambda d: {"length": np.array([(q * 5) % _ORDER + 1 for q in range(_QUERIES)])},
    ),
    Case(
        "rodinia/cfd",
        _FOLDER + "cfd/Kernels.cl",
        _CFD,
        [
            _line("memset_kernel", 20 * _CELLS, 64, "fluxes", np.int16(0), 20 * _CELLS),
            _line("initialize_variables", _CELLS, 64, "variables", "flow", _CELLS),
            _line("initialize_variables", _CELLS, 64, "old", "flow", _CELLS),
            _line("compute_step_factor", _CELLS, 64, "variables", "areas", "factors", _CELLS),
            *_cfd_step(1),
            *_cfd_step(2),
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
            _line("c_CopySrcToComponents", 1024, 256, "r", "g", "b", "source", 1000),
            _line("c_CopySrcToComponent", 1024, 256, "grey", "source", 1000),
        ],
        ("r", "g", "b", "grey"),
    ),
    Case(
        "rodinia/gaussian",
        _FOLDER + "gaussian/gaussianElim_kernels.cl",
        {"m": zeros(_UNKNOWNS, _UNKNOWNS), "a": _dominant(_UNKNOWNS), "b": floats(_UNKNOWNS)},
        [
            step
            for t in range(_UNKNOWNS - 1)
            for step in (
                _line("Fan1", _UNKNOWNS, 64, "m", "a", "b", _UNKNOWNS, t),
                Launch("Fan2", (64, 52), (16, 4), ("m", "a", "b", _UNKNOWNS, t)),
            )
        ],
        ("b", "m"),
        expected=_gauss,
    ),
    Case(
        "rodinia/hotspot",
        _FOLDER + "hotspot/hotspot_kernel.cl",
        {
            "power": floats(_GRID, _GRID),
            "temp": floats(_GRID, _GRID, low=320.0, high=340.0),
            "next": zeros(_GRID, _GRID),
        },
        _hotspot_steps(),
        ("next",),
        options=f"-DBLOCK_SIZE={_BLOCK}",
        expected=_hotspot,
    ),
    Case(
        "rodinia/hotspot3D",
        _FOLDER + "hotspot3D/hotspotKernel.cl",
        {"p": floats(*_VOLUME), "a": floats(*_VOLUME, low=320.0, high=340.0), "b": zeros(*_VOLUME)},
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
        {"result": zeros(_BUCKETS, dtype=np.uint32), "data": floats(3000, low=0.0, high=0.999)},
        [_line("histogram1024Kernel", 2 * 96, 96, "result", "data", 0.0, 1.0, np.uint32(3000))],
        ("result",),
        expected=lambda d: {"result": np.bincount((d["data"] * np.float32(1024)).astype(int), minlength=_BUCKETS)},
    ),
    Case(
        "rodinia/hybridsort-bucketcount",
        _FOLDER + "hybridsort/bucketsort_kernels.cl",
        {
            "input": floats(2000),
            "index": zeros(2000, dtype=np.int32),
            "prefix": zeros(3 * _BUCKETS, dtype=np.uint32),
            "pivots": values(lambda: (np.arange(1, _BUCKETS + 1) / _BUCKETS).astype(np.float32)),
            "offsets": zeros(_BUCKETS, dtype=np.uint32),
        },
        [
            _line("bucketcount", 3 * 32, 32, "input", "index", "prefix", 2000, "pivots"),
            _line("bucketprefixoffset", _BUCKETS, 64, "prefix", "offsets", 3),
        ],
        ("prefix", "offsets"),
    ),
    Case(
        "rodinia/hybridsort-mergesort",
        _FOLDER + "hybridsort/mergesort.cl",
        {
            "unsorted": floats(4 * _SORTED * _DIVISIONS),
            "a": zeros(4 * (_SORTED * _DIVISIONS + 80)),
            "b": zeros(4 * (_SORTED * _DIVISIONS + 80)),
            "starts": values(_starts),
            "none": zeros(_DIVISIONS, dtype=np.int32),
            "packed": zeros(4 * _SORTED * _DIVISIONS),
            "ends": values(lambda: (4 * _SORTED * np.arange(_DIVISIONS + 1)).astype(np.int32)),
        },
        [
            *_merge_passes(),
            Launch("mergepack", (4 * _SORTED, _DIVISIONS), (64, 1), ("a", "packed", "starts", "none", "ends")),
        ],
        ("a", "packed"),
        expected=_merged,
    ),
    Case(
        "rodinia/kmeans",
        _FOLDER + "kmeans/kmeans.cl",
        {
            "features": floats(_KMEANS_POINTS * _FEATURES),
            "swapped": zeros(_KMEANS_POINTS * _FEATURES),
            "clusters": floats(_CLUSTERS * _FEATURES),
            "membership": zeros(_KMEANS_POINTS, dtype=np.int32),
        },
        [
            _line("kmeans_swap", _KMEANS_POINTS, 64, "features", "swapped", _KMEANS_POINTS, _FEATURES),
            _line(
                "kmeans_kernel_c",
                _KMEANS_POINTS,
                64,
                *("swapped", "clusters", "membership", _KMEANS_POINTS, _CLUSTERS, _FEATURES, 0, 0),
            ),
        ],
        ("membership",),
        expected=_nearest,
    ),
    Case(
        "rodinia/lavaMD",
        _FOLDER + "lavaMD/kernel/kernel_gpu_opencl.cl",
        {
            "boxes": values(_boxes),
            "position": floats(_BOXES * _PARTICLES, 4),
            "charge": floats(_BOXES * _PARTICLES),
            "force": zeros(_BOXES * _PARTICLES, 4),
        },
        [
            _line(
                "kernel_gpu_opencl",
                128 * _BOXES,
                128,
                _structure(np.dtype([("alpha", np.float32)]), alpha=0.5),
                _structure(_DIMENSIONS, number_boxes=_BOXES),
                *("boxes", "position", "charge", "force"),
            )
        ],
        ("force",),
        expected=_lava,
    ),
    Case(
        "rodinia/leukocyte-find",
        _FOLDER + "leukocyte/find_ellipse_kernel.cl",
        {
            "grad_x": floats(64, 64, low=-1.0),
            "grad_y": floats(64, 64, low=-1.0),
            "sin": values(lambda: np.sin(2 * np.pi * np.arange(150) / 150).astype(np.float32)),
            "cos": values(lambda: np.cos(2 * np.pi * np.arange(150) / 150).astype(np.float32)),
            "tx": values(lambda: _circles(1)),
            "ty": values(lambda: _circles(-1)),
            "gicov": zeros(64, 64),
            "element": values(lambda: (np.hypot(*np.mgrid[-5:6, -5:6]) <= 5).astype(np.float32)),
            "dilated": zeros(64, 64),
        },
        [
            _line(
                "GICOV_kernel",
                400,
                64,
                *(64, "grad_x", "grad_y", "sin", "cos", "tx", "ty", "gicov", 20, 20),
            ),
            _line("dilate_kernel", 64 * 64, 64, 64, 64, 11, 11, "element", "gicov", "dilated"),
        ],
        ("gicov", "dilated"),
        tolerance=1e-3,  # variances of small means
    ),
    Case(
        "rodinia/lud",
        _FOLDER + "lud/lud_kernel.cl",
        {"m": _dominant(_LUD)},
        _lud_steps(),
        ("m",),
        options=f"-DBLOCK_SIZE={_BLOCK}",
        expected=_lud,
    ),
    Case(
        "rodinia/nn",
        _FOLDER + "nn/nearestNeighbor_kernel.cl",
        {"locations": floats(1000, 2, low=-90.0, high=90.0), "distances": zeros(1000)},
        [_line("NearestNeighbor", 1000, 64, "locations", "distances", 1000, 30.0, 60.0)],
        ("distances",),
        expected=lambda d: {"distances": np.hypot(*(d["locations"].astype(np.float64) - [30.0, 60.0]).T)},
    ),
    Case(
        "rodinia/nw",
        _FOLDER + "nw/nw.cl",
        {
            "reference": ints(_ALIGNED + 1, _ALIGNED + 1, low=-5, high=15),
            "scores": values(_borders),
            "out": zeros(1, dtype=np.int32),
        },
        _nw_steps(),
        ("scores",),
        options=f"-DBLOCK_SIZE={_BLOCK}",
        expected=_nw,
    ),
    Case(
        "rodinia/particlefilter",
        _FOLDER + "particlefilter/particle_double.cl",
        {
            **{name: doubles(_PARTICLE_COUNT, low=10.0, high=20.0) for name in ("x", "y", "xj", "yj")},
            **{name: zeros(_PARTICLE_COUNT, dtype=np.float64) for name in ("cdf", "u", "likelihood", "weights")},
            "ind": zeros(_PARTICLE_COUNT * _ONES, dtype=np.int32),
            "shape": ints(2 * _ONES, low=-2, high=3),
            "frame": ints(_PIXELS, high=256, dtype=np.uint8),
            "seed": ints(_PARTICLE_COUNT, low=1, high=1 << 20),
            "sums": zeros(_PF_GROUPS, dtype=np.float64),
        },
        [
            _line(
                "likelihood_kernel",
                _PARTICLE_COUNT,
                _PF_GROUP,
                *("x", "y", "xj", "yj", "cdf", "ind", "shape", "likelihood", "frame", "u", "weights"),
                *(_PARTICLE_COUNT, _ONES, _PIXELS, 1, _FRAME, _FRAMES, "seed", "sums", Local(8 * _PF_GROUP)),
            ),
            _line("sum_kernel", _PARTICLE_COUNT, _PF_GROUP, "sums", _PARTICLE_COUNT),
            # One group: the others read what the first one writes, at an unknown time.
            _line("normalize_weights_kernel", 256, 256, "weights", _PARTICLE_COUNT, "sums", "cdf", "u", "seed"),
            _line(
                "find_index_kernel",
                _PARTICLE_COUNT,
                _PF_GROUP,
                *("x", "y", "cdf", "u", "xj", "yj", "weights"),
                _PARTICLE_COUNT,
            ),
        ],
        ("x", "y", "ind", "likelihood", "weights", "xj", "yj"),
        tolerance=1e-9,  # weights are exponentials of sums
    ),
    Case(
        "rodinia/particlefilter-naive",
        _FOLDER + "particlefilter/particle_naive.cl",
        {
            **{name: doubles(_PARTICLE_COUNT) for name in ("x", "y", "u")},
            "cdf": lambda rng: np.sort(rng.uniform(0, 1, _PARTICLE_COUNT)),
            **{name: zeros(_PARTICLE_COUNT, dtype=np.float64) for name in ("xj", "yj")},
        },
        [_line("particle_kernel", _PARTICLE_COUNT, 64, "x", "y", "cdf", "u", "xj", "yj", _PARTICLE_COUNT)],
        ("xj", "yj"),
    ),
    Case(
        "rodinia/pathfinder",
        _FOLDER + "pathfinder/kernels.cl",
        {
            "wall": ints((_ROWS - 1) * _COLUMNS, high=10),
            "first": ints(_COLUMNS, high=10),
            "second": zeros(_COLUMNS, dtype=np.int32),
            "debug": zeros(16384, dtype=np.int32),
        },
        _path_steps(),
        ("first", "second"),
        expected=_path,
    ),
    Case(
        "rodinia/srad",
        _FOLDER + "srad/kernel/kernel_gpu_opencl.cl",
        {
            "image": floats(_IMAGE, low=1.0, high=255.0),
            "north": values(lambda: _near(_IMAGE_ROWS, -1)),
            "south": values(lambda: _near(_IMAGE_ROWS, 1)),
            "east": values(lambda: _near(_IMAGE_COLUMNS, 1)),
            "west": values(lambda: _near(_IMAGE_COLUMNS, -1)),
            **{name: zeros(_IMAGE) for name in ("dn", "ds", "de", "dw", "c", "sums", "sums2")},
        },
        [
            _line("extract_kernel", _IMAGE, _SRAD_GROUP, _LONG, "image"),
            _line("prepare_kernel", _IMAGE, _SRAD_GROUP, _LONG, "image", "sums", "sums2"),
            *_srad_sums(),
            _line(
                "srad_kernel",
                _IMAGE,
                _SRAD_GROUP,
                *(0.5, _IMAGE_ROWS, _IMAGE_COLUMNS, _LONG, *_SRAD_NEIGHBOURS, 0.05, "c", "image"),
            ),
            _line(
                "srad2_kernel",
                _IMAGE,
                _SRAD_GROUP,
                *(0.5, _IMAGE_ROWS, _IMAGE_COLUMNS, _LONG, *_SRAD_NEIGHBOURS, "c", "image"),
            ),
            _line("compress_kernel", _IMAGE, _SRAD_GROUP, _LONG, "image"),
        ],
        ("sums", "sums2", "c", "image"),
        options=f"-DRD_WG_SIZE_0={_SRAD_GROUP}",
        tolerance=1e-4,  # quotients of differences of neighbours
    ),
    Case(
        "rodinia/streamcluster",
        _FOLDER + "streamcluster/Kernels.cl",
        {
            "points": _points,
            "coordinates": floats(_POINTS * _POINT_DIMENSIONS),
            "work": zeros(_POINTS * (_CENTRES + 1)),
            "table": ints(_POINTS, high=_CENTRES),
            "switch": ints(_POINTS, high=5, dtype=np.int8),
        },
        [
            _line("memset_kernel", _POINTS, 64, "switch", np.int16(0), _POINTS),
            _line(
                "pgain_kernel",
                _POINTS,
                64,
                *("points", "coordinates", "work", "table", "switch", Local(4 * _POINT_DIMENSIONS)),
                *(_POINTS, _POINT_DIMENSIONS, np.int64(17), _CENTRES),
            ),
        ],
        ("work", "switch"),
    ),
)

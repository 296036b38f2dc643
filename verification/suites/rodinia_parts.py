"""Sizes, structures, input, launches and answers of Rodinia's programs, for `verification.suites.rodinia`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwater.runtime.values import Local
from verification.suites.case import Data, Launch, floats, ints, values, zeros


def _up(size: int, group: int) -> int:
    return -(-size // group) * group


def line(kernel: str, size: int, group: int, *args: object) -> Launch:
    return Launch(kernel, (_up(size, group),), (group,), args)


# -- backprop ----------------------------------------------------------------------------------------------------------

INPUTS, HIDDEN = 64, 16
WEIGHTS = (INPUTS + 1) * (HIDDEN + 1)

# -- bfs ---------------------------------------------------------------------------------------------------------------

NODES, EDGES = 500, 3
NODE = np.dtype([("starting", np.int32), ("no_of_edges", np.int32)])


def graph_nodes() -> np.ndarray:
    nodes = np.zeros(NODES, NODE)
    nodes["starting"] = np.arange(NODES) * EDGES
    nodes["no_of_edges"] = EDGES
    return nodes.view(np.int32)


def first_and_rest(count: int, first: int, rest: int, dtype: type) -> np.ndarray:
    array = np.full(count, rest, dtype)
    array[0] = first
    return array


def bfs_answer(d: Data) -> Mapping[str, np.ndarray]:
    edges = d["edges"].reshape(NODES, EDGES)
    cost = np.full(NODES, -1, np.int32)
    cost[0] = 0
    frontier = [0]
    for level in range(1, BFS_LEVELS + 1):
        frontier = [int(n) for n in np.unique(edges[frontier]) if cost[n] < 0]
        cost[frontier] = level
    return {"cost": cost}


BFS_LEVELS = 12

# -- b+tree ------------------------------------------------------------------------------------------------------------

ORDER, LEAVES, QUERIES = 32, 20, 40
KNODE = np.dtype(
    [
        ("location", np.int32),
        ("indices", np.int32, ORDER + 1),
        ("keys", np.int32, ORDER + 1),
        ("is_leaf", np.int32),  # a bool and its padding
        ("num_keys", np.int32),
    ]
)


def search_tree() -> np.ndarray:
    """A root over leaves; leaf number k holds the keys 100 k, 100 k + 3, … and the numbers of their records."""
    tree = np.zeros(1 + LEAVES, KNODE)
    tree["keys"] = np.iinfo(np.int32).max
    tree["keys"][0, :LEAVES] = 100 * np.arange(LEAVES)
    tree["indices"][0, :LEAVES] = 1 + np.arange(LEAVES)
    for leaf in range(LEAVES):
        tree["keys"][1 + leaf, :ORDER] = 100 * leaf + 3 * np.arange(ORDER)
        tree["indices"][1 + leaf, :ORDER] = ORDER * leaf + np.arange(ORDER)
    return tree.view(np.int32)


def tree_keys(step: int) -> np.ndarray:
    query = np.arange(QUERIES)
    return (100 * (query % LEAVES) + 3 * ((query * step) % ORDER)).astype(np.int32)


# -- cfd ---------------------------------------------------------------------------------------------------------------

CELLS = 200


def flow() -> np.ndarray:
    """The far field as the original sets it: density, momentum, energy."""
    speed, pressure, density = 1.2 * np.sqrt(1.4), 1.0, 1.4
    return np.array([density, density * speed, 0, 0, density * 0.5 * speed**2 + pressure / 0.4], np.float32)


CFD = {
    "variables": zeros(5 * CELLS),
    "old": zeros(5 * CELLS),
    "flow": values(flow),
    "areas": floats(CELLS, low=1.0, high=2.0),
    "factors": zeros(CELLS),
    "neighbours": ints(4 * CELLS, low=-2, high=CELLS),
    "normals": floats(12 * CELLS, low=-1.0, high=1.0),
    "fluxes": zeros(5 * CELLS),
    **{f"far_{name}": floats(3, low=-1.0, high=1.0) for name in ("energy", "x", "y", "z")},
}


def cfd_step(stage: int) -> list[Launch]:
    far = ("far_energy", "far_x", "far_y", "far_z")
    return [
        line("compute_flux", CELLS, 64, "neighbours", "normals", "variables", "flow", "fluxes", *far, CELLS),
        line("time_step", CELLS, 64, stage, CELLS, "old", "variables", "factors", "fluxes"),
    ]


# -- hybridsort --------------------------------------------------------------------------------------------------------

BUCKETS = 1024
SORTED = 64
"""Vectors of four elements in each of the divisions that are sorted."""
DIVISIONS = 5


def starts() -> np.ndarray:
    """Where each division begins, in vectors; only the first few have any."""
    return np.minimum(SORTED * np.arange(BUCKETS + 1), SORTED * DIVISIONS).astype(np.int32)


def merge_passes() -> list[Launch]:
    steps = [line("mergeSortFirst", SORTED * DIVISIONS, 64, "unsorted", "a", 4 * SORTED * DIVISIONS)]
    size, source, target = 2, "a", "b"
    while size <= SORTED:
        threads = max(1, SORTED // size)
        steps.append(line("mergeSortPass", BUCKETS * threads, 64, source, target, size, threads, "starts"))
        size, source, target = size * 2, target, source
    return steps


def merged_answer(d: Data) -> Mapping[str, np.ndarray]:
    parts = np.sort(d["unsorted"].reshape(DIVISIONS, -1), 1).ravel()
    return {"a": np.concatenate([parts, d["a"].ravel()[len(parts) :]])}


# -- lavaMD ------------------------------------------------------------------------------------------------------------

PARTICLES = 100
BOXES = 3
NEIGHBOUR = np.dtype(
    [("x", np.int32), ("y", np.int32), ("z", np.int32), ("number", np.int32), ("offset", np.int64)], align=True
)
BOX = np.dtype(
    [
        *((name, np.int32) for name in ("x", "y", "z", "number")),
        ("offset", np.int64),
        ("nn", np.int32),
        ("nei", NEIGHBOUR, 26),
    ],
    align=True,
)
DIMENSIONS = np.dtype(
    [
        *((name, np.int32) for name in ("cur_arg", "arch_arg", "cores_arg", "boxes1d_arg")),
        *((name, np.int64) for name in ("number_boxes", "box_mem", "space_elem", "space_mem", "space_mem2")),
    ],
    align=True,
)


def lava_boxes() -> np.ndarray:
    """Boxes in a row, each a neighbour of those beside it."""
    boxes = np.zeros(BOXES, BOX)
    for number in range(BOXES):
        near = [n for n in (number - 1, number + 1) if 0 <= n < BOXES]
        boxes[number]["number"] = number
        boxes[number]["offset"] = number * PARTICLES
        boxes[number]["nn"] = len(near)
        for k, other in enumerate(near):
            boxes[number]["nei"][k]["number"] = other
            boxes[number]["nei"][k]["offset"] = other * PARTICLES
    return boxes.view(np.uint8)


def structure(dtype: np.dtype, **fields: float) -> np.void:
    array = np.zeros(1, dtype)
    for name, value in fields.items():
        array[name] = value
    element: np.void = array[0]
    return element


def lava_answer(d: Data) -> Mapping[str, np.ndarray]:
    position, charge = d["position"].astype(np.float64), d["charge"].astype(np.float64)
    force = np.zeros_like(position)
    for home in range(BOXES):
        mine = slice(home * PARTICLES, (home + 1) * PARTICLES)
        for other in range(max(0, home - 1), min(BOXES, home + 2)):
            theirs = slice(other * PARTICLES, (other + 1) * PARTICLES)
            a, b = position[mine, None], position[None, theirs]
            u = 2 * 0.5**2 * (a[..., 0] + b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(-1))
            v = np.exp(-u) * charge[theirs]
            force[mine, 0] += v.sum(1)
            force[mine, 1:] += (2 * v[..., None] * (a[..., 1:] - b[..., 1:])).sum(1)
    return {"force": force}


# -- lud, nw -----------------------------------------------------------------------------------------------------------

BLOCK = 16
LUD = 4 * BLOCK


def lud_steps() -> list[Launch]:
    tile = Local(4 * BLOCK * BLOCK)
    steps = []
    for offset in range(0, LUD, BLOCK):
        left = (LUD - offset) // BLOCK - 1
        steps.append(line("lud_diagonal", BLOCK, BLOCK, "m", tile, LUD, offset))
        if left:
            steps.append(line("lud_perimeter", 2 * BLOCK * left, 2 * BLOCK, "m", tile, tile, tile, LUD, offset))
            size = (BLOCK * left, BLOCK * left)
            steps.append(Launch("lud_internal", size, (BLOCK, BLOCK), ("m", tile, tile, LUD, offset)))
    return steps


def lud_answer(d: Data) -> Mapping[str, np.ndarray]:
    a = d["m"].astype(np.float64)
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return {"m": a}


ALIGNED = 6 * BLOCK
"""Lengths of the two sequences that nw aligns."""
PENALTY = 10


def borders() -> np.ndarray:
    scores = np.zeros((ALIGNED + 1, ALIGNED + 1), np.int32)
    scores[0] = scores[:, 0] = -PENALTY * np.arange(ALIGNED + 1)
    return scores


def nw_steps() -> list[Launch]:
    blocks = ALIGNED // BLOCK
    memory = (Local(4 * (BLOCK + 1) ** 2), Local(4 * BLOCK**2))
    fixed = (ALIGNED + 1, PENALTY)
    return [
        line(kernel, BLOCK * b, BLOCK, "reference", "scores", "out", *memory, *fixed, b, blocks, ALIGNED, 0, 0)
        for kernel, order in (("nw_kernel1", range(1, blocks + 1)), ("nw_kernel2", range(blocks - 1, 0, -1)))
        for b in order
    ]


def nw_answer(d: Data) -> Mapping[str, np.ndarray]:
    scores, reference = d["scores"].astype(np.int64), d["reference"]
    for i in range(1, ALIGNED + 1):
        for j in range(1, ALIGNED + 1):
            scores[i, j] = max(
                scores[i - 1, j - 1] + reference[i, j], scores[i, j - 1] - PENALTY, scores[i - 1, j] - PENALTY
            )
    return {"scores": scores}


# -- pathfinder, hotspot -----------------------------------------------------------------------------------------------

COLUMNS, ROWS, HEIGHT = 500, 21, 4
PATH_GROUP = 64


def path_steps() -> list[Launch]:
    groups = -(-COLUMNS // (PATH_GROUP - 2 * HEIGHT))
    memory = Local(4 * PATH_GROUP)
    steps = []
    names = ("first", "second")
    for k, start in enumerate(range(0, ROWS - 1, HEIGHT)):
        rows = min(HEIGHT, ROWS - start - 1)
        source, target = names[k % 2], names[1 - k % 2]
        fixed = (COLUMNS, ROWS, start, rows, 1, memory, memory, "debug")
        args = (rows, "wall", source, target, *fixed)
        steps.append(line("dynproc_kernel", groups * PATH_GROUP, PATH_GROUP, *args))
    return steps


def path_answer(d: Data) -> Mapping[str, np.ndarray]:
    best = d["first"].astype(np.int64)
    for row in d["wall"].reshape(ROWS - 1, COLUMNS):
        padded = np.pad(best, 1, mode="edge")
        best = row + np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
    return {"second" if len(path_steps()) % 2 else "first": best}


GRID = 60
HOTSPOT_CONSTANTS = (0.5, 10.0, 10.0, 500.0, 0.01)
"""Heat capacity, three resistances, time step: of the original's order of magnitude, and stable."""


def hotspot_steps() -> list[Launch]:
    rows = 2
    inner = BLOCK - 2 * rows
    size = -(-GRID // inner) * BLOCK
    return [
        Launch(
            "hotspot",
            (size, size),
            (BLOCK, BLOCK),
            (rows, "power", source, target, GRID, GRID, rows, rows, *HOTSPOT_CONSTANTS),
        )
        for source, target in (("temp", "next"), ("next", "temp"), ("temp", "next"))
    ]


def hotspot_answer(d: Data) -> Mapping[str, np.ndarray]:
    capacity, rx, ry, rz, step = HOTSPOT_CONSTANTS
    t, power = d["temp"].astype(np.float64), d["power"].astype(np.float64)
    for _ in range(6):
        p = np.pad(t, 1, mode="edge")
        vertical = (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * t) / ry
        horizontal = (p[1:-1, 2:] + p[1:-1, :-2] - 2 * t) / rx
        t = t + step / capacity * (power + vertical + horizontal + (80.0 - t) / rz)
    return {"next": t}


# -- particlefilter ----------------------------------------------------------------------------------------------------

PARTICLE_COUNT, ONES, FRAME, FRAMES, PF_GROUP = 200, 9, 32, 4, 64
PF_GROUPS = -(-PARTICLE_COUNT // PF_GROUP)
PIXELS = FRAME * FRAME * FRAMES


# -- srad --------------------------------------------------------------------------------------------------------------

IMAGE_ROWS, IMAGE_COLUMNS = 50, 46
IMAGE = IMAGE_ROWS * IMAGE_COLUMNS
SRAD_GROUP = 256
LONG = np.int64(IMAGE)
SRAD_NEIGHBOURS = ("north", "south", "east", "west", "dn", "ds", "de", "dw")


def neighbours(count: int, step: int) -> np.ndarray:
    return np.clip(np.arange(count) + step, 0, count - 1).astype(np.int32)


def srad_sums() -> list[Launch]:
    steps = []
    count, stride = IMAGE, 1
    while count > 1:
        groups = -(-count // SRAD_GROUP)
        args = (np.int64(count), stride, "sums", "sums2", groups)
        steps.append(line("reduce_kernel", count, SRAD_GROUP, LONG, *args))
        count, stride = groups, stride * SRAD_GROUP
    return steps


# -- streamcluster -----------------------------------------------------------------------------------------------------

POINTS, POINT_DIMENSIONS, CENTRES = 256, 10, 7
POINT = np.dtype([("weight", np.float32), ("assign", np.int64), ("cost", np.float32)], align=True)


def cluster_points(rng: np.random.Generator) -> np.ndarray:
    points = np.zeros(POINTS, POINT)
    points["weight"] = 1
    points["assign"] = rng.integers(0, POINTS, POINTS)
    points["cost"] = rng.uniform(0, 3, POINTS)
    return points.view(np.uint8)


# -- dwt2d, gaussian, hotspot3D, kmeans, leukocyte, nn -----------------------------------------------------------------

UNKNOWNS = 50
VOLUME = (8, 24, 64)
KMEANS_POINTS, FEATURES, CLUSTERS = 700, 12, 6
RADIUS, CELL = 22, 40


def gauss_answer(d: Data) -> Mapping[str, np.ndarray]:
    a, b = d["a"].astype(np.float64), d["b"].astype(np.float64)
    for t in range(UNKNOWNS - 1):
        factor = a[t + 1 :, t] / a[t, t]
        a[t + 1 :, t:] -= np.outer(factor, a[t, t:])
        b[t + 1 :] -= factor * b[t]
    return {"b": b}


def nearest_answer(d: Data) -> Mapping[str, np.ndarray]:
    features = d["features"].reshape(KMEANS_POINTS, FEATURES).astype(np.float64)
    centres = d["clusters"].reshape(CLUSTERS, FEATURES).astype(np.float64)
    distance = ((features[:, None] - centres[None]) ** 2).sum(-1)
    return {"membership": distance.argmin(1).astype(np.int32)}


def circle_offsets(radius_step: int) -> np.ndarray:
    """Offsets of 150 points on each of 7 circles, sines or cosines rounded."""
    angle = 2 * np.pi * np.arange(150) / 150
    wave = np.sin(angle) if radius_step > 0 else np.cos(angle)
    return np.concatenate([np.rint((8 + 2 * k) * wave) for k in range(7)]).astype(np.int32)


def dominant(size: int, dtype: type = np.float32) -> object:
    return lambda rng: (rng.uniform(0, 1, (size, size)) + size * np.eye(size)).astype(dtype)

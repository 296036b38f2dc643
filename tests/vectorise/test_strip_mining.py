"""Loops that keep more than the registers hold: some rows of a chunk run them after the others."""

import re

import numpy as np
import pytest

import headwater as hw
from headwater.llvm.ir import Module
from headwater.opencl import codegen, host
from headwater.opencl.host import HostModule
from headwater.opencl.kernels import CodeRequest
from headwater.vectorise.analysis.row_count import Flow
from headwater.vectorise.layout import Layout
from headwater.vectorise.plan.strip_mining import _best_rows
from headwater.vectorise.prepare.kernel import read_kernel

SOURCE = """
#define L get_local_id(0)
#define ITEM(name, ...)                                                                                     \\
    kernel void name(global const int *a, global int *out, local int *shared, int n)                        \\
    {                                                                                                       \\
        int g = get_global_id(0), size = get_local_size(0), sum = 0;                                        \\
        shared[L] = a[g];                                                                                   \\
        barrier(CLK_LOCAL_MEM_FENCE);                                                                       \\
        __VA_ARGS__                                                                                         \\
        barrier(CLK_LOCAL_MEM_FENCE);                                                                       \\
        out[g] = sum + shared[L];                                                                           \\
    }
ITEM(shared_counter, for (int i = 0; i < n; i++) sum += shared[i] * (L + 1);)
ITEM(two_loops,
    int last = 3;
    for (int i = 0; i < n; i++) { sum = sum * 3 + shared[i] + L; last = shared[i]; }
    for (int i = last & 31; i > 0; i--) sum ^= shared[i] + last * L;)
ITEM(along_the_lanes, for (int i = L, k = 0; k < n; k++, i += 2) sum += shared[i & (size - 1)] ^ i;)
ITEM(what_loops_leave,
    int i = 0, word = 1;
    for (; i * i < n; i++) { word = word * 5 + i; sum += word * L; }
    sum += i * 1000 + word;)
ITEM(with_branches, for (int i = 0; i < n; i++) { if (shared[i] & 1) sum += L; else sum -= shared[i]; sum *= 3; })
ITEM(nested, for (int j = 0; j < 3; j++) for (int i = 0; i < n; i++) sum = sum * 7 + shared[i] + j * L;)
ITEM(private_memory,
    int mine[8];
    for (int i = 0; i < 8; i++) mine[i] = shared[i] * L;
    for (int i = 0; i < n; i++) { int k = shared[i] & 7; mine[k] += i + L; sum += mine[(k + i) & 7]; })
ITEM(leaves_at_two_places, for (int i = 0; i < n; i++) { sum += shared[i] + L; if (shared[i] == n) break; sum *= 3; })
ITEM(parts, for (int i = 0; i < L; i++) sum += shared[i];)
ITEM(from_far, for (int i = 0; i < n; i++) sum += a[i * size + L] & 3;)
ITEM(counts, for (int i = 0; i < n; i++) atomic_add(&shared[L], i);)
"""
GROUP, GROUPS = 128, 2
PARTED = "shared_counter two_loops along_the_lanes what_loops_leave with_branches nested private_memory".split()
WHOLE = "leaves_at_two_places parts from_far counts".split()
WITHOUT = Layout(16, 8, 0, 0, strip=8)
WAYS = [Layout(16, 8, 0, 0, strip=1), Layout(16, 8, 0, 0, strip=4), Layout(8, 4, 0, 0, strip=2)]


def results(name, layout, n, monkeypatch):
    monkeypatch.setattr(HostModule, "layout", lambda *_: layout)
    a = np.random.default_rng(5).integers(0, 100, GROUP * GROUPS).astype(np.int32)
    out = np.zeros_like(a)
    program = hw.compile(f"{SOURCE}// {layout}", device="cpu")
    program.kernels[name][(a.size,), (GROUP,)](a, out, hw.Local(4 * GROUP), np.int32(n)).wait()
    return out.tolist()


def code(name, layout):
    module = Module(host.load(SOURCE, "strips.cl").text(name))
    return codegen.vectorised(module, read_kernel(module, name), "entry", CodeRequest(name, layout, split=True)).text


@pytest.mark.parametrize("layout", WAYS, ids=str)
@pytest.mark.parametrize("name", [*PARTED, *WHOLE])
def test_strips_compute_what_all_rows_do_together(name, layout, monkeypatch):
    for n in (1, 2, 100) if name != "from_far" else (1, 2):
        assert results(name, layout, n, monkeypatch) == results(name, Layout(1), n, monkeypatch), n


def strips_of(text):
    """The first rows of the strips of each loop, by its header."""
    found = {}
    for header, first in re.findall(r'^"b\.(.*)\.before\.(\d+)":', text, re.MULTILINE):
        found.setdefault(header, []).append(int(first))
    return found


@pytest.mark.parametrize("name", PARTED)
def test_loops_are_written_once_for_each_strip(name):
    for layout in WAYS:
        found = strips_of(code(name, layout))
        assert found
        assert all(firsts == list(range(layout.strip, layout.rows, layout.strip)) for firsts in found.values())
    assert not strips_of(code(name, WITHOUT))


@pytest.mark.parametrize("name", WHOLE)
def test_other_loops_stay_whole(name):
    assert not strips_of(code(name, WAYS[0]))


def test_rows_whose_values_fill_the_registers_run_together():
    body = Flow(chain=4, operations=8, loads=0, shared=1, live=8, carried=3, instructions=30, loop=True, held=3)
    assert _best_rows(body, 8, 1, 32) == 4
    assert _best_rows(body, 16, 1, 32) == 4
    assert _best_rows(body, 8, 1, 16) == 2
    sums = Flow(chain=4, operations=1, loads=0, shared=1, live=2, carried=1, instructions=8, loop=True)
    assert _best_rows(sums, 16, 1, 32) == 16


def test_n_bodies_in_large_groups_go_by_strips():
    source = """
    kernel void step(global const float4 *bodies, global float4 *pull, local float4 *tile, int count)
    {
        float4 me = bodies[get_global_id(0)], all = 0;
        for (int start = 0; start < count; start += get_local_size(0)) {
            tile[get_local_id(0)] = bodies[start + get_local_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int j = 0; j < get_local_size(0); j++) {
                float4 d = tile[j] - me;
                float r = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
                all.xyz += d.xyz * (tile[j].w * r * r * r);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        pull[get_global_id(0)] = all;
    }
    """
    loaded = host.load(source, "bodies.cl")
    module = Module(loaded.text("step"))
    layout = loaded.layout("step", (256, 1, 1), (256, 1, 1))
    assert layout.lanes * layout.rows == 256
    found = codegen.vectorised(module, read_kernel(module, "step"), "entry", CodeRequest("step", layout)).text
    assert strips_of(found)

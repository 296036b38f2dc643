"""Groups of threads of HIP programs against NumPy, and printf, on the cpu device and on chips."""

import numpy as np
import pytest

import headwater as hw
from headwater.errors import SourceError

DEVICES = ["cpu", "vega64", "mi250x", "hd7970"]
GROUPS = """
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <uint N> __device__ void part(int *out, const int *in, cg::thread_block block) {
  auto tile = cg::tiled_partition<N>(block);
  int v = in[block.group_index().x * block.size() + block.thread_rank()];
  out[0] = cg::reduce(tile, v, cg::plus<int>());
  out[1] = cg::reduce(tile, v, cg::greater<int>());
  out[2] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
  out[3] = tile.any(v > 30) + 2 * tile.all(v > -90);
  out[4] = (int)__popcll(tile.ballot(v > 0));
  out[5] = tile.shfl(v, 1);
  out[6] = tile.shfl_up(v, 1);
  out[7] = tile.shfl_down(v, 1);
}
__global__ void tiles(int *out, const int *in) {
  auto block = cg::this_thread_block();
  int i = (int)cg::this_grid().thread_rank();
  part<4>(out + 24 * i, in, block);
  part<16>(out + 24 * i + 8, in, block);
  part<64>(out + 24 * i + 16, in, block);
}
__global__ void others(int *out, const int *in) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  int i = block.thread_rank();
  s[i] = in[i];
  block.sync();
  cg::thread_group eight = cg::tiled_partition(block, 8);
  int sum = 0;
  for (uint n = 0; n < eight.size(); n++) sum += s[i / 8 * 8 + n];
  cg::sync(block);
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  auto quarter = cg::tiled_partition<4>(tile);
  out[3 * i] = sum * 10 + eight.thread_rank();
  out[3 * i + 1] = quarter.meta_group_rank() * 10 + quarter.meta_group_size();
  if (in[i] > 0) {
    auto active = cg::coalesced_threads();
    out[3 * i + 2] = active.size() * 100 + active.thread_rank();
  }
}
"""


@pytest.mark.parametrize("device", DEVICES)
def test_groups_of_threads(device):
    x = np.random.default_rng(1).integers(-99, 100, 256).astype(np.int32)
    program = hw.compile(GROUPS, language="hip", device=device)
    found = np.zeros((256, 3, 8), np.int32)
    program.tiles[(256,), (128,)](found, x)
    rank = np.arange(256)
    for column, n in enumerate((4, 16, 64)):
        tiles, first, last = x.reshape(-1, n), rank % n == 0, rank % n == n - 1
        of_tile = [tiles.sum(1), tiles.max(1), (tiles > 30).any(1) + 2 * (tiles > -90).all(1), (tiles > 0).sum(1)]
        total, most, votes, positive = (np.repeat(each, n) for each in of_tile)
        where = rank % n + 100 * (rank % 128 // n) + 10000 * (128 // n)
        moved = [np.repeat(tiles[:, 1], n), np.where(first, x, np.roll(x, 1)), np.where(last, x, np.roll(x, -1))]
        assert found[:, column].T.tolist() == [list(row) for row in (total, most, where, votes, positive, *moved)]
    found = np.zeros((128, 3), np.int32)
    program.others[(128,), (128,)](found, x)
    rank, x = rank[:128], x[:128]
    assert found[:, 0].tolist() == (np.repeat(x.reshape(-1, 8).sum(1), 8) * 10 + rank % 8).tolist()
    assert found[:, 1].tolist() == (rank % 32 // 4 * 10 + 8).tolist()
    active = (x > 0).reshape(2, 64)
    numbered = active.sum(1, keepdims=True) * 100 + active.cumsum(1) - 1
    assert found[:, 2].tolist() == np.where(active, numbered, 0).reshape(-1).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cg::this_grid().sync();", r":4:19: error: 'sync' is unavailable: a grid's blocks run one after the other"),
        ("cg::this_multi_grid();", r":4:7: error: 'this_multi_grid' is unavailable: there is one device"),
        ("cg::tiled_partition<3>(cg::this_thread_block());", "a tile has 1, 2, 4, 8, 16, 32 or 64 threads"),
    ],
)
def test_what_groups_cannot_do(text, message):
    head = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n__global__ void k(int *x) {\n"
    for device in ("cpu", "mi250x"):
        with pytest.raises(SourceError, match=message):
            hw.compile(f"{head}  {text}\n}}\n", language="hip", device=device)


PRINTS = """#include <cstdio>
template <class T> __device__ void show(T v) { printf("v=%g\\n", (double)v); }
__global__ void k(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  printf("%d: %s %g %5.2f %llu %c %%|", i, "abc", x[i], 2.5, 1ull << 40, 'c');
  printf("a\\\\b %zu %hhd %lld\\n", sizeof(int), (char)300, -5ll);
  show(x[i]);
}
"""


@pytest.mark.parametrize("device", DEVICES)
def test_printf(device, capfd):
    hw.compile(PRINTS, language="hip", device=device).k[4, None](np.arange(4, dtype=np.float32) + 0.5, 1)
    assert capfd.readouterr().out == "0: abc 0.5  2.50 1099511627776 c %|a\\b 4 44 -5\nv=0.5\n"


@pytest.mark.parametrize(
    ("text", "message", "devices"),
    [
        ("const char *f) {\n  printf(f, 1);", r":2:3: error: the format of printf must be a string", ("cpu", "vega64")),
        ('int *x) {\n  printf("%d %d", 1);', r":2:15: error: more '%' conversions than data", ("cpu", "vega64")),
        ('int *x) {\n  printf("%s", *x ? "a" : "b");', r":2:3: error: on chips printf prints string", ("vega64",)),
    ],
)
def test_what_cannot_be_printed(text, message, devices):
    for device in devices:
        with pytest.raises(SourceError, match=message):
            hw.compile(f"__global__ void k({text}\n}}\n", language="hip", device=device)["k"]
